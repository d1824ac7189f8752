-- Rows per index, by total time, raw.
CREATE VIEW sys."x$schema_index_statistics" WITH (security_invoker = true) AS
SELECT
	s.object_schema AS table_schema,
	s.object_name AS table_name,
	s.index_name,
	s.count_fetch AS rows_selected,
	s.sum_timer_fetch AS select_latency,
	s.count_insert AS rows_inserted,
	s.sum_timer_insert AS insert_latency,
	s.count_update AS rows_updated,
	s.sum_timer_update AS update_latency,
	s.count_delete AS rows_deleted,
	s.sum_timer_delete AS delete_latency,
	CASE WHEN s.database_oid <> 0 THEN coalesce(d.datname, s.database_oid::text)
	END AS database_name
FROM performance_schema.table_io_waits_summary_by_index_usage AS s
LEFT JOIN pg_database AS d ON d.oid = s.database_oid::oid
WHERE s.index_name IS NOT NULL
ORDER BY s.sum_timer_wait DESC;
COMMENT ON VIEW sys."x$schema_index_statistics" IS
	'Rows per index, by total time; times in picoseconds';
COMMENT ON COLUMN sys."x$schema_index_statistics".table_schema IS
	'Schema';
COMMENT ON COLUMN sys."x$schema_index_statistics".table_name IS
	'Table';
COMMENT ON COLUMN sys."x$schema_index_statistics".index_name IS
	'Index';
COMMENT ON COLUMN sys."x$schema_index_statistics".rows_selected IS
	'Rows read by it';
COMMENT ON COLUMN sys."x$schema_index_statistics".select_latency IS
	'Time in which rows were read by it, picoseconds';
COMMENT ON COLUMN sys."x$schema_index_statistics".rows_inserted IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys."x$schema_index_statistics".insert_latency IS
	'Always 0: changes count for the table, picoseconds';
COMMENT ON COLUMN sys."x$schema_index_statistics".rows_updated IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys."x$schema_index_statistics".update_latency IS
	'Always 0: changes count for the table, picoseconds';
COMMENT ON COLUMN sys."x$schema_index_statistics".rows_deleted IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys."x$schema_index_statistics".delete_latency IS
	'Always 0: changes count for the table, picoseconds';
COMMENT ON COLUMN sys."x$schema_index_statistics".database_name IS
	'Its database, NULL = shared by all; not in MySQL';
GRANT SELECT ON sys."x$schema_index_statistics" TO PUBLIC;
