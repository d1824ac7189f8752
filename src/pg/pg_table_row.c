/*
 * pg_table_row.c
 *		From relations to rows of the arena: names, setup_objects, and what becomes of a row when
 *		its table is renamed or dropped.
 *
 * Names are looked up when a process meets a relation for the first time.  Who renames a table
 * shows its new name before the commit.  What a transaction dropped is told by the server's list of
 * statistics to drop, cascades and failed subtransactions included.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_table_io.h"
#include "storage/ipc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"
#include "utils/syscache.h"

bool		pfs_pg_table_ddl = false;

/* Owner: this process.  Of the transaction under way. */
static bool renamed = false;
static bool subtransaction_failed = false;
static Oid	dropped_database = InvalidOid;

/* --- names --- */

/* Schema and name of a table; false = gone, of TOAST, or (if asked) not watched by setup_objects. */
static bool
full_name_of(Oid relation, bool only_watched, bool *shared, PfsTableNames *names)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Form_pg_class form;
	char	   *schema;
	bool		watched = true,
				timed;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	*shared = form->relisshared;
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
name_row(uint32 row, uint32 use, const PfsTableNames *names, Oid index)
{
	char	   *index_name = OidIsValid(index) ? get_rel_name(index) : NULL;

	pfs_table_name(pfs_arena, row, use, names->schema, names->table, index_name);
	if (index_name != NULL)
		pfree(index_name);
}

static PfsPgTableKind
kind_of(char relkind)
{
	switch (relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
			return PFS_PG_RELATION_TABLE;
		case RELKIND_INDEX:
			return PFS_PG_RELATION_INDEX;
		default:
			return PFS_PG_RELATION_OTHER;
	}
}

/* What is not watched takes no row; it is asked for again when the rules change. */
void
pfs_pg_table_resolve(PfsPgTable *table)
{
	PfsTableKey key = {.database = MyDatabaseId,.table = table->relation};
	uint32		rules = pfs_load_acquire(&pfs_arena->objects_changed);
	PfsPgTableKind kind = kind_of(get_rel_relkind(table->relation));
	PfsTableNames names;
	bool		shared = false;
	bool		named = false;

	table->watched = false;
	table->row = 0;
	if (kind == PFS_PG_RELATION_INDEX)
	{
		key.index = table->relation;
		key.table = IndexGetRelation(table->relation, true);
	}
	if (kind != PFS_PG_RELATION_OTHER && OidIsValid(key.table))
		named = full_name_of(key.table, true, &shared, &names);
	table->kind = kind;
	table->rule = (uint64) rules << 32;
	if (!named)
		return;
	if (shared)
		key.database = InvalidOid;
	table->row = pfs_table_find(pfs_arena, &key, &table->use);
	if (table->row == 0)
		return;
	name_row(table->row, table->use, &names, key.index);
	pfs_pg_table_ask(table);
}

void
pfs_pg_table_ask(PfsPgTable *table)
{
	bool		timed;

	table->shared = pfs_object_row(pfs_arena, PFS_MAP_TABLES, table->row, table->use);
	table->watched = false;
	if (table->shared == NULL)
	{
		table->kind = PFS_PG_RELATION_UNKNOWN;
		table->row = 0;
		return;
	}
	table->watched = pfs_table_watched(pfs_arena, table->row, table->use, &timed);
	table->rule = pfs_load(&table->shared->rule);
}

List *
pfs_pg_table_exclusions(PfsPgTable *table, Relation relation)
{
	MemoryContext context;
	List	   *indexes;
	ListCell   *cell;

	if (pfs_likely(table->exclusions_known))
		return table->exclusions;
	indexes = RelationGetIndexList(relation);
	context = MemoryContextSwitchTo(TopMemoryContext);
	foreach(cell, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			continue;
		if (((Form_pg_index) GETSTRUCT(tuple))->indisexclusion)
			table->exclusions = lappend_oid(table->exclusions, lfirst_oid(cell));
		ReleaseSysCache(tuple);
	}
	MemoryContextSwitchTo(context);
	list_free(indexes);
	table->exclusions_known = true;
	return table->exclusions;
}

/* --- changes --- */

/*
 * Of a new name only that there is one: to look up the old one could raise an error, about rights or a
 * missing schema, that the server would not raise, or not yet.
 */
void
pfs_pg_table_note_utility(const Node *utility)
{
	switch (nodeTag(utility))
	{
		case T_RenameStmt:
		case T_AlterObjectSchemaStmt:
			renamed = true;
			break;
		case T_DropdbStmt:
			dropped_database = get_database_oid(((const DropdbStmt *) utility)->dbname, true);
			break;
		case T_TransactionStmt:
		case T_VariableSetStmt:
		case T_VariableShowStmt:
		case T_PrepareStmt:
		case T_ExecuteStmt:
		case T_DeallocateStmt:
		case T_FetchStmt:
			return;
		default:
			break;
	}
	pfs_pg_table_ddl = true;	/* most can drop something, by a cascade, or at the commit */
}

/* Row of this number of our database, and its key; false: not in use. */
static bool
read_row(uint32 number, PfsTableKey *key, uint32 *use)
{
	const PfsObjectRow *row = pfs_object_row_at(pfs_arena, PFS_MAP_TABLES, number);

	if (row == NULL)
		return false;
	*use = pfs_load_acquire(&row->use);
	memcpy(key, row->key, sizeof(*key));
	pfs_fence();
	return (*use & 1) != 0 && pfs_load(&row->use) == *use && key->database == MyDatabaseId;
}

/* Shows the present names of the rows of all tables and indexes: some were renamed. */
static void
rename_rows(void)
{
	uint32		rows = pfs_load(&pfs_arena->object_rows[PFS_MAP_TABLES].used);
	PfsTableKey key;
	uint32		use;

	for (uint32 number = 1; number <= rows; number++)
	{
		PfsTableNames names;
		bool		shared;

		if (read_row(number, &key, &use) && full_name_of(key.table, false, &shared, &names))
			name_row(number, use, &names, key.index);
	}
}

static void
forget(PfsPgTable *table)
{
	PfsTableKey key = {.database = MyDatabaseId,.index = table->relation};

	if (table->kind == PFS_PG_RELATION_TABLE)
		pfs_table_forget(pfs_arena, MyDatabaseId, table->relation);
	else if (table->shared != NULL)
	{
		key.table = ((const PfsTableKey *) table->shared->key)->table;
		pfs_index_forget(pfs_arena, &key);
	}
	table->row = 0;
	table->watched = false;
}

/* Before the commit: names that have changed; tables of subtransactions that failed are gone. */
void
pfs_pg_table_prepare_ddl(void)
{
	PfsPgTable *table = NULL;

	if (!renamed && !subtransaction_failed)
		return;
	if (renamed)
		rename_rows();
	while ((table = pfs_pg_table_next(table)) != NULL)
	{
		if (renamed)
			table->kind = PFS_PG_RELATION_UNKNOWN;
		else if (subtransaction_failed && table->row != 0 &&
				 !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table->relation)))
			forget(table);
	}
}

/* Removes the rows of relations that this transaction has dropped, or created in vain. */
static void
forget_all(const xl_xact_stats_item *items, int count)
{
	uint32		rows = pfs_load(&pfs_arena->object_rows[PFS_MAP_TABLES].used);
	PfsTableKey key;
	uint32		use;

	for (uint32 number = 1; number <= rows; number++)
	{
		if (!read_row(number, &key, &use))
			continue;
		for (int i = 0; i < count; i++)
		{
			Oid			relation = PFS_PG_DROPPED_OBJECT(items[i]);

			if (items[i].kind != PGSTAT_KIND_RELATION || items[i].dboid != MyDatabaseId)
				continue;
			if (relation == key.table && key.index == 0)
				pfs_table_forget(pfs_arena, MyDatabaseId, relation);
			else if (relation == key.table || relation == key.index)
				pfs_index_forget(pfs_arena, &key);
		}
	}
}

void
pfs_pg_table_ddl_aborted(void)
{
	subtransaction_failed = true;
}

/* The transaction is over: what it dropped goes, or what it created. */
void
pfs_pg_table_end_ddl(XactEvent event)
{
	xl_xact_stats_item *items = NULL;
	int			count = 0;

	if (pfs_session.thread != NULL && event != XACT_EVENT_PREPARE)
		count = pgstat_get_transactional_drops(event == XACT_EVENT_COMMIT, &items);
	if (count > 0)
		forget_all(items, count);
	if (event == XACT_EVENT_COMMIT && OidIsValid(dropped_database) && pfs_session.thread != NULL)
		pfs_table_forget(pfs_arena, dropped_database, 0);
	dropped_database = InvalidOid;
	renamed = false;
	subtransaction_failed = false;
	pfs_pg_table_ddl = false;
}
