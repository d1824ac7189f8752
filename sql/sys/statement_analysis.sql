--@ view Statements by total time
--@ order s.total_latency DESC
--@ query [statement] Normalised statement
--@ db Database
--@ full_scan * if some execution read a table without an index
--@ exec_count Executions
--@ exec_secondary_count [raw] Always 0: no secondary engine
--@ err_count Executions that failed
--@ warn_count Warnings raised
--@ total_latency [time] Total time
--@ max_latency [time] Longest execution
--@ avg_latency [time] Mean execution
--@ lock_latency [time] Time spent waiting for locks
--@ cpu_latency [time] Processor time; needs the consumer events_statements_cpu
--@ rows_sent Rows returned
--@ rows_sent_avg Rows returned by one execution
--@ rows_examined Rows read from tables
--@ rows_examined_avg Rows read from tables by one execution
--@ rows_affected Rows changed
--@ rows_affected_avg Rows changed by one execution
--@ tmp_tables Intermediate results
--@ tmp_disk_tables Intermediate results on disk
--@ rows_sorted Rows sorted
--@ sort_merge_passes Sorts that went to disk
--@ max_controlled_memory [bytes] Always NULL: memory is not measured
--@ max_total_memory [bytes] Always NULL: memory is not measured
--@ digest SHA-256 of the normalised statement
--@ first_seen When first seen
--@ last_seen When last seen
--@ p95_latency [time] 95 % of executions took less; not in MySQL
--@ p99_latency [time] 99 % of executions took less; not in MySQL
SELECT
	d.digest_text AS query,
	d.schema_name AS db,
	CASE WHEN d.sum_no_good_index_used > 0 OR d.sum_no_index_used > 0 THEN '*' ELSE '' END
		AS full_scan,
	d.count_star AS exec_count,
	0::bigint AS exec_secondary_count,
	d.sum_errors AS err_count,
	d.sum_warnings AS warn_count,
	d.sum_timer_wait AS total_latency,
	d.max_timer_wait AS max_latency,
	d.avg_timer_wait AS avg_latency,
	d.sum_lock_time AS lock_latency,
	d.sum_cpu_time AS cpu_latency,
	d.sum_rows_sent AS rows_sent,
	coalesce(round(d.sum_rows_sent::numeric / nullif(d.count_star, 0)), 0) AS rows_sent_avg,
	d.sum_rows_examined AS rows_examined,
	coalesce(round(d.sum_rows_examined::numeric / nullif(d.count_star, 0)), 0) AS rows_examined_avg,
	d.sum_rows_affected AS rows_affected,
	coalesce(round(d.sum_rows_affected::numeric / nullif(d.count_star, 0)), 0) AS rows_affected_avg,
	d.sum_created_tmp_tables AS tmp_tables,
	d.sum_created_tmp_disk_tables AS tmp_disk_tables,
	d.sum_sort_rows AS rows_sorted,
	d.sum_sort_merge_passes AS sort_merge_passes,
	NULL::bigint AS max_controlled_memory,
	NULL::bigint AS max_total_memory,
	d.digest AS digest,
	d.first_seen AS first_seen,
	d.last_seen AS last_seen,
	d.quantile_95 AS p95_latency,
	d.quantile_99 AS p99_latency
FROM performance_schema.events_statements_summary_by_digest AS d
ORDER BY d.sum_timer_wait DESC
