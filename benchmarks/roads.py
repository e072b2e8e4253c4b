"""The house in figures: lines and files of every room, and the files that a row passes on each road.

A file is on a road when one of its functions runs while a command explains five rows, in whatever process, or
the app answers about one.

    python benchmarks/roads.py [--source src/xcid] [--files]
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from coverage import CoverageData

ASK = """
import json, pandas as pd, skops.io
from xcid.app import Session
table = pd.read_csv("table.csv").drop(columns="y")
session = Session(skops.io.load("model.skops"), table, table.head(5))
session.describe()
cells = table.iloc[0].tolist()
asked = {"cells": cells, "own": cells, "frozen": [], "forbidden": [], "target": 0, "feature": 0}
asked["question"] = {"kind": "flip"}
session.explain(json.dumps(asked).encode())
"""
COMMON = ["--reference", "table.csv", "--target", "y", "--model", "model.skops", "--rows", "0:5", "--quiet"]
RUN = ["--data", "table.csv", "--run", "folder"]
ROADS = {
    "explain": ["-m", "xcid", "explain", *COMMON, "--out", "scores.csv"],
    "explain --run": ["-m", "xcid", "explain", *COMMON, "--out", "scores.csv", *RUN],
    "report": ["-m", "xcid", "report", *COMMON, "--out", "report.html"],
    "app, one request": ["-c", ASK],
}
MAKE = """
import numpy as np, pandas as pd, skops.io
from sklearn.linear_model import LogisticRegression
table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["age", "income", "debt"])
table["y"] = (table.age + table.income > 0).astype(int)
table.to_csv("table.csv", index=False)
skops.io.dump(LogisticRegression().fit(table.drop(columns="y"), table.y), "model.skops")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src" / "xcid", metavar="DIR")
    parser.add_argument("--files", action="store_true", help="name the files of each road")
    options = parser.parse_args()
    source = options.source.resolve()
    print(rooms(source))
    for road, command in ROADS.items():
        found = passed(source, command)
        print(f"{road}: {len(found)} files")
        if options.files:
            print("  " + " ".join(found))


def rooms(source: Path) -> str:
    """Lines and files of each room and of the modules beside them."""
    counts: dict[str, list[int]] = {}
    for path in sorted(source.rglob("*.py")):
        counts.setdefault(path.relative_to(source).parts[0], []).append(len(path.read_text().splitlines()))
    sizes = sorted(size for room in counts.values() for size in room)
    lines = [f"{room:16} {sum(found):6,} lines {len(found):4} files" for room, found in counts.items()]
    total = f"{sum(sizes):,} lines in {len(sizes)} files, median {sizes[len(sizes) // 2]}, longest {sizes[-1]}"
    return "\n".join([*lines, total])


def passed(source: Path, command: list[str]) -> list[str]:
    """The files that have a function which a command runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = ["parallel = True", "concurrency = multiprocessing,thread", f"source = {source}"]
        (folder / "rc").write_text("\n".join(["[run]", *settings, f"data_file = {folder / 'data'}", ""]))
        (folder / "sitecustomize.py").write_text("import coverage\n\ncoverage.process_startup()\n")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source.parent), name])}
        subprocess.run([sys.executable, "-c", MAKE], cwd=folder, env=env, check=True)
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
            if set(data.lines(file) or ()) & inside(Path(file))
        )


def inside(path: Path) -> set[int]:
    """The lines in the bodies of functions."""
    functions = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))
    statements = ((function, statement) for function in functions for statement in function.body)
    return {
        line
        for function, statement in statements
        for line in range(statement.lineno, (statement.end_lineno or 0) + 1)
        if line > function.lineno
    }


if __name__ == "__main__":
    main()
