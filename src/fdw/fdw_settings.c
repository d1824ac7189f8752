/*
 * fdw_settings.c
 *		SQL function behind user_variables_by_thread: settings that the session has made itself.
 *
 * No library has defined them; pg_settings and SHOW ALL leave them out.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/guc_tables.h"

#include "pg/pg_compat.h"

PFS_SQL_FUNCTION(performance_schema_user_settings);

/* Rows (name, setting).  What files and ALTER ROLE or DATABASE give is not the session's, and may be secret. */
Datum
performance_schema_user_settings(PG_FUNCTION_ARGS)
{
	struct config_generic **settings;
	int			number;

	InitMaterializedSRF(fcinfo, 0);
	settings = PFS_PG_SETTINGS(&number);
	for (int i = 0; i < number; i++)
	{
		const struct config_generic *setting = settings[i];
		ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
		Datum		values[2];
		bool		nulls[2] = {false, false};
		const char *value;

		if ((setting->flags & GUC_CUSTOM_PLACEHOLDER) == 0 || setting->source < PGC_S_CLIENT)
			continue;
		value = GetConfigOption(setting->name, true, false);
		values[0] = CStringGetTextDatum(setting->name);
		values[1] = value != NULL ? CStringGetTextDatum(value) : (Datum) 0;
		nulls[1] = value == NULL;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
