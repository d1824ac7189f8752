-- The extension as CREATE EXTENSION makes it. The other tests use it: this one runs first.
CREATE EXTENSION performance_schema;
SELECT extversion FROM pg_extension WHERE extname = 'performance_schema';
\dn+ performance_schema
\dn+ sys

-- The tables, in the order of the documentation
SELECT relname FROM pg_class
WHERE relnamespace = 'performance_schema'::regnamespace AND relkind = 'f' ORDER BY oid;

-- The functions, and whether everybody may call them
SELECT oid::regprocedure AS function, has_function_privilege('pg_monitor', oid, 'EXECUTE') AS public
FROM pg_proc WHERE pronamespace = 'performance_schema'::regnamespace
	AND prorettype <> 'fdw_handler'::regtype AND proname !~ 'validator'
ORDER BY oid::regprocedure::text COLLATE "C";

-- A comment on everything
SELECT count(*) AS without_comment FROM pg_class c, pg_attribute a
WHERE c.relnamespace IN ('performance_schema'::regnamespace, 'sys'::regnamespace)
	AND a.attrelid = c.oid AND a.attnum > 0 AND relkind IN ('f', 'v')
	AND (col_description(c.oid, attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL);
SELECT count(*) AS without_comment FROM pg_proc
WHERE pronamespace IN ('performance_schema'::regnamespace, 'sys'::regnamespace)
	AND obj_description(oid, 'pg_proc') IS NULL;

-- Dropping it leaves its schema, empty; it can be made again, and what was recorded is still there.
SELECT count(*) > 0 AS recorded FROM performance_schema.events_statements_summary_by_digest;
DROP EXTENSION performance_schema;
SELECT nspname FROM pg_namespace WHERE nspname IN ('performance_schema', 'sys');
SELECT count(*) FROM pg_class WHERE relnamespace = 'performance_schema'::regnamespace;
CREATE EXTENSION performance_schema;
SELECT count(*) > 0 AS recorded FROM performance_schema.events_statements_summary_by_digest;

-- Only one foreign table option, which must name a table
CREATE FOREIGN TABLE other (name text) SERVER performance_schema OPTIONS (table_name 'no_such');
CREATE FOREIGN TABLE other (name text) SERVER performance_schema OPTIONS (no_such 'threads');
-- A foreign table may have some of the columns, in any order, of the right type
CREATE FOREIGN TABLE other (enabled text, name text)
	SERVER performance_schema OPTIONS (table_name 'setup_consumers');
SELECT * FROM other WHERE name = 'global_instrumentation';
ALTER FOREIGN TABLE other ADD COLUMN no_such text;
SELECT * FROM other;
ALTER FOREIGN TABLE other DROP COLUMN no_such;
SELECT * FROM other WHERE name = 'global_instrumentation';
ALTER FOREIGN TABLE other ALTER COLUMN enabled TYPE boolean;
SELECT * FROM other;
DROP FOREIGN TABLE other;
