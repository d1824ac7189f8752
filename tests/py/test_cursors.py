"""Cursors and portals that outlive what they ran in: results as without the library, nothing lost.

A query that a lazily evaluated SQL function has begun survives the abort of the subtransaction it
began in; a portal that has failed is never told that it ends. What the library attaches to a query
must live exactly as long as the query's memory. The same SQL runs on a server without the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from conftest import with_and_without
from helpers import RawClient, Watched, everything_on, losses, one, rows, thread_of

TABLES = """
CREATE TABLE a AS SELECT g % 3 AS k, g AS v FROM generate_series(1, 3000) g;
CREATE INDEX ON a (k);
CREATE TABLE b AS SELECT 1 AS x FROM generate_series(1, 100);
CREATE FUNCTION f(i int) RETURNS SETOF int LANGUAGE sql AS 'SELECT k FROM a WHERE k = i';
CREATE FUNCTION sorted(i int) RETURNS SETOF int LANGUAGE sql
    AS 'SELECT v FROM a WHERE k < i + 2 ORDER BY k, v DESC';
CREATE FUNCTION failing(statements int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT 1 / (3 - i) FROM generate_series(1, 5) i;
    seen int := 0;
    x int;
BEGIN
    FOR n IN 1 .. statements LOOP
        OPEN c;
        BEGIN
            LOOP
                FETCH c INTO x;
                seen := seen + 1;
            END LOOP;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
        CLOSE c;
    END LOOP;
    RETURN seen;
END $$;
ANALYZE;
"""
BY_INDEX = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off"
SCENARIOS = {
    "function's query begun in a subtransaction": [
        BY_INDEX, "BEGIN", "DECLARE c CURSOR FOR SELECT f(i) FROM generate_series(1, 2) i",
        "FETCH 1 FROM c", "SAVEPOINT s", "FETCH 1001 FROM c", "ROLLBACK TO s",
        "DECLARE d CURSOR FOR SELECT * FROM b", "FETCH ALL FROM d", "FETCH ALL FROM c", "COMMIT",
    ],
    "with an incremental sort": [
        "SET enable_seqscan = off; SET enable_bitmapscan = off", "BEGIN",
        "DECLARE c CURSOR FOR SELECT sorted(i) FROM generate_series(0, 2) i", "FETCH 1 FROM c",
        "SAVEPOINT s", "FETCH 1500 FROM c", "ROLLBACK TO s",
        "DECLARE d CURSOR FOR SELECT v FROM a WHERE k < 2 ORDER BY k, v", "FETCH 2000 FROM d",
        "FETCH ALL FROM c", "FETCH ALL FROM d", "COMMIT",
    ],
    "savepoint released instead": [
        BY_INDEX, "BEGIN", "DECLARE c CURSOR FOR SELECT f(i) FROM generate_series(1, 2) i",
        "FETCH 1 FROM c", "SAVEPOINT s", "FETCH 1001 FROM c", "RELEASE s",
        "DECLARE d CURSOR FOR SELECT * FROM b", "FETCH ALL FROM d", "FETCH ALL FROM c", "COMMIT",
    ],
    "cursor held over its transaction": [
        BY_INDEX, "BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT sorted(i) FROM generate_series(0, 1) i",
        "FETCH 3 FROM c", "SAVEPOINT s", "FETCH 1500 FROM c", "ROLLBACK TO s", "COMMIT",
        "SELECT count(*) FROM a JOIN b ON a.k = b.x", "FETCH ALL FROM c", "CLOSE c",
    ],
    "many scans, failed in a subtransaction": [
        "BEGIN",
        "DECLARE c CURSOR FOR "
        + " UNION ALL ".join("SELECT x / (x - 1) FROM b" for _ in range(400)),
        "SAVEPOINT s", "FETCH 1 FROM c", "ROLLBACK TO s", "SELECT count(*) FROM b",
        "INSERT INTO b SELECT 1 FROM a LIMIT 5", "SELECT count(*) FROM b", "ROLLBACK",
    ],
    "spill after a cursor that failed": [
        "SET work_mem = '64kB'", "BEGIN", "DECLARE c CURSOR FOR SELECT 10 / (v - 2) FROM a ORDER BY k, v",
        "SAVEPOINT s", "FETCH ALL FROM c", "ROLLBACK TO s", "CLOSE c",
        "SELECT count(*) FROM (SELECT * FROM a x, generate_series(1, 20) ORDER BY v, k) y", "COMMIT",
    ],
    "handled failures": ["SELECT failing(200)", "SELECT count(*) FROM a"],
    "scroll backwards over a sort": [
        "BEGIN", "DECLARE c SCROLL CURSOR FOR SELECT v FROM a ORDER BY k, v", "FETCH 10 FROM c",
        "SAVEPOINT s", "FETCH BACKWARD 5 FROM c", "ROLLBACK TO s", "FETCH 7 FROM c",
        "FETCH BACKWARD ALL FROM c", "COMMIT",
    ],
}  # fmt: skip


def transcript(connection: Any, steps: list[str]) -> list[Any]:
    """What each step returns: rows, or the error."""
    found: list[Any] = []
    for step in steps:
        try:
            cursor = connection.execute(step)
            found.append(cursor.fetchall() if cursor.description else cursor.statusmessage)
        except psycopg.Error as error:
            found.append((error.sqlstate, str(error)))
    return found


@pytest.fixture(scope="module")
def servers(pg_config: str) -> Iterator[tuple[Any, Any]]:
    """One with the library, one without."""
    with with_and_without(pg_config, TABLES) as servers:
        yield servers


@pytest.mark.parametrize("switched", ["defaults", "everything on"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_results(
    servers: tuple[Any, Any], connect: Callable[..., Any], scenario: str, switched: str
) -> None:
    """The same as without the library; afterwards no statement is open."""
    with_it, without = servers
    observer = connect(with_it)
    if switched == "everything on":
        everything_on(observer)
    session = connect(with_it, prepare_threshold=None)
    expected = transcript(connect(without, prepare_threshold=None), SCENARIOS[scenario])
    assert transcript(session, SCENARIOS[scenario]) == expected
    assert open_statements(observer, session) == 0


def open_statements(observer: Any, session: Any) -> int:
    """Statements of a session that have not ended."""
    return one(
        observer,
        "SELECT count(*) FROM performance_schema.events_statements_current "
        "WHERE thread_id = %s AND end_event_id IS NULL",
        thread_of(observer, session),
    )


def test_handled_failures(servers: tuple[Any, Any], connect: Callable[..., Any]) -> None:
    """A cursor that fails in a handler's block, 5,000 times: each is counted, none stays open."""
    with_it, _ = servers
    observer, session = connect(with_it), connect(with_it)
    observer.execute("SELECT performance_schema.reset_all()")
    session.execute("SELECT failing(5000)")
    assert losses(observer) == {}
    assert open_statements(observer, session) == 0
    found = rows(
        observer,
        "SELECT count_star, sum_errors, sum_timer_wait, "
        "(SELECT sum_timer_wait FROM performance_schema.events_statements_summary_by_digest "
        " WHERE digest_text LIKE '%%failing%%') AS whole "
        "FROM performance_schema.events_statements_summary_by_digest "
        "WHERE digest_text LIKE 'SELECT ? / (%%'",
    )
    assert [(row.count_star, row.sum_errors) for row in found] == [(5000, 5000)]
    assert found[0].sum_timer_wait <= found[0].whole
    handled = "SELECT sum_error_handled FROM performance_schema.events_errors_summary_global_by_error"
    assert one(observer, f"{handled} WHERE sql_state = '22012'") == 5000


def test_suspended_cursors_keep_their_time(new_cluster: Callable[..., Any]) -> None:
    """A cursor that outlives a subtransaction goes on with its own statement."""
    server = new_cluster(performance_schema__events_statements_history_size=50)
    server.psql(TABLES)
    with server.connect() as observer, Watched(server, observer) as session:
        session.conn.execute("SET enable_incremental_sort = off")
        since = session.mark()
        for step in (
            "BEGIN", "DECLARE c CURSOR FOR SELECT v FROM a ORDER BY k, v", "FETCH 1 FROM c",
            "SAVEPOINT s", "FETCH 1 FROM c", "ROLLBACK TO s", "FETCH 1 FROM c", "CLOSE c", "COMMIT",
        ):  # fmt: skip
            session.conn.execute(step)
        query = [e for e in session.events(since) if e.sql_text.startswith("DECLARE")]
        selects = [e for e in query if e.event_name == "statement/sql/select"]
        assert [e.rows_sent for e in selects] == [3]
        assert [e.sort_rows for e in selects] == [3000]


def test_plan_at_a_reused_address(servers: tuple[Any, Any], connect: Callable[..., Any]) -> None:
    """Prepared plans come and go: each statement has the shape of its own plan."""
    with_it, _ = servers
    observer, session = connect(with_it), connect(with_it, prepare_threshold=None)
    thread = thread_of(observer, session)
    last = (
        "SELECT no_index_used, sort_rows FROM performance_schema.events_statements_history "
        "WHERE thread_id = %s AND event_name = 'statement/sql/execute' ORDER BY event_id DESC LIMIT 1"
    )
    for i in range(60):
        by_index = i % 3 != 0
        session.execute(f"SET enable_seqscan = {'off' if by_index else 'on'}")
        session.execute(f"SET enable_bitmapscan = off; SET enable_indexscan = {by_index}")
        session.execute("SET enable_indexonlyscan = off; SET plan_cache_mode = force_generic_plan")
        session.execute("PREPARE p AS SELECT sum(v) FROM a WHERE k = 1")
        for _ in range(2):
            session.execute("EXECUTE p")
        nested = rows(
            observer,
            "SELECT no_index_used FROM performance_schema.events_statements_history "
            "WHERE thread_id = %s AND event_name = 'statement/sql/select' "
            "ORDER BY event_id DESC LIMIT 1",
            thread,
        )
        assert nested[0].no_index_used == (0 if by_index else 1), (i, rows(observer, last, thread))
        session.execute("DEALLOCATE p")


IDLE = {
    "declared": [
        "BEGIN", *(f"DECLARE c{i} CURSOR FOR SELECT v FROM a ORDER BY v" for i in range(20)),
        "SELECT pg_sleep(0.3)", *(f"FETCH 1 FROM c{i}" for i in range(20)), "COMMIT",
    ],
    "opened by a function": [
        """DO $$ DECLARE c refcursor; BEGIN
        FOR i IN 1 .. 20 LOOP
            c := 'c' || i;
            OPEN c FOR SELECT v FROM a ORDER BY v;
        END LOOP;
        PERFORM pg_sleep(0.3); END $$""",
    ],
}  # fmt: skip


def select_seconds(observer: Any, pid: int) -> float:
    """SUM_TIMER_WAIT of the SELECTs of a session."""
    return one(
        observer,
        "SELECT (sum_timer_wait / 1e12)::float8 "
        "FROM performance_schema.events_statements_summary_by_thread_by_event_name "
        "WHERE thread_id = performance_schema.ps_thread_id(%s) AND event_name = 'statement/sql/select'",
        pid,
    )


@pytest.mark.parametrize("case", IDLE)
def test_cursors_that_are_not_run(
    servers: tuple[Any, Any], connect: Callable[..., Any], case: str
) -> None:
    """A cursor that lies open, not run yet, spends no time: else sums exceed the session's."""
    observer = connect(servers[0])
    everything_on(observer)
    session = connect(servers[0], prepare_threshold=None)
    transcript(session, IDLE[case])
    assert 0.3 <= select_seconds(observer, session.info.backend_pid) < 1.0


def test_portals_that_are_not_run(servers: tuple[Any, Any], connect: Callable[..., Any]) -> None:
    """The same of portals that are bound, and run much later."""
    observer = connect(servers[0])
    everything_on(observer)
    with RawClient(servers[0]) as raw:
        raw.query("BEGIN")
        raw.parse("SELECT v FROM a ORDER BY v", "q")
        for i in range(20):
            raw.bind(portal=f"p{i}", name="q")
        raw.sync()
        raw.query("SELECT pg_sleep(0.3)")
        for i in range(20):
            raw.execute(f"p{i}", 5)
        raw.sync()
        raw.query("COMMIT")
        assert 0.3 <= select_seconds(observer, raw.pid) < 1.0


def test_processor_time_of_cursors(
    servers: tuple[Any, Any], connect: Callable[..., Any]
) -> None:
    """What the processor does between the runs of a cursor is not the cursor's."""
    observer = connect(servers[0])
    everything_on(observer)
    session = connect(servers[0], prepare_threshold=None)
    declare = "DECLARE c{0} CURSOR FOR SELECT v FROM a ORDER BY v"
    steps = [step.format(i) for i in range(20) for step in (declare, "FETCH 1 FROM c{0}")]
    burn = "SELECT count(*) FROM generate_series(1, 1000000)"
    transcript(session, ["BEGIN", *steps, burn, "COMMIT"])
    wall, processor = observer.execute(
        "SELECT sum_timer_wait, sum_cpu_time "
        "FROM performance_schema.events_statements_summary_by_thread_by_event_name "
        "WHERE thread_id = performance_schema.ps_thread_id(%s) AND event_name = 'statement/sql/select'",
        (session.info.backend_pid,),
    ).fetchone()
    assert 0 < processor < 1.2 * float(wall)


class Portal:
    """A client that executes prepared statements by one portal, and others beside it."""

    PREPARED = {
        "scan": "SELECT v FROM a WHERE k = 1",
        "sort": "SELECT v FROM a WHERE k = 2 ORDER BY v",
        "fails": "SELECT 10 / (v - 7) FROM a WHERE k = 1",
        "add": "INSERT INTO b VALUES (1)",
    }

    def __init__(self, raw: RawClient, name: str, observer: Any = None) -> None:
        self.raw = raw
        self.name = name
        self.observer = observer
        self.answers: list[tuple[str, bytes]] = []
        raw.query(BY_INDEX.replace("; SET enable_sort = off", "") + "; SET plan_cache_mode = force_generic_plan")
        for name_of, sql in self.PREPARED.items():
            raw.parse(sql, name_of)
        raw.sync()

    def sync(self) -> None:
        self.answers += [answer for answer in self.raw.sync() if answer[0] != "3"]

    def beside(self, sql: str) -> None:
        """By another portal: a simple query would close the unnamed one."""
        self.raw.parse(sql, "beside").bind(portal="beside", name="beside").execute("beside")
        self.raw.close_object("P", "beside").close_object("S", "beside")
        self.sync()
        self.raw.close_object("P", "beside").close_object("S", "beside").sync()

    def switch(self, enabled: str) -> None:
        if self.observer is not None:
            self.observer.execute(
                "UPDATE performance_schema.setup_instruments SET enabled = %s WHERE name LIKE 'statement/%%'",
                (enabled,),
            )

    def step(self, step: str) -> None:
        kind, _, rest = step.partition(" ")
        if kind == "bind":
            self.raw.close_object("P", self.name).bind(portal=self.name, name=rest)
            self.sync()
        elif kind == "run":
            self.raw.execute(self.name, int(rest or 0))
            self.sync()
        elif kind == "pipeline":
            for name in rest.split():
                self.raw.close_object("P", self.name).bind(portal=self.name, name=name).execute(self.name)
            self.sync()
        elif kind == "switch":
            self.switch(rest)
        else:
            self.beside(step)


PORTALS = {
    "one after the other": ["pipeline scan", "pipeline add", "pipeline sort", "pipeline scan add scan sort"],
    "in a block": ["BEGIN", "pipeline scan add sort", "bind scan", "run", "run", "COMMIT"],
    "in parts": ["BEGIN", "bind sort", "run 5", "INSERT INTO b VALUES (2)", "run 7", "run", "COMMIT"],
    "something between": ["BEGIN", "bind scan", "INSERT INTO b VALUES (2)", "run", "bind sort", "run", "COMMIT"],
    "never run": ["BEGIN", "bind scan", "SELECT count(*) FROM a", "COMMIT", "pipeline scan"],
    "nor is the next": ["BEGIN", "bind scan", "bind sort", "bind scan", "COMMIT", "pipeline sort"],
    "aborted": ["BEGIN", "bind scan", "ROLLBACK", "pipeline scan"],
    "aborted in parts": ["BEGIN", "bind sort", "run 5", "ROLLBACK", "pipeline sort"],
    "gone with its subtransaction": [
        "BEGIN", "SAVEPOINT s", "bind scan", "ROLLBACK TO s", "SELECT count(*) FROM a", "run", "ROLLBACK",
    ],
    "survives a subtransaction": [
        "BEGIN", "bind scan", "SAVEPOINT s", "SELECT 1 / 0", "ROLLBACK TO s", "run", "pipeline sort", "COMMIT",
    ],
    "released into the outer one": [
        "BEGIN", "SAVEPOINT s", "bind scan", "RELEASE s", "SAVEPOINT t", "SELECT 1 / 0", "ROLLBACK TO t", "run", "COMMIT",
    ],
    "survives in parts": [
        "BEGIN", "bind sort", "run 5", "SAVEPOINT s", "run 5", "SELECT 1 / 0", "ROLLBACK TO s", "run", "COMMIT",
    ],
    "fails": ["pipeline fails", "pipeline scan", "BEGIN", "bind fails", "run", "ROLLBACK", "pipeline scan"],
    "fails in a subtransaction": [
        "BEGIN", "SAVEPOINT s", "bind fails", "run", "ROLLBACK TO s", "pipeline scan", "COMMIT", "pipeline scan",
    ],
    "fails below its level": [
        "BEGIN", "bind fails", "SAVEPOINT s", "run", "ROLLBACK TO s", "pipeline scan sort", "COMMIT", "pipeline scan",
    ],
    "something else fails": ["BEGIN", "bind scan", "nonsense", "ROLLBACK", "pipeline scan"],
    "off meanwhile": [
        "BEGIN", "bind scan", "switch NO", "SAVEPOINT s", "SELECT 1 / 0", "ROLLBACK TO s", "switch YES", "run", "COMMIT",
        "pipeline sort",
    ],
    "gone meanwhile": [
        "BEGIN", "SAVEPOINT s", "bind scan", "switch NO", "ROLLBACK TO s", "switch YES", "pipeline scan", "COMMIT",
    ],
    "aborted meanwhile": ["BEGIN", "bind scan", "switch NO", "ROLLBACK", "switch YES", "pipeline scan sort"],
    "run while off": ["BEGIN", "bind scan", "switch NO", "run", "switch YES", "bind sort", "run", "COMMIT"],
    "fails while off": ["BEGIN", "bind fails", "switch NO", "run", "ROLLBACK", "switch YES", "pipeline scan add"],
}  # fmt: skip


@pytest.mark.parametrize("scenario", PORTALS)
def test_unnamed_portal(servers: tuple[Any, Any], connect: Callable[..., Any], scenario: str) -> None:
    """Its query leaves the same statements as that of a named one, and does what it does without us."""
    observer = connect(servers[0])
    observer.execute(
        "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'events_statements_history_long'"
    )
    events: list[list[Any]] = []
    answers: list[list[tuple[str, bytes]]] = []
    for server, name in ((servers[0], ""), (servers[0], "named"), (servers[1], "")):
        watched = server is servers[0]
        with RawClient(server) as raw:
            portal = Portal(raw, name, observer if watched else None)
            for _ in range(3):  # the second time there are templates of the plans
                for step in PORTALS[scenario]:
                    portal.step(step)
            answers.append([(kind, body) for kind, body in portal.answers if kind != "E"])
            if watched:
                events.append(statements_of(observer, raw.pid))
    assert answers[0] == answers[2]
    assert events[0] == events[1]
    assert events[0]


def statements_of(observer: Any, pid: int) -> list[Any]:
    """What is told of the last statements of a session, and how many others began before each ended."""
    found = rows(
        observer,
        "SELECT event_id, end_event_id, event_name, sql_text, rows_sent, rows_affected, rows_examined, sort_rows, errors, "
        "returned_sqlstate, nesting_event_level, timer_wait > 0 AS timed "
        "FROM (SELECT * FROM performance_schema.events_statements_history_long "
        "UNION ALL SELECT * FROM performance_schema.events_statements_current WHERE end_event_id IS NULL) e "
        "WHERE thread_id = performance_schema.ps_thread_id(%s) ORDER BY event_id DESC LIMIT 100",
        pid,
    )
    return [
        (row[2:], sum(row.event_id < other.event_id <= (row.end_event_id or 0) for other in found))
        for row in found
    ]
