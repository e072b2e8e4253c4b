"""What the golden values explain: tables and models that are the same on every machine.

Uniform numbers, sums, products and quotients only: these are rounded alike by every processor and every version of
NumPy, which exponentials, matrix products and fitted models are not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

NAMES = ["age", "income", "debt", "children", "score"]


def bell(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Numbers that are nearly normal."""
    total = np.zeros(n_rows)
    for part in rng.random((12, n_rows)):
        total = total + part
    return total - 6.0


def make_numbers(n_rows: int = 120, seed: int = 3) -> np.ndarray:
    """Smooth, dependent, one-decimal, whole and piled-up columns."""
    rng = np.random.default_rng(seed)
    age, income = bell(rng, n_rows), bell(rng, n_rows)
    return np.column_stack(
        [
            age,
            0.6 * age + 0.8 * income,
            np.round(4 * rng.random(n_rows), 1),
            np.floor(5 * rng.random(n_rows)),
            np.where(rng.random(n_rows) < 0.4, 0.0, 2 + bell(rng, n_rows)),
        ]
    )


def make_mixed(n_rows: int = 120, seed: int = 5) -> pd.DataFrame:
    """Numbers with holes, whole numbers, text with holes, ordered levels, booleans and dates."""
    rng = np.random.default_rng(seed)
    size = np.round(bell(rng, n_rows), 3)
    size[rng.random(n_rows) < 0.1] = np.nan
    city = np.array(["Bonn", "Cork", "Oslo", None], dtype=object)[np.floor(3.4 * rng.random(n_rows)).astype(int)]
    grade = np.array(["low", "middle", "high"])[np.floor(3 * rng.random(n_rows)).astype(int)]
    return pd.DataFrame(
        {
            "size": size,
            "count": np.floor(9 * rng.random(n_rows)).astype(np.int64),
            "city": city,
            "grade": pd.Categorical(grade, ["low", "middle", "high"], ordered=True),
            "member": rng.random(n_rows) < 0.5,
            "since": np.datetime64("2020-01-01") + np.floor(1_500 * rng.random(n_rows)).astype("timedelta64[D]"),
        },
        index=[f"r{row}" for row in range(n_rows)],
    )


NUMBERS = make_numbers()
ROWS = NUMBERS[[0, 17, 40, 77]]
MIXED = make_mixed()
MIXED_ROWS = MIXED.iloc[[1, 8, 30, 66]]


def squashed(z: np.ndarray) -> np.ndarray:
    """Probabilities from any numbers, without an exponential."""
    return 0.5 + 0.5 * z / (1 + np.abs(z))


def merit(x: np.ndarray) -> np.ndarray:
    """Additive, but for one product."""
    return 1.2 * x[:, 0] - 0.8 * x[:, 1] + 0.5 * (x[:, 2] - 2) + 0.4 * x[:, 0] * (x[:, 3] - 2) + 0.1 * x[:, 4]


def two_classes(x: np.ndarray) -> np.ndarray:
    """The probability of the second class."""
    return squashed(merit(x))


class ThreeClasses:
    """Probabilities of three classes that have names."""

    classes_ = np.array(["high", "low", "middle"])

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """(n, 3) shares."""
        z, w = merit(x), x[:, 4] - x[:, 2]
        odds = [squashed(z) ** 2, squashed(-z) ** 2, 1.5 * squashed(w) ** 2]
        total = odds[0] + odds[1] + odds[2]
        return np.column_stack([part / total for part in odds])


three_classes = ThreeClasses()


def regression(x: np.ndarray) -> np.ndarray:
    """One number a row."""
    return 10 + 3 * merit(x)


def labels(x: np.ndarray) -> np.ndarray:
    """Names of classes, without probabilities."""
    return np.where(merit(x) > 1, "yes", np.where(merit(x) > -1, "perhaps", "no"))


def lender(frame: pd.DataFrame) -> np.ndarray:
    """The probability of the second class, from a mixed frame."""
    z = 0.9 * frame["size"].fillna(-0.5).to_numpy() + 0.25 * (frame["count"].to_numpy() - 4)
    z = z + np.where(frame["city"].isna(), -1.0, np.where(frame["city"] == "Oslo", 0.8, 0.0))
    z = z + 0.5 * (frame["grade"].cat.codes.to_numpy() - 1) * np.where(frame["member"], 1.0, -0.5)
    days = (frame["since"].to_numpy() - np.datetime64("2022-01-01")) / np.timedelta64(1, "D")
    return squashed(z + days / 1_000)


class Fragile:
    """Two classes; it fails for one row of the table, and for every call that holds that row."""

    def __init__(self, row: np.ndarray) -> None:
        self.row = row

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Refuse the row."""
        if np.any(np.all(x == self.row, axis=1)):
            raise ValueError("no answer for this row")
        return two_classes(x)
