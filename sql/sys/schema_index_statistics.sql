-- Rows per index of this database, by time of reading, for people.
CREATE VIEW sys.schema_index_statistics WITH (security_invoker = true) AS
SELECT
	s.table_schema,
	s.table_name,
	s.index_name,
	s.rows_selected,
	sys.format_time(s.select_latency) AS select_latency,
	s.rows_inserted,
	sys.format_time(s.insert_latency) AS insert_latency,
	s.rows_updated,
	sys.format_time(s.update_latency) AS update_latency,
	s.rows_deleted,
	sys.format_time(s.delete_latency) AS delete_latency,
	s.database_name
FROM sys."x$schema_index_statistics" AS s;
COMMENT ON VIEW sys.schema_index_statistics IS
	'Rows per index of this database, by total time, with units';
COMMENT ON COLUMN sys.schema_index_statistics.table_schema IS
	'Schema';
COMMENT ON COLUMN sys.schema_index_statistics.table_name IS
	'Table';
COMMENT ON COLUMN sys.schema_index_statistics.index_name IS
	'Index';
COMMENT ON COLUMN sys.schema_index_statistics.rows_selected IS
	'Rows it has found, in scans of any kind, since the statistics of the server were reset';
COMMENT ON COLUMN sys.schema_index_statistics.select_latency IS
	'Time of its index scans; without bitmap scans; NULL = none recorded';
COMMENT ON COLUMN sys.schema_index_statistics.rows_inserted IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys.schema_index_statistics.insert_latency IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys.schema_index_statistics.rows_updated IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys.schema_index_statistics.update_latency IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys.schema_index_statistics.rows_deleted IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys.schema_index_statistics.delete_latency IS
	'Always 0: changes count for the table';
COMMENT ON COLUMN sys.schema_index_statistics.database_name IS
	'Its database; not in MySQL';
GRANT SELECT ON sys.schema_index_statistics TO PUBLIC;
