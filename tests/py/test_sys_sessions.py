"""sys.processlist, session, session_activity: sessions and what they do, compared with the server's own views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import with_library
from helpers import consumers, one, read_to_end, rows, wait_for_state, wait_until

OWN = "pg_backend_pid()"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE TABLE sessions_t AS SELECT g AS a FROM generate_series(1, 1000) AS g;"
        "CREATE ROLE sessions_plain LOGIN",
        autovacuum=False,
        performance_schema__consumer_events_waits_current=True,
        performance_schema__consumer_events_statements_cpu=True,
    ) as cluster:
        yield cluster


@pytest.fixture
def other(server: Any) -> Iterator[Any]:
    with server.connect(application_name="the other") as connection:
        yield connection


def pid_of(conn: Any) -> int:
    return int(conn.info.backend_pid)


def row_of(db: Any, view: str, pid: int, column: str = "pid") -> Any:
    (row,) = rows(db, f'SELECT * FROM sys."{view}" WHERE {column} = %s', pid)
    return row


def test_all_threads_and_all_sessions(db: Any, other: Any) -> None:
    threads = rows(db, "SELECT thread_id, type FROM performance_schema.threads")
    assert {row.thd_id for row in rows(db, "SELECT thd_id FROM sys.processlist")} == {
        row.thread_id for row in threads
    }
    assert {row.conn_id for row in rows(db, "SELECT conn_id FROM sys.session")} == {
        row.pid
        for row in rows(
            db, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
        )
    }
    assert one(db, "SELECT count(*) - count(DISTINCT thd_id) FROM sys.processlist") == 0


def test_a_session_that_has_done_something(db: Any, other: Any) -> None:
    other.execute("BEGIN")
    other.execute("SELECT sum(a) FROM sessions_t")
    row = row_of(db, "session", pid_of(other), "conn_id")
    assert (row.user.split("@")[0], row.db, row.command, row.state) == (
        "postgres", one(db, "SELECT current_database()"), "Sleep", "idle in transaction",
    )  # fmt: skip
    assert (row.current_statement, row.statement_latency) == (None, None)
    assert row.last_statement == "SELECT sum(a) FROM sessions_t"
    assert (row.rows_examined, row.rows_sent, row.rows_affected) == (1000, 1, 0)
    assert (row.full_scan, row.execution_engine, row.program_name) == ("YES", "PRIMARY", "the other")
    assert (row.trx_state, row.trx_autocommit, row.pid) == ("ACTIVE", "NO", pid_of(other))
    assert (row.last_wait, row.last_wait_latency) == ("idle", "Still Waiting")
    raw = row_of(db, "x$session", pid_of(other), "conn_id")
    (event,) = rows(
        db,
        "SELECT timer_wait, cpu_time, lock_time FROM performance_schema.events_statements_current "
        "WHERE thread_id = %s AND nesting_event_level = 0",
        row.thd_id,
    )
    assert (raw.last_statement_latency, raw.cpu_latency, raw.lock_latency) == (
        event.timer_wait, event.cpu_time, event.lock_time,
    )  # fmt: skip
    assert one(db, "SELECT sys.format_time(%s)", raw.last_statement_latency) == (
        row.last_statement_latency
    )
    wait_until(
        lambda: row_of(db, "x$session", pid_of(other), "conn_id").trx_latency > raw.trx_latency,
        "its transaction grows older",
    )
    other.execute("COMMIT")
    assert row_of(db, "session", pid_of(other), "conn_id").trx_state == "COMMITTED"


def test_a_statement_that_runs(server: Any, db: Any, other: Any) -> None:
    """It waits for a lock: in it, the wait, the one in the way."""
    db.execute("BEGIN")
    db.execute("LOCK TABLE sessions_t")
    with server.connect() as observer:
        other.pgconn.send_query(b"SELECT count(*) AS waits FROM sessions_t")
        wait_for_state(observer, pid_of(other), "wait_event_type = 'Lock'")
        row = row_of(observer, "x$session", pid_of(other), "conn_id")
        assert (row.command, row.current_statement) == (
            "Query", "SELECT count(*) AS waits FROM sessions_t",
        )  # fmt: skip
        assert row.last_wait == "wait/lock/heavyweight/relation"
        assert row.last_wait_latency == "Still Waiting"
        activity = row_of(observer, "session_activity", pid_of(other))
        assert (activity.waits_for, activity.blocked_by) == ("Lock/relation", [pid_of(db)])
        assert activity.query == "SELECT count(*) AS waits FROM sessions_t"
        assert activity.thd_id == row.thd_id
        db.execute("COMMIT")
        read_to_end(other)
        row = row_of(observer, "session", pid_of(other), "conn_id")
        assert row.last_statement == "SELECT count(*) AS waits FROM sessions_t"
        assert row_of(observer, "x$session", pid_of(other), "conn_id").lock_latency > 0


def test_progress_is_the_servers(server: Any, db: Any, other: Any) -> None:
    db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    db.execute("SELECT 1")
    with server.connect() as observer:
        other.pgconn.send_query(b"CREATE INDEX CONCURRENTLY sessions_i ON sessions_t (a)")
        figures = "SELECT phase, blocks_done, blocks_total FROM pg_stat_progress_create_index"
        (row,) = wait_until(
            lambda: rows(observer, figures + " WHERE phase = 'waiting for old snapshots'"),
            "the index is built",
        )
        shown = row_of(observer, "session", pid_of(other), "conn_id").progress
        if row.blocks_total == 0:
            assert shown is None
        else:
            assert float(shown) == pytest.approx(100 * row.blocks_done / row.blocks_total, abs=0.01)
        db.execute("COMMIT")
        read_to_end(other)
        assert row_of(observer, "session", pid_of(other), "conn_id").progress is None
        observer.execute("DROP INDEX sessions_i")


def test_progress_of_a_copy(server: Any, db: Any) -> None:
    """Half of a file has been read when it waits."""
    db.execute("CREATE TABLE sessions_copied (a int PRIMARY KEY, b text)")
    db.execute(
        "COPY (SELECT g, repeat('x', 1000) FROM generate_series(1, 2000) AS g) TO '/tmp/pfs_sessions_copy'"
    )
    with server.connect() as blocker, server.connect() as copier:
        blocker.execute("BEGIN")
        blocker.execute("INSERT INTO sessions_copied VALUES (1000)")
        copier.pgconn.send_query(b"COPY sessions_copied FROM '/tmp/pfs_sessions_copy'")
        wait_for_state(db, pid_of(copier), "wait_event_type = 'Lock'")
        (figures,) = rows(db, "SELECT bytes_processed, bytes_total FROM pg_stat_progress_copy")
        shown = float(row_of(db, "session", pid_of(copier), "conn_id").progress)
        assert 0 < shown < 100
        assert shown == pytest.approx(100 * figures.bytes_processed / figures.bytes_total, abs=0.01)
        blocker.execute("ROLLBACK")
        read_to_end(copier)
    db.execute("DROP TABLE sessions_copied")


def test_nested_statements_and_cursors_make_no_rows(server: Any, db: Any, other: Any) -> None:
    other.execute("BEGIN")
    for name in ("one", "two", "three"):
        other.execute(f"DECLARE {name} CURSOR FOR SELECT a FROM sessions_t")
        other.execute(f"FETCH 1 FROM {name}")
    assert row_of(db, "session", pid_of(other), "conn_id").last_statement == "FETCH 1 FROM three"
    other.execute("ROLLBACK")


def test_with_consumers_off(db: Any, other: Any) -> None:
    with consumers(db, events_statements_current=False):
        other.execute("SELECT 'unseen'")
        row = row_of(db, "session", pid_of(other), "conn_id")
        assert row.last_statement is None
        assert row_of(db, "session_activity", pid_of(other)).query is None


def test_a_plain_user(server: Any, db: Any) -> None:
    """Own sessions in full; of others nothing that pg_stat_activity does not show."""
    with server.connect(user="sessions_plain") as plain:
        assert {row.conn_id for row in rows(plain, "SELECT conn_id FROM sys.processlist")} == {
            pid_of(plain)
        }
        db.execute("SELECT 'not for others'")
        for view in ("processlist", "x$processlist", "session", "session_activity"):
            leaks = f"SELECT count(*) FROM sys.\"{view}\" AS v WHERE v::text LIKE '%%for others'"
            assert one(plain, leaks) == 0
        assert {row.pid for row in rows(plain, "SELECT pid FROM sys.session_activity")} == {
            pid_of(plain)
        }
