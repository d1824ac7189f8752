-- A standby has one channel, without a name as MySQL's default one; each subscription is one more. Columns that only younger
-- servers have are taken out of the whole row.
--@ plain Where this server gets changes from: the primary of a standby, and subscriptions; not in MySQL
--@ channel_name Name of the subscription; empty: the primary
--@ replication_type PHYSICAL or LOGICAL
--@ database_name Database of the subscription
--@ subscription_oid Subscription, as in pg_subscription
--@ receiver_pid Process that receives, NULL if there is none now
--@ receiver_state ON, CONNECTING (shall run, but does not receive now) or OFF (disabled, or on a standby); NULL if the reader may not know it
--@ received Position up to which WAL was received
--@ reported Position that the sender has reported last
--@ reported_time When the sender said so, by its clock
--@ sent_time When the last message was sent, by the sender's clock
--@ received_time When it arrived
SELECT
	'' AS channel_name,
	'PHYSICAL' AS replication_type,
	NULL::name AS database_name,
	NULL::oid AS subscription_oid,
	w.pid AS receiver_pid,
	CASE WHEN w.pid IS NULL THEN 'CONNECTING' WHEN w.status = 'streaming' THEN 'ON'
		WHEN w.status IS NOT NULL THEN 'CONNECTING' END AS receiver_state,
	w.flushed_lsn AS received,
	w.latest_end_lsn AS reported,
	w.latest_end_time AS reported_time,
	w.last_msg_send_time AS sent_time,
	w.last_msg_receipt_time AS received_time
FROM (SELECT pg_is_in_recovery()) AS r (standby)
LEFT JOIN pg_stat_wal_receiver AS w ON true
WHERE r.standby
UNION ALL
SELECT
	s.subname,
	'LOGICAL',
	d.datname,
	s.oid,
	w.pid,
	CASE WHEN NOT s.subenabled OR pg_is_in_recovery() THEN 'OFF' WHEN w.pid IS NULL THEN 'CONNECTING' ELSE 'ON' END,
	w.received_lsn,
	w.latest_end_lsn,
	w.latest_end_time,
	w.last_msg_send_time,
	w.last_msg_receipt_time
FROM pg_subscription AS s
JOIN pg_database AS d ON d.oid = s.subdbid
LEFT JOIN pg_stat_subscription AS w
	ON w.subid = s.oid AND w.pid IS NOT NULL AND w.relid IS NULL AND to_jsonb(w) ->> 'leader_pid' IS NULL
