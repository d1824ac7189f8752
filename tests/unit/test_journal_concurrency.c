/*
 * test_journal_concurrency.c - readers that never rest beside writers of journals.
 *
 * Each statement takes WAIT ticks and returns ROWS rows, and its text tells its number: a row that was
 * read while it was written betrays itself. Whatever is read lies between what had ended before and
 * what had begun after.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/summing.h"

#define WRITERS 3
#ifdef __SANITIZE_THREAD__
#define STATEMENTS 3000
#else
#define STATEMENTS 30000
#endif
#define WAIT 10
#define ROWS 2
#define KEYS 600 /* more than a thread has cells for */

#define BY_THREAD "events_statements_summary_by_thread_by_event_name"
#define BY_ACCOUNT "events_statements_summary_by_account_by_event_name"
#define GLOBAL "events_statements_summary_global_by_event_name"
#define DIGESTS "events_statements_summary_by_digest"
#define DIGEST_HISTOGRAM "events_statements_histogram_by_digest"
#define HISTOGRAM "events_statements_histogram_global"

typedef struct Writer
{
	PfsArena *arena;
	uint32_t slot;
	bool leaves; /* its sessions end again and again */
	uint64_t keys;
	uint64_t begun; /* statements */
	uint64_t ended;
} Writer;

typedef struct Reader
{
	PfsArena *arena;
	Writer *writer;
	bool *done;
	uint64_t wrong;
	uint64_t reads;
	uint64_t stable;
} Reader;

/* --- writers --- */

static PfsStatement *
begin(PfsSession *session, uint64_t query_id, uint64_t number)
{
	PfsStatement *statement = fixture_open(session, number % FIXTURE_CLASSES, query_id, "");
	char text[64];
	int n = snprintf(text, sizeof(text), "%" PRIu64 ":", number);

	while (n < (int) (20 + number % 40))
		text[n++] = (char) ('a' + number % 26);
	pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, ROWS);
	pfs_statement_set(statement, PFS_COUNTER_ROWS_EXAMINED, number);
	pfs_statement_text_set(session, statement, FIXTURE_ROLE, text, (size_t) n);
	return statement;
}

/* A call, and another statement in it. */
static void
two_statements(Writer *writer, PfsSession *session, uint64_t number)
{
	uint64_t query_id = 1 + next_random(&number) % writer->keys;
	PfsStatement *outer;
	PfsStatement *inner;

	pfs_store_release(&writer->begun, writer->begun + 2);
	pfs_fence();
	outer = begin(session, query_id, number);
	session->running = outer;
	inner = begin(session, 1 + query_id % writer->keys, number + 1);
	pfs_statement_close(session, inner, FIXTURE_START + WAIT);
	pfs_statement_close(session, outer, FIXTURE_START + WAIT);
	pfs_fence();
	pfs_store_release(&writer->ended, writer->ended + 2);
}

static void *
write_statements(void *argument)
{
	static const char *const users[] = {"ada", "bob"};
	Writer *writer = argument;
	PfsSession *session = fixture_attach(writer->arena, writer->slot, "ada", "h1");

	for (uint64_t i = 1; i <= STATEMENTS; i++)
	{
		two_statements(writer, session, i * WRITERS + writer->slot + 1);
		if (writer->leaves && i % 333 == 0)
		{
			fixture_detach(session);
			session = fixture_attach(writer->arena, writer->slot, users[i % 2], "h1");
		}
	}
	fixture_detach(session);
	return NULL;
}

/* --- readers --- */

static bool
is_done(const Reader *reader)
{
	return __atomic_load_n(reader->done, __ATOMIC_ACQUIRE);
}

static uint64_t
of_all(const Reader *reader, size_t counter)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire((uint64_t *) ((char *) &reader->writer[i] + counter));
	pfs_fence();
	return sum;
}

/* A total; rows that contradict themselves are wrong. */
static uint64_t
total(Reader *reader, const char *table)
{
	bool buckets = strncmp(table, "events_statements_histogram", 27) == 0;
	Rows *rows = rows_of(reader->arena, table);
	uint64_t sum = rows_sum(rows, buckets ? "count_bucket" : "count_star");

	for (int i = 0; i < rows->count && !buckets; i++)
	{
		uint64_t n = row_number(rows, i, "count_star");

		reader->wrong += row_number(rows, i, "sum_timer_wait") != WAIT * n ||
			row_number(rows, i, "sum_rows_sent") != ROWS * n ||
			(n > 0 && (row_number(rows, i, "min_timer_wait") != WAIT ||
					   row_number(rows, i, "max_timer_wait") != WAIT));
	}
	rows_free(rows);
	reader->reads++;
	return sum;
}

/* What is read in between lies between what is read before and after, and the statements' own counts. */
static void *
read_totals(void *argument)
{
	static const char *const tables[] = {GLOBAL, DIGESTS, HISTOGRAM, BY_ACCOUNT, BY_THREAD,
		DIGEST_HISTOGRAM};
	Reader *reader = argument;
	uint64_t least = 0;
	bool last = false;

	while (!last)
	{
		last = is_done(reader);
		least = 0;
		for (size_t i = 0; i < PFS_LENGTH(tables); i++)
		{
			uint64_t unstable = loss_of(reader->arena, PFS_LOSS_UNSTABLE_READS);
			uint64_t ended = pfs_max(least, of_all(reader, offsetof(Writer, ended)));
			uint64_t wrong = reader->wrong;
			uint64_t now = total(reader, tables[i]);
			uint64_t begun = of_all(reader, offsetof(Writer, begun));
			/* threads take what they have counted with them when they leave */
			bool leaves = strcmp(tables[i], BY_THREAD) == 0;

			if (loss_of(reader->arena, PFS_LOSS_UNSTABLE_READS) != unstable)
			{
				reader->wrong = wrong; /* some of it may have been left out, torn, or counted twice */
				continue;
			}
			reader->stable++;
			reader->wrong += now > begun || (now < ended && !leaves);
			if (!leaves)
				least = now;	/* the next one is read later */
		}
	}
	return NULL;
}

/* Is this the text of that number, or none? */
static bool
is_text_of(const char *text, uint64_t number)
{
	char *tail;

	if (text == NULL)
		return true;
	if (strtoull(text, &tail, 10) != number || *tail++ != ':')
		return false;
	return strspn(tail, (char[]){(char) ('a' + number % 26), '\0'}) == strlen(tail) &&
		strlen(text) == 20 + number % 40;
}

static void *
read_rows(void *argument)
{
	static const char *const tables[] = {"events_statements_current", "events_statements_history",
		"events_statements_history_long"};
	Reader *reader = argument;

	while (!is_done(reader))
		for (size_t i = 0; i < PFS_LENGTH(tables); i++)
		{
			Rows *rows = rows_of(reader->arena, tables[i]);

			for (int row = 0; row < rows->count; row++)
			{
				uint64_t number = row_number(rows, row, "rows_examined");
				bool runs = row_text(rows, row, "end_event_id") == NULL;

				/* what has begun may have no number yet */
				if (number == 0 && runs)
					continue;
				reader->wrong += row_number(rows, row, "rows_sent") != ROWS ||
					(!runs && row_number(rows, row, "timer_wait") != WAIT) ||
					!is_text_of(row_text(rows, row, "sql_text"), number) ||
					row_number(rows, row, "nesting_event_level") > 1;
			}
			reader->reads += (uint64_t) rows->count;
			rows_free(rows);
		}
	return NULL;
}

static void *
read_threads(void *argument)
{
	Reader *reader = argument;

	while (!is_done(reader))
	{
		Rows *rows = rows_of(reader->arena, "threads");

		for (int row = 0; row < rows->count; row++)
		{
			const char *text = row_text(rows, row, "processlist_info");

			reader->wrong += text != NULL && !is_text_of(text, strtoull(text, NULL, 10));
		}
		reader->reads += (uint64_t) rows->count;
		rows_free(rows);
	}
	return NULL;
}

static void
test_beside(bool leaving, uint64_t keys)
{
	static void *(*const read[])(void *) = {read_totals, read_rows, read_threads};
	PfsSizes sizes = fixture_sizes();
	Writer writer[WRITERS];
	Reader reader[PFS_LENGTH(read)];
	pthread_t thread[PFS_LENGTH(read)];
	bool done = false;
	uint64_t all = 2 * WRITERS * STATEMENTS;
	PfsArena *arena;

	sizes.digests = KEYS * (WRITERS + 1); /* threads that add one key at once use up a row each */
	sizes.pool_bytes = 16 << 20;
	arena = fixture_arena(&sizes);
	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	for (uint32_t i = 0; i < WRITERS; i++)
		writer[i] = (Writer){.arena = arena, .slot = i, .leaves = leaving && i > 0, .keys = keys};
	for (size_t i = 0; i < PFS_LENGTH(read); i++)
	{
		reader[i] = (Reader){.arena = arena, .writer = writer, .done = &done};
		pthread_create(&thread[i], NULL, read[i], &reader[i]);
	}
	run_threads(WRITERS, write_statements, writer, sizeof(Writer));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < PFS_LENGTH(read); i++)
	{
		pthread_join(thread[i], NULL);
		is_u64(reader[i].wrong, 0, i == 0 ? "no total is wrong, no row torn" : "no row is wrong");
		ok(reader[i].reads > 0, "%" PRIu64 " reads", reader[i].reads);
	}
	is_u64(table_sum(arena, GLOBAL, "count_star"), all, "all are counted globally");
	is_u64(table_sum(arena, BY_ACCOUNT, "count_star"), all, "by account");
	is_u64(table_sum(arena, DIGESTS, "count_star"), all, "by digest");
	is_u64(table_sum(arena, HISTOGRAM, "count_bucket"), all, "in the histogram");
	is_u64(table_sum(arena, DIGEST_HISTOGRAM, "count_bucket"), all, "in that by digest");
	is_u64(loss_of(arena, PFS_LOSS_LOCKER) + loss_of(arena, PFS_LOSS_CELLS) + loss_of(arena, PFS_LOSS_DIGEST),
		   0, "readers cost no statement");
	printf("# %" PRIu64 " unstable reads, %" PRIu64 " of %" PRIu64 " totals are sure\n",
		   loss_of(arena, PFS_LOSS_UNSTABLE_READS), reader[0].stable, reader[0].reads);
	ok(reader[0].stable > 0, "some totals are sure");
	fixture_free(arena);
}

int
main(void)
{
	test_beside(false, 5);
	test_beside(true, 5);
	test_beside(false, KEYS);
	test_beside(true, KEYS);
	return done_testing();
}
