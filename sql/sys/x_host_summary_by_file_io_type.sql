-- File I/O per client host and event name, raw.
CREATE VIEW sys."x$host_summary_by_file_io_type" WITH (security_invoker = true) AS
SELECT
	coalesce(w.host, 'background') AS host,
	w.event_name,
	w.count_star AS total,
	w.sum_timer_wait AS total_latency,
	w.max_timer_wait AS max_latency
FROM performance_schema.events_waits_summary_by_host_by_event_name AS w
WHERE w.event_name LIKE 'wait/io/file/%' AND w.count_star > 0
ORDER BY host, total_latency DESC;
COMMENT ON VIEW sys."x$host_summary_by_file_io_type" IS
	'File I/O per client host and event name; times in picoseconds';
COMMENT ON COLUMN sys."x$host_summary_by_file_io_type".host IS
	'Client host; background = processes without one';
COMMENT ON COLUMN sys."x$host_summary_by_file_io_type".event_name IS
	'Event';
COMMENT ON COLUMN sys."x$host_summary_by_file_io_type".total IS
	'Operations';
COMMENT ON COLUMN sys."x$host_summary_by_file_io_type".total_latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$host_summary_by_file_io_type".max_latency IS
	'Longest operation, picoseconds';
GRANT SELECT ON sys."x$host_summary_by_file_io_type" TO PUBLIC;
