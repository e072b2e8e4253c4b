"""What a model's numbers are: one of several targets, by its place or its name; scores of classes; or a logit."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import xcid
from xcid.cli import main
from xcid.show.text import bars

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(RNG.normal(size=(150, 3)), columns=["a", "b", "c"])
BOTH = pd.DataFrame({"price": 100 + 20 * TABLE["a"], "weight": 3 - 2 * TABLE["b"]})
MODEL = RandomForestRegressor(20, random_state=0).fit(TABLE, BOTH)
NAMES = ["price", "weight"]


@pytest.mark.parametrize("target", [1, "weight"])
def test_one_is_explained(target):
    found = xcid.Explainer(MODEL, TABLE, class_names=NAMES, target=target)(TABLE[:4])
    assert found.unit == "weight"
    assert np.allclose(found.outputs[:, 0], MODEL.predict(TABLE[:4])[:, 1])
    assert np.allclose(found.base_values + found.values.sum(axis=1), found.outputs[:, 0], atol=1e-9)
    assert np.allclose(found.base_values, MODEL.predict(TABLE)[:, 1].mean())


def test_it_is_the_model_of_that_number_alone():
    found = xcid.Explainer(MODEL, TABLE, target=0)(TABLE[:2])
    alone = xcid.Explainer(lambda X: MODEL.predict(X)[:, 0], TABLE)(TABLE[:2])
    assert found.unit == "target 0"
    for name in ("values", "importance", "base_values"):
        assert np.allclose(getattr(found, name), getattr(alone, name)), name


def test_by_the_method_of_the_paper():
    found = xcid.CID(MODEL, TABLE, class_names=NAMES, target="price", m=20)(TABLE[:2])
    assert found.output_names == ("price",)
    assert found.values.sum(axis=0).argmax() == 0


def test_a_changed_model_keeps_its_target():
    model = RandomForestRegressor(5, random_state=0).fit(TABLE, BOTH)
    explainer = xcid.Explainer(model, TABLE, class_names=NAMES, target="weight")
    model.fit(TABLE, BOTH + 10)
    with pytest.warns(xcid.XcidWarning, match="has changed"):
        found = explainer(TABLE[:1])
    assert found.unit == "weight"
    assert found.outputs[0, 0] == pytest.approx(model.predict(TABLE[:1])[0, 1])


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        (MODEL, {}, "choose it by target=0"),
        (MODEL, {"target": "wegiht", "class_names": NAMES}, "the targets are"),
        (MODEL, {"target": "weight"}, "names of all"),
        (MODEL, {"target": 2}, "2"),
        (lambda X: np.asarray(X)[:, 0], {"target": 0}, "predicts one"),
        (LogisticRegression().fit(TABLE, TABLE["a"] > 0), {"target": 0}, "has classes"),
    ],
)
def test_what_cannot_be_chosen(model, settings, said):
    with pytest.raises(xcid.XcidError, match=said):
        xcid.Explainer(model, TABLE, **settings)


def standard(X):
    """Both targets around 0."""
    return (MODEL.predict(X) - [100, 3]) / [20, 2]


@pytest.mark.parametrize("call", [standard, lambda X: np.clip(0.4 + standard(X) / 10, 0, 1)], ids=["raw", "in [0, 1]"])
def test_a_function_of_several_targets_is_not_silently_a_classifier(call):
    with pytest.warns(xcid.XcidWarning, match="choose one by target") as heard:
        found = xcid.Explainer(lambda X: call(X), TABLE)(TABLE[:2])
    assert "softmax" in str(heard[0].message)
    for row in range(2):
        assert re.search(r"predicted class [01];", bars(found, row).partition("\n")[0])
    alone = xcid.Explainer(lambda X: call(X), TABLE, target=1)(TABLE[:2])
    assert np.allclose(alone.outputs[:, 0], call(TABLE[:2])[:, 1])


def test_scores_of_classes_have_no_number_in_the_first_line():
    def score(X):
        return np.column_stack([X["a"], -X["a"], X["b"]])

    with pytest.warns(xcid.XcidWarning, match="scores of 3 classes"):
        explainer = xcid.Explainer(score, TABLE)
    due = softmax(score(TABLE[:1])[0])
    assert f"predicted class {due.argmax()};" in bars(explainer(TABLE[:1]))
    quiet = xcid.Explainer(lambda X: softmax(score(X), axis=1), TABLE)(TABLE[:1])
    assert f"predicted class {due.argmax()} ({due.max():.2f});" in bars(quiet)


def test_a_probability_below_0_by_rounding_is_0():
    """Forests of ONNX have such ones, in single precision."""

    def share(X):
        second = np.clip(X["a"].to_numpy(np.float32), 0, 1)
        return np.column_stack([np.where(second == 1, -1e-7, 1 - second), second]).astype(np.float32)

    found = xcid.Explainer(share, TABLE)(TABLE)
    assert found.outputs.min() == 0
    assert np.allclose(found.outputs, share(TABLE), atol=2e-7)
    assert found.scale in ("probability", "log_odds")


class TestOneLogit:
    """One number a row is the logit of the second of two classes, where these are named."""

    @staticmethod
    def logit(table):
        return (3 * table["a"] - table["b"]).to_numpy()

    @pytest.mark.parametrize("names", [["no", "yes"], {0: "no", 1: "yes"}])
    def test_of_a_function(self, names):
        with pytest.warns(xcid.XcidWarning, match="taken for the logit"):
            explainer = xcid.Explainer(self.logit, TABLE, class_names=names)
        found = explainer(TABLE[:4])
        due = xcid.Explainer(lambda X: 1 / (1 + np.exp(-self.logit(X))), TABLE, class_names=["no", "yes"])(TABLE[:4])
        assert found.output_names == ("no", "yes")
        assert np.allclose(found.outputs, due.outputs, rtol=1e-9, atol=0)
        assert np.allclose(found.values, due.values, atol=1e-6)

    def test_far_out_no_digit_is_lost(self):
        with pytest.warns(xcid.XcidWarning, match="taken for the logit"):
            explainer = xcid.Explainer(lambda X: 60 * X["a"].to_numpy(), TABLE, class_names=["no", "yes"])
        outputs = explainer(TABLE[:40]).outputs
        assert np.allclose(np.log(outputs[:, 1] / outputs[:, 0]), 60 * TABLE["a"][:40], rtol=1e-9)

    @pytest.mark.parametrize("name", ["price", ["price"]])
    def test_a_number_may_have_a_name(self, name):
        assert xcid.Explainer(self.logit, TABLE, class_names=name)(TABLE[:1]).unit == "price"

    @pytest.mark.parametrize("names", [["a", "b"], {"output": "price"}])
    def test_a_regressor_has_no_classes(self, names):
        model = RandomForestRegressor(3, random_state=0).fit(TABLE, BOTH["price"])
        for call in (model, model.predict):
            with pytest.raises(xcid.XcidError, match="one name, such as"):
                xcid.Explainer(call, TABLE, class_names=names)

    def test_of_a_module(self):
        torch = pytest.importorskip("torch")
        module = torch.nn.Linear(3, 1).double()
        with torch.no_grad():
            module.weight[:] = torch.tensor([[3.0, -1.0, 0.0]])
            module.bias[:] = 0.5
        with pytest.warns(xcid.XcidWarning, match="if it is a logit, give class_names of both"):
            assert xcid.Explainer(module, TABLE)(TABLE[:2]).output_names == ("output",)
        assert xcid.Explainer(module, TABLE, class_names=["price"])(TABLE[:2]).unit == "price"
        with pytest.warns(xcid.XcidWarning, match="taken for the logit"):
            found = xcid.Explainer(module, TABLE, class_names=["no", "yes"])(TABLE[:2])
        assert np.allclose(found.outputs[:, 1], 1 / (1 + np.exp(-0.5 - self.logit(TABLE[:2]))))
        whole = torch.nn.Sequential(module, torch.nn.Sigmoid())
        due = xcid.Explainer(whole, TABLE, class_names=["no", "yes"])(TABLE[:2])
        assert np.allclose(found.values, due.values, atol=1e-6)


def test_on_the_command_line(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(MODEL, tmp_path / "model.skops")
    TABLE.join(BOTH).to_csv(tmp_path / "rows.csv", index=False)
    table, model, out = (str(tmp_path / name) for name in ("rows.csv", "model.skops", "out.csv"))
    named = ["--target", "weight", "--class-names", "price,weight", "--drop", "price"]
    assert not main(["explain", table, "--model", model, *named, "--rows", ":3", "--out", out, "--quiet"])
    found = xcid.Explainer(MODEL, TABLE, class_names=NAMES, target="weight")(TABLE[:3])
    written = pd.read_csv(out)
    assert np.allclose(written["value"], found.values.ravel(), atol=1e-6)
    assert (written["unit"] == "weight").all()
