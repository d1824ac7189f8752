"""Rules about what to believe."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import pytest

from pfsbench import runner
from pfsbench.checks import check_result
from pfsbench.model import Result, Sample
from pfsbench.progress import Progress

from fakes import FakeExecutor, cell, plan, variant


def result(rounds: int = 40, speed: Any = lambda number: 1000.0, **changes: Any) -> Result:
    """A result of two variants: the baseline at `speed(round)`, the other 1 % below."""
    made = plan(cell(variant("a"), variant("b")), rounds=1)
    progress = Progress(1.0, io.StringIO(), silent=True)
    plain = runner.run_plan(made, FakeExecutor(), "test", progress)
    samples = tuple(
        Sample("cell", name, "throughput", number, 0, factor * speed(number), 1.0, "B")
        for number in range(rounds)
        for name, factor in (("a", 1.0), ("b", 0.99))
    )
    machine = {"load1": 0.1, "cores": 2}
    return dataclasses.replace(plain, samples=samples, machine=machine, **changes)


def test_nothing_to_say() -> None:
    assert check_result(result()) == ([], {})


@pytest.mark.parametrize(
    ("made", "warning"),
    [
        (result(rounds=5), "cell: only 5 rounds"),
        (result(speed=lambda n: 1000 + 10 * n), "drifted by +"),
        (result(speed=lambda n: 1000 + 400 * (n % 3)), "scatters by"),
    ],
)
def test_warnings(made: Result, warning: str) -> None:
    warnings, invalid = check_result(made)
    assert any(warning in line for line in warnings), warnings
    assert not invalid


def test_wide_interval_says_how_many_rounds_would_do() -> None:
    made = result()
    samples = tuple(
        dataclasses.replace(it, amount=it.amount * (1 + 0.2 * (i * 7 % 11 - 5) / 5))
        for i, it in enumerate(made.samples)
    )
    warnings, _ = check_result(dataclasses.replace(made, samples=samples))
    assert any("rounds would give +-0.5 %" in line for line in warnings), warnings


def test_steal_and_other_load() -> None:
    made = result()
    stolen = tuple(dataclasses.replace(it, steal=0.03) for it in made.samples)
    made = dataclasses.replace(made, samples=stolen, machine={"load1": 1.9, "cores": 2})
    warnings, _ = check_result(made)
    assert "cell: the host took 3.0 % of processor time" in warnings
    assert any(line.startswith("load was 1.9 on 2 cores") for line in warnings)


def test_foreign_traffic_is_invalid() -> None:
    facts = {"tps": 100.0, "bytes_per_transaction": 10.0, "idle_bytes_per_second": 50}
    _, invalid = check_result(result(measures={"cell": {"a": facts}}))
    assert "50 B/s of others" in invalid["cell"]


def test_an_early_end_stays_invalid() -> None:
    _, invalid = check_result(result(invalid={"cell": "the run ended early: x"}))
    assert invalid == {"cell": "the run ended early: x"}
