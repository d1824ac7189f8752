"""Our counts against those of pg_stat_statements and of the clients themselves.

All instruments and all consumers are on. Per (database, queryid), COUNT_STAR - SUM_ERRORS and the
rows equal pg_stat_statements (track = all) exactly, whichever library was loaded first.

Where pg_stat_statements itself is not exact, our numbers are compared with the client's:
- It zeroes the query id of utility statements inside cached plans, so of a *prepared* BEGIN or
  COMMIT it sees the first execution only.
- PREPARE, EXECUTE and (before 17) DEALLOCATE have no rows there.
- Before 16 it knows only the rows of a cursor's last fetch.
- It counts statements whose transaction then fails at commit; to us they have failed.
- It never sees the query of a cursor that is open when its transaction rolls back.
- Before 18 we give utility statements ids of our own, which ignore literals: compared as sums by
  the first word of the text.
PFS_LOAD_SECONDS is the length of each load (60 for the full proof).
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from helpers import LOAD_SECONDS, everything_on, losses, one, rows

DATABASE = "bench"
BY_DESIGN = {"performance_schema_lock_blockers_lost"}
"""Losses a load may have: nobody waits for the lock table only to name a blocker."""
ORDERS = ("performance_schema,pg_stat_statements", "pg_stat_statements,performance_schema")
FETCHED_IN_PARTS = r"^SELECT a FROM s (WHERE a <= n|ORDER BY a)"
UTILITY_ONLY_OURS = {"PREPARE", "EXECUTE", "DEALLOCATE"}
BOTH = """
WITH p AS (SELECT queryid, sum(calls) AS calls, sum(rows) AS n, min(query) AS text
           FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid
           WHERE datname = %s GROUP BY 1),
f AS (SELECT queryid, sum(count_star - sum_errors) AS calls,
             sum(greatest(sum_rows_sent, sum_rows_affected)) AS n, min(digest_text) AS text
      FROM performance_schema.events_statements_summary_by_digest
      WHERE schema_name = %s GROUP BY 1)
SELECT p.queryid IS NOT NULL AS theirs, f.queryid IS NOT NULL AS ours,
       coalesce(p.calls, 0)::int8 AS p_calls, coalesce(f.calls, 0)::int8 AS f_calls,
       coalesce(p.n, 0)::int8 AS p_rows, coalesce(f.n, 0)::int8 AS f_rows,
       coalesce(p.text, f.text) AS text
FROM p FULL JOIN f USING (queryid)
"""


class Bench:
    """A server with both libraries and a database that only the load uses."""

    def __init__(self, cluster: Any, connect: Callable[..., Any]) -> None:
        self.cluster = cluster
        cluster.psql(f"CREATE DATABASE {DATABASE}")
        cluster.psql("CREATE EXTENSION pg_stat_statements")
        self.observer = connect(cluster)
        everything_on(self.observer)

    def reset(self) -> None:
        """Both start at zero; nobody is connected to the database."""
        self.observer.execute("SELECT pg_stat_statements_reset()")
        self.observer.execute("SELECT performance_schema.reset_all()")

    def run(self, *command: Any) -> str:
        """A load program; its output."""
        done = subprocess.run(
            [str(word) for word in command],
            env=self.cluster.client_env(DATABASE),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LOAD_SECONDS + 60,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:]
        return done.stdout

    def differences(self, ignored: str | None = None) -> list[Any]:
        """Rows that disagree; texts that match `ignored` are left to the caller."""
        own_ids = self.cluster.version() < 18
        in_parts = self.cluster.version() < 16
        found = []
        by_word: dict[str, list[int]] = {}
        for row in rows(self.observer, BOTH, DATABASE, DATABASE):
            word = re.split(r"[\s;(]", row.text.strip().upper(), maxsplit=1)[0]
            word = {"END": "COMMIT", "START": "BEGIN", "ABORT": "ROLLBACK"}.get(word, word)
            if ignored and re.match(ignored, row.text, re.IGNORECASE):
                continue
            if word in UTILITY_ONLY_OURS and (not row.theirs or own_ids):
                continue
            if row.theirs and row.ours and (row.p_calls, row.p_rows) == (row.f_calls, row.f_rows):
                continue
            if not row.theirs and row.f_calls == 0:
                continue  # only failures, which the other does not count
            if row.theirs != row.ours and own_ids:
                sums = by_word.setdefault(word, [0, 0, 0, 0])
                for i, value in enumerate((row.p_calls, row.f_calls, row.p_rows, row.f_rows)):
                    sums[i] += value
                continue
            if row.theirs and row.ours and in_parts and re.search(FETCHED_IN_PARTS, row.text):
                assert row.p_calls == row.f_calls, row
                continue
            found.append(row)
        for word, sums in by_word.items():
            if sums[0] != sums[1] or sums[2] != sums[3]:
                found.append((word, *sums))
        return found

    def ours(self, pattern: str) -> tuple[int, int]:
        """Completed and failed executions of the statements whose digest text matches."""
        return self.observer.execute(
            "SELECT coalesce(sum(count_star - sum_errors), 0)::int8, "
            "coalesce(sum(sum_errors), 0)::int8 "
            "FROM performance_schema.events_statements_summary_by_digest "
            "WHERE schema_name = %s AND digest_text ~* %s",
            (DATABASE, pattern),
        ).fetchone()

    def levels_agree(self) -> None:
        """Threads that live plus accounts of the dead equal the global row, name by name."""
        prefix = "performance_schema.events_statements_summary"
        sums = """SELECT event_name, count_star::int8, sum_rows_sent::int8, sum_errors::int8
                  FROM {} WHERE count_star > 0"""
        total = {
            row[0]: row[1:]
            for row in self.observer.execute(
                sums.format(f"{prefix}_global_by_event_name")
            ).fetchall()
        }
        parts: dict[str, list[int]] = {}
        for row in self.observer.execute(
            "SELECT event_name, sum(count_star)::int8, sum(sum_rows_sent)::int8, "
            f"sum(sum_errors)::int8 FROM {prefix}_by_account_by_event_name GROUP BY 1"
        ).fetchall():
            parts[row[0]] = list(row[1:])
        for name in ("statement/sql/insert", "statement/sql/update", "statement/sql/commit"):
            if name in total:
                assert list(total[name]) == parts[name], name


@pytest.fixture
def bench(
    new_cluster: Callable[..., Any], connect: Callable[..., Any], request: pytest.FixtureRequest
) -> Bench:
    """A server with the load order that the test's parameter names."""
    order = getattr(request, "param", ORDERS[0])
    return Bench(
        new_cluster(
            shared_preload_libraries=order,
            pg_stat_statements__track="all",
            pg_stat_statements__track_utility="on",
            max_prepared_transactions=5,
            fsync="off",
            autovacuum="off",
        ),
        connect,
    )


def client_number(pattern: str, output: str) -> int:
    found = re.search(pattern, output)
    assert found, output[-2000:]
    return int(found[1])


@pytest.mark.timeout(LOAD_SECONDS + 120)
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
@pytest.mark.parametrize("bench", ORDERS, indirect=True, ids=["pfs-pgss", "pgss-pfs"])
def test_sysbench(bench: Bench) -> None:
    """64 threads of oltp_read_write."""
    command = [
        "sysbench", "oltp_read_write", "--db-driver=pgsql",
        f"--pgsql-host={bench.cluster.host}", f"--pgsql-port={bench.cluster.port}",
        "--pgsql-user=postgres", f"--pgsql-db={DATABASE}", "--tables=2", "--table-size=5000",
        "--threads=64", f"--time={LOAD_SECONDS}", "--report-interval=0",
    ]  # fmt: skip
    bench.run(*command, "prepare")
    bench.reset()
    output = bench.run(*command, "run")
    transactions = client_number(r"transactions:\s+(\d+)", output)
    errors = client_number(r"ignored errors:\s+(\d+)", output)
    assert transactions > 0
    assert losses(bench.observer).keys() <= BY_DESIGN
    assert bench.differences(r"BEGIN|COMMIT") == []
    assert bench.ours("^BEGIN") == (transactions + errors, 0)
    assert bench.ours("^COMMIT") == (transactions, 0)
    bench.levels_agree()


@pytest.mark.timeout(LOAD_SECONDS + 120)
@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_pgbench(bench: Bench, mode: str) -> None:
    """32 clients of TPC-B."""
    pgbench = bench.cluster.bindir / "pgbench"
    bench.run(pgbench, "-i", "-q", "-s", "4")
    bench.reset()
    output = bench.run(pgbench, "-n", "-c", "32", "-j", "2", "-T", LOAD_SECONDS, "-M", mode)
    transactions = client_number(r"transactions actually processed: (\d+)", output)
    assert losses(bench.observer).keys() <= BY_DESIGN
    assert bench.differences(r"BEGIN|END" if mode == "prepared" else None) == []
    for command in ("^BEGIN", "^END", "^UPDATE.*pgbench_tellers", "^INSERT"):
        assert bench.ours(command) == (transactions, 0), command
    bench.levels_agree()


SCRIPT = """
CREATE TABLE s (a int PRIMARY KEY, b text);
CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r record; k int := 0;
BEGIN
    FOR r IN SELECT a FROM s WHERE a <= n LOOP
        UPDATE s SET b = b || 'x' WHERE a = r.a; k := k + 1;
    END LOOP;
    RETURN k;
END $$;
CREATE FUNCTION g(n int) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) + n FROM s $$;
CREATE FUNCTION deep(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN IF n = 0 THEN RETURN (SELECT count(*) FROM s); END IF; RETURN (SELECT deep(n - 1)); END $$;
CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM count(*) FROM s WHERE a = new.a; RETURN new; END $$;
CREATE FUNCTION h() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    BEGIN INSERT INTO s VALUES (1, 'dup'); EXCEPTION WHEN unique_violation THEN PERFORM 1; END;
    BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END;
    RETURN 1;
END $$;
CREATE TRIGGER t1 AFTER INSERT ON s FOR EACH ROW EXECUTE FUNCTION tr();
INSERT INTO s SELECT i, i::text FROM generate_series(1, 200) i;
-- cursors
BEGIN; DECLARE c CURSOR FOR SELECT * FROM s ORDER BY a;
FETCH 10 FROM c; FETCH 20 FROM c; MOVE 5 IN c; CLOSE c; COMMIT;
BEGIN; DECLARE c2 CURSOR WITH HOLD FOR SELECT a FROM s; COMMIT;
FETCH 3 FROM c2; FETCH ALL FROM c2; CLOSE c2;
DO $$ DECLARE c CURSOR FOR SELECT a FROM s ORDER BY a; n int;
BEGIN OPEN c; FETCH c INTO n; FETCH c INTO n; CLOSE c; END $$;
-- COPY
COPY s TO '{base}/s.copy';
COPY (SELECT a + 1000, b FROM s) TO '{base}/s2.copy';
COPY s FROM '{base}/s2.copy';
-- DO, EXECUTE, functions
DO $$ BEGIN PERFORM f(5); EXECUTE 'SELECT 1'; END $$;
PREPARE p1 AS SELECT * FROM s WHERE a = $1; EXECUTE p1(1); EXECUTE p1(2); DEALLOCATE p1;
SELECT f(15); SELECT g(3); SELECT g(a) FROM s WHERE a < 5; SELECT h(); SELECT h(); SELECT deep(7);
CREATE TABLE s2 AS SELECT * FROM s;
SELECT a INTO s3 FROM s WHERE a < 8;
EXPLAIN ANALYZE SELECT count(*) FROM s; EXPLAIN SELECT * FROM s;
SELECT 1; SELECT 2; SELECT 'a'; SELECT 1 WHERE false;
UPDATE s SET b = 'y' WHERE a < 10 RETURNING a;
-- failures
SELECT 1 / 0; SELECT 1 / a FROM (SELECT a - 5 AS a FROM s ORDER BY a) x; SELECT nosuch; SELEC 1;
INSERT INTO s VALUES (1, 'x');
BEGIN; SELECT 1; SELECT 1 / 0; SELECT 2; ROLLBACK;
BEGIN; SAVEPOINT a; INSERT INTO s VALUES (5000, 'x'); ROLLBACK TO a; SAVEPOINT b; RELEASE b; COMMIT;
BEGIN; SAVEPOINT a; INSERT INTO s VALUES (1, 'x'); ROLLBACK TO a; SELECT count(*) FROM s; COMMIT;
CREATE TABLE d (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
INSERT INTO d VALUES (1); BEGIN; INSERT INTO d VALUES (2); COMMIT;
-- procedures
CREATE PROCEDURE pr() LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO s VALUES (6000, 'a'); COMMIT;
    INSERT INTO s VALUES (6001, 'a'); ROLLBACK;
    INSERT INTO s VALUES (6002, 'b');
END $$;
CALL pr(); CALL pr();
BEGIN; INSERT INTO s VALUES (7000, 'p'); PREPARE TRANSACTION 'gid1'; COMMIT PREPARED 'gid1';
REFRESH MATERIALIZED VIEW nosuch; CREATE MATERIALIZED VIEW mv AS SELECT * FROM s;
REFRESH MATERIALIZED VIEW mv;
SET work_mem = '64kB'; SELECT count(*) FROM (SELECT a, b FROM s ORDER BY b) x; RESET work_mem;
-- a parallel query
SET {parallel} = on; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT count(*) FROM s; SELECT sum(a) FROM s WHERE b <> 'q'; RESET ALL;
VACUUM s; ANALYZE s;
WITH w AS (INSERT INTO s VALUES (8000, 'w') RETURNING a) SELECT * FROM w;
MERGE INTO s USING (VALUES (1, 'm'), (9000, 'n')) v (a, b) ON s.a = v.a
    WHEN MATCHED THEN UPDATE SET b = v.b WHEN NOT MATCHED THEN INSERT VALUES (v.a, v.b);
CREATE RULE r1 AS ON DELETE TO s2 DO ALSO UPDATE s SET b = 'r' WHERE a = old.a;
DELETE FROM s2 WHERE a = 3;
LISTEN x; NOTIFY x; UNLISTEN x; LOCK TABLE s; TRUNCATE s3;
\\copy s2 to '/dev/null'
"""


def pipeline(bench: Bench) -> None:
    """The extended protocol: pipelines with and without failure, executemany, fetching in parts."""
    with bench.cluster.connect(dbname=DATABASE) as conn:
        with conn.pipeline(), conn.cursor() as cursor:
            for i in range(20):
                cursor.execute("UPDATE s SET b = %s WHERE a = %s", (f"p{i}", i), prepare=True)
                cursor.execute("SELECT a FROM s WHERE a < %s", (i,))
        with bench.cluster.connect(dbname=DATABASE) as broken:
            try:
                with broken.pipeline():
                    broken.execute("SELECT a FROM s WHERE a = %s", (1,))
                    broken.execute("SELECT 1 / %s::int", (0,))
                    broken.execute("SELECT a FROM s WHERE a = %s", (2,))
            except Exception as error:
                assert "division by zero" in str(error)
        with conn.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO s VALUES (%s, 'm')", [(i,) for i in range(10000, 10050)]
            )
        with conn.transaction(), conn.cursor("named") as cursor:
            cursor.itersize = 7
            cursor.execute("SELECT a FROM s ORDER BY a")
            assert len([row for row in cursor]) > 100
        with conn.cursor() as cursor, cursor.copy("COPY s FROM STDIN") as copy:
            for i in range(20000, 20030):
                copy.write_row((i, "copied"))
        with conn.cursor() as cursor, cursor.copy("COPY (SELECT a FROM s) TO STDOUT") as copy:
            assert len(list(copy)) > 100


@pytest.mark.parametrize("bench", ORDERS, indirect=True, ids=["pfs-pgss", "pgss-pfs"])
def test_script(bench: Bench, tmp_path: Any) -> None:
    """Cursors, COPY, DO, EXECUTE, pipelines, nesting, triggers, parallel workers, failures."""
    parallel = "debug_parallel_query" if bench.cluster.version() >= 16 else "force_parallel_mode"
    script = tmp_path / "script.sql"
    script.write_text(
        SCRIPT.replace("{base}", str(bench.cluster.base)).replace("{parallel}", parallel)
    )
    bench.reset()
    bench.cluster.psql(None, "-At", "-v", "ON_ERROR_STOP=0", file=script, dbname=DATABASE)
    pipeline(bench)
    assert losses(bench.observer).keys() <= BY_DESIGN
    assert bench.differences() == []
    assert bench.ours(r"^EXECUTE")[0] == 2
    assert one(bench.observer, "SELECT count(*) FROM pg_stat_statements") > 80


@pytest.mark.parametrize("n", [1, 50])
def test_parallel_query_counts_once(bench: Bench, n: int) -> None:
    """n executions with workers are n statements, and no worker shows statements of its own."""
    with bench.cluster.connect(dbname=DATABASE) as conn:
        conn.execute("CREATE TABLE big AS SELECT i FROM generate_series(1, 20000) i")
        conn.execute("ANALYZE big")
        conn.execute(
            "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; "
            "SET min_parallel_table_scan_size = 0"
        )
        plan = conn.execute("EXPLAIN SELECT count(*) FROM big").fetchall()
        assert "Gather" in str(plan)
        bench.reset()
        for _ in range(n):
            assert one(conn, "SELECT count(*) FROM big") == 20000
    assert bench.differences() == []
    assert bench.ours(r"count.*big") == (n, 0)


def test_failure_at_commit(bench: Bench) -> None:
    """Deferred constraints: calls there equal COUNT_STAR here, and the failure is an error here."""
    script = """
CREATE TABLE d (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
INSERT INTO d VALUES (1); INSERT INTO d VALUES (1); INSERT INTO d VALUES (2);
BEGIN; INSERT INTO d VALUES (1); COMMIT;
"""
    bench.reset()
    with bench.cluster.connect(dbname=DATABASE) as conn:
        for line in script.strip().split(";"):
            with contextlib.suppress(psycopg.Error):
                conn.execute(line)
    assert bench.ours("^INSERT") == (3, 1)
    assert bench.ours("^COMMIT") == (0, 1)
    calls = "SELECT sum(calls)::int8 FROM pg_stat_statements WHERE query LIKE 'INSERT INTO d%'"
    assert one(bench.observer, calls) == 4


def test_cursor_open_at_rollback(bench: Bench) -> None:
    """Its query is a statement of ours, with the rows that were fetched."""
    bench.reset()
    with bench.cluster.connect(dbname=DATABASE) as conn:
        conn.execute("BEGIN")
        conn.execute("DECLARE c CURSOR FOR SELECT i FROM generate_series(1, 9) i")
        conn.execute("FETCH 3 FROM c")
        conn.execute("ROLLBACK")
    found = bench.observer.execute(
        "SELECT schema_name, count_star FROM "
        "performance_schema.events_statements_summary_by_digest "
        "WHERE sum_rows_sent = 3 AND (digest_text ~ '^DECLARE' OR digest_text IS NULL)"
    ).fetchall()
    # before 18 the server gives the query of DECLARE no id: it has no digest
    assert found == ([(DATABASE, 1)] if bench.cluster.version() >= 18 else [])
