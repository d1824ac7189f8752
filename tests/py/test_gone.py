"""What is gone is not used: statements that ended during their call, dropped objects, left routines.

Results are compared with those of a server without the library. Both servers are shared by the
file.
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


# --- objects that are dropped while a reader names them ------------------------------------------

OBJECTS = """
CREATE ROLE gone_role;
CREATE SCHEMA gone;
CREATE TABLE gone.t (i int PRIMARY KEY, s text);
CREATE TABLE gone.only_locked (i int);
INSERT INTO gone.t SELECT g, g FROM generate_series(1, 10) g;
CREATE TYPE gone.kind AS ENUM ('a');
CREATE FUNCTION gone.f() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE OPERATOR gone.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq);
CREATE COLLATION gone.c (locale = 'C');
CREATE OPERATOR FAMILY gone.family USING btree;
CREATE TEXT SEARCH CONFIGURATION gone.search (COPY = simple);
CREATE STATISTICS gone.stats ON i, s FROM gone.t;
CREATE CAST (gone.kind AS int) WITH INOUT;
CREATE RULE r AS ON DELETE TO gone.only_locked DO NOTHING;
GRANT USAGE ON SCHEMA gone TO gone_role;
GRANT SELECT ON gone.t TO gone_role;
CHECKPOINT;
"""
ALL_TABLES = (
    "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('f', 'v') AND "
    "relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('performance_schema', 'sys')) "
    "ORDER BY 1"
)
CATALOGUES = {
    "schema": "pg_namespace WHERE nspname = 'gone'",
    "relations": "pg_class WHERE relnamespace = 'gone'::regnamespace",
    "relations and schema": "pg_class WHERE relnamespace = 'gone'::regnamespace; "
    "DELETE FROM pg_namespace WHERE nspname = 'gone'",
    "index": "pg_index WHERE indrelid = 'gone.t'::regclass",
    "columns": "pg_attribute WHERE attrelid = 'gone.only_locked'::regclass",
    "function": "pg_proc WHERE pronamespace = 'gone'::regnamespace",
    "type": "pg_type WHERE typnamespace = 'gone'::regnamespace",
    "roles": "pg_authid WHERE rolname = 'gone_role'",
}
LOCKED = (  # a comment locks its object, and changes no row of the object's catalogue
    "FUNCTION gone.f()", "TYPE gone.kind", "SCHEMA gone", "OPERATOR gone.===(int, int)",
    "COLLATION gone.c", "OPERATOR FAMILY gone.family USING btree", "ROLE gone_role",
    "TEXT SEARCH CONFIGURATION gone.search", "STATISTICS gone.stats", "CAST (gone.kind AS int)",
    "RULE r ON gone.only_locked", "CONSTRAINT t_pkey ON gone.t", "LANGUAGE sql",
)  # fmt: skip


def run(conn: Any, sql: str) -> None:
    """In a thread; a server that goes down is the test's failure, not the thread's."""
    with contextlib.suppress(psycopg.Error):
        conn.execute(sql)


@pytest.fixture
def locks_of_gone(servers: Servers) -> Iterator[None]:
    """Sessions of one role hold, want and have waited for locks of all kinds on schema gone."""
    server = servers.ours
    server.psql(OBJECTS)
    with contextlib.ExitStack() as stack:
        holder, waiter, observer = (stack.enter_context(server.connect()) for _ in range(3))
        lock = "LOCK TABLE gone.t, gone.only_locked IN ACCESS EXCLUSIVE MODE"
        hold = f"BEGIN; UPDATE gone.t SET i = i; SELECT pg_advisory_xact_lock(1); {lock}; "
        hold += "; ".join(f"COMMENT ON {locked} IS 'locked'" for locked in LOCKED)
        for last in (False, True):
            holder.execute(hold)
            thread = threading.Thread(target=run, args=(waiter, f"BEGIN; {lock}"))
            thread.start()
            wait_for_state(observer, waiter.info.backend_pid, "wait_event_type = 'Lock'")
            if last:
                break
            holder.execute("ROLLBACK")
            thread.join()
            waiter.execute("ROLLBACK")
        yield
        run(holder, "ROLLBACK")
        thread.join()
    server.psql("DROP SCHEMA gone CASCADE; DROP ROLE gone_role")


def test_dropped_meanwhile(servers: Servers, locks_of_gone: None) -> None:
    """Every table and view can be read while parts of what it names are missing.

    The catalogue's rows are deleted in a transaction that is rolled back: a reader meets the same
    when another session drops the object between two look-ups.
    """
    with servers.ours.connect() as conn:
        tables = [row[0] for row in conn.execute(ALL_TABLES).fetchall()]
        conn.execute("SET allow_system_table_mods = on")
        for rows_deleted in CATALOGUES.values():
            conn.execute("BEGIN")
            conn.execute(f"DELETE FROM {rows_deleted}")
            for table in tables:
                conn.execute(f"SELECT t::text FROM {table} t")
            conn.execute("ROLLBACK")


def test_names_of_what_is_gone(servers: Servers, locks_of_gone: None) -> None:
    """A relation without a schema is as good as gone: no file, a number instead of a name."""
    with servers.ours.connect() as conn:
        number = one(conn, "SELECT 'gone.t'::regclass::oid")
        files = (
            "SELECT relation_name FROM performance_schema.file_instances WHERE file_name = "
            f"(SELECT pg_relation_filepath({number}))"
        )
        waits = (
            "SELECT DISTINCT object_schema, object_name "
            "FROM performance_schema.lock_waits_history_long WHERE object_name ~ '[nt]'"
        )
        before = {tuple(row) for row in rows(conn, waits)}
        assert ("gone", "t") in before
        file_before = [tuple(row) for row in rows(conn, files)]
        assert file_before in ([("gone.t",)], [])
        conn.execute("SET allow_system_table_mods = on")
        conn.execute("BEGIN")
        conn.execute("DELETE FROM pg_namespace WHERE nspname = 'gone'")
        assert (None, f"relation {number}") in {tuple(row) for row in rows(conn, waits)}
        assert [tuple(row) for row in rows(conn, files)] == [(None,)] * len(file_before)
        conn.execute("ROLLBACK")


def test_object_name(servers: Servers) -> None:
    """Of every catalogue there is: no error for an object of none, nor for one that is gone."""
    with servers.ours.connect() as conn:
        name = "SELECT * FROM performance_schema.object_name(%s, %s)"
        classes = conn.execute("SELECT oid FROM pg_class WHERE relkind IN ('r', 'v')").fetchall()
        for number in [0, 4294967295, *(row[0] for row in classes)]:
            for gone in (0, 4294967295):
                assert rows(conn, name, number, gone)[0].name is None
        same = (
            "SELECT count(*) AS all, count(*) FILTER (WHERE (s.type, s.schema, s.name) "
            "IS NOT DISTINCT FROM (o.type, o.schema, o.name)) AS same FROM {0} AS c, "
            "pg_identify_object('{0}'::regclass, c.oid, 0) AS s, "
            "performance_schema.object_name('{0}'::regclass, c.oid) AS o "
            "WHERE s.name !~ '\"' AND s.schema !~ '\"'"
        )
        for catalogue in ("pg_class", "pg_type", "pg_collation", "pg_ts_config", "pg_conversion"):
            [count] = rows(conn, same.format(catalogue))
            assert count.same == count.all > 0, catalogue
        function = "SELECT (performance_schema.object_name('pg_proc'::regclass, %s)).*"
        [found] = rows(conn, function, one(conn, "SELECT 'sqrt(float8)'::regprocedure::oid"))
        assert tuple(found) == ("function", "pg_catalog", "pg_catalog.sqrt(double precision)")


# --- routines -------------------------------------------------------------------------------------

ROUTINES = """
CREATE SCHEMA r;
CREATE TABLE r.t (i int);
CREATE FUNCTION r.drops() RETURNS int LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'DROP FUNCTION r.dropped()'; RETURN 1; END $$;
CREATE FUNCTION r.dropped() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n int; BEGIN n := r.drops(); RETURN (SELECT count(*) FROM r.t); END $$;
CREATE FUNCTION r.trig() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM 1 / new.i; RETURN new; END $$;
CREATE TRIGGER tg BEFORE INSERT ON r.t FOR EACH ROW EXECUTE FUNCTION r.trig();
CREATE PROCEDURE r.inner_p() LANGUAGE plpgsql AS $$
BEGIN INSERT INTO r.t VALUES (1); ROLLBACK; PERFORM 'inner'; END $$;
CREATE PROCEDURE r.outer_p() LANGUAGE plpgsql AS $$
BEGIN CALL r.inner_p(); PERFORM 'outer'; ROLLBACK; PERFORM 'outer'; END $$;
CREATE FUNCTION r.deep(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE m int; BEGIN
IF n > 0 THEN m := r.deep(n - 1); PERFORM 'deep'; RETURN m; END IF;
BEGIN INSERT INTO r.t VALUES (0); EXCEPTION WHEN division_by_zero THEN RETURN 0; END; END $$;
CREATE FUNCTION r.shallow() RETURNS int LANGUAGE plpgsql AS $$
DECLARE m int; BEGIN m := r.deep(290); PERFORM 'shallow'; RETURN m; END $$;
"""


@pytest.fixture
def routines(servers: Servers) -> Iterator[None]:
    for server in servers:
        server.psql(ROUTINES)
    yield
    for server in servers:
        server.psql("SET client_min_messages = warning; DROP SCHEMA r CASCADE")


def test_routine_that_drops_itself(servers: Servers, routines: None) -> None:
    """It runs to its end; its statements have no name for it."""
    told = same_answers(servers, ["SELECT r.dropped()", "SELECT r.dropped()"])
    assert told[0] == [(0,)] and told[1][0] == "42883"


def test_routines_around_statements(servers: Servers, routines: None) -> None:
    """After a ROLLBACK in a procedure, and after an error caught deeper than names are kept."""
    with servers.ours.connect() as observer, Watched(servers.ours, observer) as w:
        for _ in range(2):
            found = [(e.sql_text, e.object_name) for e in w.run("CALL r.outer_p()")]
            assert found == [
                ("CALL r.outer_p()", None),
                ("CALL r.inner_p()", "outer_p"),
                ("INSERT INTO r.t VALUES (1)", "inner_p"),
                ("SELECT 1 / new.i", "tg"),
                ("SELECT 'inner'", "inner_p"),
                ("SELECT 'outer'", "outer_p"),
                ("SELECT 'outer'", "outer_p"),
            ]
            w.conn.execute("SET max_stack_depth = '7MB'")
            found = [(e.sql_text, e.object_name) for e in w.run("SELECT r.shallow()")]
            assert found[-1] == ("SELECT 'shallow'", "shallow")
            deep = [name for text, name in found if text == "SELECT 'deep'"]
            assert len(deep) >= 5 and set(deep) == {"deep"}
