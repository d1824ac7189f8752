-- Without what the settings say. test_sys_procedures.py compares it with a server that has just started.
CREATE FUNCTION sys.ps_setup_default() RETURNS jsonb
	LANGUAGE sql STABLE
	RETURN jsonb_build_object(
		'setup_actors', '[{"host": "%", "user_name": "%", "enabled": "YES", "history": "YES"}]'::jsonb,
		'setup_consumers', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT c.name, CASE WHEN c.name ~ '^events_(.*_long$|.*_cpu$|waits_|stages_)'
				THEN 'NO' ELSE 'YES' END AS enabled
			FROM performance_schema.setup_consumers AS c) AS s),
		'setup_instruments', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT i.name, sys.ps_is_instrument_default_enabled(i.name) AS enabled,
				CASE WHEN i.timed IS NOT NULL THEN sys.ps_is_instrument_default_timed(i.name) END AS timed
			FROM performance_schema.setup_instruments AS i) AS s),
		'setup_objects', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT t.object_type, n.object_schema, '%' AS object_name, n.state AS enabled, n.state AS timed
			FROM (VALUES ('FUNCTION'), ('PROCEDURE'), ('TABLE'), ('TRIGGER')) AS t (object_type)
			CROSS JOIN (VALUES ('pg_catalog', 'NO'), ('information_schema', 'NO'),
				('performance_schema', 'NO'), ('%', 'YES')) AS n (object_schema, state)) AS s),
		'setup_threads', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT t.name, 'YES' AS enabled, 'YES' AS history
			FROM performance_schema.setup_threads AS t) AS s),
		'threads', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT t.thread_id, 'YES' AS instrumented, 'YES' AS history
			FROM performance_schema.threads AS t) AS s));
COMMENT ON FUNCTION sys.ps_setup_default() IS
	'All switches and rules as they are at first, for ps_setup_restore; not in MySQL';
