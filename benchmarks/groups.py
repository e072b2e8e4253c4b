"""Does ``compare`` find differences between groups that have none, and those that there are?

Rows of one population are split by chance into two groups: every difference that is found is a false alarm. Then the
values of the smaller group, normal ones or skewed ones, vary more or less about the same mean, and then they are
shifted. Beside it stands Welch's t, which was used before.

    python benchmarks/groups.py --splits 200   # some minutes: as on the page; 100 splits without it
    python benchmarks/groups.py --only drawn   # the second table alone
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import xcid

SIZES = (10, 10), (10, 390), (20, 400), (30, 60), (100, 100), (100, 900), (1000, 1000)
LEVEL = 0.05


def claims(n: int, seed: int) -> tuple[Any, Any]:
    """Claims that nobody made: skewed sums, whole numbers, frequent levels and rare ones, missing cells."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sum": np.exp(random.normal(6, 1.2, n)).round(),
            "days": random.geometric(0.05, n),
            "score": random.normal(50, 10, n).round(1),
            "income": np.where(random.random(n) < 0.1, np.nan, np.exp(random.normal(8, 0.5, n)).round(-1)),
            "channel": random.choice(["web", "phone", "post", "fax"], n, p=[0.6, 0.3, 0.08, 0.02]),
            "kind": random.choice(["car", "home", "boat"], n, p=[0.7, 0.29, 0.01]),
            "fraud": (random.random(n) < 0.02).astype(int),
            "vip": (random.random(n) < 0.1).astype(int),
        }
    )
    odds = (
        0.6 * (np.log(frame["sum"]) - 6) - 0.02 * (frame["days"] - 20) + 0.05 * (frame["score"] - 50)
        - 0.5 * (np.log(frame["income"].fillna(3000)) - 8) + (frame["channel"] == "fax") - (frame["kind"] == "boat")
        + 2 * frame["fraud"] - frame["vip"]
    )  # fmt: skip
    return frame, (random.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def explained() -> dict[str, Any]:
    """Explanations of rows that the models do not know."""
    frame, target = claims(6000, 1)
    frame = frame.fillna({"income": 3000.0})
    levels = ["channel", "kind"]
    encode = make_column_transformer((OneHotEncoder(), levels), remainder=StandardScaler())
    cells = frame.assign(**{name: frame[name].astype("category").cat.codes for name in levels})
    cancer = load_breast_cancer(as_frame=True)
    trees = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    line = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    found = {}
    for name, model, X, y in (
        ("claims, logistic", make_pipeline(encode, LogisticRegression(max_iter=500)), frame, target),
        ("claims, boosting", trees, cells, target),
        ("breast cancer, logistic", line, cancer.data, cancer.target),
    ):
        n = len(X) // 4
        model.fit(X[:n], y[:n])
        found[name] = xcid.Explainer(model, X[:n], max_evidence_bytes=0).contributions(X[n:])
    return found


def welch(first: Any, second: Any) -> Any:
    """(d,) the p-values of before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p_values = stats.ttest_ind(first, second, equal_var=False).pvalue
    apart = first.mean(axis=0) != second.mean(axis=0)
    return np.where(np.isnan(p_values), np.where(apart, 0.0, 1.0), p_values)


def false_alarms(one: Any, sizes: tuple[int, int], splits: int) -> list[float]:
    """The share of differences and of differences of sizes with a p-value below 5%, and by Welch's t."""
    random, m, shares = np.random.default_rng(7), sizes[0], []
    varies = one.values.std(axis=0) > 1e-9
    for _ in range(splits):
        rows = random.permutation(len(one))[: sum(sizes)]
        found = one[rows[:m]].compare(one[rows[m:]])
        before = welch(one.values[rows[:m]], one.values[rows[m:]])
        shares.append([np.mean(p[varies] < LEVEL) for p in (found.p_values, found.sizes.p_values, before)])
    return np.mean(shares, axis=0).tolist()


Draw = Callable[[Any, tuple[int, int]], Any]
"""Values with a mean of 0, by a generator of random numbers and a shape."""


def draw_normal(random: Any, shape: tuple[int, int]) -> Any:
    return random.normal(size=shape)


def draw_skewed(random: Any, shape: tuple[int, int]) -> Any:
    """An exponential distribution about its mean."""
    return random.exponential(size=shape) - 1


def made(sizes: tuple[int, int], spread: float, shift: float, splits: int, draw: Draw = draw_normal) -> list[float]:
    """The same for drawn values in a linear model, of which those of the smaller group vary more and are shifted."""
    random, d, m, shares = np.random.default_rng(8), 10, sizes[0], []
    explainer = xcid.Explainer(LogisticRegression().fit(*_line(random, d)), random.normal(size=(200, d)))
    for _ in range(splits):
        X = draw(random, (sum(sizes), d))
        X[:m] = X[:m] * spread + shift
        one = explainer.contributions(X)
        both = one[:m].compare(one[m:]).p_values, welch(one.values[:m], one.values[m:])
        shares.append([np.mean(p_values < LEVEL) for p_values in both])
    return np.mean(shares, axis=0).tolist()


def _line(random: Any, d: int) -> tuple[Any, Any]:
    X = random.normal(size=(500, d))
    return X, X.sum(axis=1) + random.logistic(size=500) > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--only", default="", choices=["", "drawn"], help="the second table alone")
    options = parser.parse_args()
    splits = options.splits
    known = {} if options.only else explained()
    print("| rows split by chance | groups | differences | of sizes | Welch's t |\n|---|---|---|---|---|")
    for name, one in known.items():
        for sizes in SIZES:
            if sum(sizes) <= len(one):
                shares = " | ".join(f"{share:.1%}" for share in false_alarms(one, sizes, splits))
                print(f"| {name} | {sizes[0]:,} and {sizes[1]:,} | {shares} |", flush=True)
    print("\n| drawn values | groups | found | Welch's t |\n|---|---|---|---|")
    for what, spread, shift, draw in (
        ("normal, the smaller group varies three times as much", 3.0, 0.0, draw_normal),
        ("normal, the smaller group varies a third as much", 1 / 3, 0.0, draw_normal),
        ("skewed, the smaller group varies three times as much", 3.0, 0.0, draw_skewed),
        ("skewed, the smaller group varies a third as much", 1 / 3, 0.0, draw_skewed),
        ("normal, shifted by 0.8 standard deviations", 1.0, 0.8, draw_normal),
    ):
        for sizes in SIZES[:-2]:
            shares = " | ".join(f"{share:.1%}" for share in made(sizes, spread, shift, splits, draw))
            print(f"| {what} | {sizes[0]:,} and {sizes[1]:,} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
