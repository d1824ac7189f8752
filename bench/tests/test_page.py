"""The page with the costs quotes committed results, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from pfsbench.builds import ROOT
from pfsbench.model import BenchError
from pfsbench.page import BLOCK, filled

COST = ROOT / "docs" / "cost.md"


def test_the_page_is_as_its_results_say() -> None:
    assert filled(COST) == COST.read_text(), "run `python -m pfsbench page docs/cost.md`"


def test_a_block_is_made_anew(tmp_path: Path) -> None:
    folder = BLOCK.search(COST.read_text())
    assert folder
    page = tmp_path / "page.md"
    page.write_text(f"before\n<!-- result: {folder[2]} -->\nold\n<!-- end -->\nafter\n")
    text = filled(page)
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text and "| throughput lost |" in text
    for show, has_table, has_plot in (("plot", False, True), ("table", True, False)):
        page.write_text(f"<!-- result: {folder[2]} show={show} -->\n<!-- end -->\n")
        text = filled(page)
        assert ("| throughput lost |" in text, "plot.svg)" in text) == (has_table, has_plot)
    page.write_text(f"<!-- result: {folder[2]} colour=red -->\n<!-- end -->\n")
    with pytest.raises(BenchError, match="colour"):
        filled(page)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- result: bench/results/1999-01-01/none -->\n<!-- end -->\n")
    with pytest.raises(BenchError, match="1999-01-01"):
        filled(page)
    page.write_text("no marks\n")
    with pytest.raises(BenchError, match="no mark"):
        filled(page)
