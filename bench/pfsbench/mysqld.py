"""One process of mysqld or mariadbd with its private folder, from the first file to the last.

As root the program runs as `nobody`, who owns the folder. It is ended by SIGKILL: the data is of no
use afterwards, and the kernel sends the same signal when the bench dies without a chance to
(PR_SET_PDEATHSIG). Ctrl-C does not reach it: that is for the bench, which then stops it.

Errors: BenchError with the end of the server's log.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .model import BenchError

BOOTSTRAP_LIMIT_S = 60.0
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Mysqld:
    """A server's folder and process. The folder is there from the start to remove()."""

    def __init__(self, name: str, program: Path, share: Path, options: dict[str, Any]) -> None:
        """program: the server. share: its SQL files and messages. options: without `--`."""
        self.name, self.program, self.share = name, program, share
        self.words = option_words(options)
        self.owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        parent = os.environ.get("PFS_TMPDIR", "/tmp")
        self.base = Path(tempfile.mkdtemp(prefix="pfs-mysql-", dir=parent))
        self.socket = self.base / "sock"
        self.log = self.base / "server.log"
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        for folder in ("data", "data/mysql", "tmp"):
            (self.base / folder).mkdir()
        self._give()

    def bootstrap(self, files: tuple[str, ...]) -> None:
        """Make the system tables from these files of the share folder."""
        texts = [(self.share / name).read_text(errors="replace") for name in files]
        sql = "\n".join(["use mysql;", "SET @auth_root_socket=NULL;", *texts, ""])
        made = self._spawn("--bootstrap", stdin=subprocess.PIPE)
        try:
            made.communicate(sql.encode(), timeout=BOOTSTRAP_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise BenchError(
                f"{self.name}: no system tables in {BOOTSTRAP_LIMIT_S:.0f} s"
            ) from None
        finally:
            made.kill()
            made.wait()
        if made.returncode != 0:
            raise BenchError(f"{self.name}: no system tables\n{self.log_tail()}")

    def launch(self) -> None:
        """Start it on a port that is free now; another may still take it."""
        self.port = free_port()
        self._process = self._spawn(
            f"--port={self.port}", f"--socket={self.socket}", f"--pid-file={self.base}/pid",
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def pid(self) -> int:
        """The running process, or 0."""
        alive = self._process is not None and self._process.poll() is None
        return self._process.pid if alive and self._process else 0

    def shut_down(self, limit_s: float) -> None:
        """End it cleanly, its data written; BenchError when it does not end in time."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise BenchError(f"{self.name} does not end\n{self.log_tail()}") from None

    def remove(self) -> None:
        """End the process and delete the folder; may be repeated."""
        if self._process is not None:
            self._process.kill()  # Popen sends nothing to a process it has seen ending
            self._process.wait()
        shutil.rmtree(self.base, ignore_errors=True)

    def log_tail(self) -> str:
        """The log's end."""
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""

    def _give(self) -> None:
        """Make the server's user the owner of the folder and all in it."""
        if self.owner:
            for path in (self.base, *self.base.rglob("*")):
                os.chown(path, self.owner.pw_uid, self.owner.pw_gid)

    def _spawn(self, *options: str, **how: Any) -> subprocess.Popen[bytes]:
        """The program as its user, with nothing of the caller's environment."""
        command = [
            str(self.program), "--no-defaults", f"--datadir={self.base}/data",
            f"--tmpdir={self.base}/tmp", f"--lc-messages-dir={self.share}", *self.words, *options,
        ]  # fmt: skip
        who: dict[str, Any] = {}
        if self.owner:
            who = {"user": self.owner.pw_uid, "group": self.owner.pw_gid, "extra_groups": []}
        env = {"PATH": os.defpath, "LC_ALL": "C", "LD_LIBRARY_PATH": str(self.program.parent)}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.base, env=env, start_new_session=True,
                preexec_fn=die_with_parent, **who, **how,
            )  # fmt: skip


def option_words(options: dict[str, Any]) -> list[str]:
    """Options as the server's command line wants them; a TOML boolean is ON or OFF."""
    shown = {True: "ON", False: "OFF"}
    return [
        f"--{name}={shown[value] if isinstance(value, bool) else value}"
        for name, value in options.items()
    ]


def free_port() -> int:
    """A TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def die_with_parent() -> None:
    """Between fork and exec, after the change of user (which would undo it)."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
