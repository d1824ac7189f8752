/*
 * metric.c
 *		Counters of the server's engine: their states, and figures from our own tables.
 */
#include "core/metric.h"

#include <strings.h>

#include "core/setup.h"
#include "core/table_internal.h"

const PfsMetricInfo *pfs_metrics;
uint32_t	pfs_metric_count;
bool		(*pfs_host_metrics) (PfsArena *arena, PfsMetric *copy, int64_t *figures);
int			(*pfs_host_metric_act) (const char *what, PfsMetricAction action);

#define MODULE "module_"
#define LONGEST_NAME 192

/* Of ASCII, and terminated. */
static void
to_lower(char *to, const char *from, size_t length)
{
	for (size_t i = 0; i < length; i++)
		to[i] = (char) (from[i] >= 'A' && from[i] <= 'Z' ? from[i] | 0x20 : from[i]);
	to[length] = '\0';
}

bool
pfs_metric_is_meant(const PfsMetricInfo *info, const char *what)
{
	char		lower[LONGEST_NAME];
	size_t		length = strlen(what);

	if (length >= sizeof(lower))
		return false;
	to_lower(lower, what, length);
	if (strcmp(lower, "all") == 0)
		return true;
	if (strncmp(lower, MODULE, strlen(MODULE)) == 0)
		return strcmp(lower + strlen(MODULE), info->subsystem) == 0;
	/* an underscore is a character of most names: alone it is no pattern */
	return strchr(lower, '%') != NULL ? pfs_like(lower, info->name) : strcmp(lower, info->name) == 0;
}

static void
note_extremes(int64_t value, uint8_t *known, int64_t *max, int64_t *min)
{
	if (!*known || value > *max)
		*max = value;
	if (!*known || value < *min)
		*min = value;
	*known = 1;
}

void
pfs_metric_look(PfsMetric *metric, PfsMetricType type, int64_t figure)
{
	int64_t		lap;

	if (!metric->enabled || figure == PFS_NO_FIGURE)
		return;
	if (type == PFS_METRIC_VALUE)
		metric->count = figure;
	else if (figure > metric->figure)
		metric->count += figure - metric->figure;
	metric->figure = figure;
	lap = pfs_metric_lap(metric, type);
	note_extremes(metric->count, &metric->looked_at, &metric->max, &metric->min);
	note_extremes(lap, &metric->lap_looked_at, &metric->lap_max, &metric->lap_min);
}

uint64_t
pfs_metric_ticks(const PfsMetric *metric, uint64_t now)
{
	return metric->ticks_before + (metric->enabled && now > metric->enabled_at ? now - metric->enabled_at : 0);
}

uint64_t
pfs_metric_lap_ticks(const PfsMetric *metric, uint64_t now)
{
	return pfs_metric_ticks(metric, now) - metric->lap_ticks;
}

/* At zero, as if it were enabled for the first time. */
static void
begin(PfsMetric *metric, int64_t figure, uint64_t now)
{
	*metric = (PfsMetric) {.enabled = 1,.figure = figure,.enabled_at = now};
}

static void
reset(PfsMetric *metric, uint64_t now)
{
	metric->lap_start = metric->count;
	metric->lap_looked_at = 0;
	metric->lap_ticks = pfs_metric_ticks(metric, now);
	metric->reset_at = now;
}

void
pfs_metric_act(PfsMetric *metric, PfsMetricType type, PfsMetricAction action, int64_t figure, uint64_t now)
{
	if (figure == PFS_NO_FIGURE)
		return;
	if (action != PFS_METRIC_RESET_ALL)
		pfs_metric_look(metric, type, figure);
	switch (action)
	{
		case PFS_METRIC_ENABLE:
			if (metric->enabled)
				return;
			metric->enabled = 1;
			metric->figure = figure;
			metric->enabled_at = now;
			metric->disabled_at = 0;
			return;
		case PFS_METRIC_DISABLE:
			if (!metric->enabled)
				return;
			metric->ticks_before = pfs_metric_ticks(metric, now);
			metric->enabled = 0;
			metric->disabled_at = now;
			return;
		case PFS_METRIC_RESET:
			reset(metric, now);
			return;
		case PFS_METRIC_RESET_ALL:
			if (metric->enabled)
				begin(metric, figure, now);
			else
				*metric = (PfsMetric) {0};
			return;
	}
}

/* --- figures from our own tables --- */

/* A reading of one of them. */
typedef struct Reading
{
	const uint8_t *wanted;
	int64_t    *figures;
	const PfsColumn *key;		/* what patterns are of: the type of an index, or the first text */
	int			key_group;
	const PfsColumn **columns;	/* [metric]: NULL = not of this table */
	int		   *groups;
} Reading;

static const PfsColumn *
column_named(const PfsTable *table, const char *name, int *group)
{
	const PfsColumn *column;

	for (int i = 0; (column = pfs_table_column(table, i, group)) != NULL; i++)
		if (strcmp(column->name, name) == 0)
			return column;
	return NULL;
}

/* Times are told in microseconds. */
static int64_t
figure_of(const PfsColumn *column, const void *part)
{
	uint64_t	value = *(const uint64_t *) ((const char *) part + column->offset);

	return (int64_t) (column->type == PFS_COLUMN_TICKS ? (uint64_t) (pfs_ticks_to_ps(value) / 1000000) : value);
}

static void
add_row(PfsScan *scan, const void *const *parts)
{
	Reading    *reading = scan->reading;
	const PfsText *text = (const PfsText *) ((const char *) parts[reading->key_group] + reading->key->offset);
	char		name[LONGEST_NAME];

	if (text->data == NULL || text->length >= sizeof(name))
		return;
	to_lower(name, text->data, text->length);
	for (uint32_t i = 0; i < pfs_metric_count; i++)
		if (reading->columns[i] != NULL && pfs_like(pfs_metrics[i].pattern, name))
			reading->figures[i] += figure_of(reading->columns[i], parts[reading->groups[i]]);
}

/* Prepares the wanted counters of this table; false: there is none. */
static bool
choose(Reading *reading, const PfsTable *table)
{
	bool		any = false;

	reading->key = column_named(table, "index_type", &reading->key_group);
	for (int i = 0; reading->key == NULL; i++)
	{
		const PfsColumn *column = pfs_table_column(table, i, &reading->key_group);

		if (column == NULL)
			return false;
		if (column->type == PFS_COLUMN_TEXT)
			reading->key = column;
	}
	for (uint32_t i = 0; i < pfs_metric_count; i++)
	{
		const PfsMetricInfo *info = &pfs_metrics[i];

		reading->columns[i] = NULL;
		if (!reading->wanted[i] || info->table == NULL || strcmp(info->table, table->name) != 0)
			continue;
		reading->columns[i] = column_named(table, info->column, &reading->groups[i]);
		reading->figures[i] = reading->columns[i] != NULL ? 0 : PFS_NO_FIGURE;
		any |= reading->columns[i] != NULL;
	}
	return any;
}

void
pfs_metric_events(PfsScan *scan, const uint8_t *wanted, int64_t *figures)
{
	Reading    *reading = scan->alloc(scan, sizeof(Reading));

	reading->wanted = wanted;
	reading->figures = figures;
	reading->columns = scan->alloc(scan, pfs_metric_count * sizeof(*reading->columns));
	reading->groups = scan->alloc(scan, pfs_metric_count * sizeof(*reading->groups));
	scan->reading = reading;
	scan->sees_all = true;
	scan->emit = add_row;
	for (int i = 0; pfs_tables[i] != NULL; i++)
	{
		scan->table = pfs_tables[i];
		if (choose(reading, scan->table))
			scan->table->scan(scan);
	}
}

void
pfs_metrics_look_at(PfsArena *arena, const PfsTable *table)
{
	for (uint32_t i = 0; i < pfs_metric_count; i++)
		if (pfs_metrics[i].table != NULL && strcmp(pfs_metrics[i].table, table->name) == 0)
		{
			(void) pfs_host_metrics(arena, NULL, NULL);
			return;
		}
}
