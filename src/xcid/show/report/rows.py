"""Rows in plain numbers and in a few sentences, and all rows together."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from xcid import calibration, directions
from xcid._check import name_class
from xcid._numbers import format_number, round_half_up
from xcid.outcomes.protocol import as_question
from xcid.records import Array, Explanation, Flags, Integers, meaning
from xcid.show import wording
from xcid.show.reasons import Reasons
from xcid.show.report.page import SHOWN, Values
from xcid.show.wording import rows as words
from xcid.show.wording.names import clean, join_names, make_sentence

MOST_OUTPUTS = 6
MOST_WHOLE = 1e9  # scores that keep all digits of their whole part
MOST_NAMES = 3  # in a sentence
MOST_EFFECTS = 3  # features that have a sentence of their own
MOST_LETTERS = 40  # of a name
MOST_LETTERS_OF_A_QUESTION = 80


def choose_unit(explanation: Explanation) -> float:
    """The step that scores are rounded to: thousandths, or four digits of the largest where it is above 1 or tiny."""
    largest = wording.find_largest(explanation)
    if largest == 0 or 0.05 <= largest <= 1:
        return 0.001
    unit = 10.0 ** (math.floor(math.log10(largest)) - 3)
    return min(unit, 1.0) if largest < MOST_WHOLE else unit  # as texts have them, all digits of a whole part


def describe_row(
    explanation: Explanation, row: int, position: int, unit: float, values: Values, chosen: Integers | None = None
) -> dict[str, Any]:
    """Everything about one row but its evidence, for all features or those chosen; what it lacks, the record lacks.

    A row that is not explained has no ``score`` and nothing else that rests on perturbations.
    """
    one = explanation[row]
    chosen = np.arange(len(one.feature_names)) if chosen is None else chosen
    has_classes = one.outputs.shape[1] > 1 and not np.isnan(one.outputs).any()
    record = {
        "name": values.row(position, one.index[0]),
        "answer": wording.format_prediction(one.outputs[0], one.output_names, values.number),
        "top": int(one.outputs[0].argmax()),
        "status": clean(one.status[0]),
        "sentences": list(summary(one, 0, values)),
        "evaluations": int(one.n_evaluations[0]),
        "cells": [values.cell(one.shown(0, at)) for at in chosen.tolist()],
        "outputs": list_outputs(one.outputs[0]) if has_classes else None,
    }
    if wording.is_explained(one):
        record |= _scores_of(one, chosen, unit, values)
    return {name: part for name, part in record.items() if part is not None}


def _scores_of(one: Explanation, chosen: Integers, unit: float, values: Values) -> dict[str, Any]:
    """Scores of a single row, what they are worth, and what it hangs on; None for what it lacks."""
    tried = round(float(one.n_positive[0] + one.n_negative[0]))
    status = one.feature_status[0, chosen]
    fixed = [[int(at), clean(status[at])] for at in np.flatnonzero(status != "ok")]
    is_hidden, is_exact = hides_unit(one, values), bool(one.exact[0])  # type: ignore[index]
    is_bare = not wording.has_limits(one)
    worths = {} if is_hidden else dict(enumerate(wording.list_worths(one)))
    alone, place = one.flips_alone, {at: key for key, at in enumerate(chosen.tolist())}
    return {
        "sum": None if is_hidden else words.list_ends(one) or None,
        "about": name_class(clean(one.about[0])) if one.outputs.shape[1] > 2 else None,
        "effects": word_effects(one, values) or None,
        "hangs": [[kind, place[at]] for kind, at in words.find_hangs(one) if at in place] or None,
        "score": _count_steps(one.values[0, chosen], unit),
        "exact": is_exact or None,
        "d1": _count_steps(np.where(status == "frozen", np.nan, one.importance[0, chosen]), 0.01),
        "alone": None if alone is None else _count_steps(np.where(status == "frozen", np.nan, alone[0, chosen]), 0.01),
        "flips": int(one.n_flips[0]) if tried else None,
        "tried": tried or None,
        "lower": None if one.lower is None or is_bare else _count_steps(one.lower[0, chosen], unit),
        "upper": None if one.upper is None or is_bare else _count_steps(one.upper[0, chosen], unit),
        "p": None if one.p_values is None else _round_up(one.p_values[0, chosen]),
        "faint": np.flatnonzero(wording.is_faint(one)[0, chosen]).tolist() or None,
        "fixed": fixed or None,
        "worth": [[place, worths[at]] for place, at in enumerate(chosen.tolist()) if worths.get(at)] or None,
    }


def word_effects(one: Explanation, values: Values) -> list[str]:
    """A sentence for each of the strongest significant features of a single row: what its present value does."""
    if not wording.is_signed(one) or one.lower is None or hides_unit(one, values):
        return []
    decisive = ~wording.is_faint(one)[0] & (one.values[0] != 0)
    chosen = _rank_chosen(one, decisive)[:MOST_EFFECTS].tolist()
    return [f"{wording.word_feature(one, at, values.in_sentence)}." for at in chosen]


def word_reasons(explanation: Explanation, reasons: Reasons | None, values: Values) -> list[str]:
    """A line about the reasons of each row; functions of hidden values are not called, and names stand for them."""
    if reasons is None:
        return [""] * len(explanation)
    if values.is_hidden:
        plain = {name: text for name, text in reasons.texts.items() if isinstance(text, str)}
        reasons = replace(reasons, texts={name: name for name in explanation.feature_names} | plain)
    return list(reasons.sentences(explanation, values.cell))


def hides_unit(one: Explanation, values: Values) -> bool:
    """Whether contributions are in the unit of an output that must not be shown."""
    return values.is_hidden and one.scale == "number"


def list_outputs(outputs: Array) -> list[list[float]]:
    """The largest of (k,) outputs, each with its position."""
    return [[at, round_number(outputs[at])] for at in np.argsort(-outputs, kind="stable")[:MOST_OUTPUTS].tolist()]


def round_number(number: float) -> float:
    """A number with few digits, which takes few bytes: those that ``format_number`` writes."""
    short = float(format_number(number).replace(",", ""))
    return number if short in (0.5, 1.0) else short  # a probability may be close to them, and keeps its side


def describe_all_rows(explanation: Explanation, chosen: Integers, unit: float) -> dict[str, Any]:
    """Mean absolute score of each feature, the mean contribution, and the share of rows where it is significant.

    Rows that are not explained are left out.
    """
    mean = calibration.aggregate(directions.explained(explanation))
    size = np.abs(mean.values) if mean.size is None else mean.size
    record: dict[str, Any] = {"score": _count_steps(size[0, chosen], unit)}
    record["d1"] = _count_steps(mean.importance[0, chosen], 0.01)
    if mean.flips_alone is not None:
        record["alone"] = _count_steps(mean.flips_alone[0, chosen], 0.01)
    if mean.share_significant is not None:
        record["significant"] = _count_steps(mean.share_significant[0, chosen], 0.01)
    if mean.base_values is not None:
        record |= {
            "mean": _count_steps(mean.values[0, chosen], unit),
            "lower": _count_steps(mean.lower[0, chosen], unit),  # type: ignore[index]
            "upper": _count_steps(mean.upper[0, chosen], unit),  # type: ignore[index]
            "limits": wording.name_limits(mean),
        }
    return record


def _count_steps(numbers: Array, unit: float) -> list[int | None]:
    """Whole numbers of steps; None for what is not a number."""
    steps = round_half_up(numbers / unit if unit >= 1 else numbers * np.rint(1 / unit))
    return [int(step) if np.isfinite(step) else None for step in steps]


def _round_up(p_values: Array) -> list[int | None]:
    """P-values are rounded up: what is not significant must not seem so."""
    nearest = np.rint(p_values * 1000)
    return _count_steps(nearest + (nearest / 1000 < p_values), 1.0)


def summary(explanation: Explanation, row: int = 0, values: Values = SHOWN) -> tuple[str, ...]:
    """Say what the model predicts for one row, what supports it, what works against it, and what is not significant.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> reference = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = xcid.Explainer(lambda X: X[:, 1] > 0, reference, feature_names=["a", "b", "c"])
    >>> print(*summary(explainer([0.2, 1.5, -0.3])))
    The model predicts True. b supports it. a and c are not significant.
    """
    one = explanation[row]
    free, faint = one.feature_status[0] != "constant", wording.is_faint(one)[0]
    decisive = free & ~faint & (one.values[0] != 0)
    said, status = wording.format_prediction(one.outputs[0], one.output_names, values.number), str(one.status[0])
    sentences = [f"The model {'gives' if said == wording.NO_OUTPUT else 'predicts'} {said}."]
    if not wording.is_explained(one):
        return (*sentences, f"The row is {wording.say_not_explained(one)}.")
    if status != "ok":
        sentences.append(make_sentence(meaning(clean(status, MOST_LETTERS))))
    if not decisive.any():
        nothing = one.p_values is None or not free.any()
        sentences.append("All scores are 0." if nothing else "No feature is significant.")
    else:
        sentences += _word_signed(one, decisive, values) if wording.is_signed(one) else _word_unsigned(one, decisive)
        sentences += _count_features(one, faint, "is not significant", "are not significant")
    return (*sentences, *_say_fixed(one))


def _say_fixed(one: Explanation) -> list[str]:
    """Which features cannot change, and why: where the reference data have one value only, they are the reason."""
    fixed, same = one.feature_status[0] != "ok", _is_constant(one)
    return [
        *_count_features(
            one, fixed & same, "has the same value in all reference rows", "have one value in all reference rows"
        ),
        *_count_features(one, fixed & ~same, "could not change here", "could not change here"),
    ]


def _is_constant(one: Explanation) -> Flags:
    """(d,) features that hold the one value that the reference data have."""
    plan = None if one.cloud is None else one.cloud.plan
    known = None if plan is None else plan.background  # of levels all are known anyway
    same = np.array(
        [
            len(levels) == 1 if levels else known is not None and bool(np.all(known[:, at] == one.data[0, at]))
            for at, levels in enumerate(one.details.levels)
        ]
    )
    is_alone = np.array([bool(same[list(columns)].all()) for columns in one.details.features])
    return is_alone & (one.feature_status[0] == "constant")


def _word_signed(one: Explanation, decisive: Flags, values: Values) -> list[str]:
    """Which features support the prediction, and which work against it; or raise and lower what signs are about."""
    parts = []
    support = float(directions.sides(one)[0]) if one.base_values is not None else 1.0
    sides = (_word_support(one, values), ("work", "against it"))
    if one.scale == "number" and (one.details.outcome is None or as_question(one.details.outcome).about_prediction):
        sides = (("raise", "it"), ("lower", "it"))
    for sign, (verb, what) in zip((support, -support), sides, strict=True):
        chosen = _rank_chosen(one, decisive & (sign * one.values[0] > 0))
        if chosen.size:
            parts.append(f"{_list_names(one, chosen)} {verb}{'s' if chosen.size == 1 else ''} {what}")
    said = [f"{'; '.join(parts)}."]
    return said if one.p_values is not None else [*said, "These scores have no p-values: small ones may be noise."]


def _word_support(one: Explanation, values: Values) -> tuple[str, str]:
    """Verb and object of a sentence about features that support the prediction: "support it", "keep it above 2"."""
    if one.details.outcome is None:  # some files do not keep a question
        asked = "outcome" in (one.details.settings or {})
        return ("keep", "it on its side of the question") if asked else ("support", "it")
    said = as_question(one.details.outcome).describe_side(one.outputs[0], one.output_names, values.number)
    side = clean(said, MOST_LETTERS_OF_A_QUESTION)
    return ("keep", side) if side else ("support", "it")


def _word_unsigned(one: Explanation, decisive: Flags) -> list[str]:
    """Where perturbations that flip differ, if scores have no sign."""
    first = _rank_chosen(one, decisive)[:MOST_NAMES].tolist()
    names = join_names([f"{_clean_name(one, at)} ({one.values[0, at]:.2f})" for at in first])
    said = [f"Perturbations that {wording.choose_verb(one)} it differ most from those that do not in {names}."]
    return said if one.p_values is not None else [*said, "Scores have no signs and no p-values in this setting."]


def _count_features(one: Explanation, which: Flags, one_does: str, several_do: str) -> list[str]:
    """A sentence about a few features by name, or about many by number."""
    chosen = np.flatnonzero(which)
    if not chosen.size:
        return []
    who = _list_names(one, chosen) if chosen.size <= MOST_NAMES else f"{chosen.size} of the {len(which)} features"
    return [f"{who} {one_does if chosen.size == 1 else several_do}."]


def _rank_chosen(one: Explanation, chosen: Flags) -> Integers:
    """Positions of the chosen features, the largest scores first."""
    order = wording.rank_largest(one.values[0])
    return order[chosen[order]]


def _list_names(one: Explanation, chosen: Integers) -> str:
    """The first names, and how many more there are; one more is named too."""
    shown = chosen if chosen.size == MOST_NAMES + 1 else chosen[:MOST_NAMES]
    names, more = [_clean_name(one, at) for at in shown.tolist()], chosen.size - shown.size
    return join_names([*names, f"{more} more"] if more else names)


def _clean_name(one: Explanation, feature: int) -> str:
    return clean(one.feature_names[feature], MOST_LETTERS)


def collect_phrases(explanation: Explanation, values: Values) -> dict[str, Any]:
    """What was asked, on which scale, and the words of a page about scores."""
    raises, lowers = wording.word_directions(explanation)
    phrases = {
        "supports": raises,
        "opposes": lowers,
        "unsigned": wording.explain_unsigned(explanation),
        "not_significant": wording.explain_faint(explanation),
        "verb": wording.choose_verb(explanation),
        "flips": words.name_flips(explanation),
        "stays": words.STAYS,
        "both": words.BOTH,
        "at_one_value": words.AT_ONE_VALUE,
        "worth": wording.explain_unit(explanation),
        "limits": wording.name_limits(explanation),
        "importance": words.explain_importance(explanation, values.number),
        "unit": "shares of the largest" if hides_unit(explanation, values) else wording.name_unit(explanation),
        "sum": words.word_sum(explanation),
        "hangs": words.list_hangs(explanation, values.number),
    }
    asked = clean(explanation.details.ask(explanation.output_names, values.number), 200)
    signed = wording.is_signed(explanation)
    return {"question": asked, "signed": signed, "scale": explanation.scale, "phrases": phrases}
