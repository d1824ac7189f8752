/*
 * pg_table_io.h
 *		Tables as this process knows them: for the files about table I/O.
 */
#ifndef PFS_PG_TABLE_IO_H
#define PFS_PG_TABLE_IO_H

#include "core/wait.h"
#include "pg/pg_compat.h"
#include "pg/pg_hooks.h"
#include "pg/pg_places.h"
#include "nodes/execnodes.h"
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
	bool		timed;
	bool		exclusions_known;
	uint32		row;			/* in the arena, see object.h; 0 = none */
	uint32		use;
	const PfsObjectRow *shared; /* the same */
	uint64		rule;			/* its word when watched and timed were asked for; see object.c */
	uint32		period;
	uint32		transaction;
	uint64		counted[PFS_TABLE_OPERATIONS];
	int64		ticks;			/* of the query that is being recorded, and its start */
	PfsTicks	start;
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
	uint32		open;			/* queries */
	bool		unrecorded;		/* the transaction may have rows that are not recorded yet */
	bool		prepared;		/* pfs_pg_table_prepare has nothing to do */
	const PfsInstrument *instrument;	/* wait/io/table/sql/handler */
} PfsPgTableState;

extern PfsPgTableState pfs_pg_tables;

/* NULL: not met in this process, or no room (counted). */
extern PfsPgTable *pfs_pg_table_find(Oid relation, bool make);

/* The relation, if it is watched.  At safe points. */
extern PfsPgTable *pfs_pg_table_watched(Oid relation);

/* The one after this, NULL = the first; NULL at the end. */
extern PfsPgTable *pfs_pg_table_next(PfsPgTable *table);

/* Hands over the times of all open queries. */
extern void pfs_pg_table_harvest(void);

/* Queries of this level of transactions and above are gone; or belong to the level below. */
extern void pfs_pg_table_close(int level);
extern void pfs_pg_table_merge(int level);

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
pfs_pg_table_record(PfsPgTable *table, PfsTableOperation operation, uint64 rows, PfsTicks start,
					int64 ticks)
{
	table->counted[operation] += rows;
	pfs_wait_table(&pfs_session, table->row, table->use, operation, rows, start,
				   ticks > 0 ? (PfsTicks) ticks : 0);
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

/* --- pg_table_time.c: times of plan nodes --- */

/* What the time of a node is for. */
typedef enum PfsPgTimeRole
{
	PFS_PG_TIME_OWN,			/* a scan: of its table or index */
	PFS_PG_TIME_FETCH,			/* scans that share a place: of their tables, by rows */
	PFS_PG_TIME_CHANGE,			/* ModifyTable: of the tables it changes, by rows */
	PFS_PG_TIME_OTHER			/* below a ModifyTable: not the table's */
} PfsPgTimeRole;

/* Times of one query.  What is below "distributes" is only valid if that is true. */
typedef struct PfsPgTimes
{
	uint8		first;			/* its timed nodes + 1, chained; 0 = none */
	uint8		nodes;
	bool		distributes;	/* some time belongs to several tables, by their rows */
	int64		fetch;
	int64		change;
	PfsTicks	fetch_start;
	PfsTicks	change_start;
} PfsPgTimes;

/* A place where the time of a node is kept. */
typedef struct PfsPgTimed
{
	int32		left;			/* calls until the next one that is timed */
	uint32		block;			/* calls that it stands for */
	uint32		rest;			/* calls of that block behind it */
	uint8		next;			/* of the same query + 1 */
	uint8		role;			/* PfsPgTimeRole */
	ExecProcNodeMtd real;
	int64		ticks;
	PfsTicks	start;			/* of the first timed call since the last harvest; 0 = none */
	PfsPgTable *table;			/* OWN */
	uint32		exact;			/* calls that are all timed, still to come */
	uint32		spare[3];
} PfsPgTimed;

#define PFS_PG_TIMED_NODES PFS_PG_PLACES
#define PFS_PG_TIMED_OF_QUERY 16	/* then nodes of a kind share a place */

/* Owner: this process. */
extern PfsPgTimed pfs_pg_timed[PFS_PG_TIMED_NODES];
extern uint64 pfs_pg_timed_free;
extern const ExecProcNodeMtd pfs_pg_timed_calls[PFS_PG_TIMED_NODES];

extern void pfs_pg_time_shared(PfsPgTimes *times, PlanState *node, PfsPgTimeRole role);
/* A sampled call that lost its processor must not make more time than has passed. */
static inline int64
pfs_pg_time_possible(const PfsPgTimed *timed)
{
	return timed->block <= 4 ? timed->ticks : Min(timed->ticks, (int64) (pfs_now() - timed->start));
}

extern void pfs_pg_time_harvest_shared(PfsPgTimes *times, PfsPgTimed *timed);

static inline void
pfs_pg_time_begin(PfsPgTimes *times)
{
	times->first = times->nodes = 0;
	times->distributes = false;
}

/* Calls of a node go through a free place. */
static inline void
pfs_pg_time_place(PfsPgTimes *times, PlanState *node, PfsPgTimeRole role, PfsPgTable *table)
{
	int			place = __builtin_ctzll(pfs_pg_timed_free);
	PfsPgTimed *timed = &pfs_pg_timed[place];

	pfs_pg_timed_free &= pfs_pg_timed_free - 1;
	*timed = (PfsPgTimed) {.block = 1,.next = times->first,.role = (uint8) role,
		.real = node->ExecProcNodeReal,.table = table};
	times->first = (uint8) (place + 1);
	times->nodes++;
	node->ExecProcNodeReal = pfs_pg_timed_calls[place];
}

/* From now on calls of this node, which has not been called yet, are timed. */
static inline void
pfs_pg_time_node(PfsPgTimes *times, PlanState *node, PfsPgTimeRole role, PfsPgTable *table)
{
	if (pfs_likely(role == PFS_PG_TIME_OWN && times->nodes < PFS_PG_TIMED_OF_QUERY &&
				   pfs_pg_timed_free != 0))
		pfs_pg_time_place(times, node, role, table);
	else
		pfs_pg_time_shared(times, node, role);
}

/* Hands over what was measured since the last call: to tables, and to times itself. */
static inline void
pfs_pg_time_harvest(PfsPgTimes *times)
{
	PfsPgTimed *timed;

	for (uint8 i = times->first; i != 0; i = timed->next)
	{
		timed = &pfs_pg_timed[i - 1];
		if (timed->start == 0)
			continue;
		if (pfs_unlikely(timed->role != PFS_PG_TIME_OWN))
		{
			pfs_pg_time_harvest_shared(times, timed);
			continue;
		}
		timed->table->ticks += pfs_pg_time_possible(timed);
		if (timed->table->start == 0)
			timed->table->start = timed->start;
		timed->ticks = 0;
		timed->start = 0;
	}
}

/* The query will not run any more. */
static inline void
pfs_pg_time_release(PfsPgTimes *times)
{
	for (uint8 i = times->first; i != 0; i = pfs_pg_timed[i - 1].next)
		pfs_pg_timed_free |= UINT64CONST(1) << (i - 1);
	times->first = 0;
}

#endif							/* PFS_PG_TABLE_IO_H */
