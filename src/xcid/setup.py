"""What an Explainer knows: the subject, the question, the parts of the method, and what they were when given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from xcid._check import LOG, as_float, as_int, given_or, require_callable
from xcid._faults import Deadline, warn_of_failure
from xcid._kernels.arrays import thinned
from xcid._kernels.random import variants
from xcid.calibration import Stop
from xcid.cid.calibrated import Adjusted
from xcid.cid.generators.balanced import Balanced
from xcid.cid.generators.search import Drawn, Generator, has_limits, limited
from xcid.cid.per_feature import Score
from xcid.contributions.sampled import Measure
from xcid.contributions.scale import Scale, choose_scale
from xcid.errors import InvalidParameter, NotEnoughFlips
from xcid.outcomes import Flip, Interval, Outcome, Question
from xcid.outcomes.classes import are_probabilities
from xcid.outcomes.protocol import as_question, side
from xcid.records import Array, Density, Failure, Integers, Perturbations, Unsigned
from xcid.subject import Subject
from xcid.table import Features

if TYPE_CHECKING:
    from xcid.uncertainty import Sources

MOST_ROWS = 256  # of a block: beyond that the calls of the model are long enough
MIXTURES = 22  # samples of a plan that are held against the same rows, read by themselves
READ = 8_000  # perturbations of each row where trees are read from inside, in less time than 1,000 predictions take
SAMPLES_PER_ROW = 4096  # that a block has room for
HELD = 8  # numbers of a sample that are held where its cells are not
OLD_REFITS = (
    "; its refits are still those that were given: if they belong to the training before the change, make a new "
    "explainer with refits=xcid.refits(model, X, y)"
)
CHANGED = 1e-5  # of an output: further than a model that is read from inside may be from what it predicts


def usual_outcome(subject: Subject) -> Question:
    """The question where none is given: whether the class changes, or the number of a regression moves far."""
    return Interval(soft=True) if subject.is_regression else Flip(soft=are_probabilities(subject.outputs))


def bind_outcome(outcome: Outcome, subject: Subject) -> Outcome:
    """Let an outcome that wants to know them know the names of the outputs and the reference outputs."""
    require_callable(outcome, "outcome", "xcid.outcomes.Flip()")
    return outcome.bind(subject.output_names, subject.outputs) if isinstance(outcome, Question) else outcome


def is_one_sided(outcome: Outcome, subject: Subject) -> bool:
    """Whether all reference rows lie on one side of the question."""
    outputs = subject.outputs
    found = side(outcome, outputs, np.repeat(outputs[:1], len(outputs), axis=0))
    return bool(np.all((found > 0.5) == (found[0] > 0.5)))


def weights(outcome: Outcome, outputs: Array, reference: Array) -> Array:
    """(n, s) weights in C+ of samples with (n, s, k) outputs, for rows with (n, k) outputs."""
    n, s, k = outputs.shape
    own = side(outcome, reference, reference) > 0.5
    there = side(outcome, outputs.reshape(-1, k), np.repeat(reference, s, axis=0)).reshape(n, s)
    return np.abs(own[:, None] - there)


def refuse(reason: str) -> None:
    """Let nothing be explained where there is no decision; of parts of a table, others may have one."""
    raise NotEnoughFlips(reason)


def choose_score(score: Score | None, density: Density | None) -> Score:
    """The score that was given, or the usual one, with the density that was given."""
    if score is not None and density is not None:
        raise InvalidParameter("give a score or a density, not both: a score has its own density")
    if density is not None:
        require_callable(density, "density", "xcid.densities.Mixed()")
    usual = Adjusted if density is None else partial(Adjusted, density)
    return given_or(score, usual, "score", "xcid.scores.Adjusted()")


def check_budget(time_limit: float | None, memory: int, max_evidence_bytes: int) -> dict[str, Any]:
    """Seconds and bytes, by their names in a setup."""
    if time_limit is not None and not as_float(time_limit, "time_limit (seconds)") > 0:
        raise InvalidParameter(f"time_limit must be a number of seconds above 0, not {time_limit}")
    memory, kept = (
        as_int(memory, "memory (bytes)", at_least=1),
        as_int(max_evidence_bytes, "max_evidence_bytes", at_least=0),
    )
    return {"time_limit": time_limit, "memory": memory, "max_evidence_bytes": kept}


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """The question, the generator and the scale as they were given; None stands for the usual ones."""

    outcome: Outcome | None = None
    generator: Generator | None = None
    scale: str = "auto"

    def bound(self, subject: Subject, score: Score) -> dict[str, Any]:
        """What they are for a subject, by the names that a setup has for them."""
        outcome = bind_outcome(usual_outcome(subject) if self.outcome is None else self.outcome, subject)
        is_sampled = choose_scale(self.scale, subject.known, subject.adds_up_on).name != subject.adds_up_on
        usual = partial(Balanced, READ if is_sampled and subject.predict.is_quick else None)
        generator = given_or(self.generator, usual, "generator", "xcid.generators.Balanced()")
        return {
            "outcome": outcome,
            "generator": bind_generator(generator, subject),
            "contributing": _contributing(self.scale, subject, score, generator, usual),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Contributing:
    """How contributions are found: the scale that they add up on, by which perturbations, of features without limits.

    Where the perturbations behind the importance serve, ``generator`` and ``features`` are None.
    """

    scale: Scale
    measure: Measure
    generator: Generator | None = None
    features: Features | None = None


def _contributing(
    wanted: str, subject: Subject, score: Score, generator: Generator, usual: Callable[[], Generator]
) -> Contributing | None:
    """How contributions are found beside a score; None for one that does not measure them, such as the paper's."""
    measure = getattr(score, "measured", None)
    if measure is None:
        return None
    scale = choose_scale(wanted, subject.known, subject.adds_up_on)
    inner = getattr(generator, "inner", generator)  # of a search, which follows no plan itself
    is_limited, draws = has_limits(subject.features.space), hasattr(inner, "draw") or hasattr(inner, "plan")
    if draws and inner is generator and not is_limited:
        return Contributing(scale, measure)
    features = subject.unlimited() if is_limited else subject.features
    chosen = inner if draws else usual()
    return Contributing(scale, measure, bind_generator(chosen, replace(subject, features=features)), features)


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
    given: Given  # what these were before they were bound
    contributing: Contributing | None = None  # None where values are those of the score
    search: Callable[[], Generator] | None = None  # makes one for rows whose flips are too rare for the generator
    sources: Sources | None = None  # what limits allow for beside the sampling of contributions
    one_sided: Callable[[str], None] = refuse  # what is done where no perturbation crosses to another side
    failed: Callable[[Failure], None] = warn_of_failure  # and where rows cannot be explained

    @property
    def rows_at_once(self) -> int:
        """Rows of a block; samples that follow a plan are built for some of them at a time, and are not held."""
        is_planned = hasattr(self.generator, "draw") and not limited(self.subject.features.space).any()
        cells = HELD if is_planned else len(self.subject.space.names)
        return max(1, min(MOST_ROWS, self.memory // (8 * SAMPLES_PER_ROW * cells)))


def bind_generator(generator: Generator, subject: Subject) -> Generator:
    """Let a generator that wants to know it know the reference data and its outputs."""
    bind = getattr(generator, "bind", None)
    return generator if bind is None else bind(subject.features.space, subject.outputs)


def make_search() -> Generator:
    """The search for rows whose flips are too rare for the usual generator; it is loaded where there are such rows."""
    from xcid.cid.generators.growing import Growing

    return Growing()


def renew(setup: Setup) -> Setup:
    """The same setup of the model as it is now."""
    sources = setup.sources
    subject = setup.subject.current(OLD_REFITS if sources is not None and sources.refits else "")
    if subject is not setup.subject:
        setup = replace(setup, subject=subject, **setup.given.bound(subject, setup.score))
    return setup if sources is None else replace(setup, sources=sources.current(setup))


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


def perturb_by_plan(
    setup: Setup, rows: Array, keys: Unsigned, outputs: Array, run: Callable[[int], Unsigned]
) -> tuple[list[Integers], list[Perturbations]]:
    """Perturb rows: the places of some of them, and their cloud.

    A generator that draws for many rows at once draws for some of them, chosen by what is in them: a row gets the same
    scores alone and in a batch, and rows do not all share what chance does.
    """
    draw = getattr(setup.generator, "draw", None)
    if draw is None:
        return [np.arange(len(rows))], [perturb(setup, setup.generator, rows, keys, outputs)]
    shared = setup.subject.features.space
    which = variants(keys, len(shared.names))
    parts = [np.flatnonzero(which == variant) for variant in np.unique(which)]
    drawn = [(part, draw(shared, run(int(which[part[0]])))) for part in parts]
    return parts, [perturb(setup, one, rows[part], keys[part], outputs[part]) for part, one in drawn]


def perturb(setup: Setup, generator: Generator, rows: Array, keys: Unsigned, outputs: Array) -> Perturbations:
    """Let a generator perturb the features, and give its cloud back in columns of the table."""
    subject, deadline = setup.subject, Deadline(setup.time_limit, len(rows))
    heard, cloud = list[Array](), None
    if isinstance(generator, Drawn):
        cloud = _read(setup, generator, rows, outputs, deadline)
    if cloud is None:
        more = {"hear": heard.append} if isinstance(generator, Drawn) else {}  # a search evaluates more than it keeps
        member = Membership(subject, setup.outcome, rows, outputs, deadline, **more)
        cloud = generator(subject.features.fold(rows), keys, subject.features.space, member)
    if heard:
        cloud = replace(cloud, outputs=np.concatenate(heard).reshape(*cloud.positive.shape, -1))
    return subject.features.unfold_cloud(by_log_odds(cloud, setup.outcome), rows, subject.space)


def _read(setup: Setup, drawn: Drawn, rows: Array, outputs: Array, deadline: Deadline) -> Perturbations | None:
    """The cloud of a plan by a model that is read from inside; None where it is not, or samples are made for rows."""
    subject, plan = setup.subject, drawn.plan
    if plan.fitted.any():
        return None
    whole = subject.features.unfold_plan(plan, subject.space)
    predict = subject.predict.planned(whole, len(rows))
    if predict is None:
        return None
    deadline.check()
    found = predict(rows)
    deadline.check()
    some = thinned(len(whole.taken), MIXTURES)  # samples of one row are made, and read by themselves
    alone = subject.predict.own(whole.samples(rows[:1])[0, some])
    own = found[:, ~plan.taken.any(axis=1)]  # samples that take nothing: the row itself
    for one, due in ((own, outputs[:, None]), (found[0, some], alone)):
        if np.any(np.abs(one - due) > CHANGED * np.maximum(1, np.abs(due))):
            LOG.info("the model is called, since it has changed since the explainer read it")
            return None
    folded, space = subject.features.fold(rows), subject.features.space
    return replace(drawn.cloud(folded, weights(setup.outcome, found, outputs), space), outputs=found)


def by_log_odds(cloud: Perturbations, outcome: Outcome) -> Perturbations:
    """The same cloud, which knows how small its probabilities get where it has some; log odds need no flips."""
    least = as_question(outcome).least
    if least is not None and cloud.plans:
        cloud = replace(cloud, status=np.full(len(cloud), "ok"))
    return replace(cloud, least=least)
