-- Who waits for whom on tables, longest statement first.
-- Everything that pg_class lists counts: tables, indexes, views, sequences.
--@ view Waits for tables, who is in the way, and how to end it
--@ order s.waiting_query_secs DESC
--@ object_schema Schema of the table
--@ object_name Table; in other databases its oid
--@ waiting_thread_id Thread that waits
--@ waiting_pid Session that waits
--@ waiting_account Its user and client host
--@ waiting_lock_type Mode that it wants
--@ waiting_lock_duration How long it would hold the lock
--@ waiting_query [statement] Message that waits, see performance_schema.shown_text
--@ waiting_query_secs Seconds since it began
--@ waiting_query_rows_affected Rows changed by it so far
--@ waiting_query_rows_examined Rows read by it so far
--@ blocking_thread_id Thread in the way
--@ blocking_pid Session in the way; NULL for a prepared transaction
--@ blocking_account Its user and client host
--@ blocking_lock_type Mode that it holds, or asked for earlier
--@ blocking_lock_duration How long it holds the lock
--@ sql_kill_blocking_query Ends the statement in the way; without effect while the session idles
--@ sql_kill_blocking_connection Ends the session in the way; a prepared transaction: in its own database
SELECT
	w.object_schema,
	w.object_name,
	w.requesting_thread_id AS waiting_thread_id,
	w.requesting_pid AS waiting_pid,
	coalesce(wa.usename, wa.backend_type)
		|| coalesce('@' || wt.processlist_host, '') AS waiting_account,
	w.requesting_lock_mode AS waiting_lock_type,
	w.requesting_lock_duration AS waiting_lock_duration,
	performance_schema.shown_text(wa.query, true) AS waiting_query,
	floor(extract(epoch FROM clock_timestamp() - wa.query_start))::bigint AS waiting_query_secs,
	e.rows_affected AS waiting_query_rows_affected,
	e.rows_examined AS waiting_query_rows_examined,
	w.blocking_thread_id,
	w.blocking_pid,
	coalesce(ba.usename, p.owner, ba.backend_type)
		|| coalesce('@' || bt.processlist_host, '') AS blocking_account,
	w.blocking_lock_mode AS blocking_lock_type,
	w.blocking_lock_duration,
	'SELECT pg_cancel_backend(' || w.blocking_pid || ')' AS sql_kill_blocking_query,
	coalesce('SELECT pg_terminate_backend(' || w.blocking_pid || ')',
		'ROLLBACK PREPARED ' || quote_literal(w.blocking_prepared_name)) AS sql_kill_blocking_connection
FROM performance_schema.lock_waits AS w
LEFT JOIN pg_stat_activity AS wa ON wa.pid = w.requesting_pid
LEFT JOIN pg_stat_activity AS ba ON ba.pid = w.blocking_pid
LEFT JOIN pg_prepared_xacts AS p ON p.gid = w.blocking_prepared_name
LEFT JOIN performance_schema.threads AS wt ON wt.thread_id = w.requesting_thread_id
LEFT JOIN performance_schema.threads AS bt ON bt.thread_id = w.blocking_thread_id
LEFT JOIN performance_schema.events_statements_current AS e
	ON e.thread_id = w.requesting_thread_id AND e.event_id = w.requesting_event_id
WHERE w.locktype = 'relation'
ORDER BY waiting_query_secs DESC
