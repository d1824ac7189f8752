"""python -m pfsreport [DSN] [--seconds N] [--output FILE] [--top N]

Watches a server that has the extension for some time and writes what it did as one HTML page. DSN as
psql takes it; without one the PG... variables of the environment hold. Exit code 1 and one line on
stderr when the server cannot be reached or has no extension.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import psycopg

from .page import html
from .snapshot import record

SECONDS = 60.0
TOP = 15


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="pfsreport", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("dsn", nargs="?", default="", help="the database, as psql takes it")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long to watch (%(default)g)")
    parser.add_argument("--output", type=Path, default=Path("report.html"), help="file to write (%(default)s)")
    parser.add_argument("--top", type=int, default=TOP, help="rows of each list (%(default)s)")
    options = parser.parse_args(arguments)
    if options.seconds <= 0 or options.top < 1:
        parser.error("--seconds and --top must be positive")
    try:
        recording = record(options.dsn, options.seconds, options.top, lambda line: print(line, file=sys.stderr))
    except psycopg.errors.UndefinedTable:
        return fail("this database has no extension performance_schema: CREATE EXTENSION performance_schema")
    except psycopg.Error as error:
        return fail((str(error).strip() or repr(error)).splitlines()[0])
    try:
        options.output.write_text(html(recording, options.top), encoding="utf-8")
    except OSError as error:
        return fail(str(error))
    print(options.output)
    return 0


def fail(message: str) -> int:
    """One line, and the exit code."""
    print(f"pfsreport: {message}", file=sys.stderr)
    return 1
