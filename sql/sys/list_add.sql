CREATE FUNCTION sys.list_add(in_list text, in_add_value text) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF in_add_value IS NULL THEN
		RAISE 'sys.list_add: the value to add must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN coalesce(nullif(in_list, '') || ',', '') || in_add_value;
END $$;
COMMENT ON FUNCTION sys.list_add(text, text) IS
	'A list with commas, such as a setting''s, and one more value at its end';
