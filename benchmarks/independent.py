"""CID twice: ``xcid.CID``, and the paper's text put into code here with dice-ml and scipy. Do they differ?

Five tables, each with one model that both explain: Diabetes and Heart, and three files of the KEEL collection (not part
of this package) that nothing of ``xcid.CID`` was designed on, though limits of contributions were on two of them, and
importance on all three. dice-ml's random method finds 50 samples of either class; scipy's kernel estimate with
Silverman's rule and Simpson's rule on a grid make d1 of them. Both sides repeat this for the same rows. z is the
difference of the mean d1 of one feature of one row, in its standard error by the variance over runs.

What counts as failure, written before the first run: a mean z more than 2.6 of its standard errors from 0 (rows are
independent, features of a row are not), or a standard deviation of z above 1.1 over all tables. For one table the
standard deviation is itself uncertain by about .06.

dice-ml counts a probability of exactly 1/2 as enough for either class, and so does CID. The last three columns are the
share of a row's samples to which the model gives exactly 1/2, in the mean and in the row with most of them, and what z
were if each tie belonged to one class only, as it does to the model's ``predict``.

Run: python benchmarks/independent.py --folder TABLES
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cells import MODELS, Array
from scipy.integrate import simpson
from scipy.stats import gaussian_kde
from sklearn.model_selection import train_test_split

import xcid
from xcid._require import quiet_and_seeded, require
from xcid.outcomes import Flip

TABLES = {
    "diabetes": "logistic",
    "heart": "forest",
    "bupa": "logistic",
    "mammographic": "forest",
    "phoneme": "boosting",
}
M, GRID = 50, 4_001
COLUMNS = (
    "table, model",
    "rows x features",
    "mean z",
    "sd of z",
    "largest",
    "ties: mean, most",
    "sd without ties",
    "largest without ties",
)


def load(name: str, folder: Path) -> tuple[Any, Any]:
    """Columns as their file has them, whole numbers or floats, and two classes."""
    if name in ("diabetes", "heart"):
        table = getattr(xcid.datasets, f"load_{name}")()
        return table.data.fillna(table.data.median()), np.asarray(table.target)
    frame = pd.read_csv(folder / f"{name}.dat", header=None, skipinitialspace=True, na_values=["?", "<null>"]).dropna()
    frame.columns = [f"c{at}" for at in frame.columns]
    target = frame.pop(frame.columns[-1])
    return frame, (target == target.max()).astype(int).to_numpy()


def importance(positive: Array, negative: Array) -> float:
    """d1 = 1 - ∫ min(p, q) / ∫ max(p, q); a constant has no kernel estimate: 0 beside itself, else 1."""
    constant, both = [bool(np.ptp(part) == 0) for part in (positive, negative)], np.concatenate([positive, negative])
    if any(constant):
        return float(not (all(constant) and positive[0] == negative[0]))
    margin = 2 * max(np.std(positive), np.std(negative))  # four bandwidths and more
    grid = np.linspace(both.min() - margin, both.max() + margin, GRID)
    p, q = (gaussian_kde(part, bw_method="silverman")(grid) for part in (positive, negative))
    return float(1 - simpson(np.minimum(p, q), x=grid) / simpson(np.maximum(p, q), x=grid))


def paper(dice: Any, model: Any, row: Any) -> Array:
    """(d,) d1 of one row; NaN where dice-ml finds fewer than M of a class."""
    own, sets = int(model.predict(row)[0]), []
    for wanted in (1 - own, own):
        found = dice.generate_counterfactuals(row, M, desired_class=wanted, posthoc_sparsity_param=None)
        sets.append(found.cf_examples_list[0].final_cfs_df[row.columns].to_numpy(float))
    if min(map(len, sets)) < M:
        return np.full(row.shape[1], np.nan)
    return np.array([importance(*(part[:, at] for part in sets)) for at in range(row.shape[1])])


def z_scores(theirs: Array, ours: Array) -> Array:
    """(n, d) of (runs, n, d) d1; NaN where dice-ml lacks samples or nothing varies."""
    runs = [len(theirs), len(ours)]
    pooled = sum((len(part) - 1) * part.var(axis=0, ddof=1) for part in (theirs, ours)) / (sum(runs) - 2)
    error = np.sqrt(pooled * sum(1 / n for n in runs))
    apart = np.mean(ours, axis=0) - np.mean(theirs, axis=0)
    return np.where(error > 1e-6, apart / np.where(error > 1e-6, error, 1), np.nan)


def ties(model: Any, train: Any, rows: Any) -> Array:
    """(n,) the share of a row's samples in xcid.CID to which the model gives exactly 1/2."""
    cloud = xcid.CID(model, train, m=M)(rows).cloud
    assert cloud is not None
    samples = cloud.samples
    asked = pd.DataFrame(samples.reshape(-1, rows.shape[1]), columns=rows.columns)
    tied = model.predict_proba(asked)[:, 1] == 0.5
    return np.asarray(tied.reshape(samples.shape[:2]).mean(axis=1))


def measure(name: str, kind: str, options: argparse.Namespace) -> tuple[Array, Array, Array]:
    """(n, d) z of all row-features, the same without ties, and (n,) shares of ties."""
    X, y = load(name, options.folder)
    train, test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
    rows, model = test.iloc[: options.rows], MODELS[kind]().fit(train, y_train)
    dice_ml = require("dice_ml", extra="bench")
    data = dice_ml.Data(dataframe=train.assign(y=y_train), continuous_features=list(train.columns), outcome_name="y")
    dice = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")
    with quiet_and_seeded(options.seed):  # dice-ml's own seed moves all features together
        theirs = np.array(
            [[paper(dice, model, rows.iloc[[at]]) for at in range(len(rows))] for _ in range(options.runs)]
        )
    found = []
    for outcome in (None, Flip()):
        cid = xcid.CID(model, train, m=M, outcome=outcome)
        ours = np.array([cid(rows, seed=seed).values for seed in range(options.ours)])
        found.append(z_scores(theirs, ours))
    if options.details:
        np.savez(options.details / f"{name}.npz", theirs=theirs, z=found[0], broken=found[1])
    return found[0], found[1], ties(model, train, rows)


def line(name: str, z: list[Array], broken: list[Array], tied: list[Array]) -> str:
    """One line of the table, of one table or of several."""
    flat, rest = (np.concatenate([part.ravel() for part in parts]) for parts in (z, broken))
    shares = np.concatenate(tied)
    mean, error = np.nanmean(flat), error_of_mean([part for one in z for part in one])
    return (
        f"| {name} | {np.isfinite(flat).sum()} | {mean:+.2f} ± {error:.2f} | {np.nanstd(flat):.2f} | "
        f"{np.nanmax(np.abs(flat)):.1f} | {shares.mean():.1%}, {shares.max():.1%} | {np.nanstd(rest):.2f} | "
        f"{np.nanmax(np.abs(rest)):.1f} |"
    )


def error_of_mean(rows: list[Array]) -> float:
    """The standard error of the mean z, by the means of rows."""
    means = np.array([np.nanmean(row) for row in rows if np.isfinite(row).any()])
    return float(means.std(ddof=1) / np.sqrt(len(means)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="with bupa.dat, mammographic.dat and phoneme.dat")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--runs", type=int, default=8, help="of dice-ml")
    parser.add_argument("--ours", type=int, default=100, help="runs of xcid.CID")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--details", type=Path, help="a folder for all d1 and z")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| {' | '.join(COLUMNS)} |")
    print("|---" * len(COLUMNS) + "|")
    every: list[list[Array]] = [[], [], []]
    for name in options.tables:
        found = measure(name, TABLES[name], options)
        print(line(f"{name}, {TABLES[name]}", *([part] for part in found)), flush=True)
        for parts, part in zip(every, found, strict=True):
            parts.append(part)
    print(line("all", *every))


if __name__ == "__main__":
    main()
