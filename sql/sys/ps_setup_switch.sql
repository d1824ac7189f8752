-- What ps_setup_enable_... and ps_setup_disable_... do, which are its forms in MySQL; works on a hot
-- standby, too. The number is that of changes. The caller needs the functions set_... .
CREATE FUNCTION sys.ps_setup_switch(in_what text, in_which text, in_on boolean) RETURNS text
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	wanted text := CASE WHEN in_on THEN 'YES' WHEN NOT in_on THEN 'NO' END;
	pattern text := '%' || in_which || '%';
	changes bigint := 0;
	thread bigint;
BEGIN
	IF in_which IS NULL AND in_what <> 'background thread' OR wanted IS NULL THEN
		RAISE 'which % to switch must not be null', in_what USING ERRCODE = 'null_value_not_allowed';
	END IF;
	CASE in_what
		WHEN 'instrument' THEN
			SELECT count(*) INTO changes FROM performance_schema.setup_instruments AS i
			WHERE i.name LIKE pattern AND (i.enabled <> wanted OR i.timed <> wanted);
			IF changes > 0 THEN
				PERFORM performance_schema.set_instruments(pattern, wanted, wanted);
			END IF;
		WHEN 'consumer' THEN
			SELECT count(*) INTO changes FROM performance_schema.setup_consumers AS c
			WHERE c.name LIKE pattern AND c.enabled <> wanted;
			IF changes > 0 THEN
				PERFORM performance_schema.set_consumers(pattern, wanted);
			END IF;
		WHEN 'thread', 'background thread' THEN
			FOR thread IN
				SELECT t.thread_id FROM performance_schema.threads AS t
				WHERE t.instrumented <> wanted AND CASE in_what WHEN 'thread'
					THEN t.processlist_id = in_which::bigint ELSE t.type = 'BACKGROUND' END
			LOOP
				BEGIN
					PERFORM performance_schema.set_thread(thread, wanted);
					changes := changes + 1;
				EXCEPTION WHEN no_data_found THEN  -- it has gone meanwhile
				END;
			END LOOP;
		ELSE
			RAISE 'there is no "%" to switch', in_what USING ERRCODE = 'invalid_parameter_value';
	END CASE;
	RETURN format('%s %s %s%s', CASE WHEN in_on THEN 'Enabled' ELSE 'Disabled' END, changes, in_what,
		CASE WHEN changes <> 1 THEN 's' ELSE '' END);
END $$;
COMMENT ON FUNCTION sys.ps_setup_switch(text, text, boolean) IS
	'Switches instruments, consumers or threads and says how many: of ps_setup_enable_..., _disable_...; not in MySQL';
