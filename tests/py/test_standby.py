"""A hot standby and read-only transactions: everything can be read, switched and reset there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from helpers import Watched, difference, name_counts, one, rows, tables, truncatable


@pytest.mark.timeout(120)
def test_hot_standby(new_cluster: Callable[..., Any], new_standby: Callable[..., Any]) -> None:
    primary = new_cluster()
    standby = new_standby(primary)
    standby.wait_replayed(primary)
    with standby.connect() as observer, Watched(standby, observer) as w:
        assert one(observer, "SELECT pg_is_in_recovery()")
        before = name_counts(observer, w.thread_id)
        for _ in range(5):
            w.conn.execute("SELECT 1")
        grown = difference(name_counts(observer, w.thread_id), before)
        assert grown["sql/select"] == 5
        for table in tables():
            rows(observer, f"SELECT * FROM performance_schema.{table.name}")
        # SQL commands are refused there ...
        for sql in (
            "TRUNCATE performance_schema.events_statements_history",
            "UPDATE performance_schema.setup_consumers SET enabled = 'NO'",
        ):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                observer.execute(sql)
        # ... their twins work
        observer.execute("SELECT performance_schema.set_instruments('statement/sql/show', false)")
        before = name_counts(observer, w.thread_id)
        w.conn.execute("SHOW work_mem")
        grown = difference(name_counts(observer, w.thread_id), before)
        assert "sql/show" not in grown
        for name in truncatable():
            observer.execute("SELECT performance_schema.reset(%s)", (name,))
        assert name_counts(observer, w.thread_id) == {}
        observer.execute("SELECT performance_schema.set_consumers('events%long', true)")
        observer.execute("SELECT performance_schema.set_thread(%s, false)", (w.thread_id,))
        w.conn.execute("SELECT 1")
        assert name_counts(observer, w.thread_id) == {}
        # the primary has its own state
        assert (
            primary.psql(
                "SELECT enabled FROM performance_schema.setup_instruments "
                "WHERE name = 'statement/sql/show'"
            ).strip()
            == "YES"
        )


@pytest.mark.timeout(120)
def test_promotion(new_cluster: Callable[..., Any], new_standby: Callable[..., Any]) -> None:
    """A standby that is promoted counts on."""
    primary = new_cluster()
    standby = new_standby(primary)
    with standby.connect() as observer, Watched(standby, observer) as w:
        w.conn.execute("SELECT 1")
        count = name_counts(observer, w.thread_id)["sql/select"]
        assert one(observer, "SELECT pg_promote()")
        w.conn.execute("CREATE TABLE after_promotion (a int)")
        w.conn.execute("SELECT 1")
        found = name_counts(observer, w.thread_id)
        assert (found["sql/select"], found["sql/create_table"]) == (count + 1, 1)
        observer.execute("TRUNCATE performance_schema.events_statements_history")


def test_read_only_transaction(cluster: Any, conn: Any) -> None:
    """TRUNCATE is refused, its twin works, and ROLLBACK does not bring anything back."""
    with Watched(cluster, conn) as w, cluster.connect() as reader:
        w.conn.execute("SELECT 1")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            reader.execute(
                "BEGIN READ ONLY; TRUNCATE performance_schema.events_statements_history; COMMIT"
            )
        reader.execute("ROLLBACK")
        assert w.events() != []
        reader.execute("BEGIN READ ONLY")
        reader.execute("SELECT performance_schema.reset('events_statements_history')")
        reader.execute("ROLLBACK")
        assert w.events() == []
