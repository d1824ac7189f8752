-- File I/O per event name, by bytes, for people.
CREATE VIEW sys.io_global_by_wait_by_bytes WITH (security_invoker = true) AS
SELECT
	s.event_name,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.min_latency) AS min_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.max_latency) AS max_latency,
	s.count_read,
	sys.format_bytes(s.total_read) AS total_read,
	sys.format_bytes(s.avg_read) AS avg_read,
	s.count_write,
	sys.format_bytes(s.total_written) AS total_written,
	sys.format_bytes(s.avg_written) AS avg_written,
	sys.format_bytes(s.total_requested) AS total_requested
FROM sys."x$io_global_by_wait_by_bytes" AS s
ORDER BY s.total_requested DESC;
COMMENT ON VIEW sys.io_global_by_wait_by_bytes IS
	'File I/O per event name, by bytes, with units';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.event_name IS
	'Event, without wait/io/file/';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.total IS
	'Operations';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.min_latency IS
	'Shortest operation';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.avg_latency IS
	'Mean operation';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.max_latency IS
	'Longest operation';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.count_read IS
	'Reads';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.total_read IS
	'Bytes read';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.avg_read IS
	'Bytes of one read';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.count_write IS
	'Writes';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.total_written IS
	'Bytes written';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.avg_written IS
	'Bytes of one write';
COMMENT ON COLUMN sys.io_global_by_wait_by_bytes.total_requested IS
	'Bytes read and written';
GRANT SELECT ON sys.io_global_by_wait_by_bytes TO PUBLIC;
