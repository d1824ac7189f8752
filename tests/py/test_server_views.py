"""Tables of logs, base backups, functions and TLS against the server's own views and settings."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import with_library
from helpers import one, rows, wait_until

P = "performance_schema"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    setup = (
        "CREATE ROLE plain LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_monitor; "
        "CREATE TABLE big AS SELECT g, repeat('x', 1000) AS filler FROM generate_series(1, 50000) AS g"
    )
    with with_library(pg_config, setup, track_functions="all") as made:
        yield made


@pytest.fixture
def admin(server: Any, connect: Callable[..., Any]) -> Any:
    return connect(server)


@pytest.mark.parametrize("user", ["postgres", "reader", "plain"])
def test_tls(server: Any, connect: Any, user: str) -> None:
    """What pg_settings shows, and no more; each property once."""
    session = connect(server, user=user)
    found = rows(session, f"SELECT * FROM {P}.tls_channel_status")
    values = {row.property: row.value for row in found}
    assert len(values) == len(found) >= 7
    assert {row.channel for row in found} == {"postgres_main"}
    assert values["Enabled"] == "No"
    settings = dict(
        session.execute("SELECT name, setting FROM pg_settings WHERE name ~ '^ssl'").fetchall()
    )
    assert values.get("Current_tls_version") == settings.get("ssl_min_protocol_version")
    assert values["Current_tls_cert"] == settings["ssl_cert_file"]
    assert values.get("Current_tls_cipher") == settings.get("ssl_ciphers")


def test_functions(admin: Any) -> None:
    admin.execute("SELECT performance_schema.ps_thread_id(1)")
    admin.execute("SELECT performance_schema.ps_thread_id(2)")
    admin.execute("SELECT pg_stat_force_next_flush()")
    found = rows(admin, f"SELECT * FROM {P}.user_defined_functions")
    by_oid = {row.udf_oid: row for row in found}
    assert len(by_oid) == len(found)
    catalogue = rows(
        admin,
        "SELECT p.oid, proname, probin FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang "
        "WHERE lanname = 'c' AND p.oid >= 16384",
    )
    assert {oid: (row.udf_name, row.udf_library) for oid, row in by_oid.items()} == {
        row.oid: (row.proname, row.probin) for row in catalogue
    }
    (called,) = [row for row in found if row.udf_name == "ps_thread_id" and row.udf_schema == P]
    assert called.udf_return_type == "bigint"
    assert (called.udf_type, called.udf_arguments) == ("function", "processlist_id bigint")
    calls = "SELECT calls FROM pg_stat_user_functions WHERE funcid = %s"
    assert called.udf_usage_count == one(admin, calls, called.udf_oid) >= 2


def test_log_status(admin: Any, server: Any, connect: Any) -> None:
    row = rows(admin, f"SELECT * FROM {P}.log_status")[0]
    assert row.server_uuid == str(one(admin, "SELECT system_identifier FROM pg_control_system()"))
    now = one(admin, "SELECT pg_current_wal_lsn()")
    assert one(admin, "SELECT %s::pg_lsn <= %s::pg_lsn", row.local["wal_lsn"], now)
    assert row.local["timeline"] == 1
    assert row.local["wal_file"] == one(admin, "SELECT pg_walfile_name(%s)", row.local["wal_lsn"])
    checkpoint = one(admin, "SELECT redo_lsn FROM pg_control_checkpoint()")
    assert row.storage_engines["PostgreSQL"]["LSN_checkpoint"] == checkpoint
    assert row.replication == {"channels": []}
    assert len(rows(connect(server, user="plain"), f"SELECT * FROM {P}.log_status")) == 1


@pytest.mark.timeout(120)
def test_on_a_standby(server: Any, connect: Any, new_standby: Any) -> None:
    standby = new_standby(server)
    standby.wait_replayed(server)
    row = rows(connect(standby), f"SELECT * FROM {P}.log_status")[0]
    assert row.local["wal_file"] is None
    assert [channel["channel_name"] for channel in row.replication["channels"]] == [""]
    assert row.local["wal_lsn"] == row.storage_engines["PostgreSQL"]["LSN"]


@pytest.mark.timeout(120)
def test_base_backup(server: Any, admin: Any, connect: Any, tmp_path: Path) -> None:
    """While it runs, slowly; its details are for those who see the session."""
    for table in ("clone_status", "clone_progress"):
        assert rows(admin, f"SELECT * FROM {P}.{table}") == []
    program = Path(server.pg_config).parent / "pg_basebackup"
    with subprocess.Popen(
        [program, "-D", tmp_path / "backup", "-c", "fast", "-r", "32k", "-X", "none", "--no-sync",
         "-h", server.socket_dir, "-p", str(server.port), "-U", "postgres"],
        stderr=subprocess.DEVNULL,
    ) as backup:  # fmt: skip
        try:
            streaming = "SELECT count(*) FROM pg_stat_progress_basebackup WHERE phase ~ 'streaming'"
            wait_until(lambda: one(admin, streaming) == 1, "the backup")
            status = rows(admin, f"SELECT * FROM {P}.clone_status")[0]
            server_says = rows(admin, "SELECT * FROM pg_stat_progress_basebackup")[0]
            assert (status.id, status.pid, status.state) == (1, server_says.pid, "In Progress")
            assert (status.destination, status.application_name) == ("[local]", "pg_basebackup")
            assert status.begin_time is not None
            stages = rows(admin, f"SELECT * FROM {P}.clone_progress ORDER BY state")
            assert [row.state for row in stages] == ["Completed"] * 3 + ["In Progress"] + [
                "Not Started"
            ] * 2
            assert [row.threads for row in stages] == [1] * 4 + [0] * 2
            assert stages[3].stage == server_says.phase
            assert stages[3].estimate == server_says.backup_total
            assert stages[3].data >= server_says.backup_streamed
            plain = connect(server, user="plain")
            hidden = rows(plain, f"SELECT * FROM {P}.clone_status")[0]
            assert (hidden.begin_time, hidden.destination) == (None, None)
            assert {row.state for row in rows(plain, f"SELECT * FROM {P}.clone_progress")} == {None}
            sends = rows(admin, f"SELECT * FROM {P}.processlist WHERE id = %s", status.pid)
            assert [row.command for row in sends] == ["Binlog Dump"]
        finally:
            backup.terminate()
    wait_until(lambda: rows(admin, f"SELECT * FROM {P}.clone_status") == [], "its end")
