-- VACUUM removes no row version that a transaction here might still see. The oldest row is the one to end.
--@ view What keeps VACUUM from removing dead rows, oldest first; not in MySQL
--@ order s.xmin_age DESC, s.catalog_xmin_age DESC
--@ kind session, prepared transaction, replication slot, standby
--@ name Application, global transaction id, slot
--@ pid Its process; NULL for a prepared transaction, and a slot that nobody uses
--@ user_name User
--@ db Database; NULL holds back all
--@ since When its transaction began, or was prepared
--@ age [age] How long ago
--@ xmin_age Transactions since the oldest one it may see
--@ catalog_xmin_age The same of the server's catalogs alone, of a slot
--@ query [statement] Statement that the session executes, or the last one
--@ sql_end What ends it
SELECT
	h.kind, h.name, h.pid, h.user_name, h.db, h.since,
	clock_timestamp() - h.since AS age,
	age(h.xmin) AS xmin_age,
	age(h.catalog_xmin) AS catalog_xmin_age,
	h.query,
	h.sql_end
FROM (
	SELECT
		'session' AS kind, a.application_name AS name, a.pid, a.usename::text AS user_name, a.datname::text AS db,
		a.xact_start AS since,
		CASE WHEN age(a.backend_xid) > coalesce(age(a.backend_xmin), 0) THEN a.backend_xid ELSE a.backend_xmin END AS xmin,
		NULL::xid AS catalog_xmin,
		coalesce(p.current_statement, p.last_statement) AS query,
		format('SELECT pg_terminate_backend(%s)', a.pid) AS sql_end
	FROM pg_stat_activity AS a
	LEFT JOIN sys."x$processlist" AS p ON p.conn_id = a.pid
	WHERE (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL) AND a.backend_type <> 'walsender'
	UNION ALL
	SELECT
		'prepared transaction', x.gid, NULL, x.owner::text, x.database::text, x.prepared, x.transaction, NULL, NULL,
		format('ROLLBACK PREPARED %L', x.gid)
	FROM pg_prepared_xacts AS x
	UNION ALL
	SELECT
		'replication slot', r.slot_name::text, r.active_pid, NULL, NULL, NULL, r.xmin, r.catalog_xmin, NULL,
		format('SELECT pg_drop_replication_slot(%L)', r.slot_name)
	FROM pg_replication_slots AS r
	WHERE r.xmin IS NOT NULL OR r.catalog_xmin IS NOT NULL
	UNION ALL
	SELECT
		'standby', r.application_name, r.pid, r.usename::text, NULL, NULL, r.backend_xmin, NULL, NULL,
		format('SELECT pg_terminate_backend(%s)', r.pid)
	FROM pg_stat_replication AS r
	WHERE r.backend_xmin IS NOT NULL) AS h
ORDER BY xmin_age DESC, catalog_xmin_age DESC
