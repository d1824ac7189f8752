"""host_cache: clients that are let in, and those that are refused, by reason."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import one, rows, wait_until

CACHE = "performance_schema.host_cache"
LOCAL = "127.0.0.1"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE ROLE host_rejected LOGIN; CREATE ROLE host_secret LOGIN PASSWORD 'right';"
        "CREATE ROLE host_limited LOGIN CONNECTION LIMIT 0; CREATE ROLE host_group;"
        "CREATE ROLE host_reader LOGIN IN ROLE pg_monitor",
        autovacuum=False,
    ) as cluster:
        with cluster.connect() as conn:
            file = Path(one(conn, "SHOW hba_file"))
        file.write_text(
            "host all host_rejected all reject\nhost all host_secret all scram-sha-256\n"
            + file.read_text()
        )
        cluster.reload()
        yield cluster


@pytest.fixture
def db(server: Any) -> Iterator[Any]:
    with server.connect() as connection:
        connection.execute(f"TRUNCATE {CACHE}")
        yield connection


def refused(server: Any, **options: Any) -> str:
    with pytest.raises(psycopg.OperationalError) as error, server.connect(host=LOCAL, **options):
        pass
    return str(error.value)


def row(db: Any, address: str = LOCAL) -> Any:
    found = rows(db, f"SELECT * FROM {CACHE} WHERE ip = %s", address)
    return found[0] if found else None


def errors(db: Any) -> dict[str, int]:
    found = row(db)
    names = [name for name in found._fields if name.startswith("count_") and "error" in name]
    return {name: getattr(found, name) for name in names if getattr(found, name)}


def test_connections(server: Any, db: Any) -> None:
    before = one(db, "SELECT clock_timestamp()")
    for _ in range(3):
        with server.connect(host=LOCAL):
            pass
    found = row(db)
    assert (found.count_connections, found.sum_connect_errors, errors(db)) == (3, 0, {})
    assert (found.first_error_seen, found.last_error_sqlstate) == (None, None)
    assert (found.last_seen - before).total_seconds() > -1 and found.first_seen <= found.last_seen


@pytest.mark.parametrize(
    "options, column, sqlstate",
    [
        ({"user": "host_rejected"}, "count_host_acl_errors", "28000"),
        ({"user": "host_secret", "password": "wrong"}, "count_authentication_errors", "28P01"),
        ({"user": "host_nobody"}, "count_authentication_errors", "28000"),
        ({"user": "host_group"}, "count_authentication_errors", "28000"),
        ({"user": "host_limited"}, "count_max_user_connections_errors", "53300"),
        ({"dbname": "host_nowhere"}, "count_default_database_errors", "3D000"),
    ],
)
def test_refused(server: Any, db: Any, options: dict[str, str], column: str, sqlstate: str) -> None:
    for _ in range(2):
        refused(server, **options)
    wait_until(lambda: row(db) is not None and sum(errors(db).values()) == 2, "both are counted")
    assert errors(db) == {column: 2}
    found = row(db)
    assert found.last_error_sqlstate == sqlstate
    assert found.first_error_seen <= found.last_error_seen
    assert found.sum_connect_errors == 0


def test_a_broken_handshake(server: Any, db: Any) -> None:
    port = int(server.client_env()["PGPORT"])
    with socket.create_connection((LOCAL, port)) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
        raw.recv(100)
    wait_until(lambda: row(db) is not None and row(db).sum_connect_errors == 1, "it is counted")
    assert errors(db) == {"count_handshake_errors": 1}


def test_errors_of_sessions_are_none_of_connections(server: Any, db: Any) -> None:
    with server.connect(host=LOCAL) as conn:
        for _ in range(3):
            with pytest.raises(psycopg.Error):
                conn.execute("SELECT 1 / 0")
        pid = conn.info.backend_pid
        db.execute("SELECT pg_terminate_backend(%s)", (pid,))
    assert errors(db) == {}


def test_truncate(server: Any, db: Any) -> None:
    refused(server, user="host_nobody")
    wait_until(lambda: row(db) is not None, "it is counted")
    db.execute(f"TRUNCATE {CACHE}")
    assert rows(db, f"SELECT * FROM {CACHE}") == []
    refused(server, user="host_nobody")
    wait_until(lambda: row(db) is not None, "it is counted again")
    assert errors(db) == {"count_authentication_errors": 1}


def test_rights(server: Any, db: Any) -> None:
    with server.connect(host=LOCAL, user="host_reader") as reader:
        assert row(reader).count_connections == 1
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(f"TRUNCATE {CACHE}")
    with server.connect(host=LOCAL, user="host_secret", password="right") as plain:
        assert rows(plain, f"SELECT * FROM {CACHE}") == []


def test_no_room(new_cluster: Any) -> None:
    cluster = new_cluster(performance_schema__hosts_size=1)
    with cluster.connect() as conn, cluster.connect(host=LOCAL):
        lost = one(
            conn,
            "SELECT variable_value FROM performance_schema.status "
            "WHERE variable_name = 'performance_schema_host_cache_lost'",
        )
        assert one(conn, f"SELECT count(*) FROM {CACHE}") == 1
        assert lost >= 1 or row(conn) is not None
