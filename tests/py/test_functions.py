"""Every function of the extension by a fast-path call (protocol message F), with any argument.

Such a call has no expression, so a function cannot ask for its arguments' types; and it checks
nothing but their number. The matrix comes from pg_proc: a new function is in it by itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from conftest import close_cluster, open_cluster
from helpers import RawClient, one, rows

USERS = ("postgres", "caller")
OF_EXTENSION = (
    "FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid "
    "AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass "
    "JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'performance_schema'"
)
FUNCTIONS = (
    "SELECT p.oid, p.oid::regprocedure::text AS name, p.proisstrict AS strict, "
    "ARRAY(SELECT t::regtype::text FROM unnest(p.proargtypes) AS t) AS types "
    f"{OF_EXTENSION} ORDER BY 2"
)
HOSTILE: dict[str, tuple[str, ...]] = {
    "text": (
        "",
        "%",
        "YES",
        "no",
        "statement/%",
        "%\\",
        "\\",
        "-1",
        "x" * 100_000,
        "ä%_€" * 999,
    ),
    "boolean": ("t", "f", "", "maybe"),
    "integer": ("0", "1", "-1", str(2**31 - 1), str(2**31), "", "x"),
    "double precision": ("0", "1", "-1", "1e300", "NaN", "Infinity", "", "x"),
    "jsonb": ("[]", "{}", "null", '{"threads": 1}', '{"setup_actors": [{}, 1]}', "", "{"),
    "bigint": ("0", "1", "-1", str(2**63 - 1), str(-(2**63)), str(2**63), "", "x"),
    "numeric": ("0", "-1", "1" + "0" * 2000, "-1e1000", "1e-1000", "NaN", "Infinity", "", "x"),
    "oid": ("0", "3118", "4294967295", "-1", "", "x"),
    "text[]": (
        "{}",
        "",
        "{NULL}",
        '{""}',
        "{table_name}",
        "{=}",
        "{table_name=}",
        "{table_name=threads}",
        "{{a=b,c=d},{e,f}}",
        "{" + "x" * 50_000 + "}",
    ),
}
"""Values for the argument types of our functions: what means something, and what should not."""


class Function(NamedTuple):
    """One line of pg_proc."""

    oid: int
    name: str
    strict: bool
    types: list[str]


def argument_lists(types: list[str]) -> Iterator[tuple[str | None, ...]]:
    """All NULL; each value of a type in all its places; NULL in one place, plausible elsewhere."""
    plausible = [HOSTILE[name][1] for name in types]
    yield (None,) * len(types)
    yield tuple(plausible)
    for place in range(len(types)):
        yield tuple(None if i == place else plausible[i] for i in range(len(types)))
        for value in HOSTILE[types[place]]:
            yield tuple(value if i == place else plausible[i] for i in range(len(types)))
    for number in range(max((len(HOSTILE[name]) for name in types), default=0)):
        yield tuple(HOSTILE[name][number % len(HOSTILE[name])] for name in types)


@pytest.fixture(scope="module")
def server(pg_config: str) -> Iterator[Any]:
    """A server whose settings may be ruined."""
    server = open_cluster(pg_config, extension=True, preload=True)
    server.psql("CREATE ROLE caller LOGIN")
    yield server
    close_cluster(server)


def functions(server: Any) -> list[Function]:
    with server.connect() as conn:
        return [Function(*row) for row in rows(conn, FUNCTIONS)]


def answers(client: RawClient, function: Function, values: tuple[str | None, ...]) -> str:
    """What came back: V (a result) or E, and the session goes on."""
    got = client.call_function(function.oid, *values)
    kinds = [kind for kind, _ in got if kind not in "NS"]
    assert kinds in (["V", "Z"], ["E", "Z"]), (function, values)
    assert got[-1][1] == b"I"
    return kinds[0]


def call_all(server: Any, user: str) -> set[str]:
    """Calls everything with anything; the functions that gave a result to something."""
    worked = set()
    with RawClient(server, user=user) as client:
        for function in functions(server):
            for values in argument_lists(function.types):
                if answers(client, function, values) == "V":
                    worked.add(function.name.split("(")[0].split(".")[-1])
            for values in ((), ("1",) * (len(function.types) + 1)):
                if len(values) != len(function.types):
                    assert answers(client, function, values) == "E"
        assert client.query("SELECT 1")[-1][0] == "Z"
    return worked


@pytest.mark.parametrize("user", USERS)
def test_any_argument(server: Any, user: str) -> None:
    """Whatever the arguments, the answer is a result or an error, and no process dies."""
    worked = call_all(server, user)
    assert worked >= {"ps_thread_id", "ps_current_thread_id", "format_time", "format_bytes"}
    assert ("set_instruments" in worked) == (user == "postgres")


@pytest.mark.parametrize("settings", [{"preload": False}, {"performance_schema__enabled": False}])
def test_nothing_recorded(new_cluster: Callable[..., Any], settings: dict[str, Any]) -> None:
    """The same without the library in shared_preload_libraries, and with nothing in memory."""
    assert call_all(new_cluster(**settings), "postgres") >= {"format_time", "format_bytes"}


def test_null_of_strict_functions(server: Any) -> None:
    """The server answers NULL for a strict function without calling it."""
    with RawClient(server) as client:
        for function in functions(server):
            if not function.strict or not function.types:
                continue
            answer = dict(client.call_function(function.oid, *(None,) * len(function.types)))
            assert answer["V"] == struct.pack("!i", -1), function


def test_switches_by_both_types(server: Any) -> None:
    """A fast-path call of either variant switches what it says."""
    state = "SELECT enabled FROM performance_schema.setup_instruments WHERE name = 'idle'"
    found = {f.name.split("(")[1]: f for f in functions(server) if ".set_instruments(" in f.name}
    with RawClient(server) as client, server.connect() as conn:
        switches = (("text,text,text)", "NO", "yes"), ("text,boolean,boolean)", "f", "t"))
        for types, off, on in switches:
            for switch, expected in ((off, "NO"), (on, "YES"), (None, "YES")):
                answers(client, found[types], ("idle", switch, None))
                assert one(conn, state) == expected, (types, switch)


def test_one_symbol_one_signature(conn: Any) -> None:
    """No C function has to guess the types of its arguments."""
    shared = rows(
        conn,
        f"SELECT p.prosrc, count(*) {OF_EXTENSION} JOIN pg_language AS l ON l.oid = p.prolang "
        "WHERE l.lanname = 'c' GROUP BY p.prosrc HAVING count(*) > 1",
    )
    assert shared == []
