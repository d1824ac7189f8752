--@ plain Processes that apply changes from elsewhere, and how far they are
--@ channel_name Name of the subscription; empty: the primary
--@ worker_id Number of the process in its channel, from 0 on
--@ thread_id Thread
--@ service_state ON; OFF if replay is paused
--@ last_error_number Always NULL: the server keeps no error; it is in its log
--@ last_error_message Always NULL
--@ last_error_timestamp Always NULL
--@ last_applied_transaction Position up to which a standby has replayed; of a subscription, that its applier has reported
--@ last_applied_transaction_original_commit_timestamp When the transaction that a standby has replayed last was committed
--@ last_applied_transaction_immediate_commit_timestamp The same: of the primary
--@ last_applied_transaction_start_apply_timestamp Always NULL
--@ last_applied_transaction_end_apply_timestamp When a subscription's sender reported the position, by its clock
--@ applying_transaction Always NULL: not told
--@ applying_transaction_original_commit_timestamp Always NULL
--@ applying_transaction_immediate_commit_timestamp Always NULL
--@ applying_transaction_start_apply_timestamp Always NULL
--@ last_applied_transaction_retries_count Always NULL: see replication_applier_status
--@ last_applied_transaction_last_transient_error_number Always NULL
--@ last_applied_transaction_last_transient_error_message Always NULL
--@ last_applied_transaction_last_transient_error_timestamp Always NULL
--@ applying_transaction_retries_count Always NULL
--@ applying_transaction_last_transient_error_number Always NULL
--@ applying_transaction_last_transient_error_message Always NULL
--@ applying_transaction_last_transient_error_timestamp Always NULL
--@ applier_type startup, apply, parallel apply or table synchronization; not in MySQL
--@ database_name Database of the subscription; not in MySQL
--@ pid Process, for who sees it; not in MySQL
--@ table_oid Table that is copied; not in MySQL
SELECT
	a.channel_name,
	row_number() OVER (PARTITION BY a.database_name, a.channel_name ORDER BY a.applier_type, a.pid) - 1 AS worker_id,
	t.thread_id,
	CASE a.applier_type WHEN 'startup' THEN s.service_state ELSE 'ON' END AS service_state,
	NULL::integer AS last_error_number,
	NULL::text AS last_error_message,
	NULL::timestamptz AS last_error_timestamp,
	CASE WHEN a.applier_type IN ('startup', 'apply') THEN s.applied::text END AS last_applied_transaction,
	s.applied_time AS last_applied_transaction_original_commit_timestamp,
	s.applied_time AS last_applied_transaction_immediate_commit_timestamp,
	NULL::timestamptz AS last_applied_transaction_start_apply_timestamp,
	CASE a.applier_type WHEN 'apply' THEN c.reported_time END AS last_applied_transaction_end_apply_timestamp,
	NULL::text AS applying_transaction,
	NULL::timestamptz AS applying_transaction_original_commit_timestamp,
	NULL::timestamptz AS applying_transaction_immediate_commit_timestamp,
	NULL::timestamptz AS applying_transaction_start_apply_timestamp,
	NULL::bigint AS last_applied_transaction_retries_count,
	NULL::integer AS last_applied_transaction_last_transient_error_number,
	NULL::text AS last_applied_transaction_last_transient_error_message,
	NULL::timestamptz AS last_applied_transaction_last_transient_error_timestamp,
	NULL::bigint AS applying_transaction_retries_count,
	NULL::integer AS applying_transaction_last_transient_error_number,
	NULL::text AS applying_transaction_last_transient_error_message,
	NULL::timestamptz AS applying_transaction_last_transient_error_timestamp,
	a.applier_type,
	a.database_name,
	a.pid,
	a.table_oid
FROM performance_schema.replication_appliers AS a
JOIN performance_schema.replication_channels AS c
	ON c.channel_name = a.channel_name AND c.database_name IS NOT DISTINCT FROM a.database_name
JOIN performance_schema.replication_applier_status AS s
	ON s.channel_name = a.channel_name AND s.database_name IS NOT DISTINCT FROM a.database_name
LEFT JOIN performance_schema.threads AS t ON t.thread_os_id = a.pid
