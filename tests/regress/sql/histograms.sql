-- Distributions of statement times.
CREATE TABLE measured (i integer);
SELECT performance_schema.reset('events_statements_summary_by_digest');
SELECT performance_schema.reset('events_statements_histogram_by_digest');
SELECT count(*) FROM measured;
SELECT count(*) FROM measured;
SELECT count(*) FROM measured;

-- By digest: only buckets with something; they add up to the digest's count, and to its times
SELECT sum(h.count_bucket) = max(d.count_star) AS adds_up, max(d.count_star) AS statements,
	max(h.count_bucket_and_lower) = max(d.count_star) AS cumulates,
	max(h.bucket_quantile) AS last_quantile, bool_and(h.count_bucket > 0) AS filled,
	bool_and(h.bucket_timer_low < h.bucket_timer_high) AS have_width,
	min(h.bucket_timer_low) <= max(d.min_timer_wait) AND max(d.max_timer_wait) <= max(h.bucket_timer_high)
		AS enclose
FROM performance_schema.events_statements_histogram_by_digest h
JOIN performance_schema.events_statements_summary_by_digest d USING (schema_name, digest, queryid)
WHERE d.digest_text LIKE '%FROM _measured_';

-- For the server: buckets without gaps, each 10^(1/50) times as wide
SELECT bool_and(bucket_number = lag + 1) AS numbered, bool_and(bucket_timer_low = high) AS no_gaps,
	bool_and(count_bucket_and_lower = before + count_bucket) AS cumulates,
	bool_and(bucket_quantile BETWEEN quantile AND 1) AS quantiles_grow
FROM (SELECT *, lag(bucket_number) OVER w, lag(bucket_timer_high) OVER w AS high,
		lag(count_bucket_and_lower) OVER w AS before, lag(bucket_quantile) OVER w AS quantile
	FROM performance_schema.events_statements_histogram_global WINDOW w AS (ORDER BY bucket_number)) x
WHERE lag IS NOT NULL;
SELECT bool_and(round(log(bucket_timer_high / bucket_timer_low), 2) = 0.02) AS same_ratio
FROM performance_schema.events_statements_histogram_global
WHERE bucket_timer_low > 0 AND bucket_timer_high < 1e18 AND bucket_number > 50;

-- TRUNCATE of the histograms leaves the digests alone; that of the digests takes both
TRUNCATE performance_schema.events_statements_histogram_by_digest;
SELECT count(*) FROM performance_schema.events_statements_histogram_by_digest h
JOIN performance_schema.events_statements_summary_by_digest d USING (digest, queryid)
WHERE d.digest_text LIKE '%FROM _measured_';
SELECT count_star FROM performance_schema.events_statements_summary_by_digest
WHERE digest_text LIKE '%FROM _measured_';
SELECT count(*) FROM measured;
TRUNCATE performance_schema.events_statements_summary_by_digest;
SELECT count(*) FROM performance_schema.events_statements_summary_by_digest
WHERE digest_text LIKE '%FROM _measured_';
TRUNCATE performance_schema.events_statements_histogram_global;
SELECT sum(count_bucket) < 10 AS few FROM performance_schema.events_statements_histogram_global;
DROP TABLE measured;
