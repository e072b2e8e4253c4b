"""Perturbed rows: what a generator makes of rows, and the plan that all rows of a run may share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from xcid.records import fields
from xcid.records.arrays import Array, Flags, Integers, Texts, Unsigned
from xcid.records.fields import COLUMN, OUTPUT, ROW, SAMPLE, per

T = TypeVar("T")
ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Plan:
    """What the samples of many rows have in common, so that what is computed from it is computed once.

    The first samples are p pairs: the first of each takes some features from a donor row, the second, its complement,
    takes all other features from the same donor. After them come the row itself, samples in which one feature alone
    takes a value, samples in which all features but one take those of a row, and these rows. All count with weight 1.

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
    alone : (a, d)
        Values that features take one by one; there may be none.
    rest : (b, d)
        Rows of which all features but one are taken, and then all; there may be none.
    background : (N, d)
        The rows that donors come from.
    features : tuple of tuples of int
        The columns of each feature.
    weights : (N,) or None
        The shares of the reference rows among the donors; None where each is as likely as any other.
    run : int
        How many pairs have the same donor, one after the other.
    """

    masks: Flags
    free: Flags
    fitted: Flags
    values: Array
    alone: Array
    rest: Array
    background: Array
    features: tuple[tuple[int, ...], ...]
    weights: Array | None = None
    run: int = 1

    @property
    def taken(self) -> Flags:
        """(s, f) what each sample takes from elsewhere."""
        return self.once("taken", _find_taken)

    @property
    def new(self) -> Array:
        """(s, d) where each sample takes it from."""
        return self.once("new", _new)

    def samples(self, rows: Array, columns: Any = ALL) -> Array:
        """(n, s, d) the samples of (n, d) rows, or some columns of them, where no feature is fitted to them."""
        stays, taken = (part[:, columns] for part in self.once("bits", _bits))
        bits = np.ascontiguousarray(rows).view(np.uint64)[:, None, columns] & stays
        bits |= taken
        return bits.view(np.float64)

    def once(self, key: Any, make: Callable[[Plan], T]) -> T:
        """Make something of this plan, or give what was made under the same key before.

        It is kept apart from the plan, as long as the plan is in use, and must not refer to it.
        """
        made = _MADE.setdefault(self, {})
        if key not in made:
            made[key] = make(self)
        found: T = made[key]
        return found


_NONE = np.uint64(0)
_MADE: WeakKeyDictionary[Plan, dict[Any, Any]] = WeakKeyDictionary()
_MADE_OF: dict[int, dict[Any, Any]] = {}


def once_for(array: Array, key: Any, make: Callable[[Array], T]) -> T:
    """Make something of an array that nobody changes, or give what was made under the same key before.

    It is kept as long as the array is in use, and must not refer to it.
    """
    if id(array) not in _MADE_OF:
        _MADE_OF[id(array)] = {}
        weakref.finalize(array, _MADE_OF.pop, id(array), None).atexit = False
    made = _MADE_OF[id(array)]
    if key not in made:
        made[key] = make(array)
    found: T = made[key]
    return found


def _find_taken(plan: Plan) -> Flags:
    single = np.eye(len(plan.free), dtype=bool)[plan.free]
    own = np.zeros((min(1, len(plan.alone)), len(plan.free)), dtype=bool)
    ends = [own, np.tile(single, (len(plan.alone), 1)), np.tile(~single, (len(plan.rest), 1))]
    return np.concatenate([plan.masks, ~plan.masks, *ends, np.ones((len(plan.rest), len(plan.free)), bool)]) & plan.free


def _new(plan: Plan) -> Array:
    n_free, own = int(plan.free.sum()), plan.alone[:1]
    alone, rest = (np.repeat(part, n_free, axis=0) for part in (plan.alone, plan.rest))
    return np.concatenate([plan.values, plan.values, own, alone, rest, plan.rest])


def _bits(plan: Plan) -> tuple[Unsigned, Unsigned]:
    """(s, d) bits that stay as they are in a row, and those that each sample takes from elsewhere."""
    by_feature, new = plan.taken, plan.new
    taken = np.zeros(new.shape, dtype=bool)
    for feature, columns in enumerate(plan.features):
        taken[:, list(columns)] = by_feature[:, feature, None]
    return np.where(taken, _NONE, ~_NONE), np.where(taken, new.view(np.uint64), _NONE)


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The (s, d) samples of a single row that follow no plan, beside rows that do."""

    cells: Array

    def samples(self, rows: Array, columns: Any = ALL) -> Array:
        """(n, s, d) the same for any of (n, d) rows, or some columns of them."""
        cells = self.cells[:, columns]
        return np.broadcast_to(cells, (len(rows), *cells.shape))


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
        Evaluations of the model for each row.
    status : (n,) str
        "ok", or what the search did not find; see :data:`xcid.records.STATUSES`.
    discrete : (d,) bool
        Columns made of levels: they have frequencies, no density. NaN in any column is a missing cell.
    features : tuple of tuples of int
        The columns of each feature; by default every column is a feature by itself.
    plans : tuple of Plan
        What samples of several rows have in common, where they were made by a plan; :class:`Sampled` for other rows.
    follows : (n,) int, or None where there is one plan at most
        The plan of each row.
    least : float or None
        Where the weights are probabilities: the least one that counts. None where they are degrees of membership.
    outputs : (n, s, k) or None
        What the model predicted for each sample, where all samples of a plan were evaluated: further questions about
        the same rows need no further calls. NaN for rows that follow no plan, or that the model failed for.
    """

    origin: Array = per(ROW, COLUMN)
    given: Array | None = per(ROW, SAMPLE, COLUMN)
    positive: Array = per(ROW, SAMPLE, unknown=0.0)
    negative: Array = per(ROW, SAMPLE, unknown=0.0)
    n_evaluations: Integers = per(ROW, dtype=np.int64, unknown=0)
    status: Texts = per(ROW, dtype=np.str_)
    discrete: Flags = per(COLUMN, dtype=np.bool_)
    features: tuple[tuple[int, ...], ...] = ()
    plans: tuple[Plan | Sampled, ...] = ()
    follows: Integers | None = per(ROW, dtype=np.int64, unknown=0, default=None)
    least: float | None = None
    outputs: Array | None = per(ROW, SAMPLE, OUTPUT, unknown=np.nan, default=None)

    def __post_init__(self) -> None:
        if not self.features:
            object.__setattr__(self, "features", tuple((column,) for column in range(self.origin.shape[1])))

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, rows: Any) -> Perturbations:
        """Select rows by a slice or a list of positions."""
        is_all = isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1)
        return self if is_all else fields.select(self, rows)

    @property
    def plan(self) -> Plan | None:
        """The plan that all rows follow, if any."""
        at = 0 if self.follows is None or not len(self) else int(self.follows[0])
        if self.follows is not None and (self.follows != at).any():
            raise ValueError("these rows follow several plans: take those of one, such as cloud[cloud.follows == 0]")
        plan = self.plans[at] if self.plans else None
        return plan if isinstance(plan, Plan) else None

    @property
    def samples(self) -> Array:
        """(n, s, d) the perturbed rows."""
        return self.cells(ALL)

    def cells(self, columns: Any) -> Array:
        """(n, s, c) some columns of the perturbed rows."""
        if self.given is not None or not self.plans:
            given: Array = np.asarray(self.given)
            return given[:, :, columns]
        if self.follows is None:
            return self.plans[0].samples(self.origin, columns)
        used = np.unique(self.follows).tolist() or [0]
        parts = [np.flatnonzero(self.follows == at) for at in used]
        each = [self.plans[at].samples(self.origin[rows], columns) for at, rows in zip(used, parts, strict=True)]
        found: Array = fields.joined(each, parts)
        return found

    def sized(self, n_samples: int) -> Perturbations:
        """The same clouds with so many places: empty ones are added, or taken away at the end."""
        lacks = max(0, n_samples - self.positive.shape[1])
        given, positive, negative = (
            np.pad(part, [(0, 0), (0, lacks), (0, 0)][: part.ndim])[:, :n_samples]
            for part in (self.samples, self.positive, self.negative)
        )
        more: dict[str, Any] = {"plans": (), "follows": None, "outputs": None}
        return replace(self, given=given, positive=positive, negative=negative, **more)

    @property
    def nbytes(self) -> int:
        """Bytes that the rows and their samples take."""
        held = (self.origin, self.given, self.positive, self.negative, self.outputs)
        return sum(part.nbytes for part in held if part is not None)

    @staticmethod
    def concatenate(blocks: Sequence[Perturbations], places: Sequence[Integers] | None = None) -> Perturbations:
        """Join clouds of the same features with the same number of samples a row, in order or at their places."""
        if any(block.plans for block in blocks):
            blocks = [block if block.plans else _apart(block) for block in blocks]
        plans = {id(plan): plan for block in blocks for plan in block.plans}
        if len(plans) > 1:
            place = {key: at for at, key in enumerate(plans)}
            blocks = [
                replace(
                    block,
                    plans=tuple(plans.values()),
                    follows=np.array([place[id(plan)] for plan in block.plans])[
                        np.zeros(len(block), dtype=np.int64) if block.follows is None else block.follows
                    ],
                )
                for block in blocks
            ]
        return blocks[0] if len(blocks) == 1 and places is None else fields.join(blocks, places)


def _apart(cloud: Perturbations) -> Perturbations:
    """The same cloud, whose rows each follow their own samples."""
    plans = tuple(Sampled(cells) for cells in cloud.samples)
    return replace(cloud, given=None, plans=plans, follows=np.arange(len(cloud)))


class Scores(NamedTuple):
    """(n, f) each; see :class:`xcid.Explanation`."""

    values: Array
    importance: Array
    lower: Array | None = None
    upper: Array | None = None
    p_values: Array | None = None
    importance_lower: Array | None = None
    importance_upper: Array | None = None
    importance_p_values: Array | None = None
    flips_alone: Array | None = None


def plan_by_plan(score: Callable[[Perturbations], Scores], cloud: Perturbations) -> Scores:
    """Score rows that follow one plan together, and put them back in their order."""
    if cloud.follows is None:
        return score(cloud)
    parts = [np.flatnonzero(cloud.follows == plan) for plan in np.unique(cloud.follows)]
    order = np.argsort(np.concatenate(parts))
    pieces: Any = zip(*(score(cloud[part]) for part in parts), strict=True)
    joined: list[Any] = [None if piece[0] is None else np.concatenate(piece)[order] for piece in pieces]
    return Scores(*joined)
