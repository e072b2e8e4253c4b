"""Actions for a group of rows: one change for all of them, how many it flips, and what it costs.

Every change of one feature is tried, then pairs of the best of them; of these the few are chosen that do most for the
rows together, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from xcid._check import as_int, warn
from xcid._faults import Deadline
from xcid._kernels.arrays import blocks, same
from xcid.errors import InvalidData
from xcid.outcomes import Outcome
from xcid.records import Array, Flags, Integers
from xcid.subject import Subject
from xcid.table import Backend, frame_of
from xcid.whatif.evaluator import Evaluator, find_reaching, goal_of
from xcid.whatif.parts import Part, apply_part, propose_parts
from xcid.whatif.search_space import SearchSpace
from xcid.whatif.undeclared import join_blocks, note_unchangeable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from xcid.frames import AnyFrame

MOST_SCREENED, MOST_EVALUATED = 256, 200_000  # rows that all parts are tried on, and evaluations for that
BEST, BEST_OF_ONE = 24, 6  # parts that pairs are made of, and most of one feature
FINALISTS = 40  # actions that are tried on all rows
MOST_CELLS = 2**22
PARTS = 10  # that rows are left out in

Action: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Actions:
    """Some actions for n rows that do not have the wanted output yet, in the order in which they were chosen."""

    actions: tuple[Action, ...]
    flips: Flags  # (a, n) rows that get the wanted output
    cost: Array  # (a, n) how far a flip is; infinite where there is none
    covered: Array  # (a,) share of rows that actions up to this one flip, of rows that they were not chosen on
    n_already: int  # rows that had it before
    n_evaluations: int
    subject: Subject

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to know beside: actions on features that people cannot change."""
        return tuple(note_unchangeable(self.subject, self.moved, "actions"))

    @property
    def moved(self) -> Flags:
        """(a, f) which features an action changes."""
        moved = np.zeros((len(self.actions), len(self.subject.features.names)), dtype=np.bool_)
        for line, action in enumerate(self.actions):
            moved[line, [part.at for part in action]] = True
        return moved

    def __repr__(self) -> str:
        n, flipped = self.flips.shape[1], int(self.flips.any(axis=0).sum())
        return f"<xcid.whatif.Actions: {len(self.actions)} actions that flip {flipped} of {n} rows>"

    def __str__(self) -> str:
        from xcid.show import text

        return text.actions(self)

    def words(self, line: int) -> str:
        """An action in words: "raise savings by 500 and set housing to own"."""
        return " and ".join(part.words(self.subject) for part in self.actions[line])

    @overload
    def to_frame(self, backend: Literal["pandas"] = "pandas") -> pd.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    def to_frame(self, backend: Backend = "pandas") -> AnyFrame:
        """One line each: action, flips, n_flipped, cost, covered."""
        frame = frame_of(self.to_columns(), backend)
        if backend == "pandas":
            frame.attrs.update(rows=self.flips.shape[1], already=self.n_already)
        return frame

    def to_columns(self) -> dict[str, Any]:
        """The columns of :meth:`to_frame` as arrays by name."""
        paid = zip(self.cost, self.flips, strict=True)
        return {
            "action": np.array([self.words(line) for line in range(len(self.actions))], dtype=np.str_),
            "flips": self.flips.mean(axis=1),
            "n_flipped": self.flips.sum(axis=1),
            "cost": np.array([float(cost[flips].mean()) for cost, flips in paid]),
            "covered": self.covered,
        }


def find_actions(
    subject: Subject, outcome: Outcome, rows: Array, target: Any = None, k: int = 5, time_limit: float | None = None
) -> Actions:
    """Find k actions for (n, d) rows; ``time_limit`` is in seconds a row."""
    as_int(k, "k", at_least=1)
    subject = join_blocks(subject)
    search_space, goal = SearchSpace.of(subject), goal_of(target, subject, outcome)
    rows = rows[np.argsort(subject.space.keys(rows, 0), kind="stable")]  # so that their order makes no difference
    outputs = subject.predict(rows)
    is_open = goal.gain(outputs, outputs) <= 0
    if not is_open.any():
        raise InvalidData(f"all {len(rows)} rows have the wanted output already: there is nothing to change")
    table = rows[is_open]
    own, n = subject.features.fold(table), len(table)
    deadline = Deadline(time_limit, n)
    evaluator = Evaluator(search_space, goal, own, table, outputs[is_open], deadline, np.zeros(n, dtype=np.int64))
    tried = _search(_Trial(evaluator, _measure_usual_cost(evaluator)), tuple(propose_parts(search_space)), k)
    found = tried[_choose_actions(tried.value, k)]
    if not found.actions:
        warn(f"no action on one or two features gives any of {n} rows the wanted output: see counterfactuals")
    n_evaluated = len(rows) + int(evaluator.n_evaluations.sum())
    covered = _measure_coverage(tried, k)[: len(found.actions)]
    return Actions(found.actions, found.flips, found.cost, covered, int((~is_open).sum()), n_evaluated, subject)


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """Actions with what they do to n rows."""

    actions: tuple[Action, ...]
    flips: Flags  # (a, n)
    cost: Array  # (a, n)
    gain: Array  # (a, n) -inf where an action is not allowed
    value: Array  # (a, n) what a flip is worth: 1 if it were free, one half at the usual cost, 0 where there is none

    def __getitem__(self, some: Integers) -> _Tried:
        actions = tuple(self.actions[at] for at in some)
        return _Tried(actions, self.flips[some], self.cost[some], self.gain[some], self.value[some])

    def __add__(self, other: _Tried) -> _Tried:
        pairs = ((self.cost, other.cost), (self.gain, other.gain), (self.value, other.value))
        numbers = (np.concatenate(pair) for pair in pairs)
        return _Tried(self.actions + other.actions, np.concatenate([self.flips, other.flips]), *numbers)


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """Tries actions on rows; what a part makes of them is computed once."""

    evaluator: Evaluator
    usual_cost: float
    known: dict[Part, Array] = field(default_factory=dict)

    def on(self, rows: Integers) -> _Trial:
        """The same for some of the rows."""
        return _Trial(self.evaluator.of_rows(rows), self.usual_cost)

    def __call__(self, actions: tuple[Action, ...]) -> _Tried:
        n = len(self.evaluator.own)
        gain, cost = np.full((len(actions), n), -np.inf), np.full((len(actions), n), np.inf)
        for part in blocks(len(actions), MOST_CELLS // max(1, self.evaluator.own.size)):
            some = actions[part]
            rows, is_changed = self._apply_actions(some)
            line, owner = np.nonzero(is_changed)
            changed = rows[line, owner]
            found = self.evaluator.gain(changed, owner)
            gain[line + part.start, owner] = found
            flip = found > 0
            cost[line[flip] + part.start, owner[flip]] = self.evaluator.distance(changed[flip], owner[flip])
        flips = gain > 0
        return _Tried(actions, flips, cost, gain, np.where(flips, 0.5 ** (cost / self.usual_cost), 0.0))

    def _apply_actions(self, actions: tuple[Action, ...]) -> tuple[Array, Flags]:
        """(a, n, f) rows after actions, and which of them are allowed and another row."""
        own = self.evaluator.own
        rows = np.repeat(own[None], len(actions), axis=0)
        is_allowed = np.ones(rows.shape[:2], dtype=bool)
        for line, action in enumerate(actions):
            for part in action:
                if part not in self.known:
                    self.known[part] = apply_part(self.evaluator.search_space, part, own)
                new = self.known[part]
                rows[line, :, part.at] = new
                is_allowed[line] &= ~np.isnan(new)
        return rows, is_allowed & ~same(rows, own).all(axis=2)


def _search(trial: _Trial, parts: tuple[Part, ...], k: int) -> _Tried:
    """All actions that are tried, and with many rows the best of them: all are tried on some, and these on all rows."""
    n = len(trial.evaluator.own)
    n_screened = min(n, MOST_SCREENED, max(32, MOST_EVALUATED // max(1, len(parts))))
    few = trial if n_screened == n else trial.on(np.arange(n_screened))
    singles = few(tuple((part,) for part in parts))
    pairs = few(tuple((*a, *b) for a, b in combinations(_choose_promising(singles), 2) if a[0].at != b[0].at))
    tried = singles + pairs
    if few is not trial:
        trial.evaluator.n_evaluations[:n_screened] += few.evaluator.n_evaluations
        best = np.argsort(-tried.value.sum(axis=1), kind="stable")[:FINALISTS]
        finalists = np.unique(np.concatenate([_choose_actions(tried.value, 4 * k), best]))
        tried = trial(tried[finalists].actions)
    return tried


def _measure_coverage(tried: _Tried, k: int) -> Array:
    """(k,) share of rows that the first actions flip where they are chosen without them: a tenth is left out in turn.

    Actions that are chosen on few rows suit these better than others like them.
    """
    n = tried.flips.shape[1]
    if n < 2:
        return np.full(k, np.nan)
    part, covered = np.arange(n) % min(PARTS, n), np.zeros((k, n), dtype=bool)
    for one in range(min(PARTS, n)):
        chosen = _choose_actions(tried.value[:, part != one], k)
        flips = np.logical_or.accumulate(tried.flips[chosen][:, part == one], axis=0)
        if len(chosen):
            covered[:, part == one] = flips[np.minimum(np.arange(k), len(chosen) - 1)]
    return np.asarray(covered.mean(axis=1))


def _choose_promising(singles: _Tried) -> list[Action]:
    """Parts to make pairs of: those that do most, and where nothing flips those that come nearest."""
    is_known = np.isfinite(singles.gain)
    rise = np.where(is_known, singles.gain, singles.gain[is_known].min(initial=0.0))
    order = np.lexsort((-rise.mean(axis=1), -singles.value.sum(axis=1)))
    taken: list[Action] = []
    for at in order:
        action = singles.actions[at]
        if sum(one[0].at == action[0].at for one in taken) < BEST_OF_ONE and len(taken) < BEST:
            taken.append(action)
    return taken


def _choose_actions(value: Array, k: int) -> Integers:
    """Up to k actions, each the one that adds most to what (a, n) values are for every row at best."""
    best, picked = np.zeros(value.shape[1]), list[int]()
    while len(picked) < k:
        added = np.maximum(value - best, 0.0).sum(axis=1)
        at = int(np.argmax(added)) if len(added) else -1
        if at < 0 or added[at] <= 1e-12:
            break
        picked.append(at)
        best = np.maximum(best, value[at])
    return np.array(picked, dtype=np.int64)


def _measure_usual_cost(evaluator: Evaluator) -> float:
    """The median distance of rows to the nearest reference row that has the output wanted for them, or to any."""
    search_space = evaluator.search_space
    there = find_reaching(search_space, evaluator.goal, evaluator.outputs[:MOST_SCREENED])
    there[~there.any(axis=1)] = True
    donors = [search_space.donors[line] for line in there]
    usual = float(
        np.median([search_space.metric.between(*pair).min() for pair in zip(donors, evaluator.own, strict=False)])
    )
    return usual if usual > 0 else 1.0
