-- Connection strings of subscriptions, for those who may read them; others get no rows instead of an error. (A view would ask
-- for the privilege before it reads its first row.)
CREATE FUNCTION performance_schema.subscription_sources(OUT subscription oid, OUT conninfo text)
	RETURNS SETOF record LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF has_column_privilege('pg_catalog.pg_subscription', 'subconninfo', 'SELECT') THEN
		RETURN QUERY SELECT s.oid, s.subconninfo FROM pg_catalog.pg_subscription AS s;
	END IF;
END $$;
COMMENT ON FUNCTION performance_schema.subscription_sources() IS
	'Connection strings of subscriptions, for who may read them in pg_subscription';

CREATE FUNCTION performance_schema.conninfo_value(conninfo text, keyword text)
	RETURNS text LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'performance_schema_conninfo_value';
COMMENT ON FUNCTION performance_schema.conninfo_value(text, text) IS
	'What a connection string says for a keyword, else NULL';
