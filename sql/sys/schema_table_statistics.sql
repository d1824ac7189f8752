-- Rows and file I/O per table, by total time, for people.
CREATE VIEW sys.schema_table_statistics WITH (security_invoker = true) AS
SELECT
	s.table_schema,
	s.table_name,
	sys.format_time(s.total_latency) AS total_latency,
	s.rows_fetched,
	sys.format_time(s.fetch_latency) AS fetch_latency,
	s.rows_inserted,
	sys.format_time(s.insert_latency) AS insert_latency,
	s.rows_updated,
	sys.format_time(s.update_latency) AS update_latency,
	s.rows_deleted,
	sys.format_time(s.delete_latency) AS delete_latency,
	s.io_read_requests,
	sys.format_bytes(s.io_read) AS io_read,
	sys.format_time(s.io_read_latency) AS io_read_latency,
	s.io_write_requests,
	sys.format_bytes(s.io_write) AS io_write,
	sys.format_time(s.io_write_latency) AS io_write_latency,
	s.io_misc_requests,
	sys.format_time(s.io_misc_latency) AS io_misc_latency,
	s.database_name
FROM sys."x$schema_table_statistics" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.schema_table_statistics IS
	'Rows and file I/O per table, by total time, with units';
COMMENT ON COLUMN sys.schema_table_statistics.table_schema IS
	'Schema';
COMMENT ON COLUMN sys.schema_table_statistics.table_name IS
	'Table';
COMMENT ON COLUMN sys.schema_table_statistics.total_latency IS
	'Time for all rows';
COMMENT ON COLUMN sys.schema_table_statistics.rows_fetched IS
	'Rows read';
COMMENT ON COLUMN sys.schema_table_statistics.fetch_latency IS
	'Time in which rows were read';
COMMENT ON COLUMN sys.schema_table_statistics.rows_inserted IS
	'Rows inserted';
COMMENT ON COLUMN sys.schema_table_statistics.insert_latency IS
	'Time in which rows were inserted';
COMMENT ON COLUMN sys.schema_table_statistics.rows_updated IS
	'Rows updated';
COMMENT ON COLUMN sys.schema_table_statistics.update_latency IS
	'Time in which rows were updated';
COMMENT ON COLUMN sys.schema_table_statistics.rows_deleted IS
	'Rows deleted';
COMMENT ON COLUMN sys.schema_table_statistics.delete_latency IS
	'Time in which rows were deleted';
COMMENT ON COLUMN sys.schema_table_statistics.io_read_requests IS
	'Reads of its files; NULL in other databases';
COMMENT ON COLUMN sys.schema_table_statistics.io_read IS
	'Bytes read';
COMMENT ON COLUMN sys.schema_table_statistics.io_read_latency IS
	'Time of reads';
COMMENT ON COLUMN sys.schema_table_statistics.io_write_requests IS
	'Writes';
COMMENT ON COLUMN sys.schema_table_statistics.io_write IS
	'Bytes written';
COMMENT ON COLUMN sys.schema_table_statistics.io_write_latency IS
	'Time of writes';
COMMENT ON COLUMN sys.schema_table_statistics.io_misc_requests IS
	'Other operations: open, close, sync, stat';
COMMENT ON COLUMN sys.schema_table_statistics.io_misc_latency IS
	'Time of other operations';
COMMENT ON COLUMN sys.schema_table_statistics.database_name IS
	'Its database, NULL = shared by all; not in MySQL';
GRANT SELECT ON sys.schema_table_statistics TO PUBLIC;
