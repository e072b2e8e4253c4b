"""Densities and d1 of one feature of one row: as many times as scipy, and how far from a fine reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from xcid.densities import Kernel, Mixed
from xcid.densities.slots import PER_BANDWIDTH, REACH
from xcid.distances import Overlap
from xcid.explainer import Explainer
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.record import Figure, Part
from xcid.lab.bench.stack import N_GRID, d1
from xcid.lab.bench.subjects import Subject, in_arrays
from xcid.lab.bench.timing import Contestant, race, ratio
from xcid.records import Array, Flags, Integers, Perturbations
from xcid.scores import PerFeature

GROUP = "densities and d1 of one feature of one row, against scipy"
TARGET, LARGEST_ERROR = 100.0, 1e-3
N_FINE = 2**14  # points of the reference
BLOCK = 128  # features of rows that are estimated at a time


def densities(extent: Extent) -> Part:
    """The paper's densities of 50 + 50 samples, and the recommended evidence of 1,000."""
    subject = in_arrays("diabetes", "logistic")
    return Part((*_paper(subject, extent), *_recommended(subject, extent)))


class _Item(NamedTuple):
    positive: Array
    negative: Array


def _paper(subject: Subject, extent: Extent) -> tuple[Figure, ...]:
    cloud = Explainer.paper(subject.model, subject.train)(subject.test).cloud
    assert cloud is not None
    samples, items = cloud.samples, []
    for row in range(len(cloud)):
        for feature in range(samples.shape[2]):
            values = samples[row, :, feature]
            item = _Item(values[cloud.positive[row] > 0], values[cloud.negative[row] > 0])
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

    some = np.linspace(0, len(items) - 1, extent.density_items).astype(np.int64)
    fine = np.array([_fine(items[item]) for item in some])
    return _figures(
        "50 + 50 samples, the paper's densities",
        "paper",
        ours,
        lambda item: d1(*items[int(item)]),
        (len(items), some, ours()[some], fine),
        extent,
    )


def _fine(item: _Item) -> float:
    """d1 by scipy on points that are dense where either estimate is narrow."""
    estimates = [stats.gaussian_kde(sample, "silverman") for sample in item]
    grids = []
    for sample, estimate in zip(item, estimates, strict=True):
        margin = 8 * float(np.sqrt(estimate.covariance[0, 0]))
        grids.append(np.linspace(sample.min() - margin, sample.max() + margin, N_FINE))
        grids.append(np.add.outer(np.unique(sample), np.linspace(-margin, margin, 257)).ravel())
    grid = np.unique(np.concatenate(grids))
    p, q = (estimate(grid) for estimate in estimates)
    return float(1 - np.trapezoid(np.minimum(p, q), grid) / np.trapezoid(np.maximum(p, q), grid))


def _recommended(subject: Subject, extent: Extent) -> tuple[Figure, ...]:
    explainer = Explainer(subject.model, subject.train)
    explanation = explainer(subject.test)
    cloud = explanation.cloud
    assert cloud is not None
    score, samples = PerFeature(explainer.setup.score.density), cloud.samples
    n, f = cloud.origin.shape
    some = np.linspace(0, n * f - 1, extent.density_items).astype(np.int64)
    known = {int(item): _Mixture.of(cloud, samples, *divmod(int(item), f)) for item in some}
    fine = np.array([known[int(item)].d1(N_FINE) for item in some])
    importance = score(cloud).importance.ravel()
    return _figures(
        "1,000 samples, the recommended evidence",
        "recommended",
        lambda: score(cloud),
        lambda item: known[int(item)].d1(N_GRID),
        (n * f, some, importance[some], fine),
        extent,
    )


class _Mixture(NamedTuple):
    """Samples of one feature with weights in both sets; those that are no atoms have a bandwidth."""

    values: Array
    weights: tuple[Array, Array]
    is_atom: Flags
    bandwidth: float

    @classmethod
    def of(cls, cloud: Perturbations, samples: Array, row: int, column: int) -> _Mixture:
        """Take over what an atom is, and the bandwidth; the estimates from them are scipy's."""
        assert cloud.plan is not None
        slots, values = Mixed().slots(cloud.plan.values[:, [column]]), samples[row, :, column]
        is_atom = ~cloud.plan.taken[:, column] | np.isin(values, slots.atoms[0])
        return cls(values, (cloud.positive[row], cloud.negative[row]), is_atom, PER_BANDWIDTH * float(slots.width[0]))

    def d1(self, n_grid: int) -> float:
        """By scipy's gaussian_kde and the trapezoid rule, atoms counted."""
        is_atom = self.is_atom
        atoms, place = np.unique(self.values[is_atom], return_inverse=True)
        counts, curves, rest = [], [], self.values[~is_atom]
        margin = REACH * self.bandwidth
        grid = np.linspace(rest.min() - margin, rest.max() + margin, n_grid) if rest.size else None
        for weight in self.weights:
            total = weight.sum()
            counts.append(np.bincount(place, weight[is_atom], len(atoms)) / total)
            if grid is not None:
                spread = float(np.sqrt(np.cov(rest, aweights=weight[~is_atom])))  # scipy's unit of a bandwidth
                estimate = stats.gaussian_kde(rest, self.bandwidth / spread, weights=weight[~is_atom])
                curves.append(estimate(grid) * weight[~is_atom].sum() / total)
        least, most = np.minimum(*counts).sum(), np.maximum(*counts).sum()
        if grid is not None:
            least += np.trapezoid(np.minimum(*curves), grid)
            most += np.trapezoid(np.maximum(*curves), grid)
        return float(1 - least / most)


def _figures(
    what: str,
    key: str,
    ours: Callable[[], object],
    theirs: Callable[[int], float],
    measured: tuple[int, Integers, Array, Array],
    extent: Extent,
) -> tuple[Figure, ...]:
    n_items, some, values, fine = measured
    found = race(
        [
            Contestant("scipy", lambda: [theirs(item) for item in some], len(some)),
            Contestant("xcid", ours, n_items),
        ],
        max(3, extent.rounds),
    )
    detail = f"{1e6 * found['xcid'].seconds:.3g} µs against {1e6 * found['scipy'].seconds:.4g} µs"
    error = float(np.max(np.abs(values - fine)))
    words = f"against {N_FINE:,} points or more, the largest of {len(some)}"
    return (
        Figure(f"density/{key}", GROUP, what, ratio(found["scipy"], found["xcid"]), target=TARGET, detail=detail),
        Figure(f"density/{key}/error", GROUP, f"{what}: error of d1", error, "", "lower", LARGEST_ERROR, words),
    )
