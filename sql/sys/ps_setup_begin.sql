-- What a procedure that watches does first: it does not want to watch itself, and puts back at its end,
-- with ps_setup_restore, what it switches. Who may not switch threads is watched. (Only simple
-- expressions: these are no statements.)
CREATE FUNCTION sys.ps_setup_begin(in_all boolean) RETURNS jsonb
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	saved jsonb := CASE WHEN in_all THEN sys.ps_setup_snapshot() ELSE '{}' END;
	own bigint := performance_schema.ps_current_thread_id();
	nothing text;
BEGIN
	IF sys.ps_is_thread_instrumented(pg_backend_pid()) = 'YES'
		AND has_function_privilege('performance_schema.set_thread(bigint, text, text)', 'EXECUTE')
	THEN
		IF NOT in_all THEN
			saved := jsonb_build_object('threads', jsonb_build_array(
				jsonb_build_object('thread_id', own, 'instrumented', 'YES')));
		END IF;
		nothing := performance_schema.set_thread(own, 'NO'::text);
	END IF;
	RETURN saved;
END $$;
COMMENT ON FUNCTION sys.ps_setup_begin(boolean) IS
	'Switches one''s own thread off; returns it, or all switches, for ps_setup_restore; not in MySQL';
