-- As https://prometheus.io/docs/specs/om/open_metrics_spec/ wants it: samples of a family stand together behind its type.
CREATE FUNCTION sys.openmetrics_text() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN (
		SELECT string_agg(f.lines, '' ORDER BY f.family) || E'# EOF\n'
		FROM (
			SELECT
				s.family,
				format(E'# TYPE %s %s\n# HELP %s %s\n', s.family, min(s.type), s.family, min(s.help))
				|| string_agg(s.line, '' ORDER BY s.place, s.line) AS lines
			FROM (
				SELECT
					CASE o.type WHEN 'counter' THEN regexp_replace(o.metric, '_total$', '')
						WHEN 'histogram' THEN regexp_replace(o.metric, '_(bucket|count|sum)$', '')
						ELSE o.metric END AS family,
					o.type, o.help,
					CASE o.type WHEN 'histogram' THEN o.label_values[1]::float8 END AS place,
					o.metric || coalesce('{' || (
						SELECT string_agg(format('%s="%s"', l.name,
							replace(replace(replace(l.value, '\', '\\'), '"', '\"'), E'\n', '\n')), ',' ORDER BY l.number)
						FROM unnest(o.label_names, o.label_values) WITH ORDINALITY AS l (name, value, number)
						) || '}', '') || ' ' || trim_scale(o.value) || E'\n' AS line
				FROM sys.openmetrics AS o) AS s
			GROUP BY s.family) AS f);
COMMENT ON FUNCTION sys.openmetrics_text() IS
	'What sys.openmetrics has as the text that a scraper reads (OpenMetrics 1.0)';
