-- Not made of the two views of which it has columns: in these, processes without one look like a user named background.
--@ view Statements, file I/O and connections per {noun}, by total time
--@ order s.statement_latency DESC
--@ {column} {Noun}; background = processes without one
--@ statements Statements executed
--@ statement_latency [time] Their total time
--@ statement_avg_latency [time] Their mean time
--@ table_scans Statements that read a table without an index
--@ file_ios Operations on files
--@ file_io_latency [time] Their total time
--@ current_connections Connections now
--@ total_connections Connections since the server started, or the table was reset
--@ unique_{others} {Others} of its connections
--@ current_memory [bytes] Always NULL: memory is not measured
--@ total_memory_allocated [bytes] Always NULL: memory is not measured
SELECT
	coalesce(a.{column}, 'background') AS {column},
	coalesce(s.total, 0) AS statements,
	coalesce(s.total_latency, 0) AS statement_latency,
	coalesce(round(s.total_latency / nullif(s.total, 0)), 0) AS statement_avg_latency,
	coalesce(s.full_scans, 0) AS table_scans,
	coalesce(f.ios, 0) AS file_ios,
	coalesce(f.io_latency, 0) AS file_io_latency,
	sum(a.current_connections) AS current_connections,
	sum(a.total_connections) AS total_connections,
	count(DISTINCT a.{other}) AS unique_{others},
	NULL::bigint AS current_memory,
	NULL::bigint AS total_memory_allocated
FROM performance_schema.accounts AS a
LEFT JOIN (
	SELECT {column}, sum(count_star) AS total, sum(sum_timer_wait) AS total_latency,
		sum(sum_no_index_used + sum_no_good_index_used) AS full_scans
	FROM performance_schema.events_statements_summary_by_{who}_by_event_name
	WHERE event_name NOT LIKE 'statement/com/%'
	GROUP BY {column}) AS s
	ON s.{column} IS NOT DISTINCT FROM a.{column}
LEFT JOIN (
	SELECT {column}, sum(count_star) AS ios, sum(sum_timer_wait) AS io_latency
	FROM performance_schema.events_waits_summary_by_{who}_by_event_name
	WHERE event_name LIKE 'wait/io/file/%'
	GROUP BY {column}) AS f
	ON f.{column} IS NOT DISTINCT FROM a.{column}
GROUP BY a.{column}, s.total, s.total_latency, s.full_scans, f.ios, f.io_latency
ORDER BY statement_latency DESC
