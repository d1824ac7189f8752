/*
 * test_waits_uncopied.c - waits that have ended and are not in the long history yet: readers find each of them once.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/history.h"
#include "core/wait.h"
#include "core/wait_block.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITS "events_waits_history"
#define LONG "events_waits_history_long"

static PfsArena *
new_arena(uint32_t history, uint32_t rows)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;

	sizes.waits_history = history;
	sizes.waits_history_long = rows;
	arena = fixture_arena(&sizes);
	fixture_keep_waits(arena);
	return arena;
}

/* A wait whose length, and end, are its number. */
static void
numbered(PfsSession *session, uint64_t number)
{
	PfsWait wait = {.wait = FIXTURE_WAIT_FILE, .operation = PFS_OPERATION_READ};

	pfs_wait_begin(session, &wait, FIXTURE_START);
	pfs_wait_end(session, &wait, FIXTURE_START + number, (int64_t) number);
}

static void
several(PfsSession *session, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		numbered(session, i);
}

/* Does the long history have just the waits with these numbers, each once, in the order of their ends? */
static bool
has_just(PfsArena *arena, uint64_t first, uint64_t last)
{
	Rows *rows = rows_of(arena, LONG);
	bool right = (uint64_t) rows->count == last + 1 - first;

	for (int i = 0; right && i < rows->count; i++)
		right = row_number(rows, i, "timer_wait") == first + (uint64_t) i &&
				row_number(rows, i, "number_of_bytes") == first + (uint64_t) i;
	rows_free(rows);
	return right;
}

static uint64_t
copied(const PfsArena *arena)
{
	return pfs_load(&arena->waits_long_ring.next) + PFS_WAIT_BLOCK * pfs_load(&arena->wait_places_ring.next);
}

/* A thread's last waits, wherever they are. */
static void
test_each_once(uint32_t history, uint32_t size)
{
	PfsArena *arena = new_arena(history, size);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= 300; i++)
	{
		numbered(session, i);
		wrong += !has_just(arena, i > size ? i - size + 1 : 1, i);
		wrong += copied(arena) > i || i - copied(arena) >= pfs_thread_wait_ring(&arena->sizes);
		wrong += table_count(arena, WAITS) != pfs_min(i, (uint64_t) history);
	}
	ok(wrong == 0, "history %u, long history %u: it has the last ones, each once", history, size);
	fixture_detach(session);
	is_u64(copied(arena), 300, "at its end a thread copies all");
	ok(has_just(arena, size > 300 ? 1 : 300 - size + 1, 300), "nothing else has changed");
	is_u64(loss_of(arena, PFS_LOSS_HISTORY_LONG), 0, "nothing was lost");
	fixture_free(arena);
}

/* Those of a thread that rests are older than what others have copied since. */
static void
test_by_ends(void)
{
	PfsArena *arena = new_arena(4, 64);
	PfsSession *resting = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *busy = fixture_attach(arena, 1, "bob", "h1");
	Rows *rows;

	several(resting, 1, 20);
	several(busy, 21, 60);
	ok(has_just(arena, 1, 60), "two threads' waits stand in the order of their ends");
	several(busy, 61, 100);
	ok(has_just(arena, 37, 100), "the oldest ones give way, wherever they are");
	rows = rows_seen_by(arena, LONG, "ada");
	is_u64((uint64_t) rows->count, 0, "nobody sees another's");
	rows_free(rows);
	fixture_detach(busy);
	fixture_detach(resting);
	fixture_free(arena);
}

static void
test_truncate(void)
{
	PfsArena *arena = new_arena(4, 64);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	several(session, 1, 40);
	ok(table_truncate(arena, LONG), "TRUNCATE");
	is_u64(table_count(arena, LONG), 0, "of those that are there, and those that are not yet");
	is_u64(table_count(arena, WAITS), 4, "the thread's own history stays");
	several(session, 41, 45);
	ok(has_just(arena, 41, 45), "what ends later is there");
	fixture_detach(session);
	ok(has_just(arena, 41, 45), "and stays");
	fixture_free(arena);
}

/* The one history without the other. */
static void
test_hidden(void)
{
	PfsArena *arena = new_arena(4, 64);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t wrong = 0;

	several(session, 1, 3);
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_HISTORY, false);
	for (uint64_t i = 4; i <= 100; i++)
	{
		numbered(session, i);
		wrong += !has_just(arena, i > 64 ? i - 63 : 1, i);
	}
	is_u64(wrong, 0, "the long history alone has the last ones");
	is_u64(table_count(arena, WAITS), 0, "the thread's own has none of them");
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_HISTORY, true);
	several(session, 101, 102);
	is_u64(table_sum(arena, WAITS, "timer_wait"), 101 + 102, "but those that end when it is on again");
	pfs_set_consumer(arena, PFS_CONSUMER_WAITS_HISTORY_LONG, false);
	several(session, 103, 300);
	is_u64(table_sum(arena, WAITS, "timer_wait"), 297 + 298 + 299 + 300, "alone it has the last ones");
	ok(has_just(arena, 102 - 63, 102), "and the long one none of them");
	fixture_detach(session);
	fixture_free(arena);
}

/* Each wait is there by the switches of its own time. */
static void
test_switches(void)
{
	static const PfsConsumer switches[] = {PFS_CONSUMER_WAITS_HISTORY_LONG, PFS_CONSUMER_WAITS_HISTORY,
		PFS_CONSUMER_WAITS_CURRENT, PFS_CONSUMER_THREAD};

	for (size_t i = 0; i < PFS_LENGTH(switches); i++)
	{
		PfsArena *arena = new_arena(4, 64);
		PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
		bool goes_on = switches[i] == PFS_CONSUMER_WAITS_HISTORY;

		several(session, 1, 5);
		pfs_set_consumer(arena, switches[i], false);
		ok(has_just(arena, 1, 5), "a consumer is switched off: what has ended stays");
		several(session, 6, 9);
		ok(has_just(arena, 1, goes_on ? 9 : 5), "what ends then is there if its own consumer is on");
		pfs_set_consumer(arena, switches[i], true);
		ok(has_just(arena, 1, goes_on ? 9 : 5), "switched on it shows nothing else");
		several(session, 10, 50);
		is_u64(table_count(arena, LONG), goes_on ? 50 : 46, "but what ends from now on");
		pfs_thread_keep_history(arena, session->thread, false);
		several(session, 51, 60);
		pfs_thread_keep_history(arena, session->thread, true);
		is_u64(table_count(arena, LONG), goes_on ? 50 : 46, "nothing of a thread without history");
		fixture_detach(session);
		is_u64(table_count(arena, LONG), goes_on ? 50 : 46, "each once");
		fixture_free(arena);
	}
}

/* Killed when rows are copied and that is not noted. */
static void
test_killed_in_copying(void)
{
	PfsArena *arena = new_arena(4, 64);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint64_t noted = pfs_load(&session->thread->waits_copied);

	several(session, 1, 20);
	pfs_history_waits(arena, session->thread, &session->statements_long.waits, UINT64_MAX);
	is_u64(copied(arena), 20, "all are copied");
	pfs_store(&session->thread->waits_copied, noted);
	ok(has_just(arena, 1, 20), "those that are in both places are shown once");
	fixture_kill(session);
	session = fixture_attach(arena, 0, "bob", "h1");
	ok(has_just(arena, 1, 20), "a successor copies nothing");
	several(session, 21, 25);
	ok(has_just(arena, 1, 25), "but its own");
	fixture_kill(session);
	ok(has_just(arena, 1, 25), "a dead thread's are shown");
	session = fixture_attach(arena, 0, "bob", "h1");
	ok(has_just(arena, 1, 20), "until somebody else has its slot");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_exchanged(void)
{
	PfsArena *arena = new_arena(40, 400);
	PfsSession *session[4];
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < PFS_LENGTH(session); i++)
		session[i] = fixture_attach(arena, i, "ada", "h1");
	for (uint64_t i = 1; i <= 2000; i++)
	{
		numbered(session[i * 7 % 16 / 4], i);
		wrong += fixture_blocks_astray(arena) + !has_just(arena, i > 400 ? i - 399 : 1, i);
	}
	is_u64(wrong, 0, "blocks go around, no one is lost, and the last waits are there");
	for (uint32_t i = 0; i < PFS_LENGTH(session); i++)
		fixture_detach(session[i]);
	ok(has_just(arena, 2000 - 399, 2000) && fixture_blocks_astray(arena) == 0, "also when all have gone");
	fixture_free(arena);
}

/* What stands in a block that was another thread's is not taken for a wait of this one. */
static void
test_same_number(void)
{
	PfsArena *arena = new_arena(4, 64);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsWait outer = {.wait = FIXTURE_WAIT_FILE, .operation = PFS_OPERATION_READ};
	PfsWaitRecord *head;

	several(session, 1, PFS_WAIT_BLOCK - 1);
	pfs_wait_begin(session, &outer, FIXTURE_START);
	numbered(session, PFS_WAIT_BLOCK);
	is_u64(session->wait_rows.head, PFS_WAIT_BLOCK, "a wait is around the end of a block");
	head = &session->wait_rows.slots[session->wait_rows.head].record;
	*head = (PfsWaitRecord){.event_id = outer.event_id, .start = 7, .object = 7};
	pfs_wait_end(session, &outer, FIXTURE_START + PFS_WAIT_BLOCK + 1, PFS_WAIT_BLOCK + 1);
	ok(has_just(arena, 1, PFS_WAIT_BLOCK + 1) && head->start == FIXTURE_START, "and ends behind it, whatever number stands there");
	pfs_wait_begin(session, &outer, FIXTURE_START);
	head = &session->wait_rows.slots[session->wait_rows.head + 1].record;
	numbered(session, PFS_WAIT_BLOCK + 2);
	*head = (PfsWaitRecord){.event_id = outer.event_id};
	pfs_wait_drop(session, &outer);
	is_u64(table_count(arena, "events_waits_current"), 0, "nor is it shown");
	fixture_detach(session);
	fixture_free(arena);
}

typedef struct Crowd
{
	PfsArena *arena;
	uint32_t slot;
} Crowd;

static void *
come_and_go(void *argument)
{
	const Crowd *crowd = argument;

	for (int i = 0; i < 40; i++)
	{
		PfsSession *session = fixture_attach(crowd->arena, crowd->slot, "ada", "h1");

		several(session, 1, 1000 + crowd->slot);
		fixture_detach(session);
	}
	return NULL;
}

/* More threads than blocks, at once. */
static void
test_crowd(void)
{
	PfsArena *arena = new_arena(4, 5);
	Crowd crowd[4];

	for (uint32_t i = 0; i < PFS_LENGTH(crowd); i++)
		crowd[i] = (Crowd){arena, i};
	run_threads(PFS_LENGTH(crowd), come_and_go, crowd, sizeof(Crowd));
	is_u64(fixture_blocks_astray(arena), 0, "threads exchange blocks at once, no one is lost");
	is_u64(table_count(arena, LONG), 5, "the history is full");
	fixture_free(arena);
}

static jmp_buf killed;
static int steps_left;

static void
jump(void)
{
	if (steps_left-- == 0)
		longjmp(killed, 1);
}

/* At this step of the exchange of a block.  False: there are no more steps. */
static bool
leave_in_exchange(PfsSession *session, int step)
{
	steps_left = step;
	pfs_inside_exchange = jump;
	if (setjmp(killed) == 0)
		several(session, 1, 2 * PFS_WAIT_BLOCK);
	pfs_inside_exchange = NULL;
	return steps_left < 0;
}

/* The owner of a block is killed in the middle of its exchange, or leaves in a signal handler. */
static void
test_killed_in_exchange(bool orderly)
{
	uint64_t wrong = 0;
	int step;

	for (step = 0;; step++)
	{
		PfsArena *arena = new_arena(4, 64);
		PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
		bool left = leave_in_exchange(session, step);
		uint64_t there;

		if (orderly || !left)
		{
			fixture_detach(session);
			wrong += !has_just(arena, 1, 2 * PFS_WAIT_BLOCK);
		}
		else
		{
			fixture_kill(session);
			/* others pass by what is left there */
			session = fixture_attach(arena, 1, "bob", "h1");
			several(session, 65, 65 + 127);
			wrong += !has_just(arena, 65 + 64, 65 + 127);
			fixture_detach(session);
			session = fixture_attach(arena, 0, "bob", "h1");
			there = table_count(arena, LONG);
			several(session, 200, 300);
			wrong += there != 64 || !has_just(arena, 300 - 63, 300);
			fixture_detach(session);
		}
		wrong += fixture_blocks_astray(arena);
		fixture_free(arena);
		if (!left)
			break;
	}
	ok(step > 5 && wrong == 0, "%d steps of an exchange, %" PRIu64 " wrong", step, wrong);
}

static int deadly_entry;
static PfsSeq *deadly_sequence;

static void
die(PfsSeq *seq)
{
	if (seq == deadly_sequence && deadly_entry-- == 0)
		kill(getpid(), SIGKILL);
}

/* Another process is killed in each of its recordings: at the begin and at the end of waits. */
static void
test_killed(void)
{
	PfsArena *made = new_arena(4, 100);
	PfsArena *arena = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t wrong = 0;

	for (int entry = 50; entry < 70; entry++)
	{
		PfsSession *session;
		uint64_t there;
		pid_t child;

		memcpy(arena, made, made->bytes);
		session = fixture_attach(arena, 0, "ada", "h1");
		child = fork();
		if (child == 0)
		{
			deadly_entry = entry;
			deadly_sequence = &session->thread->seq;
			pfs_inside_sequence = die;
			several(session, 1, 100);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		wrong += !has_just(arena, 1, pfs_load(&session->thread->waits_ended)) ||
				 loss_of(arena, PFS_LOSS_UNSTABLE_READS) != 0;
		fixture_kill(session);
		session = fixture_attach(arena, 0, "bob", "h1");
		there = copied(arena);
		wrong += !has_just(arena, 1, there);
		several(session, 101, 140);
		wrong += table_count(arena, LONG) != there + 40;
		fixture_detach(session);
	}
	is_u64(wrong, 0, "whenever a thread is killed, all that it ended is there once, until it has a successor");
	munmap(arena, made->bytes);
	fixture_free(made);
}

typedef struct Beside
{
	PfsArena *arena;
	uint64_t ended;
	bool done;
} Beside;

static void *
write_waits(void *argument)
{
	Beside *beside = argument;
	PfsSession *session = fixture_attach(beside->arena, 0, "ada", "h1");

	for (uint64_t i = 1; i <= 200000; i++)
	{
		numbered(session, i);
		pfs_store_release(&beside->ended, i);
	}
	fixture_detach(session);
	__atomic_store_n(&beside->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* What had ended is there, and each wait once, while they go from the one place to the other. */
static void
test_beside(void)
{
	Beside beside = {.arena = new_arena(4, 1000)};
	uint64_t wrong = 0, reads = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, write_waits, &beside);
	while (!__atomic_load_n(&beside.done, __ATOMIC_ACQUIRE))
	{
		uint64_t ended = pfs_load_acquire(&beside.ended);
		uint64_t unstable = loss_of(beside.arena, PFS_LOSS_UNSTABLE_READS);
		Rows *rows = rows_of(beside.arena, LONG);
		uint64_t last = 0;

		for (int i = 0; i < rows->count; i++)
		{
			wrong += row_number(rows, i, "timer_wait") <= last;
			last = row_number(rows, i, "timer_wait");
		}
		if (loss_of(beside.arena, PFS_LOSS_UNSTABLE_READS) == unstable)
			wrong += last < ended;
		rows_free(rows);
		reads++;
	}
	pthread_join(thread, NULL);
	ok(reads > 0 && wrong == 0, "%" PRIu64 " reads beside a writer, %" PRIu64 " wrong rows", reads, wrong);
	fixture_free(beside.arena);
}

int
main(void)
{
	test_each_once(4, 64);
	test_each_once(10, 1000);
	test_each_once(100, 40);
	test_each_once(31, 5);
	test_each_once(0, 16);
	test_each_once(1, 1);
	test_each_once(15, 100);
	test_each_once(16, 17);
	test_each_once(17, 16);
	test_by_ends();
	test_truncate();
	test_switches();
	test_hidden();
	test_killed_in_copying();
	test_exchanged();
	test_same_number();
	test_crowd();
	test_killed_in_exchange(false);
	test_killed_in_exchange(true);
	test_killed();
	test_beside();
	return done_testing();
}
