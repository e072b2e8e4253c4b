"""Shapley values by the estimators of shapiq."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from xcid._check import as_int
from xcid._require import quiet_and_seeded, require
from xcid.errors import InvalidParameter, MissingDependency
from xcid.explanation import Explanation
from xcid.records import Array, Integers, Unsigned
from xcid.subject import Subject
from xcid_lab.baselines._coalitions import Draw, Game
from xcid_lab.baselines._common import Found, explained, seeds_of

PERMUTATIONS = 1_000  # at once
COALITIONS = 10  # of each feature: with fewer or more of them errors were larger, at 300 to 10,000 evaluations

Name: TypeAlias = Literal[
    "KernelSHAP", "PermutationSamplingSV", "LeverageSHAP", "RegressionMSR", "ProxySHAP", "OddSHAP"
]


def of_a_coalition(n: int, n_features: int) -> int:
    """Background rows of each coalition, so that there are some coalitions for each feature, or all that there are."""
    return max(1, n // min(COALITIONS * n_features, 2**n_features))


def for_each(order: Integers, rows: int, n_features: int) -> Draw:
    """Give every coalition the next background rows of an order."""
    given = 0

    def draw(count: int) -> Integers:
        nonlocal given
        place = given + np.arange(count * rows).reshape(count, rows)
        given += count * rows
        return order[place % len(order)]

    return draw


def for_a_permutation(order: Integers, rows: int, n_features: int) -> Draw:
    """Give the coalitions of a permutation the same background rows, and those of the next one the next rows.

    Differences along a permutation are least noisy so. It has a coalition of every size but 0 and d, one by one.
    """
    one = for_each(order, rows, n_features)
    return lambda count: np.repeat(one(count // (n_features - 1)), n_features - 1, axis=0)


class Estimator(NamedTuple):
    """How an estimator of shapiq is set up."""

    fresh: Callable[[Integers, int, int], Draw] = for_each
    rows: Callable[[int, int], int] = of_a_coalition  # that a coalition is averaged over, of n and d
    settings: Mapping[str, Any] = {}
    call: Mapping[str, Any] = {}
    needs: tuple[str, ...] = ()  # packages beside shapiq


ESTIMATORS: Mapping[Name, Estimator] = {
    "KernelSHAP": Estimator(settings={"pairing_trick": True}),
    "PermutationSamplingSV": Estimator(for_a_permutation, rows=lambda n, d: 1, call={"batch_size": PERMUTATIONS}),
    "LeverageSHAP": Estimator(),
    "RegressionMSR": Estimator(settings={"index": "SV"}, needs=("xgboost",)),
    "ProxySHAP": Estimator(settings={"index": "SV", "max_order": 1, "adjustment": True}, needs=("xgboost",)),
    "OddSHAP": Estimator(),
}


class Shapiq:
    """SHAP values by an estimator of shapiq, of the probability of the predicted class or the output of a regression.

    All but KernelSHAP and permutations need shapiq 1.8, and so Python 3.12.

    Parameters
    ----------
    model, background
        As for :class:`xcid.Explainer`.
    estimator : str
        shapiq's own name of it.
    n : int
        Most evaluations for each row.
    rows : int, optional
        Background rows that a coalition is averaged over; they are others for every coalition, or for every
        permutation. By default 1 for permutations, and for the others so many that there are ten coalitions for
        each feature: errors were smallest there.
    weights : (N,) array, list or series, optional
        Of the background rows, as for :class:`xcid.Explainer`.
    """

    def __init__(
        self,
        model: Any,
        background: Any,
        *,
        estimator: Name = "KernelSHAP",
        n: int = 10_000,
        rows: int | None = None,
        weights: Any = None,
    ) -> None:
        if estimator not in ESTIMATORS:
            raise InvalidParameter(f"estimator must be one of {', '.join(ESTIMATORS)}, not {estimator!r}")
        self.name, self.how = estimator, ESTIMATORS[estimator]
        with quiet_and_seeded(0):
            library = require("shapiq", extra="shapiq")
            for package in self.how.needs:
                require(package, extra="shapiq")
        if not hasattr(library.approximator, estimator):
            raise MissingDependency(f"this needs {estimator} of shapiq 1.8 or later, and this is {library.__version__}")
        self.made = getattr(library.approximator, estimator)
        self.subject = Subject.of(model, background, weights=weights)
        self.n = as_int(n, "n (evaluations)", at_least=2)
        known, d = self.subject.space.background.shape
        self.rows = min(known, self.how.rows(self.n, d) if rows is None else as_int(rows, "rows", at_least=1))

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        settings = {"baseline": "Shapiq", "estimator": self.name, "n": self.n, "rows": self.rows}
        return explained(self.subject, X, seed, self._scores, settings)

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> Found:
        (n, d), size = rows.shape, len(self.subject.space.background)
        values, n_evaluations = np.empty((n, d)), np.zeros(n, dtype=np.int64)
        for row, row_seed in enumerate(seeds_of(keys)):
            order = np.random.default_rng(row_seed).permutation(size)
            game = Game(self.subject, rows[row], outputs[row], self.how.fresh(order, self.rows, d))
            values[row] = self._values(game, d, row_seed) if d > 1 else game.full - game.empty
            n_evaluations[row] = game.n_rows
        return Found(values, n_evaluations)

    def _values(self, game: Game, d: int, seed: int) -> Array:
        with quiet_and_seeded(seed):
            made = self.made(n=d, random_state=seed, **self.how.settings)
            found = made.approximate(self.n // self.rows + 2, game, **self.how.call)  # no and all features are free
        return np.array([found[(feature,)] for feature in range(d)])
