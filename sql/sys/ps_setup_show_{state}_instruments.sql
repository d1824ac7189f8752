CREATE FUNCTION sys.ps_setup_show_{state}_instruments() RETURNS TABLE ({state}_instruments text, timed text)
	LANGUAGE sql STABLE
	BEGIN ATOMIC
		SELECT i.name, i.timed
		FROM performance_schema.setup_instruments AS i
		WHERE i.enabled = '{yes}'
		ORDER BY i.name;
	END;
COMMENT ON FUNCTION sys.ps_setup_show_{state}_instruments() IS
	'The instruments that are {state}';
