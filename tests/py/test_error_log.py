"""error_log: the last messages of the server's log, as the log itself has them."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import one, read_to_end, rows, wait_for_state, wait_until

LOG = "performance_schema.error_log"
PRIO = {
    "LOG": "System", "ERROR": "Error", "FATAL": "Error", "PANIC": "Error", "WARNING": "Warning",
    "NOTICE": "Note", "INFO": "Note", "DEBUG": "Note",
}  # fmt: skip
TEXT_BYTES = 946


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE ROLE log_plain LOGIN; CREATE ROLE log_monitor LOGIN IN ROLE pg_monitor;"
        "CREATE ROLE log_reader LOGIN IN ROLE pg_read_server_files",
        logging_collector=True,
        log_destination="csvlog",
        log_min_messages="notice",
        performance_schema__error_log_size=400,
    ) as cluster:
        cluster.psql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        cluster.psql("CREATE EXTENSION performance_schema", dbname="latin")
        yield cluster


def raised(conn: Any, level: str, message: str, options: str = "") -> None:
    """Raises a message, with its text as a literal."""
    using = f" USING {options}" if options else ""
    literal = message.replace("'", "''")
    try:
        conn.execute(f"DO $do$BEGIN RAISE {level} '{literal}'{using}; END$do$")
    except psycopg.Error:
        conn.rollback()


def found(db: Any, message: str) -> Any:
    (row,) = rows(db, f"SELECT * FROM {LOG} WHERE data = %s", message)
    return row


def log_file(server: Any, db: Any) -> list[list[str]]:
    folder = Path(one(db, "SHOW data_directory")) / one(db, "SHOW log_directory")
    lines: list[list[str]] = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf8", errors="replace") as file:
            lines += list(csv.reader(file))
    return lines


# --- what is in it -----------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["NOTICE", "WARNING", "LOG", "EXCEPTION"])
def test_a_message(server: Any, db: Any, level: str) -> None:
    before = one(db, "SELECT clock_timestamp()")
    raised(db, level, f"once {level}", "DETAIL = 'of it', ERRCODE = 'P4242'")
    after = one(db, "SELECT clock_timestamp()")
    row = found(db, f"once {level}")
    severity = "ERROR" if level == "EXCEPTION" else level
    assert (row.severity, row.prio) == (severity, PRIO[severity])
    detail = None if level == "EXCEPTION" else "of it"
    assert (row.error_code, row.detail, row.subsystem) == ("P4242", detail, "client backend")
    assert (row.pid, row.processlist_user, row.processlist_db) == (
        one(db, "SELECT pg_backend_pid()"), "postgres", one(db, "SELECT current_database()"),
    )  # fmt: skip
    assert row.thread_id == one(
        db,
        "SELECT thread_id FROM performance_schema.threads WHERE thread_os_id = pg_backend_pid()",
    )
    assert abs((row.logged - before).total_seconds()) < 60
    assert row.logged <= after or abs((row.logged - after).total_seconds()) < 1


def test_it_says_what_the_log_says(server: Any, db: Any) -> None:
    """All messages of all processes, in the same order: process, severity, code, text, kind of process."""
    for level in ("NOTICE", "WARNING", "LOG", "EXCEPTION"):
        raised(db, level, f"compared {level}")
    with pytest.raises(psycopg.OperationalError), server.connect(user="nobody_of_this_name"):
        pass
    db.execute("CHECKPOINT")
    raised(db, "LOG", "last of all")

    def written() -> list[list[str]]:
        lines = log_file(server, db)
        return lines if any(line[13] == "last of all" for line in lines) else []

    lines = wait_until(written, "the log file")
    in_file = [(int(line[3]), line[11], line[12], line[13], line[23]) for line in lines]
    in_table = [
        (row.pid, row.severity, row.error_code or "00000", row.data, row.subsystem)
        for row in rows(db, f"SELECT * FROM {LOG}")
    ]
    in_file = in_file[: in_file.index(next(x for x in in_file if x[3] == "last of all")) + 1]
    in_table = in_table[: in_table.index(next(x for x in in_table if x[3] == "last of all")) + 1]
    # what the collector itself says, and what came before the memory did, is in the file alone
    kept = in_table[next(i for i, x in enumerate(in_table) if x in in_file) :]
    first = in_file.index(kept[0])
    assert len(kept) > 8
    assert sorted(kept) == sorted(x for x in in_file[first:] if x[4] != "logger")
    assert {"postmaster", "client backend", "checkpointer"} <= {x[4] for x in in_table}
    assert any(x[1] == "FATAL" and x[2] == "28000" for x in in_table)


def test_what_is_not_logged_is_not_there(db: Any) -> None:
    db.execute("SET log_min_messages = fatal")
    raised(db, "WARNING", "told the client alone")
    raised(db, "EXCEPTION", "an error told the client alone")
    db.execute("RESET log_min_messages")
    assert one(db, f"SELECT count(*) FROM {LOG} WHERE data LIKE '%%told the client alone'") == 0


def test_long_texts(db: Any) -> None:
    """Cut at a whole character; the detail has what room is left."""
    raised(db, "LOG", "xx" + "ä" * 1000, "DETAIL = 'none left'")
    raised(db, "LOG", "y" * 940, "DETAIL = 'äöüäöü'")
    one_row, other = rows(
        db, f"SELECT * FROM {LOG} WHERE data LIKE 'xxä%%' OR data LIKE 'yyy%%' ORDER BY data"
    )
    assert one_row.data == "xx" + "ä" * ((TEXT_BYTES - 2) // 2) and one_row.detail is None
    assert other.data == "y" * 940 and other.detail == "äöü"


def test_other_encodings(server: Any, db: Any) -> None:
    with server.connect(dbname="latin") as latin:
        latin.execute("DO $do$BEGIN RAISE LOG 'gr\u00fc\u00dfe aus latin'; END$do$")
    row = found(db, "gr\u00fc\u00dfe aus latin")
    assert row.processlist_db == "latin"
    with server.connect(dbname="latin") as latin:
        raised(db, "LOG", "\u4f60\u597d in latin")
        assert rows(latin, f"SELECT data FROM {LOG} WHERE data LIKE '%%in latin'")


def test_messages_inside_a_caught_error(db: Any) -> None:
    """What a handler catches is not logged."""
    db.execute(
        "DO $do$BEGIN RAISE EXCEPTION 'is caught'; EXCEPTION WHEN others THEN"
        " RAISE LOG 'has caught'; END$do$"
    )
    assert one(db, f"SELECT count(*) FROM {LOG} WHERE data = 'is caught'") == 0
    assert found(db, "has caught").prio == "System"


def test_texts_of_statements_are_left_out(server: Any, db: Any) -> None:
    """log_statement and log_min_duration_statement write them, with all values."""
    with server.connect() as conn:
        conn.execute("SET log_statement = 'all'")
        for setting in ("log_min_duration_statement = 0", "log_statement = 'none'"):
            conn.execute("SELECT 'secret of the simple protocol'")
            conn.execute("SELECT %s::text", ("secret parameter",), prepare=True)
            conn.execute("SET my.key TO secret_word")
            conn.execute(f"SET {setting}")
        conn.execute("SELECT 'secret of the simple protocol'")
        conn.execute("SELECT %s::text", ("secret parameter",), prepare=True)
        pid = conn.info.backend_pid
    found = [row.data for row in rows(db, f"SELECT data FROM {LOG} WHERE pid = %s", pid)]
    assert "statement: ?" in found
    assert any(text.startswith("execute ") and text.endswith(": ?") for text in found)
    assert any(text.startswith("duration: ") and text.endswith(" ms  statement: ?") for text in found)
    assert one(db, f"SELECT count(*) FROM {LOG} AS l WHERE l::text LIKE '%%secret%%'") == 0


def test_values_in_errors_are_left_out(db: Any) -> None:
    db.execute("CREATE TABLE log_keys (a text PRIMARY KEY)")
    db.execute("INSERT INTO log_keys VALUES ('secret key')")
    for sql in ("SELECT 'secret value'::int", "INSERT INTO log_keys VALUES ('secret key')"):
        with pytest.raises(psycopg.Error):
            db.execute(sql)
    assert found(db, 'invalid input syntax for type integer: "?"').error_code == "22P02"
    assert one(db, f"SELECT count(*) FROM {LOG} WHERE error_code = '23505'") == 1
    assert one(db, f"SELECT count(*) FROM {LOG} AS l WHERE l::text LIKE '%%secret%%'") == 0


def test_detail_of_a_deadlock(server: Any, db: Any) -> None:
    db.execute("CREATE TABLE log_one ()")
    db.execute("CREATE TABLE log_two ()")
    other = server.connect()
    for session, table in ((db, "log_one"), (other, "log_two")):
        session.execute("BEGIN")
        session.execute(f"LOCK TABLE {table}")
    other.pgconn.send_query(b"LOCK TABLE log_one")
    with server.connect() as observer:
        wait_for_state(observer, other.info.backend_pid, "wait_event_type = 'Lock'")
    with contextlib.suppress(psycopg.errors.DeadlockDetected):
        db.execute("LOCK TABLE log_two")
    db.rollback()
    read_to_end(other)
    other.close()
    row = found(db, "deadlock detected")
    assert row.error_code == "40P01" and "waits for AccessExclusiveLock" in row.detail


# --- its size ----------------------------------------------------------------------------------


def test_the_newest_stay(new_cluster: Any) -> None:
    cluster = new_cluster(performance_schema__error_log_size=4)
    with cluster.connect() as conn:
        for number in range(9):
            raised(conn, "LOG", f"number {number}")
        assert [row.data for row in rows(conn, f"SELECT data FROM {LOG}")] == [
            f"number {number}" for number in range(5, 9)
        ]
        assert rows(conn, f"SELECT logged FROM {LOG} ORDER BY logged") == rows(
            conn, f"SELECT logged FROM {LOG}"
        )


def test_none_is_kept(new_cluster: Any) -> None:
    cluster = new_cluster(performance_schema__error_log_size=0)
    with cluster.connect() as conn:
        raised(conn, "LOG", "not kept")
        assert rows(conn, f"SELECT * FROM {LOG}") == []


@pytest.mark.expects_crash
def test_after_a_crash(new_cluster: Any) -> None:
    """The server's first process writes it, too, while shared memory is made anew."""
    cluster = new_cluster()
    with cluster.connect() as conn:
        raised(conn, "LOG", "before the crash")
        cluster.kill9(one(conn, "SELECT pg_backend_pid()"))
    cluster.wait_ready()
    with cluster.connect() as conn:
        texts = [row.data for row in rows(conn, f"SELECT data FROM {LOG} WHERE data IS NOT NULL")]
        assert "before the crash" not in texts
        assert any("ready to accept connections" in text for text in texts)


# --- who may read it ---------------------------------------------------------------------------


def test_rights(server: Any) -> None:
    for user in ("log_plain", "log_monitor"):
        with server.connect(user=user) as conn:
            raised(conn, "LOG", f"of {user}")
            assert rows(conn, f"SELECT * FROM {LOG}") == []
    with server.connect(user="log_reader") as conn:
        raised(conn, "LOG", "a reader's")
        assert found(conn, "a reader's").processlist_user == "log_reader"
        for change in (f"DELETE FROM {LOG}", f"TRUNCATE {LOG}", f"UPDATE {LOG} SET data = ''"):
            with pytest.raises(psycopg.Error):
                conn.execute(change)
            conn.rollback()
