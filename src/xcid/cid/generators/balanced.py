"""Masks with their complements; each pair takes its new values from one donor row of the reference data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from xcid._check import as_int
from xcid._kernels.arrays import thinned
from xcid._kernels.random import BALANCED, hadamard_masks, run_key, uniform
from xcid.cid.generators.reach import MOST_DONORS
from xcid.cid.generators.search import Bound, Drawn, Member, counters, make_plan
from xcid.records import Array, Flags, Integers, Perturbations, Plan, Unsigned
from xcid.table import FeatureSpace

FEW_FEATURES = 20  # beyond them a row needs more perturbations
LEAF = 4  # rows that are close enough to stay in any order
OUTPUT_WEIGHT = 2.0  # of the model's outputs beside the features
CLIP = 3.0  # standardised values beyond this count as this
POWER_STEPS = 6
ENDS = 1 / 3  # of the perturbations change one feature alone, or all but one
MOST_ALONE = 8  # values that a feature takes alone: they are evenly spread, and so few suffice
MANY, MANY_SHARE = 3_000, 0.1  # perturbations from which it takes twice as many, if these are no larger a share
DOUBLING = 12_000  # from here on twice as many again, and so at each doubling of this
FEWEST_ALONE, FEWEST_REST = 3, 4  # that tell of chance
RUN = 4  # pairs of one donor, by which interactions are measured: with fewer much is lost, with more donors are few
FEWEST_REPEATED = 96  # perturbations, by 12 donors, that tell of chance
MOST_FITTED = 18  # features whose pairs 4,000 perturbations have room for
DECIMALS = 9
_START, _, _, _ALONE, _REST = BALANCED


@dataclass(frozen=True, slots=True)
class Balanced:
    """Perturbations of three kinds, from which Shapley values are read with little noise: the recommended setting.

    Two thirds change about half of the features. Their donors follow an order of the reference data in which neighbours
    are alike, and have alike outputs. Runs of them share one shuffled Hadamard matrix as masks, so that within a run
    what a donor does through one feature does not leak into the others. Every mask comes with its complement and the
    same donor.

    The last third is divided between samples in which one feature alone changes, to values spread evenly over the
    reference data's, and samples in which all features but one change. Where there are too many features for that
    (beyond some hundred at 3,000 perturbations), all samples are pairs.

    Masks and donors depend on the seed alone: all rows have the same, so that what follows from them is computed once,
    and rows are compared like with like. All samples are evaluated and kept, with the weights that the outcome gives
    them.

    Parameters
    ----------
    n : int, optional
        Perturbations of each row; by default 1,000, and 3,000 for more than 20 features.
    """

    n: int | None = None

    def __post_init__(self) -> None:
        check_n(self.n)

    def bind(self, space: FeatureSpace, outputs: Array) -> Bound:
        """Put the reference data in order, by its values and the model's outputs for it."""
        order: Any = SimilarOrder(space, outputs)
        return Bound(self, order, len(space.names))

    def draw(self, space: FeatureSpace, key: Unsigned) -> Drawn:
        """Draw the masks and donors of a run, where nothing is known of the outputs."""
        return self.bind(space, np.zeros((len(space.background), 0))).draw(space, key)

    def plan(self, space: FeatureSpace, key: Unsigned, order: Integers) -> Plan:
        """Draw masks, and donors that are spread evenly over an order of the reference data."""
        sizes, order = count_kinds(self.n, space), np.asarray(order)
        donors = _spread(order, sizes.pairs, uniform(_START.of(key)))
        masks = hadamard_masks(key, space.rank, sizes.pairs)
        return plan_by_masks(space, key, order, sizes, masks, donors)

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        return self.draw(space, run_key(0))(rows, keys, space, member)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Pairs as by :class:`Balanced`, and nothing else; every donor comes in four of them, one after the other.

    Where log odds add up, the sum of those of a mask and its complement depends on the donor alone, and so differences
    between the four tell of interactions only.

    Parameters
    ----------
    n : int, optional
        Perturbations of each row; by default 4,000, and 8,000 for more than 18 features.
    """

    n: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            as_int(self.n, "n (perturbations)", at_least=FEWEST_REPEATED)

    def bind(self, space: FeatureSpace, outputs: Array) -> Bound:
        """Put the reference data in order, as :class:`Balanced` does."""
        order: Any = SimilarOrder(space, outputs)
        return Bound(self, order, len(space.names))

    def plan(self, space: FeatureSpace, key: Unsigned, order: Integers) -> Plan:
        """Draw masks, and donors that are spread evenly over an order of the reference data."""
        n_donors = (self.n or (4_000 if len(space.names) <= MOST_FITTED else 8_000)) // (2 * RUN)
        order = np.asarray(order)
        donors = np.repeat(_spread(order, n_donors, uniform(_START.of(key))), RUN)
        masks = hadamard_masks(key, space.rank, n_donors * RUN)
        return plan_by_masks(space, key, order, Sizes(len(donors), 0, 0), masks, donors, run=RUN)


def check_n(n: int | None) -> None:
    """Refuse a number of perturbations that is too small."""
    if n is not None:
        as_int(n, "n (perturbations)", at_least=8)


class Sizes(NamedTuple):
    """How many samples of each kind a row gets."""

    pairs: int
    alone: int  # values that each feature takes alone
    rest: int  # rows of which all features but one are taken


def count_kinds(n: int | None, space: FeatureSpace) -> Sizes:
    """How many perturbations there are of each kind."""
    n = n or (1_000 if len(space.names) <= FEW_FEATURES else 3_000)
    n_free = max(1, int(np.sum(~space.frozen)))
    most = MOST_ALONE << (n >= MANY) + (n // DOUBLING).bit_length()
    while most > MOST_ALONE and most * n_free > MANY_SHARE * n:
        most //= 2
    alone = min(most, int(ENDS * n / (2 * n_free)))
    rest = int((ENDS * n - 1 - alone * n_free) / (n_free + 1))
    if alone < FEWEST_ALONE or rest < FEWEST_REST:
        alone, rest = 0, 0
    pairs = (n - min(alone, 1) - alone * n_free - rest * (n_free + 1)) // 2
    return Sizes(pairs, alone, rest)


def plan_by_masks(
    space: FeatureSpace, key: Unsigned, order: Integers, sizes: Sizes, masks: Flags, donors: Integers, run: int = 1
) -> Plan:
    """Add to the pairs the samples in which one feature, or all but one, change."""
    start = uniform(_ALONE.bits(key, counters(0, 1, space))[0, 0])
    place = ((np.arange(sizes.alone)[:, None] + start) * len(space.background) / max(sizes.alone, 1)).astype(np.int64)
    return make_plan(
        space,
        masks,
        space.background[donors],
        alone=np.take_along_axis(_ascending(space), place, axis=0),
        rest=space.background[_spread(order, sizes.rest, uniform(_REST.of(key)))],
        run=run,
    )


def _ascending(space: FeatureSpace) -> Array:
    """(N, d) each column of the reference data in ascending order, missing cells last."""
    pools = space.pools  # the same, where every value is allowed
    is_whole = np.all(pools.sizes + pools.n_missing == len(space.background))
    return pools.values if is_whole else np.sort(space.background, axis=0)


def _spread(order: Integers, count: int, start: Array) -> Integers:
    """So many places of an order, evenly spread from a random start."""
    place = ((np.arange(count) + start) * len(order) / max(count, 1)).astype(np.int64)
    return order[place % len(order)]


@dataclass(frozen=True, eq=False)  # without slots, so that the places are kept
class SimilarOrder:
    """Places of the reference data in an order in which neighbours are alike, as NumPy takes them.

    They are found when samples are first drawn, for exact contributions never, and travel without the data.
    """

    space: FeatureSpace
    outputs: Array  # (N, k)

    @cached_property
    def places(self) -> Integers:
        """Positions of some of the reference data."""
        return _similar_order(self.space, self.outputs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Integers:
        return self.places

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (self.places,)


def _similar_order(space: FeatureSpace, outputs: Array) -> Integers:
    """Put the reference data in an order in which neighbours are alike, by halving it along its leading direction.

    Gives positions of at most ``MOST_DONORS`` rows; (N, k) are the model's outputs for the reference data, k may be 0.
    """
    chosen = thinned(len(space.background), MOST_DONORS)
    points = np.concatenate(
        [
            _standardise(space.background[chosen]) / np.sqrt(space.background.shape[1]),
            OUTPUT_WEIGHT * np.round(_scale_outputs(outputs[chosen]), DECIMALS - 3),
        ],
        axis=1,
    )
    order, waiting = [], [np.arange(len(chosen))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= LEAF:
            order.append(rows)
            continue
        rows = rows[np.argsort(_leading(points[rows]), kind="stable")]
        waiting += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
    return chosen[np.concatenate(order)]


def _standardise(values: Array) -> Array:
    """Columns of mean 0 and spread 1; missing cells and constant columns are 0."""
    spread = np.nanstd(values, axis=0)
    centred = (values - np.nanmean(values, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.clip(np.nan_to_num(centred), -CLIP, CLIP)


def _scale_outputs(outputs: Array) -> Array:
    """Probabilities as they are, two of them as one; other numbers in units of four standard deviations."""
    if outputs.shape[1] == 0:
        return outputs
    if outputs.min() >= 0 and outputs.max() <= 1:
        return outputs / np.sqrt(2) if outputs.shape[1] > 1 else outputs
    return _standardise(outputs) / 4


def _leading(points: Array) -> Array:
    """(n,) places of points along their leading principal direction, rounded so that ties stay ties."""
    centred = points - points.mean(axis=0)
    direction = centred[np.argmax(np.round(np.sum(centred**2, axis=1), DECIMALS))]
    for _ in range(POWER_STEPS):
        direction = (centred @ direction) @ centred
        direction = direction / (np.sqrt(direction @ direction) + 1e-300)
    place = np.round(centred @ direction, DECIMALS)
    return np.where(np.sum(place**3) < 0, -place, place)
