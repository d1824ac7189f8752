"""One plot a result, SVG, of the rows that its table has; by the plan or by its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .plot_bars import draw_changes, draw_groups
from .plot_forest import draw_added, draw_forest
from .plot_lines import THREADS, draw_lines
from .rows import Row

Draw = Callable[[dict[str, Any], Sequence[Row], Path], list[Path]]
BARS = ("e2", "e3")
COSTS = (("p95",), ("ns",), ("resident", "reserved"), ("instructions",), ("seconds",))
LINE_POINTS = 3  # different numbers of threads that make a line


def draw(plan: dict[str, Any], rows: Sequence[Row], folder: Path) -> list[Path]:
    """plot.svg in the folder; no file when there is nothing to draw."""
    chosen = choose(plan, rows)
    if chosen is None:
        return []
    function, shown = chosen
    return function(plan, shown, folder)


def choose(plan: dict[str, Any], rows: Sequence[Row]) -> tuple[Draw, Sequence[Row]] | None:
    """Which plot, and the rows in it."""
    judged = [row for row in rows if row.quantity == "throughput" and row.comparison]
    points = {row.labels[THREADS] for row in judged if THREADS in row.labels}
    if len(points) >= LINE_POINTS:
        return draw_lines, rows
    for quantities in COSTS if plan["method"]["kind"] not in ("windows", "read") else ():
        found = [row for row in rows if row.quantity in quantities and row.median == row.median]
        if found and quantities == ("ns",) and any(row.comparison for row in found):
            return draw_added, found
        if found:
            return draw_groups, found
    if not judged:
        return None
    return (draw_changes if plan["name"] in BARS else draw_forest), rows
