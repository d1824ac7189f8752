"""Functions of sys and sys_config: each against another source, with hostile input and plain users."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from helpers import Watched, consumers, one, rows, thread_of
from psycopg import errors, sql

HOST = "127.0.0.1"
"""Of the tests' connections."""
HOSTILE = (
    "",
    "'",
    '"',
    "\\",
    "%",
    "x'; DROP TABLE sys_kept; --",
    '"; DROP TABLE sys_kept; --',
    "ä€\n",
)


@pytest.fixture(scope="module", autouse=True)
def objects(cluster: Any) -> Iterator[None]:
    with cluster.connect() as admin:
        admin.execute(
            """CREATE ROLE sys_plain LOGIN;
            CREATE TABLE sys_kept (a int);
            CREATE SCHEMA "sys.Odd";
            CREATE TABLE "sys.Odd"."Long ""t" (a int PRIMARY KEY, b text);
            INSERT INTO "sys.Odd"."Long ""t" SELECT g, repeat('x', 10) FROM generate_series(1, 10) g;
            SET allow_in_place_tablespaces = on"""
        )
        admin.execute("CREATE TABLESPACE sys_space LOCATION ''")
        admin.execute("CREATE TABLE sys_elsewhere (a int) TABLESPACE sys_space")
        yield
        assert one(admin, "SELECT to_regclass('sys_kept') IS NOT NULL")
        admin.execute('DROP TABLE sys_kept, sys_elsewhere; DROP SCHEMA "sys.Odd" CASCADE')
        admin.execute("DROP TABLESPACE sys_space")
        admin.execute("DROP ROLE sys_plain")


@pytest.fixture
def plain(cluster: Any) -> Iterator[Any]:
    with cluster.connect(user="sys_plain") as session:
        yield session


# --- texts ----------------------------------------------------------------------------------------


def test_version(conn: Any) -> None:
    number = conn.info.server_version
    parts = [one(conn, f"SELECT sys.version_{part}()") for part in ("major", "minor", "patch")]
    assert parts == [number // 10000, number % 10000, 0]


@pytest.mark.parametrize("name", [*HOSTILE, "plain", 'a"b""c'])
def test_quote_identifier(conn: Any, name: str) -> None:
    assert one(conn, "SELECT sys.quote_identifier(%s)", name) == sql.Identifier(name).as_string()


@pytest.mark.parametrize(
    ("function", "given", "value", "expected"),
    [
        ("list_add", "a,b", "c", "a,b,c"),
        ("list_add", "", "c", "c"),
        ("list_add", None, "c", "c"),
        ("list_drop", "a, b ,c", "b", "a,c"),
        ("list_drop", "ab,a", "a", "ab"),
        ("list_drop", "a", "a", ""),
        ("list_drop", "a.b,axb", "a.b", "axb"),
        ("list_drop", None, "a", None),
    ],
)
def test_lists(
    conn: Any, function: str, given: str | None, value: str, expected: str | None
) -> None:
    assert one(conn, f"SELECT sys.{function}(%s, %s)", given, value) == expected
    with pytest.raises(errors.NullValueNotAllowed, match=function):
        conn.execute(f"SELECT sys.{function}('a', NULL)")


# --- files ----------------------------------------------------------------------------------------

FILES = """
SELECT pg_relation_filepath(c.oid) AS path, t.relname AS table, n.nspname AS schema
FROM pg_class AS c
LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
LEFT JOIN pg_class AS o ON o.reltoastrelid = coalesce(i.indrelid, c.oid)
JOIN pg_class AS t ON t.oid = coalesce(o.oid, i.indrelid, c.oid)
JOIN pg_namespace AS n ON n.oid = t.relnamespace
WHERE c.relkind IN ('r', 'i', 't', 'm', 'S')
"""
NAMES = (
    "SELECT sys.extract_schema_from_file_name(%s) AS s, sys.extract_table_from_file_name(%s) AS t"
)


def names(conn: Any, path: str) -> tuple[str | None, str | None]:
    [found] = rows(conn, NAMES, path, path)
    return tuple(found)


def test_files_of_tables(conn: Any) -> None:
    """Of every table, index and TOAST table, shared catalogues too; and of their forks."""
    found = rows(conn, FILES)
    assert len(found) > 200
    wrong = rows(
        conn,
        f"SELECT * FROM ({FILES}) AS f WHERE sys.extract_schema_from_file_name(path) "
        'IS DISTINCT FROM schema OR sys.extract_table_from_file_name(path) IS DISTINCT FROM "table"',
    )
    assert wrong == []
    path = one(conn, """SELECT pg_relation_filepath('"sys.Odd"."Long ""t"')""")
    for ending in ("", ".1", "_fsm", "_vm", "_init", "_fsm.12"):
        assert names(conn, path + ending) == ("sys.Odd", 'Long "t')
    elsewhere = one(conn, "SELECT pg_relation_filepath('sys_elsewhere')")
    assert elsewhere.startswith("pg_tblspc/")
    assert names(conn, elsewhere) == ("public", "sys_elsewhere")


def test_files_that_are_none(conn: Any) -> None:
    path = one(conn, "SELECT pg_relation_filepath('sys_kept')")
    base, database, number = path.split("/")
    nobody = (
        *HOSTILE, "pg_wal/(segments)", "base", f"{path}_x", f"{path}/", f"x/{path}", f"/{path}",
        f"{base}/{database}/t3_{number}", f"{base}/1/{number}", f"{base}/{database}/{2**32 - 1}",
        f"{base}/{database}/{2**32}", f"{base}/9999999999/{number}", "global/9999999999", "global/0",
        f"pg_tblspc/{2**33}/PG_1/{database}/{number}",
    )  # fmt: skip
    for name in nobody:
        assert names(conn, name) == (None, None), name
    assert one(conn, "SELECT sys.extract_table_from_file_name(NULL)") is None
    conn.execute("CREATE TABLE sys_gone (a int)")
    path = one(conn, "SELECT pg_relation_filepath('sys_gone')")
    assert names(conn, path) == ("public", "sys_gone")
    conn.execute("DROP TABLE sys_gone")
    assert names(conn, path) == (None, None)


def test_files_with_waits(conn: Any) -> None:
    """Agrees with what the extension knows itself: the relation that a file holds."""
    conn.execute("CHECKPOINT")
    found = rows(
        conn,
        "SELECT file_name, relation_name, sys.table_of_file_name(file_name) AS found, "
        "to_regclass(relation_name)::oid AS own FROM performance_schema.file_instances "
        "WHERE relation_name !~ '^pg_toast' AND to_regclass(relation_name) IS NOT NULL",
    )
    assert found
    for row in found:
        table = "SELECT coalesce((SELECT indrelid FROM pg_index WHERE indexrelid = %s), %s)"
        assert row.found == one(conn, table, row.own, row.own), row


def test_a_locked_table_is_not_waited_for(cluster: Any, conn: Any) -> None:
    path = one(conn, "SELECT pg_relation_filepath('sys_kept')")
    with cluster.connect() as holder:
        holder.execute("BEGIN; LOCK TABLE sys_kept IN ACCESS EXCLUSIVE MODE")
        conn.execute("SET statement_timeout = '5s'")
        assert names(conn, path) == ("public", "sys_kept")
        assert one(conn, "SELECT sys.table_exists('public', 'sys_kept')") == "BASE TABLE"
        holder.execute("ROLLBACK")


def test_format_path(conn: Any, plain: Any) -> None:
    data = one(conn, "SHOW data_directory")
    shown = "SELECT sys.format_path(%s)"
    assert one(conn, shown, f"{data}/base/5/1") == "@@data_directory/base/5/1"
    assert (
        one(plain, shown, f"{data}/base/5/1") == f"{data}/base/5/1"
    )  # he may not know where it is
    for path in (
        *HOSTILE,
        data,
        f"{data}x/y",
        "base/5/1",
        "/tmp/x",
        "pg_tblspc/1/PG_1/1/1",
        "pg_tblspc/x",
    ):
        assert one(conn, shown, path) == path
    path = one(conn, "SELECT pg_relation_filepath('sys_elsewhere')")
    assert one(plain, shown, path) == "@@tablespace sys_space/" + "/".join(path.split("/")[3:])


# --- switches -------------------------------------------------------------------------------------

RULES = [
    ({}, "YES"),
    ({("sys_plain", "%"): "NO"}, "NO"),
    ({("%", HOST): "NO"}, "NO"),
    ({("sys_plain", "%"): "YES", ("%", HOST): "NO"}, "YES"),
    ({("sys_plain", HOST): "NO", ("sys_plain", "%"): "YES"}, "NO"),
    ({("sys_pl%", "%"): "NO", ("other", "%"): "NO"}, "YES"),
]


@pytest.mark.parametrize(("rules", "expected"), RULES)
def test_account_as_at_login(cluster: Any, conn: Any, rules: Any, expected: str) -> None:
    """What it says is what becomes of a new session."""
    for (user, host), enabled in rules.items():
        conn.execute("SELECT performance_schema.set_actor(%s, %s, %s)", (user, host, enabled))
    try:
        assert one(conn, "SELECT sys.ps_is_account_enabled(%s, 'sys_plain')", HOST) == expected
        with cluster.connect(user="sys_plain") as session:
            session.execute("SELECT 1")
            pid = session.info.backend_pid
            assert one(conn, "SELECT sys.ps_is_thread_instrumented(%s)", pid) == expected
    finally:
        for user, host in rules:
            conn.execute("SELECT performance_schema.drop_actor(%s, %s)", (user, host))


def test_account_without_a_rule(conn: Any) -> None:
    conn.execute("SELECT performance_schema.drop_actor('%', '%')")
    try:
        assert one(conn, "SELECT sys.ps_is_account_enabled(%s, 'sys_plain')", HOST) == "NO"
    finally:
        conn.execute("SELECT performance_schema.set_actor('%', '%', 'YES', 'YES')")
    assert one(conn, "SELECT sys.ps_is_account_enabled(NULL, 'x')") is None


PARENTS = {
    "global_instrumentation": "statements_digest thread_instrumentation events_waits_history_long "
    "events_statements_cpu events_transactions_current",
    "thread_instrumentation": "events_statements_current events_statements_history "
    "events_statements_cpu lock_waits_history_long",
    "events_statements_current": "events_statements_history events_statements_history_long",
    "events_transactions_current": "events_transactions_history",
    "events_waits_current": "events_waits_history events_waits_history_long",
}
CONSUMER = "SELECT sys.ps_is_consumer_enabled(%s)"


@pytest.mark.parametrize("parent", PARENTS)
def test_consumers_below_one_that_is_off(conn: Any, parent: str) -> None:
    names = [row.name for row in rows(conn, "SELECT name FROM performance_schema.setup_consumers")]
    with consumers(conn, **dict.fromkeys(names, True)):
        assert {one(conn, CONSUMER, name) for name in names} == {"YES"}
        with consumers(conn, **{parent: False}):
            off = {name for name in names if one(conn, CONSUMER, name) == "NO"}
    below = set(PARENTS[parent].split())
    assert parent in off and below <= off
    if parent.endswith("_current"):
        assert off == {parent} | {
            name for name in names if name.startswith(parent[:-7] + "history")
        }


@pytest.mark.parametrize("name", [*HOSTILE, "no_such", "events_%", "GLOBAL_INSTRUMENTATION"])
def test_no_such_consumer(conn: Any, name: str) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="there is no consumer"):
        conn.execute(CONSUMER, (name,))
    assert one(conn, CONSUMER, None) is None


def test_defaults_are_those_of_a_server_that_starts(new_cluster: Callable[..., Any]) -> None:
    with new_cluster().connect() as conn:
        wrong = rows(
            conn,
            "SELECT name FROM performance_schema.setup_instruments WHERE "
            "enabled <> sys.ps_is_instrument_default_enabled(name) OR "
            "coalesce(timed, 'NO') <> sys.ps_is_instrument_default_timed(name)",
        )
        assert wrong == []
        keys = (
            "setup_actors",
            "setup_consumers",
            "setup_instruments",
            "setup_objects",
            "setup_threads",
        )
        now, default = (
            one(conn, f"SELECT sys.ps_setup_{what}()") for what in ("snapshot", "default")
        )
        for key in keys:
            first, second = (
                sorted(json.dumps(row, sort_keys=True) for row in it[key]) for it in (now, default)
            )
            assert first == second, key


# --- threads --------------------------------------------------------------------------------------


def test_threads(conn: Any, plain: Any) -> None:
    plain.execute("SELECT 1")
    pid, thread = plain.info.backend_pid, thread_of(conn, plain)
    assert one(conn, "SELECT sys.ps_thread_id(%s)", pid) == thread
    assert one(plain, "SELECT sys.ps_thread_id(NULL)") == thread
    assert one(conn, "SELECT sys.ps_thread_account(%s)", thread) == f"sys_plain@{HOST}"
    assert one(conn, "SELECT sys.ps_is_thread_instrumented(%s)", pid) == "YES"
    own = conn.info.backend_pid
    assert one(plain, "SELECT sys.ps_is_thread_instrumented(%s)", own) == "UNKNOWN"
    assert one(plain, "SELECT sys.ps_thread_account(sys.ps_thread_id(%s))", own) is None
    for nobody in (0, -1, 2**62, None):
        assert one(conn, "SELECT sys.ps_thread_id(%s) IS NULL", nobody) == (nobody is not None)
        assert one(conn, "SELECT sys.ps_thread_account(%s)", nobody) is None


def test_thread_stack(cluster: Any, conn: Any, plain: Any) -> None:
    """The events of the histories, each below the one around it."""
    with Watched(cluster, conn) as watched:
        watched.run("BEGIN")
        watched.run("""DO $$ BEGIN PERFORM 'a"b\\'; END $$""")
        watched.run("COMMIT")
        stack = one(conn, "SELECT sys.ps_thread_stack(%s, true)", watched.thread_id)
        expected = {event.event_id: event for event in watched.events()}
        found = {event["event_id"]: event for event in stack["events"]}
        assert expected.keys() <= found.keys()
        for number, event in expected.items():
            assert found[number]["nesting_event_id"] == (event.nesting_event_id or 0)
            assert found[number]["timer_wait"] == pytest.approx(
                float(event.timer_wait) / 1e6, abs=0.01
            )
            assert found[number]["event_info"] == event.sql_text
            assert found[number]["event_name"] == event.event_name
        [inner] = [e for e in found.values() if 'a"b' in e["event_info"]]
        assert found[inner["nesting_event_id"]]["event_name"] == "statement/sql/do"
        transactions = [e for e in found.values() if e["event_type"] == "TRANSACTION"]
        assert transactions[-1]["event_info"] == "COMMITTED, READ WRITE, READ COMMITTED"
        assert (
            "event_type"
            not in one(conn, "SELECT sys.ps_thread_stack(%s)", watched.thread_id)["events"][0]
        )
        assert one(plain, "SELECT sys.ps_thread_stack(%s)", watched.thread_id)["events"] == []
    assert one(conn, "SELECT sys.ps_thread_stack(NULL)") is None


def test_thread_events_of_all_kinds(cluster: Any, conn: Any) -> None:
    """Waits too, once they are kept; each event once, although two histories have it."""
    with (
        consumers(conn, events_waits_current=True, events_waits_history=True),
        consumers(conn, events_waits_history_long=True, events_statements_history_long=True),
        Watched(cluster, conn) as watched,
    ):
        watched.run("CREATE TABLE sys_written AS SELECT 1 AS a")
        found = rows(conn, "SELECT * FROM sys.ps_thread_events(%s)", watched.thread_id)
        watched.run("DROP TABLE sys_written")
    assert {row.event_type for row in found} == {"STATEMENT", "TRANSACTION", "WAIT"}
    numbers = [row.event_id for row in found]
    assert numbers == sorted(set(numbers))
    files = [row.info for row in found if row.event_name.startswith("wait/io/file/")]
    assert any(info.startswith(("write base/", "open base/", "read base/")) for info in files), (
        files
    )


def test_thread_transactions(cluster: Any, conn: Any, plain: Any) -> None:
    info = "SELECT sys.ps_thread_trx_info(%s)"
    with Watched(cluster, conn) as watched:
        watched.run("SELECT 'alone' AS sys_alone")
        watched.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        watched.run("SELECT 'first' AS sys_first")
        watched.run("SELECT count(*) AS sys_second FROM sys_kept")
        open_now = one(conn, info, watched.thread_id)
        watched.run("ROLLBACK")
        found = one(conn, info, watched.thread_id)
        assert open_now[-1]["state"] == "ACTIVE" and found[-1]["state"] == "ROLLED BACK"
        assert found[-1]["isolation"] == "REPEATABLE READ" and found[-1]["autocommitted"] == "NO"
        texts = [statement["sql_text"] for statement in found[-1]["statements_executed"]]
        assert texts[-3:] == [
            "SELECT 'first' AS sys_first",
            "SELECT count(*) AS sys_second FROM sys_kept",
            "ROLLBACK",
        ]
        [alone] = found[-2]["statements_executed"]
        assert (alone["sql_text"], alone["rows_sent"]) == ("SELECT 'alone' AS sys_alone", 1)
        assert found[-2]["autocommitted"] == "YES"
        assert one(plain, info, watched.thread_id) is None
        length = len(json.dumps(found[-1]))
        conn.execute(f"SET sys.ps_thread_trx_info.max_length = {length + 200}")
        assert one(conn, info, watched.thread_id) == found[-1:]  # the youngest that fit
        conn.execute("SET sys.ps_thread_trx_info.max_length = 10")
        assert one(conn, info, watched.thread_id) is None


# --- options --------------------------------------------------------------------------------------


@pytest.fixture
def options(conn: Any) -> Iterator[Any]:
    """A session that may change sys_config; it is put back."""
    before = rows(conn, "SELECT variable, value, set_by FROM sys.sys_config")
    yield conn
    conn.execute("ALTER TABLE sys.sys_config DISABLE TRIGGER sys_config_set")
    conn.execute("DELETE FROM sys.sys_config")
    for row in before:
        conn.execute(
            "INSERT INTO sys.sys_config (variable, value, set_by) VALUES (%s, %s, %s)", tuple(row)
        )
    conn.execute("ALTER TABLE sys.sys_config ENABLE TRIGGER sys_config_set")


GET = "SELECT sys.sys_get_config(%s, 'else')"


def test_options(options: Any, plain: Any) -> None:
    """The session's, else that of the table, else the caller's default."""
    assert one(plain, GET, "statement_truncate_len") == "64"
    assert one(plain, GET, "statement_performance_analyzer.view") == "else"  # it is NULL
    for name in (*HOSTILE, "no.such", "a b", "x" * 5000):
        assert one(plain, GET, name) == "else"
    options.execute("INSERT INTO sys.sys_config (variable, value) VALUES ('sys_mine', 'here')")
    assert one(plain, GET, "sys_mine") == "here"
    plain.execute("SET sys.sys_mine = 'mine'")
    assert one(plain, GET, "sys_mine") == "mine"
    assert one(options, GET, "sys_mine") == "here"
    plain.execute("RESET sys.sys_mine")
    assert one(plain, GET, "sys_mine") == "here"


def test_who_has_set_an_option(options: Any, cluster: Any) -> None:
    entry = "SELECT * FROM sys.sys_config WHERE variable = 'statement_truncate_len'"
    [before] = rows(options, entry)
    assert before.set_by is None
    options.execute("GRANT UPDATE ON sys.sys_config TO sys_plain")
    try:
        with cluster.connect(user="sys_plain") as session:
            session.execute(
                "UPDATE sys.sys_config SET value = '30', set_by = 'somebody', set_time = 'epoch' "
                "WHERE variable = 'statement_truncate_len'"
            )
    finally:
        options.execute("REVOKE UPDATE ON sys.sys_config FROM sys_plain")
    [after] = rows(options, entry)
    assert (after.value, after.set_by) == ("30", "sys_plain")
    assert after.set_time > before.set_time


@pytest.mark.parametrize(
    "value", ["abc", "-1", "1e3", "", "99999999999", "64; DROP TABLE sys_kept"]
)
def test_options_that_are_numbers(options: Any, value: str) -> None:
    update = "UPDATE sys.sys_config SET value = %s WHERE variable = 'statement_truncate_len'"
    with pytest.raises(
        errors.InvalidParameterValue, match='invalid value for "statement_truncate_len"'
    ):
        options.execute(update, (value,))
    options.execute(update, (None,))
    assert one(options, "SELECT length(sys.format_statement(repeat('x', 100)))") <= 65


@pytest.mark.parametrize("statement", ["UPDATE sys.sys_config SET value = '1'", "DELETE FROM sys.sys_config",
                                       "INSERT INTO sys.sys_config VALUES ('a')"])  # fmt: skip
def test_options_are_the_owners(plain: Any, statement: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        plain.execute(statement)


def test_length_of_statements(options: Any, cluster: Any) -> None:
    """That of sys_config for all new sessions; that of the session goes before it."""
    length = "SELECT length(sys.format_statement(repeat('x', 1000)))"
    options.execute(
        "UPDATE sys.sys_config SET value = '100' WHERE variable = 'statement_truncate_len'"
    )
    with cluster.connect(user="sys_plain") as session:
        assert 95 < one(session, length) <= 101
        options.execute(
            "UPDATE sys.sys_config SET value = '20' WHERE variable = 'statement_truncate_len'"
        )
        assert 15 < one(session, length) <= 21
        options.execute("BEGIN; LOCK TABLE sys.sys_config")
        assert 60 < one(session, length) <= 65  # waits for nobody
        options.execute("ROLLBACK")
        session.execute("SET sys.statement_truncate_len = 200")
        assert 195 < one(session, length) <= 201
        [query] = rows(
            session, "SELECT DISTINCT max(length(query)) AS n FROM sys.statement_analysis"
        )
        assert query.n <= 201


def test_format_statement_is_no_statement(cluster: Any, conn: Any) -> None:
    """What it does in a session for the first time, too: it would push out what it is asked about."""
    with Watched(cluster, conn) as watched:
        for _ in range(2):
            events = watched.run("SELECT sys.format_statement(repeat('x', 100)) AS it")
            assert len(events) == 1, events


def test_format_statement_with_parallel_workers(cluster: Any, conn: Any) -> None:
    """Each of them asks for the length."""
    with cluster.connect() as session:
        session.execute(
            "CREATE TABLE sys_parallel AS SELECT repeat('x', 100) AS s FROM generate_series(1, 10000);"
            "SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; "
            "SET parallel_tuple_cost = 0; ANALYZE sys_parallel"
        )
        found = one(session, "SELECT max(length(sys.format_statement(s))) FROM sys_parallel")
        session.execute("DROP TABLE sys_parallel")
    assert found <= 65


def test_changed_options_are_dumped(cluster: Any, conn: Any) -> None:
    """And restored with who and when; what was not changed is the new version's default."""
    conn.execute("CREATE DATABASE sys_dumped")
    content = "SELECT variable, value, set_time, set_by FROM sys.sys_config ORDER BY 1"
    try:
        with cluster.connect(dbname="sys_dumped") as session:
            session.execute("CREATE EXTENSION performance_schema")
            session.execute(
                "UPDATE sys.sys_config SET value = '99' WHERE variable = 'statement_truncate_len';"
                "INSERT INTO sys.sys_config (variable, value, set_by) VALUES ('mine', 'it''s', 'them')"
            )
            before = rows(session, content)
            dump = subprocess.run(
                [str(cluster.bindir / "pg_dump")], env=cluster.client_env("sys_dumped"), check=True,
                capture_output=True, text=True,
            ).stdout  # fmt: skip
            assert "diagnostics.include_raw" not in dump
            session.execute("DROP EXTENSION performance_schema; DROP SCHEMA performance_schema")
            subprocess.run(
                [str(cluster.bindir / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1"], input=dump,
                env=cluster.client_env("sys_dumped"), check=True, capture_output=True, text=True,
            )  # fmt: skip
            after = rows(session, content)
    finally:
        conn.execute("DROP DATABASE sys_dumped WITH (FORCE)")
    assert [row for row in after if row.set_by] == [row for row in before if row.set_by]
    assert {(row.variable, row.value) for row in after} == {
        (row.variable, row.value) for row in before
    }
    assert {row.variable: row.set_by for row in after if row.set_by} == {
        "mine": "them",
        "statement_truncate_len": "postgres",
    }


# --- what holds for all of them -------------------------------------------------------------------

ROUTINES = (
    "SELECT p.oid::regprocedure::text AS name, p.prosecdef, l.lanname, p.proconfig, p.proacl "
    "FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang "
    "WHERE p.pronamespace = 'sys'::regnamespace"
)


def test_routines_run_as_their_caller(conn: Any) -> None:
    """With names that nobody can put something else in the place of: bound, or with a path."""
    found = rows(conn, ROUTINES)
    assert len(found) > 50
    for row in found:
        assert not row.prosecdef, row.name
        bound = row.lanname == "c"
        if row.lanname == "plpgsql" and not bound:
            assert "search_path=pg_catalog, pg_temp" in row.proconfig, row.name
    strings = rows(conn, "SELECT prosrc FROM pg_proc WHERE pronamespace = 'sys'::regnamespace AND "
                   "prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql') AND prosqlbody IS NULL")  # fmt: skip
    assert strings == []


def test_functions_with_look_alikes_on_the_path(cluster: Any, conn: Any) -> None:
    """What a caller's own schema has is not called."""
    conn.execute(
        """CREATE SCHEMA sys_evil;
        CREATE FUNCTION sys_evil.evil() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil'; END $$;
        CREATE FUNCTION sys_evil.current_setting(text, boolean) RETURNS text
            LANGUAGE sql AS 'SELECT sys_evil.evil()';
        CREATE FUNCTION sys_evil.evil(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT sys_evil.evil()::bool';
        CREATE OPERATOR sys_evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = sys_evil.evil);
        CREATE TABLE sys_evil.pg_class (oid oid)"""
    )
    try:
        with cluster.connect() as session:
            session.execute(
                "SET search_path = sys_evil, pg_catalog; SET standard_conforming_strings = off"
            )
            assert one(session, "SELECT sys.format_statement('SELECT 1')") == "SELECT 1"
            assert one(session, "SELECT sys.ps_is_consumer_enabled('statements_digest')") == "YES"
            assert one(session, "SELECT sys.list_drop('a , b', 'a')") == "b"
            assert (
                one(session, "SELECT sys.extract_table_from_file_name('global/1262')")
                == "pg_database"
            )
            assert one(
                session,
                "SELECT count(*) FROM sys.statement_performance_analyzer('overall', 'now()')",
            )
    finally:
        conn.execute("DROP SCHEMA sys_evil CASCADE")


@pytest.mark.parametrize("value", HOSTILE)
def test_nothing_is_executed(conn: Any, value: str) -> None:
    """Texts are values: what looks like SQL does nothing (the table sys_kept stays)."""
    texts = rows(
        conn,
        "SELECT p.oid::regproc::text AS name, p.pronargs AS n FROM pg_proc AS p "
        "WHERE p.pronamespace = 'sys'::regnamespace AND p.prokind = 'f' AND NOT p.proretset "
        "AND p.pronargs > 0 AND array_to_string(p.proargtypes, ' ') ~ '^25( 25)*$'",
    )
    assert len(texts) > 10
    for function in texts:
        call = f"SELECT {function.name}({', '.join(['%s'] * function.n)})"
        try:
            conn.execute(call, (value,) * function.n)
        except psycopg.Error as error:
            assert error.sqlstate == "22023", (call, error)
    assert one(conn, "SELECT to_regclass('sys_kept') IS NOT NULL")
