"""What the parts of the bench say to each other, and the format of a result file.

Plan -> (executor) -> Result, a plain JSON file -> (stats, checks) -> Judgement -> (report, plots).
All are frozen and hold no open resources. Units: seconds, bytes, and what a sample's unit says.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1


class BenchError(RuntimeError):
    """Something the user can mend, or a program that failed: the message is all they need."""


@dataclass(frozen=True)
class ServerSpec:
    """One server, as a plan names it. Variants with equal specs share one running server.

    kind: postgresql, mariadb, mysql56. build: normal, frame_pointers, prototype (bench/budget, too), or
    disable:statement,wait,...
    pg_config: "" for the project's own server, "debian15", or a path.
    """

    kind: str = "postgresql"
    pg_config: str = ""
    build: str = "normal"
    preload: tuple[str, ...] = ()
    conf: tuple[tuple[str, Any], ...] = ()
    data_checksums: bool = False
    instance: int = 0  # tells apart servers that are equal otherwise (A/A)


@dataclass(frozen=True)
class Variant:
    """A server in one state: the statements put it there from any other state of that server."""

    name: str
    server: ServerSpec
    switch: tuple[str, ...] = ()
    what: str = ""  # one line for the report
    reader: str = ""  # a statement repeated by another session meanwhile (method read)


@dataclass(frozen=True)
class Workload:
    """A load and its data.

    program: sysbench, pgbench, nested (E5's loop by sysbench), loop (blocks inside one backend; the
    script is top, select, update or wait), or callgrind (a program of build/bench).
    """

    program: str
    script: str  # oltp_read_write, select-only, tpcb-like, nested_loop, ...
    threads: int = 4
    tables: int = 4
    rows: int = 20_000  # per table; pgbench: scale * 100,000, at least 100,000
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """How samples are taken.

    kind: windows   one round = one window of each variant in random order (switched and paired)
          runs      one round = one whole run of the client per variant in random order
          loop      in-backend blocks, nanoseconds per event
          callgrind instructions per event
          memory    reserved and resident bytes after a load of window_s with cell's threads
          read      as windows; a variant with a reader also yields the seconds of its SELECTs
    """

    kind: str
    rounds: int
    window_s: float = 0.35
    skip_s: float = 0.03  # after each switch, not counted
    warmup_s: float = 3.0
    restarts: int = 0  # windows: times that servers and loads start anew in between, see stats.py
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One row of an experiment's table: a load under which all its variants are compared."""

    name: str
    labels: dict[str, Any]  # threads, bound, load, durability, ...: columns of the table
    workload: Workload
    variants: tuple[Variant, ...]
    baseline: str  # name of the variant that the ratios are against
    method: Method | None = None  # when not the plan's


@dataclass(frozen=True)
class Plan:
    """An experiment, ready to be carried out; made from plans/<name>.toml."""

    name: str
    title: str
    question: str
    cells: tuple[Cell, ...]
    method: Method
    seed: int
    published: dict[str, Any] = field(default_factory=dict)  # tables to print beside ours
    notes: str = ""


@dataclass(frozen=True)
class Sample:
    """One measurement, never changed afterwards.

    quantity: throughput (amount / seconds, more is better), p95, ns, instructions, seconds,
    reserved, resident (amount itself, less is better). warmup samples are kept and not judged.
    """

    cell: str
    variant: str
    quantity: str
    round: int
    order: int
    amount: float
    seconds: float = 0.0
    unit: str = ""
    warmup: bool = False
    load1: float = 0.0  # load average over one minute at the end
    steal: float = 0.0  # share of processor time stolen by the host meanwhile

    @property
    def value(self) -> float:
        """What is compared."""
        return self.amount / self.seconds if self.quantity == "throughput" else self.amount


@dataclass(frozen=True)
class Result:
    """All that one run of a plan has seen. `invalid` maps a cell to why it must not be believed."""

    plan: dict[str, Any]
    command: str
    commit: str
    started: str  # ISO 8601, UTC
    seconds: float
    machine: dict[str, Any]
    servers: dict[str, dict[str, Any]]  # by name: version, settings that differ, build flags
    samples: tuple[Sample, ...]
    losses: dict[str, dict[str, dict[str, int]]]  # cell -> variant -> counter -> lost in this cell
    measures: dict[
        str, dict[str, dict[str, Any]]
    ]  # cell -> variant -> e.g. tps, bytes_per_transaction
    invalid: dict[str, str] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def save(self, path: Path) -> None:
        """Write as JSON, samples as rows so that a thousand windows stay readable."""
        facts = dataclasses.asdict(self)
        names = [f.name for f in dataclasses.fields(Sample)]
        facts["samples"] = {
            "columns": names,
            "rows": [[getattr(sample, name) for name in names] for sample in self.samples],
        }
        path.write_text(_compact(facts) + "\n")

    @staticmethod
    def load(path: Path) -> Result:
        """Read a result file; BenchError when it is none or of another schema version."""
        try:
            facts = json.loads(path.read_text())
            if facts.get("schema_version") != SCHEMA_VERSION:
                raise BenchError(
                    f"{path}: schema version {facts.get('schema_version')}, not {SCHEMA_VERSION}"
                )
            table = facts.pop("samples")
            rows = tuple(
                Sample(**dict(zip(table["columns"], row, strict=True))) for row in table["rows"]
            )
            return Result(**facts, samples=rows)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchError(f"{path} is not a result of the bench: {error}") from None


def _compact(facts: dict[str, Any]) -> str:
    """JSON with one line per top-level key and per sample."""
    lines = []
    for key, value in facts.items():
        if key == "samples":
            rows = ",\n".join("    " + json.dumps(row) for row in value["rows"])
            text = f'{{"columns": {json.dumps(value["columns"])}, "rows": [\n{rows}\n]}}'
        else:
            text = json.dumps(value)
        lines.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"


@dataclass(frozen=True)
class Comparison:
    """One variant against the baseline of its cell.

    ratio: variant / baseline, the median over rounds; low, high: bootstrap 95 % interval.
    """

    cell: str
    variant: str
    quantity: str
    ratio: float
    low: float
    high: float
    rounds: int
    median: float  # of the variant's values
    baseline_median: float
    invalid: str = ""  # why not to believe it
    added: float = (
        0.0  # variant - baseline in the sample's unit: the median over rounds, its interval
    )
    added_low: float = 0.0
    added_high: float = 0.0
    outliers: int = 0  # rounds marked by their modified z-score; they are judged all the same

    @property
    def distinguishable(self) -> bool:
        """Whether the interval leaves out 1."""
        return not self.low <= 1.0 <= self.high
