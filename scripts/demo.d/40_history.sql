-- The recent history of one session, with nesting
SET client_min_messages = warning;
DO $$ BEGIN PERFORM count(*) FROM pg_class; PERFORM 1 FROM pg_namespace LIMIT 1; END $$;
SELECT event_id, nesting_event_id AS inside, nesting_event_level AS level,
       sys.format_time(timer_wait) AS latency, errors,
       left(repeat('  ', nesting_event_level::int) || coalesce(sql_text, event_name), 70) AS statement
FROM performance_schema.events_statements_history
WHERE thread_id = (SELECT thread_id FROM performance_schema.threads
                   WHERE processlist_id = pg_backend_pid())
ORDER BY event_id;
