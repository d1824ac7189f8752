CREATE PROCEDURE sys.ps_setup_{switch}_thread(in_connection_id bigint, INOUT summary text DEFAULT NULL)
	LANGUAGE sql
	BEGIN ATOMIC
		SELECT sys.ps_setup_switch('thread', in_connection_id::text, {on});
	END;
COMMENT ON PROCEDURE sys.ps_setup_{switch}_thread(bigint, text) IS
	'{Switch} the session with this process id';
