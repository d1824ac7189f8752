"""Transaction events: state, isolation, access mode, autocommit, savepoints, ids, sums."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from helpers import Watched, consumers, instruments, one, rows, wait_gone


@pytest.fixture
def w(cluster: Any, conn: Any) -> Iterator[Watched]:
    with Watched(cluster, conn) as watched:
        yield watched


def last(w: Watched) -> Any:
    """The newest ended transaction of the watched session."""
    return rows(
        w.observer,
        "SELECT * FROM performance_schema.events_transactions_history "
        "WHERE thread_id = %s ORDER BY event_id DESC LIMIT 1",
        w.thread_id,
    )[0]


def current(w: Watched) -> Any:
    [row] = rows(
        w.observer,
        "SELECT * FROM performance_schema.events_transactions_current WHERE thread_id = %s",
        w.thread_id,
    )
    return row


def run(w: Watched, *script: str) -> Any:
    """Execute, errors ignored; the newest transaction."""
    for sql in script:
        with contextlib.suppress(psycopg.Error):
            w.conn.execute(sql)
    return last(w)


def count(w: Watched, column: str = "count_star") -> int:
    return one(
        w.observer,
        f"SELECT coalesce(sum({column}), 0)::int8 FROM "
        "performance_schema.events_transactions_summary_by_thread_by_event_name "
        "WHERE thread_id = %s",
        w.thread_id,
    )


def test_autocommit(w: Watched) -> None:
    """One transaction per statement, inside the statement."""
    before = count(w)
    event = run(w, "SELECT 1")
    assert count(w) == before + 1
    assert (event.state, event.autocommit, event.isolation_level) == (
        "COMMITTED",
        "YES",
        "READ COMMITTED",
    )
    assert event.event_name == "transaction"
    assert event.trx_id is None
    assert event.nesting_event_type == "STATEMENT"
    assert event.timer_wait > 0
    assert abs(event.timer_end - event.timer_start - event.timer_wait) < 1000


def test_block(w: Watched) -> None:
    """BEGIN ... COMMIT is one transaction, active in between."""
    before = count(w)
    w.conn.execute("BEGIN")
    w.conn.execute("SELECT 1")
    active = current(w)
    assert (active.state, active.end_event_id) == ("ACTIVE", None)
    w.conn.execute("SELECT 2")
    event = run(w, "COMMIT")
    assert count(w) == before + 1
    assert (event.state, event.autocommit) == ("COMMITTED", "NO")
    assert event.event_id == active.event_id
    assert current(w).state == "COMMITTED"
    inside = [e for e in w.events() if e.nesting_event_id == event.event_id]
    assert [e.sql_text for e in inside] == ["SELECT 1", "SELECT 2", "COMMIT"]


@pytest.mark.parametrize(
    "begin, isolation, mode",
    [
        ("BEGIN", "READ COMMITTED", "READ WRITE"),
        ("BEGIN ISOLATION LEVEL READ UNCOMMITTED", "READ UNCOMMITTED", "READ WRITE"),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ", "REPEATABLE READ", "READ WRITE"),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "SERIALIZABLE", "READ ONLY"),
        ("START TRANSACTION READ ONLY", "READ COMMITTED", "READ ONLY"),
    ],
)
def test_modes(w: Watched, begin: str, isolation: str, mode: str) -> None:
    """In the event and in the sums by mode."""
    side = "count_read_only" if mode == "READ ONLY" else "count_read_write"
    before = count(w, side)
    w.conn.execute(begin)
    event = run(w, "SELECT 1", "COMMIT")
    assert (event.isolation_level, event.access_mode) == (isolation, mode)
    assert count(w, side) == before + 1


def test_running_transaction(w: Watched) -> None:
    """The row of the running transaction tells the same."""
    w.conn.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
    xid = one(w.conn, "SELECT pg_current_xact_id()::text::int8")
    w.conn.execute("SET TRANSACTION READ ONLY")
    active = current(w)
    w.conn.execute("ROLLBACK")
    assert (active.state, active.trx_id, active.autocommit) == ("ACTIVE", xid, "NO")
    assert (active.isolation_level, active.access_mode) == ("SERIALIZABLE", "READ ONLY")


def test_set_transaction(w: Watched) -> None:
    """What SET TRANSACTION and the session's defaults say."""
    event = run(w, "BEGIN", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT 1", "COMMIT")
    assert event.isolation_level == "SERIALIZABLE"
    w.conn.execute("SET default_transaction_read_only = on")
    assert run(w, "SELECT 1").access_mode == "READ ONLY"


def test_rolled_back(w: Watched) -> None:
    """By the client and by an error; with and without a block."""
    assert run(w, "BEGIN", "SELECT 1", "ROLLBACK").state == "ROLLED BACK"
    event = run(w, "SELECT 1 / 0")
    assert (event.state, event.autocommit) == ("ROLLED BACK", "YES")
    before = count(w)
    event = run(w, "BEGIN", "SELECT 1 / 0", "SELECT 2", "ROLLBACK")
    assert (event.state, event.autocommit) == ("ROLLED BACK", "NO")
    assert count(w) == before + 1


def test_savepoints(w: Watched) -> None:
    """Made, rolled back, released."""
    event = run(
        w,
        "BEGIN",
        "SAVEPOINT a",
        "SAVEPOINT b",
        "ROLLBACK TO b",
        "ROLLBACK TO b",
        "RELEASE b",
        "SAVEPOINT c",
        "COMMIT",
    )
    assert (
        event.number_of_savepoints,
        event.number_of_rollback_to_savepoint,
        event.number_of_release_savepoint,
    ) == (3, 2, 1)
    assert run(w, "SELECT 1").number_of_savepoints == 0


def test_trx_id(w: Watched) -> None:
    """The id that a writing transaction got, also while it runs."""
    w.conn.execute("BEGIN")
    xid = one(w.conn, "SELECT pg_current_xact_id()::text::int8")
    assert run(w, "COMMIT").trx_id == xid
    assert run(w, "SELECT 1").trx_id is None


def test_transactions_of_a_procedure(w: Watched) -> None:
    """COMMIT and ROLLBACK inside a procedure end transactions."""
    w.conn.execute("CREATE TABLE IF NOT EXISTS trx_t (a int)")
    w.conn.execute(
        "CREATE OR REPLACE PROCEDURE trx_p() LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO trx_t VALUES (1); COMMIT; INSERT INTO trx_t VALUES (2); ROLLBACK; "
        "INSERT INTO trx_t VALUES (3); END $$"
    )
    before = count(w)
    run(w, "CALL trx_p()")
    assert count(w) == before + 3
    states = [
        row.state
        for row in rows(
            w.observer,
            "SELECT state FROM performance_schema.events_transactions_history "
            "WHERE thread_id = %s ORDER BY event_id DESC LIMIT 3",
            w.thread_id,
        )
    ]
    assert states == ["COMMITTED", "ROLLED BACK", "COMMITTED"]


def test_timer_covers_the_pause(w: Watched) -> None:
    """Idle time in a transaction is the transaction's time."""
    w.conn.execute("BEGIN")
    w.conn.execute("SELECT pg_sleep(0.05)")
    w.observer.execute("SELECT pg_sleep(0.1)")
    event = run(w, "COMMIT")
    assert 0.15 <= event.timer_wait / 10**12 < 0.4


def test_instrument_and_consumers(w: Watched) -> None:
    """Off adds nothing, on adds one each; without its consumer no event row."""
    before = count(w)
    with instruments(w.observer, "transaction", "NO"):
        for _ in range(5):
            w.conn.execute("SELECT 1")
        assert count(w) == before
    w.conn.execute("SELECT 1")
    assert count(w) == before + 1
    newest = last(w).event_id
    with consumers(w.observer, events_transactions_history=False):
        w.conn.execute("SELECT 1")
        assert last(w).event_id == newest
    assert count(w) == before + 2


def test_counted_without_time(w: Watched) -> None:
    """TIMED = NO counts, without time."""
    with instruments(w.observer, "transaction", "YES", "NO"):
        event = run(w, "SELECT 1")
    assert event.state == "COMMITTED"
    assert (event.timer_start, event.timer_end, event.timer_wait) == (None, None, None)


def test_levels_agree(w: Watched, cluster: Any) -> None:
    """n transactions add n for the thread, the account, the user, the host and the server."""
    cluster.psql("DROP ROLE IF EXISTS trx_user; CREATE ROLE trx_user LOGIN")
    level = "SELECT coalesce(sum(count_star), 0)::int8 FROM performance_schema.{} WHERE {}"
    table = "events_transactions_summary_by_{}_by_event_name"

    def sums() -> tuple[int, ...]:
        user = "user_name = 'trx_user'"
        return tuple(
            one(w.observer, level.format(table.format(name), condition))
            for name, condition in (("account", user), ("user", user))
        )

    base = sums()
    with cluster.connect(user="trx_user", prepare_threshold=None) as other:
        for _ in range(7):
            other.execute("SELECT 1")
        assert sums() == tuple(value + 7 for value in base)
        pid = other.info.backend_pid
    wait_gone(w.observer, pid)
    assert sums() == tuple(value + 7 for value in base)


def test_prepared_transaction(new_cluster: Any) -> None:
    """PREPARE TRANSACTION ends the event as PREPARED; the session goes on with its own."""
    server = new_cluster(max_prepared_transactions=3)
    with server.connect() as observer, Watched(server, observer) as w:
        w.conn.execute("CREATE TABLE pt (a int)")
        w.conn.execute("BEGIN")
        w.conn.execute("INSERT INTO pt VALUES (1)")
        xid = one(w.conn, "SELECT pg_current_xact_id()::text::int8")
        event = run(w, "PREPARE TRANSACTION 'the gid'")
        assert (event.state, event.xa_state, event.xid_gtrid) == (
            "PREPARED",
            "PREPARED",
            "the gid",
        )
        assert event.trx_id == xid
        before = count(w)
        event = run(w, "SELECT 1")
        assert (event.state, event.xa_state, event.xid_gtrid) == ("COMMITTED", None, None)
        event = run(w, "COMMIT PREPARED 'the gid'")
        assert event.state == "COMMITTED"
        assert count(w) == before + 2
        # a prepared transaction that nobody ends leaves no trace in threads
        run(w, "BEGIN", "INSERT INTO pt VALUES (2)", "PREPARE TRANSACTION 'other'")
        with server.connect() as third:
            third.execute("ROLLBACK PREPARED 'other'")
        assert run(w, "SELECT 1").state == "COMMITTED"


def test_history_is_a_ring(w: Watched) -> None:
    """The newest ten of the thread, the newest of the server in history_long."""
    with consumers(w.observer, events_transactions_history_long=True):
        for _ in range(15):
            w.conn.execute("SELECT 1")
        found = rows(
            w.observer,
            "SELECT event_id FROM performance_schema.events_transactions_history "
            "WHERE thread_id = %s ORDER BY 1",
            w.thread_id,
        )
        long = rows(
            w.observer,
            "SELECT event_id FROM performance_schema.events_transactions_history_long "
            "WHERE thread_id = %s ORDER BY 1",
            w.thread_id,
        )
    assert len(found) == 10
    assert len(long) == 15
    assert long[-10:] == found
