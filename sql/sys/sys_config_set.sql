-- Who has set an option, and when. A row that is inserted, by a restored dump for one, takes the
-- place of the default; what it says of who and when is kept.
CREATE FUNCTION sys.sys_config_set() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NEW.variable IN ('statement_truncate_len', 'ps_thread_trx_info.max_length',
			'statement_performance_analyzer.limit') AND NEW.value !~ '^[0-9]{1,9}$' THEN
		RAISE 'invalid value for "%": "%"', NEW.variable, NEW.value
			USING ERRCODE = 'invalid_parameter_value', HINT = 'It is a number.';
	END IF;
	IF TG_OP = 'INSERT' THEN
		DELETE FROM sys.sys_config AS c WHERE c.variable = NEW.variable AND c.set_by IS NULL;
		NEW.set_by := coalesce(NEW.set_by, session_user);
	ELSE
		NEW.set_by := session_user;
		NEW.set_time := clock_timestamp();
	END IF;
	RETURN NEW;
END $$;
COMMENT ON FUNCTION sys.sys_config_set() IS
	'Trigger of sys_config: who has set an option, and when';
CREATE TRIGGER sys_config_set BEFORE INSERT OR UPDATE ON sys.sys_config
	FOR EACH ROW EXECUTE FUNCTION sys.sys_config_set();
