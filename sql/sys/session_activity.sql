-- What the server tells of its sessions in pg_stat_activity, beside what their statements have done so far.
--@ view Sessions of clients, as pg_stat_activity and the Performance Schema know them, longest statement first; not in MySQL
--@ order s.statement_latency DESC NULLS LAST, s.pid
--@ thd_id Thread
--@ pid Process
--@ user_name User
--@ db Database
--@ client Address of the client; NULL = a socket
--@ program_name Application name
--@ state active, idle, idle in transaction, ...
--@ state_age [age] How long it has been in this state
--@ trx_age [age] How long its transaction has lasted
--@ xmin_age Transactions since the oldest one it may see: VACUUM must keep what has died since
--@ waits_for What it waits for now, by the server's names
--@ blocked_by Processes that are in the way of its lock, see sys.lock_tree
--@ query [statement] Statement being executed, or the last one
--@ statement_latency [time] How long its statement has been running
--@ lock_latency [time] Time that the statement has waited for locks so far
--@ rows_examined Rows it has read from tables so far
--@ rows_sent Rows it has sent so far
--@ tmp_disk_tables Temporary files it has written so far
--@ progress Per cent of a long command
--@ queryid Query id, as pg_stat_statements has it
SELECT
	p.thd_id,
	a.pid,
	a.usename::text AS user_name,
	a.datname::text AS db,
	a.client_addr AS client,
	nullif(a.application_name, '') AS program_name,
	a.state,
	clock_timestamp() - a.state_change AS state_age,
	clock_timestamp() - a.xact_start AS trx_age,
	age(a.backend_xmin) AS xmin_age,
	CASE WHEN a.state = 'active' THEN a.wait_event_type || '/' || a.wait_event END AS waits_for,
	CASE WHEN a.wait_event_type = 'Lock' THEN pg_blocking_pids(a.pid) END AS blocked_by,
	coalesce(p.current_statement, p.last_statement) AS query,
	p.statement_latency,
	p.lock_latency,
	p.rows_examined,
	p.rows_sent,
	p.tmp_disk_tables,
	p.progress,
	a.query_id AS queryid
FROM pg_stat_activity AS a
LEFT JOIN sys."x$processlist" AS p ON p.conn_id = a.pid
WHERE a.backend_type = 'client backend'
ORDER BY statement_latency DESC NULLS LAST, pid
