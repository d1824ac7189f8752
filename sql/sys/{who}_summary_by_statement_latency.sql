-- Without statement/com: these are messages, which execute statements.
--@ view Statements per {noun}, by total time
--@ order s.total_latency DESC
--@ {column} {Noun}; background = processes without one
--@ total Executions
--@ total_latency [time] Total time
--@ max_latency [time] Longest execution
--@ lock_latency [time] Time spent waiting for locks
--@ cpu_latency [time] Processor time; needs the consumer events_statements_cpu
--@ rows_sent Rows returned
--@ rows_examined Rows read from tables
--@ rows_affected Rows changed
--@ full_scans Executions that read a table without an index
SELECT
	coalesce(s.{column}, 'background') AS {column},
	sum(s.count_star) AS total,
	sum(s.sum_timer_wait) AS total_latency,
	max(s.max_timer_wait) AS max_latency,
	sum(s.sum_lock_time) AS lock_latency,
	sum(s.sum_cpu_time) AS cpu_latency,
	sum(s.sum_rows_sent) AS rows_sent,
	sum(s.sum_rows_examined) AS rows_examined,
	sum(s.sum_rows_affected) AS rows_affected,
	sum(s.sum_no_index_used + s.sum_no_good_index_used) AS full_scans
FROM performance_schema.events_statements_summary_by_{who}_by_event_name AS s
WHERE s.event_name NOT LIKE 'statement/com/%'
GROUP BY s.{column}
ORDER BY total_latency DESC
