"""Further questions about rows that were explained, by the evaluations that are there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from xcid import directions, pipeline
from xcid._check import warn
from xcid.calibration import Repeats
from xcid.cid.generators.search import status as lacks
from xcid.contributions.scale import get_contributions
from xcid.errors import NotEnoughFlips
from xcid.outcomes import ToClass
from xcid.outcomes.classes import check_has_classes, class_names
from xcid.records import Explanation
from xcid.setup import Setup, bind_outcome, by_log_odds, weights


def answer_again(setup: Setup, found: Explanation, seed: int) -> Explanation:
    """Answer the question of a setup for rows that were explained under another one; the model is not called again.

    Rows whose perturbations followed no plan are explained anew: what the model predicted for them was not kept. So are
    all rows where there are several runs of each, of which the first alone is kept.
    """
    cloud = found.cloud
    if cloud is None or cloud.outputs is None or setup.stop != Repeats(1):
        again = pipeline.explain(setup, found.data, seed)
        return replace(again, index=found.index)
    anew = np.flatnonzero(np.isnan(cloud.outputs).any(axis=(1, 2)))
    kept = np.setdiff1d(np.arange(len(found)), anew)
    pieces = []
    if kept.size:
        some = cloud[kept]
        positive = weights(setup.outcome, np.asarray(some.outputs), found.outputs[kept])
        some = replace(some, positive=positive, negative=1 - positive, status=lacks(positive))
        some, outputs = by_log_odds(some, setup.outcome), found.outputs[kept]
        read = setup.subject.exact
        exact = None if read is None else (read.scale, read(some.origin)[0])
        turned = directions.about_question(found[kept], setup.outcome, exact)
        pieces.append(pipeline.score_cloud(setup, seed, some, outputs, get_contributions(turned)))
    if anew.size:
        pieces.append(pipeline.explain(setup, found.data[anew], seed))
        size = pieces[0].cloud.positive.shape[1] if kept.size and pieces[0].cloud is not None else None
        if size is not None and pieces[1].cloud is not None and pieces[1].cloud.positive.shape[1] != size:
            pieces[1] = replace(pieces[1], cloud=pieces[1].cloud.sized(size))
    joined = Explanation.concatenate(pieces)[np.argsort(np.concatenate([kept, anew]))]
    return replace(joined, index=found.index)


def explain_classes(setup: Setup, found: Callable[[], Explanation], seed: int) -> dict[str, Explanation]:
    """Explain every class that some perturbation reaches, by one set of evaluations."""
    names = class_names(setup.subject.output_names)
    check_has_classes(len(names))
    explanations, asked = {}, found()
    for name in names:
        other = replace(setup, outcome=bind_outcome(ToClass(name), setup.subject))
        with contextlib.suppress(NotEnoughFlips):
            explanations[name] = pipeline.checked(other, answer_again(other, asked, seed))
    left_out = [name for name in names if name not in explanations]
    if not explanations:
        raise NotEnoughFlips(f"no perturbation changes the class; the model's classes are {names}")
    if left_out:
        warn(f"no perturbation of any row reaches {left_out}")
    return explanations
