"""Tables of ``ten_points.py``, each in two halves: one to train on, and one of fresh data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import unseen
from groups import claims
from proofs import MODELS
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

Target = npt.NDArray[np.int64]
OWN: dict[str, Callable[[], Any]] = {"wine": datasets.load_wine, "breast cancer": datasets.load_breast_cancer}


class Split(NamedTuple):
    """A fitted model, the half of a table that it was trained on, the other half, and the first rows of that."""

    table: str
    model_name: str
    make: Callable[[], Any]
    model: Any
    train: pd.DataFrame
    target: Target
    fresh: pd.DataFrame
    fresh_target: Target
    rows: pd.DataFrame


def halves(name: str, seed: int = 11) -> tuple[pd.DataFrame, Target, pd.DataFrame, Target]:
    """A table by its name, in two halves at random; of three classes the middle one is told from the others."""
    X, y = datasets_of(name)
    frame = pd.DataFrame(np.asarray(X, dtype=float), columns=[f"x{at}" for at in range(X.shape[1])])
    order = np.random.default_rng(seed).permutation(len(frame))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    parts = [frame.iloc[part].reset_index(drop=True) for part in (first, second)]
    return parts[0], y[first], parts[1], y[second]


def datasets_of(name: str) -> tuple[Any, Target]:
    X, y = OWN[name](return_X_y=True) if name in OWN else unseen.TABLES[name]()  # type: ignore[call-arg]
    return X, (np.asarray(y) == 1).astype(int)


def splits(names: Sequence[str], models: Sequence[str], n_rows: int, seed: int = 11) -> Iterator[Split]:
    """All tables by all models."""
    for name in names:
        train, target, fresh, fresh_target = halves(name, seed)
        for model in models:
            make = MODELS[model]
            fitted = make().fit(train, target)
            yield Split(name, model, make, fitted, train, target, fresh, fresh_target, fresh.iloc[:n_rows])


def loans(seed: int, n: int) -> tuple[pd.DataFrame, Target]:
    """Loans that nobody took: six columns with a known direction, and three that say nothing."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": np.exp(random.normal(8, 0.5, n)).round(-1),
            "deposit": (np.exp(random.normal(7, 1, n)) / 100).round() * 100,
            "loan": (np.exp(random.normal(9.5, 0.6, n)) / 500).round() * 500,
            "months": random.choice([12, 24, 36, 48, 60], n),
            "debt": np.exp(random.normal(7, 1, n)).round(-1),
            "years": random.integers(0, 25, n),
            "late": random.poisson(0.6, n),
            "age": random.integers(20, 75, n),
            "children": random.poisson(1, n),
        }
    ).astype(float)
    odds = 1.2 * (np.log(frame["income"]) - 8) + 0.5 * (np.log1p(frame["deposit"]) - 7) - 0.7 * frame["late"] + 0.5
    odds += 0.05 * (frame["years"] - 10) - 0.4 * (np.log1p(frame["debt"]) - 7)
    odds -= 0.9 * (np.log(frame["loan"].clip(500)) - 9.5)
    return frame, (odds + random.logistic(size=n) > 0).to_numpy().astype(int)


def tenants(seed: int, n: int) -> tuple[pd.DataFrame, Target]:
    """Tenants whom nobody turned away: nine columns with a direction, most of them dependent, and four others."""
    random = np.random.default_rng([32, seed])
    means, shared = random.normal(size=n), random.normal(size=n)
    frame = pd.DataFrame(
        {
            "wage": (1_800 * np.exp(0.4 * means + 0.2 * random.normal(size=n)) / 50).round() * 50,
            "rent": (700 * np.exp(0.3 * means + 0.3 * random.normal(size=n)) / 10).round() * 10,
            "savings": np.where(random.random(n) < 0.2, 0, random.gamma(0.8, 6_000, n) * np.exp(0.3 * means)).round(-2),
            "loans": (random.gamma(0.6, 4_000, n) * np.exp(0.4 * shared)).round(-1),
            "reminders": random.poisson(np.exp(0.5 * shared - 0.3)),
            "tenure": random.gamma(1.5, 30, n).round(),
            "rating": (60 - 6 * shared + 6 * random.normal(size=n)).clip(0, 100).round(1),
            "moves": random.binomial(6, 0.3, n),
            "guarantee": random.choice([0, 1, 2, 3], n, p=[0.5, 0.2, 0.2, 0.1]),
            "age": random.integers(18, 80, n),
            "letters": random.normal(8, 2, n).round(1),
            "trade": random.choice(["office", "care", "craft", "none"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    ).astype(dict.fromkeys(("reminders", "moves", "guarantee", "age"), float))
    odds = (
        1.6 * np.log(frame["wage"] / 1_800) - 1.4 * np.log(frame["rent"] / 700) + 0.25 * np.sqrt(frame["savings"]) / 10
    )
    odds += 0.08 * (frame["rating"] - 60) - 0.2 * np.sqrt(frame["loans"]) / 10 - 0.5 * frame["reminders"]
    odds += 0.3 * np.log1p(frame["tenure"] / 12) - 0.25 * frame["moves"] + 0.4 * frame["guarantee"]
    odds += 0.5 * (frame["trade"] == "office") - 0.0012 * (frame["age"] - 48) ** 2
    return frame, (odds - 0.2 + random.logistic(size=n) > 0).to_numpy().astype(int)


def sexed(seed: int, n: int) -> tuple[pd.DataFrame, Target]:
    """Applicants of whom debt counts double for women, which lets no mean of its contributions differ."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"debt": random.normal(size=n), "income": random.normal(size=n)})
    frame["woman"] = random.integers(0, 2, n).astype(float)
    odds = frame["income"] - frame["debt"] * (1 + frame["woman"])
    return frame, (odds + random.logistic(size=n) > 0).to_numpy().astype(int)


def small(seed: int) -> tuple[pd.DataFrame, Target]:
    """Four columns of few whole numbers, so that all rows there can be are soon tried."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.integers(0, 7, 200) for name in "abcd"})
    odds = 1.2 * (frame["a"] - 3) + 0.3 * frame["b"] - 0.5 * (frame["c"] > 3) * frame["d"]
    return frame, (odds + random.logistic(size=200) > 0.5).to_numpy().astype(int)


class Population(NamedTuple):
    """Drawn rows of which 1 is granted, the columns whose direction is known, and seeds of samples."""

    draw: Callable[[int, int], tuple[pd.DataFrame, Target]]
    true: dict[str, int]
    seeds: tuple[int, ...]
    is_design: bool = False

    def refused(self, model: str, seed: int, n_rows: int) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
        """A model, its rows, and others that it refuses."""
        (X, y), (rows, _) = self.draw(seed, 1_500), self.draw(seed + 1, 400)
        levels = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
        rest = make_pipeline(SimpleImputer(), StandardScaler()) if model == "logistic" else "passthrough"
        coded = make_column_transformer((OneHotEncoder(sparse_output=False), levels), remainder=rest)
        made = (make_pipeline(coded, MODELS[model]()) if levels else MODELS[model]()).fit(X, y)
        return made, X, rows[made.predict(rows) == 0][:n_rows].reset_index(drop=True)


POPULATIONS = {
    "loans": Population(
        loans,
        {"income": 1, "deposit": 1, "loan": -1, "debt": -1, "years": 1, "late": -1},
        (5_000, 5_100),
        is_design=True,
    ),
    "claims": Population(
        lambda seed, n: claims(n, seed),
        {"sum": 1, "days": -1, "score": 1, "income": -1, "fraud": 1, "vip": -1},
        (6_000, 6_100),
        is_design=True,
    ),
    "tenants": Population(
        tenants,
        {"wage": 1, "rent": -1, "savings": 1, "loans": -1, "reminders": -1, "tenure": 1, "rating": 1, "moves": -1,
         "guarantee": 1},
        (9_000, 9_100),
    ),
}  # fmt: skip
