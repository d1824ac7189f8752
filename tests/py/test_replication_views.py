"""Tables of replication on a real standby and a real subscription, against the server's own views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import close_cluster, open_cluster
from helpers import one, rows, wait_until

P = "performance_schema"
PASSWORD = "zq7password"
TABLES = (
    "channels", "connection_configuration", "connection_status", "applier_configuration", "applier_status",
    "appliers", "applier_status_by_coordinator", "applier_status_by_worker", "applier_filters",
)  # fmt: skip


def roles(server: Any) -> None:
    server.psql("CREATE ROLE plain LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_monitor")


@pytest.fixture(scope="module")
def publisher(pg_config: str) -> Iterator[Any]:
    made = open_cluster(pg_config, extension=True, preload=True, wal_level="logical")
    roles(made)
    made.psql(
        "CREATE TABLE t (i int PRIMARY KEY); CREATE PUBLICATION p FOR TABLE t; INSERT INTO t VALUES (1)"
    )
    yield made
    close_cluster(made)


@pytest.fixture(scope="module")
def subscriber(pg_config: str, publisher: Any) -> Iterator[Any]:
    made = open_cluster(pg_config, extension=True, preload=True, wal_level="logical")
    roles(made)
    made.psql("CREATE TABLE t (i int PRIMARY KEY)")
    with made.connect() as admin:
        admin.execute(
            f"CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 port={publisher.port} user=postgres "
            f"dbname=postgres password={PASSWORD} sslmode=prefer' PUBLICATION p"
        )
        wait_until(lambda: one(admin, "SELECT count(*) FROM t") == 1, "the first copy")
        yield made
        admin.execute("DROP SUBSCRIPTION s")
    close_cluster(made)


def row(conn: Any, table: str) -> Any:
    (found,) = rows(conn, f"SELECT * FROM {P}.replication_{table}")
    return found


def test_no_channel(publisher: Any, connect: Any) -> None:
    admin = connect(publisher)
    for table in TABLES:
        assert rows(admin, f"SELECT * FROM {P}.replication_{table}") == []


def test_subscription(publisher: Any, subscriber: Any, connect: Any) -> None:
    admin = connect(subscriber)
    publisher.psql("INSERT INTO t VALUES (2)")
    wait_until(lambda: one(admin, "SELECT count(*) FROM t") == 2, "the change")
    worker = "pid IS NOT NULL AND relid IS NULL"
    server = rows(admin, f"SELECT * FROM pg_stat_subscription WHERE {worker}")[0]
    configured = row(admin, "connection_configuration")
    assert (configured.channel_name, configured.replication_type) == ("s", "LOGICAL")
    assert (configured.host, configured.port) == ("127.0.0.1", publisher.port)
    assert (configured.user_name, configured.ssl_allowed) == ("postgres", "YES")
    assert (configured.ssl_verify_server_certificate, configured.slot_name) == ("NO", "s")
    assert (configured.source_connection_auto_failover, configured.publications) == ("0", ["p"])
    assert (configured.heartbeat_interval, configured.connection_retry_interval) == (10, 5)
    state = row(admin, "connection_status")
    assert (state.service_state, state.pid, state.database_name) == ("ON", server.pid, "postgres")
    threads = f"SELECT thread_id FROM {P}.threads WHERE thread_os_id = %s"
    assert state.thread_id == one(admin, threads, server.pid)
    assert state.last_heartbeat_timestamp >= server.last_msg_receipt_time
    applier = row(admin, "applier_configuration")
    assert (applier.privilege_checks_user, applier.require_row_format) == ("postgres", "YES")
    assert (applier.desired_delay, applier.two_phase, applier.disable_on_error) == (0, False, False)
    status = row(admin, "applier_status")
    assert (status.service_state, status.count_transactions_retries) == ("ON", 0)
    (by_worker,) = rows(
        admin,
        f"SELECT * FROM {P}.replication_applier_status_by_worker WHERE applier_type = 'apply'",
    )
    assert (by_worker.worker_id, by_worker.thread_id) == (0, state.thread_id)
    assert by_worker.service_state == "ON"
    assert rows(admin, f"SELECT * FROM {P}.replication_applier_status_by_coordinator") == []
    filters = rows(
        admin, f"SELECT filter_name, filter_rule, synchronized FROM {P}.replication_applier_filters"
    )
    assert {tuple(f) for f in filters} == {
        ("PUBLICATION", "p", None), ("REPLICATE_DO_TABLE", "public.t", True),
    }  # fmt: skip


def test_a_subscription_that_fails_and_one_that_is_disabled(
    subscriber: Any, publisher: Any, connect: Any
) -> None:
    admin = connect(subscriber)
    admin.execute("INSERT INTO t VALUES (3)")
    publisher.psql("INSERT INTO t VALUES (3)")
    try:
        wait_until(lambda: row(admin, "applier_status").count_transactions_retries > 0, "an error")
        errors = "SELECT apply_error_count FROM pg_stat_subscription_stats"
        assert row(admin, "applier_status").count_transactions_retries <= one(admin, errors)
        admin.execute("ALTER SUBSCRIPTION s DISABLE")
        wait_until(lambda: row(admin, "connection_status").pid is None, "the end of the worker")
        assert row(admin, "connection_status").service_state == "OFF"
        assert row(admin, "applier_status").service_state == "OFF"
        assert rows(admin, f"SELECT * FROM {P}.replication_applier_status_by_worker") == []
    finally:
        admin.execute("DELETE FROM t WHERE i = 3")
        admin.execute("ALTER SUBSCRIPTION s ENABLE")
    wait_until(lambda: row(admin, "connection_status").service_state == "ON", "the worker")
    wait_until(lambda: one(admin, "SELECT count(*) FROM t") == 3, "the row")


def test_rights_on_subscriptions(subscriber: Any, connect: Any) -> None:
    """Everybody sees that there is one, as in pg_subscription; its connection string is for superusers."""
    for user in ("plain", "reader"):
        session = connect(subscriber, user=user)
        configured = row(session, "connection_configuration")
        assert (configured.channel_name, configured.slot_name) == ("s", "s")
        assert (configured.host, configured.port, configured.user_name) == (None, None, None)
        assert configured.ssl_allowed is None
    for user in ("postgres", "plain", "reader"):
        session = connect(subscriber, user=user)
        for table in TABLES:
            assert PASSWORD not in str(
                rows(session, f"SELECT t::text FROM {P}.replication_{table} AS t")
            )


CONNINFO = {
    "host=a port=1 user='b c' sslmode = require": ("a", "1", "b c", "require"),
    "postgresql://u:p:w@h:5/db?sslmode=disable": ("h", "5", "u", "disable"),
    "postgres://h/x?user=me&host=other": ("other", None, "me", None),
    "postgresql://[::1]:77,b:78/x": ("::1", "77", None, None),
    "postgresql://a%40b@h%2dh": ("h-h", None, "a@b", None),
    "postgresql://u:12345?x@h:5433/d": ("h", "5433", "u", None),
    "postgresql://u?v:secret@h?port=9": ("h", "9", "u?v", None),
    "postgresql://h/d?user=a@b": ("h", None, "a@b", None),
    "postgresql://": (None, None, None, None),
    r"user='a\'b' host=x host=y\ z": ("y z", None, "a'b", None),
    "password='x host=secret' port=7": (None, "7", None, None),
    "host": (None, None, None, None),
    "host=": ("", None, None, None),
    "host='open": ("open", None, None, None),
    "host=a\\": ("a\\", None, None, None),
    "": (None, None, None, None),
}


@pytest.mark.parametrize("conninfo", CONNINFO)
def test_pieces_of_connection_strings(publisher: Any, connect: Any, conninfo: str) -> None:
    """As libpq reads them."""
    sql = f"SELECT {P}.conninfo_value(%s, %s)"
    admin = connect(publisher)
    found = tuple(one(admin, sql, conninfo, key) for key in ("host", "port", "user", "sslmode"))
    assert found == CONNINFO[conninfo]


@pytest.mark.timeout(120)
def test_standby(publisher: Any, connect: Any, new_standby: Any) -> None:
    standby = new_standby(publisher)
    standby.wait_replayed(publisher)
    admin, plain = connect(standby), connect(standby, user="plain")
    wait_until(lambda: row(admin, "connection_status").service_state == "ON", "the stream")
    receiver = rows(admin, "SELECT * FROM pg_stat_wal_receiver")[0]
    configured, state = row(admin, "connection_configuration"), row(admin, "connection_status")
    assert (configured.channel_name, configured.replication_type) == ("", "PHYSICAL")
    assert configured.port == receiver.sender_port == publisher.port
    assert configured.host is not None
    assert (state.pid, state.database_name) == (receiver.pid, None)
    assert state.source_uuid == str(
        one(connect(publisher), "SELECT system_identifier FROM pg_control_system()")
    )
    assert row(admin, "applier_configuration").require_row_format == "NO"
    replayed = one(admin, "SELECT pg_last_wal_replay_lsn()")
    applier = row(admin, "applier_status")
    assert applier.service_state == "ON"
    assert 0 <= applier.bytes_behind < 100_000
    assert one(admin, "SELECT %s::pg_lsn <= %s::pg_lsn", replayed, applier.applied)
    worker = row(admin, "applier_status_by_worker")
    startup = one(admin, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'")
    assert (worker.applier_type, worker.pid, worker.worker_id) == ("startup", startup, 0)
    admin.execute("SELECT pg_wal_replay_pause()")
    assert row(admin, "applier_status").service_state == "OFF"
    assert row(admin, "applier_status_by_worker").service_state == "OFF"
    admin.execute("SELECT pg_wal_replay_resume()")
    hidden = row(plain, "connection_configuration")
    assert (hidden.host, hidden.port, hidden.user_name, hidden.slot_name) == (None,) * 4
    assert row(plain, "connection_status").service_state is None
    assert row(plain, "connection_status").received_transaction_set is None
    assert row(plain, "applier_status_by_worker").pid is None
