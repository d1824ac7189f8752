"""Carries out a plan cell by cell and makes the Result."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import collect
from .executor import Executor
from .methods import Taken, measure
from .model import BenchError, Cell, Plan, Result, Sample
from .plan import cell_method, cell_seconds
from .progress import Progress

EARLY = "the run ended early"


class RunFailed(BenchError):
    """A run that ended early; `result` is what it has seen, marked invalid."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def run_plan(plan: Plan, executor: Executor, command: str, progress: Progress) -> Result:
    """All cells in turn; everything is stopped when this returns or raises.

    RunFailed (with the partial result) when a step fails; KeyboardInterrupt passes through.
    """
    began, started = time.monotonic(), datetime.datetime.now(datetime.UTC)
    machine = collect.machine()  # before there is load of ours
    cells: list[tuple[Cell, Taken, dict[str, Any]]] = []
    failure = ""
    try:
        for number, cell in enumerate(plan.cells):
            cells.append((cell, Taken(), {}))
            run_cell(plan, executor, cells[-1], progress)
            executor.close_cell(plan.cells[number + 1 :])
    except (BenchError, OSError) as error:
        failure = str(error) or type(error).__name__
    finally:
        servers = executor.facts()
        executor.close()
        progress.end()
    result = Result(
        plan=describe(plan), command=command, commit=collect.commit(),
        started=started.isoformat(timespec="seconds"), seconds=round(time.monotonic() - began, 1),
        machine=machine, servers=servers,
        samples=tuple(sample for _, taken, _ in cells for sample in taken.samples),
        losses={cell.name: taken.losses for cell, taken, _ in cells},
        measures={cell.name: measures for cell, _, measures in cells},
    )  # fmt: skip
    if not failure:
        return result
    unfinished = [cell.name for cell in plan.cells[len(cells) - 1 :]]
    reason = f"{EARLY}: {failure.splitlines()[0]}"
    invalid = dict.fromkeys(unfinished, reason)
    raise RunFailed(failure, dataclasses.replace(result, invalid=invalid))


def run_cell(
    plan: Plan, executor: Executor, place: tuple[Cell, Taken, dict[str, Any]], progress: Progress
) -> None:
    """Measure one cell into its place."""
    cell, taken, measures = place
    estimate = cell_seconds(plan, cell)
    told = 0.0

    def advance(done: int, of: int) -> None:
        nonlocal told
        progress.advance(estimate * (done / of - told), f"{plan.name}, {cell.name}")
        told = done / of

    measure(executor, cell, cell_method(plan, cell), plan.seed, advance, taken)
    for variant in cell.variants:
        measures[variant.name] = executor.measures(variant)
        measures[variant.name].update(throughput(taken.samples, variant.name, measures))


def throughput(
    samples: Sequence[Sample], variant: str, measures: dict[str, dict[str, Any]]
) -> dict[str, float]:
    """Transactions/s of a variant: from bytes and bytes per transaction, or counted."""
    values = [
        (sample.value, sample.unit)
        for sample in samples
        if sample.variant == variant and sample.quantity == "throughput" and not sample.warmup
    ]
    if not values:
        return {}
    per = measures[variant].get("bytes_per_transaction", 1.0) if values[0][1] == "B" else 1.0
    return {"tps": round(statistics.median(value for value, _ in values) / per, 2)}


def describe(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, as it reads back from a file."""
    facts = dataclasses.asdict(plan)
    for cell, made in zip(facts["cells"], plan.cells, strict=True):
        for variant, source in zip(cell["variants"], made.variants, strict=True):
            variant["server"]["conf"] = dict(source.server.conf)
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def save(result: Result, folder: Path) -> Path:
    """Write FOLDER/result.json: whole or not at all. BenchError when it cannot be written."""
    path = folder / "result.json"
    temporary = folder / f".result.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        result.save(temporary)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BenchError(f"cannot write {path}: {error.strerror}") from None
    return path
