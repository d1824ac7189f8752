"""PostgreSQL servers of the bench: pfs_cluster.Cluster on a private server tree, made quiet.

Quiet: no autovacuum, no background writer, no checkpoint but those asked for. `bench.*` in the
control database `postgres` bring instruments and consumers back to how the server started; loads
have a database of their own for each set of data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .builds import original, private_server
from .model import BenchError, ServerSpec, Workload
from .workload import prepare_data

from pfs_cluster import Cluster, ClusterError, _parent_of

QUIET: dict[str, Any] = {
    "autovacuum": False, "checkpoint_timeout": "1h", "max_wal_size": "16GB",
    "bgwriter_lru_maxpages": 0, "shared_buffers": "512MB", "log_checkpoints": False,
}  # fmt: skip
LIBRARY = "performance_schema"
PROTOTYPE = "budget"
SWITCHES = """
CREATE SCHEMA bench;
-- Few steps from any state to that at the start: what most instruments are, then kinds that are
-- otherwise, then single ones. An instrument that appears later is set as its kind.
CREATE TABLE bench.instruments AS
  WITH known AS (
    SELECT name, enabled, timed, substring(name from '^[^/]*/[^/]*/') AS kind
    FROM performance_schema.setup_instruments),
  common AS (SELECT enabled, timed FROM known GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1),
  kinds AS (
    SELECT kind, count(DISTINCT (enabled, timed)) = 1 AS uniform,
           (array_agg(enabled))[1] AS enabled, (array_agg(timed))[1] AS timed
    FROM known WHERE kind IS NOT NULL GROUP BY kind)
  SELECT 0 AS step, '%' AS pattern, enabled, timed FROM common
  UNION ALL
  SELECT 1, replace(kind, '_', '\\_') || '%', k.enabled, k.timed FROM kinds k CROSS JOIN common c
  WHERE uniform AND (k.enabled, k.timed) IS DISTINCT FROM (c.enabled, c.timed)
  UNION ALL
  SELECT 2, replace(name, '_', '\\_'), i.enabled, i.timed
  FROM known i LEFT JOIN kinds USING (kind) CROSS JOIN common c
  WHERE uniform IS NOT TRUE AND (i.enabled, i.timed) IS DISTINCT FROM (c.enabled, c.timed);
CREATE TABLE bench.consumers AS SELECT name, enabled FROM performance_schema.setup_consumers;
CREATE FUNCTION bench.reset_instruments() RETURNS bigint LANGUAGE sql AS $$
  SELECT count(performance_schema.set_instruments(pattern, enabled, timed))
  FROM (SELECT * FROM bench.instruments ORDER BY step) steps $$;
CREATE FUNCTION bench.reset_consumers() RETURNS bigint LANGUAGE sql AS $$
  SELECT count(performance_schema.set_consumers(replace(name, '_', '\\_'), was.enabled))
  FROM performance_schema.setup_consumers now JOIN bench.consumers was USING (name)
  WHERE now.enabled <> was.enabled $$;
CREATE TABLE bench.metrics AS
  SELECT name FROM performance_schema.engine_metrics WHERE status = 'enabled';
CREATE FUNCTION bench.reset_metrics() RETURNS bigint LANGUAGE sql AS $$
  SELECT performance_schema.monitor_disable('all');
  SELECT count(performance_schema.monitor_enable(name)) FROM bench.metrics $$;
CREATE FUNCTION bench.only(pattern text) RETURNS bigint LANGUAGE sql AS $$
  SELECT performance_schema.set_instruments('%', false);
  SELECT bench.reset_consumers();
  SELECT performance_schema.set_instruments(pattern, true, true) $$;
"""
LOSSES = (
    "SELECT variable_name, variable_value::bigint FROM performance_schema.status"
    " WHERE variable_name LIKE '%\\_lost'"
)
SETTINGS = """
SELECT name, current_setting(name) FROM pg_settings
WHERE (source IN ('configuration file', 'command line') AND setting IS DISTINCT FROM boot_val
       OR name = 'data_checksums')
  AND name !~ '^(port|listen_|unix_|log_|lc_|TimeZone|DateStyle|default_text|client_|dynamic_)'
ORDER BY name"""
RESERVED = "SELECT memory FROM performance_schema.memory WHERE name = 'performance_schema.memory'"

_work: list[Path] = []


def work_folder() -> Path:
    """Where this run keeps its private server trees; removed by remove_work().

    PFSBENCH_TREES in the environment names a folder whose trees are used again and kept: for tests,
    and for running plan after plan on the same sources (nobody looks whether they changed).
    """
    if os.environ.get("PFSBENCH_TREES"):
        return Path(os.environ["PFSBENCH_TREES"])
    if not _work:
        _work.append(Path(tempfile.mkdtemp(prefix="pfsbench-", dir=os.environ.get("PFS_TMPDIR"))))
        _work[0].chmod(0o755)
    return _work[0]


def remove_work() -> None:
    """Remove the private server trees."""
    while _work:
        shutil.rmtree(_work.pop(), ignore_errors=True)


def check(spec: ServerSpec) -> None:
    """BenchError when the server or a library it preloads is not installed."""
    library_folder = original(spec.pg_config).parent.parent / "lib"
    for name in spec.preload:
        if name not in (LIBRARY, PROTOTYPE) and not (library_folder / f"{name}.so").exists():
            package = f"postgresql-15-{name.replace('_', '-')}"
            raise BenchError(f"{name} is not installed in {library_folder} (Debian: {package})")


class BenchCluster(Cluster):
    """A cluster that can do without data checksums."""

    checksums = True

    def initdb(self) -> None:
        """As Cluster's, then without checksums when the plan says so."""
        super().initdb()
        if not self.checksums:
            self._server_program("pg_checksums", "-D", self.data, "--disable", "--no-sync")


class PostgresServer:
    """server.Server for PostgreSQL."""

    def __init__(self, spec: ServerSpec, name: str) -> None:
        self.spec = spec
        self.name = name
        self.database = "postgres"
        self._cluster: BenchCluster | None = None
        self._control: Any = None
        self._kept: set[str] = set()

    @property
    def cluster(self) -> BenchCluster:
        """The running cluster."""
        if self._cluster is None:
            raise BenchError(f"server {self.name} was not started")
        return self._cluster

    def start(self) -> None:
        """Build what the spec names, create the server, its extensions and the switches."""
        pg_config = private_server(self.spec.pg_config, self.spec.build, work_folder())
        conf = {**QUIET, **dict(self.spec.conf)}
        with self._plainly():
            self._cluster = BenchCluster(
                pg_config, preload=self.spec.preload, conf=conf, name=self.name
            )
            self._cluster.checksums = self.spec.data_checksums
            self._cluster.initdb()
            self._cluster.start()
            self._control = self.session()
            for library in self.spec.preload:
                self._control.execute(f'CREATE EXTENSION "{library}" CASCADE')
            if self.has_schema():
                self._control.execute(SWITCHES)

    def restart(self) -> None:
        """See Server."""
        self._end_control()
        with self._plainly():
            self.cluster.restart()
            self._control = self.session()

    def _end_control(self) -> None:
        if self._control is not None:
            with contextlib.suppress(Exception):
                self._control.close()
        self._control = None

    def stop(self) -> None:
        """Stop and remove."""
        self._end_control()
        if self._cluster is not None:
            self._cluster.remove()
        self._cluster = None

    def session(self, database: str = "postgres") -> Any:
        """A psycopg connection by the Unix socket, unseen by the count of loopback bytes."""
        return self.cluster.connect(host=str(self.cluster.socket_dir), dbname=database)

    def load(self, workload: Workload) -> None:
        """Make the workload's data in a database of its own once; then vacuum and checkpoint."""
        own = workload.script if workload.program in ("nested", "loop") else ""
        self.database = "_".join(
            filter(None, (workload.program, own, str(workload.tables), str(workload.rows)))
        )
        with self._plainly():
            if self.database not in self._kept:
                self._control.execute(f'CREATE DATABASE "{self.database}"')
                if workload.program != "loop":
                    prepare_data(self, dataclasses.replace(workload, threads=2))
                self._kept.add(self.database)
            with self.session(self.database) as session:
                session.execute("VACUUM ANALYZE")
                session.execute("CHECKPOINT")

    def sysbench_args(self) -> list[str]:
        """TCP to 127.0.0.1."""
        return [
            "--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={self.cluster.port}",
            "--pgsql-user=postgres", f"--pgsql-db={self.database}",
        ]  # fmt: skip

    def switch(self, statements: Sequence[str]) -> None:
        """On the control session."""
        with self._plainly():
            for statement in statements:
                self._control.execute(statement)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """On the control session."""
        with self._plainly():
            return list(self._control.execute(sql).fetchall())

    def has_schema(self) -> bool:
        """Whether our library is loaded and switched on."""
        off = dict(self.spec.conf).get("performance_schema.enabled", True) in (False, "off")
        return LIBRARY in self.spec.preload and not off

    def losses(self) -> dict[str, int]:
        """Our counters, and pg_stat_statements' evictions."""
        lost = dict(self.query(LOSSES)) if self.has_schema() else {}
        if "pg_stat_statements" in self.spec.preload:
            lost["pg_stat_statements_dealloc"] = int(
                self.query("SELECT dealloc FROM pg_stat_statements_info")[0][0]
            )
        return lost

    def version(self) -> str:
        """With the extension's, when it is there."""
        return f"PostgreSQL {self.query('SHOW server_version')[0][0]}"

    def settings(self) -> dict[str, str]:
        """What the configuration says, without what only names this run's places."""
        return dict(self.query(SETTINGS))

    def pids(self) -> list[int]:
        """The postmaster and its children."""
        try:
            postmaster = self.cluster.postmaster_pid()
        except (BenchError, ClusterError):
            return []
        if _parent_of(postmaster) is None:
            return []
        numbers = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return [postmaster, *(pid for pid in numbers if _parent_of(pid) == postmaster)]

    def memory_kb(self) -> dict[str, int]:
        """Pss counts a shared page once in all."""
        memory = {"resident": sum(pss_kb(pid) for pid in self.pids())}
        if self.has_schema():
            memory["reserved"] = int(self.query(RESERVED)[0][0]) // 1024
        return memory

    def log_tail(self) -> str:
        """Without what is said at start."""
        return self.cluster.log_text()[-2000:] if self._cluster else ""

    @contextlib.contextmanager
    def _plainly(self) -> Iterator[None]:
        """Errors of the server and of psycopg as a BenchError with the log's end."""
        import psycopg

        try:
            yield
        except ClusterError as error:
            raise BenchError(f"server {self.name}: {error}") from None
        except psycopg.Error as error:
            raise BenchError(
                f"server {self.name}: {error}\n--- server log ---\n{self.log_tail()}"
            ) from None


def pss_kb(pid: int) -> int:
    """Proportional set size of a process; 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
