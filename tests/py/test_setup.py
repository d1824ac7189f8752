"""The switchboard: actors, objects, consumers, instruments, threads; UPDATE and function twins.

Changes take effect from each session's next statement on, without reconnecting (rules for actors:
from the next connection on).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from helpers import (
    Watched,
    consumers,
    difference,
    instruments,
    name_counts,
    one,
    rows,
    wait_until,
)


@pytest.fixture
def w(cluster: Any, conn: Any) -> Iterator[Watched]:
    with Watched(cluster, conn) as watched:
        yield watched


def grown(w: Watched, *script: str) -> dict[str, int]:
    """What a script adds to the thread's counts."""
    before = name_counts(w.observer, w.thread_id)
    for sql in script:
        w.conn.execute(sql)
    return difference(name_counts(w.observer, w.thread_id), before)


# --- instruments ------------------------------------------------------------------------------


def test_instrument_by_update(w: Watched) -> None:
    """UPDATE ... LIKE switches what matches; disabled adds nothing."""
    o = w.observer
    update = "UPDATE performance_schema.setup_instruments SET enabled = '{}' WHERE name LIKE '{}'"
    assert grown(w, "SELECT 1", "SELECT 2") == {"sql/select": 2, "com/Query": 2}
    try:
        names = "SELECT count(*) FROM performance_schema.setup_instruments WHERE name LIKE '{}'"
        done = o.execute(update.format("NO", "statement/sql/sel%"))
        assert done.rowcount == one(o, names.format("statement/sql/sel%")) > 1
        assert "sql/select" not in grown(w, "SELECT 1", "SELECT 2")
        assert w.run("SELECT 3") == []
        o.execute(update.format("NO", "statement/com/%"))
        assert grown(w, "SELECT 1", "SHOW work_mem") == {"sql/show": 1}
    finally:
        o.execute(update.format("YES", "statement/%"))
    assert grown(w, "SELECT 1", "SELECT 2") == {"sql/select": 2, "com/Query": 2}


def test_protocol_commands_without_statements(w: Watched) -> None:
    """statement/com/* does not depend on statement/sql/*."""
    with instruments(w.observer, "statement/sql/%", "NO"):
        assert grown(w, "SELECT 1", "SELECT 2") == {"com/Query": 2}


def test_instrument_off_keeps_counts(w: Watched) -> None:
    """Switching off removes nothing."""
    w.conn.execute("SELECT 1")
    before = name_counts(w.observer, w.thread_id)
    with instruments(w.observer, "statement/%", "NO"):
        w.conn.execute("SELECT 1")
        assert name_counts(w.observer, w.thread_id) == before


def test_timed(w: Watched) -> None:
    """TIMED = NO: counted, without time, and without a histogram entry."""
    sums = (
        "SELECT count_star, sum_timer_wait FROM "
        "performance_schema.events_statements_summary_by_thread_by_event_name "
        "WHERE thread_id = %s AND event_name = 'statement/sql/select'"
    )
    [before] = rows(w.observer, sums, w.thread_id)
    with instruments(w.observer, "statement/sql/select", "YES", "NO"):
        event = w.event("SELECT 1")
        [after] = rows(w.observer, sums, w.thread_id)
    assert (event.timer_start, event.timer_end, event.timer_wait) == (None, None, None)
    assert after.count_star == before.count_star + 1
    assert after.sum_timer_wait == before.sum_timer_wait
    assert w.event("SELECT 1").timer_wait > 0


def test_set_instruments_twin(conn: Any) -> None:
    """The function returns how many it switched, takes boolean or YES / NO."""
    call = "SELECT performance_schema.set_instruments({})"
    n = one(
        conn,
        "SELECT count(*) FROM performance_schema.setup_instruments "
        "WHERE name LIKE 'statement/com/%'",
    )
    assert one(conn, call.format("'statement/com/%', false")) == n
    assert one(conn, call.format("'statement/com/%', 'YES'")) == n
    with pytest.raises(psycopg.Error, match='"nosuch"'):
        conn.execute(call.format("'nosuch', true"))


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE performance_schema.setup_instruments SET enabled = 'MAYBE'",
        "UPDATE performance_schema.setup_instruments SET name = 'x'",
        "UPDATE performance_schema.setup_consumers SET enabled = NULL WHERE name = 'nosuch' "
        "OR name = 'global_instrumentation'",
        "INSERT INTO performance_schema.setup_instruments (name) VALUES ('x')",
        "DELETE FROM performance_schema.setup_instruments",
        "TRUNCATE performance_schema.setup_consumers",
        "UPDATE performance_schema.setup_timers SET timer_name = 'CYCLE'",
        "INSERT INTO performance_schema.setup_actors (host, user_name) VALUES ('%', '%')",
        "INSERT INTO performance_schema.setup_actors (enabled) VALUES ('perhaps')",
        "INSERT INTO performance_schema.setup_objects (object_type) VALUES ('VIEW')",
        "UPDATE performance_schema.setup_actors SET user_name = 'x'",
        "SELECT performance_schema.set_instruments('%', 'perhaps')",
        "SELECT performance_schema.set_consumers('%', 'perhaps')",
        "SELECT performance_schema.set_thread(999999999, true)",
        "SELECT performance_schema.reset('nosuch')",
        "SELECT performance_schema.reset('setup_consumers')",
    ],
)
def test_refused(conn: Any, sql: str) -> None:
    """Wrong values and forbidden changes are errors and change nothing."""
    state = (
        "SELECT (SELECT string_agg(i::text, ';') FROM performance_schema.setup_instruments i) || "
        "(SELECT string_agg(c::text, ';') FROM performance_schema.setup_consumers c) || "
        "(SELECT string_agg(a::text, ';') FROM performance_schema.setup_actors a) || "
        "(SELECT string_agg(o::text, ';') FROM performance_schema.setup_objects o)"
    )
    before = one(conn, state)
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(sql)
    assert str(caught.value)
    assert one(conn, state) == before


# --- consumers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "consumer, current, history, summary, digest",
    [
        ("global_instrumentation", 0, 0, 0, 0),
        ("thread_instrumentation", 0, 0, 0, 1),
        ("events_statements_current", 0, 0, 1, 1),
        ("events_statements_history", 1, 0, 1, 1),
        ("statements_digest", 1, 1, 1, 0),
    ],
)
def test_consumer_hierarchy(
    w: Watched, consumer: str, current: int, history: int, summary: int, digest: int
) -> None:
    """A consumer has an effect only while its parents are on; what it feeds stands still else."""
    o = w.observer
    sql = f"SELECT 1 AS probe_{consumer}, 2 AS probe"
    digest_count = (
        "SELECT coalesce(sum(count_star), 0)::int8 FROM "
        "performance_schema.events_statements_summary_by_digest "
        "WHERE digest_text LIKE 'SELECT ? AS `probe%'"
    )
    with consumers(o, **{consumer: False}):
        before = name_counts(o, w.thread_id).get("sql/select", 0)
        digest_before = one(o, digest_count)
        w.conn.execute(sql)
        in_current = [e for e in w.current() if e.sql_text == sql]
        in_history = [e for e in w.events() if e.sql_text == sql]
        counted = name_counts(o, w.thread_id).get("sql/select", 0) - before
        in_digest = one(o, digest_count) - digest_before
    assert (len(in_current), len(in_history), counted, in_digest) == (
        current,
        history,
        summary,
        digest,
    )
    assert [e.sql_text for e in w.run(f"{sql}_on")] == [f"{sql}_on"]


def test_global_sums_without_thread_instrumentation(w: Watched) -> None:
    """thread_instrumentation off: the global row still counts, as in MySQL."""
    total = (
        "SELECT count_star FROM performance_schema.events_statements_summary_global_by_event_name "
        "WHERE event_name = 'statement/sql/listen'"
    )
    before = one(w.observer, total)
    with consumers(w.observer, thread_instrumentation=False):
        for _ in range(4):
            w.conn.execute("LISTEN x")
    assert one(w.observer, total) == before + 4


def test_history_long(w: Watched) -> None:
    """Off by default; on, it has the events of all sessions, also of those that have gone."""
    o = w.observer
    found = (
        "SELECT count(*) FROM performance_schema.events_statements_history_long "
        "WHERE sql_text = 'SELECT 987654'"
    )
    w.conn.execute("SELECT 987654")
    assert one(o, found) == 0
    with consumers(o, events_statements_history_long=True):
        for _ in range(20):
            w.conn.execute("SELECT 987654")
        assert one(o, found) == 20
        w.conn.close()
        assert one(o, found) == 20


# --- actors -------------------------------------------------------------------------------------


@pytest.fixture
def actors(cluster: Any, conn: Any) -> Iterator[Callable[..., None]]:
    """Replaces the rules: actors((user, host, enabled, history), ...); the default comes back."""
    cluster.psql(
        "DO $$ BEGIN CREATE ROLE act_a LOGIN; CREATE ROLE act_b LOGIN; "
        "EXCEPTION WHEN duplicate_object THEN END $$"
    )

    def replace(*rules: tuple[str, str, str, str]) -> None:
        conn.execute("TRUNCATE performance_schema.setup_actors")
        for rule in rules:
            conn.execute(
                "INSERT INTO performance_schema.setup_actors "
                "(user_name, host, enabled, history) VALUES (%s, %s, %s, %s)",
                rule,
            )

    yield replace
    replace(("%", "%", "YES", "YES"))


def flags(cluster: Any, conn: Any, user: str) -> tuple[str, str]:
    """INSTRUMENTED and HISTORY of a new session."""
    with cluster.connect(user=user) as session:
        [row] = rows(
            conn,
            "SELECT instrumented, history FROM performance_schema.threads "
            "WHERE processlist_id = %s",
            session.info.backend_pid,
        )
    return row.instrumented, row.history


def test_most_specific_actor_wins(cluster: Any, conn: Any, actors: Callable[..., None]) -> None:
    """(user, host), (user, %), (%, host), (%, %); no match: not instrumented."""
    actors(("%", "%", "YES", "YES"))
    assert flags(cluster, conn, "act_a") == ("YES", "YES")
    actors(("%", "%", "YES", "YES"), ("%", "127.0.0.1", "NO", "YES"))
    assert flags(cluster, conn, "act_a") == ("NO", "YES")
    actors(("%", "127.0.0.1", "NO", "NO"), ("act_a", "%", "YES", "NO"), ("%", "%", "NO", "NO"))
    assert flags(cluster, conn, "act_a") == ("YES", "NO")
    assert flags(cluster, conn, "act_b") == ("NO", "NO")
    actors(("act_a", "%", "YES", "NO"), ("act_a", "127.0.0.1", "NO", "YES"))
    assert flags(cluster, conn, "act_a") == ("NO", "YES")
    assert flags(cluster, conn, "act_b") == ("NO", "NO")
    actors()
    assert flags(cluster, conn, "act_a") == ("NO", "NO")


def test_actor_decides_at_connect(cluster: Any, conn: Any, actors: Callable[..., None]) -> None:
    """A running session keeps what it has."""
    actors(("%", "%", "YES", "YES"))
    with Watched(cluster, conn, user="act_a") as w:
        actors(("%", "%", "NO", "NO"))
        assert grown(w, "SELECT 1")["sql/select"] == 1
        with cluster.connect(user="act_b") as off:
            off.execute("SELECT 1")
            pid = off.info.backend_pid
            found = one(
                conn,
                "SELECT count(*) FROM performance_schema.events_statements_history h "
                "JOIN performance_schema.threads t USING (thread_id) WHERE processlist_id = %s",
                pid,
            )
            assert found == 0


def test_actor_edits(conn: Any, actors: Callable[..., None]) -> None:
    """INSERT, UPDATE, DELETE and the function twins."""
    actors(("%", "%", "YES", "YES"))
    table = "performance_schema.setup_actors"
    conn.execute(f"INSERT INTO {table} (user_name, enabled) VALUES ('u1', 'NO')")
    assert one(conn, f"SELECT host || enabled || history FROM {table} WHERE user_name = 'u1'") == (
        "%NOYES"
    )
    conn.execute(f"UPDATE {table} SET history = 'NO' WHERE user_name = 'u1'")
    assert one(conn, f"SELECT history FROM {table} WHERE user_name = 'u1'") == "NO"
    assert conn.execute(f"DELETE FROM {table} WHERE user_name = 'u1'").rowcount == 1
    assert one(conn, "SELECT performance_schema.set_actor('u2', '%', false, NULL)") is True
    assert one(conn, "SELECT performance_schema.set_actor('u2', '%', true, false)") is False
    assert one(conn, f"SELECT enabled || history FROM {table} WHERE user_name = 'u2'") == "YESNO"
    assert one(conn, "SELECT performance_schema.drop_actor('u2', '%')") is True
    assert one(conn, "SELECT performance_schema.drop_actor('u2', '%')") is False
    for i in range(127):
        conn.execute(f"INSERT INTO {table} (user_name) VALUES ('full{i}')")
    with pytest.raises(psycopg.Error, match="full"):
        conn.execute(f"INSERT INTO {table} (user_name) VALUES ('one_more')")


# --- objects ------------------------------------------------------------------------------------


@pytest.fixture
def objects(cluster: Any, conn: Any) -> Iterator[None]:
    """Routines to observe; the rules of this test are dropped."""
    cluster.psql(
        "CREATE OR REPLACE FUNCTION public.obj_f() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM 1; RETURN 1; END $$; "
        "CREATE OR REPLACE FUNCTION public.obj_g() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM 2; RETURN 1; END $$"
    )
    yield
    conn.execute("DELETE FROM performance_schema.setup_objects WHERE object_schema = 'public'")
    conn.execute(
        "UPDATE performance_schema.setup_objects SET enabled = 'YES' WHERE object_schema = '%'"
    )


def test_objects_edits(conn: Any, objects: None) -> None:
    """Rules can be made, changed and dropped, by SQL and by function."""
    table = "performance_schema.setup_objects"
    conn.execute(
        f"INSERT INTO {table} (object_type, object_schema, object_name, enabled) "
        "VALUES ('FUNCTION', 'public', 'obj_f', 'NO')"
    )
    state = f"SELECT enabled || timed FROM {table} WHERE object_name = 'obj_f'"
    assert one(conn, state) == "NOYES"
    conn.execute(f"UPDATE {table} SET enabled = 'YES', timed = 'NO' WHERE object_name = 'obj_f'")
    assert one(conn, state) == "YESNO"
    call = "SELECT performance_schema.set_object('FUNCTION', 'public', 'obj_f', false, true)"
    assert one(conn, call) is False
    assert one(conn, state) == "NOYES"
    drop = "SELECT performance_schema.drop_object('FUNCTION', 'public', 'obj_f')"
    assert one(conn, drop) is True
    assert one(conn, drop) is False


# --- threads ------------------------------------------------------------------------------------


def test_thread_switch_from_another_session(w: Watched) -> None:
    """INSTRUMENTED and HISTORY of one session, by UPDATE and by function."""
    o = w.observer
    update = "UPDATE performance_schema.threads SET {} WHERE thread_id = %s"
    with w.conn.cursor():
        assert o.execute(update.format("instrumented = 'NO'"), (w.thread_id,)).rowcount == 1
    assert grown(w, "SELECT 1") == {}
    o.execute("SELECT performance_schema.set_thread(%s, true, false)", (w.thread_id,))
    assert grown(w, "SELECT 1")["sql/select"] == 1
    assert w.run("SELECT 4711") == []
    assert w.current()[0].sql_text == "SELECT 4711"
    o.execute(update.format("history = 'YES'"), (w.thread_id,))
    assert [e.sql_text for e in w.run("SELECT 4712")] == ["SELECT 4712"]


def test_thread_row(w: Watched, cluster: Any) -> None:
    """Who it is and what it does."""
    w.conn.execute("SET application_name = 'the app'")
    w.conn.execute("SELECT 1")
    [row] = rows(
        w.observer, "SELECT * FROM performance_schema.threads WHERE thread_id = %s", w.thread_id
    )
    assert (row.name, row.type) == ("thread/postgres/client_backend", "FOREGROUND")
    assert (row.processlist_id, row.thread_os_id) == (w.pid, w.pid)
    assert (row.processlist_user, row.processlist_host, row.processlist_db) == (
        "postgres",
        "127.0.0.1",
        "postgres",
    )
    assert (row.processlist_command, row.processlist_state, row.processlist_info) == (
        "Sleep",
        "idle",
        None,
    )
    assert row.application_name == "the app"
    assert row.connection_type in ("TCP/IP", "SSL/TLS")
    assert one(w.conn, "SELECT performance_schema.ps_current_thread_id()") == w.thread_id
    socket = cluster.psql(
        "SELECT connection_type || processlist_host FROM performance_schema.threads "
        "WHERE processlist_id = pg_backend_pid()"
    )
    assert socket.strip() == "Socket[local]"


def test_thread_classes(cluster: Any, conn: Any) -> None:
    """setup_threads holds for processes that start later."""
    conn.execute("SELECT performance_schema.set_thread_classes('%client_backend', false)")
    try:
        with cluster.connect() as session:
            assert (
                one(
                    conn,
                    "SELECT instrumented FROM performance_schema.threads WHERE processlist_id = %s",
                    session.info.backend_pid,
                )
                == "NO"
            )
    finally:
        conn.execute("SELECT performance_schema.set_thread_classes('%client_backend', true)")


# --- under load ---------------------------------------------------------------------------------


def test_takes_effect_from_the_next_statement(cluster: Any, conn: Any) -> None:
    """While sessions run, each one obeys from the statement it starts after the UPDATE."""
    stop = threading.Event()
    begun = [0] * 4
    ran = [0] * 4  # what counts for a client may have begun, or ended, for the server before
    ids: list[int] = [0] * 4

    def load(number: int) -> None:
        with cluster.connect(prepare_threshold=None) as session:
            ids[number] = one(session, "SELECT performance_schema.ps_current_thread_id()")
            while not stop.is_set():
                begun[number] += 1
                session.execute("SELECT 1")
                ran[number] += 1

    def advance(n: int) -> None:
        """Until all that has begun, and so many more, has ended."""
        goal = [value + n for value in begun]
        wait_until(lambda: all(a >= b for a, b in zip(ran, goal)), f"{n} statements each")

    def selects() -> dict[int, int]:
        return {i: name_counts(conn, i).get("sql/select", 0) for i in ids}

    threads = [threading.Thread(target=load, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        advance(20)
        for _ in range(10):
            conn.execute(
                "UPDATE performance_schema.setup_instruments SET enabled = 'NO' "
                "WHERE name = 'statement/sql/select'"
            )
            advance(0)
            off = selects()
            advance(20)
            assert selects() == off
            conn.execute(
                "UPDATE performance_schema.setup_instruments SET enabled = 'YES' "
                "WHERE name = 'statement/sql/select'"
            )
            advance(0)
            on = selects()
            at = list(begun)  # all later ones begin after the look, and end before the next one
            advance(20)
            then = list(ran)
            now = selects()
            for i, a, b in zip(ids, at, then):
                assert b - a <= now[i] - on[i]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        conn.execute("SELECT performance_schema.set_instruments('%', true, true)")
