"""Cells, settings and models that raise in their own way: an error of xcid says what they belong to."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xcid
from xcid._check import telling
from xcid.errors import InvalidData, InvalidParameter, ModelError, XcidError

NUMBERS = np.random.default_rng(0).normal(size=30)
GOOD = pd.DataFrame({"a": NUMBERS, "b": NUMBERS[::-1]})


def model(X):
    return np.asarray(X["a"], dtype=float) > 0


class Cell:
    """Compares with nothing."""

    def __init__(self, error=KeyError):
        self.error = error

    def __ne__(self, other):
        raise self.error("odd")

    __hash__ = object.__hash__


class Mute(Exception):
    def __str__(self):
        raise OSError


def with_cells(*cells):
    column = np.empty(30, dtype=object)
    for at in range(30):
        column[at] = cells[at % len(cells)]
    return GOOD.assign(c=pd.Series(column, dtype=object))


def in_polars(values, dtype):
    return pl.DataFrame({"a": NUMBERS, "c": pl.Series(values * 30, dtype=dtype)})


@pytest.mark.parametrize(
    "background",
    [
        with_cells(True, 1, 2.5),
        with_cells(np.bool_(True), 1),
        with_cells(np.ones(2), np.zeros(2)),
        with_cells(decimal.Decimal("sNaN"), 1),
        with_cells(Cell(), 1),
        with_cells(Cell(TypeError), 1),
        in_polars([[1, 2]], pl.List(pl.Int64)),
        in_polars([1], pl.Int128),
        in_polars([b"x"], pl.Binary),
    ],
)
def test_cells_that_are_none(background):
    with pytest.raises(InvalidData, match="column 'c' of the reference table"):
        xcid.Explainer(model, background)


@pytest.mark.parametrize("places", ["cell", "name"])
def test_half_a_pair_of_surrogates(places):
    cells = [[one, "\ud800" if places == "cell" and one > 0 else "x"] for one in NUMBERS]
    names = ["a", "\ud800" if places == "name" else "b"]
    with pytest.raises(InvalidData, match="not Unicode text"):
        xcid.Explainer(lambda X: X[:, 0] > 0, cells, feature_names=names)


@pytest.mark.parametrize("settings", [{"constraints": "x"}, {"kinds": 3}, {"kinds": ["a"]}, {"memory": Cell()}])
def test_settings(settings):
    with pytest.raises(InvalidParameter, match=next(iter(settings))):
        xcid.Explainer(model, GOOD, **settings)


@pytest.mark.parametrize("name", ["predict_proba", "predict", "classes_", "feature_names_in_", "n_features_in_"])
def test_properties_of_a_model_that_raise(name):
    def fail(self):
        raise LookupError("odd")

    broken = type("Broken", (), {"predict": lambda self, X: NUMBERS[: len(X)], name: property(fail)})
    with pytest.raises(ModelError, match="this Broken cannot be called: LookupError: odd"):
        xcid.Explainer(broken(), GOOD)


def test_a_model_whose_error_cannot_be_printed():
    def fail(X):
        raise Mute

    with pytest.raises(ModelError, match="the model failed on 30 rows: Mute"):
        xcid.Explainer(fail, GOOD)


@pytest.mark.parametrize("mask", [True, [True] + [False] * 29])
def test_masked_answers_are_none(mask):
    with pytest.raises(ModelError, match=r"masked (30|1) of its outputs for 30 rows"):
        xcid.Explainer(lambda X: np.ma.array(NUMBERS[: len(X)], mask=mask), GOOD)


class TestTimeZones:
    """A time without a zone is no moment: which one it was meant to be, only the user knows."""

    plain = GOOD.assign(when=pd.date_range("2020-06-01 12:34", periods=30, freq="h"))
    zoned = plain.assign(when=plain["when"].dt.tz_localize("Europe/Paris"))
    other = zoned.assign(when=zoned["when"].dt.tz_convert("Asia/Tokyo"))

    @pytest.mark.parametrize(("background", "rows"), [(plain, zoned), (zoned, plain)])
    def test_the_mix_is_refused(self, background, rows):
        with pytest.raises(InvalidData, match=r"'when' of the table to explain have (a|no) time zone"):
            xcid.Explainer(model, background)(rows[:2])
        with pytest.raises(InvalidData, match="give both a zone, or none"):
            xcid.Explainer(model, pl.from_pandas(background))(pl.from_pandas(rows[:2]))

    def test_moments_are_moments_in_any_zone(self):
        explainer = xcid.Explainer(model, self.zoned)
        assert np.array_equal(explainer.space.encode(self.zoned[:3]), explainer.space.encode(self.other[:3]))

    def test_missing_times_have_no_zone(self):
        background = self.zoned.assign(when=self.zoned["when"].where(NUMBERS > -1))
        rows = self.plain[:1].assign(when=pd.Series([pd.NaT], dtype="datetime64[ns]"))
        assert np.isnan(xcid.Explainer(model, background).space.encode(rows)[0, 2])


def test_what_is_told():
    with (
        pytest.raises(InvalidData, match=r"^it failed: KeyError: 'two lines'$") as found,
        telling(InvalidData, "it failed"),
    ):
        raise KeyError("two\x20lines")
    assert isinstance(found.value.__cause__, KeyError)
    for error in (XcidError("ours"), MemoryError(), KeyboardInterrupt()):
        with pytest.raises(type(error)) as same, telling(InvalidData, "it failed"):
            raise error
        assert same.value is error
