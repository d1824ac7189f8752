/*
 * pg_metrics.h
 *		engine_metrics: its counters begin, and obey the settings monitor_enable, ...
 */
#ifndef PFS_PG_METRICS_H
#define PFS_PG_METRICS_H

#include "core/metric.h"
#include "utils/guc.h"

/* At load: the core can ask for figures. */
extern void pfs_pg_metrics_install(void);

/*
 * Enables those that are on from the start, once; called when a session begins, since the
 * statistics are not there before.
 */
extern void pfs_pg_metrics_begin(void);

/* Of the settings: unknown counters are refused; what a session sets is done, once. */
extern bool pfs_pg_metrics_check(char **newval, void **extra, GucSource source);
extern void pfs_pg_metrics_assign_enable(const char *newval, void *extra);
extern void pfs_pg_metrics_assign_disable(const char *newval, void *extra);
extern void pfs_pg_metrics_assign_reset(const char *newval, void *extra);
extern void pfs_pg_metrics_assign_reset_all(const char *newval, void *extra);

#endif							/* PFS_PG_METRICS_H */
