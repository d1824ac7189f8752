/*
 * test_wait_concurrency.c - sessions record waits with all consumers on, while others read all
 * tables of waits, TRUNCATE them and turn switches.
 *
 * A wait's length follows from its instrument, and so do its bytes: a row that was read while it
 * was being written betrays itself, and sums can be checked at any time.
 */
#include "arena_fixture.h"
#include "core/wait_end.h"
#include "tap.h"

#include <sched.h>

#define WRITERS 2
#define OTHERS 2
#define SCANS 40 /* that counted; writers go on until then */
#define WAITS 3000
#define WAITS_MAX 2000000
#define KINDS 5 /* plain, file, socket, lock, lwlock */

#define BY_THREAD "events_waits_summary_by_thread_by_event_name"
#define GLOBAL "events_waits_summary_global_by_event_name"
#define FILES "file_summary_by_event_name"
#define SOCKETS "socket_summary_by_event_name"

typedef struct Party
{
	PfsArena *arena;
	uint32_t number;
	bool *done;
	struct Party *writer;
	struct Party *others;
	uint64_t started; /* waits, by a writer */
	uint64_t ended;
	uint64_t wrong; /* by the others */
	uint64_t checked;
} Party;

static uint64_t quick_calls; /* in the short way, with a row; about */

static bool
is_done(const Party *party)
{
	return __atomic_load_n(party->done, __ATOMIC_ACQUIRE);
}

static uint64_t
all(const Party *party, bool started)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire(started ? &party->writer[i].started : &party->writer[i].ended);
	return sum;
}

static void
check(Party *party, uint64_t wrong, bool counts)
{
	if (counts)
	{
		party->wrong += wrong;
		pfs_add(&party->checked, 1);
	}
}

/* --- writers --- */

static PfsTicks
ticks_of(uint32_t wait)
{
	return 10 + wait;
}

static PfsOperation
operation_of(uint32_t wait)
{
	return wait == FIXTURE_WAIT_FILE     ? PFS_OPERATION_READ
		   : wait == FIXTURE_WAIT_SOCKET ? PFS_OPERATION_SEND
										 : PFS_OPERATION_NONE;
}

static PfsWait
begin(PfsSession *session, uint32_t wait)
{
	PfsWait event = {
		.wait = wait, .operation = operation_of(wait), .object = {.instance = ticks_of(wait)}};

	pfs_wait_begin(session, &event, FIXTURE_START);
	return event;
}

static void
end(PfsSession *session, PfsWait *event, PfsTicks ticks)
{
	pfs_wait_end(session, event, FIXTURE_START + ticks, (int64_t) ticks);
}

/* A call on the socket in the short way. False: it is not to be had, nothing was done. */
static bool
quick_call(PfsSession *session, PfsSocketKnown *known)
{
	PfsTicks ticks = ticks_of(FIXTURE_WAIT_SOCKET);
	bool at_rest = pfs_wait_is_at_rest(session);
	PfsSocketCall call = {0};

	if (!pfs_wait_is_known(session, known) && !pfs_wait_know_socket(session, FIXTURE_WAIT_SOCKET, ticks, known))
		return false;
	if (!known->shown)
		return pfs_wait_count_socket(session, known, PFS_IO_WRITE, FIXTURE_START, (int64_t) ticks, FIXTURE_START + ticks);
	if (!pfs_wait_begin_socket(session, known, PFS_IO_WRITE, at_rest, &call))
		return false;
	if (!pfs_wait_end_socket(session, known, PFS_IO_WRITE, at_rest, &call, (int64_t) ticks, call.start + ticks))
		pfs_wait_end_socket_otherwise(session, known, PFS_IO_WRITE, call, (int64_t) ticks, call.start + ticks);
	pfs_add(&quick_calls, 1);
	return true;
}

/* Sometimes a wait inside another one, sometimes one that is dropped, sometimes a statement around. */
static uint64_t
one_round(PfsSession *session, uint64_t i, PfsSocketKnown *known)
{
	uint32_t wait = (uint32_t) (i % KINDS);
	PfsStatement *statement = i % 7 == 0 ? fixture_open(session, 0, 1 + i % 3, "select") : NULL;
	PfsWait outer;
	uint64_t n = 1;

	if (wait == FIXTURE_WAIT_SOCKET && statement == NULL && quick_call(session, known))
		return n;
	if (statement != NULL)
		session->running = statement;
	outer = begin(session, wait);
	if (i % 3 == 0)
	{
		PfsWait inner = begin(session, FIXTURE_WAIT_LWLOCK);

		if (i % 2 == 0)
			pfs_wait_drop(session, &inner);
		else
		{
			end(session, &inner, ticks_of(FIXTURE_WAIT_LWLOCK));
			n++;
		}
	}
	end(session, &outer, ticks_of(wait));
	if (statement != NULL)
		pfs_statement_close(session, statement, FIXTURE_START + 100);
	return n;
}

static bool
is_enough(const Party *writer, uint64_t n)
{
	bool all_checked = true;

	if (n % 32 == 0)
		sched_yield();
	for (int i = 0; i < OTHERS; i++)
		all_checked = all_checked && pfs_load(&writer->others[i].checked) >= SCANS;
	return n >= WAITS_MAX || (n >= WAITS && all_checked);
}

static void *
write_waits(void *argument)
{
	static const char *const users[] = {"ada", "bob"};
	Party *writer = argument;
	PfsSession *session = NULL;
	PfsSocketKnown known = {0};

	for (uint64_t i = 0; !is_enough(writer, i); i++)
	{
		if (i % 500 == 0)
		{
			if (session != NULL)
				fixture_detach(session);
			session = fixture_attach(writer->arena, writer->number, users[i / 500 % 2], "h1");
			pfs_store(&session->thread->socket.used, 1);
			known.changes = 0;
		}
		fixture_rest(session);
		pfs_add(&writer->started, 2);
		pfs_fence();
		{
			uint64_t n = one_round(session, i, &known);

			pfs_fence();
			if (n == 1)
				pfs_store(&writer->started, writer->started - 1);
			pfs_add(&writer->ended, n);
		}
	}
	fixture_detach(session);
	return NULL;
}

/* --- readers --- */

static uint32_t
wait_of(PfsArena *arena, const char *name)
{
	for (uint32_t i = 0; i < FIXTURE_WAITS; i++)
		if (strcmp(pfs_wait_instrument(arena, i)->name, name) == 0)
			return i;
	return 0;
}

/* Sums whose times do not fit to their counts. */
static uint64_t
wrong_sums(PfsArena *arena, const Rows *rows)
{
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
	{
		uint64_t n = row_number(rows, i, "count_star");
		PfsTicks ticks = ticks_of(wait_of(arena, row_text(rows, i, "event_name")));

		wrong += row_number(rows, i, "sum_timer_wait") != n * ticks ||
				 row_number(rows, i, "min_timer_wait") != (n > 0 ? ticks : 0) ||
				 row_number(rows, i, "max_timer_wait") != (n > 0 ? ticks : 0);
		if (strcmp(rows->table->name, FILES) == 0)
			wrong += row_number(rows, i, "count_read") != n ||
					 row_number(rows, i, "sum_number_of_bytes_read") != n * ticks;
		if (strcmp(rows->table->name, SOCKETS) == 0)
			wrong += row_number(rows, i, "count_write") != n ||
					 row_number(rows, i, "sum_number_of_bytes_write") != n * ticks;
	}
	return wrong;
}

static uint64_t
wrong_rows(PfsArena *arena, const Rows *rows)
{
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
	{
		uint32_t wait = wait_of(arena, row_text(rows, i, "event_name"));
		PfsTicks ticks = ticks_of(wait);
		bool ended = row_text(rows, i, "end_event_id") != NULL;

		wrong += row_number(rows, i, "object_instance_begin") != ticks ||
				 row_number(rows, i, "event_id") == 0 || row_number(rows, i, "thread_id") == 0 ||
				 (wait == FIXTURE_WAIT_SOCKET ? row_number(rows, i, "timer_start") < FIXTURE_START
											  : row_number(rows, i, "timer_start") != FIXTURE_START) ||
				 row_number(rows, i, "number_of_bytes") != (ended ? ticks : 0) ||
				 (ended && row_number(rows, i, "timer_wait") != ticks) ||
				 (ended && row_number(rows, i, "end_event_id") < row_number(rows, i, "event_id"));
	}
	return wrong;
}

static const struct
{
	const char *name;
	uint64_t (*wrong)(PfsArena *arena, const Rows *rows);
} tables[] = {
	{"events_waits_current", wrong_rows},
	{"events_waits_history", wrong_rows},
	{"events_waits_history_long", wrong_rows},
	{BY_THREAD, wrong_sums},
	{"events_waits_summary_by_account_by_event_name", wrong_sums},
	{"events_waits_summary_by_user_by_event_name", wrong_sums},
	{"events_waits_summary_by_host_by_event_name", wrong_sums},
	{GLOBAL, wrong_sums},
	{FILES, wrong_sums},
	{SOCKETS, wrong_sums},
	{"events_waits_summary_by_digest", wrong_sums},
};

static void *
read_tables(void *argument)
{
	Party *party = argument;

	for (size_t i = 0; !is_done(party); i = (i + 1) % PFS_LENGTH(tables))
	{
		uint64_t unstable = loss_of(party->arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all(party, false);
		Rows *rows = rows_of(party->arena, tables[i].name);

		check(party, tables[i].wrong(party->arena, rows),
			  loss_of(party->arena, PFS_LOSS_UNSTABLE_READS) == unstable &&
				  all(party, false) > ended && rows->count > 0);
		rows_free(rows);
	}
	return NULL;
}

/* TRUNCATE and switches that leave the global sums alone; the sums are checked all the time. */
static void *
disturb(void *argument)
{
	static const PfsConsumer switched[] = {
		PFS_CONSUMER_THREAD,
		PFS_CONSUMER_WAITS_CURRENT,
		PFS_CONSUMER_WAITS_HISTORY,
		PFS_CONSUMER_WAITS_HISTORY_LONG,
	};
	Party *party = argument;
	PfsArena *arena = party->arena;
	uint64_t random = 17;

	while (!is_done(party))
	{
		const char *name = tables[next_random(&random) % PFS_LENGTH(tables)].name;
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all(party, false);
		uint64_t sum;

		if (strcmp(name, GLOBAL) != 0 && strcmp(name, FILES) != 0 && strcmp(name, SOCKETS) != 0)
			table_truncate(arena, name);
		pfs_set_consumer(arena, switched[next_random(&random) % PFS_LENGTH(switched)],
						 next_random(&random) % 4 != 0);
		sum = table_sum(arena, GLOBAL, "count_star");
		check(party, (sum < ended) + (sum > all(party, true)),
			  loss_of(arena, PFS_LOSS_UNSTABLE_READS) == unstable);
	}
	return NULL;
}

/* What ended before a TRUNCATE is gone, what started after it is there. */
static void *
truncate_often(void *argument)
{
	Party *party = argument;
	PfsArena *arena = party->arena;

	while (!is_done(party))
	{
		uint64_t unstable =
			loss_of(arena, PFS_LOSS_UNSTABLE_READS) + loss_of(arena, PFS_LOSS_ROLL_UP);
		uint64_t ended = all(party, false);
		uint64_t started;
		uint64_t surely;
		uint64_t sum;

		table_truncate(arena, GLOBAL);
		started = all(party, true);
		table_truncate(arena, BY_THREAD);
		for (int i = 0; i < 2000; i++)
			pfs_cpu_pause();
		surely = all(party, false);
		sum = table_sum(arena, GLOBAL, "count_star");
		check(party, (sum > all(party, true) - ended) + (sum + started < surely),
			  loss_of(arena, PFS_LOSS_UNSTABLE_READS) + loss_of(arena, PFS_LOSS_ROLL_UP) ==
					  unstable &&
				  surely > started);
	}
	return NULL;
}

/* Returns the scans that counted. */
static uint64_t
run_all(PfsArena *arena, void *(*other)(void *), uint64_t *wrong, uint64_t *waits)
{
	bool done = false;
	Party writer[WRITERS] = {{0}};
	Party others[OTHERS] = {{0}};
	pthread_t thread[OTHERS];
	uint64_t checked = 0;

	for (uint32_t i = 0; i < WRITERS; i++)
		writer[i] = (Party){.arena = arena, .number = i, .writer = writer, .others = others};
	for (int i = 0; i < OTHERS; i++)
		others[i] = (Party){.arena = arena, .done = &done, .writer = writer};
	for (int i = 0; i < OTHERS; i++)
		pthread_create(&thread[i], NULL, i == 0 ? read_tables : other, &others[i]);
	run_threads(WRITERS, write_waits, writer, sizeof(Party));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	*wrong = 0;
	for (int i = 0; i < OTHERS; i++)
	{
		pthread_join(thread[i], NULL);
		*wrong += others[i].wrong;
		checked += others[i].checked;
	}
	*waits = all(&others[0], false);
	return checked;
}

static PfsArena *
large_arena(void)
{
	PfsSizes sizes = fixture_sizes();
	PfsArena *arena;

	sizes.digests = 64; /* threads that add one key at once use up a row each */
	sizes.pool_bytes = 4 << 20;
	sizes.waits_history_long = 200;
	arena = fixture_arena(&sizes);
	pfs_timer.kind = PFS_TIMER_CYCLE; /* else nothing takes the short way */
	arena->clock_busy = 1;			  /* its frequency is not the counter's: they are not compared */
	fixture_keep_waits(arena);
	return arena;
}

static void
check_losses(PfsArena *arena)
{
	for (int i = 0; i < PFS_LOSSES; i++)
		if (i != PFS_LOSS_UNSTABLE_READS && i != PFS_LOSS_ROLL_UP && i != PFS_LOSS_HISTORY_LONG &&
			i != PFS_LOSS_WAIT_TOTALS)
			ok(loss_of(arena, i) == 0, "%s is 0", pfs_loss_name(i));
}

static void
test_sums(void)
{
	PfsArena *arena = large_arena();
	uint64_t wrong;
	uint64_t waits;
	uint64_t checked = run_all(arena, disturb, &wrong, &waits);
	Rows *rows = rows_of(arena, GLOBAL);

	ok(checked > 0 && wrong == 0, "%" PRIu64 " scans, %" PRIu64 " of them wrong", checked, wrong);
	check_losses(arena);
	is_u64(rows_sum(rows, "count_star"), waits, "all waits are there");
	ok(quick_calls > 0 || !pfs_now_is_near(), "%" PRIu64 " of them in the short way", quick_calls);
	is_u64(wrong_sums(arena, rows), 0, "with their times");
	is_u64(table_sum(arena, FILES, "count_star") + table_sum(arena, SOCKETS, "count_star"),
		   row_number(rows, FIXTURE_WAIT_FILE, "count_star") +
			   row_number(rows, FIXTURE_WAIT_SOCKET, "count_star"),
		   "those of files and sockets too");
	rows_free(rows);
	is_u64(table_sum(arena, BY_THREAD, "count_star"), 0, "nobody is connected");
	fixture_free(arena);
}

static void
test_truncate(void)
{
	PfsArena *arena = large_arena();
	uint64_t wrong;
	uint64_t waits;
	uint64_t checked = run_all(arena, truncate_often, &wrong, &waits);

	ok(checked > 0 && wrong == 0, "%" PRIu64 " scans and TRUNCATEs, %" PRIu64 " of them wrong",
	   checked, wrong);
	check_losses(arena);
	table_truncate(arena, GLOBAL);
	is_u64(table_sum(arena, GLOBAL, "count_star"), 0, "the last one leaves nothing");
	fixture_free(arena);
}

int
main(void)
{
	test_sums();
	test_truncate();
	return done_testing();
}
