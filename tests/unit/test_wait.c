/*
 * test_wait.c - waits from begin to the summaries: rows, nesting, totals of statements, switches.
 *
 * Rings are in test_history.c, levels in test_rollup.c, digests in test_digest_wait.c, several
 * threads at once in test_wait_concurrency.c.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/wait_end.h"

#include "core/names.h"

#include <signal.h>
#include <sys/time.h>

#define CURRENT "events_waits_current"
#define HISTORY "events_waits_history"
#define BY_THREAD "events_waits_summary_by_thread_by_event_name"
#define BY_USER "events_waits_summary_by_user_by_event_name"
#define GLOBAL "events_waits_summary_global_by_event_name"
#define FILES "file_summary_by_event_name"
#define SOCKETS "socket_summary_by_event_name"
#define STATEMENTS "events_statements_history"
#define DIGESTS "events_waits_summary_by_digest"

#define PLAIN_NAME "wait/ipc/unit/plain"
#define FILE_NAME "wait/io/file/unit/data"
#define LOCK_NAME "wait/lock/unit/relation"
#define TABLE_NAME "wait/io/table/sql/handler"

#define MORE_WAITS 64 /* in an arena with many of them: the fixture's, then wait/unit/<number> */

typedef struct Place
{
	PfsArena *arena;
	PfsSession *session;
} Place;

static Place
new_place(const PfsSizes *sizes, bool shown)
{
	PfsArena *arena = fixture_arena(sizes);

	if (shown)
		fixture_keep_waits(arena);
	return (Place){arena, fixture_attach(arena, 0, "ada", "h1")};
}

static void
leave_place(Place place)
{
	fixture_detach(place.session);
	fixture_free(place.arena);
}

static Place
place_of_many(bool shown)
{
	PfsSizes sizes = fixture_sizes();
	Place p;

	sizes.waits = MORE_WAITS;
	sizes.instruments = FIXTURE_INSTRUMENTS + MORE_WAITS;
	sizes.waits_history = 10;
	p = new_place(&sizes, shown);
	for (int i = FIXTURE_WAITS; i < MORE_WAITS; i++)
	{
		char name[32];

		snprintf(name, sizeof(name), "wait/unit/%d", i);
		pfs_register_wait(p.arena, PFS_WAIT_PLAIN, name, "one more", 0, true);
	}
	return p;
}

static PfsWait
begin(PfsSession *session, uint32_t wait, PfsTicks now)
{
	PfsWait event = {.wait = wait, .operation = PFS_OPERATION_NONE};

	pfs_wait_begin(session, &event, now);
	return event;
}

static void
plain(PfsSession *session, PfsTicks ticks)
{
	fixture_wait(session, FIXTURE_WAIT_PLAIN, PFS_OPERATION_NONE, 0, 0, ticks, -1);
}

static uint64_t
number_of(PfsArena *arena, const char *table, const char *event_name, const char *column)
{
	return table_number(arena, table, "event_name", event_name, column);
}

static uint64_t
global(PfsArena *arena, const char *event_name, const char *column)
{
	return number_of(arena, GLOBAL, event_name, column);
}

/* --- one wait --- */

static void
test_life(void)
{
	Place p = new_place(NULL, true);
	PfsWait wait = {.wait = FIXTURE_WAIT_PLAIN, .operation = PFS_OPERATION_SLEEP};
	Rows *rows;

	is_u64(table_count(p.arena, CURRENT), 0, "no wait yet");
	wait.object = (PfsWaitObject){.instance = 77};
	pfs_wait_begin(p.session, &wait, 500);
	is_u64(wait.level, 1, "the first in the stack");
	rows = rows_of(p.arena, CURRENT);
	is_u64((uint64_t) rows->count, 1, "a wait under way is shown");
	is_u64(row_number(rows, 0, "thread_id"), p.session->thread->thread_id, "thread");
	is_u64(row_number(rows, 0, "event_id"), 1, "number");
	is_str(row_text(rows, 0, "event_name"), PLAIN_NAME, "instrument");
	is_str(row_text(rows, 0, "operation"), "sleep", "operation");
	is_u64(row_number(rows, 0, "object_instance_begin"), 77, "object");
	is_u64(row_number(rows, 0, "timer_start"), 500, "start");
	ok(row_text(rows, 0, "end_event_id") == NULL, "it has not ended");
	ok(row_number(rows, 0, "timer_wait") > 0, "and takes time");
	ok(row_text(rows, 0, "number_of_bytes") == NULL, "no bytes");
	ok(row_text(rows, 0, "nesting_event_id") == NULL, "it is inside nothing");
	ok(row_text(rows, 0, "nesting_event_type") == NULL, "of no type");
	rows_free(rows);
	is_u64(table_count(p.arena, HISTORY), 0, "it is not history yet");
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 0, "nor counted");
	pfs_wait_end(p.session, &wait, 540, -1);
	for (int i = 0; i < 2; i++)
	{
		rows = rows_of(p.arena, i == 0 ? CURRENT : HISTORY);
		is_u64((uint64_t) rows->count, 1, "the last wait is shown");
		is_u64(row_number(rows, 0, "timer_start"), 500, "start");
		is_u64(row_number(rows, 0, "timer_end"), 540, "end");
		is_u64(row_number(rows, 0, "timer_wait"), 40, "time");
		is_u64(row_number(rows, 0, "end_event_id"), 1, "last event inside");
		rows_free(rows);
	}
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 1, "counted by name");
	is_u64(global(p.arena, PLAIN_NAME, "sum_timer_wait"), 40, "with its time");
	is_str(row_text(rows = rows_of(p.arena, GLOBAL), 0, "timer_source"), "TIMED", "measured");
	rows_free(rows);
	is_u64((uint64_t) p.session->thread->wait_depth, 0, "the stack is empty");
	leave_place(p);
}

static void
test_times(void)
{
	static const PfsTicks ticks[] = {30, 7, 900, 0, 50};
	Place p = new_place(NULL, true);
	PfsInstrument *instrument = pfs_wait_instrument(p.arena, FIXTURE_WAIT_PLAIN);
	PfsWait wait;
	Rows *rows;

	for (size_t i = 0; i < PFS_LENGTH(ticks); i++)
		plain(p.session, ticks[i]);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 5, "count");
	is_u64(global(p.arena, PLAIN_NAME, "sum_timer_wait"), 988, "sum: no length is one tick");
	is_u64(global(p.arena, PLAIN_NAME, "min_timer_wait"), 1, "minimum");
	is_u64(global(p.arena, PLAIN_NAME, "avg_timer_wait"), 197, "mean");
	is_u64(global(p.arena, PLAIN_NAME, "max_timer_wait"), 900, "maximum");
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, 500);
	pfs_wait_end(p.session, &wait, 400, -1);
	is_u64(global(p.arena, PLAIN_NAME, "sum_timer_wait"), 989, "time does not run backwards");

	pfs_set_instrument(p.arena, instrument, -1, 0);
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, 0);
	is_u64(wait.start, 0, "untimed: no look at the clock");
	rows = rows_of(p.arena, CURRENT);
	ok(row_text(rows, 0, "timer_start") == NULL && row_text(rows, 0, "timer_wait") == NULL,
	   "no times while it runs");
	rows_free(rows);
	pfs_set_instrument(p.arena, instrument, -1, 1);
	pfs_wait_end(p.session, &wait, 0, -1);
	rows = rows_of(p.arena, CURRENT);
	ok(row_text(rows, 0, "timer_end") == NULL && row_text(rows, 0, "timer_wait") == NULL,
	   "nor when it has ended");
	rows_free(rows);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 7, "but counted");
	is_u64(global(p.arena, PLAIN_NAME, "sum_timer_wait"), 989, "without time");
	is_u64(global(p.arena, PLAIN_NAME, "min_timer_wait"), 1, "or a new minimum");

	wait = begin(p.session, FIXTURE_WAIT_PLAIN, 0);
	ok(wait.start > 0, "timed again: the clock is read");
	pfs_set_instrument(p.arena, instrument, 0, 0);
	ok(!pfs_wait_enabled(p.session, FIXTURE_WAIT_PLAIN), "turned off meanwhile");
	pfs_wait_end(p.session, &wait, 0, -1);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 8, "what has begun is counted");
	ok(global(p.arena, PLAIN_NAME, "sum_timer_wait") > 989, "with its time");
	leave_place(p);
}

/* --- stacks --- */

static void
check_nesting(const Rows *rows, uint64_t event, uint64_t id, const char *type)
{
	char number[24];
	int row;

	snprintf(number, sizeof(number), "%" PRIu64, event);
	row = rows_find(rows, "event_id", number);
	ok(row >= 0 && row_number(rows, row, "nesting_event_id") == id,
	   "event %" PRIu64 " is inside event %" PRIu64, event, id);
	is_str(row_text(rows, row, "nesting_event_type"), type, "of this type");
}

static void
test_nesting(void)
{
	Place p = new_place(NULL, true);
	PfsStatement *statement;
	PfsStatement *nested;
	PfsWait outer;
	Rows *rows;

	plain(p.session, 5);                            /* event 1 */
	pfs_transaction_open(p.session, FIXTURE_START); /* 2 */
	plain(p.session, 5);                            /* 3 */
	statement = fixture_open(p.session, 0, 0, "a"); /* 4, not running: nobody's wait but ... */
	p.session->top = statement;
	plain(p.session, 5); /* 5: ... the server works around it */
	p.session->running = statement;
	outer = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START); /* 6 */
	plain(p.session, 5);                                         /* 7 */
	pfs_wait_end(p.session, &outer, FIXTURE_START + 10, -1);
	rows = rows_of(p.arena, HISTORY);
	check_nesting(rows, 3, 2, "TRANSACTION");
	check_nesting(rows, 5, 4, "STATEMENT");
	check_nesting(rows, 6, 4, "STATEMENT");
	check_nesting(rows, 7, 6, "WAIT");
	is_u64(row_number(rows, rows_find(rows, "event_id", "6"), "end_event_id"), 7,
		   "the outer one contains the inner one");
	rows_free(rows);
	is_u64(table_number(p.arena, CURRENT, "event_id", "6", "timer_wait"), 10,
		   "the outer one is current when all have ended");
	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_CURRENT, false);
	nested = pfs_statement_open(p.session, 0, FIXTURE_START);
	p.session->running = nested;
	plain(p.session, 5); /* 8 */
	rows = rows_of(p.arena, HISTORY);
	check_nesting(rows, 8, 4, "STATEMENT");
	rows_free(rows);
	pfs_statement_close(p.session, nested, FIXTURE_START + 50);
	pfs_statement_close(p.session, statement, FIXTURE_START + 50);
	p.session->top = NULL;
	plain(p.session, 5); /* 9 */
	pfs_transaction_close(p.session, PFS_TRANSACTION_COMMITTED, FIXTURE_START + 50);
	plain(p.session, 5); /* 10 */
	rows = rows_of(p.arena, HISTORY);
	check_nesting(rows, 9, 2, "TRANSACTION");
	check_nesting(rows, 10, 0, NULL);
	rows_free(rows);
	leave_place(p);
}

/* Waits of a statement that is being parsed are inside it, though it is opened later. */
static void
test_promised(void)
{
	Place p = place_of_many(true);
	PfsStatement *statement;
	PfsStatement *nested;
	Rows *rows;

	p.session->phase = PFS_PHASE_COMMAND;
	plain(p.session, 5); /* event 2, the statement will be 1 */
	plain(p.session, 5); /* 3 */
	statement = fixture_open(p.session, 0, 0, "first");
	p.session->running = statement;
	is_u64(statement->record->event_id, 1, "the number it was promised");
	plain(p.session, 5);                              /* 4 */
	nested = fixture_open(p.session, 0, 0, "nested"); /* 5 */
	is_u64(nested->record->event_id, 5, "only once");
	pfs_statement_close(p.session, nested, FIXTURE_START + 50);
	pfs_statement_close(p.session, statement, FIXTURE_START + 50);
	plain(p.session, 5); /* 7, of the next statement of the command */
	statement = fixture_open(p.session, 0, 0, "second");
	is_u64(statement->record->event_id, 6, "the next one gets one of its own");
	pfs_statement_close(p.session, statement, FIXTURE_START + 50);
	p.session->phase = PFS_PHASE_NONE;
	plain(p.session, 5); /* 8 */
	pfs_set_consumer(p.arena, PFS_CONSUMER_STATEMENTS_CURRENT, false);
	p.session->phase = PFS_PHASE_COMMAND;
	plain(p.session, 5); /* 9 */
	is_u64(p.session->promised_event, 0, "nothing is promised to statements without rows");
	rows = rows_of(p.arena, HISTORY);
	check_nesting(rows, 2, 1, "STATEMENT");
	check_nesting(rows, 3, 1, "STATEMENT");
	check_nesting(rows, 4, 1, "STATEMENT");
	check_nesting(rows, 7, 6, "STATEMENT");
	check_nesting(rows, 8, 0, NULL);
	check_nesting(rows, 9, 0, NULL);
	rows_free(rows);
	is_u64(table_number(p.arena, STATEMENTS, "sql_text", "first", "end_event_id"), 5,
		   "events 1 to 5 were inside");
	leave_place(p);
}

static void
test_deep_stack(void)
{
	Place p = place_of_many(true);
	PfsWait wait[PFS_WAIT_STACK + 2];
	const int deep = PFS_LENGTH(wait);
	Rows *rows;

	for (int i = 0; i < deep; i++)
	{
		wait[i] = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
		is_u64(wait[i].level, i < PFS_WAIT_STACK ? (uint64_t) i + 1 : 0, "its place");
	}
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 2, "too deep for a row is counted");
	is_u64(table_sum(p.arena, CURRENT, "event_id"), PFS_WAIT_STACK, "the innermost is current");
	for (int i = deep - 1; i >= 0; i--)
		pfs_wait_end(p.session, &wait[i], FIXTURE_START + 10, -1);
	rows = rows_of(p.arena, HISTORY);
	is_u64((uint64_t) rows->count, PFS_WAIT_STACK, "those with a place have a row");
	for (uint64_t id = 2; id <= PFS_WAIT_STACK; id++)
		check_nesting(rows, id, id - 1, "WAIT");
	is_u64(rows_sum(rows, "end_event_id"), PFS_WAIT_STACK * PFS_WAIT_STACK,
		   "each contains those that are deeper");
	rows_free(rows);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), (uint64_t) deep, "all are counted");
	is_u64(global(p.arena, PLAIN_NAME, "sum_timer_wait"), 10 * (uint64_t) deep, "with their times");
	plain(p.session, 3);
	is_u64(table_sum(p.arena, CURRENT, "timer_wait"), 3, "the next one finds the stack empty");
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 2, "and is not lost");
	leave_place(p);
}

/* Whoever is left by a jump never ends; the end of a wait below takes it away. */
static void
test_never_ended(void)
{
	Place p = place_of_many(true);
	PfsWait outer = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	Rows *rows;

	for (int i = 0; i < 2 * PFS_WAIT_STACK; i++)
		begin(p.session, FIXTURE_WAIT_LOCK, FIXTURE_START);
	is_u64(p.session->thread->wait_depth, PFS_WAIT_STACK, "the stack is full");
	pfs_wait_end(p.session, &outer, FIXTURE_START + 10, -1);
	is_u64(p.session->thread->wait_depth, 0, "the end of the first one empties it");
	rows = rows_of(p.arena, CURRENT);
	is_str(row_text(rows, 0, "event_name"), PLAIN_NAME, "the first one is shown");
	rows_free(rows);
	is_u64(table_count(p.arena, HISTORY), 1, "the others are no history");
	is_u64(global(p.arena, LOCK_NAME, "count_star"), 0, "nor counted");
	plain(p.session, 5);
	is_u64(table_count(p.arena, HISTORY), 2, "waits have rows again");
	rows = rows_of(p.arena, HISTORY);
	ok(row_text(rows, rows_find(rows, "timer_wait", "5"), "nesting_event_id") == NULL,
	   "not inside one that is gone");
	rows_free(rows);

	begin(p.session, FIXTURE_WAIT_LOCK, FIXTURE_START);
	fixture_kill(p.session);
	p.session = fixture_attach(p.arena, 0, "bob", "h1");
	is_u64(p.session->thread->wait_depth, 0, "a successor starts with an empty stack");
	is_u64(table_count(p.arena, CURRENT) + table_count(p.arena, HISTORY), 0, "and no rows");
	leave_place(p);
}

static void
test_drop(void)
{
	Place p = new_place(NULL, true);
	PfsWait outer;
	PfsWait wait;

	plain(p.session, 5);
	wait = begin(p.session, FIXTURE_WAIT_LOCK, FIXTURE_START);
	pfs_wait_drop(p.session, &wait);
	is_u64(global(p.arena, LOCK_NAME, "count_star"), 0, "a dropped wait is not counted");
	is_u64(number_of(p.arena, CURRENT, LOCK_NAME, "event_id"), 0, "nor shown");
	is_u64(number_of(p.arena, HISTORY, LOCK_NAME, "event_id"), 0, "nor kept");
	outer = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	wait = begin(p.session, FIXTURE_WAIT_LOCK, FIXTURE_START);
	pfs_wait_drop(p.session, &wait);
	is_u64(number_of(p.arena, CURRENT, PLAIN_NAME, "event_id"), 3,
		   "the one below is current again");
	pfs_wait_end(p.session, &outer, FIXTURE_START + 5, -1);
	is_u64(table_count(p.arena, HISTORY), 2, "and ends");
	pfs_set_consumer(p.arena, PFS_CONSUMER_WAITS_CURRENT, false);
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	pfs_wait_drop(p.session, &wait);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 2, "nothing to drop without a row");
	leave_place(p);
}

/* --- what comes while another recording is under way --- */

static void
test_busy(void)
{
	Place p = new_place(NULL, true);
	FixtureRow table = fixture_table(p.arena, 5, 1, 0);
	PfsWait wait;

	ok(pfs_enter_recording(p.session), "a recording is under way");
	plain(p.session, 5);
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 2, "a wait has neither row nor count");
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	is_u64(wait.level, 0, "no place in the stack");
	pfs_wait_drop(p.session, &wait);
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 3, "nothing to drop");
	fixture_fetch(p.session, table, 3, 10);
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 4, "rows of a table are lost too");
	pfs_leave_recording(p.session);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 0, "nothing was counted");
	is_u64(p.session->waits.used, 0, "for no statement");
	is_u64(table_count(p.arena, CURRENT), 0, "nothing shown");
	pfs_wait_end(p.session, &wait, FIXTURE_START + 5, -1);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 1, "it ends later: counted, without a row");
	is_u64(table_count(p.arena, HISTORY), 0, "in no history");
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	pfs_enter_recording(p.session);
	pfs_wait_end(p.session, &wait, FIXTURE_START + 5, -1);
	pfs_leave_recording(p.session);
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 5, "an end is lost");
	is_u64(p.session->thread->wait_depth, 1, "its row stays");
	leave_place(p);
}

static PfsSession *interrupted;
static volatile sig_atomic_t in_signals; /* waits recorded in the handler */

/* As the host's observer: what interrupts a recording is left out. */
static void
handle_signal(int number)
{
	if (interrupted->busy)
		return;
	fixture_wait(interrupted, FIXTURE_WAIT_LOCK, PFS_OPERATION_SEMAPHORE, 0, 0, 3, -1);
	in_signals++;
}

/* Waits in a handler are inside the wait that it interrupts; both are whole. */
static void
test_signal(void)
{
	Place p = new_place(NULL, true);
	struct sigaction action = {.sa_handler = handle_signal};
	PfsWait wait;
	Rows *rows;

	interrupted = p.session;
	in_signals = 0;
	sigaction(SIGUSR1, &action, NULL);
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	raise(SIGUSR1);
	pfs_wait_end(p.session, &wait, FIXTURE_START + 10, -1);
	is_u64((uint64_t) in_signals, 1, "a wait in a signal handler");
	rows = rows_of(p.arena, HISTORY);
	check_nesting(rows, 2, 1, "WAIT");
	is_u64(row_number(rows, rows_find(rows, "event_name", PLAIN_NAME), "timer_wait"), 10,
		   "what it interrupted goes on");
	rows_free(rows);
	pfs_enter_recording(p.session);
	raise(SIGUSR1);
	pfs_leave_recording(p.session);
	is_u64((uint64_t) in_signals, 1, "but not inside a recording");
	leave_place(p);
}

/* The same at any moment: a timer interrupts one who does nothing but record. */
static void
test_many_signals(bool shown)
{
	Place p = new_place(NULL, shown);
	struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 50}, {0, 50}};
	struct itimerval never = {{0, 0}, {0, 0}};
	uint64_t n = 0;

	interrupted = p.session;
	in_signals = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (; n < 20000 || (in_signals < 50 && n < 50000000); n++)
		plain(p.session, 10);
	setitimer(ITIMER_REAL, &never, NULL);
	ok(in_signals >= 50, "%d waits in signal handlers", (int) in_signals);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), n, "none of the others is lost");
	is_u64(global(p.arena, PLAIN_NAME, "sum_timer_wait"), 10 * n, "with their times");
	is_u64(global(p.arena, LOCK_NAME, "count_star"), (uint64_t) in_signals, "nor of these");
	is_u64(global(p.arena, LOCK_NAME, "sum_timer_wait"), 3 * (uint64_t) in_signals, "with theirs");
	is_u64(p.session->thread->wait_depth, 0, "the stack is empty");
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 0, "no loss");
	leave_place(p);
}

/* --- files and sockets --- */

static void
test_io(void)
{
	Place p = new_place(NULL, true);
	static const struct
	{
		PfsOperation operation;
		int64_t bytes;
	} events[] = {
		{PFS_OPERATION_READ, 100}, {PFS_OPERATION_READ, -1}, {PFS_OPERATION_READ, 0},
		{PFS_OPERATION_WRITE, 50}, {PFS_OPERATION_SYNC, -1}, {PFS_OPERATION_CHSIZE, 4711},
		{PFS_OPERATION_OPEN, -1},  {PFS_OPERATION_FETCH, 1}, {PFS_OPERATION_INSERT, 1},
	};
	Rows *rows;

	for (size_t i = 0; i < PFS_LENGTH(events); i++)
		fixture_wait(p.session, FIXTURE_WAIT_FILE, events[i].operation, 0, 0, 10 + i,
					 events[i].bytes);
	rows = rows_of(p.arena, FILES);
	is_u64((uint64_t) rows->count, 1, "one instrument of files");
	is_str(row_text(rows, 0, "event_name"), FILE_NAME, "its name");
	is_u64(row_number(rows, 0, "count_star"), 9, "all operations");
	is_u64(row_number(rows, 0, "sum_timer_wait"), 9 * 10 + 36, "their time");
	is_u64(row_number(rows, 0, "min_timer_wait"), 10, "the shortest");
	is_u64(row_number(rows, 0, "max_timer_wait"), 18, "the longest");
	is_u64(row_number(rows, 0, "count_read"), 4, "reads");
	is_u64(row_number(rows, 0, "sum_number_of_bytes_read"), 101, "bytes read");
	is_u64(row_number(rows, 0, "count_write"), 2, "writes");
	is_u64(row_number(rows, 0, "sum_number_of_bytes_write"), 51, "bytes written");
	is_u64(row_number(rows, 0, "min_timer_write"), 13, "the shortest write");
	is_u64(row_number(rows, 0, "count_misc"), 3, "the others have no bytes");
	is_u64(row_number(rows, 0, "max_timer_misc"), 16, "the longest of them");
	rows_free(rows);
	is_u64(global(p.arena, FILE_NAME, "count_star"), 9, "the same as waits");
	is_u64(global(p.arena, FILE_NAME, "min_timer_wait"), 10, "with the shortest");
	is_u64(table_number(p.arena, HISTORY, "operation", "chsize", "number_of_bytes"), 4711,
		   "a row says what its call said");
	is_u64(table_sum(p.arena, SOCKETS, "count_star"), 0, "no socket");

	fixture_wait(p.session, FIXTURE_WAIT_SOCKET, PFS_OPERATION_SEND, 0, 0, 10, 30);
	is_u64(table_count(p.arena, "socket_instances"), 0, "a thread without a client");
	pfs_store(&p.session->thread->socket.used, 1);
	fixture_wait(p.session, FIXTURE_WAIT_SOCKET, PFS_OPERATION_SEND, 0, 0, 10, 40);
	fixture_wait(p.session, FIXTURE_WAIT_SOCKET, PFS_OPERATION_RECV, 0, 0, 10, 2);
	rows = rows_of(p.arena, "socket_summary_by_instance");
	is_u64(row_number(rows, 0, "count_star"), 2, "the thread's own socket");
	is_u64(row_number(rows, 0, "sum_number_of_bytes_write"), 40, "bytes sent");
	is_u64(row_number(rows, 0, "sum_number_of_bytes_read"), 2, "bytes received");
	rows_free(rows);
	is_u64(table_sum(p.arena, SOCKETS, "sum_number_of_bytes_write"), 70, "by name all");
	table_truncate(p.arena, "socket_summary_by_instance");
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "count_star"), 0, "TRUNCATE");
	fixture_wait(p.session, FIXTURE_WAIT_SOCKET, PFS_OPERATION_RECV, 0, 0, 10, 5);
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "sum_number_of_bytes_read"), 5,
		   "counts again from zero");
	is_u64(table_sum(p.arena, SOCKETS, "count_star"), 4, "by name nothing changed");
	leave_place(p);
}

static void
name_lock(const PfsWaitObject *lock, PfsHostObject *object)
{
	object->type = "RELATION";
	object->schema = "public";
	object->name = lock->id[0] == 7 ? "orders" : "unknown";
	object->mode = lock->mode == 8 ? "AccessExclusiveLock" : "other";
}

static void
check_object(PfsArena *arena, const char *type, const char *schema, const char *name,
			 const char *index, const char *operation)
{
	Rows *rows = rows_of(arena, CURRENT);

	is_str(row_text(rows, 0, "object_type"), type, "type");
	is_str(row_text(rows, 0, "object_schema"), schema, "schema");
	is_str(row_text(rows, 0, "object_name"), name, "name");
	is_str(row_text(rows, 0, "index_name"), index, "index");
	is_str(row_text(rows, 0, "operation"), operation, "operation");
	rows_free(rows);
}

/* Idle time with the call that ends it inside: each is in the history once, in the order of ends. */
static void
test_idle_around(void)
{
	Place p = new_place(NULL, true);
	PfsWait idle = begin(p.session, FIXTURE_WAIT_IDLE, FIXTURE_START);
	PfsWait inner;
	Rows *rows;

	for (int i = 0; i < 2; i++)
	{
		inner = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START + 5);
		is_u64(inner.level, 2, "inside idle time");
		is_u64(table_sum(p.arena, CURRENT, "event_id"), inner.event_id, "the inner one is current");
		pfs_wait_end(p.session, &inner, FIXTURE_START + 8, -1);
		is_u64(table_sum(p.arena, CURRENT, "event_id"), idle.event_id, "the outer one is again");
	}
	rows = rows_of(p.arena, HISTORY);
	is_u64((uint64_t) rows->count, 2, "those inside have ended");
	is_u64(rows_sum(rows, "nesting_event_id"), 2 * idle.event_id, "inside the idle time");
	rows_free(rows);
	pfs_wait_end(p.session, &idle, FIXTURE_START + 9, -1);
	rows = rows_of(p.arena, HISTORY);
	is_u64((uint64_t) rows->count, 3, "and now that has, too");
	is_u64(row_number(rows, 2, "event_id"), idle.event_id, "as the last one");
	is_u64(row_number(rows, 2, "end_event_id"), inner.event_id, "with what was inside");
	rows_free(rows);
	is_u64(table_sum(p.arena, CURRENT, "event_id"), idle.event_id, "it is still shown");
	is_u64(table_count(p.arena, "events_waits_history_long"), 3, "all are in the long history");
	pfs_wait_end(p.session, &inner, FIXTURE_START + 20, -1);
	is_u64(table_count(p.arena, HISTORY), 3, "what has ended does not end again");
	leave_place(p);
}

/* A call on the session's socket that reads so many bytes: the short way, if it is simple.  switched: in mid-call. */
static void
read_socket(Place p, PfsSocketKnown *known, int64_t bytes, bool switched)
{
	PfsSocketCall call;
	bool at_rest = pfs_wait_is_at_rest(p.session);
	bool quick = pfs_wait_begin_socket(p.session, known, PFS_IO_READ, at_rest, &call);
	PfsWait wait = {0};

	if (!quick)
	{
		wait = begin(p.session, FIXTURE_WAIT_SOCKET, FIXTURE_START);
		wait.operation = PFS_OPERATION_RECV;
	}
	if (switched)
		table_truncate(p.arena, "socket_summary_by_instance");
	if (!quick)
		pfs_wait_end(p.session, &wait, FIXTURE_START + 10, bytes);
	else if (!pfs_wait_end_socket(p.session, known, PFS_IO_READ, at_rest, &call, bytes, pfs_now()))
		pfs_wait_end_socket_otherwise(p.session, known, PFS_IO_READ, call, bytes, pfs_now());
}

/* What is known of calls on the session's socket, and when it is void. */
static void
test_known_socket(void)
{
	Place p = new_place(NULL, true);
	PfsSocketKnown known;
	PfsWait wait = begin(p.session, FIXTURE_WAIT_SOCKET, FIXTURE_START);
	const char *name = pfs_wait_instrument(p.arena, FIXTURE_WAIT_SOCKET)->name;

	pfs_timer.kind = PFS_TIMER_CYCLE;	/* without it nothing is simple */
	ok(!pfs_wait_know_socket(p.session, FIXTURE_WAIT_SOCKET, 99, &known), "nothing before the first one");
	wait.operation = PFS_OPERATION_RECV;
	p.session->thread->socket.used = 1;
	pfs_wait_end(p.session, &wait, FIXTURE_START + 10, 7);
	ok(pfs_wait_know_socket(p.session, FIXTURE_WAIT_SOCKET, 99, &known), "all after it");
	for (int i = 0; i < 2; i++)		/* a statement's, and one at rest */
	{
		if (i == 0)
			p.session->phase = PFS_PHASE_COMMAND;
		else
			fixture_rest(p.session);
		is_u64(pfs_wait_is_at_rest(p.session), (uint64_t) i, "what may be a statement's is charged");
		read_socket(p, &known, 5, false);
		is_u64(p.session->waits.used, 1, "the next statement's is what was in the command");
		is_u64(p.session->waits.stat[0].count, 2, "and nothing else");
		is_u64(global(p.arena, name, "count_star"), 2 + i, "counted by name");
		is_u64(table_sum(p.arena, "socket_summary_by_instance", "sum_number_of_bytes_read"), 12 + 5 * i, "and by socket");
		is_u64(table_count(p.arena, HISTORY), 2 + i, "with a row");
	}
	is_u64(known.changes == p.arena->changes, 1, "it is good");
	table_truncate(p.arena, "socket_summary_by_instance");
	is_u64(known.changes == p.arena->changes, 0, "not after TRUNCATE");
	wait = begin(p.session, FIXTURE_WAIT_SOCKET, FIXTURE_START);
	wait.operation = PFS_OPERATION_RECV;
	pfs_wait_end(p.session, &wait, FIXTURE_START + 10, 3);
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "sum_number_of_bytes_read"), 3, "from nothing");
	ok(pfs_wait_know_socket(p.session, FIXTURE_WAIT_SOCKET, 99, &known) &&
	   known.changes == p.arena->changes, "and known again");
	ok(pfs_wait_may_begin(p.session, &known, false), "and simple");
	read_socket(p, &known, 4, true);
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "sum_number_of_bytes_read"), 4,
		   "of a call that TRUNCATE comes into, all counts after it");
	is_u64(table_sum(p.arena, CURRENT, "end_event_id"), p.session->thread->event_id, "and its row has ended");
	is_u64(p.session->thread->wait_depth, 0, "with nothing left");
	pfs_timer.kind = PFS_TIMER_NANOSECOND;
	leave_place(p);
}

/* An idle time of the session: a call before it that reads nothing, one inside that reads 5 bytes and ends it. */
static void
rest(Place p, PfsSocketKnown *known, bool quick)
{
	PfsWait idle = {.wait = FIXTURE_WAIT_IDLE, .kind = PFS_WAIT_IDLE, .operation = PFS_OPERATION_IDLE};
	PfsWait call = {.wait = FIXTURE_WAIT_SOCKET, .operation = PFS_OPERATION_RECV};
	PfsSocketCall short_call = {0};

	idle.object.type = call.object.type = PFS_WAIT_OBJECT_SOCKET;
	idle.object.instance = call.object.instance = 99;
	for (int i = 0; i < 2; i++)
	{
		if (quick)
			ok(pfs_wait_begin_socket(p.session, known, PFS_IO_READ, true, &short_call), "it is simple");
		else
			pfs_wait_begin(p.session, &call, pfs_now());
		is_u64(table_sum(p.arena, CURRENT, "event_id"), p.session->thread->event_id, "the call is current");
		if (!quick)
			pfs_wait_end(p.session, &call, pfs_now(), i == 0 ? -1 : 5);
		else
			ok(pfs_wait_end_socket(p.session, known, PFS_IO_READ, true, &short_call, i == 0 ? -1 : 5, pfs_now()), "to its end");
		if (i == 0 && quick)
			pfs_wait_begin_idle(p.session, &idle, known);
		else if (i == 0)
			pfs_wait_begin(p.session, &idle, pfs_now());
		else if (quick)
			ok(pfs_wait_end_idle(p.session, &idle, known, pfs_now()), "after it idle time ends");
		else
			pfs_wait_end(p.session, &idle, pfs_now(), -1);
		is_u64(table_sum(p.arena, CURRENT, "event_id"), i == 0 ? p.session->thread->event_id : idle.event_id,
			   "idle time is current");
	}
	ok(idle.start != 0 && idle.level == 1, "it is timed and shown");
}

/* The short way makes the same rows as the general one, and adds the same. */
static void
test_short_way(void)
{
	static const char *const columns[] = {"event_name", "operation", "number_of_bytes", "object_instance_begin",
		"object_type", "nesting_event_type"};
	PfsSizes sizes = fixture_sizes();
	Place p;
	PfsSocketKnown known;
	Rows *rows;

	sizes.waits_history = 6;
	p = new_place(&sizes, true);
	pfs_timer.kind = PFS_TIMER_CYCLE;	/* without it nothing is simple */
	p.session->phase = PFS_PHASE_REST;
	p.session->thread->socket.used = 1;
	rest(p, NULL, false);
	ok(pfs_wait_know_socket(p.session, FIXTURE_WAIT_SOCKET, 99, &known), "the socket is known");
	pfs_wait_know_idle(p.session, FIXTURE_WAIT_IDLE, &known);
	ok(known.idle && pfs_wait_may_begin(p.session, &known, false), "idle time is known");
	fixture_rest(p.session);
	rest(p, &known, true);
	rows = rows_of(p.arena, HISTORY);
	is_u64((uint64_t) rows->count, 6, "three waits each");
	for (int i = 0; i < 3; i++)
	{
		for (size_t column = 0; column < PFS_LENGTH(columns); column++)
			is_str(row_text(rows, i + 3, columns[column]), row_text(rows, i, columns[column]), columns[column]);
		is_u64(row_number(rows, i + 3, "event_id"), row_number(rows, i, "event_id") + 3, "number");
		is_u64(row_number(rows, i + 3, "end_event_id"), row_number(rows, i, "end_event_id") + 3, "last inside");
		ok(row_number(rows, i + 3, "timer_wait") > 0, "time");
	}
	is_u64(row_number(rows, 4, "nesting_event_id"), row_number(rows, 5, "event_id"), "inside idle time");
	rows_free(rows);
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "count_read"), 4, "counted by socket");
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "sum_number_of_bytes_read"), 10, "with bytes");
	is_u64(global(p.arena, pfs_wait_instrument(p.arena, FIXTURE_WAIT_SOCKET)->name, "count_star"), 4, "by name");
	is_u64(global(p.arena, pfs_wait_instrument(p.arena, FIXTURE_WAIT_IDLE)->name, "count_star"), 2, "and idle time");
	is_u64(table_count(p.arena, "events_waits_history_long"), 6, "all in the long history");
	pfs_timer.kind = PFS_TIMER_NANOSECOND;
	leave_place(p);
}

/* So many short calls that read a byte each, and do not take long. */
static void
read_quickly(Place p, PfsSocketKnown *known, int calls)
{
	for (int i = 0; i < calls; i++)
	{
		PfsSocketCall call = {0};
		bool quick;

		fixture_rest(p.session);
		quick = pfs_wait_begin_socket(p.session, known, PFS_IO_READ, true, &call);

		ok(quick && pfs_wait_end_socket(p.session, known, PFS_IO_READ, true, &call, 1, call.start + 5), "a short call");
	}
}

/* A socket that is known, in a session at rest. */
static Place
place_with_socket(bool shown, PfsSocketKnown *known)
{
	Place p = new_place(NULL, shown);
	PfsWait wait = begin(p.session, FIXTURE_WAIT_SOCKET, FIXTURE_START);

	pfs_timer.kind = PFS_TIMER_CYCLE;
	wait.operation = PFS_OPERATION_RECV;
	p.session->thread->socket.used = 1;
	fixture_rest(p.session);
	pfs_wait_end(p.session, &wait, FIXTURE_START + 5, 1);
	ok(pfs_wait_know_socket(p.session, FIXTURE_WAIT_SOCKET, 99, known) && known->shown == shown, "it is known");
	return p;
}

static uint64_t
in_thread(PfsArena *arena, const char *name)
{
	Rows *rows = rows_where(arena, BY_THREAD, "event_name", name);
	uint64_t count = rows_sum(rows, "count_star");

	rows_free(rows);
	return count;
}

/* Short calls count once at each level, whether they have moved to their cells or not, and as far as TRUNCATE lets them. */
static void
test_sums_of_calls(void)
{
	PfsSocketKnown known;
	Place p = place_with_socket(true, &known);
	const char *name = pfs_wait_instrument(p.arena, FIXTURE_WAIT_SOCKET)->name;
	PfsCallSums *sums = &p.session->thread->call_sums;
	PfsWait wait;

	read_quickly(p, &known, 3);
	is_u64(sums->part[PFS_IO_READ].count, 3, "they have not moved");
	is_u64(in_thread(p.arena, name), 4, "by thread");
	is_u64(global(p.arena, name, "count_star"), 4, "global");
	is_u64(global(p.arena, name, "sum_timer_wait"), 20, "times");
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "sum_number_of_bytes_read"), 4, "by socket");
	table_truncate(p.arena, BY_THREAD);
	is_u64(in_thread(p.arena, name), 0, "TRUNCATE by thread");
	is_u64(global(p.arena, name, "count_star"), 4, "leaves the others");
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "count_read"), 4, "and the socket");
	wait = begin(p.session, FIXTURE_WAIT_SOCKET, FIXTURE_START);
	wait.operation = PFS_OPERATION_RECV;
	pfs_wait_end(p.session, &wait, FIXTURE_START + 5, 1);
	is_u64(sums->part[PFS_IO_READ].count, 0, "they move before their cell goes on");
	is_u64(in_thread(p.arena, name), 1, "by thread from nothing");
	is_u64(global(p.arena, name, "count_star"), 5, "global goes on");
	ok(pfs_wait_know_socket(p.session, FIXTURE_WAIT_SOCKET, 99, &known), "known again");
	read_quickly(p, &known, 2);
	table_truncate(p.arena, "socket_summary_by_instance");
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "count_read"), 0, "TRUNCATE by socket");
	is_u64(in_thread(p.arena, name), 3, "leaves the thread");
	wait = begin(p.session, FIXTURE_WAIT_SOCKET, FIXTURE_START);
	wait.operation = PFS_OPERATION_RECV;
	pfs_wait_end(p.session, &wait, FIXTURE_START + 5, 1);
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "count_read"), 1, "old ones do not come back");
	is_u64(in_thread(p.arena, name), 4, "and are in the thread");
	ok(pfs_wait_know_socket(p.session, FIXTURE_WAIT_SOCKET, 99, &known), "known once more");
	read_quickly(p, &known, 2);
	pfs_timer.kind = PFS_TIMER_NANOSECOND;
	fixture_kill(p.session);
	is_u64(global(p.arena, name, "count_star"), 10, "of a killed session");
	p.session = fixture_attach(p.arena, 0, "ada", "h1");
	is_u64(global(p.arena, name, "count_star"), 10, "they are its account's, and no successor's");
	is_u64(in_thread(p.arena, name), 0, "who has none");
	leave_place(p);
}

/* Where calls make no rows they count in the same way. */
static void
test_counted_calls(void)
{
	PfsSocketKnown known;
	Place p = place_with_socket(false, &known);
	const char *name = pfs_wait_instrument(p.arena, FIXTURE_WAIT_SOCKET)->name;

	ok(pfs_wait_count_socket(p.session, &known, PFS_IO_READ, 100, 7, 110), "a call");
	is_u64(global(p.arena, name, "sum_timer_wait"), 15, "is timed");
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "sum_number_of_bytes_read"), 8, "with its bytes");
	is_u64(table_count(p.arena, CURRENT), 0, "without a row");
	pfs_set_consumer(p.arena, PFS_CONSUMER_WAITS_CURRENT, true);
	ok(!pfs_wait_count_socket(p.session, &known, PFS_IO_READ, 100, 7, 110), "not after a switch");
	pfs_timer.kind = PFS_TIMER_NANOSECOND;
	leave_place(p);
}

static void
test_objects(void)
{
	Place p = new_place(NULL, true);
	FixtureRow file = fixture_file(p.arena, "base/5/1");
	FixtureRow table = fixture_table(p.arena, 5, 1, 9);
	PfsWait wait = {.wait = FIXTURE_WAIT_FILE, .operation = PFS_OPERATION_OPEN};

	pfs_wait_begin(p.session, &wait, FIXTURE_START);
	check_object(p.arena, NULL, NULL, NULL, NULL, "open");
	wait.row = file.row;
	wait.use = file.use;
	wait.object = (PfsWaitObject){.type = PFS_WAIT_OBJECT_FILE, .row = file.row, .use = file.use};
	pfs_wait_end(p.session, &wait, FIXTURE_START + 10, -1);
	check_object(p.arena, "FILE", NULL, "base/5/1", NULL, "open");
	is_u64(table_sum(p.arena, CURRENT, "object_instance_begin"),
		   table_sum(p.arena, "file_summary_by_instance", "object_instance_begin"),
		   "the file that was opened");
	is_u64(table_sum(p.arena, "file_summary_by_instance", "count_misc"), 1, "which counts it");
	pfs_file_forget(p.arena, "base/5/1", 8);
	check_object(p.arena, "FILE", NULL, NULL, NULL, "open");
	fixture_file(p.arena, "base/5/2");
	check_object(p.arena, "FILE", NULL, NULL, NULL, "open");

	pfs_table_name(p.arena, table.row, table.use, "public", "orders", "orders_pkey", 0);
	fixture_fetch(p.session, table, 30, 15);
	check_object(p.arena, "TABLE", "public", "orders", "orders_pkey", "fetch");
	is_u64(table_sum(p.arena, CURRENT, "number_of_bytes"), 30, "rows");
	is_u64(table_sum(p.arena, CURRENT, "timer_wait"), 15, "time of all");
	is_u64(global(p.arena, TABLE_NAME, "count_star"), 30, "rows are counted");
	is_u64(global(p.arena, TABLE_NAME, "sum_timer_wait"), 15, "with the time of all");
	pfs_wait_table(p.session, table.row, table.use, PFS_TABLE_DELETE, 2, 0, 0);
	check_object(p.arena, "TABLE", "public", "orders", "orders_pkey", "delete");
	is_u64(table_sum(p.arena, CURRENT, "timer_wait"), 0, "untimed");
	pfs_wait_table(p.session, table.row, table.use, PFS_TABLE_DELETE, 0, 0, 5);
	is_u64(global(p.arena, TABLE_NAME, "count_star"), 32, "no rows are no event");
	pfs_set_instrument(p.arena, pfs_wait_instrument(p.arena, FIXTURE_WAIT_TABLE), 0, -1);
	fixture_fetch(p.session, table, 30, 15);
	is_u64(global(p.arena, TABLE_NAME, "count_star"), 32, "nor is any when it is off");

	wait = (PfsWait){.wait = FIXTURE_WAIT_LOCK, .operation = PFS_OPERATION_SEMAPHORE};
	wait.object = (PfsWaitObject){.type = PFS_WAIT_OBJECT_LOCK, .mode = 8, .id = {7}};
	pfs_wait_begin(p.session, &wait, FIXTURE_START);
	check_object(p.arena, NULL, NULL, NULL, NULL, "lock");
	pfs_host_lock_object = name_lock;
	check_object(p.arena, "RELATION", "public", "orders", NULL, "AccessExclusiveLock");
	wait.object.id[0] = 8;
	pfs_wait_end(p.session, &wait, FIXTURE_START + 10, -1);
	check_object(p.arena, "RELATION", "public", "orders", NULL, "AccessExclusiveLock");
	pfs_host_lock_object = NULL;
	fixture_wait(p.session, FIXTURE_WAIT_SOCKET, PFS_OPERATION_RECV, 0, 0, 1, 1);
	leave_place(p);
}

/* --- rows of tables, the short way --- */

static void
count_rows(Place p, PfsObjectCell **cell, FixtureRow table, uint64_t rows)
{
	pfs_wait_rows(p.session, cell, table.row, table.use, PFS_TABLE_FETCH, rows);
}

static bool
is_short(Place p, PfsObjectCell *cell, FixtureRow table)
{
	return pfs_wait_rows_known(p.session) &&
		pfs_wait_rows_quickly(p.session, cell, &table.row, &table.use, PFS_TABLE_FETCH, 0);
}

static void
test_rows(void)
{
	Place p = new_place(NULL, false);
	PfsInstrument *instrument = pfs_wait_instrument(p.arena, FIXTURE_WAIT_TABLE);
	FixtureRow table = fixture_table(p.arena, 5, 1, 9);
	FixtureRow other = fixture_table(p.arena, 5, 2, 0);
	PfsObjectCell *cell = &pfs_no_cell,
			   *others = &pfs_no_cell;
	const char *by_index = "table_io_waits_summary_by_index_usage";

	ok(!is_short(p, cell, table), "nothing is known");
	count_rows(p, &cell, table, 3);
	ok(is_short(p, cell, table), "then it is");
	count_rows(p, &cell, table, 4);
	is_u64(global(p.arena, TABLE_NAME, "count_star"), 7, "both ways add by name");
	is_u64(table_sum(p.arena, by_index, "count_fetch"), 7, "and by table");
	is_u64(global(p.arena, TABLE_NAME, "sum_timer_wait"), 0, "no time");
	ok(!is_short(p, cell, other), "the cell is another's");
	count_rows(p, &others, other, 5);
	is_u64(table_sum(p.arena, by_index, "count_fetch"), 12, "which has one of its own");

	pfs_set_instrument(p.arena, instrument, 0, -1);
	ok(!is_short(p, cell, table), "a switch closes it");
	count_rows(p, &cell, table, 1);
	is_u64(global(p.arena, TABLE_NAME, "count_star"), 12, "off");
	pfs_set_instrument(p.arena, instrument, 1, -1);
	count_rows(p, &cell, table, 1);
	count_rows(p, &cell, table, 1);
	is_u64(global(p.arena, TABLE_NAME, "count_star"), 14, "on again");

	ok(pfs_object_reset(p.arena, PFS_RESET_TABLE_IO), "TRUNCATE");
	ok(!is_short(p, cell, table), "closes it too");
	count_rows(p, &cell, table, 2);
	count_rows(p, &cell, table, 2);
	is_u64(table_sum(p.arena, by_index, "count_fetch"), 4, "old rows do not count");

	pfs_wait_table_sampled(p.session, table.row, table.use, PFS_TABLE_FETCH, 6, FIXTURE_START, 10, 8);
	is_u64(table_sum(p.arena, by_index, "count_fetch"), 10, "rows of one execution");
	is_u64(table_sum(p.arena, by_index, "sum_timer_fetch"), 80, "its time stands for eight");
	is_u64(table_sum(p.arena, by_index, "max_timer_fetch"), 10, "but the longest was one");
	pfs_wait_table_sampled(p.session, table.row, table.use, PFS_TABLE_FETCH, 0, FIXTURE_START, 5, 1);
	pfs_wait_table_sampled(p.session, table.row, table.use, PFS_TABLE_DELETE, 0, FIXTURE_START, 5, 1);
	is_u64(table_sum(p.arena, by_index, "sum_timer_wait"), 85, "more time of rows that were counted, of no others");
	ok(pfs_object_reset(p.arena, PFS_RESET_TABLE_IO), "TRUNCATE");
	pfs_wait_table_sampled(p.session, table.row, table.use, PFS_TABLE_FETCH, 3, FIXTURE_START, 10, 8);
	is_u64(table_sum(p.arena, by_index, "sum_timer_fetch"), 30, "what it stands for was before: no more than the longest of each row");
	pfs_wait_table_sampled(p.session, table.row, table.use, PFS_TABLE_FETCH, 0, FIXTURE_START, 5, 1);
	is_u64(table_sum(p.arena, by_index, "sum_timer_fetch"), 30, "nor by what made no rows");
	leave_place(p);
}

/* Each event of a table's rows makes a row, inside another wait, too. */
static void
test_rows_shown(void)
{
	Place p = new_place(NULL, true);
	FixtureRow table = fixture_table(p.arena, 5, 1, 9);
	PfsObjectCell *cell = &pfs_no_cell;
	PfsWait wait;
	Rows *rows;

	count_rows(p, &cell, table, 1);
	ok(is_short(p, cell, table), "the short way is open");
	count_rows(p, &cell, table, 2);
	wait = begin(p.session, FIXTURE_WAIT_FILE, FIXTURE_START);
	count_rows(p, &cell, table, 3);
	is_u64(table_sum(p.arena, CURRENT, "event_id"), wait.event_id, "what is around it is current again");
	pfs_wait_end(p.session, &wait, FIXTURE_START + 10, -1);
	rows = rows_of(p.arena, HISTORY);
	is_u64((uint64_t) rows->count, 4, "four rows");
	for (int i = 0; i < 3; i++)
	{
		is_u64(row_number(rows, i, "number_of_bytes"), (uint64_t) i + 1, "so many of the table's");
		is_u64(row_number(rows, i, "event_id"), row_number(rows, i, "end_event_id"), "over at once");
	}
	ok(row_text(rows, 1, "nesting_event_type") == NULL, "alone");
	is_str(row_text(rows, 2, "nesting_event_type"), "WAIT", "or inside a wait");
	is_u64(row_number(rows, 2, "nesting_event_id"), wait.event_id, "which it is");
	is_u64(row_number(rows, 3, "event_id"), wait.event_id, "and that ends later");
	rows_free(rows);
	p.session->busy = true;
	count_rows(p, &cell, table, 4);
	p.session->busy = false;
	is_u64(table_sum(p.arena, HISTORY, "number_of_bytes"), 6, "none in a recording");
	is_u64(loss_of(p.arena, PFS_LOSS_LOCKER), 1, "that is counted as lost");
	is_u64(p.session->thread->seq & 1, 0, "no sequence stays open");
	leave_place(p);
}

/* --- what statements waited for --- */

static uint64_t
total_of(const PfsWaitTotals *totals, uint32_t wait)
{
	for (uint32_t i = 0; i < totals->used; i++)
		if (totals->wait[i] == wait)
			return totals->stat[i].sum;
	return 0;
}

static void
lock_wait(PfsSession *session, PfsTicks ticks)
{
	fixture_wait(session, FIXTURE_WAIT_LOCK, PFS_OPERATION_SEMAPHORE, 0, 0, ticks, -1);
}

static void
test_totals(void)
{
	Place p = new_place(NULL, false);
	PfsStatement *outer;
	PfsStatement *inner;
	FixtureRow table = fixture_table(p.arena, 5, 1, 0);

	plain(p.session, 10);
	plain(p.session, 1);
	lock_wait(p.session, 100);
	is_u64(p.session->waits.used, 2, "waits before the first statement are kept");
	outer = fixture_open(p.session, 0, 1, "outer");
	is_u64(p.session->waits.used, 0, "the next statement takes them");
	is_u64(total_of(&outer->waits, FIXTURE_WAIT_PLAIN), 11, "with their times");
	is_u64(pfs_record_counter(outer->record, PFS_COUNTER_LOCK_TIME), 100,
		   "that for a lock is lock time: of its parsing");
	plain(p.session, 2);
	is_u64(total_of(&p.session->waits, FIXTURE_WAIT_PLAIN), 2, "it does not run yet");
	p.session->top = outer;
	plain(p.session, 4);
	is_u64(total_of(&outer->waits, FIXTURE_WAIT_PLAIN), 15, "the server works for it");
	p.session->running = outer;
	lock_wait(p.session, 1000);
	is_u64(pfs_record_counter(outer->record, PFS_COUNTER_LOCK_TIME), 1100, "lock time");
	inner = fixture_open(p.session, 0, 2, "inner");
	is_u64(inner->waits.used, 0, "a nested one takes nothing");
	p.session->running = inner;
	lock_wait(p.session, 5000);
	fixture_wait(p.session, FIXTURE_WAIT_LWLOCK, PFS_OPERATION_SEMAPHORE, 0, 0, 70, -1);
	fixture_fetch(p.session, table, 5, 300);
	is_u64(inner->waits.used, 2, "a table's time contains other waits");
	is_u64(total_of(&outer->waits, FIXTURE_WAIT_LOCK), 1100, "the caller has its own");
	pfs_statement_close(p.session, inner, FIXTURE_START + 9000);
	is_u64(total_of(&outer->waits, FIXTURE_WAIT_LOCK), 6100, "until the nested one ends");
	is_u64(total_of(&outer->waits, FIXTURE_WAIT_LWLOCK), 70, "with all kinds");
	is_u64(pfs_record_counter(outer->record, PFS_COUNTER_LOCK_TIME), 6100, "and its lock time");
	pfs_statement_close(p.session, outer, FIXTURE_START + 9000);
	p.session->top = NULL;
	is_u64(table_number(p.arena, STATEMENTS, "sql_text", "outer", "lock_time"), 6100, "shown");
	is_u64(table_number(p.arena, STATEMENTS, "sql_text", "inner", "lock_time"), 5000, "of both");
	is_u64(number_of(p.arena, DIGESTS, LOCK_NAME, "count_star"), 3, "the digest of the caller");
	is_u64(table_sum(p.arena, DIGESTS, "sum_timer_wait"), 6100 + 15 + 70 + 5070,
		   "each has all that happened in it");
	is_u64(total_of(&p.session->waits, FIXTURE_WAIT_PLAIN), 2, "the rest is for the next one");
	fixture_wait(p.session, FIXTURE_WAIT_IDLE, PFS_OPERATION_IDLE, 0, 0, 10, -1);
	is_u64(p.session->waits.used, 0, "unless the session is idle before");
	is_u64(global(p.arena, "idle", "sum_timer_wait"), 10, "idle time is counted by name");
	outer = fixture_open(p.session, 0, 1, "next");
	p.session->running = outer;
	plain(p.session, 1);
	fixture_wait(p.session, FIXTURE_WAIT_IDLE, PFS_OPERATION_IDLE, 0, 0, 10, -1);
	is_u64(outer->waits.used, 1, "a suspended statement keeps its own");
	is_u64(total_of(&outer->waits, FIXTURE_WAIT_IDLE), 0, "and is not charged for idle time");
	pfs_statement_drop(p.session, outer);
	fixture_statement(p.session, 0, 3, 10, NULL);
	is_u64(table_sum(p.arena, DIGESTS, "count_star"), 3 + 3 + 1 + 1 + 1, "a dropped one has none");
	leave_place(p);
}

static void
test_many_kinds(void)
{
	Place p = place_of_many(false);
	PfsStatement *outer;
	PfsStatement *inner;

	for (uint32_t i = 10; i < 10 + PFS_WAIT_TOTALS + 2; i++)
		for (int n = 0; n < 2; n++)
			fixture_wait(p.session, i, PFS_OPERATION_NONE, 0, 0, i, -1);
	is_u64(p.session->waits.used, PFS_WAIT_TOTALS, "so many kinds");
	is_u64(loss_of(p.arena, PFS_LOSS_WAIT_TOTALS), 4, "what is more is counted");
	for (uint32_t i = 10; i < 10 + PFS_WAIT_TOTALS; i++)
		ok(total_of(&p.session->waits, i) == 2 * i, "kind %u is right", i);
	is_u64(global(p.arena, "wait/unit/27", "count_star"), 2, "by name nothing is lost");
	outer = fixture_open(p.session, 0, 1, "outer");
	p.session->running = outer;
	inner = fixture_open(p.session, 0, 2, "inner");
	p.session->running = inner;
	for (int n = 0; n < 3; n++)
		fixture_wait(p.session, 40, PFS_OPERATION_NONE, 0, 0, 1, -1);
	fixture_wait(p.session, 12, PFS_OPERATION_NONE, 0, 0, 1, -1);
	pfs_statement_close(p.session, inner, FIXTURE_START + 100);
	is_u64(loss_of(p.arena, PFS_LOSS_WAIT_TOTALS), 7, "the caller has no room for new kinds");
	is_u64(total_of(&outer->waits, 12), 25, "but for those it has");
	pfs_statement_close(p.session, outer, FIXTURE_START + 100);
	is_u64(table_sum(p.arena, DIGESTS, "count_star"), 2 * PFS_WAIT_TOTALS + 1 + 4,
		   "the rest is in the digests");
	leave_place(p);
}

/* A parallel worker has no statement: its leader's digest gets its waits. */
static void
test_bill(void)
{
	Place p = new_place(NULL, false);
	PfsSession *worker = fixture_attach(p.arena, 1, NULL, NULL);
	uint32_t digest = fixture_digest(p.session, 1);

	pfs_wait_bill(worker, digest, p.arena->digest_generation);
	is_u64(table_count(p.arena, DIGESTS), 0, "nothing to bill");
	plain(worker, 10);
	plain(worker, 20);
	pfs_enter_recording(worker);
	pfs_wait_bill(worker, digest, p.arena->digest_generation);
	pfs_leave_recording(worker);
	is_u64(table_count(p.arena, DIGESTS), 0, "not now");
	pfs_wait_bill(worker, digest, p.arena->digest_generation);
	is_u64(table_sum(p.arena, DIGESTS, "sum_timer_wait"), 30, "the worker's waits");
	pfs_wait_bill(worker, digest, p.arena->digest_generation);
	is_u64(table_sum(p.arena, DIGESTS, "sum_timer_wait"), 30, "only once");
	fixture_detach(worker);
	leave_place(p);
}

/* --- switches, from the next event on --- */

/* What the host does: asks first. */
static void
observed(PfsSession *session, uint32_t wait)
{
	if (pfs_wait_enabled(session, wait))
		fixture_wait(session, wait, PFS_OPERATION_READ, 0, 0, 10, 1);
}

static void
test_switches(void)
{
	static const uint32_t waits[] = {FIXTURE_WAIT_PLAIN, FIXTURE_WAIT_FILE, FIXTURE_WAIT_SOCKET};
	Place p = new_place(NULL, false);

	for (size_t i = 0; i < PFS_LENGTH(waits); i++)
	{
		PfsInstrument *instrument = pfs_wait_instrument(p.arena, waits[i]);
		const char *name = instrument->name;

		observed(p.session, waits[i]);
		observed(p.session, waits[i]);
		pfs_set_instrument(p.arena, instrument, 0, -1);
		observed(p.session, waits[i]);
		is_u64(global(p.arena, name, "count_star"), 2, "off: the next one does not count");
		pfs_set_instrument(p.arena, instrument, 1, 0);
		observed(p.session, waits[i]);
		is_u64(global(p.arena, name, "count_star"), 3, "on");
		is_u64(global(p.arena, name, "sum_timer_wait"), 20, "untimed");
		pfs_set_instrument(p.arena, instrument, -1, 1);
		observed(p.session, waits[i]);
		is_u64(global(p.arena, name, "sum_timer_wait"), 30, "timed again");
		is_u64(number_of(p.arena, BY_THREAD, name, "count_star"), 4, "by thread");
		pfs_set_consumer(p.arena, PFS_CONSUMER_THREAD, false);
		observed(p.session, waits[i]);
		is_u64(number_of(p.arena, BY_THREAD, name, "count_star"), 4, "thread instrumentation off");
		is_u64(number_of(p.arena, BY_USER, name, "count_star"), 4, "no user either");
		is_u64(global(p.arena, name, "count_star"), 5, "only the global sum");
		pfs_set_consumer(p.arena, PFS_CONSUMER_THREAD, true);
		observed(p.session, waits[i]);
		is_u64(number_of(p.arena, BY_THREAD, name, "count_star"), 5, "and on");
		is_u64(global(p.arena, name, "count_star"), 6, "both count");
	}
	fixture_detach(p.session);
	is_u64(table_sum(p.arena, GLOBAL, "count_star"), 18, "all of it when the thread has gone");
	is_u64(table_sum(p.arena, BY_USER, "count_star"), 15, "by user what belongs there");
	fixture_free(p.arena);
}

static void
test_consumers(void)
{
	Place p = new_place(NULL, false);
	PfsWait outer = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	PfsWait wait;

	is_u64(outer.level, 0, "nothing is shown by default");
	pfs_set_consumer(p.arena, PFS_CONSUMER_WAITS_CURRENT, true);
	plain(p.session, 5);
	is_u64(table_sum(p.arena, CURRENT, "timer_wait"), 5, "from the next wait on it is");
	is_u64(table_count(p.arena, HISTORY), 0, "no history wanted");
	pfs_wait_end(p.session, &outer, FIXTURE_START + 50, -1);
	is_u64(table_sum(p.arena, CURRENT, "timer_wait"), 5, "one that began unseen stays so");
	pfs_set_consumer(p.arena, PFS_CONSUMER_WAITS_HISTORY, true);
	plain(p.session, 6);
	is_u64(table_sum(p.arena, HISTORY, "timer_wait"), 6, "history");
	is_u64(table_count(p.arena, "events_waits_history_long"), 0, "not the long one");
	pfs_thread_keep_history(p.arena, p.session->thread, false);
	plain(p.session, 7);
	is_u64(table_count(p.arena, HISTORY), 1, "not of this thread");
	pfs_thread_keep_history(p.arena, p.session->thread, true);
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	pfs_set_consumer(p.arena, PFS_CONSUMER_WAITS_CURRENT, false);
	pfs_wait_end(p.session, &wait, FIXTURE_START + 8, -1);
	is_u64(table_sum(p.arena, CURRENT, "timer_wait"), 8, "a row that was begun is ended");
	is_u64(table_count(p.arena, HISTORY), 1, "but history is off with current");
	is_u64(p.session->thread->wait_depth, 0, "the stack is empty");
	plain(p.session, 9);
	is_u64(table_sum(p.arena, CURRENT, "timer_wait"), 8, "no more rows");
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 6, "summaries go on");
	pfs_set_consumer(p.arena, PFS_CONSUMER_DIGEST, false);
	fixture_statement(p.session, 0, 1, 5, NULL);
	is_u64(table_count(p.arena, DIGESTS), 0, "no digests, no waits by digest");
	leave_place(p);
}

/* Waits that a session remembers in the same place. */
static void
test_same_place(void)
{
	Place p = place_of_many(false);
	uint32_t a = 10;
	uint32_t b = a + PFS_WAITS_HOT;
	PfsWait outer = begin(p.session, a, FIXTURE_START);
	PfsWait inner = begin(p.session, b, FIXTURE_START);

	pfs_wait_end(p.session, &outer, FIXTURE_START + 10, -1);
	pfs_wait_end(p.session, &inner, FIXTURE_START + 100, -1);
	for (int i = 0; i < 10; i++)
	{
		fixture_wait(p.session, a, PFS_OPERATION_NONE, 0, 0, 10, -1);
		fixture_wait(p.session, b, PFS_OPERATION_NONE, 0, 0, 100, -1);
	}
	is_u64(global(p.arena, "wait/unit/10", "sum_timer_wait"), 110, "one");
	is_u64(global(p.arena, "wait/unit/42", "sum_timer_wait"), 1100, "and the other");
	outer = begin(p.session, a, FIXTURE_START);
	pfs_set_instrument(p.arena, pfs_wait_instrument(p.arena, b), 0, 0);
	ok(!pfs_wait_enabled(p.session, b), "one that is off");
	ok(pfs_wait_enabled(p.session, a), "one that is not");
	pfs_wait_end(p.session, &outer, FIXTURE_START + 10, -1);
	is_u64(global(p.arena, "wait/unit/10", "sum_timer_wait"), 120, "is counted");
	leave_place(p);
}

/* --- TRUNCATE between two events --- */

static void
test_truncate(void)
{
	static const char *const levels[PFS_LEVELS] = {
		BY_THREAD, "events_waits_summary_by_account_by_event_name", BY_USER,
		"events_waits_summary_by_host_by_event_name", GLOBAL};
	static const uint64_t want[PFS_LEVELS][PFS_LEVELS] = {
		{1, 4, 4, 4, 4}, {1, 1, 4, 4, 4}, {1, 1, 1, 4, 4}, {1, 1, 4, 1, 4}, {1, 1, 1, 1, 1},
	};
	static const uint32_t waits[] = {FIXTURE_WAIT_PLAIN, FIXTURE_WAIT_FILE, FIXTURE_WAIT_SOCKET};

	for (size_t i = 0; i < PFS_LENGTH(waits); i++)
		for (int truncated = 0; truncated < PFS_LEVELS; truncated++)
		{
			Place p = new_place(NULL, false);
			const char *name = pfs_wait_instrument(p.arena, waits[i])->name;
			PfsWait wait;

			for (int n = 0; n < 3; n++)
				observed(p.session, waits[i]);
			wait = begin(p.session, waits[i], FIXTURE_START);
			table_truncate(p.arena, levels[truncated]);
			pfs_wait_end(p.session, &wait, FIXTURE_START + 10, -1);
			for (int level = 0; level < PFS_LEVELS; level++)
				ok(number_of(p.arena, levels[level], name, "count_star") ==
						   want[truncated][level] &&
					   number_of(p.arena, levels[level], name, "sum_timer_wait") ==
						   10 * want[truncated][level],
				   "%s after TRUNCATE of %s: %s", levels[level], levels[truncated], name);
			leave_place(p);
		}
}

static void
test_truncate_rows(void)
{
	static const char *const tables[] = {CURRENT, HISTORY, "events_waits_history_long"};
	Place p = new_place(NULL, true);
	PfsWait wait;

	for (size_t i = 0; i < PFS_LENGTH(tables); i++)
	{
		plain(p.session, 5);
		ok(table_truncate(p.arena, tables[i]), "TRUNCATE");
		for (size_t t = 0; t < PFS_LENGTH(tables); t++)
			ok((table_count(p.arena, tables[t]) == 0) == (t == i), "empties only %s", tables[i]);
		plain(p.session, 5);
		is_u64(table_count(p.arena, tables[i]), 1, "the next one is shown");
	}
	wait = begin(p.session, FIXTURE_WAIT_PLAIN, FIXTURE_START);
	table_truncate(p.arena, CURRENT);
	is_u64(table_count(p.arena, CURRENT), 0, "what runs is hidden too");
	pfs_wait_end(p.session, &wait, FIXTURE_START + 5, -1);
	is_u64(table_count(p.arena, CURRENT), 1, "until it ends");
	leave_place(p);
}

/* --- no room --- */

static void
test_full_pool(void)
{
	PfsSizes sizes = fixture_sizes();
	FixtureRow table;
	PfsWait wait;
	Place p;

	sizes.pool_bytes = 40 * PFS_POOL_UNIT;
	p = new_place(&sizes, true);
	table = fixture_table(p.arena, 5, 1, 0);
	plain(p.session, 10);
	while (pfs_pool_alloc(pfs_pool_of(p.arena), 1) != 0)
		;
	plain(p.session, 10);
	is_u64(loss_of(p.arena, PFS_LOSS_CELLS), 0, "a cell that is there is used");
	for (int i = 0; i < 3; i++)
		lock_wait(p.session, 10);
	is_u64(loss_of(p.arena, PFS_LOSS_CELLS), 3, "without a cell each wait is counted as lost");
	is_u64(global(p.arena, LOCK_NAME, "count_star"), 0, "and not shown");
	fixture_wait(p.session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, 0, 0, 10, 1);
	is_u64(loss_of(p.arena, PFS_LOSS_CELLS), 4, "a file");
	pfs_store(&p.session->thread->socket.used, 1);
	fixture_wait(p.session, FIXTURE_WAIT_SOCKET, PFS_OPERATION_READ, 0, 0, 10, 1);
	is_u64(loss_of(p.arena, PFS_LOSS_CELLS), 5, "a socket");
	is_u64(table_sum(p.arena, "socket_summary_by_instance", "count_star"), 1,
		   "which counts in its thread");
	fixture_fetch(p.session, table, 5, 10);
	is_u64(loss_of(p.arena, PFS_LOSS_CELLS), 6, "a table");
	is_u64(loss_of(p.arena, PFS_LOSS_OBJECT_CELLS), 1, "by name and by object");
	is_u64(table_count(p.arena, HISTORY), sizes.waits_history, "rows need no pool");
	is_u64(p.session->waits.used, 4, "nor do the totals of statements");
	wait = begin(p.session, FIXTURE_WAIT_LOCK, FIXTURE_START);
	table_truncate(p.arena, GLOBAL);
	pfs_wait_end(p.session, &wait, FIXTURE_START + 10, -1);
	plain(p.session, 10);
	is_u64(global(p.arena, PLAIN_NAME, "count_star"), 1, "TRUNCATE needs none either");
	leave_place(p);
}

/* The codes of the host. */
static void
test_codes(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;

	sizes.waits += 4;
	sizes.instruments += 4;
	arena = fixture_arena(&sizes);
	is_u64(pfs_wait_of_code(arena, 0x05000003), UINT32_MAX, "a code that nobody has registered");
	pfs_register_wait(arena, PFS_WAIT_PLAIN, "wait/a", "", 0x05000003, true);
	pfs_register_wait(arena, PFS_WAIT_PLAIN, "wait/b", "", 0x0A0000FF, true);
	pfs_register_wait(arena, PFS_WAIT_PLAIN, "wait/c", "", 0x05000100, true);
	pfs_register_wait(arena, PFS_WAIT_PLAIN, "wait/d", "", 0, true);
	is_u64(pfs_wait_of_code(arena, 0x05000003), FIXTURE_WAITS, "a code");
	is_u64(pfs_wait_of_code(arena, 0x0A0000FF), FIXTURE_WAITS + 1, "another class");
	is_u64(pfs_wait_of_code(arena, 0x05000100), UINT32_MAX, "too high for the map");
	is_u64(pfs_wait_of_code(arena, 0x06000003), UINT32_MAX, "the same number in another class");
	is_u64(pfs_wait_of_code(arena, 0), UINT32_MAX, "no code is none");
	ok(pfs_wait_instrument(arena, 999) == pfs_wait_instrument(arena, 0),
	   "an unknown wait is the first one");
	fixture_free(arena);
}

int
main(void)
{
	test_life();
	test_times();
	test_nesting();
	test_promised();
	test_deep_stack();
	test_never_ended();
	test_drop();
	test_busy();
	test_signal();
	test_many_signals(false);
	test_many_signals(true);
	test_io();
	test_objects();
	test_rows();
	test_rows_shown();
	test_idle_around();
	test_known_socket();
	test_short_way();
	test_sums_of_calls();
	test_counted_calls();
	test_totals();
	test_many_kinds();
	test_bill();
	test_switches();
	test_consumers();
	test_same_place();
	test_truncate();
	test_truncate_rows();
	test_full_pool();
	test_codes();
	return done_testing();
}
