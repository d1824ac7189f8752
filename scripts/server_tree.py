"""A copy of an installed server in another place, which can be changed and built into.

A server finds its files by their places relative to its program, so these are kept: a Python
wheel's libraries lie beside its package, Debian's files in several folders of /usr. Headers stay
where they are.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

DEBIAN = ("/", "usr", "lib", "postgresql")
LIMIT_S = 300


def place_in(folder: Path, pg_config: Path) -> Path:
    """The pg_config that the copy in this folder has or will have."""
    parts = pg_config.parts[1:]
    return folder.joinpath(*(parts if is_debian(pg_config) else parts[-4:]))


def is_debian(pg_config: Path) -> bool:
    """Whether its files are in several folders."""
    return pg_config.parts[:4] == DEBIAN


def copy_server(pg_config: Path, folder: Path) -> Path:
    """Copy the server that pg_config belongs to into a new folder; returns the copy's pg_config."""
    made = place_in(folder, pg_config)
    base = pg_config.parent.parent
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, made.parent.parent, symlinks=True)
    for libraries in base.parent.parent.glob(f"{base.parent.name}.libs"):
        shutil.copytree(libraries, folder / libraries.name)
    if is_debian(pg_config):
        share = Path("/usr/share/postgresql", base.name)
        shutil.copytree(share, folder / share.relative_to("/"), symlinks=False)
        (folder / "usr/include").mkdir()
        (folder / "usr/include/postgresql").symlink_to("/usr/include/postgresql")
    # the server's user must reach it
    subprocess.run(["chmod", "-R", "go+rX", str(folder)], check=True, timeout=LIMIT_S)
    return made
