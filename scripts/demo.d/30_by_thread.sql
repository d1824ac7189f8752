-- Threads that are here now, and what they have done
SELECT t.thread_id, t.name, t.processlist_user, sum(s.count_star) AS statements,
       sys.format_time(sum(s.sum_timer_wait)) AS total
FROM performance_schema.threads AS t
LEFT JOIN performance_schema.events_statements_summary_by_thread_by_event_name AS s USING (thread_id)
GROUP BY t.thread_id, t.name, t.processlist_user
ORDER BY sum(s.sum_timer_wait) DESC NULLS LAST, t.thread_id
LIMIT 12;
