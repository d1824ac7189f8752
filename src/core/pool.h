/*
 * pool.h
 *		Chunks of memory for everything whose number is not known at start: statistics cells,
 *		histogram pages, texts.
 *
 * Lock-free, so that the hot path may claim a cell on its first event of a kind.  A chunk is
 * named by PfsRef, its distance from the pool's start in units of 64 bytes; 0 is "none".
 */
#ifndef PFS_POOL_H
#define PFS_POOL_H

#include "core/base.h"

typedef uint32_t PfsRef;

#define PFS_POOL_UNIT 64
#define PFS_POOL_CLASSES 13
#define PFS_POOL_MAX_CHUNK (64 * PFS_POOL_UNIT)
#define PFS_POOL_FIRST (PFS_ALIGN_UP(sizeof(PfsPool), PFS_POOL_UNIT) / PFS_POOL_UNIT)

typedef struct PfsPool
{
	uint64_t	free_head[PFS_POOL_CLASSES];	/* tag << 32 | PfsRef; writers: all, by CAS */
	uint64_t	in_use[PFS_POOL_CLASSES];	/* chunks handed out now */
	uint64_t	next_unit;		/* bump pointer; writers: all, by CAS */
	uint64_t	units;			/* size; constant */
	uint64_t	lost;			/* requests that found the pool exhausted */
} PfsPool;

/* memory must be pfs_pool_size(data_bytes) long and zeroed. */
extern size_t pfs_pool_size(uint64_t data_bytes);
extern void pfs_pool_init(PfsPool *pool, uint64_t data_bytes);

/* Zeroed chunk of at least this size (at most PFS_POOL_MAX_CHUNK), or 0 when the pool is full. */
extern PfsRef pfs_pool_alloc(PfsPool *pool, size_t bytes);
extern void pfs_pool_free(PfsPool *pool, PfsRef ref, size_t bytes);

/* What a request of this size really gets, in bytes. */
extern size_t pfs_pool_chunk_size(size_t bytes);
extern uint64_t pfs_pool_bytes_used(const PfsPool *pool);

/* Address of a chunk, or NULL where [ref, ref + bytes) is not inside the pool. */
static inline void *
pfs_pool_at(const PfsPool *pool, PfsRef ref, size_t bytes)
{
	if (ref < PFS_POOL_FIRST ||
		(uint64_t) ref + PFS_ALIGN_UP(bytes, PFS_POOL_UNIT) / PFS_POOL_UNIT > pool->units)
		return NULL;
	return (char *) (uintptr_t) pool + (size_t) ref * PFS_POOL_UNIT;
}

#endif							/* PFS_POOL_H */
