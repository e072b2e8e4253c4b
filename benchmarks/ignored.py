"""Is importance what it says? Its level and p-values for columns that a model ignores, and its limits for all.

A model gets the columns of a table; beside them stand four that it never sees: a normal number, a copy of the column
that goes most with its output, the sum of that one and the next (in standard deviations), and a noisy copy. Tables were
used for nothing in the design of importance; rows were held out. ``--tables redundant skewed`` are two wide ones, of
``unseen`` (30 and 57 columns, drawn), which need no folder.

- mean, 95%: of the importance of ignored columns, which is 0 in truth;
- p < .05, < .01: how often the p-values of ignored columns are below, with one standard error over seeds (rows of a
  seed share its perturbations, so they are no independent trials);
- coverage: share of 95% limits that hold the importance of unlimited sampling, of used columns; for that stands the
  mean of two runs of 30,000 perturbations. It is the same estimator, so a bias that does not shrink stays unseen;
- limits: share of used columns that have limits in these runs, too; others count for neither coverage nor rmse;
- rmse: of the importance of used columns against the same.

What counts as failure, written before the first run: p < .05 outside 4 to 6% in the mean over cells, or coverage
outside 93 to 98%, or a mean importance of ignored columns above .01 in any cell.

Run: python benchmarks/ignored.py --folder TABLES
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from cells import MODELS, Array
from known import built_in, from_folder
from sklearn.model_selection import train_test_split
from unseen import TABLES as TABLES_UNSEEN

import xcid
from xcid.generators import Balanced

TABLES = ("australian", "bands", "contraceptive", "ring", "saheart", "segment", "twonorm", "wisconsin")
KINDS = ("logistic", "boosting", "mlp")
IGNORED, UNLIMITED, MOST_ROWS = 4, 30_000, 1_000
NAMES = ("mean", "95%", "p < .05", "p < .01", "coverage", "limits", "rmse")


class Blind:
    """A fitted model that is not given the last columns."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, X: Array) -> Any:
        return self.model.predict_proba(np.asarray(X, dtype=float)[:, :-IGNORED])


def load(name: str, folder: Path | None) -> tuple[Array, Any]:
    """A table of ``unseen``, one of scikit-learn, or a file of a folder."""
    if name in TABLES_UNSEEN:
        return TABLES_UNSEEN[name]()
    return built_in(name) if folder is None else from_folder(folder, name)


def widened(X: Array, top: Any, sd: Array, rng: np.random.Generator) -> Array:
    """The columns, and those that the model ignores."""
    first, second = X[:, top[0]], X[:, top[1]]
    noisy = first + sd[top[0]] * rng.normal(size=len(X))
    more = [rng.normal(size=len(X)), first, first / sd[top[0]] + second / sd[top[1]], noisy]
    return np.column_stack([X, *more])


def measure(name: str, kind: str, options: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """Figures of one cell, each with its standard error over seeds."""
    X, y = load(name, options.folder)
    X = X[:, np.ptp(X, axis=0) > 0]
    train, rows, target, _ = train_test_split(X, y, test_size=0.2, random_state=5, stratify=y)
    model, rng = MODELS[kind]().fit(train[: 4 * MOST_ROWS], target[: 4 * MOST_ROWS]), np.random.default_rng(1)
    train, rows = train[:MOST_ROWS], rows[: options.rows]
    output, sd = model.predict_proba(train)[:, 1], train.std(axis=0)
    top = np.argsort([-abs(np.corrcoef(column, output)[0, 1]) for column in train.T])
    train, rows = widened(train, top, sd, rng), widened(rows, top, sd, rng)
    explainer = xcid.Explainer(Blind(model), train)
    used, ignored = slice(None, -IGNORED), slice(-IGNORED, None)
    many, seeds = explainer.replace(generator=Balanced(UNLIMITED)), range(1_000, 1_000 + options.truth)
    runs = [many(rows, seed=seed) for seed in seeds]
    ends = [np.asarray(run.importance_upper) for run in runs]
    kept = [np.where(np.isfinite(end), run.importance, np.nan) for end, run in zip(ends, runs, strict=True)]
    truth = np.mean(kept, axis=0)
    truth = truth[:, used]
    by_seed = []
    for seed in range(options.seeds):
        found = explainer(rows, seed=seed)
        assert found.importance_p_values is not None
        assert found.importance_lower is not None
        assert found.importance_upper is not None
        p, own = found.importance_p_values[:, ignored], found.importance[:, ignored]
        low, high = found.importance_lower[:, used], found.importance_upper[:, used]
        known = np.isfinite(high) & np.isfinite(truth)
        holds, error = ((low <= truth) & (truth <= high))[known], (found.importance[:, used] - truth)[known]
        level = [own.mean(), np.quantile(own, 0.95), np.mean(p < 0.05), np.mean(p < 0.01)]
        by_seed.append([*level, holds.mean(), known.mean(), np.sqrt(np.mean(error**2))])
    if not np.isfinite(by_seed).all():
        raise SystemExit(f"{name}, {kind}: ignored columns have no p-values there")
    means, errors = np.mean(by_seed, axis=0), np.std(by_seed, axis=0, ddof=1) / np.sqrt(options.seeds)
    return {one: (float(mean), float(error)) for one, mean, error in zip(NAMES, means, errors, strict=True)}


def line(name: str, found: dict[str, tuple[float, float]]) -> str:
    """One line of the table."""
    shown = [f"{found[one][0]:.3f}" + (f" ± {found[one][1]:.3f}" if one.startswith("p <") else "") for one in NAMES]
    return f"| {name} | {' | '.join(shown)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of comma-separated files, last column the class")
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--truth", type=int, default=2)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--models", nargs="*", default=KINDS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| table, model | {' | '.join(NAMES)} |")
    print("|---" * (len(NAMES) + 1) + "|")
    cells = []
    for name in options.tables:
        for kind in options.models:
            start = time.process_time()
            cells.append(measure(name, kind, options))
            print(line(f"{name}, {kind}", cells[-1]), flush=True)
            print(f"{name}, {kind}: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    both = {one: np.array([cell[one] for cell in cells]) for one in NAMES}
    mean = {one: (part[:, 0].mean(), float(np.sqrt(np.sum(part[:, 1] ** 2)) / len(part))) for one, part in both.items()}
    print(line(f"mean of {len(cells)} cells", mean))


if __name__ == "__main__":
    main()
