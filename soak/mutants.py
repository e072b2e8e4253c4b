"""Change the code in one place at a time, in a copy, and see whether the tests of that room notice.

``make mutants ARGS="scores outcomes --sample 100 --seed 1"``: prints each change that no test noticed, and the share of
the others. Operators, constants, conditions, ``raise`` statements, calls for their effect and handlers of errors are
changed. The exit status is 1 where a room is below its share, or where its tests fail without any change. The working
tree is only read.

A script of our own because many rules here are constants at the top of a module, because guards are ``raise``
statements that must be tried without, and because every room has tests of its own.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from verdict import verdict

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 600  # seconds for the tests of one mutant
WARM = ("numpy", "scipy.stats", "pandas", "polars", "pyarrow.parquet", "sklearn.linear_model", "pytest")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.Mult,
}  # fmt: skip


class Room(NamedTuple):
    """Files of ``src/xcid``, the tests that hold them, what pytest is told, and the share that must be noticed.

    Shares may only be raised: see ``docs/mutants.md`` for what was measured.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    options: tuple[str, ...]
    least: float


QUICK = ("-m", "not slow")
ROOMS = {
    "scores": Room(
        ("contributions/sampled.py", "contributions/scale.py", "contributions/effects.py", "cid/per_feature.py",
         "cid/planned.py", "cid/calibrated.py", "cid/resampled.py"),
        ("tests/golden/test_values.py", "tests/test_contributions.py", "tests/test_adjusted.py",
         "tests/test_bad_input.py", "tests/test_intervals.py", "tests/cid", "tests/test_groups.py"),
        QUICK, 0.73,
    ),
    "other-scores": Room(
        ("contributions/pairs.py", "directions.py"),
        ("tests/test_interactions.py", "tests/golden/test_values.py"),
        QUICK, 0.6,
    ),
    "evidence": Room(
        ("cid/drawn.py",), ("tests/test_drawn.py", "tests/test_plots.py", "tests/test_report.py"), (), 0.6,
    ),
    "densities": Room(
        ("cid/densities/*.py",),
        ("tests/contracts/test_densities.py", "tests/golden/test_values.py", "tests/test_slots.py"),
        QUICK, 0.6,
    ),
    "outcomes": Room(
        ("outcomes/*.py",),
        ("tests/contracts/test_outcomes.py", "tests/test_outcomes.py", "tests/golden/test_values.py"),
        QUICK, 0.6,
    ),
    "tables": Room(
        ("io/cells.py", "io/delimited.py", "io/objects.py", "io/packed.py", "io/readers.py", "io/sheets.py",
         "io/tables.py"),
        ("tests/hostile/test_promises.py", "tests/hostile/test_kinds.py", "tests/hostile/test_bombs.py",
         "tests/test_io.py", "tests/test_io_delimited.py", "tests/hostile/test_tables.py", "tests/cli/test_tables.py",
         "tests/cli/test_time_zones.py", "tests/cli/test_sheets.py", "tests/test_io_limits.py"),
        (), 0.5,
    ),
    "model-files": Room(
        ("io/models.py", "io/trial.py", "io/vetted.py"),
        ("tests/cli/test_vetted.py", "tests/cli/test_model_files.py", "tests/hostile/test_model_files.py"),
        (), 0.5,
    ),
    "results": Room(
        ("io/saved.py", "io/writers.py", "show/report/page.py"),
        ("tests/hostile/test_promises.py", "tests/test_io.py", "tests/hostile/test_formulas.py",
         "tests/hostile/test_redaction.py", "tests/test_report.py", "tests/hostile/test_bombs.py",
         "tests/test_io_writers.py"),
        (), 0.5,
    ),
    "runs": Room(
        ("runs/folder.py", "runs/worker.py"),
        ("tests/hostile/test_runs.py", "tests/runs/test_results.py"), (), 0.5,
    ),
    "app": Room(("app/server.py",), ("tests/app/test_app.py",), (), 0.5),
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: bytes ``start`` to ``end`` of a file become ``new``."""

    room: str
    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}:{self.line}: {old[:90]}  ->  {new[:90]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try some mutants of some rooms."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}; all of them if none is named")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each room (default: 40; 0 takes all)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice")
    options = parser.parse_args(arguments)
    if unknown := set(options.rooms) - set(ROOMS):
        parser.error(f"no room is called {', '.join(sorted(unknown))}")
    rooms = {name: room for name, room in ROOMS.items() if not options.rooms or name in options.rooms}
    for name in WARM:  # every mutant is tried in a fork of this process
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder) / "tree")
        for name, room in rooms.items():
            if run(tree, room):
                faults.append(f"{name}: the tests fail without any change")
                continue
            chosen = sampled(every(name, room), options.sample, options.seed)
            n_killed = sum(_is_killed(tree, room, one) for one in chosen)
            share = n_killed / max(len(chosen), 1)
            print(f"{name}: {n_killed} of {len(chosen)} killed, {share:.0%} (at least {room.least:.0%})", flush=True)
            if share < room.least:
                faults.append(f"{name}: {share:.0%} of the mutants are killed, {room.least:.0%} are due")
    return verdict("mutants", len(rooms), faults)


def every(name: str, room: Room) -> list[Mutant]:
    """All mutants of a room."""
    package = ROOT / "src" / "xcid"
    files = [path for pattern in room.files for path in sorted(package.glob(pattern))]
    return [Mutant(name, str(path.relative_to(package)), *one) for path in files for one in changes(path.read_bytes())]


def sampled(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Some mutants, in their order; the same ones for the same code, count and seed."""
    if not count or count >= len(mutants):
        return mutants
    return [mutants[at] for at in sorted(random.Random(seed).sample(range(len(mutants)), count))]


def copied(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in ("src", "tests", "soak"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (ROOT / "pyproject.toml", ROOT / "SECURITY.md"):
        if path.exists():
            shutil.copy(path, folder)
    return folder


def _is_killed(tree: Path, room: Room, one: Mutant) -> bool:
    path, began = tree / "src" / "xcid" / one.file, time.monotonic()
    whole = path.read_bytes()
    path.write_bytes(whole[: one.start] + one.new.encode() + whole[one.end :])
    try:
        failed = run(tree, room)
    finally:
        path.write_bytes(whole)
    print(f"{'killed' if failed else 'SURVIVED':8} {time.monotonic() - began:5.1f} s  {one}", flush=True)
    return failed


def run(tree: Path, room: Room) -> bool:
    """Whether tests fail, or hang, on a tree; they run in a fork that has the large libraries already."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        _become_pytest(tree, room)
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # and whatever it left running
    if not done:
        os.waitpid(child, 0)
    return not done or status != 0


def _become_pytest(tree: Path, room: Room) -> None:
    status = 1
    try:
        os.setsid()
        os.chdir(tree)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        os.environ.update(PYTHONPATH=str(tree / "src"), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(tree / "src"))
        options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(tree))
        examples = [f"src/xcid/{pattern}" for pattern in room.files]  # of docstrings
        examples = [str(path) for pattern in examples for path in sorted(tree.glob(pattern))]
        status = int(importlib.import_module("pytest").main([*options, *room.options, *examples, *room.tests]))
    finally:
        os._exit(status)


def changes(source: bytes) -> Iterator[tuple[int, int, int, str, str]]:
    """All changes of a file: line, where it begins and ends, the old text and the new."""
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in _code(ast.parse(source)):
        for place, new in _changed(node):
            start, end = (
                starts[place.lineno - 1] + place.col_offset,
                starts[place.end_lineno - 1] + place.end_col_offset,
            )
            yield place.lineno, start, end, source[start:end].decode(), new


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What is run, without types, the insides of f-strings, whose places are not known, and ``strict=`` of ``zip``."""
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)


def _changed(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Parts of a node, and what may stand in their place."""
    match node:
        case ast.Compare(ops=[operator]):
            yield node, _with(node, ops=[SWAPPED[type(operator)]()])
        case ast.BoolOp(op=operator):
            yield node, _with(node, op=SWAPPED[type(operator)]())
        case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()) | ast.BinOp(right=ast.Constant(value=str())):
            pass
        case ast.BinOp(op=operator) if type(operator) in SWAPPED:
            yield node, _with(node, op=SWAPPED[type(operator)]())
        case ast.UnaryOp(operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as value):
            yield node, str(value + 1)
        case ast.Constant(value=float() as value):
            yield node, repr(value * 1.5 if value else 0.5)
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.If(test=test):
            yield test, "False"
        case ast.IfExp(test=test):
            yield from ((test, "True"), (test, "False"))
        case ast.ExceptHandler(type=ast.expr() as caught):
            yield caught, "ZeroDivisionError"


def _with(node: ast.expr, **fields: object) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})"


if __name__ == "__main__":
    sys.exit(main())
