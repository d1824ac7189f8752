/*
 * table_metrics.c
 *		engine_metrics, MySQL's INNODB_METRICS.
 */
#include "core/table_internal.h"

#include <math.h>

#include "core/metric.h"
#include "core/timer.h"

typedef struct MetricRow
{
	PfsText		name;
	PfsText		subsystem;
	int64_t		count;
	int64_t		max;
	int64_t		min;
	double		average;
	int64_t		lap;
	int64_t		lap_max;
	int64_t		lap_min;
	double		lap_average;
	uint64_t	enabled_at;
	uint64_t	disabled_at;
	int64_t		elapsed;
	uint64_t	reset_at;
	PfsText		status;
	PfsText		type;
	PfsText		doc;
} MetricRow;

#define NULL_NUMBER INT64_MIN

static const PfsColumn metric_columns[] = {
	{"name", "Counter", PFS_COLUMN_TEXT, offsetof(MetricRow, name), PFS_COLUMN_KEY},
	{"subsystem", "Its module; module_ and this name all of it", PFS_COLUMN_TEXT, offsetof(MetricRow, subsystem), 0},
	{"count", "Counted while it was enabled, since reset_all; of a value its level when it was last looked at",
	PFS_COLUMN_I64, offsetof(MetricRow, count), 0},
	{"max_count", "Largest count that a reader has seen; NULL: none has looked", PFS_COLUMN_I64,
	offsetof(MetricRow, max), 0},
	{"min_count", "Smallest count that a reader has seen", PFS_COLUMN_I64, offsetof(MetricRow, min), 0},
	{"avg_count", "Of a set_owner the mean of its calls, of a counter the count per second enabled; NULL for values",
	PFS_COLUMN_DOUBLE, offsetof(MetricRow, average), 0},
	{"count_reset", "Counted since the last reset; of a value its level", PFS_COLUMN_I64, offsetof(MetricRow, lap), 0},
	{"max_count_reset", "Largest count_reset that a reader has seen since the last reset", PFS_COLUMN_I64,
	offsetof(MetricRow, lap_max), 0},
	{"min_count_reset", "Smallest count_reset that a reader has seen since the last reset", PFS_COLUMN_I64,
	offsetof(MetricRow, lap_min), 0},
	{"avg_count_reset", "avg_count since the last reset; NULL: there was none", PFS_COLUMN_DOUBLE,
	offsetof(MetricRow, lap_average), 0},
	{"time_enabled", "When it was last enabled; NULL: never", PFS_COLUMN_WHEN, offsetof(MetricRow, enabled_at), 0},
	{"time_disabled", "When it was last disabled; NULL while it is enabled", PFS_COLUMN_WHEN,
	offsetof(MetricRow, disabled_at), 0},
	{"time_elapsed", "Seconds for which it was enabled, in all, since reset_all; NULL: never", PFS_COLUMN_I64,
	offsetof(MetricRow, elapsed), 0},
	{"time_reset", "When it was last reset; NULL: never", PFS_COLUMN_WHEN, offsetof(MetricRow, reset_at), 0},
	{"status", "enabled or disabled", PFS_COLUMN_TEXT, offsetof(MetricRow, status), 0},
	{"type", "status_counter: of the server's statistics; counter: of events recorded here; value: a level; set_owner: a total, "
	"set_member: its calls", PFS_COLUMN_TEXT, offsetof(MetricRow, type), 0},
	{"comment", "Meaning, with units", PFS_COLUMN_TEXT, offsetof(MetricRow, doc), 0},
};
PFS_GROUP(metric_group, metric_columns);

static const char *const types[] = {
	[PFS_METRIC_STATUS_COUNTER] = "status_counter",
	[PFS_METRIC_COUNTER] = "counter",
	[PFS_METRIC_VALUE] = "value",
	[PFS_METRIC_SET_OWNER] = "set_owner",
	[PFS_METRIC_SET_MEMBER] = "set_member",
};

static double
mean(int64_t total, double of)
{
	return of > 0 ? (double) total / of : NAN;
}

static double
seconds(uint64_t ticks)
{
	return (double) ticks / (double) pfs_timer.frequency;
}

/* The member that counts an owner's calls; NULL: none. */
static const PfsMetric *
calls_of(const PfsMetric *metrics, const PfsMetricInfo *owner)
{
	for (uint32_t i = 0; i < pfs_metric_count; i++)
		if (strcmp(pfs_metrics[i].name, owner->calls) == 0)
			return &metrics[i];
	return NULL;
}

static void
fill_averages(MetricRow *row, const PfsMetric *metrics, uint32_t number, uint64_t now)
{
	const PfsMetricInfo *info = &pfs_metrics[number];
	const PfsMetric *metric = &metrics[number];
	const PfsMetric *calls;

	row->average = row->lap_average = NAN;
	if (info->type == PFS_METRIC_VALUE)
		return;
	if (info->type == PFS_METRIC_SET_OWNER)
	{
		calls = calls_of(metrics, info);
		if (calls == NULL)
			return;
		row->average = mean(row->count, (double) calls->count);
		if (metric->reset_at != 0)
			row->lap_average = mean(row->lap, (double) pfs_metric_lap(calls, PFS_METRIC_SET_MEMBER));
		return;
	}
	row->average = mean(row->count, seconds(pfs_metric_ticks(metric, now)));
	if (metric->reset_at != 0)
		row->lap_average = mean(row->lap, seconds(pfs_metric_lap_ticks(metric, now)));
}

static void
emit_metric(PfsScan *scan, const PfsMetric *metrics, uint32_t number, uint64_t now)
{
	const PfsMetricInfo *info = &pfs_metrics[number];
	const PfsMetric *metric = &metrics[number];
	MetricRow	row = {
		.name = pfs_text_of_string(info->name),
		.subsystem = pfs_text_of_string(info->subsystem),
		.count = metric->count,
		.max = metric->looked_at ? metric->max : NULL_NUMBER,
		.min = metric->looked_at ? metric->min : NULL_NUMBER,
		.lap = pfs_metric_lap(metric, info->type),
		.lap_max = metric->lap_looked_at ? metric->lap_max : NULL_NUMBER,
		.lap_min = metric->lap_looked_at ? metric->lap_min : NULL_NUMBER,
		.enabled_at = metric->enabled_at,
		.disabled_at = metric->disabled_at,
		.elapsed = metric->enabled_at != 0 ? (int64_t) seconds(pfs_metric_ticks(metric, now)) : NULL_NUMBER,
		.reset_at = metric->reset_at,
		.status = pfs_text_of_string(metric->enabled ? "enabled" : "disabled"),
		.type = pfs_text_of_string(types[info->type]),
		.doc = pfs_text_of_string(info->doc),
	};
	const void *parts[] = {&row};

	fill_averages(&row, metrics, number, now);
	scan->emit(scan, parts);
}

static void
metrics_scan(PfsScan *scan)
{
	PfsMetric  *metrics;
	int64_t    *figures;
	uint64_t	now;

	if (pfs_host_metrics == NULL || pfs_metric_count == 0)
		return;
	metrics = scan->alloc(scan, pfs_metric_count * sizeof(*metrics));
	figures = scan->alloc(scan, pfs_metric_count * sizeof(*figures));
	if (!pfs_host_metrics(scan->arena, metrics, figures))
		return;
	now = pfs_now();
	for (uint32_t i = 0; i < pfs_metric_count; i++)
		if (figures[i] != PFS_NO_FIGURE)
			emit_metric(scan, metrics, i, now);
}

const PfsTable pfs_table_engine_metrics = {
	.name = "engine_metrics",
	.doc = "Counters of the server's engine (MySQL: INFORMATION_SCHEMA.INNODB_METRICS), switched by monitor_enable, monitor_disable, "
	"monitor_reset, monitor_reset_all",
	.groups = {&metric_group},.scan = metrics_scan,
};
