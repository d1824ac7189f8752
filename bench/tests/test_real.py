"""The bench as a whole on real servers, and what it does when something goes wrong meanwhile.

One tree is built for all tests. A process belongs to a run when its command line or environment
names the run's own folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pfsbench import builds, postgres
from pfsbench.model import BenchError, Result, ServerSpec

BENCH = Path(__file__).resolve().parents[1]
MICRO = BENCH / "tests" / "micro.toml"
pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(not shutil.which("sysbench"), reason="sysbench is not installed"),
]


@pytest.fixture(scope="session")
def trees() -> Iterator[Path]:
    """A folder with a private server tree, built once."""
    folder = Path(tempfile.mkdtemp(prefix="pfsbench-test-"))
    folder.chmod(0o755)
    builds.private_server("", "normal", folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that the server's user can reach, for one run."""
    folder = Path(tempfile.mkdtemp(prefix="pfsbench-home-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def start(home: Path, trees: Path, *words: str, path: str | None = None) -> subprocess.Popen[str]:
    """A bench of its own."""
    env = {**os.environ, "PFS_TMPDIR": str(home), "PFSBENCH_TREES": str(trees)}
    if path is not None:
        env["PATH"] = path
    return subprocess.Popen(
        [sys.executable, "-m", "pfsbench", *words], cwd=BENCH, env=env, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def processes(home: Path) -> dict[int, str]:
    """Living processes of a run: pid -> command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and (str(home) in words or os.fsencode(home) in environment):
            found[int(entry.name)] = words
    return found


def wait_for(condition: Callable[[], object], what: str, limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def start_long(home: Path, trees: Path) -> subprocess.Popen[str]:
    """A run for a long time, when its loads are at work."""
    run = start(
        home, trees, "run", str(MICRO), "--only", "paired", "--rounds", "100000",
        "--out", str(home / "out"),
    )  # fmt: skip

    def loads() -> int:
        return sum("-T 1000000" in words for words in processes(home).values())

    wait_for(lambda: run.poll() is not None or loads() == 2, "two loads")
    assert run.poll() is None, run.communicate()
    time.sleep(0.3)
    return run


def test_micro_plan(home: Path, trees: Path) -> None:
    out = home / "out"
    run = start(home, trees, "run", str(MICRO), "--out", str(out))
    said, complaints = run.communicate(timeout=200)
    invalid = [line for line in said.splitlines() if line.startswith("INVALID")]
    assert run.returncode == bool(invalid), said + complaints
    assert all("B/s of others" in line for line in invalid), invalid  # a busy machine's traffic
    result = Result.load(out / "result.json")
    quantities = {(it.cell, it.quantity) for it in result.samples}
    assert quantities == {
        ("paired", "throughput"), ("switched", "throughput"), ("runs", "throughput"),
        ("runs", "p95"), ("loop", "ns"), ("wait", "ns"), ("memory", "reserved"),
        ("memory", "resident"), ("read", "throughput"), ("read", "seconds"),
    }  # fmt: skip
    assert all(sample.value > 0 for sample in result.samples)
    assert result.measures["switched"]["none"]["bytes_per_transaction"] > 1000
    assert len(result.servers) == 2
    assert processes(home) == {}
    assert [child.name for child in home.iterdir()] == ["out"]
    report = start(home, trees, "report", str(out))
    said, complaints = report.communicate(timeout=60)
    assert report.returncode == 0, complaints


def test_interrupt(home: Path, trees: Path) -> None:
    run = start_long(home, trees)
    run.send_signal(signal.SIGINT)
    _, complaints = run.communicate(timeout=30)
    assert run.returncode == 130
    assert complaints.splitlines()[-1].startswith("pfsbench: interrupted;")
    assert "Traceback" not in complaints
    assert processes(home) == {}
    assert list(home.iterdir()) == []


def test_terminated(home: Path, trees: Path) -> None:
    run = start_long(home, trees)
    run.terminate()
    _, complaints = run.communicate(timeout=30)
    assert run.returncode == 143
    assert "Traceback" not in complaints
    assert processes(home) == {}


def test_loads_die_with_a_killed_bench(home: Path, trees: Path) -> None:
    run = start_long(home, trees)
    run.kill()
    run.communicate(timeout=30)

    def loads() -> list[str]:
        return [words for words in processes(home).values() if "pgbench" in words.split(" ")[0]]

    wait_for(lambda: not loads(), "loads, one of them stopped, ended by the kernel", 5)
    for pid, words in processes(home).items():  # nobody could stop the servers: we do
        if " -D " in words:
            os.kill(pid, signal.SIGQUIT)
    wait_for(lambda: not processes(home), "servers ended")


def test_server_dies(home: Path, trees: Path) -> None:
    run = start_long(home, trees)
    postmaster = next(pid for pid, words in processes(home).items() if " -D " in words)
    os.kill(postmaster, signal.SIGKILL)
    _, complaints = run.communicate(timeout=60)
    assert run.returncode == 1, complaints
    assert "server log" in complaints or "died" in complaints
    assert "ready to accept connections" in complaints, "the log's end"
    assert "Traceback" not in complaints
    result = Result.load(home / "out" / "result.json")
    assert result.invalid["paired"].startswith("the run ended early")
    wait_for(lambda: not processes(home), "all ended", 10)


def test_disk_full(home: Path, trees: Path) -> None:
    full = home / "full"
    full.mkdir()
    options = ["-t", "tmpfs", "-o", "size=20m,mode=777", "tmpfs", str(full)]
    if os.geteuid() != 0 or subprocess.run(["mount", *options], check=False).returncode != 0:
        pytest.skip("cannot mount a small disk")
    try:
        run = start(full, trees, "run", str(MICRO), "--only", "loop", "--out", str(full / "out"))
        _, complaints = run.communicate(timeout=60)
        assert run.returncode == 1
        assert "No space left on device" in complaints
        assert "Traceback" not in complaints
        assert processes(full) == {}
    finally:
        subprocess.run(["umount", "-l", str(full)], check=True)


def test_port_in_use(home: Path, trees: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pfs_cluster

    monkeypatch.setenv("PFS_TMPDIR", str(home))
    monkeypatch.setenv("PFSBENCH_TREES", str(trees))
    free = pfs_cluster.free_port()
    with socket.create_server(("127.0.0.1", 0)) as busy:
        taken = busy.getsockname()[1]
        offers = [taken, free]
        monkeypatch.setattr(pfs_cluster, "free_port", lambda: offers.pop(0))
        server = postgres.PostgresServer(ServerSpec(), "absent")
        server.start()
        assert server.cluster.port == free
        server.stop()
        monkeypatch.setattr(pfs_cluster, "free_port", lambda: taken)
        server = postgres.PostgresServer(ServerSpec(), "absent")
        with pytest.raises(BenchError, match="could not bind"):
            server.start()
        server.stop()
    assert processes(home) == {}


@pytest.mark.parametrize(
    ("words", "path", "code", "message"),
    [
        (["run", "nix"], None, 2, r"no plan 'nix'; there are: "),
        (["run", "smoke", "--only", "nix*"], None, 2, "no cell of smoke is like 'nix*'"),
        (["run", "smoke"], "/nonexistent", 1, "sysbench is not installed (Debian: apt-get"),
        (["check", "/nonexistent"], None, 1, "/nonexistent is not a result of the bench"),
    ],
)
def test_wrong_commands(
    home: Path, words: list[str], path: str | None, code: int, message: str
) -> None:
    run = start(home, home, *words, path=path)
    said, complaints = run.communicate(timeout=30)
    assert run.returncode == code
    assert message in complaints and "Traceback" not in complaints
    assert len(complaints.splitlines()) == 1 and said == ""
