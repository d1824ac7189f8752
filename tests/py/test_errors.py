"""Error summaries: raised and handled errors by thread, account, user, host and server."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from helpers import Watched, instruments, one, rows, wait_gone

LEVELS = ("thread", "account", "user", "host")


@pytest.fixture
def w(cluster: Any, conn: Any) -> Iterator[Watched]:
    """A session of a user of its own, so that sums by user start at a known value."""
    cluster.psql(
        "DO $$ BEGIN CREATE ROLE err_user LOGIN; EXCEPTION WHEN duplicate_object THEN END $$; "
        "CREATE TABLE IF NOT EXISTS err_t (a int PRIMARY KEY); GRANT ALL ON err_t TO err_user; "
        "INSERT INTO err_t VALUES (1) ON CONFLICT DO NOTHING"
    )
    with Watched(cluster, conn, user="err_user") as watched:
        yield watched


def counts(observer: Any, level: str, condition: str) -> dict[str, tuple[int, int]]:
    """(raised, handled) by SQLSTATE."""
    table = f"events_errors_summary_by_{level}_by_error"
    if level == "global":
        table = "events_errors_summary_global_by_error"
    found = observer.execute(
        "SELECT sql_state, sum(sum_error_raised)::int8, sum(sum_error_handled)::int8 "
        f"FROM performance_schema.{table} WHERE {condition} GROUP BY 1 "
        "HAVING sum(sum_error_raised) + sum(sum_error_handled) > 0"
    ).fetchall()
    return {state: (raised, handled) for state, raised, handled in found}


def fail(conn: Any, *script: str) -> None:
    for sql in script:
        with contextlib.suppress(psycopg.Error):
            conn.execute(sql)


HANDLED = """DO $$ BEGIN
    FOR i IN 1..3 LOOP
        BEGIN INSERT INTO err_t VALUES (1); EXCEPTION WHEN unique_violation THEN NULL; END;
    END LOOP;
END $$"""


def test_raised_and_handled(w: Watched) -> None:
    """Each error counts once: raised when it ended a statement, handled when it was caught."""
    mine = f"thread_id = {w.thread_id}"
    assert counts(w.observer, "thread", mine) == {}
    fail(w.conn, "SELECT 1 / 0", "SELECT 1 / 0", "SELECT nosuch", "SELEC", HANDLED)
    assert counts(w.observer, "thread", mine) == {
        "22012": (2, 0),
        "42703": (1, 0),
        "42601": (1, 0),
        "23505": (0, 3),
    }


def test_error_in_nested_function_counts_once(w: Watched) -> None:
    """However many statements it ends."""
    w.conn.execute(
        "CREATE FUNCTION pg_temp.deep(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "IF n = 0 THEN RETURN 1 / n; END IF; RETURN (SELECT pg_temp.deep(n - 1)); END $$"
    )
    fail(w.conn, "SELECT pg_temp.deep(5)")
    assert counts(w.observer, "thread", f"thread_id = {w.thread_id}") == {"22012": (1, 0)}


def test_failed_while_it_was_rewritten(w: Watched) -> None:
    """A statement that was analysed and never planned: its row has its text, digest and error."""
    w.conn.execute("CREATE TEMP VIEW two AS SELECT 1 AS a UNION SELECT 2")
    fail(w.conn, "DELETE FROM two")
    [event] = rows(
        w.observer,
        "SELECT event_name, sql_text, digest_text, returned_sqlstate "
        "FROM performance_schema.events_statements_history "
        f"WHERE thread_id = {w.thread_id} AND errors > 0",
    )
    assert event == ("statement/sql/delete", "DELETE FROM two", "DELETE FROM `two`", "55000")


def test_handled_and_raised_again(w: Watched) -> None:
    """RAISE in a handler: the first was handled, the second ended the statement."""
    fail(
        w.conn,
        "DO $$ BEGIN BEGIN INSERT INTO err_t VALUES (1); "
        "EXCEPTION WHEN unique_violation THEN RAISE EXCEPTION 'again' USING errcode = '22003'; "
        "END; END $$",
    )
    assert counts(w.observer, "thread", f"thread_id = {w.thread_id}") == {
        "23505": (0, 1),
        "22003": (1, 0),
    }


UNFIT = "BEGIN PERFORM 1 / n; EXCEPTION WHEN unique_violation THEN NULL; END;"


@pytest.mark.parametrize(
    "block",
    [
        UNFIT,
        f"BEGIN {UNFIT} EXCEPTION WHEN check_violation THEN NULL; END;",
        "BEGIN PERFORM 1 / n; EXCEPTION WHEN division_by_zero THEN RAISE; END;",
    ],
)
def test_no_handler_fits(w: Watched, block: str) -> None:
    """What leaves a block after all is raised, not handled, by whatever it passes."""
    fail(w.conn, f"DO $$ DECLARE n int := 0; BEGIN {block} END $$")
    mine = f"thread_id = {w.thread_id}"
    assert counts(w.observer, "thread", mine) == {"22012": (1, 0)}
    w.conn.execute(
        f"CREATE FUNCTION pg_temp.unfit(n int) RETURNS int LANGUAGE plpgsql AS "
        f"$$ BEGIN {block} RETURN 1; END $$"
    )
    caught = "EXCEPTION WHEN division_by_zero THEN NULL; END"
    _, *nested = w.run(f"DO $$ BEGIN PERFORM pg_temp.unfit(0); {caught} $$")
    assert counts(w.observer, "thread", mine) == {"22012": (1, 1)}
    assert [(event.errors, event.returned_sqlstate) for event in nested] == [(1, "22012")] * 2
    assert {event.message_text for event in nested} == {"division by zero"}
    w.conn.execute(
        f"DO $$ BEGIN FOR i IN 1 .. 5 LOOP BEGIN PERFORM pg_temp.unfit(0); {caught}; "
        f"END LOOP; PERFORM 1; END $$"
    )
    fail(w.conn, "SELECT 1 / 0")
    assert counts(w.observer, "thread", mine) == {"22012": (2, 6)}


def test_an_error_of_the_commit_after_one_that_was_handled(w: Watched) -> None:
    """Of the same kind, and raised by nothing that runs: both count."""
    w.conn.execute("CREATE TEMP TABLE later (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    fail(
        w.conn,
        "DO $$ BEGIN INSERT INTO later VALUES (1), (1); "
        "BEGIN INSERT INTO err_t VALUES (1); EXCEPTION WHEN unique_violation THEN NULL; END; END $$",
    )
    assert counts(w.observer, "thread", f"thread_id = {w.thread_id}") == {"23505": (1, 1)}


def test_error_with_the_state_of_a_warning(w: Watched) -> None:
    """RAISE may give an error any state: it counts all the same, and so does what it broke off."""
    w.conn.execute(
        "CREATE FUNCTION pg_temp.fails(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "IF n = 3 THEN RAISE EXCEPTION 'odd' USING errcode = '02000'; END IF; RETURN n; END $$"
    )
    w.conn.execute("CREATE TEMP TABLE odd AS SELECT generate_series(1, 9) AS n")
    assert w.event("SELECT sum(pg_temp.fails(n)) FROM odd").rows_examined == 3
    _, nested = w.run(
        "DO $$ BEGIN PERFORM sum(pg_temp.fails(n)) FROM odd; "
        "EXCEPTION WHEN OTHERS THEN NULL; END $$"
    )
    assert (nested.rows_examined, nested.errors) == (3, 1)
    assert (nested.returned_sqlstate, nested.message_text) == ("02000", "odd")
    assert counts(w.observer, "thread", f"thread_id = {w.thread_id}") == {None: (1, 1)}


def test_warnings_are_no_errors(w: Watched) -> None:
    """Whatever state they have, in a handler's block or not."""
    w.conn.execute(
        "DO $$ BEGIN RAISE WARNING 'a'; RAISE NOTICE 'b' USING errcode = '22012'; "
        "BEGIN RAISE WARNING 'c'; RAISE WARNING 'd' USING errcode = '22012'; RAISE NOTICE 'e'; "
        "EXCEPTION WHEN OTHERS THEN NULL; END; END $$"
    )
    assert counts(w.observer, "thread", f"thread_id = {w.thread_id}") == {}


def test_error_in_an_expression_is_handled(w: Watched) -> None:
    """PL/pgSQL evaluates simple expressions without the executor: seen all the same."""
    w.conn.execute(
        "DO $$ DECLARE i int := 0; BEGIN BEGIN i := 1 / i; "
        "EXCEPTION WHEN division_by_zero THEN NULL; END; END $$"
    )
    assert counts(w.observer, "thread", f"thread_id = {w.thread_id}") == {"22012": (0, 1)}


PLANNED = """
CREATE TABLE IF NOT EXISTS err_rows AS SELECT generate_series(1, 100) AS a;
CREATE OR REPLACE FUNCTION err_fails() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    RETURN (SELECT 1 / (count(*) - 100) FROM err_rows); END $$;
CREATE OR REPLACE FUNCTION err_handled() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    RETURN (SELECT 1 / (count(*) - 100) FROM err_rows);
    EXCEPTION WHEN division_by_zero THEN RETURN 0; END $$;
CREATE TABLE IF NOT EXISTS err_parts (k int) PARTITION BY LIST (k);
CREATE TABLE IF NOT EXISTS err_part PARTITION OF err_parts FOR VALUES IN (0, 1);
CREATE OR REPLACE FUNCTION err_stable() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN
    RETURN err_fails(); END $$;
"""


@pytest.mark.parametrize("messages", ["warning", "log", "panic"])
def test_while_it_is_planned(new_cluster: Any, messages: str) -> None:
    """Functions run while a statement is planned or started: their errors are seen like others."""
    server = new_cluster(log_min_messages=messages)
    server.psql(PLANNED)
    with server.connect() as observer, Watched(server, observer) as w:
        mine = f"thread_id = {w.thread_id}"
        w.conn.execute("SELECT performance_schema.set_consumers('%', true)")
        since = w.mark()
        fail(w.conn, "SELECT err_fails()", "SELECT * FROM err_parts WHERE k = err_stable()")
        w.conn.execute("SELECT err_handled()")
        w.conn.execute("SELECT 5")
        assert counts(observer, "thread", mine) == {"22012": (2, 1)}
        top = [
            (event.sql_text, event.returned_sqlstate)
            for event in w.events(since)
            if event.nesting_event_level == 0
        ]
        assert top == [
            ("SELECT err_fails()", "22012"),
            ("SELECT * FROM err_parts WHERE k = err_stable()", "22012"),
            ("SELECT err_handled()", None),
            ("SELECT 5", None),
        ]
        nested = [
            event.rows_examined for event in w.events(since) if "count(*)" in event.sql_text
        ]
        assert nested == [100, 100, 100]
        assert [event.sql_text for event in w.current()] == ["SELECT 5"]


@pytest.mark.parametrize("messages", ["warning", "panic"])
def test_while_its_query_ends(new_cluster: Any, messages: str) -> None:
    """A foreign scan fails in ExecutorEnd: the statement has failed, once, and none is left open."""
    server = new_cluster(log_min_messages=messages)
    with server.connect() as observer, Watched(server, observer) as w:
        if not rows(observer, "SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw'"):
            pytest.skip("this server has no postgres_fdw")
        server.psql(
            "CREATE EXTENSION postgres_fdw; CREATE TABLE near AS SELECT generate_series(1, 9) a; "
            f"CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{server.host}', "
            f"port '{server.port}', dbname 'postgres'); "
            "CREATE USER MAPPING FOR postgres SERVER loop OPTIONS (user 'postgres'); "
            "CREATE FOREIGN TABLE far (a int) SERVER loop OPTIONS (table_name 'near'); "
            "CREATE FUNCTION cut() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE application_name = 'postgres_fdw'; RETURN 1; END $$"
        )
        mine = f"thread_id = {w.thread_id}"
        w.conn.execute("SELECT performance_schema.set_consumers('%', true)")
        since = w.mark()
        fail(w.conn, "SELECT cut() FROM far LIMIT 1")
        assert counts(observer, "thread", mine) == {"08006": (1, 0)}
        top = [event for event in w.events(since) if event.nesting_event_level == 0]
        assert [(event.event_name, event.returned_sqlstate) for event in top] == [
            ("statement/sql/select", "08006")
        ]
        for script in (
            ["BEGIN", "DECLARE c CURSOR FOR SELECT * FROM far", "FETCH FROM c", "SELECT cut()",
             "CLOSE c", "ROLLBACK"],
            ["BEGIN", "DECLARE c CURSOR FOR SELECT * FROM far", "FETCH FROM c", "SELECT cut()",
             "COMMIT"],
            ["DO $$ BEGIN PERFORM cut() FROM far LIMIT 1; END $$"],
        ):  # fmt: skip
            fail(w.conn, *script)
            w.conn.execute("SELECT 5")
            assert [event.sql_text for event in w.current()] == ["SELECT 5"]


def test_unknown_state(w: Watched) -> None:
    """States that PostgreSQL does not define share the row without a number."""
    fail(w.conn, "DO $$ BEGIN RAISE EXCEPTION 'x' USING errcode = 'ZZ999'; END $$")
    assert counts(w.observer, "thread", f"thread_id = {w.thread_id}") == {None: (1, 0)}


def test_names(conn: Any) -> None:
    """Condition names as in the manual; one row per SQLSTATE."""
    fail(conn, "SELECT 1 / 0")
    found = rows(
        conn,
        "SELECT * FROM performance_schema.events_errors_summary_global_by_error "
        "WHERE sql_state = '22012'",
    )
    assert [row.error_name for row in found] == ["division_by_zero"]
    assert found[0].error_number is not None
    assert one(
        conn,
        "SELECT count(*) = count(DISTINCT error_number) + count(*) FILTER "
        "(WHERE error_number IS NULL) "
        "FROM performance_schema.events_errors_summary_global_by_error",
    )


def test_first_and_last_seen(w: Watched) -> None:
    before = one(w.observer, "SELECT clock_timestamp()")
    fail(w.conn, "SELECT 1 / 0")
    middle = one(w.observer, "SELECT clock_timestamp()")
    fail(w.conn, "SELECT 1 / 0")
    after = one(w.observer, "SELECT clock_timestamp()")
    [row] = rows(
        w.observer,
        "SELECT * FROM performance_schema.events_errors_summary_by_thread_by_error "
        "WHERE thread_id = %s AND sql_state = '22012'",
        w.thread_id,
    )
    slack = datetime.timedelta(milliseconds=20)  # the two clocks are not one
    assert before - slack <= row.first_seen <= middle + slack
    assert middle - slack <= row.last_seen <= after + slack


def test_all_levels(w: Watched, cluster: Any) -> None:
    """n errors add n at each level; after the disconnect too."""

    def sums() -> list[int]:
        conditions = {
            "account": "user_name = 'err_user'",
            "user": "user_name = 'err_user'",
            "host": "host = '127.0.0.1'",
            "global": "true",
        }
        return [
            counts(w.observer, level, condition + " AND sql_state = '22012'").get("22012", (0, 0))[
                0
            ]
            for level, condition in conditions.items()
        ]

    base = sums()
    with cluster.connect(user="err_user") as other:
        pid = other.info.backend_pid
        fail(other, *["SELECT 1 / 0"] * 6)
        assert sums() == [value + 6 for value in base]
    wait_gone(w.observer, pid)
    assert sums() == [value + 6 for value in base]


def test_instrument_off(w: Watched) -> None:
    mine = f"thread_id = {w.thread_id}"
    with instruments(w.observer, "error", "NO"):
        fail(w.conn, "SELECT 1 / 0")
        assert counts(w.observer, "thread", mine) == {}
    fail(w.conn, "SELECT 1 / 0")
    assert counts(w.observer, "thread", mine) == {"22012": (1, 0)}


def test_failed_connections_are_no_threads(cluster: Any, conn: Any) -> None:
    """A client that is refused leaves no thread behind."""
    before = one(conn, "SELECT count(*) FROM performance_schema.threads")
    for _ in range(5):
        with pytest.raises(psycopg.OperationalError):
            cluster.connect(dbname="nosuch")
    wait_gone(conn, 0)
    assert one(conn, "SELECT count(*) FROM performance_schema.threads") == before
