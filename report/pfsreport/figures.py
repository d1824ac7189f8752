"""What a reader wants to know of a recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .snapshot import Recording, Row

WAIT_KINDS = (
    ("wait/io/file/", "files"),
    ("wait/io/socket/", "client and network"),
    ("wait/lock/", "locks"),
    ("wait/synch/", "locks inside the server"),
    ("wait/ipc/", "other processes"),
    ("wait/timeout/", "sleeping"),
)
"""In the order of the time model. Table I/O contains others; idle time is no statement's."""
OTHER_WAITS = "other waits"
REST = "processor and the rest"
NOT_CHARGED = ("wait/io/table/", "idle")
QUANTILES = (0.5, 0.95, 0.99)


@dataclass
class Bucket:
    """Of a histogram: how many took so long, picoseconds."""

    low: int
    high: int
    count: int


@dataclass
class Statement:
    """One normalised statement in the interval."""

    row: Row
    share: float
    buckets: list[Bucket]
    quantiles: list[int | None]
    model: dict[str, int]

    @property
    def average(self) -> float:
        """Picoseconds."""
        return float(self.row["sum_timer_wait"]) / max(self.row["count_star"], 1)


def kind_of(event_name: str) -> str | None:
    """Which part of the time model a wait belongs to, None = none."""
    if event_name.startswith(NOT_CHARGED):
        return None
    for prefix, kind in WAIT_KINDS:
        if event_name.startswith(prefix):
            return kind
    return OTHER_WAITS


def kinds() -> list[str]:
    """Parts of the time model in their order."""
    return [kind for _, kind in WAIT_KINDS] + [OTHER_WAITS, REST]


def quantile(buckets: Sequence[Bucket], part: float) -> int | None:
    """Upper end of the bucket in which that part of all is reached, as the server's own columns."""
    total = sum(bucket.count for bucket in buckets)
    seen = 0
    for bucket in sorted(buckets, key=lambda b: b.low):
        seen += bucket.count
        if seen >= part * total and seen > 0:
            return bucket.high
    return None


def time_model(total: int, waits: Iterable[Row]) -> dict[str, int]:
    """Time of statements by what they waited for; the rest is theirs. Never negative."""
    model = dict.fromkeys(kinds(), 0)
    for row in waits:
        kind = kind_of(row["event_name"])
        if kind is not None:
            model[kind] += row["sum_timer_wait"]
    model[REST] = max(total - sum(model.values()), 0)
    return model


def by_statement(rows: Iterable[Row]) -> Mapping[tuple[str, str], list[Row]]:
    """Rows of each (schema, digest)."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row["schema_name"], row["digest"]].append(row)
    return found


def statements(recording: Recording, top: int) -> list[Statement]:
    """Those that took the most time."""
    rows = sorted(recording.changes["statements"], key=lambda r: -r["sum_timer_wait"])
    total = sum(row["sum_timer_wait"] for row in rows)
    histograms = by_statement(recording.changes["histograms"])
    waits = by_statement(recording.changes["statement_waits"])
    found = []
    for row in rows[:top]:
        key = row["schema_name"], row["digest"]
        buckets = [
            Bucket(int(b["low"]), int(b["high"]), b["count_bucket"]) for b in histograms.get(key, ())
        ]
        found.append(
            Statement(
                row=row,
                share=row["sum_timer_wait"] / total if total else 0.0,
                buckets=sorted(buckets, key=lambda b: b.low),
                quantiles=[quantile(buckets, part) for part in QUANTILES],
                model=time_model(row["sum_timer_wait"], waits.get(key, ())),
            )
        )
    return found


def largest(rows: Iterable[Row], column: str, top: int) -> list[Row]:
    """Rows by this column, the largest first; none of zero."""
    return [r for r in sorted(rows, key=lambda r: -r[column])[:top] if r[column] > 0]


def whole_model(recording: Recording) -> dict[str, int]:
    """The time model of all statements together."""
    total = sum(row["sum_timer_wait"] for row in recording.changes["statements"])
    return time_model(total, recording.changes["statement_waits"])


def rates(recording: Recording, names: Sequence[str]) -> tuple[list[float], dict[str, list[float]]]:
    """Growth a second between each two samples of the timeline, at the later one's moment."""
    moments: list[float] = []
    found: dict[str, list[float]] = {name: [] for name in names}
    for (before, old), (now, new) in zip(recording.timeline, recording.timeline[1:]):
        if now <= before:
            continue
        moments.append(now)
        for name in names:
            grown = new.get(name, 0) - old.get(name, 0)
            found[name].append(max(grown, 0) / (now - before))
    return moments, found


def growth(recording: Recording, name: str) -> int:
    """Of one counter of engine_metrics."""
    return next((int(r["count"]) for r in recording.changes["metrics"] if r["name"] == name), 0)


def by_subsystem(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Counters that moved, in the order of their names."""
    found: dict[str, list[Any]] = defaultdict(list)
    for row in sorted(rows, key=lambda r: (r["subsystem"], r["name"])):
        found[row["subsystem"]].append(row)
    return dict(found)
