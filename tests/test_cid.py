"""CID by its name: the paper's parts, each replaceable by itself; groups with its density; ties as in dice-ml."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde

import xcid
from xcid.cid.densities.product import Product
from xcid.cid.generators.search import Search
from xcid.densities import Kernel
from xcid.distances import d_k
from xcid.errors import InvalidData, InvalidParameter, XcidWarning
from xcid.generators import Genetic, Marginal, Random
from xcid.outcomes import Flip, Interval
from xcid.outcomes.classes import FlipOrTie
from xcid.table import FeatureSpace

RNG = np.random.default_rng(29)
TABLE = RNG.normal(size=(200, 4))
KERNELS = ["gaussian", "epanechnikov", "exponential", "tophat", "triangular", "cosine"]


def model(X):
    return 1 / (1 + np.exp(-3 * X[:, 0] - X[:, 1]))


def number(X):
    return 5 * X[:, 0] + X[:, 1]


def votes(X):
    """Four votes of two: ties are common."""
    return np.mean([X[:, 0] > 0, X[:, 1] > 0], axis=0)


def d1(pair):
    return float(d_k(pair.p, pair.q, pair.weights))


class TestTheMethod:
    def test_it_is_an_explainer_by_another_name(self):
        explainer = xcid.CID(model, TABLE)
        assert isinstance(explainer, xcid.Explainer)
        assert repr(explainer).startswith("<xcid.CID of a function: 200 reference rows, 4 features; Random(m=50,")
        assert isinstance(pickle.loads(pickle.dumps(xcid.CID(number, TABLE))), xcid.CID)
        assert isinstance(explainer.with_outcome(Flip()), xcid.CID)

    def test_values_are_unsigned_and_equal_importance(self):
        found = xcid.CID(model, TABLE)(TABLE[:5])
        assert np.array_equal(found.values, found.importance)
        assert found.base_values is None
        assert found.lower is None
        assert np.all((found.values >= 0) & (found.values <= 1))

    def test_explainer_paper_is_the_same(self):
        changes = {"m": 20, "kernel": "epanechnikov", "k": 1.5}
        one, other = (make(model, TABLE, **changes)(TABLE[:4]) for make in (xcid.CID, xcid.Explainer.paper))
        assert np.array_equal(one.values, other.values)

    def test_the_formula_by_hand(self):
        """Sets of m, scipy's density of each, and the integrals by a fine grid."""
        found = xcid.CID(model, TABLE, m=50)(TABLE[:3])
        for row in range(3):
            positive, negative = (part[row] == 1 for part in (found.cloud.positive, found.cloud.negative))
            assert positive.sum() == negative.sum() == 50
            for feature in range(4):
                values = found.cloud.samples[row, :, feature]
                grid = np.linspace(values.min() - 5, values.max() + 5, 20_001)
                p, q = (gaussian_kde(values[part], bw_method="silverman")(grid) for part in (positive, negative))
                due = 1 - np.minimum(p, q).sum() / np.maximum(p, q).sum()
                assert found.values[row, feature] == pytest.approx(due, abs=1e-3)

    def test_k_shifts_all_distances(self):
        one, two = (xcid.CID(model, TABLE, k=k)(TABLE[:3]).values for k in (1, 2))
        assert np.allclose(two, one + 1)

    def test_repeats_are_averaged(self):
        found = xcid.CID(model, TABLE, repeats=3, m=20)(TABLE[:2])
        assert found.spread.shape == (2, 4)
        assert np.array_equal(found.values, found.importance)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("bandwidth", ["scott", 0.7])
    def test_kernel_and_bandwidth_change_nothing_else(self, kernel, bandwidth):
        usual, other = (xcid.CID(model, TABLE, **parts) for parts in ({}, {"kernel": kernel, "bandwidth": bandwidth}))
        assert other.setup.generator == usual.setup.generator
        assert other.setup.outcome == usual.setup.outcome
        assert other.setup.score.distance == usual.setup.score.distance
        assert other.setup.score.density == Kernel(kernel, bandwidth=bandwidth)

    @pytest.mark.parametrize(
        ("generator", "made"),
        [("random", Random(m=30)), ("genetic", Genetic(m=30)), (Marginal(m=7), Marginal(m=7))],
        ids=["random", "genetic", "an object"],
    )
    def test_the_generator_changes_nothing_else(self, generator, made):
        m = {"m": 30} if isinstance(generator, str) else {}
        usual, other = xcid.CID(model, TABLE).setup, xcid.CID(model, TABLE, generator=generator, **m).setup
        assert other.generator == made
        assert (other.score, other.outcome) == (usual.score, usual.outcome)
        assert other.search is None

    def test_large_m_by_a_genetic_search(self):
        generator = xcid.CID(model, TABLE, generator="genetic", m=200).setup.generator
        assert (generator.population, generator.max_evaluations) == (300, 16_000)

    def test_sets_are_hard_whatever_the_model(self):
        for asked, due in ((model, FlipOrTie()), (lambda X: X[:, 0] > 0, FlipOrTie()), (number, Interval)):
            found = xcid.CID(asked, TABLE, m=20)(TABLE[:2])
            assert found.details.outcome == due or isinstance(found.details.outcome, due)
            assert "counted as yes or no" in found.question
            assert set(np.unique(found.cloud.positive)) <= {0.0, 1.0}
        assert xcid.CID(model, TABLE, outcome=Flip(soft=True)).setup.outcome == Flip(soft=True)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"score": xcid.scores.PerFeature()}, "the score of CID is d_k itself"),
            ({"density": Kernel(), "kernel": "cosine"}, "not both"),
            ({"generator": "dice"}, "unknown generator 'dice'"),
            ({"generator": Marginal(), "m": 20}, "give it its own m"),
            ({"generator": "gradient"}, "needs a PyTorch module, and this is a function"),
            ({"m": 1}, "m"),
            ({"m": "many", "generator": "genetic"}, "m"),
            ({"k": 0.5}, "k must be"),
            ({"kernel": "square"}, "unknown kernel"),
        ],
        ids=lambda part: part if isinstance(part, str) else ", ".join(part),
    )
    def test_what_cannot_be(self, wrong, message):
        with pytest.raises(InvalidParameter, match=message):
            xcid.CID(model, TABLE, **wrong)


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
def test_gradient_of_a_module(n_outputs):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    last = [torch.nn.Sigmoid()] if n_outputs == 1 else []
    module = torch.nn.Sequential(torch.nn.Linear(4, n_outputs), *last)
    with nullcontext() if n_outputs == 1 else pytest.warns(XcidWarning, match="taken for logits"):
        explainer = xcid.CID(module, TABLE, generator="gradient", m=10)
    assert explainer.setup.generator.outputs.__name__ == ("of_probabilities" if n_outputs == 1 else "of_logits")
    assert set(explainer(TABLE[:2]).status) == {"ok"}


class TestGroups:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_a_column_among_constants_scores_as_alone(self, kernel):
        table = pd.DataFrame({"a": TABLE[:, 0], "fixed": 3.0, "level": "x", "b": TABLE[:, 1]})
        group = xcid.Constraints(groups={"g": ["fixed", "a", "level"]})
        found = xcid.CID(lambda X: model(X[["a", "b"]].to_numpy()), table, kernel=kernel, constraints=group)(table[:3])
        for row in range(3):
            at = found.details.column_names.index("a")
            sets = (
                found.cloud.samples[row, part[row] > 0, at] for part in (found.cloud.positive, found.cloud.negative)
            )
            due = xcid.d1(*sets, Kernel(kernel))
            assert found.values[row, found.feature_names.index("g")] == pytest.approx(due, abs=1e-9)
            assert d1(found.evidence(row, "g")) == pytest.approx(due, abs=1e-9)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("bandwidth", ["silverman", "pooled-scott", 0.6])
    def test_points_of_the_product_integrate_its_density(self, kernel, bandwidth):
        """In one column it is the density of that column; of two, the reference is a fine grid."""
        values, flips = RNG.normal(size=(80, 2)), np.repeat([1.0, 0.0], 40)
        values[:40] += 0.6
        made, alone = Product(Kernel(kernel, bandwidth=bandwidth)), Kernel(kernel, bandwidth=bandwidth)
        single = made(values[:, :1], flips, 1 - flips, np.array([False]))
        assert d1(single) == pytest.approx(d1(alone(values[:, 0], flips, 1 - flips)), abs=0.01)
        pair = made(values, flips, 1 - flips, np.array([False, False]))
        assert [np.sum(pair.weights * part) for part in (pair.p, pair.q)] == pytest.approx([1, 1], abs=0.02)
        assert d1(pair) == pytest.approx(by_grid(kernel, bandwidth, values, flips), abs=0.01)

    def test_levels_and_missing_cells_are_counted(self):
        level, flips = np.tile([0.0, 1.0], 20), np.repeat([1.0, 0.0], 20)
        values = np.column_stack([level, np.where(flips == level, np.nan, 7.0)])
        pair = Product()(values, flips, 1 - flips, np.array([True, False]))
        assert d1(pair) == 1.0  # each column alone tells nothing
        assert d1(Product()(values, level, 1 - level, np.array([False, True]))) == 1.0


def by_grid(kernel, bandwidth, values, flips, size=601):
    """d1 of two product densities of two columns on a grid."""
    from xcid.cid.densities.bandwidths import SHAPES, named

    axes = [np.linspace(column.min() - 8, column.max() + 8, size) for column in values.T]
    widths = named(bandwidth)(values.T, flips, 1 - flips, np.ones(2))
    curves = []
    for weights, width in zip((flips, 1 - flips), widths, strict=True):
        each = [
            SHAPES[kernel].pdf((axis[:, None] - column) / one) / one
            for axis, column, one in zip(axes, values.T, width, strict=True)
        ]
        curves.append(np.einsum("xs,ys,s->xy", *each, weights / weights.sum()))
    p, q = curves
    return 1 - np.minimum(p, q).sum() / np.maximum(p, q).sum()


class TestVariability:
    def test_it_is_the_papers_formula(self):
        positive, negative = RNG.normal(size=(2, 50, 3))
        due = [sum((positive[j, i] - negative[j, i]) ** 2 for j in range(50)) / 50 for i in range(3)]
        assert xcid.scores.variability(positive, negative) == pytest.approx(due)
        assert float(xcid.scores.variability(positive[:, 1], negative[:, 1])) == pytest.approx(due[1])

    def test_of_the_sets_of_an_explanation(self):
        cloud = xcid.CID(model, TABLE)(TABLE[:1]).cloud
        sets = [cloud.samples[0, part[0] > 0] for part in (cloud.positive, cloud.negative)]
        assert xcid.scores.variability(*sets).argmax() == 0

    @pytest.mark.parametrize("wrong", [([[1.0]], [[1.0], [2.0]]), ([], []), (["x"], ["y"]), (1.0, 2.0)], ids=str)
    def test_what_cannot_be(self, wrong):
        with pytest.raises(InvalidData):
            xcid.scores.variability(*wrong)


class TestTies:
    def test_a_tie_of_two_classes_is_on_both_sides(self):
        outputs, reference = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]), np.array([[0.2, 0.8]] * 3)
        assert FlipOrTie()(outputs, reference).tolist() == [1.0, 0.5, 0.0]
        three = np.array([[0.4, 0.4, 0.2]])
        assert FlipOrTie()(three, np.array([[0.0, 1.0, 0.0]])).tolist() == [1.0]  # as the model has it

    @pytest.mark.parametrize(
        ("has_ties", "found", "weights"),
        [(True, [2, 2], [0, 0, 0, 1, 1, 0]), (False, [2, 1], [0, 0.5, 0, 1, 0, 0])],
        ids=["ties", "degrees"],
    )
    def test_a_search_keeps_it_in_both_sets(self, has_ties, found, weights):
        def member(samples, owner):
            return samples[:, 0]

        member.has_ties = has_ties
        search = Search(TABLE[:1], FeatureSpace.of(TABLE), member, m=3, max_evaluations=100)
        candidates = np.tile(TABLE[0], (1, 3, 1))
        candidates[0, :, 0] = [0.0, 0.5, 1.0]
        search.offer(np.array([0]), candidates)
        assert search.found.tolist() == [found]
        assert search.weights[0].tolist() == weights

    def test_both_sets_hold_ties_at_full_weight(self):
        found = xcid.CID(votes, TABLE)(TABLE[:6])
        for row in range(6):
            tied = votes(found.cloud.samples[row]) == 0.5
            for part in (found.cloud.positive[row], found.cloud.negative[row]):
                assert set(part) == {0.0, 1.0}
                assert part[tied].sum() > 0

    def test_it_is_what_dice_ml_says(self):
        """Of a candidate with a probability of 1/2, either class is reached."""
        base = pytest.importorskip("dice_ml.explainer_interfaces.explainer_base")
        outputs = np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])
        for wanted in (0, 1):
            known = {"num_output_nodes": 2, "target_cf_class": wanted, "stopping_threshold": 0.5}
            asked = SimpleNamespace(model=SimpleNamespace(model_type="classifier"), **known)
            reached = base.ExplainerBase.decide_cf_validity(asked, outputs)
            ours = FlipOrTie()(outputs, np.eye(2)[[1 - wanted] * 3]) >= 0.5
            assert reached.tolist() == ours.tolist()
