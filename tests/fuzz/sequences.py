"""Random sequences: number N of seed S is always the same one.

Each sequence has a taste of its own: a few kinds of steps and statements, with random weights, so
that the same things meet often. What exists is followed roughly; a message about a portal that an
error has taken away is legal, too.
"""

from __future__ import annotations

from random import Random
from typing import Any

from .script import MODES, Script
from .statements import CHANGES, EXPLAIN, FUNCTIONS, READS, SETTINGS, Block, Templates, literal

PATTERNS = (
    "%", "statement/%", "statement/sql/%", "statement/sql/select", "statement/sql/insert",
    "statement/sql/fetch", "statement/sql/declare\\_cursor", "statement/com/%", "statement/sql/do",
    "transaction", "error", "wait/%", "wait/io/table/%", "wait/lock/%", "wait/io/file/%", "idle",
)  # fmt: skip
CONSUMERS = (
    "global\\_instrumentation", "global\\_instrumentation", "thread\\_instrumentation", "%",
    "statements\\_digest", "events\\_statements\\_%", "events\\_waits\\_%",
    "events\\_transactions\\_%", "events\\_statements\\_cpu",
)  # fmt: skip
RESETS = (
    "events_statements_summary_by_digest", "events_statements_summary_global_by_event_name",
    "events_waits_summary_global_by_event_name", "table_io_waits_summary_by_table",
    "events_statements_history_long", "events_transactions_history", "accounts",
)  # fmt: skip
KINDS = {
    "portal": 10, "execute": 14, "sql_fetch": 14, "declare": 8, "close": 4, "savepoint": 6,
    "rollback_to": 8, "release": 2, "query": 6, "change": 6, "multi": 3, "block": 6, "call": 2,
    "copy": 2, "switch": 10, "blocked": 1, "set": 2, "flush": 3, "sync": 3, "prepared": 3,
    "end": 2, "temporary": 1, "fetch_fn": 6, "repeat": 1, "suspend": 0.05,
}  # fmt: skip
FAMILIES = (
    "lazy", "lazy", "break", "break", "incremental", "sort", "spill", "join", "partitions", "",
)  # fmt: skip
"""Parts of the names of READS: of one of them a sequence has more."""
ALWAYS = ("portal", "execute", "sql_fetch", "declare")


class Sequence:
    """What is being made, and what probably exists by now."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.steps: list[list[Any]] = []
        self.portals: list[str] = []  # of the protocol
        self.cursors: list[str] = []  # of SQL
        self.scrolled: set[str] = set()
        self.prepared: dict[str, int] = {}  # name: number of parameters
        self.savepoints: list[str] = []
        self.in_block = False
        self.made = 0
        word = random.choice(FAMILIES)
        family = [name for name in sorted(READS) if word in name]
        self.reads = random.sample(family, min(4, len(family)))
        self.reads += random.sample(sorted(READS), random.randint(1, 6))
        self.changes = random.sample(sorted(CHANGES), random.randint(1, 4))
        # not each step may be there, so that the others come close together
        self.weights = {
            kind: weight * random.choice((1, 1, 2, 4) if kind in ALWAYS else (0, 1, 1, 3))
            for kind, weight in KINDS.items()
        }

    # --- parts ---------------------------------------------------------------------------------

    def add(self, *step: Any) -> None:
        self.steps.append(list(step))

    def name(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made % 7}"

    def read(self) -> str:
        return literal(self.random, READS[self.random.choice(self.reads)])

    def change(self) -> str:
        return literal(self.random, CHANGES[self.random.choice(self.changes)])

    def portal_or_cursor(self) -> str:
        if not self.portals + self.cursors:
            self.declare()
        return self.random.choice((self.portals + self.cursors)[-4:])

    def begin(self) -> None:
        isolation = "" if self.random.random() < 0.9 else " ISOLATION LEVEL REPEATABLE READ"
        self.add("query", "BEGIN" + isolation)
        self.in_block = True
        self.savepoints.clear()
        if self.random.random() < 0.5:
            self.savepoints.append("base")
            self.add("query", "SAVEPOINT base")

    def sql(self, text: str) -> None:
        """A statement by itself: simple, or by the extended protocol."""
        if self.random.random() < 0.75:
            self.add("query", text)
        else:
            self.add("parse", "", text)
            self.add("bind", "", "", [])
            if self.random.random() < 0.3:
                self.add("describe", "P", "")
            self.add("execute", "", 0)
            if self.random.random() < 0.7:
                self.add("sync")

    def parse(self, name: str, source: Templates, kinds: list[str]) -> list[str]:
        """A Parse message; returns values for its parameters."""
        text, low, high = source[self.random.choice(kinds)]
        value = str(self.random.randint(low, high))
        values = [value] if self.random.random() < 0.5 else []
        text = text.replace("{n}", "$1::int" if values else value)
        if self.random.random() < 0.25:  # what stands behind a long text is freed memory later
            text += f" /* {'long ' * self.random.randint(100, 500)}*/"
        self.add("parse", name, text)
        return values

    # --- steps ---------------------------------------------------------------------------------

    def portal(self) -> None:
        if self.prepared and self.random.random() < 0.3:
            statement = self.random.choice(sorted(self.prepared))
            values = [str(self.random.randint(1, 50))] * self.prepared[statement]
        else:
            statement = self.name("s") if self.random.random() < 0.3 else ""
            changes = self.random.random() < 0.1
            values = self.parse(
                statement, CHANGES if changes else READS, self.changes if changes else self.reads
            )
            if statement:
                self.prepared[statement] = len(values)
        name = self.name("p") if self.random.random() < 0.9 else ""
        if name in self.portals:
            self.add("close", "P", name)
            self.portals.remove(name)
        self.add("bind", name, statement, values)
        if name:
            self.portals.append(name)
        if self.random.random() < 0.2:
            self.add("describe", *self.random.choice((("P", name), ("S", statement))))
        if self.random.random() < 0.6:
            self.add("execute", name, self.rows())
        if self.random.random() < 0.8:
            self.add("sync")

    def rows(self) -> int:
        return self.random.choice((0, 1, 1, 2, 3, 5, 11, 35))

    def execute(self) -> None:
        if not self.portals:
            return self.portal()
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            self.add("execute", self.random.choice(self.portals[-4:]), self.rows())
        if self.random.random() < 0.8:
            self.add(self.random.choice(("sync", "sync", "flush")))
        return None

    def sql_fetch(self) -> None:
        name = self.portal_or_cursor()
        ways: tuple[str, ...] = (
            "1", "1", "2", "3", "FORWARD 12", "40", "ALL", "NEXT", "RELATIVE 2", "LAST", "0",
        )  # fmt: skip
        if name in self.scrolled:
            ways = ("3", "ALL", "PRIOR", "BACKWARD 3", "ABSOLUTE 5", "FIRST", "BACKWARD ALL")
        how = self.random.choice(ways)
        self.sql(f"{self.random.choice(('FETCH', 'FETCH', 'FETCH', 'MOVE'))} {how} FROM {name}")

    def declare(self) -> None:
        if not self.in_block:
            self.begin()
        name = self.name("c")
        if name in self.cursors:
            self.sql(f"CLOSE {name}")
        scroll = self.random.choice(("", "", "", "SCROLL ", "NO SCROLL "))
        hold = self.random.choice(("", "", "", "", " WITH HOLD"))
        self.sql(f"DECLARE {name} {scroll}CURSOR{hold} FOR {self.read()}")
        if name not in self.cursors:
            self.cursors.append(name)
        (self.scrolled.add if scroll == "SCROLL " else self.scrolled.discard)(name)
        if self.random.random() < 0.5:
            self.sql(f"FETCH {self.random.choice((1, 1, 3, 7, 15))} FROM {name}")

    def close(self) -> None:
        if self.random.random() < 0.05:
            self.sql("CLOSE ALL")
        elif self.cursors and self.random.random() < 0.6:
            name = self.cursors.pop(self.random.randrange(len(self.cursors)))
            self.sql(f"CLOSE {name}")
        elif self.portals:
            name = self.portals.pop(self.random.randrange(len(self.portals)))
            if self.random.random() < 0.3:
                self.sql(f"CLOSE {name}")
            else:
                self.add("close", "P", name)
        elif self.prepared:
            self.add("close", "S", self.prepared.popitem()[0])

    def savepoint(self) -> None:
        if not self.in_block:
            return self.begin()
        self.savepoints.append(self.name("a"))
        self.sql(f"SAVEPOINT {self.savepoints[-1]}")
        for _ in range(self.random.choice((0, 1, 1, 2))):
            self.sql_fetch()
        return None

    def rollback_to(self) -> None:
        if not self.savepoints:
            return self.savepoint()
        at = self.random.randrange(len(self.savepoints))
        self.sql(f"ROLLBACK TO {self.savepoints[at]}")
        del self.savepoints[at + 1 :]
        if self.random.random() < 0.5:
            self.declare()
        return None

    def release(self) -> None:
        if self.savepoints:
            at = self.random.randrange(len(self.savepoints))
            self.sql(f"RELEASE {self.savepoints[at]}")
            del self.savepoints[at:]

    def end(self) -> None:
        if self.in_block:
            ways = ("COMMIT", "COMMIT", "ROLLBACK", "COMMIT AND CHAIN")
            self.add("query", self.random.choice(ways))
            self.in_block = "CHAIN" in self.steps[-1][1]
        self.portals.clear()
        self.cursors.clear()
        self.savepoints.clear()
        if self.random.random() < 0.15:
            self.add("query", f"CALL p_steps({self.random.randint(1, 7)})")
        if not self.in_block and self.random.random() < 0.8:
            self.begin()

    def query(self) -> None:
        self.sql(f"{EXPLAIN} {self.read()}" if self.random.random() < 0.15 else self.read())

    def change_(self) -> None:
        self.sql(self.change())

    def multi(self) -> None:
        parts = []
        for _ in range(self.random.randint(2, 4)):
            kinds = (self.read, self.read, self.change, self.a_fetch, self.sql_prepared, lambda: "")
            parts.append(self.random.choice(kinds)())
        self.add("query", "; ".join(parts))

    def sql_prepared(self) -> str:
        """Three statements."""
        return f"PREPARE q AS {self.read()}; EXECUTE q; DEALLOCATE q"

    def a_fetch(self) -> str:
        return f"FETCH {self.random.randint(1, 9)} FROM {self.portal_or_cursor()}"

    def block(self) -> None:
        names = (self.portals + self.cursors)[-4:]
        self.sql(Block(self.random, self.reads, self.changes, names).text())

    def fetch_fn(self) -> None:
        """A function fetches from a portal and handles what fails."""
        closing = self.random.choice(("true", "true", "false"))
        spill = literal(self.random, READS["spill_count"])
        call = f"f_fetch('{self.portal_or_cursor()}', {self.random.randint(1, 80)}, {closing})"
        self.sql(
            self.random.choice(
                (f"SELECT {call}", f"SELECT {call}, ({spill})",
                 f"DO $$ BEGIN PERFORM {call}; PERFORM 1 FROM ({self.read()}) s; END $$")
            )
        )  # fmt: skip

    def call(self) -> None:
        name, (count, high) = self.random.choice(sorted(FUNCTIONS.items()))
        values = [str(self.random.randint(0, high)) for _ in range(count)]
        if name.startswith("f_fetch"):
            values = [self.portal_or_cursor(), str(self.random.randint(1, 40)), "t"]
        self.add("call", name, values)

    def copy(self) -> None:
        start = self.random.randint(100, 900)
        lines = [f"{start + i}\t{i}\tcopied\n" for i in range(self.random.randint(1, 6))]
        if self.random.random() < 0.3:
            lines.append("x\ty\tz\n")  # fails
        last = self.random.choice(("c", "c", "c", "f"))
        target = self.random.choice(("w", "wp"))
        sort = self.random.randrange(4)
        if sort == 0:
            self.add("query", f"COPY ({self.read()}) TO STDOUT")
        elif sort == 1:
            self.sql(f"COPY ({self.read()}) TO STDOUT")
        elif sort == 2:
            self.add("copy", f"COPY {target} FROM STDIN", lines, last)
        else:
            self.add("parse", "", f"COPY {target} FROM STDIN")
            self.add("bind", "", "", [])
            self.add("execute_copy", "", lines, last)

    def a_switch(self) -> str:
        random = self.random
        state = random.choice(("true", "false"))
        timed = random.choice(("true", "false", "NULL::boolean"))
        word = random.choice(("instruments",) * 2 + ("consumers",) * 2 + ("thread", "reset"))
        if word == "instruments":
            pattern = random.choice(PATTERNS)
            return f"SELECT performance_schema.set_instruments('{pattern}', {state}, {timed})"
        if word == "consumers":
            return f"SELECT performance_schema.set_consumers('{random.choice(CONSUMERS)}', {state})"
        if word == "thread":
            return (
                "SELECT performance_schema.set_thread(performance_schema.ps_thread_id(:pid), "
                f"{state}, {timed})"
            )
        table = random.choice(RESETS)
        return random.choice(
            (f"TRUNCATE performance_schema.{table}", f"SELECT performance_schema.reset('{table}')")
        )

    def switch(self) -> None:
        self.add("switch", *[self.a_switch() for _ in range(self.random.choice((1, 1, 2)))])
        if self.random.random() < 0.3:
            self.sql(self.random.choice((self.read, self.change, self.a_fetch))())
            self.add("switch", "SELECT fuzz_defaults()")

    def blocked(self) -> None:
        self.made += 1
        number = self.made % 50 + 1
        kind = self.random.choice(("advisory", "row"))
        wait = (
            f"SELECT pg_advisory_xact_lock({number})"
            if kind == "advisory"
            else f"SELECT id FROM latch WHERE id = {number} FOR UPDATE"
        )
        if kind == "advisory" and self.random.random() < 0.3:
            wait = (
                f"SELECT x, CASE WHEN x = 40 THEN pg_advisory_xact_lock({number})::text END "
                "FROM r_small"
            )
        if kind == "advisory" and self.random.random() < 0.3:
            wait = (
                f"DO $$ BEGIN PERFORM pg_advisory_xact_lock({number}); "
                "EXCEPTION WHEN query_canceled THEN PERFORM f_index(3); END $$"
            )
        inner = (
            ["query", wait] if self.random.random() < 0.6 else
            ["pipeline", [["parse", "", wait], ["bind", "", "", []], ["execute", "", self.rows()]]]
        )  # fmt: skip
        switches = [self.a_switch() for _ in range(self.random.choice((0, 0, 1)))]
        end = self.random.choice(("cancel", "release"))
        self.add("blocked", kind, number, end, inner, *switches)

    def set(self) -> None:
        self.sql(self.random.choice(SETTINGS))

    def flush(self) -> None:
        self.add("flush")

    def sync(self) -> None:
        self.add("sync")

    def prepared_(self) -> None:
        name = self.name("s")
        self.prepared.pop(name, None)
        self.add("close", "S", name)
        self.prepared[name] = len(self.parse(name, READS, self.reads))
        if self.random.random() < 0.4:
            self.add("describe", "S", name)

    def temporary(self) -> None:
        name = self.name("t")
        end = self.random.choice(("DROP", "PRESERVE ROWS"))
        self.sql(
            f"CREATE TEMP TABLE {name} ON COMMIT {end} AS "
            "SELECT g AS x FROM generate_series(1, 40) g"
        )
        self.sql(f"DECLARE c_{name} CURSOR FOR SELECT 1 / (9 - x) FROM {name}")
        self.cursors.append(f"c_{name}")

    def repeat(self) -> None:
        """The same again and again: what is lost each time adds up."""
        name = self.random.choice(READS_THAT_FAIL)
        ways = ("FETCH ALL FROM again", "SELECT f_fetch('again', 99, true)")
        inner = [
            ["query", f"DECLARE again CURSOR FOR {literal(self.random, READS[name])}"],
            ["query", "SAVEPOINT again"],
            ["query", self.random.choice(ways)],
            ["query", "ROLLBACK TO again"],
            ["query", self.random.choice(("CLOSE again", self.a_fetch()))],
            ["query", "ROLLBACK TO again; CLOSE again"],
        ]
        self.add("repeat", 3 if name == "many_break" else self.random.choice((3, 20, 60)), inner)

    def suspend(self) -> None:
        """More suspended portals than the library has room for."""
        if not self.in_block:
            self.begin()
        self.add("suspend", self.random.choice((70, 140, 530)), self.read())

    # --- all -----------------------------------------------------------------------------------

    def fill(self) -> list[list[Any]]:
        random = self.random
        settings = random.sample(SETTINGS, random.randint(0, 4))
        if settings:
            self.add("query", "; ".join(settings))
        if random.random() < 0.9:
            self.begin()
        kinds = [kind for kind, weight in self.weights.items() if weight > 0]
        weights = [self.weights[kind] for kind in kinds]
        own_names = {"change": "change_", "prepared": "prepared_"}
        for _ in range(random.choice((8, 15, 15, 25, 40))):
            kind = random.choices(kinds, weights)[0]
            getattr(self, own_names.get(kind, kind))()
            if self.in_block and random.random() < 0.9:
                self.add("recover", *self.savepoints[-1:])
        self.add("sync")
        self.add("query", random.choice(("COMMIT", "ROLLBACK")))
        return self.steps


READS_THAT_FAIL = sorted(name for name in READS if name.endswith("_break"))


def sequence(seed: int, number: int) -> Script:
    """Sequence `number` of a seed."""
    random = Random(f"{seed}/{number}")
    mode = random.choices(MODES, (5, 3, 1, 1))[0]
    return Script(mode, Sequence(random).fill(), f"seed {seed} number {number}")
