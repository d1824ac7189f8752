-- The newest file I/O, in the order of time, raw.
-- Needs the consumer events_waits_history_long.
CREATE VIEW sys."x$latest_file_io" WITH (security_invoker = true) AS
SELECT
	CASE WHEN t.processlist_id IS NULL
		THEN concat(coalesce(split_part(t.name, '/', 3), 'ended'), ':', e.thread_id)
		ELSE concat(t.processlist_user, '@', t.processlist_host, ':', t.processlist_id)
	END AS thread,
	e.object_name AS file,
	e.timer_wait AS latency,
	e.operation,
	e.number_of_bytes AS requested
FROM performance_schema.events_waits_history_long AS e
LEFT JOIN performance_schema.threads AS t ON t.thread_id = e.thread_id
WHERE e.event_name LIKE 'wait/io/file/%' AND e.object_name IS NOT NULL
ORDER BY e.timer_start;
COMMENT ON VIEW sys."x$latest_file_io" IS
	'The newest file I/O, in the order of time; times in picoseconds';
COMMENT ON COLUMN sys."x$latest_file_io".thread IS
	'User, client host and process id; what another process does and its thread';
COMMENT ON COLUMN sys."x$latest_file_io".file IS
	'Path from the data directory';
COMMENT ON COLUMN sys."x$latest_file_io".latency IS
	'Time, picoseconds';
COMMENT ON COLUMN sys."x$latest_file_io".operation IS
	'What was done';
COMMENT ON COLUMN sys."x$latest_file_io".requested IS
	'Bytes';
GRANT SELECT ON sys."x$latest_file_io" TO PUBLIC;
