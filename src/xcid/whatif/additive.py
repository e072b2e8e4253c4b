"""The cheapest changes of a sum of functions of single features that bring it up to a need, with a proof.

Every feature offers options, a cost and a gain each, of which only those count that gain more than all cheaper ones. If
two options of a feature could be mixed, it would be best to take what gains most for its cost first, until the need is
met: that costs no more than any choice, and leaves at most one feature between two of its options. There the problem is
divided, and the parts are opened by their limits.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from xcid.native.nearest import NONE, PROVED, STOPPED
from xcid.records import Array, Integers

CLOSE = 1e-12


class Choice(NamedTuple):
    """What became of a search: which option each feature takes, -1 for none; None if nothing beats the incumbent.

    ``relaxed`` is the limit with mixed options: it holds with more options between those of a line, too.
    """

    status: int
    cost: float
    lower: float
    relaxed: float
    options: Integers | None


class _Frontier(NamedTuple):
    """Options that are worth their cost, by cost; the first is no change."""

    place: Integers
    cost: Array
    gain: Array

    @staticmethod
    def of(cost: Array, gain: Array) -> _Frontier:
        useful = np.flatnonzero((gain > 0) & np.isfinite(cost))
        order = useful[np.argsort(cost[useful], kind="stable")]
        most = np.maximum.accumulate(np.append(0.0, gain[order]))
        order = order[gain[order] > most[:-1] + CLOSE]
        last = np.append(np.diff(cost[order]) > 0, np.ones(min(1, len(order)), dtype=bool))
        order = order[last]
        return _Frontier(np.append(-1, order), np.append(0.0, cost[order]), np.append(0.0, gain[order]))

    def hull(self, first: int, last: int) -> list[int]:
        """Options from which one goes on to those that gain most for their cost."""
        found = [first]
        while first < last:
            ratio = self.gain[first + 1 : last + 1] - self.gain[first]
            ratio /= self.cost[first + 1 : last + 1] - self.cost[first]
            first += 1 + int(np.flatnonzero(ratio >= ratio.max() * (1 - 1e-9))[-1])
            found.append(first)
        return found


class _Relaxed(NamedTuple):
    """The least cost of a part if options could be mixed, the options without mixing, and where one is mixed."""

    cost: float
    at: list[int]
    between: tuple[int, float] | None  # the feature, and what it has to gain


Part = tuple[tuple[int, int], ...]  # the first and the last option of each feature


class _Sum:
    """A problem, and hulls that were found."""

    def __init__(self, costs: Sequence[Array], gains: Sequence[Array], need: float) -> None:
        self.features = [_Frontier.of(cost, gain) for cost, gain in zip(costs, gains, strict=True)]
        self.need = need
        self._steps: dict[tuple[int, int, int], list[tuple[float, int, int, int]]] = {}

    def whole(self) -> Part:
        return tuple((0, len(one.cost) - 1) for one in self.features)

    def steps(self, j: int, first: int, last: int) -> list[tuple[float, int, int, int]]:
        """What each step along the hull of a feature costs for what it gains."""
        key = (j, first, last)
        if key not in self._steps:
            one, hull = self.features[j], self.features[j].hull(first, last)
            self._steps[key] = [
                ((one.cost[b] - one.cost[a]) / (one.gain[b] - one.gain[a]), j, a, b) for a, b in pairwise(hull)
            ]
        return self._steps[key]

    def relax(self, part: Part) -> _Relaxed:
        at = [first for first, _ in part]
        cost, left = self.price(at), self.need - sum(one.gain[k] for one, k in zip(self.features, at, strict=True))
        if left < 0:
            return _Relaxed(cost, at, None)
        steps = [step for j, (first, last) in enumerate(part) if last > first for step in self.steps(j, first, last)]
        for ratio, j, a, b in sorted(steps):
            gain = self.features[j].gain[b] - self.features[j].gain[a]
            if gain > left:
                return _Relaxed(cost + ratio * left, at, (j, self.features[j].gain[a] + left))
            cost, left, at[j] = cost + ratio * gain, left - gain, b
        return _Relaxed(np.inf, at, None)

    def price(self, at: list[int]) -> float:
        return float(sum(one.cost[k] for one, k in zip(self.features, at, strict=True)))

    def named(self, at: list[int] | None) -> Integers | None:
        return None if at is None else np.array([one.place[k] for one, k in zip(self.features, at, strict=True)])


def cheapest_sum(
    costs: Sequence[Array], gains: Sequence[Array], need: float, incumbent: float, most_parts: int
) -> Choice:
    """Find the options of each feature that cost least, less than the incumbent, and gain more than what is needed."""
    problem, best, choice = _Sum(costs, gains, need), incumbent, None
    relaxed, count = problem.relax(problem.whole()), 0
    if np.isinf(relaxed.cost):
        return Choice(NONE, np.inf, np.inf, np.inf, None)
    least, heap = min(relaxed.cost, incumbent), [(relaxed.cost, count, problem.whole(), relaxed)]
    while heap:
        lower, _, part, relaxed = heapq.heappop(heap)
        tolerance = 1e-9 * max(1.0, 1e-5 * min(best, lower))
        if lower >= best - tolerance:
            break
        if relaxed.between is None:
            return Choice(PROVED, lower, lower, least, problem.named(relaxed.at))
        if count > most_parts:
            return Choice(STOPPED, best, lower, least, problem.named(choice))
        j, wanted = relaxed.between
        middle = int(np.searchsorted(problem.features[j].gain, wanted, side="right"))  # the first that is enough
        enough = [*relaxed.at[:j], middle, *relaxed.at[j + 1 :]]
        if problem.price(enough) < best - tolerance:
            best, choice = problem.price(enough), enough
        for first, last in ((part[j][0], middle - 1), (middle, part[j][1])):
            if first <= last:
                made = (*part[:j], (first, last), *part[j + 1 :])
                found, count = problem.relax(made), count + 1
                if found.cost < best - tolerance:
                    heapq.heappush(heap, (found.cost, count, made, found))
    return Choice(PROVED, best, best, least, problem.named(choice))
