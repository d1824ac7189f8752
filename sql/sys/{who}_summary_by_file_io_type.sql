--@ view File I/O per {noun} and event name
--@ order s.{column}, s.{latency} DESC
--@ {column} {Noun}; background = processes without one
--@ event_name Event
--@ total Operations
--@ {latency} [time] Total time
--@ max_latency [time] Longest operation
SELECT
	coalesce(w.{column}, 'background') AS {column},
	w.event_name,
	w.count_star AS total,
	w.sum_timer_wait AS {latency},
	w.max_timer_wait AS max_latency
FROM performance_schema.events_waits_summary_by_{who}_by_event_name AS w
WHERE w.event_name LIKE 'wait/io/file/%' AND w.count_star > 0
ORDER BY {column}, {latency} DESC
