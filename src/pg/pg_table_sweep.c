/*
 * pg_table_sweep.c
 *		Rows that no query owns: of utility statements, of what failed, of processes without queries.
 *
 * The server keeps a list of all counters that it has not handed over yet.  Whoever may have read
 * or changed tables that no plan names goes through that list afterwards.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_table_io.h"
#include "replication/logicalworker.h"
#include "storage/ipc.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"

#include <link.h>

#define OWED 32
#define PENDING_MAX 1000000

/* --- the server's list of pending counters --- */

/* Its head, a variable that the server does not export; found by its place, see below. */
static dlist_node *pending_head = NULL;
static bool head_known = false; /* or it was looked for and not found */

typedef struct Range
{
	uintptr_t	start;
	uintptr_t	end;
} Range;

/* The variables of the executable: the writable part of the first object. */
static int
find_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
	Range	   *range = arg;

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0)
		{
			range->start = info->dlpi_addr + part->p_vaddr;
			range->end = range->start + part->p_memsz;
		}
	}
	return 1;
}

/*
 * All nodes of the list lie in allocated memory but one, its head.  To have a node to begin with,
 * a counter of pg_class is made pending.  At a safe point, once.
 */
static void
find_pending_head(void)
{
	Range		variables = {0, 0};
	Relation	relation;
	PgStat_EntryRef *entry;
	dlist_node *node;

	head_known = true;
	dl_iterate_phdr(find_variables, &variables);
	relation = RelationIdGetRelation(RelationRelationId);
	(void) pgstat_should_count_relation(relation);
	RelationClose(relation);
	entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, RelationRelationId);
	node = entry != NULL ? &entry->pending_node : NULL;
	for (int i = 0; i < PENDING_MAX && node != NULL; i++, node = node->next)
	{
		if ((uintptr_t) node >= variables.start && (uintptr_t) node < variables.end)
		{
			pending_head = node;
			return;
		}
	}
	elog(DEBUG1, "performance_schema does not see the rows of utility statements and failed queries");
}

/* Next relation behind a place in the list; NULL at the end.  The server's own tables are left out. */
static PgStat_TableStatus *
next_pending(dlist_node **place, Oid *relation)
{
	dlist_node *node = *place != NULL ? *place : pending_head;

	if (node == NULL)
		return NULL;
	while ((node = node->next) != pending_head && node != NULL)
	{
		PgStat_EntryRef *entry = dlist_container(PgStat_EntryRef, pending_node, node);
		const PgStat_HashKey *key = &entry->shared_entry->key;

		if (key->kind != PGSTAT_KIND_RELATION || key->dboid != MyDatabaseId ||
			PFS_PG_COUNTED_OBJECT(key) < FirstNormalObjectId || entry->pending == NULL)
			continue;
		*place = node;
		*relation = (Oid) PFS_PG_COUNTED_OBJECT(key);
		return entry->pending;
	}
	return NULL;
}

/* --- rows whose table could not be looked up when they were counted: in an aborted transaction --- */

typedef struct Owed
{
	Oid			relation;
	uint64		rows[PFS_TABLE_OPERATIONS];
} Owed;

/* Owner: this process. */
static Owed owed[OWED];
static uint32 owed_used = 0;

static Owed *
find_owed(Oid relation)
{
	for (uint32 i = 0; i < owed_used; i++)
		if (owed[i].relation == relation)
			return &owed[i];
	if (owed_used == OWED)
		return NULL;
	memset(&owed[owed_used], 0, sizeof(Owed));
	owed[owed_used].relation = relation;
	return &owed[owed_used++];
}

/* The server's entry is linked to the open relation, which tells whether it is a table. */
static void
owe(Oid relation, const PgStat_TableStatus *status)
{
	PfsPgTable *table = pfs_pg_table_find(relation, true);
	Owed	   *place = table != NULL ? find_owed(relation) : NULL;
	bool		is_table = status->relation != NULL &&
		status->relation->rd_rel->relkind != RELKIND_INDEX;
	uint64		total[PFS_TABLE_OPERATIONS];

	if (place == NULL)
	{
		pfs_lose(pfs_arena, PFS_LOSS_TABLES);
		return;
	}
	total[PFS_TABLE_FETCH] = (uint64) PFS_PG_COUNTER(status, tuples_fetched) +
		(is_table ? (uint64) PFS_PG_COUNTER(status, tuples_returned) : 0);
	pfs_pg_rows_changed(status, 0, total);
	pfs_pg_table_meet(table, total[PFS_TABLE_FETCH]);
	for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
	{
		place->rows[i] += pfs_pg_rows_unrecorded(table, total, i);
		table->counted[i] = total[i];
	}
	pfs_pg_tables.prepared = false;
}

static void
settle(void)
{
	while (owed_used > 0)
	{
		Owed		one = owed[--owed_used];
		PfsPgTable *table = pfs_pg_table_watched(one.relation);

		for (int i = 0; table != NULL && i < PFS_TABLE_OPERATIONS; i++)
			if (one.rows[i] > 0)
				pfs_wait_table(&pfs_session, table->row, table->use, i, one.rows[i], 0, 0);
	}
}

void
pfs_pg_table_prepare(void)
{
	if (pfs_pg_tables.prepared)
		return;
	if (!head_known && pgstat_track_counts)
		find_pending_head();
	settle();
	pfs_pg_tables.prepared = head_known;
}

/* --- sweeps --- */

void
pfs_pg_table_sweep_begin(void)
{
	dlist_node *place = NULL;
	PgStat_TableStatus *status;
	Oid			relation;

	if (pfs_pg_tables.swept == pfs_pg_tables.period)
		return;
	while ((status = next_pending(&place, &relation)) != NULL)
	{
		PfsPgTable *table = pfs_pg_table_find(relation, true);

		if (table == NULL)
			return;				/* too many: those met later will begin at what they show then */
		if (table->kind == PFS_PG_RELATION_UNKNOWN)
			pfs_pg_table_resolve(table);
		pfs_pg_table_meet(table, pfs_pg_rows_fetched(table, status));
	}
	pfs_pg_tables.swept = pfs_pg_tables.period;
}

/* Can a relation that was not met yet have rows to record? */
static bool
has_rows(const PgStat_TableStatus *status)
{
	return status->trans != NULL ||
		(pfs_pg_tables.swept == pfs_pg_tables.period &&
		 (PFS_PG_COUNTER(status, tuples_returned) > 0 || PFS_PG_COUNTER(status, tuples_fetched) > 0));
}

/* Records what all relations have counted and nobody has recorded. */
static void
sweep(bool safe)
{
	dlist_node *place = NULL;
	PgStat_TableStatus *status;
	Oid			relation;
	uint64		total[PFS_TABLE_OPERATIONS];

	while ((status = next_pending(&place, &relation)) != NULL)
	{
		PfsPgTable *table = pfs_pg_table_find(relation, false);

		if (table == NULL || table->kind == PFS_PG_RELATION_UNKNOWN)
		{
			if (!has_rows(status))
				continue;
			if (!safe)
			{
				owe(relation, status);
				continue;
			}
			table = pfs_pg_table_watched(relation);
		}
		if (table == NULL || !table->watched)
			continue;
		total[PFS_TABLE_FETCH] = pfs_pg_rows_fetched(table, status);
		pfs_pg_rows_changed(status, 0, total);
		pfs_pg_table_meet(table, total[PFS_TABLE_FETCH]);
		for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
		{
			uint64		rows = pfs_pg_rows_unrecorded(table, total, i);

			if (rows > 0)
				pfs_pg_table_record(table, i, rows);
		}
	}
}

/* A subtransaction aborts: its rows will be none of the transaction's any more. */
static void
take_back(int level)
{
	dlist_node *place = NULL;
	PgStat_TableStatus *status;
	Oid			relation;
	uint64		gone[PFS_TABLE_OPERATIONS];

	while ((status = next_pending(&place, &relation)) != NULL)
	{
		PfsPgTable *table = status->trans != NULL ? pfs_pg_table_find(relation, false) : NULL;

		if (table == NULL || table->transaction != pfs_pg_tables.transaction)
			continue;
		pfs_pg_rows_changed(status, level, gone);
		for (int i = PFS_TABLE_INSERT; i < PFS_TABLE_OPERATIONS; i++)
			table->counted[i] -= Min(table->counted[i], gone[i]);
	}
}

/* A statement has failed: its query does not end.  Nothing may be looked up any more. */
void
pfs_pg_table_failed(PfsStatement *statement)
{
	PfsStatement *running = pfs_session.running;

	if (!pfs_pg_tables.unrecorded || !pfs_wants(&pfs_session, PFS_GATE_TABLES))
		return;
	pfs_session.running = statement;
	sweep(false);
	pfs_session.running = running;
}

/* --- utility statements --- */

/* Does a utility statement read or change rows without a query? */
static bool
touches_rows(const Node *utility)
{
	switch (nodeTag(utility))
	{
		case T_CopyStmt:
		case T_CreateTableAsStmt:
		case T_RefreshMatViewStmt:
		case T_IndexStmt:
		case T_ReindexStmt:
		case T_ClusterStmt:
		case T_VacuumStmt:
		case T_AlterTableStmt:
		case T_AlterDomainStmt:
		case T_CreateStmt:
		case T_CreateSchemaStmt:
		case T_ExplainStmt:		/* of CREATE TABLE AS */
			return true;
		default:
			return false;
	}
}

/* Returns what pfs_pg_table_utility_end wants to know; negative: nothing to do. */
int
pfs_pg_table_utility_start(const Node *utility)
{
	int			before = pfs_pg_tables.utility_level;

	if (pfs_session.thread != NULL)
		pfs_pg_table_note_utility(utility);
	if (!touches_rows(utility) || !pfs_pg_wants(PFS_GATE_TABLES) || !IsTransactionState())
		return -1;
	pfs_pg_table_prepare();
	pfs_pg_table_sweep_begin();
	pfs_pg_tables.unrecorded = true;
	if (pfs_pg_tables.utility_level == 0)
		pfs_pg_tables.utility_level = GetCurrentTransactionNestLevel();
	return before;
}

void
pfs_pg_table_utility_end(int before)
{
	if (before < 0)
		return;
	pfs_pg_tables.utility_level = before;
	if (pfs_wants(&pfs_session, PFS_GATE_TABLES))
		sweep(IsTransactionState());
}

/* --- transactions --- */

/* New names are shown before the commit, while the catalogue can be read. */
static void
prepare_commit(void)
{
	if (pfs_pg_table_ddl)
		pfs_pg_table_prepare_ddl();
	if (MyBackendType == B_AUTOVAC_WORKER)
		pfs_pg_table_ddl = true;	/* drops temporary tables of the dead */
	if (MyBackendType != B_BG_WORKER || (!IsParallelWorker() && !IsLogicalWorker()) ||
		!pfs_pg_wants(PFS_GATE_TABLES))
		return;
	/* those change tables without the executor's hooks, too */
	pfs_pg_table_prepare();
	if (IsParallelWorker())
		pfs_pg_tables.swept = pfs_pg_tables.period; /* in a new process all began at zero */
	sweep(true);
}

static void
end_transaction(XactEvent event)
{
	if ((event != XACT_EVENT_COMMIT || pfs_pg_tables.utility_level > 0 ||
		 !dlist_is_empty(&pfs_pg_open_queries)) &&
		pfs_pg_tables.unrecorded && pfs_wants(&pfs_session, PFS_GATE_TABLES))
		sweep(false);
	pfs_pg_query_era++;
	if (event != XACT_EVENT_COMMIT)
		pfs_pg_tables.utility_level = 0;
	if (pfs_pg_table_ddl || proc_exit_inprogress)
		pfs_pg_table_end_ddl(event);	/* at its end a process drops its temporary tables */
	pfs_pg_tables.transaction++;
	if (pfs_pg_tables.utility_level > 0)
		return;					/* the server keeps its counters till the statement ends */
	pfs_pg_tables.period++;
	pfs_pg_tables.unrecorded = false;
}

void
pfs_pg_table_transaction(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			if (pfs_unlikely(pfs_pg_table_ddl || MyBackendType != B_BACKEND))
				prepare_commit();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			end_transaction(event);
			break;
		default:
			break;
	}
}

/* A subtransaction of this level ends; its statements have. */
void
pfs_pg_table_subtransaction(SubXactEvent event, int level)
{
	pfs_pg_query_era++;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		pfs_pg_tables.utility_level = Min(pfs_pg_tables.utility_level, level - 1);
		return;
	}
	if (pfs_pg_tables.utility_level >= level)
		pfs_pg_tables.utility_level = 0;
	if (pfs_pg_tables.unrecorded && pfs_wants(&pfs_session, PFS_GATE_TABLES))
		sweep(false);
	if (pfs_pg_tables.unrecorded)
		take_back(level);
	if (pfs_pg_table_ddl)
		pfs_pg_table_ddl_aborted();
}
