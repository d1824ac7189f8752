"""Waits of other processes than sessions, and what the tables of waits say about each other."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import close_cluster, open_cluster
from helpers import (
    RawClient,
    consumers,
    everything_on,
    instruments,
    one,
    rows,
    wait_for_state,
    wait_gone,
    wait_until,
)
from wait_helpers import (
    READS,
    FileSum,
    Strace,
    Waiter,
    alone,
    by_prefix,
    can_strace,
    event_sums,
    file_difference,
    file_sums,
    grown,
    settle,
    sums_of_calls,
    thread_waits,
)

HISTORY = 20
HISTORY_LONG = 40000  # a parallel worker's start is some 5000 calls
LONG_BLOCK = 32  # PFS_LONG_BLOCK
PRELOAD = "pg_stat_statements,performance_schema"
SETTINGS: dict[str, Any] = {
    "shared_buffers": "1MB",
    "fsync": True,
    "autovacuum": False,
    "jit": False,
    "bgwriter_lru_maxpages": 0,
    "wal_writer_delay": "10s",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "max_parallel_workers_per_gather": 0,
    "shared_preload_libraries": PRELOAD,
    "performance_schema__events_waits_history_size": HISTORY,
    "performance_schema__events_waits_history_long_size": HISTORY_LONG,
    "performance_schema__events_statements_history_size": 100,
}
SETUP = """
CREATE TABLE plain AS SELECT i AS id, repeat('x', 200) AS b FROM generate_series(1, 30000) i;
CREATE TABLE log (id int, b text);
CREATE TABLE parent (id int PRIMARY KEY, b text);
INSERT INTO parent SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i;
CREATE TABLE child (parent_id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
"""
GLOBAL = "performance_schema.events_waits_summary_global_by_event_name"
THREAD = "performance_schema.events_waits_summary_by_thread_by_event_name"
LEVELS = ("account", "user", "host")
READ = "wait/io/file/postgres/DataFileRead"
SLEEP = "wait/timeout/postgres/PgSleep"

needs_strace = pytest.mark.skipif(not can_strace(), reason="strace and root are needed")


@pytest.fixture(scope="module")
def major(pg_config: str) -> int:
    version = subprocess.run([pg_config, "--version"], capture_output=True, text=True, check=True)
    return int(version.stdout.split()[1].split(".")[0])


@pytest.fixture(scope="module")
def server(pg_config: str, major: int) -> Iterator[Any]:
    """Everything is on; who scans reads by itself."""
    method = {"io_method": "sync"} if major >= 18 else {}
    made = open_cluster(pg_config, True, True, **SETTINGS, **method)
    made.psql(SETUP)
    made.psql("VACUUM (FREEZE, ANALYZE)")
    made.psql("CHECKPOINT")
    with made.connect() as conn:
        everything_on(conn)
    yield made
    close_cluster(made)


@pytest.fixture(scope="module")
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as conn:
        yield conn


@pytest.fixture
def session(server: Any, observer: Any) -> Iterator[Callable[..., Waiter]]:
    """Makes sessions; what they wait for at the end is cancelled."""
    made: list[Waiter] = []

    def make(**options: Any) -> Waiter:
        made.append(Waiter(server, observer, **options))
        return made[-1]

    yield make
    for each in made:
        observer.execute("SELECT pg_terminate_backend(%s)", (each.pid,))
        each.conn.close()
    for each in made:
        wait_gone(observer, each.pid)


@pytest.fixture
def w(session: Callable[..., Waiter]) -> Waiter:
    return session()


def long_rows(observer: Any, thread_id: int, since: float = 0) -> list[Any]:
    """A thread's waits in events_waits_history_long that began later."""
    return rows(
        observer,
        "SELECT * FROM performance_schema.events_waits_history_long "
        "WHERE thread_id = %s AND timer_start >= %s ORDER BY event_id",
        thread_id,
        since,
    )


def digest_waits(observer: Any, digest: str) -> dict[str, tuple[int, int]]:
    """Count and time of a digest, by event name."""
    found = rows(
        observer,
        "SELECT event_name, count_star, sum_timer_wait "
        "FROM performance_schema.events_waits_summary_by_digest WHERE digest = %s",
        digest,
    )
    return {row.event_name: (row.count_star, int(row.sum_timer_wait)) for row in found}


def level(observer: Any, name: str) -> dict[str, tuple[int, int]]:
    """Count and time by event name: of all threads, accounts, users, hosts; or global.

    Without the rest of background processes: a wait that began before its thread was switched off
    still counts at its end.
    """
    table = GLOBAL if name == "global" else GLOBAL.replace("global_by", f"by_{name}_by")
    found = rows(
        observer,
        f"SELECT event_name, sum(count_star) AS count, sum(sum_timer_wait) AS time FROM {table} "
        "WHERE event_name NOT LIKE 'wait/activity/%' GROUP BY event_name HAVING sum(count_star) > 0",
    )
    return {row.event_name: (int(row.count), int(row.time)) for row in found}


def same(one_level: dict[str, tuple[int, int]], other: dict[str, tuple[int, int]]) -> None:
    """Counts and times are equal; each row's time is rounded by itself."""
    assert set(one_level) == set(other)
    for name, (count, time) in one_level.items():
        assert count == other[name][0], name
        assert abs(time - other[name][1]) <= 3, name


def counts(observer: Any, name: str) -> dict[str, int]:
    return {event: count for event, (count, _) in level(observer, name).items()}


# --- parallel query -------------------------------------------------------------------------------

SLOW_SCAN = (
    "SELECT count(*), sum(length(b)) FROM plain WHERE id % 1000 <> 0 OR pg_sleep(0.02) IS NOT NULL"
)


def make_parallel(w: Waiter, leader: str) -> None:
    """Two workers for each scan; what their plans want of the catalogs is in the buffers."""
    w.conn.execute(
        "SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;"
        "SET min_parallel_table_scan_size = 0; SET parallel_tuple_cost = 0;"
        f"SET parallel_leader_participation = {leader}"
    )


def workers_of(observer: Any, w: Waiter) -> dict[int, int]:
    """Threads of parallel workers of a session, by process."""
    return dict(
        observer.execute(
            "SELECT thread_os_id, thread_id FROM performance_schema.threads "
            "WHERE name = 'thread/postgres/parallel_worker' AND parent_thread_id = %s",
            (w.thread_id,),
        ).fetchall()
    )


def test_parallel_workers_are_threads(observer: Any, w: Waiter) -> None:
    """While they run: threads of their leader, with reads and sleeps of their own."""
    make_parallel(w, "off")
    w.start(SLOW_SCAN)
    sql = f"SELECT pid FROM pg_stat_activity WHERE leader_pid = {w.pid}"
    wait_until(lambda: len(rows(observer, sql)) == 2, "workers")
    pids = {row.pid for row in rows(observer, sql)}
    workers = wait_until(
        lambda: found if len(found := workers_of(observer, w)) == 2 else None, "workers' threads"
    )
    assert set(workers) == pids
    [first, *_] = rows(
        observer,
        "SELECT DISTINCT type, processlist_command, instrumented FROM performance_schema.threads "
        "WHERE thread_id = ANY (%s)",
        list(workers.values()),
    )
    assert first == ("BACKGROUND", "Daemon", "YES")
    for thread in workers.values():
        wait_until(
            lambda thread=thread: {READ, SLEEP} <= set(thread_waits(observer, thread)),
            "waits of a worker",
        )
    wait_for_state(observer, w.pid, "wait_event = 'ExecuteGather'")
    [current] = [
        row
        for row in rows(
            observer,
            "SELECT * FROM performance_schema.events_waits_current WHERE thread_id = %s",
            w.thread_id,
        )
        if row.end_event_id is None
    ]
    assert current.event_name == "wait/ipc/postgres/ExecuteGather"
    assert w.finish() == "00000"
    wait_until(lambda: not workers_of(observer, w), "end of the workers")
    own = w.waits()
    assert own["wait/ipc/postgres/ExecuteGather"].count > 0
    assert SLEEP not in own


@pytest.mark.parametrize("leader", ["on", "off"])
def test_parallel_digest(leader: str, observer: Any, w: Waiter) -> None:
    """A statement's digest is charged with what its workers waited for; nothing gets lost."""
    make_parallel(w, leader)
    path = one(observer, "SELECT pg_relation_filepath('plain')")
    w.conn.execute("SELECT count(*) FROM plain")
    with alone(observer, w.thread_id):
        w.settle()
        before, leader_before = level(observer, "global"), w.waits()
        files, statement = file_sums(observer), w.mark()
        observer.execute("SELECT performance_schema.reset('events_waits_summary_by_digest')")
        w.start(SLOW_SCAN)
        workers = wait_until(
            lambda: found if len(found := workers_of(observer, w)) == 2 else None, "workers"
        )
        assert w.finish() == "00000"
        for pid in workers:
            wait_gone(observer, pid)
        wait_until(lambda: not workers_of(observer, w), "end of the workers")
        after, own = level(observer, "global"), grown(w.waits(), leader_before)
        read = file_difference(file_sums(observer), files)[path]
        [event] = w.events(statement)
        found = digest_waits(observer, event.digest)
        sets = {
            thread: long_rows(observer, thread, event.timer_start)
            for thread in (w.thread_id, *workers.values())
        }
    for name in (READ, SLEEP):
        by_thread = {
            thread: [row for row in those if row.event_name == name]
            for thread, those in sets.items()
        }
        whole = sum(map(len, by_thread.values()))
        assert whole > 0
        assert whole == after[name][0] - before.get(name, (0, 0))[0]
        assert found[name][0] == whole
        time = sum(int(row.timer_wait) for those in by_thread.values() for row in those)
        assert abs(found[name][1] - time) <= whole  # each row is rounded
        assert len(by_thread[w.thread_id]) == (own[name].count if name in own else 0)
        for worker in workers.values():
            assert by_thread[worker], f"{name}: a worker did nothing"
    # each block was read once, by whoever it was
    assert read.bytes_read == sum(
        row.number_of_bytes
        for those in sets.values()
        for row in those
        if row.event_name == READ and row.object_name == path
    )
    assert read.bytes_read > 0.7 * one(observer, "SELECT pg_relation_size('plain')")
    assert len([row for row in sets[w.thread_id] if row.event_name == SLEEP]) == 0 or leader == "on"


def test_parallel_blocks(observer: Any, w: Waiter) -> None:
    """Bytes read are the blocks that the scan itself says it has read, workers included."""
    make_parallel(w, "on")
    path = one(observer, "SELECT pg_relation_filepath('plain')")
    sql = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT sum(length(b)) FROM plain"
    w.conn.execute(sql)
    with alone(observer, w.thread_id):
        before = file_sums(observer)[path]
        plan = one(w.conn, sql)[0]["Plan"]
        wait_until(lambda: not workers_of(observer, w), "end of the workers")
        read = file_sums(observer)[path].plus(before, -1)
    while plan["Node Type"] != "Seq Scan":
        if plan["Node Type"] == "Gather":
            assert plan["Workers Launched"] == 2
        [plan] = plan["Plans"]
    assert plan["Shared Read Blocks"] > 500
    assert read.bytes_read == plan["Shared Read Blocks"] * 8192


# --- deferred constraints -------------------------------------------------------------------------


def belongs(row: Any, top: Any, statements: list[Any]) -> bool:
    """Is a wait inside of a top-level statement, directly or by statements in it?"""
    by_id = {event.event_id: event for event in statements}
    event_id = row.nesting_event_id
    while event_id in by_id and event_id != top.event_id:
        event_id = by_id[event_id].nesting_event_id
    return event_id == top.event_id


@pytest.mark.parametrize("block", [True, False], ids=["COMMIT", "INSERT alone"])
def test_deferred_foreign_key(
    block: bool, observer: Any, session: Callable[..., Waiter]
) -> None:
    """What the check waits for at commit is the committing statement's: the lock, and reads."""
    blocker, w = session(), session()
    insert = "INSERT INTO child SELECT i * 100 FROM generate_series(140, 200) i"
    paths = [
        one(observer, "SELECT pg_relation_filepath(%s)", name) for name in ("parent", "parent_pkey")
    ]
    w.conn.execute("BEGIN; INSERT INTO child VALUES (1); COMMIT")  # the check's plan is known now
    w.conn.execute("SELECT count(*) FROM parent WHERE b <> ''")
    blocker.conn.execute("BEGIN; SELECT 1 FROM parent WHERE id = 18000 FOR UPDATE")
    if block:
        w.conn.execute("BEGIN")
        w.conn.execute(insert)
    w.settle()
    observer.execute("SELECT performance_schema.reset('events_waits_summary_by_digest')")
    mark, before = w.mark(), w.waits()
    w.blocks("COMMIT" if block else insert)
    blocker.conn.execute("COMMIT")
    assert w.finish() == "00000"
    events = w.events(mark)
    [commit, *checks] = events
    assert commit.event_name == f"statement/sql/{'commit' if block else 'insert'}"
    own = grown(w.waits(), before)
    waits = long_rows(observer, w.thread_id, commit.timer_start)
    [lock] = [row for row in waits if row.event_name.startswith("wait/lock/")]
    reads = [row for row in waits if row.event_name == READ and row.object_name in paths]
    syncs = [row for row in waits if row.event_name.lower().endswith("/walsync")]
    assert lock.event_name == "wait/lock/heavyweight/transactionid"
    assert len(reads) > 20 and len(syncs) == 1
    assert commit.timer_end >= lock.timer_end, "it ended before the check did"
    assert {event.nesting_event_level for event in checks} <= {1}
    # nested in the transaction, as in MySQL, where the transaction began inside the statement
    between = rows(
        observer,
        "SELECT event_id, nesting_event_id FROM performance_schema.events_transactions_history"
        " WHERE thread_id = %s AND nesting_event_type = 'STATEMENT'",
        w.thread_id,
    )
    inner = [*events, *(SimpleNamespace(event_id=t[0], nesting_event_id=t[1]) for t in between)]
    assert all(belongs(row, commit, inner) for row in (lock, *reads, *syncs))
    assert commit.lock_time == lock.timer_wait
    found = digest_waits(observer, commit.digest)
    for name in (READ, lock.event_name):
        assert found[name][0] == own[name].count
        assert found[name][1] / 1e12 == pytest.approx(own[name].seconds, abs=1e-6)


# --- auxiliary processes --------------------------------------------------------------------------

CLASSES = {
    "client backend": "client_backend",
    "parallel worker": "parallel_worker",
    "logical replication launcher": "logical_replication_worker",
}


def threads_of(conn: Any) -> dict[int, tuple[str, str]]:
    """Class and type by process."""
    return {
        row.thread_os_id: (row.name.removeprefix("thread/postgres/"), row.type)
        for row in rows(conn, "SELECT * FROM performance_schema.threads")
    }


def expected_threads(conn: Any) -> dict[int, tuple[str, str]]:
    """The same from pg_stat_activity."""
    found = {}
    for row in rows(conn, "SELECT pid, backend_type FROM pg_stat_activity"):
        kind = row.backend_type
        name = CLASSES.get(kind, kind.replace(" ", "_"))
        client = kind in ("client backend", "walsender")
        found[row.pid] = (name, "FOREGROUND" if client else "BACKGROUND")
    return found


def check_threads(conn: Any, must: set[str]) -> None:
    """Each process is a thread of its class; both lists are read while nobody comes or goes."""
    seen: list[dict[int, tuple[str, str]]] = []

    def the_same() -> bool:
        seen[:] = expected_threads(conn), threads_of(conn), expected_threads(conn)
        return seen[0] == seen[1] == seen[2]

    with contextlib.suppress(AssertionError):
        wait_until(the_same, "threads are processes", timeout_s=8)
    found = seen[1]
    assert [found] * 3 == seen
    assert must <= {name for name, _ in found.values()}


@pytest.mark.timeout(120)
def test_auxiliary_processes(
    new_cluster: Callable[..., Any],
    new_standby: Callable[..., Any],
    connect: Callable[..., Any],
    major: int,
) -> None:
    """Everybody in pg_stat_activity is a thread, on both sides of a replication too."""
    primary = new_cluster(
        autovacuum_naptime="1s",
        autovacuum_vacuum_threshold=1,
        autovacuum_vacuum_cost_delay=20,
        autovacuum_vacuum_cost_limit=1,
        performance_schema__instrument="%=on",
    )
    standby = new_standby(primary)
    conn = connect(primary)
    always = {"checkpointer", "background_writer", "client_backend"}
    if major >= 18:
        always |= {"io_worker"}
    launchers = {"autovacuum_launcher", "logical_replication_worker", "walwriter"}
    conn.execute("CREATE TABLE dead AS SELECT i FROM generate_series(1, 20000) i")
    conn.execute("DELETE FROM dead")
    standby.wait_replayed(primary)
    worker = wait_until(
        lambda: [name for name, _ in threads_of(conn).values() if name == "autovacuum_worker"],
        "autovacuum",
    )
    assert worker
    conn.execute("ALTER SYSTEM SET autovacuum = off")
    conn.execute("SELECT pg_reload_conf()")
    check_threads(conn, {*always, *launchers - {"autovacuum_launcher"}, "walsender"})
    replica = connect(standby)
    check_threads(replica, {*always, "startup", "walreceiver"})
    for observer, names in ((conn, {"walsender"}), (replica, {"startup", "walreceiver"})):
        observer.execute("CHECKPOINT")
        for name in names | {"checkpointer"}:
            [thread] = [
                row.thread_id
                for row in rows(observer, "SELECT thread_id, name FROM performance_schema.threads")
                if row.name == f"thread/postgres/{name}"
            ]
            assert thread_waits(observer, thread), name


@needs_strace
def test_checkpoint(server: Any, observer: Any, w: Waiter, tmp_path: Path) -> None:
    """The checkpointer's calls and bytes, file by file, are those that strace saw."""
    [(pid, thread)] = observer.execute(
        "SELECT thread_os_id, thread_id FROM performance_schema.threads "
        "WHERE name = 'thread/postgres/checkpointer'"
    ).fetchall()
    quiet = f"(SELECT count(*) FROM pg_locks WHERE pid = {pid}) = 0"
    rest = f"wait_event = 'CheckpointerMain' AND {quiet}"
    w.conn.execute("CHECKPOINT")
    w.conn.execute("CREATE TABLE dirty AS TABLE plain")
    w.conn.execute("UPDATE parent SET b = 'y' WHERE id % 100 = 0")
    w.conn.execute("CREATE TABLE gone AS TABLE plain; DROP TABLE gone")
    wait_for_state(observer, pid, rest)
    with alone(observer, thread), Strace(tmp_path, server.data, pid) as trace:
        waits, events, files = thread_waits(observer, thread), event_sums(observer), file_sums(observer)
        w.conn.execute("CHECKPOINT")
        wait_for_state(observer, pid, rest)
        new_files, new_events = file_sums(observer), event_sums(observer)
        found = grown(thread_waits(observer, thread), waits)
    calls = trace.on_files()
    expected = sums_of_calls(calls)
    for name in {call.path for call in calls if call.name in ("unlink", "rename")}:
        expected.pop(name, None)
        new_files.pop(name, None)
    assert file_difference(new_files, files) == expected
    whole = FileSum()
    for stat in sums_of_calls(calls).values():
        whole = whole.plus(stat)
    assert whole.writes > 10
    by_event = FileSum()
    for stat in file_difference(new_events, events).values():
        by_event = by_event.plus(stat)
    assert by_event[:4] == whole[:4]
    names = by_prefix(found, "wait/io/file/postgres/")
    data = [call for call in calls if call.path.startswith(("base/", "global/"))]
    writes = [call for call in data if call.name.startswith("pwrite")]
    control = [call for call in writes if call.path == "global/pg_control"]
    assert names["DataFileWrite"].count == len(writes) - len(control)
    syncs = [
        call
        for call in data
        if call.name in ("fsync", "fdatasync") and call.path != "global/pg_control"
    ]
    assert len(syncs) > 0
    assert names["DataFileSync"].count == len(syncs)
    reads = [call for call in calls if call.name in READS]
    assert by_event.reads == len(reads)


# --- sums of all levels ---------------------------------------------------------------------------


def test_levels_add_up(observer: Any, session: Callable[..., Waiter]) -> None:
    """Threads that live and threads that have gone are their account, user, host, and global."""
    stays, leaves = session(), session(user="postgres")
    with alone(observer, stays.thread_id, leaves.thread_id):
        observer.execute(f"TRUNCATE {GLOBAL}")
        for each in (stays, leaves):
            each.conn.execute("SELECT count(*) FROM plain")
            each.conn.execute("INSERT INTO log VALUES (1, 'x')")
            each.conn.execute("SELECT pg_sleep(0.01)")
            each.settle()
        thread = level(observer, "thread")
        for name in (*LEVELS, "global"):
            same(level(observer, name), thread)
        last = counts(observer, "thread")
        only = thread_waits(observer, stays.thread_id)
        leaves.conn.close()
        wait_gone(observer, leaves.pid)
        everything = level(observer, "global")
        for name in LEVELS:
            same(level(observer, name), everything)
        assert counts(observer, "thread") == {name: stat.count for name, stat in only.items()}
    for name, count in last.items():
        assert everything[name][0] >= count
    assert everything[SLEEP][0] == last[SLEEP] == 2 * only[SLEEP].count
    assert READ in everything and "idle" in everything


@pytest.mark.parametrize("table", ["thread", "account", "user", "host", "global"])
def test_truncate(table: str, observer: Any, w: Waiter) -> None:
    """Nothing is left at that level; what comes then counts at each level."""
    with alone(observer, w.thread_id):
        observer.execute(f"TRUNCATE {GLOBAL}")
        w.conn.execute("SELECT pg_sleep(0.01)")
        w.settle()
        before = {name: counts(observer, name) for name in ("thread", *LEVELS, "global")}
        assert all(found[SLEEP] == 1 for found in before.values())
        target = GLOBAL if table == "global" else GLOBAL.replace("global_by", f"by_{table}_by")
        observer.execute(f"TRUNCATE {target}")
        empty = {name: counts(observer, name) for name in before}
        assert empty[table] == {}
        if table != "global":
            assert empty["global"][SLEEP] == 1
        w.conn.execute("SELECT pg_sleep(0.01)")
        w.settle()
        after = {name: counts(observer, name) for name in before}
    for name, found in after.items():
        assert found[SLEEP] == empty[name].get(SLEEP, 0) + 1, name
        assert found["idle"] == empty[name].get("idle", 0) + 1, name


# --- switches -------------------------------------------------------------------------------------


def test_instrument_off(observer: Any, w: Waiter) -> None:
    """Disabled adds nothing anywhere; not timed counts and adds no time, and its rows have none."""
    sql = "SELECT pg_sleep(0.01)"
    event = w.event(sql)
    before, _ = digest_waits(observer, event.digest)[SLEEP]
    with alone(observer, w.thread_id):
        start = (w.waits()[SLEEP], level(observer, "global")[SLEEP])
        with instruments(observer, SLEEP, "NO"):
            mark = w.last_wait()
            w.conn.execute(sql)
            assert (w.waits()[SLEEP], level(observer, "global")[SLEEP]) == start
            assert w.wait_rows(mark, "%PgSleep") == []
            assert digest_waits(observer, event.digest)[SLEEP][0] == before
        with instruments(observer, SLEEP, "YES", "NO"):
            mark = w.last_wait()
            w.conn.execute(sql)
            own, whole = w.waits()[SLEEP], level(observer, "global")[SLEEP]
            assert (own.count, whole[0]) == (start[0].count + 1, start[1][0] + 1)
            assert (own.seconds, whole[1]) == (start[0].seconds, start[1][1])
            [row] = w.wait_rows(mark, "%PgSleep")
            assert (row.timer_start, row.timer_end, row.timer_wait) == (None, None, None)
            assert digest_waits(observer, event.digest)[SLEEP][0] == before + 1
        w.conn.execute(sql)
        assert w.waits()[SLEEP].seconds >= start[0].seconds + 0.01


def test_consumers(observer: Any, w: Waiter) -> None:
    """Rows appear in a table while its consumer and the ones above it are on."""
    tables = ("current", "history", "history_long")

    def found() -> list[int]:
        return [
            one(
                observer,
                f"SELECT count(*) FROM performance_schema.events_waits_{name} "
                "WHERE thread_id = %s AND event_name = %s",
                w.thread_id,
                SLEEP,
            )
            for name in tables
        ]

    def sleeps() -> list[bool]:
        """Which tables show a sleep that runs, then one that has ended."""
        for name in tables:
            observer.execute(f"SELECT performance_schema.reset('events_waits_{name}')")
        w.start("SELECT pg_sleep(0.15)")
        wait_for_state(observer, w.pid, "wait_event = 'PgSleep'")
        running, *_ = found()
        assert w.finish() == "00000"
        w.settle()
        _, *ended = found()
        return [count == 1 for count in (running, *ended)]

    assert sleeps() == [True, True, True]
    with consumers(observer, events_waits_history=False):
        assert sleeps() == [True, False, True]
    with consumers(observer, events_waits_history_long=False):
        assert sleeps() == [True, True, False]
    with consumers(observer, events_waits_current=False):
        before = w.waits()[SLEEP].count
        assert sleeps() == [False, False, False]
        assert w.waits()[SLEEP].count == before + 1
    with consumers(observer, thread_instrumentation=False):
        assert sleeps() == [False, False, False]
    assert sleeps() == [True, True, True]


def test_thread_instrumentation_off(observer: Any, w: Waiter) -> None:
    """Only global counts; with global_instrumentation off nothing does."""
    w.conn.execute("SELECT pg_sleep(0.01)")
    with alone(observer, w.thread_id):
        with consumers(observer, thread_instrumentation=False):
            w.conn.execute("SELECT 1")  # the idle time that had begun ends as it began
            w.settle()
            before = {name: counts(observer, name).get(SLEEP, 0) for name in LEVELS}
            own, whole = w.waits(), counts(observer, "global")[SLEEP]
            w.conn.execute("SELECT pg_sleep(0.01)")
            w.settle()
            assert counts(observer, "global")[SLEEP] == whole + 1
            assert w.waits() == own
            assert {name: counts(observer, name).get(SLEEP, 0) for name in LEVELS} == before
        with consumers(observer, global_instrumentation=False):
            w.conn.execute("SELECT 1")
            w.settle()
            own, whole_before = w.waits(), level(observer, "global")
            w.conn.execute("SELECT pg_sleep(0.01)")
            w.settle()
            assert (w.waits(), level(observer, "global")) == (own, whole_before)
        w.conn.execute("SELECT pg_sleep(0.01)")
        assert w.waits()[SLEEP].count == own[SLEEP].count + 1


def test_thread_off(observer: Any, w: Waiter) -> None:
    """A thread with INSTRUMENTED = NO adds nothing to itself, its digest, nor to global."""
    sql = "SELECT pg_sleep(0.01) AS thread_off"
    switch = "UPDATE performance_schema.threads SET instrumented = %s WHERE thread_id = %s"
    w.conn.execute(sql)
    with alone(observer, w.thread_id):
        w.settle()
        observer.execute(switch, ("NO", w.thread_id))
        w.conn.execute("SELECT 1")  # the idle time that had begun ends as it began
        w.settle()
        own, whole, mark = w.waits(), level(observer, "global"), w.last_wait()
        files = file_sums(observer)
        w.conn.execute(sql)
        w.conn.execute("SELECT count(*) FROM plain")
        w.settle()
        assert (w.waits(), level(observer, "global")) == (own, whole)
        assert w.wait_rows(mark) == []
        assert file_sums(observer) == files
        observer.execute(switch, ("YES", w.thread_id))
        w.conn.execute(sql)
        assert w.waits()[SLEEP].count == own[SLEEP].count + 1


# --- rows -----------------------------------------------------------------------------------------


def test_running_wait_is_shown(observer: Any, session: Callable[..., Waiter]) -> None:
    """A blocked session's wait, seen from elsewhere: no end, and its time grows."""
    blocker, w = session(), session()
    blocker.conn.execute("SELECT pg_advisory_lock(77)")
    statement = w.mark()
    w.blocks("SELECT pg_advisory_lock(77)")
    sql = f"SELECT * FROM performance_schema.events_waits_current WHERE thread_id = {w.thread_id}"

    def running() -> Any:
        [row] = [row for row in rows(observer, sql) if row.end_event_id is None]
        return row

    first = running()
    assert (first.event_name, first.object_type, first.operation) == (
        "wait/lock/heavyweight/advisory",
        "ADVISORY",
        "ExclusiveLock",
    )
    later = wait_until(
        lambda: row if (row := running()).timer_wait > first.timer_wait + 10**10 else None,
        "growth",
    )
    assert (later.event_id, later.timer_start) == (first.event_id, first.timer_start)
    assert abs(first.timer_end - first.timer_start - first.timer_wait) <= 1  # rounded
    [inside] = w.current()
    assert (first.nesting_event_id, first.nesting_event_type) == (inside.event_id, "STATEMENT")
    assert "wait/lock/heavyweight/advisory" not in w.waits()  # counted at its end
    blocker.conn.execute("SELECT pg_advisory_unlock(77)")
    assert w.finish() == "00000"
    [event] = w.events(statement)
    [ended] = [
        row
        for row in long_rows(observer, w.thread_id, event.timer_start)
        if row.event_id == first.event_id
    ]
    assert ended.end_event_id is not None and ended.timer_wait >= later.timer_wait
    assert w.waits()["wait/lock/heavyweight/advisory"].count == 1


def test_history_sizes(observer: Any, w: Waiter) -> None:
    """As many as the settings say, the newest ones."""
    history = "SELECT * FROM performance_schema.events_waits_history WHERE thread_id = %s"
    w.conn.execute("SELECT pg_sleep(0.001) FROM generate_series(1, %s)", (3 * HISTORY,))
    w.settle()
    kept = rows(observer, f"{history} ORDER BY event_id", w.thread_id)
    assert len(kept) == HISTORY
    newest = long_rows(observer, w.thread_id)[-HISTORY:]
    assert [row.event_id for row in kept] == [row.event_id for row in newest]
    assert kept == newest
    observer.execute("TRUNCATE performance_schema.events_waits_history_long")
    with alone(observer, w.thread_id):
        w.conn.execute("SELECT count(*) FROM plain")
        before = w.waits()
        reads = HISTORY_LONG + before[READ].count
        while w.waits()[READ].count < reads:
            w.conn.execute("SELECT count(*) FROM plain")
        w.settle()
        found = rows(
            observer,
            "SELECT event_id FROM performance_schema.events_waits_history_long ORDER BY event_id",
        )
        last = w.last_wait()
    # positions are claimed in blocks: those of the last one that are not used yet show nothing
    assert HISTORY_LONG - LONG_BLOCK < len(found) <= HISTORY_LONG
    assert found[-1].event_id == last
    assert len({row.event_id for row in found}) == len(found)


STATEMENTS = {
    "scan": "SELECT count(*), max(b) AS digest_of_scan FROM plain",
    "sort": "SELECT count(*) AS digest_of_sort FROM (SELECT * FROM plain ORDER BY b, id OFFSET 1) x",
    "sleep": "SELECT pg_sleep(0.01) AS digest_of_sleep FROM generate_series(1, 20)",
    "write": "INSERT INTO log SELECT id, b FROM plain",
}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_statement_contains_its_waits(kind: str, observer: Any, w: Waiter) -> None:
    """Waits of a digest take no longer than its statements, and are the session's own ones."""
    w.conn.execute("SET work_mem = '64kB'")
    with alone(observer, w.thread_id):
        w.settle()
        before, mark = w.waits(), w.mark()
        for _ in range(3):
            w.conn.execute(STATEMENTS[kind])
        w.settle()
        own = grown(w.waits(), before)
        events = w.events(mark)
    [digest] = {event.digest for event in events}
    [(count, time)] = observer.execute(
        "SELECT count_star, sum_timer_wait "
        "FROM performance_schema.events_statements_summary_by_digest WHERE digest = %s",
        (digest,),
    ).fetchall()
    assert count == 3
    found = digest_waits(observer, digest)
    exclusive = {name: stat for name, stat in found.items() if name != "wait/io/table/sql/handler"}
    assert 0 < sum(wait for _, wait in exclusive.values()) <= time, exclusive
    for name, (number, _) in exclusive.items():
        if name.startswith(("wait/io/file/", "wait/timeout/")):
            assert number <= own[name].count, name
    name = SLEEP if kind == "sleep" else READ
    assert found[name][0] == own[name].count
    assert found[name][1] / 1e12 == pytest.approx(own[name].seconds, abs=1e-6)


def test_thinking_is_not_the_statements(observer: Any, w: Waiter) -> None:
    """With the instrument idle off too: what is between two statements is charged to none."""
    with instruments(observer, "idle", "NO"):
        w.conn.execute("SELECT 1")
        w.settle()
        observer.execute("SELECT performance_schema.reset('events_waits_summary_by_digest')")
        event = w.event("SELECT 1")
        found = digest_waits(observer, event.digest)
    assert "wait/io/socket/postgres/ClientRead" not in found
    assert sum(time for _, time in found.values()) <= event.timer_wait, found


# --- sockets --------------------------------------------------------------------------------------


class CountingSocket:
    """Counts a client's bytes."""

    def __init__(self, sock: Any) -> None:
        self.sock = sock
        self.sent = self.received = 0

    def sendall(self, data: bytes) -> None:
        self.sock.sendall(data)
        self.sent += len(data)

    def recv(self, size: int) -> bytes:
        data: bytes = self.sock.recv(size)
        self.received += len(data)
        return data

    def close(self) -> None:
        self.sock.close()


def test_socket_bytes(server: Any, observer: Any) -> None:
    """Bytes of a connection, by instance and by event name, are those that its client saw."""
    columns = "sum_number_of_bytes_read, sum_number_of_bytes_write, count_read, count_write"
    with RawClient(server) as raw:
        port = raw.sock.getsockname()[1]
        raw.sock = counted = CountingSocket(raw.sock)  # type: ignore[assignment]
        raw.query("SELECT 1")
        settle(observer, raw.pid)
        thread = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
        [instance] = rows(
            observer, "SELECT * FROM performance_schema.socket_instances WHERE thread_id = %s", thread
        )
        assert (instance.ip, instance.port, instance.state) == (server.host, port, "IDLE")

        def by_instance() -> tuple[int, ...]:
            return tuple(
                map(
                    int,
                    observer.execute(
                        f"SELECT {columns} FROM performance_schema.socket_summary_by_instance "
                        "WHERE object_instance_begin = %s",
                        (instance.object_instance_begin,),
                    ).fetchone(),
                )
            )

        def by_name() -> tuple[int, ...]:
            return tuple(
                map(
                    int,
                    observer.execute(
                        "SELECT "
                        + ", ".join(f"sum({column})" for column in columns.split(", "))
                        + " FROM performance_schema.socket_summary_by_event_name"
                    ).fetchone(),
                )
            )

        with alone(observer, thread):
            before, names = by_instance(), by_name()
            sent, received = counted.sent, counted.received
            raw.query("SELECT repeat('x', 300000)")
            raw.query(f"SELECT length('{'y' * 200000}')")
            raw.query("SELECT 1/0")
            raw.parse("SELECT $1::text").bind("z" * 50000).describe().execute()
            raw.sync()
            settle(observer, raw.pid)
            found = [new - old for new, old in zip(by_instance(), before)]
            total = [new - old for new, old in zip(by_name(), names)]
            sent, received = counted.sent - sent, counted.received - received
    assert sent > 250000 and received > 300000
    assert found[:2] == [sent, received]
    assert total[:2] == [sent, received]
    assert found[2] >= 4 and found[3] >= 4
    wait_gone(observer, raw.pid)


# --- instruments ----------------------------------------------------------------------------------

PATHS = {
    "LWLock": "wait/synch/lwlock/postgres/",
    "Lock": "wait/lock/heavyweight/",
    "BufferPin": "wait/synch/buffer/postgres/",
    "Buffer": "wait/synch/buffer/postgres/",
    "Activity": "wait/activity/postgres/",
    "Client": "wait/io/socket/postgres/",
    "Extension": "wait/extension/",
    "IPC": "wait/ipc/postgres/",
    "Timeout": "wait/timeout/postgres/",
    "IO": "wait/io/file/postgres/",
}
OWN = {
    "wait/io/table/sql/handler",
    "idle",
    "wait/io/file/postgres/data_file",
    "wait/io/file/postgres/wal_file",
    "wait/io/file/postgres/temporary_file",
    "wait/io/file/postgres/other_file",
    "wait/io/socket/postgres/client_connection",
    "wait/io/socket/postgres/other_socket",
    "wait/other/postgres/unattributed",
}


def wait_instruments(observer: Any) -> list[str]:
    return [
        row.name
        for row in rows(observer, "SELECT name FROM performance_schema.setup_instruments")
        if row.name == "idle" or row.name.startswith("wait/")
    ]


def test_instruments_of_events(observer: Any, w: Waiter, server: Any, major: int) -> None:
    """One for each event that the server documents (17+), no other; each name once."""
    if major < 17:
        pytest.skip("pg_wait_events came with 17")
    names = wait_instruments(observer)
    assert len(names) == len(set(names))
    events = rows(w.conn, "SELECT type, name FROM pg_wait_events")
    expected = {PATHS[row.type] + row.name for row in events if row.type in PATHS}
    assert {row.type for row in events} <= {*PATHS, "InjectionPoint"}
    assert expected - set(names) == set()
    # not in the view: tranches of extensions
    extra = set(names) - expected - OWN
    assert {name for name in extra if not name.startswith(PATHS["LWLock"])} == set()
    assert OWN <= set(names)
    assert PATHS["LWLock"] + "pg_stat_statements" in names


def test_extension_events(observer: Any, w: Waiter, server: Any, major: int) -> None:
    """What an extension registers gets its name: dblink's waits (17+), tranches of preloaded ones."""
    observer.execute("CREATE EXTENSION IF NOT EXISTS dblink")
    target = f"host={server.socket_dir} port={server.port} user=postgres dbname=postgres"
    for _ in range(2):  # the first time makes the instruments, which are off by default
        w.conn.execute("SELECT dblink_connect('a', %s)", (target,))
        w.conn.execute("SELECT * FROM dblink('a', 'SELECT pg_sleep(0.05)::text') AS t(a text)")
        w.conn.execute("SELECT dblink_disconnect('a')")
        w.settle()
        everything_on(observer)
    own = by_prefix(w.waits(), "wait/extension/")
    if major >= 17:
        events = {
            row.name
            for row in rows(w.conn, "SELECT name FROM pg_wait_events WHERE type = 'Extension'")
        }
        assert events > {"Extension"}
    else:
        events = {"Extension"}
    assert set(own) and set(own) <= events
    if major >= 17:
        assert "DblinkConnect" in own
    names = wait_instruments(observer)
    assert {PATHS["Extension"] + name for name in events} <= set(names)
    assert len(names) == len(set(names))
    assert not [name for name in names if "/event_" in name]


def test_shown_events_are_instruments(observer: Any, session: Callable[..., Waiter]) -> None:
    """What pg_stat_activity shows, of all kinds of processes, is an instrument of that class."""
    blocker, blocked, sleeper = session(), session(), session()
    blocker.conn.execute("BEGIN; LOCK TABLE log")
    blocked.blocks("SELECT count(*) FROM log")
    sleeper.start("SELECT pg_sleep(60)")
    wait_for_state(observer, sleeper.pid, "wait_event = 'PgSleep'")
    events = {
        (row.wait_event_type, row.wait_event)
        for row in rows(observer, "SELECT * FROM pg_stat_activity WHERE wait_event IS NOT NULL")
    }
    assert {("Timeout", "PgSleep"), ("Lock", "relation"), ("Client", "ClientRead")} <= events
    assert any(kind == "Activity" for kind, _ in events)
    found = wait_instruments(observer)
    names = set(found)
    assert {PATHS[kind] + name for kind, name in events} <= names
    assert OWN <= names
    assert len(found) == len(names)


def test_tranches_have_names(observer: Any) -> None:
    """No LWLock is a number; the tranche of pg_stat_statements is there by its name."""
    found = [name for name in wait_instruments(observer) if name.startswith(PATHS["LWLock"])]
    assert len(found) == len(set(found)) > 60
    assert PATHS["LWLock"] + "pg_stat_statements" in found
    assert not [name for name in found if "event_" in name or name.endswith(("/", "extension"))]
    for name in ("WALWrite", "BufferMapping", "LockManager", "ProcArray", "XidGen"):
        assert PATHS["LWLock"] + name in found


def test_tranche_in_other_order(new_cluster: Callable[..., Any]) -> None:
    """The same if the other library is preloaded later."""
    other = new_cluster(shared_preload_libraries="performance_schema,pg_stat_statements")
    with other.connect() as conn:
        assert PATHS["LWLock"] + "pg_stat_statements" in wait_instruments(conn)
