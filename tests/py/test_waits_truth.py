"""Waits: what the tables say is what happened, as seen from outside the server.

Calls and bytes of files are those that strace saw; times are those that the client measured.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import close_cluster, open_cluster
from helpers import (
    LOAD_SECONDS,
    RawClient,
    consumers,
    everything_on,
    instruments,
    losses,
    one,
    rows,
    wait_for_state,
    wait_gone,
    wait_until,
)
from wait_helpers import (
    BY_PATH,
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
    slot_calls,
    sums_of_calls,
    thread_waits,
    total,
)

SETTINGS: dict[str, Any] = {
    "shared_buffers": "1MB",
    "fsync": True,
    "autovacuum": False,
    "jit": False,
    "max_parallel_workers_per_gather": 0,
    "bgwriter_lru_maxpages": 0,
    "wal_writer_delay": "10s",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "deadlock_timeout": "1s",
    "performance_schema__events_waits_history_size": 1024,
    "performance_schema__events_statements_history_size": 100,
    "performance_schema__lock_waits_history_long_size": 1000,
}
SETUP = """
CREATE TABLE big (id int, b text);
INSERT INTO big SELECT i, repeat('x', 200) FROM generate_series(1, 30000) i;
CREATE TABLE plain AS TABLE big;
CREATE TABLE t (id int PRIMARY KEY, v int);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i;
CREATE TABLE log (id int, b text);
"""

needs_strace = pytest.mark.skipif(not can_strace(), reason="strace and root are needed")


def make_server(pg_config: str, **conf: Any) -> Any:
    server = open_cluster(pg_config, True, True, **{**SETTINGS, **conf})
    server.psql(SETUP)
    server.psql("VACUUM (FREEZE, ANALYZE)")
    server.psql("CHECKPOINT")
    with server.connect() as conn:
        everything_on(conn)
    return server


@pytest.fixture(scope="module")
def server(pg_config: str, major: int) -> Iterator[Any]:
    """Everything is on; reads are the session's own."""
    made = make_server(pg_config, **({"io_method": "sync"} if major >= 18 else {}))
    yield made
    close_cluster(made)


@pytest.fixture(scope="module")
def major(pg_config: str) -> int:
    version = subprocess.run([pg_config, "--version"], capture_output=True, text=True, check=True)
    return int(version.stdout.split()[1].split(".")[0])


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


@pytest.fixture(autouse=True)
def nothing_lost(observer: Any) -> Iterator[None]:
    """No test makes the server lose events.

    What depends on the scheduler may happen: a blocker stays unknown because the lock table was
    busy, a reader gives up because the writer was not running.
    """
    allowed = ("performance_schema_lock_blockers_lost", "performance_schema_unstable_reads")

    def lost() -> dict[str, int]:
        return {name: count for name, count in losses(observer).items() if name not in allowed}

    before = lost()
    yield
    assert lost() == before


def seconds(timer: Any) -> float:
    """A time of the tables."""
    return float(timer) / 1e12


# --- files: calls and bytes are those that strace saw ---------------------------------------------

class FileLoad(NamedTuple):
    """What to do first, what to trace, and calls that must be among what is seen."""

    script: list[str]
    calls: set[str]
    prepare: list[str] = []  # noqa: RUF012


SORT = "SELECT count(*) FROM (SELECT * FROM plain ORDER BY b, id DESC OFFSET 1) x"
FILE_LOADS = {
    "sequential scan": FileLoad(
        ["SELECT count(*), sum(length(b)) FROM plain"], {"openat", "pread64"}
    ),
    "index scan": FileLoad(
        [
            "SET enable_seqscan = off",
            "SELECT sum(id) FROM big WHERE id % 50 = 0 AND id > 0",
        ],
        {"pread64"},
        ["CREATE INDEX ON big (id)", "CHECKPOINT", "SELECT sum(length(b)) FROM plain"],
    ),
    "create table as": FileLoad(
        ["CREATE TABLE copied AS SELECT * FROM plain", "SELECT 1"],
        {"pread64", "pwrite64", "fdatasync", "close"},
    ),
    "create index": FileLoad(["CREATE INDEX made ON big (b, id)"], {"pwrite64", "fdatasync"}),
    "sort on disk": FileLoad(
        [SORT],
        {"openat", "pwrite64", "pread64", "unlink", "close"},
        ["SET work_mem = '64kB'", SORT],  # the first use of temporary files looks for them
    ),
    "hash on disk": FileLoad(
        ["SELECT count(*) FROM plain a JOIN plain b ON a.id = b.id + 1"],
        {"openat", "pwrite64", "pread64", "unlink", "close"},
        [
            "SET work_mem = '64kB'; SET enable_mergejoin = off; SET enable_nestloop = off",
            SORT,
        ],
    ),
    "temporary table": FileLoad(
        ["CREATE TEMP TABLE tmp AS SELECT * FROM plain", "SELECT count(*) FROM tmp"],
        {"pread64", "pwrite64"},
        ["SET temp_buffers = '800kB'"],
    ),
    "commit": FileLoad(["INSERT INTO log VALUES (1, 'x')"] * 5, {"pwrite64", "fdatasync"}),
    "update": FileLoad(
        ["UPDATE big SET id = id + 1 WHERE id <= 3000"], {"pread64", "pwrite64", "fdatasync"}
    ),
    "drop": FileLoad(
        ["DROP TABLE dropped"],
        {"truncate", "fdatasync"},
        ["CREATE TABLE dropped AS SELECT * FROM plain LIMIT 10000", "VACUUM dropped"],
    ),
    "truncate": FileLoad(
        ["TRUNCATE emptied", "INSERT INTO emptied SELECT * FROM plain LIMIT 10"],
        {"openat", "close", "fdatasync"},
        ["CREATE TABLE emptied AS SELECT * FROM plain LIMIT 10000"],
    ),
    "vacuum": FileLoad(
        ["VACUUM holes"],
        {"pread64", "pwrite64", "ftruncate"},
        ["CREATE TABLE holes AS SELECT * FROM plain LIMIT 10000", "DELETE FROM holes"],
    ),
    "mapped catalog": FileLoad(["VACUUM FULL pg_class"], {"pwrite64", "unlink", "fsync"}),
    "copy database": FileLoad(
        ["CREATE DATABASE files_copied STRATEGY file_copy"],
        {"openat", "read", "write", "close", "fsync", "mkdir"},
    ),
    "wal switch": FileLoad(
        ["SELECT pg_switch_wal()", "INSERT INTO log VALUES (2, 'y')"], {"pwrite64", "fdatasync"}
    ),
}


@needs_strace
@pytest.mark.parametrize("load", FILE_LOADS)
def test_files(load: str, server: Any, observer: Any, w: Waiter, tmp_path: Path) -> None:
    """Each call, each byte: interposed_calls, summary by event name, by file and by thread."""
    script, must, prepare = FILE_LOADS[load]
    for sql in prepare:
        w.conn.execute(sql)
    with alone(observer, w.thread_id), Strace(tmp_path, server.data, w.pid) as trace:
        calls, events, files = slot_calls(observer), event_sums(observer), file_sums(observer)
        waits = w.waits()
        for sql in script:
            w.conn.execute(sql)
        new_files = file_sums(observer)
        new_events, new_calls = event_sums(observer), slot_calls(observer)
        new_waits = w.waits()
    seen = trace.count()
    assert must <= set(seen)
    made = Counter({name: new_calls[name] - calls[name] for name in calls})
    del made["read"], seen["read"]  # the server drains its latch, relation caches use streams
    assert made == seen
    on_files = trace.on_files()
    expected = sums_of_calls(on_files)
    whole = FileSum()
    for stat in expected.values():
        whole = whole.plus(stat)
    assert whole.reads + whole.writes + whole.misc > 0

    by_event = FileSum()
    for stat in file_difference(new_events, events).values():
        by_event = by_event.plus(stat)
    assert by_event[:4] == whole[:4]
    by_path = sum(
        call.name in BY_PATH or (call.name == "openat" and call.result < 0)
        for call in on_files
    )
    # calls that strace was not asked for: stat, access, readlink, opendir
    assert by_event.misc >= whole.misc + by_path

    removed = {call.path for call in on_files if call.name in ("unlink", "rename")}
    by_file = file_difference(new_files, files)
    for name in removed:
        expected.pop(name, None)
        by_file.pop(name, None)
    assert by_file == expected

    by_thread = by_prefix(grown(new_waits, waits), "wait/io/file/")
    assert total(by_thread).count == sum(by_event[i] for i in (0, 2, 4))


def test_file_sums_of_levels(observer: Any, w: Waiter) -> None:
    """By name: thread's counters and file_summary_by_event_name are the same events."""
    w.conn.execute("SELECT count(*) FROM big")
    with alone(observer, w.thread_id):
        waits, events = w.waits(), event_sums(observer)
        w.conn.execute("SELECT count(*) FROM big")
        w.conn.execute("INSERT INTO log VALUES (3, 'z')")
        by_thread = grown(w.waits(), waits)
        by_event = file_difference(event_sums(observer), events)
    assert {name: stat.count for name, stat in by_thread.items() if "/file/" in name} == {
        name: stat.reads + stat.writes + stat.misc for name, stat in by_event.items()
    }


def test_scan_reads_the_table(observer: Any, w: Waiter, server: Any) -> None:
    """Without strace too: a scan of a table larger than the buffers reads most of its file."""
    [(path, size)] = observer.execute(
        "SELECT pg_relation_filepath('plain'), pg_relation_size('plain')"
    ).fetchall()
    w.conn.execute("SELECT count(*) FROM log")
    before = file_sums(observer)[path]
    w.conn.execute("SELECT count(*) FROM plain")
    read = file_sums(observer)[path].plus(before, -1)
    assert 0.7 * size <= read.bytes_read <= size
    assert read.writes == 0


@pytest.fixture(scope="module")
def worker_server(pg_config: str, major: int) -> Iterator[Any]:
    if major < 18:
        pytest.skip("io workers came with 18")
    made = make_server(pg_config, io_method="worker", io_workers=3)
    yield made
    close_cluster(made)


@needs_strace
def test_io_workers(worker_server: Any, tmp_path: Path) -> None:
    """Reads belong to the workers who made them; the session waits for their completion."""
    with worker_server.connect() as observer, Waiter(worker_server, observer) as w:
        workers = dict(
            observer.execute(
                "SELECT thread_os_id, thread_id FROM performance_schema.threads "
                "WHERE name LIKE '%/io_worker'"
            ).fetchall()
        )
        pids = [
            row.pid
            for row in rows(
                observer, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'io worker'"
            )
        ]
        assert set(workers) == set(pids) and len(pids) == 3
        w.conn.execute("SELECT count(*) FROM log")
        with Strace(tmp_path, worker_server.data, w.pid, *pids) as trace:
            threads = {w.pid: w.thread_id, **workers}
            before = {pid: thread_waits(observer, thread) for pid, thread in threads.items()}
            old = file_sums(observer)
            w.conn.execute("SELECT count(*), sum(length(b)) FROM big")
            after = {pid: thread_waits(observer, thread) for pid, thread in threads.items()}
            files = file_difference(file_sums(observer), old)
        path = one(observer, "SELECT pg_relation_filepath('big')")
    reads = [call for call in trace.on_files() if call.name in ("pread64", "preadv")]
    seen = Counter(call.pid for call in reads)
    counted = {}
    for pid in threads:
        found = grown(after[pid], before[pid]).get("wait/io/file/postgres/DataFileRead")
        if found:
            counted[pid] = found.count
    assert counted == dict(seen)
    assert sum(seen[pid] for pid in pids) > sum(seen.values()) / 2
    assert files[path].bytes_read == sum(call.result for call in reads if call.path == path)
    own = grown(after[w.pid], before[w.pid])
    assert own["wait/io/file/postgres/AioIoCompletion"].count > 0


# --- heavyweight locks: one wait is one event -----------------------------------------------------

LOCKS = {
    # what the blocker holds, what the waiter wants: event, object type, mode
    "row": (
        "UPDATE t SET v = v + 1 WHERE id = 1",
        "UPDATE t SET v = v + 2 WHERE id = 1",
        ("transactionid", "TRANSACTIONID", "ShareLock"),
    ),
    "table": (
        "LOCK TABLE t IN SHARE MODE",
        "ALTER TABLE t SET (fillfactor = 90)",
        ("relation", "RELATION", "ShareUpdateExclusiveLock"),
    ),
    "table in parse analysis": (
        "LOCK TABLE t IN SHARE MODE",
        "INSERT INTO t VALUES (-1, 0) ON CONFLICT DO NOTHING",
        ("relation", "RELATION", "RowExclusiveLock"),
    ),
    "advisory": (
        "SELECT pg_advisory_xact_lock(4711)",
        "SELECT pg_advisory_xact_lock(4711)",
        ("advisory", "ADVISORY", "ExclusiveLock"),
    ),
}


def lock_history(observer: Any, thread_id: int) -> list[Any]:
    return rows(
        observer,
        "SELECT * FROM performance_schema.lock_waits_history_long WHERE waiting_thread_id = %s "
        "ORDER BY timer_start",
        thread_id,
    )


def check_lock_wait(
    w: Waiter, event: Any, mark: int, names: tuple[str, str, str], low: float, high: float
) -> float:
    """One row, one count, the statement's lock_time, all of the same length; returns it."""
    event_name, object_type, mode = names
    [wait] = w.wait_rows(mark, "wait/lock/%")
    assert wait.event_name == f"wait/lock/heavyweight/{event_name}"
    assert (wait.object_type, wait.operation) == (object_type, mode)
    assert (wait.nesting_event_id, wait.nesting_event_type) == (event.event_id, "STATEMENT")
    assert event.event_id < wait.event_id <= wait.end_event_id <= event.end_event_id
    assert event.timer_start <= wait.timer_start <= wait.timer_end <= event.timer_end
    length = seconds(wait.timer_wait)
    assert 0.95 * low <= length <= 1.05 * high
    assert event.lock_time == wait.timer_wait
    return length


@pytest.mark.parametrize("hold_s", [0.3, pytest.param(3.0, id="past deadlock_timeout")])
@pytest.mark.parametrize("kind", LOCKS)
def test_lock_wait(
    kind: str, hold_s: float, observer: Any, session: Callable[..., Waiter]
) -> None:
    """Granted after a while: one event as long as the lock was held by the other."""
    held, wanted, names = LOCKS[kind]
    blocker, w = session(), session()
    blocker.conn.execute("BEGIN")
    blocker.conn.execute(held)
    waits, mark, statement = w.waits(), w.last_wait(), w.mark()
    sent = time.time()
    began = w.blocks(wanted)
    time.sleep(max(0.0, began + hold_s - time.time()))
    released = time.time()
    blocker.conn.execute("COMMIT")
    assert w.finish() == "00000"
    answered = time.time()

    locks = by_prefix(grown(w.waits(), waits), "wait/lock/heavyweight/")
    assert {name: stat.count for name, stat in locks.items()} == {names[0]: 1}
    [event] = w.events(statement)
    length = check_lock_wait(w, event, mark, names, released - began, answered - sent)
    assert locks[names[0]].seconds == pytest.approx(length, abs=1e-6)
    assert length == pytest.approx(hold_s, rel=0.05, abs=0.02)

    [row] = lock_history(observer, w.thread_id)
    assert (row.outcome, row.object_type, row.lock_mode) == ("GRANTED", *names[1:])
    assert seconds(row.timer_wait) == pytest.approx(length, abs=1e-6)
    assert row.wait_started.timestamp() == pytest.approx(began, abs=0.02)
    assert (row.waiting_pid, row.waiting_query) == (w.pid, wanted)
    assert row.waiting_statement_id == event.statement_id
    assert (row.blocking_thread_id, row.blocking_pid) == (blocker.thread_id, blocker.pid)
    assert (row.blocking_query, row.blocking_state) == (held, "idle")
    assert (row.waiting_user, row.blocking_user) == ("postgres", "postgres")
    assert row.schema_name == "postgres"
    if kind.startswith("table"):
        assert (row.object_schema, row.object_name) == ("public", "t")


GIVE_UP = {
    "cancelled": "57014",
    "lock_timeout": "55P03",
    "statement_timeout": "57014",
    "nowait is no wait": "55P03",
}


@pytest.mark.parametrize("way", GIVE_UP)
def test_lock_wait_given_up(way: str, observer: Any, session: Callable[..., Waiter]) -> None:
    """The wait ends without the lock: it counts, with its length, as GIVEN UP."""
    blocker, w = session(), session()
    blocker.conn.execute("BEGIN")
    blocker.conn.execute("LOCK TABLE t")
    if way.endswith("timeout"):
        w.conn.execute(f"SET {way} = '400ms'")
    waits, mark, statement = w.waits(), w.last_wait(), w.mark()
    sql = "ALTER TABLE t SET (fillfactor = 90)"
    if way.startswith("nowait"):
        w.conn.execute("BEGIN")
        w.start("LOCK TABLE t NOWAIT")
        assert w.finish() == GIVE_UP[way]
        assert by_prefix(grown(w.waits(), waits), "wait/lock/") == {}
        assert lock_history(observer, w.thread_id) == []
        return
    sent = time.time()
    began = w.blocks(sql)
    ended = began + 0.4
    if way == "cancelled":
        time.sleep(max(0.0, ended - time.time()))
        ended = time.time()
        observer.execute("SELECT pg_cancel_backend(%s)", (w.pid,))
    assert w.finish() == GIVE_UP[way]
    answered = time.time()
    locks = by_prefix(grown(w.waits(), waits), "wait/lock/heavyweight/")
    assert {name: stat.count for name, stat in locks.items()} == {"relation": 1}
    [event] = w.events(statement)
    names = ("relation", "RELATION", "ShareUpdateExclusiveLock")
    length = check_lock_wait(w, event, mark, names, ended - began, answered - sent)
    assert event.errors == 1
    [row] = lock_history(observer, w.thread_id)
    assert row.outcome == "GIVEN UP"
    assert seconds(row.timer_wait) == pytest.approx(length, abs=1e-6)
    assert (row.waiting_query, row.blocking_pid) == (sql, blocker.pid)
    # what comes next is not charged with it
    blocker.conn.execute("ROLLBACK")
    assert w.event(sql).lock_time == 0


def test_deadlock(observer: Any, session: Callable[..., Waiter]) -> None:
    """The victim's wait is given up after deadlock_timeout, the other's granted then."""
    first, second = session(), session()
    for each, row in ((first, 11), (second, 12)):
        each.conn.execute("BEGIN")
        each.conn.execute("UPDATE t SET v = 1 WHERE id = %s", (row,))
    first.conn.execute("SET deadlock_timeout = '1h'")
    statements = {each: each.mark() for each in (first, second)}
    first_began = first.blocks("UPDATE t SET v = 2 WHERE id = 12")
    second_sent = time.time()
    second_began = second.blocks("UPDATE t SET v = 2 WHERE id = 11")
    assert second.finish() == "40P01"
    failed = time.time()
    assert first.finish() == "00000"
    granted = time.time()
    [victim] = lock_history(observer, second.thread_id)
    [winner] = lock_history(observer, first.thread_id)
    assert (victim.outcome, winner.outcome) == ("GIVEN UP", "GRANTED")
    assert 1.0 <= seconds(victim.timer_wait) <= 1.05 * (failed - second_sent)
    assert seconds(victim.timer_wait) == pytest.approx(1.0, rel=0.05, abs=0.02)
    assert 1.0 + second_began - first_began - 0.02 <= seconds(winner.timer_wait)
    assert seconds(winner.timer_wait) <= 1.05 * (granted - first_began)
    for each, row in ((first, winner), (second, victim)):
        [event] = each.events(statements[each])
        assert event.lock_time == row.timer_wait
        assert row.waiting_statement_id == event.statement_id


def test_queue_of_waiters(observer: Any, session: Callable[..., Waiter]) -> None:
    """Many wait for one row: each lock that each of them waits for is one event."""
    blocker = session()
    blocker.conn.execute("BEGIN")
    blocker.conn.execute("UPDATE t SET v = 1 WHERE id = 20")
    queue = [session() for _ in range(4)]
    before = [each.waits() for each in queue]
    began = [each.blocks("UPDATE t SET v = v + 1 WHERE id = 20") for each in queue]
    ended = time.time() + 0.3
    time.sleep(0.3)
    blocker.conn.execute("COMMIT")
    for each in queue:
        assert each.finish() == "00000"
    names = Counter()
    for each, old, start in zip(queue, before, began):
        locks = by_prefix(grown(each.waits(), old), "wait/lock/heavyweight/")
        history = lock_history(observer, each.thread_id)
        assert len(history) == total(locks).count
        assert {row.outcome for row in history} == {"GRANTED"}
        assert total(locks).seconds >= 0.95 * (ended - start)
        names.update({name: stat.count for name, stat in locks.items()})
    assert names["tuple"] >= 3  # all but the first
    assert names["transactionid"] >= 1


def test_lock_wait_with_rows_off(observer: Any, session: Callable[..., Waiter]) -> None:
    """Without event rows and not timed: still counted once."""
    blocker, w = session(), session()
    with consumers(observer, events_waits_current=False):
        mark = w.last_wait()
        for timed in ("YES", "NO"):
            with instruments(observer, "wait/lock/%", "YES", timed):
                blocker.conn.execute("SELECT pg_advisory_lock(5)")
                before, statement = w.waits(), w.mark()
                w.blocks("SELECT pg_advisory_lock(5)")
                time.sleep(0.1)
                blocker.conn.execute("SELECT pg_advisory_unlock(5)")
                assert w.finish() == "00000"
                w_event = w.events(statement)[0]
                locks = by_prefix(grown(w.waits(), before), "wait/lock/heavyweight/")
                w.conn.execute("SELECT pg_advisory_unlock(5)")
            assert locks["advisory"].count == 1 and len(locks) == 1
            assert (locks["advisory"].seconds >= 0.1) == (timed == "YES")
            assert (w_event.lock_time > 0) == (timed == "YES")
        assert w.wait_rows(mark) == []


# --- sleeping -------------------------------------------------------------------------------------


def test_sleep(observer: Any, w: Waiter) -> None:
    """pg_sleep(1) is one second of few events inside its statement."""
    for _ in range(5):  # a busy machine may wake it late: our own clock tells
        before, mark, statement = w.waits(), w.last_wait(), w.mark()
        started = time.monotonic()
        w.conn.execute("SELECT pg_sleep(1)")
        took = time.monotonic() - started
        if took <= 1.02:
            break
    sleep = grown(w.waits(), before)["wait/timeout/postgres/PgSleep"]
    assert 1 <= sleep.count <= 3
    assert 0.98 <= sleep.seconds <= min(1.02, took)
    [event] = w.events(statement)
    found = w.wait_rows(mark, "%PgSleep")
    assert len(found) == sleep.count
    assert {(row.nesting_event_id, row.nesting_event_type) for row in found} == {
        (event.event_id, "STATEMENT")
    }


def test_sleep_in_a_function(observer: Any, w: Waiter) -> None:
    """The innermost statement contains it; each digest around it is charged too."""
    w.conn.execute(
        "CREATE OR REPLACE FUNCTION sleeper() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(0.2) AS inner_sleep; RETURN 1; END $$"
    )
    mark, statement = w.last_wait(), w.mark()
    w.conn.execute("SELECT sleeper() AS outer_sleep")
    outer, inner = w.events(statement)
    [wait] = w.wait_rows(mark, "%PgSleep")
    assert (wait.nesting_event_id, wait.nesting_event_type) == (inner.event_id, "STATEMENT")
    for event in (outer, inner):
        [row] = rows(
            observer,
            "SELECT * FROM performance_schema.events_waits_summary_by_digest "
            "WHERE digest = %s AND event_name LIKE '%%/PgSleep'",
            event.digest,
        )
        assert row.count_star == 1
        assert row.sum_timer_wait == pytest.approx(wait.timer_wait)
        assert 0.2 <= seconds(row.sum_timer_wait) <= 0.25


# --- commit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [False, True], ids=["implicit", "explicit"])
def test_commit_syncs(block: bool, w: Waiter) -> None:
    """The sync of the log is a wait of the statement that commits: COMMIT, or the INSERT itself."""
    if block:
        w.conn.execute("BEGIN")
        w.conn.execute("INSERT INTO log VALUES (10, 'x')")
    mark, statement = w.last_wait(), w.mark()
    w.conn.execute("COMMIT" if block else "INSERT INTO log VALUES (10, 'x')")
    [event] = w.events(statement)
    assert event.event_name == f"statement/sql/{'commit' if block else 'insert'}"
    syncs = [row for row in w.wait_rows(mark) if row.event_name.lower().endswith("/walsync")]
    writes = [row for row in w.wait_rows(mark) if row.event_name.lower().endswith("/walwrite")]
    assert len(syncs) == 1 and len(writes) >= 1
    for row in syncs + writes:
        assert (row.nesting_event_id, row.nesting_event_type) == (event.event_id, "STATEMENT")
        assert event.event_id < row.event_id <= event.end_event_id
        assert event.timer_start <= row.timer_start <= row.timer_end <= event.timer_end
        assert row.object_name.startswith("pg_wal/") and row.object_type == "FILE"
    assert syncs[0].operation == "sync"
    assert all(row.operation == "write" and row.number_of_bytes >= 8192 for row in writes)


def test_no_sync_without_commit(w: Waiter) -> None:
    """synchronous_commit = off: nobody waits for the disk; a rolled back transaction neither."""
    w.conn.execute("SET synchronous_commit = off")
    mark = w.last_wait()
    w.conn.execute("INSERT INTO log VALUES (11, 'x')")
    w.conn.execute("SET synchronous_commit = on")
    w.conn.execute("BEGIN")
    w.conn.execute("INSERT INTO log VALUES (12, 'x')")
    w.conn.execute("ROLLBACK")
    assert [row for row in w.wait_rows(mark) if "sync" in row.event_name.lower()] == []


def test_waits_nest_in_statements(w: Waiter, observer: Any) -> None:
    """Reads of the scanned table belong to the statement that scans it."""
    path = one(observer, "SELECT pg_relation_filepath('plain')")
    w.conn.execute("SELECT count(*), max(b) FROM plain")
    mark, statement = w.last_wait(), w.mark()
    w.conn.execute("SELECT count(*), max(b) FROM plain")
    [event] = w.events(statement)
    inside = [row for row in w.wait_rows(mark) if row.object_name == path]
    assert len(inside) > 500
    assert {row.event_name for row in inside} == {"wait/io/file/postgres/DataFileRead"}
    for row in inside:
        assert (row.nesting_event_id, row.nesting_event_type) == (event.event_id, "STATEMENT")
        assert event.event_id < row.event_id == row.end_event_id <= event.end_event_id
        assert (row.operation, row.object_type) == ("read", "FILE")
        assert row.number_of_bytes % 8192 == 0
    assert sum(row.timer_wait for row in inside) <= event.timer_wait


def test_waits_of_parse_analysis(session: Callable[..., Waiter]) -> None:
    """What a statement reads of the catalogs while it is analysed and planned is its own too."""
    session().conn.execute("SELECT sum(length(b)) FROM plain")  # no catalog stays in the buffers
    w = session()
    mark, statement = w.last_wait(), w.mark()
    w.conn.execute("SELECT count(*) FROM pg_views v JOIN log ON v.viewname = log.b")
    [event] = w.events(statement)
    reads = [
        row
        for row in w.wait_rows(mark, "%/DataFileRead")
        if event.timer_start <= row.timer_start <= row.timer_end <= event.timer_end
    ]
    assert len(reads) > 10
    nested = [row for row in reads if row.nesting_event_id == event.event_id]
    assert len(nested) == len(reads)


# --- lightweight locks ----------------------------------------------------------------------------


def test_lightweight_locks(server: Any, observer: Any, tmp_path: Path) -> None:
    """16 clients commit: they wait for the log's locks, and not longer than they live."""
    clients, duration = 16, max(2, LOAD_SECONDS // 4)
    script = tmp_path / "load.sql"
    script.write_text("INSERT INTO log VALUES (:client_id, 'x');\n")
    sums = (
        "SELECT event_name, count_star, sum_timer_wait, max_timer_wait "
        "FROM performance_schema.events_waits_summary_global_by_event_name "
        "WHERE event_name LIKE 'wait/synch/lwlock/%' AND count_star > 0"
    )
    observer.execute("TRUNCATE performance_schema.events_waits_summary_global_by_event_name")
    command = [server.bindir / "pgbench", "-n", "-c", str(clients), "-j", "2", "-T", str(duration)]
    started = time.monotonic()
    seen: Counter[str] = Counter()
    with subprocess.Popen(
        [*command, "-f", script], env=server.client_env(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as load:  # fmt: skip
        while load.poll() is None:
            for (name,) in observer.execute(
                "SELECT wait_event FROM pg_stat_activity WHERE wait_event_type = 'LWLock' "
                "AND application_name = 'pgbench'"
            ).fetchall():
                seen[name] += 1
            time.sleep(0.02)
        output = load.stdout.read().decode() if load.stdout else ""
    took = time.monotonic() - started
    assert load.returncode == 0, output
    found = {row.event_name.rpartition("/")[2]: row for row in rows(observer, sums)}
    assert sum(row.count_star for row in found.values()) > 0
    assert {"WALWrite"} <= set(found)
    assert sum(seconds(row.sum_timer_wait) for row in found.values()) <= clients * took
    assert all(seconds(row.max_timer_wait) <= took for row in found.values())
    # what was met by looking has been counted, most of all what was met most
    assert set(seen) <= set(found)
    if sum(seen.values()) >= 50:
        most, _ = seen.most_common(1)[0]
        by_time = sorted(found, key=lambda name: -found[name].sum_timer_wait)
        assert most in by_time[:2]


# --- idle -----------------------------------------------------------------------------------------

THINK_S = 0.4


def think() -> float:
    """Sleeps; how long it took."""
    started = time.monotonic()
    time.sleep(THINK_S)
    return time.monotonic() - started


def extended(w: Waiter) -> None:
    w.conn.execute("SELECT %s::int", (1,))


def simple(w: Waiter) -> None:
    w.conn.execute("SELECT 1")


def prepared(w: Waiter) -> None:
    w.conn.execute("SELECT %s::int + 1", (1,), prepare=True)


@pytest.mark.parametrize("in_block", [False, True], ids=["alone", "in a transaction"])
@pytest.mark.parametrize("run", [simple, extended, prepared])
def test_idle(run: Callable[[Waiter], None], in_block: bool, w: Waiter) -> None:
    """One event for each time the client thinks, as long as it thinks."""
    if in_block:
        w.conn.execute("BEGIN")
    run(w)
    before = w.waits()
    started = time.monotonic()
    thought = []
    for _ in range(3):
        thought.append(think())
        run(w)
    took = time.monotonic() - started
    found = grown(w.waits(), before)
    # the observer's question before the loop is in the first thinking time already
    assert found["idle"].count == 3
    assert 0.95 * sum(thought) <= found["idle"].seconds <= 1.05 * took
    assert "wait/io/socket/postgres/ClientRead" not in found


def test_idle_of_a_raw_client(server: Any, observer: Any) -> None:
    """Simple protocol, several statements in one message, and an error: one idle time each."""
    with RawClient(server) as raw:
        begun = time.monotonic()
        raw.query("SELECT 1")
        thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
        settle(observer, raw.pid)
        before = thread_waits(observer, thread_id)
        thought = []
        failing = ("SELECT 1/0", "BEGIN", "SELECT 1/0", "ROLLBACK")
        for sql in ("SELECT 1", "SELECT 1; SELECT 2", "", *failing):
            started = time.monotonic()
            time.sleep(THINK_S / 2)
            thought.append(time.monotonic() - started)
            raw.query(sql)
        took = time.monotonic() - begun
        found = grown(thread_waits(observer, thread_id), before)
    assert found["idle"].count == len(thought)
    # the observer's questions before the loop are in the first idle time already
    assert 0.95 * sum(thought) <= found["idle"].seconds <= 1.05 * took
    assert "wait/io/socket/postgres/ClientRead" not in found


def test_not_idle_while_running(w: Waiter, observer: Any) -> None:
    """A statement's own time is not idle, nor does it interrupt the count."""
    w.conn.execute("SELECT 1")
    w.settle()
    before = w.waits()
    w.start("SELECT pg_sleep(0.6)")
    wait_for_state(observer, w.pid, "wait_event = 'PgSleep'")
    assert grown(w.waits(), before)["idle"].seconds < 0.2
    assert w.finish() == "00000"
    w.settle()
    w.conn.execute("SELECT 1")
    idle = grown(w.waits(), before)["idle"]
    assert idle.count == 2
    assert idle.seconds < 0.4


def test_copy_from_client_is_not_idle(w: Waiter) -> None:
    """The wait for the rows of COPY is ClientRead, inside the statement."""
    w.conn.execute("SELECT 1")
    w.settle()
    mark, statement, before = w.last_wait(), w.mark(), w.waits()
    with w.conn.cursor().copy("COPY log FROM STDIN") as copy:
        thought = think()
        copy.write_row((20, "a"))
        w.conn.pgconn.flush()
    found = grown(w.waits(), before)
    assert found["idle"].count == 1
    assert found["idle"].seconds < 0.5 * THINK_S
    read = found["wait/io/socket/postgres/ClientRead"]
    assert read.seconds == pytest.approx(thought, rel=0.05, abs=0.02)
    [event] = w.events(statement)
    waits = [row for row in w.wait_rows(mark) if row.event_name.endswith("/ClientRead")]
    assert {row.nesting_event_id for row in waits} == {event.event_id}
    assert seconds(event.timer_wait) >= thought


def test_pause_in_a_pipeline_is_not_idle(server: Any, observer: Any) -> None:
    """Between Execute and Sync the server is not ready for a query: it waits in ClientRead."""
    with RawClient(server) as raw:
        raw.query("SELECT 1")
        thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
        settle(observer, raw.pid)
        before = thread_waits(observer, thread_id)
        raw.parse("SELECT 1").bind().execute().flush("C")
        thought = think()
        raw.sync()
        found = grown(thread_waits(observer, thread_id), before)
    assert found["idle"].count == 1
    assert found["idle"].seconds < 0.5 * THINK_S
    read = found["wait/io/socket/postgres/ClientRead"]
    assert read.seconds == pytest.approx(thought, rel=0.05, abs=0.02)


def test_idle_is_shown(w: Waiter, observer: Any) -> None:
    """A session that idles now: its wait has no end and grows; its socket is IDLE."""
    w.conn.execute("SELECT 1")
    current = (
        "SELECT * FROM performance_schema.events_waits_current WHERE thread_id = "
        f"{w.thread_id}"
    )
    [first] = wait_until(
        lambda: [row for row in rows(observer, current) if row.event_name == "idle"], "idle row"
    )
    [second] = rows(observer, current)
    assert (first.event_id, first.end_event_id, first.operation) == (
        second.event_id,
        None,
        "idle",
    )
    assert second.timer_wait > first.timer_wait > 0
    assert first.nesting_event_id is None
    state = f"SELECT state FROM performance_schema.socket_instances WHERE thread_id = {w.thread_id}"
    assert one(observer, state) == "IDLE"
    w.start("SELECT pg_sleep(0.3)")
    wait_for_state(observer, w.pid, "wait_event = 'PgSleep'")
    assert one(observer, state) == "ACTIVE"
    [running] = [row for row in rows(observer, current) if row.end_event_id is None]
    assert running.event_name == "wait/timeout/postgres/PgSleep"
    assert w.finish() == "00000"
