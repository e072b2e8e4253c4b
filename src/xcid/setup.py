"""What an Explainer knows: the subject, the question, the parts of the method, and what they were when given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xcid._check import given_or
from xcid._faults import warn_of_failure
from xcid.calibration import Stop
from xcid.cid.generators.balanced import Balanced
from xcid.cid.generators.search import Generator, limited
from xcid.cid.per_feature import Score
from xcid.errors import NotEnoughFlips
from xcid.outcomes import Outcome
from xcid.question import bound as bound_outcome
from xcid.question import usual_outcome
from xcid.records import Failure
from xcid.subject import Subject

MOST_ROWS = 256  # of a block: beyond that the calls of the model are long enough
READ = 8_000  # perturbations of each row where trees are read from inside, in less time than 1,000 answers take
SAMPLES_PER_ROW = 4096  # that a block has room for
HELD = 8  # numbers of a sample that are held where its cells are not


def refuse(reason: str) -> None:
    """Let nothing be explained where there is no decision; of parts of a table, others may have one."""
    raise NotEnoughFlips(reason)


def ignore(reason: str) -> None:
    """Go on where there is no decision: other questions may have one."""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """The question and the generator as they were given; None stands for the usual ones."""

    outcome: Outcome | None = None
    generator: Generator | None = None

    def bound(self, subject: Subject) -> tuple[Outcome, Generator]:
        """Both as they are for a subject."""
        outcome = bound_outcome(usual_outcome(subject) if self.outcome is None else self.outcome, subject)
        usual = Balanced(READ if subject.predict.is_quick else None)
        generator = given_or(self.generator, usual, "generator", "xcid.generators.Balanced()")
        return outcome, bind_generator(generator, subject)


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Everything that an Explainer knows: what is explained, the question, the parts of the method, and limits."""

    subject: Subject
    outcome: Outcome  # bound to the subject
    generator: Generator  # likewise
    score: Score
    stop: Stop
    time_limit: float | None  # seconds that a run of one row may take
    memory: int  # bytes that a block of rows and its perturbations may take
    max_evidence_bytes: int
    given: Given  # what the outcome and the generator were before they were bound
    search: Generator | None = None  # for rows whose flips are too rare for the generator
    one_sided: Callable[[str], None] = refuse  # what is done where no perturbation crosses to another side
    failed: Callable[[Failure], None] = warn_of_failure  # and where rows cannot be explained

    @property
    def rows_at_once(self) -> int:
        """Rows of a block; samples that follow a plan are built for some of them at a time, and are not held."""
        is_planned = hasattr(self.generator, "draw") and not limited(self.subject.features.space).any()
        cells = HELD if is_planned else len(self.subject.space.names)
        return max(1, min(MOST_ROWS, self.memory // (8 * SAMPLES_PER_ROW * cells)))


def bind_generator(generator: Generator, subject: Subject) -> Generator:
    """Let a generator that wants to know it know the background and its outputs."""
    bind = getattr(generator, "bind", None)
    return generator if bind is None else bind(subject.features.space, subject.outputs)


def renew(setup: Setup) -> Setup:
    """The same setup of the model as it is now."""
    subject = setup.subject.current()
    if subject is setup.subject:
        return setup
    outcome, generator = setup.given.bound(subject)
    return replace(setup, subject=subject, outcome=outcome, generator=generator)
