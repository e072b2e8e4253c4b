"""Pairs of features: how much their joint distribution tells that neither tells by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._check import as_int
from xcid._kernels.random import PAIRS, Stream, uniform
from xcid.records import Array, Integers, Perturbations, Unsigned
from xcid.scores.per_feature import kept

BINS = 4  # of the values that a number changes to
MOST_SHUFFLES = 100_000  # which take minutes
MOST_CELLS = 8  # of a feature: rarer ones share the last


class PairScores(NamedTuple):
    """(f, f) each, symmetric; the diagonal holds the single features."""

    joint: Array
    alone: Array
    p_values: Array


def pairs(cloud: Perturbations, row: int, key: Unsigned, shuffles: int = 99) -> PairScores:
    """Compare the joint d1 of every pair with what it is when the two features are shuffled against each other.

    Every feature is cut into cells: unchanged, levels, missing, and quarters of the values that a number changes to.
    A shuffle within C+ and within C- leaves both single distributions as they are and makes the two features
    independent in each set; the joint d1 that remains is what the two single ones explain. It is estimated from as
    many samples by the same cells, so that the bias of a d1 of small samples is in both and cancels.

    Gives the joint d1, the mean of the shuffled ones, and the share of those that reach it (the joint one included).
    """
    as_int(shuffles, "shuffles", at_least=1, at_most=MOST_SHUFFLES)
    cells, feature = _indicators(cloud, row)
    sets = cloud.positive[row], cloud.negative[row]
    chosen = [_resampled(weights / weights.sum(), key, stream) for weights, stream in zip(sets, PAIRS, strict=True)]
    member = (feature[:, None] == np.arange(len(cloud.features))).astype(np.float64)  # (cells, f)
    p, q = (cells[at].T @ cells[at] / len(at) for at in chosen)
    joint = _d1(p, q, member)
    alone, reached = np.zeros_like(joint), np.ones_like(joint)
    for shuffle in range(1, shuffles + 1):
        tables = [
            cells[at].T @ cells[at[_permutation(len(at), key, stream, shuffle)]] / len(at)
            for at, stream in zip(chosen, PAIRS, strict=True)
        ]
        shuffled = _d1(tables[0], tables[1], member)
        alone += shuffled / shuffles
        reached += shuffled >= joint - 1e-12
    return PairScores(joint, (alone + alone.T) / 2, np.maximum(reached, reached.T) / (shuffles + 1))


def _indicators(cloud: Perturbations, row: int) -> tuple[Array, Integers]:
    """(s, cells) which cell of each feature a sample lies in, and (cells,) the feature of each cell."""
    one = cloud[row : row + 1]
    same, samples, mass = kept(one)[0], one.samples[0], (one.positive[0] + one.negative[0]) / 2
    blocks = []
    for feature, columns in enumerate(cloud.features):
        code = np.where(same[:, feature], 0, 1)
        for column in columns:
            cut = _cut(samples[:, column], ~same[:, feature], bool(cloud.discrete[column]))
            code = code * (int(cut.max(initial=0)) + 1) + cut
        blocks.append(_limited(np.where(same[:, feature], 0, code + 1), mass))
    return np.concatenate(blocks, axis=1), np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])


def _cut(values: Array, changed: Array, discrete: bool) -> Integers:
    """(s,) cell of each value of a column."""
    if discrete:
        return np.where(np.isnan(values), -1, values).astype(np.int64) + 1
    known = values[changed & ~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS)) if known.size else np.empty(0)
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, np.nan_to_num(values), side="right"))


def _limited(code: Integers, mass: Array) -> Array:
    """(s, c) indicators of the heaviest cells; the rest share one."""
    _, code = np.unique(code, return_inverse=True)
    weight = np.bincount(code, mass)
    place = np.argsort(np.argsort(-weight, kind="stable"), kind="stable")
    code = np.minimum(place[code], MOST_CELLS - 1)
    return (code[:, None] == np.arange(code.max() + 1)).astype(np.float64)


def _d1(p: Array, q: Array, member: Array) -> Array:
    """(f, f) d1 of each block of two tables of masses."""
    overlap: Array = member.T @ np.minimum(p, q) @ member
    return 1 - overlap / (2 - overlap)


def _resampled(weights: Array, key: Unsigned, stream: Stream) -> Integers:
    """Systematic sample of positions with the given weights: of equal weights every one once."""
    size = max(1, round(1 / float(np.sum(weights**2))))
    edges = np.cumsum(weights)
    start = float(uniform(stream.of(key))[0])
    return np.searchsorted(edges / edges[-1], (np.arange(size) + start) / size, side="right").clip(max=len(weights) - 1)


def _permutation(size: int, key: Unsigned, stream: Stream, shuffle: int) -> Integers:
    """The positions of a sample in the random order of one shuffle."""
    return np.argsort(stream.bits(key, np.arange(shuffle * size, (shuffle + 1) * size, dtype=np.uint64))[0])
