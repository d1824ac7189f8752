--@ view Statements that sorted rows, by total time
--@ order s.total_latency DESC
--@ query [statement] Normalised statement
--@ db Database
--@ exec_count Executions
--@ total_latency [time] Total time
--@ sort_merge_passes Sorts that went to disk
--@ avg_sort_merges Sorts of one execution that went to disk
--@ sorts_using_scans Sorts of what was read without an index
--@ sort_using_range Sorts of what an index found
--@ rows_sorted Rows sorted
--@ avg_rows_sorted Rows sorted by one execution
--@ first_seen When first seen
--@ last_seen When last seen
--@ digest SHA-256 of the normalised statement
SELECT
	d.digest_text AS query,
	d.schema_name AS db,
	d.count_star AS exec_count,
	d.sum_timer_wait AS total_latency,
	d.sum_sort_merge_passes AS sort_merge_passes,
	coalesce(round(d.sum_sort_merge_passes::numeric / nullif(d.count_star, 0)), 0) AS avg_sort_merges,
	d.sum_sort_scan AS sorts_using_scans,
	d.sum_sort_range AS sort_using_range,
	d.sum_sort_rows AS rows_sorted,
	coalesce(round(d.sum_sort_rows::numeric / nullif(d.count_star, 0)), 0) AS avg_rows_sorted,
	d.first_seen,
	d.last_seen,
	d.digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE d.sum_sort_rows > 0 OR d.sum_sort_scan > 0 OR d.sum_sort_range > 0
ORDER BY total_latency DESC
