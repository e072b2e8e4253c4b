"""A regressor with several targets: one of them is explained, by its place or its name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import xcid
from xcid.cli import main

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
