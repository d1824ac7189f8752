-- Normalised statements and their sums. The table name makes the query ids those of this test.
CREATE TABLE digested (i integer, j integer);
SELECT performance_schema.reset('events_statements_summary_by_digest');

-- Literals do not matter, lists of them neither; comments, case and white space do not
SELECT i FROM digested WHERE i = 1;
SELECT i FROM digested WHERE i = 2;
select i  from digested /* a comment */ where i = 3;
INSERT INTO digested VALUES (1, 2);
INSERT INTO digested VALUES (3, 4);
UPDATE digested SET j = 7 WHERE i = 3 AND j IN (4, 5, 6);
SELECT schema_name, digest_text, count_star, sum_rows_affected, sum_rows_sent
FROM performance_schema.events_statements_summary_by_digest
WHERE digest_text ~ 'digested' AND digest_text !~ 'performance_schema'
ORDER BY digest_text COLLATE "C";

-- A digest is 64 hexadecimal digits, the same for the event and for the summary
SELECT bool_and(digest ~ '^[0-9a-f]{64}$') AS hexadecimal, count(DISTINCT digest) <= count(*) AS shared
FROM performance_schema.events_statements_summary_by_digest WHERE digest_text IS NOT NULL;
SELECT count(*) > 0 AS joined FROM performance_schema.events_statements_history h
JOIN performance_schema.events_statements_summary_by_digest d USING (digest, queryid)
WHERE h.thread_id = performance_schema.ps_current_thread_id() AND d.digest_text ~ 'digested'
	AND h.digest_text = d.digest_text;

-- Percentiles and the sample
SELECT min_timer_wait <= avg_timer_wait AS min_and_mean, avg_timer_wait <= max_timer_wait AS mean_and_max,
	quantile_95 <= quantile_99 AND quantile_99 <= quantile_999 AS quantiles_grow,
	first_seen <= last_seen AS in_order, query_sample_text ~ '(?i)^select i +from digested' AS sample,
	query_sample_timer_wait <= max_timer_wait AS sample_time
FROM performance_schema.events_statements_summary_by_digest
WHERE digest_text LIKE 'SELECT _i_ FROM _digested_ WHERE%';

-- Utilities have digests too, one for all literals
SET application_name = 'one';
SET application_name = 'two';
SELECT digest_text, count_star FROM performance_schema.events_statements_summary_by_digest
WHERE digest_text ~ '^SET .?application_name' ORDER BY 1;

-- Failures count in their digest
SELECT 1 / (i - i) FROM digested;
SELECT count_star, sum_errors FROM performance_schema.events_statements_summary_by_digest
WHERE digest_text ~ 'digested' AND digest_text LIKE 'SELECT _ / %';

-- Switched off, no digest is made
SELECT performance_schema.set_consumers('statements_digest', false);
DELETE FROM digested;
SELECT performance_schema.set_consumers('statements_digest', true);
SELECT count(*) FROM performance_schema.events_statements_summary_by_digest
WHERE digest_text LIKE 'DELETE FROM _digested_';
DROP TABLE digested;
