"""Reads a server twice, and now and then in between, and subtracts."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from .sources import (
    LOCK_WAITS, OWN_MEMORY, SERVER, SOURCES, SWITCHED_OFF, TIMELINE, UNSEEN, Source,
)  # fmt: skip

Row = dict[str, Any]

TIMELINE_METRICS = (
    "trx_commits", "trx_rollbacks", "dml_reads", "dml_inserts", "dml_updates", "dml_deletes",
    "buffer_pool_reads", "buffer_pool_read_requests", "log_bytes", "sort_temporary_bytes",
)  # fmt: skip
SAMPLES = 120
"""Of the timeline, at most; and not more often than every second."""


@dataclass
class Recording:
    """An interval of a server."""

    server: Row
    seconds: float
    changes: dict[str, list[Row]]
    timeline: list[tuple[float, dict[str, int]]]
    lock_waits: list[Row]
    own_memory: int
    own_seconds: float
    switched_off: list[str]


def read(connection: Any, source: Source) -> dict[tuple[Any, ...], Row]:
    """Rows of one source, by key."""
    rows = connection.execute(source.sql).fetchall()
    return {tuple(row[column] for column in source.key): row for row in rows}


def changes(source: Source, before: Mapping[tuple[Any, ...], Row],
            after: Mapping[tuple[Any, ...], Row]) -> list[Row]:  # fmt: skip
    """How much each row has grown; one that shrank was reset meanwhile, and counts from zero.

    Rows that have not grown are left out.
    """
    grown = []
    for key, row in after.items():
        old = before.get(key)
        if old is not None and any((row[c] or 0) < (old[c] or 0) for c in source.sums):
            old = None
        difference = {c: int(row[c] or 0) - int((old[c] if old else 0) or 0) for c in source.sums}
        if any(difference.values()):
            grown.append({**row, **difference})
    return grown


def record(dsn: str, seconds: float, top: int, tell: Callable[[str], None]) -> Recording:
    """Watches a server for so many seconds.

    Raises psycopg.Error when it cannot be reached, has no extension, or ends meanwhile.
    """
    with psycopg.connect(
        dsn, autocommit=True, row_factory=dict_row, application_name="pfsreport"
    ) as connection:
        with contextlib.suppress(psycopg.Error):
            connection.execute(UNSEEN)
        began = time.monotonic()
        before = snapshot(connection)
        own_seconds = time.monotonic() - began
        start = time.monotonic()
        since = connection.execute("SELECT clock_timestamp() AS now").fetchone()
        assert since is not None
        tell(f"watching for {seconds:g} s")
        timeline = watch(connection, seconds)
        elapsed = time.monotonic() - start
        began = time.monotonic()
        after = snapshot(connection)
        own_seconds += time.monotonic() - began
        server = connection.execute(SERVER).fetchone()
        memory = connection.execute(OWN_MEMORY).fetchone()
        assert server is not None and memory is not None
        return Recording(
            server=server,
            seconds=elapsed,
            changes={
                name: changes(source, before[name], after[name])
                for name, source in SOURCES.items()
            },
            timeline=timeline,
            lock_waits=lock_waits(connection, since["now"], top),
            own_memory=int(memory["memory"]),
            own_seconds=own_seconds,
            switched_off=[row["name"] for row in connection.execute(SWITCHED_OFF).fetchall()],
        )


def snapshot(connection: Any) -> dict[str, dict[tuple[Any, ...], Row]]:
    """What all sources say now, one after the other, by key."""
    return {name: read(connection, source) for name, source in SOURCES.items()}


def watch(connection: Any, seconds: float) -> list[tuple[float, dict[str, int]]]:
    """Moments since the start in seconds, with the counters then."""
    start = time.monotonic()
    step = max(seconds / SAMPLES, 1.0)
    samples: list[tuple[float, dict[str, int]]] = []
    while True:
        now = time.monotonic() - start
        rows = connection.execute(TIMELINE, (list(TIMELINE_METRICS),)).fetchall()
        samples.append((now, {row["name"]: int(row["count"] or 0) for row in rows}))
        if now >= seconds:
            return samples
        time.sleep(min(step, max(seconds - (time.monotonic() - start), 0.0)))


def lock_waits(connection: Any, since: datetime.datetime, top: int) -> list[Row]:
    """The longest ones that began in the interval."""
    return list(connection.execute(LOCK_WAITS, (since, top)).fetchall())
