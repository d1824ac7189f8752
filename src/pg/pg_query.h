/*
 * pg_query.h
 *		What is attached to a query of the executor, as long as the query's memory lives.
 *
 * It is tied to the query's own memory (es_query_cxt): found through that memory's list of reset callbacks,
 * and free when that is called.  So nothing has to be released by a guess and no address can be taken for another:
 * a query may outlive the subtransaction it ran in, its portal's failure may go unnoticed, and its
 * ExecutorEnd may never come.  When the memory goes, the callback ends its statement.
 *
 * Nothing is tied to the memory of the most frequent one by far (pfs_pg_untied): the client's, which the unnamed portal
 * executes.  Its EState's address is only compared.  There is one such portal, and a new one takes the place of the one
 * before: so no second query of this kind can live.  What ends it is
 *	- where the end itself is not seen (pfs_pg_endings_in): the end of its run, or, if not all its rows were asked for, the
 *	  answer that it is complete;
 *	- ExecutorEnd; or, if that never comes,
 *	- the abort of the subtransaction in which it began, or the end of the transaction, which no unnamed portal outlives;
 *	- at the latest a new query that begins in such a portal, or where it was.
 */
#ifndef PFS_PG_QUERY_H
#define PFS_PG_QUERY_H

#include "core/statement.h"
#include "executor/instrument.h"
#include "nodes/execnodes.h"
#include "nodes/memnodes.h"
#include "pg/pg_hooks.h"
#include "pg/pg_server.h"
#include "pg/relation/relation.h"
#include "utils/portal.h"

/*
 * Counts the calls of a node, which are the rows that a sort above it takes in, and the time of some; hangs on the
 * node.
 */
typedef struct PfsPgNodeCounter
{
	Instrumentation own;		/* first: the node's "instrument", if it had none */
	uint64		calls;			/* of the node */
	const Instrumentation *counted; /* own, or what the node had already */
	struct PfsPgNodeCounter *next;
	uint64		next_timed;		/* call that is timed next ... */
	uint64		timed;			/* ... and how many were of those that are not all timed ... */
	PfsTicks	ticks;			/* ... in this time */
	PfsTicks	first_ticks;	/* of those that are: the first calls */
} PfsPgNodeCounter;

typedef struct PfsPgQuery
{
	/* its estate and plan, too; no estate: after ExecutorEnd, or the end of its memory */
	PfsRelations relations;
	PfsPgNodeCounter *sorts;	/* if its statement watches some, see pg_plan.c */
	struct PfsPgQuery *next;	/* of the free ones */
	MemoryContextCallback gone; /* of es_query_cxt */
} PfsPgQuery;

/* The one to whose memory nothing is tied, see above; no estate: there is none. */
extern PfsPgQuery pfs_pg_untied;

/*
 * The EState of a query in the plain way, as long as nothing happens but its own run: of the untied one, from its ExecutorStart to
 * the end of its first run; of a nested one, while it runs.  Who looks at it then knows that its statement is on stage (or, before
 * the run, nobody's), that no other call was put on the list of those that run since its own was, if it was, and that its
 * relations are as they were noted.  So it is reset by whatever may make that untrue:
 *	- its statement, or another one with a query, ends or rests: pfs_pg_query_without, pfs_pg_move;
 *	- another one comes on stage: pfs_pg_enter, or (nested, in the plain way) pfs_pg_query_attach; a query runs in the general
 *	  way: run_any;
 *	- calls are put on that list or taken off, but in the short way: calls.c; whose relations need that sets the word after it;
 *	- a subtransaction begins or ends: so it runs at the level at which it began;
 *	- an error is raised: the guard's callback in pg_error.c;
 *	- a nested call looks at the relations: pfs_relations_spell_out.
 *
 * When the untied one has run to its end, and we have let it go, these marks stand there for its statement, the client's first and
 * only one, off stage, in the journal's ring, whose rows are told, of whose query nothing more is to be asked; and from the begin of a command that
 * begins or ends a transaction.  They go with all that is above, with any other message to the client (put_other), with an
 * abort, and when the statement ends in any way.
 */
extern EState *pfs_pg_undisturbed;

#define PFS_PG_HAS_RUN ((EState *) 1)	/* it is to be answered */
#define PFS_PG_HAS_ENDED_BLOCK ((EState *) 2)	/* the same, and its transaction is over */
#define PFS_PG_IS_ANSWERED ((EState *) 3)	/* it waits for its implicit commit */

static inline bool
pfs_pg_knows_query(void)
{
	return pfs_pg_entry.queries > 0 || pfs_pg_untied.relations.estate != NULL;
}

/* Nothing of these classes is wanted of any session, and no query is known from before. */
static inline bool
pfs_pg_is_off(uint32 classes)
{
	return (pfs_load(pfs_pg_entry.gate) & classes & PFS_BUILT) == 0 && !pfs_pg_knows_query();
}

/* After ExecutorStart.  statement: NULL = none.  NULL: no memory (counted). */
extern PfsPgQuery *pfs_pg_query_attach(const QueryDesc *desc, PfsStatement *statement);

/* The untied one has gone, without a word. */
extern void pfs_pg_untied_forget(void);

/* A portal was closed: if it was the unnamed one, the same. */
extern void pfs_pg_untied_closed(void);

/* The same, if it began in a subtransaction that has aborted. */
extern void pfs_pg_untied_aborted(int level);

/* A query has begun: where it is no other one can be. */
static inline void
pfs_pg_query_pass(const QueryDesc *desc)
{
	if (pfs_unlikely(pfs_pg_untied.relations.estate == desc->estate))
		pfs_pg_untied_forget();
}

/*
 * Is it the unnamed portal that executes this plan, for the client?  (A procedure's ROLLBACK takes its statements from the portal
 * that executes CALL.)
 */
static inline bool
pfs_pg_query_is_unnamed(const PlannedStmt *plan)
{
	Portal		portal = *pfs_pg_server.portal;

	return pfs_likely(portal != NULL && portal->name[0] == '\0' && portal->stmts != NIL && linitial(portal->stmts) == plan);
}

/* Then nothing has to be tied to it. */
static pg_attribute_always_inline PfsPgQuery *
pfs_pg_query_leave_untied(const QueryDesc *desc, PfsStatement *statement)
{
	PfsPgQuery *query = &pfs_pg_untied;
	EState	   *estate = desc->estate;

	if (pfs_unlikely(query->relations.estate != NULL))
		pfs_pg_untied_forget();
	pfs_relations_init(&query->relations, estate, desc->planstate, statement);
	statement->host_query = query;
	pfs_pg_undisturbed = estate;
	return query;
}

/* Its statement ends, and will not be asked for its query any more. */
static inline void
pfs_pg_query_without(PfsPgQuery *query)
{
	query->relations.statement = NULL;
	pfs_pg_undisturbed = NULL; /* whosever it is */
}

/* Query and statement know nothing of each other any more. */
static inline void
pfs_pg_query_part(PfsPgQuery *query)
{
	if (query->relations.statement != NULL)
		query->relations.statement->host_query = NULL;
	pfs_pg_query_without(query);
}

/* Nothing more is to be known of the untied one, which this statement has executed.  mark: NULL, or what stands now where it did. */
static inline void
pfs_pg_untied_over(PfsStatement *statement, EState *mark)
{
	pfs_pg_untied.relations.estate = NULL;
	pfs_store(&pfs_pg_undisturbed, mark);	/* else a compiler makes one store of this and others, and keeps a register for it */
	statement->host_query = NULL;
}

/* Before ExecutorEnd, of one that is still there.  is_tied: to its memory, so that it was counted. */
static pg_attribute_always_inline void
pfs_pg_query_end_here(PfsPgQuery *query, bool is_tied)
{
	if (is_tied)
		pfs_pg_entry.queries--;
	pfs_relations_left(&query->relations);
	query->relations.estate = NULL;
	pfs_pg_query_part(query);
}

/* The same of any. */
static inline void
pfs_pg_query_end(PfsPgQuery *query)
{
	if (pfs_likely(query->relations.estate != NULL))
		pfs_pg_query_end_here(query, query != &pfs_pg_untied);
}

extern void pfs_pg_query_gone(void *query);

/* pg_plan.c: counts the calls of a node on which a counter hangs. */
extern TupleTableSlot *pfs_pg_count_call(PlanState *node);

/*
 * pg_plan.c: what is known of sorts and temporary files before ExecutorEnd.  The query has a statement.
 */
extern void pfs_pg_plan_end_unusual(PfsPgQuery *query);

/* Temporary files were written since it began. */
static inline bool
pfs_pg_has_spilled(const PfsStatement *statement)
{
	return (uint64) *pfs_pg_server.temporary_blocks != statement->host_base;
}

static inline bool
pfs_pg_plan_is_unusual(const PfsStatement *statement)
{
	return statement->host_watches != 0 || pfs_pg_has_spilled(statement);
}

static inline void
pfs_pg_plan_end(PfsPgQuery *query, const PfsStatement *statement)
{
	if (pfs_unlikely(pfs_pg_plan_is_unusual(statement)))
		pfs_pg_plan_end_unusual(query);
}

/* What is known of it, or NULL. */
static inline PfsPgQuery *
pfs_pg_query(const QueryDesc *desc)
{
	if (pfs_unlikely(desc->estate == NULL))
		return NULL;
	for (MemoryContextCallback *callback = desc->estate->es_query_cxt->reset_cbs; callback != NULL;
		 callback = callback->next)
		if (pfs_likely(callback->func == pfs_pg_query_gone))
			return callback->arg;
	return pfs_pg_untied.relations.estate == desc->estate ? &pfs_pg_untied : NULL;
}

#endif							/* PFS_PG_QUERY_H */
