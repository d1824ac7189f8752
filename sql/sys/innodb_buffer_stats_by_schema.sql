--@ view What the buffer pool holds, by schema, the most first; needs the extension pg_buffercache
--@ order s.pages DESC, s.object_schema
--@ object_schema Schema; NULL for what belongs to other databases or to none
--@ allocated [bytes] Size of its pages there
--@ data [bytes] Always NULL: what is free in them is not known
--@ pages Its pages there
--@ pages_hashed Always 0: there is no hash index of the pool's own
--@ pages_old Of these not used lately: the next to give way
--@ rows_cached Rows in them, estimated
SELECT
	t.object_schema,
	sum(t.allocated)::bigint AS allocated,
	sum(t.data)::bigint AS data,
	sum(t.pages)::bigint AS pages,
	sum(t.pages_hashed)::bigint AS pages_hashed,
	sum(t.pages_old)::bigint AS pages_old,
	sum(t.rows_cached) AS rows_cached
FROM sys."x$innodb_buffer_stats_by_table" AS t
GROUP BY t.object_schema
ORDER BY pages DESC, object_schema
