"""d1 of kernel estimates against a slow reference, over samples that break the usual ways to compute it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity

import xcid
from xcid.densities import Discrete, Kernel, Mixed

PDFS = {
    "gaussian": (lambda u: np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi), 9),
    "epanechnikov": (lambda u: 0.75 * np.clip(1 - u**2, 0, None), 1),
    "exponential": (lambda u: np.exp(-np.abs(u)) / 2, 20),
    "tophat": (lambda u: 0.5 * (np.abs(u) < 1), 1),
    "triangular": (lambda u: np.clip(1 - np.abs(u), 0, None), 1),
    "cosine": (lambda u: np.pi / 4 * np.cos(np.pi / 2 * np.clip(u, -1, 1)), 1),
}
PER_BANDWIDTH = 400


def reference(a, b, kernel="gaussian"):
    """1 - ∫min / ∫max by the midpoint rule on hundreds of cells a bandwidth around every sample of either set."""
    pdf, reach = PDFS[kernel]
    samples = [np.unique(x, return_counts=True) for x in (a, b)]
    bandwidths = [np.std(x, ddof=1) * (0.75 * len(x)) ** -0.2 for x in (a, b)]
    offsets = np.arange(-reach * PER_BANDWIDTH, reach * PER_BANDWIDTH + 1) / PER_BANDWIDTH
    knots = [
        np.unique(np.round((u[:, None] / h + offsets) * PER_BANDWIDTH)) * h / PER_BANDWIDTH
        for (u, _), h in zip(samples, bandwidths, strict=True)
    ]
    edges = np.unique(np.concatenate(knots))
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    smaller = larger = 0.0
    for start in range(0, len(middle), 20_000):
        x, w = middle[start : start + 20_000], width[start : start + 20_000]
        p, q = (pdf((x[:, None] - u) / h) @ n / n.sum() / h for (u, n), h in zip(samples, bandwidths, strict=True))
        smaller += w @ np.minimum(p, q)
        larger += w @ np.maximum(p, q)
    return 1 - smaller / larger


def corpus():
    rng = np.random.default_rng(0)
    spike = lambda n, share, x, rest: np.where(np.arange(n) < share * n, x, rest)  # noqa: E731
    yield "two normals", rng.normal(size=50), rng.normal(0.5, 1.5, 50)
    yield "the same distribution", rng.normal(size=200), rng.normal(size=200)
    yield (
        "spikes of 95% at one place",
        spike(60, 0.95, 2.0, rng.uniform(0, 9, 60)),
        spike(60, 0.95, 2.0, rng.uniform(0, 9, 60)),
    )
    yield (
        "spikes of 95%, apart",
        spike(60, 0.95, 2.0, rng.uniform(0, 9, 60)),
        spike(60, 0.95, 2.1, rng.uniform(0, 9, 60)),
    )
    yield (
        "spikes of 80% and 90%",
        spike(50, 0.8, 2.0, rng.uniform(0, 9, 50)),
        spike(50, 0.9, 2.0, rng.uniform(5, 9, 50)),
    )
    yield "bimodal", np.r_[rng.normal(-3, 0.5, 40), rng.normal(3, 0.5, 40)], rng.normal(0, 1, 80)
    yield "heavy tails", rng.standard_cauchy(100), rng.standard_t(2, 100)
    yield "narrow against wide, 1e5", rng.normal(0.3, 1e-5, 50), rng.normal(0, 1, 50)
    yield "narrow against wide, 1e3", rng.normal(0.3, 1e-3, 50), rng.normal(0, 1, 50)
    yield "ties", rng.integers(0, 6, 50).astype(float), rng.integers(2, 9, 50).astype(float)
    yield "two samples", np.array([0.0, 1.0]), np.array([0.25, 3.0])
    yield "two against many", np.array([0.0, 1.0]), rng.normal(size=100)
    yield "one value off", np.r_[np.zeros(49), 1.0], np.r_[np.zeros(49), -1.0]
    yield "touching", rng.uniform(0, 1, 60), rng.uniform(1, 2, 60)
    yield "many samples", rng.normal(size=1000), rng.normal(0.1, 1, 1000)


CORPUS = list(corpus())
names = [case[0] for case in CORPUS]
SCALES = [1e-300, 1e-150, 1.0, 1e150, 1e300]


@pytest.fixture(scope="module")
def references():
    return {name: reference(a, b) for name, a, b in CORPUS}


@pytest.mark.parametrize(("name", "a", "b"), CORPUS, ids=names)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_gaussian_is_within_its_tolerance_at_any_scale(name, a, b, tolerance, references):
    for scale in SCALES:
        assert xcid.d1(a * scale, b * scale, Kernel(tolerance=tolerance)) == pytest.approx(
            references[name], abs=tolerance
        )


@pytest.mark.parametrize(("name", "a", "b"), CORPUS, ids=names)
def test_an_offset_of_1e8_does_not_matter(name, a, b, references):
    if name == "narrow against wide, 1e5":
        a = np.round(a, 8)  # what float64 can hold at this offset
        references = {name: reference(a, b)}
    assert xcid.d1(a + 1e8, b + 1e8) == pytest.approx(references[name], abs=1e-3)


@pytest.mark.parametrize("kernel", [name for name in PDFS if name != "gaussian"])
@pytest.mark.parametrize(("name", "a", "b"), [case for case in CORPUS if case[0] != "many samples"], ids=names[:-1])
def test_other_kernels_are_within_1e_5(name, a, b, kernel):
    expected = reference(a, b, kernel)
    # the reference steps over the edges of a tophat: it is good to a cell there
    allowed = 2e-3 if kernel == "tophat" else 2e-5
    assert xcid.d1(a, b, Kernel(kernel, tolerance=1e-5)) == pytest.approx(expected, abs=allowed)


def test_tophat_is_exact():
    """Two boxes of half-width 1 around 0 and around 0.5, each with mass 1: overlap 1.5 / 2.5."""
    assert xcid.d1([0.0], [0.5], Kernel("tophat", bandwidth=1.0)) == pytest.approx(1 - 1.5 / 2.5, abs=1e-12)


def test_triangles_are_exact():
    """Triangles one apart cross at height 1/2 over a base of 1: ∫min = 1/4, ∫max = 7/4."""
    assert xcid.d1([0.0], [1.0], Kernel("triangular", bandwidth=1.0)) == pytest.approx(1 - 0.25 / 1.75, abs=1e-9)


wild = st.one_of(st.floats(-1e300, 1e300), st.sampled_from([0.0, 1.0, 1.0 + 2**-52, 1e8, 1e8 + 1e-8, 5e-324, 1e-300]))
samples = npst.arrays(np.float64, st.integers(1, 12), elements=wild)


@given(samples, samples, st.sampled_from([Kernel(), Kernel("cosine"), Kernel("exponential"), Discrete(), Mixed()]))
def test_never_nan_and_never_outside_0_1(a, b, density):
    forth, back = xcid.d1(a, b, density), xcid.d1(b, a, density)
    assert 0 <= forth <= 1
    assert forth == pytest.approx(back, abs=1e-6)
    assert xcid.d1(a, a, density) == pytest.approx(0, abs=1e-12)


def test_even_and_odd_integers_share_nothing():
    even, odd = np.arange(0, 40, 2.0), np.arange(1, 41, 2.0)
    assert xcid.d1(even, odd, Discrete()) == 1
    assert xcid.d1(even, odd, Kernel()) < 0.3  # why kernels are not for integers


def test_discrete_masses_are_frequencies():
    assert xcid.d1([1, 1, 2, 3], [1, 2, 2, 4], Discrete()) == pytest.approx(1 - 0.5 / 1.5)


def test_mixed_atoms_are_frequencies_and_the_rest_is_a_kernel():
    rng = np.random.default_rng(1)
    a = np.r_[np.full(60, 5.0), rng.normal(0, 1, 40)]
    b = np.r_[np.full(20, 5.0), rng.normal(0, 1, 80)]
    pair = Mixed()(np.r_[a, b], np.repeat([1.0, 0.0], 100), np.repeat([0.0, 1.0], 100)).compact()
    assert pair.p[pair.atoms] == pytest.approx([0.6])
    assert pair.q[pair.atoms] == pytest.approx([0.2])
    assert pair.points[pair.atoms].tolist() == [5.0]
    cells = pair[~pair.atoms]
    assert cells.weights @ cells.p == pytest.approx(0.4)
    assert cells.weights @ cells.q == pytest.approx(0.8)


@pytest.mark.parametrize("rule", ["silverman", "scott"])
@pytest.mark.parametrize("weighted", ["equal weights", "weights"])
def test_densities_are_those_of_scipy(rule, weighted):
    rng = np.random.default_rng(2)
    x = rng.normal(3, 2, 80)
    w = np.ones(80) if weighted == "equal weights" else rng.random(80)
    for tolerance in (1e-3, 1e-5):
        pair = Kernel("gaussian", rule, tolerance)(x, w, w)[...].compact()
        inner = (pair.points > x.min()) & (pair.points < x.max())
        expected = gaussian_kde(x, rule, weights=w)(pair.points[inner])
        assert pair.p[inner] == pytest.approx(expected, rel=2e-3)


SKLEARN = {"triangular": "linear"}


@pytest.mark.parametrize("kernel", PDFS)
def test_densities_are_those_of_scikit_learn(kernel):
    x = np.random.default_rng(3).normal(3, 2, 80)
    pair = Kernel(kernel, bandwidth=0.7, tolerance=1e-5)(x, np.ones(80), np.ones(80)).compact()
    model = KernelDensity(kernel=SKLEARN.get(kernel, kernel), bandwidth=0.7).fit(x[:, None])
    expected = np.exp(model.score_samples(pair.points[:, None]))
    wide = pair.weights > 1e-9  # slivers between kinks have no mean density worth comparing
    difference = pair.weights[wide] @ np.abs(pair.p - expected)[wide]
    assert difference < (2e-3 if kernel != "tophat" else 1e-2)


def test_pooled_bandwidths_do_not_depend_on_the_labels():
    rng = np.random.default_rng(4)
    x = rng.normal(size=100)
    for _ in range(3):
        labels = rng.permutation(100) < 30
        pair = Kernel("gaussian", "pooled-silverman")(x, labels, ~labels)
        total = 0.3 * pair.p + 0.7 * pair.q
        expected = gaussian_kde(x, "silverman")(pair.points[2:])
        assert total[2:] == pytest.approx(expected, abs=2e-3)
