"""Reads plans/NAME.toml and plans/variants.toml into model.Plan (their keys: plans/README.md).

Strict: an unknown key, an unknown variant or a value of the wrong type is a BenchError that names
the file and the key. Pure but for reading the two files.
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

from .model import BenchError, Cell, Method, Plan, ServerSpec, Variant, Workload

PLANS = Path(__file__).resolve().parents[1] / "plans"
VARIANTS = "variants"
KINDS = ("windows", "runs", "loop", "callgrind", "memory", "read")
PROGRAMS = ("sysbench", "pgbench", "nested", "loop", "callgrind")

PLAN_KEYS = {
    "title": str, "question": str, "seed": int, "notes": str, "conf": dict, "method": dict,
    "cell": list, "published": dict,
}  # fmt: skip
METHOD_KEYS = {
    "kind": str, "rounds": int, "window_s": float, "skip_s": float, "warmup_s": float,
    "restarts": int, "options": dict,
}  # fmt: skip
CELL_KEYS = {
    "name": str, "labels": dict, "workload": dict, "threads": list, "variants": list,
    "baseline": str, "conf": dict, "method": dict,
}  # fmt: skip
WORKLOAD_KEYS = {
    "program": str, "script": str, "threads": int, "tables": int, "rows": int, "options": list,
}  # fmt: skip
VARIANT_KEYS = {
    "kind": str, "pg_config": str, "build": str, "preload": list, "conf": dict, "what": str,
    "data_checksums": bool, "instance": int, "switch": (str, list), "like": str, "reader": str,
}  # fmt: skip
SERVER_KEYS = ("kind", "pg_config", "build", "data_checksums", "instance")


def names() -> list[str]:
    """The plans there are."""
    return sorted(path.stem for path in PLANS.glob("*.toml") if path.stem != VARIANTS)


def read_plan(name: str, folder: Path = PLANS) -> Plan:
    """The plan of this name or in the file of this path; BenchError with the list without one.

    variants.toml is the one beside the plan, else the bench's own.
    """
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if path.stem == VARIANTS or not path.is_file():
        raise BenchError(f"no plan {name!r}; there are: {', '.join(names())}")
    facts = read_toml(path)
    check_keys(path, "", facts, PLAN_KEYS)
    for key in ("title", "question", "method", "cell"):
        if key not in facts:
            raise BenchError(f"{path}: {key} is missing")
    check_keys(path, "method.", facts["method"], METHOD_KEYS)
    own = path.parent / f"{VARIANTS}.toml"
    table = read_toml(own if own.exists() else PLANS / own.name)
    cells = [cell for entry in facts["cell"] for cell in read_cells(path, facts, entry, table)]
    check_names(path, cells)
    return Plan(
        name=path.stem,
        title=facts["title"],
        question=facts["question"],
        cells=tuple(cells),
        method=make_method(path, facts["method"]),
        seed=facts.get("seed", 1),
        published=facts.get("published", {}),
        notes=facts.get("notes", ""),
    )


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file; BenchError when it is missing or no TOML."""
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BenchError(f"{path}: {error}") from None


def check_keys(path: Path, where: str, facts: Any, known: dict[str, Any]) -> None:
    """BenchError for a key that is not known or a value of another type."""
    if not isinstance(facts, dict):
        raise BenchError(f"{path}: {where.rstrip('.')} is not a table")
    for key, value in facts.items():
        if key not in known:
            raise BenchError(f"{path}: unknown key {where}{key}; known: {', '.join(known)}")
        wanted = known[key]
        if isinstance(value, bool) and wanted is not bool:
            right = False
        else:
            right = isinstance(value, (int, float) if wanted is float else wanted)
        if not right:
            what = wanted.__name__ if isinstance(wanted, type) else "str or list"
            raise BenchError(f"{path}: {where}{key} is {value!r}, not of type {what}")


def make_method(path: Path, facts: dict[str, Any]) -> Method:
    """The method; BenchError for an unknown kind or no rounds."""
    if facts.get("kind") not in KINDS:
        raise BenchError(f"{path}: method.kind is one of {', '.join(KINDS)}")
    if facts.get("rounds", 0) < 1:
        raise BenchError(f"{path}: method.rounds is at least 1")
    return Method(**facts)


def read_cells(
    path: Path, plan: dict[str, Any], entry: dict[str, Any], table: dict[str, Any]
) -> list[Cell]:
    """The cells of one [[cell]]: one, or one for each number of threads."""
    where = f"cell {entry.get('name', '?')!r}: "
    check_keys(path, where, entry, CELL_KEYS)
    for key in ("name", "workload", "variants"):
        if key not in entry:
            raise BenchError(f"{path}: {where}{key} is missing")
    check_keys(path, f"{where}workload.", entry["workload"], WORKLOAD_KEYS)
    method = None
    if "method" in entry:
        check_keys(path, f"{where}method.", entry["method"], METHOD_KEYS)
        method = make_method(path, {**plan["method"], **entry["method"]})
    conf = {**plan.get("conf", {}), **entry.get("conf", {})}
    variants = tuple(make_variant(table, path, name, conf) for name in entry["variants"])
    baseline = entry.get("baseline", entry["variants"][0] if entry["variants"] else "")
    if variants and baseline not in entry["variants"]:
        raise BenchError(f"{path}: {where}baseline {baseline!r} is none of its variants")
    base = Cell(
        entry["name"], entry.get("labels", {}), make_workload(path, where, entry["workload"]),
        variants, baseline, method,
    )  # fmt: skip
    return [with_threads(base, n) for n in entry["threads"]] if "threads" in entry else [base]


def with_threads(cell: Cell, threads: int) -> Cell:
    """The same cell with so many threads."""
    return dataclasses.replace(
        cell, name=f"{cell.name}-{threads}", labels={**cell.labels, "threads": threads},
        workload=dataclasses.replace(cell.workload, threads=threads),
    )  # fmt: skip


def make_workload(path: Path, where: str, facts: dict[str, Any]) -> Workload:
    """The workload; BenchError for an unknown program."""
    if facts.get("program") not in PROGRAMS or "script" not in facts:
        raise BenchError(
            f"{path}: {where}workload wants a script and a program of {', '.join(PROGRAMS)}"
        )
    return Workload(**{**facts, "options": tuple(facts.get("options", ()))})


def make_variant(table: dict[str, Any], path: Path, name: str, conf: dict[str, Any]) -> Variant:
    """The variant of this name, its PostgreSQL server with conf below its own settings."""
    source = path.parent / f"{VARIANTS}.toml"
    facts = inherited(table.get("variant", {}), path, name)
    check_keys(source, f"variant.{name}.", facts, VARIANT_KEYS)
    switch = facts.get("switch", [])
    if isinstance(switch, str):
        if switch not in table.get("switch", {}):
            raise BenchError(f"{source}: variant.{name}.switch: no switch.{switch}")
        switch = table["switch"][switch]
    common = conf if facts.get("kind", "postgresql") == "postgresql" else {}
    spec = ServerSpec(
        **{key: facts[key] for key in SERVER_KEYS if key in facts},
        preload=tuple(facts.get("preload", ())),
        conf=tuple(sorted({**common, **facts.get("conf", {})}.items())),
    )
    return Variant(name, spec, tuple(switch), facts.get("what", ""), facts.get("reader", ""))


def inherited(variants: dict[str, Any], path: Path, name: str, depth: int = 0) -> dict[str, Any]:
    """The fields of a variant with those of the one it is like; `conf` tables are merged."""
    if name not in variants:
        raise BenchError(f"{path}: no variant {name!r}; there are: {', '.join(variants)}")
    own = dict(variants[name])
    if "like" not in own:
        return own
    if depth > 8:
        raise BenchError(f"variants.toml: variant.{name}.like leads back to itself")
    other = inherited(variants, path, own.pop("like"), depth + 1)
    return {**other, **own, "conf": {**other.get("conf", {}), **own.get("conf", {})}}


def check_names(path: Path, cells: list[Cell]) -> None:
    """BenchError for cells or variants of a cell with the same name."""
    seen: set[str] = set()
    for cell in cells:
        if cell.name in seen:
            raise BenchError(f"{path}: two cells are named {cell.name!r}")
        seen.add(cell.name)
        if len({variant.name for variant in cell.variants}) < len(cell.variants):
            raise BenchError(f"{path}: cell {cell.name!r} names a variant twice")


def cell_method(plan: Plan, cell: Cell) -> Method:
    """How this cell is measured."""
    return cell.method or plan.method


def cell_seconds(plan: Plan, cell: Cell) -> float:
    """About how long the measuring of a cell takes, without making its servers and data."""
    method = cell_method(plan, cell)
    servers = len({variant.server for variant in cell.variants})
    if method.kind in ("windows", "read"):
        round_s = len(cell.variants) * (method.window_s + method.skip_s + 0.02)
        warming = method.warmup_s * (1 + servers) + 2 * servers
        return method.rounds * round_s + warming + method.restarts * servers * method.warmup_s
    if method.kind in ("runs", "memory"):
        return (method.rounds + 1) * len(cell.variants) * (method.window_s + 1.0)
    if method.kind == "loop":
        return (method.rounds + 3) * len(cell.variants) * 0.02 + 1
    return 60.0 * method.rounds


def plan_seconds(plan: Plan) -> float:
    """About how long a plan takes: measuring, 5 s a server, 20 s a build, 10 us a row."""
    specs = {variant.server for cell in plan.cells for variant in cell.variants}
    builds = {(spec.pg_config, spec.build) for spec in specs if spec.kind == "postgresql"}
    measuring = sum(cell_seconds(plan, cell) for cell in plan.cells)
    data = {
        (variant.server, cell.workload.program, cell.workload.tables, cell.workload.rows)
        for cell in plan.cells
        if cell.workload.program in ("sysbench", "pgbench")
        for variant in cell.variants
    }
    filling = sum(
        rows * (tables if program == "sysbench" else 1) / 1e5 for _, program, tables, rows in data
    )
    return measuring + filling + 5.0 * len(specs) + 20.0 * len(builds)
