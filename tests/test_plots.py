"""Pictures: Axes come back, say the right things, and are never shown."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import xcid
import xcid.show.wording.rows
from xcid.cid.distances import Overlap
from xcid.cid.drawn import drawn as drawn_evidence
from xcid.cid.drawn import kept_shares
from xcid.densities import Discrete, Kernel, Mixed
from xcid.errors import EvidenceNotKept, InvalidParameter
from xcid.generators import Marginal
from xcid.show.wording import colours
from xcid.show.wording.names import format_number

NAMES = ["a", "b", "c", "d", "e"]
TABLE = np.random.default_rng(3).normal(size=(80, 5)).round(1)


def explain(**settings):
    settings = {"generator": Marginal(m=20), "feature_names": NAMES, **settings}
    return xcid.Explainer(lambda X: X[:, 0] - X[:, 3] > 0, TABLE, **settings)(TABLE[:3])


@pytest.fixture(scope="module")
def explanation():
    return explain()


@pytest.fixture(autouse=True)
def never_shown(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a picture was shown"))


def drawn(ax):
    """Rendering is part of drawing: many errors and warnings come only then."""
    ax.figure.canvas.draw()
    return ax


class TestBar:
    def test_scores(self, explanation):
        ax = drawn(xcid.plots.bar(explanation, 1))
        assert isinstance(ax, Axes)
        values = explanation.values[1]
        order = np.argsort(-np.abs(values), kind="stable")[::-1]
        assert np.allclose([bar.get_width() for bar in ax.patches], values[order])
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == [f"{NAMES[i]} = {explanation.data[1, i]:.4g}" for i in order]

    def test_colours_tell_the_sign(self, explanation):
        signed = replace(explanation, values=np.array([[0.5, -0.4, 0.3, 0.2, 0.1]] * 3))
        edges = [to_hex(bar.get_edgecolor()).upper() for bar in xcid.plots.bar(signed, 0).patches]
        assert edges == [colours.SUPPORTS.upper()] * 3 + [colours.OPPOSES.upper(), colours.SUPPORTS.upper()]

    def test_averages_are_nobodys_row(self):
        mean = xcid.Explainer(lambda X: 1 / (1 + np.exp(-3 * X[:, 0])), TABLE, feature_names=NAMES)(
            TABLE[:9]
        ).aggregate()
        ax = drawn(xcid.plots.bar(mean))
        assert {label.get_text() for label in ax.get_yticklabels()} == set(NAMES)
        order = np.argsort(-mean.size[0], kind="stable")[::-1]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(mean.size[0, order])
        signed = [text.get_text().split()[1] for text in ax.texts]
        assert signed == [xcid.show.wording.format_score(mean, one).replace("-", "−") for one in mean.values[0, order]]
        shares = [text.get_text().split()[0] for text in ax.texts]
        assert shares == [f"{share:.0%}" for share in mean.share_significant[0, order]]
        assert "%: share of rows where the feature is significant" in ax.get_xlabel()

    def test_a_row_that_is_not_explained_has_no_bars(self, explanation):
        ax = drawn(xcid.plots.bar(replace(explanation[0], status=np.array(["too_slow"]))))
        assert not ax.patches
        assert ax.get_title().startswith("row 0: not explained: the model took longer than time_limit\nallows")

    def test_label_of_the_axis(self, explanation):
        assert (
            xcid.plots.bar(explanation, 0)
            .get_xlabel()
            .startswith("contributions in probability of True: from 0.50 on ")
        )
        unsigned = replace(explanation, base_values=None, scale="d1", values=np.abs(explanation.values))
        ax = xcid.plots.bar(unsigned, 0)
        assert ax.get_xlabel().startswith("score: d1")
        assert {to_hex(bar.get_edgecolor()).upper() for bar in ax.patches} == {colours.UNSIGNED}

    def test_what_is_not_significant_is_hollow_and_said(self, explanation):
        p_values = np.array([[0.001, 0.2, 0.9, 0.001, 0.001]] * 3)
        ax = xcid.plots.bar(replace(explanation, p_values=p_values), 0)
        order = np.argsort(-np.abs(explanation.values[0]), kind="stable")[::-1]
        assert [bar.get_facecolor()[3] == 0 for bar in ax.patches] == [p_values[0, i] > 0.05 for i in order]
        assert "hollow: not significant (adjusted p > 0.05)" in ax.get_xlabel().replace("\n", " ")
        assert "lines: 95% limits over our sampling" in ax.get_xlabel()
        sure = xcid.plots.bar(replace(explanation, p_values=np.zeros((3, 5))), 0)
        assert all(bar.get_facecolor()[3] == 1 for bar in sure.patches)
        assert "hollow" not in sure.get_xlabel()

    def test_limits(self, explanation):
        values = explanation.values
        ax = xcid.plots.bar(replace(explanation, lower=values - 0.1, upper=values + 0.2), 0)
        (limits,) = [part for part in ax.containers if hasattr(part, "has_xerr")]
        ends = np.array([segment[:, 0] for segment in limits.lines[2][0].get_segments()])
        assert ends[:, 1] - ends[:, 0] == pytest.approx(0.3)

    def test_what_was_lacking_is_said(self, explanation):
        poor = replace(
            explanation,
            status=np.array(["insufficient_flips"] * 3),
            feature_status=np.array([["frozen", "ok", "ok", "ok", "ok"]] * 3),
        )
        ax = xcid.plots.bar(poor, 0)
        assert ax.get_title().endswith("(insufficient_flips)")
        assert sum(label.get_text().endswith(" (frozen)") for label in ax.get_yticklabels()) == 1

    def test_the_question_and_what_present_values_are_worth(self):
        one = xcid.Explainer(lambda X: 1 / (1 + np.exp(-3 * X[:, 0])), TABLE, feature_names=NAMES)(TABLE[:1])
        ax = drawn(xcid.plots.bar(one))
        assert ax.get_xlabel().endswith("Does the predicted class change? (counted by its probability)")
        assert "Does" not in ax.get_title()
        beside = [text.get_text() for text in ax.texts]
        assert beside[-1] == xcid.show.wording.format_worth(one, 0).replace("-", "−")
        assert beside[:-1] == [""] * 4
        assert "multiplies or divides the odds" in ax.get_xlabel()

    def test_a_regression_says_what_raises_the_output(self):
        low = np.array([[-2.0, 0, 0, 0, 0]])
        one = xcid.Explainer(lambda X: 3 * X[:, 0], TABLE, feature_names=NAMES)(low)
        ax = drawn(xcid.plots.bar(one))
        assert ax.patches[-1].get_width() == pytest.approx(one.values[0, 0])
        assert one.values[0, 0] < 0
        assert ax.get_xlabel().startswith("contributions in the output: from ")

    def test_many_rows_are_averaged_unless_one_is_named(self, explanation):
        mean, one = (drawn(ax) for ax in (xcid.plots.bar(explanation), xcid.plots.bar(explanation, 1)))
        assert mean.get_title() == "mean of 3 rows"
        sizes = np.abs(explanation.values).mean(axis=0)
        assert [bar.get_width() for bar in mean.patches] == pytest.approx(sorted(sizes))
        assert one.get_title().startswith("row 1: ")

    def test_axes_given(self, explanation):
        figure, ax = plt.subplots()
        assert xcid.plots.bar(explanation, ax=ax) is ax
        assert plt.get_fignums() == [figure.number]
        drawn(ax)

    def test_most(self, explanation):
        ax = xcid.plots.bar(explanation, most=2)
        assert len(ax.patches) == 2
        assert "3 more features have smaller scores" in ax.get_xlabel()


def drawn_pair(explanation):
    """What is drawn of the strongest feature of the first row."""
    strongest = int(np.abs(explanation.values[0]).argmax())
    return drawn_evidence(explanation.cloud, 0, strongest, explanation.details.density).pair


class TestDensities:
    def test_curves_end_where_values_end(self):
        months = np.random.default_rng(0).exponential(12, 300).round(1)[:, None]
        explanation = xcid.Explainer(lambda X: X[:, 0] > 20, months)(months[:1])
        (ax,) = xcid.plots.densities(explanation)
        curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
        assert min(explanation.evidence(0, 0).points) < 0
        assert len(curves) == 2
        assert all(min(line.get_xdata()) >= months.min() for line in curves)
        assert all(max(line.get_xdata()) <= months.max() for line in curves)

    def test_words_say_how_many_keep_the_value(self, explanation):
        cloud, strongest = explanation.cloud, int(np.abs(explanation.values[0]).argmax())
        keeps = cloud.samples[0, :, strongest] == cloud.origin[0, strongest]
        stay, flip = (100 * (part[0] @ keeps) / part[0].sum() for part in (cloud.negative, cloud.positive))
        said = " ".join(xcid.plots.densities(explanation)[0].get_xlabel().split())
        own = explanation.shown(0, strongest)
        assert said.startswith(f"Among the perturbations that stay, {stay:.0f}% keep {own};")
        assert said.endswith(f"; among those that flip, {flip:.0f}%.")

    @pytest.mark.parametrize("values", [[6.0, 9, 12, 18], np.exp(np.arange(40) / 4), np.arange(40.0)], ids=len)
    def test_words_say_what_is_drawn(self, values):
        """Evidence that is adjusted for other features differs from what counting gives."""
        months = np.random.default_rng(0).choice(values, (300, 2))
        explanation = xcid.Explainer(lambda X: X.sum(axis=1) > 2 * np.median(values), months)(months[:1])
        found = drawn_evidence(explanation.cloud, 0, 0, explanation.details.density)
        own = found.pair.atoms & np.isclose(found.values(found.pair.points), months[0, 0])
        said = xcid.show.wording.rows.word_evidence(kept_shares(explanation.cloud, 0, 0, found), "6")
        stay, flip = (100 * part[own].sum() for part in (found.pair.q, found.pair.p))
        assert said == f"Among the perturbations that stay, {stay:.0f}% keep 6; among those that flip, {flip:.0f}%."
        for part in (found.pair.p, found.pair.q):
            assert (part * found.pair.weights).sum() == pytest.approx(1)
        both, either = (side(found.pair.p, found.pair.q) @ found.pair.weights for side in (np.minimum, np.maximum))
        assert 1 - both / either == pytest.approx(explanation.importance[0, 0], abs=0.08)

    def test_few_values_are_all_drawn_at_their_value(self):
        months = np.random.default_rng(0).choice([6.0, 9, 12, 18, 24, 36, 48], (300, 1))
        explanation = xcid.Explainer(lambda X: X[:, 0] > 20, months)(months[:1])
        (ax,) = xcid.plots.densities(explanation)
        places = {segment[0][0] for part in ax.figure.axes[-1].collections[::2] for segment in part.get_segments()}
        assert places == set(months[:, 0])
        assert not any(len(line.get_xdata()) > 2 for line in ax.lines)

    def test_titles(self, explanation):
        axes = xcid.plots.densities(explanation, 2)
        order = np.argsort(-np.abs(explanation.values[2]), kind="stable")
        titles = [drawn(ax).get_title() for ax in axes]
        assert titles == [f"{NAMES[i]}\nd1 = {explanation.importance[2, i]:.2f}" for i in order]

    def test_titles_say_how_far_apart_the_curves_are_where_noise_is_taken_out(self):
        X = np.random.default_rng(0).normal(size=(300, 3))
        model = lambda X: 1 / (1 + np.exp(-2 * X[:, 0]))  # noqa: E731
        explanation = xcid.Explainer(model, X)(X[:1])
        titles = [drawn(ax).get_title() for ax in xcid.plots.densities(explanation)]
        for feature in (1, 2):
            pair = drawn_evidence(explanation.cloud, 0, feature, explanation.details.density).pair
            apart = float(Overlap()(pair.p, pair.q, pair.weights))
            assert apart > 0.02
            assert f"x{feature}\nd1 = 0.00 ({apart:.2f} as drawn)" in titles
        assert not any("noise" in ax.get_title() for ax in xcid.plots.densities(xcid.CID(model, X)(X[:1])))

    @pytest.mark.parametrize("most", [1, 2, 3, 5])
    def test_long_names_stay_within_the_picture(self, most):
        """As saved by ``figure.savefig``, without cutting to what is drawn."""
        names = [f"{name}_{'of_the_living_area_in_sqft'}"[:25] for name in NAMES]
        figure = drawn(xcid.plots.densities(explain(feature_names=names), most=most)[0]).figure
        width, height = figure.canvas.get_width_height()
        labels = [text for ax in figure.axes for text in (ax.title, ax.xaxis.label)]
        for text in [*labels, *figure.texts, *figure.legends[0].get_texts()]:
            box = text.get_window_extent()
            assert box.x0 >= 0, text
            assert box.x1 <= width, text
            assert box.y0 >= 0, text
            assert box.y1 <= height, text

    def test_overlap_is_shaded(self):
        explanation = explain(density=Kernel())
        (shade,) = xcid.plots.densities(explanation, most=1)[0].collections
        pair = drawn_pair(explanation)
        assert shade.get_paths()[0].vertices[:, 1].max() == np.minimum(pair.p, pair.q).max()

    @pytest.mark.parametrize("density", [Kernel(), Discrete(), Mixed()], ids=repr)
    def test_every_density(self, density):
        for ax in xcid.plots.densities(explain(density=density)):
            drawn(ax)

    def test_curves_are_the_evidence(self):
        explanation = explain(density=Kernel())
        axes = xcid.plots.densities(explanation)
        pair = drawn_pair(explanation)
        curves = {line.get_color(): line for line in axes[0].lines}
        cells = ~pair.atoms
        assert np.array_equal(curves[colours.POSITIVE].get_xydata(), np.column_stack([pair.points, pair.p])[cells])
        assert np.array_equal(curves[colours.NEGATIVE].get_xydata(), np.column_stack([pair.points, pair.q])[cells])

    def test_own_value_is_marked(self, explanation):
        ax = xcid.plots.densities(explanation, most=1)[0]
        feature = int(np.abs(explanation.values[0]).argmax())
        assert any(set(line.get_xdata()) == {explanation.data[0, feature]} for line in ax.lines)

    def test_one_legend(self, explanation):
        figure = xcid.plots.densities(explanation)[0].figure
        assert [len(legend.get_texts()) for legend in figure.legends] == [5]

    def test_most(self, explanation):
        axes = xcid.plots.densities(explanation, most=2)
        assert len(axes) == 2
        assert len(plt.get_fignums()) == 1

    @pytest.mark.parametrize("layout", [None, "constrained", "tight"])
    def test_axes_given(self, explanation, layout):
        figure, grid = plt.subplots(1, 3, layout=layout)
        axes = xcid.plots.densities(explanation, axes=grid)
        assert axes is grid
        assert plt.get_fignums() == [figure.number]
        assert all("d1 = " in drawn(ax).get_title() for ax in grid)

    def test_single_axes_given(self, explanation):
        _, ax = plt.subplots()
        xcid.plots.densities(explanation, axes=ax)
        assert "d1 = " in drawn(ax).get_title()

    def test_row_without_flips(self, explanation):
        cloud = explanation.cloud
        lonely = replace(explanation, cloud=replace(cloud, positive=np.zeros_like(cloud.positive)))
        for ax in xcid.plots.densities(lonely):
            drawn(ax)

    def test_evidence_not_kept(self):
        with pytest.raises(EvidenceNotKept, match="explain this row by itself"):
            xcid.plots.densities(explain(max_evidence_bytes=0))


@pytest.mark.parametrize("plot", [xcid.plots.bar, xcid.plots.densities])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"row": 3}, "no row 3: positions go from 0 to 2"),
        ({"most": 0}, "most must be at least 1, not 0"),
        ({"most": "all"}, "most must be a whole number, not 'all'"),
    ],
    ids=str,
)
def test_bad_settings(explanation, plot, settings, message):
    with pytest.raises(InvalidParameter, match=message):
        plot(explanation, **settings)
    assert plt.get_fignums() == []


def test_levels_are_bars_and_missing_cells_stand_last():
    table = pd.DataFrame({"city": ["Bern", "Oslo", "Lyon", None] * 20, "size": [1.5, 2.5, np.nan, 4.5] * 20})
    explanation = xcid.Explainer(lambda X: X["city"] == "Bern", table)(table.iloc[2:4])
    for row, (size, city) in enumerate([("missing", "Lyon"), ("4.5", "missing")]):
        axes = xcid.plots.densities(explanation, row)
        named = {ax.get_title().split()[0]: [label.get_text() for label in ax.get_xticklabels()] for ax in axes}
        assert named["city"][-1] == "missing"
        assert named["size"][-1] == "missing"
        assert len(axes[0].patches) == 3 * len(explanation.evidence(row, "city").points)
        bars = xcid.plots.bar(explanation, row)
        assert {label.get_text() for label in bars.get_yticklabels()} == {f"size = {size}", f"city = {city}"}
        plt.close("all")


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e6])
@pytest.mark.parametrize("plot", ["bar", "waterfall", "beeswarm"])
def test_numbers_under_the_axis_stand_apart_and_are_written_as_elsewhere(plot, scale):
    made = xcid.Explainer(lambda X: scale * (20 + X[:, 0] - 2 * X[:, 3]), TABLE, feature_names=NAMES)(TABLE[:9])
    ax = getattr(xcid.plots, plot)(made)
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert len(ticks) >= 2
    assert [tick.label1.get_text() for tick in ticks] == [
        format_number(tick.get_loc()).replace("-", "−") for tick in ticks
    ]
    boxes = [tick.label1.get_window_extent() for tick in ticks]
    assert all(one.x1 + 3 < other.x0 for one, other in pairwise(boxes))


def test_the_order_of_averages_is_said():
    means = xcid.Explainer(lambda X: X[:, 0] - X[:, 3], TABLE, feature_names=NAMES)(TABLE).aggregate()
    assert np.abs(means.values[0]).argmax() != means.size[0].argmax() or means.values[0].min() < 0
    label = " ".join(xcid.plots.bar(means).get_xlabel().split())
    assert "bars, and the order: mean size, which is the mean absolute contribution" in label
    shown = [line for line in str(means).splitlines() if line.split()[0] in ("a", "d")]
    assert [float(line.split()[2]) for line in shown] == pytest.approx(means.size[0, [0, 3]].tolist(), abs=1e-3)
    assert all(" to " in line for line in shown)  # limits, also of a mean that may be 0
    assert means.lower[0, 0] < 0 < means.upper[0, 0]


def text_outside(ax):
    """Words that do not lie within the figure; numbers beyond an axis are there and not drawn."""
    figure = np.ravel(ax)[0].figure
    figure.canvas.draw()
    page = figure.bbox.padded(1)
    words = [text for text in figure.findobj(mpl.text.Text) if any(map(str.isalpha, text.get_text()))]
    boxes = [(text.get_text(), text.get_window_extent()) for text in words if text.get_visible()]
    return [text for text, box in boxes if not (page.x0 <= box.x0 and box.x1 <= page.x1 and box.y0 >= page.y0)]


@pytest.mark.parametrize("n_features", [8, 100])
@pytest.mark.parametrize("plot", [xcid.plots.bar, xcid.plots.densities, xcid.plots.beeswarm])
def test_many_and_long_names_fit(plot, n_features):
    table = np.random.default_rng(0).normal(size=(60, n_features)).round(2)
    names = [f"a very long name that goes on and on: measurement {i} ($/m²)" for i in range(n_features)]
    explainer = xcid.Explainer(lambda X: X[:, 0] > 0, table, generator=Marginal(m=20), feature_names=names)
    ax = plot(explainer(table[:2]))
    assert text_outside(ax) == []
    texts = {text.get_text() for text in np.ravel(ax)[0].figure.findobj(mpl.text.Text)}
    most = 12 if plot is xcid.plots.densities else 20
    assert len({text for text in texts if "…" in text}) == min(n_features, most)  # still told apart


def test_dates_are_read_as_dates():
    table = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=200), "x": np.arange(200) % 7})
    explanation = xcid.Explainer(lambda X: X["day"] > pd.Timestamp("2020-04-01"), table)(table.iloc[:1])
    ax = xcid.plots.densities(explanation)[0]
    assert any(label.get_text().startswith("2020-") for label in ax.get_xticklabels())
    labels = [label.get_text() for label in xcid.plots.bar(explanation).get_yticklabels()]
    assert "day = 2020-01-01" in labels
