"""The command line: `make fuzz FUZZ_ARGS="..."`; see README.md."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .runner import Finding, Pair
from .script import Script
from .sequences import sequence
from .shrink import smallest


def report(pair: Pair, script: Script, finding: Finding, options: argparse.Namespace) -> None:
    """Print a finding and the script that shows it, as small as it could be made."""
    print(f"*** {script.title}: {finding.text(script)}", flush=True)
    if not options.no_shrink:
        small = smallest(script, pair.run, options.shrink_seconds)
        if small:
            script = small
        else:
            print("(not again when run by itself: not shrunk)")
    print(script.text(), flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        name = script.title.split(",")[0].replace(" ", "_") + ".fuzz"
        (options.out / name).write_text(script.text())


def main() -> int:
    """Exit code 1 when anything was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--pg-config", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--replay", type=Path, nargs="*", help="run these scripts instead")
    parser.add_argument(
        "--plain", action="store_true", help="no library in either server: proves the fuzzer itself"
    )
    parser.add_argument("--print", action="store_true", help="print the sequences, run nothing")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--shrink-seconds", type=float, default=60)
    parser.add_argument("--stop-after", type=int, default=20, metavar="FINDINGS")
    parser.add_argument("--out", type=Path, help="folder for the scripts of findings")
    options = parser.parse_args()
    scripts = (
        [Script.read(path) for path in options.replay]
        if options.replay
        else (sequence(options.seed, options.first + i) for i in range(options.count))
    )
    if options.print:
        for script in scripts:
            print(script.text())
        return 0
    options.no_shrink |= bool(options.replay)
    print(f"seed {options.seed}", flush=True)
    found = done = 0
    with Pair(options.pg_config, options.plain) as pair:
        started = last = time.monotonic()
        for script in scripts:
            finding = pair.run(script)
            done += 1
            if finding:
                found += 1
                report(pair, script, finding, options)
                if found == options.stop_after:
                    break
            if time.monotonic() > last + 60:
                last = time.monotonic()
                print(f"... {done} sequences, {found} findings", flush=True)
        rate = done / (time.monotonic() - started)
    print(f"{done} sequences, {found} findings, {rate:.1f} a second (seed {options.seed})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
