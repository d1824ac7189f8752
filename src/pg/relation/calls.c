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
	relations->special = relations->routes || relations->timing == PFS_TIMING_TIMED;
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

static inline void
begin_scan(PfsPart *part, Relation index, PfsKnown *known)
{
	const PgStat_TableStatus *status = index->pgstat_info;

	pfs_part_set(part, index, known, PFS_READS_INDEX, true);
	known->epoch = pfs_known_epoch;
	pfs_index_seen(known, pfs_index_fetched(status), pfs_index_returned(status));
}

/* The call is the outermost one. */
static pg_attribute_always_inline void
run_shortly(PfsRelations *relations, uint32 parts)
{
	relations->nothing = 0;
	relations->runs = relations->built = relations->records = true;
	relations->timing = PFS_TIMING_NONE;
	relations->parts = parts;
	relations->part = relations->own;
	relations->level = pfs_pg_nest_level;
	relations->outer = NULL;
	pfs_relations_running = relations;
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
static inline PlanState *
only_leaf(PlanState *node)
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
	PlanState  *node = relations->plan;
	PfsPart    *part = relations->own;
	Relation	table = NULL;
	Relation	index = NULL;
	PfsKnown   *changed = NULL;
	PfsKnown   *scanned = NULL;

	if (IsA(node, ModifyTableState))
	{
		const ModifyTableState *modify = (const ModifyTableState *) node;

		if (!has_one_target(modify))
			return false;
		table = modify->resultRelInfo->ri_RelationDesc;
		changed = ready(table, rules);
		if (changed == NULL || (modify->operation != CMD_DELETE && !has_no_exclusions(table, rules)))
			return false;
		node = outerPlanState(node);
	}
	node = only_leaf(node);
	if (node == NULL)
		return false;
	if (IsA(node, IndexScanState))
	{
		index = ((IndexScanState *) node)->iss_RelationDesc;
		scanned = ready(index, rules);
		if (scanned == NULL)
			return false;
	}
	else if (changed == NULL)
		return false;
	if (!is_untimed(scanned != NULL ? scanned : changed))
		return false;
	pfs_known_epoch++;
	if (scanned != NULL)
		begin_scan(part++, index, scanned);
	if (changed != NULL)
	{
		pfs_part_set(part++, table, changed, PFS_READS_NOTHING, true);
		pfs_table_start(changed, table->pgstat_info);
	}
	run_shortly(relations, (uint32) (part - relations->own));
	return true;
}

static pg_attribute_always_inline bool
begin_only_scan(PfsRelations *relations, uint32 rules)
{
	Relation	index = ((const IndexScanState *) relations->plan)->iss_RelationDesc;
	PfsKnown   *known = ready(index, rules);

	if (known == NULL || !is_untimed(known))
		return false;
	pfs_known_epoch++;
	begin_scan(relations->own, index, known);
	run_shortly(relations, 1);
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
take_from(const PfsRelations *relations, uint32 first)
{
	uint64		examined = 0;

	for (uint32 i = first; i < relations->parts; i++)
		examined += pfs_part_take(&relations->part[i]);
	pfs_relations_examined(relations, examined);
}

/* Calls above it may have been left by an error that somebody caught without a subtransaction. */
static pg_noinline void
end_special(PfsRelations *relations)
{
	if (!relations->runs)
		return;
	while (pfs_relations_running != relations)
		pop();
	pop();
	if (relations->routes)
		pfs_routed_add(relations);
	if (relations->timing == PFS_TIMING_TIMED)
		pfs_relations_examined(relations, pfs_times_take(relations));
	else
		take_from(relations, 0);
}

/* As pfs_part_take, of an index that is scanned.  False: nothing was done. */
static pg_attribute_always_inline bool
take_scan(const PfsPart *part, PfsStatement *statement)
{
	PfsKnown   *known = part->known;
	const PgStat_TableStatus *status;
	uint64		fetched;
	int64		rows;

	if (part->reads != PFS_READS_INDEX || !part->records || (status = part->relation->pgstat_info) == NULL)
		return false;
	fetched = pfs_index_fetched(status);
	rows = (int64) (fetched - known->seen[PFS_INDEX_FETCHED]);
	if (pfs_likely(rows > 0))
	{
		if (pfs_unlikely(statement == NULL || pfs_session.rows.shown ||
						 !pfs_wait_rows_quickly(&pfs_session, known->cell, known->row, known->use, PFS_TABLE_FETCH,
												(uint64) rows)))
			return false;
		pfs_statement_count(statement, PFS_COUNTER_ROWS_EXAMINED, (uint64) rows);
	}
	else if (pfs_unlikely(rows < 0))
		return false;
	pfs_index_seen(known, fetched, pfs_index_returned(status));
	return true;
}

PFS_HOT void
pfs_relations_end(PfsRelations *relations)
{
	if (pfs_unlikely(pfs_relations_running != relations || relations->special))
	{
		end_special(relations);
		return;
	}
	pop();
	if (pfs_unlikely(!take_scan(relations->part, relations->statement)))
		take_from(relations, 0);
	else if (relations->parts > 1)
		take_from(relations, 1);
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
