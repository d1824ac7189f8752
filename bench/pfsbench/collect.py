"""Facts to store with a result: the machine, the commit, how busy the machine was. Reads only."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from .builds import ROOT


def first_line(path: str) -> str:
    """A one-line file of /proc or /sys; empty when it is not there."""
    try:
        return Path(path).read_text().strip().split("\n", 1)[0]
    except OSError:
        return ""


def machine() -> dict[str, Any]:
    """Processor, cores, memory, kernel, clock, governor, whether virtual, load now."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", cpuinfo, re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return {
        "cpu": model.group(1) if model else platform.processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "virtual": bool(re.search(r"^flags.*\bhypervisor\b", cpuinfo, re.MULTILINE)),
        "memory_mb": int(memory.group(1)) // 1024 if memory else 0,
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "clocksource": first_line(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "governor": first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load1": os.getloadavg()[0],
        "python": platform.python_version(),
        "gcc": output("gcc", "-dumpfullversion"),
        "sysbench": output("sysbench", "--version"),
    }


def commit() -> str:
    """The commit's id, with `-dirty` when files differ from it; empty outside a repository."""
    sha = output("git", "-C", str(ROOT), "rev-parse", "HEAD")
    changed = output("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no")
    return f"{sha}-dirty" if sha and changed else sha


def output(*command: str) -> str:
    """What a program prints; empty when it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def processor_times() -> tuple[int, int]:
    """Ticks stolen by the host, and ticks in all, since boot."""
    ticks = [int(word) for word in first_line("/proc/stat").split()[1:]]
    return (ticks[7] if len(ticks) > 7 else 0), sum(ticks[:8])


def steal_since(before: tuple[int, int]) -> float:
    """Share of processor time stolen since processor_times() was `before`."""
    stolen, total = processor_times()
    return (stolen - before[0]) / max(1, total - before[1])


def load1() -> float:
    """Load average over one minute."""
    return os.getloadavg()[0]
