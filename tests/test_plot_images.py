"""Pictures look as they did: compared with ``tests/baseline_images``, within a tolerance.

They are compared without their text, on axes in fixed places: other versions of matplotlib and FreeType set text a
little otherwise, which moves everything. What the text says, other tests say.

After a change that is meant, make them anew and look at them: ``python tests/test_plot_images.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.testing.compare import compare_images
from matplotlib.testing.decorators import remove_ticks_and_titles

import xcid
import xcid_torch.plots
from xcid.densities import Mixed
from xcid.interactions import Interactions
from xcid.metrics.faithfulness import Curves
from xcid.records import Details
from xcid.show.wording import colours

ROOT = Path(__file__).parents[1]
BASELINE = ROOT / "tests" / "baseline_images"
PLOTS = {*xcid.plots.__all__, "image", "tokens"}  # the last two are those of xcid_torch
TOLERANCE = 3  # root mean square of 255
DPI = 50
STYLE = {"font.family": "DejaVu Sans"}  # comes with matplotlib


NAMES_OF_FEATURES = ("decides", "rain in mm, which is often zero", "colour", "holes", "noise")
LEVELS = ((), (), ("a long name of a colour", "green", "red"), (), ())
STRENGTH = np.array([1.5, 0.7, 1.0, 0.8, 0.0])


def rows(n, random):
    """Numbers, an atom at 0, levels, missing cells, noise."""
    rain = np.where(random.random(n) < 0.5, 0.0, random.exponential(2, n)).round(1)
    holes = np.where(random.random(n) < 0.3, np.nan, random.normal(size=n)).round(2)
    numbers = [random.normal(size=n).round(2), rain, random.integers(0, 3, n), holes, random.normal(size=n).round(2)]
    return np.column_stack(numbers).astype(np.float64)


def explained(seed=0, n=30, s=200):
    """Scores by a formula: these pictures do not change when scores are made otherwise."""
    random = np.random.default_rng(7)
    data, others = rows(n, random), rows(n * s, random).reshape(n, s, 5)
    samples = np.where(random.random((n, s, 5)) < 0.5, data[:, None], others)
    weight = np.nan_to_num((samples - data[:, None]) ** 2, nan=1.0) @ STRENGTH > 2.0
    cloud = xcid.Perturbations(
        data,
        samples,
        weight * 1.0,
        1.0 - weight,
        np.full(n, s),
        np.full(n, "ok"),
        np.array([level != () for level in LEVELS]),
    )
    wobble = np.random.default_rng(seed).normal(size=(n, 5)) * 0.03
    values = np.tanh(np.nan_to_num(data - data[::-1], nan=0.7) * STRENGTH / 3) + wobble
    width = 0.04 + 0.1 * random.random((n, 5))
    return xcid.Explanation(
        values=values,
        importance=np.abs(values),
        status=cloud.status,
        feature_status=np.full((n, 5), "ok"),
        n_evaluations=cloud.n_evaluations,
        n_flips=weight.sum(axis=1),
        n_positive=cloud.positive.sum(axis=1),
        n_negative=cloud.negative.sum(axis=1),
        index=np.arange(n),
        feature_names=NAMES_OF_FEATURES,
        data=data,
        outputs=np.column_stack([np.full(n, 0.3), np.full(n, 0.7)]),
        output_names=("no", "yes"),
        lower=values - width,
        upper=values + width,
        p_values=np.where(np.abs(values) < width, 0.5, 0.001),
        base_values=np.full(n, 0.2),
        about=np.full(n, "yes"),
        scale="log_odds",
        cloud=cloud,
        details=Details(
            column_names=NAMES_OF_FEATURES,
            features=cloud.features,
            levels=LEVELS,
            units=("",) * 5,
            scales=(1.0,) * 5,
            density=Mixed(),
        ),
    )


def paired(explanation):
    """Products of scores in place of interactions."""
    values = explanation.values[:, :, None] * explanation.values[:, None, :]
    same = {name: getattr(explanation, name) for name in ("status", "n_evaluations", "n_flips", "index", "data")}
    return Interactions(
        values, values - 0.1, values + 0.1, np.where(np.abs(values) < 0.1, 0.5, 0.001), **same,
        feature_names=explanation.feature_names, about=explanation.about, exact=explanation.exact,
    )  # fmt: skip


def made():
    """Every picture by its name."""
    explanation = explained()
    hole = int(np.flatnonzero(np.isnan(explanation.data[:, 3]))[0])
    runs = [explained(seed) for seed in range(5)]
    stages = np.linspace(0, 1, 6)
    shift = 0.2 * explanation.values[:, :1]
    curves = Curves(full=shift[:, 0] + 1, masked=shift + np.exp(-2 * stages), kept=shift + stages)
    plots = xcid.plots
    return {
        "bar": lambda: plots.bar(explanation, 1),
        "waterfall": lambda: plots.waterfall(explanation, 1, most=3),
        "heatmap": lambda: plots.heatmap(explanation),
        "decision": lambda: plots.decision(explanation, most=3),
        "densities": lambda: plots.densities(explanation, hole),
        "beeswarm": lambda: plots.beeswarm(explanation),
        "scatter": lambda: plots.scatter(explanation, "noise"),
        "scatter-colour": lambda: plots.scatter(explanation, "noise", colour="decides"),
        "scatter-missing": lambda: plots.scatter(explanation, "holes"),
        "scatter-levels": lambda: plots.scatter(explanation, "colour"),
        "stability": lambda: plots.stability(runs),
        "masking_curve": lambda: plots.masking_curve({"ours": curves}),
        "image": lambda: xcid_torch.plots.image(
            explanation, np.arange(20.0).reshape(4, 5), np.repeat(explanation.values[:1], 4, axis=0)
        ),
        "tokens": lambda: xcid_torch.plots.tokens(explanation, 1),
        "agreement": lambda: plots.agreement({"ours": explanation, "reversed": -explanation.values[:, ::-1]}, k=2),
        "comparison": lambda: plots.comparison(explanation[:12].compare(explanation[12:])),
        "interactions": lambda: plots.interactions(paired(explanation), 1),
    }


def save(draw, path):
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = np.ravel(draw())[0].figure
        bare(figure)
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        plt.close("all")


def bare(figure):
    """Take the text away, and what depends on its size."""
    figure.set_layout_engine("none")
    for legend in [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]:
        legend.remove()
    remove_ticks_and_titles(figure)
    for text in figure.findobj(mpl.text.Text):
        text.set_visible(False)


@pytest.fixture(scope="module")
def pictures():
    return made()


def difference(name, draw, folder):
    save(draw, folder / f"{name}.png")
    return compare_images(str(BASELINE / f"{name}.png"), str(folder / f"{name}.png"), TOLERANCE)


NAMES = sorted(path.stem for path in BASELINE.glob("*.png"))


def test_every_plot_has_a_picture(pictures):
    assert sorted(pictures) == NAMES
    drawn = {name.partition("-")[0] for name in NAMES}
    assert drawn == PLOTS


def test_every_plot_is_in_the_documents():
    """``python docs/make_images.py`` makes them."""
    shown = {path.stem.partition("-")[0] for path in (ROOT / "docs" / "images" / "plots").glob("*.png")}
    assert shown == PLOTS


@pytest.mark.parametrize("name", NAMES)
def test_looks_as_it_did(pictures, tmp_path, name):
    assert difference(name, pictures[name], tmp_path) is None


class TestTheComparisonCanFail:
    def test_without_the_overlap(self, pictures, tmp_path, monkeypatch):
        monkeypatch.setattr(colours, "OVERLAP", "#FFFFFF")
        assert difference("densities", pictures["densities"], tmp_path) is not None

    def test_without_limits(self, pictures, tmp_path, monkeypatch):
        monkeypatch.setattr("xcid.show.plots._style.measure_limits", lambda *_: None)
        assert difference("bar", pictures["bar"], tmp_path) is not None

    def test_without_hollow_dots(self, pictures, tmp_path, monkeypatch):
        monkeypatch.setattr("xcid.show.plots._style.choose_faces", lambda colours, is_hollow: colours)
        assert difference("scatter", pictures["scatter"], tmp_path) is not None


def test_they_are_small():
    assert sum(path.stat().st_size for path in BASELINE.iterdir()) < 300_000


if __name__ == "__main__":
    BASELINE.mkdir(exist_ok=True)
    for made_name, made_draw in made().items():
        save(made_draw, BASELINE / f"{made_name}.png")
        sys.stdout.write(f"{BASELINE / made_name}.png\n")
