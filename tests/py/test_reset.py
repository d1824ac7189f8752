"""TRUNCATE and its twin: what is emptied, what not, and that nothing after it is lost."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import close_cluster, open_cluster
from helpers import (
    Watched,
    consumers,
    name_counts,
    one,
    rows,
    tables,
    truncatable,
    wait_for_state,
    wait_gone,
    wait_until,
)
from wait_helpers import Waiter, alone

STATEMENTS = "performance_schema.events_statements_summary"
WAITS = re.compile("waits_|^(file|socket|objects)_")
"""Tables of waits: all processes of a server fill them, so they get a quiet server of their own."""


@pytest.fixture
def w(cluster: Any, conn: Any) -> Iterator[Watched]:
    with Watched(cluster, conn) as watched:
        yield watched


def test_list_is_complete() -> None:
    """All statistics can be reset; rules, instruments and timers cannot."""
    names = set(truncatable())
    for table in tables():
        if table.name.startswith("events_") or table.name in ("accounts", "users", "hosts"):
            assert table.name in names, table.name
    assert not {"threads", "performance_timers", "memory"} & names


def load(w: Watched) -> None:
    """Something in every statistics table."""
    for sql in ("SELECT 1", "SELECT 1 / 0", "BEGIN", "COMMIT"):
        try:
            w.conn.execute(sql)
        except Exception as error:
            assert "division" in str(error)


TWINS = pytest.mark.parametrize("twin", [False, True], ids=["truncate", "function"])


def reset_of(name: str, twin: bool) -> str:
    if twin:
        return f"SELECT performance_schema.reset('{name}')"
    return f"TRUNCATE performance_schema.{name}"


@TWINS
@pytest.mark.parametrize("name", [name for name in truncatable() if not WAITS.search(name)])
def test_each_table(w: Watched, name: str, twin: bool) -> None:
    """Afterwards it holds nothing of the watched session, then it counts again."""
    o = w.observer
    reset = reset_of(name, twin)
    columns = {c.name for t in tables() if t.name == name for c in t.columns}
    if "count_star" in columns:
        total = f"SELECT coalesce(sum(count_star), 0)::int8 FROM performance_schema.{name}"
        if "thread_id" in columns:
            total += f" WHERE thread_id = {w.thread_id}"
    elif "sum_error_raised" in columns:
        total = f"SELECT coalesce(sum(sum_error_raised), 0)::int8 FROM performance_schema.{name}"
        total += " WHERE sql_state = '22012'"
    elif "count_bucket" in columns:
        total = f"SELECT coalesce(sum(count_bucket), 0)::int8 FROM performance_schema.{name}"
    elif "event_id" in columns:
        total = f"SELECT count(*) FROM performance_schema.{name} WHERE thread_id = {w.thread_id}"
    elif "total_connections" in columns:
        total = f"SELECT sum(total_connections)::int8 FROM performance_schema.{name}"
    else:
        # they have tests of their own
        assert name in ("status", "host_cache", "prepared_statements_instances")
        o.execute(reset)
        return
    on = {
        f"events_{kind}_history_long": True
        for kind in ("statements", "transactions")
        if name.endswith("history_long")
    }
    with consumers(o, **on):
        load(w)
        assert one(o, total) > 0
        o.execute(reset)
        if "total_connections" in columns:
            # a process may come and go between the two
            left = f"SELECT sum(total_connections) = sum(current_connections) FROM performance_schema.{name}"
            wait_until(lambda: o.execute(reset) and one(o, left), "those that are connected are left")
            return
        after = one(o, total)
        # at most the observer's own statements since: the reset itself, the question
        assert after <= 3
        for _ in range(9):
            load(w)
        grown = one(o, total)
        if "event_id" in columns and not name.endswith("history_long"):
            assert grown >= 1
        else:
            assert grown >= 9


@pytest.fixture(scope="module")
def quiet(pg_config: str) -> Iterator[tuple[Waiter, Any]]:
    """A session that is the only one recorded, waits of all kinds included, and a blocker."""
    # the alarm of a lock wait outlives it and wakes the session: a wait on its socket, uncalled for
    alarm = {"deadlock_timeout": "1h"}
    server = open_cluster(pg_config, extension=True, preload=True, autovacuum=False, **alarm)
    with server.connect() as observer, server.connect() as blocker, Waiter(server, observer) as w:
        observer.execute("CREATE TABLE target (i integer)")
        observer.execute("CREATE INDEX target_i ON target (i)")
        observer.execute("SELECT performance_schema.set_instruments('%', true, true)")
        observer.execute("SELECT performance_schema.set_consumers('%', true)")
        observer.execute("SELECT performance_schema.set_thread_classes('%', false)")
        w.settle()
        with alone(observer, w.thread_id):
            yield w, blocker
    close_cluster(server)


def wait_load(w: Waiter, blocker: Any) -> None:
    """Files, connection, rows by table and index, a lock: something in every table of waits."""
    w.conn.execute("INSERT INTO target VALUES (1)")
    w.conn.execute("SELECT count(*) FROM target")
    w.conn.execute("SET enable_seqscan = off")
    assert w.conn.execute("SELECT i FROM target WHERE i = 1 LIMIT 1").fetchall() == [(1,)]
    w.conn.execute("SET enable_seqscan = on")
    w.conn.execute("SELECT length(pg_read_file('PG_VERSION'))")
    blocker.execute("BEGIN; LOCK TABLE target")
    w.blocks("SELECT count(*) FROM target")
    blocker.execute("COMMIT")
    assert w.finish() == "00000"
    w.settle()  # what it has read and changed is recorded by now


@TWINS
@pytest.mark.parametrize("name", [name for name in truncatable() if WAITS.search(name)])
def test_each_table_of_waits(quiet: tuple[Waiter, Any], name: str, twin: bool) -> None:
    """Afterwards it is empty, as nobody else is recorded; then it counts again."""
    w, blocker = quiet
    [table] = [table for table in tables() if table.name == name]
    columns = {column.name for column in table.columns}
    what = "sum(count_star)" if "count_star" in columns else "count(*)"
    total = f"SELECT coalesce({what}, 0)::int8 FROM performance_schema.{name}"
    for _ in range(2):
        wait_load(w, blocker)
        assert one(w.observer, total) > 0
        w.observer.execute(reset_of(name, twin))
        assert one(w.observer, total) == 0
    if "count_star" in columns:
        least = [f"{c} = 0" for c in sorted(columns) if re.match("(count|sum|min|avg|max)_", c)]
        left = f"SELECT count(*) FROM performance_schema.{name} WHERE NOT ({' AND '.join(least)})"
        assert one(w.observer, left) == 0


def test_reset_all(w: Watched) -> None:
    """All statistics, not the rules; returns the number of tables."""
    o = w.observer
    rules = one(o, "SELECT count(*) FROM performance_schema.setup_actors")
    load(w)
    n = one(o, "SELECT performance_schema.reset_all()")
    assert n == len(truncatable())
    assert one(o, "SELECT count(*) FROM performance_schema.setup_actors") == rules
    assert name_counts(o, w.thread_id) == {}


def test_minimum_starts_again(w: Watched) -> None:
    """After TRUNCATE, MIN and MAX are of the new events alone."""
    o = w.observer
    row = (
        "SELECT min_timer_wait, max_timer_wait, count_star "
        f"FROM {STATEMENTS}_by_thread_by_event_name "
        f"WHERE thread_id = {w.thread_id} AND event_name = 'statement/sql/select'"
    )
    w.conn.execute("SELECT pg_sleep(0.05)")
    w.conn.execute("SELECT 1")
    o.execute(f"TRUNCATE {STATEMENTS}_by_thread_by_event_name")
    w.conn.execute("SELECT pg_sleep(0.02)")
    [new] = rows(o, row)
    assert new.count_star == 1
    assert 0.02e12 <= new.min_timer_wait == new.max_timer_wait < 0.05e12


def test_levels(w: Watched, cluster: Any) -> None:
    """TRUNCATE of a level empties it and those below; those above keep everything, as in MySQL."""
    o = w.observer
    cluster.psql("DO $$ BEGIN CREATE ROLE lvl LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")

    def sums() -> dict[str, int]:
        mine = "user_name = 'lvl'"
        found = {}
        for level, where in (("account", mine), ("user", mine), ("global", "true")):
            table = f"{STATEMENTS}_by_{level}_by_event_name".replace("by_global", "global")
            found[level] = one(
                o,
                f"SELECT coalesce(sum(count_star), 0)::int8 FROM {table} "
                f"WHERE {where} AND event_name = 'statement/sql/listen'",
            )
        return found

    with Watched(cluster, o, user="lvl") as other:
        base = sums()
        for _ in range(5):
            other.conn.execute("LISTEN x")
        assert sums() == {level: n + 5 for level, n in base.items()}
        o.execute(f"TRUNCATE {STATEMENTS}_by_thread_by_event_name")
        assert name_counts(o, other.thread_id) == {}
        assert sums() == {level: n + 5 for level, n in base.items()}
        for _ in range(3):
            other.conn.execute("LISTEN x")
        assert name_counts(o, other.thread_id)["sql/listen"] == 3
        assert sums() == {level: n + 8 for level, n in base.items()}
        o.execute(f"TRUNCATE {STATEMENTS}_by_account_by_event_name")
        after = sums()
        assert after["account"] == 0
        assert after["user"] == base["user"] + 8
        assert after["global"] == base["global"] + 8
        for _ in range(2):
            other.conn.execute("LISTEN x")
        after = sums()
        assert (after["account"], after["user"]) == (2, base["user"] + 10)
        o.execute(f"TRUNCATE {STATEMENTS}_global_by_event_name")
        assert sums() == {"account": 0, "user": 0, "global": 0}
        other.conn.execute("LISTEN x")
        pid = other.pid
    wait_gone(o, pid)
    assert sums() == {"account": 1, "user": 1, "global": 1}


def test_accounts(cluster: Any, conn: Any) -> None:
    """TRUNCATE accounts removes those without connections and restarts the totals."""
    cluster.psql("DO $$ BEGIN CREATE ROLE gone LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
    with cluster.connect(user="gone") as session:
        session.execute("SELECT 1")
        pid = session.info.backend_pid
        conn.execute("TRUNCATE performance_schema.accounts")
        [row] = rows(conn, "SELECT * FROM performance_schema.accounts WHERE user_name = 'gone'")
        assert (row.current_connections, row.total_connections) == (1, 1)
    wait_gone(conn, pid)
    [row] = rows(conn, "SELECT * FROM performance_schema.accounts WHERE user_name = 'gone'")
    assert (row.current_connections, row.total_connections) == (0, 1)
    conn.execute("TRUNCATE performance_schema.accounts")
    conn.execute("TRUNCATE performance_schema.users")
    for table in ("accounts", "users"):
        assert (
            rows(conn, f"SELECT * FROM performance_schema.{table} WHERE user_name = 'gone'") == []
        )


def test_nothing_after_truncate_is_lost(cluster: Any, conn: Any) -> None:
    """Under load: what started after TRUNCATE returned is counted, what ended before it is not."""
    sessions = 6
    started = [0] * sessions  # statements sent
    ended = [0] * sessions  # statements answered
    stop = threading.Event()
    tables_and_sums = (
        (f"{STATEMENTS}_global_by_event_name", "event_name = 'statement/sql/notify'"),
        (f"{STATEMENTS}_by_digest", "digest_text LIKE 'NOTIFY%'"),
        (f"{STATEMENTS}_by_account_by_event_name", "event_name = 'statement/sql/notify'"),
    )

    def load_session(number: int) -> None:
        with cluster.connect(prepare_threshold=None) as session:
            while not stop.is_set():
                started[number] += 1
                session.execute("NOTIFY ch")
                ended[number] += 1

    threads = [threading.Thread(target=load_session, args=(i,)) for i in range(sessions)]
    for thread in threads:
        thread.start()
    try:
        for round_number in range(24):
            table, condition = tables_and_sums[round_number % len(tables_and_sums)]
            goal = sum(ended) + 60
            wait_until(lambda goal=goal: sum(ended) >= goal, "load")
            ended_before = sum(ended)
            conn.execute(f"TRUNCATE {table}")
            started_after = sum(started)
            goal = sum(ended) + 60
            wait_until(lambda goal=goal: sum(ended) >= goal, "load")
            low = sum(ended) - started_after
            count = one(
                conn, f"SELECT coalesce(sum(count_star), 0)::int8 FROM {table} WHERE {condition}"
            )
            high = sum(started) - ended_before
            assert low <= count <= high, table
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_truncate_several_and_rollback(w: Watched) -> None:
    """Several tables in one command; a reset is not transactional."""
    o = w.observer
    load(w)
    with o.transaction(force_rollback=True):
        o.execute(
            f"TRUNCATE {STATEMENTS}_by_thread_by_event_name, "
            "performance_schema.events_statements_history"
        )
    assert name_counts(o, w.thread_id) == {}
    assert w.events() == []


def test_status_losses(conn: Any) -> None:
    """TRUNCATE status zeroes the loss counters and leaves the sizes."""
    conn.execute("TRUNCATE performance_schema.status")
    found = dict(
        conn.execute(
            "SELECT variable_name, variable_value FROM performance_schema.status"
        ).fetchall()
    )
    assert found["digests_size"] == 10000
    assert all(value == 0 for name, value in found.items() if name.endswith("_lost"))
