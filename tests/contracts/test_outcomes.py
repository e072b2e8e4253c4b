"""Every outcome obeys the laws of its seam: add a new one to the list."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields
from typing import NamedTuple

import numpy as np
import pytest

import xcid
from xcid import outcomes
from xcid.errors import InvalidParameter
from xcid.outcomes import Flip, Interval, Lower, Raise, Threshold, ToClass, Within
from xcid.outcomes.protocol import as_question

NAMES = ("low", "middle", "high")
FLIPS = [Flip(), Flip(soft=True)]  # away from the row's own class, whichever that is
LEVELS = [Threshold(0.5, "middle"), Threshold(0.2, "low", soft=True), Threshold(0.2, "low", soft=False)]
TO_CLASSES = [ToClass("middle"), ToClass("middle", soft=True), *LEVELS]
NUMBERS = [
    Threshold(0.3),
    Threshold(0.3, soft=False),
    Interval(0.25),
    Interval(),
    Interval(share=1.5),
    Interval(0.25, soft=True),
    Interval(soft=True),
    Within(0.2, 0.7),
    Within(low=0.4),
    Within(high=-1),
    Raise(),
    Lower(0.5),
]
OUTCOMES = [*FLIPS, *TO_CLASSES, *NUMBERS]
AS_MADE = [repr(one) for one in OUTCOMES]
RELATIVE = (Flip, Interval, Raise)  # the row's own output lies on the near side, whatever it is


class Answers(NamedTuple):
    """Outputs of perturbed rows and of the rows that they come from, and the names of the outputs."""

    outputs: np.ndarray
    reference: np.ndarray
    names: tuple[str, ...]


def of_classes(names=NAMES, n_rows=300):
    """Probabilities without ties, of which some are sure."""
    odds = np.random.default_rng(7).random((2, n_rows, len(names))) ** 3
    outputs, reference = odds / odds.sum(axis=2, keepdims=True)
    outputs[:6], reference[:3], reference[3:6] = np.eye(3)[[0, 1, 2, 0, 1, 2]], np.eye(3), np.eye(3)[::-1]
    return Answers(outputs, reference, names)


def of_numbers(n_rows=300):
    """Numbers of a regression."""
    outputs, reference = np.random.default_rng(8).normal(size=(2, n_rows, 1))
    return Answers(outputs, reference, ("output",))


def bound(outcome, answers):
    """An outcome that wants to know the model is told, as an explainer does."""
    bind = getattr(outcome, "bind", None)
    return outcome if bind is None else bind(answers.names, answers.reference)


@pytest.fixture(params=OUTCOMES, ids=str)
def outcome(request):
    return request.param


@pytest.fixture
def answers(outcome):
    return of_numbers() if outcome in NUMBERS else of_classes()


@pytest.fixture
def ask(outcome, answers):
    return bound(outcome, answers)


def way(outcome, answers, steps=41):
    """(steps, n, k) outputs that lead every row from the near side to the far one, and its own output."""
    share = np.linspace(0, 1, steps)[:, None, None]
    if outcome in NUMBERS:
        asked = bound(outcome, answers)
        if isinstance(asked, Interval):
            start, end = answers.reference, answers.reference + 3 * asked.half_width
        elif isinstance(asked, Raise):
            start, end = answers.reference, answers.reference + asked.sign * (2 + np.abs(answers.reference))
        elif isinstance(asked, Threshold):
            start, end = np.full((1, 1), asked.level - 1), np.full((1, 1), asked.level + 1)
        else:
            low, high = max(asked.low, -9.0), min(asked.high, 9.0)
            start, end = np.full((1, 1), low - 1 if high == 9 else high + 1), np.full((1, 1), (low + high) / 2)
        start, end = (np.broadcast_to(part, answers.reference.shape) for part in (start, end))
        return (1 - share) * start + share * end
    own = answers.reference.argmax(axis=1)
    goal = (own + 1) % 3 if outcome in FLIPS else np.full(len(own), NAMES.index(outcome.target))
    start = np.eye(3)[own if outcome in FLIPS else (goal + 1) % 3]
    return (1 - share) * start + share * np.eye(3)[goal]


def test_the_list_is_complete():
    assert set(outcomes.__all__) - {"Question"} == {type(one).__name__ for one in OUTCOMES}


def test_a_side_is_a_share_for_each_sample(outcome, ask, answers):
    side = ask(answers.outputs, answers.reference)
    assert side.shape == (len(answers.outputs),)
    assert side.dtype == np.float64
    assert np.all((side >= 0) & (side <= 1))
    assert side.min() < 0.5 < side.max()
    if not getattr(ask, "soft", False):
        assert set(np.unique(side)) == {0.0, 1.0}


def test_a_row_lies_on_a_definite_side(outcome, ask, answers):
    own = ask(answers.reference, answers.reference)
    assert np.all(own != 0.5)
    if isinstance(outcome, RELATIVE):
        assert np.all(own < 0.5)
    else:
        assert len(set(own > 0.5)) == 2  # some rows are there already: they are asked what takes them out


def test_a_sample_gets_the_same_alone_in_a_batch_and_in_any_order(ask, answers):
    together = ask(answers.outputs, answers.reference)
    order = np.random.default_rng(1).permutation(len(together))
    assert np.array_equal(ask(answers.outputs[order], answers.reference[order]), together[order])
    for row in range(0, len(together), 37):
        at = slice(row, row + 1)
        assert ask(answers.outputs[at], answers.reference[at])[0] == together[row]
    assert ask(answers.outputs[:0], answers.reference[:0]).shape == (0,)


def test_the_side_rises_on_the_way_from_one_end_to_the_other(outcome, ask, answers):
    places = way(outcome, answers)
    sides = np.stack([ask(outputs, answers.reference) for outputs in places])
    assert np.all(sides[0] == 0)
    assert np.all(
        sides[-1] > 0.5 if isinstance(outcome, Interval) and outcome.soft else sides[-1] == 1
    )  # it never ends
    assert np.all(np.diff(sides, axis=0) >= 0)


def test_the_gain_is_above_0_exactly_on_the_far_side(outcome, ask, answers):
    gain = ask.gain(answers.outputs, answers.reference)
    assert np.array_equal(gain > 0, ask(answers.outputs, answers.reference) > 0.5)
    assert np.all(gain != 0)


def test_the_gain_rises_on_the_way_from_one_end_to_the_other(outcome, ask, answers):
    gains = np.stack([ask.gain(outputs, answers.reference) for outputs in way(outcome, answers)])
    assert np.all(np.diff(gains, axis=0) >= -1e-12)


def test_the_output_that_is_shown_is_one_of_the_model(ask, answers):
    columns = ask.columns(answers.outputs, answers.reference)
    assert columns.shape == (len(answers.outputs),)
    assert np.all((columns >= 0) & (columns < len(answers.names)))
    if ask.target is not None:
        assert set(np.array(answers.names)[columns]) == {ask.target}


def test_it_has_words(outcome, ask, answers):
    for one in (outcome, ask):
        assert one.describe(answers.names, str).startswith("Does ")
        assert one.describe_goal(answers.names, str)
        assert isinstance(one.describe_side(answers.reference[0], answers.names, str), str)


def test_a_plain_function_is_a_question_with_all_the_defaults():
    def above(outputs, reference):
        return outputs[:, 0] > 0.3

    answers, question = of_numbers(), as_question(above)
    assert question.bind(answers.names, answers.outputs) is question
    assert np.array_equal(question.gain(*answers[:2]) > 0, above(*answers[:2]))
    assert question.least is None
    assert not question.takes_tensors
    assert "above" in question.describe(answers.names, str)


def test_nothing_that_is_given_is_changed(ask, answers):
    before = answers.outputs.copy(), answers.reference.copy()
    ask(answers.outputs, answers.reference)
    assert np.array_equal(answers.outputs, before[0])
    assert np.array_equal(answers.reference, before[1])


@pytest.mark.parametrize("outcome", [one for one in OUTCOMES if not isinstance(one, RELATIVE)], ids=str)
def test_a_question_about_the_output_alone_does_not_look_at_the_row(ask, answers):
    other = np.roll(answers.reference, 1, axis=0)
    assert np.array_equal(ask(answers.outputs, answers.reference), ask(answers.outputs, other))


@pytest.mark.parametrize("outcome", [*FLIPS, *TO_CLASSES], ids=str)
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 0, 2], [2, 1, 0]], ids=str)
def test_the_order_of_classes_does_not_matter(outcome, ask, answers, order):
    moved = Answers(answers.outputs[:, order], answers.reference[:, order], tuple(NAMES[at] for at in order))
    due = ask(answers.outputs, answers.reference)
    assert bound(outcome, moved)(moved.outputs, moved.reference) == pytest.approx(due, abs=1e-15)


@pytest.mark.parametrize(
    "make",
    [ToClass, lambda name: ToClass(name, soft=True), lambda name: Threshold(0.4, name)],
    ids=["to", "soft", "level"],
)
@pytest.mark.parametrize("names", [("a", "b", "c"), ("2", "0", "1"), ("high", "low", "middle")], ids=str)
def test_the_names_of_classes_do_not_matter(make, names):
    answers, renamed = of_classes(), of_classes(names)
    for before, after in zip(NAMES, names, strict=True):
        due = bound(make(before), answers)(answers.outputs, answers.reference)
        assert np.array_equal(bound(make(after), renamed)(renamed.outputs, renamed.reference), due)


@pytest.mark.parametrize(
    ("soft", "hard"), [(Flip(soft=True), Flip()), (ToClass("high", soft=True), ToClass("high"))], ids=str
)
def test_more_than_half_by_degrees_is_all_or_nothing(soft, hard):
    answers = of_classes()
    by_degrees, whole = (bound(one, answers)(answers.outputs, answers.reference) for one in (soft, hard))
    assert np.array_equal(by_degrees > 0.5, whole > 0.5)
    assert np.all((by_degrees > 0) & (by_degrees < 1) | (answers.outputs.max(axis=1) == 1))


def test_binding_leaves_the_outcome_as_it_was_and_once_is_enough(outcome, ask, answers):
    again = bound(ask, answers)
    assert repr(outcome) in AS_MADE
    assert again == ask
    assert np.array_equal(again(answers.outputs, answers.reference), ask(answers.outputs, answers.reference))


def test_binding_keeps_what_was_given(outcome, ask):
    given = {each.name: getattr(outcome, each.name) for each in fields(outcome) if each.init}
    assert {name: getattr(ask, name) for name, value in given.items() if value is not None} == {
        name: value for name, value in given.items() if value is not None
    }


def test_an_outcome_is_what_its_words_say(outcome, ask):
    for one in (outcome, ask):
        assert eval(repr(one), {**vars(outcomes), "inf": np.inf}) == one


def test_an_outcome_travels(outcome, ask, answers):
    for one in (outcome, ask):
        assert pickle.loads(pickle.dumps(one)) == one
    sent = pickle.loads(pickle.dumps(ask))
    due = ask(answers.outputs, answers.reference)
    assert np.array_equal(sent(answers.outputs, answers.reference), due)


@pytest.mark.parametrize("outcome", [*TO_CLASSES, *NUMBERS], ids=str)
def test_an_outcome_cannot_be_changed(outcome):
    for each in fields(outcome):
        with pytest.raises(FrozenInstanceError):
            setattr(outcome, each.name, 0.9)


@pytest.mark.parametrize("outcome", [ToClass("none"), ToClass("none", soft=True), Threshold(0.5, "none")], ids=str)
def test_a_class_that_the_model_does_not_have_is_refused(outcome):
    with pytest.raises(InvalidParameter, match="no class 'none'"):
        bound(outcome, of_classes())


@pytest.mark.parametrize("outcome", [Flip(soft=True), ToClass("high", soft=True)], ids=str)
@pytest.mark.parametrize("change", [lambda p: 2 * p, lambda p: p - 0.2], ids=["above 1", "below 0"])
def test_degrees_need_probabilities(outcome, change):
    answers = of_classes()
    with pytest.raises(InvalidParameter, match="not probabilities"):
        bound(outcome, answers._replace(reference=change(answers.reference)))
    with pytest.raises(InvalidParameter, match="a regression has no classes"):
        bound(outcome, of_numbers())


@pytest.mark.parametrize("outcome", [Interval(), Interval(share=1.5)], ids=str)
@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_a_width_by_share_has_the_unit_of_the_outputs(outcome, scale):
    answers = of_numbers()
    scaled = answers._replace(outputs=scale * answers.outputs, reference=scale * answers.reference)
    due = bound(outcome, answers)(answers.outputs, answers.reference)
    assert np.array_equal(bound(outcome, scaled)(scaled.outputs, scaled.reference), due)


class Model:
    """Three classes or a number, from two columns."""

    def __init__(self, answers):
        self.is_number = answers.names == ("output",)
        if not self.is_number:
            self.classes_ = np.array(NAMES)
            self.predict_proba = self.answer
        self.predict = self.answer

    def answer(self, x):
        """Outputs."""
        if self.is_number:
            return 1.2 * x[:, 0] - 0.7 * x[:, 1]
        odds = np.column_stack([0.5 + x[:, 0] ** 2, 0.1 + 2 * (x[:, 1] + 0.5) ** 2, 0.2 + (x[:, 0] - x[:, 1]) ** 2])
        return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore::xcid.XcidWarning")  # some rows have few flips
def test_an_explanation_rests_on_what_lies_on_the_other_side_than_the_row(outcome, answers):
    """A flip is a change of side: of a row that is there already, what takes it out."""
    background = np.random.default_rng(3).normal(size=(80, 3))
    model = Model(answers)
    explainer = xcid.Explainer(model, background, outcome=outcome, generator=xcid.generators.Balanced(n=400))
    explanation = explainer(background[:12])
    cloud, ask = explanation.cloud, explanation.details.outcome
    answer = model.answer(cloud.samples.reshape(-1, 3)).reshape(*cloud.positive.shape, -1)
    for row in range(12):
        own = explanation.outputs[row : row + 1]
        due = np.abs(np.round(ask(own, own)) - ask(answer[row], np.repeat(own, cloud.positive.shape[1], axis=0)))
        assert cloud.positive[row] == pytest.approx(due, abs=1e-12)
    assert np.all(cloud.positive + cloud.negative == 1)
    assert explanation.n_flips.sum() > 0
    assert np.array_equal(explanation.n_flips, (cloud.positive > 0.5).sum(axis=1))
