"""Who supplies start and end of a statement, in every way a client can run one.

Each case runs inside of `Books` (statement_helpers.py), which checks what holds for all of them:
times within the client's own, no overlap, sums, messages counted once. The case itself says which
statement the time belongs to.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import PS_PER_S, one, rows, wait_for_state, wait_gone
from statement_helpers import (
    PAUSE_S,
    ROUNDING_PS,
    Books,
    Speaker,
    history,
    seconds,
    server_now,
)

SLEEP_S = 0.05
SLEEP = f"SELECT pg_sleep({SLEEP_S})"
OTHER = "UPDATE n SET b = b"
LATE_S = 0.2
"""How long a commit takes that has an INSERT INTO late in it."""
HISTORY = 200
SETUP = f"""
CREATE TABLE n (a int, b int);
INSERT INTO n SELECT i, i FROM generate_series(1, 10) i;
CREATE TABLE late (a int);
CREATE FUNCTION late_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep({LATE_S}); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER late_trigger AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION late_check();
CREATE TABLE once (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
INSERT INTO once VALUES (1);
CREATE FUNCTION two_cursors() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT i, pg_sleep(0.005) FROM generate_series(1, 5) i;
    d CURSOR FOR SELECT i, pg_sleep(0.005) FROM generate_series(1, 5) i;
    r record;
BEGIN
    OPEN c;
    OPEN d;
    FOR i IN 1 .. 5 LOOP FETCH c INTO r; PERFORM pg_sleep(0.005); FETCH d INTO r; END LOOP;
    CLOSE d;
    CLOSE c;
    RETURN 1;
END $$;
CREATE FUNCTION naps(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. n LOOP PERFORM pg_sleep(0.005); END LOOP;
    IF n > 0 THEN RETURN (SELECT naps(n - 1)); END IF;
    RETURN n;
END $$;
CREATE FUNCTION nap_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(0.005), naps(1); RETURN new; END $$;
CREATE TABLE napping (a int);
CREATE TRIGGER nap BEFORE INSERT ON napping FOR EACH ROW EXECUTE FUNCTION nap_trigger();
CREATE FUNCTION slow_constant() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN PERFORM pg_sleep({SLEEP_S}); RETURN 1; END $$;
"""


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """A server that keeps 200 statements per thread."""
    with with_library(
        pg_config, SETUP, performance_schema__events_statements_history_size=HISTORY
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as connection:
        yield connection


@pytest.fixture
def raw(server: Any, observer: Any) -> Iterator[Speaker]:
    with Speaker(server, observer) as client:
        yield client


def shown(books: Books) -> list[tuple[str, int, int, int]]:
    """What is told of each top-level statement: text, rows sent and affected, errors."""
    return [(e.sql_text, e.rows_sent, e.rows_affected, e.errors) for e in books.top]


# --- one message ----------------------------------------------------------------------------------


def test_simple(raw: Speaker, observer: Any) -> None:
    """Pauses between messages are nobody's."""
    with Books(observer, raw) as books:
        for sql in ("SELECT 1", SLEEP, "UPDATE n SET b = b", "SHOW work_mem"):
            raw.query(sql)
            books.pause()
    assert [e.event_name.removeprefix("statement/sql/") for e in books.top] == [
        "select", "select", "update", "show",
    ]  # fmt: skip
    assert seconds(books.only(SLEEP)) >= SLEEP_S


def test_several_in_one_message(raw: Speaker, observer: Any) -> None:
    """The first has the arrival; each starts where the one before has ended."""
    with Books(observer, raw) as books:
        raw.query(f"{SLEEP}; SELECT 1; UPDATE n SET b = b; SET work_mem = '4MB'; {SLEEP}, 2")
    assert [e.rows_affected for e in books.top] == [0, 0, 10, 0, 0]
    assert min(seconds(books.top[0]), seconds(books.top[4])) >= SLEEP_S
    for one_, next_ in zip(books.top, books.top[1:]):
        assert abs(next_.timer_start - one_.timer_end) <= ROUNDING_PS
        assert abs(one_.timer_end - one_.timer_start - one_.timer_wait) <= ROUNDING_PS


def test_several_with_block_inside(raw: Speaker, observer: Any) -> None:
    """A message may open and close blocks; each part is a statement of its own."""
    with Books(observer, raw) as books:
        raw.query(f"BEGIN; {SLEEP}; COMMIT; SELECT 1; BEGIN; SELECT 2")
        books.pause()
        raw.query("SELECT 3; COMMIT")
    assert [e.sql_text for e in books.top] == [
        "BEGIN", SLEEP, "COMMIT", "SELECT 1", "BEGIN", "SELECT 2", "SELECT 3", "COMMIT",
    ]  # fmt: skip


# --- the extended protocol ------------------------------------------------------------------------

KINDS = {
    "select": (SLEEP, 1, 0),
    "rows": ("SELECT a, pg_sleep(0.005) FROM n", 10, 0),
    "update": ("UPDATE n SET b = b WHERE pg_sleep(0.005) IS NOT NULL", 0, 10),
    "returning": ("UPDATE n SET b = b WHERE pg_sleep(0.005) IS NOT NULL RETURNING a", 10, 10),
    "utility": (f"DO $$ BEGIN PERFORM pg_sleep({SLEEP_S}); END $$", 0, 0),
    "create": ("CREATE TEMP TABLE made AS SELECT FROM n WHERE pg_sleep(0.005) IS NOT NULL", 0, 10),
    "explain": (f"EXPLAIN ANALYZE {SLEEP}", 0, 0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_extended(raw: Speaker, observer: Any, kind: str) -> None:
    """One execution with all its messages at once, a pause before the next."""
    sql, sent, affected = KINDS[kind]
    with Books(observer, raw) as books:
        raw.extended(sql)
        books.pause()
        raw.extended("SELECT 2")
    assert len(books.top) == 2
    event = books.top[0]
    assert seconds(event) >= SLEEP_S
    if kind != "explain":
        assert (event.rows_sent, event.rows_affected) == (sent, affected)


SENT_IN_PARTS = ("P BE", "Pd BE", "PB E", "PBD E", "PBE ", "P B D E ", "P| BE", "P|B E")


def send_part(raw: Speaker, message: str, sql: str) -> str:
    """Queues one message; the types its answer may have."""
    if message == "P":
        raw.parse(sql)
    elif message == "B":
        raw.bind()
    elif message == "E":
        raw.execute()
    else:
        raw.describe("S" if message == "d" else "P")
    return {"P": "1", "B": "2", "E": "C"}.get(message, "Tn")


@pytest.mark.parametrize("messages", SENT_IN_PARTS)
@pytest.mark.parametrize("kind", ("select", "rows", "update", "returning", "utility", "create"))
def test_pause_between_messages(raw: Speaker, observer: Any, messages: str, kind: str) -> None:
    """At each blank the client has read all answers and waits; at a bar it has sent Sync.

    d describes the prepared statement, D the portal. The statement's time is that of its messages.
    """
    sql, sent, affected = KINDS[kind]
    with Books(observer, raw) as books:
        until = ""
        for message in messages:
            if message == " " and until:
                raw.flush(until)
            elif message == "|":
                raw.sync()
            if message == " ":
                books.pause()
            until = "" if message in " |" else send_part(raw, message, sql)
        raw.sync()
    assert [(e.rows_sent, e.rows_affected) for e in books.top] == [(sent, affected)]
    assert seconds(books.top[0]) >= SLEEP_S


def test_prepared_once(raw: Speaker, observer: Any) -> None:
    """A named statement, bound again and again: each execution is a statement of its own."""
    with Books(observer, raw) as books:
        raw.parse(SLEEP, "named").sync()
        for _ in range(3):
            books.pause()
            raw.bind(name="named").execute().sync()
        raw.close_object("S", "named").sync()
    assert [e.sql_text for e in books.top] == [SLEEP] * 3
    assert all(seconds(e) >= SLEEP_S for e in books.top)


def test_pipeline(raw: Speaker, observer: Any) -> None:
    """All is sent before anything is read: each statement has its own time only."""
    with Books(observer, raw) as books:
        for i in range(20):
            raw.prepare(SLEEP if i == 7 else f"SELECT {i} FROM n" if i % 2 else OTHER)
        raw.sync()
    assert len(books.top) == 20
    assert seconds(books.top[7]) >= SLEEP_S
    others = books.top[:7] + books.top[8:]
    assert all(e.timer_end <= books.top[7].timer_start + ROUNDING_PS for e in books.top[:7])
    assert all(e.timer_start >= books.top[7].timer_end - ROUNDING_PS for e in books.top[8:])
    assert [(e.rows_sent, e.rows_affected) for e in others[:7]] == [
        (0, 10) if i % 2 == 0 else (10, 0) for i in range(7)
    ]


def test_pipelines_one_after_the_other(raw: Speaker, observer: Any) -> None:
    """Several Syncs sent at once: each is a transaction of its own."""
    with Books(observer, raw) as books:
        for i in range(6):
            raw.prepare(f"SELECT {i}").prepare("UPDATE n SET b = b").add("S")
        raw.prepare("SELECT 6")
        raw.sync()
        for _ in range(6):
            raw.read_until("Z")
    assert [e.sql_text for e in books.top] == [
        text for i in range(6) for text in (f"SELECT {i}", "UPDATE n SET b = b")
    ] + ["SELECT 6"]


def test_pipeline_of_a_driver(server: Any, observer: Any) -> None:
    """psycopg's pipeline mode, with a failure and with what the server skips after it."""
    with server.connect(prepare_threshold=None) as conn:
        with Books(observer, conn) as books:
            with conn.pipeline(), conn.cursor() as cursor:
                for i in range(10):
                    cursor.execute("SELECT a FROM n WHERE a <= %s", (i,))
                    cursor.execute("UPDATE n SET b = b WHERE a <= %s", (i,))
            with contextlib.suppress(psycopg.errors.DivisionByZero), conn.pipeline():
                conn.execute("SELECT 1 + %s::int", (0,))
                conn.execute("SELECT 1 / (i - %s) FROM generate_series(1, 9) i", (4,))
                conn.execute("SELECT 2 + %s::int", (0,))
        assert [(e.rows_sent, e.rows_affected, e.errors) for e in books.top[:20]] == [
            pair for i in range(10) for pair in ((i, 0, 0), (0, i, 0))
        ]
        assert [e.errors for e in books.top[20:]] == [0, 1]
        assert books.top[-1].rows_sent == 3


def test_function_call(raw: Speaker, observer: Any, server: Any) -> None:
    """The fast path: what the function runs counts once, within its message."""
    oid = int(server.psql("SELECT 'naps'::regproc::oid::int8"))
    with Books(observer, raw) as books:
        raw.call_function(oid, "3")
        books.pause()
        raw.query("SELECT 1")
    assert books.com == {"Function call": 1, "Query": 1}
    assert books.only("SELECT 1").nesting_event_level == 0


@pytest.mark.parametrize("block", [False, True])
def test_statements_of_a_called_function(
    raw: Speaker, observer: Any, server: Any, block: bool
) -> None:
    """They stand side by side: the next one is not nested in the first, whose time ends with it."""
    server.psql(
        "CREATE OR REPLACE FUNCTION steps(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM 1; SET LOCAL work_mem = '1MB'; PERFORM pg_sleep(0.05); RETURN n; END $$"
    )
    oid = int(server.psql("SELECT 'steps'::regproc::oid::int8"))
    if block:
        raw.query("BEGIN")
    with Books(observer, raw) as books:
        for _ in range(3):  # the last ones of cached plans
            raw.call_function(oid, "3")
    if block:
        raw.query("COMMIT")
    steps = ["SELECT 1", "SET LOCAL work_mem = '1MB'", "SELECT pg_sleep(0.05)"]
    assert [event.sql_text for event in books.top] == 3 * steps
    for first, setting, sleep in zip(books.top[::3], books.top[1::3], books.top[2::3], strict=True):
        assert first.timer_wait + setting.timer_wait < sleep.timer_wait
        assert first.timer_end <= setting.timer_start
        assert setting.timer_end <= sleep.timer_start


def test_an_expression_of_a_called_function(raw: Speaker, observer: Any, server: Any) -> None:
    """It is planned and never executed: the next statement has a text of its own."""
    server.psql(
        "CREATE OR REPLACE FUNCTION reckons(n int) RETURNS int LANGUAGE plpgsql AS $$ "
        "DECLARE x int; BEGIN x := n * 2; PERFORM count(*) FROM n; RETURN x + 1; END $$"
    )
    with Books(observer, raw) as books:
        raw.call_function(int(server.psql("SELECT 'reckons'::regproc::oid::int8")), "3")
    [event] = books.top
    assert event.sql_text == "SELECT count(*) FROM n"
    assert event.digest_text == "SELECT `count` ( * ) FROM `n`"


def test_a_cursor_of_a_called_function_rests(raw: Speaker, observer: Any, server: Any) -> None:
    """What happens between its fetches is not its time."""
    server.psql(
        "CREATE OR REPLACE FUNCTION fetches() RETURNS int LANGUAGE plpgsql AS $$ "
        "DECLARE c CURSOR FOR SELECT a FROM n; r int; BEGIN OPEN c; FOR i IN 1 .. 4 LOOP "
        "FETCH c INTO r; PERFORM pg_sleep(0.02); END LOOP; CLOSE c; RETURN r; END $$"
    )
    with Books(observer, raw, overlapping=True) as books:
        raw.call_function(int(server.psql("SELECT 'fetches'::regproc::oid::int8")))
    [cursor] = [event for event in books.top if event.sql_text == "SELECT a FROM n"]
    sleeps = [event for event in books.top if event.sql_text == "SELECT pg_sleep(0.02)"]
    assert (cursor.rows_sent, len(sleeps)) == (4, 4)
    assert cursor.timer_wait < min(event.timer_wait for event in sleeps)


def test_statements_at_login(new_cluster: Callable[..., Any], connect: Any) -> None:
    """Those of a login trigger, likewise."""
    server = new_cluster()
    if server.version() < 17:
        pytest.skip("login triggers came with 17")
    server.psql(
        "CREATE FUNCTION greets() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM 1; PERFORM 2; END $$;"
        "CREATE EVENT TRIGGER greets ON login EXECUTE FUNCTION greets()"
    )
    conn = connect(server)
    found = rows(
        conn,
        "SELECT sql_text, nesting_event_level FROM performance_schema.events_statements_history "
        "WHERE thread_id = performance_schema.ps_current_thread_id() ORDER BY event_id",
    )
    assert [tuple(row) for row in found] == [("SELECT 1", 0), ("SELECT 2", 0)]


def test_empty_query(raw: Speaker, observer: Any) -> None:
    """Nothing to execute: messages count, there is no statement."""
    with Books(observer, raw) as books:
        raw.query("")
        assert raw.extended("") == "12nIZ"
    assert books.top == []


# --- the commit -----------------------------------------------------------------------------------

INSERT = "INSERT INTO late VALUES (1)"


def test_implicit_commit(raw: Speaker, observer: Any) -> None:
    """It is inside the statement, and so is what a deferred trigger runs there."""
    with Books(observer, raw) as books:
        raw.query(INSERT)
        books.pause()
        raw.extended(INSERT)
    assert [seconds(e) >= LATE_S for e in books.top] == [True, True]
    for event in books.top:
        [nested] = books.children(event)
        assert "pg_sleep" in nested.sql_text and nested.object_name == "late_trigger"


@pytest.mark.parametrize("both", [(OTHER, INSERT), (INSERT, OTHER)])
def test_commit_of_several(raw: Speaker, observer: Any, both: tuple[str, str]) -> None:
    """One message, one transaction: its commit belongs to the last statement."""
    with Books(observer, raw) as books:
        raw.query("; ".join(both))
    assert tuple(e.sql_text for e in books.top) == both
    assert seconds(books.top[1]) >= LATE_S


@pytest.mark.parametrize("both", [(OTHER, INSERT), (INSERT, OTHER)])
def test_commit_of_a_pipeline(raw: Speaker, observer: Any, both: tuple[str, str]) -> None:
    """The same of a pipeline."""
    with Books(observer, raw) as books:
        raw.prepare(both[0]).prepare(both[1]).sync()
    assert tuple(e.sql_text for e in books.top) == both
    assert seconds(books.top[1]) >= LATE_S


def test_commit_at_a_late_sync(raw: Speaker, observer: Any) -> None:
    """A pause between Execute and Sync: the commit is the statement's, the pause is not."""
    with Books(observer, raw) as books:
        raw.prepare(INSERT).flush("C")
        books.pause()
        raw.sync()
    assert len(books.top) == 1
    assert seconds(books.top[0]) >= LATE_S


@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
def test_explicit_commit(raw: Speaker, observer: Any, extended: bool) -> None:
    """In a block the commit is a statement, which has the time; between statements is nobody's."""
    send = raw.extended if extended else raw.query
    with Books(observer, raw) as books:
        for sql in ("BEGIN", INSERT, SLEEP, "COMMIT"):
            send(sql)
            books.pause()
    begin, insert, sleep, commit = books.top
    assert seconds(commit) >= LATE_S
    assert seconds(sleep) >= SLEEP_S
    assert [e.object_name for e in books.children(commit)] == ["late_trigger"]
    [transaction] = rows(
        observer,
        "SELECT * FROM performance_schema.events_transactions_history "
        "WHERE thread_id = %s ORDER BY event_id DESC LIMIT 1",
        raw.thread_id,
    )
    assert transaction.timer_wait >= (3 * PAUSE_S + SLEEP_S + LATE_S) * PS_PER_S
    assert books.opened <= transaction.timer_start <= begin.timer_end
    assert insert.timer_end <= transaction.timer_end <= commit.timer_end


@pytest.mark.parametrize("end", ["COMMIT AND CHAIN", "ROLLBACK AND CHAIN"])
def test_chained_block(raw: Speaker, observer: Any, end: str) -> None:
    """In a block a statement has ended when the client is told so; else it waits for its commit."""

    def ended() -> int:
        return one(
            observer,
            "SELECT count(*) FROM performance_schema.events_statements_history "
            "WHERE thread_id = %s AND sql_text = 'SELECT 1 AS told'",
            raw.thread_id,
        )  # fmt: skip

    told = []
    for sql in ("BEGIN", end, end, "COMMIT"):
        raw.extended(sql)
        before = ended()
        raw.prepare("SELECT 1 AS told").flush("C")
        told.append(ended() - before)
        raw.sync()
        assert ended() - before == 1
    assert told == [1, 1, 1, 0]


@pytest.mark.parametrize("block", [False, True], ids=["alone", "in a block"])
def test_commit_runs_a_cursor(raw: Speaker, observer: Any, block: bool) -> None:
    """A cursor WITH HOLD is run by the commit: DECLARE's time where that commits, else COMMIT's."""
    declare = "DECLARE held CURSOR WITH HOLD FOR SELECT a, pg_sleep(0.005) FROM n"
    with Books(observer, raw, overlapping=True) as books:
        for sql in ("BEGIN", declare, "COMMIT") if block else (declare,):
            raw.query(sql)
            books.pause()
        raw.query("FETCH ALL FROM held")
        raw.query("CLOSE held")
    [run] = [e for e in books.top if e.sql_text == ("COMMIT" if block else declare)]
    assert seconds(run) >= SLEEP_S
    assert [e.rows_sent for e in books.top if "FETCH" in e.sql_text] == [10]


def test_commit_waits_for_a_standby(new_cluster: Callable[..., Any], connect: Any) -> None:
    """A synchronous standby that never answers: the wait belongs to the statement."""
    server = new_cluster(synchronous_standby_names="nobody", synchronous_commit="local")
    observer = connect(server)
    with Speaker(server, observer) as raw:
        raw.query("CREATE TABLE t (a int)")
        raw.query("SET synchronous_commit = on")
        with Books(observer, raw) as books:
            for extended in (False, True):
                sql = f"INSERT INTO t VALUES ({int(extended)})"
                sender = threading.Thread(
                    target=raw.extended if extended else raw.query, args=(sql,)
                )
                sender.start()
                wait_for_state(observer, raw.pid, "wait_event = 'SyncRep'")
                waiting = server_now(observer)
                observer.execute(f"SELECT pg_sleep({PAUSE_S})")
                released = server_now(observer)
                observer.execute(f"SELECT pg_cancel_backend({raw.pid})")
                sender.join()
                event = rows(
                    observer,
                    "SELECT * FROM performance_schema.events_statements_history "
                    f"WHERE thread_id = {raw.thread_id} ORDER BY event_id DESC LIMIT 1",
                )[0]
                assert event.sql_text == sql
                assert event.timer_start <= waiting and released <= event.timer_end
                assert event.timer_wait >= released - waiting
    assert [(e.rows_affected, e.errors) for e in books.top] == [(1, 0)] * 2


# --- portals --------------------------------------------------------------------------------------

PARTS = "SELECT a AS part FROM n ORDER BY a"


def finish(raw: Speaker, *portals: str) -> list[tuple[str, bytes]]:
    """Runs portals to their end, in a message cycle that is known to be no simple query."""
    raw.close_object("P", "no portal")
    for portal in portals:
        raw.execute(portal)
    return raw.sync()


@pytest.mark.parametrize("end", ["complete", "close", "commit", "rollback"])
def test_suspended_portal(raw: Speaker, observer: Any, end: str) -> None:
    """Fetched in parts, others in between: one statement, its rows all, its pauses not."""
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        raw.parse(PARTS).bind(portal="p").execute("p", 3).sync()
        books.pause()
        raw.query("SELECT 1 FROM n")
        raw.execute("p", 3).sync()
        raw.extended("UPDATE n SET b = b")
        books.pause()
        if end == "complete":
            assert finish(raw, "p")[-2][0] == "C"
        elif end == "close":
            raw.close_object("P", "p").sync()
        raw.query("ROLLBACK" if end == "rollback" else "COMMIT")
    assert books.only(PARTS).rows_sent == (10 if end == "complete" else 6)
    assert books.only("SELECT 1").rows_sent == 10
    assert [e.rows_affected for e in books.top if "UPDATE" in e.sql_text] == [10]
    assert len(books.top) == 5


def test_portals_in_turns(raw: Speaker, observer: Any) -> None:
    """Several open at once, run in any order, in one message cycle or in several."""
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        for i in range(4):
            raw.parse(f"SELECT a + {i} AS portal{i} FROM n").bind(portal=f"p{i}")
        raw.sync()
        for order in ((0, 1, 2, 3), (3, 1, 0, 2), (2, 2, 3, 1)):
            for i in order:
                raw.execute(f"p{i}", 2)
            raw.sync()
            books.pause()
        finish(raw, *(f"p{i}" for i in range(4)))
        raw.query("COMMIT")
    portals = [e for e in books.top if "portal" in e.sql_text]
    assert [e.rows_sent for e in portals] == [10] * 4
    assert len(books.top) == 6


def test_portal_that_rested_is_closed(raw: Speaker, observer: Any) -> None:
    """What comes next in the same batch starts with it, not where the portal began to rest."""
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        raw.parse(PARTS).bind(portal="p").execute("p", 3).sync()
        books.pause()
        raw.close_object("P", "p").prepare("SELECT 1 FROM n").sync()
        raw.query("COMMIT")
    rested = float(books.only("SELECT 1").timer_start - books.only(PARTS).timer_end)
    assert rested >= PAUSE_S * PS_PER_S
    assert len(books.top) == 4


def test_suspended_without_a_block(raw: Speaker, observer: Any) -> None:
    """The Sync ends the portal with its transaction."""
    with Books(observer, raw) as books:
        raw.parse(PARTS).bind().execute(max_rows=4).flush("s")
        books.pause()
        raw.execute(max_rows=4).flush("s")
        books.pause()
        raw.sync()
        raw.query("SELECT 1")
    assert shown(books) == [(PARTS, 8, 0, 0), ("SELECT 1", 1, 0, 0)]


def test_suspended_portal_of_a_change(raw: Speaker, observer: Any) -> None:
    """UPDATE ... RETURNING has run to its end when its first rows are sent."""
    sql = "UPDATE n SET b = b RETURNING a"
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        raw.parse(sql).bind(portal="p").execute("p", 4).sync()
        raw.query("SELECT 1")
        books.pause()
        raw.execute("p", 4).sync()
        finish(raw, "p")
        raw.query("COMMIT")
    assert shown(books)[1] == (sql, 10, 10, 0)
    assert len(books.top) == 4


def test_cycle_of_execute_alone(raw: Speaker, observer: Any) -> None:
    """Nothing but CommandComplete answers: an Execute, no Query."""
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        raw.parse(PARTS).bind(portal="p").sync()
        raw.execute("p").sync()
        raw.query("COMMIT")
    assert books.com == {"Query": 2, "Parse": 1, "Bind": 1, "Execute": 1}


def test_failure_in_a_resumed_portal(raw: Speaker, observer: Any) -> None:
    """Rows of the first part, the error of the second."""
    sql = "SELECT 10 / (i - 5) FROM generate_series(1, 9) i"
    with Books(observer, raw, overlapping=True) as books:
        raw.query("BEGIN")
        raw.parse(sql).bind(portal="p").execute("p", 2).sync()
        books.pause()
        raw.query("SELECT 1")
        finish(raw, "p")
        raw.query("ROLLBACK")
    assert shown(books) == [
        ("BEGIN", 0, 0, 0), (sql, 4, 0, 1), ("SELECT 1", 1, 0, 0), ("ROLLBACK", 0, 0, 0),
    ]  # fmt: skip


def test_client_that_leaves_a_portal(server: Any, observer: Any) -> None:
    """What was open when the client went counts for its account."""
    server.psql("CREATE ROLE leaver LOGIN; GRANT ALL ON n TO leaver")
    sums = (
        "SELECT count_star, sum_rows_sent "
        "FROM performance_schema.events_statements_summary_by_account_by_event_name "
        "WHERE user_name = 'leaver' AND event_name = 'statement/sql/select'"
    )
    with Speaker(server, observer, user="leaver") as raw:
        [before] = rows(observer, sums)
        raw.parse(PARTS).bind().execute(max_rows=3).flush("s")
        raw.sock.close()
    wait_gone(observer, raw.pid)
    [after] = rows(observer, sums)
    assert after.count_star == before.count_star + 1
    assert after.sum_rows_sent == before.sum_rows_sent + 3


# --- failures under the extended protocol ---------------------------------------------------------

FAILURES = {
    "parse": ("SELEC 1", "42601", None),
    "analysis": ("SELECT nosuch FROM n", "42703", None),
    "binding": ("SELECT $1::int", "22P02", "seven"),
    "planning": ("SELECT 1 / 0", "22012", None),
    "execution": ("SELECT 1 / (a - 3) FROM n", "22012", None),
    "utility": ("DROP TABLE nosuch", "42P01", None),
    "commit": ("INSERT INTO once VALUES (1)", "23505", None),
}


@pytest.mark.parametrize("stage", FAILURES)
def test_failure(raw: Speaker, observer: Any, stage: str) -> None:
    """One statement has failed, those before and after have not; what was skipped never was."""
    sql, state, value = FAILURES[stage]
    values = () if value is None else (value,)
    with Books(observer, raw) as books:
        raw.prepare("UPDATE n SET b = b").sync()
        raw.parse(sql).bind(*values).execute()
        if stage != "commit":
            raw.prepare("SELECT 'skipped'")
        raw.sync()
        books.pause()
        raw.prepare("SELECT 2").sync()
    assert [e.returned_sqlstate for e in books.top if e.errors] == [state]
    assert [e.sql_text for e in books.top if not e.errors] == [OTHER, "SELECT 2"]


def test_failure_after_a_pause(raw: Speaker, observer: Any) -> None:
    """Parse, Bind, and a pause before the Execute that fails."""
    with Books(observer, raw) as books:
        raw.parse("UPDATE n SET b = 1 / (a - 3)").bind().flush("2")
        books.pause()
        raw.execute().flush("E")
        books.pause()
        raw.sync()
    assert [(e.sql_text, e.errors) for e in books.top] == [("UPDATE n SET b = 1 / (a - 3)", 1)]


@pytest.mark.parametrize(
    "fails, shown_as",
    [
        ("SELECT 1 / (i - 3) FROM generate_series(1, 5) i",) * 2,
        # which of the message's statements was analysed is not known
        ("SELECT nosuch FROM n", f"SELECT pg_sleep(?); SELECT nosuch FROM n; {OTHER}"),
    ],
    ids=["execution", "analysis"],
)
def test_failure_of_one_of_several(
    raw: Speaker, observer: Any, fails: str, shown_as: str
) -> None:
    """The statement that fails starts where the one before it has ended; the rest never was."""
    with Books(observer, raw) as books:
        raw.query(f"{SLEEP}; {fails}; {OTHER}")
    assert [(e.sql_text, e.errors) for e in books.top] == [(SLEEP, 0), (shown_as, 1)]
    assert abs(books.top[1].timer_start - books.top[0].timer_end) <= ROUNDING_PS


# --- nested ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql, nested",
    [
        ("SELECT naps(4)", 14),
        ("SELECT two_cursors()", 7),
        ("INSERT INTO napping SELECT generate_series(1, 3)", 9),
        ("DO $$ BEGIN FOR i IN 1 .. 3 LOOP EXECUTE 'SELECT naps(2)'; END LOOP; END $$", 18),
        ("CREATE TEMP TABLE nested AS SELECT naps(2) AS n", 6),
        ("EXPLAIN ANALYZE SELECT naps(2)", 6),
    ],
)
@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
def test_nested(raw: Speaker, observer: Any, sql: str, nested: int, extended: bool) -> None:
    """Times of those directly below add up to no more than the caller's; each counts once."""
    with Books(observer, raw) as books:
        (raw.extended if extended else raw.query)(sql)
    assert len(books.top) == 1
    assert len(books.events) - 1 == nested, [e.sql_text for e in books.events]


def test_planning(raw: Speaker, observer: Any) -> None:
    """What planning runs is inside the statement."""
    with Books(observer, raw) as books:
        raw.query("SELECT slow_constant()")
    [event] = books.top
    assert seconds(event) >= SLEEP_S
    assert [e.object_name for e in books.children(event)] == ["slow_constant"]


def test_planning_nested(raw: Speaker, observer: Any) -> None:
    """The same of a nested statement."""
    with Books(observer, raw) as books:
        raw.query("DO $$ BEGIN PERFORM slow_constant() FROM n WHERE a = 1; END $$")
    [top] = books.top
    [planned] = [e for e in books.children(top) if "slow_constant() FROM n" in e.sql_text]
    assert seconds(top) >= seconds(planned) >= SLEEP_S


MISSES = {
    "execute": lambda raw: raw.execute("nono"),
    "bind": lambda raw: raw.bind(name="nono"),
    "describe": lambda raw: raw.describe("S", "nono"),
    "message": lambda raw: raw.describe("X", "nono"),
    "function": lambda raw: raw.function_call(1),
}


@pytest.mark.parametrize("what", MISSES)
def test_next_message_fails(raw: Speaker, observer: Any, what: str) -> None:
    """The client was told that its statement is complete: the error of another message is not its own."""
    raw.parse("SELECT 1 AS done").bind().execute()
    MISSES[what](raw).sync()
    done = [e for e in history(observer, raw.thread_id) if e.sql_text == "SELECT 1 AS done"]
    assert [(e.errors, e.returned_sqlstate, e.rows_sent) for e in done] == [(0, None, 1)]


@pytest.mark.parametrize("next_", ["syntax", "values"])
def test_portal_that_never_ran_is_closed(raw: Speaker, observer: Any, next_: str) -> None:
    """What comes next and fails is not it."""
    raw.parse("SELECT 2 AS closed").bind().close_object("P", "")
    (raw.parse("SELEC") if next_ == "syntax" else raw.bind("1", "2")).sync()
    closed = [e for e in history(observer, raw.thread_id) if e.sql_text == "SELECT 2 AS closed"]
    assert [event.errors for event in closed] in ([], [0])
