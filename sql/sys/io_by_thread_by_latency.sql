--@ view File I/O per thread, by total time
--@ order s.total_latency DESC
--@ user_name User and client host, or what the process does
--@ total Operations
--@ total_latency [time] Total time
--@ min_latency [time] Shortest operation
--@ avg_latency [time] Mean operation
--@ max_latency [time] Longest operation
--@ thread_id Thread
--@ processlist_id Process id of a session; NULL for other processes
SELECT
	CASE WHEN t.processlist_id IS NULL THEN coalesce(split_part(t.name, '/', 3), 'ended')
		ELSE concat(t.processlist_user, '@', t.processlist_host) END AS user_name,
	sum(w.count_star) AS total,
	sum(w.sum_timer_wait) AS total_latency,
	min(w.min_timer_wait) AS min_latency,
	coalesce(round(sum(w.sum_timer_wait) / nullif(sum(w.count_star), 0)), 0) AS avg_latency,
	max(w.max_timer_wait) AS max_latency,
	w.thread_id,
	t.processlist_id
FROM performance_schema.events_waits_summary_by_thread_by_event_name AS w
LEFT JOIN performance_schema.threads AS t ON t.thread_id = w.thread_id
WHERE w.event_name LIKE 'wait/io/file/%' AND w.sum_timer_wait > 0
GROUP BY w.thread_id, t.processlist_id, t.name, t.processlist_user, t.processlist_host
ORDER BY total_latency DESC
