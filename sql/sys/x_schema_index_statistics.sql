-- Rows per index of this database, by time of reading, raw. Which index found how many rows is the
-- server's count, which knows bitmap scans too; the time is ours and does not.
CREATE VIEW sys."x$schema_index_statistics" WITH (security_invoker = true) AS
SELECT
	s.schemaname::text AS table_schema,
	s.relname::text AS table_name,
	s.indexrelname::text AS index_name,
	s.idx_tup_read AS rows_selected,
	u.sum_timer_fetch AS select_latency,
	0::bigint AS rows_inserted,
	0::numeric(20) AS insert_latency,
	0::bigint AS rows_updated,
	0::numeric(20) AS update_latency,
	0::bigint AS rows_deleted,
	0::numeric(20) AS delete_latency,
	current_database()::text AS database_name
FROM pg_stat_user_indexes AS s
LEFT JOIN performance_schema.table_io_waits_summary_by_index_usage AS u
	ON u.index_oid = s.indexrelid::bigint AND u.database_oid = (
		SELECT d.oid::bigint FROM pg_database AS d WHERE d.datname = current_database())
ORDER BY u.sum_timer_fetch DESC NULLS LAST;
COMMENT ON VIEW sys."x$schema_index_statistics" IS
	'Rows per index of this database, by total time; times in picoseconds';
COMMENT ON COLUMN sys."x$schema_index_statistics".table_schema IS
	'Schema';
COMMENT ON COLUMN sys."x$schema_index_statistics".table_name IS
	'Table';
COMMENT ON COLUMN sys."x$schema_index_statistics".index_name IS
	'Index';
COMMENT ON COLUMN sys."x$schema_index_statistics".rows_selected IS
	'Rows it has found, in scans of any kind, since the statistics of the server were reset';
COMMENT ON COLUMN sys."x$schema_index_statistics".select_latency IS
	'Time of its index scans, picoseconds; without bitmap scans; NULL = none recorded';
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
	'Its database; not in MySQL';
GRANT SELECT ON sys."x$schema_index_statistics" TO PUBLIC;
