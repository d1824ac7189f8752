-- MySQL has a result set for each kind.
CREATE FUNCTION sys.ps_setup_show_{state}(
	in_show_instruments boolean DEFAULT false, in_show_threads boolean DEFAULT false)
	RETURNS TABLE (kind text, name text, timed text)
	LANGUAGE sql STABLE
	BEGIN ATOMIC
		SELECT u.kind, u.name, u.timed
		FROM (
			SELECT 1, 'user', a.user_name || '@' || a.host, NULL
			FROM performance_schema.setup_actors AS a
			WHERE a.enabled = '{yes}'
			UNION ALL
			SELECT 2, 'object', o.object_type || ' ' || o.object_schema || '.' || o.object_name, o.timed
			FROM performance_schema.setup_objects AS o
			WHERE o.enabled = '{yes}'
			UNION ALL
			SELECT 3, 'consumer', c.name, NULL
			FROM performance_schema.setup_consumers AS c
			WHERE c.enabled = '{yes}'
			UNION ALL
			SELECT 4, lower(t.type) || ' thread',
				concat_ws(' ', t.processlist_user || '@' || t.processlist_host, t.name, t.thread_os_id), NULL
			FROM performance_schema.threads AS t
			WHERE in_show_threads AND t.instrumented = '{yes}'
			UNION ALL
			SELECT 5, 'instrument', i.name, i.timed
			FROM performance_schema.setup_instruments AS i
			WHERE in_show_instruments AND i.enabled = '{yes}') AS u (number, kind, name, timed)
		ORDER BY u.number, u.kind, u.name;
	END;
COMMENT ON FUNCTION sys.ps_setup_show_{state}(boolean, boolean) IS
	'Users, objects, consumers, on demand threads and instruments that are {state}';
