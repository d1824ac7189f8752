"""Judging samples: medians, bootstrap intervals, comparisons. Pure, and repeatable by fixed seeds.

A comparison is of rounds: within a round all variants are measured close in time, so what drifts
slowly touches them alike. The ratio is the median over rounds of variant / baseline, its interval
the 2.5 and 97.5 percentiles of that median over resampled rounds.

Two equal servers differ by a percent or two for as long as they run: where their memory lies, which
processor their sessions share. A plan that compares servers starts them anew a few times; then whole
blocks between restarts are resampled, and the rounds within them, so that the interval contains that
luck (of few blocks it still is a little too narrow).
"""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from .model import Comparison, Result, Sample

RESAMPLES = 2000
OUTLIER_Z = 3.5


def median(values: Sequence[float]) -> float:
    """The median; 0 of nothing."""
    return statistics.median(values) if values else 0.0


def mad(values: Sequence[float]) -> float:
    """Median absolute deviation from the median, scaled to a standard deviation of normal noise."""
    centre = median(values)
    return 1.4826 * median([abs(value - centre) for value in values])


def outliers(values: Sequence[float]) -> list[int]:
    """Where values are whose modified z-score is above 3.5; they are marked, never dropped."""
    centre, spread = median(values), mad(values)
    if spread == 0:
        return []
    return [i for i, value in enumerate(values) if abs(value - centre) / spread > OUTLIER_Z]


def interval(values: Sequence[float], resamples: int = RESAMPLES) -> tuple[float, float]:
    """Bootstrap 95 % interval of the median; both ends are the value itself for a single one."""
    if len(values) < 2:
        return (values[0], values[0]) if values else (0.0, 0.0)
    rng, count = random.Random(1), len(values)
    ordered = sorted(values)
    medians = sorted(resampled_median(ordered, count, rng) for _ in range(resamples))
    return medians[int(resamples * 0.025)], medians[int(resamples * 0.975)]


def block_rounds(rounds: int, restarts: int) -> int:
    """Rounds between two restarts."""
    return max(1, math.ceil(rounds / (restarts + 1)))


def block_interval(
    blocks: Sequence[Sequence[float]], resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Bootstrap 95 % interval of the median over blocks: blocks are drawn, then values in each."""
    if len(blocks) < 2:
        return interval(blocks[0] if blocks else ())
    rng = random.Random(1)
    medians = sorted(
        statistics.median(
            value
            for block in rng.choices(blocks, k=len(blocks))
            for value in rng.choices(block, k=len(block))
        )
        for _ in range(resamples)
    )
    return medians[int(resamples * 0.025)], medians[int(resamples * 0.975)]


def resampled_median(ordered: Sequence[float], count: int, rng: random.Random) -> float:
    """The median of `count` draws with replacement from ordered values.

    Drawing is by rank, so the middle draws are found among uniform numbers, whose order statistics
    are Beta distributed: exact, and 1,000 values cost no more than 10.
    """
    middle = (count + 1) // 2
    first = rng.betavariate(middle, count + 1 - middle)
    low = ordered[int(first * count)]
    if count % 2:
        return low
    rest = count - middle  # the next larger one: the least of `rest` uniforms above the first
    second = first + (1 - first) * (1 - (1 - rng.random()) ** (1 / rest))
    return (low + ordered[min(count - 1, int(second * count))]) / 2


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p-value that a and b come from one distribution (normal approximation, ties)."""
    ranks, ties = ranked([*a, *b])
    n, m = len(a), len(b)
    if not n or not m:
        return 1.0
    u = sum(ranks[:n]) - n * (n + 1) / 2
    total = n + m
    variance = n * m / 12 * (total + 1 - ties / max(1, total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = abs(u - n * m / 2) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def ranked(values: Sequence[float]) -> tuple[list[float], float]:
    """Ranks from 1, equal values sharing theirs, and the sum of t^3 - t over ties."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, ties, start = [0.0] * len(values), 0.0, 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2 + 1
        ties += (end - start + 1) ** 3 - (end - start + 1)
        start = end + 1
    return ranks, ties


def by_round(samples: Sequence[Sample], variant: str) -> dict[int, float]:
    """Value by round of one variant's samples; several in a round (reads) give their median."""
    found: dict[int, list[float]] = defaultdict(list)
    for sample in samples:
        if sample.variant == variant and not sample.warmup:
            found[sample.round].append(sample.value)
    return {number: median(values) for number, values in found.items()}


def compare(
    samples: Sequence[Sample], cell: str, variant: str, baseline: str, invalid: str = "",
    per_block: int = 0,
) -> Comparison | None:  # fmt: skip
    """One variant against the baseline, by their samples of one quantity; None without rounds.

    per_block: rounds between restarts of the servers; 0 = there were none.
    """
    ours, theirs = by_round(samples, variant), by_round(samples, baseline)
    both = sorted(number for number in ours.keys() & theirs.keys() if theirs[number] > 0)
    if not both:
        return None
    ratios = [ours[number] / theirs[number] for number in both]
    added = [ours[number] - theirs[number] for number in both]
    blocks: dict[int, list[float]] = defaultdict(list)
    for number, ratio in zip(both, ratios, strict=True):
        blocks[number // per_block if per_block else 0].append(ratio)
    low, high = block_interval(list(blocks.values()))
    added_low, added_high = interval(added)
    return Comparison(
        cell=cell, variant=variant, quantity=samples[0].quantity, ratio=median(ratios), low=low,
        high=high, rounds=len(both), median=median([ours[number] for number in both]),
        baseline_median=median([theirs[number] for number in both]), invalid=invalid,
        added=median(added), added_low=added_low, added_high=added_high,
        outliers=len(outliers(ratios)),
    )  # fmt: skip


def pooled_ratio(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Ratio of the two medians with its bootstrap interval: for samples that are not in rounds."""
    rng = random.Random(1)
    a, b = sorted(ours), sorted(theirs)
    ratios = sorted(
        resampled_median(a, len(a), rng) / resampled_median(b, len(b), rng)
        for _ in range(RESAMPLES)
    )
    ratio = median(a) / median(b)
    return ratio, ratios[int(RESAMPLES * 0.025)], ratios[int(RESAMPLES * 0.975)]


def compare_cells(result: Result, invalid: Mapping[str, str] | None = None) -> list[Comparison]:
    """Every variant of every cell against its baseline, in the plan's order, by quantity."""
    reasons = {**result.invalid, **(invalid or {})}
    groups: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in result.samples:
        groups[sample.cell, sample.quantity].append(sample)
    found = []
    for cell in result.plan["cells"]:
        method = cell.get("method") or result.plan["method"]
        restarts = method.get("restarts", 0)
        per_block = block_rounds(method["rounds"], restarts) if restarts else 0
        for (name, _), samples in groups.items():
            if name != cell["name"]:
                continue
            for variant in cell["variants"]:
                reason = reasons.get(f"{name}/{variant['name']}") or reasons.get(
                    f"{name}/{cell['baseline']}", reasons.get(name, "")
                )
                if variant["name"] != cell["baseline"]:
                    found.append(
                        compare(
                            samples, name, variant["name"], cell["baseline"], reason, per_block
                        )
                    )
    return [comparison for comparison in found if comparison]
