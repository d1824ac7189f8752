-- What a lock of an object is on. Unlike pg_identify_object it outlives a schema or table that is
-- dropped while it looks.
CREATE FUNCTION performance_schema.object_name(
	class oid, object oid, OUT type text, OUT schema text, OUT name text)
	LANGUAGE C STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_object_name';
COMMENT ON FUNCTION performance_schema.object_name(oid, oid) IS
	'Type, schema and name of an object by its catalogue''s oid and its own; NULL: gone, or has none';

-- Every lock of pg_locks with names: what metadata_locks, data_locks and lock_waits are made of.
--
-- pg_locks copies the lock table, partition by partition, before it returns its first row: no lock
-- of the lock manager is held while rows are joined, emitted and sent. Names and sessions are read
-- after that; who has gone meanwhile has NULL there. Planning and reading take a few locks on
-- catalogs for the reader itself, which show too. What pg_stat_activity adds is frozen until the
-- end of a transaction block, as it is there.
CREATE VIEW performance_schema.lock_instances WITH (security_invoker = true) AS
SELECT
	concat_ws('/', l.tag, l.mode, l.virtualtransaction, l.pid) AS lock_id,
	l.tag AS lock_tag,
	hashtextextended(concat_ws('/', l.tag, l.mode, l.virtualtransaction, l.pid), 0)
		& 9223372036854775807 AS object_instance_begin,
	l.locktype,
	CASE WHEN l.object_database = 0 THEN NULL
		ELSE coalesce(d.datname, a.datname, p.database)::text END AS database_name,
	CASE
		WHEN l.locktype = 'extend' THEN 'RELATION EXTENSION'
		WHEN l.relation IS NOT NULL THEN
			CASE c.relkind
				WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'TABLE' WHEN 't' THEN 'TOAST TABLE'
				WHEN 'i' THEN 'INDEX' WHEN 'I' THEN 'INDEX' WHEN 'S' THEN 'SEQUENCE'
				WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
				WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE' ELSE 'RELATION'
			END
		WHEN l.locktype IN ('advisory', 'userlock') THEN 'USER LEVEL LOCK'
		WHEN l.locktype = 'object' THEN coalesce(upper(o.type), 'OBJECT')
		WHEN l.locktype = 'frozenid' THEN 'DATABASE'
		ELSE 'TRANSACTION'
	END AS object_type,
	CASE
		WHEN l.relation IS NOT NULL THEN cn.nspname::text
		WHEN o.type = 'schema' THEN o.name
		ELSE o.schema
	END AS object_schema,
	CASE
		WHEN l.relation IS NOT NULL THEN
			coalesce(c.relname, 'oid ' || l.relation || l.elsewhere)
		WHEN l.locktype = 'object' THEN
			CASE WHEN o.type = 'schema' THEN NULL ELSE coalesce(
				o.name, l.classid::regclass || ' oid ' || l.objid || l.elsewhere) END
		WHEN l.locktype = 'frozenid' THEN d.datname
		WHEN l.locktype IN ('advisory', 'userlock') THEN
			CASE l.objsubid
				WHEN 1 THEN ((l.classid::bigint << 32) | l.objid::bigint)::text
				WHEN 2 THEN l.classid::bigint::bit(32)::integer || ', '
					|| l.objid::bigint::bit(32)::integer
				ELSE concat_ws(', ', l.classid, l.objid, l.objsubid)
			END || l.elsewhere
	END AS object_name,
	rn.nspname::text AS table_schema,
	CASE WHEN l.object_relation IS NOT NULL THEN
		coalesce(r.relname, 'oid ' || l.object_relation || l.elsewhere) END AS table_name,
	b.relname::text AS partition_name,
	CASE WHEN cardinality(tree.path) > 2 THEN t.relname::text END AS subpartition_name,
	CASE WHEN i.indexrelid IS NOT NULL THEN c.relname::text END AS index_name,
	CASE
		WHEN l.locktype = 'transactionid' THEN concat_ws(', row ', l.transactionid,
			'(' || l.row_of_wait[3] || ',' || l.row_of_wait[4] || ')')
		WHEN l.locktype = 'virtualxid' THEN l.virtualxid
		WHEN l.locktype = 'tuple' THEN '(' || l.page || ',' || l.tuple || ')'
		WHEN l.locktype = 'page' THEN 'page ' || l.page
		WHEN l.locktype IN ('spectoken', 'applytransaction') THEN
			concat_ws(', ', l.transactionid, l.objid, l.objsubid)
	END AS lock_data,
	m.lock_mode,
	m.conflicts_with,
	CASE
		WHEN l.pid IS NULL THEN 'TRANSACTION'
		WHEN l.virtualtransaction LIKE '%/0' THEN 'EXPLICIT'
		WHEN l.locktype IN ('advisory', 'userlock') THEN NULL
		WHEN l.locktype IN ('extend', 'page', 'tuple', 'spectoken') AND l.mode <> 'SIReadLock'
			THEN 'STATEMENT'
		ELSE 'TRANSACTION'
	END AS lock_duration,
	l.granted,
	l.fastpath,
	l.waitstart AS wait_started,
	l.pid,
	coalesce(a.leader_pid, l.pid) AS session_pid,
	p.gid AS prepared_name,
	th.thread_id,
	e.event_id,
	-- The server's 32 bits, completed to the number that pg_current_xact_id() gives.
	x.next + ((coalesce(a.backend_xid, p.transaction)::text::bigint - x.next + 2147483648)
		& 4294967295) - 2147483648 AS transaction_id
FROM (
	SELECT
		h.*,
		h.object_database IN (0, own.oid) AS resolvable,
		CASE WHEN h.object_database IN (0, own.oid) THEN ''
			ELSE ' of database ' || coalesce(other.datname, h.object_database::text)
		END AS elsewhere
	FROM (
		SELECT
			w.*,
			coalesce(w.database, w.row_of_wait[1]::oid) AS object_database,
			coalesce(w.relation, w.row_of_wait[2]::oid) AS object_relation
		FROM (
			SELECT
				s.*,
				concat_ws(':', s.locktype, s.database, s.relation, s.page, s.tuple, s.virtualxid,
					s.transactionid, s.classid, s.objid, s.objsubid) AS tag,
				-- Who waits for the transaction that changed a row holds the lock of that row.
				CASE WHEN s.locktype = 'transactionid' AND NOT s.granted THEN
					max(ARRAY[s.database::bigint, s.relation::bigint, s.page, s.tuple])
						FILTER (WHERE s.locktype = 'tuple' AND s.granted) OVER holder
				END AS row_of_wait,
				-- A prepared transaction is known by the oldest of its transaction ids.
				CASE WHEN s.pid IS NULL THEN
					max(age(s.transactionid)) FILTER (WHERE s.locktype = 'transactionid')
						OVER holder
				END AS prepared_age
			FROM pg_locks AS s
			WINDOW holder AS (PARTITION BY s.pid, s.virtualtransaction)) AS w) AS h
	CROSS JOIN (SELECT oid FROM pg_database WHERE datname = current_database()) AS own
	LEFT JOIN pg_database AS other ON other.oid = h.object_database) AS l
CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS x (next)
LEFT JOIN (VALUES
	('AccessShareLock', 'ACCESS SHARE', '{ACCESS EXCLUSIVE}'::text[]),
	('RowShareLock', 'ROW SHARE', '{EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('RowExclusiveLock', 'ROW EXCLUSIVE',
		'{SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('ShareUpdateExclusiveLock', 'SHARE UPDATE EXCLUSIVE',
		'{SHARE UPDATE EXCLUSIVE,SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('ShareLock', 'SHARE',
		'{ROW EXCLUSIVE,SHARE UPDATE EXCLUSIVE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('ShareRowExclusiveLock', 'SHARE ROW EXCLUSIVE',
		'{ROW EXCLUSIVE,SHARE UPDATE EXCLUSIVE,SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,'
		'ACCESS EXCLUSIVE}'),
	('ExclusiveLock', 'EXCLUSIVE',
		'{ROW SHARE,ROW EXCLUSIVE,SHARE UPDATE EXCLUSIVE,SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,'
		'ACCESS EXCLUSIVE}'),
	('AccessExclusiveLock', 'ACCESS EXCLUSIVE',
		'{ACCESS SHARE,ROW SHARE,ROW EXCLUSIVE,SHARE UPDATE EXCLUSIVE,SHARE,SHARE ROW EXCLUSIVE,'
		'EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('SIReadLock', 'SIREAD', '{}')
) AS m (mode, lock_mode, conflicts_with) ON m.mode = l.mode
LEFT JOIN pg_database AS d ON d.oid = l.object_database
LEFT JOIN pg_class AS c ON c.oid = l.object_relation AND l.resolvable
LEFT JOIN pg_namespace AS cn ON cn.oid = c.relnamespace
LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
LEFT JOIN pg_class AS t ON t.oid = coalesce(i.indrelid, c.oid)
LEFT JOIN LATERAL (
	SELECT array_agg(u.relid::oid ORDER BY u.level DESC)
	FROM pg_partition_ancestors(CASE WHEN t.relispartition THEN t.oid END)
		WITH ORDINALITY AS u (relid, level)) AS tree (path) ON true
LEFT JOIN pg_class AS r ON r.oid = coalesce(tree.path[1], t.oid)
LEFT JOIN pg_namespace AS rn ON rn.oid = r.relnamespace
LEFT JOIN pg_class AS b ON b.oid = tree.path[2]
LEFT JOIN LATERAL performance_schema.object_name(
	CASE WHEN l.locktype = 'object' AND l.resolvable THEN l.classid END, l.objid)
	AS o (type, schema, name) ON true
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
LEFT JOIN pg_prepared_xacts AS p ON l.pid IS NULL AND age(p.transaction) = l.prepared_age
LEFT JOIN (
	SELECT thread_os_id, max(thread_id)
	FROM performance_schema.threads
	GROUP BY thread_os_id) AS th (pid, thread_id) ON th.pid = coalesce(a.leader_pid, l.pid)
LEFT JOIN (
	SELECT thread_id, coalesce(max(event_id) FILTER (WHERE end_event_id IS NULL), max(event_id))
	FROM performance_schema.events_statements_current
	GROUP BY thread_id) AS e (thread_id, event_id) ON e.thread_id = th.thread_id;
COMMENT ON VIEW performance_schema.lock_instances IS
	'Heavyweight locks, held and awaited, with names; not in MySQL';
COMMENT ON COLUMN performance_schema.lock_instances.lock_id IS
	'Identity of the lock: what is locked, in which mode, by whom; the same as long as it lasts';
COMMENT ON COLUMN performance_schema.lock_instances.lock_tag IS
	'What is locked: the same for all who hold it or wait for it';
COMMENT ON COLUMN performance_schema.lock_instances.object_instance_begin IS
	'A number made from lock_id';
COMMENT ON COLUMN performance_schema.lock_instances.locktype IS
	'Kind of lock, as in pg_locks';
COMMENT ON COLUMN performance_schema.lock_instances.database_name IS
	'Database of the object, or of the session; NULL for objects of all databases';
COMMENT ON COLUMN performance_schema.lock_instances.object_type IS
	'TABLE, INDEX, SCHEMA, FUNCTION, USER LEVEL LOCK and so on; TRANSACTION';
COMMENT ON COLUMN performance_schema.lock_instances.object_schema IS
	'Schema of the object; of other databases NULL';
COMMENT ON COLUMN performance_schema.lock_instances.object_name IS
	'Name of the object; in other databases its oid; key of an advisory lock';
COMMENT ON COLUMN performance_schema.lock_instances.table_schema IS
	'Schema of table_name';
COMMENT ON COLUMN performance_schema.lock_instances.table_name IS
	'Table of the relation, page, row, or of the row waited for; the partitioned one';
COMMENT ON COLUMN performance_schema.lock_instances.partition_name IS
	'Partition of table_name';
COMMENT ON COLUMN performance_schema.lock_instances.subpartition_name IS
	'Partition of a partition, the innermost one';
COMMENT ON COLUMN performance_schema.lock_instances.index_name IS
	'Index, if an index is locked';
COMMENT ON COLUMN performance_schema.lock_instances.lock_data IS
	'Row as (page,number), page, or transaction';
COMMENT ON COLUMN performance_schema.lock_instances.lock_mode IS
	'Mode of the lock, as LOCK TABLE spells it';
COMMENT ON COLUMN performance_schema.lock_instances.conflicts_with IS
	'Modes that cannot be held by others at the same time';
COMMENT ON COLUMN performance_schema.lock_instances.lock_duration IS
	'STATEMENT, TRANSACTION or EXPLICIT; NULL where the server does not tell';
COMMENT ON COLUMN performance_schema.lock_instances.granted IS
	'Held, or awaited?';
COMMENT ON COLUMN performance_schema.lock_instances.fastpath IS
	'Kept by the session itself, not in the lock table?';
COMMENT ON COLUMN performance_schema.lock_instances.wait_started IS
	'When the wait began; NULL if granted';
COMMENT ON COLUMN performance_schema.lock_instances.pid IS
	'Process that holds it or waits; NULL for a prepared transaction';
COMMENT ON COLUMN performance_schema.lock_instances.session_pid IS
	'Its session: another process for parallel workers';
COMMENT ON COLUMN performance_schema.lock_instances.prepared_name IS
	'Name of a prepared transaction';
COMMENT ON COLUMN performance_schema.lock_instances.thread_id IS
	'Thread of the session, see threads';
COMMENT ON COLUMN performance_schema.lock_instances.event_id IS
	'Statement of that thread: the running one, else the last one';
COMMENT ON COLUMN performance_schema.lock_instances.transaction_id IS
	'Transaction that holds the lock or waits; NULL if it has changed nothing';
