CREATE FUNCTION sys.ps_is_instrument_default_timed(in_instrument text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN CASE WHEN in_instrument IN ('error', 'statement/com/Bind', 'statement/com/Execute',
			'statement/com/Describe', 'statement/com/Close', 'statement/com/Copy data')
		THEN 'NO' ELSE 'YES' END;
COMMENT ON FUNCTION sys.ps_is_instrument_default_timed(text) IS
	'Is this instrument timed, once it is on, where no setting says anything? YES or NO';
