-- One session of a database at a time, as in MySQL: it holds a lock until it reloads, or ends. What it
-- saves is its own setting sys.ps_setup_saved (MySQL: temporary tables), so a hot standby can, too.
CREATE PROCEDURE sys.ps_setup_save(in_timeout integer DEFAULT 0)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	deadline timestamp with time zone := clock_timestamp() + make_interval(secs => coalesce(in_timeout, 0));
BEGIN
	IF current_setting('sys.ps_setup_saved', true) <> '' THEN
		RAISE 'this session has saved the switches already'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'CALL sys.ps_setup_reload_saved().';
	END IF;
	WHILE NOT pg_try_advisory_lock(hashtextextended('sys.ps_setup_save', 0)) LOOP
		IF clock_timestamp() >= deadline THEN
			RAISE 'another session has saved the switches' USING ERRCODE = 'lock_not_available';
		END IF;
		PERFORM pg_sleep(0.05);
	END LOOP;
	PERFORM set_config('sys.ps_setup_saved', sys.ps_setup_snapshot()::text, false);
END $$;
COMMENT ON PROCEDURE sys.ps_setup_save(integer) IS
	'Notes all switches and rules for ps_setup_reload_saved; waits some seconds for a session that did';
