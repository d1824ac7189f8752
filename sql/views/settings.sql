-- What the server's files say, for those who may ask for it; others get no rows instead of an error, as in the other
-- tables of settings. (A view would ask for the privilege before it reads its first row.)
CREATE FUNCTION performance_schema.persisted_settings(
	OUT name text, OUT setting text, OUT sourceline integer, OUT applied boolean, OUT error text)
	RETURNS SETOF record LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT has_table_privilege('pg_catalog.pg_file_settings', 'SELECT')
		OR NOT has_function_privilege('pg_catalog.pg_show_all_file_settings()', 'EXECUTE') THEN
		RETURN;
	END IF;
	RETURN QUERY SELECT f.name, f.setting, f.sourceline, f.applied, f.error
		FROM pg_catalog.pg_file_settings AS f
		WHERE f.sourcefile = current_setting('data_directory') || '/postgresql.auto.conf';
END $$;
COMMENT ON FUNCTION performance_schema.persisted_settings() IS
	'Lines of postgresql.auto.conf, for who may read pg_file_settings';

-- They are in no catalogue of the server.
CREATE FUNCTION performance_schema.user_settings(OUT name text, OUT setting text)
	RETURNS SETOF record LANGUAGE C STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'performance_schema_user_settings';
COMMENT ON FUNCTION performance_schema.user_settings() IS
	'Settings with a dot in their name that this session or its client has made';
