/*
 * test_digest_wait.c - what the statements of a digest waited for: cells of threads, chains, folding,
 * both kinds of TRUNCATE, writers and readers at the same time.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/digest_wait.h"

#include <sched.h>
#include <time.h>

#define WAITS "events_waits_summary_by_digest"
#define DIGESTS "events_statements_summary_by_digest"
#define KINDS 5 /* waits that are used here: all but idle and table */

static PfsArena *
sized_arena(uint32_t digests, uint64_t pool_bytes)
{
	PfsSizes sizes = fixture_sizes();

	sizes.digests = digests;
	sizes.pool_bytes = pool_bytes;
	return fixture_arena(&sizes);
}

/* A statement that waits n times for each of the kinds, the first of them 1 tick, the next 2. */
static void
statement_kinds(PfsSession *session, uint64_t query_id, uint32_t kinds, int n)
{
	PfsStatement *statement = fixture_open(session, 0, query_id, "select");

	session->running = statement;
	for (uint32_t wait = 0; wait < kinds; wait++)
		for (int i = 0; i < n; i++)
			fixture_wait(session, wait, PFS_OPERATION_NONE, 0, 0, 1 + wait, -1);
	pfs_statement_close(session, statement, FIXTURE_START + 100);
}

/* A statement that waits once. */
static void
statement_of(PfsSession *session, uint64_t query_id, PfsTicks ticks)
{
	PfsStatement *statement = fixture_open(session, 0, query_id, "select");

	session->running = statement;
	fixture_wait(session, FIXTURE_WAIT_PLAIN, PFS_OPERATION_NONE, 0, 0, ticks, -1);
	pfs_statement_close(session, statement, FIXTURE_START + 100);
}

static uint64_t
counted(PfsArena *arena)
{
	return table_sum(arena, WAITS, "count_star");
}

static uint64_t
lost(PfsArena *arena)
{
	return loss_of(arena, PFS_LOSS_WAIT_TOTALS);
}

/* Rows whose times do not fit to their counts. */
static uint64_t
torn(const Rows *rows)
{
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
	{
		uint64_t n = row_number(rows, i, "count_star");
		uint64_t ticks = row_number(rows, i, "max_timer_wait");

		wrong += n == 0 || ticks == 0 || ticks > KINDS ||
				 row_number(rows, i, "min_timer_wait") != ticks ||
				 row_number(rows, i, "sum_timer_wait") != n * ticks;
	}
	return wrong;
}

/* --- rows --- */

static void
test_rows(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *other = fixture_attach(arena, 1, "bob", "h1");

	fixture_statement(session, 0, 1, 10, NULL);
	is_u64(table_count(arena, WAITS), 0, "a statement that did not wait has no row");
	statement_of(session, 1, 5);
	statement_of(session, 1, 30);
	statement_of(session, 2, 7);
	statement_of(session, 0, 1000);
	statement_kinds(other, 1, 2, 1);
	for (int i = 0; i < 3; i++)
	{
		Rows *rows = rows_of(arena, WAITS);
		Rows *plain = rows_of(arena, WAITS);
		int row = -1;

		is_u64((uint64_t) rows->count, 3, "a row for each digest and wait");
		for (int r = 0; r < plain->count; r++)
			if (strcmp(row_text(plain, r, "digest_text"), "query 1") == 0 &&
				strcmp(row_text(plain, r, "event_name"), "wait/ipc/unit/plain") == 0)
				row = r;
		is_str(row_text(rows, row, "schema_name"), "shop", "database");
		ok(row_text(rows, row, "digest") != NULL, "digest");
		is_u64(row_number(rows, row, "count_star"), 3, "count");
		is_u64(row_number(rows, row, "sum_timer_wait"), 36, "sum");
		is_u64(row_number(rows, row, "min_timer_wait"), 1, "minimum");
		is_u64(row_number(rows, row, "avg_timer_wait"), 12, "mean");
		is_u64(row_number(rows, row, "max_timer_wait"), 30, "maximum");
		is_u64(rows_sum(rows, "count_star"), 5, "one without digest is in none");
		rows_free(rows);
		rows_free(plain);
		if (i == 0)
			fixture_detach(other);
		else if (i == 1)
			fixture_detach(session);
	}
	is_u64(lost(arena), 0, "no loss");
	fixture_free(arena);
}

/* A full digest table: the catch-all row has what did not fit. */
static void
test_others(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Rows *rows;

	for (uint64_t id = 1; id <= arena->sizes.digests + 4; id++)
		statement_of(session, id, id);
	for (int i = 0; i < 2; i++)
	{
		int row;

		rows = rows_of(arena, WAITS);
		row = rows_find(rows, "digest", NULL);
		is_u64((uint64_t) rows->count, arena->sizes.digests + 1, "all rows and the catch-all row");
		is_u64(row_number(rows, row, "count_star"), 4, "which has the rest");
		is_u64(row_number(rows, row, "max_timer_wait"), arena->sizes.digests + 4, "with its times");
		ok(row_text(rows, row, "schema_name") == NULL && row_text(rows, row, "digest_text") == NULL,
		   "of no database and no text");
		rows_free(rows);
		if (i == 0)
			fixture_detach(session);
	}
	fixture_free(arena);
}

/* --- cells --- */

#define MANY 60 /* digests; with all kinds more than a thread has cells */

static void
test_eviction(void)
{
	PfsArena *arena = sized_arena(MANY, 4 << 20);
	PfsSession *session[2] = {fixture_attach(arena, 0, "ada", "h1"),
							  fixture_attach(arena, 1, "bob", "h1")};
	uint64_t statements[MANY] = {0};
	uint64_t random = 11;
	uint64_t n = 0;

	for (int i = 0; i < 3000; i++)
	{
		uint64_t id = next_random(&random) % MANY;

		statement_kinds(session[i % 2], id + 1, KINDS, 1);
		statements[id]++;
		n += KINDS;
	}
	for (int round = 0; round < 2; round++)
	{
		Rows *rows = rows_of(arena, WAITS);
		uint64_t wrong = torn(rows);

		for (int i = 0; i < rows->count; i++)
		{
			uint64_t id = strtoull(row_text(rows, i, "digest_text") + strlen("query "), NULL, 10);

			wrong += row_number(rows, i, "count_star") != statements[id - 1];
		}
		ok(wrong == 0 && rows->count == MANY * KINDS, "more rows than cells: each is right, %s",
		   round == 0 ? "live" : "and when the threads have gone");
		is_u64(rows_sum(rows, "count_star"), n, "and so is the sum");
		rows_free(rows);
		for (int i = 0; round == 0 && i < 2; i++)
			fixture_detach(session[i]);
	}
	is_u64(lost(arena), 0, "nothing was lost");
	fixture_free(arena);
}

static void
test_full_pool(void)
{
	PfsArena *arena = sized_arena(8, 200 * PFS_POOL_UNIT);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *late = fixture_attach(arena, 1, "bob", "h1");
	PfsPool *pool = pfs_pool_of(arena);
	PfsRef ref;

	statement_of(session, 1, 10);
	while (pfs_pool_alloc(pool, 1) != 0)
		;
	statement_of(session, 1, 10);
	is_u64(counted(arena), 2, "a cell that is there is used");
	statement_kinds(late, 1, 3, 2);
	is_u64(lost(arena), 6, "waits without a cell are counted as lost");
	is_u64(counted(arena), 2, "and not shown");
	ref = session->thread->digest_wait_cell[0];
	for (int i = 0; i < PFS_DIGEST_WAIT_CACHE; i++)
		ref =
			session->thread->digest_wait_cell[i] != 0 ? session->thread->digest_wait_cell[i] : ref;
	ok(pfs_pool_at(pool, ref, PFS_POOL_UNIT) != NULL, "the cell");
	pfs_cache_fold_all(arena, session->thread, &pfs_digest_wait_cells, NULL);
	is_u64(lost(arena), 8, "a cell that finds no room in its row is lost");
	is_u64(counted(arena), 0, "and not shown");
	statement_of(session, 1, 10);
	is_u64(counted(arena), 1, "but its own memory is free again");
	fixture_detach(session);
	is_u64(counted(arena) + lost(arena), 2 + 6 + 1, "each wait is shown or counted as lost");
	fixture_detach(late);
	fixture_free(arena);
}

/* A process that was stopped while it emptied a row after TRUNCATE. */
static void
test_busy_row(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *first = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *second = fixture_attach(arena, 1, "bob", "h1");
	PfsDigestWait *link;
	uint32_t epoch;

	statement_of(first, 1, 10);
	statement_of(second, 1, 10);
	fixture_detach(first);
	link = pfs_pool_at(pfs_pool_of(arena), pfs_digest(arena, 2)->waits, sizeof(*link));
	is_u64(link->stat.count, 1, "a row");
	epoch = link->epoch;
	pfs_store(&link->epoch, UINT32_MAX);
	is_u64(counted(arena), 1, "its content is not shown");
	fixture_detach(second);
	is_u64(lost(arena), 1, "who cannot add to it does not wait for ever");
	pfs_store(&link->epoch, epoch);
	is_u64(counted(arena), 1, "what was there is");
	fixture_free(arena);
}

static uint32_t *held;			/* released by the first sleep of who waits for it */
static uint32_t held_epoch;

int
nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void) time;
	(void) rest;
	if (held != NULL)
		pfs_store(held, held_epoch);
	return 0;
}

/* One that lost its processor while it added: who leaves waits for it rather than lose what he has. */
static void
test_row_busy_for_a_while(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *first = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *second = fixture_attach(arena, 1, "bob", "h1");

	statement_of(first, 1, 10);
	statement_of(second, 1, 10);
	fixture_detach(first);
	held = &((PfsDigestWait *) pfs_pool_at(pfs_pool_of(arena), pfs_digest(arena, 2)->waits,
										   sizeof(PfsDigestWait)))->epoch;
	held_epoch = *held;
	pfs_store(held, PFS_DIGEST_WAIT_TAKEN);
	fixture_detach(second);
	is_u64(counted(arena), 2, "the wait of who left is counted");
	is_u64(lost(arena), 0, "and not lost");
	held = NULL;
	fixture_free(arena);
}

/* --- TRUNCATE --- */

static void
test_truncate(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *live = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *idle = fixture_attach(arena, 1, "bob", "h1");
	PfsSession *gone = fixture_attach(arena, 2, "bob", "h1");
	Rows *rows;

	statement_of(live, 1, 900);
	statement_of(idle, 1, 900);
	statement_of(gone, 1, 900);
	fixture_detach(gone);
	is_u64(counted(arena), 3, "before");
	ok(table_truncate(arena, WAITS), "TRUNCATE");
	is_u64(table_count(arena, WAITS), 0, "no row is left");
	is_u64(table_sum(arena, DIGESTS, "count_star"), 3, "the digests are");
	fixture_detach(idle);
	is_u64(table_count(arena, WAITS), 0, "a thread that slept brings nothing old");
	statement_of(live, 1, 20);
	gone = fixture_attach(arena, 2, "bob", "h1");
	statement_of(gone, 1, 30);
	fixture_detach(gone);
	for (int i = 0; i < 2; i++)
	{
		rows = rows_of(arena, WAITS);
		is_u64((uint64_t) rows->count, 1, "counting goes on");
		is_u64(row_number(rows, 0, "count_star"), 2, "from zero");
		is_u64(row_number(rows, 0, "min_timer_wait"), 20, "the minimum since TRUNCATE");
		is_u64(row_number(rows, 0, "max_timer_wait"), 30, "and the maximum");
		rows_free(rows);
		if (i == 0)
			fixture_detach(live);
	}
	is_u64(lost(arena), 0, "nothing was lost");
	fixture_free(arena);
}

/* TRUNCATE of the digests: rows and cells of an older generation do not exist. */
static void
test_generations(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *live = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *idle = fixture_attach(arena, 1, "bob", "h1");
	PfsStatement *statement;
	uint64_t used;
	Rows *rows;

	statement_of(live, 1, 900);
	statement_of(idle, 1, 900);
	statement_of(idle, 99, 900);
	statement = fixture_open(live, 0, 1, "over TRUNCATE");
	live->running = statement;
	fixture_wait(live, FIXTURE_WAIT_PLAIN, PFS_OPERATION_NONE, 0, 0, 10, -1);
	table_truncate(arena, DIGESTS);
	is_u64(table_count(arena, WAITS), 0, "no digest, no waits of it");
	pfs_statement_close(live, statement, FIXTURE_START + 100);
	is_u64(table_count(arena, WAITS), 0, "a statement of an older digest brings none back");
	fixture_detach(idle);
	is_u64(table_count(arena, WAITS), 0, "nor does a thread that slept");
	statement_of(live, 2, 20);
	is_u64(fixture_digest(live, 2), PFS_DIGEST_OTHERS + 1, "another digest has the row");
	rows = rows_of(arena, WAITS);
	is_u64((uint64_t) rows->count, 1, "its waits");
	is_str(row_text(rows, 0, "digest_text"), "query 2", "under its own text");
	is_u64(row_number(rows, 0, "sum_timer_wait"), 20, "without the times of its predecessor");
	rows_free(rows);
	is_u64(lost(arena), 0, "nothing was lost");
	fixture_detach(live);
	/* each round leaves as much as the last one */
	for (uint64_t round = used = 0; round < 4; round++)
	{
		live = fixture_attach(arena, 0, "ada", "h1");
		for (uint64_t id = 1; id <= 12; id++)
			statement_kinds(live, id, KINDS, 1);
		fixture_detach(live);
		table_truncate(arena, DIGESTS);
		if (round == 1)
			used = pfs_pool_bytes_used(pfs_pool_of(arena));
	}
	is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)), used, "rows are given back");
	fixture_free(arena);
}

/* --- writers, readers and TRUNCATE at the same time --- */

#define WRITERS 3
#define OTHERS 2 /* who does something else beside them */
#define SCANS 20 /* that counted; writers go on until then */
#define STATEMENTS 1500
#define STATEMENTS_MAX 400000

typedef struct Party
{
	PfsArena *arena;
	uint32_t number;
	bool *done;
	struct Party *writer;
	struct Party *others;
	uint64_t started; /* waits, by a writer */
	uint64_t ended;   /* when their statement has */
	uint64_t wrong;
	uint64_t checked;
} Party;

static bool
is_done(const Party *party)
{
	return __atomic_load_n(party->done, __ATOMIC_ACQUIRE);
}

static uint64_t
all(const Party *party, bool started)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire(started ? &party->writer[i].started : &party->writer[i].ended);
	return sum;
}

static void
check(Party *party, uint64_t wrong, bool counts)
{
	if (counts)
	{
		party->wrong += wrong;
		pfs_add(&party->checked, 1);
	}
}

static bool
is_enough(const Party *writer, uint64_t n)
{
	bool all_checked = true;

	if (n % 16 == 0)
		sched_yield();
	for (int i = 0; i < OTHERS; i++)
		all_checked = all_checked && pfs_load(&writer->others[i].checked) >= SCANS;
	return n >= STATEMENTS_MAX || (n >= STATEMENTS && all_checked);
}

static void *
write_statements(void *argument)
{
	Party *writer = argument;
	PfsSession *session = NULL;
	uint64_t random = 5 + writer->number;

	for (uint64_t n = 0; !is_enough(writer, n); n++)
	{
		uint32_t kinds = 1 + (uint32_t) (next_random(&random) % KINDS);

		if (session == NULL || next_random(&random) % 200 == 0)
		{
			if (session != NULL)
				fixture_detach(session);
			session = fixture_attach(writer->arena, writer->number, "ada", "h1");
		}
		pfs_add(&writer->started, kinds);
		pfs_fence();
		statement_kinds(session, 1 + next_random(&random) % MANY, kinds, 1);
		pfs_fence();
		pfs_add(&writer->ended, kinds);
	}
	fixture_detach(session);
	return NULL;
}

/* Everything that has ended is there once. */
static void *
read_sums(void *argument)
{
	Party *party = argument;

	while (!is_done(party))
	{
		uint64_t unstable = loss_of(party->arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all(party, false);
		Rows *rows = rows_of(party->arena, WAITS);
		uint64_t sum = rows_sum(rows, "count_star");

		check(party, torn(rows) + (sum + lost(party->arena) < ended) + (sum > all(party, true)),
			  loss_of(party->arena, PFS_LOSS_UNSTABLE_READS) == unstable);
		rows_free(rows);
	}
	return NULL;
}

/* What ended before a TRUNCATE is gone, what started after it is there. */
static void *
truncate_waits(void *argument)
{
	Party *party = argument;
	PfsArena *arena = party->arena;

	while (!is_done(party))
	{
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all(party, false);
		uint64_t started;
		uint64_t surely;
		uint64_t sum;

		table_truncate(arena, WAITS);
		started = all(party, true);
		for (int i = 0; i < 2000; i++)
			pfs_cpu_pause();
		surely = all(party, false);
		sum = counted(arena);
		check(party, (sum > all(party, true) - ended) + (sum + started + lost(arena) < surely),
			  loss_of(arena, PFS_LOSS_UNSTABLE_READS) == unstable);
	}
	return NULL;
}

/* Rows are whole, whatever is reset. */
static void *
read_rows(void *argument)
{
	Party *party = argument;

	while (!is_done(party))
	{
		uint64_t unstable = loss_of(party->arena, PFS_LOSS_UNSTABLE_READS);
		Rows *rows = rows_of(party->arena, WAITS);

		check(party, torn(rows),
			  loss_of(party->arena, PFS_LOSS_UNSTABLE_READS) == unstable && rows->count > 0);
		rows_free(rows);
	}
	return NULL;
}

static void *
truncate_digests(void *argument)
{
	Party *party = argument;

	while (!is_done(party))
	{
		table_truncate(party->arena, DIGESTS);
		for (int i = 0; i < 20000; i++)
			pfs_cpu_pause();
		check(party, 0, true);
	}
	return NULL;
}

/* Returns the scans that counted. */
static uint64_t
run_all(PfsArena *arena, void *(*first)(void *), void *(*second)(void *), uint64_t *wrong,
		uint64_t *waits)
{
	bool done = false;
	Party writer[WRITERS] = {{0}};
	Party others[OTHERS] = {{0}};
	pthread_t thread[OTHERS];
	uint64_t checked = 0;

	for (uint32_t i = 0; i < WRITERS; i++)
		writer[i] = (Party){.arena = arena, .number = i, .writer = writer, .others = others};
	for (int i = 0; i < OTHERS; i++)
		others[i] = (Party){.arena = arena, .done = &done, .writer = writer};
	for (int i = 0; i < OTHERS; i++)
		pthread_create(&thread[i], NULL, i == 0 ? first : second, &others[i]);
	run_threads(WRITERS, write_statements, writer, sizeof(Party));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	*wrong = 0;
	for (int i = 0; i < OTHERS; i++)
	{
		pthread_join(thread[i], NULL);
		*wrong += others[i].wrong;
		checked += others[i].checked;
	}
	*waits = all(&others[0], false);
	return checked;
}

static PfsArena *
large_arena(void)
{
	PfsArena *arena = sized_arena(4 * MANY, 8 << 20);
	PfsSession *session = fixture_attach(arena, 7, "ada", "h1");

	for (uint64_t id = 1; id <= MANY; id++)
		fixture_digest(session, id);
	fixture_detach(session);
	return arena;
}

static void
test_sums(void)
{
	PfsArena *arena = large_arena();
	uint64_t wrong;
	uint64_t waits;
	uint64_t checked = run_all(arena, read_sums, read_sums, &wrong, &waits);
	Rows *rows = rows_of(arena, WAITS);

	ok(checked > 0 && wrong == 0, "%" PRIu64 " scans, %" PRIu64 " of them wrong", checked, wrong);
	is_u64(rows_sum(rows, "count_star") + lost(arena), waits, "all waits are there at the end");
	is_u64(torn(rows), 0, "with their times");
	is_u64((uint64_t) rows->count, MANY * KINDS, "in one row for each digest and wait");
	rows_free(rows);
	fixture_free(arena);
}

static void
test_truncate_meanwhile(void)
{
	PfsArena *arena = large_arena();
	uint64_t wrong;
	uint64_t waits;
	uint64_t checked = run_all(arena, truncate_waits, read_rows, &wrong, &waits);

	ok(checked > 0 && wrong == 0, "%" PRIu64 " TRUNCATEs and scans, %" PRIu64 " of them wrong",
	   checked, wrong);
	table_truncate(arena, WAITS);
	is_u64(counted(arena), 0, "the last one leaves nothing");
	fixture_free(arena);
}

static void
test_generations_meanwhile(void)
{
	PfsArena *arena = large_arena();
	uint64_t wrong;
	uint64_t waits;
	uint64_t checked = run_all(arena, truncate_digests, read_rows, &wrong, &waits);

	ok(checked > 0 && wrong == 0,
	   "digests come and go: %" PRIu64 " scans, %" PRIu64 " of them wrong", checked, wrong);
	table_truncate(arena, DIGESTS);
	is_u64(counted(arena), 0, "the last TRUNCATE leaves nothing");
	fixture_free(arena);
}

int
main(void)
{
	test_rows();
	test_others();
	test_eviction();
	test_full_pool();
	test_busy_row();
	test_row_busy_for_a_while();
	test_truncate();
	test_generations();
	test_sums();
	test_truncate_meanwhile();
	test_generations_meanwhile();
	return done_testing();
}
