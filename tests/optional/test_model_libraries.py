"""Models of other libraries work the first time: real fits in which one planted feature decides."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import xcid
from xcid.errors import MissingDependency, ModelError
from xcid.models import wrap
from xcid.table import FeatureSpace

N = 300
RNG = np.random.default_rng(11)
TABLE = RNG.normal(size=(N, 3)).round(3)
NAMES = ["ignored", "planted", "idle"]
FRAME = pd.DataFrame(TABLE, columns=NAMES)
BINARY = (TABLE[:, 1] > 0).astype(int)
THREE = np.digitize(TABLE[:, 1], [-0.5, 0.5])
NUMBER = 10 * TABLE[:, 1] + 3
CITY = np.array(["Bern", "Lyon", "Oslo", "Porto"])[RNG.integers(0, 4, N)]
MIXED = pd.DataFrame({"ignored": TABLE[:, 0], "planted": CITY, "idle": RNG.integers(18, 90, N)})
CATEGORY = MIXED.astype({"planted": "category"})
NORTH = np.isin(CITY, ["Oslo", "Bern"]).astype(int)
CATBOOST = {"iterations": 25, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
LIGHTGBM = {"num_leaves": 4, "verbose": -1, "num_threads": 1}
XGBOOST = {"max_depth": 2, "seed": 0, "nthread": 1}


def assert_planted(model, background, expected=None, rows=8):
    """The planted feature comes first for every row and the ignored one far behind; answers are the model's own."""
    explanation = xcid.Explainer(model, background)(background[:rows])
    assert (explanation.status == "ok").all()
    planted, ignored = (list(explanation.feature_names).index(name) for name in ("planted", "ignored"))
    assert (explanation.importance.argmax(axis=1) == planted).all()
    assert (explanation.importance[:, ignored] < 0.6 * explanation.importance[:, planted]).all()
    if expected is not None:
        expected = np.asarray(expected)[:rows]
        if expected.ndim == 1:
            two = len(explanation.output_names) == 2
            expected = np.column_stack([1 - expected, expected]) if two else expected[:, None]
        assert np.allclose(explanation.outputs, expected, atol=1e-6)
    return explanation


@pytest.fixture
def xgboost():
    return pytest.importorskip("xgboost", reason="models of XGBoost need it")


@pytest.fixture
def lightgbm():
    return pytest.importorskip("lightgbm", reason="models of LightGBM need it")


@pytest.fixture
def catboost():
    return pytest.importorskip("catboost", reason="models of CatBoost need it")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="modules of PyTorch need it")


class TestXGBoost:
    def booster(self, xgboost, table, target, **settings):
        data = xgboost.DMatrix(table, target, enable_categorical=True)
        return xgboost.train({**XGBOOST, **settings}, data, 15)

    @pytest.mark.parametrize("background", [FRAME, TABLE], ids=["frame", "array"])
    @pytest.mark.parametrize("fitted", [FRAME, TABLE], ids=["on-frame", "on-array"])
    @pytest.mark.parametrize("target", [BINARY, THREE], ids=["binary", "multiclass"])
    def test_classifier(self, xgboost, target, fitted, background):
        model = xgboost.XGBClassifier(n_estimators=15, n_jobs=1, max_depth=2).fit(fitted, target)
        named = background if background is FRAME or fitted is FRAME else FRAME
        assert_planted(model, named, model.predict_proba(fitted))

    def test_regressor(self, xgboost):
        model = xgboost.XGBRegressor(n_estimators=15, n_jobs=1, max_depth=2).fit(FRAME, NUMBER)
        assert_planted(model, FRAME, model.predict(FRAME))

    def test_categories(self, xgboost):
        model = xgboost.XGBClassifier(n_estimators=15, n_jobs=1, enable_categorical=True).fit(CATEGORY, NORTH)
        assert_planted(model, CATEGORY, model.predict_proba(CATEGORY))

    @pytest.mark.parametrize("named", [True, False], ids=["names", "no-names"])
    @pytest.mark.parametrize(
        ("objective", "target", "more"),
        [
            ("binary:logistic", BINARY, {}),
            ("multi:softprob", THREE, {"num_class": 3}),
            ("reg:squarederror", NUMBER, {}),
        ],
    )
    def test_booster(self, xgboost, objective, target, more, named):
        table = FRAME if named else TABLE
        model = self.booster(xgboost, table, target, objective=objective, **more)
        assert_planted(model, FRAME, model.predict(xgboost.DMatrix(table)))
        answers = wrap(model, FeatureSpace.of(TABLE), 2**28)[0](TABLE)
        assert np.array_equal(answers, wrap(model, FeatureSpace.of(FRAME), 2**28)[0](TABLE))

    @pytest.mark.parametrize(
        ("objective", "target", "more"),
        [
            ("multi:softmax", THREE, {"num_class": 3}),
            ("binary:hinge", BINARY, {}),
            ("binary:logitraw", BINARY, {}),
        ],
    )
    def test_booster_that_decides(self, xgboost, objective, target, more):
        model = self.booster(xgboost, FRAME, target, objective=objective, **more)
        explanation = assert_planted(model, FRAME)
        assert np.mean(explanation.outputs.argmax(axis=1) == target[:8]) > 0.8

    def test_booster_with_categories(self, xgboost):
        model = self.booster(xgboost, CATEGORY, NORTH, objective="binary:logistic")
        expected = model.predict(xgboost.DMatrix(CATEGORY, enable_categorical=True))
        assert_planted(model, CATEGORY, expected)

    def test_columns_in_another_order(self, xgboost):
        model = self.booster(xgboost, FRAME, BINARY, objective="binary:logistic")
        assert_planted(model, FRAME[NAMES[::-1]], model.predict(xgboost.DMatrix(FRAME)))

    def test_without_the_library(self, xgboost, monkeypatch):
        model = self.booster(xgboost, FRAME, BINARY, objective="binary:logistic")
        monkeypatch.setitem(sys.modules, "xgboost", None)
        with pytest.raises(MissingDependency, match=r'pip install -e "\.\[xgboost\]"'):
            xcid.Explainer(model, FRAME)


class TestLightGBM:
    def booster(self, lightgbm, table, target, **settings):
        return lightgbm.train({**LIGHTGBM, **settings}, lightgbm.Dataset(table, target), 20)

    @pytest.mark.parametrize("background", [FRAME, TABLE], ids=["frame", "array"])
    @pytest.mark.parametrize("fitted", [FRAME, TABLE], ids=["on-frame", "on-array"])
    @pytest.mark.parametrize("target", [BINARY, THREE], ids=["binary", "multiclass"])
    def test_classifier(self, lightgbm, target, fitted, background):
        model = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=4, n_jobs=1, verbose=-1).fit(fitted, target)
        named = background if background is FRAME or fitted is FRAME else FRAME
        assert_planted(model, named, model.predict_proba(fitted))

    def test_regressor(self, lightgbm):
        model = lightgbm.LGBMRegressor(n_estimators=20, num_leaves=4, n_jobs=1, verbose=-1).fit(FRAME, NUMBER)
        assert_planted(model, FRAME, model.predict(FRAME))

    def test_categories(self, lightgbm):
        model = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(CATEGORY, NORTH)
        assert_planted(model, CATEGORY, model.predict_proba(CATEGORY))

    @pytest.mark.parametrize("table", [FRAME, TABLE], ids=["names", "no-names"])
    @pytest.mark.parametrize(
        ("objective", "target", "more"),
        [("binary", BINARY, {}), ("multiclass", THREE, {"num_class": 3}), ("regression", NUMBER, {})],
    )
    def test_booster(self, lightgbm, objective, target, more, table):
        model = self.booster(lightgbm, table, target, objective=objective, **more)
        assert_planted(model, FRAME, model.predict(table))
        again = lightgbm.Booster(model_str=model.model_to_string())
        assert_planted(again, FRAME, model.predict(table))

    def test_booster_with_categories(self, lightgbm):
        model = self.booster(lightgbm, CATEGORY, NORTH, objective="binary")
        assert_planted(model, CATEGORY, model.predict(CATEGORY))

    def test_columns_in_another_order(self, lightgbm):
        model = self.booster(lightgbm, FRAME, BINARY, objective="binary")
        assert_planted(model, FRAME[NAMES[::-1]], model.predict(FRAME))
        space = FeatureSpace.of(TABLE[:, ::-1], NAMES[::-1])
        assert np.allclose(wrap(model, space, 2**28)[0](TABLE[:, ::-1])[:, 1], model.predict(FRAME))


class TestCatBoost:
    @pytest.mark.parametrize("background", [FRAME, pl.from_pandas(FRAME)], ids=["pandas", "polars"])
    @pytest.mark.parametrize(
        "target", [BINARY, np.array(["low", "mid", "high"])[THREE]], ids=["binary", "multiclass-text"]
    )
    def test_classifier(self, catboost, target, background):
        model = catboost.CatBoostClassifier(**CATBOOST).fit(FRAME, target)
        explanation = assert_planted(model, background, model.predict_proba(FRAME))
        assert explanation.output_names == tuple(str(name) for name in np.unique(target))

    @pytest.mark.parametrize("table", [FRAME, TABLE], ids=["names", "no-names"])
    def test_regressor(self, catboost, table):
        model = catboost.CatBoostRegressor(**CATBOOST).fit(table, NUMBER)
        explanation = assert_planted(model, FRAME, model.predict(table))
        assert explanation.output_names == ("output",)

    def test_regressor_in_a_pipeline(self, catboost):
        """Its empty ``classes_`` does not make its numbers labels."""
        model = make_pipeline(StandardScaler(), catboost.CatBoostRegressor(**CATBOOST)).fit(FRAME, NUMBER)
        assert_planted(model, FRAME, model.predict(FRAME))

    @pytest.mark.parametrize("table", [MIXED, CATEGORY], ids=["text", "category"])
    def test_mixed_table(self, catboost, table):
        model = catboost.CatBoostClassifier(**CATBOOST, cat_features=["planted"]).fit(table, NORTH)
        assert_planted(model, table, model.predict_proba(table))
        turned = table[["planted", "idle", "ignored"]]
        assert_planted(model, turned, model.predict_proba(table))

    def test_mixed_regression(self, catboost):
        model = catboost.CatBoostRegressor(**CATBOOST, cat_features=["planted"]).fit(MIXED, 5.0 * NORTH)
        assert_planted(model, MIXED, model.predict(MIXED))

    def test_base_class(self, catboost):
        model = catboost.CatBoost({**CATBOOST, "loss_function": "Logloss"}).fit(FRAME, BINARY)
        assert_planted(model, FRAME, model.predict(FRAME, prediction_type="Probability"))

    def test_not_fitted(self, catboost):
        with pytest.raises(ModelError, match="CatBoostClassifier cannot be called"):
            xcid.Explainer(catboost.CatBoostClassifier(), FRAME)


class TestTorch:
    def trained(self, torch, head, target, loss, n_outputs):
        """A small network with dropout and batch norm, which answer otherwise in training mode."""
        torch.manual_seed(0)
        layers = [torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(0.1)]
        model = torch.nn.Sequential(*layers, torch.nn.Linear(8, n_outputs), *head)
        steps = torch.optim.Adam(model.parameters(), lr=0.03)
        inputs = torch.tensor(TABLE, dtype=torch.float32)
        for _ in range(150):
            steps.zero_grad()
            loss(model(inputs), target).backward()
            steps.step()
        return model

    def answers(self, torch, model):
        with torch.no_grad():
            return model.eval()(torch.tensor(TABLE, dtype=torch.float32)).numpy()

    def test_logits_of_several_columns(self, torch):
        model = self.trained(torch, [], torch.tensor(THREE), torch.nn.CrossEntropyLoss(), 3)
        with pytest.warns(xcid.XcidWarning, match="taken for logits"):
            explanation = assert_planted(model, FRAME)
        due = torch.tensor(self.answers(torch, model)[:8]).softmax(1)
        assert np.allclose(explanation.outputs, due, atol=1e-5)

    def test_one_column_of_probabilities(self, torch):
        target = torch.tensor(BINARY[:, None], dtype=torch.float32)
        model = self.trained(torch, [torch.nn.Sigmoid()], target, torch.nn.BCELoss(), 1)
        explanation = assert_planted(model, FRAME)
        assert np.allclose(explanation.outputs[:, 1], self.answers(torch, model)[:8, 0], atol=1e-5)

    def test_regression(self, torch):
        target = torch.tensor(NUMBER[:, None], dtype=torch.float32)
        model = self.trained(torch, [], target, torch.nn.MSELoss(), 1)
        with pytest.warns(xcid.XcidWarning, match="taken for a number"):
            explanation = assert_planted(model, FRAME)
        assert explanation.output_names == ("output",)

    def test_every_part_keeps_its_mode(self, torch):
        model = self.trained(torch, [], torch.tensor(BINARY), torch.nn.CrossEntropyLoss(), 2)
        model.train()
        model[1].eval()
        before = [part.training for part in model.modules()]
        state = {name: value.clone() for name, value in model.state_dict().items()}
        with pytest.warns(xcid.XcidWarning, match="taken for logits"):
            assert_planted(model, FRAME)
        assert [part.training for part in model.modules()] == before
        assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
        assert not any(weight.requires_grad and weight.grad is None for weight in model.parameters())

    def test_other_modules(self, torch):
        class Rule(torch.nn.Module):
            """No weights; labels."""

            def forward(self, inputs):
                return (inputs[:, 1] > 0).long()

        assert_planted(Rule(), FRAME)
        double = torch.nn.Linear(3, 2).double()
        with torch.no_grad():
            double.weight[:] = torch.tensor([[0.0, -1, 0], [0, 1, 0]])
        for module in (double, double.to(torch.bfloat16)):
            with pytest.warns(xcid.XcidWarning, match="taken for logits"):
                assert_planted(module, FRAME)

    def test_a_failure_restores_the_mode(self, torch):
        model = torch.nn.Linear(5, 2).train()
        with pytest.raises(ModelError, match="the model failed on 300 rows: RuntimeError"):
            xcid.Explainer(model, FRAME)
        assert model.training

    def test_what_it_cannot_take(self, torch):
        with pytest.raises(ModelError, match=r"could not convert string.*levels in \['planted'\]"):
            xcid.Explainer(torch.nn.Linear(3, 2), MIXED)

        class Pair(torch.nn.Module):
            def forward(self, inputs):
                return inputs, inputs

        with pytest.raises(ModelError, match="must return one tensor, not tuple"):
            xcid.Explainer(Pair(), FRAME)


class TestOnnx:
    @pytest.fixture
    def session(self):
        onnxruntime = pytest.importorskip("onnxruntime", reason="sessions need onnxruntime")
        skl2onnx = pytest.importorskip("skl2onnx", reason="the models of these tests are converted by skl2onnx")

        def convert(model, table=None, **settings):
            types = settings.pop("types", None)
            example = None if types else table[:1].astype(np.float32)
            proto = skl2onnx.to_onnx(model, example, initial_types=types, **settings)
            return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])

        return convert

    @pytest.mark.parametrize("zipmap", [True, False, "columns"])
    @pytest.mark.parametrize("target", [BINARY, np.array(["high", "low", "mid"])[THREE]], ids=["binary", "multiclass"])
    def test_classifier(self, session, target, zipmap):
        model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE, target)
        converted = session(model, TABLE, options={id(model): {"zipmap": zipmap}})
        explanation = assert_planted(converted, FRAME)
        if zipmap != "columns":
            assert np.allclose(explanation.outputs, model.predict_proba(TABLE[:8]), atol=1e-5)
        if zipmap is True:
            assert explanation.output_names == tuple(str(name) for name in model.classes_)

    def test_regression(self, session):
        model = LinearRegression().fit(TABLE, NUMBER)
        explanation = assert_planted(session(model, TABLE), FRAME)
        assert np.allclose(explanation.outputs[:, 0], NUMBER[:8], atol=1e-4)

    def test_one_input_a_column(self, session):
        from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

        columns = make_column_transformer((OneHotEncoder(), ["planted"]), remainder="passthrough")
        model = make_pipeline(columns, LogisticRegression(max_iter=5000)).fit(MIXED, NORTH)
        types = [
            ("ignored", FloatTensorType([None, 1])),
            ("planted", StringTensorType([None, 1])),
            ("idle", Int64TensorType([None, 1])),
        ]
        converted = session(model, types=types)
        expected = model.predict_proba(MIXED)[:8]
        for background in (MIXED, MIXED[["idle", "planted", "ignored"]], pl.from_pandas(MIXED)):
            assert np.allclose(assert_planted(converted, background).outputs, expected, atol=1e-5)
        with pytest.raises(ModelError, match=r"inputs \['planted'\], which the reference data do not have"):
            xcid.Explainer(converted, MIXED.rename(columns={"planted": "city"}))

    def test_scores_without_probabilities(self, session):
        model = LinearSVC(random_state=0).fit(TABLE, BINARY)
        explanation = assert_planted(session(model, TABLE), FRAME)
        assert np.array_equal(explanation.outputs.argmax(axis=1), model.predict(TABLE[:8]))

    def test_a_fixed_number_of_rows(self, session):
        from skl2onnx.common.data_types import FloatTensorType

        model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE, BINARY)
        converted = session(model, types=[("X", FloatTensorType([7, 3]))])
        answers = wrap(converted, FeatureSpace.of(TABLE), 2**28)[0](TABLE)
        assert np.allclose(answers, model.predict_proba(TABLE), atol=1e-5)


def test_plain_models_import_no_library():
    """Recognition goes by names alone."""
    code = (
        "import sys, numpy as np, xcid; table = np.random.default_rng(0).normal(size=(50, 2));"
        "xcid.Explainer(lambda X: X[:, 0] > 0, table);"
        "sys.exit(repr([m for m in ('xgboost', 'lightgbm', 'catboost', 'torch', 'onnxruntime') if m in sys.modules]))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stderr.strip() == "[]"
