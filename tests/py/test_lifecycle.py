"""Processes come, go, die and stand still: no slot leaks, nothing lies, readers never hang.

PFS_LOAD_SECONDS bounds the loads here, too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from helpers import (
    LOAD_SECONDS,
    Watched,
    everything_on,
    losses,
    name_counts,
    one,
    rows,
    status,
    tables,
    thread_of,
    truncatable,
    wait_for_state,
    wait_gone,
    wait_until,
)
from pfs_cluster import ClusterError

New = Callable[..., Any]
LOAD_S = min(LOAD_SECONDS, 10) / 4
SUMS = ("statements", "transactions")


@contextlib.contextmanager
def load(server: Any, sessions: int = 8) -> Iterator[list[int]]:
    """Sessions that work until the end of the block; yields their counts of statements."""
    stop = threading.Event()
    done = [0] * sessions

    def work(number: int) -> None:
        while not stop.is_set():
            # a crash of the server ends connections: try again
            with contextlib.suppress(psycopg.Error), server.connect() as conn:
                while not stop.is_set():
                    conn.execute("SELECT count(*) FROM load_t WHERE a < %s", (number,))
                    conn.execute("UPDATE load_t SET b = b + 1 WHERE a = %s", (number,))
                    done[number] += 2

    server.psql(
        "CREATE TABLE IF NOT EXISTS load_t AS SELECT a, 0 AS b FROM generate_series(1, 100) a"
    )
    threads = [threading.Thread(target=work, args=(i,)) for i in range(sessions)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: all(done), "load")
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def counters(conn: Any) -> dict[str, int]:
    """Sums that restart together."""
    return {
        kind: one(
            conn,
            f"SELECT coalesce(sum(count_star), 0)::int8 "
            f"FROM performance_schema.events_{kind}_summary_global_by_event_name",
        )
        for kind in SUMS
    }


def read_everything(conn: Any) -> None:
    for table in tables():
        rows(conn, f"SELECT * FROM performance_schema.{table.name}")


def levels_agree(conn: Any, table: str, by: str, column: str) -> None:
    """Accounts sum up to users, hosts and the server, name by name."""

    def sums(level: str) -> dict[str, int]:
        name = f"events_{table}_summary_by_{level}_by_{by}".replace("by_global_by", "global_by")
        return dict(
            conn.execute(
                f"SELECT {column}, sum(count_star)::int8 FROM performance_schema.{name} "
                "GROUP BY 1 HAVING sum(count_star) > 0"
            ).fetchall()
        )

    for _ in range(3):
        found = [sums(level) for level in ("account", "user", "host", "global")]
        # the questions themselves are events: leave out what they are made of
        for part in found:
            for name in ("statement/sql/select", "statement/com/Query", "transaction"):
                part.pop(name, None)
        if all(part == found[0] for part in found):
            return
    assert found[0] == found[1] == found[2] == found[3]


# --- ends of connections -------------------------------------------------------------------------


@pytest.mark.timeout(120)
def test_thousand_connects(new_cluster: New, connect: New) -> None:
    """No thread is left, the totals have grown by a thousand, memory in use does not grow."""
    server = new_cluster()
    conn = connect(server)
    totals = (
        "SELECT total_connections FROM performance_schema.accounts "
        "WHERE user_name = 'postgres' AND host = '127.0.0.1'"
    )

    def rounds(n: int) -> None:
        def some() -> None:
            for _ in range(n // 4):
                with server.connect() as session:
                    session.execute("SELECT 1")

        threads = [threading.Thread(target=some) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def settled() -> bool:
        return one(conn, "SELECT count(*) FROM performance_schema.threads "
                   "WHERE type = 'FOREGROUND'") == 1  # fmt: skip

    rounds(200)
    wait_until(settled, "threads gone")
    before, used = one(conn, totals), status(conn)["pool_bytes_used"]
    ids = one(conn, "SELECT max(thread_id) FROM performance_schema.threads")
    rounds(1000)
    wait_until(settled, "threads gone")
    assert one(conn, totals) == before + 1000
    assert status(conn)["pool_bytes_used"] <= used + 64 * 1024
    assert losses(conn) == {}
    current = one(
        conn,
        "SELECT sum(current_connections)::int8 FROM performance_schema.accounts "
        "WHERE user_name IS NOT NULL",
    )
    assert current == 1
    with server.connect() as late:
        assert one(late, "SELECT performance_schema.ps_current_thread_id()") > ids
    levels_agree(conn, "statements", "event_name", "event_name")


def test_max_connections(new_cluster: New, connect: New) -> None:
    """All slots taken: each session has its own thread; refused clients harm nothing."""
    server = new_cluster(max_connections=20, superuser_reserved_connections=3)
    observer = connect(server)
    made = []
    with pytest.raises(psycopg.OperationalError):
        for _ in range(30):
            made.append(connect(server))
    for number, session in enumerate(made):
        session.execute(f"SELECT {number}")
    ids = {thread_of(observer, session) for session in made}
    assert len(ids) == len(made) >= 15
    assert None not in ids
    assert losses(observer) == {}
    read_everything(observer)
    for session in made:
        session.close()
    wait_until(lambda: one(observer, "SELECT count(*) FROM performance_schema.threads "
                           "WHERE type = 'FOREGROUND'") == 1, "threads gone")  # fmt: skip
    again = connect(server)
    assert thread_of(observer, again) not in ids
    assert rows(
        observer,
        "SELECT sql_text FROM performance_schema.events_statements_history WHERE thread_id = "
        f"{thread_of(observer, again)}",
    ) == []  # fmt: skip


def test_successor_shows_nothing_of_its_predecessor(cluster: Any, conn: Any) -> None:
    """The next process in the same slot starts at zero."""
    for _ in range(5):
        with Watched(cluster, conn) as w:
            assert name_counts(conn, w.thread_id) == {"com/Query": 1, "sql/select": 1}
            assert [e.sql_text for e in w.events()] == ["SELECT 1"]
            pid = w.pid
        wait_gone(conn, pid)


def test_idle_in_transaction_at_the_end(cluster: Any, conn: Any) -> None:
    """A session that leaves in the middle of a transaction: its transaction is counted."""
    sums = (
        "SELECT coalesce(sum(count_star), 0)::int8 FROM "
        "performance_schema.events_transactions_summary_by_account_by_event_name "
        "WHERE user_name = 'idler'"
    )
    cluster.psql("DO $$ BEGIN CREATE ROLE idler LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    session = cluster.connect(user="idler")
    before = one(conn, sums)
    session.execute("BEGIN")
    session.execute("SELECT 1")
    pid = session.info.backend_pid
    conn.execute(f"SELECT pg_terminate_backend({pid})")
    wait_gone(conn, pid)
    session.close()
    assert one(conn, sums) == before + 1


# --- the server ends -----------------------------------------------------------------------------


@pytest.mark.expects_crash
@pytest.mark.timeout(120)
def test_kill_under_load(new_cluster: New) -> None:
    """kill -9 of a backend: PostgreSQL restarts, all counters start at zero together."""
    server = new_cluster()
    with server.connect() as conn:
        everything_on(conn)
        conn.execute("UPDATE performance_schema.setup_instruments SET timed = 'NO' "
                     "WHERE name = 'transaction'")  # fmt: skip
    updates = (
        "SELECT coalesce(sum(count_star), 0)::int8 FROM "
        "performance_schema.events_statements_summary_global_by_event_name "
        "WHERE event_name = 'statement/sql/update'"
    )
    with load(server) as done:
        wait_until(lambda: sum(done) > 2000, "load")
        with server.connect() as conn:
            before = one(conn, updates)
            pid = one(
                conn,
                "SELECT pid FROM pg_stat_activity WHERE query LIKE 'UPDATE load_t%' LIMIT 1",
            )
        assert before > 900
        position = server.log_position()
        at = sum(done)
        server.kill9(pid)
        server.wait_log("database system is ready to accept connections", position)
        with server.connect() as conn:
            # one update and one select a round, and at most one of each in flight per session
            for table in ("global", "account"):
                sql = updates if table == "global" else updates.replace("global", "by_account")
                assert one(conn, sql) <= (sum(done) - at) / 2 + 2 * len(done), table
            assert one(conn, "SELECT timed FROM performance_schema.setup_instruments "
                       "WHERE name = 'transaction'") == "YES"  # fmt: skip
            assert one(conn, "SELECT enabled FROM performance_schema.setup_consumers "
                       "WHERE name = 'events_statements_history_long'") == "NO"  # fmt: skip
        at = sum(done)
        wait_until(lambda: sum(done) > at + 200, "load goes on")
    with server.connect() as conn:
        assert losses(conn) == {}
        levels_agree(conn, "statements", "event_name", "event_name")
        read_everything(conn)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
@pytest.mark.timeout(120)
def test_restart(new_cluster: New, mode: str) -> None:
    """Counters restart with the server, its settings hold."""
    server = new_cluster(performance_schema__consumer_events_statements_history_long=True)
    with load(server, 4):
        pass
    with server.connect() as conn:
        before = counters(conn)
        assert before["statements"] > 0
        conn.execute("SELECT performance_schema.set_consumers('events%long', false)")
    server.restart(mode)
    with server.connect() as conn:
        assert counters(conn)["statements"] < 10
        assert one(conn, "SELECT enabled FROM performance_schema.setup_consumers "
                   "WHERE name = 'events_statements_history_long'") == "YES"  # fmt: skip
        read_everything(conn)


@pytest.mark.parametrize("mode", ["smart", "fast", "immediate", "fast after a crash"])
def test_the_postmaster_ends_well(new_cluster: New, mode: str) -> None:
    """Its last message comes when it has left the shared memory."""
    server = new_cluster()
    server.stop()
    rights = {"user": server.owner.pw_uid, "group": server.owner.pw_gid, "extra_groups": []} if server.owner else {}
    postmaster = subprocess.Popen(
        [server.bindir / "postgres", "-D", server.data], cwd=server.base, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **rights
    )
    try:
        server.wait_ready()
        with server.connect() as session:
            session.execute("SELECT count(*) FROM performance_schema.error_log")
            pid = session.info.backend_pid
            if "crash" in mode:
                os.kill(pid, signal.SIGKILL)
        server.wait_ready()
        server.stop(mode.split()[0])
        log = postmaster.communicate(timeout=30)[1].decode()
        assert postmaster.returncode == 0
        assert "database system is shut down" in log
    finally:
        postmaster.kill()


def test_fast_restart_with_open_sessions(new_cluster: New) -> None:
    """Sessions in the middle of a statement do not keep the server from stopping."""
    server = new_cluster()
    sleeper = server.connect()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            sleeper.execute("SELECT pg_sleep(120)")
        except psycopg.Error as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    with server.connect() as conn:
        wait_for_state(conn, sleeper.info.backend_pid, "wait_event = 'PgSleep'")
    server.restart("fast")
    thread.join()
    sleeper.close()
    assert errors
    with server.connect() as conn:
        read_everything(conn)


# --- processes that stand still ------------------------------------------------------------------


@pytest.mark.timeout(120)
def test_stopped_backend(new_cluster: New) -> None:
    """SIGSTOP in the middle of a load, again and again: readers, resets and switches return.

    Resets by function: TRUNCATE writes WAL, and waits for the server's own WALWrite lock when the
    stopped backend holds that.
    """
    server = new_cluster()
    with server.connect() as conn:
        everything_on(conn)
        with load(server) as done:
            deadline = time.monotonic() + LOAD_S
            stops = 0
            while time.monotonic() < deadline or stops < 5:
                pid = one(
                    conn,
                    "SELECT pid FROM pg_stat_activity WHERE query LIKE '%load_t%' "
                    "AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1",
                )
                os.kill(pid, signal.SIGSTOP)
                try:
                    started = time.monotonic()
                    read_everything(conn)
                    conn.execute("SELECT performance_schema.reset('events_statements_history')")
                    conn.execute("SELECT performance_schema.reset_all()")
                    conn.execute("SELECT performance_schema.set_instruments('%', true, true)")
                    conn.execute(
                        "SELECT performance_schema.set_thread(thread_id, true, true) FROM "
                        f"performance_schema.threads WHERE processlist_id = {pid}"
                    )
                    assert time.monotonic() - started < 10
                finally:
                    os.kill(pid, signal.SIGCONT)
                stops += 1
                goal = done[0] + 2
                wait_until(lambda goal=goal: done[0] >= goal, "load goes on")
        lost = losses(conn)
        lost.pop("performance_schema_unstable_reads", None)
        lost.pop("performance_schema_history_long_lost", None)
        lost.pop("performance_schema_roll_up_lost", None)
        assert lost == {}


@pytest.mark.timeout(120)
def test_counts_right_after_a_stop(new_cluster: New) -> None:
    """What ran while one backend stood still is counted exactly, and its own afterwards."""
    server = new_cluster()
    with server.connect() as conn, Watched(server, conn) as still, Watched(server, conn) as other:
        everything_on(conn)
        os.kill(still.pid, signal.SIGSTOP)
        try:
            before = name_counts(conn, other.thread_id)["sql/select"]
            for _ in range(100):
                other.conn.execute("SELECT 1")
            assert name_counts(conn, other.thread_id)["sql/select"] == before + 100
            for name in truncatable():
                conn.execute(f"TRUNCATE performance_schema.{name}")
            for _ in range(10):
                other.conn.execute("SELECT 1")
            assert name_counts(conn, other.thread_id)["sql/select"] == 10
            assert name_counts(conn, still.thread_id) == {}
        finally:
            os.kill(still.pid, signal.SIGCONT)
        for _ in range(7):
            still.conn.execute("SELECT 1")
        assert name_counts(conn, still.thread_id)["sql/select"] == 7


@pytest.mark.timeout(120)
def test_readers_during_everything(new_cluster: New) -> None:
    """Readers of every table while sessions work, come and go, and tables are reset."""
    server = new_cluster()
    failures: list[BaseException] = []
    stop = threading.Event()

    def endless(action: Callable[[Any], None]) -> threading.Thread:
        def run() -> None:
            try:
                while not stop.is_set():
                    with server.connect() as conn:
                        for _ in range(5):
                            action(conn)
            except BaseException as error:
                failures.append(error)

        return threading.Thread(target=run)

    def switch(conn: Any) -> None:
        conn.execute("SELECT performance_schema.set_consumers('events%', false)")
        conn.execute("SELECT performance_schema.set_consumers('%', true)")

    def reset(conn: Any) -> None:
        conn.execute("SELECT performance_schema.reset_all()")

    helpers = [endless(read_everything), endless(read_everything), endless(switch), endless(reset)]
    with load(server, 4):
        for thread in helpers:
            thread.start()
        time.sleep(LOAD_S)  # how long it goes on; orders nothing
        stop.set()
        for thread in helpers:
            thread.join()
    assert failures == []
    with server.connect() as conn:
        found = losses(conn)
        found.pop("performance_schema_unstable_reads", None)
        assert found == {}


# --- other processes -----------------------------------------------------------------------------


def test_background_processes(new_cluster: New, connect: New) -> None:
    """Background threads have no user; a parallel worker has no statements of its own."""
    server = new_cluster(autovacuum_naptime=1)
    conn = connect(server)
    conn.execute("CREATE TABLE v AS SELECT generate_series(1, 5000) i")
    found = rows(conn, "SELECT * FROM performance_schema.threads WHERE type = 'BACKGROUND'")
    for row in found:
        assert row.processlist_user is None
        assert row.processlist_command == "Daemon"
        assert row.thread_os_id > 0


def test_walsender(new_cluster: New, new_standby: New, connect: New) -> None:
    """A replication connection is a foreground thread; it does no statements of psql's kind."""
    primary = new_cluster()
    new_standby(primary)
    conn = connect(primary)
    found = rows(
        conn, "SELECT * FROM performance_schema.threads WHERE name = 'thread/postgres/walsender'"
    )
    assert [row.type for row in found] in (["FOREGROUND"], [])
    if found:
        assert found[0].processlist_user == "postgres"


def test_server_refuses_foreign_kill(cluster: Any) -> None:
    """The fixture itself kills only its own server's processes."""
    with pytest.raises(ClusterError):
        cluster.kill9(os.getpid())
