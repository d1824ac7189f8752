"""Figures for people."""

from __future__ import annotations

TIMES = ((86_400e12, "d"), (3_600e12, "h"), (60e12, "min"), (1e12, "s"), (1e9, "ms"), (1e6, "us"),
         (1e3, "ns"))  # fmt: skip
SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
NUMBERS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
SPELT_OUT = 10_000


def time(picoseconds: float | None) -> str:
    """With the largest unit of which there is at least one."""
    if picoseconds is None:
        return ""
    for size, unit in TIMES:
        if picoseconds >= size:
            return f"{picoseconds / size:.3g} {unit}"
    return f"{picoseconds:.0f} ps"


def size(count: float) -> str:
    """Bytes."""
    for unit_size, unit in SIZES:
        if count >= unit_size:
            return f"{count / unit_size:.3g} {unit}"
    return f"{count:.0f} B"


def number(count: float) -> str:
    """Small ones as they are, others with three digits and a letter."""
    if count < SPELT_OUT:
        return f"{count:.0f}" if count == int(count) or count >= 100 else f"{count:.2f}"
    return next(f"{count / size:.3g}{unit}" for size, unit in NUMBERS if count >= size)


def percent(part: float, whole: float) -> str:
    """One digit behind the point; empty if there is no whole."""
    return f"{100 * part / whole:.1f}" if whole else ""
