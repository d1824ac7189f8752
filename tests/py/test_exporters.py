"""exporters/: what prometheus-postgres-exporter, prometheus-sql-exporter and Prometheus itself make of it.

All three are Debian's packages; where one is not installed its tests are skipped (.ci/run installs them).
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import rows, wait_until
from pfs_cluster import free_port
from prometheus_client.parser import text_string_to_metric_families

FOLDER = Path(__file__).parents[2] / "exporters"
sys.path.insert(0, str(FOLDER))
import dashboard
import queries

POSTGRES_EXPORTER = shutil.which("prometheus-postgres-exporter")
SQL_EXPORTER = shutil.which("prometheus-sql-exporter")
PROMETHEUS = shutil.which("prometheus")

Sample = tuple[str, frozenset[tuple[str, str]]]


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config, "CREATE ROLE scraper LOGIN IN ROLE pg_monitor", autovacuum=False
    ) as cluster:
        work(cluster)
        yield cluster


def work(server: Any) -> None:
    with server.connect() as conn:
        conn.execute("CREATE TEMPORARY TABLE scraped AS SELECT generate_series(1, 1000) AS a")
        conn.execute("UPDATE scraped SET a = a + 1")
        with contextlib.suppress(psycopg.Error):
            conn.execute("SELECT 1 / 0")
        conn.execute("SELECT pg_stat_force_next_flush()")


@contextlib.contextmanager
def program(*arguments: Any, **environment: str) -> Iterator[None]:
    """Runs it; it is gone afterwards."""
    with subprocess.Popen(
        [str(a) for a in arguments],
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def postgres_exporter(server: Any) -> Iterator[str]:
    """Runs it with our queries; its address."""
    address = f"127.0.0.1:{free_port()}"
    with program(
        POSTGRES_EXPORTER, f"--web.listen-address={address}", "--disable-default-metrics",
        "--disable-settings-metrics", f"--extend.query-path={FOLDER / 'postgres_exporter.yaml'}",
        DATA_SOURCE_NAME=url_of(server),
    ):  # fmt: skip
        yield address


def fetched(url: str) -> str:
    """The answer, or nothing while nobody listens."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, ConnectionError):
        return ""


def url_of(server: Any, scheme: str = "postgresql") -> str:
    env = server.client_env()
    return f"{scheme}://scraper@127.0.0.1:{env['PGPORT']}/{env['PGDATABASE']}?sslmode=disable"


def samples(text: str, without: set[str]) -> dict[Sample, float]:
    """Ours, by name and labels."""
    return {
        (s.name, frozenset((k, v) for k, v in s.labels.items() if k not in without)): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
        if s.name.startswith(("pfs_", "sql_pfs_"))
    }


def told(conn: Any) -> dict[Sample, float]:
    """What sys.openmetrics says."""
    return {
        (row.metric, frozenset(zip(row.label_names, row.label_values))): float(row.value)
        for row in rows(conn, "SELECT * FROM sys.openmetrics WHERE type <> 'histogram'")
    }


def lasting(told_samples: dict[Sample, float]) -> set[Sample]:
    """Those that the exporter's own statements, which move digests and waits, do not bring in or out of sight."""
    moving = ("pfs_digest", "pfs_waits", "pfs_statements")
    return {sample for sample in told_samples if not sample[0].startswith(moving)}


def check_same(before: dict[Sample, float], found: dict[Sample, float], after: dict[Sample, float]) -> None:
    """Every sample that was there before is exported, none that is not there afterwards; values between."""
    assert len(before) > 300
    assert lasting(before) <= set(found)
    assert {name for name, _ in found} == {name for name, _ in before}
    for sample in set(found) & set(before) & set(after):
        if sample[0].endswith("_total"):
            assert before[sample] <= found[sample] * (1 + 1e-12), sample
            assert found[sample] <= after[sample] * (1 + 1e-12), sample
    memory: Sample = ("pfs_memory_bytes", frozenset())
    assert found[memory] == before[memory]


# --- the files ---------------------------------------------------------------------------------


def test_files_are_as_they_are_written() -> None:
    assert (FOLDER / "postgres_exporter.yaml").read_text() == queries.postgres_exporter(queries.FAMILIES)
    assert (FOLDER / "sql_exporter.yml").read_text() == queries.sql_exporter(queries.FAMILIES)
    assert json.loads((FOLDER / "grafana.json").read_text()) == dashboard.dashboard()


def test_the_dashboard_asks_for_what_is_there(server: Any) -> None:
    with server.connect() as conn:
        names = {row.metric for row in rows(conn, "SELECT DISTINCT metric FROM sys.openmetrics")}
        counters = {row.name for row in rows(conn, "SELECT name FROM performance_schema.engine_metrics")}
    for panel in dashboard.PANELS:
        for expression, _ in panel.lines:
            assert any(name in expression for name in names), expression
            for name in expression.split('name="')[1:]:
                assert name.split('"')[0] in counters, expression


# --- the programs ------------------------------------------------------------------------------


@pytest.mark.skipif(POSTGRES_EXPORTER is None, reason="prometheus-postgres-exporter is not installed")
def test_postgres_exporter(server: Any) -> None:
    with postgres_exporter(server) as address, server.connect(user="scraper") as conn:
        url = f"http://{address}/metrics"
        wait_until(lambda: "pfs_memory_bytes" in fetched(url), "it scrapes")
        before = told(conn)
        text = fetched(url)
        check_same(before, samples(text, {"server"}), told(conn))


@pytest.mark.skipif(SQL_EXPORTER is None, reason="prometheus-sql-exporter is not installed")
def test_sql_exporter(server: Any, tmp_path: Path) -> None:
    """Its samples have the names of the others once exporters/sql_exporter_relabel.yml is applied."""
    port = free_port()
    config = (FOLDER / "sql_exporter.yml").read_text()
    config = config.replace("interval: 15s", "interval: 1s")
    config = config.replace(
        "postgres://pfs_scraper@localhost:5432/postgres?sslmode=disable", url_of(server, "postgres")
    )
    file = tmp_path / "sql_exporter.yml"
    file.write_text(config)
    relabel = (FOLDER / "sql_exporter_relabel.yml").read_text()
    assert "regex: sql_(pfs_\\w+);(\\w+)" in relabel and "replacement: ${1}_${2}" in relabel
    with program(
        SQL_EXPORTER, f"-config.file={file}", f"-web.listen-address=127.0.0.1:{port}"
    ), server.connect(user="scraper") as conn:  # fmt: skip
        url = f"http://127.0.0.1:{port}/metrics"
        wait_until(lambda: "sql_pfs_memory" in fetched(url), "it scrapes")
        dropped = {"driver", "sql_job", "database", "host", "user"}
        found: dict[Sample, float] = {}
        for (name, labels), value in samples(fetched(url), dropped).items():
            column = dict(labels)["col"]
            others = frozenset(item for item in labels if item[0] != "col")
            found[f"{name.removeprefix('sql_')}_{column}", others] = value
        now = told(conn)
        assert lasting(now) <= set(found)
        assert {name for name, _ in found} == {name for name, _ in now}
        memory: Sample = ("pfs_memory_bytes", frozenset())
        assert found[memory] == now[memory]


@pytest.mark.skipif(
    POSTGRES_EXPORTER is None or PROMETHEUS is None, reason="prometheus is not installed"
)
def test_prometheus_answers_the_dashboard(server: Any, tmp_path: Path) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}/api/v1/query?query="

    def ask(expression: str) -> list[Any]:
        answer = fetched(base + urllib.parse.quote(expression))
        return list(json.loads(answer)["data"]["result"]) if answer else []

    with contextlib.ExitStack() as running:
        scraped = running.enter_context(postgres_exporter(server))
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s}\n"
            f"scrape_configs: [{{job_name: pfs, static_configs: [{{targets: ['{scraped}']}}]}}]\n"
        )
        running.enter_context(
            program(
                PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            )
        )  # fmt: skip
        wait_until(lambda: ask("count_over_time(pfs_memory_bytes[1m]) > 2"), "three scrapes", 60)
        work(server)
        wait_until(lambda: ask("rate(pfs_errors_total[1m]) > 0"), "the error is scraped", 60)
        for panel in dashboard.PANELS:
            for expression, _ in panel.lines:
                plain = expression.replace("$__rate_interval", "1m").replace('"$instance"', '".*"')
                found = ask(plain)
                if panel.title == "Lost":
                    assert found == []
                else:
                    assert found, f"{panel.title}: {plain}"
