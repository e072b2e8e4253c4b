"""The two tables that ship with the package."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from xcid.datasets import load_diabetes, load_heart

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
WHOLE = {
    load_diabetes: {"Pregnancies", "Glucose", "BloodPressure", "SkinThickness", "Insulin", "Age"},
    load_heart: {"age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "slope"},
}


@pytest.mark.parametrize(
    ("load", "shape", "ones", "missing"),
    [
        pytest.param(load_diabetes, (768, 8), 268, {}, id="diabetes"),
        pytest.param(load_heart, (303, 13), 139, {"ca": 4, "thal": 2}, id="heart"),
    ],
)
class TestTables:
    def test_shape_and_classes(self, load, shape, ones, missing):
        table = load()
        assert table.data.shape == shape
        assert table.target.shape == (shape[0],)
        assert table.target.dtype == np.int64
        assert set(table.target.tolist()) == {0, 1}
        assert table.target.sum() == ones
        assert len(table.target_names) == 2

    def test_missing_cells(self, load, shape, ones, missing):
        counts = load().data.isna().sum()
        assert counts[counts > 0].to_dict() == missing

    def test_every_column_is_described(self, load, shape, ones, missing):
        table = load()
        assert table.feature_names == tuple(table.data.columns) == tuple(table.descriptions)
        assert all(table.descriptions.values())

    def test_source_and_licence(self, load, shape, ones, missing):
        assert "CC" in load().source

    @pytest.mark.parametrize("backend", KINDS)
    def test_backends(self, load, shape, ones, missing, backend):
        table = load(backend)
        assert isinstance(table.data, KINDS[backend])
        assert table.data.shape == shape
        pandas = table.data if backend == "pandas" else table.data.to_pandas()
        assert np.array_equal(pandas.to_numpy(dtype=float), load().data.to_numpy(dtype=float), equal_nan=True)

    def test_whole_numbers_are_integers(self, load, shape, ones, missing):
        kinds = load().data.dtypes
        assert {name for name in kinds.index if kinds[name].kind == "i"} == WHOLE[load]
        assert {kind.kind for kind in kinds} == {"i", "f"}


def test_known_cells():
    diabetes, heart = load_diabetes(), load_heart()
    assert diabetes.data.iloc[0].tolist() == [6, 148, 72, 35, 0, 33.6, 0.627, 50]
    assert diabetes.target[:3].tolist() == [1, 0, 1]
    assert heart.data.iloc[0].tolist() == [63, 1, 1, 145, 233, 1, 2, 150, 0, 2.3, 3, 0, 6]
    assert heart.target[:3].tolist() == [0, 1, 1]
