CREATE FUNCTION sys.substring_index(string text, delimiter text, count bigint) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE
		WHEN string IS NULL OR delimiter IS NULL OR count IS NULL THEN NULL
		WHEN delimiter = '' OR count = 0 THEN ''
		WHEN count > 0 THEN
			array_to_string((string_to_array(string, delimiter))[:least(count, 2147483647)::integer], delimiter)
		ELSE
			array_to_string((string_to_array(string, delimiter))[
				greatest(cardinality(string_to_array(string, delimiter)) + count + 1, 1)::integer:], delimiter)
		END;
COMMENT ON FUNCTION sys.substring_index(text, text, bigint) IS
	'MySQL''s SUBSTRING_INDEX: what stands before the count-th delimiter; count < 0: behind it, counted from the end';
