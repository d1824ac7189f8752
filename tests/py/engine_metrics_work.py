"""Work for each counter of engine_metrics: what to do on a quiet server, and what must move by it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from conftest import close_cluster, open_cluster
from helpers import read_to_end, rows, wait_for_state, wait_gone, wait_until

METRICS = "performance_schema.engine_metrics"

Work = Callable[["Bench"], None]


class Bench:
    """A quiet server and sessions of it."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.observer = server.connect()

    @contextlib.contextmanager
    def session(self, **options: Any) -> Iterator[Any]:
        """A session whose statistics are told before it goes."""
        with self.server.connect(**options) as connection:
            yield connection
            if not connection.closed:
                connection.execute("SELECT pg_stat_force_next_flush()")

    def run(self, *statements: str) -> None:
        with self.session() as session:
            for statement in statements:
                session.execute(statement)

    def blocked(self, holder: str, waiter: str, release: str = "ROLLBACK") -> None:
        """One session holds, another waits until it is released."""
        with self.session() as first, self.session() as second:
            first.execute("BEGIN")
            first.execute(holder)
            second.pgconn.send_query(waiter.encode())
            wait_for_state(self.observer, second.info.backend_pid, "wait_event_type = 'Lock'")
            first.execute(release)
            read_to_end(second)

    def figures(self) -> dict[str, int]:
        return {r.name: r.count for r in rows(self.observer, f"SELECT name, count FROM {METRICS}")}


@contextlib.contextmanager
def quiet_bench(pg_config: str) -> Iterator[Bench]:
    """Every instrument and every counter on; nothing happens that nobody asks for."""
    server = open_cluster(
        pg_config, extension=True, preload=True, autovacuum=False, shared_buffers="8MB",
        max_prepared_transactions=4, track_io_timing=True, track_functions="all",
        track_commit_timestamp=True, wal_level="logical", deadlock_timeout="50ms",
        max_parallel_workers=4, archive_mode=True, archive_command="true", checkpoint_timeout="1h", max_wal_size="4GB",
        performance_schema__instrument="%=on", lc_messages="C",
    )  # fmt: skip
    server.psql(
        "CREATE TABLE rows_of (a int PRIMARY KEY, b text);"
        "INSERT INTO rows_of SELECT g, 'x' FROM generate_series(1, 1000) AS g;"
        "CREATE TABLE large AS SELECT g AS a, repeat('y', 200) AS b FROM generate_series(1, 80000) AS g;"
        "CREATE TABLE parent (a int PRIMARY KEY); CREATE TABLE child (a int REFERENCES parent, "
        "b int NOT NULL CHECK (b > 0));"
        "CREATE TABLE indexed AS SELECT g AS a, g AS by_hash, int4range(g, g + 2) AS by_gist, 't' || g AS by_spgist "
        "FROM generate_series(1, 3000) AS g;"
        "CREATE INDEX ON indexed USING btree (a); CREATE INDEX ON indexed USING hash (by_hash);"
        "CREATE INDEX ON indexed USING gist (by_gist); CREATE INDEX ON indexed USING spgist (by_spgist);"
        "CREATE TABLE wide (a int, b text); ALTER TABLE wide ALTER b SET STORAGE EXTERNAL;"
        "SELECT performance_schema.monitor_enable('all')"
    )
    server.psql("VACUUM ANALYZE")
    made = Bench(server)
    try:
        yield made
    finally:
        made.observer.close()
        close_cluster(server)


def fail(*statements: str) -> Work:
    """Statements that end with an error."""

    def work(bench: Bench) -> None:
        with bench.session() as session:
            for statement in statements:
                with contextlib.suppress(psycopg.Error):
                    session.execute(statement)

    return work


def sql(*statements: str) -> Work:
    return lambda bench: bench.run(*statements)


def deadlock(bench: Bench) -> None:
    with bench.session() as one_of, bench.session() as other:
        for session, row in ((one_of, 1), (other, 2)):
            session.execute("BEGIN")
            session.execute(f"UPDATE rows_of SET b = 'd' WHERE a = {row}")
        one_of.pgconn.send_query(b"UPDATE rows_of SET b = 'd' WHERE a = 2")
        wait_for_state(bench.observer, one_of.info.backend_pid, "wait_event_type = 'Lock'")
        other.pgconn.send_query(b"UPDATE rows_of SET b = 'd' WHERE a = 1")
        for session in (other, one_of):
            read_to_end(session)
            session.execute("ROLLBACK")


def three_want_a_row(bench: Bench) -> None:
    """The second waits for the first one's transaction, the third for the row."""
    query = b"UPDATE rows_of SET b = 't' WHERE a = 5"
    with bench.session() as first, bench.session() as second, bench.session() as third:
        first.execute("BEGIN")
        first.execute(query)
        for session in (second, third):
            session.pgconn.send_query(query)
            wait_for_state(bench.observer, session.info.backend_pid, "wait_event_type = 'Lock'")
        first.execute("ROLLBACK")
        for session in (second, third):
            read_to_end(session)


def nowait(bench: Bench) -> None:
    with bench.session() as holder, bench.session() as other:
        holder.execute("BEGIN")
        holder.execute("LOCK TABLE rows_of")
        other.execute("BEGIN")
        with contextlib.suppress(psycopg.Error):
            other.execute("LOCK TABLE rows_of NOWAIT")
        for session in (holder, other):
            session.execute("ROLLBACK")


def pinned(bench: Bench) -> None:
    """VACUUM wants a page for itself that a cursor stands on."""
    bench.run("CREATE TABLE IF NOT EXISTS pinned AS SELECT 1 AS a", "UPDATE pinned SET a = a + 1")
    with bench.session() as reader, bench.session() as vacuum:
        reader.execute("BEGIN")
        reader.execute("DECLARE c CURSOR FOR SELECT * FROM pinned")
        reader.execute("FETCH 1 FROM c")
        vacuum.pgconn.send_query(b"VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) pinned")
        wait_for_state(bench.observer, vacuum.info.backend_pid, "wait_event_type = 'BufferPin'")
        reader.execute("COMMIT")
        read_to_end(vacuum)


def killed(bench: Bench) -> None:
    with bench.server.connect() as session:
        pid = session.info.backend_pid
        bench.observer.execute("SELECT pg_terminate_backend(%s)", (pid,))
        wait_gone(bench.observer, pid)


def abandoned(bench: Bench) -> None:
    """The client goes without a word."""
    session = bench.server.connect()
    pid = session.info.backend_pid
    with socket.socket(fileno=os.dup(session.pgconn.socket)) as same:
        same.shutdown(socket.SHUT_RDWR)
    wait_gone(bench.observer, pid)
    with contextlib.suppress(psycopg.Error):
        session.close()


def fatal(bench: Bench) -> None:
    with bench.server.connect() as session:
        pid = session.info.backend_pid
        session.execute("SET idle_session_timeout = '20ms'")
        wait_gone(bench.observer, pid)


def cancelled(bench: Bench) -> None:
    with bench.session() as session:
        session.execute("SET statement_timeout = '20ms'")
        with contextlib.suppress(psycopg.Error):
            session.execute("SELECT pg_sleep(10)")
        session.execute("RESET statement_timeout")


def serialization_failure(bench: Bench) -> None:
    with bench.session() as one_of, bench.session() as other:
        one_of.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        one_of.execute("SELECT count(*) FROM rows_of")
        other.execute("UPDATE rows_of SET b = 's' WHERE a = 9")
        with contextlib.suppress(psycopg.Error):
            one_of.execute("UPDATE rows_of SET b = 's' WHERE a = 9")
        one_of.execute("ROLLBACK")


def copy(bench: Bench) -> None:
    with bench.session() as session:
        session.execute("CREATE TABLE IF NOT EXISTS copied (a int)")
        with session.cursor().copy("COPY copied FROM STDIN") as copying:
            copying.write("1\n2\n")


def database(bench: Bench) -> None:
    with bench.session() as session:
        session.execute("CREATE DATABASE metrics_db")
        session.execute("DROP DATABASE metrics_db")


def decode(bench: Bench) -> None:
    """A transaction larger than the memory for decoding."""
    bench.run(
        "SELECT pg_create_logical_replication_slot('metrics_slot', 'test_decoding')",
        "SET logical_decoding_work_mem = '64kB'",
        "INSERT INTO copied SELECT generate_series(1, 20000)",
        "SELECT count(*) FROM pg_logical_slot_get_changes('metrics_slot', NULL, NULL)",
    )
    wait_until(lambda: bench.figures()["repl_slot_transactions"], "the slot's statistics")
    bench.run("SELECT pg_drop_replication_slot('metrics_slot')")


def sort(bench: Bench) -> None:
    bench.run("SET work_mem = '64kB'", "SELECT count(*) FROM (SELECT a FROM large ORDER BY b, a OFFSET 1) AS x")


def parallel(bench: Bench) -> None:
    bench.run(
        "SET parallel_setup_cost = 0", "SET parallel_tuple_cost = 0", "SET min_parallel_table_scan_size = 0",
        "SET max_parallel_workers_per_gather = 2", "SET parallel_leader_participation = off",
        "SELECT sum(length(b)) FROM large",
    )  # fmt: skip


def multixact(bench: Bench) -> None:
    """Two sessions share a row."""
    with bench.session() as one_of, bench.session() as other:
        for session in (one_of, other):
            session.execute("BEGIN")
            session.execute("SELECT * FROM rows_of WHERE a = 20 FOR SHARE")
        other.execute("COMMIT")
        one_of.execute("COMMIT")
    bench.run("SELECT * FROM rows_of WHERE a = 20 FOR UPDATE")


def many_subtransactions(bench: Bench) -> None:
    """More than a process remembers of them: others must look up whose they are."""
    with bench.session() as many:
        many.execute("BEGIN")
        many.execute(
            "DO $$ BEGIN FOR i IN 1..100 LOOP BEGIN UPDATE rows_of SET b = 'st' WHERE a = i; "
            "EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$"
        )
        bench.run("SELECT count(*) FROM rows_of")
        many.execute("ROLLBACK")


def archive(bench: Bench) -> None:
    for command, counter in (("false", "log_archive_failures"), ("true", "log_files_archived")):
        before = bench.figures()[counter]
        bench.observer.execute(f"ALTER SYSTEM SET archive_command = '{command}'")
        bench.observer.execute("SELECT pg_reload_conf()")
        bench.run("SELECT pg_switch_wal()", "CHECKPOINT")
        wait_until(lambda b=before, c=counter: bench.figures()[c] > b, counter)


def notify(bench: Bench) -> None:
    bench.run("LISTEN metrics", "NOTIFY metrics, 'x'")


ROW_LOCK = {"lock_transactionid_waits", "lock_transactionid_wait_time", "lock_row_lock_waits",
            "lock_row_lock_time", "wait_lock_count", "wait_lock_time"}  # fmt: skip

WORK: dict[str, tuple[Work, set[str]]] = {
    "deadlock": (deadlock, {"lock_deadlocks", *ROW_LOCK}),
    "three want a row": (three_want_a_row, {"lock_tuple_waits", "lock_tuple_wait_time", *ROW_LOCK}),
    "a table is locked": (
        lambda bench: bench.blocked("LOCK TABLE rows_of", "SELECT count(*) FROM rows_of"),
        {"lock_relation_waits", "lock_relation_wait_time", "wait_lock_count", "wait_lock_time"},
    ),
    "an advisory lock is held": (
        lambda bench: bench.blocked("SELECT pg_advisory_xact_lock(5)", "SELECT pg_advisory_xact_lock(5)"),
        {"lock_advisory_waits", "lock_advisory_wait_time", "wait_lock_count", "wait_lock_time"},
    ),
    "a schema is in use": (
        lambda bench: bench.blocked("CREATE SCHEMA s_used CREATE TABLE s_used.t (a int); DROP SCHEMA IF EXISTS nothing; "
                                    "COMMENT ON DATABASE postgres IS 'x'", "COMMENT ON DATABASE postgres IS 'y'"),
        {"lock_object_waits", "lock_object_wait_time", "wait_lock_count", "wait_lock_time"},
    ),
    "an index is made beside a transaction": (
        lambda bench: bench.blocked("UPDATE rows_of SET b = 'v' WHERE a = 7",
                                    "CREATE INDEX CONCURRENTLY i_beside ON rows_of (b)"),
        {"lock_virtualxid_waits", "lock_virtualxid_wait_time", "wait_lock_count", "wait_lock_time", "ddl_create_index", "ddl_creates"},
    ),
    "a lock cannot be had": (
        nowait, {"lock_timeouts", "error_raised", "statement_errors"},
    ),
    "a page is in use": (pinned, {"wait_buffer_pin_count", "wait_buffer_pin_time", "purge_vacuums"}),
    "a session is killed": (killed, {"server_sessions_killed", "server_sessions", "server_session_time"}),
    "a client goes": (abandoned, {"server_sessions_abandoned", "server_sessions"}),
    "a session ends by itself": (fatal, {"server_sessions_fatal", "server_sessions"}),
    "a transaction idles": (
        sql("BEGIN", "SELECT 1", "SELECT pg_sleep(0.01)", "COMMIT"),
        {"server_idle_in_transaction_time", "server_active_time", "wait_timeout_count", "wait_timeout_time"},
    ),
    "a large table is read": (
        sql("SELECT sum(length(b)) FROM large"),
        {"buffer_pool_reads", "buffer_pool_read_requests", "buffer_read_time",
         "buffer_pages_read", "buffer_page_read_bulkread", "buffer_pages_reused", "os_data_reads",
         "os_data_bytes_read", "os_data_read_time", "dml_reads", "statement_rows_examined",
         "statement_no_index_used", "io_client_backend_reads", "wait_file_count", "wait_file_time"},
    ),
    "rows are fetched by an index": (
        sql("SET enable_seqscan = off", "SELECT b FROM rows_of WHERE a = 3"), {"dml_fetches", "buffer_pool_hits",
         "buffer_page_hit_normal", "io_client_backend_hits"},
    ),
    "an index of each access method": (
        sql("SET enable_seqscan = off", "SET enable_bitmapscan = off", "SELECT * FROM indexed WHERE a = 3", "SELECT * FROM indexed WHERE by_hash = 3",
            "SELECT * FROM indexed WHERE by_gist @> 3", "SELECT * FROM indexed WHERE by_spgist = 't3'"),
        {"index_rows_read", "index_btree_rows_read", "index_hash_rows_read", "index_gist_rows_read", "index_spgist_rows_read"},
    ),
    "long values": (
        sql("INSERT INTO wide SELECT i, repeat('w', 9000) FROM generate_series(1, 5) AS i", "SELECT sum(length(b)) FROM wide",
            "DELETE FROM wide WHERE a < 5", "SELECT pg_stat_force_next_flush()", "SELECT 1"),
        {"compression_toast_chunks", "compression_toast_dead_chunks", "compression_toast_chunks_inserted",
         "compression_toast_chunks_deleted", "compression_toast_page_requests", "compression_toast_page_hits"},
    ),
    "long values are vacuumed": (
        sql("DELETE FROM wide", "VACUUM wide"), {"compression_toast_vacuums", "purge_vacuums"},
    ),
    "a large table is written": (
        sql("CREATE TABLE IF NOT EXISTS written AS SELECT * FROM large", "UPDATE written SET b = b || 'z'", "DELETE FROM written",
            "DROP TABLE written"),
        {"buffer_pool_allocated", "buffer_pages_written", "buffer_pages_created", "buffer_pages_evicted", "buffer_page_created_bulkwrite",
         "buffer_page_written_normal", "buffer_page_evicted_normal", "os_data_bytes_written", "os_data_writes", "os_data_write_time",
         "buffer_write_time", "log_records", "log_bytes", "log_writes", "os_log_writes", "os_log_bytes_written", "os_log_write_time",
         "ddl_drop_table", "ddl_drops", "statement_rows_affected", "io_client_backend_writes",
         "io_client_backend_extends", "io_client_backend_evictions", "dml_update", "dml_delete"},
    ),
    "a table is vacuumed": (
        sql("UPDATE large SET a = a + 1 WHERE a % 50 = 0", "VACUUM large", "ANALYZE rows_of"),
        {"purge_vacuums", "purge_analyzes", "buffer_page_read_vacuum"},
    ),
    "VACUUM sleeps": (
        sql("SET vacuum_cost_delay = '1ms'", "SET vacuum_cost_limit = 10", "UPDATE rows_of SET b = b", "VACUUM rows_of"),
        {"purge_delay_time", "purge_vacuums"},
    ),
    "a temporary table": (
        sql("SET temp_buffers = '800kB'", "CREATE TEMP TABLE tt AS SELECT * FROM large LIMIT 20000", "SELECT count(*) FROM tt"),
        {"buffer_page_read_temporary", "buffer_page_written_temporary", "buffer_page_created_temporary",
         "buffer_page_hit_temporary", "buffer_page_evicted_temporary"},
    ),
    "commit": (sql("BEGIN", "INSERT INTO rows_of VALUES (-1, '')", "COMMIT", "DELETE FROM rows_of WHERE a = -1"),
               {"trx_commits", "trx_read_write", "dml_insert", "dml_delete"}),
    "rollback": (sql("BEGIN", "SELECT 1", "ROLLBACK"), {"trx_rollbacks"}),
    "read only": (sql("BEGIN READ ONLY", "SELECT 1", "COMMIT"), {"trx_read_only"}),
    "savepoints": (sql("BEGIN", "SAVEPOINT s", "RELEASE s", "ROLLBACK"), {"trx_savepoints", "trx_savepoints_released"}),
    "two phases": (
        sql("BEGIN", "UPDATE rows_of SET b = 'p' WHERE a = 30", "PREPARE TRANSACTION 'one'", "COMMIT PREPARED 'one'",
            "BEGIN", "UPDATE rows_of SET b = 'p' WHERE a = 30", "PREPARE TRANSACTION 'two'", "ROLLBACK PREPARED 'two'"),
        {"trx_two_phase_prepares", "trx_two_phase_commits", "trx_two_phase_rollbacks"},
    ),
    "serialization failure": (serialization_failure, {"trx_serialization_failures", "error_raised"}),
    "checkpoint": (
        sql("UPDATE rows_of SET b = 'c'", "CHECKPOINT"),
        {"checkpoints_requested", "checkpoint_pages_written", "os_data_fsyncs", "os_data_other", "os_log_fsyncs", "log_fsyncs", "os_log_other",
         "checkpoints_performed", "io_checkpointer_writes", "io_checkpointer_fsyncs", "checkpoint_slru_pages_written", "os_slru_writes",
         "os_slru_bytes_written", "os_slru_write_time"},
    ),
    "full pages": (sql("CHECKPOINT", "UPDATE rows_of SET b = 'f'"), {"log_full_page_images", "log_records", "checkpoints_requested"}),
    "commit timestamps": (sql("UPDATE rows_of SET b = 'ts'", "UPDATE rows_of SET b = 'ts'"), {"slru_commit_timestamp_hit"}),
    "many subtransactions": (many_subtransactions, {"slru_subtransaction_hit"}),
    "WAL is archived": (archive, {"log_files_archived", "log_archive_failures"}),
    "merge": (sql("MERGE INTO rows_of USING (VALUES (1)) AS v (a) ON rows_of.a = v.a WHEN MATCHED THEN UPDATE SET b = 'm'"),
              {"dml_merge", "dml_updates"}),
    "copy": (copy, {"dml_copy", "dml_inserts"}),
    "delete": (sql("INSERT INTO rows_of VALUES (-3, '')", "DELETE FROM rows_of WHERE a = -3"), {"dml_deletes", "dml_inserts"}),
    "ddl of tables": (
        sql("CREATE TABLE d (a int)", "ALTER TABLE d ADD b int", "CREATE INDEX d_i ON d (a)", "REINDEX TABLE d", "CLUSTER d USING d_i",
            "TRUNCATE d", "DROP INDEX d_i", "GRANT SELECT ON d TO PUBLIC", "REVOKE SELECT ON d FROM PUBLIC", "DROP TABLE d"),
        {"ddl_create_table", "ddl_alter_table", "ddl_alters", "ddl_create_index", "ddl_reindex", "ddl_cluster", "ddl_truncate_table",
         "ddl_drop_index", "ddl_grant", "ddl_revoke", "ddl_drop_table", "ddl_creates", "ddl_drops"},
    ),
    "ddl of views": (
        sql("CREATE VIEW v AS SELECT 1", "DROP VIEW v", "CREATE MATERIALIZED VIEW mv AS SELECT 1 AS a", "REFRESH MATERIALIZED VIEW mv",
            "DROP MATERIALIZED VIEW mv", "CREATE FUNCTION f_of() RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP FUNCTION f_of()",
            "CREATE ROLE metrics_role", "DROP ROLE metrics_role"),
        {"ddl_create_view", "ddl_drop_view", "ddl_create_materialized_view", "ddl_refresh_materialized_view", "ddl_create_function",
         "ddl_create_role"},
    ),
    "ddl of databases": (database, {"ddl_create_database", "checkpoints_requested"}),
    "sort": (sort, {"sort_temporary_files", "sort_temporary_bytes", "sort_rows", "sort_scans", "sort_merge_passes", "os_temporary_reads",
                    "os_temporary_bytes_read", "os_temporary_read_time", "os_temporary_writes", "os_temporary_bytes_written",
                    "os_temporary_write_time"}),
    "sort of a range": (
        sql("SET enable_seqscan = off", "SET enable_bitmapscan = off", "SELECT a FROM rows_of WHERE a BETWEEN 5 AND 50 ORDER BY b, a"),
        {"sort_ranges", "sort_rows"},
    ),
    "errors": (
        fail("SELEC", "SELECT * FROM not_there", "SELECT nothing FROM rows_of", "SELECT 1/0", "INSERT INTO rows_of VALUES (1, '')",
             "INSERT INTO child VALUES (1, 1)", "INSERT INTO child VALUES (NULL, NULL)", "INSERT INTO child VALUES (NULL, 0)"),
        {"error_syntax_error", "error_undefined_table", "error_undefined_column", "error_division_by_zero", "error_unique_violation",
         "error_foreign_key_violation", "error_not_null_violation", "error_check_violation", "error_raised", "statement_errors"},
    ),
    "a refusal": (
        fail("CREATE ROLE metrics_refused", "SET ROLE metrics_refused", "SELECT * FROM rows_of", "RESET ROLE", "DROP ROLE metrics_refused"),
        {"error_insufficient_privilege", "ddl_create_role"},
    ),
    "a caught error": (sql("DO $$ BEGIN PERFORM 1/0; EXCEPTION WHEN OTHERS THEN NULL; END $$"), {"error_handled"}),
    "a timeout": (cancelled, {"error_query_canceled"}),
    "rows are sent": (sql("SELECT * FROM rows_of"), {"statement_count", "statement_time", "statement_rows_sent", "wait_socket_count",
                      "os_socket_bytes_sent", "os_socket_bytes_received", "dml_select"}),
    "a parallel query": (parallel, {"parallel_leader_waits", "wait_ipc_count", "wait_ipc_time", "parallel_workers_to_launch",
                      "parallel_workers_launched", "io_background_worker_reads"}),
    "two share a row": (multixact, {"slru_multixact_member_hit", "slru_multixact_offset_hit"}),
    "notify": (notify, {"slru_notify_hit"}),
    "a slot is decoded": (decode, {"repl_slot_transactions", "repl_slot_bytes", "repl_slot_spilled_transactions", "repl_slot_spills",
                          "repl_slot_spilled_bytes"}),
}  # fmt: skip
