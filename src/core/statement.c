/*
 * statement.c
 *		Statement events: from open to the summaries and histories.
 */
#include "core/statement.h"

#include "core/clock.h"
#include "core/rollup.h"
#include "core/statement_hot.h"
#include "core/summing.h"
#include "core/wait_block.h"
#include "core/wait_row.h"

#define STATEMENT_ID_BLOCK 1024

void		(*pfs_host_switched) (PfsSession *session);

PFS_COLD void
pfs_statement_claim_ids(PfsSession *session)
{
	PfsClaim   *claim = &session->statement_ids;

	claim->next = pfs_add_shared(&session->arena->next_statement_id, STATEMENT_ID_BLOCK) + 1;
	claim->end = claim->next + STATEMENT_ID_BLOCK;
}

static void
add_free(PfsSession *session, PfsStatement *statement)
{
	PfsStatement **list = statement->place >= 0 ? &session->free : &session->free_unplaced;

	statement->older = *list;
	*list = statement;
}

/* A new thread starts with an empty journal. */
static PFS_COLD void
take_over_journal(PfsSession *session)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	int32_t		stack = (int32_t) pfs_min(arena->sizes.statement_stack, PFS_OPEN_STATEMENTS);

	session->slots_of = thread->thread_id;
	memset(session->statements_long.cell, 0, sizeof(session->statements_long.cell));
	session->free = session->free_unplaced = session->newest = NULL;
	session->in_ring = NULL;
	session->has_journal = false;
	session->records = pfs_journal_records(arena, thread);
	session->ring_mask = (uint16_t) (arena->journal_ring - 1);
	session->text_fresh = arena->journal_texts - arena->journal_text_share;
	memset(session->statements_long.known, 0, sizeof(session->statements_long.known));
	if (!pfs_thread_has_statements(arena, thread))
		return;
	for (int32_t i = PFS_OPEN_STATEMENTS - 1; i >= 0; i--)
	{
		PfsStatement *statement = &session->statement[i];

		statement->in_use = false;
		statement->cpu = statement->cpu_since = 0;
		statement->waits.used = statement->waits.last = 0;
		statement->place = (int16_t) (i < stack ? i : -1);
		statement->record = &statement->own_record;
		if (i > 0)
			add_free(session, statement);
	}
	session->statement[0].older = session->statement[0].newer = session->statement[0].parent = NULL;
	session->oldest_text = session->summed_text = pfs_load(&thread->text_next);
	session->has_journal = stack > 0;
	pfs_session_advance(session);
}

/*
 * What consumers and switches say of answers.  Those counted so far move to their cells: by what was wanted
 * when they came.  Are there some that are counted, and not timed?
 */
static bool
decide_answers(PfsSession *session, uint64_t changes)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	bool		wanted = (session->wants & PFS_GATE_STATEMENTS) != 0;
	bool		counted = false;

	pfs_answers_sum(arena, thread);
	pfs_store(&thread->answered_epoch, pfs_epoch_of(changes));
	pfs_store(&thread->answered_scope,
			  (session->flags & PFS_RECORD_GLOBAL) == 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL);
	for (uint32_t i = 0; i < PFS_ANSWERS; i++)
	{
		const PfsInstrument *instrument = pfs_statement_instrument(arena, pfs_answer_class(arena, i));

		session->answers[i] = !wanted || !pfs_load(&instrument->enabled) ? PFS_ANSWER_UNWANTED
			: pfs_load(&instrument->timed) ? PFS_ANSWER_TIMED : PFS_ANSWER_COUNTED;
		counted |= session->answers[i] == PFS_ANSWER_COUNTED;
	}
	return counted;
}

static void
decide_transaction_rows(PfsSession *session, uint32_t gate, bool history)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	bool		stays = history && (gate & PFS_WANTS(TRANSACTIONS_HISTORY)) != 0 && arena->sizes.transactions_history > 0;
	bool		goes_on = history && (gate & PFS_WANTS(TRANSACTIONS_HISTORY_LONG)) != 0;
	PfsTransactionRecord fresh = {
		.autocommit = 1,.timed = pfs_load(&pfs_instrument(arena, arena->transaction_instrument)->timed),
			.global = (gate & PFS_WANTS(THREAD)) == 0
	};
	PfsTransaction *transaction = &session->transaction;

	transaction->fresh = fresh.state;
	transaction->ring_end = pfs_thread_transaction(arena, thread, pfs_thread_transaction_slots(&arena->sizes));
	if (!transaction->open)
		transaction->event = pfs_thread_next_transaction(arena, thread);
	transaction->shown = (gate & PFS_WANTS(TRANSACTIONS_CURRENT)) != 0 && (session->wants & PFS_BUILT_TRANSACTIONS) != 0;
	transaction->history = stays;
	transaction->history_long = goes_on;
	transaction->plain = transaction->shown && stays && !goes_on && fresh.timed && !fresh.global && !session->far;
}

/* Are waits in the long history, too? */
static bool
goes_on(const PfsArena *arena, uint32_t gate, bool history)
{
	return history && (gate & PFS_WANTS(WAITS_HISTORY_LONG)) != 0 && arena->sizes.waits_history_long > 0;
}

static void
decide_wait_rows(PfsSession *session, uint32_t gate, bool history)
{
	PfsArena   *arena = session->arena;
	PfsThread  *thread = session->thread;
	PfsWaitRows *rows = &session->wait_rows;

	rows->stack = pfs_thread_wait_stack(arena, thread);
	rows->socket = NULL;
	rows->ring = pfs_thread_wait_ring(&arena->sizes);
	rows->head = (uint32_t) (pfs_load(&thread->waits_ended) % rows->ring);
	pfs_wait_block_enter(session);
	rows->shown = (gate & PFS_WANTS(WAITS_CURRENT)) != 0;
	rows->hidden = history && (gate & PFS_WANTS(WAITS_HISTORY)) != 0 && arena->sizes.waits_history > 0 ? 0 : PFS_WAIT_HIDDEN;
	rows->history = rows->hidden == 0 || goes_on(arena, gate, history);
	rows->unbilled = pfs_thread_has_statements(arena, thread);
}

/* Waits that wait to be copied are of the switches before; those that end now are of the new ones.  Inside the recording. */
static void
decide_wait_copies(PfsSession *session, uint32_t gate, bool history)
{
	PfsThread  *thread = session->thread;
	bool		copies = session->wait_rows.shown && goes_on(session->arena, gate, history);

	pfs_history_waits(session->arena, thread, &session->statements_long.waits, UINT64_MAX);
	pfs_store_release(&thread->waits_copied, copies ? pfs_load(&thread->waits_ended) : PFS_NOT_COPIED);
}

/* What consumers and the thread's switches say of events that start or end now. */
PFS_COLD void
pfs_session_decide(PfsSession *session, uint64_t changes)
{
	uint32_t	gate = pfs_load(&session->arena->gate);
	bool		history = pfs_load(&session->thread->history) != 0;
	bool		counted;
	uint32_t	flags = (gate & PFS_WANTS(THREAD)) != 0 ? 0 : PFS_RECORD_GLOBAL;

	pfs_clock_follow(session->arena);
	if (history && (gate & PFS_WANTS(STATEMENTS_HISTORY)) != 0 &&
		session->arena->sizes.statements_history > 0)
		flags |= PFS_RECORD_HISTORY;
	if (history && (gate & PFS_WANTS(STATEMENTS_HISTORY_LONG)) != 0 &&
		session->arena->sizes.statements_history_long > 0)
		flags |= PFS_RECORD_LONG;
	session->flags = flags;
	session->wants = pfs_load(&session->thread->instrumented) != 0 ? gate & PFS_BUILT : 0;
	session->shows = (gate & PFS_WANTS(STATEMENTS_CURRENT)) != 0;
	session->times_cpu = (gate & PFS_WANTS(STATEMENTS_CPU)) != 0;
	session->last_cpu = 0;
	session->plain = 0;
	session->switched = true;
	session->far = !pfs_now_is_near();
	pfs_session_advance(session);
	decide_transaction_rows(session, gate, history);
	decide_wait_rows(session, gate, history);
	if (pfs_host_switched != NULL)
		pfs_host_switched(session);
	if (session->busy || !pfs_enter_recording(session))
		return;					/* a signal handler in the middle: it asks again each time */
	decide_wait_copies(session, gate, history);
	counted = decide_answers(session, changes);
	session->decided = changes;
	if (session->newest == NULL && session->slots_of != session->thread->thread_id)
		take_over_journal(session);
	if (session->may_be_plain && session->has_journal && session->shows && !(session->times_cpu && counted) &&
		(session->wants & PFS_GATE_STATEMENTS) != 0)
		session->plain = changes;
	pfs_leave_recording(session);
}

uint64_t
pfs_statement_promise(PfsSession *session)
{
	if (session->promised_statement == 0)
		session->promised_statement = pfs_statement_next_id(session);
	session->promised = true;
	return session->promised_statement;
}

/*
 * Another one begins, which will end first: this one moves to its place in the stack.  Its event id is written last, see
 * pfs_journal_read_open.
 */
PFS_HOT __attribute__((noinline)) void
pfs_statement_leave_ring(PfsSession *session)
{
	PfsStatement *statement = session->in_ring;
	const PfsStatementRecord *from = statement->record;
	uint32_t	slot = pfs_journal_own_slot(session->arena, (uint32_t) statement->place);
	PfsStatementRecord *own = session->records + slot;

	session->in_ring = NULL;
	statement->record = own;
	pfs_store(&own->event_id, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pfs_record_copy_behind(own, from);
	pfs_store_release(&own->event_id, from->event_id);
	if (statement->recorded)
		pfs_store_release(&session->thread->open[statement->place], (uint16_t) slot);
}

/* It ends while it is not there: the one that is makes way. */
void
pfs_statement_copy_to_ring(PfsSession *session, const PfsStatement *statement)
{
	pfs_statement_make_way(session);
	pfs_record_copy(&session->records[pfs_statement_next_slot(session)], statement->record);
}

/* silent: one without a place in the stack. */
PfsStatement *
pfs_statement_take_any(PfsSession *session, bool silent)
{
	PfsStatement **list;
	PfsStatement *statement;

	if (session->newest == NULL)
	{
		if (pfs_unlikely(session->slots_of != session->thread->thread_id))
			take_over_journal(session);
		if (!silent && session->has_journal)
			return &session->statement[0];
		if (session->has_journal)
			pfs_statement_hide(session, &session->statement[0]);	/* its end has left that to the next one */
	}
	pfs_statement_make_way(session);
	list = session->free == NULL || silent ? &session->free_unplaced : &session->free;
	statement = *list;
	if (statement != NULL)
		*list = statement->older;
	else
		pfs_lose(session->arena, PFS_LOSS_FRAMES);
	return statement;
}

/*
 * While none is open the first one is not in the list, and stands alone: who begins it relies on that.  Here others that it
 * had begun have lasted longer.
 */
static void
take_first_out(PfsSession *session)
{
	PfsStatement *first = &session->statement[0];

	for (PfsStatement **at = &session->free; *at != NULL; at = &(*at)->older)
		if (*at == first)
		{
			*at = first->older;
			break;
		}
	first->older = first->newer = first->parent = NULL;
}

PFS_COLD void
pfs_statement_put_back_other(PfsSession *session, PfsStatement *statement)
{
	if (session->newest == NULL)
		take_first_out(session);
	add_free(session, statement);
}

bool
pfs_template_make(PfsSession *session, PfsTemplate *template, uint32_t class, uint64_t query_id,
				  uint32_t digest, uint32_t generation)
{
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);

	pfs_session_decided(session);
	*template = (PfsTemplate)
	{
		.query_id = query_id,.digest = digest,
			.digest_generation = generation,
			.class = (uint16_t) class,
			.used = session->flags | (pfs_load(&instrument->timed) ? 0 : PFS_RECORD_UNTIMED),
			.schema = session->schema,.role = session->role
	};
	return pfs_load(&instrument->enabled) != 0;
}

/* The parent is the transaction if that began inside the parent statement, or if there is none. */
static inline void
set_nesting(const PfsSession *session, PfsStatement *statement)
{
	PfsStatementRecord *record = statement->record;
	const PfsStatement *parent = statement->parent;
	uint64_t	id = 0;
	bool		in_statement = false;

	while (pfs_unlikely(parent != NULL) && !parent->recorded)
		parent = parent->parent;
	if (pfs_unlikely(parent != NULL))
	{
		id = parent->record->event_id;
		in_statement = true;
	}
	if (session->transaction.event_id > id)
	{
		id = session->transaction.event_id;
		in_statement = false;
	}
	pfs_store(&record->nesting_event_id, id);
	if (in_statement)
		pfs_store(&record->used, record->used | PFS_RECORD_IN_STATEMENT);
}

static PFS_COLD void
begin_nested(PfsStatement *statement, PfsStatement *parent)
{
	parent->children++;
	pfs_store(&statement->record->level, (uint16_t) (parent->record->level + 1));
}

/*
 * Processor time in nanoseconds: a system call.  Where one client's statement follows another, the end of that one
 * is the start of this: what the server does in between is this one's command.  (Not PFS_COLD: the compiler would put what
 * follows a nested statement's begin elsewhere, too.)
 */
__attribute__((noinline)) void
pfs_statement_begin_cpu(const PfsSession *session, PfsStatement *statement)
{
	statement->cpu_since = statement->parent == NULL && statement->older == NULL && session->last_cpu != 0
		? session->last_cpu : pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

PFS_HOT PfsStatement *
pfs_statement_begin(PfsSession *session, const PfsTemplate *template, bool silent, PfsStatement *parent,
					PfsTicks start)
{
	PfsStatementRow row;
	PfsStatement *statement = pfs_statement_begin_here(session, template, 0, silent, parent, start, 0,
														parent == NULL && session->promised, &row);

	if (pfs_unlikely(statement == NULL))
		return NULL;
	if (pfs_unlikely(parent != NULL))
		begin_nested(statement, parent);
	else
		pfs_statement_take_waits(session, statement);
	if (pfs_likely(statement->recorded))
		set_nesting(session, statement);
	if (pfs_unlikely(session->times_cpu))
		pfs_statement_begin_cpu(session, statement);
	if (pfs_likely(statement->recorded && (template->used & PFS_RECORD_UNTIMED) == 0 &&
				   template->digest != PFS_DIGEST_OTHERS &&
				   (statement->older == NULL || statement != &session->statement[0])))
		statement->plain = session->plain;
	return statement;
}

PfsStatement *
pfs_statement_open(PfsSession *session, uint32_t class, PfsTicks start)
{
	PfsTemplate template;

	return pfs_template_make(session, &template, class, 0, PFS_DIGEST_NONE, pfs_load(&session->arena->digest_generation))
		? pfs_statement_begin(session, &template, false, session->running, start) : NULL;
}

/* --- texts --- */

/* The open statement whose text stands furthest back. */
static PfsStatement *
oldest_text(PfsSession *session)
{
	uint32_t	next = (uint32_t) pfs_load(&session->thread->text_next);
	PfsStatement *oldest = NULL;

	PFS_EACH_OPEN(session, statement)
	{
		if (statement->record->text_length > 0 &&
			(oldest == NULL || next - statement->record->text > next - oldest->record->text))
			oldest = statement;
	}
	return oldest;
}

/* A text stands at another place now: for all open statements that have it. */
static void
move_text(PfsSession *session, uint32_t from, uint32_t to)
{
	PFS_EACH_OPEN(session, statement)
	{
		if (statement->record->text_length > 0 && statement->record->text == from)
			pfs_store_release(&statement->record->text, to);	/* when it is there */
	}
}

uint64_t
pfs_statement_text_position(const PfsSession *session, const PfsStatement *statement)
{
	uint64_t	next = pfs_load(&session->thread->text_next);

	return next - (uint32_t) ((uint32_t) next - statement->record->text);
}

/*
 * Writes texts of open statements again that would not be fresh any more "length" bytes later.  Who wants to refer to
 * one of the older half shall write it again, too: so this is not due before half of the ring is written.
 */
static PFS_COLD void
keep_open_texts(PfsSession *session, uint32_t length)
{
	const PfsArena *arena = session->arena;
	PfsThread  *thread = session->thread;

	pfs_session_advance(session);
	for (uint32_t i = 0; i <= arena->sizes.statement_stack; i++)
	{
		PfsStatement *statement = oldest_text(session);
		PfsStatementRecord *record;
		const char *from;
		uint64_t	position,
					next = pfs_load(&thread->text_next),
					oldest = statement == NULL ? next : pfs_statement_text_position(session, statement),
					half = next - (session->text_fresh - length) / 2;
		uint32_t	bytes;
		char	   *to;

		session->oldest_text = (int64_t) (oldest - half) < 0 ? oldest : half;
		if (statement == NULL || next + length - oldest <= session->text_fresh)
			return;
		if (i == 0)
			pfs_statement_sum(session); /* it may take the place of texts that are not summed */
		session->summed_text = next;
		record = statement->record;
		from = pfs_journal_texts(arena, thread) + (record->text & (arena->journal_texts - 1));
		bytes = pfs_min(record->text_length, arena->sizes.sql_text_length);
		to = pfs_journal_text_room(arena, thread, bytes, &position);
		for (uint32_t b = 0; b < bytes; b++)	/* it may overlap what is behind it */
			pfs_store(&to[b], pfs_load(&from[b]));
		move_text(session, record->text, (uint32_t) position);
	}
}

/*
 * Room for a text.  Before it takes their place, texts of open statements are written again, and statements that
 * have ended are summed: an open one has its text not more than journal_texts - journal_text_share back,
 * and not more than journal_text_share is written between its end and its sum.
 */
static char *
room_for_text(PfsSession *session, uint32_t length, uint64_t *position)
{
	const PfsArena *arena = session->arena;
	uint32_t	longest = arena->sizes.sql_text_length + PFS_MESSAGE_LENGTH;
	uint64_t	next = pfs_load(&session->thread->text_next);

	if (pfs_unlikely(next + 2 * longest - session->summed_text > arena->journal_text_share))
		pfs_statement_sum(session);
	if (pfs_unlikely(next + 2 * longest - session->oldest_text > session->text_fresh))
		keep_open_texts(session, 2 * longest);
	return pfs_journal_text_room(arena, session->thread, length, position);
}

static __attribute__((noinline)) uint64_t
write_text(PfsSession *session, const char *text, uint32_t length)
{
	uint64_t	position;
	char	   *room = room_for_text(session, length, &position);

	pfs_copy_bytes(room, text, length);
	return position;
}

PFS_HOT void
pfs_statement_text_set(PfsSession *session, PfsStatement *statement, uint32_t role,
					   const char *text, size_t length)
{
	uint32_t	bytes = (uint32_t) pfs_min(length, (size_t) session->arena->sizes.sql_text_length);

	pfs_store(&statement->record->text_length, 0);	/* till it is there */
	pfs_statement_text_put(statement->record, write_text(session, text, bytes), bytes);
	pfs_store(&statement->record->role, role);
}

PFS_HOT void
pfs_statement_text_refer(PfsSession *session, PfsStatement *statement, const char *text, uint32_t length,
						 uint64_t *position)
{
	if (pfs_unlikely(!pfs_statement_text_is_fresh(session, *position)))
		*position = write_text(session, text, length);
	pfs_statement_text_put(statement->record, *position, length);
}

void
pfs_statement_text_share(PfsStatement *statement, const PfsStatement *of)
{
	pfs_store(&statement->record->text, of->record->text);
	pfs_store(&statement->record->text_length, of->record->text_length);
	pfs_store(&statement->record->role, of->record->role);
}

const char *
pfs_statement_text(const PfsSession *session, const PfsStatement *statement, size_t *length)
{
	const PfsArena *arena = session->arena;
	uint32_t	place = statement->record->text & (arena->journal_texts - 1);

	*length = pfs_journal_text_left(arena, session->thread, statement->record->text,
									statement->record->text_length, arena->sizes.sql_text_length);
	return pfs_journal_texts(arena, session->thread) + place;
}

void
pfs_statement_fail(PfsSession *session, PfsStatement *statement, uint32_t sqlstate, const char *message,
				   size_t length)
{
	PfsStatementRecord *record = statement->record;
	uint64_t	position = 0;

	length = message == NULL || statement->place < 0 ? 0 : pfs_min(length, (size_t) PFS_MESSAGE_LENGTH);
	if (length > 0)
		position = write_text(session, message, (uint32_t) length);
	pfs_store(&record->sqlstate, sqlstate);
	pfs_store(&record->message, (uint32_t) position);
	pfs_store(&record->message_length, (uint32_t) length);
	pfs_store(&record->used, record->used | PFS_RECORD_FAILED);
	statement->plain = 0;
}

void
pfs_statement_unlist(PfsStatement *statement)
{
	statement->recorded = false;
	statement->plain = 0;
	pfs_store(&statement->record->event_id, 0);
}

PFS_HOT void
pfs_statement_publish(PfsSession *session, PfsStatement *statement)
{
	if (statement->recorded)
		pfs_statement_publish_here(session, statement->place, (uint32_t) (statement->record - session->records));
}

bool
pfs_statement_refine(PfsSession *session, PfsStatement *statement, uint32_t class)
{
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);
	PfsStatementRecord *record = statement->record;

	if (!pfs_load(&instrument->enabled))
	{
		pfs_statement_drop(session, statement);
		return false;
	}
	statement->plain = 0;
	pfs_store(&record->class, (uint16_t) class);
	pfs_store(&record->used, (record->used & ~PFS_RECORD_UNTIMED) |
			  (pfs_load(&instrument->timed) ? 0 : PFS_RECORD_UNTIMED));
	return true;
}

/* --- time --- */

/* Returns the processor's time, which was read. */
static PFS_COLD uint64_t
stop_cpu(PfsStatement *statement)
{
	uint64_t	now = pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	statement->cpu += pfs_max(now - statement->cpu_since, (uint64_t) 1);
	statement->cpu_since = 0;
	return now;
}

void
pfs_statement_resume(PfsStatement *statement, PfsTicks now)
{
	if (statement->since != 0)
		return;
	statement->since = now;
	if (pfs_unlikely(statement->cpu != 0))
		statement->cpu_since = pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

PFS_HOT void
pfs_statement_pause(PfsStatement *statement, PfsTicks now)
{
	if (statement->since == 0)
		return;
	if (now > statement->since)
		statement->spent += now - statement->since;
	statement->paused_at = pfs_max(now, statement->record->start);
	statement->since = 0;
	if (pfs_unlikely(statement->cpu_since != 0))
		(void) stop_cpu(statement);
}

/* --- the end --- */

/* A cursor may outlive the statement that opened it: its parent is then the next one up. */
static PFS_COLD void
adopt_children(PfsSession *session, PfsStatement *statement)
{
	PFS_EACH_OPEN(session, child)
	{
		if (child->parent != statement)
			continue;
		child->parent = statement->parent;
		if (child->parent != NULL)
			child->parent->children++;
	}
}

static inline void
release(PfsSession *session, PfsStatement *statement)
{
	statement->in_use = false;
	statement->waits.used = statement->waits.last = 0;
	if (session->running == statement)
		session->running = statement->parent;
	if (pfs_unlikely(statement->children > 0))
		adopt_children(session, statement);
	if (statement->parent != NULL)
		statement->parent->children--;
	if (pfs_unlikely(statement->newer != NULL))
		statement->newer->older = statement->older;
	else
		session->newest = statement->older;
	if (statement->older != NULL)
		statement->older->newer = statement->newer;
	if (session->in_ring == statement)
		session->in_ring = NULL;
	pfs_statement_put_back(session, statement);
}

void
pfs_statement_drop(PfsSession *session, PfsStatement *statement)
{
	pfs_statement_hide(session, statement);
	statement->cpu = statement->cpu_since = 0;
	if (statement->recorded)
		pfs_transaction_forget_parent(session, statement->record->event_id);
	release(session, statement);
}

PFS_HOT __attribute__((noinline)) void
pfs_statement_hand_over_waits(PfsSession *session, PfsStatement *statement)
{
	if (pfs_enter_recording(session))
	{
		pfs_seq_write_begin(&session->thread->seq);
		pfs_wait_hand_over(session, statement);
		pfs_seq_write_end(&session->thread->seq);
		pfs_leave_recording(session);
	}
	statement->waits.used = statement->waits.last = 0;
}

/*
 * A statement that makes no row, among others that do: it is summed at once, so that it does not push theirs
 * out of the history.  False: not now.
 */
static PFS_COLD bool
end_without_row(PfsSession *session, const PfsStatement *statement)
{
	if (statement->silent)
		return true;
	if (statement->place < 0 && session->shows)
		pfs_lose(session->arena, PFS_LOSS_NESTED);
	if ((session->flags & PFS_RECORD_HISTORY) == 0 || session->busy || !pfs_enter_recording(session))
		return false;
	pfs_sum_record(session->arena, session->thread, statement->record, &session->statements_long);
	pfs_statement_hide(session, statement);
	pfs_leave_recording(session);
	return true;
}

PFS_COLD void
pfs_statement_end_cpu(PfsSession *session, PfsStatement *statement, PfsTicks end)
{
	PfsTicks	wait = statement->spent;
	PfsTicks	ticks;

	if (statement->since != 0 && end > statement->since)
		wait += end - statement->since;
	session->last_cpu = statement->cpu_since != 0 ? stop_cpu(statement) : 0;
	ticks = pfs_ns_to_ticks(statement->cpu);
	pfs_statement_set(statement, PFS_COUNTER_CPU_TIME, (statement->record->used & PFS_RECORD_UNTIMED) != 0 ? ticks
					  : pfs_min(ticks, pfs_max(wait, (PfsTicks) 1)));
	statement->cpu = 0;
}

#define HISTORIES (PFS_RECORD_HISTORY | PFS_RECORD_LONG)

PFS_HOT PfsTicks
pfs_statement_close(PfsSession *session, PfsStatement *statement, PfsTicks end)
{
	PfsThread  *thread = session->thread;
	PfsStatementRecord *record = statement->record;
	uint64_t	changes = pfs_session_decided(session);
	PfsTicks	wait = statement->spent;

	if (pfs_unlikely((statement->cpu | statement->cpu_since) != 0))
		pfs_statement_end_cpu(session, statement, end);
	if (pfs_likely(statement->since != 0))
	{
		wait += pfs_likely(end > statement->since) ? end - statement->since : 0;
		end = pfs_max(end, record->start);
	}
	else
		end = statement->paused_at;
	pfs_store(&record->end, end);
	/* ended within one tick: still a timed event */
	pfs_store(&record->wait, pfs_unlikely((record->used & PFS_RECORD_UNTIMED) != 0) ? 0
			  : pfs_max(wait, (PfsTicks) 1));
	pfs_store(&record->end_event, (uint32_t) pfs_load(&thread->event_id));
	pfs_store(&record->epoch, pfs_epoch_of(changes));
	if (pfs_unlikely(((record->used ^ session->flags) & HISTORIES) != 0))
		pfs_store(&record->used, (record->used & ~HISTORIES) | (session->flags & HISTORIES));
	if (pfs_unlikely(statement->waits.used > 0))
		pfs_statement_hand_over_waits(session, statement);
	if (pfs_unlikely(record->digest == PFS_DIGEST_OTHERS) && record->query_id != 0 && !statement->silent)
		pfs_lose(session->arena, PFS_LOSS_DIGEST);
	if (pfs_likely(statement->recorded) || !end_without_row(session, statement))
	{
		pfs_statement_append(session, thread, statement, false);
		pfs_statement_hide(session, statement);
	}
	release(session, statement);
	if (pfs_unlikely(pfs_load(&thread->ended) - pfs_load(&thread->summed) >= PFS_UNSUMMED))
		pfs_statement_sum(session);
	return end;
}

__attribute__((noinline)) void
pfs_statement_sum(PfsSession *session)
{
	if (!pfs_enter_recording(session))
		return;
	pfs_clock_look(session->arena, pfs_now());
	pfs_sum_journal(session->arena, session->thread, &session->statements_long);
	session->summed_text = pfs_load(&session->thread->text_next);
	pfs_leave_recording(session);
}

void
pfs_statement_tally(PfsSession *session, uint32_t class, PfsTicks wait)
{
	PfsThread  *thread = session->thread;
	PfsInstrument *instrument = pfs_statement_instrument(session->arena, class);
	/* loaded before the switches it is about */
	uint64_t	changes = pfs_load_acquire(&session->arena->changes);
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsStatementCell *cell;

	if (!pfs_load(&instrument->enabled) || !pfs_enter_recording(session))
		return;
	pfs_sum_older(session->arena, thread, pfs_epoch_of(changes), &session->statements_long);
	cell = pfs_cell_at(session->arena, thread,
					   (gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL,
					   PFS_FAMILY_STATEMENTS, class, sizeof(*cell), pfs_epoch_of(changes));
	if (cell != NULL)
	{
		pfs_seq_write_begin(&cell->head.seq);
		pfs_timer_stat_add(&cell->stat.timer, pfs_load(&instrument->timed) ? wait : 0);
		pfs_seq_write_end(&cell->head.seq);
	}
	pfs_leave_recording(session);
}

void
pfs_answers_sum(PfsArena *arena, PfsThread *thread)
{
	for (uint32_t i = 0; i < PFS_ANSWERS; i++)
	{
		PfsTimerStat *timed = &thread->timed_answers.stat[i];
		uint32_t	count = pfs_load(&thread->answered[i]);
		bool		some_timed = pfs_load(&timed->count) != 0;
		PfsStatementCell *cell;

		if (count == 0 && !some_timed)
			continue;
		cell = pfs_cell_at(arena, thread, pfs_load(&thread->answered_scope) % PFS_SCOPES,
						   PFS_FAMILY_STATEMENTS, pfs_answer_class(arena, i),
						   sizeof(*cell), pfs_load(&thread->answered_epoch));
		if (cell != NULL)		/* a lost cell is counted */
		{
			pfs_seq_write_begin(&cell->head.seq);
			pfs_add(&cell->stat.timer.count, count);
			if (pfs_unlikely(some_timed))
				pfs_timer_stat_merge(&cell->stat.timer, timed);
		}
		pfs_store(&thread->answered[i], 0);
		if (pfs_unlikely(some_timed))
		{
			pfs_seq_write_begin(&thread->timed_answers.seq);
			pfs_zero_words(timed, sizeof(*timed));
			pfs_seq_write_end(&thread->timed_answers.seq);
		}
		if (cell != NULL)
			pfs_seq_write_end(&cell->head.seq);
	}
}

void
pfs_error_count(PfsSession *session, uint32_t error, PfsErrorEnd end, PfsTicks now)
{
	uint32_t	gate = pfs_load(&session->arena->gate);
	PfsErrorCell *cell;

	if (error >= session->arena->sizes.errors || !pfs_enter_recording(session))
		return;
	pfs_seq_write_begin(&session->thread->seq);
	cell = pfs_cell(session->arena, session->thread,
					(gate & PFS_WANTS(THREAD)) != 0 ? PFS_SCOPE_THREAD : PFS_SCOPE_GLOBAL,
					PFS_FAMILY_ERRORS, pfs_error_cell_number(session->arena, error), sizeof(*cell));
	if (cell != NULL)
	{
		pfs_add(end == PFS_ERROR_HANDLED ? &cell->stat.handled : &cell->stat.raised, 1);
		if (end == PFS_ERROR_PASSED && pfs_load(&cell->stat.handled) != 0)	/* no TRUNCATE in between */
			pfs_add(&cell->stat.handled, UINT64_MAX);
		if (cell->stat.first_seen == 0)
			pfs_store(&cell->stat.first_seen, now);
		pfs_store(&cell->stat.last_seen, now);
	}
	pfs_seq_write_end(&session->thread->seq);
	pfs_leave_recording(session);
}

bool
pfs_session_identity(PfsSession *session, PfsRef database, uint32_t database_id, int32_t encoding)
{
	PfsThread  *thread = session->thread;

	if (!pfs_enter_recording(session))
		return false;
	pfs_seq_write_begin(&thread->identity);
	pfs_store(&thread->database_id, database_id);
	pfs_store(&thread->encoding, encoding);
	if (database != 0)
		pfs_store(&thread->database, database);
	pfs_seq_write_end(&thread->identity);
	pfs_leave_recording(session);
	return true;
}

bool
pfs_session_program(PfsSession *session, const char *program, size_t length)
{
	PfsThread  *thread = session->thread;

	if (!pfs_enter_recording(session))
		return false;
	length = pfs_min(length, sizeof(thread->program) - 1);
	pfs_seq_write_begin(&thread->identity);
	pfs_copy_bytes(thread->program, program, length);
	pfs_store(&thread->program[length], '\0');
	pfs_seq_write_end(&thread->identity);
	pfs_leave_recording(session);
	return true;
}

PFS_HOT void
pfs_session_state(PfsSession *session, PfsThreadState state, PfsTicks now)
{
	PfsThread  *thread = session->thread;

	pfs_store(&thread->state, state);
	pfs_store(&thread->state_since, now);
}
