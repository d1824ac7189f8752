/*
 * pg_protocol.c
 *		What the server tells its client: it ends statements, errors and the time of a command.
 *
 * Backends send through a table of functions that an exported variable points to; ours notes the
 * type of a message and calls the server's.  While the executor runs it stands aside, so rows cost nothing;
 * an error or a notice brings it back before it is sent (pg_error.c).
 */
#include "pg/pg_port.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_prepared.h"
#include "pg/pg_protocol.h"
#include "pg/pg_statement_hot.h"

PQcommMethods pfs_pg_our_methods;

/* Bits of the gate that say that something is wanted of a session. */
#define EVERY_CLASS (PFS_PG_QUERY_CLASSES | PFS_GATE_ANY | PFS_GATE_CALLS)

/* All functions that send have the same parameters, so that they are handed on as they stand. */
#define AS_IT_IS __attribute__((noinline, noclone))

/*
 * Under the extended protocol an implicit transaction commits at the Sync message: the statement waits for it.  A
 * query that has not ended is inside of it.
 */
static inline bool
waits_for_commit(const PfsStatement *statement)
{
	return statement->host_query != NULL || pfs_pg_server.in_transaction();
}

/* What was executed last is complete.  now: 0 = not known. */
static pg_attribute_always_inline void
command_complete(bool extended, PfsTicks now)
{
	PfsStatement *statement = pfs_session.top;

	if (pfs_unlikely(statement == NULL || pfs_session.running != NULL ||
					 (statement->host_state != PFS_PG_RUNNING && statement->host_state != PFS_PG_EXECUTED)))
		return;
	if (statement->host_query != NULL)
		pfs_pg_plan_end(statement->host_query, statement);
	pfs_pg_endings_in();		/* of a query that reads it is to come */
	now = now != 0 ? now : pfs_now();
	if (extended && !pfs_pg_command.block && waits_for_commit(statement))
		pfs_pg_complete(statement, now);
	else
		pfs_pg_end(statement, now, 0, NULL);
}

static void
portal_suspended(void)
{
	PfsStatement *statement = pfs_session.top;

	if (statement != NULL && pfs_session.running == NULL && statement->host_state == PFS_PG_RUNNING)
		pfs_pg_move(statement, PFS_PG_SUSPENDED, 0);
}

/* A message has come that is not seen to come. */
static inline void
note_command(void)
{
	pfs_pg_wait_over();
}

/* Of a simple query, or of an Execute whose message was not seen to come. */
static AS_IT_IS int
put_complete_otherwise(char type, const char *body, size_t length)
{
	PfsTicks	now;

	note_command();
	now = pfs_pg_command_answered('C');
	command_complete(pfs_session.extended, now);
	return pfs_pg_entry.putmessage(type, body, length);
}

/* Of an Execute whose answer is timed. */
static AS_IT_IS int
put_complete_timed(char type, const char *body, size_t length)
{
	PfsTicks	now = pfs_pg_answer_timed_near(PFS_PG_ANSWER_EXECUTE);

	command_complete(true, now);
	return pfs_pg_entry.putmessage(type, body, length);
}

/*
 * Does nothing but what it has waited for keep the client's statement from ending in the plain way?  Then that is handed
 * over first, and the caller begins again.
 */
static inline bool
was_plain_but_for_waits(PfsSession *session)
{
	PfsStatement *first = &session->statement[0];

	if (first->waits.used == 0 || session->in_ring != first || session->top != first ||
		first->plain != pfs_load_acquire(&session->arena->changes))
		return false;
	pfs_statement_hand_over_waits(session, first);
	return true;
}

static AS_IT_IS int
put_complete_summing(char type, const char *body, size_t length)
{
	pfs_statement_sum(&pfs_session);
	return pfs_pg_entry.putmessage(type, body, length);
}

static int	pfs_putmessage(char type, const char *body, size_t length);

/* It was executed in the plain way, and its statement ends. */
static pg_attribute_always_inline int
put_complete_ended(char type, const char *body, size_t length, PfsSession *session, PfsStatement *statement, PfsTicks now)
{
	bool		sums = pfs_pg_end_plain(session, statement, now, true, true, true);

	pfs_pg_command.since = pfs_pg_command.ended;
	if (sums)
		return put_complete_summing(type, body, length);
	return pfs_pg_entry.putmessage(type, body, length);
}

/* The same, or it waits for its commit. */
static pg_attribute_always_inline int
put_complete_plain(char type, const char *body, size_t length, PfsSession *session, PfsStatement *statement, PfsTicks now)
{
	if (pfs_pg_command.block)
	{
		pfs_pg_store_rows(statement, statement->host_rows);
		pfs_pg_let_query_go(statement, true);
		return put_complete_ended(type, body, length, session, statement, now);
	}
	if (pfs_likely(pfs_pg_entry.endings == PFS_PG_ENDINGS_OUT) && statement->host_query != NULL)
		pfs_pg_untied_over(statement, NULL);
	pfs_pg_complete(statement, now);
	return pfs_pg_entry.putmessage(type, body, length);
}

/* Its statement has been executed, nothing is left of its query, and it may end in the plain way. */
static inline bool
is_plain_executed(PfsSession *session, bool extended)
{
	PfsStatement *statement = pfs_pg_plain_top(session, extended);

	return statement != NULL && pfs_pg_has_state(statement, PFS_PG_EXECUTED, PFS_PG_EXECUTED) && statement->host_query == NULL &&
		!session->times_cpu;
}

/* Of a simple query: it has been committed, too. */
static PFS_HOT AS_IT_IS int
put_complete_simple(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();

	pfs_pg_command.answered = true;
	pfs_pg_store_rows(&session->statement[0], session->statement[0].host_rows);
	return put_complete_ended(type, body, length, session, &session->statement[0], pfs_now_near());
}

static AS_IT_IS int
put_complete_any(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();

	if (is_plain_executed(session, false))
		return put_complete_simple(type, body, length);
	if (is_plain_executed(session, true) && session->answers[PFS_PG_ANSWER_EXECUTE] == PFS_ANSWER_COUNTED &&
		!pfs_pg_server.in_transaction())	/* COMMIT */
	{
		(void) pfs_answer(session, PFS_PG_ANSWER_EXECUTE);
		pfs_pg_store_rows(&session->statement[0], session->statement[0].host_rows);
		return put_complete_ended(type, body, length, session, &session->statement[0], pfs_now_near());
	}
	if (was_plain_but_for_waits(&pfs_session))
		return pfs_putmessage(type, body, length);
	if (pfs_unlikely(pfs_pg_is_idle() || !pfs_session.extended))
		return put_complete_otherwise(type, body, length);
	if (pfs_unlikely(!pfs_answer(&pfs_session, PFS_PG_ANSWER_EXECUTE)))
		return pfs_pg_answer_is_near() ? put_complete_timed(type, body, length)
			: put_complete_otherwise(type, body, length);
	command_complete(true, 0);
	return pfs_pg_entry.putmessage(type, body, length);
}

/* The same of one whose answer is timed. */
static PFS_HOT AS_IT_IS int
put_complete_plain_timed(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsTicks	now;

	if (pfs_unlikely(session->answers[PFS_PG_ANSWER_EXECUTE] != PFS_ANSWER_TIMED || !pfs_pg_answer_is_near()))
		return put_complete_any(type, body, length);
	now = pfs_pg_answer_timed_near(PFS_PG_ANSWER_EXECUTE);
	if (pfs_unlikely(session->times_cpu) && pfs_pg_command.block)
		pfs_statement_end_cpu(session, &session->statement[0], now);
	return put_complete_plain(type, body, length, session, &session->statement[0], now);
}

/* The same of one whose plan has more to tell first.  Or it is in another state. */
static PFS_HOT AS_IT_IS int
put_complete_watched(char type, const char *body, size_t length)
{
	PfsStatement *statement = pfs_session.top;

	if (statement->host_watches == 0 || statement->host_query == NULL || statement->host_in_call ||
		statement->host_state > PFS_PG_EXECUTED || !pfs_pg_time_runs((PfsPgState) statement->host_state))
		return put_complete_any(type, body, length);	/* it wrote temporary files */
	pfs_pg_plan_end(statement->host_query, statement);
	statement->host_watches = 0;
	if (pfs_unlikely(!pfs_answer(&pfs_session, PFS_PG_ANSWER_EXECUTE)))
		return put_complete_plain_timed(type, body, length);
	return put_complete_plain(type, body, length, &pfs_session, statement, pfs_now_near());
}

/* Of an Execute: its statement ends in the plain way, or waits for its commit: then its transaction is known to be open. */
static AS_IT_IS int
put_complete_seen(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsStatement *statement = pfs_pg_plain_top(session, true);

	if (pfs_unlikely(statement == NULL || !(pfs_pg_command.block || session->transaction.open)))
		return put_complete_any(type, body, length);
	if (pfs_unlikely(!pfs_pg_has_state(statement, PFS_PG_RUNNING, PFS_PG_EXECUTED)) ||
		(statement->host_query != NULL && pfs_unlikely(pfs_pg_has_spilled(statement))))
		return put_complete_watched(type, body, length);
	if (pfs_unlikely(session->answers[PFS_PG_ANSWER_EXECUTE] != PFS_ANSWER_COUNTED))
		return put_complete_plain_timed(type, body, length);
	(void) pfs_answer(session, PFS_PG_ANSWER_EXECUTE);
	return put_complete_plain(type, body, length, session, statement, pfs_now_near());
}

/* As the mark in pfs_pg_undisturbed says, it is the only one that is open: is nothing else out of the ordinary? */
static pg_attribute_always_inline bool
ends_plain(const PfsSession *session, const PfsStatement *first)
{
	return first->plain == pfs_load_acquire(&session->arena->changes) && pfs_waits_are_none(&first->waits) &&
		pfs_session_is(session, PFS_PHASE_COMMAND, true);
}

/* Of a query that has run: it ends, or waits for its commit. */
static pg_attribute_always_inline int
put_complete_run(const char *body, size_t length, PfsSession *session, PfsStatement *first, PfsTicks now)
{
	if (pfs_likely(pfs_pg_command.block))
		return put_complete_ended('C', body, length, session, first, now);
	pfs_pg_undisturbed = PFS_PG_IS_ANSWERED;
	pfs_assume(pfs_pg_command.since != 0);	/* else it would not have begun in the plain way */
	pfs_pg_complete(first, now);
	return pfs_pg_entry.putmessage('C', body, length);
}

/* The same where nothing has happened since it was executed, as the caller has seen, whose answer is timed. */
static PFS_HOT AS_IT_IS int
put_complete_run_timed(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsTicks	now;

	if (pfs_unlikely(session->answers[PFS_PG_ANSWER_EXECUTE] != PFS_ANSWER_TIMED || session->times_cpu ||
					 pfs_pg_command.came == 0))
		return put_complete_seen(type, body, length);
	now = pfs_pg_answer_timed_near(PFS_PG_ANSWER_EXECUTE);
	if (pfs_pg_undisturbed == PFS_PG_HAS_RUN)
		return put_complete_run(body, length, session, &session->statement[0], now);
	return put_complete_ended(type, body, length, session, &session->statement[0], now);
}

/* It was no query, or something has happened. */
static PFS_HOT AS_IT_IS int
put_complete_block(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsStatement *first = &session->statement[0];

	if (pfs_pg_undisturbed != PFS_PG_HAS_ENDED_BLOCK || !ends_plain(session, first))
		return put_complete_seen('C', body, length);
	if (pfs_unlikely(session->answers[PFS_PG_ANSWER_EXECUTE] != PFS_ANSWER_COUNTED))
		return put_complete_run_timed('C', body, length);
	(void) pfs_answer(session, PFS_PG_ANSWER_EXECUTE);
	return put_complete_ended('C', body, length, session, first, pfs_now_near());
}

/* Of a query. */
static PFS_HOT AS_IT_IS int
put_complete(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsStatement *first = &session->statement[0];

	pfs_keep(first);
	if (pfs_unlikely(pfs_pg_undisturbed != PFS_PG_HAS_RUN))
		return put_complete_block('C', body, length);
	if (pfs_unlikely(!ends_plain(session, first)))
		return put_complete_seen('C', body, length);
	if (pfs_unlikely(session->answers[PFS_PG_ANSWER_EXECUTE] != PFS_ANSWER_COUNTED))
		return put_complete_run_timed('C', body, length);
	(void) pfs_answer(session, PFS_PG_ANSWER_EXECUTE);
	return put_complete_run(body, length, session, first, pfs_now_near());
}

/* The session waits for its client, since then. */
static pg_attribute_always_inline void
begin_idle_as(PfsSession *session, PfsThreadState state, PfsTicks now)
{
	pfs_pg_command_ready();
	pfs_pg_wait_idle(now);
	pfs_session_state(session, state, now);
}

static pg_attribute_always_inline void
begin_idle(PfsSession *session, const char *body, size_t length, PfsTicks now)
{
	begin_idle_as(session, length == 0 ? PFS_THREAD_IDLE : (PfsThreadState) body[0], now);
}

/* Nothing is wanted: until it is, the server does without us. */
static PFS_COLD void
go_out(void)
{
	PqCommMethods = pfs_pg_server.protocol;
	if (pfs_pg_wait_is_told && pfs_pg_is_off(EVERY_CLASS))
		pfs_pg_executor_out();
	pfs_pg_entry.protocol_is_out = true;
}

static PFS_COLD void
come_back(void)
{
	pfs_pg_entry.protocol_is_out = false;
	pfs_pg_protocol_back();
}

/* This session has seen that something is wanted again, or has switched it on: the next statement of the same message sees it. */
static void
gate_renewed(void)
{
	if (!pfs_pg_is_off(EVERY_CLASS))
		pfs_pg_executor_in();
}

static void
switched(PfsSession *session)
{
	pfs_pg_wait_switched();
	if (pfs_unlikely(pfs_pg_entry.protocol_is_out) && (session->wants & (PFS_GATE_ANY | PFS_GATE_CALLS)) != 0)
		come_back();
	gate_renewed();
}

/* Something has to be done first, or nothing is wanted. */
static AS_IT_IS int
put_ready_at_last(char type, const char *body, size_t length)
{
	bool		wanted;

	pfs_pg_endings_in();
	wanted = pfs_wants(&pfs_session, PFS_GATE_ANY | PFS_GATE_CALLS);
	if (pfs_session.newest != NULL || wanted)
	{
		PfsTicks	now;

		/* what is on stage was left by an error that nobody was told of */
		pfs_session.switched = !wanted || pfs_session.running != NULL;
		pfs_session_forget_promised(&pfs_session);
		note_command();
		pfs_pg_set_top(NULL);
		now = pfs_pg_command.ended;
		if (now == 0 || now < pfs_pg_command.came)
			now = pfs_now();
		pfs_pg_wait_settle();
		pfs_pg_name_waits_met();
		if (pfs_pg_command_is_query())
			pfs_pg_command_tally_query();
		begin_idle(&pfs_session, body, length, now);
	}
	else if (PqCommMethods == &pfs_pg_our_methods && !pfs_session.transaction.open)
	{
		go_out();
		if (pfs_wants(&pfs_session, PFS_GATE_ANY | PFS_GATE_CALLS))
			switched(&pfs_session); /* a signal handler has met it before we were out */
	}
	return pfs_pg_entry.putmessage(type, body, length);
}

/* The last one has ended, and it is time to sum. */
static AS_IT_IS int
put_ready_summing(char type, const char *body, size_t length)
{
	pfs_statement_sum(&pfs_session);
	return put_ready_at_last(type, body, length);
}

/* Its statement has waited for its implicit commit, and ends now in the plain way. */
static pg_attribute_always_inline int
put_ready_plain(char type, const char *body, size_t length, PfsSession *session, PfsStatement *statement, PfsTicks now)
{
	if (pfs_pg_end_plain(session, statement, now, true, true, true))
		return put_ready_summing(type, body, length);
	/* not before its command came; and after the commit of an implicit transaction there is none */
	begin_idle_as(session, PFS_THREAD_IDLE, pfs_pg_command.ended);
	return pfs_pg_entry.putmessage(type, body, length);
}

/* The same of one whose processor time is taken. */
static AS_IT_IS int
put_ready_with_cpu(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsTicks	now = pfs_now_near();

	pfs_statement_end_cpu(session, &session->statement[0], now);
	return put_ready_plain(type, body, length, session, &session->statement[0], now);
}

/* Once more, if only what it has waited for was in the way. */
static AS_IT_IS int
put_ready_waited(char type, const char *body, size_t length)
{
	return was_plain_but_for_waits(&pfs_session) ? pfs_putmessage(type, body, length)
		: put_ready_at_last(type, body, length);
}

/* A statement is open that has waited for its implicit commit, or another one. */
static AS_IT_IS int
put_ready_seen(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsStatement *statement = pfs_pg_plain_top(session, true);

	if (pfs_unlikely(statement == NULL || !pfs_pg_has_state(statement, PFS_PG_COMMITTING, PFS_PG_COMMITTING)))
		return put_ready_waited(type, body, length);
	pfs_pg_let_query_go(statement, true);
	pfs_pg_store_rows(statement, statement->host_rows);
	if (pfs_unlikely(session->times_cpu))
		return put_ready_with_cpu(type, body, length);
	return put_ready_plain(type, body, length, session, statement, pfs_now_near());
}

/* The same where nothing but that has happened. */
static PFS_HOT AS_IT_IS int
put_ready_committed(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();
	PfsStatement *first = &session->statement[0];

	pfs_keep(first);
	/* processor time is not taken: else its answer would not have been counted in the plain way */
	if (pfs_unlikely(pfs_pg_undisturbed != PFS_PG_IS_ANSWERED) || pfs_unlikely(!ends_plain(session, first)) ||
		pfs_unlikely(first->host_state != PFS_PG_COMMITTING))
		return put_ready_seen('Z', body, length);
	return put_ready_plain('Z', body, length, session, first, pfs_now_near());
}

/* To a simple query, which is counted now, and most often timed; or something is out of the ordinary. */
static AS_IT_IS int
put_ready_otherwise(char type, const char *body, size_t length)
{
	PfsSession *session = pfs_pg_session();

	if (!pfs_session_is(session, PFS_PHASE_COMMAND, false) || !pfs_pg_command.answered ||
		pfs_pg_command.ended <= pfs_pg_command.came || !pfs_pg_answer_is_near())
		return put_ready_at_last(type, body, length);
	if (!pfs_answer(session, PFS_PG_ANSWER_QUERY))
		(void) pfs_pg_answer_timed_near(PFS_PG_ANSWER_QUERY);
	begin_idle(session, body, length, pfs_pg_command.ended);
	return pfs_pg_entry.putmessage(type, body, length);
}

/* Nearly always all statements have ended by CommandComplete, and nothing is left to be done. */
static pg_attribute_always_inline int
put_ready(const char *body, size_t length)
{
	PfsSession *session;
	PfsTicks	now;

	if (pfs_session.newest != NULL)
		return put_ready_committed('Z', body, length);
	session = pfs_pg_session();
	now = pfs_pg_command.ended;
	if (pfs_unlikely(!pfs_session_is(session, PFS_PHASE_COMMAND, true) || now <= pfs_pg_command.came))
		return put_ready_otherwise('Z', body, length);
	begin_idle(session, body, length, now);
	return pfs_pg_entry.putmessage('Z', body, length);
}

static PFS_COLD AS_IT_IS int
put_other(char type, const char *body, size_t length)
{
	pfs_pg_undisturbed = NULL;
	if (type != 'A' && type != 'N' && type != 'S')	/* these come unasked */
		note_command();
	pfs_pg_endings_in();
	pfs_pg_command_answered(type);
	switch (type)
	{
		case '2':				/* BindComplete */
			pfs_pg_command_forget_analysed();
			if (pfs_session.top != NULL && pfs_session.top->host_state == PFS_PG_ANALYSED)
				pfs_pg_finish_top();	/* planned for an Execute, before which other messages may come, or none */
			break;
		case 't':				/* ParameterDescription */
			pfs_pg_command_forget_analysed();	/* to describe a statement it is analysed again, whose text may go then */
			break;
		case '3':				/* CloseComplete */
			pfs_pg_command_forget_analysed();	/* its text may be gone */
			pfs_pg_untied_closed();
			pfs_pg_finish_not_run();
			if (pfs_prepared_rows > 0)
				pfs_prepared_look();
			break;
		case '1':				/* ParseComplete */
			pfs_pg_command_forget_analysed();
			pfs_pg_set_top(NULL);
			break;
		case 's':				/* PortalSuspended */
			portal_suspended();
			break;
		case 'E':				/* ErrorResponse */
			pfs_pg_command.chains = false;
			pfs_pg_error_message(body, length, false);
			break;
		case 'N':				/* NoticeResponse */
			pfs_pg_error_message(body, length, true);
			break;
		default:
			break;
	}
	return pfs_pg_entry.putmessage(type, body, length);
}

/* An answer that is timed, and does nothing else. */
static PFS_COLD int
put_timed_otherwise(char type, const char *body, size_t length, PfsPgAnswer answer)
{
	(void) pfs_pg_answer_timed(answer);
	return pfs_pg_entry.putmessage(type, body, length);
}

static pg_attribute_always_inline int
put_timed(char type, const char *body, size_t length, PfsPgAnswer answer)
{
	if (!pfs_pg_answer_is_near())
		return put_timed_otherwise(type, body, length, answer);
	(void) pfs_pg_answer_timed_near(answer);
	return pfs_pg_entry.putmessage(type, body, length);
}

static AS_IT_IS int
put_bound_timed(char type, const char *body, size_t length)
{
	return put_timed(type, body, length, PFS_PG_ANSWER_BIND);
}

static AS_IT_IS int
put_described_timed(char type, const char *body, size_t length)
{
	return put_timed(type, body, length, PFS_PG_ANSWER_DESCRIBE);
}

/*
 * Hot cases call nothing before they end in a jump to the server: so they need no frame.  They are asked for one by
 * one, a switch takes longer.
 */
static PFS_HOT int
pfs_putmessage(char type, const char *body, size_t length)
{
	if (type == 'Z')			/* ReadyForQuery */
		return put_ready(body, length);
	if (type == 'C')			/* CommandComplete */
		return put_complete(type, body, length);
	if (type == '2')			/* BindComplete */
	{
		if (pfs_unlikely(pfs_session.top != NULL && pfs_session.top->host_state == PFS_PG_ANALYSED))
			return put_other(type, body, length);
		pfs_session.extended = true;
		pfs_pg_command_forget_analysed();	/* it may have been analysed again, too */
		if (pfs_unlikely(!pfs_answer(&pfs_session, PFS_PG_ANSWER_BIND)))
			return put_bound_timed(type, body, length);
	}
	else if (type == 'T' || type == 'n')	/* RowDescription, NoData */
	{
		if (pfs_likely(pfs_pg_command_is_described()) && pfs_unlikely(!pfs_answer(&pfs_session, PFS_PG_ANSWER_DESCRIBE)))
			return put_described_timed(type, body, length);
	}
	else if (type != 'D' && type != 'd')	/* DataRow, CopyData */
		return put_other(type, body, length);
	return pfs_pg_entry.putmessage(type, body, length);
}

void
pfs_pg_protocol_attach(void)
{
	if (!pfs_pg_has_client || pfs_pg_server.protocol != NULL)
		return;
	pfs_host_switched = switched;
	pfs_host_gate_renewed = gate_renewed;
	pfs_pg_entry.protocol_is_out = false;
	pfs_pg_server.protocol = PqCommMethods;
	pfs_pg_our_methods = *pfs_pg_server.protocol;
	pfs_pg_entry.putmessage = pfs_pg_server.protocol->putmessage;
	pfs_pg_our_methods.putmessage = pfs_putmessage;
	PqCommMethods = &pfs_pg_our_methods;
}

void
pfs_pg_protocol_detach(void)
{
	if (PqCommMethods == &pfs_pg_our_methods)
		PqCommMethods = pfs_pg_server.protocol;
	pfs_pg_server.protocol = NULL;
}
