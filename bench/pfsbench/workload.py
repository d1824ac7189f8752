"""The programs that make load: how they are called, and what their reports say.

sysbench and pgbench run as their own process group, connected by TCP to 127.0.0.1. The numbers we
use come from their reports: transactions in all, and sysbench's 95th percentile.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

from .builds import project_pg_config
from .model import BenchError, Workload
from .server import Server

SCRIPTS = Path(__file__).resolve().parents[1] / "workloads"
PREPARE_LIMIT_S = 900
INSTALL = {"sysbench": "apt-get install sysbench", "pgbench": "apt-get install postgresql-15"}


@functools.cache
def program_path(name: str) -> str:
    """Where sysbench or pgbench is; BenchError that says what to install.

    pgbench is that of the project's own server for all servers, so that they have the same client.
    """
    path = shutil.which(name, path=str(project_pg_config().parent)) if name == "pgbench" else None
    path = path or shutil.which(name)
    if path is None:
        raise BenchError(f"{name} is not installed (Debian: {INSTALL[name]})")
    return path


def needed_program(workload: Workload) -> str:
    """The program that must be installed for this workload."""
    return "pgbench" if workload.program == "pgbench" else "sysbench"


def sysbench_command(server: Server, workload: Workload, verb: str, *more: str) -> list[str]:
    """sysbench with a script of its own or of bench/workloads; verb: prepare, run, cleanup."""
    own = SCRIPTS / f"{workload.script}.lua"
    return [
        program_path("sysbench"), str(own) if own.exists() else workload.script,
        *server.sysbench_args(), f"--tables={workload.tables}", f"--table-size={workload.rows}",
        f"--threads={workload.threads}", "--rand-type=uniform", *workload.options, *more, verb,
    ]  # fmt: skip


def pgbench_connection(server: Server) -> list[str]:
    """pgbench's arguments for a server, from those for sysbench."""
    facts = dict(word[2:].split("=", 1) for word in server.sysbench_args())
    if "pgsql-port" not in facts:
        raise BenchError(f"pgbench cannot load {server.name}, which is no PostgreSQL")
    return ["-h", facts["pgsql-host"], "-p", facts["pgsql-port"], "-U", facts["pgsql-user"]]


def pgbench_command(server: Server, workload: Workload, seconds: int) -> list[str]:
    """pgbench with a built-in script, prepared statements, half as many threads as clients."""
    jobs = max(1, min(2, workload.threads // 2))
    return [
        program_path("pgbench"), *pgbench_connection(server), "-n", "-b", workload.script,
        "-M", "prepared", "-c", str(workload.threads), "-j", str(jobs), "-T", str(seconds),
        *workload.options, "postgres",
    ]  # fmt: skip


def load_command(server: Server, workload: Workload, seconds: int) -> list[str]:
    """The client that loads this server for so many seconds."""
    if workload.program == "pgbench":
        return pgbench_command(server, workload, seconds)
    return sysbench_command(server, workload, "run", f"--time={seconds}")


def prepare_data(server: Server, workload: Workload) -> None:
    """Fill the server's tables by the program's own `prepare`, without secondary work."""
    if workload.program == "pgbench":
        scale = max(1, workload.rows // 100_000)
        command = [
            program_path("pgbench"),
            *pgbench_connection(server),
            "-i",
            "-q",
            "-s",
            str(scale),
        ]
        command.append("postgres")
    else:
        command = sysbench_command(server, workload, "prepare")
    run_client(command, PREPARE_LIMIT_S)


def run_client(command: list[str], limit_s: float) -> str:
    """Run to its end and return what it said; BenchError with that when it failed."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=limit_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BenchError(f"no end in {limit_s:.0f} s: {' '.join(command)}") from None
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def transactions(report: str) -> int | None:
    """Transactions in all, from the closing report of sysbench or pgbench; None without one."""
    found = re.search(
        r"transactions:\s+(\d+)|number of transactions actually processed: (\d+)", report
    )
    return int(found.group(1) or found.group(2)) if found else None


def p95_ms(report: str) -> float:
    """sysbench's 95th percentile of latency; BenchError when the report has none."""
    found = re.search(r"95th percentile:\s+([\d.]+)", report)
    if not found:
        raise BenchError(f"sysbench reported no 95th percentile:\n{report[-2000:]}")
    return float(found.group(1))
