/*
 * fdw_edit.c
 *		Changes of setup tables and resets: calls the descriptor, and says what went wrong.
 *
 * The setup lock is held around the descriptor's call only; errors are raised after it.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/nodes.h"
#include "utils/builtins.h"

#include "core/metric.h"
#include "fdw/fdw.h"
#include "pg/pg_arena.h"

int
pfs_fdw_updatable(const PfsTable *table)
{
	return (table->update != NULL ? 1 << CMD_UPDATE : 0) |
		(table->insert != NULL ? 1 << CMD_INSERT : 0) |
		(table->remove != NULL ? 1 << CMD_DELETE : 0);
}

/* MySQL's enumerations do not mind the case. */
static void
upper_yes_no(const PfsTable *table, char **fields)
{
	const PfsColumn *column;

	for (int i = 0; (column = pfs_table_column(table, i, NULL)) != NULL; i++)
	{
		if (column->type != PFS_COLUMN_YES_NO || fields[i] == NULL)
			continue;
		if (pg_strcasecmp(fields[i], "YES") == 0)
			fields[i] = "YES";
		else if (pg_strcasecmp(fields[i], "NO") == 0)
			fields[i] = "NO";
	}
}

static void
report_bad_value(const PfsTable *table, const PfsColumn *column, const char *value)
{
	bool		yes_no = column->type == PFS_COLUMN_YES_NO;

	if (value == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("column \"%s\" of table \"%s\" cannot be set to null", column->name,
						table->name),
				 yes_no ? errhint("Use YES or NO.") : 0));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for column \"%s\" of table \"%s\": \"%s\"", column->name,
					table->name, value),
			 yes_no ? 0 : errdetail("The value is empty, unknown or too long."),
			 yes_no ? errhint("Use YES or NO.")
			 : errhint("Meaning of the column: %s.", column->doc)));
}

/* "(host, user_name)=(here, me)" of a new row, for a message. */
static char *
describe_key(const PfsTable *table, char **fields)
{
	StringInfoData names;
	StringInfoData values;
	const PfsColumn *column;

	initStringInfo(&names);
	initStringInfo(&values);
	for (int i = 0; (column = pfs_table_column(table, i, NULL)) != NULL; i++)
		if ((column->flags & PFS_COLUMN_KEY) != 0)
		{
			const char *comma = names.len > 0 ? ", " : "";

			appendStringInfo(&names, "%s%s", comma, column->name);
			appendStringInfo(&values, "%s%s", comma, fields[i] != NULL ? fields[i] : "%");
		}
	return psprintf("(%s)=(%s)", names.data, values.data);
}

static void
report_failure(const PfsTable *table, PfsEditResult result, int number, char **fields)
{
	const PfsColumn *column = pfs_table_column(table, number, NULL);

	if (result == PFS_EDIT_BAD_VALUE && column != NULL)
		report_bad_value(table, column, fields[number]);
	if (result == PFS_EDIT_READ_ONLY && column != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be updated", column->name,
						table->name)));
	if (result == PFS_EDIT_DUPLICATE)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("table \"%s\" already has such a row", table->name),
				 errdetail("Key %s already exists.", describe_key(table, fields))));
	if (result == PFS_EDIT_FULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("table \"%s\" is full", table->name),
				 errhint("Delete rows, or set performance_schema.%s_size higher and restart the "
						 "server.", table->name)));
	if (result == PFS_EDIT_BUSY)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("table \"%s\" is busy", table->name),
				 errdetail("Statistics of an ended session are being added up."),
				 errhint("Try again.")));
	elog(ERROR, "unexpected result %d for table \"%s\"", (int) result, table->name);
}

bool
pfs_fdw_edit(const PfsTable *table, PfsFdwEdit edit, PfsFields old, char **new, bool *duplicate)
{
	PfsFields	fields = (PfsFields) new;
	PfsEditResult result;
	int			column = -1;

	pfs_fdw_require_preload();
	if (pfs_arena == NULL && edit != PFS_FDW_INSERT)
		return false;
	if (pfs_arena == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot insert into table \"%s\": performance_schema is disabled",
						table->name),
				 errhint("Set performance_schema.enabled to on and restart the server.")));
	if (new != NULL)
		upper_yes_no(table, new);
	pfs_pg_setup_lock();
	if (edit == PFS_FDW_UPDATE)
		result = table->update(pfs_arena, old, fields, &column);
	else if (edit == PFS_FDW_INSERT)
		result = table->insert(pfs_arena, fields, &column);
	else
		result = table->remove(pfs_arena, old);
	pfs_pg_setup_unlock();
	if (duplicate != NULL)
		*duplicate = result == PFS_EDIT_DUPLICATE;
	if (result == PFS_EDIT_NO_ROW || (result == PFS_EDIT_DUPLICATE && duplicate != NULL))
		return false;
	if (result != PFS_EDIT_OK)
		report_failure(table, result, column, new);
	return true;
}

void
pfs_fdw_require_reset(const PfsTable *table)
{
	pfs_fdw_require_preload();
	if (table->reset == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be truncated", table->name),
				 errdetail("It holds no statistics, events or rules.")));
}

void
pfs_fdw_reset(const PfsTable *table)
{
	bool		done;

	pfs_fdw_require_reset(table);
	if (pfs_arena == NULL)
		return;
	pfs_metrics_look_at(pfs_arena, table);
	pfs_pg_setup_lock();
	done = table->reset(pfs_arena, table);
	pfs_pg_setup_unlock();
	pfs_metrics_look_at(pfs_arena, table);
	if (!done)
		report_failure(table, PFS_EDIT_BUSY, -1, NULL);
}
