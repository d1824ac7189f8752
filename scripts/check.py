#!/usr/bin/env python3
"""Run every test stage and sum up; called by `make check`, which has installed the extension.

Each stage is a make target with a time limit; its output is shown as it comes and its closing lines
are counted. PG_CONFIG in the environment names the server. The last line is `N passed, N failed`;
the exit code is 1 when anything failed. Only the standard library is used.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[1]
MAKE_VARIABLES = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # the calling make's: not for ours
Counts = "tuple[int, int]"


def last_number(pattern: str, text: str) -> int:
    """The number in the last match, or 0."""
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


def count_prove(text: str) -> Counts:
    """prove's `Tests=35`; what failed of it, program by program (one that died counts as one).

    run_unit.sh's own loop says `Tests=35, 3 subtests failed`, which are not among the 35.
    """
    good = last_number(r"Tests=(\d+)", text)
    loop = last_number(r"^Tests=\d+, (\d+) subtests failed", text)
    bad = [int(number) for number in re.findall(r"^\S+ +\(Wstat: .* Failed: (\d+)\)", text, re.M)]
    return good - sum(bad), loop + sum(max(number, 1) for number in bad)


def count_pg_regress(text: str) -> Counts:
    """`ok 1 - name` (16 and later), or `test name ... ok` and its parallel form (15)."""
    good = len(re.findall(r"^ok \d+ |^(?:test)?\s+\S+\s+\.\.\. ok\b", text, re.MULTILINE))
    bad = len(re.findall(r"^not ok \d+ |^(?:test)?\s+\S+\s+\.\.\. FAILED\b", text, re.MULTILINE))
    return good, bad


def count_pytest(text: str) -> Counts:
    """pytest's closing lines: of a second run of what failed, what passed comes on top."""
    lines = [line for line in text.splitlines() if re.search(r" in [\d.]+s", line)]
    good = sum(last_number(r"(\d+) passed", line) for line in lines)
    return good, sum(
        last_number(rf"(\d+) {word}", line) for line in lines[-1:] for word in ("failed", "errors?")
    )


def count_expected_failures(text: str) -> int:
    """Tests of pytest that are known to fail: they are shown, and neither passed nor failed."""
    return last_number(r"(\d+) xfailed\b.* in [\d.]+s", text)


def failed_programs(text: str) -> list[str]:
    """Those that prove names: CI shows the end of its output only."""
    return re.findall(r"^(\S+) +\(Wstat: ", text, re.MULTILINE)


def count_one(text: str) -> Counts:
    """A stage that is one check: its exit code decides."""
    return 1, 0


@dataclass(frozen=True)
class Stage:
    """A make target, how its output is counted, and how long it may take."""

    target: str
    count: Callable[[str], Counts]
    limit_s: int
    wanted: str  # nothing to run, and nothing counted, while no such file exists


STAGES = (
    Stage("unit", count_prove, 200, "tests/unit/test_*.c"),
    Stage("unit-asan", count_prove, 300, "tests/unit/test_*.c"),
    Stage("unit-tsan", count_prove, 300, "tests/unit/test_*.c"),
    Stage("regress", count_pg_regress, 300, "tests/regress/schedule"),
    Stage("py", count_pytest, 1300, "tests/py/test_*.py"),
    Stage("bench-test", count_pytest, 400, "bench/tests/test_*.py"),
    Stage("gen-check", count_one, 120, "src/gen/*.c"),
    Stage("compile-check", count_one, 200, "src/pg/*.c"),
    Stage("bench-core-check", count_one, 200, "tests/bench/bench_*.c"),
)


def run_stage(stage: Stage) -> tuple[int, str]:
    """Run one target; returns its exit code and output. Past the limit it is ended: code 124."""
    command = ["make", "-s", "--no-print-directory", f"-j{os.cpu_count() or 1}", stage.target]
    env = {name: text for name, text in os.environ.items() if name not in MAKE_VARIABLES}
    child = subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    late = threading.Event()

    def end() -> None:
        late.set()
        os.killpg(child.pid, signal.SIGTERM)

    timer = threading.Timer(stage.limit_s, end)
    timer.start()
    lines = []
    try:
        assert child.stdout
        for line in child.stdout:
            lines.append(line)
            print(line, end="", flush=True)
        code = child.wait()
    except BaseException:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()
        raise
    finally:
        timer.cancel()
    return (124 if late.is_set() else code), "".join(lines)


def main() -> int:
    """Run the stages named as arguments, or all."""
    names = sys.argv[1:]
    total = [0, 0]
    expected_failures = 0
    table = []
    for stage in STAGES:
        if names and stage.target not in names:
            continue
        if not list(ROOT.glob(stage.wanted)):
            table.append(f"{stage.target:18} nothing to run ({stage.wanted})")
            continue
        print(f"=== {stage.target}", flush=True)
        started = time.monotonic()
        code, output = run_stage(stage)
        good, bad = stage.count(output)
        if code != 0 and stage.count is count_one:
            good = 0
        if code != 0 and bad == 0:
            bad = 1
        if code == 0 and good == 0:
            bad = bad or 1  # a stage that ran nothing did not pass
        seconds = time.monotonic() - started
        note = "  (ended: too slow)" if code == 124 else ""
        known = count_expected_failures(output)
        expected_failures += known
        note += f"  ({known} expected failures)" if known else ""
        table.append(f"{stage.target:18} {good:5} passed {bad:5} failed {seconds:7.1f} s{note}")
        note += "".join(f"  {name}" for name in failed_programs(output))
        total[0] += good
        total[1] += bad
    server = os.environ.get("PG_CONFIG", "")
    print(f"=== summary for {server}")
    print("\n".join(table))
    print(f"expected failures: {expected_failures}")
    print(f"{total[0]} passed, {total[1]} failed", flush=True)
    return 1 if total[1] else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
