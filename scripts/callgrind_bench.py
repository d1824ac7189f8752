#!/usr/bin/env python3
"""Instructions per event of the core's micro-benchmarks, counted by valgrind's callgrind.

    callgrind_bench.py [--check | --update | --record] PROGRAM...

A benchmark program prints its event names for `PROGRAM list` and runs one for
`PROGRAM NAME COUNT`. Each runs with two counts; the difference over the difference is the cost of
one event: start-up cancels out. --check fails when an event costs more than 5 % above
tests/bench/ceilings.json or has no ceiling; --update rewrites that file; --record writes a line for
this commit to bench/results/history.ndjson (`python -m pfsbench history` shows it), in place of one
that this commit has there already. Numbers depend on the compiler: see `compiler` in both.
Called by the bench-core targets of dev.mk. Without valgrind --check is an error, said plainly.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from callgrind import BenchError, Profile, compiler, need_programs, output_of, total

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = ROOT / "tests" / "bench" / "ceilings.json"
HISTORY = ROOT / "bench" / "results" / "history.ndjson"
MEASURED = ("src/core", "tests/bench")  # what the counts depend on; changed files make a line dirty
COUNTS = (1_000, 11_000)
TOLERANCE = 1.05
SLACK = 1.0  # instructions; very short events would else fail by rounding


def instructions(program: str, event: str, count: int) -> int:
    """Instructions of one whole run."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/callgrind.out"
        output_of(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}",
                   program, event, str(count)])  # fmt: skip
        with open(out) as lines:
            return int(total(Profile(lines).objects().values()).instructions)


def per_event(program: str, event: str) -> float:
    """Instructions of one event."""
    small, large = (instructions(program, event, count) for count in COUNTS)
    return round((large - small) / (COUNTS[1] - COUNTS[0]), 1)


def measure(programs: list[str]) -> dict[str, float]:
    """All events of all programs, two at a time."""
    jobs = [(path, event) for path in programs for event in output_of([path, "list"]).split()]
    with ThreadPoolExecutor(max_workers=2) as pool:
        costs = pool.map(lambda job: per_event(*job), jobs)
        return {f"{Path(path).name}/{event}": cost for (path, event), cost in zip(jobs, costs)}


def judge(costs: dict[str, float]) -> int:
    """Compare with the ceilings; returns how many events fail."""
    ceilings = json.loads(CEILINGS.read_text())["instructions"] if CEILINGS.exists() else {}
    failed = 0
    for name, cost in costs.items():
        ceiling = ceilings.get(name)
        good = ceiling is not None and cost <= max(ceiling * TOLERANCE, ceiling + SLACK)
        failed += not good
        print(f"{'ok' if good else 'ABOVE':6} {name:40} {cost:10.1f}  ceiling {ceiling}")
    for name in ceilings.keys() - costs.keys():
        print(f"GONE   {name}: in ceilings.json, but no benchmark has it")
        failed += 1
    return failed


def commit_facts() -> dict[str, Any]:
    """This commit, its date, and whether what is measured differs from it."""
    git = ["git", "-C", str(ROOT)]
    commit, date = output_of([*git, "show", "-s", "--format=%H %cI", "HEAD"]).split()
    dirty = bool(output_of([*git, "status", "--porcelain", "--", *MEASURED]).strip())
    return {"commit": commit, "dirty": dirty, "date": date}


def record(costs: dict[str, float], facts: dict[str, Any]) -> None:
    """Write these costs as the line of this commit and dirty flag; the file is replaced at once."""
    new = {**facts, "compiler": f"gcc {compiler()} -O2", "instructions": costs}
    old = HISTORY.read_text().splitlines() if HISTORY.exists() else []
    lines = [json.loads(line) for line in old if line.strip()]
    same = [(line["commit"], line["dirty"]) for line in lines]
    place = (new["commit"], new["dirty"])
    if place in same:
        lines[same.index(place)] = new
    else:
        lines.append(new)
    HISTORY.parent.mkdir(parents=True, exist_ok=True)
    written = HISTORY.with_suffix(".new")
    written.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    written.replace(HISTORY)


def main() -> int:
    """Parse the command line; see the module's comment."""
    parser = argparse.ArgumentParser(description="instructions per event")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    if not options.programs:
        print("no benchmark found")
        return 0
    try:
        need_programs("valgrind")
        facts = commit_facts() if options.record else {}
        costs = measure(options.programs)
    except BenchError as error:
        print(f"callgrind_bench: {error}", file=sys.stderr)
        return 1
    if options.check:
        return 1 if judge(costs) else 0
    for name, cost in costs.items():
        print(f"{name:40} {cost:10.1f} instructions per event")
    if options.update:
        ceilings = {"compiler": f"gcc {compiler()} -O2", "instructions": costs}
        CEILINGS.write_text(json.dumps(ceilings, indent=2, sort_keys=True) + "\n")
    if options.record:
        record(costs, facts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
