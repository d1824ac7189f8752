#!/usr/bin/env python3
"""The demonstration: a real OLTP load on a throw-away server, and what the tables say about it.

Called by `make demo`, which has built and installed: demo.py --pg-config X [--keep] [--seconds N].
The load is sysbench oltp_read_write where sysbench with the pgsql driver is installed, else
pgbench. Reports are the files of scripts/demo.d/ in order; a file's first comment line is its
title. With --keep the server stays up and the last lines say how to connect and how to stop it.
Ctrl-C cleans up.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from pfs_cluster import Cluster, ClusterError

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "scripts" / "demo.d"
CLIENTS = 8
PREPARE_TIMEOUT_S = 120
SETTINGS = {"max_connections": 100, "compute_query_id": "on", "shared_buffers": "128MB"}
BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")


def title(text: str) -> None:
    """A heading on the terminal."""
    print(f"\n{BOLD}== {text}{PLAIN}", flush=True)


def has_sysbench() -> bool:
    """Whether sysbench is there and was built with PostgreSQL's driver."""
    if not shutil.which("sysbench"):
        return False
    done = subprocess.run(
        ["sysbench", "--db-driver=pgsql", "oltp_read_write", "help"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return "pgsql" in done.stdout and "--pgsql-host" in subprocess.run(
        ["sysbench", "--help"], capture_output=True, text=True, check=False
    ).stdout


def run(cluster: Cluster, command: Iterable[object], timeout_s: float, quiet: bool = False) -> None:
    """Run a load program against the server, its output on the terminal unless quiet."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, env=cluster.client_env("demo"), stdin=subprocess.DEVNULL, timeout=timeout_s,
            stdout=subprocess.DEVNULL if quiet else None, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ClusterError(f"no end in {timeout_s} s: {shlex.join(words)}") from None
    if done.returncode != 0:
        raise ClusterError(f"exit code {done.returncode}: {shlex.join(words)}")


def load_by_sysbench(cluster: Cluster, seconds: int) -> None:
    """sysbench oltp_read_write: 8 threads, 4 tables of 10,000 rows, a line every 5 seconds."""
    common = [
        "sysbench", "oltp_read_write", "--db-driver=pgsql", f"--pgsql-host={cluster.host}",
        f"--pgsql-port={cluster.port}", "--pgsql-user=sbtest", "--pgsql-db=demo",
        "--tables=4", "--table-size=10000", f"--threads={CLIENTS}",
    ]  # fmt: skip
    cluster.psql("CREATE ROLE sbtest LOGIN; ALTER DATABASE demo OWNER TO sbtest")
    title("sysbench: 4 tables of 10,000 rows")
    run(cluster, [*common, "prepare"], PREPARE_TIMEOUT_S, quiet=True)
    title(f"sysbench oltp_read_write: {CLIENTS} threads, {seconds} s")
    progress = max(1, min(5, seconds))
    timing = [f"--time={seconds}", f"--report-interval={progress}"]
    run(cluster, [*common, *timing, "run"], seconds + 60)


def load_by_pgbench(cluster: Cluster, seconds: int) -> None:
    """pgbench: TPC-B, then select-only, half of the time each."""
    pgbench = cluster.bindir / "pgbench"
    title("pgbench: scale 4")
    run(cluster, [pgbench, "-i", "-q", "-s", "4"], PREPARE_TIMEOUT_S, quiet=True)
    half = max(1, seconds // 2)
    for name, options in (("TPC-B", []), ("select-only", ["-S", "-M", "prepared"])):
        title(f"pgbench {name}: {CLIENTS} clients, {half} s")
        run(cluster, [pgbench, *options, "-c", CLIENTS, "-j", 2, "-T", half, "-P", 5], half + 60)


def make_errors(cluster: Cluster) -> None:
    """A few statements that fail: failures are events too."""
    for sql in ("SELECT 1/0", "SELECT * FROM no_such_table", "SELEC 1"):
        try:
            cluster.psql(sql, dbname="demo")
        except ClusterError:
            continue
        raise ClusterError(f"this was to fail: {sql}")


def report(cluster: Cluster) -> int:
    """Print every report; a failing one is shown as such. Returns how many failed."""
    failed = 0
    for path in sorted(REPORTS.glob("*.sql")):
        first = path.read_text().lstrip().split("\n", 1)[0]
        title(first[3:] if first.startswith("-- ") else path.stem)
        try:
            print(cluster.psql(None, "-P", "footer=off", dbname="demo", file=path), flush=True)
        except ClusterError as error:
            failed += 1
            print(f"{path.name} failed: {error}", file=sys.stderr, flush=True)
    return failed


def demo(cluster: Cluster, seconds: int) -> int:
    """Load and reports; returns the exit code."""
    cluster.psql("CREATE DATABASE demo")
    cluster.psql("CREATE EXTENSION performance_schema", dbname="demo")
    load = load_by_sysbench if has_sysbench() else load_by_pgbench
    load(cluster, seconds)
    make_errors(cluster)
    return 1 if report(cluster) else 0


def keep(cluster: Cluster) -> None:
    """Leave the server running and say how to use it."""
    folder = cluster.detach()
    as_root = "" if os.geteuid() else " (as root)"
    title("the server is still running")
    print(f"connect: {cluster.bindir}/psql -h 127.0.0.1 -p {cluster.port} -U postgres demo")
    print(f"stop:    python3 {ROOT}/scripts/pfs_cluster.py stop {folder}{as_root}")


def main() -> int:
    """Parse the command line and report errors without a traceback."""
    parser = argparse.ArgumentParser(description="performance_schema demo")
    parser.add_argument("--pg-config", required=True)
    parser.add_argument("--keep", action="store_true", help="leave the server running")
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    try:
        with Cluster(options.pg_config, preload=["performance_schema"], conf=SETTINGS) as cluster:
            version = cluster.ask_pg_config("--version")
            print(f"{version} with performance_schema, at port {cluster.port}")
            code = demo(cluster, options.seconds)
            if options.keep:
                keep(cluster)
            return code
    except ClusterError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo: interrupted; the server was stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
