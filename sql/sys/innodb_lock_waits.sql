-- Who waits for whom on rows and transactions, longest wait first.
-- The name is MySQL's. A session that waits for several others has a row for each of them.
--@ view Waits for rows and transactions, who is in the way, and how to end it
--@ order s.wait_started
--@ wait_started When the wait began
--@ wait_age [age] How long it has lasted
--@ wait_age_secs The same in seconds
--@ locked_table Table of the row, as SQL spells it; NULL where not known
--@ locked_table_schema Schema of the table
--@ locked_table_name Table of the row that both want; the partitioned one of a partition
--@ locked_table_partition Partition
--@ locked_table_subpartition Partition of a partition, the innermost one
--@ locked_index Index, if an index is locked
--@ locked_type RECORD, PAGE or TRANSACTION: the end of one is waited for
--@ waiting_trx_id Transaction that waits; NULL if it has changed nothing
--@ waiting_trx_started When it began
--@ waiting_trx_age [age] How long ago
--@ waiting_trx_rows_locked Always NULL: not counted
--@ waiting_trx_rows_modified Always NULL: not counted
--@ waiting_pid Session that waits
--@ waiting_query [statement] Message that waits, see performance_schema.shown_text
--@ waiting_lock_id Lock that is awaited, see data_locks
--@ waiting_lock_mode Its mode
--@ blocking_trx_id Transaction in the way
--@ blocking_pid Session in the way; NULL for a prepared transaction
--@ blocking_query [statement] Statement it runs; NULL if it idles in its transaction
--@ blocking_lock_id Lock in the way, see data_locks
--@ blocking_lock_mode Its mode
--@ blocking_trx_started When that transaction began, or was prepared
--@ blocking_trx_age [age] How long ago
--@ blocking_trx_rows_locked Always NULL: not counted
--@ blocking_trx_rows_modified Always NULL: not counted
--@ sql_kill_blocking_query Ends the statement in the way; without effect while the session idles
--@ sql_kill_blocking_connection Ends the session in the way; a prepared transaction: in its own database
SELECT
	w.wait_started,
	clock_timestamp() - w.wait_started AS wait_age,
	floor(extract(epoch FROM clock_timestamp() - w.wait_started))::bigint AS wait_age_secs,
	CASE WHEN w.table_schema IS NULL THEN w.table_name
		ELSE quote_ident(w.table_schema) || '.' || quote_ident(w.table_name) END AS locked_table,
	w.table_schema AS locked_table_schema,
	w.table_name AS locked_table_name,
	w.partition_name AS locked_table_partition,
	w.subpartition_name AS locked_table_subpartition,
	w.index_name AS locked_index,
	CASE w.locktype WHEN 'tuple' THEN 'RECORD' WHEN 'page' THEN 'PAGE'
		ELSE 'TRANSACTION' END AS locked_type,
	w.requesting_transaction_id AS waiting_trx_id,
	wa.xact_start AS waiting_trx_started,
	clock_timestamp() - wa.xact_start AS waiting_trx_age,
	NULL::bigint AS waiting_trx_rows_locked,
	NULL::bigint AS waiting_trx_rows_modified,
	w.requesting_pid AS waiting_pid,
	performance_schema.shown_text(wa.query, true) AS waiting_query,
	w.requesting_lock_id AS waiting_lock_id,
	w.requesting_lock_mode AS waiting_lock_mode,
	w.blocking_transaction_id AS blocking_trx_id,
	w.blocking_pid,
	CASE WHEN ba.state LIKE 'idle%' THEN NULL ELSE performance_schema.shown_text(ba.query, true) END
		AS blocking_query,
	w.blocking_lock_id,
	w.blocking_lock_mode,
	coalesce(ba.xact_start, p.prepared) AS blocking_trx_started,
	clock_timestamp() - coalesce(ba.xact_start, p.prepared) AS blocking_trx_age,
	NULL::bigint AS blocking_trx_rows_locked,
	NULL::bigint AS blocking_trx_rows_modified,
	'SELECT pg_cancel_backend(' || w.blocking_pid || ')' AS sql_kill_blocking_query,
	coalesce('SELECT pg_terminate_backend(' || w.blocking_pid || ')',
		'ROLLBACK PREPARED ' || quote_literal(w.blocking_prepared_name)) AS sql_kill_blocking_connection
FROM performance_schema.lock_waits AS w
LEFT JOIN pg_stat_activity AS wa ON wa.pid = w.requesting_pid
LEFT JOIN pg_stat_activity AS ba ON ba.pid = w.blocking_pid
LEFT JOIN pg_prepared_xacts AS p ON p.gid = w.blocking_prepared_name
WHERE w.locktype NOT IN ('relation', 'extend', 'frozenid', 'object', 'userlock', 'advisory')
ORDER BY w.wait_started
