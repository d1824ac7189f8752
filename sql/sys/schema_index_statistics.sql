-- Rows per index of this database, by time of reading. Which index found how many rows is the
-- server's count, which knows bitmap scans too; the time is ours and does not.
--@ view Rows per index of this database, by total time
--@ table_schema Schema
--@ table_name Table
--@ index_name Index
--@ rows_selected Rows it has found, in scans of any kind, since the statistics of the server were reset
--@ select_latency [time] Time of its index scans; without bitmap scans; NULL = none recorded
--@ rows_inserted Always 0: changes count for the table
--@ insert_latency [time] Always 0: changes count for the table
--@ rows_updated Always 0: changes count for the table
--@ update_latency [time] Always 0: changes count for the table
--@ rows_deleted Always 0: changes count for the table
--@ delete_latency [time] Always 0: changes count for the table
--@ database_name Its database; not in MySQL
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
ORDER BY u.sum_timer_fetch DESC NULLS LAST
