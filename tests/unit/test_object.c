/*
 * test_object.c - files and tables: keys of paths, rows, cells of threads, folding, TRUNCATE.
 *
 * What several threads do at once is in test_object_concurrency.c.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/names.h"
#include "core/table_objects.h"

#define FILES "file_summary_by_instance"
#define TABLES "table_io_waits_summary_by_table"
#define INDEXES "table_io_waits_summary_by_index_usage"
#define LOCKS "table_lock_waits_summary_by_table"
#define OBJECTS "objects_summary_global_by_type"

/* A row as it was handed out. */
typedef struct Handle
{
	uint32_t row;
	uint32_t use;
} Handle;

static Handle
file(PfsArena *arena, const char *path)
{
	Handle handle = {0, 0};

	handle.row = pfs_file_find(arena, path, strlen(path), FIXTURE_WAIT_FILE, &handle.use);
	return handle;
}

static Handle
table(PfsArena *arena, uint32_t database, uint32_t table_id, uint32_t index)
{
	PfsTableKey key = {database, table_id, index};
	Handle handle = {0, 0};

	handle.row = pfs_table_find(arena, &key, &handle.use);
	return handle;
}

static bool
same(Handle a, Handle b)
{
	return a.row == b.row && a.use == b.use;
}

static void
read_file(PfsSession *session, Handle handle, PfsTicks ticks)
{
	fixture_wait(session, FIXTURE_WAIT_FILE, PFS_OPERATION_READ, handle.row, handle.use, ticks, 100);
}

static void
fetch(PfsSession *session, Handle handle, uint64_t rows, PfsTicks ticks)
{
	pfs_wait_table(session, handle.row, handle.use, PFS_TABLE_FETCH, rows, FIXTURE_START, ticks);
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

/* --- keys --- */

static const struct
{
	const char *path;
	const char *key;
	bool shared;
} paths[] = {
	{"base/5/16384", "base/5/16384", false},
	{"base/5/16384.1", "base/5/16384.1", false},
	{"base/5/16384_fsm", "base/5/16384_fsm", false},
	{"base/5/16384_init.2", "base/5/16384_init.2", false},
	{"./base/5/16384", "base/5/16384", false},
	{"././x", "x", false},
	{"/data/pg/base/5/16384", "base/5/16384", false},
	{"/data/pg/./base/5/16384", "base/5/16384", false},
	{"/data/pgx/base/5/16384", "/data/pgx/base/5/16384", false},
	{"/data/pg", "/data/pg", false},
	{"/data/pg/", "/data/pg/", false},
	{".", ".", false},
	{"./", "./", false},
	{"x", "x", false},
	{"/", "/", false},
	{"pg_tblspc/16400/PG_18_202506291/5/16500", "pg_tblspc/16400/PG_18_202506291/5/16500", false},
	{"base/5/t3_16384", "base/5/(temporary relations)", true},
	{"base/5/t12_16384_vm.1", "base/5/(temporary relations)", true},
	{"pg_tblspc/16400/PG_18_202506291/5/t3_16500",
	 "pg_tblspc/16400/PG_18_202506291/5/(temporary relations)", true},
	{"base/5/t3_", "base/5/t3_", false},
	{"base/5/t_5", "base/5/t_5", false},
	{"base/5/t3", "base/5/t3", false},
	{"base/5/t", "base/5/t", false},
	{"t3_16384", "t3_16384", false},
	{"/tmp/t3_16384", "/tmp/t3_16384", false},
	{"base/pgsql_tmp/pgsql_tmp4711.0", "base/pgsql_tmp/(temporary files)", true},
	{"base/pgsql_tmp/pgsql_tmp4711.3.fileset/o12of64.p0.0", "base/pgsql_tmp/(temporary files)", true},
	{"/data/pg/base/pgsql_tmp/pgsql_tmp4711.0", "base/pgsql_tmp/(temporary files)", true},
	{"pg_tblspc/16400/PG_18_202506291/pgsql_tmp/pgsql_tmp1.0",
	 "pg_tblspc/16400/PG_18_202506291/pgsql_tmp/(temporary files)", true},
	{"base/pgsql_tmp", "base/pgsql_tmp", false},
	{"base/pgsql_tmp/", "base/pgsql_tmp/", false},
	{"base/my_pgsql_tmp/x", "base/my_pgsql_tmp/x", false},
	{"pg_wal/000000010000000000000001", "pg_wal/(segments)", true},
	{"pg_wal/0000000100000000000000AF.partial", "pg_wal/(segments)", true},
	{"pg_wal/000000010000000000000001.00000028.backup", "pg_wal/(segments)", true},
	{"pg_wal/xlogtemp.4711", "pg_wal/(segments)", true},
	{"pg_wal/00000001000000000000000", "pg_wal/00000001000000000000000", false},
	{"pg_wal/0000000100000000000000011", "pg_wal/0000000100000000000000011", false},
	{"pg_wal/00000002.history", "pg_wal/00000002.history", false},
	{"pg_wal/archive_status/000000010000000000000001.ready", "pg_wal/archive_status/(files)", true},
	{"pg_wal/archive_status", "pg_wal/archive_status", false},
	{"pg_wal/summaries/0000000100000000.summary", "pg_wal/summaries/(files)", true},
	{"pg_logical/snapshots/0-16B6D50.snap", "pg_logical/snapshots/(files)", true},
	{"pg_logical/mappings/map-5-4e8-0_1-2-3", "pg_logical/mappings/(files)", true},
	{"pg_logical/replorigin_checkpoint", "pg_logical/replorigin_checkpoint", false},
	{"pg_replslot/slot_a/state", "pg_replslot/slot_a/state", false},
	{"pg_replslot/slot_a/xid-745-lsn-0-1000000.spill", "pg_replslot/slot_a/(spill files)", true},
	{"pg_stat_tmp/pgss_query_texts.stat", "pg_stat_tmp/(files)", true},
	{"pg_twophase/000002E9", "pg_twophase/(files)", true},
	{"pg_snapshots/00000003-00000002-1", "pg_snapshots/(files)", true},
	{"pg_dynshmem/mmap.4711", "(dynamic shared memory)", true},
	{"/dev/shm/PostgreSQL.4711", "(dynamic shared memory)", true},
	{"/PostgreSQL.4711", "(dynamic shared memory)", true},
	{"/dev/urandom", "/dev/urandom", false},
	{"/proc/self/oom_score_adj", "/proc/(files)", true},
	{"/sys/devices/system/cpu/online", "/sys/(files)", true},
	{"base/5/pg_internal.init.4711", "base/5/pg_internal.init", true},
	{"base/5/pg_internal.init", "base/5/pg_internal.init", false},
	{"global/pg_internal.init.4711", "global/pg_internal.init", true},
	{"pipe:[4711]", "(pipes)", true},
	{"socket:[4711]", "(sockets)", true},
	{"anon_inode:[eventpoll]", "(anonymous inodes)", true},
};

#define NAME_30 "abcdefghijklmnopqrstuvwxyz0123"

static void
is_key(const char *path, const char *want, bool want_shared)
{
	char key[PFS_OBJECT_KEY_LENGTH + 1];
	size_t room = strlen(path);
	char *exact = malloc(room); /* without a zero behind it */
	bool shared;
	size_t length;

	memcpy(exact, path, room);
	length = pfs_file_key(exact, room, key, &shared);
	key[pfs_min(length, (size_t) PFS_OBJECT_KEY_LENGTH)] = '\0';
	ok(length <= PFS_OBJECT_KEY_LENGTH && strcmp(key, want) == 0 && shared == want_shared,
	   "%s -> %s%s", path, key, shared ? " (shared)" : "");
	free(exact);
}

static void
test_keys(void)
{
	char longest[PFS_OBJECT_KEY_LENGTH + 2];
	char key[PFS_OBJECT_KEY_LENGTH];
	bool shared;

	pfs_data_directory = "/data/pg";
	for (size_t i = 0; i < PFS_LENGTH(paths); i++)
		is_key(paths[i].path, paths[i].key, paths[i].shared);
	is_key("/" NAME_30 "/" NAME_30 "/" NAME_30 "/" NAME_30,
		   "/" NAME_30 "/" NAME_30 "/" NAME_30 "/(long names)", true);
	is_key("/" NAME_30 "/" NAME_30 "/" NAME_30 "/abcdef/" NAME_30,
		   "/" NAME_30 "/" NAME_30 "/" NAME_30 "/(long names)", true);
	is_key(NAME_30 NAME_30 NAME_30 NAME_30, "/(long names)", true);
	is_key("/" NAME_30 "/" NAME_30 "/" NAME_30 "/pgsql_tmp/x",
		   "/" NAME_30 "/" NAME_30 "/" NAME_30 "/(temporary files)", true);
	memset(longest, 'x', sizeof(longest));
	is_u64(pfs_file_key(longest, PFS_OBJECT_KEY_LENGTH, key, &shared), PFS_OBJECT_KEY_LENGTH,
		   "the longest name");
	ok(!shared && memcmp(key, longest, sizeof(key)) == 0, "stands as it is");
	pfs_file_key(longest, PFS_OBJECT_KEY_LENGTH + 1, key, &shared);
	ok(shared, "one more byte is too long");
	pfs_data_directory = NULL;
	is_key("/data/pg/base/5/16384", "/data/pg/base/5/16384", false);
}

/* Any bytes: nothing is written or read beyond the ends. */
static void
test_random_keys(void)
{
	static const char *const words[] = {"pgsql_tmp", "/", "base/5/", "t3_", "pg_wal/", "0123456789AB",
		"pg_replslot/", "xid-", ".", "./", "pg_internal.init.", "\0x", "xyz", "pg_tblspc/1/"};
	uint64_t random = 11;
	int wrong = 0;

	pfs_data_directory = "/data";
	for (int i = 0; i < 20000; i++)
	{
		char path[400];
		size_t length = 0;
		char *exact;
		char key[PFS_OBJECT_KEY_LENGTH];
		bool shared;

		for (uint64_t n = 1 + next_random(&random) % 20; n > 0; n--)
		{
			const char *word = words[next_random(&random) % PFS_LENGTH(words)];
			size_t bytes = word[0] == '\0' ? 2 : strlen(word);

			memcpy(path + length, word, bytes);
			length += bytes;
		}
		exact = malloc(length);
		memcpy(exact, path, length);
		wrong += pfs_file_key(exact, length, key, &shared) > sizeof(key);
		free(exact);
	}
	is_u64((uint64_t) wrong, 0, "any bytes make a key of bounded length");
	pfs_data_directory = NULL;
}

/* --- rows --- */

static void
test_rows(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Handle a = file(arena, "base/5/1");
	Handle b = file(arena, "base/5/2");
	Handle t = table(arena, 5, 16384, 0);
	Handle i = table(arena, 5, 16384, 16390);

	ok(a.row == 1 && b.row == 2 && (a.use & 1) == 1, "rows are handed out one after the other");
	ok(same(a, file(arena, "./base/5/1")), "a file is found again");
	ok(same(t, table(arena, 5, 16384, 0)) && same(i, table(arena, 5, 16384, 16390)), "and a table");
	ok(t.row == 1 && i.row == 2, "its index has a row of its own");
	ok(!same(t, table(arena, 6, 16384, 0)), "another database, another table");
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
	Handle a = file(arena, "a");
	Handle successor;

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
	successor = file(arena, "b");
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
	Handle first = file(arena, "file 0");
	Handle lost;

	for (uint32_t i = 1; i < size; i++)
	{
		snprintf(path, sizeof(path), "file %u", i);
		ok(file(arena, path).row == i + 1, "row %u", i + 1);
	}
	lost = file(arena, "one more");
	is_u64(lost.row, 0, "a full map refuses");
	is_u64(loss_of(arena, PFS_LOSS_FILES), 1, "and counts the loss");
	ok(same(first, file(arena, "file 0")), "those that are there are found");
	read_file(session, lost, 10);
	is_u64(table_sum(arena, FILES, "count_star"), 0, "an event without a row counts nowhere");
	is_u64(table_sum(arena, "file_summary_by_event_name", "count_star"), 1, "but by its name");
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "and is no further loss");
	pfs_file_forget(arena, "file 3", 6);
	pfs_file_forget(arena, "no such file", 12);
	is_u64(file(arena, "one more").row, 4, "a removed file makes room");
	is_u64(file(arena, "file 3").row, 0, "for one");
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
			Handle handle = file(arena, path);

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
	Handle handle[MANY];
	int wrong = 0;

	for (int i = 0; i < MANY; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		handle[i] = file(arena, path);
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

/* The cell that is used more stays. */
static void
test_victim(void)
{
	PfsArena *arena = sized_arena(MANY, 12, 1 << 20);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Handle handle[3 * PFS_OBJECT_CACHE];
	const PfsObjectCell *cell;

	for (int i = 0; i < 3 * PFS_OBJECT_CACHE / 2 + 1; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		handle[i] = file(arena, path);
	}
	/* these three have the same two places */
	read_file(session, handle[0], 10);
	for (int i = 0; i < 10; i++)
		read_file(session, handle[PFS_OBJECT_CACHE / 2], 10);
	read_file(session, handle[PFS_OBJECT_CACHE], 10);
	cell = pfs_pool_at(pfs_pool_of(arena), session->thread->file_cell[0], sizeof(*cell));
	is_u64(cell->row, handle[PFS_OBJECT_CACHE].row, "the newcomer takes the less used place");
	cell = pfs_pool_at(pfs_pool_of(arena), session->thread->file_cell[1], sizeof(*cell));
	is_u64(cell->row, handle[PFS_OBJECT_CACHE / 2].row, "the more used one stays");
	pfs_file_forget(arena, "f32", 3);
	read_file(session, handle[0], 10);
	is_u64(cell->row, handle[0].row, "unless its file is gone");
	is_u64(table_sum(arena, FILES, "count_star"), 3, "the others have all their events");
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_pool_full(void)
{
	PfsArena *arena = sized_arena(MANY, 12, 24 * PFS_POOL_UNIT);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsPool *pool = pfs_pool_of(arena);
	Handle a = file(arena, "a");
	Handle b;
	Handle same_places;

	read_file(session, a, 10);
	while (pfs_pool_alloc(pool, PFS_POOL_UNIT) != 0)
		;
	for (int i = 0; i < PFS_OBJECT_CACHE / 2 - 1; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		b = file(arena, path);
	}
	same_places = file(arena, "z");
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
		Handle t = table(arena, 5, 1, 0);

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
	Handle handle[3 * PFS_OBJECT_CACHE];
	PfsObjectRow *row[3];

	for (int i = 0; i <= 3 * PFS_OBJECT_CACHE / 2; i++)
	{
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		handle[i] = file(arena, path);
	}
	for (int i = 0; i < 3; i++)
		row[i] = pfs_object_row_at(arena, PFS_MAP_FILES, handle[i * PFS_OBJECT_CACHE / 2].row);
	read_file(session, handle[0], 10);
	for (int i = 0; i < 5; i++)
		read_file(session, handle[PFS_OBJECT_CACHE / 2], 10);
	pfs_store(&row[0]->lock, 1);
	read_file(session, handle[PFS_OBJECT_CACHE], 10);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "one row is busy: the other place is taken");
	is_u64(of_file(arena, "f64", "count_star"), 1, "for the newcomer");
	is_u64(of_file(arena, "f32", "count_star"), 5, "the evicted one is in its row");
	pfs_store(&row[2]->lock, 1);
	read_file(session, handle[PFS_OBJECT_CACHE / 2], 10);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 1, "both are busy: the event is lost");
	is_u64(of_file(arena, "f0", "count_star"), 1, "what was counted stays");
	is_u64(of_file(arena, "f64", "count_star"), 1, "in both");
	pfs_store(&row[0]->lock, 0);
	pfs_store(&arena->loss[PFS_LOSS_OBJECT_CELLS], 0);
	fixture_detach(session);
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 1, "a thread that ends does not wait for ever");
	is_u64(of_file(arena, "f64", "count_star"), 0, "what it could not hand over is counted");
	is_u64(of_file(arena, "f0", "count_star"), 1, "the rest is in its rows");
	pfs_file_forget(arena, "f1", 2);
	pfs_file_forget(arena, "f64", 3);
	ok(file(arena, "new").row == handle[1].row, "a row somebody stands in is not used again");
	pfs_store(&row[2]->lock, 0);
	ok(file(arena, "newer").row == handle[PFS_OBJECT_CACHE].row, "before he has left it");
	pfs_store(&arena->object_rows[PFS_MAP_FILES].lock, 1);
	is_u64(file(arena, "newest").row, 0, "no new row while the map is busy");
	is_u64(loss_of(arena, PFS_LOSS_FILES), 1, "which is counted");
	ok(file(arena, "newer").row != 0, "those that exist are found");
	pfs_file_forget(arena, "newer", 5);
	ok(file(arena, "newer").row != 0, "and cannot be removed");
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
	Handle old = file(arena, "old");
	Handle new;

	read_file(session, old, 10);
	read_file(late, old, 10);
	pfs_file_forget(arena, "old", 3);
	is_u64(table_sum(arena, FILES, "count_star"), 0, "its numbers go with the file");
	new = file(arena, "new");
	is_u64(new.row, old.row, "another file takes the row");
	is_u64(of_file(arena, "new", "count_star"), 0, "and starts with nothing");
	read_file(session, old, 10);
	read_file(fresh, old, 10);
	is_u64(of_file(arena, "new", "count_star"), 0, "late events of the old one do not count");
	is_u64(fresh->thread->file_cell[pfs_object_place(old.row)], 0, "and claim no cell");
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
	pfs_object_fold_thread(session->arena, session->thread);
}

static void
replace(PfsSession *session)
{
	pfs_file_forget(session->arena, "f1", 2);
	file(session->arena, "f9");
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
				read_file(i % 2 ? session : other, file(arena, path), 10);
				read_file(session, file(arena, path), 10);
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

/* A process that stands still inside a row or a thread: readers come back and say so. */
static void
test_stopped_writer(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Handle a = file(arena, "a");
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_FILES, a.row, a.use);

	read_file(session, a, 10);
	pfs_seq_write_begin(&row->seq);
	is_u64(of_file(arena, "a", "count_star"), 1, "a row in writing: its numbers are shown");
	is_u64(loss_of(arena, PFS_LOSS_UNSTABLE_READS), 1, "and it is said");
	pfs_seq_write_end(&row->seq);
	pfs_seq_write_begin(&session->thread->seq);
	is_u64(of_file(arena, "a", "count_star"), 1, "a thread in writing: the same");
	ok(loss_of(arena, PFS_LOSS_UNSTABLE_READS) > 1, "and it is said");
	table_count(arena, "socket_instances");
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
		read_file(session, file(arena, path), 10);
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
	Handle a = file(arena, "a");
	Handle t = table(arena, 5, 1, 0);
	uint64_t used;

	fixture_detach(session);
	used = pfs_pool_bytes_used(pfs_pool_of(arena));
	session = fixture_attach(arena, 0, "ada", "h1");
	read_file(session, a, 10);
	fetch(session, t, 4, 10);
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
	ok(pfs_pool_bytes_used(pfs_pool_of(arena)) <= used + 64 * PFS_POOL_UNIT, "cells are given back");
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
	Handle a = file(arena, "a");
	Handle t = table(arena, 5, 1, 0);
	Handle index = table(arena, 5, 1, 2);

	read_file(session, a, 100);
	read_file(idle, a, 200);
	read_file(gone, a, 300);
	fetch(session, t, 4, 10);
	fetch(gone, index, 5, 10);
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
	fetch(session, t, 2, 10);
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
	Handle a = file(arena, "a");

	read_file(session, a, 100);
	fixture_detach(session);
	table_truncate(arena, FILES);
	pfs_file_forget(arena, "a", 1);
	a = file(arena, "b");
	session = fixture_attach(arena, 0, "ada", "h1");
	read_file(session, a, 5);
	fixture_detach(session);
	is_u64(of_file(arena, "b", "count_star"), 1, "one event");
	is_u64(of_file(arena, "b", "sum_timer_wait"), 5, "and its time");
	fixture_free(arena);
}

/* --- tables --- */

static Handle
named_table(PfsArena *arena, uint32_t id, uint32_t index, const char *schema, const char *name,
			const char *index_name)
{
	Handle handle = table(arena, 5, id, index);

	pfs_table_name(arena, handle.row, handle.use,
				   pfs_routine_name(arena, PFS_OBJECT_TABLE, schema, name),
				   index_name != NULL ? pfs_name(arena, index_name, strlen(index_name)) : 0);
	return handle;
}

static void
test_tables(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	Handle by_key = named_table(arena, 100, 101, "public", "orders", "orders_pkey");
	Handle plain = named_table(arena, 100, 0, "public", "orders", NULL);
	Handle other = named_table(arena, 200, 0, "shop", "item", NULL);
	Rows *rows;
	int i;

	fetch(session, by_key, 3, 30);
	pfs_wait_table(session, plain.row, plain.use, PFS_TABLE_INSERT, 2, FIXTURE_START, 20);
	pfs_wait_table(session, plain.row, plain.use, PFS_TABLE_UPDATE, 4, FIXTURE_START, 40);
	pfs_wait_table(session, plain.row, plain.use, PFS_TABLE_DELETE, 5, FIXTURE_START, 0);
	fetch(session, plain, 1, 10);
	fetch(session, other, 7, 70);

	rows = rows_of(arena, INDEXES);
	is_u64((uint64_t) rows->count, 3, "by index usage: three rows");
	i = rows_find(rows, "index_name", "orders_pkey");
	is_str(row_text(rows, i, "object_type"), "TABLE", "type");
	is_str(row_text(rows, i, "object_schema"), "public", "schema");
	is_str(row_text(rows, i, "object_name"), "orders", "table");
	is_u64(row_number(rows, i, "count_fetch"), 3, "rows fetched by the index");
	is_u64(row_number(rows, i, "count_write"), 0, "none written");
	is_u64(row_number(rows, i, "index_oid"), 101, "its oid");
	is_u64(row_number(rows, i, "table_oid"), 100, "the table's");
	is_u64(row_number(rows, i, "database_oid"), 5, "and the database's");
	i = rows_find(rows, "object_name", "item");
	ok(row_text(rows, i, "index_name") == NULL && row_text(rows, i, "index_oid") == NULL,
	   "without an index there is no name");
	rows_free(rows);

	rows = rows_of(arena, TABLES);
	is_u64((uint64_t) rows->count, 2, "by table: two rows");
	i = rows_find(rows, "object_name", "orders");
	is_u64(row_number(rows, i, "count_star"), 15, "all rows");
	is_u64(row_number(rows, i, "sum_timer_wait"), 100, "their time");
	is_u64(row_number(rows, i, "count_read"), 4, "READ");
	is_u64(row_number(rows, i, "count_fetch"), 4, "is FETCH");
	is_u64(row_number(rows, i, "sum_timer_fetch"), 40, "with its time");
	is_u64(row_number(rows, i, "count_write"), 11, "WRITE");
	is_u64(row_number(rows, i, "sum_timer_write"), 60, "is the other three");
	is_u64(row_number(rows, i, "count_insert"), 2, "INSERT");
	is_u64(row_number(rows, i, "count_update"), 4, "UPDATE");
	is_u64(row_number(rows, i, "count_delete"), 5, "DELETE");
	is_u64(row_number(rows, i, "max_timer_write"), 40, "longest");
	rows_free(rows);

	for (unsigned mode = 0; mode <= PFS_LOCK_MODES + 1; mode++)
		pfs_table_lock_add(arena, plain.row, plain.use, mode, 10 * mode);
	pfs_table_lock_add(arena, by_key.row, by_key.use, 1, 1);
	rows = rows_of(arena, LOCKS);
	i = rows_find(rows, "object_name", "orders");
	is_u64(row_number(rows, i, "count_star"), 9, "lock waits of all modes, and of the index");
	is_u64(row_number(rows, i, "count_read"), 3, "of readers");
	is_u64(row_number(rows, i, "count_write"), 6, "of writers");
	is_u64(row_number(rows, i, "count_access_share"), 2, "ACCESS SHARE");
	is_u64(row_number(rows, i, "sum_timer_access_share"), 11, "its time");
	is_u64(row_number(rows, i, "sum_timer_row_share"), 20, "ROW SHARE");
	is_u64(row_number(rows, i, "sum_timer_share_row_exclusive"), 60, "SHARE ROW EXCLUSIVE");
	is_u64(row_number(rows, i, "max_timer_access_exclusive"), 80, "ACCESS EXCLUSIVE");
	is_u64(row_number(rows, rows_find(rows, "object_name", "item"), "count_star"), 0,
		   "another table has none");
	rows_free(rows);

	rows = rows_of(arena, OBJECTS);
	is_u64((uint64_t) rows->count, 2, "objects: two rows");
	is_u64(row_number(rows, rows_find(rows, "object_name", "orders"), "count_star"), 24,
		   "rows and lock waits");
	rows_free(rows);
	rows = rows_where(arena, TABLES, "object_schema", "shop");
	is_u64((uint64_t) rows->count, 1, "a condition is taken down");
	rows_free(rows);
	fixture_detach(session);
	is_u64(table_sum(arena, TABLES, "count_star"), 22, "sums stay when the thread has gone");
	fixture_free(arena);
}

static void
test_forget_tables(void)
{
	PfsArena *arena = sized_arena(1, 100, 1 << 20);
	PfsTableKey index = {5, 3, 2};

	for (uint32_t database = 5; database <= 6; database++)
		for (uint32_t id = 1; id <= 10; id++)
			for (uint32_t i = 0; i < 4; i++)
				table(arena, database, id, i);
	is_u64(table_count(arena, INDEXES), 80, "20 tables with 3 indexes each");
	pfs_table_forget(arena, 5, 7);
	pfs_table_forget(arena, 5, 4711);
	is_u64(table_count(arena, INDEXES), 76, "a table goes with its indexes");
	is_u64(table_count(arena, TABLES), 19, "and no other");
	pfs_index_forget(arena, &index);
	pfs_index_forget(arena, &index);
	is_u64(table_count(arena, INDEXES), 75, "an index goes alone");
	pfs_table_forget(arena, 5, 0);
	is_u64(table_count(arena, INDEXES), 40, "a database goes with all");
	for (uint32_t id = 1; id <= 60; id++)
		table(arena, 7, id, 0);
	is_u64(table_count(arena, INDEXES), 100, "and there is room again");
	is_u64(table(arena, 8, 1, 0).row, 0, "up to the size");
	is_u64(loss_of(arena, PFS_LOSS_TABLES), 1, "then it is counted");
	fixture_free(arena);
}

/* A table keeps its locks' chunk for the next one in its row, without the numbers. */
static void
test_locks_of_a_reused_row(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Handle t = table(arena, 5, 1, 0);

	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	pfs_table_forget(arena, 5, 1);
	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	is_u64(table_sum(arena, LOCKS, "count_star"), 0, "a dropped table has no lock waits");
	is_u64(table(arena, 5, 2, 0).row, t.row, "another one takes its row");
	is_u64(table_sum(arena, LOCKS, "count_star"), 0, "and starts with none");
	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	is_u64(table_sum(arena, LOCKS, "count_star"), 0, "late ones do not count");
	is_u64(loss_of(arena, PFS_LOSS_OBJECT_CELLS), 0, "and are no loss");
	fixture_free(arena);
}

static void
rename_host(const PfsTableKey *key, PfsHostObject *object)
{
	object->schema = key->database == 5 ? "public" : NULL;
	object->name = key->database == 5 ? "by the host" : NULL;
}

static void
test_unnamed(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Handle t = table(arena, 5, 1, 0);
	Rows *rows;

	table(arena, 6, 1, 0);
	pfs_table_lock_add(arena, t.row, t.use, 3, 10);
	rows = rows_of(arena, LOCKS);
	ok(row_text(rows, 0, "object_schema") == NULL && row_text(rows, 0, "object_name") == NULL,
	   "a table that was only locked has no name");
	rows_free(rows);
	pfs_host_table_name = rename_host;
	rows = rows_of(arena, LOCKS);
	is_str(row_text(rows, 0, "object_name"), "by the host", "unless the host knows it");
	ok(row_text(rows, 1, "object_name") == NULL, "which it may not");
	rows_free(rows);
	rows = rows_where(arena, LOCKS, "object_name", "by the host");
	is_u64((uint64_t) rows->count, 1, "a condition sees that name");
	rows_free(rows);
	named_table(arena, 1, 9, "s", "of the index", "i");
	rows = rows_of(arena, LOCKS);
	is_str(row_text(rows, 0, "object_name"), "of the index", "an index knows its table");
	rows_free(rows);
	pfs_host_table_name = NULL;
	fixture_free(arena);
}

/* --- setup_objects --- */

static bool
edit_rule(PfsArena *arena, char what, const char *schema, const char *name, const char *enabled,
		  const char *timed)
{
	const PfsTable *rules = pfs_table_by_name("setup_objects");
	const char *fields[5] = {"TABLE", schema, name, enabled, timed};
	int column;

	return (what == 'i'	  ? rules->insert(arena, fields, &column)
			: what == 'u' ? rules->update(arena, fields, fields, &column)
						  : rules->remove(arena, fields)) == PFS_EDIT_OK;
}

static void
test_watched(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Handle t = named_table(arena, 100, 0, "public", "orders", NULL);
	Handle catalog = named_table(arena, 200, 0, "pg_catalog", "pg_class", NULL);
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, t.row, t.use);
	uint64_t known;
	bool timed;

	ok(pfs_table_watched(arena, t.row, t.use, &timed) && timed, "tables are watched");
	ok(!pfs_table_watched(arena, catalog.row, catalog.use, &timed) && !timed, "catalogs are not");
	known = row->rule;
	pfs_table_watched(arena, t.row, t.use, &timed);
	is_u64(row->rule, known, "the answer is remembered");
	ok(edit_rule(arena, 'i', "public", "orders", "YES", "NO"), "a rule for the table");
	ok(pfs_table_watched(arena, t.row, t.use, &timed) && !timed, "counts at once");
	ok(edit_rule(arena, 'u', "public", "orders", "NO", "NO"), "is changed");
	ok(!pfs_table_watched(arena, t.row, t.use, &timed), "counts at once");
	named_table(arena, 100, 0, "public", "bills", NULL);
	ok(pfs_table_watched(arena, t.row, t.use, &timed) && timed, "a renamed table has another rule");
	named_table(arena, 100, 0, "public", "orders", NULL);
	ok(!pfs_table_watched(arena, t.row, t.use, &timed), "and its old one again");
	ok(edit_rule(arena, 'd', "public", "orders", NULL, NULL), "it is removed");
	ok(pfs_table_watched(arena, t.row, t.use, &timed) && timed, "the general one counts again");
	ok(table_truncate(arena, "setup_objects"), "no rule at all");
	ok(!pfs_table_watched(arena, t.row, t.use, &timed) && !timed, "watches nothing");
	pfs_rules_default(arena);
	edit_rule(arena, 'u', "%", "%", "YES", "YES");
	ok(pfs_table_watched(arena, t.row, t.use, &timed), "rules are back");
	pfs_table_forget(arena, 5, 100);
	ok(!pfs_table_watched(arena, t.row, t.use, &timed) && !timed, "a dropped table is not watched");
	t = table(arena, 5, 300, 0);
	ok(pfs_table_watched(arena, t.row, t.use, &timed), "a table without a name follows %%.%%");
	ok(!pfs_table_watched(arena, 0, 0, &timed) && !timed, "no row: not watched");
	fixture_free(arena);
}

/* An answer that comes late belongs to the use it was looked up for. */
static void
test_late_rule(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Handle hidden = named_table(arena, 100, 0, "pg_catalog", "pg_class", NULL);
	PfsObjectRow *row = pfs_object_row(arena, PFS_MAP_TABLES, hidden.row, hidden.use);
	Handle shown;
	uint64_t late;
	bool timed;

	pfs_table_watched(arena, hidden.row, hidden.use, &timed);
	late = row->rule;
	pfs_table_forget(arena, 5, 100);
	shown = named_table(arena, 101, 0, "public", "orders", NULL);
	is_u64(shown.row, hidden.row, "the same row");
	pfs_store(&row->rule, late);
	ok(pfs_table_watched(arena, shown.row, shown.use, &timed) && timed,
	   "an answer for its predecessor does not count");
	fixture_free(arena);
}

/* --- sockets, relations, calls --- */

static void
connect_socket(PfsSession *session, const char *address, uint16_t port, int fd)
{
	PfsSocket *socket = &session->thread->socket;

	pfs_store(&socket->fd, fd);
	pfs_store(&socket->port, port);
	pfs_store(&socket->idle, port == 0);
	pfs_copy_bytes(socket->address, address, strlen(address) + 1);
	pfs_store(&socket->used, 1);
}

static void
test_sockets(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *ada = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *bob = fixture_attach(arena, 1, "bob", "[local]");
	PfsSession *worker = fixture_attach(arena, 2, NULL, NULL);
	Rows *rows;
	uint64_t instance;

	connect_socket(ada, "10.0.0.1", 4711, 9);
	connect_socket(bob, "", 0, 9);
	fixture_wait(ada, FIXTURE_WAIT_SOCKET, PFS_OPERATION_RECV, 0, 0, 10, 100);
	fixture_wait(ada, FIXTURE_WAIT_SOCKET, PFS_OPERATION_SEND, 0, 0, 20, 200);
	fixture_wait(bob, FIXTURE_WAIT_SOCKET, PFS_OPERATION_SEND, 0, 0, 30, 300);
	rows = rows_of(arena, "socket_instances");
	is_u64((uint64_t) rows->count, 2, "two connections");
	is_str(row_text(rows, 0, "ip"), "10.0.0.1", "address");
	is_u64(row_number(rows, 0, "port"), 4711, "port");
	is_str(row_text(rows, 0, "state"), "ACTIVE", "active");
	is_str(row_text(rows, 1, "state"), "IDLE", "idle");
	is_str(row_text(rows, 1, "ip"), "", "a Unix socket has no address");
	is_u64(row_number(rows, 0, "thread_id"), ada->thread->thread_id, "thread");
	is_u64(row_number(rows, 0, "socket_id"), 9, "descriptor");
	instance = row_number(rows, 0, "object_instance_begin");
	ok(instance != row_number(rows, 1, "object_instance_begin"), "instances differ");
	rows_free(rows);
	rows = rows_of(arena, "socket_summary_by_instance");
	is_u64(row_number(rows, 0, "count_star"), 2, "events");
	is_u64(row_number(rows, 0, "sum_timer_write"), 20, "sent");
	is_u64(row_number(rows, 0, "sum_number_of_bytes_read"), 100, "received");
	is_u64(row_number(rows, 0, "object_instance_begin"), instance, "of the same instance");
	rows_free(rows);
	rows = rows_seen_by(arena, "socket_summary_by_instance", "bob");
	is_u64((uint64_t) rows->count, 1, "bob sees his own");
	is_u64(rows_sum(rows, "sum_timer_write"), 30, "with his numbers");
	rows_free(rows);
	rows = rows_seen_by(arena, "socket_instances", "eve");
	is_u64((uint64_t) rows->count, 0, "eve sees none");
	rows_free(rows);
	rows = rows_seen_by(arena, "events_waits_summary_by_instance", "eve");
	is_u64((uint64_t) rows->count, 0, "in no table");
	rows_free(rows);
	is_u64(table_sum(arena, "events_waits_summary_by_instance", "count_star"), 3, "others see all");
	ok(table_truncate(arena, "socket_summary_by_instance"), "TRUNCATE");
	is_u64(table_sum(arena, "socket_summary_by_instance", "count_star"), 0, "empties them");
	is_u64(table_count(arena, "socket_summary_by_instance"), 2, "and leaves the rows");
	fixture_wait(ada, FIXTURE_WAIT_SOCKET, PFS_OPERATION_POLL, 0, 0, 5, -1);
	is_u64(table_sum(arena, "socket_summary_by_instance", "count_misc"), 1, "counting goes on");
	fixture_detach(ada);
	is_u64(table_count(arena, "socket_instances"), 1, "a connection that is closed has no row");
	ada = fixture_attach(arena, 0, "ada", "h1");
	connect_socket(ada, "10.0.0.1", 4711, 9);
	rows = rows_of(arena, "socket_instances");
	ok(row_number(rows, 0, "object_instance_begin") != instance, "the next one is another instance");
	rows_free(rows);
	fixture_detach(ada);
	fixture_detach(bob);
	fixture_detach(worker);
	fixture_free(arena);
}

static const char *
relation_of(const char *path)
{
	return strcmp(path, "base/5/16384") == 0 ? "public.orders" : NULL;
}

static void
test_relation_names(void)
{
	PfsArena *arena = fixture_arena(NULL);
	Rows *rows;

	file(arena, "base/5/16384");
	file(arena, "pg_control");
	pfs_host_relation_of_file = relation_of;
	rows = rows_of(arena, FILES);
	is_str(row_text(rows, 0, "relation_name"), "public.orders", "a relation's file");
	is_str(row_text(rows, 1, "relation_name"), NULL, "is told from others");
	is_str(row_text(rows, 0, "event_name"), "wait/io/file/unit/data", "event name");
	rows_free(rows);
	rows = rows_of(arena, "file_instances");
	is_str(row_text(rows, 0, "relation_name"), "public.orders", "the same among the instances");
	rows_free(rows);
	pfs_host_relation_of_file = NULL;
	rows = rows_of(arena, FILES);
	is_str(row_text(rows, 0, "relation_name"), NULL, "without a host it is not known");
	rows_free(rows);
	fixture_free(arena);
}

static void
test_calls(void)
{
	PfsArena *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");
	PfsSession *other = fixture_attach(arena, 1, "ada", "h1");
	size_t bytes = PFS_CALL_COUNTERS * sizeof(uint64_t);
	Rows *rows;

	for (int i = 0; i < 2; i++)
	{
		PfsThread *thread = (i == 0 ? session : other)->thread;

		pfs_store(&thread->calls, pfs_pool_alloc(pfs_pool_of(arena), bytes));
		pfs_add((uint64_t *) pfs_pool_at(pfs_pool_of(arena), thread->calls, bytes), 5);
	}
	for (int i = 0; i < 2; i++)
	{
		rows = rows_of(arena, "interposed_calls");
		is_u64((uint64_t) rows->count, 2, "two slots");
		is_str(row_text(rows, 0, "patched"), "YES", "one is patched");
		is_str(row_text(rows, 1, "state"), "NOT IMPORTED", "the other is not");
		is_u64(row_number(rows, 0, "calls"), 10, i == 0 ? "calls of all threads" : "and of dead ones");
		is_u64(row_number(rows, 1, "calls"), 0, "of each symbol");
		rows_free(rows);
		if (i == 0)
			fixture_detach(session);
	}
	fixture_detach(other);
	is_u64(table_sum(arena, "interposed_calls", "calls"), 10, "when all have gone, too");
	fixture_free(arena);
}

/* Sizes of 0: nothing is kept, nothing breaks. */
static void
test_no_rows(void)
{
	PfsArena *arena = sized_arena(0, 0, 1 << 20);
	PfsSession *session = fixture_attach(arena, 0, "ada", "h1");

	read_file(session, file(arena, "a"), 10);
	fetch(session, table(arena, 5, 1, 0), 1, 10);
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
	test_keys();
	test_random_keys();
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
	test_tables();
	test_forget_tables();
	test_locks_of_a_reused_row();
	test_unnamed();
	test_watched();
	test_late_rule();
	test_sockets();
	test_relation_names();
	test_calls();
	test_no_rows();
	return done_testing();
}
