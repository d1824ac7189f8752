CREATE FUNCTION sys.ps_is_instrument_default_enabled(in_instrument text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN CASE WHEN in_instrument LIKE 'wait/%'
			AND in_instrument NOT LIKE ALL ('{wait/io/file/%,wait/io/table/%,wait/lock/%}')
		THEN 'NO' ELSE 'YES' END;
COMMENT ON FUNCTION sys.ps_is_instrument_default_enabled(text) IS
	'Is this instrument on where no setting says anything? YES or NO';
