-- One look at each position after the other: nothing is stopped meanwhile.
--@ plain Where the server's logs are, for a backup that is made without its help
--@ server_uuid System identifier
--@ local WAL that is written now, or of a standby replayed last: position, file and timeline
--@ replication Channels, see replication_channels: how far each has received
--@ storage_engines Positions of the checkpoint from which a crash would be recovered, and of what is on disk
SELECT
	s.system_identifier::text AS server_uuid,
	json_build_object(
		'wal_lsn', l.lsn,
		'wal_file', CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(l.lsn) END,
		'timeline', c.timeline_id) AS local,
	json_build_object('channels', (
		SELECT coalesce(json_agg(json_build_object(
			'channel_name', r.channel_name, 'database_name', r.database_name, 'received_lsn', r.received,
			'reported_lsn', r.reported) ORDER BY r.database_name, r.channel_name), '[]')
		FROM performance_schema.replication_channels AS r)) AS replication,
	json_build_object('PostgreSQL', json_build_object(
		'LSN', CASE WHEN pg_is_in_recovery() THEN l.lsn ELSE pg_current_wal_flush_lsn() END,
		'LSN_checkpoint', c.redo_lsn)) AS storage_engines
FROM pg_control_system() AS s
CROSS JOIN pg_control_checkpoint() AS c
CROSS JOIN LATERAL (
	SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS lsn
) AS l
