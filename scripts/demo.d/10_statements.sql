-- The ten most expensive statements (sys.statement_analysis)
SELECT left(query, 60) AS query, db, exec_count, total_latency, avg_latency, max_latency,
       p95.p95_latency, rows_sent, rows_affected
FROM sys.statement_analysis AS s
LEFT JOIN LATERAL (
	SELECT sys.format_time(max(d.quantile_95)) AS p95_latency
	FROM performance_schema.events_statements_summary_by_digest AS d
	WHERE d.digest = s.digest
) AS p95 ON true
LIMIT 10;
