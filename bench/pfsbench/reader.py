"""A session that reads the schema again and again beside a load, and how long each time took."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from .model import BenchError
from .server import Server

READ_LIMIT_S = 30.0
PAUSE_S = 0.01  # between reads: short ones do not fill a core by their mere number
# A digest is the structure of a statement: 14 binary digits become operators, `1 + 1 - 1 ...`.
FILL = r"""DO $$ BEGIN FOR i IN 1..%d LOOP EXECUTE 'SELECT 1'
  || regexp_replace(translate(i::bit(14)::text, '01', '+-'), '(.)', ' \1 1', 'g');
  END LOOP; END $$"""


def fill_digests(server: Server, count: int) -> None:
    """Have the server see so many different statements; BenchError if it does not keep them."""
    ask = "SELECT count(*) FROM performance_schema.events_statements_summary_by_digest"
    if int(server.query(ask)[0][0]) >= count:
        return
    server.switch([FILL % count])
    found = int(server.query(ask)[0][0])
    if found < count:
        raise BenchError(f"server {server.name} keeps {found} of {count} digests")


class Reader:
    """A thread with a session of its own (Unix socket). Reads only within `with reading()`."""

    def __init__(self, server: Any, statement: str) -> None:
        self._session = server.session()
        self._statement = statement
        self._seconds: list[float] = []
        self._error = ""
        self._wanted, self._idle = threading.Event(), threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._idle.set()
        self._thread.start()

    def _loop(self) -> None:
        """Until closed: wait until wanted, read, note the time."""
        while True:
            self._wanted.wait()
            if self._closed:
                return
            began = time.perf_counter()
            try:
                self._session.execute(self._statement).fetchall()
            except Exception as error:
                self._error = str(error)
                self._wanted.clear()
            else:
                self._seconds.append(time.perf_counter() - began)
                time.sleep(PAUSE_S)
            if not self._wanted.is_set():
                self._idle.set()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read meanwhile; what was begun is finished before this returns."""
        self._idle.clear()
        self._wanted.set()
        try:
            yield
        finally:
            self._wanted.clear()
            if not self._idle.wait(READ_LIMIT_S):
                self._error = f"a read took more than {READ_LIMIT_S:.0f} s"
        if self._error:
            raise BenchError(f"the reader failed: {self._error}")

    def take(self) -> list[float]:
        """The seconds of each read since the last call."""
        taken, self._seconds = self._seconds, []
        return taken

    def close(self) -> None:
        """End the thread and its session."""
        self._closed = True
        self._wanted.set()
        self._thread.join(READ_LIMIT_S)
        with contextlib.suppress(Exception):
            self._session.close()
