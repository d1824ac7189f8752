"""prepared_statements_instances: PREPARE, EXECUTE, DEALLOCATE of all sessions, the protocol's own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import instruments, losses, one, rows, thread_of, wait_gone

INSTANCES = "performance_schema.prepared_statements_instances"
BY_NAME = f"SELECT * FROM {INSTANCES} WHERE statement_name = %s AND owner_thread_id = %s"


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE TABLE prepared_on AS SELECT i, i % 7 AS rest FROM generate_series(1, 1000) i;"
        "CREATE ROLE prepares_one LOGIN; CREATE ROLE prepares_two LOGIN; GRANT SELECT ON prepared_on TO PUBLIC;"
        "CREATE ROLE prepares_reader LOGIN IN ROLE pg_read_all_stats;"
        "CREATE FUNCTION prepares_in_a_function() RETURNS int LANGUAGE plpgsql AS $$ DECLARE found int; BEGIN "
        "EXECUTE 'PREPARE of_function AS SELECT count(*) FROM prepared_on';"
        "EXECUTE 'EXECUTE of_function' INTO found; RETURN found; END $$",
        autovacuum=False,
    ) as cluster:
        yield cluster


@pytest.fixture
def session(server: Any) -> Iterator[Any]:
    with server.connect(prepare_threshold=None) as connection:
        yield connection


def row(observer: Any, session: Any, name: str) -> Any:
    found = rows(observer, BY_NAME, name, thread_of(observer, session))
    assert len(found) <= 1
    return found[0] if found else None


def names(observer: Any, session: Any) -> list[str]:
    return [
        name
        for (name,) in rows(
            observer,
            f"SELECT statement_name FROM {INSTANCES} WHERE owner_thread_id = %s",
            thread_of(observer, session),
        )
    ]


def test_what_a_row_says(db: Any, session: Any) -> None:
    command = "PREPARE simple (int) AS SELECT * FROM prepared_on WHERE i < $1 ORDER BY rest"
    session.execute(command)
    found = row(db, session, "simple")
    [event] = rows(
        db,
        "SELECT * FROM performance_schema.events_statements_history WHERE sql_text = %s "
        "AND thread_id = %s",
        command,
        thread_of(db, session),
    )
    assert found.sql_text == command
    assert (found.owner_event_id, found.statement_id) == (event.event_id, event.statement_id)
    assert 0 < found.timer_prepare <= event.timer_wait
    assert found.execution_engine == "PRIMARY" and found.owner_object_name is None
    assert (found.count_execute, found.sum_timer_execute, found.count_reprepare) == (0, 0, 0)


@pytest.mark.parametrize("text", ["EXECUTE simple ({})", "/* longer */ EXECUTE simple ({}) "])
def test_sums_are_those_of_its_events(db: Any, session: Any, text: str) -> None:
    """The EXECUTE's time and rows, and what the query in it has read and sorted."""
    session.execute("PREPARE simple (int) AS SELECT * FROM prepared_on WHERE i < $1 ORDER BY rest")
    for most in (10, 20, 30, 5):
        session.execute(text.format(most))
    found = row(db, session, "simple")
    events = rows(
        db,
        "SELECT o.timer_wait, o.rows_sent, i.rows_examined, i.sort_rows, i.sort_scan, i.select_scan, "
        "i.no_index_used, o.errors FROM performance_schema.events_statements_history o "
        "JOIN performance_schema.events_statements_history i ON i.thread_id = o.thread_id "
        "AND i.nesting_event_level = 1 AND i.event_id BETWEEN o.event_id AND o.end_event_id "
        "WHERE o.thread_id = %s AND o.event_name = 'statement/sql/execute'",
        thread_of(db, session),
    )
    times = [event.timer_wait for event in events]
    assert found.count_execute == len(events) == 4
    assert abs(found.sum_timer_execute - sum(times)) <= len(times)  # each is rounded
    assert (found.min_timer_execute, found.max_timer_execute) == (min(times), max(times))
    for counter in (
        "rows_sent",
        "rows_examined",
        "sort_rows",
        "sort_scan",
        "select_scan",
        "no_index_used",
    ):
        assert getattr(found, f"sum_{counter}") == sum(getattr(event, counter) for event in events)
    assert found.sum_rows_sent == 9 + 19 + 29 + 4 and found.sum_rows_examined == 4000


def test_changes_and_errors(db: Any, session: Any) -> None:
    session.execute("CREATE TEMP TABLE changed (i int)")
    session.execute("PREPARE change (int) AS INSERT INTO changed SELECT 1 / $1 FROM prepared_on")
    for divisor in (1, 0, 2):
        try:
            session.execute(f"EXECUTE change ({divisor})")
        except psycopg.errors.DivisionByZero:
            continue
    found = row(db, session, "change")
    assert (found.count_execute, found.sum_errors, found.sum_rows_affected) == (3, 1, 2000)


def test_by_the_extended_protocol_and_in_blocks(db: Any, session: Any) -> None:
    session.execute("PREPARE twice AS SELECT 1")
    for _ in range(3):
        session.execute("EXECUTE twice", prepare=True)
    with session.transaction():
        session.execute("EXECUTE twice")
    with session.pipeline():
        for _ in range(3):
            session.execute("EXECUTE twice")
    found = row(db, session, "twice")
    assert (found.count_execute, found.sum_rows_sent) == (7, 7)


def test_plans_as_the_server_counts_them(db: Any, session: Any) -> None:
    session.execute("PREPARE planned (int) AS SELECT count(*) FROM prepared_on WHERE i = $1")
    for i in range(8):
        session.execute(f"EXECUTE planned ({i})")
    found = row(db, session, "planned")
    [own] = rows(
        session,
        "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE name = 'planned'",
    )
    assert (found.count_generic_plans, found.count_custom_plans) == tuple(own)
    assert sum(own) == found.count_execute == 8


def test_analysed_again(db: Any, session: Any) -> None:
    db.execute("CREATE TABLE altered (i int)")
    session.execute("PREPARE again AS SELECT count(i) FROM altered")
    session.execute("EXECUTE again")
    assert row(db, session, "again").count_reprepare == 0
    db.execute("ALTER TABLE altered ADD COLUMN j int")
    for _ in range(2):
        session.execute("EXECUTE again")
    assert row(db, session, "again").count_reprepare == 1


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("DEALLOCATE first_one", ["second_one"]),
        ("DEALLOCATE ALL", []),
        ("DISCARD ALL", []),
        ("DISCARD PLANS", ["first_one", "second_one"]),
    ],
)
def test_deallocated(db: Any, session: Any, command: str, left: list[str]) -> None:
    session.execute("PREPARE first_one AS SELECT 1")
    session.execute("PREPARE second_one AS SELECT 2")
    assert names(db, session) == ["first_one", "second_one"]
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        session.execute("DEALLOCATE no_such_one")
    with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
        session.execute("PREPARE first_one AS SELECT 3")
    assert names(db, session) == ["first_one", "second_one"]
    session.execute(command)
    assert names(db, session) == left
    session.execute("PREPARE third_one AS SELECT 2")
    assert names(db, session) == [*left, "third_one"]


def test_closed_by_the_protocol(db: Any, session: Any) -> None:
    session.execute("PREPARE closed AS SELECT 1")
    session.execute("PREPARE stays AS SELECT 1")
    session.pgconn.close_prepared(b"closed")
    assert names(db, session) == ["stays"]


def test_gone_with_the_session(db: Any, server: Any) -> None:
    with server.connect() as passing:
        pid = passing.info.backend_pid
        passing.execute("PREPARE passing AS SELECT 1")
        assert row(db, passing, "passing")
    wait_gone(db, pid)
    assert one(db, f"SELECT count(*) FROM {INSTANCES} WHERE statement_name = 'passing'") == 0


def test_prepared_and_executed_by_a_function(db: Any, session: Any) -> None:
    assert one(session, "SELECT prepares_in_a_function()") == 1000
    found = row(db, session, "of_function")
    assert (found.owner_object_type, found.owner_object_schema, found.owner_object_name) == (
        "FUNCTION",
        "public",
        "prepares_in_a_function",
    )
    assert (found.count_execute, found.sum_rows_examined) == (1, 1000)


@pytest.mark.parametrize("name", ["itself", "another"])
def test_what_takes_its_place_gets_nothing(db: Any, session: Any, name: str) -> None:
    """It deallocates itself while it runs, and another one is prepared: maybe where its row was."""
    session.execute(
        "CREATE OR REPLACE FUNCTION pg_temp.replaces() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        f"EXECUTE 'DEALLOCATE itself'; EXECUTE 'PREPARE {name} AS SELECT 7'; RETURN 7; END $$"
    )
    session.execute("PREPARE itself AS SELECT pg_temp.replaces()")
    with contextlib.suppress(psycopg.errors.InvalidSqlStatementName):  # the server misses it
        assert one(session, "EXECUTE itself") == 7
    found = row(db, session, name)
    assert (found.count_execute, found.sum_timer_execute, found.count_custom_plans) == (0, 0, 0)
    session.execute(f"EXECUTE {name}")
    assert row(db, session, name).count_execute == 1
    assert names(db, session) == [name]
    session.execute("DEALLOCATE ALL")
    assert names(db, session) == []


def test_closed_while_nothing_was_wanted(db: Any, session: Any) -> None:
    session.execute("PREPARE again AS SELECT 1")
    with instruments(db, "%", "NO"):
        session.execute("SELECT 1")
        session.execute("SELECT 1")
        session.pgconn.close_prepared(b"again")
    session.execute("PREPARE again AS SELECT 2")
    session.execute("EXECUTE again")
    assert names(db, session) == ["again"]
    assert row(db, session, "again").count_execute == 1


def test_who_sees_it(server: Any, db: Any) -> None:
    with (
        server.connect(user="prepares_one") as owner,
        server.connect(user="prepares_two") as other,
        server.connect(user="prepares_reader") as reader,
    ):
        owner.execute("PREPARE private AS SELECT 'of one' FROM prepared_on")
        owner.execute("EXECUTE private")
        thread = thread_of(db, owner)
        assert rows(owner, BY_NAME, "private", thread)[0].sql_text.startswith("PREPARE private")
        assert rows(db, BY_NAME, "private", thread)[0].count_execute == 1
        assert rows(reader, BY_NAME, "private", thread)[0].sql_text.startswith("PREPARE private")
        assert rows(other, BY_NAME, "private", thread) == []
        db.execute("GRANT prepares_two TO prepares_one")
        owner.execute("SET ROLE prepares_two")
        assert rows(owner, BY_NAME, "private", thread) == []


def test_those_of_the_protocol_are_the_sessions_own(server: Any, db: Any) -> None:
    with server.connect(prepare_threshold=0) as own:
        for i in range(7):
            own.execute("SELECT count(*) FROM prepared_on WHERE i < %s", (i,))
        found = [
            found
            for found in rows(own, f"SELECT * FROM {INSTANCES}")
            if found.sql_text == "SELECT count(*) FROM prepared_on WHERE i < $1"
        ]
        assert len(found) == 1 and found[0].owner_thread_id == thread_of(db, own)
        assert found[0].count_generic_plans + found[0].count_custom_plans == 7
        assert found[0].count_execute is None and found[0].timer_prepare is None
        assert row(db, own, found[0].statement_name) is None
        assert len(
            {r.object_instance_begin for r in rows(own, f"SELECT * FROM {INSTANCES}")}
        ) == len(rows(own, f"SELECT * FROM {INSTANCES}"))


def test_truncate_resets_and_goes_on(db: Any, session: Any) -> None:
    session.execute("PREPARE counted AS SELECT count(*) FROM prepared_on")
    session.execute("EXECUTE counted")
    before = row(db, session, "counted")
    db.execute(f"TRUNCATE {INSTANCES}")
    found = row(db, session, "counted")
    assert (found.sql_text, found.timer_prepare) == (before.sql_text, before.timer_prepare)
    assert (found.count_execute, found.sum_timer_execute, found.sum_rows_examined) == (0, 0, 0)
    for _ in range(2):
        session.execute("EXECUTE counted")
    found = row(db, session, "counted")
    assert (found.count_execute, found.sum_rows_examined) == (2, 2000)
    assert found.max_timer_execute <= found.sum_timer_execute


def test_not_wanted(db: Any, session: Any) -> None:
    with instruments(db, "statement/sql/prepare", "NO"):
        session.execute("PREPARE unseen AS SELECT 1")
        session.execute("EXECUTE unseen")
    assert names(db, session) == []
    session.execute("PREPARE seen AS SELECT 1")
    with instruments(db, "statement/%", "NO"):
        session.execute("EXECUTE seen")
    assert row(db, session, "seen").count_execute == 0
    with instruments(db, "%", "NO"):
        session.execute("DEALLOCATE seen")
    assert names(db, session) == []


def test_more_than_fit(new_cluster: Callable[..., Any]) -> None:
    server = new_cluster(performance_schema__max_prepared_statements_instances=3)
    with server.connect() as observer, server.connect() as session:
        for i in range(5):
            session.execute(f"PREPARE p{i} AS SELECT {i}")
            session.execute(f"EXECUTE p{i}")
        assert names(observer, session) == ["p0", "p1", "p2"]
        assert losses(observer)["performance_schema_prepared_statements_lost"] == 2
        session.execute("DEALLOCATE p1")
        session.execute("PREPARE later AS SELECT 1")
        session.execute("EXECUTE p4")
        assert names(observer, session) == ["p0", "p2", "later"]
        assert one(observer, f"SELECT sum(count_execute) FROM {INSTANCES}") == 2


def test_read_while_they_come_and_go(server: Any, db: Any) -> None:
    """What is read is what was prepared, whole: names and texts belong together."""
    stop = threading.Event()

    def prepare(number: int) -> None:
        with server.connect(prepare_threshold=None) as busy:
            while not stop.is_set():
                for i in range(5):
                    busy.execute(f"PREPARE busy_{number}_{i} AS SELECT 'busy_{number}_{i}'")
                    busy.execute(f"EXECUTE busy_{number}_{i}")
                busy.execute("DEALLOCATE ALL")

    writers = [threading.Thread(target=prepare, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    try:
        seen = 0
        for _ in range(300):
            for found in rows(db, f"SELECT * FROM {INSTANCES} WHERE statement_name LIKE 'busy%'"):
                name = found.statement_name
                assert found.sql_text == f"PREPARE {name} AS SELECT '{name}'"
                assert found.count_execute in (0, 1) and found.sum_rows_sent == found.count_execute
                seen += 1
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert seen > 0
    assert one(db, f"SELECT count(*) FROM {INSTANCES} WHERE statement_name LIKE 'busy%'") == 0
