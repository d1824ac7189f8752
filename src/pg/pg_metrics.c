/*
 * pg_metrics.c
 *		engine_metrics: what is done to its counters, and by which settings.
 */
#include "postgres.h"

#include "pg/pg_metrics.h"

#include "access/parallel.h"
#include "core/timer.h"
#include "miscadmin.h"
#include "pg/pg_arena.h"
#include "pg/pg_figures.h"
#include "pg/pg_guc.h"
#include "pg/pg_stat_compat.h"

/* --- all under the lock --- */

/* A counter that an owner divides by is looked at with it. */
static void
look_at_all(int64_t *figures)
{
	uint8_t		wanted[PFS_PG_METRICS];

	for (uint32 i = 0; i < PFS_PG_METRICS; i++)
		wanted[i] = pfs_metric(pfs_arena, i)->enabled;
	pfs_pg_figures_read(wanted, figures);
	for (uint32 i = 0; i < PFS_PG_METRICS; i++)
		pfs_metric_look(pfs_metric(pfs_arena, i), pfs_pg_metric_info[i].type, figures[i]);
}

static int
act(bool (*is_meant) (const PfsMetricInfo *info, const char *what), const char *what, PfsMetricAction action)
{
	uint8_t		wanted[PFS_PG_METRICS];
	int64_t		figures[PFS_PG_METRICS];
	uint64_t	now;
	int			count = 0;

	for (uint32 i = 0; i < PFS_PG_METRICS; i++)
		wanted[i] = is_meant(&pfs_pg_metric_info[i], what);
	pfs_pg_figures_read(wanted, figures);
	now = pfs_now();
	for (uint32 i = 0; i < PFS_PG_METRICS; i++)
	{
		if (!wanted[i] || figures[i] == PFS_NO_FIGURE)
			continue;
		pfs_metric_act(pfs_metric(pfs_arena, i), pfs_pg_metric_info[i].type, action, figures[i], now);
		count++;
	}
	return count;
}

static bool
is_default(const PfsMetricInfo *info, const char *what)
{
	return info->default_on;
}

/* Items of a setting are separated as in MySQL.  NULL: after the last. */
static const char *
next_item(char **rest)
{
	const char *item;

	while ((item = strsep(rest, " ,;\t\n")) != NULL && *item == '\0')
		continue;
	return item;
}

static void
act_on_list(const char *list, PfsMetricAction action)
{
	char	   *copy = pstrdup(list == NULL ? "" : list);
	char	   *rest = copy;
	const char *item;

	while ((item = next_item(&rest)) != NULL)
		act(pfs_metric_is_meant, item, action);
	pfree(copy);
}

/* Takes the lock, for counters that have begun: those that are on from the start, then what the settings say. */
static void
lock_begun(void)
{
	pfs_pg_metrics_lock();
	if (pfs_arena->metrics_begun)
		return;
	act(is_default, NULL, PFS_METRIC_ENABLE);
	act_on_list(pfs_guc_monitor_enable, PFS_METRIC_ENABLE);
	act_on_list(pfs_guc_monitor_disable, PFS_METRIC_DISABLE);
	pfs_arena->metrics_begun = 1;
}

/* The statistics are there, and can be read by this process. */
static bool
can_read(void)
{
	return pfs_arena != NULL && pgStatLocal.shared_hash != NULL;
}

void
pfs_pg_metrics_begin(void)
{
	if (!can_read() || pfs_arena->metrics_begun)
		return;
	lock_begun();
	pfs_pg_metrics_unlock();
}

static int
act_on_one(const char *what, PfsMetricAction action)
{
	int			count;

	if (!can_read())
		return 0;
	lock_begun();
	count = act(pfs_metric_is_meant, what, action);
	pfs_pg_metrics_unlock();
	return count;
}

static bool
is_known(const char *what)
{
	for (uint32 i = 0; i < PFS_PG_METRICS; i++)
		if (pfs_metric_is_meant(&pfs_pg_metric_info[i], what))
			return true;
	return false;
}

static bool
read_metrics(PfsArena *arena, PfsMetric *copy, int64_t *figures)
{
	int64_t		now[PFS_PG_METRICS];

	if (!can_read())
		return false;
	lock_begun();
	look_at_all(now);
	if (copy != NULL)
	{
		memcpy(copy, pfs_metric(pfs_arena, 0), sizeof(PfsMetric) * PFS_PG_METRICS);
		memcpy(figures, now, sizeof(now));
	}
	pfs_pg_metrics_unlock();
	return true;
}

void
pfs_pg_metrics_install(void)
{
	pfs_metrics = pfs_pg_metric_info;
	pfs_metric_count = PFS_PG_METRICS;
	pfs_host_metrics = read_metrics;
	pfs_host_metric_act = act_on_one;
}

/* --- the settings monitor_enable, ...: setting one is the action --- */

/* What a setting of this session still has to do. */
typedef struct Order
{
	uint64		number;			/* 0 = nothing: it came from a file, a role, a leader, ... */
} Order;

bool
pfs_pg_metrics_check(char **newval, void **extra, GucSource source)
{
	static uint64 orders = 0;
	Order	   *order = pfs_pg_guc_alloc(sizeof(Order));
	char	   *copy = pstrdup(*newval == NULL ? "" : *newval);
	char	   *rest = copy;
	const char *item;

	if (order == NULL)
		return false;
	while ((item = next_item(&rest)) != NULL && is_known(item))
		continue;
	if (item != NULL)
	{
		GUC_check_errdetail("No counter of engine_metrics is called or matches \"%s\".", item);
		GUC_check_errhint("Give names, patterns with %%, module_ and a subsystem, or all.");
		pfs_pg_guc_free(order);
	}
	pfree(copy);
	if (item != NULL)
		return false;
	order->number = source == PGC_S_SESSION && IsUnderPostmaster && !InitializingParallelWorker ? ++orders : 0;
	*extra = order;
	return true;
}

/* A value comes back when a transaction is rolled back: what it asked for was done before. */
static void
obey(const char *list, const Order *order, PfsMetricAction action)
{
	static uint64 obeyed = 0;

	if (order == NULL || order->number <= obeyed || !can_read())
		return;
	obeyed = order->number;
	lock_begun();
	act_on_list(list, action);
	pfs_pg_metrics_unlock();
}

#define ASSIGN_HOOK(setting, action) \
	void \
	pfs_pg_metrics_assign_##setting(const char *newval, void *extra) \
	{ \
		obey(newval, extra, action); \
	}
ASSIGN_HOOK(enable, PFS_METRIC_ENABLE)
ASSIGN_HOOK(disable, PFS_METRIC_DISABLE)
ASSIGN_HOOK(reset, PFS_METRIC_RESET)
ASSIGN_HOOK(reset_all, PFS_METRIC_RESET_ALL)
