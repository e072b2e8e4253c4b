"""Counter-based random numbers for many rows at once, every stream of them, and balanced masks.

The numbers of a row depend on its key and on the counter alone, so that a row gets the same numbers by itself, in a
batch, in any order and on any number of workers, with no loop over rows. The generator is SplitMix64 (Steele, Lea and
Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): a Weyl sequence through a 64-bit finaliser.

A key has as many streams as there are numbers, and one stream does not tell of another. Two streams that are drawn
under the same key in one run must have different numbers. A new one takes a number that its key has not seen. A number
is never changed, since that would change what a seed gives: so ``SHARED`` and ``NUMBERLESS`` list the streams that have
numbers in common, with the reason why they may.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from xcid.records import Array, Flags, Integers, Unsigned

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
TALL = 2**15  # rows of a column that are hashed one after the other
SHORT = 2**9  # of which so many are looked at at a time
_S30, _S27, _S31, _S32, _S11, _S61 = (np.uint64(shift) for shift in (30, 27, 31, 32, 11, 61))
N_VARIANTS = 8
WIDE, WIDER = 64, 128  # features from which what rows share takes long to make, and is made for half and a quarter


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
    return _hash(np.repeat(run_key(seed, replicate), len(rows)), rows.T)


def column_keys(matrix: Array) -> Unsigned:
    """(d,) keys of the columns of a (n, d) matrix; parts of a tall one are hashed side by side, then their keys."""
    starts = range(0, len(matrix), TALL)
    keys = np.repeat(run_key(0), len(starts) * matrix.shape[1]).reshape(len(starts), -1)
    height = min(len(matrix), TALL)
    for begin in range(0, height, SHORT):
        end = min(begin + SHORT, height)
        rows = np.full((end - begin, *keys.shape), np.nan)
        for part, start in enumerate(starts):
            there = matrix[start + begin : start + end]
            rows[: len(there), part] = there
        keys = _hash(keys, rows)
    first, *others = keys
    return reduce(lambda keys, part: mix((keys ^ part) + GAMMA), others, first)


def _hash(keys: Unsigned, cells: Array) -> Unsigned:
    """Hash (s, ...) cells into (...) keys, one after the other."""
    canonical = np.where(np.isnan(cells), np.nan, cells + 0.0)  # one NaN; -0.0 and 0.0 are one value
    for one in np.ascontiguousarray(canonical).view(np.uint64):
        keys = mix((keys ^ one) + GAMMA)
    return keys


def run_key(seed: int, replicate: int = 0, variant: int = 0) -> Unsigned:
    """(1,) key of what all rows of a run share, or those of a variant of it."""
    start = np.array([seed % 2**64, replicate, variant], dtype=np.uint64)
    return mix(mix(start[:1] + GAMMA) + start[1] + (start[2] << _S32))


def count_variants(n_features: int) -> int:
    """How many variants of a run the rows of a table follow: ``N_VARIANTS``, and fewer where there are many features.

    Examples
    --------
    >>> [count_variants(n_features) for n_features in (64, 65, 129)]
    [8, 4, 2]
    """
    return N_VARIANTS // (4 if n_features > WIDER else 2 if n_features > WIDE else 1)


def variants(keys: Unsigned, n_features: int) -> Integers:
    """(n,) which variant each of (n,) keys of rows belongs to."""
    return (keys >> _S61).astype(np.int64) % count_variants(n_features)


def bits(keys: Unsigned, counters: Unsigned) -> Unsigned:
    """64 random bits for each of (broadcast) keys and counters; equal pairs get equal bits."""
    return mix(keys + (counters + np.uint64(1)) * GAMMA)


def below(random: Unsigned, bound: int | Integers) -> Integers:
    """Turn random bits into integers 0 .. bound - 1 by their upper halves (bound < 2**31; off by less than 2**-32)."""
    return ((random >> _S32) * np.asarray(bound, dtype=np.uint64) >> _S32).view(np.int64)


def uniform(random: Unsigned) -> Array:
    """Turn random bits into floats in [0, 1)."""
    return (random >> _S11).astype(np.float64) * 2.0**-53


Key: TypeAlias = Literal["run", "row", "walk", "none"]
"""What the key is made from: the seed, the seed and a row's values, one walk of a row, or nothing."""


class Stream(NamedTuple):
    """A stream of random bits; one without a number draws with the key itself."""

    owner: str
    name: str
    number: int | None
    key: Key

    def of(self, keys: Unsigned) -> Unsigned:
        """(n,) the keys of this stream, for (n,) keys or a single one."""
        return keys if self.number is None else bits(keys, np.array([self.number], dtype=np.uint64))

    def bits(self, keys: Unsigned, counters: Unsigned) -> Unsigned:
        """(n, ...) random bits for (n,) keys and (...) counters."""
        return bits(self.of(keys).reshape(-1, *(1,) * counters.ndim), counters)

    def constant(self, counters: Unsigned) -> Unsigned:
        """Bits for (...) counters that are the same in every run: the number is the key."""
        return bits(np.array([self.number], dtype=np.uint64), counters)


def _streams(owner: str, key: Key, **numbers: int | None) -> tuple[Stream, ...]:
    return tuple(Stream(owner, name, number, key) for name, number in numbers.items())


HADAMARD = _streams("_kernels.random", "run", rows=11, columns=12, signs=13)
BALANCED = _streams("cid.generators.balanced", "run", start=14, masks=15, donors=18, alone=19, rest=20)
(LIMITS,) = _streams("cid.generators.search", "row", limits=17)
RANDOM = _streams("cid.generators.random", "row", pick=1, value=2)
(MARGINAL,) = _streams("cid.generators.growing", "row", cells=None)
GENETIC = _streams(
    "cid.generators.genetic", "row", first=21, second=22, new=23, share=24, cross=25, kind=26, value=27, step=28
)
CONDITIONAL = _streams("cid.generators.conditional", "row", mask=21, value=22, missing=23, pick=24)
NEAREST = _streams("xcid_lab.generators.nearest", "row", switch=31, end=32, part=33, own_part=34, own_way=35)
GRADIENT = _streams("cid.generators.gradient", "row", mask=31, pick=32, value=33, share=34)
GROWING = _streams("cid.generators.growing", "row", change=41, side=42, far=43, stays=44, flips=45)
WALK = _streams("cid.generators.growing", "walk", new=0, each=1, odds=2, forced=3)
DICE = _streams("cid.generators.dice", "row", stays=41, flips=42)
RESAMPLED = _streams("cid.resampled", "none", permute=29, resample=31)
(MASKING,) = _streams("metrics.maskings", "row", draws=23)
FLIPS = _streams("xcid_lab.metrics.flips", "row", donor=51, size=52, order=53)
(CHANCE,) = _streams("xcid_lab.baselines.plain", "row", scores=None)
(SEEDS,) = _streams("xcid_lab.baselines._common", "row", seeds=61)
(MIXTURES,) = _streams("table.contradictions", "run", cells=71)
(ORDERS,) = _streams("whatif.pruning", "row", orders=72)
(TOP,) = _streams("calibration", "none", draws=None)
(GROUPS,) = _streams("uncertainty", "none", groups=81)

STREAMS: tuple[Stream, ...] = (
    *(*HADAMARD, *BALANCED, LIMITS, *RANDOM, MARGINAL, *GENETIC, *CONDITIONAL, *NEAREST, *GRADIENT, *GROWING, *WALK),
    *(*DICE, *RESAMPLED, MASKING, *FLIPS, CHANCE, SEEDS, MIXTURES, ORDERS, TOP, GROUPS),
)

ONE_SEARCH = "a run has one of the two generators"
JUDGED_LATER = "scores are judged after they are made, on other samples"
SHARED: Mapping[frozenset[str], str] = {
    frozenset({"cid.generators.genetic", "cid.generators.conditional"}): ONE_SEARCH,
    frozenset({"xcid_lab.generators.nearest", "cid.generators.gradient"}): ONE_SEARCH,
    frozenset({"cid.generators.growing", "cid.generators.dice"}): "Dice only seeds another library from its streams",
    frozenset({"cid.generators.genetic", "metrics.maskings"}): JUDGED_LATER,
    frozenset({"cid.generators.conditional", "metrics.maskings"}): JUDGED_LATER,
}
"""Pairs of owners with a number in common under the same key, and why that does no harm."""

NUMBERLESS: Mapping[str, str] = {
    "cid.generators.growing": "the bits of Marginal are the keys of the numbered streams, so a hash lies between",
    "xcid_lab.baselines.plain": "nothing else is drawn for scores by chance",
    "calibration": "its keys are 0, 1, ..., two of them those of cid.resampled, which draws for other scores",
}
"""Owners that draw with the key itself, and so share a number with all others, and why that does no harm."""


def hadamard_order(n_features: int) -> int:
    """Rows of a block: the least power of two that has a column for every feature, at least 2."""
    return int(2 ** max(1, int(np.ceil(np.log2(n_features)))))


def hadamard_masks(key: Unsigned, rank: Integers, n_masks: int) -> Flags:
    """(n_masks, f) masks for a (1,) key: blocks of a Hadamard matrix, whose columns are orthogonal.

    In every block rows and columns are shuffled and flipped. ``rank`` (f,) says which column each feature gets.
    """
    size = hadamard_order(len(rank))
    number = np.arange(size, dtype=np.uint32)
    matrix = np.bitwise_count(number[:, None] & number) % 2 == 0  # Sylvester's: a sign is the parity of common bits
    blocks = -(-n_masks // size)
    counters = np.arange(blocks * size, dtype=np.uint64).reshape(blocks, size)
    rows, columns, signs = (stream.bits(key, counters)[0] for stream in HADAMARD)
    row, column = (np.argsort(random, axis=1) for random in (rows, columns))
    column, flip = column[:, rank], (signs >> np.uint64(63)).astype(bool)[:, rank]
    made = matrix[row[:, :, None], column[:, None, :]] ^ flip[:, None, :]
    return made.reshape(blocks * size, len(rank))[:n_masks]
