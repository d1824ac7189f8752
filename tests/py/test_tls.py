"""What is shown of TLS on a server that serves it; without it see test_server_views.py and test_sys_sessions.py."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import with_library
from helpers import one, rows, serve_tls, wait_until

P = "performance_schema"
LOCAL = "127.0.0.1"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(pg_config, "CREATE ROLE tls_plain LOGIN") as made:
        serve_tls(made)
        yield made


def test_sessions(server: Any) -> None:
    """Version and cipher are those of pg_stat_ssl, by all the names they have; of a session without TLS there are none."""
    with server.connect(sslmode="require", host=LOCAL) as safe, server.connect(sslmode="disable", host=LOCAL) as open_:
        pids = (safe.info.backend_pid, open_.info.backend_pid)
        (ssl,) = rows(open_, "SELECT * FROM pg_stat_ssl WHERE pid = %s", pids[0])
        assert ssl.ssl and ssl.version.startswith("TLS")
        status = "SELECT s.ssl_version, s.ssl_cipher FROM sys.session_ssl_status AS s JOIN performance_schema.threads USING (thread_id)"
        found = [rows(open_, f"{status} WHERE processlist_id = %s", pid) for pid in pids]
        assert [[tuple(row) for row in group] for group in found] == [[(ssl.version, ssl.cipher)], [("", "")]]
        kinds = [one(open_, f"SELECT connection_type FROM {P}.threads WHERE processlist_id = %s", pid) for pid in pids]
        assert kinds == ["SSL/TLS", "TCP/IP"]
        attributes = [
            dict(
                open_.execute(
                    f"SELECT attr_name, attr_value FROM {P}.session_connect_attrs WHERE processlist_id = %s AND attr_name ~ 'tls'", (pid,)
                ).fetchall()
            )
            for pid in pids
        ]
        assert attributes == [{"pg_tls_version": ssl.version, "pg_tls_cipher": ssl.cipher}, {}]


@pytest.mark.parametrize("user", ["postgres", "tls_plain"])
def test_channel(server: Any, user: str) -> None:
    with server.connect(user=user, host=LOCAL) as session:
        values = {row.property: row.value for row in rows(session, f"SELECT * FROM {P}.tls_channel_status")}
        settings = dict(session.execute("SELECT name, setting FROM pg_settings WHERE name ~ '^ssl'").fetchall())
        assert values["Enabled"] == "Yes"
        assert values["Current_tls_cert"] == settings["ssl_cert_file"]
        assert values.get("Current_tls_version") == settings.get("ssl_min_protocol_version")


def test_a_handshake_that_fails(server: Any) -> None:
    """host_cache tells that TLS could not be agreed upon."""
    with server.connect() as observer:
        errors = f"SELECT coalesce(sum(count_ssl_errors), 0) FROM {P}.host_cache"
        before = one(observer, errors)
        with socket.create_connection((LOCAL, server.port), timeout=5) as raw:
            raw.sendall(struct.pack("!ii", 8, 80877103))
            assert raw.recv(1) == b"S"
            raw.sendall(b"this is no handshake" * 10)
            with contextlib.suppress(ConnectionResetError):
                raw.recv(1000)
        wait_until(lambda: one(observer, errors) == before + 1, "it is counted")
