"""The house in figures: lines, files and imports of every room, what an explainer can reach, and the roads of a row.

A file is on a road when one of its functions runs while five rows are explained, in whatever process, or the app
answers about one. What ``import xcid.explainer`` reaches are the modules that it imports, those that they import, and
so on: at once, by the imports at the top of modules, and late, by those inside functions as well. Imports for
annotations alone do not count, and neither does ``xcid/__init__.py``, which imports a name where it is used.

Roads are those of a logistic regression, the easiest model, or of a forest, which is read from inside. Beside each is
how many files it had before the lab and the networks left: as this script counts them, and as they were counted by hand
when that was decided, where they were.

    python benchmarks/roads.py [--source src] [--model forest] [--files] [--roads NAME ...]
    python benchmarks/roads.py --renew    # the lines and files of all rooms in docs/architecture.md
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

READ = """
import pandas as pd, skops.io, xcid
table = pd.read_csv("table.csv").drop(columns="y")
model = skops.io.load("model.skops", trusted=skops.io.get_untrusted_types(file="model.skops"))
"""
REQUEST = """
import json
from xcid.app import Session
session = Session(model, table, table.head(5))
session.describe()
cells = table.iloc[0].tolist()
asked = {"cells": cells, "own": cells, "frozen": [], "forbidden": [], "target": 0, "feature": 0}
asked["question"] = {"kind": "flip"}
session.explain(json.dumps(asked).encode())
"""
COMMON = ["--reference", "table.csv", "--target", "y", "--model", "model.skops", "--rows", "0:5", "--quiet"]
RUN = ["--data", "table.csv", "--run", "folder"]
ROADS = {
    "xcid explain": ["-m", "xcid", "explain", *COMMON, "--out", "scores.csv"],
    "xcid explain --run": ["-m", "xcid", "explain", *COMMON, "--out", "scores.csv", *RUN],
    "xcid report": ["-m", "xcid", "report", *COMMON, "--out", "report.html"],
    "xcid whatif": ["-m", "xcid", "whatif", *COMMON, "--out", "ways.csv"],
    "xcid app, one request": ["-c", READ + REQUEST],
    "Explainer(model, X)(rows)": ["-c", READ + "xcid.Explainer(model, table)(table.head(5))"],
    "Explainer.paper(model, X)(rows)": ["-c", READ + "xcid.Explainer.paper(model, table)(table.head(5))"],
}
MAKE = """
import numpy as np, pandas as pd, skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["age", "income", "debt"])
table["y"] = (table.age + table.income > 0).astype(int)
table.to_csv("table.csv", index=False)
skops.io.dump(MODEL.fit(table.drop(columns="y"), table.y), "model.skops")
"""
MODELS = {"logistic": "LogisticRegression()", "forest": "RandomForestClassifier(20, max_depth=5, random_state=0)"}
BEFORE = (87, 89, 107, 87, 67, 55, 52), (87, 71, 102, 80, 63, 32, None)  # by this script; by hand
PACKAGE, START = "xcid", "xcid.explainer"
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
ROOM = re.compile(r"^\| ((?:`[\w/]+`(?:, )?)+) \| ([\d,]+) \| (\d+) \|", re.MULTILINE)  # names, lines, files
WHOLE = re.compile(r"[\d,]+ lines in \d+ files, median \d+, longest \d+ \|$", re.MULTILINE)  # what xcid is now
REACHED = re.compile(r"([\d,]+) lines in (\d+) files \|$", re.MULTILINE)  # at once, and also late


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src", metavar="DIR")
    parser.add_argument("--renew", action="store_true", help="put the counts of today into docs/architecture.md")
    parser.add_argument("--files", action="store_true", help="name the files of each road")
    parser.add_argument("--model", choices=MODELS, default="logistic", help="that explains rows (default: logistic)")
    parser.add_argument("--roads", nargs="*", choices=ROADS, default=ROADS, metavar="NAME", help="by default all")
    options = parser.parse_args()
    source = options.source.resolve()
    modules = find_modules(source)
    if options.renew:
        PAGE.write_text(renew(PAGE.read_text(), modules, source))
        return
    print(describe_rooms(modules))
    for name, late in (("at once", False), ("also late", True)):
        files, lines = count_reached(modules, late=late)
        print(f"import {START} reaches {name}: {files} files, {lines:,} lines")
    for road in options.roads:
        found = trace(source, ROADS[road], MODELS[options.model])
        print(f"{road}: {len(found)} files {describe_before(road)}", flush=True)
        if options.files:
            print("  " + " ".join(found))


def find_modules(source: Path) -> dict[str, Path]:
    """The file of each module, by its full name."""
    names = {path: ".".join(path.relative_to(source).with_suffix("").parts) for path in sorted(source.rglob("*.py"))}
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


def describe_rooms(modules: Mapping[str, Path]) -> str:
    """Lines, files and imports of each room and of the modules beside them; then of each package.

    An import is a pair of modules of different rooms, one of which imports the other, at once or late.
    """
    rooms: dict[str, list[str]] = {}
    for module in modules:
        rooms.setdefault(name_room(module), []).append(module)
    lines = []
    for room, members in rooms.items():
        imports = {(one, to) for one in members for to in find_imports(modules, one, late=True)}
        leaving = {pair for pair in imports if name_room(pair[1]) != room}
        entered = len({name_room(to) for _, to in leaving})
        size = sum(count_lines(modules[one]) for one in members)
        lines.append(f"{room:24} {size:6,} lines {len(members):4} files {len(leaving):4} imports of {entered:2} rooms")
    for package in dict.fromkeys(module.partition(".")[0] for module in modules):
        sizes = sorted(count_lines(path) for name, path in modules.items() if name.partition(".")[0] == package)
        spread = f"median {sizes[len(sizes) // 2]}, longest {sizes[-1]}"
        lines.append(f"{package}: {sum(sizes):,} lines in {len(sizes)} files, {spread}")
    return "\n".join(lines)


def renew(page: str, modules: Mapping[str, Path], source: Path) -> str:
    """A page with the lines and files of today, of each room and of what an explainer reaches."""

    def count(line: re.Match[str]) -> str:
        files = find_files(line[1], source)
        return f"| {line[1]} | {sum(map(count_lines, files)):,} | {len(files)} |"

    head, path, rest = page.partition("## The path of a row")
    reached = iter([count_reached(modules, late=late) for late in (False, True)])
    whole = describe_rooms(modules).splitlines()[-3].partition(": ")[2]
    head = WHOLE.sub(f"{whole} |", ROOM.sub(count, head))
    return REACHED.sub(lambda _: "{1:,} lines in {0} files |".format(*next(reached)), head) + path + rest


def find_files(names: str, source: Path) -> list[Path]:
    """The modules that a line of the page is about: packages end with a slash, and lie in xcid but for three."""
    found: list[Path] = []
    for name in re.findall("`([^`]+)`", names):
        place = source / name if name.startswith(PACKAGE) else source / PACKAGE / name.rstrip("/")
        found += [*place.rglob("*.py")] if place.is_dir() else [place.with_suffix(".py")]
    return found


def count_reached(modules: Mapping[str, Path], *, late: bool) -> tuple[int, int]:
    """Files and lines that an explainer reaches."""
    reached = reach(modules, START, late=late)
    return len(reached), sum(count_lines(modules[module]) for module in reached)


def name_room(module: str) -> str:
    """The package or module below xcid that a module is part of; other packages are rooms of their own."""
    package, *parts = module.split(".")
    return ".".join([package, *parts[:1]]) if package == PACKAGE else package


def reach(modules: Mapping[str, Path], start: str, *, late: bool) -> set[str]:
    """A module and all modules that it imports, directly or through others."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += find_imports(modules, module, late=late)
    return reached


def find_imports(modules: Mapping[str, Path], module: str, *, late: bool) -> set[str]:
    """Modules that a module imports, each with the packages that it lies in, but the outermost."""
    found = {name for node in list_imports(parse(modules[module]).body, late) for name in name_targets(node)}
    parents = {name.rsplit(".", up)[0] for name in found if name in modules for up in range(name.count(".") + 1)}
    return {name for name in parents if name in modules} - {PACKAGE, module}


def list_imports(statements: list[ast.stmt], late: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Statements that import when a module is, or, where ``late``, when one of its functions is called."""
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from list_imports(statement.orelse, late)
        elif late or not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "orelse", "finalbody"):
                yield from list_imports(getattr(statement, part, []), late)
            for handler in getattr(statement, "handlers", []):
                yield from list_imports(handler.body, late)


def name_targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Full names of what may be modules in an import; relative ones do not occur."""
    if isinstance(node, ast.ImportFrom):
        yield node.module or ""
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    else:
        yield from (alias.name for alias in node.names)


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def count_lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def describe_before(road: str) -> str:
    """How many files a road had before, with a logistic regression: as this script counts, and as counted by hand.

    Examples
    --------
    >>> describe_before("xcid report")
    '(before: 107; by hand 102)'
    """
    traced, by_hand = (counts[list(ROADS).index(road)] for counts in BEFORE)
    return f"(before: {traced}{'' if by_hand is None else f'; by hand {by_hand}'})"


def trace(source: Path, command: list[str], model: str) -> list[str]:
    """The files that have a function which a command runs; the package ``coverage`` finds them."""
    from coverage import CoverageData

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = ["parallel = True", "concurrency = multiprocessing,thread", f"source = {source}"]
        (folder / "rc").write_text("\n".join(["[run]", *settings, f"data_file = {folder / 'data'}", ""]))
        (folder / "sitecustomize.py").write_text("import coverage\n\ncoverage.process_startup()\n")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), name])}
        subprocess.run([sys.executable, "-c", MAKE.replace("MODEL", model)], cwd=folder, env=env, check=True)
        env["COVERAGE_PROCESS_START"] = str(folder / "rc")
        subprocess.run([sys.executable, *command], cwd=folder, env=env, check=True, capture_output=True)
        data = CoverageData(str(folder / "all"))
        for part in folder.glob("data.*"):
            more = CoverageData(str(part))
            more.read()
            data.update(more)
        return sorted(
            str(Path(file).relative_to(source))
            for file in data.measured_files()
            if set(data.lines(file) or ()) & find_inner_lines(Path(file))
        )


def find_inner_lines(path: Path) -> set[int]:
    """The lines in the bodies of functions."""
    functions = (node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef))
    statements = ((function, statement) for function in functions for statement in function.body)
    return {
        line
        for function, statement in statements
        for line in range(statement.lineno, (statement.end_lineno or 0) + 1)
        if line > function.lineno
    }


if __name__ == "__main__":
    main()
