"""Tables of sessions: each as pg_stat_activity has it, for whom threads shows it to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import with_library
from helpers import one, read_to_end, rows, thread_of, wait_for_state, wait_until

P = "performance_schema"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    setup = "CREATE ROLE plain LOGIN; CREATE ROLE other LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_monitor"
    with with_library(pg_config, setup) as made:
        yield made


@pytest.fixture
def admin(server: Any, connect: Callable[..., Any]) -> Any:
    return connect(server)


def of(conn: Any, pid: int) -> Any:
    (row,) = rows(conn, f"SELECT * FROM {P}.processlist WHERE id = %s", pid)
    return row


@pytest.mark.parametrize("user", ["postgres", "reader", "plain"])
def test_processlist_is_pg_stat_activity(server: Any, connect: Any, user: str) -> None:
    """Sessions of others only for pg_read_all_stats, who reads in it what is said there."""
    other = connect(server, user="other", application_name="their program")
    session = connect(server, user=user)
    session.execute("SELECT 1")
    other.execute("SELECT 2")
    activity = rows(
        session,
        "SELECT pid, usename, datname, nullif(application_name, ''), host(client_addr) || ':' || client_port AS host "
        "FROM pg_stat_activity WHERE backend_type = 'client backend'",
    )
    found = rows(session, f"SELECT * FROM {P}.processlist")
    columns = {
        (r.id, r.user_name, r.db, r.application_name, r.host) for r in found if r.host[0] != "["
    }
    assert columns == {tuple(row) for row in activity if row.host is not None}
    assert (other.info.backend_pid in {row.id for row in found}) == (user != "plain")
    own = of(session, session.info.backend_pid)
    assert (own.command, own.state, own.execution_engine) == ("Query", "executing", "PRIMARY")
    assert own.info == f"SELECT * FROM {P}.processlist WHERE id = $1"
    assert own.thread_id == thread_of(session, session)
    assert own.time == 0


def test_states(server: Any, admin: Any, connect: Any) -> None:
    other = connect(server, user="other")
    pid = other.info.backend_pid

    def state() -> tuple[str, str, Any]:
        row = of(admin, pid)
        return row.command, row.state, row.info

    other.execute("SELECT 1")
    assert state() == ("Sleep", "idle", None)
    other.execute("BEGIN")
    assert state() == ("Sleep", "idle in transaction", None)
    with pytest.raises(Exception, match="division by zero"):
        other.execute("SELECT 1 / 0")
    assert state() == ("Sleep", "idle in transaction (aborted)", None)
    other.execute("ROLLBACK")
    admin.execute("SELECT pg_advisory_lock(4711)")
    other.pgconn.send_query(b"SELECT pg_advisory_lock(4711)")
    wait_for_state(admin, pid, "wait_event_type = 'Lock'")
    assert state() == ("Query", "waiting for Lock advisory", "SELECT pg_advisory_lock(4711)")
    assert of(admin, pid).blocked_by == [admin.info.backend_pid]
    admin.execute("SELECT pg_advisory_unlock(4711)")
    read_to_end(other)


@pytest.mark.timeout(120)
def test_parent_of_an_autovacuum_worker(new_cluster: Any, connect: Any) -> None:
    """The launcher; the launcher itself and sessions have none."""
    server = new_cluster(
        autovacuum_naptime=1, autovacuum_vacuum_cost_delay="100ms", autovacuum_vacuum_cost_limit=1
    )
    admin = connect(server)
    admin.execute(
        "CREATE TABLE vacuumed AS SELECT g, repeat('x', 500) FROM generate_series(1, 20000) AS g"
    )
    admin.execute("DELETE FROM vacuumed WHERE g % 2 = 0")
    worker = f"SELECT * FROM {P}.threads WHERE name LIKE '%autovacuum_worker'"
    found = wait_until(lambda: rows(admin, worker), "an autovacuum worker", 60)
    launcher = rows(admin, f"SELECT * FROM {P}.threads WHERE name LIKE '%autovacuum_launcher'")[0]
    assert {row.parent_thread_id for row in found} == {launcher.thread_id}
    assert launcher.parent_thread_id is None
    assert {
        row.parent_thread_id
        for row in rows(admin, f"SELECT * FROM {P}.threads WHERE type = 'FOREGROUND'")
    } == {None}


def test_a_stream_of_wal(server: Any, admin: Any, connect: Any, new_standby: Any) -> None:
    new_standby(server)
    found = rows(admin, f"SELECT * FROM {P}.processlist WHERE command = 'Binlog Dump'")
    pids = rows(admin, "SELECT pid FROM pg_stat_replication")
    assert [row.id for row in found] == [row.pid for row in pids]
    assert one(connect(server, user="plain"), f"SELECT count(*) FROM {P}.processlist") == 1


# --- what clients say of themselves ------------------------------------------------------------


def attributes(conn: Any, pid: int, table: str = "session_connect_attrs") -> dict[str, str]:
    found = rows(
        conn,
        f"SELECT * FROM {P}.{table} WHERE processlist_id = %s ORDER BY ordinal_position",
        pid,
    )
    assert [row.ordinal_position for row in found] == list(range(len(found)))
    return {row.attr_name: row.attr_value for row in found}


def test_attributes_are_those_of_the_connection(server: Any, admin: Any, connect: Any) -> None:
    other = connect(server, user="other", application_name="their program")
    pid = other.info.backend_pid
    (activity,) = rows(admin, "SELECT * FROM pg_stat_activity WHERE pid = %s", pid)
    found = attributes(admin, pid)
    assert found["program_name"] == "their program"
    if activity.client_addr is None:
        assert "pg_client_addr" not in found and "pg_client_port" not in found
    else:
        assert found["pg_client_addr"] == str(activity.client_addr)
        assert found["pg_client_port"] == str(activity.client_port)
    other.execute("SET application_name = 'another one'")
    other.execute("SELECT 1")
    assert attributes(admin, pid)["program_name"] == "another one"


def test_attributes_of_the_own_account(server: Any, connect: Any) -> None:
    first = connect(server, user="plain", application_name="one")
    second = connect(server, user="plain", application_name="two")
    other = connect(server, user="other", application_name="not ours")
    table = "session_account_connect_attrs"
    for conn in (first, second):
        assert attributes(first, conn.info.backend_pid, table) == attributes(
            first, conn.info.backend_pid
        )
        assert attributes(first, conn.info.backend_pid, table)["program_name"] in ("one", "two")
    for hidden in (table, "session_connect_attrs"):
        assert attributes(first, other.info.backend_pid, hidden) == {}
    reader = connect(server, user="reader")
    assert attributes(reader, other.info.backend_pid)["program_name"] == "not ours"
    assert attributes(reader, other.info.backend_pid, table) == {}
