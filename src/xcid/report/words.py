"""The explanation of a row in a few sentences."""

from __future__ import annotations

import numpy as np

from xcid.outcomes.outputs import OTHER_LABEL, are_probabilities
from xcid.records import SIGNIFICANT, Array, Explanation, Flags, Integers
from xcid.report._text import clean, listed
from xcid.report.questions import question
from xcid.report.values import SHOWN, Values

MOST_NAMES = 3  # in a sentence
MOST_LETTERS = 40  # of a name

STATUSES = {
    "ok": "there are enough perturbations of both kinds",
    "insufficient_flips": "fewer perturbations flip the output than were asked for: take the scores with care",
    "insufficient_stays": "fewer perturbations keep the output than were asked for: take the scores with care",
    "rare_flips": "flips are so rare that a directed search had to find them",
    "rare_stays": "perturbations that keep the output are so rare that a directed search had to find them",
    "no_flips": "no perturbation flips the output: the scores rest on probabilities alone",
    "model_failed": "the model failed for this row or its perturbations: nothing is known of it",
    "too_slow": "the model took longer than it may: nothing is known of this row",
    "some_rows_lack_samples": "some of the rows behind this average lack perturbations of a kind",
}


def summary(explanation: Explanation, row: int = 0, values: Values = SHOWN) -> tuple[str, ...]:
    """Say what the model answers for one row, what holds the answer there, what pulls away, and what is noise.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> background = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = xcid.Explainer(lambda X: X[:, 1] > 0, background, feature_names=["a", "b", "c"])
    >>> print(*summary(explainer([0.2, 1.5, -0.3])))
    The model says True. b holds it there. a and c cannot be told from noise.
    """
    one = explanation[row]
    sentences = [_answer(one, values), *_status(one)]
    sentences += _decisive(one, values) if _is_signed(one) else _different(one)
    return (*sentences, *_noise(one), *_fixed(one))


def answer(one: Explanation, values: Values) -> str:
    """What the model answers for one row: "positive with 0.81", or a number."""
    outputs = one.outputs[0]
    if np.isnan(outputs).any():
        return "no answer"
    if len(outputs) == 1:
        return values.number(float(outputs[0]))
    top = int(outputs.argmax())
    name = clean(one.output_names[top], MOST_LETTERS)
    if one.output_names[-1] == OTHER_LABEL:  # of a model that gives labels only
        return name
    return f"{name} with {outputs[top]:.2f}" if are_probabilities(one.outputs) else f"{name} with {outputs[top]:.3g}"


def _answer(one: Explanation, values: Values) -> str:
    return f"The model {'gives' if one.outputs.shape[1] == 1 else 'says'} {answer(one, values)}."


def _status(one: Explanation) -> list[str]:
    status = str(one.status[0])
    if status == "ok":
        return []
    known = STATUSES.get(status, f"status: {clean(status, MOST_LETTERS)}")
    return [f"{known[0].upper()}{known[1:]}."]


def _decisive(one: Explanation, values: Values) -> list[str]:
    """Who holds and who pulls, among those that are told from noise."""
    scores, told = one.values[0], _told(one)
    if not told.any():
        if one.p_values is None or not _free(one).any():
            return ["All scores are 0."]
        return ["No feature can be told from noise."]
    asked = question(one, values.number)
    hold, pull = (_largest(one, told & side) for side in (scores > 0, scores < 0))
    parts = []
    if hold.size:
        parts.append(f"{_names(one, hold)} {asked.holds if hold.size == 1 else asked.hold}")
    if pull.size:
        parts.append(f"{_names(one, pull)} {asked.pulls if pull.size == 1 else asked.pull}")
    said = [f"{'; '.join(parts)}."]
    return said if one.p_values is not None else [*said, "These scores have no p-values: small ones may be noise."]


def _different(one: Explanation) -> list[str]:
    """What stands out where scores have no sign."""
    first = _largest(one, _told(one))[:MOST_NAMES]
    names = listed([f"{_name(one, at)} ({one.values[0, at]:.2f})" for at in first.tolist()])
    said = [f"Perturbations that flip it differ most from those that do not in {names}."]
    return said if one.p_values is not None else [*said, "There are no signs and no p-values in this setting."]


def _noise(one: Explanation) -> list[str]:
    noise = np.flatnonzero(is_noise(one)[0])
    if not noise.size or not _told(one).any():
        return []
    n_features = one.values.shape[1]
    who = _names(one, noise) if noise.size <= MOST_NAMES else f"{noise.size} of the {n_features} features"
    return [f"{who} cannot be told from noise."]


def _fixed(one: Explanation) -> list[str]:
    fixed = np.flatnonzero(~_free(one))
    if not fixed.size:
        return []
    who = _names(one, fixed) if fixed.size <= MOST_NAMES else f"{fixed.size} features"
    return [f"{who} could not change here."]


def is_noise(explanation: Explanation) -> Flags:
    """(n, d) features that have a p-value and cannot be told from noise by it."""
    if explanation.p_values is None:
        return np.zeros(explanation.values.shape, dtype=np.bool_)
    return (explanation.feature_status == "ok") & ~(explanation.p_values <= SIGNIFICANT)


def _told(one: Explanation) -> Flags:
    """(d,) features worth a word: told from noise or, where there are no p-values, not 0."""
    there: Flags = _free(one) & (one.values[0] != 0)
    return there if one.p_values is None else there & ~is_noise(one)[0]


def _free(one: Explanation) -> Flags:
    free: Flags = one.feature_status[0] == "ok"
    return free


def _is_signed(one: Explanation) -> bool:
    return bool(one.direction.any()) or not _told(one).any()


def _largest(one: Explanation, chosen: Flags) -> Integers:
    """Positions of the chosen features, the largest scores first."""
    found = np.flatnonzero(chosen)
    scores: Array = np.abs(one.values[0, found])
    return found[np.argsort(-scores, kind="stable")]


def _names(one: Explanation, chosen: Integers) -> str:
    names = [_name(one, at) for at in chosen[:MOST_NAMES].tolist()]
    more = chosen.size - len(names)
    if more == 1:
        names.append(_name(one, int(chosen[-1])))
    return listed([*names, f"{more} more"] if more > 1 else names)


def _name(one: Explanation, feature: int) -> str:
    return clean(one.feature_names[feature], MOST_LETTERS)
