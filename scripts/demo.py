#!/usr/bin/env python3
"""The demonstration: a real OLTP load on a throw-away server, and what the tables say about it.

Called by `make demo`, which has built and installed: demo.py --pg-config X [--keep] [--seconds N].
The load is sysbench oltp_read_write where sysbench with the pgsql driver is installed, else
pgbench. Reports are the files of scripts/demo.d/ in order; a file's first comment line is its
title. One whose second line is `-- live` runs halfway through the load, each other one after it;
setup.sql makes what they need. With --keep the server stays up and the last lines say how to
connect and how to stop it. Ctrl-C cleans up.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pfs_cluster import Cluster, ClusterError

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "scripts" / "demo.d"
CLIENTS = 8
PREPARE_TIMEOUT_S = 120
LIVE_MARK = "-- live"
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


def run(
    cluster: Cluster,
    command: Iterable[object],
    timeout_s: float,
    quiet: bool = False,
    halfway: tuple[float, Callable[[], None]] | None = None,
) -> None:
    """Run a load program against the server, its output on the terminal unless quiet.

    halfway: seconds to wait, and what to do then while the program goes on.
    """
    words = [str(word) for word in command]
    deadline = time.monotonic() + timeout_s
    load = subprocess.Popen(
        words, env=cluster.client_env("demo"), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if quiet else None,
    )  # fmt: skip
    try:
        if halfway:
            try:
                load.wait(halfway[0])
            except subprocess.TimeoutExpired:
                halfway[1]()
        code = load.wait(deadline - time.monotonic())
    except subprocess.TimeoutExpired:
        raise ClusterError(f"no end in {timeout_s} s: {shlex.join(words)}") from None
    finally:
        if load.poll() is None:
            load.kill()
            load.wait()
    if code != 0:
        raise ClusterError(f"exit code {code}: {shlex.join(words)}")


def load_by_sysbench(cluster: Cluster, seconds: int, halfway: Callable[[], None]) -> None:
    """sysbench oltp_read_write: 8 threads, one table of 40,000 rows, a line every 5 seconds."""
    common = [
        "sysbench", "oltp_read_write", "--db-driver=pgsql", f"--pgsql-host={cluster.host}",
        f"--pgsql-port={cluster.port}", "--pgsql-user=sbtest", "--pgsql-db=demo",
        "--tables=1", "--table-size=40000", f"--threads={CLIENTS}",
    ]  # fmt: skip
    cluster.psql("CREATE ROLE sbtest LOGIN; ALTER DATABASE demo OWNER TO sbtest")
    title("sysbench: a table of 40,000 rows")
    run(cluster, [*common, "prepare"], PREPARE_TIMEOUT_S, quiet=True)
    title(f"sysbench oltp_read_write: {CLIENTS} threads, {seconds} s")
    progress = max(1, min(5, seconds))
    timing = [f"--time={seconds}", f"--report-interval={progress}"]
    run(cluster, [*common, *timing, "run"], seconds + 60, halfway=(seconds / 2, halfway))


def load_by_pgbench(cluster: Cluster, seconds: int, halfway: Callable[[], None]) -> None:
    """pgbench: TPC-B, then select-only, half of the time each."""
    pgbench = cluster.bindir / "pgbench"
    title("pgbench: scale 4")
    run(cluster, [pgbench, "-i", "-q", "-s", "4"], PREPARE_TIMEOUT_S, quiet=True)
    half = max(1, seconds // 2)
    for name, options, then in (
        ("TPC-B", [], (half / 2, halfway)),
        ("select-only", ["-S", "-M", "prepared"], None),
    ):
        title(f"pgbench {name}: {CLIENTS} clients, {half} s")
        command = [pgbench, *options, "-c", CLIENTS, "-j", 2, "-T", half, "-P", 5]
        run(cluster, command, half + 60, halfway=then)


def make_errors(cluster: Cluster) -> None:
    """A few statements that fail: failures are events too."""
    for sql in ("SELECT 1/0", "SELECT * FROM no_such_table", "SELEC 1"):
        try:
            cluster.psql(sql, dbname="demo")
        except ClusterError:
            continue
        raise ClusterError(f"this was to fail: {sql}")


class Reports:
    """The files of demo.d: some run while the load does, all are printed after it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.paths = sorted(REPORTS.glob("[0-9]*.sql"))
        self.texts: dict[Path, str] = {}
        self.failed = 0

    def take(self, live: bool) -> None:
        """Run the reports of one kind that have not run yet; an error is kept as their text."""
        for path in self.paths:
            if path in self.texts or (live and LIVE_MARK not in path.read_text().splitlines()):
                continue
            try:
                text = self.cluster.psql(None, "-P", "footer=off", dbname="demo", file=path)
            except ClusterError as error:
                self.failed += 1
                text = f"{path.name} failed: {error}"
            self.texts[path] = text.rstrip()

    def show(self) -> None:
        """Print all of them in order."""
        for path in self.paths:
            first = path.read_text().lstrip().split("\n", 1)[0]
            title(first[3:] if first.startswith("-- ") else path.stem)
            print(self.texts[path], flush=True)


def demo(cluster: Cluster, seconds: int) -> int:
    """Load and reports; returns the exit code."""
    cluster.psql("CREATE DATABASE demo")
    cluster.psql("CREATE EXTENSION performance_schema", dbname="demo")
    cluster.psql(None, dbname="demo", file=REPORTS / "setup.sql")
    reports = Reports(cluster)
    load = load_by_sysbench if has_sysbench() else load_by_pgbench
    load(cluster, seconds, lambda: reports.take(live=True))
    make_errors(cluster)
    reports.take(live=False)
    reports.show()
    return 1 if reports.failed else 0


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
        with Cluster(options.pg_config, preload=["performance_schema"]) as cluster:
            version = cluster.ask_pg_config("--version")
            print(f"{version} with performance_schema, at port {cluster.port}")
            code = demo(cluster, options.seconds)
            if options.keep:
                keep(cluster)
                return code
        title("the server was stopped and its folder removed")
        return code
    except ClusterError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo: interrupted; the server was stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
