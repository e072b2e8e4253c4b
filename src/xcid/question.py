"""Which side of the question outputs lie on, and so which perturbations belong to C+ and which to C-."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xcid._check import require_callable
from xcid._faults import Deadline
from xcid.outcomes import Flip, Interval, Outcome, Question
from xcid.outcomes.classes import are_probabilities
from xcid.outcomes.protocol import as_question, side
from xcid.records import Array, Integers
from xcid.subject import Subject


def usual_outcome(subject: Subject) -> Question:
    """The question where none is given: whether the class changes, or the number of a regression moves far."""
    return Interval(soft=True) if subject.is_regression else Flip(soft=are_probabilities(subject.outputs))


def bound(outcome: Outcome, subject: Subject) -> Outcome:
    """Let an outcome that wants to know them know the names of the outputs and the reference outputs."""
    require_callable(outcome, "outcome", "xcid.outcomes.Flip()")
    return outcome.bind(subject.output_names, subject.outputs) if isinstance(outcome, Question) else outcome


def is_one_sided(outcome: Outcome, subject: Subject) -> bool:
    """Whether all background rows lie on one side of the question."""
    outputs = subject.outputs
    found = side(outcome, outputs, np.repeat(outputs[:1], len(outputs), axis=0))
    return bool(np.all((found > 0.5) == (found[0] > 0.5)))


def weights(outcome: Outcome, outputs: Array, reference: Array) -> Array:
    """(n, s) weights in C+ of samples with (n, s, k) outputs, for rows with (n, k) outputs."""
    n, s, k = outputs.shape
    own = side(outcome, reference, reference) > 0.5
    there = side(outcome, outputs.reshape(-1, k), np.repeat(reference, s, axis=0)).reshape(n, s)
    return np.abs(own[:, None] - there)


class Membership:
    """How far samples lie on the other side of the question than the row they come from.

    ``rows`` (n, d) are perturbed, and ``reference`` (n, k) are their outputs; the deadline says when to give up.
    ``hear`` is called with the outputs of each call of the model.
    """

    def __init__(
        self,
        subject: Subject,
        outcome: Outcome,
        rows: Array,
        reference: Array,
        deadline: Deadline,
        hear: Callable[[Array], None] = lambda outputs: None,
    ) -> None:
        self.subject, self.outcome, self.rows, self.reference = subject, outcome, rows, reference
        self.deadline, self.hear, self.has_ties = deadline, hear, as_question(outcome).has_ties
        self.own = (side(outcome, reference, reference) > 0.5).astype(np.float64)

    def __call__(self, samples: Array, owner: Integers) -> Array:
        """(N,) weights in C+ of (N, f) samples; every one is an evaluation."""
        self.deadline.check()
        outputs = self.subject.predict(self.subject.features.unfold(samples, self.rows, owner))
        self.deadline.check()
        self.hear(outputs)
        return np.abs(self.own[owner] - side(self.outcome, outputs, self.reference[owner]))
