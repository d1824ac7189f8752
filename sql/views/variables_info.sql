--@ plain Where the value of each setting of this session comes from, its range and unit
--@ variable_name Name of the setting
--@ variable_source COMPILED, GLOBAL (postgresql.conf), EXTRA (a file included there), PERSISTED (ALTER SYSTEM), COMMAND_LINE, LOGIN (ALTER ROLE, ALTER DATABASE, start-up packet) or DYNAMIC (SET)
--@ variable_path File, for pg_read_all_settings
--@ min_value Least value, else NULL
--@ max_value Greatest value, else NULL
--@ set_time When it got the value: when files were read last, the server or this session began; of SET not known
--@ set_user Who set it: the user of this session for LOGIN and DYNAMIC, else NULL
--@ set_host The client's host, in the same way
--@ source As pg_settings says it; not in MySQL
--@ source_line Line of the file; not in MySQL
--@ unit Unit of value and range, else NULL; not in MySQL
--@ default_value Value that is compiled in; not in MySQL
--@ pending_restart Does a changed file wait for a restart of the server? Not in MySQL
SELECT
	s.name AS variable_name,
	k.kind AS variable_source,
	s.sourcefile AS variable_path,
	s.min_val AS min_value,
	s.max_val AS max_value,
	CASE WHEN s.source = 'configuration file' AND s.context <> 'postmaster' THEN pg_conf_load_time()
		WHEN k.kind = 'LOGIN' THEN me.backend_start
		WHEN k.kind <> 'DYNAMIC' THEN pg_postmaster_start_time() END AS set_time,
	CASE WHEN k.kind IN ('LOGIN', 'DYNAMIC') THEN session_user END AS set_user,
	CASE WHEN k.kind IN ('LOGIN', 'DYNAMIC') THEN coalesce(host(me.client_addr), '[local]') END AS set_host,
	s.source,
	s.sourceline AS source_line,
	s.unit,
	s.boot_val AS default_value,
	s.pending_restart
FROM pg_settings AS s
CROSS JOIN LATERAL (
	SELECT CASE
		WHEN s.source IN ('default', 'override') THEN 'COMPILED'
		WHEN s.source IN ('command line', 'environment variable') THEN 'COMMAND_LINE'
		WHEN s.source IN ('global', 'database', 'user', 'database user', 'client') THEN 'LOGIN'
		WHEN s.source <> 'configuration file' THEN 'DYNAMIC'
		WHEN s.sourcefile LIKE '%/postgresql.auto.conf' THEN 'PERSISTED'
		WHEN s.sourcefile <> (SELECT f.setting FROM pg_settings AS f WHERE f.name = 'config_file') THEN 'EXTRA'
		ELSE 'GLOBAL' END
	) AS k (kind)
LEFT JOIN pg_stat_activity AS me ON me.pid = pg_backend_pid()
