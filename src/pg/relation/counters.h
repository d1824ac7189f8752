/*
 * counters.h
 *		What the server has counted of a relation.
 */
#ifndef PFS_PG_COUNTERS_H
#define PFS_PG_COUNTERS_H

#include "miscadmin.h"
#include "pg/pg_compat.h"
#include "pg/relation/known.h"
#include "pg/relation/relation.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"

typedef struct PfsCounters
{
	uint64		value[PFS_TABLE_OPERATIONS];
} PfsCounters;

/*
 * Adds what stands in the levels of the transaction under way, and moves to the other counters when they end; what a
 * TRUNCATE has set aside counts, too.
 */
static inline void
pfs_counters_add_pending(const PgStat_TableXactStatus *level, PfsCounters *counters)
{
	for (; level != NULL; level = level->upper)
	{
		counters->value[PFS_TABLE_INSERT] += (uint64) level->tuples_inserted;
		counters->value[PFS_TABLE_UPDATE] += (uint64) level->tuples_updated;
		counters->value[PFS_TABLE_DELETE] += (uint64) level->tuples_deleted;
		if (pfs_likely(!level->truncdropped))
			continue;
		counters->value[PFS_TABLE_INSERT] += (uint64) level->inserted_pre_truncdrop;
		counters->value[PFS_TABLE_UPDATE] += (uint64) level->updated_pre_truncdrop;
		counters->value[PFS_TABLE_DELETE] += (uint64) level->deleted_pre_truncdrop;
	}
}

static inline uint64
pfs_index_fetched(const PgStat_TableStatus *status)
{
	return (uint64) PFS_PG_COUNTER(status, tuples_fetched);
}

static inline uint64
pfs_index_returned(const PgStat_TableStatus *status)
{
	return (uint64) PFS_PG_COUNTER(status, tuples_returned);
}

static inline void
pfs_counters_read_table(const PgStat_TableStatus *status, PfsCounters *counters)
{
	counters->value[PFS_TABLE_FETCH] = (uint64) (PFS_PG_COUNTER(status, tuples_returned) +
												 PFS_PG_COUNTER(status, tuples_fetched));
	counters->value[PFS_TABLE_INSERT] = (uint64) PFS_PG_COUNTER(status, tuples_inserted);
	counters->value[PFS_TABLE_UPDATE] = (uint64) PFS_PG_COUNTER(status, tuples_updated);
	counters->value[PFS_TABLE_DELETE] = (uint64) PFS_PG_COUNTER(status, tuples_deleted);
	pfs_counters_add_pending(status->trans, counters);
}

/* The others of an index stay as they are: nobody asks. */
static inline void
pfs_counters_read(const PgStat_TableStatus *status, bool index, PfsCounters *counters)
{
	if (!index)
	{
		pfs_counters_read_table(status, counters);
		return;
	}
	counters->value[PFS_INDEX_FETCHED] = pfs_index_fetched(status);
	counters->value[PFS_INDEX_RETURNED] = pfs_index_returned(status);
}

/* parts.c.  Takes a lock, and allocates, if this process has not counted there yet. */
extern const PgStat_TableStatus *pfs_status_of_oid(Oid oid);

/* NULL: nothing is counted there. */
static inline const PgStat_TableStatus *
pfs_part_status(const PfsPart *part)
{
	return pfs_likely(part->relation != NULL) ? part->relation->pgstat_info : pfs_status_of_oid(part->oid);
}

/* A counter that went back began at zero. */
static inline uint64
pfs_counter_difference(uint64 now, uint64 seen)
{
	return now >= seen ? now - seen : now;
}

/* That is all recorded, or nobody's. */
static inline void
pfs_index_seen(PfsKnown *known, uint64 fetched, uint64 returned)
{
	known->seen[PFS_INDEX_FETCHED] = fetched;
	known->seen[PFS_INDEX_RETURNED] = returned;
}

#endif							/* PFS_PG_COUNTERS_H */
