-- Users: what they did, and how long it took
SELECT user_name, replace(event_name, 'statement/sql/', '') AS command, count_star AS execs,
       sum_errors AS errs, sys.format_time(sum_timer_wait) AS total,
       sys.format_time(avg_timer_wait) AS avg, sys.format_time(max_timer_wait) AS max,
       sum_rows_sent AS sent, sum_rows_affected AS affected
FROM performance_schema.events_statements_summary_by_user_by_event_name
WHERE event_name LIKE 'statement/sql/%' AND count_star > 0
ORDER BY sum_timer_wait DESC
LIMIT 10;
