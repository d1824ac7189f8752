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

static pg_noinline uint64
take_table(const PfsPart *part, const PgStat_TableStatus *status)
{
	PfsKnown   *known = part->known;
	uint64		examined = 0;
	PfsCounters now;

	pfs_counters_read_table(status, &now);
	for (int i = 0; i < PFS_TABLE_OPERATIONS; i++)
	{
		uint64		rows;

		if (now.value[i] == known->seen[i])
			continue;
		rows = pfs_counter_difference(now.value[i], known->seen[i]);
		known->seen[i] = now.value[i];
		if (i == PFS_TABLE_FETCH && part->reads == PFS_READS_TABLE)
			examined = rows;
		pfs_part_record(part, i, rows);
	}
	return examined;
}

static pg_attribute_always_inline uint64
take(const PfsPart *part, const PgStat_TableStatus *status)
{
	if (status == NULL)
		return 0;
	return pfs_part_is_index(part) ? pfs_index_take(part, status) : take_table(part, status);
}

pg_noinline uint64
pfs_part_take(const PfsPart *part)
{
	return take(part, pfs_part_status(part));
}

/* Rows are those of a call that is not the innermost: their events are nested in its statement. */
static uint64
take_aside(const PfsRelations *relations, const PfsPart *part, const PgStat_TableStatus *status)
{
	PfsStatement *inner = pfs_session.running;
	uint64		examined;

	if (relations->statement != NULL)
		pfs_session.running = relations->statement;
	examined = take(part, status);
	pfs_session.running = inner;
	return examined;
}

/* --- a call begins --- */

/* The counters of a relation are not as they were seen: a call around this one has moved them, or nobody. */
static pg_noinline void
take_for_outer(PfsKnown *known, bool index, const PgStat_TableStatus *status)
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
pfs_index_start(PfsKnown *known, const PgStat_TableStatus *status)
{
	uint64		fetched = status == NULL ? 0 : pfs_index_fetched(status);
	uint64		returned = status == NULL ? 0 : pfs_index_returned(status);

	if (pfs_unlikely(known->epoch == pfs_known_epoch) && status != NULL &&
		(known->seen[PFS_INDEX_FETCHED] != fetched || known->seen[PFS_INDEX_RETURNED] != returned))
		take_for_outer(known, true, status);
	known->epoch = pfs_known_epoch;
	pfs_index_seen(known, fetched, returned);
}

static void
begin_table(PfsKnown *known, const PgStat_TableStatus *status)
{
	PfsCounters now = {0};

	if (pfs_likely(status != NULL))
		pfs_counters_read_table(status, &now);
	if (pfs_unlikely(known->epoch == pfs_known_epoch) && status != NULL &&
		memcmp(known->seen, now.value, sizeof(now.value)) != 0)
		take_for_outer(known, false, status);
	known->epoch = pfs_known_epoch;
	memcpy(known->seen, now.value, sizeof(now.value));
}

void
pfs_part_start(const PfsPart *part)
{
	const PgStat_TableStatus *status;

	if (pfs_likely(part->relation != NULL))
		(void) pgstat_should_count_relation(part->relation);	/* finds what it has counted, too */
	status = pfs_part_status(part);
	if (pfs_part_is_index(part))
		pfs_index_start(part->known, status);
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

PfsPart *
pfs_part_add(PfsRelations *relations, Relation relation, Oid oid, PfsReads reads)
{
	PfsKnown   *known = pfs_known_find(oid);
	bool		records;
	PfsPart    *part;

	if (pfs_unlikely(known == NULL) ||
		(pfs_unlikely(relations->parts == relations->room) && !make_room(relations)))
		return NULL;
	records = relations->records && pfs_known_watched(known);
	part = &relations->part[relations->parts++];
	pfs_part_set(part, relation, known, reads, records);
	part->time = NULL;
	return part;
}

void
pfs_part_begin(PfsRelations *relations, Oid oid, PfsReads reads)
{
	PfsPart    *part = pfs_part_add(relations, NULL, oid, reads);

	if (pfs_likely(part != NULL))
		pfs_part_start(part);
}
