"""What hooks look up on their own must not show: no error of theirs, no side effect.

Each scenario is run by a plain user on a server with the library and on one without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import with_and_without
from helpers import RawClient, one, wait_until
from test_cursors import transcript

SETUP = """
CREATE USER plain;
REVOKE TEMP ON DATABASE postgres FROM PUBLIC;
CREATE SCHEMA hidden;
CREATE TABLE hidden.t (id int);
CREATE SCHEMA seen AUTHORIZATION plain;
GRANT CREATE ON DATABASE postgres TO plain;
SET ROLE plain;
CREATE TABLE seen.t (id int);
CREATE FUNCTION seen.drops_itself() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    DROP FUNCTION seen.drops_itself();
    RETURN (SELECT count(*) FROM seen.t);
END $$;
"""
SCENARIOS = {
    "no right to temporary tables": [
        "SET search_path = pg_temp, seen", "SELECT 1", "SELECT count(*) FROM t", "SHOW search_path",
        "SELECT pg_my_temp_schema()", "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pg_temp%'",
    ],
    "temporary schema in a read-only transaction": [
        "SET search_path = pg_temp, seen", "BEGIN READ ONLY", "SELECT count(*) FROM t",
        "SELECT pg_current_xact_id_if_assigned()", "COMMIT",
    ],
    "rename: the server's error comes first": [
        "BEGIN READ ONLY", "ALTER TABLE hidden.t RENAME TO u", "ROLLBACK",
        "ALTER TABLE hidden.t RENAME TO u", "ALTER TABLE other.hidden.t RENAME TO u",
        "ALTER TABLE IF EXISTS nowhere.t RENAME TO u", "ALTER TABLE nowhere.t SET SCHEMA seen",
        "ALTER TABLE seen.t RENAME TO u", "ALTER TABLE seen.u RENAME TO t",
    ],
    "function that drops itself": ["SELECT seen.drops_itself()", "SELECT seen.drops_itself()"],
    "search path without a schema": [
        "SET search_path = ''", "SELECT 1", "SET search_path = nowhere, hidden", "SELECT current_schema()",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def servers(pg_config: str) -> Iterator[tuple[Any, Any]]:
    """One with the library, one without."""
    with with_and_without(pg_config, SETUP) as servers:
        yield servers


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_same(servers: tuple[Any, Any], connect: Callable[..., Any], scenario: str) -> None:
    """The same answers and errors."""
    found, expected = (
        transcript(connect(server, user="plain", prepare_threshold=None), SCENARIOS[scenario])
        for server in servers
    )
    assert found == expected


def test_error_while_a_statement_waits(
    cluster: Any, conn: Any, connect: Callable[..., Any]
) -> None:
    """A digest is to be made anew while an error is reported, of a text that cannot be read any more."""
    other = connect(cluster)
    wanted = "nowhere_" + "y" * 2000
    with RawClient(cluster) as raw:
        raw.query("SET standard_conforming_strings = off; SET escape_string_warning = off")
        other.execute("SELECT pg_advisory_lock(9)")
        raw.parse(
            "SELECT 'it\\'s', set_config('standard_conforming_strings', 'on', false), "
            "pg_advisory_lock_shared(9)"
        ).bind().execute()
        raw.parse(f"SELECT 1 FROM {wanted}").add("S").send()
        waits = f"SELECT count(*) FROM pg_locks WHERE pid = {raw.pid} AND NOT granted"
        wait_until(lambda: one(conn, waits), "the statement waits")
        conn.execute("TRUNCATE performance_schema.events_statements_summary_by_digest")
        other.execute("SELECT pg_advisory_unlock(9)")
        errors = [body for kind, body in raw.read_until("Z") if kind == "E"]
        assert len(errors) == 1 and b'relation "nowhere_yyy' in errors[0], errors
        raw.query("SET statement_timeout = 100")
        answers = raw.query("SELECT pg_sleep(2)")
        assert [body for kind, body in answers if kind == "E"], "interrupts are still looked at"
