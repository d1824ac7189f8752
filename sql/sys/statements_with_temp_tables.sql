--@ view Statements with intermediate results, those on disk first
--@ order s.disk_tmp_tables DESC, s.memory_tmp_tables DESC
--@ query [statement] Normalised statement
--@ db Database
--@ exec_count Executions
--@ total_latency [time] Total time
--@ memory_tmp_tables Intermediate results
--@ disk_tmp_tables Intermediate results on disk
--@ avg_tmp_tables_per_query Intermediate results of one execution
--@ tmp_tables_to_disk_pct How many of them are on disk, in per cent
--@ first_seen When first seen
--@ last_seen When last seen
--@ digest SHA-256 of the normalised statement
SELECT
	d.digest_text AS query,
	d.schema_name AS db,
	d.count_star AS exec_count,
	d.sum_timer_wait AS total_latency,
	d.sum_created_tmp_tables AS memory_tmp_tables,
	d.sum_created_tmp_disk_tables AS disk_tmp_tables,
	coalesce(round(d.sum_created_tmp_tables::numeric / nullif(d.count_star, 0)), 0) AS avg_tmp_tables_per_query,
	coalesce(round(100 * d.sum_created_tmp_disk_tables::numeric / nullif(d.sum_created_tmp_tables, 0), 0), 0) AS tmp_tables_to_disk_pct,
	d.first_seen,
	d.last_seen,
	d.digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE d.sum_created_tmp_tables > 0 OR d.sum_created_tmp_disk_tables > 0
ORDER BY disk_tmp_tables DESC, memory_tmp_tables DESC
