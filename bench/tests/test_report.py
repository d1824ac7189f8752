"""Reports of canned results, against golden files; UPDATE_GOLDEN=1 writes these anew."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pfsbench import plots, report
from pfsbench.checks import check_result
from pfsbench.model import BenchError, Result
from pfsbench.published import counterparts
from pfsbench.rows import Row, rows_of
from pfsbench.stats import compare_cells

from synthetic import CANNED, REPLAY

WARNINGS = ["the first of two", "the second"]


def rows(result: Result) -> list[Row]:
    _, invalid = check_result(result)
    return rows_of(result, compare_cells(result, invalid), invalid)


def load(name: str) -> Result:
    return Result.load(REPLAY / f"{name}.json")


@pytest.mark.parametrize("name", CANNED)
@pytest.mark.parametrize("kind", ["md", "csv"])
def test_golden(name: str, kind: str) -> None:
    result = load(name)
    if kind == "md":
        text = report.markdown(result, rows(result), WARNINGS, "plot.svg")
    else:
        text = report.csv_text(rows(result))
    golden = REPLAY / f"{name}.{kind}"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_canned_results_are_what_synthetic_makes() -> None:
    for name, make in CANNED.items():
        assert make() == load(name), f"{name}: run tests/synthetic.py"


def test_verdicts() -> None:
    verdicts = {row.variant: row.verdict for row in rows(load("e3"))}
    assert verdicts["none"] == "baseline"
    assert verdicts["same"] == "not distinguishable"
    assert verdicts["everything"] == "invalid: lost 12 events_statements_lost"
    assert verdicts["default"].endswith(" %")


def test_a_cell_without_samples_says_why() -> None:
    found = [row for row in rows(load("e5")) if row.cell == "mysql56"]
    assert {row.verdict for row in found} == {"invalid: the run ended early: mysqld died"}
    assert len(found) == 2


def test_many_warnings_are_folded_and_all_there() -> None:
    lines = report.warning_lines([f"warning {n}" for n in range(30)])
    assert "30 warnings" in lines
    assert all(f"- warning {n}\n" in lines for n in range(30))


def test_published_ratio_by_label_row_and_range() -> None:
    table = {
        "columns": ["threads", "off", "on"], "rows": [[1, 100.0, 98.0], [8, 200.0, 190.0]],
        "compare": [
            {"variant": "default", "where": {"load": "ro"}, "key": "threads", "on": "on",
             "off": "off"},
            {"variant": "all", "row": 8, "on": "on", "off_row": 1},
            {"variant": "all", "quantity": "p95", "range": [2, 3]},
        ],
    }  # fmt: skip
    labels = {"load": "ro", "threads": 8}
    assert [p.low for p in counterparts({"t": table}, labels, "default", "throughput")] == [0.95]
    assert counterparts({"t": table}, {**labels, "threads": 9}, "default", "throughput") == []
    assert counterparts({"t": table}, {**labels, "load": "rw"}, "default", "throughput") == []
    assert counterparts({"t": table}, labels, "all", "throughput")[0].text == "1.939"
    assert counterparts({"t": table}, labels, "all", "p95")[0].text == "2.000\N{EN DASH}3.000"


def test_published_column_that_is_not_there() -> None:
    table = {
        "columns": ["a"],
        "rows": [["x"]],
        "compare": [{"variant": "v", "row": "x", "on": "b"}],
    }
    with pytest.raises(BenchError, match="column 'b'"):
        counterparts({"t": table}, {}, "v", "throughput")


@pytest.mark.parametrize("name", CANNED)
def test_plots_are_repeatable(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = load(name)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        drawn = plots.draw(result.plan, rows(result), tmp_path / folder)
        assert [path.name for path in drawn] == ["plot.svg"]
    for path in drawn:
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
    assert b"<dc:date>" not in path.read_bytes()


def test_each_kind_of_result_has_its_plot() -> None:
    chosen = {}
    for name in CANNED:
        result = load(name)
        choice = plots.choose(result.plan, rows(result))
        assert choice is not None
        chosen[name] = choice[0].__name__
    assert chosen == {
        "e3": "draw_changes", "e5": "draw_groups", "targets": "draw_lines", "loop": "draw_added",
    }  # fmt: skip


def test_write_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shutil.copy(REPLAY / "loop.json", tmp_path / "result.json")
    assert report.write_report(tmp_path) == tmp_path / "report.md"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "plot.svg", "report.csv", "report.md", "result.json",
    ]  # fmt: skip


def test_no_result_there(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="not a result"):
        report.write_report(tmp_path)
