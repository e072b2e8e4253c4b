"""Do signs and limits mean what they say? Signs beside SHAP's, and how often limits of contributions hold.

- signs: for forests on Diabetes and on a mixed table, the share of the five strongest features of each row for which
  ``towards`` and SHAP (of the probability, converged) have the same sign, where xcid's is significant and SHAP's lies
  farther from 0 than its own noise (two seeds agree on its sign);
- coverage: the share of 95% limits of ``effects`` that hold what unlimited sampling gives (the mean of as many other
  seeds), for regressions and for probabilities, on tables by models as in ``calibration.py``.

Run: python benchmarks/directions.py [--rows 40] [--seeds 6]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from cells import MODELS, paper_tables
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
from xcid_lab.baselines import Shap


def mixed_table() -> tuple[Any, Any]:
    """Loans that nobody took: numbers, whole numbers, categories and missing cells."""
    rng = np.random.default_rng(8)
    n = 1_200
    frame = pd.DataFrame(
        {
            "amount": np.exp(rng.normal(8, 1, n)).round(-1),
            "months": rng.integers(6, 61, n),
            "age": rng.integers(19, 75, n),
            "savings": np.where(rng.random(n) < 0.15, np.nan, np.exp(rng.normal(6, 1.5, n)).round()),
            "purpose": rng.choice(["car", "furniture", "business", "education"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "housing": rng.choice(["own", "rent", "free"], n),
        }
    )
    odds = (
        0.8 * (np.log(frame["amount"]) - 8) + 0.04 * (frame["months"] - 30) - 0.03 * (frame["age"] - 40)
        - 0.3 * (np.log(frame["savings"].fillna(100)) - 5) + 0.8 * (frame["purpose"] == "business")
        - 0.7 * (frame["housing"] == "own")
    )  # fmt: skip
    return frame, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def forests() -> Iterator[tuple[str, Any, Any, Any]]:
    """Tables with a fitted forest: name, model, training rows, other rows."""
    table = xcid.datasets.load_diabetes()
    frame, target = mixed_table()
    encode = make_column_transformer((OneHotEncoder(), ["purpose", "housing"]), remainder="passthrough")
    for name, X, y, model in (
        ("Diabetes", table.data, table.target, RandomForestClassifier(200, random_state=0)),
        ("mixed", frame, target, make_pipeline(encode, RandomForestClassifier(200, random_state=0))),
    ):
        train, test, y_train, _ = train_test_split(X, y, test_size=0.25, random_state=7)
        yield name, model.fit(train, y_train), train, test


def signs(n_rows: int) -> None:
    print("| table | strongest features compared | same sign |\n|---|---|---|")
    for name, model, train, test in forests():
        rows = test.iloc[:n_rows]
        found = xcid.Explainer(model, train)(rows).towards("1")
        shap = [Shap(model, train, rows=len(train))(rows, seed=seed).values for seed in range(2)]
        predicted = np.asarray(model.predict_proba(rows)).argmax(axis=1)
        theirs = [values * np.where(predicted == 1, 1, -1)[:, None] for values in shap]
        top = np.argsort(np.argsort(-np.abs(found.values), axis=1), axis=1) < 5
        assert found.p_values is not None
        sure = top & (found.p_values < 0.05) & (np.sign(theirs[0]) == np.sign(theirs[1])) & (theirs[0] != 0)
        same = np.sign(found.values[sure]) == np.sign(theirs[0][sure])
        print(f"| {name}, forest | {sure.sum()} in {len(rows)} rows | {same.mean():.3f} |", flush=True)


def regressions() -> Iterator[tuple[str, str, Any, Any, Any]]:
    tables = (
        ("progression", *datasets.load_diabetes(return_X_y=True)),
        ("Friedman 1", *datasets.make_friedman1(800, 8, random_state=2)),
    )
    for table, X, y in tables:
        train, test, y_train, _ = train_test_split(X, y, random_state=0)
        for model in (
            Ridge(),
            RandomForestRegressor(100, random_state=0),
            HistGradientBoostingRegressor(random_state=0),
        ):
            yield table, type(model).__name__, model.fit(train, y_train), train, test


def classes() -> Iterator[tuple[str, str, Any, Any, Any]]:
    for table, X, y in paper_tables():
        train, test, y_train, _ = train_test_split(X, y, test_size=0.25, random_state=0)
        for name, make in MODELS.items():
            yield table, name, make().fit(train, y_train), train, test


def coverage(n_rows: int, seeds: int) -> None:
    print("\n| table | model | limits of contributions hold |\n|---|---|---|")
    shares = []
    for table, name, model, train, test in [*regressions(), *classes()]:
        explainer = xcid.Explainer(model, train)
        runs = [explainer(test[:n_rows], seed=seed) for seed in range(2 * seeds)]
        truth = np.mean([run.values for run in runs[seeds:]], axis=0)
        close = 1e-9 * np.abs(truth).max()
        held = [(run.lower <= truth + close) & (truth - close <= run.upper) for run in runs[:seeds]]
        shares.append(float(np.mean(held)))
        print(f"| {table} | {name} | {shares[-1]:.3f} |", flush=True)
    print(f"| mean | | {np.mean(shares):.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    signs(options.rows)
    coverage(min(options.rows, 15), options.seeds)


if __name__ == "__main__":
    main()
