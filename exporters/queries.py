#!/usr/bin/env python3
"""Writes postgres_exporter.yaml and sql_exporter.yml, the query sets of two exporters, from FAMILIES: queries.py.

The samples have the names and labels of sys.openmetrics; tests/py/test_exporters.py compares all three.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

WIDTH = 110


@dataclass(frozen=True)
class Family:
    """A query, the labels and the values among its columns; a value ends in _total, or is one, if it only grows."""

    name: str
    query: str
    labels: Mapping[str, str]
    values: Mapping[str, str]


FAMILIES = (
    Family(
        "pfs_statements",
        "SELECT event_name, count_star AS total, sum_timer_wait / 1e12 AS seconds_total, sum_errors AS errors_total, "
        "sum_rows_sent AS rows_sent_total, sum_rows_examined AS rows_examined_total, "
        "sum_rows_affected AS rows_affected_total "
        "FROM performance_schema.events_statements_summary_global_by_event_name WHERE count_star > 0",
        {"event_name": "Instrument"},
        {
            "total": "Statements and protocol commands",
            "seconds_total": "Their time",
            "errors_total": "Those that failed",
            "rows_sent_total": "Rows they sent",
            "rows_examined_total": "Rows they read from tables",
            "rows_affected_total": "Rows they changed",
        },
    ),
    Family(
        "pfs_digest",
        "SELECT coalesce(schema_name, '') AS schema, left(digest, 16) AS digest, sum(count_star) AS calls_total, "
        "sum(sum_timer_wait) / 1e12 AS seconds_total, sum(sum_errors) AS errors_total, "
        "max(quantile_95) / 1e12 AS p95_seconds "
        "FROM performance_schema.events_statements_summary_by_digest WHERE digest IS NOT NULL "
        "GROUP BY 1, 2 ORDER BY sum(sum_timer_wait) DESC LIMIT 50",
        {"schema": "Database", "digest": "First 16 digits of the digest"},
        {
            "calls_total": "Executions of a normalised statement",
            "seconds_total": "Their time",
            "errors_total": "Those that failed",
            "p95_seconds": "95 per cent of them took at most so long",
        },
    ),
    Family(
        "pfs_waits",
        "SELECT event_name, count_star AS total, sum_timer_wait / 1e12 AS seconds_total "
        "FROM performance_schema.events_waits_summary_global_by_event_name WHERE count_star > 0",
        {"event_name": "Instrument"},
        {"total": "Waits", "seconds_total": "Their time"},
    ),
    Family(
        "pfs_errors",
        "SELECT coalesce(e.sql_state, '') AS sqlstate, coalesce(e.error_name, '') AS condition, v.outcome, v.total "
        "FROM performance_schema.events_errors_summary_global_by_error AS e "
        "CROSS JOIN LATERAL (VALUES ('raised', e.sum_error_raised), ('handled', e.sum_error_handled)) "
        "AS v (outcome, total) WHERE v.total > 0",
        {"sqlstate": "SQLSTATE", "condition": "Its name", "outcome": "raised or handled"},
        {"total": "Errors, by whether a handler caught them"},
    ),
    Family(
        "pfs_metrics",
        "SELECT subsystem, name, count AS total FROM performance_schema.engine_metrics "
        "WHERE status = 'enabled' AND count IS NOT NULL AND type <> 'value'",
        {"subsystem": "Module", "name": "Counter"},
        {"total": "Counters of engine_metrics"},
    ),
    Family(
        "pfs_metric",
        "SELECT subsystem, name, count AS value FROM performance_schema.engine_metrics "
        "WHERE status = 'enabled' AND count IS NOT NULL AND type = 'value'",
        {"subsystem": "Module", "name": "Counter"},
        {"value": "Present values of engine_metrics"},
    ),
    Family(
        "pfs_lost",
        "SELECT regexp_replace(variable_name, '^performance_schema_|_lost$', '', 'g') AS name, variable_value AS total "
        "FROM performance_schema.status WHERE variable_name LIKE '%\\_lost'",
        {"name": "Loss counter"},
        {"total": "What could not be recorded"},
    ),
    Family(
        "pfs_memory",
        "SELECT memory AS bytes FROM performance_schema.memory WHERE name = 'performance_schema.memory'",
        {},
        {"bytes": "Shared memory of the Performance Schema"},
    ),
)


def folded(sql: str, indent: str) -> str:
    """A block of YAML in which line ends are spaces."""
    lines = textwrap.wrap(sql, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return "\n".join(indent + line for line in lines)


def postgres_exporter(families: Iterable[Family]) -> str:
    """For --extend.query-path."""
    lines = ["# Written by exporters/queries.py: for prometheus-postgres-exporter --extend.query-path."]
    for family in families:
        lines += ["", f"{family.name}:", "  query: >-", folded(family.query, "    "), "  master: true", "  metrics:"]
        kinds = {label: ("LABEL", help) for label, help in family.labels.items()}
        for value, help in family.values.items():
            kinds[value] = ("COUNTER" if value.endswith("total") else "GAUGE", help)
        lines += [f'    - {name}: {{usage: {kind}, description: "{help}"}}' for name, (kind, help) in kinds.items()]
    return "\n".join(lines) + "\n"


def sql_exporter(families: Iterable[Family]) -> str:
    """The whole configuration: connection and interval are examples."""
    lines = [
        "# Written by exporters/queries.py: for prometheus-sql-exporter. Its samples are sql_pfs_waits{col=\"total\"} and so",
        "# on; sql_exporter_relabel.yml makes pfs_waits_total of it. Change the connection.",
        "jobs:",
        "  - name: performance_schema",
        "    interval: 15s",
        "    connections:",
        '      - "postgres://pfs_scraper@localhost:5432/postgres?sslmode=disable"',
        "    queries:",
    ]  # fmt: skip
    for family in families:
        lines += [
            f"      - name: {family.name}",
            f'        help: "{"; ".join(family.values.values())}"',
            f"        labels: [{', '.join(family.labels)}]",
            f"        values: [{', '.join(family.values)}]",
            "        allow_zero_rows: true",
            "        query: >-",
            folded(family.query, "          "),
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    here = Path(__file__).parent
    (here / "postgres_exporter.yaml").write_text(postgres_exporter(FAMILIES))
    (here / "sql_exporter.yml").write_text(sql_exporter(FAMILIES))
