/*
 * pg_template.h
 *		What all executions of a plan share: digest, class, text, and what the plan's shape tells.
 *
 * Kept for cached plans, as long as no switch changes (arena->changes); forgotten by the memory that the
 * plan lives in.  Other plans serve once and are looked at each time; only what does not depend on the plan is kept for
 * them, by query id.  One that has the session's key is right as it stands: schema, role and text, too.
 */
#ifndef PFS_PG_TEMPLATE_H
#define PFS_PG_TEMPLATE_H

#include "core/statement.h"
#include "executor/execdesc.h"
#include "pg/pg_command.h"

#define PFS_PG_SHAPE_COUNTERS 6
#define PFS_PG_NO_KEY 0			/* no session's */

/* Who begins in the plain way looks at the first line. */
typedef struct PfsPgTemplate
{
	PFS_ALIGNED PfsTemplate shared;	/* counters that are used are the shape's */
	const PlannedStmt *plan;	/* NULL = free */
	uint64		key;			/* the session's for which its statements may begin in the plain way, see pfs_pg_template_shaped */
	uint32		text;			/* where it was written last, as records tell it */
	uint32		text_length;	/* as much as is kept; 0 = to be asked each time */
	uint64		facts;			/* of a statement that begins in the plain way */

	uint64		decided;		/* arena->changes for which it is right, but for schema, role and text */
	uint64		text_position;	/* where it was written last */
	uint32		text_offset;	/* in the query's source, without white space */
	bool		may_be_plain;	/* may its statements begin in the plain way, ever? */
	struct PfsPgPlanGone *gone;
	uint32		shape[PFS_PG_SHAPE_COUNTERS];	/* values above 1: of the used ones, in their order */
	uint8		silent;			/* the class is off */
	uint8		rows_are;		/* counters, a bit each */
	uint8		sorts;
	uint8		brief;			/* PfsBrief: calls may be so, and ... */
	uint8		hops;			/* ... so many nodes are above the scan */
} PfsPgTemplate;

StaticAssertDecl(offsetof(PfsPgTemplate, decided) == PFS_CACHE_LINE, "one line");

/* A session's key, as it stands in templates whose shape tells numbers: they are stored by those who ask for it. */
static inline uint64
pfs_pg_template_shaped(uint64 key)
{
	return ~key;
}

/* Good until the next call. */
extern PfsPgTemplate *pfs_pg_template(const QueryDesc *desc);

/* What the plan's shape tells, and nothing else: for one that was just made.  Good until the next call. */
extern const PfsPgTemplate *pfs_pg_template_shape(const QueryDesc *desc);

/* The statement that was begun by it has its text: others may begin in the plain way. */
extern void pfs_pg_template_good(PfsPgTemplate *template);

/* Makes that of a command with a cached plan, whose statement this is: for the next time. */
extern void pfs_pg_template_of_utility(const PlannedStmt *plan, const PfsPgSource *source,
									   const PfsStatement *statement);

/* Owner: this process. */
#define PFS_PG_TEMPLATES 512	/* power of two; an application has hundreds of plans */
extern PfsPgTemplate pfs_pg_templates[PFS_PG_TEMPLATES];

/* First of the two places of a plan's template. */
static inline PfsPgTemplate *
pfs_pg_template_places(const PlannedStmt *plan)
{
	return &pfs_pg_templates[((uintptr_t) plan * UINT64_C(0x9E3779B97F4A7C15)) >> 56 << 1];
}

StaticAssertDecl(PFS_PG_TEMPLATES == 2 << (64 - 56), "the highest bits");

extern PfsPgTemplate pfs_pg_no_template;	/* right for no session, nor for any changes */

/* A plan's template, or that. */
static inline PfsPgTemplate *
pfs_pg_template_find(const PlannedStmt *plan)
{
	PfsPgTemplate *place = pfs_pg_template_places(plan);

	return pfs_likely(place->plan == plan) ? place : place[1].plan == plan ? place + 1 : &pfs_pg_no_template;
}

/* What all statements of a query id and class share whatever their plans, for those that are planned each time. */
typedef struct PfsPgShared
{
	PFS_ALIGNED PfsTemplate template;
	uint64		decided;		/* arena->changes for which its statements may begin in the plain way, with this schema and role; 0 = none */
} PfsPgShared;

#define PFS_PG_SHARED 256		/* power of two */
extern PfsPgShared pfs_pg_shared[PFS_PG_SHARED];

/* NULL: it is not known, or they may not begin so. */
static inline const PfsTemplate *
pfs_pg_shared_find(uint64 query_id, uint32 class)
{
	const PfsPgShared *place = &pfs_pg_shared[query_id & (PFS_PG_SHARED - 1)];

	return pfs_likely(place->decided == pfs_session.plain) && pfs_likely(place->template.query_id == query_id) &&
		pfs_likely(place->template.class == class) && pfs_likely(place->template.role == pfs_session.role) &&
		pfs_likely(place->template.schema == pfs_session.schema) ? &place->template : NULL;
}

/* One that was just made. */
extern void pfs_pg_shared_keep(const PfsTemplate *template);

/* What is known of a plan's sorts since it was executed, see pg_plan.c. */
extern void pfs_pg_template_sorts(const PlannedStmt *plan, uint8 sorts);

/* pg_plan.c: fills in what the plan's shape tells. */
extern void pfs_pg_shape(const PlannedStmt *plan, PfsPgTemplate *template);

#endif							/* PFS_PG_TEMPLATE_H */
