"""Do limits hold what a model of fresh data, or fresh reference rows, would show?

A table, or draws from a population, is cut into ten training samples that share no row. Each gives a model. The first
three are explained with refits on their own sample; the nine others of each are the fresh models, which are explained
in the same rows, about the same class, on the same scale.

- computation, reference, training: share of the contributions of fresh models that lie inside limits of each kind,
  against the same reference rows;
- both: the same by limits over training, against fresh reference rows as well;
- rows: share of the contributions of the same model against fresh reference rows inside the limits over reference rows;
- strongest: the coverage by limits over training of the feature with the largest contribution;
- width: of limits over training, beside 1.96 standard deviations of the difference of two fresh models;
- reasons: of those among the first four with a share of refits of .9 or more, how often fresh models have them there.

Run: python benchmarks/refits.py [--folder KEEL] [--tables ring] [--models forest] [--refits 20]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cells import Array
from known import from_folder
from sklearn import datasets
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

import xcid

SAMPLES, SHOWN, TRAIN, REFERENCE, ROWS = 10, 3, 500, 100, 30
FIRST, SURE = 4, 0.9
NEEDED = SAMPLES * (TRAIN + REFERENCE) + ROWS
TREES: dict[str, Any] = {"n_estimators": 60, "max_depth": 4, "n_jobs": 1}
CLASSES: dict[str, Callable[[], Any]] = {
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
    "forest": lambda: RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "xgboost": lambda: XGBClassifier(**TREES, random_state=0),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier(16, max_iter=200, random_state=0)),
}
NUMBERS: dict[str, Callable[[], Any]] = {
    "linear": lambda: make_pipeline(StandardScaler(), Ridge()),
    "forest": lambda: RandomForestRegressor(50, min_samples_leaf=3, random_state=0),
    "boosting": lambda: HistGradientBoostingRegressor(max_iter=50, random_state=0),
    "xgboost": lambda: XGBRegressor(**TREES, random_state=0),
    "network": lambda: make_pipeline(StandardScaler(), MLPRegressor(16, max_iter=200, random_state=0)),
}
DRAWN = ("mixed", "friedman 1", "redundant", "shells")
KEEL = ("ring", "satimage", "twonorm")
NAMES = ("computation", "reference", "training", "strongest", "both", "rows", "width", "reasons")


class Found(NamedTuple):
    """What one explained model comes to: a number for each of NAMES, and how much there was to count."""

    numbers: dict[str, float]
    n_sure: int
    seconds: tuple[float, float, float]  # explained alone, trained again, explained with refits


def draw(name: str) -> tuple[Array, Any]:
    """Rows of a population that is known."""
    if name == "friedman 1":
        return datasets.make_friedman1(NEEDED, 10, noise=1.0, random_state=41)
    if name == "shells":
        return datasets.make_gaussian_quantiles(n_samples=NEEDED, n_features=8, n_classes=3, random_state=43)
    if name == "redundant":
        return datasets.make_classification(NEEDED, 30, n_informative=10, n_redundant=10, flip_y=0.05, random_state=44)
    rng = np.random.default_rng(45)
    income, debt = np.exp(rng.normal(size=(2, NEEDED)))
    age, children, region = rng.integers(18, 80, NEEDED), rng.poisson(1.2, NEEDED), rng.integers(0, 6, NEEDED)
    owner, delay = rng.integers(0, 2, NEEDED), np.where(rng.random(NEEDED) < 0.7, 0.0, rng.exponential(30.0, NEEDED))
    logit = 1.2 * np.log(income) - np.log(debt) * (1 + owner) + 0.04 * (age - 45) - 0.05 * delay + (region == 2)
    columns = [income, debt, age, children, region, owner, delay, *rng.normal(size=(2, NEEDED))]
    return np.column_stack(columns).astype(float), (logit - 1.0 + rng.logistic(size=NEEDED) > 0).astype(int)


def explain(shown: Any, reference: Array, rows: Array, **settings: Any) -> xcid.Explanation:
    """The first question alone, with any limits."""
    return xcid.Explainer(shown, reference, **settings).contributions(rows)


def hold(own: xcid.Explanation, fresh: Array) -> Array:
    """(b, n, d) whether fresh values lie inside limits."""
    slack = 1e-9 * np.abs(own.values).max()
    return (own.lower - slack <= fresh) & (fresh <= own.upper + slack)


def measure_share(own: xcid.Explanation, fresh: Array) -> tuple[float, int]:
    """How often fresh models have a reason that nearly all refits have, and how many such reasons there are."""
    assert own.retrained is not None
    sign = np.where(own.values.sum(axis=1, keepdims=True) >= 0, 1.0, -1.0)
    stretched = own.values[:, :, None] + np.sqrt(2) * (own.retrained - own.values[:, :, None])

    def are_first(values: Array) -> Any:
        worth = values * sign
        place = np.argsort(np.argsort(-worth, axis=-1, kind="stable"), axis=-1)
        return (place < FIRST) & (worth > 0)

    share = np.mean([are_first(one) for one in np.moveaxis(stretched, 2, 0)], axis=0)
    sure = are_first(own.values) & (share >= SURE)
    again = np.mean([are_first(one) for one in fresh], axis=0)
    return float(again[sure].mean()) if sure.any() else np.nan, int(sure.sum())


def measure(models: list[Any], shown: int, sample: Any, references: list[Array], rows: Array, n: int) -> Found:
    """Hold the limits of one model against all others."""
    model, reference, others = models[shown], references[0], [one for at, one in enumerate(models) if at != shown]
    clock = [time.process_time()]
    explain(model, reference, rows)
    clock.append(time.process_time())
    X, y = sample
    refits = xcid.refits(model, X, y, n=n, seed=shown)
    clock.append(time.process_time())
    own = explain(model, reference, rows, refits=refits, limits="training")
    clock.append(time.process_time())
    kinds = {"training": own, "computation": explain(model, reference, rows, refits=refits)}
    if own.sd_reference is not None:
        kinds["reference"] = explain(model, reference, rows, limits="reference")
    asked = explain(model, reference, rows, refits=others)
    assert asked.retrained is not None
    fresh = np.moveaxis(asked.retrained, 2, 0)
    found = {name: float(hold(kind, fresh).mean()) for name, kind in kinds.items()}
    apart = [
        explain(model, some, rows, refits=[one] * 2) for one, some in zip(others[::2], references[1::2], strict=True)
    ]
    both = np.array([one.retrained[:, :, 0] for one in apart if one.retrained is not None])
    found["both"] = float(hold(own, both).mean())
    if "reference" in kinds:
        found["rows"] = float(hold(kinds["reference"], np.array([one.values for one in apart])).mean())
    strongest = np.abs(own.values).argmax(axis=1)
    found["strongest"] = float(hold(own, fresh)[:, np.arange(len(rows)), strongest].mean())
    every = np.concatenate([fresh, own.values[None]])
    assert own.lower is not None
    assert own.upper is not None
    found["width"] = float((own.upper - own.lower).mean() / (2 * 1.96 * np.sqrt(2) * every.std(axis=0, ddof=1).mean()))
    found["reasons"], n_sure = measure_share(own, fresh)
    alone, trained, explained = np.diff(clock)
    return Found(found, n_sure, (alone, trained, explained))


def run(table: str, X: Array, y: Any, kind: str, n: int) -> tuple[str, dict[str, float]]:
    """A line of the table: one kind of model."""
    order = np.random.default_rng(7).permutation(len(X))
    parts = np.split(order[: SAMPLES * TRAIN], SAMPLES)
    kept = np.split(order[SAMPLES * TRAIN : SAMPLES * (TRAIN + REFERENCE)], SAMPLES)
    rows = X[order[SAMPLES * (TRAIN + REFERENCE) :][:ROWS]]
    is_class = len(np.unique(y)) <= 26
    make = (CLASSES if is_class else NUMBERS)[kind]
    models = [make().fit(X[part], y[part]) for part in parts]
    each = [
        measure(models, at, (X[parts[at]], y[parts[at]]), [X[part] for part in kept], rows, n) for at in range(SHOWN)
    ]
    counts = np.array([one.n_sure for one in each], dtype=float)
    mean = {name: float(np.mean([one.numbers.get(name, np.nan) for one in each])) for name in NAMES}
    known = counts > 0
    shares = np.array([one.numbers["reasons"] for one in each])
    mean["reasons"] = float((shares[known] * counts[known]).sum() / counts.sum()) if known.any() else np.nan
    seconds = np.mean([one.seconds for one in each], axis=0)
    cells = [f"{mean[name]:.2f}" if name == "width" else write(mean[name]) for name in NAMES]
    what = f"{len(np.unique(y))} classes" if is_class else "a number"
    spent = " + ".join(f"{one:.1f}" for one in seconds)
    return f"| {table} | {X.shape[1]}, {what} | {kind} | {' | '.join(cells)} ({counts.sum():.0f}) | {spent} |", mean


def write(share: float) -> str:
    """Three decimals, or nothing."""
    return "" if np.isnan(share) else f"{share:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="of the KEEL collection's files: its tables in place of the drawn")
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--models", nargs="*", default=["linear", "forest", "boosting", "xgboost"])
    parser.add_argument("--refits", type=int, default=20)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of networks that have not converged
    print("| table | columns | model |", " | ".join(NAMES), "| seconds: alone + refits + explained |")
    print("|---|---|---|" + "---|" * (len(NAMES) + 1))
    every = []
    for table in args.tables or (KEEL if args.folder else DRAWN):
        X, y = from_folder(args.folder, table) if args.folder else draw(table)
        for kind in args.models:
            line, mean = run(table, X, y, kind, args.refits)
            every.append(mean)
            print(line, flush=True)
    means = {name: np.nanmean([one[name] for one in every]) for name in NAMES}
    least = np.min([one["training"] for one in every])
    print(f"| mean, and least by training | {len(every)} cells | {least:.3f} |", end=" ")
    print(" | ".join(write(float(means[name])) for name in NAMES), "| |")


if __name__ == "__main__":
    main()
