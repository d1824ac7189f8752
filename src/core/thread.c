/*
 * thread.c
 *		Attach and detach of thread slots; the rows of accounts, users and hosts.
 */
#include "core/thread.h"

#include "core/clock.h"
#include "core/digest.h"
#include "core/digest_wait.h"
#include "core/names.h"
#include "core/object.h"
#include "core/prepared.h"
#include "core/rollup.h"
#include "core/setup.h"
#include "core/summing.h"
#include "core/timer.h"
#include "core/wait_block.h"
#include "core/wait_sum.h"

#define SLEEPS_FOR_ROWS 100		/* of a millisecond each, until rows are free that others stand in */

/* Row + 1 of the party with this key, made if there is none; 0 when the table is full. */
static uint32_t
find_party(PfsArena *arena, PfsOff table, uint32_t rows, PfsRef user, PfsRef host, PfsLoss loss)
{
	uint32_t	free_row = 0;

	for (uint32_t i = 0; i < rows; i++)
	{
		PfsParty   *party = pfs_party(arena, table, i);

		if (party->used && party->user == user && party->host == host)
			return i + 1;
		if (!party->used && free_row == 0)
			free_row = i + 1;
	}
	if (free_row == 0)
	{
		pfs_lose(arena, loss);
		return 0;
	}
	else
	{
		PfsParty   *party = pfs_party(arena, table, free_row - 1);

		pfs_store(&party->user, user);
		pfs_store(&party->host, host);
		pfs_store(&party->user_row, 0);
		pfs_store(&party->host_row, 0);
		pfs_store(&party->current_connections, 0);
		pfs_store(&party->total_connections, 0);
		pfs_store_release(&party->used, 1);
	}
	return free_row;
}

static void
count_connection(PfsParty *party, int change)
{
	if (party == NULL)
		return;
	if (change > 0)
		pfs_add(&party->total_connections, 1);
	if (change > 0 || pfs_load(&party->current_connections) > 0)
		pfs_add(&party->current_connections, (uint64_t) (int64_t) change);
}

/* A connection comes (+1) or goes (-1).  Lock held. */
static void
count_account(PfsArena *arena, uint32_t account_row, int change)
{
	PfsParty   *account = pfs_account_of_link(arena, account_row);

	if (account == NULL)
		return;
	count_connection(account, change);
	count_connection(pfs_user_of_link(arena, pfs_load(&account->user_row)), change);
	count_connection(pfs_host_of_link(arena, pfs_load(&account->host_row)), change);
}

static uint32_t
find_account(PfsArena *arena, PfsRef user, PfsRef host)
{
	uint32_t	row = find_party(arena, arena->accounts, arena->sizes.accounts, user, host,
								 PFS_LOSS_ACCOUNTS);
	PfsParty   *account;

	if (row == 0)
		return 0;
	account = pfs_party(arena, arena->accounts, row - 1);
	if (account->user_row == 0)
		pfs_store(&account->user_row, find_party(arena, arena->users, arena->sizes.users, user, 0,
												 PFS_LOSS_USERS));
	if (account->host_row == 0)
		pfs_store(&account->host_row, find_party(arena, arena->hosts, arena->sizes.hosts, 0, host,
												 PFS_LOSS_HOSTS));
	return row;
}

static void
hide_events(PfsArena *arena, PfsThread *thread)
{
	pfs_journal_clear(arena, thread);
	for (int i = 0; i < PFS_ANSWERS; i++)
		pfs_store(&thread->answered[i], 0);
	pfs_zero_words(thread->timed_answers.stat, sizeof(thread->timed_answers.stat));
	pfs_store(&pfs_thread_own_aggregate(thread)->transaction_shown, PFS_NO_TRANSACTION);
	pfs_store(&pfs_thread_own_aggregate(thread)->transactions_ended, 0);
	pfs_store(&thread->wait_depth, 0);
	pfs_store(&thread->waits_ended, 0);
	pfs_store(&thread->waits_copied, PFS_NOT_COPIED);
	pfs_zero_words(thread->call_sums.part, sizeof(thread->call_sums.part));
	pfs_zero_words(thread->call_sums.bytes, sizeof(thread->call_sums.bytes));
	pfs_store(&thread->wait_shown, PFS_NO_WAIT);
	pfs_store(&thread->socket.used, 0);
}

/* What is collected by digest, file and table does not wait for the roll-up lock. */
static void
fold_objects(PfsArena *arena, PfsThread *thread, PfsLongClaims *long_history)
{
	static const PfsCacheKind *const kinds[] = {&pfs_digest_cells, &pfs_digest_wait_cells,
		&pfs_object_cells[PFS_MAP_FILES], &pfs_object_cells[PFS_MAP_TABLES]};
	int			sleeps = SLEEPS_FOR_ROWS;
	uint64_t   *calls = pfs_pool_at(pfs_pool_of(arena), pfs_load(&thread->calls),
									PFS_CALL_COUNTERS * sizeof(uint64_t));

	pfs_prepared_remove_all(arena, thread);
	pfs_answers_sum(arena, thread);
	pfs_sum_journal(arena, thread, long_history);
	pfs_wait_blocks_mend(arena, thread);
	if (long_history != NULL)
		pfs_history_waits(arena, thread, &long_history->waits, UINT64_MAX);
	for (size_t i = 0; i < PFS_LENGTH(kinds); i++)
		pfs_cache_fold_all(arena, thread, kinds[i], &sleeps);
	pfs_seq_write_begin(&thread->seq);
	pfs_calls_sum(arena, thread);
	pfs_add(&thread->call_folds, 1);
	pfs_fence();				/* readers see that something moves before it does */
	for (int i = 0; calls != NULL && i < PFS_CALL_COUNTERS; i++)
		if (pfs_load(&calls[i]) != 0)
		{
			pfs_add_shared(&arena->calls_total[i], pfs_load(&calls[i]));
			pfs_store(&calls[i], 0);
		}
	pfs_seq_write_end(&thread->seq);
}

/* Lock held, inside the slot's seq: everything the present owner recorded leaves the slot. */
static void
empty_slot(PfsArena *arena, PfsThread *thread)
{
	pfs_fold_thread(arena, thread);
	count_account(arena, thread->account_row, -1);
	hide_events(arena, thread);
	pfs_store(&thread->thread_id, 0);
}

static void
decide_switches(PfsArena *arena, PfsThread *thread, const PfsThreadInfo *info)
{
	PfsThreadClass *class = pfs_thread_class(arena, info->class);
	bool		instrumented = pfs_load(&class->enabled) != 0;
	bool		history = pfs_load(&class->history) != 0;

	if (class->foreground && instrumented)
	{
		bool		actor_history;

		pfs_actor_lookup(arena, info->user ? info->user : "", info->host ? info->host : "",
						 &instrumented, &actor_history);
		history = history && actor_history;
	}
	pfs_store(&thread->instrumented, (uint8_t) instrumented);
	pfs_store(&thread->history, (uint8_t) history);
}

static PfsRef
name_of(PfsArena *arena, const char *text)
{
	return pfs_name(arena, text, text != NULL ? strlen(text) : 0);
}

static PFS_HOT void
describe(PfsArena *arena, PfsThread *thread, const PfsThreadInfo *info)
{
	size_t		program_length = info->program ? strlen(info->program) : 0;

	pfs_store(&thread->processlist_id,
			  pfs_thread_class(arena, info->class)->foreground ? info->pid : 0);
	pfs_store(&thread->parent_thread_id, 0);
	pfs_store(&thread->class, info->class);
	pfs_store(&thread->user, name_of(arena, info->user));
	pfs_store(&thread->host, name_of(arena, info->host));
	pfs_store(&thread->database, name_of(arena, info->database));
	pfs_store(&thread->database_id, info->database_id);
	pfs_store(&thread->encoding, info->encoding);
	pfs_store(&thread->schema, 0);
	pfs_store(&thread->connection_type, info->connection_type);
	program_length = pfs_min(program_length, sizeof(thread->program) - 1);
	pfs_zero_words(thread->program, sizeof(thread->program));
	if (program_length > 0)
		pfs_copy_bytes(thread->program, info->program, program_length);
	pfs_store(&thread->event_id, 0);
	hide_events(arena, thread);
	pfs_store(&thread->state, PFS_THREAD_IDLE);
	pfs_store(&thread->attached_at, pfs_now());
	pfs_store(&thread->state_since, thread->attached_at);
	decide_switches(arena, thread, info);
}

PfsThread *
pfs_thread_attach(PfsArena *arena, uint32_t slot, const PfsThreadInfo *info)
{
	PfsThread  *thread;
	uint32_t	epoch;
	bool		locked;

	if (slot >= arena->sizes.threads)
	{
		pfs_lose(arena, PFS_LOSS_THREADS);
		return NULL;
	}
	thread = pfs_thread(arena, slot);
	pfs_clock_follow(arena);
	if (pfs_load(&thread->seq) & 1)
		pfs_store(&thread->seq, pfs_load(&thread->seq) + 1);	/* predecessor died inside */
	if (pfs_load(&thread->identity) & 1)
		pfs_store(&thread->identity, pfs_load(&thread->identity) + 1);
	fold_objects(arena, thread, NULL);	/* of a predecessor that could not */
	locked = pfs_rollup_lock(arena, !info->hurried);
	if (!locked && info->hurried)
		return NULL;
	if (!locked && thread->thread_id != 0)
	{
		pfs_lose(arena, PFS_LOSS_THREADS);	/* never show a predecessor's numbers */
		return NULL;
	}
	pfs_seq_write_begin(&thread->seq);
	pfs_seq_write_begin(&thread->identity);
	if (thread->thread_id != 0)
		empty_slot(arena, thread);
	describe(arena, thread, info);
	pfs_store(&thread->account_row, locked ? find_account(arena, thread->user, thread->host) : 0);
	if (locked)
		count_account(arena, thread->account_row, +1);
	else
		pfs_lose(arena, PFS_LOSS_ACCOUNTS);
	epoch = pfs_load_acquire(&arena->reset_now);
	for (int scope = 0; scope < PFS_SCOPES; scope++)
		pfs_store(&pfs_thread_aggregate(arena, thread, scope)->transaction_epoch, epoch);
	pfs_store(&thread->histogram_epoch, epoch);
	pfs_store(&thread->thread_id, pfs_add_shared(&arena->next_thread_id, 1) + 1);
	pfs_store(&thread->owner, info->pid);
	pfs_seq_write_end(&thread->identity);
	pfs_seq_write_end(&thread->seq);
	if (locked)
		pfs_rollup_unlock(arena);
	return thread;
}

void
pfs_thread_set_leader(PfsArena *arena, PfsThread *thread, uint32_t pid)
{
	PfsThread  *leader = pfs_thread_by_pid(arena, pid);

	if (leader != NULL)
		pfs_store(&thread->parent_thread_id, pfs_load(&leader->thread_id));
}

void
pfs_thread_detach(PfsArena *arena, PfsThread *thread, PfsLongClaims *long_history)
{
	bool		locked;

	fold_objects(arena, thread, long_history);
	locked = pfs_rollup_lock(arena, true);
	pfs_seq_write_begin(&thread->seq);
	pfs_seq_write_begin(&thread->identity);
	if (locked)
		empty_slot(arena, thread);
	pfs_store(&thread->owner, 0);	/* without the lock the successor empties the slot */
	pfs_seq_write_end(&thread->identity);
	pfs_seq_write_end(&thread->seq);
	if (locked)
		pfs_rollup_unlock(arena);
}

PfsThread *
pfs_thread_by_pid(const PfsArena *arena, uint32_t pid)
{
	for (uint32_t i = 0; i < arena->sizes.threads; i++)
	{
		PfsThread  *thread = pfs_thread(arena, i);

		if (pid != 0 && pfs_load(&thread->owner) == pid)
			return thread;
	}
	return NULL;
}

void
pfs_thread_instrument(PfsArena *arena, PfsThread *thread, bool on)
{
	pfs_store(&thread->instrumented, (uint8_t) on);
	pfs_add_release(&arena->setup_changes, 1);	/* sessions remember what it was */
}

void
pfs_thread_keep_history(PfsArena *arena, PfsThread *thread, bool on)
{
	pfs_store(&thread->history, (uint8_t) on);
	pfs_add_release(&arena->setup_changes, 1);
}
