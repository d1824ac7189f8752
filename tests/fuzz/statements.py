"""SQL for random sequences: what is read, what is changed, and blocks of PL/pgSQL.

`{n}` in a text is a number between the two given bounds; under the extended protocol it may become
a parameter. Every result has one order only, for the plans are the same on both servers.
"""

from __future__ import annotations

from random import Random

Templates = dict[str, tuple[str, int, int]]

READS: Templates = {
    "lazy_index": ("SELECT f_index(i) FROM generate_series({n}, 300) i LIMIT 300", 1, 290),
    "lazy_sorted": ("SELECT f_sorted(i) FROM generate_series({n}, 100) i LIMIT 400", 1, 90),
    "lazy_join": ("SELECT i, f_join(i) FROM generate_series({n}, 300) i LIMIT 200", 1, 290),
    "lazy_break": ("SELECT f_break(i) FROM generate_series({n}, {n} + 10) i", 291, 299),
    "lazy_plpgsql": ("SELECT f_rows(i) FROM generate_series({n}, {n} + 5) i", 1, 90),
    "lazy_from": ("SELECT * FROM r_one, LATERAL f_sorted({n} + x) s", 1, 90),
    "incremental": ("SELECT p, q FROM r_sorted WHERE p > {n} ORDER BY p, q", 0, 140),
    "incremental_break": ("SELECT p, 1 / ({n} - p) FROM r_sorted ORDER BY p, q", 2, 40),
    "sort": ("SELECT t FROM r_small WHERE x > {n} ORDER BY t", 0, 50),
    "sort_spill": ("SELECT n, length(t) FROM r_wide WHERE n > {n} ORDER BY m, t", 0, 800),
    "sort_break": ("SELECT x, 5 / (x - {n}) FROM (SELECT x FROM r_small ORDER BY t OFFSET 0) s",
                   2, 60),
    "scan": ("SELECT x, t FROM r_small WHERE x > {n}", 0, 90),
    "scan_break": ("SELECT 1 / ({n} - x) FROM r_small", 1, 30),
    "index": ("SELECT v FROM r_key WHERE k BETWEEN {n} AND {n} + 5 ORDER BY k, v", 0, 290),
    "index_break": ("SELECT 1 / (v - 600 - {n}) FROM r_key WHERE k = {n}", 0, 299),
    "hash_join": ("SELECT n, k FROM r_wide JOIN r_key ON v = m WHERE n > {n} ORDER BY n, k",
                  1300, 1490),
    "join_break": ("SELECT 9 / ({n} - x) FROM r_small JOIN r_key ON v = x", 2, 40),
    "self_join": ("SELECT a.x FROM r_small a, r_small b, r_small c "
                  "WHERE a.x = b.x AND b.x = c.x AND a.x > {n} ORDER BY a.x DESC", 0, 90),
    "bitmap": ("SELECT k, v FROM r_key WHERE k = {n} OR k IN (1, 7) ORDER BY v", 0, 299),
    "materialize": ("SELECT a.x, b.x FROM r_small a, (SELECT x FROM r_small WHERE x > 97) b "
                    "WHERE a.x + b.x > {n} ORDER BY 1, 2 LIMIT 90", 90, 200),
    "group": ("SELECT k % {n} AS g, count(*), max(v) FROM r_key GROUP BY 1 ORDER BY 1", 2, 50),
    "hash_agg_spill": ("SELECT count(*), sum(c) FROM (SELECT t, count(*) AS c FROM r_wide "
                       "WHERE n > {n} GROUP BY t) s", 0, 300),
    "window": ("SELECT x, sum(x) OVER (ORDER BY t) FROM r_small WHERE x > {n} ORDER BY x", 0, 90),
    "distinct": ("SELECT DISTINCT ON (p) p, q FROM r_sorted WHERE p > {n} ORDER BY p, q", 50, 149),
    "partitions": ("SELECT id, k FROM r_part WHERE id > {n} ORDER BY id", 0, 190),
    "partitions_break": ("SELECT 1 / ({n} - id) FROM r_part", 1, 150),
    "pruned": ("SELECT k FROM r_part WHERE id = {n}", 0, 199),
    "recursive": ("WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < {n}) "
                  "SELECT i FROM r", 1, 60),
    "recursive_break": ("WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r "
                        "WHERE i < 50) SELECT 7 / (i - {n}) FROM r", 2, 40),
    "cte": ("WITH s AS MATERIALIZED (SELECT x FROM r_small WHERE x > {n}) "
            "SELECT a.x FROM s a JOIN s b USING (x) ORDER BY x", 40, 99),
    "subplan": ("SELECT x, (SELECT count(*) FROM r_key WHERE k = x) FROM r_small WHERE x > {n}",
                50, 95),
    "union": ("SELECT x FROM r_small WHERE x > {n} UNION SELECT k FROM r_part ORDER BY 1", 0, 99),
    "written": ("SELECT id, k, t FROM w WHERE id > {n} ORDER BY id", 0, 60),
    "locked": ("SELECT id, t FROM w WHERE k = {n} ORDER BY id FOR UPDATE", 0, 10),
    "written_part": ("SELECT id, k FROM wp WHERE k = {n} ORDER BY id", 0, 10),
    "journal": ("SELECT what, id FROM journal WHERE n > {n} ORDER BY n", 0, 20),
    "fails": ("SELECT f_fail({n})", 1, 30),
    "values": ("VALUES ({n}), (2), (3), (4)", 1, 9),
    "many_break": ("SELECT 1 / ({n} - x) FROM many", 2, 300),
    "spill_count": ("SELECT count(*) FROM (SELECT t FROM r_wide WHERE n > {n} ORDER BY m "
                    "OFFSET 0) s", 0, 100),
}  # fmt: skip

CHANGES: Templates = {
    "insert": ("INSERT INTO w SELECT g, g % 7, 'new' FROM generate_series({n}, {n} + 5) g", 58, 90),
    "upsert": ("INSERT INTO w VALUES ({n}, 2, 'up'), (3, 4, 'up') ON CONFLICT (id) "
               "DO UPDATE SET t = w.t || 'c' RETURNING id, t", 4, 80),
    "nothing": ("INSERT INTO wp SELECT g, 1, 'n' FROM generate_series({n}, {n} + 9) g "
                "ON CONFLICT DO NOTHING RETURNING id", 0, 95),
    "route": ("INSERT INTO wp SELECT g, g % 3, 'r' FROM generate_series({n}, 130) g", 80, 128),
    "update": ("UPDATE w SET t = t || '!' WHERE k = {n} RETURNING id", 0, 10),
    "update_break": ("UPDATE w SET k = 100 / (id - {n}) WHERE id > 5", 4, 40),
    "move_row": ("UPDATE wp SET id = id + 100 WHERE id = {n} RETURNING id, k", 0, 80),
    "delete": ("DELETE FROM w WHERE id = {n} RETURNING *", 1, 70),
    "delete_join": ("DELETE FROM wp USING r_small WHERE id = x AND x < {n} RETURNING id", 1, 20),
    "merge": ("MERGE INTO w USING (SELECT x FROM r_small WHERE x > {n}) s ON id = x "
              "WHEN MATCHED AND x % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET t = 'm' "
              "WHEN NOT MATCHED THEN INSERT VALUES (x, x % 7, 'merged')", 50, 98),
    "cte": ("WITH d AS (DELETE FROM w WHERE id > {n} RETURNING id, k) "
            "INSERT INTO wp SELECT id + 200, k, 'moved' FROM d RETURNING id", 40, 60),
    "deferred": ("INSERT INTO child VALUES ({n}, 1)", 55, 64),
    "trigger_fails": ("INSERT INTO w VALUES ({n} + 500, 13, 'x')", 0, 40),
}  # fmt: skip

SETTINGS = (
    *(
        f"SET enable_{name} = {state}"
        for name in ("seqscan", "bitmapscan", "sort", "hashjoin", "hashagg", "nestloop",
                     "mergejoin", "material", "indexscan", "incremental_sort", "memoize")
        for state in ("off", "off", "on")
    ),
    "SET work_mem = 64", "SET work_mem = 64", "SET work_mem = 4096",
    "SET cursor_tuple_fraction = 1", "SET plan_cache_mode = force_generic_plan",
    "SET plan_cache_mode = force_custom_plan", "SET compute_query_id = off",
    "SET LOCAL enable_seqscan = off", "SET track_functions = 'all'", "SET track_counts = off",
    "SET track_counts = on",
)  # fmt: skip

FUNCTIONS: dict[str, tuple[int, int]] = {
    "int4pl(int4, int4)": (2, 100),
    "int4div(int4, int4)": (2, 2),
    "f_fail(int4)": (1, 30),
    "pg_catalog.length(text)": (1, 9),
    "f_fetch(text, int4, bool)": (3, 0),
}
"""For message F: number of arguments and their upper bound."""


EXPLAIN = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF)"
"""Its numbers of rows and loops are the server's own, and so must stay."""


def literal(random: Random, read: tuple[str, int, int]) -> str:
    """A statement with its number filled in."""
    return read[0].replace("{n}", str(random.randint(read[1], read[2])))


SIMPLE = ("fetch", "fetch", "fetch_all", "move", "close", "open", "read", "change", "raise", "note")
NESTED = ("handler", "handler", "handler", "loop", "cursor_loop")
"""Statements of PL/pgSQL."""


class Block:
    """A DO statement of random nested blocks, handlers and loops over given portals and queries."""

    def __init__(self, random: Random, reads: list[str], changes: list[str], portals: list[str]):
        self.random = random
        self.reads = reads
        self.changes = changes
        self.portals = portals or ["nobody"]

    def text(self) -> str:
        return (
            "DO $$ DECLARE c refcursor; r record; v text; BEGIN "
            f"{self.statements(0)} RAISE NOTICE 'end %', v; END $$"
        )

    def statements(self, depth: int) -> str:
        number = self.random.randint(1, max(1, 4 - depth))
        return " ".join(self.statement(depth) for _ in range(number))

    def query(self) -> str:
        return literal(self.random, READS[self.random.choice(self.reads)])

    def statement(self, depth: int) -> str:
        random = self.random
        portal = random.choice(self.portals)
        word = random.choice(SIMPLE + NESTED * (depth < 3))
        if word == "fetch":
            return f"c := '{portal}'; FETCH c INTO r; v := left(r::text, 40);"
        if word == "fetch_all":
            number, closing = random.randint(2, 60), random.choice(["true", "false"])
            return f"v := f_fetch('{portal}', {number}, {closing});"
        if word == "move":
            return f"c := '{portal}'; MOVE FORWARD {random.randint(1, 40)} IN c;"
        if word == "close":
            return f"c := '{portal}'; CLOSE c;"
        if word == "open":
            query, end = self.query(), random.choice(["", "CLOSE c;"])
            return f"c := NULL; OPEN c FOR {query}; FETCH c INTO r; {end}"
        if word == "read":
            return f"EXECUTE $q${self.query()}$q$ INTO r;"
        if word == "change":
            return f"EXECUTE $q${literal(random, CHANGES[random.choice(self.changes)])}$q$;"
        if word == "raise":
            return random.choice(["PERFORM 1 / 0;", "RAISE EXCEPTION 'own';", "PERFORM f_fail(6);"])
        if word == "note":
            return "RAISE NOTICE '% %', v, r;"
        if word == "handler":
            after = random.choice(["", f"c := '{portal}'; CLOSE c;", "v := sqlstate;", "RAISE;"])
            inner = self.statements(depth + 1)
            return f"BEGIN {inner} EXCEPTION WHEN OTHERS THEN {after or 'NULL;'} END;"
        if word == "loop":
            return f"FOR r IN {self.query()} LOOP {self.statements(depth + 2)} EXIT; END LOOP;"
        return (
            f"FOR i IN 1..{random.randint(2, 12)} LOOP BEGIN c := '{portal}'; FETCH c INTO r; "
            f"v := 'got'; EXCEPTION WHEN OTHERS THEN v := sqlstate; END; END LOOP;"
        )
