CREATE FUNCTION sys.sys_get_config(in_variable_name text, in_default_value text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN coalesce(
		nullif(current_setting('sys.' || in_variable_name, true), ''),
		(SELECT c.value FROM sys.sys_config AS c WHERE c.variable = in_variable_name),
		in_default_value);
COMMENT ON FUNCTION sys.sys_get_config(text, text) IS
	'An option of sys: the setting sys.NAME of the session, else that of sys_config, else the default';
