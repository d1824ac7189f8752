-- File I/O per file, by total time, for people.
CREATE VIEW sys.io_global_by_file_by_latency WITH (security_invoker = true) AS
SELECT
	s.file,
	s.total,
	sys.format_time(s.total_latency) AS total_latency,
	s.count_read,
	sys.format_time(s.read_latency) AS read_latency,
	s.count_write,
	sys.format_time(s.write_latency) AS write_latency,
	s.count_misc,
	sys.format_time(s.misc_latency) AS misc_latency,
	s.relation_name
FROM sys."x$io_global_by_file_by_latency" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.io_global_by_file_by_latency IS
	'File I/O per file, by total time, with units';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.file IS
	'Path from the data directory';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.total IS
	'Operations';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.count_read IS
	'Reads';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.read_latency IS
	'Time of reads';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.count_write IS
	'Writes';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.write_latency IS
	'Time of writes';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.count_misc IS
	'Other operations: open, close, sync, stat';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.misc_latency IS
	'Time of other operations';
COMMENT ON COLUMN sys.io_global_by_file_by_latency.relation_name IS
	'Table or index that the file holds, of this database; not in MySQL';
GRANT SELECT ON sys.io_global_by_file_by_latency TO PUBLIC;
