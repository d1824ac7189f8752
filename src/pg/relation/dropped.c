/*
 * dropped.c
 *		What becomes of rows when tables and indexes are renamed or dropped.
 *
 * What a transaction has dropped is told by the server's list of statistics to drop, cascades included; of
 * one that was prepared the rows are marked, and looked at when a prepared transaction has ended.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "pg/pg_compat.h"
#include "pg/relation/known.h"
#include "pg/relation/relation.h"
#include "storage/ipc.h"
#include "storage/sinval.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"
#include "utils/syscache.h"

/* Owner: this process.  Of the transaction under way, as is pfs_relations_over.dropped. */
static bool renamed = false;
static bool subtransaction_failed = false;
static Oid	dropped_database = InvalidOid;

/*
 * Of a new name only that there is one: to look up the old one could raise an error, about rights or a
 * missing schema, that the server would not raise, or not yet.
 */
void
pfs_dropped_note_utility(const Node *utility)
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
	pfs_relations_over.dropped = true;		/* most can drop something, by a cascade, or at the commit */
}

static void
forget(PfsKnown *known)
{
	PfsTableKey key = {.database = MyDatabaseId,.index = known->oid};
	const PfsObjectRow *row = pfs_object_row(pfs_arena, PFS_MAP_TABLES, known->row, known->use);

	if (known->kind == PFS_KNOWN_TABLE)
		pfs_table_forget(pfs_arena, MyDatabaseId, known->oid);
	else if (row != NULL)
	{
		key.table = ((const PfsTableKey *) row->key)->table;
		pfs_index_forget(pfs_arena, &key);
	}
	known->kind = PFS_KNOWN_NOT;
	known->row = 0;
	known->watched = false;
}

/* Before the commit, while the catalogue can be read; tables of subtransactions that failed are gone. */
static void
prepare_commit(void)
{
	if (renamed)
		pfs_rows_rename();
	if (subtransaction_failed)
		for (PfsKnown *known = pfs_known; known < pfs_known + PFS_KNOWN; known++)
			if (known->row != 0 && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(known->oid)))
				forget(known);
}

/* --- rows of what is gone --- */

static void
forget_row(const PfsTableKey *key)
{
	if (key->index == 0)
		pfs_table_forget(pfs_arena, key->database, key->table);
	else
		pfs_index_forget(pfs_arena, key);
}

/* Removes the rows of relations that are dropped, or (marks) may be when the prepared transaction ends. */
static void
forget_all(const xl_xact_stats_item *items, int count, bool marks)
{
	uint32		rows = pfs_load(&pfs_arena->object_rows[PFS_MAP_TABLES].used);
	PfsTableKey key;
	uint32		use;

	for (uint32 number = 1; number <= rows; number++)
	{
		if (!pfs_rows_read(number, &key, &use))
			continue;
		for (int i = 0; i < count; i++)
		{
			Oid			relation = PFS_PG_DROPPED_OBJECT(items[i]);

			if (items[i].kind != PGSTAT_KIND_RELATION || items[i].dboid != MyDatabaseId ||
				(relation != key.table && relation != key.index))
				continue;
			if (marks)
				pfs_table_doubt(pfs_arena, number, use);
			else
				forget_row(&key);
			break;
		}
	}
}

static void
forget_drops(bool commit, bool marks)
{
	xl_xact_stats_item *items = NULL;
	int			count = pgstat_get_transactional_drops(commit, &items);

	if (count > 0)
		forget_all(items, count, marks);
}

/* A prepared transaction has ended: which of the rows in doubt are gone?  In another transaction. */
void
pfs_dropped_look(void)
{
	uint32		rows = pfs_load(&pfs_arena->object_rows[PFS_MAP_TABLES].used);
	PfsTableKey key;
	uint32		use;

	if (!IsTransactionState())
		return;
	AcceptInvalidationMessages();
	for (uint32 number = 1; number <= rows; number++)
		if (pfs_table_is_in_doubt(pfs_arena, number) && pfs_rows_read(number, &key, &use) &&
			!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(key.index != 0 ? key.index : key.table)))
			forget_row(&key);
}

bool
pfs_dropped_ends_prepared(const Node *utility)
{
	const TransactionStmt *command = (const TransactionStmt *) utility;

	return IsA(utility, TransactionStmt) && pfs_session.thread != NULL &&
		pfs_load(&pfs_arena->tables_in_doubt) != 0 &&
		(command->kind == TRANS_STMT_COMMIT_PREPARED || command->kind == TRANS_STMT_ROLLBACK_PREPARED);
}

/* --- transactions --- */

/* The transaction is over: what it dropped goes, or what it created. */
static void
end_transaction(XactEvent event)
{
	if (pfs_session.thread != NULL)
	{
		if (event != XACT_EVENT_PREPARE)
			forget_drops(event == XACT_EVENT_COMMIT, false);
		if (event == XACT_EVENT_COMMIT && OidIsValid(dropped_database))
			pfs_table_forget(pfs_arena, dropped_database, 0);
		/* what was met first meanwhile is shown by a name that it has not: all ask again */
		if (renamed && event == XACT_EVENT_ABORT)
			pfs_add_release(&pfs_arena->objects_changed, 1);
	}
	dropped_database = InvalidOid;
	renamed = false;
	subtransaction_failed = false;
	pfs_relations_over.dropped = false;
}

void
pfs_dropped_transaction(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (MyBackendType == B_AUTOVAC_WORKER)
				pfs_relations_over.dropped = true; /* drops temporary tables of the dead */
			if (pfs_likely(!pfs_relations_over.dropped) || pfs_session.thread == NULL)
				break;
			prepare_commit();
			if (event == XACT_EVENT_PRE_PREPARE)
			{
				forget_drops(true, true);
				forget_drops(false, true);
			}
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			/* at its end a process drops its temporary tables */
			if (pfs_unlikely(pfs_relations_over.dropped || proc_exit_inprogress))
				end_transaction(event);
			break;
		default:
			break;
	}
}

void
pfs_dropped_subtransaction(SubXactEvent event)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		subtransaction_failed |= pfs_relations_over.dropped;
}
