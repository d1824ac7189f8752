/*
 * cell_cache.c
 *		Cells of threads by key: claiming, evicting, folding, copying.  The rules are in cell_cache.h.
 */
#include "core/cell_cache.h"

#include "core/patience.h"

static uint64_t
all_events(const PfsCacheKind *kind, const PfsCacheCell *cell)
{
	const PfsTimerStat *timer = (const PfsTimerStat *) ((const char *) (cell + 1) + kind->timers_at);
	uint64_t	events = 0;

	for (uint32_t i = 0; i < kind->timers; i++)
		events += timer[i].count;
	return events;
}

/* Events in a cell that still count for its row. */
static uint64_t
events_of(const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell)
{
	return pfs_cache_counts(arena, kind, cell->epoch) && kind->has_row(arena, kind, cell) ? all_events(kind, cell) : 0;
}

static bool
is_of(const PfsCacheCell *cell, uint64_t key, uint32_t use, uint32_t variant)
{
	return cell != NULL && cell->key == key && cell->use == use && cell->variant == variant;
}

/* All but the sequence. */
static void
empty(const PfsCacheKind *kind, PfsCacheCell *cell)
{
	pfs_store(&cell->use, 0);
	pfs_store(&cell->epoch, 0);
	pfs_zero_words(&cell->key, kind->bytes - offsetof(PfsCacheCell, key));
}

/* Empties a cell into its row; false: the row cannot take it now. */
static bool
fold(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, PfsCacheCell *cell, int *sleeps)
{
	bool		folded;

	pfs_seq_write_begin(&cell->seq);
	folded = (kind->by_epoch ? all_events(kind, cell) : events_of(arena, kind, cell)) == 0 ||
		kind->fold(arena, thread, kind, cell, sleeps);
	if (folded)
		empty(kind, cell);
	pfs_seq_write_end(&cell->seq);
	return folded;
}

static PfsRef
alloc_cell(PfsArena *arena, const PfsCacheKind *kind)
{
	return kind->share == PFS_SHARES ? pfs_pool_alloc(pfs_pool_of(arena), kind->bytes)
		: pfs_share_alloc(arena, kind->share, kind->bytes);
}

static void
free_cell(PfsArena *arena, const PfsCacheKind *kind, PfsRef ref)
{
	if (kind->share == PFS_SHARES)
		pfs_pool_free(pfs_pool_of(arena), ref, kind->bytes);
	else
		pfs_share_free(arena, kind->share, ref, kind->bytes);
}

/* The least used of some cells, which is taken out; NULL: there is none. */
static PfsCacheCell *
take_least(const PfsArena *arena, const PfsCacheKind *kind, PfsCacheCell **cell)
{
	PfsCacheCell **least = NULL,
			   *taken;
	uint64_t	fewest = UINT64_MAX;

	for (int way = 0; way < PFS_CACHE_WAYS; way++)
	{
		uint64_t	events = cell[way] != NULL ? events_of(arena, kind, cell[way]) : UINT64_MAX;

		if (events < fewest)
		{
			fewest = events;
			least = &cell[way];
		}
	}
	if (least == NULL)
		return NULL;
	taken = *least;
	*least = NULL;
	return taken;
}

/* A new cell in a free place, or the least used one whose row takes it, emptied. */
static PfsCacheCell *
make_room(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, PfsRef *place)
{
	PfsCacheCell *cell[PFS_CACHE_WAYS],
			   *least;
	bool		full = false;

	for (int way = 0; way < PFS_CACHE_WAYS; way++)
	{
		cell[way] = pfs_cache_at(arena, kind, &place[way]);
		if (cell[way] == NULL && !full)
		{
			pfs_store_release(&place[way], alloc_cell(arena, kind));
			cell[way] = pfs_cache_at(arena, kind, &place[way]);
			if (cell[way] != NULL)
				return cell[way];
			full = true;
		}
	}
	while ((least = take_least(arena, kind, cell)) != NULL)
		if (fold(arena, thread, kind, least, NULL))
			return least;
	return NULL;
}

void *
pfs_cache_claim_variant(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, uint32_t hash,
						uint64_t key, uint32_t use, uint32_t variant, uint32_t epoch)
{
	PfsRef	   *place = pfs_cache_places(thread, kind) + pfs_cache_place(kind, hash);
	PfsCacheCell *cell = NULL;

	for (int way = 0; way < PFS_CACHE_WAYS && !is_of(cell, key, use, variant); way++)
		cell = pfs_cache_at(arena, kind, &place[way]);
	if (!is_of(cell, key, use, variant))
		cell = make_room(arena, thread, kind, place);
	else if (kind->by_epoch && cell->epoch != epoch && !fold(arena, thread, kind, cell, NULL))
		cell = NULL;
	if (cell == NULL)
		return NULL;
	pfs_seq_write_begin(&cell->seq);
	if (!pfs_cache_counts(arena, kind, cell->epoch))
		empty(kind, cell);
	pfs_store(&cell->key, key);
	pfs_store(&cell->use, use);
	pfs_store(&cell->variant, variant);
	pfs_store(&cell->epoch, epoch);
	pfs_seq_write_end(&cell->seq);
	return cell;
}

void
pfs_cache_fold_all(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, int *sleeps)
{
	PfsRef	   *places = pfs_cache_places(thread, kind);

	for (uint32_t i = 0; i < kind->places; i++)
	{
		PfsRef		ref = pfs_load(&places[i]);
		PfsCacheCell *cell = pfs_cache_at(arena, kind, &places[i]);

		if (cell != NULL && !fold(arena, thread, kind, cell, sleeps))
			pfs_add_shared(&arena->loss[kind->loss], events_of(arena, kind, cell));
		pfs_store_release(&places[i], 0);
		if (cell != NULL)
			free_cell(arena, kind, ref);
	}
}

bool
pfs_cache_read(PfsArena *arena, const PfsCacheKind *kind, const PfsRef *place, void *copy)
{
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		PfsRef		ref = pfs_load_acquire(place);
		const PfsCacheCell *cell = pfs_pool_at(pfs_pool_of(arena), ref, kind->bytes);
		uint32_t	begin;

		if (cell == NULL)
			return false;
		begin = pfs_seq_read_begin(&cell->seq);
		pfs_copy_words(copy, cell, kind->bytes);
		/* a place that was given up in between: its memory is somebody else's */
		if (pfs_seq_read_ok(&cell->seq, begin) && pfs_load(place) == ref)
			return true;
	}
	pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
	return false;
}
