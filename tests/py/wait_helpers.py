"""What the tests of waits share: a session's waits, system calls as strace saw them.

The truth about a call comes from outside: strace is attached to the server's process and its lines
are counted. Where the tables count for the whole server, everybody else is switched off first
(`alone`), so that numbers are equal and not only similar.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from helpers import Watched, one, rows, wait_for_state, wait_until

THREAD_WAITS = "performance_schema.events_waits_summary_by_thread_by_event_name"


class Stat(NamedTuple):
    """Count and seconds of one event name."""

    count: int
    seconds: float


def thread_waits(observer: Any, thread_id: int) -> dict[str, Stat]:
    """What a thread has waited for so far, by event name."""
    found = rows(
        observer,
        f"SELECT event_name, count_star, sum_timer_wait FROM {THREAD_WAITS} "
        "WHERE thread_id = %s AND count_star > 0",
        thread_id,
    )
    return {row.event_name: Stat(row.count_star, float(row.sum_timer_wait) / 1e12) for row in found}


def grown(new: dict[str, Stat], old: dict[str, Stat]) -> dict[str, Stat]:
    """What came in between."""
    nothing = Stat(0, 0.0)
    found = {}
    for name, stat in new.items():
        before = old.get(name, nothing)
        if stat.count != before.count:
            found[name] = Stat(stat.count - before.count, stat.seconds - before.seconds)
    return found


def by_prefix(waits: dict[str, Stat], prefix: str) -> dict[str, Stat]:
    """Those whose name begins so, without that beginning."""
    return {
        name.removeprefix(prefix): stat for name, stat in waits.items() if name.startswith(prefix)
    }


def total(waits: dict[str, Stat]) -> Stat:
    """Sum over names."""
    return Stat(
        sum(stat.count for stat in waits.values()), sum(stat.seconds for stat in waits.values())
    )


def settle(observer: Any, pid: int) -> None:
    """Until a session waits for its client's next command: its answer came a little earlier."""
    wait_for_state(observer, pid, "state LIKE 'idle%' AND wait_event = 'ClientRead'")


class Waiter(Watched):
    """A session whose waits an observer reads; it can start a statement and go on."""

    def settle(self) -> None:
        settle(self.observer, self.pid)

    def waits(self) -> dict[str, Stat]:
        return thread_waits(self.observer, self.thread_id)

    def last_wait(self) -> int:
        """The newest event id in the history of waits."""
        return one(
            self.observer,
            "SELECT coalesce(max(event_id), 0) FROM performance_schema.events_waits_history "
            "WHERE thread_id = %s",
            self.thread_id,
        )

    def wait_rows(self, since: int, like: str = "%") -> list[Any]:
        """Ended waits after an event id."""
        return rows(
            self.observer,
            "SELECT * FROM performance_schema.events_waits_history "
            "WHERE thread_id = %s AND event_id > %s AND event_name LIKE %s ORDER BY event_id",
            self.thread_id,
            since,
            like,
        )

    def start(self, sql: str) -> None:
        """Sends a statement and does not wait for its end."""
        self.conn.pgconn.send_query(sql.encode())

    def blocks(self, sql: str) -> float:
        """Starts a statement that has to wait for a lock; when its wait began, as time.time()."""
        self.start(sql)
        wait_for_state(self.observer, self.pid, "wait_event_type = 'Lock'")
        since = (
            "SELECT extract(epoch FROM waitstart)::float8 FROM pg_locks "
            f"WHERE pid = {self.pid} AND waitstart IS NOT NULL"
        )
        wait_until(lambda: rows(self.observer, since), "waitstart")
        return one(self.observer, since)

    def finish(self) -> str:
        """Waits for the end of what was started; returns SQLSTATE, 00000 = no error."""
        state = "00000"
        while (result := self.conn.pgconn.get_result()) is not None:
            error = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
            state = error.decode() if error else state
        return state


@contextlib.contextmanager
def alone(observer: Any, *thread_ids: int) -> Iterator[None]:
    """All other threads record nothing for the duration of a block, the observer neither."""
    others = "WHERE thread_id <> ALL (%s)"
    observer.execute(
        f"UPDATE performance_schema.threads SET instrumented = 'NO' {others}", (list(thread_ids),)
    )
    busy = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'IO'"
    wait_until(lambda: one(observer, busy) == 0, "nobody is in a call that was begun before")
    try:
        yield
    finally:
        observer.execute(
            f"UPDATE performance_schema.threads SET instrumented = 'YES' {others}",
            (list(thread_ids),),
        )


# --- strace ---------------------------------------------------------------------------------------

SLOTS = {
    "read": ("read", "__read_chk"),
    "pread64": ("pread", "pread64", "__pread_chk", "__pread64_chk"),
    "preadv": ("preadv", "preadv64"),
    "write": ("write",),
    "pwrite64": ("pwrite", "pwrite64"),
    "pwritev": ("pwritev", "pwritev64"),
    "fsync": ("fsync",),
    "fdatasync": ("fdatasync",),
    "openat": ("open", "open64", "__open_2", "__open64_2", "openat", "openat64"),
    "close": ("close",),
    "unlink": ("unlink",),
    "rename": ("rename",),
    "ftruncate": ("ftruncate", "ftruncate64"),
    "truncate": ("truncate", "truncate64"),
    "fallocate": ("posix_fallocate", "posix_fallocate64", "fallocate", "fallocate64"),
    "fadvise64": ("posix_fadvise", "posix_fadvise64"),
    "sync_file_range": ("sync_file_range",),
    "copy_file_range": ("copy_file_range",),
    "mkdir": ("mkdir",),
}
"""System calls, and the names under which the server imports what makes them."""

READS = ("read", "pread64", "preadv")
WRITES = ("write", "pwrite64", "pwritev", "copy_file_range")
BY_PATH = ("unlink", "rename", "mkdir", "truncate")
ON_DESCRIPTORS = (
    "close", "fsync", "fdatasync", "ftruncate", "fallocate", "fadvise64", "sync_file_range"
)  # fmt: skip


class Call(NamedTuple):
    """One system call on a file that came to an end."""

    pid: int
    name: str
    path: str
    result: int


LINE = re.compile(
    r"^(?:(?P<pid>\d+) +)?(?P<name>\w+)\((?P<rest>.*)\) += (?P<result>-?\d+)(?P<tail>.*)$"
)
DESCRIPTOR = re.compile(r"^(?P<fd>\d+)<(?P<path>.*?)>(?:\(deleted\))?(?:, |$)")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def can_strace() -> bool:
    if os.geteuid() != 0 or shutil.which("strace") is None:
        return False
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], check=False, capture_output=True)
    return tried.returncode == 0  # containers may forbid it


def path_of(name: str, rest: str, result: str, tail: str) -> str | None:
    """The file a call is about; None: no file, or a directory that is only listed."""
    if name == "openat":
        if "O_DIRECTORY" in rest:  # opendir
            return None
        quoted = QUOTED.search(rest)
        assert quoted, rest
        return quoted[1]
    if name in BY_PATH:
        quoted = QUOTED.search(rest)
        assert quoted, rest
        return quoted[1]
    if name == "copy_file_range":
        rest = rest.split(", ", 2)[2]
    found = DESCRIPTOR.match(rest)
    assert found, f"{name}({rest}) = {result}{tail}"
    return found["path"]


class Strace:
    """System calls on files of some processes, from entering to leaving a `with` block."""

    def __init__(self, folder: Path, data: Path, *pids: int) -> None:
        self.file = folder / "strace.out"
        self.data = f"{os.path.realpath(data)}/"
        self.pids = pids
        self.calls: list[Call] = []

    def __enter__(self) -> Strace:
        words = ["strace", "-f", "-y", "-qq", "-s", "200", "-o", str(self.file)]
        words += ["-e", "trace=" + ",".join(SLOTS), "-e", "signal=none"]
        for pid in self.pids:
            words += ["-p", str(pid)]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE)
        wait_until(self._attached, "strace is attached")
        return self

    def _attached(self) -> bool:
        assert self.process.poll() is None, self.process.communicate()[1].decode()
        tracer = f"TracerPid:\t{self.process.pid}\n"
        return all(tracer in Path(f"/proc/{pid}/status").read_text() for pid in self.pids)

    def __exit__(self, *_exc: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20)
        listed: set[tuple[int, str]] = set()  # descriptors of opendir
        for line in self._lines():
            found = LINE.match(line)
            if not found or "+++" in line:
                continue
            pid = int(found["pid"] or self.pids[0])
            name, rest, result = found["name"], found["rest"], found["result"]
            path = path_of(name, rest, result, found["tail"])
            if path is None:
                listed.add((pid, result))
                continue
            if name == "close":
                number = rest.split("<", 1)[0]
                if (pid, number) in listed:
                    listed.remove((pid, number))
                    continue
            if path.startswith(self.data):
                path = path[len(self.data) :]
            self.calls.append(Call(pid, name, path.removeprefix("./"), int(result)))

    def _lines(self) -> Iterator[str]:
        """Lines of calls; those that another process's call has split are put together."""
        begun: dict[str, str] = {}
        for line in self.file.read_text(errors="replace").splitlines():
            pid = line.split(" ", 1)[0]
            if line.endswith("<unfinished ...>"):
                begun[pid] = line.removesuffix("<unfinished ...>")
            elif " resumed>" in line:
                if pid in begun:
                    yield begun.pop(pid) + line.split(" resumed>", 1)[1]
            else:
                yield line

    def count(self) -> Counter[str]:
        """Calls by name, whatever came of them."""
        return Counter(call.name for call in self.calls)

    def on_files(self) -> list[Call]:
        """Without sockets, pipes and devices."""
        return [
            call
            for call in self.calls
            if not re.match(r"(socket|pipe|anon_inode|TCP|UNIX|/dev/|/proc/|/sys/)", call.path)
        ]


def key_of(path: str) -> str:
    """Row of file_instances of a path, as its documentation says."""
    path = re.sub(r"^(.*pgsql_tmp)/.*$", r"\1/(temporary files)", path)
    path = re.sub(r"^(base/\d+)/t\d+_.*$", r"\1/(temporary relations)", path)
    path = re.sub(r"^pg_wal/([0-9A-F]{24}.*|xlogtemp\..*)$", "pg_wal/(segments)", path)
    return path


class FileSum(NamedTuple):
    """Numbers of one file."""

    reads: int = 0
    bytes_read: int = 0
    writes: int = 0
    bytes_written: int = 0
    misc: int = 0

    def plus(self, other: FileSum, sign: int = 1) -> FileSum:
        return FileSum(*(a + sign * b for a, b in zip(self, other)))


def sums_of_calls(calls: list[Call]) -> dict[str, FileSum]:
    """What file_summary_by_instance should say: open, close, sync and the like are misc."""
    found: dict[str, FileSum] = {}
    for call in calls:
        moved = max(call.result, 0)
        if call.name in READS:
            one_call = FileSum(reads=1, bytes_read=moved)
        elif call.name in WRITES:
            one_call = FileSum(writes=1, bytes_written=moved)
        elif call.name in ON_DESCRIPTORS or (call.name == "openat" and call.result >= 0):
            one_call = FileSum(misc=1)
        else:
            continue  # by path: the tables count it by event name only
        key = key_of(call.path)
        found[key] = found.get(key, FileSum()).plus(one_call)
    return found


IO_COLUMNS = (
    "count_read, sum_number_of_bytes_read, count_write, sum_number_of_bytes_write, count_misc"
)


def file_sums(observer: Any) -> dict[str, FileSum]:
    """file_summary_by_instance; a file and its successor of the same name are added up."""
    found: dict[str, FileSum] = {}
    for row in observer.execute(
        f"SELECT file_name, {IO_COLUMNS} FROM performance_schema.file_summary_by_instance"
    ).fetchall():
        found[row[0]] = found.get(row[0], FileSum()).plus(FileSum(*map(int, row[1:])))
    return found


def event_sums(observer: Any) -> dict[str, FileSum]:
    """file_summary_by_event_name."""
    return {
        row[0]: FileSum(*map(int, row[1:]))
        for row in observer.execute(
            f"SELECT event_name, {IO_COLUMNS} FROM performance_schema.file_summary_by_event_name"
        ).fetchall()
    }


def file_difference(new: dict[str, FileSum], old: dict[str, FileSum]) -> dict[str, FileSum]:
    """Rows that are not as they were; rows that have gone are left out."""
    found = {name: stat.plus(old.get(name, FileSum()), -1) for name, stat in new.items()}
    return {name: stat for name, stat in found.items() if stat != FileSum()}


def slot_calls(observer: Any) -> dict[str, int]:
    """interposed_calls by system call."""
    by_symbol = dict(
        observer.execute(
            "SELECT symbol, max(calls) FROM performance_schema.interposed_calls GROUP BY symbol"
        ).fetchall()
    )
    return {name: sum(by_symbol.get(s, 0) for s in symbols) for name, symbols in SLOTS.items()}
