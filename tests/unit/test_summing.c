/*
 * test_summing.c - from the journal to the summaries: whether a statement is in its cells or waits to
 * be added to them, all tables say the same.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/history.h"
#include "core/rollup.h"
#include "core/summing.h"

#include <setjmp.h>

#ifdef __SANITIZE_THREAD__
#define FEWER(n, fewer) (fewer) /* one thread: there is nothing to find, slowly */
#else
#define FEWER(n, fewer) (n)
#endif

#define CURRENT "events_statements_current"
#define HISTORY "events_statements_history"
#define LONG "events_statements_history_long"
#define DIGESTS "events_statements_summary_by_digest"
#define DIGEST_HISTOGRAM "events_statements_histogram_by_digest"
#define HISTOGRAM "events_statements_histogram_global"

static const char *const levels[PFS_LEVELS] = {
	"events_statements_summary_by_thread_by_event_name",
	"events_statements_summary_by_account_by_event_name",
	"events_statements_summary_by_user_by_event_name",
	"events_statements_summary_by_host_by_event_name",
	"events_statements_summary_global_by_event_name",
};
#define BY_THREAD levels[PFS_LEVEL_THREAD]
#define GLOBAL levels[PFS_LEVEL_GLOBAL]

/* All that show statements. */
static const char *const tables[] = {
	"events_statements_summary_by_thread_by_event_name",
	"events_statements_summary_by_account_by_event_name",
	"events_statements_summary_by_user_by_event_name",
	"events_statements_summary_by_host_by_event_name",
	"events_statements_summary_global_by_event_name",
	DIGESTS,
	DIGEST_HISTOGRAM,
	HISTOGRAM,
	CURRENT,
	HISTORY,
	LONG,
};

/* Time goes on with each start and each end, so no two statements end in one tick. */
static PfsTicks tick = FIXTURE_START;

static PfsStatement *
begin(PfsSession *session, uint32_t class, uint64_t query_id)
{
	PfsStatement *statement = pfs_statement_open(session, class, ++tick);
	uint32_t generation = pfs_load(&session->arena->digest_generation);
	char text[40];

	if (statement == NULL)
		return NULL;
	pfs_store(&statement->record->query_id, query_id);
	if ((pfs_load(&session->arena->gate) & PFS_WANTS(DIGEST)) != 0)
		pfs_store(&statement->record->digest, fixture_digest(session, query_id));
	pfs_store(&statement->record->digest_generation, generation);
	pfs_statement_text_set(session, statement, FIXTURE_ROLE, text,
						   (size_t) snprintf(text, sizeof(text), "select %" PRIu64, tick));
	pfs_statement_publish(session, statement);
	return statement;
}

static void
finish(PfsSession *session, PfsStatement *statement, PfsTicks wait)
{
	tick = pfs_max(statement->record->start + wait, tick + 1);
	pfs_statement_close(session, statement, tick);
}

/* A statement of this length, which returns as many rows. */
static void
statement(PfsSession *session, uint32_t class, uint64_t query_id, PfsTicks wait)
{
	PfsStatement *s = begin(session, class, query_id);

	pfs_statement_set(s, PFS_COUNTER_ROWS_SENT, wait);
	finish(session, s, wait);
}

/* --- the same before and after --- */

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* A table as one text, without the times of what runs. */
static char *
dump(PfsArena *arena, const char *table)
{
	Rows *rows = rows_of(arena, table);
	size_t size = 0;
	char *text;
	FILE *out = open_memstream(&text, &size);

	for (int row = 0; row < rows->count; row++)
	{
		bool runs = strcmp(table, CURRENT) == 0 && row_text(rows, row, "end_event_id") == NULL;

		for (int i = 0; i < rows->columns; i++)
		{
			const char *cell = rows->cell[row * rows->columns + i];
			const char *name = pfs_table_column(rows->table, i, NULL)->name;

			/* empty rows of the histogram and of global, and zeros, would hide what matters */
			if (cell != NULL && strcmp(cell, "0") != 0 && !(runs && starts_with(name, "timer_")))
				fprintf(out, "%s=%s ", name, cell);
		}
		fprintf(out, "\n");
	}
	fclose(out);
	rows_free(rows);
	return text;
}

/* Sums what waits in these sessions; returns how many tables say something else then. */
static int
changed_by_sum(PfsArena *arena, PfsSession *const *session, int sessions)
{
	char *before[PFS_LENGTH(tables)];
	int changed = 0;

	for (size_t i = 0; i < PFS_LENGTH(tables); i++)
		before[i] = dump(arena, tables[i]);
	for (int i = 0; i < sessions; i++)
		if (session[i] != NULL)
			pfs_statement_sum(session[i]);
	for (size_t i = 0; i < PFS_LENGTH(tables); i++)
	{
		char *after = dump(arena, tables[i]);

		if (strcmp(before[i], after) != 0)
		{
			changed++;
			if (changed == 1)
				printf("# %s\n# before:\n%s# after:\n%s", tables[i], before[i], after);
		}
		free(before[i]);
		free(after);
	}
	return changed;
}

/* --- cells and what waits are all --- */

#define SESSIONS 3

static const char *const users[SESSIONS] = {"ada", "bob", NULL};
static const char *const hosts[SESSIONS] = {"h1", "h2", NULL};

/* Counts, times and rows of all statements at each level, by digest, in both histograms. */
static uint64_t
wrong_totals(PfsArena *arena, uint64_t count, uint64_t sum)
{
	uint64_t wrong = 0;

	for (int level = 0; level <= PFS_LEVELS; level++)
	{
		Rows *rows = rows_of(arena, level < PFS_LEVELS ? levels[level] : DIGESTS);

		wrong += rows_sum(rows, "count_star") != count || rows_sum(rows, "sum_timer_wait") != sum ||
			rows_sum(rows, "sum_rows_sent") != sum;
		rows_free(rows);
	}
	return wrong + (table_sum(arena, HISTOGRAM, "count_bucket") != count) +
		(table_sum(arena, DIGEST_HISTOGRAM, "count_bucket") != count);
}

#define RELATIONS FEWER(400, 120)

static void
test_relation(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session[SESSIONS];
	uint64_t random = 5;
	uint64_t wrong = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < SESSIONS; i++)
		session[i] = fixture_attach(arena, i, users[i], hosts[i]);
	for (uint64_t n = 1; n <= RELATIONS; n++)
	{
		PfsTicks wait = 1 + next_random(&random) % 5000;

		statement(session[next_random(&random) % SESSIONS], next_random(&random) % FIXTURE_CLASSES,
				  1 + next_random(&random) % 12, wait);
		sum += wait;
		wrong += wrong_totals(arena, n, sum);
	}
	is_u64(wrong, 0, "after each statement all tables count all statements");
	for (uint32_t i = 0; i < SESSIONS; i++)
		ok(session[i]->thread->summed > 0 && session[i]->thread->summed < session[i]->thread->ended,
		   "some of them wait to be summed");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 0, "no reader had to give up");
	for (uint32_t i = 0; i < SESSIONS; i++)
		fixture_detach(session[i]);
	is_u64(table_count(arena, BY_THREAD), 0, "no thread is left");
	wrong = wrong_totals(arena, RELATIONS, sum);
	is_u64(wrong, 1, "and all others have all");
	fixture_free(arena);
}

/* --- TRUNCATE between statements that wait --- */

#define BATCH 40

/* What each of the tables shows. */
typedef struct Totals
{
	uint64_t count;
	uint64_t min;
	uint64_t max;
} Totals;

static Totals
totals_of(PfsArena *arena, const char *table)
{
	Rows *rows = rows_of(arena, table);
	bool buckets = starts_with(table, "events_statements_histogram");
	Totals totals = {rows_sum(rows, buckets ? "count_bucket" : "count_star"), 0, 0};

	for (int i = 0; i < rows->count && !buckets; i++)
	{
		uint64_t min = row_number(rows, i, "min_timer_wait");

		totals.max = pfs_max(totals.max, row_number(rows, i, "max_timer_wait"));
		totals.min = totals.min == 0 || (min != 0 && min < totals.min) ? min : totals.min;
	}
	rows_free(rows);
	return totals;
}

/* The longest ones are in the middle, the shortest at both ends. */
static PfsTicks
wait_of(int i)
{
	return 1000 + 10 * (PfsTicks) (i < BATCH / 2 ? i : BATCH - i) + (PfsTicks) i % 2;
}

static Totals
totals_since(int first)
{
	Totals totals = {0, 0, 0};

	for (int i = first; i < BATCH; i++)
	{
		totals.count++;
		totals.max = pfs_max(totals.max, wait_of(i));
		totals.min = totals.min == 0 ? wait_of(i) : pfs_min(totals.min, wait_of(i));
	}
	return totals;
}

/* Which tables does TRUNCATE of a table empty?  Bits in the order of "tables". */
static unsigned
emptied_by(size_t table)
{
	static const unsigned emptied[] = {0x01, 0x03, 0x07, 0x0B, 0x9F, 0x60, 0x40, 0x80};

	return emptied[table];
}

#define SUMMARIES 8

static bool
same_totals(PfsArena *arena, const int *first)
{
	bool same = true;

	for (size_t i = 0; i < SUMMARIES; i++)
	{
		Totals got = totals_of(arena, tables[i]);
		Totals want = totals_since(first[i]);

		if (starts_with(tables[i], "events_statements_histogram"))
			want.min = want.max = 0;
		if (memcmp(&got, &want, sizeof(got)) != 0)
		{
			printf("# %s: %" PRIu64 " statements of %" PRIu64 " to %" PRIu64 ", not %" PRIu64 " of %" PRIu64
				   " to %" PRIu64 "\n", tables[i], got.count, got.min, got.max, want.count, want.min, want.max);
			same = false;
		}
	}
	return same;
}

/* TRUNCATE of two tables at two places of a batch; sum: what waits is added right before each. */
static bool
truncate_in_batch(const size_t table[2], const int at[2], bool sum)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsStatement *nested;
	int first[SUMMARIES] = {0};
	bool same = true;

	for (int i = 0; i <= BATCH; i++)
	{
		for (int t = 0; t < 2; t++)
			if (at[t] == i)
			{
				if (sum)
					pfs_statement_sum(session);
				same &= table_truncate(arena, tables[table[t]]);
				for (size_t s = 0; s < SUMMARIES; s++)
					if ((emptied_by(table[t]) & 1u << s) != 0)
						first[s] = i;
			}
		if (i < BATCH)
		{
			nested = begin(session, 2, 3);
			finish(session, nested, wait_of(i));
		}
	}
	same &= same_totals(arena, first);
	same &= changed_by_sum(arena, &session, 1) == 0;
	fixture_detach(session);
	first[PFS_LEVEL_THREAD] = BATCH;
	same &= same_totals(arena, first);
	for (int i = 0; i < PFS_LOSSES; i++)
		same &= loss_of(arena, i) == 0 || i == PFS_LOSS_DIGEST;
	fixture_free(arena);
	return same;
}

static void
test_truncate(void)
{
	for (size_t table = 0; table < SUMMARIES; table++)
	{
		int wrong = 0;

		for (int at = 0; at <= BATCH; at += FEWER(1, 8))
			wrong += !truncate_in_batch((const size_t[]){table, table}, (const int[]){at, -1}, false);
		is_u64((uint64_t) wrong, 0, tables[table]);
	}
	for (size_t table = 0; table < SUMMARIES * SUMMARIES; table += FEWER(1, 7))
	{
		const size_t pair[2] = {table / SUMMARIES, table % SUMMARIES};
		int wrong = 0;

		for (int at = 0; at < 8; at++)
		{
			static const int places[8][2] = {{0, 0}, {1, 2}, {5, 20}, {20, 20}, {30, 33}, {31, 32}, {32, 39},
											 {39, 40}};

			wrong += !truncate_in_batch(pair, places[at], at % 4 == 3);
		}
		ok(wrong == 0, "%s and then %s", tables[pair[0]], tables[pair[1]]);
	}
}

/* A command that is counted at once, after a TRUNCATE, in the class of statements that wait. */
static void
test_tally(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	for (int i = 0; i < 5; i++)
		statement(session, 1, 1, 10);
	table_truncate(arena, BY_THREAD);
	statement(session, 1, 1, 20);
	for (int i = 0; i < 3; i++)
		pfs_statement_tally(session, 1, i % 2 ? 7 : 0);
	arena->answer_class[0] = 1;
	pfs_set_instrument(arena, pfs_instrument(arena, 1), -1, 0);
	ok(fixture_answer(session, 0), "an answer of the same class");
	statement(session, 1, 1, 30);
	is_u64(table_sum(arena, BY_THREAD, "count_star"), 6, "what came after TRUNCATE");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 11, "all");
	is_u64((uint64_t) changed_by_sum(arena, &session, 1), 0, "the same when all are summed");
	table_truncate(arena, BY_THREAD);
	is_u64(table_sum(arena, BY_THREAD, "count_star"), 0, "another TRUNCATE");
	pfs_statement_tally(session, 1, 0);
	is_u64(table_sum(arena, BY_THREAD, "count_star"), 1, "another command");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 12, "all");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- switches change between statements that wait --- */

static void
test_switches(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t long_rows = 0;
	uint64_t history_rows = 0;
	uint64_t threads = 0;
	uint64_t digests = 0;
	uint64_t timed = 0;

	for (int n = 0; n < 32; n++)
	{
		bool history = n % 2 == 0;
		bool thread = n / 2 % 2 == 0;
		bool digest = n / 4 % 2 == 0;
		bool is_long = n / 8 % 2 == 0;
		bool is_timed = n / 16 % 2 == 0;

		if (n < 31)				/* the last one would be summed */
		{
			pfs_thread_keep_history(arena, session->thread, history);
			pfs_set_consumer(arena, PFS_CONSUMER_THREAD, thread);
			pfs_set_consumer(arena, PFS_CONSUMER_DIGEST, digest);
			pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, is_long);
			pfs_set_instrument(arena, pfs_instrument(arena, 2), 1, is_timed);
			statement(session, 2, 4, 10);
			/* whose threads are not to be observed, has no rows */
			history_rows += history && thread;
			long_rows += history && thread && is_long;
			threads += thread;
			digests += digest;
			timed += is_timed;
		}
		is_u64(session->thread->summed, 0, "none is summed");
	}
	for (int round = 0; round < 2; round++)
	{
		is_u64(table_count(arena, HISTORY), pfs_min(history_rows, (uint64_t) 5), "history");
		is_u64(table_count(arena, LONG), long_rows, "long history");
		is_u64(table_sum(arena, BY_THREAD, "count_star"), threads, "by thread");
		is_u64(table_sum(arena, levels[PFS_LEVEL_USER], "count_star"), threads, "by user");
		is_u64(table_sum(arena, GLOBAL, "count_star"), 31, "global");
		is_u64(table_sum(arena, DIGESTS, "count_star"), digests, "by digest");
		is_u64(table_sum(arena, HISTOGRAM, "count_bucket"), timed, "histogram");
		is_u64(table_sum(arena, GLOBAL, "sum_timer_wait"), timed * 10, "times");
		is_u64((uint64_t) changed_by_sum(arena, &session, 1), 0, "the same when all are summed");
	}
	/* switched back, all at once: nothing of it is about what has ended */
	statement(session, 2, 4, 10);
	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_CURRENT, false);
	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, false);
	pfs_set_consumer(arena, PFS_CONSUMER_THREAD, false);
	pfs_set_consumer(arena, PFS_CONSUMER_DIGEST, false);
	pfs_set_instrument(arena, pfs_instrument(arena, 2), 0, 0);
	is_u64((uint64_t) changed_by_sum(arena, &session, 1), 0, "nor when everything is switched off");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 32, "all are there");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- the long history --- */

static void
test_long_history(uint32_t size)
{
	PfsSizes sizes = fixture_sizes();
	PfsSession *session[SESSIONS];
	uint64_t random = size;
	uint64_t wrong = 0;
	uint64_t ended = 0;
	PfsArena *arena;

	sizes.statements_history_long = size;
	arena = fixture_arena(&sizes);
	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	for (uint32_t i = 0; i < SESSIONS; i++)
		session[i] = fixture_attach(arena, i, users[i], hosts[i]);
	for (uint64_t n = 1; n <= FEWER(600, 100); n++)
	{
		/* the third session does little: its statements wait for long */
		uint64_t dice = next_random(&random) % 64;
		uint32_t slot = dice == 0 ? 2 : dice % 2;
		uint64_t last = 0;
		Rows *rows;

		if (dice == 63)
		{
			fixture_detach(session[slot]);
			session[slot] = fixture_attach(arena, slot, users[slot], hosts[slot]);
		}
		ended++;
		statement(session[slot], 0, ended % 12, ended);
		rows = rows_of(arena, LONG);
		/* claims of idle sessions hold some of the ring's rows */
		wrong += (uint64_t) rows->count > pfs_min(ended, (uint64_t) size) ||
			(uint64_t) rows->count + SESSIONS * PFS_LONG_BLOCK < pfs_min(ended, (uint64_t) size);
		for (int row = 0; row < rows->count; row++)
		{
			uint64_t number = row_number(rows, row, "rows_sent");

			wrong += number <= last || row_text(rows, row, "sql_text") == NULL ||
				strtoull(row_text(rows, row, "sql_text") + strlen("select "), NULL, 10) !=
				row_number(rows, row, "timer_start");
			last = number;
		}
		wrong += last != ended;
		rows_free(rows);
	}
	ok(wrong == 0, "a long history of %u: each event once, in the order of ends, with its text", size);
	for (uint32_t i = 0; i < SESSIONS; i++)
		fixture_detach(session[i]);
	fixture_free(arena);
}

/* Those that end in one tick, by an error: the inner ones first, as they ended. */
static void
test_one_tick(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsStatement *s[4];

	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	statement(session, 0, 1, 10);
	for (int i = 0; i < 4; i++)
		session->running = s[i] = begin(session, 0, 1);
	for (int i = 3; i >= 0; i--)
	{
		pfs_statement_set(s[i], PFS_COUNTER_ROWS_SENT, 10 - (uint64_t) i);
		pfs_statement_close(session, s[i], tick + 5);
	}
	for (int round = 0; round < 2; round++)
	{
		Rows *rows = rows_of(arena, LONG);

		for (int i = 1; i < 5; i++)
			is_u64(row_number(rows, i, "rows_sent"), 6 + (uint64_t) i, "in the order of their ends");
		rows_free(rows);
		pfs_statement_sum(session);
	}
	fixture_detach(session);
	fixture_free(arena);
}

/* --- whatever happens --- */

#define OPEN 6

typedef struct World
{
	PfsArena *arena;
	uint64_t random;
	PfsSession *session[SESSIONS];
	PfsStatement *open[SESSIONS][OPEN];
	int depth[SESSIONS];
} World;

static uint64_t
dice(World *w, uint64_t sides)
{
	return next_random(&w->random) % sides;
}

static void
change_a_switch(World *w, PfsSession *session)
{
	static const PfsConsumer consumers[] = {
		PFS_CONSUMER_THREAD,
		PFS_CONSUMER_DIGEST,
		PFS_CONSUMER_STATEMENTS_CURRENT,
		PFS_CONSUMER_STATEMENTS_HISTORY,
		PFS_CONSUMER_STATEMENTS_HISTORY_LONG,
	};

	switch (dice(w, 3))
	{
		case 0:
			pfs_set_consumer(w->arena, consumers[dice(w, PFS_LENGTH(consumers))], dice(w, 3) > 0);
			break;
		case 1:
			pfs_thread_keep_history(w->arena, session->thread, dice(w, 3) > 0);
			break;
		default:
			pfs_set_instrument(w->arena, pfs_instrument(w->arena, (uint32_t) dice(w, FIXTURE_CLASSES)), 1,
							   dice(w, 3) > 0);
	}
}

/* Ends one of the open statements, mostly the innermost. */
static void
end_one(World *w, int i)
{
	int which = dice(w, 4) == 0 ? (int) dice(w, (uint64_t) w->depth[i]) : w->depth[i] - 1;
	PfsStatement *s = w->open[i][which];

	if (dice(w, 10) == 0)
		pfs_statement_drop(w->session[i], s);
	else
	{
		if (dice(w, 4) == 0)
			pfs_statement_fail(w->session[i], s, 1 + (uint32_t) dice(w, 9), "failed", 6);
		pfs_statement_count(s, (PfsCounter) dice(w, PFS_COUNTERS_KEPT), dice(w, 100));
		finish(w->session[i], s, 1 + dice(w, 20) * dice(w, 20) * dice(w, 20) * dice(w, 20));
	}
	memmove(&w->open[i][which], &w->open[i][which + 1],
			sizeof(w->open[i][0]) * (size_t) (w->depth[i] - which - 1));
	w->depth[i]--;
	w->session[i]->running = w->depth[i] > 0 ? w->open[i][w->depth[i] - 1] : NULL;
}

static void
leave(World *w, int i, bool killed)
{
	while (!killed && w->depth[i] > 0)
		end_one(w, i);
	if (killed)
		fixture_kill(w->session[i]);
	else
		fixture_detach(w->session[i]);
	w->depth[i] = 0;
	w->session[i] = fixture_attach(w->arena, (uint32_t) i, users[i], hosts[i]);
}

static void
step(World *w)
{
	int i = (int) dice(w, SESSIONS);
	PfsSession *session = w->session[i];
	uint64_t what = dice(w, 1000);

	if (what < 450 && w->depth[i] < OPEN)
	{
		PfsStatement *s = begin(session, (uint32_t) dice(w, FIXTURE_CLASSES), dice(w, 12));

		if (dice(w, 8) == 0)
			pfs_statement_unlist(s);
		session->running = w->open[i][w->depth[i]++] = s;
	}
	else if (what < 900 && w->depth[i] > 0)
		end_one(w, i);
	else if (what < 910 && w->depth[i] > 0)
		pfs_statement_pause(w->open[i][w->depth[i] - 1], ++tick);
	else if (what < 930)
		pfs_statement_tally(session, (uint32_t) dice(w, FIXTURE_CLASSES), dice(w, 2) * dice(w, 50));
	else if (what < 960)
		change_a_switch(w, session);
	else if (what < 985)
		table_truncate(w->arena, tables[dice(w, PFS_LENGTH(tables))]);
	else if (what < 990)
		leave(w, i, what >= 988);
}

static void
test_anything(uint64_t seed)
{
	PfsSizes sizes = fixture_sizes();
	World w = {.random = seed * 7919};
	int changed = 0;

	sizes.statements_history_long = 8192; /* claims that are not used take rows from a full ring */
	w.arena = fixture_arena(&sizes);
	w.arena->sample_age_ticks = 0;
	for (uint32_t i = 0; i < SESSIONS; i++)
		w.session[i] = fixture_attach(w.arena, i, users[i], hosts[i]);
	for (int n = 0; n < FEWER(4000, 1000) && changed == 0; n++)
	{
		step(&w);
		if (dice(&w, 60) == 0)
			changed += changed_by_sum(w.arena, w.session, SESSIONS);
	}
	ok(changed == 0, "all tables say the same before and after a sum, seed %" PRIu64, seed);
	is_u64(loss_of(w.arena, PFS_LOSS_UNSTABLE_READS), 0, "no reader had to give up");
	for (int i = 0; i < SESSIONS; i++)
	{
		while (w.depth[i] > 0)
			end_one(&w, i);
		fixture_detach(w.session[i]);
	}
	fixture_free(w.arena);
}

/* --- more digests than a thread has cells for, in several classes, TRUNCATE in between --- */

#define CLASS_TABLES (PFS_LEVELS + 2)	/* summaries by class, digests, the global histogram */
#define KEYS 700

/* What a table shows since its TRUNCATE: by class where it has classes. */
typedef struct Model
{
	Totals of[CLASS_TABLES][FIXTURE_CLASSES];
} Model;

static void
model_add(Model *model, int table, uint32_t class, PfsTicks wait)
{
	Totals *t = &model->of[table][class];

	t->count++;
	t->min = t->min == 0 ? wait : pfs_min(t->min, wait);
	t->max = pfs_max(t->max, wait);
}

static int
model_differs(PfsArena *arena, const Model *model, int threads_too)
{
	int wrong = 0;

	for (int level = threads_too ? 0 : 1; level < PFS_LEVELS; level++)
	{
		Rows *rows = rows_of(arena, levels[level]);

		for (uint32_t class = 0; class < FIXTURE_CLASSES; class++)
		{
			int row = rows_find(rows, "event_name", pfs_statement_instrument(arena, class)->name);
			const Totals *t = &model->of[level][class];

			wrong += row_number(rows, row, "count_star") != t->count ||
				row_number(rows, row, "min_timer_wait") != t->min || row_number(rows, row, "max_timer_wait") != t->max;
		}
		rows_free(rows);
	}
	for (int table = PFS_LEVELS; table < CLASS_TABLES; table++)
	{
		uint64_t count = 0;

		for (uint32_t class = 0; class < FIXTURE_CLASSES; class++)
			count += model->of[table][class].count;
		wrong += table == PFS_LEVELS ? table_sum(arena, DIGESTS, "count_star") != count
			: table_sum(arena, HISTOGRAM, "count_bucket") != count;
	}
	return wrong;
}

static void
test_many_digests(uint64_t seed)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;
	PfsSession *session;
	Model model = {0};
	uint64_t random = seed * 104729;
	uint64_t digests = 0;
	int wrong = 0;

	sizes.digests = 2 * KEYS;
	sizes.pool_bytes = 4 << 20;
	arena = fixture_arena(&sizes);
	session = fixture_attach(arena, 0, "ada", "h1");
	for (int n = 1; n <= FEWER(4000, 1000); n++)
	{
		uint64_t key = 1 + next_random(&random) % (next_random(&random) % 2 ? 8 : KEYS);
		/* most statements are of one class, some of two */
		uint32_t class = (uint32_t) (key + (next_random(&random) % 8 == 0)) % FIXTURE_CLASSES;
		PfsTicks wait = 1 + next_random(&random) % 100000;
		bool digest = next_random(&random) % 16 != 0;
		bool scope = next_random(&random) % 16 != 0;

		pfs_set_consumer(arena, PFS_CONSUMER_DIGEST, digest);
		pfs_set_consumer(arena, PFS_CONSUMER_THREAD, scope);
		statement(session, class, key, wait);
		for (int table = 0; table < CLASS_TABLES; table++)
			if ((table != PFS_LEVELS || digest) && (table >= PFS_LEVEL_GLOBAL || scope))
				model_add(&model, table, class, wait);
		digests += digest;
		if (next_random(&random) % 300 == 0)
		{
			size_t table = next_random(&random) % SUMMARIES;

			table_truncate(arena, tables[table]);
			for (int i = 0; i < CLASS_TABLES; i++)
				if ((emptied_by(table) & 1u << (i <= PFS_LEVELS ? i : 7)) != 0)
					memset(model.of[i], 0, sizeof(model.of[i]));
		}
		if (next_random(&random) % 100 == 0)
			wrong += model_differs(arena, &model, true);
	}
	is_u64((uint64_t) wrong, 0, "all tables are as the model says, with cells that come and go");
	fixture_detach(session);
	is_u64((uint64_t) model_differs(arena, &model, false), 0, "also when the thread has gone");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS) + loss_of(arena, PFS_LOSS_CELLS) + loss_of(arena, PFS_LOSS_ROLL_UP),
		   0, "nothing is lost");
	ok(digests > 0, "%" PRIu64 " with a digest", digests);
	fixture_free(arena);
}

/* --- a slot that is taken over --- */

static jmp_buf death;
static int lives;

static void
die(PfsSeq *seq)
{
	if (--lives == 0)
		longjmp(death, 1);
}

/* What waited is summed by the successor, also of one who died when he had opened a cell for it. */
static void
test_takeover(bool in_the_middle)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t count = 50,
			 sum = 50 * 51 / 2;

	for (uint64_t n = 1; n <= 50; n++)
		statement(session, n % FIXTURE_CLASSES, 1 + n % 7, n);
	ok(session->thread->ended - session->thread->summed > 10, "some wait to be summed");
	lives = 1;
	if (in_the_middle)
	{
		if (setjmp(death) == 0)
		{
			pfs_inside_sequence = die;
			pfs_statement_sum(session);
		}
	}
	pfs_inside_sequence = NULL;
	is_u64(lives == 0, in_the_middle, "dead");
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h2");
	is_u64(table_sum(arena, levels[PFS_LEVEL_ACCOUNT], "count_star"), count, "all count in the account");
	is_u64(table_number(arena, levels[PFS_LEVEL_USER], "user_name", "bob", "count_star"), 0,
		   "of the one who has died");
	is_u64(wrong_totals(arena, count, sum), 1, "and everywhere but in threads");
	is_u64(session->thread->ended + session->thread->summed, 0, "the new journal is empty");
	fixture_detach(session);
	fixture_free(arena);
}

/* The owner died with some of its records added, as its words say: those are not added again. */
static void
test_half_summed(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	for (uint64_t n = 1; n <= 20; n++)
		statement(session, 1, 1, 10);
	pfs_store(&session->thread->summing, 12);
	pfs_seq_write_begin(&session->thread->seq);
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h2");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 8, "the others are added");
	fixture_detach(session);
	session = fixture_attach(arena, 0, "ada", "h1");
	for (uint64_t n = 1; n <= 20; n++)
		statement(session, 1, 1, 10);
	pfs_store(&session->thread->summing, 20);
	pfs_seq_write_begin(&session->thread->seq);
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h2");
	is_u64(table_sum(arena, GLOBAL, "count_star"), 8, "none of those that may have been added");
	fixture_detach(session);
	fixture_free(arena);
}

/* More end than the ring holds while none can be summed; a damaged record. */
static void
test_far_behind(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsSession *session;
	PfsArena *arena;
	uint64_t shown;

	sizes.statements_history_long = 0;
	arena = fixture_arena(&sizes);
	session = fixture_attach(arena, 0, "ada", "h1");
	session->busy = true;
	for (uint64_t n = 1; n <= 200; n++)
		statement(session, 1, 1, 10);
	session->busy = false;
	is_u64(session->thread->ended, 200, "all have ended");
	shown = table_sum(arena, GLOBAL, "count_star");
	ok(shown >= 60 && shown <= arena->journal_ring, "as many as the ring has are shown");
	ok(loss_of(arena, PFS_LOSS_LOCKER) + shown >= 200, "the others are counted as lost");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 0, "the reader can read");
	pfs_journal_record(arena, session->thread, 199)->used |= PFS_RECORD_LONG;
	pfs_statement_sum(session);
	ok(table_sum(arena, GLOBAL, "count_star") >= shown, "they are summed");
	is_u64(session->thread->summed, 200, "and it goes on from here");
	statement(session, 1, 1, 10);
	ok(table_sum(arena, GLOBAL, "count_star") > shown, "with the next ones");
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	test_relation();
	test_truncate();
	test_tally();
	test_switches();
	test_long_history(40);
	test_long_history(256);
	test_one_tick();
	for (uint64_t seed = 1; seed <= FEWER(8, 2); seed++)
		test_anything(seed);
	for (uint64_t seed = 1; seed <= 2; seed++)
		test_many_digests(seed);
	test_takeover(false);
	test_takeover(true);
	test_half_summed();
	test_far_behind();
	return done_testing();
}
