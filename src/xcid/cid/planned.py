"""Evidence of clouds that follow a plan: one sparse product counts what every row has in every slot.

It is adjusted for the other features. Beside a sample that takes a value from a donor stands its complement, which
takes all other features of that donor: what the two have in common is taken out. The weight of a value in C+ is then
the mean weight of samples that keep the feature, and the difference between the samples that take the value and their
complements. So a feature that the model ignores has equal densities in C+ and C-, whatever it has to do with others.
``given`` clouds have plain ones.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from xcid._kernels.arrays import blocks, namespace, ratio, same
from xcid.cid.densities.mixed import Discrete, Slots, Slotted, smooth
from xcid.cid.distances import Distance, Overlap
from xcid.records import Array, Density, DensityPair, Flags, Integers, Perturbations, Plan

MOST_CELLS = 2**16  # of the curves held at a time: they stay in the cache
MOST_FEATURES = 16  # of a part


class Part(NamedTuple):
    """Features of a plan whose densities have slots of one kind."""

    features: Integers  # (k,) their positions among the plan's features
    columns: Integers  # (k,) and in the table
    slots: Slots
    counter: sparse.csr_array  # (k * (1 + g), p) from differences of weights within pairs to what slots have more
    pooled: Array  # (k, 1 + g, 1) the masses there when all samples count 1, smoothed
    widths: Array  # (k, 1 + g, 1) of the cells; 1 for atoms

    @property
    def shares(self) -> Array:
        """(k, g, 1) of the donors that lie at each atom and in each (smooth) cell."""
        return self.pooled[:, 1:] / self.counter.shape[1]

    def masses(self, apart: Array) -> Array:
        """(k, 1 + g, n) what (p, n) differences of weights within pairs add to the own value, atoms and cells."""
        first = 1 + self.slots.atoms.shape[1]
        counts = (self.counter @ np.ascontiguousarray(apart)).reshape(len(self.features), -1, apart.shape[1])
        masses = np.empty_like(counts)
        masses[:, :first] = counts[:, :first]
        smooth(self.slots.smoothing, counts[:, first:], masses[:, first:])
        masses[:, 1:] += self.shares * counts[:, :1]
        return masses


class Counted(Protocol):
    """What total variations are made from; see :class:`Part`."""

    @property
    def columns(self) -> Integers: ...

    @property
    def slots(self) -> Slots: ...

    @property
    def pooled(self) -> Array: ...

    def masses(self, apart: Array) -> Array: ...


def parts(cloud: Perturbations, density: Density) -> list[Part]:
    """What a plan leaves to be computed once; empty where the density or the constraints want each row by itself."""
    plan = cloud.plan
    if plan is None or cloud.given is not None or not isinstance(density, Slotted):
        return []
    return plan.once(("evidence", density), lambda plan: _parts(plan, density, cloud.discrete))


def _parts(plan: Plan, density: Slotted, discrete: Flags) -> list[Part]:
    single = np.array([len(columns) == 1 for columns in plan.features])
    first = np.array([columns[0] for columns in plan.features])
    found = []
    for one, chosen in ((density, ~discrete[first]), (Discrete(), discrete[first])):
        features = np.flatnonzero(chosen & single)
        for block in blocks(len(features), MOST_FEATURES):
            some = features[block]
            found.append(_part(plan, some, first[some], one.slots(plan.values[:, first[some]])))
    return [part for part in found if part.features.size]


def _part(plan: Plan, features: Integers, columns: Integers, slots: Slots) -> Part:
    kept = np.flatnonzero(slots.covered)
    features, columns = features[kept], columns[kept]
    per_feature = {name: getattr(slots, name)[kept] for name in ("atoms", "first", "width", "covered")}
    slots = slots._replace(place=slots.place[:, kept], share=slots.share[:, kept], **per_feature)
    pairs, k, n_places, first = len(plan.masks), len(features), 1 + slots.n_slots, 1 + slots.atoms.shape[1]
    sign = np.where(plan.masks[:, features], 0.5, -0.5) * plan.free[features]  # (p, k)
    own = n_places * np.arange(k) + np.zeros((pairs, 1), dtype=np.int64)
    slot, next_slot = own + 1 + slots.place, own + 2 + slots.place
    sample = np.broadcast_to(np.arange(pairs)[:, None], sign.shape)
    entries = [(own, -sign), (slot, 2 * sign * (1 - slots.share)), (next_slot, 2 * sign * slots.share)]
    used = [share != 0 for _, share in entries]
    place, share, which = (
        np.concatenate([part[there] for part, there in zip(parts, used, strict=True)])
        for parts in ((own, slot, next_slot), [share for _, share in entries], [sample] * 3)
    )
    counter = sparse.csr_array((share, (place, which)), shape=(k * n_places, pairs))
    pooled = (abs(counter) @ np.ones(pairs)).reshape(k, n_places, 1)
    pooled[:, 0, 0] = pairs * np.where(plan.free[features], 1.0, 2.0)
    pooled[:, first:] = slots.smoothing @ pooled[:, first:]
    widths = np.ones((k, n_places, 1))
    widths[:, first:, 0] = np.where(slots.width > 0, slots.width, 1.0)[:, None]
    return Part(features, columns, slots, counter, pooled, widths)


def distances(part: Part, cloud: Perturbations, distance: Distance) -> Array:
    """(n, k) distances between the curves of C+ and C- of the features of a part."""
    result, positive = np.empty((len(cloud), len(part.features))), cloud.positive[:, : 2 * part.counter.shape[1]]
    for rows in blocks(len(cloud), MOST_CELLS // part.pooled.size):
        if isinstance(distance, Overlap):
            result[rows] = distance.of_variation(variations(part, positive[rows], cloud.origin[rows]))
        else:
            result[rows] = distance(*_curves(part, positive[rows], cloud.origin[rows])).T
    return result


def variations(part: Counted, positive: Array, origin: Array) -> Array:
    """(n, k) total variation between C+ and C-, for (n, 2p) weights in C+ and (n, d) rows; arrays or tensors."""
    xp, (apart, q) = namespace(positive), _masses(part, positive)
    apart -= q
    atoms, own = part.slots.atoms[:, :, None], origin[:, part.columns].T[:, None]
    first, others = apart[:, :1], apart[:, 1 : 1 + atoms.shape[1]]
    joined = xp.where(same(own, atoms), abs(first + others) - abs(first) - abs(others), 0.0).sum(axis=1)
    variation: Array = (abs(apart).sum(axis=1) + joined) / 2
    return variation.T


def _masses(part: Counted, positive: Array) -> tuple[Array, Array]:
    """(k, 1 + g, n) masses of C+ and C-, which add up to 1; what chance takes below 0 is 0."""
    xp, pairs = namespace(positive), positive.shape[1] // 2
    p = part.masses((positive[:, :pairs] - positive[:, pairs:]).T)
    p += part.pooled * positive.mean(axis=1)
    q = part.pooled - p
    for side in (p, q):
        xp.clip(side, 0.0, None, out=side)
        side *= ratio(1.0, side.sum(axis=1))[:, None]
    return p, q


def pair(part: Part, cloud: Perturbations, row: int, column: int) -> DensityPair:
    """The two densities of one column of one row."""
    at, slots = int(np.flatnonzero(part.columns == column)[0]), part.slots
    own = cloud.origin[row, part.columns[at]]
    positive = cloud.positive[[row], : 2 * part.counter.shape[1]]
    p, q, widths = (curve[at, 0] for curve in _curves(part, positive, cloud.origin[[row]]))
    cells = slots.first[at] + slots.width[at] * (np.arange(len(slots.smoothing)) + 0.5)
    is_atom = np.arange(len(p)) <= slots.atoms.shape[1]
    return DensityPair(np.concatenate([[own], slots.atoms[at], cells]), p, q, widths, is_atom)


def _curves(part: Part, positive: Array, origin: Array) -> tuple[Array, Array, Array]:
    """(k, n, 1 + g) densities of C+ and C-, and (k, 1, 1 + g) widths: the row's own value, other atoms, cells."""
    widths = part.widths.swapaxes(1, 2)
    p, q = (np.ascontiguousarray(side.swapaxes(1, 2)) for side in _masses(part, positive))
    joined = same(origin[:, part.columns].T[:, :, None], part.slots.atoms[:, None, :])
    for curve in (p, q):  # own values that are among the atoms join them
        curve[:, :, 1 : 1 + joined.shape[2]] += np.where(joined, curve[:, :, :1], 0.0)
        curve[:, :, 0] *= ~joined.any(axis=2)
    return p / widths, q / widths, widths
