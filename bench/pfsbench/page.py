"""Puts results into a page of the documentation: a short table and the plot between two marks.

    <!-- result: bench/results/2026-11-21/e1 variants=default cells=*-cpu-* -->
    ...made anew by `python -m pfsbench page docs/cost.md`...
    <!-- end -->

The marks name a results folder from the project's root, and which of its variants, cells and
quantities are shown (patterns with commas between; all without); show=plot leaves out the table,
show=table the plot. So every figure of the page comes from a committed raw result; tests/test_page.py
checks that it still does. Warnings and what is not shown are in its report.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from .builds import ROOT
from .checks import check_result
from .model import BenchError, Result
from .report import DASH, added_text, columns_table, label_text, median_text
from .rows import MORE_IS_BETTER, Row, label_keys, rows_of
from .stats import compare_cells

BLOCK = re.compile(r"(<!-- result: (\S+)((?: \w+=\S+)*) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: Path) -> str:
    """The page's text with all blocks made anew; BenchError when a result is missing."""
    text = page.read_text()
    if not BLOCK.search(text):
        raise BenchError(f"{page} has no mark like <!-- result: bench/results/... -->")
    return BLOCK.sub(lambda mark: f"{mark[1]}\n{block(page, mark[2], mark[3])}\n\n{mark[4]}", text)


def block(page: Path, folder: str, options: str) -> str:
    """One result: table, plot, where the rest stands."""
    result = Result.load(ROOT / folder / "result.json")
    _, invalid = check_result(result)
    wanted = dict(option.split("=", 1) for option in options.split())
    show = wanted.pop("show", "all")
    if show not in ("all", "plot", "table"):
        raise BenchError(f"unknown show={show} in a mark: all, plot or table")
    rows = chosen(rows_of(result, compare_cells(result, invalid), invalid), wanted)
    beside = os.path.relpath(ROOT / folder, page.resolve().parent)
    parts = [] if show == "plot" else [table(rows)]
    if show != "table" and (ROOT / folder / "plot.svg").exists():
        parts.append(f"![{result.plan['title']}]({beside}/plot.svg)")
    rounds = sorted({row.rounds for row in rows if row.rounds})
    baselines = {row.baseline_what for row in rows}
    parts.append(
        (f"Against: {baselines.pop()}. " if len(baselines) == 1 else "")
        + f"`{result.command}`: {DASH.join(map(str, dict.fromkeys((rounds[0], rounds[-1]))))} rounds,"
        f" commit {result.commit[:10]}, {result.started[:10]};"
        f" [report, with warnings]({beside}/report.md), [raw result]({beside}/result.json)"
    )
    return "\n\n".join(parts)


def chosen(rows: Sequence[Row], wanted: Mapping[str, str]) -> list[Row]:
    """The rows that a mark's options name."""
    if unknown := wanted.keys() - {"variants", "cells", "quantities"}:
        raise BenchError(f"unknown option in a mark: {', '.join(unknown)}")

    def fits(text: str, patterns: str) -> bool:
        return any(fnmatchcase(text, pattern) for pattern in patterns.split(","))

    found = [
        row
        for row in rows
        if fits(row.variant, wanted.get("variants", "*"))
        and fits(row.cell, wanted.get("cells", "*"))
        and fits(row.quantity, wanted.get("quantities", "*"))
    ]
    if not found:
        raise BenchError(f"no row of the result is meant by: {dict(wanted)}")
    return found


def table(rows: Sequence[Row]) -> str:
    """Losses of throughput in percent; of other quantities the median and what is added."""
    judged = [row for row in rows if row.quantity in MORE_IS_BETTER]
    one_baseline = len({row.baseline_what for row in rows}) == 1
    one_quantity = len({row.quantity for row in rows}) == 1

    def against(row: Row) -> str:
        return "" if row.is_baseline or one_baseline else row.baseline_what

    shown = [row for row in rows if not (row in judged and row.is_baseline)]
    columns: list[tuple[str, Callable[[Row], str]]] = [
        *((key, partial(label_text, key=key)) for key in label_keys(rows)),
        ("state", lambda row: row.what),
        ("against", against),
        ("quantity", lambda row: "" if row in judged or one_quantity else row.quantity),
        ("throughput lost", loss_text),
        ("median", lambda row: "" if row in judged else median_text(row)),
        ("added", added_text),
        ("published", partial(losses_beside, target=False)),
        ("must", partial(losses_beside, target=True)),
    ]
    return columns_table(columns, shown)


def loss_text(row: Row) -> str:
    """Of throughput, with its interval."""
    known = row.comparison
    if row.quantity not in MORE_IS_BETTER or known is None or row.invalid:
        return f"invalid: {row.invalid}" if row.invalid else ""
    return f"{loss(known.ratio)} % ({loss(known.high)} to {loss(known.low)})"


def loss(ratio: float) -> str:
    """A ratio of throughput as percent lost."""
    return f"{100 * (1 - ratio) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def losses_beside(row: Row, *, target: bool) -> str:
    """Published figures or targets, as losses where ours are."""
    found = [p for p in row.published if p.target is target]
    if row.quantity not in MORE_IS_BETTER:
        return ", ".join(p.text for p in found)
    return ", ".join(
        " to ".join(f"{100 * (1 - ratio):.1f}" for ratio in dict.fromkeys((p.high, p.low))) + " %"
        for p in found
    )
