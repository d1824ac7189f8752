/*
 * object.h
 *		Files and tables: shared rows by key, and the cells in which threads count.
 *
 * A row is found by its key through one hash per map and stays until its object is gone (a file
 * that was unlinked, a table that was dropped); its use number then tells that somebody else has
 * the row.  Numbers are collected in cells of each thread and folded into the row, under the row's
 * own lock, when a cell is evicted or the thread ends; a reader adds row and cells.  The lock of a
 * row is only ever tried for a bounded time: what does not fit is counted as lost.
 */
#ifndef PFS_OBJECT_H
#define PFS_OBJECT_H

#include "core/thread.h"

typedef enum PfsObjectMap
{
	PFS_MAP_FILES,
	PFS_MAP_TABLES,
	PFS_MAPS
} PfsObjectMap;

#define PFS_OBJECT_KEY_LENGTH 112	/* longest path; longer ones share the row of their directory */

typedef struct PfsObjectRow
{
	uint32_t	use;			/* odd = in use; the number identifies this use of the row */
	uint32_t	next;			/* in its hash chain: row + 1 */
	uint32_t	lock;			/* pid of who folds, inserts or resets */
	uint32_t	epoch;			/* reset counter when the statistics began */
	uint32_t	lock_epoch;		/* the same for the lock statistics of a table */
	uint16_t	key_length;
	uint8_t		watched;		/* tables: setup_objects says so ... */
	uint8_t		timed;
	uint32_t	rules;			/* ... at this value of arena->objects_changed */
	uint32_t	instrument;		/* files: wait number of the event name */
	uint32_t	open_count;		/* files: descriptors open now; writers: all, locked additions */
	PfsRef		name;			/* tables: type, schema and name, as pfs_routine_name makes it */
	PfsRef		index;			/* name of the index, 0 = none */
	PfsRef		locks;			/* PfsTableLockStat, claimed at the first lock wait */
	char		key[PFS_OBJECT_KEY_LENGTH];	/* path; or database, table and index (0 = none) ids */
	union
	{
		PfsIoStat	io;
		PfsTableStat table;
	}			stat;
} PfsObjectRow;

/* Ids of a table row's key. */
typedef struct PfsTableKey
{
	uint32_t	database;
	uint32_t	table;
	uint32_t	index;			/* 0 = the table without any index */
} PfsTableKey;

/* "row" is always the number that find returned (1 and up), never an index.  NULL: no longer this use. */
extern PfsObjectRow *pfs_object_row(const PfsArena *arena, PfsObjectMap map, uint32_t row,
									uint32_t use);

/*
 * Row number + 1 of a key, made if there is none; 0 when the map is full or busy (counted).
 * *use is what identifies it later.  No allocation but from the pool; may be called anywhere.
 */
extern uint32_t pfs_file_find(PfsArena *arena, const char *path, size_t length, uint32_t wait,
							  uint32_t *use);
extern uint32_t pfs_table_find(PfsArena *arena, const PfsTableKey *key, uint32_t *use);

/* Names of a table as its sessions know it; renews what rename has changed. */
extern void pfs_table_name(PfsArena *arena, uint32_t row, uint32_t use, PfsRef name, PfsRef index);

/* Is the table watched (setup_objects)?  Looked up again when the rules change. */
extern bool pfs_table_watched(PfsArena *arena, uint32_t row, uint32_t use, bool *timed);

/* The object is gone: its row may serve another one. */
extern void pfs_file_forget(PfsArena *arena, const char *path, size_t length);
extern void pfs_table_forget(PfsArena *arena, uint32_t database, uint32_t table);

/* Descriptors of a file opened (+1) or closed (-1). */
extern void pfs_file_opened(PfsArena *arena, uint32_t row, uint32_t use, int change);

/*
 * Where the thread counts for this row: PfsIoStat or PfsTableStat; claimed or evicted as needed.
 * NULL: lost, counted.  Owner only, inside its seq.
 */
extern PfsIoStat *pfs_file_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use);
extern PfsTableStat *pfs_table_cell(PfsArena *arena, PfsThread *thread, uint32_t row, uint32_t use);

/* Counts a wait for the table's lock, straight in the row: lock waits are rare and slow. */
extern void pfs_table_lock_add(PfsArena *arena, uint32_t row, uint32_t use, unsigned mode,
							   PfsTicks wait);

/* Moves all cells of a thread into their rows.  At its end; owner or successor. */
extern void pfs_object_fold_thread(PfsArena *arena, PfsThread *thread);

/* TRUNCATE: PFS_RESET_FILES, _TABLE_IO or _TABLE_LOCKS.  False: the roll-up lock was not to be had. */
extern bool pfs_object_reset(PfsArena *arena, PfsReset reset);

#endif							/* PFS_OBJECT_H */
