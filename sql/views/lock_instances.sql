-- Every lock of pg_locks with names: what metadata_locks, data_locks and lock_waits are made of.
--
-- pg_locks copies the lock table, partition by partition, before it returns its first row: no lock
-- of the lock manager is held while rows are emitted, joined or sent. Names and threads are looked
-- up after that, so the owner of a lock may have gone meanwhile: its columns are NULL then.
CREATE VIEW performance_schema.lock_instances WITH (security_invoker = true) AS
SELECT
	concat_ws('/', l.tag, l.mode, l.virtualtransaction, l.pid) AS lock_id,
	l.tag AS lock_tag,
	hashtextextended(concat_ws('/', l.tag, l.mode, l.virtualtransaction, l.pid), 0)
		& 9223372036854775807 AS object_instance_begin,
	l.locktype,
	CASE WHEN l.object_database = 0 THEN NULL
		ELSE coalesce(d.datname, a.datname, p.database) END AS database_name,
	CASE
		WHEN l.locktype = 'extend' THEN 'RELATION EXTENSION'
		WHEN l.object_relation IS NOT NULL THEN
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
	CASE WHEN l.object_relation IS NOT NULL THEN c.nspname
		WHEN l.classid = 'pg_namespace'::regclass THEN o.name ELSE o.schema END AS object_schema,
	CASE
		WHEN l.object_relation IS NOT NULL THEN
			coalesce(c.relname, 'oid ' || l.object_relation || l.elsewhere)
		WHEN l.locktype = 'object' AND l.classid = 'pg_namespace'::regclass AND o.name IS NOT NULL
			THEN NULL
		WHEN l.locktype = 'object' THEN
			coalesce(o.name, o.identity, l.classid::regclass || ' oid ' || l.objid || l.elsewhere)
		WHEN l.locktype = 'frozenid' THEN d.datname::text
		WHEN l.locktype IN ('advisory', 'userlock') THEN
			CASE l.objsubid
				WHEN 1 THEN ((l.classid::bigint << 32) | l.objid::bigint)::text
				WHEN 2 THEN l.classid::bigint::bit(32)::integer || ', '
					|| l.objid::bigint::bit(32)::integer
				ELSE concat_ws(', ', l.classid, l.objid, l.objsubid)
			END || l.elsewhere
	END AS object_name,
	coalesce(r.nspname, t.nspname, c.nspname) AS table_schema,
	CASE WHEN l.object_relation IS NOT NULL THEN
		coalesce(r.relname, t.relname, c.relname, 'oid ' || l.object_relation || l.elsewhere)
	END AS table_name,
	CASE cardinality(tree.relids) WHEN 2 THEN coalesce(t.relname, c.relname) ELSE b.relname END
		AS partition_name,
	CASE WHEN cardinality(tree.relids) > 2 THEN coalesce(t.relname, c.relname) END
		AS subpartition_name,
	CASE WHEN c.relkind IN ('i', 'I') THEN c.relname END AS index_name,
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
		k.*,
		coalesce(k.database, k.row_of_wait[1]::oid) AS object_database,
		coalesce(k.relation, k.row_of_wait[2]::oid) AS object_relation,
		coalesce(k.database, k.row_of_wait[1]::oid) IN (0, own.oid) AS resolvable,
		CASE WHEN coalesce(k.database, k.row_of_wait[1]::oid) IN (0, own.oid) THEN ''
			ELSE ' of database ' || coalesce(other.datname, k.database::text) END AS elsewhere
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
			-- The oldest transaction id of a prepared transaction is the one it is known by.
			CASE WHEN s.pid IS NULL THEN
				max(age(s.transactionid)) FILTER (WHERE s.locktype = 'transactionid') OVER holder
			END AS prepared_age
		FROM pg_locks AS s
		WINDOW holder AS (PARTITION BY s.pid, s.virtualtransaction)) AS k
	CROSS JOIN (SELECT oid FROM pg_database WHERE datname = current_database()) AS own
	LEFT JOIN pg_database AS other ON other.oid = k.database) AS l
CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) AS x
LEFT JOIN (VALUES
	('AccessShareLock', 'ACCESS SHARE', '{ACCESS EXCLUSIVE}'::text[]),
	('RowShareLock', 'ROW SHARE', '{EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('RowExclusiveLock', 'ROW EXCLUSIVE',
		'{SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('ShareUpdateExclusiveLock', 'SHARE UPDATE EXCLUSIVE',
		'{SHARE UPDATE EXCLUSIVE,SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('ShareLock', 'SHARE', '{ROW EXCLUSIVE,SHARE UPDATE EXCLUSIVE,SHARE ROW EXCLUSIVE,'
		'EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('ShareRowExclusiveLock', 'SHARE ROW EXCLUSIVE', '{ROW EXCLUSIVE,SHARE UPDATE EXCLUSIVE,'
		'SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('ExclusiveLock', 'EXCLUSIVE', '{ROW SHARE,ROW EXCLUSIVE,SHARE UPDATE EXCLUSIVE,SHARE,'
		'SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('AccessExclusiveLock', 'ACCESS EXCLUSIVE', '{ACCESS SHARE,ROW SHARE,ROW EXCLUSIVE,'
		'SHARE UPDATE EXCLUSIVE,SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'),
	('SIReadLock', 'SIREAD', '{}')
) AS m (mode, lock_mode, conflicts_with) ON m.mode = l.mode
LEFT JOIN pg_database AS d ON d.oid = l.object_database
LEFT JOIN (pg_class JOIN pg_namespace AS n ON n.oid = relnamespace) AS c
	ON c.oid = l.object_relation AND l.resolvable
