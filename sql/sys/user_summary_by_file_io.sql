-- File I/O per user, for people.
CREATE VIEW sys.user_summary_by_file_io WITH (security_invoker = true) AS
SELECT
	s.user_name,
	s.ios,
	sys.format_time(s.io_latency) AS io_latency
FROM sys."x$user_summary_by_file_io" AS s
ORDER BY s.io_latency DESC;
COMMENT ON VIEW sys.user_summary_by_file_io IS
	'File I/O per user, with units';
COMMENT ON COLUMN sys.user_summary_by_file_io.user_name IS
	'User; background = processes without one';
COMMENT ON COLUMN sys.user_summary_by_file_io.ios IS
	'Operations';
COMMENT ON COLUMN sys.user_summary_by_file_io.io_latency IS
	'Total time';
GRANT SELECT ON sys.user_summary_by_file_io TO PUBLIC;
