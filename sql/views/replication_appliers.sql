--@ plain Processes that apply changes from elsewhere; not in MySQL
--@ channel_name Name of the subscription; empty: the primary
--@ replication_type PHYSICAL or LOGICAL
--@ database_name Database of the subscription
--@ applier_type startup (replays WAL), apply, parallel apply (of one large transaction), or table synchronization
--@ pid Process, for who sees it
--@ leader_pid Process that a parallel applier works for
--@ table_oid Table that is copied
SELECT c.channel_name, c.replication_type, c.database_name, 'startup' AS applier_type,
	(SELECT a.pid FROM pg_stat_activity AS a WHERE a.backend_type = 'startup') AS pid, NULL::integer AS leader_pid,
	NULL::oid AS table_oid
FROM performance_schema.replication_channels AS c
WHERE c.replication_type = 'PHYSICAL'
UNION ALL
SELECT c.channel_name, c.replication_type, c.database_name,
	CASE WHEN w.relid IS NOT NULL THEN 'table synchronization' WHEN l.leader_pid IS NOT NULL THEN 'parallel apply' ELSE 'apply' END,
	w.pid, l.leader_pid, w.relid
FROM performance_schema.replication_channels AS c
JOIN pg_stat_subscription AS w ON w.subid = c.subscription_oid AND w.pid IS NOT NULL
CROSS JOIN LATERAL (SELECT (to_jsonb(w) ->> 'leader_pid')::integer) AS l (leader_pid)
