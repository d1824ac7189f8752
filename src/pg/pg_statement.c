/*
 * pg_statement.c
 *		The life of a statement: how it begins, what moves it from state to state, how it ends.
 *
 * No PG_TRY anywhere: it costs more than the event.  When an error unwinds the stack, statements are
 * ended by the ErrorResponse (pg_protocol.c), by the abort of the subtransaction that caught it, or
 * of the transaction (pg_xact.c).
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/extension.h"
#include "core/transaction_hot.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_compat.h"
#include "pg/pg_digest.h"
#include "pg/pg_hooks.h"
#include "pg/pg_prepared.h"
#include "pg/pg_statement_hot.h"
#include "pg/pg_template.h"
#include "pg/pg_wait.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"

/* Owner: this process.  Nested statements that are ANALYSED: planned, and not executed yet. */
static PFS_HOT_DATA int planned_nested = 0;

/* --- states --- */

pg_noinline void
pfs_pg_turn_time(PfsStatement *statement, PfsTicks now)
{
	now = now != 0 ? now : pfs_now();
	if (statement->since == 0)
		pfs_statement_resume(statement, now);
	else
	{
		pfs_statement_pause(statement, now);
		if (statement->record->level == 0)
			pfs_pg_command_time_spent(statement->paused_at);
	}
}

/* Where a statement ends that ends now: one that rests, or is complete, has ended when it began to. */
static inline PfsTicks
end_of(PfsStatement *statement)
{
	if (pfs_unlikely(statement->host_state == PFS_PG_COMPLETE))
		pfs_statement_was_complete(statement);
	return statement->since != 0 ? pfs_now() : statement->paused_at;
}

void
pfs_pg_set_top(PfsStatement *statement)
{
	PfsStatement *top = pfs_session.top;

	if (pfs_unlikely((top != NULL && top != statement) || planned_nested > 0))
		pfs_pg_finish_top();
	pfs_session.top = statement;
}

void
pfs_pg_enter(PfsStatement *statement)
{
	statement->host_caller = pfs_session.running;
	statement->host_enter_level = pfs_pg_nest_level;
	statement->host_in_call = true;
	pfs_session.running = statement;
	pfs_pg_undisturbed = NULL;
}

/* Those above were left by an error that somebody caught without a subtransaction. */
static PFS_COLD void
end_left(const PfsStatement *statement)
{
	PfsTicks	now = pfs_now();

	while (pfs_session.running != NULL && pfs_session.running != statement)
		pfs_pg_end(pfs_session.running, now, 0, NULL);
}

void
pfs_pg_leave(PfsStatement *statement)
{
	if (pfs_unlikely(pfs_session.running != statement))
		end_left(statement);
	statement->host_in_call = false;
	pfs_session.running = statement->host_caller;
}

/* The statement ends while its call is on the C stack: who has called whom, without it. */
static PFS_COLD void
unlink_caller(const PfsStatement *statement)
{
	PfsStatement *inner = pfs_session.running;

	while (inner != NULL && inner->host_caller != statement)
		inner = inner->host_caller;
	if (inner != NULL)
		inner->host_caller = statement->host_caller;
}

/* --- begin --- */

/*
 * It has been executed, no portal runs, and no other message is worked on: the server tells the text of
 * the client's message while it does, but not for Sync, at which the extended protocol commits.
 */
PFS_HOT PfsStatement *
pfs_pg_committing(void)
{
	PfsStatement *top = pfs_session.top;

	if (pfs_likely(top == NULL || top->host_state < PFS_PG_EXECUTED) || pfs_session.running != NULL ||
		ActivePortal != NULL)
		return NULL;
	return top->host_state == PFS_PG_EXECUTED || debug_query_string == NULL ? top : NULL;
}

/*
 * An extension's script would fill the digest table with hundreds of rows for nobody.  A stored
 * query (the body of an SQL-standard function) never gets a query id: it is not what did not fit.
 */
bool
pfs_pg_has_digest(uint64 query_id)
{
	if (pfs_session.running == NULL && pfs_pg_committing() == NULL)
		return true;
	return !creating_extension && (query_id != 0 || !IsQueryIdEnabled());
}

/* Opens a statement: the client's with its transaction. */
static pg_attribute_always_inline PfsStatement *
open_statement(const PfsTemplate *template, bool silent, uint32 flags)
{
	PfsStatement *parent = pfs_session.running;
	PfsStatement *statement;
	PfsTicks	start;

	if (pfs_likely(parent == NULL))
		parent = pfs_pg_committing();
	if (parent != NULL)
	{
		pfs_pg_commit_begins(parent);
		start = pfs_now();
		if (pfs_unlikely(!pfs_session.transaction.open))
			pfs_pg_transaction_begin(start);	/* a procedure has ended the one before */
		statement = pfs_statement_begin(&pfs_session, template, silent, parent, start);
		if (pfs_unlikely(statement == NULL))
			return NULL;
		statement->host_state = PFS_PG_RUNNING;
		if (pfs_unlikely((parent->host_flags & PFS_PG_EXECUTES) != 0))
			statement->plain = 0;	/* it is counted where it ends */
		pfs_statement_routine_set(statement, pfs_pg_current_routine());
	}
	else
	{
		pfs_pg_wait_over();
		pfs_pg_set_top(NULL);
		start = pfs_pg_command_since();
		statement = pfs_statement_begin(&pfs_session, template, silent, NULL, start);
		pfs_session.top = statement;
		pfs_pg_command_forget_analysed();
		if (pfs_unlikely(!pfs_session.transaction.open))
			pfs_pg_transaction_begin(start);
		if (pfs_unlikely(statement == NULL))
			return NULL;
		statement->host_state = PFS_PG_RUNNING;
	}
	statement->host_flags = flags;
	statement->host_level = pfs_pg_nest_level;
	pfs_pg_usage_start(statement);
	return statement;
}

/* Its text, where that is not the same at each execution. */
static void
set_text(PfsStatement *statement, const char *source, int location, int length)
{
	PfsPgText	text;

	/* what a command executes may have its text */
	if (statement->silent && (statement->host_flags & PFS_PG_OWN_QUERY) == 0)
		return;
	pfs_pg_text_kept(&text, statement, source, location, length);
	if (pfs_unlikely(text.of != NULL))
		pfs_statement_text_share(statement, text.of);
	else
		pfs_statement_text_set(&pfs_session, statement, text.role, text.data,
							   pfs_pg_clip(text.data, text.length, pfs_arena->sizes.sql_text_length));
	if (pfs_unlikely(text.length == 0) && statement->parent != NULL)
		pfs_statement_unlist(statement);	/* a row would tell nothing, and push out one that does */
}

PFS_COLD void
pfs_pg_begin_nothing(void)
{
	pfs_pg_transaction_begin(pfs_session.running != NULL ? pfs_now() : pfs_pg_command_since());
}

static void drop(PfsStatement *statement);

/* What is planned or executed: which planned statement is it? */
typedef struct Planned
{
	uint64		query_id;
	const char *text;
	int			location;
	int			length;
} Planned;

/* Without query ids the text tells. */
static PFS_COLD bool
has_text(const PfsStatement *statement, const Planned *what)
{
	PfsPgPart	part = pfs_pg_text_part(what->text != NULL ? what->text : "", Max(what->location, 0), what->length);
	size_t		length;
	const char *kept = pfs_statement_text(&pfs_session, statement, &length);

	return length == pfs_pg_clip(part.data, part.length, pfs_arena->sizes.sql_text_length) &&
		memcmp(kept, part.data, length) == 0;
}

static inline bool
is_planned(const PfsStatement *statement, const Planned *what)
{
	return statement->record->query_id == what->query_id && (pfs_likely(what->query_id != 0) || has_text(statement, what));
}

/* A nested one; others of this caller that were only planned make way. */
static PFS_COLD PfsStatement *
find_planned_nested(const Planned *what)
{
	const PfsStatement *parent = pfs_session.running != NULL ? pfs_session.running : pfs_pg_committing();
	PfsStatement *found = NULL;

	PFS_EACH_OPEN(&pfs_session, statement)
	{
		if (statement->host_state != PFS_PG_ANALYSED || statement->host_in_call || parent == NULL ||
			statement->parent != parent)
			continue;
		if (found == NULL && is_planned(statement, what))
			found = statement;
		else
			drop(statement);
	}
	return found;
}

/* No nested statement is left that was only planned: nothing runs. */
static PFS_COLD void
drop_planned_nested(void)
{
	PFS_EACH_OPEN(&pfs_session, statement)
	{
		if (statement->host_state == PFS_PG_ANALYSED && statement->record->level > 0)
			drop(statement);
	}
	planned_nested = 0;
}

/* The one that was planned, and is executed now. */
static inline PfsStatement *
planned_statement(const Planned *what)
{
	PfsStatement *top = pfs_session.top;

	if (pfs_unlikely(planned_nested > 0))
	{
		PfsStatement *planned = find_planned_nested(what);

		if (planned != NULL)
			return planned;
	}
	/* an expression of a function that the client calls is planned, and never executed */
	return top != NULL && top->host_state == PFS_PG_ANALYSED && pfs_session.running == NULL &&
		is_planned(top, what) ? top : NULL;
}

/* It was planned, and is executed now. */
static pg_noinline void
take_up(PfsStatement *statement)
{
	if (statement->record->level > 0)
		planned_nested--;
	pfs_pg_move(statement, PFS_PG_RUNNING, 0);
	statement->host_flags = 0;
}

/* Counters that the plan's shape tells, if they are more than 1; "used" is in the template. */
static inline void
store_shape(PfsStatementRecord *record, const PfsPgTemplate *template)
{
	const uint32 *value = template->shape;

	for (uint32 used = template->shared.used & PFS_USED_MASK; pfs_unlikely(used != 0); used &= used - 1)
		pfs_store(&record->counter[__builtin_ctz(used)], (uint64) *value++);
}

/* What the plan tells of its statement; before that is shown. */
static void
describe(PfsStatement *statement, const PfsPgTemplate *template)
{
	statement->host_watches = template->sorts;
	statement->host_rows_are = template->rows_are;
	statement->host_brief = template->brief;
	statement->host_hops = template->hops;
	store_shape(statement->record, template);
}

PFS_HOT PfsStatement *
pfs_pg_begin_query(const QueryDesc *desc)
{
	PfsStatement *statement;
	PfsPgTemplate *template;

	pfs_pg_refresh_identity();
	statement = planned_statement(&(Planned) {(uint64) desc->plannedstmt->queryId, desc->sourceText,
											  desc->plannedstmt->stmt_location, desc->plannedstmt->stmt_len});
	if (statement != NULL)
	{
		const PfsPgTemplate *shape = pfs_pg_template_shape(desc);

		take_up(statement);
		describe(statement, shape);
		pfs_store(&statement->record->used, statement->record->used | shape->shared.used);
		return statement;
	}
	template = pfs_pg_template(desc);
	statement = open_statement(&template->shared, template->silent, 0);
	if (pfs_unlikely(statement == NULL))
		return NULL;
	if (pfs_likely(template->text_length > 0 &&
				   (statement->parent == NULL || (statement->parent->host_flags & PFS_PG_OWN_QUERY) == 0)))
	{
		pfs_statement_text_refer(&pfs_session, statement, desc->sourceText + template->text_offset,
								 template->text_length, &template->text_position);
		pfs_pg_template_good(template);
	}
	else
		set_text(statement, desc->sourceText, desc->plannedstmt->stmt_location,
				 desc->plannedstmt->stmt_len);
	describe(statement, template);
	pfs_statement_publish(&pfs_session, statement);
	return statement;
}

/* What begins in the plain way. */
typedef enum Plain
{
	PLAIN_FREQUENT,				/* of the client, no number is promised, its plan's shape tells no number */
	PLAIN_QUERY,				/* the same, whatever is promised and told */
	PLAIN_COMMAND,				/* the same, not a query */
	PLAIN_NESTED
} Plain;

/* It is the client's, and on stage; the caller's is noted by the caller. */
static pg_attribute_always_inline void
enter_plain(PfsSession *session, PfsStatement *statement)
{
	session->running = statement;
	statement->host_level = statement->host_enter_level = pfs_pg_nest_level;
}

/* What few that began so need, nested ones nothing but the first. */
static PFS_HOT pg_noinline void
begun_plain_otherwise(PfsStatement *statement, Plain kind)
{
	PfsSession *session = pfs_pg_session();

	if (pfs_unlikely(session->times_cpu))
		pfs_statement_begin_cpu(session, statement);
	if (kind == PLAIN_NESTED)
		return;
	pfs_statement_take_waits(session, statement);
	pfs_pg_transaction_begin(statement->since); /* an aborted one is not begun again */
}

/* It has begun so, and is shown. */
static pg_attribute_always_inline void
begun_plain(PfsSession *session, PfsStatement *statement, PfsTicks start, uint64 event_id, Plain kind)
{
	if (pfs_unlikely(session->times_cpu))
		begun_plain_otherwise(statement, kind);
	else if (kind == PLAIN_NESTED || pfs_transaction_is(session, true))
		return;
	else if (kind != PLAIN_COMMAND && pfs_likely(pfs_transaction_is(session, false)))
		pfs_pg_transaction_describe(pfs_transaction_open_plain(session, start, event_id));
	else if (!session->transaction.open || !pfs_waits_are_none(&session->waits))
		begun_plain_otherwise(statement, kind);
}

/* desc: of a query, whose plan is taken from there after all calls, so that no register is kept for it. */
static pg_attribute_always_inline PfsStatement *
begin_plain(const QueryDesc *desc, const PlannedStmt *plan, Plain kind)
{
	const bool	nested = kind == PLAIN_NESTED;
	PfsSession *session;
	PfsPgTemplate *template;
	PfsStatement *parent;
	PfsStatement *statement;
	PfsStatementRow row;
	PfsRef		routine = 0;
	PfsTicks	start;
	uint64		plain;

	if (pfs_unlikely(pfs_pg_identity_changed()))
		return NULL;
	if (nested)
	{
		/* calls come first, so nothing has to be kept for them */
		routine = pfs_pg_current_routine();
		pfs_statement_make_way(&pfs_session);
	}
	session = pfs_pg_session();
	template = pfs_pg_template_find(desc != NULL ? desc->plannedstmt : plan);
	pfs_keep(template);
	plain = session->plain;
	if (pfs_unlikely(!pfs_statement_may_begin_plain(session, plain, nested)) ||
		(pfs_unlikely(template->key != session->key) &&
		 (kind == PLAIN_FREQUENT || template->key != pfs_pg_template_shaped(session->key))))
		return NULL;
	pfs_assume(plain != 0);		/* "changes" never is */
	parent = nested ? session->running : NULL;
	start = nested ? pfs_now() : pfs_pg_command.since;	/* not known while it is idle */
	if (pfs_unlikely(nested ? !parent->recorded || parent->host_flags != 0 || !session->transaction.open || planned_nested != 0
					 : start == 0))
		return NULL;
	statement = pfs_statement_begin_here(session, &template->shared, template->facts, false, parent, start, plain,
										 kind != PLAIN_FREQUENT && !nested && session->promised, &row);
	if (nested)
	{
		statement->host_caller = parent;
		pfs_statement_routine_set(statement, routine);
	}
	else
	{
		session->top = statement;
		if (kind == PLAIN_COMMAND)
			pfs_pg_command_forget_analysed();	/* else it was executed, or will be when Bind is answered */
	}
	enter_plain(session, statement);
	pfs_copy_words(&row.record->text, &template->text, sizeof(row.record->text) + sizeof(row.record->text_length));
	pfs_pg_usage_start(statement);
	if (kind == PLAIN_QUERY || nested)
		store_shape(row.record, template);
	pfs_statement_publish_here(session, nested ? statement->place : 0, row.slot);
	begun_plain(session, statement, start, row.event_id, kind);
	return statement;
}

/*
 * By far the most begin so: of a cached plan, nothing is out of the ordinary.  The result is what pfs_pg_begin_query,
 * or pfs_pg_begin, would have made, on stage already.  NULL: it is another one, nothing was done.  Each has one
 * caller, into which it is compiled.
 */
PFS_HOT PfsStatement *
pfs_pg_begin_plain(const QueryDesc *desc)
{
	return begin_plain(desc, NULL, PLAIN_QUERY);
}

/* The same where the caller has seen that nothing is promised. */
PFS_HOT PfsStatement *
pfs_pg_begin_plain_frequent(const QueryDesc *desc)
{
	return begin_plain(desc, NULL, PLAIN_FREQUENT);
}

PFS_HOT PfsStatement *
pfs_pg_begin_plain_command(const PlannedStmt *plan)
{
	return begin_plain(NULL, plan, PLAIN_COMMAND);
}

PFS_HOT PfsStatement *
pfs_pg_begin_plain_nested(const PlannedStmt *plan)
{
	return begin_plain(NULL, plan, PLAIN_NESTED);
}

PFS_HOT PfsStatement *
pfs_pg_begin_plain_planning(const PfsPgSource *source, const PfsTemplate *template, uint32 flags)
{
	PfsSession *session = pfs_pg_session();
	uint64		plain = session->plain;
	PfsTicks	start = pfs_pg_command.since;
	PfsPgPart	text;
	PfsStatement *statement;
	PfsStatementRow row;

	if (pfs_unlikely(!pfs_statement_may_begin_plain(session, plain, false) || start == 0 || source->location < 0))
		return NULL;
	pfs_assume(plain != 0);
	statement = pfs_statement_begin_here(session, template, 0, false, NULL, start, plain, session->promised, &row);
	session->top = statement;
	statement->host_in_call = true;
	statement->host_state = PFS_PG_ANALYSED;
	statement->host_flags = (uint8) flags;
	enter_plain(session, statement);
	pfs_pg_usage_start(statement);
	text = pfs_pg_text_part(source->text, source->location, source->length);
	pfs_statement_text_set(session, statement, template->role, text.data,
						   pfs_pg_clip(text.data, text.length, session->arena->sizes.sql_text_length));
	pfs_pg_command_forget_analysed();	/* source may be that */
	pfs_statement_publish_here(session, 0, row.slot);
	begun_plain(session, statement, start, row.event_id, PLAIN_QUERY);
	return statement;
}

/* Nothing has happened since it was planned, so that it is the only one. */
PFS_HOT PfsStatement *
pfs_pg_take_up_plain(const QueryDesc *desc)
{
	PfsSession *session = pfs_pg_session();
	PfsStatement *statement = session->top;
	PfsStatementRecord *record;
	const PfsPgTemplate *shape;

	if (statement == NULL || statement->host_state != PFS_PG_ANALYSED || session->running != NULL ||
		session->newest != statement || planned_nested > 0 ||
		statement->plain != pfs_load_acquire(&session->arena->changes) ||
		statement->record->query_id != (uint64) desc->plannedstmt->queryId || desc->plannedstmt->queryId == 0)
		return NULL;
	shape = pfs_pg_template_shape(desc);
	record = statement->record;
	statement->facts = shape->facts;
	store_shape(record, shape);
	pfs_store(&record->used, record->used | shape->shared.used);
	statement->host_caller = NULL;
	enter_plain(session, statement);
	return statement;
}

uint32
pfs_pg_digest_of(uint64 query_id, const char *source, int location, int length)
{
	const PfsStatement *command = pfs_session.running;
	const char *own;
	size_t		own_length = 0;

	if (length == 0 && command != NULL && (command->host_flags & PFS_PG_OWN_QUERY) != 0)
	{
		own = pfs_statement_text(&pfs_session, command, &own_length);
		if (own_length > 0)
			return pfs_pg_digest(query_id, own, 0, (int) own_length);
	}
	return pfs_pg_digest(query_id, source, location, length);
}

void
pfs_pg_source_digest(PfsPgSource *source)
{
	pfs_pg_refresh_identity();
	source->digest_generation = pfs_load_acquire(&pfs_arena->digest_generation);
	source->digest = !pfs_pg_has_digest(source->query_id) ? PFS_DIGEST_NONE
		: pfs_pg_digest_of(source->query_id, source->text, source->location, source->length);
}

static PfsStatement *
begin_source(PfsPgSource *source)
{
	PfsTemplate template;
	PfsStatement *statement;
	bool		enabled;

	if (source->digest_generation != pfs_load(&pfs_arena->digest_generation))
		pfs_pg_source_digest(source);
	enabled = pfs_template_make(&pfs_session, &template, source->class, source->query_id, source->digest,
								source->digest_generation);
	statement = open_statement(&template, !enabled, source->flags);
	if (statement == NULL)
		return NULL;
	if (enabled && statement->parent == NULL)
		pfs_pg_shared_keep(&template);
	set_text(statement, source->text, source->location, source->length);
	pfs_statement_publish(&pfs_session, statement);
	return statement;
}

PfsStatement *
pfs_pg_begin(PfsPgSource *source)
{
	if (pfs_wants(&pfs_session, PFS_GATE_STATEMENTS))
		return begin_source(source);
	pfs_pg_begin_nothing();
	return NULL;
}

PfsStatement *
pfs_pg_begin_planning(PfsPgSource *source)
{
	PfsStatement *statement = planned_statement(&(Planned) {source->query_id, source->text, source->location, source->length});

	if (statement != NULL)
	{
		/* again, now with the client's values, or of several queries that a rule made of one */
		statement->host_flags |= (uint8) source->flags;
		return statement;
	}
	statement = begin_source(source);
	if (statement == NULL)
		return NULL;
	statement->host_state = PFS_PG_ANALYSED;
	if (statement->record->level > 0)
		planned_nested++;
	return statement;
}

/* --- end --- */

/*
 * The digest table was truncated while the statement ran, maybe by itself: its row is made anew.  The
 * scanner may raise an error (settings may have changed), so not while another one is reported, nor
 * while a transaction or the process ends: where interrupts are held.
 */
static PFS_COLD void
find_digest_again(PfsStatement *statement)
{
	PfsStatementRecord *record = statement->record;
	size_t		length;
	const char *text = pfs_statement_text(&pfs_session, statement, &length);

	if (record->digest_generation == pfs_load(&pfs_arena->digest_generation) ||
		record->digest <= PFS_DIGEST_OTHERS || length == 0 ||
		length >= pfs_arena->sizes.sql_text_length || CritSectionCount > 0 || InterruptHoldoffCount > 0)
		return;
	record->digest_generation = pfs_load(&pfs_arena->digest_generation);
	record->digest = pfs_pg_digest(record->query_id, text, 0, (int) length);
}

static pg_attribute_always_inline void
close_statement(PfsStatement *statement, PfsTicks end)
{
	bool		nested = statement->record->level > 0;
	bool		ran = statement->since != 0;	/* else others had the time since it began to rest */
	uint32		prepared = pfs_unlikely(pfs_prepared_rows > 0) ? pfs_prepared_of(statement) : 0;
	bool		executes = (statement->host_flags & PFS_PG_EXECUTES) != 0;
	const PfsStatementRecord *record = statement->record;

	pfs_pg_undisturbed = NULL;
	pfs_pg_store_rows(statement, statement->host_rows);
	if (statement->host_query != NULL)
		pfs_pg_query_part(statement->host_query);
	if (pfs_unlikely(statement->host_in_call))
	{
		if (pfs_likely(pfs_session.running == statement))
			pfs_session.running = statement->host_caller;
		else
			unlink_caller(statement);
	}
	if (nested && pfs_unlikely(planned_nested > 0) && statement->host_state == PFS_PG_ANALYSED)
		planned_nested--;
	end = pfs_statement_close(&pfs_session, statement, end);
	if (pfs_unlikely(prepared != 0))
		pfs_prepared_ended(prepared, executes, record);
	if (!nested && pfs_likely(ran))
		pfs_pg_command_time_spent(end);
	if (pfs_session.top == statement)
		pfs_session.top = NULL;
}

static PFS_COLD void
note_failure(PfsStatement *statement, int sqlstate, const char *message)
{
	pfs_statement_fail(&pfs_session, statement, (uint32) sqlstate, message, message == NULL ? 0
					   : pfs_pg_clip(message, strlen(message), PFS_MESSAGE_LENGTH));
	if (statement->host_broken)
		statement->host_rows += statement->host_broken_rows;
	pfs_pg_usage_end(statement);
}

static pg_noinline void
end_any(PfsStatement *statement, PfsTicks end, int sqlstate, const char *message)
{
	pfs_pg_wait_settle();
	if (pfs_unlikely(sqlstate != 0))
		note_failure(statement, sqlstate, message);
	else if (pfs_unlikely(statement->record->epoch != pfs_load(&pfs_arena->reset_now)))
		find_digest_again(statement);
	close_statement(statement, end);
}

/* Most do so in the plain way. */
PFS_HOT void
pfs_pg_end(PfsStatement *statement, PfsTicks end, int sqlstate, const char *message)
{
	PfsSession *session = pfs_pg_session();
	bool		is_top = session->top == statement;

	if (pfs_unlikely(!pfs_statement_is_plain(session, statement) || sqlstate != 0 ||
					 (!is_top && statement->parent == NULL) || pfs_session.unsettled))
		end_any(statement, end, sqlstate, message);
	else
	{
		pfs_pg_let_query_go(statement, false);
		pfs_pg_store_rows(statement, statement->host_rows);
		if (pfs_pg_end_plain(session, statement, end, is_top, false, false))
			pfs_statement_sum(session);
	}
}

/* Nothing is allocated or looked up here: the memory of a portal may just be given back. */
PFS_COLD void
pfs_pg_end_orphan(PfsStatement *statement)
{
	if (pfs_session.thread != NULL && !statement->host_in_call)
		close_statement(statement, end_of(statement));
}

PFS_HOT void
pfs_pg_executed(PfsStatement *statement)
{
	if (pfs_pg_ends_with_query(statement) || statement != pfs_session.top || statement->host_state == PFS_PG_SUSPENDED)
		pfs_pg_end(statement, end_of(statement), 0, NULL);
	else if (statement->host_state < PFS_PG_EXECUTED)
		statement->host_state = PFS_PG_EXECUTED;
}

static void
drop(PfsStatement *statement)
{
	pfs_pg_undisturbed = NULL;
	if (pfs_session.top == statement)
		pfs_session.top = NULL;
	if (statement->host_state == PFS_PG_ANALYSED && statement->record->level > 0)
		planned_nested--;
	pfs_statement_drop(&pfs_session, statement);
}

PFS_HOT void
pfs_pg_finish_top(void)
{
	PfsStatement *top = pfs_session.top;

	if (pfs_unlikely(planned_nested > 0) && pfs_session.running == NULL)
		drop_planned_nested();
	if (top == NULL)
		return;
	if (top->host_state >= PFS_PG_EXECUTED)
		pfs_pg_end(top, end_of(top), 0, NULL);
	else if (top->host_state == PFS_PG_ANALYSED && !top->host_in_call)
		drop(top);
	else if (top->host_state == PFS_PG_RUNNING && !top->host_in_call)
		pfs_pg_move(top, PFS_PG_SUSPENDED, 0);	/* a portal that has not been run yet */
}

static inline bool
has_rows(const PfsStatement *statement)
{
	return statement->host_rows > 0 || (statement->record->used & statement->host_rows_are) != 0;
}

void
pfs_pg_finish_not_run(void)
{
	PfsStatement *top = pfs_session.top;

	if (top != NULL && top->host_state == PFS_PG_EXECUTED && !has_rows(top) && pfs_session.running == NULL)
		pfs_pg_finish_top();
}

/* Is its query being ended, or was that left by an error?  It has let the query go, and waits for no other. */
static inline bool
is_ending(const PfsStatement *statement)
{
	return pfs_pg_is_left(statement) && statement->host_query == NULL;
}

/* Has its query run, whose end is not seen?  (Another answer to the client would have brought that back.) */
static inline bool
has_run_unseen(const PfsStatement *statement)
{
	return pfs_pg_entry.endings == PFS_PG_ENDINGS_OUT && statement->host_state == PFS_PG_RUNNING &&
		statement->host_query == &pfs_pg_untied && pfs_pg_untied.relations.nothing != 0;
}

/* Those on stage that entered it at this level, or a deeper one.  Who may read a text may not read what is nested in it. */
static void
fail_running(int level, PfsTicks now, int sqlstate, const char *message)
{
	PfsStatement *statement;

	while ((statement = pfs_session.running) != NULL && statement->host_enter_level >= level)
	{
		message = pfs_pg_message_kept(statement, sqlstate, message);
		pfs_pg_end(statement, now, sqlstate, message);
	}
}

/*
 * Is an error that is raised now that of its commit?  Of one that the client knows to be complete only if something is being
 * executed: deferred triggers.  Other messages that fail before the server tells their text have no snapshot, but for function
 * calls, which the session's activity tells (where it is tracked).
 */
static bool
fails_to_commit(const PfsStatement *top)
{
	if (pfs_pg_committing() != top)
		return false;
	return top->host_state != PFS_PG_COMPLETE ||
		(ActiveSnapshotSet() && !(MyBEEntry != NULL && MyBEEntry->st_state == STATE_FASTPATH));
}

bool
pfs_pg_fail(int sqlstate, const char *message)
{
	PfsTicks	now = pfs_now();
	PfsStatement *top = pfs_session.top;

	if (pfs_session.running == NULL)
	{
		if (top == NULL ||
			(top->host_state != PFS_PG_ANALYSED && top->host_state != PFS_PG_EXECUTED && !is_ending(top) &&
			 !has_run_unseen(top) && !fails_to_commit(top)))
			return false;
		pfs_pg_commit_begins(top);
		pfs_pg_end(top, now, sqlstate, pfs_pg_message_kept(top, sqlstate, message));
		return true;
	}
	fail_running(0, now, sqlstate, message);
	return true;
}

/*
 * What was on stage inside the level was left by the error.  Other queries may go on after it, be it
 * that they began there: a function's query in a cursor of an outer level.
 */
void
pfs_pg_forget_level(int level, int sqlstate, const char *message)
{
	PfsTicks	now = pfs_now();

	fail_running(level, now, sqlstate, message);
	PFS_EACH_OPEN(&pfs_session, statement)
	{
		if (statement->host_level >= level && statement->host_state == PFS_PG_ANALYSED)
			drop(statement);
		else if (statement->host_level >= level && (statement->host_query == NULL || level == 0))
			pfs_pg_end(statement, end_of(statement), 0, NULL);
	}
}

void
pfs_pg_merge_level(int level)
{
	PFS_EACH_OPEN(&pfs_session, statement)
	{
		statement->host_level = Min(statement->host_level, level - 1);
	}
}

void
pfs_pg_forget_suspended(void)
{
	PFS_EACH_OPEN(&pfs_session, statement)
	{
		if (pfs_pg_is_left(statement))
			pfs_pg_end(statement, end_of(statement), 0, NULL);
	}
}
