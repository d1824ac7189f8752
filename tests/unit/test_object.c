/*
 * test_object.c - files and tables: rows, cells of threads, folding, TRUNCATE.
 *
 * Keys of paths are in test_object_path.c, what tables show in test_object_tables.c, what several
 * threads do at once in test_object_concurrency.c.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/table_objects.h"

#define FILES "file_summary_by_instance"
#define TABLES "table_io_waits_summary_by_table"
#define INDEXES "table_io_waits_summary_by_index_usage"
#define LOCKS "table_lock_waits_summary_by_table"
#define OBJECTS "objects_summary_global_by_type"

static bool
same(FixtureRow a, FixtureRow b)
{
	return a.row == b.row && a.use == b.use;
}

static void
read_file(PfsSession *session, FixtureRow handle, PfsTicks ticks)
{
	fixture_wait(session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, handle.row, handle.use, ticks,
				 100);
}

static uint64_t
of_file(PfsArena *arena, const char *path, const char *column)
{
	return table_number(arena, FILES, "file_name", path, column);
}

static PfsArena *
sized_arena(uint32_t files, uint32_t tables, uint64_t pool_bytes)
{
	PfsSizes sizes = fixture_sizes();

	sizes.files = files;
	sizes.tables = tables;
	sizes.pool_bytes = pool_bytes;
	return fixture_arena(&sizes);
}

/* --- rows --- */

static void
test_rows(void)
{
	PfsArena *arena = fixture_arena(NULL);
	FixtureRow a = fixture_file(arena, "base/5/1");
	FixtureRow b = fixture_file(arena, "base/5/2");
	FixtureRow t = fixture_table(arena, 5, 16384, 0);
	FixtureRow i = fixture_table(arena, 5, 16384, 16390);

	ok(a.row == 1 && b.row == 2 && (a.use & 1) == 1, "rows are handed out one after the other");
	ok(same(a, fixture_file(arena, "./base/5/1")), "a file is found again");
	ok(same(t, fixture_table(arena, 5, 16384, 0)) && same(i, fixture_table(arena, 5, 16384, 16390)),
	   "and a table");
	ok(t.row == 1 && i.row == 2, "its index has a row of its own");
	ok(!same(t, fixture_table(arena, 6, 16384, 0)), "another database, another table");
	is_u64(pfs_file_find(arena, "", 0, 0, &a.use), 0, "a file without a name has no row");
	ok(pfs_object_row(arena, PFS_MAP_FILES, 0, 1) == NULL, "no row 0");
	ok(pfs_object_row(arena, PFS_MAP_FILES, 2, b.use) != NULL, "a row by its number and use");
	ok(pfs_object_row(arena, PFS_MAP_FILES, 2, b.use + 2) == NULL, "not by another use");
	ok(pfs_object_row(arena, PFS_MAP_FILES, 3, 0) == NULL, "a row that nobody has yet");
	ok(pfs_object_row(arena, PFS_MAP_FILES, UINT32_MAX, 1) == NULL, "nor any wild number");
	is_u64(table_count(arena, "file_instances"), 2, "two files");
	is_u64(table_count(arena, INDEXES), 3, "three tables and indexes");
	is_u64(table_count(arena, TABLES), 2, "two tables");
	{
		Rows *rows = rows_where(arena, "file_instances", "file_name", "base/5/2");

		is_u64((uint64_t) rows->count, 1, "one file by its name");
		is_str(row_text(rows, 0, "event_name"), "wait/io/file/unit/data", "with its instrument");
		rows_free(rows);
	}
	fixture_free(arena);
}

static uint64_t
opened(PfsArena *arena, const char *path)
{
	return table_number(arena, "file_instances", "file_name", path, "open_count");
}

static void
test_open_count(void)
{
	PfsArena *arena = fixture_arena(NULL);
	FixtureRow a = fixture_file(arena, "a");
	FixtureRow successor;

	pfs_file_opened(arena, a.row, a.use, +1);
	pfs_file_opened(arena, a.row, a.use, +1);
	is_u64(opened(arena, "a"), 2, "two descriptors");
	pfs_file_opened(arena, a.row, a.use, -1);
	is_u64(opened(arena, "a"), 1, "one was closed");
	pfs_file_opened(arena, a.row, a.use, -1);
	pfs_file_opened(arena, a.row, a.use, -1);
	is_u64(opened(arena, "a"), 0, "never less than none");
	pfs_file_opened(arena, a.row, a.use, +1);
	pfs_file_forget(arena, "a", 1);
	is_u64(table_count(arena, "file_instances"), 0, "a file that is removed has no row");
	successor = fixture_file(arena, "b");
	ok(successor.row == a.row && successor.use != a.use, "its row serves another file");
	is_u64(opened(arena, "b"), 0, "which begins with no descriptor");
	pfs_file_opened(arena, successor.row, successor.use, +1);
	pfs_file_opened(arena, a.row, a.use, -1);
	pfs_file_opened(arena, a.row, a.use, +1);
	is_u64(opened(arena, "b"), 1, "whoever still has the old one open does not count");
	pfs_file_opened(arena, 0, 0, +1);
	pfs_file_opened(arena, 999, 1, +1);
	is_u64(opened(arena, "b"), 1, "nor does nonsense");
	fixture_free(arena);
}

static void
test_full(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	uint32_t size = arena->sizes.files;
	char path[32];
	FixtureRow first = fixture_file(arena, "file 0");
	FixtureRow lost;

	for (uint32_t i = 1; i < size; i++)
	{
		snprintf(path, sizeof(path), "file %u", i);
		ok(fixture_file(arena, path).row == i + 1, "row %u", i + 1);
	}
	lost = fixture_file(arena, "one more");
	is_u64(lost.row, 0, "a full map refuses");
	is_u64(loss_of(arena, PFS_LOSS_FILES), 1, "and counts the loss");
	ok(same(first, fixture_file(arena, "file 0")), "those that are there are found");
	read_file(session, lost, 10);
	is_u64(table_sum(arena, FILES, "count_star"), 0, "an event without a row counts nowhere");
	is_u64(table_sum(arena, "file_summary_by_event_name", "count_star"), 1, "but by its name");
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "and is no further loss");
	pfs_file_forget(arena, "file 3", 6);
	pfs_file_forget(arena, "no such file", 12);
	is_u64(fixture_file(arena, "one more").row, 4, "a removed file makes room");
	is_u64(fixture_file(arena, "file 3").row, 0, "for one");
	fixture_detach(session);
	fixture_free(arena);
}

/* A map that is in use all the time: hash chains stay whole. */
static void
test_coming_and_going(void)
{
	PfsArena *arena = sized_arena(40, 40, 1 << 20);
	uint64_t random = 5;
	bool there[60] = {false};
	int wrong = 0;
	uint64_t count = 0;

	for (int i = 0; i < 20000; i++)
	{
		uint32_t n = (uint32_t) (next_random(&random) % 60);
		char path[16];

		snprintf(path, sizeof(path), "f%u", n);
		if (next_random(&random) % 2)
		{
			FixtureRow handle = fixture_file(arena, path);

			wrong += handle.row == 0 ? there[n] || count < 40 : !there[n] && count == 40;
			count += handle.row != 0 && !there[n];
			there[n] = handle.row != 0;
		}
		else
		{
			pfs_file_forget(arena, path, strlen(path));
			count -= there[n];
			there[n] = false;
		}
	}
	is_u64((uint64_t) wrong, 0, "what is there is found, what is not finds room");
	is_u64(table_count(arena, "file_instances"), count, "and no row is lost");
	fixture_free(arena);
}

/* --- cells --- */

#define MANY (4 * PFS_OBJECT_CACHE)

static void
test_eviction(void)
{
	PfsArena *arena = sized_arena(MANY, MANY, 1 << 20);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *other = fixture_attach(arena, 1, "bob", "h1");
	uint64_t random = 3;
	uint64_t events[MANY] = {0};
	FixtureRow handle[MANY];
	int wrong = 0;

	for (int i = 0; i < MANY; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		handle[i] = fixture_file(arena, path);
	}
	for (int i = 0; i < 20000; i++)
	{
		uint64_t n = next_random(&random) % MANY;

		read_file(i % 3 ? session : other, handle[n], 1 + n);
		events[n]++;
	}
	for (int round = 0; round < 2; round++)
	{
		Rows *rows = rows_of(arena, FILES);

		for (int i = 0; i < rows->count; i++)
		{
			uint64_t n = strtoull(row_text(rows, i, "file_name") + 1, NULL, 10);

			wrong += row_number(rows, i, "count_star") != events[n] ||
					 row_number(rows, i, "count_read") != events[n] ||
					 row_number(rows, i, "sum_timer_read") != events[n] * (1 + n) ||
					 row_number(rows, i, "min_timer_read") != (events[n] > 0 ? 1 + n : 0) ||
					 row_number(rows, i, "max_timer_wait") != (events[n] > 0 ? 1 + n : 0) ||
					 row_number(rows, i, "sum_number_of_bytes_read") != events[n] * 100 ||
					 row_number(rows, i, "count_write") + row_number(rows, i, "count_misc") != 0;
		}
		ok(wrong == 0 && rows->count == MANY, "more files than cells: every number is right, %s",
		   round == 0 ? "live" : "and when the threads have gone");
		rows_free(rows);
		if (round == 0)
		{
			fixture_detach(session);
			fixture_detach(other);
		}
	}
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "nothing was lost");
	fixture_free(arena);
}

/* Of these files all have the same four places. */
static const int sharing[] = {0, 1, PFS_OBJECT_CACHE / 2, PFS_OBJECT_CACHE / 2 + 1, PFS_OBJECT_CACHE};

/* The cell that is used more stays. */
static void
test_victim(void)
{
	PfsArena *arena = sized_arena(MANY, 12, 1 << 20);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	FixtureRow handle[3 * PFS_OBJECT_CACHE];
	const PfsObjectCell *cell;

	for (int i = 0; i < 3 * PFS_OBJECT_CACHE / 2 + 1; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		handle[i] = fixture_file(arena, path);
	}
	for (int i = 0; i < 4; i++)
		for (int n = 0; n < (i == 1 ? 1 : 10); n++)
			read_file(session, handle[sharing[i]], 10);
	read_file(session, handle[sharing[4]], 10);
	cell = pfs_pool_at(pfs_pool_of(arena), session->thread->file_cell[1], sizeof(*cell));
	is_u64(cell->head.key, handle[sharing[4]].row, "the newcomer takes the least used place");
	for (int n = 0; n < 20; n++)
		read_file(session, handle[sharing[4]], 10);
	cell = pfs_pool_at(pfs_pool_of(arena), session->thread->file_cell[2], sizeof(*cell));
	is_u64(cell->head.key, handle[sharing[2]].row, "the more used ones stay");
	pfs_file_forget(arena, "f32", 3);
	read_file(session, handle[sharing[1]], 10);
	is_u64(cell->head.key, handle[sharing[1]].row, "unless a file is gone");
	is_u64(table_sum(arena, FILES, "count_star"), 43, "the others have all their events");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_pool_full(void)
{
	PfsArena *arena = sized_arena(MANY, 12, 24 * PFS_POOL_UNIT);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsPool *pool = pfs_pool_of(arena);
	FixtureRow a = fixture_file(arena, "a");
	FixtureRow b;
	FixtureRow same_places;

	read_file(session, a, 10);
	while (pfs_pool_alloc(pool, PFS_POOL_UNIT) != 0)
		;
	for (int i = 0; i < PFS_OBJECT_CACHE / 2 - 1; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		b = fixture_file(arena, path);
	}
	same_places = fixture_file(arena, "z");
	read_file(session, a, 10);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "a full pool leaves the cells that are there");
	read_file(session, same_places, 10);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "where there is a cell it is used");
	is_u64(of_file(arena, "z", "count_star"), 1, "for the newcomer");
	is_u64(of_file(arena, "a", "count_star"), 2, "the other one is in its row");
	read_file(session, b, 10);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 1, "where there is none the event is lost");
	is_u64(of_file(arena, "f30", "count_star"), 0, "and counted as such");
	pfs_table_lock_add(arena, 0, 0, 1, 10);
	{
		FixtureRow t = fixture_table(arena, 5, 1, 0);

		pfs_table_lock_add(arena, t.row, t.use, 1, 10);
		is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 2, "so is a lock wait");
	}
	fixture_detach(session);
	fixture_free(arena);
}

/* Another process stands still in the middle of a row. */
static void
test_busy_row(void)
{
	PfsArena *arena = sized_arena(MANY, 12, 1 << 20);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	FixtureRow handle[3 * PFS_OBJECT_CACHE];
	PfsObjectRow *row[5];

	for (int i = 0; i <= 3 * PFS_OBJECT_CACHE / 2; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		handle[i] = fixture_file(arena, path);
	}
	for (int i = 0; i < 5; i++)
		row[i] = pfs_object_row_at(arena, PFS_MAP_FILES, handle[sharing[i]].row);
	read_file(session, handle[0], 10);
	for (int i = 1; i < 4; i++)
		for (int n = 0; n < 5; n++)
			read_file(session, handle[sharing[i]], 10);
	pfs_store(&row[0]->lock, 1);
	pfs_store(&row[1]->lock, 1);
	pfs_store(&row[3]->lock, 1);
	read_file(session, handle[PFS_OBJECT_CACHE], 10);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "rows are busy: the other place is taken");
	is_u64(of_file(arena, "f64", "count_star"), 1, "for the newcomer");
	is_u64(of_file(arena, "f32", "count_star"), 5, "the evicted one is in its row");
	pfs_store(&row[4]->lock, 1);
	read_file(session, handle[PFS_OBJECT_CACHE / 2], 10);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 1, "all are busy: the event is lost");
	is_u64(of_file(arena, "f0", "count_star"), 1, "what was counted stays");
	is_u64(of_file(arena, "f64", "count_star"), 1, "in both");
	pfs_store(&row[0]->lock, 0);
	pfs_store(&row[1]->lock, 0);
	pfs_store(&row[3]->lock, 0);
	pfs_store(&arena->loss[PFS_LOSS_OBJECT_CELLS], 0);
	fixture_detach(session);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 1, "a thread that ends does not wait for ever");
	is_u64(of_file(arena, "f64", "count_star"), 0, "what it could not hand over is counted");
	is_u64(of_file(arena, "f0", "count_star"), 1, "the rest is in its rows");
	pfs_file_forget(arena, "f1", 2);
	pfs_file_forget(arena, "f64", 3);
	ok(fixture_file(arena, "new").row == handle[1].row,
	   "a row somebody stands in is not used again");
	pfs_store(&row[4]->lock, 0);
	ok(fixture_file(arena, "newer").row == handle[PFS_OBJECT_CACHE].row, "before he has left it");
	pfs_store(&arena->object_rows[PFS_MAP_FILES].lock, 1);
	is_u64(fixture_file(arena, "newest").row, 0, "no new row while the map is busy");
	is_u64(loss_of(arena, PFS_LOSS_FILES), 1, "which is counted");
	ok(fixture_file(arena, "newer").row != 0, "those that exist are found");
	pfs_file_forget(arena, "newer", 5);
	ok(fixture_file(arena, "newer").row != 0, "and cannot be removed");
	fixture_free(arena);
}

/* Numbers that a removed file still gets never show on its successor. */
static void
test_stale_use(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *fresh = fixture_attach(arena, 1, "bob", "h1");
	PfsSession *late = fixture_attach(arena, 2, "bob", "h1");
	FixtureRow old = fixture_file(arena, "old");
	FixtureRow new;

	read_file(session, old, 10);
	read_file(late, old, 10);
	pfs_file_forget(arena, "old", 3);
	is_u64(table_sum(arena, FILES, "count_star"), 0, "its numbers go with the file");
	new = fixture_file(arena, "new");
	is_u64(new.row, old.row, "another file takes the row");
	is_u64(of_file(arena, "new", "count_star"), 0, "and starts with nothing");
	read_file(session, old, 10);
	read_file(fresh, old, 10);
	is_u64(of_file(arena, "new", "count_star"), 0, "late events of the old one do not count");
	is_u64(fresh->thread->file_cell[0] + fresh->thread->file_cell[1], 0, "and claim no cell");
	read_file(session, new, 7);
	is_u64(of_file(arena, "new", "count_star"), 1, "its own do");
	read_file(session, old, 10);
	read_file(fresh, new, 7);
	fixture_detach(session);
	fixture_detach(late);
	fixture_detach(fresh);
	is_u64(of_file(arena, "new", "count_star"), 2, "also when the threads have gone");
	is_u64(of_file(arena, "new", "max_timer_wait"), 7, "without any time of the old one");
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "which is no loss");
	{
		uint64_t first = pfs_object_instance(arena, PFS_MAP_FILES, old.row, old.use);
		uint64_t second = pfs_object_instance(arena, PFS_MAP_FILES, new.row, new.use);

		ok(first != second && (int64_t) first > 0 && (int64_t) second > 0,
		   "object_instance_begin tells them apart");
		is_u64(table_sum(arena, FILES, "object_instance_begin"), second, "and is shown");
	}
	fixture_free(arena);
}

/* --- readers --- */

/* What happens in the middle of a scan: at its n-th allocation. */
typedef struct Middle
{
	int at;
	void (*what)(PfsSession *session);
	PfsSession *session;
} Middle;

static void
in_the_middle(FixtureScan *scan)
{
	Middle *middle = scan->extra;

	if (scan->allocations == middle->at)
		middle->what(middle->session);
}

static uint64_t
sum_with(PfsArena *arena, int at, void (*what)(PfsSession *), PfsSession *session)
{
	Middle middle = {at, what, session};
	FixtureScan scan;
	uint64_t sum;

	scan_begin(&scan, arena, FILES);
	scan.on_alloc = in_the_middle;
	scan.extra = &middle;
	scan.scan.table->scan(&scan.scan);
	scan_end(&scan);
	sum = rows_sum(scan.rows, "count_star");
	rows_free(scan.rows);
	return sum;
}

static void
evict_all(PfsSession *session)
{
	pfs_cache_fold_all(session->arena, session->thread, &pfs_object_cells[PFS_MAP_FILES], NULL);
}

static void
replace(PfsSession *session)
{
	pfs_file_forget(session->arena, "f1", 2);
	fixture_file(session->arena, "f9");
}

/* Numbers that move from cells to rows during a scan count once. */
static void
test_fold_in_the_middle(void)
{
	for (int at = 1; at < 8; at++)
		for (int what = 0; what < 2; what++)
		{
			PfsArena *arena = fixture_arena(NULL);
			PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
			PfsSession *other = fixture_attach(arena, 1, "ada", "h1");
			uint64_t sum;

			for (int i = 0; i < 4; i++)
			{
				char path[16];

				snprintf(path, sizeof(path), "f%d", i);
				read_file(i % 2 ? session : other, fixture_file(arena, path), 10);
				read_file(session, fixture_file(arena, path), 10);
			}
			sum = sum_with(arena, at, what == 0 ? evict_all : replace, session);
			if (what == 0)
				is_u64(sum, 8, "a fold during a scan");
			else
				ok(sum == 6 || sum == 8, "a file replaced during a scan: %" PRIu64, sum);
			is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 0, "is no unstable read");
			fixture_detach(session);
			fixture_detach(other);
			fixture_free(arena);
		}
}

/* A process that stands still inside a row or a cell: readers come back and say so. */
static void
test_stopped_writer(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	FixtureRow a = fixture_file(arena, "a");
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_FILES, a.row, a.use);
	PfsObjectCell *cell;

	read_file(session, a, 10);
	cell = pfs_file_cell(arena, session->thread, a.row, a.use);
	pfs_seq_write_begin(&row->seq);
	is_u64(of_file(arena, "a", "count_star"), 1, "a row in writing: its numbers are shown");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 1, "and it is said");
	pfs_seq_write_end(&row->seq);
	pfs_seq_write_begin(&cell->head.seq);
	is_u64(of_file(arena, "a", "count_star"), 0, "a cell in writing: its numbers are left out");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 2, "and it is said");
	pfs_seq_write_end(&cell->head.seq);
	is_u64(of_file(arena, "a", "count_star"), 1, "then they are shown");
	pfs_seq_write_begin(&session->thread->seq);
	table_count(arena, "socket_instances");
	ok(loss_of(arena, PFS_LOSS_UNSTABLE_READS) > 2, "a thread in writing: so it is of its socket");
	pfs_seq_write_end(&session->thread->seq);
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_shared_rows(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	for (int i = 0; i < 100; i++)
	{
		char path[64];

		snprintf(path, sizeof(path), "base/pgsql_tmp/pgsql_tmp%d.0", i);
		read_file(session, fixture_file(arena, path), 10);
		pfs_file_forget(arena, path, strlen(path));
	}
	is_u64(table_count(arena, FILES), 1, "temporary files share a row");
	is_u64(of_file(arena, "base/pgsql_tmp/(temporary files)", "count_star"), 100,
		   "which stays when they are removed");
	fixture_detach(session);
	fixture_free(arena);
}

/* What a killed process has left counts once, for its rows. */
static void
test_predecessor(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	FixtureRow a = fixture_file(arena, "a");
	FixtureRow t = fixture_table(arena, 5, 1, 0);
	uint64_t used;

	fixture_detach(session);
	used = pfs_pool_bytes_used(pfs_pool_of(arena));
	session = fixture_attach(arena, 0, "ada", "h1");
	read_file(session, a, 10);
	fixture_fetch(session, t, 4, 10);
	fixture_kill(session);
	is_u64(of_file(arena, "a", "count_star"), 1, "a dead thread's numbers are shown");
	session = fixture_attach(arena, 0, "bob", "h2");
	is_u64(of_file(arena, "a", "count_star"), 1, "also when a successor has its slot");
	is_u64(table_sum(arena, TABLES, "count_star"), 4, "those of tables, too");
	read_file(session, a, 10);
	fixture_detach(session);
	is_u64(of_file(arena, "a", "count_star"), 2, "whose own are added");
	session = fixture_attach(arena, 0, "ada", "h1");
	table_truncate(arena, "events_waits_summary_by_account_by_event_name");
	ok(pfs_pool_bytes_used(pfs_pool_of(arena)) <= used + 64 * PFS_POOL_UNIT,
	   "cells are given back");
	for (uint32_t place = 0; place < PFS_OBJECT_CACHE; place++)
		used += session->thread->file_cell[place] + session->thread->table_cell[place];
	ok(used < 1 << 20, "and places are empty");
	fixture_detach(session);
	fixture_free(arena);
}

/* --- TRUNCATE --- */

static void
test_truncate(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *idle = fixture_attach(arena, 1, "bob", "h1");
	PfsSession *gone = fixture_attach(arena, 2, "bob", "h2");
	FixtureRow a = fixture_file(arena, "a");
	FixtureRow t = fixture_table(arena, 5, 1, 0);
	FixtureRow index = fixture_table(arena, 5, 1, 2);

	read_file(session, a, 100);
	read_file(idle, a, 200);
	read_file(gone, a, 300);
	fixture_fetch(session, t, 4, 10);
	fixture_fetch(gone, index, 5, 10);
	pfs_table_lock_add(arena, t.row, t.use, 8, 50);
	fixture_detach(gone);
	is_u64(of_file(arena, "a", "count_star"), 3, "two cells and a row");
	ok(table_truncate(arena, FILES), "TRUNCATE");
	is_u64(table_count(arena, FILES), 1, "leaves the row");
	is_u64(of_file(arena, "a", "count_star") + of_file(arena, "a", "max_timer_wait"), 0,
		   "without numbers");
	is_u64(table_sum(arena, TABLES, "count_star"), 9, "and tables alone");
	read_file(session, a, 7);
	is_u64(of_file(arena, "a", "count_star"), 1, "counting goes on");
	is_u64(of_file(arena, "a", "max_timer_wait"), 7, "from a new maximum");
	is_u64(of_file(arena, "a", "min_timer_wait"), 7, "and minimum");
	fixture_detach(idle);
	is_u64(of_file(arena, "a", "count_star"), 1, "a thread that slept brings nothing old");
	fixture_detach(session);
	is_u64(of_file(arena, "a", "count_star"), 1, "nor does the row under a fold");
	is_u64(of_file(arena, "a", "max_timer_wait"), 7, "or its maximum");

	session = fixture_attach(arena, 0, "ada", "h1");
	ok(table_truncate(arena, INDEXES), "TRUNCATE of the tables' rows");
	is_u64(table_sum(arena, TABLES, "count_star"), 0, "empties both of their tables");
	is_u64(table_sum(arena, LOCKS, "count_star"), 1, "not the lock waits");
	is_u64(of_file(arena, "a", "count_star"), 1, "nor the files");
	fixture_fetch(session, t, 2, 10);
	is_u64(table_sum(arena, TABLES, "count_fetch"), 2, "rows count again");
	ok(table_truncate(arena, LOCKS), "TRUNCATE of the lock waits");
	is_u64(table_sum(arena, LOCKS, "count_star"), 0, "empties them");
	is_u64(table_sum(arena, TABLES, "count_fetch"), 2, "and not the rows");
	pfs_table_lock_add(arena, t.row, t.use, 1, 3);
	is_u64(table_sum(arena, LOCKS, "count_star"), 1, "lock waits count again");
	is_u64(table_sum(arena, LOCKS, "max_timer_wait"), 3, "from a new maximum");
	is_u64(table_sum(arena, OBJECTS, "count_star"), 3, "objects_summary has both");
	ok(table_truncate(arena, OBJECTS), "its TRUNCATE");
	is_u64(table_sum(arena, OBJECTS, "count_star") + table_sum(arena, TABLES, "count_star") +
			   table_sum(arena, LOCKS, "count_star"),
		   0, "empties both");
	read_file(session, a, 5);
	ok(table_truncate(arena, "events_waits_summary_by_instance"), "TRUNCATE of instances");
	is_u64(table_sum(arena, FILES, "count_star"), 0, "empties files");
	read_file(session, a, 5);
	ok(table_truncate(arena, "file_summary_by_event_name"), "TRUNCATE by event name");
	is_u64(table_sum(arena, FILES, "count_star"), 0, "empties files, too");
	pfs_store(&arena->lock, 1);
	ok(!pfs_object_reset(arena, PFS_RESET_FILES), "a busy roll-up lock is told");
	pfs_store(&arena->lock, 0);
	fixture_detach(session);
	fixture_free(arena);
}

/* A new file in the place of an old one does not inherit its reset point, whichever is newer. */
static void
test_truncate_and_reuse(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	FixtureRow a = fixture_file(arena, "a");

	read_file(session, a, 100);
	fixture_detach(session);
	table_truncate(arena, FILES);
	pfs_file_forget(arena, "a", 1);
	a = fixture_file(arena, "b");
	session = fixture_attach(arena, 0, "ada", "h1");
	read_file(session, a, 5);
	fixture_detach(session);
	is_u64(of_file(arena, "b", "count_star"), 1, "one event");
	is_u64(of_file(arena, "b", "sum_timer_wait"), 5, "and its time");
	fixture_free(arena);
}

/* Sizes of 0: nothing is kept, nothing breaks. */
static void
test_no_rows(void)
{
	PfsArena *arena = sized_arena(0, 0, 1 << 20);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	read_file(session, fixture_file(arena, "a"), 10);
	fixture_fetch(session, fixture_table(arena, 5, 1, 0), 1, 10);
	pfs_file_forget(arena, "a", 1);
	pfs_table_forget(arena, 5, 1);
	pfs_table_forget(arena, 5, 0);
	is_u64(table_count(arena, FILES) + table_count(arena, TABLES), 0, "maps without rows");
	is_u64(loss_of(arena, PFS_LOSS_FILES), 1, "files are lost");
	is_u64(loss_of(arena, PFS_LOSS_TABLES), 1, "and tables");
	fixture_detach(session);
	fixture_free(arena);
}

int
main(void)
{
	test_rows();
	test_open_count();
	test_full();
	test_coming_and_going();
	test_eviction();
	test_victim();
	test_pool_full();
	test_busy_row();
	test_stale_use();
	test_fold_in_the_middle();
	test_stopped_writer();
	test_shared_rows();
	test_predecessor();
	test_truncate();
	test_truncate_and_reuse();
	test_no_rows();
	return done_testing();
}
