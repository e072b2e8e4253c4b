"""Every score obeys the laws of its seam: add a new one to the list."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from xcid.cid.distances import hellinger
from xcid.cid.per_feature import evidence, held_in_place, unsigned
from xcid.densities import Discrete, Kernel, Mixed
from xcid.scores import Adjusted, PerFeature, Resampled
from xcid_lab.surrogate import Surrogate

from .clouds import CLOUDS, DECIDES, FIXED, GIVEN, HELPS, HOLES, N_SAMPLES, WHOLE, make_cloud, with_empty_places

ADJUSTED = {  # whose values are contributions, found apart
    "adjusted": Adjusted(),
    "adjusted, with a kernel": Adjusted(Kernel()),
    "with a surrogate": Surrogate(),
}
PER_FEATURE = {
    "the paper's": PerFeature(),
    "unsigned": PerFeature(Mixed()),
    "counted": PerFeature(Discrete(), direction=held_in_place),
    "another distance": PerFeature(Mixed(), hellinger, held_in_place),
}
RESAMPLED = {
    "resampled": Resampled(permutations=59, resamples=40),
    "resampled, unsigned": Resampled(PerFeature(Kernel(), direction=unsigned), permutations=59, resamples=40),
}
SCORES = ADJUSTED | PER_FEATURE | RESAMPLED
SIGNED = {"counted", "another distance", "resampled"}  # by what is held in place
LIMITS = ("lower", "upper", "p_values", "importance_lower", "importance_upper", "importance_p_values")
NOTHING = 1e-12  # an importance below this is rounding

every_cloud = pytest.mark.parametrize("cloud", CLOUDS.values(), ids=CLOUDS)
given_clouds = pytest.mark.parametrize("cloud", GIVEN.values(), ids=GIVEN)


@pytest.fixture(params=SCORES)
def name(request):
    return request.param


@pytest.fixture
def score(name):
    return SCORES[name]


each_calibrated = pytest.mark.parametrize("name", RESAMPLED)


def known(scores, limits=True):
    """The parts of scores that there are; no value where it is rounding."""
    parts = {part: cells for part, cells in scores._asdict().items() if cells is not None}
    parts["values"] = np.where(scores.importance > NOTHING, scores.values, 0)
    return {part: cells for part, cells in parts.items() if limits or part not in LIMITS}


def chosen(scores, at):
    """Some of the rows and features."""
    return type(scores)(*(part if part is None else part[at] for part in scores))


def assert_same(found, due, limits=True, tolerance=1e-9):
    found, due = known(found, limits), known(due, limits)
    assert list(found) == list(due)
    for part, cells in due.items():
        assert found[part] == pytest.approx(cells, abs=tolerance, nan_ok=True), part


def fixed_feature(cloud):
    return next(at for at, columns in enumerate(cloud.features) if columns == (FIXED,))


@every_cloud
def test_every_part_has_a_number_for_each_row_and_feature(name, score, cloud):
    scores = score(cloud)
    parts = {part: cells for part, cells in scores._asdict().items() if cells is not None}
    for part, cells in parts.items():
        assert cells.shape == (len(cloud), len(cloud.features)), part
    assert np.isfinite([parts["values"], parts["importance"]]).all()
    assert [part in parts for part in LIMITS] == [name in RESAMPLED | ADJUSTED] * len(LIMITS)


@every_cloud
def test_parts_lie_where_they_should(name, score, cloud):
    scores = score(cloud)
    assert np.all((scores.importance >= 0) & (scores.importance <= 1))
    assert np.all(np.abs(scores.values) <= 1)
    assert np.any(scores.values < -NOTHING) == (name in SIGNED)


@every_cloud
def test_a_value_is_the_importance_with_a_sign(score, cloud):
    scores = score(cloud)
    assert np.array_equal(np.abs(scores.values), scores.importance)


@every_cloud
@each_calibrated
def test_limits_hold_together(score, cloud):
    scores = score(cloud)
    assert np.all((scores.p_values >= 0) & (scores.p_values <= 1))
    assert np.all((scores.lower >= -1) & (scores.lower <= scores.upper) & (scores.upper <= 1))
    assert np.all((scores.importance_lower >= 0) & (scores.importance_lower <= scores.importance_upper))
    assert np.all(scores.importance_upper <= 1)
    assert np.array_equal(scores.importance_p_values, scores.p_values)


@every_cloud
def test_a_row_gets_the_same_alone_in_a_batch_and_in_any_order(score, cloud):
    together, order = score(cloud), np.array([3, 0, 4, 2, 1])
    assert_same(score(cloud[order]), chosen(together, order))
    for row in range(len(cloud)):
        assert_same(score(cloud[row : row + 1]), chosen(together, slice(row, row + 1)))


@pytest.mark.parametrize("cloud", [GIVEN["hard"], GIVEN["soft"]], ids=["hard", "soft"])
def test_the_order_of_columns_does_not_matter(score, cloud):
    due, order = score(cloud), np.array([4, 2, 5, 0, 3, 1])
    columns = {
        "origin": cloud.origin[:, order],
        "given": cloud.samples[:, :, order],
        "discrete": cloud.discrete[order],
    }
    assert_same(score(replace(cloud, **columns)), chosen(due, (slice(None), order)), tolerance=1e-8)


def test_the_order_of_features_does_not_matter(score):
    cloud, order = GIVEN["hard"], np.array([4, 2, 5, 0, 3, 1])
    moved = score(replace(cloud, features=tuple(cloud.features[at] for at in order)))
    assert_same(moved, chosen(score(cloud), (slice(None), order)), tolerance=1e-8)


def test_the_order_of_groups_does_not_matter(score):
    cloud, order = GIVEN["groups"], np.array([2, 0, 4, 3, 1])
    moved = score(replace(cloud, features=tuple(cloud.features[at] for at in order)))
    assert_same(moved, chosen(score(cloud), (slice(None), order)), tolerance=1e-8)


@given_clouds
def test_the_order_of_samples_does_not_matter(name, score, cloud):
    order = np.random.default_rng(6).permutation(cloud.positive.shape[1])
    samples = {part: getattr(cloud, part)[:, order] for part in ("given", "positive", "negative")}
    drawn = name in RESAMPLED  # by permutations of places, whichever samples stand there
    tolerance = 0.05 if cloud is GIVEN["groups"] else 1e-8  # a joint density is integrated over points that are drawn
    assert_same(score(replace(cloud, **samples)), score(cloud), limits=not drawn, tolerance=tolerance)


@pytest.mark.parametrize("cloud", [GIVEN["hard"], GIVEN["soft"]], ids=["hard", "soft"])
@pytest.mark.parametrize("scale", [2.0**-40, 3.0, 1e6])
def test_units_do_not_matter(score, cloud, scale):
    """Nor where zero is; levels have no unit."""
    numbers = np.array([DECIDES, HELPS, WHOLE, HOLES])
    origin, samples = cloud.origin.copy(), cloud.samples.copy()
    origin[:, numbers] = scale * (origin[:, numbers] + 8)
    samples[:, :, numbers] = scale * (samples[:, :, numbers] + 8)
    moved = score(replace(cloud, origin=origin, given=samples))
    assert_same(moved, score(cloud), limits=False, tolerance=1e-6)


@given_clouds
def test_exchanging_the_sets_turns_the_signs(name, score, cloud):
    there = score(cloud)
    back = score(replace(cloud, positive=cloud.negative, negative=cloud.positive))
    signs = held_in_place(cloud) if name in SIGNED else np.zeros_like(there.values)
    turned = there._replace(values=np.where(signs == 0, there.values, -there.values))  # a tie is the plain distance
    assert_same(back, turned, limits=False, tolerance=1e-8)


@pytest.mark.parametrize("share", [0.25, 8.0])
@pytest.mark.parametrize("cloud", [GIVEN["hard"], GIVEN["soft"]], ids=["hard", "soft"])
def test_the_unit_of_weights_does_not_matter(score, cloud, share):
    scaled = replace(cloud, positive=share * cloud.positive, negative=share * cloud.negative)
    assert_same(score(scaled), score(cloud), tolerance=1e-8)


@pytest.mark.parametrize("cloud", [GIVEN["hard"], GIVEN["soft"]], ids=["hard", "soft"])
def test_empty_places_do_not_matter(score, cloud):
    assert_same(score(with_empty_places(cloud, 80)), score(cloud), tolerance=1e-8)


@every_cloud
def test_a_feature_that_never_differs_scores_0(score, cloud):
    scores, at = score(cloud), fixed_feature(cloud)
    for part in ("values", "importance"):
        assert getattr(scores, part)[:, at] == pytest.approx(0, abs=NOTHING), part
    if scores.p_values is not None:
        p, low, high = (part[:, at] for part in (scores.p_values, scores.lower, scores.upper))
        assert np.all((p == 1) | np.isnan(p))
        assert np.all((low <= 0) & (high >= 0) | np.isnan(low))


def test_a_missing_cell_is_a_value_like_any_other(score):
    """It stays, or it is filled; here that alone decides."""
    cloud = GIVEN["hard"]
    samples, positive = cloud.samples.copy(), cloud.positive.copy()
    filled = np.arange(N_SAMPLES) % 2 == 0
    samples[1, :, HOLES] = np.where(filled, np.linspace(-2, 2, N_SAMPLES), np.nan)  # the row's own cell is missing
    positive[1] = filled
    scores = score(replace(cloud, given=samples, positive=positive, negative=1 - positive))
    assert np.abs(scores.values[1]).argmax() == scores.importance[1].argmax() == HOLES
    assert scores.values[1, HOLES] > 0


@pytest.mark.parametrize("empty", ["positive", "negative", "both"])
def test_a_row_without_one_of_the_sets_scores_0_and_the_others_are_the_same(score, empty):
    cloud = GIVEN["hard"]
    positive, negative = cloud.positive.copy(), cloud.negative.copy()
    positive[2] *= empty == "negative"
    negative[2] *= empty == "positive"
    scores, others = score(replace(cloud, positive=positive, negative=negative)), np.array([0, 1, 3, 4])
    assert_same(chosen(scores, others), chosen(score(cloud), others))
    assert not scores.values[2].any()
    assert not scores.importance[2].any()
    if scores.p_values is not None:
        assert np.all((scores.p_values[2] == 1) | np.isnan(scores.p_values[2]))


def one_decides(pulls):
    """A cloud in which the output flips if and only if one feature is changed, or if and only if it is not."""
    cloud = make_cloud(9)
    changed = cloud.samples[:, :, DECIDES] != cloud.origin[:, None, DECIDES]
    positive = (changed != pulls).astype(float)
    return replace(cloud, positive=positive, negative=1 - positive)


@pytest.mark.parametrize("pulls", [False, True], ids=["holds in place", "pulls away"])
def test_what_decides_alone_scores_most(name, score, pulls):
    scores = score(one_decides(pulls))
    assert np.all(np.abs(scores.values).argmax(axis=1) == DECIDES)
    assert np.all(scores.importance.argmax(axis=1) == DECIDES)
    assert np.all(np.abs(scores.values[:, DECIDES]) > 0.6)
    if name in SIGNED:
        assert np.all(np.sign(scores.values[:, DECIDES]) == (-1 if pulls else 1))
    if name in RESAMPLED:
        assert np.all(scores.p_values[:, DECIDES] < 0.05)
        reach = np.maximum(scores.lower, -scores.upper)[:, DECIDES]
        assert np.all(reach > 0)


@each_calibrated
def test_noise_is_seldom_significant(score):
    """Membership has nothing to do with any feature: p-values below 0.05 are rare."""
    found = []
    for seed in range(20, 28):
        cloud = make_cloud(seed)
        positive = (np.random.default_rng(seed).random(cloud.positive.shape) < 0.4).astype(float)
        found.append(score(replace(cloud, positive=positive, negative=1 - positive)))
    p_values = np.concatenate([one.p_values[:, :FIXED] for one in found])
    assert np.mean(p_values < 0.05) < 0.12
    assert 0.3 < p_values.mean() < 0.7


@each_calibrated
def test_limits_are_narrower_with_more_samples(score):
    few, many = (score(make_cloud(11, n_samples=size)) for size in (100, 400))
    widths = [(scores.upper - scores.lower)[:, :HOLES].mean() for scores in (few, many)]
    assert widths[1] < 0.7 * widths[0]


@every_cloud
def test_a_score_gives_the_same_again_and_changes_nothing(score, cloud):
    before = pickle.dumps((cloud.origin, cloud.samples, cloud.positive, cloud.negative))
    first, second = score(cloud), score(cloud)
    assert_same(first, second, tolerance=0)
    assert pickle.dumps((cloud.origin, cloud.samples, cloud.positive, cloud.negative)) == before


def test_a_score_travels(score):
    cloud = GIVEN["soft"]
    assert_same(pickle.loads(pickle.dumps(score))(cloud), score(cloud), tolerance=0)


@pytest.mark.parametrize("kind", ["hard", "soft", "empty places", "planned"])
@pytest.mark.parametrize("name", [one for one in SCORES if one != "another distance"])
def test_the_density_of_a_score_draws_the_evidence_of_its_importance(name, kind):
    """d1 of the two densities that are shown is the importance, but for what noise adds where that is taken out."""
    if (name, kind) == ("counted", "planned"):
        pytest.skip("numbers that are counted one by one have masses below 0, which are drawn as 0")
    score, cloud = SCORES[name], CLOUDS[kind]
    importance, reach = score(cloud).importance, 0.25 if name in ADJUSTED and kind == "planned" else 2e-3
    for row in range(0, len(cloud), 2):
        for feature in range(FIXED):
            pair = evidence(cloud, row, feature, score.density)
            overlap = np.sum(pair.weights * np.minimum(pair.p, pair.q))
            assert 1 - overlap / (2 - overlap) == pytest.approx(importance[row, feature], abs=reach)
