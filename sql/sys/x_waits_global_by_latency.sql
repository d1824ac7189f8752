-- Waits per event name, by total time, raw; without idle.
CREATE VIEW sys."x$waits_global_by_latency" WITH (security_invoker = true) AS
SELECT
	w.event_name AS events,
	w.count_star AS total,
	w.sum_timer_wait AS total_latency,
	w.avg_timer_wait AS avg_latency,
	w.max_timer_wait AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name AS w
WHERE w.event_name <> 'idle' AND w.sum_timer_wait > 0
ORDER BY total_latency DESC;
COMMENT ON VIEW sys."x$waits_global_by_latency" IS
	'Waits per event name, by total time; without idle; times in picoseconds';
COMMENT ON COLUMN sys."x$waits_global_by_latency".events IS
	'Event';
COMMENT ON COLUMN sys."x$waits_global_by_latency".total IS
	'Waits';
COMMENT ON COLUMN sys."x$waits_global_by_latency".total_latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$waits_global_by_latency".avg_latency IS
	'Mean wait, picoseconds';
COMMENT ON COLUMN sys."x$waits_global_by_latency".max_latency IS
	'Longest wait, picoseconds';
GRANT SELECT ON sys."x$waits_global_by_latency" TO PUBLIC;
