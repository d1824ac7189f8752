/*
 * pg_plan.c
 *		What a plan tells of its statement: scans, sorts, intermediate results, rows read, spills.
 *
 * All from the plan's shape, from counters that the server keeps anyway, and from a counter of the
 * rows that are sorted.  Nothing here reads a clock.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/hashjoin.h"
#include "executor/instrument.h"
#include "nodes/nodeFuncs.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_query.h"
#include "pg/pg_template.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"
#include "utils/tuplestore.h"


/* Is an operator an equality?  Filled from the catalogue on first sight. */
static struct
{
	Oid			operator;
	bool		equality;
}			operator_cache[64];

/* --- the plan's shape --- */

typedef struct Shape
{
	uint32		sequential;		/* scans of tables without an index */
	uint32		indexed;
	uint32		full_join;
	uint32		temporary;
	uint32		sorts;
	bool		first_is_sequential;
	bool		first_is_range;
	bool		has_scan;
} Shape;

static void look_at(Plan *plan, Shape *shape, bool inner_of_loop, int depth);
static bool scans_range(Plan *plan);

static void
look_at_list(List *plans, Shape *shape, int depth)
{
	ListCell   *cell;

	foreach(cell, plans)
		look_at((Plan *) lfirst(cell), shape, false, depth);
}

static void
look_at_children(Plan *plan, Shape *shape, int depth)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			look_at_list(((Append *) plan)->appendplans, shape, depth);
			break;
		case T_MergeAppend:
			look_at_list(((MergeAppend *) plan)->mergeplans, shape, depth);
			break;
		case T_SubqueryScan:
			look_at(((SubqueryScan *) plan)->subplan, shape, false, depth);
			break;
		case T_BitmapAnd:
		case T_BitmapOr:
		case T_BitmapIndexScan:
			break;
		default:
			look_at(plan->lefttree, shape, false, depth);
			look_at(plan->righttree, shape, IsA(plan, NestLoop), depth);
			break;
	}
}

static void
count_scan(Plan *plan, Shape *shape, bool sequential, bool inner_of_loop)
{
	if (!shape->has_scan)
	{
		shape->has_scan = true;
		shape->first_is_sequential = sequential;
		shape->first_is_range = !sequential && scans_range(plan);
	}
	shape->sequential += sequential;
	shape->indexed += !sequential;
	if (sequential && inner_of_loop)
		shape->full_join++;
}

#define PLAN_DEPTH_MAX 200

static void
look_at(Plan *plan, Shape *shape, bool inner_of_loop, int depth)
{
	if (plan == NULL || depth > PLAN_DEPTH_MAX)
		return;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
			count_scan(plan, shape, true, inner_of_loop);
			break;
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
			count_scan(plan, shape, false, inner_of_loop);
			break;
		case T_Sort:
		case T_IncrementalSort:
			shape->sorts++;
			shape->temporary++;
			break;
		case T_Material:
			look_at(plan->lefttree, shape, inner_of_loop, depth + 1);
			shape->temporary++;
			return;
		case T_Hash:
		case T_CteScan:
		case T_RecursiveUnion:
		case T_Memoize:
		case T_WindowAgg:
			shape->temporary++;
			break;
		case T_Agg:
			if (((Agg *) plan)->aggstrategy == AGG_HASHED ||
				((Agg *) plan)->aggstrategy == AGG_MIXED)
				shape->temporary++;
			break;
		default:
			break;
	}
	look_at_children(plan, shape, depth + 1);
}

/* --- ranges --- */

static bool
is_equality(Oid operator)
{
	int			place = operator % lengthof(operator_cache);

	if (operator_cache[place].operator != operator)
	{
		operator_cache[place].equality = get_oprrest(operator) == F_EQSEL;
		operator_cache[place].operator = operator;
	}
	return operator_cache[place].equality;
}

/* MySQL calls a look-up by equal keys "ref", and an interval or a list of keys "range". */
static bool
is_range(List *index_conditions)
{
	ListCell   *cell;

	foreach(cell, index_conditions)
	{
		Node	   *condition = (Node *) lfirst(cell);

		if (!IsA(condition, OpExpr) || !is_equality(((OpExpr *) condition)->opno))
			return true;
	}
	return false;
}

static bool
scans_range(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return is_range(((IndexScan *) plan)->indexqual);
		case T_IndexOnlyScan:
			return is_range(((IndexOnlyScan *) plan)->indexqual);
		case T_BitmapHeapScan:
			plan = plan->lefttree;
			return !IsA(plan, BitmapIndexScan) || is_range(((BitmapIndexScan *) plan)->indexqual);
		default:
			return false;
	}
}

/* --- rows that are sorted --- */

/* template->sorts */
typedef enum Sorts
{
	SORTS_NOT,
	SORTS,
	SORTS_WHAT_IS_READ,			/* one sort takes in what the only scan fetches, see sorts_what_is_read */
	SORTS_EXACTLY				/* and the index was seen to be one that needs no recheck */
} Sorts;

static bool
is_builtin_type(Oid type)
{
	return type < FirstNormalObjectId && type != RECORDOID && type != RECORDARRAYOID;
}

static bool
are_builtin(const Oid *operators, int count)
{
	for (int i = 0; i < count; i++)
		if (operators[i] >= FirstNormalObjectId)
			return false;
	return true;
}

static bool
is_value(const Node *node)
{
	return node == NULL || IsA(node, Const) || (IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXTERN);
}

static bool
has_only_columns(const Plan *plan)
{
	ListCell   *cell;

	foreach(cell, plan->targetlist)
	{
		const Expr *expr = ((const TargetEntry *) lfirst(cell))->expr;

		if (!IsA(expr, Var) || !is_builtin_type(((const Var *) expr)->vartype))
			return false;
	}
	return plan->qual == NIL;
}

static bool
compares_with_values(List *index_conditions)
{
	ListCell   *cell;

	foreach(cell, index_conditions)
	{
		const OpExpr *condition = lfirst(cell);

		if (!IsA(condition, OpExpr) || condition->opno >= FirstNormalObjectId || list_length(condition->args) != 2 ||
			!IsA(linitial(condition->args), Var) || !is_builtin_type(((const Var *) linitial(condition->args))->vartype) ||
			!is_value(lsecond(condition->args)))
			return false;
	}
	return true;
}

/*
 * Does its one sort take in exactly the rows that its one scan, of an index, fetches?  So that no counter is needed if
 * nothing else can fetch rows from that index meanwhile: no function that is not the server's runs, no query is
 * planned (which may look into the index).  Nor is it one of the catalogue, or of TOAST, which the server reads itself.
 */
static bool
sorts_what_is_read(const PlannedStmt *stmt)
{
	const Plan *plan = stmt->planTree;
	const IndexScan *scan;

	if (stmt->commandType != CMD_SELECT || stmt->subplans != NIL)
		return false;
	for (; IsA(plan, Limit) || IsA(plan, Unique); plan = plan->lefttree)
		if (!has_only_columns(plan) ||
			(IsA(plan, Limit) ? !is_value(((const Limit *) plan)->limitOffset) || !is_value(((const Limit *) plan)->limitCount)
			 : !are_builtin(((const Unique *) plan)->uniqOperators, ((const Unique *) plan)->numCols)))
			return false;
	if (!IsA(plan, Sort) || !has_only_columns(plan) || !IsA(plan->lefttree, IndexScan) ||
		!are_builtin(((const Sort *) plan)->sortOperators, ((const Sort *) plan)->numCols))
		return false;
	scan = (const IndexScan *) plan->lefttree;
	return scan->indexid >= FirstNormalObjectId && scan->indexorderby == NIL && has_only_columns(&scan->scan.plan) &&
		compares_with_values(scan->indexqual);
}

static inline const PlanState *
only_scan(const PfsPgQuery *query)
{
	const PlanState *node = query->relations.plan;

	while (node != NULL && !IsA(node, IndexScanState))
		node = outerPlanState(node);
	return node;
}

/* Does the server count what the only scan fetches, for this statement alone? */
static inline bool
is_counted(const PfsPgQuery *query)
{
	const PlanState *node = only_scan(query);
	Relation	index;

	if (node == NULL || node->instrument != NULL ||
		pfs_record_counter(query->relations.statement->record, PFS_COUNTER_ROWS_EXAMINED) != 0)
		return false;
	index = ((const IndexScanState *) node)->iss_RelationDesc;
	return index != NULL && (index->pgstat_info != NULL || index->pgstat_enabled);
}

/* And is all of it what it returns?  A B-tree needs no recheck.  An index never becomes another one. */
static bool
is_counted_exactly(const PfsPgQuery *query)
{
	Relation	index;

	if (!is_counted(query))
		return false;
	index = ((const IndexScanState *) only_scan(query))->iss_RelationDesc;
	return index->rd_rel->relam == BTREE_AM_OID && !IsToastNamespace(index->rd_rel->relnamespace) &&
		are_builtin(index->rd_opfamily, index->rd_index->indnkeyatts);
}

/* Stands for the rows that the statement has examined. */
static PfsPgNodeCounter what_is_read;

/* In its first call the scan of an index may ask itself anew (for values that come late): that ends no loop. */
static pg_noinline TupleTableSlot *
count_first_call(PlanState *node)
{
	TupleTableSlot *slot = node->ExecProcNodeReal(node);

	node->instrument->running = true;
	return slot;
}

/*
 * Calls are counted, not rows: that needs no return.  Of the calls of a loop the last one returns no row.  When the
 * node is asked anew, the server ends the loop in its instrumentation, as long as we say that one runs.
 */
PFS_HOT TupleTableSlot *
pfs_pg_count_call(PlanState *node)
{
	PfsPgNodeCounter *input = (PfsPgNodeCounter *) node->instrument;

	if (pfs_unlikely(input->calls++ == 0))
		return count_first_call(node);
	input->own.running = true;
	return node->ExecProcNodeReal(node);
}

/*
 * The counter is the query's, and hangs on the node itself where the server would count; so there is
 * nothing to be released.  If the server sets the node's function anew, it counts in the same struct.
 * What counts already, for EXPLAIN ANALYZE, is only read.
 */
static void
watch_sort_input(PfsPgQuery *query, PlanState *node)
{
	PfsPgNodeCounter *input;

	if (node == NULL)
		return;
	input = MemoryContextAllocExtended(query->relations.estate->es_query_cxt, sizeof(*input),
									   MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
	if (input == NULL)
	{
		pfs_lose(pfs_arena, PFS_LOSS_FRAMES);
		return;
	}
	input->counted = node->instrument;
	input->next = query->sorts;
	query->sorts = input;
	if (input->counted != NULL)
		return;
	input->counted = &input->own;
	node->instrument = &input->own;
	node->ExecProcNode = pfs_pg_count_call;
}

static bool
watch_sorts(PlanState *node, void *query)
{
	if (IsA(node, SortState) || IsA(node, IncrementalSortState))
		watch_sort_input(query, outerPlanState(node));
	return planstate_tree_walker(node, watch_sorts, query);
}

static pg_noinline uint64
rows_counted(const PfsPgNodeCounter *sorts)
{
	uint64		rows = 0;

	for (const PfsPgNodeCounter *input = sorts; input != NULL; input = input->next)
	{
		uint64		loops = (uint64) input->own.nloops + (input->own.running ? 1 : 0);

		rows += input->calls - Min(loops, input->calls) +
			(uint64) (input->counted->ntuples + input->counted->tuplecount);
	}
	return rows;
}

static inline uint64
rows_sorted(const PfsPgQuery *query)
{
	return pfs_likely(query->sorts == &what_is_read)
		? pfs_record_counter(query->relations.statement->record, PFS_COUNTER_ROWS_EXAMINED) : rows_counted(query->sorts);
}

/* --- spills --- */

typedef struct Spills
{
	uint32		nodes;
	uint32		merges;
} Spills;

static bool
count_spills(PlanState *node, void *arg)
{
	Spills	   *spills = arg;

	if (IsA(node, SortState) && ((SortState *) node)->tuplesortstate != NULL &&
		((SortState *) node)->sort_Done)
	{
		TuplesortInstrumentation stats;

		tuplesort_get_stats(((SortState *) node)->tuplesortstate, &stats);
		if (stats.spaceType == SORT_SPACE_TYPE_DISK)
		{
			spills->nodes++;
			spills->merges++;
		}
	}
	else if (IsA(node, HashJoinState) && ((HashJoinState *) node)->hj_HashTable != NULL)
		spills->nodes += ((HashJoinState *) node)->hj_HashTable->nbatch > 1;
	else if (IsA(node, AggState))
		spills->nodes += ((AggState *) node)->hash_batches_used > 1;
	else if (IsA(node, MaterialState) && ((MaterialState *) node)->tuplestorestate != NULL)
		spills->nodes += !tuplestore_in_memory(((MaterialState *) node)->tuplestorestate);
	return planstate_tree_walker(node, count_spills, arg);
}

void
pfs_pg_usage_start(PfsStatement *statement)
{
	statement->host_base = (uint64) *pfs_pg_server.temporary_blocks;
}

/* Temporary files, nested statements included. */
void
pfs_pg_usage_end(PfsStatement *statement)
{
	uint64		blocks = (uint64) pgBufferUsage.temp_blks_written -
		statement->host_base;

	pfs_statement_set(statement, PFS_COUNTER_TMP_BYTES, blocks * BLCKSZ);
	if (blocks > 0 && pfs_record_counter(statement->record, PFS_COUNTER_CREATED_TMP_DISK_TABLES) == 0)
		pfs_statement_set(statement, PFS_COUNTER_CREATED_TMP_DISK_TABLES, 1);
}

/* --- start and end of a query --- */

/* Nothing if the value is 0, a bit if it is 1.  Returns the next free place. */
static inline uint32 *
list_counter(uint32 *place, PfsPgTemplate *template, PfsCounter counter, uint32 value)
{
	if (pfs_likely(value <= 1))
	{
		template->shared.used |= value != 0 ? pfs_one_bit(counter) : 0;
		return place;
	}
	Assert((template->shared.used & PFS_USED_MASK) >> counter == 0);
	Assert(place < template->shape + PFS_PG_SHAPE_COUNTERS);
	template->shared.used |= 1u << counter;
	*place = value;
	return place + 1;
}

/* The counters that a shape sets, in the order of their bits. */
static void
list_counters(const Shape *shape, PfsPgTemplate *template)
{
	uint32	   *place = template->shape;

	StaticAssertStmt(PFS_COUNTER_SELECT_FULL_JOIN == PFS_ONES_FIRST + PFS_ONES - 1, "all have a bit that says 1");
	place = list_counter(place, template, PFS_COUNTER_SELECT_RANGE, shape->first_is_range);
	place = list_counter(place, template, PFS_COUNTER_SELECT_SCAN, shape->first_is_sequential);
	place = list_counter(place, template, PFS_COUNTER_CREATED_TMP_TABLES, shape->temporary);
	place = list_counter(place, template, PFS_COUNTER_NO_INDEX_USED, shape->sequential > 0);
	place = list_counter(place, template, shape->first_is_sequential ? PFS_COUNTER_SORT_SCAN : PFS_COUNTER_SORT_RANGE,
						 shape->has_scan ? shape->sorts : 0);
	(void) list_counter(place, template, PFS_COUNTER_SELECT_FULL_JOIN, shape->full_join);
}

void
pfs_pg_shape(const PlannedStmt *plan, PfsPgTemplate *template)
{
	Shape		shape = {0};
	ListCell   *cell;

	look_at(plan->planTree, &shape, false, 0);
	foreach(cell, plan->subplans)
		look_at((Plan *) lfirst(cell), &shape, false, 0);
	template->brief = pfs_brief_plan(plan, &template->hops);
	template->sorts = shape.sorts == 0 ? SORTS_NOT : sorts_what_is_read(plan) ? SORTS_WHAT_IS_READ : SORTS;
	list_counters(&shape, template);
}

/* After ExecutorStart: the plan is initialised, and not run yet. */
pg_noinline void
pfs_pg_plan_start(PfsPgQuery *query)
{
	PfsStatement *statement = query->relations.statement;

	if (pfs_likely(statement->host_watches == SORTS_EXACTLY) && is_counted(query))
	{
		query->sorts = &what_is_read;
		return;
	}
	query->sorts = NULL;
	if (statement->host_watches >= SORTS_WHAT_IS_READ && is_counted_exactly(query))
	{
		query->sorts = &what_is_read;
		pfs_pg_template_sorts(query->relations.estate->es_plannedstmt, SORTS_EXACTLY);
	}
	else
		watch_sorts(query->relations.plan, query);
}

static PFS_COLD void
note_spills(const PfsPgQuery *query, PfsStatement *statement)
{
	Spills		spills = {0};

	count_spills(query->relations.plan, &spills);
	pfs_statement_set(statement, PFS_COUNTER_CREATED_TMP_DISK_TABLES, spills.nodes);
	pfs_statement_set(statement, PFS_COUNTER_SORT_MERGE_PASSES, spills.merges);
	pfs_pg_usage_end(statement);
}

pg_noinline void
pfs_pg_plan_end_unusual(PfsPgQuery *query)
{
	PfsStatement *statement = query->relations.statement;

	/* it was not run, so the answer is another's: its portal may have gone, unseen */
	if (query == &pfs_pg_untied && query->relations.nothing == 0)
		return;
	if (statement->host_watches && query->sorts != NULL)
		pfs_statement_set(statement, PFS_COUNTER_SORT_ROWS, rows_sorted(query));
	if (pfs_unlikely(pfs_pg_has_spilled(statement)))
		note_spills(query, statement);
}
