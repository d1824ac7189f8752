"""What is gone is not used: statements that ended during their call, dropped objects, left routines.

Results are compared with those of a server without the library. As root each test has its own few
sessions; the servers are shared by the file.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest
from conftest import close_cluster, open_cluster
from helpers import Watched, everything_on, one, rows, wait_for_state

EURO = "chr(8364)"  # LATIN1 has no such character
SETUP = f"""
CREATE TABLE t (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
CREATE PROCEDURE rolls_back(INOUT x text) LANGUAGE plpgsql AS $$
BEGIN INSERT INTO t VALUES (1); x := {EURO}; ROLLBACK; END $$;
CREATE PROCEDURE commits(INOUT x text) LANGUAGE plpgsql AS $$
BEGIN DELETE FROM t; x := {EURO}; COMMIT; END $$;
CREATE PROCEDURE goes_on(INOUT x text) LANGUAGE plpgsql AS $$
DECLARE n int; BEGIN
x := 'a'; ROLLBACK; SELECT count(*) INTO n FROM t; INSERT INTO t VALUES (n + 1); COMMIT;
DELETE FROM t; ROLLBACK; PERFORM count(*) FROM t; x := {EURO}; END $$;
CREATE PROCEDURE calls(INOUT x text) LANGUAGE plpgsql AS $$
BEGIN CALL rolls_back(x); CALL goes_on(x); ROLLBACK; CALL commits(x); END $$;
CREATE PROCEDURE leaves_cursor(INOUT x text) LANGUAGE plpgsql AS $$
DECLARE c refcursor; BEGIN
ROLLBACK; OPEN c FOR SELECT g FROM generate_series(1, 3) g; FETCH c INTO x; x := {EURO}; END $$;
CREATE PROCEDURE leaves_two(INOUT x text) LANGUAGE plpgsql AS $$
DECLARE c refcursor; BEGIN
CALL leaves_cursor(x); ROLLBACK; CALL leaves_cursor(x);
OPEN c FOR SELECT g FROM generate_series(1, 3) g; x := {EURO}; END $$;
CREATE PROCEDURE catches(INOUT x text) LANGUAGE plpgsql AS $$
BEGIN ROLLBACK; BEGIN PERFORM 1 / (length(x) - length(x)); EXCEPTION WHEN division_by_zero THEN
x := {EURO}; END; ROLLBACK; END $$;
CREATE PROCEDURE loops(INOUT x text) LANGUAGE plpgsql AS $$
DECLARE i int; BEGIN FOR i IN SELECT g FROM generate_series(1, 3) g LOOP
INSERT INTO t VALUES (i); ROLLBACK; END LOOP; x := {EURO}; END $$;
CREATE PROCEDURE fails(INOUT x text) LANGUAGE plpgsql AS $$
BEGIN ROLLBACK; x := (1 / (length(x) - length(x)))::text; END $$;
CREATE PROCEDURE breaks_key(INOUT x text) LANGUAGE plpgsql AS $$
BEGIN ROLLBACK; INSERT INTO t VALUES (7), (7); x := {EURO}; COMMIT; END $$;
"""
PROCEDURES = (
    "rolls_back commits goes_on calls leaves_cursor leaves_two catches loops fails breaks_key"
).split()


class Servers(NamedTuple):
    """The same database twice."""

    plain: Any
    ours: Any


@pytest.fixture(scope="module", params=["defaults", "everything"])
def servers(request: pytest.FixtureRequest, pg_config: str) -> Iterator[Servers]:
    """Without and with the library, as it comes and with everything on."""
    settings = {"performance_schema__events_statements_history_size": 200}
    plain = open_cluster(pg_config, extension=False, preload=False)
    ours = open_cluster(pg_config, extension=True, preload=True, **settings)
    for server in (plain, ours):
        server.psql(SETUP)
    if request.param == "everything":
        with ours.connect() as conn:
            everything_on(conn)
    yield Servers(plain, ours)
    for server in (ours, plain):
        close_cluster(server)


def answers(server: Any, script: list[str], **options: Any) -> list[Any]:
    """What a session is told: rows, or SQLSTATE and message, for each statement; notices too."""
    told: list[Any] = []
    with server.connect(prepare_threshold=None, **options) as conn:
        conn.add_notice_handler(lambda notice: told.append(notice.message_primary))
        for sql in script:
            try:
                cursor = conn.execute(sql)
                told.append(cursor.fetchall() if cursor.description else cursor.statusmessage)
            except psycopg.Error as error:
                assert error.sqlstate is not None, f"{sql}: {error}"  # the connection is lost
                told.append((error.sqlstate, error.diag.message_primary))
    return told


def same_answers(servers: Servers, script: list[str], **options: Any) -> list[Any]:
    """They are those of the server without the library."""
    expected = answers(servers.plain, script, **options)
    assert answers(servers.ours, script, **options) == expected
    return expected


# --- a transaction that ends inside of a call -----------------------------------------------------


@pytest.mark.parametrize("replication", [None, "database"], ids=["client", "walsender"])
@pytest.mark.parametrize("procedure", PROCEDURES)
def test_transaction_ends_in_call(
    servers: Servers, procedure: str, replication: str | None
) -> None:
    """An error or a notice after it finds no trace of the call on the stack."""
    options = {"replication": replication} if replication else {}
    notice = "DO $$ BEGIN RAISE NOTICE 'n' USING errcode = '22012'; END $$"
    call = f"CALL {procedure}('x')"
    do = f"DO $$ DECLARE x text := 'x'; BEGIN CALL {procedure}(x); ROLLBACK; RAISE NOTICE 'd'; END $$"
    after = [notice, "SELECT 1 / 0", "SELECT count(*) FROM t", "SELECT"]
    script = [
        "TRUNCATE t",
        call, *after, call, call, do, *after,
        "SET client_encoding = 'LATIN1'",
        call, *after, call, call, do, *after,
        f"SELECT {EURO}", call,
        "RESET client_encoding",
        "BEGIN", call, "ROLLBACK", call, *after,
    ]  # fmt: skip
    told = same_answers(servers, script, **options)
    if procedure not in ("fails", "breaks_key"):
        assert [item[0] for item in told if isinstance(item, tuple)].count("22P05") == 5


def test_books_after_transactions_in_calls(servers: Servers) -> None:
    """A walsender's statements all end, and hold no place."""
    with servers.ours.connect() as observer, Watched(
        servers.ours, observer, replication="database"
    ) as w:
        for _ in range(600):  # more than there are places
            w.conn.execute("CALL leaves_two('x')")
            w.conn.execute("CALL calls('x')")
        assert w.event("SELECT 1").sql_text == "SELECT 1"
        assert [e.sql_text for e in w.current()] == ["SELECT 1"]
