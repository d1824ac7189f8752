"""What the counts of instructions share: running programs, and reading callgrind's files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from typing import NamedTuple

TIMEOUT_S = 120


class BenchError(RuntimeError):
    """A benchmark or valgrind failed, or a program is missing."""


class Costs(NamedTuple):
    """Instructions, and misses of the first-level caches for instructions and for data."""

    instructions: float
    i1: float
    d1: float

    def plus(self, other: Costs, times: float = 1) -> Costs:
        """Each with so many times the other's."""
        return Costs(*(mine + times * its for mine, its in zip(self, other)))

    def over(self, count: int) -> Costs:
        """Each divided by count, to a tenth."""
        return Costs(*(round(value / count, 1) for value in self))


NOTHING = Costs(0, 0, 0)


def total(all_costs: Iterable[Costs]) -> Costs:
    """The sum."""
    result = NOTHING
    for costs in all_costs:
        result = result.plus(costs)
    return result


def need_programs(*names: str) -> None:
    """BenchError that says what to install when one is missing."""
    for name in names:
        if not shutil.which(name):
            raise BenchError(f"{name} is not installed (Debian: apt-get install {name})")


def output_of(
    command: list[str], *, env: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S
) -> str:
    """Run a program; BenchError with its output when it fails or does not end."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout_s,
            stdin=subprocess.DEVNULL, env=env, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BenchError(f"{' '.join(command)}: no end in {timeout_s:.0f} s") from None
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def compiler() -> str:
    """What the numbers depend on."""
    return output_of(["gcc", "-dumpfullversion"]).strip()


class Profile:
    """What callgrind counted in one process, from the lines of its file.

    A name is written once, with a number that stands for it from then on. The line below `calls=`
    is what the callee cost with all that it called, and stands with each of them too. Zeros at the
    end of a line are left out.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._events: list[str] = []
        self._objects: dict[str, list[int]] = {}
        self._calls: dict[str, list[int]] = {}
        self._read(lines)

    def objects(self) -> dict[str, Costs]:
        """What the code of each program and library cost, by its path."""
        return {path: self._costs(sums) for path, sums in self._objects.items()}

    def calls(self, function: str) -> Costs:
        """What calls of a function cost, with all that it called."""
        return self._costs(self._calls.get(function, []))

    def _read(self, lines: Iterable[str]) -> None:
        names: dict[tuple[str, str], str] = {}
        sums: list[int] = []
        called: list[int] = []
        of_callee = False
        for line in lines:
            if line[:1].isdigit() or line[:1] in ("+", "-", "*"):
                for place, value in enumerate(line.split()[1:]):
                    (called if of_callee else sums)[place] += int(value)
                of_callee = False
            elif line.startswith("calls="):
                of_callee = True
            elif found := re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?", line):
                callee, kind, number, name = found.groups()
                if name is not None:
                    names[kind, number] = name
                if callee and kind == "fn":
                    called = self._sums(self._calls, names[kind, number])
                elif not callee and kind == "ob":
                    sums = self._sums(self._objects, names[kind, number])
            elif line.startswith("events:"):
                self._events = line.split()[1:]

    def _sums(self, of: dict[str, list[int]], name: str) -> list[int]:
        return of.setdefault(name, [0] * len(self._events))

    def _costs(self, sums: list[int]) -> Costs:
        by_name = dict(zip(self._events, sums))
        return Costs(
            by_name.get("Ir", 0),
            by_name.get("I1mr", 0),
            by_name.get("D1mr", 0) + by_name.get("D1mw", 0),
        )
