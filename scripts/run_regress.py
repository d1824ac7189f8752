#!/usr/bin/env python3
"""Run the SQL regression tests by the server's own pg_regress against a throw-away server.

Called by `make regress`: run_regress.py --pg-config X [TEST...]. Without names the schedule is run.
Results go to build/regress; regression.diffs is printed when something differs. Exit code 1 then.
pg_regress is found beside the server's PGXS; where a build has none, that is an error.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from pfs_cluster import Cluster, ClusterError

ROOT = Path(__file__).resolve().parents[1]
INPUT = ROOT / "tests" / "regress"
OUTPUT = ROOT / "build" / "regress"
TIMEOUT_S = 300
DATABASE = "contrib_regression"
SETTINGS = {
    "compute_query_id": "on",
    "max_connections": 100,
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
}


def find_pg_regress(cluster: Cluster) -> Path:
    """The pg_regress that belongs to the server."""
    makefile = Path(cluster.ask_pg_config("--pgxs"))
    program = makefile.parents[1] / "test" / "regress" / "pg_regress"
    if not program.exists():
        raise ClusterError(f"{program} does not exist: this server's development files lack it")
    return program


def run(pg_config: str, tests: list[str]) -> int:
    """Returns pg_regress's exit code."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    with Cluster(pg_config, preload=["performance_schema"], conf=SETTINGS) as cluster:
        cluster.psql(f"CREATE DATABASE {DATABASE}")
        command = [
            find_pg_regress(cluster), "--use-existing", f"--dbname={DATABASE}",
            f"--inputdir={INPUT}", f"--outputdir={OUTPUT}", f"--bindir={cluster.bindir}",
            f"--host={cluster.socket_dir}", f"--port={cluster.port}", "--user=postgres",
            *(tests or [f"--schedule={INPUT / 'schedule'}"]),
        ]  # fmt: skip
        position = cluster.log_position()
        code = subprocess.run(
            command, env=cluster.client_env(DATABASE), cwd=OUTPUT, timeout=TIMEOUT_S, check=False
        ).returncode
        diffs = OUTPUT / "regression.diffs"
        if diffs.exists() and diffs.stat().st_size:
            print(diffs.read_text(errors="replace"), flush=True)
        if "terminated by signal" in cluster.log_text(position):
            print(cluster.log_text(position)[-8000:], flush=True)
            return code or 1
        return code


def main() -> int:
    """Parse the command line and report errors without a traceback."""
    parser = argparse.ArgumentParser(description="SQL regression tests")
    parser.add_argument("--pg-config", required=True)
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    if not (INPUT / "schedule").exists():
        print("no regression test found")
        return 0
    try:
        return run(options.pg_config, options.tests)
    except (ClusterError, subprocess.TimeoutExpired) as error:
        print(f"regress: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
