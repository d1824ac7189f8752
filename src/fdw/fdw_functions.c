/*
 * fdw_functions.c
 *		SQL functions: the twins of UPDATE, INSERT, DELETE and TRUNCATE, and the thread's number.
 *
 * DML is refused on a hot standby and in read-only transactions, and TRUNCATE holds a lock: these
 * work there.  They go through the same descriptors.  A switch is given as text or as boolean;
 * NULL leaves it as it is.
 *
 * Each signature has an entry point of its own: a fast-path call has no expression that could be
 * asked for the types of its arguments.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"

#include "core/metric.h"
#include "core/setup.h"
#include "core/thread.h"
#include "fdw/fdw.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"

PFS_SQL_FUNCTION(performance_schema_drop_actor);
PFS_SQL_FUNCTION(performance_schema_drop_object);
PFS_SQL_FUNCTION(performance_schema_reset);
PFS_SQL_FUNCTION(performance_schema_reset_all);
PFS_SQL_FUNCTION(performance_schema_current_thread_id);
PFS_SQL_FUNCTION(performance_schema_thread_id);

/* Reads a switch from an argument: 'YES', 'NO', or NULL = as it is. */
typedef char *(*ReadSwitch) (FunctionCallInfo fcinfo, int number, const char *name);

/* The two entry points of a function whose switches are given as text or as boolean. */
#define SWITCHING_FUNCTION(function) \
	PFS_SQL_FUNCTION(performance_schema_##function); \
	PFS_SQL_FUNCTION(performance_schema_##function##_boolean); \
	Datum \
	performance_schema_##function(PG_FUNCTION_ARGS) \
	{ \
		return function(fcinfo, switch_of_text); \
	} \
	Datum \
	performance_schema_##function##_boolean(PG_FUNCTION_ARGS) \
	{ \
		return function(fcinfo, switch_of_boolean); \
	}

/* A value for a column; NULL = as it is. */
typedef struct Setting
{
	const char *column;
	char	   *value;
} Setting;

/* Rows of a setup table whose column "by" is like a pattern, or equal to a value. */
typedef struct Selection
{
	const PfsTable *table;
	const char *by;
	const char *wanted;
	bool		exact;
	PfsFdwReader reader;
	MemoryContext context;		/* the rows' */
	List	   *rows;			/* of char **: fields */
} Selection;

static const PfsTable *
table_named(const char *name)
{
	const PfsTable *table = pfs_table_by_name(name);

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("performance_schema has no table \"%s\"", name)));
	return table;
}

static int
column_number(const PfsTable *table, const char *name)
{
	const PfsColumn *column;

	for (int i = 0; (column = pfs_table_column(table, i, NULL)) != NULL; i++)
		if (strcmp(column->name, name) == 0)
			return i;
	elog(ERROR, "table \"%s\" has no column \"%s\"", table->name, name);
}

static char *
required_text(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("parameter \"%s\" must not be null", name)));
	return text_to_cstring(PG_GETARG_TEXT_PP(number));
}

static char *
switch_of_boolean(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		return NULL;
	return PG_GETARG_BOOL(number) ? "YES" : "NO";
}

static char *
switch_of_text(FunctionCallInfo fcinfo, int number, const char *name)
{
	bool		on;
	char	   *value;

	if (PG_ARGISNULL(number))
		return NULL;
	value = text_to_cstring(PG_GETARG_TEXT_PP(number));
	if (!parse_bool(value, &on))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\": \"%s\"", name, value),
				 errhint("Use YES or NO.")));
	return on ? "YES" : "NO";
}

/* All columns of a row as texts. */
static char **
row_texts(Selection *selection, const void *const *parts)
{
	char	  **fields = palloc0(sizeof(char *) * pfs_fdw_column_count(selection->table));
	const PfsColumn *column;
	int			group;

	for (int i = 0; (column = pfs_table_column(selection->table, i, &group)) != NULL; i++)
	{
		Oid			function;
		bool		is_varlena;
		bool		is_null;
		Datum		value = pfs_fdw_datum(&selection->reader, column, parts[group], &is_null);

		if (is_null)
			continue;
		getTypeOutputInfo(pfs_fdw_column_type(column), &function, &is_varlena);
		fields[i] = OidOutputFunctionCall(function, value);
	}
	return fields;
}

static void
select_row(void *arg, const void *const *parts)
{
	Selection  *selection = arg;
	MemoryContext caller = MemoryContextSwitchTo(selection->context);
	char	  **fields = row_texts(selection, parts);
	const char *value = fields[column_number(selection->table, selection->by)];

	if (value != NULL && (selection->exact ? strcmp(selection->wanted, value) == 0
						  : pfs_like(selection->wanted, value)))
		selection->rows = lappend(selection->rows, fields);
	MemoryContextSwitchTo(caller);
}

/* Changes the selected rows; returns their number, which is not zero if anything is recorded. */
static int64
change_rows(Selection *selection, const Setting *settings, int setting_count)
{
	const PfsTable *table = selection->table;
	int			column_count = pfs_fdw_column_count(table);
	int64		changed = 0;
	ListCell   *cell;

	selection->context = CurrentMemoryContext;
	pfs_fdw_reader_init(&selection->reader);
	selection->reader.sees_all = true;	/* who may call this may change every row */
	pfs_fdw_read(table, &selection->reader, NULL, 0, select_row, selection);
	foreach(cell, selection->rows)
	{
		char	  **old = lfirst(cell);
		char	  **new = palloc(sizeof(char *) * column_count);

		memcpy(new, old, sizeof(char *) * column_count);
		for (int i = 0; i < setting_count; i++)
			new[column_number(table, settings[i].column)] = settings[i].value;
		changed += pfs_fdw_edit(table, PFS_FDW_UPDATE, (PfsFields) old, new, NULL);
	}
	if (changed == 0 && pfs_arena != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("no row of table \"%s\" has a %s %s \"%s\"", table->name, selection->by,
						selection->exact ? "equal to" : "like", selection->wanted)));
	return changed;
}

/* set_instruments, set_consumers, set_thread_classes: (pattern, switch [, switch]). */
static Datum
change_like(FunctionCallInfo fcinfo, ReadSwitch read, const char *table, const char *second)
{
	Selection	selection = {.table = table_named(table), .by = "name"};
	Setting		settings[2] = {{.column = "enabled"}, {.column = second}};

	pfs_fdw_require_preload();
	selection.wanted = required_text(fcinfo, 0, "pattern");
	settings[0].value = read(fcinfo, 1, "enabled");
	if (second != NULL)
		settings[1].value = read(fcinfo, 2, second);
	PG_RETURN_INT64(change_rows(&selection, settings, second != NULL ? 2 : 1));
}

static Datum
set_instruments(FunctionCallInfo fcinfo, ReadSwitch read)
{
	return change_like(fcinfo, read, "setup_instruments", "timed");
}
SWITCHING_FUNCTION(set_instruments)

static Datum
set_consumers(FunctionCallInfo fcinfo, ReadSwitch read)
{
	return change_like(fcinfo, read, "setup_consumers", NULL);
}
SWITCHING_FUNCTION(set_consumers)

static Datum
set_thread_classes(FunctionCallInfo fcinfo, ReadSwitch read)
{
	return change_like(fcinfo, read, "setup_threads", "history");
}
SWITCHING_FUNCTION(set_thread_classes)

static Datum
set_thread(FunctionCallInfo fcinfo, ReadSwitch read)
{
	Selection	selection = {.table = table_named("threads"), .by = "thread_id", .exact = true};
	Setting		settings[2] = {{.column = "instrumented"}, {.column = "history"}};

	pfs_fdw_require_preload();
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("parameter \"thread_id\" must not be null")));
	selection.wanted = psprintf(INT64_FORMAT, PG_GETARG_INT64(0));
	settings[0].value = read(fcinfo, 1, "instrumented");
	settings[1].value = read(fcinfo, 2, "history");
	change_rows(&selection, settings, 2);
	PG_RETURN_VOID();
}
SWITCHING_FUNCTION(set_thread)

static char **
rule_fields(const PfsTable *table, const Setting *settings, int count)
{
	char	  **fields = palloc0(sizeof(char *) * pfs_fdw_column_count(table));

	for (int i = 0; i < count; i++)
		fields[column_number(table, settings[i].column)] = settings[i].value;
	return fields;
}

/* Makes the rule, or changes it if there is one of this key; true = made. */
static bool
set_rule(const PfsTable *table, const Setting *settings, int count)
{
	char	  **fields = rule_fields(table, settings, count);
	bool		duplicate = false;

	if (pfs_fdw_edit(table, PFS_FDW_INSERT, NULL, fields, &duplicate))
		return true;
	if (duplicate)
		pfs_fdw_edit(table, PFS_FDW_UPDATE, (PfsFields) fields, fields, NULL);
	return false;
}

static bool
drop_rule(const PfsTable *table, const Setting *settings, int count)
{
	return pfs_fdw_edit(table, PFS_FDW_REMOVE, (PfsFields) rule_fields(table, settings, count),
						NULL, NULL);
}

static Datum
set_actor(FunctionCallInfo fcinfo, ReadSwitch read)
{
	Setting		settings[] = {
		{"user_name", required_text(fcinfo, 0, "user_name")},
		{"host", required_text(fcinfo, 1, "host")},
		{"role", "%"},
		{"enabled", read(fcinfo, 2, "enabled")},
		{"history", read(fcinfo, 3, "history")},
	};

	PG_RETURN_BOOL(set_rule(table_named("setup_actors"), settings, lengthof(settings)));
}
SWITCHING_FUNCTION(set_actor)

Datum
performance_schema_drop_actor(PG_FUNCTION_ARGS)
{
	Setting		settings[] = {
		{"user_name", required_text(fcinfo, 0, "user_name")},
		{"host", required_text(fcinfo, 1, "host")},
		{"role", "%"},
	};

	PG_RETURN_BOOL(drop_rule(table_named("setup_actors"), settings, lengthof(settings)));
}

/* Object types are written in capitals, as in MySQL, and accepted in any case. */
static char *
object_type(FunctionCallInfo fcinfo)
{
	char	   *type = required_text(fcinfo, 0, "object_type");

	return asc_toupper(type, strlen(type));
}

static Datum
set_object(FunctionCallInfo fcinfo, ReadSwitch read)
{
	Setting		settings[] = {
		{"object_type", object_type(fcinfo)},
		{"object_schema", required_text(fcinfo, 1, "object_schema")},
		{"object_name", required_text(fcinfo, 2, "object_name")},
		{"enabled", read(fcinfo, 3, "enabled")},
		{"timed", read(fcinfo, 4, "timed")},
	};

	PG_RETURN_BOOL(set_rule(table_named("setup_objects"), settings, lengthof(settings)));
}
SWITCHING_FUNCTION(set_object)

Datum
performance_schema_drop_object(PG_FUNCTION_ARGS)
{
	Setting		settings[] = {
		{"object_type", object_type(fcinfo)},
		{"object_schema", required_text(fcinfo, 1, "object_schema")},
		{"object_name", required_text(fcinfo, 2, "object_name")},
	};

	PG_RETURN_BOOL(drop_rule(table_named("setup_objects"), settings, lengthof(settings)));
}

Datum
performance_schema_reset(PG_FUNCTION_ARGS)
{
	pfs_fdw_require_preload();
	pfs_fdw_reset(table_named(required_text(fcinfo, 0, "table_name")));
	PG_RETURN_VOID();
}

/* All statistics and events; tables of rules are left alone. */
Datum
performance_schema_reset_all(PG_FUNCTION_ARGS)
{
	int64		count = 0;

	pfs_fdw_require_preload();
	for (int i = 0; pfs_arena != NULL && pfs_tables[i] != NULL; i++)
	{
		if (pfs_tables[i]->reset == NULL || pfs_tables[i]->insert != NULL)
			continue;
		pfs_fdw_reset(pfs_tables[i]);
		count++;
	}
	PG_RETURN_INT64(count);
}

/* Does something to counters of engine_metrics; returns their number. */
static Datum
monitor(FunctionCallInfo fcinfo, PfsMetricAction action)
{
	char	   *counter = required_text(fcinfo, 0, "counter");
	int			count;

	pfs_fdw_require_preload();
	if (pfs_arena == NULL)
		PG_RETURN_INT64(0);
	count = pfs_host_metric_act(counter, action);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("no counter of engine_metrics is called or matches \"%s\"", counter),
				 errhint("Give a name, a pattern with %%, module_ and a subsystem, or all.")));
	PG_RETURN_INT64(count);
}

#define MONITOR_FUNCTION(name, action) \
	PFS_SQL_FUNCTION(performance_schema_monitor_##name); \
	Datum \
	performance_schema_monitor_##name(PG_FUNCTION_ARGS) \
	{ \
		return monitor(fcinfo, action); \
	}
MONITOR_FUNCTION(enable, PFS_METRIC_ENABLE)
MONITOR_FUNCTION(disable, PFS_METRIC_DISABLE)
MONITOR_FUNCTION(reset, PFS_METRIC_RESET)
MONITOR_FUNCTION(reset_all, PFS_METRIC_RESET_ALL)

/* Thread of a process; 0 if it has none. */
static uint64_t
thread_of_process(int64 pid, bool foreground_only)
{
	PfsThread  *thread;

	pfs_fdw_require_preload();
	if (pfs_arena == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("performance_schema is disabled"),
				 errhint("Set performance_schema.enabled to on and restart the server.")));
	if (pid <= 0 || pid > PG_INT32_MAX)
		return 0;
	thread = pfs_thread_by_pid(pfs_arena, (uint32_t) pid);
	if (thread == NULL ||
		(foreground_only && pfs_load(&thread->processlist_id) != (uint64_t) pid))
		return 0;
	return pfs_load(&thread->thread_id);
}

Datum
performance_schema_current_thread_id(PG_FUNCTION_ARGS)
{
	uint64_t	thread_id = thread_of_process(MyProcPid, false);

	if (thread_id == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) thread_id);
}

Datum
performance_schema_thread_id(PG_FUNCTION_ARGS)
{
	uint64_t	thread_id = thread_of_process(PG_GETARG_INT64(0), true);

	if (thread_id == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) thread_id);
}
