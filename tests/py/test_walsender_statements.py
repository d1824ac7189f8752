"""SQL on a replication connection: the same rules as for any client."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import name_counts
from statement_helpers import (
    ROUNDING_PS,
    Books,
    around,
    errors_of,
    history,
    long_histories,
    seconds,
)

SLEEP_S = 0.05
SLEEP = f"SELECT pg_sleep({SLEEP_S})"
LATE_S = 0.2
"""How long a commit takes that has an INSERT INTO late in it."""
UPDATE = "UPDATE n SET b = b"
INSERT = "INSERT INTO late VALUES (1)"
SETUP = f"""
CREATE TABLE n (a int, b int);
INSERT INTO n SELECT i, i FROM generate_series(1, 10) i;
CREATE TABLE late (a int);
CREATE FUNCTION late_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep({LATE_S}); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER late_trigger AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION late_check();
CREATE FUNCTION naps(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. n LOOP PERFORM pg_sleep(0.01); END LOOP;
    IF n > 0 THEN RETURN (SELECT naps(n - 1)); END IF;
    RETURN n;
END $$;
CREATE PROCEDURE goes_on(times int, commits bool) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. times LOOP
        UPDATE n SET b = b + 0 WHERE a = i;
        IF commits THEN COMMIT; ELSE ROLLBACK; END IF;
        PERFORM naps(1);
    END LOOP;
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
def walsender(server: Any, observer: Any) -> Iterator[Any]:
    with server.connect(replication="database", prepare_threshold=None) as conn:
        conn.execute("SELECT 1")
        yield conn


def test_statements(walsender: Any, observer: Any) -> None:
    """Their time, nobody's pauses, nested ones."""
    script = ["SELECT 1", SLEEP, UPDATE, "SELECT naps(2)", "SET work_mem = 99"]
    with Books(observer, walsender) as books:
        for sql in script:
            walsender.execute(sql)
            books.pause()
    assert [e.sql_text for e in books.top] == script
    assert seconds(books.only(SLEEP)) >= SLEEP_S
    assert [(e.rows_sent, e.rows_affected) for e in books.top[:3]] == [(1, 0), (1, 0), (0, 10)]


def test_message_of_several(walsender: Any, observer: Any) -> None:
    """Several statements in one message, and a block."""
    with Books(observer, walsender) as books:
        walsender.execute(f"SELECT 1; {SLEEP}; {UPDATE}")
        books.pause()
        for sql in ("BEGIN", SLEEP, "COMMIT"):
            walsender.execute(sql)
            books.pause()
    assert [e.sql_text for e in books.top] == ["SELECT 1", SLEEP, UPDATE, "BEGIN", SLEEP, "COMMIT"]
    assert all(seconds(e) >= SLEEP_S for e in books.top if e.sql_text == SLEEP)


def test_no_gap_in_a_message(walsender: Any, observer: Any) -> None:
    """Each starts where the one before has ended."""
    with Books(observer, walsender) as books:
        walsender.execute(f"SELECT 1; {UPDATE}; SELECT 2; {SLEEP}")
    assert len(books.top) == 4
    for one, following in zip(books.top, books.top[1:]):
        assert abs(following.timer_start - one.timer_end) <= ROUNDING_PS


def test_commit(walsender: Any, observer: Any) -> None:
    """The implicit commit belongs to the statement there, too."""
    with Books(observer, walsender) as books:
        walsender.execute(INSERT)
    assert [seconds(e) >= LATE_S for e in books.top] == [True]
    assert [e.object_name for e in books.children(books.top[0])] == ["late_trigger"]


def test_messages(walsender: Any, observer: Any) -> None:
    """Each message counts once."""
    with Books(observer, walsender) as books:
        walsender.execute("SELECT 1")
        walsender.execute("SELECT 1; SELECT 2")
    assert books.com == {"Query": 2}


def test_replication_command(walsender: Any, observer: Any) -> None:
    """It is no SQL statement; what comes after it has its own time."""
    with Books(observer, walsender) as books:
        walsender.execute("IDENTIFY_SYSTEM")
        books.pause()
        walsender.execute("SELECT 7")
    assert [e.sql_text for e in books.top][-1] == "SELECT 7"
    assert len(books.top) <= 2


FAILURES = {
    "SELECT 1 / (i - 3) FROM generate_series(1, 5) i": "22012",
    "SELECT nosuch": "42703",
    "SELEC 1": "42601",
    "DROP TABLE nosuch": "42P01",
}
HANDLED = """DO $$ BEGIN FOR i IN 1 .. 3 LOOP
    BEGIN PERFORM 1 / (a - a) FROM n; EXCEPTION WHEN division_by_zero THEN NULL; END;
END LOOP; END $$"""


def test_errors(walsender: Any, observer: Any) -> None:
    """Raised and handled ones count as in any session, and so do the statements that failed."""
    with Books(observer, walsender) as books:
        for sql in (*FAILURES, HANDLED, "SELECT 2"):
            with contextlib.suppress(psycopg.Error):
                walsender.execute(sql)
    assert errors_of(observer, books.thread_id) == {
        "22012": (1, 3), "42703": (1, 0), "42601": (1, 0), "42P01": (1, 0),
    }  # fmt: skip
    states = [e.returned_sqlstate for e in books.top]
    assert states == [*FAILURES.values(), None, None]
    nested = [e.returned_sqlstate for e in books.events if e.nesting_event_level > 0]
    assert nested == ["22012"] * 3


def test_handled_errors(walsender: Any, observer: Any) -> None:
    """Those that a handler catches are no matter of the client."""
    with Books(observer, walsender) as books:
        walsender.execute(HANDLED)
    assert errors_of(observer, books.thread_id) == {"22012": (0, 3)}
    assert [(e.nesting_event_level, e.errors) for e in books.events] == [(0, 0), *[(1, 1)] * 3]


@pytest.mark.parametrize("commits", [True, False], ids=["COMMIT", "ROLLBACK"])
def test_procedure(walsender: Any, observer: Any, commits: bool) -> None:
    """A transaction that ends in a procedure: routine and parent stay."""
    with long_histories(observer):
        with Books(observer, walsender) as books:
            walsender.execute(f"CALL goes_on(4, {commits})")
        above = around(observer, books.thread_id)
    [top] = books.top
    nested = [e for e in books.events if e is not top]
    assert len(nested) == 4 * 4
    assert all(top.event_id in above[e.event_id] for e in nested)
    own = [e for e in nested if e.nesting_event_level == 1]
    assert [(e.object_type, e.object_name) for e in own] == [("PROCEDURE", "goes_on")] * 8


def test_end_of_the_connection(server: Any, observer: Any) -> None:
    """What it has done stays with its account; nothing is open."""
    with server.connect(replication="database", prepare_threshold=None) as conn:
        with Books(observer, conn) as books:
            conn.execute("BEGIN")
            conn.execute(UPDATE)
        assert name_counts(observer, books.thread_id)["sql/update"] == 1
        assert all(e.end_event_id is not None for e in history(observer, books.thread_id))
