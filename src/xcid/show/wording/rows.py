"""A single row, or an average, in words: its sum, its table, what it hangs on, and the evidence of a feature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from xcid._numbers import format_fixed, format_number, format_probability, percent, round_half_up
from xcid.cid.distances import Overlap
from xcid.cid.drawn import Kept
from xcid.records import DensityPair, Explanation, Plan
from xcid.show import wording
from xcid.show.wording.names import is_odds

IMPORTANCE = "importance: how much the decision hangs on the feature, from 0 to 1 (CID's measure)"
ALONE = "alone: of {tried} that were tried, the share with which, nothing else changed, {it}"
SUM = "{exact}contributions in {unit}: from {start} on average over {whom} to {end} {here}"
BANZHAF = "Banzhaf values (others kept by halves), made to add up: too few samples for so many features"
BARS = "bars, and the order: mean size, which is the mean absolute contribution"
MOST_SENTENCES = 3
HARDLY = 0.02  # of all that the features of a row did
SEVERAL = 0.25  # of the usual values, two of eight: a single one may stand for hardly any others
STAYS, BOTH = "perturbations that stay (C−)", "in both"
OWN, AT_ONE_VALUE = "this row's value", "lines with dots: share at exactly one value (right-hand scale)"


def format_on_scale(explanation: Explanation, value: float, write: Callable[[float], str] = format_number) -> str:
    """An output of a row on the scale of contributions: "-0.62 (0.35)" for log odds, "0.35", "152.1"."""
    if explanation.scale == "number":
        return write(value)
    if explanation.scale == "probability":
        return format_probability(value)
    if explanation.scale == "margins":  # a share of two classes is no probability
        return format_fixed(value, 2, is_signed=True)
    return f"{format_fixed(value, 2, is_signed=True)} ({format_probability(float(special.expit(value)))})"


def format_mean(explanation: Explanation, value: float, write: Callable[[float], str] = format_number) -> str:
    """A mean on that scale: a probability that belongs to mean log odds is no mean probability, and is left out."""
    if is_odds(explanation.scale):
        return format_fixed(value, 2, is_signed=True)
    return format_on_scale(explanation, value, write)


def explain_sum(one: Explanation, write: Callable[[float], str] = format_number) -> str:
    """Where the contributions of a single row, or of an average, begin and end; "" where they do not add up.

    "contributions in probability of diabetes: from 0.35 on average over the reference data to 0.90 here".
    """
    ends = list_ends(one, write)
    if not ends:
        return ""
    here, exact = "here" if one.n_rows is None else "on average here", "exact " if wording.is_exact(one) else ""
    return word_sum(one).format(exact=exact, unit=wording.name_unit(one), start=ends[0], end=ends[1], here=here)


def word_sum(explanation: Explanation) -> str:
    """The sentence about a sum with its places; it says which rows the average is over."""
    whom = (explanation.details.settings or {}).get("compared", "the reference data").partition(":")[0]
    return SUM.replace("{whom}", whom)


def list_ends(one: Explanation, write: Callable[[float], str] = format_number) -> list[str]:
    """The base value of a single row, and what contributions add it up to; none where they do not add up."""
    if one.base_values is None:
        return []
    start, put = float(one.base_values[0]), format_on_scale if one.n_rows is None else format_mean
    return [format_mean(one, start, write), put(one, round(start + float(one.values[0].sum()), 9), write)]


def list_table(one: Explanation, shown: list[int]) -> list[list[str]]:
    """Headings and cells of some features of a single row; columns in which nothing stands are left out."""
    worths = wording.list_worths(one)
    lines = [list_row_headings(one), *(list_row_cells(one, at, worths[at]) for at in shown)]
    used = [at for at in range(len(lines[0])) if any(line[at] for line in lines[1:])]
    return [[line[at] for at in used] for line in lines]


def list_row_headings(one: Explanation) -> list[str]:
    """What stands above the columns of :func:`list_row_cells`."""
    score = "contribution" if one.base_values is not None else "score"
    score = f"mean {score}" if has_sizes(one) else score
    limits = wording.name_limits(one)
    worth = f"odds ({limits})" if is_odds(one.scale) else limits
    beside = "value" if one.n_rows is None else "significant"
    return [
        "feature", beside, "mean size", score, worth if wording.has_limits(one) else worth.partition(" (")[0],
        "importance", "alone",
    ]  # fmt: skip


def list_row_cells(one: Explanation, at: int, worth: str) -> list[str]:
    """A feature of a single row: its name, its value, what it did, its importance, and how many values flip alone."""
    beside = one.shown(0, at) if one.n_rows is None else wording.format_share(one, at)
    hangs = ["", ""]
    is_tried = one.feature_status[0, at] != "frozen"  # else 0 would say that the decision does not hang on it
    if is_tried and one.base_values is not None and not np.isnan(one.importance[0, at]):
        alone = get_share(one, at)
        hangs = [f"{round_half_up(one.importance[0, at], 2):.2f}", "" if np.isnan(alone) else percent(alone)]
    size = "" if not has_sizes(one) else wording.format_score(one, one.size[0, at]).lstrip("+")  # type: ignore[index]
    return [one.feature_names[at], beside, size, wording.format_score(one, one.values[0, at]), worth, *hangs]


def has_sizes(one: Explanation) -> bool:
    """Whether these are means of contributions, which have a mean size beside the signed mean."""
    return one.size is not None and one.base_values is not None


def list_notes(one: Explanation, shown: list[int], mark: str) -> list[str]:
    """What stands under the scores of some features of a single row: how many are left out, and what marks mean."""
    worths, left_out = wording.list_worths(one), wording.count_left_out(len(one.feature_names), len(shown))
    notes = [left_out, wording.explain_score(one), *explain_importance(one)]
    notes.append(BANZHAF if one.estimand == "Banzhaf" and one.base_values is not None else "")
    notes.append(wording.SHARE if one.share_significant is not None else "")
    notes.append(BARS if has_sizes(one) else "")
    notes.append(wording.explain_unit(one) if any(worths[at] for at in shown) else "")
    notes.append(f"{mark}{wording.explain_faint(one)}" if wording.is_faint(one)[0, shown].any() else "")
    return [note for note in notes if note]


def explain_importance(explanation: Explanation, write: Callable[[float], str] = format_number) -> list[str]:
    """What the columns of importance say, as far as there are any."""
    if explanation.base_values is None or np.isnan(explanation.importance).all():
        return []
    has_shares = explanation.flips_alone is not None and not np.isnan(explanation.flips_alone).all()
    if not has_shares:
        return [IMPORTANCE]
    tried = {len(plan.alone) for plan in explanation.cloud.plans if isinstance(plan, Plan)} if explanation.cloud else ()
    values = f"{tried.pop()} usual values" if len(tried) == 1 else "the usual values"
    it = f"it {wording.choose_verb(explanation)}s{say_how_far(explanation, write)}"
    return [IMPORTANCE, ALONE.format(tried=values, it=it)]


def say_how_far(explanation: Explanation, write: Callable[[float], str] = format_number) -> str:
    """How far a number must move to count as another answer: " by more than 41.33"; "" where outputs flip."""
    if wording.choose_verb(explanation) != "move":
        return ""
    far = getattr(explanation.details.outcome, "half_width", None)
    return " far enough to count" if far is None else f" by more than {write(far)}"


def get_share(one: Explanation, at: int) -> float:
    """The share of a feature's usual values that flip a single row alone; NaN where that is not known."""
    return np.nan if one.flips_alone is None else float(one.flips_alone[0, at])


def find_hangs(one: Explanation) -> list[tuple[int, int]]:
    """Features to say something of, each with the place of its sentence in :func:`list_hangs`.

    Those that flip a single row most often alone; the last is the one that has done most, if that flips nothing.
    """
    if one.base_values is None or one.flips_alone is None or one.n_rows is not None:
        return []
    sizes, shares = np.abs(one.values[0]), np.nan_to_num(one.flips_alone[0])
    found = [at for at in wording.rank_largest(shares, MOST_SENTENCES).tolist() if shares[at] > 0]
    hardly, strongest = (sizes <= HARDLY * sizes.sum()) & (shares >= SEVERAL), int(sizes.argmax())
    told = [(int(hardly[at]), at) for at in found]
    if get_share(one, strongest) == 0 and sizes[strongest] > 0 and not wording.is_faint(one)[0, strongest]:
        return [*told[: MOST_SENTENCES - 1], (2, strongest)]
    return told


def list_hangs(explanation: Explanation, write: Callable[[float], str] = format_number) -> list[str]:
    """Sentences about what a decision hangs on, by counts: what flips it, what has done little and does, what does not.

    ``{name}`` stands for the feature, ``{share}`` for that of its usual values which flip alone, and ``{did}`` for its
    contribution.
    """
    answer = "decision" if wording.name_subject(explanation) == wording.PREDICTION else "answer"
    far = say_how_far(explanation, write)
    what = f"nothing else changed, the {f'output would move{far}' if far else f'{answer} would be different'}."
    does = f"move the output{far}" if far else f"change the {answer}"
    tried = f"of its usual values that were tried, {what}"
    return [
        f"With {{share}} of the usual values of {{name}} that were tried, {what}",
        f"{{name}} has hardly moved the output ({{did}}), but with {{share}} {tried}",
        f"{{name}} has done much ({{did}}), but hardly any of its usual values would {does}, nothing else changed: "
        "none of those that were tried did.",
    ]


def name_flips(explanation: Explanation) -> str:
    """What C+ is: "perturbations that flip the output (C+)"."""
    return f"perturbations that {wording.choose_verb(explanation)} the output (C+)"


def word_evidence(kept: Kept, shown: str, does: str = "flip") -> str:
    """What the evidence of a feature comes to, in a sentence: how many perturbations of either set keep its value.

    ``does`` is the verb of C+, as :func:`xcid.show.wording.choose_verb` gives it.

    Examples
    --------
    >>> from xcid.cid.drawn import Kept
    >>> word_evidence(Kept(0.6, 0.24), "98")
    'Among the perturbations that stay, 60% keep 98; among those that flip, 24%.'
    """
    if np.isnan(kept.flip) or np.isnan(kept.stay):
        return f"None of the perturbations {does if np.isnan(kept.flip) else 'stay'}s."
    stay, flip = map(percent, kept)
    keep = "leave it missing" if shown == "missing" else f"keep {shown}"
    return f"Among the perturbations that stay, {stay} {keep}; among those that {does}, {flip}."


def measure_noise(one: Explanation, row: int, feature: int, pair: DensityPair) -> float | None:
    """The d1 of what is drawn, where it is not the importance beside it, which noise was taken out of; else None."""
    tested = one.importance_p_values
    if tested is None or np.isnan(tested[row, feature]):
        return None
    apart = float(Overlap()(pair.p, pair.q, pair.weights))
    return None if round_half_up(apart, 2) == round_half_up(one.importance[row, feature], 2) else apart
