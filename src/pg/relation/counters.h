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

/* Rows of a table that were read: by its own scans, and by its numbers of rows (bitmaps, tids). */
static inline uint64
pfs_table_fetched(const PgStat_TableStatus *status)
{
	return (uint64) (PFS_PG_COUNTER(status, tuples_returned) + PFS_PG_COUNTER(status, tuples_fetched));
}

static inline void
pfs_counters_read_table(const PgStat_TableStatus *status, PfsCounters *counters)
{
	counters->value[PFS_TABLE_FETCH] = pfs_table_fetched(status);
	counters->value[PFS_TABLE_INSERT] = (uint64) PFS_PG_COUNTER(status, tuples_inserted);
	counters->value[PFS_TABLE_UPDATE] = (uint64) PFS_PG_COUNTER(status, tuples_updated);
	counters->value[PFS_TABLE_DELETE] = (uint64) PFS_PG_COUNTER(status, tuples_deleted);
	pfs_counters_add_pending(status->trans, counters);
}

/*
 * One of a table's counters of changes, and (returned) the sum of all that pfs_counters_read_table reads.  In the middle of a
 * transaction none of them goes back, so if the sum has grown as much as the one, the others are as they were.
 */
static inline uint64
pfs_counters_read_sum(const PgStat_TableStatus *status, int operation, uint64 *value)
{
	const PgStat_Counter *counted = &PFS_PG_COUNTER(status, tuples_inserted);
	uint64		sum = pfs_table_fetched(status);
	int			i = operation - PFS_TABLE_INSERT;

	sum += (uint64) (counted[0] + counted[1] + counted[2]);
	*value = (uint64) counted[i];
	for (const PgStat_TableXactStatus *level = status->trans; level != NULL; level = level->upper)
	{
		const PgStat_Counter *pending = &level->tuples_inserted;

		sum += (uint64) (pending[0] + pending[1] + pending[2]);
		*value += (uint64) pending[i];
		if (pfs_likely(!level->truncdropped))
			continue;
		pending = &level->inserted_pre_truncdrop;
		sum += (uint64) (pending[0] + pending[1] + pending[2]);
		*value += (uint64) pending[i];
	}
	return sum;
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

#define PFS_COUNTERS_IN_ORDER(type, inserted, updated, deleted) \
	StaticAssertDecl(offsetof(type, updated) == offsetof(type, inserted) + sizeof(PgStat_Counter) && \
					 offsetof(type, deleted) == offsetof(type, updated) + sizeof(PgStat_Counter) && \
					 PFS_TABLE_UPDATE == PFS_TABLE_INSERT + 1 && PFS_TABLE_DELETE == PFS_TABLE_UPDATE + 1, "as operations")

PFS_COUNTERS_IN_ORDER(PgStat_TableXactStatus, tuples_inserted, tuples_updated, tuples_deleted);
PFS_COUNTERS_IN_ORDER(PgStat_TableXactStatus, inserted_pre_truncdrop, updated_pre_truncdrop, deleted_pre_truncdrop);
PFS_COUNTERS_IN_ORDER(PgStat_TableStatus, PFS_PG_COUNTER_MEMBER(tuples_inserted), PFS_PG_COUNTER_MEMBER(tuples_updated),
					  PFS_PG_COUNTER_MEMBER(tuples_deleted));

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
