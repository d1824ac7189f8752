-- File I/O per event name, by total time, for people.
CREATE VIEW sys.io_global_by_wait_by_latency WITH (security_invoker = true) AS
SELECT
	s.event_name,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.max_latency) AS max_latency,
	sys.format_time(s.read_latency) AS read_latency,
	sys.format_time(s.write_latency) AS write_latency,
	sys.format_time(s.misc_latency) AS misc_latency,
	s.count_read,
	sys.format_bytes(s.total_read) AS total_read,
	sys.format_bytes(s.avg_read) AS avg_read,
	s.count_write,
	sys.format_bytes(s.total_written) AS total_written,
	sys.format_bytes(s.avg_written) AS avg_written
FROM sys."x$io_global_by_wait_by_latency" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.io_global_by_wait_by_latency IS
	'File I/O per event name, by total time, with units';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.event_name IS
	'Event, without wait/io/file/';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.total IS
	'Operations';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.avg_latency IS
	'Mean operation';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.max_latency IS
	'Longest operation';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.read_latency IS
	'Time of reads';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.write_latency IS
	'Time of writes';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.misc_latency IS
	'Time of other operations';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.count_read IS
	'Reads';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.total_read IS
	'Bytes read';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.avg_read IS
	'Bytes of one read';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.count_write IS
	'Writes';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.total_written IS
	'Bytes written';
COMMENT ON COLUMN sys.io_global_by_wait_by_latency.avg_written IS
	'Bytes of one write';
GRANT SELECT ON sys.io_global_by_wait_by_latency TO PUBLIC;
