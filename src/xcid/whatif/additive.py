"""Sums of functions of single features: the cheapest changes that bring one up to a need, with a proof.

Every feature offers options, a cost and a gain each, of which only those count that gain more than all cheaper ones. If
two options of a feature could be mixed, it would be best to take what gains most for its cost first, until the need is
met: that costs no more than any choice, and leaves at most one feature between two of its options. There the problem is
divided, and the parts are opened by their limits.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from xcid.native.models import Linear
from xcid.native.nearest import NONE, PROVED, STOPPED, Limits, Solved
from xcid.records import Array, Integers
from xcid.whatif.problem import (
    MOST_LINEAR,
    MOST_VALUES,
    Conditions,
    Options,
    View,
    find_conditions,
    list_values,
    spread_values,
)

if TYPE_CHECKING:
    from xcid.whatif.proof import RowTask

CLOSE = 1e-12
WORK_OF_PART = 5e4  # of the search of a sum, in leaves that are looked at


@dataclass(slots=True, eq=False)
class Sums:
    """A sum of functions of single features."""

    view: View
    linear: Linear
    options: list[Options]
    is_thinned: bool  # where numbers have too many values for each to be an option
    costs: list[Array] = field(default_factory=list)
    first: int = 0  # row of the costs

    @staticmethod
    def of(view: View, linear: Linear) -> Sums | None:
        """List the options of all features; None where one has too many, and what they add is no line."""
        options, is_thinned = list[Options](), False
        for at in np.unique(view.owner).tolist():
            values = list_values(view.evaluator.search_space, at, MOST_LINEAR)
            if values is None:
                is_thinned = True
                thinned = view.make_options(at, spread_values(view.evaluator.search_space, at, MOST_VALUES))
                if not _is_line(thinned):
                    return None
                options.append(thinned)
            elif len(values):
                options.append(view.make_options(at, values))
        return Sums(view, linear, options, is_thinned)

    def prepare(self, some: slice) -> None:
        """Prepare the costs of some rows."""
        self.first = some.start
        self.costs = [self.view.costs(one, some) for one in self.options]

    def find_conditions(self, row: int) -> list[Conditions] | None:
        """Ways to reach the goal."""
        gains, start = self._gains(row, 1.0), self._sum(row)
        low = start + sum(part.min(initial=0.0) for part in gains)
        high = start + sum(part.max(initial=0.0) for part in gains)
        found = find_conditions(self.view.evaluator.goal, self.linear.link, start, (low, high), is_single=False)
        return None if found is None or any(len(one.need) > 1 for one in found) else found

    def _sum(self, row: int) -> Array:
        found: Array = self.view.own[row] @ self.linear.weights + self.linear.start
        return found

    def _gains(self, row: int, sign: float) -> list[Array]:
        weights, own = self.linear.weights[:, 0], self.view.own[row]
        return [sign * ((one.cells - own[one.columns]) @ weights[one.columns]) for one in self.options]

    def solve(self, task: RowTask, asked: Conditions, limits: Limits) -> tuple[Solved, Array | None]:
        """The cheapest changed row with which the sum is as asked."""
        sign, made = float(asked.weights[0, 0]), self.view.evaluator.own[task.row].copy()
        costs = [part[task.row - self.first] + task.price for part in self.costs]
        need = float(asked.find_needs(task.is_strict)[0] - sign * self._sum(task.row)[0])
        most = int(limits.work / WORK_OF_PART)
        solved, relaxed = find_cheapest_sum(costs, self._gains(task.row, sign), need, task.incumbent, most)
        if self.is_thinned:
            solved = solved._replace(lower=relaxed)
        if solved.cells is None:
            return solved, None
        for one, place in zip(self.options, solved.cells.tolist(), strict=True):
            if place >= 0:
                made[one.at] = one.values[place]
        return solved, made


def _is_line(options: Options) -> bool:
    """Whether what the model sees of values lies on a line, but for codes that stand apart at the ends."""
    values, cells = options.values, options.cells
    slope = (cells[-1] - cells[0]) / (values[-1] - values[0])
    return bool(np.allclose(cells, cells[0] + slope * (values - values[0])[:, None], rtol=1e-9, atol=1e-9))


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


Box = tuple[tuple[int, int], ...]  # the first and the last option of each feature


class _Sum:
    """A problem, and hulls that were found."""

    def __init__(self, costs: Sequence[Array], gains: Sequence[Array], need: float) -> None:
        self.features = [_Frontier.of(cost, gain) for cost, gain in zip(costs, gains, strict=True)]
        self.need = need
        self._steps: dict[tuple[int, int, int], list[tuple[float, int, int, int]]] = {}

    def steps(self, j: int, first: int, last: int) -> list[tuple[float, int, int, int]]:
        """What each step along the hull of a feature costs for what it gains."""
        key = (j, first, last)
        if key not in self._steps:
            one, hull = self.features[j], self.features[j].hull(first, last)
            self._steps[key] = [
                ((one.cost[b] - one.cost[a]) / (one.gain[b] - one.gain[a]), j, a, b) for a, b in pairwise(hull)
            ]
        return self._steps[key]

    def relax(self, part: Box) -> _Relaxed:
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

    def name_options(self, at: list[int] | None) -> Integers | None:
        return None if at is None else np.array([one.place[k] for one, k in zip(self.features, at, strict=True)])


def find_cheapest_sum(
    costs: Sequence[Array], gains: Sequence[Array], need: float, incumbent: float, most_parts: int
) -> tuple[Solved, float]:
    """Find the options of each feature that cost least, less than the incumbent, and gain more than what is needed.

    The ``cells`` are which option each feature takes, -1 for none. Beside it stands the limit with mixed options, which
    holds with more options between those of a line, too.
    """
    problem, best, choice = _Sum(costs, gains, need), incumbent, None
    whole: Box = tuple((0, len(one.cost) - 1) for one in problem.features)
    relaxed, count = problem.relax(whole), 0
    if np.isinf(relaxed.cost):
        return Solved(NONE, np.inf, np.inf, None, 0.0), np.inf
    least, heap = min(relaxed.cost, incumbent), [(relaxed.cost, count, whole, relaxed)]
    while heap:
        lower, _, part, relaxed = heapq.heappop(heap)
        tolerance = 1e-9 * max(1.0, 1e-5 * min(best, lower))
        if lower >= best - tolerance:
            break
        if relaxed.between is None:
            return Solved(PROVED, lower, lower, problem.name_options(relaxed.at), 0.0), least
        if count > most_parts:
            return Solved(STOPPED, best, lower, problem.name_options(choice), 0.0), least
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
    return Solved(PROVED, best, best, problem.name_options(choice), 0.0), least
