"""Which module makes which kind of server."""

from __future__ import annotations

import importlib

from .model import BenchError, ServerSpec
from .server import Server

KINDS = {
    "postgresql": ("postgres", "PostgresServer"),
    "mariadb": ("mysql", "MariadbServer"),
    "mysql56": ("mysql", "Mysql56Server"),
}
"""kind -> (module, class); the class is called with (spec, name). Imported only when wanted."""


def make_server(spec: ServerSpec, name: str) -> Server:
    """A server of this kind, not started; BenchError for an unknown one."""
    if spec.kind not in KINDS:
        raise BenchError(f"no server of kind {spec.kind!r}; there are: {', '.join(KINDS)}")
    module, factory = KINDS[spec.kind]
    try:
        made = getattr(importlib.import_module(f".{module}", __package__), factory)
    except ImportError as error:
        raise BenchError(f"cannot use servers of kind {spec.kind}: {error}") from None
    server: Server = made(spec, name)
    return server


def check_server(spec: ServerSpec) -> None:
    """BenchError that says what to install when this server cannot be made here (module.check)."""
    module, _ = KINDS[spec.kind]
    check = getattr(importlib.import_module(f".{module}", __package__), "check", None)
    if check:
        check(spec)
