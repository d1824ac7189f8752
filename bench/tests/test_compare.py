"""compare A B on synthetic results with a known difference."""

from __future__ import annotations

import dataclasses

from pfsbench.compare import changes, compare_results
from pfsbench.model import Result

from synthetic import cell, result, samples, variant


def one(effect: float, name: str = "rw") -> Result:
    """A result whose variant costs 1 - effect; the effect decides the noise, too."""
    place = cell("rw", {"threads": 4}, [variant("absent"), variant("default")])
    noisy = {**place, "name": f"rw {effect}"}
    taken = samples(noisy, {"absent": 1.0, "default": effect}, 600)
    taken = [dataclasses.replace(sample, cell="rw") for sample in taken]
    return result(name, "Title", [place], taken)


def test_finds_one_percent() -> None:
    (found,) = changes(one(0.99), one(0.98))
    assert found.low < 0.98 / 0.99 < found.high
    assert found.high < 1
    assert found.verdict.endswith(" %")


def test_does_not_find_what_is_not_there() -> None:
    (found,) = changes(one(0.99), one(0.990001))
    assert found.verdict == "not distinguishable"


def test_warns_of_another_machine_plan_and_load() -> None:
    a, b = one(0.99), one(0.98, "other")
    b = dataclasses.replace(b, machine={**b.machine, "cpu": "Another CPU"})
    b.plan["cells"][0]["workload"] = {"program": "pgbench"}
    b.plan["cells"].append(cell("more", {}, [variant("absent")]))
    text = compare_results(a, b)
    for part in ("other machine: cpu", "other plan: rw, other", "cell rw: other workload",
                 "cell more is only in B", "| rw | default | throughput |"):  # fmt: skip
        assert part in text


def test_invalid_in_one_is_invalid() -> None:
    b = dataclasses.replace(one(0.98), losses={"rw": {"default": {"events_lost": 3}}})
    (found,) = changes(one(0.99), b)
    assert found.verdict == "invalid: lost 3 events_lost"


def test_nothing_in_common() -> None:
    place = cell("other", {}, [variant("absent"), variant("default")])
    b = result("rw", "T", [place], samples(place, {"absent": 1, "default": 1}, 3))
    assert "no variant in common" in compare_results(one(0.99), b)
