-- Needs the consumer events_waits_history_long.
--@ view The newest file I/O, in the order of time
--@ thread User, client host and process id; what another process does and its thread
--@ file Path from the data directory
--@ latency [time] Time
--@ operation What was done
--@ requested [bytes] Bytes
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
ORDER BY e.timer_start
