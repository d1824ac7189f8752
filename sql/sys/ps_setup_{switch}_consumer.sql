CREATE PROCEDURE sys.ps_setup_{switch}_consumer(consumer text, INOUT summary text DEFAULT NULL)
	LANGUAGE sql
	BEGIN ATOMIC
		SELECT sys.ps_setup_switch('consumer', consumer, {on});
	END;
COMMENT ON PROCEDURE sys.ps_setup_{switch}_consumer(text, text) IS
	'{Switch} the consumers whose name contains this; % and _ as in LIKE';
