"""Lines over the number of threads (E1, E4), with memory beside them where it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .plot_bars import draw_group, published_marks, reach, scale_of
from .plot_style import (
    INK,
    MARKERS,
    cell_title,
    change,
    colours,
    new_figure,
    percent,
    wrapped,
    write,
)
from .rows import Row

THREADS = "threads"
DODGE = 0.14
FAR = 25.0  # percent


def draw_lines(plan: dict[str, Any], rows: Sequence[Row], folder: Path) -> list[Path]:
    """One panel for each load; the change of throughput by threads; dashed: published."""
    shown = [r for r in rows if r.quantity == "throughput" and r.comparison and THREADS in r.labels]
    memory = [row for row in rows if row.quantity == "resident"]
    panels = list(dict.fromkeys(panel_of(row) for row in shown))
    count = len(panels)
    columns = 2 if count > 1 else 1
    lines = -(-count // columns)
    height = 2.7 * lines + 0.4 if count > 1 else 3.4
    extra = 0.9 + 0.42 * len(memory) if memory else 0.0
    figure, axes = new_figure(
        plan, 8.0, height + extra, nrows=lines + bool(memory), ncols=columns,
        height_ratios=[height / lines] * lines + ([extra] if memory else []),
    )  # fmt: skip
    shade = colours([row.what for row in shown])
    for place in range(lines * columns):
        axis = axes[place // columns][place % columns]
        if place >= count:
            axis.set_axis_off()
            continue
        draw_panel(axis, panels[place], [r for r in shown if panel_of(r) == panels[place]], shade)
    share_scale([axes[p // columns][p % columns] for p in range(count)], columns)
    if memory:
        draw_memory(axes[lines], memory, shade)
    handles = legend(shown, shade) + published_marks(memory, "published ratio, times our baseline")
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
    return write(figure, folder)


def panel_of(row: Row) -> str:
    """Which panel a row is in: its labels but the number of threads."""
    return cell_title(row, without=(THREADS,)) if len(row.labels) > 1 else ""


def draw_panel(axis: Any, name: str, rows: Sequence[Row], shade: dict[str, str]) -> None:
    """One load: a line a variant with its intervals, and what was published for it."""
    ticks = sorted({row.labels[THREADS] for row in rows})
    place = {threads: number for number, threads in enumerate(ticks)}
    for number, what in enumerate(shade):
        side = DODGE * (number - (len(shade) - 1) / 2)  # so that intervals do not hide each other
        own = sorted((r for r in rows if r.what == what), key=lambda r: r.labels[THREADS])
        changes = [change(row) for row in own]
        axis.errorbar(
            [place[row.labels[THREADS]] + side for row in own], [c[0] for c in changes],
            yerr=[[c[1] for c in changes], [c[2] for c in changes]], color=shade[what],
            marker=MARKERS[number % len(MARKERS)], ms=4.5, lw=1.6, capsize=2, zorder=5,
        )  # fmt: skip
        beside = [
            (place[r.labels[THREADS]] + side, p) for r in own for p in r.published if not p.target
        ]
        axis.plot(
            [x for x, _ in beside], [percent((p.low + p.high) / 2) for _, p in beside], "--",
            color=shade[what], lw=1.2, marker=MARKERS[number % len(MARKERS)], ms=4, mfc="white",
            alpha=0.9,
        )  # fmt: skip
    axis.axhline(0, color=INK, lw=0.8)
    axis.set_xticks(range(len(ticks)), [f"{threads:,}" for threads in ticks])
    axis.grid(axis="y")
    axis.set_title(name, weight="bold")
    axis.set_xlabel("threads")


def share_scale(axes: Sequence[Any], columns: int) -> None:
    """One vertical scale for all panels, named at the left ones; wide intervals are cut off."""
    low = max(-FAR, min(axis.get_ylim()[0] for axis in axes))
    high = min(FAR, max(axis.get_ylim()[1] for axis in axes))
    for number, axis in enumerate(axes):
        axis.set_ylim(low, high)
        if number % columns == 0:
            cut = f" (cut at {FAR:.0f})" if FAR in (-low, high) else ""
            axis.set_ylabel(f"change of throughput, %{cut}")


def draw_memory(axes: Sequence[Any], rows: Sequence[Row], shade: dict[str, str]) -> None:
    """Resident memory below, over the whole width."""
    for axis in axes[1:]:
        axis.remove()
    axis = axes[0]
    axis.set_subplotspec(axis.get_gridspec()[-1, :])
    draw_group(axis, rows, shade, width=30)
    axis.set_xlim(0, reach(rows) / scale_of(rows[0])[0])
    threads = rows[0].labels.get(THREADS)
    where = f"{threads} threads" if threads else cell_title(rows[0])
    axis.set_title(f"Resident memory, {where}", weight="bold")
    axis.set_xlabel("resident memory of the whole server, MiB (less is better)")


def legend(rows: Sequence[Row], shade: dict[str, str]) -> list[Any]:
    """Measured lines, and dashed ones where something was published."""
    from matplotlib.lines import Line2D

    handles = []
    for number, what in enumerate(shade):
        marker = MARKERS[number % len(MARKERS)]
        handles.append(
            Line2D([], [], color=shade[what], marker=marker, ms=4.5, label=wrapped(what, 60))
        )
        if any(row.what == what and any(not p.target for p in row.published) for row in rows):
            handles.append(Line2D([], [], color=shade[what], marker=marker, ms=4, mfc="white",
                                  ls="--", label=f"published: {wrapped(what, 50)}"))  # fmt: skip
    return handles
