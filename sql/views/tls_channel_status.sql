--@ plain How the server encrypts connections of clients
--@ channel Always postgres_main: there is one
--@ property Enabled, or Current_tls_... as in MySQL
--@ value What is set, as far as the reader sees it in pg_settings
SELECT 'postgres_main' AS channel, p.name AS property,
	CASE p.setting WHEN 'ssl' THEN CASE s.setting WHEN 'on' THEN 'Yes' ELSE 'No' END ELSE s.setting END AS value
FROM (VALUES
	('Enabled', 'ssl'),
	('Current_tls_ca', 'ssl_ca_file'),
	('Current_tls_cert', 'ssl_cert_file'),
	('Current_tls_key', 'ssl_key_file'),
	('Current_tls_version', 'ssl_min_protocol_version'),
	('Current_tls_version_max', 'ssl_max_protocol_version'),
	('Current_tls_cipher', 'ssl_ciphers'),
	('Current_tls_ciphersuites', 'ssl_tls13_ciphers'),
	('Current_tls_groups', 'ssl_groups'),
	('Current_tls_curve', 'ssl_ecdh_curve'),
	('Current_tls_crl', 'ssl_crl_file'),
	('Current_tls_crlpath', 'ssl_crl_dir'),
	('Current_tls_library', 'ssl_library')
) AS p (name, setting)
JOIN pg_settings AS s ON s.name = p.setting
