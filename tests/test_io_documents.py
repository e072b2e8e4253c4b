"""Explanations as JSON and Parquet: what comes back is what went in, but for the samples."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xcid
from xcid.errors import EvidenceNotKept, InvalidFile, MissingDependency

RANDOM = np.random.default_rng(8)
TABLE = pd.DataFrame(
    {
        "x": RANDOM.normal(size=80).round(2),
        "hole": np.where(RANDOM.random(80) < 0.3, np.nan, RANDOM.normal(size=80)),
        "lével": RANDOM.choice(["a", "b"], 80),
        "day": pd.date_range("2020-01-01", periods=80),
    }
)
TABLE.loc[1, "hole"] = np.nan  # of a row that is explained
SUFFIXES = [".json", ".parquet"]
LOST = {"cloud"}
each = pytest.mark.parametrize("suffix", SUFFIXES)


def model(X):
    return np.where(np.nan_to_num(X["x"].to_numpy()) + (X["lével"] == "a").to_numpy() > 0.4, 0.9, 0.2)


@pytest.fixture(scope="module")
def explanation():
    constraints = xcid.Constraints(groups={"both": ["hole", "day"]})
    return xcid.Explainer(model, TABLE, constraints=constraints)(TABLE[:4])


def same(found, due):
    for field in fields(xcid.Explanation):
        a, b = getattr(found, field.name), getattr(due, field.name)
        if field.name in LOST:
            assert a is None
        elif isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b)
            assert a.dtype.kind == b.dtype.kind
        elif field.name == "settings":
            assert dict(a) == dict(b or {})
        else:
            assert a == b


@each
def test_round_trip(explanation, tmp_path, suffix):
    explanation.save(tmp_path / f"e{suffix.upper()}")
    same(xcid.load(tmp_path / f"e{suffix.upper()}"), explanation)


@each
@pytest.mark.parametrize(
    "index",
    [np.array(["a", "bc", "d", "e"]), np.array([1.5, 2, 3, 4]), pd.date_range("2024-01-01", periods=4).to_numpy()],
    ids=["text", "numbers", "dates"],
)
def test_names_of_rows(explanation, tmp_path, suffix, index):
    explanation = replace(explanation, index=index)
    explanation.save(tmp_path / f"e{suffix}")
    same(xcid.load(tmp_path / f"e{suffix}"), explanation)


@each
def test_no_rows_and_no_limits(explanation, tmp_path, suffix):
    paper = xcid.Explainer.paper(model, TABLE)(TABLE[:2])
    for one in (explanation[[]], paper, explanation.aggregate()):
        one.save(tmp_path / f"e{suffix}")
        found = xcid.load(tmp_path / f"e{suffix}")
        assert found.values.shape == one.values.shape
        assert np.array_equal(found.values, one.values)
        assert (found.lower is None) == (one.lower is None or not len(one))


@each
def test_evidence_is_not_in_them(explanation, tmp_path, suffix):
    explanation.save(tmp_path / f"e{suffix}")
    with pytest.raises(EvidenceNotKept, match="were not kept"):
        xcid.load(tmp_path / f"e{suffix}").evidence(0, 0)


def test_what_the_file_is_counts_and_not_its_name(explanation, tmp_path):
    explanation.save(tmp_path / "e.json")
    (tmp_path / "e.json").rename(tmp_path / "e.npz")
    same(xcid.load(tmp_path / "e.npz"), explanation)


def test_json_is_strict_and_says_what_it_is(explanation, tmp_path):
    explanation.save(tmp_path / "e.json")
    found = json.loads(
        (tmp_path / "e.json").read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(f"{name} is no JSON")
    )
    assert (found["format"], found["version"]) == ("xcid explanation", 1)
    assert [row["values"] for row in found["rows"]] == explanation.values.tolist()
    holes = [row["data"][1] is None for row in found["rows"]]
    assert holes == np.isnan(explanation.data[:, 1]).tolist()
    assert any(holes)


def test_parquet_has_a_line_for_each_row(explanation, tmp_path):
    explanation.save(tmp_path / "e.parquet")
    table = pq.read_table(tmp_path / "e.parquet")
    assert table.column("values").to_pylist() == explanation.values.tolist()
    assert json.loads(table.schema.metadata[b"xcid"])["feature_names"] == list(explanation.feature_names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"version": 2},
            r"e\.json: this is 'xcid explanation', version 2; 'xcid explanation', version 1 is understood",
        ),
        ({"format": "song"}, "this is 'song'"),
        ({"index_type": "|O"}, "index of the type object"),
        ({"feature_names": ["x"]}, "values has the shape"),
        ({"rows": [{}]}, "not a saved explanation, or it is damaged"),
        ({"units": None}, "not a saved explanation, or it is damaged"),
    ],
)
def test_other_documents_are_refused(explanation, tmp_path, change, message):
    explanation.save(tmp_path / "e.json")
    document = json.loads((tmp_path / "e.json").read_text())
    (tmp_path / "e.json").write_text(json.dumps(document | change))
    with pytest.raises(InvalidFile, match=message):
        xcid.load(tmp_path / "e.json")


def test_names_of_later_versions_are_passed_over(explanation, tmp_path):
    explanation.save(tmp_path / "e.json")
    document = json.loads((tmp_path / "e.json").read_text())
    document["more"] = 1
    document["rows"][0]["mood"] = "good"
    (tmp_path / "e.json").write_text(json.dumps(document))
    same(xcid.load(tmp_path / "e.json"), explanation)


def test_other_tables_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    with pytest.raises(InvalidFile, match=r"t\.parquet: this table is not an explanation"):
        xcid.load(tmp_path / "t.parquet")
    (tmp_path / "d.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InvalidFile, match="damaged"):
        xcid.load(tmp_path / "d.parquet")


def test_without_pyarrow(explanation, tmp_path, monkeypatch):
    explanation.save(tmp_path / "e.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    for use in (lambda: explanation.save(tmp_path / "f.parquet"), lambda: xcid.load(tmp_path / "e.parquet")):
        with pytest.raises(MissingDependency, match=r'pip install -e "\.\[pyarrow\]"'):
            use()
    assert [path.name for path in tmp_path.iterdir()] == ["e.parquet"]
