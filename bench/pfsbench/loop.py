"""Blocks of the same cheap work inside one session: nanoseconds per event (method kind `loop`).

    top     a simple query message with 500 `SELECT 1`: top-level statements without network time
    select  500 selects by primary key from one PL/pgSQL function: nested statements
    update  the same with updates that find no row
    wait    tests/bench/wait_loop.c: the cheapest system call that has a wait event, 20,000 times

A block is about 5 ms. Only servers of kind postgresql have them.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path
from typing import Any

from .builds import ROOT
from .model import BenchError

PER_BLOCK = 500
REPEATS = 4
CALLS = 20_000
LOOP_SOURCE = ROOT / "tests" / "bench" / "wait_loop.c"
SCHEMA = """
CREATE TABLE IF NOT EXISTS cost AS SELECT 1 AS a, 0 AS b;
CREATE UNIQUE INDEX IF NOT EXISTS cost_a ON cost (a);
CREATE OR REPLACE FUNCTION nested_select(k int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE x int; BEGIN FOR i IN 1..k LOOP SELECT b INTO x FROM cost WHERE a = 1; END LOOP; END $$;
CREATE OR REPLACE FUNCTION nested_update(k int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN FOR i IN 1..k LOOP UPDATE cost SET b = 0 WHERE a = -1; END LOOP; END $$;
"""
SCRIPTS = {
    "top": "SELECT 1;" * PER_BLOCK,
    "select": f"SELECT nested_select({PER_BLOCK})",
    "update": f"SELECT nested_update({PER_BLOCK})",
    "wait": f"SELECT wait_loop({CALLS})",
}


class Blocks:
    """A session that is ready to run blocks of one script; server: a PostgresServer."""

    def __init__(self, server: Any, script: str) -> None:
        if script not in SCRIPTS:
            raise BenchError(f"no loop {script!r}; there are: {', '.join(SCRIPTS)}")
        if not hasattr(server, "cluster"):
            raise BenchError(f"server {server.name} is no PostgreSQL: it has no loops")
        self._script = script
        self._session = server.session(server.database)
        self._session.execute(SCHEMA)
        if script == "wait":
            library = build_wait_loop(server.cluster)
            self._session.execute(
                "CREATE OR REPLACE FUNCTION wait_loop(bigint) RETURNS float8 AS "
                f"'{library}' LANGUAGE C STRICT"
            )

    def run(self) -> float:
        """Nanoseconds per event of one block."""
        self._session.execute("SELECT 1")  # a session sees a switch by its next statement
        if self._script == "wait":  # the function takes the time itself
            return float(self._session.execute(SCRIPTS["wait"]).fetchone()[0])
        text = SCRIPTS[self._script].encode()
        began = time.perf_counter_ns()
        for _ in range(REPEATS):
            self._session.pgconn.exec_(text)
        return (time.perf_counter_ns() - began) / (REPEATS * PER_BLOCK)

    def close(self) -> None:
        """End the session."""
        with contextlib.suppress(Exception):
            self._session.close()


def build_wait_loop(cluster: Any) -> Path:
    """wait_loop.so for this server, in the cluster's folder; BenchError with gcc's messages."""
    library = Path(cluster.base) / "wait_loop.so"
    include = cluster.ask_pg_config("--includedir-server")
    try:
        done = subprocess.run(
            ["gcc", "-O2", "-fPIC", "-shared", f"-I{include}", "-o", library, LOOP_SOURCE],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    except OSError:
        raise BenchError("gcc is not installed (Debian: apt-get install gcc)") from None
    if done.returncode != 0:
        raise BenchError(f"gcc {LOOP_SOURCE}: {done.stderr[:2000]}")
    library.chmod(0o755)
    return library
