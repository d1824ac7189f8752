-- Tables of this database that sequential scans have read, most rows first. By the server's own
-- counts, which tell these rows from those of bitmap scans; there is no time of them alone.
--@ view Tables read by sequential scans, most rows first
--@ order s.rows_full_scanned DESC
--@ object_schema Schema
--@ object_name Table
--@ rows_full_scanned Rows read so since the statistics of the server were reset
--@ latency [time] Always NULL: sequential scans have no time of their own
--@ database_name Its database; not in MySQL
SELECT
	s.schemaname::text AS object_schema,
	s.relname::text AS object_name,
	s.seq_tup_read AS rows_full_scanned,
	NULL::numeric(20) AS latency,
	current_database()::text AS database_name
FROM pg_stat_user_tables AS s
WHERE s.seq_tup_read > 0
ORDER BY rows_full_scanned DESC
