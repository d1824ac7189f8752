"""Nothing is wanted: the library goes out of the executor's way between commands, and comes back with a switch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers import Watched, name_counts, rows, status

New = Callable[..., Any]

OFF = "%=off"
SELECT = "SELECT 1 + %s"


@pytest.fixture
def server(new_cluster: New) -> Any:
    """Starts with all instruments off."""
    return new_cluster(performance_schema__instrument=OFF)


@pytest.fixture
def observer(server: Any) -> Iterator[Any]:
    with server.connect() as connection:
        yield connection


def switch(conn: Any, on: bool) -> None:
    conn.execute("SELECT performance_schema.set_instruments('statement/%%', %s, %s)", (on, on))


def selects(w: Watched) -> int:
    return name_counts(w.observer, w.thread_id).get("sql/select", 0)


def test_cached_plans(server: Any, observer: Any) -> None:
    """Of a prepared statement only the executor's hooks are called: each one counts from the switch on."""
    with Watched(server, observer, prepare_threshold=0) as w:
        for _ in range(10):
            w.conn.execute(SELECT, (1,))  # its plan is the cached one by now
        assert selects(w) == 0
        for turn in range(1, 6):
            switch(observer, True)
            for _ in range(3):
                w.conn.execute(SELECT, (1,))
            assert selects(w) == 3 * turn
            switch(observer, False)
            for _ in range(3):
                w.conn.execute(SELECT, (1,))
            assert selects(w) == 3 * turn
        assert w.events() == rows(
            observer,
            "SELECT * FROM performance_schema.events_statements_history "
            "WHERE thread_id = %s AND sql_text = 'SELECT 1 + $1' ORDER BY event_id",
            w.thread_id,
        )


def test_own_switch(server: Any, observer: Any) -> None:
    """A session that switches counts what it executes next, in the same message and in a block."""
    on = "SELECT performance_schema.set_instruments('statement/%', true, true)"
    with Watched(server, observer) as w:
        w.conn.execute(f"{on}; SELECT 1; SELECT 2")
        assert selects(w) == 2
        switch(observer, False)
        w.conn.execute("SELECT 3")
        w.conn.execute(f"BEGIN; {on}")
        w.conn.execute("SELECT 4")
        w.conn.execute("COMMIT")
        assert selects(w) == 3


def test_switched_in_a_block(server: Any, observer: Any) -> None:
    """A transaction or a cursor that was there before does not keep a session from coming back."""
    with Watched(server, observer, autocommit=False, prepare_threshold=0) as w:
        w.conn.execute("DECLARE c CURSOR FOR SELECT generate_series(1, 10)")
        w.conn.execute(SELECT, (1,))
        switch(observer, True)
        w.conn.execute(SELECT, (1,))
        assert w.conn.execute("FETCH 3 FROM c").fetchall() == [(1,), (2,), (3,)]
        assert selects(w) == 1
        switch(observer, False)
        w.conn.execute(SELECT, (1,))
        w.conn.commit()
        assert selects(w) == 1


@pytest.mark.parametrize("loaded", ["off", "on"])
def test_library_above_us(server: Any, observer: Any, loaded: str) -> None:
    """A library that a session loads has its hooks called in each state, and once for each query."""
    notices: list[str] = []
    with Watched(server, observer, prepare_threshold=0) as w:
        w.conn.execute(SELECT, (1,))
        switch(observer, loaded == "on")
        w.conn.execute(SELECT, (1,))
        w.conn.execute("LOAD 'auto_explain'")
        w.conn.execute("SET auto_explain.log_level = notice")
        w.conn.execute("SET auto_explain.log_min_duration = 0")
        w.conn.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        for on in (False, True, False, False, True, True, False):
            switch(observer, on)
            before = selects(w)
            notices.clear()
            for _ in range(3):
                assert w.conn.execute(SELECT, (1,)).fetchone() == (2,)
            assert len(notices) == 3
            assert selects(w) - before == (3 if on else 0)
    assert status(observer)["performance_schema_locker_lost"] == 0
