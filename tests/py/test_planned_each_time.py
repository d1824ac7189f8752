"""Statements that are planned each time they are executed: the simple protocol, and unnamed ones.

The first execution of a query in a session goes the general way, later ones a short way by what is
known of their query id. All of them must leave the same rows.
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import Watched, consumers, everything_on, instruments, losses, one, rows
from statement_helpers import PAUSE_S, Speaker, errors_of, history, seconds

TIMES = 6
OWN = frozenset({
    "event_id", "end_event_id", "nesting_event_id", "statement_id",
    "timer_start", "timer_end", "timer_wait", "lock_time", "cpu_time",
})  # fmt: skip
"""Columns in which each execution differs."""
SETUP = """
CREATE TABLE t (a int PRIMARY KEY, b int, c text);
INSERT INTO t SELECT i, i % 7, repeat('x', 50) FROM generate_series(1, 1000) i;
CREATE TABLE u (a int);
CREATE TABLE log (a int);
CREATE RULE also AS ON INSERT TO u DO ALSO INSERT INTO log VALUES (new.a);
CREATE TABLE instead (a int);
CREATE RULE instead AS ON DELETE TO instead DO INSTEAD UPDATE t SET b = b WHERE t.a = old.a;
INSERT INTO instead VALUES (1), (2);
CREATE FUNCTION folded(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM t WHERE a <= i); END $$;
CREATE FUNCTION counted(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM t WHERE a <= i); END $$;
CREATE FUNCTION failing(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'no % here', i; END $$;
CREATE ROLE other;
CREATE ROLE plain LOGIN NOINHERIT;
GRANT other TO plain;
GRANT ALL ON t TO other, plain;
CREATE SCHEMA s;
ANALYZE;
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


def kept(event: Any) -> dict[str, Any]:
    """What each execution of a statement leaves alike."""
    return {name: value for name, value in event._asdict().items() if name not in OWN}


def assert_alike(executions: list[list[Any]]) -> list[Any]:
    """All executions have made the same events; those of the first."""
    first = [kept(event) for event in executions[0]]
    assert first
    for events in executions[1:]:
        assert [kept(event) for event in events] == first
        # nested as the first ones were: in a transaction, or by so many events later
        assert [e.nesting_event_type for e in events] == [
            e.nesting_event_type for e in executions[0]
        ]
    return executions[0]


QUERIES: dict[str, tuple[Any, ...]] = {
    "constant": ("SELECT 1",),
    "spaces": ("  \n SELECT  2 \n ",),
    "comment": ("/* a */ SELECT 3 -- b",),
    "key": ("SELECT b FROM t WHERE a = 7",),
    "range": ("SELECT b FROM t WHERE a BETWEEN 3 AND 9 ORDER BY a",),
    "sorted": ("SELECT DISTINCT c FROM t WHERE a BETWEEN 3 AND 9 ORDER BY c",),
    "whole": ("SELECT count(*) FROM t",),
    "join": ("SELECT count(*) FROM t JOIN t AS o USING (b) WHERE o.a < 5 AND t.a < 50",),
    "update": ("UPDATE t SET b = b WHERE a = 8",),
    "returning": ("UPDATE t SET b = b WHERE a < 4 RETURNING a",),
    "insert": ("INSERT INTO u VALUES (1)",),
    "insert many": ("INSERT INTO log VALUES (1), (2)",),
    "also": ("INSERT INTO u SELECT 2",),
    "instead": ("DELETE FROM instead",),
    "folded": ("SELECT folded(3)",),
    "counted": ("SELECT counted(3)",),
    "counted in rows": ("SELECT counted(a) FROM t WHERE a < 4",),
    "fails when planned": ("SELECT 1 / 0 FROM t",),
    "fails in a function that is folded": ("SELECT failing(4)",),
    "fails when executed": ("SELECT 1 / (a - 3) FROM t WHERE a < 5 ORDER BY a",),
    "fails at the first row": ("SELECT 1 / (a - a) FROM t",),
    "values": ("SELECT b FROM t WHERE a = %s", 5),
    "values that fail": ("SELECT %s::int / b FROM t", "secret"),
    "values that fail when planned": ("SELECT b FROM t WHERE a = 1 / %s::int", 0),
    "values of a change": ("UPDATE t SET c = %s WHERE a = %s", "x" * 50, 9),
    "command": ("SET work_mem = '4MB'",),
    "several": ("SELECT 4; SELECT b FROM t WHERE a = 2 ; SELECT 5",),
}


@pytest.mark.parametrize("query", QUERIES)
def test_leaves_the_same_rows(w: Watched, observer: Any, query: str) -> None:
    """One after the other, each in a transaction of its own."""
    before = errors_of(observer, w.thread_id)
    executions = [w.run(*QUERIES[query]) for _ in range(TIMES)]
    events = assert_alike(executions)
    top = [event for event in events if event.nesting_event_level == 0]
    assert len(top) == {"several": 3, "insert": 2, "also": 2}.get(query, 1)
    for event in (event for events in executions for event in events):
        assert event.end_event_id is not None
        assert event.timer_wait > 0
        assert event.timer_end - event.timer_start >= event.timer_wait - 1000
    failures = {code: total for code, (total, _) in errors_of(observer, w.thread_id).items()}
    failed = [event.returned_sqlstate for event in top if event.errors]
    assert failures == {**{code: n for code, (n, _) in before.items()}, **{c: TIMES for c in failed}}
    assert losses(observer) == {}


@pytest.mark.parametrize("query", [q for q in QUERIES if "fail" not in q and q != "several"])
def test_in_a_block(w: Watched, query: str) -> None:
    """The same in one transaction, which all of them are nested in."""
    w.conn.execute("BEGIN")
    executions = [w.run(*QUERIES[query]) for _ in range(TIMES)]
    w.conn.execute("COMMIT")
    assert_alike(executions)
    tops = [e for events in executions for e in events if e.nesting_event_level == 0]
    assert len({(e.nesting_event_type, e.nesting_event_id) for e in tops}) == 1


@pytest.mark.parametrize("query", ["key", "sorted", "update", "folded", "fails when planned", "values"])
def test_everything_on(w: Watched, observer: Any, query: str) -> None:
    """Waits, histories and processor time change nothing about it."""
    everything_on(observer)
    try:
        assert_alike([w.run(*QUERIES[query]) for _ in range(TIMES)])
    finally:
        observer.execute("SELECT performance_schema.set_consumers('events_statements_cpu', false)")


def test_is_what_it_says(w: Watched) -> None:
    """Not only alike: right."""
    for _ in range(TIMES):
        event = w.event("SELECT b FROM t WHERE a BETWEEN 3 AND 9 ORDER BY c")
        assert event.sql_text == "SELECT b FROM t WHERE a BETWEEN 3 AND 9 ORDER BY c"
        assert (event.rows_sent, event.rows_examined, event.sort_rows) == (7, 7, 7)
        assert event.digest_text == (
            "SELECT `b` FROM `t` WHERE `a` BETWEEN ? AND ? ORDER BY `c`"
        )
        event = w.event("SELECT b FROM t WHERE a = %s", 5)
        assert (event.rows_sent, event.rows_examined) == (1, 1)
        assert event.sql_text == "SELECT b FROM t WHERE a = $1"
        event = w.event("SELECT %s::int / b FROM t", "secret")
        assert (event.returned_sqlstate, event.errors) == ("22P02", 1)
        assert "secret" not in event.message_text


def test_literals_of_its_own(w: Watched) -> None:
    """Executions of one digest have texts of their own."""
    for i in range(1, TIMES):
        assert w.event(f"SELECT b FROM t WHERE a = {i}").sql_text.endswith(f" {i}")
    assert len({w.event(f"SELECT b FROM t WHERE a = {i}").digest for i in range(1, TIMES)}) == 1


def test_role_and_schema_change(w: Watched) -> None:
    """What belongs to the session's present role and schema is not taken from the last execution."""
    w.conn.execute("GRANT USAGE, CREATE ON SCHEMA s TO other")
    for _ in range(TIMES):
        assert w.event("SELECT b FROM t WHERE a = 1").current_schema_name == "public"
        w.conn.execute("SET search_path = s, public")
        assert w.event("SELECT b FROM t WHERE a = 1").current_schema_name == "s"
        w.conn.execute("SET ROLE other")
        assert w.event("SELECT b FROM t WHERE a = 1").sql_text is not None
        w.conn.execute("RESET ROLE")
        w.conn.execute("RESET search_path")


def test_text_belongs_to_its_role(server: Any, observer: Any) -> None:
    """The role of each execution decides who reads its text, not that of the one before."""
    query = "SELECT b FROM t WHERE a = 77"
    with Watched(server, observer, user="plain") as w:
        since = w.mark()
        for role in ("NONE", "other", "NONE"):
            w.conn.execute(f"SET ROLE {role}")
            for _ in range(2):
                w.conn.execute(query)
        with server.connect(user="plain") as reader:
            events = rows(
                reader,
                "SELECT * FROM performance_schema.events_statements_history WHERE thread_id = %s "
                "AND event_name = 'statement/sql/select' AND event_id > %s ORDER BY event_id",
                w.thread_id,
                since,
            )
    assert [event.sql_text for event in events] == [query, query, None, None, query, query]


def test_switched_off_and_on(w: Watched, observer: Any) -> None:
    """A switch counts from the next execution on."""
    query = "SELECT b FROM t WHERE a = 3"
    for _ in range(TIMES):
        assert len(w.run(query)) == 1
        with instruments(observer, "statement/sql/select", "NO"):
            assert w.run(query) == []
        with instruments(observer, "statement/sql/select", "YES", "NO"):
            assert [event.timer_wait for event in w.run(query)] == [None]
        with consumers(observer, statements_digest=False):
            assert [event.digest for event in w.run(query)] == [None]


def test_digests_are_truncated(w: Watched, observer: Any) -> None:
    """Counts begin again, and the row is there again."""
    query = "SELECT b FROM t WHERE a = 3 AND b < 100"
    counted = (
        "SELECT coalesce(sum(count_star), 0)::int "
        "FROM performance_schema.events_statements_summary_by_digest "
        "WHERE digest_text = 'SELECT `b` FROM `t` WHERE `a` = ? AND `b` < ?'"
    )
    for times in (1, TIMES):
        observer.execute("TRUNCATE performance_schema.events_statements_summary_by_digest")
        for n in range(1, times + 1):
            w.run(query)
            assert one(observer, counted) == n


def test_failed_planning_has_no_temporary_files(w: Watched) -> None:
    """What an earlier statement has written is not that of one which fails before it is executed."""
    w.conn.execute("SET work_mem = '64kB'")
    spilt = w.event("SELECT count(*) FROM (SELECT c FROM t AS x, generate_series(1, 20) ORDER BY c) y")
    assert spilt.tmp_bytes > 0
    for query in ("SELECT 1 / 0", "SELECT nothing", "SELEC"):
        for _ in range(TIMES):
            event = w.event(query)
            assert event.errors == 1
            assert (event.tmp_bytes, event.created_tmp_disk_tables) == (0, 0)


def test_sums_agree(w: Watched, observer: Any) -> None:
    """n executions add n to the digest, whichever way they went."""
    query = "SELECT b FROM t WHERE a = 4 AND b < 101 AND b < 102"
    counted = (
        "SELECT coalesce(sum(count_star), 0)::int "
        "FROM performance_schema.events_statements_summary_by_digest "
        "WHERE digest_text = 'SELECT `b` FROM `t` WHERE `a` = ? AND `b` < ? AND `b` < ?'"
    )
    before = one(observer, counted)
    for _ in range(100):
        w.conn.execute(query)
    assert one(observer, counted) == before + 100
    assert one(
        observer,
        "SELECT count(*)::int FROM performance_schema.events_statements_history "
        "WHERE thread_id = %s AND sql_text = %s",
        w.thread_id,
        query,
    ) == 100


def test_error_in_the_transaction(w: Watched) -> None:
    """A failed block refuses it; after that it is as before."""
    query = "SELECT b FROM t WHERE a = 5"
    w.run(query)
    first = w.event(query)
    w.conn.execute("BEGIN")
    with pytest.raises(psycopg.Error):
        w.conn.execute("SELECT 1 / 0")
    refused = w.event(query)
    assert (refused.returned_sqlstate, refused.event_name) == ("25P02", "statement/sql/error")
    w.conn.execute("ROLLBACK")
    assert kept(w.event(query)) == kept(first)


# --- bound, and executed or not: only planned at Bind, because rows are changed at Execute -----------

CHANGE = "UPDATE t SET b = b WHERE a = folded(3)"
OTHER = "DELETE FROM t WHERE a = 5000"


@pytest.fixture
def raw(server: Any, observer: Any) -> Iterator[Speaker]:
    with Speaker(server, observer) as client:
        yield client


def executed(observer: Any, client: Speaker) -> list[Any]:
    """What the client has executed behind its first statement."""
    return history(observer, client.thread_id)[1:]


def top_texts(observer: Any, client: Speaker) -> list[str]:
    """Texts of its own statements."""
    return [e.sql_text for e in executed(observer, client) if e.nesting_event_level == 0]


def test_bound_and_executed(raw: Speaker, observer: Any) -> None:
    """One statement each time."""
    for _ in range(TIMES):
        raw.parse(CHANGE).bind().execute().sync()
    events = executed(observer, raw)
    tops = [event for event in events if event.nesting_event_level == 0]
    assert [event.sql_text for event in tops] == [CHANGE] * TIMES
    assert all((e.rows_affected, e.rows_examined) == (1, 1) for e in tops)
    assert sum(e.nesting_event_level == 1 and e.object_name == "folded" for e in events) == TIMES


@pytest.mark.parametrize("waits", ["as installed", "off"])
def test_pause_before_execute(server: Any, observer: Any, waits: str) -> None:
    """The client's time between Bind and Execute is nobody's, whether waits are looked at or not."""
    with contextlib.ExitStack() as switches:
        for pattern in ("wait/%", "idle") if waits == "off" else ():
            switches.enter_context(instruments(observer, pattern, "NO"))
        raw = switches.enter_context(Speaker(server, observer))
        for _ in range(2):
            raw.parse(OTHER).bind().flush("2")
            time.sleep(PAUSE_S)
            raw.execute().sync()
        events = executed(observer, raw)
    assert [event.sql_text for event in events] == [OTHER] * 2
    assert all(seconds(event) < PAUSE_S for event in events)


def test_bound_and_left(raw: Speaker, observer: Any) -> None:
    """Who is bound and never executed is no statement, and none of another's."""
    for _ in range(TIMES):
        raw.parse(CHANGE).bind().sync()
    assert top_texts(observer, raw) == []
    for _ in range(TIMES):
        raw.parse(CHANGE).bind().parse(OTHER).bind().execute().sync()
    assert top_texts(observer, raw) == [OTHER] * TIMES
    raw.parse("SELECT 6", "kept").sync()
    raw.parse(CHANGE).bind(portal="p").bind(name="kept").execute().execute("p").sync()
    assert top_texts(observer, raw)[TIMES:] == ["SELECT 6", CHANGE]


DELETES = ("DELETE FROM t WHERE a = $1 AND b = 10001", "DELETE FROM t WHERE a = $1 AND b = 10002")


def custom(raw: Speaker) -> None:
    """Two changes of one query id, planned at each Bind."""
    raw.query("SET plan_cache_mode = force_custom_plan")
    for name, sql in zip(("s1", "s2"), DELETES, strict=True):
        raw.parse(sql, name).sync()


def test_bound_beside_its_like(raw: Speaker, observer: Any) -> None:
    """Who is executed is recorded, not who was bound before and has the same query id."""
    custom(raw)
    raw.bind("1", name="s1").bind("1", name="s2").execute().sync()
    raw.bind("1", portal="p1", name="s1").bind("1", portal="p2", name="s2")
    raw.execute("p2").execute("p1").sync()
    assert top_texts(observer, raw)[1:] == [DELETES[1], DELETES[1], DELETES[0]]


def test_bound_beside_others_without_ids(new_cluster: Any) -> None:
    """The same where no statement has an id."""
    server = new_cluster(compute_query_id="off")
    server.psql(SETUP)
    with server.connect() as observer, Speaker(server, observer) as raw:
        custom(raw)
        select = "SELECT b FROM t WHERE a = 1"
        raw.parse(select).bind("1", portal="p", name="s1").bind().execute().execute("p").sync()
        tops = [e for e in executed(observer, raw) if e.nesting_event_level == 0][1:]
        assert [(e.sql_text, e.event_name.rpartition("/")[2]) for e in tops] == [
            (select, "select"), (DELETES[0], "delete"),
        ]  # fmt: skip


@pytest.mark.parametrize("what", ["syntax", "column", "value", "portal", "statement", "query"])
def test_bound_and_another_fails(raw: Speaker, observer: Any, what: str) -> None:
    """The error of another message is not that of a statement which was only bound."""
    custom(raw)
    raw.bind("1", name="s1")
    match what:
        case "syntax":
            raw.parse("SELEC")
        case "column":
            raw.parse("SELECT nothing")
        case "value":
            raw.bind("xx", name="s2")
        case "portal":
            raw.execute("nowhere")
        case "statement":
            raw.bind(name="nono")
        case "query":
            raw.query("SELEC")
    raw.sync()
    assert not {e.sql_text for e in executed(observer, raw)} & set(DELETES)
    assert sum(n for n, _ in errors_of(observer, raw.thread_id).values()) == 1


LONG = "SELECT b FROM t WHERE a = $1 AND c <> 'x' /*" + "z" * 40_000_000 + "*/"
SHORT = "SELECT b FROM t WHERE a = $1 AND c <> 'q'"


@pytest.mark.parametrize("last", ["u2", "nono"])
@pytest.mark.parametrize("closed", [True, False])
def test_described_anew(raw: Speaker, observer: Any, last: str, closed: bool) -> None:
    """Describe analyses a statement again whose text may then go: it is not that of the next one."""
    raw.query("SET plan_cache_mode = force_custom_plan")
    raw.parse(LONG, "u1").sync()
    raw.parse(SHORT, "u2").sync()
    raw.bind("1", name="u2").execute().sync()
    raw.query("SET search_path = public, pg_catalog")
    raw.bind("1", name="u2").execute().sync()
    raw.describe("S", "u1")
    if closed:
        raw.close_object("S", "u1")
    raw.bind("1", name=last).execute().sync()
    found = [text for text in top_texts(observer, raw) if text is not None]
    assert [text for text in found if text.startswith("SELECT b")] == [SHORT] * (2 + (last == "u2"))


def test_value_in_a_plan_that_is_made_twice(raw: Speaker, observer: Any) -> None:
    """The sixth execution is planned without values and then with them: they are not shown."""
    raw.parse("SELECT count(*) FROM t WHERE a < ($1::text)::int AND b < 100", "s").sync()
    for _ in range(5):
        raw.bind("5", name="s").execute().sync()
    for _ in range(3):
        raw.bind("secret", name="s").execute().sync()
    failed = [e for e in executed(observer, raw) if e.errors]
    assert len(failed) == 3
    assert "secret" not in str([e.message_text for e in failed])


CAUGHT = """
    BEGIN
        EXECUTE 'INSERT INTO fixed VALUES (1) /*' || repeat('z', 40000000) || '*/';
    EXCEPTION WHEN object_not_in_prerequisite_state THEN NULL;
    END;
"""
ANALYSED_AND_GONE = f"""
CREATE VIEW fixed AS SELECT count(*) FROM t;
CREATE FUNCTION analyses(i int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN {CAUGHT} RETURN true; END $$;
CREATE FUNCTION analyses_and_fails(i int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN {CAUGHT} RAISE EXCEPTION 'no'; END $$;
CREATE DOMAIN checked AS int CHECK (analyses(value));
"""


@pytest.mark.parametrize("when", ["function call", "analysis", "bind"])
def test_analysed_by_a_function_of_no_statement(new_cluster: Any, when: str) -> None:
    """What failed while it was rewritten, and was caught, is gone: the next error is not its own."""
    server = new_cluster()
    server.psql(SETUP + ANALYSED_AND_GONE)
    with server.connect() as observer, Speaker(server, observer, user="plain") as raw:
        raw.query("SELECT '{1}'::checked[]")  # later calls plan nothing
        if when == "function call":
            oid = one(observer, "SELECT 'analyses_and_fails'::regproc::oid::int8")
            answers = raw.call_function(oid, "1")
        elif when == "analysis":
            answers = raw.query("SELECT '{1}'::checked[], nothing")
        else:
            types = [one(observer, "SELECT 'checked'::regtype::oid::int8"), 23]
            raw.add("P", b"s\0SELECT $1, $2\0" + struct.pack("!hII", 2, *types))
            answers = raw.bind("1", "x", name="s").sync()
        assert [kind for kind, _ in answers][-2:] == ["E", "Z"]


@pytest.mark.parametrize("name", ["", "named"])
def test_command_is_bound_anew(new_cluster: Any, name: str) -> None:
    """Bind analyses a command again whose text may then go: the next error is not its own."""
    server = new_cluster()
    server.psql(SETUP)
    with server.connect() as observer, Speaker(server, observer) as raw:
        raw.parse("EXPLAIN SELECT b FROM t /*" + "z" * 40_000_000 + "*/", name)
        raw.parse("ALTER TABLE t SET (fillfactor = 50)", "alters").bind(portal="p", name="alters")
        raw.execute("p").bind(name=name).parse("SELEC").sync()
        failed = [event for event in executed(observer, raw) if event.errors]
        assert [event.event_name for event in failed] == ["statement/sql/error"]
        assert failed[0].sql_text == "SELEC"


@pytest.mark.parametrize("sql", ["SELECT '{1}'::early[]", "UPDATE t SET b = b WHERE a = ('{1}'::early[])[1]"])
def test_planned_by_a_function_of_no_statement(new_cluster: Any, sql: str) -> None:
    """What parse analysis has planned is not what is planned then, though neither has an id."""
    server = new_cluster(compute_query_id="off")
    server.psql(SETUP)
    server.psql(
        "CREATE FUNCTION checks(i int) RETURNS bool LANGUAGE plpgsql SECURITY DEFINER "
        "AS $$ BEGIN RETURN i < 4711; END $$; CREATE DOMAIN early AS int CHECK (checks(value))"
    )
    with server.connect() as observer, Watched(server, observer, user="plain") as w:
        for _ in range(2):
            (event,) = (e for e in w.run(sql) if e.end_event_id is not None and e.nesting_event_level == 0)
            assert (event.sql_text, event.event_name) == (sql, f"statement/sql/{sql[:6].lower()}")
