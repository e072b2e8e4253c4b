"""Evidence of clouds that follow a plan: one sparse product counts what every row has in every slot."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from xcid._kernels.arrays import blocks, namespace, ratio, same
from xcid.densities import Discrete
from xcid.densities.slots import Slots, Slotted
from xcid.distances import Distance, Overlap
from xcid.records import Array, Density, DensityPair, Flags, Integers, Perturbations, Plan

MOST_CELLS = 2**16  # of the curves held at a time: they stay in the cache
MOST_FEATURES = 16  # of a part
TINY = 1e-300


class Part(NamedTuple):
    """Features of a plan whose densities have slots of one kind."""

    features: Integers  # (k,) their positions among the plan's features
    columns: Integers  # (k,) and in the table
    slots: Slots
    counter: sparse.csr_array  # (k * (1 + g), 2p) from weights of samples to those at the own value and in each slot
    pooled: Array  # (k, 1, 1 + g) the masses there when all samples count 1, smoothed
    widths: Array  # (k, 1, 1 + g) of the cells; 1 for atoms

    def masses(self, positive: Array) -> Array:
        """(k, n, 1 + g) what (n, 2p) weights of samples put at the row's own value, in atoms and (smoothed) cells."""
        k, first = len(self.features), 1 + self.slots.atoms.shape[1]
        counts = (self.counter @ np.ascontiguousarray(positive.T)).reshape(k, -1, len(positive)).transpose(0, 2, 1)
        return np.concatenate([counts[:, :, :first], counts[:, :, first:] @ self.slots.smoothing], axis=2)


class Counted(Protocol):
    """What total variations are made from; see :class:`Part`."""

    @property
    def columns(self) -> Integers: ...

    @property
    def slots(self) -> Slots: ...

    def masses(self, positive: Array) -> Array: ...


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
    taken = plan.taken[:, features]  # (2p, k)
    (n_samples, k), n_places, first = taken.shape, 1 + slots.n_slots, 1 + slots.atoms.shape[1]
    slot, beyond = (np.tile(part, (2, 1)) for part in (1 + slots.place, slots.share))
    slot = np.where(taken, slot, 0) + n_places * np.arange(k)
    share = np.stack([np.where(taken, 1 - beyond, 1.0), np.where(taken, beyond, 0.0)])
    sample = np.broadcast_to(np.arange(n_samples)[:, None], taken.shape)
    used = share > 0
    place = np.stack([slot, slot + 1])[used], np.stack([sample, sample])[used]
    counter = sparse.csr_array((share[used], place), shape=(k * n_places, n_samples))
    pooled = (counter @ np.ones(n_samples)).reshape(k, 1, n_places)
    pooled[:, :, first:] = pooled[:, :, first:] @ slots.smoothing
    widths = np.ones((k, 1, n_places))
    widths[:, 0, first:] = np.where(slots.width > 0, slots.width, 1.0)[:, None]
    return Part(features, columns, slots, counter, pooled, widths)


def distances(part: Part, cloud: Perturbations, distance: Distance) -> Array:
    """(n, k) distances between the curves of C+ and C- of the features of a part."""
    result = np.empty((len(cloud), len(part.features)))
    for rows in blocks(len(cloud), MOST_CELLS // part.pooled.size):
        if isinstance(distance, Overlap):
            result[rows] = distance.of_variation(variations(part, cloud.positive[rows], cloud.origin[rows]))
        else:
            result[rows] = distance(*_curves(part, cloud.positive[rows], cloud.origin[rows])).T
    return result


def variations(part: Counted, positive: Array, origin: Array) -> Array:
    """(n, k) total variation between C+ and C-, for (n, s) weights in C+ and (n, d) rows; arrays or tensors.

    C+ has the mass sum(w_j m_j) / w, with the weights w_j of the samples, their sum w and the mass m_j of a sample;
    C- has sum((1 - w_j) m_j) / v. They differ by (1 / w + 1 / v) sum((w_j - mean w) m_j): one product and one pass.
    """
    xp, total = namespace(positive), positive.shape[1]
    weight = positive.sum(axis=1, keepdims=True)
    apart = part.masses(positive - weight / total).swapaxes(0, 1)  # (n, k, 1 + g)
    atoms, own = part.slots.atoms, origin[:, part.columns][:, :, None]
    first, others = apart[:, :, :1], apart[:, :, 1 : 1 + atoms.shape[1]]
    joined = xp.where(same(own, atoms), abs(first + others) - abs(first) - abs(others), 0.0).sum(axis=2)
    variation: Array = xp.linalg.vector_norm(apart, ord=1, axis=2) + joined
    variation *= ratio(total + 0 * weight, weight * (total - weight)) / 2
    return variation


def pair(part: Part, cloud: Perturbations, row: int, column: int) -> DensityPair:
    """The two densities of one column of one row."""
    at, slots = int(np.flatnonzero(part.columns == column)[0]), part.slots
    own = cloud.origin[row, part.columns[at]]
    p, q, widths = (part[at, 0] for part in _curves(part, cloud.positive[[row]], cloud.origin[[row]]))
    cells = slots.first[at] + slots.width[at] * (np.arange(len(slots.smoothing)) + 0.5)
    is_atom = np.arange(len(p)) <= slots.atoms.shape[1]
    return DensityPair(np.concatenate([[own], slots.atoms[at], cells]), p, q, widths, is_atom)


def _curves(part: Part, positive: Array, origin: Array) -> tuple[Array, Array, Array]:
    """(k, n, 1 + g) densities of C+ and C-, and (k, 1, 1 + g) widths: the row's own value, other atoms, cells."""
    p = part.masses(positive)
    q = np.maximum(part.pooled - p, 0.0)
    joined = same(origin[:, part.columns].T[:, :, None], part.slots.atoms[:, None, :])
    for curve in (p, q):  # own values that are among the atoms join them
        curve[:, :, 1 : 1 + joined.shape[2]] += np.where(joined, curve[:, :, :1], 0.0)
        curve[:, :, 0] *= ~joined.any(axis=2)
    total, weight = positive.shape[1], positive.sum(axis=1)
    p /= np.maximum(weight, TINY)[:, None] * part.widths
    q /= np.maximum(total - weight, TINY)[:, None] * part.widths
    return p, q, part.widths
