"""Bars: change of throughput (E2, E3), percentiles (E5), bytes, nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .plot_style import (
    GREY,
    INK,
    PALE,
    PALETTE,
    cell_title,
    change,
    new_figure,
    percent,
    wrapped,
    write,
)
from .rows import Row

SCALES = {"B": (2.0**20, "MiB")}
QUANTITIES = {
    "p95": "95th percentile of latency", "ns": "time of one event",
    "resident": "resident memory of the whole server",
    "reserved": "memory that the schema reserves",
}  # fmt: skip
ADDED = ("ns", "resident", "reserved")
DASH = "\N{EN DASH}"
HEADING = 100  # characters of a line over the whole width
LOWER = 0.3  # how far below ours a published figure stands
ROOM_FOR_TEXT = 1.75


def draw_changes(plan: dict[str, Any], rows: Sequence[Row], folder: Path) -> list[Path]:
    """Horizontal bars from zero, one a variant, with intervals; diamonds are published figures."""
    shown = [row for row in rows if row.quantity == "throughput" and row.comparison]
    figure, axes = new_figure(
        plan, 8.0, 0.9 + 0.36 * len(shown) + 0.3 * len({r.cell for r in shown})
    )
    axis = axes[0][0]
    places = grouped_places(axis, shown)
    for place, row in zip(places, shown, strict=True):
        middle, below, above = change(row)
        colour = PALE if row.invalid else PALETTE[0]
        axis.barh(place + 0.1, middle, height=0.46, color=colour)
        axis.errorbar(middle, place + 0.1, xerr=[[below], [above]], color=INK, capsize=2.5, lw=1)
        draw_published(axis, row, place)
    axis.set_xlabel("change of throughput against the baseline, % (more is better); whiskers: 95 %")
    finish(axis, shown)
    widen(axis)
    return write(figure, folder)


def widen(axis: Any) -> None:
    """Room at both ends, and zero well inside."""
    low, high = axis.get_xlim()
    margin = 0.04 * (high - low)
    axis.set_xlim(min(low, -0.2) - margin, max(high, 0.2) + margin)


def grouped_places(axis: Any, rows: Sequence[Row], *, base: bool = False) -> list[float]:
    """Heights of the rows, a gap and a heading before each cell; sets the axis' labels."""
    places: list[float] = []
    place, last = 0.0, ""
    for row in rows:
        if row.cell != last:
            figure = f" of {base_text(row)}" if base else ""
            heading = f"{cell_title(row)} (against {row.baseline_what}{figure})"
            heading = wrapped(heading, HEADING)
            place -= 0.5 + 0.4 * heading.count("\n")
            told = axis.annotate(
                heading, (0.012, place), xycoords=("figure fraction", "data"), size=8.5, zorder=5,
                weight="bold", va="center", annotation_clip=False,
                bbox={"color": "white", "pad": 1.0},
            )  # fmt: skip
            told.set_in_layout(False)
            place, last = place - 0.85 - 0.3 * heading.count("\n"), row.cell
        places.append(place)
        place -= 1.0
    axis.set_yticks(places, [wrapped(row.what) for row in rows])
    axis.set_ylim(place + 0.3, 0.0)
    return places


def base_text(row: Row) -> str:
    """The baseline's own figure."""
    scale, unit = scale_of(row)
    value = row.comparison.baseline_median / scale if row.comparison else float("nan")
    return f"{value:.4g} {unit}"


def draw_published(axis: Any, row: Row, place: float) -> None:
    """Published figures as diamonds or ranges, a little lower than ours; targets as bars."""
    for known in row.published:
        low, high = percent(known.low), percent(known.high)
        if known.target:
            axis.plot([low, low], [place - 0.36, place + 0.36], color=PALETTE[5], lw=2, zorder=4)
        else:
            draw_range(axis, low, high, place - LOWER)


def draw_range(axis: Any, low: float, high: float, place: float) -> None:
    """A published figure or range."""
    if low == high:
        axis.plot(low, place, "D", color=PALETTE[1], mec=INK, mew=0.6, ms=5.5, zorder=4)
    else:
        axis.plot([low, high], [place, place], color=PALETTE[1], lw=4, solid_capstyle="butt")


def finish(axis: Any, rows: Sequence[Row], *, bars: bool = True, published: bool = True) -> None:
    """Zero line, grid, and a legend of what is there."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    axis.axvline(0, color=INK, lw=0.8)
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)
    ours = Line2D([], [], color=PALETTE[0], marker="o", label="measured, 95 % interval")
    marks = [Patch(color=PALETTE[0], label="measured") if bars else ours]
    marks += published_marks(rows, "published") if published else []
    if published and any(known.target for row in rows for known in row.published):
        marks.append(Line2D([], [], color=PALETTE[5], lw=2, label="target: not left of this"))
    if any(row.invalid for row in rows):
        none = Line2D([], [], color=GREY, marker="o", label="invalid")
        marks.append(Patch(color=PALE, label="invalid") if bars else none)
    axis.figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8.5)


def published_marks(rows: Sequence[Row], label: str) -> list[Any]:
    """What a legend says of draw_range's marks; nothing where nothing was published."""
    from matplotlib.lines import Line2D

    found = [known for row in rows for known in row.published if not known.target]
    if not found:
        return []
    if all(known.low == known.high for known in found):
        return [Line2D([], [], color=PALETTE[1], marker="D", mec=INK, mew=0.6, lw=0, label=label)]
    return [Line2D([], [], color=PALETTE[1], lw=4, label=label)]


def draw_groups(plan: dict[str, Any], rows: Sequence[Row], folder: Path) -> list[Path]:
    """A panel for each cell and quantity, a bar a variant: percentiles, nanoseconds, bytes."""
    keys = list(dict.fromkeys((row.cell, row.quantity) for row in rows))
    panels = [[row for row in rows if (row.cell, row.quantity) == key] for key in keys]
    heights = [0.75 + 0.36 * len(own) for own in panels]
    several = len({row.quantity for row in rows}) > 1
    alike = rows[0].quantity == "p95"  # the same work everywhere: one scale
    figure, axes = new_figure(
        plan, 8.0, sum(heights) + 0.4, nrows=len(panels), height_ratios=heights, sharex=alike
    )
    for axis, own in zip(axes[:, 0], panels, strict=True):
        draw_group(axis, own, {row.what: PALETTE[0] for row in own})
        axis.set_xlim(0, reach(rows if alike else own) / scale_of(own[0])[0])
        axis.set_xlabel("" if alike and own is not panels[-1] else quantity_words(own[0]))
        if several:
            axis.set_title(f"{cell_title(own[0])}: {own[0].quantity}", weight="bold")
    marks = published_marks(rows, "published ratio, times our baseline")
    if marks:
        figure.legend(handles=marks, loc="outside lower center", fontsize=8.5)
    return write(figure, folder)


def reach(rows: Sequence[Row]) -> float:
    """Where an axis ends that has room for the bars, their texts, and what was published."""
    published = [
        1.03 * known.high * row.comparison.baseline_median
        for row in rows
        for known in row.published
        if row.comparison
    ]
    return max([*published, *(ROOM_FOR_TEXT * row.median for row in rows)])


def quantity_words(row: Row) -> str:
    """What an axis shows."""
    name = QUANTITIES.get(row.quantity, row.quantity)
    return f"{name}, {scale_of(row)[1]} (less is better)"


def scale_of(row: Row) -> tuple[float, str]:
    """What a value is divided by, and the unit it then has."""
    return SCALES.get(row.unit, (1.0, row.unit))


def draw_group(axis: Any, rows: Sequence[Row], shade: dict[str, str], width: int = 44) -> None:
    """The bars of one cell; the text on a bar is the figure and its ratio to the baseline."""
    scale, unit = scale_of(rows[0])
    for place, row in enumerate(rows):
        value = row.median / scale
        colour = PALE if row.invalid else shade.get(row.what, PALETTE[4])
        axis.barh(-place + 0.06, value, height=0.6, color=GREY if row.is_baseline else colour)
        text = f"{value:.4g} {unit}"
        if row.comparison:
            text += "   " + difference_text(row)
            base = row.comparison.baseline_median / scale
            for beside in row.published:
                draw_range(axis, beside.low * base, beside.high * base, -place - LOWER - 0.06)
        text += "   invalid" if row.invalid else ""
        axis.annotate(text, (value, -place + 0.06), xytext=(4, 0), textcoords="offset points",
                      va="center", size=8)  # fmt: skip
    axis.set_yticks(
        [-place for place in range(len(rows))], [wrapped(row.what, width) for row in rows]
    )
    axis.set_title(cell_title(rows[0]), weight="bold")
    axis.grid(axis="x")
    axis.tick_params(axis="y", length=0)


def difference_text(row: Row) -> str:
    """What a variant adds to small or fixed costs, and how many times the baseline a time is."""
    known = row.comparison
    assert known
    if row.quantity not in ADDED:
        return f"\N{MULTIPLICATION SIGN} {known.ratio:.2f} ({known.low:.2f}{DASH}{known.high:.2f})"
    scale, _ = scale_of(row)
    middle, low, high = (x / scale for x in (known.added, known.added_low, known.added_high))
    return f"{middle:+.3g} ({low:.3g} to {high:.3g})".replace("-", "\N{MINUS SIGN}")
