"""Compare ``Explainer.paper`` with the paper's own stack: dice-ml's random method and scipy's kernel estimates.

For every row of the test set (20 %, split seed 42) of Diabetes with a logistic regression, both sides find 50
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
import contextlib
import io
import sys
import time
import warnings
from typing import Any

import dice_ml
import numpy as np
import numpy.typing as npt
from scipy.stats import gaussian_kde
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import xcid

Array = npt.NDArray[np.float64]
N_GRID = 512
N_SEEDS = 10  # our side is averaged over them; dice-ml has one run, which takes its time


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


class DicePath:
    """d1 of every feature by dice-ml and scipy, row by row."""

    def __init__(self, model: Any, train: Any, y_train: Any, m: int) -> None:
        data = dice_ml.Data(
            dataframe=train.assign(Outcome=y_train), continuous_features=list(train.columns), outcome_name="Outcome"
        )
        self.dice = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")
        self.model, self.m, self.short = model, m, 0

    def __call__(self, rows: Any) -> Array:
        return np.array([self.row(rows.iloc[[i]]) for i in range(len(rows))])

    def row(self, row: Any) -> Array:
        flipped = self.counterfactuals(row, "opposite")
        kept = self.counterfactuals(row, int(self.model.predict(row)[0]))
        return np.array([d1(flipped[:, i], kept[:, i]) for i in range(row.shape[1])])

    def counterfactuals(self, row: Any, desired_class: str | int) -> Array:
        with (
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            found = self.dice.generate_counterfactuals(
                row, total_CFs=self.m, desired_class=desired_class, posthoc_sparsity_param=None
            )
        frame = found.cf_examples_list[0].final_cfs_df
        self.short += len(frame) < self.m
        return np.asarray(frame[row.columns], dtype=np.float64)


def d1(positive: Array, negative: Array) -> float:
    """1 - ∫min / ∫max by scipy's gaussian_kde with Silverman's rule and the trapezoid rule."""
    if np.ptp(positive) == 0 or np.ptp(negative) == 0:  # scipy fails on constants
        same = np.ptp(positive) == np.ptp(negative) == 0 and positive[0] == negative[0]
        return 0.0 if same else 1.0
    estimates = [gaussian_kde(sample, "silverman") for sample in (positive, negative)]
    margin = 4 * max(float(np.sqrt(estimate.covariance[0, 0])) for estimate in estimates)
    both = np.concatenate([positive, negative])
    grid = np.linspace(both.min() - margin, both.max() + margin, N_GRID)
    p, q = (estimate(grid) for estimate in estimates)
    return float(1 - np.trapezoid(np.minimum(p, q), grid) / np.trapezoid(np.maximum(p, q), grid))


if __name__ == "__main__":
    sys.exit(main())
