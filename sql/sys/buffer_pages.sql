-- A view cannot name what may not be there: so this asks whether it is.
CREATE FUNCTION sys.buffer_pages(
	OUT relfilenode oid, OUT reltablespace oid, OUT reldatabase oid, OUT pages bigint, OUT pages_old bigint)
	RETURNS SETOF record
	LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	at regnamespace := (SELECT e.extnamespace FROM pg_extension AS e WHERE e.extname = 'pg_buffercache');
BEGIN
	IF at IS NULL THEN
		RAISE NOTICE 'this database has no extension pg_buffercache: which relations the buffer pool holds is not known'
			USING HINT = 'CREATE EXTENSION pg_buffercache';
		RETURN;
	END IF;
	IF NOT has_schema_privilege(at, 'USAGE') OR NOT (
		SELECT has_table_privilege(c.oid, 'SELECT') FROM pg_class AS c
		WHERE c.relnamespace = at AND c.relname = 'pg_buffercache') THEN
		RETURN;
	END IF;
	RETURN QUERY EXECUTE format(
		'SELECT b.relfilenode, b.reltablespace, b.reldatabase, count(*), count(*) FILTER (WHERE b.usagecount = 0) '
		'FROM %s.pg_buffercache AS b WHERE b.relfilenode IS NOT NULL GROUP BY 1, 2, 3', at);
END $$;
COMMENT ON FUNCTION sys.buffer_pages() IS
	'Pages that the buffer pool holds, by file, and those of them that were not used lately; needs pg_buffercache and pg_monitor';
