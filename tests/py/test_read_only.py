"""Each function twin of DML, on a hot standby and in READ ONLY transactions alike.

Companion of test_standby.py. One primary and one standby for the file; each keeps its own counters
and switches. Every test leaves the switches as they were.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import DEATH, close_cluster, open_cluster
from helpers import one, rows, thread_of, truncatable
from psycopg import errors

CHANGES = (
    "UPDATE performance_schema.setup_consumers SET enabled = 'NO'",
    "UPDATE performance_schema.threads SET instrumented = 'NO'",
    "INSERT INTO performance_schema.setup_actors VALUES ('h', 'u', '%', 'NO', 'NO')",
    "DELETE FROM performance_schema.setup_objects",
    "TRUNCATE performance_schema.events_statements_summary_by_digest",
    "TRUNCATE performance_schema.setup_actors",
)
RULES = "setup_actors", "setup_consumers", "setup_instruments", "setup_objects", "setup_threads"


@pytest.fixture(scope="module")
def primary(pg_config: str) -> Iterator[Any]:
    server = open_cluster(pg_config, extension=True, preload=True, autovacuum=False)
    server.psql("CREATE TABLE marked (i integer)")
    yield server
    close_cluster(server)


@pytest.fixture(scope="module")
def standby(primary: Any) -> Iterator[Any]:
    with contextlib.closing(primary.standby()) as replica:
        replica.wait_replayed(primary)
        yield replica
        assert DEATH.findall(replica.log_text()) == []


@pytest.fixture(params=["standby", "read only"])
def reader(request: Any, primary: Any, connect: Any) -> Any:
    """A session that may not write: of the standby, or one whose transactions are READ ONLY."""
    if request.param == "standby":
        return connect(request.getfixturevalue("standby"))
    return connect(primary, options="-c default_transaction_read_only=on")


def switches(conn: Any) -> dict[str, list[Any]]:
    """All setup tables."""
    return {name: rows(conn, f"SELECT * FROM performance_schema.{name}") for name in RULES}


@pytest.fixture
def unchanged(reader: Any) -> Iterator[None]:
    """The test has to leave every switch and rule as it found it."""
    before = switches(reader)
    yield
    assert switches(reader) == before


def state(conn: Any, table: str, name: str) -> str:
    return one(conn, f"SELECT enabled FROM performance_schema.{table} WHERE name = %s", name)


@pytest.mark.parametrize("change", CHANGES)
def test_dml_is_refused(reader: Any, unchanged: None, change: str) -> None:
    with pytest.raises(errors.ReadOnlySqlTransaction):
        reader.execute(change)


@pytest.mark.parametrize(
    ("function", "table", "name"),
    [
        ("set_instruments", "setup_instruments", "statement/sql/listen"),
        ("set_consumers", "setup_consumers", "events_statements_current"),
        ("set_thread_classes", "setup_threads", "thread/postgres/walsender"),
    ],
)
def test_switches(reader: Any, unchanged: None, function: str, table: str, name: str) -> None:
    for kind in ("text", "boolean"):
        for value in ("NO", "YES"):
            call = f"SELECT performance_schema.{function}(%s, %s::{kind})"
            assert one(reader, call, name, value) == 1
            assert state(reader, table, name) == value


def test_set_thread(reader: Any) -> None:
    """The session's statements are recorded while it is on, and not while it is off."""
    thread = thread_of(reader, reader)
    count = (
        "SELECT coalesce(sum(count_star), 0) "
        "FROM performance_schema.events_statements_summary_by_thread_by_event_name "
        f"WHERE thread_id = {thread}"
    )
    switch = "SELECT performance_schema.set_thread(%s, %s)"
    reader.execute(switch, (thread, False))
    before = one(reader, count)
    assert one(reader, count) == before
    reader.execute(switch, (thread, True))
    during = one(reader, count)
    assert one(reader, count) > during


def test_rules(reader: Any, unchanged: None) -> None:
    make_actor = "SELECT performance_schema.set_actor('u', 'h', %s::text)"
    assert one(reader, make_actor, "NO") is True
    assert one(reader, make_actor, "YES") is False
    actor = "SELECT enabled, history FROM performance_schema.setup_actors WHERE user_name = 'u'"
    assert rows(reader, actor) == [("YES", "YES")]
    assert one(reader, "SELECT performance_schema.drop_actor('u', 'h')") is True
    assert one(reader, "SELECT performance_schema.drop_actor('u', 'h')") is False
    make_object = "SELECT performance_schema.set_object('table', 's', 't', false)"
    assert one(reader, make_object) is True
    assert one(reader, make_object) is False
    assert one(reader, "SELECT performance_schema.drop_object('table', 's', 't')") is True


def test_reset_empties(reader: Any) -> None:
    reader.execute("SELECT i FROM marked")
    for source in (
        "performance_schema.events_statements_summary_by_digest WHERE digest_text",
        "sys.statement_analysis WHERE query",
    ):
        assert one(reader, f"SELECT count(*) FROM {source} LIKE '%FROM _marked_'") == 1
    reader.execute("SELECT performance_schema.reset('events_statements_summary_by_digest')")
    assert one(reader, f"SELECT count(*) FROM {source} LIKE '%FROM _marked_'") == 0


def test_reset_all(reader: Any, unchanged: None) -> None:
    """All truncatable tables but the rules."""
    assert one(reader, "SELECT performance_schema.reset_all()") == len(truncatable())


def test_servers_are_switched_apart(primary: Any, standby: Any, connect: Any) -> None:
    ours, theirs = connect(standby), connect(primary)
    before = switches(theirs)
    ours.execute("SELECT performance_schema.set_instruments('transaction', false)")
    assert switches(theirs) == before != switches(ours)
    ours.execute("SELECT performance_schema.set_instruments('transaction', true)")
    assert switches(ours) == before
