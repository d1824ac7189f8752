"""Status variables against the sums they are made of, the server's statistics, and each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import with_library
from helpers import one, rows, thread_of, wait_until

P = "performance_schema"
AXES = {
    "by_thread": "thread_id",
    "by_account": "user_name, host",
    "by_user": "user_name",
    "by_host": "host",
}


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    setup = "CREATE ROLE plain LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_monitor; CREATE TABLE t (i int)"
    with with_library(pg_config, f"{setup}; GRANT ALL ON t TO plain", autovacuum=False) as made:
        yield made


@pytest.fixture
def admin(server: Any, connect: Callable[..., Any]) -> Any:
    return connect(server)


def status(conn: Any, table: str, where: str = "true") -> dict[str, Any]:
    found = rows(conn, f"SELECT variable_name, variable_value FROM {P}.{table} WHERE {where}")
    named = {row.variable_name: row.variable_value for row in found}
    assert len(named) == len(found), "a name twice"
    return named


def numbers(conn: Any, table: str, where: str = "true") -> Counter[str]:
    return Counter({name: int(value) for name, value in status(conn, table, where).items()})


def grown(before: Counter[str], now: Counter[str]) -> dict[str, int]:
    return {name: now[name] - before[name] for name in now if now[name] != before[name]}


def work(session: Any) -> None:
    """Ten statements; each message has one but the last, which has three."""
    session.execute("BEGIN")
    session.execute("INSERT INTO t SELECT g FROM generate_series(1, 100) AS g")
    session.execute("UPDATE t SET i = i + 1")
    session.execute("SELECT count(*) FROM t")
    session.execute("SELECT i FROM t ORDER BY i")
    session.execute("DELETE FROM t")
    session.execute("COMMIT")
    session.pgconn.exec_(b"SELECT 1; SELECT 2; SHOW work_mem")


WORK = {
    "Com_begin": 1, "Com_insert": 1, "Com_update": 1, "Com_select": 4, "Com_delete": 1, "Com_commit": 1,
    "Com_show": 1, "Queries": 10, "Questions": 8, "Select_scan": 4, "Sort_scan": 1, "Sort_rows": 100,
}  # fmt: skip


def test_work_is_counted_on_each_axis(server: Any, admin: Any, connect: Any) -> None:
    session = connect(server, user="plain", prepare_threshold=None)
    session.execute("SELECT 1")
    where = {
        "status_by_thread": f"thread_id = {thread_of(admin, session)}",
        "status_by_user": "user_name = 'plain'",
        "status_by_account": "user_name = 'plain'",
    }
    before = {table: numbers(admin, table, what) for table, what in where.items()}
    work(session)
    for table, what in where.items():
        found = grown(before[table], numbers(admin, table, what))
        assert {name: found.get(name) for name in WORK} == WORK, table
        assert found["Created_tmp_tables"] >= 1
        assert set(found) - set(WORK) <= {"Created_tmp_tables"}
    session.execute("SELECT 1")
    session.execute("SELECT %s::int", (1,))  # Parse, Bind, Execute
    found = grown(
        before["status_by_thread"], numbers(admin, "status_by_thread", where["status_by_thread"])
    )
    assert (found["Com_stmt_prepare"], found["Com_stmt_execute"]) == (1, 1)
    assert (found["Questions"], found["Queries"]) == (10, 12)


def test_relations(server: Any, admin: Any, connect: Any) -> None:
    """Of finished work: threads that live have no more than users, who have what hosts and all have."""
    work(connect(server, user="plain"))
    gone = connect(server, user="plain")
    work(gone)
    gone.close()
    before = status(admin, "status_global")
    sums = {axis: Counter[str]() for axis in AXES}
    admin.execute(
        "SELECT performance_schema.set_thread(performance_schema.ps_current_thread_id(), false)"
    )
    total = numbers(admin, "status_global")
    for axis, keys in AXES.items():
        found = rows(admin, f"SELECT * FROM {P}.status_{axis}")
        assert len({row[:-1] for row in found}) == len(found), f"{keys} and name are a key"
        for row in found:
            sums[axis][row.variable_name] += int(row.variable_value)
    assert set(before) == set(total)
    for name, value in total.items():
        assert (
            sums["by_account"][name] == sums["by_user"][name] == sums["by_host"][name] == value
        ), name
        assert sums["by_thread"][name] <= value
    assert sums["by_thread"]["Com_delete"] < total["Com_delete"]
    of_server = status(admin, "global_status")
    assert {name: int(of_server[name]) for name in total} == dict(total)
    commands = sum(n for name, n in total.items() if name[:4] == "Com_" and name[:9] != "Com_stmt_")
    assert commands == total["Queries"]
    classes = "SELECT count(*) FROM performance_schema.setup_instruments WHERE name LIKE 'statement/sql/%'"
    assert sum(name[:4] == "Com_" for name in total) == one(admin, classes) + 3


def test_own_session(server: Any, connect: Any) -> None:
    """Everybody's own; what is no session's is the server's."""
    session = connect(server, user="plain", prepare_threshold=None)
    work(session)
    found = numbers(session, "session_status", "variable_name ~ '^(Com_|Que|Sel|Sort)'")
    assert {name: found[name] for name in WORK} == WORK
    mine, of_server = status(session, "session_status"), status(session, "global_status")
    assert set(mine) - set(of_server) == {"Ssl_cipher", "Ssl_version"}
    assert set(of_server) <= set(mine)
    assert mine["Innodb_page_size"] == of_server["Innodb_page_size"]
    assert mine["Com_create_table"] == "0" < of_server["Com_create_table"]


def test_against_the_statistics(server: Any, admin: Any, connect: Any) -> None:
    """Differences over some work are those of pg_stat_database; sizes those of the settings."""
    names = {
        "Innodb_rows_inserted": "tup_inserted", "Innodb_rows_updated": "tup_updated",
        "Innodb_rows_deleted": "tup_deleted", "Innodb_rows_read": "tup_returned",
        "Handler_rollback": "xact_rollback", "Innodb_buffer_pool_reads": "blks_read",
        "Created_tmp_files": "temp_files", "Aborted_clients": "sessions_abandoned",
    }  # fmt: skip
    sums = ", ".join(f"sum({column})::bigint" for column in names.values())

    def both() -> list[tuple[int, int]]:
        admin.execute("SELECT pg_stat_force_next_flush()")
        session_flush.execute("SELECT pg_stat_force_next_flush()")
        admin.execute("BEGIN")
        figures = admin.execute(f"SELECT {sums} FROM pg_stat_database").fetchone()
        values = status(admin, "global_status")
        admin.execute("COMMIT")
        return [(int(values[name]), figure) for name, figure in zip(names, figures)]

    session_flush = connect(server, user="plain")
    before = both()
    work(session_flush)
    with pytest.raises(Exception, match="zero"):
        session_flush.execute("SELECT 1 / 0")

    def agree() -> bool:
        ours, theirs = zip(*((b[0] - a[0], b[1] - a[1]) for a, b in zip(before, both())))
        wanted = {
            "Innodb_rows_inserted": 100,
            "Innodb_rows_updated": 100,
            "Innodb_rows_deleted": 100,
        }
        moved = dict(zip(names, ours))
        near = all(abs(a - b) <= 300 for a, b in zip(ours, theirs))
        return near and wanted.items() <= moved.items() and moved["Handler_rollback"] >= 1

    wait_until(agree, "the statistics have arrived")
    values = status(admin, "global_status")
    assert values["Innodb_page_size"] == one(admin, "SHOW block_size")
    pages = "SELECT setting FROM pg_settings WHERE name = 'shared_buffers'"
    assert values["Innodb_buffer_pool_pages_total"] == one(admin, pages)
    seconds = "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())"
    assert 0 <= float(one(admin, seconds)) - int(values["Uptime"]) < 2
    clients = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    wait_until(
        lambda: int(status(admin, "global_status")["Threads_connected"]) == one(admin, clients),
        "clients",
    )


def test_losses(admin: Any) -> None:
    of_extension = {
        row.variable_name: row.variable_value
        for row in rows(admin, f"SELECT * FROM {P}.status WHERE variable_name ~ '_lost$'")
    }
    found = numbers(admin, "global_status", "variable_name ~ '^Performance_schema_'")
    assert {name.lower(): value for name, value in found.items()} == of_extension
    assert len(found) > 15


def test_bytes(server: Any, admin: Any, connect: Any) -> None:
    """Not known while nobody counts calls on sockets; then those of the session are at least the text."""
    session = connect(server, user="plain")
    assert status(session, "session_status")["Bytes_received"] is None
    admin.execute("SELECT performance_schema.set_instruments('wait/io/socket/%', true)")
    try:
        session.execute("SELECT 1")
        session.execute("SELECT 1")
        before = numbers(session, "session_status", "variable_name ~ '^Bytes_'")
        session.execute(f"SELECT '{'x' * 5000}'")
        now = numbers(session, "session_status", "variable_name ~ '^Bytes_'")
        assert now["Bytes_received"] - before["Bytes_received"] > 5000
        assert now["Bytes_sent"] - before["Bytes_sent"] > 5000
        total = numbers(admin, "global_status", "variable_name ~ '^Bytes_'")
        assert total["Bytes_received"] >= now["Bytes_received"]
    finally:
        admin.execute("SELECT performance_schema.set_instruments('wait/io/socket/%', false)")


def test_rights(server: Any, admin: Any, connect: Any) -> None:
    """What others run now is for pg_read_all_stats, and so are the sums of their threads."""
    plain, reader = (connect(server, user=user) for user in ("plain", "reader"))
    plain.execute("SELECT 1")
    assert status(plain, "global_status")["Threads_running"] is None
    assert int(status(reader, "global_status")["Threads_running"]) >= 1
    own = rows(plain, f"SELECT DISTINCT thread_id FROM {P}.status_by_thread")
    assert {row.thread_id for row in own} <= {
        row.thread_id
        for row in rows(
            admin, f"SELECT thread_id FROM {P}.threads WHERE processlist_user = 'plain'"
        )
    }
    every = rows(reader, f"SELECT DISTINCT thread_id FROM {P}.status_by_thread")
    assert len(every) > len(own)


def test_where_nothing_is_recorded(new_cluster: Any, connect: Any) -> None:
    session = connect(new_cluster(performance_schema__enabled=False))
    found = status(session, "global_status")
    assert set(found) == {"Bytes_received", "Bytes_sent", "Threads_running", "Uptime"}
    assert found["Bytes_sent"] is None
    assert set(status(session, "session_status")) - set(found) == {"Ssl_cipher", "Ssl_version"}
    for axis in AXES:
        assert status(session, f"status_{axis}") == {}
