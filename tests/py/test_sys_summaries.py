"""Views of sys that sum up statements, users, hosts and objects agree with their tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from helpers import losses, one, rows

DIGESTS = "performance_schema.events_statements_summary_by_digest"
GLOBAL = "performance_schema.events_statements_summary_global_by_event_name"
BY_DIGEST = (
    "statements_with_errors_or_warnings", "statements_with_full_table_scans",
    "statements_with_runtimes_in_95th_percentile", "statements_with_sorting",
    "statements_with_temp_tables",
)  # fmt: skip
PAIRS = (
    *BY_DIGEST,
    *(f"{who}_summary{what}" for who in ("user", "host")
      for what in ("", "_by_statement_type", "_by_statement_latency")),
)  # fmt: skip
PLAIN = ("ps_check_lost_instrumentation", "schema_object_overview", "session_ssl_status", "version")


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    """A session that has executed something of each kind; another one looks."""
    with cluster.connect() as observer, cluster.connect() as made:
        made.execute(
            "CREATE TABLE sys_sums AS SELECT g AS a, g % 7 AS b FROM generate_series(1, 500) AS g"
        )
        observer.execute(f"TRUNCATE {DIGESTS}")
        for divisor in (1, 0, 1, 0):
            with contextlib.suppress(psycopg.errors.DivisionByZero):
                made.execute(f"SELECT 17 / {divisor} AS sys_failing")
        made.execute("DO $$ BEGIN RAISE WARNING 'sys_warning'; END $$")
        made.execute("SELECT a AS sys_sorted FROM sys_sums ORDER BY b, a")
        made.execute("SELECT count(*) AS sys_scanned FROM sys_sums")
        made.execute(
            "WITH w AS MATERIALIZED (SELECT a FROM sys_sums) "
            "SELECT count(*) AS sys_kept FROM w, w AS v WHERE v.a = w.a"
        )
        yield observer


def entry(observer: Any, view: str, word: str) -> Any:
    [row] = rows(
        observer,
        f"SELECT * FROM sys.\"x${view}\" WHERE query LIKE '%{word}%' AND query NOT LIKE '%sys.%'",
    )
    return row


def test_errors_and_warnings(client: Any) -> None:
    failing = entry(client, "statements_with_errors_or_warnings", "sys_failing")
    assert (failing.exec_count, failing.errors, failing.error_pct) == (4, 2, 50)
    assert entry(client, "statements_with_errors_or_warnings", "DO ?").warnings == 1
    found = rows(client, 'SELECT query FROM sys."x$statements_with_errors_or_warnings"')
    assert not [row for row in found if "sys_sorted" in row.query]


def test_scans_and_sorts(client: Any) -> None:
    scanned = entry(client, "statements_with_full_table_scans", "sys_scanned")
    assert (scanned.exec_count, scanned.no_index_used_count, scanned.no_index_used_pct) == (
        1,
        1,
        100,
    )
    assert (scanned.rows_examined, scanned.rows_examined_avg) == (500, 500)
    ordered = entry(client, "statements_with_sorting", "sys_sorted")
    assert (ordered.rows_sorted, ordered.avg_rows_sorted, ordered.sorts_using_scans) == (
        500,
        500,
        1,
    )
    assert entry(client, "statements_with_temp_tables", "sys_kept").memory_tmp_tables >= 1


def test_slowest_are_slower_than_the_others(client: Any) -> None:
    """A twentieth of the digests, rounded up; none outside is slower than one inside."""
    inside, fastest, others, slowest = rows(
        client,
        "WITH slow AS MATERIALIZED (SELECT digest, db, avg_latency "
        'FROM sys."x$statements_with_runtimes_in_95th_percentile"), '
        f"rest AS (SELECT avg_timer_wait FROM {DIGESTS} EXCEPT ALL SELECT avg_latency FROM slow) "
        "SELECT (SELECT count(*) FROM slow) AS a, (SELECT min(avg_latency) FROM slow) AS b, "
        "(SELECT count(*) FROM rest) AS c, (SELECT max(avg_timer_wait) FROM rest) AS d",
    )[0]
    assert 1 <= inside <= others
    assert fastest >= slowest


@pytest.mark.parametrize(("who", "column"), [("user", "user_name"), ("host", "host")])
def test_sums_of_users_and_hosts(client: Any, who: str, column: str) -> None:
    """Executions of all kinds are those of all users; so are those of the global summary."""
    by_type, by_latency, summary, everything = rows(
        client,
        f'SELECT (SELECT sum(total) FROM sys."x${who}_summary_by_statement_type" '
        "WHERE statement NOT LIKE 'com/%') AS a, "
        f'(SELECT sum(total) FROM sys."x${who}_summary_by_statement_latency") AS b, '
        f'(SELECT sum(statements) FROM sys."x${who}_summary") AS c, '
        f"(SELECT sum(count_star) FROM {GLOBAL} WHERE event_name NOT LIKE 'statement/com/%') AS d",
    )[0]
    assert by_type == by_latency == summary
    assert 0 < by_latency <= everything
    connections = one(client, f'SELECT sum(current_connections) FROM sys."x${who}_summary"')
    assert connections == one(
        client, f"SELECT sum(current_connections) FROM performance_schema.{who}s"
    )
    found = one(client, f"SELECT count(*) - count(DISTINCT {column}) FROM sys.{who}_summary")
    assert found == 0


@pytest.mark.parametrize("view", PAIRS)
def test_both_forms_have_the_same_rows(client: Any, view: str) -> None:
    client.execute("BEGIN")
    counted = [one(client, f'SELECT count(*) FROM sys."{name}"') for name in (f"x${view}", view)]
    client.execute("COMMIT")
    assert counted[0] > 0
    assert abs(counted[1] - counted[0]) <= 1  # the first question is a statement, too


@pytest.mark.parametrize("view", PLAIN)
def test_views_in_one_form(client: Any, view: str) -> None:
    found = rows(client, f"SELECT * FROM sys.{view}")
    if view == "ps_check_lost_instrumentation":
        lost = {name for name, value in losses(client).items() if value > 0}
        assert {row.variable_name for row in found} <= lost
    else:
        assert found


def test_overview_counts_what_is_made(client: Any) -> None:
    counts = "SELECT object_type, count FROM sys.schema_object_overview WHERE db = 'sys_overview'"
    client.execute(
        "CREATE SCHEMA sys_overview CREATE TABLE t (a int PRIMARY KEY) "
        "CREATE VIEW v AS SELECT a FROM t CREATE SEQUENCE s"
    )
    found = {row.object_type: row.count for row in rows(client, counts)}
    assert found == {"BASE TABLE": 1, "VIEW": 1, "SEQUENCE": 1, "INDEX (BTREE)": 1}
    client.execute("DROP SCHEMA sys_overview CASCADE")
    assert rows(client, counts) == []


def test_a_connection_without_encryption(client: Any) -> None:
    found = rows(client, "SELECT * FROM sys.session_ssl_status")
    assert {(row.ssl_version, row.ssl_cipher, row.ssl_sessions_reused) for row in found} == {
        ("", "", "0")
    }
    assert len(found) == one(
        client, "SELECT count(*) FROM performance_schema.threads WHERE type = 'FOREGROUND'"
    )


def test_redundant_indexes(client: Any) -> None:
    """Of each pair one is listed, and never what enforces something."""
    client.execute(
        """CREATE TABLE sys_indexed (a int PRIMARY KEY, b int, c text, d int UNIQUE);
        CREATE INDEX sys_b ON sys_indexed (b);
        CREATE INDEX sys_bc ON sys_indexed (b, c);
        CREATE INDEX sys_b_desc ON sys_indexed (b DESC);
        CREATE INDEX sys_b_some ON sys_indexed (b) WHERE a > 0;
        CREATE INDEX sys_b_hash ON sys_indexed USING hash (b);
        CREATE INDEX sys_b_with ON sys_indexed (b) INCLUDE (d);
        CREATE INDEX sys_c_pattern ON sys_indexed (c text_pattern_ops);
        CREATE INDEX sys_c ON sys_indexed (c);
        CREATE INDEX sys_c_again ON sys_indexed (c);
        CREATE UNIQUE INDEX sys_a_again ON sys_indexed (a);
        CREATE INDEX sys_d ON sys_indexed (d);
        CREATE UNIQUE INDEX sys_ab ON sys_indexed (a, b);
        CREATE INDEX sys_lower ON sys_indexed (lower(c));
        CREATE INDEX sys_lower_b ON sys_indexed (lower(c), b)"""
    )
    found = rows(
        client,
        "SELECT redundant_index_name AS one, string_agg(dominant_index_name, ' ' "
        "ORDER BY dominant_index_name) AS others FROM sys.schema_redundant_indexes "
        "WHERE table_name = 'sys_indexed' GROUP BY redundant_index_name ORDER BY 1",
    )
    assert [tuple(row) for row in found] == [
        ("sys_a_again", "sys_indexed_pkey"),
        ("sys_b", "sys_b_with sys_bc"),
        ("sys_c_again", "sys_c"),
        ("sys_d", "sys_indexed_d_key"),
        ("sys_lower", "sys_lower_b"),
    ]
    for row in rows(
        client, "SELECT DISTINCT sql_drop_index AS it FROM sys.schema_redundant_indexes"
    ):
        client.execute(row.it)
    assert rows(client, "SELECT * FROM sys.schema_redundant_indexes") == []
    client.execute("DROP TABLE sys_indexed")


def test_numbered_columns(client: Any) -> None:
    client.execute(
        """CREATE TABLE sys_numbered (
            a smallserial, b int GENERATED ALWAYS AS IDENTITY, c bigserial);
        SELECT setval('sys_numbered_a_seq', 16383)"""
    )
    sql = (
        "SELECT column_name, data_type, max_value, auto_increment, auto_increment_ratio "
        "FROM sys.schema_auto_increment_columns WHERE table_name = 'sys_numbered'"
    )
    found = {row.column_name: tuple(row)[1:] for row in rows(client, sql)}
    assert found == {
        "a": ("smallint", 32767, 16384, pytest.approx(0.5, abs=1e-4)),
        "b": ("integer", 2**31 - 1, 1, 0),
        "c": ("bigint", 2**63 - 1, 1, 0),
    }
    client.execute("DROP TABLE sys_numbered")


def test_a_user_named_as_processes_without_one(client: Any, cluster: Any) -> None:
    """He is another one than they: two rows, no sum of both."""
    client.execute("CREATE ROLE background LOGIN")
    with cluster.connect(user="background") as other:
        for number in range(7):
            other.execute(f"SELECT {number} AS sys_background")
    one_of = "SELECT count(*) FROM sys.user_summary WHERE user_name = 'background'"
    assert one(client, one_of) == 2
    assert one(client, f"{one_of} AND statements BETWEEN 7 AND 9") == 1
    client.execute("DROP ROLE background")
