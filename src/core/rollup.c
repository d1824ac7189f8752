/*
 * rollup.c
 *		Moving statistics up the levels; TRUNCATE of summaries.  The rules are in rollup.h.
 */
#include "core/rollup.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#define SPINS_OF_A_RECORDER 2000
#define YIELDS_OF_A_RECORDER 50	/* the holder may have lost its processor in the middle */
#define SLEEPS_OF_A_SESSION 1000	/* of a millisecond each */

static const size_t stat_bytes[PFS_FAMILIES] = {
	[PFS_FAMILY_STATEMENTS] = sizeof(PfsStatementStat),
	[PFS_FAMILY_TRANSACTIONS] = sizeof(PfsTransactionStat),
	[PFS_FAMILY_ERRORS] = sizeof(PfsErrorStat),
	[PFS_FAMILY_WAITS] = sizeof(PfsTimerStat),
	[PFS_FAMILY_FILES] = sizeof(PfsIoStat),
	[PFS_FAMILY_SOCKETS] = sizeof(PfsIoStat),
};

size_t
pfs_stat_bytes(PfsFamily family)
{
	return stat_bytes[family];
}

PfsFamily
pfs_cell_family(const PfsArena *arena, uint32_t number)
{
	if (number < arena->sizes.statement_classes)
		return PFS_FAMILY_STATEMENTS;
	if (number < pfs_wait_cell_number(arena, 0))
		return PFS_FAMILY_ERRORS;
	return pfs_wait_family(pfs_wait_instrument(arena, number -
											   pfs_wait_cell_number(arena, 0))->kind);
}

static bool
spin_for_lock(PfsArena *arena, uint32_t pid)
{
	for (int i = 0; i < SPINS_OF_A_RECORDER; i++)
	{
		if (pfs_load(&arena->lock) == 0 && pfs_cas32(&arena->lock, 0, pid))
			return true;
		pfs_cpu_pause();
	}
	return false;
}

bool
pfs_rollup_lock(PfsArena *arena, bool patient)
{
	uint32_t	pid = (uint32_t) getpid();
	struct timespec millisecond = {0, 1000000};
	int			tries = patient ? SLEEPS_OF_A_SESSION : YIELDS_OF_A_RECORDER;

	while (!spin_for_lock(arena, pid))
	{
		if (tries-- <= 0)
			return false;
		if (patient)
			nanosleep(&millisecond, NULL);
		else
			sched_yield();
	}
	pfs_add(&arena->moves_begun, 1);
	pfs_fence();				/* readers see "begun" before the first move */
	return true;
}

void
pfs_rollup_unlock(PfsArena *arena)
{
	pfs_fence();
	pfs_add(&arena->moves_done, 1);
	pfs_store_release(&arena->lock, 0);
}

void
pfs_stat_merge(PfsFamily family, void *to, const void *from)
{
	switch (family)
	{
		case PFS_FAMILY_STATEMENTS:
			pfs_statement_stat_merge(to, from);
			break;
		case PFS_FAMILY_TRANSACTIONS:
			pfs_transaction_stat_merge(to, from);
			break;
		case PFS_FAMILY_ERRORS:
			pfs_error_stat_merge(to, from);
			break;
		case PFS_FAMILY_WAITS:
			pfs_timer_stat_merge(to, from);
			break;
		default:
			pfs_io_stat_merge(to, from);
			break;
	}
}

/* Where a parent keeps a statistic; claimed on demand. */
static void *
parent_stat(PfsArena *arena, PfsAggregate *parent, PfsFamily family, uint32_t number)
{
	size_t		bytes = sizeof(PfsCell) + stat_bytes[family];
	PfsPool    *pool = pfs_pool_of(arena);
	char	   *stat;
	PfsRef		ref;

	if (family == PFS_FAMILY_TRANSACTIONS)
		return &parent->transaction;
	if (number >= pfs_cell_count(arena))
		return NULL;
	ref = pfs_load(&parent->cell[number]);
	stat = pfs_pool_at(pool, ref, bytes);
	if (stat == NULL)
	{
		ref = pfs_pool_alloc(pool, bytes);
		if (ref == 0)
			return NULL;
		pfs_store_release(&parent->cell[number], ref);
		stat = pfs_pool_at(pool, ref, bytes);
	}
	return stat + sizeof(PfsCell);
}

static void
add_to_parent(PfsArena *arena, PfsAggregate *parent, PfsFamily family, uint32_t number,
			  const void *stat)
{
	void	   *to = parent_stat(arena, parent, family, number);

	if (to != NULL)
		pfs_stat_merge(family, to, stat);
	else
		pfs_lose(arena, PFS_LOSS_CELLS);
}

/* Adds content that still counts at these levels to the lowest of them that is not a thread. */
static void
move_up(PfsArena *arena, uint32_t account_row, PfsFamily family, uint32_t number, const void *stat,
		unsigned levels)
{
	PfsParty   *account = pfs_account_of_link(arena, account_row);
	PfsParty   *user = NULL,
			   *host = NULL;

	if (account != NULL)
	{
		if ((levels & PFS_LEVEL_BIT(PFS_LEVEL_ACCOUNT)) != 0)
		{
			add_to_parent(arena, &account->aggregate, family, number, stat);
			return;
		}
		user = pfs_user_of_link(arena, pfs_load(&account->user_row));
		host = pfs_host_of_link(arena, pfs_load(&account->host_row));
	}
	if (user != NULL && (levels & PFS_LEVEL_BIT(PFS_LEVEL_USER)) != 0)
		add_to_parent(arena, &user->aggregate, family, number, stat);
	if (host != NULL && (levels & PFS_LEVEL_BIT(PFS_LEVEL_HOST)) != 0)
		add_to_parent(arena, &host->aggregate, family, number, stat);
	else if ((levels & PFS_LEVEL_BIT(PFS_LEVEL_GLOBAL)) != 0)
		add_to_parent(arena, pfs_global_aggregate(arena), family, number, stat);
}

static void
move_up_from_scope(PfsArena *arena, PfsThread *thread, PfsScope scope, PfsFamily family,
				   uint32_t number, const void *stat, unsigned levels)
{
	if (scope == PFS_SCOPE_GLOBAL)
		move_up(arena, 0, family, number, stat, levels & PFS_LEVEL_BIT(PFS_LEVEL_GLOBAL));
	else
		move_up(arena, thread->account_row, family, number, stat, levels);
}

void
pfs_rollup_add_wait(PfsArena *arena, uint32_t account_row, uint32_t wait, const PfsTimerStat *stat,
					uint32_t epoch)
{
	PfsFamily	family = pfs_wait_family(pfs_wait_instrument(arena, wait)->kind);
	PfsIoStat	io = {.part[PFS_IO_MISC] = *stat};

	move_up(arena, account_row, family, pfs_wait_cell_number(arena, wait),
			family == PFS_FAMILY_WAITS ? (const void *) stat : &io,
			pfs_visible_levels(arena, family, epoch));
}

/* Empties a thread's statistic whose epoch has passed, after moving up what still counts. */
static void
retire(PfsArena *arena, PfsThread *thread, PfsScope scope, PfsFamily family, uint32_t number,
	   void *stat, uint32_t *epoch, uint32_t now)
{
	unsigned	levels = pfs_visible_levels(arena, family, pfs_load(epoch));
	unsigned	own = scope == PFS_SCOPE_THREAD ? PFS_LEVEL_BIT(PFS_LEVEL_THREAD)
		: PFS_LEVEL_BIT(PFS_LEVEL_GLOBAL);

	if ((levels & own) == 0)
	{
		if (levels == 0)
			pfs_zero_words(stat, stat_bytes[family]);
		else if (pfs_rollup_lock(arena, false))
		{
			/* again: another TRUNCATE may have had the lock before us */
			levels = pfs_visible_levels(arena, family, pfs_load(epoch));
			move_up_from_scope(arena, thread, scope, family, number, stat, levels);
			pfs_zero_words(stat, stat_bytes[family]);
			pfs_rollup_unlock(arena);
		}
		else
			pfs_lose(arena, PFS_LOSS_ROLL_UP);
	}
	pfs_store(epoch, now);
}

static PfsCell *
cell_at(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t number, size_t bytes)
{
	return pfs_pool_at(pfs_pool_of(arena), pfs_load(&pfs_thread_aggregate(arena, thread, scope)->cell[number]), bytes);
}

/* NULL: the pool is full. */
static PfsCell *
new_cell(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t number, size_t bytes, uint32_t epoch)
{
	PfsPool    *pool = pfs_pool_of(arena);
	PfsRef		ref = pfs_pool_alloc(pool, bytes);
	PfsCell    *cell = pfs_pool_at(pool, ref, bytes);

	if (cell == NULL)
		return NULL;
	pfs_store(&cell->epoch, epoch);
	pfs_store_release(&pfs_thread_aggregate(arena, thread, scope)->cell[number], ref);
	return cell;
}

void *
pfs_cell_slow(PfsArena *arena, PfsThread *thread, PfsScope scope, PfsFamily family,
			  uint32_t number, size_t bytes, uint32_t epoch)
{
	PfsCell    *cell = cell_at(arena, thread, scope, number, bytes);

	if (cell == NULL)
	{
		cell = new_cell(arena, thread, scope, number, bytes, epoch);
		if (cell == NULL)
			pfs_lose(arena, PFS_LOSS_CELLS);
		return cell;
	}
	pfs_seq_write_begin(&cell->seq);
	retire(arena, thread, scope, family, number, cell + 1, &cell->epoch, epoch);
	pfs_seq_write_end(&cell->seq);
	return cell;
}

void
pfs_statement_cell_reserve(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t class, uint32_t epoch)
{
	if (cell_at(arena, thread, scope, class, sizeof(PfsStatementCell)) == NULL)
		(void) new_cell(arena, thread, scope, class, sizeof(PfsStatementCell), epoch);
}

/*
 * Two epochs at which the same levels count are one for all resets to come.  A cell that has newer content than this
 * stays as it is: what does not count in the thread any more passes it by, as a roll-up.
 */
void
pfs_statement_cell_merge(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t class,
						 const PfsStatementStat *stat, uint32_t epoch)
{
	unsigned	mask = scope == PFS_SCOPE_GLOBAL ? PFS_LEVEL_BIT(PFS_LEVEL_GLOBAL) : ~0u;
	unsigned	levels = pfs_visible_levels(arena, PFS_FAMILY_STATEMENTS, epoch) & mask;
	PfsStatementCell *cell = (PfsStatementCell *) cell_at(arena, thread, scope, class, sizeof(*cell));
	uint32_t	is = cell != NULL ? pfs_load(&cell->head.epoch) : 0;

	if (levels == 0)
		return;
	if (cell == NULL || (is < epoch && (pfs_visible_levels(arena, PFS_FAMILY_STATEMENTS, is) & mask) != levels))
	{
		cell = pfs_cell_slow(arena, thread, scope, PFS_FAMILY_STATEMENTS, class, sizeof(*cell), epoch);
		is = epoch;
	}
	if (cell == NULL)
	{
		pfs_add_shared(&arena->loss[PFS_LOSS_CELLS], pfs_load(&stat->timer.count) - 1);
		return;
	}
	if (is != epoch && (pfs_visible_levels(arena, PFS_FAMILY_STATEMENTS, is) & mask) != levels)
	{
		if (pfs_rollup_lock(arena, false))
		{
			move_up_from_scope(arena, thread, scope, PFS_FAMILY_STATEMENTS, class, stat,
							   pfs_visible_levels(arena, PFS_FAMILY_STATEMENTS, epoch));
			pfs_rollup_unlock(arena);
			return;
		}
		pfs_lose(arena, PFS_LOSS_ROLL_UP);
	}
	pfs_seq_write_begin(&cell->head.seq);
	pfs_statement_stat_merge(&cell->stat, stat);
	pfs_seq_write_end(&cell->head.seq);
}

PFS_COLD void
pfs_transaction_cell_retire(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t epoch)
{
	PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);

	retire(arena, thread, scope, PFS_FAMILY_TRANSACTIONS, 0, &aggregate->transaction,
		   &aggregate->transaction_epoch, epoch);
}

uint64_t *
pfs_histogram_cell(PfsArena *arena, PfsThread *thread, uint32_t epoch)
{
	uint32_t	reset = pfs_load(&arena->reset_of[PFS_RESET_HISTOGRAM_GLOBAL]);

	if (epoch < reset)
		return NULL;
	if (pfs_load(&thread->histogram_epoch) < reset)
	{
		pfs_zero_words(thread->histogram, sizeof(thread->histogram));
		pfs_store(&thread->histogram_epoch, epoch);
	}
	return thread->histogram;
}

static void
fold_cell(PfsArena *arena, PfsThread *thread, PfsScope scope, uint32_t number)
{
	PfsFamily	family = pfs_cell_family(arena, number);
	PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);
	size_t		bytes = sizeof(PfsCell) + stat_bytes[family];
	PfsRef		ref = pfs_load(&aggregate->cell[number]);
	PfsCell    *cell = pfs_pool_at(pfs_pool_of(arena), ref, bytes);

	pfs_store(&aggregate->cell[number], 0);
	if (cell == NULL)
		return;
	move_up_from_scope(arena, thread, scope, family, number, cell + 1,
					   pfs_visible_levels(arena, family, pfs_load(&cell->epoch)));
	pfs_pool_free(pfs_pool_of(arena), ref, bytes);
}

void
pfs_fold_thread(PfsArena *arena, PfsThread *thread)
{
	uint32_t	cells = pfs_cell_count(arena);
	uint64_t   *histogram = pfs_global_histogram(arena);

	for (int scope = 0; scope < PFS_SCOPES; scope++)
	{
		PfsAggregate *aggregate = pfs_thread_aggregate(arena, thread, scope);

		for (uint32_t number = 0; number < cells; number++)
			if (pfs_load(&aggregate->cell[number]) != 0)
				fold_cell(arena, thread, scope, number);
		move_up_from_scope(arena, thread, scope, PFS_FAMILY_TRANSACTIONS, 0,
						   &aggregate->transaction,
						   pfs_visible_levels(arena, PFS_FAMILY_TRANSACTIONS,
											  pfs_load(&aggregate->transaction_epoch)));
		pfs_zero_words(&aggregate->transaction, sizeof(aggregate->transaction));
	}
	if (pfs_load(&thread->histogram_epoch) >= pfs_load(&arena->reset_of[PFS_RESET_HISTOGRAM_GLOBAL]))
		for (int i = 0; i < PFS_BUCKETS; i++)
			if (pfs_load(&thread->histogram[i]) != 0)
				pfs_add(&histogram[i], pfs_load(&thread->histogram[i]));
	pfs_zero_words(thread->histogram, sizeof(thread->histogram));
}

/* Parents: moves what a party holds of a family up to the levels above it, and empties it. */
static void
empty_party(PfsArena *arena, PfsFamily family, PfsParty *party, PfsLevel level)
{
	uint32_t	count = family == PFS_FAMILY_TRANSACTIONS ? 1 : pfs_cell_count(arena);
	unsigned	upwards = PFS_LEVEL_BIT(PFS_LEVEL_GLOBAL);
	uint32_t	account_row = 0;

	if (level == PFS_LEVEL_ACCOUNT)
	{
		upwards |= PFS_LEVEL_BIT(PFS_LEVEL_USER) | PFS_LEVEL_BIT(PFS_LEVEL_HOST);
		account_row = (uint32_t) (((char *) party - (char *) pfs_party(arena, arena->accounts, 0)) /
								  arena->account_bytes) + 1;
	}
	for (uint32_t number = 0; number < count; number++)
	{
		void	   *stat = &party->aggregate.transaction;

		if (family != PFS_FAMILY_TRANSACTIONS)
		{
			if (pfs_load(&party->aggregate.cell[number]) == 0 ||
				pfs_cell_family(arena, number) != family)
				continue;
			stat = parent_stat(arena, &party->aggregate, family, number);
			if (stat == NULL)
				continue;
		}
		if (level == PFS_LEVEL_ACCOUNT || level == PFS_LEVEL_HOST)
			move_up(arena, account_row, family, number, stat, upwards);
		pfs_zero_words(stat, stat_bytes[family]);
	}
}

static void
empty_parties(PfsArena *arena, PfsFamily family, PfsLevel level)
{
	const struct
	{
		PfsOff		table;
		uint32_t	rows;
	}			parties[PFS_LEVELS] = {
		[PFS_LEVEL_ACCOUNT] = {arena->accounts, arena->sizes.accounts},
		[PFS_LEVEL_USER] = {arena->users, arena->sizes.users},
		[PFS_LEVEL_HOST] = {arena->hosts, arena->sizes.hosts},
		[PFS_LEVEL_GLOBAL] = {arena->global, 1},
	};

	for (uint32_t i = 0; i < parties[level].rows; i++)
	{
		PfsParty   *party = pfs_party(arena, parties[level].table, i);

		if (party->used || level == PFS_LEVEL_GLOBAL)
			empty_party(arena, family, party, level);
	}
}

/* Levels that a TRUNCATE of this level empties: itself and those that feed it. */
static unsigned
levels_below(PfsLevel level)
{
	static const unsigned below[PFS_LEVELS] = {
		[PFS_LEVEL_THREAD] = 0x01,
		[PFS_LEVEL_ACCOUNT] = 0x03,
		[PFS_LEVEL_USER] = 0x07,
		[PFS_LEVEL_HOST] = 0x0B,
		[PFS_LEVEL_GLOBAL] = 0x1F,
	};

	return below[level];
}

/* New value of the reset counter; reset points are stored before it is published. */
static uint32_t
next_reset(const PfsArena *arena)
{
	return pfs_load(&arena->reset_now) + 1;
}

static void
reset_family(PfsArena *arena, PfsFamily family, PfsLevel level)
{
	uint32_t	epoch = next_reset(arena);
	unsigned	levels = levels_below(level);

	for (int l = 0; l < PFS_LEVELS; l++)
		if ((levels & PFS_LEVEL_BIT(l)) != 0)
			pfs_store(&arena->reset_at[family][l], epoch);
	for (int l = PFS_LEVEL_ACCOUNT; l < PFS_LEVELS; l++)
		if ((levels & PFS_LEVEL_BIT(l)) != 0)
			empty_parties(arena, family, l);
	pfs_store_release(&arena->reset_now, epoch);	/* pairs with pfs_cell */
}

bool
pfs_reset_level(PfsArena *arena, unsigned families, PfsLevel level)
{
	if (!pfs_rollup_lock(arena, true))
		return false;
	for (int family = 0; family < PFS_FAMILIES; family++)
		if ((families & PFS_FAMILY_BIT(family)) != 0)
			reset_family(arena, family, level);
	pfs_rollup_unlock(arena);
	return true;
}

bool
pfs_reset_events(PfsArena *arena, PfsReset reset)
{
	uint32_t	epoch;

	if (!pfs_rollup_lock(arena, true))
		return false;
	epoch = next_reset(arena);
	pfs_store(&arena->reset_of[reset], epoch);
	if (reset == PFS_RESET_HISTOGRAM_GLOBAL)
		pfs_zero_words(pfs_global_histogram(arena), PFS_BUCKETS * sizeof(uint64_t));
	pfs_store_release(&arena->reset_now, epoch);
	pfs_rollup_unlock(arena);
	return true;
}

/* Accounts that pointed at a removed row find or make it again when they next connect. */
static void
forget_row(PfsArena *arena, PfsLevel level, uint32_t row)
{
	for (uint32_t i = 0; i < arena->sizes.accounts; i++)
	{
		PfsParty   *account = pfs_party(arena, arena->accounts, i);
		uint32_t   *link = level == PFS_LEVEL_USER ? &account->user_row : &account->host_row;

		if (account->used && *link == row + 1)
			pfs_store(link, 0);
	}
}

bool
pfs_reset_parties(PfsArena *arena, PfsLevel level)
{
	PfsOff		table = level == PFS_LEVEL_ACCOUNT ? arena->accounts
		: level == PFS_LEVEL_USER ? arena->users : arena->hosts;
	uint32_t	rows = level == PFS_LEVEL_ACCOUNT ? arena->sizes.accounts
		: level == PFS_LEVEL_USER ? arena->sizes.users : arena->sizes.hosts;

	if (!pfs_rollup_lock(arena, true))
		return false;
	for (int family = 0; family < PFS_FAMILIES; family++)
		reset_family(arena, family, level);
	for (uint32_t i = 0; i < rows; i++)
	{
		PfsParty   *party = pfs_party(arena, table, i);

		if (!party->used)
			continue;
		pfs_store(&party->total_connections, party->current_connections);
		if (party->current_connections != 0)
			continue;
		if (level != PFS_LEVEL_ACCOUNT)
			forget_row(arena, level, i);
		pfs_store_release(&party->used, 0);
	}
	pfs_rollup_unlock(arena);
	return true;
}
