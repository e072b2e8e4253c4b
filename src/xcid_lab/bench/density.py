"""Densities and d1 of one feature of one row: as many times as scipy, and how far from a fine reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from xcid.cid.densities.mixed import PER_BANDWIDTH, REACH
from xcid.cid.distances import Overlap
from xcid.densities import Kernel, Mixed
from xcid.explainer import Explainer
from xcid.records import Array, Flags, Perturbations
from xcid.scores import PerFeature
from xcid_lab.bench.peers import N_GRID, d1, unlike
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import Contestant, Extent, race, ratio
from xcid_lab.subjects import Subject, in_arrays

GROUP = "densities and d1 of one feature of one row, against scipy"
TARGET, LARGEST_ERROR = 100.0, 1e-3
N_FINE = 2**14  # points of the reference
BLOCK = 128  # features of rows that are estimated at a time


class _Setting(NamedTuple):
    """d1 of many items, each a feature of a row: of all of them by xcid, and of one by scipy."""

    key: str
    what: str
    n_items: int
    ours: Callable[[], Array]
    theirs: Callable[[int], float]
    fine: Callable[[int], float]  # the reference


def densities(extent: Extent) -> Iterator[Figure]:
    """The paper's densities of 50 + 50 samples, and the recommended evidence of 1,000."""
    subject = in_arrays("diabetes", "logistic")
    yield from _figures(_paper(subject), extent)
    yield from _figures(_recommended(subject), extent)


def _figures(setting: _Setting, extent: Extent) -> Iterator[Figure]:
    key, what, n_items, ours, theirs, fine = setting
    some = np.linspace(0, n_items - 1, extent.density_items).astype(int).tolist()
    error = float(np.max(np.abs(ours()[some] - [fine(item) for item in some])))
    scipy = Contestant("scipy", lambda: [theirs(item) for item in some], len(some))
    found = race([scipy, Contestant("xcid", ours, n_items)], max(3, extent.rounds))
    detail = f"{1e6 * found['xcid'].seconds:.3g} µs against {1e6 * found['scipy'].seconds:.4g} µs"
    yield Figure(f"density/{key}", GROUP, what, ratio(found["scipy"], found["xcid"]), target=TARGET, detail=detail)
    detail = f"against {N_FINE:,} points or more, the largest of {len(some)}"
    yield Figure(f"density/{key}/error", GROUP, f"{what}: error of d1", error, "", "lower", LARGEST_ERROR, detail)


def _paper(subject: Subject) -> _Setting:
    cloud = Explainer.paper(subject.model, subject.train)(subject.test).cloud
    assert cloud is not None
    items = []
    for samples, positive, negative in zip(cloud.samples, cloud.positive > 0, cloud.negative > 0, strict=True):
        for values in samples.T:
            item = values[positive], values[negative]
            if min(map(len, item)) == 50 and min(map(np.ptp, item)) > 0:  # scipy fails on constants
                items.append(item)
    values = np.array([np.concatenate(item) for item in items])
    is_positive = np.repeat([1.0, 0.0], 50)
    kernel, distance = Kernel(), Overlap()

    def ours() -> Array:
        found = []
        for start in range(0, len(values), BLOCK):
            pair = kernel(values[start : start + BLOCK], is_positive, 1 - is_positive)
            found.append(distance(pair.p, pair.q, pair.weights))
        return np.concatenate(found)

    what = "50 + 50 samples, the paper's densities"
    return _Setting("paper", what, len(items), ours, lambda item: d1(*items[item]), lambda item: _fine(*items[item]))


def _fine(*samples: Array) -> float:
    """d1 by scipy on points that are dense where either estimate is narrow."""
    estimates = [stats.gaussian_kde(sample, "silverman") for sample in samples]
    grids = []
    for sample, estimate in zip(samples, estimates, strict=True):
        margin = 8 * float(np.sqrt(estimate.covariance[0, 0]))
        grids.append(np.linspace(sample.min() - margin, sample.max() + margin, N_FINE))
        grids.append(np.add.outer(np.unique(sample), np.linspace(-margin, margin, 257)).ravel())
    return unlike(estimates, np.unique(np.concatenate(grids)))


def _recommended(subject: Subject) -> _Setting:
    explainer = Explainer(subject.model, subject.train)
    cloud = explainer(subject.test).cloud
    assert cloud is not None
    score = PerFeature(explainer.setup.score.density)
    n, f = cloud.origin.shape

    @cache
    def mixture(item: int) -> _Mixture:
        return _Mixture.of(cloud, *divmod(item, f))

    return _Setting(
        "recommended",
        "1,000 samples, the recommended evidence",
        n * f,
        lambda: score(cloud).importance.ravel(),
        lambda item: mixture(item).plain(),
        lambda item: mixture(item).adjusted(),
    )


class _Mixture(NamedTuple):
    """Pairs of samples of one feature, with their weights in C+; values that are no atoms have a bandwidth."""

    own: float
    values: Array  # (p,) that one sample of each pair takes
    takes: Array  # (p,) the weights of these samples
    keeps: Array  # (p,) and of the others
    is_atom: Flags  # (p,)
    bandwidth: float

    @classmethod
    def of(cls, cloud: Perturbations, row: int, column: int) -> _Mixture:
        """Take over what an atom is, and the bandwidth; the estimates from them are scipy's, or sums of kernels."""
        plan = cloud[[row]].plan
        assert plan is not None
        slots, values, own = Mixed().slots(plan.values[:, [column]]), plan.values[:, column], cloud.origin[row, column]
        first, second = cloud.positive[row, : 2 * len(values)].reshape(2, -1)
        mask = plan.masks[:, column]
        takes, keeps = np.where(mask, first, second), np.where(mask, second, first)
        is_atom = np.isin(values, slots.atoms[0])
        return cls(float(own), values, takes, keeps, is_atom, PER_BANDWIDTH * float(slots.width[0]))

    def plain(self) -> float:
        """d1 of what the samples have, by scipy's gaussian_kde and the trapezoid rule, atoms counted.

        The adjusted curves would take it three estimates a set in the place of one.
        """
        rest, masses, curves = self.values[~self.is_atom], [], []
        margin = REACH * self.bandwidth
        grid = np.linspace(rest.min() - margin, rest.max() + margin, N_GRID) if rest.size else None
        for takes, keeps in ((self.takes, self.keeps), (1 - self.takes, 1 - self.keeps)):
            total = takes.sum() + keeps.sum()
            masses.append(self._atoms(takes, keeps.sum()) / total)
            if grid is not None:
                weight = takes[~self.is_atom]
                spread = float(np.sqrt(np.cov(rest, aweights=weight)))  # scipy's unit of a bandwidth
                estimate = stats.gaussian_kde(rest, self.bandwidth / spread, weights=weight)
                curves.append(estimate(grid) * weight.sum() / total)
        return _d1(masses, curves, grid)

    def adjusted(self) -> float:
        """d1 of what is left of these when the other features are taken out, by sums of kernels on many points."""
        rest, masses, curves = self.values[~self.is_atom], [], []
        margin = REACH * self.bandwidth
        grid = np.linspace(rest.min() - margin, rest.max() + margin, N_FINE) if rest.size else None
        mean, more = (self.takes.mean() + self.keeps.mean()) / 2, self.takes - self.keeps
        for level, apart in ((mean, more), (1 - mean, -more)):
            own, weight = level - apart.mean() / 2, level + apart - apart.mean() / 2
            atoms = np.maximum(self._atoms(weight, own * len(weight)), 0.0)
            smooth = np.zeros(0)
            if grid is not None:
                kernels = stats.norm.pdf(grid[:, None], rest, self.bandwidth)
                smooth = np.maximum(kernels @ weight[~self.is_atom], 0.0)
            total = atoms.sum() + (np.trapezoid(smooth, grid) if grid is not None else 0.0)
            masses.append(atoms / total)
            curves.append(smooth / total)
        return _d1(masses, curves, grid)

    def _atoms(self, weight: Array, own: float) -> Array:
        """(a,) masses of the row's own value and of the other atoms."""
        atoms = np.unique(np.append(self.values[self.is_atom], self.own))
        masses = np.zeros(len(atoms))
        np.add.at(masses, np.searchsorted(atoms, self.values[self.is_atom]), weight[self.is_atom])
        masses[np.searchsorted(atoms, self.own)] += own
        return masses


def _d1(masses: list[Array], curves: list[Array], grid: Array | None) -> float:
    least, most = np.minimum(*masses).sum(), np.maximum(*masses).sum()
    if grid is not None:
        least += np.trapezoid(np.minimum(*curves), grid)
        most += np.trapezoid(np.maximum(*curves), grid)
    return float(1 - least / most)
