/*
 * pg_table_io.h
 *		Tables as this process knows them: for the files about table I/O.
 */
#ifndef PFS_PG_TABLE_IO_H
#define PFS_PG_TABLE_IO_H

#include "core/wait.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"

typedef enum PfsPgTableKind
{
	PFS_PG_RELATION_UNKNOWN,	/* not looked up yet */
	PFS_PG_RELATION_TABLE,
	PFS_PG_RELATION_INDEX,
	PFS_PG_RELATION_OTHER		/* makes no rows: of TOAST, dropped, ... */
} PfsPgTableKind;

/* A table, or one index of a table.  Owner: this process; the fields below row belong to periods. */
typedef struct PfsPgTable
{
	Oid			relation;		/* 0 = free */
	uint8		kind;			/* PfsPgTableKind */
	bool		watched;		/* setup_objects says so */
	bool		timed;
	bool		exclusions_known;
	uint32		row;			/* in the arena, see object.h; 0 = none */
	uint32		use;
	const PfsObjectRow *shared; /* the same */
	uint64		rule;			/* its word when watched and timed were asked for */
	uint32		period;			/* in which fetched counts, see pg_table_io.c */
	uint32		transaction;	/* in which the other operations count */
	uint64		counted[PFS_TABLE_OPERATIONS];	/* of the server's counters: recorded already */
	int64		ticks;			/* of the query that is being recorded, and its start */
	PfsTicks	start;
	List	   *exclusions;		/* indexes of its exclusion constraints */
} PfsPgTable;

/* --- pg_table_row.c: from relations to rows of the arena --- */

/* Finds out what a relation is, its row and its names.  Needs a transaction; may raise an error. */
extern void pfs_pg_table_resolve(PfsPgTable *table);

/* Asks setup_objects again. */
extern void pfs_pg_table_ask(PfsPgTable *table);

/* Indexes of its exclusion constraints.  The relation is open. */
extern List *pfs_pg_table_exclusions(PfsPgTable *table, Relation relation);

/* A utility statement that may change names or drop tables begins. */
extern void pfs_pg_table_note_utility(const Node *utility);

/* The transaction is about to commit: new names are shown.  It has: what it dropped goes. */
extern void pfs_pg_table_rename(void);
extern void pfs_pg_table_drop(bool committed);

/* --- pg_table_time.c: times of plan nodes --- */

/* What the time of a node is for. */
typedef enum PfsPgTimeRole
{
	PFS_PG_TIME_FETCH,			/* of its table or index */
	PFS_PG_TIME_CHANGE,			/* ModifyTable: shared by the tables it changes */
	PFS_PG_TIME_OTHER			/* below a ModifyTable: not the table's */
} PfsPgTimeRole;

/* Times of one query. */
typedef struct PfsPgTimes
{
	uint8		first;			/* its timed nodes + 1, chained; 0 = none */
	uint8		nodes;
	int64		fetch;			/* of scans that share a place: distributed by rows */
	int64		change;
	PfsTicks	fetch_start;
	PfsTicks	change_start;
} PfsPgTimes;

/* From now on calls of this node are timed.  False: no place was free. */
extern bool pfs_pg_time_node(PfsPgTimes *times, PlanState *node, PfsPgTimeRole role,
							 PfsPgTable *table);

/* Hands over what was measured since the last call: to tables, and to times itself. */
extern void pfs_pg_time_harvest(PfsPgTimes *times);

/* The query will not run any more. */
extern void pfs_pg_time_release(PfsPgTimes *times);

#endif							/* PFS_PG_TABLE_IO_H */
