"""How a comparison of two explanations is worded wherever it is shown."""

from __future__ import annotations

import numpy as np

from xcid.records import SIGNIFICANT, Comparison, Flags
from xcid.wording import MOST_LETTERS, number, of_class, times, with_limits
from xcid.wording.names import clean


def title(found: Comparison) -> str:
    """What is compared: "March compared with January: means of 120 and 131 rows"."""
    first, second = _names(found)
    n_first, n_second = found.n_rows
    what = {
        "rows": "two single rows",
        "pairs": f"the same {n_first:,} rows, compared row by row",
        "groups": f"means of {n_second:,} and {n_first:,} rows",
    }
    return f"{second} compared with {first}: {what[found.kind]}"


def headings(found: Comparison) -> list[str]:
    """What stands above the columns of :func:`cells`."""
    return ["feature", *_names(found), "difference (95 % limits)"]


def cells(found: Comparison, at: int) -> list[str]:
    """A feature, what it is worth in both, and the difference with its limits."""
    worths = [_worth(found, part[at]) for part in (found.first, found.second)]
    if found.shown:
        worths = [f"{clean(cell, MOST_LETTERS)}: {worth}" for cell, worth in zip(found.shown[at], worths, strict=True)]
    ends = float(found.lower[at]), float(found.upper[at])
    return [clean(found.feature_names[at], MOST_LETTERS), *worths, with_limits(found.difference[at], ends, found.unit)]


def unit(found: Comparison) -> str:
    """What the numbers of :func:`cells` are."""
    if found.unit == "output":
        return "+ and -: what present values add to the output"
    return f"× and ÷: what present values multiply or divide the odds of {of_class(found.about)} by"


def axis(found: Comparison) -> str:
    """What a difference is, under a picture of many."""
    first, second = _names(found)
    what = "the output" if found.unit == "output" else f"the odds of {of_class(found.about)}"
    return f"what present values do to {what},\n{second} against {first}"


def not_significant(found: Comparison) -> Flags:
    """(d,) differences whose p-value is above the level."""
    return np.asarray(~(found.p_values <= SIGNIFICANT))


def sentence(found: Comparison, at: int) -> str:
    """One feature: "Glucose: lowers the odds of diabetes 1.4 times more in March than in January (1.2 to 1.7)"."""
    name = clean(found.feature_names[at], MOST_LETTERS)
    if not_significant(found)[at]:
        return f"{name}: no significant difference"
    first, second, difference = (float(part[at]) for part in (found.first, found.second, found.difference))
    ends = sorted(abs(float(end[at])) for end in (found.lower, found.upper))  # both have the sign of the difference
    what = "the output" if found.unit == "output" else f"the odds of {of_class(found.about)}"
    limits = " to ".join(_size(found, end) for end in ends)
    of_first, of_second = _names(found)
    if first * second < 0:
        verbs = ("lowers", "raises") if first < 0 else ("raises", "lowers")
        it = "it" if found.unit == "output" else "them"
        return (
            f"{name}: {verbs[0]} {what} {_by(found, first)} in {of_first} and {verbs[1]} {it} "
            f"{_by(found, second)} in {of_second}, {_by(found, difference).removeprefix('by ')} apart ({limits})"
        )
    verb = "raises" if first + second > 0 else "lowers"
    more = "more" if abs(second) > abs(first) else "less"
    return f"{name}: {verb} {what} {_by(found, difference)} {more} in {of_second} than in {of_first} ({limits})"


def _names(found: Comparison) -> tuple[str, str]:
    return clean(found.names[0], MOST_LETTERS), clean(found.names[1], MOST_LETTERS)


def _size(found: Comparison, value: float) -> str:
    """A number without its sign: what odds are multiplied or divided by, or in the unit of the output."""
    return number(abs(value)) if found.unit == "output" else times(np.exp(abs(value)))


def _by(found: Comparison, value: float) -> str:
    return f"by {_size(found, value)}" if found.unit == "output" else f"{_size(found, value)} times"


def _worth(found: Comparison, value: float) -> str:
    """A mean without its limits."""
    return with_limits(value, (value, value), found.unit).partition(" (")[0]
