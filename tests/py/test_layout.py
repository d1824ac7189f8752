"""Where the linker put what each statement touches: PFS_HOT_LINE in src/core/base.h.

A file or a flag that moves it costs misses that no test of behaviour sees.
"""

from __future__ import annotations

import subprocess
from pathlib import Path


def test_what_waits_for_the_client(pg_config: str) -> None:
    """Two files' words fill one line of memory: their order is the link's."""

    def said(*command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    library = Path(said(pg_config, "--pkglibdir").strip(), "performance_schema.so")
    places = {
        fields[-1]: int(fields[0], 16)
        for fields in map(str.split, said("nm", "--defined-only", str(library)).splitlines())
    }
    first = places["pfs_pg_waiting"]
    assert first % 64 == 0
    assert first < places["pfs_awaiting"] <= first + 64 - 24
