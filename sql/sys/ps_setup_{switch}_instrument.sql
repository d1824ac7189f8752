CREATE PROCEDURE sys.ps_setup_{switch}_instrument(in_pattern text, INOUT summary text DEFAULT NULL)
	LANGUAGE sql
	BEGIN ATOMIC
		SELECT sys.ps_setup_switch('instrument', in_pattern, {on});
	END;
COMMENT ON PROCEDURE sys.ps_setup_{switch}_instrument(text, text) IS
	'{Switch} the instruments whose name contains this, with their times; % and _ as in LIKE';
