/*
 * object_path.c
 *		From a path to the key of its row in file_instances.  The rules are listed in object.h.
 *
 * They keep the number of rows bounded: names that are made up as the server goes (temporary
 * files, WAL segments) would fill the map within hours.
 */
#include "core/object.h"

const char *pfs_data_directory;

typedef struct Path
{
	const char *text;
	size_t		length;
} Path;

/* Everything behind these words has one row. */
static const struct
{
	const char *prefix;
	const char *key;
}			shared_rows[] = {
	{"pg_wal/xlogtemp.", "pg_wal/(segments)"},
	{"pg_wal/archive_status/", "pg_wal/archive_status/(files)"},
	{"pg_wal/summaries/", "pg_wal/summaries/(files)"},
	{"pg_logical/mappings/", "pg_logical/mappings/(files)"},
	{"pg_logical/snapshots/", "pg_logical/snapshots/(files)"},
	{"pg_snapshots/", "pg_snapshots/(files)"},
	{"pg_stat_tmp/", "pg_stat_tmp/(files)"},
	{"pg_twophase/", "pg_twophase/(files)"},
	{"pg_dynshmem/", "(dynamic shared memory)"},
	{"/dev/shm/PostgreSQL.", "(dynamic shared memory)"},
	{"/PostgreSQL.", "(dynamic shared memory)"},
	{"/proc/", "/proc/(files)"},
	{"/sys/", "/sys/(files)"},
	{"pipe:[", "(pipes)"},
	{"socket:[", "(sockets)"},
	{"anon_inode:", "(anonymous inodes)"},
};

/* Is this the beginning of the path, and not all of it? */
static bool
begins(Path path, const char *prefix)
{
	size_t		length = strlen(prefix);

	return path.length > length && memcmp(path.text, prefix, length) == 0;
}

static Path
behind(Path path, size_t bytes)
{
	return (Path) {path.text + bytes, path.length - bytes};
}

/* Length of the run of these characters that the path begins with. */
static size_t
run_of(Path path, const char *characters)
{
	size_t		n = 0;

	while (n < path.length && path.text[n] != '\0' && strchr(characters, path.text[n]) != NULL)
		n++;
	return n;
}

#define DIGITS "0123456789"
#define HEX_DIGITS "0123456789ABCDEF"
#define WAL_NAME_LENGTH 24

/* A segment, and what is derived from one: .partial, .00000028.backup. */
static bool
is_wal_segment(Path path)
{
	Path		name;

	if (!begins(path, "pg_wal/"))
		return false;
	name = behind(path, strlen("pg_wal/"));
	return run_of(name, HEX_DIGITS) == WAL_NAME_LENGTH &&
		(name.length == WAL_NAME_LENGTH || name.text[WAL_NAME_LENGTH] == '.');
}

/* t3_16384, with fork and segment: a relation of one session's temporary schema. */
static bool
is_temporary_relation(Path name)
{
	size_t		backend;

	if (name.length == 0 || name.text[0] != 't')
		return false;
	name = behind(name, 1);
	backend = run_of(name, DIGITS);
	if (backend == 0 || backend == name.length || name.text[backend] != '_')
		return false;
	return run_of(behind(name, backend + 1), DIGITS) > 0;
}

/* Length of the directory up to and with "pgsql_tmp", if the path leads through one; else 0. */
static size_t
temporary_directory(Path path)
{
	static const char word[] = "pgsql_tmp/";
	size_t		length = sizeof(word) - 1;

	for (size_t i = 0; i + length < path.length; i++)
		if ((i == 0 || path.text[i - 1] == '/') && memcmp(path.text + i, word, length) == 0)
			return i + length - 1;
	return 0;
}

static size_t
directory_length(Path path)
{
	size_t		n = path.length;

	while (n > 0 && path.text[n - 1] != '/')
		n--;
	return n > 0 ? n - 1 : 0;
}

/* A word in place of what stands in a directory: the nearest one whose name fits. */
static size_t
in_directory(char *key, Path path, size_t length, const char *word)
{
	size_t		word_length = strlen(word);

	path.length = length;
	while (path.length + word_length > PFS_OBJECT_KEY_LENGTH)
		path.length = directory_length(path);
	memcpy(key, path.text, path.length);
	memcpy(key + path.length, word, word_length);
	return path.length + word_length;
}

/* In the data directory from there, and without "./". */
static Path
relative(Path path)
{
	size_t		length = pfs_data_directory != NULL ? strlen(pfs_data_directory) : 0;

	if (length > 0 && path.length > length + 1 && path.text[length] == '/' &&
		memcmp(path.text, pfs_data_directory, length) == 0)
		path = behind(path, length + 1);
	while (path.length > 2 && path.text[0] == '.' && path.text[1] == '/')
		path = behind(path, 2);
	return path;
}

const char *
pfs_file_relative(const char *text)
{
	return relative((Path) {text, strlen(text)}).text;
}

size_t
pfs_file_key(const char *text, size_t length, char *key, bool *shared)
{
	static const char init_file[] = "pg_internal.init.";
	Path		path = relative((Path) {text, length});
	size_t		directory = directory_length(path);
	Path		name = behind(path, directory > 0 ? directory + 1 : 0);
	size_t		temporary = temporary_directory(path);

	*shared = true;
	if (temporary > 0)
		return in_directory(key, path, temporary, "/(temporary files)");
	if (is_temporary_relation(name) && (begins(path, "base/") || begins(path, "pg_tblspc/")))
		return in_directory(key, path, directory, "/(temporary relations)");
	if (is_wal_segment(path))
		return in_directory(key, path, directory, "/(segments)");
	if (begins(path, "pg_replslot/") && begins(name, "xid-"))
		return in_directory(key, path, directory, "/(spill files)");
	for (size_t i = 0; i < PFS_LENGTH(shared_rows); i++)
		if (begins(path, shared_rows[i].prefix))
		{
			memcpy(key, shared_rows[i].key, strlen(shared_rows[i].key));
			return strlen(shared_rows[i].key);
		}
	if (begins(name, init_file))
		path.length -= name.length - (sizeof(init_file) - 2);
	else
		*shared = path.length > PFS_OBJECT_KEY_LENGTH;
	if (path.length > PFS_OBJECT_KEY_LENGTH)
		return in_directory(key, path, directory, "/(long names)");
	memcpy(key, path.text, path.length);
	return path.length;
}
