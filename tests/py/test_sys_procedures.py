"""Procedures of sys, and functions that print: what they switch, what they show, who may call them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import Watched, one, rows, thread_of, wait_for_state
from psycopg import errors

HOSTILE = (
    "'",
    '"',
    "\\",
    "x'); DROP TABLE kept; --",
    '"; DROP TABLE kept; --',
    "%'; SELECT 1/0; --",
)
STATES = ("setup_consumers", "setup_instruments")
DIGESTS = "performance_schema.events_statements_summary_by_digest"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """Of this file: its switches may be thrown."""
    setup = (
        "CREATE ROLE plain LOGIN; CREATE TABLE kept AS SELECT g AS a FROM generate_series(1, 100) g"
    )
    with with_library(
        pg_config, setup, performance_schema__events_statements_history_size=200
    ) as made:
        yield made


@pytest.fixture
def admin(server: Any) -> Iterator[Any]:
    """Its switches are the defaults before each test, and no digest is there.

    Query ids know no literals and no aliases: the texts below differ in more than these.
    """
    with server.connect() as session:
        session.execute("CALL sys.ps_setup_reset_to_default()")
        session.execute(f"TRUNCATE {DIGESTS}")
        yield session
        assert one(session, "SELECT count(*) FROM kept") == 100


@pytest.fixture
def plain(server: Any, admin: Any) -> Iterator[Any]:
    with server.connect(user="plain") as session:
        session.execute("SHOW work_mem")
        yield session


def states(conn: Any, table: str) -> dict[str, tuple[str, str | None]]:
    """By name: enabled, timed."""
    timed = "timed" if table == "setup_instruments" else "NULL"
    found = conn.execute(
        f"SELECT name, enabled, {timed} FROM performance_schema.{table}"
    ).fetchall()
    return {name: (enabled, timed) for name, enabled, timed in found}


def snapshot(conn: Any) -> dict[str, list[str]]:
    """All switches and rules that do not depend on who is connected."""
    return {
        table: sorted(
            str(tuple(row)) for row in rows(conn, f"SELECT * FROM performance_schema.{table}")
        )
        for table in ("setup_actors", "setup_objects", "setup_threads", *STATES)
    }


def refused(session: Any, sql: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute(sql)


# --- switching ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "regex"),
    [
        ("wait/lock", "wait/lock"),
        ("%", ""),
        ("_dle", ".dle"),
        ("/sql/s%t", "/sql/s.*t"),
        ("no such", "no such"),
    ],
)
def test_instruments(admin: Any, pattern: str, regex: str) -> None:
    """Those whose name contains it, with their times, and no other; the number is that of changes."""
    before = states(admin, "setup_instruments")
    chosen = {name for name in before if re.search(regex, name)}
    on = {name for name in chosen if "YES" in before[name]}
    said = one(admin, "CALL sys.ps_setup_disable_instrument(%s)", pattern)
    assert said == f"Disabled {len(on)} instrument{'' if len(on) == 1 else 's'}"
    for name, state in states(admin, "setup_instruments").items():
        no = ("NO", None if before[name][1] is None else "NO")
        assert state == (no if name in chosen else before[name]), name
    assert (
        one(admin, "CALL sys.ps_setup_disable_instrument(%s)", pattern) == "Disabled 0 instruments"
    )
    said = one(admin, "CALL sys.ps_setup_enable_instrument(%s)", pattern)
    assert said == f"Enabled {len(chosen)} instrument{'' if len(chosen) == 1 else 's'}"
    for name, state in states(admin, "setup_instruments").items():
        yes = ("YES", None if before[name][1] is None else "YES")
        assert state == (yes if name in chosen else before[name]), name


@pytest.mark.parametrize(
    ("pattern", "regex"), [("waits", "waits"), ("", ""), ("history\\_l", "history_l")]
)
def test_consumers(admin: Any, pattern: str, regex: str) -> None:
    before = states(admin, "setup_consumers")
    chosen = {name for name in before if re.search(regex, name)}
    off = {name for name in chosen if before[name][0] == "NO"}
    said = one(admin, "CALL sys.ps_setup_enable_consumer(%s)", pattern)
    assert said == f"Enabled {len(off)} consumers"
    assert {n for n, s in states(admin, "setup_consumers").items() if s[0] == "NO"} == {
        name for name in before if before[name][0] == "NO" and name not in off
    }
    said = one(admin, "CALL sys.ps_setup_disable_consumer(%s)", pattern)
    assert said == f"Disabled {len(chosen)} consumers"


@pytest.mark.parametrize("pattern", HOSTILE)
def test_patterns_are_values(admin: Any, pattern: str) -> None:
    before = snapshot(admin)
    for what in ("instrument", "consumer"):
        for switch in ("enable", "disable"):
            said = one(admin, f"CALL sys.ps_setup_{switch}_{what}(%s)", pattern)
            assert said == f"{switch.title()}d 0 {what}s"
    assert snapshot(admin) == before


def test_nothing_given(admin: Any) -> None:
    for call in ("enable_instrument(NULL)", "disable_consumer(NULL)", "enable_thread(NULL)"):
        with pytest.raises(errors.NullValueNotAllowed, match="must not be null"):
            admin.execute(f"CALL sys.ps_setup_{call}")
    with pytest.raises(errors.InvalidParameterValue, match='there is no "stone" to switch'):
        admin.execute("SELECT sys.ps_setup_switch('stone', 'x', true)")


def test_threads(admin: Any, plain: Any) -> None:
    """One session, or all processes without a client."""
    pid = plain.info.backend_pid
    state = "SELECT sys.ps_is_thread_instrumented(%s)"
    background = (
        "SELECT count(*) FILTER (WHERE instrumented = 'YES') FROM performance_schema.threads "
        "WHERE type = 'BACKGROUND'"
    )
    assert one(admin, "CALL sys.ps_setup_disable_thread(%s)", pid) == "Disabled 1 thread"
    assert one(admin, state, pid) == "NO" and one(admin, state, admin.info.backend_pid) == "YES"
    assert one(admin, "CALL sys.ps_setup_enable_thread(%s)", pid) == "Enabled 1 thread"
    assert one(admin, state, pid) == "YES"
    assert one(admin, "CALL sys.ps_setup_enable_thread(0)") == "Enabled 0 threads"
    there = one(admin, background)
    assert there > 2
    said = one(admin, "CALL sys.ps_setup_disable_background_threads()")
    assert re.fullmatch(r"Disabled \d+ background threads", said)
    assert one(admin, background) == 0 and one(admin, state, pid) == "YES"
    admin.execute("CALL sys.ps_setup_enable_background_threads()")
    assert one(admin, background) >= there


def test_what_is_shown(admin: Any) -> None:
    """All of it is in one of the two lists, as the tables have it."""
    admin.execute("CALL sys.ps_setup_disable_instrument('statement/com')")
    admin.execute("SELECT performance_schema.set_actor('someone', '%', 'NO')")
    shown: dict[str, Any] = {}
    for word, yes in (("enabled", "YES"), ("disabled", "NO")):
        for what in ("instruments", "consumers"):
            found = admin.execute(f"SELECT * FROM sys.ps_setup_show_{word}_{what}()").fetchall()
            expected = states(admin, f"setup_{what}")
            assert [row[0] for row in found] == sorted(
                n for n, s in expected.items() if s[0] == yes
            )
            if what == "instruments":
                assert all(expected[name] == (yes, timed) for name, timed in found)
        shown[word] = rows(admin, f"SELECT * FROM sys.ps_setup_show_{word}(true, true)")
        brief = rows(admin, f"SELECT * FROM sys.ps_setup_show_{word}()")
        assert brief == [r for r in shown[word] if r.kind in ("user", "object", "consumer")]
    for table, kind in (("setup_actors", "user"), ("setup_objects", "object"), ("threads", " thread"),
                        ("setup_instruments", "instrument"), ("setup_consumers", "consumer")):  # fmt: skip
        both = [row for found in shown.values() for row in found if row.kind.endswith(kind)]
        assert len(both) == one(admin, f"SELECT count(*) FROM performance_schema.{table}")
    assert ("user", "someone@%", None) in [tuple(row) for row in shown["disabled"]]
    assert ("object", "TABLE pg_catalog.%", "NO") in [tuple(row) for row in shown["disabled"]]


# --- saving ---------------------------------------------------------------------------------------

THROWN = """
SELECT performance_schema.set_instruments('%', 'NO', 'NO');
SELECT performance_schema.set_consumers('%', 'YES');
SELECT performance_schema.set_thread_classes('%', 'NO', 'NO');
SELECT performance_schema.set_actor('someone', 'somewhere', 'NO', 'YES');
SELECT performance_schema.drop_actor('%', '%');
SELECT performance_schema.set_object('TABLE', 'public', 'kept', 'NO', 'NO');
SELECT performance_schema.drop_object('TABLE', 'pg_catalog', '%');
SELECT performance_schema.set_thread(sys.ps_thread_id(NULL), 'NO', 'NO')
"""


def test_save_and_reload(admin: Any) -> None:
    for thrown in ("SELECT", "SELECT performance_schema.set_consumers('events%', 'NO')"):
        admin.execute(thrown)
        before = snapshot(admin)
        admin.execute("CALL sys.ps_setup_save()")
        admin.execute(THROWN)
        assert all(snapshot(admin)[table] != before[table] for table in before)
        admin.execute("CALL sys.ps_setup_reload_saved()")
        assert snapshot(admin) == before
        assert one(admin, "SELECT sys.ps_is_thread_instrumented(pg_backend_pid())") == "YES"


def test_no_rules_are_saved_too(admin: Any) -> None:
    admin.execute("TRUNCATE performance_schema.setup_actors")
    admin.execute("CALL sys.ps_setup_save()")
    admin.execute("SELECT performance_schema.set_actor('someone', '%', 'YES')")
    admin.execute("CALL sys.ps_setup_reload_saved()")
    assert one(admin, "SELECT count(*) FROM performance_schema.setup_actors") == 0


def test_one_saves_at_a_time(server: Any, admin: Any) -> None:
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="has saved no switches"):
        admin.execute("CALL sys.ps_setup_reload_saved()")
    admin.execute("CALL sys.ps_setup_save(0)")
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="has saved the switches already"):
        admin.execute("CALL sys.ps_setup_save(0)")
    with server.connect() as other:
        for wait in (0, 1):
            with pytest.raises(errors.LockNotAvailable, match="another session has saved"):
                other.execute("CALL sys.ps_setup_save(%s::int)", (wait,))
        admin.execute("CALL sys.ps_setup_reload_saved()")
        other.execute("CALL sys.ps_setup_save(0)")
    admin.execute("CALL sys.ps_setup_save(20)")  # the other session has ended
    admin.execute("CALL sys.ps_setup_reload_saved()")


def test_reset_to_default(server: Any, admin: Any) -> None:
    before = snapshot(admin)
    admin.execute(THROWN)
    told: list[Any] = []
    admin.add_notice_handler(lambda notice: told.append(notice.message_primary))
    admin.execute("CALL sys.ps_setup_reset_to_default(true)")
    assert snapshot(admin) == before
    assert [text.split(": ")[0] for text in told] == ["Resetting"] * 6
    assert not rows(
        admin, "SELECT 1 FROM performance_schema.threads WHERE 'NO' IN (instrumented, history)"
    )


@pytest.mark.parametrize("setup", ["[]", "null", '"x"', "1"])
def test_restoring_nonsense(admin: Any, setup: str) -> None:
    before = snapshot(admin)
    with pytest.raises(errors.InvalidParameterValue, match="these are no switches"):
        admin.execute("CALL sys.ps_setup_restore(%s)", (setup,))
    admin.execute("""CALL sys.ps_setup_restore('{"setup_consumers": [{"name": "no such", "enabled": "YES"},
        {"name": "''; DROP TABLE kept; --"}], "threads": [{"thread_id": 0, "instrumented": "NO"}]}')""")  # fmt: skip
    assert snapshot(admin) == before


@pytest.mark.timeout(120)
def test_on_a_standby(new_cluster: Callable[..., Any], new_standby: Callable[..., Any]) -> None:
    """Switching, saving, emptying and the reports work there; what would make tables is left out."""
    primary = new_cluster()
    standby = new_standby(primary)
    standby.wait_replayed(primary)
    with standby.connect() as conn:
        before = snapshot(conn)
        conn.execute("CALL sys.ps_setup_save()")
        assert one(conn, "CALL sys.ps_setup_disable_instrument('idle')") == "Disabled 1 instrument"
        assert one(conn, "CALL sys.ps_setup_enable_consumer('waits')") == "Enabled 3 consumers"
        conn.execute("CALL sys.ps_setup_reload_saved()")
        conn.execute("CALL sys.ps_setup_disable_background_threads()")
        conn.execute("CALL sys.ps_setup_reset_to_default()")
        assert snapshot(conn) == before
        assert one(conn, "CALL sys.ps_truncate_all_tables()").startswith("Truncated ")
        assert one(conn, "SELECT count(*) FROM sys.diagnostics(0, 1, 'full')") > 50
        assert one(conn, "SELECT sys.format_statement('SELECT 1')") == "SELECT 1"
        assert (
            one(conn, "SELECT count(*) FROM sys.statement_performance_analyzer('overall', 'NOW()')")
            > 0
        )
        with pytest.raises(errors.ReadOnlySqlTransaction):
            conn.execute("SELECT * FROM sys.statement_performance_analyzer('snapshot')")
        assert snapshot(conn) == before


# --- emptying, other schemas ----------------------------------------------------------------------


def test_truncate_all_tables(admin: Any) -> None:
    admin.execute("SELECT a AS counted FROM kept")
    counted = f"SELECT count(*) FROM {DIGESTS} WHERE digest_text ~ 'AS `counted`'"
    assert one(admin, counted) == 1
    told: list[Any] = []
    admin.add_notice_handler(lambda notice: told.append(notice.message_primary))
    said = one(admin, "CALL sys.ps_truncate_all_tables(true)")
    tables = rows(
        admin,
        "SELECT relname FROM pg_class WHERE relnamespace = 'performance_schema'::regnamespace "
        "AND relkind = 'f' AND relname ~ '_(summary|history|histogram)'",
    )
    assert said == f"Truncated {len(tables)} tables" and len(tables) > 35
    assert sorted(told) == sorted(f"Truncating: performance_schema.{row.relname}" for row in tables)
    assert one(admin, counted) == 0
    assert one(admin, "SELECT count(*) FROM performance_schema.setup_actors") == 1


def test_synonym(admin: Any, plain: Any) -> None:
    """A schema of views, with any names; the caller of a view needs the rights on what it shows."""
    admin.execute("""CREATE SCHEMA "o'd""d"; CREATE TABLE "o'd""d"."t'""t" AS SELECT 7 AS a;
        CREATE VIEW "o'd""d".v AS SELECT 8 AS b; CREATE SEQUENCE "o'd""d".s""")  # fmt: skip
    given = """o'd"d"""
    for name in ("short", "'; DROP TABLE kept; --"):
        said = one(admin, "CALL sys.create_synonym_db(%s, %s)", given, name)
        assert said == f'Created 2 views in the "{name}" schema'
        with pytest.raises(errors.DuplicateSchema):
            admin.execute("CALL sys.create_synonym_db(%s, %s)", (given, name))
    assert one(admin, """SELECT a FROM short."t'""t" """) == 7
    assert one(admin, "SELECT b FROM short.v") == 8
    admin.execute(
        "GRANT USAGE ON SCHEMA short TO plain; GRANT SELECT ON ALL TABLES IN SCHEMA short TO plain"
    )
    refused(plain, """SELECT * FROM short."t'""t" """)
    for missing in ("no such", None):
        with pytest.raises(errors.InvalidSchemaName):
            admin.execute("CALL sys.create_synonym_db(%s, 'x')", (missing,))
    with pytest.raises(errors.NullValueNotAllowed):
        admin.execute("CALL sys.create_synonym_db('public', NULL)")
    refused(plain, "CALL sys.create_synonym_db('performance_schema', 'mine')")
    admin.execute("CALL sys.create_synonym_db('performance_schema', 'ps')")
    assert one(admin, "SELECT count(*) FROM ps.threads") > 0
    admin.execute("""DROP SCHEMA "o'd""d", short, ps, "'; DROP TABLE kept; --" CASCADE""")


def test_table_exists(admin: Any) -> None:
    admin.execute(
        "CREATE TEMP TABLE passing (a int); CREATE MATERIALIZED VIEW seen AS SELECT 1 AS a"
    )
    expected = {
        ("public", "kept"): "BASE TABLE",
        ("sys", "version"): "VIEW",
        ("public", "seen"): "MATERIALIZED VIEW",
        ("performance_schema", "threads"): "FOREIGN TABLE",
        ("pg_temp", "passing"): "TEMPORARY",
        ("public", "passing"): "",
        ("public", "kept'; DROP TABLE kept; --"): "",
        ("no such", "kept"): "",
    }
    for (schema, table), kind in expected.items():
        assert one(admin, "SELECT sys.table_exists(%s, %s)", schema, table) == kind
    admin.execute("DROP MATERIALIZED VIEW seen")


# --- tracing --------------------------------------------------------------------------------------

NODE = re.compile(
    r'(\d+) \[fillcolor=(\w+), label="((?:[^"\\]|\\.)*)", tooltip="((?:[^"\\]|\\.)*)"\];'
)
EDGE = re.compile(r"(\d+) -> (\d+);")


def graph(lines: list[str]) -> tuple[dict[int, tuple[str, ...]], list[tuple[int, ...]]]:
    """Nodes and edges of a text for dot; every line must be one of its language."""
    assert lines[0].startswith("digraph events {") and lines[-1] == "}"
    nodes, edges = {}, []
    for line in lines[1:-1]:
        if found := NODE.fullmatch(line):
            assert int(found[1]) not in nodes, line
            nodes[int(found[1])] = found.groups()[1:]
        elif found := EDGE.fullmatch(line):
            edges.append(tuple(int(number) for number in found.groups()))
        else:
            assert line.startswith(("// ", "node [")) and "\n" not in line, line
    return nodes, edges


def trace(conn: Any, thread: int, *arguments: Any) -> list[str]:
    given = ", ".join(["%s", *("%s" for _ in arguments)])
    return [
        row.dot
        for row in rows(conn, f"SELECT * FROM sys.ps_trace_thread({given})", thread, *arguments)
    ]


def test_graph_of_a_thread(server: Any, admin: Any) -> None:
    """Each event is a node, below the one around it; names and texts cannot end theirs."""
    odd = "a\"b\\\\c\\'];\n}"
    with Watched(server, admin) as watched:
        watched.run("BEGIN")
        watched.run("SELECT '" + odd.replace("'", "''") + "' AS odd")
        watched.run("SELECT 1 / 0")
        watched.run("ROLLBACK")
        events = {event.event_id: event for event in watched.events()}
        nodes, edges = graph(trace(admin, watched.thread_id, 0))
    assert events.keys() <= nodes.keys()
    above = dict((to, source) for source, to in edges)
    for number, event in events.items():
        assert above.get(number) == event.nesting_event_id
        assert event.event_name in nodes[number][1]
        assert nodes[number][0] == ("tomato" if event.returned_sqlstate else "lightblue")
    [shown] = [node for node in nodes.values() if "AS odd" in node[2]]
    assert re.sub(
        r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], shown[2]
    ) == f"SELECT '{odd}' AS odd".replace("\\'", "\\''")


@pytest.mark.timeout(60)
def test_trace_while_it_works(server: Any, admin: Any) -> None:
    """More than its history keeps, in several looks, with waits; then the switches are as before."""
    before = snapshot(admin)
    lines: list[str] = []
    with Watched(server, admin) as watched, server.connect() as tracer:
        watched.run("SELECT 'earlier' AS earlier")
        arguments = (watched.thread_id, 20, 0.05, True, True)
        thread = threading.Thread(target=lambda: lines.extend(trace(tracer, *arguments)))
        thread.start()
        wait_for_state(admin, tracer.info.backend_pid, "wait_event = 'PgSleep'")
        for number in range(400):
            watched.conn.execute(f"SELECT {number} AS number FROM kept WHERE a = 1")
        watched.conn.close()
        thread.join()
    nodes, edges = graph(lines)
    texts = [node[2] for node in nodes.values()]
    assert not [text for text in texts if "earlier" in text]
    assert len({text for text in texts if "AS number" in text}) > 250  # of a burst some fall out
    assert [node for node in nodes.values() if node[0] == "lightyellow"]
    assert edges
    assert snapshot(admin) == before


@pytest.mark.parametrize(
    "call",
    [
        "ps_trace_thread({thread}, 100, 0.1, false, true)",
        "ps_trace_statement_digest('x', 100, 0.1, false, true)",
        "diagnostics(100, 0.1, 'full')",
    ],
)
def test_switches_come_back_after_cancel(server: Any, admin: Any, call: str) -> None:
    before = snapshot(admin)
    with server.connect() as other:
        sql = f"SELECT * FROM sys.{call.format(thread=thread_of(admin, admin))}"
        other.pgconn.send_query(sql.encode())
        wait_for_state(admin, other.info.backend_pid, "wait_event = 'PgSleep'")
        assert snapshot(admin) != before
        admin.execute("SELECT pg_cancel_backend(%s)", (other.info.backend_pid,))
        result = other.pgconn.get_result()
        assert b"canceling statement" in result.error_message
        assert other.pgconn.get_result() is None
        assert one(other, "SELECT sys.ps_is_thread_instrumented(pg_backend_pid())") == "YES"
    assert snapshot(admin) == before


@pytest.mark.parametrize("call", ["ps_trace_thread(0)", "ps_trace_thread(NULL)", "ps_trace_thread({t}, -1)",
    "ps_trace_thread({t}, 1, 0)", "ps_trace_thread({t}, NULL)", "ps_trace_statement_digest(NULL)",
    "ps_trace_statement_digest('x', -1)", "ps_trace_statement_digest('x', 1, 0)", "diagnostics(-1)",
    "diagnostics(1, 0)", "diagnostics(1, 1, 'x')", "diagnostics(1, 1, NULL)", "diagnostics(NULL)",
    "statement_performance_analyzer('x')", "statement_performance_analyzer(NULL)",
    "statement_performance_analyzer('delta')", "statement_performance_analyzer('save', 'now()')",
    "statement_performance_analyzer('create_tmp')", "statement_performance_analyzer('create_tmp', 'a.b')",
    "statement_performance_analyzer('create_table', 'a')", "statement_performance_analyzer('overall', 'a.b.c')",
    "statement_performance_analyzer('overall', 'kept; DROP TABLE kept')"])  # fmt: skip
def test_wrong_arguments(admin: Any, call: str) -> None:
    before = snapshot(admin)
    with pytest.raises(errors.InvalidParameterValue):
        admin.execute("SELECT * FROM sys." + call.format(t=thread_of(admin, admin)))
    assert snapshot(admin) == before
    assert one(admin, "SELECT sys.ps_is_thread_instrumented(pg_backend_pid())") == "YES"


@pytest.mark.timeout(60)
def test_trace_of_a_digest(server: Any, admin: Any) -> None:
    """Exactly the executions that came meanwhile, in whatever session."""
    admin.execute("SELECT a AS traced FROM kept WHERE a > 90")
    digest = one(admin, f"SELECT digest FROM {DIGESTS} WHERE digest_text ~ 'AS `traced` FROM'")
    before = snapshot(admin)
    found: list[Any] = []
    call = "SELECT * FROM sys.ps_trace_statement_digest(%s, 6, 0.05, true, true)"
    with server.connect() as tracer, server.connect(user="plain") as other:
        admin.execute("GRANT SELECT ON kept TO plain")
        thread = threading.Thread(target=lambda: found.extend(rows(tracer, call, digest)))
        thread.start()
        wait_for_state(admin, tracer.info.backend_pid, "wait_event = 'PgSleep'")
        for number in range(10):
            (admin, other)[number % 2].execute("SELECT a AS traced FROM kept WHERE a > 95")
        other.execute("SELECT a AS traced FROM kept WHERE a > 0 -- slow")
        thread.join()
    shown = {(row.section, row.name): row.value for row in found}
    assert shown["summary", "executions"] == "11"
    assert shown["summary", "rows_sent"] == str(10 * 5 + 100)
    assert shown["summary", "rows_examined"] == "1100"
    assert shown["summary", "full_scans"] == "11"
    assert shown["longest", "sql_text"].startswith("SELECT a AS traced FROM kept")
    waits = rows(
        admin,
        "SELECT event_name FROM performance_schema.events_waits_summary_by_digest "
        f"WHERE digest = '{digest}'",
    )
    assert (
        {row.name for row in found if row.section == "waits"}
        == {row.event_name for row in waits}
        != set()
    )
    assert shown["longest: waits", "wait/io/table/sql/handler"].startswith("1, ")
    assert snapshot(admin) == before


def test_histogram(admin: Any) -> None:
    """Its buckets hold each digest once."""
    lines = [
        row.histogram
        for row in rows(admin, "SELECT * FROM sys.ps_statement_avg_latency_histogram()")
    ]
    buckets = [re.fullmatch(r" ?\((.+) - (.+)\) +(\d+) \| ([.*#]*)", line) for line in lines[3:-1]]
    assert len(buckets) == 16 and all(buckets)
    total = int(
        re.fullmatch(r"  Total Statements: (\d+); Buckets: 16; Bucket Size: .+", lines[-1])[1]
    )
    assert sum(int(found[3]) for found in buckets) == total > 0
    for found in buckets:
        count = int(found[3])
        assert len(found[4]) == (
            count if count < 40 else count // 2 if count < 80 else len(found[4])
        )
    admin.execute(f"TRUNCATE {DIGESTS}")
    lines = [
        row.histogram
        for row in rows(admin, "SELECT * FROM sys.ps_statement_avg_latency_histogram()")
    ]
    assert len(lines) == 20


# --- reports --------------------------------------------------------------------------------------

ANALYZE = "SELECT * FROM sys.statement_performance_analyzer"


def test_statements_over_a_snapshot_and_since(admin: Any) -> None:
    """Overall is the views' own content; delta what came between two snapshots."""
    admin.execute("CALL sys.ps_truncate_all_tables()")
    admin.execute("SELECT count(*) AS old FROM kept")
    admin.execute(f"{ANALYZE}('snapshot')")
    admin.execute(f"""{ANALYZE}('create_tmp', '"Be''fore"')""")
    admin.execute(f"""{ANALYZE}('save', '"Be''fore"')""")
    for _ in range(3):
        admin.execute("SELECT count(*) AS old FROM kept")
        admin.execute("SELECT a AS new FROM kept ORDER BY a")
    with pytest.raises(errors.DivisionByZero):
        admin.execute("SELECT 1 / 0 AS failing")
    admin.execute(f"{ANALYZE}('snapshot')")
    found = rows(admin, f"""{ANALYZE}('delta', '"Be''fore"')""")
    counts = {
        re.search(r"AS `(old|new|failing)`", row.query)[1]: row.figures["exec_count"]
        for row in found
        if row.view_name == "statement_analysis" and re.search(r"AS `(old|new|failing)`", row.query)
    }
    assert counts == {"old": 3, "new": 3, "failing": 1}
    views = {row.view_name for row in found}
    assert {"statements_with_errors_or_warnings", "statements_with_sorting"} <= views
    [failing] = [row for row in found if row.view_name == "statements_with_errors_or_warnings"]
    assert failing.figures["errors"] == 1 and failing.db == "postgres"
    overall = rows(admin, f"{ANALYZE}('overall', NULL, 'analysis')")
    assert {row.view_name for row in overall} == {"statement_analysis"}
    [old] = [row for row in overall if "AS `old`" in row.query]
    assert old.figures["exec_count"] == 4
    # what it does itself is in none of them
    assert not [row for row in overall if re.search("tmp_digests|pg_get_viewdef", row.query)]
    admin.execute('SET sys.statement_performance_analyzer."limit" = 2')
    assert {row.line for row in rows(admin, f"{ANALYZE}('overall', 'NOW()')")} == {1, 2}
    admin.execute(f"{ANALYZE}('cleanup')")
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="there is no snapshot"):
        admin.execute(f"""{ANALYZE}('delta', '"Be''fore"')""")


def test_statements_kept_in_a_table(admin: Any, server: Any) -> None:
    admin.execute("CREATE SCHEMA kept_digests")
    admin.execute(f"{ANALYZE}('create_table', 'kept_digests.monday')")
    with pytest.raises(errors.DuplicateTable):
        admin.execute(f"{ANALYZE}('create_table', 'kept_digests.monday')")
    admin.execute("SELECT max(a) AS monday FROM kept")
    admin.execute(f"{ANALYZE}('save', 'kept_digests.monday')")
    admin.execute(f"TRUNCATE {DIGESTS}")
    with server.connect() as later:
        found = rows(later, f"{ANALYZE}('overall', 'kept_digests.monday', 'analysis')")
        assert [row for row in found if "AS `monday`" in row.query]
        later.execute("SELECT max(a) AS monday FROM kept")
        later.execute(f"{ANALYZE}('snapshot')")
        found = rows(later, f"{ANALYZE}('delta', 'kept_digests.monday', 'analysis')")
        [monday] = [row for row in found if "AS `monday`" in row.query]
        assert monday.figures["exec_count"] == 1  # the table was emptied: all of it
    admin.execute("DROP SCHEMA kept_digests CASCADE")


@pytest.mark.parametrize("columns", ["digest_text, count_star", "s.digest_text, s.count_star"])
def test_a_view_of_ones_own(admin: Any, columns: str) -> None:
    alias = " AS s" if "s." in columns else " JOIN pg_database ON datname = schema_name"
    admin.execute(f'CREATE VIEW "my view" AS SELECT {columns} FROM {DIGESTS}{alias}')
    admin.execute("""SET sys.statement_performance_analyzer.view = 'public."my view"'""")
    admin.execute(f"{ANALYZE}('snapshot')")
    expected = one(admin, "SELECT count(*) FROM pg_temp.tmp_digests")
    found = rows(admin, f"{ANALYZE}('overall', NULL, 'custom')")
    assert len(found) == min(expected, 100)
    assert found[0].view_name == 'public."my view"' and "count_star" in found[0].figures
    for wrong in ("public.kept", "(SELECT 1)", "x; DROP TABLE kept"):
        admin.execute(
            "SELECT set_config('sys.statement_performance_analyzer.view', %s, false)", (wrong,)
        )
        with pytest.raises(psycopg.Error):
            admin.execute(f"{ANALYZE}('overall', NULL, 'custom')")
    admin.execute('DROP VIEW "my view"')


def test_diagnostics(server: Any, admin: Any, plain: Any) -> None:
    """Every view of sys is in it, with what was counted meanwhile; no password."""
    admin.execute("SET custom.secret = 'hush'")
    quick = r"viewname !~ '^x\$' AND viewname !~ '^schema_(object|auto|redundant|unused)'"
    views = rows(admin, f"SELECT viewname FROM pg_views WHERE schemaname = 'sys' AND {quick}")
    filled = {v.viewname for v in views if one(admin, f"SELECT count(*) FROM sys.{v.viewname}")}
    found = rows(admin, "SELECT * FROM sys.diagnostics(0.2, 0.1)")
    sections = {row.section for row in found}
    assert sections >= {
        "server", "settings", "setup_actors", "setup_consumers", "setup_objects", "setup_instruments",
        "threads", "counters",
    }  # fmt: skip
    assert len(filled) > 25
    assert {f"{view} at {when}" for view in filled for when in ("start", "end")} <= sections
    assert "schema_object_overview at end" not in sections
    assert not [row for row in found if "hush" in str(row.content)]
    settings = {
        row.content["name"]: row.content["setting"] for row in found if row.section == "settings"
    }
    assert settings["shared_preload_libraries"] == "performance_schema"
    admin.execute(
        "SET sys.diagnostics.include_raw = 'ON'; SET sys.diagnostics.allow_i_s_tables = 'ON'"
    )
    raw = {row.section for row in rows(admin, "SELECT * FROM sys.diagnostics(0, 1)")}
    assert {"x$statement_analysis at start", "schema_object_overview at start"} <= raw
    own = f"SELECT count(*) FROM {DIGESTS} WHERE digest_text ~ 'row_to_json|tmp_digests'"
    admin.execute(f"TRUNCATE {DIGESTS}")
    admin.execute("SELECT * FROM sys.diagnostics(0, 1, 'medium')")
    assert one(admin, own) == 0  # it does not count itself


def test_counters_of_diagnostics(server: Any, admin: Any) -> None:
    """What happens while it looks is in it."""
    found: list[Any] = []
    with server.connect() as reporter, server.connect() as worker:
        call = "SELECT section, content FROM sys.diagnostics(6, 0.1)"
        thread = threading.Thread(target=lambda: found.extend(rows(reporter, call)))
        thread.start()
        wait_for_state(admin, reporter.info.backend_pid, "wait_event = 'PgSleep'")
        for _ in range(50):
            worker.execute("SELECT count(*) AS meanwhile FROM kept")
        thread.join()
    changes = {
        (row.content["name"], row.content["counter"]): row.content["change"]
        for row in found
        if row.section == "counters"
    }
    assert 50 <= changes["statement/sql/select", "count_star"] < 100
    delta = [row.content for row in found if row.section == "statement_analysis meanwhile"]
    [entry] = [it for it in delta if "AS `meanwhile`" in it["query"]]
    assert entry["figures"]["exec_count"] == 50


# --- rights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["ps_setup_enable_instrument('wait/synch')", "ps_setup_disable_consumer('events')",
    "ps_setup_disable_thread({pid})", "ps_setup_reset_to_default()", "ps_truncate_all_tables()",
    "ps_setup_restore('{{\"setup_consumers\": []}}')", "ps_setup_restore(sys.ps_setup_default())"])  # fmt: skip
def test_switches_are_the_owners(admin: Any, plain: Any, call: str) -> None:
    before = snapshot(admin)
    refused(plain, "CALL sys." + call.format(pid=plain.info.backend_pid))
    assert snapshot(admin) == before


def test_what_is_granted_can_be_switched(admin: Any, plain: Any) -> None:
    function = "FUNCTION performance_schema.set_consumers(text, text)"
    admin.execute(f"GRANT EXECUTE ON {function} TO plain")
    try:
        assert one(plain, "CALL sys.ps_setup_enable_consumer('waits')") == "Enabled 3 consumers"
        refused(plain, "CALL sys.ps_setup_enable_instrument('wait')")
    finally:
        admin.execute(f"REVOKE EXECUTE ON {function} FROM plain")


def test_a_plain_user_looks_at_own_sessions(server: Any, admin: Any, plain: Any) -> None:
    admin.execute("SELECT 'hush' AS secret_of_admin FROM kept")
    with pytest.raises(errors.InvalidParameterValue, match="there is no thread"):
        plain.execute("SELECT * FROM sys.ps_trace_thread(%s, 0)", (thread_of(admin, admin),))
    with server.connect(user="plain") as second:
        second.execute("SELECT 'mine' AS of_plain")
        nodes, _ = graph(trace(plain, thread_of(admin, second), 0))
        assert [node for node in nodes.values() if "of_plain" in node[2]]
    digest = one(
        admin, f"SELECT digest FROM {DIGESTS} WHERE digest_text ~ 'AS `secret_of_admin` FROM'"
    )
    reports = [
        rows(plain, "SELECT * FROM sys.diagnostics(0, 1)"),
        rows(plain, "SELECT * FROM sys.ps_trace_statement_digest(%s, 0)", digest),
        rows(plain, "SELECT * FROM sys.ps_setup_show_enabled(true, true)"),
        rows(plain, "SELECT * FROM sys.ps_statement_avg_latency_histogram()"),
        rows(plain, f"{ANALYZE}('overall', 'now()')"),
        rows(plain, "SELECT sys.ps_setup_snapshot()"),
    ]
    for report in reports:
        assert report and "secret_of_admin" not in str(report) and "hush" not in str(report)
    refused(plain, "SELECT * FROM sys.diagnostics(0, 1, 'medium')")
    refused(
        plain, f"SELECT * FROM sys.ps_trace_thread({thread_of(admin, plain)}, 0, 1, true, true)"
    )
    assert one(admin, "SELECT sys.ps_is_thread_instrumented(%s)", plain.info.backend_pid) == "YES"


def test_nothing_without_the_library(new_cluster: Callable[..., Any]) -> None:
    """Disabled: empty, or a clear error; not loaded: an error that says so."""
    with new_cluster(performance_schema__enabled=False).connect() as conn:
        assert rows(conn, "SELECT * FROM sys.ps_setup_show_enabled_instruments()") == []
        assert one(conn, "CALL sys.ps_setup_enable_instrument('wait')") == "Enabled 0 instruments"
        conn.execute("CALL sys.ps_truncate_all_tables()")
        assert one(conn, "SELECT count(*) FROM sys.ps_statement_avg_latency_histogram()") == 20
    with new_cluster(preload=False).connect() as conn:
        for call in (
            "SELECT * FROM sys.ps_setup_show_enabled()",
            "CALL sys.ps_setup_enable_consumer('x')",
        ):
            with pytest.raises(
                errors.ObjectNotInPrerequisiteState, match="shared_preload_libraries"
            ):
                conn.execute(call)
