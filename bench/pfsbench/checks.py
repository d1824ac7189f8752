"""Rules that say when a result must not be believed, and when to be careful. Pure.

Invalid: events were lost, something else used the loopback interface, the run ended early.
A warning: the host took processor time, other load, too few rounds, an interval too wide to decide,
drift, instability. Warnings come with advice; nothing is dropped or hidden.
"""

from __future__ import annotations

from collections import defaultdict

from .model import Comparison, Result, Sample
from .stats import compare_cells, mad, median, outliers

STEAL_LIMIT = 0.02
FEW_ROUNDS = 30
WIDE = 0.01  # half width of a throughput ratio's interval
DRIFT_LIMIT = 0.10
UNSTABLE = 0.10
FOREIGN_BYTES = 0.005  # of what the load moves
# counters of something else than events: lock waits whose blocker could not be asked for
NO_EVENTS = ("performance_schema_lock_blockers_lost",)
ROUNDS_METHODS = ("windows", "read", "loop")


def check_result(result: Result) -> tuple[list[str], dict[str, str]]:
    """Warnings, and why cells (`CELL`) or variants (`CELL/VARIANT`) are invalid."""
    invalid = {**result.invalid, **lost(result), **foreign(result)}
    comparisons = compare_cells(result, invalid)
    warnings = [
        *busy(result),
        *few_rounds(result, comparisons),
        *wide(comparisons),
        *restless(result),
    ]
    return warnings, invalid


def lost(result: Result) -> dict[str, str]:
    """Variants that lost events: what was measured is not what it says."""
    found = {}
    for cell, variants in result.losses.items():
        for variant, counters in variants.items():
            events = [f"{n} {name}" for name, n in counters.items() if name not in NO_EVENTS]
            if events:
                found[f"{cell}/{variant}"] = "lost " + ", ".join(events)
    return found


def foreign(result: Result) -> dict[str, str]:
    """Cells whose loopback interface carried someone else's traffic."""
    found = {}
    for cell, variants in result.measures.items():
        for facts in variants.values():
            idle = facts.get("idle_bytes_per_second", 0)
            load = facts.get("tps", 0) * facts.get("bytes_per_transaction", 0)
            if load and idle > FOREIGN_BYTES * load:
                found[cell] = f"{idle:.0f} B/s of others on the loopback interface, {load:.0f} ours"
    return found


def busy(result: Result) -> list[str]:
    """Processor time taken by the host; load before the start."""
    found = []
    steals: dict[str, list[float]] = defaultdict(list)
    for sample in result.samples:
        steals[sample.cell].append(sample.steal)
    for cell, values in steals.items():
        mean = sum(values) / len(values)
        if mean > STEAL_LIMIT:
            found.append(f"{cell}: the host took {100 * mean:.1f} % of processor time")
    load, cores = result.machine.get("load1", 0.0), result.machine.get("cores") or 1
    if load > 0.5 * cores:
        found.append(f"load was {load:.1f} on {cores} cores at the start: end what else runs")
    return found


def few_rounds(result: Result, comparisons: list[Comparison]) -> list[str]:
    """Cells with too few rounds for an interval to mean much."""
    kinds = {
        cell["name"]: (cell.get("method") or result.plan["method"])["kind"]
        for cell in result.plan["cells"]
    }
    cells = {
        found.cell: found.rounds
        for found in comparisons
        if found.rounds < FEW_ROUNDS and kinds.get(found.cell) in ROUNDS_METHODS
    }
    return [f"{cell}: only {count} rounds; take more (--rounds)" for cell, count in cells.items()]


def wide(comparisons: list[Comparison]) -> list[str]:
    """Throughput ratios that cannot decide about 1 %, with the rounds that could."""
    found = []
    for it in comparisons:
        half = (it.high - it.low) / 2
        if it.quantity == "throughput" and half > WIDE:
            wanted = round(it.rounds * (half / (WIDE / 2)) ** 2, -1)
            found.append(
                f"{it.cell}/{it.variant}: the interval is +-{100 * half:.1f} %; about"
                f" {wanted:.0f} rounds would give +-{50 * WIDE:.1f} %"
            )
    return found


def restless(result: Result) -> list[str]:
    """Baselines that drifted from first to last third, or scatter widely."""
    baselines = {cell["name"]: cell["baseline"] for cell in result.plan["cells"]}
    series: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in result.samples:
        if not sample.warmup and baselines.get(sample.cell) == sample.variant:
            series[sample.cell, sample.quantity].append(sample)
    found = []
    for (cell, quantity), samples in series.items():
        values = [sample.value for sample in samples]
        third = len(values) // 3
        centre = median(values)
        if third < 3 or centre == 0:
            continue
        drift = median(values[-third:]) / median(values[:third]) - 1
        if abs(drift) > DRIFT_LIMIT:
            found.append(f"{cell}: {quantity} of the baseline drifted by {100 * drift:+.0f} %")
        if mad(values) / centre > UNSTABLE:
            marked = len(outliers(values))
            found.append(
                f"{cell}: {quantity} of the baseline scatters by {100 * mad(values) / centre:.0f} %"
                f" ({marked} outliers): compare within rounds only"
            )
    return found
