CREATE FUNCTION sys.ps_setup_snapshot() RETURNS jsonb
	LANGUAGE sql VOLATILE
	RETURN jsonb_build_object(
		'setup_actors', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT a.host, a.user_name, a.enabled, a.history
			FROM performance_schema.setup_actors AS a) AS s),
		'setup_consumers', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT c.name, c.enabled
			FROM performance_schema.setup_consumers AS c) AS s),
		'setup_instruments', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT i.name, i.enabled, i.timed
			FROM performance_schema.setup_instruments AS i) AS s),
		'setup_objects', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT o.object_type, o.object_schema, o.object_name, o.enabled, o.timed
			FROM performance_schema.setup_objects AS o) AS s),
		'setup_threads', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT t.name, t.enabled, t.history
			FROM performance_schema.setup_threads AS t) AS s),
		'threads', (SELECT coalesce(jsonb_agg(s), '[]') FROM (
			SELECT t.thread_id, t.instrumented, t.history
			FROM performance_schema.threads AS t) AS s));
COMMENT ON FUNCTION sys.ps_setup_snapshot() IS
	'All switches and rules as they are now, for ps_setup_restore; not in MySQL';
