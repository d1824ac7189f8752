--@ plain How changes from elsewhere are applied here
--@ channel_name Name of the subscription; empty: the primary
--@ desired_delay Seconds that a standby waits on purpose: recovery_min_apply_delay
--@ privilege_checks_user Owner of the subscription, who bounds what it may change; NULL for a standby
--@ require_row_format YES for a subscription: rows are sent, not statements
--@ require_table_primary_key_check Always OFF: a table without a key can have another replica identity
--@ assign_gtids_to_anonymous_transactions_type Always OFF
--@ assign_gtids_to_anonymous_transactions_value Always NULL
--@ replication_type PHYSICAL or LOGICAL; not in MySQL
--@ database_name Database of the subscription; not in MySQL
--@ two_phase Are prepared transactions applied when they are prepared? Not in MySQL
--@ disable_on_error Is the subscription disabled by an error? Not in MySQL
--@ synchronous_commit synchronous_commit of the applier; not in MySQL
SELECT
	c.channel_name,
	CASE c.replication_type WHEN 'LOGICAL' THEN 0 ELSE
		(SELECT g.setting::numeric / 1000 FROM pg_settings AS g WHERE g.name = 'recovery_min_apply_delay') END AS desired_delay,
	o.rolname AS privilege_checks_user,
	CASE c.replication_type WHEN 'LOGICAL' THEN 'YES' ELSE 'NO' END AS require_row_format,
	'OFF' AS require_table_primary_key_check,
	'OFF' AS assign_gtids_to_anonymous_transactions_type,
	NULL::text AS assign_gtids_to_anonymous_transactions_value,
	c.replication_type,
	c.database_name,
	s.subtwophasestate <> 'd' AS two_phase,
	s.subdisableonerr AS disable_on_error,
	s.subsynccommit AS synchronous_commit
FROM performance_schema.replication_channels AS c
LEFT JOIN pg_subscription AS s ON s.oid = c.subscription_oid
LEFT JOIN pg_roles AS o ON o.oid = s.subowner
