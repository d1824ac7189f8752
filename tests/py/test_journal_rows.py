"""Event rows while statements run: whole, in order of their end, at once, and only what was wanted.

Statements carry a number in several places of their text, so that a row made of two of them shows.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import with_library
from helpers import losses, one, rows, wait_for_state
from statement_helpers import ROUNDING_PS, STATEMENTS, SUMMARY, Speaker, thread_sums, unrecorded

LONG_SIZE = 30000
LAPS = 5000
SETUP = """
CREATE FUNCTION pair(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
    EXECUTE format('SELECT %s AS inner_%s /* %s */', i, i % 5, i) INTO x;
    RETURN x;
END $$;
CREATE FUNCTION laps(n int, key int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
    FOR i IN 1 .. n LOOP
        EXECUTE format('SELECT pair(%s) AS outer_%s /* %s */', i, i % 5, i) INTO x;
    END LOOP;
    PERFORM pg_advisory_xact_lock(key);
    RETURN n;
END $$;
"""


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """Default history of a thread; the long one holds all that a test does."""
    with with_library(
        pg_config, SETUP, autovacuum=False,
        performance_schema__events_statements_history_long_size=LONG_SIZE,
        performance_schema__consumer_events_statements_history_long=True,
    ) as cluster:  # fmt: skip
        yield cluster


@pytest.fixture
def reader(server: Any) -> Iterator[Any]:
    """Reads and switches, and is not recorded; statistics start at zero."""
    with server.connect() as connection:
        unrecorded(connection)
        connection.execute("SELECT performance_schema.reset_all()")
        yield connection


@pytest.fixture
def client(server: Any, reader: Any) -> Iterator[Speaker]:
    with Speaker(server, reader) as speaker:
        yield speaker


def shown(conn: Any, table: str, thread_id: int) -> list[Any]:
    """Rows of a thread as the table returns them."""
    return rows(conn, f"SELECT * FROM {STATEMENTS}_{table} WHERE thread_id = {thread_id}")


def by_end(events: list[Any]) -> list[Any]:
    """An event number is given at the start: of two ends in one tick the inner's came first."""
    return sorted(events, key=lambda event: (event.timer_end, -event.event_id))


# --- nested statements that lap a ring ------------------------------------------------------------


def expected_ends(top: str, n: int) -> list[tuple[int, str]]:
    """Level and text of what laps(n) runs, in the order of its ends, without the lock."""
    found = []
    for i in range(1, n + 1):
        found.append((2, f"SELECT {i} AS inner_{i % 5} /* {i} */"))
        found.append((1, f"SELECT pair({i}) AS outer_{i % 5} /* {i} */"))
    return [*found, (1, "SELECT pg_advisory_xact_lock(key)"), (0, top)]


def told(events: list[Any]) -> list[tuple[int, str]]:
    return [(event.nesting_event_level, event.sql_text) for event in events]


def test_lapped_ring(server: Any, reader: Any, client: Speaker) -> None:
    """10,000 statements in one: the histories have the last, the current table the outer one."""
    head = f"SELECT laps({LAPS}, 7) /* "
    sql = head + "x" * (1000 - len(head) - 3) + " */"
    assert len(sql) == 1000
    with server.connect() as locker:
        locker.execute("SELECT pg_advisory_lock(7)")
        client.add("Q", sql.encode() + b"\0").send()
        wait_for_state(reader, client.pid, "wait_event_type = 'Lock'")
        current = sorted(shown(reader, "current", client.thread_id), key=lambda e: e.event_id)
        running = shown(reader, "history", client.thread_id)
        locker.execute("SELECT pg_advisory_unlock(7)")
        client.read_until("Z")
    expected = expected_ends(sql, LAPS)
    assert [(e.sql_text, e.end_event_id) for e in current] == [
        (sql, None), ("SELECT pg_advisory_xact_lock(key)", None),
    ]  # fmt: skip
    assert current[0].digest_text.startswith("SELECT `laps` (")
    assert told(by_end(running)) == expected[-12:-2]
    last = by_end(shown(reader, "history", client.thread_id))
    assert told(last) == expected[-10:]
    top = last[-1]
    for event in last[:-1]:
        assert top.event_id < event.event_id <= event.end_event_id <= top.end_event_id
        assert top.timer_start <= event.timer_start <= event.timer_end <= top.timer_end
        assert event.object_name == ("pair" if event.nesting_event_level == 2 else "laps")
    for inner, outer in zip(last, last[1:]):
        if inner.nesting_event_level == 2:
            assert (inner.nesting_event_id, inner.nesting_event_type) == (
                outer.event_id,
                "STATEMENT",
            )
    long = by_end(shown(reader, "history_long", client.thread_id))
    assert told(long) == [(0, "SELECT 1"), *expected]
    assert len({event.event_id for event in long}) == len(long)
    sums = thread_sums(reader, client.thread_id)["statement/sql/select"]
    assert sums.count_star == len(expected) + 1
    assert losses(reader) == {}


def test_text_of_the_outer_while_the_ring_is_lapped(reader: Any, client: Speaker) -> None:
    """Read again and again while nested texts come and go: always the whole text, or the next."""
    sqls = [f"SELECT laps(400, 8) /* {str(n) * (900 + n)} */" for n in range(1, 9)]
    done = threading.Event()

    def run() -> None:
        for sql in sqls:
            client.query(sql)
        done.set()

    runner = threading.Thread(target=run)
    runner.start()
    seen = set()
    while not done.is_set():
        for event in shown(reader, "current", client.thread_id):
            if event.nesting_event_level == 0:
                assert event.sql_text in ("SELECT 1", *sqls)
                seen.add(event.sql_text)
    runner.join()
    assert len(seen) > 2


@pytest.mark.parametrize("table", ["history", "history_long"])
def test_shown_in_order_of_the_ends(server: Any, reader: Any, client: Speaker, table: str) -> None:
    """As the table returns them: nested ones before their callers, idle sessions too."""
    with Speaker(server, reader) as other:
        for i in range(25):
            client.query(f"SELECT pair({i})")
            other.query(f"SELECT {i}")
        found = rows(reader, f"SELECT * FROM {STATEMENTS}_{table}")
        assert [event for event in found if event.thread_id == client.thread_id][-1].sql_text == (
            "SELECT pair(24)"
        )
    if table == "history":
        threads = (client.thread_id, other.thread_id)
        mine = [[event for event in found if event.thread_id == thread] for thread in threads]
        assert [len(events) for events in mine] == [10, 10]
        for events in mine:
            assert events == by_end(events)
        return
    assert len(found) == 2 + 25 * 2 + 25
    assert found == by_end(found)


# --- whole rows -----------------------------------------------------------------------------------

WRITTEN = 20000
SHAPES = 50
MESSAGES = 25


def statement(n: int) -> str:
    """Its number, its shape, how many rows it returns, and whether it fails, all follow from n."""
    shape, pad = f"shape_{n % SHAPES}", str(n) * (n * 37 % 150)
    if n % 11 == 5:
        return f"SELECT {n} / ({shape} - {shape}) FROM shapes WHERE number < 7 /* {n} {pad} */"
    return f"SELECT {n}, {shape}, '{pad}' FROM shapes WHERE number < {n % 7} /* {n} */"


def check_row(event: Any) -> int | None:
    """A row is of one statement only; its number."""
    assert event.timer_start <= event.timer_end, event
    if event.end_event_id is not None:
        assert 0 < event.timer_wait <= event.timer_end - event.timer_start + ROUNDING_PS, event
        assert event.end_event_id >= event.event_id, event
    if not event.sql_text or event.sql_text == "SELECT 1":
        return None
    n = int(event.sql_text.split()[1].strip(","))
    assert event.sql_text == statement(n), (n, event.sql_text)
    if event.digest_text is not None:
        assert f"`shape_{n % SHAPES}`" in event.digest_text, event
        fails = n % 11 == 5
        assert ("/" in event.digest_text) == fails, event
    if event.end_event_id is not None:
        expected = (1, "22012", 0) if n % 11 == 5 else (0, None, n % 7)
        assert (event.errors, event.returned_sqlstate, event.rows_sent) == expected, event
        assert event.message_text == ("division by zero" if expected[0] else None), event
    return n


@pytest.mark.timeout(120)
def test_reader_that_never_rests(
    new_cluster: Callable[..., Any], connect: Callable[..., Any]
) -> None:
    """All tables are read while 20,000 statements run: no torn row, exact counts."""
    size = 1000
    server = new_cluster(
        performance_schema__events_statements_history_long_size=size,
        performance_schema__consumer_events_statements_history_long=True,
    )
    names = ", ".join(f"number AS shape_{i}" for i in range(SHAPES))
    server.psql(f"CREATE TABLE shapes AS SELECT number, {names} FROM generate_series(0, 6) number")
    reader = unrecorded(connect(server))
    reader.execute("SELECT performance_schema.reset_all()")
    done = threading.Event()
    columns = (
        "thread_id, event_id, end_event_id, timer_start, timer_end, timer_wait, sql_text, "
        "digest_text, errors, returned_sqlstate, message_text, rows_sent"
    )
    with Speaker(server, reader) as writer:

        def write() -> None:
            numbers = iter(range(WRITTEN))
            while batch := list(itertools.islice(numbers, MESSAGES)):
                for n in batch:
                    if n % 3 == 0:
                        writer.prepare(statement(n)).add("S")
                    else:
                        writer.add("Q", statement(n).encode() + b"\0")
                writer.send()
                for _ in batch:
                    writer.read_until("Z")
            done.set()

        runner = threading.Thread(target=write)
        runner.start()
        rounds = 0
        newest = -1
        seen: set[int] = set()
        try:
            while not done.is_set():
                for table in ("current", "history", "history_long"):
                    found = rows(reader, f"SELECT {columns} FROM {STATEMENTS}_{table}")
                    assert len(found) == len({(e.thread_id, e.event_id) for e in found}), table
                    numbers = [check_row(e) for e in found if e.thread_id == writer.thread_id]
                    seen.update(n for n in numbers if n is not None)
                    if table == "history":
                        newest_now = max((n for n in numbers if n is not None), default=newest)
                        assert newest_now >= newest
                        newest = newest_now
                for source in ("summary_by_digest", "histogram_global", "histogram_by_digest"):
                    rows(reader, f"SELECT * FROM {STATEMENTS}_{source}")
                rounds += 1
        finally:
            runner.join()
        assert rounds >= 5 and len(seen) > size
        fails = sum(n % 11 == 5 for n in range(WRITTEN))
        sent = sum(n % 7 for n in range(WRITTEN) if n % 11 != 5)
        sums = thread_sums(reader, writer.thread_id)["statement/sql/select"]
        assert (sums.count_star, sums.sum_errors) == (WRITTEN + 1, fails)
        assert sums.sum_rows_sent == sent + 1
        digests = rows(
            reader,
            "SELECT digest_text LIKE '%/%' AS fails, count(*), sum(count_star)::int8 AS n, "
            f"sum(sum_rows_sent)::int8 AS sent FROM {SUMMARY}_by_digest "
            "WHERE digest_text LIKE '%shape%' GROUP BY 1 ORDER BY 1",
        )
        assert [(d.count, d.n, d.sent) for d in digests] == [
            (SHAPES, WRITTEN - fails, sent), (SHAPES, fails, 0),
        ]  # fmt: skip
        last = [check_row(e) for e in by_end(shown(reader, "history", writer.thread_id))]
        assert last == list(range(WRITTEN - 10, WRITTEN))
        long = [check_row(e) for e in by_end(shown(reader, "history_long", writer.thread_id))]
        assert size - 32 <= len(long) <= size
        kept = [n for n in long if n is not None]  # texts of the oldest rows give way first
        assert len(kept) >= size / 4
        assert long[-len(kept) :] == kept == list(range(WRITTEN - len(kept), WRITTEN))
    assert losses(reader).keys() <= {"performance_schema_unstable_reads"}


# --- at once --------------------------------------------------------------------------------------


SEEN = f"""
SELECT (SELECT count(*) FROM {STATEMENTS}_history WHERE thread_id = {{t}} AND sql_text = {{s}}),
       (SELECT count(*) FROM {STATEMENTS}_history_long
           WHERE thread_id = {{t}} AND sql_text = {{s}}),
       (SELECT count(*) FROM {STATEMENTS}_current WHERE thread_id = {{t}} AND sql_text = {{s}}
           AND end_event_id IS NOT NULL),
       (SELECT coalesce(sum(count_star), 0)::int8 FROM {SUMMARY}_by_thread_by_event_name
           WHERE thread_id = {{t}} AND event_name LIKE 'statement/sql/%'),
       (SELECT sum(count_star)::int8 FROM {SUMMARY}_by_account_by_event_name
           WHERE event_name LIKE 'statement/sql/%'),
       (SELECT sum(count_star)::int8 FROM {SUMMARY}_by_user_by_event_name
           WHERE event_name LIKE 'statement/sql/%'),
       (SELECT sum(count_star)::int8 FROM {SUMMARY}_by_host_by_event_name
           WHERE event_name LIKE 'statement/sql/%'),
       (SELECT sum(count_star)::int8 FROM {SUMMARY}_global_by_event_name
           WHERE event_name LIKE 'statement/sql/%'),
       (SELECT sum(count_star)::int8 FROM {SUMMARY}_by_digest),
       (SELECT sum(count_bucket)::int8 FROM {STATEMENTS}_histogram_global),
       (SELECT sum(count_bucket)::int8 FROM {STATEMENTS}_histogram_by_digest)
"""


def test_seen_at_once(reader: Any, client: Speaker) -> None:
    """Who reads after the client has its answer sees it in all tables; the session stays idle."""
    chance = random.Random(2)
    before = reader.execute(SEEN.format(t=client.thread_id, s="''")).fetchone()[3:]
    assert before[0] == 1
    for n in range(120):
        zero = chance.choice((1, 1, 1, 0))
        sql = f"SELECT {n} FROM pg_am WHERE {n} / (length(amname) * {zero}) >= 0"
        for _ in range(chance.choice((1, 1, 1, 40))):  # more than are summed in one go
            if chance.random() < 0.5:
                client.query(sql)
            else:
                client.prepare(sql).sync()
            before = [value + 1 for value in before]
        found = reader.execute(SEEN.format(t=client.thread_id, s=f"'{sql}'")).fetchone()
        assert min(found[:3]) >= 1, (n, sql, found)
        assert list(found[3:]) == before, (n, sql)
        newest = by_end(shown(reader, "history", client.thread_id))[-1]
        assert newest.sql_text == sql


# --- switched between statements ------------------------------------------------------------------

SWITCHES = {
    "instrument": "set_instruments('statement/sql/select', {})",
    "global": "set_consumers('global\\_instrumentation', {})",
    "thread": "set_consumers('thread\\_instrumentation', {})",
    "digest": "set_consumers('statements\\_digest', {})",
    "current": "set_consumers('events\\_statements\\_current', {})",
    "history": "set_consumers('events\\_statements\\_history', {})",
    "long": "set_consumers('events\\_statements\\_history\\_long', {})",
    "session": "set_thread({thread}, {}, NULL)",
    "session history": "set_thread({thread}, NULL, {})",
}
NEEDS = {
    "global sum": ("instrument", "global", "session"),
    "digest sum": ("instrument", "global", "session", "digest"),
    "thread sum": ("instrument", "global", "session", "thread"),
    "history": (
        "instrument", "global", "session", "thread", "current", "session history", "history",
    ),
    "long": ("instrument", "global", "session", "thread", "current", "session history", "long"),
}  # fmt: skip


JOURNAL = 62  # that many of the last records of a thread can be read


class Model:
    """What should be recorded of a session, by the switches at the time of each statement."""

    def __init__(self, reader: Any, client: Speaker) -> None:
        self.reader, self.client = reader, client
        self.on = dict.fromkeys(SWITCHES, True)
        self.expected: dict[str, list[str]] = {what: ["SELECT 1"] for what in NEEDS}
        self.records = [True]  # the statements that are recorded, and are they for the history?

    def switch(self, name: str, on: bool) -> None:
        self.on[name] = on
        call = SWITCHES[name].replace("{thread}", str(self.client.thread_id))
        self.reader.execute(f"SELECT performance_schema.{call.format(str(on).lower())}")

    def run(self, number: int, extended: bool) -> None:
        sql = f"SELECT {number} AS model"
        (self.client.extended if extended else self.client.query)(sql)
        for what, needs in NEEDS.items():
            if all(self.on[name] for name in needs):
                self.expected[what].append(sql)
        if all(self.on[name] for name in ("instrument", "global", "session")):
            self.records.append(all(self.on[name] for name in NEEDS["history"]))

    def check(self) -> None:
        found = {
            "global sum": f"SELECT count_star FROM {SUMMARY}_global_by_event_name "
            "WHERE event_name = 'statement/sql/select'",
            "digest sum": f"SELECT sum(count_star)::int8 FROM {SUMMARY}_by_digest",
            "thread sum": f"SELECT count_star FROM {SUMMARY}_by_thread_by_event_name "
            f"WHERE event_name = 'statement/sql/select' AND thread_id = {self.client.thread_id}",
        }
        for what, sql in found.items():
            assert one(self.reader, sql) == len(self.expected[what]), (what, self.on)
        for table, what in (("history", "history"), ("history_long", "long")):
            events = by_end(shown(self.reader, table, self.client.thread_id))
            texts = self.expected[what]
            if what == "history":  # older ones may have left the journal
                assert min(10, sum(self.records[-JOURNAL:])) <= len(events) <= 10, self.on
                texts = texts[len(texts) - len(events) :]
            assert [event.sql_text for event in events] == texts, (what, self.on)


@pytest.mark.parametrize("seed", range(4))
def test_switched_between_statements(reader: Any, client: Speaker, seed: int) -> None:
    """Disabled adds nothing, enabled adds from the next statement on: each by its own time."""
    chance = random.Random(seed)
    model = Model(reader, client)
    number = 0
    try:
        for step in range(120):
            off = [name for name, on in model.on.items() if not on]
            name = chance.choice(off if off and chance.random() < 0.6 else list(SWITCHES))
            model.switch(name, not model.on[name])
            for _ in range(chance.choice((0, 1, 1, 2, 5, 40))):
                number += 1
                model.run(number, chance.random() < 0.3)
            if step % 15 == 14:  # seldom: what was not summed yet meets the next switches
                model.check()
        model.check()
    finally:
        for name in SWITCHES:
            model.switch(name, True)
    assert all(len(texts) > 20 for texts in model.expected.values())


# --- texts ----------------------------------------------------------------------------------------

LIMIT = 1024


def cut(text: str) -> str:
    """What is kept of a text: whole characters of at most LIMIT bytes."""
    return text.encode()[:LIMIT].decode(errors="ignore")


@pytest.mark.parametrize("character", ["x", "ä", "€", "𝄞"])
def test_texts_at_the_limit(reader: Any, client: Speaker, character: str) -> None:
    """Around max_sql_text_length, cut between characters, in every table that shows texts."""
    width = len(character.encode())
    texts = []
    for size in range(LIMIT - 5, LIMIT + 6):
        head = f"SELECT {size} AS limit_{size}, '"
        filling = size - len(head) - 1
        text = head + character * (filling // width) + "y" * (filling % width) + "'"
        assert len(text.encode()) == size
        texts.append(text)
    for text in texts:
        client.query(text)
        [event] = shown(reader, "current", client.thread_id)
        assert event.sql_text == cut(text)
    for table in ("history", "history_long"):
        events = by_end(shown(reader, table, client.thread_id))
        assert [event.sql_text for event in events][-10:] == [cut(text) for text in texts[-10:]]
    for text in (texts[4], texts[5], texts[6], texts[-1]):
        reader.execute(f"TRUNCATE {SUMMARY}_by_digest")
        client.prepare(text).sync()
        found = rows(reader, f"SELECT * FROM {SUMMARY}_by_digest WHERE digest_text LIKE '%limit%'")
        assert [row.query_sample_text for row in found] == [cut(text)]
    failing = f"SELECT 1 / (length(amname) * 0) FROM pg_am /* {character * LIMIT} */"
    client.query(failing)
    [event] = shown(reader, "current", client.thread_id)
    assert (event.sql_text, event.errors) == (cut(failing), 1)


def test_many_long_texts(reader: Any, client: Speaker) -> None:
    """Texts together longer than any ring of a thread: those of the history are whole."""
    chance = random.Random(3)
    texts = []
    for n in range(200):
        character = chance.choice("xä€𝄞")
        texts.append(f"SELECT {n} /* {character * chance.randrange(700)} */")
        client.query(texts[-1])
        if n % 10 == 9:
            events = by_end(shown(reader, "history", client.thread_id))
            assert [event.sql_text for event in events] == [cut(text) for text in texts[-10:]]
    events = by_end(shown(reader, "history_long", client.thread_id))
    assert [event.sql_text for event in events][1:] == [cut(text) for text in texts]
