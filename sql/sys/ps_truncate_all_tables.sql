CREATE PROCEDURE sys.ps_truncate_all_tables(
	in_verbose boolean DEFAULT false, INOUT summary text DEFAULT NULL)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	done integer := 0;
	target text;
BEGIN
	FOR target IN
		SELECT c.relname FROM pg_class AS c
		WHERE c.relnamespace = 'performance_schema'::regnamespace AND c.relkind = 'f'
			AND c.relname ~ 'summary|history|histogram'
		ORDER BY c.relname
	LOOP
		IF in_verbose THEN
			RAISE NOTICE 'Truncating: performance_schema.%', target;
		END IF;
		PERFORM performance_schema.reset(target);
		done := done + 1;
	END LOOP;
	summary := format('Truncated %s tables', done);
END $$;
COMMENT ON PROCEDURE sys.ps_truncate_all_tables(boolean, text) IS
	'Empties all summaries, histograms and histories';
