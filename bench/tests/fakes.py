"""An Executor that only keeps notes, and small cells to give it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pfsbench.executor import ClientRun, Reading
from pfsbench.model import BenchError, Cell, Method, Plan, ServerSpec, Variant, Workload

PLAIN = ServerSpec()
LOADED = ServerSpec(preload=("performance_schema",))
LOAD = Workload("sysbench", "oltp_read_write")


def variant(name: str, server: ServerSpec = LOADED, reader: str = "") -> Variant:
    """A variant whose switch names itself."""
    return Variant(name, server, (f"switch to {name}",), name, reader)


def cell(*variants: Variant, name: str = "cell", workload: Workload = LOAD) -> Cell:
    """A cell with the first variant as its baseline."""
    return Cell(name, {}, workload, variants, variants[0].name)


def plan(*cells: Cell, kind: str = "windows", rounds: int = 4, **method: Any) -> Plan:
    """A plan with short windows."""
    facts = {"window_s": 0.25, "skip_s": 0.03, "warmup_s": 0.5, **method}
    return Plan("fake", "Fake", "?", cells, Method(kind, rounds, **facts), seed=1)


class FakeExecutor:
    """Executor: `steps` are its notes; speed: bytes a window, by variant; fails at `fail_at`."""

    def __init__(
        self, speed: dict[str, int] | None = None, lost: dict[str, int] | None = None,
        fail_at: int = -1,
    ) -> None:  # fmt: skip
        self.speed = speed or {}
        self.lost = lost or {}  # by variant: lost in each of its windows
        self.fail_at = fail_at
        self.steps: list[tuple[str, ...]] = []
        self.counters: dict[ServerSpec, int] = {}
        self.closed = False

    def _note(self, *words: str) -> None:
        self.steps.append(words)
        if len(self.steps) == self.fail_at:
            raise BenchError("server a died:\nits log")

    def open(self, cell: Cell, loads: bool, warm_s: float, options: dict[str, Any]) -> None:
        self._note("open", cell.name, "loads" if loads else "no loads")

    def restart(self, cell: Cell, warm_s: float) -> None:
        self._note("restart", cell.name)
        self.counters = {}

    def window(self, variant: Variant, window_s: float, skip_s: float) -> Reading:
        self._note("window", variant.name)
        lost = self.lost.get(variant.name, 0)
        self.counters[variant.server] = self.counters.get(variant.server, 0) + lost
        reads = (0.01, 0.03) if variant.reader else ()
        return Reading(self.speed.get(variant.name, 1000), window_s, 0.0, 0.5, reads)

    def run(self, variant: Variant, workload: Workload, seconds: float) -> ClientRun:
        self._note("run", variant.name)
        return ClientRun(self.speed.get(variant.name, 1000), seconds, 2.5, 0.0, 0.5)

    def block(self, variant: Variant, script: str) -> float:
        self._note("block", variant.name, script)
        return float(self.speed.get(variant.name, 1000))

    def memory(self, variant: Variant, workload: Workload, seconds: float) -> dict[str, int]:
        self._note("memory", variant.name)
        return {"resident": 1000}

    def losses(self, variant: Variant) -> dict[str, int]:
        if variant.server == PLAIN:
            return {}
        return {"digest_lost": self.counters.get(variant.server, 0)}

    def measures(self, variant: Variant) -> dict[str, Any]:
        return {"server": "fake", "bytes_per_transaction": 10.0, "idle_bytes_per_second": 0}

    def close_cell(self, later: Sequence[Cell]) -> None:
        self._note("close_cell", *(cell.name for cell in later))

    def facts(self) -> dict[str, dict[str, Any]]:
        return {"fake": {"version": "PostgreSQL 0"}}

    def close(self) -> None:
        self.closed = True
