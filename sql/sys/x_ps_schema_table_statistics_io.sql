-- File I/O per table of this database, raw: its indexes and TOAST table included. A part of
-- schema_table_statistics. file_summary_by_instance knows which relation a file holds.
CREATE VIEW sys."x$ps_schema_table_statistics_io" WITH (security_invoker = true) AS
SELECT
	n.nspname::text AS table_schema,
	t.relname::text AS table_name,
	sum(f.count_read) AS count_read,
	sum(f.sum_number_of_bytes_read) AS sum_number_of_bytes_read,
	sum(f.sum_timer_read) AS sum_timer_read,
	sum(f.count_write) AS count_write,
	sum(f.sum_number_of_bytes_write) AS sum_number_of_bytes_write,
	sum(f.sum_timer_write) AS sum_timer_write,
	sum(f.count_misc) AS count_misc,
	sum(f.sum_timer_misc) AS sum_timer_misc
FROM performance_schema.file_summary_by_instance AS f
JOIN (
	SELECT quote_ident(cn.nspname) || '.' || quote_ident(c.relname),
		coalesce(o.oid, i.indrelid, c.oid)
	FROM pg_class AS c
	JOIN pg_namespace AS cn ON cn.oid = c.relnamespace
	LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
	LEFT JOIN pg_class AS o ON o.reltoastrelid = coalesce(i.indrelid, c.oid)) AS r (name, table_oid)
	ON r.name = f.relation_name
JOIN pg_class AS t ON t.oid = r.table_oid
JOIN pg_namespace AS n ON n.oid = t.relnamespace
GROUP BY n.nspname, t.relname;
COMMENT ON VIEW sys."x$ps_schema_table_statistics_io" IS
	'File I/O per table of this database, indexes and TOAST included';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".table_schema IS
	'Schema';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".table_name IS
	'Table';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".count_read IS
	'Reads';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".sum_number_of_bytes_read IS
	'Bytes read';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".sum_timer_read IS
	'Time of reads, picoseconds';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".count_write IS
	'Writes';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".sum_number_of_bytes_write IS
	'Bytes written';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".sum_timer_write IS
	'Time of writes, picoseconds';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".count_misc IS
	'Other operations';
COMMENT ON COLUMN sys."x$ps_schema_table_statistics_io".sum_timer_misc IS
	'Time of other operations, picoseconds';
GRANT SELECT ON sys."x$ps_schema_table_statistics_io" TO PUBLIC;
