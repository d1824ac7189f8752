/*
 * rollup.h
 *		How statistics move up: thread -> account -> user and host; host -> global.
 *
 * Reset never writes another process's counters.  Each TRUNCATE takes a new value of the reset
 * counter and stores it as the reset point of its level and of the levels below.  A thread's cell
 * remembers the counter's value at which its content began; the content counts at a level only
 * when it is not older than the level's reset point.  When the owner next touches the cell and
 * sees a newer counter, it moves the old content up to the first level that still counts it.
 *
 * Parents (accounts, users, hosts, global) have several writers and so a lock: taken at connect,
 * disconnect, TRUNCATE, and once per cell after a TRUNCATE; never in between.  A recorder does not
 * sleep for it: it spins and yields a bounded number of times, then counts a loss and goes on.
 */
#ifndef PFS_ROLLUP_H
#define PFS_ROLLUP_H

#include "core/thread.h"

#define PFS_LEVEL_BIT(level) (1u << (level))

/* Size and addition of a family's statistic; the family of a cell, and that of a wait. */
extern size_t pfs_stat_bytes(PfsFamily family);
extern void pfs_stat_merge(PfsFamily family, void *to, const void *from);
extern PfsFamily pfs_cell_family(const PfsArena *arena, uint32_t number);

static inline PfsFamily
pfs_wait_family(PfsWaitKind kind)
{
	return kind == PFS_WAIT_FILE ? PFS_FAMILY_FILES
		: kind == PFS_WAIT_SOCKET ? PFS_FAMILY_SOCKETS : PFS_FAMILY_WAITS;
}

/* Levels at which content that began at this epoch counts. */
static inline unsigned
pfs_visible_levels(const PfsArena *arena, PfsFamily family, uint32_t epoch)
{
	unsigned	levels = 0;

	for (int level = 0; level < PFS_LEVELS; level++)
		if (epoch >= pfs_load(&arena->reset_at[family][level]))
			levels |= PFS_LEVEL_BIT(level);
	return levels;
}

/* patient: up to a second, sleeping; else spinning and yielding only.  False: not taken. */
extern bool pfs_rollup_lock(PfsArena *arena, bool patient);
extern void pfs_rollup_unlock(PfsArena *arena);

/*
 * Cell for events of this epoch, no older than those it has, claimed on first use; older content is rolled up.
 * NULL when the pool is full (counted).  Owner only, inside its seq.
 */
extern void *pfs_cell_slow(PfsArena *arena, PfsThread *thread, PfsScope scope, PfsFamily family,
						   uint32_t number, size_t bytes, uint32_t epoch);

static inline void *
pfs_cell_at(PfsArena *arena, PfsThread *thread, PfsScope scope, PfsFamily family, uint32_t number,
			size_t bytes, uint32_t epoch)
{
	PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);
	PfsCell    *cell = pfs_pool_at(pfs_pool_of(arena), pfs_load(&aggregate->cell[number]), bytes);

	if (pfs_likely(cell != NULL && pfs_load(&cell->epoch) == epoch))
		return cell;
	return pfs_cell_slow(arena, thread, scope, family, number, bytes, epoch);
}

/* The same for an event that ends now. */
static inline void *
pfs_cell(PfsArena *arena, PfsThread *thread, PfsScope scope, PfsFamily family, uint32_t number,
		 size_t bytes)
{
	return pfs_cell_at(arena, thread, scope, family, number, bytes, pfs_load_acquire(&arena->reset_now));
}

/* The owner's transaction statistics at this epoch, the present one. */
extern void pfs_transaction_cell_retire(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t epoch);

static inline PfsTransactionStat *
pfs_transaction_cell(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t epoch)
{
	PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);

	if (pfs_unlikely(pfs_load(&aggregate->transaction_epoch) != epoch))
		pfs_transaction_cell_retire(arena, thread, scope, epoch);
	return &aggregate->transaction;
}

/* Room for statements of a class that will be merged, so that it is there then. */
extern void pfs_statement_cell_reserve(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t class,
									   uint32_t epoch);

/* Adds what the owner has collected of a class, all of one epoch, to the levels that count it. */
extern void pfs_statement_cell_merge(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t class,
									 const PfsStatementStat *stat, uint32_t epoch);

/* The owner's part of the global histogram, for events of this epoch; NULL: they do not count any more. */
extern uint64_t *pfs_histogram_cell(PfsArena *arena, PfsThread *thread, uint32_t epoch);

/*
 * Adds what somebody else than the thread collected of a wait, since this epoch, to the levels that
 * still count it.  Times of files and sockets come without an operation.  account_row 0: only
 * global.  Lock held.
 */
extern void pfs_rollup_add_wait(PfsArena *arena, uint32_t account_row, uint32_t wait,
								const PfsTimerStat *stat, uint32_t epoch);

/* Moves everything a thread holds up to its parents and frees its cells.  Lock held. */
extern void pfs_fold_thread(PfsArena *arena, PfsThread *thread);

/* TRUNCATE of summaries (bit per family) by this level.  False: the lock could not be had. */
#define PFS_FAMILY_BIT(family) (1u << (family))
extern bool pfs_reset_level(PfsArena *arena, unsigned families, PfsLevel level);

/* TRUNCATE of a table of events, or of the global histogram. */
extern bool pfs_reset_events(PfsArena *arena, PfsReset reset);

/* TRUNCATE of accounts, users or hosts: rolls up, removes rows without connections. */
extern bool pfs_reset_parties(PfsArena *arena, PfsLevel level);

#endif							/* PFS_ROLLUP_H */
