"""Where the threads of a load and of its server run, when loads of several servers take turns.

Whether a client and its backend happen to share a core decides over a third of the throughput of
`pgbench -S` (waking the other core costs a virtual machine dearly), and a load keeps its luck: two
equal servers can differ by that for minutes. So in cells with several servers every client is kept
to some processors and every backend to the others. The server's are then what limits, which is what
is to be compared. Where one load serves all variants the scheduler is left alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


def halves() -> tuple[set[int], set[int]]:
    """Processors for clients (a third, at least one) and for servers; the same when only one."""
    processors = sorted(os.sched_getaffinity(0))
    count = max(1, len(processors) // 3)
    return set(processors[:count]), set(processors[count:] or processors)


def keep(pids: Iterable[int], processors: set[int]) -> None:
    """Keep all threads of these processes to these processors; who is gone is passed over."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(entry.name), processors)
