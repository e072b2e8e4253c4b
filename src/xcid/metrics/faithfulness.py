"""Comprehensiveness and sufficiency: what masking the best features takes away, and what keeping them preserves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np

from xcid._check import as_int, require_callable
from xcid.directions import supporting
from xcid.errors import InvalidData
from xcid.metrics.agreement import matrix
from xcid.metrics.maskings import Masking, mean
from xcid.records import Array, Explanation
from xcid.subject import Subject

Reduce: TypeAlias = Callable[..., Array]
MOST_CELLS = 2**24  # of the masked rows held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Outputs as ever more features are masked or kept, best first.

    The output is the probability of the class that is predicted for the row; for a regression it is minus the distance
    from the row's own output, in standard deviations of the outputs of the reference data.

    Attributes
    ----------
    full : (n,)
        Output of the rows themselves.
    masked : (n, d + 1)
        With the best 0, 1, ..., d features masked.
    kept : (n, d + 1)
        With only the best 0, 1, ..., d features kept.
    """

    full: Array
    masked: Array
    kept: Array


def masking_curves(
    model: Any,
    X: Any,
    scores: Any,
    reference: Any,
    *,
    masking: Masking = mean,
    seed: int = 0,
    weights: Any = None,
) -> Curves:
    """Mask the features of each row from the highest score down, and keep them likewise.

    Parameters
    ----------
    model : object
        As for :class:`xcid.Explainer`.
    X : table
        n rows.
    scores : (n, d), or Explanation
        Scores are taken as they are: the highest comes first. Of an explanation it is what supports the prediction of
        each row most: contributions are about one class, whichever is predicted.
    reference : table
        What masked features take their values from.
    masking : Masking
        By default the mean of the reference data; see :mod:`xcid.metrics.maskings`.
    seed : int
        For maskings that draw.
    weights : (N,) array, list or series, optional
        Of the rows of the reference data, as for :class:`xcid.Explainer`.
    """
    require_callable(masking, "masking", "xcid.metrics.mean")
    subject = Subject.of(model, reference, weights=weights)
    space = subject.space
    rows = space.encode(X)
    ranked = checked(scores, rows.shape)
    keys = space.keys(rows, as_int(seed, "seed"))
    output = _output(subject, rows)
    n, d = rows.shape
    place = np.argsort(np.argsort(-ranked, axis=1, kind="stable"), axis=1)  # (n, d)
    stages = np.arange(d + 1)[:, None]
    curves = np.empty((n, 2, d + 1))
    block = 1
    start = 0
    while start < n:
        part = slice(start, start + block)
        top = place[part, None, :] < stages  # (b, d + 1, d)
        for side, kept in enumerate((~top, top)):
            filled = masking(rows[part], kept, keys[part], space)
            curves[part, side] = output(filled, part)
            block = max(1, MOST_CELLS // max(filled[0].size, 1))
        start = part.stop
    return Curves(output(rows[:, None, None, :], slice(None))[:, 0], curves[:, 0], curves[:, 1])


class Settings(TypedDict, total=False):
    """The optional settings of :func:`masking_curves`, which those of a metric are handed to."""

    masking: Masking
    seed: int
    weights: Any


def comprehensiveness(
    model: Any, X: Any, scores: Any, reference: Any, *, reduce: Reduce = np.mean, **settings: Unpack[Settings]
) -> Array:
    """(n,) fall of the output when the best 0, 1, ..., d features are masked: high where scores are faithful.

    ``reduce=numpy.mean`` divides by d + 1 and stays in [-1, 1] for probabilities; ``numpy.sum`` is the plain sum. The
    other parameters are those of :func:`masking_curves`.
    """
    curves = masking_curves(model, X, scores, reference, **settings)
    return reduce(curves.full[:, None] - curves.masked, axis=1)


def sufficiency(
    model: Any, X: Any, scores: Any, reference: Any, *, reduce: Reduce = np.mean, **settings: Unpack[Settings]
) -> Array:
    """(n,) fall of the output when only the best 0, 1, ..., d features are kept: low where scores are faithful.

    The parameters are those of :func:`comprehensiveness`.
    """
    curves = masking_curves(model, X, scores, reference, **settings)
    return reduce(curves.full[:, None] - curves.kept, axis=1)


def checked(scores: Any, shape: tuple[int, ...]) -> Array:
    """Scores of rows of this shape; an explanation gives those that support the present answer of each row."""
    ranked = matrix(supporting(scores) if isinstance(scores, Explanation) else scores)
    if ranked.shape != shape:
        raise InvalidData(
            f"the scores have the shape {ranked.shape}, and the rows {shape}: give one score for each cell"
        )
    return ranked


def _output(subject: Subject, rows: Array) -> Callable[[Array, slice], Array]:
    """How to get (b, l) outputs of (b, l, r, d) fillings of some rows."""
    own = subject.predict(rows)
    spread = float(np.std(subject.outputs[:, -1])) if subject.is_regression else 1.0

    def output(filled: Array, part: slice) -> Array:
        shape = filled.shape[:3]
        outputs = subject.predict(filled.reshape(-1, filled.shape[3])).reshape(*shape, -1)
        if subject.is_regression:
            away: Array = np.abs(outputs[..., 0] - own[part, None, None, 0]) / max(spread, 1e-300)
            return -away.mean(axis=2)
        chosen = own[part].argmax(axis=1)[:, None, None, None]
        return np.take_along_axis(outputs, chosen, axis=3)[..., 0].mean(axis=2)

    return output
