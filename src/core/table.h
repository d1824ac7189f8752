/*
 * table.h
 *		Tables as descriptors: the one place where a table and its columns are said.
 *
 * SQL definitions, comments, documentation pages, row building, UPDATE rights and the test matrix
 * all come from these.  A row is built from parts: each column group describes one struct, and a
 * scan hands over one pointer per group, NULL for one of which nothing is known.
 *
 * Consistency: a row is consistent in itself (copied under its writer's sequence lock); a table is
 * no snapshot, rows are read one after the other while the server goes on.
 */
#ifndef PFS_TABLE_H
#define PFS_TABLE_H

#include "core/arena.h"
#include "core/event.h"

typedef struct PfsText
{
	const char *data;			/* NULL = SQL NULL; not zero-terminated */
	size_t		length;
	int32_t		encoding;		/* host's number; negative = ASCII */
} PfsText;

typedef enum PfsColumnType
{
	PFS_COLUMN_U64,				/* uint64_t: bigint */
	PFS_COLUMN_I64,				/* int64_t, INT64_MIN = NULL: bigint */
	PFS_COLUMN_U32,				/* uint32_t: bigint */
	PFS_COLUMN_U8,				/* uint8_t: integer */
	PFS_COLUMN_TICKS,			/* uint64_t ticks: numeric(20), picoseconds */
	PFS_COLUMN_TICKS_SINCE_START,	/* the same, minus the origin of the timer; 0 = NULL */
	PFS_COLUMN_MIN,				/* PfsTimerStat: its minimum, numeric(20) */
	PFS_COLUMN_AVERAGE,			/* PfsTimerStat: sum / count, numeric(20) */
	PFS_COLUMN_PS,				/* uint64_t picoseconds: numeric(20) */
	PFS_COLUMN_SECONDS_AGO,		/* uint64_t ticks of a moment: bigint, whole seconds since */
	PFS_COLUMN_WHEN,			/* uint64_t ticks of a moment, 0 = NULL: timestamp with time zone */
	PFS_COLUMN_DOUBLE,			/* double, not a number = NULL: double precision */
	PFS_COLUMN_TEXT,			/* PfsText: text */
	PFS_COLUMN_YES_NO,			/* uint8_t 0, 1, or 2 = NULL: text 'YES', 'NO' */
	PFS_COLUMN_SQLSTATE,		/* uint32_t packed by the host, 0 = NULL: text */
	PFS_COLUMN_HEX				/* uint8_t[32], all zero = NULL: text, 64 hexadecimal digits */
} PfsColumnType;

#define PFS_COLUMN_NULL_IF_ZERO 0x01
#define PFS_COLUMN_KEY 0x02		/* part of the row's identity; equality is pushed down */
#define PFS_COLUMN_UPDATABLE 0x04
#define PFS_COLUMN_PRIVATE 0x08 /* only for pg_read_all_stats */

typedef struct PfsColumn
{
	const char *name;
	const char *doc;
	PfsColumnType type;
	uint16_t	offset;			/* in the struct of its group */
	uint16_t	flags;
} PfsColumn;

typedef struct PfsColumnGroup
{
	const PfsColumn *columns;
	uint16_t	count;
} PfsColumnGroup;

#define PFS_TABLE_GROUPS 6

struct PfsScan;
struct PfsTable;

typedef enum PfsEditResult
{
	PFS_EDIT_OK,
	PFS_EDIT_NO_ROW,			/* no such row any more: nothing done */
	PFS_EDIT_BAD_VALUE,			/* *column tells which */
	PFS_EDIT_DUPLICATE,
	PFS_EDIT_FULL,
	PFS_EDIT_READ_ONLY,			/* *column may not be changed */
	PFS_EDIT_BUSY				/* the roll-up lock could not be had within a second */
} PfsEditResult;

/*
 * One row as texts, one per column of the table in order; NULL = SQL NULL or not given.
 * UPDATE passes the old row (for its key) and the new one.
 */
typedef const char *const *PfsFields;

typedef struct PfsTable
{
	const char *name;
	const char *doc;
	const PfsColumnGroup *groups[PFS_TABLE_GROUPS];	/* up to the first NULL */
	int			argument;		/* for scan and reset: family, level, ... packed by the table's file */
	void		(*scan) (struct PfsScan *scan);
	bool		(*reset) (PfsArena *arena, const struct PfsTable *table);	/* NULL = no TRUNCATE */
	PfsEditResult (*update) (PfsArena *arena, PfsFields old, PfsFields new, int *column);
	PfsEditResult (*insert) (PfsArena *arena, PfsFields new, int *column);
	PfsEditResult (*remove) (PfsArena *arena, PfsFields old);
} PfsTable;

/* Shown in place of what the reader may not see, where NULL would mean something else. */
#define PFS_HIDDEN_TEXT "<insufficient privilege>"

/* An equality condition "column = value" that the host has pushed down. */
typedef struct PfsCondition
{
	const char *column;
	const char *text;			/* the value as text */
	uint64_t	number;			/* and as number, where it is one */
} PfsCondition;

/*
 * One reading of a table.  The host fills everything but "table"-specific state, calls
 * table->scan(scan), and gets one emit per row.  emit may throw (longjmp): a scan holds no lock
 * and no memory but what alloc gave it, which the host frees.
 */
typedef struct PfsScan
{
	PfsArena   *arena;
	const PfsTable *table;
	const PfsCondition *conditions;
	int			condition_count;
	bool		sees_all;		/* member of pg_read_all_stats */
	const char *own_user;		/* else: name of the reader, whose own sessions are shown */
	bool	  (*has_role) (struct PfsScan *scan, uint32_t role);	/* has it the role's privileges? */
	void	   *(*alloc) (struct PfsScan *scan, size_t bytes);	/* zeroed */
	void		(*emit) (struct PfsScan *scan, const void *const *parts);
	void	   *host;			/* the host's own */
	char	   *digest_text;	/* the core's own; NULL at first */
	void	   *reading;		/* the same: what reads by this scan, if not a table */
} PfsScan;

/* All tables, in the order of documentation; NULL at the end. */
extern const PfsTable *const pfs_tables[];
extern const PfsTable *pfs_table_by_name(const char *name);

/* Column by its number in the table, with the number of its group; NULL past the end. */
extern const PfsColumn *pfs_table_column(const PfsTable *table, int number, int *group);

/* For scans: the pushed-down value of a column, if there is one. */
extern bool pfs_scan_number(const PfsScan *scan, const char *column, uint64_t *number);
extern const char *pfs_scan_text(const PfsScan *scan, const char *column);

/* What the host knows about its error codes: row of sizes.errors entries. */
typedef struct PfsHostError
{
	const char *sqlstate;		/* NULL = all that are in no other row */
	const char *name;
	uint32_t	packed;
} PfsHostError;
extern const PfsHostError *pfs_host_errors;
extern const char *(*pfs_host_isolation_name) (unsigned isolation);

/* Id of the transaction that a process runs now; 0 = none.  NULL: it stands in the event. */
extern uint64_t (*pfs_host_transaction_id) (uint32_t slot, uint32_t pid);
extern const char *(*pfs_host_connection_type) (unsigned type);

/* Class of the process that starts those of this class, if it has a thread; UINT32_MAX = none. */
extern uint32_t (*pfs_host_parent_class) (uint32_t class);

/*
 * Names of a heavyweight lock, good until the next call: "type", schema (NULL = none) and name of
 * its object, name of its mode.  Reader's process; may throw.
 */
typedef struct PfsHostObject
{
	const char *type;
	const char *schema;
	const char *name;
	const char *index;
	const char *mode;
	uint64_t	instance;		/* of a lock */
} PfsHostObject;
extern void (*pfs_host_lock_object) (const PfsWaitObject *lock, PfsHostObject *object);

/* Table or index that a file holds, "schema.name", or NULL (another database, no such file). */
extern const char *(*pfs_host_relation_of_file) (const char *path);

/* One row of rwlock_instances, as it is now; false after the last. */
typedef struct PfsHostLock
{
	uint32_t	code;			/* of the wait event */
	bool		exclusive;
	uint32_t	shared;			/* how many hold it shared */
} PfsHostLock;
extern bool (*pfs_host_lock) (uint32_t number, PfsHostLock *lock);

/* One row of prepared_statements_instances: what the reader's own session has prepared by the protocol; false after the last. */
typedef struct PfsHostPrepared
{
	const char *name;
	const char *text;
	uint64_t	thread_id;
	uint64_t	generic_plans;
	uint64_t	custom_plans;
	int32_t		encoding;
} PfsHostPrepared;
extern bool (*pfs_host_prepared) (uint32_t number, PfsHostPrepared *row);

/* Role whose privileges one needs to read error_log; 0 = pg_read_all_stats'. */
extern uint32_t pfs_host_log_role;

/* One row of interposed_calls; false after the last. */
typedef struct PfsHostCall
{
	const char *object;
	const char *symbol;
	const char *state;
	bool		patched;
	uint32_t	number;			/* counter in PfsThread.calls */
} PfsHostCall;
extern bool (*pfs_host_call) (uint32_t number, PfsHostCall *call);

#endif							/* PFS_TABLE_H */
