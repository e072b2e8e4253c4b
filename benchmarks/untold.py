"""What it costs to predict a few reference rows again before each explanation, where no digest tells of a change.

``OMP_NUM_THREADS=1 python benchmarks/untold.py``: milliseconds of processor time of an explanation and of the check,
and the share of the check, for calls with one row and with 64; and the
evaluations of the check, and of one row.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import xcid
from xcid.models.predictor import FEW

X = np.random.default_rng(0).normal(size=(500, 10))
LABELS = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
TRIES = 15


def _own(kind: Any, *settings: Any) -> Any:
    """A model of a subclass, which no digest is taken of."""
    return type(f"Own{kind.__name__}", (kind,), {})(*settings).fit(X, LABELS)


def models() -> dict[str, Any]:
    """Models that are called, by name."""
    import torch

    layers = torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2), torch.nn.Softmax(dim=1)
    return {
        "function": lambda table: 1 / (1 + np.exp(-table[:, 0])),
        "torch, one layer": torch.nn.Sequential(*layers),
        "logistic, subclass": _own(LogisticRegression),
        "boosting of 100, subclass": _own(GradientBoostingClassifier),
        "forest of 10, subclass": _own(RandomForestClassifier, 10),
        "forest of 100, subclass": _own(RandomForestClassifier, 100),
        "neighbours, subclass": _own(KNeighborsClassifier),
    }


def clock(work: Callable[[], Any]) -> float:
    """The median of milliseconds."""
    taken = []
    for _ in range(TRIES):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return 1_000 * float(np.median(taken))


def main() -> None:
    """Print a line for each model."""
    warnings.simplefilter("ignore")
    print("| model | check, ms | 1 row, ms | share | 64 rows, ms | share | evaluations: check, row |")
    print("|---|---|---|---|---|---|---|")
    for name, model in models().items():
        explainer = xcid.Explainer(model, X)
        spent = explainer(X[:1]).n_evaluations[0]
        check = clock(explainer.made.subject.predicts_the_same)
        one, many = (clock(partial(explainer, X[:size])) for size in (1, 64))
        shares = " | ".join(f"{whole:.1f} | {check / (whole - check):.1%}" for whole in (one, many))
        print(f"| {name} | {check:.2f} | {shares} | {FEW}, {spent:,} |", flush=True)


if __name__ == "__main__":
    main()
