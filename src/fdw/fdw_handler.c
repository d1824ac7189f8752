/*
 * fdw_handler.c
 *		The foreign-data wrapper: entry points, and which descriptor a foreign table stands for.
 *
 * Life of a SELECT: the planner asks fdw_plan.c for an estimate and for the conditions on key
 * columns that can be handed down; fdw_scan.c runs the descriptor's scan once into a tuplestore and
 * returns the rows from there; fdw_datum.c and fdw_text.c make SQL values of what stands in shared
 * memory.  UPDATE, INSERT, DELETE and TRUNCATE: fdw_modify.c is the executor's side, fdw_edit.c
 * calls the descriptor under the setup lock and reports what it says.  fdw_functions.c has the
 * functions that do the same where DML is refused.  fdw_read.c runs scans for both.  fdw_format.c
 * has the functions of the schema sys, fdw_object.c the names of objects for views of locks, fdw_settings.c
 * and fdw_conninfo.c what views of settings and replication ask.  fdw_absent.c tells of what only MySQL has.
 *
 * The wrapper only reads the arena and calls descriptors; it holds nothing of the arena while it
 * raises an error, and records nothing.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"

#include "fdw/fdw.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"

PFS_SQL_FUNCTION(performance_schema_fdw_handler);
PFS_SQL_FUNCTION(performance_schema_fdw_validator);

Datum
performance_schema_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	pfs_fdw_plan_callbacks(routine);
	pfs_fdw_scan_callbacks(routine);
	pfs_fdw_modify_callbacks(routine);
	PG_RETURN_POINTER(routine);
}

/* The only option is table_name, of foreign tables: the name of a descriptor. */
Datum
performance_schema_fdw_validator(PG_FUNCTION_ARGS)
{
	ListCell   *cell;

	foreach(cell, untransformRelOptions(PG_GETARG_DATUM(0)))
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (PG_GETARG_OID(1) != ForeignTableRelationId ||
			strcmp(option->defname, "table_name") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errhint("The only option is \"table_name\", of a foreign table.")));
		if (pfs_table_by_name(defGetString(option)) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_TABLE_NOT_FOUND),
					 errmsg("performance_schema has no table \"%s\"", defGetString(option))));
	}
	PG_RETURN_VOID();
}

void
pfs_fdw_require_preload(void)
{
	if (!pfs_pg_preloaded)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("performance_schema must be loaded via shared_preload_libraries"),
				 errhint("Add performance_schema to shared_preload_libraries in postgresql.conf "
						 "and restart the server.")));
}

const PfsTable *
pfs_fdw_descriptor(Relation relation)
{
	ForeignTable *foreign = GetForeignTable(RelationGetRelid(relation));
	const char *name = RelationGetRelationName(relation);
	ListCell   *cell;

	foreach(cell, foreign->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "table_name") == 0)
			name = defGetString(option);
	}
	return pfs_table_by_name(name);
}

int
pfs_fdw_column_count(const PfsTable *table)
{
	int			count = 0;

	while (pfs_table_column(table, count, NULL) != NULL)
		count++;
	return count;
}

Oid
pfs_fdw_column_type(const PfsColumn *column)
{
	switch (column->type)
	{
#define PFS_COLUMN_SQL(type, ddl, oid) \
		case PFS_COLUMN_##type: \
			return oid;
#include "fdw/column_types.def"
#undef PFS_COLUMN_SQL
	}
	return InvalidOid;
}

static void
match_attribute(PfsFdwTable *table, Relation relation, Form_pg_attribute attribute,
				PfsFdwAttribute *match)
{
	const char *name = NameStr(attribute->attname);

	for (int i = 0; i < table->column_count; i++)
	{
		const PfsColumn *column = pfs_table_column(table->table, i, &match->group);

		if (strcmp(column->name, name) != 0)
			continue;
		if (attribute->atttypid != pfs_fdw_column_type(column))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
					 errmsg("column \"%s\" of foreign table \"%s\" must be of type %s", name,
							RelationGetRelationName(relation),
							format_type_be(pfs_fdw_column_type(column)))));
		match->column = column;
		match->number = i;
		return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FDW_COLUMN_NAME_NOT_FOUND),
			 errmsg("column \"%s\" of foreign table \"%s\" does not exist in performance_schema "
					"table \"%s\"", name, RelationGetRelationName(relation), table->table->name)));
}

PfsFdwTable *
pfs_fdw_table(Relation relation)
{
	TupleDesc	tuple = RelationGetDescr(relation);
	PfsFdwTable *table = palloc0(offsetof(PfsFdwTable, attribute) +
								 tuple->natts * sizeof(PfsFdwAttribute));

	table->table = pfs_fdw_descriptor(relation);
	if (table->table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_TABLE_NOT_FOUND),
				 errmsg("foreign table \"%s\" stands for no table of performance_schema",
						RelationGetRelationName(relation)),
				 errhint("Its option \"table_name\" must name one.")));
	table->column_count = pfs_fdw_column_count(table->table);
	table->attribute_count = tuple->natts;
	for (int i = 0; i < tuple->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tuple, i);

		if (!attribute->attisdropped)
			match_attribute(table, relation, attribute, &table->attribute[i]);
	}
	return table;
}
