--@ view Waits per class, by {what}; without idle
--@ order s.{by} DESC
--@ event_class Class: the first three parts of the event name
--@ total Waits
--@ total_latency [time] Total time
--@ min_latency [time] Shortest wait
--@ avg_latency [time] Mean wait
--@ max_latency [time] Longest wait
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
ORDER BY {by} DESC
