"""Tables and models that several benchmarks run over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import xcid

Array = npt.NDArray[np.float64]
MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "mlp": lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=1_000, random_state=0)),
}


def paper_tables() -> Iterator[tuple[str, Array, Any]]:
    """Plain floats, so that a column of whole numbers can hold its mean.

    Six cells of Heart are missing, which not all models and methods can take: the median stands in.
    """
    for name, load in (("Diabetes", xcid.datasets.load_diabetes), ("Heart", xcid.datasets.load_heart)):
        table = load()
        yield name, table.data.fillna(table.data.median()).to_numpy(float), table.target


def keep(folder: Path | None, name: str, make: Callable[[], Any]) -> Any:
    """What was made under a name, from a file of a folder if there is one: an interrupted run goes on where it was."""
    path = folder and folder / f"{re.sub('[^0-9A-Za-z]+', '-', name)}.json"
    if path is None:
        return make()
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())
