"""Makes a failing script small: leaves out steps as long as the two servers still part."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .runner import Finding
from .script import Script


def without(steps: list[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """Delta debugging: halves, quarters, ... are left out while the rest still fails."""
    size = max(1, len(steps) // 2)
    while True:
        at = 0
        removed = False
        while at < len(steps):
            rest = steps[:at] + steps[at + size :]
            if fails(rest):
                steps, removed = rest, True
            else:
                at += size
        if size > 1:
            size = size // 2
        elif not removed:
            return steps


def simpler(steps: list[Any]) -> list[tuple[int, Any]]:
    """Steps with something left out inside: statements of a query, rounds of a repetition."""
    found: list[tuple[int, Any]] = []
    for number, step in enumerate(steps):
        if step[0] == "query" and "; " in step[1]:
            parts = step[1].split("; ")
            rests = (parts[:i] + parts[i + 1 :] for i in range(len(parts)))
            found += [(number, ["query", "; ".join(rest)]) for rest in rests]
        elif step[0] == "switch" and len(step) > 2:
            found += [(number, step[:i] + step[i + 1 :]) for i in range(1, len(step))]
        elif step[0] == "repeat" and step[1] > 1:
            found.append((number, ["repeat", step[1] // 2, step[2]]))
    return found


def shrink(script: Script, fails: Callable[[Script], bool], seconds: float = 60) -> Script:
    """The smallest script that was found in this time; `fails` runs one."""
    deadline = time.monotonic() + seconds

    def still(steps: list[Any], mode: str = script.mode) -> bool:
        return time.monotonic() < deadline and fails(Script(mode, steps))

    steps = without(script.steps, still)
    again = True
    while again:
        again = False
        for number, step in simpler(steps):
            shorter = [*steps[:number], step, *steps[number + 1 :]]
            if still(shorter):
                steps, again = shorter, True
                break
    mode = "default" if script.mode != "default" and still(steps, "default") else script.mode
    return Script(mode, steps, script.title)


def smallest(
    script: Script, run: Callable[[Script], Finding | None], seconds: float
) -> Script | None:
    """The script made small, with its finding in its title; None: it does not fail again.

    What depends on freed memory may not fail each time.
    """

    def fails(tried: Script, tries: int) -> Finding | None:
        return next((found for found in (run(tried) for _ in range(tries)) if found), None)

    tries = next((number for number in (1, 2, 5) if fails(script, number)), 0)
    if tries == 0:
        return None
    small = shrink(script, lambda tried: fails(tried, tries) is not None, seconds)
    finding = fails(small, 5)
    if finding is None:
        return None
    small.title = f"{script.title}, shrunk\n{finding.text(small)}"
    return small
