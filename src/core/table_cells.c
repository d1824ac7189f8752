/*
 * table_cells.c
 *		Adding up rows and the cells of all threads, and what a thread has, while cells are folded.
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
	uint32_t	count = hash == PFS_ANY_PLACE ? sums->kind->places : PFS_CACHE_WAYS;

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

/* --- threads --- */

/* in_a_move: the owner stands still in the middle of one.  What it may have added of its records is left out. */
static void
sum_thread(PfsThreadSums *sums, PfsThread *thread, bool in_a_move)
{
	PfsScan    *scan = sums->scan;
	const PfsRef *places = pfs_cache_places(thread, &pfs_digest_cells);
	uint64_t	summed;

	sums->begin(sums);
	pfs_read_unsummed(scan, thread, &sums->unsummed);
	summed = pfs_load_acquire(in_a_move ? &thread->summing : &thread->summed);
	for (uint32_t i = 0; i < sums->unsummed.count; i++)
		sums->summed[i] = sums->unsummed.first + i <= summed;
	for (uint32_t place = 0; place < PFS_DIGEST_CACHE; place++)
	{
		if (pfs_load(&places[place]) == 0 || !pfs_cache_read(scan->arena, &pfs_digest_cells, &places[place], sums->copy))
			continue;
		for (uint32_t i = 0; i < sums->unsummed.count; i++)
			sums->summed[i] |= pfs_digest_cell_has(scan->arena, sums->copy, &sums->unsummed.record[i],
												   sums->unsummed.first + i);
		if (sums->copy->stat.timer.count != 0)
			sums->add_cell(sums, sums->copy);
	}
	for (uint32_t i = 0; i < sums->unsummed.count; i++)
		if (!sums->summed[i])
			sums->add_record(sums, &sums->unsummed.record[i]);
	sums->add_moved(sums, thread);
}

void
pfs_thread_sums(PfsThreadSums *sums, PfsThread *thread)
{
	PfsScan    *scan = sums->scan;

	if (sums->copy == NULL)
	{
		sums->copy = scan->alloc(scan, sizeof(*sums->copy));
		sums->summed = scan->alloc(scan, scan->arena->journal_ring * sizeof(bool));
	}
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&thread->moves);

		if ((begin & 1) != 0)
			continue;
		sum_thread(sums, thread, false);
		if (pfs_seq_read_ok(&thread->moves, begin))
			return;
	}
	sum_thread(sums, thread, (pfs_load(&thread->moves) & 1) != 0);
	pfs_lose(scan->arena, PFS_LOSS_UNSTABLE_READS);
}
