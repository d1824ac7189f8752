-- Counters of the engine are read where engine_metrics has them; none is shown that counts something else than in MySQL.
--@ plain Status of the server, by MySQL's names
--@ variable_name Name as in MySQL
--@ variable_value Value; NULL if it is not counted now or the reader may not know it
SELECT s.variable_name, s.variable_value
FROM performance_schema.status_global AS s
UNION ALL
SELECT v.name, CASE WHEN m.status = 'enabled' THEN (m.count / v.divisor)::text END
FROM (VALUES
	('Aborted_clients', 'server_sessions_abandoned', 1),
	('Connections', 'server_sessions', 1),
	('Created_tmp_files', 'sort_temporary_files', 1),
	('Handler_commit', 'trx_commits', 1),
	('Handler_rollback', 'trx_rollbacks', 1),
	('Innodb_buffer_pool_pages_total', 'buffer_pool_pages_total', 1),
	('Innodb_buffer_pool_read_requests', 'buffer_pool_read_requests', 1),
	('Innodb_buffer_pool_reads', 'buffer_pool_reads', 1),
	('Innodb_data_fsyncs', 'os_data_fsyncs', 1),
	('Innodb_data_read', 'os_data_bytes_read', 1),
	('Innodb_data_reads', 'os_data_reads', 1),
	('Innodb_data_writes', 'os_data_writes', 1),
	('Innodb_data_written', 'os_data_bytes_written', 1),
	('Innodb_log_waits', 'log_waits', 1),
	('Innodb_log_write_requests', 'log_records', 1),
	('Innodb_log_writes', 'log_writes', 1),
	('Innodb_os_log_fsyncs', 'os_log_fsyncs', 1),
	('Innodb_os_log_written', 'os_log_bytes_written', 1),
	('Innodb_page_size', 'server_page_size', 1),
	('Innodb_pages_created', 'buffer_pages_created', 1),
	('Innodb_pages_read', 'buffer_pages_read', 1),
	('Innodb_pages_written', 'buffer_pages_written', 1),
	('Innodb_redo_log_checkpoint_lsn', 'log_lsn_last_checkpoint', 1),
	('Innodb_redo_log_current_lsn', 'log_lsn_current', 1),
	('Innodb_redo_log_flushed_to_disk_lsn', 'log_lsn_last_flush', 1),
	('Innodb_row_lock_current_waits', 'lock_row_lock_current_waits', 1),
	('Innodb_row_lock_time', 'lock_row_lock_time', 1000),
	('Innodb_row_lock_waits', 'lock_row_lock_waits', 1),
	('Innodb_rows_deleted', 'dml_deletes', 1),
	('Innodb_rows_inserted', 'dml_inserts', 1),
	('Innodb_rows_read', 'dml_reads', 1),
	('Innodb_rows_updated', 'dml_updates', 1),
	('Table_locks_waited', 'lock_relation_waits', 1),
	('Threads_connected', 'server_backends', 1)
) AS v (name, metric, divisor)
JOIN performance_schema.engine_metrics AS m ON m.name = v.metric
UNION ALL
SELECT 'P' || substr(l.variable_name, 2), l.variable_value::text
FROM performance_schema.status AS l
WHERE l.variable_name LIKE 'performance\_schema\_%\_lost'
UNION ALL
SELECT v.name, CASE WHEN v.counts THEN v.value::text END
FROM (
	SELECT sum(sum_number_of_bytes_read) AS received, sum(sum_number_of_bytes_write) AS sent
	FROM performance_schema.socket_summary_by_event_name
) AS b
CROSS JOIN LATERAL (
	SELECT EXISTS (
		SELECT FROM performance_schema.setup_instruments AS i
		WHERE i.name = 'wait/io/socket/postgres/client_connection' AND i.enabled = 'YES')
) AS e (counts)
CROSS JOIN LATERAL (VALUES
	('Bytes_received', b.received, e.counts),
	('Bytes_sent', b.sent, e.counts),
	('Threads_running', (
		SELECT count(*) FROM pg_stat_activity AS a
		WHERE a.state IN ('active', 'fastpath function call') AND a.backend_type = 'client backend'
	), pg_has_role('pg_read_all_stats', 'USAGE')),
	('Uptime', floor(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())), true)
) AS v (name, value, counts)
