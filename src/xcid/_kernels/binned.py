"""Gaussian kernel estimates for many features of many rows at once: linear binning and FFT, good to 1e-3.

Each item (a feature of a row) has its own uniform grid over all that its kernels reach. Samples are split between the
two neighbouring cells, which widens them by a sixth of a squared cell on average; the kernel is narrowed by as much.
The kernel acts on the Fourier transform, averaged over a cell, so that what comes back are masses of cells.
"""

from __future__ import annotations

import numpy as np

from xcid._data import Array

SIZES = (512, 1024, 2048)  # cells of a grid
CELLS_PER_BANDWIDTH = 16  # at least: fewer lose more than 1e-4 of mass where the densities cross
REACH = 4.0  # bandwidths beyond the outermost sample: 3e-5 of a kernel's mass lies farther out


def masses(values: Array, weights: Array, bandwidth: Array, low: Array, width: Array, n_cells: int) -> Array:
    """Masses of the cells of each item's grid.

    Parameters
    ----------
    values, weights : (b, s)
        Samples and their weights.
    bandwidth, low, width : (b,)
        Of the kernels; left end of the grid; width of a cell.

    Returns
    -------
    (b, n_cells)
    """
    count = _linear_counts(values, weights, low, width, n_cells)
    frequency = np.fft.rfftfreq(n_cells)
    ratio = np.sqrt(np.maximum((bandwidth / width) ** 2 - 1 / 6, 0))
    exponent = ratio[:, None] * (np.sqrt(2) * np.pi * frequency)
    exponent *= exponent
    np.negative(exponent, out=exponent)
    response = np.exp(np.maximum(exponent, -700, out=exponent), out=exponent)
    response *= np.sinc(frequency)
    smooth: Array = np.fft.irfft(np.fft.rfft(count) * response, n_cells)
    return np.maximum(smooth, 0, out=smooth)


def _linear_counts(values: Array, weights: Array, low: Array, width: Array, n_cells: int) -> Array:
    place = (values - low[:, None]) / width[:, None] - 0.5
    np.clip(place, 0, n_cells - 2, out=place)  # only samples without weight lie outside
    cell = place.astype(np.int64)
    right = place - cell
    right *= weights
    left = weights - right
    cell += (np.arange(len(values)) * n_cells)[:, None]
    flat, size = cell.ravel(), len(values) * n_cells
    count: Array = np.bincount(flat, left.ravel(), size)  # type: ignore[assignment]  # weighted counts are floats
    count[1:] += np.bincount(flat, right.ravel(), size)[:-1]
    return count.reshape(len(values), n_cells)
