/*
 * metric.h
 *		Counters of the server's engine, MySQL's INNODB_METRICS: what has been counted since when.
 *
 * Nothing is recorded for them.  A counter has a figure somewhere: in the server's cumulative
 * statistics, or in a summary of ours.  When somebody asks, the host takes the figures of the
 * counters that are enabled, all at one moment, and what they have grown by since the last time is
 * added here.  A figure that has become smaller was reset, or what it counted was dropped: it
 * counts on from there, and a count never falls.
 *
 * All of it happens under one lock of the host's; times are ticks.
 */
#ifndef PFS_METRIC_H
#define PFS_METRIC_H

#include "core/arena.h"

typedef enum PfsMetricType
{
	PFS_METRIC_STATUS_COUNTER,	/* of the server's cumulative statistics */
	PFS_METRIC_COUNTER,			/* of our own events */
	PFS_METRIC_VALUE,			/* the level of something, now */
	PFS_METRIC_SET_OWNER,		/* a total, whose mean is by call: info.calls */
	PFS_METRIC_SET_MEMBER		/* those calls */
} PfsMetricType;

/* What a counter is; constant, the same in all processes. */
typedef struct PfsMetricInfo
{
	const char *name;
	const char *subsystem;
	PfsMetricType type;
	bool		default_on;
	const char *calls;			/* SET_OWNER: name of the member */
	const char *doc;

	/* of our own events: the sum of a column over the rows whose first text, in small letters, is like the pattern */
	const char *table;			/* NULL: a figure of the host's */
	const char *column;
	const char *pattern;
} PfsMetricInfo;

/* The host's, set when the library is loaded. */
extern const PfsMetricInfo *pfs_metrics;
extern uint32_t pfs_metric_count;

/* This server does not know the figure, and so not the counter. */
#define PFS_NO_FIGURE INT64_MIN

/* One counter, in the arena; all zero = never enabled. */
typedef struct PfsMetric
{
	int64_t		figure;			/* when it was last looked at */
	int64_t		count;			/* grown by since it was enabled; a value: its level */
	int64_t		lap_start;		/* the count when it was last reset */
	int64_t		max;			/* of the count, if it was looked at ... */
	int64_t		min;
	int64_t		lap_max;		/* ... and of what it has grown by since the reset */
	int64_t		lap_min;
	uint64_t	enabled_at;		/* 0 = never */
	uint64_t	disabled_at;	/* 0 = it is enabled */
	uint64_t	reset_at;		/* 0 = never */
	uint64_t	ticks_before;	/* for which it was enabled before enabled_at */
	uint64_t	lap_ticks;		/* for which it had been enabled when it was reset */
	uint8_t		enabled;
	uint8_t		looked_at;		/* max and min are known */
	uint8_t		lap_looked_at;
} PfsMetric;

static inline PfsMetric *
pfs_metric(const PfsArena *arena, uint32_t number)
{
	return PFS_AT(arena, arena->metrics, PfsMetric) + number;
}

/* What may be done to a counter, by name, pattern, module or all of them. */
typedef enum PfsMetricAction
{
	PFS_METRIC_ENABLE,			/* goes on from where it was disabled */
	PFS_METRIC_DISABLE,			/* keeps what it has */
	PFS_METRIC_RESET,			/* begins a new lap: the columns ..._reset */
	PFS_METRIC_RESET_ALL		/* forgets everything; one that is enabled begins again */
} PfsMetricAction;

/* Is it meant by this: its name, a pattern with % and _, "module_" and its subsystem, or "all"?  Any case. */
extern bool pfs_metric_is_meant(const PfsMetricInfo *info, const char *what);

/* The figure now of one that is enabled. */
extern void pfs_metric_look(PfsMetric *metric, PfsMetricType type, int64_t figure);

/* Does it to one counter, whose figure now this is. */
extern void pfs_metric_act(PfsMetric *metric, PfsMetricType type, PfsMetricAction action, int64_t figure,
						   uint64_t now);

/* Ticks for which it has been enabled in all, and since its reset. */
extern uint64_t pfs_metric_ticks(const PfsMetric *metric, uint64_t now);
extern uint64_t pfs_metric_lap_ticks(const PfsMetric *metric, uint64_t now);

static inline int64_t
pfs_metric_lap(const PfsMetric *metric, PfsMetricType type)
{
	return type == PFS_METRIC_VALUE ? metric->count : metric->count - metric->lap_start;
}

/*
 * Figures of our own events for the wanted counters that have none yet (PFS_NO_FIGURE), from the
 * tables that show them; scan: one of its own, with arena, alloc and host.
 */
struct PfsScan;
struct PfsTable;
extern void pfs_metric_events(struct PfsScan *scan, const uint8_t *wanted, int64_t *figures);

/*
 * The host's: looks at all enabled counters, and copies all of them to a buffer for pfs_metric_count of
 * them and their figures, of which PFS_NO_FIGURE tells that this server has no such counter.  False: the
 * server cannot tell now.
 */
extern bool (*pfs_host_metrics) (PfsArena *arena, PfsMetric *copy, int64_t *figures);

/* The host's: does something to the counters that are meant; returns their number. */
extern int	(*pfs_host_metric_act) (const char *what, PfsMetricAction action);

/*
 * A table that counters may be made of is to be truncated, or was: they learn what it had, and that
 * it begins anew.
 */
extern void pfs_metrics_look_at(PfsArena *arena, const struct PfsTable *table);

#endif							/* PFS_METRIC_H */
