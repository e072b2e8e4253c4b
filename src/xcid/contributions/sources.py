"""What the limits of contributions allow for: our own sampling, other reference rows, another training.

Variances of independent sources add up. What is seen here and what would be seen with other reference rows, or after
another training, are both off the value that is to be expected, independently: so these two count twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from xcid.contributions.sampled import estimate_values
from xcid.errors import InvalidParameter
from xcid.records import Array, Estimate, Explanation, fields
from xcid.records.fields import COMPUTATION, REFERENCE, TRAINING

SOURCES = (COMPUTATION, REFERENCE, TRAINING)  # limits that allow for one allow for those before it
N_GROUPS = 20  # of reference rows
NORMAL = 1.959964  # limits of our own sampling are so many standard deviations away, as far as is told of them
AGAIN = 2.0  # variances: of what is seen, and of what would be
ENDLESS = 1e6  # degrees of freedom
SPREAD = 2.0  # distances of refits that one of a fresh model counts for, where the shown model chose the reasons
E = TypeVar("E", bound=Explanation)


def check_limits(limits: str) -> str:
    """Refuse limits that there are not."""
    if limits not in SOURCES:
        raise InvalidParameter(f"limits must be 'computation', 'reference' or 'training', not {limits!r}")
    return limits


def of_computation(found: Estimate) -> Array:
    """Standard deviations over our own sampling, by its limits."""
    spread: Array = (found.upper - found.lower) / (2 * NORMAL)
    return spread


def of_chance(found: Explanation) -> Array:
    """P-values over our own sampling alone, whatever limits are shown."""
    known = found.p_values if found.p_computation is None else found.p_computation
    assert known is not None
    return known


def of_reference(by_group: Array, shares: Array) -> Array:
    """(n, d) standard deviations over samples of reference rows, by (g, n, d) values against groups of them.

    ``shares`` (g,) of the groups add up to 1. A contribution is the mean of those against the groups.
    """
    weights = shares[:, None, None]
    centre = (weights * by_group).sum(axis=0)
    variance = (weights**2 * (by_group - centre) ** 2).sum(axis=0) * len(shares) / (len(shares) - 1)
    return np.asarray(np.sqrt(variance))


def of_training(value: Array, retrained: Array) -> Array:
    """Standard deviations over trainings, by (..., b) values of refits, about the value that is shown.

    Refits are centred elsewhere where they have fewer rows to learn from, and that is part of what training changes.
    """
    about_shown = ((retrained - value[..., None]) ** 2).mean(axis=-1)
    return np.asarray(np.sqrt(np.maximum(about_shown, retrained.var(axis=-1, ddof=1))))


def widen(found: E, limits: str) -> E:
    """The same explanation with limits and p-values that allow for all sources up to one."""
    if limits == COMPUTATION:
        return found
    spreads = {name: getattr(found, f"sd_{name}") for name in SOURCES[: SOURCES.index(limits) + 1]}
    known = {name: spread for name, spread in spreads.items() if spread is not None and not np.isnan(spread).all()}
    if limits not in known:  # of rows that are sampled, where others are exact
        nothing = np.full(found.values.shape, np.nan)
        return replace(found, lower=nothing, upper=nothing, p_values=np.ones(found.values.shape))
    n_refits = 0 if found.retrained is None else found.retrained.shape[-1]
    return replace(found, **fields.name_parts(found, "values", combine(found.values, known, n_refits)))


def combine(value: Array, spreads: Mapping[str, Array], n_refits: int) -> Estimate:
    """Values with limits and p-values that allow for some sources, by their standard deviations.

    What is told of a source by few groups or refits has few degrees of freedom; those of the sum are Satterthwaite's.
    """
    freedom = {REFERENCE: N_GROUPS - 1.0, TRAINING: n_refits - 1.0}
    parts = {name: (1.0 if name == COMPUTATION else AGAIN) * spread**2 for name, spread in spreads.items()}
    variance = sum(parts.values(), np.zeros(value.shape))
    unsure = sum((parts[name] ** 2 / freedom[name] for name in parts if name in freedom), np.zeros(value.shape))
    is_told = (unsure > 0) & np.isfinite(variance)
    told = np.divide(variance**2, unsure, out=np.full(value.shape, ENDLESS), where=is_told)
    return estimate_values(value, np.sqrt(variance), np.minimum(told, ENDLESS))


def stretched(value: Array, retrained: Array, by: float = AGAIN**0.5) -> Array:
    """(..., b) what refits say of models trained afresh, which are not centred on the value that is shown."""
    return np.asarray(value[..., None] + by * (retrained - value[..., None]))


def find_shares(worth: Array, retrained: Array | None, k: int) -> Array:
    """(d,) shares of models trained afresh that have each value among the first k, and above 0; NaN without refits.

    Counted over (d, b) values by refits, whose distances from the (d,) that are shown are doubled: a model trained
    afresh is not centred on them, and the model that is shown has chosen what is largest.
    """
    if retrained is None:
        return np.full(len(worth), np.nan)
    likely = stretched(worth, retrained, SPREAD)
    place = np.argsort(np.argsort(-likely, axis=0, kind="stable"), axis=0)
    return np.asarray(np.mean((place < k) & (likely > 0), axis=1))
