"""sys.openmetrics and its text: a scraper's own parser reads it, and its values are those of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import one, rows
from prometheus_client.openmetrics.parser import text_string_to_metric_families


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE TABLE scraped (a int); CREATE ROLE scraper_plain LOGIN;"
        "CREATE ROLE scraper LOGIN IN ROLE pg_monitor",
        autovacuum=False,
    ) as cluster:
        yield cluster


def scrape(conn: Any) -> dict[str, Any]:
    """Families by name, as the parser of Prometheus' own client reads them; it checks the order, too."""
    families = list(text_string_to_metric_families(one(conn, "SELECT sys.openmetrics_text()")))
    assert len({family.name for family in families}) == len(families)
    return {family.name: family for family in families}


def value(families: dict[str, Any], family: str, sample: str = "", **labels: str) -> float:
    (found,) = [
        s.value
        for s in families[family].samples
        if s.name == (sample or family + "_total") and labels.items() <= s.labels.items()
    ]
    return float(found)


def test_families(db: Any) -> None:
    families = scrape(db)
    assert {name: family.type for name, family in families.items()}.items() >= {
        "pfs_statements": "counter",
        "pfs_statements_seconds": "counter",
        "pfs_digest_calls": "counter",
        "pfs_digest_p95_seconds": "gauge",
        "pfs_waits": "counter",
        "pfs_metrics": "counter",
        "pfs_metric_value": "gauge",
        "pfs_lost": "counter",
        "pfs_memory_bytes": "gauge",
        "pfs_statement_duration_seconds": "histogram",
    }.items()
    assert all(family.documentation for family in families.values())


def test_statements_and_errors_grow(db: Any) -> None:
    before = scrape(db)
    with pytest.raises(psycopg.Error):
        db.execute("SELECT 1 / 0")
    for _ in range(5):
        db.execute("INSERT INTO scraped SELECT generate_series(1, 10)")
    after = scrape(db)
    insert = {"event_name": "statement/sql/insert"}
    old = [s.labels for s in before["pfs_statements"].samples]
    first = value(before, "pfs_statements", **insert) if insert in old else 0
    assert value(after, "pfs_statements", **insert) == first + 5
    digest = one(
        db,
        "SELECT left(digest, 16) FROM performance_schema.events_statements_summary_by_digest "
        "WHERE digest_text LIKE 'INSERT INTO `scraped`%'",
    )
    assert value(after, "pfs_digest_calls", digest=digest) == 5
    assert value(after, "pfs_errors", sqlstate="22012", outcome="raised") == 1
    assert value(after, "pfs_statements_seconds", **insert) > 0


def test_values_are_those_of_the_tables(db: Any) -> None:
    families = scrape(db)
    pages = one(db, "SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers'")
    assert value(
        families, "pfs_metric_value", "pfs_metric_value", name="buffer_pool_pages_total"
    ) == pages
    assert value(families, "pfs_memory_bytes", "pfs_memory_bytes") == one(
        db, "SELECT memory FROM performance_schema.memory WHERE name = 'performance_schema.memory'"
    )
    counters = {s.labels["name"] for s in families["pfs_metric_value"].samples}
    assert counters == {
        row.name
        for row in rows(
            db,
            "SELECT name FROM performance_schema.engine_metrics "
            "WHERE status = 'enabled' AND count IS NOT NULL AND type = 'value'",
        )
    }
    lost = {s.labels["name"]: s.value for s in families["pfs_lost"].samples}
    assert lost["digest"] == 0 and set(lost.values()) == {0.0}


def test_histogram(db: Any) -> None:
    db.execute("SELECT pg_sleep(0.02)")
    buckets = scrape(db)["pfs_statement_duration_seconds"].samples
    counts = [s.value for s in buckets]
    assert counts == sorted(counts) and buckets[-1].labels["le"] == "+Inf"
    assert buckets[0].labels["le"] == "0.00001" and len(buckets) == 20
    slow = {s.labels["le"]: s.value for s in buckets}
    assert slow["0.05"] - slow["0.01"] >= 1
    assert slow["+Inf"] <= one(
        db,
        "SELECT sum(count_bucket) FROM performance_schema.events_statements_histogram_global",
    )


def test_rights(server: Any) -> None:
    with server.connect(user="scraper") as conn:
        assert "pfs_digest_calls" in scrape(conn)
    with server.connect(user="scraper_plain") as conn:
        assert "pfs_metrics" in scrape(conn)
