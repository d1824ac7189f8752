-- Statement events of one session, nested ones included; numbers that are stable only.
CREATE VIEW own_statements AS
SELECT * FROM performance_schema.events_statements_history
WHERE thread_id = performance_schema.ps_current_thread_id();
CREATE TABLE t (i integer PRIMARY KEY, v text);

INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 100) AS g;
UPDATE t SET v = 'w' WHERE i <= 10;
DELETE FROM t WHERE i > 90;
SELECT count(*) FROM t;
SELECT event_name, sql_text, current_schema_name, errors, warnings, rows_affected, rows_sent,
	nesting_event_level AS level
FROM own_statements WHERE sql_text ~ '^(INSERT|UPDATE|DELETE|SELECT count)' ORDER BY event_id;

-- What holds for every ended event
SELECT bool_and(end_event_id >= event_id) AS ends_later, bool_and(timer_end >= timer_start) AS forwards,
	bool_and(abs(timer_wait - (timer_end - timer_start)) <= 1) AS adds_up, bool_and(timer_wait > 0) AS takes_time,
	count(DISTINCT statement_id) = count(*) AS ids_differ
FROM own_statements WHERE event_name LIKE 'statement/sql/%';

-- Plan counters
SELECT performance_schema.reset('events_statements_history');
SELECT count(*) FROM t WHERE v = 'w';
SELECT v FROM t WHERE i = 5;
SELECT i FROM t ORDER BY v, i LIMIT 1;
SELECT sql_text, select_scan, no_index_used, sort_rows > 0 AS sorts, sort_scan, rows_examined
FROM own_statements WHERE sql_text ~ 'FROM t ' ORDER BY event_id;

-- Failures: at parse, at analysis, at execution
SELECT performance_schema.reset('events_statements_history');
SELEC 1;
SELECT no_such_column FROM t;
SELECT 1 / (i - i) FROM t;
INSERT INTO t VALUES (1, 'again');
SELECT event_name, returned_sqlstate, message_text, errors, rows_affected FROM own_statements
WHERE errors > 0 ORDER BY event_id;

-- Nested: knows the event and the routine around it (outside of a block the event around it is the
-- transaction that its statement has begun, as in MySQL)
CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	PERFORM count(*) FROM t WHERE i = n;
	RETURN n * 2;
END $$;
SELECT performance_schema.reset('events_statements_history');
BEGIN;
SELECT twice(4);
COMMIT;
SELECT inner_event.object_type, inner_event.object_schema, inner_event.object_name,
	inner_event.nesting_event_type, inner_event.nesting_event_level AS level,
	inner_event.nesting_event_id = outer_event.event_id AS inside_by_id,
	outer_event.end_event_id >= inner_event.end_event_id AS inside_by_end
FROM own_statements AS outer_event, own_statements AS inner_event
WHERE outer_event.sql_text = 'SELECT twice(4)' AND inner_event.object_name = 'twice';

-- Cursors, COPY, EXECUTE: rows are counted where they are moved
SELECT performance_schema.reset('events_statements_history');
BEGIN;
DECLARE c CURSOR FOR SELECT i FROM t ORDER BY i;
FETCH 3 FROM c;
COMMIT;
PREPARE p AS SELECT i FROM t WHERE i < $1;
EXECUTE p(4);
COPY t (i) FROM STDIN;
201
202
\.
SELECT event_name, rows_affected + rows_sent AS rows FROM own_statements
WHERE event_name ~ '(fetch|copy|execute|declare_cursor)$' ORDER BY event_id;

-- Counted by name as well as event by event
SELECT performance_schema.reset('events_statements_summary_by_thread_by_event_name');
DELETE FROM t WHERE i = 201;
DELETE FROM t WHERE i = 202;
DELETE FROM t WHERE i = 203;
SELECT event_name, count_star, sum_rows_affected, sum_timer_wait >= max_timer_wait AS sum_and_max,
	min_timer_wait <= avg_timer_wait AND avg_timer_wait <= max_timer_wait AS mean_between
FROM performance_schema.events_statements_summary_by_thread_by_event_name
WHERE thread_id = performance_schema.ps_current_thread_id() AND event_name = 'statement/sql/delete';

-- The statement that looks sees itself
SELECT event_name, end_event_id, sql_text ~ 'sees_itself' AS sees_itself, errors
FROM performance_schema.events_statements_current
WHERE thread_id = performance_schema.ps_current_thread_id() AND nesting_event_level = 0;

-- Switched off, nothing is recorded
SELECT performance_schema.set_consumers('events_statements_history', false);
SELECT 'not in the history';
SELECT performance_schema.set_consumers('events_statements_history', true);
SELECT count(*) FROM own_statements WHERE sql_text = $$SELECT 'not in the history'$$;
DROP FUNCTION twice(integer);
DROP TABLE t;
