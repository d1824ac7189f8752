"""Order of steps, arithmetic, and what happens on failure, without any server."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from pfsbench import runner
from pfsbench.checks import check_result
from pfsbench.model import BenchError, Plan, Result, Workload
from pfsbench.progress import Progress
from pfsbench.stats import compare_cells

from fakes import LOADED, PLAIN, FakeExecutor, cell, plan, variant


def quiet() -> Progress:
    return Progress(1.0, io.StringIO(), silent=True)


def run(made: Plan, executor: FakeExecutor) -> Result:
    return runner.run_plan(made, executor, "test", quiet())


def test_each_round_has_each_variant_once_in_seeded_order() -> None:
    made = plan(cell(variant("a"), variant("b"), variant("c")), rounds=30)
    first, second = FakeExecutor(), FakeExecutor()
    result = run(made, first)
    run(made, second)
    assert first.steps == second.steps
    windows = [words[1] for words in first.steps if words[0] == "window"]
    by_three = [tuple(windows[i : i + 3]) for i in range(0, len(windows), 3)]
    assert all(sorted(order) == ["a", "b", "c"] for order in by_three)
    assert len(set(by_three)) == 6  # every order occurs
    assert sum(not sample.warmup for sample in result.samples) == 90


def test_warm_up_rounds_are_kept_and_marked() -> None:
    result = run(plan(cell(variant("a"), variant("b")), rounds=4), FakeExecutor())
    warm = [sample for sample in result.samples if sample.warmup]
    assert [sample.round for sample in warm] == [-1, -1]  # 0.5 s of warm-up, 0.56 s a round
    assert [found.rounds for found in compare_cells(result)] == [4]


def test_steps_of_two_cells() -> None:
    executor = FakeExecutor()
    run(plan(cell(variant("a"), name="one"), cell(variant("b"), name="two"), rounds=1), executor)
    assert [words for words in executor.steps if words[0] != "window"] == [
        ("open", "one", "loads"),
        ("close_cell", "two"),
        ("open", "two", "loads"),
        ("close_cell",),
    ]
    assert executor.closed


def test_restarts_divide_the_rounds() -> None:
    executor = FakeExecutor(lost={"b": 1})
    made = plan(cell(variant("a"), variant("b")), rounds=9, restarts=2)
    result = run(made, executor)
    steps = [words[0] for words in executor.steps if words[0] != "open"]
    blocks = " ".join(steps).split("restart")
    assert [block.split().count("window") for block in blocks] == [2 + 6, 6, 6]  # one to warm up
    assert result.losses["cell"]["b"] == {"digest_lost": 10}  # counters begin at 0 again


def test_ratio_and_transactions() -> None:
    executor = FakeExecutor(speed={"a": 1000, "b": 990})
    result = run(plan(cell(variant("a", PLAIN), variant("b"))), executor)
    (found,) = compare_cells(result)
    assert found.ratio == pytest.approx(0.99)
    assert result.measures["cell"]["b"]["tps"] == pytest.approx(990 / 0.25 / 10)


def test_losses_condemn_only_the_variant_that_lost() -> None:
    executor = FakeExecutor(lost={"b": 2})
    made = plan(cell(variant("a"), variant("b"), variant("c")), rounds=3)
    result = run(made, executor)
    assert result.losses["cell"]["b"] == {"digest_lost": 2 * 4}  # a warm-up round, too
    _, invalid = check_result(result)
    assert invalid == {"cell/b": "lost 8 digest_lost"}
    assert [(it.variant, bool(it.invalid)) for it in compare_cells(result, invalid)] == [
        ("b", True),
        ("c", False),
    ]


def test_a_lost_event_of_the_baseline_condemns_all() -> None:
    result = run(plan(cell(variant("a"), variant("b"))), FakeExecutor(lost={"a": 1}))
    _, invalid = check_result(result)
    assert [bool(it.invalid) for it in compare_cells(result, invalid)] == [True]


def test_failure_closes_all_and_keeps_what_was_seen_as_invalid() -> None:
    executor = FakeExecutor(fail_at=5)
    made = plan(cell(variant("a"), name="one"), cell(variant("a"), name="two"), rounds=8)
    with pytest.raises(runner.RunFailed, match="server a died:\nits log") as failed:
        run(made, executor)
    assert executor.closed
    result = failed.value.result
    assert len(result.samples) == 3
    reason = "the run ended early: server a died:"
    assert result.invalid == {"one": reason, "two": reason}


def test_interrupt_closes_all() -> None:
    executor = FakeExecutor()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    executor.window = interrupted  # type: ignore[assignment, method-assign]
    with pytest.raises(KeyboardInterrupt):
        run(plan(cell(variant("a"))), executor)
    assert executor.closed


@pytest.mark.parametrize(
    ("kind", "quantities"),
    [
        ("runs", {"throughput", "p95"}),
        ("loop", {"ns"}),
        ("memory", {"resident"}),
        ("read", {"throughput", "seconds"}),
    ],
)
def test_quantities_of_the_other_methods(kind: str, quantities: set[str]) -> None:
    made = plan(cell(variant("a"), variant("b", LOADED, "SELECT 1")), kind=kind)
    result = run(made, FakeExecutor())
    assert {sample.quantity for sample in result.samples} == quantities


def test_added_nanoseconds() -> None:
    made = plan(cell(variant("a"), variant("b"), workload=Workload("loop", "top")), kind="loop")
    (found,) = compare_cells(run(made, FakeExecutor(speed={"a": 100, "b": 130})))
    assert (found.added, found.added_low, found.added_high) == (30, 30, 30)


def test_result_survives_the_file(tmp_path: Path) -> None:
    result = run(plan(cell(variant("a"), variant("b"))), FakeExecutor())
    path = runner.save(result, tmp_path / "new")
    assert Result.load(path) == result
    assert [child.name for child in path.parent.iterdir()] == ["result.json"]


def test_a_full_disk_leaves_no_half_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(plan(cell(variant("a"))), FakeExecutor())

    def full(self: Result, path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Result, "save", full)
    with pytest.raises(BenchError, match=r"result.json: No space left on device"):
        runner.save(result, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_progress_says_what_is_left() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = Progress(400.0, stream)
    progress.shown -= 1
    progress.advance(100.0, "smoke, rw")
    assert "smoke, rw: 25 %" in stream.getvalue()
    assert stream.getvalue().endswith(" left")
