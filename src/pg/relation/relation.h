/*
 * relation.h
 *		What a query reads and changes, from the server's own counters: for the hooks.
 *
 * The rows of a query are the differences of the counters of its relations over each ExecutorRun and
 * ExecutorFinish, and over a COPY.  A relation is looked at only while such a call is on the C stack, or is being
 * left by an error that is just raised: then it is open, and the server cannot hand its counters over.
 */
#ifndef PFS_PG_RELATION_H
#define PFS_PG_RELATION_H

#include "postgres.h"

#include "access/xact.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

struct PfsKnown;
struct PfsTime;
struct PfsStatement;

/* A relation that a call reads or changes. */
typedef struct PfsPart
{
	Relation	relation;		/* open as long as the query; NULL: looked up by its oid */
	struct PfsKnown *known;
	struct PfsTime *time;		/* of the node that reads or changes it; NULL = not timed */
	Oid			oid;
	uint8		reads;			/* PfsReads, see parts.h */
	bool		records;		/* else only rows_examined */
} PfsPart;

#define PFS_OWN_PARTS 4

/* The relations of a query or a COPY; in its memory. */
typedef struct PfsRelations
{
	EState	   *estate;			/* NULL: of a COPY */
	PlanState  *plan;
	struct PfsStatement *statement; /* gets rows_examined; NULL = none, it has ended, or of a COPY */
	struct PfsRelations *outer; /* the call around this one */
	union
	{
		struct
		{
			bool		runs;	/* among the calls on the C stack */
			bool		built;	/* the plan was looked at */
			bool		records;
			bool		routes; /* to partitions that are opened as rows come */
			bool		conflicts;	/* and looks for conflicting rows in their indexes */
			uint8		brief;	/* PfsBrief, see brief.h */
			uint8		timing; /* PfsTimingState, see times.h */
			uint8		weight; /* executions that a timed one stands for, less 1 */
		};
		uint64		nothing;	/* all false and undecided: it did not run yet */
	};
	int			level;			/* of the transaction when the call began */
	uint32		parts;			/* not known before the first call, and of a brief one */
	PfsPart		own[PFS_OWN_PARTS]; /* the first one begins in the line above: a brief scan needs no more */
	PfsPart    *part;			/* own, or of the context */
	uint32		routed;			/* of the partitions that it routes to, parts already */
	uint32		room;
	MemoryContext context;
	struct PfsTime *times;		/* if it is timed: of its nodes ... */
	struct PfsTime *routing;	/* ... and that of the one that routes rows ... */
	uint64		began;			/* ... since this run began, in ticks */
} PfsRelations;

/* After ExecutorStart. */
static inline void
pfs_relations_init(PfsRelations *relations, EState *estate, PlanState *plan, struct PfsStatement *statement)
{
	relations->estate = estate;
	relations->plan = plan;
	relations->statement = statement;
	relations->nothing = 0;
}

/* Around ExecutorRun or ExecutorFinish. */
extern void pfs_relations_begin(PfsRelations *relations);
extern void pfs_relations_end(PfsRelations *relations);

/* brief.c: what its calls can be (PfsBrief), and how many nodes are above the scan. */
extern uint8 pfs_brief_plan(const PlannedStmt *plan, uint8 *hops);

/* Its call will not come back, or its memory goes. */
extern void pfs_relations_remove(PfsRelations *relations);

static inline void
pfs_relations_left(PfsRelations *relations)
{
	if (unlikely(relations->runs))
		pfs_relations_remove(relations);
}

/* An error is raised: what the calls on the C stack have done is recorded while everything is open. */
extern void pfs_relations_failed(void);

/* The same by an error context callback, where no statement has one. */
extern void pfs_relations_guard(ErrorContextCallback *guard);

/* A (sub)transaction has ended: what began at this level, or a deeper one, is not on the C stack any more. */
extern void pfs_relations_forget(int level);

/* What the end of each transaction looks at: on the line of pfs_relations_running. */
typedef struct PfsRelationsOver
{
	uint32		epoch;			/* the next transaction can begin in this epoch at first */
	union
	{
		struct
		{
			bool		dropped;	/* may it have renamed or dropped something?  See dropped.c */
			uint8		routed;		/* indexes that were met by routing, see routed.c */
		};
		uint16		rare;		/* both */
	};
} PfsRelationsOver;

extern PfsRelationsOver pfs_relations_over;

/* copy.c.  NULL: nothing to do. */
extern PfsRelations *pfs_copy_begin(const Node *utility);

/* dropped.c */
extern void pfs_dropped_note_utility(const Node *utility);
extern bool pfs_dropped_ends_prepared(const Node *utility);
extern void pfs_dropped_look(void); /* it has */
extern void pfs_dropped_transaction(XactEvent event);

extern void pfs_dropped_subtransaction(SubXactEvent event);

#endif							/* PFS_PG_RELATION_H */
