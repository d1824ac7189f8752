"""SQL-standard function bodies: stored queries without text and query id; and our own functions.

They count by event name, but make neither rows without text nor digests without name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers import ROOT, Watched, consumers, difference, name_counts, one, rows

BODIES = {
    "return": "RETURN CASE WHEN i > 0 THEN i ELSE (SELECT max(relpages) FROM pg_class) END",
    "atomic": "BEGIN ATOMIC SELECT count(*) FROM pg_class; SELECT i + 1; END",
}
STATEMENTS_EACH = {"return": 1, "atomic": 2}
OTHERS = (
    "SELECT coalesce(sum(count_star), 0)::bigint "
    "FROM performance_schema.events_statements_summary_by_digest WHERE digest IS NULL"
)


@pytest.fixture
def watched(cluster: Any, conn: Any) -> Iterator[Watched]:
    with Watched(cluster, conn) as session:
        for name, body in BODIES.items():
            session.conn.execute(
                f"CREATE OR REPLACE FUNCTION stored_{name}(i bigint) RETURNS bigint "
                f"LANGUAGE sql VOLATILE {body}"
            )
        session.conn.execute(
            "CREATE OR REPLACE FUNCTION below(i bigint) RETURNS bigint LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN (SELECT i + 1 FROM pg_namespace LIMIT 1); END $$"
        )
        session.conn.execute(
            "CREATE OR REPLACE FUNCTION stored_above(i bigint) RETURNS bigint "
            "LANGUAGE sql VOLATILE BEGIN ATOMIC SELECT below(i); SELECT below(i); END"
        )
        yield session


@pytest.mark.parametrize("body", BODIES)
def test_bodies_make_no_rows(conn: Any, watched: Watched, body: str) -> None:
    """They count by event name; no row of the histories and no digest is theirs."""
    long = (
        "SELECT count(*) FROM performance_schema.events_statements_history_long "
        f"WHERE thread_id = {watched.thread_id}"
    )
    with consumers(conn, events_statements_history_long=True):
        others, listed = one(conn, OTHERS), one(conn, long)
        counted = name_counts(conn, watched.thread_id)
        events = watched.run(f"SELECT stored_{body}(g) FROM generate_series(1, 50) AS g")
        assert [event.sql_text[:13] for event in events] == ["SELECT stored"]
        assert one(conn, long) == listed + 1
        assert one(conn, OTHERS) == others
    grown = difference(name_counts(conn, watched.thread_id), counted)
    assert grown["sql/select"] == 1 + 50 * STATEMENTS_EACH[body]


def test_below_a_body(watched: Watched) -> None:
    """What such a body calls hangs below the statement that called the body."""
    top, *nested = watched.run("SELECT stored_above(1)")
    assert len(nested) == 2
    assert top.sql_text == "SELECT stored_above(1)"
    for event in nested:
        assert event.sql_text and event.digest and event.object_name == "below"
        assert event.nesting_event_level == 2  # the body is a level, though it has no row
    inside = {(event.nesting_event_type, event.nesting_event_id) for event in nested}
    assert len(inside) == 1


def test_running_body_is_not_shown(conn: Any, cluster: Any, watched: Watched) -> None:
    """events_statements_current has no row without text either."""
    watched.conn.execute(
        "CREATE OR REPLACE FUNCTION stored_look() RETURNS bigint LANGUAGE sql VOLATILE "
        "BEGIN ATOMIC SELECT 1; "
        "SELECT count(*) FILTER (WHERE sql_text IS NULL OR sql_text = '') * 100 + count(*) "
        "FROM performance_schema.events_statements_current "
        "WHERE thread_id = performance_schema.ps_current_thread_id(); END"
    )
    assert one(watched.conn, "SELECT stored_look()") == 1


def test_error_in_a_body(conn: Any, watched: Watched) -> None:
    """It counts as an error of both; the row is the outer statement's."""
    watched.conn.execute(
        "CREATE OR REPLACE FUNCTION stored_bad(i bigint) RETURNS bigint LANGUAGE sql VOLATILE "
        "BEGIN ATOMIC SELECT 1; SELECT count(*) FROM pg_class WHERE 1 / (relpages * 0) = i; END"
    )
    errors = (
        "SELECT sum(sum_errors)::bigint "
        "FROM performance_schema.events_statements_summary_by_thread_by_event_name "
        f"WHERE thread_id = {watched.thread_id}"
    )
    others, before = one(conn, OTHERS), one(conn, errors)
    events = watched.run("SELECT stored_bad(1)")
    assert [(event.sql_text, event.returned_sqlstate) for event in events] == [
        ("SELECT stored_bad(1)", "22012")
    ]
    assert one(conn, OTHERS) == others
    assert one(conn, errors) == before + 2


def test_other_stored_queries(conn: Any, watched: Watched) -> None:
    """The query of a materialized view, and before 18 that of a cursor, has no id, but a text."""
    watched.conn.execute("DROP MATERIALIZED VIEW IF EXISTS stored_view")
    watched.conn.execute("CREATE MATERIALIZED VIEW stored_view AS SELECT count(*) FROM pg_class")
    others = one(conn, OTHERS)
    commands = (
        "REFRESH MATERIALIZED VIEW stored_view",
        "DO 'DECLARE c CURSOR FOR SELECT 1 FROM pg_am; BEGIN OPEN c; CLOSE c; END'",
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT count(*) FROM pg_class",
        "FETCH ALL FROM c",
        "COMMIT",
    )
    for command in commands:
        events = watched.run(command)
        shown = "DO ?" if command.startswith("DO") else command
        assert shown in [event.sql_text for event in events]
        assert all(event.sql_text for event in events)
    assert one(conn, OTHERS) == others
    watched.conn.execute("DROP MATERIALIZED VIEW stored_view")


def test_ids_off(new_cluster: Callable[..., Any]) -> None:
    """Without query ids all statements count in the catch-all row, as documented, these too."""
    server = new_cluster(compute_query_id="off")
    with server.connect() as conn, Watched(server, conn) as watched:
        watched.conn.execute(
            "CREATE FUNCTION stored(i bigint) RETURNS bigint LANGUAGE sql VOLATILE "
            f"{BODIES['atomic']}"
        )
        before = one(conn, OTHERS)
        events = watched.run("SELECT stored(g) FROM generate_series(1, 50) AS g")
        assert [event.nesting_event_level for event in events] == [0]
        after = one(conn, OTHERS)
        assert before + 101 <= after <= before + 105  # with what looks


# --- our own functions --------------------------------------------------------------------------

OURS = (
    "sys.format_time(g * 1000003)",
    "sys.format_bytes(g * 1000003)",
    "sys.format_statement('SELECT ' || g || repeat('x', 100))",
    "performance_schema.ps_thread_id(g)",
    "performance_schema.ps_current_thread_id()",
)


@pytest.mark.parametrize("call", OURS)
def test_our_functions_run_no_statement(conn: Any, watched: Watched, call: str) -> None:
    """A thousand calls leave the session's history and sums as they were but for the SELECT."""
    counted = name_counts(conn, watched.thread_id)
    events = watched.run(f"SELECT {call} FROM generate_series(1, 1000) AS g")
    assert len(events) == 1
    grown = difference(name_counts(conn, watched.thread_id), counted)
    assert {name: n for name, n in grown.items() if name.startswith("sql/")} == {"sql/select": 1}


def test_functions_of_views_are_in_c(conn: Any) -> None:
    """They are called for each row."""
    languages = rows(
        conn,
        "SELECT DISTINCT l.lanname, p.proname FROM pg_depend AS d "
        "JOIN pg_rewrite AS r ON r.oid = d.objid JOIN pg_class AS v ON v.oid = r.ev_class "
        "JOIN pg_proc AS p ON p.oid = d.refobjid JOIN pg_language AS l ON l.oid = p.prolang "
        "WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_proc'::regclass "
        "AND v.relnamespace IN ('performance_schema'::regnamespace, 'sys'::regnamespace) "
        "AND p.pronamespace IN ('performance_schema'::regnamespace, 'sys'::regnamespace)",
    )
    assert {"format_time", "format_bytes"} <= {row.proname for row in languages}
    others = {row.proname for row in languages if row.lanname != "c"}
    # in FROM, by themselves: called once a query
    assert others == {"persisted_settings", "subscription_sources", "buffer_pages"}


def readme_history_query() -> str:
    """The query under "What one session did"."""
    lines = re.findall(r"^demo[=-]# (.*)$", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    first = next(i for i, line in enumerate(lines) if "nesting_event_level" in line) - 1
    last = next(i for i in range(first, len(lines)) if lines[i].endswith(";"))
    query = "\n".join(lines[first : last + 1])
    assert query.startswith("SELECT event_id") and "events_statements_history" in query
    return query


def test_readme_history_query(cluster: Any, conn: Any, connect: Any) -> None:
    """It shows what the session did, also when it is asked again: it erases nothing of it."""
    conn.execute(
        "DROP SCHEMA IF EXISTS shop CASCADE; CREATE SCHEMA shop; "
        "CREATE TABLE shop.stock (item int PRIMARY KEY, pieces int CHECK (pieces >= 0)); "
        "CREATE TABLE shop.orders (item int, pieces int); INSERT INTO shop.stock VALUES (1, 100); "
        "CREATE FUNCTION shop.take() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "UPDATE shop.stock SET pieces = stock.pieces - NEW.pieces WHERE item = NEW.item; "
        "RETURN NEW; END $$; "
        "CREATE TRIGGER take AFTER INSERT ON shop.orders "
        "FOR EACH ROW EXECUTE FUNCTION shop.take(); "
        "CREATE FUNCTION shop.place_order(item int, pieces int) RETURNS void LANGUAGE plpgsql AS "
        "$$ BEGIN INSERT INTO shop.orders (item, pieces) VALUES (place_order.item, "
        "place_order.pieces); EXCEPTION WHEN check_violation THEN NULL; END $$"
    )
    session = connect(cluster, prepare_threshold=None)
    session.execute("SELECT shop.place_order(1, 2)")
    session.execute("SELECT shop.place_order(1, 2000)")
    query = readme_history_query()
    for times in range(3):
        shown = rows(session, query)
        texts = [row.statement.strip() for row in shown]
        assert [text[:17] for text in texts[:6]] == [
            "SELECT shop.place", "INSERT INTO shop.", "UPDATE shop.stock",
        ] * 2  # fmt: skip
        assert [row.routine for row in shown[:3]] == [None, "function place_order", "trigger take"]
        assert [row.error for row in shown[3:6]] == [None, "23514", "23514"]
        assert len(shown) == 6 + times
        assert all(text.startswith("SELECT event_id") for text in texts[6:])
        assert all(re.fullmatch(r"[\d.]+ (ps|ns|us|ms|s)", row.took) for row in shown)
    conn.execute("DROP SCHEMA shop CASCADE")
