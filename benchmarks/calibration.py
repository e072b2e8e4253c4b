"""Are the limits and p-values what they say, and do two runs agree?

For tables and models, in the recommended setting and in the paper's:

- false positives: share of p < 0.05 on columns that the model provably ignores (nominal 5%);
- coverage: share of 95% limits that hold the true score, the mean over many other seeds;
- agreement: share of the top 4 that two seeds have in common, at the evaluations that each row takes.

Run: python benchmarks/calibration.py [--rows 40] [--seeds 10] [--n 1000 3000] [--as-it-comes]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from cells import paper_tables
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import xcid
from xcid.generators import Balanced

IGNORED = 2  # columns shuffled against all others, which the model never gets


def tables() -> Iterator[tuple[str, Any, Any]]:
    """Numbers only; missing cells of Heart are filled with the median."""
    for name, X, y in paper_tables():
        yield name.lower(), X, np.asarray(y)
    for name in ("breast_cancer", "wine"):
        table = getattr(datasets, f"load_{name}")()
        yield name, table.data, table.target
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 10))
    yield "linear", X, (X[:, :3] @ [2.0, -1.0, 0.5] + rng.logistic(size=1_000) > 0).astype(int)
    yield "products", X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=1_000) > 0).astype(int)


def models() -> Iterator[tuple[str, Any]]:
    """Fresh models."""
    yield "logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000))
    yield "forest", RandomForestClassifier(100, random_state=0)
    yield "boosting", HistGradientBoostingClassifier(max_iter=60, random_state=0)
    yield "network", make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=500, random_state=0))
    yield "labels", RandomForestClassifier(100, random_state=0)  # whose probabilities nobody sees


class Blind:
    """A model that never sees the last columns."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict_proba(self, X: Any) -> Any:
        """Probabilities from all but the last columns."""
        return self.model.predict_proba(X[:, :-IGNORED])

    def labels(self, X: Any) -> Any:
        """Labels from all but the last columns."""
        return self.model.predict(X[:, :-IGNORED])


def read_from_inside(model: Any, train: Any) -> Any:
    """The same as a pipeline, whose trees are read from inside."""
    kept = ColumnTransformer([("kept", "passthrough", list(range(train.shape[1] - IGNORED)))])
    return make_pipeline(kept.fit(train), model)


def with_ignored(X: Any) -> Any:
    """Copies of the first columns, rows shuffled: like real columns, but never seen by the model."""
    rng = np.random.default_rng(1)
    return np.column_stack([X, *(rng.permutation(X[:, column]) for column in range(IGNORED))])


def measure(explainer: xcid.Explainer, rows: Any, seeds: int) -> dict[str, float]:
    """False positives on the last columns, coverage of all, agreement of the top 4."""
    runs = [explainer(rows, seed=seed) for seed in range(2 * seeds)]
    truth = np.mean([run.values for run in runs[seeds:]], axis=0)
    found = {
        "agreement": float(np.mean(xcid.metrics.stability([run.values for run in runs[:seeds]], k=4))),
        "evaluations": float(np.mean(runs[0].n_evaluations)),
    }
    if runs[0].p_values is not None:
        p_values, lower, upper = (
            np.array([getattr(run, name) for run in runs]) for name in ("p_values", "lower", "upper")
        )
        found["false positives"] = float(np.mean(p_values[:, :, -IGNORED:] < 0.05))
        found["coverage"] = float(np.mean((lower[:seeds] <= truth) & (truth <= upper[:seeds])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--n", type=int, nargs="*", default=[1_000, 3_000])
    parser.add_argument("--models", nargs="*", help="some of: logistic, forest, boosting, network, labels")
    parser.add_argument(
        "--as-it-comes", action="store_true", help="the default setting alone, with models that are read"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    settings = {f"recommended, n = {n}": Balanced(n) for n in options.n}
    print("| table | model | setting | false positives | coverage | agreement | evaluations |")
    print("|---|---|---|---|---|---|---|")
    means: dict[str, list[dict[str, float]]] = {}
    for table, X, y in tables():
        train, test, y_train, _ = train_test_split(with_ignored(X), y, test_size=0.25, random_state=0)
        for name, model in models():
            if options.models and name not in options.models:
                continue
            blind = Blind(model.fit(train[:, :-IGNORED], y_train))
            asked = blind.labels if name == "labels" else blind
            explainers = {which: xcid.Explainer(asked, train, generator=made) for which, made in settings.items()}
            explainers["paper"] = xcid.Explainer.paper(asked, train)
            if options.as_it_comes:
                explainers = {"as it comes": xcid.Explainer(read_from_inside(model, train), train)}
            for which, explainer in explainers.items():
                found = measure(explainer, test[: options.rows], options.seeds)
                means.setdefault(which, []).append(found)
                print(line(table, name, which, found), flush=True)
    for which, all_found in means.items():
        keys = all_found[0]
        print(line("mean", "", which, {key: float(np.mean([found[key] for found in all_found])) for key in keys}))


def line(table: str, model: str, which: str, found: dict[str, float]) -> str:
    """One line of the table."""
    shares = [f"{found[key]:.3f}" if key in found else "" for key in ("false positives", "coverage", "agreement")]
    return f"| {table} | {model} | {which} | {' | '.join(shares)} | {found['evaluations']:,.0f} |"


if __name__ == "__main__":
    main()
