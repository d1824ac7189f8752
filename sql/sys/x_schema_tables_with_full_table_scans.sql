-- Tables read without an index, most rows first, raw.
CREATE VIEW sys."x$schema_tables_with_full_table_scans" WITH (security_invoker = true) AS
SELECT
	s.object_schema,
	s.object_name,
	s.count_read AS rows_full_scanned,
	s.sum_timer_read AS latency,
	CASE WHEN s.database_oid <> 0 THEN coalesce(d.datname, s.database_oid::text)
	END AS database_name
FROM performance_schema.table_io_waits_summary_by_index_usage AS s
LEFT JOIN pg_database AS d ON d.oid = s.database_oid::oid
WHERE s.index_name IS NULL AND s.count_read > 0
ORDER BY rows_full_scanned DESC;
COMMENT ON VIEW sys."x$schema_tables_with_full_table_scans" IS
	'Tables read without an index, most rows first; times in picoseconds';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".object_schema IS
	'Schema';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".object_name IS
	'Table';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".rows_full_scanned IS
	'Rows read so';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".latency IS
	'Time for them, picoseconds';
COMMENT ON COLUMN sys."x$schema_tables_with_full_table_scans".database_name IS
	'Its database, NULL = shared by all; not in MySQL';
GRANT SELECT ON sys."x$schema_tables_with_full_table_scans" TO PUBLIC;
