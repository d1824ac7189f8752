/*
 * table_cells.c
 *		Adding up rows and the cells of all threads, while cells are folded into rows.
 *
 * The state of each row is noted first, then all cells are read, then the rows.  The few rows whose
 * state has changed by then are read once more, each alone with its own cells.
 */
#include "core/table_cells.h"

/* Adds the cells of all threads in these places; only: those of one row, 0 = all. */
static void
add_cells(PfsCellSums *sums, uint32_t first, uint32_t count, uint32_t only)
{
	PfsArena   *arena = sums->scan->arena;
	const PfsCacheKind *kind = sums->kind;

	PFS_EACH_THREAD(arena, thread, slot)
	{
		PfsRef	   *places = pfs_cache_places(thread, kind);

		if (sums->begin_thread != NULL)
			sums->begin_thread(sums, thread);
		for (uint32_t i = first; i < first + count; i++)
		{
			const PfsCacheCell *cell = pfs_cache_at(arena, kind, &places[i]);
			uint32_t	row;

			if (cell == NULL || (only != 0 && sums->row_of(sums, cell) != only) ||
				!pfs_cache_read(arena, kind, &places[i], sums->copy))
				continue;
			row = sums->row_of(sums, sums->copy);
			if (row != 0 && (only == 0 || row == only))
				sums->add_cell(sums, row, sums->copy);
		}
		if (sums->end_thread != NULL)
			sums->end_thread(sums, thread, only);
	}
}

static uint32_t
state_of(const PfsCellSums *sums, uint32_t row)
{
	return sums->kind->state(sums->scan->arena, sums->kind, row);
}

/* Adds the row itself; false: something moved into it since its state was this. */
static bool
add_row(PfsCellSums *sums, uint32_t row, uint32_t state)
{
	sums->add_row(sums, row);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);	/* pairs with the fence after a change of the state */
	return (state & 1) == 0 && state_of(sums, row) == state;
}

static void
read_again(PfsCellSums *sums, uint32_t row)
{
	uint32_t	hash = sums->hash_of != NULL ? sums->hash_of(sums, row) : PFS_ANY_PLACE;
	uint32_t	first = hash == PFS_ANY_PLACE ? 0 : pfs_cache_place(sums->kind, hash);
	uint32_t	count = hash == PFS_ANY_PLACE ? sums->kind->places : 2;

	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	state = state_of(sums, row);

		sums->clear(sums, row);
		add_cells(sums, first, count, row);
		if (add_row(sums, row, state))
			return;
	}
	pfs_lose(sums->scan->arena, PFS_LOSS_UNSTABLE_READS);
}

void
pfs_cells_sum(PfsCellSums *sums)
{
	PfsScan    *scan = sums->scan;
	uint32_t   *state = scan->alloc(scan, (sums->end + 1) * sizeof(*state));

	sums->copy = scan->alloc(scan, sums->kind->bytes);
	for (uint32_t row = 1; row < sums->end; row++)
		state[row] = state_of(sums, row);
	add_cells(sums, 0, sums->kind->places, 0);
	for (uint32_t row = 1; row < sums->end; row++)
		if (!add_row(sums, row, state[row]))
			read_again(sums, row);
}
