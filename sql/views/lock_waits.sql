-- Who waits for whom: a row for each awaited lock and each lock in its way, be it held or asked for
-- earlier. data_lock_waits and the views of sys on lock waits are made of it.
--
-- One copy of the lock table serves both sides. pg_blocking_pids takes the lock manager for itself
-- for a moment at each call: it is called for processes that wait, and for no other.
CREATE VIEW performance_schema.lock_waits WITH (security_invoker = true) AS
WITH locks AS MATERIALIZED (
	SELECT * FROM performance_schema.lock_instances)
SELECT
	w.locktype,
	w.database_name,
	w.object_type,
	w.object_schema,
	w.object_name,
	w.table_schema,
	w.table_name,
	w.partition_name,
	w.subpartition_name,
	w.index_name,
	w.lock_data,
	w.wait_started,
	w.lock_id AS requesting_lock_id,
	w.object_instance_begin AS requesting_object_instance_begin,
	w.lock_mode AS requesting_lock_mode,
	w.lock_duration AS requesting_lock_duration,
	w.session_pid AS requesting_pid,
	w.thread_id AS requesting_thread_id,
	w.event_id AS requesting_event_id,
	w.transaction_id AS requesting_transaction_id,
	b.lock_id AS blocking_lock_id,
	b.object_instance_begin AS blocking_object_instance_begin,
	b.lock_mode AS blocking_lock_mode,
	b.lock_duration AS blocking_lock_duration,
	b.granted AS blocking_granted,
	nullif(p.pid, 0) AS blocking_pid,
	b.thread_id AS blocking_thread_id,
	b.event_id AS blocking_event_id,
	b.transaction_id AS blocking_transaction_id,
	b.prepared_name AS blocking_prepared_name
FROM locks AS w
CROSS JOIN LATERAL (SELECT DISTINCT u.pid FROM unnest(pg_blocking_pids(w.pid)) AS u (pid)) AS p
LEFT JOIN locks AS b
	ON b.lock_tag = w.lock_tag
	AND coalesce(b.session_pid, 0) = p.pid
	AND b.lock_mode = ANY (w.conflicts_with)
	AND b.lock_id <> w.lock_id
WHERE NOT w.granted;
COMMENT ON VIEW performance_schema.lock_waits IS
	'Who waits for whom: pairs of an awaited lock and a lock in its way; not in MySQL';
COMMENT ON COLUMN performance_schema.lock_waits.locktype IS
	'Kind of lock, as in pg_locks';
COMMENT ON COLUMN performance_schema.lock_waits.database_name IS
	'Database of the object, or of the session that waits';
COMMENT ON COLUMN performance_schema.lock_waits.object_type IS
	'TABLE, INDEX, SCHEMA, FUNCTION, USER LEVEL LOCK and so on; TRANSACTION';
COMMENT ON COLUMN performance_schema.lock_waits.object_schema IS
	'Schema of the object; of other databases NULL';
COMMENT ON COLUMN performance_schema.lock_waits.object_name IS
	'Name of the object; in other databases its oid; key of an advisory lock';
COMMENT ON COLUMN performance_schema.lock_waits.table_schema IS
	'Schema of table_name';
COMMENT ON COLUMN performance_schema.lock_waits.table_name IS
	'Table of the relation, page, row, or of the row waited for; the partitioned one';
COMMENT ON COLUMN performance_schema.lock_waits.partition_name IS
	'Partition of table_name';
COMMENT ON COLUMN performance_schema.lock_waits.subpartition_name IS
	'Partition of a partition, the innermost one';
COMMENT ON COLUMN performance_schema.lock_waits.index_name IS
	'Index, if an index is locked';
COMMENT ON COLUMN performance_schema.lock_waits.lock_data IS
	'Row as (page,number), page, or transaction and the row it is waited for';
COMMENT ON COLUMN performance_schema.lock_waits.wait_started IS
	'When the wait began; NULL in its first moment';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_lock_id IS
	'Lock that is awaited, see lock_instances';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_object_instance_begin IS
	'Number of that lock';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_lock_mode IS
	'Its mode';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_lock_duration IS
	'How long it would be held';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_pid IS
	'Session that waits';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_thread_id IS
	'Its thread';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_event_id IS
	'Statement that waits';
COMMENT ON COLUMN performance_schema.lock_waits.requesting_transaction_id IS
	'Transaction that waits';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_lock_id IS
	'Lock in its way; NULL if it went meanwhile';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_object_instance_begin IS
	'Number of that lock';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_lock_mode IS
	'Its mode';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_lock_duration IS
	'How long it is held';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_granted IS
	'Held, or only asked for earlier?';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_pid IS
	'Session in the way; NULL for a prepared transaction';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_thread_id IS
	'Its thread';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_event_id IS
	'Its statement: the running one, else the last one';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_transaction_id IS
	'Its transaction';
COMMENT ON COLUMN performance_schema.lock_waits.blocking_prepared_name IS
	'Name of the prepared transaction in the way';
