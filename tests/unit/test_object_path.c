/*
 * test_object_path.c - keys of paths in file_instances: which files have a row of their own.
 */
#include "arena_fixture.h"
#include "tap.h"

#include "core/object.h"

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
	{"base/pgsql_tmp/pgsql_tmp4711.3.fileset/o12of64.p0.0", "base/pgsql_tmp/(temporary files)",
	 true},
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
	static const char *const words[] = {
		"pgsql_tmp",    "/",           "base/5/", "t3_", "pg_wal/",           "0123456789AB",
		"pg_replslot/", "xid-",        ".",       "./",  "pg_internal.init.", "\0x",
		"xyz",          "pg_tblspc/1/"};
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

int
main(void)
{
	test_keys();
	test_random_keys();
	return done_testing();
}
