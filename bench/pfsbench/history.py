"""The instruction counts of past commits: bench/results/history.ndjson, a line a commit.

`make bench-record` appends to it (scripts/callgrind_bench.py --record); CI fails on its own, by
tests/bench/ceilings.json. This only shows where a count stepped up or down.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from .model import BenchError

HISTORY = Path(__file__).resolve().parents[1] / "results" / "history.ndjson"
STEP = 0.01  # a change of more is marked
SLACK = 0.5  # instructions; counts are rounded to tenths


@dataclass(frozen=True)
class Entry:
    """The counts of one commit."""

    commit: str
    dirty: bool
    date: str
    compiler: str
    instructions: dict[str, float]

    @property
    def name(self) -> str:
        """As a table's heading; + is for files that differed from the commit."""
        return self.commit[:8] + ("+" if self.dirty else "")


def read_history(path: Path = HISTORY) -> list[Entry]:
    """All entries, oldest first; BenchError when there is no such file or it cannot be read."""
    try:
        lines = path.read_text().splitlines()
        return [Entry(**json.loads(line)) for line in lines if line.strip()]
    except OSError:
        raise BenchError(f"{path} is missing: `make bench-record` makes it") from None
    except (ValueError, TypeError) as error:
        raise BenchError(f"{path}: not a history of counts: {error}") from None


def step(before: float | None, now: float | None) -> str:
    """How a count is marked that changed by more than 1 %; `new` and `gone` for its ends."""
    if before is None or now is None:
        return "" if before is now else "new" if before is None else "gone"
    if abs(now - before) <= max(STEP * before, SLACK):
        return ""
    if before == 0:
        return f"{now - before:+.1f}"
    return f"{100 * (now / before - 1):+.1f} %"


def show_history(count: int, path: Path = HISTORY) -> str:
    """The last `count` commits as columns, a line for each event; steps beside the figures."""
    entries = read_history(path)[-count:]
    if not entries:
        raise BenchError(f"{path} is empty: `make bench-record` adds to it")
    names = sorted({name for entry in entries for name in entry.instructions})
    wide = max(map(len, names), default=0)
    lines = [" " * wide + "".join(f"{entry.name:>18}" for entry in entries)]
    lines.append(f"{'committed':{wide}}" + "".join(f"{entry.date[:10]:>18}" for entry in entries))
    for name in names:
        counts = [entry.instructions.get(name) for entry in entries]
        marks = ["", *(step(*pair) for pair in pairwise(counts))]
        cells = ["" if count is None else f"{count:.1f}" for count in counts]
        shown = "".join(f"{mark:>9}{cell:>9}" for mark, cell in zip(marks, cells, strict=True))
        lines.append(f"{name:{wide}}{shown}".rstrip())
    lines += other_compilers(entries)
    return "\n".join(lines)


def other_compilers(entries: list[Entry]) -> list[str]:
    """A line for each change of the compiler: counts depend on it."""
    return [
        f"{now.name}: compiled by {now.compiler}, {before.name} by {before.compiler}"
        for before, now in pairwise(entries)
        if before.compiler != now.compiler
    ]
