-- As in MySQL: the views' own queries over another table, a snapshot of
-- events_statements_summary_by_digest or the difference of two. They are in temporary tables of the
-- session (pg_temp.tmp_digests is the one that snapshot makes), or in tables that create_table makes.
CREATE FUNCTION sys.statement_performance_analyzer(
	in_action text, in_table text DEFAULT NULL, in_views text DEFAULT NULL)
	RETURNS TABLE (view_name text, line bigint, query text, db text, digest text, figures json)
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
	AS $$
DECLARE
	digests CONSTANT text := 'performance_schema.events_statements_summary_by_digest';
	snapshot CONSTANT text := 'pg_temp.tmp_digests';
	action text := lower(in_action);
	parts text[];
	given text;
	wanted text[] := regexp_split_to_array(lower(in_views), '\s*,\s*');
	custom text := sys.sys_get_config('statement_performance_analyzer.view', NULL);
	most bigint := sys.sys_get_config('statement_performance_analyzer.limit', '100')::bigint;
	saved jsonb := '{}';
	analysis text;
	source text;
	report record;
BEGIN
	IF lower(in_table) = 'now()' THEN
		given := digests;
	ELSIF in_table IS NOT NULL THEN
		parts := parse_ident(in_table);
		given := CASE cardinality(parts) WHEN 1 THEN format('pg_temp.%I', parts[1])
			WHEN 2 THEN format('%I.%I', parts[1], parts[2]) END;
		IF given IS NULL THEN
			RAISE 'no name of a table: "%"', in_table USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END IF;
	<<work>>
	BEGIN
		saved := sys.ps_setup_begin(false);
		analysis := rtrim(pg_get_viewdef('sys."x$statement_analysis"'::regclass), ';');
		IF action IN ('cleanup', 'snapshot') AND to_regclass(snapshot) IS NOT NULL THEN
			DROP TABLE pg_temp.tmp_digests;
		END IF;
		IF action = 'cleanup' THEN
			EXIT work;
		ELSIF action = 'snapshot' THEN
			EXECUTE format('CREATE TEMPORARY TABLE tmp_digests AS SELECT * FROM %s', coalesce(given, digests));
			EXIT work;
		ELSIF action IN ('create_table', 'create_tmp') THEN
			IF cardinality(parts) IS DISTINCT FROM (CASE action WHEN 'create_tmp' THEN 1 ELSE 2 END) THEN
				RAISE '% needs a name%', action, CASE action WHEN 'create_tmp' THEN '' ELSE ' with its schema' END
					USING ERRCODE = 'invalid_parameter_value';
			END IF;
			EXECUTE format('CREATE %s TABLE %s AS SELECT * FROM %s WITH NO DATA',
				CASE action WHEN 'create_tmp' THEN 'TEMPORARY' ELSE '' END, given, digests);
			EXIT work;
		ELSIF action NOT IN ('save', 'overall', 'delta') OR action IS NULL THEN
			RAISE 'there is no action "%"', in_action USING ERRCODE = 'invalid_parameter_value',
				HINT = 'snapshot, overall, delta, create_tmp, create_table, save, cleanup';
		END IF;
		IF action <> 'overall' AND (in_table IS NULL OR given = digests) THEN
			RAISE '% needs a table', action USING ERRCODE = 'invalid_parameter_value';
		ELSIF to_regclass(snapshot) IS NULL AND (action = 'delta' OR given IS NULL) THEN
			RAISE 'there is no snapshot' USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = $h$SELECT * FROM sys.statement_performance_analyzer('snapshot').$h$;
		END IF;
		IF action = 'save' THEN
			EXECUTE format('DELETE FROM %s', given);
			EXECUTE format('INSERT INTO %s SELECT * FROM %s', given,
				CASE WHEN to_regclass(snapshot) IS NULL THEN digests ELSE snapshot END);
			EXIT work;
		ELSIF action = 'overall' THEN
			source := format('(SELECT * FROM %s)', coalesce(given, snapshot));
		ELSE
			-- What was counted since; of a row that was emptied meanwhile, all.
			SELECT format('(SELECT %s FROM %s AS n LEFT JOIN %s AS o ON coalesce(o.schema_name, '''') = '
				'coalesce(n.schema_name, '''') AND coalesce(o.queryid, 0) = coalesce(n.queryid, 0) AND '
				'coalesce(o.digest, '''') = coalesce(n.digest, '''') AND o.first_seen = n.first_seen '
				'WHERE n.count_star > coalesce(o.count_star, 0))',
				string_agg(format(CASE
					WHEN a.attname ~ '^(count_star$|sum_)' THEN 'n.%1$I - coalesce(o.%1$I, 0) AS %1$I'
					WHEN a.attname = 'avg_timer_wait' THEN
						'round((n.sum_timer_wait - coalesce(o.sum_timer_wait, 0)) '
						'/ (n.count_star - coalesce(o.count_star, 0))) AS %1$I'
					ELSE 'n.%1$I' END, a.attname), ', ' ORDER BY a.attnum),
				snapshot, given)
			INTO source
			FROM pg_attribute AS a
			WHERE a.attrelid = digests::regclass AND a.attnum > 0 AND NOT a.attisdropped;
		END IF;
		FOR report IN
			SELECT v.name, pg_get_viewdef(v.relation) AS shown, pg_get_viewdef(r.relation) AS raw,
				format('sys.%I', 'x$' || v.name) AS raw_name
			FROM (
				SELECT 1, 'statement_analysis', 'analysis'
				UNION ALL
				SELECT k.number + 1, 'statements_' || k.name, k.name
				FROM unnest('{with_runtimes_in_95th_percentile,with_errors_or_warnings,with_full_table_scans,
					with_sorting,with_temp_tables}'::text[]) WITH ORDINALITY AS k (name, number)) AS l (number, name, key)
			CROSS JOIN LATERAL (SELECT l.name, format('sys.%I', l.name)::regclass) AS v (name, relation)
			CROSS JOIN LATERAL (SELECT format('sys.%I', 'x$' || l.name)::regclass) AS r (relation)
			WHERE in_views IS NULL OR l.key = ANY (wanted)
			ORDER BY l.number
		LOOP
			view_name := report.name;
			FOR line, query, db, digest, figures IN EXECUTE
				'SELECT row_number() OVER (), j.line->>''query'', j.line->>''db'', j.line->>''digest'', ('
				'SELECT json_object_agg(f.key, f.value) FROM json_each(j.line) AS f '
				'WHERE f.key NOT IN (''query'', ''db'', ''digest'')) '
				'FROM (SELECT row_to_json(s) FROM ('
				|| replace(rtrim(report.shown, ';'), report.raw_name,
					'(' || replace(replace(rtrim(report.raw, ';'), 'sys."x$statement_analysis"', '(' || analysis || ')'),
						digests, source) || ')')
				|| ') AS s LIMIT $1) AS j (line)' USING most
			LOOP
				RETURN NEXT;
			END LOOP;
		END LOOP;
		IF custom IS NOT NULL AND (in_views IS NULL OR 'custom' = ANY (wanted)) THEN
			IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = custom::regclass AND c.relkind = 'v') THEN
				RAISE 'statement_performance_analyzer.view is no view: "%"', custom
					USING ERRCODE = 'wrong_object_type';
			END IF;
			view_name := custom;
			FOR line, figures IN EXECUTE
				'SELECT row_number() OVER (), row_to_json(s) FROM (SELECT * FROM ('
				|| replace(regexp_replace(rtrim(pg_get_viewdef(custom::regclass), ';'), digests || '(?! [a-z_"])',
					digests || ' AS events_statements_summary_by_digest', 'g'), digests, source)
				|| ') AS v LIMIT $1) AS s' USING most
			LOOP
				query := NULL;
				db := NULL;
				digest := NULL;
				RETURN NEXT;
			END LOOP;
		END IF;
	EXCEPTION WHEN query_canceled OR assert_failure OR OTHERS THEN
		CALL sys.ps_setup_restore(saved);
		RAISE;
	END;
	CALL sys.ps_setup_restore(saved);
END $$;
COMMENT ON FUNCTION sys.statement_performance_analyzer(text, text, text) IS
	'Views of statements over a snapshot (action snapshot, then overall), or over what came since (save, delta)';
