/*
 * rows.c
 *		From relations to rows of the arena: what they are, names, setup_objects.
 *
 * Names are looked up when a process meets a relation for the first time.  Who renames a table shows its new
 * name before the commit, and makes the other processes ask setup_objects again.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "core/wait.h"
#include "miscadmin.h"
#include "pg/relation/known.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* What is asked of the catalogue of a table. */
typedef struct Described
{
	bool		shared;
	Oid			toast;
	PfsTableNames names;
} Described;

/* False = it is gone, of TOAST, or (if asked) not watched by setup_objects. */
static bool
describe_table(Oid relation, bool only_watched, Described *table)
{
	PfsTableNames *names = &table->names;
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Form_pg_class form;
	char	   *schema;
	bool		watched = true,
				timed;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	table->shared = form->relisshared;
	table->toast = form->reltoastrelid;
	schema = IsToastNamespace(form->relnamespace) ? NULL : get_namespace_name(form->relnamespace);
	if (schema != NULL)
	{
		strlcpy(names->schema, schema, sizeof(names->schema));
		strlcpy(names->table, NameStr(form->relname), sizeof(names->table));
		if (only_watched)
			pfs_object_lookup(pfs_arena, PFS_OBJECT_TABLE, names->schema, names->table, &watched, &timed);
		pfree(schema);
	}
	ReleaseSysCache(tuple);
	return schema != NULL && watched;
}

static void
name_row(uint32 row, uint32 use, const Described *table, Oid index)
{
	const PfsTableNames *names = &table->names;
	HeapTuple	tuple = OidIsValid(index) ? SearchSysCache1(RELOID, ObjectIdGetDatum(index)) : NULL;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		pfs_table_name(pfs_arena, row, use, names->schema, names->table, NameStr(form->relname), form->relam);
		ReleaseSysCache(tuple);
	}
	else
		pfs_table_name(pfs_arena, row, use, names->schema, names->table, NULL, OidIsValid(index) ? InvalidOid : table->toast);
}

static PfsKnownKind
kind_of(char relkind)
{
	switch (relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
			return PFS_KNOWN_TABLE;
		case RELKIND_INDEX:
			return PFS_KNOWN_INDEX;
		default:
			return PFS_KNOWN_OTHER;
	}
}

static bool
is_exclusion(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	bool		excludes;

	if (!HeapTupleIsValid(tuple))
		return false;
	excludes = ((Form_pg_index) GETSTRUCT(tuple))->indisexclusion;
	ReleaseSysCache(tuple);
	return excludes;
}

/* What is not watched takes no row; it is asked for again when the rules change. */
void
pfs_known_ask(PfsKnown *known)
{
	PfsTableKey key = {.database = MyDatabaseId,.table = known->oid};
	uint32		rules = pfs_load_acquire(&pfs_arena->objects_changed);
	PfsKnownKind kind = kind_of(get_rel_relkind(known->oid));
	Described	table;
	bool		named = false;
	bool		timed;

	known->watched = known->timed = false;
	known->row = 0;
	known->cell = &pfs_no_cell;
	known->until_timed = 1;
	if (kind == PFS_KNOWN_INDEX)
	{
		key.index = known->oid;
		key.table = IndexGetRelation(known->oid, true);
		known->excludes = is_exclusion(known->oid);
	}
	if (kind != PFS_KNOWN_OTHER && OidIsValid(key.table))
		named = describe_table(key.table, true, &table);
	known->kind = kind;
	known->rules = rules;
	if (!named)
		return;
	if (table.shared)
		key.database = InvalidOid;
	known->row = pfs_table_find(pfs_arena, &key, &known->use);
	if (known->row == 0)
		return;
	name_row(known->row, known->use, &table, key.index);
	known->watched = pfs_table_watched(pfs_arena, known->row, known->use, &timed);
	known->timed = timed;
}

bool		pfs_known_excludes_nothing = false;

/* Some index was made, changed or dropped: it is not told of which table. */
static void
forget_indexes(Datum arg, int cacheid, uint32 hashvalue)
{
	for (int i = 0; pfs_known_excludes_nothing && i < PFS_KNOWN; i++)
		pfs_known[i].excludes_nothing = false;
	pfs_known_excludes_nothing = false;
}

void
pfs_known_attach(void)
{
	static bool attached = false;

	if (!attached)
		CacheRegisterSyscacheCallback(INDEXRELID, forget_indexes, (Datum) 0);
	attached = true;
}

bool
pfs_rows_read(uint32 number, PfsTableKey *key, uint32 *use)
{
	const PfsObjectRow *row = pfs_object_row_at(pfs_arena, PFS_MAP_TABLES, number);

	if (row == NULL)
		return false;
	*use = pfs_load_acquire(&row->use);
	memcpy(key, row->key, sizeof(*key));
	pfs_fence();
	return (*use & 1) != 0 && pfs_load(&row->use) == *use && key->database == MyDatabaseId;
}

void
pfs_rows_rename(void)
{
	uint32		rows = pfs_load(&pfs_arena->object_rows[PFS_MAP_TABLES].used);
	PfsTableKey key;
	uint32		use;

	for (uint32 number = 1; number <= rows; number++)
	{
		Described	table;

		if (pfs_rows_read(number, &key, &use) && describe_table(key.table, false, &table))
			name_row(number, use, &table, key.index);
	}
	pfs_add_release(&pfs_arena->objects_changed, 1);
}
