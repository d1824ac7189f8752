"""A statement's record is its own: what is recorded of one is never credited to another.

Failures in inner subtransactions, transactions that end in a running procedure, statements that
have no record because their class is off, SQL of a walsender, and the price of a caught error.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import (
    Watched,
    instruments,
    losses,
    one,
    wait_until,
)
from statement_helpers import (
    CLOCKS,
    Books,
    Speaker,
    around,
    errors_of,
    long_histories,
    seconds,
    thread_sums,
)

SLEEP_S = 0.1
SLEEP = f"SELECT pg_sleep({SLEEP_S})"
FAILURES = 5000
SETUP = """
CREATE TABLE n (a int, b int);
INSERT INTO n SELECT i, i FROM generate_series(1, 10) i;
CREATE FUNCTION fetches(times int, how text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT 1 / (3 - i) FROM generate_series(1, 5) i;
    caught int := 0;
    x int;
BEGIN
    FOR n IN 1 .. times LOOP
        OPEN c;
        BEGIN
            LOOP
                IF how = 'static' THEN FETCH c INTO x;
                ELSIF how = 'move' THEN MOVE NEXT FROM c;
                ELSE EXECUTE format('FETCH 1 FROM %I', c) INTO x;
                END IF;
            END LOOP;
        EXCEPTION WHEN division_by_zero THEN caught := caught + 1;
        END;
        CLOSE c;
    END LOOP;
    RETURN caught;
END $$;
"""


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """A server that keeps 200 statements per thread."""
    with with_library(
        pg_config, SETUP, performance_schema__events_statements_history_size=200
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as connection:
        yield connection


@pytest.fixture
def w(server: Any, observer: Any) -> Iterator[Watched]:
    with Watched(server, observer) as watched:
        yield watched


@pytest.fixture
def raw(server: Any, observer: Any) -> Iterator[Speaker]:
    with Speaker(server, observer) as client:
        yield client


def failed_of(observer: Any, thread_id: int) -> dict[str, tuple[int, int]]:
    """Statements of a thread by class: all, failed."""
    return {
        name.removeprefix("statement/sql/"): (row.count_star, row.sum_errors)
        for name, row in thread_sums(observer, thread_id).items()
        if name.startswith("statement/sql/") and row.count_star > 0
    }


# --- failures in inner subtransactions ------------------------------------------------------------


@pytest.mark.parametrize("how", ["static", "move", "dynamic"])
def test_fetch_fails_in_a_handler(w: Watched, observer: Any, how: str) -> None:
    """A cursor over 1 / (3 - i), 5,000 times: its query and each FETCH command, with its error."""
    sql = f"SELECT fetches({FAILURES}, '{how}')"
    assert one(w.conn, sql) == FAILURES
    assert errors_of(observer, w.thread_id) == {"22012": (0, FAILURES)}
    counted = failed_of(observer, w.thread_id)
    assert counted.pop("fetch", None) == ((3 * FAILURES, FAILURES) if how == "dynamic" else None)
    assert counted == {"select": (FAILURES + 2, FAILURES)}
    assert [e.sql_text for e in w.current()] == [sql]
    failed = [e for e in w.events() if e.event_name == "statement/sql/select"][:-1]
    assert len(failed) >= 40
    for event in failed[1:]:
        assert (event.errors, event.returned_sqlstate, event.rows_sent) == (1, "22012", 2)
        assert event.message_text == "division by zero"
        assert (event.nesting_event_level, event.object_name) == (1, "fetches")
    assert losses(observer) == {}


def test_fetch_fails_behind_a_savepoint(w: Watched, observer: Any) -> None:
    """The client's own FETCH, undone by ROLLBACK TO: both statements have failed, each time."""
    times = 40
    for _ in range(times):
        w.conn.execute("BEGIN")
        w.conn.execute("DECLARE c CURSOR FOR SELECT 1 / (3 - i) FROM generate_series(1, 5) i")
        w.conn.execute("FETCH 2 FROM c")
        w.conn.execute("SAVEPOINT s")
        with pytest.raises(psycopg.errors.DivisionByZero):
            w.conn.execute("FETCH 2 FROM c")
        w.conn.execute("ROLLBACK TO s")
        w.conn.execute("CLOSE c")
        w.conn.execute("COMMIT")
    assert errors_of(observer, w.thread_id) == {"22012": (times, 0)}
    counted = failed_of(observer, w.thread_id)
    assert counted["fetch"] == (2 * times, times)
    assert counted["select"] == (times + 1, times)
    assert counted["rollback"] == counted["close_cursor"] == (times, 0)


# --- transactions that end in a running procedure -------------------------------------------------


ENDS = ("COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN")
PROCEDURES = """
CREATE OR REPLACE PROCEDURE inner_p(times int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. times LOOP
        UPDATE n SET b = b + 0 WHERE a = i;
        {end};
        PERFORM count(*) AS inner_count FROM n;
    END LOOP;
END $$;
CREATE OR REPLACE PROCEDURE outer_p(times int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 AS outer_first;
    FOR i IN 1 .. times LOOP
        CALL inner_p(2);
        PERFORM i AS outer_mid;
        {end};
        PERFORM i AS outer_last;
    END LOOP;
END $$;
"""


@pytest.fixture
def long_history(observer: Any) -> Iterator[None]:
    with long_histories(observer):
        yield


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("call", ["CALL outer_p(2)", "DO $$ BEGIN CALL outer_p(2); END $$"])
def test_transaction_ends_in_a_procedure(
    w: Watched, observer: Any, long_history: None, call: str, end: str
) -> None:
    """Statements after it keep routine and parent."""
    w.conn.execute(PROCEDURES.replace("{end}", end))
    with Books(observer, w.conn) as books:
        w.conn.execute(call)
    [top] = books.top
    above = around(observer, w.thread_id)
    deeper = int(call.startswith("DO"))
    calls = [e for e in books.events if e.event_name == "statement/sql/call" and e is not top]
    inner_calls = [e for e in calls if "inner_p" in e.sql_text]
    assert len(inner_calls) == 2 and len(calls) == 2 + deeper
    seen: dict[str, int] = {}
    for event in books.events:
        if event.object_name is None:
            continue
        assert (event.object_type, event.object_schema) == ("PROCEDURE", "public"), event.sql_text
        in_inner = "inner_count" in event.sql_text or event.sql_text.startswith("UPDATE")
        assert event.object_name == ("inner_p" if in_inner else "outer_p"), event.sql_text
        assert event.nesting_event_level == deeper + (2 if in_inner else 1), event.sql_text
        assert event.nesting_event_id is not None, event.sql_text
        assert top.event_id in above[event.event_id], event.sql_text
        if in_inner:
            assert any(e.event_id in above[event.event_id] for e in inner_calls), event.sql_text
        kind = event.sql_text.split()[0] + " " + event.sql_text.split()[-1]
        seen[kind] = seen.get(kind, 0) + 1
    assert sum(n for kind, n in seen.items() if kind.startswith("UPDATE")) == 4
    assert seen["SELECT outer_mid"] == seen["SELECT outer_last"] == 2
    assert len([e for e in books.events if "inner_count" in e.sql_text]) == 4
    unnamed = [e.sql_text for e in books.events if e.object_name is None]
    assert len(unnamed) == 1 + deeper, unnamed
    assert w.event("SELECT 1").object_name is None


def test_loop_over_a_cursor_with_commits(w: Watched, observer: Any, long_history: None) -> None:
    """A FOR loop's query outlives the transactions that its body ends, and counts once."""
    with Books(observer, w.conn) as books:
        w.conn.execute(
            "DO $$ DECLARE r record; BEGIN FOR r IN SELECT a AS looped FROM n LOOP "
            "UPDATE n SET b = b + 0 WHERE a = r.looped; "
            "IF r.looped % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF; END LOOP; END $$"
        )
    [top] = books.top
    [loop] = [e for e in books.events if e.event_name == "statement/sql/select"]
    assert (loop.rows_sent, loop.errors, loop.nesting_event_level) == (10, 0, 1)
    updates = [e for e in books.events if e.event_name == "statement/sql/update"]
    assert [(e.nesting_event_level, e.rows_affected) for e in updates] == [(1, 1)] * 10
    above = around(observer, w.thread_id)
    assert all(top.event_id in above[e.event_id] for e in updates)


def test_handler_after_a_rollback(w: Watched, observer: Any) -> None:
    """A caught error after the procedure's ROLLBACK takes neither routine nor parent away."""
    w.conn.execute(
        "CREATE OR REPLACE PROCEDURE catching() LANGUAGE plpgsql AS $$ BEGIN "
        "FOR i IN 1 .. 3 LOOP ROLLBACK; "
        "BEGIN PERFORM 1 / (a - a) FROM n; EXCEPTION WHEN division_by_zero THEN "
        "PERFORM i AS caught; END; COMMIT; PERFORM i AS behind; END LOOP; END $$"
    )
    with Books(observer, w.conn) as books:
        w.conn.execute("CALL catching()")
    nested = [e for e in books.events if e.nesting_event_level > 0]
    assert [(e.nesting_event_level, e.object_name, e.errors) for e in nested] == [
        (1, "catching", 1), (1, "catching", 0), (1, "catching", 0),
    ] * 3  # fmt: skip
    assert books.top[0].errors == 0


# --- statements without a record ------------------------------------------------------------------

UPDATE = "UPDATE n SET b = b + 0"
ROWS = "SELECT i FROM generate_series(1, 7) i"


def told(books: Books) -> list[tuple[str, int, int, int]]:
    """Text, rows sent and affected, errors of each top-level statement."""
    return [(e.sql_text, e.rows_sent, e.rows_affected, e.errors) for e in books.top]


def no_selects(observer: Any) -> contextlib.AbstractContextManager[None]:
    """SELECTs have no record. The observer's neither: it asks for the time before and after."""
    return instruments(observer, "statement/sql/select", "NO")


NO_RECORD = {
    "select": [ROWS, SLEEP],
    "set": ["SET work_mem = 99"],
    "do": [f"DO $$ BEGIN FOR i IN 1 .. 3 LOOP PERFORM pg_sleep({SLEEP_S / 2}); END LOOP; END $$"],
    "insert": [f"INSERT INTO n SELECT 11, 11 FROM pg_sleep({SLEEP_S}) RETURNING a"],
}


@pytest.mark.parametrize("way", ("simple", "one message", "extended", "pipeline"))
@pytest.mark.parametrize("name", NO_RECORD)
def test_neighbours_of_the_unrecorded(raw: Speaker, observer: Any, way: str, name: str) -> None:
    """A class is off: rows and times of the statements before and after stay right."""
    a, b, c = (f"{UPDATE} WHERE a <= {i}" for i in (3, 4, 5))
    script = [a, *NO_RECORD[name], b, *NO_RECORD[name], c]
    with Books(observer, raw) as books, instruments(observer, f"statement/sql/{name}", "NO"):
        raw.query("BEGIN")
        if way == "one message":
            raw.query("; ".join(script))
        elif way == "pipeline":
            for sql in script:
                raw.prepare(sql)
            raw.sync()
        else:
            for sql in script:
                (raw.extended if way == "extended" else raw.query)(sql)
        raw.query("ROLLBACK")
        if name in ("select", "insert"):
            books.without_record(2 * SLEEP_S)
    mine = [line for line in told(books)[1:-1] if not line[0].startswith("SELECT pg_sleep")]
    assert mine == [(a, 0, 3, 0), (b, 0, 4, 0), (c, 0, 5, 0)]


@pytest.mark.parametrize("way", ("simple", "extended", "portal", "cursor"))
def test_portal_beside_the_unrecorded(raw: Speaker, observer: Any, way: str) -> None:
    """A suspended portal is not ended, nor given rows, by what runs without a record meanwhile."""
    sql = "SELECT a AS mine FROM n"
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        raw.parse(sql).bind(portal="p").execute("p", 3).sync()
        with no_selects(observer):
            if way == "simple":
                raw.query(f"{ROWS}; {SLEEP}")
                books.without_record(SLEEP_S)
            elif way == "extended":
                raw.extended(ROWS)
                raw.extended(SLEEP)
                books.without_record(SLEEP_S)
            elif way == "cursor":
                raw.query(f"DECLARE c CURSOR FOR {ROWS}")
                raw.query("FETCH 2 FROM c")
                raw.query("FETCH ALL FROM c")
            else:
                raw.parse(ROWS).bind(portal="other").execute("other", 2).sync()
                raw.close_object("P", "none").execute("other").sync()
        raw.close_object("P", "none").execute("p").sync()
        raw.query("COMMIT")
    mine = books.only(sql)
    assert (mine.rows_sent, mine.errors) == (10, 0)
    assert [e.rows_sent for e in books.top if "FETCH" in e.sql_text] == [2, 5] * (way == "cursor")


@pytest.mark.parametrize("change", [False, True], ids=["select", "change"])
def test_portal_without_a_record(raw: Speaker, observer: Any, change: bool) -> None:
    """Bound while its class was off, run to its end when it is on: others keep their own."""
    sql = "UPDATE n SET b = b RETURNING a" if change else "SELECT a AS unrecorded FROM n"
    name = "update" if change else "select"
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        with instruments(observer, f"statement/sql/{name}", "NO"):
            raw.parse(sql).bind(portal="p").execute("p", 3).sync()
        raw.parse("INSERT INTO n SELECT 11, 11 RETURNING a").bind(portal="q").execute("q", 1)
        raw.close_object("P", "none").execute("p", 3).sync()
        raw.query("DELETE FROM n WHERE a = 11")
        raw.close_object("P", "none").execute("p").sync()
        raw.query("SELECT 5")
        raw.query("ROLLBACK")
    found = [line for line in told(books) if line[0] != sql]
    assert found == [
        ("BEGIN", 0, 0, 0),
        ("INSERT INTO n SELECT 11, 11 RETURNING a", 1, 1, 0),
        ("DELETE FROM n WHERE a = 11", 0, 1, 0),
        ("SELECT 5", 1, 0, 0),
        ("ROLLBACK", 0, 0, 0),
    ]


def test_finished_portal_again(raw: Speaker, observer: Any) -> None:
    """Execute of a portal that is at its end answers for a statement that has ended."""
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        raw.parse("SELECT a AS first FROM n").bind(portal="p").execute("p")
        raw.parse("SELECT a AS second FROM n").bind(portal="q").execute("q", 4)
        raw.sync()
        assert raw.close_object("P", "none").execute("p").sync()[1] == ("C", b"SELECT 0\0")
        raw.close_object("P", "none").execute("q").execute("q").execute("p").sync()
        raw.query("COMMIT")
    assert [(e.sql_text, e.rows_sent) for e in books.top[1:-1]] == [
        ("SELECT a AS first FROM n", 10), ("SELECT a AS second FROM n", 10),
    ]  # fmt: skip


def test_cursor_whose_query_has_no_record(raw: Speaker, observer: Any) -> None:
    """FETCHes have their own rows."""
    with Books(observer, raw, overlapping=True) as books, no_selects(observer):
        raw.query("BEGIN")
        raw.query("DECLARE c CURSOR FOR SELECT a FROM n")
        raw.query("FETCH 3 FROM c")
        raw.query(f"FETCH 4 FROM c; {ROWS}; {UPDATE}")
        raw.extended("FETCH ALL FROM c")
        raw.query("CLOSE c; COMMIT")
    shown = [(e.sql_text.split(" FROM")[0], e.rows_sent, e.rows_affected) for e in books.top[:-1]]
    assert shown == [
        ("BEGIN", 0, 0), ("DECLARE c CURSOR FOR SELECT a", 0, 0), ("FETCH 3", 3, 0),
        ("FETCH 4", 4, 0), (UPDATE, 0, 10), ("FETCH ALL", 3, 0), ("CLOSE c", 0, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("way", ("simple", "one message", "pipeline"))
def test_failure_without_a_record(raw: Speaker, observer: Any, way: str) -> None:
    """The error of a statement without a record is not its neighbour's; as an error it counts."""
    fails = "SELECT 1 / (i - 3) FROM generate_series(1, 5) i"
    before = errors_of(observer, raw.thread_id).get("22012", (0, 0))
    with Books(observer, raw) as books, no_selects(observer):
        raw.query("BEGIN")
        if way == "simple":
            raw.query(UPDATE)
            raw.query(fails)
        elif way == "one message":
            raw.query(f"{UPDATE}; {fails}; {ROWS}")
        else:
            raw.prepare(UPDATE).prepare(fails).prepare(ROWS).sync()
        raw.query("ROLLBACK")
    update = books.only(UPDATE)
    assert (update.rows_affected, update.errors, update.returned_sqlstate) == (10, 0, None)
    assert books.top[-1].errors == 0
    assert errors_of(observer, raw.thread_id)["22012"] == (before[0] + 1, 0)


@pytest.mark.parametrize("way", ["one message", "pipeline"])
def test_switched_by_a_statement(raw: Speaker, observer: Any, way: str) -> None:
    """The statement that switches its own class off, and what comes after it."""
    off = "SELECT performance_schema.set_instruments('statement/sql/select', false)"
    script = [UPDATE, off, ROWS, f"{UPDATE} WHERE a <= 3", ROWS]
    with Books(observer, raw) as books, instruments(observer, "statement/sql/select", "YES"):
        if way == "one message":
            raw.query("; ".join(script))
        else:
            for sql in script:
                raw.prepare(sql)
            raw.sync()
    found = [line for line in told(books) if line[0] != off]
    assert found == [(UPDATE, 0, 10, 0), (script[3], 0, 3, 0)]


@pytest.mark.parametrize("what", ["class", "thread", "consumer"])
@pytest.mark.parametrize("way", ["one message", "pipeline"])
def test_switched_while_it_runs(
    server: Any, raw: Speaker, observer: Any, way: str, what: str
) -> None:
    """Off while a statement waits, on when a later one does: each has all of its own or nothing."""
    switches = {
        "class": "set_instruments('statement/sql/select', {})",
        "thread": f"set_thread({raw.thread_id}, {{}}, true)",
        "consumer": "set_consumers('global\\_instrumentation', {})",
    }
    script = [
        UPDATE, "SELECT pg_advisory_lock(1)", f"{UPDATE} WHERE a <= 3", ROWS,
        "SELECT pg_advisory_lock(2)", f"{UPDATE} WHERE a <= 4", ROWS,
    ]  # fmt: skip

    def switch(on: bool) -> None:
        observer.execute(f"SELECT performance_schema.{switches[what].format(str(on).lower())}")

    with server.connect() as locker, Books(observer, raw, switched=True) as books:
        locker.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(2)")
        if way == "one message":
            raw.add("Q", "; ".join(script).encode() + b"\0").send()
        else:
            for sql in script:
                raw.prepare(sql)
            raw.add("S").send()
        for number, state in ((1, False), (2, True)):
            wait_until(
                lambda number=number: one(
                    locker,
                    f"SELECT count(*) FROM pg_locks WHERE NOT granted AND objid = {number}",
                ),
                "the lock is wanted",
            )
            switch(state)
            locker.execute(f"SELECT pg_advisory_unlock({number})")
        raw.read_until("Z")
        raw.query("SELECT pg_advisory_unlock_all()")
    recorded = {sql: (sent, affected) for sql, sent, affected, _ in told(books)}
    expected = {
        script[0]: (0, 10), script[1]: (1, 0), script[2]: (0, 3), script[3]: (7, 0),
        script[4]: (1, 0), script[5]: (0, 4), "SELECT pg_advisory_unlock_all()": (1, 0),
    }  # fmt: skip
    if what != "class":
        assert script[2] not in recorded
    assert {script[0], script[5]} <= recorded.keys() <= expected.keys()
    for sql, found in recorded.items():
        assert found == expected[sql], sql


@pytest.mark.parametrize("guest", ["nobody", "came before", "came meanwhile"])
@pytest.mark.parametrize("way", ["observer", "one message", "pipeline"])
def test_switched_on_again(raw: Speaker, observer: Any, way: str, guest: str) -> None:
    """While nothing is wanted the executor's hooks are out; they come back, above whoever came."""
    switch = "SELECT performance_schema.set_consumers('global\\_instrumentation', {})"
    on, load = switch.format("true"), "LOAD 'auto_explain'"
    explains = "SET client_min_messages = log; SET auto_explain.log_min_duration = 0"
    found = "SELECT count(*) FROM performance_schema.events_statements_history" \
        " WHERE thread_id = %s AND sql_text = %s"  # fmt: skip
    if guest == "came before":
        raw.query(load)
    try:
        for turn in range(2):
            late = f"SELECT count(*) + {turn} FROM n"
            observer.execute(switch.format("false"))
            raw.query(ROWS)
            raw.query(ROWS)
            if guest == "came meanwhile" and turn == 0:
                raw.query(load)
            if way == "observer":
                observer.execute(on)
                raw.query(late)
            elif way == "one message":
                raw.query(f"{on}; {late}")
            else:
                raw.prepare(on).prepare(late).sync()
            assert one(observer, found, raw.thread_id, late) == 1
            assert one(observer, found, raw.thread_id, ROWS) == 0
            if guest != "nobody":
                raw.query(explains)
                notices = [body for kind, body in raw.query("SELECT 1") if kind == "N"]
                assert any(b"Query Text: SELECT 1" in notice for notice in notices)
                raw.query("RESET ALL")
    finally:
        observer.execute(on)


# --- below a statement without a record -----------------------------------------------------------

BELOW = """
CREATE FUNCTION below_f() RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
    PERFORM pg_sleep(0.05);
    x := (SELECT count(*) AS expression FROM n);
    UPDATE n SET b = b + 0 WHERE a <= x - 7;
    RETURN x;
END $$;
CREATE PROCEDURE below_p() LANGUAGE plpgsql AS $$ BEGIN PERFORM below_f(); END $$;
CREATE FUNCTION below_t() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM below_f(); RETURN new; END $$;
CREATE TABLE below (a int);
CREATE TRIGGER below BEFORE INSERT ON below FOR EACH ROW EXECUTE FUNCTION below_t();
"""
CALLERS = {
    "select": "SELECT below_f()",
    "do": "DO $$ BEGIN PERFORM below_f(); END $$",
    "call": "CALL below_p()",
    "insert": "INSERT INTO below VALUES (1)",
    "explain": "EXPLAIN ANALYZE SELECT below_f()",
    "create_table_as": "CREATE TABLE made AS SELECT below_f()",
    "copy": "COPY (SELECT below_f()) TO '/dev/null'",
    "execute": "EXECUTE prepared",
}
@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
@pytest.mark.parametrize("name", CALLERS)
def test_below_the_unrecorded(
    raw: Speaker, observer: Any, server: Any, name: str, extended: bool
) -> None:
    """What a command without a record runs is nested all the same, and takes only its own time."""
    if one(observer, "SELECT count(*) FROM pg_proc WHERE proname = 'below_f'") == 0:
        server.psql(BELOW)
    raw.query("PREPARE prepared AS SELECT below_f()")
    send = raw.extended if extended else raw.query
    with Books(observer, raw) as books:
        raw.query("BEGIN")
        with instruments(observer, f"statement/sql/{name}", "NO"):
            begun = time.perf_counter()
            send(CALLERS[name])
            wall_s = time.perf_counter() - begun
        raw.query(f"{UPDATE} WHERE a <= 4")
        raw.query("ROLLBACK")
    assert [(e.sql_text, e.rows_affected) for e in books.top] == [
        ("BEGIN", 0), (f"{UPDATE} WHERE a <= 4", 4), ("ROLLBACK", 0),
    ]  # fmt: skip
    expression = [e for e in books.events if "AS expression" in e.sql_text]
    assert len(expression) == int(name != "select")
    update = [e for e in books.events if e.sql_text.endswith("WHERE a <= x - 7")]
    assert [(e.rows_affected, e.object_name) for e in update] == [(3, "below_f")]
    assert sum(seconds(e) for e in expression + update) <= (wall_s - 0.05) * CLOCKS


# --- the price of a caught error ------------------------------------------------------------------

PARTITIONS = 2000
BLOCKS, BLOCK = 40, 500
LIMIT_US = 2.0
CAUGHT = f"""
CREATE TABLE parted (a int);
DO $$ BEGIN FOR i IN 1 .. {PARTITIONS} LOOP
    EXECUTE format('CREATE TABLE part_%s () INHERITS (parted)', i);
END LOOP; END $$;
CREATE FUNCTION caught(times int, zero int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    x int;
BEGIN
    FOR i IN 1 .. times LOOP
        BEGIN x := i / zero; EXCEPTION WHEN division_by_zero THEN x := 0; END;
    END LOOP;
    RETURN extract(epoch FROM clock_timestamp() - begun) * 1e6 / times;
END $$;
"""


def price_of_caught_errors(
    new_cluster: Callable[..., Any], connect: Callable[..., Any]
) -> tuple[float, float, float]:
    """Microseconds an error with the library, without, and the median difference.

    Both servers in turns, in blocks that are shorter than what disturbs them; medians decide.
    """
    sessions = []
    for enabled in (True, False):
        server = new_cluster(
            extension=enabled, performance_schema__enabled=enabled, fsync=False, autovacuum=False,
            max_locks_per_transaction=256,
        )  # fmt: skip
        server.psql(CAUGHT)
        session = connect(server)
        session.execute("SET jit = off")
        session.execute("BEGIN")
        assert one(session, "SELECT count(*) FROM parted") == 0
        sessions.append(session)
    times: list[list[float]] = [[], []]
    for _ in range(BLOCKS):
        for session, found in zip(sessions, times):
            found.append(one(session, f"SELECT caught({BLOCK}, 0)"))
    on, off = (statistics.median(found) for found in times)
    return on, off, statistics.median(a - b for a, b in zip(*times))


@pytest.mark.timeout(240)
def test_price_of_caught_errors(
    new_cluster: Callable[..., Any], connect: Callable[..., Any]
) -> None:
    """20,000 caught errors after 2,000 partitions were touched: within 2 us each of `off`.

    A process may happen to be slow as long as it lives (where its memory and its processor are): a price
    that is due to us is there with another pair of servers, too.
    """
    prices = []
    for _ in range(3):
        on, off, each = price_of_caught_errors(new_cluster, connect)
        prices.append((on, off, each))
        if min(on - off, each) < LIMIT_US:
            return
    raise AssertionError(prices)
