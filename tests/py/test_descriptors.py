"""Every table against its descriptor: columns, comments, rights, hand-down of equality, TRUNCATE.

Three sources are compared: the catalogue of a server, what the generator prints as JSON, and
docs/tables.md. The server is quiet while it is read: autovacuum is off, background processes and
the observer's own session are not instrumented, so that two readings of a table can be compared.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import close_cluster, open_cluster
from helpers import (
    ROOT,
    Table,
    background_off,
    everything_on,
    one,
    read_to_end,
    rows,
    tables,
    thread_of,
    wait_for_state,
)
from psycopg import errors, sql

GENERATOR = ROOT / "build" / "gen" / "pfs_gen"
TABLES = [pytest.param(table, id=table.name) for table in tables()]
KEYS = [
    pytest.param(table, key, id=f"{table.name}-{key}") for table in tables() for key in table.keys
]
RULES = ("setup_actors", "setup_objects")
NO_ROWS = ("mutex_instances", "cond_instances")
"""There by name, for tools that ask for them: the server tells nothing that could be a row."""
STATISTICS = ("count_", "sum_")
SAMPLE = 5
STRANGE = {"text": ("", "?", "no such", "ä", "x" * 5000), "bigint": (0, -1, 2**63 - 1, -(2**63))}


@pytest.fixture(scope="module")
def descriptors() -> dict[str, Any]:
    """What the generator says, by table. `make gen-check` makes the generator."""
    subprocess.run(["make", "-s", "gen-check"], cwd=ROOT, check=False, capture_output=True)
    text = subprocess.run([GENERATOR, "json"], check=True, capture_output=True, text=True).stdout
    return {table["name"]: table for table in json.loads(text)["tables"]}


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """A server on which something of everything has happened."""
    made = open_cluster(pg_config, extension=True, preload=True, autovacuum=False)
    with made.connect() as admin:
        everything_on(admin)
        admin.execute('CREATE ROLE "jürgen" LOGIN')
    sessions = [made.connect(user=user) for user in ("jürgen", "postgres", "jürgen")]
    for session in sessions:
        for command in ("SELECT 1", "SELECT 1, 2", "SELECT 1 / 0", "no such", "BEGIN", "COMMIT"):
            try:
                session.execute(command)
            except (errors.DivisionByZero, errors.SyntaxError):
                continue
    sessions[0].execute("PREPARE prepared AS SELECT 1")
    sessions[0].execute("BEGIN")
    with made.connect() as admin:
        provoke_waits(sessions[1], sessions[2], admin)
        background_off(admin)
        at_rest(sessions, admin)
    yield made
    for session in sessions:
        session.close()
    close_cluster(made)


def at_rest(sessions: list[Any], admin: Any) -> None:
    """The server wakes idle sessions when it likes, to read invalidations: not recorded then.

    What they wait for is still recorded when it ends, with their next command.
    """
    for session in sessions:
        admin.execute("SELECT performance_schema.set_thread(%s, false)", (thread_of(admin, session),))
        session.execute("SELECT 1")
        wait_for_state(admin, session.info.backend_pid, "wait_event = 'ClientRead'")


def provoke_waits(waiter: Any, blocker: Any, watching: Any) -> None:
    """Rows of a table with and without its index, files, and waits for locks."""
    waiter.execute("CREATE TABLE waited (i integer PRIMARY KEY, t text)")
    waiter.execute("GRANT ALL ON waited TO PUBLIC")
    waiter.execute("INSERT INTO waited SELECT i, 'x' FROM generate_series(1, 1000) AS i")
    waiter.execute("SELECT count(*) FROM waited")
    waiter.execute("UPDATE waited SET t = 'y' WHERE i = 5")
    waiter.execute("DELETE FROM waited WHERE i = 6")
    for lock, wanted in (
        ("LOCK waited", "SELECT count(*) FROM waited"),
        ("LOCK waited", "UPDATE waited SET t = 'z' WHERE i = 5"),
        ("UPDATE waited SET t = 'z' WHERE i = 7", "UPDATE waited SET t = 'y' WHERE i = 7"),
    ):
        blocker.execute("BEGIN")
        blocker.execute(lock)
        waiter.pgconn.send_query(wanted.encode())
        wait_for_state(watching, waiter.info.backend_pid, "wait_event_type = 'Lock'")
        blocker.execute("COMMIT")
        read_to_end(waiter)
    # what it has read and changed is recorded by the time it waits for its next command
    wait_for_state(watching, waiter.info.backend_pid, "wait_event = 'ClientRead'")
    wait_for_state(watching, blocker.info.backend_pid, "wait_event = 'ClientRead'")


@pytest.fixture
def observer(server: Any) -> Iterator[Any]:
    """A session that leaves no trace while it looks."""
    with server.connect() as conn:
        conn.execute("SELECT performance_schema.set_thread(%s, false)", (thread_of(conn, conn),))
        yield conn


def name_of(table: Table) -> sql.Identifier:
    return sql.Identifier("performance_schema", table.name)


def select(conn: Any, table: Table, condition: sql.Composable | None = None) -> list[Any]:
    every = sql.SQL("SELECT * FROM {}").format(name_of(table))
    return rows(conn, every if condition is None else every + sql.SQL(" WHERE ") + condition)


# --- what is said of the tables -------------------------------------------------------------------


def test_same_tables_everywhere(observer: Any, descriptors: dict[str, Any]) -> None:
    found = rows(
        observer,
        "SELECT foreign_table_name FROM information_schema.foreign_tables "
        "WHERE foreign_table_schema = 'performance_schema'",
    )
    assert {name for (name,) in found} == set(descriptors) == {table.name for table in tables()}


@pytest.mark.parametrize("table", TABLES)
def test_columns_and_comments(observer: Any, descriptors: dict[str, Any], table: Table) -> None:
    catalogue = rows(
        observer,
        "SELECT attname, replace(format_type(atttypid, atttypmod), ',0)', ')'), "
        "col_description(attrelid, attnum) FROM pg_attribute "
        "WHERE attrelid = ('performance_schema.' || %s)::regclass "
        "AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        table.name,
    )
    assert catalogue == [(column.name, column.type, column.doc) for column in table.columns]
    assert all(column.doc for column in table.columns)
    flags = ("key", "updatable", "private")
    assert descriptors[table.name]["columns"] == [
        {"name": c.name, "type": c.type, **{flag: flag in c.flags for flag in flags}}
        for c in table.columns
    ]
    comment = one(
        observer,
        "SELECT obj_description(('performance_schema.' || %s)::regclass, 'pg_class')",
        table.name,
    )
    assert comment and comment + "." == table.doc


@pytest.mark.parametrize("table", TABLES)
def test_rights_are_documented(descriptors: dict[str, Any], table: Table) -> None:
    verbs = ("update", "insert", "delete", "truncate")
    granted = {verb.upper() for verb in verbs if descriptors[table.name][verb]}
    assert table.rights == granted | {"SELECT"}
    updatable = [column for column in table.columns if "updatable" in column.flags]
    assert bool(updatable) == ("UPDATE" in table.rights)
    assert table.keys or "UPDATE" not in table.rights, "a row must be found again"


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_rows_of_the_declared_columns(observer: Any, table: Table) -> None:
    found = select(observer, table)
    if table.name in NO_ROWS:
        assert found == [] and table.doc.startswith("No rows: ")
        return
    assert found
    assert list(found[0]._fields) == [column.name for column in table.columns]


def steady_columns(conn: Any, table: Table) -> list[int]:
    """Positions of the columns that do not change by themselves, found by looking twice.

    What a reading computes anew is left out: moments, which may differ in the last digit, and all
    measurements of performance_timers and engine_metrics.
    """
    if table.name in ("performance_timers", "engine_metrics"):
        return [i for i, column in enumerate(table.columns) if "key" in column.flags]
    first, second = select(conn, table), select(conn, table)
    assert len(first) == len(second), "the server is not quiet"
    positions = range(len(table.columns))
    moving = {i for i in positions for a, b in zip(first, second) if a[i] != b[i]}
    moving |= {i for i in positions if table.columns[i].type.startswith("timestamp")}
    moving |= {i for i in positions if table.columns[i].name == "processlist_time"}
    return [i for i in positions if i not in moving]


@pytest.mark.parametrize(("table", "key"), KEYS)
def test_equality_gives_the_same_as_a_filter(observer: Any, table: Table, key: str) -> None:
    """By a constant, by a value known later, and by a join; for values that exist or do not."""
    steady = steady_columns(observer, table)
    position = [column.name for column in table.columns].index(key)
    column, kind = sql.Identifier(key), table.columns[position].type
    everything = select(observer, table)
    present = sorted({row[position] for row in everything if row[position] is not None})
    assert bool(present) == (table.name not in NO_ROWS)
    known = [
        row[0]
        for row in rows(
            observer,
            sql.SQL("EXPLAIN SELECT * FROM {} WHERE {} = (SELECT {}::{})").format(
                name_of(table), column, sql.Literal(str([*present, 0][0])), sql.SQL(kind)
            ),
        )
    ]
    assert any("Pushed Down: " + key in line for line in known), known

    def bag(found: list[Any]) -> Counter[Any]:
        return Counter(tuple(row[i] for i in steady) for row in found)

    values = [*present[:SAMPLE], *present[-SAMPLE:], *STRANGE[kind]]
    for value in values:
        wanted = bag([row for row in everything if row[position] == value])
        equal = sql.SQL("{} = {}::{}").format(column, sql.Literal(str(value)), sql.SQL(kind))
        later = sql.SQL("{} = (SELECT {}::{})").format(
            column, sql.Literal(str(value)), sql.SQL(kind)
        )
        for condition in (equal, later):
            assert bag(select(observer, table, condition)) == wanted, value
    joined = sql.SQL(
        "SELECT t.* FROM unnest({}::{}[]) AS v (wanted) JOIN {} t ON t.{} = v.wanted"
    ).format(
        sql.Literal(sorted({str(value) for value in values})), sql.SQL(kind), name_of(table), column
    )
    wanted = bag([row for row in everything if row[position] in values])
    assert bag(rows(observer, joined)) == wanted
    assert select(observer, table, sql.SQL("{} = NULL").format(column)) == []


@pytest.mark.parametrize("table", [p for p in TABLES if len(p.values[0].keys) > 1])
def test_equality_on_the_whole_key(observer: Any, table: Table) -> None:
    """Finds what has this key; exactly one row where the key identifies."""
    positions = [[c.name for c in table.columns].index(key) for key in table.keys]
    everything = select(observer, table)
    for row in everything[:SAMPLE]:
        key = [row[i] for i in positions]
        condition = sql.SQL(" AND ").join(
            sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(value))
            for name, value in zip(table.keys, key)
        )
        same = [other for other in everything if [other[i] for i in positions] == key]
        expected = 0 if None in key else len(same)
        assert len(select(observer, table, condition)) == expected


# --- changing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_update_is_as_described(observer: Any, table: Table) -> None:
    """Each column to its own value: changes nothing, and tells what may be changed."""
    before = len(select(observer, table))
    for column in table.columns:
        name = sql.Identifier(column.name)
        update = sql.SQL("UPDATE {} SET {} = {}").format(name_of(table), name, name)
        if "updatable" in column.flags:
            assert observer.execute(update).rowcount == before
        elif "UPDATE" in table.rights:
            with pytest.raises(errors.FeatureNotSupported, match=f'column "{column.name}"'):
                observer.execute(update)
        else:
            with pytest.raises(errors.ObjectNotInPrerequisiteState, match="does not allow updates"):
                observer.execute(update)


@pytest.mark.parametrize("table", TABLES)
def test_insert_and_delete_are_as_described(observer: Any, table: Table) -> None:
    before = select(observer, table)
    insert = sql.SQL("INSERT INTO {t} SELECT * FROM {t}").format(t=name_of(table))
    delete = sql.SQL("DELETE FROM {}").format(name_of(table))
    if "INSERT" not in table.rights:
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="does not allow inserts"):
            observer.execute(insert)
    else:
        with pytest.raises(errors.UniqueViolation):
            observer.execute(insert)
    if "DELETE" not in table.rights:
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="does not allow deletes"):
            observer.execute(delete)
        return
    assert observer.execute(delete).rowcount == len(before)
    assert select(observer, table) == []
    for row in before:
        values = sql.SQL(", ").join(map(sql.Literal, row))
        observer.execute(sql.SQL("INSERT INTO {} VALUES ({})").format(name_of(table), values))
    assert Counter(select(observer, table)) == Counter(before)


@pytest.mark.xfail(strict=True, reason="RETURNING shows what was given, not what was stored")
@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO {} (user_name, enabled) VALUES ('returned', 'no') RETURNING *",
        "UPDATE {} SET enabled = 'yes' WHERE user_name = '%' RETURNING *",
    ],
)
def test_returning_shows_the_stored_row(observer: Any, change: str) -> None:
    actors = "performance_schema.setup_actors"
    try:
        [returned] = rows(observer, change.replace("{}", actors))
        assert returned in rows(observer, f"SELECT * FROM {actors}")
    finally:
        observer.execute(f"DELETE FROM {actors} WHERE user_name = 'returned'")


@pytest.mark.parametrize("table", TABLES)
def test_truncate_is_as_described(observer: Any, table: Table) -> None:
    """Statistics become 0, events and rules go; other tables refuse and stay. Keep this last."""
    before = select(observer, table)
    truncate = sql.SQL("TRUNCATE {}").format(name_of(table))
    if "TRUNCATE" not in table.rights:
        with pytest.raises(errors.FeatureNotSupported, match="cannot be truncated"):
            observer.execute(truncate)
        with pytest.raises(errors.FeatureNotSupported, match="cannot be truncated"):
            observer.execute("SELECT performance_schema.reset(%s)", (table.name,))
        return
    observer.execute(truncate)
    after = select(observer, table)
    if table.name in ("accounts", "users", "hosts"):
        assert after and all(row.current_connections == row.total_connections for row in after)
    elif table.name == "status":
        assert not any(row.variable_value for row in after if row.variable_name.endswith("_lost"))
    elif any(column.name.startswith(STATISTICS) for column in table.columns):
        left = [
            (row, column.name)
            for row in after
            for column in table.columns
            if column.name.startswith(STATISTICS) and getattr(row, column.name)
        ]
        assert left == []
    else:
        assert after == []
    if table.name in RULES:
        for row in before:
            values = sql.SQL(", ").join(map(sql.Literal, row))
            observer.execute(sql.SQL("INSERT INTO {} VALUES ({})").format(name_of(table), values))
