-- MySQL ends with EXPLAIN of the longest execution. Here its text is shown: planning what others have
-- written evaluates their functions, with the caller's rights.
CREATE FUNCTION sys.ps_trace_statement_digest(
	in_digest text, in_runtime double precision DEFAULT 60, in_interval double precision DEFAULT 1,
	in_start_fresh boolean DEFAULT false, in_auto_enable boolean DEFAULT false)
	RETURNS TABLE (section text, name text, value text)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
	AS $$
DECLARE
	deadline timestamp with time zone := clock_timestamp() + make_interval(secs => in_runtime);
	saved jsonb := '{}';
	before jsonb;
	seen int8multirange := '{}';
	execution record;
	executions bigint := 0;
	exec_time numeric := 0;
	lock_time numeric := 0;
	errors bigint := 0;
	rows_sent bigint := 0;
	rows_affected bigint := 0;
	rows_examined bigint := 0;
	tmp_tables bigint := 0;
	full_scans bigint := 0;
	longest jsonb;
	longest_waits jsonb;
	ended boolean;
BEGIN
	IF in_digest IS NULL OR in_runtime IS NULL OR in_runtime < 0 OR in_interval IS NULL OR in_interval <= 0
	THEN
		RAISE 'a digest, and a run time and an interval in seconds are needed'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF in_start_fresh THEN
		SELECT coalesce(range_agg(int8range(s.statement_id, s.statement_id, '[]')), '{}') INTO seen
		FROM (
			SELECT * FROM performance_schema.events_statements_history
			UNION ALL
			SELECT * FROM performance_schema.events_statements_history_long) AS s
		WHERE s.digest = in_digest;
	END IF;
	BEGIN
		saved := sys.ps_setup_begin(in_auto_enable);
		IF in_auto_enable THEN
			PERFORM performance_schema.set_consumers('%', 'YES');
			PERFORM performance_schema.set_instruments('%', 'YES', 'YES');
		END IF;
		SELECT coalesce(jsonb_object_agg(w.event_name, to_jsonb(w)), '{}') INTO before
		FROM (
			SELECT s.event_name, sum(s.count_star) AS count_star, sum(s.sum_timer_wait) AS sum_timer_wait
			FROM performance_schema.events_waits_summary_by_digest AS s
			WHERE s.digest = in_digest
			GROUP BY s.event_name) AS w;
		LOOP
			ended := clock_timestamp() >= deadline;
			FOR execution IN
				SELECT DISTINCT ON (s.statement_id) s.*
				FROM (
					SELECT * FROM performance_schema.events_statements_history
					UNION ALL
					SELECT * FROM performance_schema.events_statements_history_long) AS s
				WHERE s.digest = in_digest AND NOT seen @> s.statement_id
				ORDER BY s.statement_id
			LOOP
				seen := seen + int8multirange(int8range(execution.statement_id, execution.statement_id, '[]'));
				executions := executions + 1;
				exec_time := exec_time + coalesce(execution.timer_wait, 0);
				lock_time := lock_time + execution.lock_time;
				errors := errors + execution.errors;
				rows_sent := rows_sent + execution.rows_sent;
				rows_affected := rows_affected + execution.rows_affected;
				rows_examined := rows_examined + execution.rows_examined;
				tmp_tables := tmp_tables + execution.created_tmp_tables;
				full_scans := full_scans + execution.select_scan;
				CONTINUE WHEN coalesce(execution.timer_wait, 0) <= (longest->>'timer_wait')::numeric;
				longest := to_jsonb(execution);
				SELECT jsonb_object_agg(w.event_name, w.shown) INTO longest_waits
				FROM (
					SELECT e.event_name, count(*) || ', ' || sys.format_time(sum(e.timer_wait)) AS shown
					FROM sys.ps_thread_events(execution.thread_id) AS e
					WHERE e.event_type = 'WAIT' AND e.event_id > execution.event_id
						AND e.event_id <= execution.end_event_id
					GROUP BY e.event_name) AS w;
			END LOOP;
			EXIT WHEN ended;
			PERFORM pg_sleep(greatest(least(in_interval,
				extract(epoch FROM deadline - clock_timestamp())::float8), 0));
		END LOOP;
		RETURN QUERY VALUES
			('summary', 'executions', executions::text),
			('summary', 'exec_time', sys.format_time(exec_time)),
			('summary', 'lock_time', sys.format_time(lock_time)),
			('summary', 'errors', errors::text),
			('summary', 'rows_sent', rows_sent::text),
			('summary', 'rows_affected', rows_affected::text),
			('summary', 'rows_examined', rows_examined::text),
			('summary', 'tmp_tables', tmp_tables::text),
			('summary', 'full_scans', full_scans::text);
		RETURN QUERY
			SELECT 'waits', d.event_name, d.count_star || ', ' || sys.format_time(d.sum_timer_wait)
			FROM (
				SELECT s.event_name,
					sum(s.count_star) - coalesce((before->s.event_name->>'count_star')::numeric, 0),
					sum(s.sum_timer_wait) - coalesce((before->s.event_name->>'sum_timer_wait')::numeric, 0)
				FROM performance_schema.events_waits_summary_by_digest AS s
				WHERE s.digest = in_digest
				GROUP BY s.event_name) AS d (event_name, count_star, sum_timer_wait)
			WHERE d.count_star > 0
			ORDER BY d.sum_timer_wait DESC;
	EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
		CALL sys.ps_setup_restore(saved);
		RAISE;
	END;
	CALL sys.ps_setup_restore(saved);
	RETURN QUERY
		SELECT 'longest', f.name, CASE WHEN f.name LIKE '%\_time'
			THEN sys.format_time((longest->>f.source)::numeric) ELSE longest->>f.source END
		FROM (VALUES (1, 'thread_id', 'thread_id'), (2, 'event_id', 'event_id'),
			(3, 'exec_time', 'timer_wait'), (4, 'lock_time', 'lock_time'), (5, 'rows_sent', 'rows_sent'),
			(6, 'rows_affected', 'rows_affected'), (7, 'rows_examined', 'rows_examined'),
			(8, 'tmp_tables', 'created_tmp_tables'), (9, 'full_scan', 'select_scan'),
			(10, 'sqlstate', 'returned_sqlstate'), (11, 'sql_text', 'sql_text')) AS f (number, name, source)
		WHERE longest->>f.source IS NOT NULL
		ORDER BY f.number;
	RETURN QUERY
		SELECT 'longest: waits', w.key, w.value
		FROM jsonb_each_text(longest_waits) AS w
		ORDER BY w.key;
END $$;
COMMENT ON FUNCTION sys.ps_trace_statement_digest(text, double precision, double precision, boolean, boolean) IS
	'Looks for executions of a digest for some seconds: their sums, what they waited for, the longest of them';
