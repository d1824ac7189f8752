"""Draws: each function returns an SVG that stands in the page."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

import matplotlib

matplotlib.use("Agg")  # before pyplot
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from . import text
from .figures import REST, Bucket

COLOURS = {
    "files": "#c9572b", "client and network": "#7d8ca3", "locks": "#a1203d",
    "locks inside the server": "#d98c2b", "other processes": "#6a4c93", "sleeping": "#b8b8b8",
    "other waits": "#8a7a5c", REST: "#2a6f97",
}  # fmt: skip
LINES = ("#2a6f97", "#c9572b", "#4f8a3d", "#6a4c93", "#d98c2b")
SETTINGS = {
    "font.size": 8, "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": "#888888", "svg.hashsalt": "pfsreport", "text.parse_math": False,
}  # fmt: skip


def drawn(figure: Figure, title: str) -> str:
    """As an element of the page; the title is for those who do not see it."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # without a fixed size it fits the page; the ids of several pictures must differ
    svg = re.sub(r'<svg (.*?)width="[^"]*" height="[^"]*"', r"<svg \1", svg, count=1, flags=re.DOTALL)
    name = re.sub(r"\W+", "-", title)
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    return svg.replace(">", f' role="img" aria-label="{title}">', 1)


def time_model(model: Mapping[str, int], title: str) -> str:
    """One bar of all parts."""
    total = sum(model.values())
    with matplotlib.rc_context(SETTINGS):
        figure, axes = plt.subplots(figsize=(9, 0.55))
        left = 0.0
        for kind, value in model.items():
            if value > 0 and total:
                axes.barh(0, 100 * value / total, left=left, color=COLOURS[kind], height=0.6, label=kind)
                left += 100 * value / total
        axes.set_xlim(0, 100)
        axes.set_yticks([])
        axes.set_xlabel("per cent of the time of statements")
        if left:
            axes.legend(ncols=4, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0))
        return drawn(figure, title)


def histogram(buckets: Sequence[Bucket], title: str) -> str:
    """Executions by how long they took; small enough for a row of a table."""
    with matplotlib.rc_context(SETTINGS):
        figure, axes = plt.subplots(figsize=(2.4, 0.42))
        found = [b for b in buckets if b.high > 0]
        if found:
            axes.bar(
                [max(b.low, 1) for b in found],
                [b.count for b in found],
                width=[max(b.high - b.low, 1) for b in found],
                align="edge",
                color=COLOURS[REST],
            )
            axes.set_xscale("log")
            ends = [max(found[0].low, 1), found[-1].high]
            axes.set_xticks(ends, [text.time(end) for end in ends])
        axes.minorticks_off()
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        return drawn(figure, title)


def bars(names: Sequence[str], values: Sequence[float], labels: Sequence[str], title: str) -> str:
    """Named values, the first on top, each with its label."""
    with matplotlib.rc_context(SETTINGS):
        figure, axes = plt.subplots(figsize=(9, 0.25 * max(len(names), 1) + 0.1))
        places = range(len(names))
        axes.barh(list(places), list(values), color=COLOURS[REST], height=0.7)
        axes.set_yticks(list(places), list(names))
        axes.invert_yaxis()
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        for place, (value, label) in enumerate(zip(values, labels)):
            axes.text(value, place, f" {label}", va="center")
        return drawn(figure, title)


def lines(moments: Sequence[float], rates: Mapping[str, Sequence[float]], title: str) -> str:
    """Rates over the interval."""
    with matplotlib.rc_context(SETTINGS):
        figure, axes = plt.subplots(figsize=(4.3, 1.4))
        for colour, (name, values) in zip(LINES, rates.items()):
            axes.plot(moments, values, color=colour, linewidth=1.2, label=name)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("seconds")
        axes.yaxis.set_major_formatter(lambda value, _: text.number(value))
        axes.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.0))
        return drawn(figure, title)
