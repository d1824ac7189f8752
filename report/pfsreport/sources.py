"""What is read from the server: one query each, its key and what grows.

`sums` are columns that only grow while nobody resets them; the others of a row are taken as they are
at the end. Queries run as the reader: who may not see a thing gets a report without it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A query whose rows are compared with those of an earlier moment."""

    sql: str
    key: tuple[str, ...]
    sums: tuple[str, ...]


STATEMENT_SUMS = (
    "count_star", "sum_timer_wait", "sum_lock_time", "sum_cpu_time", "sum_errors", "sum_warnings",
    "sum_rows_sent", "sum_rows_examined", "sum_rows_affected", "sum_created_tmp_disk_tables",
    "sum_sort_rows", "sum_no_index_used",
)  # fmt: skip

SOURCES = {
    # statements of equal text can have several rows
    "statements": Source(
        "SELECT coalesce(schema_name, '') AS schema_name, digest, min(digest_text) AS digest_text, "
        "min(query_sample_text) AS sample, "
        + ", ".join(f"sum({column}) AS {column}" for column in STATEMENT_SUMS)
        + " FROM performance_schema.events_statements_summary_by_digest WHERE digest IS NOT NULL "
        "GROUP BY 1, 2",
        ("schema_name", "digest"),
        STATEMENT_SUMS,
    ),
    "histograms": Source(
        "SELECT coalesce(schema_name, '') AS schema_name, digest, bucket_number, "
        "min(bucket_timer_low) AS low, min(bucket_timer_high) AS high, "
        "sum(count_bucket) AS count_bucket "
        "FROM performance_schema.events_statements_histogram_by_digest "
        "WHERE count_bucket > 0 AND digest IS NOT NULL GROUP BY 1, 2, 3",
        ("schema_name", "digest", "bucket_number"),
        ("count_bucket",),
    ),
    "waits": Source(
        "SELECT event_name, count_star, sum_timer_wait "
        "FROM performance_schema.events_waits_summary_global_by_event_name",
        ("event_name",),
        ("count_star", "sum_timer_wait"),
    ),
    "statement_waits": Source(
        "SELECT coalesce(schema_name, '') AS schema_name, digest, event_name, "
        "sum(count_star) AS count_star, sum(sum_timer_wait) AS sum_timer_wait "
        "FROM performance_schema.events_waits_summary_by_digest WHERE digest IS NOT NULL "
        "GROUP BY 1, 2, 3",
        ("schema_name", "digest", "event_name"),
        ("count_star", "sum_timer_wait"),
    ),
    "files": Source(
        "SELECT file_name, min(relation_name) AS relation_name, sum(count_star) AS count_star, "
        "sum(sum_timer_wait) AS sum_timer_wait, sum(count_read) AS count_read, "
        "sum(sum_number_of_bytes_read) AS bytes_read, sum(count_write) AS count_write, "
        "sum(sum_number_of_bytes_write) AS bytes_written, sum(sum_timer_misc) AS sum_timer_misc "
        "FROM performance_schema.file_summary_by_instance GROUP BY file_name",
        ("file_name",),
        ("count_star", "sum_timer_wait", "count_read", "bytes_read", "count_write", "bytes_written",
         "sum_timer_misc"),
    ),
    "tables": Source(
        "SELECT database_oid, coalesce(object_schema, '') AS object_schema, object_name, "
        "sum(count_fetch) AS count_fetch, sum(count_insert) AS count_insert, "
        "sum(count_update) AS count_update, sum(count_delete) AS count_delete, "
        "sum(sum_timer_wait) AS sum_timer_wait "
        "FROM performance_schema.table_io_waits_summary_by_table "
        "WHERE object_name IS NOT NULL GROUP BY 1, 2, 3",
        ("database_oid", "object_schema", "object_name"),
        ("count_fetch", "count_insert", "count_update", "count_delete", "sum_timer_wait"),
    ),
    "errors": Source(
        "SELECT coalesce(sql_state, '') AS sql_state, coalesce(error_name, '(others)') AS error_name, "
        "sum_error_raised, sum_error_handled "
        "FROM performance_schema.events_errors_summary_global_by_error",
        ("sql_state", "error_name"),
        ("sum_error_raised", "sum_error_handled"),
    ),
    "metrics": Source(
        "SELECT name, subsystem, count, comment FROM performance_schema.engine_metrics "
        "WHERE status = 'enabled' AND type <> 'value' AND count IS NOT NULL",
        ("name",),
        ("count",),
    ),
    "losses": Source(
        "SELECT variable_name, variable_value, documentation FROM performance_schema.status "
        "WHERE variable_name LIKE '%\\_lost'",
        ("variable_name",),
        ("variable_value",),
    ),
}

SERVER = """
    SELECT current_setting('server_version') AS version, current_database() AS database,
        coalesce(host(inet_server_addr()), 'local') AS address, current_setting('port') AS port,
        pg_postmaster_start_time() AS started, clock_timestamp() AS now,
        current_setting('max_connections')::int AS max_connections,
        current_setting('shared_buffers') AS shared_buffers
"""

LOCK_WAITS = """
    SELECT wait_started, timer_wait, outcome, object_type, object_schema, object_name, lock_mode,
        waiting_user, waiting_query, blocking_user, blocking_state, blocking_query
    FROM performance_schema.lock_waits_history_long
    WHERE wait_started >= %s ORDER BY timer_wait DESC LIMIT %s
"""

OWN_MEMORY = """
    SELECT memory FROM performance_schema.memory WHERE name = 'performance_schema.memory'
"""

SWITCHED_OFF = """
    SELECT name FROM performance_schema.setup_consumers WHERE enabled = 'NO'
    AND name IN ('global_instrumentation', 'thread_instrumentation', 'statements_digest',
        'events_statements_current')
"""

TIMELINE = "SELECT name, count FROM performance_schema.engine_metrics WHERE name = ANY (%s)"

UNSEEN = """
    SELECT performance_schema.set_thread(performance_schema.ps_current_thread_id(), false, false)
"""
"""The report's own statements are not to be in it; for those who may switch threads."""
