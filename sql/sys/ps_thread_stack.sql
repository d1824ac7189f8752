CREATE FUNCTION sys.ps_thread_stack(in_thread_id bigint, in_verbose boolean DEFAULT false) RETURNS json
	LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
	RETURN (
		SELECT json_build_object(
			'rankdir', 'LR',
			'nodesep', '0.10',
			'stack_created', clock_timestamp(),
			'server_version', current_setting('server_version'),
			'user', session_user,
			'events', coalesce(json_agg(json_strip_nulls(json_build_object(
				'nesting_event_id', coalesce(e.nesting_event_id, 0),
				'event_id', e.event_id,
				'timer_wait', coalesce(round(e.timer_wait / 1000000, 2), 0),
				'event_info', CASE e.event_type WHEN 'WAIT' THEN e.event_name
					ELSE coalesce(e.info, e.event_name) END,
				'wait_info', CASE e.event_type WHEN 'WAIT' THEN e.info END,
				'event_type', CASE WHEN in_verbose THEN e.event_type END,
				'event_name', CASE WHEN in_verbose THEN e.event_name END,
				'end_event_id', CASE WHEN in_verbose THEN e.end_event_id END,
				'timer_start', CASE WHEN in_verbose THEN e.timer_start END,
				'sqlstate', CASE WHEN in_verbose THEN e.returned_sqlstate END))
				ORDER BY e.event_id), '[]'))
		FROM sys.ps_thread_events(in_thread_id) AS e);
COMMENT ON FUNCTION sys.ps_thread_stack(bigint, boolean) IS
	'What a thread has done, as JSON: events with microseconds and the event around each';
