/*
 * test_digest.c - the digest table: rows, cells of threads, folding, TRUNCATE, samples.
 */
#include "arena_fixture.h"
#include "tap.h"

#define DIGESTS "events_statements_summary_by_digest"
#define HISTOGRAM "events_statements_histogram_by_digest"

static uint64_t
count_of(PfsArena *arena, uint64_t query_id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, query_id);
	return table_number(arena, DIGESTS, "queryid", text, "count_star");
}

/* Numbers of the catch-all row, which has no query id. */
static uint64_t
others(PfsArena *arena, const char *column)
{
	return table_number(arena, DIGESTS, "queryid", NULL, column);
}

static uint64_t
buckets(PfsArena *arena)
{
	return table_sum(arena, HISTOGRAM, "count_bucket");
}

static void
test_rows(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Rows *rows;

	is_u64(pfs_digest_find(arena, session->thread, 1), PFS_DIGEST_NONE, "an unknown statement");
	is_u64(fixture_digest(session, 1), 2, "the first row");
	is_u64(fixture_digest(session, 1), 2, "is found again");
	is_u64(pfs_digest_find(arena, session->thread, 1), 2, "before a thread has a cell for it");
	is_u64(table_count(arena, DIGESTS), 0, "but not shown before a statement has ended");
	for (PfsTicks wait = 1; wait <= 100; wait++)
		fixture_statement(session, 0, 1, wait * 1000, NULL);
	fixture_statement(session, 0, 2, 7, NULL);
	rows = rows_of(arena, DIGESTS);
	is_u64((uint64_t) rows->count, 2, "two statements");
	is_str(row_text(rows, 0, "schema_name"), "shop", "database");
	is_str(row_text(rows, 0, "digest_text"), "query 1", "text");
	is_u64(row_number(rows, 0, "count_star"), 100, "count");
	is_u64(row_number(rows, 0, "sum_timer_wait"), 5050000, "sum");
	is_u64(row_number(rows, 0, "min_timer_wait"), 1000, "minimum");
	is_u64(row_number(rows, 0, "max_timer_wait"), 100000, "maximum");
	is_u64(row_number(rows, 0, "quantile_95"), pfs_bucket_low_ps((int) pfs_bucket_of(95000) + 1),
		   "95 %");
	is_u64(row_number(rows, 0, "quantile_999"), pfs_bucket_low_ps((int) pfs_bucket_of(100000) + 1),
		   "99.9 %");
	is_u64(row_number(rows, 0, "first_seen"), FIXTURE_START, "first seen");
	is_u64(row_number(rows, 0, "last_seen"), FIXTURE_START + 100000, "last seen");
	rows_free(rows);
	is_u64(buckets(arena), 101, "the histogram has all of them");
	fixture_detach(session);
	is_u64(count_of(arena, 1), 100, "also when the thread has gone");
	is_u64(buckets(arena), 101, "with their times");
	is_u64(loss_of(arena, PFS_LOSS_DIGEST_HISTOGRAM), 0, "none lost");
	fixture_free(arena);
}

static void
test_full(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t size = arena->sizes.digests;

	for (uint64_t id = 1; id <= size + 3; id++)
		for (uint64_t i = 0; i < id; i++)
			fixture_statement(session, 0, id, 10, NULL);
	pfs_statement_sum(session);
	is_u64(table_count(arena, DIGESTS), size + 1, "a full table, and the catch-all row");
	is_u64(others(arena, "count_star"), 3 * size + 6, "which has what did not fit");
	is_u64(loss_of(arena, PFS_LOSS_DIGEST), 3 * size + 6, "counted as lost");
	is_u64(count_of(arena, size), size, "rows that did fit are right");
	is_u64(table_sum(arena, DIGESTS, "count_star"), (size + 3) * (size + 4) / 2, "sums are exact");
	table_truncate(arena, DIGESTS);
	is_u64(table_count(arena, DIGESTS), 0, "TRUNCATE empties all");
	for (uint64_t id = 100; id < 100 + size; id++)
		fixture_statement(session, 0, id, 10, NULL);
	is_u64(table_count(arena, DIGESTS), size, "and new statements find room");
	is_u64(others(arena, "count_star"), 0, "none goes to the catch-all row");
	fixture_detach(session);
	is_u64(table_sum(arena, DIGESTS, "count_star"), size, "old cells do not come back");
	fixture_free(arena);
}

static void
test_truncate(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *idle = fixture_attach(arena, 1, "bob", "h1");
	Rows *rows;

	for (int i = 0; i < 5; i++)
		fixture_statement(session, 0, 1, 1000, "old text");
	fixture_statement(idle, 0, 1, 1000, NULL);
	table_truncate(arena, HISTOGRAM);
	is_u64(buckets(arena), 0, "TRUNCATE of the histograms");
	is_u64(count_of(arena, 1), 6, "leaves the digests");
	fixture_statement(session, 0, 1, 50000, NULL);
	is_u64(buckets(arena), 1, "they fill again");
	fixture_detach(idle);
	is_u64(buckets(arena), 1, "a thread that slept brings nothing old");
	table_truncate(arena, DIGESTS);
	is_u64(table_count(arena, DIGESTS) + buckets(arena), 0, "TRUNCATE of the digests");
	fixture_statement(session, 0, 2, 9, "new text");
	rows = rows_of(arena, DIGESTS);
	is_u64((uint64_t) rows->count, 1, "its row is used again");
	is_str(row_text(rows, 0, "digest_text"), "query 2", "for another statement");
	is_str(row_text(rows, 0, "query_sample_text"), "new text", "with its own sample");
	is_u64(row_number(rows, 0, "sum_timer_wait"), 9, "and numbers");
	rows_free(rows);
	fixture_detach(session);
	is_u64(buckets(arena), 1, "and histogram");
	fixture_free(arena);
}

/* TRUNCATE while a statement runs: its row may be another statement's when it ends. */
static void
test_truncate_inside(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *other = fixture_attach(arena, 1, "bob", "h1");
	PfsStatement *statement = fixture_open(session, 0, 1, "slow");
	Rows *rows;

	table_truncate(arena, DIGESTS);
	fixture_statement(other, 0, 2, 10, NULL);
	is_u64(count_of(arena, 2), 1, "another statement took the row");
	pfs_statement_close(session, statement, FIXTURE_START + 5000);
	is_u64(count_of(arena, 2), 1, "the slow one does not count there");
	is_u64(table_sum(arena, DIGESTS, "count_star"), 2, "but it counts");
	rows = rows_of(arena, DIGESTS);
	is_str(row_text(rows, rows_find(rows, "queryid", "2"), "query_sample_text"), "select 2",
		   "it is no sample of the other one");
	rows_free(rows);
	fixture_statement(session, 0, 1, 10, NULL);
	is_u64(count_of(arena, 1) + others(arena, "count_star"), 2, "the next one has a row again");
	ok(count_of(arena, 1) > 0, "of its own");
	fixture_detach(session);
	fixture_detach(other);
	is_u64(count_of(arena, 2), 1, "nor later");
	fixture_free(arena);
}

/* More statements than a thread has cells for, and more buckets than a cell has places. */
static void
test_eviction(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsSession *session;
	uint64_t random = 3;
	uint64_t sum = 0;
	uint64_t count[1000] = {0};
	int wrong = 0;
	uint64_t unpins = 0;
	Rows *rows;

	sizes.digests = 1000;
	sizes.pool_bytes = 16 << 20;
	arena = fixture_arena(&sizes);
	session = fixture_attach(arena, 0, "ada", "h1");
	for (int i = 0; i < 20000; i++)
	{
		uint64_t id = next_random(&random) % 1000;
		PfsTicks wait = 1 + (next_random(&random) >> (40 + next_random(&random) % 20));

		count[id]++;
		sum += wait;
		fixture_statement(session, 0, id + 1, wait, NULL);
	}
	rows = rows_of(arena, DIGESTS);
	for (int i = 0; i < rows->count; i++)
		wrong += row_number(rows, i, "count_star") != count[row_number(rows, i, "queryid") - 1];
	is_u64((uint64_t) wrong, 0, "every row counts its statements");
	is_u64(rows_sum(rows, "sum_timer_wait"), sum, "and no time is lost");
	rows_free(rows);
	is_u64(buckets(arena), 20000, "histograms sum to the count");
	for (uint32_t i = 2; i < 1002; i++)
		unpins += pfs_digest(arena, i)->unpins;
	ok(unpins > 2000, "cells were folded");
	fixture_detach(session);
	is_u64(table_sum(arena, DIGESTS, "count_star"), 20000, "sums after the thread's end");
	is_u64(table_sum(arena, DIGESTS, "sum_timer_wait"), sum, "times");
	is_u64(buckets(arena), 20000, "histograms");
	fixture_free(arena);
}

/* A bucket of a cell counts so far, then moves; a reader is told so. */
static void
test_bucket_overflow(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t row = fixture_digest(session, 1);
	uint32_t state;

	for (int i = 0; i < PFS_CELL_COUNT_MAX; i++)
		fixture_statement(session, 0, 1, 10, "x");
	pfs_statement_sum(session);
	state = pfs_digest_state(arena, &pfs_digest_cells, row);
	fixture_statement(session, 0, 1, 10, "x");
	pfs_statement_sum(session);
	ok(pfs_digest_state(arena, &pfs_digest_cells, row) != state,
	   "readers are told when a bucket moves into the row");
	fixture_statement(session, 0, 1, 10, "x");
	is_u64(buckets(arena), PFS_CELL_COUNT_MAX + 2, "no time is lost");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_full_pool(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsSession *session;

	sizes.pool_bytes = 100 * PFS_POOL_UNIT;
	arena = fixture_arena(&sizes);
	session = fixture_attach(arena, 0, "ada", "h1");
	fixture_statement(session, 0, 1, 10, NULL);
	while (pfs_pool_alloc(pfs_pool_of(arena), 1) != 0)
		;
	for (uint64_t id = 1; id <= 6; id++)
		for (int i = 0; i < 10; i++)
			fixture_statement(session, 0, id, 10 * id * id * id, NULL);
	is_u64(table_sum(arena, DIGESTS, "count_star"), 61,
		   "rows count when there is no room for cells");
	is_u64(buckets(arena) + loss_of(arena, PFS_LOSS_DIGEST_HISTOGRAM), 61,
		   "what histograms cannot hold is counted");
	ok(loss_of(arena, PFS_LOSS_DIGEST_TEXT) >= 5, "texts not kept are counted");
	fixture_detach(session);
	is_u64(table_sum(arena, DIGESTS, "count_star"), 61, "also after the thread's end");
	fixture_free(arena);
}

static void
test_samples(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t number = fixture_digest(session, 1);
	PfsDigest *digest = pfs_digest(arena, number);
	uint32_t generation = arena->digest_generation;

	arena->sample_age_ticks = 1000;
	pfs_digest_sample(arena, number, generation, "first", 5, 50, 2000);
	is_u64(digest->sample_wait, 50, "the first one");
	pfs_digest_sample(arena, number, generation, "shorter", 7, 40, 2500);
	is_u64(digest->sample_wait, 50, "a shorter one is not taken");
	pfs_digest_sample(arena, number, generation, "earlier", 7, 40, 1500);
	is_u64(digest->sample_wait, 50, "nor one that ended before the sample");
	pfs_digest_sample(arena, number, generation, "longer", 6, 60, 2600);
	is_u64(digest->sample_wait, 60, "a longer one is");
	pfs_digest_sample(arena, number, generation, "later", 5, 10, 3600);
	is_u64(digest->sample_wait, 10, "any when the sample is old");
	arena->sample_age_ticks = 0;
	pfs_digest_sample(arena, number, generation, "much later", 10, 9, 999999);
	is_u64(digest->sample_wait, 10, "age 0: samples do not grow old");
	pfs_digest_sample(arena, number, generation, "", 0, 99, 999999);
	is_u64(digest->sample_wait, 10, "no text is no sample");
	pfs_store(&digest->sample_busy, 1);
	pfs_digest_sample(arena, number, generation, "other", 5, 99, 999999);
	is_u64(digest->sample_wait, 10, "another process is at it: its sample stays");
	pfs_store(&digest->sample_busy, 0);
	is_u64(digest->pins, 0, "no pin is left");
	fixture_statement(session, 0, 1, 500, "by a statement");
	is_u64(table_number(arena, DIGESTS, "query_sample_text", "by a statement", "count_star"), 1,
		   "statements bring samples");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_no_database(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Rows *rows;

	session->thread->database = 0;
	fixture_statement(session, 0, 1, 10, NULL);
	is_u64(table_count(arena, DIGESTS), 1, "a statement outside all databases");
	rows = rows_where(arena, DIGESTS, "schema_name", "");
	is_u64((uint64_t) rows->count, 0, "is not in the database without a name");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_texts(void)
{
	PfsArena *arena = fixture_arena(NULL);
	uint64_t used = pfs_pool_bytes_used(pfs_pool_of(arena));
	size_t lengths[] = {1, 60, 61, 4091, 4092, 4093, 8184, 8185, 20000};
	char *text = malloc(20000);
	char *back = malloc(20000);
	bool same = true;

	for (int i = 0; i < 20000; i++)
		text[i] = (char) ('a' + i % 23);
	for (size_t i = 0; i < PFS_LENGTH(lengths); i++)
	{
		PfsRef ref = pfs_text_store(arena, text, lengths[i]);

		same = same && pfs_text_fetch(arena, ref, lengths[i], back) == lengths[i] &&
			   memcmp(text, back, lengths[i]) == 0;
		pfs_text_free(arena, ref, lengths[i]);
	}
	ok(same, "texts longer than a chunk come back whole");
	is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)), used, "and leave nothing behind");
	while (pfs_pool_alloc(pfs_pool_of(arena), PFS_POOL_MAX_CHUNK) != 0)
		;
	used = pfs_pool_bytes_used(pfs_pool_of(arena));
	is_u64(pfs_text_store(arena, text, 20000), 0, "a full pool keeps no text");
	is_u64(pfs_pool_bytes_used(pfs_pool_of(arena)), used, "nor a part of one");
	is_u64(loss_of(arena, PFS_LOSS_DIGEST_TEXT), 1, "counted once");
	free(text);
	free(back);
	fixture_free(arena);
}

/* --- many threads --- */

#define THREADS 4
#define KEYS 40
#define ROUNDS 50

typedef struct Inserter
{
	PfsSession *session;
	uint32_t number[KEYS];
	pthread_barrier_t *barrier;
} Inserter;

static void *
insert_all(void *argument)
{
	Inserter *inserter = argument;

	pthread_barrier_wait(inserter->barrier);
	for (uint64_t i = 0; i < KEYS; i++)
		inserter->number[i] = fixture_digest(inserter->session, i + 1);
	for (uint64_t i = 0; i < KEYS; i++)
		fixture_statement(inserter->session, 0, i + 1, 10, NULL);
	return NULL;
}

static void
test_same_keys(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	Inserter inserter[THREADS];
	pthread_barrier_t barrier;
	int different = 0;
	uint64_t lost = 0;

	sizes.digests = THREADS * KEYS;
	sizes.pool_bytes = 8 << 20;
	arena = fixture_arena(&sizes);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		inserter[i] =
			(Inserter){.session = fixture_attach(arena, i, "ada", "h1"), .barrier = &barrier};
	for (int round = 0; round < ROUNDS; round++)
	{
		run_threads(THREADS, insert_all, inserter, sizeof(Inserter));
		for (int t = 1; t < THREADS; t++)
			different +=
				memcmp(inserter[t].number, inserter[0].number, sizeof(inserter[0].number)) != 0;
		lost += table_sum(arena, DIGESTS, "count_star") != THREADS * KEYS ||
				table_count(arena, DIGESTS) != KEYS;
		table_truncate(arena, DIGESTS);
	}
	is_u64((uint64_t) different, 0, "one key has one row, whoever adds it");
	is_u64(lost, 0, "and all statements are in it");
	for (int i = 0; i < THREADS; i++)
		fixture_detach(inserter[i].session);
	pthread_barrier_destroy(&barrier);
	fixture_free(arena);
}

int
main(void)
{
	test_rows();
	test_full();
	test_truncate();
	test_truncate_inside();
	test_eviction();
	test_bucket_overflow();
	test_full_pool();
	test_samples();
	test_no_database();
	test_texts();
	test_same_keys();
	return done_testing();
}
