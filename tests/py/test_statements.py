"""Statement events: every column carries the truth, for every way to run a statement."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import (
    PS_PER_S,
    RawClient,
    Watched,
    consumers,
    difference,
    instruments,
    name_counts,
    one,
    rows,
    thread_of,
    wait_for_state,
    wait_until,
)

SETUP = """
CREATE TABLE t (a int PRIMARY KEY, b text);
INSERT INTO t SELECT i, repeat(md5(i::text), 4) FROM generate_series(1, 2000) i;
CREATE TABLE n (a int, b int);
INSERT INTO n SELECT i, i FROM generate_series(1, 10) i;
ANALYZE;
CREATE SCHEMA app;
CREATE FUNCTION app.count_t() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM public.t); END $$;
CREATE FUNCTION app.outer_f() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN PERFORM 1 FROM public.n; RETURN (SELECT app.count_t()); END $$;
CREATE FUNCTION app.sleeper(s float8) RETURNS void LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(s); END $$;
CREATE PROCEDURE app.proc() LANGUAGE plpgsql AS $$
BEGIN UPDATE public.n SET b = b; END $$;
CREATE FUNCTION app.trig() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM count(*) FROM public.t WHERE a = new.a; RETURN new; END $$;
CREATE TABLE app.tt (a int);
CREATE TRIGGER my_trigger BEFORE INSERT ON app.tt FOR EACH ROW EXECUTE FUNCTION app.trig();
CREATE TABLE d (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
INSERT INTO d VALUES (1);
"""


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """A server that keeps 200 statements per thread."""
    with with_library(
        pg_config, SETUP, performance_schema__events_statements_history_size=200
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as connection:
        yield connection


@pytest.fixture
def w(server: Any, observer: Any) -> Iterator[Watched]:
    with Watched(server, observer) as watched:
        yield watched


@pytest.fixture
def raw(server: Any) -> Iterator[RawClient]:
    with RawClient(server) as client:
        yield client


# --- what identifies a statement ------------------------------------------------------------------


def test_identity(w: Watched, server: Any) -> None:
    """SQL text, digest, its text, database's query id, event name, statement id."""
    a = w.event("SELECT a, 'x' FROM t WHERE a = 7")
    b = w.event("select a ,  'yy' from t  where a=8 -- comment")
    assert a.event_name == "statement/sql/select"
    assert a.sql_text == "SELECT a, 'x' FROM t WHERE a = 7"
    assert a.digest_text == "SELECT `a` , ? FROM `t` WHERE `a` = ?"
    assert a.digest == b.digest == hashlib.sha256(a.digest_text.encode()).hexdigest()
    assert a.queryid == b.queryid
    assert b.statement_id > a.statement_id
    assert b.event_id > a.event_id
    assert a.end_event_id >= a.event_id
    w.conn.execute("SET search_path = app")
    named = w.event("SELECT 1 FROM public.t WHERE a = 7")
    assert named.digest != a.digest


def test_digest_of_a_commands_query(w: Watched) -> None:
    """A query that is met first inside a command has no text of the client's other statements."""
    create = "CREATE TABLE {} commands_query AS SELECT 1 AS c, 2 AS d, 3 AS e, 4 AS f"
    for how in ("IF NOT EXISTS", ""):
        w.conn.execute(f"DO $$BEGIN END$$; {create.format(how)}; DROP TABLE commands_query")
    w.conn.execute("DO $$BEGIN END$$; EXPLAIN SELECT 5, 6, 7, 8, 9; SELECT 1")
    for sql in ("SELECT 1, 2, 3, 4", "SELECT 5, 6, 7, 8, 9"):
        text = w.event(sql).digest_text
        assert "SELECT ?" in text and "DO" not in text and "DROP" not in text



def test_one_text_of_many(w: Watched) -> None:
    """Each statement of a multi-statement query shows its own part."""
    found = w.run("SELECT 1; SELECT 'b' ; UPDATE n SET b = b WHERE a = 0")
    assert [e.sql_text for e in found] == [
        "SELECT 1",
        "SELECT 'b'",
        "UPDATE n SET b = b WHERE a = 0",
    ]
    assert [e.event_name for e in found] == [
        "statement/sql/select",
        "statement/sql/select",
        "statement/sql/update",
    ]


@pytest.mark.parametrize(
    "sql, name",
    [
        ("CREATE TABLE x1 (a int)", "create_table"),
        ("DROP TABLE IF EXISTS x1", "drop_table"),
        ("EXPLAIN SELECT 1", "explain"),
        ("SET work_mem = '4MB'", "set"),
        ("SHOW work_mem", "show"),
        ("VACUUM n", "vacuum"),
        ("ANALYZE n", "analyze"),
        ("CHECKPOINT", "checkpoint"),
        ("DO $$ BEGIN END $$", "do"),
        ("CALL app.proc()", "call"),
        ("INSERT INTO app.tt VALUES (1)", "insert"),
        ("DELETE FROM n WHERE a = -1", "delete"),
        ("MERGE INTO n USING (SELECT 1 AS a) s ON n.a = s.a WHEN MATCHED THEN DO NOTHING", "merge"),
        ("VALUES (1), (2)", "select"),
        ("TABLE n", "select"),
        ("LISTEN x", "listen"),
        ("DISCARD PLANS", "discard_plans"),
        ("CREATE ROLE tag_role", "create_role"),
        ("DROP ROLE tag_role", "drop_role"),
        ("SELECT a INTO TEMP tmp1 FROM n", "select_into"),
        ("CREATE TEMP TABLE tmp2 AS SELECT a FROM n", "create_table_as"),
    ],
)
def test_command_tags(w: Watched, sql: str, name: str) -> None:
    """The event name is the command's tag."""
    assert w.event(sql).event_name == f"statement/sql/{name}"


def test_current_schema(w: Watched) -> None:
    """CURRENT_SCHEMA follows SET search_path and SET LOCAL, from the next statement on."""
    assert w.event("SELECT 1").current_schema_name == "public"
    w.conn.execute("SET search_path = app, public")
    assert w.event("SELECT 1").current_schema_name == "app"
    w.conn.execute("BEGIN")
    w.conn.execute("SET LOCAL search_path = pg_catalog")
    assert w.event("SELECT 1").current_schema_name == "pg_catalog"
    w.conn.execute("ROLLBACK")
    assert w.event("SELECT 1").current_schema_name == "app"
    w.conn.execute("SET search_path = nowhere")
    assert w.event("SELECT 1").current_schema_name is None


def test_current_schema_is_temporary(server: Any, observer: Any) -> None:
    """A temporary schema that an earlier session left is taken over: the catalog stays."""
    earlier = [server.connect() for _ in range(5)]
    for conn in earlier:
        conn.execute("CREATE TEMP TABLE left_behind ()")
    for conn in earlier:
        conn.close()
    with Watched(server, observer) as later:
        later.conn.execute("SET search_path = pg_temp, public")
        assert later.event("SELECT 1").current_schema_name == "public"
        later.conn.execute("CREATE TEMP TABLE mine ()")
        name = later.event("SELECT 1").current_schema_name
        assert name == one(
            later.conn, "SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'mine'"
        )


def test_current_schema_appears(w: Watched) -> None:
    """A schema that is created or dropped changes it, although the setting stays."""
    w.conn.execute("SET search_path = later, public")
    assert w.event("SELECT 1").current_schema_name == "public"
    w.conn.execute("CREATE SCHEMA later")
    assert w.event("SELECT 1").current_schema_name == "later"
    w.conn.execute("DROP SCHEMA later")
    assert w.event("SELECT 1").current_schema_name == "public"


@pytest.mark.parametrize("ends", ["RETURN x;", "RAISE EXCEPTION 'away';"])
def test_current_schema_in_functions(w: Watched, ends: str) -> None:
    """Functions with search paths of their own, one after the other: paths of the same length."""
    w.conn.execute("CREATE SCHEMA IF NOT EXISTS own_a; CREATE SCHEMA IF NOT EXISTS own_b")
    for name in "ab":
        w.conn.execute(
            f"CREATE FUNCTION pg_temp.in_{name}() RETURNS int LANGUAGE plpgsql "
            f"SET search_path = own_{name} AS $$ DECLARE x int; BEGIN "
            f"EXECUTE 'SELECT 1 AS in_{name}' INTO x; {ends} END $$"
        )
    if "RAISE" in ends:
        call = "BEGIN RETURN pg_temp.in_{0}(); EXCEPTION WHEN OTHERS THEN RETURN 0; END"
        for name in "ab":
            w.conn.execute(
                f"CREATE FUNCTION pg_temp.try_{name}() RETURNS int LANGUAGE plpgsql AS $$ "
                f"{call.format(name)} $$"
            )
    prefix = "try" if "RAISE" in ends else "in"
    events = w.run(f"SELECT pg_temp.{prefix}_a(), pg_temp.{prefix}_b(), pg_temp.{prefix}_a()")
    assert [e.current_schema_name for e in events if "AS in_" in e.sql_text] == [
        "own_a", "own_b", "own_a",
    ]  # fmt: skip


def test_current_schema_of_a_member(w: Watched, server: Any) -> None:
    """A role that comes to be a member of another one may use that one's schemas at once."""
    admin = w.observer
    admin.execute("CREATE ROLE schema_group; CREATE ROLE schema_member LOGIN")
    admin.execute("CREATE SCHEMA of_group; GRANT USAGE ON SCHEMA of_group TO schema_group")
    with Watched(server, admin, user="schema_member") as member:
        member.conn.execute("SET search_path = of_group, public")
        assert member.event("SELECT 1").current_schema_name == "public"
        admin.execute("GRANT schema_group TO schema_member")
        member.conn.execute("SELECT 1")  # which learns of it while it begins
        [shown] = member.conn.execute("SELECT current_schema()").fetchone()
        assert member.event("SELECT 1").current_schema_name == shown
    admin.execute("DROP SCHEMA of_group; DROP ROLE schema_member, schema_group")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE ROLE secret_role PASSWORD 'hunter2'",
        "ALTER ROLE postgres PASSWORD 'hunter2'",
        "DROP ROLE IF EXISTS secret_role, secret_other",
        "DO $$ BEGIN EXECUTE 'CREATE ROLE secret_other PASSWORD ''hunter2'''; END $$",
    ],
)
def test_password_is_not_shown(w: Watched, sql: str) -> None:
    """Statements that may hold a password show their normalised text."""
    found = w.run(sql)
    assert found
    assert not [e.sql_text for e in found if "hunter2" in (e.sql_text or "")]
    assert not [e.digest_text for e in found if "hunter2" in (e.digest_text or "")]


def test_password_sample_text(w: Watched, observer: Any) -> None:
    """Nor does the digest's sample show it, nor the row of the running statement."""
    w.conn.execute("ALTER ROLE postgres PASSWORD 'hunter3'")
    texts = observer.execute(
        "SELECT query_sample_text FROM performance_schema.events_statements_summary_by_digest "
        "WHERE digest_text LIKE 'ALTER%'"
    ).fetchall()
    assert texts and "hunter3" not in str(texts)
    assert "hunter3" not in str(w.current())


# --- nesting --------------------------------------------------------------------------------------


def test_nesting(w: Watched) -> None:
    """Ids, types and levels of statements inside functions inside functions."""
    found = w.run("SELECT app.outer_f()")
    texts = {e.sql_text: e for e in found}
    top = texts["SELECT app.outer_f()"]
    assert (top.nesting_event_level, top.nesting_event_id, top.nesting_event_type) == (
        0,
        None,
        None,
    )
    assert top.object_name is None
    inner = [e for e in found if e.nesting_event_level == 1]
    deep = [e for e in found if e.nesting_event_level == 2]
    # as in MySQL: the transaction that the statement began is the nearer parent
    [transaction] = rows(
        w.observer,
        "SELECT * FROM performance_schema.events_transactions_history "
        "WHERE thread_id = %s ORDER BY event_id DESC LIMIT 1",
        w.thread_id,
    )
    assert (transaction.nesting_event_id, transaction.nesting_event_type) == (
        top.event_id,
        "STATEMENT",
    )
    assert {(e.nesting_event_id, e.nesting_event_type) for e in inner} == {
        (transaction.event_id, "TRANSACTION")
    }
    assert {e.nesting_event_type for e in deep} == {"STATEMENT"}
    assert {(e.object_type, e.object_schema, e.object_name) for e in inner} == {
        ("FUNCTION", "app", "outer_f")
    }
    assert [(e.object_type, e.object_schema, e.object_name) for e in deep] == [
        ("FUNCTION", "app", "count_t")
    ]
    caller = [e for e in inner if "count_t" in e.sql_text]
    assert [e.nesting_event_id for e in deep] == [e.event_id for e in caller]
    assert all(top.event_id < e.event_id <= top.end_event_id for e in inner + deep)
    assert all(top.timer_start <= e.timer_start <= e.timer_end <= top.timer_end for e in inner)
    assert sum(e.timer_wait for e in inner) <= top.timer_wait


def test_routine_left_by_an_error(w: Watched, observer: Any) -> None:
    """Nobody stands in it any more, also where the ErrorResponse has left nothing to be ended."""
    names = ("boom() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'boom'; END $$",
        "low(x int) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM t WHERE a = x $$",
        "high(x int) RETURNS bigint LANGUAGE sql AS "
        "$$ SELECT app.low(x) FROM (VALUES (1), (2)) v LIMIT 1 $$")  # fmt: skip
    for name in names:
        w.conn.execute(f"CREATE OR REPLACE FUNCTION app.{name}")
    with instruments(observer, "transaction", "NO"):
        with pytest.raises(psycopg.errors.RaiseException):
            w.conn.execute("SELECT app.boom()")
        inner = [e for e in w.run("SELECT app.high(1)") if e.nesting_event_level > 0]
    assert inner
    assert {e.object_name for e in inner} == {None}


def test_routine_kinds(w: Watched) -> None:
    """PROCEDURE and TRIGGER."""
    [call] = [e for e in w.run("CALL app.proc()") if e.nesting_event_level == 1]
    assert (call.object_type, call.object_schema, call.object_name) == ("PROCEDURE", "app", "proc")
    assert call.rows_affected == 10
    [trigger] = [e for e in w.run("INSERT INTO app.tt VALUES (3)") if e.nesting_event_level == 1]
    assert (trigger.object_type, trigger.object_schema, trigger.object_name) == (
        "TRIGGER",
        "app",
        "my_trigger",
    )


def test_nesting_in_a_transaction(w: Watched) -> None:
    """In a block the top-level statement is nested in the transaction."""
    w.conn.execute("BEGIN")
    event = w.event("SELECT 1")
    [transaction] = rows(
        w.observer,
        "SELECT * FROM performance_schema.events_transactions_current WHERE thread_id = %s",
        w.thread_id,
    )
    w.conn.execute("COMMIT")
    assert event.nesting_event_type == "TRANSACTION"
    assert event.nesting_event_id == transaction.event_id


def test_current_shows_the_stack(w: Watched, server: Any) -> None:
    """While a nested statement runs, events_statements_current has it and its callers."""
    with server.connect() as locker:
        locker.execute("SELECT pg_advisory_lock(77)")
        w.conn.execute(
            "CREATE OR REPLACE FUNCTION app.waits() RETURNS void LANGUAGE plpgsql AS $$ "
            "BEGIN PERFORM pg_advisory_lock(77); PERFORM pg_advisory_unlock(77); END $$"
        )
        runner = threading.Thread(target=w.conn.execute, args=("SELECT app.waits()",))
        runner.start()
        wait_for_state(w.observer, w.pid, "wait_event_type = 'Lock'")
        current = w.current()
        again = w.current()
        [thread] = rows(
            w.observer,
            "SELECT * FROM performance_schema.threads WHERE thread_id = %s",
            w.thread_id,
        )
        locker.execute("SELECT pg_advisory_unlock(77)")
        runner.join()
    assert [e.nesting_event_level for e in current] == [0, 1]
    assert [e.end_event_id for e in current] == [None, None]
    assert current[0].sql_text == "SELECT app.waits()"
    assert "pg_advisory_lock" in current[1].sql_text
    assert current[1].object_name == "waits"
    assert all(b.timer_wait > a.timer_wait > 0 for a, b in zip(current, again))
    assert thread.processlist_command == "Query"
    assert thread.processlist_state == "active"
    assert thread.processlist_info == "SELECT app.waits()"


# --- failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql, state, message, name",
    [
        ("SELEC 1", "42601", "syntax error", "error"),
        ("SELECT 'unterminated", "42601", "unterminated quoted string", "error"),
        ("SELECT nosuch", "42703", 'column "nosuch" does not exist', "error"),
        ("SELECT * FROM nosuch", "42P01", 'relation "nosuch"', "error"),
        ("SELECT 1 / 0", "22012", "division by zero", None),
        ("SELECT 1 / (a - a) FROM n", "22012", "division by zero", "select"),
        ("INSERT INTO t VALUES (1, 'dup')", "23505", "duplicate key", "insert"),
        ("CREATE TABLE t (a int)", "42P07", "already exists", "create_table"),
        ("DROP TABLE nosuch", "42P01", "does not exist", "drop_table"),
        ("INSERT INTO d VALUES (1)", "23505", "duplicate key", "insert"),
        (
            "DO $$ BEGIN RAISE EXCEPTION 'mine' USING errcode = 'AB123'; END $$",
            "AB123",
            "mine",
            "do",
        ),
        ("VACUUM nosuch", "42P01", "does not exist", "vacuum"),
    ],
)
def test_failures(
    w: Watched, sql: str, state: str, message: str, name: str | None, observer: Any
) -> None:
    """At parse, analyse, plan, execute and commit: SQLSTATE, message, one error, one event.

    A text that was not parsed is shown without its literals, and so is a block.
    """
    event = w.event(sql)
    assert event.returned_sqlstate == state
    assert message in event.message_text
    assert event.errors == 1
    masked = {"SELEC 1": "SELEC ?", "SELECT 'unterminated": "SELECT ?"}
    assert event.sql_text == ("DO ?" if name == "do" else masked.get(sql, sql))
    assert event.timer_wait > 0
    assert event.end_event_id is not None
    if name:
        assert event.event_name == f"statement/sql/{name}"
    assert w.event("SELECT 1").errors == 0


def test_failure_at_explicit_commit(w: Watched) -> None:
    """The deferred constraint fails the COMMIT, not the INSERT."""
    w.conn.execute("BEGIN")
    assert w.event("INSERT INTO d VALUES (1)").errors == 0
    event = w.event("COMMIT")
    assert (event.errors, event.returned_sqlstate) == (1, "23505")
    assert event.event_name == "statement/sql/commit"


def test_aborted_block(w: Watched) -> None:
    """Statements refused in an aborted block are failures too; ROLLBACK is none."""
    w.conn.execute("BEGIN")
    assert w.event("SELECT 1 / 0").returned_sqlstate == "22012"
    refused = w.event("SELECT a FROM t WHERE b = 'x'")
    assert (refused.errors, refused.returned_sqlstate) == (1, "25P02")
    assert refused.sql_text == "SELECT a FROM t WHERE b = ?"
    assert w.event("ROLLBACK").errors == 0


def test_message_is_cut(w: Watched) -> None:
    """MESSAGE_TEXT holds 128 bytes, cut at a character."""
    event = w.event("DO $$ BEGIN RAISE EXCEPTION '%', repeat('ä', 100); END $$")
    assert event.message_text == "ä" * 64


@pytest.mark.parametrize("encoding", ["LATIN1", "WIN1252", "EUC_JP"])
def test_message_for_a_client_of_another_encoding(w: Watched, encoding: str) -> None:
    """MESSAGE_TEXT is what the server says, in its encoding, not what the client is sent."""
    letters = "ソ表" if encoding == "EUC_JP" else "äé"
    w.conn.execute(f"SET client_encoding = '{encoding}'")
    event = w.event(f"SELECT (n || '{letters}')::int FROM (VALUES ('')) v(n)")
    assert letters in event.sql_text
    assert event.message_text == f'invalid input syntax for type integer: "{letters}"'


def test_failure_in_a_function(w: Watched) -> None:
    """The nested statement and its caller both fail; the handled one fails alone."""
    w.conn.execute(
        "CREATE OR REPLACE FUNCTION app.fails() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM 1 / (a - a) FROM public.n; RETURN 1; END $$"
    )
    found = w.run("SELECT app.fails()")
    assert [(e.nesting_event_level, e.errors, e.returned_sqlstate) for e in found] == [
        (0, 1, "22012"),
        (1, 1, "22012"),
    ]
    found = w.run(
        "DO $$ BEGIN BEGIN INSERT INTO public.t VALUES (1, 'x'); "
        "EXCEPTION WHEN unique_violation THEN PERFORM 2; END; END $$"
    )
    assert [(e.nesting_event_level, e.errors, e.returned_sqlstate) for e in found] == [
        (0, 0, None),
        (1, 1, "23505"),
        (1, 0, None),
    ]


def test_cancelled(w: Watched, server: Any) -> None:
    """A statement cancelled in the middle: 57014, and the rows so far."""
    sql = "SELECT a, CASE WHEN a = 500 THEN pg_sleep(60)::text END FROM t ORDER BY a"
    errors: list[BaseException] = []
    since = w.mark()

    def run() -> None:
        try:
            w.conn.execute(sql)
        except psycopg.Error as error:
            errors.append(error)

    runner = threading.Thread(target=run)
    runner.start()
    wait_for_state(w.observer, w.pid, "wait_event = 'PgSleep'")
    w.observer.execute(f"SELECT pg_cancel_backend({w.pid})")
    runner.join()
    assert errors
    [event] = w.events(since)
    assert (event.returned_sqlstate, event.errors) == ("57014", 1)
    assert event.rows_sent == 499
    assert event.sql_text == sql


def test_lock_timeout_of_utility(w: Watched, server: Any) -> None:
    """A DDL statement that fails while it waits."""
    with server.connect(autocommit=False) as locker:
        locker.execute("LOCK TABLE n")
        w.conn.execute("SET lock_timeout = '20ms'")
        event = w.event("ALTER TABLE n ADD COLUMN c int")
        locker.rollback()
    assert event.returned_sqlstate == "55P03"
    assert event.timer_wait >= 0.02 * PS_PER_S


def test_warnings(w: Watched) -> None:
    """RAISE WARNING counts, NOTICE does not; also what the server warns of."""
    event = w.event("DO $$ BEGIN RAISE WARNING 'a'; RAISE NOTICE 'b'; RAISE WARNING 'c'; END $$")
    assert (event.warnings, event.errors, event.returned_sqlstate) == (2, 0, None)
    assert w.event("COMMIT").warnings == 1
    assert w.event("SELECT 1").warnings == 0


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql, sent, affected",
    [
        ("SELECT a FROM t WHERE a <= 30", 30, 0),
        ("INSERT INTO app.tt SELECT generate_series(1, 7)", 0, 7),
        ("UPDATE n SET b = b", 0, 10),
        ("UPDATE n SET b = b WHERE a <= 4 RETURNING a", 4, 4),
        ("DELETE FROM n WHERE a < 0", 0, 0),
        ("COPY t TO '/dev/null'", 2000, 0),
        ("CREATE TEMP TABLE c1 AS SELECT a FROM n", 0, 10),
        ("SELECT 1 WHERE false", 0, 0),
        ("VALUES (1), (2), (3)", 3, 0),
    ],
)
def test_rows(w: Watched, sql: str, sent: int, affected: int) -> None:
    event = w.event(sql)
    assert (event.rows_sent, event.rows_affected) == (sent, affected)


def test_rows_of_copy_from_client(w: Watched) -> None:
    """COPY FROM STDIN and TO STDOUT."""
    since = w.mark()
    w.conn.execute("CREATE TEMP TABLE copied (a int)")
    with w.conn.cursor() as cursor, cursor.copy("COPY copied FROM STDIN") as copy:
        for i in range(25):
            copy.write_row((i,))
    with w.conn.cursor() as cursor, cursor.copy("COPY copied TO STDOUT") as copy:
        assert len(list(copy)) == 25
    found = w.events(since)[-2:]
    assert [(e.event_name, e.rows_affected, e.rows_sent) for e in found] == [
        ("statement/sql/copy", 25, 0),
        ("statement/sql/copy", 0, 25),
    ]


def test_rows_examined(w: Watched) -> None:
    """Rows read from tables, where they are counted at no extra cost; never fewer than zero."""
    event = w.event("SELECT count(*) FROM t")
    assert event.rows_sent == 1
    assert event.rows_examined == 2000


def test_plan_columns(w: Watched) -> None:
    """Scans, ranges, joins, sorts, indexes."""
    scan = w.event("SELECT * FROM t")
    assert (scan.select_scan, scan.select_range, scan.no_index_used) == (1, 0, 1)
    w.conn.execute("SET enable_seqscan = off")
    found = w.event("SELECT * FROM t WHERE a BETWEEN 5 AND 10")
    assert (found.select_scan, found.select_range, found.no_index_used) == (0, 1, 0)
    w.conn.execute("RESET enable_seqscan")
    w.conn.execute("SET enable_hashjoin = off; SET enable_mergejoin = off")
    w.conn.execute("SET enable_material = off")
    join = w.event("SELECT * FROM n x JOIN n y ON x.b = y.b")
    assert join.select_full_join == 1
    ordered = w.event("SELECT * FROM t ORDER BY b")
    assert (ordered.sort_rows, ordered.sort_scan, ordered.sort_range) == (2000, 1, 0)
    assert ordered.created_tmp_tables >= 1
    assert ordered.sort_merge_passes == 0
    plain = w.event("SELECT 1")
    assert (plain.select_scan, plain.no_index_used, plain.sort_rows) == (0, 0, 0)


def test_sorted_rows_by_index(w: Watched) -> None:
    """What one sort takes in from one scan of an index, whatever else reads that index meanwhile."""
    w.conn.execute("CREATE TABLE sorted (id int PRIMARY KEY, v int, txt text)")
    w.conn.execute("INSERT INTO sorted SELECT g, g % 7, 'x' || g FROM generate_series(1, 1000) g")
    w.conn.execute("ANALYZE sorted")
    w.conn.execute(
        "CREATE FUNCTION nested(n int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE r bigint; BEGIN "
        "EXECUTE 'SELECT count(txt) FROM sorted WHERE id > ' || 990 + n INTO r; RETURN r; END $$"
    )
    for off in ("seqscan", "bitmapscan", "indexonlyscan", "hashagg"):
        w.conn.execute(f"SET enable_{off} = off")
    for sql, count in {
        "SELECT txt FROM sorted WHERE id <= 50 ORDER BY txt": 50,
        "SELECT txt FROM sorted WHERE id BETWEEN 11 AND 20 ORDER BY v, txt DESC LIMIT 3": 10,
        "SELECT DISTINCT v FROM sorted WHERE id <= 50": 50,
        "SELECT DISTINCT v FROM sorted WHERE id <= 50 ORDER BY v LIMIT 0": 0,
        "SELECT txt FROM sorted WHERE id <= 50 AND v = 3 ORDER BY txt": 7,
        "SELECT txt FROM sorted WHERE id IN (1, 5, 7, 3000) ORDER BY txt": 3,
        "SELECT nested(v) FROM sorted WHERE id <= 50 ORDER BY txt": 50,
        "SELECT txt FROM sorted WHERE id <= 20 ORDER BY nested(v), txt": 20,
        "SELECT txt FROM sorted WHERE id = -1 ORDER BY txt": 0,
        "SELECT relname FROM pg_class WHERE oid < 1260 ORDER BY relname": None,
    }.items():
        expected = count
        if expected is None:
            expected = one(w.conn, f"SELECT count(*) FROM ({sql} OFFSET 0) found")
        for _ in range(12):
            assert (sql, w.event(sql).sort_rows) == (sql, expected)
    w.conn.execute("SET plan_cache_mode = force_generic_plan")  # the scan asks itself anew for the value
    for sql, count in {
        "SELECT txt FROM sorted WHERE id <= %s ORDER BY txt": 50,
        "SELECT txt FROM sorted WHERE id <= %s ORDER BY txt || 'x'": 50,
        "SELECT txt FROM sorted WHERE id <= %s AND v = 3 ORDER BY txt": 7,
        "SELECT txt FROM sorted WHERE id <= %s AND v = 8 ORDER BY txt": 0,
        "SELECT s.txt FROM (VALUES (3), (4), (5)) x (i), LATERAL "
        "(SELECT txt FROM sorted WHERE id <= %s + i ORDER BY txt || 'y' OFFSET 0) s": 162,
    }.items():
        for _ in range(12):
            assert (sql, w.event(sql, 50).sort_rows) == (sql, count)
    w.conn.execute("RESET plan_cache_mode")
    w.conn.execute("SET track_counts = off")
    assert w.event("SELECT txt FROM sorted WHERE id <= 50 ORDER BY txt").sort_rows == 50
    w.conn.execute("SET track_counts = on")


def test_temporary_files(w: Watched) -> None:
    """A sort that does not fit into work_mem."""
    assert w.event("SELECT * FROM t ORDER BY b").created_tmp_disk_tables == 0
    w.conn.execute("SET work_mem = '64kB'")
    event = w.event("SELECT * FROM t ORDER BY b")
    assert event.created_tmp_disk_tables >= 1
    assert event.tmp_bytes > 100_000
    assert event.sort_merge_passes >= 1
    assert event.sort_rows == 2000
    w.conn.execute("RESET work_mem")
    assert w.event("SELECT * FROM t ORDER BY b").tmp_bytes == 0


def test_cpu_time(w: Watched, observer: Any) -> None:
    """Only with its consumer; not more than the elapsed time; sleeping takes none."""
    work = "SELECT count(*) FROM generate_series(1, 300000) i WHERE md5(i::text) <> ''"
    assert not w.event(work).cpu_time
    with consumers(observer, events_statements_cpu=True):
        w.conn.execute("SELECT 1")
        event = w.event(work)
        sleep = w.event("SELECT pg_sleep(0.1)")
    assert 0.1 < event.cpu_time / event.timer_wait < 1.1
    assert sleep.cpu_time / sleep.timer_wait < 0.2


BURN = "SELECT count(*) FROM generate_series(1, 300000) i WHERE md5(i::text) <> ''"
BURNS_AT_COMMIT = f"""
CREATE TABLE app.burns (a int);
CREATE FUNCTION app.burn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM * FROM ({BURN}) AS burnt;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER burns AFTER INSERT ON app.burns DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION app.burn()
"""


@pytest.mark.parametrize(
    "params, threshold", [((), None), ((1,), None), ((1,), 0)], ids=["simple", "unnamed", "named"]
)
def test_cpu_time_of_a_commit(
    w: Watched, observer: Any, params: Any, threshold: int | None
) -> None:
    """A statement on its own ends with its commit, and so does what the processor did for it."""
    observer.execute(BURNS_AT_COMMIT)
    w.conn.prepare_threshold = threshold
    try:
        with consumers(observer, events_statements_cpu=True):
            w.conn.execute("SELECT 1")
            alone = w.event(BURN)
            for turn in range(4):
                insert = f"INSERT INTO app.burns VALUES ({'%s' if params else '1'})"
                events = w.run(insert, *params)
                [event] = [e for e in events if e.event_name == "statement/sql/insert"]
                assert alone.cpu_time / 2 < event.cpu_time <= event.timer_wait, turn
    finally:
        w.conn.prepare_threshold = None
        observer.execute("DROP TABLE app.burns; DROP FUNCTION app.burn()")


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sql", ["SELECT pg_sleep(0.2)", "SELECT app.sleeper(0.2)"])
def test_timer_wait(w: Watched, sql: str) -> None:
    """Within 5 %, also of the nested statement."""
    for event in w.run(sql):
        assert 0.2 * PS_PER_S <= event.timer_wait <= 0.21 * PS_PER_S, event
        assert abs(event.timer_end - event.timer_start - event.timer_wait) < 1000  # rounding


def test_think_time_of_cursor(w: Watched, observer: Any) -> None:
    """Time between FETCHes belongs to no statement."""
    w.conn.execute("BEGIN")
    w.conn.execute("DECLARE think CURSOR FOR SELECT a FROM t ORDER BY a")
    w.conn.execute("FETCH 5 FROM think")
    observer.execute("SELECT pg_sleep(0.15)")
    w.conn.execute("FETCH 5 FROM think")
    w.conn.execute("CLOSE think")
    w.conn.execute("COMMIT")
    waits = [e.timer_wait for e in w.events() if "think" in (e.sql_text or "")]
    assert len(waits) == 5  # DECLARE, its query, 2 FETCH, CLOSE
    assert sum(waits) < 0.1 * PS_PER_S


def test_think_time_of_portal(raw: RawClient, observer: Any, server: Any) -> None:
    """A portal suspended by its client: rows add up, the pause does not count."""
    thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
    sql = "SELECT a FROM t WHERE a <= 25 ORDER BY a"
    raw.query("BEGIN")
    raw.parse(sql).bind().execute(max_rows=10).sync()
    observer.execute("SELECT pg_sleep(0.15)")
    raw.execute(max_rows=10).sync()
    observer.execute("SELECT pg_sleep(0.15)")
    raw.execute(max_rows=10).sync()
    raw.query("COMMIT")
    found = rows(
        observer,
        "SELECT * FROM performance_schema.events_statements_history "
        "WHERE thread_id = %s AND sql_text = %s",
        thread_id,
        sql,
    )
    assert [e.rows_sent for e in found] == [25]
    assert found[0].timer_wait < 0.1 * PS_PER_S
    assert found[0].event_name == "statement/sql/select"


def test_idle_in_transaction_is_not_statement_time(raw: RawClient, observer: Any) -> None:
    """In the extended protocol ExecutorEnd comes with the next Bind: the pause is not counted."""
    thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
    raw.query("BEGIN")
    raw.parse("SELECT 41").bind().describe().execute().sync()
    wait_for_state(observer, raw.pid, "state = 'idle in transaction'")
    [thread] = rows(
        observer, "SELECT * FROM performance_schema.threads WHERE thread_id = %s", thread_id
    )
    assert thread.processlist_command == "Sleep"
    assert thread.processlist_state == "idle in transaction"
    observer.execute("SELECT pg_sleep(0.1)")
    raw.parse("SELECT 42").bind().describe().execute().sync()
    raw.query("COMMIT")
    found = rows(
        observer,
        "SELECT sql_text, timer_wait FROM performance_schema.events_statements_history "
        "WHERE thread_id = %s AND sql_text IN ('SELECT 41', 'SELECT 42')",
        thread_id,
    )
    assert len(found) == 2
    assert all(e.timer_wait < 0.05 * PS_PER_S for e in found), found


def test_state_of_an_aborted_transaction(raw: RawClient, observer: Any) -> None:
    raw.query("BEGIN")
    raw.query("SELECT 1 / 0")
    wait_for_state(observer, raw.pid, "state = 'idle in transaction (aborted)'")
    state = "SELECT processlist_state FROM performance_schema.threads WHERE processlist_id = %s"
    assert one(observer, state, raw.pid) == "idle in transaction (aborted)"
    raw.query("ROLLBACK")
    wait_for_state(observer, raw.pid, "state = 'idle'")
    assert one(observer, state, raw.pid) == "idle"


def test_named_cursor_of_psycopg(w: Watched) -> None:
    """A server-side cursor, fetched in parts."""
    since = w.mark()
    with w.conn.transaction(), w.conn.cursor("parts") as cursor:
        cursor.itersize = 300
        cursor.execute("SELECT a FROM t ORDER BY a")
        assert len(cursor.fetchmany(300)) == 300
        assert len(cursor.fetchall()) == 1700
    found = [e for e in w.events(since) if e.event_name == "statement/sql/fetch"]
    assert sum(e.rows_sent for e in found) == 2000


# --- protocol commands ------------------------------------------------------------------------


def test_protocol_commands(raw: RawClient, observer: Any) -> None:
    """Each message is counted, exactly as often as it was sent."""
    thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
    oid = one(observer, "SELECT 'pg_catalog.int4pl'::regproc::oid::int8")
    raw.query("SELECT 1")

    def counted(action: Callable[[], Any]) -> dict[str, int]:
        before = name_counts(observer, thread_id)
        action()
        grown = difference(name_counts(observer, thread_id), before)
        return {name: n for name, n in grown.items() if name.startswith("com/")}

    assert counted(lambda: [raw.query("SELECT 1") for _ in range(3)]) == {"com/Query": 3}
    assert counted(lambda: raw.query("SELECT 1; SELECT 2")) == {"com/Query": 1}
    assert counted(lambda: raw.query("")) == {"com/Query": 1}
    assert counted(lambda: raw.query("SELECT nosuch")) == {"com/Query": 1}
    assert counted(lambda: raw.parse("SELECT $1::int", "s1").sync()) == {"com/Parse": 1}
    assert counted(lambda: raw.describe("S", "s1").sync()) == {"com/Describe": 1}
    assert counted(lambda: raw.bind("1", name="s1").execute().sync()) == {
        "com/Bind": 1,
        "com/Execute": 1,
    }
    assert counted(lambda: raw.bind("1", name="s1").describe().execute().sync()) == {
        "com/Bind": 1,
        "com/Describe": 1,
        "com/Execute": 1,
    }
    assert counted(lambda: raw.parse("SET work_mem = '4MB'", "u").describe("S", "u").sync()) == {
        "com/Parse": 1,
        "com/Describe": 1,
    }
    assert counted(lambda: raw.bind(name="u").describe().execute().sync()) == {
        "com/Bind": 1,
        "com/Describe": 1,
        "com/Execute": 1,
    }
    assert counted(lambda: raw.close_object("S", "s1").close_object("S", "u").sync()) == {
        "com/Close": 2
    }

    def pipelined() -> None:
        for i in range(5):
            raw.parse(f"SELECT {i}").bind().describe().execute()
        raw.sync()

    assert counted(pipelined) == {
        "com/Parse": 5,
        "com/Bind": 5,
        "com/Describe": 5,
        "com/Execute": 5,
    }

    def suspended() -> None:
        raw.parse("SELECT generate_series(1, 5)").bind().execute(max_rows=2)
        raw.execute(max_rows=2).execute(max_rows=2).sync()

    assert counted(suspended) == {"com/Parse": 1, "com/Bind": 1, "com/Execute": 3}
    assert counted(lambda: raw.call_function(oid, "2", "3")) == {"com/Function call": 1}


def test_copy_data(raw: RawClient, observer: Any) -> None:
    """A transfer in each direction counts once, however many messages it has."""
    thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
    raw.query("CREATE TEMP TABLE c (a int)")
    before = name_counts(observer, thread_id)
    raw.query("COPY c FROM STDIN", until="G")
    for i in range(10):
        raw.add("d", f"{i}\n".encode())
    raw.add("c").send()
    raw.read_until("Z")
    raw.query("COPY c TO STDOUT")
    grown = difference(name_counts(observer, thread_id), before)
    assert grown == {"com/Copy data": 2, "com/Query": 2, "sql/copy": 2}


def test_driver(w: Watched, observer: Any) -> None:
    """psycopg: parameters mean the extended protocol; the sixth execution is prepared."""
    w.conn.prepare_threshold = 5
    before = name_counts(observer, w.thread_id)
    for i in range(10):
        w.conn.execute("SELECT %s::int + 5", (i,))
    grown = difference(name_counts(observer, w.thread_id), before)
    assert grown["sql/select"] == grown["com/Execute"] == grown["com/Bind"] == 10
    assert grown["com/Parse"] == 6
    assert "com/Query" not in grown


def test_parsed_but_never_executed(raw: RawClient, observer: Any) -> None:
    """Only the Parse message counts; statement by statement nothing is left over."""
    thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
    raw.query("SELECT 1")
    before = name_counts(observer, thread_id)
    for i in range(20):
        raw.parse(f"SELECT {i}", f"p{i}").sync()
    assert difference(name_counts(observer, thread_id), before) == {"com/Parse": 20}


def test_pipeline_failure(raw: RawClient, observer: Any) -> None:
    """What the server skips after an error in a pipeline never happened."""
    thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", raw.pid)
    raw.query("SELECT 1")
    before = name_counts(observer, thread_id)
    raw.parse("SELECT 10").bind().execute()
    raw.parse("SELECT 1 / (a - a) FROM n").bind().execute()
    raw.parse("SELECT 30").bind().execute()
    kinds = "".join(kind for kind, _ in raw.sync())
    assert kinds == "12DC12EZ"
    grown = difference(name_counts(observer, thread_id), before)
    assert grown["sql/select"] == 2
    found = rows(
        observer,
        "SELECT sql_text, errors FROM performance_schema.events_statements_history "
        "WHERE thread_id = %s ORDER BY event_id DESC LIMIT 2",
        thread_id,
    )
    assert [(e.sql_text, e.errors) for e in found] == [
        ("SELECT 1 / (a - a) FROM n", 1),
        ("SELECT 10", 0),
    ]


def test_terminated_in_the_middle(server: Any, observer: Any) -> None:
    """pg_terminate_backend: the account gets the failed statement, the thread is gone."""
    sums = (
        "SELECT coalesce(sum(sum_errors), 0)::int8 FROM "
        "performance_schema.events_statements_summary_by_digest WHERE digest_text ~ 'pg_sleep.*91'"
        " OR query_sample_text LIKE 'SELECT pg_sleep(91)%'"
    )
    conn = server.connect()
    pid = conn.info.backend_pid
    thread_id = thread_of(observer, conn)

    def run() -> None:
        with contextlib.suppress(psycopg.Error):
            conn.execute("SELECT pg_sleep(91) AS terminated")

    runner = threading.Thread(target=run)
    runner.start()
    wait_for_state(observer, pid, "wait_event = 'PgSleep'")
    observer.execute(f"SELECT pg_terminate_backend({pid})")
    runner.join()
    conn.close()
    wait_until(
        lambda: one(observer, "SELECT count(*) FROM performance_schema.threads "
                    "WHERE thread_id = %s", thread_id) == 0,
        "thread gone",
    )  # fmt: skip
    assert one(observer, sums) == 1


def test_portals_side_by_side(raw: RawClient, observer: Any) -> None:
    """The statement that ran is the one that is complete, not the one that was bound last."""
    raw.parse("SELECT a AS first FROM t WHERE a <= 2", name="f")
    raw.parse("SELECT b AS second FROM t WHERE a <= 3", name="s").sync()
    raw.query("BEGIN")
    raw.bind(portal="p1", name="f").bind(portal="p2", name="s")
    raw.execute("p1").execute("p2").sync()
    raw.query("COMMIT")
    found = rows(
        observer,
        "SELECT sql_text, rows_sent, rows_examined, event_name"
        " FROM performance_schema.events_statements_history"
        " JOIN performance_schema.threads USING (thread_id)"
        " WHERE processlist_id = %s AND sql_text LIKE 'SELECT %%'"
        " ORDER BY event_id",
        raw.pid,
    )
    assert [(row.sql_text.split()[3], row.rows_sent) for row in found] == [
        ("first", 2),
        ("second", 3),
    ]
