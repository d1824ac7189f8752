/*
 * test_transaction.c - transaction events and error counts.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/rollup.h"
#include "core/transaction_hot.h"

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

/* Each counts at the levels that count it. */
static void
test_levels(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	for (int i = 0; i < 5; i++)
		fixture_transaction(session, false, 7);
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
	shows(arena, 2, 2, 11, 7, "no more and no less");
	pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_CURRENT, true);
	for (int i = 0; i < 48; i++)
	{
		fixture_transaction(session, false, 7);
		if (i == 16)
			table_truncate(arena, BY_THREAD);
	}
	shows(arena, 31, 50, 59, 7, "TRUNCATE in between");
	fixture_detach(session);
	shows(arena, 0, 50, 59, 7, "the thread has ended");
	table_truncate(arena, GLOBAL);
	shows(arena, 0, 0, 0, 7, "TRUNCATE of all");
	fixture_free(arena);
}

/* --- the plain way --- */

/* As the host does: the plain way, where it may be. */
static bool
begin_and_end(PfsSession *session, bool plain, bool read_only, PfsTicks start, PfsTicks end)
{
	bool begins_plain = plain && session->decided == pfs_load(&session->arena->changes) && pfs_transaction_is(session, false);
	bool ends_plain;

	if (begins_plain)
		pfs_transaction_open_plain(session, start, 0);
	else
		pfs_transaction_open(session, start);
	session->transaction.event->read_only = read_only;
	ends_plain = plain && pfs_transaction_ends_plain(session);
	if (ends_plain)
		pfs_transaction_close_plain(session, PFS_TRANSACTION_COMMITTED, end);
	else
		pfs_transaction_close(session, PFS_TRANSACTION_COMMITTED, end);
	return begins_plain && ends_plain;
}

/* What a thread has recorded, but for its number. */
static uint64_t
differences(PfsArena *arena, PfsSession *a, PfsSession *b)
{
	PfsAggregate *own_a = pfs_thread_own_aggregate(a->thread);
	PfsAggregate *own_b = pfs_thread_own_aggregate(b->thread);
	uint64_t wrong = own_a->transactions_ended != own_b->transactions_ended;

	wrong += own_a->transaction_shown != own_b->transaction_shown || own_a->transaction_epoch != own_b->transaction_epoch;
	wrong += memcmp(&own_a->transaction, &own_b->transaction, sizeof(own_a->transaction)) != 0;
	wrong += memcmp(pfs_thread_transaction(arena, a->thread, 0), pfs_thread_transaction(arena, b->thread, 0),
					pfs_thread_transaction_slots(&arena->sizes) * sizeof(PfsTransactionRecord)) != 0;
	wrong += a->transaction.open || b->transaction.open || a->transaction.event_id != 0 || b->transaction.event_id != 0;
	wrong += (char *) a->transaction.event - (char *) a->thread != (char *) b->transaction.event - (char *) b->thread;
	return wrong;
}

static void
switch_something(PfsArena *arena, int i)
{
	if (i == 10 || i == 20)
		pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_HISTORY_LONG, i == 10);
	else if (i == 30 || i == 35)
		pfs_set_instrument(arena, pfs_instrument(arena, arena->transaction_instrument), -1, i == 35);
	else if (i == 40 || i == 45)
		pfs_set_consumer(arena, PFS_CONSUMER_TRANSACTIONS_CURRENT, i == 45);
	else if (i == 50 || i == 55)
		pfs_set_consumer(arena, PFS_CONSUMER_THREAD, i == 55);
	else if (i == 60)
		table_truncate(arena, BY_THREAD);
}

static void
test_plain(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *general, *plain;
	uint64_t wrong = 0;
	int ended = 0;

	pfs_timer_init(true);		/* a clock that takes no call */
	general = fixture_attach(arena, 0, "ada", "h1");
	plain = fixture_attach(arena, 1, "ada", "h1");
	for (int i = 0; i < 80; i++)
	{
		PfsTicks start = FIXTURE_START + 100 * (PfsTicks) i;
		PfsTicks end = start + (PfsTicks) (i * 37 % 50) - 1;	/* some before they began: another processor's clock */

		switch_something(arena, i);
		begin_and_end(general, false, i % 3 == 0, start, end);
		ended += begin_and_end(plain, true, i % 3 == 0, start, end);
		wrong += differences(arena, general, plain);
	}
	is_u64(wrong, 0, "the plain way writes the same");
	is_u64((uint64_t) ended, pfs_now_is_near() ? 80 - 10 - 3 * 5 - 6 : 0, "all but what was switched, and the first of all and after each switch");
	fixture_detach(plain);
	fixture_detach(general);
	fixture_free(arena);
}

/* --- killed while one begins or ends --- */

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

	for (int i = 1; i <= 20; i++)
	{
		PfsSizes sizes = fixture_sizes();
		PfsArena *arena = fixture_shared_arena(&sizes);
		size_t bytes = arena->bytes;
		PfsSession *session;
		uint64_t count;
		pid_t pid;

		*ended = 0;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
		{
			session = fixture_attach(arena, 0, "ada", "h1");
			victim.thread = session->thread;
			victim.sequences = i;
			pfs_inside_sequence = die_inside;
			for (;;)
			{
				fixture_transaction(session, false, 7);
				pfs_store_release(ended, *ended + 1);
			}
		}
		waitpid(pid, NULL, 0);
		session = fixture_attach(arena, 0, "bob", "h2");
		count = table_sum(arena, GLOBAL, "count_star");
		wrong += count > *ended + 1;
		wrong += count < *ended;
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
	test_levels();
	test_plain();
	test_killed();
	test_errors();
	return done_testing();
}
