/*
 * patience.h
 *		How long one waits for a writer who stands in the middle of a change.
 *
 * A change takes nanoseconds: who finds one going on for longer waits for a writer that has lost its processor, and
 * should not leave out what that has counted.  A writer may also be stopped, or dead: so patience ends.
 */
#ifndef PFS_PATIENCE_H
#define PFS_PATIENCE_H

#include "core/base.h"

/*
 * Header of a loop that reads until it was right: for (int tries = 0; pfs_try_read(tries); tries++).  False: give up.
 * Spins, then yields, then sleeps for milliseconds; those are limited for all that one scan reads.  Readers only.
 */
extern bool pfs_try_read(int tries);

/*
 * Header of a loop that takes a shared row, when this is done: spins and yields, then sleeps for a millisecond as often
 * as *sleeps says, which counts down; NULL: never.  False: give up.
 */
extern bool pfs_try_take(int tries, int *sleeps);

/* A word that is 1 while somebody holds it: taken in such a loop, and given back. */
extern bool pfs_lock_take(uint32_t *lock, int *sleeps);

static inline void
pfs_lock_release(uint32_t *lock)
{
	pfs_store_release(lock, 0);
}

/* The host's, when a scan begins. */
extern void pfs_patience_renew(void);

#endif							/* PFS_PATIENCE_H */
