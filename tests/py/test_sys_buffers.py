"""sys.innodb_buffer_stats_by_... and schema_table_statistics_with_buffer: as pg_buffercache has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import with_library
from helpers import one, rows

BY_TABLE = 'sys."x$innodb_buffer_stats_by_table"'
BY_SCHEMA = 'sys."x$innodb_buffer_stats_by_schema"'
WITH_BUFFER = 'sys."x$schema_table_statistics_with_buffer"'


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE SCHEMA cached; CREATE TABLE cached.t (a int PRIMARY KEY, b text);"
        "ALTER TABLE cached.t ALTER b SET STORAGE EXTERNAL;"
        "INSERT INTO cached.t SELECT g, 'x' FROM generate_series(1, 5000) AS g;"
        "INSERT INTO cached.t SELECT g, repeat('x', 20000) FROM generate_series(5001, 5010) AS g;"
        "ANALYZE cached.t; CREATE ROLE buffers_plain LOGIN",
        autovacuum=False,
    ) as cluster:
        yield cluster


def has_pg_buffercache(conn: Any) -> bool:
    return bool(one(conn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'"))


def test_without_the_extension(server: Any) -> None:
    heard: list[str] = []
    with server.connect() as conn:
        conn.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        for view in (BY_TABLE, BY_SCHEMA):
            assert rows(conn, f"SELECT * FROM {view}") == []
        assert {row.innodb_buffer_pages for row in rows(conn, f"SELECT * FROM {WITH_BUFFER}")} == {None}
    assert len(heard) == 3 and "pg_buffercache" in heard[0]


def test_with_the_extension(server: Any) -> None:
    with server.connect() as conn:
        if not has_pg_buffercache(conn):
            pytest.skip("this server has no pg_buffercache")
        conn.execute("CREATE SCHEMA elsewhere")
        conn.execute("CREATE EXTENSION pg_buffercache SCHEMA elsewhere")
        try:
            compare(server, conn)
        finally:
            conn.execute("DROP SCHEMA elsewhere CASCADE")


def compare(server: Any, conn: Any) -> None:
    conn.execute("SELECT count(*), sum(length(b)) FROM cached.t")
    parts = rows(
        conn,
        "SELECT c.relkind, count(b.bufferid) AS pages FROM pg_class AS c "
        "JOIN elsewhere.pg_buffercache AS b ON b.relfilenode = pg_relation_filenode(c.oid) "
        "WHERE c.oid = 'cached.t'::regclass OR c.oid IN ("
        "SELECT indexrelid FROM pg_index WHERE indrelid = 'cached.t'::regclass) "
        "OR c.oid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'cached.t'::regclass) "
        "OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = "
        "(SELECT reltoastrelid FROM pg_class WHERE oid = 'cached.t'::regclass)) GROUP BY 1",
    )
    kinds = {row.relkind: row.pages for row in parts}
    assert set(kinds) == {"r", "i", "t"}
    (table,) = rows(conn, f"SELECT * FROM {BY_TABLE} WHERE object_schema = 'cached'")
    assert (table.object_name, table.pages) == ("t", sum(kinds.values()))
    assert table.allocated == 8192 * table.pages
    assert abs(float(table.rows_cached) - 5010) <= 5010 * 0.2  # its maps are pages, too
    (schema,) = rows(conn, f"SELECT * FROM {BY_SCHEMA} WHERE object_schema = 'cached'")
    assert (schema.pages, schema.allocated) == (table.pages, table.allocated)
    everything = one(conn, "SELECT count(*) FROM elsewhere.pg_buffercache WHERE relfilenode IS NOT NULL")
    assert abs(one(conn, f"SELECT sum(pages) FROM {BY_TABLE}") - everything) <= 20
    (whole,) = rows(conn, f"SELECT * FROM {WITH_BUFFER} WHERE table_schema = 'cached'")
    (plain,) = rows(conn, "SELECT * FROM sys.\"x$schema_table_statistics\" WHERE table_schema = 'cached'")
    assert (whole.rows_fetched, whole.rows_inserted) == (plain.rows_fetched, plain.rows_inserted)
    assert whole.innodb_buffer_pages == table.pages
    with server.connect(user="buffers_plain") as user:
        assert rows(user, f"SELECT * FROM {BY_TABLE}") == []
