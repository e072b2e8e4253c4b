"""What reading a model from inside buys: beside asking it about the samples, and in whole explanations.

For models on Diabetes, Heart and breast cancer, and on Heart with its levels as text, microseconds a row, all
contestants in turns, in one process and with one thread: the model's own answers for the samples of 64 rows that
follow one plan, the same by NumPy's form and by the compiled one (``python -m xcid.native`` builds it), one row by
itself asked and read, and explanations of 256 rows by asking and by the best form there is; at the end the largest
differences between outputs and between scores. Linear models have one form only.

Run: OMP_NUM_THREADS=1 python benchmarks/native.py [--rows 64] [--rounds 5] [--only forest]
"""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
from cells import paper_tables
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import xcid
from xcid._kernels.random import run_key
from xcid.native import library, trees
from xcid_lab.bench.timing import Contestant, race

LEVELS = ("cp", "restecg", "slope", "thal")
Makers = dict[str, Callable[[], Any]]
MODELS: Makers = {
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "forest, leaves of 5": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "bagging": lambda: BaggingClassifier(n_estimators=50, max_features=0.7, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "calibrated forest": lambda: CalibratedClassifierCV(RandomForestClassifier(50, random_state=0), cv=3),
    "calibrated support": lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), LinearSVC(random_state=0))),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
}


def prepared(last: Any) -> Any:
    """A model behind an imputer and a scaler of numbers and an encoder of levels."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((encode, list(LEVELS)), remainder=numbers), last)


PREPARED: Makers = {
    "logistic behind steps": lambda: prepared(LogisticRegression(max_iter=1_000)),
    "forest behind steps": lambda: prepared(RandomForestClassifier(100, random_state=0)),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def models() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield from MODELS.items()
    yield from boosters()
    if find_spec("catboost"):
        from catboost import CatBoostClassifier

        settings = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
        yield "CatBoost", lambda: CatBoostClassifier(iterations=200, **settings)
    if find_spec("interpret"):
        from interpret.glassbox import ExplainableBoostingClassifier

        yield (
            "additive boosting",
            lambda: ExplainableBoostingClassifier(interactions=0, outer_bags=4, n_jobs=1, random_state=0),
        )


def models_of_levels() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield from PREPARED.items()
    yield from boosters()


def boosters() -> Iterator[tuple[str, Callable[[], Any]]]:
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        yield "XGBoost", lambda: XGBClassifier(n_estimators=200, max_depth=6, n_jobs=1, enable_categorical=True)
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        yield "LightGBM", lambda: LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)


def subjects() -> Iterator[tuple[str, str, Any, Any, Any]]:
    """Tables, and models of them: the half that a model is trained on, and the other one."""
    cancer = load_breast_cancer()
    for table, X, y in (*paper_tables(), ("breast cancer", cancer.data, cancer.target)):
        for name, make in models():
            yield f"{table}, d = {X.shape[1]}", name, make().fit(X[::2], np.asarray(y)[::2]), X[::2], X[1::2]
    heart = xcid.datasets.load_heart()
    table = heart.data.astype(dict.fromkeys(LEVELS, str)).astype(dict.fromkeys(LEVELS, "category"))
    for name, make in models_of_levels():
        model = make().fit(table[::2], heart.target[::2])
        yield "Heart with levels, d = 13", name, model, table[::2], table[1::2]


class Asked:
    """The same model, which is not known from inside."""

    def __init__(self, model: Any) -> None:
        self.predict_proba = model.predict_proba
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_


def measured(model: Any, known: Any, others: Any, n_rows: int, rounds: int) -> list[str]:
    explainer, other = (xcid.Explainer(one, known) for one in (model, Asked(model)))
    predict, many = explainer.subject.predict, others[:256]
    rows = explainer.space.encode(many)[:n_rows]
    plan = explainer.setup.generator.draw(explainer.space, run_key(0)).plan  # type: ignore[attr-defined]
    native = predict.native
    if native is None:
        raise SystemExit(f"this {type(model).__name__} is not read")
    samples = plan.samples(rows).reshape(-1, rows.shape[1])
    forms = {"compiled" if library.loaded() is not None else "NumPy": native.planned(plan)}
    with patch.object(trees, "loaded", return_value=None):
        forms["NumPy"] = native.planned(replace(plan))  # another plan, for which nothing was made yet
    contestants = [Contestant("asked", functools.partial(predict, samples), len(rows))]
    for name, form in forms.items():
        if form is None:
            raise SystemExit("the plan is too large")
        contestants.append(Contestant(name, functools.partial(form, rows), len(rows)))
    contestants += [
        Contestant("one row, asked", functools.partial(predict, rows[:1]), 1),
        Contestant("one row, read", functools.partial(native.outputs, rows[:1]), 1),
        Contestant("explained, asked", functools.partial(other, many, seed=0), len(many)),
        Contestant("explained, read", functools.partial(explainer, many, seed=0), len(many)),
    ]
    found = {name: 1e6 * timing.seconds for name, timing in race(contestants, rounds).items()}
    gap = max(np.abs(form(rows).reshape(-1, 2) - predict(samples)).max() for form in forms.values() if form is not None)
    scores = np.abs(explainer(many).values - other(many).values).max()
    pairs = [
        ("asked", "NumPy"),
        ("asked", "compiled"),
        *((f"{one}, asked", f"{one}, read") for one in ("one row", "explained")),
    ]
    cells = [f"{found['asked']:,.0f}"]
    for slow, fast in pairs:
        if fast not in found:
            cells += ["", ""]
            continue
        before = [] if slow == "asked" else [f"{found[slow]:,.0f}"]
        cells += [*before, f"{found[fast]:,.0f}", f"{found[slow] / found[fast]:.1f}x"]
    return [*cells, f"{gap:.0e}", f"{scores:.0e}"]


HEAD = (
    *("subject", "asked", "NumPy", "", "compiled", "", "one row, asked", "read", ""),
    *("explained, asked", "read", "", "outputs", "scores"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="subjects whose name has these words")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    for table, name, model, known, others in subjects():
        if options.only in f"{table}, {name}":
            cells = measured(model, known, others, options.rows, options.rounds)
            print("| " + " | ".join([f"{table}, {name}", *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
