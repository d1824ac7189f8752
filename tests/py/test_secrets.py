"""No table tells a secret: tables x readers x kinds of secret x ways in which a statement ends.

Each statement that is run holds a word of its own, `zq0001x` and so on; afterwards every column of
every table and view of performance_schema and sys is searched for such words, as every reader. The
pattern is no such word itself, so the readers' own statements do not matter. Words get into
functions and prepared statements as parameters, which are recorded nowhere.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import psycopg
import pytest
from helpers import (
    RawClient,
    Watched,
    consumers,
    everything_on,
    one,
    read_to_end,
    rows,
    thread_of,
    wait_for_state,
)

pytestmark = pytest.mark.timeout(240)  # every relation is read as every reader

WORD = "zq[0-9]{4}x"
NUMBERS = count(1)
READERS = {
    "superuser": "postgres",
    "pg_read_all_stats": "sec_member",
    "pg_monitor": "sec_monitor",
    "own": "sec_user",
    "owner of the function": "sec_owner",
    "stranger": "sec_stranger",
}
TRUSTED = {"superuser", "pg_read_all_stats", "pg_monitor"}
MEANWHILE = ("superuser", "own")
"""Who looks in the middle of things: the one who sees all, and one who sees own rows only."""
LOCK = 4242


class Kind(NamedTuple):
    """A statement that holds a secret, and an undoing one; `{s}` is the word."""

    sql: str
    undo: str = ""


KINDS = {
    "create role": Kind("CREATE ROLE sec_new PASSWORD '{s}'", "DROP ROLE IF EXISTS sec_new"),
    "create user": Kind("CREATE USER sec_new PASSWORD '{s}'", "DROP ROLE IF EXISTS sec_new"),
    "alter role": Kind("ALTER ROLE sec_target PASSWORD '{s}'"),
    "alter user": Kind("ALTER USER sec_target WITH ENCRYPTED PASSWORD '{s}' CONNECTION LIMIT 7"),
    "alter role set": Kind("ALTER ROLE sec_target SET sec.key = '{s}'"),
    "alter database set": Kind("ALTER DATABASE postgres SET sec.key = '{s}'"),
    "set": Kind("SET sec.key = '{s}'"),
    "set, as a name": Kind('SET LOCAL sec . more.key = "{s}"'),
    "alter role set, as a name": Kind('ALTER ROLE sec_target SET sec.key = "a {s}"'),
    "alter system": Kind(
        "ALTER SYSTEM SET primary_conninfo = 'password={s}'", "ALTER SYSTEM RESET ALL"
    ),
    "alter system, command": Kind(
        "ALTER SYSTEM SET archive_command = 'echo {s}'", "ALTER SYSTEM RESET ALL"
    ),
    "create server": Kind(
        "CREATE SERVER sec_new FOREIGN DATA WRAPPER sec_fdw OPTIONS (password '{s}')",
        "DROP SERVER IF EXISTS sec_new",
    ),
    "alter server": Kind("ALTER SERVER sec_server OPTIONS (SET password '{s}')"),
    "create user mapping": Kind(
        "CREATE USER MAPPING FOR sec_target SERVER sec_server OPTIONS (user 'u', password '{s}')",
        "DROP USER MAPPING IF EXISTS FOR sec_target SERVER sec_server",
    ),
    "alter user mapping": Kind(
        "ALTER USER MAPPING FOR sec_stranger SERVER sec_server OPTIONS (SET password '{s}')"
    ),
    "create wrapper": Kind(
        "CREATE FOREIGN DATA WRAPPER sec_new OPTIONS (key '{s}')",
        "DROP FOREIGN DATA WRAPPER IF EXISTS sec_new",
    ),
    "import foreign schema": Kind(
        "IMPORT FOREIGN SCHEMA a FROM SERVER sec_server INTO public OPTIONS (password '{s}')"
    ),
    "create foreign table": Kind(
        "CREATE FOREIGN TABLE sec_new (a int) SERVER sec_server OPTIONS (program 'curl -u {s}')",
        "DROP FOREIGN TABLE IF EXISTS sec_new",
    ),
    "alter foreign table": Kind(
        "ALTER FOREIGN TABLE sec_foreign OPTIONS (program 'curl -u {s}')",
        "ALTER FOREIGN TABLE sec_foreign OPTIONS (DROP program)",
    ),
    "alter table, a foreign one": Kind(
        "ALTER TABLE sec_foreign OPTIONS (program 'curl -u {s}')",
        "ALTER FOREIGN TABLE sec_foreign OPTIONS (DROP program)",
    ),
    "alter table, a foreign one's column": Kind(
        "ALTER TABLE sec_foreign ALTER a OPTIONS (key '{s}')",
        "ALTER FOREIGN TABLE sec_foreign ALTER a OPTIONS (DROP key)",
    ),
    "create subscription": Kind(
        "CREATE SUBSCRIPTION sec_new CONNECTION 'host=/nowhere password={s}' PUBLICATION p "
        "WITH (connect = false)",
        "ALTER SUBSCRIPTION sec_new SET (slot_name = NONE); DROP SUBSCRIPTION sec_new",
    ),
    "alter subscription": Kind(
        "ALTER SUBSCRIPTION sec_subscription CONNECTION 'host=/nowhere password={s}'"
    ),
    "do": Kind("DO $$ BEGIN EXECUTE 'ALTER ROLE sec_target PASSWORD ''{s}'''; END $$"),
    "do, misspelt": Kind("DO $$ BEGIN EXECUTE 'ALTER ROLE sec_target PASWORD ''{s}'''; END $$"),
    "do, at the word": Kind("DO $$ BEGIN EXECUTE 'ALTER ROLE sec_target ''{s}'''; END $$"),
    "copy from program": Kind("COPY sec_table FROM PROGRAM 'true {s}'"),
    "copy to program": Kind("COPY (SELECT 1 AS a) TO PROGRAM 'cat >/dev/null # {s}'"),
    "fails at the word": Kind("ALTER ROLE sec_target VALID UNTIL '{s}'"),
    "handled": Kind(
        "DO $$ BEGIN EXECUTE 'ALTER ROLE sec_target VALID UNTIL ''{s}'''; "
        "EXCEPTION WHEN OTHERS THEN NULL; END $$"
    ),
}
"""Nobody may read these words anywhere, whoever runs the statement."""

BROKEN = (
    "ALTER ROLE sec_target PASWORD '{s}'",
    "ALTER ROLE sec_target PASSWORD {s}",
    "ALTER ROLE sec_target PASWORD {s}",
    'ALTER ROLE sec_target PASSWORD "{s}"',
    'CREATE USER sec_new IDENTIFIED BY "{s}"',
    "ALTER ROLE sec_target '{s}'",
    "ALTER ROLE sec_target PASWORD 'it's {s}'",
    "ALTER ROLE sec_target PASSWORD '{s}",
    "ALTER ROLE sec_target PASSWORD E'\\'{s}' FOO",
    "ALTER ROLE sec_target PASSWORD 'a\\'{s}' FOO",
    "ALTER ROLE sec_target PASSWORD $a${s}$a$ FOO",
    "ALTER ROLE sec_target PASSWORD $${s}",
    "ALTER ROLE sec_target FOO /* '{s}' */",
    "ALTER ROLE sec_target FOO -- {s}",
    "SELECT 1 ALTER ROLE sec_target PASSWORD '{s}'",
    "ALTER ROLE sec_target PASSWORD$${s}$$",
    "ALTER ROLE sec_target PASSWORD$a${s} x$a$",
    "SELECT $1$a${s}$a$",
    "ALTER ROLE sec_target 12$a$x {s}$a$",
    "SELECT 1; ALTER ROLE sec_target PASWORD '{s}'",
    "CREATE SERVER sec_new FOREIGN DATA WRAPPER sec_fdw OPTION (password U&'{s}')",
    "CREATE SUBSCRIPTION s CONECTION 'password={s}' PUBLICATION p",
)
"""Never parsed: nothing of them but what cannot be a secret."""


# --- the server ---------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["defaults", "everything on"])
def server(request: pytest.FixtureRequest, pg_config: str) -> Iterator[Any]:
    from conftest import close_cluster, open_cluster

    server = open_cluster(
        pg_config,
        extension=True,
        preload=True,
        max_prepared_transactions=5,
        performance_schema__events_statements_history_size=1024,
        performance_schema__max_digest_sample_age=1,
    )
    with server.connect() as admin:
        for role in READERS.values():
            if role != "postgres":
                admin.execute(f"CREATE ROLE {role} LOGIN")
        admin.execute("GRANT pg_read_all_stats TO sec_member")
        admin.execute("GRANT pg_monitor TO sec_monitor")
        admin.execute("CREATE ROLE sec_target")
        admin.execute("CREATE FOREIGN DATA WRAPPER sec_fdw")
        admin.execute("CREATE SERVER sec_server FOREIGN DATA WRAPPER sec_fdw")
        admin.execute("ALTER SERVER sec_server OPTIONS (password 'none')")
        admin.execute("CREATE USER MAPPING FOR sec_stranger SERVER sec_server")
        admin.execute(
            "ALTER USER MAPPING FOR sec_stranger SERVER sec_server OPTIONS (password 'none')"
        )
        admin.execute("CREATE FOREIGN TABLE sec_foreign (a int) SERVER sec_server")
        with contextlib.suppress(psycopg.Error):
            admin.execute(
                "CREATE SUBSCRIPTION sec_subscription CONNECTION 'host=/nowhere' PUBLICATION p "
                "WITH (connect = false)"
            )
        admin.execute("CREATE TABLE sec_table (a text)")
        admin.execute("CREATE TABLE sec_locked (a int)")
        admin.execute("GRANT ALL ON sec_table, sec_locked TO PUBLIC")
        admin.execute("CREATE TABLE sec_commands (command text)")
        admin.execute("GRANT SELECT ON sec_commands TO sec_owner")
        for name, owner in (("sec_run", "postgres"), ("sec_run_owner", "sec_owner")):
            admin.execute(
                f"CREATE FUNCTION {name}() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ "
                "BEGIN EXECUTE (SELECT command FROM sec_commands); RETURN 'done'; END $$"
            )
            admin.execute(
                f"CREATE FUNCTION {name}_handled() RETURNS text LANGUAGE plpgsql "
                "SECURITY DEFINER AS $$ "
                "BEGIN EXECUTE (SELECT command FROM sec_commands); RETURN 'done'; "
                "EXCEPTION WHEN OTHERS THEN RETURN 'handled'; END $$"
            )
            for suffix in ("", "_handled"):
                admin.execute(f"ALTER FUNCTION {name}{suffix}() OWNER TO {owner}")
        if request.param == "everything on":
            everything_on(admin)
    yield server
    close_cluster(server)


@pytest.fixture
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as session:
        yield session


@pytest.fixture
def session(server: Any, connect: Callable[..., Any]) -> Callable[..., Any]:
    """Opens a session that stays until the end of the test."""

    def make(user: str = "postgres") -> Any:
        return connect(server, user=user, prepare_threshold=None)

    return make


# --- searching ----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def relations(server: Any) -> list[str]:
    """Everything with columns in our two schemas."""
    with server.connect() as admin:
        found = rows(
            admin,
            "SELECT c.oid::regclass::text AS name FROM pg_catalog.pg_class AS c "
            "WHERE relnamespace IN ('performance_schema'::regnamespace, 'sys'::regnamespace) "
            "AND relkind IN ('f', 'v', 'r', 'm') ORDER BY 1",
        )
    assert len(found) > 80
    return [row.name for row in found]


class Secrets:
    """Words that were given out, and where they were found."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.origin: dict[str, str] = {}

    def word(self, origin: str) -> str:
        word = f"zq{next(NUMBERS):04d}x"
        self.origin[word] = origin
        return word

    def found(self, reader: str, where: list[str] | None = None) -> dict[str, set[str]]:
        """By word: the relations in which this reader finds it."""
        found: dict[str, set[str]] = {}
        with self.server.connect(user=READERS[reader]) as conn:
            for name in where or relations(self.server):
                texts = conn.execute(f"SELECT t::text FROM {name} AS t").fetchall()
                for word in re.findall(WORD, " ".join(text for (text,) in texts if text)):
                    if word in self.origin:
                        found.setdefault(word, set()).add(name)
        return found

    def leaks(self, readers: Any = tuple(READERS)) -> list[str]:
        """What a reader finds, as lines for the eye."""
        return [
            f"{self.origin[word]}: {reader} in {', '.join(sorted(names))}"
            for reader in readers
            for word, names in sorted(self.found(reader).items())
        ]


@pytest.fixture
def secrets(server: Any) -> Secrets:
    return Secrets(server)


def attempt(conn: Any, sql: str, **options: Any) -> str:
    """Runs a statement; its SQLSTATE."""
    try:
        conn.execute(sql, **options)
    except psycopg.Error as error:
        return error.sqlstate or "?????"
    return "00000"


def undo(conn: Any, kind: Kind) -> None:
    for sql in kind.undo.split("; "):
        if sql:
            attempt(conn, sql)


def order(admin: Any, sql: str) -> None:
    """Tells the functions what to execute, without writing it into a statement."""
    admin.execute("TRUNCATE sec_commands")
    admin.execute("INSERT INTO sec_commands VALUES (%s)", (sql,), prepare=False)


# --- words that nobody may read -----------------------------------------------------------------


def test_executed(server: Any, session: Any, secrets: Secrets) -> None:
    """The statement succeeds, then fails because what it makes is there or its name is wrong."""
    conn = session()
    ended = {}
    for name, kind in KINDS.items():
        undo(conn, kind)
        ended[name] = attempt(conn, kind.sql.format(s=secrets.word(f"{name}, executed")))
        failing = kind.sql.replace("sec_target", "sec_nobody").replace("sec_server", "sec_nobody")
        attempt(conn, failing.format(s=secrets.word(f"{name}, failing")))
        undo(conn, kind)
    may_fail = {"fails at the word", "do, misspelt", "do, at the word", "import foreign schema"}
    assert {name for name, state in ended.items() if state != "00000"} <= may_fail
    assert secrets.leaks() == []


def test_values_without_quotes(session: Any, secrets: Secrets) -> None:
    """What is a name for the scanner is the value of a setting."""
    conn = session()
    for sql in (
        "SET sec.key TO {s}",
        "SET SESSION sec.key = {s}",
        "ALTER ROLE sec_target IN DATABASE postgres SET sec.key = {s}",
        "ALTER DATABASE postgres SET sec.key TO {s}",
    ):
        for options in ({}, {"prepare": True}):
            assert attempt(conn, sql.format(s=secrets.word(sql)), **options) == "00000"
    assert secrets.leaks() == []


def test_extended_protocol(session: Any, secrets: Secrets) -> None:
    conn = session()
    for name, kind in KINDS.items():
        attempt(conn, kind.sql.format(s=secrets.word(f"{name}, extended")), prepare=True)
        undo(conn, kind)
    assert secrets.leaks() == []


def test_parameters(server: Any, session: Any, secrets: Secrets) -> None:
    """Values of a prepared statement are recorded nowhere, also if they are wrong."""
    conn = session()
    for value in ("a bad number", "1"):
        word = secrets.word(value)
        with contextlib.suppress(psycopg.Error):
            conn.execute(
                "SELECT %s::text, %b::int", (word, word if value != "1" else 1), prepare=True
            )
    with RawClient(server) as raw:
        raw.parse("SELECT $1::int", "p").sync()
        assert "E" in {kind for kind, _ in raw.bind(secrets.word("bound"), name="p").sync()}
        assert secrets.leaks() == []


def test_parameters_in_a_plan(session: Any, secrets: Secrets) -> None:
    """A value that planning hands to a function, whose error quotes it."""
    conn = session()
    conn.execute(
        "CREATE FUNCTION pg_temp.folds(t text) RETURNS int IMMUTABLE LANGUAGE plpgsql "
        "AS 'BEGIN RETURN (SELECT t::int); END'"
    )
    with contextlib.suppress(psycopg.Error):
        conn.execute("SELECT pg_temp.folds(%s)", [secrets.word("folded")], prepare=True)
    assert secrets.leaks() == []


@pytest.mark.parametrize("plan", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(
    "sql",
    ["SELECT %s::text::int", "SELECT a::int FROM pg_temp.held WHERE a = %s", "SELECT pg_temp.casts(%s)"],
)
def test_values_in_execution(session: Any, secrets: Secrets, sql: str, plan: str) -> None:
    """A parameter's value, and a table's, that fails when it is executed; names are still shown."""
    conn = session()
    conn.execute(
        "CREATE FUNCTION pg_temp.casts(t text) RETURNS int LANGUAGE plpgsql "
        "AS 'BEGIN RETURN t::int; END'"
    )
    conn.execute("CREATE TABLE pg_temp.held (a text PRIMARY KEY)")
    conn.execute(f"SET plan_cache_mode = {plan}")
    for _ in range(3):
        word = secrets.word(sql)
        conn.execute("INSERT INTO pg_temp.held VALUES (%s)", [word], prepare=True)
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            conn.execute(sql, [word], prepare=True)
    assert secrets.leaks() == []
    with pytest.raises(psycopg.errors.UniqueViolation):
        conn.execute("INSERT INTO pg_temp.held VALUES (%s)", [word], prepare=True)
    assert "held_pkey" in one(
        conn,
        "SELECT message_text FROM performance_schema.events_statements_history "
        "WHERE returned_sqlstate = '23505' ORDER BY event_id DESC LIMIT 1",
    )


def test_syntax_errors(server: Any, session: Any, secrets: Secrets) -> None:
    """The text was never parsed: in a message alone, prepared, in a function's dynamic SQL."""
    conn = session()
    for sql in BROKEN:
        assert attempt(conn, sql.format(s=secrets.word(sql))) == "42601"
        prepared = sql.format(s=secrets.word(f"{sql}, prepared"))
        assert attempt(conn, prepared, prepare=True) == "42601"
        order(conn, sql.format(s=secrets.word(f"{sql}, in a function")))
        attempt(conn, "SELECT sec_run()")
        attempt(conn, "SELECT sec_run_handled()")
    for name, kind in KINDS.items():
        word = secrets.word(f"{name}, word behind it")
        attempt(conn, f"{kind.sql.format(s=word)} '{word}'")
        attempt(conn, "SELECT 1 " + kind.sql.format(s=secrets.word(f"{name}, behind SELECT")))
        attempt(conn, kind.sql.format(s=secrets.word(f"{name}, open quote")) + " 'x")
    assert secrets.leaks() == []


def test_aborted_block(session: Any, secrets: Secrets) -> None:
    conn = session()
    conn.execute("BEGIN")
    attempt(conn, "SELECT 1 / 0")
    for name, kind in KINDS.items():
        assert attempt(conn, kind.sql.format(s=secrets.word(f"{name}, aborted"))) == "25P02"
        attempt(conn, kind.sql.format(s=secrets.word(f"{name}, aborted")), prepare=True)
    conn.execute("ROLLBACK")
    assert secrets.leaks() == []


NEIGHBOURS = (
    "SELECT 1; {sql}; SELECT 2",
    "{sql}; SELECT nosuch",
    "{sql}; SELECT 1 / 0",
    "SELECT nosuch; {sql}",
    "SELEC 1; {sql}",
    "SELECT 1 / 0; {sql}",
    "{sql}; CREATE TEMPORARY TABLE sec_temporary AS SELECT 1 AS a",
    "{sql}; EXPLAIN ANALYZE SELECT 1",
    "{sql}; DECLARE c CURSOR FOR SELECT 1; FETCH c; CLOSE c",
    "{sql}; COPY (SELECT 1) TO '/dev/null'",
    "{sql}; REFRESH MATERIALIZED VIEW sec_view",
    "{sql}; INSERT INTO sec_ruled VALUES ('a'); DELETE FROM sec_ruled",
    "{sql}; PREPARE sec_p AS SELECT 1; EXECUTE sec_p; DEALLOCATE sec_p",
    "{sql}; CALL sec_procedure()",
)


def test_neighbours_in_one_message(server: Any, session: Any, secrets: Secrets) -> None:
    """Each statement has its own text, also the query inside one, and what a rule adds."""
    conn = session()
    conn.execute("CREATE MATERIALIZED VIEW IF NOT EXISTS sec_view AS SELECT 1 AS a")
    conn.execute("CREATE TABLE IF NOT EXISTS sec_ruled (a text)")
    conn.execute(
        "CREATE OR REPLACE RULE adds AS ON INSERT TO sec_ruled "
        "DO ALSO INSERT INTO sec_table VALUES (new.a)"
    )
    conn.execute(
        "CREATE OR REPLACE PROCEDURE sec_procedure() LANGUAGE sql AS 'SELECT 1; SELECT 2'"
    )
    names = ("alter role", "alter server", "set", "do", "create user mapping", "copy from program")
    for message in NEIGHBOURS:
        for name in names:
            sql = KINDS[name].sql.format(s=secrets.word(f"{name}, {message}"))
            conn.pgconn.exec_(message.format(sql=sql).encode())
            conn.execute("DROP TABLE IF EXISTS sec_temporary")
            undo(conn, KINDS[name])
    assert secrets.leaks() == []


TWO_WAYS = {
    "on": (
        "ALTER ROLE sec_target PASSWORD 'a\\' VALID UNTIL ' {s} '",
        "CREATE USER MAPPING FOR sec_target SERVER sec_server "
        "OPTIONS (user 'a\\', password ' {s} ')",
        "SET sec.key = 'a\\', ' {s} '",
        "COPY sec_table FROM PROGRAM 'true \\' DELIMITER ' {s} '",
    ),
    "off": (
        "ALTER ROLE sec_target PASSWORD 'a\\' {s} '",
        "CREATE USER MAPPING FOR sec_target SERVER sec_server OPTIONS (password 'a\\' {s} \\' ')",
        "SET sec.key = 'a\\' {s} '",
    ),
}
"""What each setting of standard_conforming_strings takes for a literal and the other for a name."""


@pytest.mark.parametrize("setting", ["on", "off"])
def test_read_in_two_ways(session: Any, secrets: Secrets, setting: str) -> None:
    """The message was parsed before standard_conforming_strings changed, it is recorded after."""
    conn, admin = session(), session()
    other = "off" if setting == "on" else "on"
    for sql in TWO_WAYS[setting]:
        conn.execute(f"SET standard_conforming_strings = {setting}")
        text = sql.format(s=secrets.word(f"{sql}, {setting}"))
        conn.pgconn.exec_(f"SET standard_conforming_strings = {other}; {text}".encode())
        undo(conn, KINDS["create user mapping"])
        order(admin, f"SET standard_conforming_strings = {other}; {text}")
        conn.execute(f"SET standard_conforming_strings = {setting}")
        attempt(conn, "SELECT sec_run()")
        undo(conn, KINDS["create user mapping"])
    assert secrets.leaks() == []


def test_inside_a_function(session: Any, secrets: Secrets) -> None:
    """In dynamic SQL of a SECURITY DEFINER function; failing, handled, in a session of another."""
    admin, caller = session(), session("sec_user")
    for name, kind in KINDS.items():
        for function in ("sec_run", "sec_run_handled"):
            order(admin, kind.sql.format(s=secrets.word(f"{name}, in {function}")))
            attempt(caller, f"SELECT {function}()")
            undo(admin, kind)
    assert secrets.leaks() == []


# --- waiting for a lock -------------------------------------------------------------------------


@contextlib.contextmanager
def waiting(observer: Any, conn: Any, sql: str) -> Iterator[None]:
    """A message that waits for a lock for the duration of a block."""
    conn.pgconn.send_query(sql.encode())
    wait_for_state(observer, conn.info.backend_pid, "wait_event_type = 'Lock'")
    yield


def history(observer: Any, pid: int) -> list[Any]:
    """Ended lock waits of a session, oldest first."""
    return rows(
        observer,
        "SELECT * FROM performance_schema.lock_waits_history_long WHERE waiting_pid = %s "
        "ORDER BY timer_start",
        pid,
    )


def test_message_that_waits(observer: Any, session: Any, secrets: Secrets) -> None:
    """While the first or a later statement of the message waits, and afterwards."""
    blocker, waiter = session(), session()
    for first in ("SELECT * FROM sec_locked", "SELECT 1; SELECT * FROM sec_locked"):
        for name in ("alter role", "alter system", "create user mapping", "do"):
            sql = KINDS[name].sql.format(s=secrets.word(f"{name}, behind {first}"))
            blocker.execute("BEGIN")
            blocker.execute("LOCK TABLE sec_locked")
            with waiting(observer, waiter, f"{first}; {sql}"):
                assert secrets.leaks(MEANWHILE) == []
            blocker.execute("ROLLBACK")
            read_to_end(waiter)
            undo(observer, KINDS[name])
    assert secrets.leaks() == []
    texts = {row.waiting_query for row in history(observer, waiter.info.backend_pid)}
    assert texts <= {"SELECT * FROM sec_locked", None}
    assert "SELECT * FROM sec_locked" in texts


def test_statement_that_waits(observer: Any, session: Any, secrets: Secrets) -> None:
    """ALTER ROLE itself waits, for one that has just set another password."""
    blocker, waiter = session(), session()
    for statements in (True, False):
        observer.execute(
            "SELECT performance_schema.set_instruments('statement/sql/%%', %s::boolean)",
            (statements,),
        )
        blocker.execute("BEGIN")
        blocker.execute(KINDS["alter role"].sql.format(s=secrets.word("the blocker's")))
        sql = KINDS["alter role"].sql.format(s=secrets.word("the waiter's"))
        with waiting(observer, waiter, sql):
            assert secrets.leaks(MEANWHILE) == []
        blocker.execute("ROLLBACK")
        read_to_end(waiter)
    everything_back = "SELECT performance_schema.set_instruments('statement/sql/%', true)"
    observer.execute(everything_back)
    assert len(history(observer, waiter.info.backend_pid)) >= 2
    assert secrets.leaks() == []


# --- words that the trusted may read --------------------------------------------------------------

NESTED = {
    "select": "SELECT '{s}'::text",
    "insert": "INSERT INTO sec_table VALUES ('{s}')",
    "fails": "SELECT ('{s}' || left(current_user, 0))::int",
    "name": 'SELECT 1 AS "{s}"',
    "nested deeper": "DO $$ BEGIN PERFORM length('{s}'); PERFORM 1 AS {s}; END $$",
    "waits": f"SELECT pg_advisory_xact_lock({LOCK}), '{{s}}'",
}


def test_text_inside_a_function(observer: Any, session: Any, secrets: Secrets) -> None:
    """What the function wrote into dynamic SQL is for pg_read_all_stats, not for its caller."""
    admin, caller = session(), session("sec_user")
    for name, sql in NESTED.items():
        order(admin, sql.format(s=secrets.word(f"{name}, handled")))
        assert attempt(caller, "SELECT sec_run_owner_handled()") == "00000"
        order(admin, sql.format(s=secrets.word(name)))
        if name != "fails":  # else the client is told
            assert attempt(caller, "SELECT sec_run_owner()") == "00000"
    hidden = [reader for reader in READERS if reader not in TRUSTED]
    assert secrets.leaks(hidden) == []
    for reader in TRUSTED:
        found = secrets.found(reader)
        for word, origin in secrets.origin.items():
            if origin not in ("fails", "nested deeper", "nested deeper, handled"):
                names = found.get(word, set())
                assert "performance_schema.events_statements_history" in names, (reader, origin)


def test_wait_inside_a_function(observer: Any, session: Any, secrets: Secrets) -> None:
    """The same while it waits, and as the one that others wait for."""
    admin, caller, blocker = session(), session("sec_user"), session()
    second = session("sec_user")
    hidden = [reader for reader in READERS if reader not in TRUSTED]
    word = secrets.word("waits inside")
    order(admin, NESTED["waits"].format(s=word))
    blocker.execute(f"SELECT pg_advisory_lock({LOCK})")
    second.execute("BEGIN")
    caller.execute("BEGIN")
    caller.execute("LOCK TABLE sec_table IN SHARE MODE")
    with waiting(observer, caller, "SELECT sec_run_owner()"):
        assert secrets.leaks(hidden) == []
        assert word in secrets.found("pg_monitor")
        with waiting(observer, second, "INSERT INTO sec_table VALUES ('b')"):
            assert secrets.leaks(hidden) == []
    blocker.execute(f"SELECT pg_advisory_unlock({LOCK})")
    read_to_end(caller)
    caller.execute("COMMIT")
    read_to_end(second)
    second.execute("COMMIT")
    assert secrets.leaks(hidden) == []
    [waited] = history(observer, caller.info.backend_pid)
    assert word in waited.waiting_query
    [behind] = history(observer, second.info.backend_pid)
    assert behind.blocking_query == "SELECT sec_run_owner()"
    own = rows(
        second,
        "SELECT waiting_query, blocking_query FROM performance_schema.lock_waits_history_long "
        "ORDER BY timer_start",
    )
    assert own[-2:] == [
        (None, None),
        ("INSERT INTO sec_table VALUES ('b')", "SELECT sec_run_owner()"),
    ]


TEXTS = (
    "SELECT sql_text FROM performance_schema.events_statements_history "
    "WHERE thread_id = %s AND (sql_text LIKE '%%sec_as_%%' OR sql_text IS NULL) ORDER BY event_id"
)


def test_text_belongs_to_the_role_it_ran_as(
    server: Any, observer: Any, session: Any, connect: Any
) -> None:
    """After SET ROLE it is that role's; has_privs_of_role decides, not the session's user."""
    observer.execute("CREATE ROLE sec_other")
    observer.execute("GRANT sec_other TO sec_user")
    observer.execute("ALTER ROLE sec_user NOINHERIT")
    observer.execute("GRANT CREATE ON SCHEMA public TO sec_other")
    if observer.info.server_version >= 160000:
        observer.execute("GRANT sec_other TO sec_user WITH INHERIT FALSE")
    conn, second = session("sec_user"), session("sec_user")
    conn.execute("SELECT 1 AS sec_as_user")
    conn.execute("SET ROLE sec_other")
    conn.execute("SELECT 2 AS sec_as_other")
    conn.execute("RESET ROLE")
    thread = thread_of(observer, conn)
    mine, other = "SELECT 1 AS sec_as_user", "SELECT 2 AS sec_as_other"
    seen = [text for (text,) in second.execute(TEXTS, (thread,)).fetchall()]
    assert mine in seen and other not in seen and None in seen
    seen = [text for (text,) in observer.execute(TEXTS, (thread,)).fetchall()]
    assert mine in seen and other in seen and None not in seen
    observer.execute("ALTER ROLE sec_user INHERIT")
    if observer.info.server_version >= 160000:
        observer.execute("GRANT sec_other TO sec_user WITH INHERIT TRUE")
    seen = [text for (text,) in second.execute(TEXTS, (thread,)).fetchall()]
    assert mine in seen and other in seen and None not in seen
    observer.execute("DROP OWNED BY sec_other")
    observer.execute("DROP ROLE sec_other")
    seen = [text for (text,) in second.execute(TEXTS, (thread,)).fetchall()]
    assert mine in seen and other not in seen


# --- what is still shown --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "text", "message"),
    [
        ("SELEC a FROM t", "SELEC a FROM t", 'syntax error at or near "SELEC"'),
        ("SELEC 'x', 1.5e3 FROM t7", "SELEC ?, ? FROM t7", 'syntax error at or near "SELEC"'),
        ("SELECT a FORM b WHERE /* c */ d", None, None),
        ("SELECT 'a' || 'b' FOO BAR", "SELECT ? || ? FOO BAR", 'syntax error at or near "BAR"'),
        (
            "ALTER ROLE r PASSWORD hunter2 FOO",
            "ALTER ROLE r PASSWORD ?",
            'syntax error at or near "?"',
        ),
        ("ALTER ROLE r '%s'", "ALTER ROLE r ?", 'syntax error at or near "?"'),
        ("SELECT 'it's done'", "SELECT ?", None),
        ("SELECT nosuch + 'x'", "SELECT nosuch + ?", 'column "nosuch" does not exist'),
    ],
)
def test_unparsed_text(
    server: Any, observer: Any, sql: str, text: str | None, message: str | None
) -> None:
    """Keywords and names stay, literals and what may be one do not."""
    with Watched(server, observer) as w:
        event = w.event(sql)
    assert text is None or event.sql_text == text
    assert message is None or event.message_text == message


def test_consumer_and_history(server: Any, observer: Any, session: Any) -> None:
    """lock_waits_history_long has a consumer of its own, and obeys threads.HISTORY."""
    state = "SELECT enabled FROM performance_schema.setup_consumers WHERE name = %s"
    assert one(observer, state, "lock_waits_history_long") == "YES"
    blocker, waiter = session(), session()
    pid = waiter.info.backend_pid

    def wait_once() -> None:
        blocker.execute("BEGIN")
        blocker.execute("LOCK TABLE sec_locked")
        with waiting(observer, waiter, "SELECT * FROM sec_locked"):
            blocker.execute("ROLLBACK")
        read_to_end(waiter)

    wait_once()
    assert len(history(observer, pid)) == 1
    with consumers(observer, lock_waits_history_long=False):
        wait_once()
    with consumers(observer, thread_instrumentation=False):
        wait_once()
    assert len(history(observer, pid)) == 1
    thread = thread_of(observer, waiter)
    switch = "SELECT performance_schema.set_thread(%s, NULL::boolean, %s)"
    observer.execute(switch, (thread, False))
    wait_once()
    assert len(history(observer, pid)) == 1
    observer.execute(switch, (thread, True))
    wait_once()
    assert len(history(observer, pid)) == 2


def test_fast_path(server: Any, session: Any, secrets: Secrets) -> None:
    """The function behind the sys views survives a call by message F, and shows no literal."""
    conn = session()
    oid = one(conn, "SELECT 'performance_schema.shown_text'::regproc::oid::int8")
    with RawClient(server) as raw:
        answers = raw.call_function(oid, "ALTER ROLE r PASSWORD 'x'", "t")
        assert ("V", b"\0\0\0\x17ALTER ROLE r PASSWORD ?") in answers
    shown = "SELECT performance_schema.shown_text(%s, true)"
    assert one(conn, shown, "SELECT 'a'") == "SELECT 'a'"
    assert one(conn, shown, "SELECT 'a'; SELECT 'b'") == "SELECT ?; SELECT ?"
    assert one(conn, shown, "<insufficient privilege>") == "<insufficient privilege>"
    assert one(conn, shown, None) is None
    assert one(conn, "SELECT performance_schema.shown_text('SELECT 1', false)") == "SELECT ?"


@pytest.mark.parametrize("value", ['{{"password":"{}"}}', '1"{}"2', ', "{}", '])
def test_values_between_quotes(session: Any, secrets: Secrets, value: str) -> None:
    """A value with quotes of its own: what stands between them is no part of the text, either."""
    conn = session()
    sql = "SELECT '{}'::jsonb, (%s::text)::int, 1, 2, ', '"
    for _ in range(3):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            conn.execute(sql, [value.format(secrets.word(sql))])
    assert secrets.leaks() == []


def test_messages_of_nested_statements(session: Any, secrets: Secrets) -> None:
    """What the text of the failed statement shows, that of its caller does not: others may read it."""
    literal = secrets.word("a literal in a function of another role")
    session().execute(
        "CREATE OR REPLACE FUNCTION sec_definers() RETURNS int LANGUAGE plpgsql SECURITY DEFINER "
        f"AS $$ BEGIN PERFORM '{literal}'::text::int; RETURN 1; END $$"
    )
    conn = session(READERS["own"])
    for _ in range(3):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            conn.execute("SELECT sec_definers()")
    assert secrets.leaks(["own"]) == []


def test_messages_of_what_a_function_builds(session: Any, secrets: Secrets) -> None:
    """The same of a parameter's value that a function puts into a text of its own."""
    session().execute(
        "CREATE OR REPLACE FUNCTION sec_builds(t text) RETURNS int LANGUAGE plpgsql SECURITY DEFINER "
        "AS $$ BEGIN EXECUTE format('SELECT %L::text::int', t); RETURN 1; END $$"
    )
    conn = session(READERS["own"])
    for _ in range(3):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            conn.execute("SELECT sec_builds(%s)", [secrets.word("a value")])
    assert secrets.leaks(["own"]) == []
