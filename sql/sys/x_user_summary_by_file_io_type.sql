-- File I/O per user and event name, raw.
CREATE VIEW sys."x$user_summary_by_file_io_type" WITH (security_invoker = true) AS
SELECT
	coalesce(w.user_name, 'background') AS user_name,
	w.event_name,
	w.count_star AS total,
	w.sum_timer_wait AS latency,
	w.max_timer_wait AS max_latency
FROM performance_schema.events_waits_summary_by_user_by_event_name AS w
WHERE w.event_name LIKE 'wait/io/file/%' AND w.count_star > 0
ORDER BY user_name, latency DESC;
COMMENT ON VIEW sys."x$user_summary_by_file_io_type" IS
	'File I/O per user and event name; times in picoseconds';
COMMENT ON COLUMN sys."x$user_summary_by_file_io_type".user_name IS
	'User; background = processes without one';
COMMENT ON COLUMN sys."x$user_summary_by_file_io_type".event_name IS
	'Event';
COMMENT ON COLUMN sys."x$user_summary_by_file_io_type".total IS
	'Operations';
COMMENT ON COLUMN sys."x$user_summary_by_file_io_type".latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$user_summary_by_file_io_type".max_latency IS
	'Longest operation, picoseconds';
GRANT SELECT ON sys."x$user_summary_by_file_io_type" TO PUBLIC;
