"""What a program needs to know of a plan, and the program run by NumPy on blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xcid._kernels.arrays import blocks
from xcid.native.program import ALL, ANSWERS, BITS, NONE, Group, Program
from xcid.records import Array, Flags, Integers, Unsigned

MOST_PLACES = 2**22  # of splits by rows that are looked up at a time
MOST_ROWS = 64  # at a time: the sets that are in use then stay in the processor's cache
MOST_BYTES = 2**26  # that the sets of a plan may take
SQUARES = ((0x00AA00AA00AA00AA, 7), (0x0000CCCC0000CCCC, 14), (0x00000000F0F0F0F0, 28))  # halves that change places


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Sets of the samples of a plan, as bits.

    Attributes
    ----------
    n_samples : int
        How many there are.
    goes_left : (2 g, w)
        Samples that go left, for splits that divide the plan's values alike: where the row's own cell goes right, and
        where it goes left.
    place : (N,)
        The first of the two for each split.
    """

    n_samples: int
    goes_left: Unsigned
    place: Integers


def sets(program: Program, n_samples: int, column_of: Callable[[int], tuple[Array, Flags]]) -> Sets | None:
    """Find out which samples go left at which split, by the (s,) new values of columns and whether they are taken.

    None where that takes too much memory.
    """
    place, found, total = np.zeros(len(program.feature), dtype=np.int64), [_bits(np.zeros((0, n_samples), bool))], 0
    order = np.argsort(program.feature, kind="stable")
    columns, starts = np.unique(program.feature[order], return_index=True)
    for column, at in zip(columns.tolist(), np.split(order, starts[1:]), strict=False):
        values, taken = column_of(column)
        is_missing = np.isnan(values)
        known = np.sort(values[~is_missing])
        alike = 2 * np.searchsorted(known, program.threshold[at], side="right")
        alike += program.missing_left[at] & is_missing.any()
        _, one, which = np.unique(alike, return_index=True, return_inverse=True)
        flags = values <= program.threshold[at[one], None]
        flags |= is_missing & program.missing_left[at[one], None]
        lent, own = _bits(flags & taken), _bits(~taken[None])
        found.append(np.stack([lent, lent | own], axis=1).reshape(-1, lent.shape[1]))
        place[at], total = total + 2 * which.ravel(), total + 2 * len(one)
        if total * found[0].itemsize * lent.shape[1] > MOST_BYTES:
            return None
    return Sets(n_samples, np.concatenate(found), place)


def _bits(flags: Flags) -> Unsigned:
    """(m, s) flags as (m, w) words."""
    words = np.zeros((len(flags), -(-flags.shape[1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(flags, axis=1, bitorder="little")
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


def sums(program: Program, known: Sets, rows: Array) -> Array:
    """(k, n, s) sums of all samples of (n, d) rows, which are rounded."""
    total = np.empty((len(program.base), len(rows), known.n_samples))
    total[:] = program.base[:, None, None]
    for part in blocks(len(rows), min(MOST_ROWS, MOST_PLACES // max(1, len(program.feature)))):
        _run(program, known, rows[part], total[:, part])
    return total


def _run(program: Program, known: Sets, rows: Array, total: Array) -> None:
    place, shape = known.place[:, None] + goes_left(program, rows), (len(rows), known.goes_left.shape[1])
    registers = [np.empty(shape, dtype=np.uint64) for _ in range(program.n_registers)]
    split, steps = np.empty(shape, dtype=np.uint64), program.steps.tolist()
    for group in program.groups:
        last = -1
        for number, register, left, right in steps[group.steps]:
            if number != last:
                np.take(known.goes_left, place[number], axis=0, out=split, mode="clip")
                last = number
            _chosen(split, registers, left, right, registers[register])
        _look_up(registers[ANSWERS : ANSWERS + group.n_bits], group, total)
        if program.single:
            total[group.slot] = total[group.slot].astype(np.float32)


def goes_left(program: Program, rows: Array) -> Flags:
    """(N, n) whether (n, d) rows go left at each split."""
    cells = rows.T[program.feature]
    left: Flags = cells <= program.threshold[:, None]
    left |= np.isnan(cells) & program.missing_left[:, None]
    return left


def _chosen(split: Unsigned, registers: list[Unsigned], left: int, right: int, out: Unsigned) -> None:
    """What is in the left set and in the split, or in the right one and not."""
    if left > ALL and right > ALL:
        np.bitwise_xor(registers[left], registers[right], out=out)
        np.bitwise_and(out, split, out=out)
        np.bitwise_xor(out, registers[right], out=out)
    elif left == NONE:
        np.bitwise_not(split, out=out)
        if right > ALL:
            np.bitwise_and(out, registers[right], out=out)
    elif right == ALL:
        np.bitwise_not(split, out=out)
        np.bitwise_or(out, registers[left], out=out)
    elif left == ALL and right == NONE:
        np.copyto(out, split)
    elif left == ALL:
        np.bitwise_or(split, registers[right], out=out)
    else:
        np.bitwise_and(split, registers[left], out=out)


def _look_up(planes: list[Unsigned], group: Group, total: Array) -> None:
    """Add what a group of trees says of each sample: the bits of their answers are the number of a row of the table."""
    codes: npt.NDArray[Any] = _bytes(planes[:BITS]) if planes else np.zeros(total.shape[1:], dtype=np.uint8)
    if group.n_bits > BITS:
        codes = codes | _bytes(planes[BITS:]).astype(np.uint16) << BITS
    found = np.empty(total.shape[1:])
    for at, values in enumerate(np.ascontiguousarray(group.table.T), start=group.slot):
        np.take(values, codes[:, : total.shape[2]], out=found, mode="clip")
        total[at] += found


def _bytes(planes: list[Unsigned]) -> npt.NDArray[np.uint8]:
    """(n, 64 w) numbers whose bits are in at most eight (n, w) planes: squares of 8 by 8 bits, transposed."""
    squares = np.zeros((len(planes[0]), 8 * planes[0].shape[1], 8), dtype=np.uint8)
    for bit, plane in enumerate(planes):
        squares[:, :, bit] = plane.view(np.uint8)
    words = squares.view("<u8")[:, :, 0]
    for mask, shift in SQUARES:
        swapped = (words ^ (words >> shift)) & mask
        words ^= swapped ^ (swapped << shift)
    return words.view(np.uint8)
