--@ view Waits per event name, by total time; without idle
--@ order s.total_latency DESC
--@ events Event
--@ total Waits
--@ total_latency [time] Total time
--@ avg_latency [time] Mean wait
--@ max_latency [time] Longest wait
SELECT
	w.event_name AS events,
	w.count_star AS total,
	w.sum_timer_wait AS total_latency,
	w.avg_timer_wait AS avg_latency,
	w.max_timer_wait AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name AS w
WHERE w.event_name <> 'idle' AND w.sum_timer_wait > 0
ORDER BY total_latency DESC
