-- Options of sys, as in MySQL: its defaults, whose set_by is NULL, and what was set here. In a
-- session SET sys.NAME = 'value' comes before.
CREATE TABLE sys.sys_config (
	variable text PRIMARY KEY,
	value text,
	set_time timestamp with time zone NOT NULL DEFAULT now(),
	set_by text);
COMMENT ON TABLE sys.sys_config IS
	'Options of the schema sys; SET sys.VARIABLE = value goes before it in a session';
COMMENT ON COLUMN sys.sys_config.variable IS
	'Name';
COMMENT ON COLUMN sys.sys_config.value IS
	'Value; NULL: as if it were not set';
COMMENT ON COLUMN sys.sys_config.set_time IS
	'When it was set';
COMMENT ON COLUMN sys.sys_config.set_by IS
	'Who has set it; NULL: a default of the extension';
GRANT SELECT ON sys.sys_config TO PUBLIC;
INSERT INTO sys.sys_config (variable, value) VALUES
	('diagnostics.allow_i_s_tables', 'OFF'),
	('diagnostics.include_raw', 'OFF'),
	('ps_thread_trx_info.max_length', '65535'),
	('statement_performance_analyzer.limit', '100'),
	('statement_performance_analyzer.view', NULL),
	('statement_truncate_len', '64');
-- A dump has what was set, not the defaults: CREATE EXTENSION makes those.
SELECT pg_extension_config_dump('sys.sys_config', 'WHERE set_by IS NOT NULL');
