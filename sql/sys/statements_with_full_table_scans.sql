-- MySQL leaves SHOW out; here SHOW reads no table.
--@ view Statements that read a table without an index, those that do it most often first
--@ order s.no_index_used_pct DESC, s.total_latency DESC
--@ query [statement] Normalised statement
--@ db Database
--@ exec_count Executions
--@ total_latency [time] Total time
--@ no_index_used_count Executions that read a table without an index
--@ no_good_index_used_count Always 0: a plan tells no better index
--@ no_index_used_pct Executions that read a table without an index, in per cent
--@ rows_sent Rows returned
--@ rows_examined Rows read from tables
--@ rows_sent_avg Rows returned by one execution
--@ rows_examined_avg Rows read from tables by one execution
--@ first_seen When first seen
--@ last_seen When last seen
--@ digest SHA-256 of the normalised statement
SELECT
	d.digest_text AS query,
	d.schema_name AS db,
	d.count_star AS exec_count,
	d.sum_timer_wait AS total_latency,
	d.sum_no_index_used AS no_index_used_count,
	d.sum_no_good_index_used AS no_good_index_used_count,
	coalesce(round(100 * d.sum_no_index_used::numeric / nullif(d.count_star, 0), 0), 0) AS no_index_used_pct,
	d.sum_rows_sent AS rows_sent,
	d.sum_rows_examined AS rows_examined,
	coalesce(round(d.sum_rows_sent::numeric / nullif(d.count_star, 0)), 0) AS rows_sent_avg,
	coalesce(round(d.sum_rows_examined::numeric / nullif(d.count_star, 0)), 0) AS rows_examined_avg,
	d.first_seen,
	d.last_seen,
	d.digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE d.sum_no_index_used > 0 OR d.sum_no_good_index_used > 0
ORDER BY no_index_used_pct DESC, total_latency DESC
