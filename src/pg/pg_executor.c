/*
 * pg_executor.c
 *		Hooks of optimizable statements: parse analysis, planner, executor.
 *
 * A statement of the client begins when it is planned, or when its query starts; a nested one lives from
 * ExecutorStart to ExecutorEnd.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "pg/pg_arena.h"
#include "pg/pg_command.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_instruments.h"
#include "pg/pg_protocol.h"
#include "pg/pg_query.h"
#include "pg/pg_statement_hot.h"
#include "pg/pg_template.h"
#include "pg/pg_text.h"
#include "pg/pg_wait.h"
#include "pg/relation/brief.h"
#include "tcop/dest.h"

static post_parse_analyze_hook_type prev_post_parse_analyze_hook = NULL;
static planner_hook_type next_planner;

/* --- before execution --- */

static inline PfsPgSource
source_of(const Query *query, const char *text)
{
	return (PfsPgSource)
	{
		.text = text,.location = query->stmt_location,.length = query->stmt_len,
			.query_id = (uint64) query->queryId,.class = pfs_pg_class_of_query(query)
	};
}

/*
 * What the client's statement is, is kept for an error before it begins.  The query id of a utility
 * statement is taken before the other hooks run: pg_stat_statements zeroes it.
 */
static pg_noinline void
note_analysed(const char *text, const Query *query)
{
	PfsPgSource source = source_of(query, text);

	if (query->utilityStmt != NULL)
	{
		source.query_id = pfs_pg_utility_id(text, source.location, source.length, source.query_id);
		source.flags = pfs_pg_text_flags(query->utilityStmt);
		source.utility = query->utilityStmt;
	}
	if (pfs_session.running != NULL || pfs_pg_committing() != NULL)
		return;
	pfs_pg_wait_over();
	pfs_pg_source_digest(&source);
	pfs_pg_analysed = source;
	pfs_pg_command.analysed = true;
}

/* The same of the client's query, if that is known and nothing else is open.  False: nothing was done. */
static inline bool
note_known(const char *text, const Query *query)
{
	const PfsTemplate *template;

	if (pfs_session.plain == 0 || pfs_session.thread == NULL || pfs_session.newest != NULL || query->utilityStmt != NULL ||
		pfs_pg_command.since == 0 || pfs_pg_identity_changed())
		return false;
	template = pfs_pg_shared_find((uint64) query->queryId, pfs_pg_class_of_operation(query->commandType));
	if (template == NULL || pfs_session.plain != pfs_load_acquire(&pfs_session.arena->changes))
		return false;
	pfs_pg_analysed = source_of(query, text);
	pfs_pg_analysed.digest = template->digest;
	pfs_pg_analysed.digest_generation = template->digest_generation;
	pfs_pg_command.analysed = true;
	return true;
}

/*
 * Only what stands in the client's message is noted: what a function analyses before there is a statement may be gone when an
 * error is caught.
 */
static PFS_HOT void
pfs_hook_post_parse_analyze(ParseState *pstate, Query *query, JumbleState *jstate)
{
	if (pstate->p_sourcetext != NULL && pstate->p_sourcetext == *pfs_pg_server.query_text && !note_known(pstate->p_sourcetext, query) &&
		pfs_pg_wants(PFS_GATE_STATEMENTS | PFS_GATE_TRANSACTIONS) && !IsParallelWorker() &&
		(pfs_session.running == NULL || query->utilityStmt != NULL))
		note_analysed(pstate->p_sourcetext, query);
	if (prev_post_parse_analyze_hook)
		prev_post_parse_analyze_hook(pstate, query, jstate);
}

/* Is it what was analysed last? */
static inline bool
is_analysed(const Query *query, const char *text)
{
	return pfs_pg_command.analysed && pfs_pg_analysed.text == text && pfs_pg_analysed.query_id == (uint64) query->queryId;
}

/* A statement lives from its planning on. */
static PfsStatement *
begin_planning(const Query *parse, const char *query_string, bool with_values)
{
	PfsPgSource source;

	if (query_string == NULL)
		return NULL;
	source = is_analysed(parse, query_string) && pfs_session.running == NULL ? pfs_pg_analysed : source_of(parse, query_string);
	/* an error of a value of the client's that is folded into the plan quotes the value */
	if (with_values && pfs_session.running == NULL)
		source.flags |= PFS_PG_SECRET_MESSAGE;
	return pfs_pg_begin_planning(&source);
}

/*
 * Is an error guard due?  What is being planned or started, on whose behalf this runs, has none: it executes
 * nothing itself.
 */
static inline bool
needs_guard(void)
{
	return pfs_session.running == NULL || pfs_session.running->host_query == NULL;
}

static pg_noinline PlannedStmt *
plan_any(Query *parse, const char *query_string, int cursorOptions, ParamListInfo boundParams)
{
	PlannedStmt *result;
	PfsStatement *statement = NULL;
	ErrorContextCallback guard;
	bool		guarded = false;
	uint64		id = 0;

	if (pfs_pg_wants(PFS_GATE_STATEMENTS) && !IsParallelWorker())
		statement = begin_planning(parse, query_string, boundParams != NULL);
	if (statement != NULL)
	{
		id = statement->record->statement_id;
		guarded = needs_guard();
		if (guarded)
			pfs_pg_error_guard(&guard);
		pfs_pg_enter(statement);	/* functions that planning evaluates are nested in it */
	}
	result = next_planner(parse, query_string, cursorOptions, boundParams);
	if (guarded)
		pfs_pg_error_unguard(&guard);
	if (statement != NULL && pfs_pg_is_still(statement, id))
		pfs_pg_leave(statement);
	return result;
}

/* As begin_planning, of the client's query: on stage.  NULL: nothing was done. */
static inline PfsStatement *
begin_plain_planning(const Query *parse, const char *query_string, bool with_values)
{
	const PfsPgSource *source = &pfs_pg_analysed;
	const PfsTemplate *template;
	PfsPgSource own;

	if (pfs_session.plain == 0 || pfs_session.thread == NULL || pfs_session.newest != NULL || query_string == NULL)
		return NULL;
	if (!is_analysed(parse, query_string))
	{
		if (pfs_pg_identity_changed())
			return NULL;
		own = source_of(parse, query_string);
		source = &own;
	}
	template = pfs_pg_shared_find(source->query_id, source->class);
	return template == NULL ? NULL : pfs_pg_begin_plain_planning(source, template, with_values ? PFS_PG_SECRET_MESSAGE : 0);
}

static PFS_HOT PlannedStmt *
pfs_hook_planner(Query *parse, const char *query_string, int cursorOptions, ParamListInfo boundParams)
{
	PfsStatement *statement = begin_plain_planning(parse, query_string, boundParams != NULL);
	PlannedStmt *result;
	ErrorContextCallback guard;
	uint64		id;

	if (pfs_unlikely(statement == NULL))
		return plan_any(parse, query_string, cursorOptions, boundParams);
	id = statement->record->statement_id;
	pfs_pg_error_guard(&guard);
	result = next_planner(parse, query_string, cursorOptions, boundParams);
	pfs_pg_error_unguard(&guard);
	if (pfs_likely(pfs_pg_is_still(statement, id)))
		pfs_pg_leave(statement);
	return result;
}

/* --- execution --- */

/* A query without a statement: its relations may count. */
static PFS_COLD void
attach_only(QueryDesc *queryDesc)
{
	pfs_pg_query_pass(queryDesc);
	if (pfs_pg_wants(PFS_GATE_TABLES))
		(void) pfs_pg_query_attach(queryDesc, NULL);
}

/* There was no memory to attach anything: nobody else would end it. */
static PFS_COLD void
end_unattached(PfsStatement *statement)
{
	if (pfs_pg_ends_with_query(statement))
		pfs_pg_executed(statement);
}

/* NULL: it has none. */
static inline PfsStatement *
begin_statement(const QueryDesc *queryDesc)
{
	if (pfs_unlikely(!pfs_pg_wants(PFS_GATE_STATEMENTS | PFS_GATE_TRANSACTIONS) || IsParallelWorker()))
		return NULL;
	if (pfs_likely((pfs_session.wants & PFS_GATE_STATEMENTS) != 0))
		return pfs_pg_begin_query(queryDesc);
	pfs_pg_begin_nothing();
	return NULL;
}

/* Is it the plan by which the statement was begun?  Another's hook may have put another one there. */
static inline bool
has_plan(const QueryDesc *queryDesc, const PlannedStmt *plan)
{
	return pfs_likely(queryDesc->planstate->plan == plan->planTree);
}

/* Back from ExecutorStart, the statement has left the stage.  plan: by which it was begun. */
static pg_noinline void
attach(QueryDesc *queryDesc, const PlannedStmt *plan, PfsStatement *statement)
{
	PfsPgQuery *query = statement == pfs_session.top && pfs_pg_query_is_unnamed(plan)
		? pfs_pg_query_leave_untied(queryDesc, statement) : pfs_pg_query_attach(queryDesc, statement);

	if (!has_plan(queryDesc, plan))
		statement->host_brief = PFS_BRIEF_NOT;
	/* that of a function which the client calls, or the server itself: at login, at a commit */
	if (pfs_unlikely(*pfs_pg_server.portal == NULL))
		statement->host_alone = true;

	if (pfs_unlikely(query == NULL))
		end_unattached(statement);
	else if (pfs_unlikely(statement->host_watches))
		pfs_pg_plan_start(query);
}

/*
 * A nested query may be that of a cursor, which lies there; SPI's own, whose rows go to SPI from the start, are not: by
 * one call they are started, run and ended.
 */
static inline void
rest_if_cursor(const QueryDesc *queryDesc, PfsStatement *statement)
{
	if (pfs_likely(statement->parent == NULL) || queryDesc->dest == NULL)
		return;
	if (queryDesc->dest->mydest == DestSPI)
		statement->host_at_once = true;
	else if (queryDesc->dest->mydest == DestNone)
		pfs_pg_move(statement, PFS_PG_SUSPENDED, 0);
}

/* Back from ExecutorStart.  What that ran may have ended the statement, or left others on stage. */
static pg_noinline void
start_done(QueryDesc *queryDesc, const PlannedStmt *plan, PfsStatement *statement, uint64 id)
{
	if (pfs_unlikely(!pfs_pg_is_still(statement, id)))
	{
		attach_only(queryDesc);
		return;
	}
	pfs_pg_leave(statement);
	rest_if_cursor(queryDesc, statement);
	attach(queryDesc, plan, statement);
}

static void start_planned(QueryDesc *queryDesc, int eflags, const PlannedStmt *plan, PfsStatement *statement);

static pg_noinline void
start_any(QueryDesc *queryDesc, int eflags)
{
	const PlannedStmt *plan = queryDesc->plannedstmt;
	PfsStatement *statement;
	uint64		id;

	pfs_pg_endings_in();
	if (pfs_pg_is_off(PFS_PG_QUERY_CLASSES))
	{
		pfs_pg_entry.ExecutorStart(queryDesc, eflags);
		return;
	}
	statement = pfs_pg_take_up_plain(queryDesc);
	if (statement != NULL)
	{
		start_planned(queryDesc, eflags, plan, statement);
		return;
	}
	statement = begin_statement(queryDesc);
	if (pfs_unlikely(statement == NULL))
	{
		pfs_pg_entry.ExecutorStart(queryDesc, eflags);
		attach_only(queryDesc);
		return;
	}
	id = statement->record->statement_id;
	pfs_pg_enter(statement);
	pfs_pg_entry.ExecutorStart(queryDesc, eflags);
	start_done(queryDesc, plan, statement, id);
}

/* Is it the client's unnamed portal that executes it, and the query before it gone? */
static inline bool
may_be_untied(const PlannedStmt *plan)
{
	return pfs_likely(pfs_pg_untied.relations.estate == NULL) && pfs_likely(pfs_pg_query_is_unnamed(plan));
}

/* It was planned for this execution. */
static PFS_HOT pg_noinline void
start_planned(QueryDesc *queryDesc, int eflags, const PlannedStmt *plan, PfsStatement *statement)
{
	uint64		id = statement->record->statement_id;

	pfs_pg_entry.ExecutorStart(queryDesc, eflags);
	if (pfs_unlikely(pfs_session.running != statement || statement->record->statement_id != id))
	{
		start_done(queryDesc, plan, statement, id);
		return;
	}
	statement->host_in_call = false;
	pfs_session.running = NULL;
	if (has_plan(queryDesc, plan) && statement->host_watches == 0 && may_be_untied(plan))
		(void) pfs_pg_query_leave_untied(queryDesc, statement);
	else
		attach(queryDesc, plan, statement);
}

/* Others are open.  SPI reads most of those that are nested at once. */
static PFS_HOT pg_noinline void
start_beside(QueryDesc *queryDesc, int eflags)
{
	const PlannedStmt *plan = queryDesc->plannedstmt;
	PfsStatement *statement;
	PfsStatement *caller;
	uint64		id;

	if (pfs_session.running == NULL)
	{
		start_any(queryDesc, eflags);
		return;
	}
	statement = pfs_pg_begin_plain_nested(plan);
	if (pfs_unlikely(statement == NULL))
	{
		start_any(queryDesc, eflags);
		return;
	}
	id = statement->record->statement_id;
	pfs_pg_entry.ExecutorStart(queryDesc, eflags);
	if (pfs_unlikely(pfs_session.running != statement || statement->record->statement_id != id) ||
		!has_plan(queryDesc, plan) || pfs_unlikely(statement->host_watches) || pfs_unlikely(queryDesc->dest == NULL || queryDesc->dest->mydest != DestSPI))
	{
		start_done(queryDesc, plan, statement, id);
		return;
	}
	caller = statement->host_caller;
	statement->host_in_call = false;
	statement->host_at_once = true;
	pfs_session.running = caller;
	if (pfs_unlikely(pfs_pg_query_attach(queryDesc, statement) == NULL))
		end_unattached(statement);
}

/* Back from ExecutorStart, the first statement, which has begun in the plain way, is the client's.  unnamed: so is its portal. */
static pg_attribute_always_inline void
started_first(QueryDesc *queryDesc, bool unnamed)
{
	PfsStatement *first = &pfs_session.statement[0];

	pfs_keep(first);
	/* no other one of the client can have been on stage meanwhile, so none has its place */
	if (pfs_unlikely(pfs_session.running != first))
	{
		start_done(queryDesc, queryDesc->plannedstmt, first, first->record->statement_id);
		return;
	}
	first->host_in_call = false;
	pfs_session.running = NULL;
	if (!has_plan(queryDesc, queryDesc->plannedstmt) ||
		!(unnamed ? pfs_likely(pfs_pg_untied.relations.estate == NULL) : may_be_untied(queryDesc->plannedstmt)))
	{
		attach(queryDesc, queryDesc->plannedstmt, first);
		return;
	}
	if (pfs_unlikely(pfs_pg_entry.endings == PFS_PG_ENDINGS_IN))
		pfs_pg_endings_out();
	(void) pfs_pg_query_leave_untied(queryDesc, first);
	if (pfs_unlikely(first->host_watches))
		pfs_pg_plan_start(&pfs_pg_untied);
}

/* The only one, but its statement has a number already, or its shape tells some, or it is no unnamed portal that executes it. */
static PFS_HOT pg_noinline void
start_first(QueryDesc *queryDesc, int eflags)
{
	if (pfs_unlikely(!pfs_pg_begin_plain(queryDesc)))
		start_any(queryDesc, eflags);
	else
	{
		pfs_pg_entry.ExecutorStart(queryDesc, eflags);
		started_first(queryDesc, false);
	}
}

/* The server has just looked at the portal, of which nothing that is asked here changes before it is back. */
static PFS_HOT void
pfs_hook_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	if (pfs_unlikely(pfs_session.newest != NULL))
		start_beside(queryDesc, eflags);
	else if (pfs_unlikely(pfs_session.promised) || !pfs_pg_query_is_unnamed(queryDesc->plannedstmt) ||
			 pfs_unlikely(!pfs_pg_begin_plain_frequent(queryDesc)))
		start_first(queryDesc, eflags);
	else
	{
		pfs_pg_entry.ExecutorStart(queryDesc, eflags);
		started_first(queryDesc, true);
	}
}

/* A query that is executed, with its error guard. */
typedef struct Stage
{
	PfsPgQuery *query;			/* NULL = it is not known */
	PfsStatement *statement;	/* NULL = none */
	ErrorContextCallback guard;
} Stage;

/* The relations of a query without a statement are looked at while it runs. */
static inline void
begin_relations(Stage *stage)
{
	if (stage->query == NULL)
		return;
	pfs_relations_guard(&stage->guard);
	pfs_relations_begin(&stage->query->relations);
}

static inline void
end_relations(Stage *stage)
{
	if (stage->query == NULL)
		return;
	pfs_pg_error_unguard(&stage->guard);
	pfs_relations_end(&stage->query->relations);
}

/* Most often it is the newest.  A statement knows its query as long as that lives. */
static inline PfsPgQuery *
find_query(const QueryDesc *desc)
{
	PfsPgQuery *query = pfs_session.newest != NULL ? pfs_session.newest->host_query : NULL;

	if (pfs_likely(query != NULL && query->relations.estate == desc->estate))
		return query;
	return pfs_session.thread != NULL ? pfs_pg_query(desc) : NULL;
}

static inline void
find_stage(Stage *stage, const QueryDesc *desc)
{
	stage->query = find_query(desc);
	stage->statement = stage->query != NULL ? stage->query->relations.statement : NULL;
}

static inline void
enter_call(PfsStatement *statement, ErrorContextCallback *guard, bool guarded)
{
	if (guarded)
		pfs_pg_error_guard(guard);
	pfs_pg_enter(statement);
}

/* Back from the executor; false: what it ran has ended the statement. */
static inline bool
leave_call(const PfsPgQuery *query, PfsStatement *statement, const ErrorContextCallback *guard, bool guarded)
{
	if (guarded)
		pfs_pg_error_unguard(guard);
	if (pfs_unlikely(query->relations.statement != statement))
		return false;
	pfs_pg_leave(statement);
	return true;
}

/* The client's command executes this query: the answer is about it, whether it is recorded or not. */
static inline void
note_execution(PfsStatement *statement)
{
	if (statement != NULL && statement->record->level > 0)
		return;
	if (pfs_likely(statement == pfs_session.top) || pfs_session.running != NULL || pfs_pg_committing() != NULL)
		return;
	pfs_pg_set_top(statement);
}

static PFS_COLD void
run_unrecorded(Stage *stage, PFS_EXECUTOR_RUN_PARAMETERS)
{
	begin_relations(stage);
	pfs_pg_entry.ExecutorRun(PFS_EXECUTOR_RUN_ARGUMENTS);
	end_relations(stage);
}

/* Back from the executor. */
static pg_attribute_always_inline void
note_rows(PfsStatement *statement, const QueryDesc *queryDesc)
{
	statement->host_rows += queryDesc->estate->es_processed;
	statement->host_broken = false; /* the error was a warning, or was caught */
}

/* Before it runs, while the words that this looks at are still near. */
static pg_attribute_always_inline void
note_protocol(const QueryDesc *queryDesc)
{
	if (pfs_unlikely(!pfs_session.extended) && queryDesc->dest->mydest == DestRemoteExecute)
		pfs_session.extended = true;
}

static pg_noinline void
run_any(PFS_EXECUTOR_RUN_PARAMETERS)
{
	Stage		stage;
	PfsStatement *statement;
	bool		guarded = needs_guard();
	bool		aside;

	pfs_pg_endings_in();
	if (pfs_pg_is_off(PFS_PG_QUERY_CLASSES))
	{
		pfs_pg_entry.ExecutorRun(PFS_EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	pfs_pg_undisturbed = NULL;
	find_stage(&stage, queryDesc);
	statement = stage.statement;
	note_execution(statement);
	if (statement == NULL)
	{
		run_unrecorded(&stage, PFS_EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	if (pfs_unlikely(statement->host_state == PFS_PG_SUSPENDED))
		pfs_pg_move(statement, PFS_PG_RUNNING,
					statement->record->level == 0 ? pfs_pg_command_since() : 0);
	note_protocol(queryDesc);
	enter_call(statement, &stage.guard, guarded);
	aside = pfs_pg_protocol_aside();	/* a guard brings it back */
	pfs_brief_begin(&stage.query->relations, statement);
	pfs_pg_entry.ExecutorRun(PFS_EXECUTOR_RUN_ARGUMENTS);
	if (pfs_likely(aside))
		pfs_pg_protocol_return();
	pfs_brief_end(&stage.query->relations);
	if (pfs_likely(leave_call(stage.query, statement, &stage.guard, guarded)))
	{
		note_rows(statement, queryDesc);
		if (pfs_unlikely(pfs_pg_ends_with_query(statement)) && count != 0 &&
			!statement->host_at_once && queryDesc->estate->es_processed >= count)
			pfs_pg_move(statement, PFS_PG_SUSPENDED, 0);	/* it is a cursor's */
	}
}

/*
 * As enter_call, of the untied query's statement, while no other is on stage: none has called it, as when it began.  Its level is
 * that at which it began, unless the caller notes it.
 */
static pg_attribute_always_inline void
enter_untied(PfsStatement *statement, ErrorContextCallback *guard)
{
	pfs_pg_error_guard(guard);
	statement->host_in_call = true;
	pfs_session.running = statement;
}

/* Something has happened during the run, or its rows were not counted. */
static pg_noinline void
run_over(const QueryDesc *queryDesc)
{
	PfsRelations *relations = &pfs_pg_untied.relations;
	PfsStatement *statement;

	pfs_pg_undisturbed = NULL;
	pfs_pg_endings_in();
	if (relations->estate != queryDesc->estate)
		return;
	pfs_brief_end(relations);
	statement = relations->statement;
	if (statement == NULL)
		return;
	pfs_pg_leave(statement);
	note_rows(statement, queryDesc);
}

/* Runs the untied query, whose statement is on stage.  False: something has happened meanwhile, and nothing is left to do. */
static pg_attribute_always_inline bool
run_untied(const ErrorContextCallback *guard, PFS_EXECUTOR_RUN_PARAMETERS)
{
	pfs_pg_entry.ExecutorRun(PFS_EXECUTOR_RUN_ARGUMENTS);
	pfs_pg_protocol_return();
	pfs_pg_error_unguard(guard);
	if (pfs_likely(pfs_pg_undisturbed == queryDesc->estate))
		return true;
	run_over(queryDesc);
	return false;
}

/*
 * It has run for the first time, and processed these rows.  If that was all, we let its query go, unless its end is seen: what is
 * left is the answer to the client.  all: all its rows were asked for.  (Of a SELECT that is unusual the answer comes before
 * ExecutorEnd; not if it took another command's place by a rule, but those have no text, and do not begin in the plain way.)
 */
static pg_attribute_always_inline void
has_run(bool changes, bool all, uint64 rows, const PfsRelations *relations, PfsStatement *statement)
{
	if (pfs_unlikely(pfs_pg_entry.endings != PFS_PG_ENDINGS_OUT || pfs_pg_plan_is_unusual(statement) ||
					 (changes ? !pfs_brief_leaves_nothing(relations) : !all)))
	{
		statement->host_rows = rows;
		pfs_pg_undisturbed = NULL;
		if (changes)
			pfs_pg_endings_in();
		return;
	}
	pfs_pg_store_rows(statement, rows);
	pfs_pg_untied_over(statement, PFS_PG_HAS_RUN);
	statement->host_state = PFS_PG_EXECUTED;
}

/* What its rows show. (What was scanned was examined.) */
static pg_noinline void
show_rows(const PfsRelations *relations, const PfsStatement *statement, int64 rows, bool changes)
{
	if (changes)
		pfs_brief_show_change(relations, (int64) pfs_record_counter(statement->record, PFS_COUNTER_ROWS_EXAMINED), rows);
	else
		pfs_brief_show_scan(relations, rows);
}

/*
 * Most often it is the first run of the untied query, and that is brief: it changes a table, or only reads.  Whatever can happen
 * meanwhile resets the word that is looked at afterwards.
 */
static pg_attribute_always_inline void
run_brief(bool changes, bool all, PFS_EXECUTOR_RUN_PARAMETERS)
{
	PfsRelations *relations = &pfs_pg_untied.relations;
	PfsStatement *statement = relations->statement;
	ErrorContextCallback guard;
	int64		scanned;
	int64		rows;

	if (pfs_unlikely(!(changes ? pfs_brief_begin_change(relations, statement)
					   : pfs_brief_begin_scan(relations, statement))))
	{
		run_any(PFS_EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	note_protocol(queryDesc);
	pfs_pg_protocol_step_aside();
	enter_untied(statement, &guard);
	if (!run_untied(&guard, PFS_EXECUTOR_RUN_ARGUMENTS))
		return;
	relations = pfs_relations_running;	/* so no register has to be kept for them, nor for the statement */
	statement = relations->statement;
	if (pfs_unlikely(!(changes ? pfs_brief_end_change(relations, statement, &scanned, &rows)
					   : pfs_brief_end_scan(relations, statement, &rows))))
	{
		run_over(queryDesc);
		return;
	}
	statement->host_in_call = false;
	pfs_session.running = NULL;
	has_run(changes, all, queryDesc->estate->es_processed, relations, statement);
	if (pfs_brief_shows())
		show_rows(relations, statement, rows, changes);
}

static PFS_HOT pg_noinline void
run_scan(PFS_EXECUTOR_RUN_PARAMETERS)
{
	pfs_assume(count == 0);		/* so no register has to be kept for it */
	run_brief(false, true, PFS_EXECUTOR_RUN_ARGUMENTS);
}

/* The same, if not all its rows were asked for. */
static PFS_HOT pg_noinline void
run_part(PFS_EXECUTOR_RUN_PARAMETERS)
{
	run_brief(false, false, PFS_EXECUTOR_RUN_ARGUMENTS);
}

static PFS_HOT pg_noinline void
run_change(PFS_EXECUTOR_RUN_PARAMETERS)
{
	run_brief(true, true, PFS_EXECUTOR_RUN_ARGUMENTS);
}

/* The same of any other that only reads: whatever its relations are, nothing of it is left to be executed. */
static PFS_HOT pg_noinline void
run_read(PFS_EXECUTOR_RUN_PARAMETERS)
{
	PfsRelations *relations = &pfs_pg_untied.relations;
	PfsStatement *statement = relations->statement;
	ErrorContextCallback guard;

	if (pfs_unlikely(queryDesc->operation != CMD_SELECT || queryDesc->plannedstmt->hasModifyingCTE))
	{
		run_any(PFS_EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	note_protocol(queryDesc);
	pfs_pg_protocol_step_aside();
	enter_untied(statement, &guard);
	pfs_brief_begin_other(relations, statement);
	pfs_pg_undisturbed = queryDesc->estate;
	if (!run_untied(&guard, PFS_EXECUTOR_RUN_ARGUMENTS))
		return;
	pfs_brief_end_other(relations);
	pfs_pg_undisturbed = queryDesc->estate;
	statement->host_in_call = false;
	pfs_session.running = NULL;
	has_run(false, count == 0, queryDesc->estate->es_processed, relations, statement);
}

/* Most often the newest statement is the one whose query is executed: the query, if it is nested. */
static inline PfsPgQuery *
find_nested(const QueryDesc *desc)
{
	const PfsStatement *statement = pfs_session.newest;
	PfsPgQuery *query = statement != NULL && statement->parent != NULL ? statement->host_query : NULL;

	return query != NULL && pfs_likely(query->relations.estate == desc->estate) ? query : NULL;
}

/* As run_over, of a nested one. */
static pg_noinline void
nested_over(const QueryDesc *queryDesc, PfsPgQuery *query, PfsStatement *statement)
{
	pfs_pg_undisturbed = NULL;
	pfs_brief_end(&query->relations);
	if (leave_call(query, statement, NULL, false))
		note_rows(statement, queryDesc);
}

/* A nested query that is read to its end at once: the error guard around its caller is its own, and our methods stand aside already. */
static PFS_HOT pg_noinline void
run_nested(PFS_EXECUTOR_RUN_PARAMETERS)
{
	PfsPgQuery *query = find_nested(queryDesc);
	PfsStatement *caller = pfs_session.running;
	PfsStatement *statement;

	if (pfs_unlikely(query == NULL) || pfs_unlikely(caller == NULL))
	{
		run_any(PFS_EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	statement = query->relations.statement;
	if (pfs_unlikely(caller->host_query == NULL || statement->host_state != PFS_PG_RUNNING || !statement->host_at_once ||
					 query->relations.nothing != 0 || pfs_pg_protocol_stands()))
	{
		run_any(PFS_EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	pfs_pg_enter(statement);
	if (pfs_unlikely(statement->host_brief != PFS_BRIEF_SCAN) || pfs_unlikely(!pfs_brief_begin_scan(&query->relations, statement)))
		pfs_brief_begin_other(&query->relations, statement);
	pfs_pg_undisturbed = queryDesc->estate;
	pfs_pg_entry.ExecutorRun(PFS_EXECUTOR_RUN_ARGUMENTS);
	if (pfs_unlikely(pfs_pg_undisturbed != queryDesc->estate))
	{
		nested_over(queryDesc, query, statement);
		return;
	}
	if (pfs_unlikely(query->relations.brief != PFS_BRIEF_SCAN) || pfs_unlikely(!pfs_brief_end_shown_scan(&query->relations, statement)))
		pfs_brief_end_other(&query->relations);
	pfs_pg_undisturbed = NULL;
	statement->host_in_call = false;
	pfs_session.running = statement->host_caller;
	statement->host_rows += queryDesc->estate->es_processed;
}

static PFS_HOT void
pfs_hook_ExecutorRun(PFS_EXECUTOR_RUN_PARAMETERS)
{
	unsigned	brief;

	if (pfs_unlikely(pfs_pg_undisturbed != queryDesc->estate) || pfs_unlikely(!pfs_pg_protocol_stands()))
	{
		run_nested(PFS_EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	brief = pfs_pg_untied.relations.statement->host_brief;
	if (brief > PFS_BRIEF_SCAN)
		run_change(PFS_EXECUTOR_RUN_ARGUMENTS);
	else if (pfs_unlikely(brief < PFS_BRIEF_SCAN))
		run_read(PFS_EXECUTOR_RUN_ARGUMENTS);
	else if (pfs_unlikely(count != 0))
		run_part(PFS_EXECUTOR_RUN_ARGUMENTS);
	else
		run_scan(PFS_EXECUTOR_RUN_ARGUMENTS);
}

/* What fails now adds the rows of its last run to those before: they are taken out while it finishes.  Returns how many. */
static inline uint64
begin_finish(PfsStatement *statement, const QueryDesc *queryDesc)
{
	uint64		rows = Min(statement->host_rows, queryDesc->estate->es_processed);

	statement->host_rows -= rows;
	return rows;
}

static inline void
end_finish(const PfsPgQuery *query, PfsStatement *statement, uint64 rows, const ErrorContextCallback *guard, bool guarded)
{
	if (!leave_call(query, statement, guard, guarded))
		return;
	statement->host_rows += rows;
	statement->host_broken = false; /* as note_rows */
}

static pg_noinline void
finish_any(QueryDesc *queryDesc)
{
	Stage		stage;
	uint64		rows;
	bool		guarded;
	bool		modifies = queryDesc->estate->es_auxmodifytables != NIL;

	find_stage(&stage, queryDesc);
	if (stage.statement == NULL)
	{
		/* triggers are statements of their own */
		if (pfs_unlikely(modifies))
			begin_relations(&stage);
		pfs_pg_entry.ExecutorFinish(queryDesc);
		if (pfs_unlikely(modifies))
			end_relations(&stage);
		return;
	}
	guarded = needs_guard();
	rows = begin_finish(stage.statement, queryDesc);
	enter_call(stage.statement, &stage.guard, guarded);
	if (pfs_unlikely(modifies))
		pfs_relations_begin(&stage.query->relations);
	pfs_pg_entry.ExecutorFinish(queryDesc);
	if (pfs_unlikely(modifies))
		pfs_relations_end(&stage.query->relations);
	end_finish(stage.query, stage.statement, rows, &stage.guard, guarded);
}

/* Of the untied query, as its run. */
static PFS_HOT pg_noinline void
finish(QueryDesc *queryDesc)
{
	PfsPgQuery *query = &pfs_pg_untied;
	PfsStatement *statement;
	ErrorContextCallback guard;
	uint64		rows;

	pfs_keep(query);
	statement = query->relations.statement;
	if (pfs_unlikely(query->relations.estate != queryDesc->estate || statement == NULL || pfs_session.running != NULL ||
					 queryDesc->estate->es_auxmodifytables != NIL))
	{
		finish_any(queryDesc);
		return;
	}
	statement->host_enter_level = pfs_pg_nest_level;
	rows = begin_finish(statement, queryDesc);
	enter_untied(statement, &guard);
	pfs_pg_entry.ExecutorFinish(queryDesc);
	end_finish(query, statement, rows, &guard, true);
}

/* Not the untied query's, or that has something to do. */
static pg_noinline void
finish_other(QueryDesc *queryDesc)
{
	/* a query that changes nothing has no triggers left to run */
	if ((queryDesc->operation == CMD_SELECT && !queryDesc->plannedstmt->hasModifyingCTE) ||
		pfs_pg_is_off(PFS_PG_QUERY_CLASSES))
		pfs_pg_entry.ExecutorFinish(queryDesc);
	else
		finish(queryDesc);
}

static PFS_HOT void
pfs_hook_ExecutorFinish(QueryDesc *queryDesc)
{
	const PfsRelations *relations = &pfs_pg_untied.relations;

	if (pfs_likely(relations->estate == queryDesc->estate) && pfs_likely(pfs_brief_leaves_nothing(relations)))
		pfs_pg_entry.ExecutorFinish(queryDesc);
	else
		finish_other(queryDesc);
}

/* A parallel worker's waits belong to its leader's statement, of which it knows the query id. */
static pg_noinline void
bill_worker(const PlannedStmt *plan)
{
	uint32		generation = pfs_load_acquire(&pfs_arena->digest_generation);
	uint32		digest;

	pfs_store(&pfs_session.thread->database_id, MyDatabaseId);
	digest = pfs_digest_find(pfs_arena, pfs_session.thread, (uint64) plan->queryId);
	if (digest != PFS_DIGEST_NONE)
		pfs_wait_bill(&pfs_session, digest, generation);
}

/* Lets the query go, which is tied to its memory or may be.  Is its statement, if it had one, still there? */
static pg_attribute_always_inline bool
end_query(QueryDesc *queryDesc, PfsPgQuery *query, const PfsStatement *statement, bool is_tied)
{
	uint64		id = statement != NULL ? statement->record->statement_id : 0;

	if (is_tied)
		pfs_pg_query_end_here(query, true);
	else
		pfs_pg_query_end(query);
	pfs_pg_entry.ExecutorEnd(queryDesc);
	return statement != NULL && pfs_likely(pfs_pg_is_still(statement, id));
}

/* Of a query that is known, with its statement if it still has one. */
static inline void
end_known(QueryDesc *queryDesc, PfsPgQuery *query, PfsStatement *statement)
{
	if (pfs_likely(statement != NULL))
		pfs_pg_plan_end(query, statement);
	if (end_query(queryDesc, query, statement, false))
		pfs_pg_executed(statement);
}

static pg_noinline void
end_any(QueryDesc *queryDesc)
{
	PfsPgQuery *query;

	if (pfs_pg_is_off(PFS_PG_QUERY_CLASSES))
	{
		pfs_pg_entry.ExecutorEnd(queryDesc);
		return;
	}
	query = find_query(queryDesc);
	if (pfs_unlikely(IsParallelWorker()) && pfs_session.thread != NULL)
		bill_worker(queryDesc->plannedstmt);
	if (pfs_likely(query != NULL))
		end_known(queryDesc, query, query->relations.statement);
	else
		pfs_pg_entry.ExecutorEnd(queryDesc);
}

/* A nested one, which ends in the plain way. */
static PFS_HOT pg_noinline void
end_nested(QueryDesc *queryDesc)
{
	PfsSession *session = &pfs_session;
	PfsPgQuery *query = find_nested(queryDesc);
	PfsStatement *statement;

	if (pfs_unlikely(query == NULL) || pfs_unlikely(query->relations.runs) ||
		pfs_unlikely(pfs_pg_plan_is_unusual(query->relations.statement)))
	{
		end_any(queryDesc);
		return;
	}
	statement = query->relations.statement;
	if (!end_query(queryDesc, query, statement, true))
		return;
	if (pfs_unlikely(!pfs_statement_is_plain(session, statement) || statement->since == 0 ||
					 pfs_session.unsettled))
		pfs_pg_executed(statement);
	else
	{
		pfs_pg_store_rows(statement, statement->host_rows);
		if (pfs_pg_end_plain(session, statement, pfs_now(), false, false, false))
			pfs_statement_sum(session);
	}
}

/* Was the client told that its command is complete, so that nothing is left to be done but the commit? */
static inline bool
waits_for_commit(const PfsStatement *statement)
{
	return statement->host_state > PFS_PG_EXECUTED && statement == pfs_session.top;
}

/* The untied query's statement goes on, or there is more to say of its plan. */
static PFS_HOT pg_noinline void
end_untied(QueryDesc *queryDesc)
{
	PfsPgQuery *query = &pfs_pg_untied;
	PfsStatement *statement;
	uint64		id;

	pfs_keep(query);
	statement = query->relations.statement;
	id = statement->record->statement_id;
	pfs_pg_plan_end(query, statement);
	pfs_pg_query_part(query);
	query->relations.estate = NULL;
	if (waits_for_commit(statement))
		pfs_pg_entry.ExecutorEnd(queryDesc);
	else
	{
		pfs_pg_entry.ExecutorEnd(queryDesc);
		if (pfs_likely(pfs_pg_is_still(statement, id)))
			pfs_pg_executed(statement);
	}
}

/* Most often the statement has ended, when the client was told so, or will do so with its transaction. */
static PFS_HOT void
pfs_hook_ExecutorEnd(QueryDesc *queryDesc)
{
	PfsPgQuery *query = &pfs_pg_untied;
	PfsStatement *statement;

	pfs_keep(query);
	if (pfs_unlikely(query->relations.estate != queryDesc->estate) || pfs_unlikely(query->relations.runs))
	{
		end_nested(queryDesc);
		return;
	}
	statement = query->relations.statement;
	if (pfs_unlikely(statement != NULL))	/* in a block it has ended */
	{
		if (!waits_for_commit(statement) || pfs_unlikely(pfs_pg_plan_is_unusual(statement)))
		{
			end_untied(queryDesc);
			return;
		}
		pfs_pg_query_part(query);
	}
	query->relations.estate = NULL;
	pfs_pg_entry.ExecutorEnd(queryDesc);
}

/* --- installation --- */

/* Those that each query passes, and those that most do not need. */
#define RUN_HOOKS(hook) hook(ExecutorStart) hook(ExecutorRun)
#define END_HOOKS(hook) hook(ExecutorFinish) hook(ExecutorEnd)

#define IS_TOP(name) name##_hook == pfs_hook_##name &&
#define PUT_IN(name) \
	pfs_pg_entry.name = name##_hook != NULL ? name##_hook : standard_##name; \
	name##_hook = pfs_hook_##name;
#define TAKE_OUT(name) name##_hook = pfs_pg_entry.name != standard_##name ? pfs_pg_entry.name : NULL;

static bool is_out = true;

/* Above whoever is there now. */
PFS_COLD void
pfs_pg_endings_put_in(void)
{
	END_HOOKS(PUT_IN)
	pfs_pg_entry.endings = PFS_PG_ENDINGS_IN;
}

PFS_COLD void
pfs_pg_endings_out(void)
{
	if (pfs_pg_knows_query())
		return;
	if (END_HOOKS(IS_TOP) true)
	{
		END_HOOKS(TAKE_OUT)
		pfs_pg_entry.endings = PFS_PG_ENDINGS_OUT;
	}
	else
		pfs_pg_entry.endings = PFS_PG_ENDINGS_STAY;
}

void
pfs_pg_executor_in(void)
{
	if (!is_out)
		return;
	RUN_HOOKS(PUT_IN)
	pfs_pg_endings_put_in();
	is_out = false;
}

void
pfs_pg_executor_out(void)
{
	pfs_pg_endings_in();		/* above whoever came meanwhile, as the others are */
	if (!(RUN_HOOKS(IS_TOP) END_HOOKS(IS_TOP) !pfs_pg_knows_query()))
		return;
	RUN_HOOKS(TAKE_OUT)
	END_HOOKS(TAKE_OUT)
	is_out = true;
}

void
pfs_pg_executor_install(void)
{
	prev_post_parse_analyze_hook = post_parse_analyze_hook;
	post_parse_analyze_hook = pfs_hook_post_parse_analyze;
	next_planner = planner_hook != NULL ? planner_hook : standard_planner;
	planner_hook = pfs_hook_planner;
	pfs_pg_executor_in();
}
