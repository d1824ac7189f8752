/*
 * pg_figures.h
 *		Figures of engine_metrics: what there is, and how it is read.
 */
#ifndef PFS_PG_FIGURES_H
#define PFS_PG_FIGURES_H

#include "core/metric.h"

/* How many counters metrics.def has. */
#define PFS_METRIC(...) + 1
#define PFS_METRIC_EVENTS(...) + 1
#define PFS_METRIC_SET(...) + 1
enum
{
	PFS_PG_METRICS = 0
#include "pg/metrics.def"
};
#undef PFS_METRIC
#undef PFS_METRIC_EVENTS
#undef PFS_METRIC_SET

extern const PfsMetricInfo pfs_pg_metric_info[PFS_PG_METRICS];

/*
 * Figures of the wanted counters, all PFS_PG_METRICS; those of the others are right, or 0.  Allocates; by a process that can
 * read the server's statistics.
 */
extern void pfs_pg_figures_read(const uint8_t *wanted, int64_t *figures);

#endif							/* PFS_PG_FIGURES_H */
