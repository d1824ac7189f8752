"""Who sees what, and who may change what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from helpers import Watched, one, rows, tables, thread_of, truncatable

THREAD_TABLES = [t.name for t in tables() if any(c.name == "thread_id" for c in t.columns)]
PRIVATE = [(t.name, c.name) for t in tables() for c in t.columns if "private" in c.flags]


@pytest.fixture(scope="module")
def roles(cluster: Any) -> None:
    cluster.psql(
        "DO $$ BEGIN CREATE ROLE plain LOGIN; CREATE ROLE neighbour LOGIN; "
        "CREATE ROLE monitor LOGIN IN ROLE pg_monitor; "
        "CREATE ROLE operator LOGIN; EXCEPTION WHEN duplicate_object THEN END $$; "
        "CREATE TABLE IF NOT EXISTS neighbours_secret AS SELECT 1 AS a; "
        "GRANT SELECT ON neighbours_secret TO neighbour; "
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
    with Watched(cluster, conn, user="neighbour") as watched:
        watched.run("SELECT 'the secret' FROM neighbours_secret")
        watched.run("SELECT 1 / 0")
        yield watched


@pytest.mark.parametrize("table", THREAD_TABLES)
def test_rows_of_others(plain: Any, monitor: Any, neighbour: Watched, table: str) -> None:
    """A plain user sees the rows of own sessions; pg_monitor sees all."""
    plain.execute("SELECT 1")
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
    if "history_long" not in table:
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
