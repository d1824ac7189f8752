--@ plain Status of this session; what is no session's is as in global_status
--@ variable_name Name as in MySQL
--@ variable_value Value; NULL if it is not counted now or the reader may not know it
SELECT g.variable_name,
	CASE WHEN s.variable_name IS NOT NULL THEN coalesce(o.variable_value, '0')
		WHEN g.variable_name = 'Bytes_received' AND g.variable_value IS NOT NULL THEN coalesce(b.received, 0)::text
		WHEN g.variable_name = 'Bytes_sent' AND g.variable_value IS NOT NULL THEN coalesce(b.sent, 0)::text
		ELSE g.variable_value END AS variable_value
FROM performance_schema.global_status AS g
LEFT JOIN performance_schema.status_global AS s ON s.variable_name = g.variable_name
LEFT JOIN (
	SELECT t.variable_name, t.variable_value
	FROM performance_schema.status_by_thread AS t
	JOIN performance_schema.threads AS me ON me.thread_id = t.thread_id
	WHERE me.processlist_id = pg_backend_pid()
) AS o ON o.variable_name = g.variable_name
CROSS JOIN (
	SELECT sum(c.sum_number_of_bytes_read) AS received, sum(c.sum_number_of_bytes_write) AS sent
	FROM performance_schema.socket_instances AS i
	JOIN performance_schema.socket_summary_by_instance AS c USING (object_instance_begin)
	JOIN performance_schema.threads AS me ON me.thread_id = i.thread_id
	WHERE me.processlist_id = pg_backend_pid()
) AS b
UNION ALL
SELECT v.name, coalesce(v.value, '')
FROM pg_stat_ssl AS l
CROSS JOIN LATERAL (VALUES ('Ssl_cipher', l.cipher), ('Ssl_version', l.version)) AS v (name, value)
WHERE l.pid = pg_backend_pid()
