"""Reasons to give for a decision: the strongest significant features against an outcome, in the user's own texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid import directions, frames
from xcid._check import as_float, as_int, shown, shown_and_meant, sign_of, telling
from xcid._numbers import percent
from xcid.contributions.sources import find_shares, of_chance
from xcid.errors import InvalidParameter
from xcid.outcomes.classes import column_of
from xcid.outcomes.protocol import as_question
from xcid.records import Array, Explanation
from xcid.records.fields import COMPUTATION
from xcid.show import wording
from xcid.show.wording.names import clean, join_names, make_sentence, quote_value, read_value
from xcid.table import Backend, frame_of

Text: TypeAlias = str | Callable[[Any], str]
"""A text in which ``{value}`` stands for the present value, or a function that makes one of that value."""

SIDES = {1: "higher", -1: "lower"}  # outputs that reasons work against
COLUMNS = ("row", "rank", "feature", "text", "value", "worth", "p_value", "tied_with", "note")
SHARE, OTHER_RANK = "share", "other_rank"  # columns with refits, and with another explanation to compare with
NOT_DECIDED = "not decided: no feature is significant, corrected for their number"
UNCHANGEABLE = "cannot be changed"  # of a reason that the constraints freeze: it stays a reason
OTHER_ROWS = (
    "reference explains other rows, or another model: give what an explainer of the same model with other reference "
    "rows makes of the same rows, such as Explainer(model, X.iloc[explainer.just_above(X, 'approved', 0.5)])(rows)"
)
UNWORDED = "no text was given"  # where others have one: its name and value stand in a letter
ABOUT_ANOTHER = (
    "min_share about {0!r}: what the refits told is about another class; to count them, explain the rows with "
    "Explainer(..., refits=models, outcome=xcid.outcomes.ToClass({0!r}))"
)
LEAST = 0.01  # of the way from the average to the output that a reason moves it
FAR = f"{percent(LEAST)} of the output's distance from the average"
MOST_LETTERS = 160  # of a text in a sentence


class Reason(NamedTuple):
    """One reason of a row: which feature, what is said of it, and the features whose limits overlap its own.

    ``share`` of models trained afresh have it among as many reasons, with the same sign, as far as refits tell; NaN
    without them.
    """

    feature: int
    text: str
    tied_with: tuple[int, ...]
    share: float = np.nan


@dataclass(frozen=True, slots=True)
class Reasons:
    """How reasons are chosen and worded; the parameters are those of :meth:`xcid.Explanation.reasons`."""

    k: int = 4
    texts: Mapping[str, Text] = field(default_factory=dict)
    against: str | None = None
    min_share: float = 0.0

    def __post_init__(self) -> None:
        as_int(self.k, "k", at_least=1)
        if not 0 <= as_float(self.min_share, "min_share") <= 1:
            raise InvalidParameter(f"min_share must be a share between 0 and 1, not {self.min_share}")
        if not isinstance(self.texts, Mapping):
            raise InvalidParameter(f"texts must be a dict from features to texts, not {self.texts!r:.60}")
        for name, text in self.texts.items():
            if not isinstance(text, str) and not callable(text):
                raise InvalidParameter(f"the text of {name!r} must be a text or a function of its value, not {text!r}")

    def check(self, feature_names: Sequence[str], output_names: Sequence[str]) -> None:
        """Refuse texts of features that there are not, and an outcome that the model does not have."""
        unknown = [name for name in self.texts if name not in feature_names]
        if unknown:
            asked, known = shown_and_meant(unknown, feature_names), shown(feature_names)
            raise InvalidParameter(f"texts names {asked}, which the table does not have: its features are {known}")
        if len(output_names) > 1 and self.against is not None:
            column_of(self.against, output_names)
        elif self.against is not None and not sign_of(self.against):
            raise InvalidParameter(f"reasons about a number are against 'higher' or 'lower', not {self.against!r}")

    def frame(self, explanation: Explanation, backend: Backend, reference: Explanation | None = None) -> Any:
        """One line for each row and reason; a row without one has a line of rank 0 that says why."""
        asked, _ = self.turn_signs(explanation)
        others = [dict[int, int]()] * len(explanation) if reference is None else self._rank(reference, explanation)
        lines = [
            line
            for (one, found, tiny), ranks in zip(self._find_reasons(explanation), others, strict=True)
            for line in _list_lines(one, found, self._say_nothing(one, tiny), self._note, ranks)
        ]
        lacks = {SHARE: explanation.retrained is None, OTHER_RANK: reference is None}
        names = enumerate((*COLUMNS, SHARE, OTHER_RANK))
        columns = {name: [line[at] for line in lines] for at, name in names if not lacks.get(name)}
        frame = frame_of(columns, backend)
        if backend == "pandas":
            frame.attrs.update(frames.describe_source(asked))
        return frame

    def _rank(self, reference: Explanation, explanation: Explanation) -> list[dict[int, int]]:
        """The ranks of the reasons of each row, by feature, against other reference rows."""
        told = [(one.feature_names, one.output_names, one.outputs.shape) for one in (reference, explanation)]
        if told[0] != told[1] or not np.allclose(reference.outputs, explanation.outputs, rtol=1e-5, equal_nan=True):
            raise InvalidParameter(OTHER_ROWS)
        each = self._find_reasons(reference)
        return [{reason.feature: place for place, reason in enumerate(found, start=1)} for _, found, _ in each]

    def columns(self, explanation: Explanation) -> dict[str, Any]:
        """The columns of a frame of scores, and beside them reason_rank, reason and reason_tied_with.

        Features that are no reason have rank 0; in a row without reasons their ``reason`` says why there is none. With
        refits there is reason_share, too.
        """
        shape = explanation.values.shape
        share = np.full(shape, np.nan)
        rank, text, ties = np.zeros(shape, dtype=np.int64), np.full(shape, "", object), np.full(shape, "", object)
        for row, (one, found, tiny) in enumerate(self._find_reasons(explanation)):
            text[row] = "" if found else self._say_nothing(one, tiny)
            for place, reason in enumerate(found, start=1):
                at = row, reason.feature
                rank[at], text[at], ties[at] = place, reason.text, _join_names(one, reason.tied_with)
                share[at] = reason.share
        parts = {"reason_rank": rank.ravel()}
        parts |= {} if explanation.retrained is None else {"reason_share": share.ravel()}
        parts |= {name: part.ravel().astype(np.str_) for name, part in (("reason", text), ("reason_tied_with", ties))}
        return frames.to_columns(explanation) | parts

    def sentences(self, explanation: Explanation, cell: Callable[[str], str] = str) -> Iterator[str]:
        """A line for each row: "Reasons for refused: 1. Too little saved; 2. Short history", and what is not decided.

        ``cell`` puts present values.
        """
        for one, found, tiny in self._find_reasons(explanation, cell):
            listing = "; ".join(f"{at}. {self._say_reason(one, reason)}" for at, reason in enumerate(found, 1))
            head = f"for {_name_answer(one)}" if self.against is None else f"against {self._outcome(one)}"
            yield (
                " ".join([f"Reasons {head}: {listing}.", *_say_undecided(one, found), *_say_tiny(one, tiny)])
                if found
                else make_sentence(self._say_nothing(one, tiny))
            )

    def turn_signs(self, explanation: Explanation) -> tuple[Explanation, Array]:
        """The explanation with signs about the outcome, and the (n,) signs of contributions that are reasons."""
        if explanation.n_rows is not None:
            raise InvalidParameter("reasons are those of single rows: an average over rows has none")
        self.check(explanation.feature_names, explanation.output_names)
        is_signed = wording.is_signed(explanation)
        if explanation.p_values is None or (explanation.values.any() and not is_signed):
            raise InvalidParameter("reasons need signs and p-values: explain with the recommended setting")
        if self.min_share and explanation.retrained is None:
            raise InvalidParameter("min_share needs refits: give Explainer(..., refits=xcid.refits(model, X, y))")
        explanation = replace(explanation, p_values=of_chance(explanation))
        if not is_signed:  # no rows, or none that was explained
            return explanation, np.ones(len(explanation))
        is_number, n = explanation.outputs.shape[1] == 1, len(explanation)
        if self.against is None:
            asked = explanation.details.outcome
            if is_number and (asked is None or as_question(asked).about_prediction):
                raise InvalidParameter("a number has two sides: say against='higher' or against='lower'")
            return explanation, directions.sides(explanation)
        if not is_number:
            turned = directions.towards(explanation, self.against)
            if self.min_share and turned.retrained is None:
                raise InvalidParameter(ABOUT_ANOTHER.format(self.against))
            return replace(turned, p_values=of_chance(turned)), np.full(n, -1.0)
        return explanation, np.full(n, -float(sign_of(self.against)))

    def _find_reasons(
        self, explanation: Explanation, cell: Callable[[str], str] = str
    ) -> Iterator[tuple[Explanation, list[Reason], list[int]]]:
        """The explanation of each row with signs about the outcome, its reasons, and features too small to be one."""
        asked, signs = self.turn_signs(explanation)
        for one, sign in zip(replace(asked, cloud=None), signs.tolist(), strict=True):
            again = None if one.retrained is None else sign * one.retrained[0]
            shares = find_shares(sign * one.values[0], again, self.k)
            ranked = rank_reasons(one, sign, len(one.feature_names))
            least = LEAST * abs(float(one.values[0].sum()))
            kept = [(at, ties) for at, ties in ranked if not shares[at] < self.min_share][: self.k]
            tiny = [at for at, _ in kept if abs(one.values[0, at]) < least]
            reasons = [self._reason(one, at, ties, cell) for at, ties in kept if at not in tiny]
            yield one, [reason._replace(share=shares[reason.feature]) for reason in reasons], tiny

    def _reason(self, one: Explanation, at: int, ties: tuple[int, ...], cell: Callable[[str], str]) -> Reason:
        name, shown = one.feature_names[at], cell(quote_value(one, at))
        text = self.texts.get(name, f"{name} {{value}}")
        if isinstance(text, str):
            return Reason(at, text.replace("{value}", shown), ties)
        with telling(InvalidParameter, f"the text of {name!r} cannot be made for row {one.index[0]}"):
            made = text(read_value(one, at))
        if not isinstance(made, str):
            raise InvalidParameter(f"the text of {name!r} for row {one.index[0]} is {made!r}, which is no text")
        return Reason(at, made, ties)

    def _say_reason(self, one: Explanation, reason: Reason) -> str:
        """The text of a reason, how often it recurs after retraining, and what there is to know of it."""
        notes = ", ".join(filter(None, (_say_share(one, reason), self._note(one, reason.feature))))
        text = clean(reason.text, MOST_LETTERS)
        return f"{text} ({notes})" if notes else text

    def _note(self, one: Explanation, at: int) -> str:
        """Whether a feature cannot be changed, and whether it is the one that nobody wrote a text for."""
        lacks = bool(self.texts) and one.feature_names[at] not in self.texts
        notes = UNCHANGEABLE if one.feature_status[0, at] == "frozen" else "", UNWORDED if lacks else ""
        return ", ".join(filter(None, notes))

    def _say_nothing(self, one: Explanation, tiny: list[int]) -> str:
        """Why a row has no reason."""
        if not wording.is_explained(one):
            return wording.say_not_explained(one)
        if not np.any(one.significant):
            return NOT_DECIDED
        if self.min_share:
            return f"no significant feature recurs as a reason in {percent(self.min_share)} of retrainings"
        does = "supports" if self.against is None else "works against"
        whom = wording.name_subject(one) if self.against is None else self._outcome(one)
        return f"no significant feature {does} {whom}{f' by {FAR}' if tiny else ''}"

    def _outcome(self, one: Explanation) -> str:
        """The outcome that reasons work against, in words."""
        if one.outputs.shape[1] == 1:
            return f"a {SIDES[sign_of(self.against) or 1]} output"
        return wording.name_class(str(self.against))


def rank_reasons(one: Explanation, sign: float, k: int) -> list[tuple[int, tuple[int, ...]]]:
    """The k largest significant features of a single row whose scores have a sign, each with those it is tied with.

    Equal scores stand in the order of the columns. Two features are tied where their limits overlap.
    """
    assert one.significant is not None
    assert one.lower is not None
    assert one.upper is not None
    worth = sign * one.values[0]
    chosen = np.flatnonzero(one.significant[0] & (worth > 0))
    order = chosen[np.argsort(-worth[chosen], kind="stable")]
    low, high = np.sort([sign * one.lower[0], sign * one.upper[0]], axis=0)
    overlap = (low[:, None] <= high) & (low <= high[:, None])
    return [(int(at), tuple(int(other) for other in order if other != at and overlap[at, other])) for at in order[:k]]


def _say_share(one: Explanation, reason: Reason) -> str:
    """How often a reason recurs in models trained afresh: "recurs after retraining: 90%"."""
    if one.retrained is None:
        return ""
    finest = 1 / one.retrained.shape[-1]
    says = {1.0: f"over {percent(1 - finest)}", 0.0: f"under {percent(finest)}"}
    return f"recurs after retraining: {says.get(reason.share, percent(reason.share))}"


def _say_undecided(one: Explanation, found: list[Reason]) -> Iterator[str]:
    """Say which ranks are not decided: those of reasons that are tied, and those that another feature may deserve."""
    ranks = {reason.feature: place for place, reason in enumerate(found, start=1)}
    start = last = 0
    for place, reason in enumerate(found, start=1):
        start, last = (place, place) if place > last else (start, last)
        last = max([last, *(ranks.get(other, 0) for other in reason.tied_with)])
        if place == last > start:
            over = "" if one.limits == COMPUTATION else f" over {wording.OVER[one.limits]}"
            yield f"The order of {join_names([str(rank) for rank in range(start, last + 1)])} is not decided{over}."
    others = [str(place) for place, reason in enumerate(found, start=1) if not ranks.keys() >= {*reason.tied_with}]
    if others:
        yield f"Features that are not listed may be as strong as {join_names(others)}."


def _say_tiny(one: Explanation, tiny: list[int]) -> Iterator[str]:
    """Name significant features that are too small to be a reason."""
    if tiny:
        names = join_names([clean(one.feature_names[at], wording.MOST_LETTERS) for at in tiny])
        yield f"No reason, as less than {FAR}: {names}."


def _list_lines(
    one: Explanation, found: list[Reason], nothing: str, note: Callable[[Explanation, int], str], ranks: dict[int, int]
) -> Iterator[tuple[Any, ...]]:
    """The lines of a single row."""
    p_values = one.adjusted_p_values()[0]
    if not found:
        yield one.index[0], 0, "", nothing, "", "", np.nan, "", "", np.nan, 0
    for place, (at, text, ties, share) in enumerate(found, start=1):
        name, value, p_value = one.feature_names[at], quote_value(one, at), float(p_values[at])
        worth, tied_with = wording.format_worth(one, at), _join_names(one, ties)
        said = name, text, value, worth, p_value, tied_with, note(one, at)
        yield one.index[0], place, *said, float(share), ranks.get(at, 0)


def _name_answer(one: Explanation) -> str:
    """What reasons support: the predicted class of a single row, or its present answer to another question."""
    if wording.name_subject(one) == wording.ANSWER or one.outputs.shape[1] == 1:
        return wording.ANSWER
    return wording.name_class(wording.find_prediction(one.outputs[0], one.output_names)[0])


def _join_names(one: Explanation, features: tuple[int, ...]) -> str:
    return ", ".join(one.feature_names[at] for at in features)
