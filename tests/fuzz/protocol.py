"""A session that speaks the protocol message by message, and what its answers come to."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import struct
from typing import Any

from helpers import DEADLINE_S, RawClient

LEAK = re.compile("reference leak|refcount leak|resource was not closed")
"""Warnings that a server without the library gives, too, after lazily evaluated functions."""
PLACES = re.compile(r"\[\d+\]|0x[0-9a-f]+|base/\d+/\d+|\(\d+,-1\)")

LAST_ANSWER = {"P": "1", "B": "2", "D": "Tn", "E": "CsI", "C": "3"}
"""Types of the message that ends the answer to each message of the extended protocol."""

Answer = "tuple[str, bytes]"


class Session(RawClient):
    """Queues messages of the extended protocol; knows which are not answered yet.

    After an error the server skips everything until Sync: `failed` says so.
    """

    def __init__(self, cluster: Any, dbname: str) -> None:
        self.input = b""
        self.unanswered: list[str] = []
        self.failed = False
        self.status = b""
        self.at = 0
        super().__init__(cluster, dbname)

    def add(self, kind: str, body: bytes = b"") -> Session:
        if kind in LAST_ANSWER:
            self.unanswered.append(kind)
        super().add(kind, body)
        return self

    def read(self) -> tuple[str, bytes]:
        """As the base's, but does not copy what is left: results may be long."""
        while True:
            left = len(self.input) - self.at
            if left >= 5:
                size = 1 + struct.unpack_from("!i", self.input, self.at + 1)[0]
                if left >= size:
                    break
            data = self.sock.recv(65536)
            if not data:
                raise ConnectionError("the server closed the connection")
            self.input = self.input[self.at :] + data
            self.at = 0
        body = self.input[self.at + 5 : self.at + size]
        kind = chr(self.input[self.at])
        self.at += size
        if kind == "E":
            self.failed = True
        elif kind == "Z":
            self.failed = False
            self.status = body
        return kind, body

    def answers(self) -> list[tuple[str, bytes]]:
        """Answers to all messages sent so far, which no Sync ends."""
        found = []
        for kind in self.unanswered:
            while not self.failed:
                found.append(self.read())
                if found[-1][0] in LAST_ANSWER[kind]:
                    break
        self.unanswered.clear()
        return found

    def settle(self) -> list[tuple[str, bytes]]:
        """Flush if something is under way; Sync if that failed."""
        found = []
        if self.unanswered:
            self.add("H").send()
            found = self.answers()
        return found + self.end_cycle() if self.failed else found

    def end_cycle(self) -> list[tuple[str, bytes]]:
        """Sync, and everything up to ReadyForQuery."""
        self.unanswered.clear()
        return self.sync()

    def copy_data(self, lines: list[str], last: str) -> None:
        """What follows a COPY FROM STDIN; `last` is c (done) or f (failed)."""
        for line in lines:
            self.add("d", line.encode())
        self.queue += self._message(last, b"enough\0" if last == "f" else b"")

    def answered(self, timeout_s: float) -> bool:
        """Has anything arrived?"""
        return len(self.input) > self.at or bool(select.select([self.sock], [], [], timeout_s)[0])

    def cancel(self, cluster: Any) -> None:
        """A CancelRequest; returns when the server has taken it."""
        with socket.create_connection((cluster.host, cluster.port), timeout=DEADLINE_S) as sock:
            sock.sendall(struct.pack("!iiii", 16, 80877102, self.pid, self.key))
            sock.recv(1)

    def leave(self) -> None:
        """Terminate, and wait until the process is gone."""
        with contextlib.suppress(OSError):
            self.sock.sendall(self._message("X"))
            while self.sock.recv(65536):
                pass
        self.sock.close()


def fields(body: bytes) -> dict[str, str]:
    """Of an ErrorResponse or NoticeResponse."""
    parts = [part for part in body.split(b"\0") if part]
    return {chr(part[0]): part[1:].decode(errors="replace") for part in parts}


def columns(body: bytes) -> str:
    """Names and types of a RowDescription; objects of users have other OIDs on each server."""
    found = []
    at = 2
    for _ in range(struct.unpack_from("!h", body)[0]):
        end = body.index(b"\0", at)
        type_oid = struct.unpack_from("!i", body, end + 7)[0]
        found.append(f"{body[at:end].decode()}:{type_oid if type_oid < 16384 else '*'}")
        at = end + 19
    return ", ".join(found)


def row(body: bytes) -> str:
    """Values of a DataRow."""
    found = []
    at = 2
    for _ in range(struct.unpack_from("!h", body)[0]):
        size = struct.unpack_from("!i", body, at)[0]
        at += 4
        if size < 0:
            found.append("NULL")
            continue
        found.append(body[at : at + size].decode(errors="replace"))
        at += size
    return " | ".join(found)


def readable(answer: tuple[str, bytes]) -> str:
    """One line that is the same on two servers that behave alike."""
    kind, body = answer
    if kind == "D":
        return f"D {row(body)}"
    if kind == "T":
        return f"T {columns(body)}"
    if kind in "EN":
        found = fields(body)
        line = f"{kind} " + " | ".join(
            f"{name} {text}" for name, text in sorted(found.items()) if name not in "FLRSs"
        )
        return PLACES.sub("...", line) if LEAK.search(line) else line
    if kind in "CZd":
        return f"{kind} {body.rstrip(bytes(1)).decode(errors='replace')}"
    if kind in "SAK":
        return ""
    return f"{kind} {body.hex()}" if body else kind


def comparable(answers: list[tuple[str, bytes]]) -> list[str]:
    """Lines of a step. What leaked is told in the order of a hash of addresses: here sorted."""
    lines = [line for line in map(readable, answers) if line]
    leaks = iter(sorted(line for line in lines if LEAK.search(line)))
    return [next(leaks) if LEAK.search(line) else line for line in lines]
