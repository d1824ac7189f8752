-- Of all levels, each once, of live threads out of their histories and of all out of the long ones.
CREATE FUNCTION sys.ps_thread_events(in_thread_id bigint) RETURNS TABLE (
	event_id bigint, end_event_id bigint, nesting_event_id bigint, event_type text, event_name text,
	timer_start numeric, timer_wait numeric, info text, returned_sqlstate text)
	LANGUAGE sql STABLE
	BEGIN ATOMIC
		SELECT DISTINCT ON (e.event_id) e.event_id, e.end_event_id, e.nesting_event_id, e.event_type,
			e.event_name, e.timer_start, e.timer_wait, e.info, e.returned_sqlstate
		FROM (
			SELECT t.event_id, t.end_event_id, t.nesting_event_id, 'TRANSACTION', t.event_name,
				t.timer_start, t.timer_wait, concat_ws(', ', t.state, t.access_mode, t.isolation_level), NULL
			FROM (
				SELECT * FROM performance_schema.events_transactions_history
				UNION ALL
				SELECT * FROM performance_schema.events_transactions_history_long) AS t
			WHERE t.thread_id = in_thread_id
			UNION ALL
			SELECT s.event_id, s.end_event_id, s.nesting_event_id, 'STATEMENT', s.event_name,
				s.timer_start, s.timer_wait, s.sql_text, s.returned_sqlstate
			FROM (
				SELECT * FROM performance_schema.events_statements_history
				UNION ALL
				SELECT * FROM performance_schema.events_statements_history_long) AS s
			WHERE s.thread_id = in_thread_id
			UNION ALL
			SELECT w.event_id, w.end_event_id, w.nesting_event_id, 'WAIT', w.event_name,
				w.timer_start, w.timer_wait, concat_ws(' ', w.operation,
					CASE WHEN w.object_type <> 'FILE' THEN coalesce(w.object_schema || '.', '') ELSE '' END || w.object_name,
					w.number_of_bytes || CASE w.object_type WHEN 'TABLE' THEN ' rows' ELSE ' bytes' END), NULL
			FROM (
				SELECT * FROM performance_schema.events_waits_history
				UNION ALL
				SELECT * FROM performance_schema.events_waits_history_long) AS w
			WHERE w.thread_id = in_thread_id) AS e (event_id, end_event_id, nesting_event_id,
				event_type, event_name, timer_start, timer_wait, info, returned_sqlstate)
		ORDER BY e.event_id;
	END;
COMMENT ON FUNCTION sys.ps_thread_events(bigint) IS
	'What a thread has done: transactions, statements and waits out of the histories; not in MySQL';
