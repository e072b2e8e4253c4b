"""What the features of a row may become, how far that is, and asking the model about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._faults import Deadline
from xcid._kernels.arrays import same, thinned
from xcid.generators.metric import Metric
from xcid.generators.reach import MOST_DONORS
from xcid.records import Array, Flags, Integers
from xcid.subject import Subject
from xcid.whatif.goals import Goal

FINEST = 100  # steps in a mean absolute deviation of a number without decimals of its own


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A subject as (.., f) rows of features; ``step`` (f,) is the lattice that new values of numbers lie on."""

    subject: Subject
    metric: Metric
    fixed: Flags  # (f,) features that never change
    lower: Array  # (f,)
    upper: Array
    step: Array
    donors: Array  # (N, f) reference rows
    donor_outputs: Array  # (N, k)

    @staticmethod
    def of(subject: Subject) -> World:
        """Learn from the reference data."""
        space = subject.features.space
        fine = 10.0 ** np.floor(np.log10(np.maximum(space.scales / FINEST, 1e-300)))
        step = np.where(space.resolution > 0, 1 / np.maximum(space.resolution, 1.0), fine)
        some = thinned(len(space.background), MOST_DONORS)
        donors, outputs = space.background[some], subject.outputs[some]
        return World(subject, Metric.of(space), space.frozen, space.lower, space.upper, step, donors, outputs)

    def limits(self, own: Array, at: int) -> tuple[Array, Array]:
        """(n,) lowest and highest new value of a feature of (n, f) rows."""
        low, high = self.subject.features.space.bounds(own)
        return low[:, at], high[:, at]

    def fitted(self, values: Array, at: int, low: Array, high: Array) -> Array:
        """Bring numbers of a feature onto its lattice and between limits; they lie outside where there is no such."""
        step = self.step[at]
        multiple = np.clip(np.rint(values / step), np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9))
        return np.rint(multiple) / np.rint(1 / step) if step < 1 else multiple * step

    def choices(self, own: Array, at: int, like: Flags | None) -> tuple[Array, Flags]:
        """(n, g) levels of a feature for (n, f) rows, and which of them a row may become."""
        pool = self.subject.features.space.distinct
        values = pool.values[: pool.sizes[at], at][None]
        low, high = self.limits(own, at)
        there = (values >= low[:, None]) & (values <= high[:, None]) & ~same(values, own[:, at, None])
        return np.broadcast_to(values, there.shape), there


@dataclass(slots=True, eq=False)
class Asker:
    """Asks the model about changed rows of a block and counts."""

    world: World
    goal: Goal
    own: Array  # (n, f)
    table: Array  # (n, d)
    outputs: Array  # (n, k)
    deadline: Deadline
    n_evaluations: Integers  # (n,)

    def completed(self, rows: Array, owner: Integers) -> Array:
        """(N, d) rows of the table for (N, f) rows of features."""
        return self.world.subject.features.unfold(rows, self.table, owner)

    def gain(self, rows: Array, owner: Integers) -> Array:
        """(N,) gains of (N, f) rows."""
        self.deadline.check()
        np.add.at(self.n_evaluations, owner, 1)
        outputs = self.world.subject.predict(self.completed(rows, owner))
        self.deadline.check()
        return self.goal.gain(outputs, self.outputs[owner])

    def distance(self, rows: Array, owner: Integers) -> Array:
        """(N,) how far (N, f) rows are from the rows that they come from."""
        return self.world.metric.between(rows, self.own[owner])
