/*
 * test_history.c - rings of ended statements: wrap, claims, texts, stopped writers.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/history.h"

#define HISTORY "events_statements_history"
#define LONG "events_statements_history_long"

static PfsArena *
arena_with_texts(uint32_t rows, uint32_t length)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;

	sizes.statements_history_long = rows;
	sizes.sql_text_length = length;
	arena = fixture_arena(&sizes);
	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	return arena;
}

static PfsArena *
arena_with_long(uint32_t rows)
{
	return arena_with_texts(rows, fixture_sizes().sql_text_length);
}

/* A text of this length that begins with a number. */
static void
long_text_set(PfsSession *session, PfsStatement *statement, uint64_t number, char fill, size_t length)
{
	char text[1500];
	int n = snprintf(text, sizeof(text), "%" PRIu64 ":", number);

	memset(text + n, fill, length - (size_t) n);
	pfs_statement_text_set(session, statement, FIXTURE_ROLE, text, length);
}

/* A statement whose text tells its number. */
static void
numbered(PfsSession *session, uint64_t number, size_t length)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "%" PRIu64 ":", number);

	while (n < (int) length)
		text[n++] = (char) ('a' + number % 26);
	text[n] = '\0';
	fixture_statement(session, 0, 0, number, text);
}

/* Is this the text that numbered() wrote? */
static bool
text_is_of(const char *text, uint64_t number)
{
	char *end;

	if (strtoull(text, &end, 10) != number || *end++ != ':')
		return false;
	while (*end == (char) ('a' + number % 26))
		end++;
	return *end == '\0';
}

/* Texts that belong to another row; missing ones are not wrong. */
static uint64_t
wrong_texts(const Rows *rows, uint64_t *missing)
{
	uint64_t wrong = 0;

	*missing = 0;
	for (int i = 0; i < rows->count; i++)
	{
		const char *text = row_text(rows, i, "sql_text");

		*missing += text == NULL;
		wrong += text != NULL && !text_is_of(text, row_number(rows, i, "timer_wait"));
	}
	return wrong;
}

static void
test_thread_ring(void)
{
	PfsArena *arena = arena_with_long(0);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t size = arena->sizes.statements_history;
	uint64_t missing;
	Rows *rows;

	for (uint64_t i = 1; i <= 3 * size + 1; i++)
	{
		uint64_t want = pfs_min(i, (uint64_t) size);

		numbered(session, i, 10);
		rows = rows_of(arena, HISTORY);
		ok((uint64_t) rows->count == want &&
			   rows_sum(rows, "event_id") == want * (2 * i - want + 1) / 2 &&
			   wrong_texts(rows, &missing) == 0 && missing == 0,
		   "after %" PRIu64 " statements the ring has the last ones, each with its text", i);
		rows_free(rows);
	}
	is_u64(table_count(arena, LONG), 0, "a long ring of no rows has none");
	fixture_detach(session);
	is_u64(table_count(arena, HISTORY), 0, "the ring ends with its thread");
	fixture_free(arena);
}

static void
test_long_ring(uint32_t size)
{
	PfsArena *arena = arena_with_long(size);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t n = 3 * size + 7;
	uint64_t missing;
	Rows *rows;

	for (uint64_t i = 1; i <= n; i++)
		numbered(session, i, 60);
	rows = rows_of(arena, LONG);
	is_u64((uint64_t) rows->count, size, "a full ring");
	is_u64(rows_sum(rows, "event_id"), (uint64_t) size * (2 * n - size + 1) / 2,
		   "of the last ones");
	is_u64(wrong_texts(rows, &missing), 0, "no text is wrong");
	is_u64(missing, 0, "nor missing");
	rows_free(rows);
	fixture_detach(session);
	is_u64(table_count(arena, LONG), size, "it outlives its threads");
	table_truncate(arena, LONG);
	is_u64(table_count(arena, LONG), 0, "TRUNCATE");
	session = fixture_attach(arena, 0, "bob", "h1");
	numbered(session, 1, 60);
	is_u64(table_count(arena, LONG), 1, "what ends later is shown");
	is_u64(loss_of(arena, PFS_LOSS_HISTORY_LONG), 0, "nothing was lost");
	fixture_detach(session);
	fixture_free(arena);
}

/* A session that slept while the others went round the ring: its claims are void. */
static void
test_sleeper(void)
{
	PfsArena *arena = arena_with_long(256);
	PfsSession *sleeper = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *busy = fixture_attach(arena, 1, "bob", "h1");
	uint64_t missing;
	Rows *rows;

	numbered(sleeper, 1, 60);
	for (uint64_t i = 2, after = 0; after < 30; i++)
	{
		numbered(busy, i, 60);
		after += pfs_load(&arena->statements_text_ring.next) > arena->text_ring_bytes;
	}
	for (uint64_t i = 0; i < 5; i++)
		numbered(sleeper, 1000000 + i, 60);
	rows = rows_of(arena, LONG);
	is_u64(wrong_texts(rows, &missing), 0, "a sleeper does not write over the texts of others");
	ok(rows_find(rows, "timer_wait", "1000004") >= 0, "its new events are there");
	ok(row_text(rows, rows_find(rows, "timer_wait", "1000004"), "sql_text") != NULL,
	   "with their texts");
	rows_free(rows);
	fixture_detach(sleeper);
	fixture_detach(busy);
	fixture_free(arena);
}

/* The text ring is smaller than the sum of long texts: the oldest texts are gone, not wrong. */
static void
test_overwritten_texts(void)
{
	PfsArena *arena = arena_with_texts(200, 2000);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t missing;
	Rows *rows;

	for (uint64_t i = 1; i <= 200; i++)
	{
		PfsStatement *statement = fixture_open(session, 0, 0, "");

		long_text_set(session, statement, i, (char) ('a' + i % 26), 1500);
		pfs_statement_close(session, statement, FIXTURE_START + i);
	}
	rows = rows_of(arena, LONG);
	is_u64((uint64_t) rows->count, 200, "all events are there");
	is_u64(wrong_texts(rows, &missing), 0, "no text is wrong");
	ok(missing > 100 && missing < 200, "%" PRIu64 " texts are gone", missing);
	ok(row_text(rows, rows_find(rows, "timer_wait", "200"), "sql_text") != NULL,
	   "the newest is not");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

/* Long texts of one batch fill the ring: one that was there before them, and is needed behind them, is written again. */
static void
test_overwritten_in_batch(void)
{
	PfsArena *arena = arena_with_texts(100, 2000);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t shared = 0;
	Rows *rows;

	for (uint64_t i = 1; i <= PFS_UNSUMMED; i++)
	{
		bool is_long = i >= 4 && i <= 12;
		PfsStatement *statement = fixture_open(session, 0, is_long ? 1 : 2, "");

		if (is_long)
			long_text_set(session, statement, i, 'x', 1400); /* two in a block */
		else
			pfs_statement_text_refer(session, statement, "shared:", strlen("shared:"), &shared);
		pfs_statement_close(session, statement, FIXTURE_START + i);
	}
	rows = rows_of(arena, LONG);
	is_u64((uint64_t) rows->count, PFS_UNSUMMED, "all events are there");
	ok(row_text(rows, rows_find(rows, "timer_wait", "32"), "sql_text") != NULL, "the newest has its text");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

/* A session that stopped between its claim and its text writes over the text of another. */
static void
test_corrupted_text(void)
{
	PfsArena *arena = arena_with_long(32);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsLongStatement *row = PFS_AT(arena, arena->statements_long, PfsLongStatement);
	Rows *rows;

	numbered(session, 1, 30);
	numbered(session, 2, 30);
	pfs_statement_sum(session);
	*PFS_AT(arena, arena->statements_long_text + row->event.text_position + 29, char) = '!';
	rows = rows_of(arena, LONG);
	is_u64((uint64_t) rows->count, 2, "both rows are there");
	ok(row_text(rows, rows_find(rows, "timer_wait", "1"), "sql_text") == NULL,
	   "a text that was written over is missing, not wrong");
	ok(row_text(rows, rows_find(rows, "timer_wait", "2"), "sql_text") != NULL, "the other is not");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

/* A writer stopped in its row: the row is left out, others go round it, the reader comes back. */
static void
test_stopped_writer(void)
{
	PfsArena *arena = arena_with_long(32);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsLongStatement *row = PFS_AT(arena, arena->statements_long, PfsLongStatement) + 5;

	for (uint64_t i = 1; i <= 32; i++)
		numbered(session, i, 10);
	pfs_store(&row->stamp, row->stamp - 1);
	is_u64(table_count(arena, LONG), 31, "a row in writing is left out");
	ok(loss_of(arena, PFS_LOSS_UNSTABLE_READS) > 0, "and counted");
	for (uint64_t i = 33; i <= 64; i++)
		numbered(session, i, 10);
	is_u64(loss_of(arena, PFS_LOSS_HISTORY_LONG), 1, "its place is lost for the next round");
	is_u64(table_count(arena, LONG), 31, "the others were written");
	pfs_store(&row->stamp, row->stamp + 1);
	is_u64(table_count(arena, LONG), 32, "when the writer goes on, the row is whole");
	for (uint64_t i = 65; i <= 96; i++)
		numbered(session, i, 10);
	is_u64(table_sum(arena, LONG, "event_id"), 32 * 161 / 2, "and the next round takes it");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- waits, and waits for locks --- */

#define WAITS "events_waits_history"
#define WAITS_LONG "events_waits_history_long"
#define LOCK_WAITS "lock_waits_history_long"

static PfsArena *
arena_of_waits(uint32_t history, uint32_t rows)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;

	sizes.waits_history = history;
	sizes.waits_history_long = rows;
	sizes.lock_waits_history = rows;
	arena = fixture_arena(&sizes);
	fixture_keep_waits(arena);
	return arena;
}

/* A wait whose bytes and object tell its length. */
static void
numbered_wait(PfsSession *session, uint64_t number)
{
	PfsWait wait = {
		.wait = FIXTURE_WAIT_FILE, .operation = PFS_OPERATION_READ, .object = {.instance = number}};

	pfs_wait_begin(session, &wait, FIXTURE_START);
	pfs_wait_end(session, &wait, FIXTURE_START + number, (int64_t) number);
}

/* The same with the times of a lock wait; its texts tell its length, too. */
static void
numbered_lock_wait(PfsSession *session, uint64_t number)
{
	PfsLockWait wait = {.thread_id = session->thread->thread_id,
						.blocking_thread_id = number,
						.pid = session->thread->owner,
						.blocking_pid = (uint32_t) number,
						.start = FIXTURE_START,
						.wait = number,
						.statement_id = number,
						.query_id = number,
						.user = session->thread->user,
						.blocking_user = session->thread->user,
						.database = session->thread->database,
						.role = FIXTURE_ROLE,
						.blocking_role = FIXTURE_ROLE + (uint32_t) number % 2,
						.epoch = pfs_load_acquire(&session->arena->reset_now),
						.granted = number % 2};

	wait.text_length = (uint16_t) snprintf(wait.text, sizeof(wait.text), "%" PRIu64 ":", number);
	memset(wait.blocking_text, (int) ('a' + number % 26), sizeof(wait.blocking_text));
	wait.blocking_text_length = (uint16_t) (1 + number % PFS_LOCK_TEXT_LENGTH);
	pfs_history_lock_wait(session, &wait);
}

/* Rows that are made of two. */
static uint64_t
torn_waits(const Rows *rows)
{
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
	{
		uint64_t number = row_number(rows, i, "timer_wait");

		wrong += row_number(rows, i, "number_of_bytes") != number ||
				 row_number(rows, i, "object_instance_begin") != number ||
				 row_number(rows, i, "timer_end") != FIXTURE_START + number;
	}
	return wrong;
}

static uint64_t
torn_lock_waits(const Rows *rows)
{
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
	{
		uint64_t number = row_number(rows, i, "timer_wait");
		const char *text = row_text(rows, i, "blocking_query");
		const char *outcome = row_text(rows, i, "outcome");
		size_t length = strspn(text, (char[]){(char) ('a' + number % 26), '\0'});

		wrong += row_number(rows, i, "blocking_thread_id") != number ||
				 row_number(rows, i, "waiting_statement_id") != number ||
				 row_number(rows, i, "waiting_queryid") != number ||
				 row_number(rows, i, "waiting_query") != number ||
				 strcmp(outcome, number % 2 ? "GRANTED" : "GIVEN UP") != 0 ||
				 length != 1 + number % PFS_LOCK_TEXT_LENGTH || text[length] != '\0';
	}
	return wrong;
}

static void
test_waits_ring(uint32_t size)
{
	PfsArena *arena = arena_of_waits(size, 0);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Rows *rows;

	for (uint64_t i = 1; i <= 3 * size + 1; i++)
	{
		uint64_t want = pfs_min(i, (uint64_t) size);

		numbered_wait(session, i);
		rows = rows_of(arena, WAITS);
		ok((uint64_t) rows->count == want &&
			   rows_sum(rows, "event_id") == want * (2 * i - want + 1) / 2 && torn_waits(rows) == 0,
		   "after %" PRIu64 " waits a ring of %u has the last ones", i, size);
		rows_free(rows);
		is_u64(table_sum(arena, "events_waits_current", "timer_wait"), i, "the last is current");
	}
	numbered_lock_wait(session, 1);
	is_u64(table_count(arena, WAITS_LONG) + table_count(arena, LOCK_WAITS), 0,
		   "long rings of no rows have none");
	rows = rows_where(arena, WAITS, "thread_id", "2");
	is_u64((uint64_t) rows->count, 0, "another thread has none");
	rows_free(rows);
	fixture_detach(session);
	is_u64(table_count(arena, WAITS), 0, "the ring ends with its thread");
	fixture_free(arena);
}

static void
test_long_waits(uint32_t size)
{
	PfsArena *arena = arena_of_waits(0, size);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t n = 3 * size + 7;
	uint64_t sum = (uint64_t) size * (2 * n - size + 1) / 2;
	Rows *waits;
	Rows *lock_waits;

	for (uint64_t i = 1; i <= n; i++)
	{
		numbered_wait(session, i);
		numbered_lock_wait(session, i);
	}
	is_u64(table_count(arena, WAITS), 0, "a ring of no rows");
	ok(pfs_history_wants_lock_waits(session), "lock waits are wanted");
	pfs_set_consumer(arena, PFS_CONSUMER_LOCK_WAITS_HISTORY_LONG, false);
	ok(!pfs_history_wants_lock_waits(session), "not without their consumer");
	pfs_set_consumer(arena, PFS_CONSUMER_LOCK_WAITS_HISTORY_LONG, true);
	pfs_store(&session->thread->history, 0);
	ok(!pfs_history_wants_lock_waits(session), "nor of a thread without history");
	pfs_store(&session->thread->history, 1);
	fixture_detach(session);
	waits = rows_of(arena, WAITS_LONG);
	lock_waits = rows_of(arena, LOCK_WAITS);
	is_u64((uint64_t) waits->count, size, "a full ring of waits outlives its threads");
	is_u64((uint64_t) lock_waits->count, size, "and one of lock waits");
	is_u64(rows_sum(waits, "timer_wait"), sum, "of the last ones");
	is_u64(rows_sum(lock_waits, "timer_wait"), sum, "both");
	is_u64(torn_waits(waits) + torn_lock_waits(lock_waits), 0, "all rows are whole");
	rows_free(waits);
	rows_free(lock_waits);
	waits = rows_seen_by(arena, WAITS_LONG, "bob");
	lock_waits = rows_seen_by(arena, LOCK_WAITS, "ada");
	for (int i = 0; i < lock_waits->count; i++)
		ok(row_text(lock_waits, i, "waiting_query") != NULL &&
			   (row_text(lock_waits, i, "blocking_query") == NULL) ==
				   (row_number(lock_waits, i, "blocking_pid") % 2 == 1),
		   "each text is its own role's");
	rows_free(lock_waits);
	lock_waits = rows_seen_by(arena, LOCK_WAITS, "bob");
	is_u64((uint64_t) (waits->count + lock_waits->count), 0, "others do not see them");
	rows_free(waits);
	rows_free(lock_waits);
	table_truncate(arena, WAITS_LONG);
	is_u64(table_count(arena, WAITS_LONG), 0, "TRUNCATE");
	is_u64(table_count(arena, LOCK_WAITS), size, "of one of them");
	table_truncate(arena, LOCK_WAITS);
	is_u64(table_count(arena, LOCK_WAITS), 0, "and the other");
	session = fixture_attach(arena, 0, "bob", "h1");
	numbered_wait(session, 1);
	numbered_lock_wait(session, 1);
	is_u64(table_count(arena, WAITS_LONG) + table_count(arena, LOCK_WAITS), 2,
		   "what ends later is shown");
	is_u64(loss_of(arena, PFS_LOSS_HISTORY_LONG), 0, "nothing was lost");
	fixture_detach(session);
	fixture_free(arena);
}

/* It goes to the long history at once. */
static void
copied_wait(PfsSession *session, uint64_t number)
{
	numbered_wait(session, number);
	pfs_history_waits(session->arena, session->thread, &session->statements_long.waits, UINT64_MAX);
}

/* A writer stopped in its row. */
static void
test_stopped_wait(void)
{
	PfsArena *arena = arena_of_waits(4, 32);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t *stamp[2] = {
		&(PFS_AT(arena, arena->waits_long, PfsLongWait) + 5)->stamp,
		&(PFS_AT(arena, arena->lock_waits_long, PfsLongLockWait) + 5)->stamp,
	};
	const char *tables[] = {WAITS_LONG, LOCK_WAITS};

	for (uint64_t i = 1; i <= 32; i++)
	{
		copied_wait(session, i);
		numbered_lock_wait(session, i);
	}
	for (int i = 0; i < 2; i++)
	{
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);

		pfs_store(stamp[i], *stamp[i] - 1);
		is_u64(table_count(arena, tables[i]), 31, "a row in writing is left out");
		is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), unstable + 1, "and counted");
	}
	for (uint64_t i = 33; i <= 64; i++)
	{
		copied_wait(session, i);
		numbered_lock_wait(session, i);
	}
	is_u64(loss_of(arena, PFS_LOSS_HISTORY_LONG), 2, "its place is lost for the next round");
	for (int i = 0; i < 2; i++)
	{
		is_u64(table_count(arena, tables[i]), 31, "the others were written");
		pfs_store(stamp[i], *stamp[i] + 1);
		is_u64(table_count(arena, tables[i]), 32, "when the writer goes on, the row is whole");
	}
	for (uint64_t i = 65; i <= 96; i++)
	{
		copied_wait(session, i);
		numbered_lock_wait(session, i);
	}
	is_u64(loss_of(arena, PFS_LOSS_HISTORY_LONG), 2, "a place that has missed a round is written again");
	for (int i = 0; i < 2; i++)
		is_u64(table_sum(arena, tables[i], i == 0 ? "timer_wait" : "waiting_statement_id"), (65 + 96) * 16, "with all others");
	pfs_seq_write_begin(&session->thread->seq);
	is_u64(table_count(arena, WAITS) + table_count(arena, "events_waits_current"), 0,
		   "a thread that stands still in a record: its rows are left out");
	pfs_seq_write_end(&session->thread->seq);
	is_u64(table_count(arena, WAITS), 4, "they come back");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- many threads and small rings --- */

#define WRITERS 4
#define EVENTS 3000

typedef struct Writer
{
	PfsArena *arena;
	uint32_t slot;
	bool *done;
	uint64_t wrong;
	uint64_t rows;
} Writer;

static void *
write_events(void *argument)
{
	Writer *writer = argument;
	PfsSession *session = fixture_attach(writer->arena, writer->slot, "ada", "h1");

	for (uint64_t i = 0; i < EVENTS; i++)
		numbered(session, writer->slot * 1000000 + i + 1, 20 + i % 40);
	fixture_detach(session);
	return NULL;
}

static void *
read_events(void *argument)
{
	Writer *reader = argument;
	uint64_t missing;

	while (!__atomic_load_n(reader->done, __ATOMIC_ACQUIRE))
	{
		Rows *rows = rows_of(reader->arena, LONG);

		reader->wrong += wrong_texts(rows, &missing);
		reader->rows += (uint64_t) rows->count;
		rows_free(rows);
	}
	return NULL;
}

static void *
write_waits(void *argument)
{
	Writer *writer = argument;
	PfsSession *session = fixture_attach(writer->arena, writer->slot, "ada", "h1");

	for (uint64_t i = 0; i < EVENTS; i++)
	{
		numbered_wait(session, writer->slot * 1000000 + i + 1);
		numbered_lock_wait(session, writer->slot * 1000000 + i + 1);
	}
	fixture_detach(session);
	return NULL;
}

static void *
read_waits(void *argument)
{
	Writer *reader = argument;

	while (!__atomic_load_n(reader->done, __ATOMIC_ACQUIRE))
	{
		Rows *rows[3] = {rows_of(reader->arena, WAITS), rows_of(reader->arena, WAITS_LONG),
						 rows_of(reader->arena, LOCK_WAITS)};

		reader->wrong += torn_waits(rows[0]) + torn_waits(rows[1]) + torn_lock_waits(rows[2]);
		for (int i = 0; i < 3; i++)
		{
			reader->rows += (uint64_t) rows[i]->count;
			rows_free(rows[i]);
		}
	}
	return NULL;
}

/* Runs writers beside a reader; returns the rows that were wrong. */
static uint64_t
run_beside(PfsArena *arena, void *(*write)(void *), void *(*read)(void *) )
{
	bool done = false;
	Writer writer[WRITERS];
	Writer reader = {.arena = arena, .done = &done};
	pthread_t thread;

	for (uint32_t i = 0; i < WRITERS; i++)
		writer[i] = (Writer){.arena = arena, .slot = i};
	pthread_create(&thread, NULL, read, &reader);
	run_threads(WRITERS, write, writer, sizeof(Writer));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return reader.wrong;
}

static void
test_threads_of_waits(uint32_t size)
{
	PfsArena *arena = arena_of_waits(3, size);
	uint64_t wrong = run_beside(arena, write_waits, read_waits);
	Rows *waits = rows_of(arena, WAITS_LONG);
	Rows *lock_waits = rows_of(arena, LOCK_WAITS);

	ok((uint64_t) waits->count + loss_of(arena, PFS_LOSS_HISTORY_LONG) >= size &&
		   (uint64_t) lock_waits->count + loss_of(arena, PFS_LOSS_HISTORY_LONG) >= size,
	   "rings of %u waits are full", size);
	is_u64(torn_waits(waits) + torn_lock_waits(lock_waits), 0, "no row is made of two");
	is_u64(wrong, 0, "nor was any while they were written");
	rows_free(waits);
	rows_free(lock_waits);
	fixture_free(arena);
}

static void
test_threads(uint32_t size)
{
	PfsArena *arena = arena_with_long(size);
	uint64_t wrong = run_beside(arena, write_events, read_events);
	uint64_t missing;
	Rows *rows;

	rows = rows_of(arena, LONG);
	ok((uint64_t) rows->count + loss_of(arena, PFS_LOSS_HISTORY_LONG) >= size,
	   "a ring of %u rows is full", size);
	is_u64(wrong_texts(rows, &missing), 0, "no text is of another event");
	is_u64(wrong, 0, "nor was any while they were written");
	rows_free(rows);
	fixture_free(arena);
}

int
main(void)
{
	test_thread_ring();
	test_long_ring(40);
	test_long_ring(256);
	test_sleeper();
	test_overwritten_texts();
	test_overwritten_in_batch();
	test_corrupted_text();
	test_stopped_writer();
	test_threads(16);
	test_threads(300);
	test_waits_ring(1);
	test_waits_ring(4);
	test_long_waits(40);
	test_long_waits(256);
	test_stopped_wait();
	test_threads_of_waits(16);
	test_threads_of_waits(300);
	return done_testing();
}
