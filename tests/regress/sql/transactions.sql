-- Transaction events of one session.
CREATE VIEW own_transactions AS
SELECT * FROM performance_schema.events_transactions_history
WHERE thread_id = performance_schema.ps_current_thread_id();
CREATE TABLE booked (i integer);

SELECT performance_schema.reset('events_transactions_history');
BEGIN;
INSERT INTO booked VALUES (1);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT count(*) FROM booked;
ROLLBACK;
BEGIN;
SAVEPOINT a;
INSERT INTO booked VALUES (2);
SAVEPOINT b;
ROLLBACK TO b;
RELEASE a;
COMMIT;
INSERT INTO booked VALUES (3);
BEGIN;
SELECT 1 / 0;
COMMIT;
SELECT state, access_mode, isolation_level, autocommit, number_of_savepoints AS savepoints,
	number_of_rollback_to_savepoint AS rolled_back, number_of_release_savepoint AS released
FROM own_transactions
WHERE event_id IN (SELECT event_id FROM own_transactions ORDER BY event_id LIMIT 6)
ORDER BY event_id;

-- The one that looks is active, and contains its statement
BEGIN;
SELECT t.state, t.end_event_id IS NULL AS runs, s.nesting_event_type,
	s.nesting_event_id = t.event_id AS contains
FROM performance_schema.events_transactions_current t
JOIN performance_schema.events_statements_current s USING (thread_id)
WHERE thread_id = performance_schema.ps_current_thread_id() AND s.nesting_event_level = 0;
COMMIT;

-- Sums: read write and read only add up
SELECT performance_schema.reset('events_transactions_summary_by_thread_by_event_name');
BEGIN READ ONLY;
COMMIT;
BEGIN;
INSERT INTO booked VALUES (4);
ROLLBACK;
SELECT event_name, count_star = count_read_write + count_read_only AS adds_up,
	abs(sum_timer_wait - sum_timer_read_write - sum_timer_read_only) <= 2 AS times_add_up, count_read_only
FROM performance_schema.events_transactions_summary_by_thread_by_event_name
WHERE thread_id = performance_schema.ps_current_thread_id();
SELECT count(*) FROM booked;
DROP TABLE booked;
