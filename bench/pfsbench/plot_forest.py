"""Forest plots: differences with intervals, beside what was published and what is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .plot_bars import draw_published, finish, grouped_places, widen
from .plot_style import GREY, PALETTE, change, new_figure, write
from .rows import Row

Place = Callable[[Row], tuple[float, float, float]]
"""A row's value, and how far its interval reaches down and up from there."""


def draw_forest(plan: dict[str, Any], rows: Sequence[Row], folder: Path) -> list[Path]:
    """Points with 95 % intervals, in percent; hollow: not distinguishable from the baseline."""
    shown = [row for row in rows if row.quantity == "throughput" and row.comparison]
    words = "change of throughput against the baseline, % (hollow: not distinguishable)"
    return draw_points(plan, shown, folder, change, words)


def draw_added(plan: dict[str, Any], rows: Sequence[Row], folder: Path) -> list[Path]:
    """The same of what a variant adds to the baseline, in the unit of the rows."""
    shown = [row for row in rows if row.comparison]
    words = f"added to one event, {rows[0].unit} (less is better; hollow: not distinguishable)"
    return draw_points(plan, shown, folder, added, words, base=True)


def added(row: Row) -> tuple[float, float, float]:
    """A row's difference to the baseline in its unit."""
    known = row.comparison
    assert known
    middle = known.added
    return middle, max(0.0, middle - known.added_low), max(0.0, known.added_high - middle)


def draw_points(
    plan: dict[str, Any], rows: Sequence[Row], folder: Path, place_of: Place, words: str,
    *, base: bool = False,
) -> list[Path]:  # fmt: skip
    """One axis, a line a row. base: the baseline's own figure is told, and no published ratio."""
    cells = len({row.cell for row in rows})
    figure, axes = new_figure(plan, 8.0, 0.9 + 0.3 * len(rows) + 0.34 * cells)
    axis = axes[0][0]
    places = grouped_places(axis, rows, base=base)
    for place, row in zip(places, rows, strict=True):
        middle, below, above = place_of(row)
        colour = GREY if row.invalid else PALETTE[0]
        hollow = "white" if row.comparison and not row.comparison.distinguishable else colour
        if not base:
            draw_published(axis, row, place)
        axis.errorbar(
            middle, place, xerr=[[below], [above]], fmt="o", color=colour, mfc=hollow, ms=5.5,
            capsize=2.5, lw=1.4, zorder=6,
        )  # fmt: skip
    axis.set_xlabel(words)
    finish(axis, rows, bars=False, published=not base)
    widen(axis)
    return write(figure, folder)
