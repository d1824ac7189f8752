-- Threads, taken halfway through the load
-- live
SELECT t.thread_id AS thread, t.processlist_id AS pid, t.processlist_user AS "user",
       t.processlist_state AS state, s.statements, x.transactions, s.total AS statement_time,
       c.event_name || CASE WHEN c.end_event_id IS NULL THEN ' (running)' ELSE '' END AS last_event
FROM performance_schema.threads AS t
JOIN (
	SELECT thread_id, sum(count_star) AS statements, sys.format_time(sum(sum_timer_wait)) AS total
	FROM performance_schema.events_statements_summary_by_thread_by_event_name
	WHERE event_name LIKE 'statement/sql/%'
	GROUP BY thread_id
) AS s USING (thread_id)
LEFT JOIN (
	SELECT thread_id, sum(count_star) AS transactions
	FROM performance_schema.events_transactions_summary_by_thread_by_event_name
	GROUP BY thread_id
) AS x USING (thread_id)
LEFT JOIN performance_schema.events_statements_current AS c
	ON c.thread_id = t.thread_id AND c.nesting_event_level = 0
WHERE t.thread_id <> performance_schema.ps_current_thread_id()
ORDER BY s.statements DESC;
