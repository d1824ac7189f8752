-- One row for each sample; sys.openmetrics_text() writes them as a scraper reads them. Times are seconds here. Of
-- statements the fifty that took the most time are told apart; all are in the sums by event name.
--@ plain Statements, waits, errors, counters and losses as samples for Prometheus and its like; not in MySQL
--@ metric Name of the sample
--@ type counter, gauge, or histogram
--@ help Meaning
--@ label_names Names of its labels
--@ label_values Their values
--@ value Value: counters grow until they are reset
SELECT v.metric, 'counter' AS type, v.help, ARRAY['event_name'] AS label_names, ARRAY[s.event_name] AS label_values, v.value
FROM performance_schema.events_statements_summary_global_by_event_name AS s
CROSS JOIN LATERAL (VALUES
	('pfs_statements_total', 'Statements and protocol commands', s.count_star::numeric),
	('pfs_statements_seconds_total', 'Their time', s.sum_timer_wait / 1000000000000),
	('pfs_statements_errors_total', 'Those that failed', s.sum_errors),
	('pfs_statements_rows_sent_total', 'Rows they sent', s.sum_rows_sent),
	('pfs_statements_rows_examined_total', 'Rows they read from tables', s.sum_rows_examined),
	('pfs_statements_rows_affected_total', 'Rows they changed', s.sum_rows_affected)
) AS v (metric, help, value)
WHERE s.count_star > 0
UNION ALL
SELECT v.metric, v.type, v.help, ARRAY['schema', 'digest'], ARRAY[coalesce(d.schema_name, ''), left(d.digest, 16)], v.value
FROM (
	SELECT
		schema_name, digest, sum(count_star) AS calls, sum(sum_timer_wait) AS time, sum(sum_errors) AS errors,
		max(quantile_95) AS p95
	FROM performance_schema.events_statements_summary_by_digest
	WHERE digest IS NOT NULL
	GROUP BY schema_name, digest
	ORDER BY time DESC
	LIMIT 50) AS d
CROSS JOIN LATERAL (VALUES
	('pfs_digest_calls_total', 'counter', 'Executions of a normalised statement', d.calls),
	('pfs_digest_seconds_total', 'counter', 'Their time', d.time / 1000000000000),
	('pfs_digest_errors_total', 'counter', 'Those that failed', d.errors),
	('pfs_digest_p95_seconds', 'gauge', '95 per cent of them took at most so long', d.p95 / 1000000000000)
) AS v (metric, type, help, value)
UNION ALL
SELECT v.metric, 'counter', v.help, ARRAY['event_name'], ARRAY[w.event_name], v.value
FROM performance_schema.events_waits_summary_global_by_event_name AS w
CROSS JOIN LATERAL (VALUES
	('pfs_waits_total', 'Waits', w.count_star::numeric),
	('pfs_waits_seconds_total', 'Their time', w.sum_timer_wait / 1000000000000)
) AS v (metric, help, value)
WHERE w.count_star > 0
UNION ALL
SELECT
	'pfs_errors_total', 'counter', 'Errors, by whether a handler caught them', ARRAY['sqlstate', 'condition', 'outcome'],
	ARRAY[coalesce(e.sql_state, ''), coalesce(e.error_name, ''), v.outcome], v.value
FROM performance_schema.events_errors_summary_global_by_error AS e
CROSS JOIN LATERAL (VALUES ('raised', e.sum_error_raised), ('handled', e.sum_error_handled)) AS v (outcome, value)
WHERE v.value > 0
UNION ALL
SELECT
	CASE m.type WHEN 'value' THEN 'pfs_metric_value' ELSE 'pfs_metrics_total' END,
	CASE m.type WHEN 'value' THEN 'gauge' ELSE 'counter' END,
	CASE m.type WHEN 'value' THEN 'Present values of engine_metrics' ELSE 'Counters of engine_metrics' END,
	ARRAY['subsystem', 'name'], ARRAY[m.subsystem, m.name], m.count::numeric
FROM performance_schema.engine_metrics AS m
WHERE m.status = 'enabled' AND m.count IS NOT NULL
UNION ALL
SELECT
	'pfs_lost_total', 'counter', 'What could not be recorded', ARRAY['name'],
	ARRAY[regexp_replace(s.variable_name, '^performance_schema_|_lost$', '', 'g')], s.variable_value
FROM performance_schema.status AS s
WHERE s.variable_name LIKE '%\_lost'
UNION ALL
SELECT 'pfs_memory_bytes', 'gauge', 'Shared memory of the Performance Schema', '{}', '{}', m.memory
FROM performance_schema.memory AS m
WHERE m.name = 'performance_schema.memory'
UNION ALL
SELECT
	'pfs_statement_duration_seconds_bucket', 'histogram', 'Statements by how long they took', ARRAY['le'], ARRAY[b.le],
	coalesce(sum(h.count_bucket) FILTER (WHERE h.bucket_timer_high <= b.limit_ps), 0)
FROM performance_schema.events_statements_histogram_global AS h
CROSS JOIN (
	SELECT
		CASE WHEN p.number > 18 THEN '+Inf' ELSE trim_scale((10 ^ (p.number / 3 - 5) * (ARRAY[1, 2, 5])[1 + p.number % 3])::numeric)::text
		END AS le,
		CASE WHEN p.number > 18 THEN 'Infinity' ELSE (10 ^ (p.number / 3 + 7) * (ARRAY[1, 2, 5])[1 + p.number % 3])::numeric
		END AS limit_ps
	FROM generate_series(0, 19) AS p (number)) AS b
GROUP BY b.le
