"""Compares what statements cost with the ceilings that are committed, and those with the musts.

tests/bench/backend_ceilings.json is written by `make bench-backend-update`: per row (load and
state), own and total, [instructions, I1 misses, D1 misses]. tests/bench/backend_musts.json is
written by hand: what a ceiling may be at most; `misses` stands for the sum of both. Ceilings above
their must are shown, and fail once `enforced` is true.

A figure may be 3 % above its ceiling, or 2 misses where that is more: misses of data move by 2 % from
run to run, and any change of the code moves what else meets in the cache. In totals, differences of
two whole backends, misses may be more: where the server's memory and code happen to lie moves its
own (two runs of one build differed by 5 lines of code and 12 of data).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgrind import Costs

TOLERANCE = 1.03
SLACK = {"own": 0.0, "total": 10.0}  # instructions; the whole backend's vary, whatever ours are
MORE_MISSES = {"own": (2.0, 2.0), "total": (8.0, 20.0)}  # of code, of data
OTHER_SERVER = 0.01
KINDS = ("own", "total")
WITHOUT = "without"
"""The fact that holds what the server costs without the library: {load: costs}."""
KEPT = ("measured", "ceiling")

Figures = Mapping[str, Mapping[str, Costs]]
"""Costs by row and kind."""


@dataclass(frozen=True)
class Musts:
    """What ceilings may be at most, by row and kind; only some are limited."""

    enforced: bool
    limits: Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class Verdict:
    """One figure beside what it is compared with."""

    row: str
    kind: str
    measured: Costs | None
    ceiling: Costs | None
    must: Mapping[str, float]
    enforced: bool

    @property
    def above(self) -> list[str]:
        """What is above the ceiling."""
        if self.measured is None or self.ceiling is None:
            return []
        most, i1, d1 = self.ceiling
        more_i1, more_d1 = MORE_MISSES[self.kind]
        limit = Costs(
            max(most * TOLERANCE, most + SLACK[self.kind]),
            max(i1 * TOLERANCE, i1 + more_i1),
            max(d1 * TOLERANCE, d1 + more_d1),
        )
        return [
            name for name, value, allowed in zip(Costs._fields, self.measured, limit)
            if round(value - allowed, 6) > 0
        ]  # fmt: skip

    @property
    def above_must(self) -> list[str]:
        """In what the ceiling is above the must."""
        if self.ceiling is None:
            return []
        values = {**self.ceiling._asdict(), "misses": self.ceiling.i1 + self.ceiling.d1}
        return [name for name, most in self.must.items() if values[name] > most]

    @property
    def word(self) -> str:
        """What is wrong, in a word; ok when nothing is."""
        if self.measured is None:
            return "GONE"
        if self.ceiling is None:
            return "NEW"
        if self.above:
            return "ABOVE"
        return "MUST" if self.enforced and self.above_must else "ok"

    def line(self) -> str:
        """A line of the table."""
        text = f"{self.word:6}{self.row:29}{self.kind:6}"
        text += columns(self.measured) + " " + columns(self.ceiling)
        if self.must:
            text += "   " + ", ".join(f"{name} {most:g}" for name, most in self.must.items())
        return text + (": above must" if self.above_must else "")


def columns(costs: Costs | None) -> str:
    """Three numbers in their columns."""
    if costs is None:
        return " " * 24 + "-"
    return f"{costs.instructions:9.1f}{costs.i1:8.1f}{costs.d1:8.1f}"


def header() -> str:
    """The line above the table."""
    return " " * 41 + " ".join(f"{name:>9}{'I1':>8}{'D1':>8}" for name in KEPT) + "   must"


def judge(measured: Figures, ceilings: Figures, musts: Musts) -> list[Verdict]:
    """One verdict for each figure that was measured or has a ceiling."""
    return [
        Verdict(
            row, kind, measured.get(row, {}).get(kind), ceilings.get(row, {}).get(kind),
            musts.limits.get(row, {}).get(kind, {}), musts.enforced,
        )
        for row in [*measured, *(row for row in ceilings if row not in measured)]
        for kind in KINDS
    ]  # fmt: skip


def moved(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """In what the place where it was counted differs from where the ceilings were."""
    if not then:
        return []
    notes = [
        f"{name}: {now[name]}, with the ceilings {then.get(name)}"
        for name in now
        if name != WITHOUT and now[name] != then.get(name)
    ]
    for load, numbers in then.get(WITHOUT, {}).items():
        before, after = numbers[0], now[WITHOUT].get(load, numbers)[0]
        if abs(after / before - 1) > OTHER_SERVER:
            notes.append(f"{load} without the library: {after} instructions, then {before}")
    return notes


def read_musts(path: Path) -> Musts:
    """The file of musts."""
    data = json.loads(path.read_text())
    return Musts(data["enforced"], data["limits"])


def read_ceilings(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Costs]]]:
    """(facts about where they were counted, ceilings); both empty when there is no such file."""
    if not path.exists():
        return {}, {}
    data = json.loads(path.read_text())
    rows = data.pop("per_statement")
    return data, {
        row: {kind: Costs(*numbers) for kind, numbers in kinds.items()}
        for row, kinds in rows.items()
    }


def write_ceilings(path: Path, facts: Mapping[str, Any], measured: Figures) -> None:
    """Make what was measured the ceilings: a row is a line, so that a commit shows what changed."""
    lines = [f'  "{name}": {json.dumps(value)},\n' for name, value in facts.items()]
    rows = [f'    "{row}": {json.dumps(kinds)}' for row, kinds in measured.items()]
    text = "".join(lines) + '  "per_statement": {\n' + ",\n".join(rows) + "\n  }\n"
    path.write_text("{\n" + text + "}\n")
