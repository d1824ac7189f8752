"""Each counter of engine_metrics moves under work made for it, and only then.

A piece of work names what must move. Counters that some work names, and that are not the trace of
any session's life, must not move under work that does not name them. Status counters, most of which move here, too, are compared with the
server's views in test_engine_metrics_figures.py, and so are values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from engine_metrics_work import METRICS, WORK, Bench, quiet_bench
from helpers import rows, wait_until


@pytest.fixture(scope="module")
def bench(pg_config: str) -> Iterator[Bench]:
    with quiet_bench(pg_config) as made:
        yield made


COMMON = re.compile(
    r"statement_(count|time|rows_\w+|no_index_used)|index_(btree_)?rows_read|dml_(reads|fetches|inserts|updates|deletes|select|insert|update|delete)|trx_(commits|rollbacks|read_write)|server_\w+"
    r"|buffer_\w+|os_\w+|log_\w+|wait_(file|lwlock|socket|timeout|ipc)_\w+|io_\w+|slru_\w+|ddl_(creates|drops|drop_table|create_table|alters)"
    r"|sort_(rows|scans|ranges)|error_raised|statement_errors|checkpoint_\w+|checkpoints_(requested|performed)|parallel_\w+"
)
"""Any session leaves such traces; a piece of work that names them still must move them."""


@pytest.mark.parametrize("name", WORK)
def test_moves(bench: Bench, name: str) -> None:
    work, expected = WORK[name]
    before = bench.figures()
    known = expected & set(before)
    work(bench)

    def moved() -> set[str]:
        after = bench.figures()
        return {key for key in after if after[key] != before[key]}

    try:
        wait_until(lambda: known <= moved(), "all of them have moved", 5)
    except AssertionError:
        raise AssertionError(f"not moved: {known - moved()}") from None
    levels = {r.name for r in rows(bench.observer, f"SELECT name FROM {METRICS} WHERE type = 'value'")}
    after = bench.figures()
    moves = {key for key in after if after[key] != before[key]} - levels
    named = set().union(*(names for _, names in WORK.values()))
    assert {key for key in moves & named - expected if not COMMON.fullmatch(key)} == set()
    assert {key for key in moves if after[key] < before[key]} == set()


NOT_MADE = re.compile(
    r"lock_(extend|page|spectoken|frozenid)_(waits|wait_time)"  # need two processes within some instructions of each other
    r"|wait_lwlock_(count|time)|wait_socket_time|os_(log|slru)_(reads|bytes_read|read_time)|os_(slru|temporary)_other"  # or more luck
)
"""Counted by the same rule as their like, which are moved."""


def test_no_counter_is_forgotten(bench: Bench) -> None:
    named = set().union(*(names for _, names in WORK.values()))
    found = {r.name for r in rows(bench.observer, f"SELECT name FROM {METRICS} WHERE type NOT IN ('status_counter', 'value')")}
    assert {name for name in found - named if not NOT_MADE.fullmatch(name)} == set()
