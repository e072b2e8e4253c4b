"""d1 of two samples of one feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xcid._check import require_callable
from xcid.densities import Kernel
from xcid.distances import Overlap
from xcid.errors import InvalidData
from xcid.records import Array, Density


def d1(positive: npt.ArrayLike, negative: npt.ArrayLike, density: Density | None = None) -> float:
    """Measure how differently two samples of one feature are distributed.

    Parameters
    ----------
    positive, negative : (m,), (n,)
        Values of the feature in C+ and in C-.
    density : Density, optional
        The paper's Gaussian kernel with Silverman's bandwidth by default.

    Returns
    -------
    float
        0 for equal densities, 1 for densities that share no mass.

    Examples
    --------
    >>> d1([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    0.0
    >>> d1([1.0, 2.0, 3.0], [101.0, 102.0, 103.0]) > 0.999
    True
    >>> d1([5.0, 5.0], [5.0, 5.0]), d1([5.0, 5.0], [6.0, 6.0])
    (0.0, 1.0)
    """
    first, second = _sample(positive, "positive"), _sample(negative, "negative")
    values = np.concatenate([first, second])
    is_positive = (np.arange(len(values)) < len(first)).astype(np.float64)
    density = Kernel() if density is None else density
    require_callable(density, "density", "xcid.densities.Kernel()")
    pair = density(values, is_positive, 1 - is_positive)
    return float(Overlap()(pair.p, pair.q, pair.weights))


def _sample(values: npt.ArrayLike, name: str) -> Array:
    try:
        raw = np.asarray(values)
        sample = raw.astype(np.float64) if raw.dtype.kind in "fiubO" else None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"{name} must be numbers: {error}") from error
    if sample is None:
        raise InvalidData(f"{name} must be numbers; it holds {raw.dtype}")
    if sample.ndim != 1 or sample.size == 0:
        raise InvalidData(f"{name} must be a list of at least one number; its shape is {sample.shape}")
    if not np.isfinite(sample).all():
        bad = int(np.flatnonzero(~np.isfinite(sample))[0])
        raise InvalidData(f"{name} must be finite; {name}[{bad}] is {sample[bad]}: drop such values")
    return sample
