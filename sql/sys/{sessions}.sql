-- One row for each thread: its outermost statement, its wait, its transaction, without a lock on anything.
-- Progress is what the server tells of its long commands.
--@ view {Sessions} with what they do and did last, oldest statement first
--@ order s.command, s.time DESC, s.thd_id
--@ thd_id Thread
--@ conn_id Process id of a client's session; NULL for background threads
--@ user USER@HOST, or the thread's class
--@ db Database
--@ command Query, Sleep, Daemon
--@ state State of the session
--@ time Seconds in this state
--@ current_statement [statement] Statement being executed
--@ execution_engine Always PRIMARY
--@ statement_latency [time] How long it has been running
--@ progress Per cent of a long command: VACUUM, ANALYZE, CREATE INDEX, CLUSTER, COPY, base backup
--@ lock_latency [time] Time that the statement waited for locks
--@ cpu_latency [time] Processor time of the statement; needs the consumer events_statements_cpu
--@ rows_examined Rows it read from tables
--@ rows_sent Rows it sent
--@ rows_affected Rows it changed
--@ tmp_tables Temporary relations it made
--@ tmp_disk_tables Of these on disk: temporary files
--@ full_scan YES if it read a table without an index
--@ last_statement [statement] The statement before, if none is running
--@ last_statement_latency [time] How long that took
--@ current_memory Always NULL: another process's memory is not known
--@ last_wait Wait under way, or the last one; needs the consumer events_waits_current
--@ last_wait_latency [= CASE WHEN s.last_wait_latency ~ '^\d' THEN sys.format_time(s.last_wait_latency::numeric) ELSE s.last_wait_latency END] How long, picoseconds, or: Still Waiting
--@ source Always NULL: waits have no place in the source
--@ trx_latency [time] How long its transaction has lasted
--@ trx_state State of the transaction
--@ trx_autocommit YES if it is one statement's own
--@ pid Process id, of background threads, too
--@ program_name Application name
SELECT
	t.thread_id AS thd_id,
	t.processlist_id AS conn_id,
	CASE WHEN t.type = 'FOREGROUND' THEN concat_ws('@', t.processlist_user, t.processlist_host)
		ELSE replace(t.name, 'thread/', '') END AS user,
	t.processlist_db AS db,
	t.processlist_command AS command,
	t.processlist_state AS state,
	t.processlist_time AS time,
	-- while it is analysed, its message
	coalesce(t.processlist_info, CASE WHEN t.processlist_command = 'Query' THEN (
		SELECT performance_schema.shown_text(a.query, true) FROM pg_stat_get_activity(t.processlist_id::integer) AS a)
	END) AS current_statement,
	'PRIMARY' AS execution_engine,
	CASE WHEN s.end_event_id IS NULL THEN s.timer_wait END AS statement_latency,
	p.progress,
	s.lock_time AS lock_latency,
	s.cpu_time AS cpu_latency,
	s.rows_examined,
	s.rows_sent,
	s.rows_affected,
	s.created_tmp_tables AS tmp_tables,
	s.created_tmp_disk_tables AS tmp_disk_tables,
	CASE WHEN s.no_index_used > 0 OR s.no_good_index_used > 0 THEN 'YES'
		WHEN s.thread_id IS NOT NULL THEN 'NO' END AS full_scan,
	CASE WHEN s.end_event_id IS NOT NULL THEN s.sql_text END AS last_statement,
	CASE WHEN s.end_event_id IS NOT NULL THEN s.timer_wait END AS last_statement_latency,
	NULL::bigint AS current_memory,
	w.event_name AS last_wait,
	CASE WHEN w.end_event_id IS NULL AND w.event_name IS NOT NULL THEN 'Still Waiting'
		ELSE w.timer_wait::text END AS last_wait_latency,
	NULL::text AS source,
	x.timer_wait AS trx_latency,
	x.state AS trx_state,
	x.autocommit AS trx_autocommit,
	t.thread_os_id AS pid,
	nullif(t.application_name, '') AS program_name
FROM performance_schema.threads AS t
LEFT JOIN (
	-- A session with cursors may have several that are open.
	SELECT DISTINCT ON (thread_id) * FROM performance_schema.events_statements_current
	WHERE nesting_event_level = 0 ORDER BY thread_id, event_id DESC) AS s ON s.thread_id = t.thread_id
LEFT JOIN performance_schema.events_waits_current AS w ON w.thread_id = t.thread_id
LEFT JOIN performance_schema.events_transactions_current AS x ON x.thread_id = t.thread_id
LEFT JOIN (
	SELECT pid, round(100.0 * done / nullif(total, 0), 2) AS progress
	FROM (
		SELECT pid, heap_blks_scanned AS done, heap_blks_total AS total FROM pg_stat_progress_vacuum
		UNION ALL SELECT pid, sample_blks_scanned, sample_blks_total FROM pg_stat_progress_analyze
		UNION ALL SELECT pid, heap_blks_scanned, heap_blks_total FROM pg_stat_progress_cluster
		UNION ALL SELECT pid, blocks_done, blocks_total FROM pg_stat_progress_create_index
		UNION ALL SELECT pid, bytes_processed, bytes_total FROM pg_stat_progress_copy
		UNION ALL SELECT pid, backup_streamed, backup_total FROM pg_stat_progress_basebackup) AS long
	) AS p ON p.pid = t.thread_os_id
{where_session}ORDER BY command, time DESC, thd_id
