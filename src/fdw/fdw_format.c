/*
 * fdw_format.c
 *		SQL functions of the schema sys that make numbers and texts readable.
 *
 * In C, because a function in SQL that the planner does not inline is a statement at each call: it
 * would push out of the history what a query on that history wants to show.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/pg_compat.h"

#define STATEMENT_LENGTH_SETTING "sys.statement_truncate_len"
#define STATEMENT_LENGTH 64		/* characters, where that is not set */
#define STATEMENT_LENGTH_MIN 6
#define CONFIG_VARIABLE 1		/* columns of sys_config */
#define CONFIG_VALUE 2

PFS_SQL_FUNCTION(performance_schema_format_bytes);
PFS_SQL_FUNCTION(performance_schema_format_time);
PFS_SQL_FUNCTION(performance_schema_format_pico_time);
PFS_SQL_FUNCTION(performance_schema_format_statement);

typedef struct Unit
{
	int64		size;
	const char *name;
} Unit;

/* Largest first. */
static const Unit byte_units[] = {
	{INT64CONST(1) << 50, "PiB"},
	{INT64CONST(1) << 40, "TiB"},
	{INT64CONST(1) << 30, "GiB"},
	{INT64CONST(1) << 20, "MiB"},
	{INT64CONST(1) << 10, "KiB"},
};
/* Of MySQL's FORMAT_PICO_TIME, which knows no weeks. */
static const Unit pico_time_units[] = {
	{INT64CONST(86400000000000000), "d"},
	{INT64CONST(3600000000000000), "h"},
	{INT64CONST(60000000000000), "min"},
	{INT64CONST(1000000000000), "s"},
	{INT64CONST(1000000000), "ms"},
	{INT64CONST(1000000), "us"},
	{INT64CONST(1000), "ns"},
};
static const Unit time_units[] = {
	{INT64CONST(604800000000000000), "w"},
	{INT64CONST(86400000000000000), "d"},
	{INT64CONST(3600000000000000), "h"},
	{INT64CONST(60000000000000), "m"},
	{INT64CONST(1000000000000), "s"},
	{INT64CONST(1000000000), "ms"},
	{INT64CONST(1000000), "us"},
	{INT64CONST(1000), "ns"},
};

static Datum
rounded(Datum number, int digits)
{
	return DirectFunctionCall2(numeric_round, number, Int32GetDatum(digits));
}

static text *
with_unit(Datum number, const char *unit)
{
	char	   *digits = DatumGetCString(DirectFunctionCall1(numeric_out, number));

	return cstring_to_text(psprintf("%s %s", digits, unit));
}

/* Two digits after the point, in the largest unit that gives at least 1; NULL: there is none. */
static text *
in_units(Datum number, const Unit *units, int count)
{
	for (int i = 0; i < count; i++)
	{
		Datum		size = NumericGetDatum(int64_to_numeric(units[i].size));

		if (DatumGetBool(DirectFunctionCall2(numeric_ge, number, size)))
			return with_unit(rounded(DirectFunctionCall2(numeric_div, number, size), 2),
							 units[i].name);
	}
	return NULL;
}

Datum
performance_schema_format_bytes(PG_FUNCTION_ARGS)
{
	Datum		bytes = PG_GETARG_DATUM(0);
	text	   *result = in_units(bytes, byte_units, lengthof(byte_units));

	PG_RETURN_TEXT_P(result != NULL ? result : with_unit(rounded(bytes, 0), "bytes"));
}

static Datum
time_in_units(Datum picoseconds, const Unit *units, int count)
{
	text	   *result = in_units(picoseconds, units, count);

	PG_RETURN_TEXT_P(result != NULL ? result : with_unit(picoseconds, "ps"));
}

Datum
performance_schema_format_time(PG_FUNCTION_ARGS)
{
	return time_in_units(PG_GETARG_DATUM(0), time_units, lengthof(time_units));
}

Datum
performance_schema_format_pico_time(PG_FUNCTION_ARGS)
{
	return time_in_units(PG_GETARG_DATUM(0), pico_time_units, lengthof(pico_time_units));
}

/* The option as sys_config has it; the default where that is locked by whoever changes the table. */
static int
configured_length(void)
{
	Oid			schema = get_namespace_oid("sys", true);
	Oid			table = OidIsValid(schema) ? get_relname_relid("sys_config", schema) : InvalidOid;
	int			length = STATEMENT_LENGTH;
	Relation	relation;
	TableScanDesc scan;
	TupleTableSlot *slot;

	if (!OidIsValid(table) || !ActiveSnapshotSet() || !ConditionalLockRelationOid(table, AccessShareLock))
		return length;
	relation = try_relation_open(table, NoLock);
	if (relation == NULL)		/* dropped just now */
	{
		UnlockRelationOid(table, AccessShareLock);
		return length;
	}
	scan = table_beginscan(relation, GetActiveSnapshot(), 0, NULL);
	slot = table_slot_create(relation, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		is_null;
		Datum		variable = slot_getattr(slot, CONFIG_VARIABLE, &is_null);

		if (is_null || strcmp(TextDatumGetCString(variable), "statement_truncate_len") != 0)
			continue;
		variable = slot_getattr(slot, CONFIG_VALUE, &is_null);
		if (!is_null)
			length = pg_strtoint32(TextDatumGetCString(variable));
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	relation_close(relation, AccessShareLock);
	return length;
}

/* How many characters of a statement are shown; sys_config is asked once in a query. */
static int
statement_length(FmgrInfo *function)
{
	const char *setting = GetConfigOption(STATEMENT_LENGTH_SETTING, true, false);

	if (setting != NULL && setting[0] != '\0')
		return Max(pg_strtoint32(setting), STATEMENT_LENGTH_MIN);
	if (function->fn_extra == NULL)
	{
		int		   *known = MemoryContextAlloc(function->fn_mcxt, sizeof(int));

		*known = configured_length();
		function->fn_extra = known;
	}
	return Max(*(int *) function->fn_extra, STATEMENT_LENGTH_MIN);
}

/* On one line; of a long one the beginning and the end. */
Datum
performance_schema_format_statement(PG_FUNCTION_ARGS)
{
	text	   *statement = PG_GETARG_TEXT_PP(0);
	const char *data = VARDATA_ANY(statement);
	int			bytes = (int) VARSIZE_ANY_EXHDR(statement);
	int			characters = pg_mbstrlen_with_len(data, bytes);
	int			length = statement_length(fcinfo->flinfo);
	StringInfoData line;

	initStringInfo(&line);
	if (characters > length)
	{
		int			kept = length / 2 - 2;
		int			end = pg_mbcharcliplen(data, bytes, characters - kept);

		appendBinaryStringInfo(&line, data, pg_mbcharcliplen(data, bytes, kept));
		appendStringInfoString(&line, " ... ");
		appendBinaryStringInfo(&line, data + end, bytes - end);
	}
	else
		appendBinaryStringInfo(&line, data, bytes);
	for (int i = 0; i < line.len; i++)	/* no byte of a longer character looks like these */
		if (line.data[i] == '\n' || line.data[i] == '\r')
			line.data[i] = ' ';
	PG_RETURN_TEXT_P(cstring_to_text_with_len(line.data, line.len));
}
