"""sys.vacuum_holdback, tables_to_vacuum, checkpoint_pressure, substring_index: against the server's own figures."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from conftest import with_library
from helpers import one, rows, wait_until


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE TABLE to_vacuum WITH (autovacuum_vacuum_threshold = 10, autovacuum_vacuum_scale_factor = 0.5)"
        " AS SELECT g AS a FROM generate_series(1, 1000) AS g; ANALYZE to_vacuum",
        autovacuum=False,
        max_prepared_transactions=2,
        wal_level="logical",
    ) as cluster:
        yield cluster


def holdback(db: Any, kind: str) -> list[Any]:
    return rows(db, 'SELECT * FROM sys."x$vacuum_holdback" WHERE kind = %s', kind)


# --- what holds back VACUUM --------------------------------------------------------------------


def test_a_session(server: Any, db: Any) -> None:
    old = server.connect(application_name="old")
    old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    old.execute("SELECT 1 AS old")
    for _ in range(5):
        db.execute("CREATE TABLE passing ()")
        db.execute("DROP TABLE passing")
    (row,) = [row for row in holdback(db, "session") if row.pid == old.info.backend_pid]
    assert (row.name, row.user_name, row.query) == ("old", "postgres", "SELECT 1 AS old")
    assert row.xmin_age == one(
        db, "SELECT age(backend_xmin) FROM pg_stat_activity WHERE pid = %s", row.pid
    )
    assert row.xmin_age >= 10
    assert row.since == one(
        db, "SELECT xact_start FROM pg_stat_activity WHERE pid = %s", row.pid
    )
    first = one(db, "SELECT pid FROM sys.vacuum_holdback LIMIT 1")
    assert first == old.info.backend_pid
    db.execute(row.sql_end)
    wait_until(lambda: row.pid not in [r.pid for r in holdback(db, "session")], "it is gone")
    old.close()


def test_a_prepared_transaction(server: Any, db: Any) -> None:
    with server.connect() as conn:
        conn.execute("BEGIN")
        conn.execute("INSERT INTO to_vacuum VALUES (0)")
        conn.execute("PREPARE TRANSACTION 'it''s prepared'")
    (row,) = holdback(db, "prepared transaction")
    assert (row.name, row.pid, row.user_name) == ("it's prepared", None, "postgres")
    assert row.sql_end == "ROLLBACK PREPARED 'it''s prepared'"
    db.execute(row.sql_end)
    assert holdback(db, "prepared transaction") == []


def test_a_slot(db: Any) -> None:
    db.execute("SELECT pg_create_logical_replication_slot('holds', 'pgoutput')")
    (row,) = holdback(db, "replication slot")
    assert (row.name, row.pid, row.xmin_age) == ("holds", None, None)
    assert row.catalog_xmin_age == one(
        db, "SELECT age(catalog_xmin) FROM pg_replication_slots WHERE slot_name = 'holds'"
    )
    db.execute(row.sql_end)
    assert holdback(db, "replication slot") == []


def test_a_standby(server: Any, db: Any, new_standby: Any) -> None:
    standby = new_standby(server, hot_standby_feedback=True, wal_receiver_status_interval=1)
    with standby.connect() as conn:
        conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        conn.execute("SELECT 1")
        db.execute("CREATE TABLE passing ()")
        db.execute("DROP TABLE passing")
        (row,) = wait_until(lambda: holdback(db, "standby"), "its feedback")
        assert row.xmin_age == one(
            db, "SELECT age(backend_xmin) FROM pg_stat_replication WHERE pid = %s", row.pid
        )


# --- tables to vacuum --------------------------------------------------------------------------


def test_dead_rows_and_threshold(db: Any) -> None:
    def table() -> Any:
        db.execute("SELECT pg_stat_force_next_flush()")
        (row,) = rows(db, "SELECT * FROM sys.\"x$tables_to_vacuum\" WHERE table_name = 'to_vacuum'")
        return row

    before = table()
    db.execute("UPDATE to_vacuum SET a = a WHERE a <= 255")
    after = table()
    assert (after.dead_rows - before.dead_rows, after.threshold) == (255, 510)
    assert after.dead_rows_of_threshold_pct == round(Decimal(after.dead_rows) * 100 / 510, 2)
    assert after.total_bytes == 8192 * one(
        db, "SELECT relpages FROM pg_class WHERE relname = 'to_vacuum'"
    )
    assert after.changed_since_analyze - before.changed_since_analyze == 255
    assert 0 <= after.freeze_age_pct < 1
    assert after.autovacuum == "NO"  # of the whole server
    db.execute("VACUUM to_vacuum")
    vacuumed = table()
    assert (vacuumed.dead_rows, vacuumed.vacuum_count) == (0, before.vacuum_count + 1)
    assert vacuumed.last_vacuum is not None and vacuumed.last_vacuum != before.last_vacuum
    db.execute("ANALYZE to_vacuum")
    assert table().changed_since_analyze == 0


def test_settings_of_a_table(db: Any) -> None:
    db.execute("CREATE TABLE never_vacuumed (a int) WITH (autovacuum_enabled = false)")
    (row,) = rows(db, "SELECT * FROM sys.tables_to_vacuum WHERE table_name = 'never_vacuumed'")
    assert (row.autovacuum, row.last_vacuum, row.vacuum_count) == ("NO", None, 0)
    if int(one(db, "SHOW server_version_num")) >= 180000:
        db.execute("ALTER TABLE never_vacuumed SET (autovacuum_vacuum_max_threshold = 7)")
        (row,) = rows(db, "SELECT * FROM sys.tables_to_vacuum WHERE table_name = 'never_vacuumed'")
        assert row.threshold == 7
    db.execute("DROP TABLE never_vacuumed")


# --- checkpoints -------------------------------------------------------------------------------


def test_checkpoints(db: Any) -> None:
    def figures() -> Any:
        (row,) = rows(db, 'SELECT * FROM sys."x$checkpoint_pressure"')
        return row

    before = figures()
    db.execute("CREATE TABLE written AS SELECT generate_series(1, 10000) AS a")
    db.execute("CHECKPOINT")
    db.execute("DROP TABLE written")
    after = wait_until(
        lambda: next(
            (f for f in [figures()] if f.checkpoints_requested > before.checkpoints_requested), None
        ),
        "a checkpoint",
    )
    assert after.checkpoints_requested == before.checkpoints_requested + 1
    assert after.checkpoint_bytes - before.checkpoint_bytes >= 44 * 8192
    assert after.wal_since_checkpoint < before.wal_since_checkpoint + 10_000_000
    assert after.max_wal_size == one(db, "SELECT pg_size_bytes(current_setting('max_wal_size'))")
    assert after.requested_pct == round(
        Decimal(100 * after.checkpoints_requested)
        / (after.checkpoints_requested + after.checkpoints_timed),
        2,
    )


# --- MySQL's SUBSTRING_INDEX -------------------------------------------------------------------


@pytest.mark.parametrize(
    "string, delimiter, count, found",
    [
        ("www.mysql.com", ".", 2, "www.mysql"),
        ("www.mysql.com", ".", -2, "mysql.com"),
        ("wait/io/file", "/", 1, "wait"),
        ("a,b", ",", 5, "a,b"),
        ("a,b", ",", -5, "a,b"),
        ("a,b", ",", 0, ""),
        ("a,,b", ",", 2, "a,"),
        ("a--b--c", "--", -1, "c"),
        ("äöü", "ö", 1, "ä"),
        ("a,b", "", 1, ""),
        ("", ",", 1, ""),
        (None, ",", 1, None),
        ("a", None, 1, None),
        ("a", ",", None, None),
        ("a,b", ",", 2**63 - 1, "a,b"),
        ("a,b", ",", -(2**63), "a,b"),
    ],
)
def test_substring_index(
    db: Any, string: str | None, delimiter: str | None, count: int | None, found: str | None
) -> None:
    sql = "SELECT sys.substring_index(%s::text, %s::text, %s::bigint)"
    assert one(db, sql, string, delimiter, count) == found


# --- MySQL's own functions ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "picoseconds, shown",
    [(0, "0 ps"), (3501, "3.50 ns"), (188732396662000, "3.15 min"), (10**18, "11.57 d"), (None, None)],
)
def test_format_pico_time(db: Any, picoseconds: int | None, shown: str | None) -> None:
    """The examples of MySQL's manual among them."""
    assert one(db, "SELECT sys.format_pico_time(%s::numeric)", picoseconds) == shown


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT a, 'a literal', 42 FROM to_vacuum WHERE a IN (1, 2, 3) -- why",
        "INSERT INTO to_vacuum VALUES (1), (2), (3)",
        "VACUUM to_vacuum;",
        'SELECT a AS "Quoted Name" FROM to_vacuum WHERE a = 3',
    ],
)
def test_statement_digest_is_the_recorded_one(db: Any, statement: str) -> None:
    db.execute(statement)
    (row,) = rows(
        db,
        "SELECT digest, digest_text FROM performance_schema.events_statements_summary_by_digest "
        "WHERE digest = sys.statement_digest(%s)",
        statement,
    )
    assert row.digest_text == one(db, "SELECT sys.statement_digest_text(%s)", statement)
    assert "literal" not in row.digest_text and "42" not in row.digest_text


def test_statement_digest_of_what_is_no_statement(db: Any) -> None:
    for text in ("", "   ", "'not closed", "no sql at all", "SELECT 'x", "x" * 100_000):
        assert len(one(db, "SELECT sys.statement_digest(%s)", text)) == 64
        assert "x'" not in one(db, "SELECT sys.statement_digest_text(%s)", text)
    assert one(db, "SELECT sys.statement_digest(NULL)") is None
