-- File I/O per file, by total time, raw.
CREATE VIEW sys."x$io_global_by_file_by_latency" WITH (security_invoker = true) AS
SELECT
	f.file_name AS file,
	f.count_star AS total,
	f.sum_timer_wait AS total_latency,
	f.count_read,
	f.sum_timer_read AS read_latency,
	f.count_write,
	f.sum_timer_write AS write_latency,
	f.count_misc,
	f.sum_timer_misc AS misc_latency,
	f.relation_name
FROM performance_schema.file_summary_by_instance AS f
ORDER BY total_latency DESC;
COMMENT ON VIEW sys."x$io_global_by_file_by_latency" IS
	'File I/O per file, by total time; times in picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".file IS
	'Path from the data directory';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".total IS
	'Operations';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".total_latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".count_read IS
	'Reads';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".read_latency IS
	'Time of reads, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".count_write IS
	'Writes';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".write_latency IS
	'Time of writes, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".count_misc IS
	'Other operations: open, close, sync, stat';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".misc_latency IS
	'Time of other operations, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_file_by_latency".relation_name IS
	'Table or index that the file holds, of this database; not in MySQL';
GRANT SELECT ON sys."x$io_global_by_file_by_latency" TO PUBLIC;
