-- Tables that sequential scans have read, most rows first, for people.
CREATE VIEW sys.schema_tables_with_full_table_scans WITH (security_invoker = true) AS
SELECT
	s.object_schema,
	s.object_name,
	s.rows_full_scanned,
	sys.format_time(s.latency) AS latency,
	s.database_name
FROM sys."x$schema_tables_with_full_table_scans" AS s
ORDER BY s.rows_full_scanned DESC;
COMMENT ON VIEW sys.schema_tables_with_full_table_scans IS
	'Tables read by sequential scans, most rows first';
COMMENT ON COLUMN sys.schema_tables_with_full_table_scans.object_schema IS
	'Schema';
COMMENT ON COLUMN sys.schema_tables_with_full_table_scans.object_name IS
	'Table';
COMMENT ON COLUMN sys.schema_tables_with_full_table_scans.rows_full_scanned IS
	'Rows read so since the statistics of the server were reset';
COMMENT ON COLUMN sys.schema_tables_with_full_table_scans.latency IS
	'Always NULL: sequential scans have no time of their own';
COMMENT ON COLUMN sys.schema_tables_with_full_table_scans.database_name IS
	'Its database; not in MySQL';
GRANT SELECT ON sys.schema_tables_with_full_table_scans TO PUBLIC;
