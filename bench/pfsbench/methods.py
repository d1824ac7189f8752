"""How each kind of method takes its samples of one cell, by an Executor.

The order of the variants is random within each round, from the plan's seed. Warm-up rounds are
kept with warmup=True. Losses are read after each sample and counted for its variant, so that a
state that loses events does not condemn another state of the same server.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from .builds import ROOT
from .executor import Executor
from .model import BenchError, Cell, Method, Sample, Variant
from .stats import block_rounds

Advance = Callable[[int, int], None]
"""Called after each round with its number and how many there are."""
LOOP_WARMUP = 3


class Taken:
    """What measuring a cell has yielded so far."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.losses: dict[str, dict[str, int]] = {}


def measure(
    executor: Executor, cell: Cell, method: Method, seed: int, advance: Advance, taken: Taken
) -> None:
    """Take all samples of a cell into `taken`, which also holds those of a run that fails."""
    rng = random.Random(f"{seed} {cell.name}")
    MEASURES[method.kind](executor, cell, method, rng, advance, taken)


def rounds(
    cell: Cell, method: Method, warm: int, rng: random.Random, advance: Advance
) -> Iterator[tuple[int, int, bool, Variant]]:
    """(round, order, warm-up, variant) of every sample; warm-up rounds count from -warm to -1."""
    for number in range(-warm, method.rounds):
        for order, variant in enumerate(rng.sample(cell.variants, len(cell.variants))):
            yield number, order, number < 0, variant
        advance(number + warm + 1, method.rounds + warm)


class Losses:
    """Counts what is lost between two looks for the variant that ran between them."""

    def __init__(self, executor: Executor, cell: Cell, taken: Taken) -> None:
        self._executor, self._taken = executor, taken
        self._last = {variant.server: executor.losses(variant) for variant in cell.variants}

    def count(self, variant: Variant) -> None:
        """Add what was lost since the last look at this server."""
        last = self._last[variant.server]
        if not last:
            return  # a server without such counters
        now = self._executor.losses(variant)
        own = self._taken.losses.setdefault(variant.name, {})
        for name, value in now.items():
            if value > last.get(name, 0):
                own[name] = own.get(name, 0) + value - last.get(name, 0)
        self._last[variant.server] = now


def measure_windows(
    executor: Executor, cell: Cell, method: Method, rng: random.Random, advance: Advance,
    taken: Taken,
) -> None:  # fmt: skip
    """Windows on continuous loads; `read` also keeps the times of the readers."""
    executor.open(cell, True, method.warmup_s, method.options)
    losses = Losses(executor, cell, taken)
    round_s = len(cell.variants) * (method.window_s + method.skip_s)
    warm = max(1, math.ceil(method.warmup_s / round_s))
    for number, order, warmup, variant in rounds(cell, method, warm, rng, advance):
        if number > 0 and order == 0 and number % block_rounds(method.rounds, method.restarts) == 0:
            executor.restart(cell, method.warmup_s)
            losses = Losses(executor, cell, taken)
        seen = executor.window(variant, method.window_s, method.skip_s)
        losses.count(variant)
        place = (number, order)
        state: dict[str, Any] = {
            "warmup": warmup, "load1": round(seen.load1, 2), "steal": round(seen.steal, 4),
        }  # fmt: skip
        taken.samples.append(
            Sample(cell.name, variant.name, "throughput", *place, seen.amount,
                   round(seen.seconds, 6), "B", **state)
        )  # fmt: skip
        taken.samples += (
            Sample(cell.name, variant.name, "seconds", *place, round(read, 6), unit="s", **state)
            for read in seen.reads
        )


def measure_runs(
    executor: Executor, cell: Cell, method: Method, rng: random.Random, advance: Advance,
    taken: Taken,
) -> None:  # fmt: skip
    """Whole client runs: throughput, and sysbench's 95th percentile."""
    executor.open(cell, False, method.warmup_s, method.options)
    losses = Losses(executor, cell, taken)
    for number, order, warmup, variant in rounds(cell, method, 1, rng, advance):
        seen = executor.run(variant, cell.workload, method.window_s)
        losses.count(variant)
        state: dict[str, Any] = {
            "warmup": warmup, "load1": round(seen.load1, 2), "steal": round(seen.steal, 4),
        }  # fmt: skip
        place = (number, order)
        taken.samples.append(
            Sample(cell.name, variant.name, "throughput", *place, seen.transactions,
                   round(seen.seconds, 4), "transactions", **state)
        )  # fmt: skip
        if seen.p95_ms:
            taken.samples.append(
                Sample(cell.name, variant.name, "p95", *place, seen.p95_ms, unit="ms", **state)
            )


def measure_loop(
    executor: Executor, cell: Cell, method: Method, rng: random.Random, advance: Advance,
    taken: Taken,
) -> None:  # fmt: skip
    """Blocks inside one session."""
    executor.open(cell, False, method.warmup_s, method.options)
    losses = Losses(executor, cell, taken)
    for number, order, warmup, variant in rounds(cell, method, LOOP_WARMUP, rng, advance):
        ns = executor.block(variant, cell.workload.script)
        losses.count(variant)
        taken.samples.append(
            Sample(cell.name, variant.name, "ns", number, order, round(ns, 2), unit="ns",
                   warmup=warmup)
        )  # fmt: skip


def measure_memory(
    executor: Executor, cell: Cell, method: Method, rng: random.Random, advance: Advance,
    taken: Taken,
) -> None:  # fmt: skip
    """Bytes reserved and resident, each variant once a round."""
    executor.open(cell, False, method.warmup_s, method.options)
    losses = Losses(executor, cell, taken)
    for number, order, warmup, variant in rounds(cell, method, 0, rng, advance):
        sizes = executor.memory(variant, cell.workload, method.window_s)
        losses.count(variant)
        taken.samples += (
            Sample(cell.name, variant.name, name, number, order, size, unit="B", warmup=warmup)
            for name, size in sizes.items()
        )


def measure_callgrind(
    executor: Executor, cell: Cell, method: Method, rng: random.Random, advance: Advance,
    taken: Taken,
) -> None:  # fmt: skip
    """Instructions per event of a program of build/bench; its events stand for variants."""
    program = ROOT / "build" / "bench" / cell.workload.script
    if not program.exists():
        raise BenchError(f"{program} is missing: run `make bench-core` first")
    import callgrind_bench

    for number in range(method.rounds):
        try:
            costs = callgrind_bench.measure([str(program)])
        except (callgrind_bench.BenchError, OSError) as error:
            raise BenchError(f"callgrind: {error} (Debian: apt-get install valgrind)") from None
        taken.samples += (
            Sample(cell.name, name.split("/", 1)[1], "instructions", number, order, cost,
                   unit="instructions")
            for order, (name, cost) in enumerate(costs.items())
        )  # fmt: skip
        advance(number + 1, method.rounds)


MEASURES: dict[str, Any] = {
    "windows": measure_windows,
    "read": measure_windows,
    "runs": measure_runs,
    "loop": measure_loop,
    "memory": measure_memory,
    "callgrind": measure_callgrind,
}
