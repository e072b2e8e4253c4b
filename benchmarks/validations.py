"""Four validations at default effort: how many checks held, which failed, and how long it took.

Diabetes with a forest; a drawn table of credits with levels and missing cells, and XGBoost in a pipeline; a regression;
a plain function. The first three have 20 refits. Pages are written where a folder is given.

Run: python benchmarks/validations.py [--folder PAGES] [--cases credits]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

import xcid
from xcid_lab.validation import validate


def diabetes() -> tuple[Any, Any, Any]:
    """The table of the package with a forest."""
    table = xcid.datasets.load_diabetes()
    return RandomForestClassifier(random_state=0), table.data, table.target


def make_credits() -> tuple[Any, pd.DataFrame, Any]:
    """A drawn table with levels and missing cells, as credits have them, and XGBoost in a pipeline."""
    rng = np.random.default_rng(12)
    n = 1_000
    table = pd.DataFrame(
        {
            "months": rng.integers(4, 73, n),
            "amount": rng.gamma(2, 1600, n).round(),
            "age": rng.integers(19, 76, n),
            "savings": rng.choice(["none", "little", "much"], n, p=[0.5, 0.3, 0.2]),
            "purpose": rng.choice(["car", "furniture", "business", "education"], n),
            "housing": rng.choice(["own", "rent", "free"], n, p=[0.6, 0.3, 0.1]),
            "rate": rng.integers(1, 5, n),
            "job": rng.choice(["skilled", "unskilled", "manager"], n, p=[0.6, 0.25, 0.15]),
        }
    )
    logit = (
        1.2 * (table["savings"] == "much") + 0.03 * (table["age"] - 40) - 0.04 * (table["months"] - 24)
        - (table["amount"] > 5_000) * (1 + (table["purpose"] == "business")) + 0.4 * (table["housing"] == "own")
    )  # fmt: skip
    good = (logit + rng.logistic(size=n) > -0.5).astype(int)
    table.loc[rng.random(n) < 0.05, "age"] = np.nan
    levels = ["savings", "purpose", "housing", "job"]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), levels), remainder="passthrough")
    return make_pipeline(encode, XGBClassifier(n_estimators=60, max_depth=3, random_state=0, n_jobs=1)), table, good


def progression() -> tuple[Any, Any, Any]:
    """A regression."""
    X, y = datasets.load_diabetes(return_X_y=True, as_frame=True)
    return HistGradientBoostingRegressor(max_iter=60, random_state=0), X, y


def function() -> tuple[Any, Any, Any]:
    """A function that nobody trained."""
    X = np.random.default_rng(0).normal(size=(500, 4))
    return lambda rows: 1 / (1 + np.exp(-rows[:, 0] - rows[:, 1] * rows[:, 2])), X, np.zeros(len(X))


CASES: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "Diabetes, forest": diabetes,
    "credits, XGBoost pipeline": make_credits,
    "progression, boosting": progression,
    "function": function,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="for the pages and the records")
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    args = parser.parse_args()
    print("| case | rows | held | failed | not tried | rows not to rely on | seconds of a processor | of a clock |")
    print("|---|---|---|---|---|---|---|---|")
    for name in args.cases:
        start, clock = time.process_time(), time.perf_counter()
        model, X, y = CASES[name]()
        train, rows, y_train, _ = train_test_split(X, y, test_size=0.25, random_state=0)
        refits = None
        if hasattr(model, "fit"):
            model.fit(train, y_train)
            refits = xcid.refits(model, train, y_train, progress=lambda steps, total: steps)
        found = validate(xcid.Explainer(model, train, refits=refits), rows)
        verdicts = [check.verdict for check in found.checks]
        failed = "; ".join(check.name for check in found.failed) or "none"
        counts = f"{verdicts.count('held')} | {failed} | {verdicts.count('not tried')} | {len(found.cautions)}"
        spent = f"{time.process_time() - start:.0f} | {time.perf_counter() - clock:.0f}"
        print(f"| {name} | {found.n_rows} | {counts} | {spent} |", flush=True)
        if args.folder is not None:
            args.folder.mkdir(parents=True, exist_ok=True)
            found.report(args.folder / f"{name}.html")
            found.save(args.folder / f"{name}.json")


if __name__ == "__main__":
    main()
