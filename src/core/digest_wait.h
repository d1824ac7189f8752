/*
 * digest_wait.h
 *		What the statements of a digest waited for: the time model per statement.
 *
 * Rows (digest, wait) hang as a chain of pool chunks on their digest; threads count in cells of
 * their own (cell_cache.h), for whose folds the digest is pinned.
 */
#ifndef PFS_DIGEST_WAIT_H
#define PFS_DIGEST_WAIT_H

#include "core/digest.h"
#include "core/statement.h"

#define PFS_DIGEST_WAIT_TAKEN UINT32_MAX

/* A row.  Written by all, who put PFS_DIGEST_WAIT_TAKEN in the place of its epoch meanwhile. */
typedef struct PfsDigestWait
{
	PfsRef		next;
	uint32_t	wait;
	uint32_t	epoch;			/* reset counter when the content began */
	uint32_t	spare;
	PfsTimerStat stat;
} PfsDigestWait;

/* Numbers of one row in one thread; key: digest << 32 | wait, use: the digest's generation. */
typedef struct PfsDigestWaitCell
{
	PfsCacheCell head;
	PfsTimerStat stat;
} PfsDigestWaitCell;

_Static_assert(sizeof(PfsDigestWaitCell) <= PFS_POOL_UNIT, "a cell is one unit");

extern const PfsCacheKind pfs_digest_wait_cells;

#define PFS_DIGEST_WAITS_MAX 1024	/* rows of a digest that are looked at */

static inline PfsDigestWait *
pfs_digest_wait_at(const PfsArena *arena, PfsRef ref)
{
	return pfs_pool_at(pfs_pool_of(arena), ref, sizeof(PfsDigestWait));
}

/* Adds what a statement waited for to its digest.  Owner only. */
extern void pfs_digest_wait_add(PfsArena *arena, PfsThread *thread, uint32_t digest,
								uint32_t generation, const PfsWaitTotals *totals);

/* Frees the chain of a digest that nobody can find. */
extern void pfs_digest_wait_free(PfsArena *arena, PfsRef chain);

#endif							/* PFS_DIGEST_WAIT_H */
