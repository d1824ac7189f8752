/*
 * object_cell.c
 *		What threads count of files and tables: cells, folding into rows; lock waits; TRUNCATE.
 *
 * All of a fold, emptying of the cell included, lies inside the row's seq: a reader who finds the
 * row's seq as it was before has seen nothing move.
 */
#include "core/object_internal.h"

#include "core/rollup.h"

#define SLEEPS_OF_A_THREAD 100	/* of a millisecond each, when it ends */

static const struct
{
	PfsReset	reset;
	uint32_t	timers;			/* that the statistics begin with */
}			maps[] = {
	[PFS_MAP_FILES] = {PFS_RESET_FILES, PFS_IO_PARTS},
	[PFS_MAP_TABLES] = {PFS_RESET_TABLE_IO, PFS_TABLE_OPERATIONS},
};

_Static_assert(PFS_LENGTH(maps) == PFS_MAPS, "one line for each map");

void
pfs_object_stat_merge(PfsObjectMap map, PfsObjectStat *to, const PfsObjectStat *from)
{
	if (map == PFS_MAP_FILES)
		pfs_io_stat_merge(&to->io, &from->io);
	else
		pfs_timer_stats_merge(to->table.operation, from->table.operation, PFS_TABLE_OPERATIONS);
}

/* Does content of this epoch still count? */
static inline bool
counts(const PfsArena *arena, PfsObjectMap map, uint32_t epoch)
{
	return epoch >= pfs_load(&arena->reset_of[maps[map].reset]);
}

static inline PfsObjectCell *
cell_at(const PfsArena *arena, PfsThread *thread, PfsObjectMap map, uint32_t place)
{
	return pfs_pool_at(pfs_pool_of(arena), pfs_load(&pfs_object_cells(thread, map)[place]),
					   pfs_object_cell_bytes(map));
}

/* Events in a cell that still count, for a row that still exists. */
static uint64_t
events_of(const PfsArena *arena, PfsObjectMap map, const PfsObjectCell *cell)
{
	const PfsTimerStat *timer = (const PfsTimerStat *) &cell->stat;
	uint64_t	events = 0;

	if (counts(arena, map, cell->epoch) && pfs_object_row(arena, map, cell->row, cell->use) != NULL)
		for (uint32_t i = 0; i < maps[map].timers; i++)
			events += timer[i].count;
	return events;
}

/* Empties a cell into its row.  False: the row was busy, nothing has changed.  Inside seq. */
static bool
fold_cell(PfsArena *arena, PfsObjectMap map, PfsObjectCell *cell, int *sleeps)
{
	PfsObjectRow *row = pfs_object_row(arena, map, cell->row, cell->use);

	if (events_of(arena, map, cell) == 0 || row == NULL)
	{
		pfs_zero_words(cell, pfs_object_cell_bytes(map));
		return true;
	}
	if (!pfs_object_take(&row->lock, sleeps))
		return false;
	pfs_seq_write_begin(&row->seq);
	if (pfs_load(&row->use) == cell->use)
	{
		/* an epoch no older than the cell's; read before the reset point that "counts" reads */
		uint32_t	now = pfs_max(pfs_load_acquire(&arena->reset_now), cell->epoch);

		if (!counts(arena, map, pfs_load(&row->epoch)))
		{
			pfs_zero_words(&row->stat, sizeof(row->stat));
			pfs_store(&row->epoch, now);
		}
		if (counts(arena, map, cell->epoch))
			pfs_object_stat_merge(map, &row->stat, &cell->stat);
	}
	pfs_zero_words(cell, pfs_object_cell_bytes(map));
	pfs_seq_write_end(&row->seq);
	pfs_object_release(&row->lock);
	return true;
}

/* --- the hot path --- */

/* A free place for this row's cell, or the less used of the two after folding it. */
static PfsObjectCell *
claim_place(PfsArena *arena, PfsThread *thread, PfsObjectMap map, uint32_t row)
{
	PfsRef	   *place = pfs_object_cells(thread, map) + pfs_object_place(row);
	PfsObjectCell *cell[2];
	unsigned	first;

	for (uint32_t way = 0; way < 2; way++)
	{
		cell[way] = cell_at(arena, thread, map, pfs_object_place(row) + way);
		if (cell[way] == NULL)
		{
			PfsRef		ref = pfs_pool_alloc(pfs_pool_of(arena), pfs_object_cell_bytes(map));

			pfs_store_release(&place[way], ref);
			if (ref != 0)
				return cell_at(arena, thread, map, pfs_object_place(row) + way);
		}
	}
	first = cell[0] == NULL || (cell[1] != NULL && events_of(arena, map, cell[1]) <
								events_of(arena, map, cell[0]));
	for (unsigned i = 0; i < 2; i++)
		if (cell[first ^ i] != NULL && fold_cell(arena, map, cell[first ^ i], NULL))
			return cell[first ^ i];
	return NULL;
}

static __attribute__((noinline)) PfsObjectStat *
claim_cell(PfsArena *arena, PfsThread *thread, PfsObjectMap map, uint32_t row, uint32_t use)
{
	PfsObjectCell *cell;

	if (pfs_object_row(arena, map, row, use) == NULL)
		return NULL;
	cell = claim_place(arena, thread, map, row);
	if (cell == NULL)
	{
		pfs_lose(arena, PFS_LOSS_OBJECT_CELLS);
		return NULL;
	}
	pfs_store(&cell->row, row);
	pfs_store(&cell->use, use);
	pfs_store(&cell->epoch, pfs_load_acquire(&arena->reset_now));
	return &cell->stat;
}

/* A reset has happened since the cell was last used. */
static __attribute__((noinline)) void
renew_cell(PfsArena *arena, PfsObjectMap map, PfsObjectCell *cell, uint32_t now)
{
	if (!counts(arena, map, cell->epoch))
		pfs_zero_words(&cell->stat, pfs_object_cell_bytes(map) - offsetof(PfsObjectCell, stat));
	pfs_store(&cell->epoch, now);
}

static inline PfsObjectStat *
stat_of(PfsArena *arena, PfsThread *thread, PfsObjectMap map, uint32_t row, uint32_t use)
{
	for (uint32_t way = 0; way < 2; way++)
	{
		PfsObjectCell *cell = cell_at(arena, thread, map, pfs_object_place(row) + way);

		if (pfs_likely(cell != NULL && cell->row == row && cell->use == use))
		{
			uint32_t	now = pfs_load_acquire(&arena->reset_now);

			if (pfs_unlikely(cell->epoch != now))
				renew_cell(arena, map, cell, now);
			return &cell->stat;
		}
	}
	return claim_cell(arena, thread, map, row, use);
}

PFS_HOT PfsIoStat *
pfs_file_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use)
{
	PfsObjectStat *stat = stat_of(arena, thread, PFS_MAP_FILES, row, use);

	return stat != NULL ? &stat->io : NULL;
}

PFS_HOT PfsTableStat *
pfs_table_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use)
{
	PfsObjectStat *stat = stat_of(arena, thread, PFS_MAP_TABLES, row, use);

	return stat != NULL ? &stat->table : NULL;
}

/* --- lock waits, threads that end, TRUNCATE --- */

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
	if (pfs_object_take(&row->lock, NULL))
	{
		pfs_seq_write_begin(&row->seq);
		done = pfs_load(&row->use) != use || add_lock_wait(arena, row, mode, wait);
		pfs_seq_write_end(&row->seq);
		pfs_object_release(&row->lock);
	}
	if (!done)
		pfs_lose(arena, PFS_LOSS_OBJECT_CELLS);
}

void
pfs_object_fold_thread(PfsArena *arena, PfsThread *thread)
{
	int			sleeps = SLEEPS_OF_A_THREAD;

	pfs_seq_write_begin(&thread->seq);
	for (PfsObjectMap map = 0; map < PFS_MAPS; map++)
		for (uint32_t place = 0; place < PFS_OBJECT_CACHE; place++)
		{
			PfsRef	   *ref = &pfs_object_cells(thread, map)[place];
			PfsObjectCell *cell = cell_at(arena, thread, map, place);
			PfsRef		freed = pfs_load(ref);

			if (cell != NULL && !fold_cell(arena, map, cell, &sleeps))
				pfs_add_shared(&arena->loss[PFS_LOSS_OBJECT_CELLS], events_of(arena, map, cell));
			pfs_store_release(ref, 0);
			if (cell != NULL)
				pfs_pool_free(pfs_pool_of(arena), freed, pfs_object_cell_bytes(map));
		}
	pfs_seq_write_end(&thread->seq);
}

bool
pfs_object_reset(PfsArena *arena, PfsReset reset)
{
	return pfs_reset_events(arena, reset);
}
