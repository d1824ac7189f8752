CREATE FUNCTION sys.table_exists(in_db text, in_table text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN coalesce((
		SELECT CASE
			WHEN c.relpersistence = 't' THEN 'TEMPORARY'
			WHEN c.relkind = 'v' THEN 'VIEW'
			WHEN c.relkind = 'm' THEN 'MATERIALIZED VIEW'
			WHEN c.relkind = 'f' THEN 'FOREIGN TABLE'
			ELSE 'BASE TABLE' END
		FROM pg_class AS c
		WHERE c.relname = in_table AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
			AND c.relnamespace = CASE in_db WHEN 'pg_temp' THEN pg_my_temp_schema() ELSE (
				SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = in_db) END), '');
COMMENT ON FUNCTION sys.table_exists(text, text) IS
	'Kind of a table, or an empty text: BASE TABLE, VIEW, MATERIALIZED VIEW, FOREIGN TABLE, TEMPORARY';
