--@ plain Stages of base backups that this server sends now
--@ id Backup, see clone_status
--@ stage Phase, as pg_stat_progress_basebackup names it
--@ state Completed, In Progress or Not Started; NULL, as what follows, for who does not see the session
--@ begin_time Always NULL: the server does not keep it
--@ end_time Always NULL
--@ threads 1 when it has begun, else 0
--@ estimate Bytes that will be sent, NULL if it is not estimated
--@ data Bytes that are sent
--@ network The same
--@ data_speed Always NULL
--@ network_speed Always NULL
--@ pid Process that sends it; not in MySQL
--@ tablespaces_total Tablespaces to be sent; not in MySQL
--@ tablespaces_streamed Tablespaces that are sent; not in MySQL
SELECT
	c.id,
	s.stage,
	CASE WHEN s.number < p.number THEN 'Completed' WHEN s.number = p.number THEN 'In Progress'
		WHEN p.number IS NOT NULL THEN 'Not Started' END AS state,
	NULL::timestamptz AS begin_time,
	NULL::timestamptz AS end_time,
	(s.number <= p.number)::integer AS threads,
	CASE s.stage WHEN 'streaming database files' THEN b.backup_total END AS estimate,
	CASE s.stage WHEN 'streaming database files' THEN b.backup_streamed END AS data,
	CASE s.stage WHEN 'streaming database files' THEN b.backup_streamed END AS network,
	NULL::integer AS data_speed,
	NULL::integer AS network_speed,
	c.pid,
	b.tablespaces_total,
	b.tablespaces_streamed
FROM performance_schema.clone_status AS c
JOIN pg_stat_progress_basebackup AS b ON b.pid = c.pid
CROSS JOIN (VALUES ('{initializing,waiting for checkpoint to finish,estimating backup size,streaming database files,'
	'waiting for wal archiving to finish,transferring wal files}'::text[])) AS k (stages)
CROSS JOIN LATERAL unnest(k.stages) WITH ORDINALITY AS s (stage, number)
CROSS JOIN LATERAL (SELECT array_position(k.stages, b.phase)) AS p (number)
