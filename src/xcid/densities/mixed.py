"""Atoms where values pile up, a kernel for the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from xcid._check import real, whole
from xcid._data import Array, DensityPair
from xcid._kernels import ties
from xcid.densities._items import flatten
from xcid.densities.kernel import Kernel
from xcid.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Mixed:
    """Give every value that piles up an exact atom, and the rest of the samples a kernel estimate.

    Perturbations leave many values exactly as they were; a kernel over that spike measures its own bandwidth.

    Parameters
    ----------
    kernel : Kernel
        For the samples that are not atoms. One pooled bandwidth by default: with few samples outside the atoms, two
        separate ones differ by chance.
    share : float
        A value is an atom when it holds at least this share of the two sets' mean mass
    repeats : int
        and is taken by at least this many samples.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([3.0] * 10 + [1.0, 2.0, 4.0, 5.0])
    >>> pair = Mixed()(values, np.ones(14), np.ones(14))
    >>> pair.points[pair.atoms & (pair.p > 0)].tolist()
    [3.0]
    """

    kernel: Kernel = field(default_factory=lambda: Kernel("gaussian", bandwidth="pooled-silverman"))
    share: float = 0.05
    repeats: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InvalidParameter(
                f"the kernel of Mixed must be a Kernel, such as Kernel('gaussian'), not {self.kernel!r}"
            )
        if not 0 < real(self.share, "share") <= 1:
            raise InvalidParameter(f"the share of an atom must lie in (0, 1], not {self.share}")
        whole(self.repeats, "repeats", at_least=2)

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair:
        """Estimate the densities of (..., s) samples with (..., s) weights."""
        items = flatten(values, positive, negative)
        raw = np.broadcast_to(values, (*items.batch, items.values.shape[1])).reshape(items.values.shape)
        used = items.used
        code, points = ties.distinct(raw, used)
        n_points = points.shape[1]
        p, q = (ties.sums(code, weights, n_points) for weights in (items.positive, items.negative))
        count = ties.sums(code, used.astype(np.float64), n_points)
        is_atom = ((p + q) / 2 >= self.share) & (count >= self.repeats)

        smooth = ~np.take_along_axis(is_atom, code, axis=1)
        rest = self.kernel(raw, *(weights * smooth for weights in items.given_weights))
        rest_p, rest_q = (np.sum(w * smooth, axis=1, keepdims=True) for w in (items.positive, items.negative))

        n_atoms = int(is_atom.sum(axis=1).max(initial=0))
        first = np.argsort(~is_atom, axis=1, kind="stable")[:, :n_atoms]
        there = np.take_along_axis(is_atom, first, axis=1)
        atom_points, atom_p, atom_q = (np.take_along_axis(part, first, axis=1) for part in (points, p, q))
        parts = (
            np.concatenate([atom_points, rest.points], axis=1),
            np.concatenate([atom_p * there, rest.p * rest_p], axis=1),
            np.concatenate([atom_q * there, rest.q * rest_q], axis=1),
            np.concatenate([there.astype(np.float64), rest.weights], axis=1),
            np.concatenate([np.ones_like(there), rest.atoms], axis=1),
        )
        return DensityPair(*(part.reshape(*items.batch, part.shape[1]) for part in parts))
