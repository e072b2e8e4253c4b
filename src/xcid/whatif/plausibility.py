"""How near counterfactuals are to real rows, in numbers and in words; and features that people cannot change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import blocks, thinned
from xcid.records import Array, Flags, Integers, Texts
from xcid.whatif.goals import Goal
from xcid.whatif.world import World

N_MEASURED = 128  # reference rows whose distance to the next one says what is usual
USUAL = 0.9  # of the reference rows are nearer to another one than a row that is like them
MOST_GROUPS = 8  # of reference rows with different wanted outputs that are measured by themselves
LIKE_REAL, RARE_ROW, UNLIKE = "like real rows", "rare among real rows", "unlike any reference row"
NO_SUCH_ROW = "no reference row has this output"
MOST_CELLS = 2**21
UNCHANGEABLE = {"age", "sex", "gender", "race", "ethnicity", "ethnic", "nationality", "religion", "caste"}
UNCHANGEABLE |= {"birth", "born", "birthday", "birthdate", "marital", "date"}


class Nearness(NamedTuple):
    """How far (m,) rows are from the nearest reference row with the wanted output, and the same in words."""

    distance: Array
    words: Texts


def nearness(world: World, goal: Goal, rows: Array, owner: Integers, outputs: Array) -> Nearness:
    """Compare (m, f) rows with the reference rows that reach the goal of their owner; the (n, k) outputs are of owners.

    Words compare the distance with those of such reference rows to their own next ones.
    """
    distance, words = np.full(len(rows), np.nan), np.full(len(rows), NO_SUCH_ROW)
    owners = np.unique(owner)
    parts = blocks(max(1, len(owners)), MOST_CELLS // len(world.donors))
    there = np.concatenate([reaching(world, goal, outputs[owners[part]]) for part in parts])
    _, first, which = np.unique(np.packbits(there, axis=1), axis=0, return_index=True, return_inverse=True)
    group = which.ravel()[np.searchsorted(owners, owner)]
    usual = _usual(world, world.donors)
    for at, line in enumerate(first):
        donors, mine = world.donors[there[line]], np.flatnonzero(group == at)
        if len(donors):
            distance[mine] = _nearest(world, rows[mine], donors)
            like, rare = _usual(world, donors) if len(first) <= MOST_GROUPS and len(donors) > 1 else usual
            words[mine] = np.where(distance[mine] <= rare, RARE_ROW, UNLIKE)
            words[mine] = np.where(distance[mine] <= like, LIKE_REAL, words[mine])
    return Nearness(distance, words)


def _usual(world: World, donors: Array) -> tuple[float, float]:
    """How far 9 in 10 reference rows are from the next one, at most, and how far any is."""
    some = thinned(len(donors), N_MEASURED)
    between = world.metric.between(donors[some, None], donors[None])
    between[np.arange(len(some)), some] = np.inf
    nearest = between.min(axis=1)
    return float(np.quantile(nearest, USUAL)), float(nearest.max())


def reaching(world: World, goal: Goal, outputs: Array) -> Flags:
    """(n, N) which reference rows have what is wanted of rows with (n, k) outputs."""
    n, n_donors = len(outputs), len(world.donors)
    there = goal.gain(np.tile(world.donor_outputs, (n, 1)), np.repeat(outputs, n_donors, axis=0)) > 0
    return there.reshape(n, n_donors)


def _nearest(world: World, rows: Array, donors: Array) -> Array:
    parts = blocks(len(rows), MOST_CELLS // max(1, len(donors)))
    return np.concatenate([world.metric.between(rows[part, None], donors[None]).min(axis=1) for part in parts])


def unchangeable(names: Sequence[str]) -> Flags:
    """(f,) features whose names say that people cannot change them.

    Examples
    --------
    >>> unchangeable(["Age", "personSex", "wage", "Glucose", "date_of_birth"]).tolist()
    [True, True, False, False, True]
    """
    words = [re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower() for name in names]
    return np.array([bool(UNCHANGEABLE & set(re.split(r"[^a-z]+", word))) for word in words])
