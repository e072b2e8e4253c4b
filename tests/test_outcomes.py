"""Questions other than a change of class: what they count as a flip, and that the explanation answers them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import xcid
from xcid.errors import InvalidParameter
from xcid.outcomes import Flip, Interval, Lower, Raise, Threshold, ToClass, Within
from xcid.outcomes.classes import least_probability, log_odds, renamed

TABLE = np.random.default_rng(0).normal(size=(400, 4))


def positives_and_negatives(explanation, row):
    cloud = explanation.cloud
    return cloud.samples[row, cloud.positive[row] > 0], cloud.samples[row, cloud.negative[row] > 0]


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[data.target]
    return LogisticRegression(max_iter=1000).fit(data.data, names), data.data


def test_a_regression_is_asked_what_moves_it():
    target = 10 * TABLE[:, 1] - 3 * TABLE[:, 2]
    model = LinearRegression().fit(TABLE, target)
    explanation = xcid.Explainer(model, TABLE)(TABLE[:20])
    assert explanation.outputs.shape == (20, 1)
    assert explanation.output_names == ("output",)
    half_width = 0.7 * np.std(model.predict(TABLE))
    for row in range(20):
        moved = np.abs(model.predict(explanation.cloud.samples[row]) - explanation.outputs[row])
        assert explanation.cloud.positive[row] == pytest.approx(1 - 0.5 ** (moved / half_width))
    assert np.mean(explanation.importance.argmax(axis=1) == 1) > 0.9
    assert f"row 0: predicted {explanation.outputs[0, 0]:.4g};" in str(explanation)


def test_a_regression_with_numbers_between_0_and_1_is_still_one():
    model = RandomForestRegressor(5, random_state=0).fit(TABLE, TABLE[:, 0] > 0)
    assert xcid.Explainer(model, TABLE)(TABLE[:1]).outputs.shape == (1, 1)


def test_a_callable_with_numbers_beyond_0_1_is_a_regression():
    explanation = xcid.Explainer(lambda X: 5 * X[:, 3], TABLE)(TABLE[:5])
    assert explanation.outputs.shape == (5, 1)
    assert np.all(explanation.importance.argmax(axis=1) == 3)


def test_the_width_can_be_given():
    narrow = xcid.Explainer(lambda X: 5 * X[:, 3], TABLE, outcome=Interval(0.1))
    assert narrow.setup.outcome.half_width == 0.1
    wide = xcid.Explainer(lambda X: 5 * X[:, 3], TABLE, outcome=Interval(share=2.0))
    assert wide.setup.outcome.half_width == pytest.approx(2 * 5 * TABLE[:, 3].std())


def test_within_is_the_set_of_the_paper():
    explainer = xcid.Explainer(lambda X: 5 * X[:, 3], TABLE, outcome=Within(2.0, 20.0))
    rows = TABLE[np.argsort(TABLE[:, 3])[[50, 390]]]  # one outside, one inside
    explanation = explainer(rows)
    for row, inside in enumerate([False, True]):
        flips, stays = (5 * part[:, 3] for part in positives_and_negatives(explanation, row))
        assert np.all(((flips >= 2) & (flips <= 20)) != inside)
        assert np.all(((stays >= 2) & (stays <= 20)) == inside)
    assert np.all(explanation.importance[:, 3] > 0.5)


def test_threshold_of_a_probability(iris):
    model, data = iris
    explainer = xcid.Explainer(model, data, outcome=Threshold(0.2, target="versicolor", soft=False))
    explanation = explainer(data.iloc[[0, 60]])
    for row in range(2):
        flips, stays = positives_and_negatives(explanation, row)
        above = explanation.outputs[row, 1] > 0.2
        assert np.all((model.predict_proba(type(data)(flips, columns=data.columns))[:, 1] > 0.2) != above)
        assert np.all((model.predict_proba(type(data)(stays, columns=data.columns))[:, 1] > 0.2) == above)


def test_threshold_at_one_half_is_a_flip():
    model = LogisticRegression().fit(TABLE, TABLE[:, 0] + TABLE[:, 1] > 0)
    by_class = xcid.Explainer(model, TABLE, outcome=Flip())(TABLE[:10])
    by_level = xcid.Explainer(model, TABLE, outcome=Threshold(0.5, soft=False))(TABLE[:10])
    assert np.allclose(by_class.values, by_level.values)


def test_to_a_class(iris):
    model, data = iris
    explanation = xcid.Explainer(model, data, outcome=ToClass("virginica"))(data.iloc[[60, 120]])
    frame = lambda part: type(data)(part, columns=data.columns)  # noqa: E731
    flips, stays = positives_and_negatives(explanation, 0)
    assert set(model.predict(frame(flips))) == {"virginica"}
    assert "virginica" not in model.predict(frame(stays))
    flips, _ = positives_and_negatives(explanation, 1)  # a row of the class: what takes it out
    assert "virginica" not in model.predict(frame(flips))


def test_one_explanation_for_each_class(iris):
    model, data = iris
    explainer = xcid.Explainer(model, data)
    by_class = explainer.per_class(data.iloc[[0]])
    assert list(by_class) == ["setosa", "versicolor", "virginica"]
    alone = explainer.with_outcome(ToClass("virginica"))(data.iloc[[0]])
    assert np.array_equal(by_class["virginica"].values, alone.values)
    assert explainer.setup.outcome == Flip(soft=True)


def test_names_of_classes_do_not_matter(iris):
    _, data = iris
    target = load_iris().target
    rows = data.iloc[::30]
    results = []
    for labels in (target, np.array(["c", "a", "b"])[target], target * 10 - 5):
        model = RandomForestClassifier(10, random_state=0).fit(data, target)
        model.classes_ = np.unique(labels)
        results.append(xcid.Explainer(model, data)(rows).values)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_three_labels_from_predict(iris):
    model, data = iris
    explanation = xcid.Explainer(lambda X: model.predict(X), data)(data.iloc[[0]])
    assert explanation.output_names == ("setosa", "versicolor", "virginica", "another label")
    assert explanation.values.shape == (1, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interval(0), "half_width must be a finite number above 0, not 0"),
        (lambda: Interval(share=np.inf), "share must be a finite number above 0"),
        (lambda: Interval("wide"), "half_width must be a number, not 'wide'"),
        (lambda: Threshold(np.nan), "level must be finite"),
        (lambda: Within(3, 2), "low must lie below high, but 3 does not lie below 2"),
        (lambda: xcid.Explainer(lambda X: X[:, 0] > 0, TABLE, outcome=ToClass("x")), "no class 'x'; its classes are"),
        (lambda: xcid.Explainer(lambda X: 9 * X[:, 0], TABLE).per_class(TABLE[:1]), "a regression has no classes"),
    ],
)
def test_bad_questions_are_refused(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_a_question_that_nothing_reaches_is_an_error(approved):
    explainer = xcid.Explainer(lambda X: 5 * X[:, 3], TABLE, outcome=Within(1e6, 2e6))
    with approved.raises(xcid.errors.NotEnoughFlips):
        explainer(TABLE[:2])
    found = explainer.contributions(TABLE[:2])  # another question
    assert found.values[:, 3] == pytest.approx(5 * (TABLE[:2, 3] - TABLE[:, 3].mean()))


@pytest.mark.parametrize("outcome", [Flip(soft=True), ToClass("1", soft=True)], ids=str)
def test_labels_are_not_called_probabilities(outcome):
    """A model that gives no probabilities has none that could weight perturbations."""
    labels = xcid.Explainer(lambda X: X[:, 0] > 0.3, TABLE, class_names=["0", "1"], outcome=outcome)
    assert labels(TABLE[:2]).question.endswith(
        "(the model gives labels: yes and no count as probabilities of 0.99 and 0.01)"
    )
    chances = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0])), TABLE, outcome=outcome)
    assert chances(TABLE[:2]).question.endswith("(soft: each perturbation is weighted by its probability)")


@pytest.mark.parametrize(
    ("outputs", "least"),
    [
        (np.array([[0.3, 0.7], [0.2, 0.8]]), 0.01),
        (np.array([[0.004, 0.996], [0.0, 1.0]]), 0.002),
        (np.array([[1e-9, 1 - 1e-9], [0.3, 0.7]]), 0.0),
        (np.array([[1e-9, 1.0], [0.25, 0.75]], np.float32).astype(float), 2.0**-24),
    ],
    ids=["far from 0", "some trees", "double precision", "single precision"],
)
def test_what_a_probability_of_0_stands_for(outputs, least):
    assert least_probability(outputs) == least


def test_the_ends_of_an_interval_are_in_it():
    outputs = np.array([[0.9], [1.0], [1.5], [2.0], [2.1]])
    assert Within(1.0, 2.0)(outputs, outputs[:1]).tolist() == [0, 1, 1, 1, 0]


def test_of_two_classes_the_other_one_counts():
    outputs, rows = np.array([[0.7, 0.3], [0.7, 0.3]]), np.array([[0.9, 0.1], [0.2, 0.8]])
    assert Flip(soft=True)(outputs, rows) == pytest.approx([0.3, 0.7])


CHANCES = np.array([[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]])


@pytest.mark.parametrize("outcome", [Flip(), ToClass("b"), Threshold(0.4), Within(0.5, 1.0), Raise()], ids=str)
def test_what_a_question_has_learnt_is_not_part_of_what_it_says(outcome):
    bound = outcome.bind(["a", "b"], CHANCES)
    assert not [name for name in inspect.signature(type(bound)).parameters if name.startswith("_")]
    assert "_" not in repr(bound).replace("half_width", "")
    assert bound == outcome.bind(["a", "b"], CHANCES[:1])


def test_only_degrees_know_what_a_probability_of_0_stands_for():
    assert Flip().bind(["a", "b"], CHANCES).least is None
    assert Flip(soft=True).bind(["a", "b"], CHANCES).least == 0.01


def test_a_class_must_be_known_before_it_can_be_asked_about():
    with pytest.raises(InvalidParameter, match="bind it to them first"):
        ToClass("b")(CHANCES, CHANCES)


def test_a_level_and_a_range_are_about_the_last_class_by_default():
    assert Threshold(0.5, soft=False)(CHANCES, CHANCES).tolist() == [0, 1, 1]
    assert Within(0.5, 0.7)(CHANCES, CHANCES).tolist() == [0, 0, 1]


def test_scores_that_are_no_probabilities_have_differences_in_place_of_log_odds():
    scores = np.array([[-3.0, 0.5], [0.5, 4.0]])  # one of them is below 0, the other above 1
    assert log_odds(scores[:1], np.array([1]), 0.0) == pytest.approx([3.5])
    assert log_odds(scores[1:], np.array([0]), 0.0) == pytest.approx([-3.5])


def test_gains_are_distances_from_the_level():
    outputs = np.array([[0.9], [1.3], [2.5]])
    assert Threshold(1.0, soft=False).gain(outputs, outputs) == pytest.approx([-0.1, 0.3, 1.5])
    assert Within(1.0, 2.0).gain(outputs, outputs) == pytest.approx([-0.1, 0.3, -0.5])


def test_classes_get_other_names_in_their_order_or_by_label(approved):
    assert renamed(["0", "1"], {1: "yes"}) == ("0", "yes")
    assert renamed(["0", "1"], ["no", "yes"]) == ("no", "yes")
    with approved.raises(InvalidParameter):
        renamed(["0", "1"], {2: "maybe"})


@pytest.mark.parametrize("make", [Raise, Lower])
@pytest.mark.parametrize("by", [-0.1, np.inf, np.nan])
def test_a_share_is_not_below_0(make, by):
    with pytest.raises(InvalidParameter, match="by must be a share from 0 up"):
        make(by=by)


@pytest.mark.parametrize(
    ("outcome", "sides", "goal"),
    [
        (Within(low=1.0), ["it below 1", "it above 1"], "at least 1"),
        (Within(high=1.0), ["it below 1", "it above 1"], "at most 1"),
        (Within(1.0, 5.0), ["it out of the range from 1 to 5", "it in the range from 1 to 5"], "1 to 5"),
        (Threshold(1.0), ["it below 1", "it above 1"], "the other side of the question"),
        (Raise(), ["it below that"] * 2, "at least a tenth more"),
        (Lower(by=0.5), ["it above that"] * 2, "at least 0.5 of what it is less"),
    ],
    ids=str,
)
def test_words_for_a_number(outcome, sides, goal):
    said = [outcome.describe_side(np.array([value]), ["output"], "{:g}".format) for value in (0.5, 2.0)]
    assert said == sides
    assert outcome.describe_goal(["output"], "{:g}".format) == goal


def test_words_for_the_probability_of_a_class():
    assert Raise(target="b").describe_goal(["a", "b"], "{:g}".format) == "at least a tenth more of the probability of b"
    assert Within(0.5, target="b").describe_goal(["a", "b"], "{:g}".format) == "probability of b at least 0.5"
    assert Within(0.5, target=1).describe_goal(["0", "1"], "{:g}".format) == "probability of class 1 at least 0.5"
    assert Threshold(0.5, "a").describe_side(CHANCES[0], ["a", "b"], "{:g}".format) == "the probability of a above 0.5"


def test_a_tie_is_no_other_class():
    tie, own = np.array([[0.5, 0.5]]), np.array([[0.7, 0.3]])
    assert Flip().bind(["no", "yes"], own).gain(tie, own) < 0
    assert log_odds(np.array([[0.4, 0.4, 0.2]]), np.array([0]), 0.1) < 0
    assert log_odds(np.array([[4.0, 4.0, -2.0]]), np.array([0]), 0.0) < 0


def test_a_level_itself_is_not_above_it():
    outputs, names = np.array([[0.7, 0.3], [0.69, 0.31]]), ["no", "yes"]
    assert Threshold(0.3).speaks_for(1, outputs, names).tolist() == [False, True]
    assert Threshold(0.3).speaks_for(0, outputs, names).tolist() == [True, False]


def test_a_probability_has_no_level_beyond_1():
    with pytest.raises(InvalidParameter):
        Threshold(1.5, soft=True).bind(["no", "yes"], np.array([[0.4, 0.6]]))


def test_gains_of_an_interval_grow_with_what_lies_outside():
    own, outputs = np.array([[5.0]] * 3), np.array([[5.5], [7.0], [1.0]])
    assert Interval(half_width=1.0).bind(["output"], own).gain(outputs, own).tolist() == [-0.5, 1.0, 3.0]


def test_words_of_a_level(approved):
    approved(Threshold(2.5).describe(["output"], "{:g}".format))
    approved(Threshold(0.25, soft=True).describe(["no", "yes"], "{:g}".format))


def test_a_regression_has_no_classes_to_name(approved):
    with approved.raises(InvalidParameter):
        renamed(["output"], {"output": "price"})
