-- File I/O per file, by bytes, for people.
CREATE VIEW sys.io_global_by_file_by_bytes WITH (security_invoker = true) AS
SELECT
	s.file,
	s.count_read,
	sys.format_bytes(s.total_read) AS total_read,
	sys.format_bytes(s.avg_read) AS avg_read,
	s.count_write,
	sys.format_bytes(s.total_written) AS total_written,
	sys.format_bytes(s.avg_write) AS avg_write,
	sys.format_bytes(s.total) AS total,
	s.write_pct,
	s.relation_name
FROM sys."x$io_global_by_file_by_bytes" AS s
ORDER BY s.total DESC;
COMMENT ON VIEW sys.io_global_by_file_by_bytes IS
	'File I/O per file, by bytes, with units';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.file IS
	'Path from the data directory';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.count_read IS
	'Reads';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.total_read IS
	'Bytes read';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.avg_read IS
	'Bytes of one read';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.count_write IS
	'Writes';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.total_written IS
	'Bytes written';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.avg_write IS
	'Bytes of one write';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.total IS
	'Bytes read and written';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.write_pct IS
	'Per cent of the bytes that were written';
COMMENT ON COLUMN sys.io_global_by_file_by_bytes.relation_name IS
	'Table or index that the file holds, of this database; not in MySQL';
GRANT SELECT ON sys.io_global_by_file_by_bytes TO PUBLIC;
