"""What the bench wants of a database server; postgres.py and mysql.py have the real ones.

A server is made from a ServerSpec by servers.make_server(), is private to one run of the bench (own
data folder, own free port, own Unix socket) and dies with the bench, whatever ends it.

The bench counts bytes on the loopback interface. So clients of a load come by TCP to 127.0.0.1
(sysbench_args), while everything the bench itself asks goes through a Unix socket.

Errors: BenchError whose message holds the failed program's output or the log's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .model import Workload


class Server(Protocol):
    """One server. All calls block, are bounded in time, and may be repeated."""

    name: str
    """Unique within a run; a key of Result.servers."""

    def start(self) -> None:
        """Create it (initdb or the like) and start it; ready for connections when this returns."""

    def restart(self) -> None:
        """Stop it cleanly and start it again with its data; the port may be another."""

    def stop(self) -> None:
        """End it and remove its folder. Nothing when it is not running. Never raises."""

    def load(self, workload: Workload) -> None:
        """Create the data of this workload unless it is there already, then make the server quiet.

        workload.prepare_data(self, workload) runs the program's own `prepare`; quiet means: written
        out, analyzed, nothing left to do in the background.
        """

    def sysbench_args(self) -> list[str]:
        """sysbench's arguments for this server: driver, host 127.0.0.1, port, user, database."""

    def switch(self, statements: Sequence[str]) -> None:
        """Run the variant's statements on a kept session (Unix socket); fast and synchronous."""

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of one statement, on the same session."""

    def losses(self) -> dict[str, int]:
        """Every counter of lost events or rows that did not fit, since the start: name -> count.

        Empty when the server has none (or the schema is off).
        """

    def version(self) -> str:
        """E.g. `PostgreSQL 18.6` or `MySQL 5.6.24`."""

    def settings(self) -> dict[str, str]:
        """Settings that differ from the server's defaults."""

    def pids(self) -> list[int]:
        """The server's processes now, the main one first; empty when it is not running."""

    def memory_kb(self) -> dict[str, int]:
        """`resident`: sum of Pss of all processes in kB; `reserved`: what the schema reserved."""

    def log_tail(self) -> str:
        """The last lines of its log, for messages."""
