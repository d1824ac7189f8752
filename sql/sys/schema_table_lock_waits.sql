-- Who waits for whom on tables, longest statement first, for people.
CREATE VIEW sys.schema_table_lock_waits WITH (security_invoker = true) AS
SELECT
	s.object_schema,
	s.object_name,
	s.waiting_thread_id,
	s.waiting_pid,
	s.waiting_account,
	s.waiting_lock_type,
	s.waiting_lock_duration,
	sys.format_statement(s.waiting_query) AS waiting_query,
	s.waiting_query_secs,
	s.waiting_query_rows_affected,
	s.waiting_query_rows_examined,
	s.blocking_thread_id,
	s.blocking_pid,
	s.blocking_account,
	s.blocking_lock_type,
	s.blocking_lock_duration,
	s.sql_kill_blocking_query,
	s.sql_kill_blocking_connection
FROM sys."x$schema_table_lock_waits" AS s
ORDER BY s.waiting_query_secs DESC;
COMMENT ON VIEW sys.schema_table_lock_waits IS
	'Waits for tables, who is in the way, and how to end it';
COMMENT ON COLUMN sys.schema_table_lock_waits.object_schema IS
	'Schema of the table';
COMMENT ON COLUMN sys.schema_table_lock_waits.object_name IS
	'Table; in other databases its oid';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_thread_id IS
	'Thread that waits';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_pid IS
	'Session that waits';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_account IS
	'Its user and client host';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_lock_type IS
	'Mode that it wants';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_lock_duration IS
	'How long it would hold the lock';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_query IS
	'Message that waits, see performance_schema.shown_text';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_query_secs IS
	'Seconds since it began';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_query_rows_affected IS
	'Rows changed by it so far';
COMMENT ON COLUMN sys.schema_table_lock_waits.waiting_query_rows_examined IS
	'Rows read by it so far';
COMMENT ON COLUMN sys.schema_table_lock_waits.blocking_thread_id IS
	'Thread in the way';
COMMENT ON COLUMN sys.schema_table_lock_waits.blocking_pid IS
	'Session in the way; NULL for a prepared transaction';
COMMENT ON COLUMN sys.schema_table_lock_waits.blocking_account IS
	'Its user and client host';
COMMENT ON COLUMN sys.schema_table_lock_waits.blocking_lock_type IS
	'Mode that it holds, or asked for earlier';
COMMENT ON COLUMN sys.schema_table_lock_waits.blocking_lock_duration IS
	'How long it holds the lock';
COMMENT ON COLUMN sys.schema_table_lock_waits.sql_kill_blocking_query IS
	'Ends the statement in the way; without effect while the session idles';
COMMENT ON COLUMN sys.schema_table_lock_waits.sql_kill_blocking_connection IS
	'Ends the session in the way; a prepared transaction: in its own database';
GRANT SELECT ON sys.schema_table_lock_waits TO PUBLIC;
