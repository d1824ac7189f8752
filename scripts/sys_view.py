"""Writes the SQL of views, and of other objects of the sys schema, from their file, which says it once.

    sys_view.py FILE

A file of sql/sys/ is of the schema sys, one of sql/views/ of performance_schema. Most views of sys come in two: x$NAME with picoseconds, bytes and full texts, for programs, and NAME for
people. The file is named NAME.sql. Comments for its reader come first, then what is declared, a
line each, then the query of the raw view without a semicolon:

    --@ view COMMENT            both; or: plain COMMENT (no x$NAME), raw COMMENT (no NAME)
    --@ order EXPRESSIONS       of the view for people: a query of the raw one keeps no order for it
    --@ COLUMN [KIND] COMMENT   each column of the query, in its order
    --@ like NAME without COLUMNS   those of another view's file but these; in the query {NAME} stands for them, as s.COLUMN, ...

KIND is how people get it: time and bytes with a unit, statement cut, age in whole milliseconds;
raw: not at all; or `= EXPRESSION`, in which the raw view is s. Units are said in the comments of
the raw view. A file whose name has {who} is two such files, of users and of hosts: see PEOPLE. One
with {switch} or {state} is two, of enabling and of disabling: see SWITCHES; {sessions} is processlist and
session; {measure} is by total and by mean time; {axis} is five: see AXES. A file that declares nothing is SQL as it stands.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

SHOWN = {
    "": "s.{0}",
    "time": "sys.format_time(s.{0}) AS {0}",
    "bytes": "sys.format_bytes(s.{0}) AS {0}",
    "statement": "sys.format_statement(s.{0}) AS {0}",
    "age": "date_trunc('milliseconds', s.{0}) AS {0}",
}
PEOPLE = (
    {"who": "user", "column": "user_name", "noun": "user", "Noun": "User",
     "other": "host", "others": "hosts", "Others": "Client hosts", "latency": "latency"},
    {"who": "host", "column": "host", "noun": "client host", "Noun": "Client host",
     "other": "user_name", "others": "users", "Others": "Users", "latency": "total_latency"},
)  # fmt: skip
"""What stands for each {word}; "latency": MySQL's names of one and the same column."""
SWITCHES = (
    {"switch": "enable", "Switch": "Enable", "state": "enabled", "yes": "YES", "on": "true"},
    {"switch": "disable", "Switch": "Disable", "state": "disabled", "yes": "NO", "on": "false"},
)
SESSIONS = (
    {"sessions": "processlist", "Sessions": "All threads", "where_session": ""},
    {"sessions": "session", "Sessions": "Sessions of clients",
     "where_session": "WHERE t.processlist_id IS NOT NULL AND t.processlist_command <> 'Daemon'\n"},
)  # fmt: skip
USER_COLUMN = "--@ user_name User (MySQL: USER); NULL for background processes"
HOST_COLUMN = "--@ host Client host, [local] for Unix sockets; NULL for background processes"
AXES = (
    {"axis": "by_thread", "keys": "thread_id,", "group": "GROUP BY thread_id", "of": "per thread",
     "declared": "--@ thread_id Thread"},
    {"axis": "by_account", "keys": "user_name, host,", "group": "GROUP BY user_name, host", "of": "per account",
     "declared": f"{USER_COLUMN}\n{HOST_COLUMN}"},
    {"axis": "by_user", "keys": "user_name,", "group": "GROUP BY user_name", "of": "per user",
     "declared": USER_COLUMN},
    {"axis": "by_host", "keys": "host,", "group": "GROUP BY host", "of": "per client host",
     "declared": HOST_COLUMN},
    {"axis": "global", "keys": "", "group": "", "of": "of all threads", "declared": "--"},
)  # fmt: skip
MEASURES = (
    {"measure": "latency", "what": "total time", "by": "total_latency"},
    {"measure": "avg_latency", "what": "mean time", "by": "avg_latency"},
)
FOLDS = {"{who}": PEOPLE, "{switch}": SWITCHES, "{state}": SWITCHES, "{axis}": AXES, "{sessions}": SESSIONS,
         "{measure}": MEASURES}  # fmt: skip
LIKE = re.compile(r"--@ like (\w+) without (\w+(?: \w+)*)")
DECLARED = re.compile(r"--@ (\w+)(?: \[(.+?)\])? (\S.*)")


@dataclass
class Column:
    """One of the query."""

    name: str
    kind: str
    comment: str

    def shown(self) -> str:
        """As the view for people selects it."""
        if self.kind.startswith("="):
            return f"{self.kind[1:].strip()} AS {self.name}"
        return SHOWN[self.kind].format(self.name)

    def raw_comment(self) -> str:
        """With its unit, which stands before what else is said of it."""
        if self.kind != "time" or self.comment.startswith("Always"):
            return self.comment
        what, semicolon, rest = self.comment.partition(";")
        return f"{what}, picoseconds{semicolon}{rest}"


@dataclass
class View:
    """What a file declares, and its query."""

    schema: str
    name: str
    form: str
    comment: str
    order: str
    columns: list[Column]
    query: str

    def kinds(self) -> set[str]:
        return {column.kind for column in self.columns}

    def raw_comment(self) -> str:
        """With the units that its columns are in."""
        units = [
            text
            for kind, text in (("time", "times in picoseconds"), ("statement", "full texts"))
            if kind in self.kinds()
        ]
        if not units and "bytes" in self.kinds():
            units = ["in bytes"]
        return "; ".join([self.comment, *([", ".join(units)] if units else [])])

    def people_comment(self) -> str:
        return self.comment + (", with units" if self.kinds() & {"time", "bytes"} else "")


def written(path: Path) -> str:
    """All that is in a file.  Raises ValueError, naming it, if it is none that can be written."""
    every = next((fold for word, fold in FOLDS.items() if word in path.stem), ({},))
    return "\n\n".join(of(path, words) for words in every)


def of(path: Path, words: dict[str, str]) -> str:
    """A file, or one of those that it is."""
    text = filled(path.read_text(), words)
    if not re.search("^--@", text, re.MULTILINE):
        return text.rstrip("\n")
    return sql(read(filled(path.stem, words), path, text))


def filled(text: str, words: dict[str, str]) -> str:
    """SQL has braces of its own."""
    for word, meaning in words.items():
        text = text.replace(f"{{{word}}}", meaning)
    return text


def read(name: str, path: Path, text: str) -> View:
    """One view."""
    form, comment, order = "", "", ""
    columns: list[Column] = []
    lines = text.splitlines()
    query = [line for line in lines if not line.startswith("--")]
    for line in (line for line in lines if line.startswith("--@")):
        other = LIKE.fullmatch(line)
        if other:
            file = path.with_name(f"{other[1]}.sql")
            taken = [c for c in read(other[1], file, file.read_text()).columns if c.name not in other[2].split()]
            columns += taken
            names = ",\n\t".join(f"s.{column.name}" for column in taken)
            query = [row.replace(f"{{{other[1]}}}", names) for row in query]
            continue
        found = DECLARED.fullmatch(line)
        if not found:
            raise ValueError(f"{path}: cannot be read: {line}")
        word, kind, told = found[1], found[2] or "", found[3]
        if word in ("view", "plain", "raw") and not form:
            form, comment = word, told
        elif word == "order" and not columns:
            order = told
        elif kind in SHOWN or kind == "raw" or kind.startswith("="):
            columns.append(Column(word, kind, told))
        else:
            raise ValueError(f"{path}: no such kind: {line}")
    if not form or not columns or not query:
        raise ValueError(f"{path}: declares no view, or no columns, or has no query")
    schema = "performance_schema" if path.parent.name == "views" else "sys"
    return View(schema, name, form, comment, order, columns, "\n".join(query))


def create(schema: str, name: str, query: str, comment: str, columns: list[tuple[str, str]]) -> str:
    """A view with its comments, for everybody."""
    quoted = schema + "." + (name if name.isidentifier() else f'"{name}"')

    def text(value: str) -> str:
        return "\t'" + value.replace("'", "''") + "';"

    lines = [f"CREATE VIEW {quoted} WITH (security_invoker = true) AS", f"{query};"]
    lines += [f"COMMENT ON VIEW {quoted} IS", text(comment)]
    for column, told in columns:
        lines += [f"COMMENT ON COLUMN {quoted}.{column} IS", text(told)]
    if schema == "sys":  # sql/tail.sql grants those of performance_schema
        lines.append(f"GRANT SELECT ON {quoted} TO PUBLIC;")
    return "\n".join(lines)


def sql(view: View) -> str:
    """The raw view, and that for people."""
    told = [(column.name, column.comment) for column in view.columns]
    if view.form == "plain":
        return create(view.schema, view.name, view.query, view.comment, told)
    raw = [(column.name, column.raw_comment()) for column in view.columns]
    made = [create(view.schema, f"x${view.name}", view.query, view.raw_comment(), raw)]
    if view.form == "view":
        shown = [column for column in view.columns if column.kind != "raw"]
        query = "SELECT\n\t" + ",\n\t".join(column.shown() for column in shown)
        query += f'\nFROM sys."x${view.name}" AS s'
        query += f"\nORDER BY {view.order}" if view.order else ""
        told = [(column.name, column.comment) for column in shown]
        made.append(create(view.schema, view.name, query, view.people_comment(), told))
    return "\n\n".join(made)


def main() -> int:
    """Exit code 1, and a line on stderr, for a file that cannot be read."""
    try:
        print(written(Path(sys.argv[1])))
    except (OSError, ValueError) as error:
        print(f"sys_view: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
