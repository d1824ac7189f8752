/*
 * pg_table_io.h
 *		Tables as this process knows them: for the files about table I/O.
 */
#ifndef PFS_PG_TABLE_IO_H
#define PFS_PG_TABLE_IO_H

#include "core/wait.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_query.h"
#include "nodes/pg_list.h"

typedef enum PfsPgTableKind
{
	PFS_PG_RELATION_UNKNOWN,	/* not looked up yet */
	PFS_PG_RELATION_TABLE,
	PFS_PG_RELATION_INDEX,
	PFS_PG_RELATION_OTHER		/* makes no rows: of TOAST, dropped, ... */
} PfsPgTableKind;

/*
 * A table, or one index of a table.  The server counts the rows of a relation in private memory;
 * "counted" says how much of that has been recorded.  Rows fetched count within a period, in which
 * the server cannot have handed its counters over to its shared statistics: a transaction, or all
 * transactions of one utility statement.  The other operations are read from the server's counters
 * of the transaction under way, which begin at zero.
 */
typedef struct PfsPgTable
{
	Oid			relation;		/* 0 = free */
	uint8		kind;			/* PfsPgTableKind */
	bool		watched;		/* setup_objects says so */
	bool		exclusions_known;
	uint32		row;			/* in the arena, see object.h; 0 = none */
	uint32		use;
	const PfsObjectRow *shared; /* the same */
	uint64		rule;			/* its word when watched and timed were asked for; see object.c */
	uint32		period;
	uint32		transaction;
	uint64		counted[PFS_TABLE_OPERATIONS];
	List	   *exclusions;		/* indexes of its exclusion constraints */
} PfsPgTable;

/* --- pg_table_io.c: relations and queries --- */

/* Owner: this process. */
typedef struct PfsPgTableState
{
	uint32		period;			/* numbers of the present ones */
	uint32		transaction;
	uint32		swept;			/* period in which every counter was looked at; others began at zero */
	int			utility_level;	/* of transactions, at which a swept utility statement began; 0 = none */
	bool		unrecorded;		/* the transaction may have rows that are not recorded yet */
	bool		prepared;		/* pfs_pg_table_prepare has nothing to do */
} PfsPgTableState;

extern PfsPgTableState pfs_pg_tables;

/* NULL: not met in this process, or no room (counted). */
extern PfsPgTable *pfs_pg_table_find(Oid relation, bool make);

/* The relation, if it is watched.  At safe points. */
extern PfsPgTable *pfs_pg_table_watched(Oid relation);

/* The one after this, NULL = the first; NULL at the end. */
extern PfsPgTable *pfs_pg_table_next(PfsPgTable *table);

static inline uint64
pfs_pg_rows_fetched(const PfsPgTable *table, const PgStat_TableStatus *status)
{
	uint64		rows = (uint64) PFS_PG_COUNTER(status, tuples_fetched);

	if (table->kind == PFS_PG_RELATION_TABLE)
		rows += (uint64) PFS_PG_COUNTER(status, tuples_returned);
	return rows;
}

/*
 * Rows of the transaction under way, of this level and those inside; what a TRUNCATE has set aside
 * counts, too.
 */
extern void pfs_pg_rows_changed(const PgStat_TableStatus *status, int level,
								uint64 total[PFS_TABLE_OPERATIONS]);

/* First look at a relation in this period or transaction: what it has counted before is not ours. */
static inline void
pfs_pg_table_meet(PfsPgTable *table, uint64 fetched)
{
	if (table->period != pfs_pg_tables.period)
	{
		table->period = pfs_pg_tables.period;
		table->counted[PFS_TABLE_FETCH] = pfs_pg_tables.swept == pfs_pg_tables.period ? 0 : fetched;
	}
	if (table->transaction != pfs_pg_tables.transaction)
	{
		table->transaction = pfs_pg_tables.transaction;
		table->counted[PFS_TABLE_INSERT] = 0;
		table->counted[PFS_TABLE_UPDATE] = 0;
		table->counted[PFS_TABLE_DELETE] = 0;
	}
}

static inline uint64
pfs_pg_rows_unrecorded(const PfsPgTable *table, const uint64 *total, PfsTableOperation operation)
{
	return total[operation] > table->counted[operation]
		? total[operation] - table->counted[operation] : 0;
}

static inline void
pfs_pg_table_record(PfsPgTable *table, PfsTableOperation operation, uint64 rows)
{
	table->counted[operation] += rows;
	pfs_wait_table(&pfs_session, table->row, table->use, operation, rows, 0, 0);
}

/* --- pg_table_sweep.c: rows that no query owns --- */

/* What a process needs once, and what it has put off.  At safe points. */
extern void pfs_pg_table_prepare(void);

/*
 * Looks at all counters, so that what they have counted before is not taken for new.  At safe
 * points.
 */
extern void pfs_pg_table_sweep_begin(void);

/* --- pg_table_row.c: from relations to rows of the arena --- */

/* Finds out what a relation is, its row and its names.  Needs a transaction; may raise an error. */
extern void pfs_pg_table_resolve(PfsPgTable *table);

/* Asks setup_objects again. */
extern void pfs_pg_table_ask(PfsPgTable *table);

/* Indexes of its exclusion constraints.  The relation is open. */
extern List *pfs_pg_table_exclusions(PfsPgTable *table, Relation relation);

/* A utility statement that may change names or drop tables begins. */
extern void pfs_pg_table_note_utility(const Node *utility);

/* May the transaction have renamed or dropped something? */
extern bool pfs_pg_table_ddl;

extern void pfs_pg_table_prepare_ddl(void);
extern void pfs_pg_table_ddl_aborted(void);
extern void pfs_pg_table_end_ddl(XactEvent event);

#endif							/* PFS_PG_TABLE_IO_H */
