--@ plain Are changes from elsewhere applied here, and how far?
--@ channel_name Name of the subscription; empty: the primary
--@ service_state ON; OFF if replay is paused, or the subscription has no process now
--@ remaining_delay Always NULL: the server does not tell how much of the delay is left
--@ count_transactions_retries Times that a subscription failed to apply changes and began again; 0 for a standby
--@ replication_type PHYSICAL or LOGICAL; not in MySQL
--@ database_name Database of the subscription; not in MySQL
--@ applied Position up to which changes are applied; of a subscription, that it has reported to the sender; not in MySQL
--@ applied_time When the transaction that a standby has replayed last was committed at the primary; not in MySQL
--@ bytes_behind Bytes received and not yet replayed; not in MySQL
SELECT
	c.channel_name,
	CASE WHEN c.replication_type = 'LOGICAL' THEN CASE WHEN c.receiver_pid IS NULL THEN 'OFF' ELSE 'ON' END
		WHEN pg_is_wal_replay_paused() THEN 'OFF' ELSE 'ON' END AS service_state,
	NULL::bigint AS remaining_delay,
	coalesce(e.apply_error_count, 0) AS count_transactions_retries,
	c.replication_type,
	c.database_name,
	CASE c.replication_type WHEN 'LOGICAL' THEN c.reported ELSE pg_last_wal_replay_lsn() END AS applied,
	CASE c.replication_type WHEN 'PHYSICAL' THEN pg_last_xact_replay_timestamp() END AS applied_time,
	CASE c.replication_type WHEN 'PHYSICAL' THEN greatest(c.received - pg_last_wal_replay_lsn(), 0) END AS bytes_behind
FROM performance_schema.replication_channels AS c
LEFT JOIN pg_stat_subscription_stats AS e ON e.subid = c.subscription_oid
