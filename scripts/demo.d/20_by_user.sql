-- Statements by user and kind
SELECT user_name, event_name, count_star, sys.format_time(sum_timer_wait) AS total,
       sys.format_time(avg_timer_wait) AS average, sum_errors
FROM performance_schema.events_statements_summary_by_user_by_event_name
WHERE count_star > 0
ORDER BY sum_timer_wait DESC
LIMIT 12;
