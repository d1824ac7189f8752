-- Indexes of this database by which no plan of any kind has read, by the server's own counts.
-- Without those that enforce something. The indexes of partitions go together: one alone cannot be
-- dropped. It means something only after the server has done all it usually does since its statistics
-- were reset, monthly reports included.
--@ plain Indexes of this database that no scan has used since the statistics of the server were reset
--@ object_schema Schema
--@ object_name Table
--@ index_name Index
SELECT s.object_schema, s.object_name, s.index_name
FROM (
	SELECT
		u.schemaname::text AS object_schema,
		u.relname::text AS object_name,
		u.indexrelname::text AS index_name,
		u.indexrelid,
		max(u.idx_scan) OVER (
			PARTITION BY coalesce(pg_partition_root(u.indexrelid)::oid, u.indexrelid)) AS scans
	FROM pg_stat_user_indexes AS u) AS s
JOIN pg_index AS i ON i.indexrelid = s.indexrelid
WHERE s.scans = 0
	AND NOT i.indisunique AND NOT i.indisexclusion
	AND current_setting('track_counts')::boolean
ORDER BY s.object_schema, s.object_name, s.index_name
