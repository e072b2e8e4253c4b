"""How a comparison of two explanations is worded wherever it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xcid.records import Array
from xcid.records.fields import COMPUTATION
from xcid.show.wording import MOST_LETTERS, NOT_SIGNIFICANT, OVER, count_left_out, name_class, rank_largest
from xcid.show.wording.names import (
    clean,
    count_in_words,
    format_effect,
    format_limits,
    is_odds,
)

if TYPE_CHECKING:
    from xcid.comparison import Comparison


def title_comparison(found: Comparison) -> str:
    """What is compared: "March compared with January: the mean of 120 rows against that of 131"."""
    first, second = _names(found)
    n_first, n_second = found.n_rows
    what = {
        "rows": "two single rows",
        "pairs": f"the same {count_in_words(n_first, 'row')}, compared row by row",
        "groups": f"the mean of {count_in_words(n_second, 'row')} against that of {n_first:,}",
    }
    return f"{second} compared with {first}: {what[found.kind]}"


def list_headings(found: Comparison) -> list[str]:
    """What stands above the columns of :func:`list_cells`."""
    return ["feature", *_names(found), f"difference ({name_limits(found)})", "p", "adjusted p"]


def name_limits(found: Comparison) -> str:
    """What limits of differences allow for: "95% limits over rows"."""
    over = [] if found.kind == "rows" else ["rows"]
    over += [OVER[found.limits]] if not over or found.limits != COMPUTATION else []
    return f"95% limits over {' and '.join(over)}"


def list_cells(found: Comparison, at: int) -> list[str]:
    """A feature, what it is worth in both, the difference with its limits, and its p-values."""
    values = [float(part[at]) for part in (found.first, found.second)]
    worths = [format_effect(value, found.scale, _like(found, value)) for value in values]
    if found.shown:
        worths = [f"{clean(cell, MOST_LETTERS)}: {worth}" for cell, worth in zip(found.shown[at], worths, strict=True)]
    ends = float(found.lower[at]), float(found.upper[at])
    name, gap = clean(found.feature_names[at], MOST_LETTERS), float(found.difference[at])
    apart = format_limits(gap, ends, found.scale, _like(found, gap))
    return [name, *worths, apart, *(_p_value(part[at]) for part in (found.p_values, found.adjusted_p_values()))]


def explain_unit(found: Comparison) -> str:
    """What the numbers of :func:`list_cells` are."""
    if is_odds(found.scale):
        return f"× and ÷: what present values multiply or divide the odds of {name_class(found.about)} by"
    return f"+ and -: what present values add to {_what(found)}"


def list_notes(found: Comparison, shown: list[int]) -> list[str]:
    """What stands under the cells of some features: how many are left out, and what numbers and marks mean."""
    mark = "" if found.significant[shown].all() else f"~ {NOT_SIGNIFICANT}"
    left_out = count_left_out(len(found), len(shown), "difference")
    return [note for note in (left_out, explain_unit(found), mark) if note]


def word_strongest(found: Comparison, most: int) -> list[str]:
    """Sentences about the strongest significant differences, or one that says that there is none."""
    strongest = [at for at in rank_largest(found.difference).tolist() if found.significant[at]]
    nothing = f"No difference is significant, with p-values adjusted for {count_in_words(len(found), 'feature')}."
    told = [word_difference(found, at) for at in strongest[:most]] if strongest else [nothing]
    return told + _word_sizes(found, most)


def _word_sizes(found: Comparison, most: int) -> list[str]:
    """Sentences about features that count more in one of the two, where their means do not say so."""
    sizes = found.sizes
    if sizes is None:
        return []
    hidden = sizes.significant & ~found.significant
    return [_word_size(sizes, at) for at in rank_largest(sizes.difference).tolist() if hidden[at]][:most]


def _word_size(sizes: Comparison, at: int) -> str:
    """Such as "debt: counts more in women, up or down: a factor of 2.2 on average in women, 1.5 in men"."""
    name, names = clean(sizes.feature_names[at], MOST_LETTERS), _names(sizes)
    more = names[int(sizes.difference[at] > 0)]
    ends = [_size(sizes, float(part[at])) for part in (sizes.first, sizes.second)]
    of = "a factor of " if sizes.scale == "log_odds" else ""
    return (
        f"{name}: counts more in {more}, up or down: {of}{ends[0]} on average in {names[0]}, "
        f"{ends[1]} in {names[1]} (adjusted p {_p_value(sizes.adjusted_p_values()[at])})"
    )


def explain_axis(found: Comparison) -> str:
    """What a difference is, under a picture of many."""
    first, second = _names(found)
    return f"what present values do to {_what(found)},\n{second} against {first}"


def word_difference(found: Comparison, at: int) -> str:
    """One feature in both: what it does to the odds or to the output, and how far these lie apart.

    "Glucose: divides the odds of diabetes by 1.2 in January and by 1.7 in March: a ratio of 1.4 (1.2 to 1.7)".
    """
    name = clean(found.feature_names[at], MOST_LETTERS)
    if not found.significant[at]:
        return f"{name}: no significant difference"
    values = [float(part[at]) for part in (found.first, found.second)]
    verbs = [_verb(found, value) for value in values]
    what, it = _what(found), "them" if is_odds(found.scale) else "it"
    again = "" if verbs[0] == verbs[1] else f"{verbs[1]} {it} "
    sizes, (first, second) = [_size(found, value) for value in values], _names(found)
    gap = float(found.difference[at])
    low, high = sorted(abs(float(end[at])) for end in (found.lower, found.upper))  # with the sign of the difference
    over = "" if low == high else f" ({_size(found, low, gap)} to {_size(found, high, gap)})"
    apart = "ratio" if is_odds(found.scale) else "difference"
    return (
        f"{name}: {verbs[0]} {what} by {sizes[0]} in {first} and {again}by {sizes[1]} in {second}: a {apart} of "
        f"{_size(found, gap)}{over}"
    )


def _names(found: Comparison) -> tuple[str, str]:
    return clean(found.names[0], MOST_LETTERS), clean(found.names[1], MOST_LETTERS)


def _size(found: Comparison, value: float, like: float | None = None) -> str:
    """A number without its sign: what odds are multiplied or divided by, or in the unit of the output."""
    return format_effect(abs(value), found.scale, _like(found, value if like is None else like)).lstrip("×+")


def _like(found: Comparison, value: float) -> float | Array:
    """The numbers whose decimals a value has: those of all values, in the unit of an output."""
    parts = found.first, found.second, found.difference, found.lower, found.upper
    return np.array(parts) if found.scale == "number" else value


def _what(found: Comparison) -> str:
    """What present values do something to."""
    if found.scale == "number":
        return "the output"
    return f"the {'odds' if found.scale == 'log_odds' else 'probability'} of {name_class(found.about)}"


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _verb(found: Comparison, value: float) -> str:
    up, down = ("multiplies", "divides") if is_odds(found.scale) else ("raises", "lowers")
    return up if value >= 0 else down
