"""Gaussian kernel estimates for many features of many rows at once: linear binning and FFT, good to 1e-3.

Each item (a feature of a row) has its own uniform grid over all that its kernels reach. Samples are split between the
two neighbouring cells, which widens them by a sixth of a squared cell on average; the kernel is narrowed by as much.
The kernel acts on the Fourier transform, averaged over a cell, so that what comes back are masses of cells.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from xcid.records import Array

SIZES = (96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)  # cells of a grid
CELLS_PER_BANDWIDTH = 8  # at least: fewer lose more than 1e-3 of mass where steep densities cross
REACH = 4.0  # bandwidths beyond the outermost sample: 3e-5 of a kernel's mass lies farther out


def masses(values: Array, weights: Array, bandwidths: Array, low: Array, width: Array, n_cells: int) -> Array:
    """(2, b, n_cells) masses of the cells of each item's grid.

    The (b, s) samples have (2, b, s) weights in either set, the kernels (2, b) bandwidths, and the grids (b,) left ends
    and widths of a cell.
    """
    spectrum = fft.rfft(_linear_counts(values, weights, low, width, n_cells))
    frequency = np.fft.rfftfreq(n_cells)
    squared = np.maximum((bandwidths / width) ** 2 - 1 / 6, 0) * (-2 * np.pi**2)
    response = np.maximum(squared[:, :, None] * frequency**2, -700)
    np.exp(response, out=response)
    response *= np.sinc(frequency)
    spectrum *= response
    smooth: Array = fft.irfft(spectrum, n_cells, overwrite_x=True)
    return np.maximum(smooth, 0, out=smooth)


def _linear_counts(values: Array, weights: Array, low: Array, width: Array, n_cells: int) -> Array:
    place = (values - (low + width / 2)[:, None]) / width[:, None]
    np.clip(place, 0, n_cells - 2, out=place)  # only samples without weight lie outside
    cell = place.astype(np.int64)
    place -= cell
    cell += (np.arange(len(values)) * n_cells)[:, None]
    flat, size = cell.ravel(), len(values) * n_cells
    counts = np.empty((2, size))
    for count, weight in zip(counts, weights, strict=True):
        right = place * weight
        count[:] = np.bincount(flat, (weight - right).ravel(), size)
        count[1:] += np.bincount(flat, right.ravel(), size)[:-1]
    return counts.reshape(2, len(values), n_cells)
