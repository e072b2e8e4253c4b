"""An explainer leaves and comes back without code, and explains the same; or an error of the family says why not."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
import zipfile
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import xcid
from xcid.errors import InvalidFile, InvalidParameter
from xcid.io import explainers

RANDOM = np.random.default_rng(5)
NUMBERS = RANDOM.normal(size=(90, 3)).round(2)
SIDES = NUMBERS[:, 0] + NUMBERS[:, 1] > 0
FRAME = pd.DataFrame(NUMBERS, columns=["a", "b", "ü"])
DAYS = pd.Timestamp("2021-03-01") + pd.to_timedelta(RANDOM.integers(0, 400, 90), unit="D")
MIXED = FRAME.assign(
    level=pd.Categorical(RANDOM.choice(["x", "y"], 90), categories=["y", "unused", "x"]),
    order=pd.Categorical(RANDOM.choice(["low", "high"], 90), categories=["low", "high"], ordered=True),
    text=RANDOM.choice(["p", "q", "r"], 90),
    object=pd.Series(RANDOM.choice(["s", "t"], 90).tolist(), dtype=object),
    count=pd.array(RANDOM.integers(0, 6, 90), dtype="Int64"),
    day=DAYS,
    moment=(DAYS + pd.Timedelta("01:30:00")).tz_localize("Europe/Vienna"),
    flag=NUMBERS[:, 2] > 0,
    hole=np.where(RANDOM.random(90) < 0.2, np.nan, NUMBERS[:, 1]),
).astype({"a": np.float32})
POLARS = pl.DataFrame(
    {
        "a": pl.Series(NUMBERS[:, 0], dtype=pl.Float32),
        "level": pl.Series(RANDOM.choice(["x", "y"], 90), dtype=pl.Enum(["y", "unused", "x"])),
        "day": pl.Series(DAYS.to_numpy()).cast(pl.Date),
        "count": pl.Series(RANDOM.integers(0, 6, 90), dtype=pl.Int16),
    }
)
LEVELS = ["level", "order", "text"]


def logistic(table=NUMBERS):
    return LogisticRegression().fit(table, SIDES)


def piped(table, levels, numbers):
    columns = ColumnTransformer([("levels", OneHotEncoder(), levels), ("numbers", "passthrough", numbers)])
    return make_pipeline(columns, LogisticRegression()).fit(table, SIDES)


def records():
    rows = [{"a": float(a), "kind": "u" if b > 0 else "v", "n": int(10 * c)} for a, b, c in NUMBERS]
    return make_pipeline(DictVectorizer(sparse=False), LogisticRegression()).fit(rows, SIDES), rows


def cells():
    rows = np.array([[round(float(a), 2), "u" if b > 0 else "v"] for a, b, _ in NUMBERS], dtype=object)
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(rows, SIDES), rows


TABLES = {
    "pandas": lambda: (piped(MIXED, LEVELS, ["a", "b", "flag"]), MIXED),
    "polars": lambda: (piped(POLARS, ["level"], ["a", "count"]), POLARS),
    "pyarrow": lambda: (logistic(POLARS[["a", "count"]]), POLARS[["a", "count"]].to_arrow()),
    "array": lambda: (logistic(), NUMBERS),
    "single precision": lambda: (logistic(), NUMBERS.astype(np.float32)),
    "whole numbers": lambda: (logistic(), (10 * NUMBERS).astype(np.int16)),
    "list": lambda: (logistic(), NUMBERS.tolist()),
    "list of whole numbers": lambda: (logistic(), (10 * NUMBERS).astype(int).tolist()),
    "cells": cells,
    "records": records,
}
RULES = xcid.Constraints(
    frozen=["order"],
    ranges={"a": (-2, 3)},
    levels={"text": ["p", "q"]},
    monotone={"day": "rises"},
    groups={"both": ["b", "ü"]},
    relations=["b <= 9"],
    transitions={"level": {"x": ["y"], "y": ["x", "y"]}},
    costs={"flag": 2.0},
)
SETTINGS = {
    "usual": dict,
    "outcome": lambda: {
        "outcome": xcid.outcomes.ToClass("True", soft=True),
        "class_names": {False: "no", True: "True"},
    },
    "generator and score": lambda: {"generator": xcid.generators.Conditional(m=30), "score": xcid.scores.PerFeature()},
    "weights": lambda: {"weights": np.r_[0.0, RANDOM.random(89)]},
    "rules and kinds": lambda: {"constraints": RULES, "kinds": {"count": "categorical", "b": "continuous"}},
    "stop": lambda: {"stop": xcid.calibration.Decided(k=2, max_evaluations=4_000), "scale": "probability"},
    "limits": lambda: {"limits": "reference", "memory": 2**26, "time_limit": 60.0, "max_evidence_bytes": 0},
}
OWN = {
    "a model": lambda: (lambda X: X[:, 0] > 0, {}),
    "an outcome": lambda: (logistic(), {"outcome": lambda outputs, own: outputs[:, 0] > 0.3}),
    "a generator": lambda: (logistic(), {"generator": lambda *given: None}),
    "a score": lambda: (logistic(), {"score": xcid.scores.PerFeature(distance=lambda *given: 0.0)}),
    "a rule": lambda: (logistic(), {"constraints": xcid.Constraints(relations=[lambda row: row.x0 < 9])}),
}


def assert_same(first, second):
    for field in fields(xcid.Explanation):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), field.name
    assert first.details.settings == second.details.settings


def rows_of(table):
    return table.slice(0, 4) if hasattr(table, "column_names") else table[:4]


@pytest.fixture
def file(tmp_path):
    xcid.Explainer(logistic(), NUMBERS).save(tmp_path / "saved.xcid")
    return tmp_path / "saved.xcid"


def forge(path, more=(), **changed):
    """Write a file anew with other parts and with digests that are right."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != explainers.SUMS}
    if "head" in changed:
        parts[explainers.HEAD] = json.dumps(json.loads(parts[explainers.HEAD]) | changed["head"]).encode()
    parts |= dict(more)
    sums = "".join(f"{hashlib.sha256(parts[name]).hexdigest()}  {name}\n" for name in sorted(parts))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in (parts | {explainers.SUMS: sums.encode()}).items():
            archive.writestr(name, part)


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table_comes_back_as_it_was(name, tmp_path):
    model, table = TABLES[name]()
    explainer = xcid.Explainer(model, table, generator=xcid.generators.Random(m=20))
    explainer.save(tmp_path / "saved.xcid")
    loaded = xcid.Explainer.load(tmp_path / "saved.xcid")
    assert_same(explainer(rows_of(table), seed=3), loaded(rows_of(table), seed=3))
    for part in ("rows", "resolution", "rounding", "missing", "rank"):
        assert np.array_equal(getattr(explainer.space, part), getattr(loaded.space, part), equal_nan=True), part
    assert explainer.space.columns == loaded.space.columns
    first, second = (one.space.decode(one.space.rows) for one in (explainer, loaded))
    assert type(first) is type(second)
    for types in ("dtypes", "schema", "dtype"):
        assert np.all(getattr(first, types, None) == getattr(second, types, None)), types


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_come_back(name, tmp_path):
    explainer = xcid.Explainer(piped(MIXED, LEVELS, ["a", "b", "flag"]), MIXED, **SETTINGS[name]())
    explainer.save(tmp_path / "saved.xcid")
    loaded = xcid.Explainer.load(tmp_path / "saved.xcid")
    assert_same(explainer(MIXED[:3], seed=1), loaded(MIXED[:3], seed=1))
    assert loaded.made.time_limit == explainer.made.time_limit
    first, second = (one.counterfactuals(MIXED[:1]).to_frame() for one in (explainer, loaded))
    pd.testing.assert_frame_equal(first, second)


def test_names_of_an_array_come_back(tmp_path):
    explainer = xcid.Explainer(logistic(), NUMBERS, feature_names=["a", "b", "ü"])
    explainer.save(tmp_path / "saved.xcid")
    assert xcid.Explainer.load(tmp_path / "saved.xcid").space.names == ("a", "b", "ü")


def test_the_method_of_the_paper_and_contributions_alone_come_back(tmp_path):
    explainer = xcid.Explainer(logistic(FRAME), FRAME)
    for each in (xcid.CID(logistic(FRAME), FRAME, m=20), explainer.without_importance()):
        each.save(tmp_path / "saved.xcid")
        assert_same(each(FRAME[:3]), xcid.Explainer.load(tmp_path / "saved.xcid")(FRAME[:3]))


def test_refits_come_back(tmp_path):
    model = logistic(FRAME)
    explainer = xcid.Explainer(model, FRAME, refits=xcid.refits(model, FRAME, SIDES, n=3), limits="training")
    explainer.save(tmp_path / "saved.xcid")
    assert_same(explainer(FRAME[:3]), xcid.Explainer.load(tmp_path / "saved.xcid")(FRAME[:3]))


def boosted(library):
    module = pytest.importorskip(library, reason=f"needs the extra {library}")
    if library == "xgboost":
        return module.XGBClassifier(n_estimators=9).fit(FRAME, SIDES), lambda model: model.get_booster()
    if library == "lightgbm":
        return module.LGBMClassifier(n_estimators=9, verbose=-1).fit(FRAME, SIDES), lambda model: model.booster_
    return module.CatBoostClassifier(iterations=9, verbose=False, allow_writing_files=False).fit(FRAME, SIDES), None


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_boosters_come_back(library, tmp_path):
    model, inner = boosted(library)
    for each in [model] if inner is None else [model, inner(model)]:
        explainer = xcid.Explainer(each, FRAME)
        explainer.save(tmp_path / "saved.xcid")
        loaded = xcid.Explainer.load(tmp_path / "saved.xcid")
        first, second = explainer(FRAME[:4]), loaded(FRAME[:4])
        for part in ("values", "importance", "outputs", "lower", "flips_alone"):
            assert np.array_equal(getattr(first, part), getattr(second, part)), part


def test_a_session_comes_back(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    skl2onnx = pytest.importorskip("skl2onnx", reason="needs the extra dev")
    table = NUMBERS.astype(np.float32)
    forest = RandomForestRegressor(5, random_state=0).fit(table, NUMBERS[:, 0])
    text = skl2onnx.to_onnx(forest, table[:1]).SerializeToString()
    (tmp_path / "model.onnx").write_bytes(text)
    for given in (text, str(tmp_path / "model.onnx")):
        session = onnxruntime.InferenceSession(given, providers=["CPUExecutionProvider"])
        explainer = xcid.Explainer(session, table)
        explainer.save(tmp_path / "saved.xcid")
        loaded = xcid.Explainer.load(tmp_path / "saved.xcid")
        assert np.array_equal(explainer(table[:3]).values, loaded(table[:3]).values)


@pytest.mark.parametrize("name", OWN)
def test_code_is_refused_when_it_is_saved(name, tmp_path, approved):
    model, settings = OWN[name]()
    explainer = xcid.Explainer(model, NUMBERS, **settings)
    with pytest.raises(InvalidParameter) as caught:
        explainer.save(tmp_path / "saved.xcid")
    approved(re.sub("<.*>", "<...>", str(caught.value)))
    assert list(tmp_path.iterdir()) == []


def test_a_table_without_a_file_is_refused(tmp_path, approved):
    explainer = xcid.Explainer(logistic(), scipy.sparse.csr_matrix(NUMBERS))
    with approved.raises(InvalidParameter):
        explainer.save(tmp_path / "saved.xcid")


def test_the_same_explainer_gives_the_same_file(file, tmp_path):
    xcid.Explainer.load(file).save(tmp_path / "again.xcid")
    assert explainers.SUMS in zipfile.ZipFile(file).namelist()
    assert zipfile.ZipFile(file).read("array.npy") == zipfile.ZipFile(tmp_path / "again.xcid").read("array.npy")


def test_any_part_that_changed_is_noticed(file):
    content = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name in parts:
        with zipfile.ZipFile(file, "w") as archive:
            for other, part in parts.items():
                archive.writestr(other, part[:-1] + bytes([part[-1] ^ 1]) if other == name else part)
        with pytest.raises(InvalidFile):
            xcid.Explainer.load(file)
    for size in (0, 10, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:size])
        with pytest.raises(InvalidFile):
            xcid.Explainer.load(file)
    file.write_bytes(content)
    assert xcid.Explainer.load(file).space.names == ("x0", "x1", "x2")


def test_parts_that_do_not_belong_are_refused(file, approved):
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("more.txt", b"more")
    with pytest.raises(InvalidFile) as caught:
        xcid.Explainer.load(file)
    approved(str(caught.value).replace(str(file), "FILE"))


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt", "inner/outside.txt"])
def test_nothing_is_written_elsewhere(file, name):
    forge(file, [(name, b"outside")])
    with pytest.raises(InvalidFile):
        xcid.Explainer.load(file)


def test_a_bomb_is_refused_before_it_is_unpacked(file):
    forge(file, [("bomb", bytes(2**28))])
    with pytest.raises(InvalidFile, match="unpacks from"):
        xcid.Explainer.load(file)


class Harm:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


@pytest.mark.parametrize("name", ["model-0.pkl", "model-0.skops", "model-0.joblib", "arrays.npz", "array.npy"])
def test_no_pickle_is_run(file, name):
    packed = io.BytesIO()
    np.savez(packed, known=np.array([Harm()], dtype=object), copied=np.arange(3))
    harm = packed.getvalue() if name == "arrays.npz" else pickle.dumps(Harm())
    forge(file, [(name, harm)], head={"models": [name]} if name.startswith("model") else {})
    with pytest.raises(InvalidFile):
        xcid.Explainer.load(file)


@pytest.mark.parametrize(
    "outcome",
    [
        {"name": "os.system"},
        {"name": "xcid.cid.generators.dice.subprocess"},
        {"function": "os.getcwd"},
        {"name": "len"},
    ],
    ids=str,
)
def test_a_name_in_the_settings_brings_nothing_but_parts_of_xcid(file, outcome):
    with zipfile.ZipFile(file) as archive:
        settings = json.loads(archive.read(explainers.HEAD))["settings"]
    forge(file, head={"settings": settings | {"outcome": outcome}})
    with pytest.raises(InvalidFile):
        xcid.Explainer.load(file)


def test_another_model_is_noticed(file, tmp_path, approved):
    other = RandomForestClassifier(3, random_state=0).fit(NUMBERS, SIDES)
    xcid.Explainer(other, NUMBERS).save(tmp_path / "other.xcid")
    with zipfile.ZipFile(tmp_path / "other.xcid") as archive:
        forge(file, [("model-0.skops", archive.read("model-0.skops"))])
    with pytest.raises(InvalidFile) as caught:
        xcid.Explainer.load(file)
    approved(str(caught.value).replace(str(file), "FILE"))


def shifted(table):
    return np.asarray(table) + 1.0


def test_types_of_ones_own_need_trust(tmp_path, approved):
    model = make_pipeline(FunctionTransformer(shifted), LogisticRegression()).fit(NUMBERS, SIDES)
    explainer, file = xcid.Explainer(model, NUMBERS), tmp_path / "saved.xcid"
    explainer.save(file)
    with pytest.raises(InvalidFile) as caught:
        xcid.Explainer.load(file)
    approved(str(caught.value).replace(str(file), "FILE").replace(__name__, "HERE"))
    loaded = xcid.Explainer.load(file, trusted=[f"{__name__}.shifted"])
    assert np.array_equal(explainer(NUMBERS[:2]).values, loaded(NUMBERS[:2]).values)


def test_files_of_other_versions_and_kinds_are_refused(file, approved):
    forge(file, head={"version": 99})
    with pytest.raises(InvalidFile) as caught:
        xcid.Explainer.load(file)
    approved(str(caught.value).replace(str(file), "FILE"))
    xcid.Explainer.paper(logistic(), NUMBERS, m=5)(NUMBERS[:1]).save(file)
    with pytest.raises(InvalidFile):
        xcid.Explainer.load(file)
