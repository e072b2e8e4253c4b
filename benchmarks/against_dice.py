"""Compare ``Explainer.paper`` with the paper's own stack: dice-ml's random method and scipy's kernel estimates.

For every row of the test set (20%, split seed 42) of Diabetes with a logistic regression, both sides find 50
counterfactuals and 50 that are none, and compute d1 for every feature. Printed are the mean d1 of each feature on both
sides with its standard error (ours averaged over ten seeds, dice-ml in one run), and the two times, measured in this
run.

The stack is used as its authors do, but for its traps: no post-hoc sparsity (it only slows it down), no seed (with one
all features move together), no progress bar. Exit status 1 when a mean lies farther apart than twice the standard
error, or the time ratio is below 100.

    python benchmarks/against_dice.py            # the whole test set, about a minute
    python benchmarks/against_dice.py --rows 20
"""

from __future__ import annotations

import argparse
import functools
import sys
import time

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import xcid
from xcid_lab.bench.peers import PaperStack, d1

__all__ = ["DicePath", "d1"]

Array = npt.NDArray[np.float64]
N_SEEDS = 10  # our side is averaged over them; dice-ml has one run, which takes its time
DicePath = functools.partial(PaperStack, posthoc_sparsity_param=None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=None, help="rows of the test set (all by default)")
    parser.add_argument("--m", type=int, default=50, help="samples of each kind")
    arguments = parser.parse_args()

    table = xcid.datasets.load_diabetes()
    train, test, y_train, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
    test = test.iloc[: arguments.rows]
    model = LogisticRegression(max_iter=1000).fit(train, y_train)

    dice = DicePath(model, train, y_train, arguments.m)
    dice(test.iloc[:1])  # warm up both sides
    explainer = xcid.Explainer.paper(model, train, m=arguments.m)
    explainer(test.iloc[:1])

    start = time.perf_counter()
    theirs = dice(test)
    dice_seconds = time.perf_counter() - start
    times = []
    for _ in range(5):  # short enough to be disturbed: the median of five
        start = time.perf_counter()
        explanation = explainer(test)
        times.append(time.perf_counter() - start)
    seconds = float(np.median(times))

    ours = np.mean([explainer(test, seed=seed).importance for seed in range(N_SEEDS)], axis=0)

    within = report(list(table.feature_names), theirs, ours)
    ratio = dice_seconds / seconds
    print(
        f"\n{len(test)} rows, m = {arguments.m}: dice-ml + scipy {1e3 * dice_seconds / len(test):.1f} ms a row, "
        f"xcid {1e3 * seconds / len(test):.2f} ms a row: {ratio:.0f} times faster"
    )
    short = int(np.sum(explanation.status != "ok"))
    print(f"rows with fewer counterfactuals than asked for: dice-ml {dice.short}, xcid {short}")
    return 0 if within and ratio >= 100 else 1


def report(names: list[str], theirs: Array, ours: Array) -> bool:
    """Print both means; True when they agree within twice the standard error of their difference."""
    print(f"{'feature':<26} {'dice-ml + scipy':>18} {'xcid':>18} {'difference':>11} {'in SE':>6}")
    worst = 0.0
    for i, name in enumerate(names):
        (a, se_a), (b, se_b) = mean_and_error(theirs[:, i]), mean_and_error(ours[:, i])
        z = (b - a) / np.hypot(se_a, se_b)
        worst = max(worst, abs(z))
        print(f"{name:<26} {a:>9.3f} ± {se_a:.3f} {b:>10.3f} ± {se_b:.3f} {b - a:>+11.3f} {z:>+6.2f}")
    return worst <= 2


def mean_and_error(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    sys.exit(main())
