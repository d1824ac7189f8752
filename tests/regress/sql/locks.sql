-- metadata_locks, data_locks, data_lock_waits and the views of sys on them, as one session sees its
-- own locks. Who waits for whom needs two: tests/py/test_locks.py.
SET jit = off;
SELECT relname, string_agg(attname, ', ' ORDER BY attnum) AS columns
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
WHERE relname IN ('metadata_locks', 'data_locks', 'data_lock_waits')
	AND relnamespace = 'performance_schema'::regnamespace
GROUP BY relname ORDER BY relname;

-- Nobody waits
SELECT (SELECT count(*) FROM performance_schema.lock_waits) AS waits,
	(SELECT count(*) FROM performance_schema.data_lock_waits) AS data_waits,
	(SELECT count(*) FROM sys.innodb_lock_waits) AS innodb,
	(SELECT count(*) FROM sys.x$innodb_lock_waits) AS x_innodb,
	(SELECT count(*) FROM sys.schema_table_lock_waits) AS tables,
	(SELECT count(*) FROM sys.x$schema_table_lock_waits) AS x_tables,
	(SELECT count(*) FROM sys.lock_tree) AS tree,
	(SELECT count(*) FROM sys.x$lock_tree) AS x_tree;

CREATE TABLE locked (i integer PRIMARY KEY);
INSERT INTO locked VALUES (1);
CREATE SCHEMA locked_schema;
CREATE VIEW locked_view AS SELECT 1 AS one;
CREATE FUNCTION locked_function(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
CREATE VIEW my_objects AS
SELECT object_type, object_schema, regexp_replace(object_name, 'oid \d+', 'oid N') AS object_name,
	column_name, lock_type, lock_duration, lock_status,
	owner_event_id > 0 AS has_event
FROM performance_schema.metadata_locks
WHERE owner_thread_id = performance_schema.ps_current_thread_id() AND pid = pg_backend_pid()
	AND coalesce(object_schema, '') NOT IN ('pg_catalog', 'performance_schema', 'sys')
	AND coalesce(object_name, '') NOT IN ('my_objects', 'my_data')
	AND object_type <> 'TYPE' -- some minor releases lock a new table's type, some do not
	AND (object_schema IS NOT NULL OR object_name IS NOT NULL)
	AND database_name = current_database()
ORDER BY object_type, object_schema, metadata_locks.object_name, lock_type;
CREATE VIEW my_data AS
SELECT engine, engine_transaction_id IS NOT NULL AS has_transaction, event_id > 0 AS has_event,
	object_schema, object_name, partition_name, index_name, lock_type, lock_mode, lock_status,
	locktype
FROM performance_schema.data_locks
WHERE thread_id = performance_schema.ps_current_thread_id() AND pid = pg_backend_pid()
ORDER BY locktype, lock_mode, object_name, lock_type, index_name;

SELECT * FROM my_objects;
SELECT * FROM my_data;

-- In a transaction; what it has dropped has no name any more
BEGIN;
LOCK TABLE locked IN SHARE ROW EXCLUSIVE MODE;
SELECT * FROM locked_view;
SELECT pg_advisory_xact_lock(42);
CREATE TABLE locked_schema.new (i integer);
DROP FUNCTION locked_function(text);
SELECT * FROM my_objects;
SELECT * FROM my_data;
ROLLBACK;
SELECT * FROM my_objects;

-- The transaction's number is that of pg_current_xact_id()
BEGIN;
UPDATE locked SET i = 2;
SELECT DISTINCT engine_transaction_id = pg_current_xact_id()::text::bigint AS same
FROM performance_schema.data_locks WHERE pid = pg_backend_pid();
ROLLBACK;

-- Session level user locks: in a transaction the server does not tell them from others
SELECT pg_advisory_lock(1), pg_advisory_lock(-1, 2), pg_advisory_lock_shared(-6000000000);
SELECT object_type, object_name, lock_type, lock_duration FROM my_objects;
SELECT pg_advisory_unlock_all();

-- What a serializable transaction has read
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL enable_seqscan = off;
SELECT * FROM locked WHERE i = 1;
SELECT * FROM my_data WHERE lock_mode = 'SIREAD';
ROLLBACK;

-- Each lock is in one of the two tables and has an identity of its own
BEGIN;
LOCK TABLE locked;
SELECT (SELECT count(*) = count(DISTINCT lock_id) FROM performance_schema.lock_instances) AS ids,
	(SELECT count(*) = count(DISTINCT object_instance_begin)
		FROM performance_schema.lock_instances) AS numbers,
	(SELECT count(*) FROM performance_schema.data_locks JOIN performance_schema.metadata_locks
		USING (object_instance_begin)) AS in_both;
ROLLBACK;

-- They are views: nothing can be changed
DELETE FROM performance_schema.metadata_locks;
UPDATE performance_schema.data_locks SET lock_mode = 'X';
TRUNCATE performance_schema.data_lock_waits;

DROP VIEW my_objects, my_data, locked_view;
DROP TABLE locked;
DROP SCHEMA locked_schema;
DROP FUNCTION locked_function(text);
