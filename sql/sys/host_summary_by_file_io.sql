-- File I/O per client host, for people.
CREATE VIEW sys.host_summary_by_file_io WITH (security_invoker = true) AS
SELECT
	s.host,
	s.ios,
	sys.format_time(s.io_latency) AS io_latency
FROM sys."x$host_summary_by_file_io" AS s
ORDER BY s.io_latency DESC;
COMMENT ON VIEW sys.host_summary_by_file_io IS
	'File I/O per client host, with units';
COMMENT ON COLUMN sys.host_summary_by_file_io.host IS
	'Client host; background = processes without one';
COMMENT ON COLUMN sys.host_summary_by_file_io.ios IS
	'Operations';
COMMENT ON COLUMN sys.host_summary_by_file_io.io_latency IS
	'Total time';
GRANT SELECT ON sys.host_summary_by_file_io TO PUBLIC;
