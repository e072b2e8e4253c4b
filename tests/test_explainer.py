"""The whole pipeline: what it finds, and that a row's answer is its own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import xcid
from xcid.cid.distances import hellinger
from xcid.densities import Kernel, Mixed
from xcid.engines import Threads
from xcid.errors import InvalidParameter
from xcid.generators import Marginal
from xcid.scores import PerFeature

EXPLAINERS = [xcid.Explainer, xcid.Explainer.paper]


@pytest.fixture(params=EXPLAINERS, ids=["recommended", "paper"])
def make(request):
    return request.param


@pytest.fixture(scope="module")
def diabetes():
    table = xcid.datasets.load_diabetes()
    train, test, y_train, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
    return LogisticRegression(max_iter=1000).fit(train, y_train), train, test


def same(a, b):
    return np.allclose(a.values, b.values, atol=1e-9) and np.array_equal(a.n_evaluations, b.n_evaluations)


def test_same_answer_alone_in_a_batch_and_in_any_order(make, diabetes):
    model, train, test = diabetes
    explainer = make(model, train)
    batch = explainer(test.iloc[:40])
    order = np.random.default_rng(0).permutation(40)
    assert same(explainer(test.iloc[order]), batch[order])
    assert same(make(model, train)(test.iloc[7]), batch[7])
    assert same(explainer(test.iloc[:40].to_numpy()), batch)


def test_small_blocks_give_the_same_answer(make, diabetes):
    model, train, test = diabetes
    assert same(make(model, train, memory=2**18)(test.iloc[:12]), make(model, train)(test.iloc[:12]))


def test_seeds_differ(make, diabetes):
    model, train, test = diabetes
    explainer = make(model, train)
    first, second = explainer(test.iloc[:5]), explainer(test.iloc[:5], seed=1)  # their values are those of the model
    assert not np.allclose(first.importance, second.importance)
    assert same(explainer(test.iloc[:5], seed=1), explainer(test.iloc[:5], seed=1))


def test_shapes_and_ranges(make, diabetes):
    model, train, test = diabetes
    explanation = make(model, train)(test)
    assert explanation.values.shape == explanation.importance.shape == (154, 8)
    assert explanation.feature_names == tuple(train.columns)
    assert np.all((explanation.importance >= 0) & (explanation.importance <= 1))
    assert np.all(explanation.status == "ok")
    assert np.array_equal(explanation.data, test.to_numpy())
    assert np.allclose(explanation.outputs, model.predict_proba(test))
    if explanation.lower is None:
        assert np.array_equal(explanation.values, explanation.importance)
        assert explanation.lower is explanation.upper is explanation.p_values is explanation.base_values is None
        assert explanation.scale == explanation.unit == "d1"
        assert not explanation.exact.any()
    else:
        assert np.all((explanation.lower <= explanation.values) & (explanation.values <= explanation.upper))
        assert np.all((explanation.p_values >= 0) & (explanation.p_values <= 1))
        own = np.log(explanation.outputs[:, 1] / explanation.outputs[:, 0])
        assert np.allclose(explanation.base_values + explanation.values.sum(axis=1), own, rtol=0, atol=1e-9)
        assert explanation.exact.all()  # a linear model adds up
        assert set(explanation.about) == {"1"}


def test_paper_values_are_the_unsigned_d1_of_the_evidence(diabetes):
    model, train, test = diabetes
    explanation = xcid.Explainer.paper(model, train)(test.iloc[:3])
    assert np.array_equal(explanation.values, explanation.importance)
    assert explanation.base_values is None
    assert np.all(explanation.n_positive == 50)
    cloud = explanation.cloud
    for row, feature in np.ndindex(3, 8):
        positive = cloud.samples[row, cloud.positive[row] > 0, feature]
        negative = cloud.samples[row, cloud.negative[row] > 0, feature]
        assert explanation.values[row, feature] == pytest.approx(xcid.d1(positive, negative), abs=1e-9)


def test_evidence_is_what_was_scored(make, diabetes):
    model, train, test = diabetes
    explanation = make(model, train)(test.iloc[:3])
    for row, name in [(0, "Glucose"), (2, "BMI"), (-1, "Age")]:
        pair = explanation.evidence(row, name)
        distance = xcid.distances.d_k(pair.p, pair.q, pair.weights)
        noise = 1e-9 if explanation.base_values is None else 0.05  # is taken out of the recommended importance
        assert distance == pytest.approx(explanation.importance[row, explanation.position(name)], abs=noise)


def test_the_feature_that_decides_comes_first_and_its_sign_is_right(make, normal_table):
    explainer = make(lambda X: X[:, 2] > 0, normal_table)
    explanation = explainer(normal_table[:20])
    assert np.all(explanation.importance.argmax(axis=1) == 2)
    if explanation.base_values is not None:
        assert np.array_equal(np.sign(explanation.values[:, 2]), np.sign(normal_table[:20, 2]))


def test_a_value_that_pulls_away_scores_below_0():
    """The sum of the first two features decides; a row with one of them far on the wrong side."""
    background = np.random.default_rng(1).normal(size=(500, 3))
    explanation = xcid.Explainer(lambda X: X[:, 0] + X[:, 1] > 0, background)([2.5, -1.5, 0.0])
    assert explanation.values[0, 0] > 0.3
    assert explanation.values[0, 1] < -0.1
    assert abs(explanation.values[0, 2]) < explanation.importance[0, :2].min()


def test_forest_on_heart():
    table = xcid.datasets.load_heart()
    complete = ~table.data.isna().any(axis=1)
    data, target = table.data[complete], table.target[complete]
    model = RandomForestClassifier(20, random_state=0).fit(data, target)
    explanation = xcid.Explainer(model, data)(data.iloc[:10])
    assert np.all(explanation.status == "ok")
    assert np.all(explanation.importance.max(axis=1) > 0.2)


def test_rows_without_enough_flips_are_reported_and_the_rest_is_explained():
    background = np.random.default_rng(2).uniform(size=(200, 2))
    explainer = xcid.Explainer(lambda X: X[:, 0] > 1.5, background, generator=Marginal(m=20, max_evaluations=100))
    with pytest.warns(xcid.XcidWarning, match=r"1 of 2 rows .* row 0 has 0 flips"):
        explanation = explainer([[0.5, 0.5], [2.0, 0.5]])
    assert explanation.status.tolist() == ["insufficient_flips", "ok"]
    assert explanation.scale == "probability"
    assert explanation.values.tolist() == [[0, 0], [-1, 0]]  # what a value did needs no flips
    assert explanation.about.tolist() == ["False", "False"]  # the one label that the reference data have
    assert not explanation.importance[0].any()
    assert explanation.importance[1, 0] > 0.5


def test_parts_can_be_chosen(diabetes):
    model, train, test = diabetes
    rows = test.iloc[:2]
    density = Kernel("epanechnikov", bandwidth="pooled-scott")
    by_density = xcid.Explainer(model, train, density=density)(rows)
    by_score = xcid.Explainer(model, train, score=PerFeature(density))(rows)
    assert np.allclose(by_density.importance, by_score.importance)
    assert by_density.base_values is not None
    assert by_score.base_values is None
    assert "epanechnikov" in by_density.details.settings["score"]
    paper = xcid.Explainer.paper(model, train, density=density)(rows)
    assert "epanechnikov" in paper.details.settings["score"]
    assert paper.base_values is None
    few = xcid.Explainer.paper(model, train, m=10)(rows)
    assert np.all(few.n_positive == 10)
    tilted = xcid.Explainer(model, train, score=PerFeature(Mixed(), distance=hellinger))(rows)
    assert not np.allclose(tilted.values, by_score.values)


def test_outcomes_can_be_functions(diabetes):
    model, train, test = diabetes
    below_30_percent = lambda outputs, reference: (outputs[:, 1] < 0.3).astype(float)  # noqa: E731
    explanation = xcid.Explainer(model, train, outcome=below_30_percent)(test.iloc[:10])
    cloud = explanation.cloud
    for row in range(10):
        positives = cloud.samples[row, cloud.positive[row] > 0]
        below = model.predict_proba(type(train)(positives, columns=train.columns))[:, 1] < 0.3
        assert np.all(below != (explanation.outputs[row, 1] < 0.3))


def test_evidence_is_dropped_beyond_its_limit(approved, diabetes):
    model, train, test = diabetes
    explanation = xcid.Explainer(model, train, max_evidence_bytes=1000)(test.iloc[:2])
    assert explanation.cloud is None
    with approved.raises(xcid.errors.EvidenceNotKept):
        explanation.evidence(0, 0)


TABLE = np.random.default_rng(8).normal(size=(200, 4))


class TestKeptSamples:
    """Those of many rows, explained in blocks."""

    @staticmethod
    def explain(rows, predict=lambda X: 1 / (1 + np.exp(-X[:, 0] * X[:, 1])), **more):
        return xcid.Explainer(predict, TABLE, memory=2**21, **more)(rows)

    def test_blocks_keep_what_a_row_alone_has(self):
        together = self.explain(TABLE[:90])
        for row in (0, 40, 89):
            alone = self.explain(TABLE[row : row + 1]).cloud
            for name in ("origin", "positive", "negative", "outputs", "samples"):
                assert np.array_equal(getattr(together.cloud[[row]], name), getattr(alone, name))

    def test_rows_that_fail_between_blocks_have_none(self):
        def fails(X):
            if (X[:, 3] == 7).any():
                raise RuntimeError("no")
            return 1 / (1 + np.exp(-X[:, 0] * X[:, 1]))

        rows = TABLE[:90].copy()
        rows[50, 3] = 7
        with pytest.warns(xcid.errors.XcidWarning):
            found = self.explain(rows, fails)
        assert found.status[50] == "model_failed"
        assert not found.cloud.positive[50].any()
        assert np.isnan(found.cloud.outputs[50]).all()
        usual = self.explain(TABLE[:90])
        others = np.delete(np.arange(90), 50)
        assert np.array_equal(found.cloud.outputs[others], usual.cloud.outputs[others])

    def test_where_room_is_short_all_rows_keep_what_pictures_need(self, approved):
        whole = self.explain(TABLE[:90])
        lean = self.explain(TABLE[:90], max_evidence_bytes=whole.cloud.nbytes - 1)
        assert whole.cloud.positive.dtype == float
        assert whole.cloud.outputs is not None
        assert lean.cloud.nbytes < 0.55 * whole.cloud.nbytes
        for row in (0, 89):
            for feature in range(4):
                pair, other = whole.evidence(row, feature), lean.evidence(row, feature)
                assert np.allclose(pair.p, other.p, atol=1e-6)
                assert np.allclose(pair.q, other.q, atol=1e-6)
        assert np.array_equal(whole.values, lean.values)
        assert np.array_equal(whole.importance, lean.importance)
        with approved.raises(xcid.errors.EvidenceNotKept):
            lean.on("probability" if lean.scale != "probability" else "log_odds")
        none = self.explain(TABLE[:90], max_evidence_bytes=lean.cloud.nbytes // 2)
        assert none.cloud is None

    def test_other_questions_are_answered_without_what_was_left_out(self):
        explainer = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0] * X[:, 1])), TABLE, memory=2**21)
        whole = explainer(TABLE[:40])
        lean = explainer.replace(max_evidence_bytes=whole.cloud.nbytes - 1)(TABLE[:40])
        asked = [explainer.answer(found, xcid.outcomes.ToClass("1")) for found in (whole, lean)]
        assert lean.cloud.outputs is None
        assert np.allclose(asked[0].values, asked[1].values)


class TestEngines:
    def test_threads_give_what_one_gives(self):
        explainer = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0] * X[:, 1])), TABLE, memory=2**20)
        rows = np.tile(TABLE, (3, 1))
        assert len(rows) > 3 * explainer.setup.rows_at_once
        alone = explainer(rows, seed=4)
        for workers in (1, 3):
            together = Threads(workers)(explainer, rows, seed=4)
            assert np.array_equal(together.values, alone.values)
            assert np.array_equal(together.index, alone.index)

    def test_a_model_that_fails_in_a_thread_fails_the_call(self):
        def fails(X):
            if len(X) > len(TABLE) + 1:
                raise RuntimeError("no more")
            return X[:, 0] > 0

        with pytest.raises(xcid.errors.ModelError, match="no more"):
            Threads(2)(xcid.Explainer(fails, TABLE), TABLE[:20])

    def test_workers_are_a_number(self, approved):
        for workers in (0, 1.5, "two"):
            with approved.raises(InvalidParameter):
                Threads(workers)

    def test_a_stream_of_pieces(self, approved):
        explainer = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0])), TABLE)
        whole = explainer(TABLE[:30], seed=2)
        pieces = list(explainer.stream((TABLE[start : min(start + 8, 30)] for start in range(0, 30, 8)), seed=2))
        assert [len(piece) for piece in pieces] == [8, 8, 8, 6]
        assert np.allclose(np.concatenate([piece.values for piece in pieces]), whole.values, atol=1e-9)
        assert all(piece.cloud is None for piece in pieces)
        assert whole.cloud is not None
        with approved.raises(InvalidParameter):
            explainer.stream(TABLE)

    def test_samples_of_a_plan_are_not_kept_but_come_back(self):
        asked = []

        def model(X):
            asked.append(np.array(X))
            return 1 / (1 + np.exp(-X[:, 0]))

        explainer = xcid.Explainer(model, TABLE)
        asked.clear()
        cloud = explainer(TABLE[:3]).cloud
        assert cloud.given is None
        answered = np.concatenate(asked[2:]).tolist()  # after reference rows and the rows: those of one plan at a time
        assert sorted(answered) == sorted(cloud.samples.reshape(-1, TABLE.shape[1]).tolist())
        assert cloud.nbytes - cloud.outputs.nbytes < cloud.samples.nbytes
