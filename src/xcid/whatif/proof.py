"""The nearest and the sparsest changes with a proof, or the proof that there are none, for models read from inside.

A proof is about this model, these rules and the values that the search may give: it says nothing of other values. Every
answer is predicted by the model itself before it counts. Relations between columns are left out of the search: a limit
without them holds with them, and an answer that breaks one does not count.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from xcid._kernels.arrays import blocks
from xcid.native.models import Alone, Linear
from xcid.native.nearest import NONE, Limits
from xcid.outcomes import Question, Within
from xcid.records import Array, Flags, Texts
from xcid.subject import Subject
from xcid.whatif.additive import Sums
from xcid.whatif.evaluator import Evaluator, Found, join_found
from xcid.whatif.problem import Conditions, View

if TYPE_CHECKING:
    from xcid.whatif.branches import Branches

MOST_WORK, MOST_BYTES = 4e8, 2.0**28  # leaves that are looked at for a row: some 4 s
ROWS = 32  # whose costs are held at a time
SHOWN = 1.3  # times the distance below which there is proved to be nothing, at most, for this to be said
NEAREST, SPARSEST, NO_SUCH, WITHIN, FOUND = "nearest", "sparsest", "none exists", "within", "found"
ALL, USUAL_WAYS = "all", "usual ways"  # changes that a proof is about


@dataclass(frozen=True, slots=True, eq=False)
class Proofs:
    """Answers that beat those of the search, and what is proved: 0 for nothing, infinity where there is no answer."""

    better: Found
    nearest: Array  # (n,) no changes are nearer
    sparsest: Array  # (n,) no changes have fewer features times ``step`` plus distance
    step: float
    along: Array | None = None  # (n,) no changes that go the usual way are nearer

    def of_lines(self, lines: Found, kind: Texts, n_changes: Any, least: Array) -> tuple[Texts, Array, Texts]:
        """(m,) what is proved of lines of these kinds, how many times as far as need be they are at most, among what.

        ``least`` (m,) is the smallest distance of as many changes, which may be nobody's to choose.
        """
        nearest, sparsest = self.nearest[lines.owner], self.sparsest[lines.owner]
        close = 1e-9 + 1e-7 * lines.distance
        is_nearest = (nearest > 0) & (lines.distance <= nearest + close)
        is_sparsest = (sparsest > 0) & (self.step * n_changes + least <= sparsest + close)
        titles = np.array([SPARSEST in one.split(" and ") for one in kind.tolist()], dtype=bool)
        along = np.zeros(len(lines.owner)) if self.along is None else self.along[lines.owner]
        is_along = np.array([NEAREST in one.split(" and ") for one in kind.tolist()], dtype=bool) & ~is_nearest
        is_along &= (along > 0) & (lines.distance <= along + close)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(nearest > 0, lines.distance / nearest, np.nan)
        bound = np.where(is_nearest | (titles & is_sparsest), 1.0, bound)
        said = np.where((bound <= SHOWN) | (is_along & np.isfinite(bound)), WITHIN, FOUND).astype("<U11")
        said = np.where(titles & is_sparsest, SPARSEST, said)
        said = np.where(is_nearest, NEAREST, said)
        return said, bound, np.where(is_along, USUAL_WAYS, np.where(said != FOUND, ALL, ""))

    def none_exists(self, rows: Any) -> Flags:
        """Whether it is proved that some rows have no answer at all."""
        return np.isinf(self.nearest[rows]) | np.isinf(self.sparsest[rows])


class Budget:
    """What is left of the work and of half of the time of a row: the model needs time, too."""

    def __init__(self, work: float, time_limit: float | None) -> None:
        self.work, self.end = work, None if time_limit is None else time.monotonic() + time_limit / 2

    def limits(self) -> Limits:
        """When the next search stops."""
        seconds = 0.0 if self.end is None else max(self.end - time.monotonic(), 1e-6)
        return Limits(max(self.work, 0.0), seconds, MOST_BYTES)


class RowTask(NamedTuple):
    """A search for a row: what every change costs besides, the best that is known, and whether sums must have room."""

    row: int
    price: float
    incumbent: float
    is_strict: bool


Solver: TypeAlias = "Sums | Branches"


class Asked(NamedTuple):
    """Which searches to make, 1 for the fewest changes and 0 for the nearest, with how much work, for which models.

    Models besides that of the evaluator must agree with it.
    """

    kinds: tuple[int, ...] = (1, 0)  # what the fewest changes find helps the other search
    work: float = MOST_WORK
    refits: tuple[Subject, ...] = ()


BOTH = Asked()


def find_solver(evaluator: Evaluator, refits: tuple[Subject, ...] = ()) -> Solver | None:
    """What searches models that were read from inside; None where nothing can be proved."""
    subject = evaluator.search_space.subject
    native, rules = subject.predict.native, subject.rules
    if not isinstance(native, Alone) or rules.cost is not None or rules.derived:
        return None
    if refits:
        from xcid.whatif.together import put_side_by_side

        native = put_side_by_side([native, *(one.predict.native for one in refits)])
        if native is None:
            return None
    view, core = View.of(evaluator, native), native.core
    if isinstance(core, Linear) and len(core.start) == 1 and not _has_two_ends(evaluator.goal.question):
        return Sums.of(view, core)
    from xcid.whatif.branches import Branches

    return Branches.of(view, core)


def _has_two_ends(question: Question) -> bool:
    return isinstance(question, Within) and bool(np.isfinite([question.low, question.high]).all())


def prove(evaluator: Evaluator, flips: Found, time_limit: float | None, asked: Asked = BOTH) -> Proofs:
    """Search for the nearest and the sparsest answers of all rows of a block, which lie on the near side."""
    n, step = len(evaluator.own), _choose_step(evaluator)
    nothing = Proofs(flips[np.zeros(0, dtype=np.int64)], np.zeros(n), np.zeros(n), step)
    solver = find_solver(evaluator, asked.refits) if n else None
    if solver is None:
        return nothing
    size = evaluator.find_moved(flips).sum(axis=1)
    known = np.full((2, n), np.inf)
    np.minimum.at(known[0], flips.owner, flips.distance)
    np.minimum.at(known[1], flips.owner, step * size + flips.distance)
    lower, answers = np.zeros((2, n)), [flips[np.zeros(0, dtype=np.int64)]]
    for part in blocks(n, ROWS):
        rows = range(*part.indices(n))
        solver.prepare(part)
        ways = {row: one for row in rows if (one := solver.find_conditions(row)) is not None}
        budgets = {row: Budget(asked.work, time_limit) for row in ways}
        for kind, price in ((kind, kind * step) for kind in asked.kinds):
            wanted = [row for row in ways if not np.isinf(lower[1, row])]
            for is_strict in (False, True):  # with room where rounding, or a relation, was in the way
                made = dict[int, Array]()
                for row in wanted:
                    task = RowTask(row, price, float(known[kind, row]), is_strict)
                    limit, found = _find_cheapest(solver, task, ways[row], budgets[row])
                    lower[kind, row] = lower[kind, row] if is_strict else limit
                    if found is not None:
                        made[row] = found
                good = _keep_reaching(evaluator, made)
                answers.append(good)
                size = evaluator.find_moved(good).sum(axis=1)
                np.minimum.at(known[0], good.owner, good.distance)
                np.minimum.at(known[1], good.owner, step * size + good.distance)
                wanted = sorted(made.keys() - set(good.owner.tolist()))
    lower[0, np.isinf(lower[1])] = np.inf
    return Proofs(join_found(answers), lower[0], lower[1], step)


def _find_cheapest(
    solver: Solver, task: RowTask, asked: list[Conditions], budget: Budget
) -> tuple[float, Array | None]:
    """What no answer can cost less than, and the cheapest changed row over all ways to reach the goal."""
    limits, found = [np.inf], None
    for one in asked:
        solved, made = solver.solve(task, one, budget.limits())
        budget.work -= solved.work
        limits.append(np.inf if solved.status == NONE else solved.lower)
        if made is not None:
            found, task = made, task._replace(incumbent=solved.cost)
    return min(limits), found


def _choose_step(evaluator: Evaluator) -> float:
    """More than all changes of a row can cost together, so that one change less always wins."""
    search_space = evaluator.search_space
    width = np.where(np.isfinite(search_space.upper - search_space.lower), search_space.upper - search_space.lower, 0.0)
    own = np.nan_to_num(np.abs(evaluator.own - np.nan_to_num(search_space.usual))).max(axis=0, initial=0.0)
    wide = np.where(search_space.metric.discrete, 1.0, (width + own) / search_space.metric.scale)
    total = float(((wide + 2) * search_space.weights)[~search_space.fixed].sum())
    return float(2.0 ** np.ceil(np.log2(max(total, 1.0) + 1)))


def _keep_reaching(evaluator: Evaluator, made: dict[int, Array]) -> Found:
    """Changed rows by their own that are there by the model itself, with their distances."""
    owner, rows = np.array(sorted(made), dtype=np.int64), np.zeros((0, evaluator.own.shape[1]))
    if len(owner):
        rows = np.stack([made[row] for row in owner.tolist()])
    gain = evaluator.gain(rows, owner) if len(owner) else np.zeros(0)
    return Found(rows, owner, gain, evaluator.distance(rows, owner))[gain > 0]
