CREATE PROCEDURE sys.ps_setup_{switch}_background_threads(INOUT summary text DEFAULT NULL)
	LANGUAGE sql
	BEGIN ATOMIC
		SELECT sys.ps_setup_switch('background thread', NULL, {on});
	END;
COMMENT ON PROCEDURE sys.ps_setup_{switch}_background_threads(text) IS
	'{Switch} the processes that are there and serve no client';
