/*
 * pg_error.c
 *		Errors and warnings: those that end a statement, and those that a handler catches.
 *
 * What a client is told, we learn from the ErrorResponse and NoticeResponse messages themselves,
 * so parse errors, errors of a commit and errors in an aborted transaction block count as well.
 * Without a client, emit_log_hook tells.  A handled error shows itself only in an error context
 * callback, which the server calls while the error is being raised; the abort of the handler's
 * subtransaction then proves that it was caught, unless it passes on: see "passing".
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_error_log.h"
#include "pg/pg_hooks.h"
#include "pg/pg_host_cache.h"
#include "pg/pg_instruments.h"
#include "pg/pg_command.h"
#include "pg/pg_protocol.h"
#include "pg/pg_query.h"
#include "pg/pg_statement.h"
#include "pg/pg_text.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

static emit_log_hook_type prev_emit_log_hook = NULL;

/* Owner: this process.  The error seen last by the guard, until it is reported or caught. */
static int	caught_sqlstate = 0;
static bool raised = false;
static char caught_message[PFS_MESSAGE_LENGTH + 1];

/*
 * The error that was caught last, while it may go on: no handler fitted, or RAISE raises it again, of which the server
 * tells nobody.  Then nothing has run meanwhile: the statement whose subtransaction was aborted is still the running one.
 */
static struct
{
	int			sqlstate;		/* 0: none */
	const PfsStatement *in;
	uint64		statement_id;
}			passing;

/* For copies of errors inside subtransactions; made at attach, so that no error path allocates it. */
static MemoryContext message_context = NULL;

/*
 * What is being reported to the client: the server's own text, of which the client is sent a conversion to its encoding.
 * Good until that is sent; another's hook may keep it from being sent, so at most until its transaction is aborted.
 */
static const char *reported_message = NULL;
static int	reported_sqlstate = 0;

/* --- what ends statements --- */

/* A statement that never came as far as a hook: bad syntax, aborted transaction block. */
static void
record_unseen_statement(int sqlstate, const char *message)
{
	PfsTicks	start = pfs_pg_command_since();
	PfsTicks	now = pfs_now();
	PfsStatement *statement;
	PfsPgText	text;

	if (debug_query_string == NULL || !pfs_wants(&pfs_session, PFS_GATE_STATEMENTS))
		return;
	statement = pfs_statement_open(&pfs_session, PFS_PG_SQL_ERROR, Min(start, now));
	if (statement == NULL)
		return;
	pfs_pg_usage_start(statement);
	pfs_pg_text_of_message(&text, debug_query_string, false);
	pfs_statement_text_set(&pfs_session, statement, text.role, text.data,
						   pfs_pg_clip(text.data, text.length, pfs_arena->sizes.sql_text_length));
	statement->host_flags = PFS_PG_SECRET_MESSAGE;
	pfs_pg_end(statement, now, sqlstate, pfs_pg_message_kept(statement, sqlstate, message));
}

/* A statement that was analysed and has not begun yet: it failed in between, while it was rewritten. */
static void
record_analysed_statement(int sqlstate, const char *message)
{
	PfsPgSource source = pfs_pg_analysed;	/* forgotten when it begins */
	PfsStatement *statement = pfs_pg_begin(&source);

	if (statement != NULL)
		pfs_pg_end(statement, pfs_now(), sqlstate, pfs_pg_message_kept(statement, sqlstate, message));
}

static void
fail_statements(int sqlstate, const char *message)
{
	if (pfs_pg_fail(sqlstate, message))
		return;
	pfs_pg_set_top(NULL);
	/* its text is there as long as its message is worked on; a secret would have to be normalised, which is not done now */
	if (pfs_pg_command.analysed && pfs_pg_analysed.text == debug_query_string &&
		pfs_pg_analysed.digest_generation == pfs_load(&pfs_arena->digest_generation) &&
		(pfs_pg_analysed.flags & PFS_PG_SECRET) == 0)
		record_analysed_statement(sqlstate, message);
	else
		record_unseen_statement(sqlstate, message);
}

static bool
passes_on(void)
{
	return passing.sqlstate != 0 && pfs_session.running != NULL && pfs_session.running == passing.in &&
		pfs_pg_is_still(passing.in, passing.statement_id);
}

/* Interrupts are held: what would raise an error of its own is left out, see pg_statement.c. */
static void
raise_error(int sqlstate, const char *message)
{
	PfsErrorEnd end = passes_on() && passing.sqlstate == sqlstate ? PFS_ERROR_PASSED : PFS_ERROR_RAISED;

	caught_sqlstate = passing.sqlstate = 0;
	raised = false;
	if (pfs_session.thread == NULL)
		return;
	HOLD_INTERRUPTS();
	if (pfs_wants(&pfs_session, PFS_GATE_ERRORS))
		pfs_error_count(&pfs_session, pfs_pg_error_number(sqlstate), end, pfs_now());
	fail_statements(sqlstate, message);
	pfs_pg_command_forget_analysed();
	RESUME_INTERRUPTS();
}

static void
count_warning(void)
{
	PfsStatement *statement = pfs_session.running;

	if (statement == NULL)
		statement = pfs_session.top;
	if (statement != NULL)
		pfs_statement_count(statement, PFS_COUNTER_WARNINGS, 1);
}

/* Fields of the message: a type byte and a string each, the last type is 0. */
static const char *
message_field(const char *body, size_t length, char type)
{
	size_t		at = 0;

	while (at < length && body[at] != '\0')
	{
		size_t		value = strnlen(body + at + 1, length - at - 1);

		if (at + 1 + value >= length)
			break;
		if (body[at] == type)
			return body + at + 1;
		at += value + 2;
	}
	return NULL;
}

void
pfs_pg_error_message(const char *body, size_t length, bool is_notice)
{
	const char *severity = message_field(body, length, 'V');
	const char *code = message_field(body, length, 'C');
	const char *message = message_field(body, length, 'M');
	const char *reported = reported_message;
	int			sqlstate;

	if (!is_notice)
		reported_message = NULL;
	if (severity == NULL || code == NULL || strlen(code) != 5)
		return;
	if (is_notice)
	{
		if (strcmp(severity, "WARNING") == 0)
			count_warning();
		return;
	}
	sqlstate = MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4]);
	raise_error(sqlstate, reported != NULL && reported_sqlstate == sqlstate ? reported : message);
}

/* Never allocates, never reports: an error in here would call it again. */
static void
pfs_hook_emit_log(ErrorData *edata)
{
	bool		has_client = edata->output_to_client;	/* other hooks may change it */

	pfs_pg_protocol_back();
	if (edata->elevel >= ERROR)
	{
		reported_message = edata->output_to_client && pfs_pg_protocol_stands() ? edata->message : NULL;
		reported_sqlstate = edata->sqlerrcode;
	}
	if (prev_emit_log_hook)
		prev_emit_log_hook(edata);
	if (edata->output_to_server)	/* else that hook has kept it from the log */
		pfs_pg_error_log_add(edata);	/* what may be shown the statement says, as long as it is there */
	pfs_pg_host_message(edata);
	if (pfs_session.thread == NULL || has_client)
		return;
	if (edata->elevel == WARNING)
		count_warning();
	else if (edata->elevel >= ERROR)
		raise_error(edata->sqlerrcode, edata->message);
}

void
pfs_pg_error_over(void)
{
	reported_message = NULL;
}

/* --- what a handler may catch --- */

static bool
is_error_code(int sqlstate)
{
	int			category = ERRCODE_TO_CATEGORY(sqlstate);

	return category != ERRCODE_SUCCESSFUL_COMPLETION && category != ERRCODE_WARNING &&
		category != ERRCODE_NO_DATA;
}

/*
 * Text of the error being raised.  Copying allocates; an error about lack of memory is left alone.
 * False: it is only a notice or a warning, whatever its code.
 */
static bool
copy_message(int sqlstate)
{
	MemoryContext old;
	ErrorData  *edata;
	bool		is_error;

	caught_message[0] = '\0';
	if (message_context == NULL ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES))
		return true;
	old = MemoryContextSwitchTo(message_context);
	edata = CopyErrorData();
	is_error = edata->elevel >= ERROR;
	if (is_error && edata->message != NULL)
		strlcpy(caught_message, pfs_pg_message_kept(pfs_session.running, sqlstate, edata->message),
				sizeof(caught_message));
	MemoryContextSwitchTo(old);
	MemoryContextReset(message_context);
	return is_error;
}

/* The memory of the queries is still there: rows that the broken runs have processed so far. */
static void
store_broken_rows(void)
{
	for (PfsStatement *statement = pfs_session.running; statement != NULL;
		 statement = statement->host_caller)
	{
		const PfsPgQuery *query = statement->host_query;

		if (query != NULL)
		{
			statement->host_broken_rows = query->relations.estate->es_processed;
			statement->host_broken = true;
		}
	}
}

static void
guard_callback(void *arg)
{
	int			sqlstate = geterrcode();
	bool		may_be_caught = GetCurrentTransactionNestLevel() > 1;

	pfs_pg_protocol_back();		/* it is going to be sent, maybe */
	if (sqlstate == ERRCODE_SUCCESSFUL_COMPLETION)
		return;					/* a notice; other messages may be given any code */
	if ((may_be_caught || !is_error_code(sqlstate)) && !copy_message(sqlstate))
		return;
	store_broken_rows();
	pfs_relations_failed();
	pfs_pg_undisturbed = NULL;
	raised = true;
	passing.sqlstate = 0;
	if (may_be_caught)
		caught_sqlstate = sqlstate;
}

PFS_HOT void
pfs_pg_error_guard(ErrorContextCallback *guard)
{
	pfs_pg_error_push(guard, guard_callback);
}

bool
pfs_pg_take_caught(int *sqlstate, const char **message)
{
	bool		is_new = caught_sqlstate != 0;

	if (is_new)
		passing.sqlstate = caught_sqlstate;
	else if (!passes_on())
		passing.sqlstate = 0;
	*sqlstate = passing.sqlstate;
	*message = *sqlstate != 0 && caught_message[0] != '\0' ? caught_message : NULL;
	caught_sqlstate = 0;
	raised = false;
	return is_new;
}

void
pfs_pg_error_may_pass(void)
{
	passing.in = pfs_session.running;
	passing.statement_id = passing.in != NULL ? passing.in->record->statement_id : 0;
}

bool
pfs_pg_error_is_raised(void)
{
	return raised;
}

void
pfs_pg_error_attach(void)
{
	if (message_context == NULL)
		message_context = AllocSetContextCreate(TopMemoryContext, "performance_schema messages",
												ALLOCSET_SMALL_SIZES);
}

void
pfs_pg_error_install(void)
{
	prev_emit_log_hook = emit_log_hook;
	emit_log_hook = pfs_hook_emit_log;
}
