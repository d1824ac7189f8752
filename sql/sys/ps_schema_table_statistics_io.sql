-- File I/O per table of this database: its indexes and TOAST table included. A part of
-- schema_table_statistics. file_summary_by_instance knows which relation a file holds.
--@ raw File I/O per table of this database, indexes and TOAST included
--@ table_schema Schema
--@ table_name Table
--@ count_read Reads
--@ sum_number_of_bytes_read Bytes read
--@ sum_timer_read Time of reads, picoseconds
--@ count_write Writes
--@ sum_number_of_bytes_write Bytes written
--@ sum_timer_write Time of writes, picoseconds
--@ count_misc Other operations
--@ sum_timer_misc Time of other operations, picoseconds
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
GROUP BY n.nspname, t.relname
