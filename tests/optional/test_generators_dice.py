"""dice-ml behind our seam: silent, counted, without its traps."""

from __future__ import annotations

import random
import time

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.errors import InvalidParameter
from xcid.generators import Dice
from xcid.table import FeatureSpace

pytest.importorskip("dice_ml", reason="needs the extra dice")

RNG = np.random.default_rng(3)
TABLE = np.column_stack(
    [RNG.normal(size=150), RNG.integers(0, 30, 150), RNG.uniform(0, 4, 150).round(1), np.full(150, 2.0)]
)
M, BUDGET = 6, 8_000
METHODS = ["random", "genetic", "kdtree"]


@pytest.fixture(scope="module")
def space():
    return FeatureSpace.of(TABLE)


@pytest.fixture(scope="module")
def rows(space):
    return space.background[:3]


def decide(x):
    return 2 * x[..., 0] + 0.2 * x[..., 1] - 2 * x[..., 2] > 1


class Model:
    def __init__(self, rows):
        self.rows, self.asked = rows, np.zeros(len(rows), dtype=int)

    def __call__(self, samples, owner):
        np.add.at(self.asked, owner, 1)
        return (decide(samples) != decide(self.rows[owner])).astype(float)


def run(generator, space, rows):
    model = Model(rows)
    return generator(rows, space.keys(rows, 0), space, model), model


@pytest.mark.parametrize("method", METHODS)
class TestMethods:
    def test_finds_valid_samples_and_counts(self, method, space, rows, capfd):
        state = random.getstate()
        cloud, model = run(Dice(method, m=M, max_evaluations=BUDGET), space, rows)
        flips = decide(cloud.samples) != decide(cloud.origin)[:, None]
        assert np.all(cloud.status == "ok")
        assert np.all(flips[cloud.positive > 0])
        assert not np.any(flips[cloud.negative > 0])
        assert np.all(cloud.positive.sum(axis=1) == M)
        assert np.array_equal(cloud.n_evaluations, model.asked)
        assert np.all(cloud.n_evaluations <= BUDGET)
        assert capfd.readouterr() == ("", "")
        assert random.getstate() == state

    def test_values_stay_in_the_range_and_on_the_lattice(self, method, space, rows):
        samples = run(Dice(method, m=M, max_evaluations=BUDGET), space, rows)[0].samples
        assert np.all((samples >= space.lower) & (samples <= space.upper))
        assert np.array_equal(samples[..., 1], samples[..., 1].round())
        assert np.array_equal(samples[..., 2], samples[..., 2].round(1))  # not the single precision of dice-ml

    def test_a_row_gets_the_same_alone_and_in_a_batch(self, method, space, rows):
        generator = Dice(method, m=M, max_evaluations=BUDGET)
        together, _ = run(generator, space, rows)
        alone, _ = run(generator, space, rows[2:])
        assert np.array_equal(together.samples[2], alone.samples[0])
        assert together.n_evaluations[2] == alone.n_evaluations[0]

    def test_says_when_flips_are_lacking(self, method, space, rows):
        generator = Dice(method, m=M, max_evaluations=600)
        start = time.perf_counter()
        cloud = generator(rows[:1], space.keys(rows[:1], 0), space, lambda samples, owner: np.zeros(len(samples)))
        assert time.perf_counter() - start < 10  # the genetic method would go on for ever
        assert cloud.status[0] == "insufficient_flips"
        assert cloud.n_evaluations[0] <= 600
        assert not cloud.positive.any()

    def test_obeys_constraints_levels_and_missing_cells(self, method):
        frame = pd.DataFrame(
            {
                "kept": RNG.normal(size=150),
                "city": np.array(["Bern", "Lyon", "Oslo", None], dtype=object)[RNG.integers(0, 4, 150)],
                "age": RNG.integers(18, 90, 150).astype(float),
                "pay": np.where(RNG.random(150) < 0.3, np.nan, RNG.normal(3, 1, 150)),
                "size": RNG.normal(size=150).round(2),
            }
        )
        limits = xcid.Constraints(frozen=["kept"], ranges={"size": (-1, 1)}, monotone={"age": "rises"})
        space = FeatureSpace.of(frame, constraints=limits)
        chosen = np.flatnonzero(space.background[:, 2] < 45)
        rows = space.background[[chosen[np.isnan(space.background[chosen, at])][0] for at in (1, 3)]]
        member = lambda samples, owner: (samples[:, 2] > 60) | (samples[:, 4] > 0.5)  # noqa: E731
        cloud = Dice(method, m=M, max_evaluations=BUDGET)(rows, space.keys(rows, 0), space, member)
        own = cloud.origin[:, None]
        kept, city, age, pay, size = np.moveaxis(cloud.samples, 2, 0)
        assert cloud.positive.any(axis=1).all()
        assert np.all(kept == own[..., 0])
        assert np.all(np.isnan(city) | np.isin(city, [0, 1, 2]))
        assert len(np.unique(city)) > 2
        assert np.all(age >= own[..., 2])
        assert np.array_equal(np.isnan(pay), np.isnan(own[..., 3]) | np.zeros(pay.shape, dtype=bool))
        assert np.all((size == own[..., 4]) | (np.abs(size) <= 1))


def test_sampled_features_are_independent(space, rows):
    """With dice-ml's own seed all features would move together."""
    cloud, _ = run(Dice("random", m=100, max_evaluations=BUDGET), space, rows)
    changed = np.all(cloud.samples[..., [0, 1]] != cloud.origin[:, None, [0, 1]], axis=2)
    both = cloud.samples[changed][:, [0, 1]]
    assert len(both) > 30
    assert abs(np.corrcoef(both.T)[0, 1]) < 0.6


def test_explains_groups():
    frame = pd.DataFrame(TABLE[:, :3], columns=["a", "b", "c"])
    together = xcid.Constraints(groups={"both": ["a", "b"]})
    model = lambda X: decide(np.asarray(X, dtype=float)).astype(int)  # noqa: E731
    explainer = xcid.Explainer(model, frame, generator=Dice(m=M), constraints=together, outcome=xcid.outcomes.Flip())
    cloud = explainer(pd.DataFrame([[0.123456, 7.0, 1.5]], columns=["a", "b", "c"])).cloud
    known = {tuple(pair) for pair in np.vstack([TABLE[:, :2], [[0.123456, 7.0]]])}
    assert {tuple(pair) for pair in cloud.samples[..., :2].reshape(-1, 2)} <= known


def test_gradient(space, rows, capfd):
    torch = pytest.importorskip("torch", reason="the gradient method needs the extra torch")
    net, state = torch.nn.Linear(4, 1), torch.get_rng_state()
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[2.0, 0.2, -2.0, 0.0]]))
        net.bias.fill_(-1.0)
    generator = Dice("gradient", m=3, max_evaluations=5_000, module=net, steps=60)
    cloud, model = run(generator, space, rows[:2])
    flips = decide(cloud.samples) != decide(cloud.origin)[:, None]
    assert cloud.positive.any()
    assert np.all(flips[cloud.positive > 0])
    assert not np.any(flips[cloud.negative > 0])
    assert np.all(cloud.n_evaluations > model.asked)
    assert np.all(cloud.n_evaluations <= 5_000)
    assert np.all(cloud.samples[..., 3] == 2.0)
    assert torch.equal(torch.get_rng_state(), state)
    assert capfd.readouterr() == ("", "")


def test_refuses_settings_that_cannot_work():
    with pytest.raises(InvalidParameter, match="method must be one of"):
        Dice("best")
    with pytest.raises(InvalidParameter, match="needs a module"):
        Dice("gradient")
    with pytest.raises(InvalidParameter, match="at least 204"):
        Dice(m=50, max_evaluations=150)
