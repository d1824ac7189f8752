"""The report: its figures are the server's and the client's own, and a browser shows the page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import with_library
from helpers import one, read_to_end, wait_until

sys.path.insert(0, str(Path(__file__).parents[2] / "report"))
from pfsreport import figures, snapshot, text
from pfsreport.cli import main
from pfsreport.figures import Bucket
from pfsreport.page import html
from pfsreport.sources import SOURCES

SECONDS = 4.0
EXECUTIONS = 40
NAP_MS = 3
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(
        pg_config,
        "CREATE TABLE reported AS SELECT g AS a FROM generate_series(1, 100) AS g;"
        "CREATE ROLE report_plain LOGIN",
        autovacuum=False,
    ) as cluster:
        yield cluster


def work(server: Any) -> None:
    """Known numbers of everything, in one session and another one in its way."""
    with server.connect() as conn, server.connect() as other:
        for _ in range(EXECUTIONS):
            conn.execute(f"SELECT pg_sleep({NAP_MS / 1000}) FROM reported WHERE a = 1")
        for _ in range(7):
            with pytest.raises(psycopg.Error):
                conn.execute("SELECT 1 / 0")
        conn.execute("INSERT INTO reported SELECT 1 FROM generate_series(1, 1234)")
        conn.execute("BEGIN")
        conn.execute("UPDATE reported SET a = a WHERE a = 2")
        other.pgconn.send_query(b"DELETE FROM reported WHERE a = 2")
        waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        wait_until(lambda: one(conn, waits) == 1, "the other one waits")
        conn.execute("COMMIT")
        read_to_end(other)


@pytest.fixture(scope="module")
def recording(server: Any) -> snapshot.Recording:
    """Of an interval that holds all of the work."""
    watching = threading.Event()
    found: list[snapshot.Recording] = []
    dsn = server.client_env()
    address = " ".join(
        f"{name}={dsn[variable]}"
        for name, variable in (
            ("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE"),
        )
    )  # fmt: skip

    def watch() -> None:
        found.append(snapshot.record(address, SECONDS, 10, lambda _line: watching.set()))

    thread = threading.Thread(target=watch)
    thread.start()
    assert watching.wait(30)
    work(server)
    thread.join(60)
    return found[0]


def statement(recording: snapshot.Recording, part: str) -> figures.Statement:
    (found,) = [s for s in figures.statements(recording, 99) if part in s.row["digest_text"]]
    return found


# --- its figures -------------------------------------------------------------------------------


def test_statements(recording: snapshot.Recording) -> None:
    sleeps = statement(recording, "pg_sleep")
    assert sleeps.row["count_star"] == EXECUTIONS
    assert sum(bucket.count for bucket in sleeps.buckets) == EXECUTIONS
    assert sleeps.average >= NAP_MS * 1e9
    p50, p95, p99 = sleeps.quantiles
    assert p50 is not None and p95 is not None and p99 is not None
    assert NAP_MS * 1e9 <= p50 <= p95 <= p99
    assert sleeps.row["sum_rows_examined"] == 100 * EXECUTIONS
    assert sum(sleeps.model.values()) == pytest.approx(sleeps.row["sum_timer_wait"], rel=0.01)
    insert = statement(recording, "INSERT INTO `reported`")
    assert (insert.row["count_star"], insert.row["sum_rows_affected"]) == (1, 1234)
    shares = sum(s.share for s in figures.statements(recording, 10_000))
    assert shares == pytest.approx(1.0)


def test_the_reports_own_statements_are_not_in_it(recording: snapshot.Recording) -> None:
    texts = [row["digest_text"] for row in recording.changes["statements"]]
    assert not [text for text in texts if "performance_schema" in text]


def test_errors_tables_locks_and_losses(recording: snapshot.Recording) -> None:
    errors = {row["sql_state"]: row["sum_error_raised"] for row in recording.changes["errors"]}
    assert errors == {"22012": 7}
    (table,) = [row for row in recording.changes["tables"] if row["object_name"] == "reported"]
    assert (table["count_insert"], table["count_update"], table["count_delete"]) == (1234, 1, 1)
    assert table["count_fetch"] >= 100 * EXECUTIONS
    (wait,) = recording.lock_waits
    assert wait["waiting_query"] == "DELETE FROM reported WHERE a = 2"
    assert wait["outcome"] == "GRANTED"
    delete = statement(recording, "DELETE FROM `reported`")
    assert delete.model["locks"] == pytest.approx(float(wait["timer_wait"]), rel=0.2)
    assert recording.changes["losses"] == []
    assert recording.switched_off == []


def test_metrics_and_timeline(recording: snapshot.Recording) -> None:
    assert figures.growth(recording, "dml_inserts") == 1234
    moments, rates = figures.rates(recording, ["dml_inserts"])
    steps = [b - a for a, b in zip([recording.timeline[0][0], *moments], moments)]
    grown = sum(rate * step for rate, step in zip(rates["dml_inserts"], steps))
    assert grown == pytest.approx(1234)
    assert SECONDS <= recording.seconds < SECONDS + 3


def test_what_was_reset_meanwhile_counts_from_zero() -> None:
    source = SOURCES["waits"]
    before = {("w",): {"event_name": "w", "count_star": 10, "sum_timer_wait": 100}}
    after = {
        ("w",): {"event_name": "w", "count_star": 3, "sum_timer_wait": 30},
        ("new",): {"event_name": "new", "count_star": 1, "sum_timer_wait": 5},
        ("none",): {"event_name": "none", "count_star": 0, "sum_timer_wait": 0},
    }
    grown = snapshot.changes(source, before, after)
    assert {row["event_name"]: row["count_star"] for row in grown} == {"w": 3, "new": 1}
    assert snapshot.changes(source, after, after) == []


def test_quantiles() -> None:
    buckets = [Bucket(0, 10, 50), Bucket(10, 20, 45), Bucket(20, 40, 5)]
    assert [figures.quantile(buckets, part) for part in (0.5, 0.51, 0.95, 0.96)] == [10, 20, 20, 40]
    assert figures.quantile([], 0.5) is None


def test_time_model_is_never_negative() -> None:
    waits = [
        {"event_name": "wait/io/file/postgres/DataFileRead", "sum_timer_wait": 70},
        {"event_name": "wait/io/table/sql/handler", "sum_timer_wait": 1000},
        {"event_name": "wait/lock/heavyweight/tuple", "sum_timer_wait": 50},
    ]
    model = figures.time_model(100, waits)
    assert (model["files"], model["locks"], model[figures.REST]) == (70, 50, 0)
    assert figures.time_model(200, waits)[figures.REST] == 80


@pytest.mark.parametrize(
    "picoseconds, shown",
    [(0, "0 ps"), (999, "999 ps"), (1500, "1.5 ns"), (2.5e9, "2.5 ms"), (90e12, "1.5 min"), (None, "")],
)
def test_times(picoseconds: float | None, shown: str) -> None:
    assert text.time(picoseconds) == shown


@pytest.mark.parametrize(
    "count, shown",
    [(0, "0"), (7, "7"), (1.25, "1.25"), (9999, "9999"), (12345, "12.3k"), (2.5e6, "2.5M")],
)
def test_numbers(count: float, shown: str) -> None:
    assert text.number(count) == shown


# --- its page ----------------------------------------------------------------------------------


def test_nothing_is_fetched_from_elsewhere(recording: snapshot.Recording) -> None:
    page = html(recording, 10)
    for address in re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", page):
        assert address.startswith("#"), address
    assert "<script" not in page and "@import" not in page
    assert "pg_sleep" in page and "division_by_zero" in page


def test_texts_of_users_are_no_markup(recording: snapshot.Recording) -> None:
    row = {**recording.changes["statements"][0], "digest_text": "SELECT <b>1</b>", "sample": "<i>"}
    changed = snapshot.Recording(
        **{**vars(recording), "changes": {**recording.changes, "statements": [row]}}
    )
    page = html(changed, 10)
    assert "SELECT &lt;b&gt;1&lt;/b&gt;" in page and "<b>1</b>" not in page and "<i>" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_it(recording: snapshot.Recording, tmp_path: Path) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    page.write_text(html(recording, 10), encoding="utf-8")
    browser = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,2600",
        f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND",
    ]  # fmt: skip
    subprocess.run([*browser, f"--screenshot={picture}", page.as_uri()], check=True, timeout=100,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    import matplotlib.image

    pixels = matplotlib.image.imread(picture)
    assert pixels.shape[:2] == (2600, 1200)
    # text and plots down the page: few of its bands are empty, and the colours of the plots are there
    bands = pixels[:, :, :3].reshape(26, -1)
    assert sum(band.std() > 0.02 for band in bands) >= 15
    blue = (abs(pixels[:, :, :3] - (42 / 255, 111 / 255, 151 / 255)) < 0.02).all(axis=2)
    assert blue.sum() > 500


# --- its command -------------------------------------------------------------------------------


def test_command(server: Any, tmp_path: Path, capsys: Any) -> None:
    env = server.client_env()
    dsn = f"host={env['PGHOST']} port={env['PGPORT']} user=report_plain dbname={env['PGDATABASE']}"
    out = tmp_path / "plain.html"
    assert main([dsn, "--seconds", "1", "--output", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert "PostgreSQL" in out.read_text(encoding="utf-8")


def test_errors_of_the_command(server: Any, tmp_path: Path, capsys: Any) -> None:
    env = server.client_env()
    base = f"host={env['PGHOST']} port={env['PGPORT']} user={env['PGUSER']}"
    assert main([f"{base} dbname=template1", "--seconds", "1"]) == 1
    assert "CREATE EXTENSION performance_schema" in capsys.readouterr().err
    assert main(["host=/nowhere", "--seconds", "1"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    folder = f"{base} dbname={env['PGDATABASE']}"
    assert main([folder, "--seconds", "1", "--output", str(tmp_path / "no" / "where")]) == 1
    with pytest.raises(SystemExit):
        main([folder, "--seconds", "0"])
