/*
 * wait_sum.h
 *		Calls on the session's own socket, and idle time around them: most of all waits.
 *
 * They are added up in two lines of the thread, PfsCallSums, and move to the cells of their event names and to the
 * socket when the session looks for such a cell, at another epoch maybe, and when the thread ends: inside the thread's
 * sequence.  So a reader who copies a cell and these sums under that sequence has each wait once.
 */
#ifndef PFS_WAIT_SUM_H
#define PFS_WAIT_SUM_H

#include "core/thread.h"

/* Adds one; the third part is idle time.  Owner only. */
static inline __attribute__((always_inline)) void
pfs_call_add(PfsCallSums *sums, PfsIoPart part, PfsTicks ticks, int64_t bytes)
{
	PfsTimerStat *stat = &sums->part[part];

	pfs_keep(stat);
	pfs_seq_write_begin(&sums->seq);
	pfs_add(&stat->count, 1);
	pfs_add(&stat->sum, ticks);
	pfs_timer_stat_extremes(stat, ticks);
	if (part != PFS_IO_MISC && bytes > 0)
		pfs_add(&sums->bytes[part], (uint64_t) bytes);
	pfs_seq_write_end(&sums->seq);
}

/* They move.  Owner or successor, inside the thread's sequence. */
extern void pfs_calls_sum(PfsArena *arena, PfsThread *thread);

/*
 * What the reader of a cell adds to it: those of this event name (PFS_NO_WAIT: those on the socket), if they are not older
 * than this epoch.  Under the thread's sequence, with the cell.  False: there are none.
 */
extern bool pfs_calls_unsummed(PfsArena *arena, PfsThread *thread, uint32_t wait, uint32_t epoch, PfsIoStat *stat);

#endif							/* PFS_WAIT_SUM_H */
