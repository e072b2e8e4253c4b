"""What nobody declared: one-hot codes, what people cannot change, and which way an output goes with a number as a rule.

0/1 columns of which each reference row has exactly one 1 are one-hot codes, which change together.

A model of trees has steps that go the other way by chance: a deposit of 1999 where 2000 is refused. Such a change
flips, but nobody should act on it, and it contradicts a reason "too little deposit". So no change goes unsaid against
the way that the output goes as a rule: by its mean over reference rows that all get the same value, for some values,
where that mostly rises, or falls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from xcid._kernels.arrays import same, thinned
from xcid.outcomes.classes import are_probabilities
from xcid.records import Array, Flags, Integers
from xcid.subject import Subject
from xcid.table import Features
from xcid.whatif.evaluator import Evaluator, Found, Goal
from xcid.whatif.search_space import SearchSpace

FEWEST_ROWS = 20  # among fewer reference rows, columns may be each other's opposite by chance
UNCHANGEABLE = {"age", "sex", "gender", "race", "ethnicity", "ethnic", "nationality", "religion", "caste"}
UNCHANGEABLE |= {"birth", "born", "birthday", "birthdate", "marital", "date"}
N_ROWS, N_VALUES = 32, 24  # reference rows and values of a number by which its way is known
CLEAR = 0.1  # of the variance of the means that a line through them accounts for
MOST_CITED = 4  # reasons of a row
WORSE = 1e-9  # that a contribution is worse by
NUDGE = 1e-3  # of the spread of outputs: whether a row wants a higher or a lower one


def join_blocks(subject: Subject) -> Subject:
    """The same subject with its one-hot codes as groups; one of which a column is frozen is frozen as a whole."""
    space, rules, constraints = subject.space, subject.rules, subject.constraints
    ruled = rules.is_derived | rules.ranged | (rules.steps > 0) | (space.direction != 0)
    ruled[[*rules.transitions, *(at for at, name in enumerate(space.names) if name in rules.weights)]] = True
    ruled[[at for group in subject.features.columns if len(group) > 1 for at in group]] = True
    blocks = list(find_blocks(space.background, space.names, np.flatnonzero(~ruled)))
    if not blocks:
        return subject
    frozen, groups = space.frozen.copy(), dict(constraints.groups)
    for block in blocks:
        names = [space.names[at] for at in block]
        frozen[block] |= frozen[block].any()
        groups[_name_block(names, {*space.names, *groups})] = names
    features = Features.of(replace(space, frozen=frozen), replace(constraints, groups=groups))
    return replace(subject, features=features)


def find_blocks(background: Array, names: tuple[str, ...], columns: Integers) -> Iterator[list[int]]:
    """Sets of 0/1 columns that sum to one in every row: neighbours, or columns whose names begin alike."""
    if len(background) < FEWEST_ROWS:
        return
    cells = background[:, columns]
    is_code: Flags = ((cells == 0) | (cells == 1)).all(axis=0)
    is_code &= (cells.max(axis=0, initial=0.0) > 0) & (cells.min(axis=0, initial=1.0) < 1)
    left: dict[int, Array] = {int(at): background[:, at] for at in columns[is_code]}
    run, total = list[int](), np.zeros(len(background))
    for at, cell in list(left.items()):
        if run and (total + cell).max() > 1:
            run, total = [], np.zeros(len(background))
        run, total = [*run, at], total + cell
        if total.min() == 1:
            yield run
            left = {other: rest for other, rest in left.items() if other not in run}
            run, total = [], np.zeros(len(background))
    alike = dict[str, list[int]]()
    for at in left:
        alike.setdefault(_stem(names[at]), []).append(at)
    for block in alike.values():
        if len(block) > 1 and np.all(sum(left[at] for at in block) == 1):
            yield block


def _stem(name: str) -> str:
    """What stands before the last mark: "region" of "region_north".

    Examples
    --------
    >>> _stem("home_region=north"), _stem("north")
    ('home_region', 'north')
    """
    return re.sub(r"[^a-zA-Z0-9]+[a-zA-Z0-9]*$", "", name) or name


def _name_block(names: list[str], taken: set[str]) -> str:
    """What a block is called: by the stem of its columns, or by all of them."""
    stems = {_stem(name) for name in names}
    joined = " or ".join(names)
    return next(name for name in (*(stems if len(stems) == 1 else ()), joined, f"{joined} ") if name not in taken)


def note_unchangeable(subject: Subject, moved: Flags, what: str) -> Iterator[str]:
    """Say which features people may not be able to change, where (m, f) lines or actions change them."""
    counts = count_unchangeable(subject, moved)
    if counts:
        places = [subject.features.names.index(name) for name in counts]
        frozen = [subject.space.names[column] for at in places for column in sorted(subject.features.columns[at])]
        advice = f"give the explainer constraints=xcid.Constraints(frozen={frozen})"
        yield f"{word_unchangeable(counts, len(moved), what)}, {advice}"


def count_unchangeable(subject: Subject, moved: Flags) -> dict[str, int]:
    """In how many of (m, f) lines or actions each feature changes that people may not be able to change."""
    found = np.flatnonzero(find_suspects(subject) & moved.any(axis=0)).tolist()
    return {subject.features.names[at]: int(moved[:, at].sum()) for at in found}


def word_unchangeable(counts: Mapping[str, int], n: int, what: str) -> str:
    """How often features change that people may not be able to change.

    Examples
    --------
    >>> word_unchangeable({"age": 2, "sex": 1}, 9, "ways")
    'age changes in 2 and sex in 1 of 9 ways: if people cannot change them'
    """
    (first, often), *others = counts.items()
    parts = [f"{first} changes in {often:,}", *(f"{name} in {count:,}" for name, count in others)]
    listed = parts[0] if not others else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{listed} of {n:,} {what}: if people cannot change {'them' if others else 'it'}"


def find_suspects(subject: Subject) -> Flags:
    """(f,) features that people cannot change, by their names or because they are dates, and that no rule is about."""
    is_date = np.array([bool(column.unit) for column in subject.features.space.columns])
    return (find_unchangeable(subject.features.names) | is_date) & ~_find_ruled(subject)


def _find_ruled(subject: Subject) -> Flags:
    """(f,) features that some rule is about: whoever gave it knows whether they change."""
    rules, direction = subject.rules, subject.features.space.direction
    about_columns = rules.ranged | (rules.steps > 0)
    about_columns[list(rules.transitions)] = True
    named = [name in rules.weights for name in subject.features.names]
    return (direction != 0) | named | [about_columns[list(group)].any() for group in subject.features.columns]


def find_unchangeable(names: Sequence[str]) -> Flags:
    """(f,) features whose names say that people cannot change them.

    Examples
    --------
    >>> find_unchangeable(["Age", "personSex", "wage", "Glucose", "date_of_birth"]).tolist()
    [True, True, False, False, True]
    """
    words = [re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower() for name in names]
    return np.array([bool(UNCHANGEABLE & set(re.split(r"[^a-z]+", word))) for word in words])


class Cited(NamedTuple):
    """The strongest reasons of n rows against what is wanted: where numbers should go back to, and what levels cost."""

    back: Array  # (n, f) the way to usual values, of numbers; 0 for others
    against: Array  # (n, f) what levels contribute against it; 0 for others


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """The ways of the numbers of a search space; each is measured when it is first asked for."""

    search_space: SearchSpace
    known: dict[int, float] = field(default_factory=dict)

    def of(self, features: Integers) -> Array:
        """(f,) 1 for numbers that the last output rises with, -1 where it falls, 0 for others and what is not asked."""
        found, subject = np.zeros(len(self.search_space.step)), self.search_space.subject
        space = subject.features.space
        if len(subject.output_names) > 2 or subject.rules.cost is not None:
            return found
        for at in features.tolist():
            is_number = not space.discrete[at] or self.search_space.ordered[at]
            if is_number and not self.search_space.fixed[at] and not space.direction[at]:
                if at not in self.known:
                    self.known[at] = _find_way(_measure_means(self.search_space, at))
                found[at] = self.known[at]
        return found

    def find_unknown(self, rows: Array, own: Array) -> Flags:
        """(m, f) numbers that change and have no way, where numbers have ways at all."""
        subject, space = self.search_space.subject, self.search_space.subject.features.space
        if len(subject.output_names) > 2 or subject.rules.cost is not None:
            return np.zeros(rows.shape, dtype=bool)
        moved = ~same(rows, own)
        is_number = (~space.discrete | self.search_space.ordered) & (space.direction == 0)
        return np.asarray(moved & is_number & (self.of(np.flatnonzero(moved.any(axis=0))) == 0))

    def cite(self, evaluator: Evaluator) -> Cited:
        """The features that are the strongest reasons against what is wanted.

        They are known where Shapley values are counted out.
        """
        subject, own = self.search_space.subject, evaluator.own
        side, nothing = _find_sides(evaluator.goal, evaluator.outputs, subject), np.zeros(own.shape)
        space, is_number = subject.features.space, ~subject.features.space.discrete | self.search_space.ordered
        if subject.exact is None or subject.rules.cost is not None or not side.any():
            return Cited(nothing, nothing)
        against = -side[:, None] * _find_contributions(subject, evaluator.table)
        place = np.argsort(np.argsort(-against, axis=1, kind="stable"), axis=1)
        is_cited = (against > 0) & (place < MOST_CITED) & ~self.search_space.fixed
        back = np.sign(np.nan_to_num(self.search_space.usual - own))
        is_free = is_number & (space.direction == 0)
        return Cited(np.where(is_cited & is_free, back, nothing), np.where(is_cited & ~is_number, against, nothing))

    def find_worse(self, evaluator: Evaluator, lines: Found, table: Array, against: Array) -> Flags:
        """(m, f) levels that change and are reasons, (n, f) ``against`` what is wanted, and become stronger ones."""
        cited = np.where(evaluator.find_moved(lines), against[lines.owner], 0.0)
        found, some = cited > 0, np.flatnonzero((cited > 0).any(axis=1))
        if some.size:
            side = _find_sides(evaluator.goal, evaluator.outputs, self.search_space.subject)[lines.owner[some]]
            now = -side[:, None] * _find_contributions(self.search_space.subject, table[some])
            found[some] &= now > cited[some] + WORSE
        return found

    def find_wanted(self, evaluator: Evaluator, features: Any = None) -> Array:
        """(n, f) the way that numbers, all or some, should go for each row: 1 up, -1 down, 0 where it is not known."""
        some = np.arange(len(self.search_space.step)) if features is None else features
        return _find_sides(evaluator.goal, evaluator.outputs, self.search_space.subject)[:, None] * self.of(some)


def find_contrary(rows: Array, own: Array, wanted: Array) -> Flags:
    """(m, f) numbers of (m, f) rows that go against the way that is wanted of them."""
    return np.asarray(wanted * np.nan_to_num(rows - own) < 0)


def go_against(evaluator: Evaluator, found: Found, wanted: Array) -> Flags:
    """(m,) flips with a number that goes against the (n, f) ways that are wanted."""
    return np.asarray(find_contrary(found.rows, evaluator.own[found.owner], wanted[found.owner]).any(axis=1))


def restrict(evaluator: Evaluator, wanted: Array, some: Integers) -> Iterator[tuple[Integers, Evaluator]]:
    """Those of some rows of which the same is wanted, with an evaluator that lets numbers go no other way."""
    kinds, which = np.unique(wanted[some], axis=0, return_inverse=True)
    for kind, directions in enumerate(kinds):
        rows, search_space = some[which.ravel() == kind], evaluator.search_space
        features = search_space.subject.features
        space = replace(features.space, direction=np.where(directions, directions, features.space.direction))
        subject = replace(search_space.subject, features=replace(features, space=space))
        yield rows, replace(evaluator.of_rows(rows), search_space=replace(search_space, subject=subject))


def _measure_means(search_space: SearchSpace, at: int) -> Array:
    """(g,) mean last outputs of reference rows that all have one value of a number, for values from low to high."""
    subject, space = search_space.subject, search_space.subject.features.space
    cells = space.background[:, at]
    cells = cells[(cells >= search_space.lower[at]) & (cells <= search_space.upper[at])]
    if not len(cells):
        return np.zeros(0)
    values = np.unique(np.quantile(cells, (np.arange(N_VALUES) + 0.5) / N_VALUES, method="closest_observation"))
    some = thinned(len(space.background), N_ROWS)
    owner = np.tile(some, len(values))
    rows = space.background[owner]
    rows[:, at] = np.repeat(values, len(some))
    own = subject.space.background
    table = subject.rules.completed(subject.features.unfold(rows, own, owner), own[owner])
    return np.asarray(subject.predict(table)[:, -1].reshape(len(values), -1).mean(axis=1))


def _find_way(means: Array) -> float:
    """Whether means rise (1), fall (-1) or do neither, by the line through them.

    Examples
    --------
    >>> _find_way(np.array([0.1, 0.3, 0.29, 0.5])), _find_way(np.array([0.1, 0.3, 0.1]))
    (1.0, 0.0)
    """
    place = np.arange(len(means)) - (len(means) - 1) / 2
    slope, spread = float(place @ means), float(np.sum((means - means.mean()) ** 2)) if len(means) else 0.0
    return float(np.sign(slope)) if slope**2 > CLEAR * spread * float(place @ place) else 0.0


def _find_contributions(subject: Subject, table: Array) -> Array:
    """(n, f) Shapley values that are counted out; those of one-hot columns that were joined are added up."""
    assert subject.exact is not None
    place = {column: at for at, group in enumerate(subject.features.columns) for column in group}
    owner = np.array([place[group[0]] for group in subject.exact.parts[0].features])
    found = np.zeros((len(table), len(subject.features.columns)))
    np.add.at(found.T, owner, subject.exact(table)[0][..., -1].T)
    return found


def _find_sides(goal: Goal, outputs: Array, subject: Subject) -> Array:
    """(n,) whether a higher last output (1) or a lower one (-1) brings (n, k) outputs nearer to their goal."""
    if outputs.shape[1] > 2:
        return np.zeros(len(outputs))
    nudge = NUDGE * max(float(np.ptp(subject.outputs[:, -1])), 1e-12) * np.array([-1.0, 1.0])[-outputs.shape[1] :]
    ends = [outputs + sign * nudge for sign in (1.0, -1.0)]
    if are_probabilities(subject.outputs):
        ends = [np.clip(end, 0.0, 1.0) for end in ends]
    gains = [goal.gain(end, outputs) for end in ends]
    with np.errstate(invalid="ignore"):
        return np.sign(np.nan_to_num(gains[0] - gains[1]))
