"""What reading a model from inside buys: beside asking it about the samples, and in whole explanations.

For models on Diabetes, Heart and breast cancer, microseconds a row, all contestants in turns, in one process and with
one thread: the model's own answers for the samples of 64 rows that follow one plan, the same by NumPy's form and by the
compiled one (``python -m xcid.native`` builds it), and explanations of 256 rows by asking and by the best form there
is; at the end the largest differences between outputs and between scores. A linear model has one form only.

Run: OMP_NUM_THREADS=1 python benchmarks/native.py [--rows 64] [--rounds 5]
"""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from cells import Array, paper_tables
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import xcid
from xcid._kernels.random import run_key
from xcid.lab.bench.timing import Contestant, race
from xcid.native import library, planned, trees

MODELS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "forest, leaves of 5": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
}


def models() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield from MODELS.items()
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        yield "XGBoost", lambda: XGBClassifier(n_estimators=200, max_depth=6, n_jobs=1)
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        yield "LightGBM", lambda: LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)


def tables() -> Iterator[tuple[str, Array, Any]]:
    yield from paper_tables()
    cancer = load_breast_cancer()
    yield "breast cancer", cancer.data, cancer.target


class Asked:
    """The same model, which is not known from inside."""

    def __init__(self, model: Any) -> None:
        self.predict_proba = model.predict_proba


def measured(model: Any, X: Array, n_rows: int, rounds: int) -> list[str]:
    explainer, other = (xcid.Explainer(one, X[::2]) for one in (model, Asked(model)))
    predict, rows, many = explainer.subject.predict, X[1::2][:n_rows], X[1::2][:256]
    plan = explainer.setup.generator.draw(explainer.space, run_key(0)).plan  # type: ignore[attr-defined]
    native = predict.native
    if native is None:
        raise SystemExit(f"this {type(model).__name__} is not read")
    samples = plan.samples(rows).reshape(-1, X.shape[1])
    contestants = [Contestant("asked", functools.partial(predict, samples), len(rows))]
    best = native.planned(plan)
    if best is None:
        raise SystemExit("the plan is too large")
    if isinstance(native, trees.Trees):
        known = planned.sets(native.program, plan, native.ensemble.rounded)
        if known is None:
            raise SystemExit("the plan is too large")
        by_numpy = functools.partial(planned.sums, native.program, known, native.ensemble.rounded(rows))
        contestants.append(Contestant("NumPy", by_numpy, len(rows)))
    if library.loaded() is not None or not isinstance(native, trees.Trees):
        contestants.append(Contestant("compiled", functools.partial(best, rows), len(rows)))
    whole = [
        Contestant(name, functools.partial(one, many, seed=0), len(many))
        for name, one in (("explained, asked", other), ("explained, read", explainer))
    ]
    found = {name: 1e6 * timing.seconds for name, timing in race([*contestants, *whole], rounds).items()}
    gap = np.abs(best(rows).reshape(-1, 2) - predict(samples)).max()
    scores = np.abs(explainer(many).values - other(many).values).max()
    ratio = found["explained, asked"] / found["explained, read"]
    kernel = [found.get(name) for name in ("asked", "NumPy", "compiled")]
    return [
        *("" if one is None else f"{one:,.0f}" for one in kernel),
        *("" if one is None else f"{found['asked'] / one:.1f}x" for one in kernel[1:]),
        *(f"{found[name]:,.0f}" for name in ("explained, asked", "explained, read")),
        f"{ratio:.1f}x",
        f"{gap:.0e}",
        f"{scores:.0e}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    head = ["subject", "asked", "NumPy", "compiled", "", "", "explained, asked", "read", "", "outputs", "scores"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for table, X, y in tables():
        for name, make in models():
            model = make().fit(X[::2], np.asarray(y)[::2])
            cells = measured(model, X, options.rows, options.rounds)
            print("| " + " | ".join([f"{table}, d = {X.shape[1]}, {name}", *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
