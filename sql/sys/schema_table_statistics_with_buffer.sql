--@ view The same with what the buffer pool holds of each table; needs the extension pg_buffercache
--@ order s.fetch_latency + s.insert_latency + s.update_latency + s.delete_latency DESC
--@ like schema_table_statistics without total_latency database_name
--@ innodb_buffer_allocated [bytes] Size of its pages in the buffer pool
--@ innodb_buffer_data [bytes] Always NULL: what is free in them is not known
--@ innodb_buffer_free [bytes] Always NULL
--@ innodb_buffer_pages Its pages there
--@ innodb_buffer_pages_hashed Always 0
--@ innodb_buffer_pages_old Of these not used lately
--@ innodb_buffer_rows_cached Rows in them, estimated
--@ database_name Its database, NULL = shared by all; not in MySQL
SELECT
	{schema_table_statistics},
	b.allocated AS innodb_buffer_allocated,
	b.data AS innodb_buffer_data,
	NULL::bigint AS innodb_buffer_free,
	b.pages AS innodb_buffer_pages,
	b.pages_hashed AS innodb_buffer_pages_hashed,
	b.pages_old AS innodb_buffer_pages_old,
	b.rows_cached AS innodb_buffer_rows_cached,
	s.database_name
FROM sys."x$schema_table_statistics" AS s
LEFT JOIN sys."x$innodb_buffer_stats_by_table" AS b ON b.object_schema = s.table_schema AND b.object_name = s.table_name
	AND s.database_name = current_database()
ORDER BY s.total_latency DESC
