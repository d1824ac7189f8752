--@ plain Base backups that this server sends now
--@ id Number of the backup, by its process
--@ pid Process that sends it
--@ state Always In Progress: what has ended is not kept
--@ begin_time When it began, for who sees the session
--@ end_time Always NULL
--@ source Always LOCAL INSTANCE
--@ destination Host of the client, [local] for a Unix socket
--@ error_no Always NULL
--@ error_message Always NULL
--@ binlog_file Always NULL: the WAL file is told to the client only
--@ binlog_position Always NULL
--@ gtid_executed Always NULL: there are no GTIDs
--@ application_name Application name of the client; not in MySQL
SELECT
	row_number() OVER (ORDER BY b.pid)::integer AS id,
	b.pid,
	'In Progress' AS state,
	a.query_start AS begin_time,
	NULL::timestamptz AS end_time,
	'LOCAL INSTANCE' AS source,
	CASE WHEN a.backend_start IS NOT NULL THEN coalesce(host(a.client_addr), '[local]') END AS destination,
	NULL::integer AS error_no,
	NULL::text AS error_message,
	NULL::text AS binlog_file,
	NULL::bigint AS binlog_position,
	NULL::text AS gtid_executed,
	a.application_name
FROM pg_stat_progress_basebackup AS b
LEFT JOIN pg_stat_activity AS a ON a.pid = b.pid
