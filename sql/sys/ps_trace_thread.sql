-- psql -AtXc "SELECT * FROM sys.ps_trace_thread(42)" | dot -Tsvg > trace.svg. Nothing is emptied: start_fresh
-- leaves out what the histories have already. Which events were seen is a set of ranges, for they
-- are numbered one after the other.
CREATE FUNCTION sys.ps_trace_thread(
	in_thread_id bigint, in_max_runtime double precision DEFAULT 60, in_interval double precision DEFAULT 1,
	in_start_fresh boolean DEFAULT false, in_auto_setup boolean DEFAULT false,
	in_debug boolean DEFAULT false)
	RETURNS TABLE (dot text)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
	AS $$
DECLARE
	deadline timestamp with time zone := clock_timestamp() + make_interval(secs => in_max_runtime);
	saved jsonb := '{}';
	seen int8multirange := '{}';
	gone boolean;
	event record;
BEGIN
	IF NOT EXISTS (SELECT FROM performance_schema.threads AS t WHERE t.thread_id = in_thread_id) THEN
		RAISE 'there is no thread %', in_thread_id USING ERRCODE = 'invalid_parameter_value',
			HINT = 'sys.ps_thread_id(pid) tells the thread of a session.';
	ELSIF in_max_runtime IS NULL OR in_max_runtime < 0 OR in_interval IS NULL OR in_interval <= 0 THEN
		RAISE 'the run time and the interval are seconds' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF in_start_fresh THEN
		SELECT coalesce(range_agg(int8range(e.event_id, e.event_id, '[]')), '{}') INTO seen
		FROM sys.ps_thread_events(in_thread_id) AS e;
	END IF;
	RETURN QUERY VALUES ('digraph events { rankdir=LR; nodesep=0.10;'),
		('// Stack created .....: ' || clock_timestamp()),
		('// Server version ....: ' || current_setting('server_version')),
		('// User ..............: ' || quote_ident(translate(session_user, E'\n\r', '  '))),
		('// Thread ............: ' || in_thread_id),
		('node [shape=box, style=filled, fontsize=10];');
	BEGIN
		saved := sys.ps_setup_begin(in_auto_setup);
		IF in_auto_setup THEN
			PERFORM performance_schema.set_consumers('%', 'YES');
			PERFORM performance_schema.set_instruments('%', 'YES', 'YES');
			PERFORM performance_schema.set_thread(in_thread_id, 'YES', 'YES');
		END IF;
		LOOP
			gone := clock_timestamp() >= deadline OR NOT EXISTS (
				SELECT FROM performance_schema.threads AS t WHERE t.thread_id = in_thread_id);
			FOR event IN
				SELECT e.event_id, e.nesting_event_id,
					CASE WHEN e.returned_sqlstate IS NOT NULL THEN 'tomato' ELSE CASE e.event_type
						WHEN 'TRANSACTION' THEN 'lightgrey' WHEN 'STATEMENT' THEN 'lightblue'
						ELSE 'lightyellow' END END AS colour,
					concat_ws(E'\n', CASE e.event_type WHEN 'STATEMENT' THEN sys.format_statement(e.info) END,
						e.event_name, CASE e.event_type WHEN 'STATEMENT' THEN NULL ELSE e.info END,
						sys.format_time(e.timer_wait), e.returned_sqlstate,
						CASE WHEN in_debug THEN format('event %s to %s, started at %s', e.event_id,
							e.end_event_id, sys.format_time(e.timer_start)) END) AS label,
					coalesce(e.info, e.event_name) AS tooltip
				FROM sys.ps_thread_events(in_thread_id) AS e
				WHERE NOT seen @> e.event_id
				ORDER BY e.event_id
			LOOP
				seen := seen + int8multirange(int8range(event.event_id, event.event_id, '[]'));
				dot := format('%s [fillcolor=%s, label="%s", tooltip="%s"];', event.event_id, event.colour,
					replace(replace(replace(event.label, '\', '\\'), '"', '\"'), E'\n', '\n'),
					replace(replace(replace(event.tooltip, '\', '\\'), '"', '\"'), E'\n', '\n'));
				RETURN NEXT;
				IF event.nesting_event_id > 0 THEN
					dot := format('%s -> %s;', event.nesting_event_id, event.event_id);
					RETURN NEXT;
				END IF;
			END LOOP;
			EXIT WHEN gone;
			PERFORM pg_sleep(greatest(least(in_interval,
				extract(epoch FROM deadline - clock_timestamp())::float8), 0));
		END LOOP;
	EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
		CALL sys.ps_setup_restore(saved);
		RAISE;
	END;
	CALL sys.ps_setup_restore(saved);
	dot := '}';
	RETURN NEXT;
END $$;
COMMENT ON FUNCTION sys.ps_trace_thread(bigint, double precision, double precision, boolean, boolean, boolean) IS
	'Looks at a thread for some seconds and draws what it does: a graph for Graphviz''s dot, line by line';
