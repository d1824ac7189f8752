/*
 * test_object_concurrency.c - sessions count files and tables while others read the sums, TRUNCATE
 * them, remove files and let others have their rows.
 *
 * An event of file n lasts 1 + n ticks and reads 100 bytes, so a row that was torn, counted twice
 * in part, or got numbers of another file betrays itself.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/names.h"
#include "core/object.h"

#include <sched.h>

#define FILES "file_summary_by_instance"
#define TABLES "table_io_waits_summary_by_index_usage"
#define LOCKS "table_lock_waits_summary_by_table"
#define WRITERS 4
#define READERS 2
#define EVENTS 6000                    /* of each writer at least, ... */
#define EVENTS_MAX 600000              /* ... and at most, while it waits for readers */
#define SCANS 60                       /* of all readers, while somebody writes */
#define OBJECTS (3 * PFS_OBJECT_CACHE) /* more than a thread has cells for */
#define BYTES 100

typedef struct Party
{
	PfsArena *arena;
	uint32_t number;
	bool *done;
	struct Party *writer; /* all of them, for the others */
	struct Party *reader; /* the same */
	uint64_t started;     /* events, by a writer */
	uint64_t ended;
	uint64_t wrong;
	uint64_t checked; /* scans in which something happened and nothing was unstable */
} Party;

static bool
is_done(const Party *party)
{
	return __atomic_load_n(party->done, __ATOMIC_ACQUIRE);
}

static uint64_t
all_started(const Party *party)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire(&party->writer[i].started);
	return sum;
}

static uint64_t
all_ended(const Party *party)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += pfs_load_acquire(&party->writer[i].ended);
	return sum;
}

/* Events without a row or a cell: who had the lock was preempted for too long. */
static uint64_t
lost(const PfsArena *arena)
{
	return loss_of(arena, PFS_LOSS_FILES) + loss_of(arena, PFS_LOSS_TABLES) +
		   loss_of(arena, PFS_LOSS_OBJECT_CELLS);
}

/*
 * Is it time for a writer to stop after so many events? It gives up its processor here now and
 * then, rather than in the middle of a record, where readers would find it unstable.
 */
static bool
is_enough(const Party *writer, uint64_t events)
{
	uint64_t scans = 0;

	if (events % 32 == 0)
		sched_yield();
	if (events < EVENTS || events >= EVENTS_MAX)
		return events >= EVENTS;
	for (int i = 0; i <= READERS; i++)
		scans += pfs_load(&writer->reader[i].checked);
	return scans >= SCANS;
}

static void
check(Party *reader, uint64_t wrong, bool counts)
{
	if (counts)
	{
		reader->wrong += wrong;
		pfs_add(&reader->checked, 1);
	}
}

static uint32_t
find_file(PfsArena *arena, uint64_t n, uint32_t *use)
{
	char path[24];

	return pfs_file_find(arena, path, (size_t) snprintf(path, sizeof(path), "%" PRIu64, n),
						 FIXTURE_WAIT_FILE, use);
}

static uint32_t
find_table(PfsArena *arena, uint64_t n, uint32_t *use)
{
	PfsTableKey key = {5, 1 + (uint32_t) n, 0};

	return pfs_table_find(arena, &key, use);
}

/* --- sums --- */

/* One event of a file; or two: one row of a table and a wait for its lock. */
static void
one_event(Party *writer, PfsSession *session, uint64_t n, bool is_file)
{
	PfsArena *arena = writer->arena;
	uint32_t use;
	uint32_t row = is_file ? find_file(arena, n, &use) : find_table(arena, n, &use);
	uint64_t events = is_file || row == 0 ? 1 : 2;

	pfs_add(&writer->started, events);
	pfs_fence();
	if (is_file)
		fixture_wait(session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, row, use, 1 + n, BYTES);
	else
	{
		pfs_wait_table(session, row, use, PFS_TABLE_UPDATE, 1, FIXTURE_START, 1 + n);
		pfs_table_lock_add(arena, row, use, 3, 1 + n);
	}
	pfs_fence();
	pfs_add(&writer->ended, events);
}

static void *
write_events(void *argument)
{
	Party *writer = argument;
	uint64_t random = 3 + writer->number;
	PfsSession *session = NULL;

	for (uint64_t i = 0; !is_enough(writer, i); i++)
	{
		if (i % 500 == 0)
		{
			if (session != NULL && i % 1000 == 0)
				fixture_kill(session); /* its successor finds what it left */
			else if (session != NULL)
				fixture_detach(session);
			session = fixture_attach(writer->arena, writer->number, "ada", "h1");
		}
		one_event(writer, session, next_random(&random) % OBJECTS, writer->number % 2 == 0);
	}
	fixture_detach(session);
	return NULL;
}

/* Events counted in all tables now. */
static uint64_t
counted(PfsArena *arena)
{
	return table_sum(arena, FILES, "count_star") + table_sum(arena, TABLES, "count_star") +
		   table_sum(arena, LOCKS, "count_star");
}

/* Numbers that no number of whole events makes. */
static uint64_t
torn(const Rows *rows)
{
	bool files = strcmp(rows->table->name, FILES) == 0;
	uint64_t wrong = 0;

	for (int i = 0; i < rows->count; i++)
	{
		uint64_t n =
			files ? row_number(rows, i, "file_name") : row_number(rows, i, "table_oid") - 1;
		uint64_t count = row_number(rows, i, "count_star");

		wrong += row_number(rows, i, "sum_timer_wait") != count * (1 + n);
		wrong += count > 0 && (row_number(rows, i, "min_timer_wait") != 1 + n ||
							   row_number(rows, i, "max_timer_wait") != 1 + n);
		wrong += files && row_number(rows, i, "sum_number_of_bytes_read") != count * BYTES;
	}
	return wrong;
}

/* Events ended before the scan are all there, and no event that had not started when it ended. */
static void *
read_sums(void *argument)
{
	Party *reader = argument;
	PfsArena *arena = reader->arena;

	while (!is_done(reader))
	{
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all_ended(reader);
		Rows *rows[3] = {rows_of(arena, FILES), rows_of(arena, TABLES), rows_of(arena, LOCKS)};
		uint64_t started = all_started(reader);
		uint64_t sum = 0;
		uint64_t wrong = 0;

		for (int i = 0; i < 3; i++)
		{
			sum += rows_sum(rows[i], "count_star");
			wrong += torn(rows[i]);
			rows_free(rows[i]);
		}
		wrong += sum + lost(arena) < ended || sum > started;
		check(reader, wrong,
			  loss_of(arena, PFS_LOSS_UNSTABLE_READS) == unstable && all_started(reader) > ended &&
				  ended > 0);
	}
	return NULL;
}

/* Resets of other tables: epochs advance all the time. */
static void *
reset_others(void *argument)
{
	static const char *const tables[] = {"socket_summary_by_instance", "events_waits_current",
										 "events_waits_summary_by_thread_by_event_name"};
	Party *party = argument;

	for (uint64_t i = 0; !is_done(party); i++)
		table_truncate(party->arena, tables[i % PFS_LENGTH(tables)]);
	return NULL;
}

static PfsArena *
large_arena(uint32_t files, uint32_t tables)
{
	PfsSizes sizes = fixture_sizes();

	sizes.files = files;
	sizes.tables = tables;
	return fixture_arena(&sizes);
}

/* Runs writers beside readers and one more; returns the scans checked, wrong ones in *wrong. */
static uint64_t
run_all(PfsArena *arena, void *(*write)(void *), void *(*read)(void *), void *(*other)(void *),
		uint64_t *wrong, uint64_t *events)
{
	bool done = false;
	Party writer[WRITERS];
	Party reader[READERS + 1];
	pthread_t thread[READERS + 1];
	uint64_t checked = 0;

	for (uint32_t i = 0; i < WRITERS; i++)
		writer[i] =
			(Party){.arena = arena, .number = i, .done = &done, .writer = writer, .reader = reader};
	for (uint32_t i = 0; i <= READERS; i++)
		reader[i] = (Party){.arena = arena, .number = i, .done = &done, .writer = writer};
	for (uint32_t i = 0; i <= READERS; i++)
		pthread_create(&thread[i], NULL, i < READERS ? read : other, &reader[i]);
	run_threads(WRITERS, write, writer, sizeof(Party));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	*wrong = 0;
	*events = all_ended(reader);
	for (int i = 0; i <= READERS; i++)
	{
		pthread_join(thread[i], NULL);
		*wrong += reader[i].wrong;
		checked += reader[i].checked;
	}
	for (int i = 0; i < WRITERS; i++)
		*wrong += writer[i].wrong;
	return checked;
}

static void
test_sums(void)
{
	PfsArena *arena = large_arena(OBJECTS, OBJECTS);
	uint64_t wrong;
	uint64_t events;
	uint64_t checked = run_all(arena, write_events, read_sums, reset_others, &wrong, &events);
	Rows *rows;

	ok(checked > 0 && wrong == 0, "%" PRIu64 " scans, %" PRIu64 " of them wrong", checked, wrong);
	rows = rows_of(arena, FILES);
	is_u64(counted(arena) + lost(arena), events, "all events are there or counted as lost");
	is_u64(torn(rows), 0, "and whole");
	is_u64((uint64_t) rows->count, OBJECTS, "one row for each file, whoever met it first");
	rows_free(rows);
	fixture_free(arena);
}

/* --- TRUNCATE --- */

/* What ended before a TRUNCATE is gone, what started after it is there. */
static void *
truncate_often(void *argument)
{
	Party *party = argument;
	PfsArena *arena = party->arena;

	while (!is_done(party))
	{
		uint64_t unstable = loss_of(arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all_ended(party);
		uint64_t started;
		uint64_t surely;
		uint64_t sum;

		table_truncate(arena, FILES);
		table_truncate(arena, TABLES);
		table_truncate(arena, LOCKS);
		started = all_started(party);
		for (int i = 0; i < 2000; i++)
			pfs_cpu_pause();
		surely = all_ended(party);
		sum = counted(arena);
		check(party, (sum > all_started(party) - ended) + (sum + started < surely),
			  loss_of(arena, PFS_LOSS_UNSTABLE_READS) == unstable && surely > started &&
				  lost(arena) == 0);
	}
	return NULL;
}

/* Rows are whole, whatever is reset or removed. */
static void *
read_rows(void *argument)
{
	static const char *const tables[] = {FILES, TABLES, LOCKS};
	Party *reader = argument;

	for (uint64_t i = 0; !is_done(reader); i++)
	{
		uint64_t unstable = loss_of(reader->arena, PFS_LOSS_UNSTABLE_READS);
		uint64_t ended = all_ended(reader);
		Rows *rows = rows_of(reader->arena, tables[i % PFS_LENGTH(tables)]);

		check(reader, torn(rows),
			  loss_of(reader->arena, PFS_LOSS_UNSTABLE_READS) == unstable &&
				  all_ended(reader) > ended && rows->count > 0);
		rows_free(rows);
	}
	return NULL;
}

static void
test_truncate(void)
{
	PfsArena *arena = large_arena(OBJECTS, OBJECTS);
	uint64_t wrong;
	uint64_t events;
	uint64_t checked = run_all(arena, write_events, read_rows, truncate_often, &wrong, &events);

	ok(checked > 0 && wrong == 0, "%" PRIu64 " scans and TRUNCATEs, %" PRIu64 " of them wrong",
	   checked, wrong);
	table_truncate(arena, FILES);
	table_truncate(arena, TABLES);
	table_truncate(arena, LOCKS);
	is_u64(counted(arena), 0, "the last one leaves nothing");
	fixture_free(arena);
}

/* --- files that come and go --- */

#define NAMES 40
#define ROOM 24 /* rows: not enough for all */

/*
 * Uses handles that may have become stale any time ago, like descriptors of removed files.  A
 * table's rule is asked, too: those with an odd number are not watched.
 */
static void *
come_and_go(void *argument)
{
	Party *writer = argument;
	PfsArena *arena = writer->arena;
	PfsSession *session = fixture_attach(arena, writer->number, "ada", "h1");
	static const char *const name[2][2] = {{"public", "orders"}, {"pg_catalog", "pg_class"}};
	uint64_t random = 7 + writer->number;
	uint32_t row[2][NAMES] = {{0}};
	uint32_t use[2][NAMES] = {{0}};

	for (uint64_t i = 0; !is_enough(writer, i); i++)
	{
		uint64_t n = next_random(&random) % NAMES;
		uint32_t *file = &row[0][n];
		uint32_t *table = &row[1][n];
		char path[24];
		bool timed;

		switch (next_random(&random) % 8)
		{
			case 0:
				*file = find_file(arena, n, &use[0][n]);
				pfs_file_opened(arena, *file, use[0][n], +1);
				break;
			case 1:
				pfs_file_forget(arena, path, (size_t) snprintf(path, sizeof(path), "%" PRIu64, n));
				break;
			case 2:
				*table = find_table(arena, n, &use[1][n]);
				pfs_table_name(arena, *table, use[1][n], name[n % 2][0],
							   name[n % 2][1], NULL, 0);
				break;
			case 3:
				pfs_table_forget(arena, 5, 1 + (uint32_t) n);
				break;
			case 4:
				if (pfs_table_watched(arena, *table, use[1][n], &timed))
					writer->wrong +=
						n % 2 && pfs_object_row(arena, PFS_MAP_TABLES, *table, use[1][n]);
				pfs_table_lock_add(arena, *table, use[1][n], 3, 1 + n);
				break;
			case 5:
				pfs_file_opened(arena, *file, use[0][n], -1);
				break;
			default:
				fixture_wait(session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, *file, use[0][n],
							 1 + n, BYTES);
				pfs_wait_table(session, *table, use[1][n], PFS_TABLE_FETCH, 1, FIXTURE_START,
							   1 + n);
				break;
		}
		pfs_add(&writer->ended, 1);
	}
	fixture_detach(session);
	return NULL;
}

/* Rows in use and rows given back are all that were ever taken. */
static uint64_t
rows_missing(PfsArena *arena, PfsObjectMap map)
{
	const PfsObjectRows *rows = &arena->object_rows[map];
	uint64_t known = 0;

	for (uint32_t i = 1; i <= rows->used; i++)
		known += pfs_object_row_at(arena, map, i)->use & 1;
	for (uint32_t number = rows->free; number != 0 && known <= rows->used;
		 number = pfs_object_row_at(arena, map, number)->next)
		known++;
	return rows->used - known;
}

static void
test_coming_and_going(void)
{
	PfsArena *arena = large_arena(ROOM, ROOM);
	uint64_t wrong;
	uint64_t events;
	uint64_t checked = run_all(arena, come_and_go, read_rows, read_rows, &wrong, &events);
	bool seen[2][NAMES] = {{false}};
	uint64_t twice = 0;
	uint64_t found = 0;
	Rows *rows[2] = {rows_of(arena, FILES), rows_of(arena, TABLES)};

	ok(checked > 0 && wrong == 0, "%" PRIu64 " scans, %" PRIu64 " of them wrong", checked, wrong);
	for (int m = 0; m < 2; m++)
	{
		for (int i = 0; i < rows[m]->count; i++)
		{
			uint64_t n = m == 0 ? row_number(rows[m], i, "file_name")
								: row_number(rows[m], i, "table_oid") - 1;
			uint32_t use;

			twice += seen[m][n];
			seen[m][n] = true;
			found += (m == 0 ? find_file(arena, n, &use) : find_table(arena, n, &use)) != 0;
		}
		wrong += torn(rows[m]);
	}
	is_u64(twice, 0, "no key has two rows");
	is_u64(found, (uint64_t) rows[0]->count + (uint64_t) rows[1]->count, "all of them are found");
	is_u64(wrong, 0, "with their own numbers");
	is_u64(rows_missing(arena, PFS_MAP_FILES) + rows_missing(arena, PFS_MAP_TABLES), 0,
		   "no row is lost");
	rows_free(rows[0]);
	rows_free(rows[1]);
	for (uint64_t n = 0; n < NAMES; n++)
	{
		char path[24];

		pfs_file_forget(arena, path, (size_t) snprintf(path, sizeof(path), "%" PRIu64, n));
	}
	pfs_table_forget(arena, 5, 0);
	is_u64(table_count(arena, FILES) + table_count(arena, TABLES), 0, "all can be removed");
	for (uint64_t n = 0; n < ROOM; n++)
	{
		uint32_t use;

		found += find_file(arena, n, &use) == 0;
		found -= find_table(arena, n, &use) != 0;
	}
	is_u64(table_count(arena, FILES) + table_count(arena, TABLES), 2 * ROOM,
		   "and all rows used again");
	fixture_free(arena);
}

/* --- one row that all write --- */

static void *
write_one(void *argument)
{
	Party *writer = argument;
	PfsArena *arena = writer->arena;
	uint64_t random = 3 + writer->number;

	for (uint64_t i = 0; !is_enough(writer, 20 * i); i++)
	{
		PfsSession *session = fixture_attach(arena, writer->number, "ada", "h1");

		for (uint64_t n = next_random(&random) % 8; n > 0; n--)
			one_event(writer, session, 1, true);
		fixture_detach(session);
	}
	return NULL;
}

/* All sessions fold into one row, again and again. */
static void
test_one_row(void)
{
	PfsArena *arena = large_arena(4, 4);
	uint64_t wrong;
	uint64_t events;
	uint64_t checked = run_all(arena, write_one, read_sums, reset_others, &wrong, &events);
	Rows *rows = rows_of(arena, FILES);

	ok(checked > 0 && wrong == 0, "one row: %" PRIu64 " scans, %" PRIu64 " of them wrong", checked,
	   wrong);
	is_u64(torn(rows), 0, "it is whole at the end");
	rows_free(rows);
	fixture_free(arena);
}

/* --- the same key at the same time --- */

#define ROUNDS 2000

typedef struct Finder
{
	PfsArena *arena;
	struct Finder *other;
	uint64_t round;
} Finder;

/* Nearer together than a barrier of the library brings them. */
static void
meet(Finder *finder)
{
	uint64_t round = finder->round + 1;

	pfs_store_release(&finder->round, round);
	for (int i = 1; pfs_load_acquire(&finder->other->round) < round; i++)
		if (i % 1000 == 0)
			sched_yield();
}

static void *
find_together(void *argument)
{
	Finder *finder = argument;
	uint32_t use;

	for (uint64_t i = 0; i < ROUNDS; i++)
	{
		meet(finder);
		find_file(finder->arena, i, &use);
		meet(finder);
		find_table(finder->arena, i, &use);
	}
	return NULL;
}

/* Sessions that meet a file at the same time agree on its row. */
static void
test_same_key(void)
{
	PfsArena *arena = large_arena(2 * ROUNDS, 2 * ROUNDS);
	Finder finder[2] = {{arena, &finder[1], 0}, {arena, &finder[0], 0}};

	run_threads(2, find_together, finder, sizeof(Finder));
	is_u64(table_count(arena, FILES), ROUNDS, "one row for each file");
	is_u64(table_count(arena, TABLES), ROUNDS, "and for each table");
	fixture_free(arena);
}

/* --- a row that changes hands under one who waits for it --- */

typedef struct Holder
{
	PfsArena *arena;
	PfsCacheCell *cell;
	PfsObjectRow *row;
} Holder;

/*
 * Lets go of the row only when the other one is waiting for it, after giving it to another file
 * as a fill does.
 */
static void *
hand_over(void *argument)
{
	Holder *holder = argument;

	while ((pfs_load_acquire(&holder->cell->seq) & 1) == 0)
		sched_yield();
	for (int i = 0; i < 20000; i++)
		pfs_cpu_pause();
	pfs_store(&holder->row->use, holder->row->use + 2);
	pfs_store_release(&holder->row->lock, 0);
	return NULL;
}

static void
test_hand_over(void)
{
	PfsArena *arena = large_arena(4, 4);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t use;
	uint32_t row = find_file(arena, 0, &use);
	Holder holder = {arena, NULL, pfs_object_row(arena, PFS_MAP_FILES, row, use)};
	pthread_t thread;

	fixture_wait(session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, row, use, 1, BYTES);
	holder.cell = &pfs_file_cell(arena, session->thread, row, use)->head;
	pfs_store(&holder.row->lock, 1);
	pthread_create(&thread, NULL, hand_over, &holder);
	fixture_detach(session);
	pthread_join(thread, NULL);
	is_u64(table_sum(arena, FILES, "count_star"), 0, "the next file gets nothing of the last one");
	fixture_free(arena);
}

int
main(void)
{
	test_same_key();
	test_hand_over();
	test_sums();
	test_truncate();
	test_coming_and_going();
	test_one_row();
	return done_testing();
}
