#!/usr/bin/env python3
"""What a statement costs inside a real backend, counted by valgrind's callgrind.

    backend_bench.py --pg-config X [--check | --update] [--keep FILE]

Instructions and misses of the first-level caches (32 kB, 8 ways, lines of 64 bytes) per statement,
for each load and each state of the library that is installed there. PostgreSQL 18 only. Figures:

    own     what the library's code costs
    total   what the whole backend costs more than on a server without the library: also what the
            library makes the server and libc do

A server of each state runs under callgrind, two of them at a time. A load runs there in sessions of
two lengths; the difference of their costs over the difference of their statements is the cost of
one: start and end of a session cancel out. --check compares (backend_ceilings.py) and ends with the
line `N passed, N failed, N above must`; --update makes what was counted the new ceilings; --keep
writes all of it to a file. All that takes 7 minutes on two idle processors.

What makes the figures repeat, whatever else the machine does:
- all servers start from copies of one data folder, in whose contents nothing is random;
- no process works but the session's, of which nothing counts that was before its main loop, or
  that it does once a second;
- a command comes when the backend waits for it (patient_proxy.py);
- misses depend on addresses. Under valgrind they are not random, but stack and heap move with the
  environment and the length of paths: so the environment is empty, and a copy of the server runs in
  a folder with a name of fixed length. Each new session has another place in shared memory: so a
  figure is the mean of several pairs of sessions, always the same ones.
What is left is time: how long a statement takes decides which line of a histogram is touched.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import sys
import time
from concurrent import futures
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from backend_ceilings import (
    WITHOUT, columns, header, judge, moved, read_ceilings, read_musts, write_ceilings,
)  # fmt: skip
from callgrind import (
    NOTHING, BenchError, Costs, Profile, compiler, need_programs, output_of, total,
)  # fmt: skip
from patient_proxy import PatientProxy
from pfs_cluster import SUPERUSER, Cluster, ClusterError, Setting
from server_tree import copy_server

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = ROOT / "tests" / "bench" / "backend_ceilings.json"
MUSTS = ROOT / "tests" / "bench" / "backend_musts.json"
CONSUMERS = ROOT / "src" / "core" / "consumers.def"
MAJOR = 18
LIBRARY = "performance_schema"
DATABASE = "bench"
SEED = 7
SERVERS_AT_ONCE = 2
PAIRS = 3
CLIENT_LIMIT_S = 300
LIMIT_S = 1200  # on an idle machine it takes a third of that
BY_THE_CLOCK = "pgstat_report_stat"
"""Once a second: the slower the machine, the more of it for each statement. No part of `whole`."""
UNDER = (
    "env", "-i", "LC_ALL=C", shutil.which("valgrind") or "valgrind", "-q", "--tool=callgrind",
    "--callgrind-out-file={base}/callgrind.%p",
    # a backend is a fork of the server's first process, and has what that one cost, which grows
    "--zero-before=PostgresMain",
    # said in full: valgrind would take them from the processor it runs on
    "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=33554432,16,64",
)  # fmt: skip
CONF: dict[str, Setting] = {
    "max_connections": 20,
    "shared_buffers": "128MB",
    # nothing in the background
    "autovacuum": False,
    "bgwriter_lru_maxpages": 0,
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "max_logical_replication_workers": 0,
    # nothing that depends on the time since a checkpoint, or on the disk
    "full_page_writes": False,
    "fsync": False,
    # ANALYZE looks at a random sample of a table that has more than 300 times as many rows
    "default_statistics_target": 400,
}


# --- loads and states -----------------------------------------------------------------------


@dataclass(frozen=True)
class Load:
    """Statements that one session executes: `per_turn` in each turn of a client's script."""

    name: str
    program: str
    script: str
    per_turn: int
    turns: tuple[int, int]
    options: tuple[str, ...] = ()


NESTED = 200
ROWS = 10_000  # of sbtest1
LOADS = (
    Load("oltp_point_select", "sysbench", "oltp_point_select", 1, (100, 1100)),
    # each statement is planned afresh: -b select-only, as pgbench -S
    Load("pgbench_simple", "pgbench", "select-only", 1, (100, 800), ("-M", "simple")),
    Load("nested", "pgbench", "nested.sql", NESTED, (5, 30), ("-M", "prepared")),
    # whatever is no scan of one index: nothing, a small table, a join, a change of a small table
    Load("shapes", "pgbench", "shapes.sql", 4, (40, 190), ("-M", "prepared")),
    Load("pgbench_prepared", "pgbench", "tpcb-like", 7, (40, 190), ("-M", "prepared")),
    # updates, an insert and a block; select-only would be oltp_point_select with a Parse more
    Load("pgbench_extended", "pgbench", "tpcb-like", 7, (40, 190), ("-M", "extended")),
    Load("oltp_read_write", "sysbench", "oltp_read_write", 20, (20, 80)),
)
"""Those that write come last, so that the others read what was prepared."""
FILES = {
    "nested.sql": f"SELECT nested({NESTED});\n",
    "shapes.sql": """\\set aid random(1, 100000)
SELECT 1;
SELECT tbalance FROM pgbench_tellers WHERE tid = 5;
SELECT abalance, bbalance FROM pgbench_accounts AS a JOIN pgbench_branches AS b USING (bid) WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 5;
""",
}

DATA = f"""
CREATE FUNCTION nested(k int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
    FOR i IN 1 .. k LOOP SELECT abalance INTO x FROM pgbench_accounts WHERE aid = i; END LOOP;
END $$;
-- as `sysbench prepare`, whose rows are random whatever its seed
CREATE FUNCTION digits(i bigint, groups int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(lpad(abs(hashint8(i * 100 + g)::bigint)::text, 11, '0'), '-' ORDER BY g)
    FROM generate_series(1, groups) g
$$;
CREATE TABLE sbtest1 (id serial PRIMARY KEY, k integer DEFAULT 0 NOT NULL,
    c char(120) DEFAULT '' NOT NULL, pad char(60) DEFAULT '' NOT NULL);
INSERT INTO sbtest1 (k, c, pad)
    SELECT 1 + abs(hashint8(-i)::bigint) % {ROWS}, digits(i, 10), digits(-i, 5)
    FROM generate_series(1, {ROWS}) i;
CREATE INDEX k_1 ON sbtest1 (k);
CREATE EXTENSION pg_prewarm;
"""
PREWARM = """SELECT sum(pg_prewarm(oid)) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')"""


def everything() -> dict[str, Setting]:
    """Every instrument and consumer but CPU time, which is two system calls a statement."""
    names = re.findall(r"^PFS_CONSUMER\(\w+, (\w+),", CONSUMERS.read_text(), re.MULTILINE)
    consumers = {f"{LIBRARY}.consumer_{name}": name != "events_statements_cpu" for name in names}
    return {f"{LIBRARY}.instrument": "%=on", **consumers}


def states() -> dict[str, dict[str, Setting]]:
    """The library's settings in each state, the slowest first."""
    return {"everything": everything(), "default": {}, "off": {f"{LIBRARY}.instrument": "%=off"}}


# --- measuring ------------------------------------------------------------------------------


def make_data(server: Cluster) -> None:
    """Fill the server's data folder; it is stopped afterwards."""
    server.initdb()
    server.start()
    server.psql(f"CREATE DATABASE {DATABASE}")
    env = server.client_env(DATABASE)
    output_of([str(server.bindir / "pgbench"), "-i", "-q", "-s", "1"], env=env)
    server.psql(DATA, dbname=DATABASE)
    server.psql("VACUUM (FREEZE, ANALYZE)", dbname=DATABASE)
    server.stop()


def client_command(server: Cluster, load: Load, turns: int, host: str) -> list[str]:
    """The program that executes so many turns of the load in one session."""
    if load.program == "sysbench":
        return [
            "sysbench", load.script, "--db-driver=pgsql", f"--pgsql-host={host}",
            f"--pgsql-port={server.port}", f"--pgsql-user={SUPERUSER}", f"--pgsql-db={DATABASE}",
            "--tables=1", f"--table-size={ROWS}", "--threads=1", "--time=0", f"--events={turns}",
            f"--rand-seed={SEED}", "run",
        ]  # fmt: skip
    script = ["-f", str(server.base / load.script)] if load.script in FILES else ["-b", load.script]
    return [
        str(server.bindir / "pgbench"), "-n", *script, *load.options, "-c", "1", "-j", "1",
        "-t", str(turns), f"--random-seed={SEED}",
    ]  # fmt: skip


class Counted:
    """A server under callgrind, and what sessions cost there."""

    def __init__(self, server: Cluster, proxy: PatientProxy, host: Path) -> None:
        self.server, self.proxy = server, proxy
        self.env = {**server.client_env(DATABASE), "PGHOST": str(host)}

    def run(self, command: list[str]) -> dict[str, Costs]:
        """What the program's session cost: `own` code and the `whole` backend.

        Of more than one session the dearest: pgbench looks at its tables in another.
        """
        output_of(command, env=self.env, timeout_s=CLIENT_LIMIT_S)
        sessions = [self._read(pid) for pid in self.proxy.take_ended()]
        if not sessions:
            raise BenchError(f"{self.server.name}: no session of {' '.join(command)}")
        return max(sessions, key=lambda costs: costs["whole"].instructions)

    def per_statement(self, load: Load) -> dict[str, Costs]:
        """The same for one statement."""
        few, many = (
            client_command(self.server, load, turns, self.env["PGHOST"]) for turns in load.turns
        )
        self.run(few)  # finds nothing in any cache
        sums = {"own": NOTHING, "whole": NOTHING}
        for _ in range(PAIRS):
            small, large = self.run(few), self.run(many)
            sums = {kind: sums[kind].plus(large[kind]).plus(small[kind], -1) for kind in sums}
        statements = PAIRS * (load.turns[1] - load.turns[0]) * load.per_turn
        return {kind: costs.over(statements) for kind, costs in sums.items()}

    def _read(self, pid: int) -> dict[str, Costs]:
        file = self.server.base / f"callgrind.{pid}"
        with file.open() as lines:
            profile = Profile(lines)
        file.unlink()
        costs = profile.objects()
        own = (cost for path, cost in costs.items() if Path(path).name == f"{LIBRARY}.so")
        whole = total(costs.values()).plus(profile.calls(BY_THE_CLOCK), -1)
        return {"own": total(own), "whole": whole}


def measure_server(server: Cluster, data: Cluster) -> dict[str, dict[str, Costs]]:
    """All loads on one server, by their names."""
    began = time.monotonic()
    server.copy_data(data)
    for name, text in FILES.items():
        (server.base / name).write_text(text)
    server.start()
    host = server.base / "proxy"
    with closing(PatientProxy(host, server.socket_dir, server.port)) as proxy:
        counted = Counted(server, proxy, host)
        counted.run([str(server.bindir / "psql"), "-X", "-c", PREWARM])
        found = {load.name: counted.per_statement(load) for load in LOADS}
    server.remove()
    print(f"{server.name}: {time.monotonic() - began:.0f} s", flush=True)
    return found


def measure(pg_config: str) -> dict[str, dict[str, dict[str, Costs]]]:
    """By state, load, and `own` or `whole`; the state `without` has no library."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="pfs-server-")))
        folder.chmod(0o755)
        pg_config = str(copy_server(Path(pg_config), folder / "tree"))
        data = stack.enter_context(closing(Cluster(pg_config, conf=CONF, name="data")))
        servers = [
            Cluster(pg_config, preload=[LIBRARY], conf={**CONF, **conf}, name=state, under=UNDER)
            for state, conf in states().items()
        ]
        servers.append(Cluster(pg_config, conf=CONF, name=WITHOUT, under=UNDER))
        for server in servers:
            stack.enter_context(closing(server))
        make_data(data)
        with futures.ThreadPoolExecutor(SERVERS_AT_ONCE) as pool:
            work = [pool.submit(measure_server, server, data) for server in servers]
            try:
                for job in futures.wait(work, LIMIT_S, futures.FIRST_EXCEPTION).done:
                    job.result()  # what failed tells why before what was not waited for
                return {server.name: job.result(0) for server, job in zip(servers, work)}
            except BaseException as error:
                pool.shutdown(wait=False, cancel_futures=True)
                for server in servers:
                    server.remove()  # what still runs ends with its server
                if isinstance(error, futures.TimeoutError):
                    raise BenchError(f"no end in {LIMIT_S} s") from None
                raise


def rows(found: dict[str, dict[str, dict[str, Costs]]]) -> dict[str, dict[str, Costs]]:
    """`LOAD STATE`: own, and total, the difference to the server without the library."""
    return {
        f"{load.name} {state}": {
            "own": found[state][load.name]["own"],
            "total": found[state][load.name]["whole"]
            .plus(found[WITHOUT][load.name]["whole"], -1)
            .over(1),
        }
        for load in LOADS
        for state in reversed(states())
    }


def need_server(pg_config: str) -> None:
    """BenchError when this is not the server that the ceilings are for, or lacks the library."""
    version = output_of([pg_config, "--version"]).strip()
    if not re.match(rf"PostgreSQL {MAJOR}(?!\d)", version):
        raise BenchError(f"{pg_config} is {version}: statements are counted on {MAJOR} only")
    library = Path(output_of([pg_config, "--pkglibdir"]).strip(), f"{LIBRARY}.so")
    if not library.exists():
        raise BenchError(f"{library} is missing: make PG_CONFIG={pg_config} install")


def facts(pg_config: str, found: dict[str, dict[str, dict[str, Costs]]]) -> dict[str, Any]:
    """Where the figures come from, and what the server itself costs there."""
    return {
        "compiler": f"gcc {compiler()}",
        "libc": " ".join(platform.libc_ver()),
        "server": output_of([pg_config, "--version"]).strip(),
        "valgrind": output_of(["valgrind", "--version"]).strip(),
        WITHOUT: {load: kinds["whole"] for load, kinds in found[WITHOUT].items()},
    }


def main() -> int:
    """Parse the command line; see the module's comment."""
    parser = argparse.ArgumentParser(description="instructions per statement in a real backend")
    parser.add_argument("--pg-config", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        need_programs("valgrind", "sysbench", "gcc")
        need_server(options.pg_config)
        found = measure(options.pg_config)
        where = facts(options.pg_config, found)
    except (BenchError, ClusterError) as error:
        print(f"backend_bench: {error}", file=sys.stderr)
        return 1
    counted = rows(found)
    for path in (options.keep, CEILINGS if options.update else None):
        if path:
            write_ceilings(path, where, counted)
    then, ceilings = read_ceilings(CEILINGS)
    verdicts = judge(counted, ceilings, read_musts(MUSTS))
    failed = sum(verdict.word != "ok" for verdict in verdicts)
    print("per statement: instructions, and misses of the first-level caches")
    for load, costs in where[WITHOUT].items():
        print(f"{'':6}{load + ' without':29}{'whole':6}{columns(costs)}")
    print("\n".join([header(), *(verdict.line() for verdict in verdicts)]))
    print("".join(f"note: {note}\n" for note in moved(where, then)), end="")
    above_must = sum(bool(verdict.above_must) for verdict in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed, {above_must} above must")
    return 1 if options.check and failed else 0


if __name__ == "__main__":
    sys.exit(main())
