"""Private copies of server trees with the extension built into them.

The bench never touches the installed server: it copies the tree, copies the sources beside it,
builds there and runs servers from there. One copy per (pg_config, build) and run; all are removed
with the run's work folder.

Errors: BenchError with the compiler's first messages, or saying which program is missing.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .model import BenchError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))  # pfs_cluster and callgrind_bench are used by the bench
from server_tree import copy_server, place_in  # noqa: E402

DEBIAN15 = Path("/usr/lib/postgresql/15/bin/pg_config")
BUILD_LIMIT_S = 300
LEFT_OUT = shutil.ignore_patterns(
    ".git", "build", "bench", "docs", "*.o", "*.d", "*.bc", "*.so", ".stamp-build", "__pycache__"
)


@functools.cache
def toolchain(what: str) -> Path:
    """The path that scripts/toolchain.sh prints for this word."""
    done = subprocess.run(
        [str(ROOT / "scripts" / "toolchain.sh"), what], capture_output=True, text=True,
        timeout=BUILD_LIMIT_S, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BenchError(f"scripts/toolchain.sh {what}: {done.stderr.strip()}")
    return Path(done.stdout.strip())


def project_pg_config() -> Path:
    """The project's own server."""
    return toolchain("pg_config")


def original(name: str) -> Path:
    """The pg_config a plan means by this name; BenchError when it is not there."""
    path = project_pg_config() if not name else DEBIAN15 if name == "debian15" else Path(name)
    if not path.is_file():
        hint = " (Debian: apt-get install postgresql-server-dev-15)" if name == "debian15" else ""
        raise BenchError(f"{path} is missing{hint}")
    return path


def private_server(name: str, build: str, work: Path) -> Path:
    """The pg_config of a private copy of this server with the extension built so; made once."""
    folder = work / f"{re.sub('[^a-z0-9]+', '-', (name or 'project').lower())}-{build_key(build)}"
    source = original(name)
    made = place_in(folder, source)
    if not (folder / "built").exists():
        copy_server(source, folder)
        for path in folder.parents:
            if path.name.startswith("pfsbench-"):
                path.chmod(0o755)  # the server's user must reach it
        build_extension(made, folder / "source", build)
        (folder / "built").touch()
    return made


def build_key(build: str) -> str:
    """The build's name as part of a folder name."""
    return re.sub("[^a-z0-9]+", "-", build)


def build_extension(pg_config: Path, source: Path, build: str) -> None:
    """Compile the working tree's sources for this server and install them there."""
    shutil.copytree(ROOT, source, ignore=LEFT_OUT, symlinks=True)
    kind, _, classes = build.partition(":")
    command = ["make", "-s", f"-j{os.cpu_count() or 1}", f"PG_CONFIG={pg_config}"]
    if kind == "disable":
        command.append(f"DISABLE={classes.replace(',', ' ')}")
    elif kind == "frame_pointers":
        command.append("COPT=-fno-omit-frame-pointer")
    elif kind not in ("normal", "prototype"):
        raise BenchError(
            f"no build {build!r}: normal, frame_pointers, prototype, or disable:CLASS,..."
        )
    for name in ("make", "gcc"):
        if not shutil.which(name):
            raise BenchError(f"{name} is not installed (Debian: apt-get install {name})")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PG"))}
    run([*command, "install"], source, env)
    if kind == "prototype":
        run([str(ROOT / "bench" / "budget" / "build.sh"), str(pg_config), "install"], source, env)


def run(command: list[str], folder: Path, env: dict[str, str]) -> None:
    """A step of a build."""
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        timeout=BUILD_LIMIT_S, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[:3000]}")
