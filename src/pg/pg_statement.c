/*
 * pg_statement.c
 *		Statement events of optimizable statements: parse analysis, planner, executor.
 *
 * A top-level statement of a client is opened when its parse analysis ends (or, under the extended
 * protocol, when its portal starts), runs through the executor, and is closed when the server has
 * told the client so, the commit of an implicit transaction included; pg_protocol.c sees those
 * messages.  A nested statement lives from ExecutorStart to ExecutorEnd.
 *
 * No PG_TRY here: it costs more than the event.  When an error unwinds the stack, statements are
 * ended by the ErrorResponse (pg_protocol.c), by the abort of the subtransaction that caught it, or
 * of the transaction (pg_xact.c).
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "commands/extension.h"
#include "core/names.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_digest.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_query.h"
#include "pg/pg_text.h"
#include "pg/pg_wait.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"

PfsStatement *pfs_pg_pending = NULL;

/* pfs_session.top is the open top-level statement that was last opened or run, if known. */
static bool top_known = true;

/* End of the last top-level statement: the next one of the same message starts there. */
static PfsTicks last_end = 0;

/* A planner call of a nested statement that its executor has not taken up yet. */
static PfsTicks planned_at = 0;
static uint64 planned_query_id = 0;

static post_parse_analyze_hook_type prev_post_parse_analyze_hook = NULL;
static planner_hook_type prev_planner_hook = NULL;
static ExecutorStart_hook_type prev_ExecutorStart_hook = NULL;
static ExecutorRun_hook_type prev_ExecutorRun_hook = NULL;
static ExecutorFinish_hook_type prev_ExecutorFinish_hook = NULL;
static ExecutorEnd_hook_type prev_ExecutorEnd_hook = NULL;

/* --- helpers --- */

/* A top-level statement is gone: the next older one, if any, is looked up when asked for. */
static void
forget_top(const PfsStatement *statement)
{
	if (pfs_session.top != statement)
		return;
	pfs_session.top = NULL;
	top_known = pfs_session.open == 0;
}

PFS_HOT uint32
pfs_pg_digest(uint64 query_id, const char *source, int location, int length)
{
	char		buffer[4096];
	char	   *text = buffer;
	uint8		sha[PFS_SHA_BYTES];
	PfsDigestNew row = {0};
	uint32		number;
	size_t		size = pfs_arena->sizes.digest_length + 1;

	if ((pfs_load(&pfs_arena->gate) & PFS_WANTS(DIGEST)) == 0)
		return PFS_DIGEST_NONE;
	if (query_id == 0)
		return PFS_DIGEST_OTHERS;
	number = pfs_digest_find(pfs_arena, pfs_session.thread, query_id);
	if (pfs_likely(number != PFS_DIGEST_NONE) || source == NULL)
		return number;
	if (size > sizeof(buffer))
		text = palloc(size);
	row.text_length = (uint32) pfs_pg_normalize(source, location, length, text, size, sha);
	row.text = text;
	row.sha = sha;
	row.query_id = query_id;
	row.database_id = pfs_session.thread->database_id;
	row.database = pfs_session.thread->database;
	row.encoding = pfs_session.thread->encoding;
	row.now = pfs_now();
	number = pfs_digest_insert(pfs_arena, &row);
	if (text != buffer)
		pfree(text);
	return number;
}

/*
 * An extension's script would fill the digest table with hundreds of rows for nobody.  A stored
 * query (the body of an SQL-standard function) never gets a query id: it is not what did not fit.
 */
static inline bool
has_digest(const PfsStatement *statement, uint64 query_id)
{
	if (statement->event->level == 0)
		return true;
	return !creating_extension && (query_id != 0 || !IsQueryIdEnabled());
}

/* Fills in what identifies the statement. */
static PFS_HOT void
describe(PfsStatement *statement, const char *source, int location, int length, uint64 query_id)
{
	PfsPgText	text;

	pfs_pg_text_kept(&text, statement, source, location, length);
	statement->event->schema = pfs_pg_current_schema();
	statement->event->object = statement->parent != NULL ? pfs_pg_current_routine() : 0;
	statement->event->query_id = query_id;
	if (statement->wants_digest && has_digest(statement, query_id))
		statement->event->digest = pfs_pg_digest(query_id, source, location, length);
	statement->event->digest_generation = pfs_load(&pfs_arena->digest_generation);
	pfs_statement_text_set(&pfs_session, statement, text.role, text.data,
						   pfs_pg_clip(text.data, text.length, pfs_arena->sizes.sql_text_length));
	if (pfs_unlikely(text.length == 0) && statement->parent != NULL)
		pfs_statement_unlist(statement);	/* a row would tell nothing, and push out one that does */
}

static PfsTicks
top_start(void)
{
	PfsTicks	arrival = pfs_pg_has_client ? pfs_pg_arrival() : pfs_now();

	return Max(arrival, last_end);
}

static PfsTicks
nested_start(uint64 query_id)
{
	PfsTicks	start = planned_at != 0 && planned_query_id == query_id ? planned_at : pfs_now();

	planned_at = 0;
	return start;
}

/*
 * The client's statement whose transaction is being committed, or NULL: deferred triggers and
 * constraints are part of it.  It has been executed, no portal runs, and no other message has come.
 */
static PFS_HOT PfsStatement *
committing(void)
{
	PfsStatement *top;

	if (pfs_likely(pfs_session.running != NULL || ActivePortal != NULL || !pfs_pg_has_client ||
				   pfs_session.open == 0))
		return NULL;
	top = pfs_pg_top();
	return top != NULL && (top->host_flags & PFS_PG_ENDED) != 0 &&
		!pfs_pg_belongs_to_newer_message(top) ? top : NULL;
}

/* Opens a statement: top-level ones with their transaction. */
static PFS_HOT PfsStatement *
open_statement(uint32 class, const char *source, int location, int length, uint64 query_id,
			   uint32 flags)
{
	PfsStatement *commit = committing();
	bool		nested = pfs_session.running != NULL || commit != NULL;
	PfsTicks	start;
	PfsStatement *statement;

	if (!nested)
	{
		pfs_pg_wait_over();
		pfs_pg_finish_ended();
	}
	start = nested ? nested_start(query_id) : top_start();
	if (nested)
		pfs_pg_transaction_begin(start);	/* a procedure has ended the one before */
	if (commit != NULL)
		pfs_session.running = commit;	/* the parent */
	statement = pfs_wants(&pfs_session, PFS_GATE_STATEMENTS)
		? pfs_statement_open(&pfs_session, class, start) : NULL;
	if (commit != NULL)
		pfs_session.running = NULL;
	if (statement == NULL)
	{
		if (!nested)
			pfs_pg_transaction_begin(start);
		return NULL;
	}
	statement->host_flags = flags;
	statement->host_level = GetCurrentTransactionNestLevel();
	describe(statement, source, location, length, query_id);
	if (!nested)
	{
		pfs_session.top = statement;
		top_known = true;
		pfs_session_state(&pfs_session, PFS_THREAD_ACTIVE, start);
		pfs_session.running = statement;	/* parent of the transaction it starts */
		pfs_pg_transaction_begin(start);
		pfs_session.running = NULL;
	}
	return statement;
}

PFS_HOT PfsStatement *
pfs_pg_claim(uint32 class, const char *source, int location, int length, uint64 query_id,
			 uint32 flags)
{
	PfsStatement *statement = pfs_session.running == NULL ? pfs_pg_pending : NULL;

	if (statement != NULL)
	{
		pfs_pg_pending = NULL;
		if (!pfs_statement_refine(&pfs_session, statement, class))
		{
			forget_top(statement);
			return NULL;
		}
		statement->host_flags = flags;
	}
	else
		statement = open_statement(class, source, location, length, query_id, flags);
	if (statement != NULL)
		pfs_statement_publish(&pfs_session, statement);
	return statement;
}

void
pfs_pg_enter(PfsStatement *statement)
{
	statement->host_caller = pfs_session.running;
	statement->host_enter_level = GetCurrentTransactionNestLevel();
	statement->host_flags |= PFS_PG_IN_CALL;
	pfs_session.running = statement;
}

/* Those above were left by an error that somebody caught without a subtransaction. */
static pg_noinline void
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
	statement->host_flags &= ~PFS_PG_IN_CALL;
	pfs_session.running = statement->host_caller;
}

/* The statement ends while its call is on the C stack: who has called whom, without it. */
static pg_noinline void
unlink_caller(const PfsStatement *statement)
{
	PfsStatement *inner = pfs_session.running;

	while (inner != NULL && inner->host_caller != statement)
		inner = inner->host_caller;
	if (inner != NULL)
		inner->host_caller = statement->host_caller;
}

static void
store_rows(PfsStatement *statement)
{
	if (statement->host_flags & PFS_PG_ROWS_AFFECTED)
		pfs_statement_set(statement, PFS_COUNTER_ROWS_AFFECTED, statement->host_rows);
	if (statement->host_flags & PFS_PG_ROWS_SENT)
		pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, statement->host_rows);
}

/*
 * The digest table was truncated while the statement ran, maybe by itself: its row is made anew.  The
 * scanner may raise an error (settings may have changed), so not while another one is reported, nor
 * while a transaction or the process ends: where interrupts are held.
 */
static void
find_digest_again(PfsStatement *statement)
{
	PfsStatementEvent *event = statement->event;
	const char *text;

	if (statement->place < 0 || event->digest <= PFS_DIGEST_OTHERS ||
		event->text_length >= pfs_arena->sizes.sql_text_length || CritSectionCount > 0 ||
		InterruptHoldoffCount > 0)
		return;
	text = pfs_statement_text(event);
	if (event->text_length > 0)
	{
		event->digest_generation = pfs_load(&pfs_arena->digest_generation);
		event->digest = pfs_pg_digest(event->query_id, text, 0, (int) event->text_length);
	}
}

static PFS_HOT void
close_statement(PfsStatement *statement, PfsTicks end)
{
	PfsPgQuery *query = statement->host_query;

	store_rows(statement);
	if (query != NULL)
		pfs_pg_query_part(query);
	if (statement == pfs_pg_pending)
		pfs_pg_pending = NULL;
	if (pfs_session.running == statement)
		pfs_session.running = statement->host_caller;
	else if (pfs_unlikely((statement->host_flags & PFS_PG_IN_CALL) != 0))
		unlink_caller(statement);
	if (statement->event->level == 0)
		last_end = Max(end, statement->event->head.timer_end);
	pfs_statement_close(&pfs_session, statement, end);
	forget_top(statement);
}

PFS_HOT void
pfs_pg_end(PfsStatement *statement, PfsTicks end, int sqlstate, const char *message)
{
	pfs_pg_wait_settle();
	if (sqlstate != 0)
	{
		statement->event->sqlstate = (uint32) sqlstate;
		pfs_statement_set(statement, PFS_COUNTER_ERRORS, 1);
		if (message != NULL)
			pfs_statement_message_set(&pfs_session, statement, message,
									  pfs_pg_clip(message, strlen(message), PFS_MESSAGE_LENGTH));
		statement->host_rows += statement->host_broken_rows;
		pfs_pg_table_failed(statement);
		pfs_pg_usage_end(statement);
	}
	else if (pfs_unlikely(statement->event->digest_generation !=
						  pfs_load(&pfs_arena->digest_generation)))
		find_digest_again(statement);
	close_statement(statement, end);
}

PfsTicks
pfs_pg_last_end(void)
{
	return last_end;
}

PFS_HOT PfsStatement *
pfs_pg_top(void)
{
	if (pfs_likely(top_known))
		return pfs_session.top;
	pfs_session.top = NULL;
	PFS_EACH_OPEN(&pfs_session, statement)
	{
		if (statement->event->level == 0 &&
			(pfs_session.top == NULL ||
			 statement->event->statement_id > pfs_session.top->event->statement_id))
			pfs_session.top = statement;
	}
	top_known = true;
	return pfs_session.top;
}

static PfsTicks
end_of(const PfsStatement *statement)
{
	return statement->on_stage_since != 0 ? pfs_now() : statement->event->head.timer_end;
}

PFS_HOT void
pfs_pg_finish_all_ended(void)
{
	PFS_EACH_OPEN(&pfs_session, statement)
	{
		if (statement->host_flags & PFS_PG_ENDED)
			pfs_pg_end(statement, end_of(statement), 0, NULL);
		else if (statement->on_stage_since != 0 && statement != pfs_pg_pending &&
				 (statement->host_flags & PFS_PG_IN_CALL) == 0)
			pfs_statement_pause(statement, pfs_now());	/* a portal that has not been run yet */
	}
	if (pfs_pg_pending != NULL)
	{
		PfsStatement *unused = pfs_pg_pending;

		pfs_pg_pending = NULL;	/* parsed, never executed: only its Parse message counts */
		pfs_pg_drop(unused);
	}
}

/* Nothing is allocated or looked up here: the memory of a portal may just be given back. */
void
pfs_pg_end_orphan(PfsStatement *statement)
{
	if (pfs_session.thread != NULL && (statement->host_flags & PFS_PG_IN_CALL) == 0)
		close_statement(statement, end_of(statement));
}

void
pfs_pg_drop(PfsStatement *statement)
{
	pfs_statement_drop(&pfs_session, statement);
	forget_top(statement);
}

/*
 * What was on stage inside the level was left by the error.  Other queries may go on after it, be it
 * that they began there: a function's query in a cursor of an outer level.
 */
void
pfs_pg_forget_level(int level, int sqlstate, const char *message)
{
	PfsTicks	now = pfs_now();

	while (pfs_session.running != NULL && pfs_session.running->host_enter_level >= level)
		pfs_pg_end(pfs_session.running, now, sqlstate, message);
	PFS_EACH_OPEN(&pfs_session, statement)
	{
		if (statement->host_level >= level && (statement->host_query == NULL || level == 0))
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
		if (statement->host_query != NULL &&
			(statement->host_flags & (PFS_PG_ENDED | PFS_PG_IN_CALL)) == 0)
			pfs_pg_end(statement, end_of(statement), 0, NULL);
	}
}

/* --- hooks --- */

static CommandTag
tag_of(CmdType operation)
{
	switch (operation)
	{
		case CMD_SELECT:
			return CMDTAG_SELECT;
		case CMD_INSERT:
			return CMDTAG_INSERT;
		case CMD_UPDATE:
			return CMDTAG_UPDATE;
		case CMD_DELETE:
			return CMDTAG_DELETE;
		case CMD_MERGE:
			return CMDTAG_MERGE;
		default:
			return CMDTAG_UNKNOWN;
	}
}

/* The abstract class becomes the command's: a failure in planning already counts there. */
static void
refine_pending(const Query *query)
{
	CommandTag	tag = query->utilityStmt != NULL ? CreateCommandTag(query->utilityStmt)
		: tag_of(query->commandType);
	PfsStatement *pending = pfs_pg_pending;

	if (pfs_statement_refine(&pfs_session, pending, pfs_pg_class_of_tag(tag)))
		pfs_statement_publish(&pfs_session, pending);
	else
	{
		pfs_pg_pending = NULL;
		forget_top(pending);
	}
}

/*
 * Opens a client's statement.  In a nested query only the digest is prepared.  The query id is
 * taken before the other hooks run: pg_stat_statements zeroes that of utility statements.
 */
static PFS_HOT void
pfs_hook_post_parse_analyze(ParseState *pstate, Query *query, JumbleState *jstate)
{
	uint64		query_id = (uint64) query->queryId;
	const char *source = pstate->p_sourcetext;
	int			location = query->stmt_location;
	int			length = query->stmt_len;
	uint32		flags = PFS_PG_ANALYSED;

	if (pfs_pg_wants(PFS_GATE_STATEMENTS | PFS_GATE_TRANSACTIONS) && source != NULL &&
		!IsParallelWorker())
	{
		if (query->utilityStmt != NULL)
		{
			query_id = pfs_pg_utility_id(source, location, length, query_id);
			flags |= pfs_pg_text_flags(query->utilityStmt);
		}
		if (pfs_session.running == NULL && committing() == NULL)
		{
			pfs_pg_pending = open_statement(PFS_PG_ABSTRACT_QUERY, source, location, length,
											query_id, flags);
			if (pfs_pg_pending != NULL)
				refine_pending(query);
		}
		else if (query_id != 0 && !creating_extension)
			pfs_pg_digest(query_id, source, location, length);
	}
	if (prev_post_parse_analyze_hook)
		prev_post_parse_analyze_hook(pstate, query, jstate);
}

static PFS_HOT PlannedStmt *
pfs_hook_planner(Query *parse, const char *query_string, int cursorOptions,
				 ParamListInfo boundParams)
{
	PlannedStmt *result;
	PfsStatement *pending = NULL;
	uint64		id = 0;

	if (pfs_pg_wants(PFS_GATE_STATEMENTS) && !IsParallelWorker())
	{
		if (pfs_session.running == NULL)
			pending = pfs_pg_pending;	/* functions that planning evaluates are nested in it */
		else
		{
			planned_at = pfs_now();
			planned_query_id = (uint64) parse->queryId;
		}
	}
	if (pending != NULL)
	{
		id = pending->event->statement_id;
		pfs_pg_enter(pending);
	}
	if (prev_planner_hook)
		result = prev_planner_hook(parse, query_string, cursorOptions, boundParams);
	else
		result = standard_planner(parse, query_string, cursorOptions, boundParams);
	if (pending != NULL && pfs_pg_is_still(pending, id))
		pfs_pg_leave(pending);
	return result;
}

static PfsStatement *
begin_query(QueryDesc *query)
{
	PlannedStmt *plan = query->plannedstmt;
	uint32		flags = PFS_PG_ROWS_SENT;

	if (query->operation != CMD_SELECT)
		flags = PFS_PG_ROWS_AFFECTED | (plan->hasReturning ? PFS_PG_ROWS_SENT : 0);
	return pfs_pg_claim(pfs_pg_class_of_tag(tag_of(query->operation)), query->sourceText,
						plan->stmt_location, plan->stmt_len, (uint64) plan->queryId, flags);
}

static PFS_HOT void
pfs_hook_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	PfsStatement *statement = NULL;
	PfsPgQuery *query;
	uint64		id = 0;

	if (pfs_pg_wants(PFS_GATE_STATEMENTS | PFS_GATE_TRANSACTIONS) && !IsParallelWorker())
		statement = begin_query(queryDesc);
	if (statement != NULL)
	{
		id = statement->event->statement_id;
		pfs_pg_enter(statement);
	}
	if (prev_ExecutorStart_hook)
		prev_ExecutorStart_hook(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);
	if (statement != NULL && pfs_pg_is_still(statement, id))
		pfs_pg_leave(statement);
	else
		statement = NULL;
	if (statement == NULL && !pfs_pg_wants(PFS_GATE_TABLES))
		return;
	query = pfs_pg_query_attach(queryDesc, statement);
	if (statement != NULL && statement->event->level > 0 && queryDesc->dest != NULL &&
		queryDesc->dest->mydest == DestNone)
		pfs_statement_pause(statement, pfs_now());	/* of a cursor that may lie there */
	if (pfs_likely(query != NULL))
	{
		if (statement != NULL)
			pfs_pg_plan_start(query, queryDesc->plannedstmt);
		pfs_pg_table_start(query);
	}
	else if (statement != NULL && (statement->event->level > 0 || !pfs_pg_has_client))
		pfs_pg_end(statement, pfs_now(), 0, NULL);	/* nothing would */
}

/* The statement of a query that is executed, with its error guard. */
typedef struct Stage
{
	PfsPgQuery *query;
	PfsStatement *statement;	/* NULL = none */
	ErrorContextCallback guard;
	bool		guarded;
} Stage;

static inline void
find_stage(Stage *stage, const QueryDesc *desc)
{
	stage->query = pfs_session.thread != NULL ? pfs_pg_query(desc) : NULL;
	stage->statement = stage->query != NULL ? stage->query->statement : NULL;
}

static inline void
enter_stage(Stage *stage)
{
	stage->guarded = pfs_session.running == NULL;
	if (stage->guarded)
		pfs_pg_error_guard(&stage->guard);
	pfs_pg_enter(stage->statement);
}

/* Back from the executor; false: what it ran has ended the statement. */
static inline bool
leave_stage(Stage *stage)
{
	if (stage->guarded)
		pfs_pg_error_unguard(&stage->guard);
	if (pfs_unlikely(stage->query->statement != stage->statement))
		return false;
	pfs_pg_leave(stage->statement);
	return true;
}

/* Time between the runs of a cursor does not belong to its statement. */
static void
suspend_unless_complete(PfsStatement *statement, uint64 processed, uint64 count)
{
	if (count != 0 && processed >= count &&
		(statement->event->level > 0 || !pfs_pg_has_client))
		pfs_statement_pause(statement, pfs_now());
}

static PFS_HOT void
pfs_hook_ExecutorRun(PFS_EXECUTOR_RUN_PARAMETERS)
{
	Stage		stage;

	find_stage(&stage, queryDesc);
	if (stage.statement != NULL)
	{
		PfsStatement *statement = stage.statement;

		if (statement->on_stage_since == 0)
			pfs_statement_resume(statement, statement->event->level == 0 ? top_start() : pfs_now());
		if (statement->event->level == 0)
		{
			pfs_session.top = statement;	/* the next CommandComplete is about this one */
			top_known = true;
		}
		enter_stage(&stage);
	}
	if (prev_ExecutorRun_hook)
		prev_ExecutorRun_hook(PFS_EXECUTOR_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(PFS_EXECUTOR_RUN_ARGUMENTS);
	if (stage.statement != NULL && leave_stage(&stage))
	{
		stage.statement->host_rows += queryDesc->estate->es_processed;
		stage.statement->host_broken_rows = 0;	/* the error was a warning, or was caught */
		if (queryDesc->dest->mydest == DestRemoteExecute)
			stage.statement->host_flags |= PFS_PG_EXTENDED;
		suspend_unless_complete(stage.statement, queryDesc->estate->es_processed, count);
	}
}

static PFS_HOT void
pfs_hook_ExecutorFinish(QueryDesc *queryDesc)
{
	Stage		stage = {.statement = NULL};

	/* a query that changes nothing has no triggers left to run */
	if (queryDesc->operation != CMD_SELECT || queryDesc->plannedstmt->hasModifyingCTE)
		find_stage(&stage, queryDesc);
	if (stage.statement != NULL)
		enter_stage(&stage);
	if (prev_ExecutorFinish_hook)
		prev_ExecutorFinish_hook(queryDesc);
	else
		standard_ExecutorFinish(queryDesc);
	if (stage.statement != NULL)
		leave_stage(&stage);
}

/* A parallel worker's waits belong to its leader's statement, of which it knows the query id. */
static void
bill_worker(const PlannedStmt *plan)
{
	uint32		generation = pfs_load_acquire(&pfs_arena->digest_generation);
	uint32		digest;

	pfs_store(&pfs_session.thread->database_id, MyDatabaseId);
	digest = pfs_digest_find(pfs_arena, pfs_session.thread, (uint64) plan->queryId);
	if (digest != PFS_DIGEST_NONE)
		pfs_wait_bill(&pfs_session, digest, generation);
}

static PFS_HOT void
pfs_hook_ExecutorEnd(QueryDesc *queryDesc)
{
	Stage		stage;
	uint64		id = 0;

	find_stage(&stage, queryDesc);
	if (pfs_unlikely(IsParallelWorker()) && pfs_session.thread != NULL)
		bill_worker(queryDesc->plannedstmt);
	if (stage.statement != NULL)
	{
		id = stage.statement->event->statement_id;
		pfs_pg_plan_end(stage.query, true);
	}
	if (stage.query != NULL)
	{
		pfs_pg_table_end(stage.query);
		pfs_pg_query_end(stage.query);
	}
	if (prev_ExecutorEnd_hook)
		prev_ExecutorEnd_hook(queryDesc);
	else
		standard_ExecutorEnd(queryDesc);
	if (stage.statement == NULL || !pfs_pg_is_still(stage.statement, id))
		return;
	if (stage.statement->event->level > 0 || !pfs_pg_has_client)
		pfs_pg_end(stage.statement, end_of(stage.statement), 0, NULL);
	else
		stage.statement->host_flags |= PFS_PG_ENDED;
}

/* A portal's query that has told its client that it is complete; ExecutorEnd comes much later. */
PFS_HOT void
pfs_pg_complete_portal(PfsStatement *statement)
{
	PfsPgQuery *query = statement->host_query;

	pfs_pg_plan_end(query, false);
	pfs_pg_query_part(query);
	statement->host_flags |= PFS_PG_ENDED;
}

void
pfs_pg_statement_install(void)
{
	prev_post_parse_analyze_hook = post_parse_analyze_hook;
	post_parse_analyze_hook = pfs_hook_post_parse_analyze;
	prev_planner_hook = planner_hook;
	planner_hook = pfs_hook_planner;
	prev_ExecutorStart_hook = ExecutorStart_hook;
	ExecutorStart_hook = pfs_hook_ExecutorStart;
	prev_ExecutorRun_hook = ExecutorRun_hook;
	ExecutorRun_hook = pfs_hook_ExecutorRun;
	prev_ExecutorFinish_hook = ExecutorFinish_hook;
	ExecutorFinish_hook = pfs_hook_ExecutorFinish;
	prev_ExecutorEnd_hook = ExecutorEnd_hook;
	ExecutorEnd_hook = pfs_hook_ExecutorEnd;
}
