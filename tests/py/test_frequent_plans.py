"""A statement counts the same however often it is executed.

The first executions go the long way, the later ones a short one that is made for the shape of their plan (run_... in
pg_executor.c). Whatever the shape: each execution has the same events, and the rows of all of them are the server's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from helpers import RawClient, Watched
from test_relations import session_in
from test_table_io import assert_equal

SCHEMA = "shapes"
TABLES = f"""
DROP SCHEMA IF EXISTS {SCHEMA} CASCADE;
CREATE SCHEMA {SCHEMA};
SET search_path = {SCHEMA};
CREATE TABLE t (id int PRIMARY KEY, v int);
INSERT INTO t SELECT g, g FROM generate_series(1, 500) g;
CREATE TABLE u (id int, v int);
INSERT INTO u SELECT g, g FROM generate_series(1, 10) g;
CREATE TABLE log (id int);
CREATE TABLE triggered (id int, v int);
INSERT INTO triggered SELECT g, g FROM generate_series(1, 3) g;
CREATE FUNCTION reads_u() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM u); END';
CREATE FUNCTION changes_u() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN UPDATE u SET v = v WHERE id < 3; RETURN 1; END';
CREATE FUNCTION catches() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    PERFORM 1 / (v - 5) FROM u; EXCEPTION WHEN division_by_zero THEN RETURN 0; END $$;
CREATE FUNCTION logs() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (NEW.id); RETURN NEW; END';
CREATE TRIGGER logged AFTER UPDATE ON triggered FOR EACH ROW EXECUTE FUNCTION logs();
"""
EXECUTIONS = 24
"""More than PFS_SAMPLES_FIRST of times.h, which are timed, so that they go the long way."""

SHAPES = {
    "nothing": "SELECT 1",
    "values": "SELECT * FROM (VALUES (1), (2), (3)) AS v (a)",
    "a set": "SELECT generate_series(1, 5)",
    "a function's rows": "SELECT * FROM generate_series(1, 5)",
    "sorted rows of a function": "SELECT * FROM generate_series(1, 5) AS g ORDER BY -g",
    "a function that reads": "SELECT reads_u()",
    "a function that changes": "SELECT changes_u()",
    "a function that catches": "SELECT catches()",
    "a table": "SELECT * FROM u",
    "a table, part of it": "SELECT * FROM u LIMIT 3",
    "a table, locked": "SELECT * FROM u WHERE id = 4 FOR UPDATE",
    "a table, grouped": "SELECT id % 2, count(*) FROM u GROUP BY id % 2",
    "a table, windows": "SELECT id, sum(v) OVER (ORDER BY id) FROM u",
    "a table, and a function that reads it": "SELECT id, reads_u() FROM u WHERE id < 3",
    "a table, and a function that changes it": "SELECT id, changes_u() FROM u WHERE id < 3",
    "an index": "SELECT v FROM t WHERE id = 3",
    "an index, and a function": "SELECT v, reads_u() FROM t WHERE id = 3",
    "only an index": "SELECT count(id) FROM t WHERE id BETWEEN 3 AND 9",
    "an index, backward": "SELECT v FROM t ORDER BY id DESC LIMIT 4",
    "a join": "SELECT t.v FROM u JOIN t USING (id) WHERE u.v < 5",
    "a join with itself": "SELECT a.v FROM u AS a, u AS b WHERE a.id = b.v",
    "a union": "SELECT id FROM u UNION ALL SELECT id FROM t WHERE id < 4",
    "a subquery": "SELECT (SELECT max(v) FROM u), v FROM t WHERE id = 7",
    "exists": "SELECT v FROM t WHERE id < 5 AND EXISTS (SELECT FROM u WHERE u.id = t.id)",
    "a common table expression": "WITH few AS MATERIALIZED (SELECT * FROM u WHERE id < 4) SELECT count(*) FROM few, few AS f",
    "an update by an index": "UPDATE t SET v = v WHERE id = 8",
    "an update by reading": "UPDATE u SET v = v WHERE id = 2",
    "an update of all": "UPDATE u SET v = v",
    "an update of nothing": "UPDATE u SET v = v WHERE false",
    "an update that returns": "UPDATE u SET v = v WHERE id < 4 RETURNING *",
    "an update with a function": "UPDATE u SET v = v WHERE id = reads_u()",
    "an update with a function that changes": "UPDATE t SET v = v WHERE id = changes_u()",
    "an update by another table": "UPDATE u SET v = u.v FROM t WHERE t.id = u.id",
    "an update with a trigger": "UPDATE triggered SET v = v WHERE id < 3",
    "a deletion by reading": "DELETE FROM u WHERE id < 0",
    "a deletion by an index": "DELETE FROM t WHERE id < 0",
    "an insertion": "INSERT INTO log VALUES (1)",
    "an insertion of a set": "INSERT INTO log SELECT generate_series(1, 3)",
    "an insertion of a function's rows": "INSERT INTO log SELECT g FROM generate_series(1, 3) AS g",
    "an insertion of its own rows": "INSERT INTO u SELECT * FROM u WHERE id < 0",
    "an insertion of another's": "INSERT INTO log SELECT id FROM u WHERE id < 3",
    "an insertion that conflicts": "INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING",
    "a merge": "MERGE INTO u USING t ON t.id = u.id AND t.id < 3 WHEN MATCHED THEN UPDATE SET v = t.v",
    "a change inside a select": "WITH x AS (UPDATE u SET v = v WHERE id < 4 RETURNING *) SELECT count(*) FROM x",
    "an error": "SELECT 1 / (v - 5) FROM u",
    "an error by an index": "SELECT 1 / (v - 5) FROM t WHERE id BETWEEN 3 AND 9",
    "an error of a change": "UPDATE u SET v = 1 / (v - 5)",
    "an error of a function": "SELECT 1 / (g - 3) FROM generate_series(1, 5) AS g",
    "an error in a join": "SELECT 1 / (t.v - 3) FROM u JOIN t USING (id)",
}
SAME = (
    "event_name", "digest", "digest_text", "sql_text", "nesting_event_level", "nesting_event_type", "object_name", "returned_sqlstate",
    "message_text", "errors", "warnings", "rows_affected", "rows_sent", "rows_examined", "created_tmp_disk_tables", "created_tmp_tables",
    "select_full_join", "select_full_range_join", "select_range", "select_range_check", "select_scan", "sort_merge_passes",
    "sort_range", "sort_rows", "sort_scan", "no_index_used", "no_good_index_used",
)  # fmt: skip
ENDED = ("end_event_id", "timer_wait", "statement_id")


@pytest.fixture
def w(cluster: Any, conn: Any) -> Iterator[Watched]:
    with session_in(cluster, conn, SCHEMA, TABLES) as watched:
        watched.conn.execute("SET enable_hashjoin = off")
        watched.conn.execute("SELECT pg_stat_force_next_flush()")
        watched.conn.execute("SELECT 1")
        conn.execute(
            "SELECT pg_stat_reset_single_table_counters(oid) FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = %s::regnamespace",
            (SCHEMA,),
        )
        yield watched


def executed(w: Watched, sql: str, **how: Any) -> list[tuple[Any, ...]]:
    """Events of one execution: what must be the same each time. All of them have ended."""
    since = w.mark()
    answer = None  # rows sent, rows affected; of what fails not known here
    with contextlib.suppress(psycopg.Error):
        cursor = w.conn.execute(sql, **how)
        affected = 0 if cursor.statusmessage.startswith("SELECT") else cursor.rowcount
        answer = (len(cursor.fetchall()) if cursor.description else 0, affected)
    events = w.events(since)
    (top,) = [event for event in events if event.nesting_event_level == 0]
    assert (answer is None) == (top.errors == 1) == ("/" in sql)
    assert answer in (None, (top.rows_sent, top.rows_affected))
    assert all(getattr(event, name) is not None for event in events for name in ENDED)
    return [tuple(getattr(event, name) for name in SAME) for event in events]


def assert_all_same(w: Watched, sql: str, **how: Any) -> None:
    first = executed(w, sql, **how)
    assert first
    for _ in range(EXECUTIONS):
        assert executed(w, sql, **how) == first
    w.conn.execute("SELECT pg_stat_force_next_flush()")
    assert_equal(w.observer, SCHEMA)


@pytest.mark.parametrize("protocol", ["prepared", "simple"])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_execution_is_the_same(w: Watched, shape: str, protocol: str) -> None:
    if protocol == "prepared":
        executed(w, SHAPES[shape], prepare=True)  # with its Parse
    assert_all_same(w, SHAPES[shape], prepare=protocol == "prepared")


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if not shape.startswith("an error")])
def test_in_a_block(w: Watched, shape: str) -> None:
    w.conn.execute("BEGIN")
    executed(w, SHAPES[shape], prepare=True)
    first = executed(w, SHAPES[shape], prepare=True)
    for _ in range(EXECUTIONS):
        assert executed(w, SHAPES[shape], prepare=True) == first
    w.conn.execute("COMMIT")
    w.conn.execute("SELECT pg_stat_force_next_flush()")
    assert_equal(w.observer, SCHEMA)


@pytest.mark.parametrize("shape", [shape for shape, sql in SHAPES.items() if sql.startswith(("SELECT", "WITH")) and "/" not in sql])
def test_in_pieces(cluster: Any, w: Watched, shape: str) -> None:
    """The portal is executed two rows at a time."""
    with RawClient(cluster) as raw:
        raw.query(f"SET search_path = {SCHEMA}; SET enable_hashjoin = off")
        raw.parse(SHAPES[shape], name="s").sync()
        for _ in range(EXECUTIONS):
            raw.bind(name="s").execute("", 2).execute("", 2).execute().sync()
        raw.query("SELECT pg_stat_force_next_flush()")
    assert_equal(w.observer, SCHEMA)


def ended(w: Watched, sql: str, prepare: bool) -> Any:
    since = w.mark()
    w.conn.execute(sql, prepare=prepare)
    (top,) = [event for event in w.events(since) if event.nesting_event_level == 0]
    return top


def figures(w: Watched, sql: str) -> set[tuple[int, ...]]:
    """Those that its sorts and its files make, of each of its later executions by both protocols."""
    found = set()
    for prepare in (False, True):
        for _ in range(EXECUTIONS):
            event = ended(w, sql, prepare)
            found.add((event.sort_rows, event.sort_merge_passes > 0, event.created_tmp_disk_tables > 0))
    return found


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM generate_series(1, 100) AS g ORDER BY -g", (100, False, False)),
        ("SELECT * FROM (VALUES (2), (1)) AS v (a) ORDER BY a", (2, False, False)),
        ("SELECT * FROM t ORDER BY v DESC", (500, False, False)),
        ("SELECT u.v FROM u, generate_series(1, 2) ORDER BY -u.v", (20, False, False)),
        ("SELECT count(*) FROM generate_series(1, 20000)", (0, False, True)),
        ("SELECT g FROM generate_series(1, 20000) AS g ORDER BY -g LIMIT 1 OFFSET 19999", (20000, True, True)),
    ],
)
def test_sorts_and_files(w: Watched, sql: str, expected: tuple[int, ...]) -> None:
    w.conn.execute("SET work_mem = '64kB'")
    ended(w, sql, True)
    assert figures(w, sql) == {expected}


def test_rule_puts_a_sort_in_place_of_a_change(w: Watched) -> None:
    """Its query is gone before the answer."""
    w.conn.execute("CREATE VIEW v AS SELECT * FROM t")
    w.conn.execute(
        "CREATE RULE r AS ON UPDATE TO v DO INSTEAD SELECT g FROM generate_series(1, 20000) AS g ORDER BY -g"
    )
    w.conn.execute("SET work_mem = '64kB'")
    for prepare in (False, True):
        for _ in range(EXECUTIONS):
            w.conn.execute("UPDATE v SET v = 1 WHERE id = 2", prepare=prepare)
    assert w.event("SELECT 1").errors == 0


def test_error_at_the_end_of_a_change(w: Watched) -> None:
    """A foreign key is looked at when all rows are there: they were changed once."""
    w.conn.execute("CREATE TABLE child (id int REFERENCES t)")
    for prepare in (False, True):
        for _ in range(EXECUTIONS):
            since = w.mark()
            with pytest.raises(psycopg.errors.ForeignKeyViolation):
                w.conn.execute("INSERT INTO child SELECT -g FROM generate_series(1, 3) AS g", prepare=prepare)
            (top,) = [event for event in w.events(since) if event.nesting_event_level == 0]
            assert (top.rows_affected, top.errors) == (3, 1)
