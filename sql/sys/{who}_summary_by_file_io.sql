--@ view File I/O per {noun}
--@ order s.io_latency DESC
--@ {column} {Noun}; background = processes without one
--@ ios Operations
--@ io_latency [time] Total time
SELECT
	coalesce(w.{column}, 'background') AS {column},
	sum(w.count_star) AS ios,
	sum(w.sum_timer_wait) AS io_latency
FROM performance_schema.events_waits_summary_by_{who}_by_event_name AS w
WHERE w.event_name LIKE 'wait/io/file/%'
GROUP BY w.{column}
ORDER BY io_latency DESC
