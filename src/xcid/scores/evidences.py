"""From a cloud to the densities of its features: levels are counted, missing cells are an atom of their own."""

from __future__ import annotations

import numpy as np

from xcid.densities import Discrete, Joint
from xcid.records import Array, Density, DensityPair, Perturbations
from xcid.scores import planned


def evidence(cloud: Perturbations, row: int, feature: int, density: Density) -> DensityPair:
    """Give the two densities of one feature of one row, without unused places."""
    columns = cloud.features[feature]
    if len(columns) > 1:
        return joint(cloud, row, columns).compact()
    (column,) = columns
    for part in planned.parts(cloud, density):
        if column in part.columns:
            return planned.pair(part, cloud, row, column).compact()
    one, chosen = cloud[row : row + 1], Discrete() if cloud.discrete[column] else density
    return estimate(chosen, one.samples[0, :, column], one.positive[0], one.negative[0]).compact()


def joint(cloud: Perturbations, row: int, columns: tuple[int, ...]) -> DensityPair:
    """Give the two joint densities of some columns of one row."""
    one, at = cloud[row : row + 1], list(columns)
    return Joint()(one.samples[0][:, at], one.positive[0], one.negative[0], one.discrete[at])


def estimate(density: Density, values: Array, positive: Array, negative: Array) -> DensityPair:
    """Call a density on (..., s) samples of which some may be missing (NaN)."""
    missing = np.isnan(values)
    if not missing.any():
        return density(values, positive, negative)
    rest = density(np.where(missing, 0.0, values), positive * ~missing, negative * ~missing)
    p, q = (_share(weights, missing) for weights in (positive, negative))
    atom = np.ones(p.shape)
    return DensityPair(
        np.concatenate([rest.points, np.nan * atom], axis=-1),
        np.concatenate([rest.p * (1 - p), p], axis=-1),
        np.concatenate([rest.q * (1 - q), q], axis=-1),
        np.concatenate([rest.weights, atom], axis=-1),
        np.concatenate([rest.atoms, atom > 0], axis=-1),
    )


def _share(weights: Array, missing: Array) -> Array:
    """Share of the weight that is missing: (..., 1)."""
    lost = np.sum(weights * missing, axis=-1, keepdims=True)
    total = np.broadcast_to(np.sum(weights, axis=-1, keepdims=True), lost.shape)
    return np.divide(lost, total, out=np.zeros(lost.shape), where=total > 0)
