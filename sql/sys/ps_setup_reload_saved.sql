CREATE PROCEDURE sys.ps_setup_reload_saved()
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	saved text := nullif(current_setting('sys.ps_setup_saved', true), '');
BEGIN
	IF saved IS NULL THEN
		RAISE 'this session has saved no switches'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'CALL sys.ps_setup_save().';
	END IF;
	CALL sys.ps_setup_restore(saved::jsonb);
	PERFORM set_config('sys.ps_setup_saved', '', false);
	PERFORM pg_advisory_unlock(hashtextextended('sys.ps_setup_save', 0));
END $$;
COMMENT ON PROCEDURE sys.ps_setup_reload_saved() IS
	'Switches and rules as ps_setup_save has found them';
