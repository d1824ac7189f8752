"""Plans are read strictly: what is wrong is said with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from pfsbench import plan
from pfsbench.model import BenchError

VARIANTS = """
[switch]
on = ["SELECT on()"]
[variant.a]
[variant.b]
preload = ["performance_schema"]
conf = { x = 1 }
switch = "on"
[variant.c]
like = "b"
conf = { y = 2 }
instance = 3
"""
GOOD = """
title = "T"
question = "Q?"
conf = { x = 9, z = 5 }
[method]
kind = "windows"
rounds = 2
[[cell]]
name = "rw"
workload = { program = "sysbench", script = "oltp_read_write" }
variants = ["a", "b", "c"]
baseline = "a"
conf = { z = 6 }
"""


def read(folder: Path, text: str, variants: str = VARIANTS) -> plan.Plan:
    (folder / "p.toml").write_text(text)
    (folder / "variants.toml").write_text(variants)
    return plan.read_plan("p", folder)


def test_conf_of_plan_cell_and_variant(tmp_path: Path) -> None:
    (cell,) = read(tmp_path, GOOD).cells
    a, b, c = cell.variants
    assert dict(a.server.conf) == {"x": 9, "z": 6}
    assert dict(b.server.conf) == {"x": 1, "z": 6}
    assert dict(c.server.conf) == {"x": 1, "y": 2, "z": 6}
    assert c.server.instance == 3 and c.switch == b.switch == ("SELECT on()",)
    assert len({a.server, b.server, c.server}) == 3


def test_threads_make_a_cell_each(tmp_path: Path) -> None:
    made = read(tmp_path, GOOD.replace("baseline", "threads = [1, 64]\nbaseline"))
    assert [(it.name, it.workload.threads, it.labels) for it in made.cells] == [
        ("rw-1", 1, {"threads": 1}),
        ("rw-64", 64, {"threads": 64}),
    ]


def test_cells_may_have_another_method(tmp_path: Path) -> None:
    made = read(tmp_path, GOOD.replace("baseline", 'method = { kind = "runs" }\nbaseline'))
    method = plan.cell_method(made, made.cells[0])
    assert (method.kind, method.rounds) == ("runs", 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "T"', 'titel = "T"', r"p\.toml: unknown key titel"),
        ('title = "T"', "title = 1", r"p\.toml: title is 1, not of type str"),
        ('title = "T"', "", r"p\.toml: title is missing"),
        ("rounds = 2", "round = 2", r"p\.toml: unknown key method\.round;"),
        ("rounds = 2", "rounds = true", r"p\.toml: method\.rounds is True"),
        ("rounds = 2", "rounds = 0", r"method\.rounds is at least 1"),
        ('kind = "windows"', 'kind = "guess"', r"method\.kind is one of windows"),
        ('"a", "b"', '"a", "nobody"', r"no variant 'nobody'; there are: a, b, c"),
        ('baseline = "a"', 'baseline = "x"', r"baseline 'x' is none of its variants"),
        ("conf = { z = 6 }", "config = 1", r"unknown key cell 'rw': config"),
        ('script = "', 'scrip = "', r"unknown key cell 'rw': workload\.scrip;"),
        ('program = "sysbench"', 'program = "ab"', r"workload wants a script and a program"),
        ('"a", "b", "c"', '"a", "b", "b"', r"names a variant twice"),
        ('question = "Q?"', "question = ", r"p\.toml: Invalid value"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(BenchError, match=message):
        read(tmp_path, GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("instance = 3", "instanz = 3", r"variants\.toml: unknown key variant\.c\.instanz"),
        ('switch = "on"', 'switch = "off"', r"variant\.b\.switch: no switch\.off"),
        ('like = "b"', 'like = "c"', r"variant\.c\.like leads back to itself"),
    ],
)
def test_a_wrong_variant_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        read(tmp_path, GOOD, VARIANTS.replace(old, new))


def test_two_cells_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="two cells are named 'rw'"):
        read(tmp_path, GOOD + GOOD[GOOD.index("[[cell]]") :])


def test_unknown_plan_lists_the_plans() -> None:
    with pytest.raises(BenchError, match=r"no plan 'nix'; there are: .*\bsmoke\b"):
        plan.read_plan("nix")


@pytest.mark.parametrize("name", plan.names())
def test_every_plan_can_be_read(name: str) -> None:
    made = plan.read_plan(name)
    assert made.cells and plan.plan_seconds(made) < 3 * 3600


def test_smoke_takes_less_than_three_minutes() -> None:
    assert plan.plan_seconds(plan.read_plan("smoke")) < 100
