/*
 * digest_wait.h
 *		What the statements of a digest waited for: the time model per statement.
 *
 * Rows (digest, wait) hang as a chain of pool chunks on their digest; threads count in cells of
 * their own, which are folded when evicted or at the thread's end, as those of digest.h.
 */
#ifndef PFS_DIGEST_WAIT_H
#define PFS_DIGEST_WAIT_H

#include "core/digest.h"
#include "core/statement.h"

/* One pool unit.  In a thread: written by the owner inside its seq.  In the chain: by all, locked. */
typedef struct PfsDigestWait
{
	uint32_t	digest;			/* in the chain: the next link, a PfsRef */
	uint32_t	generation;
	uint32_t	wait;
	uint32_t	epoch;			/* reset counter when the content began */
	PfsTimerStat stat;
} PfsDigestWait;

_Static_assert(sizeof(PfsDigestWait) <= PFS_POOL_UNIT, "a cell is one unit");

/* Adds what a statement waited for to its digest.  Owner only, inside its seq. */
extern void pfs_digest_wait_add(PfsArena *arena, PfsThread *thread, uint32_t digest,
								uint32_t generation, const PfsWaitTotals *totals);

/* Moves a thread's cells into the chains.  At its end; owner or successor. */
extern void pfs_digest_wait_fold_thread(PfsArena *arena, PfsThread *thread);

/* Frees the chain of a digest that nobody can find. */
extern void pfs_digest_wait_free(PfsArena *arena, PfsRef chain);

#endif							/* PFS_DIGEST_WAIT_H */
