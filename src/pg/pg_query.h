/*
 * pg_query.h
 *		What is attached to a query of the executor, as long as the query's memory lives.
 *
 * It is allocated in the query's own memory (es_query_cxt) and found through that memory's list of
 * reset callbacks, so nothing has to be released by a guess and no address can be taken for another:
 * a query may outlive the subtransaction it ran in, its portal's failure may go unnoticed, and its
 * ExecutorEnd may never come.  When the memory goes, the callback takes the query out of the list and
 * ends its statement.
 *
 * The query's relations are another matter.  They are open until ExecutorEnd, unless a (sub)transaction
 * ends first: from then on they are only known by their numbers ("unsure").
 */
#ifndef PFS_PG_QUERY_H
#define PFS_PG_QUERY_H

#include "core/statement.h"
#include "executor/instrument.h"
#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "nodes/memnodes.h"
#include "utils/rel.h"

struct PfsPgTable;

/* A relation that a query reads or changes. */
typedef struct PfsPgPart
{
	Relation	relation;		/* see above; NULL: an index opened by the executor later */
	struct PfsPgTable *table;	/* NULL = not watched */
	Oid			oid;
	uint8		reads;			/* Reads, see pg_table_io.c */
	bool		changed;		/* target of the query */
	uint64		examined;		/* rows read before */
	uint64		held[PFS_TABLE_OPERATIONS]; /* done by others before and not recorded yet */
} PfsPgPart;

/* Counts the rows that a sort takes in; hangs on the node below the sort. */
typedef struct PfsPgSortInput
{
	Instrumentation own;		/* first: the node's "instrument", if it had none */
	uint64		calls;			/* of the node */
	const Instrumentation *counted; /* own, or what the node had already */
	struct PfsPgSortInput *next;
} PfsPgSortInput;

#define PFS_PG_OWN_PARTS 4

typedef struct PfsPgQuery
{
	MemoryContextCallback gone; /* of es_query_cxt */
	dlist_node	node;			/* of the open ones */
	uint32		era;			/* in which it began: see pfs_pg_query_is_sure */
	EState	   *estate;
	PlanState  *plan;
	PfsStatement *statement;	/* NULL = none, or it has ended */
	PfsPgSortInput *sorts;
	bool		open;			/* until ExecutorEnd, or the end of its memory */

	/* pg_table_io.c */
	bool		records;		/* else only rows_examined */
	bool		routes;
	bool		collected;		/* it has told its client that it is complete */
	uint32		routed;			/* partitions found by tuple routing that are parts already */
	uint32		parts;
	uint32		room;
	PfsPgPart  *part;			/* own, or of the query's memory */
	PfsPgPart	own[PFS_PG_OWN_PARTS];
} PfsPgQuery;

/* Those that have begun and not ended, newest first. */
extern dlist_head pfs_pg_open_queries;

/* After ExecutorStart.  statement: NULL = none.  NULL: no memory (counted). */
extern PfsPgQuery *pfs_pg_query_attach(const QueryDesc *desc, PfsStatement *statement);

/* Query and statement know nothing of each other any more. */
static inline void
pfs_pg_query_part(PfsPgQuery *query)
{
	if (query->statement != NULL)
		query->statement->host_query = NULL;
	query->statement = NULL;
}

/* Before ExecutorEnd. */
extern void pfs_pg_query_end(PfsPgQuery *query);

/* (Sub)transactions that have ended: at each, relations may be closed without another word. */
extern uint32 pfs_pg_query_era;

/* Has none ended since the query began? */
static inline bool
pfs_pg_query_is_sure(const PfsPgQuery *query)
{
	return query->era == pfs_pg_query_era;
}

extern void pfs_pg_query_gone(void *query);

/* What was attached, or NULL. */
static inline PfsPgQuery *
pfs_pg_query(const QueryDesc *desc)
{
	if (pfs_unlikely(desc->estate == NULL))
		return NULL;
	for (MemoryContextCallback *callback = desc->estate->es_query_cxt->reset_cbs; callback != NULL;
		 callback = callback->next)
		if (pfs_likely(callback->func == pfs_pg_query_gone))
			return callback->arg;
	return NULL;
}

#endif							/* PFS_PG_QUERY_H */
