/*
 * test_wait_blocks.c - blocks of rows of waits change hands while others are in the way, or are killed.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/setup.h"
#include "core/timer.h"
#include "core/wait.h"
#include "core/wait_block.h"
#include "core/wait_end.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG "events_waits_history_long"

static PfsArena *
new_arena(uint32_t threads, uint32_t history, uint32_t rows)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;

	sizes.threads = threads;
	sizes.waits_history = history;
	sizes.waits_history_long = rows;
	arena = fixture_shared_arena(&sizes);
	fixture_keep_waits(arena);
	return arena;
}

/* A wait whose end is its number. */
static void
wait_of(PfsSession *session, uint32_t instrument, uint64_t number)
{
	PfsWait wait = {.wait = instrument, .operation = PFS_OPERATION_READ};

	pfs_wait_begin(session, &wait, FIXTURE_START);
	pfs_wait_end(session, &wait, FIXTURE_START + number, (int64_t) number);
}

static void
numbered(PfsSession *session, uint64_t number)
{
	wait_of(session, FIXTURE_WAIT_FILE, number);
}

/* Are these the numbers of the last waits there, each once? */
static bool
has_last(PfsArena *arena, uint64_t first, uint64_t last)
{
	Rows *rows = rows_of(arena, LONG);
	bool right = (uint64_t) rows->count == last + 1 - first;

	for (int i = 0; right && i < rows->count; i++)
		right = row_number(rows, i, "number_of_bytes") == first + (uint64_t) i;
	rows_free(rows);
	return right;
}

static PfsWaitBlock *
block_at(PfsArena *arena, uint32_t place)
{
	return pfs_wait_block(arena, PFS_AT(arena, arena->wait_blocks.places, uint32_t)[place]);
}

/* Somebody has stopped in the middle of an exchange: his places are passed by, and nothing else is lost. */
static void
test_passed_by(uint32_t places)
{
	PfsArena *arena = new_arena(2, 4, 400);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < places; i++)
		block_at(arena, 5 + i)->holder = UINT32_MAX;
	for (uint64_t i = 1; i <= 3000; i++)
	{
		numbered(session, i);
		if (i % 24 == 0)
			wrong += !has_last(arena, i > 400 ? i - 399 : 1, i);
	}
	ok(wrong == 0, "%u places are passed by, %" PRIu64 " times the last waits are not there", places, wrong);
	ok(pfs_load(&arena->wait_places_ring.next) > 3000 / PFS_WAIT_BLOCK / 2, "and blocks still change hands");
	fixture_detach(session);
}

/* Threads that end before they have filled a block: the history is as long as it is with others. */
static void
test_short_lives(void)
{
	PfsArena *arena = new_arena(2, 4, 600);
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= 1500; i += 10)
	{
		PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

		for (uint64_t j = i; j < i + 10; j++)
			numbered(session, j);
		fixture_detach(session);
		if (i % 50 == 1)
			wrong += !has_last(arena, i + 9 > 600 ? i + 10 - 600 : 1, i + 9);
	}
	ok(wrong == 0, "threads come and go, %" PRIu64 " times the last waits are not there", wrong);
}

/* Waits without times are as old as those around them. */
static void
test_untimed(void)
{
	PfsArena *arena = new_arena(2, 4, 64);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t wrong = 0;

	pfs_set_instrument(arena, pfs_wait_instrument(arena, FIXTURE_WAIT_SOCKET), true, false);
	for (uint64_t i = 1; i <= 1000; i++)
	{
		wait_of(session, i % 100 < 50 ? FIXTURE_WAIT_SOCKET : FIXTURE_WAIT_FILE, i);
		wrong += !has_last(arena, i > 64 ? i - 63 : 1, i);
	}
	ok(wrong == 0, "waits that are not timed stand between others, by age: %" PRIu64 " wrong", wrong);
	fixture_detach(session);
}

#define WRITERS 4
#define KILLS 50
#define SHIFT 40				/* of a thread's id in what its waits tell */

/* Until it is killed. */
static void
write_waits(PfsSession *session)
{
	int64_t of_thread = (int64_t) session->thread->thread_id << SHIFT;

	for (int64_t i = 1;; i += 2)
	{
		PfsWait outer = {.wait = FIXTURE_WAIT_LOCK}, inner = {.wait = FIXTURE_WAIT_FILE, .operation = PFS_OPERATION_READ};

		if (i % 7 == 0)
			pfs_wait_begin(session, &outer, FIXTURE_START);
		pfs_wait_begin(session, &inner, FIXTURE_START);
		pfs_wait_end(session, &inner, FIXTURE_START + (PfsTicks) i, of_thread + i);
		if (i % 7 == 0)
			pfs_wait_end(session, &outer, FIXTURE_START + (PfsTicks) i + 1, -1);
		if (i % 1001 == 0)
			usleep(20); /* a reader may be faster for once */
	}
}

static pid_t
start_writer(PfsArena *arena, PfsSession **session, uint32_t slot)
{
	pid_t child;

	*session = fixture_attach(arena, slot, "ada", "h1");
	child = fork();
	if (child == 0)
		write_waits(*session);
	return child;
}

/* Rows that are wrong: not of their thread, twice there, not ended, or too many. */
static uint64_t
wrong_rows(PfsArena *arena, uint32_t most)
{
	Rows *rows = rows_of(arena, LONG);
	uint64_t wrong = (uint64_t) rows->count > most;

	for (int i = 0; i < rows->count; i++)
	{
		uint64_t thread = row_number(rows, i, "thread_id"), event = row_number(rows, i, "event_id"),
				 bytes = row_number(rows, i, "number_of_bytes"), end = row_number(rows, i, "timer_wait");

		wrong += event == 0 || row_number(rows, i, "end_event_id") < event || row_text(rows, i, "timer_end") == NULL;
		wrong += bytes != 0 && (bytes >> SHIFT != thread || bytes % (UINT64_C(1) << SHIFT) != end);
		for (int j = i + 1; j < rows->count; j++)
			if (row_number(rows, j, "thread_id") == thread)
			{
				uint64_t other = row_number(rows, j, "event_id");

				wrong += other == event;
				wrong += bytes != 0 && row_number(rows, j, "number_of_bytes") != 0 && other < event;
			}
	}
	rows_free(rows);
	return wrong;
}

/* Processes are killed at any time, and others follow in their places. */
static void
test_killed(uint32_t history, uint32_t size)
{
	PfsArena *arena = new_arena(WRITERS, history, size);
	PfsSession *session[WRITERS];
	pid_t child[WRITERS];
	uint64_t wrong = 0;

	srandom(history + size);
	for (uint32_t slot = 0; slot < WRITERS; slot++)
		child[slot] = start_writer(arena, &session[slot], slot);
	for (int i = 0; i < KILLS; i++)
	{
		uint32_t slot = (uint32_t) random() % WRITERS;

		usleep((useconds_t) (random() % 2000));
		kill(child[slot], SIGKILL);
		waitpid(child[slot], NULL, 0);
		wrong += wrong_rows(arena, size);
		fixture_kill(session[slot]);
		child[slot] = start_writer(arena, &session[slot], slot);
		wrong += wrong_rows(arena, size);
	}
	for (uint32_t slot = 0; slot < WRITERS; slot++)
	{
		kill(child[slot], SIGKILL);
		waitpid(child[slot], NULL, 0);
		fixture_kill(session[slot]);
		fixture_detach(fixture_attach(arena, slot, "ada", "h1"));
	}
	ok(wrong == 0 && wrong_rows(arena, size) == 0 && fixture_blocks_astray(arena) == 0 &&
	   pfs_load(&arena->wait_places_ring.next) > 100,
	   "%d processes are killed, %" PRIu64 " wrong rows, %" PRIu64 " blocks astray", KILLS, wrong, fixture_blocks_astray(arena));
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define SINGLE_STEP 0x100		/* a trap after each instruction */

static PfsSession *stepped;
static int steps_left;
static uint64_t out_of_block;
static bool jumps;
static sigjmp_buf left;

/* A signal handler, which may find that a switch has changed, or never comes back. */
static void
at_step(int signal_number)
{
	const PfsWaitRows *rows = &stepped->wait_rows;

	(void) signal_number;
	if (!stepped->busy && (rows->head >= rows->turn || rows->head + PFS_WAIT_BLOCK < rows->turn))
		out_of_block++;
	if (steps_left-- == 0)
	{
		if (jumps)
			siglongjmp(left, 1);
		pfs_thread_keep_history(stepped->arena, stepped->thread, true);
		(void) pfs_session_decided(stepped);
	}
}

static void
step_by_step(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | SINGLE_STEP : flags & ~(uint64_t) SINGLE_STEP);
}

static void
call_on_socket(PfsSession *session, const PfsSocketKnown *known, int64_t bytes, bool step)
{
	PfsSocketCall call;

	if (!pfs_wait_begin_socket(session, known, PFS_IO_READ, true, &call))
		ok(false, "it begins");
	step_by_step(step);
	if (!pfs_wait_end_socket(session, known, PFS_IO_READ, true, &call, bytes, pfs_now()))
		pfs_wait_end_socket_otherwise(session, known, PFS_IO_READ, call, bytes, pfs_now());
	step_by_step(false);
}

/* A thread's waits in the long history that are not these numbers, each once. */
static uint64_t
wrong_numbers(PfsArena *arena, uint64_t thread_id, uint64_t last)
{
	Rows *rows = rows_of(arena, LONG);
	uint64_t count = 0, sum = 0;

	for (int i = 0; i < rows->count; i++)
		if (row_number(rows, i, "thread_id") == thread_id)
		{
			count++;
			sum += row_number(rows, i, "number_of_bytes");
		}
	rows_free(rows);
	return count != last || sum != last * (last + 1) / 2;
}

/* A session just before a wait that fills a block; number: of that one. */
static PfsSession *
before_turn(PfsArena *arena, PfsSocketKnown *known, uint64_t full, uint64_t *number)
{
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	table_truncate(arena, LONG);
	session->thread->socket.used = 1;
	*number = 1;
	wait_of(session, FIXTURE_WAIT_SOCKET, (*number)++);
	fixture_rest(session);
	if (!pfs_wait_know_socket(session, FIXTURE_WAIT_SOCKET, 99, known))
		ok(false, "the socket is known");
	while (*number < full)
		call_on_socket(session, known, (int64_t) (*number)++, false);
	stepped = session;
	return session;
}

static void
slow_wait(PfsSession *session, const PfsSocketKnown *known, uint64_t number)
{
	if (known != NULL)
		call_on_socket(session, known, (int64_t) number, true);
	else
	{
		step_by_step(true);
		wait_of(session, FIXTURE_WAIT_SOCKET, number);
		step_by_step(false);
	}
}

/* A signal comes at this instruction of a wait.  False: there are no more of them. */
static bool
interrupt(PfsArena *arena, int step, bool short_way, uint64_t *wrong)
{
	PfsSocketKnown known;
	uint64_t number, full = (uint64_t) step % 2 == 0 ? 32 : 48;
	PfsSession *session = before_turn(arena, &known, full, &number);
	PfsThread *thread = session->thread;
	const PfsWaitRows *rows = &session->wait_rows;
	uint64_t thread_id = thread->thread_id;

	steps_left = step / 2;
	slow_wait(session, short_way ? &known : NULL, number++);
	*wrong += rows->head != pfs_load(&thread->waits_ended) % rows->ring || rows->head >= rows->turn ||
		&rows->slots[rows->head].record != pfs_thread_wait_row(arena, thread, rows->head);
	while (number <= full + 40)
		wait_of(session, FIXTURE_WAIT_SOCKET, number++);
	fixture_detach(session);
	*wrong += wrong_numbers(arena, thread_id, full + 40);
	return steps_left < 0;
}

/* The thread leaves there, in a signal handler or because it is killed. */
static bool
leave(PfsArena *arena, int step, bool short_way, uint64_t *wrong)
{
	PfsSocketKnown known;
	uint64_t number, ended, thread_id;
	PfsSession *session = before_turn(arena, &known, 48, &number);

	steps_left = step / 2;
	if (sigsetjmp(left, 1) == 0)
		slow_wait(session, short_way ? &known : NULL, number);
	ended = pfs_load(&session->thread->waits_ended);
	thread_id = session->thread->thread_id;
	if (step % 2 == 0)
	{
		fixture_detach(session);
		*wrong += wrong_numbers(arena, thread_id, ended);
	}
	else
		fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h1");
	table_truncate(arena, LONG);
	thread_id = session->thread->thread_id;
	for (number = 1; number <= 150; number++)
		wait_of(session, FIXTURE_WAIT_FILE, number);
	fixture_detach(session);
	*wrong += wrong_numbers(arena, thread_id, 150) + fixture_blocks_astray(arena);
	return steps_left < 0;
}

/* Wherever a signal comes, the next row would be written in a block of the thread's own, and each wait is there once. */
static void
test_signals(void)
{
	PfsArena *arena = new_arena(2, 4, 200);

	pfs_timer.kind = PFS_TIMER_CYCLE;	/* without it there is no short way */
	signal(SIGTRAP, at_step);
	for (int i = 0; i < 4; i++)
	{
		uint64_t wrong = 0;
		int step = 0;

		out_of_block = 0;
		jumps = i >= 2;
		while ((jumps ? leave : interrupt) (arena, step, i % 2, &wrong))
			step++;
		ok(step > 50 && wrong == 0 && out_of_block == 0 && fixture_blocks_astray(arena) == 0,
		   "%d times a wait is %s, %" PRIu64 " wrong, %" PRIu64 " out of the block", step, jumps ? "left" : "interrupted", wrong,
		   out_of_block);
	}
}
#endif

int
main(void)
{
	test_passed_by(1);
	test_passed_by(5);
	test_short_lives();
	test_untimed();
	test_killed(4, 50);
	test_killed(40, 20);
#ifdef SINGLE_STEP
	test_signals();
#endif
	return done_testing();
}
