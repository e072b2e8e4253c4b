"""The paper's score: one density for each set, one distance for each feature; levels are counted.

Missing cells are an atom of their own beside whatever density the others have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from xcid._check import require_callable
from xcid._kernels.arrays import blocks, ratio, same
from xcid.cid import planned
from xcid.cid.densities.kernel import Kernel
from xcid.cid.densities.mixed import Discrete
from xcid.cid.distances import Distance, Overlap
from xcid.errors import InvalidData
from xcid.records import Array, Density, DensityPair, Flags, Integers, Perturbations, Scores, plan_by_plan

MOST_ITEMS = 128  # features of rows whose densities are held at a time: they stay in the cache

Direction: TypeAlias = Callable[[Perturbations], Array]
"""Which way a feature pulls: ``direction(cloud) -> (n, f)`` of -1, 0 and +1."""


class Score(Protocol):
    """Anything that scores the features of clouds; ``density`` makes the evidence that is shown."""

    @property
    def density(self) -> Density: ...

    def __call__(self, cloud: Perturbations) -> Scores: ...


def unsigned(cloud: Perturbations) -> Array:
    """Say nothing, as the paper: 0 for every feature."""
    return np.zeros((len(cloud), len(cloud.features)))


def held_in_place(cloud: Perturbations) -> Array:
    """Compare how often the present value survives among negatives and among positives.

    +1: it is commoner where the output stays, so it holds the output in place. -1: it pulls away from it.
    """
    unchanged = kept(cloud).astype(np.float64)
    shares = [
        np.einsum("nsd,ns->nd", unchanged, weights)
        / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        for weights in (cloud.negative, cloud.positive)
    ]
    return np.sign(shares[0] - shares[1])


@dataclass(frozen=True, slots=True)
class PerFeature:
    """Distance between the densities of C+ and C-, feature by feature; for a group between its joint densities.

    Parameters
    ----------
    density : Density
        From weighted samples to a pair of densities, for numbers; levels are counted.
    distance : Distance
        From a pair of densities to a number in [0, 1].
    direction : Direction
        Gives the values their sign; where it says 0, it cannot tell, and the value is the plain distance.
    """

    density: Density = field(default_factory=Kernel)
    distance: Distance = field(default_factory=Overlap)
    direction: Direction = unsigned

    def __call__(self, cloud: Perturbations) -> Scores:
        return plan_by_plan(self._scored, cloud)

    def _scored(self, cloud: Perturbations) -> Scores:
        importance = np.zeros((len(cloud), len(cloud.features)))
        first = np.array([columns[0] for columns in cloud.features])
        is_group = np.array([len(columns) > 1 for columns in cloud.features])
        compared = (cloud.positive.sum(axis=1) > 0) & (cloud.negative.sum(axis=1) > 0)
        waiting = ~is_group
        for part in planned.parts(cloud, self.density) if cloud.plans else ():
            importance[:, part.features] = planned.distances(part, cloud, self.distance)
            waiting[part.features] = False
        for density, chosen in ((self.density, ~cloud.discrete[first]), (Discrete(), cloud.discrete[first])):
            features = np.flatnonzero(chosen & waiting)
            if features.size:
                importance[:, features] = self._distances(density, cloud, first[features])
        for feature in np.flatnonzero(is_group):
            for row in np.flatnonzero(compared):
                pair = _joint(cloud[row : row + 1], cloud.features[feature], self.density)
                importance[row, feature] = self.distance(pair.p, pair.q, pair.weights)
        importance = np.where(compared[:, None], importance, 0.0)
        direction = np.where(compared[:, None], self.direction(cloud), 0.0)
        return Scores(np.where(direction == 0, importance, direction * importance), importance)

    def _distances(self, density: Density, cloud: Perturbations, columns: Integers) -> Array:
        """Distances of some columns of all rows, a block at a time."""
        result = np.zeros((len(cloud), len(columns)))
        for part in blocks(len(cloud), MOST_ITEMS // len(columns)):
            values = np.ascontiguousarray(cloud[part].cells(columns).transpose(0, 2, 1))
            pair = _estimate(density, values, cloud.positive[part, None, :], cloud.negative[part, None, :])
            result[part] = self.distance(pair.p, pair.q, pair.weights)
        return result


def evidence(cloud: Perturbations, row: int, feature: int, density: Density) -> DensityPair:
    """Give the two densities of one feature of one row, without unused places."""
    one, columns = cloud[row : row + 1], cloud.features[feature]
    if len(columns) > 1:
        return _joint(one, columns, density).compact()
    (column,) = columns
    for part in planned.parts(one, density):
        if column in part.columns:
            return planned.pair(part, one, 0, column).compact()
    return _of_column(one, column, density).compact()


def _of_column(one: Perturbations, column: int, density: Density) -> DensityPair:
    """Give the two densities of a column of a cloud of one row."""
    chosen = Discrete() if one.discrete[column] else density
    return _estimate(chosen, one.cells([column])[0, :, 0], one.positive[0], one.negative[0])


def _joint(one: Perturbations, columns: tuple[int, ...], density: Density) -> DensityPair:
    """Give the two joint densities of some columns of a cloud of one row; constants have no part in it."""
    from xcid.cid.densities.joint import Joint
    from xcid.cid.densities.product import Product

    cells = one.cells(list(columns))[0]
    used = cells[(one.positive[0] > 0) | (one.negative[0] > 0)]
    varies = ~same(used, used[:1]).all(axis=0)
    if varies.sum() < 2:
        return _of_column(one, columns[int(varies.argmax())], density)
    at, joint = np.array(columns)[varies], Product(density) if isinstance(density, Kernel) else Joint()
    return joint(cells[:, varies], one.positive[0], one.negative[0], one.discrete[at])


def _estimate(density: Density, values: Array, positive: Array, negative: Array) -> DensityPair:
    """Call a density on (..., s) samples of which some may be missing (NaN)."""
    missing = np.isnan(values)
    if not missing.any():
        return density(values, positive, negative)
    rest = density(np.where(missing, 0.0, values), positive * ~missing, negative * ~missing)
    p, q = (
        ratio(*(np.sum(part, axis=-1, keepdims=True) for part in (weights * missing, weights)))
        for weights in (positive, negative)
    )
    atom = np.ones(p.shape)
    return DensityPair(
        np.concatenate([rest.points, np.nan * atom], axis=-1),
        np.concatenate([rest.p * (1 - p), p], axis=-1),
        np.concatenate([rest.q * (1 - q), q], axis=-1),
        np.concatenate([rest.weights, atom], axis=-1),
        np.concatenate([rest.atoms, atom > 0], axis=-1),
    )


def kept(cloud: Perturbations) -> Flags:
    """(n, s, f) which features have the row's own value, or a group all of its own values."""
    cells = same(cloud.samples, cloud.origin[:, None, :])
    if all(columns == (at,) for at, columns in enumerate(cloud.features)):
        return cells  # every column is a feature
    return np.stack([cells[:, :, list(columns)].all(axis=2) for columns in cloud.features], axis=2)


def d1(positive: npt.ArrayLike, negative: npt.ArrayLike, density: Density | None = None) -> float:
    """Measure how differently two samples of one feature are distributed.

    Parameters
    ----------
    positive, negative : (m,), (n,)
        Values of the feature in C+ and in C-.
    density : Density, optional
        The paper's Gaussian kernel with Silverman's bandwidth by default.

    Returns
    -------
    float
        0 for equal densities, 1 for densities that share no mass.

    Examples
    --------
    >>> d1([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    0.0
    >>> d1([1.0, 2.0, 3.0], [101.0, 102.0, 103.0]) > 0.999
    True
    >>> d1([5.0, 5.0], [5.0, 5.0]), d1([5.0, 5.0], [6.0, 6.0])
    (0.0, 1.0)
    """
    first, second = _sample(positive, "positive"), _sample(negative, "negative")
    values = np.concatenate([first, second])
    is_positive = (np.arange(len(values)) < len(first)).astype(np.float64)
    density = Kernel() if density is None else density
    require_callable(density, "density", "xcid.densities.Kernel()")
    pair = density(values, is_positive, 1 - is_positive)
    return float(Overlap()(pair.p, pair.q, pair.weights))


def _sample(values: npt.ArrayLike, name: str) -> Array:
    try:
        raw = np.asarray(values)
        sample = raw.astype(np.float64) if raw.dtype.kind in "fiubO" else None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"{name} must be numbers: {error}") from error
    if sample is None:
        raise InvalidData(f"{name} must be numbers; it holds {raw.dtype}")
    if sample.ndim != 1 or sample.size == 0:
        raise InvalidData(f"{name} must be a list of at least one number; its shape is {sample.shape}")
    if not np.isfinite(sample).all():
        bad = int(np.flatnonzero(~np.isfinite(sample))[0])
        raise InvalidData(f"{name} must be finite; {name}[{bad}] is {sample[bad]}: drop such values")
    return sample
