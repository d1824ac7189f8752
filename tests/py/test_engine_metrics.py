"""engine_metrics: what may be done to its counters, and that they say what the server's own views say.

That each counter moves under work made for it is test_engine_metrics_move.py's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import one, read_to_end, rows, wait_until
from psycopg import errors

METRICS = "performance_schema.engine_metrics"
MODULES = {
    "metadata", "lock", "server", "buffer", "os", "transaction", "purge", "autovacuum", "log",
    "checkpoint", "background_writer", "dml", "ddl", "statement", "sort", "slru", "replication",
    "parallel", "error", "wait",
}  # fmt: skip


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 1000) AS g; ANALYZE t;"
        "CREATE ROLE metrics_plain LOGIN; CREATE ROLE metrics_owner LOGIN",
        autovacuum=False,
    ) as cluster:
        yield cluster


@pytest.fixture
def db(server: Any) -> Iterator[Any]:
    """A session; everything is enabled anew after it."""
    with server.connect() as connection:
        yield connection
        connection.execute("SELECT performance_schema.monitor_enable('all')")
        connection.execute("SELECT performance_schema.monitor_reset_all('all')")
        connection.execute("SELECT performance_schema.monitor_disable('buffer_pool_pages_d%')")


def metric(db: Any, name: str) -> Any:
    (row,) = rows(db, f"SELECT * FROM {METRICS} WHERE name = %s", name)
    return row


def count(db: Any, name: str) -> int:
    return metric(db, name).count


def act(db: Any, action: str, counter: str) -> int:
    return one(db, f"SELECT performance_schema.monitor_{action}(%s)", counter)


def select(db: Any, times: int = 1) -> None:
    """dml_select grows by so many; a look at the table is one, too."""
    for _ in range(times):
        db.execute("SELECT 1")


# --- what there is -----------------------------------------------------------------------------


def test_counters_and_modules(db: Any) -> None:
    found = rows(db, f"SELECT * FROM {METRICS}")
    assert len(found) >= 235
    assert len({row.name for row in found}) == len(found)
    assert {row.subsystem for row in found} >= MODULES
    assert {row.type for row in found} == {
        "status_counter", "counter", "value", "set_owner", "set_member",
    }  # fmt: skip
    assert all(row.comment for row in found)


def test_columns_are_mysqls(db: Any) -> None:
    names = [column.name for column in db.execute(f"SELECT * FROM {METRICS} LIMIT 0").description]
    assert names == [
        "name", "subsystem", "count", "max_count", "min_count", "avg_count", "count_reset",
        "max_count_reset", "min_count_reset", "avg_count_reset", "time_enabled", "time_disabled",
        "time_elapsed", "time_reset", "status", "type", "comment",
    ]  # fmt: skip


def test_innodb_metrics_is_the_same(db: Any) -> None:
    db.execute("SET search_path = performance_schema, sys, public")
    assert len(rows(db, "select * from innodb_metrics limit 1")) == 1
    assert one(
        db, f"SELECT count(*)::int FROM innodb_metrics FULL JOIN {METRICS} m USING (name, type, subsystem) "
        "WHERE m.name IS NULL OR innodb_metrics.status IS NULL",
    ) == 0  # fmt: skip


# --- enable, disable, reset, reset_all -----------------------------------------------------------


def test_a_disabled_counter_keeps_what_it_has(db: Any) -> None:
    assert act(db, "disable", "dml_select") == 1
    before = metric(db, "dml_select")
    assert (before.status, before.time_disabled is None) == ("disabled", False)
    select(db, 5)
    after = metric(db, "dml_select")
    assert (after.count, after.time_elapsed) == (before.count, before.time_elapsed)


def test_enabled_again_it_goes_on_without_what_passed(db: Any) -> None:
    act(db, "disable", "dml_select")
    kept = count(db, "dml_select")
    select(db, 7)
    act(db, "enable", "dml_select")
    found = metric(db, "dml_select")
    # what is executed from the function's end on: the function's own statement, not this one
    assert found.count == kept + 1
    assert found.time_disabled is None
    select(db, 3)
    assert count(db, "dml_select") == kept + 1 + 1 + 3


def test_enabled_twice_is_nothing(db: Any) -> None:
    enabled = metric(db, "dml_select").time_enabled
    assert act(db, "enable", "dml_select") == 1
    assert metric(db, "dml_select").time_enabled == enabled


def test_average_does_not_count_disabled_time(db: Any) -> None:
    """MySQL divides all that was ever counted by the time since it was enabled last."""
    act(db, "reset_all", "trx_commits")
    select(db, 10)
    db.execute("SELECT pg_stat_force_next_flush()")
    db.execute("SELECT pg_sleep(1.1)")
    first = metric(db, "trx_commits")
    act(db, "disable", "trx_commits")
    act(db, "enable", "trx_commits")
    second = metric(db, "trx_commits")
    assert second.time_elapsed >= first.time_elapsed >= 1
    assert 0 < second.avg_count <= second.count / 1.1


def test_reset_begins_a_lap(db: Any) -> None:
    before = count(db, "dml_select")
    act(db, "reset", "dml_select")
    select(db, 4)
    found = metric(db, "dml_select")
    assert found.count_reset == 4 + 1
    assert found.count == before + 1 + found.count_reset
    assert found.max_count_reset == found.count_reset
    assert found.time_reset > found.time_enabled
    assert found.avg_count_reset > 0


def test_reset_all_of_an_enabled_counter(db: Any) -> None:
    """MySQL does nothing then, and says so in its error log only."""
    before = metric(db, "dml_select").time_enabled
    act(db, "reset_all", "dml_select")
    select(db, 2)
    found = metric(db, "dml_select")
    assert (found.count, found.status, found.time_reset) == (2 + 1, "enabled", None)
    assert found.time_enabled > before


def test_reset_all_of_a_disabled_counter(db: Any) -> None:
    act(db, "disable", "dml_select")
    act(db, "reset_all", "dml_select")
    found = metric(db, "dml_select")
    assert (found.count, found.max_count, found.time_enabled, found.time_elapsed, found.status) == (
        0, None, None, None, "disabled",
    )  # fmt: skip


def test_extremes_of_a_value(db: Any, server: Any) -> None:
    others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    wait_until(lambda: one(db, others) == 1, "the sessions of other tests are gone")
    act(db, "reset_all", "server_backends")
    alone = count(db, "server_backends")
    with server.connect(), server.connect():
        wait_until(lambda: count(db, "server_backends") == alone + 2, "two more backends")
    wait_until(lambda: count(db, "server_backends") == alone, "they are gone")
    found = metric(db, "server_backends")
    assert (found.count, found.min_count, found.max_count) == (alone, alone, alone + 2)
    assert (found.avg_count, found.avg_count_reset) == (None, None)


def test_modules_patterns_and_all(db: Any) -> None:
    def disabled() -> set[str]:
        return {row.name for row in rows(db, f"SELECT name FROM {METRICS} WHERE status = 'disabled'")}

    everything = {row.name for row in rows(db, f"SELECT name FROM {METRICS}")}
    locks = {row.name for row in rows(db, f"SELECT name FROM {METRICS} WHERE subsystem = 'lock'")}
    act(db, "enable", "all")
    assert disabled() == set()
    assert act(db, "disable", "module_lock") == len(locks)
    assert disabled() == locks
    act(db, "enable", "MODULE_Lock")
    assert disabled() == set()
    act(db, "disable", "%_waits")
    assert disabled() == {name for name in everything if name.endswith("_waits")}
    assert act(db, "disable", "%") == len(everything)
    assert disabled() == everything


@pytest.mark.parametrize("counter", ["", "_", "nothing", "module_nothing", "lock", "dml_selec", "x%", "'; --"])
@pytest.mark.parametrize("action", ["enable", "disable", "reset", "reset_all"])
def test_unknown_counters_are_errors(db: Any, action: str, counter: str) -> None:
    with pytest.raises(errors.NoDataFound):
        act(db, action, counter)


def test_null_is_an_error(db: Any) -> None:
    with pytest.raises(errors.NullValueNotAllowed):
        db.execute("SELECT performance_schema.monitor_enable(NULL)")


# --- settings ------------------------------------------------------------------------------------


def test_setting_is_the_action(db: Any) -> None:
    db.execute("SET performance_schema.monitor_disable = 'dml_select'")
    assert metric(db, "dml_select").status == "disabled"
    db.execute("SET performance_schema.monitor_enable = 'dml_select; dml_insert,dml_update'")
    assert metric(db, "dml_select").status == "enabled"
    db.execute("SET performance_schema.monitor_reset = 'dml_select'")
    assert metric(db, "dml_select").count_reset <= 2
    db.execute("SET performance_schema.monitor_reset_all = 'module_dml'")
    assert count(db, "dml_select") <= 2


def test_rollback_of_a_setting_does_nothing_again(db: Any) -> None:
    db.execute("SET performance_schema.monitor_disable = 'dml_insert'")
    act(db, "enable", "dml_insert")
    with db.transaction(force_rollback=True):
        db.execute("SET performance_schema.monitor_disable = 'dml_update'")
    assert metric(db, "dml_update").status == "disabled"  # an action, as in MySQL
    assert metric(db, "dml_insert").status == "enabled"
    db.execute("RESET performance_schema.monitor_disable")
    assert metric(db, "dml_insert").status == "enabled"


@pytest.mark.parametrize("value", ["nothing", "module_nothing", "dml_select, nothing"])
def test_unknown_counters_in_settings_are_errors(db: Any, value: str) -> None:
    for action in ("enable", "disable", "reset", "reset_all"):
        with pytest.raises(errors.InvalidParameterValue):
            db.execute(f"SET performance_schema.monitor_{action} = '{value}'")
    assert metric(db, "dml_select").status == "enabled"


def test_validating_a_setting_does_nothing(db: Any) -> None:
    db.execute("ALTER SYSTEM SET performance_schema.monitor_disable = 'dml_select'")
    db.execute("ALTER SYSTEM RESET performance_schema.monitor_disable")
    db.execute("ALTER ROLE metrics_owner SET performance_schema.monitor_disable = 'dml_select'")
    assert metric(db, "dml_select").status == "enabled"


def test_settings_at_start(new_cluster: Any) -> None:
    server = new_cluster(
        performance_schema__monitor_enable="buffer_pool_pages_dirty",
        performance_schema__monitor_disable="module_lock, dml_%",
    )
    with server.connect() as db:
        states = {
            row.name: row.status
            for row in rows(db, f"SELECT name, status FROM {METRICS}")
        }
    assert states["buffer_pool_pages_dirty"] == "enabled"
    assert states["buffer_pool_pages_data"] == "disabled"
    assert {states[name] for name in states if name.startswith(("lock_", "dml_"))} == {"disabled"}
    assert states["trx_commits"] == "enabled"


def test_counts_begin_with_the_server(new_cluster: Any) -> None:
    """What the statistics had before a restart does not count."""
    server = new_cluster()
    with server.connect() as db:
        db.execute("CREATE TABLE t AS SELECT generate_series(1, 5000) AS a")
        db.execute("SELECT pg_stat_force_next_flush()")
        wait_until(lambda: count(db, "dml_inserts") >= 5000, "rows are counted")
    server.restart()
    with server.connect() as db:
        assert one(db, "SELECT sum(tup_inserted)::bigint FROM pg_stat_database") >= 5000
        assert count(db, "dml_inserts") < 1000
        assert metric(db, "dml_inserts").time_enabled >= one(db, "SELECT pg_postmaster_start_time()")


# --- rights ------------------------------------------------------------------------------------


def test_rights(server: Any, db: Any) -> None:
    with server.connect(user="metrics_plain") as plain:
        assert one(plain, f"SELECT count(*)::int FROM {METRICS}") >= 235
        for action in ("enable", "disable", "reset", "reset_all"):
            with pytest.raises(errors.InsufficientPrivilege):
                act(plain, action, "all")
            with pytest.raises(errors.InsufficientPrivilege):
                plain.execute(f"SET performance_schema.monitor_{action} = 'all'")
        db.execute("GRANT EXECUTE ON FUNCTION performance_schema.monitor_reset(text) TO metrics_plain")
        assert act(plain, "reset", "dml_select") == 1


# --- figures -----------------------------------------------------------------------------------

OF_DATABASES = {
    "trx_commits": "xact_commit", "trx_rollbacks": "xact_rollback", "buffer_pool_hits": "blks_hit",
    "buffer_pool_reads": "blks_read", "dml_reads": "tup_returned", "dml_fetches": "tup_fetched",
    "dml_inserts": "tup_inserted", "dml_updates": "tup_updated", "dml_deletes": "tup_deleted",
    "lock_deadlocks": "deadlocks", "sort_temporary_files": "temp_files",
    "sort_temporary_bytes": "temp_bytes", "server_sessions": "sessions",
}  # fmt: skip


def flush(db: Any) -> None:
    db.execute("SELECT pg_stat_force_next_flush()")


def test_figures_are_those_of_pg_stat_database(server: Any, db: Any) -> None:
    """The difference of two readings is that of the server's own view, whatever happens between."""
    sums = ", ".join(f"sum({column})::bigint AS {name}" for name, column in OF_DATABASES.items())

    def both() -> tuple[dict[str, int], dict[str, int]]:
        with server.connect() as reader:  # a new session has no statistics of its own to be flushed
            own = {r.name: r.count for r in rows(reader, f"SELECT name, count FROM {METRICS}")}
        with server.connect() as reader:
            (view,) = rows(reader, f"SELECT {sums} FROM pg_stat_database")
        return own, view._asdict()

    def work() -> None:
        with server.connect() as session:
            session.execute("CREATE TABLE figures AS SELECT generate_series(1, 3000) AS a")
            session.execute("UPDATE figures SET a = a + 1")
            session.execute("DELETE FROM figures WHERE a < 1000")
            session.execute("SET work_mem = '64kB'")
            session.execute("SELECT a FROM figures, generate_series(1, 10) ORDER BY a")
            session.execute("BEGIN")
            session.execute("ROLLBACK")
            flush(session)  # what a table has counted, and was not told, goes with it
            session.execute("DROP TABLE figures")
            flush(session)

    own_before, view_before = both()
    work()
    own_after, view_after = both()
    for name in OF_DATABASES:
        ours = own_after[name] - own_before[name]
        theirs = view_after[name] - view_before[name]
        # the readers themselves are in both, at different moments
        assert abs(ours - theirs) <= max(0.02 * theirs, 60 if theirs > 60 else 3), name
    assert own_after["dml_inserts"] - own_before["dml_inserts"] >= 3000
    assert own_after["sort_temporary_files"] > own_before["sort_temporary_files"]


def test_a_readers_transaction_keeps_its_statistics(server: Any, db: Any) -> None:
    """pg_stat_... shows the same until the transaction ends, whoever looks at engine_metrics meanwhile."""
    for mode in ("cache", "snapshot"):
        with db.transaction():
            db.execute(f"SET LOCAL stats_fetch_consistency = '{mode}'")
            before = rows(db, "SELECT * FROM pg_stat_wal"), rows(db, "SELECT * FROM pg_stat_bgwriter")
            with server.connect() as other:
                other.execute("CREATE TABLE grown AS SELECT generate_series(1, 1000) AS a")
                other.execute("DROP TABLE grown")
                flush(other)
            lsn = count(db, "log_records")
            after = rows(db, "SELECT * FROM pg_stat_wal"), rows(db, "SELECT * FROM pg_stat_bgwriter")
            assert before == after
            assert lsn > 0


def test_truncate_of_a_summary_takes_nothing_away(db: Any) -> None:
    act(db, "reset_all", "module_dml")
    select(db, 5)
    db.execute("TRUNCATE performance_schema.events_statements_summary_global_by_event_name")
    select(db, 9)
    assert count(db, "dml_select") == 1 + 5 + 9  # that of the reset itself


def test_set_owners_are_divided_by_their_calls(db: Any) -> None:
    db.execute("CHECKPOINT")
    owner, calls = metric(db, "os_log_bytes_written"), metric(db, "os_log_writes")
    assert owner.type == "set_owner" and calls.type == "set_member"
    if calls.count > 0:
        assert owner.avg_count == pytest.approx(owner.count / calls.count, rel=0.2)


def test_buffers_are_those_of_the_server(db: Any) -> None:
    act(db, "enable", "buffer_pool_pages_%")
    total, data, free = (count(db, f"buffer_pool_pages_{what}") for what in ("total", "data", "free"))
    assert total * 8192 == count(db, "buffer_pool_size")
    assert 0 < data < total and abs(data + free - total) < 50
    db.execute("CHECKPOINT")
    db.execute("UPDATE t SET a = a")
    assert count(db, "buffer_pool_pages_dirty") > 0


def test_prepared_and_waiting(server: Any, db: Any) -> None:
    with server.connect() as holder, server.connect() as waiter:
        holder.execute("SELECT pg_advisory_lock(77)")
        waiter.pgconn.send_query(b"SELECT pg_advisory_lock(77)")
        wait_until(lambda: count(db, "lock_threads_waiting") == 1, "one waits")
        assert count(db, "lock_row_lock_current_waits") == 0
        holder.execute("SELECT pg_advisory_unlock(77)")
        wait_until(lambda: count(db, "lock_threads_waiting") == 0, "none waits")
        read_to_end(waiter)


def test_everybody_at_once(server: Any, db: Any) -> None:
    """Readers and switches from several sessions: nothing is lost, nobody waits for long."""
    act(db, "reset_all", "dml_insert")
    with server.connect() as one_more, server.connect() as writer:
        for i in range(40):
            writer.execute("INSERT INTO t VALUES (1)")
            (one_more if i % 2 else db).execute(f"SELECT count(*) FROM {METRICS}")
            if i % 8 == 0:
                act(one_more, "reset", "module_dml")
        assert count(db, "dml_insert") == 40


def test_without_the_library(new_cluster: Any) -> None:
    server = new_cluster(preload=False)
    with server.connect() as db:
        with pytest.raises(psycopg.Error):
            db.execute(f"SELECT * FROM {METRICS}")
        with pytest.raises(psycopg.Error):
            act(db, "enable", "all")


def test_disabled(new_cluster: Any) -> None:
    server = new_cluster(performance_schema__enabled=False)
    with server.connect() as db:
        assert rows(db, f"SELECT * FROM {METRICS}") == []
        assert act(db, "enable", "all") == 0
        db.execute("SET performance_schema.monitor_enable = 'all'")
