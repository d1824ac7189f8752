/*
 * fdw_scan.c
 *		SELECT: one run of the descriptor's scan into a tuplestore, rows from there.
 *
 * The whole table is read at the first row asked for, so a statement that changes what it reads
 * sees each row once.  Only columns that the query uses are converted.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "fdw/fdw.h"
#include "pg/pg_compat.h"

/* One foreign scan; lives as long as the query. */
typedef struct FdwScan
{
	PfsFdwTable *table;
	bool	   *needed;			/* by attribute number - 1 */
	List	   *conditions;		/* ExprState of each value; names are in the plan */
	PfsFdwReader reader;
	TupleDesc	tuple;
	Datum	   *values;
	bool	   *nulls;
	Tuplestorestate *rows;		/* NULL until the first row is asked for */
	TupleTableSlot *stored;		/* a row of it */
	MemoryContext fill_context; /* everything that lives as long as the tuplestore */
} FdwScan;

/* Which attributes the plan looks at. */
static bool *
needed_attributes(const ForeignScan *plan, int count)
{
	bool	   *needed = palloc0(sizeof(bool) * count);
	Bitmapset  *used = NULL;
	bool		whole_row;

	pull_varattnos((Node *) plan->scan.plan.targetlist, plan->scan.scanrelid, &used);
	pull_varattnos((Node *) plan->scan.plan.qual, plan->scan.scanrelid, &used);
	whole_row = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, used);
	for (int i = 0; i < count; i++)
		needed[i] = whole_row || bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, used);
	return needed;
}

static void
begin_scan(ForeignScanState *node, int eflags)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	FdwScan    *scan = palloc0(sizeof(FdwScan));

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	pfs_fdw_require_preload();
	scan->tuple = RelationGetDescr(node->ss.ss_currentRelation);
	scan->table = pfs_fdw_table(node->ss.ss_currentRelation);
	scan->needed = needed_attributes(plan, scan->tuple->natts);
	scan->conditions = ExecInitExprList(plan->fdw_exprs, (PlanState *) node);
	scan->values = palloc0(sizeof(Datum) * scan->tuple->natts);
	scan->nulls = palloc(sizeof(bool) * scan->tuple->natts);
	memset(scan->nulls, true, sizeof(bool) * scan->tuple->natts);
	scan->stored = ExecInitExtraTupleSlot(node->ss.ps.state, scan->tuple, &TTSOpsMinimalTuple);
	scan->fill_context = AllocSetContextCreate(node->ss.ps.state->es_query_cxt,
											   "performance_schema rows", ALLOCSET_SMALL_SIZES);
	node->fdw_state = scan;
}

static void
store_row(void *arg, const void *const *parts)
{
	FdwScan    *scan = arg;

	for (int i = 0; i < scan->table->attribute_count; i++)
	{
		const PfsFdwAttribute *attribute = &scan->table->attribute[i];

		if (attribute->column != NULL && scan->needed[i])
			scan->values[i] = pfs_fdw_datum(&scan->reader, attribute->column,
											parts[attribute->group], &scan->nulls[i]);
	}
	tuplestore_putvalues(scan->rows, scan->tuple, scan->values, scan->nulls);
}

/*
 * Only plain text is compared in shared memory: other bytes may be stored in another encoding, and
 * '?' may stand for bytes that cannot be shown.
 */
static bool
is_comparable(const char *value)
{
	for (; *value != '\0'; value++)
		if (IS_HIGHBIT_SET(*value) || *value == '?')
			return false;
	return true;
}

typedef enum ConditionKind
{
	CONDITION_USABLE,
	CONDITION_USELESS,
	CONDITION_NEVER				/* no row can satisfy it */
} ConditionKind;

static ConditionKind
set_condition(PfsCondition *condition, Oid type, Datum value, bool is_null)
{
	int64		number;

	if (is_null)
		return CONDITION_NEVER;
	if (type == TEXTOID || type == NAMEOID)
	{
		condition->text = type == TEXTOID ? TextDatumGetCString(value)
			: pstrdup(NameStr(*DatumGetName(value)));
		return is_comparable(condition->text) ? CONDITION_USABLE : CONDITION_USELESS;
	}
	if (type == INT8OID)
		number = DatumGetInt64(value);
	else if (type == INT4OID)
		number = DatumGetInt32(value);
	else if (type == INT2OID)
		number = DatumGetInt16(value);
	else
		return CONDITION_USELESS;
	condition->number = (uint64_t) number;
	condition->text = psprintf(INT64_FORMAT, number);
	return CONDITION_USABLE;
}

/* Private columns are not compared for those who may not see them. */
static bool
is_hidden(const FdwScan *scan, const char *column)
{
	for (int i = 0; i < scan->table->attribute_count; i++)
	{
		const PfsColumn *candidate = scan->table->attribute[i].column;

		if (candidate != NULL && strcmp(candidate->name, column) == 0)
			return (candidate->flags & PFS_COLUMN_PRIVATE) != 0 && !scan->reader.sees_all;
	}
	return false;
}

/* Evaluates the values of the conditions; false when no row can satisfy them. */
static bool
evaluate_conditions(ForeignScanState *node, PfsCondition *conditions, int *count)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	FdwScan    *scan = node->fdw_state;
	ExprContext *context = node->ss.ps.ps_ExprContext;

	*count = 0;
	for (int i = 0; i < list_length(scan->conditions); i++)
	{
		PfsCondition *condition = &conditions[*count];
		const char *column = strVal(list_nth(plan->fdw_private, i));
		bool		is_null;
		Datum		value = ExecEvalExprSwitchContext(list_nth(scan->conditions, i), context,
													  &is_null);
		Oid			type = exprType(list_nth(plan->fdw_exprs, i));
		ConditionKind kind;

		memset(condition, 0, sizeof(*condition));
		condition->column = column;
		kind = set_condition(condition, type, value, is_null);
		if (kind == CONDITION_NEVER)
			return false;
		if (kind == CONDITION_USABLE && !is_hidden(scan, column))
			(*count)++;
	}
	return true;
}

static void
fill_store(ForeignScanState *node)
{
	FdwScan    *scan = node->fdw_state;
	MemoryContext caller = MemoryContextSwitchTo(scan->fill_context);
	PfsCondition *conditions = palloc(sizeof(PfsCondition) * (list_length(scan->conditions) + 1));
	int			count;

	pfs_fdw_reader_init(&scan->reader);
	scan->rows = tuplestore_begin_heap(false, false, work_mem);
	if (evaluate_conditions(node, conditions, &count))
		pfs_fdw_read(scan->table->table, &scan->reader, conditions, count, store_row, scan);
	MemoryContextSwitchTo(caller);
}

static TupleTableSlot *
iterate_scan(ForeignScanState *node)
{
	FdwScan    *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	MemoryContext caller;
	bool		found;

	if (scan->rows == NULL)
		fill_store(node);
	ExecClearTuple(slot);
	/* A tuple read back from disk belongs to scan->stored until the next one: not to one row. */
	caller = MemoryContextSwitchTo(scan->fill_context);
	found = tuplestore_gettupleslot(scan->rows, true, false, scan->stored);
	MemoryContextSwitchTo(caller);
	if (!found)
		return slot;
	slot_getallattrs(scan->stored);
	memcpy(slot->tts_values, scan->stored->tts_values, sizeof(Datum) * scan->tuple->natts);
	memcpy(slot->tts_isnull, scan->stored->tts_isnull, sizeof(bool) * scan->tuple->natts);
	return ExecStoreVirtualTuple(slot);
}

static void
forget_rows(FdwScan *scan)
{
	ExecClearTuple(scan->stored);
	if (scan->rows != NULL)
		tuplestore_end(scan->rows);
	scan->rows = NULL;
	MemoryContextReset(scan->fill_context);
}

/* The same rows again, unless a value in a condition may have changed. */
static void
rescan(ForeignScanState *node)
{
	FdwScan    *scan = node->fdw_state;

	if (scan == NULL || scan->rows == NULL)
		return;
	if (node->ss.ps.chgParam != NULL && scan->conditions != NIL)
		forget_rows(scan);
	else
		tuplestore_rescan(scan->rows);
}

static void
end_scan(ForeignScanState *node)
{
	if (node->fdw_state != NULL)
		forget_rows(node->fdw_state);
}

void
pfs_fdw_scan_callbacks(FdwRoutine *routine)
{
	routine->BeginForeignScan = begin_scan;
	routine->IterateForeignScan = iterate_scan;
	routine->ReScanForeignScan = rescan;
	routine->EndForeignScan = end_scan;
}
