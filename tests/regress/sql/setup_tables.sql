-- The setup tables: what they hold at start, changes by DML and by function, rules.
SELECT * FROM performance_schema.setup_consumers;
SELECT * FROM performance_schema.setup_actors;
SELECT * FROM performance_schema.setup_objects ORDER BY object_type, object_schema COLLATE "C";
SELECT name, enabled, history, properties FROM performance_schema.setup_threads
  WHERE name ~ 'client_backend$|walsender|autovacuum|parallel|checkpointer|background_worker'
    AND name !~ 'dead' ORDER BY name COLLATE "C";
SELECT name FROM performance_schema.setup_timers;
SELECT timer_name FROM performance_schema.performance_timers;
SELECT name, enabled, timed, properties, flags, volatility FROM performance_schema.setup_instruments
WHERE name !~ '^(statement/sql|wait)/' OR name ~ 'sql/(select|error|copy|create_table)$'
  OR name ~ '^wait/.*/(handler|relation|tuple|lwlock/postgres/WALWrite|DataFileRead|data_file|PgSleep|ClientRead)$'
ORDER BY name COLLATE "C";

-- UPDATE: any case, with RETURNING, at once, and not undone by ROLLBACK
UPDATE performance_schema.setup_instruments SET enabled = 'no', timed = 'No'
WHERE name LIKE 'statement/sql/create\_t%' RETURNING name;
BEGIN;
UPDATE performance_schema.setup_consumers SET enabled = 'YES'
WHERE name = 'events_statements_history_long';
ROLLBACK;
SELECT name, enabled FROM performance_schema.setup_consumers
WHERE name = 'events_statements_history_long';
SELECT count(*) AS off FROM performance_schema.setup_instruments
WHERE enabled = 'NO' AND timed = 'NO' AND name LIKE 'statement/sql/create\_t%';

-- The functions: texts and booleans, patterns with % and _, NULL leaves a switch alone
SELECT performance_schema.set_instruments('statement/sql/create\_t%', true) > 1 AS several;
SELECT enabled, timed FROM performance_schema.setup_instruments
WHERE name = 'statement/sql/create_table';
SELECT performance_schema.set_instruments('statement/sql/create\_t%', NULL, 'on') > 1 AS several;
SELECT enabled, timed FROM performance_schema.setup_instruments
WHERE name = 'statement/sql/create_table';
SELECT performance_schema.set_instruments('statement/sql/_elect', 'YES', 'YES');
SELECT performance_schema.set_consumers('events%history_long', false);
SELECT performance_schema.set_thread_classes('%/walsender', 'NO', 'NO');
SELECT name, enabled, history FROM performance_schema.setup_threads WHERE enabled = 'NO';
SELECT performance_schema.set_thread_classes('%/walsender', true, true);

-- Instruments without a timer stay so
UPDATE performance_schema.setup_instruments SET timed = 'YES' WHERE name = 'error';
SELECT enabled, timed FROM performance_schema.setup_instruments WHERE name = 'error';

-- Rules for actors: INSERT with defaults, UPDATE, DELETE, functions
INSERT INTO performance_schema.setup_actors (user_name) VALUES ('me') RETURNING user_name;
INSERT INTO performance_schema.setup_actors VALUES ('here', 'me', '%', 'NO', 'YES');
UPDATE performance_schema.setup_actors SET history = 'NO' WHERE user_name = 'me';
SELECT * FROM performance_schema.setup_actors ORDER BY host, user_name;
SELECT performance_schema.set_actor('me', 'here', true, NULL) AS made;
SELECT performance_schema.set_actor('you', 'there', 'NO') AS made;
SELECT * FROM performance_schema.setup_actors ORDER BY host COLLATE "C", user_name COLLATE "C";
SELECT performance_schema.drop_actor('you', 'there') AS dropped;
SELECT performance_schema.drop_actor('you', 'there') AS dropped;
DELETE FROM performance_schema.setup_actors WHERE user_name = 'me' RETURNING host, user_name, history;
SELECT * FROM performance_schema.setup_actors;

-- Rules for objects; TRUNCATE removes all rules
SELECT performance_schema.set_object('table', 'public', 't', false, false) AS made;
SELECT performance_schema.set_object('TABLE', 'public', 't', NULL, true) AS made;
SELECT * FROM performance_schema.setup_objects WHERE object_schema = 'public';
SELECT performance_schema.drop_object('Table', 'public', 't') AS dropped;
CREATE TEMP TABLE kept AS SELECT * FROM performance_schema.setup_objects;
TRUNCATE performance_schema.setup_objects;
SELECT count(*) FROM performance_schema.setup_objects;
INSERT INTO performance_schema.setup_objects SELECT * FROM kept;
SELECT count(*) = (SELECT count(*) FROM kept) AS restored FROM performance_schema.setup_objects;

-- COPY and joins see and fill the tables as well
COPY performance_schema.setup_actors FROM STDIN;
copied	copy	%	YES	NO
\.
COPY (SELECT * FROM performance_schema.setup_actors WHERE host = 'copied') TO STDOUT;
DELETE FROM performance_schema.setup_actors a USING (VALUES ('copied')) v (host) WHERE a.host = v.host;
EXPLAIN (COSTS OFF) SELECT enabled FROM performance_schema.setup_instruments WHERE name = 'error';
EXPLAIN (COSTS OFF) UPDATE performance_schema.setup_consumers SET enabled = 'NO' WHERE name = 'x';
