/*
 * pg_protocol.c
 *		What the server tells its client: the end of statements, protocol commands, idle time.
 *
 * Backends send through a table of functions that an exported variable points to; ours notes the
 * type of a message and calls the server's.  Rows (DataRow, CopyData) pass after one comparison.
 * Every response belongs to one protocol command: ParseComplete to Parse, and so on.
 */
#include "pg/pg_port.h"

#include "access/xact.h"
#include "core/clock.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_wait.h"
#include "utils/timestamp.h"

static const PQcommMethods *server_methods = NULL;
static PQcommMethods our_methods;
static int	(*server_putmessage) (char type, const char *body, size_t length);

/* Owner: this process; state of the present message cycle, ended by ReadyForQuery. */
static bool extended_seen = false;	/* responses of the extended protocol were sent */
static bool query_seen = false; /* something was answered */
static bool describing_statement = false;	/* ParameterDescription was sent: T or n follows */
static TimestampTz completed_message = 0;	/* message that the last CommandComplete answered */
static TimestampTz ready_message = 0;	/* and the last ReadyForQuery */

StaticAssertDecl(PFS_PG_COM_COPY_DATA < PFS_TALLY_CLASSES, "tallies of messages are remembered");

/* Counts a message; the clock is read only for classes that are timed. */
static PFS_HOT void
tally(PfsPgClass class)
{
	PfsTicks	arrival,
				now;

	if (pfs_likely(pfs_statement_tally_again(&pfs_session, class)) ||
		!pfs_wants(&pfs_session, PFS_GATE_STATEMENTS))
		return;
	if (!pfs_load(&pfs_statement_instrument(pfs_arena, class)->timed))
	{
		pfs_statement_tally(&pfs_session, class, 0);
		return;
	}
	arrival = pfs_pg_arrival();
	now = pfs_now();
	pfs_statement_tally(&pfs_session, class, now > arrival ? now - arrival : 1);
}

bool
pfs_pg_belongs_to_newer_message(const PfsStatement *statement)
{
	return (statement->host_flags & PFS_PG_COMPLETE) != 0 &&
		GetCurrentStatementStartTimestamp() != completed_message;
}

/* The statement that a CommandComplete or PortalSuspended is about. */
static PfsStatement *
answered_statement(void)
{
	PfsStatement *top = pfs_pg_top();

	return top == NULL || (top->host_flags & (PFS_PG_COMPLETE | PFS_PG_ANALYSED)) ? NULL : top;
}

/*
 * A statement is complete.  Under the extended protocol an implicit transaction commits at the
 * Sync message; when that has arrived already, the statement stays on stage until then.
 */
static void
command_complete(void)
{
	PfsStatement *statement = answered_statement();
	bool		extended = extended_seen;

	completed_message = GetCurrentStatementStartTimestamp();
	if (statement == NULL)
	{
		if (extended)
			tally(PFS_PG_COM_EXECUTE);
		return;
	}
	extended = extended || (statement->host_flags & PFS_PG_EXTENDED);
	if (statement->host_query != NULL)
		pfs_pg_complete_portal(statement);
	statement->host_flags |= PFS_PG_ENDED | PFS_PG_COMPLETE;
	if (!extended)
	{
		if (statement->on_stage_since != 0)
			pfs_statement_pause(statement, pfs_now());
		pfs_pg_finish_ended();
		return;
	}
	tally(PFS_PG_COM_EXECUTE);
	if (statement->on_stage_since != 0 &&
		(IsTransactionBlock() || !pfs_pg_sync_is_waiting()))
		pfs_statement_pause(statement, pfs_now());
}

static void
portal_suspended(void)
{
	PfsStatement *statement = answered_statement();

	if (statement != NULL)
		pfs_statement_pause(statement, pfs_now());
	tally(PFS_PG_COM_EXECUTE);
}

/*
 * RowDescription and NoData answer Describe, unless a simple query's result begins.  Describe is no
 * message that sets the server's timestamp, a simple query is.
 */
static void
row_description(void)
{
	PfsStatement *top = pfs_session.open > 0 ? pfs_pg_top() : NULL;
	bool		simple_result = !extended_seen &&
		GetCurrentStatementStartTimestamp() != ready_message;

	if (describing_statement)
		describing_statement = false;	/* counted with its ParameterDescription */
	else if (pfs_session.running == NULL && !simple_result &&
			 (top == NULL || (top->host_flags & (PFS_PG_ENDED | PFS_PG_COMPLETE)) != PFS_PG_ENDED))
		tally(PFS_PG_COM_DESCRIBE);
}

static void
parse_complete(void)
{
	tally(PFS_PG_COM_PARSE);
	pfs_pg_finish_ended();
}

static void
bind_complete(void)
{
	PfsStatement *unused = pfs_pg_pending;

	/* a plan was made again, and its portal does not run through the executor's start */
	if (unused != NULL)
	{
		pfs_pg_pending = NULL;
		pfs_pg_drop(unused);
	}
	tally(PFS_PG_COM_BIND);
}

/* The session waits for its client. */
static void
ready_for_query(char status)
{
	PfsTicks	now;

	pfs_pg_finish_ended();
	if (status != 'I')
		pfs_pg_transaction_refresh();
	ready_message = GetCurrentStatementStartTimestamp();
	now = pfs_pg_last_end();
	if (query_seen && !extended_seen)
	{
		PfsTicks	arrival = pfs_pg_arrival();

		if (now < arrival)
			now = pfs_now();
		if (pfs_wants(&pfs_session, PFS_GATE_STATEMENTS))
			pfs_statement_tally(&pfs_session, PFS_PG_COM_QUERY, now > arrival ? now - arrival : 1);
	}
	now = now != 0 ? now : pfs_now();
	pfs_session_state(&pfs_session, status == 'I' ? PFS_THREAD_IDLE : PFS_THREAD_IDLE_IN_TRANSACTION, now);
	pfs_clock_look(pfs_arena, now);
	extended_seen = query_seen = describing_statement = false;
	pfs_pg_wait_idle();
}

static PFS_HOT void
note_message(char type, const char *body, size_t length)
{
	if (pfs_pg_idle && type != 'A' && type != 'N' && type != 'S')	/* these come unasked */
		pfs_pg_wait_command();
	switch (type)
	{
		case 'C':				/* CommandComplete */
			query_seen = true;
			command_complete();
			break;
		case 'Z':				/* ReadyForQuery */
			ready_for_query(length > 0 ? body[0] : 'I');
			break;
		case '2':				/* BindComplete */
			extended_seen = true;
			bind_complete();
			break;
		case '1':				/* ParseComplete */
			extended_seen = true;
			parse_complete();
			break;
		case '3':				/* CloseComplete */
			extended_seen = true;
			tally(PFS_PG_COM_CLOSE);
			break;
		case 't':				/* ParameterDescription */
			extended_seen = describing_statement = true;
			tally(PFS_PG_COM_DESCRIBE);
			break;
		case 'T':				/* RowDescription */
		case 'n':				/* NoData */
			row_description();
			break;
		case 's':				/* PortalSuspended */
			extended_seen = true;
			portal_suspended();
			break;
		case 'V':				/* FunctionCallResponse */
			extended_seen = true;
			tally(PFS_PG_COM_FUNCTION_CALL);
			break;
		case 'G':				/* CopyInResponse */
		case 'H':				/* CopyOutResponse */
			tally(PFS_PG_COM_COPY_DATA);
			break;
		case 'I':				/* EmptyQueryResponse */
			query_seen = true;
			break;
		case 'E':				/* ErrorResponse */
			query_seen = true;
			pfs_pg_error_message(body, length, false);
			break;
		case 'N':				/* NoticeResponse */
			pfs_pg_error_message(body, length, true);
			break;
		default:
			break;
	}
}

static PFS_HOT pg_noinline int
noted_putmessage(char type, const char *body, size_t length)
{
	note_message(type, body, length);
	return server_putmessage(type, body, length);
}

/* Rows, and all messages while nobody asks, pass by a jump. */
static PFS_HOT int
pfs_putmessage(char type, const char *body, size_t length)
{
	if (pfs_likely(type == 'D' || type == 'd') || pfs_session.thread == NULL ||
		(pfs_session.open == 0 && !pfs_wants(&pfs_session, PFS_GATE_ANY | PFS_GATE_CALLS)))
		return server_putmessage(type, body, length);
	return noted_putmessage(type, body, length);
}

void
pfs_pg_protocol_attach(void)
{
	if (!pfs_pg_has_client || server_methods != NULL)
		return;
	server_methods = PqCommMethods;
	our_methods = *server_methods;
	server_putmessage = server_methods->putmessage;
	our_methods.putmessage = pfs_putmessage;
	PqCommMethods = &our_methods;
}
