"""Models that are called, by two checkouts side by side: processor time of a row.

Each checkout explains the same rows of the same models in a process of its own, in turns, with one thread:
contributions with importance (``explainer(X)``), and contributions alone where a checkout has them. Time that passes
inside the model is counted apart. Ratios are those of the least of all turns.

Run: python benchmarks/checkouts.py OLD [NEW], such as two folders that `git worktree add` made
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
HERE = Path(__file__).parents[1]
CELLS = ("function, 8", "function, 30", "network, 8", "network, 30", "forest, 8", "forest, 30")
TURN = """
import json, sys, time, warnings
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
import xcid

warnings.simplefilter("ignore")
kind, d = sys.argv[1].split(", ")
X, y = make_classification(900, int(d), n_informative=6, n_redundant=0, random_state=0)
inside = 0.0
if kind == "function":
    weights = np.linspace(-1, 1, int(d))
    model = lambda rows: 1 / (1 + np.exp(-(rows @ weights + rows[:, 0] * rows[:, 1])))
else:
    network, forest = MLPClassifier(max_iter=200, random_state=0), RandomForestClassifier(50, random_state=0)
    made = network if kind == "network" else forest
    model = made.fit(X[:600], y[:600]).predict_proba


def ask(rows):
    global inside
    start = time.process_time()
    found = model(rows)
    inside += time.process_time() - start
    return found


explainer = xcid.Explainer(ask, X[:600])
rows, found = X[600 : 600 + int(sys.argv[2])], {}
for name in ("explained", "alone"):
    explain = explainer if name == "explained" else getattr(explainer, "contributions", None)
    if explain is None:
        continue
    explain(rows[:1])
    least = (np.inf, 0.0)
    for _ in range(3):
        inside, start = 0.0, time.process_time()
        explain(rows)
        least = min(least, (time.process_time() - start, inside))
    found[name] = [1e3 * part / len(rows) for part in least]
print(json.dumps(found))
"""


def turn(checkout: Path, cell: str, n_rows: int) -> dict[str, Any]:
    """What one checkout takes, in milliseconds a row and inside the model."""
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(checkout / "src")}
    call = [sys.executable, "-c", TURN, cell, str(n_rows)]
    done = subprocess.run(call, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=HERE)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cells", nargs="*", default=CELLS, help="some of: " + "; ".join(CELLS))
    options = parser.parse_args()
    print("| model, columns | old: ms a row | inside the model | new | inside | new / old | new alone / old |")
    print("|---|---|---|---|---|---|---|")
    for cell in options.cells:
        turns = [[turn(one, cell, options.rows) for one in (options.old, options.new)] for _ in range(options.turns)]
        old, new = (min(one[at]["explained"] for one in turns) for at in (0, 1))
        alone = min(one[1]["alone"] for one in turns)
        shown = f"{old[0]:.2f} | {old[1]:.2f} | {new[0]:.2f} | {new[1]:.2f}"
        print(f"| {cell} | {shown} | {new[0] / old[0]:.2f} | {alone[0] / old[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
