-- One session's history: a function, its trigger, and an error that a handler caught
SELECT shop.place_order(1, 2);
SELECT shop.place_order(1, 2000);
SELECT event_id AS event, lower(nesting_event_type) || ' ' || nesting_event_id AS inside,
       left(repeat('    ', nesting_event_level::int) || sql_text, 60) AS statement,
       lower(object_type) || ' ' || object_name AS routine, sys.format_time(timer_wait) AS took,
       rows_affected AS affected, returned_sqlstate AS error
FROM performance_schema.events_statements_history
WHERE thread_id = performance_schema.ps_current_thread_id()
ORDER BY event_id;
