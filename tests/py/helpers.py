"""What several test files need: event rows of a watched session, sums, waiting, a raw client.

Convention: the *watched* session does something, an *observer* session looks at its rows. Events
are final when the client has the answer, so no test needs to sleep before it looks.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.rows import namedtuple_row

ROOT = Path(__file__).resolve().parents[2]
LOAD_SECONDS = int(os.environ.get("PFS_LOAD_SECONDS", "8"))
"""Duration of each load test; 60 for the full proof."""
DEADLINE_S = 20.0
PS_PER_S = 10**12


# --- reading ----------------------------------------------------------------------------------


def rows(conn: Any, sql: str, *params: Any) -> list[Any]:
    """All rows as named tuples. Without parameters `%` is an ordinary character."""
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(sql, params or None).fetchall()


def one(conn: Any, sql: str, *params: Any) -> Any:
    """The only column of the only row."""
    found = conn.execute(sql, params or None).fetchall()
    assert len(found) == 1 and len(found[0]) == 1, found
    return found[0][0]


def status(conn: Any) -> dict[str, int]:
    """performance_schema.status as a dictionary."""
    return dict(
        conn.execute(
            "SELECT variable_name, variable_value FROM performance_schema.status"
        ).fetchall()
    )


def losses(conn: Any) -> dict[str, int]:
    """The loss counters that are not zero."""
    return {
        name: value
        for name, value in status(conn).items()
        if value and (name.endswith("_lost") or name.endswith("_unstable_reads"))
    }


def thread_of(observer: Any, watched: Any) -> int:
    """THREAD_ID of a session."""
    return one(observer, "SELECT performance_schema.ps_thread_id(%s)", watched.info.backend_pid)


def name_counts(observer: Any, thread_id: int) -> dict[str, int]:
    """COUNT_STAR of one thread by statement name, without the prefix `statement/`."""
    found = observer.execute(
        "SELECT event_name, count_star "
        "FROM performance_schema.events_statements_summary_by_thread_by_event_name "
        "WHERE thread_id = %s",
        (thread_id,),
    ).fetchall()
    return {name.removeprefix("statement/"): count for name, count in found}


def difference(new: dict[str, int], old: dict[str, int]) -> dict[str, int]:
    """What has grown, and by how much."""
    grown = {name: new.get(name, 0) - old.get(name, 0) for name in new.keys() | old.keys()}
    return {name: value for name, value in grown.items() if value}


# --- switching --------------------------------------------------------------------------------


def everything_on(conn: Any) -> None:
    """All instruments, timed where possible, and all consumers."""
    conn.execute("SELECT performance_schema.set_instruments('%', true, true)")
    conn.execute("SELECT performance_schema.set_consumers('%', true)")


@contextlib.contextmanager
def consumers(conn: Any, **states: bool) -> Iterator[None]:
    """Consumers as said for the duration of a block: consumers(conn, statements_digest=False)."""
    before = dict(
        conn.execute("SELECT name, enabled FROM performance_schema.setup_consumers").fetchall()
    )
    switch = "SELECT performance_schema.set_consumers(%s, %s::text)"
    for name, state in states.items():
        conn.execute(switch, (name.replace("_", "\\_"), "YES" if state else "NO"))
    try:
        yield
    finally:
        for name in states:
            conn.execute(switch, (name.replace("_", "\\_"), before[name]))


@contextlib.contextmanager
def instruments(conn: Any, pattern: str, enabled: str, timed: str | None = None) -> Iterator[None]:
    """Instruments as said for the duration of a block, then on and timed again."""
    switch = "SELECT performance_schema.set_instruments(%s, %s::text, %s::text)"
    conn.execute(switch, (pattern, enabled, timed))
    try:
        yield
    finally:
        conn.execute(switch, (pattern, "YES", "YES"))


def background_off(conn: Any) -> None:
    """Background processes and new threads record nothing from now on.

    A wait that lasts is still recorded when it ends: a reload wakes all of them once.
    """
    conn.execute("SELECT performance_schema.set_thread_classes('%', false)")
    conn.execute(
        "UPDATE performance_schema.threads SET instrumented = 'NO' WHERE type = 'BACKGROUND'"
    )
    conn.execute("SELECT pg_reload_conf()")
    lasting = (
        "SELECT count(*) FROM performance_schema.events_waits_current "
        "JOIN performance_schema.threads USING (thread_id) "
        "WHERE type = 'BACKGROUND' AND end_event_id IS NULL"
    )
    wait_until(lambda: one(conn, lasting) == 0, "no wait of a background process lasts")


# --- waiting ----------------------------------------------------------------------------------


def wait_until(condition: Callable[[], Any], what: str, timeout_s: float = DEADLINE_S) -> Any:
    """Ask until the answer is true; returns it. Fails after the deadline."""
    deadline = time.monotonic() + timeout_s
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not in {timeout_s} s: {what}"
        time.sleep(0.01)


def wait_for_state(observer: Any, pid: int, condition: str) -> None:
    """Until a row of pg_stat_activity fulfils an SQL condition."""
    sql = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND ({condition})"
    wait_until(lambda: one(observer, sql) == 1, f"{pid}: {condition}")


def wait_gone(observer: Any, pid: int) -> None:
    """Until a backend has left pg_stat_activity and its thread the table threads."""
    sql = (
        f"SELECT (SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}) + "
        f"(SELECT count(*) FROM performance_schema.threads WHERE processlist_id = {pid})"
    )
    wait_until(lambda: one(observer, sql) == 0, f"end of {pid}")


# --- a watched session ------------------------------------------------------------------------


class Watched:
    """A session whose statement events an observer reads.

    The server should keep a long history (performance_schema.events_statements_history_size).
    """

    def __init__(self, cluster: Any, observer: Any, **options: Any) -> None:
        options.setdefault("prepare_threshold", None)  # else some execution is preceded by Parse
        self.conn = cluster.connect(**options)
        self.observer = observer
        self.pid = self.conn.info.backend_pid
        self.conn.execute("SELECT 1")
        self.thread_id = thread_of(observer, self.conn)

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.conn.close()

    def mark(self) -> int:
        """The newest event id in the history."""
        return one(
            self.observer,
            "SELECT coalesce(max(event_id), 0) FROM performance_schema.events_statements_history "
            "WHERE thread_id = %s",
            self.thread_id,
        )

    def events(self, since: int = 0) -> list[Any]:
        """Ended statements after a mark, in order of their start."""
        return rows(
            self.observer,
            "SELECT * FROM performance_schema.events_statements_history "
            "WHERE thread_id = %s AND event_id > %s ORDER BY event_id",
            self.thread_id,
            since,
        )

    def current(self) -> list[Any]:
        """Rows of events_statements_current, outermost first."""
        return rows(
            self.observer,
            "SELECT * FROM performance_schema.events_statements_current "
            "WHERE thread_id = %s ORDER BY event_id",
            self.thread_id,
        )

    def run(self, sql: str, *params: Any) -> list[Any]:
        """Execute; the events this made. An SQL error is expected where it happens."""
        since = self.mark()
        with contextlib.suppress(psycopg.Error):
            self.conn.execute(sql, params or None)
        return self.events(since)

    def event(self, sql: str, *params: Any) -> Any:
        """Execute; the one event of level 0 this made."""
        top = [event for event in self.run(sql, *params) if event.nesting_event_level == 0]
        assert len(top) == 1, top
        return top[0]


def read_to_end(conn: Any) -> None:
    """Wait for the end of what was sent by pgconn.send_query; nothing is kept of its answers."""
    while conn.pgconn.get_result() is not None:
        continue


# --- servers ------------------------------------------------------------------------------------


def serve_tls(server: Any) -> None:
    """Restart it with a certificate of its own; the test is skipped where it is built without TLS."""
    if "openssl" not in server.ask_pg_config("--configure"):
        pytest.skip("this server is built without TLS")
    subprocess.run(
        ["openssl", "req", "-new", "-x509", "-days", "2", "-nodes", "-subj", "/CN=localhost",
         "-out", server.data / "server.crt", "-keyout", server.data / "server.key"],
        check=True, capture_output=True,
    )  # fmt: skip
    for name in ("server.crt", "server.key"):
        (server.data / name).chmod(0o600)
        if server.owner:
            os.chown(server.data / name, server.owner.pw_uid, server.owner.pw_gid)
    server.configure(ssl=True)
    server.restart()


# --- descriptors, as documented ------------------------------------------------------------------


class Column(NamedTuple):
    """One line of docs/tables.md."""

    name: str
    type: str
    flags: frozenset[str]
    doc: str


class Table(NamedTuple):
    """One chapter of docs/tables.md, which is generated from the descriptors."""

    name: str
    doc: str
    rights: frozenset[str]
    columns: tuple[Column, ...]

    @property
    def keys(self) -> list[str]:
        return [column.name for column in self.columns if "key" in column.flags]


def _plain(text: str) -> str:
    return text.replace("\\", "").strip()


@lru_cache(maxsize=1)
def tables() -> tuple[Table, ...]:
    """All tables in the order of the documentation."""
    text = (ROOT / "docs" / "tables.md").read_text()
    found = []
    for chapter in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, doc, rights = [part.strip() for part in chapter.split("\n\n")[:3]]
        columns = []
        for line in chapter.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if not line.startswith("| ") or cells[0] == "Column":
                continue
            flags = frozenset(re.split(r",\s*", cells[2])) if cells[2] else frozenset()
            columns.append(Column(_plain(cells[0]), cells[1], flags, _plain(cells[3])))
        found.append(Table(name, _plain(doc), frozenset(re.split(r",\s*", rights)), tuple(columns)))
    assert len(found) > 30
    return tuple(found)


def truncatable() -> list[str]:
    """Tables of statistics and events that can be TRUNCATEd (rules are not among them)."""
    return [
        table.name
        for table in tables()
        if "TRUNCATE" in table.rights and not table.name.startswith("setup_")
    ]


# --- a raw client -------------------------------------------------------------------------------


class RawClient:
    """Speaks the protocol's messages one by one, as no driver lets us.

    Messages are queued by parse(), bind(), ... and sent by sync(), flush() or query(), which return
    the answers as (type, body) pairs.
    """

    def __init__(self, cluster: Any, dbname: str = "postgres", user: str = "postgres") -> None:
        self.sock = socket.create_connection((cluster.host, cluster.port), timeout=DEADLINE_S)
        self.queue = b""
        self.input = b""
        self.pid = self.key = 0
        words = b"".join(
            word.encode() + b"\0"
            for word in ("user", user, "database", dbname, "client_encoding", "UTF8")
        )
        body = struct.pack("!i", 196608) + words + b"\0"
        self.sock.sendall(struct.pack("!i", len(body) + 4) + body)
        for kind, answer in self.read_until("Z"):
            if kind == "K":
                self.pid, self.key = struct.unpack("!ii", answer[:8])

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_exc: object) -> None:
        with contextlib.suppress(OSError):
            self.sock.sendall(self._message("X"))
        self.sock.close()

    @staticmethod
    def _message(kind: str, body: bytes = b"") -> bytes:
        return kind.encode() + struct.pack("!i", len(body) + 4) + body

    def add(self, kind: str, body: bytes = b"") -> RawClient:
        self.queue += self._message(kind, body)
        return self

    def parse(self, sql: str, name: str = "") -> RawClient:
        return self.add("P", name.encode() + b"\0" + sql.encode() + b"\0" + struct.pack("!h", 0))

    def bind(self, *values: str, portal: str = "", name: str = "") -> RawClient:
        texts = [value.encode() for value in values]
        body = portal.encode() + b"\0" + name.encode() + b"\0" + struct.pack("!hh", 0, len(texts))
        body += b"".join(struct.pack("!i", len(text)) + text for text in texts)
        return self.add("B", body + struct.pack("!h", 0))

    def describe(self, what: str = "P", name: str = "") -> RawClient:
        return self.add("D", what.encode() + name.encode() + b"\0")

    def execute(self, portal: str = "", max_rows: int = 0) -> RawClient:
        return self.add("E", portal.encode() + b"\0" + struct.pack("!i", max_rows))

    def close_object(self, what: str, name: str) -> RawClient:
        return self.add("C", what.encode() + name.encode() + b"\0")

    def function_call(self, oid: int, *values: str | None) -> RawClient:
        """A fast-path call with the arguments as text; None is NULL."""
        body = struct.pack("!Ihh", oid, 0, len(values))
        for value in values:
            data = value.encode() if value is not None else b""
            body += struct.pack("!i", len(data) if value is not None else -1) + data
        return self.add("F", body + struct.pack("!h", 0))

    def send(self) -> None:
        self.sock.sendall(self.queue)
        self.queue = b""

    def read(self) -> tuple[str, bytes]:
        while len(self.input) < 5 or len(self.input) < 1 + struct.unpack("!i", self.input[1:5])[0]:
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError("the server closed the connection")
            self.input += data
        end = 1 + struct.unpack("!i", self.input[1:5])[0]
        message = (self.input[:1].decode(), self.input[5:end])
        self.input = self.input[end:]
        return message

    def read_until(self, kinds: str) -> list[tuple[str, bytes]]:
        answers = [self.read()]
        while answers[-1][0] not in kinds:
            answers.append(self.read())
        return answers

    def sync(self) -> list[tuple[str, bytes]]:
        self.add("S").send()
        return self.read_until("Z")

    def flush(self, until: str) -> list[tuple[str, bytes]]:
        """Sends without ending the message cycle; `until` are the types of the last answer."""
        self.add("H").send()
        return self.read_until(until)

    def call_function(self, oid: int, *values: str | None) -> list[tuple[str, bytes]]:
        self.function_call(oid, *values).send()
        return self.read_until("Z")

    def query(self, sql: str, until: str = "Z") -> list[tuple[str, bytes]]:
        self.add("Q", sql.encode() + b"\0").send()
        return self.read_until(until)
