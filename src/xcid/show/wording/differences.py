"""How a comparison of two explanations is worded wherever it is shown."""

from __future__ import annotations

import numpy as np

from xcid.records import Comparison
from xcid.show.wording import MOST_LETTERS, number, of_class, times, with_limits
from xcid.show.wording.names import clean


def title(found: Comparison) -> str:
    """What is compared: "March compared with January: the mean of 120 rows against that of 131"."""
    first, second = _names(found)
    n_first, n_second = found.n_rows
    what = {
        "rows": "two single rows",
        "pairs": f"the same {_rows(n_first)}, compared row by row",
        "groups": f"the mean of {_rows(n_second)} against that of {n_first:,}",
    }
    return f"{second} compared with {first}: {what[found.kind]}"


def headings(found: Comparison) -> list[str]:
    """What stands above the columns of :func:`cells`."""
    return ["feature", *_names(found), "difference (95% limits)", "p", "adjusted p"]


def cells(found: Comparison, at: int) -> list[str]:
    """A feature, what it is worth in both, the difference with its limits, and its p-values."""
    worths = [_worth(found, part[at]) for part in (found.first, found.second)]
    if found.shown:
        worths = [f"{clean(cell, MOST_LETTERS)}: {worth}" for cell, worth in zip(found.shown[at], worths, strict=True)]
    ends = float(found.lower[at]), float(found.upper[at])
    name, apart = clean(found.feature_names[at], MOST_LETTERS), with_limits(found.difference[at], ends, found.unit)
    return [name, *worths, apart, *(_p_value(part[at]) for part in (found.p_values, found.adjusted_p_values()))]


def unit(found: Comparison) -> str:
    """What the numbers of :func:`cells` are."""
    if found.unit == "output":
        return "+ and -: what present values add to the output"
    return f"× and ÷: what present values multiply or divide the odds of {of_class(found.about)} by"


def nothing(found: Comparison) -> str:
    """Say that no difference is significant."""
    return f"No difference is significant, with p-values adjusted for {len(found):,} features."


def axis(found: Comparison) -> str:
    """What a difference is, under a picture of many."""
    first, second = _names(found)
    what = "the output" if found.unit == "output" else f"the odds of {of_class(found.about)}"
    return f"what present values do to {what},\n{second} against {first}"


def sentence(found: Comparison, at: int) -> str:
    """One feature in both: what it does to the odds or to the output, and how far these lie apart.

    "Glucose: divides the odds of diabetes by 1.2 in January and by 1.7 in March: a ratio of 1.4 (1.2 to 1.7)".
    """
    name = clean(found.feature_names[at], MOST_LETTERS)
    if not found.significant[at]:
        return f"{name}: no significant difference"
    values = [float(part[at]) for part in (found.first, found.second)]
    verbs = [_verb(found, value) for value in values]
    what, it = ("the output", "it") if found.unit == "output" else (f"the odds of {of_class(found.about)}", "them")
    again = "" if verbs[0] == verbs[1] else f"{verbs[1]} {it} "
    sizes, (first, second) = [_size(found, value) for value in values], _names(found)
    ends = sorted(abs(float(end[at])) for end in (found.lower, found.upper))  # both have the sign of the difference
    apart = "difference" if found.unit == "output" else "ratio"
    return (
        f"{name}: {verbs[0]} {what} by {sizes[0]} in {first} and {again}by {sizes[1]} in {second}: a {apart} of "
        f"{_size(found, found.difference[at])} ({' to '.join(_size(found, end) for end in ends)})"
    )


def _names(found: Comparison) -> tuple[str, str]:
    return clean(found.names[0], MOST_LETTERS), clean(found.names[1], MOST_LETTERS)


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"


def _size(found: Comparison, value: float) -> str:
    """A number without its sign: what odds are multiplied or divided by, or in the unit of the output."""
    return number(abs(value)) if found.unit == "output" else times(np.exp(abs(value)))


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _verb(found: Comparison, value: float) -> str:
    up, down = ("raises", "lowers") if found.unit == "output" else ("multiplies", "divides")
    return up if value >= 0 else down


def _worth(found: Comparison, value: float) -> str:
    """A mean without its limits."""
    return with_limits(value, (value, value), found.unit).partition(" (")[0]
