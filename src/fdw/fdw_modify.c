/*
 * fdw_modify.c
 *		UPDATE, INSERT, DELETE, COPY and TRUNCATE: the executor's side.
 *
 * A row is found again by its key columns, which travel with it as junk columns; those that may be
 * updated travel too, so that an update can tell what it changes.  Values reach the descriptor as
 * texts, one per column of the descriptor.  Nothing here is transactional.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "fdw/fdw.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"

#define JUNK_NAME "performance_schema_old_%d"
#define OLD_COLUMN (PFS_COLUMN_KEY | PFS_COLUMN_UPDATABLE)

/* One modified foreign table; lives as long as the query. */
typedef struct FdwModify
{
	PfsFdwTable *table;
	FmgrInfo   *output;			/* by attribute number - 1 */
	AttrNumber *old;			/* the same: junk column that holds the old value, or 0 */
	Bitmapset  *updated;		/* attributes that UPDATE sets */
	MemoryContext row_context;	/* texts of one row */
} FdwModify;

static void
add_update_targets(PlannerInfo *root, Index rtindex, RangeTblEntry *entry, Relation relation)
{
	PfsFdwTable *table = pfs_fdw_table(relation);

	for (int i = 0; i < table->attribute_count; i++)
	{
		const PfsColumn *column = table->attribute[i].column;
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), i);
		Var		   *var;

		if (column == NULL || (column->flags & OLD_COLUMN) == 0)
			continue;
		var = makeVar(rtindex, i + 1, attribute->atttypid, attribute->atttypmod,
					  attribute->attcollation, 0);
		add_row_identity_var(root, var, rtindex, psprintf(JUNK_NAME, i + 1));
	}
}

static int
is_updatable(Relation relation)
{
	const PfsTable *table = pfs_fdw_descriptor(relation);

	return table == NULL ? 0 : pfs_fdw_updatable(table);
}

/* MySQL ignores such updates silently. */
static void
check_updated_columns(const FdwModify *modify)
{
	for (int i = 0; i < modify->table->attribute_count; i++)
	{
		const PfsColumn *column = modify->table->attribute[i].column;

		if (column == NULL || (column->flags & PFS_COLUMN_UPDATABLE) != 0 ||
			!bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, modify->updated))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be updated", column->name,
						modify->table->table->name)));
	}
}

static FdwModify *
create_modify(ResultRelInfo *result)
{
	Relation	relation = result->ri_RelationDesc;
	FdwModify  *modify = palloc0(sizeof(FdwModify));
	TupleDesc	tuple = RelationGetDescr(relation);

	pfs_fdw_require_preload();
	modify->table = pfs_fdw_table(relation);
	modify->output = palloc0(sizeof(FmgrInfo) * tuple->natts);
	modify->old = palloc0(sizeof(AttrNumber) * tuple->natts);
	modify->row_context = AllocSetContextCreate(CurrentMemoryContext, "performance_schema edit",
												ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < tuple->natts; i++)
	{
		Oid			function;
		bool		is_varlena;

		if (modify->table->attribute[i].column == NULL)
			continue;
		getTypeOutputInfo(TupleDescAttr(tuple, i)->atttypid, &function, &is_varlena);
		fmgr_info(function, &modify->output[i]);
	}
	result->ri_FdwState = modify;
	return modify;
}

static void
begin_modify(ModifyTableState *state, ResultRelInfo *result, List *fdw_private, int subplan,
			 int eflags)
{
	FdwModify  *modify;
	List	   *targets = outerPlanState(state)->plan->targetlist;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	modify = create_modify(result);
	if (state->operation == CMD_UPDATE)
	{
		modify->updated = ExecGetUpdatedCols(result, state->ps.state);
		check_updated_columns(modify);
		if (modify->table->table == pfs_table_by_name("setup_instruments"))
			pfs_fdw_tell_absent(outerPlanState(state)->plan->qual);
	}
	for (int i = 0; i < modify->table->attribute_count; i++)
	{
		char		name[NAMEDATALEN];

		snprintf(name, sizeof(name), JUNK_NAME, i + 1);
		modify->old[i] = ExecFindJunkAttributeInTlist(targets, name);
	}
}

/* COPY and rows routed to a partition come without a plan. */
static void
begin_insert(ModifyTableState *state, ResultRelInfo *result)
{
	if ((pfs_fdw_updatable(pfs_fdw_table(result->ri_RelationDesc)->table) & 1 << CMD_INSERT) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("foreign table \"%s\" does not allow inserts",
						RelationGetRelationName(result->ri_RelationDesc))));
	create_modify(result);
}

/* Texts of a row, by column of the descriptor; old: those from the junk columns. */
static char **
row_fields(const FdwModify *modify, TupleTableSlot *slot, bool old)
{
	char	  **fields = palloc0(sizeof(char *) * modify->table->column_count);

	for (int i = 0; i < modify->table->attribute_count; i++)
	{
		const PfsFdwAttribute *attribute = &modify->table->attribute[i];
		bool		is_null;
		Datum		value;

		if (attribute->column == NULL || (old && modify->old[i] == 0))
			continue;
		value = old ? ExecGetJunkAttribute(slot, modify->old[i], &is_null)
			: slot_getattr(slot, i + 1, &is_null);
		if (!is_null)
			fields[attribute->number] = OutputFunctionCall(&modify->output[i], value);
	}
	return fields;
}

/* NULL would leave a flag as it is: say so, unless it is NULL already. */
static void
check_no_null(const FdwModify *modify, char **old, char **new)
{
	for (int i = 0; i < modify->table->attribute_count; i++)
	{
		const PfsFdwAttribute *attribute = &modify->table->attribute[i];

		if (bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, modify->updated) &&
			old[attribute->number] != NULL && new[attribute->number] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("column \"%s\" of table \"%s\" cannot be set to null",
							attribute->column->name, modify->table->table->name)));
	}
}

static bool
edit_row(ResultRelInfo *result, PfsFdwEdit edit, TupleTableSlot *new_slot,
		 TupleTableSlot *plan_slot)
{
	FdwModify  *modify = result->ri_FdwState;
	MemoryContext caller = MemoryContextSwitchTo(modify->row_context);
	char	  **old = edit == PFS_FDW_INSERT ? NULL : row_fields(modify, plan_slot, true);
	char	  **new = edit == PFS_FDW_REMOVE ? NULL : row_fields(modify, new_slot, false);
	bool		done;

	if (edit == PFS_FDW_UPDATE)
		check_no_null(modify, old, new);
	done = pfs_fdw_edit(modify->table->table, edit, (PfsFields) old, new, NULL);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(modify->row_context);
	return done;
}

static TupleTableSlot *
update_row(EState *estate, ResultRelInfo *result, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	return edit_row(result, PFS_FDW_UPDATE, slot, plan_slot) ? slot : NULL;
}

static TupleTableSlot *
insert_row(EState *estate, ResultRelInfo *result, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	return edit_row(result, PFS_FDW_INSERT, slot, plan_slot) ? slot : NULL;
}

/* For RETURNING, the slot gets what the junk columns hold: the key and the switches. */
static void
fill_deleted(const FdwModify *modify, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	ExecClearTuple(slot);
	for (int i = 0; i < modify->table->attribute_count; i++)
	{
		slot->tts_isnull[i] = true;
		if (modify->old[i] != 0)
			slot->tts_values[i] = ExecGetJunkAttribute(plan_slot, modify->old[i],
													   &slot->tts_isnull[i]);
	}
	ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
delete_row(EState *estate, ResultRelInfo *result, TupleTableSlot *slot, TupleTableSlot *plan_slot)
{
	if (!edit_row(result, PFS_FDW_REMOVE, NULL, plan_slot))
		return NULL;
	fill_deleted(result->ri_FdwState, slot, plan_slot);
	return slot;
}

/* All tables are looked at before the first one is emptied. */
static void
truncate_tables(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell   *cell;

	foreach(cell, relations)
		pfs_fdw_require_reset(pfs_fdw_table(lfirst(cell))->table);
	foreach(cell, relations)
		pfs_fdw_reset(pfs_fdw_table(lfirst(cell))->table);
}

void
pfs_fdw_modify_callbacks(FdwRoutine *routine)
{
	routine->AddForeignUpdateTargets = add_update_targets;
	routine->IsForeignRelUpdatable = is_updatable;
	routine->BeginForeignModify = begin_modify;
	routine->BeginForeignInsert = begin_insert;
	routine->ExecForeignUpdate = update_row;
	routine->ExecForeignInsert = insert_row;
	routine->ExecForeignDelete = delete_row;
	routine->ExecForeignTruncate = truncate_tables;
}
