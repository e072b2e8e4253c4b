"""Shapley values by a Bayesian regression, with credible limits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, special

from xcid._check import as_int
from xcid._kernels.arrays import products
from xcid.explanation import Explanation
from xcid.records import Array, Flags, Unsigned
from xcid.subject import Subject
from xcid_lab.baselines._coalitions import Draw, Game
from xcid_lab.baselines._common import Found, explained, seeds_of

LEVEL = 0.95


class BayesShap:
    """SHAP values with 95% credible limits, as BayesSHAP (Slack et al., "Reliable post hoc explanations", 2021).

    Coalitions are drawn from the Shapley kernel, each filled from one background row, and the output is regressed on
    them. Errors are normal with an unknown variance, and values have a normal prior of that variance around equal
    shares. As by KernelSHAP the values add up to the row's output less the background's mean.

    Parameters
    ----------
    model, background
        As for :class:`xcid.Explainer`.
    n : int
        Evaluations for each row.
    weights : (N,) array, list or series, optional
        Of the background rows, as for :class:`xcid.Explainer`.
    """

    def __init__(self, model: Any, background: Any, *, n: int = 5_000, weights: Any = None) -> None:
        self.subject = Subject.of(model, background, weights=weights)
        self.n = as_int(n, "n (evaluations)", at_least=2)

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        return explained(self.subject, X, seed, self._scores, {"baseline": "BayesShap", "n": self.n})

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> Found:
        shape = rows.shape
        values, margin, n_evaluations = np.empty(shape), np.empty(shape), np.empty(len(rows), dtype=np.int64)
        for row, row_seed in enumerate(seeds_of(keys)):
            rng = np.random.default_rng(row_seed)
            game = Game(self.subject, rows[row], outputs[row], any_row(rng, len(self.subject.space.background)))
            kept = drawn(rng, self.n, shape[1])
            values[row], margin[row] = posterior(kept, game(kept) - game.empty, game.full - game.empty)
            n_evaluations[row] = game.n_rows
        return Found(values, n_evaluations, values - margin, values + margin)


def any_row(rng: np.random.Generator, size: int) -> Draw:
    """Give every coalition one background row of so many, at random."""
    return lambda count: rng.integers(size, size=(count, 1))


def drawn(rng: np.random.Generator, count: int, n_features: int) -> Flags:
    """(count, d) coalitions, drawn as often as the Shapley kernel weighs them; all features where there is one."""
    sizes = np.arange(1, n_features)
    weights = 1 / (sizes * (n_features - sizes))
    size = rng.choice(sizes, count, p=weights / weights.sum()) if n_features > 1 else np.ones(count)
    order = np.argsort(rng.random((count, n_features)), axis=1)
    return np.argsort(order, axis=1) < size[:, None]


def posterior(kept: Flags, values: Array, total: float) -> tuple[Array, Array]:
    """(d,) means of shares that add up to a total, and (d,) distances of their credible limits.

    ``values`` (c,) are those of (c, d) coalitions, less that of no feature. The prior of the variance is flat on the
    logarithm, so that a share follows Student's t with c degrees of freedom.
    """
    count, d = kept.shape
    if d == 1:
        return np.array([total]), np.zeros(1)
    basis = linalg.helmert(d).T  # (d, d - 1) what shares may differ by without changing their sum
    columns, rest = kept @ basis, values - total * kept.mean(axis=1)
    spread = np.linalg.inv(products(columns.T) + np.eye(d - 1))
    found = spread @ (columns.T @ rest)
    variance = (np.sum((rest - columns @ found) ** 2) + found @ found) / count
    error = np.sqrt(variance * np.einsum("di,ij,dj->d", basis, spread, basis))
    return total / d + basis @ found, special.stdtrit(count, (1 + LEVEL) / 2) * error
