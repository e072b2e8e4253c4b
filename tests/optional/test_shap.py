"""Explanations in the pictures of SHAP."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
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


def test_parts(explanation):
    converted = explanation.to_shap()
    assert isinstance(converted, shap.Explanation)
    assert np.array_equal(converted.values, explanation.values)
    assert np.array_equal(converted.data, explanation.data)
    assert np.array_equal(converted.base_values, explanation.base_values)
    assert list(converted.feature_names) == NAMES


def test_log_odds_add_up_where_features_do():
    def score(X):
        return X @ np.array([2.0, -1.0, 0.5]) + 0.3

    made = xcid.Explainer(lambda X: 1 / (1 + np.exp(-score(X))), TABLE, feature_names=NAMES)(TABLE[:12])
    assert np.allclose(made.to_shap().values.sum(axis=1), score(TABLE[:12]) - score(TABLE).mean())


def test_effects_of_a_regression():
    made = xcid.Explainer(lambda X: 100 * X[:, 0] - 7, TABLE, feature_names=NAMES)(TABLE[:12])
    due = np.zeros((12, 3))
    due[:, 0] = 100 * (TABLE[:12, 0] - TABLE[:, 0].mean())
    assert np.allclose(made.to_shap().values, due)


@pytest.mark.filterwarnings("ignore")  # of SHAP and the libraries that it draws with
@pytest.mark.parametrize("plot", ["bar", "beeswarm"])
def test_plots(explanation, plot):
    ax = getattr(shap.plots, plot)(explanation.to_shap(), show=False)
    labels = {label.get_text() for label in (ax or plt.gca()).get_yticklabels()}
    assert set(NAMES) <= {label.split("= ")[-1].strip() for label in labels}


@pytest.fixture(scope="module")
def mixed():
    """Levels, missing cells and a group beside numbers."""
    random = np.random.default_rng(6)
    table = pd.DataFrame(
        {
            "number": random.normal(size=90).round(2),
            "level": random.choice(["red", "green"], 90),
            "hole": np.where(random.random(90) < 0.3, np.nan, random.normal(size=90)).round(2),
            "one": random.normal(size=90).round(2),
            "other": random.normal(size=90).round(2),
        }
    )
    explainer = xcid.Explainer(
        lambda X: 1 / (1 + np.exp(-2 * X["number"] - (X["level"] == "red"))),
        table,
        constraints=xcid.Constraints(groups={"both": ["one", "other"]}),
    )
    return explainer(table[:15])


def words(figure):
    figure.canvas.draw()
    return " ".join(text.get_text() for text in figure.findobj(mpl.text.Text))


def test_what_people_read(mixed):
    shown = mixed.to_shap().display_data
    at = mixed.position("level")
    assert [str(level) for level in shown[:, at]] == [mixed.shown(row, at) for row in range(15)]
    holes = mixed.to_shap().display_data[:, mixed.position("hole")]
    assert [cell == "missing" for cell in holes] == np.isnan(mixed.data[:, 2]).tolist()
    assert shown[0, 0] == mixed.data[0, 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("plot", ["bar", "beeswarm", "violin", "heatmap"])
def test_plots_of_mixed_tables(mixed, plot):
    drawn = getattr(shap.plots, plot)(mixed.to_shap(), show=False)
    said = words(drawn.figure if hasattr(drawn, "figure") else plt.gcf())
    assert all(name in said for name in mixed.feature_names)


@pytest.mark.filterwarnings("ignore")
def test_waterfall(mixed):
    shap.plots.waterfall(mixed.to_shap()[0], show=False)
    said = words(plt.gcf())
    assert f"{mixed.shown(0, 'level')} = level" in said
    assert all(name in said for name in mixed.feature_names)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feature", ["number", "level", "hole"])
def test_scatter(mixed, feature):
    ax = shap.plots.scatter(mixed.to_shap()[:, feature], show=False)
    ax = ax or plt.gca()
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == feature
    dots = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    assert set(mixed.to_shap().values[:, mixed.position(feature)]) >= set(dots[:, 1][np.isfinite(dots[:, 1])])
    assert len(dots)


@pytest.mark.filterwarnings("ignore")
def test_bar_of_one_row(explanation):
    ax = shap.plots.bar(explanation.to_shap()[0], show=False)
    widths = sorted(abs(bar.get_width()) for bar in (ax or plt.gca()).patches)[-3:]
    assert np.allclose(widths, np.sort(np.abs(explanation.values[0])))
