"""The genetic search: nearer and sparser than random perturbations, and as obedient."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.cid.generators.genetic import _room, _standing
from xcid.cid.generators.reach import Metric, Reach
from xcid.cid.generators.search import first_seen
from xcid.errors import InvalidParameter
from xcid.generators import Genetic, Random
from xcid.table import FeatureSpace

RNG = np.random.default_rng(21)
N = 300
NUMBERS = np.column_stack(
    [
        RNG.normal(size=N),
        RNG.integers(0, 40, N),
        RNG.uniform(0, 5, N).round(1),
        RNG.exponential(size=N),
        RNG.normal(size=N),
    ]
)
MIXED = pd.DataFrame(
    {
        "size": RNG.normal(10, 3, N).round(1),
        "age": RNG.integers(18, 90, N).astype(float),
        "city": np.array(["Bern", "Lyon", "Oslo", "Porto"])[RNG.integers(0, 4, N)],
        "pay": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(3, 1, N)),
        "member": RNG.random(N) < 0.5,
    }
)


@pytest.fixture(scope="module")
def space():
    return FeatureSpace.of(NUMBERS)


def decide(x):
    return x[..., 0] + x[..., 1] / 10 - x[..., 2] > 0.5


def flips_of(rows):
    return lambda samples, owner: (decide(samples) != decide(rows[owner])).astype(float)


def cloud_of(generator, space, rows):
    return generator(rows, space.keys(rows, 0), space, flips_of(rows))


def mixed_model(frame):
    return (frame["age"] > 50) ^ (frame["city"] == "Oslo") ^ frame["pay"].isna()


def test_positives_are_nearer_and_sparser_than_random_ones(space):
    rows, metric = space.background[:40], Metric.of(space)
    genetic, random = (cloud_of(generator, space, rows) for generator in (Genetic(m=50), Random(m=50)))

    def means(cloud):
        chosen = cloud.positive > 0
        changes = (cloud.samples != cloud.origin[:, None]).sum(axis=2)
        return metric.between(cloud.samples, cloud.origin[:, None])[chosen].mean(), changes[chosen].mean()

    (near, sparse), (far, dense) = means(genetic), means(random)
    assert np.all(genetic.status == "ok")
    assert near < 0.7 * far
    assert sparse < dense


def test_samples_are_distinct_and_none_is_the_row(space):
    rows = space.background[:10]
    for samples, row in zip(cloud_of(Genetic(m=30), space, rows).samples, rows, strict=True):
        assert len(np.unique(samples, axis=0)) == 60
        assert not (samples == row).all(axis=1).any()


def test_nothing_is_asked_twice(space):
    rows, seen = space.background[:3], []

    def watch(samples, owner):
        seen.extend((who, *sample) for who, sample in zip(owner.tolist(), samples.tolist(), strict=True))
        return flips_of(rows)(samples, owner)

    cloud = Genetic(m=20)(rows, space.keys(rows, 0), space, watch)
    assert len(seen) == len(set(seen)) == cloud.n_evaluations.sum()


def test_finds_rare_flips(space):
    """One candidate in some thousands flips at random; from the first one on the others are bred."""
    rows = np.tile(np.median(space.background, axis=0).round(1), (3, 1))
    rare = lambda samples, owner: (samples[:, [0, 3, 4]] > np.quantile(NUMBERS[:, [0, 3, 4]], 0.9, axis=0)).all(axis=1)  # noqa: E731
    cloud = Genetic(m=20, max_evaluations=6_000, population=30)(rows, space.keys(rows, 1), space, rare)
    assert np.all(cloud.status == "ok")


def test_obeys_all_constraints():
    limits = xcid.Constraints(
        frozen=["member"],
        ranges={"size": (8, 12)},
        levels={"city": ["Bern", "Oslo"]},
        monotone={"age": "rises"},
    )
    rows = MIXED[MIXED["age"] < 60].iloc[:12]
    explainer = xcid.Explainer(mixed_model, MIXED, generator=Genetic(m=20), constraints=limits)
    cloud = explainer(rows).cloud
    own = cloud.origin[:, None]
    size, age, city, pay, member = np.moveaxis(cloud.samples, 2, 0)
    assert np.all((size == own[..., 0]) | ((size >= 8) & (size <= 12)))
    assert np.array_equal(size, size.round(1))
    assert np.all(age >= own[..., 1])
    assert np.all((city == own[..., 2]) | np.isin(city, [0, 2]))
    assert np.isnan(pay).any()
    assert np.all(member == own[..., 4])
    for column in (0, 1, 2, 4):
        assert not np.isnan(cloud.samples[..., column]).any()


def test_groups_change_together():
    together = xcid.Constraints(groups={"both": ["size", "age"]})
    cloud = xcid.Explainer(mixed_model, MIXED, generator=Genetic(m=20), constraints=together)(MIXED.iloc[:5]).cloud
    known = {tuple(pair) for pair in MIXED[["size", "age"]].to_numpy()}
    assert {tuple(pair) for pair in cloud.samples[..., :2].reshape(-1, 2)} <= known


def test_the_order_of_columns_does_not_matter(space):
    order = np.array([3, 0, 4, 2, 1])
    rows = space.background[:8]
    moved = FeatureSpace.of(NUMBERS[:, order])
    back = np.argsort(order)
    member = flips_of(rows)
    there = Genetic(m=20)(rows[:, order], moved.keys(rows[:, order], 0), moved, lambda s, o: member(s[:, back], o))
    assert np.array_equal(there.samples, cloud_of(Genetic(m=20), space, rows).samples[..., order])


def test_sees_all_of_a_tiny_table():
    """Two features of three levels have eight distinct perturbations of a row."""
    space = FeatureSpace.of(np.array([[a, b] for a in range(3) for b in range(3)], dtype=float))
    rows = np.array([[1.0, 1.0]])
    cloud = Genetic(m=4, max_evaluations=500)(rows, space.keys(rows, 0), space, lambda s, o: s.sum(axis=1) > 2)
    assert cloud.n_evaluations[0] == 8
    assert cloud.status[0] == "insufficient_flips"
    assert cloud.positive.sum() == 3
    assert cloud.negative.sum() == 4


def test_takes_little_time(space):
    rows = space.background[:100]
    start = time.process_time()
    cloud_of(Genetic(), space, rows)
    assert (time.process_time() - start) / len(rows) < 0.1  # 10 ms on two cores


def test_the_weight_of_diversity_trades_distance_for_it(space):
    rows, metric = space.background[:20], Metric.of(space)

    def means(cloud):
        flips = [samples[chosen > 0] for samples, chosen in zip(cloud.samples, cloud.positive, strict=True)]
        near = np.mean([metric.between(part, row).mean() for part, row in zip(flips, rows, strict=True)])
        return near, np.mean([metric.between(part[:, None], part).mean() for part in flips])

    distances, apart = zip(*(means(cloud_of(Genetic(m=20, diversity=w), space, rows)) for w in (0, 1, 4)), strict=True)
    assert distances[0] < distances[1] < distances[2]
    assert apart[0] < apart[1] < apart[2]
    for refused in (-1, np.nan, np.inf, "much"):
        with pytest.raises(InvalidParameter, match="diversity must be a number"):
            Genetic(diversity=refused)


def test_refuses_a_population_below_m(approved):
    with approved.raises(InvalidParameter):
        Genetic(m=50, population=49)


def test_standing_gives_ties_one_place():
    values, there = np.array([[3.0, 1.0, 3.0, 0.0, 9.0]]), np.array([[True, True, True, False, True]])
    assert np.array_equal(_standing(values, there)[:, there[0]], [[0.25, 0.0, 0.25, 0.75]])


def test_room_is_shared_by_equal_values(space):
    values, there = np.array([[0.0, 0.0, 5.0, 4.0, 4.5, np.nan]]), np.array([[True, True, True, True, False, True]])
    metric = Metric(np.ones(1), np.array([False]), np.array([0]))
    room = _room(values, there, metric, 0)
    assert room[0, [0, 1, 2, 3, 5]].tolist() == [2.0, 2.0, 1.0, 1.0, 1.0]


def test_only_what_is_new_is_asked():
    content = np.array([[7, 8, 9, 8, 9, 3], [1, 1, 1, 2, 7, 1]], dtype=np.uint64)
    assert first_seen(content).tolist() == [
        [True, True, True, False, False, True],
        [True, False, False, True, True, False],
    ]


def test_moves_stay_within_reach():
    reach = Reach.of(NUMBERS[:4], FeatureSpace.of(NUMBERS))
    wild = reach.fitted(np.full((4, 2, 5), 1e6))
    assert np.array_equal(wild[:, 0], np.tile(reach.space.upper, (4, 1)))
