"""A client that loads one server for as long as it is let: started, stopped, continued, ended.

Work is what its connections move over the loopback interface. The client is a process group of its
own and dies with the bench (PR_SET_PDEATHSIG), also while it is stopped.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .model import BenchError, Workload
from .server import Server
from .workload import load_command

FOR_EVER_S = 1_000_000
START_LIMIT_S = 120.0
QUIET_POLL_S = 0.002
QUIET_POLLS = 3
QUIET_LIMIT_S = 2.0
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def loopback_bytes() -> int:
    """Bytes received on the loopback interface since boot."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "lo":
            return int(counts.split()[0])
    raise BenchError("no loopback interface in /proc/net/dev")


def wait_quiet(limit_s: float = QUIET_LIMIT_S) -> bool:
    """Wait until nothing moves on the loopback interface; False when it does not get quiet."""
    deadline = time.monotonic() + limit_s
    last, same = loopback_bytes(), 0
    while same < QUIET_POLLS:
        if time.monotonic() > deadline:
            return False
        time.sleep(QUIET_POLL_S)
        now = loopback_bytes()
        last, same = now, same + 1 if now == last else 0
    return True


def die_with_parent() -> None:
    """In the child before exec: SIGKILL when the bench ends, however it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Load:
    """One client process group. Errors: BenchError with its output and the server's log."""

    def __init__(self, server: Server, workload: Workload) -> None:
        self.server = server
        self.workload = workload
        self._process: subprocess.Popen[bytes] | None = None
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()

    def start(self) -> None:
        """Start, and wait until all its threads work."""
        before = loopback_bytes()
        self._process = subprocess.Popen(
            load_command(self.server, self.workload, FOR_EVER_S), stdin=subprocess.DEVNULL,
            stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=die_with_parent,
        )  # fmt: skip
        deadline = time.monotonic() + START_LIMIT_S
        while not self._works(before):
            self.check()
            if time.monotonic() > deadline:
                raise BenchError(f"no load within {START_LIMIT_S:.0f} s:\n{self.said()}")
            time.sleep(0.05)

    def _works(self, before: int) -> bool:
        """sysbench says when its threads have started; pgbench does not: 10 kB a client."""
        if self.workload.program != "pgbench":
            return "Threads started!" in self.said()
        return loopback_bytes() - before > 10_000 * self.workload.threads

    def pause(self) -> None:
        """Stop the group and wait until the server has answered what was asked."""
        self._signal(signal.SIGSTOP)
        wait_quiet()

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def check(self) -> None:
        """BenchError when it has ended."""
        if self._process is not None and self._process.poll() is not None:
            raise BenchError(
                f"the load on server {self.server.name} ended (exit code"
                f" {self._process.returncode}):\n{self.said()[-1500:]}\n"
                f"--- server log ---\n{self.server.log_tail()}"
            )

    def stop(self) -> None:
        """End it; SIGCONT so that a stopped client hears SIGTERM."""
        if self._process is None:
            return
        for number in (signal.SIGTERM, signal.SIGCONT):
            self._signal(number)
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._process = None
        self._output.close()

    def said(self) -> str:
        """Its output so far."""
        return os.pread(self._output.fileno(), 100_000, 0).decode(errors="replace")

    @property
    def pid(self) -> int:
        """Process and group id; 0 when it is not running."""
        return self._process.pid if self._process else 0

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
