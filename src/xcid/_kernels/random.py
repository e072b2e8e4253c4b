"""Counter-based random numbers for many rows at once.

The numbers of a row depend on its key and on the counter alone, so that a row gets the same numbers by itself, in a
batch, in any order and on any number of workers, with no loop over rows. The generator is SplitMix64 (Steele, Lea and
Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): a Weyl sequence through a 64-bit finaliser.
"""

from __future__ import annotations

import numpy as np

from xcid.records import Array, Integers, Unsigned

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32, _S11 = (np.uint64(shift) for shift in (30, 27, 31, 32, 11))


def mix(numbers: Unsigned) -> Unsigned:
    """Scramble 64-bit numbers; a bijection."""
    mixed = numbers ^ (numbers >> _S30)
    mixed *= _MIX1
    mixed ^= mixed >> _S27
    mixed *= _MIX2
    mixed ^= mixed >> _S31
    return mixed


def content_keys(rows: Array, seed: int, replicate: int = 0) -> Unsigned:
    """(n,) keys of (n, d) rows: a hash of the seed, the replicate and the row's values."""
    keys = np.repeat(run_key(seed, replicate), len(rows))
    canonical = np.where(np.isnan(rows), np.nan, rows + 0.0)  # one NaN; -0.0 and 0.0 are one value
    for column in np.ascontiguousarray(canonical).view(np.uint64).T:
        keys = mix((keys ^ column) + GAMMA)
    return keys


def run_key(seed: int, replicate: int = 0) -> Unsigned:
    """(1,) key of what all rows of a run share."""
    start = np.array([seed % 2**64, replicate], dtype=np.uint64)
    return mix(mix(start[:1] + GAMMA) + start[1])


def bits(keys: Unsigned, counters: Unsigned) -> Unsigned:
    """64 random bits for each of (broadcast) keys and counters; equal pairs get equal bits."""
    return mix(keys + (counters + np.uint64(1)) * GAMMA)


def below(random: Unsigned, bound: int | Integers) -> Integers:
    """Turn random bits into integers 0 .. bound - 1 by their upper halves (bound < 2**31; off by less than 2**-32)."""
    return ((random >> _S32) * np.asarray(bound, dtype=np.uint64) >> _S32).view(np.int64)


def uniform(random: Unsigned) -> Array:
    """Turn random bits into floats in [0, 1)."""
    return (random >> _S11).astype(np.float64) * 2.0**-53
