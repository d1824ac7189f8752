"""Who sees what, and who may change what.

Texts of statements are secret, and which rows belong to whom; names of tables and files are not.
The secret is an alias: of the parts of a statement, only its text and its digest text hold that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from helpers import Watched, consumers, everything_on, one, rows, tables, thread_of, truncatable
from wait_helpers import Waiter

OF_NO_USER = "error_log"
"""Has a rule of its own, see test_error_log.py."""
THREAD_TABLES = [
    t.name
    for t in tables()
    if t.name != OF_NO_USER and any(c.name == "thread_id" for c in t.columns)
]
PRIVATE = [(t.name, c.name) for t in tables() for c in t.columns if "private" in c.flags]


@pytest.fixture(scope="module")
def roles(cluster: Any) -> None:
    cluster.psql(
        "DO $$ BEGIN CREATE ROLE plain LOGIN; CREATE ROLE neighbour LOGIN; "
        "CREATE ROLE monitor LOGIN IN ROLE pg_monitor; "
        "CREATE ROLE operator LOGIN; EXCEPTION WHEN duplicate_object THEN END $$; "
        "CREATE TABLE IF NOT EXISTS neighbours_table AS SELECT 1 AS a; "
        "GRANT ALL ON neighbours_table TO neighbour, plain; "
        "GRANT UPDATE ON performance_schema.setup_instruments TO operator; "
        "GRANT TRUNCATE ON performance_schema.events_statements_history TO operator; "
        "GRANT EXECUTE ON FUNCTION performance_schema.reset(text) TO operator;"
    )


@pytest.fixture
def plain(roles: None, cluster: Any) -> Iterator[Any]:
    with cluster.connect(user="plain") as session:
        yield session


@pytest.fixture
def monitor(roles: None, cluster: Any) -> Iterator[Any]:
    with cluster.connect(user="monitor") as session:
        yield session


@pytest.fixture
def neighbour(roles: None, cluster: Any, conn: Any) -> Iterator[Watched]:
    """Another user's session that has done something of everything."""
    with (
        consumers(conn, events_waits_current=True, events_waits_history=True),
        consumers(conn, events_waits_history_long=True),
        Watched(cluster, conn, user="neighbour") as watched,
    ):
        conn.execute("TRUNCATE performance_schema.events_waits_history_long")
        watched.run("SELECT 'the secret' AS neighbours_secret FROM neighbours_table")
        watched.run("SELECT 1 / 0")
        yield watched


@pytest.mark.parametrize("table", THREAD_TABLES)
def test_rows_of_others(plain: Any, monitor: Any, neighbour: Watched, table: str) -> None:
    """A plain user sees the rows of own sessions; pg_monitor sees all."""
    own = one(plain, "SELECT performance_schema.ps_current_thread_id()")
    seen = {
        row.thread_id for row in rows(plain, f"SELECT thread_id FROM performance_schema.{table}")
    }
    assert neighbour.thread_id not in seen
    assert seen <= {own}
    by_key = rows(
        plain,
        f"SELECT 1 FROM performance_schema.{table} WHERE thread_id = %s",
        neighbour.thread_id,
    )
    assert by_key == []
    if "history_long" not in table or "waits" in table:
        all_seen = rows(
            monitor,
            f"SELECT 1 FROM performance_schema.{table} WHERE thread_id = {neighbour.thread_id}",
        )
        assert all_seen


@pytest.mark.parametrize("table, column", PRIVATE)
def test_private_columns(
    plain: Any, monitor: Any, neighbour: Watched, table: str, column: str
) -> None:
    """Texts are for pg_read_all_stats; nor do they leak through a condition or an order."""
    sql = f"SELECT DISTINCT {column} FROM performance_schema.{table}"
    assert plain.execute(sql).fetchall() == [("<insufficient privilege>",)]
    assert len(monitor.execute(sql).fetchall()) > 1
    leak = f"SELECT count(*) FROM performance_schema.{table} WHERE {column} LIKE %s"
    assert one(plain, leak, "%neighbours_secret%") == 0
    assert one(monitor, leak, "%neighbours_secret%") > 0


def test_no_text_leaks(plain: Any, neighbour: Watched) -> None:
    """The other's text is in no column of any table."""
    for table in tables():
        found = rows(plain, f"SELECT t::text FROM performance_schema.{table.name} t")
        assert "neighbours_secret" not in str(found), table.name
        assert "the secret" not in str(found), table.name


def test_names_of_objects_are_no_secret(plain: Any, monitor: Any, neighbour: Watched) -> None:
    """Sums per table and file are the same for everybody, as with SELECT on MySQL's tables."""
    io = (
        "SELECT count_fetch FROM performance_schema.table_io_waits_summary_by_table "
        "WHERE object_name = 'neighbours_table'"
    )
    assert one(plain, io) > 0
    files = "SELECT count(*) FROM performance_schema.file_instances WHERE file_name ~ '^global/'"
    assert one(plain, files) > 0
    names = "SELECT array_agg(DISTINCT object_name ORDER BY object_name) FROM performance_schema."
    for table in ("objects_summary_global_by_type", "table_io_waits_summary_by_index_usage"):
        assert "neighbours_table" in one(plain, names + table)
        assert one(plain, names + table) == one(monitor, names + table)


PATH = "/tmp/neighbours_path_"


def test_paths_outside_the_data_directory(
    cluster: Any, plain: Any, monitor: Any, conn: Any
) -> None:
    """Where somebody copies to is for pg_read_all_stats, also if a function did it for the caller."""
    path = f"{PATH}{cluster.port}"
    conn.execute(
        "CREATE OR REPLACE FUNCTION copies_out(path text) RETURNS void LANGUAGE plpgsql "
        "SECURITY DEFINER AS $$ BEGIN EXECUTE format('COPY (SELECT 1) TO %L', path); END $$"
    )
    relations = rows(
        plain,
        "SELECT c.oid::regclass::text AS name FROM pg_class AS c WHERE relkind IN ('f', 'v') AND "
        "relnamespace IN ('performance_schema'::regnamespace, 'sys'::regnamespace)",
    )
    named = "SELECT count(*) FROM performance_schema.{} WHERE {} = %s"
    try:
        with (
            consumers(conn, events_waits_current=True, events_waits_history=True),
            consumers(conn, events_waits_history_long=True),
        ):
            plain.execute("SELECT copies_out(%s)", (path,), prepare=True)
            for table in ("file_instances", "file_summary_by_instance"):
                assert one(monitor, named.format(table, "file_name"), path) == 1
                assert one(plain, named.format(table, "file_name"), path) == 0
            waits = named.format("events_waits_history_long", "object_name")
            assert one(monitor, waits, path) > 0
            for relation in relations:
                found = rows(plain, f"SELECT t::text FROM {relation.name} AS t")
                assert PATH not in str(found), relation.name
    finally:
        conn.execute("DROP FUNCTION copies_out")
        Path(path).unlink()


def test_connections_of_others(plain: Any, monitor: Any, neighbour: Watched) -> None:
    """Sockets are of sessions: each sees those of its own user, also where they have no thread."""
    own = one(plain, "SELECT performance_schema.ps_current_thread_id()")
    instance = (
        "SELECT thread_id, object_instance_begin AS number "
        "FROM performance_schema.socket_instances"
    )
    assert {row.thread_id for row in rows(plain, instance)} == {own}
    by_thread = {row.thread_id: row.number for row in rows(monitor, instance)}
    assert {own, neighbour.thread_id} <= set(by_thread)
    for table in ("socket_summary_by_instance", "events_waits_summary_by_instance"):
        sockets = (
            f"SELECT object_instance_begin AS number FROM performance_schema.{table} "
            "WHERE event_name LIKE 'wait/io/socket/%'"
        )
        assert {row.number for row in rows(plain, sockets)} == {by_thread[own]}
        assert by_thread[neighbour.thread_id] in {row.number for row in rows(monitor, sockets)}
        by_key = f"SELECT count(*) FROM performance_schema.{table} WHERE object_instance_begin = %s"
        assert one(plain, by_key, by_thread[neighbour.thread_id]) == 0


def test_background_processes_are_nobodys(plain: Any, monitor: Any) -> None:
    """Their rows are for pg_read_all_stats only."""
    background = "SELECT thread_id FROM performance_schema.threads WHERE type = 'BACKGROUND'"
    hidden = {row.thread_id for row in rows(monitor, background)}
    assert len(hidden) >= 4
    waits = "SELECT thread_id FROM performance_schema.events_waits_summary_by_thread_by_event_name"
    assert hidden & {row.thread_id for row in rows(monitor, waits)}
    for sql in (background, waits):
        assert not hidden & {row.thread_id for row in rows(plain, sql)}


LOCK_WAITS = (
    "SELECT waiting_query, blocking_user, blocking_query "
    "FROM performance_schema.lock_waits_history_long WHERE waiting_user = %s"
)


@pytest.mark.parametrize(
    ("waiting", "blocking"), [("neighbour", "plain"), ("plain", "neighbour"), ("plain", "plain")]
)
def test_lock_waits_of_others(
    cluster: Any, conn: Any, plain: Any, monitor: Any, waiting: str, blocking: str
) -> None:
    """A row is for who may see the waiting user; the blocker's text, for who may see both."""
    conn.execute("TRUNCATE performance_schema.lock_waits_history_long")
    with (
        Waiter(cluster, conn, user=waiting) as waiter,
        Waiter(cluster, conn, user=blocking) as blocker,
    ):
        blocker.conn.execute("BEGIN")
        blocker.conn.execute("LOCK neighbours_table /* in the way */")
        waiter.blocks("SELECT 'waiting' FROM neighbours_table")
        blocker.conn.execute("ROLLBACK")
        assert waiter.finish() == "00000"
    texts = ("SELECT 'waiting' FROM neighbours_table", "LOCK neighbours_table /* in the way */")
    everything = [(texts[0], blocking, texts[1])]
    assert rows(monitor, LOCK_WAITS, waiting) == everything
    if waiting == "neighbour":
        assert rows(plain, LOCK_WAITS, waiting) == []
    elif blocking == "neighbour":
        assert rows(plain, LOCK_WAITS, waiting) == [(texts[0], blocking, None)]
    else:
        assert rows(plain, LOCK_WAITS, waiting) == everything
    leak = "SELECT 1 FROM performance_schema.lock_waits_history_long t WHERE t::text LIKE %s"
    assert bool(rows(plain, leak, "%in the way%")) == (waiting == blocking == "plain")


def test_own_rows_with_texts(plain: Any, cluster: Any) -> None:
    """Own sessions, all of them, with their texts."""
    with cluster.connect(user="plain") as second:
        second.execute("SELECT 'mine' AS my_own_text")
        found = rows(plain, "SELECT sql_text FROM performance_schema.events_statements_history")
    assert "my_own_text" in str(found)


def test_set_role_does_not_widen(monitor: Any, cluster: Any, neighbour: Watched) -> None:
    """It is the current role that counts."""
    cluster.psql("GRANT plain TO monitor")
    sql = "SELECT count(*) FROM performance_schema.threads WHERE processlist_user = 'neighbour'"
    assert one(monitor, sql) == 1
    monitor.execute("SET ROLE plain")
    assert one(monitor, sql) == 0
    monitor.execute("RESET ROLE")


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
@pytest.mark.parametrize("who", ["plain", "monitor"])
def test_changes_are_refused(table: Any, who: str, request: pytest.FixtureRequest) -> None:
    """UPDATE, INSERT, DELETE and TRUNCATE: permission denied for everyone but the owner."""
    session = request.getfixturevalue(who)
    name = f"performance_schema.{table.name}"
    column = table.columns[0].name
    for sql in (
        f"UPDATE {name} SET {column} = {column}",
        f"INSERT INTO {name} DEFAULT VALUES",
        f"DELETE FROM {name}",
        f"TRUNCATE {name}",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(sql)


@pytest.mark.parametrize("who", ["plain", "monitor"])
def test_functions_are_refused(who: str, request: pytest.FixtureRequest, conn: Any) -> None:
    """Every function that changes something."""
    session = request.getfixturevalue(who)
    functions = rows(
        conn,
        "SELECT oid::regprocedure::text AS signature FROM pg_proc "
        "WHERE pronamespace = 'performance_schema'::regnamespace AND provolatile = 'v' "
        "AND prorettype NOT IN ('fdw_handler'::regtype) AND proname !~ 'validator'",
    )
    assert len(functions) >= 15
    for function in functions:
        assert not one(
            session, "SELECT has_function_privilege(%s, 'EXECUTE')", function.signature
        ), function.signature
    for call in ("reset_all()", "set_consumers('%', false)", "reset('status')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(f"SELECT performance_schema.{call}")


def test_grants(roles: None, cluster: Any, conn: Any, neighbour: Watched) -> None:
    """The owner may grant single rights."""
    with cluster.connect(user="operator") as session:
        update = "UPDATE performance_schema.setup_instruments SET enabled = enabled WHERE name = %s"
        assert session.execute(update, ("statement/sql/select",)).rowcount == 1
        session.execute("TRUNCATE performance_schema.events_statements_history")
        assert neighbour.events() == []
        session.execute("SELECT performance_schema.reset('events_errors_summary_global_by_error')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("TRUNCATE performance_schema.events_statements_current")


def test_lookup_functions(plain: Any, neighbour: Watched) -> None:
    """ps_current_thread_id is for everyone."""
    own = one(plain, "SELECT performance_schema.ps_current_thread_id()")
    assert own == thread_of(neighbour.observer, plain)
    assert set(truncatable())


def test_no_address_is_shown(new_cluster: Any) -> None:
    """No number of any table or view is an address in the server's memory."""
    server = new_cluster()
    server.psql("CREATE ROLE plain LOGIN")
    with server.connect() as conn, server.connect(user="plain") as plain:
        everything_on(conn)
        conn.execute("CREATE TABLE t AS SELECT 1 AS i")
        maps = Path(f"/proc/{plain.info.backend_pid}/maps").read_text().splitlines()
        mapped = [[int(end, 16) for end in line.split()[0].split("-")] for line in maps]
        mapped = [(first, last) for first, last in mapped if first > 2**32]
        columns = rows(
            plain,
            "SELECT c.oid::regclass::text AS name, "
            "array_agg(quote_ident(attname) || '::text') AS columns "
            "FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid "
            "WHERE relnamespace IN ('performance_schema'::regnamespace, 'sys'::regnamespace) "
            "AND relkind IN ('r', 'f', 'v') AND attnum > 0 "
            "AND atttypid IN ('bigint'::regtype, 'text'::regtype) GROUP BY 1",
        )
        for table in columns:
            for row in rows(plain, f"SELECT {', '.join(table.columns)} FROM {table.name}"):
                numbers = [int(text) for text in re.findall(r"\b\d{10,20}\b", str(tuple(row)))]
                numbers += [int(text, 16) for text in re.findall(r"0x[0-9a-f]+", str(tuple(row)))]
                found = [n for n in numbers if any(first <= n < last for first, last in mapped)]
                assert not found, (table.name, row)
        locks = "SELECT object_instance_begin FROM performance_schema.rwlock_instances ORDER BY 1"
        assert rows(plain, locks) == rows(conn, locks)
        numbers = [row[0] for row in rows(plain, locks)]
        assert len(numbers) > 20 and len(set(numbers)) == len(numbers) and min(numbers) > 0
