"""Locks: metadata_locks, data_locks, data_lock_waits and what sys makes of them.

Two or more sessions stand in each other's way, an observer looks. The server's deadlock detector
sleeps for an hour, so that a deadlock stays to be looked at; a session that wants it awake sets
deadlock_timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import close_cluster, open_cluster
from helpers import one, rows, thread_of, wait_for_state, wait_gone, wait_until

VIEWS = (
    "performance_schema.lock_instances",
    "performance_schema.metadata_locks",
    "performance_schema.data_locks",
    "performance_schema.lock_waits",
    "performance_schema.data_lock_waits",
    "sys.innodb_lock_waits",
    "sys.x$innodb_lock_waits",
    "sys.schema_table_lock_waits",
    "sys.x$schema_table_lock_waits",
    "sys.lock_tree",
    "sys.x$lock_tree",
)
WAITS = (*VIEWS[3:], "(SELECT * FROM performance_schema.data_locks WHERE lock_status = 'WAITING')")
KEY = 815


class Session:
    """One that starts statements without waiting for their end."""

    def __init__(self, server: Any, observer: Any, **options: Any) -> None:
        self.conn = server.connect(**options)
        self.observer = observer
        self.pid: int = self.conn.info.backend_pid

    def run(self, *script: str) -> Session:
        for sql in script:
            self.conn.execute(sql)
        return self

    def start(self, sql: str) -> Session:
        self.conn.pgconn.send_query(sql.encode())
        return self

    def blocks(self, sql: str) -> Session:
        """Starts a statement that has to wait for a lock."""
        self.start(sql)
        wait_for_state(self.observer, self.pid, "wait_event_type = 'Lock'")
        since = f"SELECT count(*) FROM pg_locks WHERE pid = {self.pid} AND waitstart IS NOT NULL"
        wait_until(lambda: one(self.observer, since) == 1, "waitstart")
        return self

    def finish(self) -> str:
        """Waits for the end of what was started; returns SQLSTATE, 00000 = no error."""
        state = "00000"
        while (result := self.conn.pgconn.get_result()) is not None:
            error = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
            state = error.decode() if error else state
        return state


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    made = open_cluster(
        pg_config,
        extension=True,
        preload=True,
        autovacuum=False,
        max_prepared_transactions=5,
        deadlock_timeout="1h",
    )
    made.psql(
        "CREATE TABLE t (id integer PRIMARY KEY, v integer);"
        "INSERT INTO t SELECT i, 0 FROM generate_series(1, 20) AS i;"
        "CREATE TABLE u AS TABLE t;"
        "CREATE ROLE locks_plain LOGIN; CREATE ROLE locks_owner LOGIN;"
        "GRANT ALL ON t TO locks_owner"
    )
    yield made
    close_cluster(made)


@pytest.fixture
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as conn:
        yield conn


@pytest.fixture
def session(server: Any, observer: Any) -> Iterator[Callable[..., Session]]:
    """Makes sessions; all of them are ended after the test, whatever they wait for."""
    made: list[Session] = []

    def make(**options: Any) -> Session:
        made.append(Session(options.pop("server", server), observer, **options))
        return made[-1]

    yield make
    for each in made:
        if each.conn.info.port == server.port:
            observer.execute("SELECT pg_terminate_backend(%s)", (each.pid,))
        each.conn.close()
    for each in made:
        wait_gone(observer, each.pid)


def tree(observer: Any) -> dict[int, Any]:
    """sys.x$lock_tree by process id, 0 = a prepared transaction; nobody is in it twice."""
    found = rows(observer, "SELECT * FROM sys.x$lock_tree")
    assert len({row.path for row in found}) == len({row.session for row in found}) == len(found)
    return {row.pid or 0: row for row in found}


def xid_of(session: Session) -> int:
    return one(session.conn, "SELECT pg_current_xact_id()::text::int8")


# --- rows ----------------------------------------------------------------------------------------


def test_row_wait(observer: Any, session: Callable[..., Session]) -> None:
    """The second UPDATE of a row waits for the transaction of the first."""
    blocker = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 1")
    waiter = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 2")
    xids = {s.pid: xid_of(s) for s in (blocker, waiter)}
    threads = {s.pid: thread_of(observer, s.conn) for s in (blocker, waiter)}
    waiter.blocks("UPDATE t SET v = 2 WHERE id = 1")

    [waiting] = rows(
        observer, "SELECT * FROM performance_schema.data_locks WHERE lock_status = 'WAITING'"
    )
    assert (waiting.engine, waiting.lock_type, waiting.lock_mode) == (
        "POSTGRES",
        "TRANSACTION",
        "SHARE",
    )
    assert (waiting.pid, waiting.thread_id) == (waiter.pid, threads[waiter.pid])
    assert (waiting.object_schema, waiting.object_name) == ("public", "t")
    assert waiting.lock_data == f"{xids[blocker.pid]}, row (0,1)"
    assert waiting.engine_transaction_id == xids[waiter.pid]
    running = one(
        observer,
        "SELECT max(event_id) FROM performance_schema.events_statements_current "
        "WHERE thread_id = %s AND end_event_id IS NULL",
        waiting.thread_id,
    )
    assert waiting.event_id == running
    [record] = rows(
        observer, "SELECT * FROM performance_schema.data_locks WHERE lock_type = 'RECORD'"
    )
    assert (record.pid, record.lock_data, record.lock_status) == (waiter.pid, "(0,1)", "GRANTED")
    assert (record.object_name, record.lock_mode) == ("t", "EXCLUSIVE")

    [pair] = rows(observer, "SELECT * FROM performance_schema.data_lock_waits")
    assert pair.requesting_engine_lock_id == waiting.engine_lock_id
    assert pair.requesting_object_instance_begin == waiting.object_instance_begin
    held = one(
        observer,
        "SELECT engine_lock_id FROM performance_schema.data_locks WHERE pid = %s "
        "AND lock_status = 'GRANTED' AND locktype = 'transactionid'",
        blocker.pid,
    )
    assert pair.blocking_engine_lock_id == held
    assert pair.blocking_engine_transaction_id == xids[blocker.pid]
    assert (pair.requesting_thread_id, pair.blocking_thread_id) == (
        threads[waiter.pid],
        threads[blocker.pid],
    )

    [row] = rows(observer, "SELECT * FROM sys.innodb_lock_waits")
    assert (row.waiting_pid, row.blocking_pid) == (waiter.pid, blocker.pid)
    assert (row.waiting_trx_id, row.blocking_trx_id) == (xids[waiter.pid], xids[blocker.pid])
    assert (row.locked_table, row.locked_table_name) == ("public.t", "t")
    assert (row.waiting_lock_id, row.blocking_lock_id) == (waiting.engine_lock_id, held)
    assert row.waiting_query == "UPDATE t SET v = 2 WHERE id = 1"
    assert row.blocking_query is None  # it idles in its transaction
    assert row.wait_started > row.waiting_trx_started >= row.blocking_trx_started
    assert row.wait_age_secs == row.wait_age.seconds >= 0
    assert rows(observer, "SELECT * FROM sys.schema_table_lock_waits") == []

    found = tree(observer)
    assert set(found) == {blocker.pid, waiter.pid}
    root, leaf = found[blocker.pid], found[waiter.pid]
    assert (root.depth, root.blocked, root.state) == (0, 1, "idle in transaction")
    assert (root.wait_age, root.locked_object, root.blocked_by) == (None, None, None)
    assert (leaf.depth, leaf.blocked, leaf.root_pid) == (1, 0, blocker.pid)
    assert leaf.path == f"{blocker.pid} > {waiter.pid}"
    assert leaf.locked_object == f"transaction {xids[blocker.pid]}, row (0,1) of public.t"
    assert (leaf.blocked_by, leaf.in_cycle) == (str(blocker.pid), False)

    blocker.run("COMMIT")
    assert waiter.finish() == "00000"
    for view in WAITS:
        assert rows(observer, f"SELECT * FROM {view} AS w") == [], view


def test_queue_for_a_row(observer: Any, session: Callable[..., Session]) -> None:
    """Others queue behind the first waiter: pairs for all, in the tree each of them once."""
    blocker = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 3")
    queue = [session().blocks("UPDATE t SET v = 2 WHERE id = 3") for _ in range(5)]
    first, others = queue[0], queue[1:]
    assert one(observer, "SELECT count(*) FROM performance_schema.data_lock_waits") == 1 + 4 + 6
    found = tree(observer)
    assert len(found) == 6
    assert found[blocker.pid].blocked == 5
    assert (found[first.pid].depth, found[first.pid].blocked) == (1, 4)
    for number, waiter in enumerate(others):
        row = found[waiter.pid]
        assert row.path == f"{blocker.pid} > {first.pid} > {waiter.pid}"
        assert row.locked_object == "row (0,3) of public.t"
        assert row.blocked_by.split(", ") == [str(first.pid)] + sorted(
            [str(s.pid) for s in others[:number]], key=int
        )
    in_order = [row.pid for row in rows(observer, "SELECT pid FROM sys.lock_tree")]
    assert in_order == [blocker.pid] + [s.pid for s in queue]
    locked = rows(observer, "SELECT locked_type, locked_table FROM sys.innodb_lock_waits")
    assert {tuple(row) for row in locked} == {("TRANSACTION", "public.t"), ("RECORD", "public.t")}
    blocker.run("ROLLBACK")
    for waiter in queue:
        assert waiter.finish() == "00000"


def test_unique_key_wait(observer: Any, session: Callable[..., Session]) -> None:
    """An INSERT waits for one of the same key: only the transaction is known, not the table."""
    blocker = session().run("BEGIN", "INSERT INTO t VALUES (100)")
    waiter = session().blocks("INSERT INTO t VALUES (100)")
    [row] = rows(observer, "SELECT * FROM sys.innodb_lock_waits")
    assert (row.locked_type, row.locked_table, row.blocking_pid) == (
        "TRANSACTION",
        None,
        blocker.pid,
    )
    blocker.run("COMMIT")
    assert waiter.finish() == "23505"
    observer.execute("DELETE FROM t WHERE id = 100")


def test_partition_and_index_names(
    server: Any, observer: Any, session: Callable[..., Session]
) -> None:
    """MySQL's columns: the partitioned table, the partition, the one below, the index."""
    server.psql(
        "CREATE TABLE part (a int, b int) PARTITION BY LIST (a);"
        "CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1) PARTITION BY LIST (b);"
        "CREATE TABLE part12 PARTITION OF part1 FOR VALUES IN (2);"
        'CREATE TABLE part2 PARTITION OF part FOR VALUES IN (2);'
        "INSERT INTO part VALUES (1, 2), (2, 2)"
    )
    columns = "object_name, partition_name, subpartition_name, lock_data"
    found = set()
    for a in (1, 2):
        blocker = session().run("BEGIN", f"UPDATE part SET b = 2 WHERE a = {a}")
        waiter = session().blocks(f"UPDATE part SET b = 2 WHERE a = {a}")
        found |= {
            tuple(row)
            for row in rows(
                observer,
                f"SELECT {columns} FROM performance_schema.data_locks WHERE pid = %s "
                "AND lock_type = 'RECORD'",
                waiter.pid,
            )
        }
        [row] = rows(observer, "SELECT * FROM sys.innodb_lock_waits")
        assert (row.locked_table, row.locked_table_partition) == ("public.part", f"part{a}")
        blocker.run("ROLLBACK")
        assert waiter.finish() == "00000"
    assert found == {("part", "part1", "part12", "(0,1)"), ("part", "part2", None, "(0,1)")}
    reader = session().run("BEGIN ISOLATION LEVEL SERIALIZABLE", "SET enable_seqscan = off")
    reader.run("SELECT v FROM t WHERE id = 5", "SELECT count(*) FROM u")
    read = rows(
        observer,
        "SELECT object_name, index_name, lock_type, lock_status FROM performance_schema.data_locks "
        "WHERE pid = %s AND lock_mode = 'SIREAD'",
        reader.pid,
    )
    assert {tuple(row) for row in read} == {
        ("t", "t_pkey", "PAGE", "GRANTED"),
        ("t", None, "RECORD", "GRANTED"),
        ("u", None, "TABLE", "GRANTED"),
    }
    modes = rows(observer, "SELECT lock_type FROM performance_schema.metadata_locks")
    assert "SIREAD" not in {mode for (mode,) in modes}


# --- tables and other objects --------------------------------------------------------------------


def test_table_wait(observer: Any, session: Callable[..., Session]) -> None:
    """ALTER waits for a reader in a transaction, later readers wait for ALTER."""
    reader = session().run("BEGIN", "SELECT FROM t")
    alter = session().blocks("ALTER TABLE t ADD COLUMN w integer")
    late = session().blocks("SELECT count(*) FROM t")
    locks = rows(
        observer,
        "SELECT pid, lock_type, lock_status, lock_duration, owner_thread_id "
        "FROM performance_schema.metadata_locks "
        "WHERE (object_type, object_schema, object_name) = ('TABLE', 'public', 't')",
    )
    assert {tuple(row) for row in locks} == {
        (s.pid, mode, status, "TRANSACTION", thread_of(observer, s.conn))
        for s, mode, status in (
            (reader, "ACCESS SHARE", "GRANTED"),
            (alter, "ACCESS EXCLUSIVE", "PENDING"),
            (late, "ACCESS SHARE", "PENDING"),
        )
    }
    found = rows(observer, "SELECT * FROM sys.schema_table_lock_waits ORDER BY waiting_pid")
    pairs = {(row.waiting_pid, row.blocking_pid): row for row in found}
    assert set(pairs) == {(alter.pid, reader.pid), (late.pid, alter.pid)}
    row = pairs[alter.pid, reader.pid]
    assert (row.object_schema, row.object_name) == ("public", "t")
    assert (row.waiting_lock_type, row.blocking_lock_type) == ("ACCESS EXCLUSIVE", "ACCESS SHARE")
    assert row.waiting_query == "ALTER TABLE t ADD COLUMN w integer"
    assert row.waiting_account == row.blocking_account == "postgres@127.0.0.1"
    assert 0 <= row.waiting_query_secs < 60
    assert row.waiting_thread_id == thread_of(observer, alter.conn)
    assert (row.waiting_query_rows_affected, row.waiting_lock_duration) == (0, "TRANSACTION")
    assert rows(observer, "SELECT * FROM sys.innodb_lock_waits") == []
    assert rows(observer, "SELECT * FROM performance_schema.data_lock_waits") == []
    nodes = tree(observer)
    assert nodes[late.pid].path == f"{reader.pid} > {alter.pid} > {late.pid}"
    assert nodes[late.pid].locked_object == "table public.t"
    assert nodes[reader.pid].blocked == 2
    observer.execute(row.sql_kill_blocking_connection)
    assert alter.finish() == late.finish() == "00000"
    observer.execute("ALTER TABLE t DROP COLUMN w")


def test_several_holders(observer: Any, session: Callable[..., Session]) -> None:
    """Each of them is a root; the one that waits hangs below one of them and names all."""
    holders = [session().run("BEGIN", "SELECT FROM t") for _ in range(3)]
    alter = session().run("BEGIN").blocks("LOCK TABLE t")
    found = tree(observer)
    assert len(found) == 4
    assert all(found[s.pid].depth == 0 and found[s.pid].blocked == 1 for s in holders)
    assert found[alter.pid].blocked_by == ", ".join(str(s.pid) for s in sorted_by_pid(holders))
    pairs = rows(observer, "SELECT blocking_pid FROM sys.schema_table_lock_waits")
    assert {pid for (pid,) in pairs} == {s.pid for s in holders}


def sorted_by_pid(sessions: list[Session]) -> list[Session]:
    return sorted(sessions, key=lambda each: each.pid)


def test_names_of_objects(server: Any, observer: Any, session: Callable[..., Session]) -> None:
    """Names that need quotes, kinds of objects, objects that only their maker sees yet."""
    server.psql(
        'CREATE SCHEMA "My ""own"""; CREATE TABLE "My ""own"""."T a" (i int);'
        "CREATE FUNCTION of_mine(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';"
        "CREATE SEQUENCE seq; CREATE VIEW vv AS SELECT 1 AS a"
    )
    worker = session().run(
        "BEGIN",
        'CREATE TABLE "My ""own""".new (i int)',
        'LOCK TABLE "My ""own"""."T a" IN EXCLUSIVE MODE',
        "DROP FUNCTION of_mine(integer)",
        "SELECT nextval('seq')",
        "SELECT * FROM vv",
    )
    found = rows(
        observer,
        "SELECT object_type, object_schema, object_name, lock_type, lock_status, lock_duration "
        "FROM performance_schema.metadata_locks WHERE pid = %s",
        worker.pid,
    )
    locks = {tuple(row) for row in found}
    held = ("GRANTED", "TRANSACTION")
    assert locks >= {
        ("SCHEMA", 'My "own"', None, "ACCESS SHARE", *held),
        ("TABLE", 'My "own"', "T a", "EXCLUSIVE", *held),
        ("FUNCTION", "public", "public.of_mine(integer)", "ACCESS EXCLUSIVE", *held),
        ("SEQUENCE", "public", "seq", "ROW EXCLUSIVE", *held),
        ("VIEW", "public", "vv", "ACCESS SHARE", *held),
    }
    new = one(worker.conn, "SELECT oid FROM pg_class WHERE relname = 'new'")
    assert ("RELATION", None, f"oid {new}", "ACCESS EXCLUSIVE", *held) in locks
    waiter = session().blocks("CREATE OR REPLACE FUNCTION of_mine(integer) RETURNS integer "
                              "LANGUAGE sql AS 'SELECT 2'")  # fmt: skip
    assert tree(observer)[waiter.pid].root_pid == worker.pid


def test_session_lock_of_vacuum_is_explicit_between_transactions(
    observer: Any, session: Callable[..., Session]
) -> None:
    """CREATE INDEX CONCURRENTLY waits for a transaction while it holds its table."""
    blocker = session().run("BEGIN", "UPDATE u SET v = 1 WHERE id = 1")
    builder = session().blocks("CREATE INDEX CONCURRENTLY u_v ON u (v)")
    [row] = rows(observer, "SELECT * FROM sys.innodb_lock_waits")
    assert (row.locked_type, row.waiting_pid, row.blocking_pid) == (
        "TRANSACTION",
        builder.pid,
        blocker.pid,
    )
    held = one(
        observer,
        "SELECT lock_status FROM performance_schema.metadata_locks WHERE pid = %s "
        "AND object_name = 'u' AND lock_type = 'SHARE UPDATE EXCLUSIVE'",
        builder.pid,
    )
    assert held == "GRANTED"
    blocker.run("ROLLBACK")
    assert builder.finish() == "00000"
    observer.execute("DROP INDEX u_v")


# --- user level locks -----------------------------------------------------------------------------


def test_advisory_wait(observer: Any, session: Callable[..., Session]) -> None:
    holder = session().run(f"SELECT pg_advisory_lock({KEY})", "SELECT pg_advisory_lock(-1, -2)")
    holder.run("SELECT pg_advisory_lock_shared(-5000000000)")
    locks = "SELECT object_name, lock_type, lock_duration, lock_status FROM " + (
        "performance_schema.metadata_locks WHERE object_type = 'USER LEVEL LOCK' AND pid = %s"
    )
    assert {tuple(row) for row in rows(observer, locks, holder.pid)} == {
        (str(KEY), "EXCLUSIVE", "EXPLICIT", "GRANTED"),
        ("-1, -2", "EXCLUSIVE", "EXPLICIT", "GRANTED"),
        ("-5000000000", "SHARE", "EXPLICIT", "GRANTED"),
    }
    waiter = session().blocks(f"SELECT pg_advisory_lock({KEY})")
    assert [tuple(row) for row in rows(observer, locks, waiter.pid)] == [
        (str(KEY), "EXCLUSIVE", None, "PENDING")
    ]
    row = tree(observer)[waiter.pid]
    assert (row.root_pid, row.locktype) == (holder.pid, "advisory")
    assert row.locked_object == f"advisory lock {KEY}"
    assert rows(observer, "SELECT * FROM performance_schema.data_lock_waits") == []
    holder.run("BEGIN", "SELECT pg_advisory_xact_lock(1)")
    # In a transaction the server does not tell which of them will end with it.
    assert {row.lock_duration for row in rows(observer, locks, holder.pid)} == {None}
    holder.run("COMMIT", f"SELECT pg_advisory_unlock({KEY})")
    assert waiter.finish() == "00000"


# --- trees ----------------------------------------------------------------------------------------


def test_chain_of_three(observer: Any, session: Callable[..., Session]) -> None:
    """Of different kinds: an advisory lock, a row, a table."""
    first = session().run(f"SELECT pg_advisory_lock({KEY})")
    second = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 4")
    second.blocks(f"SELECT pg_advisory_lock({KEY})")
    third = session().run("BEGIN", "LOCK TABLE u").blocks("UPDATE t SET v = 1 WHERE id = 4")
    fourth = session().blocks("SELECT FROM u")
    found = tree(observer)
    pids = [s.pid for s in (first, second, third, fourth)]
    assert {pid: (row.depth, row.blocked) for pid, row in found.items()} == {
        pid: (depth, 3 - depth) for depth, pid in enumerate(pids)
    }
    assert found[fourth.pid].path == " > ".join(map(str, pids))
    assert {row.root_pid for row in found.values()} == {first.pid}
    shown = rows(observer, "SELECT session FROM sys.lock_tree")
    assert [row.session for row in shown] == [
        "    " * depth + str(pid) for depth, pid in enumerate(pids)
    ]
    first.run(f"SELECT pg_advisory_unlock({KEY})")
    assert second.finish() == "00000"
    assert {row.root_pid for row in tree(observer).values()} == {second.pid}


def test_two_waiters_on_one_blocker(observer: Any, session: Callable[..., Session]) -> None:
    """And a second, smaller tree beside it: larger trees come first."""
    lesser = session().run(f"SELECT pg_advisory_lock({KEY})")
    alone = session().blocks(f"SELECT pg_advisory_lock({KEY})")
    blocker = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id IN (6, 7)")
    waiters = [session().blocks(f"UPDATE t SET v = 2 WHERE id = {i}") for i in (6, 7)]
    shown = rows(observer, "SELECT pid, depth, blocked FROM sys.lock_tree")
    assert [tuple(row) for row in shown] == [
        (blocker.pid, 0, 2),
        (waiters[0].pid, 1, 0),
        (waiters[1].pid, 1, 0),
        (lesser.pid, 0, 1),
        (alone.pid, 1, 0),
    ]


def test_deadlock(observer: Any, session: Callable[..., Session]) -> None:
    """A circle has no root: the tree begins at its smallest process id and ends."""
    circle = [session().run("BEGIN", f"UPDATE t SET v = 1 WHERE id = {i}") for i in (8, 9, 10)]
    for number, each in enumerate(circle):
        each.blocks(f"UPDATE t SET v = 2 WHERE id = {8 + (number + 1) % 3}")
    outsider = session().blocks("UPDATE t SET v = 3 WHERE id = 8")
    found = tree(observer)
    assert set(found) == {s.pid for s in (*circle, outsider)}
    head = min(s.pid for s in circle)
    assert {row.root_pid for row in found.values()} == {head}
    assert sorted(row.depth for row in found.values() if row.in_cycle) == [0, 1, 2]
    assert not found[outsider.pid].in_cycle
    assert all(found[s.pid].blocked == 3 for s in circle)
    assert len(rows(observer, "SELECT * FROM performance_schema.data_lock_waits")) >= 4
    first, second, third = circle
    observer.execute(found[first.pid].sql_kill_query)
    assert first.finish() == "57014"
    for freed, done in ((third, first), (second, third), (outsider, second)):
        done.run("ROLLBACK")
        assert freed.finish() == "00000"


def test_deadlock_that_is_found(observer: Any, session: Callable[..., Session]) -> None:
    """What the server ends disappears from the views."""
    one_side = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 11")
    other = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 12")
    other.run("SET deadlock_timeout = '10ms'")
    one_side.blocks("UPDATE t SET v = 2 WHERE id = 12")
    other.start("UPDATE t SET v = 2 WHERE id = 11")
    assert other.finish() == "40P01"
    assert one_side.finish() == "00000"
    assert tree(observer) == {}


# --- who is in the way ----------------------------------------------------------------------------


def test_active_blocker_and_cancel(observer: Any, session: Callable[..., Session]) -> None:
    """The statement of a blocker that works is shown; sql_kill_blocking_query ends it."""
    blocker = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 13")
    blocker.start("SELECT pg_sleep(60)")
    wait_for_state(observer, blocker.pid, "wait_event = 'PgSleep'")
    waiter = session().blocks("UPDATE t SET v = 2 WHERE id = 13")
    [row] = rows(observer, "SELECT * FROM sys.x$innodb_lock_waits")
    assert (row.blocking_query, row.blocking_pid) == ("SELECT pg_sleep(60)", blocker.pid)
    assert row.sql_kill_blocking_query == tree(observer)[blocker.pid].sql_kill_query
    observer.execute(row.sql_kill_blocking_query)
    assert blocker.finish() == "57014"
    blocker.run("ROLLBACK")
    assert waiter.finish() == "00000"


def test_terminate(observer: Any, session: Callable[..., Session]) -> None:
    blocker = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 14")
    waiter = session().blocks("UPDATE t SET v = 2 WHERE id = 14")
    assert one(observer, "SELECT sql_kill_blocking_connection FROM sys.innodb_lock_waits") == (
        f"SELECT pg_terminate_backend({blocker.pid})"
    )
    observer.execute(tree(observer)[blocker.pid].sql_kill_connection)
    assert waiter.finish() == "00000"


@pytest.mark.parametrize("gid", ["plain", "it's"])
def test_prepared_transaction(observer: Any, session: Callable[..., Session], gid: str) -> None:
    """It has no process; a second one stands beside it, so that names are not mixed up."""
    quoted = gid.replace("'", "''")
    xids = {}
    for name, i in ((quoted, 15), ("other", 16)):
        maker = session().run("BEGIN", f"UPDATE t SET v = 1 WHERE id = {i}", "SAVEPOINT s")
        maker.run(f"UPDATE t SET v = 2 WHERE id = {i + 2}")
        xids[name] = xid_of(maker)
        maker.run(f"PREPARE TRANSACTION '{name}'")
    waiter = session().blocks("UPDATE t SET v = 2 WHERE id = 15")
    sub = session().blocks("UPDATE t SET v = 2 WHERE id = 17")  # changed by its subtransaction
    table = session().run("BEGIN").blocks("LOCK TABLE t")
    found = rows(observer, "SELECT * FROM sys.innodb_lock_waits ORDER BY waiting_pid")
    assert {row.waiting_pid for row in found} == {waiter.pid, sub.pid}
    for row in found:
        assert (row.blocking_trx_id, row.blocking_pid) == (xids[quoted], None)
        assert (row.blocking_query, row.sql_kill_blocking_query) == (None, None)
        assert row.sql_kill_blocking_connection == f"ROLLBACK PREPARED '{quoted}'"
        assert row.blocking_trx_started < row.wait_started
    waits = rows(
        observer,
        "SELECT blocking_account, blocking_pid FROM sys.schema_table_lock_waits "
        "WHERE waiting_pid = %s AND blocking_pid IS NULL",
        table.pid,
    )
    assert [tuple(row) for row in waits] == [("postgres", None)] * 2
    nodes = rows(observer, "SELECT * FROM sys.lock_tree")
    roots = {row.session: row for row in nodes if row.depth == 0}
    assert set(roots) == {f"prepared {gid}", "prepared other"}
    root = roots[f"prepared {gid}"]
    assert (root.state, root.user_name, root.pid, root.blocked) == ("prepared", "postgres", None, 3)
    assert one(
        observer,
        "SELECT count(*) FROM performance_schema.data_locks WHERE pid IS NULL "
        "AND engine_transaction_id = %s AND lock_status = 'GRANTED' AND thread_id IS NULL",
        xids[quoted],
    )
    observer.execute(root.sql_kill_connection)
    assert waiter.finish() == sub.finish() == "00000"
    observer.execute("ROLLBACK PREPARED 'other'")
    assert table.finish() == "00000"


def test_other_database(server: Any, observer: Any, session: Callable[..., Session]) -> None:
    """Names are known in one's own database only; who waits for whom is known everywhere."""
    server.psql("CREATE DATABASE elsewhere")
    server.psql("CREATE TABLE t2 (i int); INSERT INTO t2 VALUES (1)", dbname="elsewhere")
    oid = int(server.psql("SELECT 't2'::regclass::oid", dbname="elsewhere"))
    name = f"oid {oid} of database elsewhere"
    blocker = session(dbname="elsewhere").run("BEGIN", "UPDATE t2 SET i = 2")
    blocker.run(f"SELECT pg_advisory_xact_lock({KEY})")
    row_waiter = session(dbname="elsewhere").blocks("UPDATE t2 SET i = 3")
    waiter = session(dbname="elsewhere").run("BEGIN").blocks("LOCK TABLE t2")
    found = rows(
        observer,
        "SELECT object_type, object_schema, database_name, lock_status "
        "FROM performance_schema.metadata_locks WHERE object_name = %s AND pid = %s",
        name,
        waiter.pid,
    )
    assert [tuple(row) for row in found] == [("RELATION", None, "elsewhere", "PENDING")]
    keys = rows(
        observer,
        "SELECT object_name FROM performance_schema.metadata_locks "
        "WHERE object_type = 'USER LEVEL LOCK'",
    )
    assert [row.object_name for row in keys] == [f"{KEY} of database elsewhere"]
    [wait] = rows(observer, "SELECT * FROM sys.innodb_lock_waits")
    assert (wait.locked_table, wait.locked_table_schema) == (name, None)
    assert (wait.waiting_pid, wait.blocking_pid) == (row_waiter.pid, blocker.pid)
    tables = rows(observer, "SELECT object_name FROM sys.schema_table_lock_waits")
    assert {row.object_name for row in tables} == {name}
    node = tree(observer)[waiter.pid]
    assert (node.database_name, node.root_pid) == ("elsewhere", blocker.pid)
    assert node.locked_object == f"relation {name}"


def test_standby(
    session: Callable[..., Session],
    new_cluster: Callable[..., Any],
    new_standby: Callable[..., Any],
) -> None:
    """A reader on the standby waits for a lock of the primary: the startup process has it."""
    primary = new_cluster()
    primary.psql("CREATE TABLE s (i int)")
    standby = new_standby(primary)
    with primary.connect() as owner, standby.connect() as observer:
        owner.execute("BEGIN")
        owner.execute("LOCK TABLE s")
        lsn = primary.psql("SELECT pg_switch_wal()")
        assert lsn
        locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'"
        wait_until(lambda: one(observer, locked) == 1, "replay of the lock")
        startup = one(observer, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'")
        reader = Session(standby, observer).blocks("SELECT FROM s")
        try:
            [row] = rows(observer, "SELECT * FROM sys.schema_table_lock_waits")
            assert (row.object_name, row.blocking_pid) == ("s", startup)
            assert (row.blocking_account, row.blocking_lock_type) == ("startup", "ACCESS EXCLUSIVE")
            found = tree(observer)
            assert found[reader.pid].path == f"{startup} > {reader.pid}"
            for view in VIEWS:
                rows(observer, f"SELECT * FROM {view}")
            owner.execute("ROLLBACK")
            assert reader.finish() == "00000"
        finally:
            reader.conn.close()


# --- as pg_locks says -----------------------------------------------------------------------------


def test_agrees_with_pg_locks(observer: Any, session: Callable[..., Session]) -> None:
    """Each lock of pg_locks is in one of the two tables, with an identity of its own."""
    busy = session().run("BEGIN ISOLATION LEVEL SERIALIZABLE", "SELECT * FROM t WHERE id = 1")
    busy.run("UPDATE t SET v = 5 WHERE id = 18", "SELECT pg_advisory_xact_lock(77)")
    busy.run("CREATE TABLE short_lived (i int)", "SAVEPOINT a", "DROP TABLE u")
    waiter = session().run("BEGIN").blocks("UPDATE t SET v = 6 WHERE id = 18")
    other = session().blocks("SELECT FROM u")
    pids = [busy.pid, waiter.pid, other.pid]
    wanted = rows(
        observer,
        "SELECT pid, locktype, upper(replace(mode, 'Lock', '')) AS mode, granted, count(*)::int "
        "FROM pg_locks WHERE pid = ANY (%s) GROUP BY 1, 2, 3, 4",
        pids,
    )
    found = rows(
        observer,
        "SELECT pid, locktype, replace(mode, ' ', ''), granted, count(*)::int FROM ("
        " SELECT pid, locktype, lock_type AS mode, lock_status = 'GRANTED' AS granted "
        " FROM performance_schema.metadata_locks "
        " UNION ALL SELECT pid, locktype, lock_mode, lock_status = 'GRANTED' "
        " FROM performance_schema.data_locks) AS x WHERE pid = ANY (%s) GROUP BY 1, 2, 3, 4",
        pids,
    )
    assert sorted(map(tuple, found)) == sorted(map(tuple, wanted))
    assert sum(row[-1] for row in wanted) > 15
    for identity in ("lock_id", "object_instance_begin"):
        sql = f"SELECT count(*) - count(DISTINCT {identity}) FROM performance_schema.lock_instances"
        assert one(observer, sql) == 0
    ids = "SELECT array_agg(lock_id ORDER BY lock_id) FROM performance_schema.lock_instances "
    ids += "WHERE pid = ANY (%s)"
    assert one(observer, ids, pids) == one(observer, ids, pids)


def test_conflicts_are_the_servers(observer: Any, session: Callable[..., Session]) -> None:
    """Each mode against each: conflicts_with tells whether LOCK TABLE NOWAIT is refused."""
    holder, other = session(), session()
    modes = ("ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE",
             "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE")  # fmt: skip
    for held in modes:
        holder.run("BEGIN", f"LOCK TABLE u IN {held} MODE")
        told = one(
            observer,
            "SELECT conflicts_with FROM performance_schema.lock_instances "
            "WHERE pid = %s AND object_name = 'u' AND lock_mode = %s",
            holder.pid,
            held,
        )
        found = set()
        for mode in modes:
            try:
                other.run("BEGIN", f"LOCK TABLE u IN {mode} MODE NOWAIT")
            except psycopg.errors.LockNotAvailable:
                found.add(mode)
            other.run("ROLLBACK")
        assert set(told) == found, held
        holder.run("ROLLBACK")


def test_blocking_pids_only_of_those_that_wait(
    observer: Any, session: Callable[..., Session]
) -> None:
    """pg_blocking_pids takes the lock manager for itself: once for each that waits."""
    blocker = session().run("BEGIN", "UPDATE t SET v = 1 WHERE id = 19")

    def calls(view: str) -> list[int]:
        plan = one(observer, f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM {view}")
        return [
            int(node["Actual Loops"])
            for node in nodes(plan[0]["Plan"])
            if node.get("Function Name") == "unnest"
        ]

    def nodes(plan: Any) -> Iterator[Any]:
        yield plan
        for child in plan.get("Plans", []):
            yield from nodes(child)

    for view in ("performance_schema.data_lock_waits", "sys.lock_tree", "sys.innodb_lock_waits"):
        assert calls(view) == [0]
    waiters = [session().blocks("UPDATE t SET v = 2 WHERE id = 19") for _ in range(2)]
    for view in ("performance_schema.data_lock_waits", "sys.lock_tree", "sys.innodb_lock_waits"):
        assert calls(view) == [len(waiters)]
    assert calls("sys.schema_table_lock_waits") == [0]
    blocker.run("ROLLBACK")


# --- afterwards -----------------------------------------------------------------------------------


def test_time_model_of_a_wait(observer: Any, session: Callable[..., Session]) -> None:
    """What a statement waited for locks is the larger part of its time in sys."""
    blocker = session().run("BEGIN", "UPDATE u SET v = 1 WHERE id = 5")
    waiter = session().blocks("UPDATE u SET v = v - 2 WHERE id = 5")
    waited = "SELECT wait_age > interval '100 ms' FROM sys.x$innodb_lock_waits"
    wait_until(lambda: one(observer, waited), "a wait of 100 ms")
    blocker.run("ROLLBACK")
    assert waiter.finish() == "00000"
    wait_for_state(observer, waiter.pid, "state = 'idle'")
    [row] = rows(observer, "SELECT * FROM sys.x$statement_time_model WHERE query ~ '`v` - '")
    assert row.exec_count == 1
    assert row.total_latency > row.lock_latency > 100 * 10**9
    assert row.lock_pct > 80
    assert row.lock_pct + row.cpu_and_other_pct <= 100.01


# --- privileges -----------------------------------------------------------------------------------


def test_ordinary_role(server: Any, observer: Any, session: Callable[..., Session]) -> None:
    """Sees the locks, as in pg_locks; not the threads, and statements only of its own."""
    blocker = session(user="locks_owner").run("BEGIN", "UPDATE t SET v = 1 WHERE id = 20")
    waiter = session(user="locks_owner").blocks("UPDATE t SET v = 2 /* hidden */ WHERE id = 20")
    with server.connect(user="locks_plain") as plain, server.connect(user="locks_owner") as owner:
        for view in VIEWS:
            found = rows(plain, f"SELECT * FROM {view} AS x WHERE x::text ~ 'hidde[n]'")
            assert found == [], view
            rows(plain, f"SELECT * FROM {view}")
        [row] = rows(plain, "SELECT * FROM sys.innodb_lock_waits")
        assert (row.waiting_pid, row.blocking_pid) == (waiter.pid, blocker.pid)
        assert row.waiting_query == "<insufficient privilege>"
        [pair] = rows(plain, "SELECT * FROM performance_schema.data_lock_waits")
        assert (pair.requesting_thread_id, pair.blocking_event_id) == (None, None)
        assert tree(plain)[waiter.pid].query == "<insufficient privilege>"
        [mine] = rows(owner, "SELECT * FROM sys.innodb_lock_waits")
        assert (mine.waiting_query, mine.blocking_query) == (
            "UPDATE t SET v = 2 /* hidden */ WHERE id = 20",
            None,
        )
    blocker.run("ROLLBACK")
