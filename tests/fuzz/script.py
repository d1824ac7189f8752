"""A sequence: the mode it starts in and its steps; as text, one step a line, to be replayed.

Steps, with their arguments:
    parse NAME SQL              bind PORTAL STATEMENT VALUES     describe S|P NAME
    execute PORTAL ROWS         close S|P NAME                   sync | flush
    query SQL                   copy SQL LINES c|f               call FUNCTION VALUES
    execute_copy PORTAL LINES c|f   (with Sync)
    pipeline STEPS              messages of the extended protocol and a Sync, sent at once
    switch SQL...               by the control connection; with the library only
    blocked KIND NUMBER cancel|release STEP SWITCH...
        a step that waits for a lock (advisory or row) which the control connection holds
    suspend NUMBER SQL          so many portals x0, x1, ... of a query, each executed for one row
    recover SAVEPOINT...        only if the transaction has failed: ROLLBACK TO, else a new one
    repeat TIMES STEPS          the same steps again and again
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Step = "list[Any]"
"""The step's name and its arguments; everything in it can be JSON."""

MODES = ("default", "everything", "counted", "nothing")


@dataclass
class Script:
    """A sequence that can be run."""

    mode: str = "default"
    steps: list[list[Any]] = field(default_factory=list)
    title: str = ""

    def text(self) -> str:
        """The script as a file."""
        lines = [f"# {line}" for line in self.title.splitlines()] + [f"mode {self.mode}"]
        lines += [f"{step[0]} {json.dumps(step[1:])}" for step in self.steps]
        return "\n".join(lines) + "\n"

    @classmethod
    def read(cls, path: Path) -> Script:
        """From a file that text() or a person has written."""
        script = cls(title=path.name)
        for line in path.read_text().splitlines():
            word, _, rest = line.partition(" ")
            if word == "mode":
                script.mode = rest.strip()
            elif word and not word.startswith("#"):
                script.steps.append([word, *json.loads(rest or "[]")])
        return script
