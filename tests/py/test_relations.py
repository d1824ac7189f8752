"""Whose rows they are: differences over each run of a query, nested ones with those that ran them.

The sums are compared with the server's in test_table_io.py; here are the cases in which a difference could be
taken at the wrong moment, from what is closed already, or twice. rows_examined is the sum of the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from helpers import RawClient, Watched, losses, one, rows, wait_until
from test_table_io import BY_INDEX, Io, our_io

SCHEMA = "whose"
TABLES = f"""
DROP SCHEMA IF EXISTS {SCHEMA} CASCADE;
CREATE SCHEMA {SCHEMA};
SET search_path = {SCHEMA};
CREATE TABLE t (id int PRIMARY KEY, v int);
INSERT INTO t SELECT g, g FROM generate_series(1, 100) g;
CREATE TABLE u (id int, v int);
INSERT INTO u SELECT g, g FROM generate_series(1, 10) g;
CREATE TABLE p (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
CREATE FUNCTION reads() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM t); END';
CREATE FUNCTION fails() RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; BEGIN
    SELECT 1 / (50 - v) INTO x FROM t WHERE v >= 50; RETURN x; END $$;
CREATE FUNCTION catches() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
    RETURN fails(); EXCEPTION WHEN division_by_zero THEN RETURN 0; END $$;
"""


@contextlib.contextmanager
def session_in(cluster: Any, conn: Any, schema: str, tables: str) -> Iterator[Watched]:
    """A session in a schema of its own, where all counts begin at zero; nothing is lost meanwhile."""
    with Watched(cluster, conn) as watched:
        watched.conn.execute(tables)
        watched.conn.execute("SET debug_parallel_query = off" if cluster.version() >= 16 else "SELECT 1")
        conn.execute(f"TRUNCATE {BY_INDEX}")
        before = losses(conn)
        yield watched
        assert losses(conn) == before
    conn.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def w(cluster: Any, conn: Any) -> Iterator[Watched]:
    with session_in(cluster, conn, SCHEMA, TABLES) as watched:
        yield watched


def io(w: Watched) -> dict[tuple[str, str | None], Io]:
    return our_io(w.observer, SCHEMA)


def examined(events: list[Any]) -> list[int]:
    """Of those that have examined any, in order of their start."""
    return [event.rows_examined for event in events if event.rows_examined > 0]


def script(w: Watched, *statements: str) -> list[Any]:
    """`!` in front: must fail. Returns the events."""
    since = w.mark()
    for sql in statements:
        with pytest.raises(psycopg.Error) if sql.startswith("!") else contextlib.nullcontext():
            w.conn.execute(sql.removeprefix("!"))
    return w.events(since)


def test_nested(w: Watched) -> None:
    """A function that reads the same table: its rows are its own, before, in and after."""
    events = script(w, "SELECT reads() FROM t WHERE v <= 3")
    assert io(w) == {("t", None): Io(400)}
    assert examined(events) == [100, 100, 100, 100]


def test_nested_changes(w: Watched) -> None:
    """The table is read by the outer query and changed in it."""
    w.conn.execute(
        "CREATE FUNCTION changes(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "UPDATE t SET v = -v WHERE id = i; INSERT INTO u VALUES (i); RETURN i; END $$"
    )
    script(w, "INSERT INTO u SELECT changes(id) FROM u WHERE id < 4")
    assert {key: value for key, value in io(w).items() if key[1] is None} == {
        ("t", None): Io(0, 0, 3), ("u", None): Io(10, 6),
    }  # fmt: skip
    assert io(w)["t", "t_pkey"] == Io(3)


def test_error(w: Watched) -> None:
    """What was read before the error counts, for the statement that read it."""
    events = script(w, "!SELECT count(*), sum(1 / (v - 60)) FROM t")
    assert io(w) == {("t", None): Io(60)}
    assert examined(events) == [60]
    assert events[0].returned_sqlstate == "22012"
    script(w, "SELECT count(*) FROM t")
    assert io(w) == {("t", None): Io(160)}


def test_error_in_nested(w: Watched) -> None:
    """Of all that are on the stack: the outer one has read rows before."""
    events = script(w, "!SELECT fails() FROM u")
    assert io(w) == {("u", None): Io(1), ("t", None): Io(50)}
    assert examined(events) == [1, 50]


def test_caught_error(w: Watched) -> None:
    """The nested one has failed, the outer one goes on."""
    events = script(w, "SELECT sum(catches()) FROM u WHERE id < 4", "SELECT count(*) FROM u")
    assert io(w) == {("u", None): Io(20), ("t", None): Io(150)}
    assert examined(events) == [10, 50, 50, 50, 10]


def test_statement_timeout(w: Watched) -> None:
    """A scan that ran into a timeout has read its rows."""
    event = script(w, "SET statement_timeout = '50ms'", "!SELECT pg_sleep(0.03), id FROM u")[-1]
    assert 0 < event.rows_examined < 10
    assert io(w) == {("u", None): Io(event.rows_examined)}


def test_subtransaction_abort(w: Watched) -> None:
    """Rows that were undone have been read and written all the same, once."""
    script(
        w, "BEGIN", "INSERT INTO u VALUES (11)", "SAVEPOINT a", "INSERT INTO u VALUES (12), (13)",
        "DELETE FROM u WHERE id < 3", "ROLLBACK TO a", "INSERT INTO u VALUES (14)", "COMMIT",
    )  # fmt: skip
    assert io(w) == {("u", None): Io(13, 4, 0, 2)}
    assert one(w.conn, "SELECT count(*) FROM u") == 12


def test_cursor_in_parts(w: Watched) -> None:
    """Others read the same table between its fetches, one of them in a subtransaction that aborts."""
    events = script(
        w, "BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t", "FETCH 5 c", "SELECT * FROM t LIMIT 30",
        "SAVEPOINT a", "FETCH 7 c", "SELECT count(*) FROM t", "ROLLBACK TO a", "FETCH 8 c", "CLOSE c",
        "COMMIT",
    )  # fmt: skip
    assert io(w) == {("t", None): Io(5 + 30 + 7 + 100 + 8)}
    assert sum(examined(events)) == 150
    assert 20 in examined(events)


def test_cursor_fails_in_subtransaction(w: Watched) -> None:
    """The query cannot go on, and its relations are closed with the transaction."""
    script(
        w, "BEGIN", "DECLARE c CURSOR FOR SELECT 1 / (v - 4) FROM u", "SAVEPOINT a", "FETCH 2 c",
        "!FETCH 5 c", "ROLLBACK TO a", "!FETCH 1 c", "ROLLBACK TO a", "SELECT count(*) FROM u", "COMMIT",
        "SELECT count(*) FROM u",
    )  # fmt: skip
    assert io(w) == {("u", None): Io(4 + 20)}


def test_lazy_function(w: Watched) -> None:
    """The query of an SQL function runs in parts, outer and inner one in turns, over a savepoint's end."""
    w.conn.execute(
        "CREATE FUNCTION lazy() RETURNS SETOF int LANGUAGE sql AS 'SELECT v FROM t WHERE v <= 50'"
    )
    script(
        w, "BEGIN", "DECLARE c CURSOR FOR SELECT lazy() FROM u", "FETCH 10 c", "SAVEPOINT a", "FETCH 60 c",
        "ROLLBACK TO a", "SELECT count(*) FROM u", "FETCH 5 c", "COMMIT",
    )  # fmt: skip
    assert io(w) == {("u", None): Io(2 + 10), ("t", None): Io(100 + 25)}


def test_routing(w: Watched) -> None:
    """Partitions that are opened as rows come; in one transaction and in several."""
    script(
        w, "INSERT INTO p VALUES (1), (101)", "INSERT INTO p VALUES (2)", "BEGIN",
        "INSERT INTO p VALUES (3)", "INSERT INTO p VALUES (4), (104)", "SAVEPOINT a",
        "INSERT INTO p VALUES (5), (105)", "ROLLBACK TO a", "INSERT INTO p VALUES (6)", "COMMIT",
        "INSERT INTO p VALUES (7), (107)", "UPDATE p SET id = id + 100 WHERE id = 7 AND v IS NULL AND false",
    )  # fmt: skip
    assert {key: value.insert for key, value in io(w).items()} == {("p1", None): 7, ("p2", None): 4}


def test_routing_fails(w: Watched) -> None:
    """The rows before the error, in partitions that were never used before."""
    script(w, "!INSERT INTO p SELECT g FROM generate_series(97, 201) g")
    script(w, "SELECT count(*) FROM p")
    assert {key: value.insert for key, value in io(w).items()} == {("p1", None): 3, ("p2", None): 100}


def test_routing_and_nested(w: Watched) -> None:
    """A trigger puts rows into the partition to which the outer statement routes."""
    w.conn.execute(
        "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.id < 50 THEN "
        "INSERT INTO p1 VALUES (new.id + 50); END IF; RETURN new; END $$;"
        "CREATE TRIGGER more BEFORE INSERT ON p1 FOR EACH ROW EXECUTE FUNCTION more()"
    )
    script(w, "INSERT INTO p VALUES (1), (2), (101)", "INSERT INTO p VALUES (3)")
    assert {key: value.insert for key, value in io(w).items()} == {("p1", None): 6, ("p2", None): 1}


def test_on_conflict(w: Watched) -> None:
    """Conflicting rows are looked up in an index that no node of the plan names."""
    script(w, "INSERT INTO t VALUES (5, 0), (101, 0) ON CONFLICT (id) DO UPDATE SET v = 0")
    script(w, "INSERT INTO t VALUES (5, 0), (102, 0) ON CONFLICT DO NOTHING")
    found = io(w)
    assert found["t", None][1:] == (2, 1, 0)
    assert found["t", "t_pkey"].fetch == 2


def test_truncate(w: Watched) -> None:
    """The server sets its counters of the transaction aside; ours go on."""
    script(
        w, "BEGIN", "INSERT INTO u VALUES (11), (12)", "TRUNCATE u", "INSERT INTO u VALUES (1), (2), (3)",
        "SELECT * FROM u", "COMMIT", "INSERT INTO u VALUES (4)",
    )  # fmt: skip
    assert io(w) == {("u", None): Io(3, 6)}


def test_truncate_and_routing(w: Watched) -> None:
    """The same of a partition, whose counters are known from before in the transaction only."""
    script(
        w, "BEGIN", "INSERT INTO p VALUES (1), (2)", "TRUNCATE p", "INSERT INTO p VALUES (1), (2), (3)",
        "COMMIT", "INSERT INTO p VALUES (4)",
    )  # fmt: skip
    assert {key: value.insert for key, value in io(w).items()} == {("p1", None): 6}


def test_prepared_transaction(new_cluster: Callable[..., Any]) -> None:
    """What a prepared transaction drops is there until it is committed; then its rows are free."""
    server = new_cluster(max_prepared_transactions=5)
    with server.connect(prepare_threshold=None) as observer, Watched(server, observer) as w:
        w.conn.execute(TABLES)
        script(w, "SELECT count(*) FROM t", "SELECT count(*) FROM u")
        for command, left in (("ROLLBACK", {"t", "u"}), ("COMMIT", {"u"})):
            script(w, "BEGIN", "DROP TABLE t", "CREATE TABLE made (id int)", "INSERT INTO made VALUES (1)",
                   "PREPARE TRANSACTION 'drops'")  # fmt: skip
            assert {"t", "u"} <= {name for name, _ in io(w)}
            observer.execute(f"{command} PREPARED 'drops'")
            assert {name for name, _ in io(w)} - {"made"} == left
            assert (("made", None) in io(w)) == (command == "COMMIT")


def test_dropped_database(cluster: Any, conn: Any) -> None:
    """Its rows go, too."""
    conn.execute("CREATE DATABASE of_others")
    oid = one(conn, "SELECT oid FROM pg_database WHERE datname = 'of_others'")
    with cluster.connect(dbname="of_others") as session:
        session.execute("CREATE TABLE t (id int)")
        session.execute("INSERT INTO t VALUES (1)")
    count = f"SELECT count(*) FROM {BY_INDEX} WHERE database_oid = {oid}"
    assert one(conn, count) == 1
    wait_until(
        lambda: one(conn, f"SELECT count(*) FROM pg_stat_activity WHERE datid = {oid}") == 0, "end"
    )
    conn.execute("DROP DATABASE of_others")
    assert one(conn, count) == 0


def copy_in(w: Watched, sql: str, data: str) -> None:
    with w.conn.cursor().copy(sql) as copy:
        copy.write(data)


def test_copy(w: Watched) -> None:
    """By its target, or the partitions of that; what its triggers do is theirs."""
    w.conn.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM count(*) FROM u; INSERT INTO u VALUES (new.id); RETURN new; END $$;"
        "CREATE TRIGGER note BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()"
    )
    copy_in(w, "COPY t FROM STDIN", "201\t1\n202\t1\n")
    copy_in(w, f"COPY {SCHEMA}.p FROM STDIN", "1\t1\n2\t1\n101\t1\n")
    copy_in(w, "COPY p FROM STDIN", "3\t1\n")
    assert io(w) == {
        ("t", None): Io(0, 2), ("u", None): Io(21, 2), ("p1", None): Io(0, 3), ("p2", None): Io(0, 1),
    }  # fmt: skip
    with w.conn.cursor().copy("COPY u TO STDOUT") as copy:
        assert len(list(copy)) == 12
    assert io(w)["u", None] == Io(33, 2)


def test_copy_fails(w: Watched) -> None:
    """In the middle, also in a partition that was not used before, also in a subtransaction."""
    for sql, data in (("t", "300\t1\n301\t1\n1\t1\n"), ("p", "1\t1\n101\t1\n102\t1\n1\t1\n")):
        w.conn.execute("BEGIN; SAVEPOINT a")
        with pytest.raises(psycopg.Error):
            copy_in(w, f"COPY {sql} FROM STDIN", data)
        w.conn.execute("ROLLBACK TO a; COMMIT")
    w.conn.execute("SELECT pg_stat_force_next_flush()")
    assert io(w)["t", None].insert == 3
    for name in ("p1", "p2"):
        inserted = one(w.conn, "SELECT pg_stat_get_tuples_inserted(%s::regclass)", name)
        assert io(w).get((name, None), Io()).insert == inserted
    script(w, "SELECT count(*) FROM u")
    assert io(w)["u", None] == Io(10)


def test_create_table_as(w: Watched) -> None:
    """Its query counts; what it writes does not: no query names the table."""
    script(w, "CREATE TABLE c AS SELECT * FROM t", "CREATE MATERIALIZED VIEW m AS SELECT * FROM u",
           "REFRESH MATERIALIZED VIEW m", "EXPLAIN ANALYZE CREATE TABLE d AS SELECT * FROM u")  # fmt: skip
    assert io(w) == {("t", None): Io(100), ("u", None): Io(30)}


@pytest.mark.parametrize("when", ["BEFORE", "AFTER", "deferred"])
def test_triggers(w: Watched, when: str) -> None:
    """Those after run in ExecutorFinish, deferred ones at the commit."""
    kind = "CONSTRAINT TRIGGER" if when == "deferred" else "TRIGGER"
    at = "AFTER" if when == "deferred" else when
    deferred = "DEFERRABLE INITIALLY DEFERRED" if when == "deferred" else ""
    w.conn.execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM count(*) FROM t; UPDATE u SET v = 0 WHERE id = 1; RETURN new; END $$;"
        f"CREATE {kind} note {at} INSERT ON t {deferred} FOR EACH ROW EXECUTE FUNCTION note()"
    )
    script(w, "BEGIN", "INSERT INTO t VALUES (201), (202)", "COMMIT")
    assert io(w)["t", None].insert == 2
    assert io(w)["t", None].fetch == 204 - {"BEFORE": 3, "AFTER": 0, "deferred": 0}[when]
    assert io(w)["u", None] == Io(20, 0, 2)


def test_modifying_cte_that_nobody_reads(w: Watched) -> None:
    """It is run to its end in ExecutorFinish."""
    script(w, "WITH gone AS (DELETE FROM u WHERE id < 4 RETURNING id) SELECT 1")
    script(w, "WITH new AS (INSERT INTO p SELECT id, v FROM t WHERE v < 9 RETURNING id) SELECT 1")
    assert io(w) == {("u", None): Io(10, 0, 0, 3), ("t", None): Io(100), ("p1", None): Io(0, 8)}


def test_temporary_tables(w: Watched) -> None:
    """They count like others, and leave no row behind."""
    script(w, "CREATE TEMP TABLE tt (id int)", "INSERT INTO tt VALUES (1), (2)", "SELECT * FROM tt")
    schema = one(w.conn, "SELECT pg_my_temp_schema()::regnamespace::text")
    assert our_io(w.observer, schema) == {("tt", None): Io(2, 2)}
    script(w, "DROP TABLE tt")
    assert our_io(w.observer, schema) == {}


def test_parallel_query(w: Watched) -> None:
    """Workers count what they read; rows_examined of the statement is the leader's part."""
    w.conn.execute(
        "INSERT INTO t SELECT g, g FROM generate_series(101, 20000) g; "
        "ALTER TABLE t SET (parallel_workers = 2)"
    )
    for setting in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
        w.conn.execute(f"SET {setting} = 0")
    w.observer.execute(f"TRUNCATE {BY_INDEX}")
    events = script(w, "SELECT count(*) FROM t")
    assert io(w) == {("t", None): Io(20000)}
    assert sum(examined(events)) <= 20000
    w.conn.execute("SET parallel_leader_participation = off")
    events = script(w, "SELECT count(*) FROM t")
    assert io(w) == {("t", None): Io(40000)}
    assert examined(events) == []


def test_dropped_while_a_cursor_is_open(w: Watched) -> None:
    """Another table, created and dropped in a function, while the cursor reads the first."""
    w.conn.execute(
        "CREATE FUNCTION drops() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "CREATE TABLE short (id int); INSERT INTO short VALUES (1), (2); "
        "PERFORM count(*) FROM short; DROP TABLE short; "
        "BEGIN CREATE TABLE shorter AS SELECT 1 AS id; PERFORM count(*) FROM shorter; "
        "PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END; RETURN 1; END $$"
    )
    script(
        w, "BEGIN", "DECLARE c CURSOR FOR SELECT drops() FROM u", "FETCH 2 c", "SAVEPOINT a", "FETCH 1 c",
        "ROLLBACK TO a", "FETCH 3 c", "COMMIT",
    )  # fmt: skip
    assert io(w) == {("u", None): Io(6)}
    assert rows(w.conn, "SELECT * FROM pg_class WHERE relname IN ('short', 'shorter')") == []


def test_many_relations(w: Watched) -> None:
    """More than the process remembers: partitions of two tables in one query, and again."""
    w.conn.execute("CREATE TABLE many (id int) PARTITION BY LIST (id)")
    w.conn.execute(
        "DO $$ BEGIN FOR i IN 1 .. 300 LOOP EXECUTE format("
        "'CREATE TABLE many%s PARTITION OF many FOR VALUES IN (%s)', i, i); END LOOP; END $$"
    )
    script(w, "INSERT INTO many SELECT generate_series(1, 300)", "SELECT count(*) FROM many",
           "SELECT count(*) FROM many a, many b WHERE a.id = b.id", "BEGIN",
           "DECLARE c CURSOR FOR SELECT * FROM many", "FETCH 100 c", "SELECT count(*) FROM many",
           "FETCH 200 c", "COMMIT")  # fmt: skip
    found = {key: value for key, value in io(w).items() if key[0].startswith("many")}
    assert set(found.values()) == {Io(5, 1)}
    assert len(found) == 300


def test_portal_in_pieces(cluster: Any, w: Watched) -> None:
    """Extended protocol: the same portal, run with a limit, others in between."""
    with RawClient(cluster) as raw:
        raw.query(f"SET search_path = {SCHEMA}")
        raw.query("BEGIN")
        raw.parse("SELECT * FROM t").bind(portal="a").execute("a", 10).sync()
        raw.parse("SELECT * FROM t").bind(portal="b").execute("b", 20).sync()
        raw.execute("a", 30).sync()
        raw.execute("b", 0).sync()
        raw.query("COMMIT")
    assert io(w) == {("t", None): Io(140)}


def test_without_statements(w: Watched) -> None:
    """Tables alone: nothing hangs on a statement."""
    off = "SELECT performance_schema.set_instruments(%s, false)"
    on = "SELECT performance_schema.set_instruments(%s, true)"
    for name in ("statement/%", "transaction"):
        w.observer.execute(off, (name,))
    try:
        for sql in ("SELECT reads() FROM u", "SELECT catches() FROM u", "INSERT INTO p VALUES (1)"):
            w.conn.execute(sql)
        with pytest.raises(psycopg.Error):
            w.conn.execute("SELECT fails() FROM u")
    finally:
        for name in ("statement/%", "transaction"):
            w.observer.execute(on, (name,))
    assert io(w) == {
        ("t", None): Io(1000 + 500 + 50), ("u", None): Io(21), ("p1", None): Io(0, 1),
    }  # fmt: skip
