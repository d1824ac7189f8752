--@ view Waits per {noun}, by total time; without idle
--@ order s.{column}, s.total_latency DESC
--@ {column} {Noun}; background = processes without one
--@ event Event
--@ total Waits
--@ total_latency [time] Total time
--@ avg_latency [time] Mean wait
--@ max_latency [time] Longest wait
SELECT
	coalesce(w.{column}, 'background') AS {column},
	w.event_name AS event,
	w.count_star AS total,
	w.sum_timer_wait AS total_latency,
	w.avg_timer_wait AS avg_latency,
	w.max_timer_wait AS max_latency
FROM performance_schema.events_waits_summary_by_{who}_by_event_name AS w
WHERE w.event_name <> 'idle' AND w.sum_timer_wait > 0
ORDER BY {column}, total_latency DESC
