"""Results with known effects, as if the bench had run: for tests and for a look at the plots.

python tests/synthetic.py FOLDER     writes FOLDER/<plan>/result.json and its report, for a look
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfsbench.model import Result, Sample

BASE = 1000.0
REPLAY = Path(__file__).parent / "replay"


def variant(name: str, what: str = "") -> dict[str, Any]:
    """A variant as a result holds it."""
    return {"name": name, "what": what or name, "switch": [], "server": {"kind": "postgresql"}}


def cell(name: str, labels: dict[str, Any], variants: list[dict[str, Any]]) -> dict[str, Any]:
    """A cell whose first variant is the baseline."""
    return {
        "name": name, "labels": labels, "variants": variants, "method": None,
        "baseline": variants[0]["name"], "workload": {"program": "sysbench"},
    }  # fmt: skip


def samples(
    place: dict[str, Any], effects: Mapping[str, float], rounds: int, quantity: str = "throughput",
    base: float = BASE, unit: str = "B", noise: float = 0.02,
) -> list[Sample]:  # fmt: skip
    """A warm-up round and `rounds` rounds in which each variant does `base` times its effect."""
    rng = random.Random(f"{place['name']} {quantity}")
    found = []
    for number in range(-1, rounds):
        drift = rng.gauss(1, 0.03)
        for order, (name, effect) in enumerate(effects.items()):
            value = base * drift * effect * rng.gauss(1, noise)
            if quantity == "throughput":
                value, seconds = value * 0.35, 0.35
            else:
                seconds = 0.0
            found.append(
                Sample(place["name"], name, quantity, number, order, round(value, 4), seconds, unit,
                       number < 0, 0.4, 0.0)
            )  # fmt: skip
    return found


def result(
    name: str, title: str, cells: list[dict[str, Any]], taken: list[Sample], **more: Any
) -> Result:
    """A result of these samples; more: fields of the plan, or `losses` and `invalid`."""
    plan = {
        "name": name, "title": title, "question": more.pop("question", "What does it cost?"),
        "seed": 1, "cells": cells, "published": more.pop("published", {}),
        "notes": more.pop("notes", ""), "method": {"kind": more.pop("kind", "windows")},
    }  # fmt: skip
    measures = {
        c["name"]: {v["name"]: {"tps": 100.0 + i} for i, v in enumerate(c["variants"])}
        for c in cells
    }
    return Result(
        plan=plan, command=f"python -m pfsbench run {name}", commit="0123456789abcdef",
        started="2026-11-21T12:00:00+00:00", seconds=600.0,
        machine={"cpu": "Example CPU", "cores": 2, "usable_cores": 2, "memory_mb": 24576,
                 "kernel": "Linux 6.1 x86_64", "clocksource": "tsc", "virtual": True, "load1": 0.1},
        servers={"absent": {"version": "PostgreSQL 18.6", "settings": {"shared_buffers": "512MB"}}},
        samples=tuple(taken), losses=more.pop("losses", {}), measures=measures,
        invalid=more.pop("invalid", {}),
    )  # fmt: skip


def e3() -> Result:
    """Windows with a published counterpart; one variant lost events, one is as the baseline."""
    states = {"none": 1.0, "default": 0.97, "same": 1.0, "everything": 0.9}
    place = cell("rw", {"load": "read write", "threads": 10}, [variant(name) for name in states])
    rows = [["all off", 3496.4], ["default", 3399], ["all on", 2837.44]]
    compare = [
        {"variant": "default", "row": "default", "on": "TPS", "off_row": "all off"},
        {"variant": "everything", "row": "all on", "on": "TPS", "off_row": "all off"},
    ]
    table = {
        "source": "MySQL 5.7.22",
        "columns": ["state", "TPS"],
        "rows": rows,
        "compare": compare,
    }
    return result(
        "e3", "E3: ENABLED | TIMED", [place], samples(place, states, 40, noise=0.01),
        published={"e3": table}, losses={"rw": {"everything": {"events_statements_lost": 12}}},
        notes="A note.",
    )  # fmt: skip


def e5() -> Result:
    """Whole runs with percentiles, a published range, and a second cell that failed."""
    states = {"off": 1.0, "default": 1.3}
    first = cell("postgresql", {"system": "PostgreSQL"}, [variant(name) for name in states])
    second = cell(
        "mysql56", {"system": "MySQL 5.6.24"}, [variant("mysql-off"), variant("mysql-all")]
    )
    slower = {name: 1 / effect for name, effect in states.items()}
    taken = samples(first, slower, 6, unit="transactions")
    taken += samples(first, states, 6, "p95", 1.7, "ms")
    compare = [{"variant": "default", "quantity": "p95", "range": [2.15, 3.08]}]
    return result(
        "e5", "E5: nested statements", [first, second], taken, kind="runs",
        published={"e5": {"source": "MySQL 8.0", "compare": compare}},
        invalid={"mysql56": "the run ended early: mysqld died"},
    )  # fmt: skip


def targets() -> Result:
    """Windows with targets, and a cell whose threads make a line."""
    states = {"none": 1.0, "default": 0.996}
    cells = [
        cell(f"rw-{n}", {"load": "read write", "threads": n}, [variant(name) for name in states])
        for n in (1, 8, 64)
    ]
    taken = [sample for place in cells for sample in samples(place, states, 12)]
    wanted = {"target": True, "source": "design, section 9", "compare": [
        {"variant": "default", "where": {"threads": 1}, "range": [0.995, 0.995]}]}  # fmt: skip
    return result("targets", "Targets", cells, taken, published={"wanted": wanted})


def loop() -> Result:
    """Nanoseconds of one event."""
    states = {"none": 1.0, "default": 1.05}
    place = cell("top", {"load": "SELECT 1"}, [variant(name) for name in states])
    return result(
        "loop", "Loop", [place], samples(place, states, 20, "ns", 1000, "ns"), kind="loop"
    )


CANNED = {"e3": e3, "e5": e5, "targets": targets, "loop": loop}

if __name__ == "__main__":
    REPLAY.mkdir(exist_ok=True)
    for name, make in CANNED.items():
        make().save(REPLAY / f"{name}.json")
