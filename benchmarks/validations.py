"""Four validations at default effort: how many checks held, which failed, and how long it took.

Diabetes with a forest; a drawn table of credits with levels and missing cells, and XGBoost in a pipeline; a regression;
a plain function. The first three have 20 refits. Pages are written where a folder is given.

With --faults, three faults are planted in each of the four, and it is printed which checks fail: the model is changed
after the explainer was made; a wrapper adds noise of a ten-thousandth of the output's spread; and of the reference rows
only those with the largest half of one column are given. A fault is found where the check that is meant for it is among
those that failed; beside it stands what failed without a fault, at the same small effort.

Run: python benchmarks/validations.py [--folder PAGES] [--cases "Diabetes, forest"] [--faults]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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
from xcid_lab.validation import Effort, Validation, data, laws, validate


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


FEW = Effort(rows=12, seeds=3, walked=3, walks=200, parts=4)
NOISE = 1e-4  # of the standard deviation of the output


class Case(NamedTuple):
    """A model that was trained, rows to explain, and how it predicts."""

    model: Any
    train: Any
    rows: Any
    predict: Callable[[Any], Any]


def make_case(name: str) -> tuple[Case, Any]:
    """A case with a quarter of its rows held out, and the labels of the others."""
    model, X, y = CASES[name]()
    train, rows, y_train, _ = train_test_split(X, y, test_size=0.25, random_state=0)
    if hasattr(model, "fit"):
        model.fit(train, y_train)
    predict = getattr(model, "predict_proba", getattr(model, "predict", model))
    return Case(model, train, rows, predict), y_train


def change(case: Case, labels: Any) -> xcid.Explainer:
    """An explainer of a model that is trained on half of the rows, or of a function that is moved, afterwards."""
    if hasattr(case.model, "fit"):
        explainer = xcid.Explainer(case.model, case.train)
        half = np.arange(len(case.train)) % 2 == 0
        case.model.fit(case.train[half], np.asarray(labels)[half])
        return explainer
    moved = [0.0]
    explainer = xcid.Explainer(lambda rows: case.predict(rows) * (1 - moved[0]), case.train)
    moved[0] = 0.01
    return explainer


def add_noise(case: Case, labels: Any) -> xcid.Explainer:
    """An explainer of a wrapper whose answers differ from call to call."""
    rng, size = np.random.default_rng(0), NOISE * np.std(case.predict(case.train), axis=0)
    if size.ndim == 0:
        return xcid.Explainer(lambda rows: case.predict(rows) + rng.normal(scale=size, size=len(rows)), case.train)

    def noisy(rows: Any) -> Any:
        first = np.clip(case.predict(rows)[:, :1] + rng.normal(scale=size[0], size=(len(rows), 1)), 0, 1)
        return np.hstack([first, 1 - first])

    return xcid.Explainer(noisy, case.train)


def give_others(case: Case, labels: Any) -> xcid.Explainer:
    """An explainer whose reference rows are those with the larger half of a column."""
    column = np.asarray(case.train)[:, 1].astype(float)
    return xcid.Explainer(case.model, case.train[column > np.median(column)])


FAULTS: dict[str, tuple[Callable[[Case, Any], xcid.Explainer], str]] = {
    "the model is changed": (change, laws.CHANGED),
    "noise is added": (add_noise, laws.NOISE),
    "other reference rows": (give_others, data.COLUMNS),
}


def list_failed(found: Validation) -> str:
    """The checks that failed."""
    return "; ".join(check.name for check in found.failed) or "none"


def plant_faults(cases: list[str]) -> None:
    """A line for each case and fault: whether it was found, and by which checks."""
    print("| case | fault | found | checks that failed | without a fault |")
    print("|---|---|---|---|---|")
    for name in cases:
        whole = make_case(name)[0]
        usual = list_failed(validate(xcid.Explainer(whole.model, whole.train), whole.rows, effort=FEW))
        for fault, (plant, due) in FAULTS.items():
            case, labels = make_case(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some of them are noticed at once
                found = validate(plant(case, labels), case.rows, effort=FEW)
            is_found = "yes" if due in {check.name for check in found.failed} else "**no**"
            print(f"| {name} | {fault} | {is_found} | {list_failed(found)} | {usual} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="for the pages and the records")
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--faults", action="store_true", help="plant faults and print which checks find them")
    args = parser.parse_args()
    if args.faults:
        plant_faults(args.cases)
        return
    print("| case | rows | held | failed | not tried | rows not to rely on | seconds of a processor | of a clock |")
    print("|---|---|---|---|---|---|---|---|")
    for name in args.cases:
        start, clock = time.process_time(), time.perf_counter()
        case, labels = make_case(name)
        refits = None
        if hasattr(case.model, "fit"):
            refits = xcid.refits(case.model, case.train, labels, progress=lambda steps, total: steps)
        found = validate(xcid.Explainer(case.model, case.train, refits=refits), case.rows)
        verdicts = [check.verdict for check in found.checks]
        counts = (
            f"{verdicts.count('held')} | {list_failed(found)} | {verdicts.count('not tried')} | {len(found.cautions)}"
        )
        spent = f"{time.process_time() - start:.0f} | {time.perf_counter() - clock:.0f}"
        print(f"| {name} | {found.n_rows} | {counts} | {spent} |", flush=True)
        if args.folder is not None:
            args.folder.mkdir(parents=True, exist_ok=True)
            found.report(args.folder / f"{name}.html")
            found.save(args.folder / f"{name}.json")


if __name__ == "__main__":
    main()
