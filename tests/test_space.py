"""Tables become matrices and come back unchanged."""

from __future__ import annotations

import pickle

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import xcid
from xcid.table import FeatureSpace

COLUMNS = {
    "count": np.array([3, 1, 4, 1, 5]),
    "share": np.array([0.5, 0.25, 0.125, -2.0, 1e-300]),
    "small": np.array([1, 2, 3, 4, 5], dtype=np.int8),
    "on": np.array([True, False, True, True, False]),
}
MATRIX = np.column_stack([column.astype(float) for column in COLUMNS.values()])
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=LIBRARIES)
def table(request):
    return LIBRARIES[request.param](COLUMNS)


def same(first, second):
    return first.equals(second) and type(first) is type(second)


class TestFrames:
    def test_encode(self, table):
        space = FeatureSpace.of(table)
        assert space.names == tuple(COLUMNS)
        assert np.array_equal(space.background, MATRIX)
        assert np.array_equal(space.encode(table), MATRIX)
        assert space.encode(table).dtype == np.float64

    def test_round_trip(self, table):
        space = FeatureSpace.of(table)
        assert same(space.decode(space.encode(table)), table)

    def test_columns_are_found_by_name(self, table):
        shuffled = table.select(["on", "share", "count", "small"]) if hasattr(table, "select") else None
        shuffled = table[["on", "share", "count", "small"]] if shuffled is None else shuffled
        assert np.array_equal(FeatureSpace.of(table).encode(shuffled), MATRIX)

    @pytest.mark.parametrize("other", LIBRARIES)
    def test_rows_from_another_library(self, table, other):
        assert np.array_equal(FeatureSpace.of(table).encode(LIBRARIES[other](COLUMNS)), MATRIX)

    def test_rows_without_names(self, table):
        assert np.array_equal(FeatureSpace.of(table).encode(MATRIX.tolist()), MATRIX)

    def test_decode_copies(self, table):
        space = FeatureSpace.of(table)
        matrix = MATRIX.copy()
        decoded = space.decode(matrix)
        matrix[:] = 0
        assert same(decoded, table)


class TestPandas:
    frame = pd.DataFrame(COLUMNS)

    def test_series_is_one_row(self):
        row = self.frame.iloc[2]
        assert np.array_equal(FeatureSpace.of(self.frame).encode(row), MATRIX[2:3])
        assert np.array_equal(FeatureSpace.of(self.frame).encode(row[::-1]), MATRIX[2:3])

    def test_index_makes_no_difference(self):
        moved = self.frame.set_axis([7, 7, 1, 0, -3])
        assert np.array_equal(FeatureSpace.of(moved).encode(moved), MATRIX)

    def test_nullable_types_without_nulls(self):
        frame = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.array([True, False], dtype="boolean")})
        assert FeatureSpace.of(frame).background.tolist() == [[1.0, 1.0], [2.0, 0.0]]

    @pytest.mark.parametrize(
        "columns", [[0, 1], [10, 0], pd.MultiIndex.from_tuples([("u", 1), ("u", 2)])], ids=["0-1", "10-0", "pairs"]
    )
    def test_names_that_are_no_strings(self, columns):
        frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.5]], columns=columns)
        space = FeatureSpace.of(frame)
        assert space.names == tuple(str(name) for name in columns)
        assert np.array_equal(space.encode(frame), frame.to_numpy())
        assert list(space.decode(space.background).columns) == list(columns)


class TestArrays:
    def test_names(self):
        assert FeatureSpace.of(MATRIX).names == ("x0", "x1", "x2", "x3")
        assert FeatureSpace.of(MATRIX, ["p", "q", "r", "s"]).names == ("p", "q", "r", "s")

    @pytest.mark.parametrize("row", [MATRIX[1], MATRIX[1].tolist(), tuple(MATRIX[1]), MATRIX[1:2]])
    def test_one_row(self, row):
        assert np.array_equal(FeatureSpace.of(MATRIX).encode(row), MATRIX[1:2])

    @pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool", "object", "longdouble"])
    def test_types(self, dtype):
        table = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
        encoded = FeatureSpace.of(table).background
        assert encoded.dtype == np.float64
        assert encoded.tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]

    def test_encode_copies(self):
        table = MATRIX.copy()
        space = FeatureSpace.of(table)
        table[:] = 0
        assert np.array_equal(space.background, MATRIX)

    def test_mask_without_masked_cells(self):
        assert np.array_equal(FeatureSpace.of(np.ma.masked_array(MATRIX, mask=False)).background, MATRIX)


class TestKinds:
    def test_ranges(self):
        space = FeatureSpace.of(MATRIX)
        assert np.array_equal(space.lower, MATRIX.min(axis=0))
        assert np.array_equal(space.upper, MATRIX.max(axis=0))

    @pytest.mark.parametrize(
        ("column", "resolution"),
        [
            ([1.0, 2.0, -7.0], 1.0),
            ([0.0, 0.0], 1.0),
            ([1e15, 2e15], 1.0),
            ([0.1, 2.0, 33.6], 10.0),
            ([0.25, 0.5], 100.0),
            ([0.627, 0.351], 1000.0),
            ([0.000001, 1.0], 1e6),
            ([0.0000001, 1.0], 0.0),
            ([np.pi, np.e], 0.0),
        ],
        ids=str,
    )
    def test_resolution(self, column, resolution):
        table = np.column_stack([column, column])
        assert FeatureSpace.of(table).resolution.tolist() == [resolution] * 2


class Linear:
    """A model that takes any frame."""

    def predict_proba(self, X):
        cells = nw.from_native(X, eager_only=True)
        is_x = np.array([level == "x" for level in cells.get_column("c").to_list()])
        chance = 1 / (1 + np.exp(is_x - cells.get_column("a").to_numpy().astype(float)))
        return np.column_stack([1 - chance, chance])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_explainer_of_any_frame_can_be_pickled(library):
    days = np.datetime64("2024-01-01", "us") + np.arange(60) * np.timedelta64(1, "D")
    cells = {"a": np.linspace(-2, 2, 60), "b": np.arange(60) % 5, "c": ["x", "y", None] * 20, "day": days}
    table = nw.from_dict(cells, backend=library).to_native()
    explainer = xcid.Explainer(Linear(), table)
    rows = nw.from_native(table, eager_only=True).head(3).to_native()
    copied = pickle.loads(pickle.dumps(explainer))
    assert np.array_equal(copied(rows).values, explainer(rows).values)
    assert len(pickle.dumps(explainer)) < 200_000
