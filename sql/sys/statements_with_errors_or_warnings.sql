--@ view Statements that failed or raised warnings, most errors first
--@ order s.errors DESC, s.warnings DESC
--@ query [statement] Normalised statement
--@ db Database
--@ exec_count Executions
--@ errors Executions that failed
--@ error_pct The same in per cent
--@ warnings Warnings raised
--@ warning_pct Warnings for a hundred executions
--@ first_seen When first seen
--@ last_seen When last seen
--@ digest SHA-256 of the normalised statement
SELECT
	d.digest_text AS query,
	d.schema_name AS db,
	d.count_star AS exec_count,
	d.sum_errors AS errors,
	coalesce(round(100 * d.sum_errors::numeric / nullif(d.count_star, 0), 4), 0) AS error_pct,
	d.sum_warnings AS warnings,
	coalesce(round(100 * d.sum_warnings::numeric / nullif(d.count_star, 0), 4), 0) AS warning_pct,
	d.first_seen,
	d.last_seen,
	d.digest
FROM performance_schema.events_statements_summary_by_digest AS d
WHERE d.sum_errors > 0 OR d.sum_warnings > 0
ORDER BY errors DESC, warnings DESC
