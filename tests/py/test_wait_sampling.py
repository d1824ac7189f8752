"""performance_schema.wait_timing = sampled: a worker looks at wait events where nothing is timed.

The worker hands over every 100 looks, at least once a second: tests wait until a number is there.
"There is nothing" is only said after a heartbeat: an idle session whose time has grown by two
further instalments. Every session has a role of its own, so that sums by user are of one session.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import close_cluster, open_cluster
from helpers import LOAD_SECONDS, one, read_to_end, rows, wait_until

SUMMARY = "performance_schema.events_waits_summary_"
PROCESS = "performance_schema wait sampler"
SLEEP = "wait/timeout/postgres/PgSleep"
ADVISORY = "wait/lock/heavyweight/advisory"
CHECKPOINTER = "wait/activity/postgres/CheckpointerMain"
PERIOD_MS = 2
AGREEMENT_S = max(3, LOAD_SECONDS // 3)


class Stat(NamedTuple):
    """Count and seconds of one event name."""

    count: int
    total: float
    shortest: float
    longest: float


NOTHING = Stat(0, 0.0, 0.0, 0.0)


def waits(conn: Any, user: str | None = None, level: str = "by_user") -> dict[str, Stat]:
    """What a user has waited for so far, or (None) the server. Table I/O is never sampled."""
    found = rows(
        conn,
        "SELECT event_name, count_star, sum_timer_wait, min_timer_wait, max_timer_wait, "
        f"timer_source FROM {SUMMARY}{level if user else 'global'}_by_event_name "
        "WHERE count_star > 0 AND event_name NOT LIKE 'wait/io/table/%'"
        + (f" AND user_name = '{user}'" if user else ""),
    )
    assert {row.timer_source for row in found} <= {"SAMPLED"}
    return {
        row.event_name: Stat(row.count_star, *(float(value) / 1e12 for value in row[2:5]))
        for row in found
    }


def about(seconds: float) -> Any:
    """10 %, and the lengths of a few looks on a busy machine."""
    return pytest.approx(seconds, rel=0.1, abs=0.06)


class Session:
    """A session of a role of its own, which can start a statement and go on."""

    def __init__(self, server: Any, role: str) -> None:
        server.psql(f"CREATE ROLE {role} SUPERUSER LOGIN")
        self.conn = server.connect(user=role)
        self.role = role
        self.pid: int = self.conn.info.backend_pid

    def start(self, sql: str) -> Session:
        self.conn.pgconn.send_query(sql.encode())
        return self

    def finish(self) -> None:
        read_to_end(self.conn)


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    made = open_cluster(
        pg_config, extension=True, preload=True, autovacuum=False,
        performance_schema__wait_timing="sampled", performance_schema__instrument="%=on",
        performance_schema__wait_sample_period=PERIOD_MS,
    )  # fmt: skip
    yield made
    close_cluster(made)


@pytest.fixture
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as conn:
        yield conn


@pytest.fixture
def session() -> Iterator[Callable[..., Session]]:
    """Makes sessions: session(server, role)."""
    made: list[Session] = []

    def make(server: Any, role: str) -> Session:
        made.append(Session(server, role))
        return made[-1]

    yield make
    for each in made:
        each.conn.close()


class Heart:
    """An idle session: as long as its time grows, the sampler works."""

    def __init__(self, server: Any, observer: Any, session: Callable[..., Session], role: str):
        self.session = session(server, role)
        self.observer = observer

    def seconds(self) -> float:
        return waits(self.observer, self.session.role).get("idle", NOTHING).total

    def beat(self, times: int = 2) -> None:
        """Until everything that was collected by now has arrived."""
        for _ in range(times):
            seen = self.seconds()
            wait_until(lambda seen=seen: self.seconds() > seen, "sampling")


def sampler_pid(server: Any) -> int | None:
    """Process id of the worker (it has no row in pg_stat_activity: it uses no database)."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = re.search(r"^PPid:\t(\d+)", (folder / "status").read_text(), re.MULTILINE)
                title = (folder / "cmdline").read_bytes()
            except OSError:  # gone meanwhile
                continue
            if parent and int(parent[1]) == server.postmaster_pid() and PROCESS.encode() in title:
                return int(folder.name)
    return None


def set_period(server: Any, milliseconds: int) -> None:
    server.configure(performance_schema__wait_sample_period=milliseconds)
    server.reload()


# --- what is counted ------------------------------------------------------------------------------


def test_sums(server: Any, observer: Any, session: Callable[..., Session]) -> None:
    """A sleep, a wait for a lock and an idle session at once: time, count, and who gets them."""
    holder = session(server, "smp_holder")
    holder.conn.execute("SELECT pg_advisory_lock(1)")
    idler, sleeper, waiter = (
        session(server, role) for role in ("smp_idle", "smp_sleep", "smp_lock")
    )
    idler.conn.execute("BEGIN")
    idle_since = time.monotonic()
    sleeper.start("SELECT pg_sleep(1)")
    waiter.start("SELECT pg_advisory_lock(1)")
    wait_since = time.monotonic()
    time.sleep(0.5)
    holder.conn.execute("SELECT pg_advisory_unlock(1)")
    waiter.finish()
    waited = time.monotonic() - wait_since
    sleeper.finish()
    idle_for = time.monotonic() - idle_since
    idler.conn.execute("COMMIT")

    for role, event, seconds in (
        ("smp_sleep", SLEEP, 1.0),
        ("smp_lock", ADVISORY, waited),
        ("smp_idle", "idle", idle_for),
    ):
        stat = wait_until(
            lambda role=role, event=event: (s := waits(observer, role).get(event, NOTHING)).shortest
            and s, f"{event} of {role}",
        )  # fmt: skip
        if event != "idle":  # before BEGIN and after COMMIT it is idle, too
            assert stat.count == 1
            assert stat.total == stat.longest == stat.shortest == about(seconds)
        assert stat.longest == about(seconds)
        [account] = rows(
            observer,
            f"SELECT host, count_star FROM {SUMMARY}by_account_by_event_name "
            f"WHERE user_name = '{role}' AND event_name = '{event}'",
        )
        assert account.host == "127.0.0.1"
    assert waits(observer)[SLEEP] == waits(observer, "smp_sleep")[SLEEP]
    # nobody writes cells of threads
    assert rows(
        observer,
        f"SELECT * FROM {SUMMARY}by_thread_by_event_name WHERE event_name NOT LIKE '%/table/%'",
    ) == []  # fmt: skip
    # processes without a client are met, too, and belong to nobody
    checkpointer = waits(observer)[CHECKPOINTER]
    assert checkpointer.count == 1 and checkpointer.total > idle_for


def test_truncate(server: Any, observer: Any, session: Callable[..., Session]) -> None:
    """Nothing from before comes back, and what lasts goes on; levels above keep theirs."""
    sleeper = session(server, "smp_long").start("SELECT pg_sleep(600)")
    started = time.monotonic()

    def sleep_at(level: str) -> Stat:
        return waits(observer, "smp_long", level).get(SLEEP, NOTHING)

    # shown while it lasts; how short it is nobody knows yet
    stat = wait_until(lambda: (s := sleep_at("by_user")).total > 0.3 and s, "first instalment")
    assert stat.count == 1 and stat.shortest == 0
    time.sleep(0.3)  # so that something is collected and not handed over
    truncated = time.monotonic()
    observer.execute(f"TRUNCATE {SUMMARY}by_account_by_event_name")
    stat = wait_until(lambda: (s := sleep_at("by_account")).count and s, "next instalment")
    now = time.monotonic()
    assert stat.total <= now - truncated
    by_user = sleep_at("by_user")
    assert truncated - started - 0.1 < by_user.total <= now - started
    time.sleep(0.3)
    truncated = time.monotonic()
    observer.execute(f"TRUNCATE {SUMMARY}global_by_event_name")
    assert sleep_at("by_user").total <= time.monotonic() - truncated
    stat = wait_until(lambda: (s := sleep_at("by_user")).count and s, "next instalment")
    assert stat.count == 1
    for level in ("by_user", "by_account"):
        assert sleep_at(level).total <= time.monotonic() - truncated
    observer.execute("SELECT pg_cancel_backend(%s)", (sleeper.pid,))
    sleeper.finish()


def test_switches(server: Any, observer: Any, session: Callable[..., Session]) -> None:
    """What is switched off adds nothing: instruments, their timing, threads, classes, consumers."""
    heart = Heart(server, observer, session, "smp_heart")
    holder = session(server, "smp_holder2")
    holder.conn.execute("SELECT pg_advisory_lock(2)")
    asleep, untimed, unseen, hidden = (
        session(server, role) for role in ("smp_off", "smp_untimed", "smp_unseen", "smp_hidden")
    )

    def switch(sql: str) -> None:
        observer.execute(f"SELECT performance_schema.set_{sql}")

    def background(enabled: str) -> None:
        observer.execute(
            f"UPDATE performance_schema.setup_threads SET enabled = '{enabled}' "
            "WHERE name = 'thread/postgres/checkpointer'"
        )

    heart.beat()
    switch(f"instruments('{SLEEP}', false)")
    switch(f"instruments('{ADVISORY}', true, false)")
    switch(f"thread(performance_schema.ps_thread_id({unseen.pid}), false)")
    background("NO")
    asleep.start("SELECT pg_sleep(600)")
    untimed.start("SELECT pg_advisory_lock(2)")
    try:
        heart.beat()
        before = waits(observer, "smp_unseen"), waits(observer)[CHECKPOINTER]
        heart.beat(1)
        assert (waits(observer, "smp_unseen"), waits(observer)[CHECKPOINTER]) == before
        assert waits(observer, "smp_off").keys() <= {"idle"}
        stat = waits(observer, "smp_untimed")[ADVISORY]
        assert (stat.count, stat.total) == (1, 0)
    finally:
        for sql in (f"instruments('{SLEEP}', true)", f"instruments('{ADVISORY}', true, true)"):
            switch(sql)
        background("YES")
    for each in (asleep, untimed):
        observer.execute("SELECT pg_cancel_backend(%s)", (each.pid,))
        each.finish()

    # consumers: without threads only global, without global nothing at all
    def sleeps() -> float:
        return waits(observer).get(SLEEP, NOTHING).total

    heart.beat(1)
    base = sleeps()
    for consumer, grows in (("thread", 0.3), ("global", 0.0)):
        switch(f"consumers('{consumer}_instrumentation', false)")
        try:
            hidden.start("SELECT pg_sleep(0.3)").finish()
        finally:
            switch(f"consumers('{consumer}_instrumentation', true)")
        heart.beat(1)
        assert sleeps() - base == about(grows)
        base = sleeps()
    assert SLEEP not in waits(observer, "smp_hidden")


# --- the worker -----------------------------------------------------------------------------------


@pytest.mark.expects_crash
def test_worker(server: Any, session: Callable[..., Session], connect: Callable[..., Any]) -> None:
    """Reload: another period. SIGTERM: hands over and is started again. Crash: all begins anew."""
    heart = Heart(server, connect(server), session, "smp_heart2")
    heart.beat(1)
    old = sampler_pid(server)
    assert old is not None

    def wakeups() -> int:
        status = Path(f"/proc/{old}/status").read_text()
        match = re.search(r"^voluntary_ctxt_switches:\t(\d+)", status, re.MULTILINE)
        assert match
        return int(match[1])

    def rate() -> float:
        before, since = wakeups(), time.monotonic()
        time.sleep(0.2)
        return (wakeups() - before) / (time.monotonic() - since)

    assert rate() > 100
    set_period(server, 50)  # now it hands over once a second
    wait_until(lambda: rate() < 40, "longer period")
    heart.beat(1)
    seen = heart.seconds()
    time.sleep(0.5)
    os.kill(old, 15)
    wait_until(lambda: sampler_pid(server) != old, "end of the worker")
    assert heart.seconds() > seen + 0.3
    set_period(server, PERIOD_MS)
    wait_until(lambda: sampler_pid(server), "the next worker")
    heart.beat(1)

    server.kill9(heart.session.pid)
    with server.connect() as conn:
        Heart(server, conn, session, "smp_heart3").beat(1)


@pytest.mark.timeout(120)
def test_standby(
    server: Any, new_standby: Callable[..., Any], session: Callable[..., Session]
) -> None:
    server.psql("CREATE ROLE smp_standby SUPERUSER LOGIN")
    standby = new_standby(server)
    standby.wait_replayed(server)
    with standby.connect() as conn, standby.connect(user="smp_standby") as sleeper:
        sleeper.execute("SELECT pg_sleep(0.5)")
        stat = wait_until(
            lambda: (s := waits(conn, "smp_standby").get(SLEEP, NOTHING)).shortest and s, "sampling"
        )
        assert (stat.count, stat.total) == (1, about(0.5))
        assert waits(conn)["wait/activity/postgres/RecoveryWalStream"].total > 0.5


# --- other modes ----------------------------------------------------------------------------------


def slot_states(conn: Any) -> set[str]:
    """Of the calls that the server makes."""
    sql = "SELECT DISTINCT state FROM performance_schema.interposed_calls"
    return {row.state for row in rows(conn, sql)} - {"NOT_IMPORTED"}


def test_off(new_cluster: Callable[..., Any]) -> None:
    """Neither timed nor sampled."""
    server = new_cluster(
        performance_schema__wait_timing="off", performance_schema__instrument="%=on",
        performance_schema__wait_sample_period=PERIOD_MS,
    )  # fmt: skip
    with server.connect() as conn:
        conn.execute("SELECT pg_sleep(0.1)")
        time.sleep(0.5)
        assert rows(
            conn,
            f"SELECT * FROM {SUMMARY}global_by_event_name "
            "WHERE count_star > 0 AND event_name NOT LIKE 'wait/io/table/%'",
        ) == []  # fmt: skip
        assert slot_states(conn) == {"OFF"}
        assert sampler_pid(server) is None


def test_sampled_patches_nothing(server: Any, connect: Callable[..., Any]) -> None:
    assert slot_states(connect(server)) == {"OFF"}


def test_auto(cluster: Any, conn: Any) -> None:
    """Where calls can be timed, nothing is sampled."""
    sources = one(
        conn,
        f"SELECT array_agg(DISTINCT timer_source) FROM {SUMMARY}global_by_event_name",
    )
    assert sources == ["TIMED"]
    assert "PATCHED" in slot_states(conn)
    assert sampler_pid(cluster) is None


# --- agreement ------------------------------------------------------------------------------------

LOAD = """\\set id random(1, 5)
BEGIN;
UPDATE smp_rows SET n = n + 1 WHERE id = :id;
SELECT pg_sleep(0.002);
COMMIT;
"""
CLIENTS = 8


def start_load(server: Any, script: Path) -> subprocess.Popen[bytes]:
    server.psql(
        "DROP TABLE IF EXISTS smp_rows; CREATE TABLE smp_rows (id integer PRIMARY KEY, n integer);"
        "INSERT INTO smp_rows SELECT i, 0 FROM generate_series(1, 5) AS i;"
        "DROP ROLE IF EXISTS smp_load; CREATE ROLE smp_load SUPERUSER LOGIN"
    )
    command = [
        server.bindir / "pgbench", "-n", "-c", str(CLIENTS), "-j", "1", "-M", "prepared",
        "-T", str(AGREEMENT_S), "-U", "smp_load", "-f", script,
    ]  # fmt: skip
    return subprocess.Popen(
        command, env=server.client_env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def shares(conn: Any) -> dict[str, float]:
    """Parts of the load's waiting time, by event. Sending to a client is no event of the server."""
    found = dict(
        conn.execute(
            f"SELECT event_name, sum_timer_wait::float8 FROM {SUMMARY}by_user_by_event_name "
            "WHERE user_name = 'smp_load' AND event_name NOT LIKE 'wait/io/table/%' "
            "AND event_name NOT LIKE '%/client_connection'"
        ).fetchall()
    )
    return {name: time / sum(found.values()) for name, time in found.items()}


@pytest.mark.timeout(LOAD_SECONDS + 60)
def test_agreement(
    server: Any,
    new_cluster: Callable[..., Any],
    connect: Callable[..., Any],
    session: Callable[..., Session],
    tmp_path: Path,
) -> None:
    """The same load, timed and sampled: shares of each event differ by 10 points at most."""
    script = tmp_path / "load.sql"
    script.write_text(LOAD)
    set_period(server, 10)  # the default
    timed = new_cluster(autovacuum=False, performance_schema__instrument="%=on")
    loads = [(each, start_load(each, script)) for each in (timed, server)]
    for each, load in loads:
        output, _ = load.communicate(timeout=AGREEMENT_S + 30)
        assert load.returncode == 0, f"{each.name}: {output.decode()}"
    by_clock = shares(connect(timed))
    conn = connect(server)
    wait_until(lambda: shares(conn).get(SLEEP, 0) > 0, "an instalment")
    heart = Heart(server, conn, session, "smp_heart4")
    heart.beat(1)
    by_looks = shares(conn)
    lines = [
        f"{name}: timed {by_clock.get(name, 0):.3f}, sampled {by_looks.get(name, 0):.3f}"
        for name in sorted(by_clock | by_looks, key=lambda name: -by_clock.get(name, 0))
    ]
    print("\n".join(lines))
    assert len([share for share in by_clock.values() if share > 0.1]) >= 2
    for name in by_clock | by_looks:
        difference = abs(by_clock.get(name, 0) - by_looks.get(name, 0))
        assert difference <= 0.1, "\n".join(lines)
