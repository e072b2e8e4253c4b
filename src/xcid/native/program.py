"""Trees as a program on sets of samples, from leaves to roots.

Leaves of a tree are numbered by their value, so that a tree's answer is some bits. Each bit of a node is a set of
samples, ``right ^ ((left ^ right) & goes_left)`` by the sets of its children; those of a leaf are all samples or none.
So no set is pushed down a branch, leaves that are alike need no further bit, and a tree whose leaves say yes or no is
one set. Bits of several trees are looked up together in one table of sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from xcid.native.ensemble import MOST_NODES, Ensemble, Tree
from xcid.records import Array, Flags, Integers

NONE, ALL, ANSWERS = 0, 1, 2  # registers: the empty set, the full one, and the first bit of a group's answer
BITS, MOST_BITS = 8, 16  # of a group of trees, and of a single tree
Step: TypeAlias = tuple[int, int, int, int]
Split: TypeAlias = tuple[int, float, bool]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Trees that are looked up together: the steps that make their ``n_bits``, and a (2 ** n_bits, c) table of sums."""

    steps: slice
    n_bits: int
    table: Array
    slot: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What is done for every row.

    Attributes
    ----------
    feature, threshold, missing_left : (N,)
        The splits of all trees.
    steps : (M, 4) int32
        The split, the register that is filled, and those of the left and the right child.
    groups : tuple of Group
        In the order of their steps.
    base : (k,)
        Where sums begin.
    n_registers : int
        How many sets are in use at a time.
    single : bool
        Whether sums are in single precision.
    """

    feature: Integers
    threshold: Array
    missing_left: Flags
    steps: npt.NDArray[np.int32]
    groups: tuple[Group, ...]
    base: Array
    n_registers: int
    single: bool


class Coded(NamedTuple):
    """The leaves of a tree by number: (m,) codes of nodes, (2 ** n_bits, c) values of codes."""

    codes: Integers
    values: Array
    n_bits: int


def compiled(ensemble: Ensemble) -> Program | None:
    """Write the program of an ensemble; None where it has so many leaves that calling the model is faster."""
    if sum(len(tree.feature) for tree in ensemble.trees) > MOST_NODES:
        return None
    single = ensemble.sums is np.float32  # then the order of additions counts, and trees are looked up one by one
    base, trees = ensemble.base.astype(np.float64), list[tuple[Tree, Coded]]()
    for tree in ensemble.trees:
        coded = _coded(tree)
        if coded.n_bits > MOST_BITS:
            return None
        if coded.n_bits or single:
            trees.append((tree, coded))
        else:  # all leaves are alike
            base[tree.slot : tree.slot + coded.values.shape[1]] += coded.values[0]
    steps, splits, groups, n_registers = list[Step](), dict[Split, int](), list[Group](), ANSWERS + MOST_BITS
    for members in _grouped(trees, 0 if single else BITS):
        start, n_bits, table = len(steps), 0, np.zeros((1, 1))
        for tree, coded in members:
            n_registers = max(n_registers, _write(tree, coded, splits, ANSWERS + n_bits, steps))
            table = (coded.values[:, None] + table).reshape(-1, coded.values.shape[1])  # the first has the lowest bits
            n_bits += coded.n_bits
        groups.append(Group(slice(start, len(steps)), n_bits, table, members[0][0].slot))
    return Program(
        np.array([split[0] for split in splits], dtype=np.int64),
        np.array([split[1] for split in splits], dtype=np.float64),
        np.array([split[2] for split in splits], dtype=bool),
        np.array(steps, dtype=np.int32).reshape(-1, 4),
        tuple(groups),
        base,
        n_registers,
        single,
    )


def _coded(tree: Tree) -> Coded:
    """Number the leaves in the order in which their values come: those of a branch then share their high bits."""
    leaves = _leaves(tree)
    _, where, inverse = np.unique(tree.value[leaves], axis=0, return_index=True, return_inverse=True)
    codes = np.zeros(len(tree.feature), dtype=np.int64)
    codes[leaves] = np.argsort(np.argsort(where))[inverse.ravel()]
    n_bits = int(len(where) - 1).bit_length()
    values = np.zeros((2**n_bits, tree.value.shape[1]))
    values[: len(where)] = tree.value[leaves[np.sort(where)]]
    return Coded(codes, values, n_bits)


def _leaves(tree: Tree) -> Integers:
    """Leaves that can be reached from the root; libraries keep some that were cut off."""
    nodes = np.zeros(1, dtype=np.int64)
    found = [nodes[:0]]
    while len(nodes):
        is_leaf = tree.feature[nodes] < 0
        found.append(nodes[is_leaf])
        inner = nodes[~is_leaf]
        nodes = np.concatenate([tree.left[inner], tree.right[inner]])
    return np.sort(np.concatenate(found))


def _grouped(trees: list[tuple[Tree, Coded]], most_bits: int) -> Iterator[list[tuple[Tree, Coded]]]:
    """Trees of one slot, one after the other, as many as have room in a code."""
    for slot in sorted({tree.slot for tree, _ in trees}):
        members, total = list[tuple[Tree, Coded]](), 0
        for tree, coded in (one for one in trees if one[0].slot == slot):
            if members and (total + coded.n_bits > most_bits or not most_bits):
                yield members
                members, total = [], 0
            members.append((tree, coded))
            total += coded.n_bits
        yield members


def _write(tree: Tree, coded: Coded, splits: dict[Split, int], root: int, steps: list[Step]) -> int:
    """Write the steps of one tree, whose bits go into registers from ``root`` on; give the number of registers used.

    Sets that are the same in all samples are made once: levels of trees whose nodes all have one split need one step.
    """
    made, answers = _sets(tree, coded, splits)
    uses = Counter(child for _, *children in made for child in children)
    places = {number: root + bit for bit, number in enumerate(answers)}
    registers, free, used = {NONE: NONE, ALL: ALL}, list[int](), ANSWERS + MOST_BITS
    for number, (split, left, right) in enumerate(made, start=ALL + 1):
        if number in places:
            registers[number] = places[number]
        elif free:
            registers[number] = free.pop()
        else:
            registers[number], used = used, used + 1
        steps.append((split, registers[number], registers[left], registers[right]))
        for child in (left, right):
            uses[child] -= 1
            if child > ALL and not uses[child] and child not in places:
                free.append(registers[child])
    return used


def _sets(tree: Tree, coded: Coded, splits: dict[Split, int]) -> tuple[dict[tuple[int, int, int], int], list[int]]:
    """The sets that a tree needs, each by its split and the sets of its children, and those that are its answer."""
    left, right, code = tree.left.tolist(), tree.right.tolist(), coded.codes.tolist()
    feature = tree.feature.tolist()
    keys = list(zip(feature, tree.threshold.tolist(), tree.missing_left.tolist(), strict=True))
    made, known, waiting = dict[tuple[int, int, int], int](), dict[int, list[int]](), [0]
    while waiting:
        node = waiting[-1]
        if feature[node] < 0:
            known[node] = [code[node] >> bit & 1 for bit in range(coded.n_bits)]
        elif left[node] not in known or right[node] not in known:
            waiting += [child for child in (right[node], left[node]) if child not in known]
            continue
        else:
            known[node] = []
            for there, other in zip(known.pop(left[node]), known.pop(right[node]), strict=True):
                if there == other:
                    known[node].append(there)
                    continue
                split = splits.setdefault(keys[node], len(splits))
                known[node].append(made.setdefault((split, there, other), len(made) + ALL + 1))
        waiting.pop()
    return made, known[0]
