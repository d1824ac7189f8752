/*
 * stat.h
 *		The statistics that cells hold: add one event, merge two, reset.
 *
 * A cell has one writer (the owning thread, or the holder of the roll-up lock); readers copy it
 * under the owner's sequence lock.  All zero means empty, for every type.  Times are ticks.
 */
#ifndef PFS_STAT_H
#define PFS_STAT_H

#include "core/base.h"

typedef struct PfsTimerStat
{
	uint64_t	count;			/* events, timed or not */
	uint64_t	sum;
	uint64_t	min_inverted;	/* UINT64_MAX - minimum, so that zero means "none yet" */
	uint64_t	max;
} PfsTimerStat;

typedef enum PfsCounter
{
#define PFS_COUNTER(symbol, place, column, is_time, doc) PFS_COUNTER_##symbol = (place),
#include "core/statement_counters.def"
#undef PFS_COUNTER
} PfsCounter;

enum
{
#define PFS_COUNTER(symbol, place, column, is_time, doc) PFS_COUNTER_##symbol##_LINE,
#include "core/statement_counters.def"
#undef PFS_COUNTER
	PFS_COUNTERS
};

/* ERRORS, which follows from the outcome, and those that are always 0. */
#define PFS_COUNTERS_UNKEPT 4
#define PFS_COUNTERS_KEPT (PFS_COUNTERS - PFS_COUNTERS_UNKEPT)

#define PFS_USED_MASK ((UINT32_C(1) << PFS_COUNTERS_KEPT) - 1)	/* of bits that are counters */

#define PFS_COUNTER(symbol, place, column, is_time, doc) | UINT32_C(1) << (place)
_Static_assert((0
#include "core/statement_counters.def"
				) == (UINT32_C(1) << PFS_COUNTERS) - 1, "each counter has a place of its own");
#undef PFS_COUNTER
_Static_assert((int) PFS_COUNTER_ERRORS >= PFS_COUNTERS_KEPT, "follows from the outcome");

typedef struct PfsStatementStat
{
	PfsTimerStat timer;
	uint64_t	counter[PFS_COUNTERS];
} PfsStatementStat;

typedef struct PfsTransactionStat
{
	PfsTimerStat read_write;
	PfsTimerStat read_only;
} PfsTransactionStat;

typedef struct PfsErrorStat
{
	uint64_t	raised;			/* ended a statement */
	uint64_t	handled;		/* caught by an exception handler */
	uint64_t	first_seen;		/* ticks; 0 = never */
	uint64_t	last_seen;
} PfsErrorStat;

static inline uint64_t
pfs_timer_stat_min(const PfsTimerStat *stat)
{
	return stat->min_inverted == 0 ? 0 : UINT64_MAX - stat->min_inverted;
}

/* Of a file or socket event; which timer an operation belongs to is said in operations.def. */
typedef enum PfsIoPart
{
	PFS_IO_READ,
	PFS_IO_WRITE,
	PFS_IO_MISC,
	PFS_IO_PARTS
} PfsIoPart;

typedef struct PfsIoStat
{
	PfsTimerStat part[PFS_IO_PARTS];
	uint64_t	bytes[2];		/* read, written */
} PfsIoStat;

/* Of a table or index: rows, and the time their operations took. */
typedef enum PfsTableOperation
{
	PFS_TABLE_FETCH,
	PFS_TABLE_INSERT,
	PFS_TABLE_UPDATE,
	PFS_TABLE_DELETE,
	PFS_TABLE_OPERATIONS
} PfsTableOperation;

typedef struct PfsTableStat
{
	PfsTimerStat operation[PFS_TABLE_OPERATIONS];
} PfsTableStat;

/* Waits for the heavyweight lock of a table, by the mode that was asked for. */
#define PFS_LOCK_MODES 8

typedef struct PfsTableLockStat
{
	PfsTimerStat mode[PFS_LOCK_MODES];
} PfsTableLockStat;

/* Minimum and maximum, of what was timed. */
static inline void
pfs_timer_stat_extremes(PfsTimerStat *stat, PfsTicks wait)
{
	if (UINT64_MAX - wait > stat->min_inverted)
		pfs_store(&stat->min_inverted, UINT64_MAX - wait);
	if (wait > stat->max)		/* its only writer reads as it likes */
		pfs_store(&stat->max, wait);
}

/* Is it longer than the shortest one?  Else, or if there is none yet, extremes are to be looked at. */
static inline bool
pfs_timer_stat_is_above(const PfsTimerStat *stat, PfsTicks wait)
{
	uint64_t	sum;

	return __builtin_add_overflow(wait, stat->min_inverted, &sum);
}

/* wait = 0 stands for an untimed event: it is counted, and leaves the times alone. */
static inline __attribute__((always_inline)) void
pfs_timer_stat_add(PfsTimerStat *stat, PfsTicks wait)
{
	pfs_add(&stat->count, 1);
	if (pfs_unlikely(wait == 0))	/* untimed */
		return;
	pfs_add(&stat->sum, wait);
	pfs_timer_stat_extremes(stat, wait);
}

extern void pfs_timer_stat_merge(PfsTimerStat *to, const PfsTimerStat *from);

extern void pfs_statement_stat_merge(PfsStatementStat *to, const PfsStatementStat *from);
extern void pfs_transaction_stat_merge(PfsTransactionStat *to, const PfsTransactionStat *from);
extern void pfs_timer_stats_merge(PfsTimerStat *to, const PfsTimerStat *from, int count);
extern void pfs_io_stat_merge(PfsIoStat *to, const PfsIoStat *from);

/* The three parts together: what a wait summary shows of an I/O event. */
extern PfsTimerStat pfs_io_stat_total(const PfsIoStat *stat);
extern void pfs_error_stat_merge(PfsErrorStat *to, const PfsErrorStat *from);

/* As the merges above, for a target with several writers: locked additions. */
extern void pfs_statement_stat_merge_shared(PfsStatementStat *to, const PfsStatementStat *from);

#endif							/* PFS_STAT_H */
