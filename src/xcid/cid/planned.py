"""What all rows of a plan share: the counts that their evidence is made from, and the regression behind importance.

Evidence is adjusted for the other features. Beside a sample that takes a value from a donor stands its complement,
which takes all other features of that donor: what the two have in common is taken out. The weight of a value in C+ is
then the mean weight of samples that keep the feature, and the difference between samples that take the value and their
complements. So a feature that the model ignores is distributed alike in C+ and C-. ``given`` clouds have plain ones.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

import numpy as np
from scipy import sparse

from xcid._kernels.arrays import TESTED, blocks, namespace, products, ratio, same, sum_blocks
from xcid._kernels.random import hadamard_order
from xcid.cid.densities.mixed import Discrete, Slots, Slotted, smooth
from xcid.cid.distances import Distance, Overlap
from xcid.records import Array, Density, DensityPair, Flags, Integers, Perturbations, Plan

MOST_CELLS = 2**16  # of the curves held at a time: they stay in the cache
MOST_FEATURES = 16  # of a part
BINS = 16  # of about equal mass, that the cells of a number are put together to
RARE = 0.02  # cells of less mass count less in what functions are chosen
LEAST_SPREAD = 1e-3  # of a function of the value: what varies less is noise
TILT = 1e-4  # tells functions of equal spread apart, which rounding would mix as the processor has it
FITTED = 5  # functions of each feature in the regression
MOST_COLUMNS = 1 / 3  # of the number of pairs
PENALTY = 1e-10  # of each column, for each pair
MOST_LEVERAGE = 0.9
FEWEST = 12  # blocks whose differences tell of chance
MOST_SIGNS = 2**14  # of a plan whose pairs are each a block


class SlotGroup(NamedTuple):
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
    """What total variations are made from; see :class:`SlotGroup`."""

    @property
    def columns(self) -> Integers: ...

    @property
    def slots(self) -> Slots: ...

    @property
    def pooled(self) -> Array: ...

    def masses(self, apart: Array) -> Array: ...


def parts(cloud: Perturbations, density: Density) -> list[SlotGroup]:
    """What a plan leaves to be computed once; empty where the density or the constraints want each row by itself."""
    plan = cloud.plan
    if plan is None or cloud.given is not None or not isinstance(density, Slotted):
        return []
    return plan.once(("evidence", density), lambda plan: _parts(plan, density, cloud.discrete))


def _parts(plan: Plan, density: Slotted, discrete: Flags) -> list[SlotGroup]:
    single = np.array([len(columns) == 1 for columns in plan.features])
    first = np.array([columns[0] for columns in plan.features])
    found = []
    for one, chosen in ((density, ~discrete[first]), (Discrete(), discrete[first])):
        features = np.flatnonzero(chosen & single)
        for block in blocks(len(features), MOST_FEATURES):
            some = features[block]
            found.append(_part(plan, some, first[some], one.slots(plan.values[:, first[some]])))
    return [part for part in found if part.features.size]


def _part(plan: Plan, features: Integers, columns: Integers, slots: Slots) -> SlotGroup:
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
    return SlotGroup(features, columns, slots, counter, pooled, widths)


def distances(part: SlotGroup, cloud: Perturbations, distance: Distance) -> Array:
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


def pair(part: SlotGroup, cloud: Perturbations, row: int, column: int) -> DensityPair:
    """The two densities of one column of one row."""
    whole, plan, at = part, cast(Plan, cloud.plan), int(np.flatnonzero(part.columns == column)[0])
    part = plan.once(("one of", id(part), at), lambda _: _only(whole, at))  # reports draw every feature of every row
    slots, own, positive = part.slots, cloud.origin[row, part.columns], cloud.positive[[row], : 2 * len(plan.masks)]
    p, q, widths = (curve[0, 0] for curve in _curves(part, positive, cloud.origin[[row]]))
    cells = slots.first[0] + slots.width[0] * (np.arange(len(slots.smoothing)) + 0.5)
    points, is_atom = np.concatenate([own, slots.atoms[0], cells]), np.arange(len(p)) <= slots.atoms.shape[1]
    return DensityPair(points, p, q, widths, is_atom)


def _only(part: SlotGroup, at: int) -> SlotGroup:
    """One feature of a part."""
    one, n_places = slice(at, at + 1), part.pooled.shape[1]
    slots = part.slots._replace(**{n: getattr(part.slots, n)[one] for n in ("atoms", "first", "width", "covered")})
    arrays = {name: getattr(part, name)[one] for name in ("features", "columns", "pooled", "widths")}
    return part._replace(**arrays, slots=slots, counter=part.counter[n_places * at : n_places * (at + 1)])


def _curves(part: SlotGroup, positive: Array, origin: Array) -> tuple[Array, Array, Array]:
    """(k, n, 1 + g) densities of C+ and C-, and (k, 1, 1 + g) widths: the row's own value, other atoms, cells."""
    widths = part.widths.swapaxes(1, 2)
    p, q = (np.ascontiguousarray(side.swapaxes(1, 2)) for side in _masses(part, positive))
    joined = same(origin[:, part.columns].T[:, :, None], part.slots.atoms[:, None, :])
    for curve in (p, q):  # own values that are among the atoms join them
        curve[:, :, 1 : 1 + joined.shape[2]] += np.where(joined, curve[:, :, :1], 0.0)
        curve[:, :, 0] *= ~joined.any(axis=2)
    return p / widths, q / widths, widths


class Design(NamedTuple):
    """What all rows of a plan share for k features; functions of a value are the constant and t others."""

    features: Integers  # (k,) their positions among the plan's features
    columns: Integers  # (k,) and in the table
    atoms: Array  # (k, a) the values that have a cell of their own, which are the first cells
    functions: Array  # (k, 1 + t, p) of the donors' values, times the signs of the feature
    cells: Array  # (k, g, 1 + t) from functions to the shares of a value in each cell
    share: Array  # (k, g, 1) of the donors in each cell

    @property
    def signs(self) -> Array:
        """(k, 1, p) 1 where the first of two complements takes the feature, -1 where the second does."""
        return self.functions[:, :1]

    @property
    def weights(self) -> Array:
        """(k, g, p) the shares of donors in each cell, times signs."""
        return np.asarray(self.cells @ self.functions)


class Fit(NamedTuple):
    """The regression of a plan on c columns, and what it says of the features of each design."""

    columns: Array  # (p, c)
    solution: Array  # (p, c) from differences to coefficients
    inflation: Array  # (p, 1) of residuals, for the freedom that the columns take
    owned: list[Integers]  # (k, r) the columns of each feature
    joint: list[Array]  # (k, 1 + t, r) sums over pairs of functions times own columns
    without: list[Array]  # of own columns from which all others are taken out, as ``redraw_blocks`` wants them
    widened: list[Array]  # (k, 1) variance of the sums in cells with these columns, as a share of that without


class Shared(NamedTuple):
    """What all rows of a plan share."""

    designs: list[Design]
    fit: Fit
    size: int  # pairs of a block, whose signs are drawn together; 1 where there are few blocks


def shared(plan: Plan, parts: list[SlotGroup]) -> Shared:
    """Make what all rows of a plan share."""
    designs, size = [one for part in parts if (one := _design(plan, part)).features.size], block_size(plan)
    return Shared(designs, _fit(plan, designs, size), size)


def block_size(plan: Plan) -> int:
    """Pairs of a block, whose signs are drawn together; 1 where there are few blocks."""
    size = hadamard_order(len(plan.free))
    return size if len(plan.masks) >= FEWEST * size else 1


def is_wide(plan: Plan) -> bool:
    """Whether a plan has so many features, and so few blocks, that noise is not worth measuring pair by pair."""
    return block_size(plan) == 1 and plan.masks.size > MOST_SIGNS


def _design(plan: Plan, part: SlotGroup) -> Design:
    chosen = np.flatnonzero(plan.free[part.features])
    features, atoms, pairs = part.features[chosen], part.slots.atoms[chosen], len(plan.masks)
    weights = np.stack([_weights(part, int(feature)) for feature in chosen]) if chosen.size else np.empty((0, 1, pairs))
    share = weights.mean(axis=2, keepdims=True)
    scale = np.sqrt(share + RARE)
    scaled = (weights - share) / scale
    tilt = np.diag(np.linspace(0.0, TILT, share.shape[1]))
    size, turn = np.linalg.eigh(products(scaled) / pairs + tilt)
    varies = size[:, ::-1] > LEAST_SPREAD
    turn = (turn[:, :, ::-1] * varies[:, None])[:, :, np.any(varies, axis=0)]
    functions = np.concatenate([np.ones((len(chosen), 1, pairs)), turn.swapaxes(1, 2) @ scaled], axis=1)
    signs = np.where(plan.masks[:, features], 1.0, -1.0).T[:, None]
    cells = np.concatenate([share, scale * turn], axis=2)
    return Design(features, part.columns[chosen], atoms, functions * signs, cells, share)


def _weights(part: SlotGroup, feature: int) -> Array:
    """(g, p) the share of each donor's value at each atom and in each bin of smooth cells."""
    slots, donor = part.slots, np.arange(len(part.slots.place))
    place, share, n_atoms = slots.place[:, feature], slots.share[:, feature], slots.atoms.shape[1]
    weight = np.zeros((slots.n_slots + 1, len(donor)))
    weight[place, donor] = 1 - share
    weight[place + 1, donor] += share
    if slots.n_slots == n_atoms:
        return weight[:n_atoms]
    mass = slots.smoothing @ weight[n_atoms:-1].sum(axis=1)
    middle = ratio(np.cumsum(mass) - mass / 2, mass.sum())
    bins = np.minimum((BINS * middle).astype(np.int64), BINS - 1) == np.arange(BINS)[:, None]
    return np.concatenate([weight[:n_atoms], (bins * 1.0 @ slots.smoothing) @ weight[n_atoms:-1]])


def _fit(plan: Plan, designs: list[Design], size: int) -> Fit:
    pairs, n_free = len(plan.masks), int(plan.free.sum())
    most = min(FITTED, int(MOST_COLUMNS * pairs / max(n_free, 1)))  # none where features are too many to tell apart
    chosen = [design.functions[:, :most] for design in designs]
    own = [one * ratio(1.0, np.sqrt(np.mean(one**2, axis=2, keepdims=True))) for one in chosen]  # of mean square 1
    ends = np.cumsum([0, *(one.shape[0] * one.shape[1] for one in own)])
    owned = [start + np.arange(one[:, :, 0].size).reshape(one.shape[:2]) for start, one in zip(ends, own, strict=False)]
    single = [feature for design in designs for feature in design.features]
    others = np.setdiff1d(np.flatnonzero(plan.free), single)[: n_free if most else 0]
    signs = np.where(plan.masks[:, others], 1.0, -1.0)
    columns = np.concatenate([*(one.reshape(-1, pairs).T for one in own), signs], axis=1)
    inverse = np.linalg.inv(products(columns.T) + PENALTY * pairs * np.eye(columns.shape[1]))
    solution = columns @ inverse
    leverage = np.minimum(MOST_LEVERAGE, np.sum(solution * columns, axis=1, keepdims=True))
    joint = [design.functions @ one.swapaxes(1, 2) for design, one in zip(designs, own, strict=True)]
    without, widened = [], []
    for design, at, one in zip(designs, owned, own, strict=True):
        solved = solution[:, at].transpose(1, 0, 2)
        alone = solved @ np.linalg.inv(inverse[at[:, :, None], at[:, None, :]])
        without.append(alone if size == 1 else sum_blocks(design.functions[:, :TESTED], alone, size))
        linear = design.weights - design.share / 2 * design.signs
        whole = linear - (linear @ columns) @ solution.T + (linear @ one.swapaxes(1, 2)) @ solved.swapaxes(1, 2)
        widened.append(ratio(np.sum(whole**2, axis=(1, 2)), np.sum(linear**2, axis=(1, 2)))[:, None])
    return Fit(columns, solution, (1 - leverage) ** -0.5, owned, joint, without, widened)
