-- The settings of a session are in the memory of its process. What others began with is told by the catalogue, the closest
-- line of it for each setting; a setting that the reader does not see in pg_settings is left out.
--@ plain Settings of threads: of this session all, of others what ALTER ROLE and ALTER DATABASE give them
--@ thread_id Thread
--@ variable_name Name of the setting
--@ variable_value Of this session the present value, as in pg_settings; of others as it was written
--@ variable_source Where it comes from, as pg_settings.source says it; not in MySQL
SELECT t.thread_id, s.name AS variable_name, s.setting AS variable_value, s.source AS variable_source
FROM performance_schema.threads AS t CROSS JOIN pg_settings AS s
WHERE t.processlist_id = pg_backend_pid()
UNION ALL
SELECT t.thread_id, n.name, a.application_name, 'session'
FROM performance_schema.threads AS t
JOIN pg_stat_activity AS a ON a.pid = t.processlist_id
CROSS JOIN (VALUES ('application_name')) AS n (name)
WHERE t.type = 'FOREGROUND' AND t.processlist_id <> pg_backend_pid()
UNION ALL
(SELECT DISTINCT ON (t.thread_id, s.name) t.thread_id, s.name, substr(c.line, strpos(c.line, '=') + 1),
	CASE WHEN r.setrole <> 0 AND r.setdatabase <> 0 THEN 'database user' WHEN r.setrole <> 0 THEN 'user'
		WHEN r.setdatabase <> 0 THEN 'database' ELSE 'global' END
FROM performance_schema.threads AS t
JOIN pg_stat_activity AS a ON a.pid = t.processlist_id
JOIN pg_db_role_setting AS r ON r.setrole IN (0, a.usesysid) AND r.setdatabase IN (0, a.datid)
CROSS JOIN LATERAL unnest(r.setconfig) AS c (line)
JOIN pg_settings AS s ON lower(s.name) = lower(split_part(c.line, '=', 1))
WHERE t.type = 'FOREGROUND' AND t.processlist_id <> pg_backend_pid() AND s.name <> 'application_name'
ORDER BY t.thread_id, s.name, (r.setrole <> 0) DESC, (r.setdatabase <> 0) DESC)
