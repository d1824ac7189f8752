-- Tables of this database that sequential scans have read, most rows first, raw. By the server's own
-- counts, which tell these rows from those of bitmap scans; there is no time of them alone.
CREATE VIEW sys."x$schema_tables_with_full_table_scans" WITH (security_invoker = true) AS
SELECT
	s.schemaname::text AS object_schema,
	s.relname::text AS object_name,
	s.seq_tup_read AS rows_full_scanned,
	NULL::numeric(20) AS latency,
	current_database()::text AS database_name
FROM pg_stat_user_tables AS s
WHERE s.seq_tup_read > 0
ORDER BY rows_full_scanned DESC;
COMMENT ON VIEW sys."x$schema_tables_with_full_table_scans" IS
	'Tables read by sequential scans, most rows first';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".object_schema IS
	'Schema';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".object_name IS
	'Table';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".rows_full_scanned IS
	'Rows read so since the statistics of the server were reset';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".latency IS
	'Always NULL: sequential scans have no time of their own';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".database_name IS
	'Its database; not in MySQL';
GRANT SELECT ON sys."x$schema_tables_with_full_table_scans" TO PUBLIC;
