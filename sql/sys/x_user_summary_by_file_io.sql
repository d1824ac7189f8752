-- File I/O per user, raw.
CREATE VIEW sys."x$user_summary_by_file_io" WITH (security_invoker = true) AS
SELECT
	coalesce(w.user_name, 'background') AS user_name,
	sum(w.count_star) AS ios,
	sum(w.sum_timer_wait) AS io_latency
FROM performance_schema.events_waits_summary_by_user_by_event_name AS w
WHERE w.event_name LIKE 'wait/io/file/%'
GROUP BY w.user_name
ORDER BY io_latency DESC;
COMMENT ON VIEW sys."x$user_summary_by_file_io" IS
	'File I/O per user; times in picoseconds';
COMMENT ON COLUMN sys."x$user_summary_by_file_io".user_name IS
	'User; background = processes without one';
COMMENT ON COLUMN sys."x$user_summary_by_file_io".ios IS
	'Operations';
COMMENT ON COLUMN sys."x$user_summary_by_file_io".io_latency IS
	'Total time, picoseconds';
GRANT SELECT ON sys."x$user_summary_by_file_io" TO PUBLIC;
