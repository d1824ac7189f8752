-- Who blocks whom now, as a tree. Not in MySQL.
--
-- Each session that waits, and each one that blocks others without waiting itself, is here once.
-- One that waits for several hangs below one of them: below a holder of the lock rather than below
-- one that asked for it earlier, below one that waits itself rather than below a root; blocked_by
-- lists all of them. So a queue of a thousand sessions has a thousand rows, not one for each path.
-- Sessions that wait for each other in a circle (until the deadlock detector ends one) hang below
-- the one with the smallest process id.
--
-- A node is a process id, or for a prepared transaction its transaction id below zero.
--@ view Who blocks whom now, as a tree: roots wait for nobody
--@ root_pid Session at the root: ending it helps; NULL for a prepared transaction
--@ depth 0 = root
--@ path The sessions from the root to this one
--@ session [= repeat('    ', s.depth) || s.session] Process id, or name of a prepared transaction
--@ pid Process id; NULL for a prepared transaction
--@ user_name User; what it does if it is no client
--@ database_name Database
--@ state As in pg_stat_activity, or prepared
--@ blocked Sessions that wait for this one, directly or through others
--@ blocked_by All it waits for, also those that asked earlier for the same lock
--@ in_cycle Does it wait for itself through others, a deadlock?
--@ wait_started When the wait began; NULL for a root
--@ wait_age [age] How long it has lasted
--@ locktype Kind of lock that it waits for, as in pg_locks
--@ lock_mode Mode that it wants
--@ locked_object What it wants: table, key of an advisory lock, transaction
--@ transaction_started When its transaction began, or was prepared
--@ transaction_age [age] How long ago
--@ query [statement] Message, the last one if idle, see performance_schema.shown_text
--@ sql_kill_query Ends its statement; without effect while it idles
--@ sql_kill_connection Ends it; a prepared transaction: in its own database
WITH RECURSIVE waits AS MATERIALIZED (
	SELECT
		requesting_pid::bigint AS waiter,
		coalesce(blocking_pid, -coalesce(blocking_transaction_id, 0)) AS blocker,
		coalesce(blocking_granted, true) AS hard,
		coalesce(blocking_pid::text, 'prepared ' || blocking_prepared_name, 'prepared') AS label,
		*
	FROM performance_schema.lock_waits
), wanted AS (
	SELECT DISTINCT ON (waiter)
		w.waiter, w.wait_started, w.locktype, w.requesting_lock_mode,
		CASE w.locktype
			WHEN 'transactionid' THEN concat_ws(' of ', 'transaction ' || w.lock_data, o.name)
			WHEN 'virtualxid' THEN 'transaction ' || w.lock_data
			WHEN 'tuple' THEN 'row ' || w.lock_data || ' of ' || o.name
			WHEN 'page' THEN w.lock_data || ' of ' || o.name
			WHEN 'advisory' THEN 'advisory lock ' || o.name
			ELSE concat_ws(' ', lower(w.object_type), o.name, w.lock_data)
		END AS object
	FROM waits AS w
	CROSS JOIN LATERAL (SELECT
		coalesce(w.object_schema, w.table_schema), coalesce(w.object_name, w.table_name)) AS n (s, o)
	CROSS JOIN LATERAL (SELECT CASE WHEN n.s IS NULL THEN n.o
		ELSE concat_ws('.', quote_ident(n.s), quote_ident(n.o)) END) AS o (name)
	ORDER BY w.waiter, w.wait_started
), edges AS MATERIALIZED (
	SELECT waiter, blocker, bool_or(hard) AS hard, min(label) AS label,
		min(blocking_prepared_name) AS gid
	FROM waits
	GROUP BY waiter, blocker
), holders AS MATERIALIZED (
	SELECT waiter, array_agg(blocker) FILTER (WHERE hard) AS blockers,
		string_agg(label, ', ' ORDER BY hard DESC, blocker) AS blocked_by
	FROM edges
	GROUP BY waiter
), kept AS MATERIALIZED (
	-- Without those in the same queue, which are held up by the same: a queue has many pairs.
	SELECT e.*, b.waiter IS NOT NULL AS waits_too
	FROM edges AS e
	JOIN holders AS h ON h.waiter = e.waiter
	LEFT JOIN holders AS b ON b.waiter = e.blocker
	WHERE e.hard OR h.blockers IS NULL OR NOT coalesce(b.blockers, '{}') <@ h.blockers
), behind AS (
	SELECT blocker, waiter FROM kept
	UNION
	SELECT b.blocker, k.waiter FROM behind AS b JOIN kept AS k ON k.blocker = b.waiter
), counts AS MATERIALIZED (
	SELECT blocker AS node, count(*) FILTER (WHERE waiter <> blocker) AS sessions,
		bool_or(waiter = blocker) AS in_cycle
	FROM behind
	GROUP BY blocker
), parents AS MATERIALIZED (
	SELECT DISTINCT ON (k.waiter) k.waiter, k.blocker,
		(extract(epoch FROM w.wait_started) * 1000000)::bigint AS since
	FROM kept AS k
	JOIN wanted AS w ON w.waiter = k.waiter
	ORDER BY k.waiter, k.hard DESC, k.waits_too DESC, k.blocker
), ancestors AS (
	SELECT waiter, blocker FROM parents
	UNION
	SELECT c.waiter, p.blocker FROM ancestors AS c JOIN parents AS p ON p.waiter = c.blocker
), roots AS (
	SELECT DISTINCT blocker AS node, label, gid FROM kept WHERE NOT waits_too
	UNION ALL
	-- The head of a circle: of those that are their own ancestors the smallest.
	SELECT waiter, waiter::text, NULL
	FROM ancestors
	GROUP BY waiter
	HAVING bool_or(waiter = blocker) AND waiter = min(blocker)
), tree AS (
	SELECT node AS root, node, 0 AS depth, ARRAY[node] AS nodes, '{}'::bigint[] AS position,
		label AS path, label, gid
	FROM roots
	UNION ALL
	SELECT t.root, p.waiter, t.depth + 1, t.nodes || p.waiter, t.position || p.since || p.waiter,
		t.path || ' > ' || p.waiter, p.waiter::text, NULL
	FROM tree AS t
	JOIN parents AS p ON p.blocker = t.node
	WHERE p.waiter <> ALL (t.nodes)
)
SELECT
	CASE WHEN t.root > 0 THEN t.root::integer END AS root_pid,
	t.depth,
	t.path,
	t.label AS session,
	CASE WHEN t.node > 0 THEN t.node::integer END AS pid,
	coalesce(a.usename, p.owner, a.backend_type) AS user_name,
	coalesce(a.datname, p.database)::text AS database_name,
	CASE WHEN t.node < 0 THEN 'prepared' ELSE a.state END AS state,
	coalesce(c.sessions, 0) AS blocked,
	h.blocked_by,
	coalesce(c.in_cycle, false) AS in_cycle,
	l.wait_started,
	clock_timestamp() - l.wait_started AS wait_age,
	l.locktype,
	l.requesting_lock_mode AS lock_mode,
	l.object AS locked_object,
	coalesce(a.xact_start, p.prepared) AS transaction_started,
	clock_timestamp() - coalesce(a.xact_start, p.prepared) AS transaction_age,
	performance_schema.shown_text(a.query, coalesce(a.state = 'active', false)) AS query,
	'SELECT pg_cancel_backend(' || CASE WHEN t.node > 0 THEN t.node END || ')' AS sql_kill_query,
	CASE WHEN t.node > 0 THEN 'SELECT pg_terminate_backend(' || t.node || ')'
		ELSE 'ROLLBACK PREPARED ' || quote_literal(p.gid) END AS sql_kill_connection
FROM tree AS t
LEFT JOIN counts AS c ON c.node = t.node
LEFT JOIN wanted AS l ON l.waiter = t.node
LEFT JOIN holders AS h ON h.waiter = t.node
LEFT JOIN pg_stat_activity AS a ON a.pid = t.node
LEFT JOIN pg_prepared_xacts AS p ON p.gid = t.gid
LEFT JOIN counts AS rc ON rc.node = t.root
ORDER BY rc.sessions DESC, t.root, t.position
