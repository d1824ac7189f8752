"""Settings at server start: off, patterns, consumers, sizes; not preloaded; memory reserved."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from helpers import name_counts, one, rows, status, tables, thread_of, truncatable

New = Callable[..., Any]
MB = 1024 * 1024
OFF_AT_START = re.compile(r"wait/(?!io/file/|io/table/|lock/)")
"""Instruments that are off by default: waits but for files, tables and heavyweight locks."""
CONSUMERS_OFF_AT_START = {
    "events_statements_history_long",
    "events_transactions_history_long",
    "events_statements_cpu",
    "events_waits_current",
    "events_waits_history",
    "events_waits_history_long",
}


def instrument_states(conn: Any) -> dict[str, tuple[str, str | None]]:
    return {
        row.name: (row.enabled, row.timed)
        for row in rows(conn, "SELECT * FROM performance_schema.setup_instruments")
    }


def consumer_states(conn: Any) -> dict[str, str]:
    return dict(conn.execute("SELECT * FROM performance_schema.setup_consumers").fetchall())


def test_disabled(new_cluster: New, connect: New) -> None:
    """performance_schema.enabled = off: the tables exist, are empty, and can be written to."""
    server = new_cluster(performance_schema__enabled=False)
    conn = connect(server)
    conn.execute("SELECT 1")
    for table in tables():
        assert rows(conn, f"SELECT * FROM performance_schema.{table.name}") == [], table.name
    for name in truncatable():
        conn.execute(f"TRUNCATE performance_schema.{name}")
    conn.execute("UPDATE performance_schema.setup_instruments SET enabled = 'NO'")
    with pytest.raises(psycopg.Error, match="disabled") as caught:
        conn.execute("SELECT performance_schema.ps_current_thread_id()")
    assert caught.value.diag.message_hint
    assert (
        one(conn, "SELECT count(*) FROM pg_shmem_allocations WHERE name ~ 'performance_schema'")
        == 0
    )


def has_default_instruments(conn: Any) -> bool:
    """All are on but waits, of which MySQL's choice is on; all that have a timer are timed."""
    states = instrument_states(conn)
    off = {name for name, (enabled, _) in states.items() if enabled == "NO"}
    counted = {name for name, (_, timed) in states.items() if timed == "NO"}
    return (
        off == {name for name in states if OFF_AT_START.match(name)}
        and len(off) > 50
        and all(name.startswith("statement/com/") for name in counted)
    )


def test_defaults(new_cluster: New, connect: New) -> None:
    """Statements, transactions, errors and the waits that MySQL times are on.

    Off are the other waits, the rows of waits, the long histories and CPU time.
    """
    conn = connect(new_cluster())
    assert has_default_instruments(conn)
    enabled = {name for name, state in instrument_states(conn).items() if state[0] == "YES"}
    assert enabled >= {"idle", "wait/io/table/sql/handler", "wait/lock/heavyweight/relation"}
    assert "wait/io/file/postgres/DataFileRead" in enabled
    off = {name for name, state in consumer_states(conn).items() if state == "NO"}
    assert off == CONSUMERS_OFF_AT_START


def test_instrument_patterns(new_cluster: New, connect: New) -> None:
    """The longest pattern that matches wins, wherever it stands."""
    server = new_cluster(
        performance_schema__instrument="statement/sql/select=counted, %=off, "
        "statement/sql/% = on,statement/sql/s_ow = OFF, error=on"
    )
    conn = connect(server)
    states = instrument_states(conn)
    assert states["statement/sql/select"] == ("YES", "NO")
    assert states["statement/sql/insert"] == ("YES", "YES")
    assert states["statement/sql/show"] == ("NO", "NO")
    assert states["statement/com/Query"] == ("NO", "NO")
    assert states["transaction"] == ("NO", "NO")
    assert states["error"][0] == "YES"
    watched = connect(server)
    for sql in ("SELECT 1", "SHOW work_mem", "SET work_mem = '4MB'"):
        watched.execute(sql)
    found = name_counts(conn, thread_of(conn, watched))
    assert {name: n for name, n in found.items() if name.startswith("sql/")} == {
        "sql/select": 1,
        "sql/set": 1,
    }
    assert one(conn, "SELECT count(*) FROM performance_schema.events_transactions_current") == 0


@pytest.mark.parametrize(
    "value, named",
    [
        ("%=off, nonsense", "nonsense"),
        ("statement/%=maybe", "statement/%=maybe"),
        ("=on", "=on"),
        ("x" * 200 + "=on", "x" * 200 + "=on"),
    ],
)
def test_bad_instrument_value(new_cluster: New, value: str, named: str) -> None:
    """A warning says which part cannot be understood; the default holds.

    In postgresql.conf the server itself makes a warning of an extension's bad value.
    """
    server = new_cluster(performance_schema__instrument=value)
    log = server.log_text()
    assert 'invalid value for parameter "performance_schema.instrument"' in log
    assert f'"{named}" cannot be understood' in log
    with server.connect() as conn:
        assert has_default_instruments(conn)


def test_pattern_that_matches_nothing(new_cluster: New) -> None:
    """A warning that names it; the rest holds."""
    server = new_cluster(performance_schema__instrument="nosuch/%=on, statement/com/%=off")
    assert 'no instrument matches "nosuch/%"' in server.log_text()
    with server.connect() as conn:
        assert instrument_states(conn)["statement/com/Query"][0] == "NO"


@pytest.mark.parametrize(
    "name, value",
    [
        ("performance_schema.digests_size", "-2"),
        ("performance_schema.digests_size", "many"),
        ("performance_schema.max_statement_stack", "0"),
        ("performance_schema.consumer_statements_digest", "perhaps"),
    ],
)
def test_bad_value(new_cluster: New, name: str, value: str) -> None:
    """Refused by a warning with its name; the default holds."""
    server = new_cluster(**{name.replace(".", "__"): value})
    log = server.log_text()
    assert f'parameter "{name}"' in log or f'"{name}" requires' in log, log
    server.psql("SELECT * FROM performance_schema.status")


def test_unknown_name(new_cluster: New, connect: New) -> None:
    """A misspelt setting is a warning that names it, and can never be set."""
    server = new_cluster(performance_schema__digest_size=10)
    assert 'invalid configuration parameter name "performance_schema.digest_size"' in (
        server.log_text()
    )
    with pytest.raises(psycopg.Error, match="digest_size"):
        connect(server).execute("SET performance_schema.digest_size = 5")


def test_consumer_settings(new_cluster: New, connect: New) -> None:
    conn = connect(
        new_cluster(
            performance_schema__consumer_events_statements_history_long=True,
            performance_schema__consumer_statements_digest=False,
        )
    )
    states = consumer_states(conn)
    assert states["events_statements_history_long"] == "YES"
    assert states["statements_digest"] == "NO"
    assert one(conn, "SELECT count(*) FROM performance_schema.events_statements_history_long") > 0
    digests = "SELECT count(*) FROM performance_schema.events_statements_summary_by_digest"
    assert one(conn, digests) == 0


def test_sizes(new_cluster: New, connect: New) -> None:
    """Every size that is given is the size that is taken."""
    wanted = {
        "accounts_size": 7,
        "users_size": 6,
        "hosts_size": 5,
        "digests_size": 300,
        "events_statements_history_size": 3,
        "events_statements_history_long_size": 50,
        "events_transactions_history_size": 4,
        "events_transactions_history_long_size": 60,
        "events_waits_history_size": 6,
        "events_waits_history_long_size": 70,
        "lock_waits_history_long_size": 80,
        "error_log_size": 85,
        "max_file_instances": 90,
        "max_table_instances": 95,
        "max_statement_stack": 4,
        "max_sql_text_length": 100,
        "max_digest_length": 90,
    }
    conn = connect(
        new_cluster(
            **{f"performance_schema__{name}": value for name, value in wanted.items()},
            performance_schema__setup_actors_size=2,
            performance_schema__setup_objects_size=20,
        )
    )
    found = status(conn)
    assert {name: found[name] for name in wanted} == wanted
    insert = "INSERT INTO performance_schema.setup_actors (user_name) VALUES (%s)"
    conn.execute(insert, ("one",))
    with pytest.raises(psycopg.Error):
        conn.execute(insert, ("two",))


def test_all_sizes_zero(new_cluster: New, connect: New) -> None:
    """Size 0: no rows, the losses are counted, the server works."""
    names = (
        "accounts_size", "users_size", "hosts_size", "setup_actors_size", "setup_objects_size",
        "digests_size", "events_statements_history_size", "events_statements_history_long_size",
        "events_transactions_history_size", "events_transactions_history_long_size",
        "events_waits_history_size", "events_waits_history_long_size",
        "lock_waits_history_long_size", "error_log_size", "max_file_instances", "max_table_instances",
        "max_sql_text_length", "max_digest_length", "memory_pool_size",
    )  # fmt: skip
    server = new_cluster(**{f"performance_schema__{name}": 0 for name in names})
    conn = connect(server)
    conn.execute("SELECT performance_schema.set_consumers('%', true)")
    for i in range(20):
        conn.execute(f"SELECT {i}")
    for table in tables():
        rows(conn, f"SELECT * FROM performance_schema.{table.name}")
    for name in truncatable():
        conn.execute(f"TRUNCATE performance_schema.{name}")
    for name in ("accounts", "users", "hosts", "setup_actors", "events_statements_history"):
        assert one(conn, f"SELECT count(*) FROM performance_schema.{name}") == 0, name


def test_all_sizes_zero_counts_losses(new_cluster: New, connect: New) -> None:
    """Connections beyond accounts_size are lost accounts."""
    server = new_cluster(performance_schema__accounts_size=0, performance_schema__users_size=0)
    conn = connect(server)
    before = status(conn)["performance_schema_accounts_lost"]
    for _ in range(3):
        server.connect().close()
    assert status(conn)["performance_schema_accounts_lost"] - before >= 3


@pytest.mark.parametrize("connections, limit", [(100, 36 * MB), (1000, 128 * MB)])
def test_memory_reserved(new_cluster: New, connect: New, connections: int, limit: int) -> None:
    """With default sizes; the parts in the table memory add up to what the server allocated."""
    conn = connect(new_cluster(max_connections=connections, shared_buffers="16MB"))
    total = status(conn)["memory_bytes"]
    assert total <= limit
    allocated = one(
        conn,
        "SELECT sum(allocated_size)::int8 FROM pg_shmem_allocations "
        "WHERE name = 'performance_schema'",
    )
    assert total <= allocated <= limit
    parts = one(
        conn,
        "SELECT sum(memory)::int8 FROM performance_schema.memory "
        "WHERE name <> 'performance_schema.memory'",
    )
    assert 0.99 * total < parts <= total


def test_not_preloaded(new_cluster: New, connect: New) -> None:
    """Tables and functions raise an error with a hint; the server is unharmed."""
    server = new_cluster(preload=False)
    conn = connect(server)
    for table in tables():
        with pytest.raises(psycopg.Error) as caught:
            conn.execute(f"SELECT * FROM performance_schema.{table.name}")
        assert "shared_preload_libraries" in str(caught.value)
        assert caught.value.diag.message_hint
    for call in ("reset_all()", "set_consumers('%', true)", "ps_current_thread_id()"):
        with pytest.raises(psycopg.Error, match="shared_preload_libraries"):
            conn.execute(f"SELECT performance_schema.{call}")
    with pytest.raises(psycopg.Error, match="shared_preload_libraries"):
        conn.execute("TRUNCATE performance_schema.accounts")
    conn.execute("LOAD 'performance_schema'")
    conn.execute("CREATE TABLE t AS SELECT generate_series(1, 10)")
    assert one(conn, "SELECT count(*) FROM t") == 10
    server.restart()
    server.psql("SELECT 1")
    server.psql("DROP EXTENSION performance_schema")


def test_query_ids_off(new_cluster: New, connect: New) -> None:
    """compute_query_id = off: one warning, everything in the catch-all row."""
    server = new_cluster(compute_query_id="off")
    assert server.log_text().count("compute_query_id is off") == 1
    conn = connect(server)
    for i in range(5):
        conn.execute(f"SELECT {i}")
    found = rows(
        conn,
        "SELECT schema_name, digest_text, count_star "
        "FROM performance_schema.events_statements_summary_by_digest",
    )
    assert [(row.schema_name, row.digest_text) for row in found] == [(None, None)]
    assert found[0].count_star >= 5


def test_query_ids_switched_off(new_cluster: New, connect: New) -> None:
    """Commands whose id is known from before go to the catch-all row, too."""
    conn = connect(new_cluster())
    conn.execute("BEGIN; ROLLBACK")
    conn.execute("SET compute_query_id = off")
    conn.execute("BEGIN; ROLLBACK")
    found = rows(
        conn,
        "SELECT digest, queryid FROM performance_schema.events_statements_history "
        "WHERE thread_id = performance_schema.ps_current_thread_id() "
        "AND sql_text IN ('BEGIN', 'ROLLBACK') ORDER BY event_id",
    )
    assert [row.digest is None for row in found] == [False, False, True, True]
    assert [row.queryid is None for row in found] == [False, False, True, True]


def test_query_ids_auto(new_cluster: New, connect: New) -> None:
    """compute_query_id = auto, the server's default, is switched on by the library."""
    conn = connect(new_cluster(compute_query_id="auto"))
    conn.execute("SELECT 'auto', 'id'")
    found = rows(
        conn,
        "SELECT queryid FROM performance_schema.events_statements_summary_by_digest "
        "WHERE digest_text = 'SELECT ...' OR digest_text LIKE 'SELECT ?%'",
    )
    assert found and found[0].queryid is not None


def test_clock_instead_of_cycles(new_cluster: New, connect: New) -> None:
    """performance_schema.cycle_timer = off."""
    conn = connect(new_cluster(performance_schema__cycle_timer=False))
    assert {
        row.timer_name for row in rows(conn, "SELECT * FROM performance_schema.setup_timers")
    } == {"NANOSECOND"}
    conn.execute("SELECT pg_sleep(0.1)")
    wait = one(
        conn,
        "SELECT max(timer_wait) FROM performance_schema.events_statements_history "
        "WHERE sql_text LIKE 'SELECT pg_sleep%'",
    )
    assert 0.1e12 <= wait < 0.12e12


def test_drop_and_create(new_cluster: New, connect: New) -> None:
    """DROP EXTENSION leaves an empty schema; the counters live on in memory."""
    server = new_cluster()
    conn = connect(server)
    conn.execute("DROP EXTENSION performance_schema")
    assert one(
        conn,
        "SELECT count(*) FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace "
        "WHERE nspname IN ('sys', 'performance_schema')",
    ) == 0  # fmt: skip
    conn.execute("SELECT 'between'")
    conn.execute("CREATE EXTENSION performance_schema")
    texts = rows(
        conn,
        "SELECT query_sample_text FROM performance_schema.events_statements_summary_by_digest",
    )
    assert "SELECT 'between'" in [row.query_sample_text for row in texts]
