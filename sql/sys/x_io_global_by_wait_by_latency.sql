-- File I/O per event name, by total time, raw.
CREATE VIEW sys."x$io_global_by_wait_by_latency" WITH (security_invoker = true) AS
SELECT
	replace(f.event_name, 'wait/io/file/', '') AS event_name,
	f.count_star AS total,
	f.sum_timer_wait AS total_latency,
	f.avg_timer_wait AS avg_latency,
	f.max_timer_wait AS max_latency,
	f.sum_timer_read AS read_latency,
	f.sum_timer_write AS write_latency,
	f.sum_timer_misc AS misc_latency,
	f.count_read,
	f.sum_number_of_bytes_read AS total_read,
	coalesce(round(f.sum_number_of_bytes_read::numeric / nullif(f.count_read, 0)), 0) AS avg_read,
	f.count_write,
	f.sum_number_of_bytes_write AS total_written,
	coalesce(round(f.sum_number_of_bytes_write::numeric / nullif(f.count_write, 0)), 0) AS avg_written
FROM performance_schema.file_summary_by_event_name AS f
WHERE f.event_name LIKE 'wait/io/file/%' AND f.count_star > 0
ORDER BY total_latency DESC;
COMMENT ON VIEW sys."x$io_global_by_wait_by_latency" IS
	'File I/O per event name, by total time; times in picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".event_name IS
	'Event, without wait/io/file/';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".total IS
	'Operations';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".total_latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".avg_latency IS
	'Mean operation, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".max_latency IS
	'Longest operation, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".read_latency IS
	'Time of reads, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".write_latency IS
	'Time of writes, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".misc_latency IS
	'Time of other operations, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".count_read IS
	'Reads';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".total_read IS
	'Bytes read';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".avg_read IS
	'Bytes of one read';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".count_write IS
	'Writes';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".total_written IS
	'Bytes written';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_latency".avg_written IS
	'Bytes of one write';
GRANT SELECT ON sys."x$io_global_by_wait_by_latency" TO PUBLIC;
