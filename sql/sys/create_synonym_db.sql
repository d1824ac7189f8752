CREATE PROCEDURE sys.create_synonym_db(
	in_db_name text, in_synonym text, INOUT summary text DEFAULT NULL)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	made integer := 0;
	relation text;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_namespace AS n WHERE n.nspname = in_db_name) OR in_db_name IS NULL THEN
		RAISE 'schema "%" does not exist', in_db_name USING ERRCODE = 'invalid_schema_name';
	ELSIF in_synonym IS NULL THEN
		RAISE 'the name of the new schema must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	EXECUTE format('CREATE SCHEMA %I', in_synonym);
	FOR relation IN
		SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = in_db_name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
		ORDER BY c.relname
	LOOP
		EXECUTE format('CREATE VIEW %I.%I WITH (security_invoker = true) AS SELECT * FROM %I.%I',
			in_synonym, relation, in_db_name, relation);
		made := made + 1;
	END LOOP;
	summary := format('Created %s view%s in the "%s" schema', made, CASE WHEN made <> 1 THEN 's' ELSE '' END,
		in_synonym);
END $$;
COMMENT ON PROCEDURE sys.create_synonym_db(text, text, text) IS
	'A new schema with a view of each table and view of another: a shorter name for it';
