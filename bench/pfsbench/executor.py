"""Does what a plan says: starts servers and loads, switches, counts. The only part with effects.

methods.py calls an Executor; tests put one in that only keeps notes. Only one load runs at a time:
the others are stopped clients beside idle servers, so that all servers of a cell can be compared
within seconds of each other.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from . import collect
from .load import Load, loopback_bytes, wait_quiet
from .loop import Blocks
from .model import BenchError, Cell, ServerSpec, Variant, Workload
from .placement import halves, keep
from .reader import Reader, fill_digests
from .server import Server
from .workload import load_command, p95_ms, run_client, transactions

IDLE_LOOK_S = 0.3


@dataclass(frozen=True)
class Reading:
    """What one window saw; reads: seconds of each SELECT of the variant's reader."""

    amount: int
    seconds: float
    steal: float
    load1: float
    reads: tuple[float, ...] = ()


@dataclass(frozen=True)
class ClientRun:
    """One whole run of a client, from its report."""

    transactions: int
    seconds: float
    p95_ms: float
    steal: float
    load1: float


class Executor(Protocol):
    """What the methods need done."""

    def open(self, cell: Cell, loads: bool, warm_s: float, options: dict[str, Any]) -> None:
        """Servers up and filled; with `loads` each one's load calibrated, started and stopped."""

    def restart(self, cell: Cell, warm_s: float) -> None:
        """Servers and loads of the cell anew, with the same data."""

    def window(self, variant: Variant, window_s: float, skip_s: float) -> Reading:
        """Let this variant's load alone run, switch, skip, count."""

    def run(self, variant: Variant, workload: Workload, seconds: float) -> ClientRun:
        """A whole client run."""

    def block(self, variant: Variant, script: str) -> float:
        """Nanoseconds per event of one block inside one session."""

    def memory(self, variant: Variant, workload: Workload, seconds: float) -> dict[str, int]:
        """Bytes `reserved` and `resident` after so long a load, its connections still open."""

    def losses(self, variant: Variant) -> dict[str, int]:
        """Loss counters of the variant's server now."""

    def measures(self, variant: Variant) -> dict[str, Any]:
        """Facts about the variant's load: bytes_per_transaction, server, ..."""

    def close_cell(self, later: Sequence[Cell]) -> None:
        """End the loads, and the servers that no later cell wants."""

    def facts(self) -> dict[str, dict[str, Any]]:
        """Version and settings of every server that ran."""

    def close(self) -> None:
        """End everything. Never raises."""


class RealExecutor:
    """Executor on real servers. `say` gets a line for each slow step."""

    def __init__(
        self, make: Callable[[ServerSpec, str], Server], say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._make = make
        self._say = say
        self._servers: dict[ServerSpec, Server] = {}
        self._loads: dict[ServerSpec, Load] = {}
        self._active: ServerSpec | None = None
        self._state: dict[ServerSpec, str] = {}  # name of the variant a server was switched to
        self._measures: dict[ServerSpec, dict[str, Any]] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._blocks: dict[tuple[ServerSpec, str], Blocks] = {}
        self._readers: dict[str, Reader] = {}

    def open(self, cell: Cell, loads: bool, warm_s: float, options: dict[str, Any]) -> None:
        """See Executor."""
        specs = list(dict.fromkeys(variant.server for variant in cell.variants))
        for spec in specs:
            if spec not in self._servers:
                self._start(spec, cell)
        for spec in specs:
            server = self._servers[spec]
            self._say(f"{cell.name}: data for {server.name}")
            server.load(cell.workload)
            if "digests" in options:
                fill_digests(server, int(options["digests"]))
        if not loads:
            return
        idle = self._idle_bytes()
        for spec in specs:
            self._start_load(spec, cell, warm_s, apart=len(specs) > 1)
            self._measures[spec]["idle_bytes_per_second"] = idle

    def _start(self, spec: ServerSpec, cell: Cell) -> None:
        """Start a server, named by the first variants that use it."""
        name = "+".join(variant.name for variant in cell.variants if variant.server == spec)
        while name in self._facts:
            name += "'"
        self._say(f"{cell.name}: server {name}")
        server = self._servers[spec] = self._make(spec, name)
        server.start()
        self._facts[name] = {
            "kind": spec.kind, "build": spec.build, "preload": list(spec.preload),
            "version": server.version(), "settings": server.settings(),
        }  # fmt: skip

    def _idle_bytes(self) -> float:
        """What moves on the loopback interface without us: it would be counted as ours."""
        before = loopback_bytes()
        time.sleep(IDLE_LOOK_S)
        return round((loopback_bytes() - before) / IDLE_LOOK_S)

    def _start_load(self, spec: ServerSpec, cell: Cell, warm_s: float, apart: bool) -> None:
        """One client run tells bytes per transaction and warms; then the load proper, stopped.

        apart: clients and backends on processors of their own (placement.py says why).
        """
        server = self._servers[spec]
        seconds = max(1, round(warm_s))
        before = loopback_bytes()
        said = run_client(load_command(server, cell.workload, seconds), seconds + 120)
        done = transactions(said)
        if not done:
            raise BenchError(f"{cell.name}: the load did no transaction on {server.name}:\n{said}")
        self._measures[spec] = {
            "server": server.name,
            "bytes_per_transaction": round((loopback_bytes() - before) / done, 1),
        }
        self._begin_load(spec, cell.workload, apart=apart)

    def restart(self, cell: Cell, warm_s: float) -> None:
        """See Executor."""
        self._end_sessions()
        specs = list(dict.fromkeys(variant.server for variant in cell.variants))
        for spec in specs:
            self._servers[spec].restart()
            self._state.pop(spec, None)
            self._begin_load(spec, cell.workload, apart=len(specs) > 1, warm_s=warm_s)

    def _begin_load(
        self, spec: ServerSpec, workload: Workload, *, apart: bool, warm_s: float = 0.0
    ) -> None:
        """The load that windows look at, stopped after so long."""
        server = self._servers[spec]
        idle = set(server.pids())
        load = self._loads[spec] = Load(server, workload)
        load.start()
        time.sleep(warm_s)
        load.pause()
        if apart:
            clients, servers = halves()
            keep([load.pid], clients)
            keep([pid for pid in server.pids() if pid not in idle] or server.pids(), servers)
            self._measures[spec]["client_processors"] = sorted(clients)
            self._measures[spec]["server_processors"] = sorted(servers)

    def _activate(self, spec: ServerSpec) -> None:
        """Stop the load that runs, and let this one go on.

        A load that is alone is never stopped. Beside others it is, also to go on itself: every
        window of a cell with several servers begins alike.
        """
        if self._active == spec and len(self._loads) == 1:
            return
        if self._active is not None:
            self._loads[self._active].pause()
        self._loads[spec].resume()
        self._active = spec

    def _switch(self, variant: Variant) -> None:
        if self._state.get(variant.server) != variant.name:
            self._servers[variant.server].switch(variant.switch)
            self._state[variant.server] = variant.name

    def window(self, variant: Variant, window_s: float, skip_s: float) -> Reading:
        """See Executor."""
        load = self._loads[variant.server]
        self._activate(variant.server)
        self._switch(variant)
        reader = self._reader(variant)
        with reader.reading() if reader else contextlib.nullcontext():
            time.sleep(skip_s)
            ticks = collect.processor_times()
            began, first = time.perf_counter(), loopback_bytes()
            time.sleep(window_s)
            last, ended = loopback_bytes(), time.perf_counter()
        steal = collect.steal_since(ticks)
        load.check()
        if last == first and not load.server.pids():
            raise BenchError(f"server {load.server.name} died:\n{load.server.log_tail()}")
        reads = tuple(reader.take()) if reader else ()
        return Reading(last - first, ended - began, steal, collect.load1(), reads)

    def _reader(self, variant: Variant) -> Reader | None:
        if variant.reader and variant.name not in self._readers:
            server = self._servers[variant.server]
            self._readers[variant.name] = Reader(server, variant.reader)
        return self._readers.get(variant.name)

    def run(self, variant: Variant, workload: Workload, seconds: float) -> ClientRun:
        """See Executor."""
        self._switch(variant)
        ticks, began = collect.processor_times(), time.perf_counter()
        command = load_command(self._servers[variant.server], workload, max(1, round(seconds)))
        said = run_client(command, seconds + 120)
        spent = time.perf_counter() - began
        p95 = p95_ms(said) if workload.program != "pgbench" else 0.0
        steal = collect.steal_since(ticks)
        return ClientRun(transactions(said) or 0, spent, p95, steal, collect.load1())

    def block(self, variant: Variant, script: str) -> float:
        """See Executor."""
        key = (variant.server, script)
        if key not in self._blocks:
            self._blocks[key] = Blocks(self._servers[variant.server], script)
        self._switch(variant)
        return self._blocks[key].run()

    def memory(self, variant: Variant, workload: Workload, seconds: float) -> dict[str, int]:
        """See Executor."""
        self._switch(variant)
        server = self._servers[variant.server]
        load = Load(server, workload)
        try:
            load.start()
            time.sleep(seconds)
            load.check()
            load.pause()
            return {name: kb * 1024 for name, kb in server.memory_kb().items()}
        finally:
            load.stop()
            wait_quiet()

    def losses(self, variant: Variant) -> dict[str, int]:
        """See Executor."""
        return self._servers[variant.server].losses()

    def measures(self, variant: Variant) -> dict[str, Any]:
        """See Executor."""
        server = self._servers[variant.server].name
        return dict(self._measures.get(variant.server, {"server": server}))

    def close_cell(self, later: Sequence[Cell]) -> None:
        """See Executor."""
        self._end_sessions()
        self._measures = {}
        wanted = {variant.server for cell in later for variant in cell.variants}
        for spec in [spec for spec in self._servers if spec not in wanted]:
            self._servers.pop(spec).stop()
            self._state.pop(spec, None)

    def _end_sessions(self) -> None:
        sessions: list[Reader | Blocks] = [*self._readers.values(), *self._blocks.values()]
        for session in sessions:
            session.close()
        for load in self._loads.values():
            load.stop()
        self._readers, self._blocks, self._loads = {}, {}, {}
        self._active = None

    def facts(self) -> dict[str, dict[str, Any]]:
        """See Executor."""
        return self._facts

    def close(self) -> None:
        """See Executor."""
        with contextlib.suppress(Exception):
            self._end_sessions()
        for server in self._servers.values():
            with contextlib.suppress(Exception):
                server.stop()
        self._servers = {}
