"""Models that are called, with contributions that are known without sampling by xcid: what limits are held against.

Each case has a fitted model as a plain function, so that xcid cannot read it, and IGNORED columns that the model never
gets: shuffled copies of real ones. The truth is one of

- exact: xcid's own exact contributions of the same trees, which tests hold against brute force;
- enumerated: all subsets of the columns by all reference rows;
- walked: permutations, each by a reference row and in both directions; unbiased, with an error of its own.

Tables are those of scikit-learn and of this package, some drawn ones, and comma-separated files of a folder (the last
column is the class) such as those of the KEEL collection, which are not part of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from cells import MODELS, Array, paper_tables
from drawn import DRAWN, LEVELS, WEIGHTED
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from unseen import REGRESSIONS

import xcid
from xcid.contributions.scale import choose_scale

IGNORED = 3
MOST_ENUMERATED = 10  # columns
WALKS = 20_000
MOST_CELLS = 2**24  # of rows that a model is given at once
ADDS_UP = {"forest": "probability", "boosting": "log_odds"}  # the scale of trees, where the exact road has one


class Case(NamedTuple):
    """A model that is called, rows to explain and what is true of them."""

    name: str
    ask: Callable[[Array], Any]  # the model as xcid gets it
    scale: str
    number: Callable[[Array, Any], Array]  # from rows, and the output that each is about, to what adds up
    about: Any  # (n,) the output that each row's contributions are about
    train: Array
    rows: Array
    truth: Array  # (n, d); 0 in the last IGNORED columns
    how: str
    error: float  # of the truth: its standard error as a share of its root mean square
    settings: dict[str, Any]  # weights of reference rows and kinds of columns, as the explainer takes them


class Wanted(NamedTuple):
    """A table, a kind of model, the most reference rows, and the scale where it is not the usual one."""

    table: str
    kind: str
    most: int
    scale: str = ""


class Asked:
    """A fitted model that is given all columns but the ignored ones."""

    def __init__(self, model: Any, kind: str) -> None:
        self.model, self.kind = model, kind

    def __call__(self, X: Array) -> Any:
        """What xcid is told: probabilities, labels or numbers."""
        ask = self.model.predict_proba if self.kind == "probabilities" else self.model.predict
        return ask(np.asarray(X, dtype=float)[:, :-IGNORED])

    def outputs(self, X: Array) -> Array:
        """(n, k) the same, with a column for each label."""
        found = np.asarray(self(X))
        if self.kind == "labels":
            return (found[:, None] == self.model.classes_) * 1.0
        return found.reshape(len(X), -1)


def case(name: str, X: Array, y: Any, kind: str, n_rows: int, most: int, split: int = 3, given: str = "") -> Case:
    """Fit a model of a kind to a table, and find what is true of its first rows that were held out.

    A scale may be ``given``; else it is the one on which trees add up, and the usual one of other models.
    """
    rng = np.random.default_rng(1)
    wide = np.column_stack([X, *(rng.permutation(X[:, at % X.shape[1]]) for at in range(IGNORED))])
    is_class = len(np.unique(y)) <= 26
    train, rows, target, _ = train_test_split(
        wide, y, test_size=0.2, random_state=split, stratify=y if is_class else None
    )
    train, target, rows = train[:most], target[:most], rows[:n_rows]
    which, codes = "forest" if kind == "labels" else kind, LEVELS.get(name, ())
    made = with_levels(which, codes) if codes else (MODELS if is_class else REGRESSIONS)[which]()
    model = made.fit(train[:, :-IGNORED], target)
    settings = settings_of(name, X.shape[1], len(train))
    asked = Asked(model, "labels" if kind == "labels" else "probabilities" if is_class else "numbers")
    known, own = asked.outputs(train), asked.outputs(rows)
    about = np.where(own.shape[1] > 2, own.argmax(axis=1), own.shape[1] - 1)
    adds_up = is_class and (own.shape[1] == 2 or kind == "forest")
    wanted = given or (ADDS_UP.get(kind, "auto") if adds_up else "auto")
    scale = choose_scale(wanted, known, None)

    def number(some: Array, column: Any) -> Array:
        return np.asarray(scale(asked.outputs(some), np.broadcast_to(column, len(some))))

    truth, error, how = find_truth(model, wanted, number, about, train, rows, kind, settings)
    whole = np.concatenate([truth, np.zeros((len(rows), IGNORED))], axis=1)
    shown = f"{kind}, {given.replace('_', ' ')}" if given else kind
    return Case(f"{name} | {shown}", asked, wanted, number, about, train, rows, whole, how, error, settings)


def with_levels(kind: str, codes: tuple[int, ...]) -> Any:
    """A model that takes some columns as codes of levels, and missing cells."""
    if kind == "boosting":
        return MODELS[kind]().set_params(categorical_features=list(codes))
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    steps = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), list(codes)), remainder=numbers)
    return make_pipeline(steps, MODELS[kind]())


def settings_of(name: str, n_used: int, n_train: int) -> dict[str, Any]:
    """What is told of the columns and reference rows of a table beside their cells."""
    if name not in LEVELS:
        return {}
    codes = [at for at in range(n_used + IGNORED) if (at if at < n_used else at - n_used) in LEVELS[name]]
    weights = np.random.default_rng(2).integers(1, WEIGHTED[name] + 1, n_train)
    return {"weights": weights * 1.0, "kinds": {f"x{at}": "categorical" for at in codes}}


def find_truth(
    model: Any,
    scale: str,
    number: Callable[[Array, Any], Array],
    about: Any,
    train: Array,
    rows: Array,
    kind: str,
    settings: dict[str, Any],
) -> tuple[Array, float, str]:
    """(n, d) contributions of all columns but the ignored ones, their relative error and how they were found."""
    used, n_used = slice(None, -IGNORED), train.shape[1] - IGNORED
    if kind in ("forest", "boosting"):
        known = {f"x{at}" for at in range(n_used)}
        kinds = {name: one for name, one in settings.get("kinds", {}).items() if name in known}
        asked = xcid.Explainer(model, train[:, used], scale=scale, weights=settings.get("weights"), kinds=kinds)
        read = asked.contributions(rows[:, used])
        if read.exact is not None and read.exact.all():
            return np.asarray(read.values), 0.0, "exact"
    weights = settings.get("weights")
    if weights is None and n_used <= MOST_ENUMERATED and len(train) * 2**n_used <= 2**18:
        return (
            np.array([enumerate_subsets(number, *pair, train) for pair in zip(rows, about, strict=True)]),
            0.0,
            "enumerated",
        )
    walked = [walk(number, *pair, train, seed, weights) for seed, pair in enumerate(zip(rows, about, strict=True))]
    truth, variance = (np.array(part) for part in zip(*walked, strict=True))
    return truth, float(np.sqrt(variance.mean() / np.mean(truth**2))), "walked"


def enumerate_subsets(number: Callable[[Array, Any], Array], row: Array, about: int, train: Array) -> Array:
    """(d,) Shapley values of a row by all subsets of columns that are kept, and all reference rows."""
    d = len(row) - IGNORED
    kept = (np.arange(2**d)[:, None] >> np.arange(d)) & 1 == 1
    full = np.concatenate([kept, np.zeros((2**d, IGNORED), dtype=bool)], axis=1)
    step = max(1, MOST_CELLS // train.size)
    value = np.concatenate(
        [
            number(np.where(part[:, None], row, train).reshape(-1, len(row)), about).reshape(len(part), -1).mean(axis=1)
            for part in np.split(full, range(step, len(full), step))
        ]
    )
    size = kept.sum(axis=1)
    weight = 1 / (d * np.array([_choose(d - 1, k) for k in range(d)]))
    found = []
    for at in range(d):
        without = np.flatnonzero(~kept[:, at])
        found.append(np.sum(weight[size[without]] * (value[without + 2**at] - value[without])))
    return np.array(found)


def _choose(n: int, k: int) -> float:
    return float(np.prod([(n - i) / (i + 1) for i in range(k)]))


def walk(
    number: Callable[[Array, Any], Array], row: Array, about: int, train: Array, seed: int, weights: Array | None = None
) -> tuple[Array, Array]:
    """(d,) Shapley values of a row and their variances, by random orders in which its values take their places."""
    rng, d = np.random.default_rng(1_000 + seed), len(row) - IGNORED
    if weights is None:
        donors = rng.permutation(np.resize(rng.permutation(len(train)), WALKS // 2))
    else:
        donors = rng.choice(len(train), WALKS // 2, p=weights / weights.sum())
    step, gains = max(1, MOST_CELLS // (2 * (d + 1) * len(row))), []
    for start in range(0, len(donors), step):
        some = donors[start : start + step]
        place = np.argsort(rng.random((len(some), d)), axis=1)
        both = []
        for at in (place, d - 1 - place):
            kept = at[:, None] < np.arange(d + 1)[:, None]  # (walks, steps, columns)
            full = np.concatenate([kept, np.zeros((*kept.shape[:2], IGNORED), dtype=bool)], axis=2)
            numbers = number(np.where(full, row, train[some][:, None]).reshape(-1, len(row)), about)
            rise = np.diff(numbers.reshape(len(some), d + 1), axis=1)
            both.append(np.take_along_axis(rise, at, axis=1))
        gains.append((both[0] + both[1]) / 2)
    gain = np.concatenate(gains)
    return gain.mean(axis=0), gain.var(axis=0) / len(gain)


def from_folder(folder: Path, name: str) -> tuple[Array, Any]:
    """The numbers of a comma-separated file without missing cells, and the class in its last column."""
    options: dict[str, Any] = {"header": None, "skipinitialspace": True, "na_values": ["?", "<null>"], "comment": "@"}
    frame = pd.read_csv(folder / f"{name}.dat", **options).dropna()
    numbers = frame.iloc[:, :-1].apply(pd.to_numeric, errors="coerce")
    y = frame.iloc[:, -1].astype(str).str.strip().astype("category").cat.codes.to_numpy()
    return numbers.loc[:, numbers.notna().all()].to_numpy(float), y


def built_in(name: str) -> tuple[Array, Any]:
    """A table of this package, of scikit-learn or a drawn one."""
    if name in DRAWN:
        return DRAWN[name]()
    paper = {table.lower(): (X, np.asarray(y)) for table, X, y in paper_tables()}
    if name in paper:
        return paper[name]
    if name in ("breast_cancer", "wine", "digits"):
        table = getattr(datasets, f"load_{name}")()
        return table.data, table.target
    if name == "progression":
        return datasets.load_diabetes(return_X_y=True)
    if name == "friedman":
        return datasets.make_friedman1(25_000, 10, noise=1.0, random_state=31)
    sizes = {"drawn_60": (4_000, 60, 15), "drawn_20000": (25_000, 20, 8)}
    n, d, informative = sizes[name]
    return datasets.make_classification(n, d, n_informative=informative, n_redundant=d // 5, random_state=32)


def cases(wanted: list[Wanted], folder: Path | None, n_rows: int) -> Iterator[Case]:
    """The cases that are wanted."""
    for name, kind, most, scale in wanted:
        X, y = from_folder(folder, name) if folder else built_in(name)
        yield case(name, X, y, kind, n_rows, most, given=scale)
