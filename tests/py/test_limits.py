"""Full containers, long texts, strange encodings, deep nesting: counted as losses, never harm."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from helpers import (
    RawClient,
    Watched,
    background_off,
    consumers,
    everything_on,
    losses,
    one,
    rows,
    status,
    tables,
    thread_of,
    wait_for_state,
)

New = Callable[..., Any]
DIGEST = "performance_schema.events_statements_summary_by_digest"


def total(conn: Any, where: str = "true") -> int:
    return one(conn, f"SELECT coalesce(sum(count_star), 0)::int8 FROM {DIGEST} WHERE {where}")


def select_of(n: int) -> str:
    """A statement whose digest differs for each n."""
    return "SELECT " + ", ".join(["1"] * (n % 20 + 1)) + " WHERE " + " AND ".join(
        ["true"] * (n // 20 + 1)
    )  # fmt: skip


def test_digest_table_full(new_cluster: New, connect: New) -> None:
    """The catch-all row takes the rest; the loss counter counts; the sum stays right."""
    server = new_cluster(performance_schema__digests_size=40)
    with server.connect(prepare_threshold=None) as conn:
        with server.connect() as other:
            other.execute(f"TRUNCATE {DIGEST}")
        for i in range(200):
            conn.execute(select_of(i))
        found = rows(conn, f"SELECT * FROM {DIGEST}")
        lost = status(conn)["performance_schema_digest_lost"]
    catch_all = [row for row in found if row.schema_name is None]
    assert len(catch_all) == 1
    assert len(found) <= 41
    assert catch_all[0].count_star == pytest.approx(lost, abs=5)
    assert 150 <= catch_all[0].count_star <= 205
    assert 200 <= sum(row.count_star for row in found) <= 210
    assert catch_all[0].digest is None and catch_all[0].digest_text is None


def test_digest_table_empty_again(new_cluster: New, connect: New) -> None:
    """After TRUNCATE there is room again."""
    conn = connect(new_cluster(performance_schema__digests_size=20), prepare_threshold=None)
    for _ in range(4):
        for i in range(60):
            conn.execute(select_of(i))
        assert status(conn)["performance_schema_digest_lost"] > 0
        conn.execute(f"TRUNCATE {DIGEST}")
        conn.execute("TRUNCATE performance_schema.status")
        conn.execute(select_of(30))
        assert total(conn, "schema_name IS NOT NULL") >= 1
        assert status(conn)["performance_schema_digest_lost"] == 0


def test_small_histories(new_cluster: New, connect: New) -> None:
    """Rings of three rows: the newest three, in order."""
    server = new_cluster(
        performance_schema__events_statements_history_size=3,
        performance_schema__events_statements_history_long_size=3,
    )
    observer = connect(server)
    observer.execute("SELECT performance_schema.set_consumers('events_statements%', true)")
    with Watched(server, observer) as w:
        for i in range(10):
            w.conn.execute(f"SELECT {i}")
        assert [e.sql_text for e in w.events()] == ["SELECT 7", "SELECT 8", "SELECT 9"]
        long = "SELECT count(*) FROM performance_schema.events_statements_history_long"
        assert one(observer, long) <= 32


def test_history_long_wraps(new_cluster: New, connect: New) -> None:
    """Never more rows than its size, and no row twice."""
    server = new_cluster(performance_schema__events_statements_history_long_size=100)
    observer = connect(server)
    observer.execute("SELECT performance_schema.set_consumers('events_statements%', true)")
    with Watched(server, observer) as a, Watched(server, observer) as b:
        for _ in range(150):
            a.conn.execute("SELECT 1")
            b.conn.execute("SELECT 1")
        found = rows(
            observer,
            "SELECT thread_id, event_id FROM performance_schema.events_statements_history_long",
        )
    assert len(found) == len(set(found))
    assert 60 <= len(found) <= 128


def test_text_of_a_megabyte(cluster: Any, conn: Any) -> None:
    """SQL_TEXT and DIGEST_TEXT are cut, the digest and the count are right, for several forms.

    Of a longer statement the first megabyte counts for the digest.
    """
    with Watched(cluster, conn) as w:
        big = "x" * (1024 * 1024)
        assert w.event(f"SELECT length('{big}'), 1").digest_text.startswith("SELECT `length` (")
        big = "x" * (1024 * 1024 - 100)
        event = w.event(f"SELECT length('{big}')")
        assert len(event.sql_text) == 1024
        assert event.sql_text == f"SELECT length('{big}')"[:1024]
        assert event.digest_text == "SELECT `length` (?)"
        numbers = ", ".join(str(i) for i in range(100_000))
        event = w.event(f"SELECT 1 WHERE 1 IN ({numbers})")
        assert event.digest_text == "SELECT ? WHERE ? IN (...)"
        terms = " + ".join(f"a{i}" for i in range(1000))
        values = ", ".join(f"{i} AS a{i}" for i in range(1000))
        event = w.event(f"SELECT {terms} FROM (SELECT {values}) x")
        assert 1000 <= len(event.digest_text) <= 1024
        assert len(event.digest) == 64
        failed = w.event(f"SELEC '{big}'")
        assert (failed.errors, failed.sql_text) == (1, "SELEC ?")
        failed = w.event(f"SELEC {big}")
        assert (failed.errors, len(failed.sql_text)) == (1, 1024)
        comment = w.event(f"SELECT 5 + 6 + 7 /* {big} */")
        assert comment.digest_text == "SELECT ? + ? + ?"


def test_cut_at_a_character(cluster: Any, conn: Any) -> None:
    """A text of two-byte characters is cut between two of them."""
    with Watched(cluster, conn) as w:
        event = w.event("SELECT '" + "ä" * 2000 + "'")
        assert event.sql_text == "SELECT '" + "ä" * 507 + event.sql_text[515:]
        assert set(event.sql_text[8:]) == {"ä"}
        assert len(event.sql_text.encode()) <= 1024


def test_long_texts_kept(new_cluster: New, connect: New) -> None:
    """max_sql_text_length and max_digest_length of 64 kB."""
    server = new_cluster(
        performance_schema__max_sql_text_length=65536,
        performance_schema__max_digest_length=65536,
        performance_schema__events_statements_history_long_size=20,
    )
    with Watched(server, connect(server)) as w:
        names = ", ".join(f"{i} AS column_number_{i}" for i in range(1200))
        sql = f"SELECT {names}"
        event = w.event(sql)
        assert event.sql_text == sql
        assert event.digest == hashlib.sha256(event.digest_text.encode()).hexdigest()


# --- encodings ----------------------------------------------------------------------------------


def in_encoding(server: Any, encoding: str) -> str:
    name = f"db_{encoding.lower()}"
    server.psql(
        f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 "
        "LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    return name


def send_bytes(server: Any, dbname: str, statement: bytes) -> None:
    """A simple query without any conversion by a driver."""
    with RawClient(server, dbname) as raw:
        raw.query("RESET client_encoding")
        raw.query(f"SET client_encoding = '{'SQL_ASCII' if 'ascii' in dbname else 'LATIN1'}'")
        raw.add("Q", statement + b"\0").send()
        raw.read_until("Z")


def test_encodings(new_cluster: New, connect: New) -> None:
    """Texts of other databases' encodings: converted, or readable without an error."""
    server = new_cluster()
    latin, ascii_name = in_encoding(server, "LATIN1"), in_encoding(server, "SQL_ASCII")
    conn = connect(server)
    conn.execute("SELECT performance_schema.set_consumers('%', true)")
    send_bytes(server, latin, "SELECT 'grün' AS größe".encode("latin-1"))
    send_bytes(server, ascii_name, b"SELECT 'bytes \xff\xfe\xe4' AS \"col\xe4\"")
    send_bytes(server, ascii_name, b"SELEC '\xff\xfe'")
    long = "SELECT sql_text FROM performance_schema.events_statements_history_long"
    texts = [row.sql_text for row in rows(conn, long) if row.sql_text]
    assert "SELECT 'grün' AS größe" in texts
    assert any("bytes" in text for text in texts)
    for table in tables():
        rows(conn, f"SELECT * FROM performance_schema.{table.name}")
    for dbname in (latin, ascii_name):
        with server.connect(dbname=dbname) as other:
            other.execute("CREATE EXTENSION performance_schema")
            conn.execute("SELECT '日本語' AS \"€\"")
            for table in tables():
                other.execute(f"SELECT * FROM performance_schema.{table.name}", binary=False)


# --- depth ----------------------------------------------------------------------------------------


def test_deep_recursion(new_cluster: New, connect: New) -> None:
    """Deeper than the statement stack: all counted, the deep ones without a row."""
    server = new_cluster(
        performance_schema__max_statement_stack=5,
        performance_schema__events_statements_history_size=200,
    )
    observer = connect(server)
    server.psql(
        "CREATE FUNCTION deep(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "IF n = 0 THEN RETURN 0; END IF; RETURN (SELECT deep(n - 1)); END $$"
    )
    with Watched(server, observer) as w:
        before = one(
            observer,
            "SELECT count_star FROM performance_schema."
            "events_statements_summary_by_thread_by_event_name "
            "WHERE event_name = 'statement/sql/select' AND thread_id = %s",
            w.thread_id,
        )
        found = w.run("SELECT deep(40)")
        after = one(
            observer,
            "SELECT count_star FROM performance_schema."
            "events_statements_summary_by_thread_by_event_name "
            "WHERE event_name = 'statement/sql/select' AND thread_id = %s",
            w.thread_id,
        )
        assert after - before == 41
        assert max(e.nesting_event_level for e in found) == 4
        assert losses(observer) == {"performance_schema_nested_statement_lost": 36}
        assert len(found) == 5


@pytest.mark.timeout(120)
def test_recursion_until_the_stack_is_full(new_cluster: New, connect: New) -> None:
    """stack_depth_limit_exceeded: the session goes on, the books are balanced."""
    server = new_cluster()
    observer = connect(server)
    server.psql(
        "CREATE FUNCTION endless(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "RETURN (SELECT endless(n + 1)); END $$"
    )
    with Watched(server, observer) as w:
        for _ in range(3):
            with pytest.raises(psycopg.errors.StatementTooComplex):
                w.conn.execute("SELECT endless(0)")
        event = w.event("SELECT 1")
        assert (event.nesting_event_level, event.errors) == (0, 0)
        assert event.object_name is None
        current = w.current()
        assert [e.sql_text for e in current] == ["SELECT 1"]
        failed = rows(
            observer,
            "SELECT sum_error_raised "
            "FROM performance_schema.events_errors_summary_by_thread_by_error "
            "WHERE thread_id = %s AND sql_state = '54001'",
            w.thread_id,
        )
        assert [row.sum_error_raised for row in failed] == [3]


def test_many_open_cursors(cluster: Any, conn: Any) -> None:
    """More statements open at once than one session can follow: the session works, all end."""
    with Watched(cluster, conn) as w:
        w.conn.execute("BEGIN")
        for i in range(300):
            w.conn.execute(f"DECLARE c{i} CURSOR FOR SELECT {i}, generate_series(1, 5)")
        for i in range(0, 300, 7):
            assert len(w.conn.execute(f"FETCH 2 FROM c{i}").fetchall()) == 2
        for i in range(0, 300, 3):
            w.conn.execute(f"CLOSE c{i}")
        w.conn.execute("COMMIT")
        event = w.event("SELECT 'after cursors'")
        assert (event.nesting_event_level, event.nesting_event_id) == (0, None)
        conn.execute("TRUNCATE performance_schema.status")


# --- memory ---------------------------------------------------------------------------------------


def test_small_pool(new_cluster: New, connect: New) -> None:
    """A pool of 64 kB: losses are counted, readers and writers work, TRUNCATE works."""
    server = new_cluster(performance_schema__memory_pool_size=64)
    conn = connect(server, prepare_threshold=None)
    everything_on(conn)
    sessions = [connect(server, prepare_threshold=None) for _ in range(20)]
    for number, session in enumerate(sessions):
        for i in range(40):
            session.execute(select_of(number * 7 + i))
        session.execute("CREATE TEMP TABLE tt (a int)")
        session.execute("INSERT INTO tt VALUES (1)")
        with pytest.raises(psycopg.Error):
            session.execute("SELECT 1 / 0")
    found = losses(conn)
    assert found["performance_schema_pool_lost"] > 0
    assert status(conn)["pool_bytes_used"] <= 64 * 1024
    for table in tables():
        rows(conn, f"SELECT * FROM performance_schema.{table.name}")
    conn.execute("SELECT performance_schema.reset_all()")
    for session in sessions:
        session.close()
    fresh = connect(server)
    fresh.execute("SELECT 1")
    # what the full pool cannot hold is still in the current rows
    assert one(
        fresh,
        "SELECT count(*) FROM performance_schema.events_statements_current "
        "WHERE thread_id = performance_schema.ps_current_thread_id()",
    ) == 1  # fmt: skip


MANY_NAMES = """
DO $$
BEGIN
    FOR i IN 1 .. 1500 LOOP
        EXECUTE format('CREATE TEMP TABLE table_of_one_user_%s (i int PRIMARY KEY)', i);
        EXECUTE format('INSERT INTO table_of_one_user_%s VALUES (1)', i);
        EXECUTE format('SELECT count(*) FROM table_of_one_user_%s', i);
        EXECUTE format('DROP TABLE table_of_one_user_%s', i);
        IF i % 2 = 0 THEN
            EXECUTE format('CREATE SCHEMA schema_of_one_user_%s', i);
            EXECUTE format('SET search_path = schema_of_one_user_%s', i);
            EXECUTE format('CREATE FUNCTION function_of_one_user_%s() RETURNS int LANGUAGE plpgsql '
                'AS $f$BEGIN PERFORM 1; RETURN 1; END$f$', i);
            EXECUTE format('SELECT function_of_one_user_%s()', i);
            EXECUTE 'RESET search_path';
        END IF;
        IF i % 50 = 0 THEN
            COMMIT;
        END IF;
    END LOOP;
END $$
"""


def test_many_names_of_one_user(new_cluster: New, connect: New) -> None:
    """Tables, schemas and functions of one user, each with its own name, take no room of others."""
    server = new_cluster(performance_schema__memory_pool_size=1024, autovacuum=False)
    conn = connect(server)
    other = connect(server)
    other.execute("CREATE SCHEMA of_the_other")
    other.execute("SET search_path = of_the_other")
    other.execute("SELECT 1")
    conn.execute("CREATE ROLE newcomer LOGIN")
    with consumers(conn, statements_digest=False):  # statements differ as their tables do
        before = losses(conn)
        used = status(conn)["pool_bytes_used"]
        conn.execute(MANY_NAMES)
        with server.connect(user="newcomer") as fresh:
            fresh.execute("CREATE TEMP TABLE own (i int)")
            fresh.execute("INSERT INTO own VALUES (1)")
            found = one(
                conn,
                "SELECT processlist_user FROM performance_schema.threads WHERE processlist_id = "
                f"{fresh.info.backend_pid}",
            )
            shown = one(
                conn,
                "SELECT sum(count_star)::int8 FROM "
                "performance_schema.objects_summary_global_by_type WHERE object_name = 'own'",
            )
        other.execute("SELECT 2")
        schema = one(
            conn,
            "SELECT current_schema_name FROM performance_schema.events_statements_current "
            "JOIN performance_schema.threads USING (thread_id) "
            f"WHERE processlist_id = {other.info.backend_pid}",
        )
        assert losses(conn) == before
        assert status(conn)["pool_bytes_used"] - used < 256 * 1024
    assert found == "newcomer"
    assert shown == 1
    assert schema == "of_the_other"
    assert (
        one(
            conn,
            "SELECT sum(count_star)::int8 FROM "
            "performance_schema.events_statements_summary_by_user_by_event_name "
            "WHERE user_name = 'newcomer'",
        )
        >= 2
    )


def wait_load(server: Any, observer: Any, session: Any, tables_made: int = 20) -> None:
    """Many files and tables, one lock wait."""
    for i in range(tables_made):
        session.execute(f"CREATE TABLE w{i} (i integer PRIMARY KEY)")
        session.execute(f"INSERT INTO w{i} SELECT generate_series(1, 100)")
        session.execute(f"SELECT count(*) FROM w{i}")
    with server.connect() as blocker:
        blocker.execute("BEGIN; LOCK TABLE w0")
        session.pgconn.send_query(b"SELECT count(*) FROM w0")
        wait_for_state(observer, session.info.backend_pid, "wait_event_type = 'Lock'")
        blocker.execute("COMMIT")
        while (result := session.pgconn.get_result()) is not None:
            assert not result.error_message
    state = "state = 'idle' AND wait_event = 'ClientRead'"
    wait_for_state(observer, session.info.backend_pid, state)


def read_and_reset(observer: Any) -> None:
    """Every table can be read, and emptied where that is allowed."""
    for table in tables():
        rows(observer, f"SELECT * FROM performance_schema.{table.name}")
    observer.execute("SELECT performance_schema.reset_all()")


@pytest.mark.parametrize("size", [0, 1, 8])
def test_few_files_and_tables(new_cluster: New, connect: New, size: int) -> None:
    """What finds no row is counted as lost. Calls on such files still count by event name.

    Rows of such tables do not, as in MySQL.
    """
    server = new_cluster(
        autovacuum=False,
        performance_schema__max_file_instances=size,
        performance_schema__max_table_instances=size,
    )
    observer, session = connect(server), connect(server)
    everything_on(observer)
    wait_load(server, observer, session)
    found = losses(observer)
    assert found["performance_schema_file_instances_lost"] > 0
    assert found["performance_schema_table_instances_lost"] > 0
    files = "SELECT count(*) FROM performance_schema.file_instances"
    assert one(observer, files) <= size
    by_index = "SELECT count(*) FROM performance_schema.table_io_waits_summary_by_index_usage"
    assert one(observer, by_index) <= size
    by_file = (
        "SELECT coalesce(sum(count_star), 0)::int8 FROM "
        "performance_schema.file_summary_by_instance"
    )
    by_name = "SELECT sum(count_star)::int8 FROM performance_schema.file_summary_by_event_name"
    assert one(observer, by_file) < one(observer, by_name)
    handler = (
        "SELECT count_star FROM performance_schema.events_waits_summary_global_by_event_name "
        "WHERE event_name = 'wait/io/table/sql/handler'"
    )
    assert (one(observer, handler) > 0) == (size > 0)
    read_and_reset(observer)
    assert one(session, "SELECT count(*) FROM w19") == 100


def test_files_that_go_make_room(new_cluster: New, connect: New) -> None:
    """A row of a file is free again when the file is removed."""
    server = new_cluster(autovacuum=False, performance_schema__max_file_instances=400)
    conn = connect(server)
    for _ in range(30):
        conn.execute("CREATE TABLE passing AS SELECT generate_series(1, 10) AS i")
        conn.execute("CREATE INDEX ON passing (i)")
        conn.execute("DROP TABLE passing")
        conn.execute("CHECKPOINT")  # removes the files
    assert "performance_schema_file_instances_lost" not in losses(conn)


def test_no_history_of_waits(new_cluster: New, connect: New) -> None:
    """Histories of size 0 stay empty; summaries and the current rows do not."""
    server = new_cluster(
        autovacuum=False,
        performance_schema__events_waits_history_size=0,
        performance_schema__events_waits_history_long_size=0,
        performance_schema__lock_waits_history_long_size=0,
    )
    observer, session = connect(server), connect(server)
    everything_on(observer)
    wait_load(server, observer, session)
    for table in ("events_waits_history", "events_waits_history_long", "lock_waits_history_long"):
        assert one(observer, f"SELECT count(*) FROM performance_schema.{table}") == 0
    assert one(observer, "SELECT count(*) FROM performance_schema.events_waits_current") > 0
    relation = (
        "SELECT count_star FROM performance_schema.events_waits_summary_global_by_event_name "
        "WHERE event_name = 'wait/lock/heavyweight/relation'"
    )
    assert one(observer, relation) == 1
    read_and_reset(observer)
    assert one(observer, "SELECT count(*) FROM w19") == 100


@pytest.mark.parametrize("kilobytes", [0, 8, 64])
def test_small_pool_of_waits(new_cluster: New, connect: New, kilobytes: int) -> None:
    """A pool too small for the waits alone: losses, never harm; the global row keeps counting."""
    server = new_cluster(autovacuum=False, performance_schema__memory_pool_size=kilobytes)
    observer = connect(server)
    everything_on(observer)
    sessions = [connect(server) for _ in range(8)]
    wait_load(server, observer, sessions[0])
    for session in sessions[1:]:
        for i in range(20):
            session.execute(f"SELECT count(*) FROM w{i}")
    assert losses(observer)["performance_schema_pool_lost"] > 0
    assert status(observer)["pool_bytes_used"] <= kilobytes * 1024
    read_and_reset(observer)
    for session in sessions:
        session.execute("INSERT INTO w1 SELECT 1000 + max(i) FROM w1")
        session.close()
    assert one(connect(server), "SELECT count(*) FROM w1") == 108


# --- results larger than work_mem -----------------------------------------------------------------

MOVING = ("threads", "socket_instances", "rwlock_instances", "status", "memory")


def test_results_larger_than_work_mem(new_cluster: New, connect: New) -> None:
    """Rows that were on disk are those that were read: whole, in a join, and backwards."""
    server = new_cluster(autovacuum=False)
    observer = connect(server)
    everything_on(observer)
    with server.connect(prepare_threshold=None) as session:
        for i in range(400):
            session.execute(select_of(i))
            with pytest.raises(psycopg.Error):
                session.execute(f"SELECT no_such_column_{i}")
        wait_load(server, observer, session)
    background_off(observer)
    own = thread_of(observer, observer)
    observer.execute("SELECT performance_schema.set_thread(%s, false)", (own,))
    observer.execute("SET log_temp_files = 0")
    large = []
    for table in tables():
        if table.name in MOVING:
            continue
        name = f"performance_schema.{table.name}"
        texts = ", ".join(column.name for column in table.columns if column.type == "text") or "1"
        query = f"SELECT {texts} FROM {name}"
        found = []
        for work_mem in ("64MB", "64kB"):
            observer.execute(f"SET work_mem = '{work_mem}'")
            found.append(rows(observer, query))
        assert found[0] == found[1], table.name
        position = server.log_position()
        # all columns are converted
        assert len(rows(observer, f"SELECT * FROM {name}")) == len(found[0])
        if "temporary file" not in server.log_text(position):
            continue
        large.append(table.name)
        key = table.columns[0].name
        joined = (
            f"SELECT count(*) FROM (SELECT {key} FROM {name} LIMIT 3) a "
            f"LEFT JOIN {name} b USING ({key})"
        )
        counts = set()
        for hash_join, sorting in (("on", "on"), ("off", "on"), ("off", "off")):
            observer.execute(f"SET enable_hashjoin = {hash_join}; SET enable_sort = {sorting}")
            counts.add(one(observer, joined))
        observer.execute("RESET enable_hashjoin; RESET enable_sort")
        assert len(counts) == 1 and counts.pop() >= 3, table.name
        with observer.transaction(), observer.cursor("backwards", scrollable=True) as cursor:
            cursor.execute(query)
            forwards = cursor.fetchall()
            cursor.scroll(0, "absolute")
            assert cursor.fetchall() == forwards, table.name
    assert set(large) >= {
        "setup_instruments",
        "events_statements_history_long",
        "events_statements_summary_by_digest",
        "events_waits_history_long",
    }


# --- accounts and names ---------------------------------------------------------------------------


def test_more_accounts_than_rows(new_cluster: New, connect: New) -> None:
    """Users beyond users_size: sums go to the global row, losses are counted."""
    server = new_cluster(performance_schema__accounts_size=3, performance_schema__users_size=3)
    conn = connect(server)
    listen = (
        "SELECT coalesce(sum(count_star), 0)::int8 FROM "
        "performance_schema.events_statements_summary_global_by_event_name "
        "WHERE event_name = 'statement/sql/listen'"
    )
    for i in range(6):
        conn.execute(f"CREATE ROLE u{i} LOGIN")
    before = one(conn, listen)
    for i in range(6):
        with server.connect(user=f"u{i}") as session:
            session.execute("LISTEN x")
    assert one(conn, listen) == before + 6
    assert one(conn, "SELECT count(*) FROM performance_schema.accounts") == 3
    assert losses(conn)["performance_schema_accounts_lost"] >= 3


def test_many_users(new_cluster: New, connect: New) -> None:
    """Names of users are not as few as rows of users: who comes late is in threads by name."""
    server = new_cluster(autovacuum=False)
    conn = connect(server)
    conn.execute(
        "DO $$ BEGIN FOR i IN 1 .. 600 LOOP EXECUTE 'CREATE ROLE many' || i || ' LOGIN'; END LOOP; "
        "END $$"
    )
    for i in range(1, 601):
        server.connect(user=f"many{i}").close()
    assert losses(conn).keys() == {"performance_schema_accounts_lost"}
    late = connect(server, user="many600")
    assert one(late, "SELECT processlist_user FROM performance_schema.threads") == "many600"
    text = "SELECT count(*) FROM performance_schema.events_statements_history"
    assert one(late, text) > 0


def test_long_names(cluster: Any, conn: Any) -> None:
    """Names of 63 bytes everywhere, and an application name that is cut."""
    name = "n" * 63
    conn.execute(f"CREATE SCHEMA {name}")
    conn.execute(f"CREATE ROLE {name} LOGIN SUPERUSER")
    conn.execute(
        f"CREATE FUNCTION {name}.{name}() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM 1; RETURN 1; END $$"
    )
    with (
        consumers(conn, events_statements_history_long=True),
        Watched(cluster, conn, user=name, application_name="a" * 100) as w,
    ):
        w.conn.execute(f"SET search_path = {name}")
        [top, inner] = w.run(f"SELECT {name}()")
        assert top.current_schema_name == name
        assert (inner.object_schema, inner.object_name) == (name, name)
        [row] = rows(conn, "SELECT * FROM performance_schema.threads WHERE thread_id = %s",
                     w.thread_id)  # fmt: skip
        assert row.processlist_user == name
        assert set(row.application_name) == {"a"}
    conn.execute(f"DROP SCHEMA {name} CASCADE; DROP ROLE {name}")
