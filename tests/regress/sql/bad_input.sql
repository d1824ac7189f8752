-- What is wrong is named, and changes nothing.
CREATE TEMP TABLE before AS
	SELECT name, enabled, timed FROM performance_schema.setup_instruments
	UNION ALL SELECT name, enabled, NULL FROM performance_schema.setup_consumers
	UNION ALL SELECT host, user_name, enabled FROM performance_schema.setup_actors
	UNION ALL SELECT object_type || object_schema, object_name, enabled
		FROM performance_schema.setup_objects;

-- Unknown names
SELECT performance_schema.set_instruments('wait/no/such', true);
SELECT performance_schema.set_consumers('no_such', 'YES');
SELECT performance_schema.set_thread_classes('thread/no/such', true);
SELECT performance_schema.set_thread(0, true);
SELECT performance_schema.reset('no_such_table');
SELECT performance_schema.reset('performance_schema.accounts');
UPDATE performance_schema.setup_instruments SET enabled = 'NO' WHERE name = 'no such';

-- Neither YES nor NO
UPDATE performance_schema.setup_consumers SET enabled = 'MAYBE';
UPDATE performance_schema.setup_consumers SET enabled = '';
UPDATE performance_schema.setup_consumers SET enabled = NULL;
UPDATE performance_schema.setup_instruments SET timed = 'perhaps' WHERE name = 'transaction';
SELECT performance_schema.set_consumers('%', 'MAYBE');
SELECT performance_schema.set_instruments('%', 'YES', 'MAYBE');
SELECT performance_schema.set_actor('u', 'h', 'MAYBE');
INSERT INTO performance_schema.setup_actors VALUES ('h', 'u', '%', 'MAYBE', 'YES');
INSERT INTO performance_schema.setup_objects VALUES ('TABLE', 's', 't', 'YES', 'MAYBE');

-- NULL where a value is needed
SELECT performance_schema.set_instruments(NULL, true);
SELECT performance_schema.set_thread(NULL, true);
SELECT performance_schema.set_actor(NULL, 'h', true);
SELECT performance_schema.drop_object('TABLE', NULL, 't');
SELECT performance_schema.reset(NULL);

-- Columns that are not updatable, tables that are not
UPDATE performance_schema.setup_instruments SET name = 'other';
UPDATE performance_schema.setup_actors SET host = 'other';
UPDATE performance_schema.threads SET processlist_user = 'other';
UPDATE performance_schema.setup_timers SET timer_name = 'CYCLE';
INSERT INTO performance_schema.setup_consumers VALUES ('mine', 'YES');
COPY performance_schema.setup_consumers FROM STDIN;
\.
DELETE FROM performance_schema.events_statements_history;
TRUNCATE performance_schema.setup_instruments;
SELECT performance_schema.reset('threads');
-- With a table that cannot be truncated, none of a list is
BEGIN;
SELECT performance_schema.set_actor('listed', 'h', true);
TRUNCATE performance_schema.setup_actors, performance_schema.threads;
ROLLBACK;
SELECT performance_schema.drop_actor('listed', 'h') AS still_there;

-- Keys: too long, empty, duplicate, unknown type
INSERT INTO performance_schema.setup_actors VALUES (repeat('h', 300), 'u', '%', 'YES', 'YES');
INSERT INTO performance_schema.setup_actors VALUES ('h', '', '%', 'YES', 'YES');
INSERT INTO performance_schema.setup_actors VALUES ('%', '%', '%', 'YES', 'YES');
INSERT INTO performance_schema.setup_objects VALUES ('TABLE', '%', '%', 'YES', 'YES');
INSERT INTO performance_schema.setup_objects VALUES ('VIEW', 's', 'v', 'YES', 'YES');
SELECT performance_schema.set_object('event', 's', 'v', true);

-- Full tables of rules: what fits is kept, the rest is an error; changing a rule still works
DO $$
DECLARE
	made integer := 0;
BEGIN
	LOOP
		PERFORM performance_schema.set_actor('full' || made, 'h', true);
		made := made + 1;
	END LOOP;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RAISE NOTICE '%', sqlerrm;
END $$;
SELECT performance_schema.set_actor('one more', 'h', true);
INSERT INTO performance_schema.setup_actors (user_name) VALUES ('one more');
SELECT performance_schema.set_actor('full1', 'h', false) AS made;
DELETE FROM performance_schema.setup_actors WHERE user_name = 'full2';
SELECT performance_schema.set_actor('one more', 'h', true) AS made;
DELETE FROM performance_schema.setup_actors WHERE host = 'h';
DO $$
DECLARE
	made integer := 0;
BEGIN
	LOOP
		PERFORM performance_schema.set_object('TABLE', 'full', 't' || made, true);
		made := made + 1;
	END LOOP;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RAISE NOTICE '%', sqlerrm;
END $$;
INSERT INTO performance_schema.setup_objects (object_name) VALUES ('one more');
DELETE FROM performance_schema.setup_objects WHERE object_schema = 'full';

-- Nothing has changed
CREATE TEMP TABLE after AS
	SELECT name, enabled, timed FROM performance_schema.setup_instruments
	UNION ALL SELECT name, enabled, NULL FROM performance_schema.setup_consumers
	UNION ALL SELECT host, user_name, enabled FROM performance_schema.setup_actors
	UNION ALL SELECT object_type || object_schema, object_name, enabled
		FROM performance_schema.setup_objects;
(TABLE before EXCEPT ALL TABLE after) UNION ALL (TABLE after EXCEPT ALL TABLE before);
