--@ plain State of the connections over which this server gets changes
--@ channel_name Name of the subscription; empty: the primary
--@ group_name Always empty: there are no groups
--@ source_uuid System identifier, which a standby has in common with its primary; of a subscription not known
--@ thread_id Thread of the receiver
--@ service_state ON, CONNECTING or OFF
--@ count_received_heartbeats Always NULL: not counted
--@ last_heartbeat_timestamp When the last message arrived
--@ received_transaction_set Position up to which WAL was received
--@ last_error_number Always NULL: the server keeps no error; it is in its log
--@ last_error_message Always NULL
--@ last_error_timestamp Always NULL
--@ last_queued_transaction Position that the sender has reported last
--@ last_queued_transaction_original_commit_timestamp Always NULL
--@ last_queued_transaction_immediate_commit_timestamp When the sender reported that position, by its clock
--@ last_queued_transaction_start_queue_timestamp When the last message was sent, by the sender's clock
--@ last_queued_transaction_end_queue_timestamp When it arrived
--@ queueing_transaction Always NULL: WAL comes in pages, not in transactions
--@ queueing_transaction_original_commit_timestamp Always NULL
--@ queueing_transaction_immediate_commit_timestamp Always NULL
--@ queueing_transaction_start_queue_timestamp Always NULL
--@ replication_type PHYSICAL or LOGICAL; not in MySQL
--@ database_name Database of the subscription; not in MySQL
--@ pid Process of the receiver; not in MySQL
SELECT
	c.channel_name,
	'' AS group_name,
	CASE c.replication_type WHEN 'PHYSICAL' THEN (SELECT i.system_identifier FROM pg_control_system() AS i)::text END AS source_uuid,
	t.thread_id,
	c.receiver_state AS service_state,
	NULL::bigint AS count_received_heartbeats,
	c.received_time AS last_heartbeat_timestamp,
	c.received::text AS received_transaction_set,
	NULL::integer AS last_error_number,
	NULL::text AS last_error_message,
	NULL::timestamptz AS last_error_timestamp,
	c.reported::text AS last_queued_transaction,
	NULL::timestamptz AS last_queued_transaction_original_commit_timestamp,
	c.reported_time AS last_queued_transaction_immediate_commit_timestamp,
	c.sent_time AS last_queued_transaction_start_queue_timestamp,
	c.received_time AS last_queued_transaction_end_queue_timestamp,
	NULL::text AS queueing_transaction,
	NULL::timestamptz AS queueing_transaction_original_commit_timestamp,
	NULL::timestamptz AS queueing_transaction_immediate_commit_timestamp,
	NULL::timestamptz AS queueing_transaction_start_queue_timestamp,
	c.replication_type,
	c.database_name,
	c.receiver_pid AS pid
FROM performance_schema.replication_channels AS c
LEFT JOIN performance_schema.threads AS t ON t.thread_os_id = c.receiver_pid
