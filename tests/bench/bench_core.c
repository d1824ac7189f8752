/*
 * bench_core.c - what one event costs in the core: for callgrind, and in nanoseconds.
 *
 *	bench_core list			names of the events, one a line
 *	bench_core NAME COUNT	records COUNT events; run by scripts/callgrind_bench.py
 *	bench_core time			nanoseconds per event, the best of several loops
 *
 * Times are made up, so the clock is not part of an event: a host reads it twice for a statement.
 * A statement looks up its digest, which is known, and carries 60 bytes of text.
 */
#include "core/digest.h"
#include "core/statement.h"
#include "core/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CLASSES 200
#define ERRORS 260
#define WAITS 3
#define WAIT_LWLOCK 0
#define WAIT_FILE 1
#define WAIT_TABLE 2
#define TIMED_EVENTS 200000
#define TIMED_LOOPS 15

static const char text[] = "SELECT c FROM sbtest1 WHERE id BETWEEN 4992 AND 5091 ORDER BY c";

static PfsArena *arena;
static PfsSession *session;
static PfsTicks now = 1000000;
static uint64_t sink; /* results nobody looks at */

static PfsSizes
bench_sizes(void)
{
	return (PfsSizes){
		.threads = 4,
		.accounts = 4,
		.users = 4,
		.hosts = 4,
		.actors = 4,
		.objects = 20,
		.instruments = CLASSES + 2 + WAITS,
		.statement_classes = CLASSES,
		.thread_classes = 1,
		.errors = ERRORS,
		.waits = WAITS,
		.waits_history = 10,
		.waits_history_long = 10000,
		.files = 100,
		.tables = 100,
		.statement_stack = 10,
		.statements_history = 10,
		.statements_history_long = 10000,
		.transactions_history = 10,
		.transactions_history_long = 10000,
		.digests = 1000,
		.sql_text_length = 1024,
		.digest_length = 1024,
		.pool_bytes = 4 << 20,
	};
}

static void
make_arena(void)
{
	PfsSizes sizes = bench_sizes();
	PfsThreadInfo info = {
		.pid = 1, .user = "ada", .host = "h1", .database = "shop", .database_id = 5};

	pfs_timer_init(false);
	pfs_histogram_init();
	arena = pfs_arena_init(aligned_alloc(PFS_CACHE_LINE, pfs_arena_size(&sizes)), &sizes);
	for (int i = 0; i < CLASSES; i++)
		pfs_register(arena, PFS_CLASS_STATEMENT, "statement", "a statement", 0, true, true);
	pfs_register(arena, PFS_CLASS_TRANSACTION, "transaction", "transactions", 0, true, true);
	pfs_register(arena, PFS_CLASS_ERROR, "error", "errors", 0, true, false);
	pfs_register_wait(arena, PFS_WAIT_LWLOCK, "wait/synch/lwlock", "a lock", 0x01000001, true);
	pfs_register_wait(arena, PFS_WAIT_FILE, "wait/io/file", "a file", 0x0A000001, true);
	pfs_register_wait(arena, PFS_WAIT_TABLE, "wait/io/table", "a table", 0, true);
	pfs_register_thread_class(arena, "thread/sql/client", "serves a client", true, false);
	session = aligned_alloc(PFS_CACHE_LINE, sizeof(*session));
	memset(session, 0, sizeof(*session));
	session->arena = arena;
	session->thread = pfs_thread_attach(arena, 0, &info);
}

static inline uint32_t
find_digest(uint64_t query_id)
{
	static const uint8_t sha[PFS_SHA_BYTES] = {1};
	uint32_t number = pfs_digest_find(arena, session->thread, query_id);
	PfsDigestNew row = {.query_id = query_id,
						.database_id = 5,
						.text = text,
						.sha = sha,
						.text_length = sizeof(text) - 1,
						.now = now};

	return number != PFS_DIGEST_NONE ? number : pfs_digest_insert(arena, &row);
}

/* --- the events --- */

static inline void
one_statement(uint32_t class, uint64_t query_id)
{
	PfsStatement *statement;

	if (!pfs_wants(session, PFS_GATE_STATEMENTS))
		return;
	statement = pfs_statement_open(session, class, now);
	statement->record->query_id = query_id;
	if ((pfs_load(&arena->gate) & PFS_WANTS(DIGEST)) != 0)
		statement->record->digest = find_digest(query_id);
	statement->record->digest_generation = pfs_load(&arena->digest_generation);
	pfs_statement_text_set(session, statement, 10, text, 60);
	pfs_statement_publish(session, statement);
	pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, 1);
	now += 5000;
	pfs_statement_close(session, statement, now);
}

static void
run_statement(uint64_t count)
{
	while (count-- > 0)
		one_statement(7, 4711);
}

/* As a transaction of an application has them: no two in a row are of one kind. */
static void
run_mixed(uint64_t count)
{
	while (count-- > 0)
		one_statement(7 + count % 18 % 5, 4711 + count % 18);
}

/* More classes of a digest than a server has, which has one: their cells give way to each other. */
static void
run_variants(uint64_t count)
{
	while (count-- > 0)
		one_statement(7 + count % 5, 4711 + count % 18);
}

/* A statement without a row, summed at once: the body of an SQL function. */
static void
run_unlisted(uint64_t count)
{
	while (count-- > 0)
	{
		PfsStatement *statement = pfs_statement_open(session, 7, now);

		pfs_statement_unlist(statement);
		now += 5000;
		pfs_statement_close(session, statement, now);
	}
}

static void
no_setup(void)
{
}

static void
setup_all(void)
{
	for (int i = 0; i < PFS_CONSUMERS; i++)
		if (i != PFS_CONSUMER_STATEMENTS_CPU) /* a system call, never timed here */
			pfs_set_consumer(arena, i, true);
}

static void
setup_summary_only(void)
{
	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_CURRENT, false);
}

static void
setup_off(void)
{
	for (uint32_t i = 0; i < CLASSES; i++)
		pfs_set_instrument(arena, pfs_instrument(arena, i), 0, 0);
}

static void
setup_nested(void)
{
	session->running = pfs_statement_open(session, 8, now);
	pfs_statement_text_set(session, session->running, 10, text, 60);
	pfs_statement_publish(session, session->running);
}

static void
run_transaction(uint64_t count)
{
	while (count-- > 0)
	{
		pfs_transaction_open(session, now);
		now += 5000;
		pfs_transaction_close(session, PFS_TRANSACTION_COMMITTED, now);
	}
}

static void
run_tally(uint64_t count)
{
	while (count-- > 0)
		pfs_statement_tally(session, 3, 5000);
}

static void
run_error(uint64_t count)
{
	while (count-- > 0)
		pfs_error_count(session, 9, false, now++);
}

static void
run_bucket_of(uint64_t count)
{
	PfsTicks wait = 1;

	for (; count > 0; count--)
	{
		wait = wait * 3 + 7;
		sink += pfs_bucket_of(wait >> 30);
	}
}

/* A wait on a lock inside a statement, with the statement's share of it. */
static void
run_wait(uint64_t count)
{
	while (count-- > 0)
	{
		PfsWait wait = {.wait = WAIT_LWLOCK, .operation = PFS_OPERATION_SEMAPHORE};

		pfs_wait_begin(session, &wait, now);
		now += 5000;
		pfs_wait_end(session, &wait, now, -1);
		session->waits.used = 0;
	}
}

/* A read of a file that is known, summed up by event name, file and statement. */
static void
run_wait_file(uint64_t count)
{
	uint32_t use;
	uint32_t row = pfs_file_find(arena, "base/5/16384", 12, WAIT_FILE, &use);

	while (count-- > 0)
	{
		PfsWait wait = {.wait = WAIT_FILE,
						.operation = PFS_OPERATION_READ,
						.row = row,
						.use = use,
						.object = {.type = PFS_WAIT_OBJECT_FILE, .row = row, .use = use}};

		pfs_wait_begin(session, &wait, now);
		now += 5000;
		pfs_wait_end(session, &wait, now, 8192);
		session->waits.used = 0;
	}
}

static void
run_wait_table(uint64_t count)
{
	PfsTableKey key = {5, 16384, 0};
	uint32_t use;
	uint32_t row = pfs_table_find(arena, &key, &use);

	for (; count > 0; count--, now += 5000)
		pfs_wait_table(session, row, use, PFS_TABLE_FETCH, 1, now, 3000);
}

/* Untimed, as most are. */
static void
run_rows(uint64_t count)
{
	PfsTableKey key = {5, 16384, 0};
	PfsObjectCell *cell = &pfs_no_cell;
	uint32_t use;
	uint32_t row = pfs_table_find(arena, &key, &use);

	for (; count > 0; count--)
		pfs_wait_rows(session, &cell, row, use, PFS_TABLE_FETCH, 1);
}

static const struct
{
	const char *name;
	void (*setup)(void);
	void (*run)(uint64_t count);
} events[] = {
	{"statement_default", no_setup, run_statement},
	{"statement_all", setup_all, run_statement},
	{"statement_summary_only", setup_summary_only, run_statement},
	{"statement_off", setup_off, run_statement},
	{"statement_nested", setup_nested, run_statement},
	{"statement_mixed", no_setup, run_mixed},
	{"statement_mixed_all", setup_all, run_mixed},
	{"statement_variants", no_setup, run_variants},
	{"statement_unlisted", setup_nested, run_unlisted},
	{"transaction", no_setup, run_transaction},
	{"tally", no_setup, run_tally},
	{"error", no_setup, run_error},
	{"wait", no_setup, run_wait},
	{"wait_all", setup_all, run_wait},
	{"wait_file", no_setup, run_wait_file},
	{"wait_file_all", setup_all, run_wait_file},
	{"wait_table", no_setup, run_wait_table},
	{"rows", no_setup, run_rows},
	{"bucket_of", no_setup, run_bucket_of},
};

static void
time_event(size_t number)
{
	uint64_t best = UINT64_MAX;

	make_arena();
	events[number].setup();
	events[number].run(TIMED_EVENTS / 10);
	for (int i = 0; i < TIMED_LOOPS; i++)
	{
		uint64_t start = pfs_clock_ns(CLOCK_MONOTONIC);

		events[number].run(TIMED_EVENTS);
		best = pfs_min(best, pfs_clock_ns(CLOCK_MONOTONIC) - start);
	}
	printf("%-24s %8.1f ns\n", events[number].name, (double) best / TIMED_EVENTS);
	free(session);
	free(arena);
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < PFS_LENGTH(events); i++)
	{
		if (strcmp(argv[1], "list") == 0)
			printf("%s\n", events[i].name);
		else if (strcmp(argv[1], "time") == 0)
			time_event(i);
		else
			break;
	}
	for (size_t i = 0; argc == 3 && i < PFS_LENGTH(events); i++)
		if (strcmp(argv[1], events[i].name) == 0)
		{
			make_arena();
			events[i].setup();
			events[i].run(strtoull(argv[2], NULL, 10));
			return sink == 1; /* never: keeps the results alive */
		}
	if (argc == 2 && (strcmp(argv[1], "list") == 0 || strcmp(argv[1], "time") == 0))
		return 0;
	fprintf(stderr, "usage: bench_core list | time | NAME COUNT\n");
	return 2;
}
