-- Pages of indexes and of TOAST are those of their table, as in MySQL.
--@ view What the buffer pool holds, by table, the most first; needs the extension pg_buffercache
--@ order s.pages DESC, s.object_schema, s.object_name
--@ object_schema Schema; NULL for what belongs to other databases or to none
--@ object_name Table; NULL for what belongs to other databases or to none
--@ allocated [bytes] Size of its pages there
--@ data [bytes] Always NULL: what is free in them is not known
--@ pages Its pages there
--@ pages_hashed Always 0: there is no hash index of the pool's own
--@ pages_old Of these not used lately: the next to give way
--@ rows_cached Rows in them, by the table's density when VACUUM or ANALYZE looked last
SELECT
	n.nspname::text AS object_schema,
	t.relname::text AS object_name,
	sum(b.pages)::bigint * current_setting('block_size')::bigint AS allocated,
	NULL::bigint AS data,
	sum(b.pages)::bigint AS pages,
	0::bigint AS pages_hashed,
	sum(b.pages_old)::bigint AS pages_old,
	round((sum(b.pages) FILTER (WHERE c.oid = t.oid) * t.reltuples / nullif(t.relpages, 0))::numeric) AS rows_cached
FROM sys.buffer_pages() AS b
LEFT JOIN (
	SELECT c.oid, pg_relation_filenode(c.oid) AS filenode, coalesce(i.indrelid, c.oid) AS relation
	FROM pg_class AS c
	LEFT JOIN pg_index AS i ON i.indexrelid = c.oid) AS c
	ON c.filenode = b.relfilenode
	AND b.reldatabase IN (0, (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
LEFT JOIN pg_class AS m ON m.reltoastrelid = c.relation AND c.relation <> 0
LEFT JOIN pg_class AS t ON t.oid = coalesce(m.oid, c.relation)
LEFT JOIN pg_namespace AS n ON n.oid = t.relnamespace
GROUP BY t.oid, n.nspname, t.relname, t.reltuples, t.relpages
ORDER BY pages DESC, object_schema, object_name
