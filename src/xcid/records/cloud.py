"""Perturbed rows: what a generator makes of rows, and the plan that all rows of a run may share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from xcid.records import fields
from xcid.records.arrays import Array, Flags, Integers, Texts
from xcid.records.fields import COLUMN, ROW, SAMPLE, per

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Plan:
    """What the samples of all rows have in common, so that what is computed from it is computed once.

    The samples are pairs: the first p of them take some features from a donor row, and the p others, their
    complements, take all other features from the same donors. All of them count with weight 1.

    Attributes
    ----------
    masks : (p, f) bool
        Features that the first sample of each pair takes from its donor.
    free : (f,) bool
        Features that are taken at all; the others stay as they are in all samples.
    fitted : (f,) bool
        Features of which constraints forbid some values: each row gets others in their place.
    values : (p, d)
        The donors.
    background : (N, d)
        The rows that donors come from, each as likely as any other.
    features : tuple of tuples of int
        The columns of each feature.
    """

    masks: Flags
    free: Flags
    fitted: Flags
    values: Array
    background: Array
    features: tuple[tuple[int, ...], ...]

    @property
    def taken(self) -> Flags:
        """(2p, f) what each sample takes from its donor."""
        return np.concatenate([self.masks, ~self.masks]) & self.free

    def samples(self, rows: Array) -> Array:
        """(n, 2p, d) the samples of (n, d) rows, where no feature is fitted to them."""
        new = self.once("new", lambda plan: np.concatenate([plan.values, plan.values]))
        return np.where(self.once("columns taken", _columns_taken), new, rows[:, None])

    def once(self, key: Any, make: Callable[[Plan], T]) -> T:
        """Make something of this plan, or give what was made under the same key before.

        It is kept apart from the plan, as long as the plan is in use, and must not refer to it.
        """
        made = _MADE.setdefault(self, {})
        if key not in made:
            made[key] = make(self)
        found: T = made[key]
        return found


_MADE: WeakKeyDictionary[Plan, dict[Any, Any]] = WeakKeyDictionary()


def _columns_taken(plan: Plan) -> Flags:
    """(2p, d) the columns that each sample takes from its donor."""
    taken, by_feature = np.zeros((2 * len(plan.masks), plan.values.shape[1]), dtype=bool), plan.taken
    for feature, columns in enumerate(plan.features):
        taken[:, list(columns)] = by_feature[:, feature, None]
    return taken


@dataclass(frozen=True, slots=True, eq=False)
class Perturbations:
    """Clouds of perturbed rows, with the weight of every sample in C+ and in C-.

    The two sets of the paper are weights of 0 and 1 over one cloud. A sample that belongs to neither set (an empty
    place in the rectangle) has weight 0 in both; a probability splits a sample between them.

    Attributes
    ----------
    origin : (n, d)
        The rows that were perturbed.
    given : (n, s, d) or None
        The perturbed rows; None where they follow from the plan.
    positive, negative : (n, s)
        Weights in C+ (the output flips) and in C- (it does not).
    n_evaluations : (n,)
        How many rows the model was asked to predict for each row.
    status : (n,) str
        "ok", or what the search did not find; see :data:`xcid.records.STATUSES`.
    discrete : (d,) bool
        Columns made of levels: they have frequencies, no density. NaN in any column is a missing cell.
    features : tuple of tuples of int
        The columns of each feature; by default every column is a feature by itself.
    plan : Plan or None
        Where the samples of all rows were made by one plan: what they have in common.
    """

    origin: Array = per(ROW, COLUMN)
    given: Array | None = per(ROW, SAMPLE, COLUMN)
    positive: Array = per(ROW, SAMPLE, unknown=0.0)
    negative: Array = per(ROW, SAMPLE, unknown=0.0)
    n_evaluations: Integers = per(ROW, dtype=np.int64, unknown=0)
    status: Texts = per(ROW, dtype=np.str_)
    discrete: Flags = per(COLUMN, dtype=np.bool_)
    features: tuple[tuple[int, ...], ...] = ()
    plan: Plan | None = None

    def __post_init__(self) -> None:
        if not self.features:
            object.__setattr__(self, "features", tuple((column,) for column in range(self.origin.shape[1])))

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, rows: Any) -> Perturbations:
        """Select rows by a slice or a list of positions."""
        return fields.select(self, rows)

    @property
    def samples(self) -> Array:
        """(n, s, d) the perturbed rows."""
        if self.given is None and self.plan is not None:
            return self.plan.samples(self.origin)
        given: Array = np.asarray(self.given)
        return given

    @property
    def nbytes(self) -> int:
        """Bytes that the rows and their samples take."""
        held = (self.origin, self.given, self.positive, self.negative)
        return sum(part.nbytes for part in held if part is not None)

    @staticmethod
    def concatenate(blocks: list[Perturbations]) -> Perturbations:
        """Join clouds of the same features with the same number of samples a row."""
        if not all(block.plan is blocks[0].plan for block in blocks):
            blocks = [replace(block, given=block.samples, plan=None) for block in blocks]
        return blocks[0] if len(blocks) == 1 else fields.join(blocks)
