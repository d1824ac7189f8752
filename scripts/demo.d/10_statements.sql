-- The statements that took most of the time (sys.statement_analysis)
SELECT query, exec_count AS execs, err_count AS errs, total_latency AS total, avg_latency AS avg,
       p95_latency AS p95, max_latency AS max, rows_sent AS sent, rows_examined AS examined,
       rows_affected AS affected
FROM sys.statement_analysis
WHERE db = 'demo'
LIMIT 12;
