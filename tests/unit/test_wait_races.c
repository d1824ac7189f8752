/*
 * test_wait_races.c - waits at unlucky moments: in a signal handler while a session looks at its
 * setup, TRUNCATE while a reader follows a chain, memory that changes hands, waits that never end.
 */
#define _GNU_SOURCE /* REG_EFL */

#include "arena_fixture.h"
#include "tap.h"

#include "core/digest_wait.h"

#include <signal.h>
#include <ucontext.h>

#define BY_DIGEST "events_waits_summary_by_digest"
#define DIGESTS "events_statements_summary_by_digest"
#define GLOBAL "events_waits_summary_global_by_event_name"
#define CURRENT "events_waits_current"

#define MORE_WAITS 64
#define SAME_PLACE (FIXTURE_WAIT_TABLE + PFS_WAITS_HOT) /* remembered where the wait of tables is */

static PfsArena *
arena_of_many(PfsWaitKind kind, uint32_t lean_threads)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;

	sizes.waits = MORE_WAITS;
	sizes.instruments += MORE_WAITS;
	sizes.lean_threads = lean_threads;
	arena = fixture_arena(&sizes);
	for (int i = FIXTURE_WAITS; i < MORE_WAITS; i++)
	{
		char name[32];

		snprintf(name, sizeof(name), "wait/unit/%d", i);
		pfs_register_wait(arena, kind, name, "one more", 0, true);
	}
	return arena;
}

/* --- a signal handler after each instruction of a recording --- */

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#define TRAP_FLAG 0x100 /* of the processor: a signal after each instruction */

/* Changes the processor's flags; not into the red zone. */
#define FLAGS(operation, mask) \
	__asm__ __volatile__("lea -128(%%rsp), %%rsp; pushfq; " operation " %0, (%%rsp); popfq; " \
						 "lea 128(%%rsp), %%rsp" ::"i"(mask) : "memory", "cc")

static PfsSession *interrupted;
static int steps;      /* instructions so far */
static int wait_after; /* so many, a wait comes in */
static int in_handler; /* waits recorded there */

/* As the host's observer: what interrupts a recording is left out. */
static void
handle_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted_at = context;

	if (interrupted->busy || ++steps == wait_after)
	{
		interrupted_at->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
		if (interrupted->busy)
			return;
		fixture_wait(interrupted, SAME_PLACE, PFS_OPERATION_READ, 0, 0, 3, 1);
		in_handler++;
	}
}

/* Table I/O is no call; what interrupts it must not get its cell, nor the other way round. */
static void
test_signals(void)
{
	PfsArena *arena = arena_of_many(PFS_WAIT_FILE, 0);
	struct sigaction action = {.sa_sigaction = handle_step, .sa_flags = SA_SIGINFO};
	FixtureRow table = fixture_table(arena, 5, 1, 0);
	uint64_t n = 0;

	interrupted = fixture_attach(arena, 0, "ada", "h1");
	sigaction(SIGTRAP, &action, NULL);
	do
	{
		pfs_wait_enabled(interrupted, SAME_PLACE);
		steps = 0;
		wait_after = (int) ++n;
		FLAGS("orq", TRAP_FLAG);
		pfs_wait_table(interrupted, table.row, table.use, PFS_TABLE_FETCH, 1, FIXTURE_START, 10);
	} while (steps == wait_after);
	ok(in_handler > 5, "a wait after each of %d instructions", in_handler);
	is_u64(table_number(arena, GLOBAL, "event_name", "wait/io/table/sql/handler", "count_star"), n,
		   "rows of tables");
	is_u64(table_number(arena, GLOBAL, "event_name", "wait/unit/38", "count_star"),
		   (uint64_t) in_handler, "waits in signal handlers");
	fixture_detach(interrupted);
	fixture_free(arena);
}

static int seen;  /* rows of the session's last wait, after some instruction ... */
static int wrong; /* ... that were neither the one nor the other */

static void
read_step(int number, siginfo_t *info, void *context)
{
	Rows *rows = rows_of(interrupted->arena, CURRENT);

	for (int i = 0; i < rows->count; i++)
	{
		bool of_table = strcmp(row_text(rows, i, "event_name"), "wait/io/table/sql/handler") == 0;

		seen++;
		wrong += row_number(rows, i, "number_of_bytes") != (of_table ? 3 : 77) || row_text(rows, i, "end_event_id") == NULL ||
				 (row_text(rows, i, "timer_wait") == NULL) != of_table;
	}
	rows_free(rows);
}

/* Without a history the row of a table's rows is written over the one that is shown, in no sequence. */
static void
test_written_over(void)
{
	PfsArena *arena = arena_of_many(PFS_WAIT_FILE, 0);
	struct sigaction action = {.sa_sigaction = read_step, .sa_flags = SA_SIGINFO};
	FixtureRow table = fixture_table(arena, 5, 1, 0);
	PfsObjectCell *cell = &pfs_no_cell;

	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_CURRENT, true);
	interrupted = fixture_attach(arena, 0, "ada", "h1");
	pfs_wait_rows(interrupted, &cell, table.row, table.use, PFS_TABLE_FETCH, 3);
	fixture_wait(interrupted, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, 0, 0, 10, 77);
	sigaction(SIGTRAP, &action, NULL);
	FLAGS("orq", TRAP_FLAG);
	pfs_wait_rows_show(interrupted, pfs_waiting_statement(interrupted),
					   pfs_table_object(table.row, table.use), PFS_TABLE_FETCH, 3);
	FLAGS("andq", ~TRAP_FLAG);
	ok(seen > 5 && wrong == 0, "read after each instruction: %d rows, %d of them wrong", seen, wrong);
	fixture_detach(interrupted);
	fixture_free(arena);
}

#else

static void
test_signals(void)
{
	ok(true, "# SKIP no single steps here");
}

static void
test_written_over(void)
{
	ok(true, "# SKIP no single steps here");
}

#endif

/* --- digests --- */

static void
statement_kinds(PfsSession *session, uint64_t query_id, uint32_t kinds, PfsTicks ticks)
{
	PfsStatement *statement = fixture_open(session, 0, query_id, "select");

	session->running = statement;
	for (uint32_t wait = 0; wait < kinds; wait++)
		fixture_wait(session, wait, PFS_OPERATION_NONE, 0, 0, ticks, -1);
	pfs_statement_close(session, statement, FIXTURE_START + 100);
}

static void
truncate_in_chain(FixtureScan *scan)
{
	PfsSession *session = scan->extra;

	if (scan->allocations != 4) /* rows, their states, a cell, and now the first sum */
		return;
	table_truncate(session->arena, DIGESTS);
	fixture_digest(session, 77);
}

/* While a reader is between two links, another digest takes the row: the links are others' now. */
static void
test_chain_is_freed(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *gone = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *session = fixture_attach(arena, 1, "bob", "h1");
	FixtureScan scan;
	uint64_t wrong = 0;

	statement_kinds(gone, 1, 5, 900000);
	fixture_detach(gone);
	scan_begin(&scan, arena, BY_DIGEST);
	scan.on_alloc = truncate_in_chain;
	scan.extra = session;
	scan.scan.table->scan(&scan.scan);
	scan_end(&scan);
	for (int i = 0; i < scan.rows->count; i++)
		wrong += row_number(scan.rows, i, "count_star") != 1 ||
				 row_number(scan.rows, i, "sum_timer_wait") != 900000;
	is_u64(wrong, 0, "no row is made of what the memory holds now");
	ok(scan.rows->count == 0 || scan.rows->count == 5, "all rows or none, not %d",
	   scan.rows->count);
	rows_free(scan.rows);
	fixture_detach(session);
	fixture_free(arena);
}

/* --- rows --- */

static void
test_no_row(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Rows *rows;

	is_u64(pfs_object_instance(arena, PFS_MAP_FILES, 0, 0), 0, "no row, no instance");
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_CURRENT, true);
	pfs_wait_table(session, 0, 0, PFS_TABLE_FETCH, 1, FIXTURE_START, 10);
	rows = rows_of(arena, CURRENT);
	ok(row_text(rows, 0, "object_instance_begin") == NULL, "of a table that found no row");
	rows_free(rows);
	fixture_detach(session);
	fixture_free(arena);
}

/* Waits that were left by a jump, none of them inside one that ends. */
static void
test_never_ended(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_CURRENT, true);
	for (int i = 0; i < PFS_WAIT_STACK; i++)
	{
		PfsWait wait = {.wait = FIXTURE_WAIT_LOCK};

		pfs_wait_begin(session, &wait, FIXTURE_START);
		fixture_wait(session, FIXTURE_WAIT_IDLE, PFS_OPERATION_IDLE, 0, 0, 10, -1);
	}
	is_u64(session->thread->wait_depth, 0, "nothing is under way in a session that is idle");
	is_u64(loss_of(arena, PFS_LOSS_LOCKER), 0, "and no row is lost");
	fixture_detach(session);
	fixture_free(arena);
}

/* A running statement for whose row there was no place is not one that is being parsed. */
static void
test_promised(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsStatement *statement;

	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_CURRENT, true);
	session->phase = PFS_PHASE_COMMAND;
	for (uint32_t i = 0; i < arena->sizes.statement_stack; i++)
		fixture_open(session, 0, 0, "cursor");
	statement = fixture_open(session, 0, 0, "without a row");
	session->running = statement;
	fixture_wait(session, FIXTURE_WAIT_PLAIN, PFS_OPERATION_NONE, 0, 0, 5, -1);
	is_u64(session->promised_event, 0, "its waits are not those of the next statement");
	PFS_EACH_OPEN(session, open)
	pfs_statement_close(session, open, FIXTURE_START + 50);
	fixture_detach(session);
	fixture_free(arena);
}

/* --- losses that are none: processes that never execute a statement --- */

static void
test_lean(void)
{
	PfsArena *arena = arena_of_many(PFS_WAIT_PLAIN, 3);
	PfsSession *session = fixture_attach(arena, 7, NULL, NULL);

	for (uint32_t i = 10; i < 10 + 2 * PFS_WAIT_TOTALS; i++)
		fixture_wait(session, i, PFS_OPERATION_NONE, 0, 0, 10, -1);
	is_u64(loss_of(arena, PFS_LOSS_WAIT_TOTALS), 0, "no statement misses their waits");
	fixture_statement(session, 0, 0, 10, "a statement all the same");
	is_u64(loss_of(arena, PFS_LOSS_NESTED), 0, "is not nested too deep");
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	test_chain_is_freed();
	test_no_row();
	test_never_ended();
	test_promised();
	test_lean();
	test_signals();
	test_written_over();
	return done_testing();
}
