CREATE PROCEDURE sys.ps_setup_reset_to_default(in_verbose boolean DEFAULT false)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	setup jsonb := sys.ps_setup_default();
	part text;
BEGIN
	IF in_verbose THEN
		FOR part IN SELECT k.name FROM jsonb_object_keys(setup) AS k (name) ORDER BY k.name LOOP
			RAISE NOTICE 'Resetting: %', part;
		END LOOP;
	END IF;
	CALL sys.ps_setup_restore(setup);
END $$;
COMMENT ON PROCEDURE sys.ps_setup_reset_to_default(boolean) IS
	'All switches and rules as they are at first, without what the settings say';
