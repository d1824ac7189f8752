#!/usr/bin/env python3
"""Measures what a statement event costs, inside one backend, and what memory is reserved.

    scripts/measure_cost.py --pg-config X [--blocks N] [--json FILE]

Method (design, section 8): one session runs the same block of statements again and again; between
blocks the instrumentation is switched, in random order, pairwise. The result is the median of the
paired differences per statement with a bootstrap 95 % interval; "not distinguishable" when that
covers 0. Loads:

  top      a simple query message with 500 `SELECT 1`: top-level statements without network time
  select   500 selects by primary key from one PL/pgSQL function: nested statements
  update   the same with updates that find no row

"absent" compares two servers, one without the library, in alternating blocks.
Errors: ClusterError from pfs_cluster with the failed program's output; nothing is left running.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pfs_cluster import Cluster  # noqa: E402

PER_BLOCK = 500
REPEATS = 4

SCHEMA = """
CREATE TABLE cost (a int PRIMARY KEY, b int);
INSERT INTO cost VALUES (1, 0);
CREATE FUNCTION nested_select(k int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE x int; BEGIN FOR i IN 1..k LOOP SELECT b INTO x FROM cost WHERE a = 1; END LOOP; END $$;
CREATE FUNCTION nested_update(k int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN FOR i IN 1..k LOOP UPDATE cost SET b = 0 WHERE a = -1; END LOOP; END $$;
"""

LOADS = {
    "top": "SELECT 1;" * PER_BLOCK,
    "select": f"SELECT nested_select({PER_BLOCK})",
    "update": f"SELECT nested_update({PER_BLOCK})",
}

CONSUMERS_DEFAULT = "UPDATE performance_schema.setup_consumers SET enabled = CASE WHEN name LIKE '%long' OR name LIKE '%cpu' THEN 'NO' ELSE 'YES' END"
MODES = {
    "off": ["SELECT performance_schema.set_instruments('%', false)"],
    "default": ["SELECT performance_schema.set_instruments('%', true)", CONSUMERS_DEFAULT],
    "all": [
        "SELECT performance_schema.set_instruments('%', true)",
        "SELECT performance_schema.set_consumers('%', true)",
    ],
    "all but cpu": [
        "SELECT performance_schema.set_instruments('%', true)",
        "SELECT performance_schema.set_consumers('%', true)",
        "SELECT performance_schema.set_consumers('events_statements_cpu', false)",
    ],
    "summaries only": [
        "SELECT performance_schema.set_instruments('%', true)",
        CONSUMERS_DEFAULT,
        "SELECT performance_schema.set_consumers('events_%_current', false)",
    ],
}


def bootstrap(values: list[float], rounds: int = 1000) -> tuple[float, float]:
    """95 % interval of the median of values."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


def block_ns(connection: Any, load: str) -> float:
    """Nanoseconds per statement of one block."""
    start = time.perf_counter_ns()
    for _ in range(REPEATS):
        connection.pgconn.exec_(LOADS[load].encode())
    return (time.perf_counter_ns() - start) / (REPEATS * PER_BLOCK)


def switch(connection: Any, mode: str) -> None:
    for statement in MODES[mode]:
        connection.execute(statement)


def paired(blocks: int, a: Callable[[], float], b: Callable[[], float]) -> dict[str, Any]:
    """Runs a and b in random order, blocks times; differences are a - b."""
    rng = random.Random(7)
    pairs = []
    for i in range(blocks + 3):
        if rng.random() < 0.5:
            x, y = a(), b()
        else:
            y, x = b(), a()
        if i >= 3:  # the first ones fill caches
            pairs.append((x, y))
    differences = [x - y for x, y in pairs]
    low, high = bootstrap(differences)
    return {
        "added_ns": round(statistics.median(differences), 1),
        "low": round(low, 1),
        "high": round(high, 1),
        "base_ns": round(statistics.median(y for _, y in pairs), 1),
        "distinguishable": not low <= 0 <= high,
        "pairs": [[round(x, 1), round(y, 1)] for x, y in pairs],
    }


def prepare(cluster: Cluster, with_extension: bool) -> Any:
    connection = cluster.connect(autocommit=True)
    if with_extension:
        connection.execute("CREATE EXTENSION performance_schema")
    connection.execute(SCHEMA)
    return connection


def measure_modes(connection: Any, blocks: int) -> dict[str, Any]:
    def run(mode: str, load: str) -> Callable[[], float]:
        def one() -> float:
            switch(connection, mode)
            return block_ns(connection, load)

        return one

    results = {}
    for load in LOADS:
        for mode in MODES:
            if mode == "off":
                continue
            results[f"{load}: {mode} - off"] = paired(blocks, run(mode, load), run("off", load))
            show(f"{load}: {mode} - off", results[f"{load}: {mode} - off"])
    return results


def show(name: str, r: dict[str, Any]) -> None:
    verdict = "" if r["distinguishable"] else "  not distinguishable"
    print(
        f"{name:32} {r['added_ns']:8.1f} ns [{r['low']:.1f}, {r['high']:.1f}]"
        f"  of {r['base_ns']:.0f}{verdict}",
        flush=True,
    )


def measure_absent(pg_config: str, blocks: int) -> dict[str, Any]:
    results = {}
    off = {"compute_query_id": "on", "performance_schema__instrument": "%=off"}
    with (
        Cluster(pg_config, conf={"compute_query_id": "on"}) as plain,
        Cluster(pg_config, preload=["performance_schema"], conf=off) as loaded,
    ):
        with prepare(plain, False) as a, prepare(loaded, True) as b:
            for load in LOADS:
                name = f"{load}: loaded, %=off - absent"
                results[name] = paired(
                    blocks, lambda load=load: block_ns(b, load), lambda load=load: block_ns(a, load)
                )
                show(name, results[name])
    return results


def reserved_bytes(pg_config: str, max_connections: int) -> int:
    conf = {"max_connections": max_connections}
    with Cluster(pg_config, preload=["performance_schema"], conf=conf) as cluster:
        with cluster.connect(autocommit=True) as connection:
            connection.execute("CREATE EXTENSION performance_schema")
            row = connection.execute(
                "SELECT memory FROM performance_schema.memory"
                " WHERE name = 'performance_schema.memory'"
            ).fetchone()
            return int(row[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pg-config", required=True)
    parser.add_argument("--blocks", type=int, default=200)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    pg_config = arguments.pg_config
    result: dict[str, Any] = {"machine": platform.platform(), "blocks": arguments.blocks}
    conf = {"compute_query_id": "on"}
    with Cluster(pg_config, preload=["performance_schema"], conf=conf) as cluster:
        with prepare(cluster, True) as connection:
            result["version"] = connection.execute("SHOW server_version").fetchone()[0]
            result["events"] = measure_modes(connection, arguments.blocks)
            lost = connection.execute(
                "SELECT sum(variable_value) FROM performance_schema.status"
                " WHERE variable_name LIKE '%lost'"
            ).fetchone()[0]
            result["lost"] = int(lost)
            print(f"events lost: {lost}")
    result["absent"] = measure_absent(pg_config, arguments.blocks)
    result["reserved_bytes"] = {n: reserved_bytes(pg_config, n) for n in (10, 100, 1000)}
    for connections, size in result["reserved_bytes"].items():
        print(f"max_connections {connections:5}: {size / 1048576:.1f} MB reserved")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
