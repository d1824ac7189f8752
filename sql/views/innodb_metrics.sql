-- The name under which MySQL has it.
CREATE VIEW performance_schema.innodb_metrics WITH (security_invoker = true) AS
SELECT * FROM performance_schema.engine_metrics;
COMMENT ON VIEW performance_schema.innodb_metrics IS
	'engine_metrics by the name it has in MySQL';
DO $$
DECLARE
	name text;
	doc text;
BEGIN
	FOR name, doc IN
		SELECT attname, col_description(attrelid, attnum) FROM pg_attribute
		WHERE attrelid = 'performance_schema.engine_metrics'::regclass AND attnum > 0
	LOOP
		EXECUTE format('COMMENT ON COLUMN performance_schema.innodb_metrics.%I IS %L', name, doc);
	END LOOP;
END $$;
