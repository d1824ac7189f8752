-- File I/O per client host, raw.
CREATE VIEW sys."x$host_summary_by_file_io" WITH (security_invoker = true) AS
SELECT
	coalesce(w.host, 'background') AS host,
	sum(w.count_star) AS ios,
	sum(w.sum_timer_wait) AS io_latency
FROM performance_schema.events_waits_summary_by_host_by_event_name AS w
WHERE w.event_name LIKE 'wait/io/file/%'
GROUP BY w.host
ORDER BY io_latency DESC;
COMMENT ON VIEW sys."x$host_summary_by_file_io" IS
	'File I/O per client host; times in picoseconds';
COMMENT ON COLUMN sys."x$host_summary_by_file_io".host IS
	'Client host; background = processes without one';
COMMENT ON COLUMN sys."x$host_summary_by_file_io".ios IS
	'Operations';
COMMENT ON COLUMN sys."x$host_summary_by_file_io".io_latency IS
	'Total time, picoseconds';
GRANT SELECT ON sys."x$host_summary_by_file_io" TO PUBLIC;
