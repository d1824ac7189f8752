/*
 * fdw_object.c
 *		SQL function: type, schema and name of an object of any catalogue, for views of locks.
 *
 * The server's pg_identify_object crashes when the schema of the object is dropped between two of
 * its look-ups, and raises an error when its table is.  Here what is gone has no name.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_largeobject_metadata.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "pg/pg_compat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"

PFS_SQL_FUNCTION(performance_schema_object_name);

typedef struct ObjectName
{
	char	   *schema;			/* NULL = in none, or gone */
	char	   *name;			/* NULL = it has none, or gone */
} ObjectName;

/* Is there such a column, of this type, and not NULL? */
static bool
has_column(TupleDesc columns, const bool *nulls, AttrNumber column, Oid type)
{
	return column >= 1 && column <= columns->natts &&
		TupleDescAttr(columns, column - 1)->atttypid == type && !nulls[column - 1];
}

static ObjectName
name_of_row(Relation catalogue, HeapTuple row, Oid object)
{
	Oid			class = RelationGetRelid(catalogue);
	TupleDesc	columns = RelationGetDescr(catalogue);
	AttrNumber	schema = get_object_attnum_namespace(class);
	AttrNumber	name = get_object_attnum_name(class);
	Datum	   *values = palloc(sizeof(Datum) * columns->natts);
	bool	   *nulls = palloc(sizeof(bool) * columns->natts);
	ObjectName	found = {NULL, NULL};

	heap_deform_tuple(row, columns, values, nulls);
	if (has_column(columns, nulls, schema, OIDOID) &&
		OidIsValid(DatumGetObjectId(values[schema - 1])))
	{
		found.schema = get_namespace_name(DatumGetObjectId(values[schema - 1]));
		if (found.schema == NULL)
			return found;
	}
	if (class == ProcedureRelationId)	/* only its arguments tell it from others */
		found.name = format_procedure_extended(object, FORMAT_PROC_FORCE_QUALIFY |
											   FORMAT_PROC_INVALID_AS_NULL);
	else if (has_column(columns, nulls, name, NAMEOID))
		found.name = pstrdup(NameStr(*DatumGetName(values[name - 1])));
	return found;
}

/* class oid, object oid -> type, schema, name; all NULL where the server knows no such objects. */
Datum
performance_schema_object_name(PG_FUNCTION_ARGS)
{
	ObjectAddress address = {PG_GETARG_OID(0), PG_GETARG_OID(1), 0};
	ObjectName	found = {NULL, NULL};
	Datum		values[3] = {0};
	bool		nulls[3] = {true, true, true};
	TupleDesc	columns;
	char	   *type;

	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE ||
		columns->natts != lengthof(values))
		elog(ERROR, "performance_schema_object_name is not declared as it should be");
	columns = BlessTupleDesc(columns);
	/* a large object's class is pg_largeobject for all but the first of these functions */
	if (is_objectclass_supported(address.classId) &&
		address.classId != LargeObjectMetadataRelationId)
	{
		Relation	catalogue = table_open(address.classId, AccessShareLock);
		HeapTuple	row = get_catalog_object_by_oid(catalogue,
													get_object_attnum_oid(address.classId),
													address.objectId);

		if (HeapTupleIsValid(row))
			found = name_of_row(catalogue, row, address.objectId);
		table_close(catalogue, AccessShareLock);
		type = getObjectTypeDescription(&address, true);
		nulls[0] = type == NULL;
		values[0] = nulls[0] ? 0 : CStringGetTextDatum(type);
	}
	if (found.schema != NULL)
	{
		nulls[1] = false;
		values[1] = CStringGetTextDatum(found.schema);
	}
	if (found.name != NULL)
	{
		nulls[2] = false;
		values[2] = CStringGetTextDatum(found.name);
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(columns, values, nulls)));
}
