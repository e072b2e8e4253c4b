"""Perturbations by gradients: valid by the model's word, counted, within the limits, the same alone and in a batch."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.cid.generators.objectives import Diverse, of_logits, of_probabilities
from xcid.cid.generators.reach import Metric
from xcid.errors import InvalidParameter
from xcid.generators import Gradient, Random
from xcid.table import FeatureSpace
from xcid_lab.generators import Wachter

torch = pytest.importorskip("torch", reason="needs the extra torch")

RNG = np.random.default_rng(3)
TABLE = np.column_stack(
    [RNG.normal(size=200), RNG.integers(0, 30, 200), RNG.uniform(0, 4, 200).round(1), RNG.normal(size=200)]
)
M, STEPS, BUDGET = 15, 20, 3_000
OBJECTIVES = [
    *(Diverse(), Wachter(), "diverse"),
    pytest.param(lambda margins, moves: margins.sum() + moves.abs().sum(), id="a function"),
]


class Net(torch.nn.Module):
    """Class 1 where x0 + x1 / 10 - x2 is above 0.5, smoothly; counts what it is asked."""

    def __init__(self, columns=2):
        super().__init__()
        self.linear = torch.nn.Linear(4, 1).double()
        self.dropout = torch.nn.Dropout(0.5)
        self.columns, self.asked = columns, 0
        with torch.no_grad():
            self.linear.weight.copy_(torch.tensor([[2.0, 0.2, -2.0, 0.0]]))
            self.linear.bias.fill_(-1.0)

    def forward(self, x):
        self.asked += len(x)
        logit = self.linear(self.dropout(x))
        return logit if self.columns == 1 else torch.cat([-logit / 2, logit / 2], dim=1)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads that wait for each other make small tensors slow on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def space():
    return FeatureSpace.of(TABLE)


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


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_finds_what_was_asked_for(space, objective):
    rows = space.background[:20]
    cloud, _ = run(Gradient(Net(), m=M, objective=objective, steps=STEPS), space, rows)
    flips = decide(cloud.samples) != decide(cloud.origin)[:, None]
    assert np.all(cloud.status == "ok")
    assert np.all(flips[cloud.positive > 0])
    assert not np.any(flips[cloud.negative > 0])
    assert np.all(cloud.positive.sum(axis=1) == M)
    assert np.all(cloud.negative.sum(axis=1) == M)


def test_flips_are_nearer_than_random_ones(space):
    rows, metric = space.background[:20], Metric.of(space)

    def length(generator):
        cloud, _ = run(generator, space, rows)
        return metric.between(cloud.samples, cloud.origin[:, None])[cloud.positive > 0].mean()

    assert length(Gradient(Net(), m=M)) < 0.7 * length(Random(m=M))


@pytest.mark.parametrize("n_rows", [1, 3])
def test_counts_forward_passes_and_questions(space, n_rows):
    rows, net = space.background[:n_rows], Net()
    cloud, model = run(Gradient(net, m=M, steps=STEPS, max_evaluations=BUDGET, rows_at_once=1), space, rows)
    assert np.all(cloud.n_evaluations <= BUDGET)
    assert net.asked == (cloud.n_evaluations - model.asked).sum()
    assert np.all((cloud.n_evaluations - model.asked) % (M * STEPS + 1) == 0)


def test_keeps_to_the_budget_where_nothing_flips(space):
    rows, net, budget = space.background[:2], Net(), 1_000
    with torch.no_grad():
        net.linear.weight.zero_()
    generator = Gradient(net, m=M, steps=STEPS, max_evaluations=budget, rows_at_once=2)
    cloud = generator(rows, space.keys(rows, 0), space, lambda samples, owner: np.zeros(len(samples)))
    assert np.all(cloud.status == "insufficient_flips")
    assert np.all(cloud.n_evaluations <= budget)
    assert np.all(cloud.n_evaluations > budget / 2)
    always = generator(rows, space.keys(rows, 0), space, lambda samples, owner: np.ones(len(samples)))
    assert np.all(always.status == "insufficient_stays")


def test_a_row_gets_the_same_alone_in_a_batch_and_in_any_order(space):
    rows, generator = space.background[:6], Gradient(Net(), m=M, steps=STEPS, rows_at_once=4)
    together, _ = run(generator, space, rows)
    order = np.random.default_rng(1).permutation(len(rows))
    shuffled, _ = run(generator, space, rows[order])
    assert np.array_equal(together.samples[order], shuffled.samples)
    assert np.array_equal(together.n_evaluations[order], shuffled.n_evaluations)
    alone, _ = run(generator, space, rows[4:5])
    assert np.array_equal(together.samples[4], alone.samples[0])


def test_leaves_the_module_as_it_was(space):
    net, state = Net(), torch.get_rng_state()
    net.dropout.eval()
    run(Gradient(net, m=M, steps=STEPS), space, space.background[:2])
    assert net.training
    assert not net.dropout.training
    assert net.linear.weight.grad is None
    assert torch.equal(torch.get_rng_state(), state)


def test_values_stay_in_the_range_and_on_the_lattice(space):
    samples = run(Gradient(Net(), m=M, steps=STEPS), space, space.background[:20])[0].samples
    assert np.all((samples >= space.lower) & (samples <= space.upper))
    assert np.array_equal(samples[..., 1], samples[..., 1].round())
    assert np.array_equal(samples[..., 2], samples[..., 2].round(1))


def test_obeys_constraints_levels_and_missing_cells():
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c", "d"])
    frame["d"] = pd.Categorical.from_codes(RNG.integers(0, 3, 200), ["x", "y", "z"])
    limits = xcid.Constraints(frozen=["c"], ranges={"a": (-2, 2)}, monotone={"b": "rises"}, levels={"d": ["x", "z"]})
    space = FeatureSpace.of(frame, constraints=limits)
    rows = space.background[np.flatnonzero(decide(space.background))[:8]]
    cloud, _ = run(Gradient(Net(), m=M, steps=STEPS, max_evaluations=BUDGET, rows_at_once=8), space, rows)
    own = cloud.origin[:, None]
    a, b, c, d = np.moveaxis(cloud.samples, 2, 0)
    assert np.all((a == own[..., 0]) | (np.abs(a) <= 2))
    assert np.all(b >= own[..., 1])
    assert np.all(c == own[..., 2])
    assert np.all((d == own[..., 3]) | np.isin(d, [0, 2]))
    assert not np.isnan(cloud.samples).any()


def test_explains_a_module():
    search = Gradient(Net(), m=M, steps=STEPS)
    with pytest.warns(xcid.XcidWarning, match="taken for logits"):
        explainer = xcid.Explainer(Net(), TABLE, generator=search, outcome=xcid.outcomes.Flip())
    explanation = explainer(TABLE[:5])
    assert np.all(explanation.status == "ok")
    assert np.all(np.abs(explanation.values[:, 3]) < np.abs(explanation.values).max(axis=1))


def test_margins():
    logits = torch.tensor([[1.0, 3.0, 2.0], [0.0, 1.0, 5.0]])
    own = logits[:1].expand(2, -1)
    assert of_logits(logits, own).tolist() == [1.0, -4.0]
    assert of_probabilities(logits.softmax(1), own.softmax(1)).tolist() == pytest.approx([1.0, -4.0], abs=1e-3)
    one = torch.tensor([[0.5], [-2.0]])
    assert of_logits(one, one[1:].expand(2, -1)).tolist() == [-0.5, 2.0]
    assert of_probabilities(one.sigmoid(), one[1:].sigmoid().expand(2, -1)).tolist() == pytest.approx([-0.5, 2.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "nearest"}, "objective must be a function or one of"),
        ({"outputs": "odds"}, "outputs must be a function or one of"),
        ({"rate": 0.0}, "rate must be a number above 0"),
        ({"max_evaluations": 500}, r"at least m \* \(steps \+ 2\) \+ 1 = 2101"),
    ],
)
def test_refuses_settings_that_cannot_work(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        Gradient(Net(), **settings)
    with pytest.raises(InvalidParameter, match="proximity"):
        Diverse(proximity=-1.0)
