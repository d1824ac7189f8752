/*
 * fdw_compat.h
 *		What the foreign-data wrapper needs to know about server versions; after postgres.h.
 *
 * Shims have the newest signature; the comment says which version changed it.
 */
#ifndef PFS_FDW_COMPAT_H
#define PFS_FDW_COMPAT_H

#include "commands/explain.h"
#include "fmgr.h"
#include "optimizer/pathnode.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/*
 * Declares a function of SQL.  16 marks these for export itself; before, -fvisibility=hidden would
 * hide them from the server.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif
#define PFS_SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

/* 17: fdw_restrictinfo (none here); 18: disabled_nodes (none here). */
static inline ForeignPath *
pfs_create_foreignscan_path(PlannerInfo *root, RelOptInfo *rel, double rows, Cost startup_cost,
							Cost total_cost, Relids required_outer)
{
#if PG_VERSION_NUM >= 180000
	return create_foreignscan_path(root, rel, NULL, rows, 0, startup_cost, total_cost, NIL,
								   required_outer, NULL, NIL, NIL);
#elif PG_VERSION_NUM >= 170000
	return create_foreignscan_path(root, rel, NULL, rows, startup_cost, total_cost, NIL,
								   required_outer, NULL, NIL, NIL);
#else
	return create_foreignscan_path(root, rel, NULL, rows, startup_cost, total_cost, NIL,
								   required_outer, NULL, NIL);
#endif
}

#endif							/* PFS_FDW_COMPAT_H */
