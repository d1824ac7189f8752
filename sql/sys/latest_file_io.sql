-- The newest file I/O, in the order of time, for people.
CREATE VIEW sys.latest_file_io WITH (security_invoker = true) AS
SELECT
	s.thread,
	s.file,
	sys.format_time(s.latency) AS latency,
	s.operation,
	sys.format_bytes(s.requested) AS requested
FROM sys."x$latest_file_io" AS s;
COMMENT ON VIEW sys.latest_file_io IS
	'The newest file I/O, in the order of time, with units';
COMMENT ON COLUMN sys.latest_file_io.thread IS
	'User, client host and process id; what another process does and its thread';
COMMENT ON COLUMN sys.latest_file_io.file IS
	'Path from the data directory';
COMMENT ON COLUMN sys.latest_file_io.latency IS
	'Time';
COMMENT ON COLUMN sys.latest_file_io.operation IS
	'What was done';
COMMENT ON COLUMN sys.latest_file_io.requested IS
	'Bytes';
GRANT SELECT ON sys.latest_file_io TO PUBLIC;
