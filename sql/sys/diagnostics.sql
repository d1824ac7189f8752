-- For support, as in MySQL: what the server is, how it is set, and every view of sys, at the beginning and
-- at the end, with what was counted meanwhile. Texts and other users' sessions as its caller sees them. It
-- takes the place of the session's snapshot of statement_performance_analyzer.
CREATE FUNCTION sys.diagnostics(
	in_max_runtime double precision DEFAULT 60, in_interval double precision DEFAULT 30,
	in_auto_config text DEFAULT 'current')
	RETURNS TABLE (section text, line bigint, content json)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
	AS $$
DECLARE
	deadline timestamp with time zone := clock_timestamp() + make_interval(secs => in_max_runtime);
	counters CONSTANT text := $q$
		SELECT 'wait ' || w.event_name, 'count_star', w.count_star::numeric
		FROM performance_schema.events_waits_summary_global_by_event_name AS w
		UNION ALL
		SELECT 'wait ' || w.event_name, 'sum_timer_wait', w.sum_timer_wait
		FROM performance_schema.events_waits_summary_global_by_event_name AS w
		UNION ALL
		SELECT s.event_name, 'count_star', s.count_star
		FROM performance_schema.events_statements_summary_global_by_event_name AS s
		UNION ALL
		SELECT s.event_name, 'sum_timer_wait', s.sum_timer_wait
		FROM performance_schema.events_statements_summary_global_by_event_name AS s
		UNION ALL
		SELECT 'status', s.variable_name, s.variable_value
		FROM performance_schema.status AS s
		UNION ALL
		SELECT 'database ' || coalesce(d.datname, '(shared)'), f.key, f.value::numeric
		FROM pg_stat_database AS d CROSS JOIN jsonb_each_text(to_jsonb(d)) AS f
		WHERE jsonb_typeof(to_jsonb(d)->f.key) = 'number' AND f.key NOT IN ('datid', 'numbackends')$q$;
	mode text := lower(in_auto_config);
	raw boolean := sys.sys_get_config('diagnostics.include_raw', 'OFF') = 'ON';
	catalogue boolean := sys.sys_get_config('diagnostics.allow_i_s_tables', 'OFF') = 'ON';
	writes boolean := current_setting('transaction_read_only') = 'off'
		AND has_database_privilege(current_database(), 'TEMPORARY');
	saved jsonb := '{}';
	before jsonb;
	round integer := 0;
	ended boolean;
	part record;
BEGIN
	IF in_max_runtime IS NULL OR in_max_runtime < 0 OR in_interval IS NULL OR in_interval <= 0 THEN
		RAISE 'the run time and the interval are seconds' USING ERRCODE = 'invalid_parameter_value';
	ELSIF mode NOT IN ('current', 'medium', 'full') OR mode IS NULL THEN
		RAISE 'there is no configuration "%"', in_auto_config USING ERRCODE = 'invalid_parameter_value',
			HINT = 'current, medium or full';
	END IF;
	BEGIN
		saved := sys.ps_setup_begin(mode <> 'current');
		IF mode <> 'current' THEN
			PERFORM performance_schema.set_consumers('%', 'YES');
			IF mode = 'full' THEN
				PERFORM performance_schema.set_instruments('%', 'YES', 'YES');
			ELSE
				PERFORM performance_schema.set_consumers('%\_history\_long', 'NO');
				PERFORM performance_schema.set_instruments('wait/io/%', 'YES', 'YES');
				PERFORM performance_schema.set_instruments('wait/lock/%', 'YES', 'YES');
				PERFORM performance_schema.set_instruments('statement/%', 'YES', 'YES');
			END IF;
		END IF;
		FOR part IN
			SELECT * FROM (VALUES
				('server', 'SELECT v.*, version(), current_database() AS database, session_user AS user_name, '
					'clock_timestamp() AS report_made, pg_postmaster_start_time() AS started, '
					'pg_is_in_recovery() AS in_recovery, s.* FROM sys.version AS v, '
					'(SELECT count(*) AS sessions FROM performance_schema.threads AS t '
					'WHERE t.processlist_id IS NOT NULL) AS s'),
				-- What may hold a password is left out: a report goes elsewhere.
				('settings', 'SELECT s.name, s.setting, s.unit, s.source FROM pg_settings AS s '
					'WHERE s.source NOT IN (''default'', ''override'', ''client'') '
					'AND s.name !~ ''conninfo|command'' AND s.category <> ''Customized Options'' ORDER BY s.name'),
				('setup_actors', 'SELECT * FROM performance_schema.setup_actors'),
				('setup_consumers', 'SELECT c.*, sys.ps_is_consumer_enabled(c.name) AS effective '
					'FROM performance_schema.setup_consumers AS c'),
				('setup_objects', 'SELECT * FROM performance_schema.setup_objects'),
				('setup_instruments', 'SELECT regexp_replace(i.name, ''/[^/]*$'', '''') AS class, '
					'count(*) AS instruments, count(*) FILTER (WHERE i.enabled = ''YES'') AS enabled, '
					'count(*) FILTER (WHERE i.enabled = ''YES'' AND i.timed = ''YES'') AS timed '
					'FROM performance_schema.setup_instruments AS i GROUP BY 1 ORDER BY 1'),
				('threads', 'SELECT t.type, t.name, t.instrumented, t.history, count(*) '
					'FROM performance_schema.threads AS t GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4')
				) AS p (name, query)
		LOOP
			RETURN QUERY EXECUTE 'SELECT $1, row_number() OVER (), row_to_json(s) FROM (' || part.query || ') AS s'
				USING part.name;
		END LOOP;
		IF writes THEN
			PERFORM sys.statement_performance_analyzer('create_tmp', 'tmp_digests_at_start');
			PERFORM sys.statement_performance_analyzer('snapshot');
			PERFORM sys.statement_performance_analyzer('save', 'tmp_digests_at_start');
		END IF;
		LOOP
			PERFORM pg_stat_clear_snapshot();
			IF before IS NULL THEN
				EXECUTE 'SELECT jsonb_agg(to_jsonb(c)) FROM (' || counters || ') AS c (name, counter, value)'
				INTO before;
			END IF;
			ended := clock_timestamp() >= deadline;
			round := round + 1;
			IF round = 1 OR ended THEN
				FOR part IN
					SELECT v.viewname FROM pg_views AS v
					WHERE v.schemaname = 'sys' AND (raw OR v.viewname !~ '^x\$')
						AND (catalogue OR v.viewname !~ '^(x\$)?schema_(object|auto|redundant|unused|index_keys)')
					ORDER BY v.viewname
				LOOP
					RETURN QUERY EXECUTE format('SELECT $1, row_number() OVER (), row_to_json(s) '
						'FROM (SELECT * FROM sys.%I LIMIT 100) AS s', part.viewname)
						USING part.viewname || CASE WHEN round = 1 THEN ' at start' ELSE ' at end' END;
				END LOOP;
			END IF;
			RETURN QUERY
				SELECT 'activity ' || round, row_number() OVER (), row_to_json(s)
				FROM (
					SELECT t.thread_id, t.processlist_id, t.processlist_user, t.processlist_db,
						t.processlist_state, t.processlist_time, a.wait_event_type, a.wait_event,
						sys.format_statement(t.processlist_info) AS statement
					FROM performance_schema.threads AS t
					LEFT JOIN pg_stat_activity AS a ON a.pid = t.processlist_id
					WHERE t.processlist_info IS NOT NULL AND t.processlist_id <> pg_backend_pid()
					ORDER BY t.processlist_time DESC) AS s;
			EXIT WHEN ended;
			PERFORM pg_sleep(greatest(least(in_interval,
				extract(epoch FROM deadline - clock_timestamp())::float8), 0));
		END LOOP;
		RETURN QUERY EXECUTE
			'SELECT ''counters'', row_number() OVER (), row_to_json(s) FROM ('
			'SELECT n.name, n.counter, n.value - coalesce(o.value, 0) AS change, n.value AS now '
			'FROM (' || counters || ') AS n (name, counter, value) '
			'LEFT JOIN jsonb_to_recordset($1) AS o (name text, counter text, value numeric) '
			'ON o.name = n.name AND o.counter = n.counter '
			'WHERE n.value <> coalesce(o.value, 0) ORDER BY n.name, n.counter) AS s' USING before;
		IF writes THEN
			PERFORM sys.statement_performance_analyzer('snapshot');
			RETURN QUERY
				SELECT d.view_name || ' meanwhile', d.line,
					json_build_object('query', d.query, 'db', d.db, 'digest', d.digest, 'figures', d.figures)
				FROM sys.statement_performance_analyzer('delta', 'tmp_digests_at_start') AS d;
			PERFORM sys.statement_performance_analyzer('cleanup');
			DROP TABLE pg_temp.tmp_digests_at_start;
		END IF;
	EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
		CALL sys.ps_setup_restore(saved);
		RAISE;
	END;
	CALL sys.ps_setup_restore(saved);
END $$;
COMMENT ON FUNCTION sys.diagnostics(double precision, double precision, text) IS
	'A report for support, as lines of JSON: server, settings, switches, views of sys, what was counted meanwhile';
