-- Who waits for whom on rows and transactions, longest wait first, raw: full texts.
-- The name is MySQL's. A session that waits for several others has a row for each of them.
CREATE VIEW sys."x$innodb_lock_waits" WITH (security_invoker = true) AS
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
ORDER BY w.wait_started;
COMMENT ON VIEW sys."x$innodb_lock_waits" IS
	'Waits for rows and transactions, who is in the way, and how to end it; full texts';
COMMENT ON COLUMN sys."x$innodb_lock_waits".wait_started IS
	'When the wait began';
COMMENT ON COLUMN sys."x$innodb_lock_waits".wait_age IS
	'How long it has lasted';
COMMENT ON COLUMN sys."x$innodb_lock_waits".wait_age_secs IS
	'The same in seconds';
COMMENT ON COLUMN sys."x$innodb_lock_waits".locked_table IS
	'Table of the row, as SQL spells it; NULL where not known';
COMMENT ON COLUMN sys."x$innodb_lock_waits".locked_table_schema IS
	'Schema of the table';
COMMENT ON COLUMN sys."x$innodb_lock_waits".locked_table_name IS
	'Table of the row that both want; the partitioned one of a partition';
COMMENT ON COLUMN sys."x$innodb_lock_waits".locked_table_partition IS
	'Partition';
COMMENT ON COLUMN sys."x$innodb_lock_waits".locked_table_subpartition IS
	'Partition of a partition, the innermost one';
COMMENT ON COLUMN sys."x$innodb_lock_waits".locked_index IS
	'Index, if an index is locked';
COMMENT ON COLUMN sys."x$innodb_lock_waits".locked_type IS
	'RECORD, PAGE or TRANSACTION: the end of one is waited for';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_trx_id IS
	'Transaction that waits; NULL if it has changed nothing';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_trx_started IS
	'When it began';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_trx_age IS
	'How long ago';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_trx_rows_locked IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_trx_rows_modified IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_pid IS
	'Session that waits';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_query IS
	'Message that waits, see performance_schema.shown_text';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_lock_id IS
	'Lock that is awaited, see data_locks';
COMMENT ON COLUMN sys."x$innodb_lock_waits".waiting_lock_mode IS
	'Its mode';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_trx_id IS
	'Transaction in the way';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_pid IS
	'Session in the way; NULL for a prepared transaction';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_query IS
	'Statement it runs; NULL if it idles in its transaction';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_lock_id IS
	'Lock in the way, see data_locks';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_lock_mode IS
	'Its mode';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_trx_started IS
	'When that transaction began, or was prepared';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_trx_age IS
	'How long ago';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_trx_rows_locked IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys."x$innodb_lock_waits".blocking_trx_rows_modified IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys."x$innodb_lock_waits".sql_kill_blocking_query IS
	'Ends the statement in the way; without effect while the session idles';
COMMENT ON COLUMN sys."x$innodb_lock_waits".sql_kill_blocking_connection IS
	'Ends the session in the way; a prepared transaction: in its own database';
GRANT SELECT ON sys."x$innodb_lock_waits" TO PUBLIC;
