"""The states in which the bench puts a MySQL-family Performance Schema, and the SQL that does it.

A server that was started with the schema on keeps what its instruments and consumers were at start
in schema `pfsbench`; `CALL pfsbench.state('...')` then switches from any state to any other:

    default           as the server started
    none              all instruments off (what '%=OFF' does at start), consumers as by default
    all               all instruments enabled and timed, all consumers
    waits             by default, and all wait instruments enabled and timed, events_waits consumers
    waits_no_current  the same with consumer events_statements_current off, which turns off what
                      depends on it (its histories)

A schema that was off at start cannot be switched on: that is another server.
"""

from __future__ import annotations

STATES = ("default", "none", "all", "waits", "waits_no_current")

KEEP_DEFAULTS = (
    "CREATE DATABASE pfsbench",
    "CREATE TABLE pfsbench.instruments (name varchar(128) PRIMARY KEY, enabled varchar(3), "
    "timed varchar(3)) ENGINE=InnoDB CHARSET=utf8 COLLATE=utf8_bin",
    "INSERT INTO pfsbench.instruments "
    "SELECT name, enabled, coalesce(timed, 'NO') FROM performance_schema.setup_instruments",
    "CREATE TABLE pfsbench.consumers (name varchar(64) PRIMARY KEY, enabled varchar(3)) "
    "ENGINE=InnoDB CHARSET=utf8 COLLATE=utf8_bin",
    "INSERT INTO pfsbench.consumers SELECT name, enabled FROM performance_schema.setup_consumers",
)

STATE_PROCEDURE = """
CREATE PROCEDURE pfsbench.state(wanted varchar(30))
BEGIN
    DECLARE everything boolean DEFAULT wanted = 'all';
    DECLARE nothing boolean DEFAULT wanted = 'none';
    DECLARE waits boolean DEFAULT wanted LIKE 'waits%';
    DECLARE no_current boolean DEFAULT wanted = 'waits_no_current';
    UPDATE performance_schema.setup_instruments s
    JOIN pfsbench.instruments d ON d.name = s.name
    SET s.enabled = CASE WHEN nothing THEN 'NO'
                         WHEN everything OR (waits AND s.name LIKE 'wait/%') THEN 'YES'
                         ELSE d.enabled END,
        s.timed = CASE WHEN nothing THEN 'NO'
                       WHEN everything OR (waits AND s.name LIKE 'wait/%') THEN 'YES'
                       ELSE d.timed END;
    UPDATE performance_schema.setup_consumers s
    JOIN pfsbench.consumers d ON d.name = s.name
    SET s.enabled = CASE WHEN everything OR (waits AND s.name LIKE 'events_waits%') THEN 'YES'
                         WHEN no_current AND s.name = 'events_statements_current' THEN 'NO'
                         ELSE d.enabled END;
END
"""

STATE_OF_SCHEMA = """
SELECT 'instruments enabled', count(*) FROM performance_schema.setup_instruments
WHERE enabled = 'YES'
UNION ALL SELECT 'instruments timed', count(*) FROM performance_schema.setup_instruments
WHERE enabled = 'YES' AND timed = 'YES'
UNION ALL SELECT 'instruments', count(*) FROM performance_schema.setup_instruments
UNION ALL SELECT 'consumers enabled', count(*) FROM performance_schema.setup_consumers
WHERE enabled = 'YES'
"""
"""Rows (what, how many): for a look by hand and the check that a switch did what it says."""
