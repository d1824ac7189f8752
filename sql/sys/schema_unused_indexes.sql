-- Indexes by which no row was read since start (or TRUNCATE), of tables of this database that were
-- used: what was not observed is not called unused. Without those that enforce something. It means
-- something only after the server has done all it usually does, monthly reports included.
CREATE VIEW sys.schema_unused_indexes WITH (security_invoker = true) AS
SELECT
	n.nspname::text AS object_schema,
	t.relname::text AS object_name,
	x.relname::text AS index_name
FROM pg_index AS i
JOIN pg_class AS x ON x.oid = i.indexrelid
JOIN pg_class AS t ON t.oid = i.indrelid
JOIN pg_namespace AS n ON n.oid = t.relnamespace
JOIN (
	SELECT DISTINCT u.table_oid
	FROM performance_schema.table_io_waits_summary_by_table AS u
	JOIN pg_database AS d ON d.oid = u.database_oid::oid
	WHERE d.datname = current_database() AND u.count_star > 0) AS used ON used.table_oid::oid = t.oid
WHERE x.relkind = 'i'
	AND NOT i.indisunique AND NOT i.indisexclusion
	AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema')
	AND NOT EXISTS (
		SELECT
		FROM performance_schema.table_io_waits_summary_by_index_usage AS u
		JOIN pg_database AS d ON d.oid = u.database_oid::oid
		WHERE d.datname = current_database() AND u.index_oid::oid = x.oid AND u.count_star > 0)
ORDER BY n.nspname, t.relname, x.relname;
COMMENT ON VIEW sys.schema_unused_indexes IS
	'Indexes of this database that served no statement since start';
COMMENT ON COLUMN sys.schema_unused_indexes.object_schema IS
	'Schema';
COMMENT ON COLUMN sys.schema_unused_indexes.object_name IS
	'Table';
COMMENT ON COLUMN sys.schema_unused_indexes.index_name IS
	'Index';
GRANT SELECT ON sys.schema_unused_indexes TO PUBLIC;
