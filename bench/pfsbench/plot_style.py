"""How all plots of the bench look, and how they are written: the same data gives the same bytes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .model import BenchError
from .rows import Row

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#5B4A9E", "#8C6D00")
"""Okabe and Ito's colours, which colour-blind readers tell apart; the last two are ours."""
INK, GREY, PALE = "#222222", "#777777", "#DDDDDD"
MARKERS = "osD^vP*X"
WITH_KEY = ("bound",)  # labels whose value says nothing alone
STYLE: dict[str, Any] = {
    "svg.hashsalt": "pfsbench", "svg.fonttype": "path", "font.family": "DejaVu Sans",
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY,
    "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.axisbelow": True, "grid.color": PALE, "grid.linewidth": 0.7, "figure.dpi": 100,
    "legend.frameon": False, "axes.titlesize": 10, "axes.titlelocation": "left",
}  # fmt: skip


def pyplot() -> Any:
    """matplotlib without a screen, in our style; BenchError when it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise BenchError("matplotlib is missing: see requirements.txt") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as made

    made.rcdefaults()
    matplotlib.rcParams.update(STYLE)  # type: ignore[arg-type]
    return made


def write(figure: Any, folder: Path, name: str = "plot") -> list[Path]:
    """NAME.svg without a date; the figure is closed."""
    path = folder / f"{name}.svg"
    try:
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    except OSError as error:
        raise BenchError(f"cannot write {error.filename}: {error.strerror}") from None
    pyplot().close(figure)
    return [path]


def title(figure: Any, plan: dict[str, Any]) -> None:
    """The plan's title, and below it the question it answers; needs room of ROOM inches on top."""
    height = figure.get_figheight()
    wide = int(figure.get_figwidth() * 13.5)
    question = textwrap.fill(plan["question"], wide)
    figure.text(0.012, 1 - 0.10 / height, plan["title"], size=12, weight="bold", va="top")
    figure.text(0.012, 1 - 0.36 / height, question, size=9.5, color=GREY, va="top")


def header_room(figure_width: float, plan: dict[str, Any]) -> float:
    """Inches that title() needs."""
    return 0.5 + 0.17 * len(textwrap.wrap(plan["question"], int(figure_width * 13.5)))


def new_figure(plan: dict[str, Any], width: float, height: float, **grid: Any) -> tuple[Any, Any]:
    """A figure with its title and axes below it; height is that of the axes' part."""
    room = header_room(width, plan)
    figure, axes = pyplot().subplots(
        figsize=(width, height + room), layout="constrained", squeeze=False, **grid
    )
    figure.get_layout_engine().set(rect=(0, 0, 1, height / (height + room)))
    title(figure, plan)
    return figure, axes


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name, in order."""
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(dict.fromkeys(names))}


def percent(ratio: float) -> float:
    """A ratio as a change in percent."""
    return 100 * (ratio - 1)


def change(row: Row) -> tuple[float, float, float]:
    """A row's change in percent, and how far its interval reaches down and up from there."""
    known = row.comparison
    assert known
    middle = percent(known.ratio)
    return middle, max(0.0, middle - percent(known.low)), max(0.0, percent(known.high) - middle)


def cell_title(row: Row, without: Sequence[str] = ()) -> str:
    """The cell's labels in words, or its name when it has none."""
    words = [label_words(key, value) for key, value in row.labels.items() if key not in without]
    return ", ".join(words) or row.cell


def label_words(key: str, value: Any) -> str:
    """A label's value; numbers and booleans say what they are of."""
    if isinstance(value, bool):
        return f"{key} {'on' if value else 'off'}"
    if isinstance(value, (int, float)):
        return f"{value:,} {key}"
    return f"{value} {key}" if key in WITH_KEY else str(value)


def wrapped(text: str, width: int = 44) -> str:
    """A label in lines of that length."""
    return "\n".join(textwrap.wrap(text, width)) or text
