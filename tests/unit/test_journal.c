/*
 * test_journal.c - the journal of a thread: numbers, texts, and that tables say the same before and
 * after records are summed.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/history.h"
#include "core/rollup.h"
#include "core/summing.h"

#ifdef __SANITIZE_THREAD__
#define FEWER(n, fewer) (fewer) /* one thread: there is nothing to find, slowly */
#else
#define FEWER(n, fewer) (n)
#endif

#define CURRENT "events_statements_current"
#define HISTORY "events_statements_history"
#define LONG "events_statements_history_long"
#define BY_THREAD "events_statements_summary_by_thread_by_event_name"
#define BY_ACCOUNT "events_statements_summary_by_account_by_event_name"
#define BY_USER "events_statements_summary_by_user_by_event_name"
#define BY_HOST "events_statements_summary_by_host_by_event_name"
#define GLOBAL "events_statements_summary_global_by_event_name"
#define DIGESTS "events_statements_summary_by_digest"
#define DIGEST_HISTOGRAM "events_statements_histogram_by_digest"
#define HISTOGRAM "events_statements_histogram_global"

typedef struct Place
{
	PfsArena *arena;
	PfsSession *session;
} Place;

/* NULL: sizes of the fixture. */
static Place
new_place(const PfsSizes *sizes)
{
	PfsArena *arena = fixture_arena(sizes);

	pfs_set_consumer(arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	return (Place){arena, fixture_attach(arena, 0, "ada", "h1")};
}

static void
leave_place(Place p)
{
	fixture_detach(p.session);
	fixture_free(p.arena);
}

/* --- texts that tell whose they are --- */

#define TEXT_ROOM 4096

/* Time goes on with each start and each end. */
static PfsTicks tick = FIXTURE_START;

/* The text of a statement: its number and a tail up to this length. */
static const char *
text_of(uint64_t number, size_t length)
{
	static char text[TEXT_ROOM];
	size_t n = (size_t) snprintf(text, sizeof(text), "%" PRIu64 ":", number);

	for (size_t i = 0; n < length; i++)
		text[n++] = (char) ('a' + (number + i) % 26);
	text[n] = '\0';
	return text;
}

/* Is it the beginning of text_of(number, ...), and as long as it says? */
static bool
is_text_of(const char *text, uint64_t number, size_t length)
{
	return text != NULL && strcmp(text, text_of(number, length)) == 0;
}

static PfsStatement *
open_with(PfsSession *session, const char *text, size_t length)
{
	PfsStatement *statement = pfs_statement_open(session, 0, ++tick);

	pfs_statement_text_set(session, statement, FIXTURE_ROLE, text, length);
	pfs_statement_publish(session, statement);
	session->running = statement;
	return statement;
}

/* A statement with a text of this length; its number is that of its rows. */
static PfsStatement *
open_number(PfsSession *session, uint64_t number, size_t length)
{
	PfsStatement *statement = open_with(session, text_of(number, length), length);

	pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, number);
	return statement;
}

static void
end(PfsSession *session, PfsStatement *statement)
{
	pfs_statement_close(session, statement, ++tick);
}

/* Does this row have the text of its number? */
static bool
has_its_text(const Rows *rows, int row, size_t length)
{
	return is_text_of(row_text(rows, row, "sql_text"), row_number(rows, row, "rows_sent"), length);
}

/* How many rows of a table have the text of their number; others are wrong, unless there is none. */
static uint64_t
right_texts(PfsArena *arena, const char *table, size_t length, uint64_t *wrong)
{
	Rows *rows = rows_of(arena, table);
	uint64_t right = 0;

	for (int i = 0; i < rows->count; i++)
		if (has_its_text(rows, i, length))
			right++;
		else
			*wrong += row_text(rows, i, "sql_text") != NULL;
	rows_free(rows);
	return right;
}

/* --- numbers --- */

static void
test_numbers(void)
{
	Place p = new_place(NULL);
	uint32_t ring = p.arena->journal_ring;
	PfsThread *thread = p.session->thread;
	PfsStatementRecord record;
	uint64_t wrong = 0;

	ok(ring >= 64 && ring > p.arena->sizes.statements_history + PFS_UNSUMMED && (ring & (ring - 1)) == 0,
	   "room for a history and for those that wait to be summed");
	for (uint64_t n = 1; n <= 5 * ring; n++)
	{
		PfsStatement *statement = open_number(p.session, n, 10);

		if (n % 3 == 0)
			pfs_statement_drop(p.session, open_with(p.session, "dropped", 7));
		if (n % 4 == 0)
		{
			/* the nested one ends first, and so it has the lower number */
			PfsStatement *nested = open_number(p.session, n, 10);

			pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, ++n);
			end(p.session, nested);
		}
		end(p.session, statement);
		for (uint64_t i = n - (n % 4 == 1 && n > 1); i <= n; i++)
			wrong += !pfs_journal_read(p.arena, thread, i, &record) || record.level != (i % 4 == 0) ||
				pfs_record_counter(&record, PFS_COUNTER_ROWS_SENT) != i;
		wrong += thread->ended != n || n - thread->summed >= PFS_UNSUMMED;
	}
	is_u64(wrong, 0, "records are numbered without gaps, in the order of ends");
	for (uint64_t n = 0, ended = thread->ended; n <= ended + 2; n++)
		wrong += pfs_journal_read(p.arena, thread, n, &record) != (n <= ended && n + ring > ended + 1);
	is_u64(wrong, 0, "those of the ring can be read, but the one whose place is taken next");
	leave_place(p);
}

/* --- texts --- */

/* Is this text shown, as far as it is kept? */
static bool
is_shown(const char *shown, const char *text, size_t length, size_t limit)
{
	length = pfs_min(length, limit);
	return shown == NULL ? length == 0 : strlen(shown) == length && memcmp(shown, text, length) == 0;
}

/* Texts and messages of all lengths, beginning at all places of the ring. */
static void
test_text_limits(void)
{
	static const size_t lengths[] = {0, 1, 2, 63, 64, 65, 500};
	static const size_t messages[] = {0, 1, 127, 128, 129, 400};
	Place p = new_place(NULL);
	uint32_t ring = p.arena->journal_texts;
	uint64_t wrong = 0;

	for (uint32_t start = 0; start < ring + 10;
		 start += start % ring < ring - 700 ? FEWER(61, 611) : FEWER(1, 23))
		for (size_t i = 0; i < PFS_LENGTH(lengths); i++)
		{
			size_t message = messages[(start + i) % PFS_LENGTH(messages)];
			PfsStatement *statement;
			char text[TEXT_ROOM];
			Rows *rows;

			while (p.session->thread->text_next % ring != start % ring)
				pfs_statement_drop(p.session, open_with(p.session, "f", 1));
			strcpy(text, text_of(start + 100 * i, 1000));
			statement = open_with(p.session, text, lengths[i]);
			pfs_statement_fail(p.session, statement, 3, text + 300, message);
			end(p.session, statement);
			rows = rows_of(p.arena, HISTORY);
			wrong += !is_shown(row_text(rows, rows->count - 1, "sql_text"), text, lengths[i], 64) ||
				!is_shown(row_text(rows, rows->count - 1, "message_text"), text + 300, message,
						  PFS_MESSAGE_LENGTH);
			rows_free(rows);
		}
	is_u64(wrong, 0, "texts and messages of all lengths, wherever they stand");
	leave_place(p);
}

#define NESTED FEWER(10000, 300)

/* The history has its texts, be they as long as can be, wherever in the ring it begins. */
static void
test_longest_texts(uint32_t history, uint32_t stack, uint32_t length)
{
	PfsSizes sizes = fixture_sizes();
	uint64_t wrong = 0;
	uint64_t missing = 0;
	Place p;

	sizes.statements_history = history;
	sizes.statement_stack = stack;
	sizes.sql_text_length = length;
	p = new_place(&sizes);
	for (uint64_t n = 1; n <= FEWER(400, 50); n++)
	{
		PfsStatement *statement = open_number(p.session, n, length);
		char message[PFS_MESSAGE_LENGTH];

		memset(message, 'm', sizeof(message));
		pfs_statement_fail(p.session, statement, 1, message, sizeof(message));
		end(p.session, statement);
		missing += pfs_min(n, (uint64_t) history) - right_texts(p.arena, HISTORY, length, &wrong);
		missing += right_texts(p.arena, LONG, length, &wrong) < pfs_min(n, (uint64_t) 4);
	}
	is_u64(wrong, 0, "no text is another statement's");
	ok(missing == 0, "a history of %u, %u deep, of texts of %u bytes has them all", history, stack, length);
	leave_place(p);
}

/*
 * The texts of statements that run long are there while they run, and when they have ended.  ends: the innermost
 * of them ends again and again.
 */
static void
test_outer_texts(uint32_t depth, size_t outer_length, bool ends)
{
	PfsSizes sizes = fixture_sizes();
	uint64_t random = depth * 7919 + outer_length + 1;
	PfsStatement *outer[8];
	uint64_t wrong = 0;
	uint64_t missing = 0;
	Place p;
	Rows *rows;

	sizes.sql_text_length = 300;
	sizes.statement_stack = 6;
	p = new_place(&sizes);
	for (uint32_t i = 0; i < depth; i++)
		outer[i] = open_number(p.session, i, outer_length);
	for (uint64_t n = 1; n <= NESTED; n++)
	{
		end(p.session, open_number(p.session, n, 20 + next_random(&random) % (n % 1000 < 100 ? 281 : 30)));
		if (ends && n % 10 == 0)
		{
			end(p.session, outer[depth - 1]);
			rows = rows_of(p.arena, n % 20 == 0 ? HISTORY : LONG);
			missing += !has_its_text(rows, rows->count - 1, outer_length);
			rows_free(rows);
			outer[depth - 1] = open_number(p.session, depth - 1, outer_length);
		}
		if (n % 97 == 0 || n > NESTED - 100)
			missing += depth - right_texts(p.arena, CURRENT, outer_length, &wrong);
	}
	is_u64(missing + wrong, 0, "texts of statements that run long, beside thousands of others");
	while (depth-- > 0)
		end(p.session, outer[depth]);
	for (int n = 0; n < 4; n++)
	{
		rows = rows_of(p.arena, HISTORY);
		missing += !has_its_text(rows, rows->count - 1 - n, outer_length);
		rows_free(rows);
		end(p.session, open_number(p.session, 77, 300));
	}
	is_u64(missing, 0, "they are there when they have ended");
	rows = rows_of(p.arena, LONG);
	missing += !has_its_text(rows, rows->count - 1 - 4, outer_length);
	rows_free(rows);
	is_u64(missing, 0, "and in the long history");
	leave_place(p);
}

/* Statements that have the text of another open one: while both run, and in the history. */
static void
test_shared_texts(size_t length)
{
	PfsSizes sizes = fixture_sizes();
	uint64_t random = length;
	PfsStatement *shared[3];
	PfsStatement *brief;
	uint64_t wrong = 0;
	uint64_t missing = 0;
	Rows *rows;
	Place p;

	sizes.sql_text_length = 300;
	sizes.statement_stack = 6;
	p = new_place(&sizes);
	shared[0] = open_number(p.session, 5, length);
	for (int i = 1; i < 3; i++)
	{
		shared[i] = open_number(p.session, 5, 0);
		pfs_statement_text_share(shared[i], shared[i - 1]);
	}
	for (uint64_t n = 1; n <= NESTED; n++)
	{
		size_t own = 20 + next_random(&random) % 281;

		brief = open_number(p.session, 5, 0);
		pfs_statement_text_share(brief, shared[n % 3]);
		end(p.session, brief);
		end(p.session, open_number(p.session, n + 5, own));
		rows = rows_of(p.arena, HISTORY);
		for (int i = 0; i < rows->count; i++)
			missing += row_number(rows, i, "rows_sent") == 5 && !has_its_text(rows, i, length);
		rows_free(rows);
		if (n % 40 == 0 || n > NESTED - 100)
			missing += 3 - right_texts(p.arena, CURRENT, length, &wrong);
	}
	is_u64(missing + wrong, 0, "a text that several open statements have, and some that have ended");
	leave_place(p);
}

/* Positions of texts wrap. */
static void
test_position_wraps(uint64_t start)
{
	Place p = new_place(NULL);
	uint64_t wrong = 0;
	uint64_t missing = 0;
	PfsStatement *outer;

	pfs_store(&p.session->thread->text_next, start);
	outer = open_number(p.session, 7, 60);
	for (uint64_t n = 1; n <= FEWER(1000, 100); n++)
	{
		end(p.session, open_number(p.session, n, 60));
		missing += pfs_min(n, (uint64_t) 5) - right_texts(p.arena, HISTORY, 60, &wrong);
		missing += 1 - right_texts(p.arena, CURRENT, 60, &wrong);
	}
	end(p.session, outer);
	missing += 5 - right_texts(p.arena, HISTORY, 60, &wrong);
	is_u64(missing + wrong, 0, "the counter of texts may wrap");
	leave_place(p);
}

/* --- the history --- */

#define RECORDS FEWER(4000, 300)

/* What the history must be, by the numbers of records. */
typedef struct Model
{
	uint64_t event_id[RECORDS + 64]; /* 0 = no row */
	uint64_t number[RECORDS + 64];
} Model;

/* The statement has ended: if it has a record, it is this row's. */
static void
remember(Model *model, PfsSession *session, uint64_t ended, bool shown, uint64_t event_id, uint64_t number)
{
	if (session->thread->ended > ended)
	{
		model->event_id[session->thread->ended] = shown ? event_id : 0;
		model->number[session->thread->ended] = number;
	}
}

/* The last rows among the records of the ring, each with its text. */
static uint64_t
differences(const Model *model, const Place *p)
{
	Rows *rows = rows_of(p->arena, HISTORY);
	uint64_t ended = p->session->thread->ended;
	int row = rows->count;
	uint64_t wrong = 0;

	for (uint64_t n = ended, found = 0; n > 0 && n + p->arena->journal_ring > ended + 1 &&
		 found < p->arena->sizes.statements_history; n--)
		if (model->event_id[n] != 0)
		{
			found++;
			row--;
			wrong += row < 0 || row_number(rows, row, "event_id") != model->event_id[n] ||
				row_number(rows, row, "rows_sent") != model->number[n] || !has_its_text(rows, row, 20);
		}
	wrong += row != 0;
	rows_free(rows);
	return wrong;
}

typedef struct Open
{
	PfsStatement *statement;
	uint64_t number;
} Open;

static void
close_one(Model *model, Place *p, Open *open, int *depth, int which, bool history)
{
	uint64_t ended = p->session->thread->ended;
	uint64_t event_id = open[which].statement->recorded ? open[which].statement->record->event_id : 0;

	end(p->session, open[which].statement);
	remember(model, p->session, ended, history, event_id, open[which].number);
	memmove(&open[which], &open[which + 1], sizeof(Open) * (size_t) (*depth - which - 1));
	--*depth;
	p->session->running = *depth > 0 ? open[*depth - 1].statement : NULL;
}

/* Anything may happen to statements: the history has the last ones that are to be shown. */
static void
test_history(uint64_t seed)
{
	static Model model;
	Place p = new_place(NULL);
	uint64_t random = seed * 7919;
	Open open[12];
	int depth = 0;
	bool history = true;
	uint64_t wrong = 0;

	memset(&model, 0, sizeof(model));
	for (uint64_t n = 1; p.session->thread->ended < RECORDS; n++)
	{
		uint64_t dice = next_random(&random) % 100;

		if (dice < 50 && depth < 12)
		{
			open[depth] = (Open){open_number(p.session, n, 20), n};
			if (dice < 5)
				pfs_statement_unlist(open[depth].statement);
			depth++;
		}
		else if (dice < 90 && depth > 0)
			close_one(&model, &p, open, &depth, depth - 1, history);
		else if (dice < 95 && depth > 0)
			close_one(&model, &p, open, &depth, (int) (next_random(&random) % (uint64_t) depth), history);
		else if (dice < 98 && depth > 0)
		{
			pfs_statement_drop(p.session, open[--depth].statement);
			p.session->running = depth > 0 ? open[depth - 1].statement : NULL;
		}
		else if (dice >= 98 && (history || next_random(&random) % 4 == 0))
		{
			history = !history;
			if (next_random(&random) % 2 == 0)
				pfs_thread_keep_history(p.arena, p.session->thread, history);
			else
			{
				pfs_thread_keep_history(p.arena, p.session->thread, true);
				pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_HISTORY, history);
			}
			if (history)
			{
				pfs_thread_keep_history(p.arena, p.session->thread, true);
				pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_HISTORY, true);
			}
		}
		wrong += differences(&model, &p);
	}
	ok(wrong == 0, "the history has the last ones that are to be shown, seed %" PRIu64, seed);
	leave_place(p);
}

/* What makes no row pushes nothing out of the history, be it ever so much. */
static void
test_without_row(bool deep)
{
	Place p = new_place(NULL);
	uint32_t stack = p.arena->sizes.statement_stack;
	PfsStatement *outer[8];
	uint64_t wrong = 0;

	for (uint64_t n = 1; n <= 10; n++)
		end(p.session, open_number(p.session, n, 20));
	for (uint32_t i = 0; i < stack; i++)
		outer[i] = open_number(p.session, 50 + i, 20);
	for (uint64_t n = 1; n <= 300; n++)
	{
		PfsStatement *statement;

		if (!deep)
			pfs_statement_unlist(outer[stack - 1]);
		statement = open_number(p.session, n, 20);
		if (!deep)
			pfs_statement_unlist(statement);
		end(p.session, statement);
	}
	is_u64(table_count(p.arena, HISTORY), 5, "the last ones with a row are in the history");
	(void) right_texts(p.arena, HISTORY, 20, &wrong);
	is_u64(wrong, 0, "their texts may be gone");
	is_u64(table_sum(p.arena, HISTORY, "rows_sent"), 6 + 7 + 8 + 9 + 10, "those");
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 310, "all are counted");
	is_u64(table_sum(p.arena, HISTOGRAM, "count_bucket"), 310, "with their times");
	while (stack-- > 0)
		end(p.session, outer[stack]);
	is_u64(p.session->thread->summed <= p.session->thread->ended, true, "more than ended are never summed");
	is_u64(table_sum(p.arena, BY_ACCOUNT, "count_star"), 314, "all");
	leave_place(p);
}

int
main(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		test_history(seed);
	test_without_row(false);
	test_without_row(true);
	for (size_t length = 50; length <= 300; length += 125)
		test_shared_texts(length);
	for (uint64_t back = 0; back < 5000; back += FEWER(499, 1499))
		test_position_wraps((UINT64_C(1) << 32) - back);
	test_numbers();
	test_text_limits();
	test_longest_texts(0, 1, 64);
	test_longest_texts(1, 1, 64);
	test_longest_texts(5, 4, 64);
	test_longest_texts(10, 10, 1024);
	test_longest_texts(10, 1, 1500);
	test_longest_texts(3, 2, 100);
	for (uint32_t depth = 1; depth <= 5; depth += 2)
		for (size_t length = 50; length <= 300; length += 125)
		{
			test_outer_texts(depth, length, false);
			test_outer_texts(depth, length, true);
		}
	return done_testing();
}
