#!/usr/bin/env python3
"""Measures what a wait costs inside one backend, and what everything on costs a running load.

    scripts/measure_waits.py --pg-config X [--blocks N] [--windows N] [--json FILE]

Nanoseconds per wait: tests/bench/wait_loop.c makes the cheapest system call that has a wait event
20,000 times; between such blocks the instrumentation is switched, pairwise and in random order
(measure_cost.py has the statistics). Modes, against all instruments off:

  other     wait/io/socket on: calls are observed, this one is of no interest
  counted   wait/io/file counted, not timed
  timed     wait/io/file timed: sums by event name, file, statement
  all       the same with events_waits_current, _history and _history_long

"unpatched" compares a server with wait_timing = off in alternating blocks: what a patched slot costs
while nothing is on. Throughput: sysbench oltp_read_write (4 threads, unix socket) runs on while
instruments and consumers are switched on and off in windows of 0.5 s, the first 50 ms of each not counted;
work done is transaction ids taken. The ratio on / off has a bootstrap 95 % interval.
Errors: ClusterError with the failed program's output; nothing is left running.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measure_cost import paired  # noqa: E402
from pfs_cluster import Cluster  # noqa: E402

CALLS = 20_000
WINDOW_S, SKIP_S = 0.5, 0.05
LOOP = Path(__file__).resolve().parents[1] / "tests" / "bench" / "wait_loop.c"

OFF = [
    "SELECT performance_schema.set_instruments('%', false)",
    "SELECT performance_schema.set_consumers('events_waits%', false)",
]
MODES = {
    "off": OFF,
    "other": [*OFF, "SELECT performance_schema.set_instruments('wait/io/socket/%', true, true)"],
    "counted": [*OFF, "SELECT performance_schema.set_instruments('wait/io/file/%', true, false)"],
    "timed": [*OFF, "SELECT performance_schema.set_instruments('wait/io/file/%', true, true)"],
    "all": [
        *OFF,
        "SELECT performance_schema.set_instruments('wait/io/file/%', true, true)",
        "SELECT performance_schema.set_consumers('events_waits%', true)",
    ],
}


def build_loop(cluster: Cluster) -> Path:
    """wait_loop.so for this server, in the cluster's folder."""
    library = Path(cluster.base) / "wait_loop.so"
    include = cluster.ask_pg_config("--includedir-server")
    subprocess.run(
        ["gcc", "-O2", "-fPIC", "-shared", f"-I{include}", "-o", str(library), str(LOOP)], check=True
    )
    library.chmod(0o755)
    return library


def open_session(cluster: Cluster, library: Path) -> Any:
    connection = cluster.connect(autocommit=True)
    connection.execute("CREATE EXTENSION IF NOT EXISTS performance_schema")
    connection.execute(
        "CREATE OR REPLACE FUNCTION wait_loop(bigint) RETURNS float8 AS "
        f"'{library}' LANGUAGE C STRICT"
    )
    return connection


def switched(switch: Any, session: Any, mode: str) -> Callable[[], float]:
    """Runs one block in this mode; the switch is another session."""

    def one() -> float:
        for statement in MODES[mode]:
            switch.execute(statement)
        session.execute("SELECT 1")
        return float(session.execute("SELECT wait_loop(%s)", (CALLS,)).fetchone()[0])

    return one


def show(name: str, r: dict[str, Any]) -> None:
    print(f"{name:22} {r['added_ns']:8.1f} ns [{r['low']:.1f}, {r['high']:.1f}] on {r['base_ns']:.1f}")


def measure_ns(pg_config: str, blocks: int) -> dict[str, Any]:
    results = {}
    with Cluster(pg_config, preload=["performance_schema"]) as cluster:
        library = build_loop(cluster)
        session, switch = open_session(cluster, library), open_session(cluster, library)
        for mode in ("other", "counted", "timed", "all"):
            results[f"{mode} - off"] = paired(
                blocks, switched(switch, session, mode), switched(switch, session, "off")
            )
            show(f"{mode} - off", results[f"{mode} - off"])
        unpatched = {"performance_schema__wait_timing": "off"}
        with Cluster(pg_config, preload=["performance_schema"], conf=unpatched) as other:
            plain = open_session(other, library)
            off = switched(plain, plain, "off")
            results["off - unpatched"] = paired(blocks, switched(switch, session, "off"), off)
            show("off - unpatched", results["off - unpatched"])
    return results


ALL_ON = [
    "SELECT performance_schema.set_instruments('%', true, true)",
    "SELECT performance_schema.set_consumers('%', true)",
]
LOAD_MODES = {
    "everything": ALL_ON,
    "everything but cpu": [
        *ALL_ON,
        "SELECT performance_schema.set_consumers('events_statements_cpu', false)",
    ],
    "default": [
        "SELECT performance_schema.set_instruments('%', true, true)",
        "SELECT performance_schema.set_instruments(p, false) FROM unnest(ARRAY['wait/synch/%',"
        " 'wait/io/socket/%', 'wait/ipc/%', 'wait/timeout/%', 'wait/activity/%', 'wait/other/%',"
        " 'wait/extension/%']) p",
        "SELECT performance_schema.set_consumers('%', true)",
        "SELECT performance_schema.set_consumers(p, false) FROM unnest(ARRAY['%long',"
        " 'events_waits%', '%cpu']) p",
    ],
}


def measure_throughput(pg_config: str, windows: int, mode: str) -> dict[str, Any]:
    """Pairs of windows, this mode and everything off."""
    on = LOAD_MODES[mode]
    off = ["SELECT performance_schema.set_instruments('%', false)"]
    rng = random.Random(3)
    conf = {
        "autovacuum": "off",
        "fsync": "off",
        "max_wal_size": "8GB",
        "checkpoint_timeout": "1h",
        "shared_buffers": "512MB",
    }
    with Cluster(pg_config, preload=["performance_schema"], conf=conf) as cluster:
        connection = cluster.connect(autocommit=True)
        connection.execute("CREATE EXTENSION performance_schema")
        env = cluster.client_env()
        command = [
            shutil.which("sysbench") or "sysbench", "oltp_read_write", "--db-driver=pgsql",
            f"--pgsql-host={env['PGHOST']}", f"--pgsql-port={env['PGPORT']}",
            f"--pgsql-user={env['PGUSER']}", f"--pgsql-db={env['PGDATABASE']}",
            "--tables=4", "--table-size=20000", "--threads=4", "--time=100000", "--rand-type=uniform",
        ]  # fmt: skip
        subprocess.run([*command, "prepare"], check=True, stdout=subprocess.DEVNULL)
        load = subprocess.Popen([*command, "run"], stdout=subprocess.DEVNULL)

        def window(statements: list[str]) -> float:
            for statement in statements:
                connection.execute(statement)
            time.sleep(SKIP_S)
            ask = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
            began, first = time.perf_counter(), connection.execute(ask).fetchone()[0]
            time.sleep(WINDOW_S - SKIP_S)
            last, ended = connection.execute(ask).fetchone()[0], time.perf_counter()
            return (last - first) / (ended - began)

        try:
            time.sleep(3)
            pairs = []
            for _ in range(windows):
                if rng.random() < 0.5:
                    a, b = window(on), window(off)
                else:
                    b, a = window(off), window(on)
                pairs.append((a, b))
            lost = connection.execute(
                "SELECT variable_name, variable_value FROM performance_schema.status"
                " WHERE variable_name LIKE '%lost' AND variable_value > 0"
            ).fetchall()
        finally:
            load.terminate()
            load.wait()
    ratios = [a / b for a, b in pairs]
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(1000))
    result = {
        "ratio": round(statistics.median(ratios), 4),
        "low": round(medians[25], 4),
        "high": round(medians[974], 4),
        "tps_off": round(statistics.median(b for _, b in pairs), 1),
        "lost": {name: int(value) for name, value in lost},
        "pairs": [[round(a, 1), round(b, 1)] for a, b in pairs],
    }
    print(
        f"sysbench, {mode} / off: {result['ratio']} [{result['low']}, {result['high']}],"
        f" {result['tps_off']} transactions/s, lost: {result['lost']}"
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pg-config", required=True)
    parser.add_argument("--blocks", type=int, default=150)
    parser.add_argument("--windows", type=int, default=200, help="pairs; 0 = no throughput")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": platform.uname()._asdict(), "calls_per_block": CALLS}
    results["ns"] = measure_ns(arguments.pg_config, arguments.blocks)
    if arguments.windows > 0:
        results["throughput"] = {
            mode: measure_throughput(arguments.pg_config, arguments.windows, mode)
            for mode in LOAD_MODES
        }
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results) + "\n")


if __name__ == "__main__":
    main()
