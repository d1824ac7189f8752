/*
 * test_concurrency.c - sessions record while others read all tables, TRUNCATE them and switch
 * consumers; readers against a writer that stands still in the middle of a record.
 *
 * Every statement takes 10 ticks and sends 2 rows, so a row that was read while it was being
 * written betrays itself, and sums can be checked at the end.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/patience.h"
#include "core/rollup.h"

#define WRITERS 4
#define READERS 2
#define EVENTS 2000
#define WAIT 10
#define ROWS_SENT 2
#define STATEMENTS_GLOBAL "events_statements_summary_global_by_event_name"
#define STATEMENTS_BY_THREAD "events_statements_summary_by_thread_by_event_name"
#define DIGESTS "events_statements_summary_by_digest"

typedef struct Party
{
	PfsArena *arena;
	uint32_t number;
	bool *done;
	uint64_t started; /* statements, by a writer */
	uint64_t ended;
	uint64_t wrong; /* rows, by a reader */
	uint64_t scans;
} Party;

static bool
is_done(const Party *party)
{
	return __atomic_load_n(party->done, __ATOMIC_ACQUIRE);
}

/* --- writers --- */

static void
timed_statement(PfsSession *session, uint32_t class, uint64_t query_id)
{
	PfsStatement *statement = fixture_open(session, class, query_id, "select");

	if (statement == NULL)
		return;
	pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, ROWS_SENT);
	pfs_statement_close(session, statement, FIXTURE_START + WAIT);
}

/* A transaction with a statement that calls another one: two statements. */
static void
one_round(Party *writer, PfsSession *session, uint64_t i)
{
	PfsStatement *outer;

	pfs_add(&writer->started, 2);
	pfs_transaction_open(session, FIXTURE_START);
	outer = fixture_open(session, (uint32_t) (i % 2), 1 + i % 5, "call");
	session->running = outer;
	timed_statement(session, 2, 6 + i % 7);
	pfs_statement_set(outer, PFS_COUNTER_ROWS_SENT, ROWS_SENT);
	pfs_statement_close(session, outer, FIXTURE_START + WAIT);
	pfs_transaction_close(session, PFS_TRANSACTION_COMMITTED, FIXTURE_START + WAIT);
	pfs_error_count(session, (uint32_t) (i % FIXTURE_ERRORS), PFS_ERROR_RAISED, FIXTURE_START);
	pfs_statement_tally(session, 3, 0);
	pfs_add(&writer->ended, 2);
}

static void *
write_rounds(void *argument)
{
	static const char *const users[] = {"ada", "bob"};
	static const char *const hosts[] = {"h1", "h2", "h3"};
	Party *writer = argument;
	PfsSession *session = NULL;

	for (uint64_t i = 0; i < EVENTS; i++)
	{
		if (i % 250 == 0)
		{
			if (session != NULL)
				fixture_detach(session);
			session = fixture_attach(writer->arena, writer->number,
									 users[(writer->number + i / 250) % 2], hosts[i / 250 % 3]);
		}
		one_round(writer, session, i);
	}
	fixture_detach(session);
	return NULL;
}

/* --- readers --- */

/* Sums that cannot be: of n timed statements that all took and sent the same. */
static uint64_t
wrong_sums(const Rows *rows)
{
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
	{
		const char *name = row_text(rows, i, "event_name");
		uint64_t n = row_number(rows, i, "count_star");

		if (strcmp(name, "statement/sql/class_3") != 0) /* tallies, untimed */
			wrong += row_number(rows, i, "sum_timer_wait") != WAIT * n ||
					 row_number(rows, i, "sum_rows_sent") != ROWS_SENT * n;
	}
	return wrong;
}

/* Ended statements are whole. */
static uint64_t
wrong_events(const Rows *rows)
{
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
		if (row_text(rows, i, "end_event_id") != NULL)
			wrong += row_number(rows, i, "timer_wait") != WAIT ||
					 row_number(rows, i, "rows_sent") != ROWS_SENT ||
					 row_text(rows, i, "thread_id") == NULL;
	return wrong;
}

static void *
read_all(void *argument)
{
	Party *reader = argument;

	while (!is_done(reader))
		for (int i = 0; pfs_tables[i] != NULL; i++)
		{
			const char *name = pfs_tables[i]->name;
			Rows *rows = rows_of(reader->arena, name);

			if (strcmp(name, STATEMENTS_BY_THREAD) == 0)
				reader->wrong += wrong_sums(rows);
			if (strncmp(name, "events_statements_history", 25) == 0 ||
				strcmp(name, "events_statements_current") == 0)
				reader->wrong += wrong_events(rows);
			rows_free(rows);
			reader->scans++;
		}
	return NULL;
}

/* TRUNCATE and switches that leave the global sums alone. */
static void *
disturb(void *argument)
{
	static const char *const tables[] = {
		"events_statements_summary_by_thread_by_event_name",
		"events_transactions_summary_by_thread_by_event_name",
		"events_errors_summary_by_thread_by_error",
		"events_statements_summary_by_account_by_event_name",
		"events_statements_summary_by_user_by_event_name",
		"events_statements_summary_by_host_by_event_name",
		"events_errors_summary_by_host_by_error",
		"events_statements_current",
		"events_statements_history",
		"events_statements_history_long",
		"events_transactions_history",
		"accounts",
		"users",
		"hosts",
	};
	static const PfsConsumer switched[] = {
		PFS_CONSUMER_THREAD,
		PFS_CONSUMER_STATEMENTS_CURRENT,
		PFS_CONSUMER_STATEMENTS_HISTORY,
		PFS_CONSUMER_STATEMENTS_HISTORY_LONG,
		PFS_CONSUMER_TRANSACTIONS_CURRENT,
	};
	Party *party = argument;
	uint64_t random = 17;

	while (!is_done(party))
	{
		table_truncate(party->arena, tables[next_random(&random) % PFS_LENGTH(tables)]);
		pfs_set_consumer(party->arena, switched[next_random(&random) % PFS_LENGTH(switched)],
						 next_random(&random) % 4 != 0);
		party->scans++;
	}
	return NULL;
}

/* Runs the writers beside readers and one more; returns the rows that were wrong. */
static uint64_t
run_all(PfsArena *arena, Party *writer, void *(*other)(void *), Party *other_party)
{
	bool done = false;
	Party reader[READERS];
	pthread_t thread[READERS + 1];
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < WRITERS; i++)
		writer[i] = (Party){.arena = arena, .number = i};
	for (int i = 0; i < READERS; i++)
	{
		reader[i] = (Party){.arena = arena, .done = &done};
		pthread_create(&thread[i], NULL, read_all, &reader[i]);
	}
	other_party->arena = arena;
	other_party->done = &done;
	pthread_create(&thread[READERS], NULL, other, other_party);
	run_threads(WRITERS, write_rounds, writer, sizeof(Party));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	for (int i = 0; i <= READERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < READERS; i++)
		wrong += reader[i].wrong;
	return wrong;
}

static PfsArena *
large_arena(void)
{
	PfsSizes sizes = fixture_sizes();

	sizes.accounts = sizes.users = sizes.hosts = 16;
	sizes.digests = 64; /* threads that add one key at once use up a row each */
	sizes.pool_bytes = 4 << 20;
	return fixture_arena(&sizes);
}

/*
 * What may have been left out or read torn was counted; nothing else may be wrong. A statement
 * whose digest table is truncated while it runs is counted in the catch-all row.
 */
static void
check_losses(PfsArena *arena, uint64_t wrong, bool truncated)
{
	ok(wrong <= loss_of(arena, PFS_LOSS_UNSTABLE_READS),
	   "%" PRIu64 " rows were torn, %" PRIu64 " are said to be", wrong,
	   loss_of(arena, PFS_LOSS_UNSTABLE_READS));
	for (int i = 0; i < PFS_LOSSES; i++)
		if (i != PFS_LOSS_UNSTABLE_READS && i != PFS_LOSS_ROLL_UP && i != PFS_LOSS_HISTORY_LONG &&
			!(i == PFS_LOSS_DIGEST && truncated))
			ok(loss_of(arena, i) == 0, "%s is 0", pfs_loss_name(i));
}

static void
test_sums(void)
{
	PfsArena *arena = large_arena();
	Party writer[WRITERS];
	Party other = {0};
	uint64_t rounds = WRITERS * EVENTS;
	uint64_t wrong = run_all(arena, writer, disturb, &other);
	Rows *rows = rows_of(arena, STATEMENTS_GLOBAL);

	check_losses(arena, wrong, false);
	is_u64(rows_sum(rows, "count_star"), 3 * rounds, "statements and tallies");
	is_u64(row_number(rows, 3, "count_star"), rounds, "tallies");
	is_u64(rows_sum(rows, "sum_timer_wait"), 2 * rounds * WAIT, "their time");
	is_u64(rows_sum(rows, "sum_rows_sent"), 2 * rounds * ROWS_SENT, "their rows");
	is_u64(row_number(rows, 0, "min_timer_wait"), WAIT, "the shortest");
	is_u64(row_number(rows, 0, "max_timer_wait"), WAIT, "the longest");
	rows_free(rows);
	is_u64(table_sum(arena, DIGESTS, "count_star"), 2 * rounds, "digests");
	is_u64(table_sum(arena, DIGESTS, "sum_rows_sent"), 2 * rounds * ROWS_SENT, "their rows");
	is_u64(table_sum(arena, "events_statements_histogram_by_digest", "count_bucket"), 2 * rounds,
		   "their histograms");
	is_u64(table_sum(arena, "events_statements_histogram_global", "count_bucket"), 2 * rounds,
		   "the global histogram");
	is_u64(table_sum(arena, "events_transactions_summary_global_by_event_name", "count_star"),
		   rounds, "transactions");
	is_u64(table_sum(arena, "events_errors_summary_global_by_error", "sum_error_raised"), rounds,
		   "errors");
	is_u64(table_sum(arena, "accounts", "current_connections"), 0, "nobody is connected");
	fixture_free(arena);
}

/* --- TRUNCATE of what is being counted --- */

typedef struct Truncator
{
	Party party; /* first: run_all gets its address */
	Party *writer;
} Truncator;

static uint64_t
all_started(const Truncator *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire(&t->writer[i].started);
	return sum;
}

static uint64_t
all_ended(const Truncator *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire(&t->writer[i].ended);
	return sum;
}

/* Statements counted now; tallies are left out. */
static uint64_t
counted(PfsArena *arena, const char *table)
{
	Rows *rows = rows_of(arena, table);
	uint64_t sum = rows_sum(rows, "count_star");

	if (strcmp(table, STATEMENTS_GLOBAL) == 0)
		sum -= row_number(rows, 3, "count_star");
	rows_free(rows);
	return sum;
}

/*
 * After TRUNCATE the table has no event that ended before it, and every one that started later
 * and has ended.
 */
static void *
truncate_often(void *argument)
{
	Truncator *t = argument;
	PfsArena *arena = t->party.arena;

	for (int i = 0; !is_done(&t->party); i++)
	{
		const char *table = i % 2 ? STATEMENTS_GLOBAL : DIGESTS;
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all_ended(t);
		uint64_t started;
		uint64_t surely;
		uint64_t count;

		table_truncate(arena, table);
		started = all_started(t);
		table_truncate(arena, STATEMENTS_BY_THREAD);
		surely = all_ended(t);
		count = counted(arena, table);
		if (loss_of(arena, PFS_LOSS_UNSTABLE_READS) == unstable)
			t->party.wrong += count > all_started(t) - ended || count + started < surely;
		t->party.scans++;
	}
	return NULL;
}

static void
test_truncate(void)
{
	PfsArena *arena = large_arena();
	Party writer[WRITERS] = {{0}};
	Truncator truncator = {.writer = writer};
	PfsSession *session;
	uint64_t wrong = run_all(arena, writer, truncate_often, &truncator.party);

	check_losses(arena, wrong, true);
	is_u64(truncator.party.wrong, 0, "no old event survives TRUNCATE, no new one is lost");
	table_truncate(arena, STATEMENTS_GLOBAL);
	table_truncate(arena, DIGESTS);
	session = fixture_attach(arena, 0, "ada", "h1");
	for (uint64_t i = 0; i < 100; i++)
		timed_statement(session, 0, 1 + i % 20);
	is_u64(table_sum(arena, STATEMENTS_GLOBAL, "count_star"), 100, "counting goes on");
	is_u64(table_sum(arena, DIGESTS, "count_star"), 100, "in all digests");
	is_u64(table_count(arena, DIGESTS), 20, "for which there is room again");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- a writer that stands still in the middle --- */

/* What is in the journal needs no sequence: it is shown all the same. */
static void
check_journal(PfsArena *arena, uint64_t statements)
{
	static const char *const tables[] = {"events_statements_current", "events_statements_history",
		"events_statements_history_long"};
	uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);

	is_u64(table_count(arena, "threads"), 1, "threads are shown");
	for (size_t i = 0; i < PFS_LENGTH(tables); i++)
	{
		Rows *rows = rows_of(arena, tables[i]);

		ok(rows->count > 0 && rows_sum(rows, "timer_wait") == WAIT * (uint64_t) rows->count,
		   "%s: has its rows", tables[i]);
		rows_free(rows);
	}
	is_u64(table_count(arena, "events_statements_history"), statements, "all of them");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), unstable, "and no reader complains");
}

static void
test_stopped_thread(void)
{
	static const char *const tables[] = {
		"events_transactions_current",
		"events_transactions_history",
		STATEMENTS_BY_THREAD,
		STATEMENTS_GLOBAL,
		"events_transactions_summary_global_by_event_name",
		"events_errors_summary_global_by_error",
		DIGESTS,
		"events_statements_histogram_by_digest",
		"events_statements_histogram_global",
	};
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsCacheCell *cell;
	PfsStatementCell *class;

	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	timed_statement(session, 0, 1);
	fixture_transaction(session, false, 1);
	pfs_error_count(session, 0, PFS_ERROR_RAISED, 1);
	pfs_seq_write_begin(&session->thread->seq);
	check_journal(arena, 1);
	pfs_seq_write_end(&session->thread->seq);
	pfs_statement_sum(session);
	cell = pfs_cache_find(arena, session->thread, &pfs_digest_cells, pfs_digest_hash(1), 1,
						  arena->digest_generation);
	class = pfs_cell(arena, session->thread, PFS_SCOPE_THREAD, PFS_FAMILY_STATEMENTS, 0, sizeof(*class));
	timed_statement(session, 0, 1);
	pfs_seq_write_begin(&session->thread->seq);
	pfs_seq_write_begin(&session->thread->moves);
	pfs_seq_write_begin(&class->head.seq);
	pfs_seq_write_begin(&cell->seq);
	check_journal(arena, 2);
	for (size_t i = 0; i < PFS_LENGTH(tables); i++)
	{
		uint64_t before = loss_of(arena, PFS_LOSS_UNSTABLE_READS);

		table_count(arena, tables[i]);
		ok(loss_of(arena, PFS_LOSS_UNSTABLE_READS) > before,
		   "%s: the reader comes back and says so", tables[i]);
	}
	pfs_seq_write_end(&cell->seq);
	pfs_seq_write_end(&class->head.seq);
	pfs_seq_write_end(&session->thread->moves);
	pfs_seq_write_end(&session->thread->seq);
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h1");
	timed_statement(session, 0, 1);
	is_u64(table_sum(arena, STATEMENTS_BY_THREAD, "count_star"), 1, "a new owner takes over");
	is_u64(table_sum(arena, STATEMENTS_GLOBAL, "count_star"), 3, "and nothing is lost");
	fixture_detach(session);
	fixture_free(arena);
}

static void *
leave_later(void *seq)
{
	nanosleep(&(struct timespec) {0, 3000000}, NULL);
	pfs_seq_write_end(seq);
	return NULL;
}

/* A writer has lost its processor in the middle of a change: what its cell holds is not left out. */
static void
test_preempted_writer(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsDigestCell *cell;
	pthread_t writer;

	timed_statement(session, 0, 1);
	pfs_statement_sum(session);
	cell = pfs_cache_find(arena, session->thread, &pfs_digest_cells, pfs_digest_hash(1), 1,
						  arena->digest_generation);
	pfs_seq_write_begin(&cell->head.seq);
	pfs_patience_renew();
	pthread_create(&writer, NULL, leave_later, &cell->head.seq);
	is_u64(table_sum(arena, DIGESTS, "count_star"), 1, "the reader waits for a cell");
	pthread_join(writer, NULL);
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 0, "and nothing is unstable");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_stopped_digest(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsDigest *digest;
	uint64_t before;

	timed_statement(session, 0, 1);
	pfs_statement_sum(session);
	digest = pfs_digest(arena, fixture_digest(session, 1));
	pfs_seq_write_begin(&digest->seq);
	is_u64(table_sum(arena, DIGESTS, "count_star"), 1, "a text in writing: the numbers are shown");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 1, "and it is said");
	pfs_seq_write_end(&digest->seq);
	pfs_seq_write_begin(&digest->sample_seq);
	before = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
	is_u64(table_sum(arena, DIGESTS, "query_sample_timer_wait"), 0, "a sample in writing");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), before + 1, "is said too");
	pfs_seq_write_end(&digest->sample_seq);
	is_u64(table_sum(arena, DIGESTS, "query_sample_timer_wait"), WAIT, "then it is whole");

	/* a process that stopped while it folded into a row */
	pfs_add_shared(&digest->pins, 1);
	table_truncate(arena, DIGESTS);
	timed_statement(session, 0, 2);
	ok(pfs_digest(arena, fixture_digest(session, 2)) != digest, "its row is not used again");
	pfs_store(&pfs_digest(arena, PFS_DIGEST_OTHERS)->pins, 1);
	ok(table_truncate(arena, DIGESTS), "TRUNCATE does not wait for ever");
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	test_stopped_thread();
	test_preempted_writer();
	test_stopped_digest();
	test_sums();
	test_truncate();
	return done_testing();
}
