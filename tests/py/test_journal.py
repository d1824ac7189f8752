"""Sums of statements while they are made: levels agree, resets and stopped writers lose nothing.

Who reads is not recorded here (`reader`), so numbers can be compared exactly. Of a row that was
read while its writer stood still nothing is asked, if `unstable_reads` has counted it.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from conftest import with_library
from helpers import losses, one, rows, status, tables, wait_gone, wait_until
from statement_helpers import STATEMENTS, SUMMARY, Speaker, stopped, unrecorded

LEVELS = ("account", "user", "host")
SETUP = """
CREATE TABLE j (a int PRIMARY KEY, b text);
INSERT INTO j SELECT i, repeat(md5(i::text), 4) FROM generate_series(1, 500) i;
CREATE FUNCTION nest(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE s bigint := 0;
BEGIN
    FOR i IN 1 .. n LOOP s := s + (SELECT a FROM j WHERE a = i); END LOOP;
    RETURN s;
END $$;
CREATE FUNCTION caught() RETURNS void LANGUAGE plpgsql AS $$
BEGIN PERFORM 1 / (a - a) FROM j; EXCEPTION WHEN division_by_zero THEN RAISE WARNING 'w'; END $$;
CREATE SEQUENCE progress;
CREATE FUNCTION race(n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN FOR i IN 1 .. n LOOP PERFORM nextval('progress'); END LOOP; END $$;
CREATE ROLE live LOGIN SUPERUSER;
CREATE ROLE ended LOGIN SUPERUSER;
CREATE ROLE other LOGIN SUPERUSER;
ANALYZE;
"""
NUMBERS = [
    column.name
    for table in tables()
    if table.name == "events_statements_summary_global_by_event_name"
    for column in table.columns
    if column.name.startswith(("count_", "sum_"))
]


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    with with_library(pg_config, SETUP, autovacuum=False) as cluster:
        yield cluster


@pytest.fixture
def reader(server: Any) -> Iterator[Any]:
    """Reads, resets and switches; statistics start at zero."""
    with server.connect() as connection:
        unrecorded(connection)
        connection.execute("SELECT performance_schema.reset_all()")
        yield connection


BY_DESIGN = {"performance_schema_unstable_reads", "performance_schema_lock_blockers_lost"}
"""What may be lost under load: a row that did not stand still; a blocker's name."""
Sums = dict[str, dict[str, Any]]
TIMES = ("sum_timer_wait", "sum_lock_time", "sum_cpu_time", "least", "largest")
ROUNDED_PS = 1000
"""Each row is rounded to picoseconds by itself."""


def sums(conn: Any, source: str, key: str = "event_name", where: str = "true") -> Sums:
    """All counters of some rows, added up by event name, with the least and the largest time."""
    lists = ", ".join(f"sum({name})::numeric AS {name}" for name in NUMBERS)
    found = rows(
        conn,
        f"SELECT {key} AS key, {lists}, max(max_timer_wait) AS largest, "
        "min(min_timer_wait) FILTER (WHERE count_star > 0) AS least "
        f"FROM performance_schema.{source} WHERE {where} GROUP BY 1 HAVING sum(count_star) > 0",
    )
    return {row.key: row._asdict() for row in found}


def level(conn: Any, name: str, where: str = "true") -> Sums:
    return sums(conn, f"events_statements_summary_by_{name}_by_event_name", where=where)


def globally(conn: Any) -> Sums:
    return sums(conn, "events_statements_summary_global_by_event_name")


def added(a: Sums, b: Sums) -> Sums:
    """Counters of two disjoint sets of sessions."""
    total: Sums = {name: dict(row) for name, row in a.items()}
    for name, row in b.items():
        if name not in total:
            total[name] = dict(row)
            continue
        mine = total[name]
        for column in NUMBERS:
            mine[column] += row[column]
        mine["least"] = min(mine["least"], row["least"])
        mine["largest"] = max(mine["largest"], row["largest"])
    return total


def differences(a: Sums, b: Sums) -> list[Any]:
    """Counters that are not the same."""
    nothing = dict.fromkeys((*NUMBERS, "least", "largest"), 0)
    found = []
    for name in a.keys() | b.keys():
        one_, other = a.get(name, nothing), b.get(name, nothing)
        for column in nothing:
            if abs(one_[column] - other[column]) > (ROUNDED_PS if column in TIMES else 0):
                found.append((name, column, one_[column], other[column]))
    return found


def beyond(low: Sums, high: Sums) -> list[Any]:
    """Counters of `low` that are larger than those of `high`."""
    found = []
    for name, row in low.items():
        for column in NUMBERS:
            limit = high[name][column] if name in high else 0
            if row[column] > limit + (ROUNDED_PS if column in TIMES else 0):
                found.append((name, column, row[column], limit))
    return found


ENDED = (
    "(user_name, host) IN (SELECT user_name, host FROM performance_schema.accounts "
    "WHERE current_connections = 0)"
)


def threads_and_ended(conn: Any) -> Sums:
    return added(level(conn, "thread"), level(conn, "account", ENDED))


def rows_are_sane(conn: Any) -> None:
    """In every row of every summary: MIN <= AVG <= MAX, AVG is the mean, nothing is negative."""
    for source in ("global", *(f"by_{name}" for name in ("thread", *LEVELS)), "by_digest"):
        table = f"{SUMMARY}_{source}" + ("" if source == "by_digest" else "_by_event_name")
        for row in rows(conn, f"SELECT * FROM {table} WHERE count_star > 0"):
            least, mean, most = row.min_timer_wait, row.avg_timer_wait, row.max_timer_wait
            assert 0 <= least <= mean <= most, (source, row)
            assert abs(Decimal(row.sum_timer_wait) / row.count_star - mean) <= 1, (source, row)
            assert all(getattr(row, name) >= 0 for name in NUMBERS), (source, row)


# --- at rest --------------------------------------------------------------------------------------

MIXED = [
    "SELECT 1",
    "SELECT a FROM j WHERE a < 40 ORDER BY b",
    "UPDATE j SET b = b WHERE a < 30",
    "INSERT INTO j SELECT a + 1000, b FROM j WHERE a < 20",
    "DELETE FROM j WHERE a > 1000",
    "SELECT nest(20)",
    "SELECT caught()",
    "SELECT 1 / (a - 5) FROM j",
    "INSERT INTO j VALUES (1, 'duplicate')",
    "SELECT nosuch",
    "SELEC",
    "BEGIN", "SELECT count(*) FROM j x, j y WHERE x.b = y.b", "SAVEPOINT s", "SELECT 1 / 0",
    "ROLLBACK TO s", "COMMIT",
    "SET work_mem = '64kB'", "SELECT * FROM j ORDER BY b, a", "RESET work_mem",
    "DO $$ BEGIN RAISE WARNING 'w'; PERFORM nest(3); END $$",
    "CREATE TEMP TABLE made (a int)", "DROP TABLE made",
    "COPY j TO '/dev/null'",
    "SELECT pg_sleep(0.01)",
]  # fmt: skip
UNIDENTIFIED = [
    "BEGIN", "DECLARE c CURSOR FOR SELECT a FROM j", "FETCH 10 FROM c", "FETCH 10 FROM c", "COMMIT",
    "CREATE TEMP TABLE made AS SELECT * FROM j", "DROP TABLE made",
]  # fmt: skip
"""Commands with a query of their own, to which servers before 18 give no id: it has no digest."""


@pytest.fixture
def opened() -> Iterator[contextlib.ExitStack]:
    """Clients that are closed after the test, however it ends."""
    with contextlib.ExitStack() as stack:
        yield stack


def work(
    opened: contextlib.ExitStack, server: Any, observer: Any, user: str, script: list[str]
) -> Speaker:
    """A session that has done all of it, by both protocols."""
    client = opened.enter_context(Speaker(server, observer, user=user))
    for sql in script:
        client.query(sql)
    for sql in script:
        client.prepare(sql).sync()
    for sql in script[:5]:
        client.prepare(sql)
    client.sync()
    return client


def test_levels_at_rest(server: Any, reader: Any, opened: contextlib.ExitStack) -> None:
    """All counters of all levels, while sessions live and when they have ended."""
    script = MIXED + UNIDENTIFIED
    clients = [work(opened, server, reader, user, script) for user in ("live", "ended", "other")]
    for left in (3, 2, 1, 0):
        total = globally(reader)
        assert total["statement/sql/select"]["sum_errors"] > 0
        assert total["statement/sql/select"]["sum_sort_rows"] > 0
        assert total["statement/sql/select"]["sum_created_tmp_disk_tables"] > 0
        assert total["statement/sql/do"]["sum_warnings"] == 6
        assert differences(threads_and_ended(reader), total) == [], left
        for name in LEVELS:
            assert differences(level(reader, name), total) == [], (left, name)
        rows_are_sane(reader)
        if left:
            client = clients.pop()
            client.__exit__()
            wait_gone(reader, client.pid)
    assert losses(reader) == {}


def test_digests_at_rest(server: Any, reader: Any, opened: contextlib.ExitStack) -> None:
    """Their sums are those of the classes that have digests; histograms count the same."""
    clients = [work(opened, server, reader, user, MIXED) for user in ("live", "ended")]
    for client in clients:
        by_digest = sums(reader, "events_statements_summary_by_digest", key="'all'")
        total = sums(
            reader,
            "events_statements_summary_global_by_event_name",
            key="'all'",
            where="event_name LIKE 'statement/sql/%' AND event_name <> 'statement/sql/error'",
        )
        assert differences(by_digest, total) == []
        histogram = f"SELECT sum(count_bucket)::int8 FROM {STATEMENTS}_histogram_"
        unseen = sums(
            reader,
            "events_statements_summary_global_by_event_name",
            where="event_name = 'statement/sql/error'",
        )["statement/sql/error"]["count_star"]
        counted = total["all"]["count_star"]
        assert one(reader, f"{histogram}by_digest") == counted
        assert one(reader, f"{histogram}global") == counted + unseen
        differ = (
            "SELECT count(*) FROM (SELECT schema_name, queryid, sum(count_bucket)::int8 AS n "
            "FROM performance_schema.events_statements_histogram_by_digest GROUP BY 1, 2) h "
            "FULL JOIN performance_schema.events_statements_summary_by_digest d USING "
            "(schema_name, queryid) WHERE h.n IS DISTINCT FROM d.count_star"
        )
        assert one(reader, differ) == 0
        client.__exit__()
        wait_gone(reader, client.pid)


HIGHER = {
    "thread": ("account", "user", "host", "global", "digest"),
    "account": ("user", "host", "global", "digest"),
    "user": ("host", "global", "digest"),
    "host": ("user", "global", "digest"),
    "global": ("digest",),
    "digest": ("thread", "account", "user", "host", "global"),
}
"""What keeps its numbers when a level is emptied."""


@pytest.mark.parametrize("n", [1, 5, 31, 32, 33, 70])
def test_truncate_at_rest(server: Any, reader: Any, opened: contextlib.ExitStack, n: int) -> None:
    """However many are not summed yet: each counts where its level was not reset."""
    client = opened.enter_context(Speaker(server, reader, user="live"))
    levels = ("thread", "account", "user", "host", "global")
    for name in levels:
        reader.execute("SELECT performance_schema.reset_all()")
        for _ in range(n):
            client.query("UPDATE j SET b = b WHERE a = 1")
        table = "global" if name == "global" else f"by_{name}"
        reader.execute(f"TRUNCATE {SUMMARY}_{table}_by_event_name")
        kept = [n if other in HIGHER[name] else 0 for other in levels]
        assert [updates(reader, other) for other in levels] == kept, name
        for _ in range(n):
            client.query("UPDATE j SET b = b WHERE a = 1")
        assert [updates(reader, other) for other in levels] == [count + n for count in kept], name
        assert updates(reader, "digest") == 2 * n
        rows_are_sane(reader)


# --- under load -----------------------------------------------------------------------------------


def pgbench(server: Any, *options: Any, user: str = "live") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(word) for word in (server.bindir / "pgbench", "-n", *options)],
        env={**server.client_env(), "PGUSER": user, "PGHOST": server.host},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def tpc(server: Any) -> None:
    """The tables of pgbench, and an account whose sessions have ended."""
    assert pgbench(server, "-i", "-q", user="ended").wait() == 0


@pytest.fixture
def pgbench_load(server: Any, reader: Any, tpc: None) -> Iterator[None]:
    """Four clients, simple and prepared, beside what ended clients have left.

    The programs look at the tables first, in a session of their own: then all starts at zero.
    """
    running = [pgbench(server, "-c", 2, "-T", 300, "-M", mode) for mode in ("simple", "prepared")]
    try:
        wait_until(lambda: updates(reader, "thread") > 200, "load")
        reader.execute("SELECT performance_schema.reset_all()")
        assert pgbench(server, "-t", 50, user="ended").wait() == 0
        ended = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'ended'"
        wait_until(lambda: one(reader, ended) == 0, "they have gone")
        yield
    finally:
        for program in running:
            program.terminate()
        for program in running:
            program.wait()
        live = "SELECT count(*) FROM pg_stat_activity WHERE usename IN ('live', 'ended')"
        wait_until(lambda: one(reader, live) == 0, "all have gone")


def updates(conn: Any, name: str) -> int:
    """Updates counted by one table; threads: with what ended accounts have."""
    if name == "digest":
        return one(
            conn,
            f"SELECT coalesce(sum(count_star), 0)::int8 FROM {SUMMARY}_by_digest "
            "WHERE digest_text LIKE 'UPDATE%'",
        )
    source = "global" if name == "global" else f"by_{name}"
    return one(
        conn,
        f"SELECT coalesce(sum(count_star), 0)::int8 FROM {SUMMARY}_{source}_by_event_name "
        "WHERE event_name = 'statement/sql/update'",
    )


def unstable(conn: Any) -> int:
    return status(conn)["performance_schema_unstable_reads"]


@pytest.mark.timeout(120)
def test_levels_under_load(server: Any, reader: Any, pgbench_load: None) -> None:
    """Global before <= threads and ended accounts <= global after; nothing ever goes back."""
    last: dict[str, Sums] = {}
    stable = 0
    rounds = 100
    for _ in range(rounds):
        before = unstable(reader)
        found = {
            "global": globally(reader),
            "parts": threads_and_ended(reader),
            "account": level(reader, "account"),
            "user": level(reader, "user"),
            "digest": sums(reader, "events_statements_summary_by_digest", key="'all'"),
        }
        after = globally(reader)
        rows_are_sane(reader)
        if unstable(reader) != before:
            continue
        stable += 1
        for name in ("parts", "account", "user"):
            assert beyond(found["global"], found[name]) == [], name
            assert beyond(found[name], after) == [], name
        for name, now in found.items():
            assert beyond(last.get(name, {}), now) == [], name
        last = found
    assert stable > rounds / 2
    assert losses(reader).keys() <= BY_DESIGN


RACE = 100000
LAG = 32


@pytest.mark.timeout(120)
def test_sums_of_a_fast_loop(server: Any, reader: Any, opened: contextlib.ExitStack) -> None:
    """Nested statements, read while they run: none that has ended is missing, none counts twice.

    The loop's own sequence tells how far it is. A row that never stood still may lag a little.
    """
    client = opened.enter_context(Speaker(server, reader, user="live"))
    name = "event_name = 'statement/sql/select'"
    sources = {
        "thread": f"{SUMMARY}_by_thread_by_event_name WHERE {name}",
        "account": f"{SUMMARY}_by_account_by_event_name WHERE {name}",
        "global": f"{SUMMARY}_global_by_event_name WHERE {name}",
        "digest": f"{SUMMARY}_by_digest",
    }

    def progress() -> int:
        # under the page's lock: while WAL is written the page shows a number not given out yet
        return one(reader, "SELECT coalesce(pg_sequence_last_value('progress'::regclass), 0)")

    def counted(source: str) -> int:
        return one(reader, f"SELECT sum(count_star)::int8 FROM {sources[source]}")

    reader.execute("ALTER SEQUENCE progress RESTART")
    client.add("Q", f"SELECT race({RACE})".encode() + b"\0").send()
    rounds = 0
    last = dict.fromkeys(sources, 0)
    while progress() < RACE:
        for source in sources:
            shaky = unstable(reader)
            before = progress()
            count = counted(source)
            after = progress()
            lag = LAG if unstable(reader) != shaky else 0
            # beside those with a number: the client's first statement, and the loop's own
            assert before - lag <= count <= after + 2, source
            assert count >= last[source] - lag, source
            last[source] = count
        rounds += 1
    client.read_until("Z")
    assert rounds >= 10
    assert {source: counted(source) for source in sources} == dict.fromkeys(sources, RACE + 2)


@pytest.mark.timeout(120)
def test_truncate_under_load(server: Any, reader: Any, pgbench_load: None) -> None:
    """The level starts again and misses nothing after that; those above keep all and go on."""
    for number in range(18):
        name = list(HIGHER)[number % len(HIGHER)]
        table = f"{SUMMARY}_{'global' if name == 'global' else f'by_{name}'}"
        table += "" if name == "digest" else "_by_event_name"
        reference = "global" if name == "digest" else "digest"
        kept = {other: updates(reader, other) for other in HIGHER[name]}
        before = updates(reader, reference)
        if number % 4:
            reader.execute(f"TRUNCATE {table}")
        else:
            reader.execute("SELECT performance_schema.reset(%s)", (table.split(".")[1],))
        emptied = updates(reader, reference)
        goal = emptied + 300
        wait_until(lambda r=reference, goal=goal: updates(reader, r) > goal, "the load goes on")
        low = updates(reader, reference) - emptied
        counted = updates(reader, name)
        high = updates(reader, reference) - before
        assert low <= counted <= high, (name, low, counted, high)
        for other, value in kept.items():
            assert updates(reader, other) >= value + low, (name, other)
        rows_are_sane(reader)
    assert losses(reader).keys() <= BY_DESIGN | {"performance_schema_roll_up_lost"}


# --- writers that stand still or die --------------------------------------------------------------

NEST = 40
READ_LIMIT_S = 1.0
STOPS = 150


@pytest.mark.timeout(120)
def test_writer_stops_and_goes_on(server: Any, reader: Any, opened: contextlib.ExitStack) -> None:
    """SIGSTOP at any moment: readers return at once, sums are exact, or unstable and counted."""
    stop = threading.Event()
    sent = answered = 0
    client = opened.enter_context(Speaker(server, reader, user="live"))
    begun = level(reader, "thread", f"thread_id = {client.thread_id}")
    assert begun["statement/sql/select"]["count_star"] == 1

    def write() -> None:
        nonlocal sent, answered
        while not stop.is_set():
            sent += NEST + 1
            if sent % 3:
                client.query(f"SELECT nest({NEST})")
            else:
                client.prepare(f"SELECT nest({NEST})").sync()
            answered += NEST + 1

    sources = {
        "thread": ("by_thread_by_event_name", f"thread_id = {client.thread_id}"),
        "account": ("by_account_by_event_name", "user_name = 'live'"),
        "global": ("global_by_event_name", "true"),
    }

    def counted(name: str) -> int:
        source, where = sources[name]
        begun_at = time.monotonic()
        found = one(
            reader,
            f"SELECT coalesce(sum(count_star), 0)::int8 FROM {SUMMARY}_{source} "
            f"WHERE event_name = 'statement/sql/select' AND {where}",
        )
        assert time.monotonic() - begun_at < READ_LIMIT_S, name
        return found - 1

    chance = random.Random(1)
    writer = threading.Thread(target=write)
    writer.start()
    unstable_rounds = 0
    try:
        for _ in range(STOPS):
            goal = answered + chance.randrange(3 * (NEST + 1))
            wait_until(lambda goal=goal: answered >= goal, "the writer goes on", 10)
            for _ in range(chance.randrange(2000)):
                pass  # some moment in the middle of a statement
            with stopped(client.pid):
                done, under_way = answered, sent
                before = unstable(reader)
                found = {name: [counted(name), counted(name)] for name in sources}
                for source in ("current", "history", "summary_by_digest", "histogram_global"):
                    begun_at = time.monotonic()
                    rows(reader, f"SELECT * FROM performance_schema.events_statements_{source}")
                    assert time.monotonic() - begun_at < READ_LIMIT_S, source
                assert max(map(max, found.values())) <= under_way, found
                if unstable(reader) != before:
                    unstable_rounds += 1
                    continue
                for name, (first, second) in found.items():
                    assert first == second, (name, "nothing can have moved")
                    assert done <= first, (name, done, first)
    finally:
        stop.set()
        writer.join()
    assert sent == answered
    for name in sources:
        assert counted(name) == answered, name
    assert globally(reader)["statement/sql/select"]["sum_rows_sent"] == answered + 1
    assert losses(reader).keys() <= BY_DESIGN
    assert unstable_rounds <= STOPS / 3
    client.__exit__()
    wait_gone(reader, client.pid)
    assert counted("account") == counted("global") == answered


@pytest.mark.expects_crash
@pytest.mark.timeout(120)
def test_writer_dies(new_cluster: Callable[..., Any], connect: Callable[..., Any]) -> None:
    """kill -9 in the middle of nested statements: all starts at zero, and counts exactly again."""
    server = new_cluster(autovacuum=False)
    server.psql(SETUP)
    for _ in range(2):
        with server.connect() as observer:
            victim = Speaker(server, observer, user="live")
            with Speaker(server, observer, user="ended") as other:
                other.query("SELECT nest(50)")
                victim.add("Q", b"SELECT nest(i % 500) FROM generate_series(1, 99999) i\0").send()
                running = (
                    f"SELECT count_star FROM {SUMMARY}_by_thread_by_event_name "
                    f"WHERE thread_id = {victim.thread_id} AND event_name = 'statement/sql/select'"
                )
                wait_until(lambda running=running: one(observer, running) > 1000, "it has begun")
                server.kill9(victim.pid)
        victim.sock.close()
        reader = unrecorded(connect(server))
        assert sum(row["count_star"] for row in globally(reader).values()) <= 3
        reader.execute("SELECT performance_schema.reset_all()")
        with Speaker(server, reader, user="live") as again:
            again.query("SELECT nest(70)")
            assert level(reader, "thread")["statement/sql/select"]["count_star"] == 72
            assert differences(threads_and_ended(reader), globally(reader)) == []
        rows_are_sane(reader)
        assert losses(reader) == {}
