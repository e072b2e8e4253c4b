"""Evaluating changed rows: what is wanted of them, how far they get, what rules forbid; and what real rows have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xcid._check import sign_of
from xcid._faults import Deadline
from xcid._kernels.arrays import blocks, same
from xcid._numbers import round_half_up
from xcid.errors import InvalidParameter
from xcid.outcomes import Lower, Outcome, Raise, ToClass
from xcid.outcomes.classes import OfOneOutput, are_probabilities, class_names
from xcid.outcomes.protocol import Question, as_question, remember, side
from xcid.records import Array, Flags, Integers, Texts
from xcid.subject import Subject
from xcid.whatif.search_space import SearchSpace


@dataclass(slots=True, eq=False)
class Evaluator:
    """The rows of a block with their goal: ``gain`` says of changed rows how far they reach it."""

    search_space: SearchSpace
    goal: Goal
    own: Array  # (n, f)
    table: Array  # (n, d)
    outputs: Array  # (n, k)
    deadline: Deadline
    n_evaluations: Integers  # (n,)

    def of_rows(self, some: Integers) -> Evaluator:
        """The same for some of the rows, with a count of its own."""
        counts = np.zeros(len(some), dtype=np.int64)
        own, table, outputs = self.own[some], self.table[some], self.outputs[some]
        return replace(self, own=own, table=table, outputs=outputs, n_evaluations=counts)

    def find_moved(self, found: Found) -> Flags:
        """(N, f) features that differ from the rows that they come from."""
        return ~same(found.rows, self.own[found.owner])

    def complete_rows(self, rows: Array, owner: Integers) -> Array:
        """(N, d) rows of the table for (N, f) rows of features, with derived columns computed anew."""
        subject = self.search_space.subject
        table = subject.features.unfold(rows, self.table, owner)
        return subject.rules.completed(table, self.table[owner])

    def predict(self, table: Array, owner: Integers) -> Array:
        """(N, k) outputs of (N, d) rows."""
        self.deadline.check()
        self.n_evaluations += np.bincount(owner, minlength=len(self.own))
        outputs = self.search_space.subject.predict(table)
        self.deadline.check()
        return outputs

    def gain(self, rows: Array, owner: Integers) -> Array:
        """(N,) gains of (N, f) rows; -inf for those that the rules forbid, which are not evaluated."""
        table = self.complete_rows(rows, owner)
        found, allowed = np.full(len(rows), -np.inf), np.flatnonzero(self._flag_allowed(table, owner))
        found[allowed] = self._gain(table[allowed], owner[allowed])
        return found

    def gain_and_allowed(self, rows: Array, owner: Integers) -> tuple[Array, Flags]:
        """(N,) gains of (N, f) rows, and which of them obey the rules."""
        table = self.complete_rows(rows, owner)
        return self._gain(table, owner), self._flag_allowed(table, owner)

    def _flag_allowed(self, table: Array, owner: Integers) -> Flags:
        space, rules = self.search_space.subject.space, self.search_space.subject.rules
        return rules.allows(table, self.table[owner], space.lower, space.upper, space.direction)

    def _gain(self, table: Array, owner: Integers) -> Array:
        return self.goal.gain(self.predict(table, owner), self.outputs[owner]) if len(table) else np.zeros(0)

    def distance(self, rows: Array, owner: Integers) -> Array:
        """(N,) how far (N, f) rows are from the rows that they come from."""
        return self.search_space.distance(rows, self.own[owner], self.complete_rows(rows, owner), self.table[owner])


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Changed rows (N, f) of a block with their (N,) owners, distances, and gains when they were found."""

    rows: Array
    owner: Integers
    gain: Array
    distance: Array

    def __getitem__(self, at: Integers | Flags) -> Found:
        return Found(self.rows[at], self.owner[at], self.gain[at], self.distance[at])


def join_found(parts: list[Found]) -> Found:
    """All of them in one."""
    names = ("rows", "owner", "gain", "distance")
    return Found(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def pick_one_of_each_set(moved: Flags, owner: Integers, distance: Array) -> Integers:
    """Positions of the nearest of all that change the same features of the same row, by rows."""
    order = np.lexsort((distance, owner))
    sets = np.column_stack([owner[order], np.packbits(moved[order], axis=1)])
    _, first = np.unique(sets, axis=0, return_index=True)
    return order[np.sort(first)]


@dataclass(frozen=True, slots=True)
class Goal:
    """The far side of a question, for all rows; or for each the side on which it does not lie."""

    question: Question
    is_other_side: bool = False
    margin: float = 0.0  # of the gain, that the goal has to be passed by

    def gain(self, outputs: Array, own: Array) -> Array:
        """(N,) above 0 where (N, k) outputs reach the goal of rows with (N, k) own outputs; the more the better."""
        gain = self.question.gain(outputs, own)
        gain = np.where(side(self.question, own, own) > 0.5, -gain, gain) if self.is_other_side else gain
        return gain - self.margin if self.margin else gain


def goal_of(target: Any, subject: Subject, outcome: Outcome) -> Goal:
    """Bind a target to a model; None is the other side of the explainer's question."""
    if target is None:
        return Goal(as_question(outcome), is_other_side=True)
    at, wanted = _find_position(target, subject), target
    if at is not None:
        wanted = ToClass(subject.output_names[at], soft=are_probabilities(subject.outputs))
    elif sign_of(target):
        wanted = Raise() if sign_of(target) > 0 else Lower()
    if not callable(wanted) or isinstance(wanted, type):
        raise InvalidParameter(_advise_target(target, subject))
    question = as_question(wanted)
    if isinstance(question, OfOneOutput):
        at = None if subject.is_regression else _find_position(question.target, subject)
        if (at is None) != subject.is_regression or (subject.is_regression and question.target is not None):
            raise InvalidParameter(_advise_target(target, subject))
        if at is not None:
            question = remember(question, target=subject.output_names[at])
    return Goal(question.bind(subject.output_names, subject.outputs))


def describe_output(goal: Goal, outputs: Array, own: Array, names: tuple[str, ...]) -> tuple[Integers, Texts]:
    """(N,) the output that a line shows, and its class; of a regression "higher", "lower", or "" if nothing moves."""
    columns = goal.question.columns(outputs, own)
    if len(names) > 1:
        return columns, np.array(names)[columns]
    moved = np.sign(outputs[:, 0] - own[:, 0])
    return columns, np.select([moved > 0, moved < 0], ["higher", "lower"], "")


FEWEST_DIGITS, MOST_DIGITS = 2, 6  # decimals of a probability; one that is on its limit has the fewest
CLEAR = 1e-9  # of a gain that is on its side


def count_digits(goal: Goal, both: tuple[Array, Array], own: Array, column: Integers) -> Integers:
    """(N,) decimals with which the probability of a class is on its side of the goal in both of (N, k) outputs."""
    at, found = np.arange(len(own)), np.full(len(own), FEWEST_DIGITS)
    if not are_probabilities(own):
        return found
    for outputs in both:
        sign, left = np.where(goal.gain(outputs, own) > 0, 1.0, -1.0), np.ones(len(own), dtype=bool)
        digits = FEWEST_DIGITS
        while left.any() and digits <= MOST_DIGITS:
            made = outputs.copy()
            made[at, column] = round_half_up(outputs[at, column], digits)
            if own.shape[1] == 2:
                made[at, 1 - column] = 1.0 - made[at, column]
            is_clear = left & (sign * goal.gain(made, own) > CLEAR)
            found[is_clear] = np.maximum(found[is_clear], digits)
            left &= ~is_clear
            digits += 1
    return found


def _find_position(target: Any, subject: Subject) -> int | None:
    """The output of a class by its name, or by the model's own label."""
    if subject.is_regression or not isinstance(target, str | int | float | bool | np.generic):
        return None
    names = class_names(subject.output_names)
    labels = [str(label) for label in getattr(subject.model, "classes_", [])]
    for known in (names, labels if len(labels) == len(names) else []):
        if str(target) in known:
            return known.index(str(target))
    return None


def _advise_target(target: Any, subject: Subject) -> str:
    if subject.is_regression:
        return (
            f"target {target!r} does not fit a regression: use 'raise', 'lower', xcid.outcomes.Raise(by=0.1), "
            "Lower(by=0.1) or Within(low, high)"
        )
    names = class_names(subject.output_names)
    return f"target {target!r} is no class of this model: use one of {names}, or Within(0.7, target={names[-1]!r})"


MOST_CELLS = 2**21
TRIED, KEPT = 12, 2  # real rows that are evaluated, and of those that flip, how many are worked on


def find_reaching(search_space: SearchSpace, goal: Goal, outputs: Array) -> Flags:
    """(n, N) which reference rows have what is wanted of rows with (n, k) outputs."""
    n, n_donors = len(outputs), len(search_space.donors)
    there = goal.gain(np.tile(search_space.donor_outputs, (n, 1)), np.repeat(outputs, n_donors, axis=0)) > 0
    return there.reshape(n, n_donors)


def take_over_real_rows(evaluator: Evaluator, rows: Integers) -> tuple[Found, Array]:
    """What some rows become when they take over all that the nearest real rows with the wanted output have.

    Given are those that flip, and (N, f) the real rows themselves.
    """
    owner, donors = _find_nearest_donors(evaluator, rows, TRIED)
    made = _adapt_donors(evaluator, owner, donors)
    gain = evaluator.gain(made, owner)
    flips = np.flatnonzero(gain > 0)
    flips = flips[np.arange(len(flips)) - np.searchsorted(owner[flips], owner[flips]) < KEPT]
    found = Found(made[flips], owner[flips], gain[flips], evaluator.distance(made[flips], owner[flips]))
    return found, donors[flips]


def _find_nearest_donors(evaluator: Evaluator, rows: Integers, count: int) -> tuple[Integers, Array]:
    """The nearest real rows that reach the goal of some rows, with their owners."""
    search_space = evaluator.search_space
    owners, donors = [np.zeros(0, dtype=np.int64)], [search_space.donors[:0]]
    count = min(count, len(search_space.donors))
    for part in blocks(len(rows), MOST_CELLS // len(search_space.donors)):
        at = rows[part]
        distance = search_space.metric.between(evaluator.own[at, None], search_space.donors[None])
        distance = np.where(find_reaching(search_space, evaluator.goal, evaluator.outputs[at]), distance, np.inf)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
        line, place = np.nonzero(np.take_along_axis(distance, nearest, axis=1) < np.inf)
        owners.append(at[line])
        donors.append(search_space.donors[nearest[line, place]])
    return np.concatenate(owners), np.concatenate(donors)


def _adapt_donors(evaluator: Evaluator, owner: Integers, donors: Array) -> Array:
    """(N, f) donors as their owners may become them: within limits, and the own cell where it may not change."""
    search_space, own = evaluator.search_space, evaluator.own[owner]
    made, space = own.copy(), search_space.subject.features.space
    for at in np.flatnonzero(~search_space.fixed).tolist():
        low, high = search_space.limits(own, at)
        cells = donors[:, at]
        if space.discrete[at]:
            pool = space.distinct.values[: space.distinct.sizes[at], at]
            allowed = np.isin(cells, pool) & search_space.may_become(own[:, at], cells, at)
        else:
            lower, upper = search_space.lower[at], search_space.upper[at]
            allowed = (cells >= lower) & (cells <= upper)  # neither missing nor a code
            cells = search_space.fit_values(cells, at, low, high)
        allowed &= (cells >= low) & (cells <= high)
        made[:, at] = np.where(allowed, cells, own[:, at])
    return made
