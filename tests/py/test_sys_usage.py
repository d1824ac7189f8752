"""The views of sys that say whether an index is used, and how much is read without one.

They know every type of plan: what they say is compared with how the table was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers import one, rows

ROWS = 20_000
SETTINGS = ("seqscan", "indexscan", "indexonlyscan", "bitmapscan")


@pytest.fixture(scope="module")
def table(cluster: Any) -> Iterator[None]:
    """A table, and one index for each way to use it or not."""
    cluster.psql(
        "CREATE SCHEMA used; "
        "CREATE TABLE used.t (id int PRIMARY KEY, by_index int, by_only int, by_bitmap int, "
        "by_and int, and_too int, nothing int, once int UNIQUE, span int4range, filler text, "
        "EXCLUDE USING gist (span WITH &&)); "
        "CREATE INDEX t_index ON used.t (by_index); CREATE INDEX t_only ON used.t (by_only); "
        "CREATE INDEX t_bitmap ON used.t (by_bitmap); CREATE INDEX t_and ON used.t (by_and); "
        "CREATE INDEX t_and_too ON used.t (and_too); CREATE INDEX t_nothing ON used.t (nothing); "
        f"INSERT INTO used.t SELECT g, g, g, g % 100, g % 50, g % 49, g, g, NULL, repeat('x', 50) "
        f"FROM generate_series(1, {ROWS}) AS g; "
        "CREATE TABLE used.untouched (i int); CREATE INDEX untouched_i ON used.untouched (i); "
        "CREATE TABLE used.parts (i int, j int) PARTITION BY RANGE (i); "
        "CREATE TABLE used.part_1 PARTITION OF used.parts FOR VALUES FROM (0) TO (10); "
        "CREATE TABLE used.part_2 PARTITION OF used.parts FOR VALUES FROM (10) TO (20); "
        "CREATE INDEX parts_i ON used.parts (i); CREATE INDEX parts_j ON used.parts (j); "
        "INSERT INTO used.parts SELECT g, g FROM generate_series(0, 19) AS g"
    )
    cluster.psql("VACUUM ANALYZE used.t")
    yield
    cluster.psql("DROP SCHEMA used CASCADE")


@pytest.fixture
def reader(cluster: Any, table: None, connect: Callable[..., Any]) -> Any:
    """A session in which the server has counted nothing yet for these tables."""
    session = connect(cluster)
    session.execute("SET jit = off")
    session.execute("SET max_parallel_workers_per_gather = 0")
    session.execute(
        "SELECT pg_stat_reset_single_table_counters(oid) FROM pg_class "
        "WHERE relnamespace = 'used'::regnamespace AND relkind IN ('r', 'i')"
    )
    return session


def read(session: Any, sql: str, ways: str, expect: str) -> None:
    """Executes with these node types allowed, checking the plan; the counts are visible then."""
    for name in SETTINGS:
        session.execute(f"SET enable_{name} = {'on' if name in ways.split() else 'off'}")
    plan = "\n".join(row[0] for row in session.execute(f"EXPLAIN {sql}").fetchall())
    assert expect in plan, plan
    session.execute(sql)
    for name in SETTINGS:
        session.execute(f"RESET enable_{name}")
    session.execute("SELECT pg_stat_force_next_flush()")
    session.execute("SELECT 1")


def unused(session: Any) -> set[str]:
    sql = "SELECT index_name FROM sys.schema_unused_indexes WHERE object_schema = 'used'"
    return {row.index_name for row in rows(session, sql)}


def full_scans(session: Any) -> dict[str, int]:
    return {
        row.object_name: row.rows_full_scanned
        for row in rows(
            session,
            "SELECT * FROM sys.x$schema_tables_with_full_table_scans WHERE object_schema = 'used'",
        )
    }


PLAIN = {"t_index", "t_only", "t_bitmap", "t_and", "t_and_too", "t_nothing", "untouched_i"}
PARTS = {"part_1_i_idx", "part_2_i_idx", "part_1_j_idx", "part_2_j_idx"}
WAYS = {
    "index": (
        "SELECT filler FROM used.t WHERE by_index = 5", "indexscan", "Index Scan", {"t_index"},
    ),
    "index only": (
        "SELECT by_only FROM used.t WHERE by_only < 9", "indexonlyscan indexscan",
        "Index Only Scan", {"t_only"},
    ),
    "bitmap": (
        "SELECT filler FROM used.t WHERE by_bitmap = 5", "bitmapscan", "Bitmap Heap Scan",
        {"t_bitmap"},
    ),
    "bitmap and": (
        "SELECT filler FROM used.t WHERE by_and = 5 AND and_too = 6", "bitmapscan", "BitmapAnd",
        {"t_and", "t_and_too"},
    ),
    "inner bitmap": (
        "SELECT count(filler) FROM generate_series(1, 3) AS g, LATERAL (SELECT * FROM used.t "
        "WHERE by_bitmap = g OFFSET 0) AS x", "bitmapscan", "Bitmap Heap Scan", {"t_bitmap"},
    ),
    "partition": (
        "SELECT * FROM used.parts WHERE i = 5", "indexscan bitmapscan", "part_1_i_idx",
        {"part_1_i_idx", "part_2_i_idx"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_used_indexes(reader: Any, way: str) -> None:
    """An index by which any plan has read is used; nothing of this is a full scan.

    The indexes of all partitions go together: one alone cannot be dropped.
    """
    sql, ways, expect, used = WAYS[way]
    assert unused(reader) == PLAIN | PARTS
    read(reader, sql, ways, expect)
    assert unused(reader) == (PLAIN | PARTS) - used
    assert full_scans(reader) == {}
    selected = rows(
        reader,
        "SELECT index_name, rows_selected FROM sys.schema_index_statistics "
        "WHERE table_schema = 'used' AND rows_selected > 0",
    )
    assert {row.index_name for row in selected} == used - {"part_2_i_idx"}


def test_rows_selected(reader: Any) -> None:
    """The rows that an index has found, whatever the plan."""
    read(reader, "SELECT filler FROM used.t WHERE by_bitmap < 2", "bitmapscan", "Bitmap Heap Scan")
    # not a range: the planner looks up the ends of an index for one, which the server counts
    seven = "SELECT filler FROM used.t WHERE by_index IN (1, 2, 3, 4, 5, 6, 7)"
    read(reader, seven, "indexscan", "Index Scan")
    found = rows(
        reader,
        "SELECT index_name, rows_selected, rows_inserted FROM sys.x$schema_index_statistics "
        "WHERE table_name = 't' AND rows_selected > 0 ORDER BY index_name COLLATE \"C\"",
    )
    assert [tuple(row) for row in found] == [
        ("t_bitmap", ROWS // 50, 0),
        ("t_index", 7, 0),
    ]


def test_latency_of_an_index(reader: Any) -> None:
    """It is ours: the server has none."""
    read(reader, "SELECT filler FROM used.t WHERE by_index IN (1, 2)", "indexscan", "Index Scan")
    latency = "SELECT select_latency FROM sys.x$schema_index_statistics WHERE index_name = "
    assert one(reader, latency + "'t_index'") > 0


def test_full_scans(reader: Any, conn: Any) -> None:
    """Rows of sequential scans count, all of them; rows of bitmap scans do not."""
    for _ in range(3):
        read(reader, "SELECT filler FROM used.t WHERE by_bitmap < 50", "bitmapscan", "Bitmap Heap")
    assert full_scans(reader) == {}
    for _ in range(2):
        read(reader, "SELECT count(filler) FROM used.t", "seqscan", "Seq Scan")
    assert full_scans(reader) == {"t": 2 * ROWS}
    server = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'used.t'::regclass"
    assert one(reader, server) == 2 * ROWS
    formatted = rows(
        reader, "SELECT * FROM sys.schema_tables_with_full_table_scans WHERE object_schema = 'used'"
    )
    assert [(row.object_name, row.rows_full_scanned, row.latency) for row in formatted] == [
        ("t", 2 * ROWS, None)
    ]
    assert formatted[0].database_name == "postgres"


def test_parallel_scans(reader: Any) -> None:
    """What workers have read counts too."""
    for name in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
        reader.execute(f"SET {name} = 0")
    reader.execute("SET max_parallel_workers_per_gather = 2")
    read(reader, "SELECT count(filler) FROM used.t", "seqscan", "Parallel Seq Scan")
    assert full_scans(reader) == {"t": ROWS}


def test_constraints_are_no_unused_indexes(reader: Any) -> None:
    """PRIMARY KEY, UNIQUE and EXCLUDE are not there to be read."""
    names = {
        row.indexrelname
        for row in rows(
            reader, "SELECT indexrelname FROM pg_stat_user_indexes WHERE schemaname = 'used'"
        )
    }
    assert names - unused(reader) == {"t_pkey", "t_once_key", "t_span_excl"}


def test_without_counting(cluster: Any, reader: Any) -> None:
    """With track_counts = off nothing is called unused."""
    reader.execute("SET track_counts = off")
    assert unused(reader) == set()
