-- Who blocks whom now, as a tree, for people. Not in MySQL.
CREATE VIEW sys.lock_tree WITH (security_invoker = true) AS
SELECT
	s.root_pid,
	s.depth,
	s.path,
	repeat('    ', s.depth) || s.session AS session,
	s.pid,
	s.user_name,
	s.database_name,
	s.state,
	s.blocked,
	s.blocked_by,
	s.in_cycle,
	s.wait_started,
	date_trunc('milliseconds', s.wait_age) AS wait_age,
	s.locktype,
	s.lock_mode,
	s.locked_object,
	s.transaction_started,
	date_trunc('milliseconds', s.transaction_age) AS transaction_age,
	sys.format_statement(s.query) AS query,
	s.sql_kill_query,
	s.sql_kill_connection
FROM sys."x$lock_tree" AS s;
COMMENT ON VIEW sys.lock_tree IS
	'Who blocks whom now, as a tree: roots wait for nobody';
COMMENT ON COLUMN sys.lock_tree.root_pid IS
	'Session at the root: ending it helps; NULL for a prepared transaction';
COMMENT ON COLUMN sys.lock_tree.depth IS
	'0 = root';
COMMENT ON COLUMN sys.lock_tree.path IS
	'The sessions from the root to this one';
COMMENT ON COLUMN sys.lock_tree.session IS
	'Process id, or name of a prepared transaction';
COMMENT ON COLUMN sys.lock_tree.pid IS
	'Process id; NULL for a prepared transaction';
COMMENT ON COLUMN sys.lock_tree.user_name IS
	'User; what it does if it is no client';
COMMENT ON COLUMN sys.lock_tree.database_name IS
	'Database';
COMMENT ON COLUMN sys.lock_tree.state IS
	'As in pg_stat_activity, or prepared';
COMMENT ON COLUMN sys.lock_tree.blocked IS
	'Sessions that wait for this one, directly or through others';
COMMENT ON COLUMN sys.lock_tree.blocked_by IS
	'All it waits for, also those that asked earlier for the same lock';
COMMENT ON COLUMN sys.lock_tree.in_cycle IS
	'Does it wait for itself through others, a deadlock?';
COMMENT ON COLUMN sys.lock_tree.wait_started IS
	'When the wait began; NULL for a root';
COMMENT ON COLUMN sys.lock_tree.wait_age IS
	'How long it has lasted';
COMMENT ON COLUMN sys.lock_tree.locktype IS
	'Kind of lock that it waits for, as in pg_locks';
COMMENT ON COLUMN sys.lock_tree.lock_mode IS
	'Mode that it wants';
COMMENT ON COLUMN sys.lock_tree.locked_object IS
	'What it wants: table, key of an advisory lock, transaction';
COMMENT ON COLUMN sys.lock_tree.transaction_started IS
	'When its transaction began, or was prepared';
COMMENT ON COLUMN sys.lock_tree.transaction_age IS
	'How long ago';
COMMENT ON COLUMN sys.lock_tree.query IS
	'Message, the last one if idle, see performance_schema.shown_text';
COMMENT ON COLUMN sys.lock_tree.sql_kill_query IS
	'Ends its statement; without effect while it idles';
COMMENT ON COLUMN sys.lock_tree.sql_kill_connection IS
	'Ends it; a prepared transaction: in its own database';
GRANT SELECT ON sys.lock_tree TO PUBLIC;
