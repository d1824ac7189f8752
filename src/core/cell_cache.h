/*
 * cell_cache.h
 *		Cells in which a thread counts by key (digest, its waits, file, table) until their content
 *		moves into the shared row of the key.
 *
 * A kind of cells has places in the thread; four neighbours may hold the cell of a key.  Who finds no
 * place free evicts the least used of them: folds it into its row.  A thread that ends folds all,
 * or its successor does.  TRUNCATE writes no cell: what does not count any more is left out by
 * readers, and emptied by the owner when he next comes there.
 *
 * The owner changes a cell inside the cell's own sequence; a fold, from the first addition to the row
 * until the cell is empty, is one such change.  A reader copies cells under their sequences, and
 * leaves out (and counts) one that never stands still.  What it adds up of rows and cells counts
 * once if it notes the state of the row, which each fold changes, then copies the cells, then the
 * row, and finds the state even and as it was.  A fold that began before the state was noted is then waited
 * for at the cell; one that began later has changed the state: that row is read again
 * (table_cells.c).
 *
 * Cells of some kinds are added up by something else than their row as well (those of digests: by class, in the
 * histogram).  All content of such a cell is of one epoch, so that each of them can tell whether it counts; a fold
 * moves it to all of them.
 */
#ifndef PFS_CELL_CACHE_H
#define PFS_CELL_CACHE_H

#include "core/thread.h"

/* What all cells begin with; PfsTimerStats come behind it.  writer: owner; readers: any. */
typedef struct PfsCacheCell
{
	PfsSeq		seq;			/* odd while the owner changes the cell */
	uint32_t	epoch;			/* reset counter when the content began */
	uint64_t	key;
	uint64_t	last;			/* number of the last record that was added; 0 = none */
	uint32_t	variant;		/* which of several cells of the key */
	uint32_t	use;			/* use or generation of the row; 0 = empty */
} PfsCacheCell;

typedef struct PfsCacheKind PfsCacheKind;
struct PfsCacheKind
{
	size_t		places_at;		/* of its PfsRef[] in PfsThread */
	uint32_t	places;			/* power of two */
	uint32_t	bytes;			/* of a cell */
	uint32_t	timers;			/* behind the head; their counts say how much the cell is used */
	PfsShare	share;			/* of the pool; PFS_SHARES = none */
	PfsReset	reset;			/* voids older content; PFS_RESETS = none */
	PfsLoss		loss;			/* events that a thread could not hand over at its end */

	/* Is there still the row that the content is for? */
	bool		(*has_row) (const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell);

	/*
	 * Adds the content to its row, or finds that it does not count; the cell is emptied then.  False: the row was
	 * busy or had no room, nothing has changed.  sleeps: see pfs_lock_take, may be NULL.
	 */
	bool		(*fold) (PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, PfsCacheCell *cell, int *sleeps);

	/* Changes with each fold into a row, by its number; odd: somebody is at it. */
	uint32_t	(*state) (const PfsArena *arena, const PfsCacheKind *kind, uint32_t row);

	uint32_t	timers_at;		/* behind the head */
	bool		by_epoch;		/* content is of one epoch, and is folded even if its row has gone */
};

static inline PfsRef *
pfs_cache_places(PfsThread *thread, const PfsCacheKind *kind)
{
	return (PfsRef *) ((char *) thread + kind->places_at);
}

#define PFS_CACHE_WAYS 4

/* First of the places for a key with this hash. */
static inline uint32_t
pfs_cache_place(const PfsCacheKind *kind, uint32_t hash)
{
	return hash & (kind->places - PFS_CACHE_WAYS);
}

static inline PfsCacheCell *
pfs_cache_at(const PfsArena *arena, const PfsCacheKind *kind, const PfsRef *place)
{
	return pfs_pool_at(pfs_pool_of(arena), pfs_load(place), kind->bytes);
}

/* Does content of this epoch still count? */
static inline bool
pfs_cache_counts(const PfsArena *arena, const PfsCacheKind *kind, uint32_t epoch)
{
	return kind->reset == PFS_RESETS || epoch >= pfs_load(&arena->reset_of[kind->reset]);
}

/* Is it the cell of this key?  A new reset point makes the owner look closer. */
static inline __attribute__((always_inline)) bool
pfs_cache_is(const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell, uint64_t key,
			 uint32_t use)
{
	return pfs_likely(cell != NULL) && pfs_load(&cell->key) == key && pfs_load(&cell->use) == use &&
		(kind->reset == PFS_RESETS ||
		 pfs_likely(pfs_load(&cell->epoch) == pfs_load_acquire(&arena->reset_now)));
}

#define PFS_ANY_VARIANT UINT32_MAX

/* The thread's cell of a key, or NULL: ask "claim".  Owner only.  Inline: the kind is a constant there. */
static inline __attribute__((always_inline)) void *
pfs_cache_find_variant(const PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, uint32_t hash,
					   uint64_t key, uint32_t use, uint32_t variant)
{
	PfsRef	   *place = pfs_cache_places(thread, kind) + pfs_cache_place(kind, hash);

	for (int way = 0; way < PFS_CACHE_WAYS; way++)
	{
		PfsCacheCell *cell = pfs_cache_at(arena, kind, &place[way]);

		if (pfs_cache_is(arena, kind, cell, key, use) &&
			(variant == PFS_ANY_VARIANT || pfs_load(&cell->variant) == variant))
			return cell;
	}
	return NULL;
}

static inline __attribute__((always_inline)) void *
pfs_cache_find(const PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, uint32_t hash,
			   uint64_t key, uint32_t use)
{
	return pfs_cache_find_variant(arena, thread, kind, hash, key, use, PFS_ANY_VARIANT);
}

/* The same if there is none, or it is from another epoch.  NULL: the pool is full, or rows are busy. */
extern void *pfs_cache_claim_variant(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, uint32_t hash,
									 uint64_t key, uint32_t use, uint32_t variant, uint32_t epoch);

/* The same for what ends now. */
static inline void *
pfs_cache_claim(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, uint32_t hash, uint64_t key,
				uint32_t use)
{
	return pfs_cache_claim_variant(arena, thread, kind, hash, key, use, 0, pfs_load_acquire(&arena->reset_now));
}

/* Folds and frees all cells of a thread, those that it was killed in included.  Owner or successor. */
extern void pfs_cache_fold_all(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, int *sleeps);

/* Copies a cell, any process; false: there is none, or (counted) it was always being written. */
extern bool pfs_cache_read(PfsArena *arena, const PfsCacheKind *kind, const PfsRef *place, void *copy);

#endif							/* PFS_CELL_CACHE_H */
