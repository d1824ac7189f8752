-- File I/O per client host and event name, for people.
CREATE VIEW sys.host_summary_by_file_io_type WITH (security_invoker = true) AS
SELECT
	s.host,
	s.event_name,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.max_latency) AS max_latency
FROM sys."x$host_summary_by_file_io_type" AS s
ORDER BY s.host, s.total_latency DESC;
COMMENT ON VIEW sys.host_summary_by_file_io_type IS
	'File I/O per client host and event name, with units';
COMMENT ON COLUMN sys.host_summary_by_file_io_type.host IS
	'Client host; background = processes without one';
COMMENT ON COLUMN sys.host_summary_by_file_io_type.event_name IS
	'Event';
COMMENT ON COLUMN sys.host_summary_by_file_io_type.total IS
	'Operations';
COMMENT ON COLUMN sys.host_summary_by_file_io_type.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.host_summary_by_file_io_type.max_latency IS
	'Longest operation';
GRANT SELECT ON sys.host_summary_by_file_io_type TO PUBLIC;
