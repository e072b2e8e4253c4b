"""The recommended setting: balanced masks, the adjusted score, its limits and p-values."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid._kernels.random import run_key
from xcid.errors import InvalidParameter
from xcid.generators import Balanced, Growing, Marginal
from xcid.outcomes import Flip, Threshold
from xcid.table import FeatureSpace
from xcid_lab.generators import Complements

RNG = np.random.default_rng(21)
TABLE = RNG.normal(size=(300, 6)) * [1, 2, 1, 5, 1, 1] + [0, 1, 0, -3, 0, 0]
WEIGHTS = np.array([1.5, -0.5, 0.8, 0.1, 0.0, 0.0])
GENERATORS = [Balanced(400), Complements(400)]


def model(X):
    return 1 / (1 + np.exp(-(np.asarray(X) @ WEIGHTS)))


@pytest.fixture(params=GENERATORS, ids=["Balanced", "Complements"])
def generator(request):
    return request.param


def cloud_of(generator, space, rows, seed=0):
    asked = np.zeros(len(rows), dtype=int)

    def member(samples, owner):
        np.add.at(asked, owner, 1)
        return model(samples)

    generator = generator.bind(space, np.zeros((len(space.background), 0))).draw(space, run_key(seed))
    cloud = generator(rows, space.keys(rows, seed), space, member)
    assert np.array_equal(cloud.n_evaluations, asked)
    return cloud


class TestBound:
    def test_a_choice_shows_what_the_user_may_choose_and_nothing_else(self, generator):
        assert [each.name for each in dataclasses.fields(generator)] == ["n"]
        assert list(inspect.signature(type(generator)).parameters) == ["n"]
        assert generator == type(generator)(400)

    def test_what_is_bound_is_recorded_as_the_choice(self, generator):
        explainer = xcid.Explainer(model, TABLE, generator=generator)
        assert repr(explainer.setup.generator) == repr(generator)
        assert repr(Growing(generator).bind(FeatureSpace.of(TABLE), TABLE[:, :1])) == repr(Growing(generator))
        assert explainer(TABLE[:2]).details.settings["generator"] == repr(generator)

    def test_it_may_be_bound_again_and_travels_without_its_plans(self, generator):
        space, key = FeatureSpace.of(TABLE), run_key(3)
        bound = generator.bind(space, TABLE[:, :1])
        empty = len(pickle.dumps(bound))
        plan = bound.draw(space, key).plan
        assert bound.draw(space, key).plan is plan
        assert len(pickle.dumps(bound)) == empty
        for other in (pickle.loads(pickle.dumps(bound)), bound.bind(space, TABLE[:, :1])):
            again = other.draw(space, key).plan
            assert again is not plan
            assert np.array_equal(again.values, plan.values)
            assert np.array_equal(again.masks, plan.masks)

    def test_threads_share_one_plan(self, generator):
        space = FeatureSpace.of(TABLE)
        bound, start = generator.bind(space, TABLE[:, :1]), threading.Barrier(4)

        def draw(_):
            start.wait()
            return bound.draw(space, run_key(1)).plan

        with ThreadPoolExecutor(4) as pool:
            assert len({id(plan) for plan in pool.map(draw, range(4))}) == 1

    def test_a_generator_that_is_not_bound_follows_the_plan_of_seed_0(self, generator):
        space = FeatureSpace.of(TABLE)
        bound = generator.bind(space, np.zeros((len(TABLE), 0)))
        clouds = [
            each(TABLE[:2], space.keys(TABLE[:2], 0), space, lambda samples, owner: model(samples))
            for each in (generator, bound, bound.draw(space, run_key(0)))
        ]
        assert all(np.array_equal(cloud.samples, clouds[0].samples) for cloud in clouds)


class TestPairs:
    def test_the_second_half_has_the_complements(self, generator):
        space = FeatureSpace.of(TABLE)
        cloud = cloud_of(generator, space, TABLE[:4])
        pairs = len(cloud.plan.masks)
        first, second = cloud.samples[:, :pairs], cloud.samples[:, pairs : 2 * pairs]
        own = cloud.origin[:, None]
        assert np.all(np.where(cloud.plan.masks, second, first) == own)
        donor = np.where(cloud.plan.masks, first, second)
        assert np.array_equal(donor, np.broadcast_to(cloud.plan.values, donor.shape))
        known = {tuple(row) for row in TABLE.tolist()}
        assert all(tuple(row) in known for row in donor[0].tolist())

    def test_within_a_block_the_features_are_orthogonal(self):
        masks = cloud_of(Balanced(400), FeatureSpace.of(TABLE), TABLE[:3]).plan.masks
        sign = np.where(masks[: len(masks) // 8 * 8], 1, -1).reshape(-1, 8, 6)
        inner = np.einsum("bpi,bpj->bij", sign, sign)
        assert np.array_equal(inner, np.broadcast_to(8 * np.eye(6, dtype=int), inner.shape))

    def test_then_one_feature_alone_changes_and_all_but_one(self, generator):
        space = FeatureSpace.of(TABLE)
        cloud = cloud_of(generator, space, TABLE[:2])
        plan, own = cloud.plan, cloud.origin[:, None]
        ends = cloud.samples[:, 2 * len(plan.masks) :]
        changed = np.sum(ends != own, axis=2)
        n_alone, n_rest = 6 * len(plan.alone), 6 * len(plan.rest)
        assert np.all(changed[:, 0] == 0)
        assert np.all(changed[:, 1 : 1 + n_alone] <= 1)
        assert set(np.unique(changed[:, 1 + n_alone : 1 + n_alone + n_rest])) <= {0, 5}  # 0: the row is a donor
        assert set(np.unique(changed[:, 1 + n_alone + n_rest :])) <= {0, 6}
        assert np.array_equal(np.sort(plan.alone, axis=0), plan.alone)
        share = np.mean(TABLE[:, None] <= plan.alone, axis=0)  # of the background
        due = (np.arange(len(plan.alone))[:, None] + 0.5) / len(plan.alone) + 0 * share
        assert share == pytest.approx(due, abs=0.1)

    def test_the_same_alone_in_a_batch_and_for_any_order_of_columns(self, generator):
        space = FeatureSpace.of(TABLE)
        together = cloud_of(generator, space, TABLE[:5])
        alone = cloud_of(generator, space, TABLE[3:4])
        assert np.array_equal(alone.samples[0], together.samples[3])
        turned = cloud_of(generator, FeatureSpace.of(TABLE[:, ::-1]), TABLE[3:4, ::-1])
        there, back = alone.samples[0].tolist(), turned.samples[0, :, ::-1].tolist()
        assert sorted(there) == sorted(back)
        other = cloud_of(generator, space, TABLE[3:4], seed=1)
        assert not np.array_equal(other.samples, alone.samples)

    def test_limits_are_obeyed(self, generator):
        frame = pd.DataFrame(
            {
                "a": RNG.integers(0, 10, 200),
                "b": RNG.choice(["p", "q", "r"], 200),
                "c": np.where(RNG.random(200) < 0.2, np.nan, np.round(RNG.normal(size=200), 1)),
                "d": RNG.normal(size=200),
                "e": RNG.normal(size=200),
            }
        )
        limits = xcid.Constraints(
            frozen=["e"], ranges={"d": (-0.5, 0.5)}, levels={"b": ["p", "q"]}, monotone={"a": "rises"}
        )
        rows = frame[frame["b"] == "p"][:10]
        explainer = xcid.Explainer(
            lambda X: (X["d"] > 0).to_numpy(), frame, generator=generator, constraints=limits, outcome=Threshold(0.5)
        )
        explanation = explainer(rows)
        samples, own = explanation.cloud.samples, explanation.cloud.origin[:, None]
        a, b, c, d, e = (samples[..., i] for i in range(5))
        assert np.all(a >= own[..., 0])
        assert np.array_equal(a, np.round(a))
        assert set(np.unique(b)) == {0.0, 1.0}
        assert np.isnan(c).any()
        known = c[~np.isnan(c)]
        assert np.array_equal(known, np.round(known, 1))
        assert np.all(((d >= -0.5) & (d <= 0.5)) | (d == own[..., 3]))
        assert np.all(e == own[..., 4])
        assert explanation.importance[:, 4] == pytest.approx(0, abs=1e-12)

    def test_more_perturbations_for_more_features(self):
        wide = RNG.normal(size=(50, 24))
        explanation = xcid.Explainer(lambda X: X[:, 0] > 0, wide)(wide[0])
        assert 2_990 < explanation.n_evaluations[0] <= 3_001
        few = xcid.Explainer(lambda X: X[:, 0] > 0, wide[:, :4])(wide[0, :4])
        assert 990 < few.n_evaluations[0] <= 1_001

    @pytest.mark.parametrize(
        ("settings", "says"),
        [({"n": 3}, "at least 8"), ({"n": 1.5}, "whole number")],
    )
    def test_bad_settings(self, settings, says):
        for make in (Balanced, Complements):
            with pytest.raises(InvalidParameter, match=says):
                make(**settings)


class TestAdjusted:
    @pytest.mark.parametrize("scale", [0.5, 1, 2])
    def test_exact_for_a_logistic_model(self, generator, scale):
        """The contribution of a feature is its weight times its distance from the mean, at any scale."""
        rows, weights = TABLE[:20], scale * WEIGHTS
        exact = weights * (rows - TABLE.mean(axis=0))
        found = xcid.Explainer(lambda X: 1 / (1 + np.exp(-(X @ weights))), TABLE, generator=generator)(rows)
        assert found.values == pytest.approx(exact, abs=1e-5)
        assert np.all((found.lower <= exact + 1e-5) & (exact <= found.upper + 1e-5))
        assert np.all(found.p_values[:, :4] == 0)
        assert np.all(found.p_values[:, 4:] == 1)

    def test_sign(self):
        rows = np.zeros((2, 6)) + TABLE.mean(axis=0)
        rows[0, 0], rows[1, 0], rows[:, 2] = 2.0, -0.1, 1.5
        explanation = xcid.Explainer(model, TABLE)(rows)
        assert set(explanation.about) == {"1"}
        assert np.sign(explanation.values[:, [0, 2]]).tolist() == [[1, 1], [-1, 1]]

    def test_what_the_model_ignores_is_noise(self):
        explainer = xcid.Explainer(model, TABLE)
        runs = [explainer(TABLE[:10], seed=seed) for seed in range(60)]  # all rows of a run share what chance does
        false = np.mean([run.p_values[:, 4:] < 0.05 for run in runs])
        assert false < 0.09
        assert np.all(np.array([run.p_values[:, 0] for run in runs])[:, np.abs(TABLE[:10, 0]) > 0.3] < 0.01)

    def test_limits_hold_the_truth(self):
        """Of a model that is not logistic, with products and steps."""

        def steps(X):
            return 1 / (1 + np.exp(-(X[:, 0] * X[:, 2] + np.where(X[:, 1] > 1, 1.5, -0.5) + X[:, 4])))

        explainer = xcid.Explainer(steps, TABLE)
        runs = [explainer(TABLE[:15], seed=seed) for seed in range(40)]
        truth = np.mean([run.values for run in runs], axis=0)
        covered = np.mean([(run.lower <= truth) & (truth <= run.upper) for run in runs])
        assert 0.90 <= covered <= 0.99

    def test_levels_and_missing_cells(self):
        frame = pd.DataFrame(
            {
                "colour": RNG.choice(["red", "green", "blue", "grey"], 400),
                "gap": np.where(RNG.random(400) < 0.3, np.nan, RNG.normal(size=400)),
                "noise": RNG.choice(list("abcdefghijklmnopqrst"), 400),
            }
        )

        def by_level(X):
            effect = 2.0 * (X["colour"] == "red").to_numpy() - 1.5 * X["gap"].isna().to_numpy()
            return 1 / (1 + np.exp(-effect))

        red = frame[(frame["colour"] == "red") & frame["gap"].notna()][:10]
        explanation = xcid.Explainer(by_level, frame)(red)
        exact = 2.0 * np.mean(frame["colour"] != "red")
        assert explanation.values[:, 0] == pytest.approx([exact] * 10, abs=0.01)
        assert np.all(explanation.values[:, 1] > 0)
        assert np.all(np.abs(explanation.values[:, 2]) < 0.01)
        gone = frame[(frame["colour"] == "red") & frame["gap"].isna()][:10]
        assert np.all(xcid.Explainer(by_level, frame)(gone).values[:, 1] < 0)

    def test_groups(self):
        groups = xcid.Constraints(groups={"both": ["x0", "x2"]})
        rows = TABLE[:10]
        explanation = xcid.Explainer(model, TABLE, constraints=groups)(rows)
        single = xcid.Explainer(model, TABLE)(rows)
        assert np.allclose(explanation.values[:, 0], single.values[:, [0, 2]].sum(axis=1), atol=1e-5)

    def test_any_cloud_can_be_scored(self):
        explanation = xcid.Explainer(model, TABLE, generator=Marginal(), outcome=Flip())(TABLE[:10])
        assert np.all(np.isfinite(explanation.values))
        assert np.mean(explanation.p_values[:, 4:] < 0.05) < 0.25
        sure = np.abs(TABLE[:10, 0]) > 1
        assert np.array_equal(np.sign(explanation.values[sure, 0]), np.sign(TABLE[:10, 0])[sure])
        assert np.all(explanation.importance[sure, 0] > 0.2)

    def test_a_regression(self):
        explanation = xcid.Explainer(lambda X: 3 * X[:, 1], TABLE)(TABLE[np.abs(TABLE[:, 1] - 1) > 2][:5])
        assert np.all(np.abs(explanation.values).argmax(axis=1) == 1)

    def test_degenerate_clouds(self):
        constant = np.full((20, 3), 2.0)
        explanation = xcid.Explainer(lambda X: np.where(X[:, 0] > 3, 0.9, 0.1), constant)([[4.0, 2.0, 2.0]])
        assert explanation.values[0, 0] > 0.5
        assert np.all(explanation.values[0, 1:] == 0)
        assert explanation.feature_status.tolist() == [["ok", "constant", "constant"]]
        with pytest.raises(xcid.errors.NotEnoughFlips, match="one class only"):
            xcid.Explainer(lambda X: np.full(len(X), 0.3), TABLE)(TABLE[:2])
        one = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0])), TABLE[:, :1])(TABLE[:3, :1])
        assert np.all(one.p_values < 0.05)
        twice = np.repeat(TABLE[:10], 30, axis=0)
        assert np.all(np.isfinite(xcid.Explainer(model, twice)(TABLE[:3]).values))
