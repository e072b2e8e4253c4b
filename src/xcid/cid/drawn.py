"""The evidence as it is drawn: within the values that there are, on a scale that can be read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xcid._kernels.arrays import same
from xcid.cid.densities.kernel import Kernel
from xcid.cid.densities.mixed import Discrete, Mixed
from xcid.cid.per_feature import evidence
from xcid.records import Array, Density, DensityPair, Flags, Perturbations, Plan

FEW = 24  # distinct values that are drawn one by one
UNEVEN = 12  # times as far as most values lie, then a scale is not even
FEWEST_UNEVEN = 4  # distinct values


class DrawnPair(NamedTuple):
    """Two densities of a column, and how far from 0 its scale is even: 0 where it is even all along.

    On another scale a value v lies at ``arcsinh(v / width)``; points are places, and the area under a curve is a mass.
    """

    pair: DensityPair
    width: float = 0.0

    def places(self, values: Array) -> Array:
        """Where values lie on the scale."""
        return _places(values, self.width)

    def values(self, places: Array) -> Array:
        """The values at places of the scale."""
        return np.sinh(places) * self.width if self.width else places


class Kept(NamedTuple):
    """Shares of the perturbations that stay, and of those that flip, which keep the present value of a feature.

    NaN where there are none.
    """

    stay: float
    flip: float


def drawn(cloud: Perturbations, row: int, feature: int, density: Density) -> DrawnPair:
    """Give what is drawn of a feature that is one column: the two densities, or exact masses of few values.

    A kernel smooths beyond the values that there are. What lies there belongs to those within; but the curves of a
    plain kernel, the paper's, are drawn as they are: the picture has the d1 that is printed.
    """
    one, (column,) = cloud[row : row + 1], cloud.features[feature]
    if cloud.discrete[column]:
        return DrawnPair(evidence(one, 0, feature, density))
    values = _column(one, column)
    there = values[np.isfinite(values) & (one.positive[0] + one.negative[0] > 0)]
    is_mixed = isinstance(density, Mixed)
    if is_mixed and np.unique(there).size <= FEW:
        return DrawnPair(evidence(_alone(one, column), 0, 0, Discrete()))
    width = unit_of_scale(there) if is_mixed else 0.0
    found = DrawnPair(
        evidence(_alone(one, column, width), 0, 0, density) if width else evidence(one, 0, feature, density), width
    )
    return found if isinstance(density, Kernel) else found._replace(pair=_within(found.pair, found.places(there)))


def kept_shares(cloud: Perturbations, row: int, feature: int, found: DrawnPair | None = None) -> Kept:
    """Tell how much of either set keeps the present value of a feature, or all those of a group.

    That is what is drawn at the present value, where something is.
    """
    one, columns = cloud[row : row + 1], cloud.features[feature]
    if found is not None:
        own = found.pair.atoms & same(found.pair.points, found.places(one.origin[0, list(columns)]))
        if own.any():
            return Kept(*(_share(found.pair.weights * part, own) for part in (found.pair.q, found.pair.p)))
    keeps = np.all([same(_column(one, at), one.origin[0, at]) for at in columns], axis=0)
    return Kept(*(_share(part[0], keeps) for part in (one.negative, one.positive)))


def _places(values: Array, width: float) -> Array:
    return np.arcsinh(values / width) if width else values


def _share(masses: Array, chosen: Flags) -> float:
    total = float(masses.sum())
    return float(masses[chosen].sum()) / total if total > 0 else np.nan


def unit_of_scale(values: Array) -> float:
    """How far from 0 a scale is even where values are spread unevenly; 0 where they are not.

    Without that, a column that is 0 but for a few large values would be a spike at one end of its picture.

    Examples
    --------
    >>> unit_of_scale(np.arange(100.0)), unit_of_scale(np.array([0.0] * 9 + [1, 2, 3, 400]))
    (0.0, 1.75)
    """
    there = np.unique(values[np.isfinite(values)])
    if there.size < FEWEST_UNEVEN or there[0] * there[-1] < 0:
        return 0.0
    sizes = np.sort(np.abs(there[there != 0]))
    low, usual = np.interp(
        [0.25, 0.5], np.linspace(0, 1, sizes.size), sizes
    ).tolist()  # quantiles, in a tenth of the time
    return float(low) if np.ptp(there) > UNEVEN * usual else 0.0


def _column(one: Perturbations, column: int) -> Array:
    """(s,) what the samples of a single row have in a column."""
    return one.cells([column])[0, :, 0]


def _alone(one: Perturbations, column: int, width: float = 0.0) -> Perturbations:
    """The cloud of a single row with nothing but one column, on a scale that is even so far from 0."""
    plan, chosen = one.plan, [column]
    parts: dict[str, Any] = {"given": None, "follows": None, "outputs": None}
    if plan is None or one.given is not None:
        parts |= {"given": _places(one.cells(chosen), width), "plans": ()}
    else:
        make = partial(_plan_alone, column=column, width=width)
        parts["plans"] = (make(plan) if width else plan.once(("alone", column), make),)  # a width is of one row
    own = _places(one.origin[:, chosen], width)
    return replace(one, **parts, origin=own, discrete=np.zeros(1, bool), features=((0,),))


def _plan_alone(plan: Plan, column: int, width: float) -> Plan:
    """The plan of one column."""
    feature = [plan.features.index((column,))]
    masks: dict[str, Any] = {name: getattr(plan, name)[..., feature] for name in ("masks", "free", "fitted")}
    cells: dict[str, Any] = {
        name: _places(getattr(plan, name)[:, [column]], width) for name in ("values", "alone", "rest", "background")
    }
    return replace(plan, **masks, **cells, features=((0,),))


def _within(pair: DensityPair, there: Array) -> DensityPair:
    """The same masses, without cells beyond all values."""
    if not there.size:
        return pair
    inside = pair.atoms | ((pair.points >= there.min()) & (pair.points <= there.max()))
    rest, cells = pair[inside], ~pair.atoms
    scaled = []
    for density in (pair.p, pair.q):
        mass = pair.weights * density
        whole, left = float(mass[cells].sum()), float(mass[cells & inside].sum())
        scaled.append(density[inside] * np.where(rest.atoms, 1.0, whole / left if left > 0 else 0.0))
    return replace(rest, p=scaled[0], q=scaled[1])
