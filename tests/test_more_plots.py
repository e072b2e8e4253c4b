"""Swarms, spreads, masking curves and agreement: what is drawn is what there is."""

from __future__ import annotations

import itertools
from dataclasses import replace

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.errors import InvalidData, InvalidParameter
from xcid.generators import Balanced
from xcid.show.wording.rows import list_ends
from xcid_lab.adapters import ExplanationDisplay

RNG = np.random.default_rng(41)
TABLE = pd.DataFrame(
    {
        "a" * 60: RNG.normal(size=120),
        "b": np.where(RNG.random(120) < 0.3, np.nan, RNG.normal(size=120)),
        "c": RNG.choice(["x", "y"], 120),
        "d": RNG.normal(size=120),
    }
)

NUMBERS = RNG.normal(size=(120, 3))


def model(X):
    return 1 / (1 + np.exp(-(2 * X.iloc[:, 0].to_numpy() + (X["c"] == "x").to_numpy())))


@pytest.fixture(scope="module")
def explainer():
    return xcid.Explainer(model, TABLE, generator=Balanced(200))


@pytest.fixture(scope="module")
def explanation(explainer):
    return explainer(TABLE[:25])


class TestBeeswarm:
    def test_rows_that_failed_are_not_drawn(self, explanation):
        failed = replace(explanation, status=np.where(np.arange(25) < 5, "model_failed", explanation.status))
        ax = xcid.plots.beeswarm(failed)
        assert ax.get_title().startswith("20 rows")
        assert sum(len(part.get_offsets()) for part in ax.collections) == 20 * explanation.values.shape[1]

    def test_a_dot_for_every_row_at_its_score(self, explanation):
        ax = xcid.plots.beeswarm(explanation)
        dots = np.concatenate([part.get_offsets() for part in ax.collections])
        assert len(dots) == 25 * 4
        shown = explanation.towards(explanation.output_names[1])
        assert sorted(dots[:, 0]) == pytest.approx(sorted(shown.values.ravel()))
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels[-1] == "a" * 13 + "…" + "a" * 14

    def test_dots_stay_in_their_line(self, explanation):
        ax = xcid.plots.beeswarm(explanation, most=2)
        heights = np.concatenate([part.get_offsets() for part in ax.collections])[:, 1]
        assert np.all(np.abs(heights - np.round(heights)) <= 0.45)
        assert set(np.round(heights)) == {0.0, 1.0}

    def test_missing_cells_are_grey(self, explanation):
        ax = xcid.plots.beeswarm(explanation)
        lines = [label.get_text() for label in ax.get_yticklabels()]
        grey = ax.collections[2 * lines.index("b")]
        assert len(grey.get_offsets()) == int(TABLE["b"][:25].isna().sum())

    def test_categories_are_grey_and_said_to_be(self, explanation):
        """The order of their codes is no order of theirs."""
        ax = xcid.plots.beeswarm(explanation)
        lines = [label.get_text() for label in ax.get_yticklabels()]
        grey, coloured = ax.collections[2 * lines.index("c") :][:2]
        assert len(grey.get_offsets()) == 25
        assert not len(coloured.get_offsets())
        assert "grey: levels in no order" in ax.get_xlabel()
        assert (
            "grey" not in xcid.plots.beeswarm(xcid.Explainer(lambda X: X[:, 0] > 0, NUMBERS)(NUMBERS[:5])).get_xlabel()
        )

    def test_levels_in_order_have_colours_of_their_order(self):
        grades = pd.Categorical(TABLE["c"].map({"x": "low", "y": "high"}), ["low", "high"], ordered=True)
        table = pd.DataFrame({"grade": grades, "d": TABLE["d"]})
        found = xcid.Explainer(lambda X: (X["grade"] == "high") * 0.8 + 0.1, table)(table[:9])
        ax = xcid.plots.beeswarm(found, most=1)
        grey, coloured = ax.collections
        assert not len(grey.get_offsets())
        assert np.array_equal(np.asarray(coloured.get_array()), (table["grade"][:9] == "high").to_numpy(float))
        assert "grey" not in ax.get_xlabel()

    def test_nothing_but_categories_needs_no_scale(self):
        table = TABLE[["c"]].assign(e=TABLE["c"].map({"x": "one", "y": "other"}))
        found = xcid.Explainer(lambda X: (X["c"] == "x").to_numpy(), table)(table[:5])
        assert len(xcid.plots.beeswarm(found).figure.axes) == 1

    def test_given_axes_and_no_rows(self, approved, explanation):
        _, ax = plt.subplots()
        assert xcid.plots.beeswarm(explanation, ax=ax) is ax
        with approved.raises(InvalidData):
            xcid.plots.beeswarm(explanation[[]])

    def test_constant_scores(self):
        paper = xcid.Explainer.paper(model, TABLE)(TABLE[:1])
        assert xcid.plots.beeswarm(paper).get_xlabel().startswith("score: d1 between C+ (flips) and C− (stays)\ngrey: ")

    def test_colours_have_a_scale(self, explanation):
        figure = xcid.plots.beeswarm(explanation).figure
        (scale,) = figure.axes[1:]
        assert [label.get_text() for label in scale.get_yticklabels()] == ["low", "high"]


class TestScatter:
    def test_scores_against_values(self, explanation):
        ax = xcid.plots.scatter(explanation, "d", most_limits=0)
        (dots,) = ax.collections
        at = explanation.position("d")
        shown = explanation.towards(explanation.output_names[1]).values[:, at]
        assert np.allclose(dots.get_offsets(), np.column_stack([explanation.data[:, at], shown]))

    def test_signs_are_about_one_class(self, explanation):
        """What raises the odds in every row rises from left to right, whatever is predicted."""
        ax = xcid.plots.scatter(explanation, 0, most_limits=0)
        own, shown = np.asarray(ax.collections[0].get_offsets()).T
        assert np.corrcoef(own, shown)[0, 1] > 0.9
        unit = f"log odds of class {explanation.output_names[1]}"
        assert ax.get_ylabel() == f"contribution in {unit}: + raises them\n− lowers them"
        assert ax.get_title().endswith(": values and contributions")

    def test_how_many_rows_there_are_along_the_axis(self, explanation):
        ax = xcid.plots.scatter(explanation, "d")
        (below,) = ax.child_axes
        assert sum(bar.get_height() for bar in below.patches) == 25

    def test_another_feature_as_colour(self, explanation):
        ax = xcid.plots.scatter(explanation, "d", colour=0, most_limits=0)
        (coloured,) = ax.collections
        rank = np.asarray(coloured.get_array())
        assert np.array_equal(np.argsort(rank, kind="stable"), np.argsort(explanation.data[:, 0], kind="stable"))
        assert ax.figure.axes[-1].get_ylabel() == "a" * 13 + "…" + "a" * 14

    def test_levels_in_no_order_as_colour(self, approved):
        rng = np.random.default_rng(2)
        table = pd.DataFrame(
            {"fee": rng.normal(size=90), "plan": rng.choice(["plus", "basic"], 90), "id": map(str, range(90))}
        )
        table["paid"] = table.fee > 0
        explainer = xcid.Explainer(lambda T: 1 / (1 + np.exp(-T.fee * np.where(T.plan == "plus", 2, -1))), table)
        found = explainer(table[:40])
        ax = xcid.plots.scatter(found, "fee", colour="plan", most_limits=0)
        drawn = {dots.get_label(): np.asarray(dots.get_offsets()) for dots in ax.collections}
        assert list(drawn) == ["basic", "plus"]
        assert np.array_equal(np.sort(drawn["plus"][:, 0]), np.sort(table.fee[:40][table.plan[:40] == "plus"]))
        assert ax.get_legend().get_title().get_text() == "plan"
        (dots,) = xcid.plots.scatter(found, "fee", colour="paid", most_limits=0).collections
        assert set(np.asarray(dots.get_array())) == {0.0, 1.0}  # False is low
        with approved.raises(InvalidParameter):
            xcid.plots.scatter(found, "fee", colour="id")

    def test_an_axis_is_even_unless_values_are_not(self, explanation):
        spiky = explanation.data.copy()
        spiky[:, 3] = np.where(np.arange(25) < 15, 0.0, np.exp(np.arange(25) - 15.0))
        assert xcid.plots.scatter(explanation, "d").get_xscale() == "linear"
        ax = xcid.plots.scatter(replace(explanation, data=spiky), "d")
        assert ax.get_xscale() == "asinh"
        left, right = ax.transData.transform([(0, 0), (np.e**9, 0)])[:, 0]
        middle = ax.transData.transform((np.e**4, 0))[0]
        assert 0.2 < (middle - left) / (right - left) < 0.8

    def test_what_is_not_significant_is_hollow(self, explanation):
        ax = xcid.plots.scatter(explanation, "d", most_limits=0)
        hollow = ax.collections[0].get_facecolors()[:, 3] == 0
        assert np.array_equal(hollow, explanation.p_values[:, explanation.position("d")] > 0.05)
        assert hollow.any()

    def test_limits_of_few_rows_only(self, explanation):
        assert len(xcid.plots.scatter(explanation, 0, most_limits=24).containers) == 0
        (limits,) = xcid.plots.scatter(explanation, 0, most_limits=25).containers
        lengths = [np.ptp(segment[:, 1]) for segment in limits.lines[2][0].get_segments()]
        assert lengths == pytest.approx(explanation.upper[:, 0] - explanation.lower[:, 0])

    def test_levels_are_strips(self, explanation):
        ax = xcid.plots.scatter(explanation, "c", most_limits=0)
        assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y"]
        places = np.asarray(ax.collections[0].get_offsets())[:, 0]
        assert np.array_equal(np.round(places), explanation.data[:, 2])
        assert len(np.unique(places)) > 2

    def test_missing_cells_stand_last(self, explanation):
        ax = xcid.plots.scatter(explanation, "b", most_limits=0)
        assert ax.get_xticklabels()[-1].get_text() == "missing"
        places = np.asarray(ax.collections[0].get_offsets())[:, 0]
        missing = np.isnan(explanation.data[:, 1])
        assert places[missing].min() > places[~missing].max()

    def test_all_missing(self, explanation):
        holes = np.isnan(explanation.data[:, 1])
        ax = xcid.plots.scatter(explanation[holes], "b")
        assert "missing" in [label.get_text() for label in ax.get_xticklabels()]

    def test_given_axes_and_what_is_refused(self, approved, explanation):
        _, ax = plt.subplots()
        assert xcid.plots.scatter(explanation, 0, ax=ax) is ax
        with approved.raises(InvalidData):
            xcid.plots.scatter(explanation[[]], 0)
        with approved.raises(InvalidParameter):
            xcid.plots.scatter(explanation, "z")
        grouped = xcid.Constraints(groups={"both": ["b", "d"]})
        pair = xcid.Explainer(model, TABLE, generator=Balanced(200), constraints=grouped)(TABLE[:1])
        with approved.raises(InvalidParameter):
            xcid.plots.scatter(pair, "both")

    def test_dates(self):
        table = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=200), "x": np.arange(200) % 7})
        dated = xcid.Explainer(lambda X: X["day"] > pd.Timestamp("2020-04-01"), table)(table.iloc[::10])
        labels = [label.get_text() for label in xcid.plots.scatter(dated, "day").get_xticklabels()]
        assert labels
        assert all(label.startswith("2020-") for label in labels)


class TestDisplay:
    def test_from_estimator(self, explanation):
        display = ExplanationDisplay.from_explainer(xcid.Explainer(model, TABLE), TABLE[:3], row=1, most=2)
        assert len(display.ax_.patches) == 2
        assert display.figure_ is display.ax_.figure
        due = xcid.Explainer(model, TABLE)(TABLE[:3])
        assert np.array_equal(display.explanation.values, due.values)

    def test_from_explanation_on_given_axes(self, explanation):
        _, ax = plt.subplots()
        display = ExplanationDisplay.from_explanation(explanation, draw=xcid.plots.beeswarm, ax=ax)
        assert display.ax_ is ax

    def test_several_axes(self, explanation):
        _, axes = plt.subplots(1, 2)
        display = ExplanationDisplay(explanation, draw=xcid.plots.densities)
        assert not hasattr(display, "ax_")
        assert display.plot(axes, row=2) is display
        assert display.ax_ is axes
        assert display.figure_ is axes[0].figure


class TestStability:
    def test_runs_are_dots(self, explainer):
        runs = [explainer(TABLE[:2], seed=seed) for seed in range(5)]
        ax = xcid.plots.stability(runs, row=1)
        dots = np.concatenate([part.get_offsets() for part in ax.collections])
        assert len(dots) == 5 * 4
        assert sorted(dots[:, 0]) == pytest.approx(sorted(np.concatenate([run.values[1] for run in runs])))

    def test_repeats_are_bars(self):
        repeated = xcid.Explainer(model, TABLE, generator=Balanced(200), repeats=3)(TABLE[:1])
        ax = xcid.plots.stability(repeated)
        (bars,) = ax.containers
        segments = bars.lines[2][0].get_segments()
        widths = sorted(segment[1][0] - segment[0][0] for segment in segments)
        assert widths == pytest.approx(sorted(2 * repeated.spread[0]))

    def test_one_run_has_no_spread(self, approved, explanation):
        for runs in (explanation, [explanation], []):
            with approved.raises(InvalidParameter):
                xcid.plots.stability(runs)


class TestComparisons:
    def test_masking_curves(self, approved, explanation):
        rows = TABLE[:25]
        good = xcid.metrics.masking_curves(model, rows, explanation.values, TABLE)
        bad = xcid.metrics.masking_curves(model, rows, -explanation.values, TABLE)
        ax = xcid.plots.masking_curve({"good": good, "bad": bad})
        assert [line.get_label() for line in ax.lines] == ["good masked", "good kept", "bad masked", "bad kept"]
        assert ax.lines[0].get_ydata() == pytest.approx(good.masked.mean(axis=0))
        alone = xcid.plots.masking_curve(good)
        assert [line.get_label() for line in alone.lines] == ["masked", "kept"]
        with approved.raises(InvalidParameter):
            xcid.plots.masking_curve({})

    def test_agreement(self, approved, explanation):
        other = RNG.normal(size=explanation.values.shape)
        ax = xcid.plots.agreement({"ours": explanation, "chance": other}, k=2)
        share = xcid.metrics.feature_agreement(explanation.values, other, 2).mean()
        assert [text.get_text() for text in ax.texts] == ["1.00", f"{share:.2f}", f"{share:.2f}", "1.00"]
        with approved.raises(InvalidParameter):
            xcid.plots.agreement({"ours": explanation})


class TestSums:
    """From the base value to the output."""

    def test_a_waterfall_leads_from_the_base_value_to_the_output(self, explanation):
        one = explanation[3]
        ax = xcid.plots.waterfall(explanation, 3)
        bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
        base, output = float(one.base_values[0]), float(one.base_values[0] + one.values[0].sum())
        assert bars[0][0] == pytest.approx(base)
        assert bars[-1][1] == pytest.approx(output)
        assert all(left[1] == pytest.approx(right[0]) for left, right in itertools.pairwise(bars))
        order = np.argsort(-np.abs(one.values[0]), kind="stable")[::-1]
        assert [end - start for start, end in bars] == pytest.approx(one.values[0, order])

    def test_its_ends_are_named_in_the_unit(self, explanation):
        ax = xcid.plots.waterfall(explanation)
        texts = [text.get_text().replace("−", "-") for text in ax.texts]
        start, end = list_ends(explanation[0])
        assert texts[-2:] == [f"average: {start}", f"here: {end}"]
        assert ax.get_xlabel().startswith("contributions in log odds of class ")

    def test_the_rest_is_one_bar(self, explanation):
        ax = xcid.plots.waterfall(explanation, most=2)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels[0] == "2 other features"
        order = np.argsort(-np.abs(explanation.values[0]), kind="stable")
        assert ax.patches[0].get_width() == pytest.approx(explanation.values[0, order[2:]].sum())
        assert len(xcid.plots.waterfall(explanation, most=3).patches) == 4  # one other would take as much room

    def test_exact_values_have_no_limits(self, explanation):
        sampled = replace(explanation, exact=np.zeros(25, dtype=bool))
        exact = replace(explanation, exact=np.ones(25, dtype=bool))
        assert "95% limits" in xcid.plots.waterfall(sampled).get_xlabel()
        assert "95% limits" not in xcid.plots.waterfall(exact).get_xlabel()

    def test_a_heat_map_of_all_rows_under_their_outputs(self, explanation):
        ax = xcid.plots.heatmap(explanation)
        outputs = explanation.base_values + explanation.values.sum(axis=1)
        order = np.argsort(-np.abs(explanation.values).mean(axis=0), kind="stable")
        due = explanation.values[np.argsort(outputs, kind="stable")][:, order].T
        assert np.allclose(ax.images[0].get_array(), due)
        low, high = ax.images[0].get_clim()
        assert low == -high == -np.abs(due).max()
        (above,) = ax.child_axes
        assert above.lines[0].get_ydata() == pytest.approx(np.sort(outputs))

    @pytest.mark.parametrize("draw", [xcid.plots.waterfall, xcid.plots.heatmap])
    def test_what_does_not_add_up_is_not_drawn_as_a_sum(self, explanation, draw):
        with pytest.raises(InvalidParameter, match="these values do not add up"):
            draw(replace(explanation, base_values=None, scale="d1"))

    def test_rows_that_are_not_there(self, explanation):
        failed = replace(explanation, status=np.full(25, "model_failed"))
        with pytest.raises(InvalidData, match="row 0: not explained"):
            xcid.plots.waterfall(failed)
        with pytest.raises(InvalidData, match="no rows to draw"):
            xcid.plots.heatmap(explanation[[]])


class TestDecision:
    def test_every_row_has_a_line_from_the_base_value_to_its_output(self, explanation):
        ax = xcid.plots.decision(explanation)
        lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 5]
        assert np.allclose([line[0] for line in lines], explanation.base_values)
        assert np.allclose([line[-1] for line in lines], explanation.base_values + explanation.values.sum(axis=1))
        size = np.abs(explanation.values).mean(axis=0)
        assert np.allclose(lines[0][1:] - lines[0][:-1], explanation.values[0, np.argsort(size, kind="stable")])

    def test_small_features_are_one_step(self, explanation):
        ax = xcid.plots.decision(explanation, most=2)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels[0] == "2 other features"
        assert len(labels) == 3
        ends = [line.get_xdata()[-1] for line in ax.lines if len(line.get_xdata()) == 4]
        assert np.allclose(ends, explanation.base_values + explanation.values.sum(axis=1))

    def test_what_does_not_add_up_is_refused(self, explanation):
        with pytest.raises(InvalidParameter, match="do not add up"):
            xcid.plots.decision(replace(explanation, base_values=None))
