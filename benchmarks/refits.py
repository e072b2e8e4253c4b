"""Do limits hold what a model of fresh data, or fresh reference rows, would show?

A table, or draws from a population, is cut into ten samples that share no row: 500 rows to train on and 100 reference
rows each. Each model is explained against the reference rows of its own sample, with refits on its own training rows;
the nine others are the fresh ones. All are explained in the same rows, about the same class, on the same scale.

- computation, reference, training: share of the contributions of fresh models that lie inside limits of each kind,
  against the same reference rows;
- both: the same by limits over training, of fresh models against their own, fresh reference rows;
- rows: share of the contributions of the same model against fresh reference rows inside the limits over reference rows;
- strongest: the coverage by limits over training of the feature with the largest contribution;
- width: of limits over training, beside 1.96 standard deviations of the difference of two fresh models;
- training's part: of the variance by all sources, what training makes up;
- reasons: of those that ``reasons(4)`` gives with a share of .9 or more, how often fresh models have them among their
  four largest contributions of that sign; and how many there are of all.

After ± stands the standard error of a cell, by the jackknife over the ten samples, each of which is left out both as
the one that is shown and as a fresh one. It is over samples of one table, not over rows or tables.

What counts as a failure, written down before the first run with ten draws of reference rows: for training, for both and
for rows, each by itself, a cell below .90, however large its standard error, and a mean of cells outside .93 to .97;
for reasons, less than .90, of all or in the mean of cells.

The last lines are means over cells, and for reasons the mean over all reasons as well, since cells have few or many.

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
from xcid import directions

SAMPLES, TRAIN, REFERENCE, ROWS = 10, 500, 100, 30
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
KEEL = ("ring", "satimage", "twonorm", "penbased", "marketing")
NAMES = ("computation", "reference", "training", "strongest", "both", "rows", "width", "training's part", "reasons")


class Found(NamedTuple):
    """What one explained model comes to: a number for each of NAMES, and how much there was to count."""

    numbers: dict[str, float]
    by_fresh: dict[str, Array]  # (SAMPLES,) coverage of each fresh sample; NaN for its own
    n_sure: int
    n_reasons: int
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


def measure_reasons(own: xcid.Explanation, fresh: Array) -> tuple[float, int, int]:
    """How often fresh models have a reason with a share of .9, how many of these there are, and how many reasons."""
    if own.scale == "number":
        sign = np.where(own.values.sum(axis=1) >= 0, 1.0, -1.0)
        given = [own[sign == side].reasons(FIRST, against=at) for side, at in ((1, "lower"), (-1, "higher"))]
    else:
        sign, given = directions.sides(own), [own.reasons(FIRST)]
    worth = sign[:, None] * fresh
    again = ((np.argsort(np.argsort(-worth, axis=2, kind="stable"), axis=2) < FIRST) & (worth > 0)).mean(axis=0)
    known = [line for frame in given for line in frame[frame["rank"] > 0].itertuples()]
    found = [again[line.row, own.position(line.feature)] for line in known if line.share >= SURE]
    return float(np.mean(found)) if found else np.nan, len(found), len(known)


def measure(models: list[Any], shown: int, sample: Any, references: list[Array], rows: Array, n: int) -> Found:
    """Hold the limits of one model, against reference rows of its own, against all others."""
    model, reference, fresh = models[shown], references[shown], [at for at in range(SAMPLES) if at != shown]
    clock = [time.process_time()]
    alone = explain(model, reference, rows)
    clock.append(time.process_time())
    refits = xcid.refits(model, sample[0], sample[1], n=n, seed=shown)
    clock.append(time.process_time())
    own = explain(model, reference, rows, refits=refits, limits="training")
    clock.append(time.process_time())
    asked = explain(model, reference, rows, refits=[models[at] for at in fresh])
    apart = [explain(model, references[at], rows, refits=[models[at]] * 2) for at in fresh]
    assert asked.retrained is not None
    others = np.moveaxis(asked.retrained, 2, 0)
    held = {
        "training": hold(own, others),
        "both": hold(own, np.array([one.retrained[:, :, 0] for one in apart if one.retrained is not None])),
    }
    found = {"computation": float(hold(alone, others).mean())}
    if own.sd_reference is not None:
        kind = explain(model, reference, rows, limits="reference")
        found["reference"] = float(hold(kind, others).mean())
        held["rows"] = hold(kind, np.array([one.values for one in apart]))
    strongest = np.abs(own.values).argmax(axis=1)
    found["strongest"] = float(held["training"][:, np.arange(len(rows)), strongest].mean())
    found |= measure_spread(own, np.concatenate([others, own.values[None]]))
    found["reasons"], n_sure, n_reasons = measure_reasons(own, others)
    by_fresh = {name: np.insert(one.mean(axis=(1, 2)), shown, np.nan) for name, one in held.items()}
    first, trained, explained = np.diff(clock)
    return Found(found, by_fresh, n_sure, n_reasons, (first, trained, explained))


def measure_spread(own: xcid.Explanation, every: Array) -> dict[str, float]:
    """How wide limits are beside the spread of (b, n, d) contributions by all models, and training's part in them."""
    assert own.lower is not None
    assert own.upper is not None
    width = float((own.upper - own.lower).mean() / (2 * 1.96 * np.sqrt(2) * every.std(axis=0, ddof=1).mean()))
    parts = [spread**2 for spread in (own.sd_training, own.sd_computation, own.sd_reference) if spread is not None]
    return {"width": width, "training's part": float(parts[0].sum() / np.sum(parts)) if len(parts) == 3 else np.nan}


def average(square: Array) -> tuple[float, float]:
    """The mean of a (k, k) table of coverage, own sample by fresh sample, and its standard error by the jackknife."""
    left = np.array([np.nanmean(np.delete(np.delete(square, at, 0), at, 1)) for at in range(len(square))])
    return float(np.nanmean(square)), float(np.sqrt((len(left) - 1) * left.var()))


def run(table: str, X: Array, y: Any, kind: str, n: int) -> tuple[str, dict[str, float], float]:
    """A line of the table: one kind of model."""
    order = np.random.default_rng(7).permutation(len(X))
    parts = np.split(order[: SAMPLES * TRAIN], SAMPLES)
    kept = np.split(order[SAMPLES * TRAIN : SAMPLES * (TRAIN + REFERENCE)], SAMPLES)
    rows = X[order[SAMPLES * (TRAIN + REFERENCE) :][:ROWS]]
    is_class = len(np.unique(y)) <= 26
    make = (CLASSES if is_class else NUMBERS)[kind]
    models, references = [make().fit(X[part], y[part]) for part in parts], [X[part] for part in kept]
    each = [measure(models, at, (X[part], y[part]), references, rows, n) for at, part in enumerate(parts)]
    counts = np.array([one.n_sure for one in each], dtype=float)
    mean = {name: float(np.mean([one.numbers.get(name, np.nan) for one in each])) for name in NAMES}
    known = counts > 0
    shares = np.array([one.numbers["reasons"] for one in each])
    mean["reasons"] = float((shares[known] * counts[known]).sum() / counts.sum()) if known.any() else np.nan
    cells = {name: f"{mean[name]:.2f}" if name == "width" else write(mean[name]) for name in NAMES}
    for name in each[0].by_fresh:
        mean[name], error = average(np.array([one.by_fresh[name] for one in each]))
        cells[name] = f"{mean[name]:.3f} ± {error:.3f}"
    what = f"{len(np.unique(y))} classes" if is_class else "a number"
    spent = " + ".join(f"{one:.1f}" for one in np.mean([one.seconds for one in each], axis=0))
    of_all = f"({counts.sum():.0f} of {sum(one.n_reasons for one in each)})"
    line = f"| {table} | {X.shape[1]}, {what} | {kind} | {' | '.join(cells.values())} {of_all} | {spent} |"
    return line, mean, float(counts.sum())


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
    every, counts = list[dict[str, float]](), list[float]()
    for table in args.tables or (KEEL if args.folder else DRAWN):
        X, y = from_folder(args.folder, table) if args.folder else draw(table)
        for kind in args.models:
            line, mean, count = run(table, X, y, kind, args.refits)
            every.append(mean)
            counts.append(count)
            print(line, flush=True)
    for title, take in (("mean of cells", np.nanmean), ("least", np.nanmin), ("largest", np.nanmax)):
        print(f"| {title} | {len(every)} cells | |", end=" ")
        print(" | ".join(write(float(take([one[name] for one in every]))) for name in NAMES), "| |")
    shares, weights = np.array([one["reasons"] for one in every]), np.array(counts)
    pooled = np.nansum(shares * weights) / weights.sum()
    print(f"| mean of all reasons | {weights.sum():.0f} reasons | |", "| " * (len(NAMES) - 1), f"{pooled:.3f} | |")


if __name__ == "__main__":
    main()
