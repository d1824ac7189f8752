-- File I/O per event name, by bytes, raw.
CREATE VIEW sys."x$io_global_by_wait_by_bytes" WITH (security_invoker = true) AS
SELECT
	replace(f.event_name, 'wait/io/file/', '') AS event_name,
	f.count_star AS total,
	f.sum_timer_wait AS total_latency,
	f.min_timer_wait AS min_latency,
	f.avg_timer_wait AS avg_latency,
	f.max_timer_wait AS max_latency,
	f.count_read,
	f.sum_number_of_bytes_read AS total_read,
	coalesce(round(f.sum_number_of_bytes_read::numeric / nullif(f.count_read, 0)), 0) AS avg_read,
	f.count_write,
	f.sum_number_of_bytes_write AS total_written,
	coalesce(round(f.sum_number_of_bytes_write::numeric / nullif(f.count_write, 0)), 0) AS avg_written,
	f.sum_number_of_bytes_read + f.sum_number_of_bytes_write AS total_requested
FROM performance_schema.file_summary_by_event_name AS f
WHERE f.event_name LIKE 'wait/io/file/%' AND f.count_star > 0
ORDER BY total_requested DESC;
COMMENT ON VIEW sys."x$io_global_by_wait_by_bytes" IS
	'File I/O per event name, by bytes; times in picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".event_name IS
	'Event, without wait/io/file/';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".total IS
	'Operations';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".total_latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".min_latency IS
	'Shortest operation, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".avg_latency IS
	'Mean operation, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".max_latency IS
	'Longest operation, picoseconds';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".count_read IS
	'Reads';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".total_read IS
	'Bytes read';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".avg_read IS
	'Bytes of one read';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".count_write IS
	'Writes';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".total_written IS
	'Bytes written';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".avg_written IS
	'Bytes of one write';
COMMENT ON COLUMN sys."x$io_global_by_wait_by_bytes".total_requested IS
	'Bytes read and written';
GRANT SELECT ON sys."x$io_global_by_wait_by_bytes" TO PUBLIC;
