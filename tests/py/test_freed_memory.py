"""Nothing points at freed memory: the scenarios of test_cursors.py under valgrind.

The server's allocator keeps small blocks for itself, so the queries here need many blocks: what is
freed with them goes back to the C library, where valgrind sees who looks at it afterwards.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import everything_on
from pfs_cluster import Cluster
from test_cursors import SCENARIOS, TABLES, transcript

VALGRIND = (
    "valgrind", "-q", "--tool=memcheck", "--trace-children=yes", "--undef-value-errors=no",
    "--num-callers=12", "--log-file={base}/valgrind.%p",
)  # fmt: skip
PARTITIONS = """
CREATE TABLE parted (k int, x int) PARTITION BY LIST (k);
DO $$ BEGIN FOR i IN 1 .. 100 LOOP
    EXECUTE format('CREATE TABLE part%s PARTITION OF parted FOR VALUES IN (%s)', i, i);
END LOOP; END $$;
INSERT INTO parted SELECT i, 1 FROM generate_series(1, 100) i;
"""
SCANS = "SELECT 1 / (x - 1) FROM parted WHERE x > 0"
LARGE = {
    "a cursor over many scans fails in a subtransaction": [
        "BEGIN", f"DECLARE c CURSOR FOR {SCANS}", "SAVEPOINT s", "FETCH 1 FROM c", "ROLLBACK TO s",
        "CLOSE c", "INSERT INTO a VALUES (1, 1)", "INSERT INTO a VALUES (1, 1)",
        "DECLARE d CURSOR FOR SELECT * FROM b x, b y", "FETCH 10 FROM d",
        "INSERT INTO b SELECT 1 FROM a LIMIT 5", "SELECT count(*) FROM b", "ROLLBACK",
    ],
    "it is closed while a handler runs": [
        "SET work_mem = '64kB'",
        f"""DO $$ DECLARE c CURSOR FOR {SCANS}; x int; BEGIN
        FOR i IN 1 .. 3 LOOP
            OPEN c;
            BEGIN FETCH c INTO x; EXCEPTION WHEN division_by_zero THEN CLOSE c; END;
            PERFORM count(*) FROM (SELECT * FROM a p, generate_series(1, 10) ORDER BY v, k) q;
        END LOOP; END $$""",
        "SELECT count(*) FROM (SELECT * FROM a x, generate_series(1, 10) ORDER BY v, k) y",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def watched(pg_config: str) -> Iterator[Cluster]:
    """A server under valgrind, everything on; no JIT: of 400 scans it takes minutes there."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    conf = {"fsync": False, "jit": False}
    with Cluster(pg_config, preload=["performance_schema"], conf=conf, under=VALGRIND) as server:
        server.psql(f"CREATE EXTENSION performance_schema; {TABLES}{PARTITIONS}", timeout_s=120)
        yield server


def invalid_accesses(server: Cluster) -> list[str]:
    """What valgrind says with one of our functions in it, or anywhere after a free."""
    reports = []
    for log in server.base.glob("valgrind.*"):
        text = re.sub(r"^==\d+== ?", "", log.read_text(errors="replace"), flags=re.MULTILINE)
        reports += [part for part in re.split(r"\n\s*\n", text) if "performance_schema" in part]
    return [part for part in reports if re.match(r"\s*(Invalid|Jump|Process terminating)", part)]


@pytest.mark.timeout(300)
def test_no_invalid_access(watched: Cluster) -> None:
    """All scenarios in one session; those that free much also in sessions of their own."""
    options: dict[str, Any] = {"prepare_threshold": None}
    with watched.connect(**options) as all_of_them:
        everything_on(all_of_them)
        for steps in (LARGE | SCENARIOS).values():
            transcript(all_of_them, steps)
        for steps in LARGE.values():
            with watched.connect(**options) as session:
                transcript(session, steps)
    assert invalid_accesses(watched) == []
