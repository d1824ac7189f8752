"""docs/mysql_to_postgresql.md says what is true, and queries of articles run as they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from helpers import one, rows

PAGE = (Path(__file__).parents[2] / "docs" / "mysql_to_postgresql.md").read_text()
TABLES_OF_84 = 121
"""With those of its plugins."""


def section(title: str) -> list[tuple[str, str]]:
    """Its table: left and right column."""
    text = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    return [(left, right) for left, right in found if left != "MySQL"]


def tables() -> list[tuple[list[str], str]]:
    return [(left.split(", "), right) for left, right in section("The tables of MySQL 8.4")]


def exists(conn: Any, name: str) -> bool:
    return bool(one(conn, "SELECT to_regclass(%s) IS NOT NULL", name))


def test_all_tables_are_there_once() -> None:
    names = [name for left, _ in tables() for name in left]
    assert len(names) == len(set(names)) == TABLES_OF_84


def test_what_has_the_same_name_is_there_and_nothing_else(conn: Any) -> None:
    for left, right in tables():
        same = right.startswith(("the same name", "always empty"))
        for name in left:
            assert exists(conn, f"performance_schema.{name}") == same, name


def test_names_that_are_mentioned_exist(conn: Any) -> None:
    mentioned = set(re.findall(r"\b((?:performance_schema|sys)\.[a-z_]+)\b(?!\.md)", PAGE))
    assert len(mentioned) > 20
    for name in mentioned:
        schema, plain = name.split(".")
        setting = one(conn, "SELECT count(*) FROM pg_settings WHERE name = %s", name)
        function = one(
            conn,
            "SELECT count(*) FROM pg_proc WHERE proname = %s AND pronamespace = %s::regnamespace",
            plain,
            schema,
        )
        column = "." in name and exists(conn, name.rsplit(".", 1)[0])
        assert exists(conn, name) or setting or function or column, name
    for view in set(re.findall(r"`(pg_[a-z_]+)`", PAGE)):
        assert exists(conn, view), view


@pytest.mark.parametrize(
    "sql",
    [sql for _, right in section("Statements") for sql in re.findall(r"`(SELECT [^`]+)`", right)],
)
def test_statements_run(conn: Any, sql: str) -> None:
    if "pg_terminate" in sql or "pg_cancel" in sql:
        conn.execute(f"EXPLAIN {sql}")
    else:
        conn.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from innodb_metrics limit 1",
        "select substring_index(name, '/', 1) as category, count(*) from setup_instruments "
        "group by substring_index(name, '/', 1)",
        "select * from setup_consumers limit 1",
        "update performance_schema.setup_instruments set enabled = 'NO'",
        "update performance_schema.setup_consumers set enabled = 'no' "
        "where name = 'events_statements_current'",
        "select type, count(*) from sys.metrics group by type",
    ],
)
def test_queries_of_articles(conn: Any, sql: str) -> None:
    conn.execute("SET search_path = performance_schema, sys, public")
    conn.execute("CALL sys.ps_setup_save()")
    try:
        found = conn.execute(sql)
        if sql.startswith("select"):
            assert found.fetchall()
        else:
            assert found.rowcount > 0
    finally:
        conn.execute("CALL sys.ps_setup_reload_saved()")


def test_metrics_have_each_source_whole(conn: Any) -> None:
    by_type = {
        row.type: row.count
        for row in rows(conn, "SELECT type, count(*)::int AS count FROM sys.metrics GROUP BY type")
    }
    counters = sum(count for kind, count in by_type.items() if kind.startswith("Engine Metrics - "))
    assert counters == one(conn, "SELECT count(*) FROM performance_schema.engine_metrics")
    status = one(conn, "SELECT count(*) FROM performance_schema.global_status")
    assert (by_type["Global Status"], by_type["System Time"], by_type["Performance Schema"]) == (
        status, 1, 1,
    )  # fmt: skip
    disabled = one(conn, "SELECT count(*) FROM sys.metrics WHERE enabled = 'NO'")
    assert disabled == one(
        conn, "SELECT count(*) FROM performance_schema.engine_metrics WHERE status = 'disabled'"
    )


ABSENT = ["memory/", "stage/", "statement/sp/", "wait/synch/mutex/", "wait/lock/metadata/"]


def notices(conn: Any, sql: str, *params: Any) -> list[str]:
    heard: list[str] = []

    def hear(notice: Any) -> None:
        heard.append(f"{notice.severity}: {notice.message_primary} {notice.message_hint}")

    conn.add_notice_handler(hear)
    try:
        conn.execute(sql, params or None)
    finally:
        conn.remove_notice_handler(hear)
    return heard


@pytest.mark.parametrize("prefix", ABSENT)
def test_switching_what_is_not_here(conn: Any, prefix: str) -> None:
    instruments = "performance_schema.setup_instruments"
    assert one(conn, f"SELECT count(*) FROM {instruments} WHERE name LIKE %s", prefix + "%") == 0
    for sql in (
        f"UPDATE {instruments} SET enabled = 'YES' WHERE name LIKE '{prefix}%'",
        f"UPDATE {instruments} SET enabled = 'YES', timed = 'YES' WHERE name = '{prefix}innodb/x'",
        f"UPDATE {instruments} SET enabled = 'YES' WHERE name LIKE '{prefix}%' OR name LIKE '{prefix}x'",
    ):
        heard = notices(conn, sql)
        assert heard and heard[0] == (
            f'NOTICE: there are no instruments "{prefix}%" here '
            "docs/mysql_to_postgresql.md says what there is instead."
        )
    assert notices(conn, f"EXPLAIN UPDATE {instruments} SET enabled = 'YES' WHERE name LIKE 'stage/%'") == []


def test_no_notice_about_what_is_here(conn: Any) -> None:
    for pattern in ("%", "wait/%", "wait/io/file/%", "statement/sql/select", "nothing of the kind"):
        sql = f"UPDATE performance_schema.setup_instruments SET enabled = enabled WHERE name LIKE '{pattern}'"
        assert notices(conn, sql) == []
