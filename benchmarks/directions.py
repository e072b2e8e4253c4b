"""Do signs mean what they say? Those of ``towards`` beside SHAP's, for forests on Diabetes and on a mixed table.

Counted are the five strongest features of each row where xcid's sign is significant and SHAP's (of the probability,
converged) lies farther from 0 than its own noise: two seeds agree on it.

Run: python benchmarks/directions.py [--rows 40]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    signs(options.rows)


if __name__ == "__main__":
    main()
