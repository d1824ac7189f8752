/*
 * parts.c
 *		Rows of tables and indexes: differences of the server's counters over ExecutorRun and ExecutorFinish.
 *
 * "seen" of a relation (PfsKnown) is the state of its counters up to which everything is recorded, or belongs
 * to nobody.  A call that begins notes it for each relation of its plan, and records what is more when it
 * ends, or when an error leaves it.  What a nested call finds to be more already belongs to the call around it,
 * and is recorded then: so nothing is subtracted, and nothing counts twice.
 *
 * An epoch is the time of one outermost call.  The server hands its counters over between transactions only,
 * so within an epoch they do not go back, and "seen" holds.
 */
#include "postgres.h"

#include "access/xact.h"
#include "core/wait.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pg/pg_compat.h"
#include "pg/relation/known.h"
#include "pg/relation/parts.h"
#include "pg/relation/relation.h"
#include "pg/relation/times.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"

#define PLAN_DEPTH_MAX 200

/* Calls on the C stack, innermost first; some may have been left without a word. */
static PFS_HOT_DATA PfsRelations *running = NULL;

/* First epoch that can begin in the present transaction. */
static uint32 transaction_epoch = 1;

/*
 * Indexes that were met by routing: whether the server has handed their counters over since cannot be told later,
 * so each transaction looks at them before its first call, in the epoch kept here.  What finds no room is guessed.
 */
#define ROUTED_INDEXES 64

static PfsKnown *routed_index[ROUTED_INDEXES];
static PFS_HOT_DATA uint32 routed_indexes = 0;
static uint32 routed_epoch = 0;

/* --- the server's counters --- */

typedef struct Counters
{
	uint64		value[PFS_TABLE_OPERATIONS];
} Counters;

/*
 * What stands in the levels of the transaction under way, and moves to the other counters when they end; what
 * a TRUNCATE has set aside counts, too.
 */
static pg_noinline void
add_pending(const PgStat_TableXactStatus *level, Counters *counters)
{
	for (; level != NULL; level = level->upper)
	{
		counters->value[PFS_TABLE_INSERT] += (uint64) level->tuples_inserted;
		counters->value[PFS_TABLE_UPDATE] += (uint64) level->tuples_updated;
		counters->value[PFS_TABLE_DELETE] += (uint64) level->tuples_deleted;
		if (!level->truncdropped)
			continue;
		counters->value[PFS_TABLE_INSERT] += (uint64) level->inserted_pre_truncdrop;
		counters->value[PFS_TABLE_UPDATE] += (uint64) level->updated_pre_truncdrop;
		counters->value[PFS_TABLE_DELETE] += (uint64) level->deleted_pre_truncdrop;
	}
}

static inline void
read_table(const PgStat_TableStatus *status, Counters *counters)
{
	counters->value[PFS_TABLE_FETCH] = (uint64) (PFS_PG_COUNTER(status, tuples_returned) +
												 PFS_PG_COUNTER(status, tuples_fetched));
	counters->value[PFS_TABLE_INSERT] = (uint64) PFS_PG_COUNTER(status, tuples_inserted);
	counters->value[PFS_TABLE_UPDATE] = (uint64) PFS_PG_COUNTER(status, tuples_updated);
	counters->value[PFS_TABLE_DELETE] = (uint64) PFS_PG_COUNTER(status, tuples_deleted);
	if (status->trans != NULL)
		add_pending(status->trans, counters);
}

/* The others stay as they are: nobody asks. */
static inline void
read_index(const PgStat_TableStatus *status, Counters *counters)
{
	counters->value[PFS_INDEX_FETCHED] = (uint64) PFS_PG_COUNTER(status, tuples_fetched);
	counters->value[PFS_INDEX_RETURNED] = (uint64) PFS_PG_COUNTER(status, tuples_returned);
}

static inline void
read_counters(const PgStat_TableStatus *status, bool index, Counters *counters)
{
	if (index)
		read_index(status, counters);
	else
		read_table(status, counters);
}

/* Takes a lock, and allocates, if this process has not counted there yet. */
static pg_noinline const PgStat_TableStatus *
status_of_oid(Oid oid)
{
	PgStat_EntryRef *entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, oid);

	return entry != NULL ? entry->pending : NULL;
}

/* NULL: nothing is counted there. */
static inline const PgStat_TableStatus *
status_of(const PfsPart *part)
{
	return pfs_likely(part->relation != NULL) ? part->relation->pgstat_info : status_of_oid(part->oid);
}

/* --- recording --- */

static inline bool
reads_index(const PfsPart *part)
{
	return part->reads >= PFS_READS_INDEX;
}

/* A counter that went back began at zero. */
static inline uint64
difference(uint64 now, uint64 seen)
{
	return now >= seen ? now - seen : now;
}

static inline void
record(const PfsPart *part, PfsTableOperation operation, uint64 rows)
{
	PfsKnown   *known = part->known;

	if (part->records)
		pfs_wait_rows(&pfs_session, &known->cell, known->row, known->use, operation, rows);
}

/*
 * Records what is more than was seen.  Returns the rows that were examined: those that a scan of an index has
 * fetched, or, if it needs no more than the index, has found there.
 */
static pg_attribute_always_inline uint64
take_index(const PfsPart *part, const PgStat_TableStatus *status)
{
	PfsKnown   *known = part->known;
	uint64		fetched = (uint64) PFS_PG_COUNTER(status, tuples_fetched);
	uint64		returned = (uint64) PFS_PG_COUNTER(status, tuples_returned);
	uint64		rows = difference(fetched, known->seen[PFS_INDEX_FETCHED]);
	uint64		found = difference(returned, known->seen[PFS_INDEX_RETURNED]);

	known->seen[PFS_INDEX_FETCHED] = fetched;
	known->seen[PFS_INDEX_RETURNED] = returned;
	if (rows > 0)
		record(part, PFS_TABLE_FETCH, rows);
	return pfs_likely(part->reads == PFS_READS_INDEX) ? rows : part->reads == PFS_READS_CONFLICTS ? 0 : found;
}

static pg_noinline uint64
take_table(const PfsPart *part, const PgStat_TableStatus *status)
{
	PfsKnown   *known = part->known;
	uint64		examined = 0;
	Counters	now;

	read_table(status, &now);
	for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
	{
		uint64		rows;

		if (now.value[i] == known->seen[i])
			continue;
		rows = difference(now.value[i], known->seen[i]);
		known->seen[i] = now.value[i];
		if (i == PFS_TABLE_FETCH && part->reads == PFS_READS_TABLE)
			examined = rows;
		record(part, i, rows);
	}
	return examined;
}

/* Without a status nothing is counted. */
static pg_attribute_always_inline uint64
take(const PfsPart *part, const PgStat_TableStatus *status)
{
	if (pfs_unlikely(status == NULL))
		return 0;
	return pfs_likely(reads_index(part)) ? take_index(part, status) : take_table(part, status);
}

static inline PfsStatement *
statement_of(const PfsRelations *relations)
{
	return relations->statement != NULL ? *relations->statement : NULL;
}

static inline void
add_examined(const PfsRelations *relations, uint64 rows)
{
	PfsStatement *statement = statement_of(relations);

	if (rows > 0 && statement != NULL)
		pfs_statement_count(statement, PFS_COUNTER_ROWS_EXAMINED, rows);
}

/* Rows are those of a call that is not the innermost: their events are nested in its statement. */
static uint64
take_aside(const PfsRelations *relations, const PfsPart *part, const PgStat_TableStatus *status)
{
	PfsStatement *inner = pfs_session.running;
	uint64		examined;

	if (statement_of(relations) != NULL)
		pfs_session.running = statement_of(relations);
	examined = take(part, status);
	pfs_session.running = inner;
	return examined;
}

/* --- a call begins --- */

/* The counters of a relation are not as they were seen: a call around this one has moved them, or nobody. */
static pg_noinline void
take_for_outer(PfsKnown *known, bool index, const PgStat_TableStatus *status)
{
	for (PfsRelations *outer = running; outer != NULL; outer = outer->outer)
	{
		PfsPart		routed = {.known = known,.records = outer->records && known->watched,.reads = index ? PFS_READS_CONFLICTS : PFS_READS_NOTHING};

		for (uint32 i = 0; i < outer->parts; i++)
			if (outer->part[i].known == known)
			{
				add_examined(outer, take_aside(outer, &outer->part[i], status));
				return;
			}
		if (!outer->routes)
			continue;
		take_aside(outer, &routed, status); /* maybe */
		return;
	}
}

static pg_attribute_always_inline void
begin_index(PfsKnown *known, const PgStat_TableStatus *status)
{
	uint64		fetched = status == NULL ? 0 : (uint64) PFS_PG_COUNTER(status, tuples_fetched);
	uint64		returned = status == NULL ? 0 : (uint64) PFS_PG_COUNTER(status, tuples_returned);

	if (pfs_unlikely(known->epoch == pfs_known_epoch) && status != NULL &&
		(known->seen[PFS_INDEX_FETCHED] != fetched || known->seen[PFS_INDEX_RETURNED] != returned))
		take_for_outer(known, true, status);
	known->epoch = pfs_known_epoch;
	known->seen[PFS_INDEX_FETCHED] = fetched;
	known->seen[PFS_INDEX_RETURNED] = returned;
}

static pg_noinline void
begin_table(PfsKnown *known, const PgStat_TableStatus *status)
{
	Counters	now = {0};

	if (status != NULL)
		read_table(status, &now);
	if (known->epoch == pfs_known_epoch && status != NULL && memcmp(known->seen, now.value, sizeof(now.value)) != 0)
		take_for_outer(known, false, status);
	known->epoch = pfs_known_epoch;
	memcpy(known->seen, now.value, sizeof(now.value));
}

static pg_attribute_always_inline void
begin_part(const PfsPart *part)
{
	const PgStat_TableStatus *status;

	if (pfs_likely(part->relation != NULL))
		(void) pgstat_should_count_relation(part->relation);	/* finds what it has counted, too */
	status = status_of(part);
	if (pfs_likely(reads_index(part)))
		begin_index(part->known, status);
	else
		begin_table(part->known, status);
}

static pg_noinline bool
make_room(PfsRelations *relations)
{
	PfsPart    *more = MemoryContextAllocExtended(relations->context, relations->room * 4 * sizeof(PfsPart),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);

	if (more == NULL)
	{
		pfs_lose(pfs_arena, PFS_LOSS_TABLES);
		return false;
	}
	memcpy(more, relations->part, relations->parts * sizeof(PfsPart));
	relations->part = more;
	relations->room *= 4;
	return true;
}

static pg_attribute_always_inline PfsPart *
add_part(PfsRelations *relations, Relation relation, Oid oid, PfsReads reads)
{
	PfsKnown   *known = pfs_known_find(oid);
	PfsPart    *part;

	if (pfs_unlikely(known == NULL) ||
		(pfs_unlikely(relations->parts == relations->room) && !make_room(relations)))
		return NULL;
	part = &relations->part[relations->parts];
	part->records = relations->records && pfs_known_watched(known);
	relations->parts++;
	part->relation = relation;
	part->known = known;
	part->time = NULL;
	part->oid = oid;
	part->reads = (uint8) reads;
	return part;
}

static pg_attribute_always_inline void
add_and_begin(PfsRelations *relations, Relation relation, Oid oid, PfsReads reads)
{
	PfsPart    *part = add_part(relations, relation, oid, reads);

	if (pfs_likely(part != NULL))
		begin_part(part);
}

void
pfs_part_begin(PfsRelations *relations, Oid oid, PfsReads reads)
{
	add_and_begin(relations, NULL, oid, reads);
}

/* node: reads or changes it. */
static pg_noinline void
begin_relation(PfsRelations *relations, Relation relation, PfsReads reads, PlanState *node)
{
	PfsPart    *part = pfs_likely(relation != NULL)
		? add_part(relations, relation, RelationGetRelid(relation), reads) : NULL;

	if (pfs_unlikely(part == NULL))
		return;
	begin_part(part);
	if (relations->timing == PFS_TIMING_UNDECIDED)
		pfs_times_decide(relations, part->known);
	if (pfs_unlikely(relations->timing == PFS_TIMING_TIMED) && part->records && part->known->timed)
		part->time = pfs_times_watch(relations, node);
}

/* --- the plan --- */

/*
 * Indexes in which the executor looks for rows that conflict with a new one, without a node of the plan.  They
 * are not open yet.
 */
static void
begin_conflicts(PfsRelations *relations, const ModifyTable *plan, Relation relation)
{
	List	   *indexes;
	ListCell   *cell;

	if (!relation->rd_indexvalid)
		list_free(RelationGetIndexList(relation));
	/* the list may be made anew while an index is asked about */
	for (int i = 0; i < list_length(relation->rd_indexlist); i++)
	{
		Oid			oid = list_nth_oid(relation->rd_indexlist, i);
		PfsKnown   *known = pfs_known_find(oid);

		if (known == NULL)
			continue;
		(void) pfs_known_watched(known);
		if (pfs_unlikely(known->excludes))
			pfs_part_begin(relations, oid, PFS_READS_CONFLICTS);
	}
	if (pfs_likely(plan->onConflictAction == ONCONFLICT_NONE))
		return;
	indexes = plan->arbiterIndexes != NIL ? plan->arbiterIndexes : RelationGetIndexList(relation);
	foreach(cell, indexes)
		pfs_part_begin(relations, lfirst_oid(cell), PFS_READS_CONFLICTS);
	if (indexes != plan->arbiterIndexes)
		list_free(indexes);
}

static void
modify(PfsRelations *relations, ModifyTableState *node)
{
	const ModifyTable *plan = (const ModifyTable *) node->ps.plan;

	relations->routes |= node->rootResultRelInfo->ri_RelationDesc->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	relations->conflicts |= plan->onConflictAction != ONCONFLICT_NONE;
	for (int i = 0; i < node->mt_nrels; i++)
	{
		Relation	relation = node->resultRelInfo[i].ri_RelationDesc;

		begin_relation(relations, relation, PFS_READS_NOTHING, &node->ps);
		if (relations->records && node->operation != CMD_DELETE && relation->rd_rel->relhasindex)
			begin_conflicts(relations, plan, relation);
	}
	if (relations->routes && pfs_unlikely(relations->timing == PFS_TIMING_TIMED))
		relations->routing = pfs_times_watch(relations, &node->ps);
}

static void look_at(PfsRelations *relations, PlanState *node, int depth);

static void
look_at_all(PfsRelations *relations, PlanState **nodes, int count, int depth)
{
	for (int i = 0; i < count; i++)
		look_at(relations, nodes[i], depth);
}

static void
look_at_list(PfsRelations *relations, List *nodes, int depth)
{
	ListCell   *cell;

	foreach(cell, nodes)
		look_at(relations, (PlanState *) lfirst(cell), depth);
}

/* Finds the scans and modifications at and below a node. */
static PFS_HOT void
look_at(PfsRelations *relations, PlanState *node, int depth)
{
	if (depth > PLAN_DEPTH_MAX)
		return;
	while (node != NULL)
	{
		switch (nodeTag(node))
		{
			case T_IndexScanState:
				begin_relation(relations, ((IndexScanState *) node)->iss_RelationDesc, PFS_READS_INDEX, node);
				return;
			case T_IndexOnlyScanState:
				begin_relation(relations, ((IndexOnlyScanState *) node)->ioss_RelationDesc, PFS_READS_INDEX_ONLY,
							   node);
				return;
			case T_CustomScanState:
				look_at_list(relations, ((CustomScanState *) node)->custom_ps, depth + 1);
				/* FALLTHROUGH */
			case T_SeqScanState:
			case T_SampleScanState:
			case T_BitmapHeapScanState:
			case T_TidRangeScanState:
				begin_relation(relations, ((ScanState *) node)->ss_currentRelation, PFS_READS_TABLE, node);
				return;
			case T_AppendState:
				look_at_all(relations, ((AppendState *) node)->appendplans, ((AppendState *) node)->as_nplans,
							depth + 1);
				return;
			case T_MergeAppendState:
				look_at_all(relations, ((MergeAppendState *) node)->mergeplans,
							((MergeAppendState *) node)->ms_nplans, depth + 1);
				return;
			case T_SubqueryScanState:
				node = ((SubqueryScanState *) node)->subplan;
				break;
			case T_ModifyTableState:
				look_at(relations, outerPlanState(node), depth + 1);
				modify(relations, (ModifyTableState *) node);
				return;
			default:
				if (innerPlanState(node) != NULL)
				{
					look_at(relations, outerPlanState(node), depth + 1);
					node = innerPlanState(node);
				}
				else
					node = outerPlanState(node);
				break;
		}
	}
}

static void
begin_plan(PfsRelations *relations)
{
	look_at(relations, relations->plan, 0);
	if (pfs_unlikely(relations->estate->es_subplanstates != NIL))
		look_at_list(relations, relations->estate->es_subplanstates, 0);
	relations->built = true;
}

/* --- begin and end --- */

/* Memory of calls is given back only after pfs_relations_left, so what is in the list can be read. */
static inline void
pop(void)
{
	running->runs = false;
	running = running->outer;
}

void
pfs_relations_remove(PfsRelations *relations)
{
	for (PfsRelations **link = &running; *link != NULL; link = &(*link)->outer)
		if (*link == relations)
		{
			*link = relations->outer;
			break;
		}
	relations->runs = false;
}

/* Before the first call of a transaction.  An entry without "routed" was given to another relation. */
static pg_noinline void
look_at_routed(void)
{
	routed_epoch = pfs_known_epoch;
	for (uint32 i = 0; i < routed_indexes; i++)
	{
		PfsKnown   *known = routed_index[i];

		if (!known->routed)
			routed_index[i--] = routed_index[--routed_indexes];
		else if ((int32) (known->epoch - transaction_epoch) < 0)
			begin_index(known, status_of_oid(known->oid));
	}
}

static pg_attribute_always_inline void
start(PfsRelations *relations)
{
	relations->records = pfs_likely(statement_of(relations) != NULL)
		? (pfs_load(&pfs_arena->gate) & PFS_GATE_TABLES & PFS_BUILT) != 0
		: pfs_wants(&pfs_session, PFS_GATE_TABLES);
	relations->level = pfs_pg_nest_level;
	if (pfs_likely(running == NULL))
	{
		pfs_known_epoch++;
		if (pfs_unlikely(routed_indexes > 0) && (int32) (routed_epoch - transaction_epoch) < 0)
			look_at_routed();
	}
	if (pfs_unlikely(pfs_known_owed > 0) && relations->records)
		pfs_known_settle();
}

void
pfs_relations_start(PfsRelations *relations)
{
	start(relations);
}

static inline void
run(PfsRelations *relations)
{
	relations->runs = true;
	relations->outer = running;
	running = relations;
}

void
pfs_relations_run(PfsRelations *relations)
{
	run(relations);
}

/* Between two calls an entry may have been given to another relation. */
static pg_noinline void
begin_again(PfsRelations *relations)
{
	static PfsKnown nobody;

	for (uint32 i = 0; i < relations->parts; i++)
	{
		PfsPart    *part = &relations->part[i];

		if (pfs_unlikely(part->known->oid != part->oid))
			part->known = pfs_known_find(part->oid);
		if (pfs_unlikely(part->known == NULL))
			part->known = &nobody;
		part->records = relations->records && part->known != &nobody && pfs_known_watched(part->known);
		begin_part(part);
	}
}

static pg_noinline void
begin_any(PfsRelations *relations)
{
	pfs_relations_left(relations);
	start(relations);
	if (pfs_likely(!relations->built))
		begin_plan(relations);
	else
		begin_again(relations);
	if (pfs_unlikely(relations->timing == PFS_TIMING_TIMED))
		relations->began = pfs_now();
	if (pfs_likely(relations->parts > 0) || relations->routes)
		run(relations);
}

/* The scan of an index, if the plan reads nothing else. */
static inline IndexScanState *
only_scan(PlanState *node)
{
	while (!IsA(node, IndexScanState))
	{
		if (!IsA(node, AggState) && !IsA(node, SortState) && !IsA(node, UniqueState) && !IsA(node, LimitState))
			return NULL;
		node = outerPlanState(node);
	}
	return (IndexScanState *) node;
}

/*
 * The most frequent call by far: the client's, it scans one index that is known.  Nothing is called here, so
 * that it takes few instructions.  False: nothing was done.
 */
static pg_attribute_always_inline bool
begin_only_scan(PfsRelations *relations)
{
	const IndexScanState *scan;
	const PgStat_TableStatus *status;
	Relation	index;
	PfsKnown   *known;
	PfsPart    *part = relations->own;

	/* that rows are counted as they were last says, too, that they are wanted */
	if (relations->built || running != NULL || *relations->statement == NULL ||
		pfs_session.rows.changes != pfs_load_acquire(&pfs_arena->changes) ||
		relations->estate->es_subplanstates != NIL)
		return false;
	scan = only_scan(relations->plan);
	if (scan == NULL || scan->iss_RelationDesc == NULL)
		return false;
	index = scan->iss_RelationDesc;
	status = index->pgstat_info;
	known = &pfs_known[RelationGetRelid(index) & (PFS_KNOWN - 1)];
	if (status == NULL || known->oid != RelationGetRelid(index) || !pfs_known_is_right(known))
		return false;
	if (known->skip > 0)
		known->skip--;
	else if (known->timed && pfs_session.rows.timed)
		return false;			/* to be timed */
	relations->timing = PFS_TIMING_NONE;
	known->epoch = ++pfs_known_epoch;
	known->seen[PFS_INDEX_FETCHED] = (uint64) PFS_PG_COUNTER(status, tuples_fetched);
	known->seen[PFS_INDEX_RETURNED] = (uint64) PFS_PG_COUNTER(status, tuples_returned);
	part->relation = index;
	part->known = known;
	part->time = NULL;
	part->oid = known->oid;
	part->reads = PFS_READS_INDEX;
	part->records = known->watched;
	relations->records = relations->built = relations->only_scan = true;
	relations->parts = 1;
	relations->level = pfs_pg_nest_level;
	run(relations);
	return true;
}

PFS_HOT void
pfs_relations_begin(PfsRelations *relations)
{
	if (!begin_only_scan(relations))
		begin_any(relations);
}

/*
 * Partitions that tuple routing has opened: where their counters stood before is only known of those that were
 * looked at before in this transaction.  In a transaction new changes begin at zero, in a place of their own.
 */
static void
guess_seen(PfsKnown *known, const PgStat_TableStatus *status, bool index, const Counters *now)
{
	Counters	pending = {0};

	if ((int32) (known->epoch - transaction_epoch) < 0)
	{
		if (index)
		{
			/* not handed over since it was last seen, if ever, unless it has gone back */
			if (now->value[0] < known->seen[0] || now->value[1] < known->seen[1])
				memset(known->seen, 0, sizeof(known->seen));
		}
		else
		{
			add_pending(status->trans, &pending);
			for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
				known->seen[i] = now->value[i] - pending.value[i];
		}
	}
	known->epoch = pfs_known_epoch;
	if (index && !known->routed && routed_indexes < ROUTED_INDEXES)
	{
		known->routed = true;
		routed_index[routed_indexes++] = known;
	}
}

/* What cannot be looked up while an error is raised is recorded later. */
static void
owe(PfsKnown *known, const Counters *now, bool index)
{
	for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
	{
		if (!index || i == PFS_TABLE_FETCH)
			pfs_known_owe(known, i, difference(now->value[i], known->seen[i]));
		known->seen[i] = now->value[i];
	}
}

static void
take_routed(PfsRelations *relations, Relation relation, bool index)
{
	const PgStat_TableStatus *status = relation->pgstat_info;
	PfsPart		part = {.relation = relation,.reads = index ? PFS_READS_CONFLICTS : PFS_READS_NOTHING};
	Counters	now = {0};

	part.known = status == NULL ? NULL : pfs_known_find(RelationGetRelid(relation));
	if (part.known == NULL)
		return;
	read_counters(status, index, &now);
	guess_seen(part.known, status, index, &now);
	part.records = relations->records && part.known->watched;
	if (relations->records && !pfs_known_is_right(part.known))
		owe(part.known, &now, index);
	else
		take(&part, status);
}

static void
add_routed(PfsRelations *relations, Relation relation, bool index)
{
	PfsPart    *part = add_part(relations, relation, RelationGetRelid(relation),
								index ? PFS_READS_CONFLICTS : PFS_READS_NOTHING);
	const PgStat_TableStatus *status = relation->pgstat_info;
	Counters	now = {0};

	if (part == NULL)
		return;
	if (status != NULL)
	{
		read_counters(status, index, &now);
		guess_seen(part->known, status, index, &now);
	}
	if (!index && part->known->timed && relations->timing == PFS_TIMING_TIMED)
		part->time = relations->routing;
}

/* Partitions opened since they were last looked at, and the indexes in which their conflicts were looked for. */
static pg_noinline void
for_all_routed(PfsRelations *relations, void (*function) (PfsRelations *, Relation, bool))
{
	List	   *routed = relations->estate->es_tuple_routing_result_relations;

	for (uint32 i = relations->routed; i < (uint32) list_length(routed); i++)
	{
		const ResultRelInfo *target = list_nth(routed, (int) i);

		function(relations, target->ri_RelationDesc, false);
		for (int j = 0; j < target->ri_NumIndices && target->ri_IndexRelationDescs != NULL; j++)
			if (target->ri_IndexRelationDescs[j] != NULL &&
				(relations->conflicts || target->ri_IndexRelationInfo[j]->ii_ExclusionOps != NULL))
				function(relations, target->ri_IndexRelationDescs[j], true);
	}
}

/* --- times --- */

static bool
changes(const PfsPart *part)
{
	return part->reads == PFS_READS_NOTHING;
}

static uint64
rows_of(const PfsPart *part, const Counters *now, int operation)
{
	return reads_index(part) && operation != PFS_TABLE_FETCH ? 0
		: difference(now->value[operation], part->known->seen[operation]);
}

/* What the part's node has spent for these rows: a scan everything, a modification its share. */
static PfsTicks
time_of(const PfsPart *part, int operation, uint64 rows)
{
	PfsTime    *time = part->time;
	PfsTicks	spent;

	if (time == NULL || changes(part) == (operation == PFS_TABLE_FETCH))
		return 0;
	spent = time->spent;
	if (changes(part))
		return time->rows == 0 ? 0 : (PfsTicks) ((double) spent * (double) rows / (double) time->rows);
	time->spent = 0;
	return spent;
}

static void
take_operation(const PfsRelations *relations, const PfsPart *part, const Counters *now, int operation)
{
	PfsKnown   *known = part->known;
	uint64		rows = rows_of(part, now, operation);
	PfsTicks	ticks = time_of(part, operation, rows);

	known->seen[operation] = now->value[operation];
	if ((rows > 0 || ticks > 0) && part->records)
		pfs_wait_table_sampled(&pfs_session, known->row, known->use, operation, rows, pfs_now() - ticks, ticks,
							   (uint64) relations->weight + 1);
}

static uint64
take_fetches(const PfsRelations *relations, const PfsPart *part, const Counters *now)
{
	uint64		rows = rows_of(part, now, PFS_TABLE_FETCH);
	uint64		found = difference(now->value[PFS_INDEX_RETURNED], part->known->seen[PFS_INDEX_RETURNED]);

	take_operation(relations, part, now, PFS_TABLE_FETCH);
	if (reads_index(part))
		part->known->seen[PFS_INDEX_RETURNED] = now->value[PFS_INDEX_RETURNED];
	return part->reads == PFS_READS_TABLE || part->reads == PFS_READS_INDEX ? rows
		: part->reads == PFS_READS_INDEX_ONLY ? found : 0;
}

static void
take_changes(const PfsRelations *relations, bool by_changers)
{
	Counters	now;

	for (uint32 i = 0; i < relations->parts; i++)
	{
		const PfsPart *part = &relations->part[i];

		if (reads_index(part) || changes(part) != by_changers || status_of(part) == NULL)
			continue;
		read_table(status_of(part), &now);
		for (int operation = PFS_TABLE_INSERT; operation < PFS_TABLE_OPERATIONS; operation++)
			take_operation(relations, part, &now, operation);
	}
}

/* As take, with times.  Who changes a table is asked before who only reads it: it has the time. */
static pg_noinline uint64
take_all_timed(PfsRelations *relations)
{
	uint64		examined = 0;
	Counters	now;

	pfs_times_end(relations);
	for (uint32 i = 0; i < relations->parts; i++)
	{
		const PfsPart *part = &relations->part[i];

		if (status_of(part) == NULL)
			continue;
		read_counters(status_of(part), reads_index(part), &now);
		examined += take_fetches(relations, part, &now);
		if (part->time != NULL && changes(part))
			for (int operation = PFS_TABLE_INSERT; operation < PFS_TABLE_OPERATIONS; operation++)
				part->time->rows += rows_of(part, &now, operation);
	}
	take_changes(relations, true);
	take_changes(relations, false);
	return examined;
}

static pg_noinline void
pop_above(const PfsRelations *relations)
{
	while (running != relations)
		pop();
}

static pg_noinline void
end_any(PfsRelations *relations)
{
	uint64		examined = 0;

	if (pfs_unlikely(!relations->runs))
		return;
	/* calls above it were left by an error that somebody caught without a subtransaction */
	if (pfs_unlikely(running != relations))
		pop_above(relations);
	pop();
	if (pfs_unlikely(relations->routes) && relations->estate != NULL)
	{
		for_all_routed(relations, add_routed);
		relations->routed = (uint32) list_length(relations->estate->es_tuple_routing_result_relations);
	}
	if (pfs_unlikely(relations->timing == PFS_TIMING_TIMED))
		examined = take_all_timed(relations);
	else
		for (uint32 i = 0; i < relations->parts; i++)
			examined += take(&relations->part[i], status_of(&relations->part[i]));
	add_examined(relations, examined);
}

/* As begin_only_scan. */
static pg_attribute_always_inline bool
end_only_scan(PfsRelations *relations)
{
	const PfsPart *part = relations->own;
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status;
	PfsStatement *statement;
	uint64		rows;

	if (!relations->only_scan || running != relations || (status = part->relation->pgstat_info) == NULL)
		return false;
	rows = (uint64) PFS_PG_COUNTER(status, tuples_fetched) - known->seen[PFS_INDEX_FETCHED];
	if (rows > 0)
	{
		statement = *relations->statement;
		if (statement == NULL || !part->records ||
			!pfs_wait_rows_quickly(&pfs_session, known->cell, known->row, known->use, PFS_TABLE_FETCH, rows))
			return false;
		pfs_statement_count(statement, PFS_COUNTER_ROWS_EXAMINED, rows);
	}
	known->seen[PFS_INDEX_FETCHED] += rows;
	known->seen[PFS_INDEX_RETURNED] = (uint64) PFS_PG_COUNTER(status, tuples_returned);
	pop();
	return true;
}

PFS_HOT void
pfs_relations_end(PfsRelations *relations)
{
	if (!end_only_scan(relations))
		end_any(relations);
}

/* --- errors --- */

/*
 * Nothing may be looked up or allocated.  To ask the server about a relation by its oid may take a lock, which
 * is left to those who hold none (whoever does holds interrupts, too).
 */
void
pfs_relations_failed(void)
{
	for (PfsRelations *relations = running; relations != NULL; relations = relations->outer)
	{
		PfsStatement *inner = pfs_session.running;
		uint64		examined = 0;

		if (statement_of(relations) != NULL)
			pfs_session.running = statement_of(relations);
		for (uint32 i = 0; i < relations->parts; i++)
			if (relations->part[i].relation != NULL || InterruptHoldoffCount == 0)
				examined += take(&relations->part[i], status_of(&relations->part[i]));
		if (relations->routes && relations->estate != NULL)
			for_all_routed(relations, take_routed);
		add_examined(relations, examined);
		pfs_session.running = inner;
	}
}

static void
failed_callback(void *arg)
{
	if (pfs_session.thread != NULL)
		pfs_relations_failed();
}

void
pfs_relations_guard(ErrorContextCallback *guard)
{
	pfs_pg_error_push(guard, failed_callback);
}

void
pfs_relations_forget(int level)
{
	while (pfs_unlikely(running != NULL) && running->level >= level)
		pop();
	if (level <= 1)
		transaction_epoch = pfs_known_epoch + 1;
}
