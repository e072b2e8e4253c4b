"""Asking the model about changed rows: what the rules forbid is not asked about, and everything is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._faults import Deadline
from xcid.records import Array, Flags, Integers
from xcid.whatif.goals import Goal
from xcid.whatif.world import World


@dataclass(slots=True, eq=False)
class Asker:
    """The rows of a block with their goal: ``gain`` says of changed rows how far they reach it."""

    world: World
    goal: Goal
    own: Array  # (n, f)
    table: Array  # (n, d)
    outputs: Array  # (n, k)
    deadline: Deadline
    n_evaluations: Integers  # (n,)

    def completed(self, rows: Array, owner: Integers) -> Array:
        """(N, d) rows of the table for (N, f) rows of features, with derived columns computed anew."""
        subject = self.world.subject
        table = subject.features.unfold(rows, self.table, owner)
        return subject.rules.completed(table, self.table[owner])

    def answers(self, table: Array, owner: Integers) -> Array:
        """(N, k) outputs of (N, d) rows."""
        self.deadline.check()
        self.n_evaluations += np.bincount(owner, minlength=len(self.own))
        outputs = self.world.subject.predict(table)
        self.deadline.check()
        return outputs

    def gain(self, rows: Array, owner: Integers) -> Array:
        """(N,) gains of (N, f) rows; -inf for those that the rules forbid, which are not asked about."""
        table = self.completed(rows, owner)
        found, allowed = np.full(len(rows), -np.inf), np.flatnonzero(self._allowed(table, owner))
        found[allowed] = self._gain(table[allowed], owner[allowed])
        return found

    def gain_and_allowed(self, rows: Array, owner: Integers) -> tuple[Array, Flags]:
        """(N,) gains of (N, f) rows, and which of them obey the rules."""
        table = self.completed(rows, owner)
        return self._gain(table, owner), self._allowed(table, owner)

    def _allowed(self, table: Array, owner: Integers) -> Flags:
        space = self.world.subject.space
        return self.world.subject.rules.allows(table, self.table[owner], space.lower, space.upper, space.direction)

    def _gain(self, table: Array, owner: Integers) -> Array:
        return self.goal.gain(self.answers(table, owner), self.outputs[owner]) if len(table) else np.zeros(0)

    def distance(self, rows: Array, owner: Integers) -> Array:
        """(N,) how far (N, f) rows are from the rows that they come from."""
        return self.world.distance(rows, self.own[owner], self.completed(rows, owner), self.table[owner])
