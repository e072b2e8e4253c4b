"""A single row, or an average, in words: where its contributions begin and end, its table, and what it hangs on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from xcid.records import Explanation
from xcid.show import wording
from xcid.show.wording.names import clean, format_number, format_percent

IMPORTANCE = "importance: CID's d1, from 0 to 1"
ALONE = "alone: the usual values with which, nothing else changed, {it}"
SUM = "{exact}contributions in {unit}: from {start} on average over the reference data to {end} {here}"
BARS = "bars: mean absolute contribution"
MOST_SENTENCES = 3
HARDLY = 0.02  # of all that the features of a row did
USUAL = "nothing else changed,"


def format_on_scale(explanation: Explanation, value: float, write: Callable[[float], str] = format_number) -> str:
    """A number on the scale of contributions, such as a base value: "-0.62 (35%)" for log odds, "35%", "152.1"."""
    if explanation.scale == "number":
        return write(value)
    if explanation.scale == "probability":
        return format_percent(value)
    return f"{value:+.2f} ({format_percent(float(special.expit(value)))})"


def explain_sum(one: Explanation, write: Callable[[float], str] = format_number) -> str:
    """Where the contributions of a single row, or of an average, begin and end; "" where they do not add up.

    "contributions in probability of diabetes: from 35% on average over the reference data to 90% here".
    """
    ends = list_ends(one, write)
    if not ends:
        return ""
    here, exact = "here" if one.n_rows is None else "on average here", "exact " if wording.is_exact(one) else ""
    return SUM.format(exact=exact, unit=wording.name_unit(one), start=ends[0], end=ends[1], here=here)


def list_ends(one: Explanation, write: Callable[[float], str] = format_number) -> list[str]:
    """The base value of a single row, and what contributions add it up to; none where they do not add up."""
    if one.base_values is None:
        return []
    start = float(one.base_values[0])
    return [format_on_scale(one, value, write) for value in (start, start + float(one.values[0].sum()))]


def list_table(one: Explanation, shown: list[int]) -> list[list[str]]:
    """Headings and cells of some features of a single row; columns in which nothing stands are left out."""
    worths = wording.list_worths(one)
    lines = [list_row_headings(one), *(list_row_cells(one, at, worths[at]) for at in shown)]
    used = [at for at in range(len(lines[0])) if any(line[at] for line in lines[1:])]
    return [[line[at] for at in used] for line in lines]


def list_row_headings(one: Explanation) -> list[str]:
    """What stands above the columns of :func:`list_row_cells`."""
    score = "contribution" if one.base_values is not None else "score"
    worth = "odds (95% limits)" if one.scale == "log_odds" else "95% limits"
    beside = "value" if one.n_rows is None else "significant"
    return [
        "feature", beside, score, worth.partition(" (")[0] if wording.is_exact(one) else worth, "importance", "alone",
    ]  # fmt: skip


def list_row_cells(one: Explanation, at: int, worth: str) -> list[str]:
    """A feature of a single row: its name, its value, what it did, its importance, and how many values flip alone."""
    beside = one.shown(0, at) if one.n_rows is None else wording.format_share(one, at)
    hangs = ["", ""]
    if one.base_values is not None and not np.isnan(one.importance[0, at]):
        alone = get_share(one, at)
        hangs = [f"{one.importance[0, at]:.2f}", "" if np.isnan(alone) else f"{alone:.0%}"]
    return [one.feature_names[at], beside, wording.format_score(one, one.values[0, at]), worth, *hangs]


def list_notes(one: Explanation, shown: list[int], mark: str) -> list[str]:
    """What stands under the scores of some features of a single row: how many are left out, and what marks mean."""
    worths, left_out = wording.list_worths(one), wording.count_left_out(len(one.feature_names), len(shown))
    notes = [left_out, wording.explain_score(one), *explain_importance(one)]
    notes.append(wording.SHARE if one.share_significant is not None else "")
    notes.append(BARS if one.size is not None and one.base_values is not None else "")
    notes.append(wording.explain_unit(one) if any(worths[at] for at in shown) else "")
    notes.append(f"{mark}{wording.NOT_SIGNIFICANT}" if wording.is_faint(one)[0, shown].any() else "")
    return [note for note in notes if note]


def explain_importance(explanation: Explanation) -> list[str]:
    """What the columns of importance say, as far as there are any."""
    if explanation.base_values is None or np.isnan(explanation.importance).all():
        return []
    has_shares = explanation.flips_alone is not None and not np.isnan(explanation.flips_alone).all()
    does = f"it {wording.choose_verb(explanation)}s"
    return [IMPORTANCE, ALONE.format(it=does)] if has_shares else [IMPORTANCE]


def get_share(one: Explanation, at: int) -> float:
    """The share of a feature's usual values that flip a single row alone; NaN where that is not known."""
    return np.nan if one.flips_alone is None else float(one.flips_alone[0, at])


def word_importance(one: Explanation, at: int, cell: Callable[[str], str] = str) -> str:
    """What the decision hangs on, in a sentence from counts; "" where nothing is known of the feature alone.

    "With 62% of the usual values of BMI, nothing else changed, the decision would be another." A feature that has done
    little is said to have; of one with which nothing flips, what it has done.
    """
    share, value, name = (
        get_share(one, at),
        float(one.values[0, at]),
        clean(one.feature_names[at], wording.MOST_LETTERS),
    )
    if np.isnan(share):
        return ""
    moves = wording.choose_verb(one) == "move"
    answer = "decision" if wording.name_subject(one) == wording.PREDICTION else "answer"
    what = "the output would move" if moves else f"the {answer} would be another"
    did = cell(wording.format_score(one, value))
    told = f" ({did})" if did else ""
    if share == 0:
        return f"{name} has done much{told}, and with none of its usual values, {USUAL} {what}."
    if abs(value) <= HARDLY * np.abs(one.values[0]).sum():
        return f"{name} has hardly moved the output{told}, but with {share:.0%} of its usual values, {USUAL} {what}."
    return f"With {share:.0%} of the usual values of {name}, {USUAL} {what}."


def list_sentences(one: Explanation, cell: Callable[[str], str] = str) -> list[str]:
    """Some sentences about what a single row hangs on: the features that flip it most often alone.

    The last one is about the feature that has done most, if that is none of them.
    """
    if one.base_values is None or one.flips_alone is None or one.n_rows is not None:
        return []
    shares, strongest = np.nan_to_num(one.flips_alone[0]), int(wording.rank_largest(one.values[0], 1)[0])
    found = [at for at in wording.rank_largest(shares, MOST_SENTENCES).tolist() if shares[at] > 0]
    if shares[strongest] == 0 and one.values[0, strongest] and not wording.is_faint(one)[0, strongest]:
        found = [*found[: MOST_SENTENCES - 1], strongest]
    return [text for at in found if (text := word_importance(one, at, cell))]
