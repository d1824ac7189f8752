/*
 * parts.h
 *		How the relations of a call are collected, and what is more in their counters when it ends.
 *
 * "seen" of a relation (PfsKnown) is the state of its counters up to which everything is recorded, or belongs
 * to nobody.  A call that begins notes it for each relation of its plan, and records what is more when it
 * ends, or when an error leaves it.  What a nested call finds to be more already belongs to the call around it,
 * and is recorded then: so nothing is subtracted, and nothing counts twice.
 *
 * An epoch is the time of one outermost call.  The server hands its counters over between transactions only,
 * so within an epoch they do not go back, and "seen" holds.
 */
#ifndef PFS_PG_PARTS_H
#define PFS_PG_PARTS_H

#include "core/wait.h"
#include "pg/relation/counters.h"

/* What a call does with a relation; from PFS_READS_INDEX on it is an index. */
typedef enum PfsReads
{
	PFS_READS_TABLE,
	PFS_READS_NOTHING,			/* only changes it */
	PFS_READS_INDEX,
	PFS_READS_INDEX_ONLY,
	PFS_READS_CONFLICTS			/* which are no rows examined */
} PfsReads;

static inline bool
pfs_part_is_index(const PfsPart *part)
{
	return part->reads >= PFS_READS_INDEX;
}

static inline void
pfs_part_set(PfsPart *part, Relation relation, PfsKnown *known, PfsReads reads, bool records)
{
	part->relation = relation;
	part->known = known;
	part->oid = known->oid;
	part->reads = (uint8) reads;
	part->records = records;
}

/* --- a call begins --- */

/* parts.c: false: there is none (counted). */
extern bool pfs_part_make_room(PfsRelations *relations);

/* Adds one to a call that begins.  NULL: no room (counted). */
static pg_attribute_always_inline PfsPart *
pfs_part_add_here(PfsRelations *relations, Relation relation, Oid oid, PfsReads reads)
{
	PfsKnown   *known = pfs_known_find(oid);
	bool		records;
	PfsPart    *part;

	if (pfs_unlikely(known == NULL) ||
		(pfs_unlikely(relations->parts == relations->room) && !pfs_part_make_room(relations)))
		return NULL;
	records = relations->records && pfs_known_watched(known);
	part = &relations->part[relations->parts++];
	pfs_part_set(part, relation, known, reads, records);
	part->time = NULL;
	return part;
}

/* parts.c: the counters of a relation are not as they were seen: a call around this one has moved them, or nobody. */
extern void pfs_part_take_for_outer(PfsKnown *known, bool index, const PgStat_TableStatus *status);

static pg_attribute_always_inline void
pfs_index_start(PfsKnown *known, const PgStat_TableStatus *status)
{
	uint64		fetched = status == NULL ? 0 : pfs_index_fetched(status);
	uint64		returned = status == NULL ? 0 : pfs_index_returned(status);

	if (pfs_unlikely(known->epoch == pfs_known_epoch) && status != NULL &&
		(known->seen[PFS_INDEX_FETCHED] != fetched || known->seen[PFS_INDEX_RETURNED] != returned))
		pfs_part_take_for_outer(known, true, status);
	known->epoch = pfs_known_epoch;
	pfs_index_seen(known, fetched, returned);
}

static pg_attribute_always_inline void
pfs_table_start(PfsKnown *known, const PgStat_TableStatus *status)
{
	PfsCounters now = {0};

	if (pfs_likely(status != NULL))
		pfs_counters_read_table(status, &now);
	if (pfs_unlikely(known->epoch == pfs_known_epoch) && status != NULL &&
		memcmp(known->seen, now.value, sizeof(now.value)) != 0)
		pfs_part_take_for_outer(known, false, status);
	known->epoch = pfs_known_epoch;
	memcpy(known->seen, now.value, sizeof(now.value));
}

/* Notes where its counters stand. */
static pg_attribute_always_inline void
pfs_part_start_here(const PfsPart *part)
{
	const PgStat_TableStatus *status;

	if (pfs_likely(part->relation != NULL))
		(void) pgstat_should_count_relation(part->relation);	/* finds what it has counted, too */
	status = pfs_part_status(part);
	if (pfs_part_is_index(part))
		pfs_index_start(part->known, status);
	else
		pfs_table_start(part->known, status);
}

/* parts.c: the same, where it is less frequent. */
extern PfsPart *pfs_part_add(PfsRelations *relations, Relation relation, Oid oid, PfsReads reads);
extern void pfs_part_start(const PfsPart *part);

/* Both, by its oid. */
extern void pfs_part_begin(PfsRelations *relations, Oid oid, PfsReads reads);

/* --- a call ends --- */

static inline void
pfs_part_record(const PfsPart *part, PfsTableOperation operation, uint64 rows)
{
	PfsKnown   *known = part->known;

	if (pfs_likely(part->records))
		pfs_wait_rows(&pfs_session, &known->cell, known->row, known->use, operation, rows);
}

static pg_attribute_always_inline uint64
pfs_index_take(const PfsPart *part, const PgStat_TableStatus *status)
{
	PfsKnown   *known = part->known;
	uint64		fetched = pfs_index_fetched(status);
	uint64		returned = pfs_index_returned(status);
	uint64		rows = pfs_counter_difference(fetched, known->seen[PFS_INDEX_FETCHED]);
	uint64		found = pfs_counter_difference(returned, known->seen[PFS_INDEX_RETURNED]);

	pfs_index_seen(known, fetched, returned);
	if (rows > 0)
		pfs_part_record(part, PFS_TABLE_FETCH, rows);
	return pfs_likely(part->reads == PFS_READS_INDEX) ? rows : part->reads == PFS_READS_CONFLICTS ? 0 : found;
}

static pg_attribute_always_inline uint64
pfs_table_take(const PfsPart *part, const PgStat_TableStatus *status)
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

/*
 * Records what is more than was seen.  Returns the rows that were examined: those that a scan of an index has
 * fetched, or, if it needs no more than the index, has found there.
 */
static pg_attribute_always_inline uint64
pfs_part_take_here(const PfsPart *part, const PgStat_TableStatus *status)
{
	if (status == NULL)
		return 0;
	return pfs_part_is_index(part) ? pfs_index_take(part, status) : pfs_table_take(part, status);
}

/* parts.c: the same, where it is less frequent. */
extern uint64 pfs_part_take(const PfsPart *part);

static inline void
pfs_relations_examined(const PfsRelations *relations, uint64 rows)
{
	if (rows > 0 && relations->statement != NULL)
		pfs_statement_count(relations->statement, PFS_COUNTER_ROWS_EXAMINED, rows);
}

/* calls.c: a call begins: first start, then its relations, then run. */
extern void pfs_relations_start(PfsRelations *relations, MemoryContext context);
extern void pfs_relations_run(PfsRelations *relations);

/* Calls on the C stack, innermost first; some may have been left without a word. */
extern PfsRelations *pfs_relations_running;

/* Who looks at the parts of a call makes it one as others are first, if it is brief. */
extern void pfs_relations_spell_out(PfsRelations *relations);

/* nodes.c: finds the relations of its plan. */
extern void pfs_plan_begin(PfsRelations *relations);

/* routed.c: partitions that it has routed rows to, those since it was last asked. */
extern void pfs_routed_add(PfsRelations *relations);

/* The same while an error is raised: only records. */
extern void pfs_routed_take(PfsRelations *relations);

/* Before the first call of a transaction; how the transaction before it ended does not matter. */
extern void pfs_routed_look(void);

/* A transaction is over, which has met no index by routing ... */
static inline void
pfs_routed_transaction_plain(void)
{
	pfs_relations_over.epoch = pfs_known_epoch + 1;
}

/* ... or any one. */
static inline void
pfs_routed_transaction(void)
{
	pfs_routed_transaction_plain();
	if (pfs_unlikely(pfs_relations_over.routed > 0))
		pfs_session.rows.changes = 0;
}

/* times.c: as pfs_part_take, of all, with times. */
extern uint64 pfs_times_take(PfsRelations *relations);

#endif							/* PFS_PG_PARTS_H */
