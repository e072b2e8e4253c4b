"""Any kind of model gets the table it knows, and its answers are read for what they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import xcid
from xcid.generators import Marginal
from xcid.models import wrap
from xcid.table import FeatureSpace

NAMES = ["a", "b", "c"]
TABLE = np.random.default_rng(7).normal(size=(120, 3))
FRAME = pd.DataFrame(TABLE, columns=NAMES)
BINARY = (TABLE[:, 0] > 0).astype(int)
SMALL = Marginal(m=20)


def outputs(model, background=TABLE, rows=TABLE):
    space = FeatureSpace.of(background)
    return wrap(model, space, 2**28)[0](space.encode(rows))


class WithPredict:
    def __init__(self, predict):
        self.predict = predict


class TestAnswers:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_predict_proba(self, n_classes):
        target = np.digitize(TABLE[:, 0], np.linspace(-1, 1, n_classes + 1)[1:-1])
        model = RandomForestClassifier(n_estimators=5, random_state=0).fit(TABLE, target)
        assert np.array_equal(outputs(model), model.predict_proba(TABLE))

    @pytest.mark.parametrize(
        "labels", [(0, 1), ("no", "yes"), (False, True), (-1, 1)], ids=["int", "str", "bool", "signed"]
    )
    def test_labels_become_indicators(self, labels):
        answers = outputs(WithPredict(lambda X: np.array(labels)[(np.asarray(X)[:, 0] > 0).astype(int)]))
        assert np.array_equal(answers[:, 0], 1.0 - BINARY)
        assert np.array_equal(answers[:, 1], BINARY)
        assert not answers[:, 2].any()  # the column of labels that the background never got

    def test_three_text_labels(self):
        labels = np.array(["low", "mid", "high"])
        model = WithPredict(lambda X: labels[np.digitize(np.asarray(X)[:, 0], [-0.5, 0.5])])
        answers = outputs(model)
        assert answers.shape == (120, 4)
        assert np.array_equal(np.unique(labels)[answers.argmax(axis=1)], model.predict(TABLE))

    def test_new_label_has_its_own_column(self):
        answers = outputs(lambda X: np.where(np.asarray(X)[:, 0] > 50, 2, np.asarray(X)[:, 0] > 0), rows=[99.0, 0, 0])
        assert answers.tolist() == [[0.0, 0.0, 1.0]]

    @pytest.mark.parametrize("shape", [(-1,), (-1, 1)], ids=["n", "n-1"])
    def test_probability_of_the_second_class(self, shape):
        second = 1 / (1 + np.exp(-TABLE[:, 0]))
        answers = outputs(lambda X: (1 / (1 + np.exp(-np.asarray(X)[:, 0]))).reshape(shape))
        assert np.allclose(answers, np.column_stack([1 - second, second]))

    def test_a_method_of_a_regressor_gives_numbers(self):
        rates = 1 / (1 + np.exp(-TABLE[:, 0]))
        model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(TABLE, rates)
        assert np.array_equal(outputs(model.predict), model.predict(TABLE)[:, None])
        assert outputs(WithPredict(model.predict).predict).shape[1] == 1
        assert outputs(lambda X: model.predict(X)).shape[1] == 2  # of a function, within [0, 1]

    def test_columns_of_a_function(self):
        with pytest.warns(xcid.XcidWarning, match="scores of 3 classes"):
            answers = outputs(lambda X: np.column_stack([np.zeros(len(X)), X[:, 0], X[:, 1]]))
        assert np.array_equal(answers, np.column_stack([np.zeros(120), TABLE[:, 0], TABLE[:, 1]]))

    @pytest.mark.parametrize("kind", [list, pd.Series, pl.Series], ids=["list", "pandas", "polars"])
    def test_kinds_of_answers(self, kind):
        answers = outputs(lambda X: kind((X[:, 0] > 0).tolist()))
        assert np.array_equal(answers[:, 1], BINARY)

    @pytest.mark.parametrize(
        "model",
        [
            LogisticRegression().fit(TABLE, BINARY),
            WithPredict(lambda X: np.where(np.asarray(X)[:, 0] > 0, "yes", "no")),
            lambda X: (np.asarray(X)[:, 0] > 0).astype(float),
            lambda X: (np.asarray(X)[:, :1] > 0).astype(float),
            lambda X: np.column_stack([np.asarray(X)[:, 0] <= 0, np.asarray(X)[:, 0] > 0]),
        ],
        ids=["predict_proba", "predict", "n", "n-1", "n-2"],
    )
    def test_every_kind_is_explained(self, model):
        explanation = xcid.Explainer(model, TABLE, generator=SMALL)(TABLE[:5])
        assert (explanation.status == "ok").all()
        assert (np.abs(explanation.values).argmax(axis=1) == 0).all()


class TestTables:
    """Warnings are errors here, so that a warning of scikit-learn about feature names fails these tests."""

    @pytest.mark.parametrize("background", [FRAME, TABLE, pl.from_pandas(FRAME)], ids=["pandas", "array", "polars"])
    @pytest.mark.parametrize("fitted", [FRAME, TABLE, pl.from_pandas(FRAME)], ids=["pandas", "array", "polars"])
    def test_fitted_on_and_explained_with(self, fitted, background):
        model = LogisticRegression().fit(fitted, BINARY)
        explainer = xcid.Explainer(model, background, generator=SMALL)
        explanation = explainer(background[:3])
        assert np.array_equal(explanation.outputs, LogisticRegression().fit(TABLE, BINARY).predict_proba(TABLE[:3]))
        named = not isinstance(background, np.ndarray) or not isinstance(fitted, np.ndarray)
        assert explanation.feature_names == (tuple(NAMES) if named else ("x0", "x1", "x2"))

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_a_function_gets_the_kind_of_the_background(self, library):
        seen = []

        def model(X):
            seen.append(X)
            return np.asarray(X["a"]) > 0

        background = library.DataFrame({name: TABLE[:, i] for i, name in enumerate(NAMES)})
        xcid.Explainer(model, background, generator=SMALL)(TABLE[:2])
        assert len(seen) > 2
        assert all(isinstance(X, library.DataFrame) and list(X.columns) == NAMES for X in seen)

    def test_pandas_only_where_the_model_wants_it(self):
        seen = []

        class Model:
            n_features_in_ = 3

            def predict(self, X):
                seen.append(type(X))
                return np.asarray(X)[:, 0] > 0

        xcid.Explainer(Model(), FRAME, generator=SMALL)(TABLE[:1])
        assert set(seen) == {np.ndarray}
        Model.feature_names_in_ = np.array(NAMES, dtype=object)
        seen.clear()
        xcid.Explainer(Model(), TABLE, generator=SMALL)(TABLE[:1])
        assert set(seen) == {pd.DataFrame}

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_whole_columns_stay_whole(self, library):
        background = library.DataFrame(
            {
                "count": np.arange(60),
                "small": np.arange(60, dtype=np.int8),
                "on": np.arange(60) % 2 > 0,
                "x": TABLE[:60, 0],
            }
        )
        seen = []

        def model(X):
            seen.append(list(X.dtypes))
            return np.asarray(X["count"]) > 30

        xcid.Explainer(model, background, generator=SMALL)(background[:2])
        assert seen == [list(background.dtypes)] * len(seen)

    def test_columns_named_by_numbers(self):
        explanation = xcid.Explainer(lambda X: X[1] > 0, pd.DataFrame(TABLE), generator=SMALL)(pd.DataFrame(TABLE[:2]))
        assert explanation.feature_names == ("0", "1", "2")
        assert (np.abs(explanation.values).argmax(axis=1) == 1).all()

    @pytest.mark.parametrize("background", [TABLE, FRAME], ids=["array", "frame"])
    @pytest.mark.parametrize("named", [False, True], ids=["function", "estimator"])
    def test_a_model_may_change_its_input(self, background, named):
        def honest(X):
            return np.asarray(X)[:, 0] > 0

        def vandal(X):
            answers = honest(X)
            if isinstance(X, pd.DataFrame):
                X.iloc[:, :] = -1.0
            else:
                X[:] = -1.0
            return answers

        models = [honest, vandal]
        if named:
            models = [WithPredict(model) for model in models]
            for model in models:
                model.feature_names_in_ = np.array(NAMES, dtype=object)
        first, second = (xcid.Explainer(model, background.copy(), generator=SMALL)(background[:3]) for model in models)
        assert np.array_equal(first.values, second.values)
        assert np.array_equal(first.data, second.data)
        assert np.array_equal(first.cloud.samples, second.cloud.samples)

    def test_the_callers_table_is_left_alone(self):
        before = TABLE.copy()

        def vandal(X):
            answers = X[:, 0] > 0
            X *= 0
            return answers

        xcid.Explainer(vandal, TABLE, generator=SMALL)(TABLE)
        assert np.array_equal(TABLE, before)


class TestMemory:
    def sizes(self, memory):
        sizes = []

        def model(X):
            sizes.append(len(X))
            return X[:, 0] > 0

        explanation = xcid.Explainer(model, TABLE, generator=SMALL, memory=memory)(TABLE[:10])
        return sizes, explanation

    def test_calls_stay_under_the_ceiling(self):
        memory = 64 * 3 * 50
        sizes, explanation = self.sizes(memory)
        assert max(sizes) == 50
        wide, same = self.sizes(2**28)
        assert max(wide) > 50
        assert np.allclose(explanation.values, same.values, rtol=0, atol=1e-12)

    def test_one_row_at_a_time_at_least(self):
        sizes, explanation = self.sizes(1)
        assert set(sizes) == {1}
        assert (explanation.status == "ok").all()


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_columns_in_another_order_reach_the_model_in_its_own(backend):
    table = xcid.datasets.load_diabetes(backend)
    model = LogisticRegression(max_iter=1000).fit(table.data, table.target)
    turned = table.data[list(table.feature_names)[::-1]]
    explanation = xcid.Explainer(model, turned)(turned[:5])
    assert np.allclose(explanation.outputs, model.predict_proba(table.data[:5]))
    assert explanation.feature_names == table.feature_names[::-1]
