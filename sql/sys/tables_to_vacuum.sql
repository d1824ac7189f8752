-- By the server's own counters, of this database: dead rows against autovacuum's threshold for the table, and the age of its
-- oldest transaction against the limit at which autovacuum comes whatever is set.
--@ view Tables by how much they need VACUUM; not in MySQL
--@ order s.dead_rows_of_threshold_pct DESC NULLS LAST, s.table_schema, s.table_name
--@ table_schema Schema
--@ table_name Table
--@ total_bytes [bytes] Size with indexes, when VACUUM or ANALYZE looked last: asking for it now would wait for locks
--@ live_rows Rows, estimated
--@ dead_rows Dead rows, estimated
--@ dead_pct Dead ones in per cent of all
--@ threshold Dead rows at which autovacuum comes
--@ dead_rows_of_threshold_pct Dead rows in per cent of that
--@ freeze_age_pct Age of its oldest transaction in per cent of autovacuum_freeze_max_age
--@ autovacuum NO if it is switched off for the table
--@ last_vacuum The last VACUUM, by hand or automatic; NULL = never
--@ vacuum_count So many since the statistics were reset
--@ changed_since_analyze Rows changed since the last ANALYZE
--@ last_analyze The last ANALYZE, by hand or automatic; NULL = never
SELECT
	t.schemaname AS table_schema,
	t.relname AS table_name,
	o.pages * current_setting('block_size')::bigint AS total_bytes,
	t.n_live_tup AS live_rows,
	t.n_dead_tup AS dead_rows,
	coalesce(round(100.0 * t.n_dead_tup / nullif(t.n_live_tup + t.n_dead_tup, 0), 2), 0) AS dead_pct,
	o.threshold,
	round((100 * t.n_dead_tup / greatest(o.threshold, 1))::numeric, 2) AS dead_rows_of_threshold_pct,
	round(100.0 * age(c.relfrozenxid) / current_setting('autovacuum_freeze_max_age')::bigint, 2) AS freeze_age_pct,
	CASE WHEN o.enabled THEN 'YES' ELSE 'NO' END AS autovacuum,
	greatest(t.last_vacuum, t.last_autovacuum) AS last_vacuum,
	t.vacuum_count + t.autovacuum_count AS vacuum_count,
	t.n_mod_since_analyze AS changed_since_analyze,
	greatest(t.last_analyze, t.last_autoanalyze) AS last_analyze
FROM pg_stat_all_tables AS t
JOIN pg_class AS c ON c.oid = t.relid
CROSS JOIN LATERAL (
	SELECT
		least(
			coalesce(max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_threshold'),
				current_setting('autovacuum_vacuum_threshold'))::float8
			+ coalesce(max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_scale_factor'),
				current_setting('autovacuum_vacuum_scale_factor'))::float8 * greatest(c.reltuples, 0),
			-- since 18; -1 = no limit
			nullif(coalesce(max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_max_threshold'),
				current_setting('autovacuum_vacuum_max_threshold', true))::float8, -1)) AS threshold,
		coalesce(max(option_value) FILTER (WHERE option_name = 'autovacuum_enabled'),
			current_setting('autovacuum'))::boolean AS enabled,
		c.relpages + (
			SELECT coalesce(sum(i.relpages), 0)::bigint FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
			WHERE x.indrelid = c.oid) AS pages
	FROM pg_options_to_table(c.reloptions)) AS o
WHERE c.relkind IN ('r', 'm', 't') AND c.relpersistence <> 't'
ORDER BY dead_rows_of_threshold_pct DESC NULLS LAST, table_schema, table_name
