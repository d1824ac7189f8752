#!/usr/bin/env python3
"""Writes grafana.json, the dashboard, beside itself: dashboard.py. PANELS says what is on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLUMNS, HEIGHT = 2, 8
GRID = 24
"""Of a row, in Grafana's units."""


@dataclass(frozen=True)
class Panel:
    """A title, what it shows, and each line's expression with its legend."""

    title: str
    help: str
    unit: str
    lines: tuple[tuple[str, str], ...]
    stacked: bool = False


def rate(metric: str, condition: str = "") -> str:
    """Growth a second."""
    selector = ",".join(filter(None, ['instance=~"$instance"', condition]))
    return f"rate({metric}{{{selector}}}[$__rate_interval])"


def by_name(name: str) -> str:
    """Growth of one counter of engine_metrics."""
    condition = f'name="{name}"'
    return f"sum({rate('pfs_metrics_total', condition)})"


STATEMENT = 'event_name=~"statement/sql/.*"'
WAIT = 'event_name!~"idle|wait/io/table/.*"'

PANELS = (
    Panel("Statements", "Executions a second, by command", "ops",
          ((f"sum by (event_name) ({rate('pfs_statements_total', STATEMENT)})", "{{event_name}}"),), stacked=True),
    Panel("Sessions in statements", "Seconds of statements a second", "short",
          ((f"sum by (event_name) ({rate('pfs_statements_seconds_total', STATEMENT)})", "{{event_name}}"),),
          stacked=True),
    Panel("Statements by time", "Seconds a second of the ten that take the most", "short",
          ((f"topk(10, {rate('pfs_digest_seconds_total')})", "{{schema}} {{digest}}"),)),
    Panel("95 per cent take at most", "Of those ten", "s",
          (('topk(10, pfs_digest_p95_seconds{instance=~"$instance"})', "{{schema}} {{digest}}"),)),
    Panel("Waits", "Seconds a second of the ten that take the most", "short",
          ((f"topk(10, {rate('pfs_waits_seconds_total', WAIT)})", "{{event_name}}"),), stacked=True),
    Panel("Errors", "A second, by condition", "ops",
          ((f"sum by (sqlstate, condition, outcome) ({rate('pfs_errors_total')})",
            "{{sqlstate}} {{condition}} {{outcome}}"),)),
    Panel("Transactions", "A second", "ops",
          ((by_name("trx_commits"), "committed"), (by_name("trx_rollbacks"), "rolled back"))),
    Panel("Rows", "A second", "ops",
          tuple((by_name(f"dml_{what}"), what) for what in ("reads", "inserts", "updates", "deletes"))),
    Panel("Buffer pool", "Part of the pages that were there", "percentunit",
          ((f"{by_name('buffer_pool_hits')} / {by_name('buffer_pool_read_requests')}", "hits"),)),
    Panel("WAL and temporary files", "Bytes a second", "Bps",
          ((by_name("log_bytes"), "WAL"), (by_name("sort_temporary_bytes"), "temporary files"))),
    Panel("Sessions", "Backends, and the oldest transaction id in use", "short",
          (('sum(pfs_metric_value{instance=~"$instance",name="server_backends"})', "backends"),
           ('sum(pfs_metric_value{instance=~"$instance",name="trx_active_transactions"})', "transactions"))),
    Panel("Lost", "What could not be recorded, a second", "ops",
          ((f"sum by (name) ({rate('pfs_lost_total')}) > 0", "{{name}}"),)),
)  # fmt: skip


def panel(number: int, of: Panel) -> dict[str, Any]:
    """As Grafana keeps it."""
    width = GRID // COLUMNS
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": of.title,
        "description": of.help,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {
            "x": number % COLUMNS * width, "y": number // COLUMNS * HEIGHT, "w": width, "h": HEIGHT,
        },
        "fieldConfig": {
            "defaults": {
                "unit": of.unit,
                "min": 0,
                "custom": {
                    "fillOpacity": 20 if of.stacked else 0,
                    "stacking": {"mode": "normal" if of.stacked else "none"},
                },
            },
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "table", "placement": "right", "calcs": ["mean"]},
                    "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [
            {"refId": chr(ord("A") + i), "expr": expression, "legendFormat": legend}
            for i, (expression, legend) in enumerate(of.lines)
        ],
    }  # fmt: skip


def dashboard() -> dict[str, Any]:
    """All of it."""
    variables = [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
        {
            "name": "instance", "type": "query", "label": "Server", "multi": True, "includeAll": True, "refresh": 2,
            "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "query": {"query": "label_values(pfs_memory_bytes, instance)", "refId": "instance"},
        },
    ]  # fmt: skip
    return {
        "uid": "performance-schema",
        "title": "PostgreSQL Performance Schema",
        "tags": ["postgresql"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables},
        "panels": [panel(number, of) for number, of in enumerate(PANELS)],
    }


if __name__ == "__main__":
    Path(__file__).with_name("grafana.json").write_text(json.dumps(dashboard(), indent=1) + "\n")
