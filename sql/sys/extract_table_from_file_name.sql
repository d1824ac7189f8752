CREATE FUNCTION sys.extract_table_from_file_name(path text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (
		SELECT c.relname::text FROM pg_class AS c
		WHERE c.oid = sys.table_of_file_name(path));
COMMENT ON FUNCTION sys.extract_table_from_file_name(text) IS
	'Table that a file, its name as in file_instances, belongs to; NULL in other databases';
