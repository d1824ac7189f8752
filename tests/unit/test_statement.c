/*
 * test_statement.c - statement events from open to the summaries.
 */
#include "arena_fixture.h"
#include "tap.h"

#define CURRENT "events_statements_current"
#define HISTORY "events_statements_history"
#define BY_THREAD "events_statements_summary_by_thread_by_event_name"
#define GLOBAL "events_statements_summary_global_by_event_name"
#define DIGESTS "events_statements_summary_by_digest"
#define HISTOGRAM "events_statements_histogram_global"

typedef struct Place
{
	PfsArena *arena;
	PfsSession *session;
} Place;

static Place
new_place(void)
{
	PfsArena *arena = fixture_arena(NULL);

	return (Place){arena, fixture_attach(arena, 0, "ada", "h1")};
}

static void
leave_place(Place place)
{
	fixture_detach(place.session);
	fixture_free(place.arena);
}

/* What the host does when a statement begins to run: it becomes the parent of what follows. */
static PfsStatement *
enter(PfsSession *session, uint32_t class, const char *text)
{
	PfsStatement *statement = fixture_open(session, class, 0, text);

	if (statement != NULL)
		session->running = statement;
	return statement;
}

static void
test_life(void)
{
	Place p = new_place();
	PfsStatement *statement = pfs_statement_open(p.session, 1, 500);
	Rows *rows;

	is_u64(table_count(p.arena, CURRENT), 0, "nothing is shown before it is published");
	statement->record->query_id = 77;
	statement->record->digest = fixture_digest(p.session, 77);
	statement->record->digest_generation = p.arena->digest_generation;
	statement->record->query_id = 77;
	pfs_statement_text_set(p.session, statement, FIXTURE_ROLE, "select 1", 8);
	pfs_statement_publish(p.session, statement);
	rows = rows_of(p.arena, CURRENT);
	is_str(row_text(rows, 0, "sql_text"), "select 1", "the text of a running statement");
	is_str(row_text(rows, 0, "digest_text"), "query 77", "its normalised text");
	is_str(row_text(rows, 0, "event_name"), "statement/sql/class_1", "its instrument");
	ok(row_text(rows, 0, "end_event_id") == NULL, "it has not ended");
	ok(row_number(rows, 0, "timer_wait") > 0, "and takes time");
	is_u64(table_count(p.arena, HISTORY), 0, "it is not history yet");
	rows_free(rows);
	pfs_statement_set(statement, PFS_COUNTER_ROWS_SENT, 4);
	pfs_statement_count(statement, PFS_COUNTER_ROWS_SENT, 3);
	for (PfsCounter counter = PFS_COUNTERS_KEPT; (int) counter < PFS_COUNTERS; counter++)
		pfs_statement_set(statement, counter, 7);
	pfs_statement_fail(p.session, statement, 3, "went wrong", 10);
	pfs_statement_close(p.session, statement, 800);
	for (int i = 0; i < 2; i++)
	{
		rows = rows_of(p.arena, i == 0 ? CURRENT : HISTORY);
		is_u64((uint64_t) rows->count, 1, "the last statement is shown");
		is_u64(row_number(rows, 0, "timer_start"), 500, "start");
		is_u64(row_number(rows, 0, "timer_wait"), 300, "time");
		is_u64(row_number(rows, 0, "rows_sent"), 7, "a counter");
		is_u64(row_number(rows, 0, "rows_affected"), 0, "a counter not used");
		is_u64(row_number(rows, 0, "no_good_index_used"), 0, "a counter that is not kept");
		is_u64(row_number(rows, 0, "errors"), 1, "the outcome");
		is_u64(row_number(rows, 0, "end_event_id"), 1, "last event inside");
		is_u64(row_number(rows, 0, "returned_sqlstate"), 3, "SQLSTATE");
		is_str(row_text(rows, 0, "message_text"), "went wrong", "message");
		is_str(row_text(rows, 0, "sql_text"), "select 1", "text");
		is_u64(row_number(rows, 0, "queryid"), 77, "query id");
		is_u64(row_number(rows, 0, "statement_id"), 1, "statement id");
		rows_free(rows);
	}
	is_u64(table_sum(p.arena, BY_THREAD, "sum_rows_sent"), 7, "summary");
	is_u64(table_sum(p.arena, DIGESTS, "sum_rows_sent"), 7, "digest");
	is_u64(table_sum(p.arena, HISTOGRAM, "count_bucket"), 1, "histogram");
	ok(p.session->newest == NULL, "no statement is open");
	leave_place(p);
}

/* Of the last event inside the lower half is kept. */
static void
test_many_events(void)
{
	Place p = new_place();
	PfsStatement *s[2];
	Rows *rows;

	p.session->thread->event_id = UINT32_MAX - 1;
	s[0] = enter(p.session, 0, "call");
	s[1] = enter(p.session, 1, "inner");
	pfs_statement_close(p.session, s[1], 2000);
	pfs_statement_close(p.session, s[0], 2000);
	rows = rows_of(p.arena, HISTORY);
	is_u64(row_number(rows, rows_find(rows, "sql_text", "call"), "event_id"), UINT32_MAX, "a number of 32 bits");
	is_u64(row_number(rows, rows_find(rows, "sql_text", "call"), "end_event_id"), UINT64_C(1) << 32,
		   "the last one inside has more");
	is_u64(row_number(rows, rows_find(rows, "sql_text", "inner"), "end_event_id"), UINT64_C(1) << 32, "so has its own");
	rows_free(rows);
	leave_place(p);
}

static void
check_nesting(const Rows *rows, const char *text, uint64_t id, const char *type, uint64_t level)
{
	int row = rows_find(rows, "sql_text", text);

	ok(row >= 0 && row_number(rows, row, "nesting_event_id") == id, "%s: inside event %" PRIu64,
	   text, id);
	is_str(row_text(rows, row, "nesting_event_type"), type, "of this type");
	is_u64(row_number(rows, row, "nesting_event_level"), level, "at this level");
}

static void
test_nesting(void)
{
	Place p = new_place();
	PfsStatement *s[4];
	Rows *rows;

	s[0] = enter(p.session, 0, "call");             /* event 1 */
	pfs_transaction_open(p.session, FIXTURE_START); /* event 2, inside 1 */
	s[1] = enter(p.session, 1, "inner");            /* event 3, inside the younger 2 */
	s[2] = enter(p.session, 2, "innermost");        /* event 4, inside 3: younger than 2 */
	rows = rows_of(p.arena, CURRENT);
	is_u64((uint64_t) rows->count, 3, "three at once");
	check_nesting(rows, "call", 0, NULL, 0);
	check_nesting(rows, "inner", 2, "TRANSACTION", 1);
	check_nesting(rows, "innermost", 3, "STATEMENT", 2);
	rows_free(rows);
	is_u64(
		table_number(p.arena, "events_transactions_current", "event_id", "2", "nesting_event_id"),
		1, "a transaction inside a statement");
	pfs_statement_close(p.session, s[2], 2000);
	ok(p.session->running == s[1], "the caller runs again");
	pfs_statement_close(p.session, s[1], 2000);
	rows = rows_of(p.arena, CURRENT);
	is_u64((uint64_t) rows->count, 1, "nested statements leave the table when they end");
	rows_free(rows);
	pfs_statement_close(p.session, s[0], 2000);
	rows = rows_of(p.arena, HISTORY);
	is_u64(row_number(rows, rows_find(rows, "sql_text", "call"), "end_event_id"), 4,
		   "events 1 to 4 were inside");
	rows_free(rows);
	s[0] = fixture_open(p.session, 0, 0, "later");
	rows = rows_of(p.arena, CURRENT);
	check_nesting(rows, "later", 2, "TRANSACTION", 0);
	rows_free(rows);
	pfs_statement_close(p.session, s[0], 2000);
	pfs_transaction_close(p.session, PFS_TRANSACTION_COMMITTED, 2000);
	s[0] = fixture_open(p.session, 0, 0, "alone");
	rows = rows_of(p.arena, CURRENT);
	check_nesting(rows, "alone", 0, NULL, 0);
	rows_free(rows);
	pfs_statement_close(p.session, s[0], 2000);
	leave_place(p);
}

/* A cursor outlives the statement that opened it. */
static void
test_orphans(void)
{
	Place p = new_place();
	PfsStatement *top = enter(p.session, 0, "top");
	PfsStatement *middle = enter(p.session, 0, "middle");
	PfsStatement *cursor = enter(p.session, 0, "cursor");
	PfsStatement *next;

	p.session->running = middle;
	pfs_statement_close(p.session, middle, 2000);
	ok(cursor->parent == top, "its parent is the next one up");
	pfs_statement_close(p.session, top, 2000);
	ok(cursor->parent == NULL && p.session->running == NULL, "and then none");
	next = fixture_open(p.session, 0, 0, "next");
	is_u64(table_count(p.arena, CURRENT), 2, "cursor and the next statement are both current");
	pfs_statement_close(p.session, cursor, 2000);
	pfs_statement_close(p.session, next, 2000);
	ok(p.session->newest == NULL, "all closed");
	is_u64(table_count(p.arena, HISTORY), 4, "all in history");
	leave_place(p);
}

static void
test_deep_stack(void)
{
	Place p = new_place();
	PfsStatement *s[10];
	uint32_t stack = p.arena->sizes.statement_stack;

	for (uint32_t i = 0; i < 10; i++)
		s[i] = enter(p.session, 0, "deep");
	is_u64(loss_of(p.arena, PFS_LOSS_NESTED), 0, "none has ended yet");
	is_u64(s[9]->record->level, 9, "levels go on");
	is_u64(table_count(p.arena, CURRENT), stack, "as many rows as the stack is deep");
	for (int i = 9; i >= 0; i--)
		pfs_statement_close(p.session, s[i], FIXTURE_START + 10);
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 10, "all of them are summarised");
	is_u64(table_sum(p.arena, BY_THREAD, "sum_timer_wait"), 100, "with their times");
	is_u64(table_count(p.arena, HISTORY), stack, "those with a row are in history");
	fixture_statement(p.session, 0, 0, 5, "after");
	is_u64(table_number(p.arena, CURRENT, "sql_text", "after", "timer_wait"), 5,
		   "all is free again");
	is_u64(loss_of(p.arena, PFS_LOSS_NESTED), 10 - stack, "too deep is counted");
	leave_place(p);
}

static void
test_many_open(void)
{
	Place p = new_place();
	PfsStatement *s[PFS_OPEN_STATEMENTS];
	int opened = 0;

	for (int i = 0; i < PFS_OPEN_STATEMENTS; i++)
	{
		s[i] = pfs_statement_open(p.session, 0, FIXTURE_START);
		opened += s[i] != NULL;
	}
	is_u64((uint64_t) opened, PFS_OPEN_STATEMENTS, "as many as can be followed");
	ok(pfs_statement_open(p.session, 0, FIXTURE_START) == NULL, "and no more");
	is_u64(loss_of(p.arena, PFS_LOSS_FRAMES), 1, "which is counted");
	pfs_statement_close(p.session, s[300], FIXTURE_START + 1);
	ok(pfs_statement_open(p.session, 0, FIXTURE_START) == s[300], "a closed one's place is found");
	for (int i = 0; i < PFS_OPEN_STATEMENTS; i++)
		pfs_statement_close(p.session, s[i], FIXTURE_START + 1);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), PFS_OPEN_STATEMENTS + 1, "all counted");
	leave_place(p);
}

static void
test_switches(void)
{
	Place p = new_place();
	PfsInstrument *instrument = pfs_instrument(p.arena, 1);
	PfsStatement *statement;

	pfs_set_instrument(p.arena, instrument, 0, -1);
	ok(pfs_statement_open(p.session, 1, FIXTURE_START) == NULL, "an instrument that is off");
	pfs_statement_tally(p.session, 1, 5);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 0, "adds 0");
	pfs_set_instrument(p.arena, instrument, 1, 0);
	fixture_statement(p.session, 1, 8, 50, NULL);
	pfs_statement_tally(p.session, 1, 5);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 2, "untimed: counted");
	is_u64(table_sum(p.arena, GLOBAL, "sum_timer_wait"), 0, "without time");
	is_u64(table_sum(p.arena, HISTOGRAM, "count_bucket"), 0, "and not in the histogram");
	is_u64(table_sum(p.arena, DIGESTS, "count_star"), 1, "the digest counts it");
	is_u64(table_sum(p.arena, "events_statements_histogram_by_digest", "count_bucket"), 0,
		   "but not in its histogram");
	is_u64(table_sum(p.arena, HISTORY, "timer_start"), 0, "its times are NULL");
	pfs_set_instrument(p.arena, instrument, 1, 1);
	statement = fixture_open(p.session, 1, 0, "instant");
	pfs_statement_close(p.session, statement, FIXTURE_START);
	is_u64(table_sum(p.arena, GLOBAL, "sum_timer_wait"), 1,
		   "a timed event that ends within its tick takes one");

	statement = fixture_open(p.session, 1, 0, "refined");
	ok(pfs_statement_refine(p.session, statement, 2), "the class can become known later");
	pfs_statement_close(p.session, statement, FIXTURE_START + 9);
	is_u64(table_number(p.arena, GLOBAL, "event_name", "statement/sql/class_2", "count_star"), 1,
		   "and counts there");
	pfs_set_instrument(p.arena, pfs_instrument(p.arena, 3), 0, -1);
	statement = fixture_open(p.session, 1, 0, "refined to nothing");
	ok(!pfs_statement_refine(p.session, statement, 3), "to a class that is off");
	ok(p.session->newest == NULL, "which drops the statement");
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 4, "uncounted");
	leave_place(p);
}

static void
test_pause(void)
{
	Place p = new_place();
	PfsStatement *cursor = fixture_open(p.session, 0, 0, "cursor");

	pfs_statement_pause(cursor, FIXTURE_START + 10);
	pfs_statement_pause(cursor, FIXTURE_START + 15);
	pfs_statement_resume(cursor, FIXTURE_START + 100);
	pfs_statement_resume(cursor, FIXTURE_START + 105);
	pfs_statement_pause(cursor, FIXTURE_START + 120);
	pfs_statement_close(p.session, cursor, 0);
	is_u64(table_sum(p.arena, HISTORY, "timer_wait"), 30, "only the time on stage");
	is_u64(table_sum(p.arena, HISTORY, "timer_end"), FIXTURE_START + 120,
		   "the end is that of the last pause");
	cursor = fixture_open(p.session, 0, 0, "backwards");
	pfs_statement_close(p.session, cursor, FIXTURE_START - 500);
	is_u64(table_sum(p.arena, HISTORY, "timer_wait"), 31, "time does not run backwards");
	leave_place(p);
}

static void
test_drop(void)
{
	Place p = new_place();
	PfsStatement *statement;

	fixture_statement(p.session, 0, 0, 5, "kept");
	statement = fixture_open(p.session, 0, 0, "dropped");
	pfs_statement_drop(p.session, statement);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 1, "a dropped statement is not counted");
	is_u64(table_number(p.arena, HISTORY, "sql_text", "dropped", "event_id"), 0, "nor kept");
	is_u64(table_number(p.arena, CURRENT, "sql_text", "dropped", "event_id"), 0, "nor shown");
	ok(p.session->newest == NULL, "its place is free");
	fixture_statement(p.session, 0, 0, 5, "next");
	is_u64(table_number(p.arena, HISTORY, "sql_text", "next", "event_id"), 3,
		   "its number is not given again");
	leave_place(p);
}

/* UPDATE threads SET history = ... */
static void
update_history(Place p, const char *value)
{
	const PfsTable *table = pfs_table_by_name("threads");
	Rows *rows = rows_of(p.arena, "threads");
	const char *old[32];
	const char *new[32] = {NULL};
	int column;

	for (int i = 0; i < rows->columns; i++)
		old[i] = rows->cell[i];
	new[rows_column(rows, "history")] = value;
	is_u64(table->update(p.arena, old, new, &column), PFS_EDIT_OK, "UPDATE threads");
	rows_free(rows);
}

static void
test_consumers(void)
{
	Place p = new_place();

	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_HISTORY, false);
	fixture_statement(p.session, 0, 1, 5, "a");
	is_u64(table_count(p.arena, HISTORY), 0, "no history wanted");
	is_u64(table_count(p.arena, CURRENT), 1, "current still is");
	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_HISTORY, true);
	update_history(p, "NO");
	fixture_statement(p.session, 0, 1, 5, "a");
	is_u64(table_count(p.arena, HISTORY), 0, "nor of this thread");
	update_history(p, "YES");
	fixture_statement(p.session, 0, 1, 5, "a");
	is_u64(table_count(p.arena, HISTORY), 1, "but now");
	update_history(p, "NO");
	fixture_statement(p.session, 0, 1, 5, "a");
	is_u64(table_count(p.arena, HISTORY), 1, "and no more");
	update_history(p, "YES");
	table_truncate(p.arena, HISTORY);
	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_CURRENT, false);
	fixture_statement(p.session, 0, 1, 5, "b");
	is_u64(table_number(p.arena, CURRENT, "sql_text", "b", "event_id"), 0, "no current");
	is_u64(table_count(p.arena, HISTORY), 0, "and so no history");
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 5, "summaries go on");
	pfs_set_consumer(p.arena, PFS_CONSUMER_DIGEST, false);
	fixture_statement(p.session, 0, 1, 5, "c");
	is_u64(table_sum(p.arena, DIGESTS, "count_star"), 5, "no digest");
	pfs_set_consumer(p.arena, PFS_CONSUMER_DIGEST, true);
	pfs_set_consumer(p.arena, PFS_CONSUMER_THREAD, false);
	fixture_statement(p.session, 0, 1, 5, "d");
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 6, "thread instrumentation off");
	is_u64(table_sum(p.arena, "events_statements_summary_by_user_by_event_name", "count_star"), 6,
		   "no user either");
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 7, "only the global sum");
	is_u64(table_sum(p.arena, DIGESTS, "count_star"), 6, "and the digest");
	pfs_set_consumer(p.arena, PFS_CONSUMER_THREAD, true);
	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_CPU, true);
	{
		PfsStatement *statement = fixture_open(p.session, 3, 0, "busy");

		while (pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID) == statement->cpu_since)
			;
		pfs_statement_close(p.session, statement, FIXTURE_START + 5);
	}
	ok(table_sum(p.arena, GLOBAL, "sum_cpu_time") > 0, "processor time where it is wanted");
	leave_place(p);
}

static void
use_cpu(uint64_t since)
{
	while (pfs_clock_ns(CLOCK_THREAD_CPUTIME_ID) <= since)
		;
}

/* The end of a top-level statement is the start of the next, unless another one is open. */
static void
test_cpu(void)
{
	Place p = new_place();
	PfsStatement *statement;
	PfsStatement *nested;
	uint64_t last;

	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_CPU, true);
	statement = fixture_open(p.session, 3, 0, "first");
	use_cpu(statement->cpu_since);
	pfs_statement_close(p.session, statement, FIXTURE_START + UINT64_C(1000000000));
	last = p.session->last_cpu;
	ok(last > 0, "the end has been read");
	use_cpu(last + 1000);
	statement = fixture_open(p.session, 3, 0, "second");
	is_u64(statement->cpu_since, last, "it is the start of the next one");
	p.session->running = statement;
	nested = fixture_open(p.session, 3, 0, "nested");
	ok(nested->cpu_since > last + 1000, "not of one that is nested");
	p.session->running = NULL;
	pfs_statement_close(p.session, nested, FIXTURE_START + 2);
	pfs_statement_close(p.session, statement, FIXTURE_START + 3);
	is_u64(table_number(p.arena, HISTORY, "sql_text", "second", "cpu_time"), 3,
		   "processor time is not more than it took");
	statement = fixture_open(p.session, 3, 0, "cursor");
	nested = fixture_open(p.session, 3, 0, "beside it");
	ok(nested->cpu_since > statement->cpu_since, "nor of one while another is open");
	pfs_statement_pause(statement, FIXTURE_START + 4);
	pfs_statement_close(p.session, nested, FIXTURE_START + 5);
	pfs_statement_close(p.session, statement, FIXTURE_START + 6);
	is_u64(p.session->last_cpu, 0, "nor after one that rested: it is read again");
	statement = fixture_open(p.session, 3, 0, "complete");
	last = statement->cpu_since;
	pfs_statement_complete(statement, FIXTURE_START + 7);
	pfs_statement_rested(statement, FIXTURE_START + 8);
	pfs_statement_was_complete(statement);
	is_u64(statement->cpu_since, last, "one that waits for its commit is looked at once, when it has ended");
	use_cpu(last + 1000);
	pfs_statement_close(p.session, statement, 0);
	ok(p.session->last_cpu > last + 1000, "it is then");
	leave_place(p);
}

/* With no history the last statement's slot is the next one's too. */
static void
test_unpublished(bool history)
{
	Place p = new_place();
	PfsStatement *statement;
	Rows *rows;

	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_HISTORY, history);
	fixture_statement(p.session, 0, 0, 5, "first");
	statement = pfs_statement_open(p.session, 1, FIXTURE_START);
	pfs_statement_text_set(p.session, statement, FIXTURE_ROLE, "second", 6);
	rows = rows_of(p.arena, CURRENT);
	ok(rows->count == 0 || (strcmp(row_text(rows, 0, "sql_text"), "first") == 0 &&
							row_number(rows, 0, "event_id") == 1),
	   "a statement that is not published is not mixed with the one before");
	rows_free(rows);
	pfs_statement_publish(p.session, statement);
	is_u64(table_number(p.arena, CURRENT, "sql_text", "second", "event_id"), 2, "published");
	pfs_statement_close(p.session, statement, FIXTURE_START + 1);
	leave_place(p);
}

static void
test_long_texts(void)
{
	Place p = new_place();
	char text[500];
	PfsStatement *statement = pfs_statement_open(p.session, 0, FIXTURE_START);
	Rows *rows;

	memset(text, 'x', sizeof(text));
	pfs_statement_text_set(p.session, statement, FIXTURE_ROLE, text, sizeof(text));
	pfs_statement_fail(p.session, statement, 3, text, sizeof(text));
	pfs_statement_publish(p.session, statement);
	pfs_statement_close(p.session, statement, FIXTURE_START + 1);
	rows = rows_of(p.arena, HISTORY);
	is_u64(strlen(row_text(rows, 0, "sql_text")), p.arena->sizes.sql_text_length, "text is cut");
	is_u64(strlen(row_text(rows, 0, "message_text")), PFS_MESSAGE_LENGTH, "message is cut");
	rows_free(rows);
	statement = fixture_open(p.session, 0, 0, "");
	rows = rows_of(p.arena, CURRENT);
	ok(row_text(rows, 0, "sql_text") == NULL, "an empty text is none");
	rows_free(rows);
	pfs_statement_close(p.session, statement, FIXTURE_START + 1);
	leave_place(p);
}

/*
 * While the session records something else, what enters no sequence goes on: statements. The rest is
 * counted as lost, and breaks nothing.
 */
static void
test_busy(void)
{
	Place p = new_place();
	PfsStatement *statement = pfs_statement_open(p.session, 0, FIXTURE_START);
	uint32_t seq = p.session->thread->seq;

	p.session->busy = true;
	pfs_statement_publish(p.session, statement);
	pfs_statement_tally(p.session, 0, 5);
	pfs_error_count(p.session, 0, PFS_ERROR_RAISED, 5);
	pfs_statement_close(p.session, statement, FIXTURE_START + 1);
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 2, "a tally and an error are lost");
	pfs_transaction_open(p.session, FIXTURE_START);
	pfs_transaction_close(p.session, PFS_TRANSACTION_COMMITTED, FIXTURE_START);
	is_u64(p.session->thread->seq, seq, "nothing was written");
	ok(loss_of(p.arena, PFS_LOSS_LOCKER) > 2, "a transaction is lost too");
	p.session->busy = false;
	ok(p.session->newest == NULL, "the statement is closed all the same");
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 1, "and counts");
	fixture_statement(p.session, 0, 0, 5, "after");
	fixture_transaction(p.session, false, 5);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 2, "recording goes on");
	is_u64(table_count(p.arena, "events_transactions_history"), 1, "with the next transaction");
	leave_place(p);
}

/* Answers count at once, where the switches say, and are moved to cells in between. */
static void
test_answers(void)
{
	Place p = new_place();
	Rows *rows;

	for (uint32_t i = 0; i < PFS_ANSWERS; i++)
	{
		p.arena->answer_class[i] = i;
		pfs_set_instrument(p.arena, pfs_instrument(p.arena, i), 1, 0);
	}
	ok(fixture_answer(p.session, 1) && fixture_answer(p.session, 1) && fixture_answer(p.session, 2), "answered");
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 3, "all count before there is a cell");
	fixture_statement(p.session, 1, 0, 5, "of the same class");
	pfs_statement_sum(p.session);
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 4, "as many when they are in the cells");
	fixture_answer(p.session, 1);
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 5, "and with one on top");
	table_truncate(p.arena, BY_THREAD);
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 0, "TRUNCATE takes both");
	fixture_answer(p.session, 1);
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 1, "and later ones count");
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 6, "the others above the thread");
	pfs_set_instrument(p.arena, pfs_instrument(p.arena, 1), 0, -1);
	fixture_answer(p.session, 1);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 6, "not while the instrument is off");
	pfs_set_instrument(p.arena, pfs_instrument(p.arena, 1), 1, 1);
	ok(!fixture_answer(p.session, 1), "one that is timed is the caller's");
	pfs_answer_timed(p.session, 1, 70);
	pfs_answer_timed(p.session, 1, 30);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 8, "and counts at once");
	is_u64(table_sum(p.arena, BY_THREAD, "sum_timer_wait"), 100, "with its time");
	pfs_statement_sum(p.session);
	pfs_answer_timed(p.session, 1, 10);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 9, "as many when they are in the cells");
	rows = rows_of(p.arena, BY_THREAD);
	is_u64(rows_sum(rows, "max_timer_wait"), 70, "the longest");
	is_u64(rows_sum(rows, "min_timer_wait"), 10, "and the shortest of all");
	rows_free(rows);
	pfs_thread_instrument(p.arena, p.session->thread, false);
	ok(fixture_answer(p.session, 2), "not when the thread is not observed");
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 9, "nothing has been added");
	pfs_thread_instrument(p.arena, p.session->thread, true);
	pfs_set_consumer(p.arena, PFS_CONSUMER_THREAD, false);
	fixture_answer(p.session, 2);
	is_u64(table_sum(p.arena, BY_THREAD, "count_star"), 4, "of no thread without that consumer");
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 10, "but globally");
	pfs_statement_sum(p.session);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 10, "also in the cells");
	leave_place(p);
}

/* A nested statement without text: summed up, but in no row, and what it calls is nested further up. */
static void
test_unlisted(void)
{
	Place p = new_place();
	PfsStatement *outer = enter(p.session, 0, "outer");
	PfsStatement *unlisted = pfs_statement_open(p.session, 1, 10);
	PfsStatement *below;
	Rows *rows;

	pfs_statement_unlist(unlisted);
	pfs_statement_publish(p.session, unlisted);
	p.session->running = unlisted;
	is_u64(table_count(p.arena, CURRENT), 1, "it is not shown while it runs");
	below = enter(p.session, 0, "below");
	pfs_statement_close(p.session, below, 20);
	p.session->running = unlisted;
	pfs_statement_close(p.session, unlisted, 30);
	p.session->running = outer;
	for (int i = 0; i < 100; i++)
	{
		unlisted = pfs_statement_open(p.session, 1, 40);
		pfs_statement_unlist(unlisted);
		pfs_statement_close(p.session, unlisted, 50);
	}
	pfs_statement_close(p.session, outer, 60);
	rows = rows_of(p.arena, HISTORY);
	is_u64((uint64_t) rows->count, 2, "nor when it has ended");
	check_nesting(rows, "below", row_number(rows, rows_find(rows, "sql_text", "outer"), "event_id"),
				  "STATEMENT", 2);
	rows_free(rows);
	rows = rows_where(p.arena, BY_THREAD, "event_name", "statement/sql/class_1");
	is_u64(row_number(rows, 0, "count_star"), 101, "but it counts");
	rows_free(rows);
	ok(p.session->newest == NULL, "none is open");
	leave_place(p);
}

static void
test_truncate_current(void)
{
	Place p = new_place();

	fixture_statement(p.session, 0, 0, 5, "old");
	table_truncate(p.arena, CURRENT);
	is_u64(table_count(p.arena, CURRENT), 0, "TRUNCATE empties current");
	is_u64(table_count(p.arena, HISTORY), 1, "not history");
	fixture_statement(p.session, 0, 0, 5, "new");
	is_u64(table_count(p.arena, CURRENT), 1, "what ends later is shown");
	table_truncate(p.arena, HISTORY);
	is_u64(table_count(p.arena, HISTORY), 0, "TRUNCATE empties history");
	is_u64(table_count(p.arena, CURRENT), 1, "not current");
	fixture_statement(p.session, 0, 0, 5, "newer");
	is_u64(table_count(p.arena, HISTORY), 1, "and it fills again");
	leave_place(p);
}

/* A text is for those who have the privileges of its role; the row is the user's all the same. */
static void
test_roles(void)
{
	static const char *const tables[] = {CURRENT, HISTORY, "events_statements_history_long"};
	Place p = new_place();
	PfsStatement *statement;

	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_HISTORY_LONG, true);
	for (uint32_t role = 0; role < 2; role++)
	{
		statement = fixture_open(p.session, 1, 5, "before");
		pfs_statement_text_set(p.session, statement, FIXTURE_ROLE + role, "select", 6);
		pfs_statement_fail(p.session, statement, 3, "failed", 6);
		pfs_statement_close(p.session, statement, FIXTURE_START + 5);
		for (size_t i = 0; i < PFS_LENGTH(tables); i++)
		{
			Rows *rows = rows_seen_by(p.arena, tables[i], "ada");
			Rows *all = rows_of(p.arena, tables[i]);
			int last = rows->count - 1;
			const char *text = row_text(rows, last, "sql_text");

			ok(rows->count == all->count && rows->count > 0, "%s: rows", tables[i]);
			if (role == 0)
				is_str(text, "select", "its text");
			else
				ok(text == NULL && row_text(rows, last, "message_text") == NULL &&
					   row_text(rows, last, "digest_text") == NULL,
				   "no text of a role that the reader has not");
			is_str(row_text(all, last, "sql_text"), "select", "who sees all sees it");
			is_str(row_text(all, last, "message_text"), "failed", "and the message");
			is_str(row_text(all, last, "digest_text"), "query 5", "and the normalised text");
			rows_free(rows);
			rows_free(all);
		}
	}
	statement = pfs_statement_open(p.session, 1, FIXTURE_START);
	is_u64(statement->record->role, 0, "an earlier event's role is not left behind");
	pfs_statement_drop(p.session, statement);
	leave_place(p);
}

int
main(void)
{
	test_roles();
	test_life();
	test_many_events();
	test_nesting();
	test_orphans();
	test_deep_stack();
	test_many_open();
	test_switches();
	test_pause();
	test_drop();
	test_consumers();
	test_unpublished(true);
	test_unpublished(false);
	test_long_texts();
	test_busy();
	test_answers();
	test_cpu();
	test_unlisted();
	test_truncate_current();
	return done_testing();
}
