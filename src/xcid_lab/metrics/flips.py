"""Necessity and sufficiency by flips: how many there are when only the best features may change, or all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from xcid._check import as_int
from xcid._kernels.arrays import blocks
from xcid._kernels.random import FLIPS, below, content_keys, uniform
from xcid.errors import InvalidParameter
from xcid.metrics.faithfulness import MOST_CELLS, checked
from xcid.outcomes import Flip, Outcome
from xcid.records import Array, Flags, Unsigned
from xcid.setup import bind_outcome, usual_outcome
from xcid.setup import weights as weights_of
from xcid.subject import Subject
from xcid.table import FeatureSpace


@dataclass(frozen=True, slots=True, eq=False)
class FlipShares:
    """How many of the flips that were wanted there are, from 0 to 1, by what may change.

    Attributes
    ----------
    any : (n,)
        When every feature may change.
    top : (n,)
        When only the best k features may change.
    rest : (n,)
        When the best k features are frozen.
    """

    any: Array
    top: Array
    rest: Array


def flip_shares(
    model: Any,
    X: Any,
    scores: Any,
    reference: Any,
    *,
    k: int = 2,
    wanted: int = 10,
    draws: int = 100,
    seed: int = 0,
    weights: Any = None,
    outcome: Outcome | None = None,
) -> FlipShares:
    """Count distinct flips of each row when its best features may change, when the others may, and when all may.

    A draw takes a reference row, and gives its values to some of the features that may change: from one of them to all,
    every number being as likely. Reference rows and random numbers come from the seed and the row's values, whatever
    the scores, so that methods are judged on the same draws.

    Parameters
    ----------
    model : object
        As for :class:`xcid.Explainer`.
    X : table
        n rows.
    scores : (n, d)
        Signed scores are taken as they are: the highest comes first.
    reference : table
        Rows that show what is usual.
    k : int
        How many features are the best ones.
    wanted : int
        Distinct flips that count as all of them.
    draws : int
        Perturbations of each kind for each row: the model is called with 3 * draws + 1 rows.
    seed : int
    weights : (N,) array, list or series, optional
        Of the reference rows, as for :class:`xcid.Explainer`.
    outcome : Outcome, optional
        What counts as a flip; by default another class, or for a regression a move of 0.7 standard deviations.
    """
    subject = Subject.of(model, reference, weights=weights)
    space = subject.space
    rows = space.encode(X)
    ranked = checked(scores, rows.shape)
    n, d = rows.shape
    if as_int(k, "k", at_least=1) > d:
        raise InvalidParameter(f"k must be at most the number of features, {d}, not {k}")
    draws = as_int(draws, "draws", at_least=1)
    wanted = as_int(wanted, "wanted", at_least=1, at_most=draws)
    usual = usual_outcome(subject) if subject.is_regression else Flip()
    asked = bind_outcome(usual if outcome is None else outcome, subject)
    keys, own = space.keys(rows, as_int(seed, "seed")), subject.predict(rows)
    top = np.argsort(np.argsort(-ranked, axis=1, kind="stable"), axis=1) < k
    free = np.stack([np.ones_like(top), top, ~top], axis=1)  # (n, 3, d)
    shares = np.empty((n, 3))
    for part in blocks(n, MOST_CELLS // (3 * draws * d)):
        samples = _changed(rows[part], free[part], keys[part], space, draws)
        flat = samples.reshape(-1, d)
        outputs = subject.predict(flat).reshape(len(samples), 3 * draws, -1)
        flips = (weights_of(asked, outputs, own[part]) > 0.5).reshape(samples.shape[:3])
        shares[part] = np.minimum(_distinct(content_keys(flat, 0).reshape(flips.shape), flips) / wanted, 1.0)
    return FlipShares(*shares.T)


class Settings(TypedDict, total=False):
    """The optional settings of :func:`flip_shares`, which those of a metric are handed to."""

    k: int
    wanted: int
    draws: int
    seed: int
    weights: Any
    outcome: Outcome | None


def flip_necessity(model: Any, X: Any, scores: Any, reference: Any, **settings: Unpack[Settings]) -> Array:
    """(n,) share of the wanted flips that are there when only the best k features may change: the higher the better.

    Kommiya Mothilal et al., "Towards unifying feature attribution and counterfactual explanations", AIES 2021. The
    parameters are those of :func:`flip_shares`.
    """
    return flip_shares(model, X, scores, reference, **settings).top


def flip_sufficiency(model: Any, X: Any, scores: Any, reference: Any, **settings: Unpack[Settings]) -> Array:
    """(n,) share of the wanted flips that are lost when the best k features are frozen: the higher the better.

    It is the sufficiency of Kommiya Mothilal et al.; :func:`sufficiency` is that of masking. The parameters are those
    of :func:`flip_shares`.
    """
    shares = flip_shares(model, X, scores, reference, **settings)
    return shares.any - shares.rest


def _changed(rows: Array, free: Flags, keys: Unsigned, space: FeatureSpace, draws: int) -> Array:
    """(b, 3, draws, d) rows with values of reference rows in some of the features that are free."""
    donor, size, order = FLIPS
    counters = np.arange(draws, dtype=np.uint64)
    donors = space.background[below(donor.bits(keys, counters), len(space.background))]  # (b, draws, d)
    places = counters[:, None] * np.uint64(rows.shape[1]) + space.rank.astype(np.uint64)
    mixed = uniform(order.bits(keys, places))[:, None]  # (b, 1, draws, d)
    mixed = np.where(free[:, :, None], mixed, np.inf)
    n_free = free.sum(axis=2)[:, :, None]  # (b, 3, 1)
    n_changed = np.minimum(1 + np.floor(uniform(size.bits(keys, counters))[:, None] * n_free), n_free)
    is_changed = np.argsort(np.argsort(mixed, axis=3), axis=3) < n_changed[..., None]
    return np.where(is_changed, donors[:, None], rows[:, None, None])


def _distinct(contents: Unsigned, flips: Flags) -> Array:
    """(b, 3) how many different samples flip."""
    known = np.sort(np.where(flips, contents, np.uint64(0)), axis=2)
    is_new = np.concatenate([np.ones_like(known[..., :1], dtype=bool), known[..., 1:] != known[..., :-1]], axis=2)
    return np.asarray(np.sum(is_new & (known != 0), axis=2, dtype=np.float64))
