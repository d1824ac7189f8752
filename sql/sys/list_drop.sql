-- Only what is equal to the value: MySQL also cuts it out of longer values that begin with it.
CREATE FUNCTION sys.list_drop(in_list text, in_drop_value text) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
	AS $$
BEGIN
	IF in_drop_value IS NULL THEN
		RAISE 'sys.list_drop: the value to drop must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN array_to_string(
		array_remove(regexp_split_to_array(btrim(in_list), '\s*,\s*'), btrim(in_drop_value)), ',');
END $$;
COMMENT ON FUNCTION sys.list_drop(text, text) IS
	'A list with commas without a value';
