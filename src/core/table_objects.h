/*
 * table_objects.h
 *		For the tables about files, sockets and tables: rows with what all threads counted.
 */
#ifndef PFS_TABLE_OBJECTS_H
#define PFS_TABLE_OBJECTS_H

#include "core/object.h"
#include "core/table_internal.h"

/* What was counted for one row. */
typedef struct PfsObjectSum
{
	PfsObjectRow row;			/* copy; stat: everything that still counts */
	PfsTableNames names;		/* of a table */
	PfsTableLockStat *locks;	/* NULL = none */
	uint32_t	number;
	uint32_t	cells_use;		/* use of the row that the cells belong to */
	PfsObjectStat cells;		/* content of the threads' cells */
} PfsObjectSum;

typedef struct PfsObjectSums
{
	PfsScan    *scan;
	PfsObjectMap map;
	uint32_t	count;
	uint32_t	reset;			/* older content does not count */
	uint32_t	lock_reset;
	PfsObjectSum **sum;			/* by row number - 1; NULL = no such row */
} PfsObjectSums;

/* Each sum is exact at one moment between begin and end, or counted as an unstable read. */
extern void pfs_object_sums(PfsObjectSums *sums, PfsScan *scan, PfsObjectMap map);

#define PFS_EACH_OBJECT(sums, visited) \
	for (uint32_t pfs_i = 0; pfs_i < (sums)->count; pfs_i++) \
		for (PfsObjectSum *visited = (sums)->sum[pfs_i]; visited != NULL; visited = NULL)

/*
 * Names of a table whose row nobody has named yet: its lock was waited for, and it was not used.
 * Reader's process; may throw.  NULL, or leaves the names NULL: another database, dropped.
 */
extern void (*pfs_host_table_name) (const PfsTableKey *key, PfsHostObject *object);

/* Name of an access method of a database (0: of any, nothing is looked up), NULL = not known; the same. */
extern const char *(*pfs_host_index_type) (uint32_t method, uint32_t database);

/* Does the reader want rows with this text, or number, in a key column? */
extern bool pfs_scan_wants_text(const PfsScan *scan, const char *column, PfsText text);
extern bool pfs_scan_wants_number(const PfsScan *scan, const char *column, uint64_t number);

/* Reset function of a table whose argument is a set of reset points: 1 << PFS_RESET_... */
extern bool pfs_reset_points(PfsArena *arena, const PfsTable *table);

/* I/O of a file or socket, and its columns. */
typedef struct PfsIoRow
{
	PfsTimerStat all;
	PfsIoStat	stat;
} PfsIoRow;
extern const PfsColumnGroup pfs_io_group;

#endif							/* PFS_TABLE_OBJECTS_H */
