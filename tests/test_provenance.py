"""Where an explanation comes from: the same content has the same digest, other content another; nothing is made up."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import xcid
from xcid import cli
from xcid.io.training import train
from xcid.native import look_for_record
from xcid.table import FeatureSpace
from xcid.table.features import digest_reference

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(80, 3)), columns=["a", "b", "c"])
CLASS = (TABLE.a + TABLE.b > 0).astype(int)
MODELS = {
    "forest": RandomForestClassifier(5, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "network": MLPClassifier((4,), max_iter=500, random_state=0),
}


def trace(model, table=TABLE):
    return xcid.Explainer(model, table).contributions(TABLE[:2]).details.settings


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.ConvergenceWarning")
def test_a_model_has_the_same_digest_after_it_travelled_and_another_when_it_changed(name):
    model = MODELS[name].fit(TABLE, CLASS)
    first = look_for_record(model)
    assert re.fullmatch("[0-9a-f]{64}", first.sha256)
    assert look_for_record(pickle.loads(pickle.dumps(model))) == first
    assert "sklearn" in first.packages
    model.fit(TABLE, 1 - CLASS)
    assert look_for_record(model).sha256 != first.sha256


def test_another_process_finds_the_same_digest(tmp_path):
    model = MODELS["forest"].fit(TABLE, CLASS)
    (tmp_path / "model").write_bytes(pickle.dumps(model))
    look = "import pickle, sys; from xcid.native import look_for_record as look; print(look(pickle.load("
    found = subprocess.run(
        [sys.executable, "-c", f"{look}open(sys.argv[1], 'rb'))).sha256)", tmp_path / "model"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert found.stdout.strip() == look_for_record(model).sha256


def test_a_model_that_the_command_trained_on_text_and_dates_has_a_digest():
    dates = pd.date_range("2020-01-01", periods=len(TABLE))
    mixed = TABLE.assign(d=np.where(TABLE.c > 0, "x", "y"), when=dates, answer=CLASS)
    first, again = (train(mixed, "answer", "logistic", 0).model for _ in range(2))
    assert look_for_record(first).sha256 == look_for_record(again).sha256 != ""
    other = train(mixed.assign(answer=1 - CLASS), "answer", "logistic", 0).model
    assert look_for_record(other).sha256 != look_for_record(first).sha256


def test_functions_of_numpy_have_digests_and_tell_models_apart():
    logarithm, root = (
        make_pipeline(FunctionTransformer(one), LogisticRegression()).fit(TABLE.abs() + 1, CLASS)
        for one in (np.log, np.sqrt)
    )
    logarithm[-1].coef_ = root[-1].coef_
    logarithm[-1].intercept_ = root[-1].intercept_
    assert look_for_record(logarithm).sha256 != look_for_record(root).sha256 != ""


def test_what_cannot_be_looked_at_is_called_unknown():
    model = MODELS["logistic"].fit(TABLE, CLASS)
    with_function = make_pipeline(FunctionTransformer(lambda X: 2 * X), LogisticRegression()).fit(TABLE, CLASS)
    assert trace(lambda X: model.predict_proba(X))["model"] == "<lambda>, digest unknown"
    assert trace(with_function)["model"] == "Pipeline, digest unknown"
    assert look_for_record(object()).sha256 == ""


def test_reference_data_have_one_digest_in_every_library_and_another_for_every_cell():
    polars = pytest.importorskip("polars")
    mixed = TABLE.assign(d=np.where(TABLE.c > 0, "x", "y"))
    due = digest_reference(FeatureSpace.of(mixed))
    assert digest_reference(FeatureSpace.of(polars.from_pandas(mixed))) == due
    other = mixed.copy()
    other.loc[3, "b"] += 1e-12
    renamed, relabelled = mixed.rename(columns={"a": "e"}), mixed.assign(d=mixed.d.replace("x", "z"))
    weighted = FeatureSpace.of(mixed, weights=np.arange(80) + 1)
    others = {digest_reference(FeatureSpace.of(one)) for one in (other, renamed, relabelled, mixed[::-1])}
    assert len(others | {due, digest_reference(weighted)}) == 6


def test_every_explanation_says_where_it_comes_from(tmp_path):
    model = MODELS["forest"].fit(TABLE, CLASS)
    explanation = xcid.Explainer(model, TABLE)(TABLE[:5])
    settings = explanation.details.settings
    assert settings["model"].startswith("RandomForestClassifier, sha256 ")
    assert settings["reference"].startswith("80 rows, sha256 ")
    assert f"xcid {xcid.__version__}, Python " in settings["versions"]
    assert "sklearn" in settings["versions"]
    assert explanation.to_frame().attrs["settings"] == settings
    assert explanation.reasons(1).attrs == explanation.to_frame().attrs
    for name in ("a.json", "a.xcid", "a.parquet"):
        explanation.save(tmp_path / name)
        assert xcid.load(tmp_path / name).details.settings == settings


def test_it_is_looked_at_once(monkeypatch):
    from xcid import subject

    asked, look = [], subject.trace
    monkeypatch.setattr(subject, "trace", lambda *given: asked.append(given) or look(*given))
    explainer = xcid.Explainer(MODELS["logistic"].fit(TABLE, CLASS), TABLE)
    assert not asked
    for _ in range(3):
        explainer(TABLE[:4])
    assert len(asked) == 1


@pytest.mark.filterwarnings("ignore:the model has changed")
def test_a_model_that_changed_is_called_by_its_new_digest():
    model = RandomForestClassifier(5, random_state=0).fit(TABLE, CLASS)
    explainer = xcid.Explainer(model, TABLE)
    before = explainer.contributions(TABLE[:2]).details.settings["model"]
    model.fit(TABLE, 1 - CLASS)
    assert explainer.contributions(TABLE[:2]).details.settings["model"] not in ("", before)


@pytest.mark.slow
class TestCommands:
    @pytest.fixture
    def given(self, tmp_path):
        TABLE.assign(y=CLASS, name=[f"Bob{at}" for at in range(80)]).to_csv(tmp_path / "t.csv", index=False)
        return ["--reference", str(tmp_path / "t.csv"), "--target", "y", "--id", "name", "--quiet"]

    def settings_of(self, path):
        page = path.read_text("utf-8")
        return dict(json.loads(re.search(r'id="data">(.*?)</script>', page)[1])["settings"]), page

    def test_a_report_has_the_command_that_makes_it_again(self, given, tmp_path):
        out = tmp_path / "r.html"
        typed = ["report", *given, "--rows", "Bob3,Bob4", "--out", str(out)]
        assert cli.main(typed) == 0
        settings, page = self.settings_of(out)
        assert settings["command"].startswith("xcid report --reference")
        assert "Bob3,Bob4" in settings["command"]
        assert "sha256" in settings["model"]
        assert cli.main(typed) == 0
        assert out.read_text("utf-8") == page  # no date: the same command gives the same bytes

    def test_a_redacted_report_has_no_command(self, given, tmp_path):
        out = tmp_path / "r.html"
        assert (
            cli.main(["report", *given, "--rows", "a > 0 and (name == 'Bob3' or b < 9)", "--redact", "--out", str(out)])
            == 0
        )
        settings, page = self.settings_of(out)
        assert "command" not in settings
        assert "Bob" not in page
