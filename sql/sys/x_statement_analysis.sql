-- Statements by total time, raw: picoseconds and full texts.
CREATE VIEW sys."x$statement_analysis" WITH (security_invoker = true) AS
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
ORDER BY d.sum_timer_wait DESC;
COMMENT ON VIEW sys."x$statement_analysis" IS
	'Statements by total time; times in picoseconds, full texts';
COMMENT ON COLUMN sys."x$statement_analysis".query IS
	'Normalised statement';
COMMENT ON COLUMN sys."x$statement_analysis".db IS
	'Database';
COMMENT ON COLUMN sys."x$statement_analysis".full_scan IS
	'* if some execution read a table without an index';
COMMENT ON COLUMN sys."x$statement_analysis".exec_count IS
	'Executions';
COMMENT ON COLUMN sys."x$statement_analysis".exec_secondary_count IS
	'Always 0: no secondary engine';
COMMENT ON COLUMN sys."x$statement_analysis".err_count IS
	'Executions that failed';
COMMENT ON COLUMN sys."x$statement_analysis".warn_count IS
	'Warnings raised';
COMMENT ON COLUMN sys."x$statement_analysis".total_latency IS
	'Total time, picoseconds';
COMMENT ON COLUMN sys."x$statement_analysis".max_latency IS
	'Longest execution, picoseconds';
COMMENT ON COLUMN sys."x$statement_analysis".avg_latency IS
	'Mean execution, picoseconds';
COMMENT ON COLUMN sys."x$statement_analysis".lock_latency IS
	'Time spent waiting for locks, picoseconds';
COMMENT ON COLUMN sys."x$statement_analysis".cpu_latency IS
	'Processor time; needs the consumer events_statements_cpu';
COMMENT ON COLUMN sys."x$statement_analysis".rows_sent IS
	'Rows returned';
COMMENT ON COLUMN sys."x$statement_analysis".rows_sent_avg IS
	'Rows returned by one execution';
COMMENT ON COLUMN sys."x$statement_analysis".rows_examined IS
	'Rows read from tables';
COMMENT ON COLUMN sys."x$statement_analysis".rows_examined_avg IS
	'Rows read from tables by one execution';
COMMENT ON COLUMN sys."x$statement_analysis".rows_affected IS
	'Rows changed';
COMMENT ON COLUMN sys."x$statement_analysis".rows_affected_avg IS
	'Rows changed by one execution';
COMMENT ON COLUMN sys."x$statement_analysis".tmp_tables IS
	'Intermediate results';
COMMENT ON COLUMN sys."x$statement_analysis".tmp_disk_tables IS
	'Intermediate results on disk';
COMMENT ON COLUMN sys."x$statement_analysis".rows_sorted IS
	'Rows sorted';
COMMENT ON COLUMN sys."x$statement_analysis".sort_merge_passes IS
	'Sorts that went to disk';
COMMENT ON COLUMN sys."x$statement_analysis".max_controlled_memory IS
	'Always NULL: memory is not measured';
COMMENT ON COLUMN sys."x$statement_analysis".max_total_memory IS
	'Always NULL: memory is not measured';
COMMENT ON COLUMN sys."x$statement_analysis".digest IS
	'SHA-256 of the normalised statement';
COMMENT ON COLUMN sys."x$statement_analysis".first_seen IS
	'When first seen';
COMMENT ON COLUMN sys."x$statement_analysis".last_seen IS
	'When last seen';
COMMENT ON COLUMN sys."x$statement_analysis".p95_latency IS
	'95 % of executions took less; not in MySQL';
COMMENT ON COLUMN sys."x$statement_analysis".p99_latency IS
	'99 % of executions took less; not in MySQL';
GRANT SELECT ON sys."x$statement_analysis" TO PUBLIC;
