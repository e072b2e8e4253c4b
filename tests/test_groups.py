"""Groups of columns, pairs of features, soft membership, and what the statuses say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid import outcomes
from xcid.cid.densities.joint import Joint
from xcid.cid.per_feature import held_in_place
from xcid.densities import Discrete
from xcid.distances import d_k
from xcid.errors import InvalidParameter
from xcid.generators import Marginal, Random
from xcid.records import Perturbations

RNG = np.random.default_rng(11)
XOR = RNG.normal(size=(400, 4))


def xor(X):
    """Columns 0 and 1 decide together; neither says anything by itself. Column 2 helps a little, 3 is ignored."""
    return 1 / (1 + np.exp(-6 * np.sign(X[:, 0]) * np.sign(X[:, 1]) - 0.3 * X[:, 2]))


def one_hot_table(n=300):
    """A colour as three columns, a size and noise."""
    colour = RNG.integers(0, 3, n)
    frame = pd.DataFrame(np.eye(3, dtype=int)[colour], columns=["red", "green", "blue"])
    return frame.assign(size=RNG.normal(size=n), noise=RNG.normal(size=n))


def likes_red(frame):
    return 1 / (1 + np.exp(-(5.0 * frame["red"].to_numpy() - 2.5 + 0.3 * frame["size"].to_numpy())))


COLOUR = xcid.Constraints(groups={"colour": ["red", "green", "blue"]})
BOTH = [xcid.Explainer, xcid.Explainer.paper]


def d1(pair):
    return d_k(pair.p, pair.q, pair.weights)


class TestGroups:
    @pytest.mark.parametrize("make", BOTH)
    def test_one_hot_columns_change_together_and_get_one_score(self, make):
        table = one_hot_table()
        explanation = make(likes_red, table, constraints=COLOUR)(table.iloc[:6])
        assert explanation.feature_names == ("colour", "size", "noise")
        assert explanation.values.shape == (6, 3)
        assert explanation.data.shape == (6, 5)
        assert np.all(np.abs(explanation.values).argmax(axis=1) == 0)
        codes = explanation.cloud.samples[:, :, :3]
        assert np.all(codes.sum(axis=2) == 1)
        assert set(np.unique(codes)) == {0.0, 1.0}

    def test_without_the_group_impossible_rows_are_asked_about(self):
        table = one_hot_table()
        cloud = xcid.Explainer(likes_red, table)(table.iloc[:2]).cloud
        assert np.any(cloud.samples[:, :, :3].sum(axis=2) != 1)

    def test_joint_d1_is_not_a_sum(self):
        """Two columns that tell nothing singly decide together."""
        alone = xcid.Explainer(xor, XOR)(XOR[:5])
        joint = xcid.Explainer(xor, XOR, constraints=xcid.Constraints(groups={"both": ["x0", "x1"]}))(XOR[:5])
        assert joint.feature_names == ("both", "x2", "x3")
        assert np.all(joint.importance[:, 0] > 0.85)
        assert np.all(alone.importance[:, :2].max(axis=1) < 0.75)
        assert np.array_equal(np.sign(joint.values[:, 0]), np.where(joint.outputs[:, 1] > 0.5, 1, -1))

    def test_a_group_of_levels_is_counted_exactly(self):
        """The same as one column whose levels are the combinations."""
        frame = pd.DataFrame({"a": RNG.choice(["p", "q"], 200), "b": RNG.choice(["r", "s", "t"], 200)})
        merged = pd.DataFrame({"ab": frame["a"] + frame["b"], "c": RNG.normal(size=200)})
        frame["c"] = merged["c"]
        group = xcid.Constraints(groups={"ab": ["a", "b"]})
        grouped = xcid.Explainer(lambda X: (X["a"] + X["b"] == "pr").to_numpy(), frame, constraints=group)(frame[:4])
        for row in range(4):
            cloud = grouped.cloud
            codes = cloud.samples[row, :, 0] * 3 + cloud.samples[row, :, 1]
            pair = Discrete()(codes, cloud.positive[row], cloud.negative[row])
            assert grouped.importance[row, 0] == pytest.approx(float(d1(pair)), abs=1e-12)

    def test_order_of_columns_and_names_do_not_matter(self):
        table = one_hot_table()
        there = xcid.Explainer(likes_red, table, constraints=COLOUR)(table[:5])
        moved = table[["noise", "blue", "size", "red", "green"]]
        back = xcid.Constraints(groups={"colour": ["green", "blue", "red"]})
        here = xcid.Explainer(likes_red, moved, constraints=back)(moved[:5])
        order = [here.feature_names.index(name) for name in there.feature_names]
        assert np.allclose(here.values[:, order], there.values, atol=1e-9)

    def test_missing_cells_and_unseen_combinations(self):
        table = pd.DataFrame({"a": [1.0, np.nan, 3.0] * 40, "b": [0.1, 0.2, np.nan] * 40, "c": RNG.normal(size=120)})
        model = lambda X: (np.nan_to_num(X["a"].to_numpy()) > 0.5).astype(float)  # noqa: E731
        group = xcid.Constraints(groups={"ab": ["a", "b"]})
        unseen = pd.DataFrame({"a": [7.0], "b": [9.0], "c": [0.0]}, index=["new"])
        explanation = xcid.Explainer(model, table, constraints=group)(unseen)
        samples = explanation.cloud.samples[0, :, :2]
        pairs = {tuple(pair) for pair in np.nan_to_num(samples, nan=-1.0).tolist()}
        assert pairs == {(7.0, 9.0), (1.0, 0.1), (-1.0, 0.2), (3.0, -1.0)}
        assert explanation.shown(0, "ab") == "7, 9"
        assert explanation.index.tolist() == ["new"]
        assert str(explanation).startswith("row new: ")

    def test_evidence_pictures_and_files(self, tmp_path):
        import matplotlib as mpl

        mpl.use("Agg")
        explanation = xcid.Explainer(xor, XOR, constraints=xcid.Constraints(groups={"both": ["x0", "x1"]}))(XOR[:2])
        pair = explanation.evidence(0, "both")
        assert float(d1(pair)) == pytest.approx(explanation.importance[0, 0], abs=1e-9)
        assert np.all((pair.points >= 0) & (pair.points <= 1))
        axes = xcid.plots.densities(explanation)
        assert any("both" in ax.get_title() for ax in axes)
        explanation.save(tmp_path / "groups")
        back = xcid.load(tmp_path / "groups")
        assert back.details.features == explanation.details.features
        assert [set(columns) for columns in back.details.features] == [{0, 1}, {2}, {3}]
        assert float(d1(back.evidence(0, "both"))) == pytest.approx(
            float(d1(pair)), abs=1e-8
        )  # weights in single precision
        frame = back.to_frame()
        assert frame["feature"].tolist() == ["both", "x2", "x3"] * 2
        assert frame["data"][0] == frame["shown"][0] == back.shown(0, 0)
        assert frame["data"][1] == back.data[0, 2]

    @pytest.mark.parametrize(
        ("constraints", "says"),
        [
            ({"groups": {"g": ["x0", "x1"], "h": ["x1", "x2"]}}, "'x1' is in group 'g' and again in group 'h'"),
            ({"groups": {"g": ["x0", "x0"]}}, "'x0' is in group 'g' and again in group 'g'"),
            ({"groups": {"g": ["x0", "nope"]}}, "group 'g' has \\['nope'\\], which the table does not have"),
            ({"groups": {"g": ["x0"]}}, "at least two columns"),
            ({"groups": {"g": "x0"}}, "at least two columns"),
            ({"groups": {"x3": ["x0", "x1"]}}, "the name of a column that is not in it"),
            ({"groups": {"g": ["x0", "x1"]}, "frozen": ["x0"]}, "freeze all or none"),
            ({"groups": {"g": ["x0", "x1"]}, "monotone": {"x1": "rises"}}, "take that column out of the group"),
            ({"groups": ["x0", "x1"]}, "must be a dict"),
        ],
    )
    def test_groups_that_cannot_be(self, constraints, says):
        with pytest.raises(InvalidParameter, match=says):
            xcid.Explainer(xor, XOR, constraints=xcid.Constraints(**constraints))

    @pytest.mark.parametrize("generator", [Random(m=20), Marginal(m=20)], ids=str)
    def test_limits_hold_within_a_group(self, generator):
        limits = xcid.Constraints(groups={"g": ["x0", "x1"]}, ranges={"x0": (-0.5, 3)})
        cloud = xcid.Explainer(xor, XOR, constraints=limits, generator=generator)(XOR[:5]).cloud
        changed = cloud.samples[..., 0] != cloud.origin[:, None, 0]
        assert np.all(cloud.samples[..., 0][changed] >= -0.5)
        frozen = xcid.Constraints(groups={"g": ["x2", "x3"]}, frozen=["x2", "x3"])
        explanation = xcid.Explainer(xor, XOR, constraints=frozen, generator=generator)(XOR[:5])
        assert np.all(explanation.cloud.samples[..., 2:] == explanation.cloud.origin[:, None, 2:])
        assert np.all(explanation.feature_status[:, 2] == "frozen")


class TestJoint:
    def test_one_smooth_column_agrees_with_the_kernel(self):
        values = np.concatenate([RNG.normal(size=200), RNG.normal(1.0, 1.0, 200)])
        side = np.repeat([1.0, 0.0], 200)
        kernel = xcid.densities.Mixed()(values, side, 1 - side)
        joint = Joint(draws=20_000)(values[:, None], side, 1 - side, np.array([False]))
        assert float(d1(joint)) == pytest.approx(float(d1(kernel)), abs=0.03)

    def test_a_joint_distribution_tells_at_least_what_each_column_tells(self):
        a = np.concatenate([RNG.normal(size=300), RNG.normal(1.2, 1.0, 300)])
        b = RNG.integers(0, 3, 600).astype(float)
        side = np.repeat([1.0, 0.0], 300)
        both = Joint()(np.column_stack([a, b]), side, 1 - side, np.array([False, True]))
        one = Joint()(a[:, None], side, 1 - side, np.array([False]))
        assert float(d1(both)) > float(d1(one)) - 0.02

    def test_laws(self):
        values, w = RNG.normal(size=(60, 3)), RNG.uniform(size=60)
        kinds = np.array([False, False, False])
        there, back = Joint()(values, w, 1 - w, kinds), Joint()(values, 1 - w, w, kinds)
        assert float(d1(there)) == pytest.approx(float(d1(back)), abs=1e-12)
        assert float(d1(Joint()(values, w, w, kinds))) == pytest.approx(0, abs=1e-12)
        scaled = Joint()(values * [1e6, 1e-6, 1] + [5, 0, -3], w, 1 - w, kinds)
        assert float(d1(scaled)) == pytest.approx(float(d1(there)), abs=1e-9)
        far = values + 1e3 * (w > 0.5)[:, None]
        assert float(d1(Joint()(far, (w > 0.5) * 1.0, (w <= 0.5) * 1.0, kinds))) == pytest.approx(1, abs=0.01)

    def test_few_samples(self):
        one = Joint()(np.zeros((2, 2)), np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([False, False]))
        assert float(d1(one)) == 0


class TestSoftMembership:
    def test_weights_are_probabilities(self):
        table = RNG.normal(size=(200, 3))
        model = lambda X: 1 / (1 + np.exp(-2 * X[:, 0]))  # noqa: E731
        explanation = xcid.Explainer(model, table)(table[:5])
        cloud = explanation.cloud
        share = model(cloud.samples.reshape(-1, 3)).reshape(cloud.positive.shape)
        own = model(table[:5]) > 0.5
        assert np.allclose(cloud.positive, np.where(own[:, None], 1 - share, share), atol=1e-12)
        assert np.allclose(cloud.positive + cloud.negative, 1)
        assert np.all(np.abs(explanation.values).argmax(axis=1) == 0)

    def test_crosses_one_half_where_the_class_changes(self):
        outputs = RNG.dirichlet(np.ones(4), size=500)
        reference = RNG.dirichlet(np.ones(4), size=500)
        assert np.array_equal(
            outcomes.Flip(soft=True)(outputs, reference) > 0.5, outcomes.Flip()(outputs, reference) > 0.5
        )
        names = ["a", "b", "c", "d"]
        soft, hard = (outcomes.ToClass("c", soft=soft).bind(names, outputs) for soft in (True, False))
        assert np.array_equal(soft(outputs, reference) > 0.5, hard(outputs, reference) > 0.5)

    def test_a_regression_has_no_soft_classes(self, approved):
        table = RNG.normal(size=(50, 2))
        with approved.raises(InvalidParameter):
            xcid.Explainer(lambda X: 10 * X[:, 0], table, outcome=outcomes.Flip(soft=True))(table[:1])

    def test_impossible_probabilities(self):
        outputs = np.array([[0.0, 0.0, 1.0]])
        assert outcomes.Flip(soft=True)(outputs, np.array([[1.0, 0.0, 0.0]])).tolist() == [1.0]
        assert outcomes.ToClass("b", soft=True).bind("abc", outputs)(np.zeros((1, 3)), outputs).tolist() == [0.5]


class TestStatus:
    @pytest.mark.parametrize("make", BOTH)
    def test_frozen_constant_and_at_the_end_of_the_range(self, make):
        table = np.column_stack([RNG.normal(size=200), np.full(200, 3.0), RNG.normal(size=200), RNG.normal(size=200)])
        limits = xcid.Constraints(frozen=["x2"], monotone={"x3": "rises"})
        rows = table[:3].copy()
        rows[1, 3] = table[:, 3].max()
        rows[:, 0] = [-1, -2, -1]
        rows[2, 1] = 4.0  # may change to 3
        whole = {"x1": "integer"}  # DiCE, and so the paper's setting, moves constant floats
        explanation = make(lambda X: 2 * X[:, 0] + X[:, 3] > 0, table, constraints=limits, kinds=whole)(rows)
        assert explanation.feature_status.tolist() == [
            ["ok", "constant", "frozen", "ok"],
            ["ok", "constant", "frozen", "constant"],
            ["ok", "ok", "frozen", "ok"],
        ]
        assert explanation.importance[explanation.feature_status != "ok"] == pytest.approx(0, abs=1e-12)
        frame = explanation.to_frame()
        assert frame["feature_status"].tolist()[:4] == ["ok", "constant", "frozen", "ok"]

    def test_levels_and_missing_cells(self):
        frame = pd.DataFrame({"a": ["p"] * 50, "b": [1.0, np.nan] * 25, "c": RNG.normal(size=50)})
        explanation = xcid.Explainer(lambda X: (X["c"] > 0).to_numpy(), frame)(frame[:2])
        assert explanation.feature_status.tolist() == [["constant", "ok", "ok"]] * 2


class TestTablesComeBack:
    def test_index(self):
        frame = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])
        explainer = xcid.Explainer(lambda X: (X["a"] > 0).to_numpy(), frame)
        assert explainer(frame[40:45]).index.tolist() == [40, 41, 42, 43, 44]
        assert explainer(frame[40:45].to_numpy()).index.tolist() == [0, 1, 2, 3, 4]
        named = explainer(frame[:2].set_axis([("x", 1), ("y", 2)]))
        assert named.index.tolist() == ["('x', 1)", "('y', 2)"]
        assert named.to_frame()["row"].tolist() == ["('x', 1)"] * 2 + ["('y', 2)"] * 2
        assert explainer(frame[40:45])[[3]].index.tolist() == [43]

    @pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, bool, np.float64])
    def test_arrays_reach_the_model_in_their_own_type(self, dtype):
        table = RNG.integers(0, 2 if dtype is bool else 9, size=(80, 3)).astype(dtype)
        seen = set()

        def model(X):
            seen.add(X.dtype)
            return X[:, 0] > X[:, 1]

        rows = table[[bool(model(table[[i]])[0]) for i in range(len(table))]][:3]
        for kinds in (None, {"x0": "continuous"} if dtype is np.int16 else {"x0": "categorical"}):
            xcid.Explainer(model, table, kinds=kinds)(rows)
            assert seen == {np.dtype(dtype)}


def test_a_group_holds_a_decision_in_place_where_all_of_it_stays():
    samples = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])  # the last two flip
    flips = np.array([[0.0, 0.0, 1.0, 1.0]])
    cloud = Perturbations(
        np.zeros((1, 3)), samples[None], flips, 1 - flips, np.array([4]), np.array(["ok"]), np.zeros(3, bool),
        features=((0, 1), (2,)),
    )  # fmt: skip
    assert held_in_place(cloud).tolist() == [[1, -1]]
