"""Explanations in the pictures of SHAP."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

import xcid
from xcid.generators import Marginal

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of SHAP's own imports
    shap = pytest.importorskip("shap")

NAMES = ["a", "b", "c"]
TABLE = np.random.default_rng(4).normal(size=(80, 3))


@pytest.fixture(scope="module")
def explanation():
    explainer = xcid.Explainer(lambda X: X[:, 1] > 0, TABLE, generator=Marginal(m=15), feature_names=NAMES)
    return explainer(TABLE[:12])


@pytest.fixture(autouse=True)
def tidied_up():
    """SHAP draws from NumPy's global generator: give it back as it was."""
    before = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(before)  # noqa: NPY002
    plt.close("all")


def test_parts(explanation):
    converted = explanation.to_shap()
    assert isinstance(converted, shap.Explanation)
    assert np.array_equal(converted.values, explanation.values)
    assert np.array_equal(converted.data, explanation.data)
    assert np.array_equal(converted.base_values, np.zeros(12))
    assert list(converted.feature_names) == NAMES


@pytest.mark.filterwarnings("ignore")  # of SHAP and the libraries that it draws with
@pytest.mark.parametrize("plot", ["bar", "beeswarm"])
def test_plots(explanation, plot):
    ax = getattr(shap.plots, plot)(explanation.to_shap(), show=False)
    labels = {label.get_text() for label in (ax or plt.gca()).get_yticklabels()}
    assert set(NAMES) <= {label.split("= ")[-1].strip() for label in labels}


@pytest.mark.filterwarnings("ignore")
def test_bar_of_one_row(explanation):
    ax = shap.plots.bar(explanation.to_shap()[0], show=False)
    widths = sorted(abs(bar.get_width()) for bar in (ax or plt.gca()).patches)[-3:]
    assert np.allclose(widths, np.sort(np.abs(explanation.values[0])))
