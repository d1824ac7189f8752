CREATE FUNCTION sys.ps_setup_show_{state}_consumers() RETURNS TABLE ({state}_consumers text)
	LANGUAGE sql STABLE
	BEGIN ATOMIC
		SELECT c.name
		FROM performance_schema.setup_consumers AS c
		WHERE c.enabled = '{yes}'
		ORDER BY c.name;
	END;
COMMENT ON FUNCTION sys.ps_setup_show_{state}_consumers() IS
	'The consumers that are {state}';
