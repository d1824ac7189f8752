/*
 * object.h
 *		Files and tables: shared rows by key, and the cells in which threads count.
 *
 * A row is found by its key through one hash per map and stays until its object is gone (a file
 * that was unlinked, a table that was dropped); its use number then tells that somebody else has
 * the row.  Numbers are collected in cells of each thread and folded into the row, under the row's
 * own lock, when a cell is evicted or the thread ends; a reader adds row and cells.  Locks are only
 * ever tried for a bounded time: what does not fit is counted as lost.
 *
 * TRUNCATE writes no row and no cell: content that began before the reset point does not count
 * any more (readers skip it), and whoever next writes there zeroes it first.
 */
#ifndef PFS_OBJECT_H
#define PFS_OBJECT_H

#include "core/cell_cache.h"

typedef enum PfsObjectMap
{
	PFS_MAP_FILES,
	PFS_MAP_TABLES,
	PFS_MAPS
} PfsObjectMap;

typedef union PfsObjectStat
{
	PfsIoStat	io;				/* files */
	PfsTableStat table;			/* tables */
} PfsObjectStat;

#define PFS_OBJECT_KEY_LENGTH 112	/* longest path; longer ones share the row of their directory */

/* writers: all, holding the row's lock, inside its seq, where nothing else is said. */
typedef struct PfsObjectRow
{
	uint32_t	use;			/* odd = in use; the number identifies this use; map's lock too */
	uint32_t	next;			/* in its hash chain, or of the free rows: row + 1; map's lock */
	uint32_t	lock;			/* 1 while somebody folds or fills; writers: all, by CAS */
	PfsSeq		seq;
	uint32_t	epoch;			/* reset counter when the statistics began */
	uint32_t	lock_epoch;		/* the same for the lock statistics of a table */
	uint32_t	hash;
	uint32_t	key_length;
	uint64_t	rule;			/* tables: answer of setup_objects, see pfs_table_watched; no lock */
	uint64_t	open;			/* files: use << 32 | descriptors open now; no lock, by CAS */
	union
	{
		uint32_t	instrument; /* files: wait number of the event name */
		uint32_t	relative;	/* tables: host's number of the TOAST table; indexes: of the access method; 0 = none */
	};
	uint32_t	named;			/* tables: 1 = PfsTableNames tells what it is called */
	uint32_t	doubt;			/* tables: a prepared transaction may drop it; no lock */
	PfsRef		locks;			/* PfsTableLockStat, claimed at the first lock wait, then kept */
	char		key[PFS_OBJECT_KEY_LENGTH];	/* path, or PfsTableKey */
	PfsObjectStat stat;			/* folded so far */
} PfsObjectRow;

_Static_assert(sizeof(PfsObjectRow) % 8 == 0, "copied by words");

#define PFS_TABLE_NAME_LENGTH 64

/*
 * What a table and its index are called, zero-terminated; empty = not known, none.  Written as the row
 * of the table is.  They live and die with it: whatever is created and dropped takes no other room.
 */
typedef struct PfsTableNames
{
	char		schema[PFS_TABLE_NAME_LENGTH];
	char		table[PFS_TABLE_NAME_LENGTH];
	char		index[PFS_TABLE_NAME_LENGTH];
} PfsTableNames;

/* Ids of a table row's key. */
typedef struct PfsTableKey
{
	uint32_t	database;
	uint32_t	table;
	uint32_t	index;			/* 0 = the table without any index */
} PfsTableKey;

/* Numbers of one row in one thread; key: row, use: its use. */
typedef struct PfsObjectCell
{
	PfsCacheCell head;
	PfsObjectStat stat;			/* only as long as its map needs */
} PfsObjectCell;

extern const PfsCacheKind pfs_object_cells[PFS_MAPS];

/* Rows are handed out one after the other: no hash spreads them better. */
static inline uint32_t
pfs_object_hash(uint32_t row)
{
	return 2 * (row - 1);
}

extern void pfs_object_stat_merge(PfsObjectMap map, PfsObjectStat *to, const PfsObjectStat *from);

/* "row" is always the number that find returned (1 and up), never an index.  NULL: no longer this use. */
extern PfsObjectRow *pfs_object_row(const PfsArena *arena, PfsObjectMap map, uint32_t row,
									uint32_t use);

/* The same by number alone, in use or not; NULL: no such row. */
static inline PfsObjectRow *
pfs_object_row_at(const PfsArena *arena, PfsObjectMap map, uint32_t row)
{
	uint32_t	rows = map == PFS_MAP_FILES ? arena->sizes.files : arena->sizes.tables;

	return row - 1 >= rows ? NULL
		: PFS_AT(arena, map == PFS_MAP_FILES ? arena->files : arena->tables, PfsObjectRow) + row - 1;
}

/* Names of a row that exists. */
static inline PfsTableNames *
pfs_table_names(const PfsArena *arena, uint32_t row)
{
	return PFS_AT(arena, arena->table_names, PfsTableNames) + row - 1;
}

/*
 * What is shown as object_instance_begin: like MySQL's address it tells instances of all kinds
 * apart; unlike that it is not used again when the row is.
 */
#define PFS_INSTANCE(arena, address, use) \
	((uint64_t) ((const char *) (address) - (const char *) (arena)) | \
	 (uint64_t) ((use) & 0x7FFFFF) << 40)

static inline uint64_t
pfs_object_instance(const PfsArena *arena, PfsObjectMap map, uint32_t row, uint32_t use)
{
	const PfsObjectRow *address = pfs_object_row_at(arena, map, row);

	return address != NULL ? PFS_INSTANCE(arena, address, use >> 1) : 0;
}

static inline uint64_t
pfs_socket_instance(const PfsArena *arena, const PfsThread *thread, uint64_t thread_id)
{
	return PFS_INSTANCE(arena, &thread->socket, thread_id);
}

/*
 * Row number + 1 of a key, made if there is none; 0 when the map is full or busy (counted).
 * *use is what identifies it later.  No allocation but from the pool; may be called anywhere.
 */
extern uint32_t pfs_file_find(PfsArena *arena, const char *path, size_t length, uint32_t wait,
							  uint32_t *use);
extern uint32_t pfs_table_find(PfsArena *arena, const PfsTableKey *key, uint32_t *use);

/*
 * The key of a path, at most PFS_OBJECT_KEY_LENGTH bytes; returns its length.  *shared: files
 * whose number has no bound have one row together:
 *
 *		.../pgsql_tmp/...				.../pgsql_tmp/(temporary files)
 *		base/5/t3_16384					base/5/(temporary relations); in table spaces too
 *		pg_wal/<24 hex digits>...		pg_wal/(segments); pg_wal/xlogtemp.* too
 *		pg_replslot/name/xid-*			pg_replslot/name/(spill files)
 *		pg_wal/archive_status/...		pg_wal/archive_status/(files); so do pg_wal/summaries,
 *			pg_logical/mappings, pg_logical/snapshots, pg_snapshots, pg_stat_tmp, pg_twophase,
 *			/proc and /sys
 *		.../pg_internal.init.<pid>		.../pg_internal.init
 *		/dev/shm/PostgreSQL.*			(dynamic shared memory); /PostgreSQL.* and pg_dynshmem too
 *		pipe:[...] socket:[...] anon_inode:...		(pipes) (sockets) (anonymous inodes)
 *		too long						directory/(long names)
 *
 * Forks and segments of other relations have rows of their own.  What lies in the data directory
 * is named from there, without a leading "./".
 */
extern size_t pfs_file_key(const char *path, size_t length, char *key, bool *shared);

/* Absolute path of the data directory, without a slash at its end; set by the host, NULL = none. */
extern const char *pfs_data_directory;

/* A path from there, if it leads there, and without "./"; a part of the text given. */
extern const char *pfs_file_relative(const char *text);

/*
 * Names of a table as its sessions know it, index may be NULL; renews what rename has changed.  relative: as in the row.
 */
extern void pfs_table_name(PfsArena *arena, uint32_t row, uint32_t use, const char *schema,
						   const char *table, const char *index, uint32_t relative);

/* Copies the names of a row; false: it is no longer this use, or nobody has named it. */
extern bool pfs_table_names_read(const PfsArena *arena, uint32_t row, uint32_t use,
								 PfsTableNames *names);

/* Is the table watched (setup_objects)?  Looked up again when the rules change. */
extern bool pfs_table_watched(PfsArena *arena, uint32_t row, uint32_t use, bool *timed);

/*
 * The object is gone: its row may serve another one.  Of a table all rows go, those of its indexes
 * too; table = 0: all tables of the database.  A shared row stays.
 */
extern void pfs_file_forget(PfsArena *arena, const char *path, size_t length);
extern void pfs_table_forget(PfsArena *arena, uint32_t database, uint32_t table);

/* Only the row of this index, or of the table without index. */
extern void pfs_index_forget(PfsArena *arena, const PfsTableKey *key);

/* A prepared transaction will drop the table, or has made it; see arena->tables_in_doubt. */
extern void pfs_table_doubt(PfsArena *arena, uint32_t row, uint32_t use);
extern bool pfs_table_is_in_doubt(const PfsArena *arena, uint32_t row);

/* Descriptors of a file opened (+1) or closed (-1). */
extern void pfs_file_opened(PfsArena *arena, uint32_t row, uint32_t use, int change);

/*
 * Where the thread counts for this row, claimed or evicted as needed; whoever adds to it is inside the
 * cell's sequence.  NULL: there is no such row any more, or (counted) no room.  Owner only.
 */
extern PfsObjectCell *pfs_file_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use);
extern PfsObjectCell *pfs_table_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use);

/*
 * Counts a wait for the table's lock, straight in the row: lock waits are rare and slow.
 * mode: 1 .. PFS_LOCK_MODES, from ACCESS SHARE to ACCESS EXCLUSIVE.
 */
extern void pfs_table_lock_add(PfsArena *arena, uint32_t row, uint32_t use, unsigned mode,
							   PfsTicks wait);

/* TRUNCATE: PFS_RESET_FILES, _TABLE_IO or _TABLE_LOCKS.  False: the roll-up lock was not to be had. */
extern bool pfs_object_reset(PfsArena *arena, PfsReset reset);

#endif							/* PFS_OBJECT_H */
