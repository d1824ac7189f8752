"""The command line: python -m pfsbench VERB. Parses, calls, prints; nothing else.

Exit codes: 0; 1 when a run failed or a result is invalid; 2 for a wrong command; 130 on Ctrl-C.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import signal
import sys
from pathlib import Path
from typing import Any

from .checks import check_result
from .executor import RealExecutor
from .model import BenchError, Plan, Result
from .plan import cell_method, cell_seconds, names, plan_seconds, read_plan
from .progress import Progress
from .runner import RunFailed, run_plan, save
from .servers import check_server, make_server
from .stats import compare_cells
from .workload import needed_program, program_path

RESULTS = Path(__file__).resolve().parents[1] / "results"
QUICK_ROUNDS = 3


class UsageError(BenchError):
    """What was asked for does not exist."""


def load_plan(options: argparse.Namespace) -> Plan:
    """The plan with --only, --rounds and --quick applied; UsageError when there is nothing left."""
    try:
        plan = read_plan(options.name)
    except BenchError as error:
        raise UsageError(str(error)) from None
    cells = tuple(cell for cell in plan.cells if fnmatch.fnmatch(cell.name, options.only))
    if not cells:
        known = ", ".join(cell.name for cell in plan.cells)
        raise UsageError(f"no cell of {plan.name} is like {options.only!r}; there are: {known}")
    plan = dataclasses.replace(plan, cells=cells)
    changed: dict[str, Any] = {"rounds": QUICK_ROUNDS, "warmup_s": 1.0} if options.quick else {}
    for key in ("rounds", "restarts", "warmup_s"):
        if getattr(options, key) is not None:
            changed[key] = getattr(options, key)
    if not changed:
        return plan
    return dataclasses.replace(
        plan,
        method=dataclasses.replace(plan.method, **changed),
        cells=tuple(
            dataclasses.replace(cell, method=dataclasses.replace(cell.method, **changed))
            if cell.method
            else cell
            for cell in cells
        ),
    )


def preflight(plan: Plan) -> None:
    """BenchError that says what to install, before anything is started."""
    for cell in plan.cells:
        if cell_method(plan, cell).kind not in ("loop", "callgrind"):
            program_path(needed_program(cell.workload))
        for variant in cell.variants:
            check_server(variant.server)


def duration(seconds: float) -> str:
    """E.g. `35 s` or `12 min`."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def show_plan(options: argparse.Namespace) -> int:
    """What a plan would do, and about how long it takes."""
    plan = load_plan(options)
    print(f"{plan.name}: {plan.title}\n{plan.question}")
    for cell in plan.cells:
        method, load = cell_method(plan, cell), cell.workload
        print(
            f"\n{cell.name}: {method.kind}, {method.rounds} rounds, {method.window_s} s;"
            f" {load.program} {load.script}, {load.threads} threads,"
            f" {load.tables} x {load.rows} rows; about {duration(cell_seconds(plan, cell))}"
        )
        servers = list(dict.fromkeys(variant.server for variant in cell.variants))
        for variant in cell.variants:
            base = "  (baseline)" if variant.name == cell.baseline else ""
            number = servers.index(variant.server) + 1
            print(f"  server {number}  {variant.name:20} {variant.what}{base}")
    print(f"\nabout {duration(plan_seconds(plan))} in all")
    return 0


def run(options: argparse.Namespace) -> int:
    """Carry out a plan; result.json, table and plot go to OUT, and the judgement is printed."""
    plan = load_plan(options)
    preflight(plan)
    out = options.out or RESULTS / datetime.date.today().isoformat() / plan.name
    progress = Progress(plan_seconds(plan))
    progress.say(f"{plan.name}: {plan.title}, about {duration(plan_seconds(plan))}")
    command = "python -m pfsbench " + " ".join(options.words)
    try:
        result = run_plan(plan, RealExecutor(make_server, progress.say), command, progress)
    except RunFailed as failed:
        path = save(failed.result, out)
        print(f"{failed}\nwhat was seen until then, marked invalid: {path}", file=sys.stderr)
        return 1
    finally:
        clean_up()
    save(result, out)
    print(write_report(out))
    return judge(result)


def clean_up() -> None:
    """Remove the private server trees."""
    from .postgres import remove_work

    remove_work()


def judge(result: Result) -> int:
    """Print warnings, then a line for each comparison; 1 when something is invalid."""
    warnings, invalid = check_result(result)
    for cell, reason in invalid.items():
        print(f"INVALID {cell}: {reason}")
    for warning in warnings:
        print(f"warning: {warning}")
    for found in compare_cells(result, invalid):
        verdict = "" if found.distinguishable else "  not distinguishable"
        amount = f"{found.added:+.1f} ns, " if found.quantity == "ns" else ""
        print(
            f"{found.cell:20} {found.variant:20} {found.quantity:10} {amount}"
            f"{found.ratio:.4f} [{found.low:.4f}, {found.high:.4f}] n={found.rounds}"
            f"{verdict}{'  INVALID' if found.invalid else ''}"
        )
    return 1 if invalid else 0


def check(options: argparse.Namespace) -> int:
    """Judge a stored result again."""
    return judge(load_result(options.result))


def load_result(path: Path) -> Result:
    """A result file, or the one in a folder."""
    return Result.load(path / "result.json" if path.is_dir() else path)


def show_list(_options: argparse.Namespace) -> int:
    """The plans, a line each."""
    for name in names():
        plan = read_plan(name)
        print(f"{name:12} {duration(plan_seconds(plan)):>8}  {plan.title}")
    return 0


def write_report(folder: Path) -> Path:
    """See report.py, which is slow to import: it draws."""
    from . import report as module

    return module.write_report(folder)


def report(options: argparse.Namespace) -> int:
    """Tables and plots of a results folder, made again from its raw samples."""
    print(write_report(options.folder))
    return 0


def page(options: argparse.Namespace) -> int:
    """Make the results in a page of the documentation anew."""
    from .page import filled

    options.page.write_text(filled(options.page))
    return 0


def compare(options: argparse.Namespace) -> int:
    """Two results side by side."""
    from . import compare as module

    print(module.compare_results(load_result(options.a), load_result(options.b)))
    return 0


def history(options: argparse.Namespace) -> int:
    """Instruction counts of the last commits, steps marked."""
    from .history import show_history

    print(show_history(options.count))
    return 0


def make_parser() -> argparse.ArgumentParser:
    """All verbs."""
    parser = argparse.ArgumentParser(prog="pfsbench", description="what performance_schema costs")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, function in (("plan", show_plan), ("run", run)):
        made = verbs.add_parser(verb, help=function.__doc__)
        made.add_argument("name", metavar="NAME", help="a plan, see `list`")
        made.add_argument("--only", default="*", metavar="GLOB", help="cells with such names")
        made.add_argument("--rounds", type=int, metavar="N", help="instead of the plan's")
        made.add_argument("--restarts", type=int, metavar="N", help="the same")
        made.add_argument("--warmup", type=float, dest="warmup_s", metavar="S", help="the same")
        made.add_argument("--quick", action="store_true", help="a few rounds, to see it work")
        made.set_defaults(function=function)
        if verb == "run":
            made.add_argument("--out", type=Path, help="folder for result.json")
    made = verbs.add_parser("check", help=check.__doc__)
    made.add_argument("result", type=Path)
    made.set_defaults(function=check)
    made = verbs.add_parser("report", help=report.__doc__)
    made.add_argument("folder", type=Path)
    made.set_defaults(function=report)
    made = verbs.add_parser("page", help=page.__doc__)
    made.add_argument("page", type=Path)
    made.set_defaults(function=page)
    made = verbs.add_parser("compare", help=compare.__doc__)
    made.add_argument("a", type=Path)
    made.add_argument("b", type=Path)
    made.set_defaults(function=compare)
    made = verbs.add_parser("history", help=history.__doc__)
    made.add_argument("count", type=int, nargs="?", default=6, help="so many commits")
    made.set_defaults(function=history)
    made = verbs.add_parser("list", help=show_list.__doc__)
    made.set_defaults(function=show_list)
    return parser


def main(words: list[str] | None = None) -> int:
    """Parse and do; every error is one message and an exit code."""
    words = sys.argv[1:] if words is None else words
    options = make_parser().parse_args(words)
    options.words = words
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        return int(options.function(options))
    except UsageError as error:
        print(f"pfsbench: {error}", file=sys.stderr)
        return 2
    except BenchError as error:
        print(f"pfsbench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("pfsbench: interrupted; everything was stopped, nothing was saved", file=sys.stderr)
        return 130
