/*
 * parts.c
 *		Relations of a call: where their counters stood, and what is more, see parts.h.
 */
#include "postgres.h"

#include "pg/relation/parts.h"
#include "utils/memutils.h"

/* --- the server's counters --- */

pg_noinline const PgStat_TableStatus *
pfs_status_of_oid(Oid oid)
{
	PgStat_EntryRef *entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, oid);

	return entry != NULL ? entry->pending : NULL;
}

/* --- recording --- */

pg_noinline uint64
pfs_part_take(const PfsPart *part)
{
	return pfs_part_take_here(part, pfs_part_status(part));
}

/* Rows are those of a call that is not the innermost: their events are nested in its statement. */
static uint64
take_aside(const PfsRelations *relations, const PfsPart *part, const PgStat_TableStatus *status)
{
	PfsStatement *inner = pfs_session.running;
	uint64		examined;

	if (relations->statement != NULL)
		pfs_session.running = relations->statement;
	examined = pfs_part_take_here(part, status);
	pfs_session.running = inner;
	return examined;
}

/* --- a call begins --- */

/* The counters of a relation are not as they were seen: a call around this one has moved them, or nobody. */
pg_noinline void
pfs_part_take_for_outer(PfsKnown *known, bool index, const PgStat_TableStatus *status)
{
	for (PfsRelations *outer = pfs_relations_running; outer != NULL; outer = outer->outer)
	{
		PfsPart		routed = {.known = known,.records = outer->records && known->watched,.reads = index ? PFS_READS_CONFLICTS : PFS_READS_NOTHING};

		pfs_relations_spell_out(outer);
		for (uint32 i = 0; i < outer->parts; i++)
			if (outer->part[i].known == known)
			{
				pfs_relations_examined(outer, take_aside(outer, &outer->part[i], status));
				return;
			}
		if (!outer->routes)
			continue;
		take_aside(outer, &routed, status); /* maybe */
		return;
	}
}

void
pfs_part_start(const PfsPart *part)
{
	pfs_part_start_here(part);
}

pg_noinline bool
pfs_part_make_room(PfsRelations *relations)
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

PfsPart *
pfs_part_add(PfsRelations *relations, Relation relation, Oid oid, PfsReads reads)
{
	return pfs_part_add_here(relations, relation, oid, reads);
}

void
pfs_part_begin(PfsRelations *relations, Oid oid, PfsReads reads)
{
	PfsPart    *part = pfs_part_add(relations, NULL, oid, reads);

	if (pfs_likely(part != NULL))
		pfs_part_start(part);
}
