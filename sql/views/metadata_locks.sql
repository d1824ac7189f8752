-- Locks on relations, other database objects and numbers that applications lock (advisory locks).
-- A snapshot like pg_locks, see lock_instances.
CREATE VIEW performance_schema.metadata_locks WITH (security_invoker = true) AS
SELECT
	object_type,
	object_schema,
	object_name,
	NULL::text AS column_name,
	object_instance_begin,
	lock_mode AS lock_type,
	lock_duration,
	CASE WHEN granted THEN 'GRANTED' ELSE 'PENDING' END AS lock_status,
	thread_id AS owner_thread_id,
	event_id AS owner_event_id,
	pid,
	database_name,
	locktype,
	fastpath,
	wait_started
FROM performance_schema.lock_instances
WHERE locktype IN ('relation', 'extend', 'frozenid', 'object', 'userlock', 'advisory')
	AND lock_mode <> 'SIREAD';
COMMENT ON VIEW performance_schema.metadata_locks IS
	'Locks on tables, other objects and user level locks, held and awaited';
COMMENT ON COLUMN performance_schema.metadata_locks.object_type IS
	'TABLE, INDEX, SCHEMA, FUNCTION, USER LEVEL LOCK and so on; RELATION in other databases';
COMMENT ON COLUMN performance_schema.metadata_locks.object_schema IS
	'Schema; NULL in other databases';
COMMENT ON COLUMN performance_schema.metadata_locks.object_name IS
	'Name; in other databases oid; key of an advisory lock';
COMMENT ON COLUMN performance_schema.metadata_locks.column_name IS
	'Always NULL: columns are not locked';
COMMENT ON COLUMN performance_schema.metadata_locks.object_instance_begin IS
	'Number of the lock, the same as long as it lasts';
COMMENT ON COLUMN performance_schema.metadata_locks.lock_type IS
	'Mode, as LOCK TABLE spells it';
COMMENT ON COLUMN performance_schema.metadata_locks.lock_duration IS
	'TRANSACTION, STATEMENT, or EXPLICIT (held outside a transaction); NULL = not told';
COMMENT ON COLUMN performance_schema.metadata_locks.lock_status IS
	'GRANTED or PENDING';
COMMENT ON COLUMN performance_schema.metadata_locks.owner_thread_id IS
	'Thread that holds it or waits';
COMMENT ON COLUMN performance_schema.metadata_locks.owner_event_id IS
	'Statement of that thread: the running one, else the last one';
COMMENT ON COLUMN performance_schema.metadata_locks.pid IS
	'Process of that thread; NULL for a prepared transaction; not in MySQL';
COMMENT ON COLUMN performance_schema.metadata_locks.database_name IS
	'Database of the object, NULL if it belongs to all; not in MySQL';
COMMENT ON COLUMN performance_schema.metadata_locks.locktype IS
	'Kind of lock, as in pg_locks; not in MySQL';
COMMENT ON COLUMN performance_schema.metadata_locks.fastpath IS
	'Kept by the session itself, not in the lock table? not in MySQL';
COMMENT ON COLUMN performance_schema.metadata_locks.wait_started IS
	'When the wait began; not in MySQL';
