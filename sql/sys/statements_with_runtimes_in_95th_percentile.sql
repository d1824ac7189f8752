-- As in MySQL a digest counts once, however often it was executed. The executions of one digest: p95_latency of
-- statement_analysis.
--@ view Statements whose mean time is at or above the 95th percentile of all statements', slowest first
--@ order s.avg_latency DESC
--@ query [statement] Normalised statement
--@ db Database
--@ full_scan * if some execution read a table without an index
--@ exec_count Executions
--@ err_count Executions that failed
--@ warn_count Warnings raised
--@ total_latency [time] Total time
--@ max_latency [time] Longest execution
--@ avg_latency [time] Mean execution
--@ rows_sent Rows returned
--@ rows_sent_avg Rows returned by one execution
--@ rows_examined Rows read from tables
--@ rows_examined_avg Rows read from tables by one execution
--@ first_seen When first seen
--@ last_seen When last seen
--@ digest SHA-256 of the normalised statement
SELECT
	d.query,
	d.db,
	d.full_scan,
	d.exec_count,
	d.err_count,
	d.warn_count,
	d.total_latency,
	d.max_latency,
	d.avg_latency,
	d.rows_sent,
	d.rows_sent_avg,
	d.rows_examined,
	d.rows_examined_avg,
	d.first_seen,
	d.last_seen,
	d.digest
FROM (
	SELECT a.*, cume_dist() OVER (ORDER BY a.avg_latency) AS below
	FROM sys."x$statement_analysis" AS a) AS d
WHERE d.below >= 0.95
ORDER BY avg_latency DESC
