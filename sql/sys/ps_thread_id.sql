CREATE FUNCTION sys.ps_thread_id(in_connection_id bigint) RETURNS bigint
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE WHEN in_connection_id IS NULL THEN performance_schema.ps_current_thread_id()
		ELSE performance_schema.ps_thread_id(in_connection_id) END;
COMMENT ON FUNCTION sys.ps_thread_id(bigint) IS
	'Thread of the session with this process id, of one''s own for NULL';
