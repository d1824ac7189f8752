-- Locks on rows, pages and transactions, and what serializable transactions have read (SIREAD).
-- A snapshot like pg_locks, see lock_instances. A row that is locked and not fought over is marked
-- in the row itself, not in memory: it is not here. Who waits for such a row waits for the
-- transaction that marked it.
CREATE VIEW performance_schema.data_locks WITH (security_invoker = true) AS
SELECT
	'POSTGRES' AS engine,
	lock_id AS engine_lock_id,
	transaction_id AS engine_transaction_id,
	thread_id,
	event_id,
	table_schema AS object_schema,
	table_name AS object_name,
	partition_name,
	subpartition_name,
	index_name,
	object_instance_begin,
	CASE locktype WHEN 'tuple' THEN 'RECORD' WHEN 'page' THEN 'PAGE' WHEN 'relation' THEN 'TABLE'
		ELSE 'TRANSACTION' END AS lock_type,
	lock_mode,
	CASE WHEN granted THEN 'GRANTED' ELSE 'WAITING' END AS lock_status,
	lock_data,
	pid,
	database_name,
	locktype,
	wait_started
FROM performance_schema.lock_instances
WHERE locktype NOT IN ('relation', 'extend', 'frozenid', 'object', 'userlock', 'advisory')
	OR lock_mode = 'SIREAD';
COMMENT ON VIEW performance_schema.data_locks IS
	'Locks on rows, pages and transactions, held and awaited';
COMMENT ON COLUMN performance_schema.data_locks.engine IS
	'Always POSTGRES';
COMMENT ON COLUMN performance_schema.data_locks.engine_lock_id IS
	'Identity of the lock: what is locked, in which mode, by whom';
COMMENT ON COLUMN performance_schema.data_locks.engine_transaction_id IS
	'Transaction that holds the lock or waits, as in events_transactions_current.trx_id';
COMMENT ON COLUMN performance_schema.data_locks.thread_id IS
	'Thread that holds it or waits';
COMMENT ON COLUMN performance_schema.data_locks.event_id IS
	'Statement of that thread: the running one, else the last one';
COMMENT ON COLUMN performance_schema.data_locks.object_schema IS
	'Schema of the table';
COMMENT ON COLUMN performance_schema.data_locks.object_name IS
	'Table; of a partition the partitioned one; of a transaction waited for that of the row';
COMMENT ON COLUMN performance_schema.data_locks.partition_name IS
	'Partition';
COMMENT ON COLUMN performance_schema.data_locks.subpartition_name IS
	'Partition of a partition, the innermost one';
COMMENT ON COLUMN performance_schema.data_locks.index_name IS
	'Index, if an index is locked';
COMMENT ON COLUMN performance_schema.data_locks.object_instance_begin IS
	'Number of the lock, the same as long as it lasts';
COMMENT ON COLUMN performance_schema.data_locks.lock_type IS
	'RECORD, PAGE, TABLE (read by a serializable transaction) or TRANSACTION';
COMMENT ON COLUMN performance_schema.data_locks.lock_mode IS
	'Mode, as LOCK TABLE spells it, or SIREAD';
COMMENT ON COLUMN performance_schema.data_locks.lock_status IS
	'GRANTED or WAITING';
COMMENT ON COLUMN performance_schema.data_locks.lock_data IS
	'Row as (page,number), page, or transaction and the row it is waited for';
COMMENT ON COLUMN performance_schema.data_locks.pid IS
	'Process that holds it or waits; NULL for a prepared transaction; not in MySQL';
COMMENT ON COLUMN performance_schema.data_locks.database_name IS
	'Database; not in MySQL';
COMMENT ON COLUMN performance_schema.data_locks.locktype IS
	'Kind of lock, as in pg_locks; not in MySQL';
COMMENT ON COLUMN performance_schema.data_locks.wait_started IS
	'When the wait began; not in MySQL';
