"""Up to how many leaves and reference rows do exact contributions pay? Forests for a number, exact and sampled.

Each forest is explained with the bounds of ``xcid.native.shapley`` lifted, and then with no work allowed, so that the
same contributions are sampled: processor time of one thread, side by side in one run. Beside it stands the error of
what is sampled: its root mean square, as a share of that of the exact contributions.

Run: python benchmarks/bounds.py [--reference 100 1000]
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402
from cells import Array  # noqa: E402
from sklearn.datasets import make_friedman1  # noqa: E402
from sklearn.ensemble import RandomForestRegressor  # noqa: E402

import xcid  # noqa: E402
from xcid.native import shapley  # noqa: E402

FORESTS = [(4_500, 30, 5), (4_500, 10, 5), (4_500, 10, 3), (4_500, 10, 2), (2_200, 10, 1), (4_500, 10, 1)]
REFERENCE = (100, 1_000, 3_000, 10_000)
N_ROWS, MOST_WORK = 30, 2**30


class Times(NamedTuple):
    """Seconds of set-up and first row, milliseconds of one row by itself and of one among many; the values."""

    first: float
    alone: float
    among: float
    values: Array


def explain(model: Any, reference: Array, rows: Array, most: int) -> Times:
    """Explain rows while at most so many leaves, and pairs of leaves and reference rows, count as little enough."""
    kept = shapley.MOST_WORK, shapley.MOST_DEEP
    shapley.MOST_WORK = shapley.MOST_DEEP = most
    ends = [time.process_time()]
    explainer = xcid.Explainer(model, reference)
    for some in (rows[:1], rows[1:2], rows):
        found = explainer.contributions(some)
        ends.append(time.process_time())
    shapley.MOST_WORK, shapley.MOST_DEEP = kept
    first, alone, among = np.diff(ends)
    return Times(first, 1e3 * alone, 1e3 * among / len(rows), found.values)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=int, nargs="*", default=REFERENCE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = (f"{what}, {how}" for what in ("first, s", "one row, ms", "of many, ms") for how in ("exact", "sampled"))
    print(f"| columns | leaves | reference rows | {' | '.join(heads)} | error of sampled |")
    print("|---" * 10 + "|")
    for n, d, least in FORESTS:
        X, y = make_friedman1(n + N_ROWS, d, noise=1.0, random_state=3)
        model = RandomForestRegressor(100, min_samples_leaf=least, n_jobs=1, random_state=0).fit(X[:n], y[:n])
        leaves = sum(tree.get_n_leaves() for tree in model.estimators_)
        for count in options.reference:
            if leaves * count > MOST_WORK:
                continue
            reference = make_friedman1(count, d, noise=1.0, random_state=4)[0]
            exact, sampled = (explain(model, reference, X[n:], most) for most in (2**40, 0))
            error = np.sqrt(np.mean((sampled.values - exact.values) ** 2) / np.mean(exact.values**2))
            pairs = zip(exact[:3], sampled[:3], (2, 1, 1), strict=True)
            cells = (f"{one:.{digits}f}" for *both, digits in pairs for one in both)
            print(f"| {d} | {leaves:,} | {count:,} | {' | '.join(cells)} | {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()
