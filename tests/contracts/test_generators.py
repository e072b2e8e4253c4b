"""Every generator obeys the laws of its seam: add a new one to the list."""

from __future__ import annotations

import numpy as np
import pytest

from xcid.cid.generators.conditional import Neighbours
from xcid.generators import Balanced, Conditional, Copula, Genetic, Growing, Marginal, Random
from xcid.table import FeatureSpace
from xcid_lab.generators import Complements, Nearest

M = 20
BUDGET = 3_000
N = 160
SEARCHES = [  # ask until there are m of each kind
    Random(m=M, max_evaluations=BUDGET),
    Random(m=M, max_evaluations=BUDGET, pool=50),
    Marginal(m=M, max_evaluations=BUDGET),
    Conditional(m=M, max_evaluations=BUDGET),
    Conditional(m=M, max_evaluations=BUDGET, method=Neighbours(k=3)),
    Conditional(m=M, max_evaluations=BUDGET, method=Copula()),
    Nearest(m=M, max_evaluations=BUDGET),
    Genetic(m=M, max_evaluations=BUDGET, population=30, generations=10),
    Genetic(m=M, max_evaluations=BUDGET, population=30, generations=10, diversity=4.0),
    Growing(Marginal(m=M, max_evaluations=BUDGET // 3), max_evaluations=BUDGET),
    Growing(Random(m=M, max_evaluations=BUDGET // 3), max_evaluations=BUDGET),
]
PLANS = [  # ask about n samples that all rows have in common
    Balanced(n=N),
    Complements(n=N),
]
GENERATORS = [*SEARCHES, *PLANS]
ROW_BY_ROW = (Nearest, Growing, Conditional)  # ask about rows one by one, or count them: some copies are one row there
DRAWING = [one for one in GENERATORS if not isinstance(one, ROW_BY_ROW) or "Copula" in str(one)]
AS_DICE = [generator for generator in SEARCHES if "Random(" in str(generator)]  # these round as DiCE does
searches = pytest.mark.parametrize("generator", SEARCHES, ids=str)
plans = pytest.mark.parametrize("generator", PLANS, ids=str)


@pytest.fixture(params=GENERATORS, ids=str)
def generator(request):
    return request.param


@pytest.fixture(scope="module")
def space():
    """A continuous, an integer, a one-decimal, a constant and a two-valued feature."""
    rng = np.random.default_rng(5)
    columns = [
        rng.normal(size=200),
        rng.integers(-3, 9, 200),
        np.round(rng.uniform(0, 4, 200), 1),
        np.full(200, 2.5),
        rng.integers(0, 2, 200),
    ]
    return FeatureSpace.of(np.column_stack(columns).astype(float))


@pytest.fixture(scope="module")
def rows(space):
    return space.background[:30]


class Model:
    """Flips where feature 0 and 1 together pass a level; counts what it is asked."""

    def __init__(self, rows, level=0.0):
        self.rows, self.level, self.asked = rows, level, np.zeros(len(rows), dtype=int)

    def decide(self, x):
        return x[..., 0] + 0.5 * x[..., 1] > self.level

    def __call__(self, samples, owner):
        np.add.at(self.asked, owner, 1)
        return (self.decide(samples) != self.decide(self.rows[owner])).astype(float)


def drawn(generator, space, seed):
    """A generator that wants to know the background, or draws for all rows at once, is asked to before a run."""
    bind = getattr(generator, "bind", None)
    known = generator if bind is None else bind(space, np.zeros((len(space.background), 1)))
    draw = getattr(known, "draw", None)
    return known if draw is None else draw(space, np.array([seed], dtype=np.uint64))


def run(generator, space, rows, seed=0, level=0.0):
    model = Model(rows, level)
    return drawn(generator, space, seed)(rows, space.keys(rows, seed), space, model), model


def alike(first, second):
    """Whether two clouds are the same to the last bit."""
    parts = ("origin", "samples", "positive", "negative", "n_evaluations", "status")
    return all(np.array_equal(getattr(first, part), getattr(second, part)) for part in parts)


def test_equal_weights_are_no_weights(generator, space, rows):
    weighted = FeatureSpace.of(space.background, weights=np.full(len(space.background), 0.3))
    assert alike(run(generator, weighted, rows)[0], run(generator, space, rows)[0])


def test_rows_of_weight_0_are_never_used(generator, space, rows):
    strange = np.concatenate([np.full((40, 5), 1e6), space.background, np.full((40, 5), -1e6)])
    weighted = FeatureSpace.of(strange, weights=np.repeat([0.0, 2.0, 0.0], [40, len(space.background), 40]))
    assert alike(run(generator, weighted, rows)[0], run(generator, space, rows)[0])


@pytest.mark.parametrize("generator", DRAWING, ids=str)
def test_a_weight_is_a_number_of_copies(generator, space, rows):
    counts = np.random.default_rng(0).integers(1, 5, len(space.background))
    weighted = FeatureSpace.of(space.background, weights=counts / 7)
    repeated = FeatureSpace.of(np.repeat(space.background, counts, axis=0))
    assert alike(run(generator, weighted, rows)[0], run(generator, repeated, rows)[0])


def test_positives_flip_and_negatives_do_not(generator, space, rows):
    cloud, model = run(generator, space, rows)
    flips = model.decide(cloud.samples) != model.decide(cloud.origin)[:, None]
    assert np.all(flips[cloud.positive > 0])
    assert not np.any(flips[cloud.negative > 0])
    assert not np.any((cloud.positive > 0) & (cloud.negative > 0))


@searches
def test_finds_what_was_asked_for(generator, space, rows):
    cloud, _ = run(generator, space, rows)
    assert np.all(cloud.status == "ok")
    assert np.all(cloud.positive.sum(axis=1) == M)
    assert np.all(cloud.negative.sum(axis=1) == M)


@plans
def test_asks_about_n_samples_and_keeps_them_all(generator, space, rows):
    cloud, _ = run(generator, space, rows)
    assert np.all(cloud.status == "ok")
    assert cloud.samples.shape == (len(rows), N, 5)
    assert np.all(cloud.positive + cloud.negative == 1)
    assert np.all(cloud.n_evaluations == N)


@plans
def test_keeps_the_weights_that_the_outcome_gives(generator, space, rows):
    def shares(samples, owner):
        return np.clip(0.5 + 0.1 * samples[:, 0], 0, 1)

    cloud = drawn(generator, space, 0)(rows, space.keys(rows, 0), space, shares)
    assert cloud.positive == pytest.approx(np.clip(0.5 + 0.1 * cloud.samples[:, :, 0], 0, 1))
    assert cloud.negative == pytest.approx(1 - cloud.positive)


@plans
def test_takes_every_feature_in_half_of_the_samples_and_alike_for_all_rows(generator, space, rows):
    """Complements see to the half; a value that no background row has tells where it was replaced."""
    strange = rows + np.array([1e-3, 0.5, 0.01, 0, 0.5])
    cloud, _ = run(generator, space, strange)
    changed = cloud.samples != cloud.origin[:, None]
    assert np.all(changed[:, :, [0, 1, 2, 4]].mean(axis=1) == 0.5)
    assert np.all(changed == changed[:1])
    where = changed[0, :, 0]
    assert np.array_equal(cloud.samples[0, where, 0], cloud.samples[1, where, 0])


def test_balanced_masks_are_orthogonal(space, rows):
    """As often changed together as apart; by chance the shares would stray by a tenth."""
    strange = rows[:1] + np.array([1e-3, 0.5, 0.01, 0, 0.5])
    cloud = run(Balanced(n=N), space, strange)[0]
    paired = 2 * (len(cloud.plan.masks) // 8 * 8)  # in whole blocks
    first, second = (cloud.samples[0, start:][: paired // 2] for start in (0, len(cloud.plan.masks)))
    changed = (np.concatenate([first, second]) != strange)[:, [0, 1, 2, 4]]
    together = changed.T.astype(float) @ changed / paired
    assert np.all(np.abs(together - np.diag(np.full(4, 0.25)) - 0.25) <= 1e-9)


def test_counts_every_evaluation_and_keeps_to_the_budget(generator, space, rows):
    for level in (0.0, 4.0, 1e9):
        cloud, model = run(generator, space, rows, level=level)
        assert np.array_equal(cloud.n_evaluations, model.asked)
        assert np.all(cloud.n_evaluations <= BUDGET)


def test_says_when_flips_or_stays_are_lacking(generator, space, rows):
    never, _ = run(generator, space, rows, level=1e9)
    assert np.all(never.status == "insufficient_flips")
    assert not never.positive.any()

    def always(samples, owner):
        return np.ones(len(samples))

    cloud = drawn(generator, space, 0)(rows, space.keys(rows, 0), space, always)
    assert np.all(cloud.status == "insufficient_stays")
    assert not cloud.negative.any()
    assert np.all(cloud.positive.sum(axis=1) == (N if generator in PLANS else M))


@searches
def test_does_not_give_up_early(generator, space, rows):
    never, _ = run(generator, space, rows, level=1e9)
    assert np.all(never.n_evaluations > BUDGET / 2)


def test_a_row_gets_the_same_alone_in_a_batch_and_in_any_order(generator, space, rows):
    together, _ = run(generator, space, rows)
    order = np.random.default_rng(6).permutation(len(rows))
    shuffled, _ = run(generator, space, rows[order])
    for name in ("samples", "positive", "negative", "n_evaluations", "status"):
        assert np.array_equal(getattr(together, name)[order], getattr(shuffled, name))
    for i in range(0, len(rows), 7):
        alone, _ = run(generator, space, rows[i : i + 1])
        assert np.array_equal(alone.samples[0], together.samples[i])
        assert alone.n_evaluations[0] == together.n_evaluations[i]


def test_a_row_gets_the_same_alone_also_where_nothing_was_drawn_before(generator, space, rows):
    together = generator(rows, space.keys(rows, 0), space, Model(rows))
    alone = generator(rows[4:5], space.keys(rows[4:5], 0), space, Model(rows[4:5]))
    assert np.array_equal(alone.samples[0], together.samples[4])


def test_seeds_differ(generator, space, rows):
    first, _ = run(generator, space, rows, seed=0)
    second, _ = run(generator, space, rows, seed=1)
    assert not np.array_equal(first.samples, second.samples)


@pytest.mark.parametrize("generator", [one for one in GENERATORS if one not in AS_DICE], ids=str)
def test_values_stay_in_the_range_and_on_the_lattice(generator, space, rows):
    samples = run(generator, space, rows)[0].samples
    inside = (samples >= space.lower) & (samples <= space.upper)
    assert inside.all()
    assert np.array_equal(samples[..., 1], np.round(samples[..., 1]))
    assert np.array_equal(samples[..., 2], np.round(samples[..., 2], 1))  # the very floats, not only close ones
    assert np.all(samples[..., 3] == 2.5)
    assert set(np.unique(samples[..., 4])) <= {0.0, 1.0}


@pytest.mark.parametrize("generator", AS_DICE, ids=str)
def test_values_of_floats_have_the_decimals_of_dice_and_exceed_the_range_by_a_step(generator, space, rows):
    samples = run(generator, space, rows)[0].samples
    highest = space.upper + np.array([0, 0.101, 0.101, 0.101, 0.101])  # 0.1, and what floats are off
    assert np.all((samples >= space.lower) & (samples <= highest))
    assert np.array_equal(samples[..., 1:], np.round(samples[..., 1:], 1))  # whole numbers, too: 3.0 has one decimal
    assert set(np.unique(samples[..., 3])) == {2.5, 2.6}  # a constant


def test_every_feature_that_can_change_does(generator, space, rows):
    cloud, _ = run(generator, space, rows)
    changed = (cloud.samples != cloud.origin[:, None]).mean(axis=(0, 1))
    assert np.all(changed[[0, 1, 2, 4]] > 0.03)


def test_ends_where_nothing_can_change(generator):
    space = FeatureSpace.of(np.full((10, 3), 2.0))
    rows = np.array([[2.0, 2.0, 2.0], [2.0, 5.0, 2.0]])
    cloud = drawn(generator, space, 0)(rows, space.keys(rows, 0), space, lambda s, o: np.zeros(len(s)))
    assert np.all(cloud.status == "insufficient_flips")
    assert np.all(cloud.n_evaluations <= BUDGET)


def test_works_with_one_feature(generator):
    space = FeatureSpace.of(np.linspace(-1, 1, 101)[:, None])
    rows = space.background[[10, 90]]
    cloud = drawn(generator, space, 0)(rows, space.keys(rows, 0), space, lambda s, o: (s[:, 0] > 0) != (rows[o, 0] > 0))
    flips = (cloud.samples[:, :, 0] > 0) != (cloud.origin > 0)
    assert cloud.positive.any(axis=1).all()
    assert np.all(flips[cloud.positive > 0])
    assert not np.any(flips[cloud.negative > 0])


def test_a_generator_that_served_one_table_serves_another(generator, space, rows):
    """Also where no one tells it about the background first."""
    other = FeatureSpace.of(space.background + 50)
    generator(rows, space.keys(rows, 0), space, Model(rows))
    cloud = generator(rows + 50, other.keys(rows + 50, 0), other, Model(rows + 50, 75.0))
    assert np.all(cloud.samples >= other.lower)
