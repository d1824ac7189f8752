-- Where the time of statements went, by total time. Not in MySQL, for people.
CREATE VIEW sys.statement_time_model WITH (security_invoker = true) AS
SELECT
	sys.format_statement(s.query) AS query,
	s.db,
	s.exec_count,
	sys.format_time(s.total_latency) AS total_latency,
	sys.format_time(s.avg_latency) AS avg_latency,
	sys.format_time(s.file_io_latency) AS file_io_latency,
	s.file_io_pct,
	sys.format_time(s.lock_latency) AS lock_latency,
	s.lock_pct,
	sys.format_time(s.lwlock_latency) AS lwlock_latency,
	s.lwlock_pct,
	sys.format_time(s.socket_latency) AS socket_latency,
	s.socket_pct,
	sys.format_time(s.ipc_latency) AS ipc_latency,
	s.ipc_pct,
	sys.format_time(s.timeout_latency) AS timeout_latency,
	s.timeout_pct,
	sys.format_time(s.other_wait_latency) AS other_wait_latency,
	s.other_wait_pct,
	sys.format_time(s.cpu_and_other_latency) AS cpu_and_other_latency,
	s.cpu_and_other_pct,
	sys.format_time(s.cpu_latency) AS cpu_latency,
	s.digest
FROM sys."x$statement_time_model" AS s
ORDER BY s.total_latency DESC;
COMMENT ON VIEW sys.statement_time_model IS
	'Where the time of statements went, by total time; not in MySQL, with units';
COMMENT ON COLUMN sys.statement_time_model.query IS
	'Normalised statement';
COMMENT ON COLUMN sys.statement_time_model.db IS
	'Database';
COMMENT ON COLUMN sys.statement_time_model.exec_count IS
	'Executions';
COMMENT ON COLUMN sys.statement_time_model.total_latency IS
	'Total time';
COMMENT ON COLUMN sys.statement_time_model.avg_latency IS
	'Mean execution';
COMMENT ON COLUMN sys.statement_time_model.file_io_latency IS
	'Time spent with file I/O';
COMMENT ON COLUMN sys.statement_time_model.file_io_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.lock_latency IS
	'Time spent waiting for heavyweight locks';
COMMENT ON COLUMN sys.statement_time_model.lock_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.lwlock_latency IS
	'Time spent waiting for locks inside the server';
COMMENT ON COLUMN sys.statement_time_model.lwlock_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.socket_latency IS
	'Time spent waiting for the client';
COMMENT ON COLUMN sys.statement_time_model.socket_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.ipc_latency IS
	'Time spent waiting for other processes of the server';
COMMENT ON COLUMN sys.statement_time_model.ipc_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.timeout_latency IS
	'Time spent waiting for time to pass';
COMMENT ON COLUMN sys.statement_time_model.timeout_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.other_wait_latency IS
	'Time spent waiting for anything else';
COMMENT ON COLUMN sys.statement_time_model.other_wait_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.cpu_and_other_latency IS
	'The rest: processor time, and waits that are not recorded';
COMMENT ON COLUMN sys.statement_time_model.cpu_and_other_pct IS
	'The same in per cent';
COMMENT ON COLUMN sys.statement_time_model.cpu_latency IS
	'Processor time as measured; needs the consumer events_statements_cpu';
COMMENT ON COLUMN sys.statement_time_model.digest IS
	'SHA-256 of the normalised statement';
GRANT SELECT ON sys.statement_time_model TO PUBLIC;
