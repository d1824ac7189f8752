-- Statements by total time, for people.
CREATE VIEW sys.statement_analysis WITH (security_invoker = true) AS
SELECT
	sys.format_statement(s.query) AS query,
	s.db,
	s.full_scan,
	s.exec_count,
	s.err_count,
	s.warn_count,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.max_latency) AS max_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.lock_latency) AS lock_latency,
	sys.format_time(s.cpu_latency) AS cpu_latency,
	s.rows_sent,
	s.rows_sent_avg,
	s.rows_examined,
	s.rows_examined_avg,
	s.rows_affected,
	s.rows_affected_avg,
	s.tmp_tables,
	s.tmp_disk_tables,
	s.rows_sorted,
	s.sort_merge_passes,
	sys.format_bytes(s.max_controlled_memory) AS max_controlled_memory,
	sys.format_bytes(s.max_total_memory) AS max_total_memory,
	s.digest,
	s.first_seen,
	s.last_seen,
	sys.format_time(s.p95_latency) AS p95_latency,
	sys.format_time(s.p99_latency) AS p99_latency
FROM sys."x$statement_analysis" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.statement_analysis IS
	'Statements by total time, with units';
COMMENT ON COLUMN sys.statement_analysis.query IS
	'Normalised statement';
COMMENT ON COLUMN sys.statement_analysis.db IS
	'Database';
COMMENT ON COLUMN sys.statement_analysis.full_scan IS
	'* if some execution read a table without an index';
COMMENT ON COLUMN sys.statement_analysis.exec_count IS
	'Executions';
COMMENT ON COLUMN sys.statement_analysis.err_count IS
	'Executions that failed';
COMMENT ON COLUMN sys.statement_analysis.warn_count IS
	'Warnings raised';
COMMENT ON COLUMN sys.statement_analysis.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.statement_analysis.max_latency IS
	'Longest execution';
COMMENT ON COLUMN sys.statement_analysis.avg_latency IS
	'Mean execution';
COMMENT ON COLUMN sys.statement_analysis.lock_latency IS
	'Time spent waiting for locks';
COMMENT ON COLUMN sys.statement_analysis.cpu_latency IS
	'Processor time; needs the consumer events_statements_cpu';
COMMENT ON COLUMN sys.statement_analysis.rows_sent IS
	'Rows returned';
COMMENT ON COLUMN sys.statement_analysis.rows_sent_avg IS
	'Rows returned by one execution';
COMMENT ON COLUMN sys.statement_analysis.rows_examined IS
	'Rows read from tables';
COMMENT ON COLUMN sys.statement_analysis.rows_examined_avg IS
	'Rows read from tables by one execution';
COMMENT ON COLUMN sys.statement_analysis.rows_affected IS
	'Rows changed';
COMMENT ON COLUMN sys.statement_analysis.rows_affected_avg IS
	'Rows changed by one execution';
COMMENT ON COLUMN sys.statement_analysis.tmp_tables IS
	'Intermediate results';
COMMENT ON COLUMN sys.statement_analysis.tmp_disk_tables IS
	'Intermediate results on disk';
COMMENT ON COLUMN sys.statement_analysis.rows_sorted IS
	'Rows sorted';
COMMENT ON COLUMN sys.statement_analysis.sort_merge_passes IS
	'Sorts that went to disk';
COMMENT ON COLUMN sys.statement_analysis.max_controlled_memory IS
	'Always NULL: memory is not measured';
COMMENT ON COLUMN sys.statement_analysis.max_total_memory IS
	'Always NULL: memory is not measured';
COMMENT ON COLUMN sys.statement_analysis.digest IS
	'SHA-256 of the normalised statement';
COMMENT ON COLUMN sys.statement_analysis.first_seen IS
	'When first seen';
COMMENT ON COLUMN sys.statement_analysis.last_seen IS
	'When last seen';
COMMENT ON COLUMN sys.statement_analysis.p95_latency IS
	'95 % of executions took less; not in MySQL';
COMMENT ON COLUMN sys.statement_analysis.p99_latency IS
	'99 % of executions took less; not in MySQL';
GRANT SELECT ON sys.statement_analysis TO PUBLIC;
