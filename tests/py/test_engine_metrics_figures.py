"""Each status counter of engine_metrics is what the server's own views say.

The views are looked at before and after, on a server at work, and at its standby: what a counter has grown by lies between what
its view has grown by at least and at most.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from conftest import close_cluster, open_cluster
from engine_metrics_work import METRICS, WORK, Bench, quiet_bench
from helpers import one, read_to_end, rows, wait_for_state, wait_until

Figures = dict[str, int]

DATABASE = {
    "lock_deadlocks": "deadlocks", "server_sessions": "sessions", "server_session_time": "session_time * 1000",
    "server_active_time": "active_time * 1000", "server_idle_in_transaction_time": "idle_in_transaction_time * 1000",
    "server_sessions_abandoned": "sessions_abandoned", "server_sessions_fatal": "sessions_fatal",
    "server_sessions_killed": "sessions_killed", "server_checksum_failures": "coalesce(checksum_failures, 0)",
    "buffer_pool_reads": "blks_read", "buffer_pool_read_requests": "blks_read + blks_hit", "buffer_pool_hits": "blks_hit",
    "buffer_read_time": "blk_read_time * 1000", "buffer_write_time": "blk_write_time * 1000",
    "trx_commits": "xact_commit", "trx_rollbacks": "xact_rollback", "dml_reads": "tup_returned", "dml_fetches": "tup_fetched",
    "dml_inserts": "tup_inserted", "dml_updates": "tup_updated", "dml_deletes": "tup_deleted",
    "sort_temporary_files": "temp_files", "sort_temporary_bytes": "temp_bytes",
}  # fmt: skip
DATABASE_18 = {f"parallel_workers_{what}": f"parallel_workers_{what}" for what in ("to_launch", "launched")}
CONFLICTS = {
    "repl_conflict_tablespace": "confl_tablespace", "repl_conflict_lock": "confl_lock", "repl_conflict_snapshot": "confl_snapshot",
    "repl_conflict_bufferpin": "confl_bufferpin", "repl_conflict_startup_deadlock": "confl_deadlock",
}  # fmt: skip
IO = {
    "read": "reads", "written": "writes", "created": "extends", "hit": "hits", "evicted": "evictions",
    "reused": "reuses", "synced": "fsyncs", "written_back": "writebacks",
}  # fmt: skip
WAL = {"log_records": "wal_records", "log_full_page_images": "wal_fpi", "log_bytes": "wal_bytes", "log_waits": "wal_buffers_full"}
SLRU = {
    "commit_timestamp": "CommitTs", "multixact_member": "MultiXactMember", "multixact_offset": "MultiXactOffset", "notify": "Notify",
    "serializable": "Serial", "subtransaction": "Subtrans", "transaction": "Xact",
}  # fmt: skip
SLRU_COLUMNS = {"read": "blks_read", "hit": "blks_hit", "written": "blks_written", "zeroed": "blks_zeroed", "truncated": "truncates"}
CHECKPOINTER = {
    "checkpoints_timed": "num_timed", "checkpoints_requested": "num_requested", "checkpoint_write_time": "write_time * 1000",
    "checkpoint_sync_time": "sync_time * 1000", "checkpoint_pages_written": "buffers_written",
    "checkpoint_restartpoints_timed": "restartpoints_timed", "checkpoint_restartpoints_requested": "restartpoints_req",
    "checkpoint_restartpoints_performed": "restartpoints_done",
}  # fmt: skip
CHECKPOINTER_18 = {"checkpoints_performed": "num_done", "checkpoint_slru_pages_written": "slru_written"}
CHECKPOINTER_BEFORE_17 = {
    "checkpoints_timed": "checkpoints_timed", "checkpoints_requested": "checkpoints_req",
    "checkpoint_write_time": "checkpoint_write_time * 1000", "checkpoint_sync_time": "checkpoint_sync_time * 1000",
    "checkpoint_pages_written": "buffers_checkpoint", "bgwriter_backend_pages_written": "buffers_backend",
    "bgwriter_backend_fsyncs": "buffers_backend_fsync",
}  # fmt: skip
WRITER = {"bgwriter_pages_written": "buffers_clean", "bgwriter_rounds_stopped": "maxwritten_clean", "buffer_pool_allocated": "buffers_alloc"}
SLOT = {
    "spilled_transactions": "spill_txns", "spills": "spill_count", "spilled_bytes": "spill_bytes",
    "streamed_transactions": "stream_txns", "streams": "stream_count", "streamed_bytes": "stream_bytes",
    "transactions": "total_txns", "bytes": "total_bytes",
}  # fmt: skip


def io_sum(condition: str, column: str) -> str:
    return f"(SELECT sum({column}) FROM pg_stat_io WHERE {condition})"


def of_io(version: int) -> dict[str, str]:
    """Figures of pg_stat_io."""
    pages = "object = 'relation'"
    found = {
        f"buffer_pages_{word}": io_sum(pages, column) for word, column in IO.items() if word != "hit"
    }
    for word in ("read", "written", "created", "hit", "evicted"):
        for context in ("normal", "bulkread", "bulkwrite", "vacuum"):
            found[f"buffer_page_{word}_{context}"] = io_sum(f"{pages} AND context = '{context}'", IO[word])
        found[f"buffer_page_{word}_temporary"] = io_sum("object = 'temp relation'", IO[word])
    types = (
        "client backend", "autovacuum launcher", "autovacuum worker", "background worker", "walsender", "startup",
        "background writer", "checkpointer", "io worker", "walwriter", "walreceiver", "walsummarizer", "slotsync worker",
    )  # fmt: skip
    for kind in types:
        for column in ("reads", "writes", "extends", "hits", "evictions", "fsyncs"):
            found[f"io_{kind.replace(' ', '_')}_{column}"] = io_sum(f"backend_type = '{kind}'", column)
    if version >= 18:
        found |= {"log_writes": io_sum("object = 'wal'", "writes"), "log_fsyncs": io_sum("object = 'wal'", "fsyncs")}
    return found


def of_views(version: int) -> dict[str, str]:
    """Each counter and an expression of the server's views."""

    def of(view: str, columns: dict[str, str], prefix: str = "") -> dict[str, str]:
        return {prefix + name: f"(SELECT sum({column}) FROM {view})" for name, column in columns.items()}

    found = of("pg_stat_database", DATABASE | (DATABASE_18 if version >= 18 else {}))
    found |= of("pg_stat_database_conflicts", CONFLICTS)
    found |= of("pg_stat_bgwriter", WRITER) | of("pg_stat_replication_slots", SLOT, "repl_slot_")
    found |= of("pg_stat_archiver", {"log_files_archived": "archived_count", "log_archive_failures": "failed_count"})
    found |= of("pg_stat_subscription_stats", {"repl_apply_errors": "apply_error_count", "repl_sync_errors": "sync_error_count"})
    found |= of("pg_stat_wal", WAL | ({} if version >= 18 else {"log_writes": "wal_write", "log_fsyncs": "wal_sync"}))
    if version >= 17:
        found |= of("pg_stat_checkpointer", CHECKPOINTER | (CHECKPOINTER_18 if version >= 18 else {}))
    else:
        found |= of("pg_stat_bgwriter", CHECKPOINTER_BEFORE_17)
    for word, before_17 in SLRU.items():
        view = f"pg_stat_slru WHERE name = '{word if version >= 17 else before_17}'"
        found |= of(view, SLRU_COLUMNS, f"slru_{word}_")
    return found | (of_io(version) if version >= 16 else {})


@dataclass
class Readings:
    """Growth of each counter, and that of its view: at least, at most."""

    ours: Figures
    least: Figures
    most: Figures


def measure(observer: Any, version: int, work: Callable[[], None]) -> Readings:
    """The views are read outside of ours at both ends, and inside; all grow only."""
    expressions = of_views(version)
    query = "SELECT " + ", ".join(f"coalesce({what}, 0)::float8 AS {name}" for name, what in expressions.items())

    def views() -> dict[str, float]:
        return rows(observer, query)[0]._asdict()

    def ours() -> Figures:
        return {r.name: r.count for r in rows(observer, f"SELECT name, count FROM {METRICS} WHERE type = 'status_counter'")}

    outside = views()
    before = ours()
    inside = views()
    work()
    inside_after = views()
    after = ours()
    outside_after = views()
    return Readings(
        {name: after[name] - before[name] for name in after},
        {name: int(inside_after[name] - inside[name]) - 1 for name in expressions},
        {name: int(outside_after[name] - outside[name]) + 1 for name in expressions},
    )


def check(readings: Readings, must_grow: set[str]) -> None:
    """A time of the view is a sum of fractions: it may be one off."""
    wrong = {
        name: (readings.least[name], ours, readings.most[name])
        for name, ours in readings.ours.items()
        if not readings.least[name] <= ours <= readings.most[name]
    }
    assert wrong == {}
    assert {name for name in must_grow & set(readings.ours) if readings.ours[name] == 0} == set()


# --- a server of its own -------------------------------------------------------------------------

TAKEN_AWAY = {"ddl of databases", "a slot is decoded"}
"""What such work leaves in the statistics goes with its object."""

# fmt: off
GROWN = {
    *DATABASE, *DATABASE_18, *WAL, "log_writes", "log_fsyncs", "checkpoints_requested", "checkpoints_performed", "checkpoint_pages_written",
    "checkpoint_slru_pages_written", "checkpoint_write_time", "buffer_pool_allocated", "log_files_archived", "log_archive_failures",
    *(f"buffer_page_{what}_normal" for what in ("read", "written", "created", "hit", "evicted")), "buffer_page_read_vacuum",
    "buffer_page_read_bulkread", "buffer_page_created_bulkwrite", "buffer_page_written_bulkwrite", "buffer_page_hit_vacuum",
    *(f"buffer_page_{what}_temporary" for what in ("read", "written", "created", "hit", "evicted")),
    *(f"buffer_pages_{what}" for what in ("read", "written", "created", "evicted", "reused")),
    *(f"io_client_backend_{what}" for what in ("reads", "writes", "extends", "hits", "evictions")),
    "io_checkpointer_writes", "io_checkpointer_fsyncs", "io_background_worker_reads", "io_background_worker_hits",
    "slru_commit_timestamp_hit", "slru_multixact_member_hit", "slru_multixact_offset_hit", "slru_notify_hit", "slru_subtransaction_hit",
    "slru_transaction_hit", "slru_serializable_zeroed",
    *(f"repl_slot_{what}" for what in SLOT),
} - {"server_checksum_failures"}
# fmt: on


def serializable(bench: Bench) -> None:
    """More serializable transactions than memory holds while the oldest goes on: they are summarized."""
    with bench.session() as oldest, bench.session() as many:
        oldest.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
        oldest.execute("SELECT count(*) FROM rows_of WHERE a < 5")
        many.execute("SET default_transaction_isolation = 'serializable'")
        for i in range(2500):
            many.execute("UPDATE rows_of SET b = 'ser' WHERE a = %s", (500 + i % 300,))
        oldest.execute("ROLLBACK")


def decoded(bench: Bench) -> None:
    """Slots that stay, whose transactions do not fit into memory: spilled to disk, and streamed."""
    bench.run(
        "SELECT pg_create_logical_replication_slot('spilled', 'test_decoding'), pg_create_logical_replication_slot('streamed', 'test_decoding')",
        "SET logical_decoding_work_mem = '64kB'",
        "INSERT INTO copied SELECT generate_series(1, 20000)",
        "SELECT count(*) FROM pg_logical_slot_get_changes('spilled', NULL, NULL)",
        "SELECT count(*) FROM pg_logical_slot_get_changes('streamed', NULL, NULL, 'stream-changes', '1')",
    )
    told = "SELECT count(*) = 2 FROM pg_stat_replication_slots WHERE total_txns > 0"
    wait_until(lambda: one(bench.observer, told), "the slots' statistics")


@pytest.mark.timeout(240)
def test_of_a_server_at_work(pg_config: str) -> None:
    with quiet_bench(pg_config) as bench:

        def work() -> None:
            for name, (does, _) in WORK.items():
                if name not in TAKEN_AWAY:
                    does(bench)
            decoded(bench)
            serializable(bench)
            bench.run("CHECKPOINT")

        version = bench.server.version()
        readings = measure(bench.observer, version, work)
        assert set(readings.ours) <= set(of_views(version)), "a counter that no view is known for"
        check(readings, GROWN)


# --- values ----------------------------------------------------------------------------------------

# fmt: off
VALUES = {
    "buffer_pool_pages_total": "setting::bigint FROM pg_settings WHERE name = 'shared_buffers'",
    "buffer_pool_size": "pg_size_bytes(current_setting('shared_buffers'))",
    "server_page_size": "current_setting('block_size')::int",
    "server_max_connections": "current_setting('max_connections')::int",
    "server_backends": "count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'",
    "server_processes": "count(*) FROM performance_schema.threads",
    "autovacuum_max_workers": "current_setting('autovacuum_max_workers')::int",
    "autovacuum_workers": "count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'",
    "parallel_max_workers": "current_setting('max_parallel_workers')::int",
    "parallel_workers": "count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'",
    "log_segment_size": "pg_size_bytes(current_setting('wal_segment_size'))",
    "log_lsn_current": "pg_current_wal_insert_lsn() - '0/0'",
    "log_lsn_last_flush": "pg_current_wal_flush_lsn() - '0/0'",
    "log_lsn_last_checkpoint": "redo_lsn - '0/0' FROM pg_control_checkpoint()",
    "log_lsn_checkpoint_age": "pg_current_wal_insert_lsn() - redo_lsn FROM pg_control_checkpoint()",
    "lock_threads_waiting": "count(*) FROM pg_locks WHERE NOT granted",
    "lock_row_lock_current_waits": "count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('tuple', 'transactionid')",
    "trx_active_transactions": "count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL",
    "trx_prepared_transactions": "count(*) FROM pg_prepared_xacts",
    "trx_oldest_xid_age": "max(age(datfrozenxid)) FROM pg_database",
    "trx_oldest_multixact_age": "max(mxid_age(datminmxid)) FROM pg_database",
    "metadata_functions": "count(*) FROM pg_stat_user_functions",
    "repl_slots": "count(*) FROM pg_stat_replication_slots",
    "repl_subscriptions": "count(*) FROM pg_stat_subscription_stats",
    "repl_walsenders": "count(*) FROM pg_stat_replication",
}
OF_TABLES = {
    "purge_live_tuples": "sum(n_live_tup)", "purge_dead_tuples": "sum(n_dead_tup)", "purge_changes_since_analyze": "sum(n_mod_since_analyze)",
    "purge_inserts_since_vacuum": "sum(n_ins_since_vacuum)",
    "purge_tables_never_vacuumed": "count(*) FILTER (WHERE n_dead_tup > 0 AND vacuum_count + autovacuum_count = 0)",
}
# fmt: on


def of_tables(one_of: Any, other: Any) -> Figures:
    """Sums over the tables of two databases; those that are shared once."""
    query = "SELECT " + ", ".join(f"{what}::bigint AS {name}" for name, what in OF_TABLES.items())
    query += " FROM pg_stat_all_tables JOIN pg_class ON pg_class.oid = relid WHERE NOT relisshared"
    shared = rows(one_of, query.replace("NOT relisshared", "relisshared"))[0]
    return {name: sum(found) for name, *found in zip(OF_TABLES, rows(one_of, query)[0], rows(other, query)[0], shared)}


@pytest.mark.timeout(120)
def test_values(pg_config: str) -> None:
    """While something holds, waits, is prepared and was changed."""
    with (
        quiet_bench(pg_config) as bench, bench.server.connect() as holder, bench.server.connect() as waiter,
        bench.server.connect(dbname="template1") as other,
    ):  # fmt: skip
        bench.run(
            "CREATE FUNCTION counted() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'", "SELECT counted()",
            "UPDATE rows_of SET b = 'z'", "SELECT pg_create_logical_replication_slot('s', 'test_decoding')",
            "SELECT count(*) FROM pg_logical_slot_get_changes('s', NULL, NULL)",
            "BEGIN", "INSERT INTO rows_of VALUES (-7, '')", "PREPARE TRANSACTION 'prepared'",
        )  # fmt: skip
        holder.execute("BEGIN")
        holder.execute("UPDATE rows_of SET b = 'h' WHERE a = 3")
        waiter.pgconn.send_query(b"UPDATE rows_of SET b = 'w' WHERE a = 3")
        wait_for_state(bench.observer, waiter.info.backend_pid, "wait_event_type = 'Lock'")
        query = "SELECT " + ", ".join(f"(SELECT {what})::bigint AS {name}" for name, what in VALUES.items())

        def differences() -> dict[str, tuple[int, int]]:
            server = of_tables(bench.observer, other)
            figures = bench.figures()
            server |= rows(bench.observer, query)[0]._asdict()
            return {name: (figures[name], value) for name, value in server.items() if figures[name] != value}

        with contextlib.suppress(AssertionError):
            wait_until(lambda: not differences(), "equality", 5)
        assert differences() == {}
        holder.execute("ROLLBACK")
        read_to_end(waiter)


# --- processes that work by themselves, a standby, a subscription -----------------------------------

# fmt: off
OF_PRIMARY = {
    "io_autovacuum_worker_hits", "io_background_writer_writes", "bgwriter_pages_written", "bgwriter_rounds_stopped", "io_walwriter_writes",
    "io_walsummarizer_reads", "io_walsender_hits", "io_walsender_reads", "repl_slot_transactions",
    "repl_apply_errors", "repl_sync_errors",
}
OF_STANDBY = {
    "io_startup_hits", "io_startup_reads", "checkpoint_restartpoints_requested", "checkpoint_restartpoints_performed",
    *CONFLICTS,
}
# fmt: on


def set_for_all(server: Any, setting: str) -> None:
    server.psql(f"ALTER SYSTEM SET {setting}")
    server.reload()


@pytest.fixture
def pair(pg_config: str) -> Iterator[tuple[Any, Any]]:
    """A primary whose processes work, and a standby that cancels what stands in its way."""
    primary = open_cluster(
        pg_config, extension=True, preload=True, wal_level="logical", shared_buffers="4MB", max_prepared_transactions=2,
        autovacuum=True, autovacuum_naptime="1s", bgwriter_delay="10ms", bgwriter_lru_maxpages=5,
        wal_retrieve_retry_interval="100ms", allow_in_place_tablespaces=True, lc_messages="C",
    )  # fmt: skip
    if primary.version() >= 17:
        set_for_all(primary, "summarize_wal = on")
    primary.psql(
        "SELECT performance_schema.monitor_enable('all');"
        "CREATE TABLE first (a int) WITH (autovacuum_enabled = off); CREATE TABLE second (a int); INSERT INTO first SELECT generate_series(1, 10);"
        "CREATE TABLE filled AS SELECT g AS a, repeat('f', 200) AS b FROM generate_series(1, 40000) AS g"
    )
    primary.psql("CREATE TABLESPACE in_place LOCATION ''")
    standby = primary.standby(conf={"max_standby_streaming_delay": "50ms", "deadlock_timeout": "10ms"})
    standby.wait_replayed(primary)
    yield primary, standby
    standby.remove()
    close_cluster(primary)


def cancelled(session: Any, primary: Any, cause: str) -> None:
    """A query of the standby ends by a conflict, or its session. Somebody's snapshot may keep rows from VACUUM: so it is tried again."""

    def again() -> bool:
        primary.psql(cause)
        return session.execute("SELECT 1") is None

    with pytest.raises(psycopg.Error):
        wait_until(again, "a conflict")


def hold(standby: Any, *statements: str) -> Any:
    session = standby.connect()
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    for statement in statements:
        session.execute(statement)
    return session


def conflicts(primary: Any, standby: Any) -> None:
    """One of each kind, as the server's own test of them makes them."""
    cursor = ("DECLARE c CURSOR FOR SELECT a FROM first", "FETCH FORWARD FROM c")
    aborted = "BEGIN; INSERT INTO first VALUES (1); ROLLBACK; INSERT INTO first VALUES (1)"

    primary.psql(aborted)
    standby.wait_replayed(primary)
    with hold(standby, *cursor) as session:  # a page in use: what goes was never seen by anybody
        cancelled(session, primary, "VACUUM FREEZE first")
    with hold(standby, "SELECT count(*) FROM first") as session:  # rows that it might look at
        primary.psql("DELETE FROM first WHERE a = 5")
        cancelled(session, primary, "VACUUM first")
    with hold(standby, "SELECT count(*) FROM second") as session:
        cancelled(session, primary, "ALTER TABLE second ALTER a SET NOT NULL; ALTER TABLE second ALTER a DROP NOT NULL")
    files = ("SET work_mem = '64kB'", "SET temp_tablespaces = in_place", "DECLARE f CURSOR FOR SELECT g FROM generate_series(1, 20000) AS g ORDER BY 1", "FETCH FORWARD FROM f")
    with hold(standby, *files) as session:
        cancelled(session, primary, "DROP TABLESPACE IF EXISTS in_place")
    set_for_all(standby, "max_standby_streaming_delay = -1")
    with hold(standby, *cursor) as session, primary.connect() as locker:  # each has what the other waits for
        locker.execute("BEGIN")
        locker.execute("LOCK TABLE second")
        locker.execute("INSERT INTO first VALUES (20)")
        locker.execute("PREPARE TRANSACTION 'locks'")
        primary.psql(aborted)
        standby.wait_replayed(primary)
        session.pgconn.send_query(b"SELECT * FROM second")
        primary.psql("VACUUM FREEZE first")
        read_to_end(session)
        locker.execute("ROLLBACK PREPARED 'locks'")
    standby.wait_replayed(primary)


def background(primary: Any) -> None:
    """Dirty pages, dead rows, commits that nobody waits for."""
    with primary.connect() as session:
        session.execute("SET synchronous_commit = off")
        session.execute("UPDATE filled SET b = repeat('g', 200)")
        session.execute("SELECT pg_stat_force_next_flush()")
    with primary.connect() as session:
        vacuumed = "SELECT autovacuum_count > 0 FROM pg_stat_user_tables WHERE relname = 'filled'"
        wait_until(lambda: one(session, vacuumed), "autovacuum", 30)
        session.execute("CHECKPOINT")


@contextlib.contextmanager
def subscribed(primary: Any) -> Iterator[None]:
    """Two subscriptions of the server to itself; the first copy of one fails, and what is applied to the other."""
    primary.psql("CREATE DATABASE target")
    with primary.connect() as source, primary.connect(dbname="target") as target:
        for name in ("copied", "applied"):
            source.execute(f"CREATE TABLE {name} (a int PRIMARY KEY)")
            source.execute(f"CREATE PUBLICATION {name} FOR TABLE {name}")
            source.execute(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
            target.execute(f"CREATE TABLE {name} (a int PRIMARY KEY)")
            target.execute(f"INSERT INTO {name} VALUES (1)")
        source.execute("INSERT INTO copied VALUES (1)")
        for name, copies in (("copied", "true"), ("applied", "false")):
            target.execute(
                f"CREATE SUBSCRIPTION {name} CONNECTION 'host={primary.socket_dir} port={primary.port} user=postgres dbname=postgres' "
                f"PUBLICATION {name} WITH (create_slot = false, copy_data = {copies})"
            )
        source.execute("INSERT INTO applied VALUES (1)")
        failed = "SELECT sum(apply_error_count) > 0 AND sum(sync_error_count) > 0 FROM pg_stat_subscription_stats"
        wait_until(lambda: one(target, failed), "both have failed", 30)
        yield
        for name in ("copied", "applied"):
            target.execute(f"ALTER SUBSCRIPTION {name} DISABLE")
            target.execute(f"ALTER SUBSCRIPTION {name} SET (slot_name = NONE)")
            target.execute(f"DROP SUBSCRIPTION {name}")


@pytest.mark.timeout(240)
def test_of_processes_and_of_a_standby(pair: tuple[Any, Any]) -> None:
    primary, standby = pair
    with primary.connect() as observer, standby.connect() as beside, contextlib.ExitStack() as stack:
        beside.execute("SELECT performance_schema.monitor_enable('all')")

        def replay() -> None:
            conflicts(primary, standby)
            primary.psql("CHECKPOINT")
            standby.wait_replayed(primary)
            standby.psql("CHECKPOINT")

        of_standby: list[Readings] = []

        def work() -> None:
            of_standby.append(measure(beside, primary.version(), replay))
            stack.enter_context(subscribed(primary))
            background(primary)

        of_primary = measure(observer, primary.version(), work)
        check(of_primary, OF_PRIMARY)
        check(of_standby[0], OF_STANDBY)
