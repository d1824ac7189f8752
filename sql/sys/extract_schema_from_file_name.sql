CREATE FUNCTION sys.extract_schema_from_file_name(path text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (
		SELECT n.nspname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.oid = sys.table_of_file_name(path));
COMMENT ON FUNCTION sys.extract_schema_from_file_name(text) IS
	'Schema of the table that a file, its name as in file_instances, belongs to; NULL in other databases';
