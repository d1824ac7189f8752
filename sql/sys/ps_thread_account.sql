CREATE FUNCTION sys.ps_thread_account(in_thread_id bigint) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
	RETURN (
		SELECT t.processlist_user || '@' || t.processlist_host
		FROM performance_schema.threads AS t
		WHERE t.thread_id = in_thread_id);
COMMENT ON FUNCTION sys.ps_thread_account(bigint) IS
	'USER@HOST of a thread; NULL if it serves no client';
