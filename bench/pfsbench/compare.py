"""Two results of the bench side by side: did a cost change from one to the other?

Only ratios to a baseline are compared, each taken within its own run: absolute figures of two runs
say nothing (machines differ by more than what is looked for). The difference is that of the medians
of the log-ratios, its interval a bootstrap over each run's rounds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .checks import check_result
from .model import Result
from .stats import by_round, median, resampled_median

RESAMPLES = 2000
DASH = "\N{EN DASH}"
MACHINE_KEYS = ("cpu", "usable_cores", "memory_mb", "kernel", "clocksource")


@dataclass(frozen=True)
class Change:
    """One variant in both. change: ratio in B / ratio in A; low, high: its 95 % interval."""

    cell: str
    variant: str
    quantity: str
    ratio_a: float
    ratio_b: float
    change: float
    low: float
    high: float
    rounds: tuple[int, int]
    invalid: str = ""

    @property
    def verdict(self) -> str:
        """Whether the two differ."""
        if self.invalid:
            return f"invalid: {self.invalid}"
        if self.low <= 1.0 <= self.high:
            return "not distinguishable"
        return f"{100 * (self.change - 1):+.2f} %".replace("-", "\N{MINUS SIGN}")


def compare_results(a: Result, b: Result) -> str:
    """A Markdown table of what both have, with warnings above it."""
    lines = [f"> **Warning:** {text}  " for text in differences(a, b)]
    table = [
        "| cell | variant | quantity | ratio A | ratio B | B / A | 95 % interval | n | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for it in changes(a, b):
        table.append(
            f"| {it.cell} | {it.variant} | {it.quantity} | {it.ratio_a:.4f} | {it.ratio_b:.4f}"
            f" | {it.change:.4f} | {it.low:.4f}{DASH}{it.high:.4f}"
            f" | {it.rounds[0]}, {it.rounds[1]} | {it.verdict} |"
        )
    head = [f"A: {about(a)}  ", f"B: {about(b)}"]
    return "\n".join([*head, "", *lines, *([""] if lines else []), *table])


def about(result: Result) -> str:
    """Which result it is."""
    return f"{result.plan['name']} of {result.started}, commit {result.commit or 'unknown'}"


def differences(a: Result, b: Result) -> list[str]:
    """What makes the two hard to compare."""
    found = []
    for key in MACHINE_KEYS:
        if a.machine.get(key) != b.machine.get(key):
            found.append(f"other machine: {key} {a.machine.get(key)!r}, {b.machine.get(key)!r}")
    if a.plan["name"] != b.plan["name"]:
        found.append(f"other plan: {a.plan['name']}, {b.plan['name']}")
    cells_a, cells_b = ({cell["name"]: cell for cell in result.plan["cells"]} for result in (a, b))
    for name in sorted(cells_a.keys() ^ cells_b.keys()):
        found.append(f"cell {name} is only in {'A' if name in cells_a else 'B'}")
    for name in (name for name in cells_a if name in cells_b):
        found += cell_differences(name, cells_a[name], cells_b[name])
    if not changes(a, b):
        found.append("they have no variant in common that was measured in rounds")
    return found


def cell_differences(name: str, a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """Another load or baseline under the same name."""
    keys = ("workload", "baseline")
    return [f"cell {name}: other {key}" for key in keys if a.get(key) != b.get(key)]


def changes(a: Result, b: Result) -> list[Change]:
    """Every cell, variant and quantity that both have, in A's order."""
    logs_a, logs_b = log_ratios(a), log_ratios(b)
    why_a, why_b = check_result(a)[1], check_result(b)[1]
    found = []
    for key, ours in logs_a.items():
        if key not in logs_b:
            continue
        cell, variant, _ = key
        names = (f"{cell}/{variant}", cell)
        why = next((w[name] for w in (why_a, why_b) for name in names if name in w), "")
        middle, low, high = difference(ours, logs_b[key])
        found.append(
            Change(*key, math.exp(median(ours)), math.exp(median(logs_b[key])), math.exp(middle),
                   math.exp(low), math.exp(high), (len(ours), len(logs_b[key])), why)
        )  # fmt: skip
    return found


def log_ratios(result: Result) -> dict[tuple[str, str, str], list[float]]:
    """(cell, variant, quantity) -> log of variant / baseline of every round."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for cell in result.plan["cells"]:
        own = [sample for sample in result.samples if sample.cell == cell["name"]]
        for quantity in dict.fromkeys(sample.quantity for sample in own):
            samples = [sample for sample in own if sample.quantity == quantity]
            base = by_round(samples, cell["baseline"])
            for name in (v["name"] for v in cell["variants"] if v["name"] != cell["baseline"]):
                values = by_round(samples, name)
                logs = [
                    math.log(values[number] / base[number])
                    for number in sorted(values.keys() & base.keys())
                    if values[number] > 0 and base[number] > 0
                ]
                if logs:
                    found[cell["name"], name, quantity] = logs
    return found


def difference(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Median of b less median of a, with its bootstrap 95 % interval."""
    rng = random.Random(1)
    first, second = sorted(a), sorted(b)
    drawn = sorted(
        resampled_median(second, len(second), rng) - resampled_median(first, len(first), rng)
        for _ in range(RESAMPLES)
    )
    middle = median(b) - median(a)
    return middle, drawn[int(RESAMPLES * 0.025)], drawn[int(RESAMPLES * 0.975)]
