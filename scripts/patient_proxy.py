"""A proxy in front of a server whose client is never early.

A client that is faster than its server (as any is when the server runs under valgrind) sends the
next command now before the server waits for it, now after. Sleeping or not are different paths, so
that the server's instructions would depend on what else the machine does. Through this proxy a
command arrives when the backend sleeps, and a session begins when the one before it is gone.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

POLL_S = 0.0003
CHUNK = 1 << 16
BACKEND_KEY_DATA = b"K"
AWAKE, GONE = "RD", "ZX"
"""Letters of proc(5)."""


class PatientProxy:
    """Takes the place of a server's Unix socket in `folder`; its clients come one after another."""

    def __init__(self, folder: Path, server_folder: Path, port: int) -> None:
        self._server = server_folder / f".s.PGSQL.{port}"
        self._in_session = threading.Lock()
        self._ended: list[int] = []
        folder.mkdir()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / self._server.name))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more; a session that is open goes on to its end."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def take_ended(self) -> list[int]:
        """The backends of the sessions since the last call; waits for the end of the last one."""
        with self._in_session:
            ended, self._ended = self._ended, []
        return ended

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            with self._in_session, client, socket.socket(socket.AF_UNIX) as server:
                self._session(client, server)

    def _session(self, client: socket.socket, server: socket.socket) -> None:
        pid = None
        with contextlib.suppress(OSError):  # either side went away
            server.connect(str(self._server))
            pid = greet(client, server)
            if pid is not None:
                pass_on(client, server, pid)
        client.close()
        server.close()
        if pid is not None:
            wait_while(pid, lambda state: state not in GONE)
            self._ended.append(pid)


def greet(client: socket.socket, server: socket.socket) -> int | None:
    """Pass the start of a session on; returns the backend's pid, or None when it was refused.

    Nothing is asked of the client meanwhile: it needs no password, and encrypts nothing.
    """
    server.sendall(client.recv(CHUNK))
    greeting = b""
    while (pid := backend_pid(greeting)) is None:
        data = server.recv(CHUNK)
        if not data:
            return None
        greeting += data
        client.sendall(data)
    return pid


def backend_pid(greeting: bytes) -> int | None:
    """The process that BackendKeyData names among the server's first messages; None before it."""
    place = 0
    while len(greeting) >= place + 9:
        kind, length, first = struct.unpack_from("!cII", greeting, place)
        if kind == BACKEND_KEY_DATA:
            return int(first)
        place += 1 + length
    return None


def pass_on(client: socket.socket, server: socket.socket, pid: int) -> None:
    """Pass data on both ways until a side closes; what the client says, when the backend sleeps."""
    while True:
        for ready in select.select([client, server], [], [])[0]:
            data = ready.recv(CHUNK)
            if not data:
                return
            if ready is server:
                client.sendall(data)
            else:
                wait_while(pid, lambda state: state in AWAKE)
                server.sendall(data)


def wait_while(pid: int, condition: Callable[[str], bool]) -> None:
    """Wait while the process is in a state for which the condition holds."""
    while condition(state_of(pid)):
        time.sleep(POLL_S)


def state_of(pid: int) -> str:
    """The letter of proc(5), X when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
