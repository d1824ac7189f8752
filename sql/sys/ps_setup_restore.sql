-- Only what is in it, and differs, is switched: for the rest no privilege is needed. Works on a hot
-- standby, too.
CREATE PROCEDURE sys.ps_setup_restore(in_setup jsonb)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
	AS $$
DECLARE
	thread record;
BEGIN
	IF jsonb_typeof(in_setup) IS DISTINCT FROM 'object' THEN
		RAISE 'these are no switches: %', in_setup USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF in_setup ? 'setup_consumers' THEN
		PERFORM performance_schema.set_consumers(regexp_replace(s.name, '([\\%_?])', '\\\1', 'g'), s.enabled)
		FROM jsonb_to_recordset(in_setup->'setup_consumers') AS s (name text, enabled text)
		JOIN performance_schema.setup_consumers AS n ON n.name = s.name
		WHERE n.enabled <> s.enabled;
	END IF;
	IF in_setup ? 'setup_instruments' THEN
		PERFORM performance_schema.set_instruments(
			regexp_replace(s.name, '([\\%_?])', '\\\1', 'g'), s.enabled, s.timed)
		FROM jsonb_to_recordset(in_setup->'setup_instruments') AS s (name text, enabled text, timed text)
		JOIN performance_schema.setup_instruments AS n ON n.name = s.name
		WHERE n.enabled <> s.enabled OR n.timed <> s.timed;
	END IF;
	IF in_setup ? 'setup_threads' THEN
		PERFORM performance_schema.set_thread_classes(
			regexp_replace(s.name, '([\\%_?])', '\\\1', 'g'), s.enabled, s.history)
		FROM jsonb_to_recordset(in_setup->'setup_threads') AS s (name text, enabled text, history text)
		JOIN performance_schema.setup_threads AS n ON n.name = s.name
		WHERE n.enabled <> s.enabled OR n.history <> s.history;
	END IF;
	IF in_setup ? 'setup_actors' THEN
		PERFORM performance_schema.drop_actor(n.user_name, n.host)
		FROM performance_schema.setup_actors AS n
		WHERE NOT EXISTS (
			SELECT FROM jsonb_to_recordset(in_setup->'setup_actors') AS s (host text, user_name text)
			WHERE s.host = n.host AND s.user_name = n.user_name);
		PERFORM performance_schema.set_actor(s.user_name, s.host, s.enabled, s.history)
		FROM jsonb_to_recordset(in_setup->'setup_actors')
			AS s (host text, user_name text, enabled text, history text);
	END IF;
	IF in_setup ? 'setup_objects' THEN
		PERFORM performance_schema.drop_object(n.object_type, n.object_schema, n.object_name)
		FROM performance_schema.setup_objects AS n
		WHERE NOT EXISTS (
			SELECT FROM jsonb_to_recordset(in_setup->'setup_objects')
				AS s (object_type text, object_schema text, object_name text)
			WHERE (s.object_type, s.object_schema, s.object_name)
				= (n.object_type, n.object_schema, n.object_name));
		PERFORM performance_schema.set_object(
			s.object_type, s.object_schema, s.object_name, s.enabled, s.timed)
		FROM jsonb_to_recordset(in_setup->'setup_objects')
			AS s (object_type text, object_schema text, object_name text, enabled text, timed text);
	END IF;
	FOR thread IN
		SELECT s.thread_id, s.instrumented, s.history
		FROM jsonb_to_recordset(in_setup->'threads')
			AS s (thread_id bigint, instrumented text, history text)
		JOIN performance_schema.threads AS n ON n.thread_id = s.thread_id
		WHERE n.instrumented <> s.instrumented OR n.history <> s.history
	LOOP
		BEGIN
			PERFORM performance_schema.set_thread(thread.thread_id, thread.instrumented, thread.history);
		EXCEPTION WHEN no_data_found THEN  -- it has gone meanwhile
		END;
	END LOOP;
END $$;
COMMENT ON PROCEDURE sys.ps_setup_restore(jsonb) IS
	'Switches and rules as ps_setup_snapshot has found them; not in MySQL';
