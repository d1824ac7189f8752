"""Two observers of one load: timed waits and the samples of pg_wait_sampling say the same.

Runs where that extension is installed, and only when PFS_LOAD_SECONDS is 120 or more.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import close_cluster, open_cluster
from helpers import LOAD_SECONDS, one, rows, wait_until

CLIENTS = 64
POINTS = 5.0
LIBRARY = "pg_wait_sampling"
NO_EVENT = r"(_file|/client_connection|/other_socket|/unattributed)$"

TIMED = f"""
SELECT CASE event_name WHEN 'idle' THEN 'ClientRead' ELSE regexp_replace(event_name, '.*/', '') END,
       sum(sum_timer_wait)::float8 / 1e12
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE count_star > 0 AND event_name !~ '^wait/(activity|extension|io/table)/' AND event_name !~ '{NO_EVENT}'
GROUP BY 1
"""
SAMPLED = """
SELECT event, sum(count)::float8 / 100 FROM pg_wait_sampling_profile
WHERE event IS NOT NULL AND event_type NOT IN ('Activity', 'Extension') GROUP BY 1
"""


def available(pg_config: str) -> str | None:
    """What is missing for this test."""
    if LOAD_SECONDS < 120:
        return "only with PFS_LOAD_SECONDS of 120 or more"
    folder = subprocess.run(
        [pg_config, "--pkglibdir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(folder, f"{LIBRARY}.so").exists():
        return f"{LIBRARY} is not installed"
    return None if shutil.which("sysbench") else "sysbench is not installed"


@pytest.fixture
def server(pg_config: str) -> Iterator[Any]:
    missing = available(pg_config)
    if missing:
        pytest.skip(missing)
    made = open_cluster(
        pg_config,
        True,
        True,
        shared_preload_libraries=f"performance_schema,{LIBRARY}",
        pg_wait_sampling__profile_period=10,
        pg_wait_sampling__profile_pid=False,
        performance_schema__instrument="%=on",
        autovacuum=False,
        max_wal_size="4GB",
    )
    made.psql(f"CREATE EXTENSION {LIBRARY}")
    made.psql("CREATE DATABASE sbtest")
    yield made
    close_cluster(made)


def sysbench(server: Any, *words: str) -> list[str]:
    return [
        "sysbench", "--db-driver=pgsql", f"--pgsql-host={server.socket_dir}",
        f"--pgsql-port={server.port}", "--pgsql-user=postgres", "--pgsql-db=sbtest",
        "--tables=4", "--table-size=10000", "oltp_read_write", *words,
    ]  # fmt: skip


def shares(conn: Any, sql: str) -> dict[str, float]:
    """Per cent of all time, by event."""
    found = dict(conn.execute(sql).fetchall())
    whole = sum(found.values())
    return {name: 100 * time_s / whole for name, time_s in found.items()}


def top(found: dict[str, float]) -> list[str]:
    return sorted(found, key=lambda name: -found[name])[:5]


@pytest.mark.timeout(LOAD_SECONDS + 300)
def test_same_profile(server: Any, connect: Callable[..., Any]) -> None:
    """64 clients read and write: the same five events lead, with nearly the same shares."""
    subprocess.run(sysbench(server, "prepare"), check=True, stdout=subprocess.DEVNULL, timeout=200)
    conn = connect(server)
    run = sysbench(server, f"--threads={CLIENTS}", f"--time={LOAD_SECONDS + 60}", "run")
    busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'sbtest' AND xact_start > %s"
    load = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        begun = one(conn, "SELECT clock_timestamp()")
        wait_until(lambda: one(conn, busy, begun) >= CLIENTS / 2, "the load")
        conn.execute("TRUNCATE performance_schema.events_waits_summary_global_by_event_name")
        conn.execute("SELECT pg_wait_sampling_reset_profile()")
        time.sleep(LOAD_SECONDS)
        assert load.poll() is None, load.communicate()[0].decode()
        timed, sampled = shares(conn, TIMED), shares(conn, SAMPLED)
    finally:
        load.terminate()
        load.communicate(timeout=60)
    text = "\n".join(
        f"{name}: timed {timed.get(name, 0):.1f} %, sampled {sampled.get(name, 0):.1f} %"
        for name in sorted(timed | sampled, key=lambda name: -timed.get(name, 0))[:15]
    )
    print(text)
    assert set(top(timed)) == set(top(sampled)), text
    for name in timed | sampled:
        assert abs(timed.get(name, 0) - sampled.get(name, 0)) <= POINTS, text
    names = {row.name for row in rows(conn, "SELECT name FROM performance_schema.setup_instruments")}
    events = rows(conn, "SELECT DISTINCT event FROM pg_wait_sampling_profile WHERE event <> ''")
    assert {row.event for row in events} <= {name.rpartition("/")[2] for name in names}
