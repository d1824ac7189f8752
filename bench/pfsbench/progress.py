"""One line on stderr that says what is being done and how much time is left."""

from __future__ import annotations

import sys
import time
from typing import TextIO

TTY_EVERY_S = 0.5
PLAIN_EVERY_S = 15.0


class Progress:
    """Shown over itself on a terminal, every 15 s elsewhere; silent when told so."""

    def __init__(self, total_s: float, stream: TextIO | None = None, silent: bool = False) -> None:
        self.stream = stream or sys.stderr
        self.total_s = max(1.0, total_s)
        self.done_s = 0.0  # of the estimate
        self.began = self.shown = time.monotonic()
        self.silent = silent
        self.tty = self.stream.isatty()

    def say(self, text: str) -> None:
        """A line of its own."""
        if not self.silent:
            print(f"{self._clear()}{text}", file=self.stream, flush=True)

    def advance(self, estimate_s: float, what: str) -> None:
        """So much of the estimate is done."""
        self.done_s = min(self.total_s, self.done_s + estimate_s)
        now = time.monotonic()
        if self.silent or now - self.shown < (TTY_EVERY_S if self.tty else PLAIN_EVERY_S):
            return
        self.shown = now
        line = f"{what}: {100 * self.done_s / self.total_s:.0f} %, {self.left()} left"
        print(self._clear() + line, end="" if self.tty else "\n", file=self.stream, flush=True)

    def left(self) -> str:
        """Time left by the pace so far, e.g. `12 min` or `40 s`."""
        spent = time.monotonic() - self.began
        pace = min(2.0, max(0.5, spent / max(1.0, self.done_s)))  # making servers comes in lumps
        seconds = pace * (self.total_s - self.done_s)
        return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"

    def end(self) -> None:
        """Leave the terminal's line."""
        if self.tty and not self.silent:
            print(self._clear(), end="", file=self.stream, flush=True)

    def _clear(self) -> str:
        return "\r\x1b[K" if self.tty else ""
