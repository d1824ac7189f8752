--@ plain What a subscription lets in: the publications it names, and its tables in this database
--@ channel_name Name of the subscription
--@ filter_name PUBLICATION, or REPLICATE_DO_TABLE as in MySQL
--@ filter_rule Name of the publication or the table
--@ configured_by Always CHANGE_REPLICATION_FILTER_FOR_CHANNEL: CREATE or ALTER SUBSCRIPTION
--@ active_since Always NULL: the server does not keep it
--@ counter Always NULL: not counted
--@ database_name Database of the subscription; not in MySQL
--@ synchronized For a table: is its first copy done? Not in MySQL
SELECT
	s.subname AS channel_name,
	f.filter_name,
	f.filter_rule,
	'CHANGE_REPLICATION_FILTER_FOR_CHANNEL' AS configured_by,
	NULL::timestamptz AS active_since,
	NULL::bigint AS counter,
	d.datname AS database_name,
	f.synchronized
FROM pg_subscription AS s
JOIN pg_database AS d ON d.oid = s.subdbid
CROSS JOIN LATERAL (
	SELECT 'PUBLICATION', p.name, NULL::boolean FROM unnest(s.subpublications) AS p (name)
	UNION ALL
	SELECT 'REPLICATE_DO_TABLE', n.nspname || '.' || k.relname, r.srsubstate IN ('s', 'r')
	FROM pg_subscription_rel AS r
	JOIN pg_class AS k ON k.oid = r.srrelid
	JOIN pg_namespace AS n ON n.oid = k.relnamespace
	WHERE r.srsubid = s.oid
) AS f (filter_name, filter_rule, synchronized)
