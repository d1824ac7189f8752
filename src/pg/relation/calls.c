/*
 * calls.c
 *		Calls of the executor, and COPY, as they begin, end and fail.
 *
 * Those on the C stack are a list through the queries' memory.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "pg/relation/parts.h"
#include "pg/relation/times.h"

PFS_HOT_DATA PfsRelations *pfs_relations_running = NULL;

/* Memory of calls is given back only after pfs_relations_left, so what is in the list can be read. */
static inline void
pop(void)
{
	pfs_relations_running->runs = false;
	pfs_relations_running = pfs_relations_running->outer;
}

void
pfs_relations_remove(PfsRelations *relations)
{
	for (PfsRelations **link = &pfs_relations_running; *link != NULL; link = &(*link)->outer)
		if (*link == relations)
		{
			*link = relations->outer;
			break;
		}
	relations->runs = false;
}

void
pfs_relations_spell_out(PfsRelations *relations)
{
	PfsPart    *part = relations->own;

	if (relations->brief == PFS_BRIEF_SCAN)
	{
		pfs_part_set(part, part->relation, part->known, PFS_READS_INDEX, true);
		part->oid = RelationGetRelid(part->relation);	/* since that call another relation may have the entry */
		part->time = NULL;
		relations->part = part;
		relations->parts = 1;
	}
	relations->brief = PFS_BRIEF_NOT;
}

/* --- a call begins --- */

static void
start(PfsRelations *relations)
{
	relations->records = pfs_likely(relations->statement != NULL)
		? (pfs_load(&pfs_arena->gate) & PFS_GATE_TABLES & PFS_BUILT) != 0
		: pfs_wants(&pfs_session, PFS_GATE_TABLES);
	relations->level = pfs_pg_nest_level;
	if (pfs_likely(pfs_relations_running == NULL))
	{
		pfs_known_epoch++;
		if (pfs_unlikely(pfs_routed_indexes > 0))
			pfs_routed_look();
	}
	if (pfs_unlikely(pfs_known_owed > 0) && relations->records)
		pfs_known_settle();
}

static void
prepare(PfsRelations *relations, MemoryContext context)
{
	relations->context = context;
	relations->part = relations->own;
	relations->room = PFS_OWN_PARTS;
	relations->parts = relations->routed = 0;
}

void
pfs_relations_start(PfsRelations *relations, MemoryContext context)
{
	prepare(relations, context);
	start(relations);
}

void
pfs_relations_run(PfsRelations *relations)
{
	relations->runs = true;
	relations->outer = pfs_relations_running;
	pfs_relations_running = relations;
}

/* Between two calls an entry may have been given to another relation. */
static pg_noinline void
begin_again(PfsRelations *relations)
{
	static PfsKnown nobody;

	pfs_relations_spell_out(relations);
	for (uint32 i = 0; i < relations->parts; i++)
	{
		PfsPart    *part = &relations->part[i];

		if (pfs_unlikely(part->known->oid != part->oid))
			part->known = pfs_known_find(part->oid);
		if (pfs_unlikely(part->known == NULL))
			part->known = &nobody;
		part->records = relations->records && part->known != &nobody && pfs_known_watched(part->known);
		pfs_part_start(part);
	}
}

static pg_noinline void
begin_any(PfsRelations *relations)
{
	pfs_relations_left(relations);
	if (pfs_likely(!relations->built))
	{
		pfs_relations_start(relations, relations->estate->es_query_cxt);
		pfs_plan_begin(relations);
		relations->built = true;
	}
	else
	{
		start(relations);
		begin_again(relations);
	}
	if (pfs_unlikely(relations->timing == PFS_TIMING_TIMED))
		relations->began = pfs_now();
	if (pfs_likely(relations->parts > 0) || relations->routes)
		pfs_relations_run(relations);
}

/* --- the short way --- */

/* A relation that is counted and recorded, and was looked up before; else NULL. */
static inline PfsKnown *
ready(Relation relation, uint32 rules)
{
	PfsKnown   *known = pfs_known_place(RelationGetRelid(relation));

	return pfs_likely(relation->pgstat_info != NULL && known->oid == RelationGetRelid(relation) &&
					  known->watched && known->rules == rules) ? known : NULL;
}

/* Is this execution not timed?  As pfs_times_decide. */
static inline bool
is_untimed(PfsKnown *known)
{
	if (pfs_likely(known->skip > 0))
		known->skip--;
	else if (pfs_session.rows.timed)
		return false;
	return true;
}

/* What is returned is noted when it ends: before, nobody asks an index that is read with its table. */
static inline void
note_scan(PfsPart *part, Relation index, PfsKnown *known)
{
	part->relation = index;
	part->known = known;
	known->epoch = pfs_known_epoch;
	known->seen[PFS_INDEX_FETCHED] = pfs_index_fetched(index->pgstat_info);
}

/* The call is the outermost one. */
static pg_attribute_always_inline void
run_shortly(PfsRelations *relations, PfsBrief brief)
{
	relations->nothing = 0;
	relations->runs = relations->built = relations->records = true;
	relations->brief = (uint8) brief;
	relations->timing = PFS_TIMING_NONE;
	relations->level = pfs_pg_nest_level;
	relations->outer = NULL;
	pfs_relations_running = relations;
}

static inline void
begin_scan(PfsRelations *relations, Relation index, PfsKnown *known)
{
	pfs_known_epoch++;
	note_scan(relations->own, index, known);
	run_shortly(relations, PFS_BRIEF_SCAN);
}

/* Changes a table, whose rows are found by an index (known), or come from the client. */
static inline void
begin_change(PfsRelations *relations, Relation index, PfsKnown *scanned, Relation table, PfsKnown *changed,
			 PfsBrief brief)
{
	PfsPart    *part = relations->own;
	PfsCounters now;

	pfs_known_epoch++;
	relations->part = part;
	relations->parts = 1;
	if (scanned != NULL)
	{
		note_scan(part, index, scanned);
		pfs_part_set(part++, index, scanned, PFS_READS_INDEX, true);
		relations->parts = 2;
	}
	pfs_part_set(part, table, changed, PFS_READS_NOTHING, true);
	pfs_counters_read_table(table->pgstat_info, &now);
	memcpy(changed->seen, now.value, sizeof(now.value));
	changed->epoch = pfs_known_epoch;
	run_shortly(relations, brief);
}

/* Is there nothing that may conflict with new rows and has to be looked at?  As begin_conflicts. */
static inline bool
has_no_exclusions(Relation table, uint32 rules)
{
	const List *indexes = table->rd_indexlist;

	if (!table->rd_rel->relhasindex)
		return true;
	if (!table->rd_indexvalid)
		return false;
	for (int i = 0; i < list_length(indexes); i++)
	{
		Oid			oid = list_nth_oid(indexes, i);
		const PfsKnown *known = pfs_known_place(oid);

		if (known->oid != oid || known->kind == PFS_KNOWN_NOT || known->rules != rules || known->excludes)
			return false;
	}
	return true;
}

/* Does it change one table, a plain one? */
static inline bool
has_one_target(const ModifyTableState *node)
{
	const ResultRelInfo *target = node->resultRelInfo;

	return node->mt_nrels == 1 && node->rootResultRelInfo == target && node->operation != CMD_MERGE &&
		((const ModifyTable *) node->ps.plan)->onConflictAction == ONCONFLICT_NONE &&
		target->ri_RelationDesc->rd_rel->relkind == RELKIND_RELATION;
}

/* The only one below, itself included, that may scan anything; else NULL. */
static inline const PlanState *
only_leaf(const PlanState *node)
{
	while (!IsA(node, IndexScanState))
	{
		if (outerPlanState(node) == NULL)
			return IsA(node, ResultState) || IsA(node, ValuesScanState) ? node : NULL;
		if (!IsA(node, AggState) && !IsA(node, SortState) && !IsA(node, UniqueState) && !IsA(node, LimitState) &&
			!IsA(node, LockRowsState) && !IsA(node, ResultState))
			return NULL;
		node = outerPlanState(node);
	}
	return node;
}

/* As begin_only_scan, where a table is changed, or nodes are above the scan. */
static inline bool
begin_other(PfsRelations *relations, uint32 rules)
{
	const PlanState *node = relations->plan;
	Relation	table = NULL;
	Relation	index = NULL;
	PfsKnown   *changed = NULL;
	PfsKnown   *scanned = NULL;
	PfsBrief	brief = PFS_BRIEF_SCAN;

	if (IsA(node, ModifyTableState))
	{
		const ModifyTableState *modify = (const ModifyTableState *) node;

		if (!has_one_target(modify))
			return false;
		brief = modify->operation == CMD_INSERT ? PFS_BRIEF_INSERT
			: modify->operation == CMD_UPDATE ? PFS_BRIEF_UPDATE : PFS_BRIEF_DELETE;
		table = modify->resultRelInfo->ri_RelationDesc;
		changed = ready(table, rules);
		if (changed == NULL || (brief != PFS_BRIEF_DELETE && !has_no_exclusions(table, rules)))
			return false;
		node = outerPlanState(node);
	}
	node = only_leaf(node);
	if (node == NULL)
		return false;
	if (IsA(node, IndexScanState))
	{
		index = ((const IndexScanState *) node)->iss_RelationDesc;
		scanned = ready(index, rules);
		if (scanned == NULL || !is_untimed(scanned))
			return false;
	}
	else if (changed == NULL || !is_untimed(changed))
		return false;
	if (changed == NULL)
		begin_scan(relations, index, scanned);
	else
		begin_change(relations, index, scanned, table, changed, brief);
	return true;
}

static pg_attribute_always_inline bool
begin_only_scan(PfsRelations *relations, uint32 rules)
{
	Relation	index = ((const IndexScanState *) relations->plan)->iss_RelationDesc;
	PfsKnown   *known = ready(index, rules);

	if (known == NULL || !is_untimed(known))
		return false;
	begin_scan(relations, index, known);
	return true;
}

static pg_noinline void
begin_not_only_scan(PfsRelations *relations, uint32 rules)
{
	if (!begin_other(relations, rules))
		begin_any(relations);
}

/*
 * The most frequent calls by far have a short way: the client's, whose plan scans one index at most and changes one
 * table at most, which are known.  That rows are counted as they were last says, too, that they are wanted.
 */
PFS_HOT void
pfs_relations_begin(PfsRelations *relations)
{
	const PfsArena *arena = pfs_arena;

	if (pfs_unlikely(relations->nothing != 0 || pfs_relations_running != NULL || relations->statement == NULL ||
					 pfs_session.rows.changes != pfs_load_acquire(&arena->changes) ||
					 relations->estate->es_subplanstates != NIL))
		begin_any(relations);
	else if (!IsA(relations->plan, IndexScanState))
		begin_not_only_scan(relations, pfs_load(&arena->objects_changed));
	else if (pfs_unlikely(!begin_only_scan(relations, pfs_load(&arena->objects_changed))))
		begin_any(relations);
}

/* --- a call ends --- */

static pg_noinline void
end_any(PfsRelations *relations)
{
	uint64		examined = 0;

	if (pfs_unlikely(!relations->runs))
		return;
	/* calls above it were left by an error that somebody caught without a subtransaction */
	while (pfs_unlikely(pfs_relations_running != relations))
		pop();
	pop();
	pfs_relations_spell_out(relations);
	if (pfs_unlikely(relations->routes))
		pfs_routed_add(relations);
	if (pfs_unlikely(relations->timing == PFS_TIMING_TIMED))
		examined = pfs_times_take(relations);
	else
		for (uint32 i = 0; i < relations->parts; i++)
			examined += pfs_part_take(&relations->part[i]);
	pfs_relations_examined(relations, examined);
}

/* As pfs_part_take, of the scan of a brief call.  False: nothing was done. */
static pg_attribute_always_inline bool
take_scan(const PfsPart *part, PfsStatement *statement)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	uint64		fetched;
	int64		rows;

	if (pfs_unlikely(status == NULL))
		return false;
	fetched = pfs_index_fetched(status);
	rows = (int64) (fetched - known->seen[PFS_INDEX_FETCHED]);
	if (pfs_likely(rows > 0))
	{
		if (pfs_unlikely(statement == NULL || !pfs_wait_rows_known(&pfs_session) ||
						 !pfs_wait_rows_quickly(&pfs_session, known->cell, known->row, known->use, PFS_TABLE_FETCH,
												(uint64) rows)))
			return false;
		if (pfs_unlikely(pfs_session.rows.shown))
			pfs_wait_rows_show(&pfs_session, known->row, known->use, PFS_TABLE_FETCH, (uint64) rows);
		pfs_statement_count(statement, PFS_COUNTER_ROWS_EXAMINED, (uint64) rows);
	}
	else if (pfs_unlikely(rows < 0))
		return false;
	pfs_index_seen(known, fetched, pfs_index_returned(status));
	return true;
}

/* The same of the table that it changes, if nothing but this has happened to it. */
static inline bool
take_change(const PfsPart *part, PfsTableOperation operation)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status = part->relation->pgstat_info;
	PfsCounters now;
	int64		rows;

	if (status == NULL)
		return false;
	pfs_counters_read_table(status, &now);
	rows = (int64) (now.value[operation] - known->seen[operation]);
	if (rows == 0)
		return memcmp(now.value, known->seen, sizeof(now.value)) == 0;
	now.value[operation] = known->seen[operation];
	if (rows < 0 || memcmp(now.value, known->seen, sizeof(now.value)) != 0 || !pfs_wait_rows_known(&pfs_session) ||
		!pfs_wait_rows_quickly(&pfs_session, known->cell, known->row, known->use, operation, (uint64) rows))
		return false;
	if (pfs_unlikely(pfs_session.rows.shown))
		pfs_wait_rows_show(&pfs_session, known->row, known->use, operation, (uint64) rows);
	known->seen[operation] += (uint64) rows;
	return true;
}

static inline void
end_outermost(PfsRelations *relations)
{
	relations->runs = false;
	pfs_relations_running = NULL;
}

static pg_noinline void
end_not_only_scan(PfsRelations *relations)
{
	const PfsPart *part = relations->own;

	if (pfs_likely(relations->brief != PFS_BRIEF_NOT && pfs_relations_running == relations) &&
		(relations->parts == 1 || take_scan(part++, relations->statement)) &&
		take_change(part, (PfsTableOperation) (relations->brief - PFS_BRIEF_SCAN)))
		end_outermost(relations);
	else
		end_any(relations);
}

PFS_HOT void
pfs_relations_end(PfsRelations *relations)
{
	if (relations->brief != PFS_BRIEF_SCAN)
		end_not_only_scan(relations);
	else if (pfs_likely(pfs_relations_running == relations && take_scan(relations->own, relations->statement)))
		end_outermost(relations);
	else
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
	for (PfsRelations *relations = pfs_relations_running; relations != NULL; relations = relations->outer)
	{
		PfsStatement *inner = pfs_session.running;
		uint64		examined = 0;

		if (relations->statement != NULL)
			pfs_session.running = relations->statement;
		pfs_relations_spell_out(relations);
		for (uint32 i = 0; i < relations->parts; i++)
			if (relations->part[i].relation != NULL || InterruptHoldoffCount == 0)
				examined += pfs_part_take(&relations->part[i]);
		if (relations->routes)
			pfs_routed_take(relations);
		pfs_relations_examined(relations, examined);
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
	while (pfs_unlikely(pfs_relations_running != NULL) && pfs_relations_running->level >= level)
		pop();
	if (level <= 1)
		pfs_routed_transaction();
}
