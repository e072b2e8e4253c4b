"""Reference rows just above a cut-off, such as the minimum score of those who get a loan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xcid._check import as_float, as_int, name_class, sign_of
from xcid.errors import InvalidParameter
from xcid.outcomes.classes import column_of
from xcid.records import Array, Integers

if TYPE_CHECKING:
    from xcid.subject import Subject


def find_just_above(subject: Subject, X: Any, against: Any, cut_off: float, n: int) -> Integers:
    """The positions of the n rows that pass a cut-off with the least to spare, in the order of the table."""
    cut_off, n = as_float(cut_off, "cut_off"), as_int(n, "n (rows)", at_least=1)
    passed, wanted = _measure(subject.predict(subject.space.encode(X)), against, cut_off, subject.output_names)
    above = np.flatnonzero(passed >= 0)
    if not above.size:
        raise InvalidParameter(f"none of the {len(passed):,} rows has {wanted}: give another cut_off")
    nearest = above[np.argsort(passed[above], kind="stable")[:n]]
    return np.asarray(np.sort(nearest))


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
