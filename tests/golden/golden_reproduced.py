"""The paper's method on the paper's tables: what the page of the reproduction rests on.

``python tests/golden/golden_reproduced.py`` writes ``reproduced.npz``, and with a path that file. Only values that are
meant to change are a reason to: then the page has to be computed anew, too (``xcid reproduce``).
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import golden_record as record  # noqa: E402
import numpy as np  # noqa: E402

import xcid  # noqa: E402
from xcid import datasets  # noqa: E402

STORED = Path(__file__).with_name("reproduced.npz")
ROWS = slice(40, 46)  # of both tables; some near the boundary
FIELDS = ("values", "importance", "n_flips", "n_positive", "n_negative", "n_evaluations", "status", "outputs")


def by_degrees(x: np.ndarray) -> np.ndarray:
    """Diabetes as a logistic model has it, without an exponential: the same on every machine."""
    z = 0.035 * (x[:, 1] - 121) + 0.09 * (x[:, 5] - 32) + 0.9 * (x[:, 6] - 0.5) + 0.03 * (x[:, 7] - 33) - 0.7
    return 0.5 + 0.5 * z / (1 + np.abs(z))


def by_votes(x: np.ndarray) -> np.ndarray:
    """Heart as a forest has it: shares of six votes, half of which tie."""
    votes = [x[:, 2] > 3.5, x[:, 7] < 147.5, x[:, 9] > 0.8, x[:, 11] > 0.5, x[:, 12] > 4.5, x[:, 0] + 5 * x[:, 1] > 59]
    return np.mean(votes, axis=0)


TABLES: dict[str, tuple[Any, Any]] = {
    "diabetes": (datasets.load_diabetes, by_degrees),
    "heart": (datasets.load_heart, by_votes),
}


def measure(table: str, **settings: Any) -> record.Found:
    """Explain six rows of a table by CID."""
    load, model = TABLES[table]
    data = load().data.astype(float)
    data = data.fillna(data.median())
    found = xcid.CID(lambda frame: model(frame.to_numpy()), data, **settings)(data.iloc[ROWS], seed=3)
    return {name: getattr(found, name) for name in FIELDS}


METHODS: dict[str, dict[str, Any]] = {
    "random": {},
    "genetic": {"generator": "genetic"},
    "random, exponential kernel": {"kernel": "exponential"},
    "random, two runs averaged": {"repeats": 2, "m": 20},
}
CASES: dict[str, Callable[[], record.Found]] = {
    f"{table}, {name}": partial(measure, table, **settings) for table in TABLES for name, settings in METHODS.items()
}

if __name__ == "__main__":
    record.save({name: record.run(case) for name, case in CASES.items()}, Path([STORED, *sys.argv[1:]][-1]))
