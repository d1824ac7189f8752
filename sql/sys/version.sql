--@ plain Versions of the extension and of the server
--@ sys_version Of the extension performance_schema, which the schema sys is part of
--@ server_version Of PostgreSQL
--@ mysql_version The same: by this name in MySQL
SELECT
	e.extversion AS sys_version,
	current_setting('server_version') AS server_version,
	current_setting('server_version') AS mysql_version
FROM pg_extension AS e
WHERE e.extname = 'performance_schema'
