/*
 * pg_plan.c
 *		What a plan tells of its statement: scans, sorts, intermediate results, rows read, spills.
 *
 * All from the plan's shape, from counters that the server keeps anyway, and from one counter per
 * sorted row.  Nothing here reads a clock.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/hashjoin.h"
#include "executor/instrument.h"
#include "nodes/nodeFuncs.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_places.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/tuplesort.h"
#include "utils/tuplestore.h"

#define BASE_TEMP_BLOCKS 0		/* host_base: what the counters showed at the start */

/*
 * Counts the rows that a sort takes in: calls of the one node below it pass one of our functions, see
 * pg_table_time.c.  What an error left behind is harmless: the node is never called again.
 */
typedef struct SortInput
{
	ExecProcNodeMtd real;
	const PfsStatement *statement;
	uint64		rows;
} SortInput;

#define SORT_INPUTS PFS_PG_PLACES

/* Owner: this process. */
static SortInput sort_input[SORT_INPUTS];
static uint64 sort_inputs_used = 0; /* a bit for each */

/* Is an operator an equality?  Filled from the catalogue on first sight. */
static struct
{
	Oid			operator;
	bool		equality;
}			operator_cache[64];

/* --- the plan's shape --- */

#define SHAPE_COUNTERS 6

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
	uint32		counters;		/* what they come to, see list_counters */
	PfsCounter	counter[SHAPE_COUNTERS];
	uint32		value[SHAPE_COUNTERS];
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

static inline TupleTableSlot *
count_row(SortInput *input, PlanState *node)
{
	TupleTableSlot *slot = input->real(node);

	if (pfs_likely(!TupIsNull(slot)))
		input->rows++;
	return slot;
}

#define COUNT(n) \
	static TupleTableSlot * \
	count_##n(PlanState *node) \
	{ \
		return count_row(&sort_input[0##n], node); \
	}
PFS_PG_ALL_PLACES(COUNT)

#define NAME(n) count_##n,
static const ExecProcNodeMtd counting_calls[SORT_INPUTS] = {PFS_PG_ALL_PLACES(NAME)};

static void
watch_sort_input(PfsStatement *statement, PlanState *input)
{
	int			place;

	if (input == NULL || sort_inputs_used == ~UINT64CONST(0))
		return;
	place = __builtin_ctzll(~sort_inputs_used);
	sort_inputs_used |= UINT64CONST(1) << place;
	sort_input[place] = (SortInput) {.real = input->ExecProcNodeReal,.statement = statement};
	input->ExecProcNodeReal = counting_calls[place];
}

static bool
watch_sorts(PlanState *node, void *statement)
{
	if (IsA(node, SortState) || IsA(node, IncrementalSortState))
		watch_sort_input(statement, outerPlanState(node));
	return planstate_tree_walker(node, watch_sorts, statement);
}

/* Gives the places of a statement free; returns the rows that were counted there. */
static pg_noinline uint64
take_sorted_rows(const PfsStatement *statement)
{
	uint64		rows = 0;

	for (uint64 left = sort_inputs_used; left != 0; left &= left - 1)
	{
		int			place = __builtin_ctzll(left);

		if (sort_input[place].statement != statement)
			continue;
		rows += sort_input[place].rows;
		sort_inputs_used &= ~(UINT64CONST(1) << place);
	}
	return rows;
}

void
pfs_pg_plan_forget(const PfsStatement *statement)
{
	if (pfs_unlikely(sort_inputs_used != 0))
		take_sorted_rows(statement);
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
	statement->host_base[BASE_TEMP_BLOCKS] = (uint64) pgBufferUsage.temp_blks_written;
}

/* Temporary files, nested statements included. */
void
pfs_pg_usage_end(PfsStatement *statement)
{
	uint64		blocks = (uint64) pgBufferUsage.temp_blks_written -
		statement->host_base[BASE_TEMP_BLOCKS];

	pfs_statement_set(statement, PFS_COUNTER_TMP_BYTES, blocks * BLCKSZ);
	if (blocks > 0 && pfs_statement_counter(statement->event, PFS_COUNTER_CREATED_TMP_DISK_TABLES) == 0)
		pfs_statement_set(statement, PFS_COUNTER_CREATED_TMP_DISK_TABLES, 1);
}

/* --- start and end of a query --- */

/* The counters that a shape sets, as pairs: most plans set one or two. */
static void
list_counters(Shape *shape)
{
	const struct
	{
		PfsCounter	counter;
		uint32		value;
	}			all[] = {
		{PFS_COUNTER_CREATED_TMP_TABLES, shape->temporary},
		{PFS_COUNTER_SELECT_FULL_JOIN, shape->full_join},
		{PFS_COUNTER_SELECT_SCAN, shape->first_is_sequential},
		{PFS_COUNTER_SELECT_RANGE, shape->first_is_range},
		{PFS_COUNTER_NO_INDEX_USED, shape->sequential > 0},
		{shape->first_is_sequential ? PFS_COUNTER_SORT_SCAN : PFS_COUNTER_SORT_RANGE,
		shape->has_scan ? shape->sorts : 0},
	};

	StaticAssertStmt(lengthof(all) <= SHAPE_COUNTERS, "room for all");
	for (size_t i = 0; i < lengthof(all); i++)
		if (all[i].value != 0)
		{
			shape->counter[shape->counters] = all[i].counter;
			shape->value[shape->counters++] = all[i].value;
		}
}

/*
 * Shapes of the plans seen last.  Cached plans come again at the same address; the costs guard
 * against another plan that has taken it.
 */
typedef struct CachedShape
{
	const Plan *tree;
	uint64		query_id;
	Cost		cost;
	double		rows;
	Shape		shape;
} CachedShape;

#define SHAPES 64				/* power of two */

/* Owner: this process. */
static CachedShape shape_cache[SHAPES];

static const Shape *
shape_of(const PlannedStmt *plan)
{
	const Plan *tree = plan->planTree;
	CachedShape *cached = &shape_cache[pfs_hash64((uint64) (uintptr_t) tree) & (SHAPES - 1)];
	ListCell   *cell;

	if (cached->tree == tree && cached->query_id == (uint64) plan->queryId &&
		cached->cost == tree->total_cost && cached->rows == tree->plan_rows)
		return &cached->shape;
	memset(&cached->shape, 0, sizeof(cached->shape));
	look_at(plan->planTree, &cached->shape, false, 0);
	foreach(cell, plan->subplans)
		look_at((Plan *) lfirst(cell), &cached->shape, false, 0);
	list_counters(&cached->shape);
	cached->tree = tree;
	cached->query_id = (uint64) plan->queryId;
	cached->cost = tree->total_cost;
	cached->rows = tree->plan_rows;
	return &cached->shape;
}

/* After ExecutorStart: the plan is initialised, its tables are open. */
PFS_HOT void
pfs_pg_plan_start(PfsStatement *statement, QueryDesc *query)
{
	const Shape *shape = shape_of(query->plannedstmt);

	for (uint32 i = 0; i < shape->counters; i++)
		pfs_statement_set(statement, shape->counter[i], shape->value[i]);
	if (shape->sorts > 0 && query->planstate != NULL)
		watch_sorts(query->planstate, statement);
	pfs_pg_usage_start(statement);
}

/* Before ExecutorEnd. */
PFS_HOT void
pfs_pg_plan_end(PfsStatement *statement, QueryDesc *query)
{
	Spills		spills = {0};

	pfs_statement_set(statement, PFS_COUNTER_ROWS_EXAMINED, pfs_pg_table_collect(query, statement));
	if (pfs_unlikely(sort_inputs_used != 0))
		pfs_statement_set(statement, PFS_COUNTER_SORT_ROWS, take_sorted_rows(statement));
	if ((uint64) pgBufferUsage.temp_blks_written == statement->host_base[BASE_TEMP_BLOCKS])
		return;
	if (query->planstate != NULL)
		count_spills(query->planstate, &spills);
	pfs_statement_set(statement, PFS_COUNTER_CREATED_TMP_DISK_TABLES, spills.nodes);
	pfs_statement_set(statement, PFS_COUNTER_SORT_MERGE_PASSES, spills.merges);
	pfs_pg_usage_end(statement);
}
