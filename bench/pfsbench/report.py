"""Markdown, CSV and plot from a result: ours beside the published figures. Never measures anything.

One table a plan: cells x variants, the ratio to the cell's baseline with its 95 % interval and the
number of rounds; warnings stand above it, the published tables as they are below it. The same
result gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from . import plots
from .checks import check_result
from .model import BenchError, Result
from .rows import MORE_IS_BETTER, Row, label_keys, rows_of
from .stats import compare_cells

DASH = "\N{EN DASH}"
MANY = 8  # warnings
CSV_COLUMNS = (
    "cell", "variant", "what", "baseline", "quantity", "unit", "median", "baseline_median", "tps",
    "ratio", "low", "high", "rounds", "verdict", "published", "target",
)  # fmt: skip


def write_report(folder: Path) -> Path:
    """report.md, report.csv and plot.svg beside FOLDER/result.json; returns the page."""
    result = Result.load(folder / "result.json")
    warnings, invalid = check_result(result)
    rows = rows_of(result, compare_cells(result, invalid), invalid)
    drawn = plots.draw(result.plan, rows, folder)
    page = folder / "report.md"
    try:
        page.write_text(markdown(result, rows, warnings, drawn[0].name if drawn else ""))
        (folder / "report.csv").write_text(csv_text(rows))
    except OSError as error:
        raise BenchError(f"cannot write {error.filename}: {error.strerror}") from None
    return page


def markdown(result: Result, rows: Sequence[Row], warnings: Sequence[str], plot: str = "") -> str:
    """The page of one result. plot: path of a picture to show, relative to the page."""
    plan = result.plan
    parts = [f"# {plan['title']}", plan["question"], facts(result)]
    parts.append(warning_lines(warnings))
    parts.append(table(rows))
    parts.append(explanation(rows))
    if plan.get("notes"):
        parts.append(plan["notes"].strip())
    if plot:
        parts.append(f"![{plan['title']}]({plot})")
    parts += [published_table(entry) for entry in plan.get("published", {}).values()]
    parts.append(servers(result))
    return "\n\n".join(part for part in parts if part) + "\n"


def facts(result: Result) -> str:
    """Where, when and how, one line each."""
    machine = result.machine
    where = ", ".join(
        part
        for part in (
            str(machine.get("cpu", "")),
            f"{machine.get('usable_cores', machine.get('cores', '?'))} cores",
            f"{machine.get('memory_mb', 0) / 1024:.0f} GiB",
            str(machine.get("kernel", "")),
            "virtual" if machine.get("virtual") else "",
            f"clock {machine.get('clocksource')}" if machine.get("clocksource") else "",
        )
        if part
    )
    lines = [
        f"Machine: {where}",
        f"Command: `{result.command}`",
        f"Commit: {result.commit or 'unknown'}",
        f"Run: {result.started}, {result.seconds / 60:.0f} minutes, seed {result.plan.get('seed')}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def warning_lines(warnings: Sequence[str]) -> str:
    """The warnings; many of them are folded below their number."""
    if len(warnings) <= MANY:
        return "\n".join(f"> **Warning:** {line}  " for line in warnings)
    lines = "\n".join(f"- {line}" for line in warnings)
    head = f"<summary><b>{len(warnings)} warnings</b></summary>"
    return f"<details>{head}\n\n{lines}\n\n</details>"


def table(rows: Sequence[Row]) -> str:
    """The table of all rows."""
    columns: list[tuple[str, Callable[[Row], str]]] = [
        *((key, partial(label_text, key=key)) for key in label_keys(rows)),
        ("variant", lambda row: row.what),
        ("quantity", lambda row: row.quantity),
        ("median", median_text),
        ("ratio", lambda row: f"{row.comparison.ratio:.4f}" if row.comparison else ""),
        ("95 % interval", interval_text),
        ("n", lambda row: str(row.rounds or "")),
        ("verdict", lambda row: row.verdict),
        ("added", added_text),
        ("published", partial(beside_text, target=False)),
        ("target", partial(beside_text, target=True)),
    ]
    if len({row.quantity for row in rows}) == 1:
        columns = [column for column in columns if column[0] != "quantity"]
    return columns_table(columns, rows)


def columns_table(columns: Iterable[tuple[str, Callable[[Row], str]]], rows: Sequence[Row]) -> str:
    """A table of those columns that have a text in any row."""
    shown = [(name, [text(row) for row in rows]) for name, text in columns]
    kept = [(name, texts) for name, texts in shown if any(texts)]
    return markdown_table(
        [name for name, _ in kept], zip(*(texts for _, texts in kept), strict=True)
    )


def label_text(row: Row, key: str) -> str:
    """A label of the row's cell."""
    return str(row.labels.get(key, ""))


def interval_text(row: Row) -> str:
    """The ratio's interval."""
    return f"{row.comparison.low:.4f}{DASH}{row.comparison.high:.4f}" if row.comparison else ""


def added_text(row: Row) -> str:
    """Of a cost, what the variant adds to the baseline."""
    known = row.comparison
    if known is None or row.quantity in MORE_IS_BETTER or row.invalid:
        return ""
    ends = (amount(known.added_low, row.unit), amount(known.added_high, row.unit))
    low, high = (end.split(" ")[0] for end in ends)
    return f"{amount(known.added, row.unit)} ({low}{DASH}{high})"


def median_text(row: Row) -> str:
    """The variant's own figure: transactions per second where known."""
    if row.tps is not None:
        return f"{number(row.tps)} TPS"
    if math.isnan(row.median):
        return ""
    return amount(row.median, row.unit) + ("/s" if row.quantity in MORE_IS_BETTER else "")


def amount(value: float, unit: str) -> str:
    """A figure with its unit; bytes as MiB."""
    if unit == "B":
        value, unit = value / 2**20, "MiB"
    return f"{number(value)} {unit}".strip().replace("-", "\N{MINUS SIGN}")


def number(value: float) -> str:
    """Four significant digits at least, thousands apart."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def beside_text(row: Row, *, target: bool) -> str:
    """The published ratios or the targets of a row."""
    return ", ".join(p.text for p in row.published if p.target is target)


def explanation(rows: Sequence[Row]) -> str:
    """What the columns mean, for the quantities that are there."""
    quantities = {row.quantity for row in rows}
    less = "" if quantities <= {"throughput"} else "; of other quantities less is better"
    return (
        "Ratio: variant to baseline, median over the rounds (n), with a bootstrap 95 % interval; of"
        f" throughput more is better{less}. Not distinguishable: the interval covers 1."
        + (" Added: median of the differences, and its interval." if less else "")
    )


def published_table(entry: dict[str, Any]) -> str:
    """A published table as it was."""
    kind = "Target" if entry.get("target") else "Published"
    if not entry.get("rows"):
        return f"{kind}: {entry['source']}" if entry.get("source") else ""
    body = [[str(value) for value in row] for row in entry["rows"]]
    return f"{kind}: {entry.get('source', '')}\n\n" + markdown_table(entry["columns"], body)


def servers(result: Result) -> str:
    """The servers' versions and settings that differ from their defaults."""
    lines = []
    for name, server in result.servers.items():
        settings = server.get("settings", {})
        shown = ", ".join(f"{key} = {value}" for key, value in sorted(settings.items()))
        lines.append(f"- {name}: {server.get('version', '?')}" + (f"; {shown}" if shown else ""))
    return "Servers:\n\n" + "\n".join(lines) if lines else ""


def markdown_table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """A Markdown table; bars in texts are escaped."""
    lines = [list(head), *map(list, body)]
    shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([shown[0], "|" + "---|" * len(lines[0]), *shown[1:]])


def csv_text(rows: Sequence[Row]) -> str:
    """The same rows for a program: full precision, one column for each label."""
    labels = label_keys(rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(f"label_{key}" for key in labels), *CSV_COLUMNS])
    for row in rows:
        known = row.comparison
        judged = (known.ratio, known.low, known.high) if known else ("", "", "")
        writer.writerow([
            *(row.labels.get(key, "") for key in labels), row.cell, row.variant, row.what,
            row.baseline, row.quantity, row.unit, row.median,
            known.baseline_median if known else "",
            "" if row.tps is None else row.tps, *judged, row.rounds, row.verdict,
            beside_text(row, target=False), beside_text(row, target=True),
        ])  # fmt: skip
    return out.getvalue()
