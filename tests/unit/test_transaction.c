/*
 * test_transaction.c - transaction events and error counts.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/rollup.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CURRENT "events_transactions_current"
#define HISTORY "events_transactions_history"
#define HISTORY_LONG "events_transactions_history_long"
#define GLOBAL "events_transactions_summary_global_by_event_name"
#define BY_THREAD "events_transactions_summary_by_thread_by_event_name"
#define BY_ACCOUNT "events_transactions_summary_by_account_by_event_name"
#define ERRORS "events_errors_summary_global_by_error"

static void
test_life(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsTransactionRecord *event;
	Rows *rows;

	pfs_transaction_open(session, 100);
	event = session->transaction.event;
	rows = rows_of(arena, CURRENT);
	is_str(row_text(rows, 0, "state"), "ACTIVE", "a transaction runs");
	is_str(row_text(rows, 0, "isolation_level"), "READ COMMITTED", "isolation level");
	ok(row_text(rows, 0, "xa_state") == NULL && row_text(rows, 0, "trx_id") == NULL, "no ids yet");
	rows_free(rows);
	event->trx_id = 4242;
	pfs_transaction_more(event)->savepoints = 3;
	event->rollbacks_to_savepoint = 2;
	event->releases_of_savepoint = 1;
	event->autocommit = 0;
	event->gid_length = 3;
	memcpy(event->gid, "gid", 3);
	pfs_transaction_close(session, PFS_TRANSACTION_PREPARED, 150);
	for (int i = 0; i < 2; i++)
	{
		rows = rows_of(arena, i == 0 ? CURRENT : HISTORY);
		is_str(row_text(rows, 0, "state"), "PREPARED", "state");
		is_str(row_text(rows, 0, "xid_gtrid"), "gid", "identifier");
		is_str(row_text(rows, 0, "autocommit"), "NO", "autocommit");
		is_u64(row_number(rows, 0, "trx_id"), 4242, "transaction id");
		is_u64(row_number(rows, 0, "number_of_savepoints"), 3, "savepoints");
		is_u64(row_number(rows, 0, "timer_wait"), 50, "time");
		rows_free(rows);
	}
	fixture_transaction(session, true, 0);
	rows = rows_of(arena, HISTORY);
	ok(row_text(rows, 1, "xid_gtrid") == NULL, "the next one has no identifier");
	is_str(row_text(rows, 1, "access_mode"), "READ ONLY", "access mode");
	rows_free(rows);
	rows = rows_of(arena, GLOBAL);
	is_u64(row_number(rows, 0, "count_star"), 2, "both counted");
	is_u64(row_number(rows, 0, "sum_timer_read_write"), 50, "one read-write");
	is_u64(row_number(rows, 0, "sum_timer_read_only"), 1, "one read-only, within its tick");
	is_u64(row_number(rows, 0, "max_timer_wait"), 50, "the longest of both");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_switches(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_CURRENT, false);
	fixture_transaction(session, false, 5);
	is_u64(table_count(arena, CURRENT) + table_count(arena, HISTORY), 0, "current off: no rows");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 1, "but sums");
	pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_CURRENT, true);
	pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_HISTORY_LONG, true);
	pfs_set_instrument(arena, pfs_instrument(arena, arena->transaction_instrument), -1, 0);
	fixture_transaction(session, false, 5);
	is_u64(table_sum(arena, GLOBAL, "sum_timer_wait"), 5, "untimed adds no time");
	is_u64(table_sum(arena, HISTORY, "timer_start"), 0, "and shows none");
	is_u64(table_count(arena, HISTORY_LONG), 1, "history_long");
	pfs_thread_keep_history(arena, session->thread, false);
	fixture_transaction(session, false, 5);
	is_u64(table_count(arena, HISTORY_LONG) + table_count(arena, HISTORY), 2,
		   "no histories of a thread without");
	is_u64(table_sum(arena, CURRENT, "event_id"), 2, "current is kept");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_rings(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t own = arena->sizes.transactions_history;
	uint32_t all = arena->sizes.transactions_history_long;

	pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_HISTORY_LONG, true);
	for (uint32_t i = 1; i <= 3 * all; i++)
		fixture_transaction(session, false, i);
	is_u64(table_count(arena, HISTORY), own, "a full ring");
	is_u64(table_sum(arena, HISTORY, "timer_wait"), 3ull * (3 * all) - 3, "of the last ones");
	is_u64(table_count(arena, HISTORY_LONG), all, "a full long ring");
	is_u64(table_sum(arena, HISTORY_LONG, "event_id"), (uint64_t) all * (5 * all + 1) / 2,
		   "of the last ones");
	table_truncate(arena, HISTORY);
	table_truncate(arena, HISTORY_LONG);
	is_u64(table_count(arena, HISTORY) + table_count(arena, HISTORY_LONG), 0, "TRUNCATE");
	is_u64(table_count(arena, CURRENT), 1, "of these only");
	fixture_transaction(session, false, 1);
	is_u64(table_count(arena, HISTORY) + table_count(arena, HISTORY_LONG), 2, "they fill again");
	fixture_detach(session);
	fixture_free(arena);
}

/* Levels that should show this many, each of this time. */
static void
shows(PfsArena *arena, uint64_t thread, uint64_t account, uint64_t global, uint64_t wait, const char *what)
{
	is_u64(table_sum(arena, BY_THREAD, "count_star"), thread, what);
	is_u64(table_sum(arena, BY_ACCOUNT, "count_star"), account, "accounts");
	is_u64(table_sum(arena, GLOBAL, "count_star"), global, "global");
	is_u64(table_sum(arena, GLOBAL, "sum_timer_wait"), wait * global, "times");
}

/* They wait to be summed: readers add them, each at the levels that count it. */
static void
test_unsummed(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsThread *thread = session->thread;

	for (int i = 0; i < 5; i++)
		fixture_transaction(session, false, 7);
	is_u64(thread->transactions_ended - thread->transactions_summed, 5, "none is summed");
	shows(arena, 5, 5, 5, 7, "all are shown");
	table_truncate(arena, BY_THREAD);
	shows(arena, 0, 5, 5, 7, "not counted by thread");
	for (int i = 0; i < 3; i++)
		fixture_transaction(session, false, 7);
	shows(arena, 3, 8, 8, 7, "of two epochs");
	table_truncate(arena, BY_ACCOUNT);
	shows(arena, 0, 0, 8, 7, "the global level keeps them");
	pfs_set_consumer(arena, PFS_CONSUMER_THREAD, false);
	fixture_transaction(session, false, 7);
	shows(arena, 0, 0, 9, 7, "one for the global level only");
	pfs_set_consumer(arena, PFS_CONSUMER_THREAD, true);
	fixture_transaction(session, false, 7);
	pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_CURRENT, false);
	fixture_transaction(session, false, 7);
	is_u64(thread->transactions_ended - thread->transactions_summed, 0, "one without a row is summed, after those before it");
	shows(arena, 2, 2, 11, 7, "no more and no less");
	pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_CURRENT, true);
	for (int i = 0; i < 3 * PFS_TRANSACTIONS_UNSUMMED; i++)
	{
		fixture_transaction(session, false, 7);
		if (i == PFS_TRANSACTIONS_UNSUMMED)
			table_truncate(arena, BY_THREAD);
	}
	ok(thread->transactions_ended - thread->transactions_summed < PFS_TRANSACTIONS_UNSUMMED, "the ring is summed when it is full");
	shows(arena, 2 * PFS_TRANSACTIONS_UNSUMMED - 1, 2 + 3 * PFS_TRANSACTIONS_UNSUMMED,
		  11 + 3 * PFS_TRANSACTIONS_UNSUMMED, 7, "TRUNCATE while some wait");
	fixture_detach(session);
	shows(arena, 0, 2 + 3 * PFS_TRANSACTIONS_UNSUMMED, 11 + 3 * PFS_TRANSACTIONS_UNSUMMED, 7, "the thread has ended");
	table_truncate(arena, GLOBAL);
	shows(arena, 0, 0, 0, 7, "TRUNCATE of all");
	fixture_free(arena);
}

/* --- killed while they are summed --- */

static struct
{
	PfsThread *thread;
	uint64_t *ended;			/* told to others */
	int sequences;				/* of the thread, until it dies */
} victim;

static void
die_inside(PfsSeq *seq)
{
	if (seq == &victim.thread->seq && --victim.sequences == 0)
		kill(getpid(), SIGKILL);
}

static void
test_killed(void)
{
	uint64_t *ended = mmap(NULL, sizeof(*ended), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t wrong = 0;
	uint64_t inside = 0;

	for (int i = 1; i <= 100; i++)
	{
		PfsSizes sizes = fixture_sizes();
		PfsArena *arena = fixture_shared_arena(&sizes);
		size_t bytes = arena->bytes;
		PfsThread *thread;
		PfsSession *session;
		uint64_t count;
		pid_t pid;

		*ended = 0;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
		{
			session = fixture_attach(arena, 0, "ada", "h1");
			/* the last sequences before and after the ring begins again, and the sum in between */
			victim.thread = session->thread;
			victim.sequences = 2 * PFS_TRANSACTIONS_UNSUMMED - 10 + i % 20;
			pfs_inside_sequence = die_inside;
			for (;;)
			{
				fixture_transaction(session, false, 7);
				pfs_store_release(ended, *ended + 1);
			}
		}
		waitpid(pid, NULL, 0);
		thread = pfs_thread(arena, 0);
		if (i > 50)				/* it had begun to add them */
			pfs_store(&thread->transactions_summing, pfs_min(thread->transactions_ended, (uint64_t) i - 50));
		inside += thread->transactions_ended - thread->transactions_summed == PFS_TRANSACTIONS_UNSUMMED;
		session = fixture_attach(arena, 0, "bob", "h2");
		count = table_sum(arena, GLOBAL, "count_star");
		wrong += count > *ended + 1;
		wrong += i <= 50 ? count < *ended : count + (uint64_t) i - 50 < *ended;
		wrong += table_sum(arena, GLOBAL, "sum_timer_wait") != 7 * count;
		wrong += table_sum(arena, BY_ACCOUNT, "count_star") != count;
		wrong += table_count(arena, HISTORY) != 0;
		fixture_transaction(session, false, 7);
		wrong += table_sum(arena, GLOBAL, "count_star") != count + 1;
		fixture_detach(session);
		wrong += table_sum(arena, GLOBAL, "count_star") != count + 1;
		munmap(arena, bytes);
	}
	is_u64(wrong, 0, "what a killed process has left counts once");
	ok(inside > 0, "%" PRIu64 " died while they were summed", inside);
	munmap(ended, sizeof(*ended));
}

static void
test_errors(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Rows *rows;

	pfs_error_count(session, 1, PFS_ERROR_RAISED, 100);
	pfs_error_count(session, 1, PFS_ERROR_HANDLED, 200);
	pfs_error_count(session, 1, PFS_ERROR_HANDLED, 300);
	pfs_error_count(session, FIXTURE_ERRORS - 1, PFS_ERROR_RAISED, 300);
	pfs_error_count(session, FIXTURE_ERRORS, PFS_ERROR_RAISED, 300);
	rows = rows_of(arena, ERRORS);
	is_u64((uint64_t) rows->count, 2, "only errors that happened are listed");
	is_str(row_text(rows, 0, "sql_state"), "23505", "SQLSTATE");
	is_u64(row_number(rows, 0, "sum_error_raised"), 1, "raised");
	is_u64(row_number(rows, 0, "sum_error_handled"), 2, "handled");
	is_u64(row_number(rows, 0, "first_seen"), 100, "first");
	is_u64(row_number(rows, 0, "last_seen"), 300, "last");
	ok(row_text(rows, 1, "error_number") == NULL, "the row for all others has no number");
	rows_free(rows);
	table_truncate(arena, ERRORS);
	is_u64(table_count(arena, ERRORS), 0, "TRUNCATE");
	pfs_error_count(session, 1, PFS_ERROR_RAISED, 400);
	is_u64(table_sum(arena, ERRORS, "first_seen"), 400, "first seen since then");
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	test_life();
	test_switches();
	test_rings();
	test_unsummed();
	test_killed();
	test_errors();
	return done_testing();
}
