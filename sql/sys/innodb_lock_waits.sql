-- Who waits for whom on rows and transactions, longest wait first, for people.
CREATE VIEW sys.innodb_lock_waits WITH (security_invoker = true) AS
SELECT
	s.wait_started,
	date_trunc('milliseconds', s.wait_age) AS wait_age,
	s.wait_age_secs,
	s.locked_table,
	s.locked_table_schema,
	s.locked_table_name,
	s.locked_table_partition,
	s.locked_table_subpartition,
	s.locked_index,
	s.locked_type,
	s.waiting_trx_id,
	s.waiting_trx_started,
	date_trunc('milliseconds', s.waiting_trx_age) AS waiting_trx_age,
	s.waiting_trx_rows_locked,
	s.waiting_trx_rows_modified,
	s.waiting_pid,
	sys.format_statement(s.waiting_query) AS waiting_query,
	s.waiting_lock_id,
	s.waiting_lock_mode,
	s.blocking_trx_id,
	s.blocking_pid,
	sys.format_statement(s.blocking_query) AS blocking_query,
	s.blocking_lock_id,
	s.blocking_lock_mode,
	s.blocking_trx_started,
	date_trunc('milliseconds', s.blocking_trx_age) AS blocking_trx_age,
	s.blocking_trx_rows_locked,
	s.blocking_trx_rows_modified,
	s.sql_kill_blocking_query,
	s.sql_kill_blocking_connection
FROM sys."x$innodb_lock_waits" AS s
ORDER BY s.wait_started;
COMMENT ON VIEW sys.innodb_lock_waits IS
	'Waits for rows and transactions, who is in the way, and how to end it';
COMMENT ON COLUMN sys.innodb_lock_waits.wait_started IS
	'When the wait began';
COMMENT ON COLUMN sys.innodb_lock_waits.wait_age IS
	'How long it has lasted';
COMMENT ON COLUMN sys.innodb_lock_waits.wait_age_secs IS
	'The same in seconds';
COMMENT ON COLUMN sys.innodb_lock_waits.locked_table IS
	'Table of the row, as SQL spells it; NULL where not known';
COMMENT ON COLUMN sys.innodb_lock_waits.locked_table_schema IS
	'Schema of the table';
COMMENT ON COLUMN sys.innodb_lock_waits.locked_table_name IS
	'Table of the row that both want; the partitioned one of a partition';
COMMENT ON COLUMN sys.innodb_lock_waits.locked_table_partition IS
	'Partition';
COMMENT ON COLUMN sys.innodb_lock_waits.locked_table_subpartition IS
	'Partition of a partition, the innermost one';
COMMENT ON COLUMN sys.innodb_lock_waits.locked_index IS
	'Index, if an index is locked';
COMMENT ON COLUMN sys.innodb_lock_waits.locked_type IS
	'RECORD, PAGE or TRANSACTION: the end of one is waited for';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_trx_id IS
	'Transaction that waits; NULL if it has changed nothing';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_trx_started IS
	'When it began';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_trx_age IS
	'How long ago';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_trx_rows_locked IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_trx_rows_modified IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_pid IS
	'Session that waits';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_query IS
	'Message that waits, see performance_schema.shown_text';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_lock_id IS
	'Lock that is awaited, see data_locks';
COMMENT ON COLUMN sys.innodb_lock_waits.waiting_lock_mode IS
	'Its mode';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_trx_id IS
	'Transaction in the way';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_pid IS
	'Session in the way; NULL for a prepared transaction';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_query IS
	'Statement it runs; NULL if it idles in its transaction';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_lock_id IS
	'Lock in the way, see data_locks';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_lock_mode IS
	'Its mode';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_trx_started IS
	'When that transaction began, or was prepared';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_trx_age IS
	'How long ago';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_trx_rows_locked IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys.innodb_lock_waits.blocking_trx_rows_modified IS
	'Always NULL: not counted';
COMMENT ON COLUMN sys.innodb_lock_waits.sql_kill_blocking_query IS
	'Ends the statement in the way; without effect while the session idles';
COMMENT ON COLUMN sys.innodb_lock_waits.sql_kill_blocking_connection IS
	'Ends the session in the way; a prepared transaction: in its own database';
GRANT SELECT ON sys.innodb_lock_waits TO PUBLIC;
