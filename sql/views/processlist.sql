-- Seen by whom threads shows the session to. The text is that of threads, which masks what may be secret.
--@ plain Sessions and what they do; one row per client, as SHOW PROCESSLIST
--@ id Process id, as in pg_stat_activity
--@ user_name User (MySQL: USER)
--@ host Client host and port; [local] for Unix sockets
--@ db Database
--@ command Query, Sleep, Binlog Dump (sends WAL) or Execute (calls a function by its number)
--@ time Seconds in the present state
--@ state What it waits for while it executes, as pg_stat_activity names it; else executing, or idle and in which kind of transaction
--@ info Statement being executed, else NULL
--@ execution_engine Always PRIMARY: there is no other
--@ thread_id Thread; not in MySQL
--@ application_name Application name of the session; not in MySQL
--@ blocked_by Process ids of sessions that hold the lock it waits for; not in MySQL
SELECT
	t.processlist_id AS id,
	t.processlist_user AS user_name,
	t.processlist_host || coalesce(':' || nullif(a.client_port, -1), '') AS host,
	t.processlist_db AS db,
	CASE WHEN a.backend_type = 'walsender' THEN 'Binlog Dump' WHEN a.state = 'fastpath function call' THEN 'Execute'
		ELSE t.processlist_command END AS command,
	t.processlist_time AS time,
	CASE WHEN a.state NOT IN ('active', 'fastpath function call') THEN a.state
		WHEN a.wait_event IS NOT NULL THEN 'waiting for ' || a.wait_event_type || ' ' || a.wait_event
		WHEN a.state IS NOT NULL THEN 'executing'
		ELSE t.processlist_state END AS state,
	t.processlist_info AS info,
	'PRIMARY' AS execution_engine,
	t.thread_id,
	t.application_name,
	CASE WHEN a.wait_event_type = 'Lock' THEN nullif(pg_blocking_pids(a.pid), '{}') END AS blocked_by
FROM performance_schema.threads AS t
LEFT JOIN pg_stat_activity AS a ON a.pid = t.processlist_id
WHERE t.processlist_id IS NOT NULL
