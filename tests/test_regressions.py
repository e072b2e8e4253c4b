"""One test for each defect that a review found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xcid
from xcid import Constraints
from xcid.cid.per_feature import held_in_place
from xcid.densities import Kernel
from xcid.errors import InvalidData, InvalidParameter
from xcid.generators import Marginal, Random
from xcid.table import FeatureSpace

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("library", "dtype", "value"),
    [("pandas", "uint8", 260), ("pandas", "int64", 50.9), ("pandas", "Int64", 50.5), ("polars", pl.UInt8, 260)],
)
def test_values_that_the_background_cannot_hold_are_refused(library, dtype, value):
    if library == "pandas":
        background = pd.DataFrame({"a": pd.Series(range(100)).astype(dtype), "b": range(100)})
        row = pd.DataFrame({"a": [value], "b": [3]})
    else:
        background = pl.DataFrame({"a": pl.Series(range(100), dtype=dtype), "b": range(100)})
        row = pl.DataFrame({"a": [value], "b": [3]})
    with pytest.raises(InvalidData, match="cannot hold"):
        xcid.Explainer(lambda X: np.asarray(X["a"]) > 50, background)(row)


def test_rows_of_another_precision_are_taken():
    background = pd.DataFrame({"a": RNG.normal(size=50).astype("float32"), "b": RNG.normal(size=50)})
    row = pd.DataFrame({"a": [0.1], "b": [0.2]})
    assert xcid.Explainer(lambda X: X["a"] > 0, background)(row).status[0] == "ok"


@pytest.mark.parametrize("order", [None, [9, 1, 5]])
def test_categories_of_numbers_are_levels(order):
    cells = pd.Categorical(RNG.choice([1, 5, 9], 200), categories=order, ordered=order is not None)
    table = pd.DataFrame({"a": cells, "b": RNG.normal(size=200)})
    seen = []
    model = lambda X: seen.append(X) or (X["a"].astype(int) == 5)  # noqa: E731
    explanation = xcid.Explainer.paper(model, table)(table.iloc[:3])
    assert explanation.details.levels[0] == tuple(str(level) for level in order or [1, 5, 9])
    assert not any(X["a"].isna().any() for X in seen)


def test_copies_do_not_count_as_evidence():
    background = RNG.integers(0, 2, (100, 3))
    with pytest.warns(xcid.XcidWarning, match="row 0 has 1 flips and 7 others in 9 evaluations"):
        explanation = xcid.Explainer.paper(lambda X: X.sum(axis=1) > 2, background)([[0, 0, 0]])
    assert explanation.status[0] == "insufficient_flips"
    assert explanation.n_evaluations[0] == 9


@pytest.mark.parametrize("scale", [1e-10, 1e9, 1e200])
def test_numbers_of_any_scale_are_no_integers(scale):
    table = RNG.normal(size=(200, 2)) * scale
    assert [column.kind for column in FeatureSpace.of(table).columns] == ["continuous"] * 2
    explanation = xcid.Explainer.paper(lambda X: X[:, 0] > 0, table)(table[:2])
    assert np.all(explanation.status == "ok")
    assert np.all(explanation.importance.argmax(axis=1) == 0)


def test_given_kinds_hold(approved):
    table = np.column_stack([np.arange(100) % 5, RNG.normal(size=100)])
    samples = xcid.Explainer.paper(lambda X: X[:, 1] > 0, table, kinds={"x0": "continuous"})(table[:3]).cloud.samples
    assert np.any(samples[..., 0] != np.round(samples[..., 0]))
    with approved.raises(InvalidParameter):
        xcid.Explainer(lambda X: X[:, 1] > 0, table, kinds={"x1": "integer"})


@pytest.mark.parametrize("generator", [Random(m=20), Marginal(m=20)], ids=str)
def test_allowed_levels_exclude_missing_cells(generator):
    table = pd.DataFrame({"c": np.array(["a", "b", "c", None])[RNG.integers(0, 4, 200)], "x": RNG.normal(size=200)})
    limits = Constraints(levels={"c": ["a", "b"]})
    explainer = xcid.Explainer(lambda X: X["x"] > 0, table, generator=generator, constraints=limits)
    row = pd.DataFrame({"c": ["a"], "x": [0.3]})
    assert set(explainer(row).cloud.samples[..., 0].ravel()) == {0.0, 1.0}


def test_a_tie_of_the_sign_keeps_the_size():
    table = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    score = xcid.scores.PerFeature(direction=held_in_place)
    explainer = xcid.Explainer(lambda X: np.abs(X[:, 0]) + 0.3 * X[:, 1] > 0.5, table, score=score)
    for seed in range(10):
        explanation = explainer(table[225], seed=seed)
        assert np.array_equal(np.abs(explanation.values), explanation.importance)


def test_a_class_that_is_never_reached_is_left_out():
    def model(X):
        first = 0.8 / (1 + np.exp(-3 * X[:, 0]))
        return np.column_stack([first, 0.8 - first, np.full(len(X), 0.2)])

    table = RNG.normal(size=(200, 2))
    with pytest.warns(xcid.XcidWarning, match=r"no perturbation of any row reaches \['2'\]"):
        by_class = xcid.Explainer(model, table).per_class(table[:2])
    assert list(by_class) == ["0", "1"]


def test_outcomes_beyond_0_and_1_are_refused():
    table = RNG.normal(size=(50, 2))
    explainer = xcid.Explainer(lambda X: X[:, 0] > 0, table, outcome=lambda outputs, reference: 1.5 * outputs[:, 1])
    with pytest.raises(InvalidParameter, match="a share between"):
        explainer(table[table[:, 0] > 0][:1])


def test_pictures_show_the_own_value():
    import matplotlib as mpl

    mpl.use("Agg")
    explanation = xcid.Explainer(lambda X: X[:, 0] > 0, RNG.normal(size=(300, 2)))([50.0, 0.0])
    ax = xcid.plots.densities(explanation)[0]
    assert ax.get_xlim()[1] > 50
    mpl.pyplot.close("all")


def test_numbers_of_numpy_are_saved(tmp_path):
    density = Kernel(bandwidth=np.float32(0.5), tolerance=np.float64(1e-3))
    table = RNG.normal(size=(60, 2))
    explanation = xcid.Explainer(lambda X: X[:, 0] > 0, table, density=density)(table[:1])
    explanation.save(tmp_path / "e.npz")
    assert xcid.load(tmp_path / "e.npz").details.density == density


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"monotone": ["a"]}, "monotone must be a dict"),
        ({"monotone": {"a": ["rises"]}}, "must be 'rises' or 'falls'"),
        ({"ranges": 3}, "ranges must be a dict"),
        ({"levels": {"a": 1}}, "the levels of 'a' must be a list, not 1"),
    ],
)
def test_constraints_of_the_wrong_type(settings, message):
    table = pd.DataFrame({"a": ["u", "v"] * 30, "b": RNG.normal(size=60)})
    with pytest.raises(InvalidParameter, match=message):
        xcid.Explainer(lambda X: X["b"] > 0, table, constraints=Constraints(**settings))


def test_cells_that_cannot_be_levels_are_named(approved):
    table = pd.DataFrame({"a": ["u", "v"] * 30, "b": RNG.normal(size=60)})
    explainer = xcid.Explainer(lambda X: X["b"] > 0, table)
    with approved.raises(InvalidData):
        explainer(pd.DataFrame({"a": [["u"]], "b": [0.0]}))


def test_the_papers_setting_keeps_its_score(approved):
    with approved.raises(InvalidParameter):
        xcid.Explainer.paper(lambda X: X[:, 0] > 0, RNG.normal(size=(50, 2)), score=xcid.scores.PerFeature())
