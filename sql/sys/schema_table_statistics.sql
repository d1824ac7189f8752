-- File I/O is known for tables of this database: it includes that of indexes and TOAST tables.
--@ view Rows and file I/O per table, by total time
--@ order s.total_latency DESC
--@ table_schema Schema
--@ table_name Table
--@ total_latency [time] Time for all rows
--@ rows_fetched Rows read
--@ fetch_latency [time] Time in which rows were read
--@ rows_inserted Rows inserted
--@ insert_latency [time] Time in which rows were inserted
--@ rows_updated Rows updated
--@ update_latency [time] Time in which rows were updated
--@ rows_deleted Rows deleted
--@ delete_latency [time] Time in which rows were deleted
--@ io_read_requests Reads of its files; NULL in other databases
--@ io_read [bytes] Bytes read
--@ io_read_latency [time] Time of reads
--@ io_write_requests Writes
--@ io_write [bytes] Bytes written
--@ io_write_latency [time] Time of writes
--@ io_misc_requests Other operations: open, close, sync, stat
--@ io_misc_latency [time] Time of other operations
--@ database_name Its database, NULL = shared by all; not in MySQL
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
ORDER BY total_latency DESC
