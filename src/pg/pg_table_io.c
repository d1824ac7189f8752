/*
 * pg_table_io.c
 *		Table I/O: rows read and changed, by table and index, from the server's own counters.
 *
 * The server counts rows per relation in private memory, for pg_stat_all_tables, and hands the
 * numbers to its shared statistics only between transactions.  What a query did is the difference
 * between its start and its end.  PfsPgTable.counted says what of the server's counter has been
 * recorded already, so that nothing counts twice when queries are nested: what an outer query has
 * done when an inner one begins is held back from it (Part.held).
 *
 * Rows fetched count within a "period", in which the server cannot have handed its counters over:
 * a transaction, or all transactions of one utility statement.  Rows inserted, updated and deleted
 * are read from the server's counters of the transaction under way, which begin at zero.
 *
 * Where no plan says which relations are touched (utility statements, errors), the server's list of
 * all pending counters is gone through: sweep().
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_table_io.h"
#include "replication/logicalworker.h"
#include "storage/ipc.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"

#include <link.h>

#define TABLES 1024				/* relations known at once; power of two */
#define PROBES 8
#define QUERIES 128				/* open at once */
#define OWN_ITEMS 4
#define OWED 32
#define PLAN_DEPTH_MAX 200
#define PENDING_MAX 1000000

/* Owner: this process, all of these. */
static PfsPgTable tables[TABLES];
static uint32 period = 1;
static uint32 transaction = 1;

/* In this period every counter was looked at: relations met later began at zero. */
static uint32 period_swept = 0;

/* Transaction level at which the outermost utility statement that is swept began; 0 = none. */
static int	utility_level = 0;

/* This transaction may have rows that are not recorded yet. */
static bool unrecorded = false;

/* --- relations --- */

/* Which of the server's counters say what a query node reads. */
typedef enum Reads
{
	READS_TABLE,
	READS_INDEX,
	READS_INDEX_ONLY,
	READS_NOTHING				/* only changed */
} Reads;

typedef struct Part
{
	Relation	relation;		/* open as long as the query; NULL: an index opened by the executor later */
	PfsPgTable *table;			/* NULL = not watched */
	uint8		reads;
	bool		changed;		/* target of the query */
	uint64		examined;		/* rows read before */
	uint64		held[PFS_TABLE_OPERATIONS]; /* done by others before and not recorded yet */
} Part;

typedef struct OpenQuery
{
	const QueryDesc *query;
	struct OpenQuery *older;	/* of the open ones, or of the free ones */
	int			level;			/* of transactions */
	uint32		items;
	uint32		room;
	uint32		routed;			/* partitions found by tuple routing that are items already */
	bool		records;		/* else only rows_examined */
	bool		timed;
	bool		routes;
	bool		collected;		/* it has told its client that it is complete */
	PfsPgTimes	times;
	Part	   *item;			/* own, or of the query's memory */
	Part		own[OWN_ITEMS];
} OpenQuery;

static OpenQuery queries[QUERIES];
static uint32 queries_used = 0; /* of the array; those closed are in the list of free ones */
static OpenQuery *newest = NULL;
static OpenQuery *free_query = NULL;

static PfsPgTable *
find_slowly(Oid relation, bool make)
{
	uint32		start = (relation * 2654435761u) >> 22;
	PfsPgTable *place = NULL;

	StaticAssertStmt(TABLES == 1 << 10, "the hash has ten bits");
	for (uint32 i = 0; i < PROBES; i++)
	{
		PfsPgTable *table = &tables[(start + i) & (TABLES - 1)];

		if (table->relation == relation)
			return table;
		if (place == NULL && (table->relation == InvalidOid ||
							  (table->period != period && table->transaction != transaction)))
			place = table;
	}
	if (!make)
		return NULL;
	if (place == NULL)
	{
		pfs_lose(pfs_arena, PFS_LOSS_TABLES);
		return NULL;
	}
	list_free(place->exclusions);
	memset(place, 0, sizeof(*place));
	place->relation = relation;
	return place;
}

static inline PfsPgTable *
find(Oid relation, bool make)
{
	PfsPgTable *table = &tables[(relation * 2654435761u) >> 22];

	return pfs_likely(table->relation == relation) ? table : find_slowly(relation, make);
}

/* Has the row another owner, another name, or has setup_objects changed? */
static inline bool
is_stale(const PfsPgTable *table)
{
	return table->use != pfs_load(&table->shared->use) ||
		table->rule != pfs_load(&table->shared->rule) ||
		table->rule >> 32 != pfs_load(&pfs_arena->objects_changed);
}

/* The relation, if it is watched.  At safe points. */
static inline PfsPgTable *
find_watched(Oid relation)
{
	PfsPgTable *table = find(relation, true);

	if (table == NULL)
		return NULL;
	if (pfs_unlikely(table->row != 0 && is_stale(table)))
		pfs_pg_table_ask(table);
	if (pfs_unlikely(table->kind == PFS_PG_RELATION_UNKNOWN))
		pfs_pg_table_resolve(table);
	return table->watched ? table : NULL;
}

/* --- the server's counters --- */

static inline uint64
rows_fetched(const PfsPgTable *table, const PgStat_TableStatus *status)
{
	uint64		rows = (uint64) PFS_PG_COUNTER(status, tuples_fetched);

	if (table->kind == PFS_PG_RELATION_TABLE)
		rows += (uint64) PFS_PG_COUNTER(status, tuples_returned);
	return rows;
}

/* Rows of all levels of the transaction under way; what a TRUNCATE has set aside counts too. */
static void
rows_changed(const PgStat_TableStatus *status, uint64 total[PFS_TABLE_OPERATIONS], int from_level)
{
	total[PFS_TABLE_INSERT] = total[PFS_TABLE_UPDATE] = total[PFS_TABLE_DELETE] = 0;
	for (const PgStat_TableXactStatus *level = status->trans;
		 level != NULL && level->nest_level >= from_level; level = level->upper)
	{
		total[PFS_TABLE_INSERT] += (uint64) level->tuples_inserted;
		total[PFS_TABLE_UPDATE] += (uint64) level->tuples_updated;
		total[PFS_TABLE_DELETE] += (uint64) level->tuples_deleted;
		if (!level->truncdropped)
			continue;
		total[PFS_TABLE_INSERT] += (uint64) level->inserted_pre_truncdrop;
		total[PFS_TABLE_UPDATE] += (uint64) level->updated_pre_truncdrop;
		total[PFS_TABLE_DELETE] += (uint64) level->deleted_pre_truncdrop;
	}
}

/* First look at a relation in this period or transaction: what it has counted before is not ours. */
static inline void
meet(PfsPgTable *table, const PgStat_TableStatus *status)
{
	if (table->period != period)
	{
		table->period = period;
		table->counted[PFS_TABLE_FETCH] = status == NULL || period_swept == period
			? 0 : rows_fetched(table, status);
	}
	if (table->transaction != transaction)
	{
		table->transaction = transaction;
		table->counted[PFS_TABLE_INSERT] = 0;
		table->counted[PFS_TABLE_UPDATE] = 0;
		table->counted[PFS_TABLE_DELETE] = 0;
	}
}

static inline uint64
unrecorded_rows(const PfsPgTable *table, const uint64 *total, PfsTableOperation operation)
{
	return total[operation] > table->counted[operation]
		? total[operation] - table->counted[operation] : 0;
}

static inline void
record(PfsPgTable *table, PfsTableOperation operation, uint64 rows, PfsTicks start, int64 ticks)
{
	table->counted[operation] += rows;
	pfs_wait_table(&pfs_session, table->row, table->use, operation, rows, start,
				   ticks > 0 ? (PfsTicks) ticks : 0);
}

/* --- the server's list of pending counters --- */

/* Its head, a variable that the server does not export; found by its place, see below. */
static dlist_node *pending_head = NULL;

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
static bool head_known = false;

/* wait/io/table/sql/handler */
static const PfsInstrument *instrument = NULL;

static pg_noinline void
find_pending_head(void)
{
	Range		variables = {0, 0};
	Relation	relation;
	PgStat_EntryRef *entry;
	dlist_node *node;

	head_known = true;			/* or never will be */
	instrument = pfs_wait_instrument(pfs_arena, pfs_load(&pfs_arena->table_wait));
	dl_iterate_phdr(find_variables, &variables);
	relation = RelationIdGetRelation(RelationRelationId);
	(void) pgstat_should_count_relation(relation);
	RelationClose(relation);
	entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, RelationRelationId);
	if (entry == NULL)
	{
		head_known = pgstat_track_counts;	/* it may be turned on later */
		return;
	}
	node = &entry->pending_node;
	for (int i = 0; i < PENDING_MAX && node != NULL; i++, node = node->next)
	{
		if ((uintptr_t) node >= variables.start && (uintptr_t) node < variables.end)
		{
			pending_head = node;
			return;
		}
	}
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

static const PgStat_TableStatus *
status_of(const Part *item)
{
	PgStat_EntryRef *entry;

	if (pfs_likely(item->relation != NULL))
		return item->relation->pgstat_info;
	entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, item->table->relation);
	return entry != NULL ? entry->pending : NULL;
}

/* --- rows whose table could not be looked up when they were counted: in an aborted transaction --- */

typedef struct Owed
{
	Oid			relation;
	uint64		returned;
	uint64		rows[PFS_TABLE_OPERATIONS];
} Owed;

static Owed owed[OWED];
static uint32 owed_used = 0;

static void
owe(Oid relation, const PgStat_TableStatus *status)
{
	Owed	   *place = &owed[owed_used];

	if (owed_used == OWED)
	{
		pfs_lose(pfs_arena, PFS_LOSS_TABLES);
		return;
	}
	place->relation = relation;
	rows_changed(status, place->rows, 0);
	place->returned = place->rows[PFS_TABLE_FETCH] = 0;
	if (period_swept == period)
	{
		place->returned = (uint64) PFS_PG_COUNTER(status, tuples_returned);
		place->rows[PFS_TABLE_FETCH] = (uint64) PFS_PG_COUNTER(status, tuples_fetched);
	}
	owed_used++;
}

/* Records them now.  At a safe point. */
static void
settle(void)
{
	while (owed_used > 0)
	{
		Owed		one = owed[--owed_used];
		PfsPgTable *table = find_watched(one.relation);

		if (table == NULL)
			continue;
		if (table->kind == PFS_PG_RELATION_TABLE)
			one.rows[PFS_TABLE_FETCH] += one.returned;
		for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
			if (one.rows[i] > 0)
				pfs_wait_table(&pfs_session, table->row, table->use, i, one.rows[i], 0, 0);
	}
}

/* --- sweeps --- */

/* Looks at all counters, so that what they have counted before is not taken for new.  Safe point. */
static void
sweep_begin(void)
{
	dlist_node *place = NULL;
	PgStat_TableStatus *status;
	Oid			relation;

	if (period_swept == period)
		return;
	while ((status = next_pending(&place, &relation)) != NULL)
	{
		PfsPgTable *table = find(relation, true);

		if (table == NULL)
			return;				/* too many: those met later will begin at what they show then */
		if (table->kind == PFS_PG_RELATION_UNKNOWN)
			pfs_pg_table_resolve(table);
		meet(table, status);
	}
	period_swept = period;
}

/* Records what all relations have counted and nobody has recorded; untimed but for scans. */
static void
sweep(bool safe)
{
	dlist_node *place = NULL;
	PgStat_TableStatus *status;
	Oid			relation;
	uint64		total[PFS_TABLE_OPERATIONS];

	for (OpenQuery *query = newest; query != NULL; query = query->older)
		pfs_pg_time_harvest(&query->times);
	while ((status = next_pending(&place, &relation)) != NULL)
	{
		PfsPgTable *table = find(relation, false);

		if (table == NULL || table->kind == PFS_PG_RELATION_UNKNOWN)
		{
			if (status->trans == NULL &&
				(period_swept != period || (PFS_PG_COUNTER(status, tuples_returned) == 0 &&
											PFS_PG_COUNTER(status, tuples_fetched) == 0)))
				continue;
			if (!safe)
			{
				owe(relation, status);
				continue;
			}
			table = find_watched(relation);
		}
		if (table == NULL || !table->watched)
			continue;
		meet(table, status);
		total[PFS_TABLE_FETCH] = rows_fetched(table, status);
		rows_changed(status, total, 0);
		for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
		{
			uint64		rows = unrecorded_rows(table, total, i);

			if (rows > 0)
				record(table, i, rows, table->start, i == PFS_TABLE_FETCH ? table->ticks : 0);
		}
		table->ticks = 0;
		table->start = 0;
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
		PfsPgTable *table = status->trans != NULL ? find(relation, false) : NULL;

		if (table == NULL || table->transaction != transaction)
			continue;
		rows_changed(status, gone, level);
		for (int i = PFS_TABLE_INSERT; i < PFS_TABLE_OPERATIONS; i++)
			table->counted[i] -= Min(table->counted[i], gone[i]);
	}
}

/* What a process needs, and what it has put off.  At safe points. */
static void
prepare(void)
{
	if (!head_known)
		find_pending_head();
	settle();
}

/* --- start of a query --- */

static inline OpenQuery *
find_query(const QueryDesc *desc)
{
	OpenQuery  *query = newest;

	while (query != NULL && pfs_unlikely(query->query != desc))
		query = query->older;
	return query;
}

static inline void
close_query(OpenQuery *query)
{
	OpenQuery **link = &newest;

	pfs_pg_time_release(&query->times);
	while (pfs_unlikely(*link != query))
		link = &(*link)->older;
	*link = query->older;
	query->older = free_query;
	free_query = query;
}

static inline OpenQuery *
open_query(const QueryDesc *desc)
{
	OpenQuery  *query = find_query(desc);

	if (pfs_unlikely(query != NULL))
		close_query(query);
	query = free_query;
	if (pfs_likely(query != NULL))
		free_query = query->older;
	else if (queries_used < QUERIES)
		query = &queries[queries_used++];
	else
	{
		pfs_lose(pfs_arena, PFS_LOSS_FRAMES);
		return NULL;
	}
	query->query = desc;
	query->older = newest;
	newest = query;
	query->level = GetCurrentTransactionNestLevel();
	query->items = 0;
	query->room = OWN_ITEMS;
	query->routed = 0;
	query->routes = query->collected = false;
	query->item = query->own;
	pfs_pg_time_begin(&query->times);
	return query;
}

static pg_noinline void
make_room(OpenQuery *query)
{
	Part	   *more = MemoryContextAlloc(query->query->estate->es_query_cxt,
										  query->room * 4 * sizeof(Part));

	memcpy(more, query->item, query->items * sizeof(Part));
	query->item = more;
	query->room *= 4;
}

static inline Part *
add_item(OpenQuery *query)
{
	if (pfs_unlikely(query->items == query->room))
		make_room(query);
	return &query->item[query->items++];
}

static inline uint64
rows_examined(Reads reads, const PgStat_TableStatus *status)
{
	if (reads == READS_INDEX)
		return (uint64) PFS_PG_COUNTER(status, tuples_fetched);
	if (reads == READS_NOTHING)
		return 0;
	return (uint64) PFS_PG_COUNTER(status, tuples_returned) +
		(reads == READS_TABLE ? (uint64) PFS_PG_COUNTER(status, tuples_fetched) : 0);
}

/* Is another query open that reads or changes this table? */
static bool
others_have(const OpenQuery *query, const PfsPgTable *table)
{
	for (const OpenQuery *other = newest; other != NULL; other = other->older)
		for (uint32 i = 0; other != query && i < other->items; i++)
			if (other->item[i].table == table)
				return true;
	return false;
}

/*
 * What was done before the query belongs to other queries, or to nobody: to what ran while nothing
 * was recorded.
 */
static pg_noinline void
hold_back_rows(const OpenQuery *query, Part *item, const PgStat_TableStatus *status)
{
	PfsPgTable *table = item->table;
	bool		others = utility_level > 0 || others_have(query, table);
	uint64		total[PFS_TABLE_OPERATIONS];

	total[PFS_TABLE_FETCH] = rows_fetched(table, status);
	rows_changed(status, total, 0);
	for (int i = 0; i < (item->changed ? PFS_TABLE_OPERATIONS : 1); i++)
	{
		if (!others || total[i] < table->counted[i])
			table->counted[i] = total[i];
		item->held[i] = total[i] - table->counted[i];
	}
}

static inline void
hold_back(const OpenQuery *query, Part *item, const PgStat_TableStatus *status)
{
	meet(item->table, status);
	memset(item->held, 0, sizeof(item->held));
	if (status != NULL &&
		pfs_unlikely(rows_fetched(item->table, status) != item->table->counted[PFS_TABLE_FETCH] ||
					 (item->changed && status->trans != NULL)))
		hold_back_rows(query, item, status);
}

/* Adds a relation to a query, once. */
static inline PfsPgTable *
watch(OpenQuery *query, Relation relation, Reads reads, bool changed)
{
	PfsPgTable *table = query->records ? find_watched(RelationGetRelid(relation)) : NULL;
	const PgStat_TableStatus *status;
	Part	   *item;

	for (uint32 i = 0; i < query->items && i < OWN_ITEMS; i++)
		if (query->item[i].relation == relation && query->item[i].reads == reads)
			return table;		/* a self-join */
	(void) pgstat_should_count_relation(relation);	/* finds what it has counted, too */
	status = relation->pgstat_info;
	item = add_item(query);
	item->relation = relation;
	item->table = table;
	item->reads = (uint8) reads;
	item->changed = changed;
	item->examined = status != NULL ? rows_examined(reads, status) : 0;
	if (pfs_likely(table != NULL))
		hold_back(query, item, status);
	return table;
}

/* An index in which the executor will look for conflicting rows, without a node of the plan. */
static void
watch_look_ups(OpenQuery *query, List *indexes)
{
	ListCell   *cell;

	foreach(cell, indexes)
	{
		PfsPgTable *table = find_watched(lfirst_oid(cell));
		Part	   *item;

		if (table == NULL)
			continue;
		item = add_item(query);
		item->relation = NULL;
		item->table = table;
		item->reads = READS_NOTHING;
		item->changed = false;
		item->examined = 0;
		hold_back(query, item, status_of(item));
	}
}

static inline bool
scan(OpenQuery *query, PlanState *node, Relation relation, Reads reads)
{
	PfsPgTable *table;

	if (relation == NULL)		/* EXPLAIN */
		return false;
	table = watch(query, relation, reads, false);
	if (!query->timed || table == NULL || !table->timed)
		return false;
	pfs_pg_time_node(&query->times, node, PFS_PG_TIME_OWN, table);
	return true;
}

static bool look_at(OpenQuery *query, PlanState *node, int depth);

static void
look_at_all(OpenQuery *query, PlanState **nodes, int count, int depth)
{
	for (int i = 0; i < count; i++)
		look_at(query, nodes[i], depth);
}

/* Indexes in which the executor looks for rows that conflict with a new one. */
static void
watch_conflicts(OpenQuery *query, const ModifyTableState *node, PfsPgTable *table, Relation relation)
{
	const ModifyTable *plan = (const ModifyTable *) node->ps.plan;
	List	   *indexes;

	if (node->operation == CMD_DELETE || !relation->rd_rel->relhasindex)
		return;
	watch_look_ups(query, pfs_pg_table_exclusions(table, relation));
	if (pfs_likely(plan->onConflictAction == ONCONFLICT_NONE))
		return;
	indexes = plan->arbiterIndexes != NIL ? plan->arbiterIndexes : RelationGetIndexList(relation);
	watch_look_ups(query, indexes);
	if (indexes != plan->arbiterIndexes)
		list_free(indexes);
}

static void
modify(OpenQuery *query, ModifyTableState *node, bool child_timed)
{
	const ModifyTable *plan = (const ModifyTable *) node->ps.plan;
	bool		timed = false;

	if (!query->records)
		return;
	query->routes |= node->rootResultRelInfo->ri_RelationDesc->rd_rel->relkind ==
		RELKIND_PARTITIONED_TABLE;
	if (query->routes)
	{
		timed = true;			/* its partitions are not known yet */
		if (plan->onConflictAction != ONCONFLICT_NONE)
			sweep_begin();		/* nor are their indexes */
	}
	for (int i = 0; i < node->mt_nrels; i++)
	{
		Relation	relation = node->resultRelInfo[i].ri_RelationDesc;
		PfsPgTable *table = watch(query, relation, READS_NOTHING, true);

		if (table == NULL)
			continue;
		timed |= table->timed;
		watch_conflicts(query, node, table, relation);
	}
	if (!query->timed || !timed)
		return;
	if (!child_timed)
		pfs_pg_time_node(&query->times, outerPlanState(node), PFS_PG_TIME_OTHER, NULL);
	pfs_pg_time_node(&query->times, &node->ps, PFS_PG_TIME_CHANGE, NULL);
}

/* Finds the scans and modifications below a node; true: the node is timed. */
static bool
look_at(OpenQuery *query, PlanState *node, int depth)
{
	Relation	relation;
	Reads		reads = READS_TABLE;
	ListCell   *cell;
	bool		timed;

	if (node == NULL || depth > PLAN_DEPTH_MAX)
		return false;
	switch (nodeTag(node))
	{
		case T_IndexScanState:
			relation = ((IndexScanState *) node)->iss_RelationDesc;
			reads = READS_INDEX;
			break;
		case T_IndexOnlyScanState:
			relation = ((IndexOnlyScanState *) node)->ioss_RelationDesc;
			reads = READS_INDEX_ONLY;
			break;
		case T_CustomScanState:
			foreach(cell, ((CustomScanState *) node)->custom_ps)
				look_at(query, (PlanState *) lfirst(cell), depth + 1);
			/* FALLTHROUGH */
		case T_SeqScanState:
		case T_SampleScanState:
		case T_BitmapHeapScanState:
		case T_TidRangeScanState:
			relation = ((ScanState *) node)->ss_currentRelation;
			break;
		case T_AppendState:
			look_at_all(query, ((AppendState *) node)->appendplans,
						((AppendState *) node)->as_nplans, depth + 1);
			return false;
		case T_MergeAppendState:
			look_at_all(query, ((MergeAppendState *) node)->mergeplans,
						((MergeAppendState *) node)->ms_nplans, depth + 1);
			return false;
		case T_SubqueryScanState:
			look_at(query, ((SubqueryScanState *) node)->subplan, depth + 1);
			return false;
		case T_ModifyTableState:
			timed = look_at(query, outerPlanState(node), depth + 1);
			modify(query, (ModifyTableState *) node, timed);
			return false;
		default:
			look_at(query, outerPlanState(node), depth + 1);
			look_at(query, innerPlanState(node), depth + 1);
			return false;
	}
	return scan(query, node, relation, reads);
}

/* After ExecutorStart: the plan is initialised, its relations are open.  statement: NULL = none. */
void
pfs_pg_table_start(QueryDesc *desc, const PfsStatement *statement)
{
	bool		records = statement == NULL ? pfs_pg_wants(PFS_GATE_TABLES)
		: (pfs_load(&pfs_arena->gate) & PFS_GATE_TABLES & PFS_BUILT) != 0;
	OpenQuery  *query;
	ListCell   *cell;

	if ((!records && statement == NULL) || desc->planstate == NULL)
		return;
	if (records && pfs_unlikely(!head_known || owed_used > 0))
		prepare();
	query = open_query(desc);
	if (query == NULL)
		return;
	query->records = records;
	query->timed = records && pfs_load(&instrument->timed) != 0;
	look_at(query, desc->planstate, 0);
	foreach(cell, desc->estate->es_subplanstates)
		look_at(query, (PlanState *) lfirst(cell), 0);
	if (query->items == 0 && !query->routes)
		close_query(query);
	else
		unrecorded |= records;
}

/* --- end of a query --- */

/* Partitions that tuple routing has chosen, and the indexes in which it looked for conflicts. */
static void
add_routed(OpenQuery *query)
{
	List	   *routed = query->query->estate->es_tuple_routing_result_relations;

	for (; query->routed < (uint32) list_length(routed); query->routed++)
	{
		ResultRelInfo *target = list_nth(routed, (int) query->routed);
		int			indexes = period_swept == period ? target->ri_NumIndices : 0;

		for (int i = -1; i < indexes; i++)
		{
			Relation	relation = i < 0 ? target->ri_RelationDesc : target->ri_IndexRelationDescs[i];
			PfsPgTable *table = relation != NULL ? find_watched(RelationGetRelid(relation)) : NULL;
			Part	   *item;

			if (table == NULL)
				continue;
			item = add_item(query);
			memset(item, 0, sizeof(*item));
			item->relation = relation;
			item->table = table;
			item->reads = READS_NOTHING;
			item->changed = i < 0;
			meet(table, relation->pgstat_info);
		}
	}
}

/* The query's own rows of an operation; the last query open on a table takes what is left. */
static inline uint64
own_rows(const OpenQuery *query, const Part *item, const uint64 *total, PfsTableOperation operation)
{
	uint64		rows = unrecorded_rows(item->table, total, operation);
	uint64		held = item->held[operation];

	if (pfs_likely(held == 0) || rows == 0 || !others_have(query, item->table))
		return rows;
	return rows > held ? rows - held : 0;
}

/* Rows among which times are distributed: changed ones, and those of scans without a time of their own. */
static void
count_shares(OpenQuery *query, uint64 *fetched, uint64 *changed)
{
	for (uint32 i = 0; i < query->items; i++)
	{
		const Part *item = &query->item[i];
		const PgStat_TableStatus *status = item->relation != NULL ? item->relation->pgstat_info : NULL;
		uint64		total[PFS_TABLE_OPERATIONS];

		if (status == NULL || item->table == NULL)
			continue;
		total[PFS_TABLE_FETCH] = rows_fetched(item->table, status);
		if (item->table->start == 0)
			*fetched += own_rows(query, item, total, PFS_TABLE_FETCH);
		if (!item->changed || status->trans == NULL)
			continue;
		rows_changed(status, total, 0);
		for (int k = PFS_TABLE_INSERT; k < PFS_TABLE_OPERATIONS; k++)
			*changed += own_rows(query, item, total, k);
	}
}

static int64
share(int64 ticks, uint64 rows, uint64 of)
{
	return rows == of ? ticks : (int64) ((double) ticks * (double) rows / (double) of);
}

static void
record_changes(OpenQuery *query, Part *item, const PgStat_TableStatus *status, uint64 all)
{
	PfsPgTable *table = item->table;
	const PfsPgTimes *times = &query->times;
	uint64		total[PFS_TABLE_OPERATIONS];

	rows_changed(status, total, 0);
	for (int i = PFS_TABLE_INSERT; i < PFS_TABLE_OPERATIONS; i++)
	{
		uint64		rows;

		if (total[i] < table->counted[i])
			table->counted[i] = total[i];	/* a second TRUNCATE in the transaction */
		rows = own_rows(query, item, total, i);
		if (rows == 0)
			continue;
		if (all > 0)
			record(table, i, rows, times->change_start, share(times->change, rows, all));
		else
			record(table, i, rows, 0, 0);
	}
}

static inline void
record_fetches(OpenQuery *query, Part *item, const PgStat_TableStatus *status, uint64 all)
{
	PfsPgTable *table = item->table;
	const PfsPgTimes *times = &query->times;
	uint64		total = rows_fetched(table, status);
	uint64		rows = total == table->counted[PFS_TABLE_FETCH] ? 0
		: own_rows(query, item, &total, PFS_TABLE_FETCH);

	StaticAssertStmt(PFS_TABLE_FETCH == 0, "total is an array of one");
	if (rows > 0)
	{
		if (pfs_likely(table->start != 0 || all == 0))
			record(table, PFS_TABLE_FETCH, rows, table->start, table->ticks);
		else
			record(table, PFS_TABLE_FETCH, rows, times->fetch_start, share(times->fetch, rows, all));
	}
	table->ticks = 0;
	table->start = 0;
}

/* Records the rows of a query.  Returns the rows that it has examined since its start. */
static inline uint64
record_query(OpenQuery *query)
{
	uint64		fetched = 0,
				changed = 0,
				examined = 0;

	pfs_pg_time_harvest(&query->times);
	if (pfs_unlikely(query->routes))
		add_routed(query);
	if (query->times.distributes)
		count_shares(query, &fetched, &changed);
	for (uint32 i = 0; i < query->items; i++)
	{
		Part	   *item = &query->item[i];
		const PgStat_TableStatus *status = status_of(item);
		uint64		now;

		if (status == NULL)
			continue;
		now = rows_examined(item->reads, status);
		examined += now > item->examined ? now - item->examined : 0;
		if (item->table == NULL)
			continue;
		record_fetches(query, item, status, fetched);
		if (item->changed && status->trans != NULL)
			record_changes(query, item, status, changed);
	}
	if (query->times.distributes)
	{
		query->times.fetch = query->times.change = 0;
		query->times.fetch_start = query->times.change_start = 0;
	}
	query->collected = true;
	return examined;
}

/* A statement has ended, or told its client so; returns the rows that it has examined. */
uint64
pfs_pg_table_collect(const QueryDesc *desc, PfsStatement *statement)
{
	OpenQuery  *query = find_query(desc);
	PfsStatement *running = pfs_session.running;
	uint64		rows;

	if (query == NULL)
		return 0;
	pfs_session.running = statement;	/* the events are nested in it */
	rows = record_query(query);
	pfs_session.running = running;
	return rows;
}

/* Of a query without a statement. */
static pg_noinline void
collect_late(OpenQuery *query)
{
	if (pfs_session.thread != NULL)
		record_query(query);
}

/* Before ExecutorEnd. */
void
pfs_pg_table_end(const QueryDesc *desc)
{
	OpenQuery  *query = find_query(desc);

	if (query == NULL)
		return;
	if (pfs_unlikely(!query->collected))
		collect_late(query);
	close_query(query);
}

/* A statement has failed: its query does not end.  Nothing may be looked up any more. */
void
pfs_pg_table_failed(PfsStatement *statement)
{
	PfsStatement *running = pfs_session.running;

	if (!unrecorded || !pfs_wants(&pfs_session, PFS_GATE_TABLES))
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
	int			before = utility_level;

	if (pfs_session.thread != NULL)
		pfs_pg_table_note_utility(utility);
	if (!touches_rows(utility) || !pfs_pg_wants(PFS_GATE_TABLES) || !IsTransactionState())
		return -1;
	prepare();
	sweep_begin();
	unrecorded = true;
	if (utility_level == 0)
		utility_level = GetCurrentTransactionNestLevel();
	return before;
}

void
pfs_pg_table_utility_end(int before)
{
	if (before < 0)
		return;
	utility_level = before;
	if (pfs_wants(&pfs_session, PFS_GATE_TABLES))
		sweep(IsTransactionState());
}

/* --- transactions --- */

static void
close_queries(int level)
{
	OpenQuery  *older;

	for (OpenQuery *query = newest; query != NULL; query = older)
	{
		older = query->older;
		if (query->level >= level)
			close_query(query);
	}
}

/* In processes that serve no client. */
static pg_noinline void
prepare_commit_of_server(void)
{
	if (MyBackendType == B_AUTOVAC_WORKER)
		pfs_pg_table_ddl = true;	/* drops temporary tables of the dead */
	if (MyBackendType != B_BG_WORKER || (!IsParallelWorker() && !IsLogicalWorker()) ||
		!pfs_pg_wants(PFS_GATE_TABLES))
		return;
	/* those change tables without the executor's hooks, too */
	prepare();
	if (IsParallelWorker())
		period_swept = period;	/* a new process: all counters began at zero */
	sweep(true);
}

static inline void
prepare_commit(void)
{
	if (pfs_unlikely(pfs_pg_table_ddl))
		pfs_pg_table_rename();
	if (pfs_unlikely(MyBackendType != B_BACKEND))
		prepare_commit_of_server();
}

static void
end_transaction(bool committed)
{
	if (pfs_unlikely(!committed || utility_level > 0 || newest != NULL))
	{
		if (unrecorded && pfs_wants(&pfs_session, PFS_GATE_TABLES))
			sweep(false);
		close_queries(0);
	}
	if (!committed)
		utility_level = 0;
	if (pfs_unlikely(pfs_pg_table_ddl || proc_exit_inprogress))
		pfs_pg_table_drop(committed);	/* at its end a process drops its temporary tables */
	transaction++;
	if (utility_level > 0)
		return;					/* the server keeps its counters till the statement ends */
	period++;
	unrecorded = false;
}

void
pfs_pg_table_transaction(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			prepare_commit();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
			end_transaction(true);
			break;
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			end_transaction(false);
			break;
		default:
			break;
	}
}

/* A subtransaction of this level ends; its statements have. */
void
pfs_pg_table_subtransaction(SubXactEvent event, int level)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		for (OpenQuery *query = newest; query != NULL; query = query->older)
			query->level = Min(query->level, level - 1);
		utility_level = Min(utility_level, level - 1);
		return;
	}
	if (utility_level >= level)
		utility_level = 0;
	if (unrecorded && pfs_wants(&pfs_session, PFS_GATE_TABLES))
		sweep(false);
	if (unrecorded)
		take_back(level);
	close_queries(level);
}
