/*
 * wait_sum.c
 *		Sums of calls on the session's socket move to their cells.
 */
#include "core/wait_sum.h"

#include "core/patience.h"
#include "core/rollup.h"

/* The thread's cell of an event name, at this epoch; NULL: there is none, or it has moved on. */
static void *
cell_of(PfsArena *arena, PfsThread *thread, uint32_t wait, PfsFamily family, size_t bytes, uint32_t epoch)
{
	uint32_t	number = pfs_wait_cell_number(arena, wait);
	PfsCell    *cell;

	if (wait >= arena->sizes.waits || pfs_wait_family(pfs_wait_instrument(arena, wait)->kind) != family)
		return NULL;			/* damaged */
	cell = pfs_pool_at(pfs_pool_of(arena),
					   pfs_load(&pfs_thread_aggregate(arena, thread, PFS_SCOPE_THREAD)->cell[number]), bytes);
	if (cell != NULL && pfs_load(&cell->epoch) > epoch)
		return NULL;			/* never back */
	return pfs_cell_at(arena, thread, PFS_SCOPE_THREAD, family, number, bytes, epoch);
}

/* The socket's statistics, if what is of this epoch counts there. */
static PfsIoStat *
socket_of(const PfsArena *arena, PfsThread *thread, uint32_t epoch)
{
	PfsSocket  *socket = &thread->socket;
	uint32_t	reset = pfs_load(&arena->reset_of[PFS_RESET_SOCKETS]);

	if (epoch < reset)
		return NULL;
	if (pfs_load(&socket->epoch) < reset)
	{
		pfs_zero_words(&socket->stat, sizeof(socket->stat));
		pfs_store(&socket->epoch, epoch);
	}
	return &socket->stat;
}

void
pfs_calls_sum(PfsArena *arena, PfsThread *thread)
{
	PfsCallSums *sums = &thread->call_sums;
	PfsIoStat	calls = {0};
	PfsTimerStat idle;
	uint32_t	epoch = pfs_load(&sums->epoch);
	uint64_t	count;
	PfsIoCell  *cell;
	PfsIoStat  *socket;
	PfsWaitCell *idle_cell;

	pfs_timer_stats_merge(calls.part, sums->part, PFS_IO_MISC);
	pfs_copy_words(calls.bytes, sums->bytes, sizeof(calls.bytes));
	pfs_copy_words(&idle, &sums->part[PFS_IO_MISC], sizeof(idle));
	/* before they are added: of an owner who is killed in between they may be missing, but do not count twice */
	pfs_seq_write_begin(&sums->seq);
	pfs_zero_words(sums->part, sizeof(sums->part));
	pfs_zero_words(sums->bytes, sizeof(sums->bytes));
	pfs_seq_write_end(&sums->seq);
	count = pfs_io_stat_total(&calls).count;
	if (count != 0)
	{
		cell = cell_of(arena, thread, pfs_load(&sums->wait), PFS_FAMILY_SOCKETS, sizeof(*cell), epoch);
		socket = socket_of(arena, thread, epoch);
		if (cell != NULL)
			pfs_io_stat_merge(&cell->stat, &calls);
		else
			pfs_add_shared(&arena->loss[PFS_LOSS_CELLS], count);
		if (socket != NULL)
			pfs_io_stat_merge(socket, &calls);
	}
	if (idle.count != 0)
	{
		idle_cell = cell_of(arena, thread, pfs_load(&sums->idle_wait), PFS_FAMILY_WAITS, sizeof(*idle_cell), epoch);
		if (idle_cell != NULL)
			pfs_timer_stat_merge(&idle_cell->stat, &idle);
		else
			pfs_add_shared(&arena->loss[PFS_LOSS_CELLS], idle.count);
	}
}

/* The owner adds to them outside of the thread's sequence. */
static bool
copy_sums(const PfsCallSums *sums, PfsCallSums *copy)
{
	for (int tries = 0; pfs_try_read(tries); tries++)
	{
		uint32_t	begin = pfs_seq_read_begin(&sums->seq);

		pfs_copy_words(copy, sums, sizeof(*copy));
		if (pfs_seq_read_ok(&sums->seq, begin))
			return true;
	}
	return false;
}

bool
pfs_calls_unsummed(PfsArena *arena, PfsThread *thread, uint32_t wait, uint32_t epoch, PfsIoStat *stat)
{
	PfsCallSums copy;
	bool		of_socket;

	memset(stat, 0, sizeof(*stat));
	if (!copy_sums(&thread->call_sums, &copy))
	{
		pfs_lose(arena, PFS_LOSS_UNSTABLE_READS);
		return false;			/* left out */
	}
	of_socket = wait == PFS_NO_WAIT || wait == copy.wait;
	if (copy.epoch < epoch || (!of_socket && wait != copy.idle_wait))
		return false;
	if (of_socket)
	{
		memcpy(stat->part, copy.part, PFS_IO_MISC * sizeof(copy.part[0]));
		memcpy(stat->bytes, copy.bytes, sizeof(copy.bytes));
	}
	else
		stat->part[PFS_IO_MISC] = copy.part[PFS_IO_MISC];
	return pfs_io_stat_total(stat).count != 0;
}
