CREATE FUNCTION sys.ps_is_thread_instrumented(in_connection_id bigint) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
	RETURN coalesce((
		SELECT t.instrumented
		FROM performance_schema.threads AS t
		WHERE t.processlist_id = in_connection_id), 'UNKNOWN');
COMMENT ON FUNCTION sys.ps_is_thread_instrumented(bigint) IS
	'Is the session with this process id instrumented? YES or NO; UNKNOWN: there is none';
