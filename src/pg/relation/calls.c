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
	if (pfs_likely(relations->parts > 0) || relations->routes)
		pfs_relations_run(relations);
}

/* --- the short way --- */

static inline PfsKnown *
place_of(Oid oid)
{
	return &pfs_known[oid & (PFS_KNOWN - 1)];
}

/* A relation that is counted and recorded, and was looked up before; else NULL. */
static inline PfsKnown *
ready(Relation relation)
{
	PfsKnown   *known;

	if (pfs_unlikely(relation == NULL || relation->pgstat_info == NULL))
		return NULL;
	known = place_of(RelationGetRelid(relation));
	if (pfs_unlikely(known->oid != RelationGetRelid(relation) || !known->watched ||
					 known->rules != pfs_load(&pfs_arena->objects_changed)))
		return NULL;
	return known;
}

/* Of the scan of an index, if the plan has no other below this node, or none; NULL: who knows. */
static pg_noinline PlanState *
only_leaf(PlanState *node)
{
	for (;; node = outerPlanState(node))
		switch (nodeTag(node))
		{
			case T_IndexScanState:
			case T_ValuesScanState:
				return node;
			case T_ResultState:
				if (outerPlanState(node) == NULL)
					return node;
				break;
			case T_AggState:
			case T_SortState:
			case T_UniqueState:
			case T_LimitState:
			case T_LockRowsState:
				break;
			default:
				return NULL;
		}
}

/* Does nothing of the table's have to be looked at that may conflict with new rows? */
static inline bool
has_no_exclusions(Relation table)
{
	const List *indexes = table->rd_indexlist;
	uint32		rules = pfs_load(&pfs_arena->objects_changed);

	if (!table->rd_rel->relhasindex)
		return true;
	if (!table->rd_indexvalid)
		return false;
	for (int i = 0; i < list_length(indexes); i++)
	{
		const PfsKnown *known = place_of(list_nth_oid(indexes, i));

		if (known->oid != list_nth_oid(indexes, i) || known->kind == PFS_KNOWN_NOT || known->rules != rules ||
			known->excludes)
			return false;
	}
	return true;
}

/* What a node changes, if it is one plain table that nothing has to be looked at for; else NULL. */
static inline Relation
only_target(const ModifyTableState *node)
{
	const ResultRelInfo *target = node->resultRelInfo;
	Relation	table = target->ri_RelationDesc;

	if (node->mt_nrels != 1 || node->rootResultRelInfo != target || node->operation == CMD_MERGE ||
		((const ModifyTable *) node->ps.plan)->onConflictAction != ONCONFLICT_NONE ||
		table->rd_rel->relkind != RELKIND_RELATION ||
		(node->operation != CMD_DELETE && !has_no_exclusions(table)))
		return NULL;
	return table;
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

static inline void
begin_scan(PfsPart *part, Relation index, PfsKnown *known)
{
	const PgStat_TableStatus *status = index->pgstat_info;

	pfs_part_set(part, index, known, PFS_READS_INDEX, true);
	known->epoch = pfs_known_epoch;
	pfs_index_seen(known, pfs_index_fetched(status), pfs_index_returned(status));
}

/* Other plans of which the short way may know all: one that changes a table, or has nodes above a scan. */
static pg_noinline bool
begin_other(PfsRelations *relations)
{
	PlanState  *node = relations->plan;
	PfsPart    *part = relations->own;
	Relation	table = NULL;
	Relation	index;
	PfsKnown   *changed = NULL;
	PfsKnown   *scanned = NULL;

	if (IsA(node, ModifyTableState))
	{
		table = only_target((ModifyTableState *) node);
		changed = ready(table);
		if (changed == NULL)
			return false;
		node = outerPlanState(node);
	}
	node = only_leaf(node);
	if (node == NULL)
		return false;
	if (IsA(node, IndexScanState))
	{
		index = ((IndexScanState *) node)->iss_RelationDesc;
		scanned = ready(index);
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

/*
 * The most frequent calls by far: the client's, whose plan scans one index at most and changes one table at most, all
 * known.  False: nothing was done.
 */
static pg_attribute_always_inline bool
begin_shortly(PfsRelations *relations)
{
	Relation	index;
	PfsKnown   *known;

	/* that rows are counted as they were last says, too, that they are wanted */
	if (relations->nothing != 0 || pfs_relations_running != NULL || relations->statement == NULL ||
		pfs_session.rows.changes != pfs_load_acquire(&pfs_arena->changes) ||
		relations->estate->es_subplanstates != NIL)
		return false;
	if (!IsA(relations->plan, IndexScanState))
		return begin_other(relations);
	index = ((const IndexScanState *) relations->plan)->iss_RelationDesc;
	known = ready(index);
	if (known == NULL || !is_untimed(known))
		return false;
	pfs_known_epoch++;
	begin_scan(relations->own, index, known);
	run_shortly(relations, 1);
	return true;
}

PFS_HOT void
pfs_relations_begin(PfsRelations *relations)
{
	if (!begin_shortly(relations))
		begin_any(relations);
}

/* --- a call ends --- */

static inline void
end_parts(const PfsRelations *relations)
{
	const PfsPart *part = relations->part;
	uint64		examined = 0;

	for (const PfsPart *end = part + relations->parts; part < end; part++)
	{
		const PgStat_TableStatus *status = pfs_part_status(part);

		if (pfs_unlikely(status == NULL))
			continue;
		examined += pfs_likely(pfs_part_is_index(part)) ? pfs_index_take(part, status) : pfs_table_take(part, status);
	}
	pfs_relations_examined(relations, examined);
}

/* Calls above it were left by an error that somebody caught without a subtransaction. */
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
		end_parts(relations);
}

PFS_HOT void
pfs_relations_end(PfsRelations *relations)
{
	if (pfs_unlikely(pfs_relations_running != relations || relations->routes ||
					 relations->timing == PFS_TIMING_TIMED))
	{
		end_special(relations);
		return;
	}
	pop();
	end_parts(relations);
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
