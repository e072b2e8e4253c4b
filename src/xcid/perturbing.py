"""The perturbations of rows: drawn by a plan or searched for, and what the model answers for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from xcid._check import LOG
from xcid._faults import Deadline
from xcid._kernels.random import variants
from xcid.cid.generators.search import Drawn, Generator
from xcid.outcomes import Outcome
from xcid.outcomes.protocol import as_question
from xcid.records import Array, Integers, Perturbations, Unsigned
from xcid.setup import Membership, Setup, weights

CHANGED = 1e-5  # of an output: further than a model that is read from inside may be from what it answers


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
    which, shared = variants(keys), setup.subject.features.space
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
        more = {"hear": heard.append} if isinstance(generator, Drawn) else {}  # a search asks about more than it keeps
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
    answers = subject.predict.planned(subject.features.unfold_plan(plan, subject.space), len(rows))
    if answers is None:
        return None
    deadline.check()
    found = answers(rows)
    deadline.check()
    own = found[:, ~plan.taken.any(axis=1)]  # samples that take nothing: the row itself
    if np.any(np.abs(own - outputs[:, None]) > CHANGED * np.maximum(1, np.abs(outputs[:, None]))):
        LOG.info("the model is asked, since it has changed since the explainer read it")
        return None
    folded, space = subject.features.fold(rows), subject.features.space
    return replace(drawn.cloud(folded, weights(setup.outcome, found, outputs), space), outputs=found)


def by_log_odds(cloud: Perturbations, outcome: Outcome) -> Perturbations:
    """The same cloud, which knows how small its probabilities get where it has some; log odds need no flips."""
    least = as_question(outcome).least
    if least is not None and cloud.plans:
        cloud = replace(cloud, status=np.full(len(cloud), "ok"))
    return replace(cloud, least=least)
