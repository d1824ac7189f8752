/*
 * test_metric.c - counters of engine_metrics: enable, disable, reset, reset_all; which ones are meant; sums of our own tables.
 */
#include "arena_fixture.h"
#include "tap.h"

static const PfsMetricInfo info = {.name = "trx_commits",.subsystem = "transaction"};

static void
test_meaning(void)
{
	ok(pfs_metric_is_meant(&info, "trx_commits"), "a name");
	ok(pfs_metric_is_meant(&info, "TRX_Commits"), "in any case");
	ok(!pfs_metric_is_meant(&info, "trx_commit") && !pfs_metric_is_meant(&info, "trx_commits2"), "the whole name");
	ok(!pfs_metric_is_meant(&info, "trxXcommits"), "a name is no pattern");
	ok(pfs_metric_is_meant(&info, "module_transaction"), "its module");
	ok(!pfs_metric_is_meant(&info, "module_trans") && !pfs_metric_is_meant(&info, "module_%"), "a module by its whole name");
	ok(pfs_metric_is_meant(&info, "all") && pfs_metric_is_meant(&info, "%"), "all");
	ok(pfs_metric_is_meant(&info, "trx%") && pfs_metric_is_meant(&info, "%commit_") && !pfs_metric_is_meant(&info, "lock%"),
	   "patterns");
	ok(!pfs_metric_is_meant(&info, "") && !pfs_metric_is_meant(&info, "_"), "nothing means nothing");
}

static void
test_counter(void)
{
	PfsMetric	m = {0};
	PfsMetricType type = PFS_METRIC_COUNTER;

	pfs_metric_look(&m, type, 50);
	ok(m.count == 0 && !m.looked_at, "a disabled counter is not looked at");
	pfs_metric_act(&m, type, PFS_METRIC_ENABLE, 100, 1000);
	ok(m.enabled && m.count == 0 && m.enabled_at == 1000, "enabled: it begins at zero, whatever the figure");
	pfs_metric_look(&m, type, 130);
	is_u64((uint64_t) m.count, 30, "it has grown by what the figure has");
	pfs_metric_act(&m, type, PFS_METRIC_ENABLE, 140, 1500);
	ok(m.count == 40 && m.enabled_at == 1000, "enabled again: nothing but a look");
	pfs_metric_act(&m, type, PFS_METRIC_RESET, 150, 2000);
	ok(m.count == 50 && pfs_metric_lap(&m, type) == 0 && m.reset_at == 2000, "reset: a new lap, the count stays");
	pfs_metric_look(&m, type, 170);
	ok(m.count == 70 && pfs_metric_lap(&m, type) == 20, "both go on");
	ok(m.max == 70 && m.min == 30 && m.lap_max == 20 && m.lap_min == 20, "extremes are of what was looked at");
	pfs_metric_look(&m, type, 10);
	ok(m.count == 70, "a figure that begins anew takes nothing away");
	pfs_metric_look(&m, type, 15);
	ok(m.count == 75, "and counts on from there");
	pfs_metric_act(&m, type, PFS_METRIC_DISABLE, 20, 3000);
	ok(!m.enabled && m.count == 80 && m.disabled_at == 3000, "disabled: what it has until then");
	is_u64(pfs_metric_ticks(&m, 9000), 2000, "time stands still");
	pfs_metric_act(&m, type, PFS_METRIC_DISABLE, 60, 3500);
	ok(m.count == 80 && m.disabled_at == 3000, "disabled again: nothing");
	pfs_metric_act(&m, type, PFS_METRIC_RESET, 60, 3600);
	ok(m.count == 80 && pfs_metric_lap(&m, type) == 0 && !m.enabled, "reset works while it is disabled");
	pfs_metric_act(&m, type, PFS_METRIC_ENABLE, 500, 5000);
	ok(m.count == 80 && m.enabled_at == 5000 && m.disabled_at == 0, "enabled again: goes on from there, without what passed meanwhile");
	pfs_metric_look(&m, type, 510);
	is_u64((uint64_t) m.count, 90, "and counts");
	is_u64(pfs_metric_ticks(&m, 6000), 3000, "the time it was disabled for does not count");
	is_u64(pfs_metric_lap_ticks(&m, 6000), 1000, "nor for the lap");
	pfs_metric_act(&m, type, PFS_METRIC_RESET_ALL, 520, 7000);
	ok(m.enabled && m.count == 0 && m.enabled_at == 7000 && m.reset_at == 0 && !m.looked_at,
	   "reset_all of an enabled one: as if enabled now");
	pfs_metric_look(&m, type, 521);
	is_u64((uint64_t) m.count, 1, "and it counts");
	pfs_metric_act(&m, type, PFS_METRIC_DISABLE, 521, 8000);
	pfs_metric_act(&m, type, PFS_METRIC_RESET_ALL, 521, 8000);
	ok(!m.enabled && m.count == 0 && m.enabled_at == 0 && m.disabled_at == 0, "reset_all of a disabled one: as if never enabled");
}

static void
test_value(void)
{
	PfsMetric	m = {0};
	PfsMetricType type = PFS_METRIC_VALUE;

	pfs_metric_act(&m, type, PFS_METRIC_ENABLE, 100, 1);
	pfs_metric_look(&m, type, 7);
	pfs_metric_look(&m, type, -3);
	ok(m.count == -3 && m.max == 7 && m.min == -3, "a value is its level");
	pfs_metric_act(&m, type, PFS_METRIC_RESET, 5, 2);
	pfs_metric_look(&m, type, 6);
	ok(pfs_metric_lap(&m, type) == 6 && m.lap_max == 6 && m.lap_min == 6 && m.max == 7, "of a lap too");
	pfs_metric_look(&m, type, PFS_NO_FIGURE);
	ok(m.count == 6, "no figure changes nothing");
	pfs_metric_act(&m, type, PFS_METRIC_DISABLE, 9, 3);
	pfs_metric_look(&m, type, 100);
	is_u64((uint64_t) m.count, 9, "a disabled one keeps its last level");
}

/* --- sums of our own tables --- */

static const PfsMetricInfo own[] = {
	{.name = "selects",.table = "events_statements_summary_global_by_event_name",.column = "count_star",
	.pattern = "statement/sql/class_1"},
	{.name = "statements",.table = "events_statements_summary_global_by_event_name",.column = "count_star",
	.pattern = "statement/%"},
	{.name = "no_column",.table = "events_statements_summary_global_by_event_name",.column = "count_moon",.pattern = "%"},
	{.name = "not_wanted",.table = "events_statements_summary_global_by_event_name",.column = "count_star",.pattern = "%"},
	{.name = "host's"},
	{.name = "used",.table = "status",.column = "variable_value",.pattern = "accounts_size"},
};

static void
test_own_events(void)
{
	PfsArena   *arena = fixture_arena(NULL);
	PfsSession *session = fixture_attach(arena, 0, "user", "host");
	FixtureScan scan;
	uint8_t		wanted[] = {1, 1, 1, 0, 1, 1};
	int64_t		figures[] = {0, 0, 0, -7, -8, 0};

	pfs_metrics = own;
	pfs_metric_count = PFS_LENGTH(own);
	fixture_statement(session, 1, 0, 10, "one");
	fixture_statement(session, 1, 0, 10, "two");
	fixture_statement(session, 2, 0, 10, "three");
	scan_begin(&scan, arena, "status");
	pfs_metric_events(&scan.scan, wanted, figures);
	ok(figures[0] == 2 && figures[1] == 3, "sums of the rows whose names are like the pattern");
	ok(figures[2] == PFS_NO_FIGURE, "a column that is not there: no figure");
	ok(figures[3] == -7 && figures[4] == -8, "what is not wanted, and what is the host's, is left alone");
	is_u64((uint64_t) figures[5], arena->sizes.accounts, "a column of one row");
	scan_end(&scan);
	rows_free(scan.rows);
	fixture_detach(session);
	fixture_free(arena);
}

static void
test_table(void)
{
	PfsArena   *arena = fixture_arena(NULL);
	Rows	   *rows = rows_of(arena, "engine_metrics");

	is_u64((uint64_t) rows->count, FIXTURE_METRICS, "a row for each");
	is_str(row_text(rows, 0, "status"), "enabled", "its state");
	is_str(row_text(rows, 0, "type"), "set_owner", "its type");
	is_str(row_text(rows, 0, "time_reset"), NULL, "it was not reset");
	rows_free(rows);
	rows = rows_of(arena, "engine_metrics");
	is_u64(row_number(rows, 0, "count"), 1, "grown by one");
	is_str(row_text(rows, 0, "avg_count"), "1.000000", "mean of a set owner: by its calls");
	rows_free(rows);
	fixture_free(arena);
}

int
main(void)
{
	test_meaning();
	test_counter();
	test_value();
	test_table();
	test_own_events();
	return done_testing();
}
