"""Plain statements of a client, during which the server does without our hooks at the end of a query.

Whatever needs those hooks (triggers, spills, cursors, nested statements, portals that are not executed, errors behind
the run) must bring them back in time: before, in between and after plain statements rows are what they always are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import Watched, losses, one, rows
from statement_helpers import Speaker, history, server_now

TIMES = 4
SETUP = """
CREATE TABLE t (a int PRIMARY KEY, b int, c text);
INSERT INTO t SELECT i, i % 7, repeat('x', 50) FROM generate_series(1, 1000) i;
CREATE TABLE log (a int);
CREATE FUNCTION logs() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (new.a); RETURN new; END';
CREATE TABLE audited (a int);
CREATE TRIGGER audit AFTER INSERT ON audited FOR EACH ROW EXECUTE FUNCTION logs();
CREATE TABLE late (a int);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION logs();
CREATE TABLE many (a int, c text);
CREATE FUNCTION counted(i int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM t WHERE a <= i); END $$;
CREATE FUNCTION caught(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM 1 / (i - i); RETURN 0; EXCEPTION WHEN division_by_zero THEN RETURN 1; END $$;
CREATE FUNCTION words() RETURNS SETOF text LANGUAGE sql AS $$ SELECT c FROM t WHERE a < 3 $$;
ANALYZE;
"""
PLAIN = {
    "key": "SELECT b FROM t WHERE a = 7",
    "change": "UPDATE t SET b = b WHERE a = 8",
    "insert": "INSERT INTO log VALUES (1)",
    "sort": "SELECT c FROM t WHERE a BETWEEN 3 AND 9 ORDER BY b",
}
"""None has nested statements."""
OTHERS = {
    "returning": ("UPDATE t SET b = b WHERE a = 9 RETURNING a", []),
    "trigger": ("INSERT INTO audited VALUES (1)", ["INSERT INTO log VALUES (new.a)"]),
    "late trigger": ("INSERT INTO late VALUES (1)", ["INSERT INTO log VALUES (new.a)"]),
    "function": ("SELECT counted(a) FROM t WHERE a = 3", ["(SELECT count(*) FROM t WHERE a <= i)"]),
    "caught": ("SELECT caught(a) FROM t WHERE a = 3", ["SELECT 1 / (i - i)"]),
    "words": ("SELECT * FROM words()", None),
    "spill": ("INSERT INTO many SELECT a, c FROM t WHERE a < 900 ORDER BY c, b", []),
    "sort that spills": ("SELECT o.c FROM t, t AS o WHERE o.a < 30 ORDER BY o.c, t.b", []),
    "modifying": ("WITH w AS (INSERT INTO log VALUES (2)) SELECT b FROM t WHERE a = 7", []),
}
"""Statement, and texts of those it nests; None: whatever it does."""


@pytest.fixture(scope="module", params=["counted", "on"])
def server(request: pytest.FixtureRequest, pg_config: str) -> Iterator[Any]:
    """Messages of the protocol are only counted, or timed as well: which has short ways of its own."""
    with with_library(
        pg_config,
        SETUP,
        performance_schema__events_statements_history_size=200,
        performance_schema__instrument=f"statement/com/%={request.param}",
        work_mem="64kB",
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as connection:
        yield connection


def run(w: Watched, sql: str) -> list[Any]:
    """One execution of a prepared statement; its events, of which all have ended."""
    since = w.mark()
    w.conn.execute(sql, prepare=True)
    return w.events(since)


def check(events: list[Any], sql: str, nested: list[str] | None) -> None:
    top = [event for event in events if event.nesting_event_level == 0]
    assert [event.sql_text for event in top] == [sql]
    assert top[0].errors == 0
    if nested is not None:
        below = [event for event in events if event.nesting_event_level > 0]
        assert [event.sql_text for event in below] == nested
        assert all(top[0].event_id < event.event_id <= top[0].end_event_id for event in below)


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("other", OTHERS)
def test_in_turns(server: Any, observer: Any, other: str, block: bool) -> None:
    """A plain one, another, a plain one: all with their rows, files and nested statements, each time the same."""
    sql, nested = OTHERS[other]
    if block and other == "late trigger":
        nested = []  # they are the commit's
    with Watched(server, observer) as w:
        w.conn.autocommit = True
        kept: dict[str, set[Any]] = {}
        for _ in range(TIMES):
            for plain in PLAIN.values():
                if block:
                    w.conn.execute("BEGIN")
                check(run(w, plain), plain, [])
                events = run(w, sql)
                check(events, sql, nested)
                top = events[0]
                kept.setdefault("rows", set()).add((top.rows_sent, top.rows_affected, top.rows_examined))
                kept.setdefault("spills", set()).add((top.tmp_bytes > 0, top.created_tmp_disk_tables, top.sort_rows))
                check(run(w, plain), plain, [])
                if block:
                    w.conn.execute("COMMIT")
        assert all(len(values) == 1 for values in kept.values()), kept
        if "spill" in other:
            assert next(iter(kept["spills"]))[0]
        assert len(w.current()) == 1  # the last one, which has ended
    assert losses(observer) == {}


def test_prepared_commands_of_blocks(server: Any, observer: Any) -> None:
    """BEGIN, COMMIT and ROLLBACK that are prepared end once, whatever runs or fails at the commit."""
    nested = ["INSERT INTO log VALUES (new.a)"]
    with Watched(server, observer) as w:
        w.conn.autocommit = True
        w.conn.execute("CREATE TEMP TABLE once (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
        for _ in range(2 * TIMES):
            for end, below in (("COMMIT", nested), ("ROLLBACK", []), ("COMMIT AND CHAIN", nested)):
                check(run(w, "BEGIN"), "BEGIN", [])
                for plain in PLAIN.values():
                    check(run(w, plain), plain, [])
                check(run(w, "INSERT INTO late VALUES (1)"), "INSERT INTO late VALUES (1)", [])
                check(run(w, end), end, below)
                if end.endswith("CHAIN"):
                    check(run(w, PLAIN["key"]), PLAIN["key"], [])
                    check(run(w, "ROLLBACK"), "ROLLBACK", [])
            check(run(w, "BEGIN"), "BEGIN", [])
            run(w, "INSERT INTO once VALUES (1), (1)")
            since = w.mark()
            with pytest.raises(psycopg.errors.UniqueViolation):
                w.conn.execute("COMMIT", prepare=True)
            assert [(event.sql_text, event.errors) for event in w.events(since)] == [("COMMIT", 1)]
            check(run(w, "COMMIT"), "COMMIT", [])  # a warning: there is no transaction
        assert len(w.current()) == 1
    assert losses(observer) == {}


def test_pipelined_answers(server: Any, observer: Any) -> None:
    """What is answered and waits for its commit, when the next message of the same batch begins, fails or commits."""
    with Watched(server, observer) as w:
        w.conn.autocommit = True
        for sql in (*PLAIN.values(), "INSERT INTO late VALUES (2)", "SELECT 1 / (a - a) FROM t WHERE a = 3", "CHECKPOINT"):
            for plain in PLAIN.values():
                for _ in range(TIMES):
                    since = w.mark()
                    with contextlib.suppress(psycopg.errors.DivisionByZero, psycopg.errors.ActiveSqlTransaction), w.conn.pipeline():
                        w.conn.execute(plain, prepare=True)
                        w.conn.execute(sql, prepare=True)
                    events = [event for event in w.events(since) if event.nesting_event_level == 0]
                    assert [(event.sql_text, event.errors) for event in events] == [(plain, 0), (sql, int("/" in sql))]
                    assert events[0].timer_end <= events[1].timer_start
        assert len(w.current()) == 1


def test_cursor_in_between(server: Any, observer: Any) -> None:
    """A cursor that is open while plain statements come and go, and that they do not end."""
    with Watched(server, observer) as w:
        w.conn.execute("BEGIN")
        w.conn.execute("DECLARE c CURSOR FOR SELECT a FROM t WHERE a < 100 ORDER BY a")
        for turn in range(TIMES):
            for plain in PLAIN.values():
                check(run(w, plain), plain, [])
            fetched = w.event("FETCH 5 FROM c")
            assert (fetched.rows_sent, fetched.event_name) == (5, "statement/sql/fetch"), turn
        w.conn.execute("COMMIT")
        assert len(w.current()) == 1


def test_error_behind_the_run(server: Any, observer: Any) -> None:
    """Rows that RETURNING has kept are sent when all has run: what fails then is the statement's."""
    with Watched(server, observer, client_encoding="LATIN1") as w:
        w.conn.execute("CREATE TEMP TABLE euro (a int, c text)")
        w.conn.execute("INSERT INTO euro VALUES (1, chr(8364))")
        for sql in ("UPDATE euro SET a = a RETURNING c", "SELECT c FROM euro"):
            for _ in range(TIMES):
                for plain in PLAIN.values():
                    check(run(w, plain), plain, [])
                since = w.mark()
                with pytest.raises(psycopg.errors.UntranslatableCharacter):
                    w.conn.execute(sql, prepare=True)
                events = w.events(since)
                assert [(e.sql_text, e.returned_sqlstate) for e in events] == [(sql, "22P05")]


def ask(raw: Speaker, since: int) -> list[tuple[str, int]]:
    return [(e.sql_text, e.rows_sent) for e in history(raw.observer, raw.thread_id, since)]


@pytest.fixture
def raw(server: Any, observer: Any) -> Iterator[Speaker]:
    with Speaker(server, observer) as speaker:
        for name, sql in PLAIN.items():
            speaker.parse(sql, name)
        speaker.sync()
        for _ in range(3):
            raw_plain(speaker)
        yield speaker


def raw_plain(raw: Speaker, name: str = "key") -> None:
    raw.bind(name=name).describe().execute()
    raw.sync()


def is_clean(raw: Speaker) -> bool:
    """Only the last one is shown, which has ended."""
    open_ones = rows(
        raw.observer,
        "SELECT end_event_id FROM performance_schema.events_statements_current WHERE thread_id = %s",
        raw.thread_id,
    )
    return len(open_ones) == 1 and open_ones[0].end_event_id is not None


UNFINISHED: dict[str, Callable[[Speaker], Any]] = {
    "bound": lambda raw: raw.bind(name="key"),
    "bound and described": lambda raw: raw.bind(name="key").describe(),
    "bound and closed": lambda raw: raw.bind(name="key").close_object("P", ""),
    "bound twice": lambda raw: raw.bind(name="key").bind(name="sort"),
    "another is closed": lambda raw: raw.bind(name="key").close_object("P", "nobody"),
    "in part": lambda raw: raw.bind(name="sort").describe().execute(max_rows=2),
    "in part and closed": lambda raw: raw.bind(name="sort").execute(max_rows=2).close_object("P", ""),
    "executed again": lambda raw: raw.bind(name="key").execute().execute(),
    "named": lambda raw: raw.bind(name="key", portal="p").execute("p").close_object("P", "p"),
}


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("what", UNFINISHED)
def test_unfinished(raw: Speaker, what: str, block: bool) -> None:
    """Portals that are left, in the middle of plain statements, which are each recorded once."""
    if block:
        raw.query("BEGIN")
    for _ in range(TIMES):
        since = one(raw.observer, "SELECT max(event_id) FROM performance_schema.events_statements_history "
                    "WHERE thread_id = %s", raw.thread_id)
        UNFINISHED[what](raw)
        raw.sync()
        assert "closed" not in what or "another" in what or is_clean(raw)
        raw_plain(raw)
        raw_plain(raw, "change")
        raw_plain(raw, "sort")
        texts = [text for text, _ in ask(raw, since)]
        assert texts[-3:] == [PLAIN["key"], PLAIN["change"], PLAIN["sort"]]
        assert len(texts) <= 3 + 2
        assert {text for text in texts[:-3]} <= {PLAIN["key"], PLAIN["sort"]}
    if block:
        raw.query("COMMIT")
    raw_plain(raw)
    assert is_clean(raw)
    assert losses(raw.observer) == {}


EXECUTED: dict[str, Callable[[Speaker], Any]] = {
    "all": lambda raw: raw.bind(name="key").execute(),
    "up to five": lambda raw: raw.bind(name="key").execute(max_rows=5),
    "exactly one": lambda raw: raw.bind(name="key").execute(max_rows=1),
    "twice": lambda raw: raw.bind(name="key").execute(max_rows=1).execute(max_rows=1),
    "closed": lambda raw: raw.bind(name="key").execute().close_object("P", ""),
    "followed": lambda raw: raw.bind(name="key").execute().bind(name="change").execute(),
    "behind another": lambda raw: raw.bind(name="change").execute().bind(name="key").execute(),
}


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("how", EXECUTED)
def test_rows_that_are_told(raw: Speaker, how: str, block: bool) -> None:
    """Whoever ends a statement, its rows are told once: by what has run, or at its end."""
    raw.parse("SELECT b FROM t WHERE a = 7000", "none").sync()
    for _ in range(TIMES):
        since = one(raw.observer, "SELECT max(event_id) FROM performance_schema.events_statements_history "
                    "WHERE thread_id = %s", raw.thread_id)
        if block:
            raw.query("BEGIN")
        EXECUTED[how](raw)
        raw.sync()
        raw_plain(raw, "none")
        if block:
            raw.query("COMMIT")
        told = {e.sql_text: (e.rows_sent, e.rows_affected, e.rows_examined)
                for e in history(raw.observer, raw.thread_id, since)}
        assert told.pop(PLAIN["key"]) == (1, 0, 1)
        assert told.pop(PLAIN["change"], (0, 1, 1)) == (0, 1, 1)
        assert told.pop("SELECT b FROM t WHERE a = 7000") == (0, 0, 0)
        assert set(told) <= {"BEGIN", "COMMIT"}


WIDE = f"SELECT {', '.join(f'a + {i}' for i in range(400))} FROM t WHERE a < 9 ORDER BY c || 'x'"
"""Its query has more memory than the server keeps for itself, and counts the rows of its sort in there."""


@pytest.mark.parametrize("answer", ["of another", "of another, later", "without a record"])
def test_gone_before_it_was_run(new_cluster: Any, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Its portal is replaced before it was executed; then another portal's command is complete, or one without a record."""
    monkeypatch.setenv("MALLOC_PERTURB_", "165")
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "8192")
    server = new_cluster(performance_schema__events_statements_history_size=200)
    server.psql(SETUP)
    with server.connect() as observer, Speaker(server, observer) as raw:
        raw.parse(WIDE, "wide").parse(PLAIN["key"], "key").parse("SHOW work_mem", "show")
        raw.parse("EXPLAIN VERBOSE SELECT b FROM t", "explain")
        raw.sync()
        for name in ("wide", "key") * 3:
            raw_plain(raw, name)
        raw.query("BEGIN")
        if answer == "without a record":
            raw.bind(name="wide").flush("2")
            observer.execute("SELECT performance_schema.set_thread(%s, false, false)", (raw.thread_id,))
            assert "C" in [kind for kind, _ in raw.query("SHOW work_mem")]
        else:
            raw.bind(name="explain", portal="rest").execute("rest", 1)
            raw.bind(name="key").execute().bind(name="wide").bind(name="show")
            if "later" in answer:
                raw.close_object("P", "nobody")  # brings the hooks back
            raw.execute("rest")
            assert [kind for kind, _ in raw.sync()][-3:] == ["D", "C", "Z"]
        raw.query("COMMIT")
        assert raw.query("SELECT 1")[-1][0] == "Z"
        assert is_clean(raw)


def test_bound_and_executed_in_the_end(raw: Speaker) -> None:
    """Between its Bind and its Execute another portal is closed: it is recorded all the same."""
    since = server_now(raw.observer)
    raw.bind(name="key").close_object("P", "nobody").execute()
    raw.sync()
    events = [e for e in history(raw.observer, raw.thread_id) if e.timer_start > since]
    assert [(e.sql_text, e.rows_sent) for e in events] == [(PLAIN["key"], 1)]


def test_a_library_that_is_loaded_in_between(server: Any, observer: Any) -> None:
    """auto_explain's hooks stand above ours, or where ours are out: each of us sees what it would see alone."""
    for first in (False, True):
        with Watched(server, observer) as w:
            if first:
                w.conn.execute("SELECT counted(3)", prepare=True)  # ours are in
            else:
                run(w, PLAIN["key"])
            w.conn.execute("LOAD 'auto_explain'")
            w.conn.execute("SET auto_explain.log_min_duration = 0")
            w.conn.execute("SET auto_explain.log_nested_statements = on")
            seen: list[str] = []
            w.conn.execute("SET client_min_messages = log")
            w.conn.add_notice_handler(lambda d: seen.append(d.message_primary or ""))
            for _ in range(TIMES):
                for plain in PLAIN.values():
                    seen.clear()
                    check(run(w, plain), plain, [])
                    assert len([m for m in seen if "Query Text: " + plain in m]) == 1, seen
                for sql, nested in (OTHERS["trigger"], OTHERS["function"]):
                    seen.clear()
                    check(run(w, sql), sql, nested)
                    assert len([m for m in seen if "Query Text: " in m]) == 2, seen
            assert len(w.current()) == 1


@pytest.mark.parametrize("seen", [False, True])
def test_procedure_that_rolls_back(new_cluster: Any, seen: bool) -> None:
    """Its ROLLBACK takes the list of statements from the unnamed portal that executes CALL; queries come after it."""
    server = new_cluster(performance_schema__events_statements_history_size=200)
    server.psql(
        SETUP + "CREATE PROCEDURE back() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..3 LOOP "
        "UPDATE t SET b = b WHERE a = i; ROLLBACK; PERFORM b FROM t WHERE a = i; END LOOP; END $$"
    )
    with server.connect() as observer, Speaker(server, observer) as raw:
        for _ in range(3):
            raw.extended("CALL back()")
        observer.execute("SELECT performance_schema.set_thread(%s, %s, true)", (raw.thread_id, seen))
        for _ in range(3):
            assert raw.extended("CALL back()")[-2:] == "CZ"
        assert losses(observer) == {}
