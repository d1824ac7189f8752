-- From threads, so seen by whom that shows the session to. What else the client sent at its start only its process knows.
--@ plain What clients have said of themselves when they connected, and what the server has seen of the connection
--@ processlist_id Process id, as in pg_stat_activity
--@ attr_name program_name, the only one of MySQL's names; ours begin with pg_
--@ attr_value Value; an attribute without one has no row
--@ ordinal_position Number among the attributes of the session, from 0
SELECT
	t.processlist_id,
	v.attr_name,
	v.attr_value,
	row_number() OVER (PARTITION BY t.processlist_id ORDER BY v.number) - 1 AS ordinal_position
FROM performance_schema.threads AS t
JOIN pg_stat_get_activity(NULL) AS a ON a.pid = t.processlist_id
CROSS JOIN LATERAL (VALUES
	(1, 'program_name', t.application_name),
	(2, 'pg_client_addr', host(a.client_addr)),
	(3, 'pg_client_hostname', a.client_hostname),
	(4, 'pg_client_port', nullif(a.client_port, -1)::text),
	(5, 'pg_tls_version', a.sslversion),
	(6, 'pg_tls_cipher', a.sslcipher),
	(7, 'pg_tls_client_dn', nullif(a.ssl_client_dn, '')),
	(8, 'pg_gss_principal', a.gss_princ),
	(9, 'pg_gss_encrypted', CASE WHEN a.gss_enc THEN 'yes' END)
) AS v (number, attr_name, attr_value)
WHERE v.attr_value IS NOT NULL AND v.attr_value <> ''
