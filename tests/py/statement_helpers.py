"""What the tests of statements share: a client that counts its messages, books that are checked.

`Books` watches a session during a block and then checks what holds in every case: a statement lies
within the client's own stamps and takes no longer than that; what the client slept away belongs to
nobody; top-level statements do not overlap; nested ones fit into their caller; the sums have grown
by what the history shows; each answered message has counted once.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from helpers import (
    PS_PER_S,
    RawClient,
    difference,
    name_counts,
    one,
    rows,
    thread_of,
    wait_until,
)

STATEMENTS = "performance_schema.events_statements"
SUMMARY = f"{STATEMENTS}_summary"
ROUNDING_PS = 1000
STAMP_PS = 10**6
"""The server's stamp of a message is in whole microseconds."""
CLOCKS = 1.002
"""The client's clock and the server's timer may differ by a part of a thousand."""
PAUSE_S = 0.1
LATE_TO_PAUSE_S = PAUSE_S / 5
"""A busy machine does not run the server at once when its client pauses."""


def _major() -> int:
    """Major version of the server under test; marks need it before there is a server."""
    told = subprocess.run(
        [os.environ.get("PG_CONFIG") or "true", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"(\d+)", told.stdout)
    return int(found[1]) if found else 0


MAJOR = _major()


def unrecorded(connection: Any) -> Any:
    """A session of which nothing is recorded: what it reads does not move."""
    connection.execute(
        "SELECT performance_schema.set_thread("
        "performance_schema.ps_current_thread_id(), false, false)"
    )
    return connection


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process stands still for the duration of a block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        stat = Path(f"/proc/{pid}/stat")
        wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "stopped")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def server_now(observer: Any) -> int:
    """The timer that timer_start and timer_end are told in, now."""
    return int(
        one(
            observer,
            "SELECT timer_end FROM performance_schema.events_statements_current "
            "WHERE thread_id = performance_schema.ps_current_thread_id() AND end_event_id IS NULL",
        )
    )


def thread_sums(observer: Any, thread_id: int) -> dict[str, Any]:
    """A thread's row of each statement class."""
    found = rows(
        observer, f"SELECT * FROM {SUMMARY}_by_thread_by_event_name WHERE thread_id = {thread_id}"
    )
    return {row.event_name: row for row in found}


def history(observer: Any, thread_id: int, since: int = 0) -> list[Any]:
    """Ended statements of a thread, in order of their start."""
    return rows(
        observer,
        "SELECT * FROM performance_schema.events_statements_history "
        f"WHERE thread_id = {thread_id} AND event_id > {since} ORDER BY event_id",
    )


def seconds(event: Any) -> float:
    """How long it took."""
    return float(event.timer_wait) / PS_PER_S


def errors_of(observer: Any, thread_id: int) -> dict[str, tuple[int, int]]:
    """Errors of a thread by SQLSTATE: raised, handled."""
    found = rows(
        observer,
        "SELECT * FROM performance_schema.events_errors_summary_by_thread_by_error "
        f"WHERE thread_id = {thread_id} AND sum_error_raised + sum_error_handled > 0",
    )
    return {row.sql_state: (row.sum_error_raised, row.sum_error_handled) for row in found}


def around(observer: Any, thread_id: int) -> dict[int, list[int]]:
    """The events around each one of a thread, nearest first: transactions and statements."""
    found = rows(
        observer,
        "SELECT event_id, nesting_event_id "
        "FROM performance_schema.events_statements_history_long "
        f"WHERE thread_id = {thread_id} UNION ALL "
        "SELECT event_id, nesting_event_id "
        "FROM performance_schema.events_transactions_history_long "
        f"WHERE thread_id = {thread_id}",
    )
    parent = {row.event_id: row.nesting_event_id for row in found}
    found_above: dict[int, list[int]] = {}
    for event_id in parent:
        above = found_above.setdefault(event_id, [])
        while (event := parent.get(above[-1] if above else event_id)) is not None:
            above.append(event)
    return found_above


@contextlib.contextmanager
def long_histories(observer: Any) -> Iterator[None]:
    """The long histories of statements and transactions are kept during a block."""
    switch = "SELECT performance_schema.set_consumers('events\\_%\\_history\\_long', {})"
    observer.execute(switch.format("true"))
    yield
    observer.execute(switch.format("false"))


class Speaker(RawClient):
    """A raw client that counts the messages the server has answered."""

    ANSWERS: ClassVar = {"1": "Parse", "2": "Bind", "3": "Close", "T": "Describe", "n": "Describe",
               "C": "Execute", "s": "Execute", "I": "Execute", "V": "Function call"}  # fmt: skip

    def __init__(self, cluster: Any, observer: Any, **options: Any) -> None:
        self.answered: Counter[str] = Counter()
        self.failed = 0
        self.simple = False
        super().__init__(cluster, **options)
        self.observer = observer
        self.query("SELECT 1")
        self.thread_id = one(observer, "SELECT performance_schema.ps_thread_id(%s)", self.pid)

    def add(self, kind: str, body: bytes = b"") -> Speaker:
        super().add(kind, body)
        if kind in "QPBDECF":
            self.simple = kind == "Q"
        return self

    def read(self) -> tuple[str, bytes]:
        kind, body = super().read()
        if kind == "Z" and self.simple:
            self.answered["Query"] += 1
        elif kind == "E" and not self.simple:
            self.failed += 1
        elif kind in self.ANSWERS and not self.simple:
            self.answered[self.ANSWERS[kind]] += 1
        return kind, body

    def prepare(self, sql: str) -> Speaker:
        """Queues all messages of one execution."""
        self.parse(sql).bind().describe().execute()
        return self

    def extended(self, sql: str) -> str:
        """One execution; the types of the answers."""
        return "".join(kind for kind, _ in self.prepare(sql).sync())


class Books:
    """What a session records during a block. `client` is a Speaker or a connection of psycopg."""

    def __init__(
        self, observer: Any, client: Any, *, overlapping: bool = False, switched: bool = False
    ) -> None:
        self.observer = observer
        self.client = client
        self.overlapping = overlapping  # portals in turns: their spans overlap, not their times
        self.switched = switched  # something is off for a while: not all that happens is counted
        self.thread_id = (
            client.thread_id if isinstance(client, Speaker) else thread_of(observer, client)
        )
        self.paused_s = 0.0
        self.pauses = 0
        self.events: list[Any] = []

    def __enter__(self) -> Books:
        self.mark = max((e.event_id for e in history(self.observer, self.thread_id)), default=0)
        self.names = name_counts(self.observer, self.thread_id)
        self.sums = thread_sums(self.observer, self.thread_id)
        if isinstance(self.client, Speaker):
            self.answered, self.failed = Counter(self.client.answered), self.client.failed
        self.opened = server_now(self.observer)
        self.begun = time.perf_counter()
        return self

    def pause(self) -> None:
        """The client does nothing for a while: no statement's time."""
        begun = time.perf_counter()
        self.observer.execute(f"SELECT pg_sleep({PAUSE_S})")
        self.paused_s += time.perf_counter() - begun
        self.pauses += 1

    def without_record(self, seconds: float) -> None:
        """At least so long a statement takes that has no record: it is no other's time."""
        self.paused_s += seconds

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if kind is not None:
            return
        self.wall_s = time.perf_counter() - self.begun
        self.closed = server_now(self.observer)
        self.events = history(self.observer, self.thread_id, self.mark)
        self.grown = difference(name_counts(self.observer, self.thread_id), self.names)
        self._check_times()
        self._check_nested()
        if not self.switched:
            self._check_sums()
        if not self.switched and isinstance(self.client, Speaker):
            self._check_messages()

    @property
    def top(self) -> list[Any]:
        """Top-level statements, in order of their start."""
        return [event for event in self.events if event.nesting_event_level == 0]

    @property
    def com(self) -> dict[str, int]:
        """How often each message has counted."""
        return {
            name.removeprefix("com/"): n
            for name, n in self.grown.items()
            if name.startswith("com/")
        }

    def only(self, text: str) -> Any:
        """The one event whose text begins so."""
        found = [event for event in self.events if (event.sql_text or "").startswith(text)]
        assert len(found) == 1, [event.sql_text for event in self.events]
        return found[0]

    def _check_times(self) -> None:
        for event in self.events:
            told = (event.sql_text, event.timer_start, event.timer_end, event.timer_wait)
            assert self.opened - STAMP_PS <= event.timer_start <= event.timer_end, told
            assert event.timer_end <= self.closed, told
            assert 0 < event.timer_wait <= event.timer_end - event.timer_start + ROUNDING_PS, told
        total = sum(event.timer_wait for event in self.top)
        limit_s = (self.wall_s - self.paused_s) * CLOCKS + self.pauses * LATE_TO_PAUSE_S
        assert total <= limit_s * PS_PER_S, (float(total) / PS_PER_S, limit_s)
        if not self.overlapping:
            by_start = sorted(self.top, key=lambda event: event.timer_start)
            for one_, next_ in zip(by_start, by_start[1:]):
                assert one_.timer_end <= next_.timer_start + ROUNDING_PS, (one_, next_)

    def children(self, event: Any) -> list[Any]:
        """Statements one level below that began and ended inside."""
        return [
            other
            for other in self.events
            if other.nesting_event_level == event.nesting_event_level + 1
            and event.event_id < other.event_id <= event.end_event_id
            and other.end_event_id <= event.end_event_id
        ]

    def _check_nested(self) -> None:
        for event in self.events if not self.overlapping else []:
            children = self.children(event)
            for child in children:
                assert event.timer_start <= child.timer_start, (event, child)
                assert child.timer_end <= event.timer_end + ROUNDING_PS, (event, child)
            times = sum(child.timer_wait for child in children)
            assert times <= event.timer_wait + ROUNDING_PS * len(children), event

    def _check_sums(self) -> None:
        new = thread_sums(self.observer, self.thread_id)
        for name in {event.event_name for event in self.events} | {
            "statement/" + name for name in self.grown if name.startswith("sql/")
        }:
            mine = [event for event in self.events if event.event_name == name]
            old = self.sums.get(name)
            for column, value in (
                ("count_star", len(mine)),
                ("sum_timer_wait", sum(event.timer_wait for event in mine)),
                ("sum_errors", sum(event.errors for event in mine)),
                ("sum_rows_sent", sum(event.rows_sent for event in mine)),
                ("sum_rows_affected", sum(event.rows_affected for event in mine)),
            ):
                grown = getattr(new[name], column) - (getattr(old, column) if old else 0)
                slack = ROUNDING_PS * (len(mine) + 1) if "timer" in column else 0
                assert abs(grown - value) <= slack, (name, column, grown, value)

    def _check_messages(self) -> None:
        """A message that failed may count or not; all others count once."""
        answered = dict(self.client.answered - self.answered)
        failed = self.client.failed - self.failed
        more = Counter(self.com)
        more.subtract(answered)
        assert min(more.values(), default=0) >= 0, (self.com, answered)
        assert sum(more.values()) <= failed, (self.com, answered)
