-- As in MySQL, but for a bucket of more than 240: one # is as many then that it is no longer than 80.
CREATE FUNCTION sys.ps_statement_avg_latency_histogram() RETURNS TABLE (histogram text)
	LANGUAGE sql STABLE
	BEGIN ATOMIC
		WITH digests AS MATERIALIZED (
			SELECT d.avg_timer_wait AS latency
			FROM performance_schema.events_statements_summary_by_digest AS d
		), range AS (
			SELECT count(*) AS total, coalesce(min(d.latency), 0) AS low,
				greatest(ceil((max(d.latency) - min(d.latency) + 1) / 16), 1) AS size
			FROM digests AS d
		), counted AS (
			SELECT b.bucket, r.low + b.bucket * r.size AS low, r.size, (
				SELECT count(*) FROM digests AS d
				WHERE d.latency >= r.low + b.bucket * r.size AND d.latency < r.low + (b.bucket + 1) * r.size) AS count
			FROM range AS r CROSS JOIN generate_series(0, 15) AS b (bucket)
		), units AS (
			SELECT greatest(3, ceil(max(c.count) / 80.0))::integer AS many FROM counted AS c
		), labels AS (
			SELECT c.bucket, c.count,
				'(' || sys.format_time(c.low) || ' - ' || sys.format_time(c.low + c.size) || ')' AS label
			FROM counted AS c
		)
		SELECT f.line
		FROM (
			SELECT v.number, v.line
			FROM units AS u
			CROSS JOIN LATERAL (VALUES (-3, '  . = 1 unit'), (-2, '  * = 2 units'),
				(-1, '  # = ' || u.many || ' units')) AS v (number, line)
			UNION ALL
			SELECT l.bucket, rpad(l.label, max(length(l.label)) OVER ()) || ' '
				|| lpad(l.count::text, max(length(l.count::text)) OVER ()) || ' | '
				|| CASE WHEN l.count < 40 THEN repeat('.', l.count::integer)
					WHEN l.count < 80 THEN repeat('*', l.count::integer / 2)
					ELSE repeat('#', l.count::integer / u.many) END
			FROM labels AS l CROSS JOIN units AS u
			UNION ALL
			SELECT 16, format('  Total Statements: %s; Buckets: 16; Bucket Size: %s', r.total, sys.format_time(r.size))
			FROM range AS r) AS f (number, line)
		ORDER BY f.number;
	END;
COMMENT ON FUNCTION sys.ps_statement_avg_latency_histogram() IS
	'How many digests have which mean time, drawn with characters';
