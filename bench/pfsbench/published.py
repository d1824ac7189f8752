"""Which published figure stands beside which of our rows: a plan's [published.NAME] tables.

A table has source, columns and rows, and may say by `compare` entries what of it is the counterpart
of our ratios (all keys: plans/README.md). Without them the table is only printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .model import BenchError


@dataclass(frozen=True)
class Published:
    """A ratio to the baseline that somebody published, or the range of it; or a target of ours."""

    low: float
    high: float
    name: str  # of the table
    target: bool = False

    @property
    def text(self) -> str:
        """As a table shows it."""
        if self.low == self.high:
            return f"{self.low:.3f}"
        return f"{self.low:.3f}\N{EN DASH}{self.high:.3f}"


def counterparts(
    published: dict[str, Any], labels: dict[str, Any], variant: str, quantity: str
) -> list[Published]:
    """What stands beside this variant of a cell with these labels, in the tables' order."""
    found = []
    for name, table in published.items():
        for entry in table.get("compare", ()):
            if entry["variant"] != variant or entry.get("quantity", "throughput") != quantity:
                continue
            if any(labels.get(key) != value for key, value in entry.get("where", {}).items()):
                continue
            bounds = bounds_of(name, table, entry, labels)
            if bounds:
                found.append(Published(*bounds, name, bool(table.get("target"))))
    return found


def bounds_of(
    name: str, table: dict[str, Any], entry: dict[str, Any], labels: dict[str, Any]
) -> tuple[float, float] | None:
    """The ratio, twice, or the range; None when the table has no row for this cell."""
    if "range" in entry:
        return float(entry["range"][0]), float(entry["range"][1])
    wanted = labels.get(entry["key"]) if "key" in entry else entry["row"]
    row = row_of(table, wanted)
    if row is None:
        return None
    value = cell_of(name, table, row, entry["on"])
    if "off_row" in entry:
        other = row_of(table, entry["off_row"])
        if other is None:
            raise BenchError(f"published.{name}: no row {entry['off_row']!r}")
        value /= cell_of(name, table, other, entry["on"])
    elif "off" in entry:
        value /= cell_of(name, table, row, entry["off"])
    return value, value


def row_of(table: dict[str, Any], first: Any) -> list[Any] | None:
    """The row whose first column has this value."""
    return next((row for row in table.get("rows", ()) if row[0] == first), None)


def cell_of(name: str, table: dict[str, Any], row: list[Any], column: str) -> float:
    """A number of a row; BenchError when the table has no such column or no number there."""
    try:
        return float(row[table["columns"].index(column)])
    except (ValueError, IndexError, TypeError):
        raise BenchError(f"published.{name}: no number in column {column!r} of {row}") from None
