--@ plain Encryption of each client's connection
--@ thread_id Thread
--@ ssl_version Version of TLS; empty = not encrypted
--@ ssl_cipher Cipher; empty = not encrypted
--@ ssl_sessions_reused Always 0: PostgreSQL resumes no sessions of TLS
SELECT
	t.thread_id,
	coalesce(s.version, '') AS ssl_version,
	coalesce(s.cipher, '') AS ssl_cipher,
	'0' AS ssl_sessions_reused
FROM performance_schema.threads AS t
JOIN pg_stat_ssl AS s ON s.pid = t.processlist_id
WHERE t.type = 'FOREGROUND'
ORDER BY t.thread_id
