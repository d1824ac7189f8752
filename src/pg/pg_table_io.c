/*
 * pg_table_io.c
 *		Table I/O: rows read and changed, by table and index, from the server's own counters.
 *
 * What a query did is the difference between the server's counters at its start and at its end;
 * see PfsPgTable.  Nothing counts twice when queries are nested: what others have done when a query
 * begins, and nobody has recorded, is held back from it (PfsPgPart.held).
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

/* trusted: the query's relations are open. */
static inline const PgStat_TableStatus *
status_of(const PfsPgPart *part, bool trusted)
{
	PgStat_EntryRef *entry;

	if (pfs_likely(trusted && part->relation != NULL))
		return part->relation->pgstat_info;
	entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, part->oid);
	return entry != NULL ? entry->pending : NULL;
}

/* --- start of a query --- */

static pg_noinline bool
make_room(PfsPgQuery *query)
{
	PfsPgPart  *more = MemoryContextAllocExtended(query->estate->es_query_cxt,
												  query->room * 4 * sizeof(PfsPgPart),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (more == NULL)
	{
		pfs_lose(pfs_arena, PFS_LOSS_TABLES);
		return false;
	}
	memcpy(more, query->part, query->parts * sizeof(PfsPgPart));
	query->part = more;
	query->room *= 4;
	return true;
}

/* NULL: no memory (counted). */
static inline PfsPgPart *
add_part(PfsPgQuery *query, Relation relation, Oid oid, PfsPgTable *table, Reads reads, bool changed)
{
	PfsPgPart  *part;

	if (pfs_unlikely(query->parts == query->room) && !make_room(query))
		return NULL;
	part = &query->part[query->parts++];
	part->relation = relation;
	part->table = table;
	part->oid = oid;
	part->reads = (uint8) reads;
	part->changed = changed;
	part->examined = 0;
	memset(part->held, 0, sizeof(part->held));
	return part;
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
others_have(const PfsPgQuery *query, const PfsPgTable *table)
{
	dlist_iter	at;

	dlist_foreach(at, &pfs_pg_open_queries)
	{
		const PfsPgQuery *other = dlist_container(PfsPgQuery, node, at.cur);

		if (other == query)
			continue;
		if (other->routes)
			return true;			/* maybe: its partitions are added when it ends */
		for (uint32 i = 0; i < other->parts; i++)
			if (other->part[i].table == table)
				return true;
	}
	return false;
}

/*
 * What was done before the query belongs to other queries, or to nobody: to what ran while nothing
 * was recorded.
 */
static pg_noinline void
hold_back_rows(const PfsPgQuery *query, PfsPgPart *part, const PgStat_TableStatus *status)
{
	PfsPgTable *table = part->table;
	bool		others = pfs_pg_tables.utility_level > 0 || others_have(query, table);
	uint64		total[PFS_TABLE_OPERATIONS];

	total[PFS_TABLE_FETCH] = pfs_pg_rows_fetched(table, status);
	pfs_pg_rows_changed(status, 0, total);
	for (int i = 0; i < (part->changed ? PFS_TABLE_OPERATIONS : 1); i++)
	{
		if (!others || total[i] < table->counted[i])
			table->counted[i] = total[i];
		part->held[i] = total[i] - table->counted[i];
	}
}

static inline void
hold_back(const PfsPgQuery *query, PfsPgPart *part, const PgStat_TableStatus *status)
{
	PfsPgTable *table = part->table;

	pfs_pg_table_meet(table, status != NULL ? pfs_pg_rows_fetched(table, status) : 0);
	if (status != NULL &&
		pfs_unlikely(pfs_pg_rows_fetched(table, status) != table->counted[PFS_TABLE_FETCH] ||
					 (part->changed && status->trans != NULL)))
		hold_back_rows(query, part, status);
}

/* Adds a relation to a query, once. */
static inline PfsPgTable *
watch(PfsPgQuery *query, Relation relation, Reads reads, bool changed)
{
	PfsPgTable *table = query->records ? find_watched(RelationGetRelid(relation)) : NULL;
	const PgStat_TableStatus *status;
	PfsPgPart  *part;

	for (uint32 i = 0; i < query->parts && i < PFS_PG_OWN_PARTS; i++)
		if (query->part[i].relation == relation && query->part[i].reads == reads)
			return table;		/* a self-join */
	(void) pgstat_should_count_relation(relation);	/* finds what it has counted, too */
	part = add_part(query, relation, RelationGetRelid(relation), table, reads, changed);
	if (pfs_unlikely(part == NULL))
		return NULL;
	status = relation->pgstat_info;
	if (status != NULL)
		part->examined = rows_examined(reads, status);
	if (pfs_likely(table != NULL))
		hold_back(query, part, status);
	return table;
}

/* An index in which the executor will look for conflicting rows, without a node of the plan. */
static void
watch_look_ups(PfsPgQuery *query, List *indexes)
{
	ListCell   *cell;

	foreach(cell, indexes)
	{
		Oid			index = lfirst_oid(cell);
		PfsPgTable *table = find_watched(index);
		PfsPgPart  *part = table == NULL ? NULL
			: add_part(query, NULL, index, table, READS_NOTHING, false);

		if (part != NULL)
			hold_back(query, part, status_of(part, false));
	}
}

static void look_at(PfsPgQuery *query, PlanState *node, int depth);

static void
look_at_all(PfsPgQuery *query, PlanState **nodes, int count, int depth)
{
	for (int i = 0; i < count; i++)
		look_at(query, nodes[i], depth);
}

/* Indexes in which the executor looks for rows that conflict with a new one. */
static void
watch_conflicts(PfsPgQuery *query, const ModifyTableState *node, PfsPgTable *table, Relation relation)
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
modify(PfsPgQuery *query, ModifyTableState *node)
{
	const ModifyTable *plan = (const ModifyTable *) node->ps.plan;

	if (!query->records)
		return;
	query->routes |= node->rootResultRelInfo->ri_RelationDesc->rd_rel->relkind ==
		RELKIND_PARTITIONED_TABLE;
	if (query->routes && plan->onConflictAction != ONCONFLICT_NONE)
		pfs_pg_table_sweep_begin(); /* the partitions' indexes are not known yet */
	for (int i = 0; i < node->mt_nrels; i++)
	{
		Relation	relation = node->resultRelInfo[i].ri_RelationDesc;
		PfsPgTable *table = watch(query, relation, READS_NOTHING, true);

		if (table != NULL)
			watch_conflicts(query, node, table, relation);
	}
}

/* Finds the scans and modifications below a node. */
static PFS_HOT void
look_at(PfsPgQuery *query, PlanState *node, int depth)
{
	Relation	relation;
	Reads		reads = READS_TABLE;
	ListCell   *cell;

	if (node == NULL || depth > PLAN_DEPTH_MAX)
		return;
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
			return;
		case T_MergeAppendState:
			look_at_all(query, ((MergeAppendState *) node)->mergeplans,
						((MergeAppendState *) node)->ms_nplans, depth + 1);
			return;
		case T_SubqueryScanState:
			look_at(query, ((SubqueryScanState *) node)->subplan, depth + 1);
			return;
		case T_ModifyTableState:
			look_at(query, outerPlanState(node), depth + 1);
			modify(query, (ModifyTableState *) node);
			return;
		default:
			look_at(query, outerPlanState(node), depth + 1);
			look_at(query, innerPlanState(node), depth + 1);
			return;
	}
	if (relation != NULL)		/* of EXPLAIN it is */
		watch(query, relation, reads, false);
}

/* After ExecutorStart: the plan is initialised, its relations are open. */
PFS_HOT void
pfs_pg_table_start(PfsPgQuery *query)
{
	ListCell   *cell;

	query->records = query->statement == NULL ? pfs_pg_wants(PFS_GATE_TABLES)
		: (pfs_load(&pfs_arena->gate) & PFS_GATE_TABLES & PFS_BUILT) != 0;
	if (query->records && pfs_unlikely(!pfs_pg_tables.prepared))
		pfs_pg_table_prepare();
	look_at(query, query->plan, 0);
	foreach(cell, query->estate->es_subplanstates)
		look_at(query, (PlanState *) lfirst(cell), 0);
	if (query->parts > 0 || query->routes)
		pfs_pg_tables.unrecorded |= query->records;
}

/* --- end of a query --- */

/* Partitions that tuple routing has chosen, and the indexes in which it looked for conflicts. */
static void
add_routed(PfsPgQuery *query)
{
	List	   *routed = query->estate->es_tuple_routing_result_relations;

	for (; query->routed < (uint32) list_length(routed); query->routed++)
	{
		ResultRelInfo *target = list_nth(routed, (int) query->routed);
		int			indexes = pfs_pg_tables.swept == pfs_pg_tables.period ? target->ri_NumIndices : 0;

		for (int i = -1; i < indexes; i++)
		{
			Relation	relation = i < 0 ? target->ri_RelationDesc : target->ri_IndexRelationDescs[i];
			PfsPgTable *table = relation != NULL ? find_watched(RelationGetRelid(relation)) : NULL;

			if (table == NULL ||
				add_part(query, relation, RelationGetRelid(relation), table, READS_NOTHING, i < 0) == NULL)
				continue;
			pfs_pg_table_meet(table, relation->pgstat_info == NULL ? 0
							  : pfs_pg_rows_fetched(table, relation->pgstat_info));
		}
	}
}

/* The query's own rows of an operation; the last query open on a table takes what is left. */
static inline uint64
own_rows(const PfsPgQuery *query, const PfsPgPart *part, const uint64 *total, PfsTableOperation operation)
{
	uint64		rows = pfs_pg_rows_unrecorded(part->table, total, operation);
	uint64		held = part->held[operation];

	if (pfs_likely(held == 0) || rows == 0 || !others_have(query, part->table))
		return rows;
	return rows > held ? rows - held : 0;
}

static void
record_changes(const PfsPgQuery *query, const PfsPgPart *part, const PgStat_TableStatus *status)
{
	PfsPgTable *table = part->table;
	uint64		total[PFS_TABLE_OPERATIONS];

	pfs_pg_rows_changed(status, 0, total);
	for (int i = PFS_TABLE_INSERT; i < PFS_TABLE_OPERATIONS; i++)
	{
		uint64		rows;

		if (total[i] < table->counted[i])
			table->counted[i] = total[i];	/* a second TRUNCATE in the transaction */
		rows = own_rows(query, part, total, i);
		if (rows > 0)
			pfs_pg_table_record(table, i, rows);
	}
}

static inline void
record_fetches(const PfsPgQuery *query, const PfsPgPart *part, const PgStat_TableStatus *status)
{
	PfsPgTable *table = part->table;
	uint64		total = pfs_pg_rows_fetched(table, status);
	uint64		rows = total == table->counted[PFS_TABLE_FETCH] ? 0
		: own_rows(query, part, &total, PFS_TABLE_FETCH);

	StaticAssertStmt(PFS_TABLE_FETCH == 0, "total is an array of one");
	if (rows > 0)
		pfs_pg_table_record(table, PFS_TABLE_FETCH, rows);
}

/* Records the rows of a query.  Returns the rows that it has examined since its start. */
static pg_attribute_always_inline uint64
record_query(PfsPgQuery *query, bool trusted)
{
	uint64		examined = 0;

	if (pfs_unlikely(query->routes) && trusted)
		add_routed(query);
	for (uint32 i = 0; i < query->parts; i++)
	{
		PfsPgPart  *part = &query->part[i];
		const PgStat_TableStatus *status = status_of(part, trusted);
		uint64		now;

		if (status == NULL)
			continue;
		now = rows_examined(part->reads, status);
		examined += now > part->examined ? now - part->examined : 0;
		if (part->table == NULL || part->table->relation != part->oid)
			continue;
		record_fetches(query, part, status);
		if (part->changed && status->trans != NULL)
			record_changes(query, part, status);
	}
	query->collected = true;
	return examined;
}

/*
 * The query's statement has ended, or told its client so; returns the rows that it has examined.  Who
 * ends a query will close its relations, so they are open.
 */
PFS_HOT uint64
pfs_pg_table_collect(PfsPgQuery *query, bool ending)
{
	PfsStatement *running = pfs_session.running;
	uint64		rows;

	pfs_session.running = query->statement; /* the events are nested in it */
	rows = record_query(query, ending || pfs_pg_query_is_sure(query));
	pfs_session.running = running;
	return rows;
}

/* Of a query without a statement. */
static pg_noinline void
collect_late(PfsPgQuery *query)
{
	if (pfs_session.thread != NULL)
		record_query(query, true);
}

/* Before ExecutorEnd. */
PFS_HOT void
pfs_pg_table_end(PfsPgQuery *query)
{
	if (pfs_unlikely(!query->collected))
		collect_late(query);
}
