-- As it is decided at login: the rule of the user comes before that of the host, and one rule holds.
CREATE FUNCTION sys.ps_is_account_enabled(in_host text, in_user text) RETURNS text
	LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
	RETURN coalesce((
		SELECT a.enabled
		FROM performance_schema.setup_actors AS a
		WHERE a.user_name IN (in_user, '%') AND a.host IN (in_host, '%')
		ORDER BY a.user_name = in_user DESC, a.host = in_host DESC
		LIMIT 1), 'NO');
COMMENT ON FUNCTION sys.ps_is_account_enabled(text, text) IS
	'YES: new sessions of this user from this host are instrumented, see setup_actors';
