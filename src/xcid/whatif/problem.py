"""A model that was read as a problem to solve: what rows may become, at what cost, and which sums reach the goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xcid._kernels.arrays import thinned
from xcid.native.ensemble import averaged
from xcid.native.models import Alone, Link
from xcid.native.shapley import scale_of
from xcid.outcomes import Flip, Interval, Lower, Raise, Threshold, ToClass, Within
from xcid.outcomes.protocol import remember
from xcid.records import Array, Flags, Integers
from xcid.whatif.evaluator import Evaluator, Goal
from xcid.whatif.search_space import SearchSpace

MOST_VALUES, MOST_LINEAR = 2**12, 2**16  # of a number that are options one by one, and where what they add is a line
SOME = 33  # values by which a line is recognised


class Options(NamedTuple):
    """What a feature may become: (K,) values, what (K, m) columns of the model become, and which those are."""

    at: int
    values: Array
    cells: Array
    columns: Integers


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A model and the features of a block of rows: from values to what the model computes with."""

    evaluator: Evaluator
    native: Alone
    owner: Integers  # (m,) the feature that each of the model's columns is made of
    own: Array  # (n, m) cells of the rows
    like: Flags | None  # (n, a) rows that are like those with each value that stands apart

    @staticmethod
    def of(evaluator: Evaluator, native: Alone) -> View:
        """Look at the rows of a block."""
        owner = native.seen.owners(evaluator.search_space.subject.features.columns)
        like = evaluator.search_space.like(evaluator.own)
        return View(evaluator, native, owner, native.seen.counted(evaluator.table), like)

    def make_options(self, at: int, values: Array) -> Options:
        """What the model sees of values of a feature; a line through some where that is what it sees of them."""
        columns = np.flatnonzero(self.owner == at)
        if not len(values):
            return Options(at, values, np.zeros((0, len(columns))), columns)
        some = values[thinned(len(values), SOME)] if len(values) > SOME else values
        cells = self._look_at(at, some)[:, columns]
        if len(some) < len(values):
            with np.errstate(all="ignore"):  # ends without a line between them give none
                slope = (cells[-1] - cells[0]) / (some[-1] - some[0])
                start = cells[0] - slope * some[0]
            if np.allclose(cells, start + slope * some[:, None], rtol=1e-12, atol=1e-12):
                return Options(at, values, start + slope * values[:, None], columns)
            cells = self._look_at(at, values)[:, columns]
        return Options(at, values, cells, columns)

    def _look_at(self, at: int, values: Array) -> Array:
        """(K, m) cells of the first row with other values of a feature."""
        evaluator = self.evaluator
        rows = np.repeat(evaluator.own[:1], len(values), axis=0)
        rows[:, at] = values
        first = np.zeros(len(values), dtype=np.int64)
        subject = evaluator.search_space.subject
        return self.native.seen.counted(subject.features.unfold(rows, evaluator.table, first))

    def costs(self, options: Options, rows: slice) -> Array:
        """(b, K) what options cost the rows of a part of the block; infinity for those that they may not become."""
        evaluator, at = self.evaluator, options.at
        search_space, own = evaluator.search_space, evaluator.own[rows]
        if search_space.fixed[at] or not len(options.values):
            return np.full((len(own), len(options.values)), np.inf)
        cost = search_space.gaps(options.values[None], own[:, at, None], at)
        like = None if self.like is None else self.like[rows]
        return np.where(_find_allowed(search_space, options, own, like), cost, np.inf)


def _find_allowed(search_space: SearchSpace, options: Options, own: Array, like: Flags | None) -> Flags:
    """(b, K) which options (b, f) rows have."""
    at, values = options.at, options.values[None]
    low, high = (end[:, None] for end in search_space.limits(own, at))
    there = (values >= low) & (values <= high)
    if search_space.subject.features.space.discrete[at]:
        return there & search_space.may_become(own[:, at, None], values, at)
    direction = search_space.subject.features.space.direction[at]
    for place, (feature, code) in enumerate(search_space.apart):
        if feature == at and like is not None:
            fits = like[:, place] & (direction * (code - own[:, at]) >= 0)
            there |= (values == code) & fits[:, None]
    return there


def list_values(search_space: SearchSpace, at: int, most: int) -> Array | None:
    """All values that a search may give a feature; None where a number has more than that."""
    space = search_space.subject.features.space
    if search_space.fixed[at]:
        return np.zeros(0)
    if space.discrete[at]:
        return np.asarray(space.distinct.values[: space.distinct.sizes[at], at])
    multiples = list_multiples(search_space, at)
    if multiples is None:
        return add_codes(search_space, at, np.asarray(search_space.few[at]))
    if multiples[1] - multiples[0] > most:
        return None
    return add_codes(search_space, at, put_on_lattice(search_space, at, np.arange(multiples[0], multiples[1] + 1)))


def spread_values(search_space: SearchSpace, at: int, count: int) -> Array:
    """So many of the plausible values of a number with more, both ends among them."""
    ends = list_multiples(search_space, at) or (0.0, 0.0)
    multiples = np.unique(np.rint(np.linspace(*ends, count)))
    return add_codes(search_space, at, put_on_lattice(search_space, at, multiples))


def list_multiples(search_space: SearchSpace, at: int) -> tuple[float, float] | None:
    """The least and the largest plausible multiple of a step; None for a number with few values."""
    if search_space.few[at] is not None:
        return None
    step = search_space.step[at]
    first = np.ceil(search_space.lower[at] / step - 1e-9)
    return float(first), float(max(first - 1, np.floor(search_space.upper[at] / step + 1e-9)))


def put_on_lattice(search_space: SearchSpace, at: int, multiples: Array) -> Array:
    """Multiples of a step as values of a feature."""
    low, high = search_space.lower[at : at + 1], search_space.upper[at : at + 1]
    return search_space.fit_values(np.asarray(multiples, dtype=np.float64) * search_space.step[at], at, low, high)


def add_codes(search_space: SearchSpace, at: int, values: Array) -> Array:
    """Values that stand apart beside the plausible ones, in order."""
    found: Array = np.unique(np.append(values, [code for feature, code in search_space.apart if feature == at]))
    return found[~np.isnan(found)]


KNOWN = (Flip, ToClass, Threshold, Interval, Within, Raise, Lower)  # each side of a row's own output is reached once
TINY, ROOM, SINGLE = 1e-9, 1e-7, 1e-5  # beside a limit of sums, in shares of their size; in single precision
POINTS, ROUNDS = 256, 8  # of a search for a limit


class Conditions(NamedTuple):
    """Sums by (c, k) weights that must exceed (c,) needs; where rounding is in the way, by the ``room`` more."""

    weights: Array
    need: Array
    room: float

    def find_needs(self, is_strict: bool) -> Array:
        """(c,) what weighted sums must exceed."""
        return self.need + self.room if is_strict else self.need


def find_conditions(
    goal: Goal, link: Link, sums: Array, ends: tuple[Array, Array], is_single: bool, own: Array | None = None
) -> list[Conditions] | None:
    """Ways to reach the goal from a row with (k,) sums, each of which is enough; None where they are not known.

    ``ends`` are the least and the largest (k,) sums that there are. The (1, k) own outputs are of these sums, or where
    another model must agree, that of the first; then it may be there already, and must stay.
    """
    if type(goal.question) not in KNOWN:
        return None
    is_other, own = own is not None, link(sums[None]) if own is None else own
    if len(sums) == 1:
        start, both = float(sums[0]), (float(ends[0][0]), float(ends[1][0]))
        if is_other and goal.gain(link(sums[None]), own)[0] > 0:
            kept = _keep_inside(goal, link, own, start, both, is_single)
            return [Conditions(np.zeros((0, 1)), np.zeros(0), 0.0) if kept is None else kept]
        return _bound_one_sum(goal, link, own, start, both, is_single)
    if isinstance(goal.question, Flip | ToClass):
        is_mean = isinstance(link, partial) and link.func is averaged
        scale = scale_of(link, len(sums))
        if scale is None and not is_mean and (isinstance(link, partial) or goal.margin):
            return None
        bare = replace(goal, margin=0.0)
        found = [
            made
            for at in range(len(sums))
            if (made := _require_largest(bare, link, own, at, len(sums), is_single)) is not None
        ]
        return _widen(found, goal.margin, is_mean, 1.0 if is_mean or scale is None else float(scale.matrix[0, 0]))
    if isinstance(goal.question, Within | Threshold) and isinstance(link, partial) and link.func is averaged:
        return _bound_share(goal, link, own, sums)
    return None


def _bound_one_sum(
    goal: Goal, link: Link, own: Array, start: float, ends: tuple[float, float], is_single: bool
) -> list[Conditions]:
    """Conditions on a single sum, of which the output is a function that rises or falls all along."""
    question = goal.question
    wants_inside = isinstance(question, Within) and not (goal.is_other_side and question(own, own)[0] > 0.5)
    if isinstance(question, Within) and wants_inside and np.isfinite([question.low, question.high]).all():
        sides = [Goal(remember(question, **end)) for end in ({"high": np.inf}, {"low": -np.inf})]
        already = [bool(side.gain(own, own)[0] > 0) for side in sides]
        found = [
            [] if there else _bound_one_sum(side, link, own, start, ends, is_single)
            for side, there in zip(sides, already, strict=True)
        ]
        parts = [part for side in found for part in side]
        if any(not part and not there for part, there in zip(found, already, strict=True)):
            return []
        back = [
            _keep_inside(side, link, own, start, ends, is_single)
            for side, there in zip(sides, already, strict=True)
            if there
        ]
        parts += [part for part in back if part is not None]
        room = max(part.room for part in parts)
        return [Conditions(np.concatenate([p.weights for p in parts]), np.concatenate([p.need for p in parts]), room)]

    def is_there(some: Array) -> Flags:
        return np.asarray(goal.gain(link(some[:, None]), np.repeat(own, len(some), axis=0)) > 0)

    made = [_find_limit(is_there, start, end, is_single) for end in ends]
    return [one for one in made if one is not None]


def _keep_inside(
    goal: Goal, link: Link, own: Array, start: float, ends: tuple[float, float], is_single: bool
) -> Conditions | None:
    """How far a sum may go that is where it should be now: what must not be reached, turned round."""

    def is_out(some: Array) -> Flags:
        return np.asarray(goal.gain(link(some[:, None]), np.repeat(own, len(some), axis=0)) <= 0)

    for end in ends:
        found = _find_limit(is_out, start, end, is_single)
        if found is not None:
            return Conditions(-found.weights, -found.need - (found.room if is_single else 0.0), found.room)
    return None


def _find_limit(is_there: Callable[[Array], Flags], start: float, end: float, is_single: bool) -> Conditions | None:
    """From where on towards an end the goal is reached; None where it is not."""
    near, far = start, end + np.sign(end - start) * (SINGLE if is_single else TINY) * max(1.0, abs(end))
    if near == far or not is_there(np.array([far]))[0]:
        return None
    for _ in range(ROUNDS):
        points = near + (far - near) * np.arange(1, POINTS) / POINTS
        there = is_there(points)
        first = int(there.argmax()) if there.any() else POINTS - 1
        near, far = (near if first == 0 else points[first - 1]), (far if first == POINTS - 1 else points[first])
    limit, sign, size = float(f"{(near + far) / 2:.12g}"), np.sign(end - start), max(1.0, abs(far))
    tiny, room = (SINGLE * size, 2 * SINGLE * size) if is_single else (TINY * size, ROOM * size)
    is_enough = is_single or bool(is_there(np.array([limit]))[0])  # in single precision nearly there may be there
    return Conditions(np.array([[sign]]), np.array([sign * limit - (tiny if is_enough else -tiny)]), room)


def _require_largest(goal: Goal, link: Link, own: Array, at: int, n_sums: int, is_single: bool) -> Conditions | None:
    """A class must have the largest sum; None where that is not what is wanted."""
    top = np.zeros((1, n_sums))
    top[0, at] = 1.0
    if not goal.gain(link(top), own)[0] > 0:
        return None
    others = [other for other in range(n_sums) if other != at]
    weights, need = np.zeros((len(others), n_sums)), np.full(len(others), -SINGLE)
    for line, other in enumerate(others):
        weights[line, [at, other]] = 1.0, -1.0
        tied = top.copy()
        tied[0, other] = 1.0
        if not is_single:
            need[line] = -TINY if goal.gain(link(tied), own)[0] > 0 else TINY
    return Conditions(weights, need, 2 * SINGLE if is_single else ROOM)


def _widen(found: list[Conditions], margin: float, is_mean: bool, factor: float) -> list[Conditions]:
    """The same with log odds between classes that are larger than a margin: of means of shares, or of sums."""
    if margin == 0:
        return found
    if is_mean:
        return [one._replace(weights=np.where(one.weights < 0, -np.exp(margin), one.weights)) for one in found]
    return [one._replace(need=one.need + margin / factor) for one in found]


def _bound_share(goal: Goal, link: Any, own: Array, sums: Array) -> list[Conditions]:
    """The mean of shares of one class has a limit, or two."""
    column, total = int(goal.question.columns(own, own)[0]), float(sums.sum())
    weight = np.zeros((1, len(sums)))
    weight[0, column] = 1.0

    def spread(one: Array) -> Array:
        rest = (total - one) / (len(sums) - 1)
        made = np.repeat(rest, len(sums), axis=-1)
        made[..., column : column + 1] = one
        return np.asarray(link(made))

    found = _bound_one_sum(goal, spread, own, float(sums[column]), (0.0, total), is_single=False)
    return [part._replace(weights=part.weights @ weight) for part in found]
