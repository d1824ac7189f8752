-- Errors
SELECT left(query, 60) AS query, db, exec_count, errors, error_pct
FROM sys.statements_with_errors_or_warnings
LIMIT 10;
