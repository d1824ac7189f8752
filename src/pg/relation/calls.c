/*
 * calls.c
 *		Calls of the executor, and COPY, as they begin, end and fail.
 *
 * Those on the C stack are a list through the queries' memory.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "pg/pg_query.h"
#include "pg/relation/brief.h"

PFS_HOT_LINE(running) PfsRelations *pfs_relations_running = NULL;
PFS_HOT_LINE(running) EState *pfs_pg_undisturbed = NULL;
/* the first of that line: what has this name is looked at together */
PFS_HOT_LINE(running) PFS_ALIGNED PfsRelationsOver pfs_relations_over = {.epoch = 1};

/* Memory of calls is given back only after pfs_relations_left, so what is in the list can be read. */
static inline void
pop(void)
{
	pfs_relations_running->runs = false;
	pfs_relations_running = pfs_relations_running->outer;
	pfs_pg_undisturbed = NULL;
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
	pfs_pg_undisturbed = NULL;
}

/* Since that call another relation may have the entry. */
static void
spell_out(PfsRelations *relations, Relation relation, PfsKnown *known, PfsReads reads)
{
	PfsPart    *part = &relations->own[relations->parts++];

	pfs_part_set(part, relation, known, reads, true);
	part->oid = RelationGetRelid(relation);
	part->time = NULL;
}

void
pfs_relations_spell_out(PfsRelations *relations)
{
	PfsPart		scanned = relations->own[PFS_BRIEF_SCANNED];
	PfsPart		changed = relations->own[PFS_BRIEF_CHANGED];
	bool		reads_own = pfs_brief_reads_own(relations);

	if (relations->brief == PFS_BRIEF_NOT)
		return;
	relations->part = relations->own;
	relations->parts = 0;
	if (scanned.relation != NULL)
		spell_out(relations, scanned.relation, scanned.known,
				  relations->brief == PFS_BRIEF_READ ? PFS_READS_TABLE : PFS_READS_INDEX);
	if (relations->brief > PFS_BRIEF_SCAN)
		spell_out(relations, changed.relation, changed.known, reads_own ? PFS_READS_TABLE : PFS_READS_NOTHING);
	relations->brief = PFS_BRIEF_NOT;
	pfs_pg_undisturbed = NULL;
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
		if (pfs_unlikely(pfs_relations_over.routed > 0))
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
	pfs_pg_undisturbed = NULL;
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

pg_noinline void
pfs_relations_begin(PfsRelations *relations)
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

/* --- a call ends --- */

pg_noinline void
pfs_relations_end(PfsRelations *relations)
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
		{
			const PfsPart *part = &relations->part[i];

			examined += pfs_part_take_here(part, pfs_part_status(part));
		}
	pfs_relations_examined(relations, examined);
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
