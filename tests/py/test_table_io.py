"""Table I/O: rows by table and index equal the server's own counters, in every way to touch a row.

The server's truth is pg_stat_get_tuples_*: FETCH without an index is what sequential and bitmap
scans read, FETCH of an index its tuples_fetched, the others n_tup_ins, n_tup_upd, n_tup_del. What
utility statements other than COPY read and write themselves is left out: docs/parity.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from helpers import (
    PS_PER_S,
    RawClient,
    instruments,
    losses,
    one,
    rows,
    thread_of,
    wait_gone,
    wait_until,
)

BY_INDEX = "performance_schema.table_io_waits_summary_by_index_usage"
BY_TABLE = "performance_schema.table_io_waits_summary_by_table"
HANDLER = "wait/io/table/sql/handler"


class Io(NamedTuple):
    """Rows of one table or index."""

    fetch: int = 0
    insert: int = 0
    update: int = 0
    delete: int = 0


def server_io(observer: Any, schema: str) -> dict[tuple[str, str | None], Io]:
    """What the server has counted; relations without rows are left out."""
    found = rows(
        observer,
        "SELECT c.relname AS name, NULL AS index, "
        "pg_stat_get_tuples_returned(c.oid) + pg_stat_get_tuples_fetched(c.oid) AS fetch, "
        "pg_stat_get_tuples_inserted(c.oid) AS insert, "
        "pg_stat_get_tuples_updated(c.oid) AS update, "
        "pg_stat_get_tuples_deleted(c.oid) AS delete "
        "FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'm') "
        "UNION ALL "
        "SELECT c.relname, i.relname, pg_stat_get_tuples_fetched(i.oid), 0, 0, 0 "
        "FROM pg_class c JOIN pg_index x ON x.indrelid = c.oid "
        "JOIN pg_class i ON i.oid = x.indexrelid "
        "WHERE c.relnamespace = %s::regnamespace AND i.relkind = 'i'",
        schema,
        schema,
    )
    return {
        (row.name, row.index): Io(*row[2:6]) for row in found if any(count for count in row[2:6])
    }


def our_io(observer: Any, schema: str) -> dict[tuple[str, str | None], Io]:
    """The same from the table under test."""
    found = rows(
        observer,
        "SELECT object_name, index_name, count_fetch, count_insert, count_update, count_delete "
        f"FROM {BY_INDEX} WHERE object_schema = %s",
        schema,
    )
    return {(row[0], row[1]): Io(*row[2:6]) for row in found if any(row[2:6])}


def assert_equal(observer: Any, schema: str) -> dict[tuple[str, str | None], Io]:
    """Waits until both are the same: the server's numbers arrive when its processes are idle."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: our_io(observer, schema) == server_io(observer, schema), "equality", 5)
    ours = our_io(observer, schema)
    assert ours == server_io(observer, schema)
    return ours


class Session:
    """A connection with a schema of its own, first in its search path."""

    def __init__(self, cluster: Any, schema: str, **options: Any) -> None:
        self.schema = schema
        self.conn = cluster.connect(prepare_threshold=None, **options)
        self.conn.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        self.conn.execute(f"CREATE SCHEMA {schema}")
        self.conn.execute(f"SET search_path = {schema}, public")
        self.conn.execute("SET debug_parallel_query = off" if self.version >= 16 else "SELECT 1")

    @property
    def version(self) -> int:
        return self.conn.info.server_version // 10000

    def run(self, *statements: str) -> None:
        """Statements one by one; `!` in front: must fail. `COPY table: data` copies in."""
        for sql in statements:
            copied = re.match(r"(!?)(COPY [^:]*): (.*)", sql, re.DOTALL)
            fails = sql.startswith("!")
            try:
                if copied:
                    with self.conn.cursor().copy(copied[2]) as copy:
                        copy.write(copied[3])
                elif sql.startswith("COPY") and "TO STDOUT" in sql:
                    with self.conn.cursor().copy(sql) as copy:
                        for _ in copy:
                            pass
                else:
                    self.conn.execute(sql.removeprefix("!"))
            except psycopg.Error:
                if not fails:
                    raise
            else:
                assert not fails, sql

    def flush(self) -> None:
        """The server's counters go to shared memory before this returns."""
        self.conn.execute("SELECT pg_stat_force_next_flush()")


@pytest.fixture
def s(cluster: Any) -> Iterator[Session]:
    session = Session(cluster, "tio")
    yield session
    session.conn.close()
    with cluster.connect() as conn:
        conn.execute("DROP SCHEMA IF EXISTS tio CASCADE")


BASE = (
    "CREATE TABLE t (id int PRIMARY KEY, v int, txt text)",
    "ALTER TABLE t SET (autovacuum_enabled = off)",
    "CREATE INDEX t_v ON t (v)",
    "INSERT INTO t SELECT g, g % 100, 'x' || g FROM generate_series(1, 1000) g",
    "VACUUM t",
)
"""Without statistics: with them the planner looks into indexes, which is not counted here."""
PARTED = (
    "CREATE TABLE p (id int, v int, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200)",
    "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (200) TO (300) PARTITION BY RANGE (id)",
    "CREATE TABLE p31 PARTITION OF p3 FOR VALUES FROM (200) TO (250)",
    "CREATE TABLE p32 PARTITION OF p3 FOR VALUES FROM (250) TO (300)",
)
LOOP = (
    "CREATE FUNCTION count_up(n int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; x int; "
    "BEGIN FOR r IN SELECT * FROM t WHERE id <= n LOOP "
    "SELECT v INTO x FROM t WHERE id = r.id; UPDATE t SET v = v + 1 WHERE id = r.id; "
    "END LOOP; RETURN x; END $$"
)
CATCH = (
    "CREATE FUNCTION catch(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..n LOOP "
    "BEGIN INSERT INTO t VALUES (5000 + i, 0, ''); PERFORM count(*) FROM t WHERE id < 20; "
    "IF i % 2 = 0 THEN INSERT INTO t VALUES (1, 0, ''); END IF; "
    "EXCEPTION WHEN unique_violation THEN UPDATE t SET v = 0 WHERE id = i; END; "
    "END LOOP; RETURN n; END $$"
)
SLOW = (
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_indexonlyscan = off",
)



def again(*statements: str) -> list[str]:
    """So often that what is frequent goes the short way, and is timed only now and then."""
    return [sql.format(i=i) for i in range(1, 61) for sql in statements]


WARM = (*BASE, *SLOW, *again("SELECT * FROM t WHERE id = {i}", "UPDATE t SET v = v + 1 WHERE id = {i}",
    "INSERT INTO t VALUES (2000 + {i}, {i}, '')", "DELETE FROM t WHERE id = 2000 + {i}"))  # fmt: skip

WHOLE = (
    "CREATE TABLE s (a int, b int)", "CREATE TABLE l (a int, b int)",
    "INSERT INTO s SELECT g, g FROM generate_series(1, 20) g",
    "INSERT INTO l SELECT g, g FROM generate_series(1, 60) g",
)  # fmt: skip

CASES: dict[str, tuple[str, ...]] = {
    "frequent": (*WARM, *again("SELECT * FROM t WHERE id < {i} ORDER BY txt",
        "SELECT DISTINCT v FROM t WHERE id < {i}", "SELECT sum(v) FROM t WHERE id < {i}",
        "SELECT * FROM t WHERE id = {i} FOR UPDATE", "UPDATE t SET v = 0 WHERE id = -{i}")),
    "frequent in blocks": (*WARM, *again("BEGIN", "UPDATE t SET v = 1 WHERE id = {i}", "SAVEPOINT a",
        "UPDATE t SET v = 2 WHERE id = {i}", "DELETE FROM t WHERE id = {i} + 100", "ROLLBACK TO a",
        "DELETE FROM t WHERE id = {i} + 200", "INSERT INTO t VALUES (3000 + {i}, 0, '')", "COMMIT"),
        "BEGIN", "UPDATE t SET v = 1 WHERE id = 5", "TRUNCATE t", "ROLLBACK", "BEGIN", "TRUNCATE t",
        "INSERT INTO t VALUES (1, 1, '')", "UPDATE t SET v = 1 WHERE id = 1", "COMMIT"),
    "frequent and failed": (*WARM, *again("!UPDATE t SET id = 90 WHERE id = {i}",
        "!INSERT INTO t VALUES ({i}, 0, '')", "!SELECT 1 / (id - 30) FROM t WHERE id < 30 + {i}")),
    "frequent and nested": (*WARM, CATCH, "CREATE FUNCTION near() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN PERFORM 1 FROM t WHERE id = new.id - 1; IF new.id < 400 THEN "
        "UPDATE t SET txt = 'near' WHERE id = new.id + 500; END IF; RETURN new; END $$",
        "CREATE TRIGGER near BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION near()",
        *again("UPDATE t SET v = 5 WHERE id = {i}", "SELECT catch(2) FROM t WHERE id = {i}")),
    "frequent, in parts": (*WARM, *again("BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t WHERE id < 90",
        "FETCH 5 c", "SELECT * FROM t WHERE id = {i}", "FETCH 7 c",
        "UPDATE t SET v = 0 WHERE CURRENT OF c", "FETCH {i} c", "COMMIT")),
    "frequent exclusion": ("CREATE TABLE x (a int PRIMARY KEY, b int)", *SLOW,
        *again("INSERT INTO x VALUES ({i}, {i})", "UPDATE x SET b = b + 100 WHERE a = {i}"),
        "TRUNCATE x", "ALTER TABLE x ADD EXCLUDE USING btree (b WITH =)",
        *again("INSERT INTO x VALUES (1000 + {i}, {i})", "UPDATE x SET b = -b WHERE a = {i}",
        "!INSERT INTO x VALUES (2000 + {i}, 1)")),
    "frequent, from another": (*WARM, "CREATE TABLE o (id int, v int, txt text)",
        *again("INSERT INTO o SELECT * FROM t WHERE id = {i}", "INSERT INTO o SELECT * FROM t "
        "WHERE id < {i} ORDER BY v LIMIT 5", "INSERT INTO o VALUES (1, 1), (2, 2)")),
    "frequent and routed": (*WARM, *PARTED, *again("INSERT INTO p VALUES (5 * {i} - 1, 0) "
        "ON CONFLICT (id) DO UPDATE SET v = 1", "SELECT * FROM t WHERE id = {i}",
        "UPDATE p SET v = v + 1 WHERE id = 5 * {i} - 1", "UPDATE t SET v = 0 WHERE id = {i}")),
    "frequent, whole tables": (*WHOLE, *again("SELECT count(*) FROM s", "SELECT * FROM s ORDER BY b LIMIT 3",
        "SELECT DISTINCT b FROM s WHERE a < {i}", "SELECT * FROM s WHERE a = {i} FOR UPDATE", "SELECT sum(b) FROM l",
        "UPDATE s SET b = b + 1 WHERE a = {i} % 20", "DELETE FROM l WHERE a = {i}")),
    "frequent, whole tables that grow": (*WHOLE, "CREATE FUNCTION grow(n int) RETURNS bigint LANGUAGE plpgsql AS $$ "
        "DECLARE x bigint; BEGIN FOR i IN 1..n LOOP SELECT count(*) INTO x FROM s; INSERT INTO s VALUES (100, x); "
        "SELECT count(*) INTO x FROM s WHERE a = 100; DELETE FROM s WHERE a = 100 AND b % 2 = 0; END LOOP; "
        "RETURN x; END $$",
        *again("SELECT sum(grow(2)) FROM s WHERE a <= 3", "SELECT grow(3)", "SELECT count(*) FROM s")),
    "frequent, whole tables, failed": (*WHOLE, "CREATE FUNCTION fail() RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; "
        "BEGIN SELECT sum(1 / (b - 7)) INTO x FROM s; RETURN x; EXCEPTION WHEN division_by_zero THEN "
        "SELECT count(*) INTO x FROM s; RETURN x; END $$",
        *again("!SELECT 1 / (a - 9) FROM s", "SELECT fail()", "SELECT fail() FROM s WHERE a < 4")),
    "frequent, whole tables, in parts": (*WHOLE, *again("BEGIN", "DECLARE c CURSOR FOR SELECT * FROM s", "FETCH 5 c",
        "INSERT INTO s VALUES (50, {i})", "SELECT count(*) FROM s", "FETCH 7 c", "DELETE FROM s WHERE a = 50",
        "SAVEPOINT a", "FETCH {i} c", "SELECT sum(a) FROM s", "ROLLBACK TO a", "FETCH 2 c", "COMMIT"),
        "BEGIN", "SELECT * FROM s", "TRUNCATE s", "SELECT * FROM s", "ROLLBACK", "SELECT * FROM s"),
    "insert": (*BASE, "INSERT INTO t VALUES (2000, 1, 'a'), (2001, 2, 'b') RETURNING *"),
    "seq scan": (*BASE, "SELECT count(*) FROM t", "SELECT * FROM t WHERE txt = 'x5' LIMIT 1"),
    "index scan": (*BASE, *SLOW, "SELECT * FROM t WHERE id = 5", "SELECT * FROM t WHERE id < 50"),
    "nothing found": (*BASE, *SLOW, "SELECT * FROM t WHERE id = -5"),
    "bitmap scan": (*BASE, "SET enable_seqscan = off", "SET enable_indexscan = off",
        "SELECT * FROM t WHERE v = 7", "SELECT * FROM t WHERE v = 7 OR id < 20"),
    "index-only scan": (*BASE, "SET enable_seqscan = off", "SET enable_bitmapscan = off",
        "SELECT v FROM t WHERE v < 10", "UPDATE t SET v = v + 1 WHERE id < 100",
        "SELECT v FROM t WHERE v < 10"),
    "self join": (*BASE, "SELECT count(*) FROM t a JOIN t b ON a.v = b.v"),
    "self join by index": (*BASE, *SLOW, "SET enable_hashjoin = off", "SET enable_mergejoin = off",
        "SELECT count(*) FROM t a JOIN t b ON b.id = a.v WHERE a.id < 300"),
    "sub-select": (*BASE, "SELECT id, (SELECT max(v) FROM t x WHERE x.id < t.v) FROM t "
        "WHERE id < 9"),
    "init plan and CTE": (*BASE, "WITH a AS MATERIALIZED (SELECT * FROM t WHERE id < 10) "
        "SELECT count(*) FROM a, a b WHERE a.v < (SELECT avg(v) FROM t)"),
    "modifying CTE": (*BASE, "WITH gone AS (DELETE FROM t WHERE id < 10 RETURNING *), "
        "new AS (INSERT INTO t SELECT id + 7000, v, txt FROM gone RETURNING *) "
        "UPDATE t SET v = -1 FROM new WHERE t.id = new.id - 6000"),
    "update and delete": (*BASE, "UPDATE t SET v = v + 1 WHERE id % 3 = 0",
        "DELETE FROM t WHERE v = 5", "DELETE FROM t USING t x WHERE t.id = x.id + 1 AND x.v = 9"),
    "for update": (*BASE, "BEGIN", "SELECT * FROM t WHERE id < 5 FOR UPDATE", "COMMIT"),
    "sampling": (*BASE, "SELECT count(*) FROM t TABLESAMPLE BERNOULLI (30) REPEATABLE (1)",
        "SELECT count(*) FROM t TABLESAMPLE SYSTEM (50) REPEATABLE (1)"),
    "by tid": (*BASE, "SELECT * FROM t WHERE ctid = '(0,3)'",
        "SELECT count(*) FROM t WHERE ctid > '(0,10)' AND ctid < '(3,0)'"),
    "upsert": (*BASE, "INSERT INTO t SELECT g, 0, '' FROM generate_series(990, 1010) g "
        "ON CONFLICT (id) DO UPDATE SET v = t.v + 1",
        "INSERT INTO t VALUES (1, 1, '') ON CONFLICT DO NOTHING"),
    "merge": (*BASE, "MERGE INTO t USING (SELECT g AS id FROM generate_series(995, 1005) g) s "
        "ON t.id = s.id WHEN MATCHED AND t.id = 996 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1, '')"),
    "returning, in pieces": (*BASE, "BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t", "FETCH 5 c",
        "FETCH 7 c", "MOVE 3 c", "COMMIT"),
    "routing": (*PARTED, "INSERT INTO p SELECT g, g FROM generate_series(0, 299) g",
        "INSERT INTO p VALUES (5, 0) ON CONFLICT DO NOTHING", "SELECT count(*) FROM p",
        "SELECT * FROM p WHERE id = 120",
        "UPDATE p SET v = v + 1 WHERE id > 240", "DELETE FROM p WHERE id < 10"),
    "routing again": (*PARTED, "INSERT INTO p VALUES (5, 1)", "INSERT INTO p VALUES (6, 1)",
        "BEGIN", "INSERT INTO p VALUES (205, 1)", "INSERT INTO p VALUES (206, 1), (110, 1)",
        "COMMIT", "INSERT INTO p VALUES (7, 1)"),
    "rows that move": (*PARTED, "INSERT INTO p SELECT g, g FROM generate_series(0, 90) g",
        "UPDATE p SET id = id + 100 WHERE id < 20", "UPDATE p SET id = id + 200 WHERE id = 50"),
    "routed upsert": (*PARTED, "INSERT INTO p SELECT g, g FROM generate_series(0, 290) g",
        "INSERT INTO p SELECT g, g FROM generate_series(280, 299) g "
        "ON CONFLICT (id) DO UPDATE SET v = 0",
        "INSERT INTO p VALUES (5, 1) ON CONFLICT (id) DO UPDATE SET v = p.v + 1"),
    "routed merge": (*PARTED, "INSERT INTO p SELECT g, g FROM generate_series(0, 50) g",
        "MERGE INTO p USING (SELECT g AS id FROM generate_series(40, 120) g) s ON p.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1)"),
    "many partitions": ("CREATE TABLE m (id int) PARTITION BY RANGE (id)",
        "DO $$ BEGIN FOR i IN 0..39 LOOP EXECUTE format('CREATE TABLE m%s PARTITION OF m "
        "FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10); END LOOP; END $$",
        "INSERT INTO m SELECT g FROM generate_series(0, 399) g", "SELECT count(*) FROM m",
        "UPDATE m SET id = id WHERE id % 7 = 0", "DELETE FROM m WHERE id > 350"),
    "copy": (*BASE, "COPY t FROM STDIN: 3001\t1\ta\n3002\t2\tb\n", "COPY t TO STDOUT",
        "COPY (SELECT * FROM t WHERE id < 10) TO STDOUT"),
    "routed copy": (*PARTED, "COPY p FROM STDIN: 1\t1\n101\t1\n201\t1\n251\t1\n252\t1\n",
        "COPY p FROM STDIN: 2\t1\n", "BEGIN", "COPY p FROM STDIN: 3\t1\n", "SELECT * FROM p",
        "COMMIT"),
    "failed copy": (*BASE, "!COPY t FROM STDIN: 4001\t1\ta\n4002\t2\tb\n1\t1\tc\n", "SELECT 1"),
    "failed routed copy": (*PARTED, "INSERT INTO p VALUES (1, 1)",
        "!COPY p FROM STDIN: 101\t1\n201\t1\n251\t1\n1\t1\n", "SELECT 1", "SELECT count(*) FROM p"),
    "before triggers": (*BASE, "CREATE TABLE log (id int)",
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO log VALUES (new.id); PERFORM 1 FROM t WHERE id = new.id - 1; "
        "RETURN new; END $$",
        "CREATE TRIGGER note BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note()",
        "INSERT INTO t VALUES (2000, 1, 'a'), (2001, 2, 'b')", "UPDATE t SET v = 0 WHERE id < 5"),
    "after triggers": (*BASE, "CREATE TABLE log (id int)",
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO log VALUES (1); RETURN NULL; END $$",
        "CREATE TRIGGER note AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()",
        "INSERT INTO t VALUES (2000, 1, 'a'), (2001, 2, 'b')",
        "COPY t FROM STDIN: 3001\t1\ta\n3002\t2\tb\n"),
    "triggers on themselves": ("CREATE TABLE r (id int)",
        "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF new.id > 0 THEN INSERT INTO r VALUES (new.id - 1); PERFORM count(*) FROM r; END IF; "
        "RETURN new; END $$",
        "CREATE TRIGGER more BEFORE INSERT ON r FOR EACH ROW EXECUTE FUNCTION more()",
        "INSERT INTO r VALUES (5), (3)", "COPY r FROM STDIN: 4\n2\n"),
    "foreign keys": (*BASE, "CREATE TABLE f (id int REFERENCES t "
        "ON DELETE CASCADE ON UPDATE CASCADE)",
        "INSERT INTO f SELECT id FROM t WHERE id < 50", "DELETE FROM t WHERE id < 10",
        "UPDATE t SET id = id + 9000 WHERE id < 20", "!INSERT INTO f VALUES (-1)",
        "ALTER TABLE f ADD FOREIGN KEY (id) REFERENCES t"),
    "deferred": (*BASE, "CREATE TABLE f (id int REFERENCES t DEFERRABLE INITIALLY DEFERRED)",
        "BEGIN", "INSERT INTO f VALUES (3), (4)", "COMMIT", "BEGIN", "INSERT INTO f VALUES (-3)",
        "!COMMIT"),
    "loops": (*BASE, LOOP, "SELECT count_up(30)", "SELECT count_up(3) FROM t WHERE id < 4"),
    "handled errors": (*BASE, CATCH, "SELECT catch(7)", "BEGIN", "SELECT catch(2)",
        "!SELECT catch(3) / 0", "ROLLBACK"),
    "handled in a loop over a cursor": (*BASE, "DO $$ DECLARE r record; BEGIN "
        "FOR r IN SELECT * FROM t WHERE id < 200 LOOP BEGIN INSERT INTO t VALUES (r.id, 0, ''); "
        "EXCEPTION WHEN unique_violation THEN NULL; END; END LOOP; END $$"),
    "failed": (*BASE, "!INSERT INTO t SELECT g, 0, '' FROM generate_series(1010, 990, -1) g",
        "!SELECT count(*), sum(1 / (v - 50)) FROM t", "!UPDATE t SET id = 1 WHERE id IN (5, 6)",
        "SELECT 1"),
    "rolled back": (*BASE, "BEGIN", "INSERT INTO t VALUES (2000, 0, '')", "UPDATE t SET v = 0",
        "ROLLBACK", "BEGIN", "DELETE FROM t WHERE id < 5", "!SELECT 1 / 0", "ROLLBACK"),
    "open at rollback": (*BASE, "BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t", "FETCH 5 c",
        "ROLLBACK"),
    "savepoints": (*BASE, "BEGIN", "INSERT INTO t VALUES (2000, 0, '')", "SAVEPOINT a",
        "INSERT INTO t VALUES (2001, 0, ''), (2002, 0, '')", "SAVEPOINT b",
        "DELETE FROM t WHERE id < 5", "ROLLBACK TO a", "INSERT INTO t VALUES (2003, 0, '')",
        "!INSERT INTO t VALUES (2004, 0, ''), (1, 0, '')", "ROLLBACK TO a",
        "INSERT INTO t VALUES (2005, 0, '')", "RELEASE a", "COMMIT"),
    "open at savepoint": (*BASE, "BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t", "FETCH 5 c",
        "SAVEPOINT a", "DECLARE d CURSOR FOR SELECT * FROM t", "FETCH 9 d", "FETCH 3 c",
        "ROLLBACK TO a", "FETCH 4 c", "COMMIT"),
    "overlapping cursors": (*BASE, "BEGIN", "DECLARE a CURSOR FOR SELECT * FROM t", "FETCH 5 a",
        "DECLARE b CURSOR FOR SELECT * FROM t", "FETCH 20 b", "CLOSE a", "FETCH 20 b",
        "SELECT * FROM t WHERE id = 3", "COMMIT"),
    "held cursor": (*BASE, "BEGIN", "DECLARE h CURSOR WITH HOLD FOR SELECT * FROM t", "FETCH 5 h",
        "COMMIT", "FETCH 5 h", "CLOSE h"),
    "scrolling": (*BASE, "BEGIN", "DECLARE c SCROLL CURSOR FOR SELECT * FROM t", "FETCH 5 c",
        "FETCH BACKWARD 3 c", "FETCH ABSOLUTE 1 c", "FETCH LAST c", "COMMIT"),
    "truncate": (*BASE, "TRUNCATE t", "INSERT INTO t VALUES (1, 1, '')"),
    "truncate rolled back": (*BASE, "BEGIN", "INSERT INTO t VALUES (2000, 0, '')", "TRUNCATE t",
        "ROLLBACK", "INSERT INTO t VALUES (2000, 0, '')"),
    "truncate first": (*BASE, "BEGIN", "TRUNCATE t", "INSERT INTO t VALUES (1, 0, ''), (2, 0, '')",
        "COMMIT"),
    "create table as": (*BASE, "CREATE TABLE c AS SELECT * FROM t WHERE id < 100",
        "SELECT * INTO d FROM t WHERE id < 10",
        "EXPLAIN ANALYZE CREATE TABLE e AS SELECT * FROM t"),
    "materialized view": (*BASE, "CREATE MATERIALIZED VIEW m AS SELECT id, v FROM t",
        "CREATE UNIQUE INDEX ON m (id)", "UPDATE t SET v = 0 WHERE id < 10",
        "REFRESH MATERIALIZED VIEW m", "UPDATE t SET v = 1 WHERE id < 10",
        "REFRESH MATERIALIZED VIEW CONCURRENTLY m", "SELECT count(*) FROM m"),
    "indexes": (*BASE, "CREATE INDEX ON t (txt)", "REINDEX TABLE t", "REINDEX INDEX t_v"),
    "indexes, concurrently": (*BASE, "CREATE INDEX CONCURRENTLY x ON t (txt)",
        "SELECT count(*) FROM t"),
    "maintenance": (*BASE, "ANALYZE t", "VACUUM t", "VACUUM FULL t", "CLUSTER t USING t_v",
        "VACUUM (FULL, ANALYZE) t", "SELECT count(*) FROM t"),
    "rewrite": (*BASE, "ALTER TABLE t ALTER v TYPE bigint", "ALTER TABLE t ADD CHECK (v >= 0)",
        "ALTER TABLE t ADD w int NOT NULL DEFAULT random() * 9", "SELECT count(*) FROM t"),
    "attach": (*PARTED, "CREATE TABLE p4 (LIKE p)", "INSERT INTO p4 VALUES (301, 1), (302, 1)",
        "ALTER TABLE p4 ADD PRIMARY KEY (id)",
        "ALTER TABLE p ATTACH PARTITION p4 FOR VALUES FROM (300) TO (400)"),
    "exclusion": ("CREATE TABLE x (a int, b int, EXCLUDE USING btree (a WITH =))",
        "INSERT INTO x SELECT g, g FROM generate_series(1, 20) g",
        "UPDATE x SET a = -a WHERE b = 3",
        "!INSERT INTO x VALUES (5, 5)", "UPDATE x SET a = -100 WHERE a = 7"),
    "procedure": (*BASE, "CREATE PROCEDURE work() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..5 LOOP "
        "UPDATE t SET v = v + 1 WHERE id = i; PERFORM count(*) FROM t; "
        "IF i % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF; END LOOP; END $$", "CALL work()"),
    "loop over commits": (*BASE, "CREATE PROCEDURE work() LANGUAGE plpgsql AS $$ DECLARE r record; "
        "BEGIN FOR r IN SELECT * FROM t WHERE id < 9 LOOP UPDATE t SET v = 0 WHERE id = r.id; "
        "COMMIT; END LOOP; END $$", "CALL work()"),
    "prepared": (*BASE, "PREPARE q AS SELECT * FROM t WHERE id = $1", "EXECUTE q (5)",
        "EXECUTE q (6)", "PREPARE w AS UPDATE t SET v = 0 WHERE id = $1", "EXECUTE w (5)"),
    "explain": (*BASE, "EXPLAIN SELECT * FROM t", "EXPLAIN ANALYZE SELECT * FROM t WHERE v = 3",
        "EXPLAIN ANALYZE UPDATE t SET v = 0 WHERE id = 3"),
    "views and functions": (*BASE, "CREATE VIEW w AS SELECT * FROM t WHERE v = 1",
        "SELECT count(*) FROM w", "UPDATE w SET txt = '' WHERE id = 1", "CREATE FUNCTION f(int) "
        "RETURNS SETOF t LANGUAGE sql VOLATILE AS 'SELECT * FROM t WHERE v = $1'",
        "SELECT count(*) FROM f(3)", "SELECT f(4) LIMIT 1"),
    "inheritance": (*BASE, "CREATE TABLE child () INHERITS (t)",
        "INSERT INTO child VALUES (1, 1, 'c')", "SELECT count(*) FROM t",
        "UPDATE t SET v = 9 WHERE txt = 'c'", "DELETE FROM t WHERE txt = 'c'"),
    "rules": (*BASE, "CREATE TABLE o (id int)",
        "CREATE RULE also AS ON DELETE TO t DO ALSO INSERT INTO o VALUES (old.id)",
        "DELETE FROM t WHERE id < 5"),
    "long values": (*BASE, "INSERT INTO t VALUES (9999, 0, (SELECT string_agg(md5(g::text), '') "
        "FROM generate_series(1, 2000) g))", "SELECT length(txt) FROM t WHERE id = 9999"),
    "parallel": (*BASE, "SET parallel_setup_cost = 0", "SET parallel_tuple_cost = 0",
        "SET min_parallel_table_scan_size = 0", "SET min_parallel_index_scan_size = 0",
        "SET max_parallel_workers_per_gather = 3",
        "INSERT INTO t SELECT g, g % 100, '' FROM generate_series(1001, 30000) g",
        "SELECT count(*) FROM t", "SELECT count(txt) FROM t WHERE id < 5000",
        "SET enable_seqscan = off", "SELECT count(txt) FROM t WHERE v = 10"),
    "parallel index build": (*BASE, "SET min_parallel_table_scan_size = 0",
        "INSERT INTO t SELECT g, g % 100, '' FROM generate_series(1001, 30000) g",
        "SET max_parallel_maintenance_workers = 3", "ALTER TABLE t SET (parallel_workers = 3)",
        "CREATE INDEX ON t (txt, v)"),
    "unlogged": ("CREATE UNLOGGED TABLE u (id int)", "INSERT INTO u VALUES (1), (2)", "TABLE u"),
    "many relations": (*BASE, "DO $$ BEGIN FOR i IN 1..60 LOOP EXECUTE format('CREATE TABLE s%s "
        "(id int PRIMARY KEY)', i); EXECUTE format('INSERT INTO s%s VALUES (1)', i); END LOOP; "
        "FOR i IN 1..60 LOOP EXECUTE format('SELECT * FROM s%s', i); END LOOP; END $$"),
    "renamed": (*BASE, "ALTER TABLE t RENAME TO tt", "SELECT count(*) FROM tt",
        "ALTER INDEX t_v RENAME TO tt_v", "SET enable_seqscan = off", "SET enable_bitmapscan = off",
        "SELECT txt FROM tt WHERE v = 3"),
}  # fmt: skip


WITHOUT_UTILITIES: dict[str, dict[tuple[str, str | None], Io]] = {
    "create table as": {("t", None): Io(3000, 1000)},
    "materialized view": {("t", None): Io(5000, 1000, 18), ("m", None): Io(2000, 9, 0, 9)},
    "indexes": {("t", None): Io(0, 1000)},
    "indexes, concurrently": {("t", None): Io(1000, 1000)},
    "maintenance": {("t", None): Io(1000, 1000)},
    "rewrite": {("t", None): Io(1000, 1000)},
    "attach": {("p4", None): Io(0, 2)},
    "parallel index build": {("t", None): Io(0, 30000)},
}
"""Where a utility statement reads or writes rows without a query: what is left."""


@pytest.mark.parametrize("name", WITHOUT_UTILITIES)
def test_utilities_are_left_out(s: Session, conn: Any, name: str) -> None:
    """Rows of their queries count; those that they read, copy or check themselves do not."""
    s.run(*CASES[name])
    s.flush()
    server = server_io(conn, s.schema)
    ours = our_io(conn, s.schema)
    assert ours == WITHOUT_UTILITIES[name]
    assert all(mine <= theirs for key in ours for mine, theirs in zip(ours[key], server[key]))


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_UTILITIES])
def test_equals_the_server(s: Session, conn: Any, name: str) -> None:
    """All rows of all tables and indexes of the schema."""
    before = losses(conn)
    s.run(*CASES[name])
    s.flush()
    ours = assert_equal(conn, s.schema)
    assert ours
    assert losses(conn) == before


@pytest.mark.parametrize("name", ["handled errors", "loops", "routing", "foreign keys", "parallel"])
def test_one_transaction(s: Session, conn: Any, name: str) -> None:
    """The same inside a block: the server keeps its counters till the end."""
    statements = [sql for sql in CASES[name] if not sql.startswith(("VACUUM", "!", "BEGIN"))]
    statements = [sql for sql in statements if sql not in ("COMMIT", "ROLLBACK")]
    s.run("BEGIN", *statements, "COMMIT")
    s.flush()
    assert_equal(conn, s.schema)


@pytest.mark.parametrize("protocol", ["extended", "pieces", "pipeline"])
def test_protocols(cluster: Any, s: Session, conn: Any, protocol: str) -> None:
    """Prepared statements, portals that run in pieces, several statements before one Sync."""
    s.run(*BASE)
    s.flush()
    with RawClient(cluster) as raw:
        raw.query("SET search_path = tio")
        for _ in range(3):
            if protocol == "extended":
                raw.parse("SELECT * FROM t WHERE v = 3").bind().execute().sync()
                raw.parse("UPDATE t SET v = 4 WHERE id = 9").bind().execute().sync()
            elif protocol == "pieces":
                raw.parse("SELECT * FROM t").bind(portal="a").execute("a", 5)
                raw.execute("a", 7).sync()
                raw.query("BEGIN")
                raw.parse("SELECT * FROM t").bind(portal="a").execute("a", 5).sync()
                raw.execute("a", 0).sync()
                raw.query("COMMIT")
            else:
                raw.parse("INSERT INTO t SELECT max(id) + 1 FROM t").bind().execute()
                raw.parse("SELECT 1 FROM t").bind().execute()
                raw.parse("INSERT INTO t VALUES (1)").bind().execute().sync()
        raw.query("SELECT pg_stat_force_next_flush()")
        assert_equal(conn, s.schema)


def congruent_index(s: Session, table: str, other: str) -> None:
    """Creates an index of which a process keeps the counters where it keeps the other index's."""
    oids = 4096  # PFS_KNOWN
    taken = one(s.conn, "SELECT %s::regclass::oid::bigint", other)
    for _ in range(20):
        last = int(one(s.conn, "SELECT lo_create(0)::bigint"))
        s.conn.execute(
            "SELECT count(lo_create(0)) FROM generate_series(1, %s)", ((taken - last - 1) % oids,)
        )
        s.conn.execute(f"CREATE INDEX {table}_congruent ON {table} (id)")
        found = one(s.conn, f"SELECT '{table}_congruent'::regclass::oid::bigint")
        if (found - taken) % oids == 0:
            return
        s.conn.execute(f"DROP INDEX {table}_congruent")
    pytest.skip("others take the oids")


def test_forgotten_between_pieces(s: Session, conn: Any) -> None:
    """A query in pieces: in between its index gives way to another one's counters."""
    s.run(*BASE, "CREATE TABLE o (id int)", *SLOW)
    congruent_index(s, "o", "t_pkey")
    s.run("INSERT INTO o SELECT generate_series(1, 1000)")
    s.run(*again("SELECT * FROM t WHERE id = {i}"))
    s.run("BEGIN", "DECLARE c CURSOR FOR SELECT * FROM t WHERE id > 0", "FETCH 5 c")
    s.run("SELECT * FROM o WHERE id = 5", "FETCH 7 c", "COMMIT")
    s.flush()
    assert_equal(conn, s.schema)


def test_exclusion_made_by_another(s: Session, conn: Any) -> None:
    """What is known of a table's indexes is forgotten when somebody makes one."""
    insert = "INSERT INTO x VALUES ({i}, {i})"
    s.run("CREATE TABLE x (a int PRIMARY KEY, b int)", *again(insert))
    conn.execute(f"TRUNCATE {s.schema}.x")  # else the server counts what the new index reads
    conn.execute(f"ALTER TABLE {s.schema}.x ADD EXCLUDE USING btree (b WITH =)")
    s.run(*again(insert.replace("{i}", "100 + {i}")), "!INSERT INTO x VALUES (999, 101)")
    s.flush()
    ours = assert_equal(conn, s.schema)
    assert any(index is not None and "excl" in index for _, index in ours), ours


def test_temporary_tables(s: Session, conn: Any) -> None:
    """They are tables like others; their rows go with them."""
    s.run("CREATE TEMP TABLE tt (id int PRIMARY KEY)", "INSERT INTO tt VALUES (1), (2)", "TABLE tt")
    s.flush()
    schema = one(s.conn, "SELECT pg_my_temp_schema()::regnamespace::text")
    assert assert_equal(conn, schema) == {("tt", None): Io(2, 2)}
    s.run("BEGIN", "CREATE TEMP TABLE gone (id int) ON COMMIT DROP", "INSERT INTO gone VALUES (1)",
          "COMMIT")  # fmt: skip
    assert ("gone", None) not in our_io(conn, schema)
    pid = s.conn.info.backend_pid
    s.conn.close()
    wait_gone(conn, pid)
    wait_until(lambda: not our_io(conn, schema), "rows of temporary tables")


def test_dropped(s: Session, conn: Any) -> None:
    """Rows disappear with their tables and indexes, if that is committed."""
    s.run(*BASE, *SLOW, "SELECT txt FROM t WHERE v = 3", "SELECT txt FROM t WHERE id = 3")
    assert set(our_io(conn, "tio")) == {("t", None), ("t", "t_v"), ("t", "t_pkey")}
    s.run("BEGIN", "DROP INDEX t_v", "ROLLBACK", "BEGIN", "SAVEPOINT a", "DROP TABLE t",
          "ROLLBACK TO a", "COMMIT")  # fmt: skip
    assert ("t", "t_v") in our_io(conn, "tio")
    with s.conn.cursor() as cursor:
        cursor.execute("DROP INDEX t_v")
    assert set(our_io(conn, "tio")) == {("t", None), ("t", "t_pkey")}
    s.run("DROP TABLE t")
    assert our_io(conn, "tio") == {}
    create = ("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    for undo in ("ROLLBACK", "!SELECT 1 / 0"):
        s.run("BEGIN", *create)
        assert set(our_io(conn, "tio")) == {("t", None)}
        s.run(undo, "ROLLBACK")
        assert our_io(conn, "tio") == {}
    s.run("BEGIN", "SAVEPOINT a", *create, "ROLLBACK TO a", "COMMIT")
    assert our_io(conn, "tio") == {}
    s.run(*BASE)
    s.flush()
    assert_equal(conn, "tio")
    conn.execute("DROP SCHEMA tio CASCADE")
    assert our_io(conn, "tio") == {}


def test_renamed(s: Session, conn: Any) -> None:
    """Old rows under the new name, once it is committed; setup_objects goes by the new name."""
    s.run(*BASE, *SLOW, "SELECT txt FROM t WHERE v = 3")
    s.run("BEGIN", "ALTER TABLE t RENAME TO u", "ROLLBACK")
    assert {name for name, _ in our_io(conn, "tio")} == {"t"}
    s.run("ALTER TABLE t RENAME TO u", "ALTER INDEX t_v RENAME TO u_v")
    assert set(our_io(conn, "tio")) == {("u", None), ("u", "u_v")}
    s.run("ALTER SCHEMA tio RENAME TO tio2")
    assert set(our_io(conn, "tio2")) == {("u", None), ("u", "u_v")}
    s.run("CREATE SCHEMA tio", "ALTER TABLE tio2.u SET SCHEMA tio", "DROP SCHEMA tio2")
    assert set(our_io(conn, "tio")) == {("u", None), ("u", "u_v")}
    assert our_io(conn, "tio2") == {}


def test_new_name_that_is_rolled_back(cluster: Any, s: Session, conn: Any) -> None:
    """Who meets a table first by a name that is rolled back: the next use tells the right one."""
    s.run("CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
    with cluster.connect(options="-c search_path=tio") as other:
        other.execute(
            "BEGIN; ALTER TABLE t RENAME TO u; INSERT INTO u SELECT count(*) FROM u; ROLLBACK"
        )
        s.run("INSERT INTO t VALUES (1)")
        assert {name for name, _ in our_io(conn, "tio")} == {"t"}


@contextlib.contextmanager
def rule(conn: Any, schema: str, name: str, enabled: str, timed: str = "YES") -> Iterator[None]:
    """A row of setup_objects for a while."""
    conn.execute(
        "INSERT INTO performance_schema.setup_objects VALUES ('TABLE', %s, %s, %s, %s)",
        (schema, name, enabled, timed),
    )
    try:
        yield
    finally:
        conn.execute(
            "DELETE FROM performance_schema.setup_objects WHERE object_type = 'TABLE' "
            "AND object_schema = %s AND object_name = %s",
            (schema, name),
        )


def test_setup_objects(s: Session, conn: Any) -> None:
    """From the next event on, in running sessions and transactions too."""
    s.run(*BASE, *SLOW)
    query = "SELECT txt FROM t WHERE id < 11"

    def counted() -> int:
        before = our_io(conn, "tio").get(("t", "t_pkey"), Io()).fetch
        s.run(query)
        return our_io(conn, "tio").get(("t", "t_pkey"), Io()).fetch - before

    assert counted() == 10
    with rule(conn, "tio", "t", "NO"):
        assert counted() == 0
        change = (
            "UPDATE performance_schema.setup_objects SET enabled = %s WHERE object_schema = 'tio'"
        )
        conn.execute(change, ("YES",))
        assert counted() == 10
        conn.execute(change, ("NO",))
        assert counted() == 0
    assert counted() == 10
    s.run("BEGIN")
    assert counted() == 10
    with rule(conn, "tio", "%", "NO"):
        assert counted() == 0
        s.run("INSERT INTO t VALUES (2000, 0, '')")
    assert counted() == 10
    s.run("INSERT INTO t VALUES (2001, 0, '')", "COMMIT")
    assert our_io(conn, "tio")["t", None].insert == 1001
    with rule(conn, "tio", "t", "YES", "NO"):
        before = one(conn, f"SELECT sum(sum_timer_wait) FROM {BY_TABLE} WHERE object_name = 't'")
        assert counted() == 10
        assert before == one(
            conn, f"SELECT sum(sum_timer_wait) FROM {BY_TABLE} WHERE object_name = 't'"
        )


def test_server_tables_are_not_watched(s: Session, conn: Any) -> None:
    """Default rules: not pg_catalog, information_schema, performance_schema."""
    schemas = ("pg_catalog", "information_schema", "performance_schema", "pg_toast")
    before = [our_io(conn, schema) for schema in schemas]
    s.run("SELECT count(*) FROM pg_class", "SELECT count(*) FROM information_schema.sql_features")
    s.run("SELECT count(*) FROM performance_schema.threads")
    assert [our_io(conn, schema) for schema in schemas] == before
    with rule(conn, "pg_catalog", "pg_class", "YES"):
        s.run("SELECT count(*) FROM pg_class")
        found = our_io(conn, "pg_catalog")
        # read by an index only, where VACUUM was there
        read = sum(io.fetch for (table, _), io in found.items() if table == "pg_class")
        assert read >= one(conn, "SELECT count(*) FROM pg_class")


def test_switched_off(s: Session, conn: Any) -> None:
    """Disabled: nothing is added. Not timed: counts only."""
    s.run(*BASE)
    before = our_io(conn, "tio")
    with instruments(conn, HANDLER, "NO"):
        s.run("SELECT count(*) FROM t", "INSERT INTO t VALUES (2000, 1, '')")
        s.run("COPY t FROM STDIN: 3001\t1\ta\n")
        assert our_io(conn, "tio") == before
    s.run("BEGIN", "INSERT INTO t VALUES (2001, 1, '')")
    with instruments(conn, HANDLER, "NO"):
        s.run("INSERT INTO t VALUES (2002, 1, '')", "SELECT count(*) FROM t")
    s.run("INSERT INTO t VALUES (2003, 1, '')", "COMMIT")
    assert our_io(conn, "tio")["t", None].insert == before["t", None].insert + 2
    assert our_io(conn, "tio")["t", None].fetch == before["t", None].fetch
    sums = f"SELECT sum(sum_timer_wait) FROM {BY_INDEX} WHERE object_schema = 'tio'"
    with instruments(conn, HANDLER, "YES", "NO"):
        time_before = one(conn, sums)
        s.run("SELECT count(*) FROM t", "INSERT INTO t VALUES (2004, 1, '')")
        assert our_io(conn, "tio")["t", None].insert == before["t", None].insert + 3
        assert one(conn, sums) == time_before


MET_IN_AN_ERROR = (
    "CREATE TABLE q (id int) PARTITION BY RANGE (id)",
    "CREATE TABLE q1 PARTITION OF q DEFAULT",
)
HANDLES = (
    "CREATE FUNCTION handles() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF NEW.id % 20 = 0 THEN BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END; "
    "END IF; RETURN NEW; END $$",
    "CREATE TRIGGER handles BEFORE INSERT ON q1 FOR EACH ROW EXECUTE FUNCTION handles()",
)


def test_partition_met_in_an_error(s: Session, conn: Any) -> None:
    """Rows are routed to a partition not seen before, and errors are handled meanwhile."""
    s.run(*MET_IN_AN_ERROR, *HANDLES)
    s.run("INSERT INTO q SELECT generate_series(1, 100)", "INSERT INTO q VALUES (1)")
    assert our_io(conn, "tio") == {("q1", None): Io(0, 101)}


def test_partition_met_in_an_error_then_off(s: Session, conn: Any) -> None:
    """What was counted at an error is added later, and nothing else."""
    s.run(*MET_IN_AN_ERROR, "!INSERT INTO q SELECT i / (60 - i) FROM generate_series(1, 100) i")
    with instruments(conn, HANDLER, "NO"):
        s.run("SELECT * FROM q1", "INSERT INTO q SELECT generate_series(1, 10)", "SELECT * FROM q1")
    s.run("SELECT 1", "SELECT * FROM q1")
    assert our_io(conn, "tio") == {("q1", None): Io(10, 59)}


def test_conflicts_of_partitions(s: Session, conn: Any) -> None:
    """The server hands its counters over between two statements that find the same conflicts."""
    s.run(
        "CREATE TABLE q (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE q1 PARTITION OF q DEFAULT",
        "INSERT INTO q SELECT generate_series(1, 100)",
    )
    before = our_io(conn, "tio").get(("q1", "q1_pkey"), Io()).fetch
    for count in range(1, 5):
        s.run("INSERT INTO q SELECT generate_series(1, 100) ON CONFLICT (id) DO UPDATE SET id = q.id")
        assert our_io(conn, "tio")["q1", "q1_pkey"].fetch == before + 100 * count
        s.flush()
    s.run("!INSERT INTO q SELECT i / (51 - i) FROM generate_series(1, 100) i ON CONFLICT DO NOTHING")
    s.run("DO $$ BEGIN INSERT INTO q VALUES (1) ON CONFLICT DO NOTHING; END $$")
    s.flush()
    assert_equal(conn, "tio")


def test_timed_again(s: Session, conn: Any) -> None:
    """Switched on again, times are added."""
    s.run(*BASE)
    sums = f"SELECT sum(sum_timer_wait) FROM {BY_INDEX} WHERE object_schema = 'tio'"
    with instruments(conn, HANDLER, "YES", "NO"):
        s.run("SELECT count(*) FROM t")
        time_before = one(conn, sums)
    s.run("SELECT count(*) FROM t")
    assert one(conn, sums) > time_before


def test_truncate(s: Session, conn: Any) -> None:
    """Of the summaries: everything is zero, then it counts again; not of other tables."""
    s.run(*BASE, "SELECT count(*) FROM t")
    conn.execute(f"TRUNCATE {BY_TABLE}")
    assert our_io(conn, "tio") == {}
    s.run("SELECT * FROM t WHERE txt = 'x1'")
    assert our_io(conn, "tio") == {("t", None): Io(1000)}


def test_truncate_between_samples(s: Session, conn: Any) -> None:
    """A sampled time stands for executions before it: not for those that TRUNCATE has taken away."""
    s.run("CREATE TABLE t AS SELECT 1 AS id")
    for _ in range(40):  # the first ones are timed, then none for at least 64
        s.run("TABLE t")
    for table in (BY_TABLE, BY_INDEX):
        conn.execute(f"TRUNCATE {table}")
    sampled = False
    for _ in range(200):
        s.run("TABLE t")
        for table in (BY_TABLE, BY_INDEX):
            [row] = rows(conn, f"SELECT * FROM {table} WHERE object_schema = 'tio'")
            assert row.sum_timer_fetch <= (row.max_timer_fetch + 999) * row.count_fetch
            assert row.avg_timer_fetch <= row.max_timer_fetch
            sampled |= row.sum_timer_fetch > 0
    assert sampled


def test_sums(s: Session, conn: Any) -> None:
    """By table is the sum of by index; by event name counts the same rows in each thread."""
    thread = thread_of(conn, s.conn)
    by_thread = (
        "SELECT coalesce(sum(count_star), 0)::int8 FROM "
        "performance_schema.events_waits_summary_by_thread_by_event_name "
        f"WHERE thread_id = {thread} AND event_name = '{HANDLER}'"
    )
    s.run(*BASE, *SLOW)
    before = one(conn, by_thread)
    star = f"SELECT sum(count_star)::int8 FROM {BY_INDEX} WHERE object_schema = 'tio'"
    start = one(conn, star)
    s.run("SELECT txt FROM t WHERE v < 9", "UPDATE t SET v = v WHERE id < 9", "TABLE t")
    assert one(conn, by_thread) - before == one(conn, star) - start > 1000
    for row in rows(conn, f"SELECT * FROM {BY_TABLE} WHERE object_schema = 'tio'"):
        parts = rows(
            conn,
            "SELECT sum(count_star)::int8 AS star, sum(count_fetch)::int8 AS fetch, "
            f"sum(sum_timer_wait) AS wait FROM {BY_INDEX} WHERE object_schema = 'tio' "
            "AND object_name = %s",
            row.object_name,
        )[0]
        assert (row.count_star, row.count_fetch) == parts[:2]
        assert abs(row.sum_timer_wait - parts.wait) < 10  # each is rounded
        assert row.count_star == row.count_read + row.count_write
        assert row.count_write == row.count_insert + row.count_update + row.count_delete


# --- times ----------------------------------------------------------------------------------


def timer(conn: Any, operation: str, name: str = "t") -> int:
    sql = f"SELECT sum(sum_timer_{operation}) FROM {BY_INDEX} " \
        "WHERE object_schema = 'tio' AND object_name = %s"  # fmt: skip
    return int(one(conn, sql, name) or 0)


def nodes(plan: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    if plan["Node Type"] == kind:
        yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child, kind)


def explained(s: Session, sql: str, kind: str) -> float:
    """Seconds in all nodes of a kind, their children subtracted; the plan is executed once."""
    text = one(s.conn, f"EXPLAIN (ANALYZE, FORMAT json) {sql}")
    total = 0.0
    for node in nodes(text[0]["Plan"], kind):
        total += node["Actual Total Time"] * node["Actual Loops"]
        total -= sum(p["Actual Total Time"] * p["Actual Loops"] for p in node.get("Plans", []))
    return total / 1000


def test_point_select(s: Session, conn: Any) -> None:
    """Each is timed, more than nothing and less than a millisecond on average."""
    s.run(*BASE, *SLOW)
    before = timer(conn, "fetch")
    last = before
    for i in range(200):
        s.run(f"SELECT txt FROM t WHERE id = {i + 1}")
        if i < 5:
            now = timer(conn, "fetch")
            assert now > last
            last = now
    assert 0 < (timer(conn, "fetch") - before) / 200 < PS_PER_S / 1000


def processor_time(s: Session) -> float:
    """Seconds of the session's process; unlike elapsed time it is the same on a busy machine."""
    text = Path(f"/proc/{s.conn.info.backend_pid}/schedstat").read_text()
    return int(text.split()[0]) / 1e9


@pytest.mark.parametrize(
    ("sql", "node"),
    [
        ("SELECT count(*) FROM t WHERE md5(txt) <> ''", "Seq Scan"),
        ("SELECT sum(v) FROM (SELECT * FROM t WHERE md5(txt) <> '' ORDER BY id) x", "Index Scan"),
        ("SELECT count(*) FROM t a, t b WHERE a.id = b.id + 0 AND md5(b.txt) <> ''", "Hash Join"),
    ],
    ids=["seq scan", "index scan", "join"],
)
def test_time_of_a_scan(s: Session, conn: Any, sql: str, node: str) -> None:
    """The estimate is near the time of a statement that does nearly nothing else.

    It is elapsed time, which on a busy machine is more than the process has worked.
    """
    s.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int, txt text)",
        "INSERT INTO t SELECT g, g % 100, repeat('x', 400) FROM generate_series(1, 100000) g",
        "VACUUM ANALYZE t",
        "SET max_parallel_workers_per_gather = 0",
        "SET enable_mergejoin = off",
        "SET enable_nestloop = off",
        "SET enable_sort = off" if node == "Index Scan" else "SET enable_indexscan = off",
    )
    assert any(node in line for (line,) in s.conn.execute(f"EXPLAIN {sql}").fetchall())
    found = []
    for _ in range(5):
        before = timer(conn, "fetch")
        start, clock = processor_time(s), time.monotonic()
        s.run(sql)
        spent, elapsed = processor_time(s) - start, time.monotonic() - clock
        found.append(((timer(conn, "fetch") - before) / PS_PER_S, spent, elapsed))
    assert 0.6 < statistics.median(scan / spent for scan, spent, _ in found), found
    assert statistics.median(scan / max(spent, elapsed) for scan, spent, elapsed in found) < 1.1, found


def test_time_of_changes(s: Session, conn: Any) -> None:
    """ModifyTable without its child; the time is shared by the tables that rows go to."""
    s.run(*PARTED, "CREATE TABLE src (id int, v int)",
          "INSERT INTO src SELECT g, g FROM generate_series(0, 299) g")  # fmt: skip
    start = time.monotonic_ns()
    s.run("INSERT INTO p SELECT id, v FROM src, (SELECT pg_sleep(0.2)) w")
    elapsed = (time.monotonic_ns() - start) * 1000
    parts = {name: timer(conn, "insert", name) for name in ("p1", "p2", "p31", "p32")}
    assert all(value > 0 for value in parts.values())
    assert sum(parts.values()) < elapsed - 190 * 10**9
    assert parts["p1"] == pytest.approx(2 * parts["p31"], rel=0.01)
    total = explained(s, "UPDATE p SET v = 0", "ModifyTable")
    assert 0.3 * total < timer(conn, "update", "p1") * 3 / PS_PER_S < 2 * total


def test_many_nodes(s: Session, conn: Any) -> None:
    """All partitions of a join have times; of a parallel one what the leader has scanned."""
    s.run(*CASES["many partitions"][:3], "SET max_parallel_workers_per_gather = 0")
    s.run("SELECT count(*) FROM m a JOIN m b USING (id)")
    times = [timer(conn, "fetch", f"m{i}") for i in range(40)]
    assert all(times), times


def table_events(s: Session, conn: Any, *statements: str) -> list[Any]:
    """Rows of wait/io/table in the session's history after statements, with their statement."""
    for name in ("events_waits_current", "events_waits_history"):
        conn.execute("SELECT performance_schema.set_consumers(%s, true)", (name,))
    try:
        s.run(*statements)
        return rows(
            conn,
            "SELECT w.*, e.sql_text FROM performance_schema.events_waits_history w "
            "LEFT JOIN performance_schema.events_statements_history e "
            "ON e.thread_id = w.thread_id AND e.event_id = w.nesting_event_id "
            "WHERE w.thread_id = %s AND w.event_name = %s ORDER BY w.event_id",
            thread_of(conn, s.conn),
            HANDLER,
        )
    finally:
        conn.execute("SELECT performance_schema.set_consumers('events_waits%', false)")


def test_events(s: Session, conn: Any) -> None:
    """One event for all rows of a table and operation; it is nested in its statement."""
    s.run(*BASE, *SLOW)
    last = table_events(s, conn, "UPDATE t SET v = v + 1 WHERE id < 11")[-2:]
    assert [(e.operation, e.number_of_bytes, e.object_name, e.index_name) for e in last] == [
        ("fetch", 10, "t", "t_pkey"),
        ("update", 10, "t", None),
    ]
    assert all(e.sql_text.startswith("UPDATE t") for e in last)


def test_events_of_frequent_statements(s: Session, conn: Any) -> None:
    """In the short way, too: each once, and in its statement."""
    s.run(*WARM)
    select, update = "SELECT * FROM t WHERE id = 7", "UPDATE t SET v = 0 WHERE id = 8"
    events = table_events(s, conn, *[select, update] * 3)[-3:]  # of those that the history keeps
    assert [(e.operation, e.number_of_bytes, e.index_name, e.sql_text) for e in events] == [
        ("fetch", 1, "t_pkey", select),
        ("fetch", 1, "t_pkey", update),
        ("update", 1, None, update),
    ]


def test_times_of_events(s: Session, conn: Any) -> None:
    """Events have a time."""
    s.run(*BASE, *SLOW)
    last = table_events(s, conn, "UPDATE t SET v = v + 1 WHERE id < 11")[-2:]
    assert all((e.timer_wait or 0) > 0 for e in last)


# --- load -------------------------------------------------------------------------------------


def test_pgbench(cluster: Any, conn: Any) -> None:
    """Sixteen clients, all protocols: not a row is lost."""
    env = {**os.environ, **cluster.client_env()}
    pgbench = cluster.bindir / "pgbench"
    conn.execute("CREATE SCHEMA IF NOT EXISTS bench_io")
    env["PGOPTIONS"] = "-c search_path=bench_io"

    def run(*args: str) -> None:
        subprocess.run([pgbench, "-n", *args], env=env, check=True, capture_output=True)

    def make(*args: str) -> None:
        """What utility statements read of new tables is not recorded: both begin at zero."""
        run("-i", "-q", *args)
        no_pgbench()
        conn.execute(f"SELECT pg_stat_reset(); TRUNCATE {BY_TABLE}")

    def no_pgbench() -> None:
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'"
        wait_until(lambda: one(conn, count) == 0, "end of pgbench")

    try:
        make("-s", "2", "--foreign-keys")
        for mode in ("simple", "extended", "prepared"):
            run("-c", "16", "-t", "150", "-M", mode)
            run("-c", "16", "-t", "300", "-S", "-M", mode)
        no_pgbench()
        assert_equal(conn, "bench_io")
        make("-I", "dtgpf", "-s", "1", "--partitions=5")
        run("-c", "8", "-t", "150", "-M", "prepared")
        no_pgbench()
        assert_equal(conn, "bench_io")
    finally:
        conn.execute("DROP SCHEMA bench_io CASCADE")


def test_statements_off(s: Session, conn: Any) -> None:
    """Table I/O needs no statement and no transaction events."""
    with instruments(conn, "statement/%", "NO"), instruments(conn, "transaction", "NO"):
        for name in ("loops", "handled errors", "failed", "routed copy"):
            s.run(f"DROP SCHEMA IF EXISTS {s.schema} CASCADE", f"CREATE SCHEMA {s.schema}")
            s.run(*CASES[name])
            s.flush()
            assert_equal(conn, s.schema)
