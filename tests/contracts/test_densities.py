"""Every density obeys the laws of its seam: add a new one to the list."""

from __future__ import annotations

import numpy as np
import pytest

from xcid.cid.densities import product
from xcid.cid.densities.bandwidths import SHAPES, Each, Fixed, scott
from xcid.cid.distances import Overlap
from xcid.densities import Discrete, Joint, Kernel, Mixed
from xcid.errors import InvalidParameter

KERNELS = ["gaussian", "epanechnikov", "exponential", "tophat", "triangular", "cosine"]
SEPARATE = [  # each set is estimated by itself, in its own scale
    *(Kernel(kernel) for kernel in KERNELS),
    *(Kernel(kernel, tolerance=1e-5) for kernel in KERNELS),
    Kernel("gaussian", "scott"),
    pytest.param(Kernel("gaussian", Each(scott)), id="each set by Scott's rule"),
    Discrete(),
    Mixed(Kernel("epanechnikov"), share=0.2),
]
POOLED = [Kernel("gaussian", "pooled-silverman"), Kernel("gaussian", "pooled-scott"), Mixed()]
FIXED = [Kernel("gaussian", 0.3), Kernel("cosine", Fixed(2.0))]
DENSITIES = [*SEPARATE, *POOLED, *FIXED]


@pytest.fixture(params=DENSITIES, ids=str)
def density(request):
    return request.param


def d1(density, values, positive, negative):
    pair = density(values, positive, negative)
    return Overlap()(pair.p, pair.q, pair.weights)


@pytest.fixture
def cloud():
    """Six features with 60 samples: smooth, integer, spiked, constant, bimodal, half empty; with weights."""
    rng = np.random.default_rng(2)
    values = np.stack(
        [
            rng.normal(size=60),
            rng.integers(0, 5, 60).astype(float),
            np.where(rng.random(60) < 0.9, 3.25, rng.normal(3, 2, 60)),
            np.full(60, 7.0),
            np.concatenate([rng.normal(-5, 0.1, 30), rng.normal(5, 0.1, 30)]),
            rng.exponential(size=60),
        ]
    )
    membership = rng.random((6, 60))
    membership[5] = membership[5] > 0.9
    return values, membership, 1 - membership


def test_masses_are_1(density, cloud):
    pair = density(*cloud)
    assert np.sum(pair.weights * pair.p, axis=-1) == pytest.approx(1, abs=1e-9)
    assert np.sum(pair.weights * pair.q, axis=-1) == pytest.approx(1, abs=1e-9)
    assert np.all(pair.p >= 0)
    assert np.all(pair.q >= 0)
    assert np.all(np.isfinite(pair.points))


def test_an_empty_set_has_mass_0(density, cloud):
    values, positive, _ = cloud
    pair = density(values, positive, np.zeros_like(positive))
    assert np.sum(pair.weights * pair.p, axis=-1) == pytest.approx(1, abs=1e-9)
    assert not pair.q.any()
    both = density(values, np.zeros_like(positive), np.zeros_like(positive))
    assert not both.p.any()


def test_equal_weights_give_equal_densities(density, cloud):
    values, positive, _ = cloud
    assert d1(density, values, positive, 3 * positive) == pytest.approx(0, abs=1e-9)


def test_swapping_the_sets_swaps_the_densities(density, cloud):
    values, positive, negative = cloud
    assert d1(density, values, positive, negative) == pytest.approx(d1(density, values, negative, positive), abs=1e-9)


def test_the_order_of_samples_does_not_matter(density, cloud):
    order = np.random.default_rng(3).permutation(60)
    assert d1(density, *(part[:, order] for part in cloud)) == pytest.approx(d1(density, *cloud), abs=1e-9)


def test_samples_without_weight_do_not_matter(density, cloud):
    values, positive, negative = (np.concatenate([part, part[:, :5]], axis=1) for part in cloud)
    values[:, -5:], positive[:, -5:], negative[:, -5:] = [1e9, -1e9, 0, np.pi, 7], 0, 0
    assert d1(density, values, positive, negative) == pytest.approx(d1(density, *cloud), abs=1e-9)


def test_a_batch_is_the_same_as_one_by_one(density, cloud):
    batch = d1(density, *(part.reshape(2, 3, 60) for part in cloud))
    assert batch.shape == (2, 3)
    single = [d1(density, *(part[i] for part in cloud)) for i in range(6)]
    assert batch.ravel() == pytest.approx(np.array(single), abs=1e-9)


def test_weights_broadcast_over_features(density, cloud):
    values, positive, negative = cloud
    common = d1(density, values, positive[:1], negative[:1])
    assert common == pytest.approx(d1(density, values, np.tile(positive[:1], (6, 1)), np.tile(negative[:1], (6, 1))))


@pytest.mark.parametrize("density", [*SEPARATE, *FIXED], ids=str)
def test_samples_far_apart_give_1(density):
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.normal(size=40), rng.normal(1e4, 1, 40)])
    first = np.arange(80) < 40
    assert d1(density, values, first, ~first) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("place", [-1e6, 0.5, 1e6])
@pytest.mark.parametrize("density", SEPARATE, ids=str)
def test_a_constant_and_a_spread_set_share_nothing(density, place):
    values = np.concatenate([np.linspace(0.013, 1, 40), np.full(40, place)])
    first = np.arange(80) < 40
    assert d1(density, values, first, ~first) == pytest.approx(1, abs=1e-9)
    assert d1(density, np.stack([values, values + 3]), first, ~first) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
@pytest.mark.parametrize("density", [*SEPARATE, *POOLED], ids=str)
def test_the_scale_does_not_matter(density, cloud, scale):
    values, positive, negative = cloud
    assert d1(density, values * scale, positive, negative) == pytest.approx(d1(density, *cloud), abs=1e-6)


@pytest.mark.parametrize("density", [*SEPARATE, *POOLED], ids=str)
def test_equal_constants_give_0(density):
    first = np.arange(10) < 5
    assert d1(density, np.full(10, 3.0), first, ~first) == 0


@pytest.mark.parametrize("other", [4.0, np.nextafter(3.0, 4.0), -3.0, 3e300])
@pytest.mark.parametrize("density", SEPARATE, ids=str)
def test_different_constants_give_1(density, other):
    first = np.arange(10) < 5
    assert d1(density, np.where(first, 3.0, other), first, ~first) == 1


@pytest.mark.parametrize("name", SHAPES)
def test_a_kernel_has_unit_mass(name):
    grid = np.linspace(-SHAPES[name].reach, SHAPES[name].reach, 20_001)
    assert SHAPES[name].pdf(grid).sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf, np.nan])
def test_a_bandwidth_is_a_finite_number_above_0(width):
    with pytest.raises(InvalidParameter):
        Fixed(width)


@pytest.mark.parametrize(("settings", "is_fine"), [((1, 2), True), ((0, 2), False), ((1, 1), False)])
def test_a_joint_density_is_drawn_at_least_once_and_by_two_halves(settings, is_fine):
    draws, repeats = settings
    if is_fine:
        assert Joint(draws=draws, repeats=repeats).draws == draws
    else:
        with pytest.raises(InvalidParameter):
            Joint(draws=draws, repeats=repeats)


def test_points_of_a_product_are_looked_at_in_parts(monkeypatch):
    values = np.random.default_rng(4).normal(size=(40, 2))
    positive = (values.sum(axis=1) > 0).astype(float)
    made = values, positive, 1 - positive, np.zeros(2, dtype=bool)
    whole = product.Product(Kernel())(*made)
    monkeypatch.setattr(product, "MOST_PAIRS", 100)
    parts = product.Product(Kernel())(*made)
    assert np.allclose(parts.p, whole.p)
    assert np.allclose(parts.q, whole.q)
    assert 0.5 < Overlap()(whole.p, whole.q, whole.weights) < 1
