"""Timing calls breaks nothing: signals, shutdowns, crashes, other libraries in the same slots.

Everything is on: every instrument, timed, and every consumer. Then the server answers, what it
says is possible, it goes on counting, and no process is left behind (`unharmed`).
PFS_LOAD_SECONDS bounds the loads here, too.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import close_cluster, open_cluster
from helpers import (
    LOAD_SECONDS,
    ROOT,
    losses,
    one,
    read_to_end,
    rows,
    serve_tls,
    tables,
    thread_of,
    wait_for_state,
    wait_gone,
    wait_until,
)
from wait_helpers import Waiter, by_prefix, file_difference, file_sums, grown, settle

New = Callable[..., Any]
LOAD_S = min(LOAD_SECONDS, 60) / 4
READ_LIMIT_S = 10
"""For one look at all tables, also beside a load and with a stopped process."""

CONSUMERS = re.findall(
    r"^PFS_CONSUMER\(\w+, (\w+),", (ROOT / "src/core/consumers.def").read_text(), re.MULTILINE
)
IMPORTS = set(
    re.findall(
        r"^PFS_IMPORT\(.*?, (\w+),", (ROOT / "src/interpose/imports.def").read_text(), re.MULTILINE
    )
)
ALL_ON: dict[str, Any] = {
    "performance_schema__instrument": "%=on",
    **{f"performance_schema__consumer_{name}": True for name in CONSUMERS},
}
SMALL: dict[str, Any] = {
    **ALL_ON,
    "shared_buffers": "1MB",  # so that tables are read from files
    "fsync": False,
    "deadlock_timeout": "10ms",  # so that waits for locks are several calls
    "max_wal_size": "4GB",
    "wal_level": "logical",
    "wal_retrieve_retry_interval": "50ms",
    "hot_standby_feedback": True,
    "performance_schema__max_file_instances": 8192,
}
MAY_BE_LOST = {
    # what may be lost, as its documentation says, when processes are stopped, killed or many
    "performance_schema_unstable_reads",
    "performance_schema_history_long_lost",
    "performance_schema_roll_up_lost",
    "performance_schema_lock_blockers_lost",
    "performance_schema_locker_lost",
    "performance_schema_object_cells_lost",
    "performance_schema_statement_waits_lost",
}
GLOBAL = "performance_schema.events_waits_summary_global_by_event_name"
CALLS = "performance_schema.interposed_calls"
FOREGROUND = "SELECT count(*) FROM performance_schema.threads WHERE type = 'FOREGROUND'"


# --- what must hold afterwards --------------------------------------------------------------------


def read_everything(conn: Any) -> None:
    """Every row of every table."""
    for table in tables():
        rows(conn, f"SELECT * FROM performance_schema.{table.name}")


def read_waits(conn: Any) -> float:
    """Every table that tells of waits, and the threads; how long that took."""
    started = time.monotonic()
    for table in tables():
        if re.search(r"wait|file|socket|table|interposed|threads|status|memory", table.name):
            rows(conn, f"SELECT * FROM performance_schema.{table.name}")
    return time.monotonic() - started


def possible(conn: Any) -> None:
    """No time is longer than the server has run, no minimum above a maximum."""
    up = "(SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1e12)"
    for table in tables():
        columns = [column.name for column in table.columns]
        if {"max_timer_wait", "sum_timer_wait", "count_star"} <= set(columns):
            assert rows(
                conn,
                f"SELECT * FROM performance_schema.{table.name} WHERE count_star < 0 OR "
                f"max_timer_wait > {up} OR min_timer_wait > max_timer_wait OR "
                "sum_timer_wait < max_timer_wait OR "
                "sum_timer_wait > (max_timer_wait + 999) * count_star",
            ) == [], table.name  # fmt: skip
        elif "timer_wait" in columns and table.name.startswith("events_waits_"):
            assert rows(
                conn,
                f"SELECT * FROM performance_schema.{table.name} WHERE timer_wait > {up} "
                "OR timer_end < timer_start OR event_name IS NULL",
            ) == [], table.name  # fmt: skip


def of_server(server: Any) -> dict[int, int]:
    """Processes that stand in the server's folder, with their parents."""
    found = {}
    data = os.path.realpath(server.data)
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{entry}/cwd") != data:
                continue
            state, parent = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                found[int(entry)] = int(parent)
    return found


def strays(server: Any) -> list[int]:
    """Processes in the server's folder that do not descend from its postmaster."""
    found = of_server(server)
    postmaster = server.postmaster_pid() if server.is_running() else 0

    def descends(pid: int) -> bool:
        while pid in found and pid != postmaster:
            pid = found[pid]
        return pid == postmaster

    return [pid for pid in found if not descends(pid)]


def unharmed(server: Any, everything: bool = True) -> None:
    """The server answers, what it says is possible, it records, nothing is left behind."""
    with server.connect() as conn:
        possible(conn)
        read_everything(conn)
        if everything:
            records(server, conn)
    wait_until(lambda: strays(server) == [], "no process is left behind")


def records(server: Any, conn: Any) -> None:
    """A new session's waits are counted; only what may be lost was lost."""
    with Waiter(server, conn) as w:
        w.settle()
        before = w.waits()
        for _ in range(3):
            w.conn.execute("SELECT pg_sleep(0.001)")
            w.settle()
        found = grown(w.waits(), before)
        assert found["wait/timeout/postgres/PgSleep"].count >= 3
        assert found["idle"].count >= 3
        files = rows(
            conn,
            "SELECT regexp_replace(regexp_replace(file_name, '[^/]*$', ''), '[0-9]+', 'N', 'g'),"
            " count(*) FROM performance_schema.file_instances GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
        )
        assert set(losses(conn)) <= MAY_BE_LOST, files


def deaths(server: Any, since: int = 0) -> list[str]:
    """How children of the postmaster ended badly: `signal 9`, `exit code 2`."""
    return re.findall(
        r"\(PID \d+\) (?:was terminated by|exited with) (signal \d+|exit code \d+)",
        server.log_text(since),
    )


@pytest.fixture(autouse=True)
def _backtraces() -> Iterator[None]:
    """Prints where a server process crashed, if it left a core (ulimit -c unlimited)."""
    yield
    from conftest import _clusters

    for server in _clusters:
        for core in server.data.glob("core*"):
            words = ["gdb", "-batch", "-ex", "bt 40", str(server.bindir / "postgres"), str(core)]
            with contextlib.suppress(OSError):
                print(subprocess.run(words, capture_output=True, text=True).stdout[-8000:])
            core.unlink()


# --- servers and loads ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loud(pg_config: str) -> Iterator[Any]:
    """A server with everything on, for the tests after which it still stands."""
    server = open_cluster(pg_config, extension=True, preload=True, **SMALL)
    prepare(server)
    yield server
    data = server.data
    close_cluster(server)
    assert not data.exists()


@pytest.fixture
def still_there(loud: Any) -> Iterator[Any]:
    """The shared server; the postmaster is the same afterwards, and unharmed."""
    postmaster = loud.postmaster_pid()
    yield loud
    unharmed(loud)
    assert loud.postmaster_pid() == postmaster


def prepare(server: Any) -> None:
    """What the loads work on."""
    server.psql(
        "CREATE TABLE big AS SELECT i AS id, md5(i::text) || repeat('x', 200) AS filler "
        "FROM generate_series(1, 20000) i; "
        "CREATE TABLE one AS SELECT 1 AS id, 0 AS n; "
        "CREATE TABLE written (a int, b text)"
    )


ACTIONS: dict[str, tuple[str, ...]] = {
    "sleep": ("SELECT pg_sleep(0.02)",),
    "lock": (
        "BEGIN",
        "UPDATE one SET n = n + 1 WHERE id = 1",
        "SELECT pg_advisory_xact_lock(7)",
        "COMMIT",
    ),
    "advisory": ("BEGIN", "SELECT pg_advisory_xact_lock(7)", "SELECT count(*) FROM one", "COMMIT"),
    "read": ("SELECT count(*) FROM big WHERE length(filler) > 100",),
    "sort": (
        "SET work_mem = '64kB'",
        "SELECT count(*) FROM (SELECT * FROM big WHERE id < 5000 ORDER BY filler OFFSET 0) s",
    ),
    "write": (
        "INSERT INTO written SELECT i, repeat('y', 100) FROM generate_series(1, 200) i",
        "TRUNCATE written",
    ),
    "program": ("COPY written (a) FROM PROGRAM 'echo 1'",),
    "client": ("SELECT 1",) * 5,
}


@contextlib.contextmanager
def crowd(server: Any, *kinds: str) -> Iterator[Counter[str]]:
    """One session for each word does that action until the end of the block; counts what is done.

    Errors of the server are expected, lost connections are made anew.
    """
    stop = threading.Event()
    done: Counter[str] = Counter()
    failures: list[BaseException] = []

    def round_of(conn: Any, kind: str) -> None:
        try:
            for sql in ACTIONS[kind]:
                conn.execute(sql)
            done[kind] += 1
        except psycopg.Error:
            conn.execute("ROLLBACK")

    def work(kind: str) -> None:
        try:
            while not stop.is_set():
                with contextlib.suppress(psycopg.Error), server.connect() as conn:
                    conn.execute(f"SET application_name = 'crowd {kind}'")
                    conn.execute("SET client_min_messages = error")
                    while not stop.is_set():
                        round_of(conn, kind)
                stop.wait(0.02)  # a server that recovers has better things to do
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: all(done[kind] for kind in kinds), f"load {done}")
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


def parent_of(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def send(server: Any, pid: int, number: int) -> bool:
    """A signal to one of the server's processes, never to another that has its number now."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if parent_of(pid) != server.postmaster_pid():
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)


@contextlib.contextmanager
def stopped(server: Any, pid: int) -> Iterator[bool]:
    """A process stands still for the duration of a block; false: it had gone."""
    there = send(server, pid, signal.SIGSTOP)

    def still() -> bool:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return True
        return stat.rpartition(")")[2].split()[0] in "TZX"

    if there:
        wait_until(still, f"{pid} stands still")
    try:
        yield there
    finally:
        if there:
            send(server, pid, signal.SIGCONT)


def pids(conn: Any, condition: str) -> list[int]:
    """Processes by a condition on pg_stat_activity."""
    return [
        row.pid
        for row in rows(
            conn,
            f"SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ({condition})",
        )
    ]


def pid_of(conn: Any, condition: str) -> int:
    """One of them, as soon as there is one."""
    return wait_until(lambda: pids(conn, condition), condition)[0]


def wait_count(conn: Any, name: str) -> int:
    """COUNT_STAR of one wait in the whole server; % stands for anything."""
    return one(
        conn,
        f"SELECT coalesce(sum(count_star), 0)::int8 FROM {GLOBAL} WHERE event_name LIKE '{name}'",
    )


def background(sql: str, conn: Any) -> tuple[threading.Thread, list[BaseException]]:
    """Runs a statement that may fail in a thread of its own."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            conn.execute(sql)
        except psycopg.Error as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors


# --- 1. signals -----------------------------------------------------------------------------------

CLIENTS = "backend_type = 'client backend' AND application_name LIKE 'crowd%'"
AUXILIARY = "backend_type <> 'client backend'"


@pytest.mark.timeout(120)
def test_signal_storm(still_there: Any) -> None:
    """Sessions in all kinds of waits get all signals that a server's processes send each other."""
    server = still_there
    chance = random.Random(15)
    kinds = ("sleep", "lock", "lock", "advisory", "read", "sort", "write", "program", "client")
    sent: Counter[int] = Counter()
    position = server.log_position()
    with server.connect() as conn, crowd(server, *kinds) as done:
        at = Counter(done)
        deadline = time.monotonic() + LOAD_S
        while time.monotonic() < deadline or sum(sent.values()) < 300:
            for pid in pids(conn, CLIENTS):
                number = chance.choice(
                    [signal.SIGUSR1] * 4 + [signal.SIGURG] * 4 + [signal.SIGHUP] * 2
                    + [signal.SIGINT] * 2 + [signal.SIGTERM]
                )  # fmt: skip
                for _ in range(chance.choice((1, 1, 5))):
                    sent[number] += send(server, pid, number)
            for pid in pids(conn, AUXILIARY):
                number = chance.choice((signal.SIGUSR1, signal.SIGURG, signal.SIGHUP))
                sent[number] += send(server, pid, number)
        # nobody hangs: each kind of session gets on when the storm is over
        at = Counter(done)
        wait_until(lambda: all(done[kind] > at[kind] for kind in kinds), "everybody gets on")
    assert min(sent.values()) > 10, sent
    assert [how for how in deaths(server, position) if how.startswith("signal")] == []
    with server.connect() as conn:
        wait_until(lambda: one(conn, FOREGROUND) == 1, "threads gone")
        assert one(conn, "SELECT count(*) FROM performance_schema.socket_instances") == 1
    assert set(kinds) == set(done)


@pytest.mark.parametrize("what", ["sleep", "lock"])
def test_cancel_ends_the_wait(still_there: Any, what: str) -> None:
    """A query that is cancelled has waited until then, and the session waits on as before."""
    server = still_there
    with server.connect() as conn, Waiter(server, conn) as w, server.connect() as holder:
        holder.execute("SELECT pg_advisory_lock(99)")
        for _ in range(5):
            before, since = w.waits(), w.last_wait()
            if what == "sleep":
                name, sql = "wait/timeout/postgres/PgSleep", "SELECT pg_sleep(60)"
                w.start(sql)
                wait_for_state(conn, w.pid, "wait_event = 'PgSleep'")
            else:
                name, sql = "wait/lock/heavyweight/advisory", "SELECT pg_advisory_lock(99)"
                w.blocks(sql)
            assert one(conn, f"SELECT pg_cancel_backend({w.pid})")
            assert w.finish() == "57014"
            w.settle()
            found = grown(w.waits(), before)
            assert 0 < found[name].seconds < 30
            if what == "lock":
                assert found[name].count == 1
                row = w.wait_rows(since, name)[0]
                assert row.end_event_id is not None
                assert row.operation == "ExclusiveLock"
        assert rows(
            conn,
            "SELECT * FROM performance_schema.events_waits_current WHERE end_event_id IS NULL "
            "AND event_name <> 'idle' AND thread_id = %s",
            w.thread_id,
        ) == []  # fmt: skip


@pytest.mark.parametrize("what", ["sleep", "lock", "client"])
def test_terminate_in_a_wait(still_there: Any, what: str) -> None:
    """pg_terminate_backend: the wait is counted for the account, and the thread goes."""
    server = still_there
    name = {
        "sleep": "wait/timeout/postgres/PgSleep",
        "lock": "wait/lock/heavyweight/advisory",
        "client": "idle",
    }[what]
    accounts = (
        "SELECT count_star FROM performance_schema.events_waits_summary_by_account_by_event_name "
        "WHERE user_name = 'ended' AND event_name = %s"
    )
    server.psql("DO $$ BEGIN CREATE ROLE ended LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    with server.connect() as conn, server.connect() as holder:
        holder.execute("SELECT pg_advisory_lock(98)")
        for _ in range(3):
            with Waiter(server, conn, user="ended") as w:
                found = rows(conn, accounts, name)
                before = found[0].count_star if found else 0
                if what == "sleep":
                    w.start("SELECT pg_sleep(60)")
                    wait_for_state(conn, w.pid, "wait_event = 'PgSleep'")
                elif what == "lock":
                    w.blocks("SELECT pg_advisory_lock(98)")
                else:
                    w.settle()
                assert one(conn, f"SELECT pg_terminate_backend({w.pid}, 10000)")
                wait_gone(conn, w.pid)
            assert rows(conn, accounts, name)[0].count_star >= before + 1


@pytest.mark.expects_crash
@pytest.mark.timeout(120)
def test_quickdie(new_cluster: New) -> None:
    """SIGQUIT to backends in a wait: they leave without cleaning up, the server starts anew."""
    server = new_cluster(**SMALL)
    prepare(server)
    postmaster = server.postmaster_pid()
    with crowd(server, "sleep", "lock", "lock", "read", "write"):
        for kind in ("sleep", "lock", "read"):
            position = server.log_position()
            with server.connect() as conn:
                pid = pid_of(conn, f"application_name = 'crowd {kind}'")
                assert send(server, pid, signal.SIGQUIT)
            server.wait_log("database system is ready to accept connections", position)
            server.wait_ready()
            assert set(deaths(server, position)) == {"exit code 2"}
    assert server.postmaster_pid() == postmaster
    unharmed(server)


@pytest.mark.timeout(120)
def test_readers_beside_stopped_processes(still_there: Any) -> None:
    """SIGSTOP inside a wait: whoever reads gets an answer at once, afterwards all goes on."""
    server = still_there
    kinds = ("sleep", "lock", "lock", "read", "sort", "write", "client", "program")
    stops = 0
    slowest = 0.0
    with server.connect() as conn, crowd(server, *kinds) as done:
        deadline = time.monotonic() + LOAD_S
        while time.monotonic() < deadline or stops < 2 * len(kinds):
            # the others may hold locks of the server while they do I/O: those stop everybody
            kind = ("sleep", "lock", "client")[stops % 3]
            pid = pid_of(conn, f"application_name = 'crowd {kind}'")
            with stopped(server, pid) as there:
                if there:
                    slowest = max(slowest, read_waits(conn))
                    conn.execute("SELECT performance_schema.reset_all()")
            stops += 1
        assert slowest < READ_LIMIT_S
        at = Counter(done)
        wait_until(lambda: all(done[kind] > at[kind] for kind in kinds), "everybody gets on")
    with server.connect() as conn, Waiter(server, conn) as w:
        for pid in pids(conn, AUXILIARY):  # nobody works: they wait for something to do
            with stopped(server, pid):
                assert read_waits(conn) < READ_LIMIT_S, pid
        # the event of a stopped process lasts while it stands still
        w.start("SELECT pg_sleep(0.01)")
        wait_for_state(conn, w.pid, "wait_event IS NOT NULL")
        with stopped(server, w.pid):
            found = rows(
                conn,
                "SELECT * FROM performance_schema.events_waits_current WHERE thread_id = %s",
                w.thread_id,
            )
            assert found
        assert w.finish() == "00000"


# --- 2. ends --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["smart", "fast", "immediate"])
@pytest.mark.timeout(120)
def test_shutdown_under_load(new_cluster: New, mode: str) -> None:
    """32 clients work, others wait for locks or do nothing; the server stops and starts again."""
    server = new_cluster(**SMALL)
    prepare(server)
    server.psql("CREATE TABLE shut AS SELECT i AS id, 0 AS n FROM generate_series(1, 100) i")
    script = server.base / "shut.sql"
    script.write_text(
        "\\set a random(1, 100)\nUPDATE shut SET n = n + 1 WHERE id = :a;\n"
        "SELECT count(*) FROM big WHERE id < :a;\n"
    )
    bench = subprocess.Popen(
        [server.bindir / "pgbench", "-n", "-c", "32", "-j", "2", "-T", "600", "-f", script],
        env=server.client_env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    sessions = []
    threads = []
    position = server.log_position()
    try:
        with server.connect() as conn:
            idle, holder, waiter, waiter2 = (server.connect() for _ in range(4))
            sessions = [idle, holder, waiter, waiter2]
            idle.execute("BEGIN")
            holder.execute("SELECT pg_advisory_lock(1)")
            for session in (waiter, waiter2):
                threads.append(
                    background("SELECT pg_advisory_lock(1), pg_advisory_unlock(1)", session)[0]
                )
                wait_for_state(conn, session.info.backend_pid, "wait_event_type = 'Lock'")
            wait_until(
                lambda: one(conn, "SELECT count(*) FROM pg_stat_activity "
                            "WHERE application_name = 'pgbench'") == 32, "32 clients",
            )  # fmt: skip
            before = wait_count(conn, "wait/io/file/%")
            wait_until(lambda: wait_count(conn, "wait/io/file/%") > before, "they work")
        stopping = threading.Thread(target=server.stop, args=(mode,))
        stopping.start()
        server.wait_log(f"received {mode} shutdown request", position)
        if mode == "smart":
            bench.terminate()
            holder.close()
            for thread in threads:
                thread.join()
            idle.execute("SELECT 1")  # who is there may go on
            for session in (idle, waiter, waiter2):
                session.close()
        stopping.join()
    finally:
        bench.terminate()
        bench.wait()
        for session in sessions:
            session.close()
        for thread in threads:
            thread.join()
    assert not server.is_running()
    wait_until(lambda: of_server(server) == {}, "all processes have gone")
    # fast and smart leave nobody who died badly; immediate kills nobody by a signal within 5 s
    assert [how for how in deaths(server, position) if how.startswith("signal")] == []
    server.start()
    with server.connect() as conn:
        assert one(conn, "SELECT count(*) FROM shut") == 100
        assert one(conn, FOREGROUND) == 1
    unharmed(server)


def marker(server: Any) -> None:
    """A wait that nothing else here causes."""
    with server.connect() as holder, server.connect() as conn, Waiter(server, conn) as w:
        holder.execute("SELECT pg_advisory_lock(5)")
        w.blocks("SELECT pg_advisory_lock(5)")
        holder.execute("SELECT pg_advisory_unlock(5)")
        assert w.finish() == "00000"
        w.settle()
        assert wait_count(conn, "wait/lock/heavyweight/advisory") >= 1


@pytest.mark.expects_crash
@pytest.mark.timeout(180)
def test_kill9_in_waits(new_cluster: New) -> None:
    """kill -9 of processes of each kind, again and again: a new arena, the same postmaster."""
    server = new_cluster(**SMALL, checkpoint_completion_target=0.9, checkpoint_timeout="30s")
    prepare(server)
    postmaster = server.postmaster_pid()
    victims = [
        "application_name = 'crowd sleep'",
        "wait_event_type = 'Lock'",
        "backend_type = 'checkpointer'",
        "backend_type = 'io worker'" if server.version() >= 18 else "backend_type = 'walwriter'",
        "application_name = 'crowd read'",
    ]
    rounds = victims * max(1, LOAD_SECONDS // 8)
    with crowd(server, "sleep", "one_lock", "one_lock", "read", "write") as done:
        for victim in rounds:
            marker(server)
            with server.connect() as conn:
                conn.execute(
                    "UPDATE performance_schema.setup_instruments SET enabled = 'NO' "
                    "WHERE name = 'wait/lock/heavyweight/relation'"
                )
                old = {
                    row.thread_id for row in rows(conn, "SELECT * FROM performance_schema.threads")
                }
                assert old
                pid = pid_of(conn, victim)
            position = server.log_position()
            server.kill9(pid)
            with server.connect() as conn:
                assert wait_count(conn, "wait/lock/heavyweight/advisory") == 0
                assert one(
                    conn,
                    "SELECT enabled FROM performance_schema.setup_instruments "
                    "WHERE name = 'wait/lock/heavyweight/relation'",
                ) == "YES"  # fmt: skip
                assert server.postmaster_pid() == postmaster
                # the victim by 9, everybody else by the postmaster's SIGQUIT
                assert Counter(deaths(server, position))["signal 9"] == 1
                assert set(deaths(server, position)) <= {"signal 9", "exit code 2"}
                at = Counter(done)
                wait_until(lambda at=at: all(done[k] > at[k] for k in at), "load goes on")
                assert wait_count(conn, "wait/io/file/%") > 0
                possible(conn)
    unharmed(server)


ACTIONS["one_lock"] = ("BEGIN", "UPDATE one SET n = n + 1 WHERE id = 1", "SELECT 1", "COMMIT")


def children_named(server: Any, word: str) -> list[int]:
    """The postmaster's children by their title."""
    found = []
    for pid, parent in of_server(server).items():
        with contextlib.suppress(OSError):
            title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            if parent == server.postmaster_pid() and re.search(word, title):
                found.append(pid)
    return found


@pytest.mark.expects_crash
@pytest.mark.timeout(120)
def test_log_collector(new_cluster: New) -> None:
    """The log collector has no shared memory: it rotates, is killed, comes back, logs on."""
    server = new_cluster(
        **SMALL,
        logging_collector=True,
        log_directory="log",
        log_filename="%H%M%S.log",
        log_rotation_age=0,
    )
    prepare(server)
    folder = server.data / "log"

    def logged(word: str, pattern: str = "*") -> bool:
        return any(word in path.read_text(errors="replace") for path in folder.glob(pattern))

    def say(conn: Any, word: str) -> None:
        conn.execute(f"DO $$ BEGIN RAISE LOG 'say {word}'; END $$")

    def collector() -> int:
        return wait_until(lambda: children_named(server, r"\blogger\b"), "log collector")[0]

    with crowd(server, "read", "write"), server.connect() as conn:
        say(conn, "first")
        wait_until(lambda: logged("say first"), "first message")
        for number in range(3):
            pid = collector()
            assert send(server, pid, signal.SIGKILL)
            wait_until(lambda pid=pid: collector() != pid, "a new collector")
            say(conn, f"again {number}")
            wait_until(lambda number=number: logged(f"say again {number}"), "it logs")
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGURG):
            pid = collector()
            for _ in range(20):
                send(server, pid, number)
            say(conn, f"signal {number}")
            wait_until(lambda number=number: logged(f"say signal {number}"), "it logs")
            assert collector() == pid
        files = len(list(folder.glob("*.log")))

        def rotated() -> bool:
            conn.execute("SELECT pg_rotate_logfile()")
            return len(list(folder.glob("*.log"))) > files

        wait_until(rotated, "another file")
        conn.execute("ALTER SYSTEM SET log_destination = 'stderr,csvlog'")
        conn.execute("SELECT pg_reload_conf()")
        say(conn, "csv")
        wait_until(lambda: say(conn, "csv") or logged("say csv", "*.csv"), "it logs as csv")
        assert (
            rows(conn, "SELECT * FROM performance_schema.threads WHERE name LIKE '%logger'") == []
        )
        text = "".join(path.read_text(errors="replace") for path in folder.glob("*.log"))
        assert re.findall(r"terminated by (signal \d+)", text) == ["signal 9"] * 3
    # a crash, with a collector that has to outlive it
    pid = collector()
    with server.connect() as conn:
        postmaster = server.postmaster_pid()
        victim = pid_of(conn, "backend_type = 'checkpointer'")
    server.kill9(victim, wait=False)
    wait_until(lambda: logged("all server processes terminated; reinitializing"), "crash")
    server.wait_ready()
    assert (server.postmaster_pid(), collector()) == (postmaster, pid)
    with server.connect() as conn:
        say(conn, "last")
        wait_until(lambda: logged("say last"), "it logs")
    unharmed(server)


@pytest.mark.expects_crash  # immediate shutdown ends the command by SIGQUIT
@pytest.mark.timeout(120)
def test_archiver(new_cluster: New) -> None:
    """Commands of the archiver that fail, succeed, and are under way when the server stops."""
    server = new_cluster(**SMALL, archive_mode=True, archive_command="false")
    folder = server.base / "archive"
    folder.mkdir()
    os.chown(folder, server.owner.pw_uid, server.owner.pw_gid)
    gate = folder / "gate"

    def switch(conn: Any) -> None:
        conn.execute("CREATE TABLE IF NOT EXISTS archived (a int)")
        conn.execute("INSERT INTO archived VALUES (1)")
        conn.execute("SELECT pg_switch_wal()")

    with server.connect() as conn:
        switch(conn)
        wait_until(
            lambda: one(conn, "SELECT failed_count FROM pg_stat_archiver") > 0, "a command fails"
        )
        server.configure(archive_command=f"cp %p {folder}/%f")
        server.reload()
        switch(conn)
        wait_until(
            lambda: one(conn, "SELECT archived_count FROM pg_stat_archiver") > 0, "one succeeds"
        )
        found = wait_until(
            lambda: rows(
                conn,
                "SELECT event_name, count_star, max_timer_wait FROM performance_schema.threads "
                "JOIN performance_schema.events_waits_summary_by_thread_by_event_name "
                "USING (thread_id) WHERE name = 'thread/postgres/archiver' AND count_star > 0 "
                "AND event_name LIKE '%ArchiveCommand'",
            ),
            "the archiver's waits",
        )
        assert found[0].count_star >= 1
        assert wait_count(conn, "wait/ipc/postgres/ArchiveCommand") >= 2
        gate.touch()
        server.configure(
            archive_command=f"touch {folder}/under_way; while [ -e {gate} ]; do sleep 0.05; done"
        )
        server.reload()
        switch(conn)
        wait_until((folder / "under_way").exists, "a command is under way")
        [archiver] = pids(conn, "backend_type = 'archiver'")
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGURG):
            send(server, archiver, number)
        assert read_waits(conn) < READ_LIMIT_S
    position = server.log_position()
    stopping = threading.Thread(target=server.stop, args=("fast",))
    stopping.start()
    server.wait_log("received fast shutdown request", position)
    gate.unlink()
    stopping.join()
    assert [how for how in deaths(server, position) if how.startswith("signal")] == []
    wait_until(lambda: of_server(server) == {}, "all processes have gone")
    gate.touch()
    (folder / "under_way").unlink()
    server.start()
    with server.connect() as conn:
        switch(conn)
        wait_until((folder / "under_way").exists, "a command is under way")
    server.stop("immediate")
    gate.unlink()
    wait_until(lambda: of_server(server) == {}, "all processes have gone")
    server.configure(archive_command="true")
    server.start()
    unharmed(server)


@pytest.mark.expects_crash  # immediate shutdown ends the command by SIGQUIT
@pytest.mark.timeout(120)
def test_restore_command(new_cluster: New, new_standby: New) -> None:
    """A standby whose startup process is in a command when it must stop: system(), handlers."""
    primary = new_cluster(**SMALL)
    folder = primary.base / "archive"
    folder.mkdir(mode=0o777)
    os.chown(folder, primary.owner.pw_uid, primary.owner.pw_gid)
    primary.base.chmod(0o755)
    gate, under_way = folder / "gate", folder / "under_way"
    standby = new_standby(
        primary,
        restore_command=f"while [ -e {gate} ]; do touch {under_way}; sleep 0.02; done; "
        f"cp {folder}/%f %p",
        primary_conninfo="",
    )
    # -R wrote where the primary is to postgresql.auto.conf: ours must win
    (standby.data / "postgresql.auto.conf").write_text("")
    standby.restart()
    with standby.connect() as conn:
        wait_until(
            lambda: wait_count(conn, "wait/ipc/postgres/RestoreCommand") > 3, "commands are timed"
        )
        assert rows(
            conn, "SELECT * FROM performance_schema.threads WHERE name = 'thread/postgres/startup'"
        )
    for mode in ("fast", "immediate", "fast"):
        gate.touch()
        wait_until(under_way.exists, "a command is under way")
        position = standby.log_position()
        standby.stop(mode)
        gate.unlink()
        under_way.unlink()
        assert [how for how in deaths(standby, position) if how.startswith("signal")] == []
        wait_until(lambda: of_server(standby) == {}, "all processes have gone")
        standby.start()
    with standby.connect() as conn:
        startup = pid_of(conn, "backend_type = 'startup'")
        for _ in range(100):
            for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGURG):
                send(standby, startup, number)
        assert one(conn, "SELECT pg_promote()")
        conn.execute("CREATE TABLE after_promotion (a int)")
    unharmed(standby)


# --- 5. many clients ------------------------------------------------------------------------------


@pytest.mark.timeout(180)
def test_256_clients(new_cluster: New) -> None:
    """Steady clients and clients that connect for each transaction, 256 at once."""
    server = new_cluster(**{**SMALL, "shared_buffers": "16MB"}, max_connections=300)
    prepare(server)
    script = server.base / "many.sql"
    script.write_text("SELECT count(*) FROM one;\nSELECT pg_sleep(0.001);\n")

    def bench(clients: int, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [server.bindir / "pgbench", "-n", "-f", script, "-c", f"{clients}", "-j2", *options],
            env=server.client_env(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    transactions = max(2, LOAD_SECONDS // 4)
    with server.connect() as conn:
        assert one(conn, FOREGROUND) == 1
        total = (
            "SELECT total_connections FROM performance_schema.accounts WHERE user_name = 'postgres'"
        )
        for parts in (
            [(256, ("-t", str(transactions * 4)))],
            [(128, ("-C", "-t", str(transactions))), (128, ("-t", str(transactions * 8)))],
            [(256, ("-C", "-t", str(transactions)))],
        ):
            before = sum(row.total_connections for row in rows(conn, total))
            running = [bench(clients, *options) for clients, options in parts]
            seen = 0
            while any(process.poll() is None for process in running):
                seen = max(seen, one(conn, FOREGROUND))
            for process in running:
                output = process.communicate()[0]
                assert process.returncode == 0, output
                assert "number of failed transactions: 0" in output, output
            wait_until(lambda: one(conn, FOREGROUND) == 1, "threads gone")
            connections = sum(row.total_connections for row in rows(conn, total)) - before
            wanted = sum(
                clients * transactions if "-C" in options else clients for clients, options in parts
            )
            assert wanted <= connections <= wanted + len(parts) * 3
            assert 100 < seen <= 258, seen
        assert one(conn, "SELECT count(*) FROM performance_schema.socket_instances") == 1
        assert {
            row.thread_os_id for row in rows(conn, "SELECT * FROM performance_schema.threads")
        } <= set(of_server(server))
        assert set(losses(conn)) <= {
            "performance_schema_unstable_reads", "performance_schema_history_long_lost",
            "performance_schema_lock_blockers_lost",
        }  # fmt: skip
    unharmed(server)


# --- 7. slots -------------------------------------------------------------------------------------


def states(conn: Any) -> Counter[str]:
    """How the executable's slots are."""
    return Counter(
        row.state for row in rows(conn, f"SELECT * FROM {CALLS} WHERE object LIKE '%/postgres'")
    )


def calls(conn: Any, *symbols: str) -> int:
    """Observed calls of some symbols."""
    return one(
        conn,
        f"SELECT coalesce(sum(calls), 0)::int8 FROM (SELECT DISTINCT symbol, calls FROM {CALLS} "
        "WHERE symbol = ANY (%s)) s",
        list(symbols),
    )


def test_every_name_is_accounted_for(still_there: Any) -> None:
    """Each line of imports.def is patched or has a reason; what is lacking is not imported."""
    with still_there.connect() as conn:
        found = rows(conn, f"SELECT * FROM {CALLS} WHERE object LIKE '%/postgres'")
    assert {row.symbol for row in found} == IMPORTS
    by_state = Counter(row.state for row in found)
    assert set(by_state) == {"PATCHED", "NOT_IMPORTED"}
    assert by_state["NOT_IMPORTED"] > 20
    assert by_state["PATCHED"] > 40
    for row in found:
        assert row.patched == ("YES" if row.state == "PATCHED" else "NO"), row
    # as the linker's own tables say
    program = still_there.bindir / "postgres"
    text = subprocess.run(
        ["readelf", "-rW", program], capture_output=True, text=True, check=True
    ).stdout
    imported = set(re.findall(r"R_\w+_(?:JUMP_SLOT|JUMP_SLO|GLOB_DAT)\s+\w+\s+(\w+)(?:@|\s)", text))
    assert {row.symbol for row in found if row.state == "PATCHED"} == imported & IMPORTS


def build(tmp_path: Path, name: str, source: str, *flags: str) -> Path:
    """A small shared library."""
    (tmp_path / f"{name}.c").write_text(textwrap.dedent(source))
    library = tmp_path / f"{name}.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", library, tmp_path / f"{name}.c", *flags],
        check=True,
    )
    return library


def hand_over(server: Any, path: Path) -> Path:
    """A copy where the server can read it."""
    target = server.base / path.name
    target.write_bytes(path.read_bytes())
    target.chmod(0o755)
    if server.owner:
        os.chown(target, server.owner.pw_uid, server.owner.pw_gid)
    return target


@contextlib.contextmanager
def environment(**values: str) -> Iterator[None]:
    """Variables for the servers that are started in a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


PRELOADED = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    #include <sys/types.h>
    #include <sys/uio.h>
    #include <unistd.h>
    static uint64_t *counts;
    __attribute__((constructor)) static void start(void)
    {
        int fd = open(getenv("ROBUST_COUNTS"), O_RDWR);
        counts = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    #define WRAP(number, result, name, parameters, arguments) \\
    result name parameters \\
    { \\
        static result (*real) parameters; \\
        if (!real) real = dlsym(RTLD_NEXT, #name); \\
        if (counts && counts != MAP_FAILED) \\
            __atomic_fetch_add(&counts[number], 1, __ATOMIC_RELAXED); \\
        return real arguments; \\
    }
    WRAP(0, ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
    WRAP(0, ssize_t, pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
    WRAP(0, ssize_t, preadv, (int fd, const struct iovec *to, int n, off_t at), (fd, to, n, at))
    WRAP(0, ssize_t, preadv64, (int fd, const struct iovec *to, int n, off_t at), (fd, to, n, at))
    WRAP(1, int, fsync, (int fd), (fd))
    WRAP(2, int, fdatasync, (int fd), (fd))
"""
READ_SYMBOLS = ("pread", "pread64", "preadv", "preadv64")


def sync_io(server: Any) -> dict[str, Any]:
    """Reads happen where they are wanted."""
    return {"io_method": "sync"} if server.version() >= 18 else {}


TOLD_LATER = 64
"""So many calls a process may keep to itself before interposed_calls shows them."""


def do_io(conn: Any) -> None:
    """Many calls of fsync and pread, in the checkpointer and here."""
    conn.execute("CREATE DATABASE copied STRATEGY file_copy")
    conn.execute("DROP DATABASE copied")
    conn.execute("INSERT INTO written SELECT i, repeat('y', 100) FROM generate_series(1, 200) i")
    conn.execute("CHECKPOINT")
    conn.execute("SELECT count(*) FROM big WHERE length(filler) > 100")


@pytest.mark.timeout(120)
def test_preloaded_library(new_cluster: New, tmp_path: Path) -> None:
    """LD_PRELOAD of a library that wraps the same calls: both see each call."""
    server = new_cluster(**{**SMALL, "fsync": True})
    prepare(server)
    library = hand_over(server, build(tmp_path, "robust_preload", PRELOADED, "-ldl"))
    counts = server.base / "counts"
    counts.write_bytes(bytes(4096))
    counts.chmod(0o666)
    server.stop()
    server.configure(**sync_io(server))
    with environment(LD_PRELOAD=str(library), ROBUST_COUNTS=str(counts)):
        server.start()

    def theirs() -> list[int]:
        return list(struct.unpack("3Q", counts.read_bytes()[:24]))

    with server.connect() as conn:
        found = {
            row.symbol: row.state
            for row in rows(conn, f"SELECT * FROM {CALLS} WHERE object LIKE '%/postgres'")
        }
        for symbol in ("fsync", "fdatasync", *READ_SYMBOLS):
            assert found[symbol] in ("PATCHED", "CHAINED", "NOT_IMPORTED"), symbol
        assert found["fsync"] != "NOT_IMPORTED"
        do_io(conn)
        before = [*theirs(), calls(conn, *READ_SYMBOLS), calls(conn, "fsync")]
        do_io(conn)
        after = [*theirs(), calls(conn, *READ_SYMBOLS), calls(conn, "fsync")]
    reads, syncs, _, our_reads, our_syncs = (b - a for a, b in zip(before, after))
    assert min(our_reads, our_syncs) > 3 * TOLD_LATER, (before, after)
    assert abs(reads - our_reads) <= TOLD_LATER + reads // 20, (before, after)
    assert abs(syncs - our_syncs) <= TOLD_LATER + syncs // 20, (before, after)
    unharmed(server)


OVERWRITER = """
    #define _GNU_SOURCE
    #include "postgres.h"
    #include "fmgr.h"
    #include <link.h>
    #include <sys/mman.h>
    #include <unistd.h>
    PG_MODULE_MAGIC;
    PG_FUNCTION_INFO_V1(overwriter_calls);
    void _PG_init(void);
    static int (*before) (int);
    static uint64 *count;
    static int mine(int fd)
    {
        __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    #ifdef CHAINS
        if (before)
            return before(fd);
    #endif
        return fsync(fd);
    }
    static void overwrite(void **slot)
    {
        uintptr_t page = (uintptr_t) slot & ~(uintptr_t) 4095;
        mprotect((void *) page, 4096, PROT_READ | PROT_WRITE);
        before = *slot;
        *slot = mine;
    }
    static int look(struct dl_phdr_info *info, size_t size, void *unused)
    {
        ElfW(Sym) *symbols = 0; char *strings = 0; ElfW(Rela) *rela[2] = {0}; size_t bytes[2] = {0};
        for (int i = 0; i < info->dlpi_phnum; i++)
            if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
                for (ElfW(Dyn) *d = (void *) (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
                     d->d_tag; d++)
                    switch (d->d_tag)
                    {
                        case DT_SYMTAB: symbols = (void *) d->d_un.d_ptr; break;
                        case DT_STRTAB: strings = (void *) d->d_un.d_ptr; break;
                        case DT_JMPREL: rela[0] = (void *) d->d_un.d_ptr; break;
                        case DT_PLTRELSZ: bytes[0] = d->d_un.d_val; break;
                        case DT_RELA: rela[1] = (void *) d->d_un.d_ptr; break;
                        case DT_RELASZ: bytes[1] = d->d_un.d_val; break;
                    }
        for (int t = 0; t < 2; t++)
            for (size_t i = 0; i < bytes[t] / sizeof(ElfW(Rela)); i++)
                if (ELF64_R_SYM(rela[t][i].r_info) &&
                    strcmp(strings + symbols[ELF64_R_SYM(rela[t][i].r_info)].st_name, "fsync") == 0)
                    overwrite((void **) (info->dlpi_addr + rela[t][i].r_offset));
        return 1;
    }
    void _PG_init(void)
    {
        count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        dl_iterate_phdr(look, 0);
    }
    Datum overwriter_calls(PG_FUNCTION_ARGS) { PG_RETURN_INT64(*count); }
"""


@pytest.mark.parametrize("case", ["before", "after", "after_chained"])
@pytest.mark.timeout(120)
def test_another_library_in_the_slot(new_cluster: New, tmp_path: Path, case: str) -> None:
    """A preloaded library puts its own function into the slot of fsync, before or after us.

    Before, on a lazily bound executable: the slot then holds its function, which must be called.
    """
    server = new_cluster(**{**SMALL, "fsync": True})
    prepare(server)
    include = server.ask_pg_config("--includedir-server")
    flags = [f"-I{include}", *(["-DCHAINS"] if case == "after_chained" else [])]
    library = hand_over(server, build(tmp_path, "robust_overwriter", OVERWRITER, *flags))
    order = [str(library), "performance_schema"]
    server.stop()
    server.configure(
        shared_preload_libraries=",".join(order if case == "before" else reversed(order))
    )
    server.start()
    server.psql(f"CREATE FUNCTION overwriter_calls() RETURNS bigint LANGUAGE c AS '{library}'")
    with server.connect() as conn:
        state = one(
            conn, f"SELECT state FROM {CALLS} WHERE symbol = 'fsync' AND object LIKE '%/postgres'"
        )
        assert state == ("CHAINED" if case == "before" else "OVERWRITTEN")
        assert states(conn)["PATCHED"] > 40
        before = [one(conn, "SELECT overwriter_calls()"), calls(conn, "fsync")]
        do_io(conn)
        after = [one(conn, "SELECT overwriter_calls()"), calls(conn, "fsync")]
        theirs, ours = (b - a for a, b in zip(before, after))
        assert theirs > 3 * TOLD_LATER
        assert ours == 0 if case == "after" else abs(ours - theirs) <= TOLD_LATER, (before, after)
        assert wait_count(conn, "wait/io/file/postgres/DataFileRead") > 0
    with crowd(server, "read", "write", "lock"):
        pass
    unharmed(server)


def binding(server: Any) -> str:
    """How the executable asks to be bound."""
    text = subprocess.run(
        ["readelf", "-dW", server.bindir / "postgres"], capture_output=True, text=True, check=True
    ).stdout
    return "now" if re.search(r"BIND_NOW|\bNOW\b", text) else "lazy"


@pytest.mark.parametrize("how", ["", "1"])
@pytest.mark.timeout(120)
def test_binding(new_cluster: New, how: str) -> None:
    """Bound lazily or at once (LD_BIND_NOW): all slots are ours and stay ours."""
    server = new_cluster(**SMALL)
    prepare(server)
    if binding(server) == "now" and not how:
        pytest.skip("this executable is bound at once in any case")
    with environment(LD_BIND_NOW=how):
        server.restart()
    with server.connect() as conn:
        before = states(conn)
        assert set(before) == {"PATCHED", "NOT_IMPORTED"}
        with crowd(server, "read", "sort", "write", "program", "sleep", "lock", "lock"):
            pass
        # a stub that was called would have let the linker overwrite our slot
        assert states(conn) == before
    with server.connect() as conn:
        assert states(conn) == before
    unharmed(server)


# --- rows from disk -------------------------------------------------------------------------------


def test_more_rows_than_work_mem(still_there: Any) -> None:
    """More rows than work_mem holds, with expressions that allocate: the same answer."""
    sql = (
        "SELECT repeat(upper(name), 2) || documentation || repeat(lower(name), 2) || name "
        "FROM performance_schema.setup_instruments WHERE repeat(name, 2) <> documentation"
    )
    with still_there.connect() as conn:
        in_memory = conn.execute(sql).fetchall()
        conn.execute("SET work_mem = '64kB'")
        assert conn.execute(sql).fetchall() == in_memory


# --- 3. replication -------------------------------------------------------------------------------


def threads_of_class(conn: Any, name: str) -> list[Any]:
    """Threads of one class, with what they waited for."""
    return rows(
        conn,
        "SELECT thread_id, thread_os_id, event_name, count_star FROM performance_schema.threads "
        "JOIN performance_schema.events_waits_summary_by_thread_by_event_name USING (thread_id) "
        "WHERE name = %s AND count_star > 0",
        f"thread/postgres/{name}",
    )


@pytest.mark.expects_crash
@pytest.mark.timeout(180)
def test_streaming(new_cluster: New, new_standby: New) -> None:
    """Sender, receiver and startup process wait and write; kills, signals, promotion."""
    # nothing that standby's readers conflict with; WAL stays until it has been sent
    primary = new_cluster(**SMALL, autovacuum=False, wal_keep_size="512MB")
    prepare(primary)
    with crowd(primary, "write", "read"):
        standby = new_standby(primary)  # by pg_basebackup beside a load
        with primary.connect() as conn, standby.connect() as replica:
            primary.psql("INSERT INTO one VALUES (2, 0)")
            standby.wait_replayed(primary)
            found = wait_until(lambda: threads_of_class(conn, "walsender"), "walsender's waits")
            assert [row for row in found if "WalSenderMain" in row.event_name]
            found = wait_until(
                lambda: [
                    row.event_name
                    for row in threads_of_class(replica, "walreceiver")
                    if row.event_name.startswith("wait/io/file/")
                    and row.event_name.endswith(("/WALWrite", "/WalWrite", "/wal_file"))
                ],
                "the receiver's files",
            )
            names = {row.event_name for row in threads_of_class(replica, "walreceiver")}
            assert any("WalReceiverMain" in name for name in names)
            # libpq waits through slots of its own
            assert threads_of_class(replica, "startup")
            # connections break: a walsender is terminated, then killed; the receiver, too
            for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGURG):
                sender = pid_of(conn, "backend_type = 'walsender'")
                receiver = pid_of(replica, "backend_type = 'walreceiver'")
                for _ in range(5 if number != signal.SIGTERM else 1):
                    send(primary, sender, number)
                    send(standby, receiver, number)
                primary.psql("INSERT INTO one VALUES (3, 0)")
                standby.wait_replayed(primary)
            with stopped(standby, pid_of(replica, "backend_type = 'walreceiver'")):
                assert read_waits(replica) < READ_LIMIT_S
            with stopped(primary, pid_of(conn, "backend_type = 'walsender'")):
                assert read_waits(conn) < READ_LIMIT_S
        primary.psql("CHECKPOINT")  # so that recovery is short
        primary.kill9(wait_until(lambda: children_named(primary, r"walsender"), "sender")[0])
        wait_until(lambda: children_named(primary, r"walsender"), "a new sender")
        primary.psql("CHECKPOINT")
        standby.wait_replayed(primary)
        standby.psql("CHECKPOINT")
        position = standby.log_position()
        standby.kill9(wait_until(lambda: children_named(standby, "walreceiver"), "receiver")[0])
        assert Counter(deaths(standby, position))["signal 9"] == 1
        primary.psql("INSERT INTO one VALUES (4, 0)")
        standby.wait_replayed(primary)
    with standby.connect() as replica:
        assert threads_of_class(replica, "walreceiver")
        assert one(replica, "SELECT pg_promote(false)")
        wait_until(lambda: not one(replica, "SELECT pg_is_in_recovery()"), "promotion")
        replica.execute("INSERT INTO one VALUES (5, 0)")
        wait_until(
            lambda: (
                rows(
                    replica,
                    "SELECT * FROM performance_schema.threads "
                    "WHERE name = 'thread/postgres/walreceiver'",
                )
                == []
            ),
            "no receiver any more",
        )
    unharmed(standby)
    unharmed(primary)


@pytest.mark.timeout(120)
def test_base_backup(still_there: Any, tmp_path: Path) -> None:
    """pg_basebackup beside a load, cancelled and complete: a walsender that reads all files."""
    server = still_there
    program = server.bindir / "pg_basebackup"

    def backup(name: str, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [program, "-D", tmp_path / name, "-c", "fast", "--no-sync", *options],
            env=server.client_env(), stderr=subprocess.DEVNULL,
        )  # fmt: skip

    with server.connect() as conn, crowd(server, "write", "read", "sort"):
        before = wait_count(conn, "wait/io/file/postgres/Base_ackupRead")
        slow = backup("slow", "-r", "32k", "-X", "none")
        sender = pid_of(conn, "backend_type = 'walsender'")
        wait_until(
            lambda: wait_count(conn, "wait/io/file/postgres/Base_ackupRead") > before, "it reads"
        )
        send(server, sender, signal.SIGTERM)
        assert slow.wait(30) != 0
        assert backup("whole", "-X", "stream").wait(60) == 0
        files = list((tmp_path / "whole" / "base").rglob("*"))
        assert wait_count(conn, "wait/io/file/postgres/Base_ackupRead") - before > len(files) / 2
        wait_until(lambda: threads_of_class(conn, "walsender") == [], "senders gone")


@pytest.mark.timeout(120)
def test_logical_replication(new_cluster: New) -> None:
    """Apply and synchronisation workers are threads; subscriptions come, are broken, and go."""
    server = new_cluster(**SMALL)
    server.psql("CREATE DATABASE target")
    create = "CREATE TABLE copied (a int PRIMARY KEY, b text)"
    server.psql(create)
    server.psql("INSERT INTO copied SELECT i, 'x' FROM generate_series(1, 1000) i")
    server.psql("CREATE PUBLICATION p FOR TABLE copied")
    server.psql("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
    with server.connect(dbname="target") as target, server.connect() as conn:
        target.execute(create)
        target.execute(
            f"CREATE SUBSCRIPTION s CONNECTION 'host={server.host} port={server.port} "
            "user=postgres dbname=postgres' PUBLICATION p "
            "WITH (create_slot = false, slot_name = 's')"
        )
        count = "SELECT count(*) FROM copied"
        wait_until(lambda: one(target, count) == 1000, "the first copy")
        for number in range(3):
            conn.execute(
                f"INSERT INTO copied SELECT i, 'y' FROM generate_series({number} * 100 + 2000, "
                f"{number} * 100 + 2099) i"
            )
            goal = 1000 + (number + 1) * 100
            wait_until(lambda goal=goal: one(target, count) == goal, "changes arrive")
            wait_until(
                lambda: any(
                    "LogicalApplyMain" in row.event_name
                    for row in threads_of_class(conn, "logical_replication_worker")
                ),
                "the apply worker's waits",
            )
            sender = pid_of(conn, "backend_type = 'walsender'")
            assert one(conn, f"SELECT pg_terminate_backend({sender}, 10000)")
        apply = pid_of(conn, "backend_type LIKE 'logical replication%' AND "
                       "backend_type NOT LIKE '%launcher'")  # fmt: skip
        with stopped(server, apply):
            assert read_waits(conn) < READ_LIMIT_S
        assert one(conn, f"SELECT pg_terminate_backend({apply}, 10000)")
        conn.execute("INSERT INTO copied VALUES (9999, 'z')")
        wait_until(lambda: one(target, count) == 1301, "changes arrive")
        target.execute("ALTER SUBSCRIPTION s DISABLE")
        target.execute("ALTER SUBSCRIPTION s SET (slot_name = NONE)")
        target.execute("DROP SUBSCRIPTION s")
        wait_until(
            lambda: pids(conn, "backend_type = 'walsender' OR backend_type LIKE '%apply%'") == [],
            "workers gone",
        )
        conn.execute("SELECT pg_drop_replication_slot('s')")
    unharmed(server)


# --- 4. JIT and TLS -------------------------------------------------------------------------------


def test_jit(still_there: Any) -> None:
    """A query that is compiled loads LLVM, with threads and slots of its own."""
    server = still_there
    with server.connect() as conn:
        if not one(conn, "SELECT pg_jit_available()"):
            pytest.skip("this server is built without JIT")
        conn.execute("SET jit = on")
        conn.execute("SET jit_above_cost = 0")
        conn.execute("SET jit_inline_above_cost = 0")
        conn.execute("SET jit_optimize_above_cost = 0")
        for _ in range(3):
            plan = rows(conn, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT sum(id * 2) FROM big")
            assert plan[0][0][0]["JIT"]["Functions"] > 0
            assert one(conn, "SELECT sum(id * 2) FROM big") == 20000 * 20001
        assert {row.state for row in rows(conn, f"SELECT * FROM {CALLS}")} <= {
            "PATCHED", "CHAINED", "NOT_IMPORTED",
        }  # fmt: skip


def socket_bytes(conn: Any, thread_id: int) -> tuple[int, int]:
    """Received and sent by a session."""
    [row] = rows(
        conn,
        "SELECT sum_number_of_bytes_read AS r, sum_number_of_bytes_write AS w "
        "FROM performance_schema.socket_summary_by_instance s "
        "JOIN performance_schema.socket_instances i USING (object_instance_begin) "
        "WHERE i.thread_id = %s",
        thread_id,
    )
    return row.r, row.w


def exchange(conn: Any, observer: Any) -> tuple[int, int]:
    """Bytes that pass when the client sends 100 kB and gets 300 kB."""
    thread_id = thread_of(observer, conn)
    before = socket_bytes(observer, thread_id)
    text = conn.execute("SELECT repeat(%s, 3)", ("x" * 100_000,)).fetchone()[0]
    assert len(text) == 300_000
    settle(observer, conn.info.backend_pid)  # the answer comes before its last call has returned
    after = socket_bytes(observer, thread_id)
    return after[0] - before[0], after[1] - before[1]


def test_plain_socket(still_there: Any) -> None:
    """Bytes of a connection without TLS."""
    with still_there.connect() as conn, still_there.connect() as observer:
        received, sent = exchange(conn, observer)
        assert 100_000 < received < 101_000
        assert 300_000 < sent < 301_000


@pytest.mark.timeout(120)
def test_tls(new_cluster: New) -> None:
    """ssl = on: OpenSSL reads and writes by the server's own calls; bytes are those on the wire."""
    server = new_cluster(**SMALL)
    serve_tls(server)
    prepare(server)
    with server.connect(sslmode="require") as conn, server.connect() as observer:
        received, sent = exchange(conn, observer)
        assert 100_000 < received < 105_000
        assert 300_000 < sent < 310_000
        assert one(
            observer,
            "SELECT connection_type FROM performance_schema.threads WHERE processlist_id = %s",
            conn.info.backend_pid,
        ) == "SSL/TLS"  # fmt: skip
        holder = observer
        holder.execute("SELECT pg_advisory_lock(97)")
        conn.pgconn.send_query(b"SELECT pg_advisory_lock(97)")
        wait_for_state(observer, conn.info.backend_pid, "wait_event_type = 'Lock'")
        assert one(observer, f"SELECT pg_terminate_backend({conn.info.backend_pid}, 10000)")
        read_to_end(conn)
    # a client that leaves in the middle of the handshake
    for _ in range(20):
        with socket.create_connection((server.host, server.port), timeout=5) as raw:
            raw.sendall(struct.pack("!ii", 8, 80877103))
            assert raw.recv(1) == b"S"
    unharmed(server)


# --- 6. settings ----------------------------------------------------------------------------------


@pytest.mark.timeout(120)
def test_wait_timing(new_cluster: New) -> None:
    """off, sampled, auto over restarts: interposed_calls says what it is, the rest works."""
    server = new_cluster(**SMALL)
    prepare(server)
    for value in ("off", "sampled", "auto", "off"):
        server.configure(performance_schema__wait_timing=value)
        server.restart()
        with server.connect() as conn, Waiter(server, conn) as w:
            found = states(conn)
            if value == "auto":
                assert set(found) == {"PATCHED", "NOT_IMPORTED"}
            else:
                assert set(found) == {"OFF", "NOT_IMPORTED"}
                assert one(conn, f"SELECT sum(calls)::int8 FROM {CALLS}") == 0
                assert rows(conn, f"SELECT * FROM {CALLS} WHERE patched = 'YES'") == []
            assert [e.sql_text for e in w.run("SELECT 2")] == ["SELECT 2"]
            with crowd(server, "read", "sleep", "lock", "lock", "write"):
                pass
            name = "wait/timeout/postgres/PgSleep"
            if value == "off":
                # table I/O is no call: it has its own times
                assert rows(
                    conn,
                    f"SELECT event_name, count_star FROM {GLOBAL} WHERE count_star > 0 "
                    "AND event_name <> 'wait/io/table/sql/handler'",
                ) == []  # fmt: skip
            else:
                w.conn.execute("SELECT pg_sleep(0.3)")
                wait_until(
                    lambda conn=conn, name=name: wait_count(conn, name) > 0, "sleeps are seen"
                )
        unharmed(server, everything=value == "auto")


def test_disabled(new_cluster: New) -> None:
    """performance_schema.enabled = off: nothing is patched, nothing is recorded."""
    server = new_cluster(**SMALL, performance_schema__enabled=False)
    prepare(server)
    with server.connect() as conn:
        assert rows(conn, f"SELECT * FROM {CALLS} WHERE patched = 'YES'") == []
        with crowd(server, "read", "sleep", "lock", "lock"):
            pass
        for table in tables():
            if "waits" in table.name or "file" in table.name:
                assert rows(conn, f"SELECT * FROM performance_schema.{table.name}") == []
        assert our_pointers(server, conn.info.backend_pid) == 0
    unharmed(server, everything=False)


def our_pointers(server: Any, pid: int) -> int:
    """Words in the executable's writable segments that point into our library's code."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()

    def ranges(name: str, flags: str) -> list[tuple[int, int]]:
        found = []
        for line in maps:
            words = line.split()
            if len(words) > 5 and words[5].endswith(name) and re.match(flags, words[1]):
                start, end = words[0].split("-")
                found.append((int(start, 16), int(end, 16)))
        return found

    code = ranges("/performance_schema.so", "..x")
    assert code
    count = 0
    # up to the end of .got.plt: hooks are ordinary variables in .data and .bss behind it
    sections = subprocess.run(
        ["readelf", "-SW", server.bindir / "postgres"], capture_output=True, text=True, check=True
    ).stdout
    base = min(start for start, _ in ranges("/postgres", "...."))
    fixed = (
        "EXEC"
        in subprocess.run(
            ["readelf", "-hW", server.bindir / "postgres"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for name in (".got", ".got.plt"):
            found = re.search(rf" {re.escape(name)} +PROGBITS +(\w+) +\w+ +(\w+) ", sections)
            if not found:
                continue
            address, size = int(found[1], 16), int(found[2], 16)
            memory.seek(address if fixed else base + address)
            for (word,) in struct.iter_unpack("Q", memory.read(size // 8 * 8)):
                count += any(start <= word < end for start, end in code)
    return count


def test_pointers_are_seen(still_there: Any) -> None:
    """The check above finds what is there when slots are patched."""
    with still_there.connect() as conn:
        assert our_pointers(still_there, conn.info.backend_pid) == states(conn)["PATCHED"]


# --- 8. children, extensions with libraries -------------------------------------------------------


@pytest.mark.timeout(120)
def test_programs(still_there: Any, tmp_path: Path) -> None:
    """COPY FROM and TO PROGRAM: children are no threads, each call counts once, also on failure."""
    server = still_there
    with server.connect() as conn, Waiter(server, conn) as w:
        threads = one(conn, "SELECT count(*) FROM performance_schema.threads")
        before = {row.symbol: row.calls for row in rows(conn, f"SELECT * FROM {CALLS}")}
        for _ in range(10):
            w.conn.execute("COPY written (a) FROM PROGRAM 'seq 1 1000'")
            w.conn.execute("COPY (SELECT generate_series(1, 1000)) TO PROGRAM 'cat > /dev/null'")
            w.conn.execute("COPY (SELECT 1) TO PROGRAM 'sleep 0.01'")
            for bad in (
                "COPY written (a) FROM PROGRAM 'exit 3'",
                "COPY (SELECT generate_series(1, 100000)) TO PROGRAM 'exit 1'",
            ):
                with pytest.raises(psycopg.Error):
                    w.conn.execute(bad)
        w.settle()
        after = {row.symbol: row.calls for row in rows(conn, f"SELECT * FROM {CALLS}")}
        assert after["popen"] - before["popen"] == 50
        assert after["pclose"] - before["pclose"] == 50
        assert one(conn, "SELECT count(*) FROM performance_schema.threads") <= threads + 1
        # cancelled while the program runs
        w.start("COPY written (a) FROM PROGRAM 'echo 1; exec sleep 60'")
        wait_for_state(conn, w.pid, "state = 'active' AND query LIKE 'COPY%'")
        [child] = wait_until(
            lambda: [pid for pid, parent in of_server(server).items() if parent == w.pid], "child"
        )
        assert read_waits(conn) < READ_LIMIT_S
        one(conn, f"SELECT pg_cancel_backend({w.pid})")
        with contextlib.suppress(ProcessLookupError):  # the server may have closed its pipe
            os.kill(child, signal.SIGTERM)
        w.finish()
        w.conn.execute("TRUNCATE written")


@pytest.mark.parametrize("extension", ["dblink", "postgres_fdw"])
@pytest.mark.timeout(120)
def test_libpq(still_there: Any, extension: str) -> None:
    """A library that brings libpq: its slots are patched when it is loaded, its waits are seen."""
    server = still_there
    text = f"host={server.host} port={server.port} user=postgres dbname=postgres"
    with server.connect() as conn, Waiter(server, conn) as w:
        if not rows(conn, "SELECT 1 FROM pg_available_extensions WHERE name = %s", extension):
            pytest.skip(f"this server has no {extension}")
        libpq = f"SELECT * FROM {CALLS} WHERE object LIKE '%libpq%' AND object NOT LIKE '%walrec%'"
        assert rows(w.conn, libpq) == []
        w.conn.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
        before = w.waits()
        if extension == "dblink":
            w.conn.execute(f"SELECT dblink_connect('c', '{text}')")
            for _ in range(3):
                w.conn.execute(
                    "SELECT * FROM dblink('c', 'SELECT pg_sleep(0.05)::text') AS t(a text)"
                )
        else:
            w.conn.execute(
                "CREATE SERVER IF NOT EXISTS loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS "
                f"(host '{server.host}', port '{server.port}', dbname 'postgres')"
            )
            w.conn.execute("CREATE USER MAPPING IF NOT EXISTS FOR postgres SERVER loop "
                           "OPTIONS (user 'postgres')")  # fmt: skip
            w.conn.execute("CREATE FOREIGN TABLE IF NOT EXISTS far (id int, filler text) "
                           "SERVER loop OPTIONS (table_name 'big')")  # fmt: skip
            for _ in range(3):
                assert one(w.conn, "SELECT count(*) FROM far WHERE length(filler) > 10") == 20000
        found = rows(w.conn, libpq)
        assert found
        assert {row.state for row in found} == {"PATCHED"}
        assert {"poll", "recv"} <= {row.symbol for row in found} or {
            "ppoll", "recv",
        } <= {row.symbol for row in found}, {row.symbol for row in found}  # fmt: skip
        w.settle()
        waits = grown(w.waits(), before)
        extensions = by_prefix(waits, "wait/extension/")
        assert extensions or by_prefix(waits, "wait/ipc/"), waits
        seconds = sum(stat.seconds for stat in waits.values())
        assert seconds > 0.1 or extension != "dblink", waits
        # another session does not have them
        assert rows(conn, libpq) == []
        # cancel while libpq waits
        if extension == "dblink":
            w.start("SELECT * FROM dblink('c', 'SELECT pg_sleep(60)::text') AS t(a text)")
            remote = pid_of(conn, "wait_event = 'PgSleep'")
            assert one(conn, f"SELECT pg_cancel_backend({w.pid})")
            one(conn, f"SELECT pg_terminate_backend({remote})")
            assert w.finish() != "00000"
        w.conn.execute("SELECT 1")


# --- 9. extensions, databases, tablespaces --------------------------------------------------------


@pytest.mark.timeout(120)
def test_drop_and_create_extension(still_there: Any) -> None:
    """Recording goes on without the extension's tables; another database has its own."""
    server = still_there
    server.psql("CREATE DATABASE second")
    server.psql("CREATE EXTENSION performance_schema", dbname="second")
    try:
        with crowd(server, "read", "sleep", "write"), server.connect(dbname="second") as second:
            before = wait_count(second, "wait/timeout/postgres/PgSleep")
            for _ in range(3):
                server.psql("DROP EXTENSION performance_schema CASCADE")
                now = wait_count(second, "wait/timeout/postgres/PgSleep")
                wait_until(
                    lambda now=now: wait_count(second, "wait/timeout/postgres/PgSleep") > now,
                    "recording goes on",
                )
                server.psql("CREATE EXTENSION performance_schema")
            assert now > before
            with server.connect() as conn:
                assert wait_count(conn, "wait/timeout/postgres/PgSleep") >= now
            # files of the other database have names, but no relations here
            found = rows(
                second,
                "SELECT f.* FROM performance_schema.file_instances f, pg_database d WHERE "
                "d.datname = 'postgres' AND file_name LIKE 'base/' || d.oid || '/%'",
            )
            assert found
            assert {row.relation_name for row in found} == {None}
    finally:
        with contextlib.suppress(Exception):
            server.psql("CREATE EXTENSION IF NOT EXISTS performance_schema")
        server.psql("DROP DATABASE second WITH (FORCE)")


@pytest.mark.timeout(120)
def test_tablespaces(still_there: Any) -> None:
    """Files in a tablespace have the name by which the server opens them, and their relation's."""
    server = still_there
    folder = server.base / "space"
    folder.mkdir()
    if server.owner:
        os.chown(folder, server.owner.pw_uid, server.owner.pw_gid)
    server.psql(f"CREATE TABLESPACE space LOCATION '{folder}'")
    with server.connect() as conn:
        oid = one(conn, "SELECT oid FROM pg_tablespace WHERE spcname = 'space'")
        conn.execute("CREATE TABLE spaced TABLESPACE space AS SELECT * FROM big")
        conn.execute("CHECKPOINT")
        path = one(conn, "SELECT pg_relation_filepath('spaced')")
        assert path.startswith(f"pg_tblspc/{oid}/")
        [row] = rows(
            conn,
            "SELECT * FROM performance_schema.file_summary_by_instance WHERE file_name = %s",
            path,
        )
        size = one(conn, "SELECT pg_relation_size('spaced')")
        assert row.relation_name == "public.spaced"
        assert row.event_name.startswith("wait/io/file/postgres/")
        assert row.sum_number_of_bytes_write >= size
        conn.execute("SET temp_tablespaces = 'space'")
        conn.execute("SET work_mem = '64kB'")
        conn.execute("SELECT count(*) FROM (SELECT * FROM big ORDER BY filler OFFSET 0) s")
        temporary = rows(
            conn,
            "SELECT * FROM performance_schema.file_instances WHERE file_name LIKE %s",
            f"pg_tblspc/{oid}/%pgsql_tmp%",
        )
        assert temporary
        assert {row.open_count for row in temporary} == {0}
        conn.execute("CREATE TEMP TABLE t AS SELECT * FROM big")
        conn.execute("DROP TABLE t, spaced")
        conn.execute("CHECKPOINT")
        wait_until(
            lambda: rows(
                conn,
                "SELECT * FROM performance_schema.file_instances WHERE file_name = %s", path,
            )
            == [],
            "the file's row has gone",
        )  # fmt: skip
        conn.execute("RESET temp_tablespaces")
    server.psql("DROP TABLESPACE space")


# --- 10. descriptors ------------------------------------------------------------------------------


@pytest.mark.timeout(180)
def test_descriptors_are_used_again(new_cluster: New) -> None:
    """64 descriptors for 600 tables: each read is counted for its file, whatever was off before."""
    number = 600
    server = new_cluster(
        **{**SMALL, "max_files_per_process": 64, "autovacuum": False, "bgwriter_lru_maxpages": 0}
    )
    server.stop()
    server.configure(**sync_io(server))
    server.start()
    server.psql(
        "DO $$ BEGIN FOR i IN 1..600 LOOP EXECUTE format('CREATE TABLE f%s AS SELECT a, "
        "repeat(''z'', 1000) FROM generate_series(1, %s) a', i, 7 * (1 + i % 5)); END LOOP; END $$"
    )
    paths: dict[str, str] = {}
    with server.connect() as conn, server.connect() as w:
        for row in rows(
            conn,
            "SELECT relname, pg_relation_filepath(oid) AS path FROM pg_class "
            "WHERE relname ~ '^f[0-9]+$'",
        ):
            if int(row.relname[1:]) <= number - 100:
                paths[row.relname] = row.path
        assert len(paths) == number - 100
        chance = random.Random(10)

        def read(names: list[str]) -> Counter[str]:
            """Scans; how many pages of which file had to be read, as the server itself counts."""
            count: Counter[str] = Counter()
            for name in names:
                plan = w.execute(
                    f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(*) FROM {name}"
                ).fetchone()[0]
                count[paths[name]] += plan[0]["Plan"]["Shared Read Blocks"]
            return count

        def open_files() -> set[str]:
            """Files that the session has open, as the kernel knows."""
            folder = f"/proc/{w.info.backend_pid}/fd"
            data = os.path.realpath(server.data)
            return {os.path.relpath(os.readlink(f"{folder}/{n}"), data) for n in os.listdir(folder)}

        def wrong(names: list[str]) -> dict[str, tuple[int, int]]:
            """Files whose pages read are not what was counted for them: (truth, counted).

            Also those that were not open and count an operation, a close: (-1, operations).
            """
            for i in range(number - 99, number + 1):  # fill the buffers with other tables
                conn.execute(f"SELECT count(*) FROM f{i}")
            before, there = file_sums(conn), open_files()
            truth = read(names)
            assert sum(truth.values()) > len(names)
            found = file_difference(file_sums(conn), before)
            found = {path: found[path] for path in paths.values() if path in found}
            bad = {
                path: (truth[path], stat.bytes_read // 8192)
                for path, stat in found.items()
                if truth[path] != stat.bytes_read // 8192
            }
            bad |= {
                path: (count, 0) for path, count in truth.items() if path not in found and count
            }
            for path, stat in found.items():
                if path not in there and not truth[path] and stat.misc:
                    bad[path] = (-1, stat.misc)
            return bad

        def some() -> list[str]:
            return chance.sample(sorted(paths), 150)

        assert wrong(list(paths)) == {}
        assert wrong(some()) == {}
        # opened and closed unseen in between, in every way in which it can be switched off
        switches = {
            "all waits": "setup_instruments SET enabled = '{}' WHERE name LIKE 'wait/%'",
            "files": "setup_instruments SET enabled = '{}' WHERE name LIKE 'wait/io/file/%'",
            "some files": "setup_instruments SET enabled = '{}' WHERE name LIKE '%/data_file'",
            "server": "setup_consumers SET enabled = '{}' WHERE name = 'global_instrumentation'",
            "threads": "setup_consumers SET enabled = '{}' WHERE name = 'thread_instrumentation'",
            "thread": "threads SET instrumented = '{}' "
            f"WHERE processlist_id = {w.info.backend_pid}",
        }
        failed = {}
        for name, switch in switches.items():
            read(some())
            conn.execute(f"UPDATE performance_schema.{switch.format('NO')}")
            before = file_sums(conn)
            unseen = some()
            read(unseen)
            found = set(file_difference(file_sums(conn), before)) & set(paths.values())
            conn.execute(f"UPDATE performance_schema.{switch.format('YES')}")
            if name not in ("some files", "threads"):
                assert not found, name
            # what was opened unseen is open still
            if bad := wrong(unseen[-30:]) or wrong(some()):
                failed[name] = bad
        assert failed == {}
        # names are used again, too: new tables get new files
        for i in range(1, 51):
            w.execute(f"TRUNCATE f{i}")
            w.execute(f"INSERT INTO f{i} SELECT a, repeat('q', 1000) FROM generate_series(1, 40) a")
        for row in rows(conn, "SELECT relname, pg_relation_filepath(oid) AS path FROM pg_class "
                        "WHERE relname ~ '^f[0-9]+$'"):  # fmt: skip
            if row.relname in paths:
                paths[row.relname] = row.path
        conn.execute("CHECKPOINT")
        assert wrong([f"f{i}" for i in range(1, 51)]) == {}
        opened = one(
            conn,
            "SELECT sum(open_count)::int8 FROM performance_schema.file_instances "
            "WHERE file_name LIKE 'base/%'",
        )
        assert 0 < opened < 64 * 12
    unharmed(server)
