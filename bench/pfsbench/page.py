"""Puts results into a page of the documentation: table, plot, command and commit between two marks.

    <!-- result: bench/results/2026-11-21/targets -->
    ...made anew by `python -m pfsbench page docs/cost.md`...
    <!-- end -->

The marks name a results folder from the project's root. So every figure of the page comes from a
committed raw result; tests/test_page.py checks that it still does.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from .builds import ROOT
from .checks import check_result
from .model import BenchError, Result
from .report import table, warning_lines
from .rows import rows_of
from .stats import compare_cells

BLOCK = re.compile(r"(<!-- result: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: Path) -> str:
    """The page's text with all blocks made anew; BenchError when a result is missing."""
    text = page.read_text()
    if not BLOCK.search(text):
        raise BenchError(f"{page} has no mark like <!-- result: bench/results/... -->")
    return BLOCK.sub(lambda mark: f"{mark[1]}\n{block(page, mark[2])}\n\n{mark[3]}", text)


def block(page: Path, folder: str) -> str:
    """One result: what was run, warnings, table, plot."""
    result = Result.load(ROOT / folder / "result.json")
    warnings, invalid = check_result(result)
    rows = rows_of(result, compare_cells(result, invalid), invalid)
    parts = [
        f"`{result.command}`, commit {result.commit[:10]}, {result.started[:10]},"
        f" {result.seconds / 60:.0f} minutes; raw: [{folder}]({beside(page, folder)}/result.json)",
        warning_lines(warnings),
        table(rows),
    ]
    if (ROOT / folder / "plot.svg").exists():
        parts.append(f"![{result.plan['title']}]({beside(page, folder)}/plot.svg)")
    return "\n\n".join(part for part in parts if part)


def beside(page: Path, folder: str) -> str:
    """The folder as the page names it."""
    return os.path.relpath(ROOT / folder, page.resolve().parent)
