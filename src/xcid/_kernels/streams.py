"""Every stream of random bits: who draws from it, under which key, and its number.

A key has as many streams as there are numbers, and one stream does not tell of another. Two streams that are drawn
under the same key in one run must have different numbers. A new one takes a number that its key has not seen. A number
is never changed, since that would change what a seed gives: so ``SHARED`` and ``NUMBERLESS`` list the streams that have
numbers in common, with the reason why they may.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from xcid._kernels.random import bits
from xcid.records import Unsigned

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


HADAMARD = _streams("_kernels.hadamard", "run", rows=11, columns=12, signs=13)
BALANCED = _streams("generators.balanced", "run", start=14, masks=15, centroids=16, donors=18)
(LIMITS,) = _streams("generators.planned", "row", limits=17)
RANDOM = _streams("generators.random", "row", pick=1, value=2)
(MARGINAL,) = _streams("generators.marginal", "row", cells=None)
GENETIC = _streams(
    "generators.genetic", "row", first=21, second=22, new=23, share=24, cross=25, kind=26, value=27, step=28
)
CONDITIONAL = _streams("generators.conditional", "row", mask=21, value=22, missing=23, pick=24)
NEAREST = _streams("generators.nearest", "row", switch=31, end=32, part=33, own_part=34, own_way=35)
GRADIENT = _streams("generators.gradient", "row", mask=31, pick=32, value=33, share=34)
GROWING = _streams("generators.growing", "row", change=41, side=42, far=43, stays=44, flips=45)
WALK = _streams("generators.growing", "walk", new=0, each=1, odds=2, forced=3)
DICE = _streams("generators.dice", "row", stays=41, flips=42)
PAIRS = _streams("scores.pairs", "row", positive=3, negative=5)
RESAMPLED = _streams("scores.resampled", "none", permute=29, resample=31)
(MASKING,) = _streams("metrics.maskings", "row", draws=23)
(CHANCE,) = _streams("baselines.plain", "row", scores=None)
(SEEDS,) = _streams("baselines._common", "row", seeds=61)
(TOP,) = _streams("calibration.tops", "none", draws=None)

STREAMS: tuple[Stream, ...] = (
    *(*HADAMARD, *BALANCED, LIMITS, *RANDOM, MARGINAL, *GENETIC, *CONDITIONAL, *NEAREST, *GRADIENT, *GROWING, *WALK),
    *(*DICE, *PAIRS, *RESAMPLED, MASKING, CHANCE, SEEDS, TOP),
)

ONE_SEARCH = "a run has one of the two generators"
JUDGED_LATER = "scores are judged after they are made, on other samples"
SHARED: Mapping[frozenset[str], str] = {
    frozenset({"generators.genetic", "generators.conditional"}): ONE_SEARCH,
    frozenset({"generators.nearest", "generators.gradient"}): ONE_SEARCH,
    frozenset({"generators.growing", "generators.dice"}): "Dice only seeds another library from its streams",
    frozenset({"generators.genetic", "metrics.maskings"}): JUDGED_LATER,
    frozenset({"generators.conditional", "metrics.maskings"}): JUDGED_LATER,
}
"""Pairs of owners with a number in common under the same key, and why that does no harm."""

NUMBERLESS: Mapping[str, str] = {
    "generators.marginal": "its bits are the keys of the numbered streams, so a hash lies between; scores.pairs alone "
    "uses two of them as they are, for the place where it begins to count samples",
    "baselines.plain": "nothing else is drawn for scores by chance",
    "calibration.tops": "its keys are 0, 1, ..., two of them those of scores.resampled, which draws for other scores",
}
"""Owners that draw with the key itself, and so share a number with all others, and why that does no harm."""
