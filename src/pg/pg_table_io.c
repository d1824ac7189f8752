/*
 * pg_table_io.c
 *		Table I/O: rows read and changed, by table and index, from the server's own counters.
 *
 * What a query did is the difference between the server's counters at its start and at its end;
 * see PfsPgTable.  Nothing counts twice when queries are nested: what others have done when a query
 * begins, and nobody has recorded, is held back from it (Part.held).
 *
 * Rows that no plan names (of utility statements, of queries that failed) are found by pg_table_sweep.c.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "pg/pg_arena.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_table_io.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"

#define TABLES_BITS 12			/* of the number of relations known at once */
#define TABLES (1 << TABLES_BITS)
#define PROBES 8				/* neighbours tried, at two places */
#define QUERIES 128				/* open at once */
#define OWN_ITEMS 4
#define PLAN_DEPTH_MAX 200

PfsPgTableState pfs_pg_tables = {.period = 1,.transaction = 1};

/* Owner: this process. */
static PfsPgTable tables[TABLES];

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

/* --- relations --- */

/* First its number itself, so that few pages of memory are touched; tables come in a row. */
static inline uint32
place_of(Oid relation, uint32 attempt)
{
	uint32		place = attempt < PROBES ? relation : (relation * 2654435761u) >> (32 - TABLES_BITS);

	return (place + attempt) & (TABLES - 1);
}

PfsPgTable *
pfs_pg_table_find(Oid relation, bool make)
{
	PfsPgTable *place = NULL;

	for (uint32 i = 0; i < 2 * PROBES; i++)
	{
		PfsPgTable *table = &tables[place_of(relation, i)];

		if (table->relation == relation)
			return table;
		if (place == NULL && (table->relation == InvalidOid ||
							  (table->period != pfs_pg_tables.period &&
							   table->transaction != pfs_pg_tables.transaction)))
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

PfsPgTable *
pfs_pg_table_next(PfsPgTable *table)
{
	for (table = table == NULL ? tables : table + 1; table < tables + TABLES; table++)
		if (OidIsValid(table->relation))
			return table;
	return NULL;
}

/* Has the row another owner, or another name? */
static inline bool
is_stale(const PfsPgTable *table)
{
	return table->use != pfs_load(&table->shared->use) ||
		table->rule != pfs_load(&table->shared->rule);
}

static inline PfsPgTable *
find_watched(Oid relation)
{
	PfsPgTable *table = &tables[place_of(relation, 0)];

	if (pfs_unlikely(table->relation != relation))
		table = pfs_pg_table_find(relation, true);
	if (table == NULL)
		return NULL;
	if (pfs_unlikely(table->row != 0 && is_stale(table)))
		pfs_pg_table_ask(table);
	if (pfs_unlikely(table->kind == PFS_PG_RELATION_UNKNOWN ||
					 table->rule >> 32 != pfs_load(&pfs_arena->objects_changed)))
		pfs_pg_table_resolve(table);
	return table->watched ? table : NULL;
}

PfsPgTable *
pfs_pg_table_watched(Oid relation)
{
	return find_watched(relation);
}

/* --- the server's counters --- */

void
pfs_pg_rows_changed(const PgStat_TableStatus *status, int from_level,
					uint64 total[PFS_TABLE_OPERATIONS])
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

static const PgStat_TableStatus *
status_of(const Part *item)
{
	PgStat_EntryRef *entry;

	if (pfs_likely(item->relation != NULL))
		return item->relation->pgstat_info;
	entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, item->table->relation);
	return entry != NULL ? entry->pending : NULL;
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
	pfs_pg_tables.open--;
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
	pfs_pg_tables.open++;
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
	{
		if (other == query)
			continue;
		if (other->routes)
			return true;			/* maybe: its partitions are added when it ends */
		for (uint32 i = 0; i < other->items; i++)
			if (other->item[i].table == table)
				return true;
	}
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
	bool		others = pfs_pg_tables.utility_level > 0 || others_have(query, table);
	uint64		total[PFS_TABLE_OPERATIONS];

	total[PFS_TABLE_FETCH] = pfs_pg_rows_fetched(table, status);
	pfs_pg_rows_changed(status, 0, total);
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
	pfs_pg_table_meet(item->table, status != NULL ? pfs_pg_rows_fetched(item->table, status) : 0);
	memset(item->held, 0, sizeof(item->held));
	if (status != NULL &&
		pfs_unlikely(pfs_pg_rows_fetched(item->table, status) != item->table->counted[PFS_TABLE_FETCH] ||
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
			pfs_pg_table_sweep_begin();		/* nor are their indexes */
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
static PFS_HOT bool
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
PFS_HOT void
pfs_pg_table_start(QueryDesc *desc, const PfsStatement *statement)
{
	bool		records = statement == NULL ? pfs_pg_wants(PFS_GATE_TABLES)
		: (pfs_load(&pfs_arena->gate) & PFS_GATE_TABLES & PFS_BUILT) != 0;
	OpenQuery  *query;
	ListCell   *cell;

	if ((!records && statement == NULL) || desc->planstate == NULL)
		return;
	if (records && pfs_unlikely(!pfs_pg_tables.prepared))
		pfs_pg_table_prepare();
	query = open_query(desc);
	if (query == NULL)
		return;
	query->records = records;
	query->timed = records && pfs_load(&pfs_pg_tables.instrument->timed) != 0;
	look_at(query, desc->planstate, 0);
	foreach(cell, desc->estate->es_subplanstates)
		look_at(query, (PlanState *) lfirst(cell), 0);
	if (query->items == 0 && !query->routes)
		close_query(query);
	else
		pfs_pg_tables.unrecorded |= records;
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
		int			indexes = pfs_pg_tables.swept == pfs_pg_tables.period ? target->ri_NumIndices : 0;

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
			pfs_pg_table_meet(table, relation->pgstat_info == NULL ? 0
							  : pfs_pg_rows_fetched(table, relation->pgstat_info));
		}
	}
}

/* The query's own rows of an operation; the last query open on a table takes what is left. */
static inline uint64
own_rows(const OpenQuery *query, const Part *item, const uint64 *total, PfsTableOperation operation)
{
	uint64		rows = pfs_pg_rows_unrecorded(item->table, total, operation);
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
		total[PFS_TABLE_FETCH] = pfs_pg_rows_fetched(item->table, status);
		if (item->table->start == 0)
			*fetched += own_rows(query, item, total, PFS_TABLE_FETCH);
		if (!item->changed || status->trans == NULL)
			continue;
		pfs_pg_rows_changed(status, 0, total);
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

	pfs_pg_rows_changed(status, 0, total);
	for (int i = PFS_TABLE_INSERT; i < PFS_TABLE_OPERATIONS; i++)
	{
		uint64		rows;

		if (total[i] < table->counted[i])
			table->counted[i] = total[i];	/* a second TRUNCATE in the transaction */
		rows = own_rows(query, item, total, i);
		if (rows == 0)
			continue;
		if (all > 0)
			pfs_pg_table_record(table, i, rows, times->change_start, share(times->change, rows, all));
		else
			pfs_pg_table_record(table, i, rows, 0, 0);
	}
}

static inline void
record_fetches(OpenQuery *query, Part *item, const PgStat_TableStatus *status, uint64 all)
{
	PfsPgTable *table = item->table;
	const PfsPgTimes *times = &query->times;
	uint64		total = pfs_pg_rows_fetched(table, status);
	uint64		rows = total == table->counted[PFS_TABLE_FETCH] ? 0
		: own_rows(query, item, &total, PFS_TABLE_FETCH);

	StaticAssertStmt(PFS_TABLE_FETCH == 0, "total is an array of one");
	if (rows > 0)
	{
		if (pfs_likely(table->start != 0 || all == 0))
			pfs_pg_table_record(table, PFS_TABLE_FETCH, rows, table->start, table->ticks);
		else
			pfs_pg_table_record(table, PFS_TABLE_FETCH, rows, times->fetch_start, share(times->fetch, rows, all));
	}
	table->ticks = 0;
	table->start = 0;
}

/* Records the rows of a query.  Returns the rows that it has examined since its start. */
static pg_attribute_always_inline uint64
record_query(OpenQuery *query)
{
	uint64		fetched = 0,
				changed = 0,
				examined = 0;

	pfs_pg_time_harvest(&query->times);
	if (pfs_unlikely(query->routes || query->times.distributes))
	{
		if (query->routes)
			add_routed(query);
		if (query->times.distributes)
			count_shares(query, &fetched, &changed);
	}
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
	if (pfs_unlikely(query->times.distributes))
	{
		query->times.fetch = query->times.change = 0;
		query->times.fetch_start = query->times.change_start = 0;
	}
	query->collected = true;
	return examined;
}

/* A statement has ended, or told its client so; returns the rows that it has examined. */
PFS_HOT uint64
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
PFS_HOT void
pfs_pg_table_end(const QueryDesc *desc)
{
	OpenQuery  *query = find_query(desc);

	if (query == NULL)
		return;
	if (pfs_unlikely(!query->collected))
		collect_late(query);
	close_query(query);
}

/* --- all open queries --- */

void
pfs_pg_table_harvest(void)
{
	for (OpenQuery *query = newest; query != NULL; query = query->older)
		pfs_pg_time_harvest(&query->times);
}

void
pfs_pg_table_close(int level)
{
	OpenQuery  *older;

	for (OpenQuery *query = newest; query != NULL; query = older)
	{
		older = query->older;
		if (query->level >= level)
			close_query(query);
	}
}

void
pfs_pg_table_merge(int level)
{
	for (OpenQuery *query = newest; query != NULL; query = query->older)
		query->level = Min(query->level, level - 1);
}
