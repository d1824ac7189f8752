#!/usr/bin/env python3
"""Throw-away PostgreSQL servers for tests, the demo and benchmarks.

A `Cluster` is one server with its own private folder (data, socket, log). As root the server's
programs run as an unprivileged user (`postgres`, else `nobody`) who owns that folder; clients run
as the caller.

No server outlives the Python process: leaving the `with` block, normal exit, Ctrl-C and
SIGTERM all stop it and remove the folder, except after `detach()`.

Only the standard library is needed; `connect()` needs psycopg.

Command line:
    pfs_cluster.py run --pg-config X [--preload LIB] [--conf NAME=VALUE] -- COMMAND...
        runs COMMAND with PGHOST, PGPORT, PGUSER and PGDATABASE of a fresh server
    pfs_cluster.py stop FOLDER
        stops a server that was left running and removes its folder

Errors: every method raises `ClusterError` with the failed program's output.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import json
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

SUPERUSER = "postgres"
DATABASE = "postgres"
STEP_TIMEOUT_S = 60
START_ATTEMPTS = 3
POLL_S = 0.02

Setting = Union[str, int, float, bool]

_live: list[Cluster] = []
"""Clusters to be removed at exit; newest last, so that standbys stop before their primary."""


class ClusterError(RuntimeError):
    """A server program failed, did not finish in time, or cannot work here."""


def server_user() -> pwd.struct_passwd | None:
    """The user the server runs as; None means the caller, who is not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ClusterError("running as root, with no user postgres or nobody to run a server")


def setting_text(value: Setting) -> str:
    """A value as postgresql.conf wants it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


def setting_names(conf: Mapping[str, Setting]) -> dict[str, Setting]:
    """Keyword arguments cannot hold a dot: `performance_schema__enabled` means the dotted name."""
    return {name.replace("__", "."): value for name, value in conf.items()}


def free_port() -> int:
    """A TCP port that is free now. Another process may still take it: start() tries again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """One server. Use as a context manager, which creates and starts it, or call the steps.

    `conf` are settings (see `setting_names`); `preload` becomes shared_preload_libraries. `under` is
    a command that runs the server, such as valgrind with its options; `{base}` is the folder.
    """

    def __init__(
        self,
        pg_config: str | os.PathLike[str],
        *,
        preload: Sequence[str] = (),
        conf: Mapping[str, Setting] | None = None,
        name: str = "server",
        under: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.under = under
        self.pg_config = str(pg_config)
        self.bindir = Path(self.ask_pg_config("--bindir"))
        self.conf: dict[str, Setting] = setting_names(conf or {})
        if preload:
            self.conf.setdefault("shared_preload_libraries", ",".join(preload))
        self.owner = server_user()
        self.port = 0
        self.host = "127.0.0.1"
        self.base = Path(tempfile.mkdtemp(prefix="pfs-", dir=os.environ.get("PFS_TMPDIR", "/tmp")))
        self.data = self.base / "data"
        self.socket_dir = self.base / "socket"
        self.log_file = self.base / "server.log"
        _remember(self)
        self._prepare_folder()

    # --- life cycle -------------------------------------------------------------------------

    def __enter__(self) -> Cluster:
        try:
            self.initdb()
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        if self in _live:  # not so after detach()
            self.remove()

    def initdb(self) -> None:
        """Create the data folder: UTF8, C locale, checksums, trust for everyone who can connect."""
        self._server_program(
            "initdb", "-D", self.data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync", "--no-instructions", "-k",
        )  # fmt: skip

    def copy_data(self, stopped: Cluster) -> None:
        """Take over another cluster's data folder instead of `initdb`; that one must be stopped."""
        _run(["cp", "-a", stopped.data, self.data], timeout_s=STEP_TIMEOUT_S * 2)

    def configure(self, **conf: Setting) -> None:
        """Change settings; they hold from the next start, restart or reload."""
        self.conf.update(setting_names(conf))

    def start(self) -> None:
        """Start and wait until connections are accepted; a lost race for the port is repeated."""
        for attempt in range(1, START_ATTEMPTS + 1):
            self.port = free_port()
            self._write_conf()
            position = self.log_position()
            try:
                self._pg_ctl("start", "-l", self.log_file, *self._runner())
                return
            except ClusterError as error:
                log = self.log_text(position)
                if "could not bind" in log and attempt < START_ATTEMPTS:
                    continue
                raise ClusterError(f"{error}\n--- server log ---\n{log[-4000:]}") from None

    def stop(self, mode: str = "fast") -> None:
        """Stop (`smart`, `fast` or `immediate`) and wait for the end; nothing when not running."""
        if self.is_running():
            self._pg_ctl("stop", "-m", mode)

    def restart(self, mode: str = "fast") -> None:
        """Stop and start, with the settings as they are now."""
        self.stop(mode)
        self.start()

    def reload(self) -> None:
        """Make the server read changed settings (it does so asynchronously)."""
        self._write_conf()
        self._pg_ctl("reload")

    def kill9(self, pid: int, *, wait: bool = True) -> None:
        """SIGKILL one of this server's processes; `wait` until crash recovery is over.

        Refuses processes of others. Killing the postmaster itself (or restart_after_crash = off)
        needs wait=False.
        """
        postmaster = self.postmaster_pid()
        if pid != postmaster and _parent_of(pid) != postmaster:
            raise ClusterError(f"process {pid} does not belong to this server")
        position = self.log_position()
        os.kill(pid, signal.SIGKILL)
        if wait:
            self.wait_log(r"database system is ready to accept", position)
            self.wait_ready()

    def remove(self) -> None:
        """Stop at once and delete everything; never raises for a server that is already gone."""
        with contextlib.suppress(ClusterError):
            self.stop("fast")
        if self.is_running():
            with contextlib.suppress(ClusterError):
                self.stop("immediate")
        _forget(self)
        shutil.rmtree(self.base, ignore_errors=True)

    def detach(self) -> Path:
        """Leave the server running after this process; returns the folder for `stop`."""
        facts = {"pg_config": self.pg_config, "port": self.port}
        (self.base / "cluster.json").write_text(json.dumps(facts))
        _forget(self)
        return self.base

    @classmethod
    def attach(cls, base: Path) -> Cluster:
        """The cluster that `detach` left in this folder."""
        try:
            facts = json.loads((base / "cluster.json").read_text())
        except OSError as error:
            raise ClusterError(f"{base} is not the folder of a kept server: {error}") from None
        cluster = cls(facts["pg_config"])
        shutil.rmtree(cluster.base)
        cluster.base, cluster.port = base, int(facts["port"])
        cluster.data, cluster.socket_dir = base / "data", base / "socket"
        cluster.log_file = base / "server.log"
        return cluster

    def standby(self, *, conf: Mapping[str, Setting] | None = None) -> Cluster:
        """A running hot standby of this server, with its settings plus `conf`.

        The caller removes it: remove(), or contextlib.closing.
        """
        replica = Cluster(
            self.pg_config, conf={**self.conf, **setting_names(conf or {})}, name="standby"
        )
        try:
            replica._server_program(
                "pg_basebackup", "-D", replica.data, "-R", "-X", "stream", "-c", "fast",
                "--no-sync", "-h", self.socket_dir, "-p", self.port, "-U", SUPERUSER,
            )  # fmt: skip
            replica.start()
        except BaseException:
            replica.remove()
            raise
        return replica

    close = remove

    # --- questions --------------------------------------------------------------------------

    def postmaster_pid(self) -> int:
        """The postmaster's process id; ClusterError when there is none."""
        try:
            return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            raise ClusterError(f"{self.name} is not running") from None

    def is_running(self) -> bool:
        """Whether the postmaster is there (its pid file could be stale: the process is checked)."""
        try:
            return _parent_of(self.postmaster_pid()) is not None
        except ClusterError:
            return False

    def log_position(self) -> int:
        """Where the log ends now; for log_text(since) and wait_log(since)."""
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def log_text(self, since: int = 0) -> str:
        """The server log from byte position `since`."""
        if not self.log_file.exists():
            return ""
        with self.log_file.open("rb") as log:
            log.seek(since)
            return log.read().decode(errors="replace")

    def wait_log(self, pattern: str, since: int = 0, timeout_s: float = STEP_TIMEOUT_S) -> None:
        """Wait until the log has a match after `since`."""
        self._wait(lambda: re.search(pattern, self.log_text(since)), f"log: {pattern}", timeout_s)

    def wait_ready(self, timeout_s: float = STEP_TIMEOUT_S) -> None:
        """Wait until connections are accepted."""
        command = [self.bindir / "pg_isready", "-q", "-h", self.socket_dir, "-p", str(self.port)]
        self._wait(
            lambda: subprocess.run(command, timeout=timeout_s).returncode == 0, "ready", timeout_s
        )

    def wait_replayed(self, primary: Cluster, timeout_s: float = STEP_TIMEOUT_S) -> None:
        """On a standby: wait until what the primary has written by now is visible here."""
        lsn = primary.psql("SELECT pg_current_wal_flush_lsn()").strip()
        query = f"SELECT coalesce(pg_last_wal_replay_lsn() >= '{lsn}', false)"
        self._wait(lambda: self.psql(query).strip() == "t", f"replay of {lsn}", timeout_s)

    def data_size(self) -> int:
        """Bytes in the data folder."""
        size = 0
        for path in self.data.rglob("*"):
            with contextlib.suppress(OSError):  # files come and go under a running server
                size += path.lstat().st_size if not path.is_dir() else 0
        return size

    def version(self) -> int:
        """The major version, e.g. 18."""
        match = re.search(r"(\d+)", self.ask_pg_config("--version"))
        assert match
        return int(match.group(1))

    # --- clients ----------------------------------------------------------------------------

    def client_env(self, dbname: str = DATABASE) -> dict[str, str]:
        """The environment in which libpq programs find this server (by its Unix socket)."""
        env = _clean_env()
        env.update(PGHOST=str(self.socket_dir), PGPORT=str(self.port), PGUSER=SUPERUSER)
        env.update(PGDATABASE=dbname, PGCONNECT_TIMEOUT="10")
        return env

    def psql(
        self,
        sql: str | None = None,
        *args: str,
        dbname: str = DATABASE,
        file: str | os.PathLike[str] | None = None,
        timeout_s: float = STEP_TIMEOUT_S,
    ) -> str:
        """Run SQL text or a file by psql, unaligned and without headers unless args say otherwise.

        Returns standard output; an SQL error raises ClusterError with the message.
        """
        command: list[Any] = [self.bindir / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"]
        command += args or ("-At",)
        command += ["-f", file] if file is not None else ["-c", sql]
        return _run(command, env=self.client_env(dbname), timeout_s=timeout_s)

    def connect(self, **options: Any) -> Any:
        """A psycopg connection by 127.0.0.1, autocommit unless options say otherwise."""
        import psycopg

        options.setdefault("autocommit", True)
        options.setdefault("dbname", DATABASE)
        options.setdefault("user", SUPERUSER)
        options.setdefault("host", self.host)
        options.setdefault("connect_timeout", 10)
        return psycopg.connect(port=self.port, **options)

    # --- internals --------------------------------------------------------------------------

    def ask_pg_config(self, option: str) -> str:
        """One value of pg_config."""
        return _run([self.pg_config, option]).strip()

    def _prepare_folder(self) -> None:
        """Give the folder to the server's user and check that this user can run the server."""
        self.socket_dir.mkdir()
        self.log_file.touch(mode=0o600)
        if self.owner:
            for path in (self.base, self.socket_dir, self.log_file):
                os.chown(path, self.owner.pw_uid, self.owner.pw_gid)
        try:
            self._server_program("postgres", "--version")
        except ClusterError as error:
            self.remove()
            user = self.owner.pw_name if self.owner else "this user"
            raise ClusterError(f"{user} cannot run {self.bindir}/postgres: {error}") from None

    def _write_conf(self) -> None:
        """Write all our settings to one file that postgresql.conf includes last."""
        settings: dict[str, Setting] = {
            "listen_addresses": self.host,
            "unix_socket_directories": str(self.socket_dir),
            "log_line_prefix": "%m [%p] %q%a ",
            "lc_messages": "C",
            **self.conf,
            "port": self.port,
        }
        lines = [f"{name} = {setting_text(value)}\n" for name, value in settings.items()]
        self._write_owned(self.data / "pfs.conf", "".join(lines))
        main = self.data / "postgresql.conf"
        if "pfs.conf" not in main.read_text():
            with main.open("a") as file:
                file.write("include = 'pfs.conf'\n")

    def _write_owned(self, path: Path, text: str) -> None:
        path.write_text(text)
        if self.owner:
            os.chown(path, self.owner.pw_uid, self.owner.pw_gid)

    def _runner(self) -> list[Any]:
        """pg_ctl's option for the program to start, when the server runs under another one."""
        if not self.under:
            return []
        words = [word.format(base=self.base) for word in self.under] + [str(self.bindir / "postgres")]
        runner = self.base / "runner"
        runner.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        runner.chmod(0o755)
        return ["-p", runner]

    def _pg_ctl(self, action: str, *args: Any) -> None:
        wait = [] if action == "reload" else ["-w", "-t", STEP_TIMEOUT_S]
        self._server_program("pg_ctl", "-D", self.data, "-s", *wait, *args, action)

    def _server_program(self, program: str, *args: Any) -> str:
        """Run a program of the server as the server's user, in a folder it can read."""
        return _run(
            [self.bindir / program, *args], user=self.owner, cwd=self.base, env=_clean_env(),
            timeout_s=STEP_TIMEOUT_S * 2,
        )  # fmt: skip

    def _wait(self, condition: Any, what: str, timeout_s: float) -> None:
        """Ask again and again, within a limit. For what no program can be made to wait for."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                tail = self.log_text()[-3000:]
                raise ClusterError(f"{self.name}: not in {timeout_s} s: {what}\n{tail}")
            time.sleep(POLL_S)


# --- helpers --------------------------------------------------------------------------------


def _clean_env() -> dict[str, str]:
    """The caller's environment without anything that steers libpq or names another server."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    env["LC_ALL"] = "C"
    return env


def _run(
    command: Sequence[Any],
    *,
    user: pwd.struct_passwd | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = STEP_TIMEOUT_S,
) -> str:
    """Run a program, as `user` when given; returns its output. ClusterError when it fails.

    Output goes through files: a started server would keep a pipe open for ever.
    """
    words = [str(word) for word in command]
    rights: dict[str, Any] = {}
    if user:
        rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=timeout_s,
                cwd=cwd, env=env, check=False, **rights,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ClusterError(f"no end in {timeout_s} s: {' '.join(words)}") from None
        except OSError as error:
            raise ClusterError(f"cannot run {words[0]}: {error}") from None
        out.seek(0)
        err.seek(0)
        output, errors = out.read(), err.read()
    if done.returncode != 0:
        raise ClusterError(
            f"exit code {done.returncode}: {' '.join(words)}\n{errors}{output}".rstrip()
        )
    return output


def _parent_of(pid: int) -> int | None:
    """The parent's process id; None when there is no such (living) process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent = stat.rpartition(")")[2].split()[:2]
    return None if state in "ZX" else int(parent)


def _remember(cluster: Cluster) -> None:
    if not _live:
        atexit.register(_remove_all)
    _live.append(cluster)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, _leave)


def _forget(cluster: Cluster) -> None:
    if cluster in _live:
        _live.remove(cluster)


def _leave(number: int, _frame: object) -> None:
    """SIGTERM and SIGHUP unwind like Ctrl-C, so that `with` blocks and atexit clean up."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _remove_all() -> None:
    for cluster in reversed(list(_live)):
        cluster.remove()


# --- command line ---------------------------------------------------------------------------


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise SystemExit(f"--conf wants NAME=VALUE, got {word}")
        yield name, value


def run_command(options: argparse.Namespace) -> int:
    """The `run` command: a server for the life of one program; its exit code is ours."""
    command = [word for word in options.command if word != "--"]
    if not command:
        raise SystemExit("no command given")
    conf = dict(_pairs(options.conf))
    with Cluster(options.pg_config, preload=options.preload, conf=conf) as cluster:
        for library in options.extension:
            cluster.psql(f'CREATE EXTENSION "{library}" CASCADE')
        code = subprocess.run(command, env=cluster.client_env(), check=False).returncode
        if code != 0 and options.show_log:
            print(cluster.log_text()[-8000:], file=sys.stderr)
        return code


def main() -> int:
    """Parse the command line; see the module's comment."""
    parser = argparse.ArgumentParser(description="throw-away PostgreSQL servers")
    commands = parser.add_subparsers(dest="what", required=True)
    run = commands.add_parser("run", help="run a command against a fresh server")
    run.add_argument("--pg-config", required=True)
    run.add_argument("--preload", action="append", default=[], metavar="LIBRARY")
    run.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE")
    run.add_argument("--extension", action="append", default=[], help="CREATE EXTENSION first")
    run.add_argument("--show-log", action="store_true", help="print the log's end on failure")
    run.add_argument("command", nargs=argparse.REMAINDER)
    stop = commands.add_parser("stop", help="stop a server that was left running")
    stop.add_argument("folder", type=Path)
    options = parser.parse_args()
    try:
        if options.what == "run":
            return run_command(options)
        Cluster.attach(options.folder.resolve()).remove()
        return 0
    except ClusterError as error:
        print(f"pfs_cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
