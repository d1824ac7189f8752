"""Ways around the privileges, and what a grant opens: views, roles, foreign tables, functions.

Companion of test_privileges.py. The secret is an alias in statements of one user: it appears in
texts, digest texts and samples alike, so "is the word anywhere in what this role can read" is asked
of every table and view at once. Names of tables would not do: those are no secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from helpers import one, read_to_end, rows, tables, thread_of, wait_for_state
from psycopg import errors

SECRET = "secret_of_owner"
PATTERN = SECRET[:-1] + "[r]"  # finds the secret, but is none itself: readers are recorded too
ROLES = ("rights_plain", "rights_owner", "rights_member", "rights_noinherit")
PUBLIC_FUNCTIONS = {
    "conninfo_value",
    "object_name",
    "persisted_settings",
    "ps_current_thread_id",
    "ps_thread_id",
    "shown_text",
    "subscription_sources",
    "user_settings",
    "performance_schema_fdw_handler",
    "performance_schema_fdw_validator",
}
LOCK = 4711


@pytest.fixture(scope="module")
def roles(cluster: Any) -> Iterator[None]:
    with cluster.connect() as admin:
        for role in ROLES:
            admin.execute(f"CREATE ROLE {role} LOGIN")
        admin.execute("ALTER ROLE rights_noinherit NOINHERIT")
        admin.execute("GRANT pg_read_all_stats TO rights_member, rights_noinherit")
        admin.execute("CREATE TABLE rights_table AS SELECT 1 AS i")
        admin.execute("GRANT SELECT ON rights_table TO rights_owner")
        yield
        admin.execute("DROP TABLE rights_table")
        for role in ROLES:
            admin.execute(f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")


@pytest.fixture
def owner(cluster: Any, conn: Any, connect: Any, roles: None) -> Iterator[Any]:
    """A session with a secret in its last statements and in the one that it is executing."""
    session = connect(cluster, user="rights_owner")
    session.execute(f"SELECT i AS {SECRET} FROM rights_table")
    wait = f"SELECT pg_advisory_lock({LOCK}) AS {SECRET} FROM rights_table"
    for last in (False, True):  # a wait that has ended, and one that lasts
        conn.execute(f"SELECT pg_advisory_lock({LOCK})")
        session.pgconn.send_query(wait.encode())
        wait_for_state(conn, session.info.backend_pid, "wait_event_type = 'Lock'")
        if not last:
            conn.execute(f"SELECT pg_advisory_unlock({LOCK})")
            read_to_end(session)
            session.execute(f"SELECT pg_advisory_unlock({LOCK}) AS {SECRET}")
    yield session
    conn.execute(f"SELECT pg_advisory_unlock({LOCK})")


@pytest.fixture
def plain(cluster: Any, connect: Any, roles: None) -> Any:
    return connect(cluster, user="rights_plain")


def leaks(reader: Any) -> set[str]:
    """The tables and views in which a role can read the secret.

    Without those of the slowest statements: which ones they show changes with each statement.
    """
    views = rows(
        reader,
        "SELECT viewname FROM pg_views WHERE schemaname = 'sys' AND viewname !~ '95th_percentile'",
    )
    names = [f"performance_schema.{table.name}" for table in tables()]
    names += [f'sys."{row.viewname}"' for row in views]
    return {
        name
        for name in names
        if one(reader, f"SELECT count(*) FROM {name} t WHERE t::text ~ %s", PATTERN)
    }


def refused(session: Any, sql: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute(sql)


# --- seeing ------------------------------------------------------------------------------------


def test_members_see_what_the_superuser_sees(
    cluster: Any, conn: Any, owner: Any, connect: Any
) -> None:
    """In every table and view with texts, the running statement's included."""
    found = leaks(conn)
    assert found >= {
        "performance_schema.threads",
        "performance_schema.events_statements_current",
        "performance_schema.events_statements_history",
        "performance_schema.events_statements_summary_by_digest",
        "performance_schema.events_waits_summary_by_digest",
        "performance_schema.lock_waits_history_long",
        'sys."statement_analysis"',
        'sys."x$statement_analysis"',
        'sys."x$statement_time_model"',
        'sys."x$lock_tree"',
    }
    assert leaks(connect(cluster, user="rights_member")) == found


def test_plain_user_sees_it_nowhere(owner: Any, plain: Any) -> None:
    assert leaks(plain) == set()


def test_sys_views_run_as_their_caller(conn: Any) -> None:
    found = rows(
        conn,
        "SELECT relname FROM pg_class "
        "WHERE relkind = 'v' AND relnamespace = 'sys'::regnamespace "
        "AND coalesce(NOT 'security_invoker=true' = ANY (reloptions), true)",
    )
    assert found == []


def test_membership_without_inheritance_waits_for_set_role(
    cluster: Any, owner: Any, connect: Any
) -> None:
    reader = connect(cluster, user="rights_noinherit")
    assert leaks(reader) == set()
    reader.execute("SET ROLE pg_read_all_stats")
    assert leaks(reader) != set()


def test_superuser_loses_sight_by_set_role(conn: Any, owner: Any) -> None:
    with conn.transaction():
        conn.execute("SET LOCAL ROLE rights_plain")
        assert leaks(conn) == set()


def test_guessing_a_private_value_finds_nothing(conn: Any, owner: Any, plain: Any) -> None:
    """Equality is handed down to the scan: not for what its reader may not see."""
    for table in tables():
        for column in table.columns:
            if "private" not in column.flags:
                continue
            values = (
                f"SELECT DISTINCT {column.name} FROM performance_schema.{table.name} "
                f"WHERE {column.name} IS NOT NULL"
            )
            guess = f"SELECT count(*) FROM performance_schema.{table.name} WHERE {column.name} = %s"
            for (value,) in rows(conn, values):
                assert one(plain, guess, value) == 0


# --- changing ----------------------------------------------------------------------------------


def test_functions_that_the_public_may_call(conn: Any, roles: None) -> None:
    allowed = rows(
        conn,
        "SELECT proname FROM pg_proc WHERE pronamespace = 'performance_schema'::regnamespace "
        "AND has_function_privilege('rights_member', oid, 'EXECUTE')",
    )
    assert {row.proname for row in allowed} == PUBLIC_FUNCTIONS


def test_no_schema_is_open_to_new_objects(conn: Any, roles: None) -> None:
    """An object of a plain user in our schemas could be taken for one of ours."""
    for schema in ("performance_schema", "sys"):
        assert one(conn, "SELECT has_schema_privilege('rights_plain', %s, 'USAGE')", schema)
        assert not one(conn, "SELECT has_schema_privilege('rights_plain', %s, 'CREATE')", schema)


def test_foreign_tables_of_ones_own_need_a_grant(plain: Any) -> None:
    """The owner of a foreign table may change it: nobody may make one over our server."""
    refused(
        plain,
        "CREATE FOREIGN TABLE pg_temp.mine (name text, enabled text) "
        "SERVER performance_schema OPTIONS (table_name 'setup_consumers')",
    )
    refused(plain, "CREATE SERVER mine FOREIGN DATA WRAPPER performance_schema")


def test_granted_update_reaches_visible_rows_only(conn: Any, owner: Any, plain: Any) -> None:
    """UPDATE of threads by one who sees its own sessions changes no other session."""
    conn.execute("GRANT UPDATE ON performance_schema.threads TO rights_plain")
    plain.execute("UPDATE performance_schema.threads SET history = 'NO'")
    off = rows(conn, "SELECT thread_id FROM performance_schema.threads WHERE history = 'NO'")
    assert {row.thread_id for row in off} == {thread_of(conn, plain)}
    conn.execute("REVOKE UPDATE ON performance_schema.threads FROM rights_plain")
    refused(plain, "UPDATE performance_schema.threads SET history = 'NO'")


def test_granted_set_thread_reaches_every_session(conn: Any, owner: Any, plain: Any) -> None:
    """The function is the way to let somebody switch other sessions without showing them."""
    signature = "performance_schema.set_thread(bigint, boolean, boolean)"
    thread = thread_of(conn, owner)
    conn.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO rights_plain")
    plain.execute("SELECT performance_schema.set_thread(%s, false)", (thread,))
    state = "SELECT instrumented FROM performance_schema.threads WHERE thread_id = %s"
    assert one(conn, state, thread) == "NO"
    conn.execute(f"REVOKE EXECUTE ON FUNCTION {signature} FROM rights_plain")
    refused(plain, f"SELECT performance_schema.set_thread({thread}, true)")


@pytest.mark.parametrize(
    ("signature", "call"),
    [
        ("set_consumers(text, boolean)", "set_consumers('global_instrumentation', true)"),
        ("set_consumers(text, text)", "set_consumers('global_instrumentation', 'YES')"),
        ("set_instruments(text, text, text)", "set_instruments('statement/%', 'YES')"),
        ("set_thread_classes(text, boolean, boolean)", "set_thread_classes('%', true)"),
        ("set_actor(text, text, text, text)", "set_actor('%', '%', 'YES')"),
        ("drop_actor(text, text)", "drop_actor('nobody', 'nowhere')"),
        ("drop_object(text, text, text)", "drop_object('TABLE', 'no', 'such')"),
        ("reset(text)", "reset('events_transactions_history_long')"),
    ],
)
def test_each_function_is_granted_by_itself(
    conn: Any, plain: Any, signature: str, call: str
) -> None:
    refused(plain, f"SELECT performance_schema.{call}")
    conn.execute(f"GRANT EXECUTE ON FUNCTION performance_schema.{signature} TO rights_plain")
    plain.execute(f"SELECT performance_schema.{call}")
    conn.execute(f"REVOKE EXECUTE ON FUNCTION performance_schema.{signature} FROM rights_plain")
    refused(plain, f"SELECT performance_schema.{call}")
