-- File I/O per file, by bytes, raw.
CREATE VIEW sys."x$io_global_by_file_by_bytes" WITH (security_invoker = true) AS
SELECT
	f.file_name AS file,
	f.count_read,
	f.sum_number_of_bytes_read AS total_read,
	coalesce(round(f.sum_number_of_bytes_read::numeric / nullif(f.count_read, 0)), 0) AS avg_read,
	f.count_write,
	f.sum_number_of_bytes_write AS total_written,
	coalesce(round(f.sum_number_of_bytes_write::numeric / nullif(f.count_write, 0)), 0) AS avg_write,
	f.sum_number_of_bytes_read + f.sum_number_of_bytes_write AS total,
	coalesce(round(100.0 * f.sum_number_of_bytes_write
		/ nullif(f.sum_number_of_bytes_read + f.sum_number_of_bytes_write, 0), 2), 0) AS write_pct,
	f.relation_name
FROM performance_schema.file_summary_by_instance AS f
ORDER BY total DESC;
COMMENT ON VIEW sys."x$io_global_by_file_by_bytes" IS
	'File I/O per file, by bytes; in bytes';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".file IS
	'Path from the data directory';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".count_read IS
	'Reads';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".total_read IS
	'Bytes read';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".avg_read IS
	'Bytes of one read';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".count_write IS
	'Writes';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".total_written IS
	'Bytes written';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".avg_write IS
	'Bytes of one write';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".total IS
	'Bytes read and written';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".write_pct IS
	'Per cent of the bytes that were written';
COMMENT ON COLUMN sys."x$io_global_by_file_by_bytes".relation_name IS
	'Table or index that the file holds, of this database; not in MySQL';
GRANT SELECT ON sys."x$io_global_by_file_by_bytes" TO PUBLIC;
