-- Rows and file I/O per table, by total time, raw.
-- File I/O is known for tables of this database: it includes that of indexes and TOAST tables.
CREATE VIEW sys."x$schema_table_statistics" WITH (security_invoker = true) AS
SELECT
	s.object_schema AS table_schema,
	s.object_name AS table_name,
	s.sum_timer_wait AS total_latency,
	s.count_fetch AS rows_fetched,
	s.sum_timer_fetch AS fetch_latency,
	s.count_insert AS rows_inserted,
	s.sum_timer_insert AS insert_latency,
	s.count_update AS rows_updated,
	s.sum_timer_update AS update_latency,
	s.count_delete AS rows_deleted,
	s.sum_timer_delete AS delete_latency,
	f.count_read AS io_read_requests,
	f.sum_number_of_bytes_read AS io_read,
	f.sum_timer_read AS io_read_latency,
	f.count_write AS io_write_requests,
	f.sum_number_of_bytes_write AS io_write,
	f.sum_timer_write AS io_write_latency,
	f.count_misc AS io_misc_requests,
	f.sum_timer_misc AS io_misc_latency,
	CASE WHEN s.database_oid <> 0 THEN coalesce(d.datname, s.database_oid::text)
	END AS database_name
FROM performance_schema.table_io_waits_summary_by_table AS s
LEFT JOIN pg_database AS d ON d.oid = s.database_oid::oid
LEFT JOIN sys."x$ps_schema_table_statistics_io" AS f
	ON f.table_schema = s.object_schema AND f.table_name = s.object_name
	AND (s.database_oid = 0 OR d.datname = current_database())
ORDER BY total_latency DESC;
COMMENT ON VIEW sys."x$schema_table_statistics" IS
	'Rows and file I/O per table, by total time; times in picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".table_schema IS
	'Schema';
COMMENT ON COLUMN sys."x$schema_table_statistics".table_name IS
	'Table';
COMMENT ON COLUMN sys."x$schema_table_statistics".total_latency IS
	'Time for all rows, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".rows_fetched IS
	'Rows read';
COMMENT ON COLUMN sys."x$schema_table_statistics".fetch_latency IS
	'Time in which rows were read, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".rows_inserted IS
	'Rows inserted';
COMMENT ON COLUMN sys."x$schema_table_statistics".insert_latency IS
	'Time in which rows were inserted, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".rows_updated IS
	'Rows updated';
COMMENT ON COLUMN sys."x$schema_table_statistics".update_latency IS
	'Time in which rows were updated, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".rows_deleted IS
	'Rows deleted';
COMMENT ON COLUMN sys."x$schema_table_statistics".delete_latency IS
	'Time in which rows were deleted, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_read_requests IS
	'Reads of its files; NULL in other databases';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_read IS
	'Bytes read';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_read_latency IS
	'Time of reads, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_write_requests IS
	'Writes';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_write IS
	'Bytes written';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_write_latency IS
	'Time of writes, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_misc_requests IS
	'Other operations: open, close, sync, stat';
COMMENT ON COLUMN sys."x$schema_table_statistics".io_misc_latency IS
	'Time of other operations, picoseconds';
COMMENT ON COLUMN sys."x$schema_table_statistics".database_name IS
	'Its database, NULL = shared by all; not in MySQL';
GRANT SELECT ON sys."x$schema_table_statistics" TO PUBLIC;
