/*
 * times.h
 *		Times of the nodes that read and change tables, in some executions.
 */
#ifndef PFS_PG_TIMES_H
#define PFS_PG_TIMES_H

#include "pg/relation/known.h"
#include "pg/relation/relation.h"

/* Is this execution timed?  Its first relation that is watched decides, or the one that rows are routed from. */
typedef enum PfsTiming
{
	PFS_TIMING_UNDECIDED,
	PFS_TIMING_NONE,
	PFS_TIMING_TIMED
} PfsTimingState;

#define PFS_SAMPLES_FIRST 8		/* executions that are all timed */

/* A node that is timed; in the query's memory. */
typedef struct PfsTime
{
	struct PfsTime *next;
	PlanState  *node;
	const struct PfsPgNodeCounter *counter; /* NULL: the server times it, for EXPLAIN ANALYZE */
	struct PfsTime *child;		/* whose time is not its own; NULL = none */
	PfsTicks	before;			/* in runs that have ended */
	PfsTicks	spent;			/* in this one */
	uint64		rows;			/* changed in this one */
	bool		reported;		/* else only to be subtracted */
} PfsTime;

/* The execution has met its first relation: is it timed? */
extern void pfs_times_decide(PfsRelations *relations, PfsKnown *known);

/* Times a node from now on.  NULL: it cannot be, or no memory (counted). */
extern PfsTime *pfs_times_watch(PfsRelations *relations, PlanState *node);

#endif							/* PFS_PG_TIMES_H */
