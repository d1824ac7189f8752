"""The guard on the real path, without a server: what it reads and compares, when commands come."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import backend_bench
import backend_ceilings
import patient_proxy
from backend_ceilings import Musts, Verdict, judge
from callgrind import BenchError, Costs, Profile, need_programs, total

# --- what callgrind writes --------------------------------------------------------------------

CALLGRIND = """# callgrind format
version: 1
cmd:  /opt/postgres -D data
positions: line
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
summary: 48 9 4 5 3 3

ob=(1) /opt/lib/performance_schema.so
fl=(1) src/core/statement.c
fn=(1) close
16 10 2 1 1 1 1 1 1 1
+3 5
cob=(2) /opt/a path/postgres
cfi=(2) ipc.c
cfn=(2) attach
calls=1 50
* 23 5 3 3 2
-2 3
ob=(2)
fl=(2)
fn=(2)
50 20 5 3 3 1 2
cob=(1)
cfn=(1)
calls=7 16
50 1000 1000
fi=(3) ???
52 3
ob=(3) ???
fn=(3) 0x4000
0 7 2 0 1 1
totals: 48 9 4 5 3 3
"""


def test_costs_are_those_of_the_code_itself() -> None:
    costs = Profile(CALLGRIND.splitlines(keepends=True)).objects()
    assert costs == {
        "/opt/lib/performance_schema.so": Costs(18, 1, 2),
        "/opt/a path/postgres": Costs(23, 3, 3),
        "???": Costs(7, 1, 1),
    }
    assert total(costs.values()) == Costs(48, 5, 6)


def test_costs_of_calls_hold_what_is_called() -> None:
    profile = Profile(CALLGRIND.splitlines(keepends=True))
    assert profile.calls("attach") == Costs(23, 3, 2)
    assert profile.calls("close") == Costs(1000, 0, 0)
    assert profile.calls("nothing") == Costs(0, 0, 0)


def test_costs_without_caches_are_instructions() -> None:
    lines = ["events: Ir\n", "ob=(1) /bin/true\n", "fn=(1) main\n", "3 40\n", "+1 2\n"]
    assert Profile(lines).objects() == {"/bin/true": Costs(42, 0, 0)}


def test_costs_per_statement() -> None:
    difference = Costs(1000, 50, 10).plus(Costs(100, 5, 1), -1)
    assert difference == Costs(900, 45, 9)
    assert difference.over(7) == Costs(128.6, 6.4, 1.3)


def test_a_missing_program_is_named() -> None:
    with pytest.raises(BenchError, match="no-such-program is not installed"):
        need_programs("sh", "no-such-program")


# --- ceilings and musts -----------------------------------------------------------------------

CEILING = Costs(1000, 50, 20)
LIMITS = {"rw default": {"own": {"instructions": 900, "misses": 70}}}


def verdict(
    measured: Costs | None = CEILING, ceiling: Costs | None = CEILING, enforced: bool = False,
    kind: str = "own",
) -> Verdict:  # fmt: skip
    """The verdict on the only figure."""
    figures, ceilings = ({"rw default": {kind: c}} if c else {} for c in (measured, ceiling))
    verdicts = judge(figures, ceilings, Musts(enforced, LIMITS))
    return next(one for one in verdicts if one.kind == kind)


@pytest.mark.parametrize(
    ("measured", "above"),
    [
        (Costs(1030, 52, 22), []),
        (Costs(10, 5, 2), []),
        (Costs(1030.1, 50, 20), ["instructions"]),
        (Costs(1000, 52.1, 20), ["i1"]),
        (Costs(1000, 50, 22.1), ["d1"]),
        (Costs(2000, 100, 40), ["instructions", "i1", "d1"]),
    ],
)
def test_above_a_ceiling(measured: Costs, above: list[str]) -> None:
    found = verdict(measured)
    assert (found.above, found.word) == (above, "ABOVE" if above else "ok")


def test_many_misses_have_a_share() -> None:
    ceiling = Costs(1000, 200, 200)
    assert verdict(Costs(1000, 206, 206), ceiling).above == []
    assert verdict(Costs(1000, 206.1, 206.1), ceiling).above == ["i1", "d1"]


def test_small_totals_have_a_slack() -> None:
    ceiling = Costs(60, 1, 1)
    assert verdict(Costs(62, 1, 1), ceiling).word == "ABOVE"
    assert verdict(Costs(70, 1, 1), ceiling, kind="total").word == "ok"
    assert verdict(Costs(70.1, 1, 1), ceiling, kind="total").word == "ABOVE"
    below_zero = Costs(-105, -9, -9)
    assert verdict(Costs(-95, -7, -7), below_zero, kind="total").word == "ok"
    assert verdict(Costs(-94, -7, -7), below_zero, kind="total").word == "ABOVE"


def test_every_figure_wants_a_ceiling_and_every_ceiling_a_figure() -> None:
    assert verdict(ceiling=None).word == "NEW"
    assert verdict(measured=None).word == "GONE"


def test_ceilings_above_their_must_fail_only_once_that_is_enforced() -> None:
    assert verdict().above_must == ["instructions"]
    assert (verdict().word, verdict(enforced=True).word) == ("ok", "MUST")
    assert verdict().line().endswith("instructions 900, misses 70: above must")
    low = Costs(900, 50, 20)
    assert (verdict(low, low, True).above_must, verdict(low, low, True).word) == ([], "ok")
    split = Costs(900, 60, 10.1)  # the must is on their sum
    assert verdict(split, split, True).above_must == ["misses"]


def test_ceilings_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "ceilings.json"
    assert backend_ceilings.read_ceilings(path) == ({}, {})
    measured = {row: {"own": CEILING, "total": Costs(1.5, 0, -2)} for row in ("a b", "a c")}
    facts = {"compiler": "gcc 12", "without": {"a": CEILING}}
    backend_ceilings.write_ceilings(path, facts, measured)
    read_facts, read = backend_ceilings.read_ceilings(path)
    assert read == measured
    assert read_facts == json.loads(json.dumps(facts))
    assert len([line for line in path.read_text().splitlines() if '"a b"' in line]) == 1


def test_another_place_is_told() -> None:
    then = {"compiler": "gcc 12", "libc": "2.36", "without": {"a": [1000, 1, 1], "b": [9, 0, 0]}}
    now = {"compiler": "gcc 13", "libc": "2.36", "without": {"a": [1011, 1, 1]}}
    assert backend_ceilings.moved(now, then) == [
        "compiler: gcc 13, with the ceilings gcc 12",
        "a without the library: 1011 instructions, then 1000",
    ]
    assert backend_ceilings.moved(then, then) == backend_ceilings.moved(now, {}) == []


# --- what is counted --------------------------------------------------------------------------


def test_the_committed_files_name_what_is_counted() -> None:
    states = backend_bench.states()
    rows = {f"{load.name} {state}" for load in backend_bench.LOADS for state in states}
    _, ceilings = backend_ceilings.read_ceilings(backend_bench.CEILINGS)
    musts = backend_ceilings.read_musts(backend_bench.MUSTS)
    assert set(ceilings) == rows
    assert set(musts.limits) <= rows
    for kinds in musts.limits.values():
        for limits in kinds.values():
            assert set(limits) <= {*Costs._fields, "misses"}


def test_everything_is_all_consumers_but_cpu_time() -> None:
    settings = backend_bench.states()["everything"]
    off = [name for name, value in settings.items() if value is False]
    assert off == ["performance_schema.consumer_events_statements_cpu"]
    assert settings["performance_schema.consumer_events_waits_history_long"] is True


def test_totals_are_differences_to_the_server_without() -> None:
    found = {
        state: {
            load.name: {"own": CEILING, "whole": Costs(whole, 9, 9)} for load in backend_bench.LOADS
        }
        for state, whole in {"without": 500, "off": 501, "default": 502, "everything": 503}.items()
    }
    rows = backend_bench.rows(found)
    assert rows["nested off"] == {"own": CEILING, "total": Costs(1, 0, 0)}
    assert rows["nested everything"]["total"] == Costs(3, 0, 0)


@pytest.mark.parametrize(
    ("version", "installed", "message"),
    [
        ("PostgreSQL 15.14 (Debian 15.14-0+deb12u1)", True, "statements are counted on 18 only"),
        ("PostgreSQL 180.1", True, "on 18 only"),
        ("PostgreSQL 18.6", False, r"performance_schema.so is missing: make PG_CONFIG=.* install"),
        ("PostgreSQL 18beta1", True, None),
        ("PostgreSQL 18.6", True, None),
    ],
)
def test_other_servers_are_refused(
    tmp_path: Path, version: str, installed: bool, message: str | None
) -> None:
    pg_config = tmp_path / "pg_config"
    pg_config.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo '{version}' || echo {tmp_path}\n")
    pg_config.chmod(0o755)
    if installed:
        (tmp_path / "performance_schema.so").touch()
    with pytest.raises(BenchError, match=message) if message else nullcontext():
        backend_bench.need_server(str(pg_config))


def test_the_last_line_is_what_ci_adds_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ceilings above their must are counted, and are no failures."""
    _, ceilings = backend_ceilings.read_ceilings(backend_bench.CEILINGS)
    musts = Musts(False, {"nested off": {"own": {"instructions": 0}, "total": {"d1": 10**6}}})
    monkeypatch.setattr(sys, "argv", ["backend_bench.py", "--pg-config", "none", "--check"])
    monkeypatch.setattr(backend_bench, "need_programs", lambda *_: None)
    monkeypatch.setattr(backend_bench, "need_server", lambda _: None)
    monkeypatch.setattr(backend_bench, "measure", lambda _: {})
    monkeypatch.setattr(backend_bench, "facts", lambda *_: {"without": {}})
    monkeypatch.setattr(backend_bench, "moved", lambda *_: [])
    monkeypatch.setattr(backend_bench, "rows", lambda _: ceilings)
    monkeypatch.setattr(backend_bench, "read_musts", lambda _: musts)
    assert backend_bench.main() == 0
    *table, last = capsys.readouterr().out.splitlines()
    assert [line.split()[1:4] for line in table if line.endswith(": above must")] == [
        ["nested", "off", "own"]
    ]
    assert last == f"{2 * len(ceilings)} passed, 0 failed, 1 above must"
    ci = (backend_bench.ROOT / ".ci" / "run").read_text()
    [pattern] = re.findall(r"grep -E '(\^.*passed.*)' ", ci)
    assert re.search(pattern, last)


# --- the proxy --------------------------------------------------------------------------------


def greeting(pid: int) -> bytes:
    """What a server says first: welcome, a setting, BackendKeyData with a long key, ready."""
    return (
        b"R" + struct.pack("!II", 8, 0)
        + b"S" + struct.pack("!I", 4 + len(b"K\0K\0")) + b"K\0K\0"
        + b"K" + struct.pack("!II", 40, pid) + b"K" * 32
        + b"Z" + struct.pack("!I", 5) + b"I"
    )  # fmt: skip


def test_the_backend_is_found_as_soon_as_it_is_named() -> None:
    whole = greeting(4711)
    found = [patient_proxy.backend_pid(whole[:length]) for length in range(len(whole) + 1)]
    first = found.index(4711)
    assert found == [None] * first + [4711] * (len(whole) + 1 - first)


class Backend:
    """A server of one process at a time, whose state the test sets; it repeats what it is sent."""

    def __init__(self, folder: Path, port: int) -> None:
        self.state = "S"
        self.asked = threading.Event()
        folder.mkdir()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / f".s.PGSQL.{port}"))
        self.listener.listen()
        self.sessions = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def state_of(self, pid: int) -> str:
        self.asked.set()
        return self.state

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                self.sessions += 1
                client.recv(1000)
                client.sendall(greeting(100 + self.sessions))
                while data := client.recv(1000):
                    client.sendall(data)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a name short enough for sockets."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def backend(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    server = Backend(folder / "server", 1)
    monkeypatch.setattr(patient_proxy, "state_of", server.state_of)
    yield server
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()


@pytest.fixture
def proxy(folder: Path, backend: Backend) -> Iterator[patient_proxy.PatientProxy]:
    made = patient_proxy.PatientProxy(folder / "proxy", folder / "server", 1)
    yield made
    made.close()


@pytest.fixture
def connect(folder: Path) -> Iterator[Callable[[], socket.socket]]:
    """Makes clients that have been greeted."""
    made: list[socket.socket] = []

    def client() -> socket.socket:
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].settimeout(20)
        made[-1].connect(str(folder / "proxy" / ".s.PGSQL.1"))
        made[-1].sendall(b"hello")
        said = b""
        while not said.endswith(b"I"):
            said += made[-1].recv(1000)
        return made[-1]

    yield client
    for one in made:
        one.close()


def test_a_command_waits_for_a_backend_that_sleeps(
    backend: Backend, proxy: patient_proxy.PatientProxy, connect: Callable[[], socket.socket]
) -> None:
    client = connect()
    backend.state = "R"
    backend.asked.clear()
    client.sendall(b"command")
    assert backend.asked.wait(20)
    backend.asked.clear()
    assert backend.asked.wait(20)  # asked again: it was not passed on
    client.setblocking(False)
    with pytest.raises(BlockingIOError):
        client.recv(1000)
    client.settimeout(20)
    backend.state = "S"
    assert client.recv(1000) == b"command"
    backend.state = "X"


def test_a_session_begins_when_the_one_before_is_gone(
    backend: Backend, proxy: patient_proxy.PatientProxy, connect: Callable[[], socket.socket]
) -> None:
    connect().close()
    backend.asked.clear()
    assert backend.asked.wait(20)  # the proxy waits for the end
    second = threading.Thread(target=connect)
    second.start()
    assert backend.sessions == 1
    backend.state = "X"
    second.join(20)
    assert backend.sessions == 2


def test_sessions_that_have_ended_are_told_once(
    backend: Backend, proxy: patient_proxy.PatientProxy, connect: Callable[[], socket.socket]
) -> None:
    backend.state = "X"
    for _ in range(2):
        connect().close()
    assert proxy.take_ended() == [101, 102]
    assert proxy.take_ended() == []


def test_states_of_processes() -> None:
    assert patient_proxy.state_of(os.getpid()) == "R"
    assert patient_proxy.state_of(2**22 + 1) == "X"
