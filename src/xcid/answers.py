"""Further questions: about rows that were explained, by the evaluations that are there; which rows just pass."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from xcid import directions, pipeline
from xcid._check import as_float, as_int, name_class, sign_of, warn
from xcid._kernels.arrays import thinned
from xcid._numbers import format_number, format_probability
from xcid.calibration import Repeats
from xcid.cid.generators.search import status as lacks
from xcid.contributions.scale import get_contributions
from xcid.errors import InvalidParameter, NotEnoughFlips
from xcid.models import is_near
from xcid.models.libraries import UNKNOWN_DIGEST
from xcid.models.predictor import FEW
from xcid.outcomes import ToClass
from xcid.outcomes.classes import check_has_classes, class_names, column_of
from xcid.records import Array, Explanation, Integers, Perturbations
from xcid.setup import Setup, bind_outcome, by_log_odds, weights
from xcid.subject import Subject
from xcid.table import flag_unseen

FAR = 0.5  # standard deviations of all outputs, on average: rows so far above a cut-off are not just above it
OTHER_MODEL = "the explanation is of another model than the explainer's as it is now: its rows were explained anew"
OTHER_TABLE = (
    "the explanation is against other reference data than the explainer's: answer it by the explainer that made it, or "
    "explain its rows by explainer.with_outcome(outcome)(rows)"
)


def answer(setup: Setup, found: Explanation, seed: int) -> Explanation:
    """As `answer_again`; rows of another model, or of the model before it changed, are explained anew."""
    own, given = setup.subject.record["reference"], (found.details.settings or {}).get("reference")
    if given not in (None, own) or found.details.column_names != setup.subject.space.names:
        raise InvalidParameter(OTHER_TABLE)
    if found.cloud is not None and not _is_of(setup.subject, found, found.cloud):
        warn(OTHER_MODEL)
        found = replace(found, cloud=None)
    return answer_again(setup, found, seed)


def _is_of(subject: Subject, found: Explanation, cloud: Perturbations) -> bool:
    """Whether what an explanation keeps is of this model: by its digest, else by its outputs for rows and samples."""
    own, given = subject.record["model"], (found.details.settings or {}).get("model", UNKNOWN_DIGEST)
    if found.output_names != subject.output_names:
        return False
    if not any(name.endswith(UNKNOWN_DIGEST) for name in (own, given)):
        return own == given
    if cloud.outputs is None:
        return True  # nothing of it is kept
    row, sample = np.divmod(thinned(cloud.positive.size, FEW), max(1, cloud.positive.shape[1]))
    rows = np.concatenate([found.data, cloud[row].samples[np.arange(len(row)), sample]])
    due = np.concatenate([found.outputs, cloud.outputs[row, sample]])
    known = ~np.isnan(due).any(axis=1) & ~flag_unseen(subject.space, rows).any(axis=1)
    if not known.any():
        return True
    now, near = subject.predict(rows[known]), partial(is_near, precision=subject.predict.precision)
    return near(now, due[known]) or not near(subject.predict(rows[known]), now)  # nothing tells where it is random


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


def find_just_above(subject: Subject, X: Any, against: Any, cut_off: float, n: int) -> Integers:
    """The positions of the n rows that pass a cut-off with the least to spare, in the order of the table."""
    cut_off, n = as_float(cut_off, "cut_off"), as_int(n, "n (rows)", at_least=1)
    passed, wanted = _measure(subject.predict(subject.space.encode(X)), against, cut_off, subject.output_names)
    above = np.flatnonzero(passed >= 0)
    if not above.size:
        raise InvalidParameter(f"none of the {len(passed):,} rows has {wanted}: give another cut_off")
    nearest = above[np.argsort(passed[above], kind="stable")[:n]]
    return np.asarray(np.sort(nearest))


def describe_just_above(subject: Subject, X: Any, rows: Integers, against: Any, cut_off: float) -> tuple[str, bool]:
    """What rows just above a cut-off are, in words, and whether they are far from it for all that outputs vary."""
    outputs = subject.predict(subject.space.encode(X))
    is_number = outputs.shape[1] == 1
    found = outputs[:, 0 if is_number else column_of(against, subject.output_names)]
    what = "outputs" if is_number else f"probabilities of {name_class(against)}"
    ends = [float(of(found[rows])) for of in (np.min, np.max, np.mean)]
    low, high, mean = map(format_number, ends) if is_number else map(format_probability, ends)
    said = f"{len(rows):,} rows just above the cut-off: {what} from {low} to {high}, mean {mean}"
    return said, bool(np.abs(found[rows] - cut_off).mean() > FAR * found.std())


def _measure(outputs: Array, against: Any, cut_off: float, names: tuple[str, ...]) -> tuple[Array, str]:
    """(n,) how far outputs are above the cut-off, and what that takes, in words."""
    if outputs.shape[1] > 1:
        return outputs[
            :, column_of(against, names)
        ] - cut_off, f"a probability of {name_class(against)} of at least {cut_off:g}"
    sign = sign_of(against)
    if not sign:
        raise InvalidParameter(f"a number is above a cut-off by against='higher' or against='lower', not {against!r}")
    return sign * (outputs[:, 0] - cut_off), f"an output of at {'least' if sign > 0 else 'most'} {cut_off:g}"
