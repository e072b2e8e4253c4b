"""Other methods behind our call: signs, counts, repeatability, and what they cannot take."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import xcid
from xcid import metrics
from xcid.errors import InvalidData, InvalidParameter, MissingDependency
from xcid.generators import Random
from xcid.models.predictor import FEW
from xcid_lab.baselines import (
    BayesShap,
    Chance,
    CounterfactualShap,
    DiceImportance,
    Lime,
    Occlusion,
    RegionalSensitivity,
    Shap,
    cramer_von_mises,
)
from xcid_lab.baselines.plain import Changed

for package in ("shap", "lime", "dice_ml"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of their own imports
        pytest.importorskip(package, reason="needs the extras shap, lime and dice")

TABLE = np.random.default_rng(7).normal([1.0, 0.0, -2.0, 5.0], [1.0, 2.0, 0.5, 1.0], size=(250, 4))
SLOPES = np.array([2.0, -1.0, 0.0, 0.5])
SIGNED = {
    "shap": Shap,
    "lime": Lime,
    "lime, quartiles": lambda model, table: Lime(model, table, discretizer="quartile"),
    "occlusion": Occlusion,
    "cf-shap": CounterfactualShap,
    "bayes-shap": BayesShap,
}
ALL = SIGNED | {
    "dice": DiceImportance,
    "chance": Chance,
    "kolmogorov-smirnov": RegionalSensitivity,
    "cramer-von-mises": lambda model, table: RegionalSensitivity(model, table, statistic=cramer_von_mises),
}
SEEDED = ("lime", "lime, quartiles", "dice", "chance", "bayes-shap", "kolmogorov-smirnov", "cramer-von-mises")
OF_OURS = [ALL[name] for name in ("dice", "kolmogorov-smirnov", "cramer-von-mises")]  # made with an Explainer
DRAWING = {name: ALL[name] for name in SEEDED}

each = pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
each_signed = pytest.mark.parametrize("make", SIGNED.values(), ids=SIGNED.keys())


def linear(X):
    return X @ SLOPES


def decides_by_first(X):
    """Probability of the second class: the first column decides, the second pulls the other way."""
    return 1 / (1 + np.exp(-3 * (X[:, 0] - 1) + 0.5 * X[:, 1]))


class Counted:
    """A model that counts the rows it gets."""

    def __init__(self, model):
        self.model, self.n_rows = model, 0

    def __call__(self, X):
        self.n_rows += len(X)
        return self.model(X)


@pytest.fixture(scope="module")
def mixed():
    """A frame of text, whole numbers and floats, and a pipeline on it; the city decides most."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Bern", "Rome", "Oslo"], 200),
            "children": rng.integers(0, 5, 200),
            "income": rng.normal(50, 10, 200).round(3),
        }
    )
    target = 3 * (frame["city"] == "Rome") + 0.05 * (frame["income"] - 50) + 0.1 * rng.normal(size=200) > 1
    coded = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["children", "income"]))
    return make_pipeline(coded, LogisticRegression()).fit(frame, target), frame


class TestSigns:
    @each_signed
    def test_above_0_where_the_value_supports_the_predicted_class(self, make):
        rows = np.array([[3.0, 0.0, -2.0, 5.0], [-1.0, 0.0, -2.0, 5.0]])
        explanation = make(decides_by_first, TABLE)(rows)
        assert explanation.outputs.argmax(axis=1).tolist() == [1, 0]
        assert np.all(explanation.values[:, 0] > 0)
        assert np.all(np.abs(explanation.values[:, 1:]) < explanation.values[:, :1] / 3)

    @each_signed
    def test_below_0_where_it_speaks_against_it(self, make):
        rows = np.array([[2.5, 5.0, -2.0, 5.0], [-0.5, -5.0, -2.0, 5.0]])
        explanation = make(decides_by_first, TABLE)(rows)
        assert explanation.outputs.argmax(axis=1).tolist() == [1, 0]
        assert np.all(explanation.values[:, 1] < 0)

    @each_signed
    def test_of_a_regression_above_0_where_the_value_raises_the_output(self, make):
        explanation = make(linear, TABLE)(np.array([[3.0, 4.0, -2.0, 3.0]]))
        assert np.sign(explanation.values[0, [0, 1, 3]]).tolist() == [1, -1, -1]
        assert abs(explanation.values[0, 2]) < 0.3

    def test_of_three_classes(self):
        def softmax(X):
            powers = np.exp(np.column_stack([2 * X[:, 0], 2 * X[:, 1], X[:, 2]]))
            return powers / powers.sum(axis=1, keepdims=True)

        rows = np.array([[4.0, 0.0, -2.0, 5.0], [0.0, 4.0, -2.0, 5.0]])
        for make in SIGNED.values():
            values = make(softmax, TABLE)(rows).values
            assert values.argmax(axis=1).tolist() == [0, 1]


class TestShap:
    def test_exact_for_a_linear_model(self):
        rows = TABLE[:3]
        shap = Shap(linear, TABLE)
        expected = SLOPES * (rows - shap.sample.mean(axis=0))
        assert np.allclose(shap(rows).values, expected, atol=1e-6)

    def test_weights_are_copies(self):
        random = np.random.default_rng(0)
        table, counts = random.normal(size=(30, 3)), random.integers(0, 4, 30)
        slopes = np.array([2.0, -1.0, 0.5])
        found = Shap(lambda X: X @ slopes, table, weights=counts)(table[:4])
        assert np.allclose(found.values, slopes * (table[:4] - np.average(table, axis=0, weights=counts)))

    def test_taken_apart_and_asked_are_the_same(self):
        model = RandomForestClassifier(20, random_state=0).fit(TABLE, decides_by_first(TABLE) > 0.5)
        taken_apart, asked = Shap(model, TABLE), Shap(model.predict_proba, TABLE)
        assert (taken_apart.explainer, asked.explainer) == ("tree", "kernel")
        assert np.allclose(taken_apart(TABLE[:4]).values, asked(TABLE[:4]).values, atol=1e-4)
        assert taken_apart(TABLE[:4]).n_evaluations.tolist() == [1] * 4

    def test_boosting_is_on_the_scale_of_probabilities(self):
        table = TABLE.astype(np.float32).astype(np.float64)
        model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(table, decides_by_first(table) > 0.5)
        shap = Shap(model, table)
        assert shap.explainer == "tree"
        explanation = shap(table[:10])
        own = explanation.outputs.argmax(axis=1)
        base = model.predict_proba(shap.sample).mean(axis=0)[own]
        assert np.allclose(explanation.values.sum(axis=1) + base, explanation.outputs.max(axis=1), atol=1e-6)

    def test_trees_of_a_regression(self):
        table = TABLE.round(2)
        model = RandomForestRegressor(10, random_state=0).fit(table, linear(table))
        assert Shap(model, table).explainer == "tree"

    @pytest.mark.parametrize("why", ["three classes", "pipeline", "order of columns"])
    def test_other_models_are_asked(self, why):
        frame = pd.DataFrame(TABLE, columns=list("abcd"))
        target = np.digitize(linear(TABLE), [0, 4]) if why == "three classes" else linear(TABLE) > 3
        model = HistGradientBoostingClassifier(max_iter=2, random_state=0)
        if why == "pipeline":
            model = make_pipeline(StandardScaler(), model)
        model.fit(frame, target)
        shap = Shap(model, frame[list("dcba")] if why == "order of columns" else frame, rows=10)
        assert shap.explainer == "kernel"
        row = frame.iloc[:1]
        explanation = shap(row)
        base = model.predict_proba(frame)[np.linspace(0, 249, 10).round().astype(int)].mean(axis=0)
        own = explanation.outputs[0].argmax()
        assert explanation.values.sum() + base[own] == pytest.approx(explanation.outputs[0, own])

    def test_trees_are_not_taken_apart_in_another_order_of_columns(self, monkeypatch):
        """A model that treats two columns alike would add up, with their values mixed up."""
        import shap

        frame = pd.DataFrame(TABLE, columns=list("abcd"))
        model = RandomForestClassifier(5, random_state=0).fit(frame, linear(TABLE) > 3)
        made = []
        monkeypatch.setattr(shap, "TreeExplainer", lambda *a, **k: made.append(a))
        Shap(model, frame[list("dcba")])
        assert not made
        Shap(model, frame)
        assert len(made) == 1

    def test_trees_that_do_not_add_up_are_asked(self, monkeypatch):
        import shap

        model = RandomForestClassifier(5, random_state=0).fit(TABLE, linear(TABLE) > 3)
        true = shap.TreeExplainer.shap_values
        monkeypatch.setattr(shap.TreeExplainer, "shap_values", lambda *a, **k: 0.9 * true(*a, **k))
        assert Shap(model, TABLE).explainer == "kernel"

    def test_weak_features_are_not_set_to_0(self):
        """SHAP's own default keeps ten features."""
        table = np.random.default_rng(0).normal(size=(60, 14))
        slopes = np.linspace(1, 2, 14)
        values = Shap(lambda X: X @ slopes - 30, table, rows=20, coalitions=600)(table[:1]).values
        assert np.count_nonzero(values) == 14


class TestCounterfactualShap:
    def test_linear_models_are_compared_with_the_nearest_rows_beyond_the_boundary(self):
        """By a linear output a value is the slope times the distance from the counterfactuals' mean."""
        side = TABLE[:, 0] > 1
        rows = TABLE[:4]
        scales = np.abs(TABLE - np.median(TABLE, axis=0)).mean(axis=0)
        explanation = CounterfactualShap(lambda X: 0.5 + (X[:, 0] - 1) / 20, TABLE, rows=7)(rows)
        for row, values, data in zip(range(4), explanation.values, rows, strict=True):
            others = TABLE[side != side[row]]
            near = others[np.argsort((np.abs(others - data) / scales).sum(axis=1))[:7]]
            expected = (data[0] - near[:, 0].mean()) / 20 * (1 if side[row] else -1)
            assert np.allclose(values, [expected, 0, 0, 0], atol=1e-9)
            assert values[0] > 0
        assert explanation.n_flips.tolist() == [7] * 4

    def test_of_a_regression_rows_with_distant_outputs(self):
        row = TABLE[:1]
        explanation = CounterfactualShap(linear, TABLE, rows=250)(row)
        outcome = xcid.Explainer(linear, TABLE).setup.outcome
        outputs = linear(TABLE)[:, None]
        far = TABLE[outcome(outputs, np.repeat(linear(row)[:, None], 250, axis=0)) > 0.5]
        assert 10 < len(far) == explanation.n_flips[0] < 250
        assert np.allclose(explanation.values, SLOPES * (row - far.mean(axis=0)), atol=1e-6)

    def test_rows_that_nothing_is_beyond_of(self):
        explanation = CounterfactualShap(lambda X: np.where(X[:, 0] > 99, 0.9, 0.1), TABLE)(TABLE[:2])
        assert explanation.values.tolist() == [[0.0] * 4] * 2
        assert explanation.status.tolist() == ["insufficient_flips"] * 2

    @pytest.mark.parametrize("n", [40, 300])
    def test_keeps_to_its_budget(self, n):
        table = np.random.default_rng(0).normal(size=(100, 12))
        explanation = CounterfactualShap(lambda X: 1 / (1 + np.exp(-X.sum(axis=1))), table, rows=10, n=n)(table[:2])
        assert np.all((explanation.n_evaluations > n - 10) & (explanation.n_evaluations <= n + 1))

    def test_refuses_a_budget_without_coalitions(self):
        with pytest.raises(InvalidParameter, match="too few for 100 counterfactuals"):
            CounterfactualShap(linear, TABLE, n=200)


class TestLime:
    def test_contributions_of_a_linear_model(self):
        rows = TABLE[:5]
        values = Lime(linear, TABLE)(rows).values
        assert np.allclose(values, SLOPES * (rows - TABLE.mean(axis=0)), atol=0.02)

    def test_models_of_whole_numbers_get_whole_numbers(self):
        table = pd.DataFrame({"a": np.arange(100) % 7, "b": np.linspace(0, 1, 100)})
        seen = []

        def model(frame):
            seen.append(frame)
            return (frame["a"] > 3).to_numpy() * 0.8

        Lime(model, table, samples=500)(table.iloc[:1])
        counts = seen[-1]["a"].value_counts(normalize=True)
        # a cut instead of a rounding would shift all by half: LIME draws from a normal with the mean 3
        assert seen[-1]["a"].mean() == pytest.approx(3, abs=0.3)
        assert counts.index.dtype.kind == "i"

    def test_refuses_missing_cells(self):
        table = TABLE.copy()
        table[3, 1] = np.nan
        with pytest.raises(InvalidData, match=r"no missing cells, and the reference data have some in \['x1'\]"):
            Lime(lambda X: X[:, 0] > 0, table)

    def test_refuses_an_unknown_discretizer(self):
        with pytest.raises(InvalidParameter, match="quartile"):
            Lime(linear, TABLE, discretizer="entropy")


class TestDice:
    def test_importance_is_a_share_without_sign(self):
        explanation = DiceImportance(decides_by_first, TABLE)(TABLE[:3])
        assert np.all((explanation.values >= 0) & (explanation.values <= 1))
        assert np.array_equal(explanation.values, explanation.importance)
        assert np.all(explanation.values >= 0)
        assert explanation.values.argmax(axis=1).tolist() == [0, 0, 0]

    def test_another_generator(self):
        explanation = DiceImportance(decides_by_first, TABLE, generator=Random(m=30))(TABLE[:3])
        assert explanation.values.argmax(axis=1).tolist() == [0, 0, 0]

    def test_changed_is_counted_in_positives_only(self):
        samples = np.array([[[1.0, np.nan, 0.0], [2.0, np.nan, 0.0], [1.0, 3.0, 0.0], [9.0, 9.0, 9.0]]])
        cloud = xcid.Perturbations(
            np.array([[1.0, np.nan, 0.0]]),
            samples,
            np.array([[0.0, 1.0, 3.0, 0.0]]),
            np.array([[1.0, 0.0, 0.0, 1.0]]),
            np.array([4]),
            np.array(["ok"]),
            np.zeros(3, dtype=bool),
        )
        assert Changed()(cloud).values.tolist() == [[0.25, 0.75, 0.0]]

    def test_no_counterfactual_is_no_importance(self):
        cloud = xcid.Perturbations(
            np.zeros((1, 2)), np.ones((1, 3, 2)), np.zeros((1, 3)), np.ones((1, 3)), np.array([3]),
            np.array(["insufficient_flips"]), np.zeros(2, dtype=bool),
        )  # fmt: skip
        assert Changed()(cloud).values.tolist() == [[0.0, 0.0]]


class TestOcclusion:
    @pytest.mark.parametrize("masking", [metrics.mean, metrics.JointRows(250)])
    def test_exact_for_a_linear_model(self, masking):
        rows = TABLE[:3]
        explanation = Occlusion(linear, TABLE, masking=masking)(rows)
        assert np.allclose(explanation.values, SLOPES * (rows - TABLE.mean(axis=0)))

    def test_refuses_what_is_no_masking(self):
        with pytest.raises(InvalidParameter, match="masking must be a function"):
            Occlusion(linear, TABLE, masking="mean")


class TestChance:
    def test_knows_nothing(self):
        one, other = Chance(linear, TABLE)(TABLE[:50]), Chance(decides_by_first, TABLE)(TABLE[:50])
        assert np.array_equal(one.values, other.values)
        assert np.abs(one.values).max() <= 1
        assert abs(one.values.mean()) < 0.2
        assert len(np.unique(one.values)) == one.values.size

    def test_follows_the_columns(self):
        moved = [2, 0, 3, 1]
        values = Chance(lambda X: X[:, 0] > 0, TABLE)(TABLE[:3]).values
        assert np.array_equal(Chance(lambda X: X[:, 0] > 0, TABLE[:, moved])(TABLE[:3, moved]).values, values[:, moved])


class TestAll:
    @each
    def test_counts_what_the_model_is_asked(self, make):
        model = Counted(decides_by_first)
        explain = make(model, TABLE)
        explain(TABLE[:1])
        model.n_rows = 0
        explanation = explain(TABLE[:3])
        once_for_all = {Shap: 100}.get(make, FEW if make in OF_OURS else 0)  # reference rows, at every call
        assert explanation.n_evaluations.sum() + once_for_all == model.n_rows
        assert np.all(explanation.n_evaluations >= 1)

    @each
    def test_the_same_again_alone_and_in_any_order(self, make):
        explain = make(decides_by_first, TABLE)
        both = explain(TABLE[:2], seed=5)
        assert np.array_equal(explain(TABLE[1::-1], seed=5).values[::-1], both.values)
        assert np.array_equal(explain(TABLE[1:2], seed=5).values, both.values[1:])

    @pytest.mark.parametrize("make", DRAWING.values(), ids=DRAWING.keys())
    def test_another_seed_is_another_draw(self, make):
        explain = make(decides_by_first, TABLE)
        assert not np.array_equal(explain(TABLE[:2], seed=1).values, explain(TABLE[:2], seed=2).values)

    def test_another_seed_draws_other_coalitions(self):
        table = np.random.default_rng(0).normal(size=(40, 13))
        explain = Shap(lambda X: np.tanh(X[:, 0] * X[:, 1] * X[:, 2] + X[:, 5]) * 2, table, rows=5, coalitions=100)
        first, second = (explain(table[:1], seed=seed).values for seed in (1, 2))
        assert not np.allclose(first, second)
        assert np.array_equal(first, explain(table[:1], seed=1).values)

    @each
    def test_mixed_frame_with_a_pipeline(self, make, mixed):
        model, frame = mixed
        rows = frame[frame["city"] == "Rome"].iloc[:3]
        explanation = make(model, frame)(rows)
        assert explanation.feature_names == ("city", "children", "income")
        assert explanation.index.tolist() == rows.index.tolist()
        assert explanation.shown(0, "city") == "Rome"
        if make is not Chance:
            assert explanation.values.argmax(axis=1).tolist() == [0, 0, 0]

    @pytest.mark.parametrize(
        "make",
        [Shap, Occlusion, Chance, DiceImportance, CounterfactualShap, BayesShap, RegionalSensitivity],
    )
    def test_missing_cells(self, make):
        table = TABLE.copy()
        table[::5, 1] = np.nan
        explanation = make(lambda X: 1 / (1 + np.exp(-np.nan_to_num(X) @ SLOPES + 4)), table)(table[4:7])
        assert np.isfinite(explanation.values).all()

    @each
    def test_is_a_whole_explanation(self, make, tmp_path):
        explanation = make(decides_by_first, TABLE)(TABLE[:2])
        assert set(explanation.status) == {"ok"}
        assert np.all((explanation.importance >= 0) & (explanation.importance <= 1))
        assert (explanation.lower is None) == (make is not BayesShap)
        assert explanation.p_values is None
        assert len(explanation.to_frame()) == 8
        assert "x0" in str(explanation)
        explanation.save(tmp_path / "one.npz")
        assert np.array_equal(xcid.load(tmp_path / "one.npz").values, explanation.values)

    @each
    def test_nothing_is_printed(self, make, capfd):
        make(decides_by_first, TABLE)(TABLE[:1])
        assert capfd.readouterr() == ("", "")

    def test_names_that_the_model_was_fitted_with(self):
        frame = pd.DataFrame(TABLE, columns=list("abcd"))
        model = LogisticRegression().fit(frame, linear(TABLE) > 3)
        assert Occlusion(model, TABLE)(TABLE[:1]).feature_names == tuple("abcd")

    @pytest.mark.parametrize(("make", "package"), [(Shap, "shap"), (Lime, "lime")])
    def test_says_what_to_install(self, make, package, monkeypatch):
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingDependency, match=rf'pip install -e "\.\[{package}\]"'):
            make(linear, TABLE)
