-- Waits per class, by total time, raw; without idle.
CREATE VIEW sys."x$wait_classes_global_by_latency" WITH (security_invoker = true) AS
SELECT
	substring(w.event_name FROM '^[^/]*/[^/]*/[^/]*') AS event_class,
	sum(w.count_star) AS total,
	sum(w.sum_timer_wait) AS total_latency,
	min(w.min_timer_wait) AS min_latency,
	coalesce(round(sum(w.sum_timer_wait) / nullif(sum(w.count_star), 0)), 0) AS avg_latency,
	max(w.max_timer_wait) AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name AS w
WHERE w.event_name <> 'idle' AND w.sum_timer_wait > 0
GROUP BY event_class
ORDER BY total_latency DESC;
COMMENT ON VIEW sys."x$wait_classes_global_by_latency" IS
	'Waits per class, by total time; without idle; times in picoseconds';
COMMENT ON COLUMN sys."x$wait_classes_global_by_latency".event_class IS
	'Class: the first three parts of the event name';
COMMENT ON COLUMN sys."x$wait_classes_global_by_latency".total IS
	'Waits';
COMMENT ON COLUMN sys."x$wait_classes_global_by_latency".total_latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$wait_classes_global_by_latency".min_latency IS
	'Shortest wait, picoseconds';
COMMENT ON COLUMN sys."x$wait_classes_global_by_latency".avg_latency IS
	'Mean wait, picoseconds';
COMMENT ON COLUMN sys."x$wait_classes_global_by_latency".max_latency IS
	'Longest wait, picoseconds';
GRANT SELECT ON sys."x$wait_classes_global_by_latency" TO PUBLIC;
