"""The regression guard: ceilings that fail, a history that is written once a commit and shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pfsbench import history
from pfsbench.model import BenchError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import callgrind_bench

FACTS = {"commit": "a" * 40, "dirty": False, "date": "2026-11-21T10:00:00+00:00"}


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the guard, in a folder of the test's own."""
    ceilings = {"compiler": "gcc", "instructions": {"b/wait": 100.0, "b/short": 2.0}}
    (tmp_path / "ceilings.json").write_text(json.dumps(ceilings))
    monkeypatch.setattr(callgrind_bench, "CEILINGS", tmp_path / "ceilings.json")
    monkeypatch.setattr(callgrind_bench, "HISTORY", tmp_path / "results" / "history.ndjson")
    monkeypatch.setattr(callgrind_bench, "compiler", lambda: "12.2.0")
    return tmp_path


@pytest.mark.parametrize(
    ("costs", "failed"),
    [
        ({"b/wait": 100.0, "b/short": 2.0}, 0),
        ({"b/wait": 105.0, "b/short": 3.0}, 0),
        ({"b/wait": 105.2, "b/short": 2.0}, 1),
        ({"b/wait": 60.0, "b/short": 3.2}, 1),
        ({"b/wait": 100.0, "b/short": 2.0, "b/new": 1.0}, 1),
        ({"b/wait": 100.0}, 1),
    ],
)
def test_a_count_above_its_ceiling_fails(costs: dict[str, float], failed: int) -> None:
    assert callgrind_bench.judge(costs) == failed


def test_a_high_count_fails_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callgrind_bench, "measure", lambda _: {"b/wait": 120.0, "b/short": 2.0})
    monkeypatch.setattr(callgrind_bench, "need_programs", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["callgrind_bench.py", "--check", "program"])
    assert callgrind_bench.main() == 1


def test_record_is_idempotent() -> None:
    callgrind_bench.record({"b/wait": 100.0}, FACTS)
    once = callgrind_bench.HISTORY.read_bytes()
    callgrind_bench.record({"b/wait": 100.0}, FACTS)
    assert callgrind_bench.HISTORY.read_bytes() == once


def test_record_keeps_other_commits_and_the_dirty_line() -> None:
    for facts in (FACTS, {**FACTS, "dirty": True}, {**FACTS, "commit": "b" * 40}, FACTS):
        callgrind_bench.record({"b/wait": 100.0}, facts)
    found = history.read_history(callgrind_bench.HISTORY)
    assert [entry.name for entry in found] == ["aaaaaaaa", "aaaaaaaa+", "bbbbbbbb"]


def recorded(*counts: dict[str, Any]) -> Path:
    for number, costs in enumerate(counts):
        callgrind_bench.record(costs, {**FACTS, "commit": str(number) * 40})
    return callgrind_bench.HISTORY


def test_history_marks_steps() -> None:
    path = recorded({"a": 100.0, "b": 200.0, "c": 9.0}, {"a": 100.9, "b": 210.0, "d": 5.0})
    lines = {line.split()[0]: line for line in history.show_history(10, path).splitlines()[2:]}
    assert lines["a"].split() == ["a", "100.0", "100.9"]
    assert lines["b"].split() == ["b", "200.0", "+5.0", "%", "210.0"]
    assert lines["c"].split() == ["c", "9.0", "gone"]
    assert lines["d"].split() == ["d", "new", "5.0"]


def test_history_shows_the_last_ones_and_another_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded({"a": 1.0}, {"a": 1.0})
    monkeypatch.setattr(callgrind_bench, "compiler", lambda: "13.1.0")
    callgrind_bench.record({"a": 1.0}, {**FACTS, "commit": "c" * 40})
    text = history.show_history(2, callgrind_bench.HISTORY)
    assert "00000000" not in text
    assert "cccccccc: compiled by gcc 13.1.0 -O2, 11111111 by gcc 12.2.0 -O2" in text


def test_no_history(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="make bench-record"):
        history.read_history(tmp_path / "none")
    (tmp_path / "bad").write_text("nonsense\n")
    with pytest.raises(BenchError, match="not a history"):
        history.read_history(tmp_path / "bad")
