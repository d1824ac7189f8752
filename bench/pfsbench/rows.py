"""What tables and plots show: each variant of each cell with its judgement and its counterparts.

Joins a Result with the comparisons made from it. Pure.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .model import Comparison, Result
from .published import Published, counterparts

MORE_IS_BETTER = ("throughput",)


@dataclass(frozen=True)
class Row:
    """One quantity of one variant in one cell."""

    cell: str
    labels: dict[str, Any]
    variant: str
    what: str
    baseline: str
    baseline_what: str
    quantity: str
    unit: str
    median: float
    rounds: int
    tps: float | None  # transactions per second, where the load reported them
    comparison: Comparison | None  # None: the baseline itself, or nothing to compare with
    invalid: str
    published: tuple[Published, ...]

    @property
    def is_baseline(self) -> bool:
        """Whether the others are compared with this one."""
        return self.variant == self.baseline

    @property
    def verdict(self) -> str:
        """In words: invalid and why, baseline, not distinguishable, or the difference."""
        if self.invalid:
            return f"invalid: {self.invalid}"
        if self.is_baseline:
            return "baseline"
        if self.comparison is None:
            return "no comparison"
        if not self.comparison.distinguishable:
            return "not distinguishable"
        return difference(self.comparison)


def difference(comparison: Comparison) -> str:
    """By how much the variant differs from the baseline."""
    share = 100 * (comparison.ratio - 1)
    text = f"{share:+.2f} %" if abs(share) < 100 else f"{comparison.ratio:.2f} times"
    return text.replace("-", "\N{MINUS SIGN}")


def rows_of(
    result: Result, comparisons: Sequence[Comparison], invalid: Mapping[str, str]
) -> list[Row]:
    """All rows in the plan's order; a variant without samples has one when its cell is invalid.

    invalid: why, by `CELL` or `CELL/VARIANT` (checks.check_result).
    """
    judged = {(c.cell, c.variant, c.quantity): c for c in comparisons}
    rows = []
    for cell in result.plan["cells"]:
        values = cell_values(result, cell["name"])
        quantities = list(dict.fromkeys(quantity for _, quantity in values))
        for quantity in quantities or ["throughput"]:
            for variant in variants_of(cell, values):
                key = (variant["name"], quantity)
                if key in values or (not values and cell["name"] in invalid):
                    comparison = judged.get((cell["name"], *key))
                    why = reason(cell["name"], variant["name"], invalid, comparison)
                    taken = values.get(key, ([], ""))
                    rows.append(make_row(result, cell, variant, quantity, taken, comparison, why))
    return rows


def variants_of(cell: dict[str, Any], values: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """The plan's variants, then what only the samples name (events of a callgrind program)."""
    known = [variant["name"] for variant in cell["variants"]]
    more = dict.fromkeys(name for name, _ in values if name not in known)
    return [*cell["variants"], *({"name": name} for name in more)]


def cell_values(result: Result, cell: str) -> dict[tuple[str, str], tuple[list[float], str]]:
    """(variant, quantity) -> (values without warm-up, unit)."""
    found: dict[tuple[str, str], tuple[list[float], str]] = {}
    for sample in result.samples:
        if sample.cell == cell and not sample.warmup:
            entry = found.setdefault((sample.variant, sample.quantity), ([], sample.unit))
            entry[0].append(sample.value)
    return found


def reason(
    cell: str, variant: str, invalid: Mapping[str, str], comparison: Comparison | None
) -> str:
    """Why a row must not be believed; empty when it may."""
    own = invalid.get(f"{cell}/{variant}") or invalid.get(cell, "")
    return own or (comparison.invalid if comparison else "")


def make_row(
    result: Result,
    cell: dict[str, Any],
    variant: dict[str, Any],
    quantity: str,
    values: tuple[list[float], str],
    comparison: Comparison | None,
    invalid: str,
) -> Row:
    """One row."""
    name = variant["name"]
    baseline = name == cell["baseline"]
    tps = result.measures.get(cell["name"], {}).get(name, {}).get("tps")
    published = result.plan.get("published", {})
    what = {v["name"]: v.get("what") or v["name"] for v in cell["variants"]}
    beside = [] if baseline else counterparts(published, cell["labels"], name, quantity)
    return Row(
        cell["name"], cell["labels"], name, what.get(name, name), cell["baseline"],
        what.get(cell["baseline"], cell["baseline"]), quantity,
        values[1], statistics.median(values[0]) if values[0] else float("nan"),
        comparison.rounds if comparison else len(values[0]),
        tps if quantity in MORE_IS_BETTER else None,
        None if baseline else comparison, invalid, tuple(beside),
    )  # fmt: skip


def label_keys(rows: Sequence[Row]) -> list[str]:
    """The labels that any row has, in order of appearance: columns of a table."""
    return list(dict.fromkeys(key for row in rows for key in row.labels))
