-- sys.format_time, sys.format_bytes, sys.format_statement, sys.statement_analysis
SELECT v, sys.format_time(v) FROM (VALUES (0::numeric), (1), (999), (1000), (999999), (1000000),
	(1e9), (1.5e9), (1e12), (59.994e12), (60e12), (3600e12), (86400e12), (604800e12), (6048e15),
	(-5), (NULL)) AS x (v);
SELECT v, sys.format_bytes(v) FROM (VALUES (0::numeric), (1), (1023), (1024), (1536), (1048576),
	(1073741824), (1099511627776), (1125899906842624), (1152921504606846976), (NULL)) AS x (v);

SELECT sys.format_statement('SELECT 1');
SELECT sys.format_statement(E'SELECT\n\t1\r\nFROM t') ~ E'[\n\r]' AS has_newline;
SELECT sys.format_statement('') = '' AS empty, sys.format_statement(NULL) IS NULL AS null;
WITH s AS (SELECT 'SELECT ' || repeat('x', 200) || ' FROM the_end' AS statement)
SELECT sys.format_statement(statement), length(sys.format_statement(statement)) <= 65 AS short FROM s;
SELECT length(sys.format_statement(repeat('x', 64))) AS kept;
SET sys.statement_truncate_len = 128;
SELECT length(sys.format_statement(repeat('x', 128))) AS kept;
SELECT length(sys.format_statement(repeat('x', 129))) <= 129 AS cut;
SET sys.statement_truncate_len = 0;
SELECT length(sys.format_statement(repeat('x', 129))) < 129 AS cut;
RESET sys.statement_truncate_len;
SELECT sys.format_statement(repeat('ä', 100)) ~ '^ä+ \.\.\. ä+$' AS characters_stay_whole;

-- The formatted view says the same as the raw one
CREATE TABLE analysed (i integer);
SELECT performance_schema.reset('events_statements_summary_by_digest');
INSERT INTO analysed SELECT generate_series(1, 10);
SELECT count(*) FROM analysed WHERE i > 5;
SELECT count(*) FROM analysed WHERE i > 7;
SELECT i / (i - i) FROM analysed;
SELECT query, full_scan, exec_count, err_count, rows_sent, rows_sent_avg, rows_affected
FROM sys.statement_analysis WHERE query ~ 'analysed' AND query !~ 'sys' ORDER BY query COLLATE "C";
-- (it is frozen in a table: reading is a statement too)
CREATE TEMP TABLE raw AS SELECT * FROM sys.x$statement_analysis;
SELECT count(*) AS differences FROM raw r JOIN sys.statement_analysis s USING (digest, exec_count)
WHERE r.query ~ 'analysed' AND (s.total_latency <> sys.format_time(r.total_latency)
	OR s.query <> sys.format_statement(r.query)
	OR s.p95_latency <> sys.format_time(r.p95_latency));
SELECT bool_and(total_latency <= lag) AS by_total_time
FROM (SELECT total_latency, lag(total_latency) OVER () FROM sys.x$statement_analysis) AS x;
DROP TABLE analysed;
