-- The views of sys on waits, files, tables: they can be read, and agree with the tables below.
SET jit = off;
SELECT performance_schema.set_instruments('wait/%', true, true) > 0 AS instruments,
	performance_schema.set_consumers('%', true) > 0 AS consumers;
CREATE TABLE watched (id integer PRIMARY KEY, used integer, unused integer, filler text);
CREATE INDEX watched_used ON watched (used);
CREATE INDEX watched_unused ON watched (unused);
CREATE UNIQUE INDEX watched_unique ON watched (id, unused);
INSERT INTO watched SELECT i, i, i, repeat('x', 100) FROM generate_series(1, 2000) AS i;
CHECKPOINT;
SELECT count(*) FROM watched;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(filler) FROM watched WHERE used < 100;
UPDATE watched SET filler = 'y' WHERE used = 5;
DELETE FROM watched WHERE used = 6;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT pg_stat_force_next_flush();
SELECT pg_sleep(0.02) IS NOT NULL AS slept;

-- From here on nothing is recorded, so that two readings see the same
SELECT performance_schema.set_consumers('global_instrumentation', false);
SELECT count(*) > 0 AS waited FROM performance_schema.events_waits_summary_global_by_event_name
WHERE sum_timer_wait > 0;

-- Each view can be read in full; a formatted one has the rows and columns of the raw one
-- without pg_buffercache its views say so
SET client_min_messages = warning;
CREATE FUNCTION rows_of(view name) RETURNS bigint LANGUAGE plpgsql STRICT AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(v::text) FROM (SELECT * FROM sys.%I) AS v', view) INTO n;
	RETURN n;
END $$;
SELECT f.viewname, rows_of(f.viewname) AS rows, rows_of(r.viewname) AS raw
FROM pg_views AS f LEFT JOIN pg_views AS r
	ON r.schemaname = 'sys' AND r.viewname = 'x$' || f.viewname
WHERE f.schemaname = 'sys' AND f.viewname NOT LIKE 'x$%'
	AND rows_of(f.viewname) <> rows_of(r.viewname);
-- (those that are not one of two)
SELECT viewname FROM pg_views AS v
WHERE schemaname = 'sys' AND rows_of(viewname) >= 0
	AND NOT EXISTS (SELECT FROM pg_views WHERE schemaname = 'sys'
		AND (viewname = 'x$' || v.viewname OR 'x$' || viewname = v.viewname))
ORDER BY viewname COLLATE "C";
SELECT c.relname, a.attname
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND attnum > 0
WHERE c.relnamespace = 'sys'::regnamespace AND c.relname LIKE 'x$%'
	AND EXISTS (SELECT FROM pg_class AS f WHERE f.relnamespace = 'sys'::regnamespace
		AND 'x$' || f.relname = c.relname)
	AND NOT EXISTS (SELECT FROM pg_class AS f JOIN pg_attribute AS fa ON fa.attrelid = f.oid
		WHERE f.relnamespace = 'sys'::regnamespace AND 'x$' || f.relname = c.relname
			AND fa.attname = a.attname);
-- (those without rows here)
SELECT viewname FROM pg_views WHERE schemaname = 'sys' AND viewname NOT LIKE 'x$%'
	AND rows_of(viewname) = 0 ORDER BY viewname COLLATE "C";

-- Sums are those of the tables
CREATE FUNCTION same(ours text, theirs text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a text;
	b text;
BEGIN
	EXECUTE 'SELECT x::text FROM (SELECT ' || ours || ') AS x' INTO a;
	EXECUTE 'SELECT x::text FROM (SELECT ' || theirs || ') AS x' INTO b;
	RETURN CASE WHEN a IS DISTINCT FROM b THEN a || ' is not ' || b
		WHEN a ~ '[1-9]' THEN 'same' ELSE 'nothing to compare' END;
END $$;
SELECT v.what, same(v.ours, v.theirs) FROM (VALUES
	('global', 'sum(total), sum(total_latency), max(max_latency) FROM sys.x$waits_global_by_latency',
		'sum(count_star), sum(sum_timer_wait), max(max_timer_wait)
		FROM performance_schema.events_waits_summary_global_by_event_name
		WHERE event_name <> ''idle'' AND sum_timer_wait > 0'),
	('classes', 'sum(total), sum(total_latency), min(min_latency), max(max_latency)
		FROM sys.x$wait_classes_global_by_latency',
		'sum(count_star), sum(sum_timer_wait), min(min_timer_wait), max(max_timer_wait)
		FROM performance_schema.events_waits_summary_global_by_event_name
		WHERE event_name <> ''idle'' AND sum_timer_wait > 0'),
	('classes by mean', 'sum(total), sum(total_latency) FROM sys.x$wait_classes_global_by_avg_latency',
		'sum(total), sum(total_latency) FROM sys.x$wait_classes_global_by_latency'),
	('users', 'sum(total), sum(total_latency) FROM sys.x$waits_by_user_by_latency',
		'sum(count_star), sum(sum_timer_wait)
		FROM performance_schema.events_waits_summary_by_user_by_event_name
		WHERE event_name <> ''idle'' AND sum_timer_wait > 0'),
	('hosts', 'sum(total), sum(total_latency) FROM sys.x$waits_by_host_by_latency',
		'sum(count_star), sum(sum_timer_wait)
		FROM performance_schema.events_waits_summary_by_host_by_event_name
		WHERE event_name <> ''idle'' AND sum_timer_wait > 0'),
	('threads', 'sum(total), sum(total_latency), max(max_latency) FROM sys.x$io_by_thread_by_latency',
		'sum(count_star), sum(sum_timer_wait), max(max_timer_wait)
		FROM performance_schema.events_waits_summary_by_thread_by_event_name
		WHERE event_name LIKE ''wait/io/file/%'' AND sum_timer_wait > 0'),
	('user files', 'sum(ios), sum(io_latency) FROM sys.x$user_summary_by_file_io',
		'sum(total), sum(latency) FROM sys.x$user_summary_by_file_io_type'),
	('user file types', 'sum(total), sum(latency) FROM sys.x$user_summary_by_file_io_type',
		'sum(count_star), sum(sum_timer_wait)
		FROM performance_schema.events_waits_summary_by_user_by_event_name
		WHERE event_name LIKE ''wait/io/file/%'' AND count_star > 0'),
	('host files', 'sum(ios), sum(io_latency) FROM sys.x$host_summary_by_file_io',
		'sum(total), sum(total_latency) FROM sys.x$host_summary_by_file_io_type'),
	('host file types', 'sum(total), sum(total_latency) FROM sys.x$host_summary_by_file_io_type',
		'sum(count_star), sum(sum_timer_wait)
		FROM performance_schema.events_waits_summary_by_host_by_event_name
		WHERE event_name LIKE ''wait/io/file/%'' AND count_star > 0'),
	('files by bytes', 'sum(total), sum(count_read), sum(count_write)
		FROM sys.x$io_global_by_file_by_bytes',
		'sum(sum_number_of_bytes_read + sum_number_of_bytes_write), sum(count_read), sum(count_write)
		FROM performance_schema.file_summary_by_instance'),
	('files by time', 'sum(total), sum(total_latency), sum(read_latency), sum(write_latency),
		sum(misc_latency) FROM sys.x$io_global_by_file_by_latency',
		'sum(count_star), sum(sum_timer_wait), sum(sum_timer_read), sum(sum_timer_write),
		sum(sum_timer_misc) FROM performance_schema.file_summary_by_instance'),
	('events by bytes', 'sum(total), sum(total_requested), sum(count_read)
		FROM sys.x$io_global_by_wait_by_bytes',
		'sum(count_star), sum(sum_number_of_bytes_read + sum_number_of_bytes_write), sum(count_read)
		FROM performance_schema.file_summary_by_event_name'),
	('events by time', 'sum(total), sum(total_latency), sum(read_latency), sum(write_latency),
		sum(misc_latency) FROM sys.x$io_global_by_wait_by_latency',
		'sum(count_star), sum(sum_timer_wait), sum(sum_timer_read), sum(sum_timer_write),
		sum(sum_timer_misc) FROM performance_schema.file_summary_by_event_name'),
	('latest', 'count(*), sum(latency), sum(requested) FROM sys.x$latest_file_io',
		'count(*), sum(timer_wait), sum(number_of_bytes)
		FROM performance_schema.events_waits_history_long
		WHERE event_name LIKE ''wait/io/file/%'' AND object_name IS NOT NULL'),
	('tables', 'sum(rows_fetched), sum(rows_inserted), sum(rows_updated), sum(rows_deleted),
		sum(total_latency) FROM sys.x$schema_table_statistics',
		'sum(count_fetch), sum(count_insert), sum(count_update), sum(count_delete),
		sum(sum_timer_wait) FROM performance_schema.table_io_waits_summary_by_table'),
	('files of tables', 'sum(io_read_requests), sum(io_read), sum(io_write_requests), sum(io_write),
		sum(io_misc_requests) FROM sys.x$schema_table_statistics AS s
		JOIN sys.x$ps_schema_table_statistics_io AS f USING (table_schema, table_name)
		WHERE database_name IS NULL OR database_name = current_database()',
		'sum(count_read), sum(sum_number_of_bytes_read), sum(count_write),
		sum(sum_number_of_bytes_write), sum(count_misc) FROM sys.x$ps_schema_table_statistics_io
		WHERE (table_schema, table_name) IN (SELECT object_schema, object_name
			FROM performance_schema.table_io_waits_summary_by_table
			WHERE database_oid IN (0, (SELECT oid::bigint FROM pg_database
				WHERE datname = current_database())))'),
	('indexes', 'sum(rows_selected), count(*) FROM sys.x$schema_index_statistics',
		'sum(idx_tup_read), count(*) FROM pg_stat_user_indexes'),
	('indexes, times', 'sum(select_latency) FROM sys.x$schema_index_statistics',
		'sum(sum_timer_fetch) FROM performance_schema.table_io_waits_summary_by_index_usage
		WHERE index_oid IN (SELECT indexrelid::bigint FROM pg_stat_user_indexes)'),
	('full scans', 'sum(rows_full_scanned) FROM sys.x$schema_tables_with_full_table_scans',
		'sum(seq_tup_read) FROM pg_stat_user_tables'),
	('time model', 'sum(exec_count), sum(total_latency) FROM sys.x$statement_time_model',
		'sum(count_star), sum(sum_timer_wait)
		FROM performance_schema.events_statements_summary_by_digest'),
	('time model, waits', 'sum(file_io_latency + lock_latency + lwlock_latency + socket_latency
		+ ipc_latency + timeout_latency + other_wait_latency) FROM sys.x$statement_time_model',
		'sum(sum_timer_wait) FROM performance_schema.events_waits_summary_by_digest')
) AS v (what, ours, theirs);

-- The parts of a statement's time make the whole
SELECT count(*) AS too_little FROM sys.x$statement_time_model
WHERE file_io_latency + lock_latency + lwlock_latency + socket_latency + ipc_latency
	+ timeout_latency + other_wait_latency + cpu_and_other_latency < total_latency;
SELECT query, exec_count, timeout_latency > 10000000000 AS slept, timeout_pct > 50 AS mostly,
	lock_pct, cpu_and_other_latency < total_latency AS less
FROM sys.x$statement_time_model WHERE query ~ 'pg_sleep';

-- What the table saw
SELECT table_schema, table_name, rows_fetched >= 2000 AS fetched, rows_inserted, rows_updated,
	rows_deleted, io_write > 200000 AS written, io_write_requests > 10 AS writes,
	database_name = current_database() AS here
FROM sys.x$schema_table_statistics WHERE table_name = 'watched';
SELECT index_name, rows_selected, rows_updated, rows_deleted
FROM sys.schema_index_statistics WHERE table_name = 'watched' AND rows_selected > 0 ORDER BY index_name;
SELECT * FROM sys.schema_unused_indexes WHERE object_name = 'watched';
SELECT object_schema, object_name, rows_full_scanned >= 2000 AS rows, database_name = current_database() AS here
FROM sys.schema_tables_with_full_table_scans WHERE object_name = 'watched';
SELECT relation_name, count(*) > 0 AS files, sum(count_write) > 0 AS written
FROM sys.io_global_by_file_by_bytes WHERE relation_name ~ 'watched'
GROUP BY relation_name ORDER BY relation_name COLLATE "C";
-- (wait/io/table will be among them, and the times of indexes above comparable, when tables are timed again)
SELECT event_class FROM sys.wait_classes_global_by_latency
WHERE event_class IN ('wait/io/file', 'wait/io/table', 'wait/timeout/postgres', 'wait/io/socket')
ORDER BY event_class;

-- Largest first
SELECT bool_and(total_latency <= lag) AS by_time FROM (
	SELECT total_latency, lag(total_latency) OVER () FROM sys.x$waits_global_by_latency) AS x;
SELECT bool_and(total <= lag) AS by_bytes FROM (
	SELECT total, lag(total) OVER () FROM sys.x$io_global_by_file_by_bytes) AS x;
SELECT bool_and(f.total_latency = sys.format_time(r.total_latency)) AS formatted
FROM (SELECT row_number() OVER () AS n, * FROM sys.waits_global_by_latency) AS f
JOIN (SELECT row_number() OVER () AS n, * FROM sys.x$waits_global_by_latency) AS r USING (n);

SELECT performance_schema.set_consumers('global_instrumentation', true);
DROP TABLE watched;
DROP FUNCTION rows_of(name);
DROP FUNCTION same(text, text);
