"""In which order RealExecutor stops, continues, switches and ends: servers and loads are fake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pfsbench import executor
from pfsbench.model import BenchError, ServerSpec, Workload

from fakes import LOADED, PLAIN, cell, variant

SLOW = ServerSpec(build="frame_pointers")


class FakeServer:
    """Notes what it is told."""

    def __init__(self, name: str, steps: list[str]) -> None:
        self.name, self.steps = name, steps

    def start(self) -> None:
        self.steps.append(f"start {self.name}")

    def stop(self) -> None:
        self.steps.append(f"stop {self.name}")

    def load(self, workload: Workload) -> None:
        self.steps.append(f"load {self.name}")

    def switch(self, statements: Sequence[str]) -> None:
        self.steps.append(statements[0])

    def version(self) -> str:
        return "PostgreSQL 0"

    def settings(self) -> dict[str, str]:
        return {}

    def pids(self) -> list[int]:
        return []

    def log_tail(self) -> str:
        return "the log"


class FakeLoad:
    """Notes what it is told; moves 1,000 bytes a look at the interface while it runs."""

    def __init__(self, server: FakeServer, workload: Workload) -> None:
        self.server = server
        self.pid = 0

    def _note(self, what: str) -> None:
        self.server.steps.append(f"{what} {self.server.name}")

    def start(self) -> None:
        self._note("begin")

    def pause(self) -> None:
        self._note("pause")

    def resume(self) -> None:
        self._note("resume")

    def check(self) -> None:
        pass

    def stop(self) -> None:
        self._note("end")


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    moved = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(executor, "Load", FakeLoad)
    monkeypatch.setattr(executor, "loopback_bytes", lambda: next(moved))
    monkeypatch.setattr(executor, "load_command", lambda *_: [])
    monkeypatch.setattr(executor, "run_client", lambda *_: "transactions: 10 (5 per sec.)")
    monkeypatch.setattr(executor.time, "sleep", lambda _: None)
    return []


def opened(steps: list[str], *variants: Any) -> executor.RealExecutor:
    made = executor.RealExecutor(lambda _spec, name: FakeServer(name, steps))  # type: ignore
    made.open(cell(*variants), True, 1.0, {})
    return made


def test_switched_variants_share_a_load_that_never_stops(steps: list[str]) -> None:
    a, b = variant("a"), variant("b")
    real = opened(steps, a, b)
    assert steps == ["start a+b", "load a+b", "begin a+b", "pause a+b"]
    steps.clear()
    for one in (a, b, b, a):
        assert real.window(one, 0.0, 0.0).amount == 1000
    assert steps == ["resume a+b", "switch to a", "switch to b", "switch to a"]


def test_paired_loads_take_turns_and_every_window_begins_alike(steps: list[str]) -> None:
    a, b = variant("a", PLAIN), variant("b")
    real = opened(steps, a, b)
    steps.clear()
    for one in (a, b, b):
        real.window(one, 0.0, 0.0)
    assert steps == [
        "resume a", "switch to a",
        "pause a", "resume b", "switch to b",
        "pause b", "resume b",
    ]  # fmt: skip


def test_servers_stay_while_a_later_cell_wants_them(steps: list[str]) -> None:
    real = opened(steps, variant("a", PLAIN), variant("b"))
    steps.clear()
    real.close_cell([cell(variant("c", LOADED))])
    assert steps == ["end a", "end b", "stop a"]
    steps.clear()
    real.open(cell(variant("c", LOADED), variant("d", SLOW)), True, 1.0, {})
    assert [step for step in steps if step.startswith("start")] == ["start d"]
    real.close()
    assert steps[-4:] == ["end b", "end d", "stop b", "stop d"]
    assert list(real.facts()) == ["a", "b", "d"]


def test_bytes_per_transaction(steps: list[str]) -> None:
    real = opened(steps, variant("a"))
    assert real.measures(variant("a"))["bytes_per_transaction"] == 100.0


def test_a_dead_server_is_named_with_its_log(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = opened(steps, variant("a"))
    monkeypatch.setattr(executor, "loopback_bytes", lambda: 0)
    with pytest.raises(BenchError, match="server a died:\nthe log"):
        real.window(variant("a"), 0.0, 0.0)


def test_a_load_without_transactions(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "run_client", lambda *_: "transactions: 0")
    with pytest.raises(BenchError, match="cell: the load did no transaction on a"):
        opened(steps, variant("a"))
