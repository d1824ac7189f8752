-- File I/O per thread, by total time, for people.
CREATE VIEW sys.io_by_thread_by_latency WITH (security_invoker = true) AS
SELECT
	s.user_name,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.min_latency) AS min_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.max_latency) AS max_latency,
	s.thread_id,
	s.processlist_id
FROM sys."x$io_by_thread_by_latency" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.io_by_thread_by_latency IS
	'File I/O per thread, by total time, with units';
COMMENT ON COLUMN sys.io_by_thread_by_latency.user_name IS
	'User and client host, or what the process does';
COMMENT ON COLUMN sys.io_by_thread_by_latency.total IS
	'Operations';
COMMENT ON COLUMN sys.io_by_thread_by_latency.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.io_by_thread_by_latency.min_latency IS
	'Shortest operation';
COMMENT ON COLUMN sys.io_by_thread_by_latency.avg_latency IS
	'Mean operation';
COMMENT ON COLUMN sys.io_by_thread_by_latency.max_latency IS
	'Longest operation';
COMMENT ON COLUMN sys.io_by_thread_by_latency.thread_id IS
	'Thread';
COMMENT ON COLUMN sys.io_by_thread_by_latency.processlist_id IS
	'Process id of a session; NULL for other processes';
GRANT SELECT ON sys.io_by_thread_by_latency TO PUBLIC;
