"""The statistics on synthetic data with a known effect: they find 1 % and do not find 0 %."""

from __future__ import annotations

import math
import random
import statistics
import time

import pytest

from pfsbench import stats
from pfsbench.model import Sample

DRIFT, NOISE = 0.12, 0.03


def windows(effect: float, rounds: int, seed: int) -> list[Sample]:
    """Two variants under a slow drift of 12 %, windows with 3 % noise, now and then a stall."""
    rng = random.Random(seed)
    phase = rng.random() * 6.28
    made = []
    for number in range(rounds):
        for order, (name, factor) in enumerate((("base", 1.0), ("ours", 1.0 - effect))):
            now = (2 * number + order) / (2 * rounds)
            speed = 1e6 * factor * (1 + DRIFT / 2 * math.sin(phase + 6.28 * 1.5 * now))
            speed *= 1 + rng.gauss(0, NOISE)
            if rng.random() < 0.01:
                speed *= 0.4
            made.append(Sample("cell", name, "throughput", number, order, speed * 0.25, 0.25))
    return made


def found(effect: float, rounds: int, seed: int) -> stats.Comparison:
    comparison = stats.compare(windows(effect, rounds, seed), "cell", "ours", "base")
    assert comparison is not None
    return comparison


def test_finds_one_percent() -> None:
    for seed in range(40):
        comparison = found(0.01, 1000, seed)
        assert comparison.distinguishable and comparison.ratio < 1, seed
        assert comparison.high - comparison.low < 0.01, "+-0.5 % is what the targets need"


def test_the_interval_holds_the_truth() -> None:
    inside = sum(
        it.low <= 0.97 <= it.high for it in (found(0.03, 300, seed) for seed in range(200))
    )
    assert 178 <= inside <= 199  # 95 % of 200 is 190; +-4 standard deviations


def test_does_not_find_nothing() -> None:
    wrong = sum(found(0.0, 300, seed).distinguishable for seed in range(300))
    assert 2 <= wrong <= 30  # about 5 % of 300; 30 is 4 standard deviations above


def unlucky(seed: int, blocks: int = 8, rounds: int = 15) -> list[Sample]:
    """Equal servers, each with luck of 1.5 % that a restart changes."""
    rng, made = random.Random(seed), []
    for block in range(blocks):
        luck = {"base": 1 + rng.gauss(0, 0.015), "ours": 1 + rng.gauss(0, 0.015)}
        for number in range(block * rounds, (block + 1) * rounds):
            for order, (name, factor) in enumerate(luck.items()):
                speed = 1e6 * factor * (1 + rng.gauss(0, NOISE))
                made.append(Sample("cell", name, "throughput", number, order, speed * 0.25, 0.25))
    return made


def test_luck_of_a_server_is_in_the_interval_of_blocks() -> None:
    def wrong(per_block: int) -> int:
        found = (
            stats.compare(unlucky(seed), "cell", "ours", "base", "", per_block)
            for seed in range(60)
        )
        return sum(it is not None and it.distinguishable for it in found)

    assert wrong(15) <= 10  # 8 blocks: somewhat more than 5 %
    assert wrong(0) > 10  # what it would be without


def test_drift_does_not_tell_apart_what_was_measured_in_one_round() -> None:
    """Compared without regard to rounds the same data spread twice as wide."""
    comparison = found(0.0, 300, 1)
    samples = windows(0.0, 300, 1)
    groups = [[it.value for it in samples if it.variant == name] for name in ("ours", "base")]
    _, low, high = stats.pooled_ratio(*groups)
    assert high - low > 1.3 * (comparison.high - comparison.low)


def test_bootstrap_equals_drawing_one_by_one() -> None:
    rng = random.Random(5)
    for count in (9, 10, 51, 100):
        values = [rng.gauss(0, 1) for _ in range(count)]
        drawn = sorted(statistics.median(rng.choices(values, k=count)) for _ in range(4000))
        low, high = stats.interval(values, 4000)
        width = drawn[3900] - drawn[100]
        assert low == pytest.approx(drawn[100], abs=0.15 * width)
        assert high == pytest.approx(drawn[3900], abs=0.15 * width)


def test_fast_enough() -> None:
    rng = random.Random(1)
    values = [rng.gauss(1, 0.03) for _ in range(1000)]
    began = time.process_time()
    stats.interval(values)
    assert time.process_time() - began < 1.0


def test_median_and_mad() -> None:
    assert stats.median([3, 1, 2]) == 2
    assert stats.median([]) == 0
    rng = random.Random(2)
    values = [rng.gauss(10, 2) for _ in range(4000)]
    assert stats.mad(values) == pytest.approx(2, rel=0.1)


def test_outliers_are_marked() -> None:
    values = [1.0, 1.01, 0.99, 1.02, 0.98, 5.0]
    assert stats.outliers(values) == [5]
    assert stats.outliers([1.0] * 5) == []


def test_mann_whitney() -> None:
    rng = random.Random(3)
    a = [rng.gauss(0, 1) for _ in range(60)]
    assert stats.mann_whitney(a, [x + 1 for x in a]) < 0.001
    assert stats.mann_whitney(a, list(a)) > 0.9
    assert stats.mann_whitney([1, 1, 1], [1, 1]) == 1.0
    wrong = sum(
        stats.mann_whitney([rng.random() for _ in range(30)], [rng.random() for _ in range(30)])
        < 0.05
        for _ in range(400)
    )
    assert 6 <= wrong <= 36


def test_a_single_round_has_no_width() -> None:
    comparison = found(0.0, 1, 1)
    assert comparison.low == comparison.high == comparison.ratio


def test_interval_is_repeatable() -> None:
    assert found(0.01, 50, 9) == found(0.01, 50, 9)
