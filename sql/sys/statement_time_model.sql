-- Waits of nested statements count for the statement around them too, as their time does. Table I/O
-- (wait/io/table) contains other waits and processor time: digests are not charged with it. What
-- instruments and consumers do not record ends up in the rest.
--@ view Where the time of statements went, by total time; not in MySQL
--@ order s.total_latency DESC
--@ query [statement] Normalised statement
--@ db Database
--@ exec_count Executions
--@ total_latency [time] Total time
--@ avg_latency [time] Mean execution
--@ file_io_latency [time] Time spent with file I/O
--@ file_io_pct The same in per cent
--@ lock_latency [time] Time spent waiting for heavyweight locks
--@ lock_pct The same in per cent
--@ lwlock_latency [time] Time spent waiting for locks inside the server
--@ lwlock_pct The same in per cent
--@ socket_latency [time] Time spent waiting for the client
--@ socket_pct The same in per cent
--@ ipc_latency [time] Time spent waiting for other processes of the server
--@ ipc_pct The same in per cent
--@ timeout_latency [time] Time spent waiting for time to pass
--@ timeout_pct The same in per cent
--@ other_wait_latency [time] Time spent waiting for anything else
--@ other_wait_pct The same in per cent
--@ cpu_and_other_latency [time] The rest: processor time, and waits that are not recorded
--@ cpu_and_other_pct The same in per cent
--@ cpu_latency [time] Processor time as measured; needs the consumer events_statements_cpu
--@ digest SHA-256 of the normalised statement
SELECT
	d.query,
	d.db,
	d.exec_count,
	d.total_latency,
	coalesce(round(d.total_latency / nullif(d.exec_count, 0)), 0) AS avg_latency,
	coalesce(w.file_io, 0) AS file_io_latency,
	coalesce(round(100 * w.file_io / nullif(d.total_latency, 0), 2), 0) AS file_io_pct,
	coalesce(w.lock, 0) AS lock_latency,
	coalesce(round(100 * w.lock / nullif(d.total_latency, 0), 2), 0) AS lock_pct,
	coalesce(w.lwlock, 0) AS lwlock_latency,
	coalesce(round(100 * w.lwlock / nullif(d.total_latency, 0), 2), 0) AS lwlock_pct,
	coalesce(w.socket, 0) AS socket_latency,
	coalesce(round(100 * w.socket / nullif(d.total_latency, 0), 2), 0) AS socket_pct,
	coalesce(w.ipc, 0) AS ipc_latency,
	coalesce(round(100 * w.ipc / nullif(d.total_latency, 0), 2), 0) AS ipc_pct,
	coalesce(w.timeout, 0) AS timeout_latency,
	coalesce(round(100 * w.timeout / nullif(d.total_latency, 0), 2), 0) AS timeout_pct,
	coalesce(w.total - w.known, 0) AS other_wait_latency,
	coalesce(round(100 * (w.total - w.known) / nullif(d.total_latency, 0), 2), 0) AS other_wait_pct,
	greatest(d.total_latency - coalesce(w.total, 0), 0) AS cpu_and_other_latency,
	coalesce(round(100 * greatest(d.total_latency - coalesce(w.total, 0), 0)
		/ nullif(d.total_latency, 0), 2), 0) AS cpu_and_other_pct,
	d.cpu_latency,
	d.digest
FROM (
	-- Statements of equal text can have several rows.
	SELECT
		schema_name AS db, digest, min(digest_text) AS query, sum(count_star) AS exec_count,
		sum(sum_timer_wait) AS total_latency, sum(sum_cpu_time) AS cpu_latency
	FROM performance_schema.events_statements_summary_by_digest
	GROUP BY schema_name, digest) AS d
LEFT JOIN (
	SELECT
		schema_name AS db, digest, sum(sum_timer_wait) AS total,
		sum(sum_timer_wait) FILTER (WHERE event_name ~ '^wait/(lock|synch|ipc|timeout|io/(file|socket))/')
			AS known,
		sum(sum_timer_wait) FILTER (WHERE event_name LIKE 'wait/io/file/%') AS file_io,
		sum(sum_timer_wait) FILTER (WHERE event_name LIKE 'wait/lock/%') AS lock,
		sum(sum_timer_wait) FILTER (WHERE event_name LIKE 'wait/synch/%') AS lwlock,
		sum(sum_timer_wait) FILTER (WHERE event_name LIKE 'wait/io/socket/%') AS socket,
		sum(sum_timer_wait) FILTER (WHERE event_name LIKE 'wait/ipc/%') AS ipc,
		sum(sum_timer_wait) FILTER (WHERE event_name LIKE 'wait/timeout/%') AS timeout
	FROM performance_schema.events_waits_summary_by_digest
	GROUP BY schema_name, digest) AS w
	ON coalesce(w.db, '') = coalesce(d.db, '') AND coalesce(w.digest, '') = coalesce(d.digest, '')
ORDER BY total_latency DESC
