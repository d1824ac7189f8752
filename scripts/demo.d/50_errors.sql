-- Errors by user; handled: a handler caught it
SELECT user_name, sql_state, error_name, sum_error_raised AS raised, sum_error_handled AS handled,
       date_trunc('second', last_seen) AS last_seen
FROM performance_schema.events_errors_summary_by_user_by_error
WHERE sum_error_raised + sum_error_handled > 0
ORDER BY sum_error_raised DESC, sum_error_handled DESC, sql_state;
