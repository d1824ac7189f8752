"""Fixtures for the tests against real servers, and what holds for every one of them.

PG_CONFIG names the server under test; the extension must be installed there (`make py` does it).
After each test the server logs are searched: a process that died by a signal fails the test, unless
it is marked `@pytest.mark.expects_crash`. The log slice of a failed test is printed.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from pfs_cluster import Cluster, Setting  # noqa: E402

DEFAULT_CONF: dict[str, Setting] = {"max_connections": 100, "compute_query_id": "on"}
DEATH = re.compile(r"terminated by signal \d+|PANIC:")

_clusters: list[Cluster] = []
"""Every server that is up now: the log guard looks at all of them."""


@pytest.fixture(scope="session")
def pg_config() -> str:
    """The pg_config of the server under test."""
    path = os.environ.get("PG_CONFIG")
    if not path:
        pytest.exit("PG_CONFIG is not set: run `make py`", returncode=2)
    return path


def open_cluster(pg_config: str, extension: bool, preload: bool, **conf: Setting) -> Cluster:
    """A started server; the caller removes it."""
    libraries = ["performance_schema"] if preload else []
    cluster = Cluster(pg_config, preload=libraries, conf={**DEFAULT_CONF, **conf})
    cluster.__enter__()
    _clusters.append(cluster)
    if extension:
        cluster.psql("CREATE EXTENSION performance_schema")
    return cluster


def close_cluster(cluster: Cluster) -> None:
    """Stop and remove; the guard no longer looks at it."""
    if cluster in _clusters:
        _clusters.remove(cluster)
    cluster.remove()


@contextlib.contextmanager
def with_library(pg_config: str, sql: str, **conf: Setting) -> Iterator[Cluster]:
    """A server of a module's own, with the library, that has executed this SQL."""
    cluster = open_cluster(pg_config, extension=True, preload=True, **conf)
    try:
        cluster.psql(sql)
        yield cluster
    finally:
        close_cluster(cluster)


@contextlib.contextmanager
def with_and_without(pg_config: str, sql: str) -> Iterator[tuple[Cluster, Cluster]]:
    """Two servers that have executed the same SQL: one with the library, one without."""
    servers = tuple(
        open_cluster(pg_config, extension=library, preload=library) for library in (True, False)
    )
    for server in servers:
        server.psql(sql)
    yield servers
    for server in servers:
        close_cluster(server)


@pytest.fixture(scope="session")
def cluster(pg_config: str) -> Iterator[Cluster]:
    """The shared server, with the extension preloaded and created."""
    server = open_cluster(pg_config, extension=True, preload=True)
    yield server
    close_cluster(server)


@pytest.fixture
def new_cluster(pg_config: str, _log_guard: None) -> Iterator[Callable[..., Cluster]]:
    """Makes servers for one test: new_cluster(extension=True, preload=True, **settings).

    In setting names `__` stands for a dot: performance_schema__enabled=False.
    """
    made: list[Cluster] = []

    def make(*, extension: bool = True, preload: bool = True, **conf: Setting) -> Cluster:
        made.append(open_cluster(pg_config, extension, preload, **conf))
        return made[-1]

    yield make
    deaths = [text for server in made for text in DEATH.findall(server.log_text())]
    for server in reversed(made):
        _old_logs.append(server.log_text())
        close_cluster(server)
    _seen_deaths.extend(deaths)


@pytest.fixture
def new_standby(_log_guard: None) -> Iterator[Callable[..., Cluster]]:
    """Makes hot standbys for one test: new_standby(primary, **settings)."""
    made: list[Cluster] = []

    def make(primary: Cluster, **conf: Setting) -> Cluster:
        made.append(primary.standby(conf=conf))
        return made[-1]

    yield make
    for replica in made:
        _seen_deaths.extend(DEATH.findall(replica.log_text()))
        _old_logs.append(replica.log_text())
        replica.remove()


@pytest.fixture
def conn(cluster: Cluster) -> Iterator[Any]:
    """An autocommit psycopg connection to the shared server."""
    with cluster.connect() as connection:
        yield connection


@pytest.fixture
def db(server: Any) -> Iterator[Any]:
    """A superuser's session on the server of the test's own module."""
    with server.connect() as connection:
        yield connection


@pytest.fixture
def connect() -> Iterator[Callable[..., Any]]:
    """Makes connections for one test: connect(cluster, **options); closed after it."""
    made: list[Any] = []

    def make(server: Cluster, **options: Any) -> Any:
        made.append(server.connect(**options))
        return made[-1]

    yield make
    for connection in made:
        connection.close()


# --- what holds for every test --------------------------------------------------------------

_old_logs: list[str] = []
_seen_deaths: list[str] = []
"""From servers that were removed before the guard could look at them."""


@pytest.fixture(autouse=True)
def _log_guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test when a server process died by a signal and the test did not want that."""
    _old_logs.clear()
    _seen_deaths.clear()
    positions = {id(server): server.log_position() for server in _clusters}
    request.node.pfs_log_positions = positions
    yield
    deaths = list(_seen_deaths)
    for server in _clusters:
        deaths += DEATH.findall(server.log_text(positions.get(id(server), 0)))
    if deaths and not request.node.get_closest_marker("expects_crash"):
        pytest.fail("a server process died: " + "; ".join(deaths), pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Attach what the servers logged during a failed test."""
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    positions = getattr(item, "pfs_log_positions", {})
    slices = [server.log_text(positions.get(id(server), 0)) for server in _clusters]
    for text in slices + _old_logs:
        if text.strip():
            report.sections.append(("server log", text[-8000:]))
