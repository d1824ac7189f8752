-- File I/O per user and event name, for people.
CREATE VIEW sys.user_summary_by_file_io_type WITH (security_invoker = true) AS
SELECT
	s.user_name,
	s.event_name,
	s.total,
	sys.format_time(s.latency) AS latency,
	sys.format_time(s.max_latency) AS max_latency
FROM sys."x$user_summary_by_file_io_type" AS s
ORDER BY s.user_name, s.latency DESC;
COMMENT ON VIEW sys.user_summary_by_file_io_type IS
	'File I/O per user and event name, with units';
COMMENT ON COLUMN sys.user_summary_by_file_io_type.user_name IS
	'User; background = processes without one';
COMMENT ON COLUMN sys.user_summary_by_file_io_type.event_name IS
	'Event';
COMMENT ON COLUMN sys.user_summary_by_file_io_type.total IS
	'Operations';
COMMENT ON COLUMN sys.user_summary_by_file_io_type.latency IS
	'Total time';
COMMENT ON COLUMN sys.user_summary_by_file_io_type.max_latency IS
	'Longest operation';
GRANT SELECT ON sys.user_summary_by_file_io_type TO PUBLIC;
