"""What the settings at server start do: off, instruments, consumers, sizes, wrong values.

One server is started again and again with other settings; `boot(...)` returns it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from conftest import DEFAULT_CONF, close_cluster, open_cluster
from helpers import losses, one, rows, status, tables
from psycopg import errors

MEMORY_LIMIT = 36 * 1024 * 1024
RULES = ("%=off", "statement/%=on", "statement/sql/s%=off", "statement/sql/select=counted")
DIGESTS = "performance_schema.events_statements_summary_by_digest"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    made = open_cluster(pg_config, extension=True, preload=True)
    yield made
    close_cluster(made)


class Boot:
    """Starts the server again with these settings and no others."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.position = 0

    def __call__(self, **conf: Any) -> Any:
        self.server.stop()
        self.server.conf = {"shared_preload_libraries": "performance_schema", **DEFAULT_CONF}
        self.server.configure(**conf)
        self.position = self.server.log_position()
        self.server.start()
        return self.server

    def log(self) -> str:
        """What the server has logged since its last start."""
        return self.server.log_text(self.position)


@pytest.fixture
def boot(server: Any) -> Boot:
    return Boot(server)


def instruments(conn: Any) -> dict[str, tuple[str, str | None]]:
    found = rows(conn, "SELECT name, enabled, timed FROM performance_schema.setup_instruments")
    return {row.name: (row.enabled, row.timed) for row in found}


def counts(conn: Any, name: str) -> tuple[int, Any]:
    """COUNT_STAR and SUM_TIMER_WAIT of a statement in the whole server."""
    found = rows(
        conn,
        "SELECT count_star, sum_timer_wait "
        "FROM performance_schema.events_statements_summary_global_by_event_name "
        "WHERE event_name = %s",
        f"statement/sql/{name}",
    )
    return tuple(found[0]) if found else (0, None)


def like(pattern: str, name: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace("%", ".*"), name) is not None


def recorded(row: Any) -> bool:
    """Is this an event, or a summary that counts something?"""
    sums = [value for name, value in row._asdict().items() if name.startswith("count_")]
    return any(sums) or not sums


# --- enabled ----------------------------------------------------------------------------------


def test_disabled_changes(boot: Boot) -> None:
    """Changes find no row, resets have nothing to do, and INSERT says why it cannot."""
    with boot(performance_schema__enabled=False).connect() as conn:
        for table in tables():
            name = f"performance_schema.{table.name}"
            assert rows(conn, f"SELECT * FROM {name}") == [], name
            if "UPDATE" in table.rights:
                column = next(c.name for c in table.columns if "updatable" in c.flags)
                assert conn.execute(f"UPDATE {name} SET {column} = {column}").rowcount == 0
            if "DELETE" in table.rights:
                assert conn.execute(f"DELETE FROM {name}").rowcount == 0
            if "TRUNCATE" in table.rights:
                conn.execute(f"TRUNCATE {name}")
                conn.execute("SELECT performance_schema.reset(%s)", (table.name,))
        assert one(conn, "SELECT performance_schema.reset_all()") == 0
        assert one(conn, "SELECT performance_schema.set_instruments('%', true)") == 0
        assert one(conn, "SELECT count(*) FROM sys.statement_analysis") == 0
        for command in (
            "INSERT INTO performance_schema.setup_actors VALUES ('h', 'u', '%', 'YES', 'YES')",
            "INSERT INTO performance_schema.setup_objects VALUES ('TABLE', 's', 't', 'NO', 'NO')",
            "SELECT performance_schema.set_actor('u', 'h', true)",
            "SELECT performance_schema.ps_current_thread_id()",
        ):
            with pytest.raises(
                errors.ObjectNotInPrerequisiteState, match="performance_schema is disabled"
            ) as refusal:
                conn.execute(command)
            assert "performance_schema.enabled" in refusal.value.diag.message_hint


def test_disabled_leaves_the_server_alone(boot: Boot) -> None:
    with boot(performance_schema__enabled=False).connect() as conn:
        conn.execute("CREATE TEMP TABLE t AS SELECT generate_series(1, 10) AS i")
        assert one(conn, "SELECT sum(i) FROM t") == 55
        with pytest.raises(errors.DivisionByZero):
            conn.execute("SELECT 1 / 0")
        assert one(conn, "SELECT 1") == 1
    assert "performance_schema" not in boot.log()


def test_settings_are_fixed_at_start(boot: Boot) -> None:
    with boot().connect() as conn:
        names = rows(
            conn,
            "SELECT name FROM pg_settings WHERE name LIKE 'performance\\_schema.%' "
            "AND context = 'postmaster'",
        )
        assert len(names) > 20
        for (name,) in names:
            with pytest.raises(errors.CantChangeRuntimeParam):
                conn.execute("SELECT set_config(%s, current_setting(%s), false)", (name, name))


# --- instruments and consumers -----------------------------------------------------------------


def test_longest_pattern_wins_in_any_order(boot: Boot) -> None:
    """The result follows from the patterns' lengths alone: the reversed list gives the same."""
    seen = []
    for rules in (RULES, RULES[::-1]):
        with boot(performance_schema__instrument=" , ".join(rules)).connect() as conn:
            seen.append(instruments(conn))
    assert seen[0] == seen[1]
    for name, (enabled, timed) in seen[0].items():
        matching = [rule.split("=") for rule in RULES if like(rule.split("=")[0], name)]
        winner = max(matching, key=lambda rule: len(rule[0]))[1]
        assert enabled == ("NO" if winner == "off" else "YES"), name
        assert timed in ("YES" if winner == "on" else "NO", None), name


def test_later_of_equal_patterns_wins_and_case_does_not_matter(boot: Boot) -> None:
    rules = "statement/sql/%=OFF,statement/sql/%=Counted, transaction = timed ,error=no,"
    with boot(performance_schema__instrument=rules).connect() as conn:
        found = instruments(conn)
    assert found["statement/sql/select"] == ("YES", "NO")
    assert found["transaction"] == ("YES", "YES")
    assert found["error"][0] == "NO"


def test_instruments_act_from_the_first_statement(boot: Boot) -> None:
    rules = "statement/sql/insert=off,statement/sql/update=counted,statement/sql/delete=timed"
    with boot(performance_schema__instrument=rules).connect() as conn:
        conn.execute("CREATE TEMP TABLE t (i integer)")
        for statement in ("INSERT INTO t VALUES (1)", "UPDATE t SET i = 2", "DELETE FROM t"):
            conn.execute(statement)
        assert counts(conn, "insert")[0] == 0
        count, time = counts(conn, "update")
        assert (count, time or 0) == (1, 0)
        count, time = counts(conn, "delete")
        assert count == 1 and time > 0


@pytest.mark.parametrize("every_other", [0, 1])
def test_each_consumer_has_a_setting(boot: Boot, every_other: int) -> None:
    """Each is what its setting says, whatever its parents are."""
    with boot().connect() as conn:
        names = rows(conn, "SELECT name FROM performance_schema.setup_consumers")
    wanted = {row.name: i % 2 == every_other for i, row in enumerate(sorted(names))}
    conf = {f"performance_schema__consumer_{name}": on for name, on in wanted.items()}
    with boot(**conf).connect() as conn:
        found = dict(rows(conn, "SELECT name, enabled FROM performance_schema.setup_consumers"))
    assert found == {name: "YES" if on else "NO" for name, on in wanted.items()}


def test_global_instrumentation_off_records_nothing(boot: Boot) -> None:
    server = boot(performance_schema__consumer_global_instrumentation=False)
    with server.connect() as conn:
        conn.execute("SELECT 1")
        for table in tables():
            if table.name.startswith("events_"):
                found = rows(conn, f"SELECT * FROM performance_schema.{table.name}")
                assert not any(recorded(row) for row in found), table.name


# --- wrong values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "offender"),
    [
        ("%=off, statement/%=perhaps", "statement/%=perhaps"),
        ("statement/sql/select", "statement/sql/select"),
        ("=on", "=on"),
        ("x" * 2000 + "=on", "too long"),
    ],
)
def test_bad_instrument_rule_is_named(boot: Boot, value: str, offender: str) -> None:
    """The server starts without any of the rules, and says which it did not understand."""
    with boot(performance_schema__instrument=value).connect() as conn:
        assert instruments(conn)["statement/sql/select"] == ("YES", "YES")
    log = boot.log()
    assert 'invalid value for parameter "performance_schema.instrument"' in log
    assert offender in log
    assert "HINT:" in log


def test_other_wrong_settings_are_named(boot: Boot) -> None:
    """One warning each; the defaults hold instead."""
    wrong = {
        "performance_schema.no_such_setting": "on",
        "performance_schema.consumer_no_such_consumer": "on",
        "performance_schema.digests_size": "many",
        "performance_schema.accounts_size": "-2",
        "performance_schema.max_statement_stack": "0",
        "performance_schema.consumer_events_statements_cpu": "sometimes",
        "performance_schema.instrument": "wait/no/such=on",
    }
    server = boot(**wrong)
    warnings = [line for line in boot.log().splitlines() if "WARNING" in line]
    for name in wrong:
        assert len([line for line in warnings if name in line]) == 1, (name, warnings)
    assert any("wait/no/such" in line for line in warnings)
    with server.connect() as conn:
        shown = dict(rows(conn, "SELECT name, setting FROM pg_settings"))
        assert shown["performance_schema.digests_size"] == "-1"
        assert not any("no_such" in name for name in shown)
        with pytest.raises(errors.InvalidName, match="no_such_setting"):
            conn.execute("SET performance_schema.no_such_setting = 1")


# --- sizes -------------------------------------------------------------------------------------


def test_sizes_of_zero(boot: Boot) -> None:
    """Nothing has room: queries run, and what could not be kept is counted."""
    with boot().connect() as conn:
        names = rows(
            conn,
            "SELECT name FROM pg_settings WHERE name LIKE 'performance\\_schema.%' "
            "AND vartype = 'integer' AND min_val::integer <= 0",
        )
    with boot(**{row.name: 0 for row in names}).connect() as conn:
        for _ in range(3):
            assert one(conn, "SELECT 1") == 1
        with pytest.raises(errors.DivisionByZero):
            conn.execute("SELECT 1 / 0")
        for table in tables():
            rows(conn, f"SELECT * FROM performance_schema.{table.name}")
        with pytest.raises(errors.ConfigurationLimitExceeded):
            conn.execute("SELECT performance_schema.set_actor('u', 'h', true)")
        assert losses(conn)


def test_automatic_sizes_grow_with_max_connections(boot: Boot) -> None:
    known = {}
    for connections in (20, 100, 500):
        with boot(max_connections=connections).connect() as conn:
            known[connections] = status(conn)
            assert known[connections]["threads_size"] > connections
    for small, large in ((known[20], known[100]), (known[100], known[500])):
        assert all(small[name] <= large[name] for name in small if name.endswith("_size"))
        assert small["memory_bytes"] < large["memory_bytes"]
    assert known[100]["memory_bytes"] <= MEMORY_LIMIT


def test_memory_is_told_by_part(boot: Boot) -> None:
    """The parts, the total, the server's own list, and what a size setting changes agree."""
    known = []
    for digests in (1000, 2000):
        with boot(performance_schema__digests_size=digests).connect() as conn:
            found = rows(conn, "SELECT * FROM performance_schema.memory")
            parts = {row.name: row for row in found}
            total = parts.pop("performance_schema.memory").memory
            assert total == status(conn)["memory_bytes"]
            assert 0 <= total - sum(row.memory for row in parts.values()) < 4096 * len(parts)
            ours = "SELECT allocated_size FROM pg_shmem_allocations WHERE name = %s"
            assert 0 <= one(conn, ours, "performance_schema") - total < 4096
            known.append({name: row.row_count for name, row in parts.items()})
    assert 1000 in {known[1][name] - known[0][name] for name in known[0]}


# --- compute_query_id --------------------------------------------------------------------------


def test_no_query_id(boot: Boot) -> None:
    """One warning however many sessions come, and one row for everything."""
    server = boot(compute_query_id="off")
    for _ in range(2):
        with server.connect() as conn:
            conn.execute("SELECT 1")
            conn.execute("SELECT now(), 2")
            [row] = rows(conn, f"SELECT * FROM {DIGESTS}")
            assert (row.schema_name, row.digest, row.digest_text) == (None, None, None)
            assert row.count_star > 1
    assert boot.log().count("compute_query_id is off") == 1


# --- not preloaded -----------------------------------------------------------------------------


@pytest.fixture(params=["nothing", "session_preload_libraries", "LOAD"])
def late_conn(request: Any, boot: Boot) -> Iterator[Any]:
    """A session of a server that was started without the library."""
    conf = {"shared_preload_libraries": ""}
    if request.param.startswith("session"):
        conf[request.param] = "performance_schema"
    with boot(**conf).connect() as conn:
        if request.param == "LOAD":
            conn.execute("LOAD 'performance_schema'")
        yield conn
        assert one(conn, "SELECT 1") == 1


def test_not_preloaded(late_conn: Any) -> None:
    commands = [
        *(f"SELECT * FROM performance_schema.{table.name}" for table in tables()),
        *(
            f"SELECT performance_schema.{call}"
            for call in (
                "set_instruments('%', true)",
                "set_thread(1, true)",
                "set_actor('u', 'h', true)",
                "drop_object('TABLE', 's', 't')",
                "reset('accounts')",
                "reset_all()",
                "ps_current_thread_id()",
                "ps_thread_id(1)",
            )
        ),
        "SELECT * FROM sys.statement_analysis",
        "INSERT INTO performance_schema.setup_actors VALUES ('h', 'u', '%')",
        "DELETE FROM performance_schema.setup_actors",
        "UPDATE performance_schema.setup_consumers SET enabled = 'NO'",
        "TRUNCATE performance_schema.accounts",
    ]
    for command in commands:
        with pytest.raises(psycopg.Error) as refusal:
            late_conn.execute(command)
        assert isinstance(refusal.value, errors.ObjectNotInPrerequisiteState), command
        assert "shared_preload_libraries" in refusal.value.diag.message_primary
        assert "restart" in refusal.value.diag.message_hint


def test_not_preloaded_can_be_created_and_dropped(late_conn: Any) -> None:
    with late_conn.transaction(force_rollback=True):
        late_conn.execute("DROP EXTENSION performance_schema")
        late_conn.execute("CREATE EXTENSION performance_schema")
        late_conn.execute("EXPLAIN SELECT * FROM performance_schema.threads")
