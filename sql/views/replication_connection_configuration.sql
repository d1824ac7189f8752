-- The password is in no column.
--@ plain How this server connects to where it gets changes from
--@ channel_name Name of the subscription; empty: the primary
--@ host Host; for who may read the connection string, as the next ones
--@ port Port, the first of a list
--@ user_name User (MySQL: USER)
--@ network_interface Always NULL: the system chooses
--@ auto_position Always 1: a stream goes on where it was left
--@ ssl_allowed NO for sslmode = disable, else YES
--@ ssl_ca_file sslrootcert
--@ ssl_ca_path Always NULL: there is a file only
--@ ssl_certificate sslcert
--@ ssl_cipher Always NULL: not a matter of the client
--@ ssl_key Path of the key, sslkey
--@ ssl_verify_server_certificate YES for sslmode = verify-ca and verify-full
--@ ssl_crl_file sslcrl
--@ ssl_crl_path sslcrldir
--@ connection_retry_interval Seconds between attempts: wal_retrieve_retry_interval
--@ connection_retry_count Always NULL: without end
--@ heartbeat_interval Seconds between reports to the sender: wal_receiver_status_interval
--@ tls_version Least version, ssl_min_protocol_version
--@ public_key_path Always NULL
--@ get_public_key Always NULL
--@ network_namespace Always NULL
--@ compression_algorithm Always uncompressed
--@ zstd_compression_level Always NULL
--@ tls_ciphersuites Always NULL
--@ source_connection_auto_failover 1 if the connection string names more hosts than one
--@ gtid_only Always NULL: there are no GTIDs
--@ replication_type PHYSICAL or LOGICAL; not in MySQL
--@ database_name Database of the subscription; not in MySQL
--@ slot_name Replication slot at the sender; not in MySQL
--@ publications Publications that are subscribed to; not in MySQL
SELECT
	c.channel_name,
	coalesce(performance_schema.conninfo_value(i.conninfo, 'host'), w.sender_host) AS host,
	coalesce(substring(performance_schema.conninfo_value(i.conninfo, 'port') FROM '^\d{1,5}')::integer, w.sender_port) AS port,
	performance_schema.conninfo_value(i.conninfo, 'user') AS user_name,
	NULL::text AS network_interface,
	'1' AS auto_position,
	CASE WHEN i.conninfo IS NULL THEN NULL WHEN m.sslmode = 'disable' THEN 'NO' ELSE 'YES' END AS ssl_allowed,
	performance_schema.conninfo_value(i.conninfo, 'sslrootcert') AS ssl_ca_file,
	NULL::text AS ssl_ca_path,
	performance_schema.conninfo_value(i.conninfo, 'sslcert') AS ssl_certificate,
	NULL::text AS ssl_cipher,
	performance_schema.conninfo_value(i.conninfo, 'sslkey') AS ssl_key,
	CASE WHEN i.conninfo IS NULL THEN NULL WHEN m.sslmode IN ('verify-ca', 'verify-full') THEN 'YES' ELSE 'NO' END
		AS ssl_verify_server_certificate,
	performance_schema.conninfo_value(i.conninfo, 'sslcrl') AS ssl_crl_file,
	performance_schema.conninfo_value(i.conninfo, 'sslcrldir') AS ssl_crl_path,
	(SELECT g.setting::numeric / 1000 FROM pg_settings AS g WHERE g.name = 'wal_retrieve_retry_interval')
		AS connection_retry_interval,
	NULL::bigint AS connection_retry_count,
	(SELECT g.setting::double precision FROM pg_settings AS g WHERE g.name = 'wal_receiver_status_interval')
		AS heartbeat_interval,
	performance_schema.conninfo_value(i.conninfo, 'ssl_min_protocol_version') AS tls_version,
	NULL::text AS public_key_path,
	NULL::text AS get_public_key,
	NULL::text AS network_namespace,
	'uncompressed' AS compression_algorithm,
	NULL::integer AS zstd_compression_level,
	NULL::text AS tls_ciphersuites,
	CASE WHEN i.conninfo IS NULL THEN NULL
		WHEN performance_schema.conninfo_value(i.conninfo, 'host') LIKE '%,%' OR i.conninfo ~ '^\s*postgres(ql)?://'
			AND regexp_replace(i.conninfo, '^\s*postgres(ql)?://([^@/]*@)?', '') ~ '^[^/?]*,' THEN '1'
		ELSE '0' END AS source_connection_auto_failover,
	NULL::text AS gtid_only,
	c.replication_type,
	c.database_name,
	coalesce(s.subslotname, w.slot_name) AS slot_name,
	s.subpublications AS publications
FROM performance_schema.replication_channels AS c
LEFT JOIN pg_subscription AS s ON s.oid = c.subscription_oid
LEFT JOIN performance_schema.subscription_sources() AS o ON o.subscription = c.subscription_oid
LEFT JOIN pg_stat_wal_receiver AS w ON c.replication_type = 'PHYSICAL'
LEFT JOIN pg_settings AS p ON p.name = 'primary_conninfo' AND c.replication_type = 'PHYSICAL'
CROSS JOIN LATERAL (SELECT coalesce(o.conninfo, nullif(p.setting, ''))) AS i (conninfo)
CROSS JOIN LATERAL (SELECT performance_schema.conninfo_value(i.conninfo, 'sslmode')) AS m (sslmode)
