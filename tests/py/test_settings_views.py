"""Tables of settings against pg_settings, the files and the catalogue; what others may see of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import with_library
from helpers import one, rows, thread_of, wait_until

P = "performance_schema"
TABLES = (
    "global_variables",
    "session_variables",
    "variables_by_thread",
    "user_variables_by_thread",
    "variables_info",
    "variables_metadata",
    "persisted_variables",
)
SETUP = (
    "CREATE ROLE plain LOGIN; CREATE ROLE other LOGIN; CREATE ROLE reader LOGIN IN ROLE pg_monitor; "
    "ALTER ROLE plain SET work_mem = '5MB'; ALTER ROLE other SET work_mem = '6MB'; "
    "ALTER ROLE other SET their.secret = 'hidden'; ALTER DATABASE postgres SET work_mem = '7MB'; "
    "ALTER DATABASE postgres SET random_page_cost = 3; ALTER ROLE ALL SET random_page_cost = 2; "
    "ALTER ROLE other IN DATABASE postgres SET work_mem = '8MB'"
)


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """Of this file: with settings by role, database and file."""
    with with_library(pg_config, SETUP, from_file__x="of the file") as made:
        yield made


@pytest.fixture
def admin(server: Any, connect: Callable[..., Any]) -> Any:
    return connect(server)


@pytest.fixture
def plain(server: Any, connect: Callable[..., Any]) -> Any:
    return connect(server, user="plain")


def values(conn: Any, table: str, where: str = "true") -> dict[str, Any]:
    found = rows(conn, f"SELECT variable_name, variable_value FROM {P}.{table} WHERE {where}")
    named = {row.variable_name: row.variable_value for row in found}
    assert len(named) == len(found)
    return named


@pytest.mark.parametrize("user", ["postgres", "plain", "reader"])
def test_what_pg_settings_shows_and_no_more(server: Any, connect: Any, user: str) -> None:
    session = connect(server, user=user)
    session.execute("SET work_mem = '9MB'")
    settings = {row.name: row for row in rows(session, "SELECT * FROM pg_settings")}
    assert values(session, "session_variables") == {n: s.setting for n, s in settings.items()}
    of_server = values(session, "global_variables")
    assert of_server == {name: settings[name].reset_val for name in of_server}
    assert set(settings) - set(of_server) == {
        "transaction_deferrable", "transaction_isolation", "transaction_read_only",
    }  # fmt: skip
    own = f"thread_id = {thread_of(session, session)}"
    assert values(session, "variables_by_thread", own) == values(session, "session_variables")
    for table in ("variables_info", "variables_metadata"):
        found = rows(session, f"SELECT * FROM {P}.{table}")
        assert {row.variable_name for row in found} == set(settings)
        assert len(found) == len(settings)
        for row in found:
            setting = settings[row.variable_name]
            assert (row.min_value, row.max_value) == (setting.min_val, setting.max_val)
            assert row.unit == setting.unit
    secret = "primary_conninfo"
    assert (secret in settings) == (user != "plain")


def test_global_and_session_value(admin: Any) -> None:
    before = values(admin, "global_variables")["enable_seqscan"]
    admin.execute("SET enable_seqscan = off")
    assert values(admin, "global_variables")["enable_seqscan"] == before == "on"
    assert values(admin, "session_variables")["enable_seqscan"] == "off"


def test_sources(server: Any, connect: Any, plain: Any) -> None:
    """Each by the way it was set; DYNAMIC knows no time, LOGIN the session's start."""
    server.psql("ALTER SYSTEM SET log_min_messages = 'error'")
    server.psql("SELECT pg_reload_conf()")
    admin = connect(server)

    def infos(session: Any) -> dict[str, Any]:
        return {r.variable_name: r for r in rows(session, f"SELECT * FROM {P}.variables_info")}

    wait_until(lambda: infos(admin)["log_min_messages"].variable_source == "PERSISTED", "reload")
    admin.execute("SET enable_sort = off")
    found = infos(admin)
    sources = {
        "max_connections": "EXTRA", "enable_sort": "DYNAMIC", "work_mem": "LOGIN", "config_file": "COMPILED",
        "log_min_messages": "PERSISTED", "enable_hashjoin": "COMPILED", "max_wal_size": "GLOBAL",
    }  # fmt: skip
    assert {name: found[name].variable_source for name in sources} == sources
    settings = {row.name: row for row in rows(admin, "SELECT * FROM pg_settings")}
    for name, info in found.items():
        setting = settings[name]
        assert (info.variable_path, info.source_line) == (setting.sourcefile, setting.sourceline)
        assert (info.source, info.default_value) == (setting.source, setting.boot_val)
    assert found["enable_sort"].set_time is None
    client = one(admin, "SELECT coalesce(host(inet_client_addr()), '[local]')")
    assert (found["enable_sort"].set_user, found["enable_sort"].set_host) == ("postgres", client)
    begun = "SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    assert found["work_mem"].set_time == one(admin, begun)
    assert found["log_min_messages"].set_time == one(admin, "SELECT pg_conf_load_time()")
    assert found["enable_hashjoin"].set_time == one(admin, "SELECT pg_postmaster_start_time()")
    assert infos(plain)["max_connections"].variable_path is None
    server.psql("ALTER SYSTEM RESET log_min_messages")


def test_metadata(admin: Any) -> None:
    found = {r.variable_name: r for r in rows(admin, f"SELECT * FROM {P}.variables_metadata")}
    assert (found["work_mem"].variable_scope, found["work_mem"].data_type) == ("SESSION", "Integer")
    assert found["shared_buffers"].variable_scope == "GLOBAL"
    assert found["transaction_isolation"].variable_scope == "SESSION_ONLY"
    assert found["transaction_isolation"].data_type == "Enumeration"
    assert "serializable" in found["transaction_isolation"].enum_values
    assert found["seq_page_cost"].data_type == "Numeric"
    assert found["search_path"].data_type == "String"
    assert found["jit"].data_type == "Boolean"
    assert all(row.documentation for row in found.values())


def test_persisted(server: Any, admin: Any, plain: Any, connect: Any) -> None:
    """The file, before anybody has read it again; for who may read pg_file_settings only."""
    admin.execute("ALTER SYSTEM SET work_mem = '11MB'")
    admin.execute("ALTER SYSTEM SET primary_conninfo = 'host=x password=zq9secret'")
    try:
        by_file = rows(
            admin,
            "SELECT name, setting, sourceline, applied FROM pg_file_settings "
            "WHERE sourcefile ~ 'auto.conf'",
        )
        found = rows(
            admin,
            "SELECT variable_name, variable_value, source_line, applied "
            f"FROM {P}.persisted_variables",
        )
        assert [tuple(row) for row in found] == [tuple(row) for row in by_file]
        assert values(admin, "persisted_variables")["work_mem"] == "11MB"
        for session in (plain, connect(server, user="reader")):
            assert values(session, "persisted_variables") == {}
    finally:
        admin.execute("ALTER SYSTEM RESET ALL")
    assert values(admin, "persisted_variables") == {}


def test_settings_of_other_threads(server: Any, admin: Any, plain: Any, connect: Any) -> None:
    """The closest line of the catalogue; sessions of others only for those who see them."""
    other = connect(server, user="other", application_name="their program")
    other.execute("SELECT 1")
    theirs = f"thread_id = {thread_of(admin, other)}"
    of_others = {"work_mem": "8MB", "random_page_cost": "3", "application_name": "their program"}
    for session in (admin, connect(server, user="reader")):
        assert values(session, "variables_by_thread", theirs) == of_others
    assert values(plain, "variables_by_thread", theirs) == {}
    sources = rows(
        admin, f"SELECT variable_name, variable_source FROM {P}.variables_by_thread WHERE {theirs}"
    )
    assert {tuple(row) for row in sources} == {
        ("work_mem", "database user"), ("random_page_cost", "database"), ("application_name", "session"),
    }  # fmt: skip
    of_plain = f"thread_id = {thread_of(admin, plain)}"
    assert values(admin, "variables_by_thread", of_plain)["work_mem"] == "5MB"
    for name, value in (("work_mem", "8192"), ("random_page_cost", "3")):
        assert values(other, "session_variables")[name] == value


def test_user_variables(server: Any, plain: Any, connect: Any) -> None:
    """What the session that asks has set itself, nothing of a file or the catalogue."""
    plain.execute("SET own.thing = 'ä''b'")
    plain.execute("SELECT set_config('own.other', '', false)")
    own = {"own.thing": "ä'b", "own.other": ""}
    assert values(plain, "user_variables_by_thread") == own
    threads = rows(plain, f"SELECT DISTINCT thread_id FROM {P}.user_variables_by_thread")
    assert [row.thread_id for row in threads] == [thread_of(plain, plain)]
    for user in ("reader", "other", "postgres"):
        assert values(connect(server, user=user), "user_variables_by_thread") == {}
    of_client = connect(server, user="other", options="-c by.client=1")
    assert values(of_client, "user_variables_by_thread") == {"by.client": "1"}
    plain.execute("BEGIN")
    plain.execute("SET LOCAL own.thing = 'local'")
    assert values(plain, "user_variables_by_thread")["own.thing"] == "local"
    plain.execute("ROLLBACK")
    assert values(plain, "user_variables_by_thread") == own
    plain.execute("RESET own.thing")
    plain.execute("RESET own.other")
    assert values(plain, "user_variables_by_thread") == {}


def test_where_nothing_is_recorded(new_cluster: Any, connect: Any) -> None:
    """Disabled: tables of threads are empty, the others know the settings all the same."""
    session = connect(new_cluster(performance_schema__enabled=False))
    session.execute("SET own.thing = 1")
    for table in TABLES:
        empty = "by_thread" in table or table == "persisted_variables"
        assert (one(session, f"SELECT count(*) FROM {P}.{table}") == 0) == empty, table
