-- Waits for the locks of data_locks, with the lock in the way. A snapshot, see lock_waits.
CREATE VIEW performance_schema.data_lock_waits WITH (security_invoker = true) AS
SELECT
	'POSTGRES' AS engine,
	requesting_lock_id AS requesting_engine_lock_id,
	requesting_transaction_id AS requesting_engine_transaction_id,
	requesting_thread_id,
	requesting_event_id,
	requesting_object_instance_begin,
	blocking_lock_id AS blocking_engine_lock_id,
	blocking_transaction_id AS blocking_engine_transaction_id,
	blocking_thread_id,
	blocking_event_id,
	blocking_object_instance_begin,
	requesting_pid,
	blocking_pid
FROM performance_schema.lock_waits
WHERE locktype NOT IN ('relation', 'extend', 'frozenid', 'object', 'userlock', 'advisory');
COMMENT ON VIEW performance_schema.data_lock_waits IS
	'Locks on rows, pages and transactions that are awaited, with the lock in the way';
COMMENT ON COLUMN performance_schema.data_lock_waits.engine IS
	'Always POSTGRES';
COMMENT ON COLUMN performance_schema.data_lock_waits.requesting_engine_lock_id IS
	'Lock that is awaited, see data_locks';
COMMENT ON COLUMN performance_schema.data_lock_waits.requesting_engine_transaction_id IS
	'Transaction that waits; NULL if it has changed nothing';
COMMENT ON COLUMN performance_schema.data_lock_waits.requesting_thread_id IS
	'Thread that waits';
COMMENT ON COLUMN performance_schema.data_lock_waits.requesting_event_id IS
	'Statement that waits';
COMMENT ON COLUMN performance_schema.data_lock_waits.requesting_object_instance_begin IS
	'Number of the awaited lock';
COMMENT ON COLUMN performance_schema.data_lock_waits.blocking_engine_lock_id IS
	'Lock in its way; NULL if it went meanwhile';
COMMENT ON COLUMN performance_schema.data_lock_waits.blocking_engine_transaction_id IS
	'Transaction in the way';
COMMENT ON COLUMN performance_schema.data_lock_waits.blocking_thread_id IS
	'Thread in the way; NULL for a prepared transaction';
COMMENT ON COLUMN performance_schema.data_lock_waits.blocking_event_id IS
	'Its statement: the running one, else the last one';
COMMENT ON COLUMN performance_schema.data_lock_waits.blocking_object_instance_begin IS
	'Number of the lock in the way';
COMMENT ON COLUMN performance_schema.data_lock_waits.requesting_pid IS
	'Session that waits; not in MySQL';
COMMENT ON COLUMN performance_schema.data_lock_waits.blocking_pid IS
	'Session in the way; NULL for a prepared transaction; not in MySQL';
