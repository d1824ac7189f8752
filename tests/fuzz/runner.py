"""Two servers, with and without the library: run a script on both and compare."""

from __future__ import annotations

import ctypes
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from helpers import DEADLINE_S
from pfs_cluster import Cluster

from .protocol import Session, comparable
from .script import Script

DATABASE = "fuzz"
SCHEMA = Path(__file__).with_name("schema.sql")
DEATH = re.compile(r"terminated by signal \d+.*|PANIC:.*|server process .* was terminated.*")
POLL_S = 0.002
DEATH_S = 5.0

CONF = {
    "autovacuum": False, "fsync": False, "max_connections": 20, "jit": False,
    "max_parallel_workers_per_gather": 0, "synchronize_seqscans": False, "compute_query_id": "on",
    "max_wal_size": "4GB", "checkpoint_timeout": "1h", "log_min_messages": "log",
    "log_min_error_statement": "panic", "max_locks_per_transaction": 256,
}  # fmt: skip
"""Everything that could let the two differ by themselves is off."""

FREED_MEMORY = {"MALLOC_PERTURB_": "165", "MALLOC_MMAP_THRESHOLD_": "8192"}
"""What a server's process uses after it was freed is garbage, or not there any more."""

MODES = {
    "default": "SELECT fuzz_defaults()",
    "everything": "SELECT performance_schema.set_instruments('%', true, true), "
    "performance_schema.set_consumers('%', true)",
    "counted": "SELECT performance_schema.set_instruments('%', true, false), "
    "performance_schema.set_consumers('%', true)",
    "nothing": "SELECT performance_schema.set_instruments('%', false, false), "
    "performance_schema.set_consumers('%', true)",
}
KEEP_DEFAULTS = r"""
CREATE TABLE default_instruments AS
    SELECT DISTINCT CASE WHEN uniform AND prefix <> '' THEN prefix || '%' ELSE name END AS pattern,
        enabled, timed
    FROM (SELECT name, enabled, timed, prefix,
            min(enabled::text || timed) OVER p = max(enabled::text || timed) OVER p AS uniform
        FROM (SELECT *, regexp_replace(name, '[^/]*$', '') AS prefix
            FROM performance_schema.setup_instruments) s
        WINDOW p AS (PARTITION BY prefix)) s;
CREATE TABLE default_consumers AS SELECT name, enabled FROM performance_schema.setup_consumers;
CREATE FUNCTION fuzz_defaults() RETURNS void LANGUAGE sql AS $$
    SELECT performance_schema.set_instruments(pattern, enabled, timed)
        FROM default_instruments ORDER BY pattern;
    SELECT performance_schema.set_consumers(name, enabled) FROM default_consumers;
$$;
"""


def same_addresses() -> None:
    """No random addresses in programs that are started from now on, where the system allows it."""
    ctypes.CDLL(None).personality(0x0040000)  # ADDR_NO_RANDOMIZE


class Server:
    """One of the two: its cluster, the control connection, and who holds locks."""

    def __init__(self, pg_config: str, library: bool) -> None:
        self.library = library
        self.cluster = Cluster(
            pg_config, preload=["performance_schema"] if library else [], conf=CONF,
            name="with the library" if library else "plain",
        )  # fmt: skip
        os.environ.update(FREED_MEMORY)
        self.cluster.__enter__()
        for name in FREED_MEMORY:
            del os.environ[name]
        self.cluster.psql(f"CREATE DATABASE {DATABASE} TEMPLATE template0")
        self.cluster.psql(file=SCHEMA, dbname=DATABASE)
        if library:
            self.cluster.psql("CREATE EXTENSION performance_schema", dbname=DATABASE)
            self.cluster.psql(KEEP_DEFAULTS, dbname=DATABASE)
        self.log_seen = self.cluster.log_position()
        self.mode = ""
        self.reset_at = 0
        self.functions: dict[str, int] = {}
        self.connect()

    def connect(self) -> None:
        """The control connection, and the one that holds locks."""
        self.control = self.cluster.connect(dbname=DATABASE)
        self.holder = self.cluster.connect(dbname=DATABASE)

    def close(self) -> None:
        self.control.close()
        self.holder.close()
        self.cluster.remove()

    def function(self, name: str) -> int:
        """OID of a function, by its name and argument types."""
        if name not in self.functions:
            found = self.control.execute("SELECT %s::regprocedure::oid", (name,)).fetchone()
            self.functions[name] = found[0]
        return self.functions[name]

    def deaths(self, wait: bool = False) -> list[str]:
        """What the log says since the last call about processes that died.

        `wait`: a connection was lost, and the postmaster is about to say why.
        """
        deadline = time.monotonic() + DEATH_S
        while wait and not DEATH.search(self.cluster.log_text(self.log_seen)):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        if self.cluster.log_position() == self.log_seen:
            return []
        text = self.cluster.log_text(self.log_seen)
        self.log_seen += len(text.encode())
        return DEATH.findall(text)

    def recover(self) -> None:
        """After a crash: wait until the server is there again."""
        self.control.close()
        self.holder.close()
        deadline = time.monotonic() + 60
        while True:
            try:
                self.cluster.wait_ready()
                self.connect()
                break
            except psycopg.Error:  # a second process of it has died
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        self.mode = ""
        self.reset_at = 0

    def prepare(self, mode: str) -> None:
        """Data and switches as at the start of every sequence."""
        if self.library and mode != self.mode:
            self.control.execute(MODES[mode])
        self.mode = mode
        if self.newest_transaction() != self.reset_at:
            self.control.execute("SELECT reset_data()")
            self.reset_at = self.newest_transaction()

    def newest_transaction(self) -> int:
        """The next transaction id: it changes with everything that is written."""
        found = self.control.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        return found.fetchone()[0]

    def switch(self, commands: list[str], pid: int) -> None:
        """Control commands; `:pid` in them is the fuzzed session's."""
        self.mode = ""
        for command in commands if self.library else []:
            self.control.execute(command.replace(":pid", str(pid)))

    def hold(self, kind: str, number: int) -> None:
        if kind == "advisory":
            self.holder.execute("SELECT pg_advisory_lock(%s)", (number,))
        else:
            self.holder.execute("BEGIN")
            self.holder.execute("SELECT FROM latch WHERE id = %s FOR UPDATE", (number,))

    def let_go(self, kind: str) -> None:
        sql = "SELECT pg_advisory_unlock_all()" if kind == "advisory" else "COMMIT"
        self.holder.execute(sql)

    def cancel(self, session: Session) -> None:
        """Once. Before 18 the postmaster sends two signals for a CancelRequest; the second may hit
        what a handler does next."""
        if self.cluster.version() >= 18:
            session.cancel(self.cluster)
        else:
            self.control.execute("SELECT pg_cancel_backend(%s)", (session.pid,))

    def is_blocked(self, pid: int) -> bool:
        sql = f"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = {pid}"
        found = self.control.execute(sql).fetchone()
        return found is not None and bool(found[0])


class Run:
    """One script on one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.session = Session(server.cluster, DATABASE)

    def send(self, step: list[Any]) -> None:
        """A message of the extended protocol, queued."""
        word, args = step[0], step[1:]
        session = self.session
        if word == "parse":
            session.parse(args[1], args[0])
        elif word == "bind":
            session.bind(*args[2], portal=args[0], name=args[1])
        elif word == "describe":
            session.describe(*args)
        elif word == "execute":
            session.execute(*args)
        elif word == "close":
            session.close_object(*args)
        else:
            raise ValueError(f"no such step: {word}")

    def start(self, step: list[Any]) -> None:
        """Send something that ReadyForQuery will end."""
        word, args = step[0], step[1:]
        session = self.session
        if word == "call":
            session.function_call(self.server.function(args[0]), *args[1])
        elif word == "execute_copy":
            session.execute(args[0])
            session.copy_data(args[1], args[2])
            session.add("S").unanswered.clear()
        elif word == "suspend":
            session.parse(args[1], "x")
            for number in range(args[0]):
                session.bind(portal=f"x{number}", name="x").execute(f"x{number}", 1)
            session.close_object("S", "x").add("S").unanswered.clear()
        elif word == "pipeline":
            for message in args[0]:
                self.send(message)
            session.add("S").unanswered.clear()
        else:
            session.add("Q", args[0].encode() + b"\0")
            if word == "copy":
                session.copy_data(args[1], args[2])
        session.send()

    def step(self, step: list[Any]) -> list[tuple[str, bytes]]:
        """One step; the answers that it waited for."""
        word, args = step[0], step[1:]
        session = self.session
        if word == "sync":
            return session.end_cycle()
        if word == "flush":
            session.add("H").send()
            return session.answers()
        if word == "switch":
            found = session.settle()
            self.server.switch(args, session.pid)
            return found
        if word == "recover":
            return self.new_start(args)
        if word == "repeat":
            inner = args[0] * args[1]
            return [answer for step in inner for answer in self.step(step)]
        if word == "blocked":
            return self.blocked(*args)
        if word in ("parse", "bind", "describe", "execute", "close"):
            self.send(step)
            return []
        found = session.settle() if word in ("query", "copy", "call") else []
        self.start(step)
        return found + session.read_until("Z")

    def new_start(self, savepoints: list[str]) -> list[tuple[str, bytes]]:
        """If the transaction has failed: back to a savepoint if there is one, else a new one."""
        session = self.session
        found: list[tuple[str, bytes]] = []
        for sql in [f"ROLLBACK TO {name}" for name in savepoints] + ["ROLLBACK; BEGIN"]:
            if session.status == b"E" and not session.unanswered:
                found += self.step(["query", sql])
        return found

    def blocked(
        self, kind: str, number: int, end: str, inner: list[Any], *commands: str
    ) -> list[tuple[str, bytes]]:
        """A step that waits for a lock; once it does, switches are thrown, then it is ended."""
        found = self.session.settle()
        self.server.hold(kind, number)
        try:
            self.start(inner)
            deadline = time.monotonic() + DEADLINE_S
            waits = False
            while not waits and not self.session.answered(POLL_S):
                waits = self.server.is_blocked(self.session.pid)
                if time.monotonic() > deadline:
                    raise TimeoutError("neither blocked nor answered")
            self.server.switch(list(commands), self.session.pid)
            found.append(("blocked", b"yes" if waits else b"no"))
            if waits and end == "cancel":
                self.server.cancel(self.session)
                found += self.session.read_until("Z")
                return found
        finally:
            self.server.let_go(kind)
        return found + self.session.read_until("Z")

    def all(self, script: Script) -> list[list[str]]:
        """The transcript: what each step, and the end, was answered."""
        transcript: list[list[str]] = []
        try:
            for step in [*script.steps, ["sync"]]:
                transcript.append(comparable(self.step(step)))
        except (ConnectionError, TimeoutError, psycopg.OperationalError) as error:
            transcript.append([f"LOST: {type(error).__name__}"])
        self.session.leave()
        return transcript


@dataclass
class Finding:
    """Where the two servers part."""

    kind: str  # "crash" or "difference"
    step: int
    plain: list[str]
    library: list[str]
    note: str = ""

    def text(self, script: Script) -> str:
        """For people."""
        step = script.steps[self.step] if self.step < len(script.steps) else ["end"]
        lines = [f"{self.kind} at step {self.step + 1}: {step}"[:400], self.note]
        for name, found in (("plain", self.plain), ("library", self.library)):
            lines += [f"  {name}:"] + [f"    {line[:200]}" for line in found[:12]]
        return "\n".join(line for line in lines if line)


class Pair:
    """Both servers; `plain`: the second one has no library either, so nothing may differ."""

    def __init__(self, pg_config: str, plain: bool = False) -> None:
        same_addresses()
        self.pool = ThreadPoolExecutor(2)
        self.servers = [Server(pg_config, library) for library in (False, not plain)]

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_exc: object) -> None:
        for server in self.servers:
            server.close()
        self.pool.shutdown()

    def transcript(self, server: Server, script: Script) -> tuple[list[list[str]], list[str]]:
        """What one server answers, and how its processes died, if they did."""
        try:
            server.prepare(script.mode)
            found = Run(server).all(script)
            lost = bool(found) and found[-1][:1] == ["LOST: ConnectionError"]
        except (ConnectionError, psycopg.OperationalError) as error:
            found, lost = [[f"LOST: {error}"]], True
        deaths = server.deaths(wait=lost)
        if lost or deaths:
            server.recover()
        return found, deaths

    def run(self, script: Script) -> Finding | None:
        """Run on both; the first difference, if any."""
        jobs = [self.pool.submit(self.transcript, server, script) for server in self.servers]
        (plain, plain_deaths), (library, deaths) = [job.result() for job in jobs]
        if plain_deaths:
            raise RuntimeError(f"the plain server died: {plain_deaths}\n{script.text()}")
        if deaths:
            step = len(library) - 1
            expected = plain[step] if step < len(plain) else []
            return Finding("crash", step, expected, library[step], "; ".join(deaths))
        for number, (one, other) in enumerate(zip(plain, library)):
            if one != other:
                at = next(
                    (i for i, (a, b) in enumerate(zip(one, other)) if a != b),
                    min(len(one), len(other)),
                )
                return Finding("difference", number, one[at:], other[at:])
        return None
