/*
 * object_cell.c
 *		What threads count of files and tables: cells, folding into rows; lock waits; TRUNCATE.
 *
 * All of a fold into a row lies inside the row's seq, which is its state in the sense of cell_cache.h.
 */
#include "core/object_internal.h"

#include "core/patience.h"
#include "core/rollup.h"

void
pfs_object_stat_merge(PfsObjectMap map, PfsObjectStat *to, const PfsObjectStat *from)
{
	if (map == PFS_MAP_FILES)
		pfs_io_stat_merge(&to->io, &from->io);
	else
		pfs_timer_stats_merge(to->table.operation, from->table.operation, PFS_TABLE_OPERATIONS);
}

static PfsObjectMap
map_of(const PfsCacheKind *kind)
{
	return (PfsObjectMap) (kind - pfs_object_cells);
}

static PfsObjectRow *
row_of(const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell)
{
	return pfs_object_row(arena, map_of(kind), (uint32_t) cell->key, cell->use);
}

static bool
has_row(const PfsArena *arena, const PfsCacheKind *kind, const PfsCacheCell *cell)
{
	return row_of(arena, kind, cell) != NULL;
}

static bool
fold(PfsArena *arena, PfsThread *thread, const PfsCacheKind *kind, PfsCacheCell *cell, int *sleeps)
{
	PfsObjectRow *row = row_of(arena, kind, cell);

	if (row == NULL)
		return true;
	if (!pfs_lock_take(&row->lock, sleeps))
		return false;
	pfs_seq_write_begin(&row->seq);
	if (pfs_load(&row->use) == cell->use)
	{
		/* an epoch no older than the cell's; read before the reset point that "counts" reads */
		uint32_t	now = pfs_max(pfs_load_acquire(&arena->reset_now), cell->epoch);

		if (!pfs_cache_counts(arena, kind, pfs_load(&row->epoch)))
		{
			pfs_zero_words(&row->stat, sizeof(row->stat));
			pfs_store(&row->epoch, now);
		}
		if (pfs_cache_counts(arena, kind, cell->epoch))
			pfs_object_stat_merge(map_of(kind), &row->stat,
								  &((const PfsObjectCell *) cell)->stat);
	}
	pfs_seq_write_end(&row->seq);
	pfs_lock_release(&row->lock);
	return true;
}

static uint32_t
state_of(const PfsArena *arena, const PfsCacheKind *kind, uint32_t row)
{
	return pfs_seq_read_begin(&pfs_object_row_at(arena, map_of(kind), row)->seq);
}

const PfsCacheKind pfs_object_cells[PFS_MAPS] = {
	[PFS_MAP_FILES] = {offsetof(PfsThread, file_cell), PFS_OBJECT_CACHE,
		offsetof(PfsObjectCell, stat) + sizeof(PfsIoStat), PFS_IO_PARTS,
		PFS_SHARES, PFS_RESET_FILES, PFS_LOSS_OBJECT_CELLS, has_row, fold, state_of, 0, false},
	[PFS_MAP_TABLES] = {offsetof(PfsThread, table_cell), PFS_OBJECT_CACHE,
		offsetof(PfsObjectCell, stat) + sizeof(PfsTableStat), PFS_TABLE_OPERATIONS,
		PFS_SHARES, PFS_RESET_TABLE_IO, PFS_LOSS_OBJECT_CELLS, has_row, fold, state_of, 0, false},
};

static __attribute__((noinline)) PfsObjectCell *
claim_cell(PfsArena *arena, PfsThread *thread, PfsObjectMap map, uint32_t row, uint32_t use)
{
	PfsObjectCell *cell;

	if (pfs_object_row(arena, map, row, use) == NULL)
		return NULL;
	cell = pfs_cache_claim(arena, thread, &pfs_object_cells[map], pfs_object_hash(row), row, use);
	if (cell == NULL)
		pfs_lose(arena, PFS_LOSS_OBJECT_CELLS);
	return cell;
}

PFS_HOT PfsObjectCell *
pfs_file_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use)
{
	PfsObjectCell *cell = pfs_cache_find(arena, thread, &pfs_object_cells[PFS_MAP_FILES],
										 pfs_object_hash(row), row, use);

	return pfs_likely(cell != NULL) ? cell : claim_cell(arena, thread, PFS_MAP_FILES, row, use);
}

PFS_HOT PfsObjectCell *
pfs_table_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use)
{
	PfsObjectCell *cell = pfs_cache_find(arena, thread, &pfs_object_cells[PFS_MAP_TABLES],
										 pfs_object_hash(row), row, use);

	return pfs_likely(cell != NULL) ? cell : claim_cell(arena, thread, PFS_MAP_TABLES, row, use);
}

/* --- lock waits, TRUNCATE --- */

/* Adds a lock wait to a row that is locked; false: the pool is full. */
static bool
add_lock_wait(PfsArena *arena, PfsObjectRow *row, unsigned mode, PfsTicks wait)
{
	uint32_t	now = pfs_load_acquire(&arena->reset_now);
	PfsTableLockStat *locks;

	if (pfs_object_locks(arena, row) == NULL)
		pfs_store_release(&row->locks, pfs_pool_alloc(pfs_pool_of(arena), sizeof(PfsTableLockStat)));
	locks = pfs_object_locks(arena, row);
	if (locks == NULL)
		return false;
	if (pfs_load(&row->lock_epoch) < pfs_load(&arena->reset_of[PFS_RESET_TABLE_LOCKS]))
	{
		pfs_zero_words(locks, sizeof(*locks));
		pfs_store(&row->lock_epoch, now);
	}
	pfs_timer_stat_add(&locks->mode[mode - 1], wait);
	return true;
}

void
pfs_table_lock_add(PfsArena *arena, uint32_t number, uint32_t use, unsigned mode, PfsTicks wait)
{
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, number, use);
	bool		done = false;

	if (row == NULL || mode < 1 || mode > PFS_LOCK_MODES)
		return;
	if (pfs_lock_take(&row->lock, NULL))
	{
		pfs_seq_write_begin(&row->seq);
		done = pfs_load(&row->use) != use || add_lock_wait(arena, row, mode, wait);
		pfs_seq_write_end(&row->seq);
		pfs_lock_release(&row->lock);
	}
	if (!done)
		pfs_lose(arena, PFS_LOSS_OBJECT_CELLS);
}

bool
pfs_object_reset(PfsArena *arena, PfsReset reset)
{
	return pfs_reset_events(arena, reset);
}
