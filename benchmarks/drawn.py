"""Tables that are drawn to test limits on, each by its own law: no setting was chosen on them.

They were written down before any limits of theirs were seen, after second differences of blocks and a correction by
the root of what leverage leaves (``xcid.contributions.effects``) had been chosen on others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cells import Array
from sklearn import datasets


def rings() -> tuple[Array, Any]:
    """Two classes by the distance from the middle of ten columns."""
    X, y = datasets.make_hastie_10_2(4_000, random_state=51)
    return X, (y > 0).astype(int)


def counts() -> tuple[Array, Any]:
    """Fourteen counts, and two classes by ratios of some of them."""
    rng = np.random.default_rng(52)
    X = rng.poisson(rng.gamma(2.0, 2.0, size=(1_500, 14))).astype(np.float64)
    ratio = (X[:, 0] + 1) / (X[:, 1] + 1) - 0.7 * (X[:, 2] > 4) * (X[:, 3] + 1) / (X[:, 4] + 2)
    return X, (ratio + 0.5 * rng.normal(size=len(X)) > np.median(ratio)).astype(int)


def factors() -> tuple[Array, Any]:
    """Twenty-five columns that four hidden ones move, and three classes by two of these."""
    rng = np.random.default_rng(53)
    hidden = rng.normal(size=(3_000, 4))
    X = hidden @ rng.normal(size=(4, 25)) + rng.normal(size=(3_000, 25))
    angle = np.arctan2(hidden[:, 0] * hidden[:, 1], hidden[:, 2])
    return X, np.digitize(angle + 0.3 * rng.normal(size=3_000), [-1.0, 1.0])


def bent() -> tuple[Array, Any]:
    """Friedman's third function with four columns of noise, a regression."""
    X, y = datasets.make_friedman3(1_100, noise=0.05, random_state=54)
    return np.column_stack([X, np.random.default_rng(54).normal(size=(len(X), 4))]), y


def tails() -> tuple[Array, Any]:
    """Eighteen columns with long tails that go together, and two classes by products."""
    rng = np.random.default_rng(55)
    X = rng.standard_t(3.0, size=(9_000, 18))
    X[:, 1:] += 0.6 * X[:, :-1]
    return X, (np.tanh(X[:, 0] * X[:, 1]) + np.tanh(X[:, 2]) - X[:, 3] / 4 + rng.normal(size=9_000) > 0).astype(int)


def few() -> tuple[Array, Any]:
    """Eight columns, half of them of a few whole numbers, and two classes by a conjunction."""
    rng = np.random.default_rng(56)
    X = np.column_stack([rng.normal(size=(700, 4)), rng.integers(0, 5, size=(700, 4))])
    return X, (((X[:, 0] > -0.5) & (X[:, 4] > 1)) ^ (X[:, 5] + X[:, 1] > 3)).astype(int)


def wide() -> tuple[Array, Any]:
    """Forty-five columns, in blocks of five that go together, and two classes by one of each of the first six."""
    rng = np.random.default_rng(57)
    X = np.repeat(rng.normal(size=(1_600, 9)), 5, axis=1) + 0.7 * rng.normal(size=(1_600, 45))
    score = np.sin(2 * X[:, 0]) + X[:, 5] * X[:, 10] + np.abs(X[:, 15]) - (X[:, 20] > 0) + X[:, 25]
    return X, (score + 0.5 * rng.normal(size=1_600) > 1).astype(int)


def loans() -> tuple[Array, Any]:
    """Numbers of which some are missing, and codes of levels, of which one column has missing cells, too."""
    rng = np.random.default_rng(58)
    income, debt = np.exp(rng.normal(size=(2, 2_500)))
    region, house, owner = rng.integers(0, 12, 2_500), rng.integers(0, 5, 2_500), rng.integers(0, 2, 2_500)
    age, delay = rng.normal(45.0, 15.0, 2_500), rng.exponential(30.0, 2_500)
    score = np.log(income) - np.log(debt) * (1 + owner) + 0.04 * (age - 45) + rng.normal(size=12)[region]
    score += 2 * (house == 2) * (delay > 20) + rng.logistic(size=2_500)
    X = np.column_stack([income, region, debt, house, age, owner, delay, *rng.normal(size=(2, 2_500))]).astype(float)
    for column, share in ((0, 0.2), (3, 0.1), (6, 0.3)):
        X[rng.random(2_500) < share, column] = np.nan
    return X, (score > np.median(score)).astype(int)


DRAWN: dict[str, Callable[[], tuple[Array, Any]]] = {
    one.__name__: one for one in (rings, counts, factors, bent, tails, few, wide, loans)
}
LEVELS = {"loans": (1, 3, 5)}  # columns that are codes
WEIGHTED = {"loans": 4}  # reference rows that count once to so many times
