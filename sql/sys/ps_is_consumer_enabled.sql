-- As it has an effect: all above it have to be on, too.
CREATE FUNCTION sys.ps_is_consumer_enabled(in_consumer text) RETURNS text
	LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known boolean;
	state text;
BEGIN
	WITH RECURSIVE above (name) AS (
		SELECT in_consumer
		UNION ALL
		SELECT CASE
			WHEN a.name ~ '^events_[a-z]+_history' THEN
				regexp_replace(a.name, '_history.*', '_current')
			WHEN a.name IN ('thread_instrumentation', 'statements_digest') THEN
				'global_instrumentation'
			ELSE 'thread_instrumentation' END
		FROM above AS a
		WHERE a.name <> 'global_instrumentation'
	)
	SELECT bool_or(c.name = in_consumer),
		CASE WHEN bool_and(c.enabled = 'YES') THEN 'YES' ELSE 'NO' END
	INTO known, state
	FROM above AS a
	JOIN performance_schema.setup_consumers AS c ON c.name = a.name;
	IF known IS NOT TRUE THEN
		RAISE 'there is no consumer "%"', in_consumer USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN state;
END $$;
COMMENT ON FUNCTION sys.ps_is_consumer_enabled(text) IS
	'YES: this consumer and all above it are on';
