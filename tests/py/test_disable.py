"""`make DISABLE="..."`: event classes left out at build time leave nothing behind and harm nothing.

A copy of the sources is built into a folder of its own, the server preloads that library by its
path, and the extension script is run as plain SQL with that path in it: the installed library,
which CREATE EXTENSION would name, is neither used nor changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import close_cluster, open_cluster
from helpers import ROOT, losses, one, rows, status, tables
from psycopg import errors

SOURCES = ("Makefile", "dev.mk", "performance_schema.control", "scripts", "sql", "src")
OBJECTS = shutil.ignore_patterns("*.o", "*.d", "*.bc", "__pycache__")
CLASSES = {
    "statement": "statements",
    "transaction": "transactions",
    "error": "errors",
    "wait": "waits",
}
"""Event classes as DISABLE names them, and the word in the names of their tables."""
FIRST_WORDS = {"wait": {"wait", "idle"}}
"""Of the names of a class's instruments, where it is not the class alone."""
WAIT_TABLES = re.compile("(file|socket|table|objects|lock_waits)_")
"""What only waits fill, of tables that are not called events_waits_*."""
pytestmark = pytest.mark.timeout(300)  # the first test of a server compiles


def build(folder: Path, pg_config: str, disable: str) -> Path:
    """Copies and compiles the sources; returns the library, readable for the server's user."""
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=OBJECTS)
        else:
            shutil.copy(ROOT / name, folder / name)
    command = ["make", "-s", f"-j{os.cpu_count() or 1}", f"PG_CONFIG={pg_config}",
               f"DISABLE={disable}", "COPT=-O0"]  # fmt: skip
    env = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "warning" not in made.stderr, made.stderr
    return folder / "performance_schema.so"


def extension_sql(library: Path) -> str:
    """The extension script for psql, which needs what CREATE EXTENSION does: a schema, a transaction."""
    script = (ROOT / "sql" / "performance_schema--1.0.sql").read_text()
    only_there = ("\\echo", "SELECT pg_extension_config_dump(")
    lines = [line for line in script.splitlines() if not line.startswith(only_there)]
    return "\n".join(["BEGIN; CREATE SCHEMA performance_schema;", *lines, "COMMIT;"]).replace(
        "MODULE_PATHNAME", str(library)
    )


@pytest.fixture(scope="module", params=["statement transaction error wait", "statement", "wait"])
def reduced(request: Any, pg_config: str, tmp_path_factory: Any) -> Iterator[tuple[Any, set[str]]]:
    """A server without some classes, and the classes it has."""
    disable = request.param
    folder = tmp_path_factory.mktemp("disable")
    library = build(folder, pg_config, disable)
    # pytest's folders are closed to the server's user: the library goes to the server's own
    server = open_cluster(pg_config, extension=False, preload=False)
    own = server.base / library.name
    shutil.copy(library, own)
    own.chmod(0o755)
    server.configure(shared_preload_libraries=str(own))
    server.restart()
    script = folder / "extension.sql"
    script.write_text(extension_sql(own))
    server.psql(file=script)
    yield server, set(CLASSES) - set(disable.split())
    close_cluster(server)


def load(conn: Any) -> None:
    """Something of everything, failures included."""
    conn.execute("CREATE TABLE IF NOT EXISTS t (i integer)")
    with conn.transaction():
        conn.execute("INSERT INTO t SELECT generate_series(1, 100)")
        conn.execute("SAVEPOINT s")
        conn.execute("UPDATE t SET i = i + 1")
        conn.execute("ROLLBACK TO s")
    conn.execute("DO $$ BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN NULL; END $$")
    for bad in ("SELECT 1 / 0", "no such command", "SELECT no_such_column"):
        with pytest.raises((errors.DivisionByZero, errors.SyntaxError, errors.UndefinedColumn)):
            conn.execute(bad)
    with conn.pipeline():
        for i in range(20):
            conn.execute("SELECT count(*) FROM t WHERE i > %s", (i,), prepare=True)
    with conn.cursor().copy("COPY t TO STDOUT") as copy:
        assert sum(1 for _ in copy) >= 100
    conn.execute("TRUNCATE t")


@pytest.fixture
def reduced_conn(reduced: tuple[Any, set[str]], connect: Callable[..., Any]) -> Any:
    conn = connect(reduced[0])
    conn.execute("SELECT performance_schema.set_consumers('%', true)")
    return conn


def test_only_built_classes_have_instruments(
    reduced: tuple[Any, set[str]], reduced_conn: Any
) -> None:
    found = rows(
        reduced_conn,
        "SELECT DISTINCT split_part(name, '/', 1) FROM performance_schema.setup_instruments",
    )
    wanted = set().union(*(FIRST_WORDS.get(name, {name}) for name in reduced[1]))
    assert {name for (name,) in found} == wanted


def recorded(conn: Any, table: str) -> bool:
    """Is there an event, or a summary that counts something?"""
    for row in rows(conn, f"SELECT * FROM performance_schema.{table}"):
        sums = [
            value
            for name, value in row._asdict().items()
            if re.match(r"count_|sum_error_raised", name)
        ]
        if any(sums) or not sums:
            return True
    return False


def test_only_built_classes_are_recorded(reduced: tuple[Any, set[str]], reduced_conn: Any) -> None:
    """Every event table and summary of a class is empty exactly if the class was left out."""
    if reduced[1]:  # a pattern that matches nothing is an error
        reduced_conn.execute("SELECT performance_schema.set_instruments('%', true, true)")
    load(reduced_conn)
    words = {CLASSES[name] for name in reduced[1]}
    for table in tables():
        if table.name == "events_waits_summary_by_digest":  # of both classes
            assert recorded(reduced_conn, table.name) == (words >= {"statements", "waits"})
        elif table.name.startswith("events_"):
            word = table.name.split("_")[1]
            assert recorded(reduced_conn, table.name) == (word in words), table.name


def test_waits_left_out_patch_nothing(reduced: tuple[Any, set[str]], reduced_conn: Any) -> None:
    """No import slot of the server is changed, no sampler runs, files and tables have no rows."""
    built = "wait" in reduced[1]
    load(reduced_conn)
    patched = "SELECT count(*) FROM performance_schema.interposed_calls WHERE patched = 'YES'"
    assert (one(reduced_conn, patched) > 0) == built
    sampler = "SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ 'performance_schema'"
    assert one(reduced_conn, sampler) == 0
    for table in tables():
        if not WAIT_TABLES.match(table.name):
            continue
        if not built:
            assert rows(reduced_conn, f"SELECT * FROM performance_schema.{table.name}") == []
        elif table.name.startswith(("file_", "socket_")):
            assert recorded(reduced_conn, table.name), table.name


def test_nothing_else_changes(reduced: tuple[Any, set[str]], reduced_conn: Any) -> None:
    """Setup tables, resets and switches work, nothing is counted as lost, no process dies."""
    load(reduced_conn)
    for table in tables():
        rows(reduced_conn, f"SELECT * FROM performance_schema.{table.name}")
        if "TRUNCATE" in table.rights and not table.name.startswith("setup_"):
            reduced_conn.execute(f"TRUNCATE performance_schema.{table.name}")
    switched = "SELECT performance_schema.set_consumers('%', true)"
    assert one(reduced_conn, switched) == one(
        reduced_conn, "SELECT count(*) FROM performance_schema.setup_consumers"
    )
    load(reduced_conn)
    assert losses(reduced_conn) == {}
    assert status(reduced_conn)["threads_attached"] > 0
