"""Puts a recording into one HTML page that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from . import charts, figures, text
from .snapshot import Recording

TIMELINES = (
    ("Transactions a second", {"trx_commits": "committed", "trx_rollbacks": "rolled back"}),
    ("Rows a second", {"dml_reads": "read", "dml_inserts": "inserted", "dml_updates": "updated",
                       "dml_deletes": "deleted"}),
    ("Pages a second", {"buffer_pool_read_requests": "asked for", "buffer_pool_reads": "not in the buffer pool"}),
    ("Bytes a second", {"log_bytes": "of WAL", "sort_temporary_bytes": "of temporary files"}),
)  # fmt: skip


def timelines(recording: Recording) -> list[tuple[str, str]]:
    """Title and picture of each."""
    found = []
    for title, names in TIMELINES:
        moments, rates = figures.rates(recording, list(names))
        named = {names[name]: values for name, values in rates.items()}
        found.append((title, charts.lines(moments, named, title)))
    return found


def wait_chart(recording: Recording, top: int) -> str:
    """Events by time; table I/O contains others, idle time is nobody's loss."""
    rows = [row for row in recording.changes["waits"] if figures.kind_of(row["event_name"]) is not None]
    rows = figures.largest(rows, "sum_timer_wait", top)
    labels = [f"{text.time(r['sum_timer_wait'])}, {text.number(r['count_star'])}" for r in rows]
    values = [float(r["sum_timer_wait"]) for r in rows]
    return charts.bars([r["event_name"] for r in rows], values, labels, "Waits by event")


def html(recording: Recording, top: int) -> str:
    """The page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(time=text.time, size=text.size, number=text.number)
    statements = figures.statements(recording, top)
    all_statements = recording.changes["statements"]
    model = figures.whole_model(recording)
    errors = [{**r, "all": r["sum_error_raised"] + r["sum_error_handled"]} for r in recording.changes["errors"]]
    return environment.get_template("page.html").render(
        r=recording,
        s=recording.seconds,
        percent=text.percent,
        statements=statements,
        histograms=[charts.histogram(st.buckets, f"statement {i}") for i, st in enumerate(statements)],
        statement_count=sum(r["count_star"] for r in all_statements),
        statement_time=sum(r["sum_timer_wait"] for r in all_statements),
        commits=figures.growth(recording, "trx_commits"),
        rollbacks=figures.growth(recording, "trx_rollbacks"),
        wal=figures.growth(recording, "log_bytes"),
        timelines=timelines(recording),
        kinds=figures.kinds(),
        colours=charts.COLOURS,
        model=model,
        model_chart=charts.time_model(model, "Time model"),
        wait_chart=wait_chart(recording, top),
        files=figures.largest(recording.changes["files"], "sum_timer_wait", top),
        tables=sorted(
            recording.changes["tables"],
            key=lambda r: -(r["count_fetch"] + r["count_insert"] + r["count_update"] + r["count_delete"]),
        )[:top],
        errors=figures.largest(errors, "all", top),
        metrics=figures.by_subsystem(recording.changes["metrics"]),
        losses=recording.changes["losses"],
    )
