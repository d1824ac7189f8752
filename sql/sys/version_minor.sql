CREATE FUNCTION sys.version_minor() RETURNS integer
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN current_setting('server_version_num')::integer % 10000;
COMMENT ON FUNCTION sys.version_minor() IS
	'6 of PostgreSQL 18.6';
