"""What is wanted of outputs, as conditions on the sums that a model which was read makes them of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xcid.native.ensemble import averaged
from xcid.native.models import Link
from xcid.native.shapley import scale_of
from xcid.outcomes import Flip, Interval, Lower, Raise, Threshold, ToClass, Within
from xcid.outcomes.protocol import remember
from xcid.records import Array, Flags
from xcid.whatif.evaluator import Goal

KNOWN = (Flip, ToClass, Threshold, Interval, Within, Raise, Lower)  # each side of a row's own output is reached once
TINY, ROOM, SINGLE = 1e-9, 1e-7, 1e-5  # beside a limit of sums, in shares of their size; in single precision
POINTS, ROUNDS = 256, 8  # of a search for a limit


class Conditions(NamedTuple):
    """Sums by (c, k) weights that must exceed (c,) needs; where rounding is in the way, by the ``room`` more."""

    weights: Array
    need: Array
    room: float

    def needed(self, is_strict: bool) -> Array:
        """(c,) what weighted sums must exceed."""
        return self.need + self.room if is_strict else self.need


def conditions(
    goal: Goal, link: Link, sums: Array, ends: tuple[Array, Array], is_single: bool
) -> list[Conditions] | None:
    """Ways to reach the goal from a row with (k,) sums, each of which is enough; None where they are not known.

    ``ends`` are the least and the largest (k,) sums that there are.
    """
    if type(goal.question) not in KNOWN:
        return None
    own = link(sums[None])

    def is_there(some: Array) -> Flags:
        return np.asarray(goal.gain(link(some), np.repeat(own, len(some), axis=0)) > 0)

    if len(sums) == 1:
        return _of_one(goal, link, own, float(sums[0]), (float(ends[0][0]), float(ends[1][0])), is_single)
    if isinstance(goal.question, Flip | ToClass):
        if isinstance(link, partial) and link.func is not averaged and scale_of(link, len(sums)) is None:
            return None
        return [made for at in range(len(sums)) if (made := _largest(is_there, at, len(sums), is_single)) is not None]
    if isinstance(goal.question, Within | Threshold) and isinstance(link, partial) and link.func is averaged:
        return _share(goal, link, own, sums)
    return None


def _of_one(
    goal: Goal, link: Link, own: Array, start: float, ends: tuple[float, float], is_single: bool
) -> list[Conditions]:
    """Conditions on a single sum, of which the output is a function that rises or falls all along."""
    question = goal.question
    wants_inside = isinstance(question, Within) and not (goal.is_other_side and question(own, own)[0] > 0.5)
    if isinstance(question, Within) and wants_inside and np.isfinite([question.low, question.high]).all():
        sides = [Goal(remember(question, **end)) for end in ({"high": np.inf}, {"low": -np.inf})]
        already = [bool(side.gain(own, own)[0] > 0) for side in sides]
        found = [
            [] if there else _of_one(side, link, own, start, ends, is_single)
            for side, there in zip(sides, already, strict=True)
        ]
        parts = [part for side in found for part in side]
        if any(not part and not there for part, there in zip(found, already, strict=True)):
            return []
        back = [
            _back(side, link, own, start, ends, is_single) for side, there in zip(sides, already, strict=True) if there
        ]
        parts += [part for part in back if part is not None]
        room = max(part.room for part in parts)
        return [Conditions(np.concatenate([p.weights for p in parts]), np.concatenate([p.need for p in parts]), room)]

    def is_there(some: Array) -> Flags:
        return np.asarray(goal.gain(link(some[:, None]), np.repeat(own, len(some), axis=0)) > 0)

    made = [_limit(is_there, start, end, is_single) for end in ends]
    return [one for one in made if one is not None]


def _back(
    goal: Goal, link: Link, own: Array, start: float, ends: tuple[float, float], is_single: bool
) -> Conditions | None:
    """How far a sum may go that is where it should be now: what must not be reached, turned round."""

    def is_out(some: Array) -> Flags:
        return np.asarray(goal.gain(link(some[:, None]), np.repeat(own, len(some), axis=0)) <= 0)

    for end in ends:
        found = _limit(is_out, start, end, is_single)
        if found is not None:
            return Conditions(-found.weights, -found.need - (found.room if is_single else 0.0), found.room)
    return None


def _limit(is_there: Callable[[Array], Flags], start: float, end: float, is_single: bool) -> Conditions | None:
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


def _largest(is_there: Callable[[Array], Flags], at: int, n_sums: int, is_single: bool) -> Conditions | None:
    """A class must have the largest sum; None where that is not what is wanted."""
    top = np.zeros((1, n_sums))
    top[0, at] = 1.0
    if not is_there(top)[0]:
        return None
    others = [other for other in range(n_sums) if other != at]
    weights, need = np.zeros((len(others), n_sums)), np.full(len(others), -SINGLE)
    for line, other in enumerate(others):
        weights[line, [at, other]] = 1.0, -1.0
        tied = top.copy()
        tied[0, other] = 1.0
        if not is_single:
            need[line] = -TINY if is_there(tied)[0] else TINY
    return Conditions(weights, need, 2 * SINGLE if is_single else ROOM)


def _share(goal: Goal, link: Any, own: Array, sums: Array) -> list[Conditions]:
    """The mean of shares of one class has a limit, or two."""
    column, total = int(goal.question.columns(own, own)[0]), float(sums.sum())
    weight = np.zeros((1, len(sums)))
    weight[0, column] = 1.0

    def spread(one: Array) -> Array:
        rest = (total - one) / (len(sums) - 1)
        made = np.repeat(rest, len(sums), axis=-1)
        made[..., column : column + 1] = one
        return np.asarray(link(made))

    found = _of_one(goal, spread, own, float(sums[column]), (0.0, total), is_single=False)
    return [part._replace(weights=part.weights @ weight) for part in found]
