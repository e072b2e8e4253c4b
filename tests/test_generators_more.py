"""Generators that look at dependence, at real rows, at samples of one's own, and at what is rare."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import xcid
from xcid import Constraints
from xcid.cid.generators.conditional import Neighbours
from xcid.errors import InvalidParameter
from xcid.generators import Conditional, Copula, Growing, Marginal
from xcid.table import FeatureSpace
from xcid_lab.generators import Given, Nearest

N = 300
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({
    "age": RNG.integers(18, 90, N),
    "bmi": RNG.normal(25, 5, N),
    "price": RNG.uniform(0, 10, N).round(1),
    "city": np.array(["Bern", "Lyon", "Oslo", "Porto"])[RNG.integers(0, 4, N)],
    "grade": pd.Categorical.from_codes(RNG.integers(0, 3, N), ["low", "middle", "high"], ordered=True),
    "sex": RNG.random(N) < 0.5,
    "gap": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(size=N)),
})  # fmt: skip
GENERATORS = [
    Conditional(m=20),
    Conditional(m=20, method=Copula()),
    Nearest(m=20),
    Growing(Marginal(m=20, max_evaluations=40), max_evaluations=3_000),
    Given(FRAME, m=1),
]


@pytest.fixture(params=GENERATORS, ids=str)
def generator(request):
    return request.param


def perturb(generator, space, rows, decide, seed=0):
    own = decide(rows)
    return generator(rows, space.keys(rows, seed), space, lambda s, o: (decide(s) != own[o]).astype(float))


def parity(x):
    """Something to flip, whatever is frozen."""
    return np.floor(np.nan_to_num(x) @ (7.0 + np.arange(x.shape[1]))) % 2 == 0


# Limits


LIMITS = Constraints(
    frozen=["sex"],
    ranges={"bmi": (20, 27), "price": (2.55, 7)},
    levels={"city": ["Porto", "Bern"]},
    monotone={"age": "rises", "grade": "falls"},
)


def test_obeys_the_constraints(generator):
    space = FeatureSpace.of(FRAME, constraints=LIMITS)
    rows = space.background[:40]
    cloud = perturb(generator, space, rows, parity)
    used = (cloud.positive + cloud.negative > 0)[:, :, None] & np.ones(7, dtype=bool)
    own = np.broadcast_to(rows[:, None], cloud.samples.shape)
    moved = used & ~((cloud.samples == own) | (np.isnan(cloud.samples) & np.isnan(own)))
    age, bmi, price, city, grade, sex, gap = (
        (own[..., i][moved[..., i]], cloud.samples[..., i][moved[..., i]]) for i in range(7)
    )
    assert np.all(age[1] > age[0])
    assert np.all(age[1] == np.round(age[1]))
    assert np.all((bmi[1] >= 20) & (bmi[1] <= 27))
    assert np.all((price[1] >= 2.6) & (price[1] <= 7))
    assert np.array_equal(price[1], np.round(price[1], 1))
    assert set(city[1]) <= {0.0, 3.0}
    assert np.all(grade[1] < grade[0])
    assert set(grade[1]) <= {0.0, 1.0}
    assert sex[1].size == 0
    if not isinstance(generator, Given):  # few rows of a table fit all limits
        assert min(part[1].size for part in (age, bmi, price, city, grade, gap)) > 0
        assert np.isnan(gap[1]).any()


def test_missing_only_where_the_background_has_missing_cells(generator):
    space = FeatureSpace.of(FRAME)
    cloud = perturb(generator, space, space.background[:30], parity)
    missing = np.isnan(cloud.samples).any(axis=(0, 1))
    assert missing.tolist() == [False] * 6 + [True]


def test_levels_that_limits_leave_no_missing_cell(generator):
    table = pd.DataFrame({"x": RNG.normal(size=80), "c": RNG.choice(["a", "b", None], 80)})
    space = FeatureSpace.of(table, constraints=Constraints(levels={"c": ["a", "b"]}))
    known = space.background[~np.isnan(space.background[:, 1])][:20]
    maker = Given(table[table.c.notna()], m=1) if isinstance(generator, Given) else generator
    cloud = perturb(maker, space, known, lambda x: x[:, 0] > 0)
    assert not np.isnan(cloud.samples).any()


def test_a_row_outside_its_limits_moves_only_into_them(generator):
    space = FeatureSpace.of(FRAME, constraints=Constraints(ranges={"bmi": (20, 27)}))
    rows = space.background[:20].copy()
    rows[:, 1] = 60.0
    cloud = perturb(generator, space, rows, parity)
    bmi = cloud.samples[cloud.positive + cloud.negative > 0, 1]
    assert np.all((bmi == 60) | ((bmi >= 20) & (bmi <= 27)))


def test_groups_change_to_combinations_of_the_background(generator):
    limits = Constraints(groups={"body": ["bmi", "age"], "place": ["city", "sex"]})
    explainer = xcid.Explainer(
        lambda t: t["price"] + (t["age"] > 40) > 5, FRAME, generator=generator, constraints=limits
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xcid.errors.XcidWarning)  # flips may be rare
        explanation = explainer(FRAME[:15])
    pairs = {tuple(row) for row in FRAME[["age", "bmi"]].to_numpy()}
    assert {tuple(row) for row in explanation.cloud.samples[:, :, :2].reshape(-1, 2)} <= pairs


def test_neither_columns_nor_batches_matter(generator):
    order = [4, 2, 6, 0, 1, 5, 3]
    space, moved = FeatureSpace.of(FRAME), FeatureSpace.of(FRAME.iloc[:, order])
    weights = np.array([3.0, 5.0, 2.0, 7.0, 11.0, 1.0, 4.0])
    decide = lambda x: np.floor(np.nan_to_num(x) @ weights) % 2 == 0  # noqa: E731
    shifted = lambda x: decide(x[:, np.argsort(order)])  # noqa: E731
    here = perturb(generator, space, space.background[:12], decide)
    there = perturb(generator, moved, moved.background[:12], shifted)
    alone = perturb(generator, space, space.background[7:8], decide)
    assert np.array_equal(here.samples[:, :, order], there.samples, equal_nan=True)
    assert np.array_equal(here.n_evaluations, there.n_evaluations)
    assert np.array_equal(here.samples[7:8], alone.samples, equal_nan=True)


@pytest.mark.parametrize(
    "table",
    [
        np.linspace(0, 1, 50)[:, None],
        np.full((10, 3), 2.0),
        np.repeat([[0.0, 1.0, 5.0], [1.0, 0.0, 4.0]], 30, axis=0),
        np.array([[0.0, 1.0], [1.0, 3.0]]),
        np.array([[0.0, np.nan], [1.0, 3.0]]),
        np.column_stack([np.arange(40.0)] * 3),
        np.random.default_rng(1).normal(size=(60, 25)),
    ],
    ids=["one feature", "constant", "duplicates", "two rows", "a missing cell", "equal columns", "many features"],
)
def test_tables_of_every_shape(generator, table):
    space = FeatureSpace.of(table)
    maker = Given(table, m=1) if isinstance(generator, Given) else generator
    rows = table[:5]
    asked = np.zeros(len(rows), dtype=int)

    def member(samples, owner):
        assert samples.shape == (len(owner), table.shape[1])
        assert len(samples)
        np.add.at(asked, owner, 1)
        return (samples[:, 0] > 0.5) != (rows[owner, 0] > 0.5)

    cloud = maker(rows, space.keys(rows, 0), space, member)
    used = cloud.samples[cloud.positive > 0]
    assert np.array_equal(asked, cloud.n_evaluations)
    assert np.all(asked <= getattr(maker, "max_evaluations", len(table)))
    assert not np.isinf(cloud.samples).any()
    assert used.size > 0 or table.std() == 0
    assert np.all((cloud.samples >= space.lower) & (cloud.samples <= space.upper) | np.isnan(cloud.samples))


def test_soft_membership(generator):
    space = FeatureSpace.of(FRAME)
    rows = space.background[:10]
    share = lambda s, o: 1 / (1 + np.exp(s[:, 1] - 25))  # noqa: E731
    cloud = generator(rows, space.keys(rows, 0), space, share)
    used = cloud.positive + cloud.negative > 0
    assert cloud.positive[used] == pytest.approx(share(cloud.samples[used], None))
    assert (cloud.positive + cloud.negative)[used] == pytest.approx(1)


# Conditional


@pytest.fixture(scope="module")
def dependent():
    """Three features, two of them correlated at 0.9 and one a category that tells the sign of the third."""
    normal = np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 800)
    other = np.random.default_rng(3).normal(size=800)
    return pd.DataFrame(
        {"a": normal[:, 0], "b": np.exp(normal[:, 1]), "c": other, "sign": np.where(other > 0, "p", "m")}
    )


def all_samples(generator, space, rows):
    """Samples of a model that tosses coins."""
    toss = lambda s, o: np.floor(np.abs(s[:, 0] + s[:, 1] + s[:, 2]) * 1e5) % 2  # noqa: E731
    cloud = generator(rows, space.keys(rows, 0), space, toss)
    return cloud.samples.reshape(-1, rows.shape[1]), np.repeat(rows, cloud.samples.shape[1], axis=0)


@pytest.mark.parametrize(
    ("method", "low", "high"),
    [(Neighbours(), 0.8, 0.95), (Neighbours(k=3), 0.85, 0.95), (Copula(), 0.85, 0.95)],
    ids=str,
)
def test_conditional_keeps_the_dependence(dependent, method, low, high):
    space = FeatureSpace.of(dependent)
    rows = space.background[:200]
    samples, own = all_samples(Conditional(m=50, method=method), space, rows)
    changed = samples != own
    for a, b in ((True, False), (False, True), (True, True)):
        at = (changed[:, 0] == a) & (changed[:, 1] == b)
        assert low < stats.spearmanr(samples[at, 0], samples[at, 1]).statistic < high
    free, own = all_samples(Marginal(m=50), space, rows)
    changed = free != own
    for at in (changed[:, 0] & ~changed[:, 1], changed[:, 0] & changed[:, 1]):
        assert abs(stats.spearmanr(free[at, 0], free[at, 1]).statistic) < 0.05


@pytest.mark.parametrize("method", [Neighbours(), Copula()], ids=str)
def test_conditional_keeps_the_marginals(dependent, method):
    space = FeatureSpace.of(dependent)
    samples, own = all_samples(Conditional(m=50, method=method), space, space.background)
    for column in range(3):
        moved = samples[:, column][samples[:, column] != own[:, column]]
        assert np.isin(moved, space.background[:, column]).all()
        assert stats.ks_2samp(moved, space.background[:, column]).statistic < 0.04


@pytest.mark.parametrize(("method", "least"), [(Neighbours(), 0.9), (Copula(), 0.7)], ids=str)
def test_conditional_keeps_what_levels_tell(dependent, method, least):
    """The category says which sign the third feature has: also if only one of the two changes."""
    space = FeatureSpace.of(dependent)
    samples, own = all_samples(Conditional(m=50, method=method), space, space.background[:200])
    one = (samples[:, 2] != own[:, 2]) & (samples[:, 3] == own[:, 3])
    fits = ((samples[:, 2] > 0) == (samples[:, 3] == 1))[one]
    assert fits.mean() > least  # by chance 0.5


def test_neighbours_match_levels_first():
    """Given a kept level, the other features come from rows with that level."""
    rng = np.random.default_rng(4)
    city = rng.integers(0, 5, 500)
    table = pd.DataFrame({"city": np.array(list("abcde"))[city], "x": city + rng.uniform(0, 0.5, 500)})
    space = FeatureSpace.of(table)
    cloud = perturb(Conditional(m=50), space, space.background[:50], lambda x: np.floor(x[:, 1] * 1e4) % 2 == 0)
    assert np.mean(np.floor(cloud.samples[..., 1]) == cloud.samples[..., 0]) > 0.95  # by chance 0.5


def test_neighbours_of_nothing_are_all_rows():
    """Where every feature is replaced all background rows are as likely as each other."""
    table = np.arange(100.0)[:, None]
    space = FeatureSpace.of(table)
    cloud = perturb(Conditional(m=2_000, max_evaluations=10_000), space, table[:1], lambda x: x[:, 0] % 2 == 1)
    moved = cloud.samples[cloud.samples > 0]
    assert stats.kstest(moved, stats.randint(1, 100).cdf).statistic < 0.05


def test_copula_serves_equal_and_constant_columns():
    base = np.random.default_rng(5).normal(size=(100, 2))
    table = np.column_stack([base, base[:, 0], np.full(100, 3.0)])
    space = FeatureSpace.of(table)
    samples, own = all_samples(Conditional(m=50, method=Copula()), space, table[:50])
    changed = samples != own
    apart = samples[changed[:, 0] & ~changed[:, 2]]
    assert np.corrcoef(apart[:, 0], apart[:, 2])[0, 1] > 0.9


# Nearest


def test_nearest_finds_the_boundary():
    rng = np.random.default_rng(6)
    table = rng.normal(size=(400, 4))
    space = FeatureSpace.of(table)
    decide = lambda x: x[:, 0] + x[:, 1] > 0  # noqa: E731
    rows = table[:50]
    near = perturb(Nearest(m=30), space, rows, decide)
    far = perturb(Marginal(m=30), space, rows, decide)
    assert np.all(near.status == "ok")
    gap = np.abs(near.samples[:, :, :2].sum(axis=2))
    assert np.median(gap[near.positive > 0]) < 0.1 * np.median(np.abs(far.samples[:, :, :2].sum(axis=2)))
    distance = lambda cloud: np.where(  # noqa: E731
        cloud.positive > 0, np.abs(cloud.samples - cloud.origin[:, None]).sum(axis=2), np.inf
    ).min(axis=1)
    assert np.median(distance(near)) < np.median(distance(far))
    changed = (near.samples != near.origin[:, None]).sum(axis=2)
    assert np.all(np.where(near.positive > 0, changed, 9).min(axis=1) <= 2)  # features were put back


def test_nearest_gives_no_sample_twice():
    space = FeatureSpace.of(FRAME)
    cloud = perturb(Nearest(m=40), space, space.background[:20], parity)
    for row in range(20):
        used = cloud.samples[row][(cloud.positive + cloud.negative)[row] > 0]
        known = np.vstack([np.nan_to_num(used, nan=-99.0), np.nan_to_num(cloud.origin[row : row + 1], nan=-99.0)])
        assert len(np.unique(known, axis=0)) == len(known)


def test_nearest_puts_equal_changes_back_in_an_order_that_columns_do_not_set():
    """Two changes flip, whichever they are: which two remain must not depend on the order of the columns."""
    table = pd.DataFrame(np.array(list("abc"))[np.random.default_rng(12).integers(0, 3, (80, 6))]).add_prefix("x")
    clouds = []
    for order in (np.arange(6), np.array([3, 5, 0, 4, 2, 1])):
        space = FeatureSpace.of(table.iloc[:, order])
        rows = space.background[:10]
        two = lambda s, o, rows=rows: (s != rows[o]).sum(axis=1) >= 2  # noqa: E731
        clouds.append(Nearest(m=15)(rows, space.keys(rows, 0), space, two).samples[..., np.argsort(order)])
    assert np.array_equal(*clouds)


def test_nearest_negatives_include_real_rows():
    space = FeatureSpace.of(FRAME)
    cloud = perturb(Nearest(m=60), space, space.background[:10], lambda x: x[:, 1] > 25)
    real = {tuple(np.nan_to_num(row, nan=-99.0)) for row in space.background}
    negatives = np.nan_to_num(cloud.samples[cloud.negative > 0], nan=-99.0)
    assert np.mean([tuple(row) in real for row in negatives]) > 0.2


# Given


def test_given_samples_are_split_by_the_model():
    table = np.random.default_rng(7).normal(size=(100, 3))
    space = FeatureSpace.of(table)
    cloud = perturb(Given(table[:60]), space, table[60:65], lambda x: x[:, 0] > 0)
    assert np.array_equal(cloud.samples, np.repeat(table[None, :60], 5, axis=0))
    assert np.array_equal(cloud.positive > 0, (cloud.samples[..., 0] > 0) != (cloud.origin[:, :1] > 0))
    assert np.array_equal(cloud.positive + cloud.negative, np.ones((5, 60)))
    assert np.all(cloud.n_evaluations == 60)
    assert np.all(cloud.status == "ok")


def test_given_frames_are_read_by_name_and_statuses_say_what_lacks():
    model = lambda t: t["bmi"] > 25  # noqa: E731
    shuffled = FRAME[list(reversed(FRAME.columns))]
    explainer = xcid.Explainer(model, FRAME, generator=Given(shuffled))
    explanation = explainer(FRAME[:5])
    assert np.all(explanation.status == "ok")
    assert np.all(explanation.importance.argmax(axis=1) == 1)
    few = xcid.Explainer(model, FRAME, generator=Given(FRAME[FRAME.bmi > 25]))
    with pytest.warns(xcid.errors.XcidWarning, match="too few perturbations"):
        lacking = few(FRAME[:20])
    assert np.array_equal(lacking.status == "insufficient_flips", FRAME.bmi[:20].to_numpy() > 25)
    assert np.array_equal(lacking.status == "insufficient_stays", FRAME.bmi[:20].to_numpy() <= 25)


def test_a_row_that_may_become_none_of_the_given_samples_scores_0_without_a_numeric_warning():
    table = np.random.default_rng(3).normal(size=(100, 3))
    given = Given([table[:20], table[:20] + 100], rows=table[:2], m=3)
    with pytest.warns(xcid.errors.XcidWarning, match="1 of 2 rows") as caught:
        explanation = xcid.Explainer(lambda X: X[:, 0] > 0, table, generator=given)(table[:2])
    assert {warning.category for warning in caught} == {xcid.errors.XcidWarning}
    assert explanation.status.tolist() == ["ok", "insufficient_flips"]
    assert explanation.importance[0].any()
    assert not explanation.importance[1].any()


def test_given_for_each_row():
    rng = np.random.default_rng(8)
    table = rng.normal(size=(50, 2))
    sets = np.clip(rng.normal(size=(50, 30, 2)), table.min(axis=0), table.max(axis=0))
    space = FeatureSpace.of(table)
    generator = Given(sets, rows=table, m=1)
    order = [7, 3, 3, 40]
    cloud = perturb(generator, space, table[order], lambda x: x[:, 0] > 0)
    assert np.array_equal(cloud.samples, sets[order])
    ragged = Given([sets[0, :5], sets[1]], rows=table[:2], m=1)
    cloud = perturb(ragged, space, table[:2], lambda x: x[:, 0] > 0)
    assert cloud.n_evaluations.tolist() == [5, 30]
    assert not (cloud.positive + cloud.negative)[0, 5:].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: Given(np.zeros((2, 3, 2))), r"shape \(2, 3, 2\)"),
        (lambda t: Given(t, m=0), "m .* must be at least 1"),
        (lambda t: Given(np.zeros((4, 5))), "the given samples has 5 columns and 2 are expected"),
        (lambda t: Given(pd.DataFrame({"x0": [1.0], "other": [2.0]})), r"missing \['x1'\], unknown \['other'\]"),
        (lambda t: Given([t[:4], t[:4]], rows=t[:3]), "2 tables of samples for 3 rows"),
        (lambda t: Given([t[:4]], rows=t[20:21]), "3 of 3 rows are not among the 1 rows"),
        (lambda t: Given(np.array([[np.nan, 1.0]])), "missing value"),
    ],
)
def test_given_refuses(make, message):
    table = np.random.default_rng(9).normal(size=(30, 2))
    space = FeatureSpace.of(table)
    with pytest.raises(InvalidParameter, match=message):
        perturb(make(table), space, table[:3], lambda x: x[:, 0] > 0)


def test_given_refuses_combinations_that_a_group_does_not_have(approved):
    table = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 0] * 10, "x": np.arange(40.0)})
    strange = pd.DataFrame({"a": [1, 0], "b": [1, 0], "x": [3.0, 30.0]})
    explainer = xcid.Explainer(
        lambda t: t["x"] > 20, table, generator=Given(strange), constraints=Constraints(groups={"ab": ["a", "b"]})
    )
    with approved.raises(InvalidParameter):
        explainer(table[:2])


# Growing


@pytest.fixture(scope="module")
def eight():
    return np.random.default_rng(10).normal(size=(600, 8))


@pytest.fixture(scope="module")
def opposed(eight):
    """The second feature is high where the first is low."""
    table = eight.copy()
    table[:, 1] = 0.3 * table[:, 1] - table[:, 0]
    return table


RARE = {
    "a corner of three": ("eight", lambda x: (x[:, 0] > 0.85) & (x[:, 1] > 0.85) & (x[:, 2] < -0.85)),
    "one far value": ("eight", lambda x: x[:, 0] > 2.6),
    "bands of three": ("eight", lambda x: (np.abs(x[:, [0, 3, 5]] - [0.5, -0.5, 0.8]) < 0.27).all(axis=1)),
    "a sum": ("eight", lambda x: x.sum(axis=1) > 6.5),
    "no background row": ("opposed", lambda x: (x[:, 0] > 1.5) & (x[:, 1] > 1.5)),
}


@pytest.mark.parametrize("name", RARE)
def test_growing_finds_rare_flips(name, request):
    fixture, decide = RARE[name]
    table = request.getfixturevalue(fixture)
    space = FeatureSpace.of(table)
    rows = table[~decide(table)][:30]
    rate = perturb(Marginal(m=1_000, max_evaluations=20_000), space, rows, decide).positive.sum() / (30 * 20_000)
    assert 0 < rate < 0.004
    assert decide(table).any() == (name != "no background row")
    cloud = perturb(Growing(Marginal(m=50, max_evaluations=1_000), max_evaluations=5_000), space, rows, decide)
    assert np.isin(cloud.status, ["ok", "rare_flips"]).all()
    assert np.mean(cloud.status == "rare_flips") > 0.9
    assert np.all(cloud.positive.sum(axis=1) == 50)
    assert np.all(cloud.negative.sum(axis=1) == 50)
    assert np.all(cloud.n_evaluations < 5_000)
    assert decide(cloud.samples[cloud.positive > 0]).all()
    distinct = [len(np.unique(cloud.samples[i][cloud.positive[i] > 0], axis=0)) for i in range(30)]
    assert np.mean(distinct) > 40


def test_growing_finds_what_marginal_would_in_a_long_search(eight):
    _, decide = RARE["a corner of three"]
    space = FeatureSpace.of(eight)
    rows = eight[~decide(eight)][:20]
    long = perturb(Marginal(m=200, max_evaluations=200_000), space, rows, decide)
    short = perturb(Growing(), space, rows, decide)
    expected, found = (cloud.samples[cloud.positive > 0] for cloud in (long, short))
    for column in range(8):
        close = 0.2 if column < 3 else 0.06  # walkers are slow in the features that make the corner
        assert stats.ks_2samp(expected[:, column], found[:, column]).statistic < close
    assert short.n_evaluations.sum() < 0.1 * long.n_evaluations.sum()


def test_growing_finds_rare_stays(eight):
    """Only close to the row does the output stay."""
    space = FeatureSpace.of(eight)
    rows = eight[:10]
    near = lambda s, o: (np.abs(s[:, :6] - rows[o, :6]) > 0.3).sum(axis=1) > 0  # noqa: E731
    cloud = Growing(Marginal(m=50, max_evaluations=1_000), max_evaluations=5_000)(
        rows, space.keys(rows, 0), space, near
    )
    assert np.isin(cloud.status, ["ok", "rare_stays"]).all()
    assert np.mean(cloud.status == "rare_stays") > 0.5
    at = np.repeat(np.arange(10), 50)
    assert not near(cloud.samples[cloud.negative > 0], at).any()
    assert near(cloud.samples[cloud.positive > 0], at).all()


def test_growing_leaves_what_is_found_as_it_is(eight):
    space = FeatureSpace.of(eight)
    decide = lambda x: x[:, 0] > np.where(x[:, 7] > 0, 0.0, 2.9)  # noqa: E731
    inner = Marginal(m=50, max_evaluations=600)
    before, after = (perturb(g, space, eight[:60], decide) for g in (inner, Growing(inner, max_evaluations=3_000)))
    ok = before.status == "ok"
    assert 0 < ok.sum() < 60
    for name in ("samples", "positive", "negative", "n_evaluations", "status"):
        assert np.array_equal(getattr(before, name)[ok], getattr(after, name)[ok])
    assert np.all(after.status[~ok] == "rare_flips")


def test_growing_gives_up_where_nothing_flips(eight):
    space = FeatureSpace.of(eight)
    cloud = perturb(
        Growing(Marginal(m=20, max_evaluations=100), max_evaluations=900), space, eight[:5], lambda x: x[:, 0] > 9
    )
    assert np.all(cloud.status == "insufficient_flips")
    assert np.all(cloud.n_evaluations == 900)


def test_growing_wraps_functions_and_odd_places(eight):
    space = FeatureSpace.of(eight)
    rows = eight[:4]
    cloud = perturb(Growing(Given(eight[:21], m=11), max_evaluations=2_000), space, rows, lambda x: x[:, 0] > 1.4)
    assert cloud.samples.shape == (4, 21, 8)
    assert np.isin(cloud.status, ["ok", "rare_flips", "rare_stays"]).all()


def test_growing_refuses(approved):
    with approved.raises(InvalidParameter):
        Growing(Marginal(), max_evaluations=3_000)
    with pytest.raises(InvalidParameter, match="inner must be a function"):
        Growing("marginal")
    with pytest.raises(InvalidParameter, match=r"k .* must be at least 1"):
        Neighbours(k=0)
    with pytest.raises(InvalidParameter, match="method must be a function"):
        Conditional(method="copula")
