--@ plain The process of each subscription that hands changes to other processes, while it does
--@ channel_name Name of the subscription
--@ thread_id Thread
--@ service_state Always ON: without the process there is no row
--@ last_error_number Always NULL: the server keeps no error; it is in its log
--@ last_error_message Always NULL
--@ last_error_timestamp Always NULL
--@ last_processed_transaction Position that the sender has reported last
--@ last_processed_transaction_original_commit_timestamp Always NULL
--@ last_processed_transaction_immediate_commit_timestamp When the sender reported that position, by its clock
--@ last_processed_transaction_start_buffer_timestamp When the last message was sent, by the sender's clock
--@ last_processed_transaction_end_buffer_timestamp When it arrived
--@ processing_transaction Always NULL: not told
--@ processing_transaction_original_commit_timestamp Always NULL
--@ processing_transaction_immediate_commit_timestamp Always NULL
--@ processing_transaction_start_buffer_timestamp Always NULL
--@ database_name Database of the subscription; not in MySQL
--@ pid Process; not in MySQL
SELECT
	c.channel_name,
	t.thread_id,
	'ON' AS service_state,
	NULL::integer AS last_error_number,
	NULL::text AS last_error_message,
	NULL::timestamptz AS last_error_timestamp,
	c.reported::text AS last_processed_transaction,
	NULL::timestamptz AS last_processed_transaction_original_commit_timestamp,
	c.reported_time AS last_processed_transaction_immediate_commit_timestamp,
	c.sent_time AS last_processed_transaction_start_buffer_timestamp,
	c.received_time AS last_processed_transaction_end_buffer_timestamp,
	NULL::text AS processing_transaction,
	NULL::timestamptz AS processing_transaction_original_commit_timestamp,
	NULL::timestamptz AS processing_transaction_immediate_commit_timestamp,
	NULL::timestamptz AS processing_transaction_start_buffer_timestamp,
	c.database_name,
	c.receiver_pid AS pid
FROM performance_schema.replication_channels AS c
LEFT JOIN performance_schema.threads AS t ON t.thread_os_id = c.receiver_pid
WHERE c.receiver_pid IN (SELECT a.leader_pid FROM performance_schema.replication_appliers AS a)
